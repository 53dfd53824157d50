"""``smcmc certify`` and `splitmerge_cli.certify`: what they write, say, refuse and continue."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import splitmerge_cli
from splitmerge_cli import cli, runs
from splitmerge_cli.analysis import coupled_pairs
from splitmerge_cli.analysis.predictive import items_of
from splitmerge_cli.config import ConfigError, compose, specify
from splitmerge_cli.diagnostics.intervals import unbiased_estimate
from splitmerge_cli.runs.store import manifest

CLOUDS = np.concatenate([np.random.default_rng(s).normal(6.0 * s, 1.0, size=(20, 2)) for s in range(3)])
SMALL = ["model=bernoulli", "data=jain_neal", "N=12", "sampler=gibbs", "schedule=move_only", "progress=none"]


def ran(*args: str, status: int = 0) -> str:
    result = CliRunner().invoke(cli.app, ["certify", *args])
    assert result.exit_code == status, result.output
    return result.output


def test_certificate_of_a_table(tmp_path: Path) -> None:
    found = splitmerge_cli.certify("gaussian", CLOUDS, "sams", pairs=20, store=tmp_path, progress="none")
    assert len(found.met_pairs) == len(found.pairs) == 20
    assert found.bound is not None and found.bound.upper[-1] < 0.2 < found.bound.upper[0]
    text = " ".join(found.lines())
    assert "20 of 20 pairs have met" in text and "estimated upper bound" in text
    estimates = found.estimates().set_index("quantity")
    assert estimates.loc["n_clusters", "low"] < estimates.loc["n_clusters", "mean"] < 6
    assert (found.path / "certificate.pdf").is_file()
    of_items = len(CLOUDS) * (len(CLOUDS) - 1) // 2
    assert found.wasserstein is not None and "estimated upper bound of the Wasserstein distance" in text
    assert (found.wasserstein.estimate <= found.bound.estimate[found.wasserstein.t]).all()
    tables = {"pairs": 20, "estimates": 8, "bound": len(found.bound.t), "co_clustering": of_items}
    for name, rows in {**tables, "wasserstein": len(found.wasserstein.t)}.items():
        assert len(pd.read_parquet(found.path / f"{name}.parquet")) == rows


def test_what_is_chosen_for_a_certificate_is_stored_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = {"name": "gaussian", "covariance": "auto"}
    splitmerge_cli.certify(model, CLOUDS, "sams", pairs=2, store=tmp_path / "kept", progress="none")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert len(list((tmp_path / "kept" / manifest.CHOICES).glob("*.json"))) == 1


def test_co_clustering_of_a_pair_is_the_mean_of_its_estimates(tmp_path: Path) -> None:
    """For every pair of items: `unbiased_estimate` on the chains' partitions gives the same."""
    plan = runs.prepare(compose([*SMALL, "init=mixture", f"out={tmp_path}"]))
    upper = np.triu_indices(12, 1)

    def co_clusters(model: Any) -> np.ndarray:
        return (model.labels[:, None] == model.labels[None, :])[upper].astype(float)

    for number, lag, k, m in [(0, 1, 0, 4), (1, 3, 2, 9), (2, 7, 0, 40), (3, 2, 5, 5), (4, 1, 30, 60)]:
        chains, again = (plan.builder.coupled_chains(number, lag, "maximal") for _ in range(2))
        x, y = [co_clusters(again.x)], [co_clusters(again.y)]
        while again.iteration < m or again.meeting < 0:
            again.advance(1, until_met=False)
            x.append(co_clusters(again.x))
            if again.iteration > lag:
                y.append(co_clusters(again.y))
        chains.gather(k, m)
        chains.advance(again.iteration, until_met=False)
        assert again.meeting == chains.meeting
        expected = unbiased_estimate(np.array(x), np.array(y), chains.meeting, lag, k, m)
        np.testing.assert_allclose(chains.co_clustering, expected, atol=1e-9)


def test_more_pairs_continue_and_workers_change_nothing(tmp_path: Path) -> None:
    one = [*SMALL, "timing=false", f"out={tmp_path / 'a'}", "workers=1"]
    path = Path(ran(*one, "--pairs", "6", "--lag", "3").strip().splitlines()[-1])
    first = json.loads((path / "pairs.json").read_text())["pairs"]
    again = Path(ran(*one, "--pairs", "10", "--lag", "3").strip().splitlines()[-1])
    assert again == path and json.loads((path / "pairs.json").read_text())["pairs"][:6] == first
    two = [*SMALL, "timing=false", f"out={tmp_path / 'b'}", "workers=2"]
    other = Path(ran(*two, "--pairs", "10", "--lag", "3").strip().splitlines()[-1])
    assert other.name == path.name
    tables = (f"{name}.parquet" for name in ("pairs", "bound", "estimates", "wasserstein", "co_clustering"))
    for name in ("pairs.json", *tables, "certificate.png"):
        assert (other / name).read_bytes() == (path / name).read_bytes()


