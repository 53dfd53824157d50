"""Clusters in the data's own terms: statistics of columns, rows of clusters, lines of text."""

import doctest
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array

from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.diagnostics import cluster_table
from splitmerge_cli.kinds import networks as block_summary
from splitmerge_cli.kinds.tables import columns as of_tables
from splitmerge_cli.kinds.tables.columns import Rows, statistics


def clusters(*args: Any, **options: Any) -> pd.DataFrame:
    """A row for each cluster."""
    return pd.DataFrame(cluster_table.describe_clusters(*args, **options))


def columns(*args: Any, **options: Any) -> pd.DataFrame:
    """A row for each cluster and column."""
    table = cluster_table.describe_columns(*args, **options)
    return pd.DataFrame(table | {"level": pd.Series(table["level"], dtype=object)})


LEVELS = ("red", "green", "blue")


def mixed_data(seed: int = 0, N: int = 60) -> tuple[Dataset, np.ndarray]:
    """Columns of every type with missing cells, and labels of four clusters, the last of one item."""
    rng = np.random.default_rng(seed)
    labels = np.append(rng.integers(0, 3, N - 1), 3)
    x = np.column_stack(
        [
            rng.normal(1e6 + 3.0 * labels, 1.0),
            rng.poisson(1 + 2 * labels),
            rng.random(N) < 0.2 + 0.3 * (labels == 1),
            rng.integers(0, 3, N),
        ]
    ).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    types = (ColumnType("real"), ColumnType("count"), ColumnType("binary", ("no", "yes")))
    types += (ColumnType("categorical", LEVELS),)
    return Dataset("own", "mixed", x, columns=["weight", "visits", "member", "colour"], types=types), labels


def divergence(kind: str, x: np.ndarray, y: np.ndarray, levels: int) -> float:
    """The definition, cell by cell."""
    if not len(x) or not len(y):
        return np.nan
    both = np.concatenate([x, y])
    if kind == "count":
        a = (x.sum() + both.mean() / 2) / (len(x) + 0.5)
        b = (y.sum() + both.mean() / 2) / (len(y) + 0.5)
        return a * np.log(a / b) - a + b
    if kind == "real":
        v = (((x - x.mean()) ** 2).sum() + both.var()) / (len(x) + 1)
        w = (((y - y.mean()) ** 2).sum() + both.var()) / (len(y) + 1)
        return 0.5 * (np.log(w / v) + (v + (x.mean() - y.mean()) ** 2) / w - 1)
    p, q = ((np.array([(z == level).sum() for level in range(levels)]) + 1 / levels) / (len(z) + 1) for z in (x, y))
    return float(stats.entropy(p, q))


@pytest.mark.parametrize("seed", range(3))
def test_columns_are_what_their_definitions_say(seed: int) -> None:
    dataset, labels = mixed_data(seed)
    table = columns(dataset, labels).set_index(["cluster", "column"])
    for j, (name, column) in enumerate(zip(dataset.columns, dataset.types, strict=True)):
        cells = dataset.values[:, j]
        known = ~np.isnan(cells)
        for k in range(4):
            x, y = cells[known & (labels == k)], cells[known & (labels != k)]
            row = table.loc[(k + 1, name)]
            expected = divergence(column.type, x, y, len(column.levels))
            np.testing.assert_allclose(row["divergence"], expected, rtol=1e-7, atol=1e-9)
            if not len(x):
                assert np.isnan(row["mean"])
            elif column.levels:
                level = 1 if column.type == "binary" else int(np.bincount(x.astype(int), minlength=3).argmax())
                share = (x == level).mean()
                assert row["level"] == column.levels[level] and row["mean"] == pytest.approx(share)
                low, high = stats.beta.ppf([0.025, 0.975], 0.5 + (x == level).sum(), 0.5 + (x != level).sum())
                assert (row["low"], row["high"]) == pytest.approx((low, high))
            else:
                assert row["mean"] == pytest.approx(x.mean()) and row["level"] is None
                if len(x) > 1:
                    low, high = stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x))
                    assert (row["low"], row["high"]) == pytest.approx((low, high))
                else:
                    assert np.isnan(row["low"])


