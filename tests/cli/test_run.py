"""Files of ``smcmc run``, which depend neither on threads nor on batches nor on interruptions."""

import fcntl
import json
import os
import re
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from command_line import parquet_bytes, run_path, wait_for

from splitmerge_cli import config, runs
from splitmerge_cli.diagnostics import partition_losses, point_estimate
from splitmerge_cli.diagnostics.agreement import SCORES
from splitmerge_cli.runs import drive
from splitmerge_cli.runs.store.files import is_locked, lock_file
from splitmerge_cli.runs.store.read import Run, find_runs
from splitmerge_cli.runs.store.schema import OPTIONAL

SMALL = ["sampler=sdds", "N=30", "chains=2", "iterations=200", "progress=none"]
# long enough to be caught in the act, in the short batches that go with bars
LONG = ["sampler=sdds", "N=300", "chains=2", "iterations=200000", "thin=20", "timing=false", "trace.partitions=10000"]


def test_files_and_columns(smcmc) -> None:
    path = run_path(smcmc("run", *SMALL, "trace.partitions=50", "seed=3"))
    assert path.parent == Path("results/sdds-emm")
    states = [p.name for p in path.glob("states-*.npz")]
    assert len(states) == 1
    assert sorted(p.name for p in path.iterdir()) == sorted(
        [*states, "config.yaml", "status.json", "summary.json", "clusters.csv", "manifest.json"]
        + [f"{table}.parquet" for table in ("trace", "moves", "partitions", "diagnostics")]
    )
    expected = {
        "trace": "chain:int32 iteration:int64 seconds:double log_joint:double log_lik:double n_clusters:int32 K:int32 "
        "largest:list<element:double> nmi:double ari:double",
        "moves": "chain:int32 move:string proposed:int64 accepted:int64 null:int64 seconds:double",
        "partitions": "chain:int32 iteration:int64 K:int32 labels:list<element:int32>",
        "diagnostics": "quantity:string chain:int32 value:double note:string",
    }
    # what is recorded beside these is named in the schema alone
    present = pq.read_schema(path / "trace.parquet").names
    more = (f" {name}:double" for name in OPTIONAL if name in present and f" {name}:" not in expected["trace"])
    expected["trace"] += "".join(more)
    for table, columns in expected.items():
        schema = pq.read_schema(path / f"{table}.parquet")
        found = " ".join(f"{field.name}:{str(field.type).replace(' ', '')}" for field in schema)
        assert found == f"{columns} run_id:string sampler:string seed:int64"
        metadata = json.loads(schema.metadata[b"smcmc"])
        assert metadata["config"]["sampler"]["name"] == "sdds"
        assert metadata["seed"] == 3
        assert {"versions", "commit", "machine", "run_id"} <= set(metadata)