def test_there_may_be_many_more_clusters_than_items(tmp_path: Path) -> None:
    emm = ["model=emm", "data=emm", "N=4", "model.kmax=300", "sampler=sdds", "iterations=20", "progress=none"]
    text = ran(*emm, f"out={tmp_path}", "--pairs", "5", "--lag", "1")
    assert " of 5 pairs have" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["sampler=arm", "model=bernoulli", "data=jain_neal"], "history of several chains"),
        (["model=hdp", "data=synthetic_documents"], "the weights of all clusters"),
        (["--pairs", "1"], "pairs=1: expected at least 2"),
        (["--lag", "0"], "lag=0: expected at least 1"),
        (["-k", "9", "-m", "3", "--lag", "2"], "k=9, m=3: expected 0 <= k <= m"),
        (["--seconds", "0"], "seconds=0: expected a positive number"),
        (["budget=5", "iterations=100"], "budget=5: expected --seconds, because"),
        (["warmup=5"], "warmup=5: a coupled chain has no warm-up"),
    ],
)
def test_what_cannot_be_certified_is_said(args: list[str], message: str, tmp_path: Path) -> None:
    assert message in ran(*args, f"out={tmp_path}", status=2)
    assert not list(tmp_path.rglob("pairs.json"))


@pytest.mark.slow
def test_interrupted_is_continued(tmp_path: Path) -> None:
    args = [*SMALL, f"out={tmp_path}", "timing=false", "workers=1"]
    command = [sys.executable, "-m", "splitmerge_cli", "certify", *args, "--pairs", "1000000", "--lag", "5", "-k", "5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.rglob("lock")) and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1.5)
        os.kill(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command continues it" in said
    (stored,) = tmp_path.rglob("pairs.json")
    assert json.loads(stored.read_text())["schedule"]["lag"] == 5
    made = len(json.loads(stored.read_text())["pairs"])
    assert made > 0
    ran(*args, "--pairs", str(made + 2), "--lag", "5", "-k", "5")
    assert len(json.loads(stored.read_text())["pairs"]) == made + 2


UNEVEN = ["model=gaussian", "data=gaussian", "N=40", "model.kappa0=1e-3", "sampler=gibbs", "timing=false"]
UNEVEN += ["progress=none", "workers=2"]
"""Pairs of these meet after 20 to some hundred iterations: two workers finish them in another order."""


def test_every_pair_that_was_begun_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the process ends. A copy of the folder is what SIGKILL leaves at that time."""
    begun: list[int] = []
    make = coupled_pairs.Pairs.make_one

    def record_pair(self: Any, number: int) -> Any:
        begun.append(number)
        return make(self, number)

    monkeypatch.setattr(coupled_pairs.Pairs, "make_one", record_pair)
    copies: list[tuple[Path, list[int]]] = []

    def copy(done: int, of: int) -> None:
        to = tmp_path / f"copy{len(copies)}"
        if done in (0, 3, 7, 12) and len(copies) < 5:
            # what other threads are writing is renamed at any moment
            shutil.copytree(tmp_path / "whole", to, ignore=shutil.ignore_patterns("*.partial"))
            copies.append((to, sorted(begun)))

    def make_certificate(
        out: Path, pairs: int = 14, seconds: float = np.inf, on_pair: Any = lambda *of: None
    ) -> tuple[Any, bytes]:
        plan = coupled_pairs.check_coupling(compose([*UNEVEN, f"out={out}"]))
        found = coupled_pairs.certify(plan, pairs, 5, 5, 20, seconds, on_pair)
        return found, (found.path / "pairs.json").read_bytes()

    (tmp_path / "whole" / "certificates").mkdir(parents=True)
    whole, expected = make_certificate(tmp_path / "whole", on_pair=copy)
    assert len(copies) == 4 and [pair.number for pair in whole.pairs] == sorted(begun) == list(range(14))
    for t, (out, before) in enumerate(copies):
        # no time for another pair, or none is asked for: those that were begun are made
        found, _ = make_certificate(out, (14, 1)[t % 2], 1e-9)
        numbers = [pair.number for pair in found.pairs]
        assert numbers == list(range(len(numbers))) and len(before) <= len(numbers) <= len(before) + 4
        assert found.pairs == whole.pairs[: len(numbers)]
        assert make_certificate(out)[1] == expected


def test_seconds_end_with_the_pairs_that_were_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that counts pairs: after ten and a half none is begun."""
    at = [0]
    monkeypatch.setattr(coupled_pairs, "time", SimpleNamespace(monotonic=lambda: at[0], thread_time=time.thread_time))
    plan = coupled_pairs.check_coupling(compose([*SMALL, f"out={tmp_path}", "init=mixture", "workers=1"]))

    def count_pairs(pairs: int) -> tuple[int, int]:
        made = coupled_pairs.certify(plan, pairs, 3, 3, 9, 10.5, lambda done, of: at.__setitem__(0, done))
        return len(made.pairs), json.loads((made.path / "pairs.json").read_text())["begun"]

    assert count_pairs(50) == (11, 11)
    assert count_pairs(5) == (11, 11)


@pytest.mark.parametrize(("seconds", "made"), [(0.01, 1), (25.0, 5), (np.inf, coupled_pairs.PILOTS)])
def test_the_pilot_takes_a_fifth_of_the_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, made: int
) -> None:
    """By a clock that counts pairs."""
    numbers: list[int] = []
    make = coupled_pairs.Pairs.make_one

    def count_pair(self: Any, number: int) -> Any:
        numbers.append(number)
        return make(self, number)

    clock = SimpleNamespace(monotonic=lambda: len(numbers), thread_time=time.thread_time)
    monkeypatch.setattr(coupled_pairs.Pairs, "make_one", count_pair)
    monkeypatch.setattr(coupled_pairs, "time", clock)
    plan = coupled_pairs.check_coupling(compose([*SMALL, f"out={tmp_path}", "init=mixture", "workers=1"]))
    found = coupled_pairs.certify(plan, 2, seconds=seconds)
    assert sum(number >= coupled_pairs.FIRST_PILOT for number in numbers) == made
    assert len(found.pairs) == (0 if seconds < 1 else 2)


@pytest.mark.parametrize("at", [coupled_pairs.FIRST_PILOT + 3, 4])
def test_ctrl_c_in_python_leaves_no_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Pairs that were finished make none, and some of the pilot's pairs give no lag."""
    make = coupled_pairs.Pairs.make_one

    def interrupt_pair(self: Any, number: int) -> Any:
        if number == at:
            signal.raise_signal(signal.SIGINT)
        return make(self, number)

    def make_certificate(out: str) -> Any:
        how: dict[str, Any] = {"progress": "none", "workers": 4, "options": {"timing": False}}
        return splitmerge_cli.certify("gaussian", CLOUDS, "gibbs", pairs=12, store=tmp_path / out, **how)

    with monkeypatch.context() as patch:
        patch.setattr(coupled_pairs.Pairs, "make_one", interrupt_pair)
        with pytest.raises(runs.Interrupted):
            make_certificate("a")
    assert not list(tmp_path.rglob("pairs.parquet")) and len(list(tmp_path.rglob("pairs.json"))) == (at == 4)
    found, whole = make_certificate("a"), make_certificate("b")
    assert (found.path / "pairs.json").read_bytes() == (whole.path / "pairs.json").read_bytes()


def test_disk_is_asked_for_what_a_certificate_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for what a run would record; and what is advised is enough."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=200_000))
    asked = [*SMALL, "iterations=20000", f"out={tmp_path / 'out'}", "--lag", "3"]
    text = ran(*asked, "--pairs", "1000", status=2)
    advised = re.search(r"pairs=1000: the certificate would take up to .* such as pairs=(\d+)\n", text)
    assert advised and not (tmp_path / "out").exists()
    path = Path(ran(*asked, "--pairs", advised[1]).strip().splitlines()[-1])
    written = sum(file.stat().st_size for file in path.glob("**/*") if file.suffix in (".json", ".npy"))
    assert len(list((path / "co_clustering").iterdir())) == int(advised[1]) > 10
    # pairs may be far longer than these
    assert written <= 100_000 < 8 * written
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=200))
    assert "or another out=" in ran(*SMALL, f"out={tmp_path / 'other'}", status=2)


