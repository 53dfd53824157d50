"""What a new user tries first, and the command that the answer names."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli.config import compose
from splitmerge_cli.config.auto import choice_for
from splitmerge_cli.results.read import Run
from splitmerge_cli.runs import closing, prepare

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
        (["two.csv"], "two.csv: expected data=csv data.path=two.csv"),
        (["data=two.csv"], "data=two.csv: expected data=csv data.path=two.csv"),
        (["data=my tables/two.csv"], "expected data=csv 'data.path=my tables/two.csv'"),
        (["data.path=two.csv"], "data.path: a file is read by data=csv (a table), data=edges or data=corpus"),
        (["data=csv", "data.path=two.csv", "model=gaussian", "sampler=sams", "sampler.qqqq=3"], "expected one of"),
        (["data=csv", "data.path=two.csv", "model=gaussian", "data.sepparator=comma"], "Did you mean data.separator?"),
        (
            ["data=csv", "data.path=two.csv", "model=gaussian", "data.drop=u,v"],
            "data.drop=u,v: expected data.drop=[u,v];",
        ),
        (["data=csv", "data.path=two.csv", "model=gaussian", "model.m0=1,2"], "expected model.m0=[1,2];"),
        (["data=csv", "data.path=two.csv", "data.columns=u (m),v"], "such as 'data.columns=["),
        (["data=csv", "data.path=https://a.org/b.csv"], "https://a.org/b.csv: an address; expected a file: download"),
        (["data=edges", "data.path=http://a.org/b"], "http://a.org/b: an address; expected a file: download it"),
        (["data=corpus", "data.path=ftp://a.org/b"], "ftp://a.org/b: an address; expected a file: download it"),
        (["N=9", "init=https://a.org/b.csv"], "https://a.org/b.csv: an address; expected a file: download it first"),
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
    found = choice_for("gaussian")
    assert f"note: sampler=auto: {found.sampler}" in result.stderr
    config = Run(result.stdout.strip()).config
    assert (config["sampler"]["name"], config["schedule"].get("moves", 1)) == (found.sampler, found.moves)
    for words, name in [(["sampler=sdds"], "sdds"), (["schedule=[{rgsm: 1}, {gibbs: 1}]"], "rgsm+gibbs")]:
        named = smcmc(*own, *words)
        assert "sampler=auto" not in named.stderr
        assert Run(named.stdout.strip()).config["sampler"]["name"] == name
    assert Run(smcmc("run", "N=12", *QUICK).stdout.strip()).config["sampler"]["name"] == choice_for("emm").sampler
    found = sm.sample("gaussian", points, iterations=6, chains=2, progress="none")
    assert found.run.config["sampler"]["name"] == "sams"


def test_auto_leaves_ids_out(smcmc: Any, points: np.ndarray) -> None:
    table = pd.read_csv("two.csv")
    table.insert(0, "id", np.arange(len(table)))
    table.to_csv("ids.csv", index=False)
    result = smcmc("run", "data=csv", "data.path=ids.csv", "model=auto", "model.covariance=iso", *QUICK)
    assert "model=auto: model=gaussian data.columns=[u,v]" in result.stderr
    assert Run(result.stdout.strip()).config["data"]["columns"] == ["u", "v"]
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
WEIGHTED = "schedule=[{sdds: 1}, {gibbs: 1}]"


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (
            ["data=csv", "data.path=two.csv", "model=gaussian", "sampler=rgsm", "sampler.t=3"],
            "sampler=sams in place of",
        ),
        (["data=csv", "data.path=two.csv", "model=mixed", WEIGHTED], "schedule=full_scan sampler=sams in place of"),
        (["data=csv", "data.path=two.csv", "model=gaussian"], "another sampler (smcmc model info gaussian"),
        (["data=networkx", "model=irm", WEIGHTED], "other samplers in the list (smcmc model info irm"),
        (["data=emm", "N=12", "sampler=sdds", "budget=1"], "another sampler (smcmc model info emm"),
        (["data=groups4", "data.length=20", "sampler=smag"], "another sampler (smcmc model info hdp"),
    ],
)
def test_what_is_advised_at_the_end_of_a_run_is_accepted_for_that_run(
    smcmc: Any, points: np.ndarray, own: list[str], other: str
) -> None:
    ended = smcmc("run", *own, *QUICK)
    run = Run(ended.stdout.strip())
    judged = {"converged": False, "rhat": 9.0, "quantity": "K", "note": None}
    again = SimpleNamespace(summary={"convergence": judged}, config=run.config, path=run.path, done=True)
    *_, advice = closing.verdict(again)
    longer, _, other_way = advice.removeprefix("next: run longer, ").partition(", or ")
    assert other_way.startswith(other)
    for key, twice in (word.split("=") for word in longer.split()):
        assert float(twice) == 2 * run.config[key]
    compose([*own, *QUICK, *longer.split()])
    named, instead, _ = other_way.partition(" in place of ")
    if instead:
        kept = [word for word in own if not word.startswith(("sampler", "schedule"))]
        assert prepare(compose([*kept, *QUICK, *named.split()])).cfg.sampler.name == "sams"
    for command in re.findall(r"smcmc ([^;)]*?)(?: names them| shows every quantity)", advice):
        assert smcmc(*shlex.split(command)).exit_code == 0


def test_a_run_of_one_chain_is_advised_several(smcmc: Any) -> None:
    own = ["run", "N=12", "iterations=6", "progress=none", "chains=1"]
    assert smcmc(*own).stderr.splitlines()[-1] == "next: several chains, such as chains=4"
    assert "next: run longer, iterations=12" in smcmc(*own, "chains=4").stderr
    assert smcmc(*own, "chains=4", "iterations=12").exit_code == 0
