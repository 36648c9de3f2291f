"""What the comparison of both ends tells."""

import pytest

from stackctl.database.checksum import Checksum
from stackctl.database.verify import Verdict

A, B, MORE = Checksum(2, "a" * 64), Checksum(2, "b" * 64), Checksum(3, "c" * 64)


@pytest.mark.parametrize(
    ("moved", "target", "source", "fault"),
    [
        (A, A, A, None),
        (A, B, A, "the target's 2 rows are not those that were written"),
        (A, MORE, A, "the target holds 3 rows where 2 were written"),
        (A, A, B, "rows of the source have changed since they were moved"),
        (A, A, MORE, "the source has 3 rows by now; 2 were moved"),
        (A, B, B, "the target's 2 rows are not those that were written"),
    ],
)
def test_faults(moved: Checksum, target: Checksum, source: Checksum, fault: str | None) -> None:
    verdict = Verdict("t", moved, target, source)
    assert verdict.fault == verdict.difference == fault
    assert verdict.to_json() == {"table": "t", "rows": moved.rows, "checksum": moved.digits, "fault": fault}


def test_another_definition_is_no_difference_of_rows() -> None:
    verdict = Verdict("t", A, A, A, redefined=True)
    assert verdict.difference is None
    assert verdict.fault is not None
