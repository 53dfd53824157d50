"""Resolve ``model.power=auto`` by a calibration curve, fit against number of clusters (Miller and Dunson 2019).

Of at most `MOST_ROWS` rows, drawn at random, the model is sampled under each of `POWERS`, and gives others, held out,
a mean log predictive density: the fit. The complexity is the mean number of clusters with at least `SHARE` of the
rows. Where the model is right both level off together; where clusters are not of the model's shape the number of
clusters goes on to rise while the fit hardly does. The chosen power is at the point where fit less a price per cluster
is largest, at `PRICE` of what a cluster gains on average along the curve, of points within `NEAR` prices of it that
of the highest power; 1 where that saves no cluster.

The power chosen on some rows holds for all rows. The prior of the partition, which has no power, and the
powered likelihood both grow in proportion to the rows, so that the power alone sets their balance: with alpha / (alpha
+ N) in its place the prior would leave one cluster of enough rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.repeats import draw_rows, keep_together
from splitmerge_cli.runs.draws import FIRST_STATES

POWERS = (1.0, 0.8, 0.65, 0.5, 0.35, 0.25, 0.15, 0.08, 0.04)
MOST_ROWS = 1_000
SHARE = 0.02
"""Clusters with a smaller share of the rows are not counted: the prior makes them under any power."""
PRICE = 0.25
NEAR = 0.25
LEAST_SAVED = 0.5
"""Clusters, on average, that a power below 1 must save."""

Sample = Callable[[Mapping[str, Any]], Callable[[Dataset], Any]]


class Calibration(NamedTuple):
    """A calibration curve and the power chosen on it.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each power, from 1 down: power, clusters, fit
        (nats a row), taken.
    power : float
        That is taken.
    rows : int
        That were sampled.
    """

    table: pd.DataFrame
    power: float
    rows: int


def calibrate(options: Mapping[str, Any], dataset: Dataset, sample: Sample, seed: int = 0) -> Calibration:
    """Compute the calibration curve of a model on a data set, and choose a power.

    Parameters
    ----------
    options : mapping
        Name and options of the model; its power is set.
    sample : callable
        Makes a `Posterior` of a model, then of a data set.
    seed : int
        Seed of the rows.

    Raises
    ------
    ConfigError
        Fewer than ten rows.
    """
    if dataset.N < 10:
        raise ConfigError(f"model.power=auto: {dataset.N} rows; expected at least ten, or a number in model.power")
    together = keep_together(dataset, draw_rows(dataset, seed, 2 * MOST_ROWS))
    within = np.cumsum([len(rows) for rows in together]) <= min(dataset.N // 3, MOST_ROWS)
    parts = [[rows for rows, here in zip(together, within, strict=True) if here == held] for held in (True, False)]
    if not parts[0]:
        raise ConfigError("model.power=auto: two thirds of the rows repeat one row; expected data.repeated=once")
    held, rows_used = (np.concatenate(part)[:MOST_ROWS] for part in parts)
    held_rows, clusters, fit = dataset.take(np.sort(held)), [], []
    for power in POWERS:
        posterior = sample({**options, "power": power})(dataset.take(np.sort(rows_used)))
        clusters.append(_mean_clusters(posterior.partitions))
        # each row alone: under a power the rows of an item have no joint density
        density = posterior.log_predictive(replace(held_rows, bundles=None), states=FIRST_STATES)
        fit.append(float(np.average(density, weights=held_rows.counts)))
    chosen = take(np.array(clusters), np.array(fit))
    table = pd.DataFrame(
        {
            "power": POWERS,
            "clusters": clusters,
            "fit": fit,
            "taken": np.arange(len(POWERS)) == chosen,
        }
    )
    return Calibration(table, POWERS[chosen], len(rows_used))


def take(clusters: NDArray[np.float64], fit: NDArray[np.float64]) -> int:
    """Return the number of the chosen point on a curve whose first point has power 1.

    Examples
    --------
    >>> take(np.array([7.4, 5.3, 4.0, 3.2, 1.0]), np.array([-3.58, -3.61, -3.65, -3.68, -4.93]))
    3
    >>> take(np.array([3.0, 3.0, 2.0, 1.0]), np.array([-3.5, -3.5, -4.1, -4.9]))
    0
    """
    best, fewest = int(fit.argmax()), int(np.lexsort((-fit, np.round(clusters)))[0])
    wide = clusters[best] - clusters[fewest]
    # where hardly any cluster predicts best there is nothing to trade
    price = PRICE * (fit[best] - fit[fewest]) / wide if wide >= LEAST_SAVED else 0.0
    value = fit - price * clusters
    # powers fall along the curve
    chosen = int((value >= value.max() - NEAR * price).argmax())
    return chosen if clusters[0] - clusters[chosen] >= LEAST_SAVED else 0


def format_calibration(calibration: Calibration) -> str:
    """Format the curve and the chosen power as text."""
    text = calibration.table.assign(taken=np.where(calibration.table["taken"], "<", ""))
    lines = [text.to_string(index=False, float_format=lambda value: f"{value:.3f}")]
    if calibration.power == 1.0:
        why = "no lower power saves clusters for so little fit"
        return "\n".join([*lines, f"model.power=auto: 1 (the likelihood unchanged), because {why}"])
    chosen, first = calibration.table[calibration.table["taken"]].iloc[0], calibration.table.iloc[0]
    clusters = [f"{round(row['clusters'], 1):g}" for row in (chosen, first)]
    why = (
        f"the calibration curve of {calibration.rows} rows levels off: {clusters[0]} clusters where power "
        f"1 has {clusters[1]}, held-out density {chosen['fit'] - first['fit']:+.3f} nats a row"
    )
    described = f"model.power=auto: {calibration.power:g}, where {why}"
    return "\n".join(
        [*lines, described, "model.power=1 keeps the likelihood unchanged; another number sets that power"]
    )


def _mean_clusters(partitions: NDArray[np.int32]) -> float:
    """Clusters with at least `SHARE` of the rows, mean over draws; partitions: shape (..., N)."""
    draws = partitions.reshape(-1, partitions.shape[-1])
    return float(np.mean([(np.bincount(labels) >= SHARE * len(labels)).sum() for labels in draws]))
