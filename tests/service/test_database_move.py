"""A database moves between two real MariaDB servers: nothing is lost, nothing of others is touched, kills are borne.

Where MariaDB stands in for nothing: what only Drizzle does is not shown here.
"""

import datetime
import json
import math
import random
import signal
import struct
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from stackctl.database.connection import DrizzleConnection
from stackctl.database.session import Server, ServerError, Session
from stackctl.database.subset import JOURNAL
from stackctl.site.secrets import Secret
from stacksearch import config, schema
from stacksearch.database import Database
from tests import mariadb
from tests.lib import columns
from tests.lib.waiting import wait_for
from tests.service.conftest import TwoEnds
from tests.stack import free_port

pytestmark = pytest.mark.service


def moved(ends: TwoEnds, *words: str) -> str:
    """Move, all agreed; gives what was told."""
    done = ends.move("--yes", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def untouched(ends: TwoEnds) -> bool:
    """Whether nothing was written at the target."""
    return ends.target.tables(ends.name) == []


# What is moved


def test_every_type_with_its_edges(two_ends: TwoEnds) -> None:
    """Every value is at the target what it was, whatever its type is called there."""
    two_ends.make(*columns.statements("every"))

    moved(two_ends)

    assert columns.rows(two_ends.there, "every") == columns.EXPECTED
    told = two_ends.there(
        f"SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{two_ends.name}' "
        "AND TABLE_NAME = 'every' AND COLUMN_NAME <> 'id' ORDER BY ORDINAL_POSITION"
    )
    assert [row[0] for row in told] == [after for _, _, after in columns.TYPES]
    assert JOURNAL not in two_ends.target.tables(two_ends.name)


def test_rows_drawn_at_random(two_ends: TwoEnds, sample_seed: int) -> None:
    """What the comparison of both ends cannot see, as it reads both alike: the servers themselves say the same."""
    draw = random.Random(sample_seed)
    signs = "aZ0 '\"\\%_\0\n\r\x1a\tüßÄ日€🦀\u0300\ufffd\U0010ffff"

    def row(number: int) -> tuple[object, ...]:
        text = "".join(draw.choices(signs, k=draw.randrange(40)))
        double = struct.unpack("d", draw.randbytes(8))[0]
        return (
            number,
            draw.choice([None, draw.randrange(-(2**63), 2**63)]),
            double if math.isfinite(double) else -0.1,
            str(Decimal(draw.randrange(-(10**30), 10**30)).scaleb(-10)),
            text,
            draw.choice([None, text]),
            draw.randbytes(draw.randrange(60)),
            datetime.datetime(1970, 1, 2) + datetime.timedelta(microseconds=draw.randrange(2 * 10**15)),
        )

    two_ends.make(
        """CREATE TABLE t (id INT, b BIGINT, d DOUBLE, n DECIMAL(40,10), k VARCHAR(40) COLLATE utf8mb4_bin,
            w TEXT, v BLOB, m TIMESTAMP(6) NULL, PRIMARY KEY (k, id), KEY b (b)) COLLATE utf8mb4_bin"""
    )
    with two_ends.source.connect(two_ends.name) as connection, connection.cursor() as cursor:
        rows = [row(number) for number in range(2000)]
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows)
    moved(two_ends)
    asked = "SELECT id, b, d, n, HEX(k), HEX(w), HEX(v), m FROM t ORDER BY id"
    assert two_ends.there(asked) == two_ends.here(asked)
    assert [(got[0], got[1], got[2]) for got in two_ends.there(asked)] == [tuple(one[:3]) for one in rows]


