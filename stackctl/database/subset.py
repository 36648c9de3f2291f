"""From what an engine says of a schema to the schema in the subset: what is the same, what changes, what is refused.

The rules are one for all directions: what has been moved can be moved back. Limits are those of Drizzle 7.2, which
are the narrower ones throughout.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stackctl.database.collations import nearest
from stackctl.database.defaults import RefusedDefaultError, default_of
from stackctl.database.facts import (
    CheckFacts,
    ColumnFacts,
    ForeignKeyFacts,
    KeyFacts,
    KeyPartFacts,
    SchemaFacts,
    TableFacts,
)
from stackctl.database.findings import Change, Refusal
from stackctl.database.schema import (
    Column,
    ForeignKey,
    Key,
    KeyPart,
    Rule,
    Table,
    key_bytes,
    stored_bytes,
)
from stackctl.database.sql import name
from stackctl.database.types import Check, RefusedTypeError, Type, Typed, typed

JOURNAL = "stackctl_move"
"""The table that keeps how far a move is, at its target."""

MOST_KEYS = 64
MOST_KEY_PARTS = 16
LONGEST_KEY_PART = 1023
LONGEST_KEY = 3500
"""Bytes; Drizzle's InnoDB takes a column of a key up to 1023, and a whole key up to 3500."""
LONGEST_ROW = 65535
"""Bytes, without texts and blobs; MariaDB's limit."""


@dataclass(frozen=True)
class Doubles:
    """A unique key whose texts are compared otherwise at the target: values equal there would be refused."""

    key: Key
    texts: tuple[str, ...]
    """The columns whose collation changes."""


@dataclass(frozen=True)
class Movable:
    """A table as it will be, the SQL that reads each of its columns, and what its rows are to be asked."""

    table: Table
    reads: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    doubles: tuple[Doubles, ...] = ()


@dataclass(frozen=True)
class Translation:
    """A schema in the subset. With refusals, tables may lack what was refused, and cannot be made."""

    tables: tuple[Movable, ...]
    refusals: tuple[Refusal, ...]
    changes: tuple[Change, ...]


def translate(schema: SchemaFacts) -> Translation:
    """The schema in the subset, with all that is refused and all that changes."""
    refusals = [*_things(schema), *_names(schema)]
    changes: list[Change] = []
    tables = []
    for facts in schema:
        work = _TableWork(facts, schema)
        tables.append(work.done())
        refusals += work.refusals
        changes += work.changes
    return Translation(tuple(tables), tuple(sorted(set(refusals))), tuple(sorted(set(changes))))


def _things(schema: SchemaFacts) -> Iterable[Refusal]:
    for thing in schema.things:
        what, mend = _THINGS[thing.kind]
        yield Refusal(thing.table or thing.name, "", what.format(thing.name), mend.format(name(thing.name)))


_THINGS = {
    "view": ("it is a view, which Drizzle has not", "put its SELECT into the application, then DROP VIEW {0}"),
    "sequence": ("it is a sequence, which Drizzle has not", "count with AUTO_INCREMENT, then DROP SEQUENCE {0}"),
    "procedure": ("it is a procedure, which Drizzle has not", "do its work elsewhere, then DROP PROCEDURE {0}"),
    "function": ("it is a stored function, which Drizzle has not", "do its work elsewhere, then DROP FUNCTION {0}"),
    "package": ("it is a package, which Drizzle has not", "do its work elsewhere, then DROP PACKAGE {0}"),
    "package body": ("it is a package, which Drizzle has not", "do its work elsewhere, then DROP PACKAGE BODY {0}"),
    "event": ("it is an event, which Drizzle has not", "run its work by a timer, then DROP EVENT {0}"),
    "trigger": ("the trigger {0}; Drizzle has none", "do its work in the application, then DROP TRIGGER {0}"),
    "journal": (
        "an earlier move into this schema did not come to its end",
        "finish that move first, or DROP TABLE {0}",
    ),
}


def _names(schema: SchemaFacts) -> Iterable[Refusal]:
    counts = Counter(table.name.casefold() for table in schema)
    for table in schema:
        if counts[table.name.casefold()] > 1:
            yield Refusal(table.name, "", "another table's name differs in case only", "rename one of them")