def test_deviations_and_what_a_column_tells() -> None:
    """Over all items; a mean divergence weighs each cluster by its cells, and leaves out those without."""
    nan = np.nan
    values = np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 2.0], [nan, 2.0], [7.0, nan], [9.0, nan]])
    data = Dataset("t", "mixed", values, types=(ColumnType("real", ()), ColumnType("categorical", ("a", "b", "c"))))
    found = statistics(data, [0, 0, 1, 1, 2, 2])
    p = np.array([1, 1, 2]) / 4
    np.testing.assert_allclose(found.deviation, [np.nanstd(values[:, 0]), *np.sqrt(p * (1 - p))], rtol=1e-12)
    # no cell of the second column in the last cluster
    assert np.isnan(found.divergence).tolist() == [[False, False], [False, False], [False, True]]
    expected = [np.average(found.divergence[:, 0], weights=[2, 1, 2]), np.average(found.divergence[:2, 1])]
    np.testing.assert_allclose(found.telling, expected, rtol=1e-12)


def test_columns_that_hardly_differ_are_not_named() -> None:
    x = np.tile([0.0, 1.0, 2.0, 3.0], 4)
    data = Dataset("t", "points", np.column_stack([x, np.repeat([0.0, 9.0], 8) + x]), columns=["time", "height"])
    telling = clusters(data, np.repeat([0, 1], 8))["telling"]
    assert telling.str.contains("height").all() and not telling.str.contains("time =").any()


def test_sparse_points_are_described_as_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x = np.where(rng.random((50, 12)) < 0.3, rng.normal(size=(50, 12)), 0.0)
    labels = rng.integers(0, 3, 50)
    dense, sparse = (statistics(Dataset("own", "points", v), labels) for v in (x, csr_array(x)))
    np.testing.assert_allclose(sparse.divergence, dense.divergence, rtol=1e-8)
    np.testing.assert_allclose(sparse.standardised_means, dense.standardised_means, atol=1e-12)
    # of too many columns those of largest variance
    monkeypatch.setattr(of_tables, "MOST_CELLS", 3 * 5)
    few = statistics(Dataset("own", "points", csr_array(x)), labels)
    widest = np.sort(np.argsort(-x.var(axis=0))[:5])
    assert few.columns == [f"column {j + 1}" for j in widest]
    np.testing.assert_allclose(few.divergence, dense.divergence[:, widest], rtol=1e-8)


