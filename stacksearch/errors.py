"""The one error that reaches a user, and the exit codes of every command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to its caller when it ends."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    """Wrong usage, input or configuration."""
    FAULT = 4
    """A check did its work and found a fault."""
    INTERRUPTED = 130


class StacksearchError(Exception):
    """Something the operator should read: what is wrong with which value, and how to mend it."""

    code = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class ConfigError(StacksearchError):
    """The configuration is wrong; the message lists every error with the path of its key."""

    code = ExitCode.USAGE


class InputError(StacksearchError):
    """What was submitted or asked is wrong: a URL, a depth, a page number."""

    code = ExitCode.USAGE


class UnavailableError(StacksearchError):
    """A service behind the app does not answer: the database, the queue, the cache, the index."""
