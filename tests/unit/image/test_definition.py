"""Image definitions: what ships is valid, and everything wrong is told at once."""

from pathlib import Path

import pytest

from stackctl.errors import ExitCode, InputError
from stackctl.image import definition
from stackctl.units import GIB


def _read(tmp_path: Path, text: str) -> definition.Definition:
    file = tmp_path / "some.yml"
    file.write_text(text)
    return definition.read(file)


MINIMAL = "description: d\nsuite: bookworm\nkernel: linux-image-cloud-amd64\n"


def test_the_shipped_images_are_valid() -> None:
    assert "lab" in definition.names()
    for name in definition.names():
        assert definition.load(name).packages


def test_the_lab_carries_no_service_of_the_stack() -> None:
    packages = set(definition.load("lab").packages)
    assert not packages & {"mariadb-server", "gearman-job-server", "memcached", "sphinxsearch", "apache2", "nginx"}


def test_defaults(tmp_path: Path) -> None:
    found = _read(tmp_path, MINIMAL)
    assert found.disk.size == 8 * GIB
    assert found.architecture == "amd64"
    assert found.boot.console[-1] == "ttyS0,115200"


def test_files_are_text_or_text_with_a_mode(tmp_path: Path) -> None:
    found = _read(tmp_path, MINIMAL + 'files:\n  /etc/a: one\n  /etc/b: {content: two, mode: "0755"}\n')
    assert found.files["/etc/a"] == definition.File(content="one", mode="0644")
    assert found.files["/etc/b"] == definition.File(content="two", mode="0755")


def test_all_errors_are_told_with_their_keys(tmp_path: Path) -> None:
    text = """
description: d
suite: sarge
kernel: "linux; rm"
packages: [ok, "Not-OK"]
disk: {size: 10 MiB}
units: {enable: [a.service], mask: [a.service]}
files: {etc/relative: x, /etc/../shadow: y}
surprise: 1
"""
    with pytest.raises(InputError) as failure:
        _read(tmp_path, text)
    said = str(failure.value)
    assert failure.value.code is ExitCode.USAGE
    for word in ("suite", "kernel", "packages.1", "disk", "units", "etc/relative", "/etc/../shadow", "surprise"):
        assert word in said
    assert said.count(str(tmp_path / "some.yml")) >= 8


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "a: [", "\x00", "just words"])
def test_what_is_no_mapping_is_an_input_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        _read(tmp_path, text)


def test_an_unknown_image_names_those_that_are() -> None:
    with pytest.raises(InputError, match="no image 'nothing'") as failure:
        definition.load("nothing")
    assert "lab" in str(failure.value.hint)


@pytest.mark.parametrize("name", ["../lab", "/etc/passwd", "a b"])
def test_a_name_is_no_path(name: str) -> None:
    with pytest.raises(InputError):
        definition.load(name)
