"""Reads a schema from MariaDB's information_schema.

Each of its tables is asked by itself, by the column that MariaDB looks a schema up by: a join of two looks through
every database of the server.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stackctl.database.facts import (
    CheckFacts,
    ColumnFacts,
    DefaultFacts,
    ForeignKeyFacts,
    KeyFacts,
    KeyPartFacts,
    SchemaFacts,
    TableFacts,
    Thing,
)
from stackctl.database.kinds import quoted
from stackctl.database.session import Session
from stackctl.database.sql import name, read_literal, read_literals

Record = Mapping[str, str | None]

_TABLES = """SELECT TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COLLATION, TABLE_COMMENT, AUTO_INCREMENT, CREATE_OPTIONS
FROM information_schema.TABLES WHERE TABLE_SCHEMA = {0} ORDER BY TABLE_NAME"""
_COLUMNS = """SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, CHARACTER_SET_NAME,
COLLATION_NAME, COLUMN_COMMENT, GENERATION_EXPRESSION
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {0} ORDER BY TABLE_NAME, ORDINAL_POSITION"""
_KEYS = """SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART, COLLATION, INDEX_TYPE,
INDEX_COMMENT, IGNORED
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = {0}"""
"""Without an order of ours: keys come in the table's own, which no column tells."""
_FOREIGN_KEYS = """SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME,
REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA = {0} AND REFERENCED_TABLE_NAME IS NOT NULL
ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"""
_RULES = """SELECT TABLE_NAME, CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE
FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = {0}"""
_CHECKS = """SELECT TABLE_NAME, CONSTRAINT_NAME, LEVEL, CHECK_CLAUSE
FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = {0} ORDER BY TABLE_NAME, CONSTRAINT_NAME"""
_THINGS = (
    """SELECT LOWER(ROUTINE_TYPE), ROUTINE_NAME, '' FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {0}
    ORDER BY 1, 2""",
    """SELECT 'trigger', TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS
    WHERE EVENT_OBJECT_SCHEMA = {0} ORDER BY 3, 2""",
    "SELECT 'event', EVENT_NAME, '' FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {0} ORDER BY 2",
)
_NO_TABLES = {"VIEW": "view", "SYSTEM VIEW": "view", "SEQUENCE": "sequence"}
_OPTIONS = {"encrypted": "ENCRYPTED", "page_compressed": "PAGE_COMPRESSED"}


def read_schema(session: Session, schema: str) -> SchemaFacts:
    """Read a schema. Its tables come by name."""
    literal = quoted(schema.encode()).decode()

    def ask(query: str) -> list[Record]:
        words = re.search(r"SELECT (.*?)\s+FROM", query, re.DOTALL)
        titles = [word.strip().rpartition(".")[2] for word in words.group(1).split(",")] if words else []
        return [dict(zip(titles, row, strict=True)) for row in session.texts(query.format(literal))]

    tables = ask(_TABLES)
    columns, keys, foreign = _by_table(ask(_COLUMNS)), _by_table(ask(_KEYS)), _by_table(ask(_FOREIGN_KEYS))
    checks = _by_table(ask(_CHECKS))
    rules = {(word(rule, "TABLE_NAME"), word(rule, "CONSTRAINT_NAME")): rule for rule in ask(_RULES)}
    things = [Thing(*map(str, row)) for query in _THINGS for row in session.texts(query.format(literal))]
    things += [
        Thing(_NO_TABLES[kind], word(table, "TABLE_NAME"))
        for table in tables
        if (kind := word(table, "TABLE_TYPE")) in _NO_TABLES
    ]
    made = [
        _table(
            session, table, columns[title], keys[title], tuple(_foreign_keys(foreign[title], rules)), checks[title]
        )
        for table in tables
        if word(table, "TABLE_TYPE") not in _NO_TABLES and (title := word(table, "TABLE_NAME"))
    ]
    return SchemaFacts(schema, True, tuple(made), tuple(things))


def word(record: Record, title: str) -> str:
    """A text of a record; nothing where it is NULL."""
    return record[title] or ""


def _by_table(records: Sequence[Record]) -> defaultdict[str, list[Record]]:
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[word(record, "TABLE_NAME")].append(record)
    return found


