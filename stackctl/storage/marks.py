"""The marks that make a disk ours: names and tags that are derived from the host and its volume group."""

import hashlib
from dataclasses import dataclass

OURS = "stackctl"
"""What every mark begins with."""
GROUP_TAG = "stackctl"
"""The tag of a volume group that we have made and completed."""
NEW_TAG = "stackctl.new"
"""The tag of a logical volume whose file system is not complete yet."""
FSTAB_OPTION = "x-stackctl"
"""The mount option that marks a line of fstab as ours; mount and the kernel pass it over."""

_PARTITION_LABEL = 36
_ARRAY_NAME = 28  # 32 bytes in the superblock, less "any:"


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one volume group on one host."""

    host: str
    group: str

    @property
    def partition_label(self) -> str:
        """The GPT name of the partition; with the host in it, so that disks of another server stay foreign."""
        return shorten(f"{OURS}:{self.group}:{self.host}", _PARTITION_LABEL)

    @property
    def array_name(self) -> str:
        """The name in the md superblock, and under /dev/md."""
        return shorten(self.group, _ARRAY_NAME)

    @property
    def array_path(self) -> str:
        return f"/dev/md/{self.array_name}"

    def claim(self, disk: str) -> dict[str, str]:
        """The claim on a disk that is being prepared."""
        return {"disk": disk, "group": self.group, "host": self.host}


def shorten(text: str, limit: int) -> str:
    """``text``, or its beginning and a digest of it where it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return f"{text[: limit - 7]}-{digest}"
