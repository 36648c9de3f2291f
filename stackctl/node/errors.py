"""What a server reports when it cannot do what was asked: written for the operator's eyes."""

_EXITS = {"input": 2, "refused": 3}
"""Sorts of failure that end the command with a code of their own."""


class NodeError(Exception):
    """What is wrong with which value; ``hint`` says how to mend it, ``kind`` names the sort for programs."""

    def __init__(self, message: str, *, kind: str = "failed", hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint

    def to_result(self) -> dict[str, str | int]:
        """The keyword arguments of an Ansible module's ``fail_json``."""
        result: dict[str, str | int] = {"msg": self.message, "stackctl_kind": self.kind}
        if self.hint:
            result["stackctl_hint"] = self.hint
        if self.kind in _EXITS:
            result["stackctl_exit"] = _EXITS[self.kind]
        return result
