"""Volumes get whole extents: absolute, shares, the rest."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from layouts import layout

from stackctl.errors import InputError
from stackctl.hardware.lvm import LogicalVolume, VolumeGroup
from stackctl.storage.sizes import volume_sizes

MIB, GIB = 1 << 20, 1 << 30
EXTENT = 4 * MIB


def volumes(**sizes):
    return layout(volumes={name: {"size": size, "mount": f"/srv/{name}"} for name, size in sizes.items()})


def extents(wanted, total, group=None):
    return {name: size.extents for name, size in volume_sizes(wanted, EXTENT, total, group).items()}


def group(total, **present):
    logical = tuple(
        LogicalVolume(name, name, count * EXTENT, frozenset(tags), True, False, "dm-0", ())
        for name, (count, tags) in present.items()
    )
    free = total - sum(count for count, _ in present.values())
    return VolumeGroup("data", "u", frozenset(), EXTENT, total, free, 0, (), logical)


def test_shares_round_down_and_the_rest_takes_what_is_left():
    assert extents(volumes(a="50%", b="20%", c="rest"), 2045) == {"a": 1022, "b": 409, "c": 614}


def test_an_absolute_size_rounds_down_to_whole_extents():
    assert extents(volumes(a="1 GB", b="rest"), 1000)["a"] == 238


def test_volumes_that_are_complete_keep_their_size():
    here = group(2045, a=(1022, {"stackctl"}), c=(600, {"stackctl"}))
    assert extents(volumes(a="50%", b="20%", c="rest"), 2045, here) == {"a": 1022, "b": 409, "c": 600}


def test_an_unfinished_volume_of_another_size_is_made_anew():
    here = group(2045, a=(500, {"stackctl", "stackctl.new"}))
    found = volume_sizes(volumes(a="50%"), EXTENT, 2045, here)["a"]
    assert (found.extents, found.exists, found.redo) == (1022, True, True)


def test_a_complete_volume_of_another_size_is_an_error_that_tells_both():
    with pytest.raises(InputError, match=r"volumes.a: it is 2.0 GiB on the server, the site says 50%"):
        extents(volumes(a="50%"), 2045, group(2045, a=(500, {"stackctl"})))


def test_a_volume_of_the_operator_s_own_is_left_room():
    here = group(2045, mine=(100, set()))
    assert extents(volumes(a="rest"), 2045, here) == {"a": 1945}


def test_too_much_is_an_error():
    with pytest.raises(InputError, match=r"they need 9\.8 GiB, and the volume group has room for 8\.0 GiB"):
        extents(volumes(a="9.765625 GiB"), 2045)


def test_too_little_for_a_file_system_is_an_error():
    with pytest.raises(InputError, match="XFS wants 300 MiB at least"):
        extents(volumes(a="99%", b="rest"), 2045)


shares = st.lists(st.integers(5, 60), min_size=1, max_size=5)


@given(shares, st.integers(4000, 10**7))
def test_volumes_never_take_more_than_there_is(percents, total):
    assume(sum(percents) <= 95)
    wanted = volumes(**{f"v{at}": f"{percent}%" for at, percent in enumerate(percents)}, rest="rest")
    found = extents(wanted, total)
    assert sum(found.values()) == total
    assert all(count > 0 for count in found.values())
