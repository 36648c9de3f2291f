"""The server as the node's code sees it: files, sysfs and block devices under a root, and a runner."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .process import Runner, SystemRunner


class System:
    """Reads and writes below ``root``, so that a test can give a folder of its own for a server."""

    def __init__(self, runner: Runner | None = None, root: Path = Path("/")) -> None:
        self.runner: Runner = runner or SystemRunner()
        self.root = root

    def path(self, path: str) -> Path:
        """Where the server's absolute ``path`` lies."""
        return self.root / path.lstrip("/")

    def device(self, name: str) -> Path:
        """The node of the block device that the kernel calls ``name``."""
        return self.path(f"/dev/{name.replace('!', '/')}")

    def text(self, path: str) -> str | None:
        """The whole text of a file, or None where it cannot be read."""
        try:
            return self.path(path).read_text(errors="replace")
        except OSError:
            return None

    def value(self, path: str) -> str | int | None:
        """A one-line file of sysfs: an integer where it reads as one."""
        text = self.text(path)
        if text is None:
            return None
        text = text.strip()
        return int(text) if text.isascii() and text.lstrip("-").isdigit() else text

    def number(self, path: str) -> int:
        """A one-line file of sysfs as a number; 0 where there is none."""
        value = self.value(path)
        return value if isinstance(value, int) else 0

    def names(self, path: str) -> list[str]:
        """What a folder holds, sorted; nothing where there is no such folder."""
        try:
            return sorted(entry.name for entry in self.path(path).iterdir())
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        """The last part of what a link points to, all links followed."""
        place = self.path(path)
        return place.resolve().name if place.exists() else None

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        """Bytes of a block device; fewer, or none, where it cannot be read."""
        try:
            with self.device(name).open("rb", buffering=0) as device:
                device.seek(offset)
                return device.read(length) or b""
        except OSError:
            return b""

    def write_at(self, name: str, offset: int, data: bytes) -> None:
        """Write bytes to a block device and wait until the medium has them. Raises OSError."""
        device = os.open(self.device(name), os.O_WRONLY)
        try:
            written = os.pwrite(device, data, offset)
            self.sync(device)
        finally:
            os.close(device)
        if written != len(data):
            raise OSError(f"wrote {written} of {len(data)} bytes to {name} at {offset}")

    def flush(self, name: str) -> None:
        """Wait until a block device has on its medium all that was written to it. Raises OSError."""
        device = os.open(self.device(name), os.O_WRONLY)
        try:
            self.sync(device)
        finally:
            os.close(device)

    def replace_text(self, path: str, text: str) -> None:
        """Give a file a new text in one step: a reader, or a power cut, sees the old or the new one whole."""
        place = self.path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        mode = place.stat().st_mode & 0o777 if place.exists() else 0o644
        beside = place.with_name(f".{place.name}.stackctl")
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            self.sync(file.fileno())
        beside.replace(place)
        with _folder(place.parent) as folder:
            self.sync(folder)

    def sync(self, descriptor: int) -> None:
        """Wait until what was written is on the medium."""
        os.fsync(descriptor)

    def settle(self) -> None:
        """Wait until udev has dealt with what it has been told; nothing where there is no udev."""
        self.runner.run(["udevadm", "settle", "--timeout=120"], check=False, timeout=150)

    def free(self, name: str) -> bool:
        """Whether nothing in the kernel holds the block device, in any namespace."""
        try:
            device = os.open(self.device(name), os.O_RDONLY | os.O_EXCL)
        except OSError:
            return False
        os.close(device)
        return True


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        with suppress(OSError):
            os.close(descriptor)
