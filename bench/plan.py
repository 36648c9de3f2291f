#!/usr/bin/env python3
"""Planning the disks of a large site against what `ansible-inventory --list` takes to load the same site.

Usage: bench/plan.py [--hosts 1000] [--disks 24] [--rounds 3] [--limit-ratio 1.2]

Writes a site of so many hosts, and for each the facts of a server with a system disk and blank disks: a recorded
server (tests/machines/lab-blank.json) whose data disk is there as often as asked, under names of its own. In turn
`ansible-inventory` lists the site, and bench/planner.py reads it, reads every server's facts, plans its layout and
takes the plan's digest; both are processes of their own, with all that it takes to start them. Prints one JSON
document; ends with 1 when the ratio of the medians, by the clock or by processor time, is over the limit.
"""

import argparse
import copy
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stackctl import paths
from stackctl.apply.environment import ansible_environment
from stackctl.node import fingerprint
from stackctl.process import SystemRunner

RECORDED = Path(__file__).parents[1] / "tests" / "machines" / "lab-blank.json"
PLANNER = Path(__file__).with_name("planner.py")
LAYOUT = """\
layouts:
  wide:
    disks: {{count: {disks}, size: ">= 2 TB", exclude: {{transport: usb}}}}
    raid: {{level: 10, chunk: 64 KiB}}
    volumes:
      database: {{size: 50%, mount: /srv/database}}
      documents: {{size: 20%, mount: /srv/documents}}
      guests: {{size: rest, mount: /srv/guests}}
"""
SIZE = 4_000_787_030_016
"""What a disk sold as 4 TB has, in bytes."""
MAJORS = (8, *range(65, 72), *range(128, 136))
"""The kernel's numbers for SCSI disks, 16 disks each."""


def stack(hosts: Sequence[str], disks: int) -> str:
    """The stack.yml of a site whose hosts all carry one layout."""
    lines = [
        f"  {host}: {{address: 10.0.{at // 250}.{at % 250 + 1}, layout: wide}}\n" for at, host in enumerate(hosts)
    ]
    return "plugin: stackctl\nsite: bench-plan\nhosts:\n" + "".join(lines) + LAYOUT.format(disks=disks)


def server(recorded: Mapping[str, Any], host: str, number: int, disks: int) -> dict[str, Any]:
    """The facts of one server: the system disk as recorded, and the recorded data disk so many times."""
    facts: dict[str, Any] = copy.deepcopy(dict(recorded))
    facts["host"]["name"] = host
    block, row = facts["blocks"]["sda"], next(row for row in facts["lsblk"] if row["kname"] == "sda")
    facts["lsblk"] = [other for other in facts["lsblk"] if not other["kname"].startswith("sd")]
    for part in ("blocks", "links"):
        facts[part] = {name: value for name, value in facts[part].items() if not name.startswith("sd")}
    for at in range(disks):
        name, wwn = kernel_name(at), f"0x5000c500{number:05x}{at:03x}"
        who = {"serial": f"ZC1{number:05X}{at:02X}", "wwn": wwn, "vendor": "SEAGATE", "model": "ST4000NM0025"}
        device = f"{MAJORS[at // 16]}:{at % 16 * 16}"
        facts["blocks"][name] = block | {"number": device, "diskseq": at + 2, "size": SIZE}
        facts["lsblk"].append(row | who | {"kname": name, "size": SIZE, "tran": "sas", "hctl": f"0:0:{at}:0"})
        names = (f"by-id/scsi-3{wwn[2:]}", f"by-id/wwn-{wwn}", f"by-path/pci-0000:3b:00.0-sas-phy{at}-lun-0")
        facts["links"][name] = [f"/dev/disk/{link}" for link in names]
    whole = [name for name, block in facts["blocks"].items() if block["kind"] == "disk"]
    return facts | {"fingerprints": {name: fingerprint.of_disk(facts, name) for name in whole}}


def kernel_name(at: int) -> str:
    """What the kernel calls the SCSI disk with that number, counted from 0: sda, sdz, sdaa."""
    return f"{kernel_name(at // 26 - 1) if at >= 26 else 'sd'}{chr(ord('a') + at % 26)}"


def ansible_inventory(site: Path, facts: Path) -> set[str]:
    """The hosts that ansible-inventory lists, told where our plugins are as `stackctl apply` tells it."""
    argv = [paths.program("ansible-inventory"), "-i", site, "--list"]
    return set(json.loads(SystemRunner().run(argv, env=ansible_environment()).stdout)["_meta"]["hostvars"])


def planning(site: Path, facts: Path) -> set[str]:
    """The hosts that were planned."""
    digests = json.loads(SystemRunner().run([sys.executable, PLANNER, site, facts]).stdout)
    if len(set(digests.values())) < len(digests):
        sys.exit("two hosts with other disks were given the same plan")
    return set(digests)


def processor() -> float:
    """Seconds that ended children have had of processors, user and system."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--disks", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-ratio", type=float, default=1.2)
    words = parser.parse_args()
    hosts = [f"storage-{number}" for number in range(1, words.hosts + 1)]
    runs = {"planning": planning, "ansible-inventory": ansible_inventory}
    times: dict[str, dict[str, list[float]]] = {name: {"clock": [], "processor": []} for name in runs}
    with tempfile.TemporaryDirectory(prefix="bench-plan-") as folder:
        site, facts = Path(folder, "stack.yml"), Path(folder, "facts")
        site.write_text(stack(hosts, words.disks), encoding="utf-8")
        facts.mkdir()
        recorded = json.loads(RECORDED.read_bytes())
        for number, host in enumerate(hosts):
            found = server(recorded, host, number, words.disks)
            (facts / f"{host}.json").write_text(json.dumps(found), encoding="utf-8")
        for turn in range(words.rounds):
            for name, run in runs.items():
                began, used = time.monotonic(), processor()
                if run(site, facts) != set(hosts):
                    sys.exit(f"{name} did not see every host")
                times[name]["clock"].append(round(time.monotonic() - began, 2))
                times[name]["processor"].append(round(processor() - used, 2))
                last = ", ".join(f"{kind} {taken[-1]} s" for kind, taken in times[name].items())
                print(f"round {turn + 1}, {name}: {last}", file=sys.stderr)
    ratio = {
        kind: round(statistics.median(times["planning"][kind]) / statistics.median(peer), 3)
        for kind, peer in times["ansible-inventory"].items()
    }
    print(json.dumps({"seconds": times, "ratio": ratio, "limit": words.limit_ratio}, indent=2))
    sys.exit(max(ratio.values()) > words.limit_ratio)


if __name__ == "__main__":
    main()
