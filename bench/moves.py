"""Cost of an iteration that makes one split-merge move and a full Gibbs scan, in Gibbs scans: the standardised
iterations of paper 003 (its section 3.4), from runs of 1,000 iterations."""

import subprocess
import sys
import tempfile
from typing import Any

from splitmerge_cli.diagnostics.restarts import standardised_iterations
from splitmerge_cli.results.read import Run

SAMPLERS = ("sm", "bsm", "srm", "sarm", "arm")
DATA = {
    "usair97": ["data=usair97"],
    "nips234": ["data=nips234"],
    "caltech36 .7": ["data=caltech36", "data.scale=0.7"],
    "hagmann998 .25": ["data=hagmann998", "data.scale=0.25"],
    "jain_neal_example1": ["data=jain_neal_example1", "N=100"],
}
RUN = ["iterations=1000", "K0=20", "warmup=50", "schedule=sweep", "seed=1", "workers=1", "progress=none"]


def cost(data: str, sampler: str, folder: str, chains: int) -> dict[str, Any] | str:
    """Cost of an iteration in Gibbs scans, mean and range over the chains, and of a scan in microseconds; or why there
    is no run."""
    keys = [*DATA[data], f"sampler={sampler}", f"chains={chains}", f"out={folder}", *RUN]
    call = [sys.executable, "-c", "from splitmerge_cli.cli import main; main()", "run", *keys]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    run = Run(done.stdout.strip().splitlines()[-1])
    moves = run.moves()
    ratio = standardised_iterations(moves, 1)
    scans = moves[moves["move"] == "gibbs"]
    own = moves[moves["move"].isin(["split", "merge"])]
    trace = run.trace(["iteration", "n_clusters"])
    return {
        **{"data": data, "sampler": sampler, "ratio": float(ratio.mean())},
        **{"ratio_min": float(ratio.min()), "ratio_max": float(ratio.max())},
        "scan_us": 1e3 * float(scans["seconds"].mean()),
        "move_us": 1e6 * float(own["seconds"].sum() / own["proposed"].sum()),
        "accepted": float(own["accepted"].sum() / own["proposed"].sum()),
        "K": float(trace.loc[trace["iteration"] > 500, "n_clusters"].mean()),
    }


def main(quick: bool) -> list[dict[str, Any]]:
    """Measure and print, data by data; data whose file is absent is left out with a line."""
    found = []
    print("an iteration of one move and one Gibbs scan, in Gibbs scans (range over chains); K: mean, second half\n")
    print(f"{'data':20}{'sampler':8}{'scan us':>9}{'move us':>9}{'ratio':>7}  {'min-max':11}{'accepted':>9}{'K':>6}")
    for data in DATA:
        for sampler in SAMPLERS:
            with tempfile.TemporaryDirectory() as folder:
                r = cost(data, sampler, folder, 2 if quick else 4)
            if isinstance(r, str):
                print(f"{data:20}{r}")
                break
            found.append(r)
            span = f"{r['ratio_min']:.2f}-{r['ratio_max']:.2f}"
            print(
                f"{data:20}{sampler:8}{r['scan_us']:9.0f}{r['move_us']:9.0f}{r['ratio']:7.2f}  {span:11}"
                f"{r['accepted']:9.4f}{r['K']:6.1f}",
                flush=True,
            )
    return found
