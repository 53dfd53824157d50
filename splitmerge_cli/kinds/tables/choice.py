"""Choices of a table's model by how well its rows are predicted: scales of columns, tails of clusters, a power.

``data.scale=auto``: the power that fits one normal distribution best is wrong where a column has several clusters: it
bends their places rather than their shapes. So each column whose marginal is clearly skewed is described by small
mixtures of normal distributions, as it is, on a log scale if all its values are positive, and on scales of Yeo and
Johnson: powers of a grid, and the one of largest likelihood for one distribution. It gets the scale whose best mixture
has the least BIC, in the units of the data, if that is clearly less than of the column as it is. Rows that hold the one
number that a fifth of them hold are left out of it. This proposes scales, no more: whether they predict rows better
than the columns as they are is asked of the model itself (`splitmerge_cli.fits.candidates.compare_scales`).

``model.tails=auto``: whether clusters have normal tails or heavier ones, by the leave-one-out density of rows.
``model.zeros=apart``, zeros of counts with a probability of their own, is one of the readings that are compared so.

``model.noise=auto``: whether rows of no cluster are noise, by the same density, of the tails that are chosen. Noise is
one more thing to explain, so it has to be ahead by more than `CLEAR` standard errors. It is fitted only if a uniform
component next to the densities of the model without noise would gain `GAINED` nats, and hold half of the rows at most:
rows that are spread evenly are no background of others.

``model.power=auto``, by a calibration curve, fit against number of clusters (Miller and Dunson 2019): of at most
`MOST_CURVE_ROWS` rows, drawn at random, the model is sampled under each of `POWERS`, and gives others, held out, a mean
log predictive density: the fit. The complexity is the mean number of clusters with at least `SHARE` of the rows. Where
the model is right both level off together; where clusters are not of the model's shape the number of clusters goes on
to rise while the fit hardly does. The chosen power is at the point where fit less a price per cluster is largest, at
`PRICE` of what a cluster gains on average along the curve, of points within `NEAR` prices of it that of the highest
power; 1 where that saves no cluster. The power chosen on some rows holds for all rows. The prior of the partition,
which has no power, and the powered likelihood both grow in proportion to the rows, so that the power alone sets their
balance: with alpha / (alpha + N) in its place the prior would leave one cluster of enough rows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.analysis.predictive import log_jacobian
from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.capabilities import Noise
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables import inference, repeats
from splitmerge_cli.data.tables.scaled import fit_power, has_digits
from splitmerge_cli.data.tables.table import list_names
from splitmerge_cli.data.values import LEAST_POWER, LOG, MOST_POWER, YEO_JOHNSON, Scale, is_sparse
from splitmerge_cli.diagnostics.cluster_table import count_of
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.fits.candidates import (
    MIXED,
    MOST_ROWS,
    Candidates,
    Fits,
    Ranking,
    compare,
    find_problem,
    model_of,
    rank,
)
from splitmerge_cli.kinds.tables.models import real_columns
from splitmerge_cli.kinds.tables.models.mixed_cells import APART, FORMS_OF_COUNTS
from splitmerge_cli.runs.draws import FIRST_STATES

SKEWED = 4.0
"""Standard errors of the skewness, under a normal distribution, beyond which a column is clearly skewed."""
LEAST_SKEWNESS = 0.5
SURELY = 6.0
"""By how much less the BIC of a scale has to be than that of the column as it is: strong evidence for it (Kass and
Raftery 1995)."""
MOST_COLUMNS = 200
"""Most real columns whose scales are tried. Each takes about 0.01 seconds."""
FEWEST = 20
"""Fewest cells of a column."""
GRID = (-1.0, -0.5, 0.0, 0.5, 1.5, 2.0)
COMPONENTS = 3
"""Most components of a mixture."""
STEPS = 40
"""Steps of the EM algorithm."""
SMALLEST = 1e-3
"""Variance added to each component, as a share of the column's variance, so that ties are no peaks."""
TAILS = ("normal", "t")
"""The simpler first."""
NOISE, CLEAR, GAINED, MOST_NOISE = 0.01, 2.0, 4.0, 0.5
"""The share of noise that is expected, if there is any; standard errors by which it has to be ahead; the least gain of
a uniform component for which it is fitted: 11 to 132 in 11 sets with a tenth of noise, at most 3 in 8 without; and the
largest share of that component."""
FINE = 0.05
"""Steps of a column, as a share of its standard deviation, up to which its density needs none: in a cluster a fifth as
wide as the column the mean log density over a step is at most 0.003 nats from that at its middle."""
POWERS = (1.0, 0.8, 0.65, 0.5, 0.35, 0.25, 0.15, 0.08, 0.04)
MOST_CURVE_ROWS = 1_000
SHARE = 0.02
"""Clusters with a smaller share of the rows are not counted: the prior makes them under any power."""
PRICE = 0.25
NEAR = 0.25
LEAST_SAVED = 0.5
"""Clusters, on average, that a power below 1 must save."""

