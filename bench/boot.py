#!/usr/bin/env python3
"""From power-on to SSH in the lab, against a bare QEMU command line with the same kernel and disk.

Usage: bench/boot.py [--rounds 3] [--limit-ratio 1.3]

Makes a lab machine of its own, boots it once, then starts it in turn by the lab and by `qemu-system-x86_64` alone;
both run until `ssh MACHINE true` succeeds with the machine's pinned key. Prints one JSON document; ends with 1 when
the ratio of the medians is over the limit.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from stackctl import console
from stackctl.lab import identity, qemu, rack, reach, state
from stackctl.lab.machine import BOOT_PATIENCE, Machine
from stackctl.process import SystemRunner, spawn
from stackctl.site.models import Host, LabMachine, Site

SITE, HOST, PORT = "bench-boot", "bare-1", 42022


def by_the_lab(machine: Machine) -> float:
    """Seconds from power-on to SSH, started by the lab with all of its devices."""
    began = time.monotonic()
    machine.power_on()
    machine.wait_ssh()
    took = time.monotonic() - began
    machine.shut_down()
    return took


def by_bare_qemu(machine: Machine, folder: Path) -> float:
    """Seconds from power-on to SSH, started by the shortest command line that gives the disk and the port."""
    record = machine.record
    disk = folder / "overlay.qcow2"
    below = machine.directory / qemu.SYSTEM_DISK
    SystemRunner().run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", below, disk])
    words = [
        *(qemu.PROGRAM, "-nographic", "-machine", "q35", *qemu.ACCELERATORS[record.accelerator]),
        *("-smp", str(record.cpus), "-m", f"{record.memory >> 20}"),
        *("-drive", f"file={disk},if=virtio"),
        *("-nic", f"user,model=virtio-net-pci,hostfwd=tcp:{state.LOOPBACK}:{PORT}-:22"),
    ]
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(identity.known_hosts(state.LOOPBACK, PORT, record.host_key))
    at = dataclasses.replace(machine.endpoint, port=PORT, known_hosts=known_hosts)
    began = time.monotonic()
    process = spawn(words, new_session=True)

    def still_there() -> None:
        if process.poll() is not None:
            sys.exit(f"QEMU ended with {process.returncode}: {' '.join(words)}")

    try:
        reach.wait(at, still_there, BOOT_PATIENCE, SystemRunner())
        return time.monotonic() - began
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def booted_machine() -> Iterator[Machine]:
    """A machine in a private state folder that has had its first boot, and is off."""
    with tempfile.TemporaryDirectory(prefix="bench-boot-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        site = Site(plugin="stackctl", site=SITE, hosts={HOST: Host(lab=LabMachine())})
        try:
            rack.up(site)
            machine = Machine(SITE, HOST)
            machine.shut_down()
            yield machine
        finally:
            rack.down(SITE, agree=lambda _: True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-ratio", type=float, default=1.3)
    words = parser.parse_args()
    times: dict[str, list[float]] = {"lab": [], "bare QEMU": []}
    with booted_machine() as machine, tempfile.TemporaryDirectory(prefix="bench-boot-") as folder:
        accelerator = machine.record.accelerator
        for number in range(words.rounds):
            times["lab"].append(by_the_lab(machine))
            times["bare QEMU"].append(by_bare_qemu(machine, Path(folder)))
            console.note(
                f"round {number + 1}: lab {times['lab'][-1]:.1f} s, bare QEMU {times['bare QEMU'][-1]:.1f} s"
            )
    ratio = statistics.median(times["lab"]) / statistics.median(times["bare QEMU"])
    result = {"accelerator": accelerator, "seconds": times, "ratio": round(ratio, 3), "limit": words.limit_ratio}
    print(json.dumps(result, indent=2))
    sys.exit(ratio > words.limit_ratio)


if __name__ == "__main__":
    main()
