"""Storage on real disks: from blank to mounted, again, rebooted, refused, released, cut off in the middle.

``STACKCTL_RECORD=FOLDER`` keeps the facts of every state, for tests/machines.
"""

import base64
import io
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from layouts import EVERY_KIND, PATHS, layout

from stackctl import paths
from stackctl.errors import RefusedError
from stackctl.hardware.machine import Machine as Found
from stackctl.lab import rack
from stackctl.lab.machine import Machine
from stackctl.process import Result, SystemRunner
from stackctl.site.load import open_site
from stackctl.site.models import Layout
from stackctl.storage.audit import audit
from stackctl.storage.plan import Plan
from stackctl.storage.planner import plan
from stackctl.storage.readback import Finding, check, faults
from stackctl.storage.stripes import of_array
from tests.conftest import draw

pytestmark = pytest.mark.vm

HOST = "disks-1"
SERIALS = [f"LAB-DISKS-1-{number}" for number in (1, 2, 3, 4)]
SITE = """
plugin: stackctl
site: storage
hosts:
  disks-1:
    lab: {memory: 1 GiB, cpus: 1, disks: {count: 4, size: 2 GiB}}
    layout: raid10
layouts:
  raid10:
    disks: {count: 4, size: ">= 1 GB"}
    volumes:
      database: {size: 50%, mount: /srv/database}
      documents: {size: 20%, mount: /srv/documents}
      guests: {size: rest, mount: /srv/guests}
"""
LAYOUT = layout()

STAND_IN = """#!/bin/sh
# a stand-in, so that cuts can be tested by the dozen: an emulated machine takes minutes for the real one
touch /boot/initrd.img-*
"""

BLANK = r"""
for path in /srv/database /srv/documents /srv/guests /mnt; do umount -q $path; done
swapoff -a
sed -i /x-stackctl/d /etc/fstab
[ -e /dev/mapper/secret ] && cryptsetup close secret
vgchange -qq -an
for array in /dev/md[0-9]*; do [ -b $array ] && { vgchange -qq -an; mdadm -q --stop $array; }; done
for disk in $(lsblk -ndo NAME,SERIAL | awk '/LAB-/ {print $1}'); do
  for part in /dev/$disk[0-9]*; do [ -b $part ] && wipefs -qa $part; done
  wipefs -qa /dev/$disk
  blkdiscard -fz -l 33554432 /dev/$disk
  blockdev --rereadpt /dev/$disk
done
sed -i /^ARRAY/d /etc/mdadm/mdadm.conf
echo 1000 > /proc/sys/dev/raid/speed_limit_max  # a resync goes on beside the tests, and takes its time
touch /boot/initrd.img-*
rm -rf /srv/database /srv/documents /srv/guests
udevadm settle
"""


PAGE = 16384
COUNT = """
import mmap, os, random, sys
path, shift = os.path.realpath(sys.argv[1]), int(sys.argv[2])
base = f"/sys/class/block/{os.path.basename(path)}"
disks = [os.path.basename(os.path.dirname(os.path.realpath(f"/sys/class/block/{part}")))
         for part in os.listdir(f"{base}/slaves")]
action = f"{base}/md/sync_action"
if os.path.exists(action):
    with open(action, "w") as file:
        file.write("frozen")  # a resync reads, too
read = lambda: sum(int(open(f"/sys/class/block/{disk}/stat").read().split()[0]) for disk in disks)
fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
elements = os.lseek(fd, 0, os.SEEK_END) // 65536 - 2
buffer = mmap.mmap(-1, 16384)
before, requests = read(), 0
for element in random.sample(range(elements), 200):
    for page in range(4):  # each place in an element as often as any other
        assert os.preadv(fd, [buffer], element * 65536 + page * 16384 + shift) == 16384
        requests += 1
print((read() - before) / requests)
if os.path.exists(action):
    with open(action, "w") as file:
        file.write("idle")
"""
"""Counts in the guest; nothing is installed for it."""