def test_what_belongs_to_a_table(two_ends: TwoEnds) -> None:
    """Keys, defaults, comments, the next number: read back at the target they are what they were."""
    two_ends.make(
        """CREATE TABLE `odd``name` (
            id BIGINT NOT NULL AUTO_INCREMENT,
            `a``b` VARCHAR(50) COLLATE utf8mb4_bin NOT NULL DEFAULT 'it''s \\\\ ü🦀' COMMENT 'what''s \\\\ this',
            n INT NOT NULL DEFAULT -7,
            d DECIMAL(6,2) DEFAULT 1.5,
            f DOUBLE NOT NULL DEFAULT 0.1,
            v VARBINARY(8) DEFAULT 'abc',
            e ENUM('a','b''c') NOT NULL DEFAULT 'b''c',
            day DATE DEFAULT '2020-01-02',
            seen TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
            t TEXT,
            PRIMARY KEY (id), UNIQUE KEY u (`a``b`(10), n), KEY words (t(20)), KEY n (n)
        ) ENGINE=InnoDB AUTO_INCREMENT=4711 COMMENT='all that''s odd' COLLATE utf8mb4_general_ci""",
        "INSERT INTO `odd``name` (id, t) VALUES (0 + 5, 'x')",
    )
    moved(two_ends)
    shown = "SHOW CREATE TABLE `odd``name`"
    assert two_ends.there(shown)[0][1] == two_ends.here(shown)[0][1]
    assert two_ends.there("SELECT * FROM `odd``name`") == two_ends.here("SELECT * FROM `odd``name`")
    two_ends.target.run("INSERT INTO `odd``name` (n) VALUES (1)", database=two_ends.name)
    assert two_ends.there("SELECT MAX(id) FROM `odd``name`") == [(4711,)]
    assert two_ends.there("SELECT `a``b` FROM `odd``name` WHERE id = 4711") == [("it's \\ ü🦀",)]


def test_defaults_that_information_schema_cannot_show(two_ends: TwoEnds) -> None:
    """It shows bytes that are no text, and characters of four bytes, as question marks."""
    two_ends.make(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARBINARY(8) NOT NULL DEFAULT 0xFF0041, w VARCHAR(9) DEFAULT '🦀?')",
        "INSERT INTO t (id) VALUES (1)",
        "CREATE TABLE blank (id INT PRIMARY KEY, w VARCHAR(9) DEFAULT '🦀?')",
    )
    moved(two_ends)
    two_ends.target.run("INSERT INTO t (id) VALUES (2)", "INSERT INTO blank (id) VALUES (1)", database=two_ends.name)
    assert two_ends.there("SELECT v, w FROM t") == [(b"\xff\0A", "🦀?")] * 2
    assert two_ends.there("SELECT w FROM blank") == [("🦀?",)]


def test_a_zero_that_counts_by_itself_stays_a_zero(two_ends: TwoEnds) -> None:
    two_ends.make(
        "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY)",
        "INSERT INTO t VALUES (-1), (1)",
        "UPDATE t SET id = 0 WHERE id = 1",
    )
    moved(two_ends)
    assert two_ends.there("SELECT id FROM t ORDER BY id") == [(-1,), (0,)]


def test_foreign_keys(two_ends: TwoEnds) -> None:
    """Children before their parents by name, a circle, a table that leads to itself; all hold at the target."""
    two_ends.make(
        "SET foreign_key_checks = 0",
        """CREATE TABLE a (id INT UNSIGNED PRIMARY KEY, up INT UNSIGNED, z INT UNSIGNED,
            FOREIGN KEY (up) REFERENCES a (id) ON DELETE CASCADE,
            CONSTRAINT to_z FOREIGN KEY (z) REFERENCES z (id) ON DELETE SET NULL ON UPDATE CASCADE)""",
        """CREATE TABLE z (id INT UNSIGNED PRIMARY KEY, a INT UNSIGNED, FOREIGN KEY (a) REFERENCES a (id))""",
        "INSERT INTO a VALUES (1, 3, 7), (2, 1, NULL), (3, NULL, NULL)",
        "INSERT INTO z VALUES (7, 2), (8, NULL)",
    )
    moved(two_ends)
    assert two_ends.there("SELECT * FROM a ORDER BY id") == two_ends.here("SELECT * FROM a ORDER BY id")
    two_ends.target.run("UPDATE z SET id = 9, a = NULL WHERE id = 7", database=two_ends.name)
    assert two_ends.there("SELECT z FROM a WHERE id = 1") == [(9,)]
    two_ends.target.run("DELETE FROM a WHERE id = 3", database=two_ends.name)
    assert two_ends.there("SELECT id FROM a") == []