def test_a_constant_column_tells_nothing() -> None:
    x = np.column_stack([np.full(30, 0.1), np.arange(30.0)])
    found = statistics(Dataset("own", "points", x), np.arange(30) // 10)
    assert (found.divergence[:, 0] == 0).all() and (found.standardised_means[:, 0] == 0).all()
    assert found.telling.argmax() == 1


def test_the_telling_columns_come_first() -> None:
    dataset, labels = mixed_data()
    table = clusters(dataset, labels, np.linspace(0, 1, 60), first=1)
    assert table["size"].tolist() == sorted(np.bincount(labels), reverse=True)
    each = columns(dataset, labels)
    for _, row in table.iterrows():
        of_cluster = each[each["cluster"] == row["cluster"]]
        assert row["telling"].startswith(of_cluster.loc[of_cluster["divergence"].idxmax(), "column"])
        # the most certain item, counted from 1
        assert row["prototype"] == np.flatnonzero(labels == row["cluster"] - 1)[-1] + 1


def test_the_nodes_of_most_ties_and_the_commonest_tokens() -> None:
    star = np.zeros((5, 5), dtype=np.uint8)
    star[2, [0, 1, 3]] = star[[0, 1, 3], 2] = 1
    names = ["Ann", "Ben", "Cem", "Dan", "Eva"]
    table = clusters(Dataset("own", "graph", csr_array(star), names=names), [0, 0, 0, 1, 1])
    assert table["telling"].tolist() == ["Cem (3); Ann (1); Ben (1)", "Dan (1); Eva (0)"]
    assert table["density"].tolist() == pytest.approx([2 / 3, 0])
    tokens = Dataset("own", "tokens", np.array([1, 1, 0, 0], dtype=np.int32), vocabulary=["Roy", "Weber"])
    assert clusters(tokens, [0, 0, 0, 1])["telling"].tolist() == ["Weber (2); Roy (1)", "Roy (1)"]


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit(width: int) -> None:
    told = "the income of the household in euros = 90928 (others 43968); visits = 11.38 (others 3.414)"
    row = {"size": "1200", "share": "0.25", "certainty": "0.98", "prototype": "Customer with a long name 0099"}
    rows = [row | {"cluster": str(k), "telling": told} for k in range(12)]
    whole = list(cluster_table.cluster_lines(rows, "12 clusters", width=width))
    short = list(cluster_table.cluster_lines(rows, "12 clusters", most_clusters=10, width=width))
    assert max(map(len, whole + short)) <= width
    assert sum("visits = 11.38 (others 3.414)" in line for line in whole) == 12
    # one line of what tells a cluster: beside the numbers where it fits
    assert len(short) == 2 + 10 * (2 if width == 80 else 1)
    assert "the income of the household in euros = 90928" in short[-1]


@pytest.mark.parametrize("module", [block_summary, cluster_table, of_tables])
def test_examples(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def descriptions(x: np.ndarray, labels: np.ndarray, *types: ColumnType) -> list[list[str]]:
    """The printed entries of each cluster, by its number."""
    kind = "mixed" if types else "points"
    names = list("xyz")[: x.shape[1]]
    data = Dataset("own", kind, x, columns=names, types=types or None)
    table = clusters(data, labels).sort_values("cluster")
    return [told.split("; ") for told in table["telling"]]


def test_a_cluster_between_two_others_differs_in_its_spread() -> None:
    """Three clusters on a diagonal: the mean of the middle one is that of the others."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 100)
    x = 5.0 * (labels[:, None] - 1) + rng.normal(size=(300, 2))
    low, middle, _ = descriptions(x, labels)
    y, others = x[labels == 1, 0], x[labels != 1, 0]
    assert f"x = {y.mean():.1f} ± {y.std():.1f} (others {others.mean():.1f} ± {others.std():.1f})" in middle
    assert f"x = {x[labels == 0, 0].mean():.1f} (others {x[labels != 0, 0].mean():.1f})" in low


def test_numbers_have_the_digits_that_differ() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], 200)
    seconds = rng.normal(np.where(labels, 119.8, 120.2), 0.1)
    zero = np.where(labels, 3.0, 9.281e-15) + np.tile([-0.5, 0.5], 200)
    first, _ = descriptions(np.column_stack([seconds, zero]), labels)
    own, others = seconds[:200].mean(), seconds[200:].mean()
    assert sorted(first) == [f"x = {own:.2f} (others {others:.2f})", "y = 0.0 (others 3.0)"]
    # equal cells have no spread, whatever the rounding of their mean
    weight = np.where(labels, rng.normal(4500.0, 4000.0, 400), 4488.81)
    assert descriptions(np.column_stack([weight, zero]), labels)[0][1].startswith("x = 4489 (others ")


def test_levels_are_those_that_differ_most() -> None:
    """Not the commonest one, which is as common elsewhere; shares have the decimals that differ."""
    labels = np.repeat([0, 1], 1000)
    x = np.zeros((2000, 2))
    x[:400, 0], x[1400:1800, 0] = 1, 2
    x[:4, 1], x[1000:1001, 1] = 1, 1
    types = ColumnType("categorical", ("a", "b", "c")), ColumnType("binary", ("no", "yes"))
    assert descriptions(x, labels, *types)[0] == ["x=b: 40% (others 0%)", "y=yes: 0.4% (others 0.1%)"]


def test_ordinal_columns_have_median_levels() -> None:
    labels = np.repeat([0, 1], 10)
    x = np.array([4, 4, 4, 4, 4, 4, 3, 3, 3, 0, *[1] * 8, 0, 2])[:, None].astype(float)
    scale = ColumnType("ordinal", ("never", "rarely", "sometimes", "often", "always"))
    assert descriptions(x, labels, scale)[0] == ["x = always (others rarely, medians)"]
    level = columns(Dataset("own", "mixed", x, columns=["x"], types=(scale,)), labels)
    assert level["level"].tolist() == ["always", "rarely"] and level["mean"].tolist() == [0.6, 0.8]
    same = np.repeat([1.0, 2.0, 1.0], [18, 2, 20])[:, None]
    assert descriptions(same, np.repeat([0, 1], 20), scale)[0] == ["x=sometimes: 10% (others 0%)"]


def test_columns_on_a_scale_have_medians_and_ranges_in_the_units_of_the_data() -> None:
    labels = np.repeat([0, 1], 2)
    x = pd.DataFrame({"x": [10.0, 40.0, 100.0, 400.0], "y": [9.0, 10.0, 1.0, 100.0]})
    told = clusters(from_object(x, "points", scale={"x": "log", "y": "log"}), labels)["telling"][0]
    assert set(told.split("; ")) == {"x = 25 (others 250, medians)", "y from 9.0 to 10.0 (others from 1.0 to 100.0)"}
    zone = pd.DataFrame({"z": np.repeat([2.0, 1.0, 2.0, 30.0], [9, 1, 6, 4]), "y": np.arange(20) % 7 + 0.5})
    told = clusters(from_object(zone, "points", scale={"z": "log"}), np.repeat([0, 1], 10))["telling"][0]
    assert "z = 2 (others from 2 to 30)" in told
    # of rows that are there, the numbers that half of them, and two thirds, have; a row that counts twice is two
    rng = np.random.default_rng(0)
    cells, labels = np.append(rng.lognormal(size=60), np.nan), np.repeat([0, 1], [40, 21])
    counts = rng.integers(1, 4, 61)
    of_labels = Rows(cells, labels, counts.astype(float)).quantiles(0, [0.5, 1 / 6])
    for part, found in zip((labels == 0, labels == 1), of_labels, strict=True):
        repeated = np.repeat(cells[part], counts[part])
        assert found == np.nanquantile(repeated, [0.5, 1 / 6], method="averaged_inverted_cdf").tolist()
    assert np.isnan(Rows(cells, np.arange(61) == 60, None).quantiles(1, [0.5])[0])


def test_counts_have_means() -> None:
    labels = np.repeat([0, 1], 4)
    x = np.array([0, 1, 0, 2, 9, 7, 8, 8.0])[:, None]
    assert descriptions(x, labels, ColumnType("count"))[0] == ["x = 0.8 (others 8.0)"]


def test_long_words_keep_both_ends() -> None:
    assert cluster_table.shorten("measurement number 12", 12) == "measurem… 12"
    assert cluster_table.shorten("short", 12) == "short"


def test_clusters_along_a_diagonal_differ_in_two_columns_together() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 40)
    size = rng.normal(20, 6, 120)
    frame = pd.DataFrame({"x": size, "y": 2 * size + 3.0 * labels + rng.normal(0, 0.4, 120), "w": ["a", "b"] * 60})
    told = clusters(from_object(frame, "mixed"), labels).set_index("cluster")["telling"]
    for k in (0, 2):
        one, _, multiple, other, _, mean, _, rest = told[k + 1].partition("; ")[0].removesuffix(")").split()
        difference = frame[one] - float(multiple) * frame[other]
        # the numbers are those of the difference that is printed
        assert float(mean) == pytest.approx(difference[labels == k].mean(), abs=0.06)
        assert float(rest) == pytest.approx(difference[labels != k].mean(), abs=0.06)
        assert float(multiple) == pytest.approx(2.0 if one == "y" else 0.5, abs=0.05)
        assert abs(float(mean) - float(rest)) > 6 * difference[labels == k].std()
    # one column is enough where it separates them
    apart = clusters(from_object(frame.assign(x=size + 40.0 * labels), "mixed"), labels).set_index("cluster")["telling"]
    assert apart[1].startswith("x = ") and apart[3].startswith("x = ")
    # nor does a column that is constant in a cluster make a pair
    rare = np.where(labels == 1, rng.exponential(size=120), 0.0)
    constant = clusters(from_object(frame.assign(y=rng.normal(size=120), x=rare), "mixed"), labels)["telling"]
    assert not constant.str.contains(" [-+] ").any()


def test_columns_that_hardly_differ_are_not_named_first() -> None:
    x = np.random.default_rng(1).normal(size=(200, 2))
    told = clusters(from_object(x, "points"), np.arange(200) % 2)["telling"]
    assert all(line.startswith("no column alone; column ") for line in told)


def test_ranges_stay_among_the_cells_of_a_column_on_a_scale() -> None:
    """A mean on a scale less its deviation may lie below all cells, or with it above 1, the end of 1 - 1 / (1 + x):
    ranges are of the middle two thirds of the cells."""
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({"a": np.r_[rng.uniform(5, 7, 60), np.exp(rng.normal(1.5, 5, 60))], "b": rng.normal(size=120)})
    found = cluster_table.describe_clusters(from_object(wide, "points", scale={"a": -1.0}), np.repeat([0, 1], 60))
    assert "(others from 0.1 to 1147.6)" in found["telling"][0]
    # a quarter of the rows are 0
    x = np.r_[rng.uniform(4, 5, 60), np.where(np.arange(60) % 2 == 0, 0.0, np.exp(rng.normal(2, 2, 60)))]
    data = from_object(wide.assign(a=x), "points", scale={"a": -0.5})
    told = cluster_table.describe_clusters(data, np.repeat([0, 1], 60))["telling"]
    assert "(others from 0.00 to " in told[0]


def test_a_column_of_many_levels_is_not_named_for_its_chance() -> None:
    """Ten rows of sixty, and a column of thirty levels that the clusters have nothing to do with: its divergence is
    larger than that of a column whose means are one deviation apart."""
    rng = np.random.default_rng(3)
    x, labels = rng.normal(size=(60, 2)), np.repeat([0, 1], [10, 50])
    x[:, 0] = rng.integers(0, 30, 60)
    x[:10, 1] += 1.8
    types = ColumnType("categorical", tuple(f"w{k}" for k in range(30))), ColumnType("real")
    known = statistics(Dataset("t", "mixed", x, columns=["w", "x"], types=types), labels)
    assert known.divergence[0, 0] > known.divergence[0, 1] and known.above_chance[0, 0] < known.above_chance[0, 1]
    assert descriptions(x, labels, *types)[0][0].startswith("y = ")


@pytest.mark.parametrize("type", ["real", "count", "binary", "categorical"])
def test_above_chance_is_0_on_average_where_clusters_have_nothing_to_do_with_a_column(type: str) -> None:
    rng = np.random.default_rng(0)
    levels = {"binary": 2, "categorical": 6}.get(type, 0)
    column = ColumnType(type, tuple("abcdef"[:levels]))
    draw = {"real": rng.normal, "count": lambda size: rng.poisson(5.0, size)}.get(
        type, lambda size: rng.integers(0, levels, size)
    )
    labels, found = np.repeat([0, 1], [15, 45]), []
    for _ in range(400):
        x = np.column_stack([draw(size=60), rng.normal(size=60)]).astype(float)
        data = Dataset("t", "mixed", x, columns=["c", "x"], types=(column, ColumnType("real")))
        known = statistics(data, labels)
        found.append((known.above_chance[0, 0], known.divergence[0, 0]))
    mean, raw = np.mean(found, axis=0)
    assert abs(mean) < 0.25 * raw
