#!/usr/bin/env python3
"""A second `stackctl apply` against plain ansible-playbook with Ansible's default settings, on the same site.

Usage: bench/apply.py [-i inventories/lab] [--rounds 2] [--limit-ratio 0.35]

The site must have been applied. Both run in turn and must change nothing. "Default settings" means: an ansible.cfg
that names the folders of roles and plugins and no more; so no pipelining, Ansible's own strategy and SSH arguments.
Prints one JSON document; ends with 1 when the ratio is over the limit or anything was changed.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from stackctl import paths
from stackctl.process import SystemRunner

DEFAULTS = """
[defaults]
roles_path = {playbooks}/roles
inventory_plugins = {playbooks}/plugins/inventory
action_plugins = {playbooks}/plugins/action
lookup_plugins = {playbooks}/plugins/lookup
filter_plugins = {playbooks}/plugins/filter
library = {playbooks}/plugins/modules
module_utils = {playbooks}/plugins/module_utils
[inventory]
enable_plugins = stackctl
"""
_RECAP = re.compile(r"^\S+\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


def plain(inventory: Path) -> float:
    """Seconds of ansible-playbook as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "ansible.cfg"
        config.write_text(DEFAULTS.format(playbooks=paths.data("playbooks")), encoding="utf-8")
        argv = [paths.program("ansible-playbook"), "-i", inventory, paths.data("playbooks", "site.yml")]
        began = time.monotonic()
        said = SystemRunner().run(argv, env={"ANSIBLE_CONFIG": str(config), "ANSIBLE_NOCOLOR": "1"}).stdout
        took = time.monotonic() - began
    recap = _RECAP.findall(said)
    if not recap or any(counts != ("0", "0", "0") for counts in recap):
        sys.exit(f"ansible-playbook changed something, or failed:\n{said[-4000:]}")
    return took


def ours(inventory: Path) -> float:
    """Seconds of stackctl apply."""
    began = time.monotonic()
    said = SystemRunner().run([paths.program("stackctl"), "apply", "-i", inventory, "--json"]).stdout
    took = time.monotonic() - began
    outcome = json.loads(said)
    if outcome["changes"] or outcome["failures"]:
        sys.exit(f"stackctl apply changed something, or failed: {outcome['changes']} {outcome['failures']}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-i", "--inventory", type=Path, default=paths.data("inventories", "lab", "stack.yml"))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit-ratio", type=float, default=0.35)
    words = parser.parse_args()
    inventory = words.inventory / "stack.yml" if words.inventory.is_dir() else words.inventory
    times: dict[str, list[float]] = {"apply": [], "ansible-playbook": []}
    for number in range(words.rounds):
        for name, run in (("apply", ours), ("ansible-playbook", plain)):
            times[name].append(run(inventory.resolve()))
            print(f"round {number + 1}, {name}: {times[name][-1]:.1f} s", file=sys.stderr)
    ratio = statistics.median(times["apply"]) / statistics.median(times["ansible-playbook"])
    print(json.dumps({"seconds": times, "ratio": round(ratio, 3), "limit": words.limit_ratio}, indent=2))
    sys.exit(ratio > words.limit_ratio)


if __name__ == "__main__":
    main()
