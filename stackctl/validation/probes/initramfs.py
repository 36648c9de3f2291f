"""One file out of initramfs images, read without unpacking them.

An image is a row of cpio archives ("newc"), the last of them compressed. Source: the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from io import BufferedReader
from pathlib import Path

from stackctl.node.process import ProcessError, reading

_FILTERS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ": "xz",
    b"\x02\x21\x4c\x18": "lz4",
    b"BZh": "bzip2",
}
_HEADER = 110
_END = "TRAILER!!!"


class ImageError(Exception):
    """The image is none that we can read."""


def file_in(images: list[str], name: str) -> dict[str, dict[str, str | None]]:
    """The text of the file ``name`` (without a leading slash) in each image, or why there is none."""
    found: dict[str, dict[str, str | None]] = {}
    for image in images:
        try:
            with Path(image).open("rb") as stream:
                text = _find(stream, name)
            found[image] = {"text": text, "wrong": None if text is not None else f"it holds no /{name}"}
        except (OSError, ProcessError, ImageError) as failure:
            found[image] = {"text": None, "wrong": str(failure)}
    return found


def _find(stream: BufferedReader, name: str) -> str | None:
    while True:
        while (start := stream.peek(8)[:8]).startswith(b"\0"):
            stream.read(4)
        if not start:
            return None
        if start.startswith(b"07070"):
            found = _in_archive(stream, name)
            if found is not None:
                return found
            continue
        program = next((program for magic, program in _FILTERS.items() if start.startswith(magic)), None)
        if program is None:
            raise ImageError(f"its part that begins with {start!r} is packed in an unknown way")
        with reading([program, "-dc"], stream) as plain:
            return _find(plain, name)


def _in_archive(stream: BufferedReader, name: str) -> str | None:
    """The file's text; None once the archive has ended."""
    while True:
        header = stream.read(_HEADER)
        if len(header) < _HEADER or not header.startswith(b"07070"):
            raise ImageError("its archive is damaged")
        size, length = int(header[54:62], 16), int(header[94:102], 16)
        entry = stream.read(_padded(_HEADER + length) - _HEADER)[: length - 1].decode(errors="replace")
        if entry.removeprefix("./") == name:
            return stream.read(size).decode(errors="replace")
        if entry == _END:
            return None
        _skip(stream, _padded(size))


def _padded(size: int) -> int:
    return -(-size // 4) * 4


def _skip(stream: BufferedReader, size: int) -> None:
    while size > 0:
        part = stream.read(min(size, 1 << 20))
        if not part:
            raise ImageError("its archive ends early")
        size -= len(part)
