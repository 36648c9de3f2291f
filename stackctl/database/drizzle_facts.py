"""Reads a schema from Drizzle: from SHOW CREATE TABLE, which tells more than DATA_DICTIONARY does.

DATA_DICTIONARY does not tell BIGINT UNSIGNED from BIGINT, nor TIMESTAMP(6) from TIMESTAMP. It is asked for what SHOW
CREATE TABLE shows wrongly: defaults of VARBINARY, whose bytes above 0x7F all appear as FF.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from stackctl.database.facts import (
    ColumnFacts,
    DefaultFacts,
    ForeignKeyFacts,
    KeyFacts,
    KeyPartFacts,
    SchemaFacts,
    TableFacts,
)
from stackctl.database.kinds import quoted
from stackctl.database.session import Session
from stackctl.database.sql import name, read_literal, read_name
from stackctl.errors import StackctlError

_DEFAULTS = """SELECT COLUMN_NAME, COLUMN_DEFAULT FROM DATA_DICTIONARY.COLUMNS
WHERE TABLE_SCHEMA = {0} AND TABLE_NAME = {1}"""

_LARGE = {"text": "mediumtext", "blob": "mediumblob"}
"""What holds as much as Drizzle's texts and blobs do: 16 MiB."""


def read_schema(session: Session, schema: str) -> SchemaFacts:
    """Read a schema. Its tables come by name."""
    tables = []
    for row in session.texts("SHOW TABLES"):
        title = str(row[0])
        shown = session.texts(f"SHOW CREATE TABLE {name(title)}")[0][1] or ""
        facts = read_create(shown, schema)
        if any(column.type.startswith("varbinary") and column.default is not None for column in facts.columns):
            query = _DEFAULTS.format(*(quoted(word.encode()).decode() for word in (schema, title)))
            facts = with_defaults(facts, {str(key and key.decode()): value for key, value in session.rows(query)})
        tables.append(facts)
    return SchemaFacts(schema, False, tuple(sorted(tables, key=lambda table: table.name)))


def with_defaults(facts: TableFacts, defaults: dict[str, bytes | None]) -> TableFacts:
    """The table with the defaults of its VARBINARY columns as DATA_DICTIONARY has them."""
    columns = tuple(
        replace(column, default=DefaultFacts("literal", value))
        if column.type.startswith("varbinary")
        and column.default is not None
        and column.default.kind == "literal"
        and (value := defaults.get(column.name)) is not None
        else column
        for column in facts.columns
    )
    return replace(facts, columns=columns)


def read_create(shown: str, schema: str) -> TableFacts:
    """The table of what SHOW CREATE TABLE shows. Raises StackctlError for what is not of its form."""
    scanner = _Scanner(shown)
    try:
        return _table(scanner, schema)
    except (ValueError, IndexError) as failure:
        raise StackctlError(
            f"SHOW CREATE TABLE shows what is not understood: {failure}", hint="is this server Drizzle 7?"
        ) from None


