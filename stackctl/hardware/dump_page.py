"""docs/machine-dump.md, made from the models of the format."""

from stackctl.hardware.shapes import keys

_HEAD = """\
# A machine's dump

What `stackctl inspect --dump FOLDER` writes, a file a host: all that the planner knows of a server, as one JSON
document. Plans and refusals can be repeated from it without the server, so it is what a bug report about disks wants.
Nothing is changed on the server. Recorded machines of this format lie under `tests/machines`.

<!-- Made by scripts/site-docs from stackctl/hardware/dump*.py; edit there. -->

```sh
stackctl inspect -i inventories/mine --dump report --mask   # report/host1.json, report/host2.json …
stackctl schema machine                                     # the JSON Schema
```

The files are written with mode 0600. Sizes and offsets are bytes unless a key says otherwise; `null` stands where the
server does not tell. `format` counts up when an older reader would misread a document.

## What `--mask` does

Whatever names a disk, a machine or people is replaced, in every host of the dump alike: the same by the same, so that
what belongs together still does, also in links, device-mapper names, raw superblocks, fstab and mdadm.conf.

| what | becomes |
|---|---|
| serial numbers | `SERIAL-001`, counted in the order that the planner gives them |
| WWNs, NVMe's EUIs | `0x0000000000000001`, `eui.…`, as long as they were, in their order |
| UUIDs, those of LVM, FAT and DOS tables too | digits in the same spelling; types of partitions stay |
| names of hosts | `host1` |
| names of groups, volumes, arrays, folders; labels, tags | `name1`; `data`, `root`, `srv` and their like stay |
| addresses in messages | 198.18.0.0/15, 2001:db8::/32, 02:00:00:… |
| superblocks | UUIDs and names in the bytes; their checksums, which no reader here checks, stay as they were |
| fstab, mdadm.conf | comments, and lines that say nothing of arrays, are left out; words of options are names |
| a link of a disk that holds nothing known | what is behind its first hyphen is taken for a serial number |
| fingerprints | those of the masked facts |
| keys that the format does not know | left out |

Makers, models, firmware, kernels, sizes, times and numbers of slots stay: bugs hang on them.

A masked machine gives the same plan as the real one, in masked names: plan it for `host1`, with the names in the
layout masked too, where they are none of those that stay. One order is not kept: that of a disk without a serial
number among disks that have one.

## Every key

`*` stands for any key of a mapping, `[]` for any item of a list. A key that has something masked in it says what.

| key | masked | meaning |
|---|---|---|
"""


def dump_page() -> str:
    """The whole page."""
    rows = (f"| `{key.path}` | {key.kind or ''} | {key.doc} |\n".replace("|  |", "| |") for key in keys())
    return _HEAD + "".join(rows)
