"""The words that a mask replaces, in pools, and what stands for each."""

import re
from collections.abc import Iterator
from enum import Enum

from stackctl.hardware.disk import natural
from stackctl.storage.marks import Marks, shorten


class Pool(Enum):
    """A kind of words that count on their own."""

    HOST = "host"
    NAME = "name"
    SERIAL = "serial number"
    WWN = "WWN"
    UUID = "UUID"
    """In one spelling: without hyphens and colons, hexadecimal in lower case."""
    ADDRESS = "address"


_COMMON = """
stackctl any data system database documents guests root boot efi esp bios swap grub rescue recovery cache pool tank
thin backup log primary logical extended none unknown localhost linux windows debian ubuntu proxmox local images
bin dev etc home lib media mnt opt proc run srv sys tmp usr var cloudimg-rootfs uefi cidata config-2 raid array crypt
mysql mariadb docker libvirt lost+found postgresql www pve vg lv lvm md fs tmpfs devtmpfs <system> <ignore>
"""
_KEPT = frozenset(_COMMON.split()) | {
    "efi system partition",
    "efi system",
    "bios boot partition",
    "basic data partition",
    "microsoft reserved partition",
    "microsoft basic data",
    "linux filesystem",
    "linux swap",
    "linux raid",
    "linux lvm",
}
"""Names that many have, and that tell of nobody: those of our own examples, of installers, of the file hierarchy."""
_COUNTED = re.compile(
    r"\W*|\d{1,4}|(sd|hd|vd|xvd)[a-z]+\d*|(md|loop|nvme|mmcblk|bcache|drbd|nbd|zd|rbd|lvol|dm-)\d\w*|mpath[a-z]+|"
    r"(swap|root|boot|home|data|backup|pool)[-_]?\d+"
)
"""Names that a kernel or a tool gives by counting."""

_WWN_PREFIXES = ("0x", "eui.", "nvme.", "uuid.", "naa.", "t10.")
_SHORTENED = (28, 12)
"""Array names and labels of XFS that are longer end in a digest (storage/marks.py); those of partitions too."""
_PARTITION_LABEL = 36


def is_kept(name: str) -> bool:
    """Whether the name is nobody's, and is left as it is."""
    return name.lower() in _KEPT or bool(_COUNTED.fullmatch(name))


class Words:
    """Every word that is to be masked. ``swap`` notes words; after ``close`` it gives their masks."""

    def __init__(self) -> None:
        self._found: dict[Pool, set[str]] = {pool: set() for pool in Pool}
        self._kept: set[str] = set()
        self._masks: dict[tuple[Pool, str], str] = {}
        self._labels: dict[str, str] = {}
        self._closed = False

    def swap(self, pool: Pool, word: str) -> str:
        """The mask of a word, or the word itself while words are still being gathered."""
        if pool is Pool.NAME and word in self._found[Pool.HOST]:
            pool = Pool.HOST
        if pool is Pool.NAME and is_kept(word):
            self._kept.add(word)
            return word
        if self._closed:
            return self._masks[pool, word]
        self._found[pool].add(word)
        return word

    def label(self, label: str) -> str | None:
        """The mask of a partition's label that was too long for its place; None for other labels."""
        return self._labels.get(label)

    def close(self) -> None:
        """Give every word its mask; the order of serial numbers, and of WWNs, stays what it is."""
        self._closed = True
        self._found[Pool.NAME] -= self._found[Pool.HOST]
        for pool, words in self._found.items():
            digits = max(3, len(str(len(words))))
            for number, word in enumerate(sorted(words, key=natural), 1):
                self._masks[pool, word] = _mask(pool, word, number, digits)
        names = self._found[Pool.NAME] | self._kept
        for name in self._found[Pool.NAME]:
            for limit in _SHORTENED:
                self._masks[Pool.NAME, shorten(name, limit)] = self._masks[Pool.NAME, name]
        for host in self._found[Pool.HOST]:
            for group in (name for name in names if len(f"stackctl:{name}:{host}") > _PARTITION_LABEL):
                masked = Marks(self.swap(Pool.HOST, host), self.swap(Pool.NAME, group))
                self._labels[Marks(host, group).partition_label] = masked.partition_label

    def masks(self) -> Iterator[tuple[Pool, str, str]]:
        """Every word with its pool and its mask."""
        yield from ((pool, word, mask) for (pool, word), mask in self._masks.items())


def _mask(pool: Pool, word: str, number: int, digits: int) -> str:
    if pool is Pool.SERIAL:
        return f"SERIAL-{number:0{digits}}"
    if pool is Pool.UUID:
        return f"{number:0{len(word)}}"
    if pool is Pool.WWN:
        prefix = next((start for start in _WWN_PREFIXES if word.startswith(start)), "")
        body = word.removeprefix(prefix)
        return f"{prefix}{number:0{len(body) if re.fullmatch('[0-9a-fA-F]+', body) else 16}}"
    if pool is Pool.ADDRESS:
        return _address(word, number)
    return f"{pool.value}{number}"


def _address(word: str, number: int) -> str:
    """An address that is nobody's: 198.18.0.0/15 (RFC 2544), 2001:db8::/32 (RFC 3849), a locally administered MAC."""
    high, low = divmod(number, 256)
    if "." in word:
        return f"198.{18 + high // 256 % 2}.{high % 256}.{low}"
    if re.fullmatch(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", word):
        return f"02:00:00:{high // 256 % 256:02x}:{high % 256:02x}:{low:02x}"
    return f"2001:db8::{number:x}"
