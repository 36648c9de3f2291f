"""Hardware RAID controllers: readers of what their vendors' tools say, a module a kind of tool."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stackctl.hardware.controllers import ssacli, storcli, storcli2
from stackctl.hardware.controllers.model import Controller

Reader = Callable[[str, Sequence[Mapping[str, Any]]], tuple[Controller, ...]]

READERS: Mapping[str, Reader] = {
    "storcli": storcli.read,
    "perccli": storcli.read,
    "storcli2": storcli2.read,
    "perccli2": storcli2.read,
    "ssacli": ssacli.read,
    "hpssacli": ssacli.read,
}
"""Each takes the tool's name and its documents, as the node has collected them."""


def controllers_from_facts(facts: Mapping[str, Any]) -> tuple[tuple[Controller, ...], tuple[str, ...]]:
    """The controllers of collected facts, and in words what of them does not read.

    A controller that two tools tell of (storcli sees PERC cards too) is taken from the first. Facts of older
    versions tell of none, and a tool unknown here is passed over.
    """
    found: dict[tuple[str, ...], Controller] = {}
    errors = []
    for told in facts.get("controllers") or ():
        tool = str(told.get("tool", ""))
        if tool not in READERS:
            errors.append(f"controllers: no reader for what {tool or 'an unnamed tool'} says")
            continue
        try:
            for controller in READERS[tool](tool, told.get("documents", ())):
                key = (controller.serial,) if controller.serial else (tool, controller.name)
                found.setdefault(key, controller)
        except (AttributeError, KeyError, TypeError, ValueError) as failure:
            errors.append(f"controllers: what {tool} says does not read: {failure!r}")
    return tuple(found.values()), tuple(errors)
