"""The whole move: look at both ends, plan, ask, make the tables, bring the rows over, prove that nothing was lost."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from stackctl import console
from stackctl.database.checksum import EMPTY
from stackctl.database.ddl import create_table
from stackctl.database.engine import Engine
from stackctl.database.engines import engine, reader, writer
from stackctl.database.findings import Refusal
from stackctl.database.journal import Entry, Guard, Journal, tables_of
from stackctl.database.measure import Measure, measure
from stackctl.database.plan import AtTarget, Fate, MovePlan, fate, table_plan
from stackctl.database.progress import Progress
from stackctl.database.schema import parents_first
from stackctl.database.session import Server, ServerError, Session
from stackctl.database.sql import name
from stackctl.database.subset import Movable, Translation, translate
from stackctl.database.transfer import Ends, can_go_on, load, sum_of
from stackctl.database.verify import Verdict
from stackctl.errors import FaultError, InputError, RefusedError, StackctlError
from stackctl.units import format_size

_NO_DATABASE = 1049
_CHANGED = 1412


@dataclass(frozen=True)
class Job:
    """What the operator asked for. ``replace`` are tables that the target may lose."""

    replace: frozenset[str] = frozenset()
    check: bool = False


@dataclass(frozen=True)
class Report:
    """What became of a move; without verdicts it was only planned."""

    plan: MovePlan
    verdicts: tuple[Verdict, ...] = ()
    seconds: float = 0.0

    def check(self) -> None:
        """Raise FaultError, which names every table, where the ends differ."""
        faults = [f"  {verdict.table}: {verdict.fault}" for verdict in self.verdicts if verdict.fault]
        if faults:
            again = [f"--replace {verdict.table}" for verdict in self.verdicts if verdict.difference]
            raise FaultError(
                "both ends were compared after the move, and they differ:\n" + "\n".join(faults),
                hint=f"stop what writes to either end, then run the same command again {' '.join(again)}".rstrip(),
            )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.plan.to_json(),
            "moved": [verdict.to_json() for verdict in self.verdicts],
            "seconds": round(self.seconds, 1),
        }


def move(
    source: Server,
    target: Server,
    job: Job,
    *,
    show: Callable[[MovePlan], None],
    agree: Callable[[MovePlan], bool],
) -> Report:
    """Move a database's tables and rows, or go on with a move that was stopped.

    ``show`` shows the plan; ``agree`` is asked once, before anything is written. Raises CannotMoveError with all
    that stands in the way, RefusedError where it is not agreed to; whether the ends differ is in the report.
    """
    began = time.monotonic()
    with _opened(source, target, job) as work:
        plan = work.look()
        show(plan)
        plan.check()
        if job.check:
            return Report(plan, seconds=time.monotonic() - began)
        if not agree(plan):
            raise RefusedError("nothing was written: the move was not agreed to")
        return Report(plan, work.carry_out(plan), time.monotonic() - began)


@contextmanager
def _opened(source: Server, target: Server, job: Job) -> Iterator["_Work"]:
    """Connections to both ends."""
    with reader(source) as reading, writer(target) as writing, writer(target) as guarding:
        try:
            reading.run(f"USE {name(source.database)}")
        except ServerError as failure:
            if failure.number != _NO_DATABASE:
                raise
            raise InputError(f"{source} has no database {source.database}") from None
        if _is_one_place(reading, writing):
            raise InputError(f"{source.title} and {target.title} are the same database")
        yield _Work(source, target, job, reading, writing, guarding)


def _is_one_place(source: Session, target: Session) -> bool:
    """Whether both connections lead to the same database: a lock that one takes is seen by the other."""
    if (source.server.engine, source.server.database) != (target.server.engine, target.server.database):
        return False
    mark = f"stackctl_{secrets.token_hex(8)}"
    source.rows(f"SELECT GET_LOCK('{mark}', 0)")
    try:
        return target.rows(f"SELECT IS_FREE_LOCK('{mark}')")[0][0] == b"0"
    finally:
        source.rows(f"SELECT RELEASE_LOCK('{mark}')")


@dataclass
class _Work:
    """The work on two open ends."""

    source: Server
    target: Server
    job: Job
    reading: Session
    writing: Session
    guarding: Session
    movables: dict[str, Movable] = field(default_factory=dict)
    has_database: bool = False
    packet: int = 0

    @property
    def engines(self) -> tuple[Engine, Engine]:
        return engine(self.source.engine), engine(self.target.engine)

    @property
    def journal(self) -> Journal:
        return Journal(self.writing, self.engines[1], self.source.title)

    # Before anything is written

    def look(self) -> MovePlan:
        """The plan: everything that is to be known before anything is written."""
        with console.step(f"look at {self.source.title}"):
            translation = self._translated()
            self.movables = {movable.table.name: movable for movable in translation.tables}
            if unknown := self.job.replace - self.movables.keys():
                raise InputError(f"--replace names {', '.join(sorted(unknown))}, and the source has no such table")
            self.packet = _packet(self.writing)
            measured, refusals = self._measured(translation)
        at_target = self._at_target()
        fates, in_the_way = self._fates(at_target)
        order = parents_first(movable.table for movable in self.movables.values())
        return MovePlan(
            self.source.title,
            self.target.title,
            tuple(
                table_plan(table.name, fates[table.name], measured[table.name], at_target.entries.get(table.name))
                for table in order
            ),
            translation.changes,
            tuple(sorted({*translation.refusals, *refusals, *in_the_way})),
        )

    def _translated(self) -> Translation:
        """The source's schema as it is now."""
        return translate(self.engines[0].read_schema(self.reading, self.source.database))

    def _measured(self, translation: Translation) -> tuple[dict[str, Measure], list[Refusal]]:
        measured: dict[str, Measure] = {}
        refusals: list[Refusal] = []
        for movable in translation.tables:
            if not movable.table.columns:
                measured[movable.table.name] = Measure(0, 0, 0)
                continue
            found, more = measure(self.reading, self.engines[0], movable, self.packet)
            measured[movable.table.name] = found
            refusals += more
        return measured, refusals

    def _at_target(self) -> AtTarget:
        databases = {row[0] for row in self.writing.texts("SHOW DATABASES")}
        self.has_database = self.target.database in databases
        if not self.has_database:
            return AtTarget(frozenset(), {})
        self.writing.run(f"USE {name(self.target.database)}")
        return AtTarget(tables_of(self.writing), self.journal.read() or {})

    def _fates(self, at_target: AtTarget) -> tuple[dict[str, Fate], list[Refusal]]:
        fates: dict[str, Fate] = {}
        refusals = []
        for title, movable in self.movables.items():
            fates[title], refusal = fate(
                title,
                movable.table.digest,
                at_target,
                self.job.replace,
                can_go_on=can_go_on(movable, self.engines[0]),
            )
            if refusal is not None:
                refusals.append(refusal)
        return fates, refusals

    # The work itself

    def carry_out(self, plan: MovePlan) -> tuple[Verdict, ...]:
        """Do what the plan says, and compare both ends. The journal goes when nothing differs."""
        if not self.has_database:
            self.writing.run(self.engines[1].new_database(self.target.database))
            self.writing.run(f"USE {name(self.target.database)}")
        self.guarding.run(f"USE {name(self.target.database)}")
        journal = self.journal
        journal.begin()
        guard = Guard(self.guarding)
        guard.hold()
        entries = self._entries(plan)
        progress = Progress({table.name: table for table in plan.tables})
        ends = Ends(self.reading, self.engines[0], self.writing, journal, self.packet)
        with console.step(f"move {plan.source} to {plan.target}"), console.foot(progress.lines):
            self._make_tables(plan, entries)
            done = self._load(plan, ends, entries, progress)
            verdicts = self._compare(plan, done, progress)
        for verdict in verdicts:
            if verdict.difference and not verdict.redefined:
                journal.record(replace(done[verdict.table], state="differs"))
        guard.release()
        if not any(verdict.fault for verdict in verdicts):
            journal.end()
        return verdicts

    def _entries(self, plan: MovePlan) -> dict[str, Entry]:
        """The journal, now that nobody else can write it. Raises StackctlError where it is not as planned."""
        at_target = self._at_target()
        fates, _ = self._fates(at_target)
        if any(fates[table.name] != table.fate for table in plan.tables):
            raise StackctlError("the target has changed since the plan was made", hint="run the same command again")
        for gone in sorted(at_target.entries.keys() - self.movables.keys()):
            console.warn(f"{gone} was begun by an earlier run and is gone from the source; it stays at the target")
            self.journal.forget(gone)
        return {title: entry for title, entry in at_target.entries.items() if title in self.movables}

    def _make_tables(self, plan: MovePlan, entries: dict[str, Entry]) -> None:
        """Make the tables that are begun, each claimed before; what they are instead of is dropped."""
        for table in plan.tables:
            if table.fate in ("goes on", "is there"):
                continue
            made = self.movables[table.name].table
            entries[table.name] = Entry(table.name, "claimed", made.digest)
            self.journal.claim(entries[table.name])
            if table.fate != "new":
                self.writing.run(f"DROP TABLE IF EXISTS {name(table.name)}")
            self.writing.run(create_table(made, self.engines[1].dialect))

    def _load(self, plan: MovePlan, ends: Ends, entries: Mapping[str, Entry], progress: Progress) -> dict[str, Entry]:
        done = dict(entries)
        with self._snapshot():
            for table in plan.tables:
                if table.fate == "is there":
                    continue
                rest = table.rows - table.done
                size = format_size(table.size) if not table.done else f"of {format_size(table.size)}"
                with console.step(f"{table.name}: {rest} rows, {size}"):
                    progress.begin(table.name)
                    done[table.name] = load(ends, self.movables[table.name], entries[table.name], progress.see)
        return done

    def _compare(self, plan: MovePlan, done: Mapping[str, Entry], progress: Progress) -> tuple[Verdict, ...]:
        verdicts = {}
        with console.step("compare both ends"), self._snapshot():
            redefined = self._redefined()
            for table in plan.tables:
                progress.compare(table.name)
                movable, moved = self.movables[table.name], done[table.name].done
                if table.name in redefined:
                    continue
                plain = [name(column.name) for column in movable.table.columns]
                there = sum_of(self.writing, self.engines[1], movable.table, plain)
                here = sum_of(self.reading, self.engines[0], movable.table, movable.reads)
                verdicts[table.name] = Verdict(table.name, moved, there, here)
        for title in sorted(redefined | self._redefined()):
            moved = done[title].done if title in done else EMPTY
            verdicts[title] = Verdict(title, moved, moved, moved, redefined=True)
        return tuple(verdicts.values())

    def _redefined(self) -> set[str]:
        """The tables that the source has made, changed or dropped since the plan was made."""
        planned = {(title, movable.table.digest) for title, movable in self.movables.items()}
        now = {(movable.table.name, movable.table.digest) for movable in self._translated().tables}
        return {title for title, _ in planned ^ now}

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """All that is read in the block is read as of one moment."""
        for statement in self.engines[0].snapshot:
            self.reading.run(statement)
        try:
            yield
        except ServerError as failure:
            if failure.number != _CHANGED:
                raise
            raise StackctlError(
                f"a table of {self.source.title} was changed while it was read", hint="run the same command again"
            ) from None
        self.reading.run("COMMIT")


def _packet(session: Session) -> int:
    """The longest statement that a server takes."""
    return int(session.texts("SHOW VARIABLES LIKE 'max_allowed_packet'")[0][1] or 0)
