"""Many new items are predicted a block at a time: the same numbers, in memory that does not grow with the items."""

import tracemalloc
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli.analysis import predictive
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.draws import states_of

pytestmark = [pytest.mark.usefixtures("commands"), pytest.mark.filterwarnings("ignore::splitmerge_cli.NotConverged")]

FEW: dict[str, Any] = {"iterations": 60, "chains": 2, "progress": "none", "options": {"trace.partitions": 2}}


def draw_points(N: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(N, 3)) + 6 * generator.integers(2, size=(N, 1))


def as_frame(points: np.ndarray) -> pd.DataFrame:
    words = np.where(points[:, 1] > 3, "high", "low")
    return pd.DataFrame({"place": points[:, 0], "word": words, "count": np.abs(points[:, 2]).astype(int)})


def ties(N: int, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((N, 34)) < 0.2).astype(int)


CASES: dict[str, tuple[Any, Any, Any, bool]] = {
    "gaussian": ("gaussian", draw_points(60, 0), draw_points(95, 1), True),
    "full": ({"name": "gaussian", "covariance": "full"}, draw_points(60, 0), draw_points(95, 1), True),
    "iso": ({"name": "gaussian", "covariance": "iso"}, draw_points(60, 0), draw_points(95, 1), True),
    "bernoulli": ("bernoulli", draw_points(60, 0) > 3, draw_points(95, 1) > 3, True),
    # its constants are rounded to a grid that follows the items at hand
    "mixed": ("mixed", as_frame(draw_points(60, 0)), as_frame(draw_points(95, 1)), False),
    "irm": ("irm", networkx.karate_club_graph(), ties(95, 1), True),
}


@pytest.mark.parametrize("name", CASES)
def test_blocks_change_no_prediction(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, data, new, is_exact = CASES[name]
    posterior = sm.sample(model, data, seed=2, **FEW)
    found = []
    for size in (1_000, 20):
        monkeypatch.setattr(predictive, "BLOCK", size)
        monkeypatch.setattr(predictive, "BLOCK_COUPLED", size)
        found.append([posterior.predict_proba(new), posterior.log_predictive(new), posterior.predict(new)])
    for whole, blocks in zip(*found, strict=True):
        assert len(blocks) == 95
        np.testing.assert_allclose(blocks, whole, rtol=0, atol=0 if is_exact else 1e-11)


def test_missing_cells_are_read_in_blocks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some blocks have none; the message of a model that reads none counts the rows of all."""
    new = draw_points(95, 1)
    new[50, 1] = np.nan
    found = []
    for size in (1_000, 20):
        monkeypatch.setattr(predictive, "BLOCK", size)
        found.append(sm.sample("gaussian", draw_points(60, 0), seed=2, **FEW).log_predictive(new))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-11)
    with pytest.raises(ConfigError, match=r"^model.covariance=iso: row 51, column 2: a missing cell"):
        sm.sample({"name": "gaussian", "covariance": "iso"}, draw_points(60, 0), seed=2, **FEW).predict(new)


def test_memory_does_not_grow_with_the_new_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the table itself and the result, 60 bytes a row; without blocks a row takes 8 for each of 30 states."""
    posterior = sm.sample("gaussian", draw_points(60, 0), seed=2, **FEW)
    states, labels = states_of(posterior.run, 30), posterior.labels
    monkeypatch.setattr(predictive, "BLOCK", 500)
    peaks = []
    for rows in (500, 5_000):
        new = Dataset("new", "points", draw_points(rows, 1))
        tracemalloc.start()
        predictive.predict(posterior._model, posterior.dataset, new, states, labels)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert len(states) == 30 and peaks[1] - peaks[0] < 4_500 * 120
