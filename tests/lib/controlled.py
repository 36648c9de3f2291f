"""Machines whose disks are virtual disks of RAID controllers: recorded servers, with recorded controllers put in."""

import json
from pathlib import Path

from stackctl.hardware.machine import Machine

TESTS = Path(__file__).parents[1]
CONTROLLERS = TESTS / "unit" / "hardware" / "controllers"


def record(name):
    """What the node would have collected of a controller."""
    if (file := CONTROLLERS / f"{name}.json").exists():
        return json.loads(file.read_text())
    return {"tool": name.partition("-")[0], "documents": [{"text": (CONTROLLERS / f"{name}.txt").read_text()}]}


def facts_with(*records, disks=None, machine="lab-blank"):
    """The facts of a blank server; ``disks`` has by name what lsblk (``wwn``…) and sysfs say otherwise."""
    facts = json.loads((TESTS / "machines" / f"{machine}.json").read_text())
    facts["controllers"] = list(records)
    for name, words in (disks or {}).items():
        known = next(device for device in facts["lsblk"] if device["kname"] == name)
        for key, value in words.items():
            if key == "links":
                facts["links"][name] = value
            else:
                (known if key in known else facts["blocks"][name]["limits"])[key] = value
    return facts


def machine_with(*records, disks=None, machine="lab-blank"):
    return Machine.from_facts(facts_with(*records, disks=disks, machine=machine))
