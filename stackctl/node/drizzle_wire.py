"""Drizzle's MySQL protocol with nothing but the standard library: a small client, and what its unit runs.

Drizzle reads the hash of a client that announces PLUGIN_AUTH as plain text, so that MariaDB's command line cannot log
in; its own client takes the password from the command line only, where everybody can read it. As a program, this file
is installed beside the server: ``free`` waits until nobody holds the data, ``ready`` until the server answers.
"""

import argparse
import fcntl
import hashlib
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_LONG_PASSWORD, _PROTOCOL_41, _TRANSACTIONS, _SECURE_CONNECTION = 0x1, 0x200, 0x2000, 0x8000
_MOST = (1 << 24) - 1
_UTF8 = 33
_QUIT, _USE, _QUERY = 1, 2, 3
_OK, _NULL, _EOF, _ERROR = 0x00, 0xFB, 0xFE, 0xFF
ACCESS_DENIED, NO_DATABASE = 1045, 1049
Row = tuple[bytes | None, ...]

_FLOCK = "@hhqqi4x"
"""struct flock of Linux on 64-bit machines: type, whence, start, length, pid."""
_POLL = 0.1


class WireError(Exception):
    """The server refuses, or says what is no MySQL protocol; ``code`` is its error number, 0 without one."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Client:
    """A connection as one user, over TCP. Raises OSError where nobody answers, WireError where one refuses."""

    def __init__(self, host: str, port: int, user: str, password: str, timeout: float = 30.0) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout)
        self._stream = self._socket.makefile("rb")
        self._sequence = 0
        try:
            self.version, scramble = self._greeting()
            self._login(user, password, scramble)
        except BaseException:
            self._hang_up()
            raise

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._command(_QUIT, b"")
        except OSError:
            pass
        finally:
            self._hang_up()

    def use(self, database: str) -> None:
        """Choose a database; WireError with NO_DATABASE where there is none of this name."""
        self._command(_USE, database.encode())
        self._checked()

    def query(self, sql: str) -> list[Row]:
        """Run one statement; its rows, as the server wrote them."""
        self._command(_QUERY, sql.encode())
        columns = self._checked()[0]
        if columns == _OK:
            return []
        for _ in range(columns):
            self._read()
        self._read()  # the end of the columns
        rows: list[Row] = []
        while not _is_end(packet := self._checked()):
            rows.append(_row(packet, columns))
        return rows

    def _greeting(self) -> tuple[str, bytes]:
        packet = self._checked()
        if packet[0] != 10:
            raise WireError("it greets in another protocol than MySQL's")
        version, _, rest = packet[1:].partition(b"\0")
        # thread 4, scramble 8, a zero, capabilities 2, character set 1, status 2, 13 that we have no use for
        return version.decode(errors="replace"), rest[4:12] + rest[31:43]

    def _login(self, user: str, password: str, scramble: bytes) -> None:
        flags = _LONG_PASSWORD | _PROTOCOL_41 | _TRANSACTIONS | _SECURE_CONNECTION
        answer = _hashed(password.encode(), scramble)
        packet = struct.pack("<IIB23x", flags, _MOST, _UTF8) + user.encode() + b"\0"
        self._write(packet + bytes([len(answer)]) + answer)
        if self._checked()[0] == _EOF:
            raise WireError("it asks for another way to log in than mysql_native_password")

    def _checked(self) -> bytes:
        packet = self._read()
        if packet[:1] == bytes([_ERROR]):
            (code,) = struct.unpack_from("<H", packet, 1)
            text = packet[3:].decode(errors="replace")
            raise WireError(text[6:] if text.startswith("#") else text, code)
        return packet

    def _command(self, command: int, body: bytes) -> None:
        self._sequence = 0
        self._write(bytes([command]) + body)

    def _write(self, body: bytes) -> None:
        self._socket.sendall(struct.pack("<I", len(body))[:3] + bytes([self._sequence]) + body)
        self._sequence = (self._sequence + 1) % 256

    def _read(self) -> bytes:
        head = self._exactly(4)
        self._sequence = (head[3] + 1) % 256
        body = self._exactly(int.from_bytes(head[:3], "little"))
        if not body:
            raise WireError("it sends an empty answer")
        return body

    def _exactly(self, size: int) -> bytes:
        data = self._stream.read(size)
        if len(data) != size:
            raise ConnectionResetError("the server hung up")
        return data

    def _hang_up(self) -> None:
        self._stream.close()
        self._socket.close()


def _hashed(password: bytes, scramble: bytes) -> bytes:
    """mysql_native_password: SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password)))."""
    if not password:
        return b""
    first = hashlib.sha1(password).digest()  # noqa: S324
    second = hashlib.sha1(scramble + hashlib.sha1(first).digest()).digest()  # noqa: S324
    return bytes(one ^ other for one, other in zip(first, second, strict=True))


def _is_end(packet: bytes) -> bool:
    return packet[0] == _EOF and len(packet) < 9


def _row(packet: bytes, columns: int) -> Row:
    values: list[bytes | None] = []
    at = 0
    for _ in range(columns):
        length, at = packet[at], at + 1
        if length == _NULL:
            values.append(None)
            continue
        if length > _NULL:
            size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[length]
            length, at = int.from_bytes(packet[at : at + size], "little"), at + size
        values.append(packet[at : at + length])
        at += length
    return tuple(values)


def first_user(file: Path) -> tuple[str, str]:
    """Name and password of the first line in auth_file's users file."""
    name, _, password = file.read_text().splitlines()[0].partition(":")
    return name, password