def test_keys_of_several_columns_and_other_orders(two_ends: TwoEnds) -> None:
    """Tables are read on by keys of every ordered kind, by an ENUM's in one go, and without any."""
    two_ends.make(
        "CREATE TABLE texts (a VARCHAR(20) COLLATE utf8mb4_general_ci, b INT, PRIMARY KEY (a, b))",
        "INSERT INTO texts VALUES ('b', 2), ('B', 1), ('a', 3), ('ä', 4), ('', 5), ('🦀', 6)",
        "CREATE TABLE bytes (a VARBINARY(9), d DATE, PRIMARY KEY (a, d))",
        "INSERT INTO bytes VALUES ('', '2020-01-01'), (0x00, '2020-01-01'), (0xFF, '2020-01-01'), (0xFF, '2021-1-1')",
        "CREATE TABLE kinds (e ENUM('z','a'), PRIMARY KEY (e))",
        "INSERT INTO kinds VALUES ('a'), ('z')",
        "CREATE TABLE no_key (a INT, b TEXT)",
        "INSERT INTO no_key VALUES (1, 'x'), (1, 'x'), (NULL, NULL)",
    )
    moved(two_ends)
    for asked in (
        "SELECT * FROM texts ORDER BY a, b",
        "SELECT * FROM bytes ORDER BY a, d",
        "SELECT * FROM kinds ORDER BY e",
        "SELECT * FROM no_key ORDER BY a, b",
    ):
        assert two_ends.there(asked) == two_ends.here(asked)


def test_an_empty_database(two_ends: TwoEnds) -> None:
    moved(two_ends)
    assert two_ends.target.tables(two_ends.name) == []


def test_the_search_app_goes_on_at_the_target(two_ends: TwoEnds) -> None:
    """stacksearch's own schema and rows, and the app itself on them."""

    def database(port: int) -> Database:
        return Database(
            config.DatabaseConfig(
                host="127.0.0.1", port=port, name=two_ends.name, user=mariadb.ACCOUNT,
                password=config.Secret(mariadb.PASSWORD),
            )
        )  # fmt: skip

    here = database(two_ends.source.port)
    schema.migrate(here)
    here.close()
    two_ends.make(
        "INSERT INTO url VALUES (5, 'd1', 'http://a/🦀', 'done', 1, 0, 1, 1, 0, '', 1, ''), "
        "(7, 'd2', 'http://a/b', 'failed', 2, 1, 1, 1, 3, 'x', NULL, 'it''s gone')",
        "INSERT INTO document (digest, title, size, added, indexed) VALUES ('d1', 'Naïve 🦀', 10, 1, 1)",
        "INSERT INTO document_part VALUES (1, 0, 'body ü'), (1, 1, REPEAT('🦀', 15000))",
    )
    moved(two_ends)
    there = database(two_ends.target.port)
    assert schema.version(there) == schema.LATEST
    assert schema.migrate(there) == []
    there.close()
    for table in ("url", "document", "document_part", "migration"):
        assert two_ends.there(f"SELECT * FROM {table} ORDER BY 1, 2") == (
            two_ends.here(f"SELECT * FROM {table} ORDER BY 1, 2")
        )


