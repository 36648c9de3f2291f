"""What a server reports when it cannot do what was asked: written for the operator's eyes."""


class NodeError(Exception):
    """What is wrong with which value; ``hint`` says how to mend it, ``kind`` names the sort for programs."""

    def __init__(self, message: str, *, kind: str = "failed", hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint

    def to_result(self) -> dict[str, str]:
        """The keyword arguments of an Ansible module's ``fail_json``."""
        result = {"msg": self.message, "kind": self.kind}
        return {**result, "hint": self.hint} if self.hint else result
