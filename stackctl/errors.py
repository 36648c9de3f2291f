"""The one error that reaches a user, and the exit codes of every command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to its caller when it ends."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    """Wrong usage or wrong input."""
    REFUSED = 3
    """Would destroy something; needs a word from the operator."""
    FAULT = 4
    """A check did its work and found a fault."""
    INTERRUPTED = 130


class StackctlError(Exception):
    """Something the operator should read: what is wrong with which value, and how to mend it."""

    code = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class InputError(StackctlError):
    """The operator's input is wrong: a file, a flag, a value."""

    code = ExitCode.USAGE


class RefusedError(StackctlError):
    """The work would destroy what is not ours, or what the operator has not named."""

    code = ExitCode.REFUSED


class FaultError(StackctlError):
    """A check found a fault; the report has been printed."""

    code = ExitCode.FAULT
