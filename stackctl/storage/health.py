"""Whether disks are run as they should be: RAID controllers, their batteries and drives, the kernel's queues."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stackctl.hardware.controllers.model import (
    Controller,
    Drive,
    DriveCache,
    DriveState,
    VirtualDisk,
    VolumeState,
    WritePolicy,
)
from stackctl.hardware.disk import Disk
from stackctl.hardware.machine import Machine
from stackctl.storage.readback import Finding
from stackctl.units import KIB, MIB, format_size

_WELL = frozenset({"optimal", "ok"})
_LEAST_READ_AHEAD = 128 * KIB
"""The kernel's own read-ahead (VM_READAHEAD_PAGES, include/linux/mm.h)."""
_MOST_READ_AHEAD = 4 * MIB
"""More than this helps no stream, and reads in vain for everything else."""


_HYPERVISORS = frozenset({"qemu", "vmware", "vbox", "msft", "xen"})
"""Vendors of disks that are none: the host schedules what is behind them."""


@dataclass(frozen=True, slots=True)
class _Medium:
    """What suits a kind of disk: the schedulers that may be, the one that is best first."""

    words: str
    schedulers: tuple[str, ...]


_MEDIA: Mapping[str, _Medium] = {
    "virtual": _Medium("a controller's disk", ("none", "mq-deadline", "noop", "deadline")),
    "nvme": _Medium("NVMe", ("none", "noop", "kyber")),
    "flash": _Medium("flash", ("none", "mq-deadline", "kyber", "noop", "deadline")),
    "spinning": _Medium("a spinning disk", ("mq-deadline", "bfq", "deadline", "cfq")),
}
"""A controller sorts requests over its drives itself, and flash has no arm to spare; a bare spinning disk has. bfq
costs processor time with every request (kernel, Documentation/block/bfq-iosched.rst): nothing for fast disks."""


def check(machine: Machine) -> list[Finding]:
    """All that was looked at; ``ok`` where all is well. What a tool does not tell is not judged."""
    return [
        *(finding for controller in machine.controllers for finding in _controller(controller)),
        *(finding for disk in machine.disks for finding in _queue(disk, machine)),
    ]


def _controller(controller: Controller) -> Iterator[Finding]:
    title = controller.title
    if controller.state:
        yield Finding("controller", title, "optimal", controller.state, controller.state.lower() in _WELL)
    if controller.battery:
        yield Finding(
            "controller", f"{title}, battery", "healthy", str(controller.battery), controller.battery.healthy
        )
    for disk in controller.virtual_disks:
        yield from _virtual_disk(controller, disk)
    for drive in controller.drives:
        yield from _drive(controller, drive)


def _virtual_disk(controller: Controller, disk: VirtualDisk) -> Iterator[Finding]:
    name = f" {disk.name}" if disk.name else ""
    subject = f"{controller.title}, {disk.id}{name}"
    if disk.state is not VolumeState.UNKNOWN:
        ok = disk.state is VolumeState.OPTIMAL
        yield Finding("virtual disk", f"{subject}, state", "optimal", f"{disk.state} ({disk.words})", ok)
    if disk.write_policy is not WritePolicy.UNKNOWN:
        yield _write_policy(controller, disk, subject)
    if disk.drive_cache is not DriveCache.UNKNOWN:
        yield _drive_cache(controller, disk, subject)


def _write_policy(controller: Controller, disk: VirtualDisk, subject: str) -> Finding:
    """Write-back is right with a healthy battery, write-through without one, always write-back never."""
    battery = controller.battery
    healthy = battery is not None and battery.healthy
    now, wanted = disk.write_policy, disk.wanted_policy
    backed = f"battery {'' if healthy else 'not '}healthy" if battery else "no battery"
    if WritePolicy.ALWAYS in (now, wanted):
        expected, ok = "write-back only while a battery backs it", False
    elif now is WritePolicy.BACK:
        expected, ok = "write-through without a healthy battery", healthy
    elif wanted is WritePolicy.BACK:
        expected, ok = "write-back, as it is set", False
    else:
        expected, ok = "write-through, as it is set", True
    set_to = "" if wanted in (now, WritePolicy.UNKNOWN) else f", set to {wanted.words}"
    return Finding("virtual disk", f"{subject}, writes", expected, f"{now.words}{set_to}, {backed}", ok)


