"""The claim: whole or not there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.node import claim

CLAIM = {"disk": "LAB-1", "group": "data", "host": "metal-1"}


def test_it_is_read_as_it_was_written():
    assert claim.decode(claim.encode(CLAIM)) == CLAIM


def test_it_lies_in_the_first_sector_of_a_block():
    block = claim.encode(CLAIM)
    assert len(block) == 4096
    assert not any(block[512:])


@given(st.integers(0, 511), st.integers(1, 255))
def test_a_changed_byte_makes_it_none_or_leaves_it_as_it_was(at, change):
    block = bytearray(claim.encode(CLAIM))
    block[at] ^= change
    assert claim.decode(bytes(block)) in (None, CLAIM)


@pytest.mark.parametrize("block", [b"", bytes(4096), b"stackctl claim 1\n", b"\xff" * 4096])
def test_anything_else_is_none(block):
    assert claim.decode(block) is None


def test_the_longest_names_fit():
    claim.encode({"disk": "S" * 60, "group": "g" * 63, "host": "h" * 63})


def test_what_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="does not fit"):
        claim.encode({"disk": "S" * 500})
