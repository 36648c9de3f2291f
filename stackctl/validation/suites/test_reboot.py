"""Every server: what a reboot would start is what should run."""

from stackctl.validation import expect
from stackctl.validation.inventory import Target
from stackctl.validation.roles import units_of
from stackctl.validation.system import System, Unit


def _units(system: System, target: Target) -> list[Unit]:
    return [system.units[name] for name in units_of(target)]


def test_units_start_at_boot(system: System, target: Target) -> None:
    """Every service of the roles starts at boot."""
    expect.nothing(unit.wrong_after_reboot() for unit in _units(system, target))


def test_units_are_as_on_disk(system: System, target: Target) -> None:
    """What runs is what the unit files on disk say."""
    expect.nothing(
        f"the file of {unit.name} has changed since systemd read it, so that a reboot starts something else"
        for unit in _units(system, target)
        if unit.stale
    )


def test_no_unit_failed(system: System) -> None:
    """No unit of the server has failed."""
    expect.nothing(f"{name} has failed" for name in system.failed_units)


def test_kernels_can_boot(system: System) -> None:
    """Every installed kernel has its initramfs."""
    expect.nothing(
        f"/boot/vmlinuz-{version} has no initrd.img-{version} beside it"
        for version, has_initramfs in system.kernels.items()
        if not has_initramfs
    )
