"""Small cases of models for tables, for ``smcmc verify``; with an outcome by dense matrices over rows: nothing
compiled has a part in their probabilities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.models import mixed_cells, normal
from splitmerge_cli.kinds.tables.models.real_columns import box_of, resolutions_of
from splitmerge_cli.verify import continuous
from splitmerge_cli.verify.cases import Case, OwnCase, format_points, mixture_case, reference_case
from splitmerge_cli.verify.enumerate import (
    Concentration,
    State,
    bernoulli_log_weight,
    mixture_log_weight,
    mixture_states,
)

WEIGHTS = (0.25, 1.75, 0.5, 3.0, 1.0, 0.125, 2.5, 0.75)
"""Weights of rows at the start, in turn, where these have any: a case has no more rows."""
OUT = 1
"""Number of the column that tells no clusters apart, where columns are selected."""
CELL = 1
"""Number of the missing cell whose density a case has."""


def bernoulli_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` rows of three binary attributes; with ``missing``, not an option of the model, as `_with_missing` says."""
    options: dict[str, Any] = {"concentration": 1.3, "beta1": 0.6, "beta0": 0.9, "prior": "crp"} | dict(params)
    missing, power = options.pop("missing", False), float(options.get("power", 1.0))
    x: NDArray[Any] = np.random.default_rng(seed).integers(2, size=(size, 3)).astype(np.uint8)
    another: Callable[[], Model] = partial(build, x, **options)
    if missing:
        x = _with_missing(x)
    if missing or power != 1.0:
        another = partial(build.from_data, Dataset("small", "binary", x), **options)  # type: ignore[attr-defined]
    rows = " ".join("".join("-" if np.isnan(cell) else f"{cell:g}" for cell in row) for row in x)

    def weight(concentration: Concentration) -> Callable[[State], float]:
        return bernoulli_log_weight(x, concentration, options["beta1"], options["beta0"], options["prior"], power)

    return mixture_case(another, mixture_states(size), weight, options, f"rows {rows}")


