"""Small posteriors over partitions whose every state can be enumerated: data, a model with all numbers, a log weight.

The weights are the formulas of `splitmerge_cli.verify.enumerate` and `splitmerge_cli.verify.continuous`, which share no
code with the samplers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.verify import continuous
from splitmerge_cli.verify import enumerate as exact

PRIORS: dict[str, dict[str, Any]] = {
    "crp": {"prior": "crp", "concentration": 0.8},
    "crp-gamma": {"prior": "crp", "concentration": (2.0, 1.5)},
    "uniform": {"prior": "uniform", "concentration": 1.0},
    "mfm": {"prior": "mfm(components=bnb(1,4,3))", "concentration": 1.2},
    "mfm-poisson": {"prior": "mfm(components=poisson(2))", "concentration": 0.6},
    "mfm-gamma": {"prior": "mfm(components=geometric(0.4))", "concentration": (2.0, 1.5)},
    "dynamic-mfm": {"prior": "dynamic_mfm(components=poisson(2))", "concentration": 1.4},
    "pitman-yor": {"prior": "pitman_yor(discount=0.3)", "concentration": 0.8},
    "pitman-yor-gamma": {"prior": "pitman_yor(discount=0.2)", "concentration": (2.0, 1.5)},
    "esc": {"prior": "esc(r=1.5,p=0.4)", "concentration": 1.0},
    "learned-sizes": {"prior": "learned_sizes(size_1=0.3,size_2=0.6,size_3=0.5,size_more=0.7)", "concentration": 1.0},
    "dynamic-mfm-gamma": {"prior": "dynamic_mfm(components=geometric(0.5))", "concentration": (2.0, 1.5)},
}
"""Priors that every mixture has a posterior under, and the concentration; a pair is a gamma density, (shape, rate)."""


@dataclass(frozen=True)
class Posterior:
    """One case."""

    id: str
    model: str
    data: dict[str, Any]
    """The items; arrays as nested lists, NaN as None."""
    hyperparameters: dict[str, Any]
    """All of them; a pair under the name of a prior's is (shape, rate) of a gamma density that it is integrated
    over."""
    states: Callable[[], list[exact.State]]
    """Makes the list of states."""
    log_weight: Callable[[exact.State], float]
    """Takes a state; up to a constant."""

    @property
    def n_items(self) -> int:
        """int: N."""
        return int(self.data["N"])

    def table(self) -> pd.DataFrame:
        """Every state: labels (from 0, by first appearance), K (clusters, empty ones among them), probability, log."""
        states = self.states()
        log_weight = np.array([self.log_weight(state) for state in states])
        probability = exact.normalise(log_weight)
        return pd.DataFrame(
            {
                "labels": [np.asarray(state[0], dtype=np.int8) for state in states],
                "K": np.array([state[1] for state in states], dtype=np.int16),
                "probability": probability,
                "log_probability": np.log(np.where(probability > 0, probability, 1.0))
                + np.where(probability > 0, 0.0, -np.inf),
            }
        )


def cases() -> list[Posterior]:
    """All cases, by id."""
    return sorted([*_chosen_cases(), *_cases_of_bases()], key=lambda case: case.id)


def nest(x: ArrayLike) -> Any:
    """Return nested lists for JSON, None for NaN, numbers with 12 digits behind the point."""
    values = np.asarray(x)
    if values.dtype.kind != "f":
        return values.tolist()
    if values.ndim > 1:
        return [nest(row) for row in values]
    return [None if np.isnan(value) else round(float(value), 12) for value in values]


def round_all(value: Any) -> Any:
    """Round every number of a JSON value to 12 digits behind the point: the last ones depend on the machine."""
    if isinstance(value, dict):
        return {key: round_all(one) for key, one in value.items()}
    if isinstance(value, list):
        return [round_all(one) for one in value]
    return round(value, 12) if isinstance(value, float) else value


def _mixture(
    id: str, model: str, N: int, data: dict[str, Any], make: Callable[..., Any], hyper: dict[str, Any], *x: Any
) -> Posterior:
    """A mixture without empty clusters."""
    states = partial(exact.mixture_states, N)
    return Posterior(id, model, {"N": N, **data}, hyper, states, make(*x, **hyper))


def _chosen_cases() -> Iterator[Posterior]:
    """Models on data of their own, each with hyper-parameters that are chosen for it."""
    x: NDArray[Any]
    changed: dict[str, Any]
    for id, N, D, concentration, beta1, beta0, prior in (
        ("bernoulli-n4", 4, 2, 1.0, 1.0, 1.0, "crp"),
        ("bernoulli-n6", 6, 4, 1.7, 0.4, 0.7, "crp"),
        ("bernoulli-n6-uniform", 6, 4, 1.0, 1.0, 1.0, "uniform"),
        ("bernoulli-n6-gamma", 6, 4, (2.0, 1.5), 0.4, 0.7, "crp"),
        ("bernoulli-n8", 8, 5, 0.5, 0.5, 0.5, "crp"),
        ("bernoulli-n9", 9, 6, 1.0, 0.3, 0.3, "crp"),
        ("bernoulli-n10", 10, 3, 1.0, 1.0, 1.0, "crp"),
    ):
        x = np.random.default_rng(N + D).integers(2, size=(N, D)).astype(np.uint8)
        hyper: dict[str, Any] = {"concentration": concentration, "beta1": beta1, "beta0": beta0, "prior": prior}
        yield _mixture(id, "bernoulli", N, {"x": nest(x)}, exact.bernoulli_log_weight, hyper, x)
    for label_prior, (N, kmax) in product(("labelled", "partition", "as_printed"), ((5, 6), (7, 4))):
        tokens = np.random.default_rng(N).integers(3, size=N).astype(np.int32)
        hyper = {"alpha": 0.3, "mu": 1.0, "sigma": 0.8, "label_prior": label_prior}
        weight, states = exact.emm_log_weight(tokens, 3, **hyper), partial(exact.emm_states, N, kmax)
        data = {"N": N, "tokens": nest(tokens), "n_tokens": 3}
        id = f"emm-n{N}-{label_prior.replace('_', '-')}"
        yield Posterior(id, "emm", data, {**hyper, "kmax": kmax}, states, weight)
    for id, N, concentration, beta1, beta0, prior in (
        ("irm-n4", 4, 1.0, 1.0, 1.0, "crp"),
        ("irm-n6", 6, 1.4, 0.6, 1.7, "crp"),
        ("irm-n6-gamma", 6, (1.5, 1.0), 1.0, 1.0, "crp"),
        ("irm-n8", 8, 1.0, 1.0, 1.0, "crp"),
        ("irm-n8-uniform", 8, 1.0, 1.0, 1.0, "uniform"),
    ):
        upper = np.triu(np.random.default_rng(N).random((N, N)) < 0.5, 1)
        A = (upper | upper.T).astype(np.uint8)
        hyper = {"concentration": concentration, "beta1": beta1, "beta0": beta0, "prior": prior}
        yield _mixture(id, "irm", N, {"adjacency": nest(A)}, exact.irm_log_weight, hyper, A)
    fixed: dict[str, Any] = {"concentration": 1.0, "prior": "crp", "m0": 0.0, "kappa0": 0.3, "a0": 1.5, "b0": 0.7}
    for id, N, D, covariance, changed in (
        ("gaussian-diag-n6", 6, 2, "diag", {}),
        ("gaussian-iso-n6", 6, 2, "iso", {}),
        ("gaussian-full-n6", 6, 2, "full", {}),
        ("gaussian-diag-n6-1d", 6, 1, "diag", {}),
        ("gaussian-full-n7-3d", 7, 3, "full", {}),
        ("gaussian-diag-n8", 8, 2, "diag", {}),
        ("gaussian-diag-n6-gamma", 6, 2, "diag", {"concentration": (2.0, 2.0)}),
        ("gaussian-diag-n6-uniform", 6, 2, "diag", {"prior": "uniform"}),
        ("gaussian-diag-n5-b0", 5, 1, "diag", {"b0": (0.5, 0.5)}),
        ("gaussian-iso-n5-kappa0", 5, 2, "iso", {"kappa0": (0.5, 0.5)}),
    ):
        rng = np.random.default_rng(10 * N + D)
        x = np.round(rng.normal(size=(N, D)) + 2.5 * (np.arange(N) % 2)[:, None], 3)
        hyper = {**fixed, "covariance": covariance, **changed}
        yield _mixture(id, "gaussian", N, {"x": nest(x)}, continuous.gaussian_log_weight, hyper, x)
    fixed = {"concentration": 1.2, "sigma0": 3.0, "sigma1": 0.7, "a0": 1.5, "prior": "crp"}
    for id, N, changed in (
        ("lines-n6", 6, {"noise": "known"}),
        ("lines-n6-nig", 6, {"noise": "nig"}),
        ("lines-n8", 8, {"noise": "known", "concentration": 0.5}),
    ):
        rng = np.random.default_rng(N)
        abscissa = rng.uniform(-2, 2, N)
        side = np.arange(N) % 2
        y = np.where(side, 1.5 * abscissa + 1, -abscissa) + rng.normal(0, 0.7, N)
        x = np.round(np.column_stack([abscissa, y]), 3)
        yield _mixture(id, "lines", N, {"x": nest(x)}, continuous.lines_log_weight, {**fixed, **changed}, x)
    types, levels = ("real", "binary", "categorical", "count"), (0, 2, 3, 0)
    fixed = {"beta1": 0.4, "beta0": 0.6, "alpha": 0.7, "shape": 1.3, "rate": 0.4, "m0": 0.0, "kappa0": 0.3}
    for id, N, missing in (("mixed-n6", 6, 0.0), ("mixed-n6-missing", 6, 0.3), ("mixed-n7-missing", 7, 0.2)):
        rng = np.random.default_rng(N + int(10 * missing))
        half = np.arange(N) % 2
        real, bits = np.round(rng.normal(2.0 * half, 1.0), 3), rng.random(N) < 0.2 + 0.6 * half
        codes, counts = (rng.integers(2, size=N) + half) % 3, rng.poisson(1.0 + 3.0 * half)
        x = np.column_stack([real, bits, codes, counts]).astype(float)
        x[rng.random(x.shape) < missing] = np.nan
        hyper = {"concentration": 0.8, **fixed, "a0": 1.5, "b0": 0.5, "prior": "crp"}
        data = {"x": nest(x), "types": list(types), "levels": list(levels)}
        yield _mixture(id, "mixed", N, data, continuous.mixed_log_weight, hyper, x, types, levels)
    for id, lengths, gamma, alpha0 in (
        ("hdp-n5", (3, 2), 1.0, 1.0),
        ("hdp-n6", (2, 2, 2), 1.5, 0.7),
        ("hdp-n6-gamma", (3, 3), (1.0, 1.0), (1.0, 1.0)),
        ("hdp-n7", (4, 3), 0.5, 2.0),
    ):
        N, V = sum(lengths), 3
        docs = np.repeat(np.arange(len(lengths)), lengths)
        words = np.random.default_rng(N).integers(V, size=N)
        hyper = {"gamma": gamma, "alpha0": alpha0, "eta": 0.5}
        data = {"documents": nest(docs), "words": nest(words), "vocabulary": V}
        yield _mixture(id, "hdp", N, data, exact.hdp_log_weight, hyper, docs, words, V)


# every mixture under every prior, and its other forms


@dataclass(frozen=True)
class _Base:
    """A mixture on five items."""

    model: str
    data: dict[str, Any]
    make: Callable[..., Callable[[exact.State], float]]
    """Makes the log weight from the hyper-parameters."""
    hyperparameters: dict[str, Any]
    """All but the options of the partition's prior."""

    def case(self, id: str, **changed: Any) -> Posterior:
        hyper = {**PRIORS["crp"], **self.hyperparameters, **changed}
        N = self.data["N"]
        return Posterior(id, self.model, self.data, hyper, partial(exact.mixture_states, N), self.make(**hyper))