def _table(
    session: Session,
    table: Record,
    columns: Sequence[Record],
    keys: Sequence[Record],
    foreign: tuple[ForeignKeyFacts, ...],
    checks: Sequence[Record],
) -> TableFacts:
    title, options = word(table, "TABLE_NAME"), word(table, "CREATE_OPTIONS").lower()
    shown = session.texts(f"SHOW CREATE TABLE {name(title)}")[0][1] or ""
    counter = table["AUTO_INCREMENT"]
    return TableFacts(
        title,
        word(table, "ENGINE"),
        tuple(_column(session, title, column) for column in columns),
        tuple(_keys(keys)),
        foreign,
        tuple(
            CheckFacts(word(check, "CONSTRAINT_NAME"), word(check, "CHECK_CLAUSE"), word(check, "LEVEL") == "Column")
            for check in checks
        ),
        table["TABLE_COLLATION"],
        word(table, "TABLE_COMMENT"),
        int(counter) if counter else None,
        partitioned="partitioned" in options,
        periods=word(table, "TABLE_TYPE") == "SYSTEM VERSIONED" or bool(re.search(r"(?m)^ +PERIOD FOR ", shown)),
        options=tuple(shown_as for option, shown_as in _OPTIONS.items() if re.search(rf"{option}`?=", options)),
    )


def _column(session: Session, table: str, column: Record) -> ColumnFacts:
    extra, type_words = word(column, "EXTRA").lower(), word(column, "COLUMN_TYPE")
    base = type_words.partition("(")[0].lower()
    inner = type_words[len(base) + 1 : type_words.rindex(")")] if base in ("enum", "set") else ""
    facts = ColumnFacts(
        word(column, "COLUMN_NAME"),
        base if inner else type_words.lower(),
        word(column, "IS_NULLABLE") == "YES",
        None,
        column["CHARACTER_SET_NAME"],
        column["COLLATION_NAME"],
        read_literals(inner) if inner else (),
        "auto_increment" in extra,
        "on update current_timestamp" in extra,
        column["GENERATION_EXPRESSION"] or None,
        "invisible" in extra,
        word(column, "COLUMN_COMMENT"),
    )
    default = read_default(column["COLUMN_DEFAULT"])
    if default is not None and default.kind == "literal" and b"?" in default.value:
        default = _asked_default(session, table, facts.name)
    return replace(facts, default=default)


def read_default(shown: str | None) -> DefaultFacts | None:
    """The default as information_schema shows it: SQL."""
    if shown is None:
        return None
    if shown.upper() == "NULL":
        return DefaultFacts("null")
    if re.fullmatch(r"(?i)current_timestamp(\(\d*\))?", shown):
        return DefaultFacts("now")
    if shown.startswith("'"):
        try:
            literal, end = read_literal(shown)
        except ValueError:
            end = -1
        if end == len(shown):
            return DefaultFacts("literal", literal.encode("utf-8", "surrogateescape"))
    if re.fullmatch(r"[-+]?[\d.]+([eE][-+]?\d+)?", shown):
        return DefaultFacts("literal", shown.encode("ascii"))
    return DefaultFacts("expression", shown.encode("utf-8", "surrogateescape"))


def _asked_default(session: Session, table: str, column: str) -> DefaultFacts:
    """The default as the server has it: information_schema shows what it cannot show as '?'."""
    asked = (
        f"SELECT DEFAULT(t.{name(column)}) FROM (SELECT 1 AS one) AS one LEFT JOIN {name(table)} AS t ON TRUE LIMIT 1"
    )
    value = session.rows(asked)[0][0]
    return DefaultFacts("unreadable") if value is None else DefaultFacts("literal", value)


def _keys(records: Sequence[Record]) -> Iterator[KeyFacts]:
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(word(record, "INDEX_NAME"), []).append(record)
    for title, parts in grouped.items():
        first = parts[0]
        yield KeyFacts(
            title,
            first["NON_UNIQUE"] == "0",
            tuple(
                KeyPartFacts(
                    word(part, "COLUMN_NAME"),
                    int(part["SUB_PART"]) if part["SUB_PART"] else None,
                    part["COLLATION"] == "D",
                )
                for part in parts
            ),
            word(first, "INDEX_TYPE"),
            first["IGNORED"] == "YES",
            word(first, "INDEX_COMMENT"),
        )


def _foreign_keys(records: Sequence[Record], rules: Mapping[tuple[str, str], Record]) -> Iterator[ForeignKeyFacts]:
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(word(record, "CONSTRAINT_NAME"), []).append(record)
    for title, parts in grouped.items():
        first = parts[0]
        rule = rules[(word(first, "TABLE_NAME"), title)]
        yield ForeignKeyFacts(
            title,
            tuple(word(part, "COLUMN_NAME") for part in parts),
            word(first, "REFERENCED_TABLE_SCHEMA"),
            word(first, "REFERENCED_TABLE_NAME"),
            tuple(word(part, "REFERENCED_COLUMN_NAME") for part in parts),
            word(rule, "UPDATE_RULE"),
            word(rule, "DELETE_RULE"),
        )
