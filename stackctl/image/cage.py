"""Runs the tools that make an image: as root of a user namespace where we are not root, and never beyond our end."""

import os
from collections.abc import Sequence


def as_root(words: Sequence[str], *, euid: int | None = None) -> list[str]:
    """The command line that runs ``words`` as root: as we are, or with our subordinate user identifiers.

    Inside, root is ourselves and every other user is one of those that /etc/subuid gives us.
    """
    if (os.geteuid() if euid is None else euid) == 0:
        return list(words)
    return ["unshare", "--user", "--map-root-user", "--map-auto", *words]


def bound(words: Sequence[str], *, euid: int | None = None) -> list[str]:
    """The command line that runs ``words`` as root in a process namespace which dies with this process.

    The kernel kills what setpriv started when its parent is gone, and a namespace with its first process.
    """
    namespace = ["unshare", "--pid", "--fork", "--kill-child=KILL"]
    return ["setpriv", "--pdeathsig", "KILL", *as_root([*namespace, *words], euid=euid)]
