"""The command line as its caller sees it: exit codes, stdout, stderr, help."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from stackctl import __version__, cli
from stackctl.errors import ExitCode, FaultError, RefusedError, StackctlError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty folder; returns the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in ("STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / ".xdg" / name))
    monkeypatch.delenv("STACKCTL_INVENTORY", raising=False)

    def _run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        said = capfd.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return _run


def _commands(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    for word, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*name, word))
    if not getattr(command, "commands", None) or getattr(command, "invoke_without_command", False):
        yield name, command


COMMANDS = dict(_commands(typer.main.get_command(cli.app)))


class TestEveryCommand:
    @pytest.mark.parametrize("words", [words for words in COMMANDS if words], ids=" ".join)
    def test_help_has_an_example(self, run: Run, words: tuple[str, ...]) -> None:
        code, out, err = run(*words, "--help")
        assert code == ExitCode.DONE
        assert re.search(rf"Examples?: .*stackctl {' '.join(words)}\b", " ".join(out.split()))
        assert err == ""

    @pytest.mark.parametrize(
        "words", [words for words in COMMANDS if words and words != ("lab", "ssh")], ids=" ".join
    )
    def test_an_unknown_option_is_wrong_usage(self, run: Run, words: tuple[str, ...]) -> None:
        code, out, err = run(*words, "--no-such-option")
        assert code == ExitCode.USAGE
        assert out == ""
        assert "No such option" in err

    @pytest.mark.parametrize("words", [words for words in COMMANDS if words], ids=" ".join)
    def test_every_parameter_is_explained(self, words: tuple[str, ...]) -> None:
        unexplained = [param.name for param in COMMANDS[words].params if not getattr(param, "help", None)]
        assert unexplained == []

    def test_the_list_of_all(self, run: Run) -> None:
        code, out, _ = run("--help")
        assert code == ExitCode.DONE
        assert all(words[0] in out for words in COMMANDS if words)


class TestMain:
    def test_version(self, run: Run) -> None:
        assert run("--version") == (0, f"stackctl {__version__}\n", "")

    def test_without_words_the_help(self, run: Run) -> None:
        code, out, err = run()
        assert code == ExitCode.USAGE
        assert "Usage: stackctl" in out + err

    def test_a_command_that_is_none(self, run: Run) -> None:
        code, _, err = run("chek")
        assert code == ExitCode.USAGE
        assert "No such command 'chek'" in err

    @pytest.mark.parametrize(
        ("failure", "code", "said"),
        [
            (StackctlError("it broke", hint="mend it"), 1, "error: it broke\n  hint: mend it\n"),
            (RefusedError("not ours"), 3, "error: not ours\n"),
            (FaultError("[bold]crooked[/bold]"), 4, "error: [bold]crooked[/bold]\n"),
            (KeyboardInterrupt(), 130, "error: interrupted; run the same command again to go on\n"),
            (typer.Abort(), 130, "error: interrupted; run the same command again to go on\n"),
            (typer.Exit(4), 4, ""),
            (OSError(28, "No space left on device", "/srv/x"), 1, "error: /srv/x: No space left on device\n"),
        ],
    )
    def test_how_it_ends(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, failure: BaseException, code: int, said: str
    ) -> None:
        def fail(inventory: Path | None) -> None:
            raise failure

        monkeypatch.setattr("stackctl.cli.check.open_site", fail)
        assert run("check") == (code, "", said)

    def test_a_reader_that_leaves(self, tmp_path: Path) -> None:
        """`stackctl schema | head -1` ends without a traceback."""
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-c", "from stackctl.cli import main; main(['schema'])"],
            stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
        os.close(writing)
        assert "Traceback" not in done.stderr

    def test_completion(self, tmp_path: Path) -> None:
        environment = {
            **os.environ,
            "_STACKCTL_COMPLETE": "complete_bash",
            "COMP_WORDS": "stackctl expl",
            "COMP_CWORD": "1",
        }
        done = subprocess.run(
            [Path(sys.executable).with_name("stackctl")],
            env=environment, capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
        assert done.stdout.split() == ["explain"]


class TestInit:
    def test_a_new_site_is_right(self, run: Run, tmp_path: Path) -> None:
        code, out, _ = run("init", "frankfurt")
        assert code == ExitCode.DONE
        assert "stackctl check -i frankfurt" in out
        assert (tmp_path / "frankfurt" / "group_vars" / "all.yml").is_file()
        code, out, _ = run("check", "-i", "frankfurt", "--json")
        assert code == ExitCode.DONE
        assert (json.loads(out)["site"], json.loads(out)["errors"], json.loads(out)["warnings"]) == (
            "frankfurt",
            [],
            [],
        )

    def test_the_lab(self, run: Run) -> None:
        assert run("init", "trial", "--example", "lab", "--name", "mine")[0] == ExitCode.DONE
        out = run("check", "-i", "trial", "--json")[1]
        assert (json.loads(out)["site"], json.loads(out)["hosts"][0]["address"]) == ("mine", "lab machine")

    def test_into_an_empty_folder(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "here" / ".git").mkdir(parents=True)
        assert run("init", "here")[0] == ExitCode.DONE

    @pytest.mark.parametrize("occupant", ["stack.yml", "stack.yaml", "anything"])
    def test_nothing_is_overwritten(self, run: Run, tmp_path: Path, occupant: str) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / occupant).write_text("mine")
        code, out, err = run("init", "here")
        assert (code, out) == (ExitCode.REFUSED, "")
        assert err.startswith("error: ")
        assert [entry.name for entry in (tmp_path / "here").iterdir()] == [occupant]
        assert (tmp_path / "here" / occupant).read_text() == "mine"

    def test_a_file_in_the_way(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "here").write_text("mine")
        assert run("init", "here")[0] == ExitCode.REFUSED

    @pytest.mark.parametrize("words", [("--example", "none"), ("--name", "Not Fit")])
    def test_wrong_words(self, run: Run, tmp_path: Path, words: tuple[str, str]) -> None:
        assert run("init", "here", *words)[0] == ExitCode.USAGE
        assert not (tmp_path / "here").exists()

    def test_a_folder_that_cannot_be_made(self, run: Run) -> None:
        code, _, err = run("init", "/proc/here")
        assert code == ExitCode.FAILED
        assert "cannot be written" in err


class TestCheck:
    WRONG = "plugin: stackctl\nsite: s\nhosts: {m: {adress: a}, n: {lab: {cpus: x}}}\n"

    def test_a_summary(self, run: Run) -> None:
        code, out, err = run("check")
        assert code == ExitCode.DONE
        assert out.splitlines()[0].split() == ["HOST", "ADDRESS", "ROLES", "LAYOUT", "LISTENS", "ON"]
        assert "metal-1" in out
        assert "is right" in err

    def test_every_error_in_one_go(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "stack.yml").write_text(self.WRONG)
        assert run("check") == (
            ExitCode.USAGE,
            "",
            "error: the site cannot be used, 2 errors:\n"
            "stack.yml:3: hosts.m.adress: is not a known key; did you mean address?\n"
            "stack.yml:3: hosts.n.lab.cpus: must be a whole number, not the text 'x'\n",
        )

    def test_errors_as_json(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "stack.yml").write_text(self.WRONG)
        code, out, _ = run("check", "--json")
        assert code == ExitCode.USAGE
        assert [(error["line"], error["path"]) for error in json.loads(out)["errors"]] == [
            (3, "hosts.m.adress"),
            (3, "hosts.n.lab.cpus"),
        ]

    def test_warnings(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "stack.yml").write_text("plugin: stackctl\nsite: s\nhosts: {m: {address: a}}\n")
        code, _, err = run("check")
        assert code == ExitCode.DONE
        assert err.splitlines() == [
            "warning: stack.yml:3: hosts.m: has neither a layout nor a role: nothing will be done here",
            "stack.yml can be used; warnings: 1",
        ]

    def test_the_inventory_from_the_environment(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("STACKCTL_INVENTORY", "nowhere")
        assert run("check")[0] == ExitCode.USAGE


class TestExplain:
    def test_a_part(self, run: Run) -> None:
        code, out, _ = run("explain", "services.web")
        assert code == ExitCode.DONE
        assert [line.split()[0] for line in out.splitlines()] == [
            "KEY",
            "services.web",
            "services.web.listen",
            "services.web.port",
        ]

    def test_json(self, run: Run) -> None:
        keys = json.loads(run("explain", "--json")[1])
        assert (keys[2]["key"], keys[2]["required"]) == ("hosts", True)

    def test_the_values_of_a_site(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "stack.yml").write_text(
            "plugin: stackctl\nsite: s\nhosts: {m: {address: a}}\nservices:\n  web: {port: 8080}\n"
        )
        values = json.loads(run("explain", "--values", "services.web", "--json")[1])
        assert values == {
            "services.web.listen": {"value": "0.0.0.0", "source": "default"},
            "services.web.port": {"value": "8080", "source": "line 5"},
        }

    @pytest.mark.parametrize("words", [("explain", "nothing"), ("explain", "--values", "hosts.other")])
    def test_no_such_key(self, run: Run, words: tuple[str, ...]) -> None:
        assert run(*words)[0] == ExitCode.USAGE

    def test_the_schema(self, run: Run) -> None:
        assert json.loads(run("schema")[1])["required"] == ["plugin", "site", "hosts"]
        assert json.loads(run("schema", "machine")[1])["required"][:3] == ["format", "host", "missing"]


class TestDoctor:
    def test_a_fit_machine(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("stackctl.site.doctor.shutil.which", lambda name: f"/usr/bin/{name}")
        monkeypatch.setattr("stackctl.site.doctor._accelerator", _fine)
        code, out, _ = run("doctor", "--json")
        assert code == ExitCode.DONE
        assert {verdict["state"] for verdict in json.loads(out)} <= {"ok", "warning"}

    def test_a_machine_that_lacks_programs(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("stackctl.site.doctor.shutil.which", lambda name: None)
        code, out, err = run("doctor")
        assert code == ExitCode.FAULT
        assert "apt-get install openssh-client" in out
        assert "qemu-system-x86_64" in err

    def test_a_vault_password_that_others_can_read(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stackctl.site.doctor._accelerator", _fine)
        file = tmp_path / ".xdg" / "CONFIG" / "stackctl" / "vault-password"
        file.parent.mkdir(parents=True)
        file.write_text("x")
        file.chmod(0o644)
        code, out, _ = run("doctor", "--json")
        assert code == ExitCode.FAULT
        (verdict,) = [verdict for verdict in json.loads(out) if verdict["subject"] == "vault password"]
        assert (verdict["state"], verdict["mend"]) == ("fault", f"chmod 600 {file}")


def _fine(broken: str) -> Any:
    from stackctl.site.doctor import Verdict

    return Verdict("accelerator", "ok", "stands in for a guest that ran")