class Server:
    """A lab machine with four disks, and the two ways to its storage: our command line, and the node's own code."""

    def __init__(self, inventory: Path, machine: Machine) -> None:
        self.inventory = inventory
        self.machine = machine

    def ssh(self, command: str, *, check: bool = True, text: str | None = None) -> Result:
        return self.machine.ssh(command, check=check, input=text, timeout=1800)

    def stackctl(self, *words: str) -> Result:
        argv = [paths.program("stackctl"), *words, "-i", str(self.inventory)]
        return SystemRunner().run(argv, check=False, timeout=3600)

    def ship(self) -> None:
        """Put the node's code on the server, as Ansible would."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for file in sorted((paths.package() / "node").glob("*.py")):
                archive.add(file, f"node/{file.name}")
        text = base64.b64encode(packed.getvalue()).decode()
        self.ssh("base64 -d | tar -xz -C /root", text=text)

    def stand_in(self) -> None:
        """Put a stand-in before the renewal of the boot image."""
        self.ssh("cat > /usr/local/sbin/update-initramfs; chmod +x /usr/local/sbin/update-initramfs", text=STAND_IN)

    def facts(self, name: str = "") -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.ssh(f"python3 -m node.collect {' '.join(PATHS)}").stdout)
        folder = os.environ.get("STACKCTL_RECORD")
        if folder and name:
            (Path(folder) / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
        return facts

    def plan(self, *wipe: str, record: str = "", wanted: Layout = LAYOUT) -> Plan:
        return plan(HOST, wanted, Found.from_facts(self.facts(record)), frozenset(wipe))

    def execute(self, planned: Plan) -> dict[str, Any]:
        said = self.ssh("python3 -m node.execute", check=False, text=json.dumps(planned.to_json()))
        assert said.stdout, said.stderr
        outcome: dict[str, Any] = json.loads(said.stdout)
        return outcome

    def apply(self, *wipe: str, wanted: Layout = LAYOUT) -> None:
        """Plan and carry out until nothing is left; a plan may only bring to light what there is."""
        for _ in range(3):
            planned = self.plan(*wipe, wanted=wanted)
            if not planned.steps:
                return
            outcome = self.execute(planned)
            assert "failed" not in outcome, outcome
        raise AssertionError(f"still to do: {[step.id for step in self.plan().steps]}")

    def wrong(self, record: str = "", wanted: Layout = LAYOUT) -> list[Finding]:
        return faults(check(wanted, Found.from_facts(self.facts(record))))

    def blank(self) -> None:
        self.ssh(BLANK, check=False)
        assert self.plan().destroys == ()

    def reads_of_disks(self, shift: int) -> float:
        """Reads of disks for each read of 16 KiB from the array, whose pages begin ``shift`` bytes off."""
        return float(self.ssh(f"python3 - /dev/md/data {shift}", text=COUNT).stdout)

    def device(self, number: int) -> str:
        return self.ssh(f"lsblk -ndo PATH,SERIAL | awk '$2 == \"{SERIALS[number - 1]}\" {{print $1}}'").stdout.strip()

    def power_cycle(self) -> None:
        self.machine.power_off()
        self.machine.power_on()
        self.machine.wait_ssh()


@pytest.fixture(scope="module")
def server(
    private_state: Path, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("storage-site")
    (folder / "stack.yml").write_text(SITE)
    site = open_site(folder).site
    try:
        rack.up(site)
        server = Server(folder, Machine("storage", HOST))
        server.ship()
        if not pytestconfig.getoption("exhaustive"):  # tests/vm/test_stack.py has the real renewal
            server.stand_in()
        yield server
    finally:
        rack.down("storage", agree=lambda _: True)


@pytest.fixture
def blank(server: Server) -> Server:
    """The server with four blank disks, and a stand-in for the boot image's renewal."""
    server.ship()
    server.stand_in()
    server.blank()
    return server


def test_an_apply_makes_the_layout_and_a_second_one_changes_nothing(server: Server) -> None:
    server.facts("blank")
    first = server.stackctl("apply", "--yes", "--tags", "storage")
    assert first.returncode == 0, first.stderr
    assert server.wrong("applied") == []
    second = server.stackctl("apply", "--yes", "--tags", "storage", "--check")
    assert second.returncode == 0, second.stderr
    planned = json.loads(server.stackctl("plan", "--json").stdout)
    assert planned["hosts"][HOST]["steps"] == []


def test_the_mounts_survive_a_reboot(server: Server) -> None:
    server.ssh("touch /srv/database/kept; sync")
    server.machine.shut_down()
    server.machine.power_on()
    server.machine.wait_ssh()
    assert server.wrong("rebooted") == []
    assert server.plan().steps == ()
    assert server.ssh("ls /srv/database").stdout.split() == ["kept"]


RAIDS: dict[str, dict[str, Any]] = {
    "none": {"level": "none"},
    "raid0": {"level": 0},
    "raid1": {"level": 1},
    "raid5": {"level": 5},
    "raid5-spare": {"level": 5, "spares": 1},
    "raid6": {"level": 6},
    "raid10-far": {"level": 10, "layout": "far"},
    "raid10-offset": {"level": 10, "layout": "offset"},
}


