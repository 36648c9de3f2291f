"""Which of the subset's two collations comes nearest to one of an engine, and whether it is the same."""

from stackctl.database.schema import Collation

CHARSETS = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii", "latin1"})
"""Character sets whose every text is carried over unchanged."""
WIDENING = {"latin1": 3}
"""Bytes in UTF-8 that a byte of the character set can become, where that is more than one."""

_SAME: dict[str, Collation] = {
    **{f"{charset}_general_ci": "general_ci" for charset in ("utf8mb4", "utf8mb3", "utf8", "ascii")},
    **{f"{charset}_bin": "bin" for charset in ("utf8mb4", "utf8mb3", "utf8", "ascii", "latin1")},
}


def nearest(collation: str) -> tuple[Collation, bool]:
    """The collation of the subset for an engine's, and whether both hold the same texts for equal."""
    if same := _SAME.get(collation):
        return same, True
    tells_case = collation.endswith(("_bin", "_cs"))
    return ("bin" if tells_case else "general_ci"), False
