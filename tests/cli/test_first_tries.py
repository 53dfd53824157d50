"""First tries of a new user, and the command that the answer names."""

import re
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli.config import compose
from splitmerge_cli.config.resolution import choice_for
from splitmerge_cli.data.dataset import READ_AS
from splitmerge_cli.diagnostics.convergence import Convergence, format_rhat
from splitmerge_cli.kinds.documents import ONE_DOCUMENT
from splitmerge_cli.kinds.tables.quantities import TIE
from splitmerge_cli.runs import advice, initial, judgement, prepare
from splitmerge_cli.runs.store.read import Run

QUICK = ["iterations=6", "chains=2", "progress=none"]


@pytest.fixture
def points() -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(40, 2))
    x[20:] += 5
    pd.DataFrame(x, columns=["u", "v"]).to_csv("two.csv", index=False)
    return x


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["data=my tables/two.csv"], "my tables/two.csv: no such file"),
        (["data.path=gone.csv"], "data.path: a file is read by data=csv (a table), data=edges or data=corpus"),
        (["data=csv", "data.path=two.csv", "model=gaussian", "sampler=sams", "sampler.qqqq=3"], "expected one of"),
        (["data=csv", "data.path=two.csv", "model=gaussian", "data.sepparator=comma"], "Did you mean data.separator?"),
        (["data=csv", "data.path=two.csv", "model=gaussian", "data.drop=u,v"], "expected data.drop=[u,v];"),
        (["data=csv", "data.path=two.csv", "model=gaussian", "model.m0=1,2"], "expected model.m0=[1,2];"),
        (["data=csv", "data.path=two.csv", "data.columns=u (m),v"], "expected 'data.columns=[u (m),v]'"),
        (["data=csv", "data.path=https://a.org/b.csv"], "https://a.org/b.csv: an address; expected a file: download"),
        (["data=edges", "data.path=http://a.org/b"], "http://a.org/b: an address; expected a file: download it"),
        (["data=emm", "init=https://a.org/b"], "https://a.org/b: an address; expected a file: download it"),
        (["data=corpus", "data.path=ftp://a.org/b"], "ftp://a.org/b: an address; expected a file: download it"),
    ],
)
def test_an_answer_names_the_words_that_work(smcmc: Any, points: np.ndarray, words: list[str], said: str) -> None:
    result = smcmc("run", *words)
    assert result.exit_code == 2 and said in result.stderr, result.stderr
    assert "Traceback" not in result.stderr and not Path("results").exists()


