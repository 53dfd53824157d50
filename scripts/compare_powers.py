"""Compare ``model.power=auto`` with power 1 on generated data whose clusters are of the model's shape, and others.

    python scripts/compare_powers.py OUT.csv [SEED ...]

A line a data set: the power that is taken, clusters with at least 2 % of the rows and adjusted Rand index of the draws,
means, under power 1, under the power taken, and the best index along the curve. Means by kind of data are printed.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.fits.short_fits import sample_by
from splitmerge_cli.kinds.tables.choice import calibrate

SCALES = {"b0": "hierarchical", "kappa0": "hierarchical"}
MODELS: dict[str, dict[str, Any]] = {
    "points": {"name": "gaussian", "covariance": "full", **SCALES},
    "counts": {"name": "gamma_poisson"},
    "binary": {"name": "bernoulli"},
}
DRAWS = 20
KINDS = {
    "normal": "points",
    "skew-normal": "points",
    "t, 3 degrees of freedom": "points",
    "uniform": "points",
    "exponential": "points",
    "Poisson": "counts",
    "negative binomial": "counts",
    "independent columns": "binary",
    "columns in pairs": "binary",
}
SIZES = {(3, 400): 2, (5, 600): 4}
"""Dimensions of points by clusters and rows; twice as many columns of counts, four times as many of 0 and 1."""


def generate(kind: str, K: int, N: int, D: int, seed: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Rows in clusters of unequal size, and these; means of points are 6 standard deviations apart at least."""
    rng = np.random.default_rng([seed, K, list(KINDS).index(kind)])
    z = rng.choice(K, N, p=np.arange(K, 0, -1) / (K * (K + 1) / 2))
    if KINDS[kind] == "counts":
        rate = rng.gamma(2.0, 4.0, (K, 2 * D))[z]
        return rng.poisson(rate if kind == "Poisson" else rate * rng.gamma(4.0, 0.25, rate.shape)), z
    if KINDS[kind] == "binary":
        one = rng.random((N, 4 * D)) < rng.beta(0.4, 0.4, (K, 4 * D))[z]
        if kind == "columns in pairs":
            # the second of a pair repeats the first in 7 rows of 10
            one[:, 1::2] = np.where(rng.random(one[:, ::2].shape) < 0.7, one[:, ::2], one[:, 1::2])
        return one.astype(np.uint8), z
    tries = [rng.uniform(-7, 7, (K, D)) for _ in range(200)]
    apart = [min(np.linalg.norm(centres[a] - centres[b]) for a in range(K) for b in range(a)) for centres in tries]
    mean = tries[int(np.argmax(apart))] * 6 / max(apart)
    noise = {
        "normal": lambda: rng.normal(size=(N, D)),
        "skew-normal": lambda: stats.skewnorm.rvs(6, size=(N, D), random_state=rng),
        "t, 3 degrees of freedom": lambda: rng.standard_t(3, size=(N, D)) / np.sqrt(3),
        "uniform": lambda: rng.uniform(-np.sqrt(3), np.sqrt(3), size=(N, D)),
        "exponential": lambda: rng.exponential(size=(N, D)),
    }[kind]()
    return mean[z] + noise, z


def compare(kind: str, K: int, N: int, seed: int) -> dict[str, Any]:
    """A line of the result."""
    x, z = generate(kind, K, N, SIZES[K, N], seed)
    dataset, short = from_object(x, KINDS[kind]), sample_by({"name": "sams"}, 0)
    index: dict[float, float] = {}

    def sample(options: Any) -> Any:
        def sample_rows(rows: Dataset) -> Any:
            posterior = short(options)(rows)
            draws = posterior.partitions.reshape(-1, rows.N)
            truth = of_rows[rows.values.tobytes()]
            index[options["power"]] = np.mean([adjusted_rand_score(truth, d) for d in draws[:: len(draws) // DRAWS]])
            return posterior

        return sample_rows

    # `calibrate` takes these rows
    chosen_rows = np.sort(np.random.default_rng(0).permutation(N)[N // 3 :])
    of_rows = {dataset.values[chosen_rows].tobytes(): z[chosen_rows]}
    curve = calibrate(MODELS[KINDS[kind]], dataset, sample).table
    chosen = curve[curve["taken"]].iloc[0]
    return {
        **{"kind": kind, "K": K, "rows": N, "seed": seed, "power": chosen["power"]},
        **{"clusters_1": curve["clusters"][0], "clusters": chosen["clusters"]},
        **{"ari_1": index[1.0], "ari": index[chosen["power"]], "ari_best": max(index.values())},
    }


def main() -> None:
    out, *seeds = sys.argv[1:] or sys.exit(__doc__)
    warnings.simplefilter("ignore")
    rows = []
    for seed in map(int, seeds or [1]):
        for kind in KINDS:
            rows += [compare(kind, K, N, seed) for K, N in SIZES]
            pd.DataFrame(rows).to_csv(Path(out), index=False, float_format="%.3f")
    table = pd.DataFrame(rows).groupby("kind", sort=False).mean(numeric_only=True)
    print(table.drop(columns=["rows", "seed"]).round(2).to_string())


if __name__ == "__main__":
    main()
