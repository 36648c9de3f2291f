"""What the tools of hardware RAID controllers say of them, raw; nothing is changed, and a tool may be missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import reports
from .process import Result
from .system import System

TIMEOUT = 90.0
"""Seconds for one question: a controller with many drives takes ten, one whose firmware hangs never answers."""

_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

_SHOW = ("show", "all", "nolog", "J")
"""Without ``nolog`` these tools leave a log behind in the folder that they are run in."""
_STORCLI = (
    ("/call", *_SHOW),
    ("/call/vall", *_SHOW),
    ("/call/eall/sall", *_SHOW),
    ("/call/sall", *_SHOW),  # drives without an enclosure, which the line above does not see
    ("/call/bbu", *_SHOW),
    ("/call/cv", *_SHOW),
)
_STORCLI2 = (
    ("/call", *_SHOW),
    ("/call/vall", *_SHOW),
    ("/call/eall/sall", *_SHOW),
    ("/call/ep", *_SHOW),
)
_SSACLI = (("ctrl", "all", "show", "config", "detail"),)


@dataclass(frozen=True)
class Tool:
    """A vendor's program: what it may be called, where its packages put it, and the questions it is asked."""

    name: str
    programs: tuple[str, ...]
    folders: tuple[str, ...]
    questions: tuple[tuple[str, ...], ...]
    json: bool = True


TOOLS = (
    Tool("storcli", ("storcli64", "storcli"), ("/opt/MegaRAID/storcli", "/opt/lsi/storcli64"), _STORCLI),
    Tool("storcli2", ("storcli2",), ("/opt/MegaRAID/storcli2",), _STORCLI2),
    Tool("perccli", ("perccli64", "perccli"), ("/opt/MegaRAID/perccli",), _STORCLI),
    Tool("perccli2", ("perccli2",), ("/opt/MegaRAID/perccli2", "/opt/MegaRAID/perccli"), _STORCLI2),
    Tool("ssacli", ("ssacli",), ("/opt/smartstorageadmin/ssacli/bin",), _SSACLI, json=False),
    Tool("hpssacli", ("hpssacli",), ("/opt/hp/hpssacli/bld", "/opt/hp/hpssacli/bin"), _SSACLI, json=False),
)


def ask(system: System, errors: list[str]) -> list[dict[str, Any]]:
    """What each tool that is installed says: ``tool``, its ``version`` where it tells one, and ``documents``.

    A document has the ``command`` and either ``json`` or ``text``. What went wrong is added to ``errors``, and
    costs nothing but the answer to that question; a tool that does not come back is not asked again.
    """
    found = []
    for tool in TOOLS:
        if program := _program(system, tool):
            asked = _Asked(system, tool, program)
            documents = list(asked.documents())
            errors += asked.errors
            version = next(filter(None, map(_version, documents)), "")
            found.append({"tool": tool.name, **({"version": version} if version else {}), "documents": documents})
    return found


def _program(system: System, tool: Tool) -> str:
    """The whole path of the tool on the server; nothing where it is not installed."""
    places = (f"{folder}/{name}" for folder in (*tool.folders, *_PATH) for name in tool.programs)
    return next((place for place in places if system.path(place).is_file()), "")


@dataclass
class _Asked:
    """A tool that is asked one question after the other."""

    system: System
    tool: Tool
    program: str
    errors: list[str] = field(default_factory=list)

    def documents(self) -> Iterator[dict[str, Any]]:
        for question in self.tool.questions:
            said = self._ask(question)
            if said is None:
                return
            document = self._json(question, said) if self.tool.json else self._text(question, said)
            if document:
                yield {"command": " ".join(question), **document}

    def _ask(self, question: Sequence[str]) -> Result | None:
        """The answer; None where no further question makes sense."""
        try:
            said = self.system.runner.run([self.program, *question], check=False, timeout=TIMEOUT)
        except OSError as failure:
            self.errors.append(f"{self.program} cannot be run: {failure.strerror or failure}")
            return None
        if said.returncode == 124:
            self._error(question, f"{said.stderr.strip()}; it was asked nothing more")
            return None
        return said

    def _json(self, question: Sequence[str], said: Result) -> dict[str, Any]:
        answer = reports.json_object(said.stdout)
        if not answer:
            self._error(question, f"ended with {said.returncode} and no JSON: {_brief(said)}")
            return {}
        start, end = said.stdout.find("{"), said.stdout.rfind("}")
        if beside := (said.stdout[:start] + said.stdout[end + 1 :]).strip():
            self._error(question, f"said beside its JSON: {beside.splitlines()[0]}")
        return {"json": answer}

    def _text(self, question: Sequence[str], said: Result) -> dict[str, Any]:
        if said.returncode and "no controllers detected" not in (said.stdout + said.stderr).lower():
            self._error(question, f"ended with {said.returncode}: {_brief(said)}")
        return {"text": said.stdout} if said.stdout.strip() else {}

    def _error(self, question: Sequence[str], words: str) -> None:
        self.errors.append(f"{self.program} {' '.join(question)}: {words}")


def _brief(said: Result) -> str:
    """The end of what a process said, on one line."""
    lines = [line.strip() for line in (said.stderr or said.stdout).splitlines() if line.strip()]
    return " / ".join(lines[-3:]) or "no output"


def _version(document: dict[str, Any]) -> str:
    """``007.2807.0000.0000 Dec 22, 2023``, as tools with JSON say it in every answer."""
    answers = document.get("json", {}).get("Controllers")
    first = answers[0] if isinstance(answers, list) and answers else {}
    status = first.get("Command Status") if isinstance(first, dict) else {}
    return str(status.get("CLI Version", "")) if isinstance(status, dict) else ""
