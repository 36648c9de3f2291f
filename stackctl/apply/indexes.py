"""What pip says when a package index fails it, in the operator's words."""

import re

from stackctl.errors import StackctlError
from stackctl.process import ProcessError

_LACKS = re.compile(r"No matching distribution found for (?P<name>[^\s;]+)")
_UNREACHABLE = re.compile(
    r"(?:NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError|NameResolutionError|"
    r"ConnectionResetError|ProtocolError|RemoteDisconnected|Could not fetch URL)[^\n]*?"
    r"(?P<why>(?:Connection refused|Name or service not known|Temporary failure in name resolution|No route to host|"
    r"Network is unreachable|timed out|CERTIFICATE_VERIFY_FAILED|Connection reset by peer|Remote end closed|"
    r"Cannot connect to proxy)[^\n'\"()]*)"
)
_STATUS = re.compile(r"(?:HTTP error|Client Error|Server Error)[^\n]*?(?P<why>\b[45]\d\d\b[^\n]*?) for url")
_STATUS_FIRST = re.compile(r"(?P<why>\b[45]\d\d\b (?:Client|Server) Error: [^\n]*?) for url")
_MISMATCH = re.compile(r"DO NOT MATCH THE HASHES.*?\n\s*(?P<name>\S+==\S+)", re.DOTALL)
_BUILD = re.compile(r"(?:Failed to build|Failed building wheel for) '?(?P<name>[\w.-]+)|metadata-generation-failed")
_FULL = re.compile(r"No space left on device|\[Errno 28\]")
_NO_PIP = re.compile(r"No module named '?pip\b")

_INDEX_HINT = "pip takes its index from `pip config list` and PIP_INDEX_URL on this machine"


def lacks(said: str) -> bool:
    """Whether an index answered and has no fitting file: a package may still be there as source."""
    return bool(_LACKS.search(said)) and not _trouble(said)


def explained(failure: ProcessError, target: str) -> StackctlError:
    """The error behind what pip said."""
    said = failure.result.stderr
    if _NO_PIP.search(said):
        return StackctlError(
            "pip is missing from the Python that runs stackctl", hint="install the package pip there"
        )
    if _FULL.search(said):
        return StackctlError(
            "there is no space left for the search app's packages on this machine",
            hint="`df` shows which disk is full; the cache lies in ~/.cache/stackctl, pip builds in $TMPDIR",
        )
    if found := _MISMATCH.search(said):
        return StackctlError(
            f"the package index gave other bytes for {found['name']} than requirements.lock names",
            hint="the index or something on the way to it changes packages; do not go on before you know what",
        )
    if why := _trouble(said):
        return StackctlError(f"the Python package index does not serve us: {why}", hint=_INDEX_HINT)
    if found := _LACKS.search(said):
        doubt = ", or does not answer" if "(from versions: none)" in said else ""
        return StackctlError(f"the package index has no {found['name']} for {target}{doubt}", hint=_INDEX_HINT)
    if _BUILD.search(said):
        tail = "\n".join(said.strip().splitlines()[-5:])
        return StackctlError(
            f"a package without a wheel for {target} cannot be built:\n{tail}",
            hint="use an index that has its wheels",
        )
    return failure


def _trouble(said: str) -> str | None:
    """Why an index cannot be asked; None when it answers."""
    for pattern in (_UNREACHABLE, _STATUS_FIRST, _STATUS):
        if found := pattern.search(said):
            return found["why"].strip()
    return None
