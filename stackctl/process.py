"""The only launcher of processes: argument lists, never shell strings; and its recording twin."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from stackctl.errors import StackctlError

PIPE = subprocess.PIPE
"""For ``spawn``: the caller reads what the process writes."""


@dataclass(frozen=True)
class Result:
    """How a process ended. ``stdout`` and ``stderr`` are decoded text, empty where not captured."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str = ""
    stderr: str = ""


class ProcessError(StackctlError):
    """A process ended with a code that its caller does not accept."""

    def __init__(self, result: Result, *, hint: str | None = None) -> None:
        said = (result.stderr or result.stdout).strip()
        tail = "\n".join(said.splitlines()[-20:])
        super().__init__(f"{result.argv[0]} ended with {result.returncode}: {tail or 'no output'}", hint=hint)
        self.result = result


class Runner(Protocol):
    """What runs a process to its end."""

    def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float | None = None,
    ) -> Result: ...


def _words(argv: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    return tuple(os.fspath(word) for word in argv)


class SystemRunner:
    """Runs processes for real, their output captured."""

    def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Run ``argv`` to its end; ``env`` is added to this process's own; ``timeout`` in seconds.

        Raises ProcessError on a non-zero code when ``check``, StackctlError when the program is missing
        or the time is over (the process is killed then).
        """
        words = _words(argv)
        try:
            done = subprocess.run(
                words,
                input=input,
                capture_output=True,
                text=True,
                errors="replace",
                env={**os.environ, **env} if env else None,
                cwd=cwd,
                timeout=timeout,
                check=False,
                stdin=None if input is not None else subprocess.DEVNULL,
            )
        except FileNotFoundError:
            raise StackctlError(
                f"the program {words[0]} is not installed",
                hint="scripts/bootstrap installs what stackctl needs",
            ) from None
        except subprocess.TimeoutExpired:
            raise StackctlError(f"{words[0]} did not end within {timeout:g} s") from None
        result = Result(words, done.returncode, done.stdout, done.stderr)
        if check and done.returncode:
            raise ProcessError(result)
        return result


@dataclass
class RecordingRunner:
    """The twin for tests and dry runs: keeps what it was asked, answers what it was given.

    ``answer`` turns an argv into a Result; without one, everything succeeds with no output.
    """

    answer: Callable[[tuple[str, ...]], Result] | None = None
    calls: list[tuple[str, ...]] = field(default_factory=list)
    inputs: list[str | None] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Record ``argv`` and ``input``, then answer."""
        words = _words(argv)
        self.calls.append(words)
        self.inputs.append(input)
        result = self.answer(words) if self.answer else Result(words, 0)
        if check and result.returncode:
            raise ProcessError(result)
        return result


def spawn(
    argv: Sequence[str | os.PathLike[str]],
    *,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.STDOUT,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    new_session: bool = False,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a process that runs beside this one; the caller owns it and ends it.

    ``new_session`` detaches it from this terminal, so that Ctrl-C does not reach it.
    ``pass_fds`` are descriptors that stay open in it (a lock that must live as long as it does).
    Raises StackctlError when the program is missing.
    """
    words = _words(argv)
    try:
        return subprocess.Popen(
            words,
            stdout=stdout,
            stderr=stderr,
            stdin=stdin,
            env={**os.environ, **env} if env else None,
            cwd=cwd,
            start_new_session=new_session,
            pass_fds=pass_fds,
        )
    except FileNotFoundError:
        raise StackctlError(
            f"the program {words[0]} is not installed", hint="scripts/bootstrap installs what stackctl needs"
        ) from None


def replace(argv: Sequence[str | os.PathLike[str]]) -> None:
    """Become another program: this process ends where it begins (for ``ssh`` with a terminal)."""
    words = _words(argv)
    try:
        os.execvp(words[0], words)  # noqa: S606
    except FileNotFoundError:
        raise StackctlError(f"the program {words[0]} is not installed") from None
