"""What was read back of a layout, layer by layer."""

import pytest

from stackctl.storage.readback import Finding
from stackctl.validation.layers import Layers

GOOD = Finding("mount", "/srv/a", "present", "present", True)
BAD = Finding("mount", "/srv/b", "present", "missing", False)
ELSEWHERE = Finding("fstab", "/srv/b", "UUID=1 /srv/b", "no line", False)


def test_only_the_asked_layers_count() -> None:
    Layers([GOOD, ELSEWHERE]).right("mount")
    with pytest.raises(pytest.fail.Exception) as caught:
        Layers([GOOD, BAD, ELSEWHERE]).right("mount", "fstab")
    assert str(caught.value.msg).splitlines() == [
        "mount /srv/b: missing, expected present",
        "fstab /srv/b: no line, expected UUID=1 /srv/b",
    ]


def test_a_layer_of_which_nothing_was_read_is_not_shown() -> None:
    with pytest.raises(pytest.skip.Exception, match="the layer below is missing"):
        Layers([ELSEWHERE]).right("mount")


def test_a_layer_without_a_check_is_an_error() -> None:
    with pytest.raises(ValueError, match="no check looks at cache tier"):
        Layers([GOOD, Finding("cache tier", "x", "", "", True)])
