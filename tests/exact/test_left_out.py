"""Densities of an item given all others, of tables that score it against blocks of clusters: from likelihoods."""

import numpy as np
import pytest

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.models.mixed import Mixed

TYPES = (
    *(
        ColumnType("binary", ("0", "1")),
        ColumnType("categorical", ("a", "b", "c")),
        ColumnType("ordinal", tuple("1234")),
    ),
    *(ColumnType("count"), ColumnType("real"), ColumnType("real")),
)
FIXED = {"m0": 0.0, "b0": 1.0, "rate": 0.3, "cuts": [-0.7, 0.1, 0.9], "resolution": "none"}
LABELS = np.array([0, 0, 1, 1, 1, 2, 0, 3, 3, 4], dtype=np.int32)
"""Two items are alone."""


def rows_of(gaps: float) -> np.ndarray:
    rng, n = np.random.default_rng(8), len(LABELS)
    discrete = [rng.integers(0, levels, n) for levels in (2, 3, 4)]
    rows = np.column_stack([*discrete, rng.poisson(3, n), rng.normal(size=(n, 2))]).astype(float)
    rows[rng.random(rows.shape) < gaps] = np.nan
    return rows


def build(rows: np.ndarray, **options: object) -> Mixed:
    return Mixed.from_data(Dataset("t", "mixed", np.ascontiguousarray(rows), types=TYPES), **FIXED, **options)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("options", [{}, {"covariance": "full"}, {"select": True}], ids=str)
def test_densities_given_the_others_are_ratios_of_likelihoods(options: dict[str, object], gaps: float) -> None:
    if gaps and options.get("covariance"):
        options = {}  # missing cells are a part of the state there
    rows, K = rows_of(gaps), int(LABELS.max()) + 1
    model = build(rows, **options)
    model.set_labels(LABELS)
    density, weight = model.left_out_predictive()
    assert density.shape == weight.shape == (len(rows), K + 1)
    for i in range(len(rows)):
        lone = build(rows[[i]], **options)
        lone.set_labels(np.zeros(1, dtype=np.int32))
        log_lik = np.full(K + 1, -np.inf)
        for k in range(K + 1):
            if k < K and not (np.delete(LABELS, i) == k).any():
                continue
            moved = LABELS.copy()
            moved[i] = k
            model.set_labels(np.unique(moved, return_inverse=True)[1].astype(np.int32))
            log_lik[k] = model.log_lik_total()
        expected = log_lik - log_lik[K] + (lone.log_lik_total() if not options.get("select") else density[i, K])
        np.testing.assert_allclose(density[i], expected, atol=1e-9)
