"""Cost of an iteration that makes one split-merge move and a full Gibbs scan, in Gibbs scans: the standardised
iterations of Herlau et al. 2014 (its section 3.4), from runs of 1,000 iterations and four chains."""

import subprocess
import sys
import tempfile
from typing import Any

import pandas as pd

from splitmerge_cli.diagnostics.restarts import standardised_iterations
from splitmerge_cli.runs.store.read import Run

SAMPLERS = ("sm", "bsm", "srm", "sarm", "arm")
DATA = {
    "usair97": ["data=usair97"],
    "nips234": ["data=nips234"],
    "caltech36 0.7": ["data=caltech36", "data.scale=0.7"],
    "hagmann998 0.25": ["data=hagmann998", "data.scale=0.25"],
    "jain_neal_example1": ["data=jain_neal_example1", "N=100"],
}
ITERATIONS = 1000
RUN = [f"iterations={ITERATIONS}", "chains=4", "K0=20", "warmup=50", "schedule=full_scan", "workers=1", "progress=none"]


def measure_run(data: str, sampler: str, seed: int) -> pd.DataFrame | str:
    """One row a chain of a run: its cost in Gibbs scans, microseconds of a scan and of a move, the share of moves
    accepted, the mean number of clusters of the second half; or why there is no run."""
    with tempfile.TemporaryDirectory() as folder:
        keys = [*DATA[data], f"sampler={sampler}", f"seed={seed}", f"out={folder}", *RUN]
        call = [sys.executable, "-m", "splitmerge_cli", "run", *keys]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
        run = Run(done.stdout.strip().splitlines()[-1])
        moves, trace = run.moves(), run.trace(["chain", "iteration", "n_clusters"])
    split_merge = (
        moves[moves["move"].isin(["split", "merge"])].groupby("chain")[["proposed", "accepted", "seconds"]].sum()
    )
    return pd.DataFrame(
        {
            "ratio": standardised_iterations(moves, 1),
            "scan_us": 1e6 / ITERATIONS * moves[moves["move"] == "gibbs"].groupby("chain")["seconds"].sum(),
            "move_us": 1e6 * split_merge["seconds"] / split_merge["proposed"],
            "accepted": split_merge["accepted"] / split_merge["proposed"],
            "K": trace[trace["iteration"] > ITERATIONS // 2].groupby("chain")["n_clusters"].mean(),
        }
    )


def cost(data: str, sampler: str, seeds: range) -> dict[str, Any] | str:
    """Medians over the chains of all seeds, means of what is counted; or why there is no run."""
    frames: list[pd.DataFrame] = []
    for seed in seeds:
        chains = measure_run(data, sampler, seed)
        if isinstance(chains, str):
            return chains
        frames.append(chains)
    chains = pd.concat(frames)
    middle, mean = chains.median(), chains.mean()
    return {
        **{"data": data, "sampler": sampler, "ratio": float(middle["ratio"])},
        **{"ratio_min": float(chains["ratio"].min()), "ratio_max": float(chains["ratio"].max())},
        **{"scan_us": float(middle["scan_us"]), "move_us": float(middle["move_us"])},
        **{"accepted": float(mean["accepted"]), "K": float(mean["K"])},
    }


def main(quick: bool) -> list[dict[str, Any]]:
    """Measure and print, data by data; data whose file is absent is left out with a line."""
    frames = []
    print("an iteration of one move and one Gibbs scan, in Gibbs scans (range over chains); K: mean, second half\n")
    print(f"{'data':20}{'sampler':8}{'scan us':>9}{'move us':>9}{'ratio':>7}  {'min-max':11}{'accepted':>9}{'K':>6}")
    for data in DATA:
        for sampler in SAMPLERS:
            r = cost(data, sampler, range(1, 2 if quick else 4))
            if isinstance(r, str):
                print(f"{data:20}{r}")
                break
            frames.append(r)
            span = f"{r['ratio_min']:.2f}-{r['ratio_max']:.2f}"
            print(
                f"{data:20}{sampler:8}{r['scan_us']:9.1f}{r['move_us']:9.1f}{r['ratio']:7.2f}  {span:11}"
                f"{r['accepted']:9.4f}{r['K']:6.1f}",
                flush=True,
            )
    return frames
