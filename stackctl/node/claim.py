"""The claim: one sector that says that a disk is being prepared and holds nothing of worth yet.

It is written, and on the medium, before anything else is written to a disk, and taken away when the volume
group on it is whole. Whatever half-written state a power cut leaves in between is thereby known to be ours.
A sector is written whole or not at all; the record fits in one of 512 bytes.
"""

import hashlib
import json

from .system import System

OFFSET = 512 * 1024
"""Where it lies: behind the partition table, before the first partition at 1 MiB, where no tool looks."""

_MAGIC = b"stackctl claim 1\n"
_SECTOR = 512
_BLOCK = 4096
_DIGEST = 64


def encode(claim: dict[str, str]) -> bytes:
    """The claim as a block of 4096 bytes, all of it in the first 512. Raises ValueError when it does not fit."""
    body = json.dumps(claim, sort_keys=True, separators=(",", ":")).encode()
    record = _MAGIC + hashlib.sha256(body).hexdigest().encode() + body + b"\n"
    if len(record) > _SECTOR:
        raise ValueError(f"a claim of {len(record)} bytes does not fit into a sector")
    return record.ljust(_BLOCK, b"\0")


def decode(block: bytes) -> dict[str, str] | None:
    """The claim in a sector, or None where there is none or not a whole one."""
    if not block.startswith(_MAGIC):
        return None
    record = block[len(_MAGIC) : _SECTOR].split(b"\n", 1)[0]
    digest, body = record[:_DIGEST], record[_DIGEST:]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        return None
    claim = json.loads(body)
    return {str(key): str(value) for key, value in claim.items()}


def read(system: System, name: str) -> dict[str, str] | None:
    """The claim on the named disk, if there is one."""
    return decode(system.read_at(name, OFFSET, _SECTOR))


def write(system: System, name: str, claim: dict[str, str]) -> None:
    """Put a claim on the named disk and wait until it is on the medium."""
    system.write_at(name, OFFSET, encode(claim))


def erase(system: System, name: str) -> None:
    """Take the claim off the named disk and wait until it is off the medium."""
    system.write_at(name, OFFSET, bytes(_BLOCK))
