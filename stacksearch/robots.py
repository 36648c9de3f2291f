"""What a host's robots.txt says (RFC 9309)."""

from dataclasses import dataclass
from typing import Self

from protego import Protego


@dataclass(frozen=True)
class Robots:
    """The rules of one origin; ``passing`` when they could not be had, so that nothing is fetched for the moment."""

    rules: Protego | None
    passing: bool = False

    @classmethod
    def of(cls, status: int, body: bytes) -> Self:
        """Read a response: 4xx means that everything is allowed, 5xx that nothing is for the moment."""
        if status >= 500 or status == 429:
            return cls(None, passing=True)
        return cls(Protego.parse(body.decode("utf-8", "replace")) if status == 200 else None)

    def allows(self, address: str, user_agent: str) -> bool:
        """Whether the URL may be fetched."""
        return self.rules is None or bool(self.rules.can_fetch(address, user_agent))