def _mixed_base(x: NDArray[np.float64], types: list[str], levels: list[int], hyper: dict[str, Any]) -> _Base:
    data = {"N": len(x), "x": nest(x), "types": types, "levels": levels}
    return _Base("mixed", data, partial(continuous.mixed_log_weight, x, types, levels), hyper)


def _bases(missing: bool = False) -> dict[str, _Base]:
    """The mixtures, by the name that begins an id; on request with `missing` cells."""
    N, rng = 5, np.random.default_rng(5)
    half = np.arange(N) % 2
    bits = (rng.random((N, 3)) < 0.25 + 0.5 * half[:, None]).astype(float)
    points = np.round(rng.normal(size=(N, 2)) + 2.0 * half[:, None], 3)
    counts = rng.poisson(1.5 + 2.5 * np.column_stack([half, 1 - half, half]))
    abscissa = rng.uniform(-2, 2, N)
    ordinate = np.where(half, 1.5 * abscissa + 1, -abscissa) + rng.normal(0, 0.7, N)
    line = np.round(np.column_stack([abscissa, ordinate]), 3)
    upper = np.triu(rng.random((N, N)) < np.where(half[:, None] == half, 0.8, 0.2), 1)
    adjacency = (upper | upper.T).astype(np.uint8)
    types, levels = ["real", "binary", "categorical", "count"], [0, 2, 3, 0]
    table = np.column_stack([points[:, 0], bits[:, 0], [0, 2, 1, 2, 0], counts[:, 0]])
    if missing:
        bits[0, 1] = bits[3, 2] = points[1, 0] = points[4, 1] = table[2, 0] = table[0, 1] = table[3, 2] = np.nan
        table[1, 3] = bits[2] = np.nan
    of_points: dict[str, Any] = {"m0": 0.0, "kappa0": 0.3, "a0": 1.5, "b0": 0.7}
    of_lines: dict[str, Any] = {"sigma0": 3.0, "sigma1": 0.7, "a0": 1.5}
    of_table = {"beta1": 0.4, "beta0": 0.6, "alpha": 0.7, "shape": 1.3, "rate": 0.4, **of_points}

    def base(model: str, x: NDArray[Any], make: Callable[..., Any], name: str = "x", **hyper: Any) -> _Base:
        return _Base(model, {"N": N, name: nest(x)}, partial(make, x), hyper)

    base_by_name = {
        "bernoulli": base("bernoulli", bits, exact.bernoulli_log_weight, beta1=0.4, beta0=0.7),
        "gaussian-diag": base("gaussian", points, continuous.gaussian_log_weight, covariance="diag", **of_points),
        "mixed": _mixed_base(table, types, levels, of_table),
    }
    if missing:
        return base_by_name
    return base_by_name | {
        "gaussian-iso": base("gaussian", points, continuous.gaussian_log_weight, covariance="iso", **of_points),
        "gaussian-full": base("gaussian", points, continuous.gaussian_log_weight, covariance="full", **of_points),
        "lines": base("lines", line, continuous.lines_log_weight, noise="known", **of_lines),
        "lines-nig": base("lines", line, continuous.lines_log_weight, noise="nig", **of_lines),
        "dirichlet-multinomial": base("multinomial", counts, exact.multinomial_log_weight, alpha=0.6),
        "gamma-poisson": base("gamma_poisson", counts, continuous.counts_log_weight, shape=1.3, rate=0.5),
        "irm": base("irm", adjacency, exact.irm_log_weight, "adjacency", beta1=0.6, beta0=1.1),
    }