@dataclass
class _TableWork:
    """The translation of one table."""

    facts: TableFacts
    schema: SchemaFacts
    refusals: list[Refusal] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def refuse(self, what: str, mend: str, column: str = "") -> None:
        self.refusals.append(Refusal(self.facts.name, column, what, mend))

    def change(self, before: str, after: str, warning: str = "", column: str = "") -> None:
        self.changes.append(Change(self.facts.name, column, before, after, warning))

    def done(self) -> Movable:
        facts = self.facts
        self._table()
        found = {column.name: made for column in facts.columns if (made := self._column(column)) is not None}
        columns = {title: made.column for title, made in found.items()}
        self._whole_rows(columns)
        keys = tuple(kept for key in facts.keys if (kept := self._key(key, columns)) is not None)
        if len(facts.keys) > MOST_KEYS:
            self.refuse(f"{len(facts.keys)} keys; Drizzle takes {MOST_KEYS}", "drop some")
        others = {title for title, made in found.items() if made.other_collation}
        collation, _ = nearest(facts.collation or "utf8mb4_general_ci")
        table = Table(
            facts.name,
            tuple(columns.values()),
            keys,
            tuple(key for key in map(self._foreign_key, facts.foreign_keys) if key is not None),
            collation,
            facts.comment,
            facts.auto_increment if any(column.auto_increment for column in columns.values()) else None,
        )
        doubles = tuple(
            Doubles(key, texts)
            for key in keys
            if key.kind != "plain" and (texts := tuple(title for title in key.columns if title in others))
        )
        return Movable(
            table,
            tuple(made.read for made in found.values()),
            tuple(check for made in found.values() for check in made.checks),
            doubles,
        )

    # The table itself

    def _table(self) -> None:
        facts = self.facts
        alter = f"ALTER TABLE {name(facts.name)}"
        if facts.engine.upper() != "INNODB":
            self.refuse(f"it is kept by {facts.engine or 'no engine'}", f"{alter} ENGINE=InnoDB")
        if facts.partitioned:
            self.refuse("it is partitioned", f"{alter} REMOVE PARTITIONING")
        if facts.periods:
            self.refuse("it keeps periods or versions of its rows", f"{alter} DROP PERIOD …, DROP SYSTEM VERSIONING")
        if facts.name.casefold() == JOURNAL:
            what, mend = _THINGS["journal"]
            self.refuse(what, mend.format(name(facts.name)))
        for option in facts.options:
            self.change(
                option, "", f"it is not {option.lower().replace('_', '-')} at the target, unless that does so itself"
            )
        for check in facts.checks:
            if not self._is_json(check):
                self.refuse(
                    f"the check {check.name} ({check.clause}); Drizzle checks nothing",
                    f"check it in the application, then {self._drop_check(check)}",
                )

    def _drop_check(self, check: CheckFacts) -> str:
        if check.of_column:
            return f"ALTER TABLE {name(self.facts.name)} MODIFY {name(check.name)} … without CHECK"
        return f"ALTER TABLE {name(self.facts.name)} DROP CONSTRAINT {name(check.name)}"

    def _is_json(self, check: CheckFacts) -> bool:
        return check.of_column and check.clause.lower() == f"json_valid({name(check.name)})".lower()

    def _whole_rows(self, columns: dict[str, Column]) -> None:
        if not columns and not self.refusals:
            self.refuse("it has no columns", "drop it")
        size = sum(stored_bytes(column) for column in columns.values())
        if size > LONGEST_ROW:
            self.refuse(
                f"a row takes up to {size} bytes without its texts and blobs, more than {LONGEST_ROW}",
                "make the longest VARCHAR columns TEXT",
            )
        automatic = [
            column.name
            for column in columns.values()
            if column.kind == "timestamp"
            and (column.on_update_now or (column.default is not None and column.default.kind == "now"))
        ]
        if len(automatic) > 1:
            self.refuse(
                f"{', '.join(automatic)} take the time by themselves; Drizzle lets one TIMESTAMP of a table do so",
                "have the application give the others",
            )

    # Columns

    def _column(self, facts: ColumnFacts) -> Typed | None:
        alter = f"ALTER TABLE {name(self.facts.name)}"
        if facts.generated is not None:
            self.refuse(
                f"it is computed ({facts.generated}); Drizzle has no such columns",
                f"compute it in the application, then {alter} MODIFY it to a plain column, or drop it",
                facts.name,
            )
            return None
        if facts.invisible:
            self.refuse(
                "it is invisible, which Drizzle's columns never are", f"{alter} MODIFY it VISIBLE", facts.name
            )
        try:
            made = typed(facts, lenient=self.schema.lenient)
        except RefusedTypeError as failure:
            self.refuse(failure.what, failure.mend, facts.name)
            return None
        try:
            made = replace(made, column=default_of(facts, made.column))
        except RefusedDefaultError as failure:
            self.refuse(failure.what, failure.mend, facts.name)
        if facts.auto_increment and made.column.kind not in ("int", "bigint"):
            self.refuse("it counts by itself and is no whole number", "make it BIGINT", facts.name)
        self._tell(facts, made)
        return made

    def _tell(self, facts: ColumnFacts, made: Typed) -> None:
        json = any(self._is_json(check) and check.name == facts.name for check in self.facts.checks)
        if json:
            self.change("JSON", "TEXT", "nothing checks any more that it is JSON", facts.name)
        elif made.after:
            self.change(Type.of(facts.type).title, made.after, made.warning, facts.name)
        if made.other_collation:
            after = f"utf8mb4_{made.column.collation} (Drizzle: utf8_{made.column.collation})"
            warning = "some texts that were different are equal now, or the other way round; they sort otherwise"
            self.change(made.other_collation, after, warning, facts.name)

    # Keys

    def _key(self, facts: KeyFacts, columns: dict[str, Column]) -> Key | None:
        drop = f"ALTER TABLE {name(self.facts.name)} DROP KEY {name(facts.name)}"
        if facts.type not in ("BTREE", "UNKNOWN_INDEX"):
            kind = "a unique key over long values" if facts.type == "HASH" else f"a {facts.type} index"
            self.refuse(f"{facts.name} is {kind}; Drizzle has none", f"search by other means, then {drop}")
            return None
        if any(part.column not in columns for part in facts.parts):
            return None  # the column is refused already
        if len(facts.parts) > MOST_KEY_PARTS:
            self.refuse(f"{facts.name} has {len(facts.parts)} columns; a key takes {MOST_KEY_PARTS}", drop)
        parts = tuple(self._part(part, columns[part.column]) for part in facts.parts)
        sizes = [key_bytes(columns[part.column], part.prefix) for part in parts]
        for part, size in zip(parts, sizes, strict=True):
            if size > LONGEST_KEY_PART:
                self.refuse(
                    f"the key {facts.name} takes {size} bytes of it (four a character), Drizzle {LONGEST_KEY_PART}",
                    "make the column shorter, or give the key a prefix of 255 characters",
                    part.column,
                )
        if sum(sizes) > LONGEST_KEY:
            self.refuse(f"the key {facts.name} takes {sum(sizes)} bytes; Drizzle takes {LONGEST_KEY}", drop)
        if any(part.descending for part in facts.parts):
            self.change(f"the key {facts.name} (descending)", "ascending")
        if facts.ignored:
            self.change(f"the key {facts.name} (ignored)", "in use")
        if facts.comment:
            self.change(f"the comment of the key {facts.name}", "left out")
        primary = facts.name == "PRIMARY"
        return Key(facts.name, "primary" if primary else "unique" if facts.unique else "plain", parts)

    def _part(self, facts: KeyPartFacts, column: Column) -> KeyPart:
        whole = column.kind in ("varchar", "varbinary") and (facts.prefix or 0) >= column.length
        return KeyPart(facts.column, None if whole else facts.prefix)

    def _foreign_key(self, facts: ForeignKeyFacts) -> ForeignKey | None:
        drop = f"ALTER TABLE {name(self.facts.name)} DROP FOREIGN KEY {name(facts.name)}"
        if facts.schema != self.schema.name:
            self.refuse(
                f"the foreign key {facts.name} leads to another schema, {facts.schema}",
                f"move that one, too, or {drop}",
            )
            return None
        if facts.table not in {table.name for table in self.schema}:
            self.refuse(f"the foreign key {facts.name} leads to {facts.table}, which is no table here", drop)
            return None
        rules: dict[str, Rule] = {
            "RESTRICT": "RESTRICT", "CASCADE": "CASCADE", "SET NULL": "SET NULL", "NO ACTION": "NO ACTION",
        }  # fmt: skip
        if facts.on_update not in rules or facts.on_delete not in rules:
            self.refuse(f"the foreign key {facts.name} sets defaults, which InnoDB never does", drop)
            return None
        return ForeignKey(
            facts.name,
            facts.columns,
            facts.table,
            facts.references,
            rules[facts.on_update],
            rules[facts.on_delete],
        )