Sample = Callable[[Mapping[str, Any]], Callable[[Dataset], Any]]


def find_scales(dataset: Dataset) -> dict[str | int, str | float]:
    """Scales for the real columns of a table in the units of the data that are clearly skewed, as ``data.scale`` takes
    them; empty if none has a better one than its own, and for more than `MOST_COLUMNS`."""
    kind, x = dataset.kind, dataset.values
    if not kind.has_columns or is_sparse(x) or dataset.scales is not None or dataset.reduction is not None:
        return {}
    types = kind.types_of(dataset)
    if sum(column.type == "real" for column in types) > MOST_COLUMNS:
        return {}
    rows = np.sort(np.random.default_rng(0).permutation(dataset.N)[:MOST_ROWS])
    positions = dataset.positions or range(x.shape[1])
    scale_by_column: dict[str | int, str | float] = {}
    for j, column in enumerate(types):
        if column.type != "real":
            continue
        cells = x[rows, j].astype(np.float64)
        # rows that are not among these are read on the scale, too
        ends = np.array([np.nanmin(x[:, j]), np.nanmax(x[:, j])], dtype=np.float64)
        scale = _find_scale(cells[~np.isnan(cells)], ends)
        if scale is not None:
            scale_by_column[dataset.columns[j] if dataset.columns else positions[j] + 1] = scale.option
    return scale_by_column


def format_scales(scales: Mapping[str | int, str | float]) -> str:
    """Scales as text: ``x1 log, x2 yeo-johnson(-0.3)``.

    >>> format_scales({"x1": "log", "x2": -0.3})
    'x1 log, x2 yeo-johnson(-0.3)'
    """
    named = (f"{column} {Scale(YEO_JOHNSON, s) if isinstance(s, float) else s}" for column, s in scales.items())
    return ", ".join(named)


def _find_scale(cells: NDArray[np.float64], ends: NDArray[np.float64]) -> Scale | None:
    # the density at a number that many rows hold is as high as a scale makes it narrow, and says nothing of the others
    numbers, rows = np.unique(cells, return_counts=True)
    if len(numbers) > 1 and rows.max() >= inference.SPIKE * len(cells):
        cells = cells[cells != numbers[rows.argmax()]]
    if len(cells) < FEWEST or np.ptp(cells) == 0.0 or not is_skewed(cells):
        return None
    scales = list(_candidates(cells, ends))
    read = [cells, *(scale.read(cells) for scale in scales)]
    jacobian = [0.0, *(float(scale.log_jacobian(y).sum()) for scale, y in zip(scales, read[1:], strict=True))]
    # a power is a parameter
    powers = np.array([0.0, *(scale.name == YEO_JOHNSON for scale in scales)])
    bic = _least_bic(np.array(read)) - 2.0 * np.array(jacobian) + powers * np.log(len(cells))
    return (None, *scales)[int(bic.argmin())] if bic[0] - bic.min() > SURELY else None