def test_the_plan_and_the_report_as_json(two_ends: TwoEnds) -> None:
    two_ends.make("CREATE TABLE t (id INT PRIMARY KEY, b BOOL)", "INSERT INTO t VALUES (1, 1), (2, NULL)")
    planned = two_ends.move("--check", "--json")
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(planned.stdout)
    assert plan["tables"] == [{"table": "t", "fate": "new", "rows": 2, "bytes": 32, "done": 0}]
    assert [(change["column"], change["before"], change["after"]) for change in plan["changes"]] == (
        [("b", "TINYINT(1)", "INT")]
    )
    assert plan["moved"] == []
    assert untouched(two_ends)
    report = json.loads(two_ends.move("--yes", "--json").stdout)
    ((table, rows, fault),) = [(one["table"], one["rows"], one["fault"]) for one in report["moved"]]
    assert (table, rows, fault) == ("t", 2, None)


# Kills

ROWS = 8_000


@pytest.fixture
def many(two_ends: TwoEnds) -> TwoEnds:
    """A table that takes a dozen commits, one without a key, and a small one."""
    return filled(two_ends, ROWS, 250)


def filled(two_ends: TwoEnds, rows: int, width: int) -> TwoEnds:
    """Three tables; the largest has so many rows of so many times five bytes."""
    two_ends.make(
        "CREATE TABLE big (a VARCHAR(12) COLLATE utf8mb4_bin, n INT, words TEXT, PRIMARY KEY (a, n))",
        f"INSERT INTO big SELECT CONCAT('k', MOD(seq, 97)), seq, CONCAT(REPEAT('🦀x', {width}), seq) "
        f"FROM seq_1_to_{rows}",
        "CREATE TABLE keyless (n INT, words TEXT)",
        "INSERT INTO keyless SELECT seq, REPEAT('y', 400) FROM seq_1_to_6000",
        "CREATE TABLE small (id INT PRIMARY KEY, n INT)",
        "INSERT INTO small VALUES (1, 1), (2, 2)",
    )
    return two_ends


def same(ends: TwoEnds) -> bool:
    """Whether both ends hold the same, as the servers themselves count and sum."""
    asked = (
        "SELECT COUNT(*), SUM(n), SUM(CRC32(words)), COUNT(DISTINCT a, n) FROM big",
        "SELECT COUNT(*), SUM(n), SUM(CRC32(words)), COUNT(DISTINCT n) FROM keyless",
        "SELECT COUNT(*), SUM(id), SUM(n), 0 FROM small",
    )
    return all(ends.there(query) == ends.here(query) for query in asked) and ends.journal() == {}


def test_a_move_that_is_killed_again_and_again_comes_to_its_end(two_ends: TwoEnds) -> None:
    """Each run goes on where the last one was killed: it commits once, then it is killed. 50,000 rows."""
    many = filled(two_ends, 50_000, 40)
    seen = []
    for _ in range(4):
        many.killed_at("commit 1")
        seen.append(many.journal()["big"][1])
    assert seen == sorted(set(seen))
    assert seen[0] > 0
    assert seen[-1] < 50_000
    said = moved(many)
    assert "goes on" in said
    assert same(many)


def test_killed_before_it_is_committed(many: TwoEnds) -> None:
    """Rows that were written and not committed are not there, and are written once."""
    with many.stopped_at("commit 2") as process:
        before = many.journal()["big"]
        with many.target.connect(many.name) as blocker, blocker.cursor() as cursor:
            blocker.autocommit(False)
            cursor.execute(f"SELECT * FROM {JOURNAL} WHERE table_name = 'big' FOR UPDATE")
            process.send(signal.SIGCONT)
            wait_for(lambda: waits_for_the_journal(many), "the update of the journal", timeout=mariadb.PATIENCE)
            process.kill()
            blocker.rollback()
    wait_for(lambda: not waits_for_the_journal(many), "the server to see that it is gone", timeout=mariadb.PATIENCE)
    assert many.journal()["big"] == before
    assert many.there("SELECT COUNT(*) FROM big") == [(before[1],)]
    moved(many)
    assert same(many)


