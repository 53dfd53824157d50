"""Results of the default command on tables with known classes: a row for each table of a folder.

    python -m bench.tables FOLDER [--seeds 0,1] [--out RUNS] [--csv FILE] [KEY=VALUE ...]
    python -m bench.tables --compare BEFORE.csv AFTER.csv

A table is a CSV file of FOLDER. If it has a column ``truth``, its classes, the command is ``smcmc run FILE
data.truth=truth``; a table without one is run, too, and has no adjusted Rand index. KEY=VALUE are further overrides.
The package is the one of the interpreter, so an older version is measured by ``OLDER/bin/python THIS_FILE FOLDER``.

=============  ========================================================================
true           number of classes
clusters       clusters of the point estimate, outliers left out
low, high      95 % interval of the number of clusters, as it is printed
ari            adjusted Rand index of the point estimate and the classes
density        mean log predictive density of a row given all others, in nats, in the units of the data
few_draws      share of the rows whose density rests on too few draws (Pareto shape above 0.7)
seconds        processor seconds of the command
rhat, verdict  largest R-hat; whether chains have converged: yes, no, or unknown
=============  ========================================================================
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

TRUTH = "truth"
UNRELIABLE = 0.7
"""Pareto shape above which a density rests on too few draws."""
LIMIT = 900
"""Seconds after which a command is stopped."""
WORSE = 0.02
"""Fall of an adjusted Rand index that `compare` marks."""
VERDICTS = {True: "yes", False: "no", None: "unknown"}


def processor_seconds() -> float:
    """Processor seconds of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(file: Path, seed: int, out: Path, overrides: list[str]) -> dict[str, Any]:
    """The row of one table under one seed. A command that fails has a row with its last line as the verdict."""
    table = pd.read_csv(file)
    truth = [f"data.truth={TRUTH}"] if TRUTH in table else []
    command = [sys.executable, "-m", "smcmc", "run", str(file), f"seed={seed}", f"out={out}", *truth, *overrides]
    row: dict[str, Any] = {"table": file.stem, "seed": seed}
    row |= {"rows": len(table), "columns": table.shape[1] - len(truth)}
    before = processor_seconds()
    try:
        # in the folder of the runs: the package is the installed one, wherever this is called
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, cwd=out, env={**os.environ, "COLUMNS": "1000"}
        )
        printed, failed = ended.stdout, ended.returncode != 0
        said = (ended.stderr or printed).strip().splitlines()
    except subprocess.TimeoutExpired:
        printed, failed, said = "", True, [f"stopped after {LIMIT} seconds"]
    row["seconds"] = round(processor_seconds() - before, 1)
    folders = [
        line.strip() for line in printed.splitlines() if re.fullmatch(re.escape(str(out)) + r"/\S+", line.strip())
    ]
    if failed or not folders:
        return row | {"verdict": f"failed: {said[-1] if said else 'no output'}"}
    return row | read_run(Path(folders[-1]), table.get(TRUTH))


def read_run(path: Path, truth: pd.Series | None) -> dict[str, Any]:
    """Read the clusters, their agreement with the classes, the density and the verdict of a finished run."""
    import smcmc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = smcmc.Posterior.load(path)
        low, high = posterior.n_clusters_interval
        sizes = np.bincount(posterior.labels)
        # as the first line counts them: three items at most, of less than 5 % together, are outliers
        larger = int((~((sizes <= 3) & (sizes < 0.05 * sizes.sum()))[sizes > 0]).sum())
        row: dict[str, Any] = {"clusters": larger or int((sizes > 0).sum()), "low": low, "high": high}
        if truth is not None:
            known = truth.notna().to_numpy()
            row |= {"true": int(truth.nunique()), "ari": adjusted_rand_score(truth[known], posterior.labels[known])}
        try:
            left_out = posterior.leave_one_out()
            row |= {"density": float(left_out.log_density.mean())}
            row |= {"few_draws": float((left_out.shape > UNRELIABLE).mean())}
        except Exception as error:  # a model without such densities
            row |= {"remark": str(error)}
        return row | {"rhat": posterior.rhat, "verdict": VERDICTS[posterior.converged]}


def compare(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Both states by table and seed; those whose adjusted Rand index falls by more than `WORSE` are marked."""
    shown = ["clusters", "ari", "density", "seconds", "verdict"]
    both = before.merge(after, on=["table", "seed"], suffixes=("_before", "_after"))
    columns = ["table", "seed", "rows_before"] + [f"{name}_{when}" for name in shown for when in ("before", "after")]
    worse = both["ari_after"] < both["ari_before"] - WORSE
    return both[columns].rename(columns={"rows_before": "rows"}).assign(worse=np.where(worse, "worse", ""))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench.tables", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="folder of CSV files")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="further overrides of the command")
    parser.add_argument("--seeds", default="0", help="seeds, separated by commas")
    parser.add_argument("--out", type=Path, help="folder of the runs; by default a temporary one")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the rows there; those it has are not repeated")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"), help="two such files")
    args = parser.parse_args()
    if args.compare:
        table = compare(*(pd.read_csv(file) for file in args.compare))
        print(table.to_string(index=False, float_format="%.3f", na_rep=""))
        print(f"{(table['worse'] != '').sum()} of {len(table)} worse by more than {WORSE} in ari")
        return 0
    files = sorted(args.folder.resolve().glob("*.csv")) if args.folder else []
    if not files:
        print(f"bench.tables: {args.folder or 'FOLDER'}: no CSV files there", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        out = (args.out or Path(temporary)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        rows = pd.read_csv(args.csv).to_dict("records") if args.csv and args.csv.exists() else []
        done = {(row["table"], row["seed"]) for row in rows}
        for seed in map(int, args.seeds.split(",")):
            for file in files:
                if (file.stem, seed) in done:
                    continue
                rows.append(measure(file, seed, out, args.overrides))
                print("  ".join(f"{key} {shorten(value)}" for key, value in rows[-1].items()), flush=True)
                if args.csv:
                    pd.DataFrame(rows).to_csv(args.csv, index=False)
    table = pd.DataFrame(rows)
    known = table.reindex(columns=["ari", "density", "seconds"])
    means = f"mean ari {known.ari.mean():.3f} ({known.ari.count()} with classes)"
    means += f", mean density {known.density.mean():.3f} ({known.density.count()})"
    print(f"{len(table)} runs: {means}, {known.seconds.sum():.0f} processor seconds")
    return 0


def shorten(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
