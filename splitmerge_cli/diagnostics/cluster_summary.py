"""Clusters in the data's own terms: sizes, means with intervals, the columns that tell a cluster from the rest."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.sparse import issparse

TELLING = 3
"""Columns, or tokens, that are named of a cluster."""
LEVEL = 0.95
"""Of the intervals."""

_COLUMNS = ("points", "binary", "mixed")


def clusters(dataset: Any, labels: ArrayLike, certainty: ArrayLike | None = None) -> pd.DataFrame:
    """A row for each cluster of a partition, the largest first.

    Parameters
    ----------
    dataset : Dataset
        N items.
    labels : array_like of int
        ``[N]``, from 0.
    certainty : array_like of float, optional
        ``[N]``, the probability that each item belongs where it is.

    Returns
    -------
    pandas.DataFrame
        Columns cluster, size, share (of the items); certainty (mean over its items) and prototype (name or number, from
        0, of the item of highest certainty), where `certainty` is given; ``points``, ``binary``, ``mixed``: telling,
        the columns of largest divergence (see `columns`) with their means; ``tokens``: telling, the commonest tokens;
        ``graph``: density, the share of pairs of its nodes that are tied, and density_outside, the same of pairs of one
        of its nodes and another.
    """
    own = np.asarray(labels)
    sizes = np.bincount(own)
    order = np.argsort(-sizes, kind="stable")
    frame = pd.DataFrame({"cluster": order, "size": sizes[order], "share": sizes[order] / len(own)})
    if certainty is not None:
        sure = np.asarray(certainty, dtype=np.float64)
        frame["certainty"] = (np.bincount(own, sure) / sizes)[order]
        best = [int(np.flatnonzero(own == k)[np.argmax(sure[own == k])]) for k in order]
        frame["prototype"] = [i if dataset.names is None else dataset.names[i] for i in best]
    if dataset.kind in _COLUMNS:
        told = columns(dataset, own)
        each = {k: rows.nlargest(TELLING, "divergence") for k, rows in told.groupby("cluster")}
        frame["telling"] = [", ".join(_said(each[k])) for k in order]
    elif dataset.kind == "tokens":
        frame["telling"] = [", ".join(_commonest(dataset, own == k)) for k in order]
    elif dataset.kind == "graph":
        frame[["density", "density_outside"]] = [_densities(dataset.values, own == k) for k in order]
    return frame


def _said(rows: pd.DataFrame) -> Iterator[str]:
    for name, level, mean in zip(rows["column"], rows["level"], rows["mean"], strict=True):
        yield f"{name} = {mean:.4g}" if not isinstance(level, str) else f"{name}={level}: {mean:.0%}"


def _commonest(dataset: Any, here: NDArray[np.bool_]) -> Iterator[str]:
    found = np.bincount(dataset.values[here], minlength=1)
    for token in np.argsort(-found, kind="stable")[:TELLING]:
        if found[token]:
            yield f"{dataset.vocabulary[token] if dataset.vocabulary else token} ({found[token]})"


def _densities(matrix: Any, here: NDArray[np.bool_]) -> tuple[float, float]:
    n, rest = int(here.sum()), int((~here).sum())
    rows = matrix[here]
    inside, outside = rows[:, here].sum(), rows[:, ~here].sum()
    return (inside / (n * (n - 1)) if n > 1 else np.nan), (outside / (n * rest) if rest else np.nan)


def columns(dataset: Any, labels: ArrayLike) -> pd.DataFrame:
    """A row for each cluster and column of a table.

    Parameters
    ----------
    dataset : Dataset
        Kind ``points``, ``binary`` or ``mixed``.
    labels : array_like of int
        ``[N]``, from 0.

    Returns
    -------
    pandas.DataFrame
        Columns cluster, column, level (``mixed``: the commonest level of a categorical column, the second of a binary
        one; None of numbers), mean (of numbers, or the share of the level), low, high (interval of the mean of level
        .95: Student's t; of a share Jeffreys' interval), divergence (Kullback-Leibler divergence, in nats, of the
        column in the cluster from the column in all other clusters, both as normal, Poisson or categorical
        distributions; nan where there is one cluster). Missing cells are left out.

    Notes
    -----
    The intervals take the clusters as known.
    """
    own = np.asarray(labels)
    x = dataset.values.toarray() if issparse(dataset.values) else np.asarray(dataset.values)
    names = dataset.columns or [f"column {j + 1}" for j in range(x.shape[1])]
    rows: list[tuple[Any, ...]] = []
    for j, name in enumerate(names):
        column = None if dataset.types is None else dataset.types[j]
        kind = column.type if column else ("binary" if dataset.kind == "binary" else "real")
        present = ~np.isnan(x[:, j].astype(np.float64))
        for k in range(int(own.max()) + 1):
            inside, outside = x[present & (own == k), j], x[present & (own != k), j]
            if kind in ("real", "count"):
                rows.append((k, name, None, *_of_numbers(inside), _divergence(kind, inside, outside)))
            else:
                levels = column.levels if column else ("0", "1")
                rows.append((k, name, *_of_levels(kind, inside, outside, levels)))
    return pd.DataFrame(rows, columns=["cluster", "column", "level", "mean", "low", "high", "divergence"])


def _of_numbers(x: NDArray[Any]) -> tuple[float, float, float]:
    if not len(x):
        return np.nan, np.nan, np.nan
    mean = float(np.mean(x, dtype=np.float64))
    if len(x) < 2:
        return mean, np.nan, np.nan
    half = float(stats.t.ppf(0.5 + LEVEL / 2, len(x) - 1) * np.std(x, ddof=1, dtype=np.float64) / np.sqrt(len(x)))
    return mean, mean - half, mean + half


def _divergence(kind: str, x: NDArray[Any], y: NDArray[Any]) -> float:
    if not len(x) or not len(y):
        return float("nan")
    x, y = x.astype(np.float64), y.astype(np.float64)
    if kind == "count":
        # half an observation of the mean of all: a rate of 0 has no logarithm
        both = 0.5 * np.concatenate([x, y]).mean()
        a, b = (x.sum() + both) / (len(x) + 0.5), (y.sum() + both) / (len(y) + 0.5)
        return float(a * np.log(a / b) - a + b) if a > 0 else 0.0
    # one observation of the variance of all: a single item has none
    spread = np.concatenate([x, y]).var()
    if spread == 0:
        return 0.0
    v, w = (len(x) * x.var() + spread) / (len(x) + 1), (len(y) * y.var() + spread) / (len(y) + 1)
    return float(0.5 * (np.log(w / v) + (v + (x.mean() - y.mean()) ** 2) / w - 1))


def _of_levels(
    kind: str, x: NDArray[Any], y: NDArray[Any], levels: tuple[str, ...]
) -> tuple[str, float, float, float, float]:
    n = len(levels)
    inside = np.bincount(x.astype(np.int64), minlength=n)
    outside = np.bincount(y.astype(np.int64), minlength=n)
    level = 1 if kind == "binary" else int(inside.argmax())
    count, total = int(inside[level]), int(inside.sum())
    low, high = stats.beta.ppf([0.5 - LEVEL / 2, 0.5 + LEVEL / 2], count + 0.5, total - count + 0.5)
    divergence = float("nan")
    if total and outside.sum():
        p, q = (inside + 1 / n) / (total + 1), (outside + 1 / n) / (outside.sum() + 1)
        divergence = float((p * np.log(p / q)).sum())
    return levels[level], count / total if total else np.nan, float(low), float(high), divergence
