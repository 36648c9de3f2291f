"""The machines of a site together: what is refused, what is shown, what is left when they are gone."""

import shutil
import subprocess
from pathlib import Path

import pytest

from stackctl.errors import InputError, RefusedError, StackctlError
from stackctl.lab import parts, rack, state
from stackctl.lab.machine import Machine, Power
from stackctl.process import RecordingRunner
from stackctl.site.models import Host, LabDisks, LabMachine, Site
from stackctl.units import GIB, MIB

pytestmark = pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="needs QEMU")

LAB = LabMachine(memory=256 * MIB, cpus=1, system_disk=2 * GIB, disks=LabDisks(count=2))
SITE = Site(
    plugin="stackctl",
    site="unit",
    hosts={"tiny-1": Host(lab=LAB, roles=("search",)), "tiny-2": Host(lab=LAB), "real-1": Host(address="192.0.2.1")},
)


def test_the_lab_machines_of_a_site() -> None:
    assert [machine.host for machine in rack.machines(SITE)] == ["tiny-1", "tiny-2"]
    assert [machine.host for machine in rack.machines(SITE, ["tiny-2"])] == ["tiny-2"]
    with pytest.raises(InputError, match="real-1"):
        rack.machines(SITE, ["real-1"])


def test_a_site_without_any() -> None:
    site = Site(plugin="stackctl", site="unit", hosts={"real-1": Host(address="192.0.2.1")})
    with pytest.raises(InputError, match="no lab machine"):
        rack.machines(site)


def test_status_of_absent_made_running_and_left_over_machines(tiny: Machine) -> None:
    (state.site_directory("unit") / "machines" / "gone-1").mkdir()
    tiny.power_on()
    shown = {status.host: status for status in rack.status(SITE)}
    assert {host: str(status.state) for host, status in shown.items()} == {
        "tiny-1": "running",
        "tiny-2": "absent",
        "gone-1": "unfinished",
    }
    assert shown["tiny-1"].pid == tiny.pid()
    assert shown["tiny-1"].search_page == f"http://127.0.0.1:{tiny.endpoint.web_port}/"
    assert shown["tiny-1"].disks == ("LAB-TINY-1-1 4 GiB", "LAB-TINY-1-2 4 GiB")
    tiny.power_off()
    assert rack.status(SITE)[0].search_page is None


def test_down_deletes_blank_disks_without_asking(tiny: Machine) -> None:
    def nobody(question: str) -> bool:
        raise AssertionError(question)

    tiny.power_on()
    rack.down("unit", agree=nobody)
    assert tiny.power() is Power.ABSENT
    assert not state.site_directory("unit").exists()


def test_down_asks_before_it_deletes_what_was_written(tiny: Machine) -> None:
    (tiny.directory / "data-2.raw").write_bytes(b"x" * 4096)
    asked: list[str] = []

    def no(question: str) -> bool:
        asked.append(question)
        return False

    with pytest.raises(RefusedError, match="tiny-1") as failure:
        rack.down("unit", agree=no)
    assert "--keep-disks" in str(failure.value.hint)
    assert len(asked) == 1
    assert tiny.power() is Power.OFF
    rack.down("unit", keep_disks=True, agree=no)
    assert tiny.power() is Power.OFF
    rack.down("unit", agree=lambda _: True)
    assert tiny.power() is Power.ABSENT


def test_a_refusal_comes_before_the_first_deletion(tiny: Machine) -> None:
    """Of two machines the second is refused; the first, blank one stays too."""
    other = Machine("unit", "tiny-2")
    # the disks are holes, which shutil would fill
    subprocess.run(["cp", "--recursive", "--sparse=always", tiny.directory, other.directory], check=True)
    (other.directory / "data-1.raw").write_bytes(b"x" * 4096)
    with pytest.raises(RefusedError, match="tiny-2"):
        rack.down("unit")
    assert tiny.power() is Power.OFF
    assert other.power() is Power.OFF
    other.remove()


def test_down_of_one_machine_leaves_the_others(tiny: Machine) -> None:
    other = Machine("unit", "tiny-2")
    other.directory.mkdir()
    rack.down("unit", ["tiny-2"])
    assert other.power() is Power.ABSENT
    assert tiny.power() is Power.OFF
    with pytest.raises(InputError, match="tiny-3"):
        rack.down("unit", ["tiny-3"])


def test_an_empty_lab_is_down(state_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rack.down("unit")
    assert "the lab is empty" in capsys.readouterr().err
    assert not state.site_directory("unit").exists()


def test_a_site_that_changed_is_noticed(tiny: Machine) -> None:
    description = Host(lab=LabMachine(memory=256 * MIB, cpus=1, system_disk=2 * GIB, disks=LabDisks(count=2)))
    tiny.power_on()
    assert not tiny.differs_from(description), "ports that were chosen are no difference"
    assert tiny.differs_from(Host(lab=LabMachine(memory=512 * MIB, cpus=1, system_disk=2 * GIB)))
    assert tiny.differs_from(description.model_copy(update={"user": "deploy"}))


def test_a_system_disk_below_its_image_is_refused(tiny: Machine, tmp_path: Path) -> None:
    image = tmp_path / "large.raw"
    image.touch()
    with image.open("r+b") as file:
        file.truncate(3 * GIB)
    with pytest.raises(StackctlError, match="system_disk"):
        Machine("unit", "tiny-2").create(image, Host(lab=LAB), "tcg", "key", RecordingRunner())


def test_an_image_that_is_gone_is_told(tiny: Machine) -> None:
    Path(tiny.record.image).unlink()
    with pytest.raises(StackctlError, match="did not start") as failure:
        tiny.power_on()
    assert "gone from the cache" in str(failure.value.hint)


def test_available_memory() -> None:
    said = "MemTotal:       24684432 kB\nMemFree:        18250876 kB\nMemAvailable:   20000000 kB\n"
    assert rack.available_memory(said) == 20000000 * 1024
    with pytest.raises(StackctlError):
        rack.available_memory("MemTotal: 1 kB\n")


def test_a_plan_is_of_lab_machines_only() -> None:
    with pytest.raises(ValueError, match="no lab machine"):
        parts.plan("s", "h", Host(address="192.0.2.1"), image=Path("/i"), accelerator="tcg", host_key="k")
