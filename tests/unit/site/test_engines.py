"""An engine is a folder."""

from pathlib import Path

from stackctl.site.engines import database_engines


def test_mariadb_ships() -> None:
    assert "mariadb" in database_engines()


def test_a_folder_more_is_an_engine_more(tmp_path: Path) -> None:
    for name in ("database", "database_mariadb", "database_drizzle", "queue"):
        (tmp_path / name / "tasks").mkdir(parents=True)
        (tmp_path / name / "tasks" / "main.yml").touch()
    (tmp_path / "database_unfinished").mkdir()
    assert database_engines(tmp_path) == ("drizzle", "mariadb")
