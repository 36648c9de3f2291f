"""The only launcher of processes on a server, and its recording twin."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, Protocol


@dataclass(frozen=True)
class Result:
    """How a process ended, with what it said as text."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str = ""
    stderr: str = ""


class ProcessError(Exception):
    """A process ended with a code that its caller does not accept, or could not start."""

    def __init__(self, result: Result) -> None:
        said = (result.stderr or result.stdout).strip()
        tail = "\n".join(said.splitlines()[-20:])
        super().__init__(f"{' '.join(result.argv)} ended with {result.returncode}: {tail or 'no output'}")
        self.result = result


class Runner(Protocol):
    """What runs a process to its end."""

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Result: ...


class SystemRunner:
    """Runs processes for real, in the C locale, so that what they say can be read by programs."""

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Run ``argv`` to its end; ``env`` is added to this process's own.

        A program that is missing ends with 127, one that takes longer than ``timeout`` seconds is killed and
        ends with 124, as a shell would say. Raises ProcessError on any code but 0 when ``check``.
        """
        words = tuple(argv)
        try:
            done = subprocess.run(
                words,
                input=input,
                capture_output=True,
                text=True,
                errors="replace",
                env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
                stdin=None if input is not None else subprocess.DEVNULL,
                timeout=timeout,
                check=False,
            )
            result = Result(words, done.returncode, done.stdout, done.stderr)
        except FileNotFoundError:
            result = Result(words, 127, stderr=f"{words[0]}: not found")
        except subprocess.TimeoutExpired:
            result = Result(words, 124, stderr=f"{words[0]} did not end within {timeout:g} s")
        if check and result.returncode:
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
    environments: list[Mapping[str, str]] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Record ``argv``, ``input`` and ``env``, then answer."""
        words = tuple(argv)
        self.calls.append(words)
        self.inputs.append(input)
        self.environments.append(dict(env or {}))
        result = self.answer(words) if self.answer else Result(words, 0)
        if check and result.returncode:
            raise ProcessError(result)
        return result


@contextmanager
def reading(argv: Sequence[str], stdin: IO[bytes]) -> Iterator[BufferedReader]:
    """What a filter makes of ``stdin``, as it comes; the filter is ended when the reader has read enough.

    ``stdin`` is read from where it stands. Raises ProcessError when the program is missing.
    """
    os.lseek(stdin.fileno(), stdin.tell(), os.SEEK_SET)
    try:
        process = subprocess.Popen(tuple(argv), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        raise ProcessError(Result(tuple(argv), 127, stderr=f"{argv[0]}: not found")) from None
    with process:
        try:
            assert isinstance(process.stdout, BufferedReader)
            yield process.stdout
        finally:
            process.kill()


@dataclass(frozen=True)
class Running:
    """A process that runs beside this one."""

    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def pid(self) -> int:
        return self.process.pid

    def ended(self) -> int | None:
        """The code that it has ended with; None while it runs."""
        return self.process.poll()


@contextmanager
def running(argv: Sequence[str], *, output: Path, timeout: float = 60.0) -> Iterator[Running]:
    """A process that runs while the block does; all that it says goes to the file ``output``.

    It is told to end afterwards, and killed when it has not ended ``timeout`` seconds later.
    Raises ProcessError when the program is missing or cannot be run.
    """
    with output.open("wb") as file:
        try:
            process = subprocess.Popen(
                tuple(argv),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )
        except OSError as error:
            raise ProcessError(Result(tuple(argv), 127, stderr=f"{argv[0]}: {error.strerror}")) from None
    try:
        yield Running(process)
    finally:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