def _cases_of_bases() -> Iterator[Posterior]:
    """All priors; missing cells, powers of the likelihood, resolutions of real columns, scales integrated out."""
    whole, holes = _bases(), _bases(missing=True)
    for name, prior in product(whole, PRIORS):
        yield whole[name].case(f"{name}-n5-{prior}", **PRIORS[prior])
    for name, base in holes.items():
        for prior in ("crp", "crp-gamma", "mfm", "uniform"):
            yield base.case(f"{name}-n5-missing-{prior}", **PRIORS[prior])
    for name, base in whole.items():
        for power in (0.25, 0.6) if name not in ("lines", "lines-nig", "irm") else ():
            yield base.case(f"{name}-n5-power-{power:g}", power=power)
    for name in ("bernoulli", "mixed"):
        yield holes[name].case(f"{name}-n5-missing-power-0.5", power=0.5)
    steps = {"gaussian-diag": [0.5, 1.0], "gaussian-iso": 0.5, "gaussian-full": [0.5, 1.0], "mixed": 0.5}
    for name, resolution in steps.items():
        yield whole[name].case(f"{name}-n5-resolution", resolution=resolution)
    yield whole["gaussian-full"].case("gaussian-full-n5-b0", b0=(1.5, 1.0))
    yield whole["gaussian-diag"].case("gaussian-diag-n5-kappa0", kappa0=(1.5, 3.0))
    yield holes["gaussian-diag"].case("gaussian-diag-n5-missing-b0", b0=(1.5, 1.0))
    types, levels = ["real", "real", "count"], [0, 0, 0]
    x = np.column_stack([np.array(whole["gaussian-full"].data["x"]), np.array(whole["gamma-poisson"].data["x"])[:, 0]])
    jointly = _mixed_base(x, types, levels, {**whole["mixed"].hyperparameters, "covariance": "full"})
    for prior in ("crp", "mfm"):
        yield jointly.case(f"mixed-n5-full-{prior}", **PRIORS[prior])
