"""An engine is a folder."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from stackctl.errors import InputError
from stackctl.site.engines import database_engine, database_engines


def test_mariadb_and_drizzle_ship() -> None:
    engines = database_engines()
    assert [*engines] == ["drizzle", "mariadb"]
    assert (engines["drizzle"].unit, engines["drizzle"].process) == ("drizzled.service", "drizzled")
    assert [port.variable for port in engines["drizzle"].ports] == ["database_drizzle_native_port"]


def test_a_folder_more_is_an_engine_more(tmp_path: Path) -> None:
    for name in ("database", "database_mariadb", "database_other", "queue"):
        (tmp_path / name).mkdir()
    for name in ("database_mariadb", "database_other"):
        (tmp_path / name / "engine.yml").write_text(f"{{title: T, unit: {name}.service, process: p}}")
    assert [*database_engines(tmp_path)] == ["mariadb", "other"]
    assert database_engines(tmp_path)["other"].unit == "database_other.service"


def test_an_engine_that_is_none_is_told_with_those_there_are() -> None:
    with pytest.raises(InputError, match="oracle is no engine") as told:
        database_engine("oracle")
    assert "mariadb" in str(told.value.hint)


def test_a_word_that_no_engine_has_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "database_odd").mkdir()
    (tmp_path / "database_odd" / "engine.yml").write_text("{title: T, unit: u, process: p, colour: blue}")
    with pytest.raises(ValidationError, match="colour"):
        database_engines(tmp_path)