def _with_missing(x: NDArray[Any]) -> NDArray[np.float64]:
    """A table with NaN in two cells, in the whole last row and in a whole further column."""
    found = np.column_stack([x, np.full(len(x), np.nan)])
    found[0, 0] = found[len(x) // 2, 1] = found[-1] = np.nan
    return found


def gaussian_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` points in the plane. Not options of the model: `sparse`, given as a sparse matrix; ``missing``, as
    `_with_missing` says, with a full covariance as `_lose_reals` does. With the tails of Student's t the rows have
    the first of `WEIGHTS`."""
    options: dict[str, Any] = {"concentration": 1.3, "prior": "crp", "covariance": "diag", "m0": 0.5, "kappa0": 0.4}
    options |= {"a0": 1.5, "b0": 0.8, "resolution": "none"} | dict(params)
    zeta = float(options.get("power", 1.0))
    sparse, missing = options.pop("sparse", False), options.pop("missing", False)
    rng = np.random.default_rng(seed)
    points: NDArray[Any] = np.round(rng.normal(0, 1, (size, 2)) + 1.5 * rng.integers(2, size=(size, 1)), 2)
    another: Callable[[], Model] = partial(build, points, **options)
    if sparse:
        points[::2, 1] = 0.0
        another = partial(build, csr_array(points), **options)
    is_joint, has_tails = options["covariance"] == "full", options.get("tails") == "t"
    if missing:
        points = _lose_reals(points, [0, 1]) if is_joint else _with_missing(points)
        another = partial(build.from_data, Dataset("small", "points", points), **options)  # type: ignore[attr-defined]

    selects = options.get("select", False)
    if selects:
        another = partial(_start_with, another, OUT, 0.0)

    def weigh(
        x: Any, b0: Any, kappa0: Any, concentration: Concentration, sums: bool = False
    ) -> Callable[[State], float]:
        prior, covariance, m0, a0 = (options[k] for k in ("prior", "covariance", "m0", "a0"))
        steps = resolutions_of(options["resolution"], points.shape[1], points.T)
        if sums:
            return continuous.selected_log_weight(x, concentration, prior, m0, kappa0, a0, b0, steps, power=zeta)
        if selects:  # of the column that is in
            x, m0, b0, steps = x[:, :1], np.ravel(m0)[:1], np.ravel(b0)[:1], steps[:1]
        rest = covariance, m0, kappa0, a0, b0, steps, zeta
        if rho := options.get("noise"):
            ends = box_of(points, options.get("box"), options["resolution"])
            return noisy_points_log_weight(x, concentration, prior, rho, ends, *rest)
        return continuous.gaussian_log_weight(x, concentration, prior, *rest)

    title = ("sparse " if sparse else "") + format_points(points)
    if has_tails:

        def weigh_tails(b0: Any, kappa0: Any, weights: Any, concentration: Concentration) -> Callable[[State], float]:
            prior, covariance, m0, a0 = (options[k] for k in ("prior", "covariance", "m0", "a0"))
            steps = resolutions_of(options["resolution"], points.shape[1], points.T)
            return continuous.tailed_log_weight(
                points, concentration, prior, covariance, m0, kappa0, a0, b0, weights, steps
            )

        return _case_with_tails(another, points, weigh_tails, options, title)
    summed = partial(weigh, sums=True) if selects else None
    return _case_of_reals(another, points, range(points.shape[1]), missing and is_joint, weigh, options, title, summed)


def noise_log_weight(
    x: NDArray[np.float64],
    concentration: Concentration,
    prior: str,
    rho: float,
    box: NDArray[np.float64],
    weigh: Callable[..., Callable[[State], float]],
    power: float = 1.0,
) -> Callable[[State], float]:
    """Log weight of a partition each of whose clusters is noise with probability `rho`, its rows uniform over the box:
    summed over the 2^K ways. `weigh` gives rows of `x`, a concentration and a prior the weight without noise."""
    inside = (np.isnan(x) | ((x >= box[0]) & (x <= box[1]))).all(axis=1)
    volumes = np.where(np.isnan(x), 1.0, box[1] - box[0]).prod(axis=1)
    log_noise = np.where(inside, -power * np.log(volumes), -np.inf)

    @cache
    def of_normal(rows: tuple[int, ...], labels: tuple[int, ...]) -> float:
        return weigh(x[list(rows)], 1.0, "uniform")((labels, max(labels) + 1)) if rows else 0.0

    def log_lik(z: NDArray[np.int64]) -> float:
        found = []
        for is_noise in itertools.product([False, True], repeat=int(z.max()) + 1):
            rows = np.flatnonzero(~np.array(is_noise)[z])
            labels = np.unique(z[rows], return_inverse=True)[1]
            log_kinds = np.log(np.where(is_noise, rho, 1.0 - rho)).sum()
            found.append(
                log_kinds + np.delete(log_noise, rows).sum() + of_normal(tuple(rows.tolist()), tuple(labels.tolist()))
            )
        return float(logsumexp(found))

    return mixture_log_weight(log_lik, concentration, prior)


def noisy_points_log_weight(
    x: NDArray[np.float64],
    concentration: Concentration,
    prior: str,
    rho: float,
    box: NDArray[np.float64],
    *rest: Any,
) -> Callable[[State], float]:
    """`noise_log_weight` of points; `rest` are the parameters of `gaussian_log_weight` behind the prior."""

    def weigh(rows: Any, concentration: Concentration, prior: str) -> Callable[[State], float]:
        return continuous.gaussian_log_weight(rows, concentration, prior, *rest)

    return noise_log_weight(x, concentration, prior, rho, box, weigh, rest[-1])


def _start_with(build: Callable[[], Model], place: Any, values: Any) -> Model:
    """A model whose state has these values at a place of its parameters."""
    model = build()
    parameters = model.parameters
    assert parameters is not None
    parameters[place] = values
    model.set_parameters(parameters)
    return model


def _case_with_tails(
    build: Callable[[], Model],
    reals: NDArray[np.float64],
    weigh: Callable[[Any, Any, Any, Concentration], Callable[[State], float]],
    options: dict[str, Any],
    title: str,
) -> Case:
    """The case of a mixture whose rows have weights in these columns. `weigh` gives log weights for b0, kappa0, weights
    and a concentration; of no weights, with these and the degrees of freedom integrated out."""

    def weigh_scales(scales: Any, weights: Any, concentration: Concentration) -> Callable[[State], float]:
        b0, kappa0 = scales
        if isinstance(b0, tuple) or isinstance(kappa0, tuple):
            raise ValueError("model.tails=t: weights are integrated with b0 and kappa0 fixed alone")
        return weigh(b0, kappa0, weights, concentration)

    held, integrable = _hold_scales(reals, options)
    at_start, integrated = partial(weigh_scales, held, WEIGHTS[: len(reals)]), partial(weigh_scales, integrable, None)
    weighted = partial(_start_with, build, (slice(-len(reals), None), 0), WEIGHTS[: len(reals)])
    return mixture_case(weighted, mixture_states(len(reals)), at_start, options, title, integrated)


def _case_of_reals(
    build: Callable[[], Model],
    x: NDArray[np.float64],
    columns: Sequence[int],
    joint: bool,
    weigh: Callable[[Any, Any, Any, Concentration], Callable[[State], float]],
    options: dict[str, Any],
    title: str,
    summed: Callable[[Any, Any, Any, Concentration], Callable[[State], float]] | None = None,
) -> Case:
    """The case of a mixture with real `columns`; `joint`: their missing cells are a part of the state, and the density
    of the second of them is known. `weigh` gives log weights of a table, b0, kappa0 and a concentration; `summed` the
    same with indicators of columns summed out, which are at their start in `weigh`."""
    held, integrable = _hold_scales(x[:, columns], options)
    filled = _fill_reals(x, columns, build()) if joint else x
    integrated = partial(summed or weigh, x, *integrable) if held is not integrable or joint or summed else None
    case = mixture_case(build, mixture_states(len(x)), partial(weigh, filled, *held), options, title, integrated)
    if not joint:
        return case

    def log_density(labels: tuple[int, ...], value: float) -> float:
        i, at = np.argwhere(np.isnan(x[:, columns]))[CELL]
        found = np.array(x)
        found[i, columns[at]] = value + _middle_of(x[:, columns[at]])
        return weigh(found, *integrable, 1.0)((labels, max(labels) + 1))

    return replace(case, cell=log_density)


def _hold_scales(points: NDArray[np.float64], options: dict[str, Any]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """b0 and kappa0 at the start, where a move of the partition alone leaves them, and as the enumeration integrates
    them; the same object where they are fixed. The defaults of m0 and b0 are put into `options`."""
    columns = [column[~np.isnan(column)] for column in points.T]
    if options["m0"] is None:
        options["m0"] = [float(column.mean()) if len(column) else 0.0 for column in columns]
    # one item has no spread: the model then takes 1
    spread = np.array([column.var() if len(column) and np.ptp(column) > 0.0 else 1.0 for column in columns])
    if options.get("covariance") == "iso":
        spread = np.atleast_1d(spread.mean())
    if options["b0"] is None:
        options["b0"] = (0.1 * spread).tolist() if len(spread) > 1 else float(0.1 * spread[0])
    known = {option.name: option for option in normal.Normal.OPTIONS}
    b0, kappa0 = (known[key].read(options[key], "model") for key in ("b0", "kappa0"))
    held = b0.mean * spread if isinstance(b0, Gamma) else b0, kappa0.mean if isinstance(kappa0, Gamma) else kappa0
    if not (isinstance(b0, Gamma) or isinstance(kappa0, Gamma)):
        return held, held
    return held, (
        (b0.shape, b0.rate / spread) if isinstance(b0, Gamma) else b0,
        (kappa0.shape, kappa0.rate) if isinstance(kappa0, Gamma) else kappa0,
    )


def _lose_reals(x: NDArray[np.float64], columns: Sequence[int]) -> NDArray[np.float64]:
    """A table that lacks the second of these columns in the rows 1 and 2, so that clusters lack most or all of it, and
    the first in the last row of at least four."""
    found = np.array(x)
    found[[1 % len(x), 2 % len(x)], columns[1]] = np.nan
    if len(x) > 3:
        found[-1, columns[0]] = np.nan
    return found


def _fill_reals(x: NDArray[np.float64], columns: Sequence[int], model: Model) -> NDArray[np.float64]:
    """A table with the missing cells of these columns as a model of full covariances has them at the start."""
    found = np.array(x)
    cells = np.argwhere(np.isnan(found[:, columns]))
    parameters = model.parameters
    assert parameters is not None
    for (i, at), value in zip(cells, parameters[-len(cells) :, 0], strict=True):
        found[i, columns[at]] = value + _middle_of(x[:, columns[at]])
    return found


def _middle_of(column: NDArray[np.float64]) -> float:
    """The number from which a model of full covariances counts the missing cells of a column."""
    seen = column[~np.isnan(column)]
    return float(seen.min() / 2 + seen.max() / 2) if len(seen) else 0.0


def mixed_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` rows of a binary, a categorical, a count and two real columns. In each but the first real column a cell is
    missing, with a full covariance real ones as `_lose_reals` does; with ``complete``, not an option of the model, none
    is; with ``spikes``, no more one, every second cell of the first real column is one number. Latent outcomes are as
    a chain starts with them."""
    options: dict[str, Any] = {"concentration": 1.3, "prior": "crp", "beta1": 0.6, "beta0": 0.9, "alpha": 0.7}
    options |= {"shape": 1.4, "rate": 0.5, "m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8, "resolution": "none"}
    options |= dict(params)
    complete, level = options.pop("complete", False), options.pop("levels", "categorical")
    spike = (0.25, 0.01) if options.pop("spikes", False) else None
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=size), rng.permutation(np.arange(size) % 3)
    reals = np.round(rng.normal(0, 1, (size, 2)) + 1.5 * rng.integers(2, size=(size, 1)), 2)
    x = np.column_stack([*codes, rng.poisson(3.0, size), reals])
    zeros_apart = options.get("zeros") == "apart"
    if zeros_apart:
        x[:, 2] = np.where(np.arange(size) == 0, 0, np.maximum(x[:, 2], 1))
    if spike:
        x[::2, 3] = spike[0]
    real_columns = [j for j in (3, 4) if j + 1 not in options.get("effects", ())]
    is_joint = options.get("covariance") == "full" and real_columns == [3, 4] and options.get("outcome") != 5
    if not complete:
        x[[0, -1, size // 2], [0, 1, 2]] = np.nan
        if is_joint:
            x = _lose_reals(x, [3, 4])
        else:
            x[size // 3, 4] = np.nan
    types, levels = ("binary", level, "count", "real", "real"), ("a", "b", "c")
    columns = [SimpleNamespace(type=kind, levels=levels if kind == level else ()) for kind in types]
    columns[3].spike = spike
    made = partial(build, x, columns, **options)
    if options.get("noise"):
        made = partial(build.build, x, columns, None, options)  # type: ignore[attr-defined]
    if options.get("covariance") == "full" and not is_joint:
        # of one column both are one model, of the cells that are there
        options["covariance"] = "diag"
    selects = options.pop("select", False)
    if selects:
        every = partial(build.build, x, columns, None, options | {"select": True})  # type: ignore[attr-defined]
        made = partial(_start_with, every, OUT, 0.0)
    if options["rate"] is None:
        cells = x[x[:, 2] > 0.0, 2] - 1.0 if zeros_apart else x[~np.isnan(x[:, 2]), 2]
        mean = float(cells.mean()) if len(cells) else 0.0
        options["rate"] = options["shape"] / (mean or 1.0)

    are_spikes = np.where(np.isnan(x[:, 3]), np.nan, x[:, 3] == spike[0]) if spike else None
    if are_spikes is not None:
        # what follows reads the other cells, and where they are
        x = np.where(np.outer(are_spikes == 1.0, np.arange(5) == 3), np.nan, x)

    # with the latent outcomes as they are, and with these integrated out
    weigh_table: Callable[..., Callable[[State], float]] = continuous.mixed_log_weight
    weigh_all, latent = weigh_table, None
    if options.get("outcome") is not None:
        outcome, weigh_all = options["outcome"] - 1, outcome_log_weight
        if types[outcome] == "binary" and options.get("effects"):
            latent, parameters = np.array(x[:, outcome]), made().parameters
            known = ~np.isnan(latent)
            if parameters is not None:
                latent[known] = parameters[: int(known.sum()), 0]
        weigh_table = partial(outcome_log_weight, latent=latent)
    else:
        options = {key: value for key, value in options.items() if key not in ("outcome", "effects")}

    def read_columns(table: Any, chosen: Sequence[int] = range(5)) -> tuple[Any, list[str], list[int]]:
        """Columns of the table, their types and levels; zeros apart: whether a count is 0 is one more, in which the
        second code is 0, and what is above 0 counts from there; likewise whether a real cell is the spike."""
        cells, kinds = np.array(table[:, chosen]), [types[j] for j in chosen]
        numbers = [(2, 3, 0, 0, 0)[j] for j in chosen]
        if zeros_apart and 2 in chosen:
            counts = table[:, 2]
            cells[:, list(chosen).index(2)] = [v - 1.0 if v >= 1.0 else np.nan for v in counts]
            cells = np.column_stack([cells, [np.nan if np.isnan(v) else float(v < 1.0) for v in counts]])
            kinds, numbers = [*kinds, "binary"], [*numbers, 2]
        if are_spikes is not None and 3 in chosen:
            cells, kinds, numbers = np.column_stack([cells, are_spikes]), [*kinds, "binary"], [*numbers, 2]
        return cells, kinds, numbers

    def weigh_rows(
        own: Mapping[str, Any], rows: Any, concentration: Concentration, prior: str
    ) -> Callable[[State], float]:
        return weigh_table(*read_columns(rows), **{**own, "concentration": concentration, "prior": prior})

    def weigh(
        table: Any, b0: Any, kappa0: Any, concentration: Concentration, sums: bool = False
    ) -> Callable[[State], float]:
        steps = resolutions_of(options["resolution"], len(real_columns), x[:, real_columns].T)
        own = options | {"b0": b0, "kappa0": kappa0, "resolution": steps, "concentration": concentration}
        alone = {"concentration": 1.0, "prior": "uniform"}
        if rho := own.pop("noise", None):
            ends = mixed_cells.box_of_table(x, types, (2, 3, 0, 0, 0), own.pop("box", None), options["resolution"])
            own["table"] = table
            return noise_log_weight(
                table, concentration, options["prior"], rho, ends, partial(weigh_rows, own), options.get("power", 1.0)
            )
        if not selects:
            return (weigh_all if sums else weigh_table)(*read_columns(table), **own)
        by_column = {key: np.broadcast_to(own[key], 2) for key in ("m0", "b0", "resolution")}
        apart = []
        for j in range(5):
            of_column = {key: float(values[max(j - 3, 0)]) for key, values in by_column.items()}
            apart.append(continuous.mixed_log_weight(*read_columns(table, [j]), **own | of_column | alone))
        if sums:
            return continuous.sum_over_indicators(apart, len(table), concentration, options["prior"])
        del apart[OUT]
        return mixture_log_weight(
            lambda z: sum(one((tuple(z.tolist()), int(z.max()) + 1)) for one in apart), concentration, options["prior"]
        )

    rows = " ".join("(" + ",".join("-" if np.isnan(cell) else f"{cell:g}" for cell in row) + ")" for row in x)
    if options.get("tails") == "t":

        def weigh_tails(b0: Any, kappa0: Any, weights: Any, concentration: Concentration) -> Callable[[State], float]:
            own = options | {"b0": b0, "kappa0": kappa0, "weights": weights, "concentration": concentration}
            own["resolution"] = resolutions_of(options["resolution"], len(real_columns), x[:, real_columns].T)
            return (weigh_all if weights is None else weigh_table)(*read_columns(x), **own)

        return _case_with_tails(made, x[:, real_columns], weigh_tails, options, f"rows {rows}")
    summed = partial(weigh, sums=True) if selects or latent is not None else None
    has_gaps = is_joint and (not complete or spike is not None)
    return _case_of_reals(made, x, real_columns, has_gaps, weigh, options, f"rows {rows}", summed)


def overdispersed_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` rows of three counts, with tables and exposures as a chain starts with them; where these are resampled,
    integrated out by quadrature."""
    options: dict[str, Any] = {"concentration": 1.3, "prior": "crp", "alpha": 0.7, "shape": 1.5, "rate": 0.4}
    options |= dict(params)
    of_model = {key: options[key] for key in ("alpha", "shape", "rate")}
    x = np.random.default_rng(seed).multinomial(4, [0.5, 0.3, 0.2], size=size).astype(np.int32)
    x[0] = [6, 0, 1]
    another = partial(build, x, **options)
    state, reference = another().parameters, build.reference_log_lik  # type: ignore[attr-defined]

    def weigh_held(concentration: Concentration) -> Callable[[State], float]:
        return mixture_log_weight(lambda z: reference(x, z, state=state, **options), concentration, options["prior"])

    def weigh_all(concentration: Concentration) -> Callable[[State], float]:
        return continuous.scattered_counts_log_weight(x, concentration, options["prior"], **of_model)

    return mixture_case(another, mixture_states(size), weigh_held, options, f"counts {x.tolist()}", weigh_all)


def design_matrix(x: NDArray[np.float64], types: Sequence[str], levels: Sequence[int], effects: Sequence[int]) -> Any:
    """Intercept and effects, columns numbered from 0: real ones and counts standardised, of others a 0 or 1 for each
    level but the first."""
    columns = [np.ones(len(x))]
    for j in effects:
        if types[j] in ("real", "count"):
            columns.append((x[:, j] - x[:, j].mean()) / (x[:, j].std() or 1.0))
        else:
            columns += [1.0 * (x[:, j] == level) for level in range(1, levels[j])]
    return np.column_stack(columns)


def log_regression(
    y: NDArray[np.float64],
    X: NDArray[np.float64],
    weights: NDArray[np.float64],
    m0: float,
    a0: float,
    b0: float,
    power: float = 1.0,
    step: float = 0.0,
) -> float:
    """Log marginal likelihood of outcomes, coefficients and variance integrated out.

    A coefficient is normal about 0, the intercept about `m0`, with the variance over its weight. The outcomes are
    normal with the covariance I / power + X W^-1 X' times v, times a factor that a power of a density has; `step`: each
    has its mean log density over that step.
    """
    n = len(y)
    covariance = np.eye(n) / power + (X / weights) @ X.T
    off = y - m0
    a = a0 + 0.5 * power * n
    b = b0 + 0.5 * off @ np.linalg.solve(covariance, off) + power * n * step**2 / 24
    constant = -0.5 * power * n * np.log(2 * np.pi) - 0.5 * n * np.log(power)
    constant -= 0.5 * np.linalg.slogdet(covariance)[1]
    return float(constant + gammaln(a) - gammaln(a0) + a0 * np.log(b0) - a * np.log(b))


def log_latent(u: NDArray[np.float64], X: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the log density of latent outcomes, whose variance is 1, coefficients integrated out."""
    covariance = np.eye(len(u)) + (X / weights) @ X.T
    log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
    return float(-0.5 * (log_det + u @ np.linalg.solve(covariance, u)))


def log_orthant(y: NDArray[np.float64], X: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the log probability of binary outcomes: that latent ones, coefficients integrated out, are on their side
    of 0."""
    side = np.where(y == 1, 1.0, -1.0)
    covariance = (np.eye(len(y)) + (X / weights) @ X.T) * np.outer(side, side)
    return float(np.log(multivariate_normal.cdf(np.zeros(len(y)), cov=covariance))) if len(y) else 0.0


def outcome_log_weight(
    x: ArrayLike,
    types: Sequence[str],
    levels: Sequence[int],
    concentration: Concentration,
    latent: NDArray[np.float64] | None = None,
    **options: Any,
) -> Callable[[State], float]:
    """`mixed_log_weight` of a table with an outcome and effects, columns by their numbers from 1.

    A binary outcome that has effects has `latent` values, NaN where it is missing; without any, they are integrated
    out. The outcome's m0, b0 and resolution are numbers for all real columns, effects left out.
    """
    values = np.asarray(x, dtype=float)
    outcome, effects = options.pop("outcome") - 1, [j - 1 for j in options.pop("effects", ())]
    slope_weight = options.pop("slope_weight", None)
    if types[outcome] not in ("real", "binary") or (types[outcome] == "binary" and not effects):
        return continuous.mixed_log_weight(values, types, levels, concentration, **options)
    reals = [j for j, kind in enumerate(types) if kind == "real" and j not in effects]
    of_outcome = {}
    rest = [j for j in range(len(types)) if j != outcome and j not in effects]
    for key in ("m0", "b0", "resolution"):
        numbers = np.broadcast_to(np.asarray(options.get(key, 0.0), dtype=float), len(reals))
        of_outcome[key] = float(numbers[reals.index(outcome)]) if outcome in reals else 0.0
        options[key] = [number for j, number in zip(reals, numbers, strict=True) if j != outcome]
    alone = options | {"prior": "uniform"}
    others = continuous.mixed_log_weight(
        values[:, rest], [types[j] for j in rest], [levels[j] for j in rest], 1.0, **alone
    )
    X, is_latent = design_matrix(values, types, levels, effects), types[outcome] == "binary"
    kappa0 = 1.0 if is_latent else options["kappa0"]
    weights = np.append(kappa0, np.full(X.shape[1] - 1, slope_weight or kappa0))
    y = values[:, outcome] if latent is None else latent

    def log_lik(z: NDArray[np.int64]) -> float:
        total = others((tuple(z.tolist()), int(z.max()) + 1)) if rest else 0.0
        for k in range(z.max() + 1):
            here = (z == k) & ~np.isnan(values[:, outcome])
            if is_latent and latent is None:
                total += log_orthant(y[here], X[here], weights)
            elif is_latent:
                total += log_latent(y[here], X[here], weights)
            else:
                prior = of_outcome["m0"], options["a0"], of_outcome["b0"]
                total += log_regression(
                    y[here], X[here], weights, *prior, options.get("power", 1.0), of_outcome["resolution"]
                )
        return total

    return mixture_log_weight(log_lik, concentration, options["prior"])


CASES: dict[str, OwnCase] = {
    "Bernoulli": (bernoulli_case, [{}, {"concentration": "gamma(2,1)"}, {"missing": True}, {"power": 0.4}]),
    "Gaussian": (
        gaussian_case,
        [
            *({"covariance": covariance} for covariance in ("diag", "iso", "full")),
            *({"covariance": covariance, "sparse": True} for covariance in ("diag", "iso")),
            {"covariance": "diag", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)", "concentration": "gamma(2,1)"},
            {"covariance": "iso", "b0": "gamma(1.5,3)"},
            {"covariance": "full", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"},
            {"covariance": "full", "resolution": [0.5, 2.0]},
            {"covariance": "full", "power": 0.4},
            *({"covariance": covariance, "tails": "t"} for covariance in ("diag", "iso", "full")),
            {"covariance": "full", "resolution": [2.0, 0.0], "missing": True, "b0": 0.05, "kappa0": 0.2},
            {"covariance": "diag", "select": True},
            {"covariance": "diag", "select": True, "missing": True},
            {"covariance": "diag", "missing": True},
            {"covariance": "diag", "missing": True, "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"},
            *({"covariance": covariance, "noise": 0.3} for covariance in ("diag", "iso", "full")),
            {"covariance": "diag", "noise": 0.3, "missing": True},
            {"covariance": "diag", "noise": 0.3, "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"},
        ],
    ),
    "Mixed": (
        mixed_case,
        [
            {},
            {"complete": True},
            {"concentration": "gamma(2,1)"},
            {"resolution": [0.5, 2.0]},
            {"covariance": "full", "complete": True},
            {"covariance": "full", "resolution": [2.0, 0.0], "b0": 0.05},
            {"power": 0.4},
            {"tails": "t", "resolution": [0.5, 2.0]},
            {"tails": "t", "covariance": "full", "complete": True},
            {"zeros": "apart"},
            {"zeros": "apart", "complete": True, "power": 0.4},
            {"zeros": "apart", "spikes": True, "resolution": [0.5, 2.0]},
            {"zeros": "apart", "spikes": True, "covariance": "full", "complete": True},
            {"zeros": "apart", "spikes": True, "tails": "t"},
            {"zeros": "apart", "spikes": True, "select": True},
            {"levels": "ordinal"},
            {"levels": "ordinal", "complete": True, "power": 0.4},
            {"levels": "ordinal", "select": True},
            {"noise": 0.3},
            {"noise": 0.3, "zeros": "apart", "power": 0.4},
            {"noise": 0.3, "levels": "ordinal"},
            {"noise": 0.3, "covariance": "full", "complete": True, "b0": "gamma(2,3)"},
            {"outcome": 5, "effects": [4]},
            {"outcome": 1, "effects": [4], "slope_weight": 0.7},
            {"outcome": 5, "effects": [2, 3], "complete": True, "power": 0.4, "resolution": [0.5, 2.0]},
            {"outcome": 5, "effects": [3], "complete": True, "tails": "t"},
        ],
    ),
    "GammaPoisson": (
        reference_case,
        [
            {},
            {"concentration": "gamma(2,1)"},
            {"power": 0.4},
            {"zeros": "apart"},
            {"zeros": "apart", "power": 0.4},
            {"exposure": [0.5, 2.0, 1.25, 3.0]},
            {"exposure": [0.5, 2.0, 1.25, 3.0], "power": 0.4},
        ],
    ),
    "Multinomial": (reference_case, [{}, {"concentration": "gamma(2,1)"}, {"power": 0.4}]),
    "OverdispersedMultinomial": (overdispersed_case, [{}, {"concentration": "gamma(2,1)"}]),
}