def test_every_level_is_made_read_back_and_found_again(blank: Server, raid: str) -> None:
    disks = {"count": 4, "size": ">= 1 GB"} if raid != "none" else {"count": 1, "serial": SERIALS[:1]}
    wanted = layout(disks=disks, raid=RAIDS[raid], volumes=EVERY_KIND)
    blank.apply(wanted=wanted)
    assert blank.wrong(f"applied-{raid}", wanted) == []
    machine = Found.from_facts(blank.facts())
    found = audit(machine)
    assert (found.faults, found.costs) == ((), ())
    for array in machine.arrays:
        stripe = of_array(array)
        for shift in (0, 63 * 512):
            predicted = float(stripe.reads(PAGE, shift)) if stripe else 1.0
            assert blank.reads_of_disks(shift) == pytest.approx(predicted, abs=0.01)
    assert len(machine.arrays) == (raid != "none")
    stopped = "mdadm -q --stop /dev/md/data; " if machine.arrays else ""
    blank.ssh(f"umount /srv/*; swapoff -a; vgchange -qq -an; {stopped}udevadm settle")
    blank.apply(wanted=wanted)
    assert blank.wrong(wanted=wanted) == []
    assert blank.plan(wanted=wanted).steps == ()


GPT = "sfdisk -q --lock --label gpt {2}; udevadm settle"
OLD = "mdadm -q --create /dev/md/old --run --level=1 --raid-devices=2 --homehost=other --name=old {2} {3}"
LUKS2 = """python3 - <<'END'
import struct  # the head of a header as cryptsetup writes it
head = b"LUKS" + bytes([0xBA, 0xBE]) + struct.pack(">HQQ", 2, 16384, 3)
head += b"vault".ljust(48, b"\\0") + b"sha256".ljust(32, b"\\0") + bytes(64)
head += b"11111111-2222-4333-8444-555555555555".ljust(40, b"\\0")
with open("{2}", "r+b") as disk:
    disk.write(head.ljust(4096, b"\\0"))
END
"""

FOREIGN = {
    "filesystem": ("mkfs.ext4 -q -L photos {2}", "ext4 file system 'photos' on the whole disk"),
    "partitions": (
        f'printf \'size=256M,name="EFI"\\nname="root"\\n\' | {GPT}; mkfs.xfs -q {{2}}2',
        "partition 1 'EFI' of 256 MiB (no signature)",
    ),
    "empty-table": ("printf 'label: dos\\n' | sfdisk -q --lock {2}", "an empty partition table (dos)"),
    "lost-table": (
        f"printf 'name=\"x\"\\n' | {GPT}; mkfs.xfs -q -L lost {{2}}1; udevadm settle; wipefs -qa --lock {{2}};"
        " until blockdev --rereadpt {2} 2>/dev/null; do udevadm settle; done",
        "xfs file system 'lost' at 1 MiB, where a first partition begins",
    ),
    "pv": ("pvcreate -qq -y {2}", "LVM physical volume on the whole disk"),
    "held": (
        "pvcreate -qq -y {2}; vgcreate -qq vg0 {2}; lvcreate -qq -y -n root -L 400M vg0",
        "held by LVM volume vg0/root",
    ),
    "md": (OLD, "held by md array 'old'"),
    "md-stopped": (
        f"{OLD}; udevadm settle; mdadm -q --stop /dev/md/old",
        "member of an md array 'old' on the whole disk",
    ),
    "luks": (LUKS2, "LUKS encryption"),
    "swap-space": ("mkswap -q {2}", "swap space on the whole disk"),
}
USED = {
    "mounted": ("mkfs.ext4 -q {2}; mount {2} /mnt", "mounted at /mnt", "unmount it first"),
    "swap": ("mkswap -q {2}; swapon {2}", "in use as swap", "swapoff first"),
}


def prepare(server: Server, command: str) -> None:
    words = command.replace("{2}", server.device(2)).replace("{3}", server.device(3))
    server.ssh(f"set -e\nudevadm settle\n{words}\nudevadm settle")


def released(name: str) -> tuple[str, ...]:
    return tuple(SERIALS[1:3]) if name.startswith("md") else (SERIALS[1],)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "raid" in metafunc.fixturenames:
        metafunc.parametrize("raid", draw(metafunc.config, "raids", sorted(RAIDS), 1))
    if "foreign" in metafunc.fixturenames:
        metafunc.parametrize("foreign", draw(metafunc.config, "foreign", sorted(FOREIGN), 3))


