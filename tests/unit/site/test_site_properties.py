"""Whatever a file holds, the loader answers with a site or with lines that say what is wrong."""

import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackctl.site.load import OpenSite, SiteError, open_file
from stackctl.site.reference import keys
from stackctl.site.values import ROLES
from stackctl.site.variables import host_variables, site_variables

WORDS = sorted({part for key in keys() for part in key.path} - {"NAME"})
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.dates()
    | st.sampled_from([*WORDS, *ROLES, "stackctl", "50%", "rest", "64 KiB", ">= 1 GB", "::1", "/srv/x", "m1", "r1"])
)
KEYS = st.sampled_from([*WORDS, "m1", "r1", "v1"]) | st.text(max_size=6) | st.integers() | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)


def _answer(content: bytes) -> OpenSite | SiteError:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stack.yml"
        file.write_bytes(content)
        try:
            return open_file(file)
        except SiteError as failure:
            return failure


def _lines(text: str) -> int:
    """As YAML counts them."""
    return sum(text.count(end) for end in ("\n", "\x85", "\u2028", "\u2029"))


def _is_sound(answer: OpenSite | SiteError, lines: int) -> None:
    if isinstance(answer, OpenSite):
        site_variables(answer)
        host_variables(answer)
        return
    assert answer.problems
    for problem in answer.problems:
        assert 1 <= problem.line <= lines + 1
        assert problem.message
        assert str(problem).isprintable()
        assert "pydantic" not in str(problem)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_mapping(value: dict[Any, Any]) -> None:
    text = yaml.safe_dump({"plugin": "stackctl", "site": "s", **value}, allow_unicode=True)
    _is_sound(
        _answer(text.encode()), text.count("\n") + text.count("\x85") + text.count("\u2028") + text.count("\u2029")
    )


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.data())
def test_a_good_site_with_one_part_replaced(value: Any, data: st.DataObject) -> None:
    site: dict[str, Any] = {
        "plugin": "stackctl",
        "site": "s",
        "hosts": {
            "m1": {"address": "a", "layout": "r1", "roles": list(ROLES)},
            "m2": {"lab": {"disks": {"count": 4}}},
        },
        "layouts": {
            "r1": {
                "disks": {"count": 4, "size": ">= 1 GB", "exclude": {"transport": "usb"}},
                "raid": {"chunk": "64 KiB"},
                "volumes": {
                    "v1": {"size": "50%", "mount": "/srv/database"},
                    "v2": {"size": "rest", "mount": "/srv/x"},
                },
            }
        },
        "services": {"queue": {"listen": "::1", "port": 4730}},
    }
    part = site
    while True:
        key = data.draw(st.sampled_from(sorted(part)))
        if not isinstance(part[key], dict) or data.draw(st.booleans()):
            part[key] = value
            break
        part = part[key]
    text = yaml.safe_dump(site, allow_unicode=True)
    _is_sound(
        _answer(text.encode()), text.count("\n") + text.count("\x85") + text.count("\u2028") + text.count("\u2029")
    )


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet="ab:{}[]-&*!|>'\"#%@` \n\t<?,", max_size=60).map(str.encode))
def test_any_bytes(content: bytes) -> None:
    _is_sound(_answer(content), len(content))
