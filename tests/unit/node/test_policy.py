"""Services stay down while packages are installed, and the operator's policy comes back."""

import subprocess
from pathlib import Path

import pytest

from stackctl.node.policy import ServicePolicy


def test_every_start_is_forbidden_inside_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "policy-rc.d"
    with ServicePolicy(path):
        assert subprocess.run([path, "mariadb", "start"], check=False).returncode == 101
    assert list(tmp_path.iterdir()) == []


def test_the_operators_policy_comes_back_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "policy-rc.d"
    path.write_text("#!/bin/sh\nexit 104\n")
    path.chmod(0o750)
    with ServicePolicy(path):
        assert subprocess.run([path, "mariadb", "start"], check=False).returncode == 101
    assert path.read_text() == "#!/bin/sh\nexit 104\n"
    assert path.stat().st_mode & 0o777 == 0o750
    assert list(tmp_path.iterdir()) == [path]


def test_it_comes_back_after_a_failure_too(tmp_path: Path) -> None:
    path = tmp_path / "policy-rc.d"
    path.write_text("theirs")
    with pytest.raises(RuntimeError), ServicePolicy(path):
        raise RuntimeError
    assert path.read_text() == "theirs"


def test_a_link_as_policy_comes_back_as_a_link(tmp_path: Path) -> None:
    path = tmp_path / "policy-rc.d"
    path.symlink_to("/etc/policy-rc.d")
    with ServicePolicy(path):
        assert not path.is_symlink()
    assert path.readlink() == Path("/etc/policy-rc.d")


@pytest.mark.parametrize("theirs", ["theirs", None])
@pytest.mark.parametrize("cut", ["inside", "between"])
def test_a_power_cut_is_mended_by_the_next_run(tmp_path: Path, theirs: str | None, cut: str) -> None:
    path = tmp_path / "policy-rc.d"
    if theirs:
        path.write_text(theirs)
    ServicePolicy(path).__enter__()
    if cut == "between":
        path.unlink()
    again = ServicePolicy(path)
    if theirs or cut == "inside":
        assert again.left_behind()
    with again:
        assert subprocess.run([path, "x", "start"], check=False).returncode == 101
    assert (path.read_text() if path.exists() else None) == theirs
    assert not again.left_behind()


def test_a_policy_written_by_the_operator_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "policy-rc.d"
    with ServicePolicy(path):
        path.write_text("newer")
    assert path.read_text() == "newer"
