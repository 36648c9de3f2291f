"""docs/site.md, made from the models and the example that ships."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from stackctl import paths
from stackctl.site.reference import Key, keys

_HEAD = """\
# stack.yml

One file describes a site: its servers, what is on their disks, what they run. It is an Ansible inventory
source as it stands, and `stackctl` reads the same file through the same models.

<!-- Made by scripts/site-docs from stackctl/site/models.py; edit there. -->

```yaml
{example}```

- `stackctl init DIR` writes such a file, `stackctl check -i DIR` tells all that is wrong with it at once, each
  with its line and key path. Unknown keys, keys given twice and wrong types are errors.
- `stackctl explain KEY.PATH` shows what stands below, `stackctl explain --values -i DIR` every value a site ends
  up with and where it comes from: a line of the file, a default, the controller.
- `stackctl schema` prints the JSON Schema; `init` puts it beside the file, where editors with a YAML language
  server find it.
- Sizes are bytes, or written `64 KiB`, `500 GB`, `1.5T` (a single letter is binary). Text that looks like a
  number wants quotes: `serial: ["0123"]`. Anchors, aliases and `<<` work.
- A file that YAML or the models refuse ends every command with exit code 2, and Ansible's run too.

## What Ansible sees

Groups: one for each role in use, `storage` (hosts with a layout), `lab` (virtual machines of the lab).
`group_vars/` and `host_vars/` beside the file set the variables of the roles; `stackctl check` warns of names
that no role knows, and of variables that hide what `stack.yml` says.

| variable | from |
|---|---|
| `ansible_host`, `ansible_port`, `ansible_user`, … | the host's words; for a lab machine what `lab up` chose |
| `storage_layout` | the host's layout, sizes in bytes |
| `database_listen`, `database_port`; so too `queue_`, `cache_`, `search_index_`, `search_web_` | `services` |
| `stackctl_endpoints` | where this host reaches each service: itself first, then others that it can reach |
| `stackctl_mirrors` | `mirrors`, else the archives that the controller's own apt uses |
| `stackctl_site`, `stackctl_site_file`, `stackctl_site_directory` | the site's name and place |

## Every key
"""


def site_page() -> str:
    """The whole page."""
    example = paths.data("inventories", "single", "stack.yml").read_text(encoding="utf-8")
    example = "".join(line for line in example.splitlines(keepends=True) if "yaml-language-server" not in line)
    return _HEAD.format(example=example) + "".join(_sections())


def _sections() -> Iterator[str]:
    """A table of the keys that hold plain values, then one for each mapping."""
    parts = [list(group) for _, group in groupby(keys(), key=lambda key: key.path[0])]
    yield from _table(part[0] for part in parts if len(part) == 1)
    for top, *below in parts:
        if below:
            required = " Required." if top.required else ""
            yield f"\n### {top.dotted}\n\n{top.doc}{required}\n"
            yield from _table(below)


def _table(rows: Iterable[Key]) -> Iterator[str]:
    yield "\n| key | type | default | meaning |\n|---|---|---|---|\n"
    yield from (_row(key) for key in rows)


def _row(key: Key) -> str:
    default = "**required**" if key.required else f"`{key.default}`" if key.default else ""
    cells = [cell.replace("|", "\\|") for cell in (f"`{key.dotted}`", key.type, default, key.doc)]
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")
