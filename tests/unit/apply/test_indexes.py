"""What pip says is told in plain words."""

import pytest

from stackctl.apply import indexes
from stackctl.process import ProcessError, Result

_RETRY = (
    "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
    "'NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f>: "
    "Failed to establish a new connection: {why}')': /simple/x/\n"
    "ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\n"
    "ERROR: No matching distribution found for x==1\n"
)
_SAID = {
    "refused": (_RETRY.format(why="[Errno 111] Connection refused"), "does not serve us: Connection refused"),
    "unresolved": (
        _RETRY.format(why="[Errno -2] Name or service not known"), "does not serve us: Name or service not known",
    ),
    "certificate": (
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'SSLError(SSLCertVerificationError(1, "
        "'[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:992)'))'\n"
        "ERROR: No matching distribution found for x==1\n",
        "CERTIFICATE_VERIFY_FAILED",
    ),
    "proxy": (
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError('Cannot connect to proxy.', "
        "OSError('Tunnel connection failed: 407'))': /simple/x/\nERROR: No matching distribution found for x==1\n",
        "Cannot connect to proxy",
    ),
    "status": (
        "ERROR: HTTP error 403 while getting http://h/x.whl\n"
        "ERROR: Could not install requirement x==1 because of HTTP error 403 Client Error: Forbidden "
        "for url: http://h/x.whl\n",
        "403 Client Error: Forbidden",
    ),
    "absent": (
        "ERROR: Could not find a version that satisfies the requirement x==1 (from versions: 2)\n"
        "ERROR: No matching distribution found for x==1\n",
        "has no x==1 for Python 3.11",
    ),
    "perhaps": (
        "ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\n"
        "ERROR: No matching distribution found for x==1\n",
        "has no x==1 for Python 3.11, or does not answer",
    ),
    "hash": (
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated\n"
        "    x==1 from http://h/x.whl (from -r requirements.txt (line 1)):\n        Expected sha256 00\n",
        "other bytes for x==1",
    ),
    "space": ("ERROR: Could not install due to an OSError: [Errno 28] No space left on device\n", "no space"),
    "pip": ("/usr/bin/python3: No module named pip\n", "pip is missing"),
    "build": ("ERROR: Failed building wheel for x\nERROR: Failed to build x\n", "cannot be built"),
}  # fmt: skip


@pytest.mark.parametrize("name", _SAID)
def test_each_failure_has_words_and_a_hint(name: str) -> None:
    said, words = _SAID[name]
    error = indexes.explained(ProcessError(Result(("python", "-m", "pip"), 1, stderr=said)), "Python 3.11")
    assert words in error.message
    assert error.hint


def test_what_nobody_foresaw_is_shown_as_it_is() -> None:
    failure = ProcessError(Result(("python",), 1, stderr="ERROR: the moon is full"))
    assert indexes.explained(failure, "Python 3.11") is failure


@pytest.mark.parametrize(("name", "lacking"), [("absent", True), ("refused", False), ("hash", False)])
def test_only_an_index_that_answers_can_lack_a_package(name: str, lacking: bool) -> None:
    assert indexes.lacks(_SAID[name][0]) is lacking