def waits_for_the_journal(ends: TwoEnds) -> bool:
    asked = f"SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = '{ends.name}' AND INFO LIKE 'UPDATE%{JOURNAL}%'"
    return bool(ends.target.ask(asked))


def test_killed_while_both_ends_are_compared(many: TwoEnds) -> None:
    many.killed_at("compare")
    assert {state for state, _ in many.journal().values()} == {"loaded"}
    said = moved(many)
    assert "is there" in said
    assert same(many)


def test_a_table_without_a_key_begins_anew(many: TwoEnds) -> None:
    two = many
    two.make("DROP TABLE big", "CREATE TABLE big (a VARCHAR(12), n INT, words TEXT, PRIMARY KEY (a, n))")
    two.killed_at("commit 2")  # the first commit is that of the empty table
    assert 0 < two.journal()["keyless"][1] < 6000
    moved(two)
    assert same(two)


def test_the_target_server_is_killed(many: TwoEnds) -> None:
    with many.stopped_at("commit 2") as process:
        many.target.kill()
    assert process.wait(mariadb.PATIENCE) == 1
    said = process.log.read_text()
    assert "went away" in said or "broke" in said
    assert "the same command goes on" in said
    assert "Traceback" not in said
    many.target.start()
    assert 0 < many.journal()["big"][1] < ROWS
    moved(many)
    assert same(many)


def test_the_source_server_is_killed(many: TwoEnds) -> None:
    with many.stopped_at("commit 2") as process:
        many.source.kill()
    assert process.wait(mariadb.PATIENCE) == 1
    assert "Traceback" not in process.log.read_text()
    many.source.start()
    moved(many)
    assert same(many)


def test_interrupted(many: TwoEnds) -> None:
    with many.stopped_at("commit 2") as process:
        process.send(signal.SIGINT)
    assert process.wait(mariadb.PATIENCE) == 130
    assert "run the same command again" in process.log.read_text()
    moved(many)
    assert same(many)


def test_a_second_move_waits_and_gives_up(many: TwoEnds) -> None:
    with many.stopped_at("commit 1") as process:
        other = many.move("--yes")
        assert other.returncode == 1
        assert "another move" in other.stderr
    assert process.wait(mariadb.PATIENCE) == 0
    assert same(many)


def test_another_definition_at_the_source_begins_anew(many: TwoEnds) -> None:
    many.killed_at("commit 2")
    many.make("ALTER TABLE big ADD COLUMN more INT NOT NULL DEFAULT 5")
    said = moved(many)
    assert "begins anew" in said
    assert many.there("SELECT COUNT(*), SUM(more) FROM big") == [(ROWS, 5 * ROWS)]
    assert same(many)


def test_a_table_that_is_gone_from_the_source_stays_at_the_target(many: TwoEnds) -> None:
    many.killed_at("commit 2")
    many.make("DROP TABLE big")
    said = moved(many)
    assert "big was begun by an earlier run and is gone" in said
    assert "big" in many.target.tables(many.name)
    assert many.journal() == {}


def test_another_move_that_was_not_ended(many: TwoEnds) -> None:
    many.killed_at("commit 1")
    many.source.give(f"{many.name}x")
    many.source.run("CREATE TABLE t (id INT PRIMARY KEY)", database=f"{many.name}x")
    many.describe(source={"database": f"{many.name}x"})
    done = many.move("--yes")
    assert done.returncode == 3
    assert f"a move from {many.name} on mariadb" in done.stderr
    assert many.journal()["big"][0] == "loading"


# What the comparison finds


def test_a_row_that_was_changed_at_the_target(many: TwoEnds) -> None:
    with many.stopped_at("compare") as process:
        many.target.run("UPDATE small SET n = 3 WHERE id = 2", database=many.name)
    assert process.wait(mariadb.PATIENCE) == 4
    said = process.log.read_text()
    assert "small: the target's 2 rows are not those that were written" in said
    assert "big:" not in said.partition("differ")[2]
    assert many.journal()["small"][0] == "differs"

    again = many.move("--yes")
    assert again.returncode == 3
    assert "--replace small" in again.stderr
    assert many.there("SELECT n FROM small WHERE id = 2") == [(3,)]
    moved(many, "--replace", "small")
    assert same(many)


