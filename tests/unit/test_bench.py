"""The rows of `make bench`, one round each: the plain C takes the same steps. No times."""

from dataclasses import replace

import pytest

from bench import rows

pytestmark = pytest.mark.xdist_group("bench")
ROWS = rows.rows()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.name}: {row.what}" for row in ROWS])
def test_the_plain_c_takes_the_same_steps(row: rows.Row) -> None:
    result = rows.measure(replace(row, peers={}), 1)
    assert result.probability_gap < 1e-9
    assert result.same_labels or not row.same