def _drive_cache(controller: Controller, disk: VirtualDisk, subject: str) -> Finding:
    """No battery of the controller keeps what is in the drives' own caches."""
    found, ok = f"{disk.drive_cache}", disk.drive_cache is not DriveCache.ON
    if disk.drive_cache is DriveCache.DEFAULT:
        caching = [drive.slot for drive in controller.drives_of(disk) if drive.write_cache]
        ok = not caching
        found += f": on in {', '.join(caching)}" if caching else ""
    return Finding("virtual disk", f"{subject}, write caches of its drives", "off", found, ok)


def _drive(controller: Controller, drive: Drive) -> Iterator[Finding]:
    subject = f"{controller.title}, {drive.slot} {drive.serial or drive.model}".rstrip()
    if drive.state is not DriveState.UNKNOWN:
        ok = drive.state not in (DriveState.FAILED, DriveState.MISSING, DriveState.REBUILDING)
        yield Finding("drive", f"{subject}, state", "working", f"{drive.state} ({drive.words})", ok)
    counts = {
        "media errors": drive.media_errors,
        "other errors": drive.other_errors,
        "predicted failures": drive.predictive_failures,
    }
    if drive.smart_alert is None and all(count is None for count in counts.values()):
        return
    told = [f"{count} {what}" for what, count in counts.items() if count]
    told += ["SMART alert"] if drive.smart_alert else []
    yield Finding("drive", f"{subject}, errors", "none", ", ".join(told) or "none", not told)


def _queue(disk: Disk, machine: Machine) -> Iterator[Finding]:
    """The scheduler and the read-ahead; of disks that stay, and are not a guest's."""
    if disk.removable or disk.transport in ("virtio", "usb") or disk.vendor.lower() in _HYPERVISORS:
        return
    virtual = machine.virtual_disk(disk)
    medium = _MEDIA[_kind(disk, virtual)]
    if disk.queue.scheduler:
        ok = disk.queue.scheduler in medium.schedulers
        expected = f"{' or '.join(medium.schedulers[:2])}, on {medium.words}"
        yield Finding("disk", f"{disk.key or disk.name}, scheduler", expected, disk.queue.scheduler, ok)
    if disk.queue.scheduler or disk.queue.read_ahead:
        yield _read_ahead(disk, virtual)


def _kind(disk: Disk, virtual: VirtualDisk | None) -> str:
    if virtual:
        return "virtual"
    if disk.transport == "nvme":
        return "nvme"
    return "spinning" if disk.limits.rotational else "flash"


def _read_ahead(disk: Disk, virtual: VirtualDisk | None) -> Finding:
    """Enough to keep all drives of a stripe busy, and not what comes of an optimal request size that is a lie.

    The kernel takes twice the optimal request size where that is more than its own 128 KiB (block/blk-settings.c):
    33553920 bytes make it 64 MiB.
    """
    width = disk.striping.width if disk.striping else 0
    # a controller that reads ahead itself keeps its drives busy; flash needs no more than the kernel's own
    ahead = virtual is not None and virtual.read_ahead is False and disk.limits.rotational
    least = max(_LEAST_READ_AHEAD, width) if ahead else _LEAST_READ_AHEAD
    most = max(_MOST_READ_AHEAD, 2 * width)
    if not disk.limits.rotational and not virtual:
        least = 0
    found = disk.queue.read_ahead
    expected = f"{format_size(least)} to {format_size(most)}" if least else f"at most {format_size(most)}"
    return Finding(
        "disk", f"{disk.key or disk.name}, read-ahead", expected, format_size(found), least <= found <= most
    )
