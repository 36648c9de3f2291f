"""From what Ansible says when it fails to one clear error: what is wrong, how to mend it, which exit code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackctl.apply.events import CENSORED, TaskEnded
from stackctl.apply.rules import Kind, fill, matching
from stackctl.errors import ExitCode


@dataclass(frozen=True)
class Fault:
    """One thing that went wrong; ``host`` is None where it is not a server's fault, ``where`` names role and task."""

    message: str
    hint: str | None
    code: ExitCode
    host: str | None = None
    where: str = ""

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.host, self.where) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}\n  hint: {self.hint}" if self.hint else text

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "host": self.host,
            "where": self.where,
            "message": self.message,
            "hint": self.hint,
            "code": int(self.code),
        }


_UNREACHABLE: tuple[Kind, ...] = ("way", "rights", "link")
_FAILED: tuple[Kind, ...] = ("rights", "task", "site", "link")
_WRAPPINGS = re.compile(r"^(?:Task failed: |Module failed: |error occurred on host \S+: )+")
_LOOKUP = re.compile(
    r"The lookup plugin '(?:\w+\.)*stackctl_\w+' failed: (?P<said>.*?)(?:\n\s*hint: (?P<hint>.*))?\Z", re.DOTALL
)
"""A lookup of ours has no result to put its words into."""
_ORIGIN = re.compile(r"^Origin: (?P<file>[^\n]+?)(?::(?P<line>\d+))?(?::\d+)?$", re.MULTILINE)


def fault_of_task(event: TaskEnded) -> Fault:
    """The fault behind a task that failed or a server that could not be reached.

    A module of ours speaks for itself: a result with ``stackctl_hint`` or ``stackctl_exit`` (an exit code)
    is told in its own words.
    """
    result = _worst_item(event.result)
    where = " / ".join(part for part in (event.task.role, event.task.name) if part)
    if CENSORED in result:
        hint = "the task handles a secret; `systemctl status` and the journal on the server may tell more"
        return Fault("the task failed and its output is hidden", hint, ExitCode.FAILED, event.host, where)
    message = _WRAPPINGS.sub("", str(result.get("msg", "")).strip()) or "the task failed and does not say why"
    if "stackctl_exit" in result or "stackctl_hint" in result:
        advice = str(result["stackctl_hint"]) if result.get("stackctl_hint") else None
        return Fault(message, advice, _code(result.get("stackctl_exit")), event.host, where)
    if lookup := _LOOKUP.search(message):
        return Fault(lookup["said"], lookup["hint"], ExitCode.USAGE, event.host, where)
    text = "\n".join(_words(result))
    kinds = _UNREACHABLE if event.outcome == "unreachable" else _FAILED
    for rule, found in matching(text, kinds):
        at = "" if rule.of_server else where
        said = fill(rule.message, found) + (_place(event.text) if rule.code is ExitCode.USAGE else "")
        return Fault(said, fill(rule.hint, found), rule.code, event.host, at)
    tail = "\n".join(line for line in _details(result).splitlines()[-5:])
    full = f"{message}\n  {tail}" if tail and tail not in message else message
    return Fault(full, "-v shows what Ansible says", ExitCode.FAILED, event.host, where)


def is_known(event: TaskEnded) -> bool:
    """True when a failure is one that the rules know, or a module of ours told of it."""
    result = _worst_item(event.result)
    if CENSORED in result or "stackctl_exit" in result or "stackctl_hint" in result:
        return True
    kinds = _UNREACHABLE if event.outcome == "unreachable" else _FAILED
    return any(True for _ in matching("\n".join(_words(result)), kinds))


def fault_of_text(text: str) -> Fault:
    """The fault behind what Ansible printed before any task could run."""
    text = text.replace("\r", "")
    for rule, found in matching(text, ("site",)):
        return Fault(fill(rule.message, found) + _place(text), fill(rule.hint, found), rule.code)
    errors = [line.removeprefix("[ERROR]: ") for line in text.splitlines() if line.startswith(("[ERROR]", "ERROR!"))]
    what = errors[0] if errors else (text.strip().splitlines() or ["it printed nothing"])[-1]
    return Fault(f"Ansible could not begin: {what}{_place(text)}", "-v shows what Ansible says", ExitCode.FAILED)


def exit_code(faults: Sequence[Fault]) -> ExitCode:
    """The code of a command with these faults: theirs when they agree, else failed; done when there is none."""
    codes = {fault.code for fault in faults}
    if not codes:
        return ExitCode.DONE
    return codes.pop() if len(codes) == 1 else ExitCode.FAILED


def _place(text: str) -> str:
    """The innermost file and line that Ansible names as the origin of an error."""
    origins = list(_ORIGIN.finditer(text))
    if not origins:
        return ""
    last = origins[-1]
    return f" ({last['file']}:{last['line']})" if last["line"] else f" ({last['file']})"


def _worst_item(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a loop the first item that failed; anything else is itself."""
    items = result.get("results")
    if isinstance(items, list):
        for item in items:
            if isinstance(item, Mapping) and (item.get("failed") or item.get("unreachable")):
                return item
    return result


def _words(result: Mapping[str, Any]) -> Iterator[str]:
    for key in ("msg", "module_stderr", "module_stdout", "stderr", "stdout"):
        value = result.get(key)
        if isinstance(value, str) and value:
            yield value.replace("\r", "")


def _details(result: Mapping[str, Any]) -> str:
    for key in ("module_stderr", "stderr", "module_stdout", "stdout"):
        value = result.get(key)
        if isinstance(value, str) and value.strip():
            return value.replace("\r", "").strip()
    return ""


def _code(value: object) -> ExitCode:
    try:
        return ExitCode(int(str(value)))
    except ValueError:
        return ExitCode.FAILED
