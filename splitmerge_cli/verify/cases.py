"""Small cases with a known posterior: a model on a few items, all its states, and their exact probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.core.checks import check_count
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Gamma, PositiveOrGamma, read_options
from splitmerge_cli.data.dataset import ColumnType, Dataset, get_kind
from splitmerge_cli.kinds.tables.models.normal import Normal
from splitmerge_cli.kinds.tables.models.real_columns import resolutions_of
from splitmerge_cli.verify.continuous import (
    candidates_log_weight,
    gaussian_log_weight,
    lines_log_weight,
    mixed_log_weight,
    scattered_counts_log_weight,
    selected_log_weight,
    sum_over_indicators,
    tailed_log_weight,
)
from splitmerge_cli.verify.enumerate import (
    Concentration,
    State,
    bernoulli_log_weight,
    candidates_states,
    emm_log_weight,
    emm_states,
    hdp_log_weight,
    irm_log_weight,
    mixture_log_weight,
    mixture_states,
    normalise,
)
from splitmerge_cli.verify.outcomes import latent_outcomes, outcome_log_weight
from splitmerge_cli.verify.records import records_log_weight
from splitmerge_cli.verify.variants import VARIANTS


@dataclass(frozen=True, eq=False)
class Case:
    """A small posterior."""

    model: Model
    """The one that the samplers of the exact checks share."""
    build: Callable[[], Model]
    """Makes another like it."""
    states: list[State]
    """Every state that the prior allows; of a model with parameters from a continuum every such partition."""
    pi: NDArray[np.float64]
    """Shape (n_states,): their exact probabilities: of the distribution that a move of the partition keeps, which holds
    hyper-parameters that are resampled."""
    title: str
    """The data and parameters, for people."""
    resample: Callable[[], NDArray[np.float64]] | None = None
    """Computes their exact probabilities where hyper-parameters are resampled too: integrals, which most checks do not
    need."""
    held: Callable[[float], NDArray[np.float64]] | None = None
    """Where clusters have weights: the exact probabilities given the weight of what no cluster holds (its logarithm),
    which moves of topics alone never change."""
    cell: Callable[[tuple[int, ...], float], float] | None = None
    """Where missing cells are a part of the state: the log density, up to a constant, of number `CELL` given the
    partition at a value as ``parameters`` of the model has it, all else integrated out."""

    @cached_property
    def partitions(self) -> tuple[list[State], NDArray[np.float64]]:
        """Every (labels, K) and its probability in a chain that makes all updates: parameters summed out."""
        pi = self.pi if self.resample is None else self.resample()
        total: dict[State, float] = {}
        for state, p in zip(self.states, pi, strict=True):
            total[state[:2]] = total.get(state[:2], 0.0) + p
        return list(total), np.array(list(total.values()))


MOST_ENTITIES = 20
"""Largest kmax whose states are enumerated."""


def emm_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` mentions of up to three tokens; kmax is `size` unless given."""
    options: dict[str, Any] = {"alpha": 0.5, "mu": 1.0, "sigma": 1.0, "kmax": size, "label_prior": "labelled"}
    options |= {"n_tokens": 3} | dict(params)
    check_count("model.kmax", options["kmax"], 1, MOST_ENTITIES)
    tokens = np.random.default_rng(seed).integers(3, size=size).astype(np.int32)
    another = partial(build, tokens, **options)
    model = another()
    states = emm_states(size, options["kmax"])
    weight = emm_log_weight(tokens, *(options[k] for k in ("n_tokens", "alpha", "mu", "sigma", "label_prior")))
    title = f"tokens {' '.join(map(str, tokens))}, {_format_options(options)}"
    return Case(model, another, states, normalise([weight(s) for s in states]), title)


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