def test_content(smcmc) -> None:
    run = Run(run_path(smcmc("run", *SMALL, "trace.partitions=50", "thin=4")))
    assert run.is_done
    assert run.config["N"] == 30
    assert yaml.safe_load((run.path / "config.yaml").read_text())["iterations"] == 200
    trace = run.trace()
    assert trace.groupby("chain")["iteration"].apply(list).tolist() == [list(range(0, 201, 4))] * 2
    assert (trace["n_clusters"] <= trace["K"]).all()
    largest = np.stack(trace["largest"].tolist())
    assert largest.shape == (len(trace), 5)
    assert (np.diff(largest, axis=1) <= 0).all()
    assert trace["nmi"].between(0, 1).all()
    assert (trace.groupby("chain")["seconds"].diff().dropna() >= 0).all()
    partitions = run.partitions()
    assert partitions.groupby("chain")["iteration"].apply(list).tolist() == [[0, 50, 100, 150, 200]] * 2
    for row in partitions.itertuples():
        # numbered by first appearance
        assert list(dict.fromkeys(row.labels)) == list(range(max(row.labels) + 1))
        at = trace[(trace["chain"] == row.chain) & (trace["iteration"] == row.iteration)]
        if len(at):
            assert at["n_clusters"].item() == max(row.labels) + 1
    highest = run.summary["highest_log_joint"]
    assert highest["log_joint"] >= trace["log_joint"].max()
    assert run.summary["highest_log_lik"]["log_lik"] >= trace["log_lik"].max()
    estimate = run.summary["least_expected_vi"]
    assert not run.summary["convergence"]["converged"]
    assert run.summary["point_estimate"]["labels"] == highest["labels"]
    # those of iterations 150 and 200 of two chains
    assert estimate["partitions"] == 4
    late = partitions.loc[partitions["iteration"] > 100, "labels"].tolist()
    assert estimate["labels"] == partition_losses.by_size(point_estimate.minimise_expected_loss(late).labels).tolist()
    clusters = (run.path / "clusters.csv").read_text().splitlines()
    assert clusters[0] == "row,cluster,certainty,second,second_probability"
    assert [line.split(",")[:2] for line in clusters[1:]] == [
        [str(i + 1), str(k + 1)] for i, k in enumerate(highest["labels"])
    ]
    diagnostics = run.diagnostics()
    assert {"rhat/log_joint", "ess/n_clusters"} <= set(diagnostics["quantity"])
    truth = runs.prepare(config.compose([*SMALL, "trace.partitions=50", "thin=4"])).dataset.truth
    best, last = highest["chain"], partitions[partitions["iteration"] == 200].set_index("chain")["labels"]
    scored = {"last": last[best], "best": highest["labels"], "best_lik": run.summary["highest_log_lik"]["labels"]}
    # the chains have not converged: what is written is the best state, and what is written is scored
    for name, labels in (scored | {"point": run.clusters()["cluster"]}).items():
        for score, agreement in SCORES.items():
            of_name = diagnostics[diagnostics["quantity"] == f"{score}/{name}"].set_index("chain")["value"]
            assert set(of_name.index.dropna()) == {0, 1}
            assert of_name[of_name.index.isna()].item() == agreement(truth, labels)
    assert diagnostics.set_index(["quantity", "chain"])["value"]["ari/last", 1] == SCORES["ari"](truth, last[1])
    moves = run.moves()
    assert (moves["accepted"] + moves["null"] <= moves["proposed"]).all()
    two_kernels = moves[moves["move"].isin(["smart_split", "dumb_merge", "smart_merge", "dumb_split"])]
    assert two_kernels.groupby("chain")["proposed"].sum().tolist() == [200, 200]


def test_without_partitions_the_point_estimate_is_the_best_state(smcmc) -> None:
    for given in (["trace.partitions=0"], ["trace.partitions=1000", "seed=1"]):
        run = Run(run_path(smcmc("run", *SMALL, *given)))
        estimate = run.summary["point_estimate"]
        assert run.summary["least_expected_vi"] is None
        assert "trace.partitions=10" in estimate["note"]
        assert estimate.items() >= run.summary["highest_log_joint"].items()
        diagnostics = run.diagnostics()
        point = diagnostics[diagnostics["quantity"].str.endswith("/point")]
        best = diagnostics[diagnostics["quantity"].str.endswith("/best") & diagnostics["chain"].isna()]
        assert len(point) == len(SCORES) and point["value"].tolist() == best["value"].tolist()
        assert point["note"].str.contains("trace.partitions=10").all()


def test_chains_that_disagree_are_named(smcmc) -> None:
    # random moves of whole clusters are hardly ever accepted
    moves = ["data=jain_neal", "sampler=rm", "schedule=move_only"]
    stuck = smcmc("run", *moves, "N=100", "init=prior", "chains=3", "iterations=300", "progress=none")
    assert "not converged: R-hat of" in stuck.stderr
    assert Path(stuck.stdout.splitlines()[-1]).is_dir()
    assert stuck.stderr.splitlines()[-1] == (
        "next: smcmc run data=jain_neal sampler=rm schedule=move_only chains=3 iterations=2400 init=prior"
    )
    agree = smcmc("run", "sampler=sdds", "N=10", "chains=2", "progress=none", "iterations=20000", "model.kmax=5")
    assert "no sign of non-convergence: " in agree.stderr and "\nnext: smcmc run" not in agree.stderr