class _Scanner:
    """A place in a text, and what begins there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def has(self, words: str) -> bool:
        """Whether these words come next, after blanks; then they are passed over."""
        match = re.compile(rf"\s*{re.escape(words)}").match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match is not None

    def need(self, words: str) -> None:
        """Pass over these words. Raises ValueError where they do not come next."""
        if not self.has(words):
            raise ValueError(f"{words} is missing at {self.text[self.at : self.at + 40]!r}")

    def match(self, pattern: str) -> str | None:
        """What matches the pattern next, after blanks; it is passed over."""
        match = re.compile(rf"\s*({pattern})", re.DOTALL).match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match.group(1)

    def name(self) -> str:
        self.match("")
        found, self.at = read_name(self.text, self.at)
        return found

    def raw_name(self) -> str:
        """The name of a key, which is shown as it is, its backticks not doubled."""
        found = self.match(r"`.*?`(?= \(`)")
        if found is None:
            raise ValueError(f"no name of a key at {self.text[self.at : self.at + 40]!r}")
        return found[1:-1]

    def raw_column(self, columns: Sequence[ColumnFacts]) -> str:
        """One of the columns, shown as it is."""
        for title in sorted((column.name for column in columns), key=len, reverse=True):
            if self.match(re.escape(f"`{title}`") + r"(?=[(,)])"):
                return title
        raise ValueError(f"no column at {self.text[self.at : self.at + 40]!r}")

    def literal(self) -> str:
        self.match("")
        found, self.at = read_literal(self.text, self.at)
        return found

    def names(self) -> tuple[str, ...]:
        """Names in brackets."""
        self.need("(")
        found = [self.name()]
        while self.has(","):
            found.append(self.name())
        self.need(")")
        return tuple(found)


def _table(scanner: _Scanner, schema: str) -> TableFacts:
    scanner.need("CREATE")
    scanner.has("TEMPORARY")
    scanner.need("TABLE")
    title = scanner.name()
    scanner.need("(")
    columns: list[ColumnFacts] = []
    keys: list[KeyFacts] = []
    foreign_keys: list[ForeignKeyFacts] = []
    while True:
        if scanner.has("PRIMARY KEY"):
            keys.append(_key(scanner, "PRIMARY", True, columns))
        elif scanner.has("UNIQUE KEY"):
            keys.append(_key(scanner, scanner.raw_name(), True, columns))
        elif scanner.has("KEY"):
            keys.append(_key(scanner, scanner.raw_name(), False, columns))
        elif scanner.has("CONSTRAINT"):
            foreign_keys.append(_foreign_key(scanner, scanner.name(), schema))
        elif scanner.text.startswith("FOREIGN KEY", scanner.at):
            foreign_keys.append(_foreign_key(scanner, f"{title}_fk_{len(foreign_keys) + 1}", schema))
        else:
            columns.append(_column(scanner))
        if not scanner.has(","):
            break
    scanner.need(")")
    tail = scanner.text[scanner.at :]
    collation = re.search(r" COLLATE ?= ?'?(\w+)", tail)
    counter = re.search(r" AUTO_INCREMENT ?= ?(\d+)", tail)
    engine = re.search(r"ENGINE ?= ?'?(\w+)", tail)
    comment = re.search(r" COMMENT ?= ?(?=')", tail)
    return TableFacts(
        title,
        engine.group(1) if engine else "",
        tuple(_collated(column, collation.group(1) if collation else None) for column in columns),
        tuple(keys),
        tuple(foreign_keys),
        collation=collation.group(1) if collation else None,
        comment=read_literal(tail, comment.end())[0] if comment else "",
        auto_increment=int(counter.group(1)) if counter else None,
    )


def _collated(column: ColumnFacts, of_table: str | None) -> ColumnFacts:
    """An ENUM's collation is not shown; it is taken to be the table's."""
    if column.type == "enum" and column.collation is None:
        return replace(column, collation=of_table)
    return column


def _column(scanner: _Scanner) -> ColumnFacts:
    title = scanner.name()
    base = (scanner.match(r"[A-Z]\w*") or "").lower()
    members: tuple[str, ...] = ()
    if base == "enum":
        # the values are shown as they are, their quotes not escaped
        inner = scanner.match(r"\('.*?'\)(?= (?:COLLATE|UNIQUE|NOT NULL|NULL|DEFAULT|COMMENT)\b|,\n|\n\))") or ""
        members = tuple(inner[2:-2].split("','"))
        type_words = base
    else:
        type_words = _LARGE.get(base, base) + (scanner.match(r"\([\d,]+\)") or "")
        if scanner.has("UNSIGNED"):
            type_words += " unsigned"
    collation = scanner.match(r"\w+") if scanner.has("COLLATE") else None
    scanner.has("UNIQUE")
    nullable = not scanner.has("NOT NULL")
    scanner.has("NULL")
    counts = scanner.has("AUTO_INCREMENT")
    default = _default(scanner) if scanner.has("DEFAULT") else None
    on_update = scanner.has("ON UPDATE")
    if on_update:
        scanner.need("CURRENT_TIMESTAMP")
    return ColumnFacts(
        title,
        type_words,
        nullable,
        default,
        None,
        collation,
        members,
        counts,
        on_update,
        comment=scanner.literal() if scanner.has("COMMENT") else "",
    )


def _default(scanner: _Scanner) -> DefaultFacts:
    if scanner.has("NULL"):
        return DefaultFacts("null")
    if scanner.has("CURRENT_TIMESTAMP"):
        return DefaultFacts("now")
    if digits := scanner.match(r"0x(?:[0-9A-F]{2})+"):
        return DefaultFacts("literal", bytes.fromhex(digits[2:]))
    return DefaultFacts("literal", scanner.literal().encode("utf-8", "surrogateescape"))


def _key(scanner: _Scanner, title: str, unique: bool, columns: Sequence[ColumnFacts]) -> KeyFacts:
    """A key, whose columns have all been shown before."""
    scanner.need("(")
    parts = []
    while True:
        column = scanner.raw_column(columns)
        prefix = scanner.match(r"\(\d+\)")
        parts.append(KeyPartFacts(column, int(prefix[1:-1]) if prefix else None))
        if not scanner.has(","):
            break
    scanner.need(")")
    kind = scanner.match(r"\w+") if scanner.has("USING") else None
    comment = scanner.literal() if scanner.has("COMMENT") else ""
    return KeyFacts(title, unique, tuple(parts), kind or "BTREE", comment=comment)


def _foreign_key(scanner: _Scanner, title: str, schema: str) -> ForeignKeyFacts:
    scanner.need("FOREIGN KEY")
    columns = scanner.names()
    scanner.need("REFERENCES")
    table = scanner.name()
    references = scanner.names()
    rules = {"UPDATE": "RESTRICT", "DELETE": "RESTRICT"}
    while scanner.has("ON"):
        event = scanner.match("UPDATE|DELETE")
        rule = scanner.match("RESTRICT|CASCADE|SET NULL|NO ACTION|SET DEFAULT")
        if event is None or rule is None:
            raise ValueError(f"no rule at {scanner.text[scanner.at : scanner.at + 40]!r}")
        rules[event] = rule
    return ForeignKeyFacts(title, columns, schema, table, references, rules["UPDATE"], rules["DELETE"])