def is_free(directory: Path) -> bool:
    """Whether no process holds InnoDB's lock on the data in a directory."""
    try:
        descriptor = os.open(directory / "ibdata1", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    finally:
        os.close(descriptor)
    return bool(struct.unpack(_FLOCK, answer)[0] == fcntl.F_UNLCK)


def answers(host: str, port: int, name: str = "", password: str = "") -> bool:
    """Whether a server takes connections; it need not let this user in."""
    try:
        with Client(host, port, name, password):
            return True
    except WireError as refusal:
        return refusal.code != 0
    except OSError:
        return False


def _wait(condition: Callable[[], bool], process: int = 0) -> None:
    """Wait as long as the unit's time-out allows, but not for a process that has ended."""
    while not condition():
        if process:
            os.kill(process, 0)
        time.sleep(_POLL)


def main(argv: Sequence[str]) -> int:
    """The program; gives its exit code."""
    parser = argparse.ArgumentParser(description="What the unit of drizzled runs before and after its start.")
    commands = parser.add_subparsers(dest="command", required=True)
    free = commands.add_parser("free", help="wait until no process holds the data")
    free.add_argument("directory", type=Path)
    ready = commands.add_parser("ready", help="wait until the server answers; tell it where its gearmands are")
    ready.add_argument("host")
    ready.add_argument("port", type=int)
    ready.add_argument("--users", type=Path)
    ready.add_argument("--gearman", metavar="HOST:PORT,...")
    words = parser.parse_args(argv)
    if words.command == "free":
        _wait(lambda: is_free(words.directory))
        return 0
    try:
        _wait(lambda: answers(words.host, words.port), int(os.environ.get("MAINPID") or 0))
    except ProcessLookupError:
        sys.stderr.write("drizzled has ended\n")
        return 1
    if words.gearman and words.users:
        servers = words.gearman.replace("'", "")
        try:
            with Client(words.host, words.port, *first_user(words.users)) as client:
                taken = client.query(f"SELECT gman_servers_set('{servers}')")[0][0]
        except (WireError, OSError) as failure:
            sys.stderr.write(f"gearman_udf is not told of {servers}: {failure}\n")
            return 1
        if taken is None:
            sys.stderr.write(f"gearman_udf does not take {servers}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