def test_hash_tables_that_find_nothing_are_named(smcmc, tmp_path) -> None:
    """Rows that are all the same have no direction; a note of the run states that."""
    (tmp_path / "same.csv").write_text("1,2\n" * 12)
    keys = ["data=csv", "model=gaussian", f"data.path={tmp_path / 'same.csv'}", "sampler=lshsm", "schedule=move_only"]
    keys.append("data.columns=[1,2]")
    same = smcmc("run", *keys, "iterations=50", "chains=1", "progress=none")
    assert "12 of 12 items equal the mean" in same.stderr
    assert sum(Run(run_path(same)).moves()["accepted"]) == 0
    (tmp_path / "same.csv").write_text("1,2\n2,5\n" * 6)
    assert "lshsm proposed nothing" not in smcmc("run", *keys, "iterations=50", "chains=1", "progress=none").stderr


def test_a_printed_lshsm_says_what_its_cache_served(smcmc) -> None:
    keys = [
        "data=s1",
        "sampler=lshsm",
        "sampler.proposal=sums",
        "sampler.mode=as_printed",
        "chains=2",
        "iterations=200",
    ]
    summary = Run(run_path(smcmc("run", *keys, "progress=none"))).summary
    looked_up, served, pairs = (summary["cache"][key] for key in ("looked_up", "served", "pairs"))
    assert len(looked_up) == 2 and all(0 < s < n for s, n in zip(served, looked_up, strict=True))
    assert [n - s for n, s in zip(looked_up, served, strict=True)] == pairs


def test_own_data(smcmc) -> None:
    Path("own.csv").write_text("1,0,x\n1,0,x\n0,1,y\n0,1,y\n" * 5)
    args = ["data=csv", "data.path=own.csv", "iterations=50", "progress=none"]
    bernoulli = Run(run_path(smcmc("run", "sampler=rgsm", "model=bernoulli", "data.truth=-1", *args)))
    assert bernoulli.summary["N"] == 20
    assert "ari" in bernoulli.trace()
    Path("tokens.csv").write_text("a\nb\nc\n" * 7)
    args[1] = "data.path=tokens.csv"
    tokens = Run(run_path(smcmc("run", "sampler=sdds", "model=emm", *args)))
    assert tokens.summary["N"] == 21
    assert "ari" not in tokens.trace()
    first = Run(run_path(smcmc("run", "sampler=sdds", "model=emm", *args, "N=12")))
    assert first.summary["N"] == 12


def test_a_files_content_is_part_of_the_identity(smcmc) -> None:
    args = ["data=csv", "data.path=tokens.csv", "model=emm", "iterations=5", "progress=none"]
    Path("tokens.csv").write_text("a\nb\nc\n" * 3)
    one = run_path(smcmc("run", *args))
    Path("elsewhere.csv").write_text("a\nb\nc\n" * 3)
    assert run_path(smcmc("run", *args, "data.path=elsewhere.csv")) == one
    Path("tokens.csv").write_text("a\nb\nb\n" * 3)
    assert run_path(smcmc("run", *args)) != one


@pytest.mark.parametrize("init", ["one_cluster", "singletons", "random", "prior", "truth", "labels.txt"])
def test_init(smcmc, init: str) -> None:
    Path("labels.txt").write_text("u\nv\nu\n" * 10)
    K0 = ["K0=7"] if init == "random" else []
    run = Run(run_path(smcmc("run", "N=30", "chains=1", "iterations=1", "progress=none", f"init={init}", *K0)))
    start = run.trace().iloc[0]
    assert start["iteration"] == 0
    expected = {"one": 1, "singletons": 30, "random": 7, "truth": 10, "labels.txt": 2}
    if init in expected:
        assert start["n_clusters"] == expected[init]
    else:
        assert 1 <= start["n_clusters"] <= start["K"] <= 100


