"""Query probabilities in the hash tables of Luo & Shrivastava 2018 (docs/derivations.md)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from cases_lshsm import POINTS, READINGS, TABLES
from reference_lshsm import Tables


@pytest.mark.parametrize("shape", TABLES, ids=str)
@pytest.mark.parametrize("reading", READINGS)
def test_probabilities_of_a_query(shape, reading):
    """They add up to one, or nothing is found; an item never finds itself, and is found by those that it finds."""
    tables = Tables.draw(POINTS, *shape)
    for opposite in (False, True):
        q = tables.probabilities(opposite, reading)
        for u in range(5):
            assert sum(q[u]) == (1 if tables.query(u, opposite) else 0)
            assert q[u][u] == 0
            assert [p > 0 for p in q[u]] == [q[v][u] > 0 for v in range(5)]


def test_table_reading_by_hand():
    """Two tables of one bit: in the first item 0 is with 1 and 2, in the second with 1 alone."""
    points = [[2.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    tables = Tables(points, np.eye(2), 1, centre=False)
    assert tables.query(0, False) == [[1, 2], [1]]
    assert tables.query(0, True) == [[3], [2, 3]]
    assert tables.row(0, False, "table") == [0, Fraction(3, 4), Fraction(1, 4), 0]
    assert tables.row(0, True, "table") == [0, 0, Fraction(1, 4), Fraction(3, 4)]
    assert tables.row(0, True, "union") == [0, 0, Fraction(1, 2), Fraction(1, 2)]


def test_an_item_at_the_centre_is_in_no_bucket():
    points = [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    tables = Tables.draw(points, 1, 3, 0)
    assert tables.codes[2] is None
    for opposite in (False, True):
        assert tables.query(2, opposite) == []
        assert all(row[2] == 0 for row in tables.probabilities(opposite, "table"))


def test_an_empty_bucket_counts_for_no_table():
    points = [[1.0, 1.0], [2.0, 0.5], [1.0, -0.1]]
    tables = Tables(points, np.eye(2), 1, centre=False)
    assert tables.query(0, True) == [[2]]
    assert tables.row(0, True, "table") == [0, 0, 1]
    assert tables.query(2, False) == [[0, 1]]
