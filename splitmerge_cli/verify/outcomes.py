"""Log likelihoods of small clusters with an outcome, by dense matrices over rows; nothing compiled has a part in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import multivariate_normal

from splitmerge_cli.verify.continuous import mixed_log_weight
from splitmerge_cli.verify.enumerate import Concentration, State, mixture_log_weight


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


def latent_outcomes(
    model: Any, x: NDArray[np.float64], types: Sequence[str], options: dict[str, Any]
) -> NDArray[np.float64] | None:
    """Latent outcomes of a model's state for each row, NaN where the outcome is missing; None: it has none."""
    outcome = options["outcome"] - 1
    if types[outcome] != "binary" or not options.get("effects"):
        return None
    latent = np.array(x[:, outcome])
    known = ~np.isnan(latent)
    latent[known] = model.parameters[: int(known.sum()), 0]
    return latent


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
        return mixed_log_weight(values, types, levels, concentration, **options)
    reals = [j for j, kind in enumerate(types) if kind == "real" and j not in effects]
    of_outcome = {}
    rest = [j for j in range(len(types)) if j != outcome and j not in effects]
    for key in ("m0", "b0", "resolution"):
        numbers = np.broadcast_to(np.asarray(options.get(key, 0.0), dtype=float), len(reals))
        of_outcome[key] = float(numbers[reals.index(outcome)]) if outcome in reals else 0.0
        options[key] = [number for j, number in zip(reals, numbers, strict=True) if j != outcome]
    alone = options | {"prior": "uniform"}
    others = mixed_log_weight(values[:, rest], [types[j] for j in rest], [levels[j] for j in rest], 1.0, **alone)
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