def test_a_row_that_is_lost_at_the_target(many: TwoEnds) -> None:
    with many.stopped_at("compare") as process:
        many.target.run("DELETE FROM big WHERE n = 777", database=many.name)
    assert process.wait(mariadb.PATIENCE) == 4
    assert f"big: the target holds {ROWS - 1} rows where {ROWS} were written" in process.log.read_text()


def test_a_source_that_was_written_to(many: TwoEnds) -> None:
    """Rows are read as of one moment; what comes later is not moved, and is told."""
    with many.stopped_at("commit 1") as process:
        many.make("UPDATE small SET n = 9 WHERE id = 1", "INSERT INTO keyless VALUES (1, 'late')")
    assert process.wait(mariadb.PATIENCE) == 4
    said = process.log.read_text()
    assert "small: rows of the source have changed since they were moved" in said
    assert "keyless: the source has 6001 rows by now; 6000 were moved" in said
    moved(many, "--replace", "small", "--replace", "keyless")
    assert same(many)


def test_a_table_that_is_made_meanwhile(many: TwoEnds) -> None:
    """It is told, and moved by the next run."""
    with many.stopped_at("commit 1") as process:
        many.make("CREATE TABLE late (id INT PRIMARY KEY)")
    assert process.wait(mariadb.PATIENCE) == 4
    assert "late: the source has made, changed or dropped it meanwhile" in process.log.read_text()
    moved(many)
    assert many.target.tables(many.name) == ["big", "keyless", "late", "small"]
    assert same(many)


def test_a_table_that_is_changed_meanwhile(many: TwoEnds) -> None:
    """It cannot be read as of the moment at which the move began; the next run moves it as it is."""
    with many.stopped_at("commit 1") as process:
        many.make("ALTER TABLE small ADD COLUMN more INT, FORCE")
    assert process.wait(mariadb.PATIENCE) == 1
    assert "was changed while it was read" in process.log.read_text()
    moved(many)
    assert many.there("SELECT more FROM small") == [(None,), (None,)]
    assert same(many)


# Refusals


def test_all_that_cannot_be_moved_is_told_at_once(two_ends: TwoEnds) -> None:
    two_ends.make(
        "CREATE TABLE good (id INT PRIMARY KEY, p INT)",
        """CREATE TABLE bad (
            id INT PRIMARY KEY, bits BIT(3), many SET('a','b'), place POINT, address INET6,
            twice INT AS (id * 2) VIRTUAL, thrice INT AS (id * 3) STORED, ghost INT INVISIBLE,
            made DATETIME DEFAULT CURRENT_TIMESTAMP, changed DATETIME ON UPDATE CURRENT_TIMESTAMP,
            bare TIMESTAMP NOT NULL, words TEXT DEFAULT 'x', random UUID DEFAULT UUID(),
            wide VARCHAR(16384) CHARACTER SET ascii, other VARCHAR(20) CHARACTER SET latin2,
            small INT CHECK (small < 9), long_key VARCHAR(300),
            FULLTEXT KEY ft (words), KEY too_long (long_key), CONSTRAINT below CHECK (id < 1000))""",
        "CREATE TABLE old (id INT) ENGINE=MyISAM",
        "CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2",
        "CREATE TABLE versions (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
        "CREATE VIEW seen AS SELECT id FROM good",
        "CREATE SEQUENCE counter",
        "CREATE TRIGGER bell BEFORE INSERT ON good FOR EACH ROW SET NEW.p = 1",
        "CREATE PROCEDURE doing() SELECT 1",
        "CREATE FUNCTION knowing() RETURNS INT RETURN 1",
        "CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM good",
    )
    done = two_ends.move("--yes", "--json")
    assert done.returncode == 3
    refusals = {(refusal["table"], refusal["column"]) for refusal in json.loads(done.stdout)["refusals"]}
    columns = {
        "bits", "many", "place", "address", "twice", "thrice", "ghost", "made", "changed", "bare", "words", "random",
        "wide", "other", "long_key",
    }  # fmt: skip
    others = {"bad", "old", "parts", "versions", "seen", "counter", "good", "doing", "knowing", "nightly"}
    assert refusals == {("bad", column) for column in columns} | {(name, "") for name in others}
    for words in ("ft is a FULLTEXT index", "the check below", "the check small", "the trigger bell", "by MyISAM"):
        assert words in done.stderr
    assert untouched(two_ends)