def test_a_few_new_rows_of_a_mixed_file_are_read_as_the_data_are(tmp_path: Path) -> None:
    """By themselves they would be constant columns, which are left out, or numbers of another type."""
    rows = "".join(f"{k % 3},{'fm'[k % 2]},US,{k + 0.5},{k % 3}\n" for k in range(12))
    (tmp_path / "t.csv").write_text("class,sex,land,x,grade\n" + rows)
    (tmp_path / "new.csv").write_text("sex,land,x,grade\nm,UK,3,1\nz,US,,2\n")
    (tmp_path / "one.csv").write_text("sex,land,x,grade\nf,US,7,0\n")
    path = f"data.path={tmp_path / 't.csv'}"
    plan = runs.prepare(compose(["data=csv", path, "data.truth=class", "model=mixed", "iterations=1"]))
    found = items_of(plan.data, plan.dataset, str(tmp_path / "new.csv"))
    np.testing.assert_array_equal(found.values, [[1, 3, 1], [np.nan, np.nan, 2]])
    np.testing.assert_array_equal(items_of(plan.data, plan.dataset, str(tmp_path / "one.csv")).values, [[0, 7, 0]])


def test_new_items_of_a_file(tmp_path: Path) -> None:
    table = pd.DataFrame(CLOUDS[:, :2], columns=["a", "b"])
    table.to_csv(tmp_path / "data.csv", index=False)
    table.iloc[:3].to_csv(tmp_path / "new.csv", index=False)
    table.rename(columns={"b": "c"}).to_csv(tmp_path / "other.csv", index=False)
    asked = ["model=gaussian", "data=csv", f"data.path={tmp_path / 'data.csv'}", f"out={tmp_path / 'out'}"]
    asked += ["progress=none", "--pairs", "4"]
    for args, expected in (
        (["--new", f"{tmp_path / 'none.csv'}"], "none.csv"),
        (["--new", f"{tmp_path / 'other.csv'}"], "no column 'b'"),
        (["--coupling", "optimal"], "coupling=optimal: expected maximal, common, transport"),
    ):
        assert expected in ran(*asked, *args, status=2)
        assert not (tmp_path / "out" / "certificates").exists()
    said = ran(*SMALL, f"out={tmp_path / 'out'}", "--new", "new.csv", status=2)
    assert "--new new.csv: expected data that are read from a file" in said
    path = Path(ran(*asked, "--new", f"{tmp_path / 'new.csv'}").strip().splitlines()[-1])
    assert pd.read_parquet(path / "log_predictive.parquet")["item"].tolist() == [0, 1, 2]
    transport = Path(ran(*asked, "--coupling", "transport").strip().splitlines()[-1])
    assert transport != path and not (transport / "log_predictive.parquet").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=overdispersed_multinomial"], "model=overdispersed_multinomial: draws of tables of counts"),
        (
            ["model=gaussian", "model.covariance=full", "data.columns=[b, c]"],
            "model.covariance=full: draws of missing cells",
        ),
        (["model=mixed", "model.covariance=full", "data.types={b: real, c: real}"], "draws of missing cells"),
    ],
)
def test_a_state_of_more_than_the_partition_is_not_coupled(tmp_path: Path, words: list[str], message: str) -> None:
    last = "3" if "multinomial" in words[0] else ""
    (tmp_path / "t.csv").write_text(f"a,b,c\n1,2,4\n3,0,1\n0,4,2\n2,2,5\n5,1,{last}\n")
    with pytest.raises(ConfigError, match=f"{message}.* cannot be coupled"):
        coupled_pairs.check_coupling(specify(["data=csv", f"data.path={tmp_path / 't.csv'}", *words, "iterations=50"]))


def test_co_clustering_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    asked = [*SMALL, f"out={tmp_path}", "--pairs", "5", "--lag", "3"]
    path = Path(ran(*asked).strip().splitlines()[-1])
    whole = pd.read_parquet(path / "co_clustering.parquet")
    assert len(whole) == 66 and (whole["low"] <= whole["probability"]).all()
    np.save(path / "co_clustering" / "3.npy", np.ones(66, dtype=np.float32))
    assert "3.npy: damaged" in ran(*asked, status=1)
    ran(*asked, "resume=false")
    pd.testing.assert_frame_equal(pd.read_parquet(path / "co_clustering.parquet"), whole)
    (path / "co_clustering" / "0.npy").unlink()
    assert "0.npy: missing" in ran(*asked, status=1)


def test_another_certificate_in_its_place_is_not_believed(tmp_path: Path) -> None:
    asked = [*SMALL, f"out={tmp_path}", "--pairs", "3", "--lag", "4"]
    path, other = (Path(ran(*asked, *more).strip().splitlines()[-1]) for more in ([], ["init=singletons"]))
    shutil.copy(other / "pairs.json", path)
    assert "pairs.json: damaged; resume=false starts the certificate again" in ran(*asked, status=1)
    ran(*asked, "resume=false")
