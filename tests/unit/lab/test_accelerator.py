"""The accelerator is what a tiny guest ran on, and is asked for once a boot."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stackctl.errors import StackctlError
from stackctl.lab import accelerator
from stackctl.lab.accelerator import Accelerator
from stackctl.process import RecordingRunner, Result, SystemRunner

SPOKE = accelerator._EXIT_CODE


@pytest.fixture
def device(tmp_path: Path) -> Path:
    file = tmp_path / "kvm"
    file.touch()
    return file


def _runner(kvm: int, tcg: int = SPOKE, said: str = "") -> RecordingRunner:
    def answer(argv: tuple[str, ...]) -> Result:
        return Result(argv, kvm if "kvm" in argv else tcg, stderr=said)

    return RecordingRunner(answer)


def test_kvm_where_a_guest_runs_on_it(device: Path) -> None:
    assert accelerator.probe(_runner(SPOKE), device=device).name == "kvm"


def test_a_guest_that_fails_is_not_believed(device: Path) -> None:
    found = accelerator.probe(_runner(134, said="kvm: Assertion failed\n"), device=device)
    assert found.name == "tcg"
    assert "Assertion failed" in found.reason


def test_a_guest_that_hangs_is_not_believed(device: Path) -> None:
    def hang(argv: tuple[str, ...]) -> Result:
        if "kvm" in argv:
            time.sleep(0.2)
            return Result(argv, 137)
        return Result(argv, SPOKE)

    found = accelerator.probe(RecordingRunner(hang), patience=0.1, device=device)
    assert found.name == "tcg"
    assert "hangs" in found.reason


def test_no_device_is_no_try(tmp_path: Path) -> None:
    runner = _runner(SPOKE)
    found = accelerator.probe(runner, device=tmp_path / "none")
    assert found.name == "tcg"
    assert not any("kvm" in argv for argv in runner.calls)


def test_no_guest_at_all_is_an_error(device: Path) -> None:
    with pytest.raises(StackctlError, match="runs no guest"):
        accelerator.probe(_runner(1, tcg=1, said="qemu: broken"), device=device)


def test_the_boot_sector_is_one() -> None:
    sector = accelerator.boot_sector()
    assert len(sector) == 512
    assert sector[510:] == b"\x55\xaa"


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], RecordingRunner]:
    """Runs ``find`` with a KVM guest that ends with the given code; returns what it ran."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(accelerator, "KVM_DEVICE", tmp_path / "kvm")
    (tmp_path / "kvm").touch()

    def run(kvm: int) -> RecordingRunner:
        runner = _runner(kvm)
        accelerator.find(runner)
        return runner

    return run


@pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="needs QEMU")
def test_the_answer_is_kept_for_this_boot(
    cached: Callable[[int], RecordingRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cached(1).calls
    assert not cached(SPOKE).calls, "asked once"
    monkeypatch.setattr(accelerator, "_circumstances", lambda: "another boot")
    assert cached(SPOKE).calls


@pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="needs QEMU")
@pytest.mark.parametrize("rubbish", ["", "{", "[]", '{"key": 1}'])
def test_a_damaged_answer_is_asked_again(
    tmp_path: Path, cached: Callable[[int], RecordingRunner], rubbish: str
) -> None:
    cached(1)
    (tmp_path / "stackctl" / "accelerator.json").write_text(rubbish)
    assert cached(1).calls


def test_missing_qemu_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(StackctlError, match="not installed") as failure:
        accelerator.find(_runner(SPOKE))
    assert "bootstrap" in str(failure.value.hint)


@pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="needs QEMU")
def test_a_real_guest_speaks() -> None:
    assert accelerator._try("tcg", SystemRunner(), 60) is None


def test_reasons_are_for_people() -> None:
    assert Accelerator("tcg", "emulation, as there is no /dev/kvm").reason.endswith("/dev/kvm")