def test_rows_that_cannot_be_moved_are_told_at_once(two_ends: TwoEnds) -> None:
    two_ends.make(
        """CREATE TABLE t (
            id INT PRIMARY KEY, big BIGINT UNSIGNED, moment DATETIME(3), never DATETIME, half DATE, span TIME,
            zero TIMESTAMP NULL, state ENUM('a','b'), huge LONGBLOB, name VARCHAR(20) COLLATE utf8mb4_uca1400_as_cs,
            title VARCHAR(20) COLLATE utf8mb4_uca1400_as_ci, UNIQUE KEY name (name), UNIQUE KEY title (title))""",
        "INSERT INTO t VALUES (1, 18446744073709551615, '2020-01-01 00:00:00.5', '0000-00-00', '2020-00-10', "
        "'-10:00', '0000-00-00', 'zzz', REPEAT('x', 16777216), 'a', 'Resume')",
        "INSERT INTO t VALUES (2, 1, '2020-01-01', '2020-01-01', '2020-01-01', '10:00', '2020-01-01', 'a', 'x', 'b', "
        "'résumé')",
        "INSERT INTO t (id, moment) VALUES (3, '2020-01-01 00:00:00.25')",
    )
    done = two_ends.move("--yes", "--json")
    assert done.returncode == 3
    found = {refusal["column"]: refusal["what"] for refusal in json.loads(done.stdout)["refusals"]}
    assert set(found) == {"big", "moment", "never", "half", "span", "zero", "state", "huge", "title"}
    assert "(2 rows)" in found["moment"]
    assert "(1 row)" in found["big"]
    assert "values of the unique key title are equal that were not" in found["title"]
    assert "18446744073709551615" not in done.stderr
    assert untouched(two_ends)


def test_a_row_that_is_longer_than_the_target_takes(two_ends: TwoEnds) -> None:
    two_ends.make("CREATE TABLE t (id INT PRIMARY KEY, b MEDIUMBLOB)", "INSERT INTO t VALUES (1, REPEAT('x', 9e6))")
    two_ends.target.run("SET GLOBAL max_allowed_packet = 16777216")
    try:
        done = two_ends.move("--yes")
    finally:
        two_ends.target.run("SET GLOBAL max_allowed_packet = 67108864")
    assert done.returncode == 3
    assert "max_allowed_packet = 18874368" in done.stderr
    assert untouched(two_ends)
    moved(two_ends)
    assert two_ends.there("SELECT LENGTH(b), MD5(b) FROM t") == two_ends.here("SELECT LENGTH(b), MD5(b) FROM t")


def test_a_table_in_the_way(two_ends: TwoEnds) -> None:
    two_ends.make("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE TABLE u (id INT)")
    two_ends.target.run(
        f"CREATE DATABASE {two_ends.name}",
        f"CREATE TABLE {two_ends.name}.t (precious INT)",
        f"INSERT INTO {two_ends.name}.t VALUES (42)",
        f"CREATE TABLE {two_ends.name}.unrelated (id INT)",
    )
    done = two_ends.move("--yes")
    assert done.returncode == 3
    assert "t: the target has a table of this name; --replace t drops that one with all its rows" in done.stderr
    assert two_ends.target.tables(two_ends.name) == ["t", "unrelated"]
    assert two_ends.there("SELECT precious FROM t") == [(42,)]
    moved(two_ends, "--replace", "t")
    assert two_ends.there("SELECT id FROM t") == [(1,)]
    assert two_ends.target.tables(two_ends.name) == ["t", "u", "unrelated"]


