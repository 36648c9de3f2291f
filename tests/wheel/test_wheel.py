"""The wheel, built and installed beside the dependencies of this environment, used from a folder of its own."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("playbooks", "templates", "images", "inventories")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout; a site's secrets lie about while it is built."""
    secret = ROOT / "inventories" / "single" / "secrets.yml"
    ours = not secret.exists()
    if ours:
        secret.write_text("not to be shipped\n")
    try:
        folder = tmp_path_factory.mktemp("dist")
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True
        )
    finally:
        if ours:
            secret.unlink()
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def prefix(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it; what it depends on comes from the environment that runs the tests."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel],
        check=True,
    )
    packages = home / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    # a path in a .pth file does not pull in the .pth files over there, so the checkout stays out of sight
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    for name in ("inventory", "playbook"):
        program = home / "bin" / f"ansible-{name}"
        program.write_text(f"#!{python}\nfrom ansible.cli.{name} import main\n\nmain()\n")
        program.chmod(0o755)
    return home


@pytest.fixture
def run(prefix: Path, tmp_path: Path) -> Run:
    """Runs a program of that environment in an empty folder, with a home of its own."""

    def _run(program: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            **more,
        }
        return subprocess.run(
            [prefix / "bin" / program, *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return _run


@pytest.fixture
def data(prefix: Path) -> Path:
    """Where the data of the installed wheel lies."""
    (found,) = prefix.glob("lib/python*/site-packages/stackctl/data")
    return found


def test_every_tracked_file_is_in_it(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "stackctl", "stacksearch", "ansible.cfg", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    shipped = set(zipfile.ZipFile(wheel).namelist())
    expected = set()
    for name in filter(None, tracked):
        if name.endswith(".gitkeep"):
            continue
        inside = name if name.startswith(("stackctl/", "stacksearch/")) else f"stackctl/data/{name}"
        if (ROOT / name).is_symlink():
            inside_it = (path.relative_to(ROOT / name) for path in (ROOT / name).rglob("*.py"))
            expected |= {f"{inside}/{path}" for path in inside_it}
        elif (ROOT / name).exists():
            expected.add(inside)
    assert expected - shipped == set()


def test_nothing_else_is_in_it(wheel: Path) -> None:
    shipped = zipfile.ZipFile(wheel).namelist()
    assert [
        name for name in shipped if "secrets.yml" in name or "__pycache__" in name or name.startswith("tests")
    ] == []


def test_the_wheel_is_what_is_imported(run: Run, prefix: Path) -> None:
    done = run("python", "-c", "import stackctl, stacksearch; print(stackctl.__file__, stacksearch.__file__)")
    assert all(path.startswith(str(prefix)) for path in done.stdout.split()), done


def test_from_init_to_check(run: Run, tmp_path: Path) -> None:
    assert run("stackctl", "--version").stdout.startswith("stackctl ")
    done = run("stackctl", "init", "mine")
    assert (done.returncode, done.stderr) == (0, "")
    done = run("stackctl", "check", "-i", "mine", "--json")
    assert done.returncode == 0, done.stderr
    checked = json.loads(done.stdout)
    assert (checked["site"], checked["warnings"]) == ("mine", [])
    assert (tmp_path / "mine" / ".stack.schema.json").is_file()


def test_without_a_site_the_operators_own_lab(run: Run, tmp_path: Path) -> None:
    done = run("stackctl", "check", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["file"] == str(tmp_path / ".local/state/stackctl/lab-site/stack.yml")


def test_every_command_starts(run: Run) -> None:
    done = run("stackctl", "--help")
    assert done.returncode == 0, done.stderr
    assert "apply" in done.stdout


def test_plain_ansible_reads_a_site(run: Run, data: Path) -> None:
    run("stackctl", "init", "mine")
    done = run("ansible-inventory", "-i", "mine/stack.yml", "--graph", ANSIBLE_CONFIG=str(data / "ansible.cfg"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "@storage:" in done.stdout
    assert done.stdout.count("metal-1") == 5


def test_plain_ansible_knows_the_playbooks(run: Run, data: Path) -> None:
    run("stackctl", "init", "mine")
    done = run(
        "ansible-playbook", "-i", "mine/stack.yml", str(data / "playbooks" / "site.yml"), "--list-tasks",
        ANSIBLE_CONFIG=str(data / "ansible.cfg"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for role in ("storage", "database", "queue", "cache", "search"):
        assert f" {role} : " in done.stdout


def test_our_environment_leads_to_the_same_files(run: Run, data: Path) -> None:
    program = "import json, stackctl.apply.environment as e; print(json.dumps(e.ansible_environment(fast=False)))"
    environment = json.loads(run("python", "-c", program).stdout)
    assert environment["ANSIBLE_CONFIG"] == str(data / "ansible.cfg")
    ours = [Path(value).relative_to(data) for value in environment.values() if value.startswith(str(data))]
    filled = [path for path in ours if (ROOT / path).is_file() or any((ROOT / path).glob("[!_]*"))]
    assert [path for path in filled if not (data / path).exists()] == []
    run("stackctl", "init", "mine")
    done = run("ansible-inventory", "-i", "mine/stack.yml", "--graph", **environment)
    assert done.returncode == 0, done.stderr


def test_the_search_app_is_packed_the_same_as_from_a_checkout(run: Run) -> None:
    program = (
        "from stackctl.apply.bundle import Source, Target;"
        "print(Source.shipped().digest(Target('3.11', 'x86_64', 'glibc 2.36')))"
    )
    done = run("python", "-c", program)
    assert done.returncode == 0, done.stderr
    here = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == here.stdout
