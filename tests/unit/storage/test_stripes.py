"""What a shift costs: the formulas against a count of every request, and against what was measured and derived."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.hardware.disk import Disk, Limits, Striping
from stackctl.storage.stripes import Stripe, crossings, of_array, of_disk
from stackctl.units import KIB

SECTOR_63 = 63 * 512
"""Where DOS began the first partition."""


@pytest.mark.parametrize(
    ("request_kib", "shift", "share"),
    [
        (4, 0, 0), (16, 0, 0), (64, 0, 0),
        (4, SECTOR_63, Fraction(1, 16)), (8, SECTOR_63, Fraction(1, 8)), (16, SECTOR_63, Fraction(1, 4)),
        (64, SECTOR_63, 1),
        (16, 32 * KIB, 0), (16, 8 * KIB, Fraction(1, 4)), (4, 8 * KIB, 0),
        (128, 0, 1), (128, SECTOR_63, 2),
    ],
)  # fmt: skip
def test_shares_that_can_be_counted_on_paper(request_kib, shift, share):
    assert crossings(request_kib * KIB, 64 * KIB, shift) == share


@given(
    request=st.sampled_from([512, 1024, 4096, 8192, 12288, 16384, 65536, 131072]),
    element=st.sampled_from([4096, 16384, 65536, 98304, 1 << 20]),
    shift=st.integers(0, 4096).map(lambda sectors: sectors * 512),
)
def test_the_formula_is_the_count_of_every_request(request, element, shift):
    count = element // 512  # a whole number of times that positions take to come round again
    begins = [shift + number * request for number in range(count)]
    inside = sum((begin + request - 1) // element - begin // element for begin in begins)
    assert crossings(request, element, shift) == Fraction(inside, count)


def test_raid10_as_it_was_counted():
    """A partition at sector 63 on md RAID10: 1.246 member reads were counted for each random read of 16 KiB."""
    stripe = Stripe(64 * KIB, data=2, copies=2)
    assert float(stripe.reads(16 * KIB, SECTOR_63)) == pytest.approx(1.246, abs=0.01)
    assert stripe.reads(16 * KIB, 0) == 1
    assert stripe.writes(16 * KIB, SECTOR_63) == Fraction(5, 2)


@pytest.mark.parametrize(
    ("data", "parity", "aligned"),
    [(2, 1, 3), (3, 1, 4), (11, 1, 4), (2, 2, 4), (3, 2, 5), (4, 2, 6), (10, 2, 6)],
)
def test_parity_costs_what_the_smaller_of_both_ways_costs(data, parity, aligned):
    stripe = Stripe(64 * KIB, data=data, parity=parity)
    assert stripe.writes(16 * KIB, 0) == aligned
    assert stripe.writes(16 * KIB, SECTOR_63) == aligned * Fraction(5, 4)
    assert stripe.grid == 64 * KIB * data


def array(level, layout, disks, chunk=64 * KIB):
    return SimpleNamespace(level=level, layout=layout, disks=disks, chunk=chunk)


@pytest.mark.parametrize(
    ("found", "stripe"),
    [
        (array("raid10", 0x102, 4), Stripe(64 * KIB, 2, 2)),
        (array("raid10", 0x201, 4), Stripe(64 * KIB, 2, 2)),
        (array("raid10", 0x102, 5), Stripe(64 * KIB, 5, 2)),
        (array("raid0", 0, 3), Stripe(64 * KIB, 3)),
        (array("raid5", 2, 4), Stripe(64 * KIB, 3, 1, 1)),
        (array("raid6", 2, 12), Stripe(64 * KIB, 10, 1, 2)),
        (array("raid1", 0, 2, 0), None),
        (array("linear", 0, 2), None),
    ],
)
def test_arrays(found, stripe):
    assert of_array(found) == stripe


@pytest.mark.parametrize(
    ("minimum", "believed", "stripe"),
    [
        (64 * KIB, 256 * KIB, Stripe(64 * KIB, 4)),
        (512, 256 * KIB, Stripe(256 * KIB, 1)),
        (96 * KIB, 256 * KIB, Stripe(256 * KIB, 1)),
        (512, 1, None),
        (4096, 4096, None),
    ],
)
def test_virtual_disks(minimum, believed, stripe):
    disk = SimpleNamespace(limits=SimpleNamespace(minimum_io=minimum, physical_block=4096), striping=None)
    assert of_disk(disk, believed) == stripe


@pytest.mark.parametrize(
    ("told", "stripe"),
    [
        (Striping(64 * KIB, 2, copies=2), Stripe(64 * KIB, 2, copies=2)),
        (Striping(256 * KIB, 21, parity=1), Stripe(256 * KIB, 21, parity=1)),
        (Striping(256 * KIB, 1, copies=2), None),
    ],
)
def test_the_word_of_a_controller_s_tool_counts_before_what_its_disk_reports(told, stripe):
    limits = Limits(512, 512, 64 * KIB, 384 * KIB, True)
    disk = Disk("sda", "S", "", "", "", "", 1 << 40, False, False, 0, limits, "", (), (), (), (), None, (), "")
    assert of_disk(replace(disk, striping=told), 384 * KIB) == stripe