def is_skewed(cells: NDArray[np.float64]) -> bool:
    """Whether the skewness of a column is clearly not 0."""
    z = (cells - cells.mean()) / cells.std()
    return abs(float((z**3).mean())) > max(LEAST_SKEWNESS, SKEWED * np.sqrt(6.0 / len(cells)))


def _candidates(cells: NDArray[np.float64], ends: NDArray[np.float64]) -> Iterator[Scale]:
    """Scales that can read all cells between `ends`."""
    if ends[0] > 0.0:
        yield Scale(LOG)
    for power in dict.fromkeys((*GRID, fit_power(cells))):
        scale = Scale(YEO_JOHNSON, power)
        is_inside = LEAST_POWER + 0.05 < power < MOST_POWER - 0.05  # at the bounds none fits
        if is_inside and power != 1.0 and has_digits(scale.read(np.append(cells, ends))):
            yield scale


def _least_bic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least BIC of mixtures with up to `COMPONENTS` normal distributions, for each row of values ``[scales, cells]``.

    All rows are fitted at the same time, which takes a twentieth of the time of a fit for each.
    """
    spread, n = values.std(axis=1), values.shape[1]
    z = (values - values.mean(axis=1, keepdims=True)) / spread[:, None]
    bic = []
    for K in range(1, COMPONENTS + 1):
        # [scales, components, cells]
        mean = np.quantile(z, (np.arange(K) + 0.5) / K, axis=1).T[..., None]
        variance, weight = np.full_like(mean, 1.0 / K**2), np.full_like(mean, 1.0 / K)
        for _ in range(STEPS if K > 1 else 2):
            log_joint = np.log(weight) - 0.5 * (np.log(2.0 * np.pi * variance) + (z[:, None] - mean) ** 2 / variance)
            log_density = np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
            share = np.exp(log_joint - log_density)
            total = share.sum(axis=2, keepdims=True) + 1e-9
            weight, mean = total / n, (share * z[:, None]).sum(axis=2, keepdims=True) / total
            variance = (share * (z[:, None] - mean) ** 2).sum(axis=2, keepdims=True) / total + SMALLEST
        bic.append((3 * K - 1) * np.log(n) - 2.0 * log_density.sum(axis=(1, 2)))
    return np.asarray(np.min(bic, axis=0) + 2.0 * n * np.log(spread))


def forms_of_counts(readings: Mapping[str, Dataset], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the `FORMS_OF_COUNTS` to compare for a mixed table, by the name of its reading, and the options that are
    named: the forms of readings that `can_part_zeros`."""
    return {
        name: dict(more)
        for name, more in FORMS_OF_COUNTS.items()
        if can_part_zeros(readings[name.partition(",")[0]], options)
    }


def can_part_zeros(table: Dataset, options: Mapping[str, Any]) -> bool:
    """Whether a mixed table has a column of counts with zeros and numbers above 1, or a real one with a spike, and the
    model with the options that are named takes them apart, and does not name its zeros."""
    columns = zip(table.types or (), table.values.T, strict=True)
    has_any = any(
        column.spike is not None or (column.type == "count" and (x == 0).any() and np.nanmax(x) > 1)
        for column, x in columns
    )
    parted = {"name": MIXED, **options, "zeros": APART}
    return has_any and "zeros" not in options and not find_problem(model_of(parted), table)


def describe_spikes(table: Dataset) -> str:
    """Name the columns with a spike: ``spend = 0 in 43%``."""
    x, named = table.values_in_units, []
    for name, column, scaled, cells in zip(table.column_names, table.types or (), table.values.T, x.T, strict=True):
        if column.spike is not None:
            share = (scaled == column.spike[0]).sum() / (~np.isnan(cells)).sum()
            named.append(f"{name} = {cells[scaled == column.spike[0]][0]:.6g} in {share:.0%}")
    return list_names(named)