def test_a_list_of_edges_without_a_model_is_read_as_a_network(smcmc: Any) -> None:
    pairs = [("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("di", "ed"), ("ed", "fy"), ("fy", "di"), ("ann", "di")]
    Path("ties.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in pairs), encoding="utf-8")
    answer = smcmc("run", "data=csv", "data.path=ties.csv").stderr
    command = "smcmc run data=edges data.path=ties.csv"
    assert command in answer
    assert smcmc(*command.split()[1:], *QUICK).exit_code == 0
    # two columns of words that have nothing in common are no edges
    Path("kinds.csv").write_text("a,b\n" + "x,p\ny,q\n" * 6, encoding="utf-8")
    assert "data=edges" not in smcmc("run", "data=csv", "data.path=kinds.csv").stderr


def test_it_is_said_what_a_table_is_sampled_by_unless_a_sampler_is_named(smcmc: Any, points: np.ndarray) -> None:
    own = ["run", "data=csv", "data.path=two.csv", "model=gaussian", *QUICK]
    result = smcmc(*own)
    found, _ = choice_for("gaussian")
    assert f"sampler=auto: {found.sampler}" in result.stderr
    config = Run(result.stdout.strip()).config
    assert (config["sampler"]["name"], config["schedule"].get("moves", 1)) == (found.sampler, found.moves)
    for words, name in [(["sampler=sdds"], "sdds"), (["schedule=[{rgsm: 1}, {gibbs: 1}]"], "rgsm+gibbs")]:
        named = smcmc(*own, *words)
        assert "sampler=auto" not in named.stderr
        assert Run(named.stdout.strip()).config["sampler"]["name"] == name
    assert Run(smcmc("run", "N=12", *QUICK).stdout.strip()).config["sampler"]["name"] == choice_for("emm")[0].sampler
    found = sm.sample("gaussian", points, iterations=6, chains=2, progress="none")
    assert found.run.config["sampler"]["name"] == "sams"


def test_auto_leaves_ids_out(smcmc: Any, points: np.ndarray) -> None:
    table = pd.read_csv("two.csv")
    table.insert(0, "id", np.arange(len(table)))
    table.to_csv("ids.csv", index=False)
    result = smcmc("run", "data=csv", "data.path=ids.csv", "model=auto", "model.covariance=iso", *QUICK)
    assert "model=auto: model=gaussian model.b0" in result.stderr and "column 1 ('id') is left out" in result.stderr
    whole = smcmc("run", "data=csv", "data.path=two.csv", "model=auto", "model.covariance=iso", *QUICK)
    assert "model=auto: model=gaussian " in whole.stderr


def test_rhat_is_the_largest_of_all_that_is_recorded(points: np.ndarray) -> None:
    found = sm.sample("gaussian", points, "sdds", iterations=60, chains=3, progress="none")
    table = found.run.diagnostics()
    rows = table[table["chain"].isna() & table["quantity"].str.startswith("rhat/")]
    assert len(rows) > 3
    assert found.rhat == rows["value"].max() == found.run.summary["convergence"]["rhat"]
    assert found.converged == (found.rhat < 1.1)


TWO = ["data=csv", "data.path=two.csv"]
TEXTS = ["data=corpus", "data.path=texts.txt"]
WEIGHTED = "schedule=[{sdds: 1}, {gibbs: 1}]"


BAD = asdict(Convergence(converged=False, quantity="K", rhat=9.0, ess=4.0, ess_of="K"))
SLOW = BAD | {"rhat": 1.2, "ess": 70.0}
FEW = BAD | {"converged": True, "rhat": 1.05, "ess": 30.0}
UNKNOWN = BAD | {"converged": None, "note": "fewer than 4 draws a chain"}
STAYED = BAD | {"converged": None, "rhat": 1.0, "is_one_sided": True, "never_accepted": ["split", "merge"]}
FIXED = BAD | {"not_sampled": ["kappa0"]}
OPEN = {"reached": False, "ess": 130.0, "rhat": 1.04, "rhat_of": "K", "ess_of": "K", "iterations": 6}
LONG = {"iterations": [30_000] * 2}


@pytest.mark.parametrize(
    ("own", "said", "words"),
    [
        ([*TWO, "model=gaussian", "sampler=rgsm", "sampler.t=3"], LONG | {"convergence": BAD}, "~sampler"),
        ([*TWO, "model=gaussian", "sampler=rgsm", "sampler.t=3"], {"convergence": BAD}, "iterations=48"),
        ([*TWO, "model=mixed", WEIGHTED], LONG | {"convergence": BAD}, "~schedule"),
        ([*TWO, "model=gaussian"], LONG | {"convergence": BAD}, "init=search"),
        (["data=networkx", "model=irm"], LONG | {"convergence": BAD}, "init=search"),
        (
            ["data=networkx", "model=irm", "init=search"],
            LONG | {"convergence": BAD},
            "tempering.levels=4 tempering.least=0.3",
        ),
        (["data=emm", "N=12", "sampler=sams", "schedule.moves=5"], LONG | {"convergence": BAD}, "~sampler"),
        (["data=emm", "N=12"], LONG | {"convergence": BAD}, "iterations=24"),
        ([*TWO, "model=gaussian"], LONG | {"convergence": BAD, "N": 10_000}, "init=stages"),
        (
            [*TWO, "model=gaussian", "init=stages"],
            LONG | {"convergence": SLOW | {"ess": 20.0}, "N": 10_000},
            "iterations=48",
        ),
        ([*TWO, "model=gaussian", "init=prior"], LONG | {"convergence": BAD}, "schedule.moves=20"),
        ([*TWO, "model=gaussian", "init=prior", "schedule.moves=30"], LONG | {"convergence": BAD}, "iterations=24"),
        ([*TWO, "model=gaussian", "model.kappa0=gamma(1,1)"], {"convergence": FIXED}, "model.kappa0=0.1"),
        (["data=networkx", "model=irm", WEIGHTED], {"convergence": SLOW}, "iterations=48"),
        (["data=emm", "N=12", "sampler=sdds", "budget=1"], {"convergence": SLOW}, "budget=8.0 iterations=48"),
        (["data=emm", "N=12", "iterations=1777"], {"convergence": FEW}, "iterations=16000"),
        (["data=emm", "N=12", "until.ess=1e9"], {"convergence": FEW | {"ess": 130.0}, "until": OPEN}, "iterations=24"),
        (["data=groups4", "data.length=20", "sampler=smag"], {"convergence": UNKNOWN}, "iterations=48"),
        ([*TEXTS, "data.stop_words=none"], LONG | {"convergence": BAD}, "data.stop_words=auto"),
        (["data=emm", "N=12", "chains=1"], {"convergence": UNKNOWN}, "chains=4"),
        ([*TWO, "model=gaussian", "K0=3"], {"convergence": STAYED}, "init=mixture K0=null"),
        (
            [*TWO, "model=gaussian", "seed=7", "data.columns=[v,u]", "out='a b'"],
            {"convergence": FEW | {"ess": 900.0}, "point_estimate": {"n_clusters": 120, "labels": list(range(120))}},
            "model.covariance=auto",
        ),
    ],
)
def test_what_is_advised_at_the_end_of_a_run_is_a_command_for_that_run(
    smcmc: Any, points: np.ndarray, own: list[str], said: dict[str, Any], words: str
) -> None:
    """The line is pasted: it makes the same run, but for what is advised."""
    Path("texts.txt").write_text("the cat and the dog\nthe bank and the loan\na dog is a dog\n" * 4, encoding="utf-8")
    ended = smcmc("run", *QUICK, *own)
    run = Run(ended.stdout.strip().splitlines()[-1])
    summary = run.summary | said
    again = SimpleNamespace(summary=summary, config=run.config, path=run.path, config_dir=None, is_done=True)
    *_, line = advice.verdict(again)
    assert line.startswith("next: smcmc run data=")
    given = shlex.split(line)[3:]
    if not any(word.startswith("model.covariance=auto") for word in given):
        found = prepare(compose(given)).spec.identity
        before = initial.specification_of(run).identity
        changed = {key: value for key, value in before.items() if key in found and found[key] != value}
        gone = {"~sampler": {"sampler", "schedule"}, "~schedule": {"sampler", "schedule"}}
        expected = gone.get(words, {word.partition("=")[0].partition(".")[0] for word in words.split()})
        if said["convergence"] is BAD and "iterations" not in words:  # other chains, as long as they have to be
            expected |= {"chains", "iterations", "until"}
            assert "chains=4" in given and "iterations" not in line
        assert set(changed) - {"data"} <= expected and (changed or words.startswith("~"))
    if words.startswith("~"):
        assert not any(word.startswith(("sampler", "schedule")) for word in given)
    else:
        assert {word for word in words.split() if "=" in word} <= set(given)


@pytest.mark.parametrize(
    ("own", "notes", "is_advised"),
    [
        ([*TWO, "model=gaussian", "init=stages"], [], False),
        ([*TEXTS, "data.stop_words=auto", "init=sequential"], [], True),
        ([*TEXTS, "data.stop_words=auto", "init=sequential"], [ONE_DOCUMENT], False),
    ],
)
def test_nothing_is_advised_that_leaves_the_chains_where_they_are(
    points: np.ndarray, own: list[str], notes: list[str], is_advised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice, "_core_lines", lambda run, judged: ())
    Path("texts.txt").write_text("the cat and the dog\nthe bank and the loan\n" * 4, encoding="utf-8")
    spec = compose([*QUICK, *own])
    summary = LONG | {"N": 10_000, "notes": notes, "model": spec.model.name}
    run = SimpleNamespace(summary=summary, config=spec.values, path=Path("run"), config_dir=None)
    lines = list(advice.say_next(run, Convergence(**BAD), spec))
    are_commands = [line.startswith("next: smcmc run ") and "iterations=" in line for line in lines]
    assert are_commands == [False, True] * is_advised


def test_earlier_runs_are_those_of_the_same_data_and_kind_of_model(smcmc: Any, points: np.ndarray) -> None:
    asked = ([], ["init=singletons"], ["init=singletons", "N=20"], ["model.kappa0=0.5"])
    runs = [Run(smcmc("run", *QUICK, *TWO, "model=gaussian", *more).stdout.split()[-1]) for more in asked]
    mixed = Run(smcmc("run", *QUICK, *TWO, "model=mixed").stdout.split()[-1])
    first, second, _, third = runs
    assert {one.path for one in advice.find_earlier(second)} == {first.path, third.path}
    assert not advice.find_earlier(mixed)


def test_what_auto_left_in_an_earlier_run_is_not_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The covariance was compared in the run whose `next:` was followed."""
    tie = {"subject": "u and v", "quantity": TIE, "observed": 0.9, "low": 0.0, "high": 0.1, "of_reals": True}
    summary = LONG | {"N": 300, "fit": {"unlike": [tie]}, "point_estimate": {"n_clusters": 2}, "iterations": [4000]}
    spec = compose([*TWO, "model=gaussian", "init=search"])
    run = SimpleNamespace(summary=summary, config=spec.values, path=Path("run"), config_dir=None)
    monkeypatch.setattr(advice, "_core_lines", lambda run, judged: ())
    for chosen, advised in (({}, True), ({"model.covariance": []}, False)):
        earlier = SimpleNamespace(summary={"chosen": chosen}, config={})
        monkeypatch.setattr(advice, "find_earlier", lambda run, earlier=earlier: [earlier])
        lines = list(advice.say_next(run, Convergence(**BAD), spec))
        assert any("model.covariance=full" in line for line in lines) == advised


@pytest.mark.parametrize(
    ("config", "rhat", "advised"),
    [
        ({"iterations": 500}, 8.0, False),
        # that helped
        ({"iterations": 500}, 9.5, True),
        # it differs in something else, too
        ({"iterations": 500, "init": "random"}, 8.0, True),
    ],
)
def test_an_advice_that_did_not_help_is_not_given_again(
    points: np.ndarray, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], rhat: float, advised: bool
) -> None:
    spec = compose([*QUICK, *TEXTS, "data.stop_words=auto", "init=sequential", "iterations=4000"])
    Path("texts.txt").write_text("the cat and the dog\nthe bank and the loan\n" * 4, encoding="utf-8")
    summary = LONG | {"N": 10_000, "notes": [], "model": spec.model.name}
    run = SimpleNamespace(summary=summary, config=spec.values, path=Path("run"), config_dir=None)
    earlier = SimpleNamespace(summary={}, config={**spec.values, **config}, path=Path("earlier"))
    monkeypatch.setattr(advice, "find_earlier", lambda run: [earlier])
    monkeypatch.setattr(advice, "judgement_of", lambda run: Convergence(**BAD | {"rhat": rhat}))
    monkeypatch.setattr(advice, "_core_lines", lambda run, judged: ())
    lines = list(advice.say_next(run, Convergence(**BAD), spec))
    assert [line.startswith("next: smcmc run ") and "iterations=" in line for line in lines] == [False, True] * advised


def test_replicas_are_advised_by_how_often_rows_count(points: np.ndarray) -> None:
    spec = compose([*QUICK, *TWO, "model=gaussian", "init=search"])
    for size, is_advised in ((170.0, True), (5_144.0, False)):
        run = SimpleNamespace(summary={"N": 170, "bundles": {"size": size}})
        assert (advice._choose_other_moves(run, spec) is not None) == is_advised


@pytest.mark.parametrize(("shares", "continues"), [([1.0, 0.9, 0.3], True), ([1.0, 1.0, 0.0], False), (None, False)])
def test_chains_that_move_between_modes_are_to_go_on(shares: list[float] | None, continues: bool) -> None:
    spec = compose([*QUICK, *TWO, "model=gaussian"])
    modes = {"groups": [{"chains": [0, 1]} if shares is None else {"shares": shares}]}
    run = SimpleNamespace(summary=LONG | {"N": 60, "modes": modes})
    why, changed = advice._advise_apart(run, spec, Convergence(**BAD)) or ("", {})
    assert (why.startswith("the chains move between") and "iterations" in changed) == continues


def test_the_command_that_is_advised_runs_and_goes_on(smcmc: Any) -> None:
    ended = smcmc("run", "data=jain_neal", "N=30", "iterations=40", "chains=2", "progress=none", "thin=2")
    line = ended.stderr.splitlines()[-1]
    assert line == "next: smcmc run data=jain_neal N=30 chains=2 iterations=320 thin=2"
    again = smcmc(*shlex.split(line)[2:])
    assert again.exit_code == 0 and "continues after the 40 iterations of" in again.stderr


def test_modes_are_told_apart(smcmc: Any) -> None:
    """SDDS on the data of its paper from five clusters: chains stay at unions of clusters."""
    said = smcmc("run", "sampler=sdds", "data=emm", "N=500", "iterations=3000", "progress=none").stderr.splitlines()
    at = next(k for k, line in enumerate(said) if line.startswith("the chains stay near"))
    assert "different partitions (chain" in said[at] and "clusters, log joint" in said[at]
    assert said[at + 1].startswith("difference between the first and the second: ")
    assert said[-1] == "next: smcmc run data=emm N=500"


def test_a_table_of_texts_is_read_as_documents(smcmc: Any) -> None:
    lines = [f"{i},{'cats eat, dogs bark' if i % 2 else 'banks lend money'} {'again ' * i}".strip() for i in range(12)]
    texts = pd.DataFrame([line.split(",", 1) for line in lines], columns=["id", "text"])
    texts.to_csv("docs.csv", index=False)
    found = prepare(compose(["data=corpus", "data.path=docs.csv"])).dataset
    assert found.values.tokens.J == 12 and "column text is read as texts" in found.notes[0]
    texts.assign(text=texts["text"] + " all the day long, and all of the night").to_csv("long.csv", index=False)
    for file, model in (("long", ["model=gaussian"]), ("docs", [])):
        said = smcmc("run", "data=csv", f"data.path={file}.csv", *model)
        command = re.search(r"smcmc (run data.path=.*?) reads it as documents", said.stderr)
        assert said.exit_code == 2 and command is not None, said.stderr
        assert command[1] == f"run data.path={file}.csv data=corpus 'data.columns=[text]'"
    words = shlex.split(command[1])
    ended = smcmc(*words, *QUICK)
    read = prepare(compose([*words[1:], "data.stop_words=none"])).dataset
    assert ended.exit_code == 0 and read.values.tokens.J == 12
    assert read.vocabulary == sorted(["again", "bark", "cats", "dogs", "eat", "banks", "lend", "money"])
    # without names, and with one column alone
    texts["text"].to_csv("alone.csv", index=False, header=False)
    alone = prepare(compose(["data=corpus", "data.path=alone.csv"])).dataset
    assert alone.values.tokens.J == 12


def test_a_table_without_a_model_is_described_in_the_words_of_a_run(smcmc: Any) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame({"no": range(30), "x": rng.normal(size=30), "year": [2007, 2008, 2009] * 10}).to_csv("t.csv")
    said = " ".join(smcmc("run", "data=csv", "data.path=t.csv").stderr.split())
    notes = prepare(compose(["data=csv", "data.path=t.csv", "model=mixed"])).dataset.notes
    assert len(notes) == 4 and all(note.partition(": ")[2] in said for note in notes if READ_AS not in note)
    assert "column 2 ('no') is left out: it counts the rows from 0" in said
    assert "column 4 ('year'): 3 different numbers, each in 10 rows at least, are read as categories" in said


def test_a_scale_that_is_stuck_is_not_sampled_and_the_advice_ends_it(smcmc: Any) -> None:
    """Clusters of one value each draw `kappa0` to the end of its range, where every new value is rejected."""
    x = np.random.default_rng(0).normal(size=200)
    pd.DataFrame({"u": x > 0, "v": x < -1}).astype(float).to_csv("two.csv", index=False)
    asked = ["run", "data=csv", "data.path=two.csv", "model=gaussian", "model.b0=hierarchical", "sampler=sams"]
    asked += ["model.resolution=none"]
    stuck = smcmc(*asked, "chains=2", "iterations=300", "model.kappa0=hierarchical").stderr.splitlines()
    assert "not sampled: kappa0 (unknown, but constant in the second half of every chain)" in stuck
    assert stuck[-2] == "fix a value instead of the prior:" and "model.kappa0=0.1" in shlex.split(stuck[-1])
    assert "not sampled" not in smcmc(*shlex.split(stuck[-1])[2:]).stderr


def test_chains_that_nothing_brings_together_are_asked_what_they_share(smcmc: Callable[..., Any]) -> None:
    """The last line of such a run is a command that works, whatever the chains found."""
    made = smcmc("run", "data=jain_neal", "model=bernoulli", "N=60", "iterations=40", "chains=2", "progress=none")
    run = Run(made.stdout.strip())
    apart = replace(judgement.judgement_of(run), converged=False)
    reason, advised = advice._core_lines(run, apart)
    assert reason.endswith("what they share all the same:") and advised.startswith("next: smcmc summary ")
    followed = smcmc(*shlex.split(advised.removeprefix("next: smcmc ")))
    assert followed.exit_code == 0 and "rows are together as listed" in followed.output
    assert not list(advice._core_lines(run, replace(apart, converged=None)))
    other = smcmc("run", "data=jain_neal", "model=bernoulli", "N=60", "iterations=50", "chains=2", "progress=none")
    best = judgement.judgement_of(Run(other.stdout.strip())).rhat
    assert best is not None
    for rhat, is_said in ((best + 1.0, True), (best, False)):
        said = [*advice._core_lines(run, replace(apart, rhat=rhat))]
        line = f"an earlier run of these data has a smaller R-hat, {format_rhat(best)}: {other.stdout.strip()}"
        assert said == [line] * is_said + [reason, advised]
