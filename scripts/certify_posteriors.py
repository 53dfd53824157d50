"""Write the means of posteriors too large to enumerate: splitmerge_cli/verify/large_posteriors.csv and large_runs.csv.

    python scripts/certify_posteriors.py            all that are missing
    python scripts/certify_posteriors.py ID ...     these, anew

Each is from coupled pairs of chains, as ``smcmc certify`` makes them: the same streams, lag and iterations. Here every
state counts that they visit, so that functions of it can be averaged that no certificate has.
"""

import argparse
import sys
import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli import __version__
from splitmerge_cli.analysis import coupled_pairs
from splitmerge_cli.analysis.certificate import Schedule, digest_of
from splitmerge_cli.api.sampling import specify_sample
from splitmerge_cli.core.coupled import CoupledChains
from splitmerge_cli.core.model import Model
from splitmerge_cli.diagnostics.intervals import bound
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.verify import large_posteriors as large
from splitmerge_cli.verify.large_posteriors import LargePosterior
from splitmerge_cli.verify.small_posteriors import Posterior

NO_SCHEDULE = {"lag": None, "k": None, "m": None}
BATCHES, LEAST = 20, 50
"""Batches of the chain that starts from the components that the data were drawn from, and least iterations of one."""


def data_of(case: LargePosterior | Posterior) -> Any:
    """The data as a Python user has them."""
    data = case.data
    if "types" in data:
        x = np.array(data["x"], dtype=float)
        # codes of levels as words: numbers would be read as numbers
        columns = {}
        for d, kind in enumerate(data["types"]):
            cells = pd.Series(x[:, d])
            if kind == "categorical":
                words = list("abcdefghij"[: data["levels"][d]])
                cells = pd.Series(pd.Categorical.from_codes(cells.fillna(-1).astype(int), categories=words))
            columns[f"{kind}{d}"] = cells if kind in ("real", "categorical") else cells.astype("Int64")
        return pd.DataFrame(columns)
    if "edges" in data:
        adjacency = np.zeros((data["N"], data["N"]), dtype=np.uint8)
        i, j = np.array(data["edges"]).T
        adjacency[i, j] = adjacency[j, i] = 1
        return adjacency
    return np.array(data["adjacency" if "adjacency" in data else "x"], dtype=float)


def plan_of(case: LargePosterior | Posterior, moves: int, iterations: int) -> Plan:
    """Coupled chains of SAMS moves, each before a scan."""
    hyper = {
        key: f"gamma({value[0]:g},{value[1]:g})" if isinstance(value, tuple) else value
        for key, value in case.hyperparameters.items()
    }
    options = {"init": coupled_pairs.MIXTURE, "schedule.moves": moves}
    if "types" in case.data:
        options["data.types"] = {f"{kind}{d}": kind for d, kind in enumerate(case.data["types"])}
    keys = {"seed": 1, "iterations": iterations, "progress": "none", "workers": 1}
    settled, _ = specify_sample({"name": case.model, **hyper}, data_of(case), "sams", keys, None, options)
    return coupled_pairs.check_coupling(settled.spec)


def values_of(model: Model, items: NDArray[np.int64]) -> NDArray[np.float64]:
    """Functions of a state, as in `LargePosterior.quantities`."""
    labels = model.labels
    sizes = np.sort(np.bincount(labels))[::-1][: large.LARGEST] / len(labels)
    together = labels[items[:, 0]] == labels[items[:, 1]]
    shares = np.zeros(large.LARGEST)
    shares[: len(sizes)] = sizes
    held = list(model.hyperparameter_values.values())
    return np.concatenate([[model.n_clusters, model.log_lik_total()], shares, together, held])


