"""The links of the alignment chain, for numbers that are planned and for numbers that were read back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackctl.storage.alignment import Link


@dataclass(frozen=True, slots=True)
class Member:
    """A disk's part in the array: its grain, and where partition and md data begin, in bytes."""

    disk: str
    grain: int
    alignment_offset: int
    partition_start: int
    data_offset: int | None
    """None where no array lies on the disk."""
    striped: bool = False
    """The grain holds the stripe of the disk's controller."""


@dataclass(frozen=True, slots=True)
class Stripes:
    """A file system's own idea of the stripes, in bytes."""

    title: str
    """The file system, for people."""
    unit: int
    width: int
    log_unit: int = 0
    """0 where its log knows no stripes."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """All that the chain is made of, layer by layer; layers that are not there yet are left empty."""

    members: Sequence[Member]
    chunk: int
    """0 for a plain mirror."""
    width: int
    """What everything on the array is aligned to: the stripe width, or the grain of a mirror's disks."""
    group: str = ""
    group_start: int | None = None
    extent_size: int | None = None
    volumes: Mapping[str, int] | None = None
    """Where each logical volume begins, counted from the start of the array."""
    filesystems: Mapping[str, Stripes] | None = None


def links(numbers: Numbers) -> tuple[Link, ...]:
    """The chain, from the disks upwards."""
    return tuple(_links(numbers))


def _links(numbers: Numbers) -> Iterator[Link]:
    for member in numbers.members:
        start = member.partition_start - member.alignment_offset
        blocks = "physical block and the controller's stripe" if member.striped else "physical block"
        yield Link("partition", member.disk, start, member.grain, blocks)
        if member.data_offset is None:
            continue
        yield Link("md data", member.disk, start + member.data_offset, member.grain, blocks)
        if numbers.chunk:
            yield Link("md data offset", member.disk, member.data_offset, numbers.chunk, "chunk")
    why = "stripe width" if numbers.chunk else "physical block"
    if numbers.group_start is not None:
        yield Link("PV data", numbers.group, numbers.group_start, numbers.width, why)
    if numbers.extent_size is not None:
        yield Link("extent", numbers.group, numbers.extent_size, numbers.width, why)
    for name, start in (numbers.volumes or {}).items():
        yield Link("LV", f"{numbers.group}/{name}", start, numbers.width, why)
    for name, stripes in (numbers.filesystems or {}).items() if numbers.chunk else ():
        yield Link(f"{stripes.title} stripe unit", name, stripes.unit, numbers.chunk, "chunk")
        yield Link(f"{stripes.title} stripe width", name, stripes.width, numbers.width, "stripe width")
        if stripes.title == "XFS":
            yield from _log(name, stripes, numbers.chunk)


def _log(name: str, stripes: Stripes, chunk: int) -> Iterator[Link]:
    """The log's unit is the chunk, or a part of it that divides it."""
    if stripes.log_unit <= chunk:
        yield Link("XFS log unit", name, chunk, stripes.log_unit, "log unit divides the chunk")
    else:
        yield Link("XFS log unit", name, stripes.log_unit, chunk, "chunk")
