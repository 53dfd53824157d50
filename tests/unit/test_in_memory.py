"""Short runs in memory have the states that stored runs have."""

import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from splitmerge_cli import runs
from splitmerge_cli.config import specify
from splitmerge_cli.runs.draws import states_of
from splitmerge_cli.runs.in_memory import ShortRun

WORDS = ["data=gaussian", "N=30", "model=gaussian", "chains=3", "progress=none"]


@pytest.mark.parametrize("words", [["model.b0=hierarchical"], ["sampler=arm", "model.concentration=gamma(1,2)"]])
def test_states_in_memory_are_those_of_a_stored_run(tmp_path: Path, words: list[str]) -> None:
    spec = specify([*WORDS, "iterations=21", "trace.partitions=2", *words, f"out={tmp_path}"])
    short = ShortRun(runs.prepare(spec, records=False))
    assert len(short.sample_states(8)) == 6
    here = short.sample_states(21)  # the chains go on
    assert not list(tmp_path.iterdir())
    stored = states_of(runs.make(spec), 1000)
    assert len(here) == len(stored) == 15
    for one, other in zip(here, stored, strict=True):
        assert (one.labels.tolist(), one.K) == (other.labels.tolist(), other.K)
        assert one.hyperparameters == other.hyperparameters
        assert np.array_equal(np.atleast_1d(one.parameters), np.atleast_1d(other.parameters))


def test_a_signal_ends_a_run_in_memory() -> None:
    plan = runs.prepare(specify([*WORDS, "iterations=1_000_000_000", "trace.partitions=0"]), records=False)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ShortRun(plan).sample_states(10**9)