def compare_tails(model: Component, dataset: Dataset, fits: Fits, later: Mapping[str, Any] | None = None) -> Ranking:
    """Leave-one-out log predictive density of rows with normal tails and with Student's t; `later` as in `covariances`.

    A row for each, first the one that is taken (`candidates.rank`): tails, log_density, difference, standard_error,
    clusters, few_draws and seconds as of `covariances`. Where the data allow normal tails alone there are no numbers.
    Heavier tails than the data have cost time, since the degrees of freedom follow the data. Tails that are too light
    add clusters.
    """
    compared: Candidates = {}
    by_cell = model.name == MIXED and model.values.get("covariance") == "diag"
    problem = find_problem(model, dataset, tails="t", **(later or {})) if dataset.N > 1 else "one row"
    if model.values.get("resolution") == "auto" and not by_cell and not problem and has_steps(dataset):
        problem = "columns are recorded in coarse steps"
    if not problem:
        compared = {tails: ({**model.as_typed, "tails": tails}, dataset) for tails in TAILS}
    table = rank("tails", *compare("tails", compared, fits, {}, TAILS), TAILS)
    table.attrs["problem"] = problem.removeprefix("model.tails=t: ").split("; expected")[0]
    return table


def has_background(model: Component) -> bool:
    """Whether rows of a model may be noise; what lines call so is the scatter about one."""
    return model.target.find_capability(Noise) is not None


def compare_noise(
    model: Component, dataset: Dataset, fits: Fits, tails: str, later: Mapping[str, Any] | None = None
) -> Ranking:
    """Leave-one-out log predictive density of rows without noise and with it and these tails; columns as of
    `compare_tails`. Without numbers where the data do not allow noise, or no row may be."""
    without, with_noise = {**model.as_typed, "noise": 0.0}, {**model.as_typed, "noise": NOISE, "tails": tails}
    problem = find_problem(model, dataset, tails=tails, noise=NOISE, **(later or {})) if dataset.N > 1 else "one row"
    density, simplest = dict[str, NDArray[np.float64]](), ("0", f"{NOISE:g}")
    if not problem:
        density, facts = compare("noise", {"0": (without, dataset)}, fits, {}, ["0"])
        noisy, part = model_of(with_noise), dataset.take(fits.choose_rows([dataset]))
        uniform = noisy.target.from_data(part, **noisy.options).log_uniform + log_jacobian(model, part)
        gain, share = _gain_of_noise(density["0"], part.sum_by_item(uniform))
        if gain < GAINED or share > MOST_NOISE:
            density = {}
    if density:
        compared = {"0": (without, dataset), f"{NOISE:g}": (with_noise, dataset)}
        density, facts = compare("noise", compared, fits, {}, simplest, CLEAR)
    return rank("noise", density, facts if density else {}, simplest, CLEAR)


def _gain_of_noise(log_density: NDArray[np.float64], log_uniform: NDArray[np.float64]) -> tuple[float, float]:
    """Nats that a uniform component of the best share and these densities adds to the densities of rows, and that
    share."""
    ratio = np.exp(np.minimum(log_uniform - log_density, 300.0))
    share = 0.05
    for _ in range(STEPS):
        share = float((share * ratio / (share * ratio + 1.0 - share)).mean())
    return float(np.log1p(share * (ratio - 1.0)).sum()), share


def format_noise(table: Ranking) -> str:
    """Describe whether rows may be noise, and how far the other is ahead or behind."""
    share = table["noise"][0]
    chosen, other = ("no background of noise", "one") if share == "0" else ("a background of noise", "none")
    difference, error = abs(float(table["difference"][1])), float(table["standard_error"][1])
    side = "behind" if table["difference"][1] > 0 else f"ahead, fewer than {CLEAR:g} errors"
    return f"model.noise=auto: {share}, {chosen}; {other} is {difference:.3f} nats a row {side} (s.e. {error:.3f})"


