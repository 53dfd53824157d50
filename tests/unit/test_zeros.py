"""Zeros of counts apart: what ``model=auto`` compares, and what a run says without them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from splitmerge_cli.config import specify
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables import choice
from splitmerge_cli.kinds.tables.answers import ColumnAnswers, count_like
from splitmerge_cli.kinds.tables.models.mixed_cells import FORMS_OF_COUNTS
from splitmerge_cli.kinds.tables.quantities import ZEROS

COUNT = ColumnType("count")
FORM = next(iter(FORMS_OF_COUNTS))


def inflated(N: int = 240, seed: int = 0) -> tuple[Dataset, np.ndarray]:
    """Two groups of counts, a third of which are 0; and clusters of like zeros within groups."""
    rng = np.random.default_rng(seed)
    z = np.repeat([0, 1], N // 2)
    above_0 = rng.random((N, 3)) > 1 / 3
    x = rng.poisson(np.array([[4.0, 5, 6], [15, 18, 16]])[z]) * above_0
    groups = np.unique(np.column_stack([z, x > 0]), axis=0, return_inverse=True)[1].reshape(-1)
    return Dataset("t", "mixed", x.astype(np.float64), types=(COUNT,) * 3), groups


@pytest.mark.parametrize(
    ("cells", "types", "options", "expected"),
    [
        ([[0.0], [3.0]], COUNT, {}, {FORM}),
        ([[0.0], [3.0]], COUNT, {"zeros": "poisson"}, set()),
        ([[1.0], [3.0]], COUNT, {}, set()),
        ([[0.0], [1.0]], COUNT, {}, set()),
        ([[0.0], [3.0]], COUNT, {"outcome": 1}, set()),
        ([[1.0], [1.0], [3.0]], COUNT, {}, {"as real numbers, model.zeros=apart"}),
    ],
)
def test_zeros_are_compared_where_there_are_any(cells, types, options, expected) -> None:
    """Of counts any zeros; of the same numbers, read as real, the spike that their column has."""
    table = Dataset("t", "mixed", np.array(cells), types=(types,))
    reals = replace(table, types=(ColumnType("real", spike=(1.0, 2.0) if len(cells) > 2 else None),))
    readings = {"as counts": table, "as real numbers": reals}
    assert set(choice.forms_of_counts(readings, options)) == expected <= set(FORMS_OF_COUNTS)


def test_clusters_that_differ_in_zeros_alone_are_counted() -> None:
    dataset, groups = inflated()
    found = count_like(dataset, groups)
    assert found == {"clusters": 14, "like": 6}
    # of clusters by their rates none is like the other
    assert count_like(dataset, np.repeat([0, 1], 120)) == {"clusters": 2, "like": 0}
    # one cluster, and columns that are not counts
    assert count_like(dataset, np.zeros(240, dtype=int)) is None
    assert count_like(Dataset("t", "points", dataset.values), groups) is None


@pytest.mark.parametrize("seed", range(8))
def test_clusters_of_plain_counts_are_not_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 300)
    x = rng.poisson(rng.gamma(1.0, 6.0, (4, 4))[labels]).astype(np.float64)
    found = count_like(Dataset("t", "mixed", x, types=(COUNT,) * 4), labels)
    assert found is not None and found["like"] < 2


def test_a_run_names_the_key_unless_zeros_were_compared() -> None:
    summary = {"zeros_differ": {"clusters": 9, "like": 6}}
    (line,) = ColumnAnswers.further_lines(summary, 1)
    assert line.startswith("6 of 9 clusters are like a larger one") and "model.zeros=apart" in line
    run = SimpleNamespace(summary=summary)
    assert ColumnAnswers.next_keys(run, {})[1] == {"model.zeros": "apart"}  # type: ignore[index, arg-type]
    few = {"zeros_differ": {"clusters": 9, "like": 2}}
    compared = summary | {"chosen": {"counts": [{"counts": "as counts"}, {"counts": FORM}]}}
    for other in (few, compared, {}):
        assert not list(ColumnAnswers.further_lines(other, 1))
        assert ColumnAnswers.next_keys(SimpleNamespace(summary=other), {}) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "observed", "chosen", "expected"),
    [
        ([], 0.37, {}, {"model.zeros": "apart"}),
        ([], 0.2, {}, None),
        (["model.zeros=apart"], 0.37, {}, None),
        ([], 0.37, {"counts": [{"counts": "as counts"}, {"counts": FORM}]}, None),
    ],
)
def test_too_many_zeros_have_an_answer(words, observed, chosen, expected) -> None:
    unlike = [{"subject": "4 columns", "quantity": f"mean {ZEROS}", "observed": observed, "low": 0.3, "high": 0.35}]
    spec = specify(["data=csv", "data.path=x.csv", "model=mixed", *words])
    found = ColumnAnswers.another_model(unlike, {"chosen": chosen}, spec.model.values, spec.data.values, ())
    assert (found and found[1]) == expected
