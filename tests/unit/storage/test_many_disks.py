"""The work of planning grows with the number of disks, not with its square: calls are counted, nothing is timed."""

import sys

from layouts import HOST, layout
from machines import Disk, machine

from stackctl.hardware.machine import Machine
from stackctl.storage.planner import plan


def calls_to_plan(disks):
    """How many calls of Python functions it takes from facts with so many blank disks to the plan's digest."""
    facts = machine(*(Disk(f"D-{at}", wwn=f"0x5000c500a000{at:04x}", name=f"sd{at}x") for at in range(disks)))
    wanted = layout(disks={"count": disks})
    counted = 0

    def count(frame, event, argument):
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        _ = plan(HOST, wanted, Machine.from_facts(facts)).digest
    finally:
        sys.setprofile(before)
    return counted


def test_eight_times_the_disks_are_eight_times_the_work():
    assert calls_to_plan(128) < 9 * calls_to_plan(16)
