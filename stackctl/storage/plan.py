"""The Plan: a frozen list of steps with stable ids, what they destroy, and the proof of alignment."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stackctl.errors import InputError
from stackctl.storage.alignment import Link

FORMAT = 1
"""Counts up when a plan that was saved can no longer be read."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments; words in braces, such as ``{disk:SERIAL}``, are resolved on the server."""

    argv: tuple[str, ...]
    input: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: it checks whether it is needed, runs its commands, and leaves something whole behind."""

    id: str
    kind: str
    """What the server does with it; a name of its registry."""
    title: str
    disks: tuple[str, ...]
    """The serial numbers (or WWNs) of the disks that it writes to."""
    destroys: str = ""
    """What is lost by it, in words; nothing when nothing is."""
    params: Mapping[str, Any] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedDisk:
    """A disk of the layout: what it holds, what becomes of it."""

    key: str
    title: str
    size: int
    holds: tuple[str, ...]
    fate: str
    fingerprint: str
    """What it was like when the plan was made; it must still be so when the plan is carried out."""


@dataclass(frozen=True)
class Plan:
    """All that will be done to the disks of one host."""

    host: str
    group: str
    disks: tuple[PlannedDisk, ...]
    steps: tuple[Step, ...]
    alignment: tuple[Link, ...]
    notes: tuple[str, ...] = ()
    more: bool = False
    """The steps only bring to light what is there; what is left to do is planned after them."""

    @cached_property
    def digest(self) -> str:
        """What the operator confirms: it changes with any step and with anything on the disks.

        The kernel's names of the disks, notes and the alignment's words have no part in it.
        """
        seen = {
            "host": self.host,
            "disks": [[disk.key, disk.fingerprint] for disk in self.disks],
            "steps": self.steps,
        }
        text = json.dumps(seen, sort_keys=True, default=_parts, check_circular=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def destroys(self) -> tuple[Step, ...]:
        """The steps that destroy something."""
        return tuple(step for step in self.steps if step.destroys)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(self, default=_parts))
        for link, shown in zip(self.alignment, plain["alignment"], strict=True):
            shown["off"] = link.off
        return {"format": FORMAT, **plain}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Plan":
        """The plan that was saved. Raises InputError when it is of another format or does not read."""
        if plain.get("format") != FORMAT:
            raise InputError(
                f"the plan is of format {plain.get('format')!r}, this stackctl reads format {FORMAT}",
                hint="make the plan again",
            )
        try:
            return cls(
                host=plain["host"],
                group=plain["group"],
                disks=tuple(PlannedDisk(**{**disk, "holds": tuple(disk["holds"])}) for disk in plain["disks"]),
                steps=tuple(_step(step) for step in plain["steps"]),
                alignment=tuple(
                    Link(**{name: value for name, value in link.items() if name != "off"})
                    for link in plain["alignment"]
                ),
                notes=tuple(plain["notes"]),
                more=plain["more"],
            )
        except (KeyError, TypeError) as failure:
            raise InputError(f"the plan does not read: {failure!r}", hint="make the plan again") from failure


def _parts(value: Any) -> dict[str, Any]:
    """The fields of a value object, as JSON wants them: what is in them is left to it."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _step(plain: Mapping[str, Any]) -> Step:
    commands = tuple(Command(tuple(command["argv"]), command["input"]) for command in plain["commands"])
    return Step(**{**plain, "disks": tuple(plain["disks"]), "commands": commands})