@pytest.mark.parametrize(
    ("model", "K0"),
    [
        (["model=gaussian", "data=gaussian", "N=60"], []),
        (["model=irm", "data=network", "N=30"], []),
        (["model=hdp", "data=docs200", "sampler=smag", "N=8"], []),
        (["model=hdp", "data=docs200", "sampler=smag", "N=8"], ["K0=3"]),
    ],
)
def test_sequential_start(smcmc, model: list[str], K0: list[str]) -> None:
    """Chains start apart, and the same whatever the number of workers."""
    args = ["run", *model, *K0, "chains=2", "iterations=2", "progress=none", "init=sequential", "timing=false"]
    first, again = (Run(run_path(smcmc(*args, f"workers={n}", f"out=of{n}"))) for n in (1, 2))
    assert first.trace().equals(again.trace())
    start = first.trace().query("iteration == 0")
    assert (start["n_clusters"] > 1).all() and start["log_joint"].nunique() == 2


def test_a_finished_run_is_skipped(smcmc) -> None:
    path = run_path(smcmc("run", *SMALL))
    before = (path / "trace.parquet").stat().st_mtime_ns
    again = smcmc("run", *SMALL)
    assert run_path(again) == path
    assert "already finished" in again.stderr
    assert (path / "trace.parquet").stat().st_mtime_ns == before
    assert run_path(smcmc("run", *SMALL, "resume=false")) == path
    assert (path / "trace.parquet").stat().st_mtime_ns > before


def test_chains_do_not_depend_on_their_number(smcmc) -> None:
    args = ["N=40", "iterations=100", "timing=false", "progress=none"]
    few = Run(run_path(smcmc("run", *args, "chains=1"))).trace()
    many = Run(run_path(smcmc("run", *args, "chains=3"))).trace()
    same = ["iteration", "log_joint", "n_clusters"]
    assert few[same].equals(many.loc[many["chain"] == 0, same])
    assert not many.loc[many["chain"] == 1, "log_joint"].reset_index(drop=True).equals(few["log_joint"])


def test_budget(smcmc) -> None:
    path = run_path(smcmc("run", "N=30", "chains=2", "budget=0.05", "progress=none"))
    seconds = Run(path).summary["seconds"]
    assert len(seconds) == 2
    assert all(s >= 0.05 for s in seconds)


@pytest.mark.parametrize(
    ("iterations", "seconds", "ended"),
    [((5, 5), (1.0, 2.9), False), ((5, 5), (1.0, 3.0), True), ((9, 8), (0.0, 0.0), False), ((9, 9), (0.0, 0.0), True)],
)
def test_chains_that_learn_from_each_other_end_together(iterations, seconds, ended: bool) -> None:
    """The mean of their seconds counts, and the iterations that all have made."""
    outcomes = [{"iterations": n, "seconds": s} for n, s in zip(iterations, seconds, strict=True)]
    assert drive._have_ended(SimpleNamespace(budget=2.0), outcomes, 9) is ended


def test_weighted_list(smcmc) -> None:
    run = Run(run_path(smcmc("run", *SMALL[1:], "schedule=[{sdds: 1}, {rgsm: {weight: 3, t: 2}}]")))
    assert run.path.parent.name == "sdds+rgsm-emm"
    assert run.config["schedule"]["mix"][1]["t"] == 2
    proposed = run.moves().groupby("move")["proposed"].sum()
    rgsm = sum(n for move, n in proposed.items() if "_" not in str(move))
    # each iteration draws one of the two; 400 draws with probability 3/4
    assert proposed.sum() == 400
    assert 250 < rgsm < 350
    assert run_path(smcmc("run", *SMALL[1:], "schedule.mix=[{sdds: 1}, {rgsm: {weight: 3, t: 2}}]")) == run.path