def lines_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` points near two lines; collapsed, uncollapsed, or uncollapsed with two candidates."""
    options: dict[str, Any] = {"concentration": 1.3, "sigma0": 2.0, "sigma1": 1.5, "noise": "known", "a0": 2.5}
    options |= {"prior": "crp", "conjugate": True, "refresh": "draw", "steps": 2, "candidates": None} | dict(params)
    rng = np.random.default_rng(seed)
    x = np.round(rng.uniform(-2, 2, size), 2)
    points = np.column_stack([x, np.round(np.where(rng.random(size) < 0.5, x, 1 - x) + rng.normal(0, 1, size), 2)])
    prior, sigma1 = options["prior"], options["sigma1"]
    states = mixture_states(size)
    if options["candidates"] is not None:
        states = candidates_states(size, options["candidates"])

    def weight(concentration: Concentration) -> Callable[[State], float]:
        if options["candidates"] is not None:
            return candidates_log_weight(points, concentration, sigma1, prior, options["candidates"])
        noise = options["noise"], options["a0"]
        return lines_log_weight(points, concentration, options["sigma0"], sigma1, *noise, prior)

    return mixture_case(partial(build, points, **options), states, weight, options, _format_points(points))


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
        another = partial(_build_apart, another)

    def weigh(
        x: Any, b0: Any, kappa0: Any, concentration: Concentration, sums: bool = False
    ) -> Callable[[State], float]:
        prior, covariance, m0, a0 = (options[k] for k in ("prior", "covariance", "m0", "a0"))
        steps = resolutions_of(options["resolution"], points.shape[1], points.T)
        if sums:
            return selected_log_weight(x, concentration, prior, m0, kappa0, a0, b0, steps, power=zeta)
        if selects:  # of the column that is in
            x, m0, b0, steps = x[:, :1], np.ravel(m0)[:1], np.ravel(b0)[:1], steps[:1]
        return gaussian_log_weight(x, concentration, prior, covariance, m0, kappa0, a0, b0, steps, zeta)

    title = ("sparse " if sparse else "") + _format_points(points)
    if has_tails:

        def weigh_tails(b0: Any, kappa0: Any, weights: Any, concentration: Concentration) -> Callable[[State], float]:
            prior, covariance, m0, a0 = (options[k] for k in ("prior", "covariance", "m0", "a0"))
            steps = resolutions_of(options["resolution"], points.shape[1], points.T)
            return tailed_log_weight(points, concentration, prior, covariance, m0, kappa0, a0, b0, weights, steps)

        return _case_with_tails(another, points, weigh_tails, options, title)
    summed = partial(weigh, sums=True) if selects else None
    return _case_of_reals(another, points, range(points.shape[1]), missing and is_joint, weigh, options, title, summed)


def _build_apart(build: Callable[[], Model], out: int = 1) -> Model:
    """A model of columns, all of which but the one with this number tell clusters apart."""
    model = build()
    parameters = model.parameters
    assert parameters is not None
    parameters[out] = 0.0
    model.set_parameters(parameters)
    return model


WEIGHTS = (0.25, 1.75, 0.5, 3.0, 1.0, 0.125, 2.5, 0.75)
"""Weights of rows at the start, in turn, where these have any: a case has no more rows."""


def _with_weights(build: Callable[[], Model]) -> Model:
    """A model whose rows have the first of `WEIGHTS`."""
    model = build()
    parameters = model.parameters
    assert parameters is not None
    parameters[-model.N :, 0] = WEIGHTS[: model.N]
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
    states = mixture_states(len(reals))
    return mixture_case(partial(_with_weights, build), states, at_start, options, title, integrated)


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
    known = {option.name: option for option in Normal.OPTIONS}
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


CELL = 1
"""Number of the missing cell whose density a case has."""


def mixed_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` rows of a binary, a categorical, a count and two real columns. In each but the first real column a cell is
    missing, with a full covariance real ones as `_lose_reals` does; with ``complete``, not an option of the model, none
    is. Latent outcomes are as a chain starts with them."""
    options: dict[str, Any] = {"concentration": 1.3, "prior": "crp", "beta1": 0.6, "beta0": 0.9, "alpha": 0.7}
    options |= {"shape": 1.4, "rate": 0.5, "m0": 0.5, "kappa0": 0.4, "a0": 1.5, "b0": 0.8, "resolution": "none"}
    options |= dict(params)
    complete, level = options.pop("complete", False), options.pop("levels", "categorical")
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=size), rng.permutation(np.arange(size) % 3)
    reals = np.round(rng.normal(0, 1, (size, 2)) + 1.5 * rng.integers(2, size=(size, 1)), 2)
    x = np.column_stack([*codes, rng.poisson(3.0, size), reals])
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
    made = partial(build, x, columns, **options)
    if options.get("covariance") == "full" and not is_joint:
        # of one column both are one model, of the cells that are there
        options["covariance"] = "diag"
    selects = options.pop("select", False)
    if selects:
        made = partial(_build_apart, partial(build.build, x, columns, None, options | {"select": True}))  # type: ignore[attr-defined]
    if options["rate"] is None:
        cells = x[~np.isnan(x[:, 2]), 2]
        mean = float(cells.mean()) if len(cells) else 0.0
        options["rate"] = options["shape"] / (mean or 1.0)

    # with the latent outcomes as they are, and with these integrated out
    weigh_table: Callable[..., Callable[[State], float]] = mixed_log_weight
    weigh_all, latent = weigh_table, None
    if options.get("outcome") is not None:
        latent, weigh_all = latent_outcomes(made(), x, types, options), outcome_log_weight
        weigh_table = partial(outcome_log_weight, latent=latent)
    else:
        options = {key: value for key, value in options.items() if key not in ("outcome", "effects")}

    def weigh(
        table: Any, b0: Any, kappa0: Any, concentration: Concentration, sums: bool = False
    ) -> Callable[[State], float]:
        steps = resolutions_of(options["resolution"], len(real_columns), x[:, real_columns].T)
        own = options | {"b0": b0, "kappa0": kappa0, "resolution": steps, "concentration": concentration}
        n, alone = (2, 3, 0, 0, 0), {"concentration": 1.0, "prior": "uniform"}
        if not selects:
            return (weigh_all if sums else weigh_table)(table, types, n, **own)
        by_column = {key: np.broadcast_to(own[key], 2) for key in ("m0", "b0", "resolution")}
        apart = []
        for j in range(5):
            of_column = {key: float(values[max(j - 3, 0)]) for key, values in by_column.items()}
            apart.append(mixed_log_weight(table[:, [j]], types[j : j + 1], n[j : j + 1], **own | of_column | alone))
        if sums:
            return sum_over_indicators(apart, len(table), concentration, options["prior"])
        del apart[1]  # it is out
        return mixture_log_weight(
            lambda z: sum(one((tuple(z.tolist()), int(z.max()) + 1)) for one in apart), concentration, options["prior"]
        )

    rows = " ".join("(" + ",".join("-" if np.isnan(cell) else f"{cell:g}" for cell in row) + ")" for row in x)
    if options.get("tails") == "t":

        def weigh_tails(b0: Any, kappa0: Any, weights: Any, concentration: Concentration) -> Callable[[State], float]:
            own = options | {"b0": b0, "kappa0": kappa0, "weights": weights, "concentration": concentration}
            own["resolution"] = resolutions_of(options["resolution"], len(real_columns), x[:, real_columns].T)
            return (weigh_all if weights is None else weigh_table)(x, types, (2, 3, 0, 0, 0), **own)

        return _case_with_tails(made, x[:, real_columns], weigh_tails, options, f"rows {rows}")
    summed = partial(weigh, sums=True) if selects or latent is not None else None
    return _case_of_reals(made, x, real_columns, is_joint and not complete, weigh, options, f"rows {rows}", summed)


def irm_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """A graph of `size` nodes: of four the paper's, else a random one with an edge for every other pair."""
    options: dict[str, Any] = {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "crp"} | dict(params)
    upper = np.triu(np.random.default_rng(seed).integers(2, size=(size, size)), 1)
    if size == 4:
        upper = np.array([[0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    adjacency = (upper + upper.T).astype(np.uint8)
    edges = " ".join(f"{a}-{b}" for a, b in np.argwhere(upper)) or "none"

    def weight(concentration: Concentration) -> Callable[[State], float]:
        return irm_log_weight(adjacency, concentration, options["beta1"], options["beta0"], options["prior"])

    another = partial(build, csr_array(adjacency), **options)
    return mixture_case(another, mixture_states(size), weight, options, f"edges {edges}")


def hdp_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` tokens of three words in up to three documents."""
    options: dict[str, Any] = {"gamma": 1.6, "alpha0": 0.9, "eta": 0.4} | dict(params)
    words = np.random.default_rng(seed).integers(3, size=size).astype(np.int32)
    docs = np.minimum(np.arange(size) // 2, 2) if size < 6 else np.repeat([0, 1, 2], [size - 3, 2, 1])
    starts = np.searchsorted(docs, np.arange(docs.max() + 2))
    another = partial(build, words, starts, 3, **options)
    model, states = another(), mixture_states(size)
    text = " | ".join(" ".join("abc"[w] for w in words[docs == j]) for j in range(docs.max() + 1))
    given: dict[str, Any] = {key: _concentration(options[key]) for key in ("gamma", "alpha0")}

    def probabilities(log_unseen: float | None = None) -> NDArray[np.float64]:
        weight = hdp_log_weight(docs, words, 3, given["gamma"], given["alpha0"], options["eta"], log_unseen)
        return normalise([weight(s) for s in states])

    # draws from a continuum are in every move: there is no matrix, whose distribution would be another
    held = None if any(isinstance(v, tuple) for v in given.values()) else probabilities
    return Case(model, another, states, probabilities(), f"documents {text}, {_format_options(options)}", held=held)


def mixture_case(
    build: Callable[[], Model],
    states: list[State],
    weight: Callable[[Concentration], Callable[[State], float]],
    options: Mapping[str, Any],
    data: str,
    integrated: Callable[[Concentration], Callable[[State], float]] | None = None,
) -> Case:
    """The case of a mixture whose log weights are known for every concentration, and for a gamma prior of it.

    `integrated`: the same with all else integrated that is resampled, where there is any. Of other priors whose
    hyper-parameters are resampled, `weight` takes their present values, by name.
    """
    title = f"{data}, {_format_options(options)}"
    model = build()
    concentration = model.prior.concentration
    held = {"concentration": concentration} | model.prior_values if model.prior_values else concentration
    log_p = dict(zip(states, map(weight(held), states), strict=True))
    states = [s for s in states if log_p[s] > -np.inf]
    pi = normalise([log_p[s] for s in states])
    if not model.prior_values and integrated is None:
        return Case(model, build, states, pi, title)
    resampled = (integrated or weight)(_concentration(options["concentration"]))
    return Case(model, build, states, pi, title, lambda: normalise([resampled(s) for s in states]))


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
        return scattered_counts_log_weight(x, concentration, options["prior"], **of_model)

    return mixture_case(another, mixture_states(size), weigh_held, options, f"counts {x.tolist()}", weigh_all)


def records_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` records of a name, some near each other, a word and a number, with missing cells unless ``complete``; with
    ``sources`` of two files. Neither is an option of the model."""
    options: dict[str, Any] = {"concentration": 1.3, "prior": "crp", "distortion": "beta(2,6)", "similar": "beta(2,3)"}
    options |= {"similarity": "edit", "strength": 2.0} | dict(params)
    complete = options.pop("complete", False)
    sources = np.arange(size, dtype=np.int32) % 2 if options.pop("sources", False) else None
    words = (("kathrine", "katrin", "katrine"), ("x", "y", "z"), ("1961", "1962", "2024"))
    rng = np.random.default_rng(seed)
    values = rng.integers(3, size=(size, 3)).astype(np.int32)
    values[0], values[1, :2], values[-1] = 0, 1, (2, 0 if complete else -1, 1)
    types = ("string", "categorical", "number")
    names = [tuple(levels[code] for code in np.unique(values[:, f]) if code >= 0) for f, levels in enumerate(words)]
    fields = tuple(ColumnType(kind, levels) for kind, levels in zip(types, names, strict=True))
    for f in range(3):
        known = values[:, f] >= 0
        values[known, f] = np.unique(values[known, f], return_inverse=True)[1]
    another = partial(build, values, fields, sources, **options)
    read: dict[str, Any] = read_options("model", build.OPTIONS, options)  # type: ignore[attr-defined]
    shares = {key: read[key] for key in ("distortion", "similar", "frequencies")}
    held = {key: getattr(share, "mean", share) for key, share in shares.items()} | {"frequencies": 0.0}
    compared = {key: options[key] for key in ("similarity", "strength")}
    weigh = partial(records_log_weight, values, fields, sources, prior=options["prior"], **compared)
    integrated = partial(weigh, **shares) if held != shares else None
    return mixture_case(another, mixture_states(size), partial(weigh, **held), options, "records", integrated)


def reference_case(model: type[Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """The small case of a model with a ``reference_log_lik``: the example of its kind of data, of `size` items."""
    options = {option.name: option.default for option in model.OPTIONS} | {"concentration": 1.3} | dict(params)
    data, reference = get_kind(model.kind).example_for(model, size, seed), model.reference_log_lik
    assert reference is not None
    accepted, reason = model.accepts(data)
    if not accepted:
        raise ValueError(f"model {model.__name__} does not accept the example of its kind, nor a part of it: {reason}")
    of_rows: dict[str, Any] = {key: np.array(options.pop(key)) for key in ("exposure",) if key in options}
    build = partial(model.from_data, replace(data, **of_rows), **options)

    def weight(concentration: Concentration) -> Callable[[State], float]:
        def log_lik(z: NDArray[np.int64]) -> float:
            return float(reference(data.values, z, **options, **of_rows))

        return mixture_log_weight(log_lik, concentration, options["prior"])

    return mixture_case(build, mixture_states(size), weight, options, f"{data.name}, {size} items")


def has_small_case(model: type[Model]) -> bool:
    """Whether the posterior of a model can be enumerated on small data."""
    return _name_here(model) in CASES or model.reference_log_lik is not None


def _name_here(model: type[Model]) -> str:
    """The name of a model, which gives its case; empty for a class that another distribution defines."""
    return model.__name__ if model.__module__.startswith("splitmerge_cli.") else ""


def _concentration(value: Any) -> Concentration:
    """A concentration as the enumeration takes it."""
    read = PositiveOrGamma("concentration", 1.0, "").read(value, "model")
    return (read.shape, read.rate) if isinstance(read, Gamma) else read


def _format_points(points: NDArray[Any]) -> str:
    return "points " + " ".join(f"({','.join(f'{cell:g}' for cell in row)})" for row in points).replace("nan", "-")


CASES: dict[str, Callable[[Callable[..., Model], int, int, Mapping[str, Any]], Case]] = {
    "EMM": emm_case,
    "Bernoulli": bernoulli_case,
    "Lines": lines_case,
    "Gaussian": gaussian_case,
    "Mixed": mixed_case,
    "IRM": irm_case,
    "HDP": hdp_case,
    "Records": records_case,
    "OverdispersedMultinomial": overdispersed_case,
}
"""Special small cases; a model that is not named here uses the case of its ``reference_log_lik``."""


def variants_of(model: type[Model]) -> list[dict[str, Any]]:
    """Options of a model that ``smcmc verify`` goes through when none are given."""
    name = _name_here(model)
    return VARIANTS.get(name, [{}] if name in CASES else [{}, {"concentration": "gamma(2,1)"}])


def small_case(model: type[Model], size: int = 4, seed: int = 0, params: Mapping[str, Any] | None = None) -> Case:
    """The small case of a model class; a ValueError for a class without one, or parameters out of range."""
    if not has_small_case(model):
        raise ValueError(f"model {model.__name__} has no enumerable small case: no reference_log_lik")
    return CASES.get(_name_here(model), reference_case)(model, size, seed, params or {})


def _format_options(options: Mapping[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in options.items() if v is not None)
