"""The format of facts, LVM: the rows of its full report."""

from typing import Annotated

from pydantic import Field

from stackctl.hardware.kinds import Kind, Named, Part, Path, Uuid


class GroupRow(Part):
    """A volume group; LVM's columns, as text, sizes in bytes."""

    vg_name: Named
    """Its name."""
    vg_uuid: Uuid
    """Its UUID."""
    vg_tags: Annotated[str, Kind.TAGS]
    """Apart by commas."""
    vg_extent_size: str
    """Bytes."""
    vg_extent_count: str
    """How many extents it has."""
    vg_free_count: str
    """How many are free."""
    vg_missing_pv_count: str
    """How many physical volumes are not there."""


class PhysicalRow(Part):
    """A physical volume."""

    pv_name: Path
    """Its device, or `[unknown]`."""
    pv_major: str
    """The device's major number."""
    pv_minor: str
    """The device's minor number."""
    pv_uuid: Uuid
    """Its UUID."""
    vg_name: Named
    """Its group; nothing for an orphan."""
    vg_uuid: Uuid
    """Its group's UUID."""
    pe_start: str
    """Where its extents begin; bytes."""
    pv_size: str
    """Bytes that the group has of it."""
    dev_size: str
    """Bytes of the device."""
    pv_missing: str
    """`missing`, or nothing."""


class LogicalRow(Part):
    """A logical volume, hidden ones too."""

    lv_name: Named
    """Its name; in brackets where it is hidden."""
    lv_uuid: Uuid
    """Its UUID."""
    lv_tags: Annotated[str, Kind.TAGS]
    """Apart by commas."""
    lv_size: str
    """Bytes."""
    lv_attr: str
    """lvs(8) tells the letters; the sixth is `o` where it is open."""
    lv_active: str
    """`active`, or nothing."""


class SegmentRow(Part):
    """A run of a logical volume; counts in extents."""

    lv_uuid: Uuid
    """The volume's UUID."""
    segtype: str
    """`linear`, `striped`, `thin-pool` …"""
    seg_start_pe: str
    """Where it begins in the volume."""
    seg_size_pe: str
    """How long it is."""
    seg_pe_ranges: Annotated[str, Kind.EXTENTS]
    """Where it lies: devices with their first and last extents."""


class RunRow(Part):
    """A run of a physical volume; LVM's report wants one column."""

    pvseg_start: str
    """Its first extent."""


class ReportPart(Part):
    """LVM's full report of a group, or (without `vg`) of the physical volumes that are in none."""

    vg: list[GroupRow] = Field([])
    """The group."""
    pv: list[PhysicalRow] = Field([])
    """Physical volumes."""
    lv: list[LogicalRow] = Field([])
    """Logical volumes."""
    pvseg: list[RunRow] = Field([])
    """Not read."""
    seg: list[SegmentRow] = Field([])
    """The segments of the logical volumes."""
