"""What was read back of a layout, sorted by layer, so that each check looks at its own."""

from collections.abc import Sequence

import pytest

from stackctl.storage.readback import Finding
from stackctl.validation import expect


class Layers:
    """The findings of a read-back. A layer that no check looks at is an error: nothing goes unseen."""

    KNOWN = frozenset(
        {
            "partition",
            "array",
            "volume group",
            "volume",
            "alignment, partition",
            "alignment, md data",
            "alignment, md data offset",
            "alignment, PV data",
            "alignment, extent",
            "alignment, LV",
            "file system",
            "alignment, XFS stripe unit",
            "alignment, XFS stripe width",
            "alignment, XFS log unit",
            "alignment, ext4 stripe unit",
            "alignment, ext4 stripe width",
            "mount",
            "swap",
            "fstab",
            "mdadm.conf",
            "initramfs",
        }
    )
    """The layers that have a check of their own."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = tuple(findings)
        if unknown := {finding.layer for finding in findings} - self.KNOWN:
            raise ValueError(f"no check looks at {', '.join(sorted(unknown))}")

    def right(self, *layers: str) -> None:
        """Fail with everything that is wrong in these layers; not made where there is nothing of them to see."""
        __tracebackhide__ = True
        if not any(finding.layer in layers for finding in self._findings):
            pytest.skip("the layer below is missing")
        expect.nothing(self.wrong(*layers))

    def wrong(self, *layers: str) -> list[str]:
        """What is wrong in these layers."""
        return [str(finding) for finding in self._findings if finding.layer in layers and not finding.ok]
