"""All SQL of the app keeps to what both MariaDB and Drizzle accept."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import stacksearch
from stacksearch.database import STATEMENTS, statement

PACKAGE = Path(stacksearch.__file__).parent

for _module in pkgutil.walk_packages(stacksearch.__path__, "stacksearch."):
    importlib.import_module(_module.name)
ALL = sorted(set(STATEMENTS))

# What Drizzle 7.2 lacks or refuses, each as a pattern over a statement without its literals, in capitals.
LACKING = {
    "types": r"\b(TINYINT|SMALLINT|MEDIUMINT|BOOL|BIT|YEAR|JSON|UNSIGNED)\b|\b(TINY|MEDIUM|LONG)(TEXT|BLOB)\b",
    "BINARY(n)": r"\bBINARY\b",
    "SET type": r"\bSET\s*\(",
    "DATETIME(n)": r"\bDATETIME\s*\(",
    "character sets": r"\b(CHARACTER SET|CHARSET|UTF8MB4|CONVERT)\b",
    "schema objects": r"\b(VIEW|PROCEDURE|FUNCTION|TRIGGER|EVENT|FULLTEXT|PARTITION|SEQUENCE)\b",
    "CTEs": r"^WITH\b",
    "window functions": r"\bOVER\s*\(",
    "FROM dual": r"\bDUAL\b",
    "LOCK TABLES": r"\b(UN)?LOCK TABLES\b",
    "locking reads it has not": r"\b(SKIP LOCKED|NOWAIT|FOR SHARE|LOCK IN SHARE MODE)\b",
    "statements": r"^(OPTIMIZE|PREPARE|EXECUTE|DEALLOCATE|GRANT|REVOKE|CALL|HANDLER|DO|MERGE)\b",
    "RETURNING": r"\bRETURNING\b",
    "functions": r"\b(SHA1?|SHA2|STR_TO_DATE|TIMEDIFF|INET6?_(ATON|NTOA)|JSON_\w+|REGEXP_\w+|UUID_SHORT)\s*\(",
    "variables": r"\b(SQL_MODE|TIME_ZONE|WAIT_TIMEOUT)\b|@@|@\w",
    "&&": r"&&",
    "|| is concatenation": r"\|\|",
    "other engines": r"\bENGINE\s*=\s*(?!INNODB\b)",
    "multi-table UPDATE": r"^UPDATE\s+\w+(\s*,|\s+(\w+\s+)?(INNER |LEFT |RIGHT |CROSS )?JOIN)",
    "multi-table DELETE": r"^DELETE\s+(?!FROM\s+\w+(\s+WHERE|\s*$))",
    "joins without a condition": r"\bFROM\s+\w+\s*,|\bJOIN\s+\w+(\s+\w+)?\s*(WHERE|$|ORDER|LIMIT|JOIN)",
    "SHOW forms": r"^SHOW (FULL|ENGINES|PLUGINS|GRANTS|MASTER|SLAVE|BINLOG)\b",
    "DATETIME defaults": r"\bDATETIME\b[^,]*DEFAULT",
    "defaults in CREATE TABLE, which crash it when their type is wrong": r"^CREATE TABLE.*\bDEFAULT\b",
    "SET NAMES": r"^SET NAMES\b",
    "multi-statements": r";",
}  # fmt: skip


def bare(sql: str) -> str:
    """The statement without its literals, in capitals."""
    return " ".join(re.sub(r"'(?:[^'\\]|\\.)*'", "''", sql).split()).upper()


def faults(sql: str) -> list[str]:
    """What Drizzle would not accept."""
    return [name for name, pattern in LACKING.items() if re.search(pattern, bare(sql))]


def test_there_are_statements() -> None:
    assert len(ALL) > 30


@pytest.mark.parametrize("sql", ALL)
def test_a_statement_keeps_to_the_subset(sql: str) -> None:
    assert faults(sql) == []


@pytest.mark.parametrize("sql", [sql for sql in ALL if sql.startswith("CREATE TABLE")])
def test_tables_fit_drizzle(sql: str) -> None:
    assert sql.endswith("ENGINE=InnoDB")
    lengths = {name: int(length) for name, length in re.findall(r"(\w+) VARCHAR\((\d+)\)", sql)}
    assert all(length <= 16383 for length in lengths.values())
    for columns in re.findall(r"KEY(?: \w+)? \(([^)]+)\)", sql):
        # A character takes four bytes, a number at most eight; an index key at most 1023.
        assert sum(4 * lengths.get(name.strip(), 2) for name in columns.split(",")) <= 1023
    types = re.findall(r"[(,] ?[a-z]\w* ([A-Z]+)", sql)
    assert set(types) <= {"INT", "BIGINT", "VARCHAR", "TEXT", "BLOB", "ENUM", "TIMESTAMP", "BOOLEAN"}


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("CREATE TABLE t (a TINYINT) ENGINE=InnoDB", "types"),
        ("CREATE TABLE t (a INT UNSIGNED) ENGINE=InnoDB", "types"),
        ("CREATE TABLE t (a INT) ENGINE=MyISAM", "other engines"),
        ("CREATE TABLE t (a INT DEFAULT 'x') ENGINE=InnoDB",
         "defaults in CREATE TABLE, which crash it when their type is wrong"),
        ("SELECT id FROM url FOR UPDATE SKIP LOCKED", "locking reads it has not"),
        ("UPDATE a JOIN b ON a.id = b.id SET a.x = 1", "multi-table UPDATE"),
        ("UPDATE a, b SET a.x = 1", "multi-table UPDATE"),
        ("DELETE a FROM a JOIN b ON a.id = b.id", "multi-table DELETE"),
        ("SELECT * FROM a, b WHERE a.id = b.id", "joins without a condition"),
        ("SELECT * FROM a JOIN b WHERE a.id = b.id", "joins without a condition"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "CTEs"),
        ("SELECT ROW_NUMBER() OVER (ORDER BY id) FROM url", "window functions"),
        ("SELECT SHA2(address, 256) FROM url", "functions"),
        ("SELECT 1 FROM dual", "FROM dual"),
        ("SELECT 1; SELECT 2", "multi-statements"),
        ("INSERT INTO t (a) VALUES (1) RETURNING id", "RETURNING"),
    ],
)  # fmt: skip
def test_the_guard_sees_what_it_is_for(sql: str, fault: str) -> None:
    assert fault in faults(sql)


def test_what_stands_in_a_literal_is_no_sql() -> None:
    assert faults("SELECT id FROM url WHERE reason = 'json; over ( dual'") == []


def test_no_sql_goes_past_the_register() -> None:
    """Cursors are used in the database module and in Sphinx's only."""
    users = {
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("cursor", "execute", "executemany")
    }
    assert users == {"database.py", "index.py"}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if called and node.func.attr in ("read", "write", "define") and node.args and path.name != "database.py":  # type: ignore[attr-defined]
                first = node.args[0]  # type: ignore[attr-defined]
                assert not isinstance(first, (ast.JoinedStr, ast.BinOp)), f"{path.name}:{node.lineno}"  # type: ignore[attr-defined]
                assert not (isinstance(first, ast.Constant) and isinstance(first.value, str)), path.name


def test_registering_keeps_the_text() -> None:
    before = len(STATEMENTS)
    assert statement("SELECT  1\n FROM   url") == "SELECT 1 FROM url"
    del STATEMENTS[before:]