def format_tails(table: Ranking) -> str:
    """Describe the chosen tails, and how far the others are ahead or behind."""
    chosen = table["tails"][0]
    difference, error = (float(table[name][1]) for name in ("difference", "standard_error"))
    if np.isnan(difference):
        return f"model.tails=auto: {chosen}, since t is not possible: {table.attrs['problem']}"
    side = f"{table['tails'][1]} is {abs(difference):.3f} nats a row {'behind' if difference > 0 else 'ahead'}"
    fewer, more = table["clusters"]
    why = f", with {count_of(round(fewer), 'cluster')} instead of {more:.0f}" if difference < 0 else ""
    return f"model.tails=auto: {chosen}{why}; {side} (s.e. {error:.3f})"


def has_steps(dataset: Dataset) -> bool:
    """Whether real columns are recorded in steps that are not `FINE`: tails of Student's t take no step."""
    resolution = real_columns.settle_resolution(dataset, {})["resolution"]
    is_real = slice(None) if dataset.types is None else [column.type == "real" for column in dataset.types]
    x = np.asarray(dataset.values[:, is_real], dtype=np.float64)
    if resolution == "auto":
        # only where values occur twice is there a step to look for
        tied = np.diff(np.sort(x, axis=0), axis=0) <= real_columns.SAME * (np.nanmax(x, axis=0) - np.nanmin(x, axis=0))
        return any(real_columns.find_resolution(cells) > FINE * np.nanstd(cells) for cells in x[:, tied.any(axis=0)].T)
    return bool((real_columns.resolutions_of(resolution, x.shape[1], x.T) > FINE * np.nanstd(x, axis=0)).any())


class Calibration(NamedTuple):
    """A calibration curve and the power chosen on it."""

    table: "pd.DataFrame"
    """A row for each power, from 1 down: power, clusters, fit (nats a row), taken."""
    power: float
    """That is taken."""
    rows: int
    """That were sampled."""


def calibrate(options: Mapping[str, Any], dataset: Dataset, sample: Sample, seed: int = 0) -> Calibration:
    """Compute the calibration curve of a model, of this name and these options, and choose a power; `sample` makes a
    `Posterior` of a model, then of a data set; `seed` draws the rows. A ConfigError with fewer than ten of them."""
    if dataset.N < 10:
        raise ConfigError(f"model.power=auto: {dataset.N} rows; expected at least ten, or a number in model.power")
    together = repeats.keep_together(dataset, repeats.draw_rows(dataset, seed, 2 * MOST_CURVE_ROWS))
    within = np.cumsum([len(rows) for rows in together]) <= min(dataset.N // 3, MOST_CURVE_ROWS)
    parts = [[rows for rows, here in zip(together, within, strict=True) if here == held] for held in (True, False)]
    if not parts[0]:
        raise ConfigError("model.power=auto: two thirds of the rows repeat one row; expected data.repeated=once")
    held, rows_used = (np.concatenate(part)[:MOST_CURVE_ROWS] for part in parts)
    held_rows, clusters, fit = dataset.take(np.sort(held)), [], []
    for power in POWERS:
        posterior = sample({**options, "power": power})(dataset.take(np.sort(rows_used)))
        draws = posterior.partitions.reshape(-1, posterior.partitions.shape[-1])
        clusters.append(np.mean([(np.bincount(labels) >= SHARE * len(labels)).sum() for labels in draws]))
        # each row alone: under a power the rows of an item have no joint density
        density = posterior.log_predictive(replace(held_rows, bundles=None), states=FIRST_STATES)
        fit.append(float(np.average(density, weights=held_rows.counts)))
    chosen = take(np.array(clusters), np.array(fit))
    taken = np.arange(len(POWERS)) == chosen
    table = pd.DataFrame({"power": POWERS, "clusters": clusters, "fit": fit, "taken": taken})
    return Calibration(table, POWERS[chosen], len(rows_used))


def take(clusters: NDArray[np.float64], fit: NDArray[np.float64]) -> int:
    """Return the number of the chosen point on a curve whose first point has power 1.

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
    ways = "model.power=1 keeps the likelihood unchanged; another number sets that power"
    return "\n".join([*lines, described, ways])
