"""Ctrl-C, SIGTERM and SIGHUP: answered wherever they fall, by one line, and nothing is lost but the batch at hand."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import wait_for

from splitmerge_cli import config, runs
from splitmerge_cli.runs import drive, interrupts, progress
from splitmerge_cli.runs.store.read import Run, find_runs

# an iteration takes minutes: t restricted scans before each of r tries
LONG = ["sampler=rgsm", "sampler.t=10000", "sampler.r=1000", "N=3000", "K0=2", "chains=1", "progress=none"]


def last_line(process: subprocess.Popen[str], seconds: float = 20.0) -> str:
    """The only line on stderr of a program that was asked to stop; the program itself would run for minutes."""
    _, stderr = process.communicate(timeout=seconds)
    assert process.returncode == interrupts.STATUS, stderr
    assert len(stderr.splitlines()) == 1, stderr
    return stderr.strip()


@pytest.mark.parametrize("number", interrupts.NUMBERS)
def test_a_long_iteration_is_broken_off(spawn, number: signal.Signals) -> None:
    process = spawn("run", *LONG)
    # the stream is there a moment before the first iteration
    stream = wait_for(lambda: list(Path("results").glob("*/*/work/*.trace.arrows")), process)[0]
    process.send_signal(number)
    said = last_line(process)
    assert said == f"smcmc: interrupted; the same command continues it: {stream.parents[1]}"
    run = find_runs("results")[0]
    assert run.status["state"] == "interrupted"


@pytest.mark.parametrize("gibbs", ["gibbs", "neal8"])
def test_a_long_scan_is_broken_off_and_made_again(gibbs: str) -> None:
    """In this process, which nothing ends: the scan itself does."""
    args = [f"sampler={gibbs}", "model=gaussian", "data=gaussian", "N=400", "init=singletons", "chains=1"]
    args += ["iterations=40", "timing=false", "progress=none"]

    class Stops(progress.Reporter):
        """Asks the process to stop after the first batch."""

        def update(self, chain: int, at: progress.ChainProgress) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    whole = Run(runs.run(config.compose([*args, "out=whole"])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drive, "FIRST_BATCH", 0.0)
        patch.setattr(drive, "GENTLE", -1.0)
        with pytest.raises(runs.Interrupted):
            runs.run(config.compose([*args, "out=broken"]), Stops())
    broken = Run(runs.run(config.compose([*args, "out=broken"])))
    assert broken.trace().drop(columns="run_id").equals(whole.trace().drop(columns="run_id"))


IMPORTS = """
import os, signal
os.kill(os.getpid(), signal.{0})
import time
time.sleep(60)
"""


@pytest.mark.parametrize("number", interrupts.NUMBERS)
def test_imports_are_interrupted_without_a_traceback(spawn, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "typer.py").write_text(IMPORTS.format(number.name))
    assert last_line(spawn("run", env=os.environ | {"PYTHONPATH": str(tmp_path)})) == "smcmc: interrupted"


STRIKES = """
import os, signal, time
import {module}
{module}.{name}  # is there
def struck(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
{module}.{name} = struck
import sys
import time
from splitmerge_cli.__main__ import main
sys.argv = ["smcmc", {args}]
main()
"""


@pytest.mark.parametrize(
    ("module", "name", "args", "said"),
    [
        ("splitmerge_cli.runs.initial", "_load_once", '"run"', "smcmc: interrupted"),
        (
            "splitmerge_cli.runs.identity",
            "file_digests",
            '"run", "data=csv", "model=emm", "data.path=x.csv"',
            "smcmc: interrupted",
        ),
        (
            "splitmerge_cli.runs.finish",
            "assemble",
            '"run", "sampler=sdds", "N=20", "iterations=20", "progress=none"',
            "continues it",
        ),
        ("splitmerge_cli.analysis.plots.style", "save", '"plot", "RUN"', "smcmc: interrupted"),
        ("splitmerge_cli.cli.results", "short_table", '"diagnose", "RUN"', "smcmc: interrupted"),
    ],
)
def test_every_stage_is_interrupted(smcmc, python, module: str, name: str, args: str, said: str) -> None:
    if "RUN" in args:
        args = args.replace("RUN", smcmc("run", "N=20", "iterations=20", "chains=1", "progress=none").stdout.strip())
    process = python("-c", STRIKES.format(module=module, name=name, args=args), stdout=subprocess.DEVNULL)
    assert said in last_line(process)


def test_an_interrupted_assembly_is_continued(smcmc, python) -> None:
    args = ["N=20", "iterations=20", "chains=1", "timing=false", "progress=none", "sampler=sdds"]
    listed = ", ".join(f'"{arg}"' for arg in ["run", *args])
    last_line(python("-c", STRIKES.format(module="splitmerge_cli.runs.finish", name="assemble", args=listed)))
    assert find_runs("results")[0].status["state"] == "interrupted"
    assert smcmc("run", *args).exit_code == 0
    twin = smcmc("run", *args, "out=twin").stdout.strip()
    assert find_runs("results")[0].trace().equals(Run(twin).trace())


# a program that does not stop when it is asked to
DEAF = """
import sys, time
from splitmerge_cli.runs import interrupts
interrupts.take_over()
interrupts.say("last words")
while True:
    try:
        print("ready", flush=True)
        {wait}
    except KeyboardInterrupt:
        pass
"""
# a call into C that keeps the interpreter to itself
KEEPS_THE_LOCK = "import ctypes; ctypes.PyDLL(None).sleep(60)"


@pytest.mark.parametrize("wait", ["time.sleep(60)", KEEPS_THE_LOCK])
@pytest.mark.parametrize("signals", [1, 2])
def test_what_does_not_stop_is_ended(python, wait: str, signals: int) -> None:
    process = python("-c", DEAF.format(wait=wait))
    assert process.stdout.readline() == "ready\n"
    for _ in range(signals):
        process.send_signal(signal.SIGHUP)
    assert last_line(process) == "last words"


def test_a_second_signal_ends_a_program_at_once(python) -> None:
    patient = "interrupts.PATIENCE = 3600.0; interrupts.take_over()"
    code = DEAF.format(wait="time.sleep(60)").replace("interrupts.take_over()", patient)
    process = python("-c", code)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.send_signal(signal.SIGTERM)
    assert last_line(process) == "last words"


def test_signals_that_are_ignored_stay_ignored(python) -> None:
    """As under nohup."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + DEAF.format(wait="time.sleep(60)")
    process = python("-c", code)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("spacing", [1, 1_000_000])
def test_an_interrupted_run_of_records_leaves_its_tables(spawn, number: signal.Signals, spacing: int) -> None:
    """If the command is given again, the run goes on and writes its tables again."""
    people = [
        f"{name},{1940 + n},{town}" for n, name in enumerate(["maria", "anna", "felix", "nora"]) for town in ("a", "b")
    ]
    Path("t.csv").write_text("\n".join(["name,born,town", *people, *people]))
    keys = ["iterations=300000", f"trace.partitions={spacing}", "chains=2", "workers=1", "progress=none"]
    process = spawn("run", "t.csv", "model=records", *keys)
    wait_for(lambda: list(Path("results").glob("*/*/work/chain*.npz")), process, 20.0)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=20)
    run = find_runs("results")[0]
    assert process.returncode == interrupts.STATUS and "entities.csv: the merged record of each entity so far" in stderr
    entities = pd.read_csv(run.path / "entities.csv")
    assert (
        f"{len(entities)} entities of 16 records, the best state so far" in stderr and entities["records"].sum() == 16
    )
    assert (run.path / "pairs.csv").is_file() == (spacing == 1) == (" draws so far" in stderr)
    if spacing == 1:
        assert list(pd.read_csv(run.path / "pairs.csv"))[:3] == ["row", "other", "probability"]


