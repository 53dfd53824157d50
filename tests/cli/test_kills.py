"""Runs that are killed at random moments, again and again, end with the bytes of runs that were not."""

import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.calls import parquet_bytes
from splitmerge_cli import runs
from splitmerge_cli.config import compose
from splitmerge_cli.runs.store.read import Run

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
KILLS = 13
"""Kills of each kind of run: a hundred in all."""
COMMON = ["timing=false", "progress=none", "seed=7"]
KINDS = {
    "tokens": ["sampler=sdds", "N=400", "chains=2", "iterations=60000", "thin=20", "trace.partitions=5000"],
    "records": ["sampler=rgsm", "data=jain_neal", "N=200", "chains=2", "iterations=30000", "thin=5"],
    "points": ["sampler=sams", "model=gaussian", "data=gaussian", "N=600", "chains=3", "iterations=12000"],
    "scales": [
        *("sampler=sdds", "model=gaussian", "model.b0=hierarchical", "model.kappa0=gamma(2,1)", "data=gaussian"),
        *("model.covariance=full", "N=300", "chains=2", "iterations=12000"),
    ],
    "lines, uncollapsed": [
        *("sampler=triadic", "model=lines", "data=lines", "model.conjugate=false", "model.noise=nig"),
        *(
            "model.refresh=metropolis",
            "model.concentration=gamma(2,1)",
            "N=150",
            "chains=2",
            "iterations=30000",
            "thin=10",
        ),
    ],
    "hash tables": [
        "sampler=lshsm",
        "model=gaussian",
        "data=s2",
        "chains=2",
        "iterations=4000",
        "trace.partitions=400",
    ],
    "adaptive": ["sampler=arm", "data=network", "N=80", "chains=3", "iterations=15000", "thin=10"],
    "topics": [
        *("sampler=smag", "data=docs200", "data.heldout=.2", "perplexity.every=100", "chains=2", "iterations=2500"),
        *("model.gamma=gamma(1,1)", "thin=5"),
    ],
    "weighted schedule": [
        *("schedule=[{sdds: 2}, {rgsm: {weight: 1, t: 3}}, {gibbs: 1}]", "data=jain_neal", "N=300", "chains=2"),
        *("iterations=60000", "thin=20", "init=singletons"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_runs_end_with_the_same_bytes(spawn, tmp_path: Path, kind: str) -> None:
    args = [*KINDS[kind], *COMMON]
    whole = runs.run(compose([*args, "out=whole"]))
    files = len([file for file in whole.glob("*.parquet") if file.stem != "similarity"])
    chance = random.Random(kind)
    kills = {number.name: 0 for number in SIGNALS}
    sittings = 0
    while sum(kills.values()) < KILLS:
        sittings += 1
        assert sittings < 20 * KILLS
        _kill_until_done(spawn, [*args, f"out=killed{sittings}"], chance, kills)
        path = next(Path(f"killed{sittings}").glob("*/*"))
        assert parquet_bytes(path, files) == parquet_bytes(whole, files)
        assert Run(path).complete
    print(f"{kind}: {sittings} runs, kills {kills}, all equal")


def _kill_until_done(spawn: Any, args: list[str], chance: random.Random, kills: dict[str, int]) -> None:
    """Start a run again and again, and kill it at any of its stages, until it is done."""
    out = next(arg for arg in args if arg.startswith("out=")).removeprefix("out=")
    while True:
        process = spawn("run", *args)
        # half of the time anywhere, imports included; else once it samples, so that it gets on
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0.0, 4.0))
        else:
            before = _stamps(out)
            while process.poll() is None and _stamps(out) == before:
                time.sleep(0.01)
            time.sleep(float(np.exp(chance.uniform(np.log(0.001), np.log(2.0)))))
        if process.poll() is None:
            number = chance.choice(SIGNALS)
            process.send_signal(number)
            _, stderr = process.communicate(timeout=30)
            # a signal may fall into the start of Python itself, or after the end
            if process.returncode not in (0, 130, -number, 1):
                raise AssertionError(process.returncode, number, stderr)
            kills[number.name] += process.returncode != 0
        else:
            _, stderr = process.communicate()
        if process.returncode == 0:
            return


def _stamps(out: str) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in Path(out).glob("*/*/work/*.npz")}
