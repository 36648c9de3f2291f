"""Ansible finds what ships, runs lean, and checks host keys."""

import os
import stat
from pathlib import Path

import pytest

from stackctl.apply import environment
from stackctl.apply.environment import ansible_environment, control_directory, mitogen_strategies
from stackctl.errors import StackctlError


def test_every_path_is_there() -> None:
    found = ansible_environment()
    for name in ("ANSIBLE_CONFIG", "ANSIBLE_ROLES_PATH", "ANSIBLE_LIBRARY", "ANSIBLE_MODULE_UTILS",
                 "ANSIBLE_ACTION_PLUGINS", "ANSIBLE_LOOKUP_PLUGINS", "ANSIBLE_INVENTORY_PLUGINS"):  # fmt: skip
        assert Path(found[name]).is_absolute()
        assert Path(found[name]).exists(), name
    assert (Path(found["ANSIBLE_MODULE_UTILS"]) / "node" / "__init__.py").is_file()


def test_host_keys_are_checked_and_nothing_is_asked() -> None:
    found = ansible_environment()
    assert found["ANSIBLE_HOST_KEY_CHECKING"] == "true"
    assert "StrictHostKeyChecking=yes" in found["ANSIBLE_SSH_ARGS"]
    assert "BatchMode=yes" in found["ANSIBLE_SSH_ARGS"]


def test_mitogen_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STACKCTL_MITOGEN", raising=False)
    assert ansible_environment()["ANSIBLE_STRATEGY"] == "mitogen_linear"
    assert ansible_environment(fast=False)["ANSIBLE_STRATEGY"] == "linear"
    monkeypatch.setenv("STACKCTL_MITOGEN", "0")
    assert mitogen_strategies() is None
    assert "ANSIBLE_STRATEGY_PLUGINS" not in ansible_environment()


def test_mitogen_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STACKCTL_MITOGEN", raising=False)
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    assert ansible_environment()["ANSIBLE_STRATEGY"] == "linear"


def test_sockets_lie_in_a_private_folder_of_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", f"/tmp/s{os.getpid()}")
    assert control_directory() == Path(f"/tmp/s{os.getpid()}/stackctl/ssh")
    assert stat.S_IMODE(control_directory().stat().st_mode) == 0o700


def test_a_deep_state_folder_gives_way_to_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ("d" * 80)))
    monkeypatch.setattr(environment.tempfile, "gettempdir", lambda: str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    assert control_directory() == tmp_path / "t" / f"stackctl-{os.getuid()}"


def test_a_short_folder_that_others_can_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ("d" * 80)))
    monkeypatch.setattr(environment.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / f"stackctl-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(StackctlError, match="not a private folder"):
        control_directory()