@pytest.mark.parametrize("number", interrupts.NUMBERS)
def test_a_signal_is_heeded_that_comes_when_the_chains_have_ended(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """A program that uses the library went on after it, for as long as whatever it does next takes."""
    spec = config.compose(["sampler=sdds", "N=20", "iterations=20", "chains=2", "progress=none"])
    await_chains = drive.await_chains

    def strike(*args: Any) -> None:
        await_chains(*args)
        signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(drive, "await_chains", strike)
        with pytest.raises(runs.Interrupted):
            runs.run(spec)
        patch.setattr(drive, "await_chains", strike)
        with pytest.raises(KeyboardInterrupt):
            drive.ShortRun(runs.prepare(spec)).sample_states(20)
    assert Run(runs.run(spec)).summary["iterations"] == [20, 20]


@pytest.mark.parametrize(("signals", "spacing"), [(1, 100), (2, 100), (1, 1_000_000)])
def test_an_interrupted_run_prints_the_clusters_so_far(spawn, signals: int, spacing: int) -> None:
    """A second signal ends it at once; the last line says in both cases what goes on."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(place, 1, (30, 2)) for place in (0, 9)])
    pd.DataFrame(rows, columns=["x", "y"]).to_csv("t.csv", index=False)
    keys = ["iterations=3000000", f"trace.partitions={spacing}", "chains=2", "workers=1", "progress=none"]
    process = spawn("run", "t.csv", "model=gaussian", *keys)
    wait_for(lambda: list(Path("results").glob("*/*/work/chain*.npz")), process, 20.0)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)  # of two that wait the second is none
    _, stderr = process.communicate(timeout=20)
    *lines, last = stderr.splitlines()
    run = find_runs("results")[0]
    assert process.returncode == interrupts.STATUS and max(map(len, lines), default=0) <= 80
    assert last == f"smcmc: interrupted; the same command continues it: {run.path}"
    if signals == 1:
        made = run.trace().groupby("chain")["iteration"].max().min()
        source = "an estimate from the draws so far" if spacing == 100 else "the best state so far"
        assert any(line.endswith(f" of 60 rows, {source}") for line in lines)
        assert lines[-1] == f"interrupted after {made:,} iterations of 1 of 2 chains; not judged as converged"


@pytest.mark.parametrize("signals", [1, 2])
def test_a_choice_that_is_interrupted_leaves_nothing(spawn, signals: int) -> None:
    """The last line is the command as it was typed."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(place, 1, (2000, 8)) for place in (0, 4)])
    pd.DataFrame(rows, columns=list("abcdefgh")).to_csv("t.csv", index=False)
    typed = ["run", "model=auto", "data=csv", "data.path=t.csv"]
    process = spawn(*typed)
    for line in process.stderr:
        if line.startswith("model=auto: "):
            break
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == interrupts.STATUS
    said, advice = stderr.splitlines()[-2:]
    assert said == (
        "smcmc: interrupted before the run began; the same command goes on from the fits of half a second or more"
    )
    assert advice.startswith("next: ") and advice.endswith(f" {' '.join(typed)}")
    assert not Path("results").exists()