def estimate(chains: CoupledChains, schedule: Schedule, items: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """H_{k:m} of every function by one pair of chains, without bias; None if it does not meet."""
    total: Any = 0.0

    def add() -> None:
        nonlocal total
        of_x, of_y = chains.weights_of_states(schedule.k, schedule.m)
        if of_x:
            total = total + of_x * values_of(chains.x, items)
        if of_y:
            total = total + of_y * values_of(chains.y, items)

    chains.advance(0, True)
    add()
    while chains.iteration < schedule.iterations and (chains.meeting < 0 or chains.iteration < schedule.m):
        chains.advance(1, chains.meeting < 0)
        add()
    return total if chains.meeting >= 0 else None


def compare_start(plan: Plan, case: LargePosterior, schedule: Schedule, values: NDArray[np.float64]) -> float:
    """Compare the means with a chain from the components that the data were drawn from, which no pair starts
    from: the largest difference of the first two, in standard errors."""
    chain = plan.chain(0)
    chain.model.set_labels(np.array(case.data["components"], dtype=np.int32))
    rows = []
    for _ in range(BATCHES * max(LEAST, schedule.lag)):
        chain.advance(1)
        rows.append(values_of(chain.model, case.items)[:2])
    batches = np.array(rows).reshape(BATCHES, -1, 2).mean(axis=1)
    difference = batches.mean(axis=0) - values[:, :2].mean(axis=0)
    spread = batches.var(axis=0, ddof=1) / BATCHES + values[:, :2].var(axis=0, ddof=1) / len(values)
    return float(np.max(np.abs(difference) / np.sqrt(spread)))


def certify_means(
    case: LargePosterior | Posterior, items: NDArray[np.int64], pairs: int, moves: int, iterations: int
) -> tuple[NDArray[np.float64], dict[str, Any], tuple[str, ...]]:
    """Means of one posterior.

    Returns
    -------
    ndarray of float, shape (pairs, quantities)
        An estimate of each, by each pair.
    dict
        What was run, and what the meeting times say.
    tuple of str
        The hyper-parameters that are resampled.
    """
    began = time.process_time()
    plan = plan_of(case, moves, iterations)
    schedule = coupled_pairs.choose_schedule(plan, NO_SCHEDULE)
    certificates, tau, starts = [], [], set()
    for number in range(pairs):
        chains = plan.builder.coupled_chains(
            coupled_pairs.FIRST_PAIR + number, schedule.lag, coupled_pairs.COUPLING, schedule.powers
        )
        starts |= {digest_of(chains.x.labels), digest_of(chains.y.labels)}
        one = estimate(chains, schedule, items)
        if one is None:
            raise SystemExit(f"{case.id}: pair {number} has not met within {iterations} iterations: no means")
        certificates.append(one)
        tau.append(chains.meeting)
    after = np.array(tau) - schedule.lag
    limits = bound(tau, schedule.lag, np.arange(after.max() + 1))
    iteration = min(schedule.k, after.max())
    estimates = np.array(certificates)
    apart = compare_start(plan, case, schedule, estimates) if isinstance(case, LargePosterior) else 0.0
    run = {
        "sampler": "sams", "moves": moves, "coupling": coupled_pairs.COUPLING, "init": coupled_pairs.MIXTURE, "seed": 1,
        "pairs": pairs, "met": len(tau), "lag": schedule.lag, "k": schedule.k, "m": schedule.m,
        "median": float(np.median(after)), "longest": int(after.max()), "starts": len(starts),
        "bound": float(limits.estimate[iteration]), "bound_upper": float(limits.upper[iteration]),
        "apart": round(apart, 2),
        "seconds": round(time.process_time() - began, 1), "version": __version__,
    }  # fmt: skip
    return estimates, run, chains.x.hyperparameters


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0; 1 where pairs of one have not met."""
    cases = {case.id: case for case in large.large_posteriors()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID", help="default: all that are not in the files")
    parser.add_argument("--pairs", type=int, help="of chains; for a try, which is printed and not written")
    options = parser.parse_args(arguments)
    means, runs = large.read_means() if large.MEANS.exists() else (pd.DataFrame({"id": []}), pd.DataFrame())
    failed = 0
    for id in options.ids or [id for id in cases if id not in runs.index]:
        case = cases[id]
        try:
            values, run, resampled = certify_means(
                case, case.items, options.pairs or case.pairs, case.moves, case.iterations
            )
        except SystemExit as error:
            print(error, file=sys.stderr)
            failed = 1
            continue
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        table = pd.DataFrame({"id": id, "quantity": case.quantities(resampled), "mean": values.mean(axis=0)})
        table["standard_error"] = error
        print(table.round(4).to_string(), run, flush=True)
        if options.pairs:
            continue
        means = pd.concat([means[means["id"] != id], table])
        row = pd.DataFrame([{"id": id, **run, "data_sha256": case.digest}]).set_index("id")
        runs = pd.concat([runs.drop(index=[id], errors="ignore"), row])
        order = [one for one in cases if one in runs.index]
        means = means.set_index("id").loc[order].reset_index()
        runs = runs.loc[order]
        means.to_csv(large.MEANS, index=False, float_format="%.7g", lineterminator="\n")
        runs.to_csv(large.RUNS, float_format="%.6g", lineterminator="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
