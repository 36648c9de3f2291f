"""The command line tells errors without a traceback, by the right code."""

from pathlib import Path

import pytest

from stacksearch.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("worker", "sweeper", "web", "migrate", "submit", "status", "search", "rebuild-index", "check"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert f"example: stacksearch {command}" in " ".join(out.split())


def test_a_wrong_configuration_ends_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "s.yml"
    path.write_text("fetch: {alow: []}\nweb: {port: 0}\n")
    code, out, err = run(capsys, "--config", str(path), "check")
    assert code == 2
    assert out == ""
    assert "fetch.alow: unknown key" in err
    assert "web.port: 0 is less than 1" in err


def test_a_database_that_is_not_there_ends_with_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "s.yml"
    path.write_text("database: {host: 127.0.0.1, port: 1}\n")
    code, _, err = run(capsys, "--config", str(path), "status")
    assert code == 1
    assert "error: the database (mariadb at 127.0.0.1:1)" in err
    assert "Traceback" not in err


def test_services_that_are_not_there_are_a_fault(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "s.yml"
    servers = "servers: [{host: 127.0.0.1, port: 1}]"
    path.write_text(f"database: {{port: 1}}\nqueue: {{{servers}}}\ncache: {{{servers}}}\nindex: {{port: 1}}\n")
    code, out, _ = run(capsys, "--config", str(path), "check")
    assert code == 4
    assert out.count("FAIL") == 4


@pytest.mark.parametrize("words", [(), ("worker", "nap"), ("submit",), ("nonsense",)])
def test_wrong_usage_ends_with_2(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert run(capsys, *words)[0] == 2
