"""Services kept from starting while packages are installed: a policy-rc.d for the time of the work."""

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_MARK = "# stackctl keeps services from starting until they are configured"
_TEXT = f"#!/bin/sh\n{_MARK}\nexit 101\n"


@dataclass(frozen=True)
class ServicePolicy:
    """Forbids every start of a service by a package while it is entered.

    A policy that the operator has is set aside and comes back unchanged, also when a power cut came between:
    ``recover`` puts things right.
    """

    path: Path = Path("/usr/sbin/policy-rc.d")

    @property
    def _aside(self) -> Path:
        return self.path.with_name(self.path.name + ".stackctl-saved")

    def left_behind(self) -> bool:
        """Whether an earlier run was cut before it could put the operator's policy back."""
        return os.path.lexists(self._aside) or self._ours()

    def recover(self) -> None:
        """Put the operator's policy back, or none where there was none."""
        if os.path.lexists(self._aside) and (self._ours() or not os.path.lexists(self.path)):
            self._aside.replace(self.path)
        elif self._ours():
            self.path.unlink()

    def __enter__(self) -> "ServicePolicy":
        self.recover()
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        fresh.write_text(_TEXT)
        fresh.chmod(0o755)
        if os.path.lexists(self.path):
            self.path.rename(self._aside)
        fresh.replace(self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.recover()

    def _ours(self) -> bool:
        try:
            return _MARK in self.path.read_text(errors="replace")
        except OSError:
            return False
