"""The planning of bench/plan.py, a process of its own: a site, and facts as the survey writes them, become plans.

Usage: bench/planner.py SITE FACTS  (a stack.yml, and a folder with a HOST.json for each of its hosts)

Prints the digest of each host's plan as one JSON document.
"""

import json
import sys
from pathlib import Path

from stackctl.hardware.machine import Machine
from stackctl.site.load import open_file
from stackctl.storage.planner import plan


def main(file: Path, facts: Path) -> None:
    site = open_file(file).site
    digests = {}
    for host in site.hosts:
        layout = site.layout_of(host)
        if layout is None:
            continue
        machine = Machine.from_facts(json.loads((facts / f"{host}.json").read_bytes()))
        digests[host] = plan(host, layout, machine).digest
    json.dump(digests, sys.stdout)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
