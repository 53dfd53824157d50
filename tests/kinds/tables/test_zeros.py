"""Zeros of counts apart: what ``model=auto`` compares, and what a run says without them."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import splitmerge_cli
from splitmerge_cli.api import selection
from splitmerge_cli.config import specify
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.inference import find_spike
from splitmerge_cli.fits.short_fits import short_fits
from splitmerge_cli.kinds.tables import choice
from splitmerge_cli.kinds.tables.answers import ColumnAnswers, count_like
from splitmerge_cli.kinds.tables.columns import describe_telling, statistics
from splitmerge_cli.kinds.tables.models.mixed_cells import FORMS_OF_COUNTS
from splitmerge_cli.kinds.tables.models.real_columns import settle_resolution
from splitmerge_cli.kinds.tables.plots.columns import _map_rows
from splitmerge_cli.kinds.tables.quantities import ZEROS

COUNT = ColumnType("count")
FORM = next(iter(FORMS_OF_COUNTS))


def zero_inflated_counts(N: int = 240, seed: int = 0) -> tuple[Dataset, np.ndarray]:
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
    """Counts need any zero; numbers that are read as real need a column with a spike."""
    table = Dataset("t", "mixed", np.array(cells), types=(types,))
    reals = replace(table, types=(ColumnType("real", spike=(1.0, 2.0) if len(cells) > 2 else None),))
    readings = {"as counts": table, "as real numbers": reals}
    assert set(choice.forms_of_counts(readings, options)) == expected <= set(FORMS_OF_COUNTS)


def test_clusters_that_differ_in_zeros_alone_are_counted() -> None:
    dataset, groups = zero_inflated_counts()
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


def spending(N: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two groups of customers, four in ten of which spend nothing."""
    rng = np.random.default_rng(seed)
    z = np.repeat([0, 1], N // 2)
    spend = np.round(rng.normal(np.where(z == 0, 120.0, 260.0), 30.0), 1) * (rng.random(N) > 0.4)
    age = np.round(rng.normal(np.where(z == 0, 30.0, 55.0), 5.0))
    return pd.DataFrame({"spend": spend, "age": age}), z


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([0.0] * 40 + [1.5 + i / 4 for i in range(60)], (0.0, 0.25)),
        # rounding errors are no step
        ([0.3] * 40 + [0.1 + 0.2, *(1.5 + i / 4 for i in range(60))], (0.3, 0.25)),
        # a scale of five numbers
        ([1.0, 2.5, 3.0, 4.0, 5.0] * 20, None),
        # fewer than a fifth, which stand out or do not
        ([0.0] * 15 + [1.5 + i / 4 for i in range(85)], (0.0, 0.25)),
        ([0.0] * 15 + [1.5 + i // 2 / 4 for i in range(85)], None),
        ([0.0] * 15 + [1.5 + i / 4 for i in range(985)], None),
        ([0.0] * 11 + [1.5 + i / 4 for i in range(20)], None),
        ([0.0] * 40 + [1.5] * 3, None),
        ([0.0] * 40 + [math.nan] * 30 + [1.5 + i for i in range(20)], (0.0, 1.0)),
    ],
)
def test_a_spike_is_one_number_in_many_cells(cells, expected) -> None:
    assert find_spike(np.array(cells)) == (expected and pytest.approx(expected))


def test_a_table_is_read_with_its_spikes() -> None:
    """New rows have those of the data, and a column on a scale has its spike there, the same number in all cells."""
    frame, _ = spending()
    table = from_object(frame, "mixed")
    assert [column.spike for column in table.types or ()] == [(0.0, pytest.approx(0.1)), None]
    assert any("model.zeros=apart" in note for note in table.notes)
    new = table.kind.new_items(table, frame.iloc[:3])
    assert new.types is table.types
    on_scale = from_object(frame, "mixed", scale={"spend": 0.5})
    assert on_scale.types is not None and on_scale.types[0].spike == (0.0, pytest.approx(0.1))
    shifted = from_object(frame.assign(spend=frame["spend"] + 7.0), "mixed", scale={"spend": "log"})
    number, _ = shifted.types[0].spike  # type: ignore[index, misc]
    assert number == pytest.approx(np.log(7.0))
    assert (shifted.values[:, 0] == number).sum() == (frame["spend"] == 0).sum()
    # a log density over a step, in the units of the data, whatever the scale
    for one, scale_length in ((table, 0.0), (shifted, -np.log(7.0))):
        steps = one.kind.log_steps(one, {"zeros": "apart"})
        is_spike = np.asarray(frame["spend"] == 0)
        assert steps[is_spike] == pytest.approx(-np.log(0.1) - scale_length) and not steps[~is_spike].any()
    assert not table.kind.log_steps(table, {"zeros": "poisson"}).any()
    assert not table.kind.log_steps(table, {"zeros": "apart", "outcome": "spend"}).any()


def test_the_step_of_a_column_on_a_scale_is_that_of_its_other_cells() -> None:
    """Half of the cells are 0, and no other number repeats: 0 is on the grid of any step."""
    amounts = np.append(np.zeros(60), 20.0 + np.cumsum(np.arange(60) % 7 + 1.37))
    table = from_object(pd.DataFrame({"x": amounts, "y": np.arange(120) % 11}), "mixed", scale={"x": 0.1})
    (step,) = settle_resolution(table, {})["resolution"]
    assert step == 0.0


def test_a_cluster_is_described_by_its_spike_and_the_other_cells() -> None:
    frame, z = spending()
    known = statistics(from_object(frame, "mixed"), z)
    (text,) = describe_telling(replace(known, divergence=known.divergence * [1.0, 0.0]), 0, None)
    assert text == "spend=0: 36% (others 44%), spend other than 0 = 122 (others 254)"
    # clusters by whether they spend: no cells are left to compare
    by_spike = np.asarray(frame["spend"] == 0).astype(int)
    known = statistics(from_object(frame, "mixed"), by_spike)
    assert next(iter(describe_telling(known, 1, None))) == "spend=0: 100% (others 0%)"
    rng = np.random.default_rng(1)
    some = np.where(rng.random(len(z)) < 0.2, 1 - z, z) * (1 - by_spike)
    known = statistics(from_object(frame, "mixed"), some)
    text = "; ".join(describe_telling(known, 1, None))
    assert re.search(r"spend=0: 0% \(others \d\d%\), spend other than 0 = \d+ \(others \d+\)", text)


def test_the_map_of_means_has_the_share_of_a_spike_and_the_mean_of_the_others() -> None:
    frame, z = spending()
    known = statistics(from_object(frame, "mixed"), z)
    names, means, far, are_shares = _map_rows(known, np.arange(2), np.array([1, 0]))
    assert names == ["spend=0", "spend other than 0", "age"] and are_shares == [True, False, False]
    spend = frame["spend"].to_numpy()
    for k, cluster in enumerate((1, 0)):
        cells = spend[z == cluster]
        assert means[:2, k] == pytest.approx([(cells == 0).mean(), cells[cells != 0].mean()])
    others = spend[spend != 0]
    assert far[1] == pytest.approx((means[1] - others.mean()) / others.std())
    # a cluster that spends nothing has no other cells
    known = statistics(from_object(frame, "mixed"), np.asarray(spend == 0).astype(int))
    _, means, far, _ = _map_rows(known, np.arange(2), np.array([1]))
    assert means[0, 0] == 1.0 and np.isnan(means[1, 0]) and np.isnan(far[1, 0]) and not np.isnan(far[2, 0])


def test_clusters_that_differ_by_spikes_alone_are_counted() -> None:
    frame, z = spending()
    frame["visits"] = np.roll(frame["spend"].to_numpy(), 7) / 3
    table = from_object(frame, "mixed")
    x = np.column_stack([z, frame[["spend", "visits"]] == 0])
    groups = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)
    found = count_like(table, groups)
    assert found is not None and found["clusters"] == 8 and found["like"] >= 4
    assert count_like(table, z) == {"clusters": 2, "like": 0}
    # without a spike there is nothing to say
    assert count_like(replace(table, types=(ColumnType("real"),) * 3), groups) is None


def test_auto_compares_spikes_apart() -> None:
    """Groups that differ in what they spend are found; without a spike nothing is compared."""
    frame, z = spending()
    lines: list[str] = []
    fits = short_fits(None, 0, lines.append, "none")

    def choose(frame: pd.DataFrame, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        def read(model: str, **of_table: Any) -> Dataset:
            return from_object(frame, model, **of_table)

        return selection.choose_readings(read, "gaussian", {"types": None}, options, fits, lines.append)

    keys, found = choose(frame)
    assert keys == {"model": "mixed", "model.zeros": "apart"} and found["zeros"][0]["zeros"] == "apart"
    assert any(line.startswith("spend = 0 in ") and "model=mixed model.zeros=apart" in line for line in lines)
    assert choose(frame[frame["spend"] > 0]) == ({}, {})
    assert choose(frame, zeros="poisson") == ({}, {})
    posterior = splitmerge_cli.sample("auto", frame, iterations=400, progress="none")
    assert posterior.run.config["model"]["zeros"] == "apart"
    of_groups = [np.bincount(z[posterior.labels == k]).max() for k in np.unique(posterior.labels)]
    assert len(of_groups) < 5 and sum(of_groups) > 0.9 * len(z)
