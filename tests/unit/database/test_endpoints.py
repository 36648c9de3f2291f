"""The file with both ends: only for its owner's eyes, and all that is wrong with it told at once."""

from pathlib import Path

import pytest

from stackctl.database.endpoints import EXAMPLE, read_endpoints
from stackctl.errors import ExitCode, InputError

GOOD = """\
source: {engine: mariadb, host: "2001:db8::1", port: 3310, user: app, password: geheim, database: app}
target:
  engine: drizzle
  socket: /run/drizzle.sock
  user: other
  database: app2
"""


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "ends.yml"
    file.write_text(text)
    file.chmod(mode)
    return file


def wrong(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as failure:
        read_endpoints(written(folder, text))
    assert failure.value.code == ExitCode.USAGE
    return str(failure.value.message)


def test_both_ends(tmp_path: Path) -> None:
    ends = read_endpoints(written(tmp_path, GOOD))
    source, target = ends.source.server(), ends.target.server()
    assert (source.host, source.port, source.socket, source.password.reveal()) == (
        "2001:db8::1",
        3310,
        None,
        "geheim",
    )
    assert (target.socket, target.password.reveal(), target.database) == ("/run/drizzle.sock", "", "app2")
    assert source.title == "app on mariadb at [2001:db8::1]:3310"
    assert target.title == "app2 on drizzle at /run/drizzle.sock"


def test_a_password_shows_nowhere(tmp_path: Path) -> None:
    ends = read_endpoints(written(tmp_path, GOOD))
    assert "geheim" not in f"{ends!r}{ends}{ends.source.server()!r}{ends.source.server()}{ends.model_dump()}"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_a_file_that_is_open_to_others(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InputError, match="open to others") as failure:
        read_endpoints(written(tmp_path, GOOD, mode))
    assert failure.value.hint is not None
    assert "chmod 600" in failure.value.hint


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_endpoints(tmp_path / "none.yml")


def test_all_that_is_wrong(tmp_path: Path) -> None:
    text = """\
source:
  engine: mariadbb
  user: app
  database: app
  pasword: geheim
target:
  engine: drizzle
  port: 99999
  user: app
extra: 1
"""
    said = wrong(tmp_path, text)
    for line in (
        "ends.yml:5: source.pasword: is not a known key; did you mean password?",
        "ends.yml:8: target.port: ",
        "ends.yml:6: target.database: is missing",
        "ends.yml:10: extra: is not a known key",
    ):
        assert line in said
    assert "geheim" not in said


def test_an_engine_that_is_none(tmp_path: Path) -> None:
    assert "did you mean mariadb?" in wrong(tmp_path, GOOD.replace("engine: mariadb", "engine: mariadbb"))


def test_a_socket_takes_the_place_of_a_port(tmp_path: Path) -> None:
    assert "leave those out" in wrong(tmp_path, GOOD + "  port: 3306\n")


def test_a_password_that_is_no_text(tmp_path: Path) -> None:
    said = wrong(tmp_path, GOOD.replace("geheim", "123456"))
    assert "must be text" in said
    assert "123456" not in said


def test_what_is_no_yaml(tmp_path: Path) -> None:
    assert "ends.yml:2" in wrong(tmp_path, "source: {}\ntarget: [")


def test_the_example_is_of_its_form(tmp_path: Path) -> None:
    read_endpoints(written(tmp_path, EXAMPLE))
