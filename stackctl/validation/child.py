"""One server's suites in a pytest process of its own: the server goes in on stdin, events come out on stdout."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from stackctl import paths, process
from stackctl.validation.inventory import Target
from stackctl.validation.roles import Suite

_ENVIRONMENT = {
    # neither plugins nor options of the operator's own pytest reach this run
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "",
    "PYTEST_PLUGINS": "",
    "PYTHONUNBUFFERED": "1",
}


class PytestProcess:
    """A started pytest. Read ``events`` to their end, then ``end``."""

    def __init__(self, target: Target, suites: Sequence[Suite], keyword: str | None, crash: bool) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = process.spawn(
            arguments(suites, keyword, crash=crash),
            stdin=process.PIPE,
            stdout=process.PIPE,
            stderr=self._said,
            env=_ENVIRONMENT,
        )
        self._order = json.dumps({"target": target.to_json()}).encode()

    def events(self) -> Iterator[dict[str, Any]]:
        """What the plugin tells, as it happens."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: PT018
        with suppress(BrokenPipeError), stdin:
            stdin.write(self._order)
        with stdout:
            for line in stdout:
                yield json.loads(line)

    def end(self) -> tuple[int, str]:
        """pytest's exit code, and what it said on stderr."""
        code = self._process.wait()
        with self._said:
            self._said.seek(0)
            return code, self._said.read().decode(errors="replace")

    def stop(self) -> None:
        """End it where it still runs."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()


def arguments(suites: Sequence[Suite], keyword: str | None, *, crash: bool = False) -> list[str]:
    """pytest's command line for these suites."""
    folder = paths.package() / "validation" / "suites"
    argv = [paths.program("pytest"), "-c", str(folder / "pytest.ini"), "--rootdir", str(folder)]
    argv += ["-p", "testinfra.plugin", "-p", "stackctl.validation.plugin"]
    # plain assertions: a check's own words are what people read
    argv += ["-q", "--capture=no", "--assert=plain", "--color=no", "-p", "no:warnings"]
    if keyword is not None:
        argv += ["-k", keyword]
    if crash:
        argv.append("--crash")
    return argv + [str(suite.file) for suite in suites]