def run_to_the_end(tmp_path_factory: pytest.TempPathFactory, args: list[str]) -> Path:
    return runs.run(config.compose([*args, "progress=none", f"out={tmp_path_factory.mktemp('whole')}"]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The long run, not interrupted."""
    return run_to_the_end(tmp_path_factory, LONG)


def test_killed_and_resumed(smcmc, spawn, whole: Path) -> None:
    killed_and_resumed(smcmc, spawn, LONG, whole)


def killed_and_resumed(smcmc, spawn, long: list[str], whole: Path) -> None:
    args = ["run", *long, "progress=bars", "out=broken"]

    def checkpoint() -> list[Path]:
        return list(Path("broken").glob("*/*/work/chain*.npz"))

    # Ctrl-C first: the batch is stored, the status has it, the message names the command to go on
    process = spawn(*args)
    wait_for(checkpoint, process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command continues it" in stderr
    run = find_runs("broken")[0]
    assert run.status["state"] == "interrupted"
    reached = run.trace()["iteration"].max()
    assert 0 < reached < run.config["iterations"]
    assert len(run.moves())
    # then kill -9
    process = spawn(*args)
    before = {p: p.stat().st_mtime_ns for p in checkpoint()}
    wait_for(lambda: any(p.stat().st_mtime_ns > before.get(p, 0) for p in checkpoint()), process)
    process.kill()
    process.wait()
    assert run.status["state"] == "interrupted"
    assert run.trace()["iteration"].max() >= reached  # a checkpoint may be that of the start
    # rows that reached the disk after the last checkpoint, whole or torn, are cut off
    for stream in run.path.glob("work/*.trace.arrows"):
        with stream.open("ab") as file:
            file.write(stream.read_bytes()[-333:])
    assert len(run.trace())
    # then to the end
    broken = run_path(smcmc("run", *long, "progress=none", "out=broken"))
    assert parquet_bytes(broken) == parquet_bytes(whole)
    assert (broken / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert not (broken / "work").exists()


def test_two_processes_never_write_one_run(smcmc) -> None:
    path = run_path(smcmc("run", *SMALL))
    work = path / "work"
    work.mkdir()
    with (work / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = smcmc("run", *SMALL, "resume=false")
    assert result.exit_code == 1
    assert "another process" in result.stderr
    assert Run(path).is_done


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_folder(smcmc, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    result = smcmc("run", *SMALL, "out=closed", status=2)
    assert "out=closed" in result.stderr


def test_readers_do_not_keep_a_run_from_starting(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_locked(lock)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for _ in range(200):
            with lock_file(lock):
                assert is_locked(lock)
    finally:
        over.set()
        reader.join()
    assert not is_locked(lock)


def test_a_diagnosis_begins_with_the_verdict_and_is_short(smcmc) -> None:
    run = run_path(
        smcmc("run", "sampler=sdds", "N=10", "chains=2", "progress=none", "iterations=20000", "model.kmax=5")
    )
    short, long = smcmc("diagnose", str(run)).stdout, smcmc("diagnose", "--all", str(run)).stdout
    for text in (short, long):
        assert text.startswith("no sign of non-convergence: largest R-hat ")
    diagnosis = Run(run).diagnostics()
    over_all = diagnosis[diagnosis["chain"].isna()].set_index("quantity")["value"]
    assert f"{over_all['ess/log_joint']:.4g}" in short and "accepted: smart_split" in short
    assert f"agreement with the truth: nmi {over_all['nmi/point']:.3f}" in short
    assert "chain 1" in long and "rhat_classic/K" in long and "chain 1" not in short and len(short) < len(long) / 3


def test_few_draws_and_none_are_told_apart(smcmc) -> None:
    own = ["sampler=sams", "model.kmax=5", "init=prior"]
    few = smcmc("run", "N=10", "chains=2", "progress=none", "iterations=60", *own)
    none = smcmc("run", "N=10", "chains=2", "progress=none", "iterations=2")
    *_, verdict, why, step = none.stderr.splitlines()
    assert verdict == "cannot tell whether the chains have converged: fewer than 4 draws a chain"
    assert (why, step) == ("longer chains:", "next: smcmc run data=emm N=10 chains=2 iterations=16")
    assert " (few: intervals are noisy)" in few.stderr
    assert re.search(r"\nnext: smcmc run data=emm sampler=sams .*iterations=\d+ .*model.kmax=5\n", few.stderr)