def test_nobody_agreed(two_ends: TwoEnds) -> None:
    two_ends.make("CREATE TABLE t (id INT PRIMARY KEY)")
    done = two_ends.move()
    assert done.returncode == 3
    assert "--yes agrees to it" in done.stderr
    assert untouched(two_ends)


# Bad input


def test_a_wrong_password(two_ends: TwoEnds) -> None:
    for end in ("source", "target"):
        two_ends.describe(**{end: {"password": "wrong"}})
        done = two_ends.move("--yes")
        assert done.returncode == 1
        assert f"does not let {mariadb.ACCOUNT} in" in done.stderr
        assert "check the account's name and password" in done.stderr
        assert mariadb.PASSWORD not in done.stdout + done.stderr


def test_the_wire_of_drizzle_announces_no_plugins(two_ends: TwoEnds) -> None:
    """What Drizzle needs of a client: a server that is asked without plugins takes the password all the same."""
    ours = Server(
        "drizzle", mariadb.ACCOUNT, Secret(mariadb.PASSWORD), two_ends.name, "127.0.0.1", two_ends.source.port
    )
    with Session(ours, DrizzleConnection) as session:
        assert session.texts("SELECT '🦀', NULL, 1") == [("🦀", None, "1")]
        assert session.rows("SELECT CONNECTION_ID() > 0") == [(b"1",)]
    with pytest.raises(ServerError, match="does not let app in"):
        Session(replace(ours, password=Secret("wrong")), DrizzleConnection)


def test_a_server_that_does_not_answer(two_ends: TwoEnds) -> None:
    port = free_port()
    for end in ("source", "target"):
        two_ends.describe(**{end: {"port": port}})
        done = two_ends.move("--yes")
        assert done.returncode == 1
        assert f"mariadb at 127.0.0.1:{port} does not answer" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("overrides", "words", "said"),
    [
        ({"source": {"database": "nowhere"}}, [], "has no database nowhere"),
        ({}, ["--replace", "nothing"], "--replace names nothing"),
        ({}, ["--to", "drizzle"], "--to drizzle, and the target of"),
        ({}, ["--to", "postgres"], "--to postgres, and the target of"),
        ({}, ["--host", "a"], "leave the options of a site out"),
    ],
)
def test_wrong_input(two_ends: TwoEnds, overrides: dict[str, Any], words: list[str], said: str) -> None:
    two_ends.source.give("nowhere", make=False)
    two_ends.describe(**overrides)
    done = two_ends.move("--yes", *words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr


def test_a_database_onto_itself(two_ends: TwoEnds) -> None:
    two_ends.make("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    two_ends.describe(target={"host": "localhost", "port": two_ends.source.port})
    done = two_ends.move("--yes", "--replace", "t")
    assert done.returncode == 2
    assert "are the same database" in done.stderr
    assert two_ends.here("SELECT id FROM t") == [(1,)]


def test_a_file_that_others_can_read(two_ends: TwoEnds) -> None:
    two_ends.file.chmod(0o644)
    done = two_ends.move("--yes")
    assert done.returncode == 2
    assert "chmod 600" in done.stderr


def test_no_secret_is_in_a_command_line(many: TwoEnds) -> None:
    with many.stopped_at("commit 1") as process:
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes() + Path(f"/proc/{process.pid}/environ").read_bytes()
        assert mariadb.PASSWORD.encode() not in shown
    assert process.wait(mariadb.PATIENCE) == 0
