"""Compare rules for the point estimate on generated data with known clusters: docs/estimates.csv.

A row of the result is a rule over the data sets of one kind: how often its estimate has the true number of clusters,
how far its number is off, its adjusted Rand index, by how much that differs from the index of the partition of least
expected variation of information (with the standard error of the mean difference), and how often its number lies
outside the 95 % posterior interval. Runs that are in the folder are not made again, and those whose chains have not
converged are left out: they have no estimate.

    python scripts/compare_estimates.py --out results/estimates [--sets 20]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import smcmc
from splitmerge_cli.diagnostics.agreement import ari
from splitmerge_cli.diagnostics.point_estimate import interval_of_counts, minimise_expected_loss
from splitmerge_cli.runs.store.files import write_text

DOCS = Path(__file__).resolve().parents[1] / "docs"
POINTS = {"components": 5, "D": 2}
TABLE = {"components": 5, "missing": 0.0}
SETS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "normal, far": ("gaussian", "gaussian", POINTS | {"separation": 5.0}),
    "normal, near": ("gaussian", "gaussian", POINTS | {"separation": 3.0}),
    "normal, uneven": ("gaussian", "gaussian", POINTS | {"separation": 5.0, "sizes": "crp"}),
    "binary, far": ("bernoulli", "jain_neal", {"components": 5, "attributes": 15}),
    "binary, near": ("bernoulli", "jain_neal", {"components": 5, "attributes": 8}),
    "shares, far": ("multinomial", "counts", {"clusters": 5, "total": 50.0}),
    "shares, near": ("multinomial", "counts", {"clusters": 5, "total": 8.0}),
    "rates, far": ("gamma_poisson", "counts", {"clusters": 5, "total": 50.0}),
    "rates, near": ("gamma_poisson", "counts", {"clusters": 5, "total": 12.0}),
    "mixed, far": ("mixed", "mixed", TABLE | {"separation": 2.0}),
    "mixed, near": ("mixed", "mixed", TABLE | {"separation": 0.8}),
    "network, far": ("irm", "network", {"blocks": 5}),
    "network, near": ("irm", "network", {"blocks": 5, "p_in": 0.4, "p_out": 0.15}),
    "lines": ("lines", "lines", {"lines": 5, "noise": 1.0}),
    "tokens": ("emm", "emm", {"entities": 5, "dictionaries": "dirichlet", "concentration": 0.05}),
}
"""Model, data set and its options, by what the data are."""
COSTS = (0.75, 1.0, 1.1, 1.25, 1.5)
"""Costs of separating what is together."""


def rules() -> Iterator[tuple[str, float, str]]:
    """Loss, cost and which numbers of clusters are allowed."""
    for cost in COSTS:
        yield "vi", cost, "any"
        yield "vi", cost, "interval"
    yield "vi", 1.0, "mode"
    for allowed in ("any", "interval", "mode"):
        yield "binder", 1.0, allowed


def judge(partitions: NDArray[np.int32], truth: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    """A row for each rule: what its estimate is like."""
    K = partitions.max(axis=1) + 1
    interval, mode = interval_of_counts(K), int(np.bincount(K).argmax())
    true = len(np.unique(truth))
    for loss, a, allowed in rules():
        clusters = {"any": None, "interval": interval, "mode": (mode, mode)}[allowed]
        estimate = minimise_expected_loss(partitions, loss, a, clusters)
        off = estimate.n_clusters - true
        yield {
            "loss": loss,
            "a": a,
            "clusters": allowed,
            "true_K": off == 0,
            "off": abs(off),
            "more": off,
            "ari": ari(truth, estimate.labels),
            "outside": not interval[0] <= estimate.n_clusters <= interval[1],
        }


def measure(out: Path, sets: int, items: int) -> pd.DataFrame:
    """Rows of all rules on all data sets whose chains have converged."""
    rows: list[dict[str, Any]] = []
    for name, (model, data, options) in SETS.items():
        of_data = {f"data.{key}": value for key, value in options.items()}
        for seed in range(sets):
            posterior = smcmc.sample(
                model,
                data,
                iterations=4000,
                store=out,
                options={"N": items, "data.seed": seed, "trace.partitions": 20} | of_data,
                progress="none",
            )
            # where nothing changes there is no R-hat
            judged_well = posterior.converged or np.isnan(posterior.rhat)
            if judged_well and posterior.dataset.truth is not None:
                judged = judge(posterior.partitions, np.asarray(posterior.dataset.truth))
                rows += [{"data": name, "set": seed} | row for row in judged]
        print(name, len({row["set"] for row in rows if row["data"] == name}), "of", sets, "converged", flush=True)
    return pd.DataFrame(rows)


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the data sets of each kind, and of all kinds, by rule."""
    by = ["loss", "a", "clusters"]
    values = ["true_K", "off", "more", "ari", "ari_change", "outside"]
    plain = rows[(rows["loss"] == "vi") & (rows["a"] == 1.0) & (rows["clusters"] == "any")]
    with_plain = rows.merge(plain[["data", "set", "ari"]], on=["data", "set"], suffixes=("", "_vi"))
    rows = rows.assign(ari_change=with_plain["ari"] - with_plain["ari_vi"])
    grouped = pd.concat([rows, rows.assign(data="all")]).groupby(["data", *by], sort=False)
    means = grouped[values].mean()
    means.insert(0, "sets", grouped["set"].size())
    means.insert(6, "ari_error", grouped["ari_change"].sem())
    return means.reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/estimates"))
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--items", type=int, default=200)
    args = parser.parse_args()
    summary = summarise(measure(args.out, args.sets, args.items))
    write_text(DOCS / "estimates.csv", summary.to_csv(index=False, float_format="%.4g"))
    print(summary[summary["data"] == "all"].to_string(index=False))


if __name__ == "__main__":
    main()
