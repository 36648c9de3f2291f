"""A real Drizzle as the stack's database, on a server of its own: STACKCTL_DRIZZLE_ARCHIVE=FILE names its archive."""

import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackctl import paths
from stackctl.database.tunnel import tunnel
from stackctl.node.unpack import unpack
from stackctl.process import Result, SystemRunner
from stackctl.site.secrets import Secrets
from stackctl.validation import inventory
from tests import mariadb
from tests.breakages import NEEDS_LAYOUT, ended
from tests.lib import columns
from tests.lib.applied import Server, counts
from tests.lib.container import Container
from tests.lib.forge import pack
from tests.lib.waiting import wait_for
from tests.mariadb import Mariadb
from tests.native.conftest import site_of
from tests.native.test_search import MANUAL, PHRASES, Front

pytestmark = pytest.mark.drizzle

_ASK = """\
import sys
sys.path.insert(0, "/usr/local/lib/stackctl")
import drizzle_wire
from pathlib import Path
name, password = drizzle_wire.first_user(Path("/etc/drizzle/users"))
with drizzle_wire.Client("127.0.0.1", {port}, name, {password}) as client:
    client.use("stacksearch")
    for row in client.query({sql!r}):
        print(*("NULL" if value is None else value.decode() for value in row), sep="\\t")
"""


