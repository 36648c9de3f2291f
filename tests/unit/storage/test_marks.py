"""Marks fit where they are written, and stay different."""

from hypothesis import given
from hypothesis import strategies as st

from stackctl.storage.filesystems import KINDS
from stackctl.storage.marks import Marks, shorten

names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)


def test_short_names_are_readable():
    marks = Marks("metal-1", "data")
    assert marks.partition_label == "stackctl:data:metal-1"
    assert marks.array_path == "/dev/md/data"
    assert KINDS["xfs"].label("database") == "database"


@given(names, names)
def test_every_mark_fits(host, group):
    marks = Marks(host, group)
    assert len(marks.partition_label) <= 36
    assert len(f"any:{marks.array_name}") <= 32
    assert len(KINDS["xfs"].label(group)) <= 12


@given(names, names, names, names)
def test_different_layouts_have_different_marks(host, group, other_host, other_group):
    if (host, group) != (other_host, other_group):
        assert Marks(host, group).partition_label != Marks(other_host, other_group).partition_label


def test_what_is_too_long_ends_in_a_digest():
    assert shorten("a" * 40, 12) != shorten("a" * 41, 12)
    assert shorten("a" * 40, 12).startswith("aaaaa-")