def test_what_is_not_ours_is_refused_by_name(blank: Server, foreign: str) -> None:
    command, words = FOREIGN[foreign]
    prepare(blank, command)
    with pytest.raises(RefusedError) as told:
        blank.plan(record=f"foreign-{foreign}")
    assert SERIALS[1] in str(told.value)
    assert words in str(told.value)
    assert f"--wipe {SERIALS[1]}" in str(told.value)
    assert blank.plan(*released(foreign)).destroys


def test_a_released_disk_is_wiped_and_taken(blank: Server, sample: Any) -> None:
    for name in sample(sorted(FOREIGN), 1):
        blank.blank()
        prepare(blank, FOREIGN[name][0])
        blank.apply(*released(name))
        assert blank.wrong() == [], name
        assert blank.plan(*released(name)).steps == (), "the same word again must do nothing"


@pytest.mark.parametrize("name", USED)
def test_a_disk_in_use_is_refused_even_when_it_is_named(blank: Server, name: str) -> None:
    command, words, advice = USED[name]
    prepare(blank, command)
    with pytest.raises(RefusedError, match=words):
        blank.plan(record=f"used-{name}")
    with pytest.raises(RefusedError, match=advice):
        blank.plan(SERIALS[1])


def test_the_command_line_refuses_with_three(blank: Server) -> None:
    prepare(blank, FOREIGN["filesystem"][0])
    said = blank.stackctl("apply", "--yes", "--tags", "storage")
    assert said.returncode == 3
    assert SERIALS[1] in said.stderr
    assert "photos" in said.stderr
    assert blank.ssh(f"blkid -o value -s LABEL {blank.device(2)}").stdout.strip() == "photos"


def test_a_disk_that_changed_after_the_plan_is_refused_and_nothing_is_written(blank: Server) -> None:
    planned = blank.plan()
    prepare(blank, FOREIGN["filesystem"][0])
    outcome = blank.execute(planned)
    assert outcome["stackctl_exit"] == 3
    assert f"disk {SERIALS[1]}" in outcome["msg"]
    assert blank.facts()["signatures"].keys() & {Path(blank.device(number)).name for number in (1, 3, 4)} == set()


def test_a_disk_that_is_gone_after_the_plan_is_refused(blank: Server) -> None:
    planned = blank.plan()
    try:
        with blank.machine.qmp() as session:
            session.execute("device_del", id="data-disk-2")
        end = time.monotonic() + 120
        while blank.device(2):
            assert time.monotonic() < end, "the disk did not go"
        outcome = blank.execute(planned)
        assert f"disk {SERIALS[1]} is gone" in outcome["msg"]
        assert outcome["stackctl_exit"] == 3
    finally:
        blank.power_cycle()


STEPS = [
    *(f"partition:{serial}" for serial in SERIALS),
    "array:data",
    "group:data",
    "unclaim:data",
    "mdadm-conf",
    *(f"{kind}:data/{name}" for kind in ("volume", "filesystem") for name in LAYOUT.volumes),
    "fstab:data",
    *(f"mount:{path}" for path in PATHS),
    "initramfs",
]
CUTS = [
    (step, event, pause) for step in STEPS for event, pause in (("begins", 0.0), ("begins", 0.4), ("changed", 0.0))
]
"""Where the power goes: when a step begins, in the middle of it, when it has ended."""


def cut(server: Server, step: str, event: str, pause: float) -> None:
    """Carry out a plan and cut the power at the given moment."""
    server.ssh("rm -f /run/stackctl/storage.progress; mkdir -p /run/stackctl; touch /run/stackctl/storage.progress")
    planned = json.dumps(server.plan().to_json())
    server.ssh("cat > /root/plan.json; sync", text=planned)
    watch = subprocess.Popen(
        server.machine.ssh_argv("tail -n +1 -F /run/stackctl/storage.progress"), stdout=subprocess.PIPE, text=True
    )
    work = subprocess.Popen(
        server.machine.ssh_argv("python3 -m node.execute < /root/plan.json"),
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    try:
        assert watch.stdout
        for line in watch.stdout:
            told = json.loads(line)
            if (told["step"], told["event"]) == (step, event):
                time.sleep(pause)
                break
        server.machine.power_off()
    finally:
        for process in (watch, work):
            process.kill()
            process.wait()
    server.machine.power_on()
    server.machine.wait_ssh()
    server.ship()


def test_a_power_cut_anywhere_is_followed_by_an_apply_that_finishes(blank: Server, sample: Any) -> None:
    for step, event, pause in sample(CUTS, 1):
        blank.blank()
        cut(blank, step, event, pause)
        blank.facts(f"cut-{step.replace(':', '-').replace('/', '-')}-{event}-{pause}")
        blank.apply()
        assert blank.wrong() == [], (step, event, pause)
        assert blank.plan().steps == ()