class Drizzle:
    """The database of the server, asked there by its first account."""

    def __init__(self, server: Server, variables: Path) -> None:
        self.server = server
        self._variables = variables

    def ask(self, sql: str, *, password: str | None = None, port: int = 3306) -> str:
        """What a statement says, or the error."""
        text = _ASK.format(port=port, sql=sql, password="password" if password is None else repr(password))
        result = self.server.ssh(f"python3 -c {shlex.quote(text)}", check=False)
        return (result.stdout if result.returncode == 0 else result.stderr.splitlines()[-1]).strip()

    def name(self, **variables: object) -> None:
        """Change variables of the host."""
        known = yaml.safe_load(self._variables.read_text())
        self._variables.write_text(yaml.safe_dump({**known, **variables}))

    @property
    def pid(self) -> str:
        return self.server.ssh("systemctl show --value -p MainPID drizzled").stdout.strip()

    @property
    def release(self) -> str:
        return self.server.ssh("readlink /opt/drizzle/current").stdout.strip().removeprefix("releases/")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def drizzle_machine(
    drizzle_archive: Path, private_state: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Container]:
    from tests.lib import container

    assert private_state
    if reason := container.why_not():
        pytest.skip(f"a server in namespaces cannot run here: {reason}")
    folder = tmp_path_factory.mktemp("drizzle-server")
    machine = Container(folder, "drizzle-1")
    try:
        machine.start()
        yield machine
    finally:
        machine.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def drizzle(drizzle_machine: Container, drizzle_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Drizzle:
    """A server with the whole stack on Drizzle, after one apply."""
    folder = tmp_path_factory.mktemp("drizzle-site")
    server = site_of(
        drizzle_machine,
        folder,
        database_engine="drizzle",
        database_drizzle_archive=str(drizzle_archive),
        database_drizzle_archive_sha256=_digest(drizzle_archive),
    )
    server.stackctl("apply", "--yes")
    return Drizzle(server, folder / "host_vars" / f"{server.name}.yml")


@pytest.fixture(scope="module")
def front(drizzle_machine: Container) -> Front:
    return Front(drizzle_machine.web_port)


def _listeners(server: Server) -> set[str]:
    lines = server.ssh("ss -Hltnup | grep '\"drizzled\"'").stdout.splitlines()
    return {f"{line.split()[0]} {line.split()[4]}" for line in lines}


def test_it_listens_only_where_the_site_says(drizzle: Drizzle) -> None:
    assert _listeners(drizzle.server) == {"tcp 127.0.0.1:3306", "tcp 127.0.0.1:4427"}
    assert not drizzle.server.answers("ss -Hltn | grep -q :8086")
    assert not drizzle.server.answers("systemctl is-active mariadb")


def test_it_runs_as_its_own_user_on_its_own_data(drizzle: Drizzle) -> None:
    server = drizzle.server
    assert server.ssh(f"stat -c %U /proc/{drizzle.pid}").stdout.strip() == "drizzle"
    assert server.ssh(f"readlink /proc/{drizzle.pid}/cwd").stdout.strip() == "/srv/database/drizzle"
    assert server.ssh("stat -c '%a %U:%G' /srv/database/drizzle /etc/drizzle/users").stdout.splitlines() == [
        "750 drizzle:drizzle",
        "640 root:drizzle",
    ]
    assert server.ssh("cat /run/drizzle/drizzled.pid").stdout.strip() == drizzle.pid
    assert not server.answers(f"grep -q tcmalloc /proc/{drizzle.pid}/maps")


def test_innodb_is_tuned_as_the_role_says(drizzle: Drizzle) -> None:
    said = drizzle.ask("SHOW VARIABLES LIKE 'innodb_%'")
    found = dict(line.split("\t") for line in said.splitlines())
    assert found["innodb_flush_method"] == "O_DIRECT"
    assert int(found["innodb_buffer_pool_size"]) >= 128 << 20
    log = int(drizzle.server.ssh("stat -c %s /srv/database/drizzle/ib_logfile0").stdout)
    assert int(found["innodb_log_file_size"]) == log >= 32 << 20
    assert (found["innodb_read_io_threads"], found["innodb_write_io_threads"]) == ("8", "8")


def test_a_second_apply_changes_nothing_and_check_mode_agrees(drizzle: Drizzle) -> None:
    before = drizzle.pid
    outcome = drizzle.server.apply()
    assert (outcome["changes"], outcome["failures"]) == ([], [])
    for words in ((), ("--check", "--diff")):
        found = counts(drizzle.server.play(*words, "database.yml"))
        assert (found["changed"], found["failed"]) == (0, 0)
    assert drizzle.pid == before


def test_wrong_and_empty_passwords_and_strangers_are_refused(drizzle: Drizzle) -> None:
    assert drizzle.ask("SELECT 1") == "1"
    for password in ("wrong", ""):
        assert "Access denied" in drizzle.ask("SELECT 1", password=password)
    text = _ASK.format(port=3306, sql="SELECT 1", password="''").replace("name, ''", "'root', ''")
    assert "Access denied" in drizzle.server.ssh(f"python3 -c {shlex.quote(text)}", check=False).stderr


def test_the_password_shows_nowhere(drizzle: Drizzle, private_state: Path) -> None:
    secret = Secrets(drizzle.server.inventory).get("database_stacksearch_password", create=False).reveal()
    said = drizzle.server.stackctl("apply", "--tags", "database", "--verbose")
    shown = drizzle.server.play("database.yml", "--check", "--diff", "-vvv")
    assert secret not in said.stdout + said.stderr + shown.stdout + shown.stderr
    assert not [file for file in private_state.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    assert secret not in drizzle.server.ssh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; journalctl --no-pager").stdout


@pytest.fixture(scope="module")
def crawled(drizzle: Drizzle, front: Front) -> dict[str, Any]:
    """The status after the sample site was crawled, while Drizzle was killed once."""
    server = drizzle.server
    server.play("sample_site.yml")
    front.post("/api/urls", {"url": MANUAL})
    wait_for(lambda: int(drizzle.ask("SELECT COUNT(*) FROM document")) > 20, "some pages", timeout=600)
    server.ssh("systemctl kill --signal=KILL drizzled")
    wait_for(lambda: server.answers("systemctl is-active drizzled"), "drizzled", timeout=900)
    server.ssh("timeout 900 stacksearch status --wait")
    return dict(front.get("/api/status"))


def test_the_whole_manual_is_stored_once(drizzle: Drizzle, crawled: dict[str, Any]) -> None:
    folder = "/usr/share/doc/apache2-doc/manual/en"
    pages = int(drizzle.server.ssh(f"find {folder}/ -name '*.html' | wc -l").stdout)
    assert crawled["open"] == 0
    assert [failure for failure in crawled["failures"] if failure["reason"] != "HTTP 404"] == []
    assert 0.9 * pages <= crawled["documents"] <= pages + 2
    assert drizzle.ask("SELECT COUNT(*) - COUNT(DISTINCT digest) FROM document") == "0"


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_finds_its_page(front: Front, phrase: str) -> None:
    hits = front.hits(phrase)
    assert any(PHRASES[phrase] in hit["url"] for hit in hits[:5]), [hit["url"] for hit in hits]
    assert any("<mark>" in hit["snippet"] for hit in hits)


@pytest.mark.usefixtures("crawled")
def test_validation_is_green(drizzle: Drizzle) -> None:
    done = drizzle.server.stackctl("validate", "--json", check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert ended(report, "failed") == {}
    assert set(ended(report, "not shown")) <= NEEDS_LAYOUT
    assert done.returncode == 0


def test_what_was_committed_outlives_kill_9(drizzle: Drizzle) -> None:
    drizzle.ask("CREATE TABLE kept (id INT NOT NULL PRIMARY KEY, words VARCHAR(40)) ENGINE=InnoDB")
    try:
        drizzle.ask("INSERT INTO kept VALUES (1, 'naïve 🦀 日本')")
        for _ in range(3):
            before = drizzle.pid
            drizzle.server.ssh("systemctl kill --signal=KILL drizzled")
            wait_for(lambda before=before: drizzle.pid not in {before, "0"}, "a new drizzled", timeout=300)
            wait_for(lambda: drizzle.ask("SELECT words FROM kept") == "naïve 🦀 日本", "the row", timeout=900)
        assert drizzle.server.ssh("cat /run/drizzle/drizzled.pid").stdout.strip() == drizzle.pid
    finally:
        drizzle.ask("DROP TABLE kept")


def test_a_restart_waits_for_a_true_stop(drizzle: Drizzle) -> None:
    for _ in range(3):
        drizzle.server.ssh("systemctl restart drizzled")
        assert drizzle.ask("SELECT 1") == "1", "started is who answers"
        assert drizzle.server.ssh("cat /run/drizzle/drizzled.pid").stdout.strip() == drizzle.pid
        assert drizzle.server.ssh("pgrep -c -x drizzled").stdout.strip() == "1"


def test_gearman_udf_knows_the_sites_gearmands_after_each_start(drizzle: Drizzle) -> None:
    if not drizzle.server.answers("test -e /etc/drizzle/conf.d/gearman_udf.cnf"):
        pytest.skip("the archive has no gearman_udf, so that it reaches gearmand was not shown")
    drizzle.server.ssh("systemctl restart drizzled")
    assert drizzle.ask("SELECT gman_do_background('stackctl_trial', 'x')").startswith("H:")
    ask = "exec 3<>/dev/tcp/127.0.0.1/4730; echo status >&3; while read -r line <&3; do echo $line; "
    ask += "if [[ $line == . ]]; then exit; fi; done"
    status = drizzle.server.ssh(f"timeout 60 bash -c {shlex.quote(ask)}").stdout
    assert re.search(r"^stackctl_trial 1 0 0$", status, re.MULTILINE), status
    drizzle.server.ssh("systemctl restart gearman-job-server")


@pytest.mark.parametrize(
    ("options", "line"),
    [({"innodb.nonsense": 1}, r"innodb\.nonsense"), ({"innodb.io-capacity": "many"}, r"many|io-capacity")],
    ids=["unknown", "value"],
)
def test_an_option_that_drizzled_does_not_take_is_told_with_its_line_and_the_old_one_runs_on(
    drizzle: Drizzle, options: dict[str, Any], line: str
) -> None:
    pid, text = drizzle.pid, drizzle.server.ssh("cat /etc/drizzle/drizzled.cnf").stdout
    words = json.dumps({"database_drizzle_options": options})
    result = drizzle.server.play("database.yml", "-e", words, check=False)
    assert result.returncode == 2
    said = re.search(r"does not start with this configuration .*", result.stdout)
    assert said, result.stdout
    assert re.search(line, said[0])
    assert counts(result)["changed"] == 0
    assert (drizzle.pid, drizzle.server.ssh("cat /etc/drizzle/drizzled.cnf").stdout) == (pid, text)
    assert drizzle.ask("SELECT 1") == "1"


def test_another_size_of_the_log_is_told_and_more_memory_does_not_change_it(drizzle: Drizzle) -> None:
    pid = drizzle.pid
    words = json.dumps({"database_drizzle_options": {"innodb.log-file-size": 8 << 20}})
    result = drizzle.server.play("database.yml", "-e", words, check=False)
    assert "and the log that is there has" in result.stdout
    assert drizzle.pid == pid


def test_an_upgrade_to_the_same_archive_packed_anew_and_the_way_back(
    drizzle: Drizzle, drizzle_archive: Path, tmp_path: Path
) -> None:
    first = _digest(drizzle_archive)
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    unpack(drizzle_archive, unpacked)
    anew = tmp_path / "anew.tar.gz"
    second = pack(unpacked, anew)
    documents = drizzle.ask("SELECT COUNT(*) FROM document")
    pid = drizzle.pid
    drizzle.name(database_drizzle_archive=str(anew), database_drizzle_archive_sha256=second)
    assert counts(drizzle.server.play("database.yml", "--check"))["failed"] == 0
    assert (drizzle.release, drizzle.pid) == (first[:16], pid)
    drizzle.server.play("database.yml")
    assert drizzle.release == second[:16]
    assert drizzle.pid != pid
    assert drizzle.server.ssh(f"readlink /proc/{drizzle.pid}/exe").stdout.startswith(
        f"/opt/drizzle/releases/{second[:16]}/"
    )
    assert drizzle.ask("SELECT COUNT(*) FROM document") == documents
    assert counts(drizzle.server.play("database.yml"))["changed"] == 0
    # the way back takes no archive: the release is still there
    drizzle.name(database_drizzle_archive="/gone.tar", database_drizzle_archive_sha256=first)
    drizzle.server.play("database.yml")
    assert drizzle.release == first[:16]
    assert drizzle.ask("SELECT COUNT(*) FROM document") == documents
    drizzle.name(database_drizzle_archive=str(drizzle_archive))


def test_what_does_not_come_up_is_put_back_and_runs_again(drizzle: Drizzle) -> None:
    """A trial sees all that drizzled says; here the unit fails of something else."""
    release, text = drizzle.release, drizzle.server.ssh("cat /etc/drizzle/drizzled.cnf").stdout
    folder = "/etc/systemd/system/drizzled.service.d"
    check = "ExecStartPre=/bin/sh -c '! grep io-capacity /etc/drizzle/drizzled.cnf'"
    drizzle.server.ssh(f"mkdir -p {folder} && printf '[Service]\\n%s\\n' {shlex.quote(check)} > {folder}/check.conf")
    try:
        words = json.dumps({"database_drizzle_options": {"innodb.io-capacity": 250}})
        result = drizzle.server.play("database.yml", "-e", words, check=False)
        assert result.returncode == 2
        assert "drizzled.service did not restart" in result.stdout
        assert f"the release of before, {release}, runs again" in result.stdout
        assert (drizzle.release, drizzle.server.ssh("cat /etc/drizzle/drizzled.cnf").stdout) == (release, text)
        assert drizzle.ask("SELECT 1") == "1"
    finally:
        drizzle.server.ssh(f"rm -r {folder}; systemctl daemon-reload")


def test_the_query_log_is_written_and_rotated(drizzle: Drizzle) -> None:
    server = drizzle.server
    try:
        server.play("database.yml", "-e", "database_drizzle_query_log=true")
        drizzle.ask("SELECT 'before the rotation'")
        log = "/var/log/drizzle/queries.log"
        assert server.answers(f"grep -q 'before the rotation' {log}")
        server.ssh("logrotate --force /etc/logrotate.d/drizzle")
        drizzle.ask("SELECT 'after the rotation'")
        assert server.ssh(f"cat {log}").stdout.count("after the rotation") >= 1
        assert "before the rotation" not in server.ssh(f"cat {log}").stdout
        assert "before the rotation" in server.ssh(f"cat {log}.1").stdout
        assert counts(server.play("database.yml", "-e", "database_drizzle_query_log=true"))["changed"] == 0
    finally:
        server.play("database.yml")
    assert not server.answers("test -e /etc/logrotate.d/drizzle || test -e /etc/drizzle/conf.d/query_log.cnf")


def test_sysbench_runs_on_it(drizzle: Drizzle) -> None:
    """sysbench's client announces PLUGIN_AUTH, so that auth_file refuses it: a second drizzled lets everybody in."""
    server = drizzle.server
    if not server.answers("command -v sysbench || apt-get install --yes --no-install-recommends sysbench"):
        pytest.skip("sysbench cannot be installed on the server, so no load on Drizzle was shown")
    unit = server.ssh("systemctl cat drizzled").stdout
    patterns = (r"ExecStart=(\S+)", r"(--plugin-dir=\S+)", r"(--basedir=\S+)")
    start, plugins, base = (re.findall(pattern, unit)[0] for pattern in patterns)
    own = re.findall(r"Environment=(LD_LIBRARY_PATH=\S+)", unit)  # where the archive has libraries of its own
    libraries = f"--setenv={own[0]}" if own else ""
    words = (
        f"{start} --no-defaults {base} {plugins} --datadir=/var/tmp/bench --pid-file=/var/tmp/bench/pid"
        " --plugin-remove=json_server --mysql-protocol.port=13306 --drizzle-protocol.port=14427"
        " --mysql-protocol.bind-address=127.0.0.1 --drizzle-protocol.bind-address=127.0.0.1"
        " --mysql-unix-socket-protocol.path=/var/tmp/bench/sock"
    )
    server.ssh("install -d -o drizzle -g drizzle /var/tmp/bench")
    server.ssh(f"systemd-run --quiet --unit=bench --uid=drizzle {libraries} {words}")
    bench = (
        "sysbench oltp_read_write --db-driver=mysql --mysql-host=127.0.0.1 --mysql-port=13306 --mysql-user=bench"
        " --mysql-db=bench --db-ps-mode=disable --tables=2 --table-size=2000 --threads=4 --time=10"
    )
    try:
        create = _ASK.format(port=13306, sql="CREATE SCHEMA bench", password="''")
        create = create.replace('    client.use("stacksearch")\n', "")
        wait_for(lambda: server.answers(f"python3 -c {shlex.quote(create)}"), "the second drizzled", timeout=300)
        server.ssh(f"{bench} prepare")
        said = server.ssh(f"{bench} run").stdout
        transactions = re.search(r"transactions:\s+(\d+)", said)
        assert transactions is not None, said
        assert int(transactions[1]) > 0
    finally:
        server.ssh("systemctl stop bench; rm -rf /var/tmp/bench", check=False)
    assert drizzle.ask("SELECT 1") == "1"


def test_its_messages_are_in_the_journal(drizzle: Drizzle) -> None:
    assert "InnoDB" in drizzle.server.ssh("journalctl --no-pager --unit=drizzled").stdout


@pytest.fixture(scope="module")
def mariadbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mariadb, Mariadb]]:
    """Two plain MariaDB servers of this host."""
    if missing := mariadb.missing_programs():
        pytest.skip(f"this host lacks {', '.join(missing)}")
    with mariadb.pair(tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")) as servers:
        for server in servers:
            server.give("moved")
        yield servers


@pytest.fixture(scope="module")
def reached(drizzle: Drizzle) -> Iterator[dict[str, Any]]:
    """Drizzle as an end of a move, through SSH as `stackctl db move` goes on a site."""
    (host,) = inventory.read(drizzle.server.inventory / "stack.yml")
    names = (
        "ansible_host",
        "ansible_port",
        "ansible_user",
        "ansible_ssh_common_args",
        "ansible_ssh_private_key_file",
    )
    variables = {name: value for name in names if (value := host.get(name)) is not None}
    password = Secrets(drizzle.server.inventory).get("database_stacksearch_password", create=False).reveal()
    with tunnel(host.name, variables, "127.0.0.1", 3306) as path:
        yield {
            "engine": "drizzle", "socket": str(path), "user": "stacksearch",
            "password": password, "database": "moved",
        }  # fmt: skip


def _move(folder: Path, source: dict[str, Any], target: dict[str, Any], *words: str) -> Result:
    file = folder / "ends.yml"
    file.touch(0o600)
    file.write_text(yaml.safe_dump({"source": source, "target": target}, allow_unicode=True))
    argv = [paths.program("stackctl"), "db", "move", "--endpoints", str(file), "--to", target["engine"], *words]
    return SystemRunner().run(argv, check=False, timeout=1800)


def _end(server: Mariadb) -> dict[str, Any]:
    return {
        "engine": "mariadb", "host": "127.0.0.1", "port": server.port, "user": mariadb.ACCOUNT,
        "password": mariadb.PASSWORD, "database": "moved",
    }  # fmt: skip


def test_a_database_moves_to_it_and_back(
    drizzle: Drizzle, reached: dict[str, Any], mariadbs: tuple[Mariadb, Mariadb], tmp_path: Path
) -> None:
    """All types with their edges, keys, defaults, foreign keys, a table without a key, many rows; nothing is lost."""
    here, back = mariadbs
    here.run(
        *columns.statements("every"),
        """CREATE TABLE `odd name` (
            id BIGINT NOT NULL AUTO_INCREMENT, `a``b` VARCHAR(50) COLLATE utf8mb4_bin NOT NULL DEFAULT 'it''s ü🦀',
            n INT NOT NULL DEFAULT -7, d DECIMAL(6,2) DEFAULT 1.5, e ENUM('a','b''c') NOT NULL DEFAULT 'b''c',
            day DATE DEFAULT '2020-01-02', t TEXT,
            PRIMARY KEY (id), UNIQUE KEY u (`a``b`(10), n), KEY words (t(20)), KEY n (n)
        ) ENGINE=InnoDB AUTO_INCREMENT=4711 COMMENT='all that''s odd'""",
        "INSERT INTO `odd name` (id, t) VALUES (5, 'x')",
        "CREATE TABLE parent (id INT PRIMARY KEY) ENGINE=InnoDB",
        """CREATE TABLE child (id INT PRIMARY KEY, up INT,
            CONSTRAINT to_up FOREIGN KEY (up) REFERENCES parent (id) ON DELETE CASCADE) ENGINE=InnoDB""",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (10, 1), (20, NULL)",
        "CREATE TABLE keyless (n INT, words TEXT) ENGINE=InnoDB",
        "INSERT INTO keyless SELECT seq, REPEAT('y', 400) FROM seq_1_to_3000",
        "CREATE TABLE big (a VARCHAR(12) COLLATE utf8mb4_bin, n INT, words TEXT, PRIMARY KEY (a, n)) ENGINE=InnoDB",
        "INSERT INTO big SELECT CONCAT('k', MOD(seq, 97)), seq, CONCAT(REPEAT('🦀x', 50), seq) FROM seq_1_to_5000",
        database="moved",
    )
    drizzle.ask("CREATE SCHEMA IF NOT EXISTS moved")
    there = _move(tmp_path, _end(here), reached, "--yes")
    assert there.returncode == 0, there.stdout + there.stderr
    assert drizzle.ask("SELECT COUNT(*) FROM moved.big") == "5000"
    drizzle.ask("DELETE FROM moved.parent WHERE id = 2")  # nothing hangs on it
    assert drizzle.ask("SELECT COUNT(*) FROM moved.child") == "2"
    drizzle.ask("INSERT INTO moved.parent VALUES (2)")

    homewards = _move(tmp_path, reached, _end(back), "--yes")
    assert homewards.returncode == 0, homewards.stdout + homewards.stderr
    assert columns.rows(lambda sql: back.ask(sql, "moved"), "every") == columns.EXPECTED
    for table, order in (("`odd name`", "id"), ("parent", "id"), ("child", "id"), ("keyless", "n"), ("big", "a, n")):
        sql = f"SELECT * FROM {table} ORDER BY {order}"
        assert back.ask(sql, "moved") == here.ask(sql, "moved"), table
    back.run("INSERT INTO `odd name` (n) VALUES (1)", "DELETE FROM parent WHERE id = 1", database="moved")
    assert back.ask("SELECT MAX(id), MAX(`a``b`) FROM `odd name`", "moved") == [(4711, "it's ü🦀")]
    assert back.ask("SELECT id FROM child", "moved") == [(20,)], "the foreign key has come back"


def test_what_cannot_move_to_it_is_told_before_anything_is_written(
    drizzle: Drizzle, reached: dict[str, Any], mariadbs: tuple[Mariadb, Mariadb], tmp_path: Path
) -> None:
    here, _ = mariadbs
    here.run("CREATE DATABASE refused")
    here.give("refused", make=False)
    here.run("CREATE TABLE t (id INT PRIMARY KEY, b BIT(3)) ENGINE=InnoDB", "CREATE VIEW v AS SELECT 1 AS one",
             database="refused")  # fmt: skip
    told = _move(tmp_path, {**_end(here), "database": "refused"}, {**reached, "database": "refused"}, "--yes")
    assert told.returncode == 3, told.stdout + told.stderr
    said = told.stdout + told.stderr
    assert "BIT" in said
    assert "view" in said.lower()
    assert "refused" not in drizzle.ask("SHOW DATABASES").split()
