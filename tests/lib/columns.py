"""Columns of every type that MariaDB has and Drizzle can hold, with the edges of each, and what comes of them."""

import struct
from collections.abc import Callable
from decimal import Decimal

BYTES = bytes(range(256))
NINES = f"-{'9' * 35}.{'9' * 30}"

TYPES: list[tuple[str, list[tuple[str, object]], str]] = [
    # the column at the source; literals with what the target gives for them; the column at the target
    ("TINYINT", [("-128", -128), ("127", 127), ("NULL", None)], "int(11)"),
    ("TINYINT UNSIGNED", [("255", 255)], "int(11)"),
    ("BOOL", [("TRUE", 1), ("FALSE", 0), ("-7", -7)], "int(11)"),
    ("SMALLINT", [("-32768", -32768), ("32767", 32767)], "int(11)"),
    ("MEDIUMINT UNSIGNED", [("16777215", 16777215)], "int(11)"),
    ("INT", [("-2147483648", -2147483648), ("2147483647", 2147483647), ("0", 0)], "int(11)"),
    ("INT UNSIGNED", [("4294967295", 4294967295)], "bigint(20)"),
    ("INT(5) ZEROFILL", [("42", 42)], "bigint(20)"),
    ("BIGINT", [("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)], "bigint(20)"),
    ("BIGINT UNSIGNED", [("9223372036854775807", 2**63 - 1), ("0", 0)], "bigint(20)"),
    ("DECIMAL(65,30)", [(NINES, NINES), ("0", f"0.{'0' * 30}")], "decimal(65,30)"),
    ("DECIMAL(10,0) UNSIGNED", [("9999999999", "9999999999")], "decimal(10,0)"),
    ("DOUBLE", [("0.1", 0.1), ("-1.7976931348623157e308", -1.7976931348623157e308), ("5e-324", 5e-324),
                ("1e16", 1e16), ("123456789.123456789", 123456789.123456789), ("0", 0.0)], "double"),
    ("DOUBLE(10,3)", [("1.5", 1.5), ("-0.125", -0.125)], "double"),
    ("FLOAT", [("0.1", struct.unpack("f", struct.pack("f", 0.1))[0]), ("16777216", 16777216.0)], "double"),
    ("YEAR", [("2155", 2155), ("0", 0)], "int(11)"),
    ("CHAR(5)", [("'ab '", "ab"), ("'🦀🦀🦀🦀🦀'", "🦀" * 5), ("''", "")], "varchar(5)"),
    ("VARCHAR(50)", [("'naïve 日本 🦀'", "naïve 日本 🦀"), ("'it''s \\\\ \"q\" `b` %s'", "it's \\ \"q\" `b` %s"),
                     ("'blank '", "blank "), ("'\\0\\n\\r\\Z\\t'", "\0\n\r\x1a\t"), ("'NULL'", "NULL"),
                     ("''", ""), ("NULL", None)], "varchar(50)"),
    ("VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_bin", [("'naïve €'", "naïve €")], "varchar(50)"),
    ("VARCHAR(50) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci", [("'日本'", "日本")], "varchar(50)"),
    ("TINYTEXT", [("'ü'", "ü")], "text"),
    ("TEXT", [("REPEAT('🦀', 10000)", "🦀" * 10000)], "text"),
    ("MEDIUMTEXT", [("REPEAT('x', 1000000)", "x" * 1000000)], "mediumtext"),
    ("LONGTEXT", [("''", "")], "mediumtext"),
    ("JSON", [("'{\"a\": \"\\\\\\\\ ü\"}'", '{"a": "\\\\ ü"}')], "mediumtext"),
    ("BINARY(4)", [("'ab'", b"ab\0\0"), ("0x00FF", b"\x00\xff\0\0")], "varbinary(4)"),
    ("VARBINARY(256)", [(f"0x{BYTES.hex()}", BYTES), ("''", b""), ("'\\0'", b"\0")], "varbinary(256)"),
    ("BLOB", [(f"0x{BYTES.hex()}", BYTES), ("''", b""), ("NULL", None)], "blob"),
    ("LONGBLOB", [(f"REPEAT(0x{BYTES.hex()}, 8000)", BYTES * 8000)], "mediumblob"),
    ("ENUM('a','it''s')", [("'it''s'", "it's"), ("1", "a"), ("NULL", None)], "enum('a','it''s')"),
    ("DATE", [("'0001-01-01'", "0001-01-01"), ("'9999-12-31'", "9999-12-31"),
              ("'2020-02-29'", "2020-02-29")], "date"),
    ("TIME", [("'00:00:00'", "00:00:00"), ("'23:59:59'", "23:59:59")], "time"),
    ("DATETIME", [("'0001-01-01 00:00:00'", "0001-01-01 00:00:00"),
                  ("'9999-12-31 23:59:59'", "9999-12-31 23:59:59")], "datetime"),
    ("DATETIME(3)", [("'2020-01-01 10:00:00'", "2020-01-01 10:00:00")], "datetime"),
    ("TIMESTAMP NULL", [("'1970-01-01 00:00:01'", "1970-01-01 00:00:01"),
                        ("'2038-01-19 03:14:07'", "2038-01-19 03:14:07"), ("NULL", None)], "timestamp"),
    ("TIMESTAMP(6) NULL", [("'2020-03-29 02:30:00.000001'", "2020-03-29 02:30:00.000001")], "timestamp(6)"),
    ("TIMESTAMP(3) NULL", [("'2020-10-25 02:30:00.5'", "2020-10-25 02:30:00.500000")], "timestamp(6)"),
    ("UUID", [("'00112233-4455-6677-8899-AABBCCDDEEFF'", "00112233-4455-6677-8899-aabbccddeeff")], "uuid"),
]  # fmt: skip


def as_text(value: object) -> object:
    """A value as the tests write it: text for what is neither a number of the machine's nor bytes."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value if value is None or isinstance(value, (int, float, bytes, str)) else str(value)


def statements(table: str) -> list[str]:
    """What makes a table of all types, and fills it."""
    definitions = ", ".join(f"c{number} {words}" for number, (words, _, _) in enumerate(TYPES))
    made = [f"CREATE TABLE {table} (id INT PRIMARY KEY, {definitions}) ENGINE=InnoDB"]
    for row in range(_DEPTH):
        literals = [values[row % len(values)][0] for _, values, _ in TYPES]
        made.append(f"INSERT INTO {table} VALUES ({row}, {', '.join(literals)})")
    return made


def rows(ask: Callable[[str], list[tuple[object, ...]]], table: str) -> list[list[object]]:
    """What that table holds at a MariaDB, told as ``EXPECTED`` tells it."""
    columns = (
        f"CAST(c{number} AS CHAR)" if "date" in words.lower() or "time" in words.lower() else f"c{number}"
        for number, (words, _, _) in enumerate(TYPES)
    )
    return [
        [as_text(value) for value in row] for row in ask(f"SELECT id, {', '.join(columns)} FROM {table} ORDER BY id")
    ]


_DEPTH = max(len(values) for _, values, _ in TYPES)
EXPECTED: list[list[object]] = [
    [row, *(values[row % len(values)][1] for _, values, _ in TYPES)] for row in range(_DEPTH)
]
"""The rows that have to come."""
