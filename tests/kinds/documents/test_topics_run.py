"""Results of a run of topics: tables, held-out perplexity, pictures; independent of how the run was made."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import run_path

from splitmerge_cli.config import compose
from splitmerge_cli.diagnostics.agreement import nmi
from splitmerge_cli.kinds.documents import recorder as topics
from splitmerge_cli.kinds.documents.heldout import METHODS
from splitmerge_cli.runs import answers, finish, prepare
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("commands")

DATA = ["data=synthetic_documents", "N=20", "data.length=25", "data.words=40", "data.topics=4", "data.heldout=0.2"]
SMALL = [*DATA, "sampler=gibbs", "chains=2", "iterations=60", "perplexity.every=20", "progress=none"]
TINY = ["data=docs200", "N=12", "data.length=20", "sampler=smag", "chains=2", "iterations=30", "progress=none"]


@pytest.fixture
def run(smcmc) -> Run:
    return Run(run_path(smcmc("run", *SMALL)))


def test_tables_agree_with_each_other_and_the_data(run: Run) -> None:
    dataset = prepare(compose(SMALL)).dataset
    words, starts = dataset.values.tokens.words, dataset.values.tokens.starts
    sizes = run.table("topic_sizes")
    trace = run.trace()
    assert sizes[["chain", "iteration"]].equals(trace[["chain", "iteration"]])
    assert [len(of_state) for of_state in sizes["sizes"]] == trace["K"].tolist()
    for of_state in sizes["sizes"]:
        assert of_state.sum() == len(words)
        assert (np.diff(of_state) <= 0).all()
    table = run.table("topics")
    for chain in (0, 1):
        of_chain = table[table["chain"] == chain]
        assert of_chain["topic"].tolist() == list(range(1, len(of_chain) + 1))
        assert of_chain["tokens"].tolist() == sizes[sizes["chain"] == chain]["sizes"].iloc[-1].tolist()
        assert 0 < of_chain["weight"].sum() < 1
        for name, of in [("topic_words", run.table("topic_words")), ("topic_documents", run.table("topic_documents"))]:
            assert of[of["chain"] == chain].groupby("topic")["count"].sum().tolist() == of_chain["tokens"].tolist(), (
                name
            )
    tokens = run.table("tokens")
    best = run.summary["topics_of"]["chain"]
    assert tokens["word"].tolist() == [dataset.vocabulary[w] for w in words]
    assert tokens["document"].tolist() == np.repeat(np.arange(len(starts) - 1), np.diff(starts)).tolist()
    held = tokens.groupby(["topic", "document"]).size()
    documents = run.table("topic_documents")
    documents = documents[documents["chain"] == best].set_index(["topic", "document"])["count"].sort_index()
    assert held.to_dict() == documents.to_dict()


def test_the_interval_counts_every_topic(smcmc) -> None:
    """Topics of a few tokens are listed, not outliers."""
    run = Run(run_path(smcmc("run", *SMALL, "iterations=400", "perplexity.every=0")))
    assert run.summary["n_clusters_95"] == list(answers.interval_of_trace(run.trace()))
    assert run.summary["outliers_apart"] is False


def test_summary_and_diagnosis(run: Run) -> None:
    summary = run.summary
    best = summary["topics_of"]["chain"]
    table = run.table("topics")
    table = table[table["chain"] == best]
    assert [topic["tokens"] for topic in summary["topics"]] == table["tokens"].tolist()
    assert [topic["top_words"] for topic in summary["topics"]] == [list(words) for words in table["top_words"]]
    assert summary["documents"]["tokens"] == summary["N"] == len(run.table("tokens"))
    assert len(summary["point_estimate"]["labels"]) == summary["N"]
    quantities = run.diagnostics().set_index(["quantity", "chain"])["value"]
    assert 0 < quantities["topic_similarity/chains", 1 - best] <= 1
    assert 0 < quantities["topic_similarity/truth", best] <= 1
    truth = prepare(compose(SMALL)).dataset.truth
    assert quantities["nmi/last", best] == pytest.approx(nmi(truth, run.table("tokens")["topic"]))
    # gamma and alpha0 have priors unless they are given
    assert run.trace()["gamma"].nunique() > 10
    names = {quantity for quantity, _ in quantities.index}
    assert {"rhat/gamma", "ess/alpha0", "topics_matched/truth"} <= names
    assert "rhat/concentration" not in names


def test_perplexity(run: Run) -> None:
    table = run.table("perplexity")
    held = prepare(compose(SMALL)).dataset.values.heldout
    assert table.groupby("chain")["iteration"].apply(list).tolist() == [[20, 40, 60]] * 2
    assert set(table["method"]) == {"completion"}
    assert (table["tokens"] == (~held.observed).sum()).all()
    assert np.allclose(table["perplexity"], np.exp(-table["log_lik"] / table["tokens"]))
    # better than a word drawn from the vocabulary
    assert table["perplexity"].between(1, 40).all()
    # evaluating takes no time of sampling
    timed = table.merge(run.trace(), on=["chain", "iteration"])
    assert timed["seconds_x"].tolist() == timed["seconds_y"].tolist()
    first = table["iteration"] == 20
    assert table.loc[first, "averaged"].tolist() == table.loc[first, "perplexity"].tolist()
    last = table[table["iteration"] == 60]
    told = run.summary["perplexity"]
    assert (told["perplexity"], told["averaged"]) == (last["perplexity"].tolist(), last["averaged"].tolist())
    assert told["all_chains"] <= max(told["averaged"])
    assert {"data_sha256", "config"} <= set(
        json.loads(pq.read_schema(run.path / "perplexity.parquet").metadata[b"smcmc"])
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", ["document", "word"])
def test_every_method(smcmc, method: str, by: str) -> None:
    args = [*SMALL, f"perplexity.method={method}", "perplexity.particles=3", f"data.heldout_by={by}"]
    run = Run(run_path(smcmc("run", *args)))
    table = run.table("perplexity")
    assert set(table["method"]) == {method}
    assert table[["perplexity", "averaged"]].stack().between(1, 40).all()
    assert run.summary["perplexity"]["method"] == method


@pytest.mark.slow
def test_a_budget_may_end_before_the_first_evaluation(smcmc) -> None:
    result = smcmc("run", *SMALL, "iterations=null", "budget=0.001", "perplexity.every=1000000")
    run = Run(run_path(result))
    assert run.has_table("perplexity")
    assert run.table("perplexity").empty
    assert run.summary["perplexity"] is None
    assert "held-out perplexity: no chain reached the iteration perplexity.every" in result.stderr
    assert smcmc("plot", str(run.path)).exit_code == 0


def test_an_unfinished_run_is_diagnosed(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(finish, "assemble", full)
        assert smcmc("run", *SMALL).exit_code == 1
    result = smcmc("diagnose", "results", status=0)
    assert "│ alpha0 " in result.stdout
    assert smcmc("run", *SMALL).exit_code == 0


def test_without_evaluation_there_is_no_perplexity(smcmc) -> None:
    result = smcmc("run", *TINY, "model.gamma=1", "model.alpha0=0.5")
    run = Run(run_path(result))
    assert not run.has_table("perplexity")
    assert "perplexity" not in run.summary
    assert not {"gamma", "alpha0"} & set(run.trace())
    assert run.summary["hyperparameters"]["alpha0"] == 0.5
    assert "held-out" not in result.stderr


def test_top_words_are_printed_and_the_path_comes_last(smcmc) -> None:
    result = smcmc("run", *SMALL)
    run = Run(run_path(result))
    assert len(result.stdout.splitlines()) == 1
    for topic in run.summary["topics"][:3]:
        assert " ".join(topic["top_words"]) in result.stderr
    assert "held-out perplexity (completion" in result.stderr


def test_many_tokens_are_not_listed(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "LISTED", 100)
    monkeypatch.setattr(topics, "ESTIMATED", 90)
    path = run_path(smcmc("run", *TINY, "trace.partitions=5"))
    summary = Run(path).summary
    assert not (path / "clusters.csv").exists()
    assert "labels" not in json.dumps({key: summary[key] for key in ("point_estimate", "highest_log_joint")})
    assert summary["least_expected_vi"] is None
    assert "more than 90 tokens" in summary["point_estimate"]["note"]
    assert "already finished" in smcmc("run", *TINY, "trace.partitions=5").stderr
    (path / "tokens.parquet").unlink()
    assert "already finished" not in smcmc("run", *TINY, "trace.partitions=5").stderr
    assert (path / "tokens.parquet").exists()


@pytest.mark.slow
def test_runs_are_compared(smcmc) -> None:
    for seed in (1, 2):
        run_path(smcmc("run", *TINY, f"seed={seed}"))
    run_path(smcmc("run", *TINY, "data.seed=5"))
    result = smcmc("diagnose", "results", status=0)
    rows = [line for line in result.stdout.splitlines() if line.count("results/") == 2]
    assert len(rows) == 3
    # the tokens of one pair alone are the same
    assert sum("–" in row for row in rows) == 2
    assert "topic_similarity/truth" in result.stdout


OWN = ["data=corpus", "data.path=texts", "sampler=gibbs", "chains=1", "iterations=20", "progress=none"]


@pytest.mark.slow
def test_a_folder_and_a_vocabulary_are_part_of_the_identity(smcmc) -> None:
    Path("texts").mkdir()
    for name, text in [("a", "apple pear apple plum"), ("b", "wheat rye wheat oats"), ("c", "apple rye")]:
        Path(f"texts/{name}.txt").write_text(text)
    first = run_path(smcmc("run", *OWN))
    assert "already finished" in smcmc("run", *OWN).stderr
    assert smcmc("plot", str(first)).exit_code == 0
    Path("texts/c.txt").write_text("apple wheat")
    assert run_path(smcmc("run", *OWN)) != first
    # what a picture shows must be what the run read
    changed = smcmc("plot", str(first), status=2)
    assert "data.path=texts: it was changed since the run" in changed.stderr
    counts = ["data=corpus", "data.path=counts.ldac", "data.vocabulary=words.txt", *OWN[2:]]
    Path("counts.ldac").write_text("2 0:3 1:1\n2 1:2 2:4\n")
    Path("words.txt").write_text("apple\npear\nplum\n")
    named = Run(run_path(smcmc("run", *counts)))
    assert set(named.table("topic_words")["word"]) == {"apple", "pear", "plum"}
    Path("words.txt").write_text("rye\noats\nwheat\n")
    assert run_path(smcmc("run", *counts)) != named.path


def test_one_document_cannot_show_topics(smcmc) -> None:
    Path("one").mkdir()
    Path("one/a.txt").write_text("cats eat fish and dogs eat bones\n" * 9)
    Path("two.txt").write_text("cats eat fish\ndogs eat bones\n")
    words = ["data=corpus", "iterations=20", "chains=2", "progress=none"]
    answer = " ".join(smcmc("run", *words, "data.path=one").stderr.split())
    # before the run and above the verdict
    assert answer.count("one document cannot show topics") == 3 and "next:" not in answer
    assert answer.count("one document cannot show topics; ") == 1
    assert "one document" not in smcmc("run", *words, "data.path=two.txt").stderr
    for text, limit in (
        ("cats eat\neat cats\n" * 3, "equal documents"),
        ("cats\ndogs\ncats\n", "documents of one word"),
    ):
        Path("three.txt").write_text(text)
        answer = " ".join(smcmc("run", *words, "data.path=three.txt").stderr.split())
        assert f"{limit} cannot show topics" in answer and "next:" not in answer


@pytest.mark.parametrize("model", ["gaussian", "bernoulli", "emm"])
def test_one_item_cannot_show_clusters(smcmc, model: str) -> None:
    Path("t.csv").write_text("1,0\n" if model != "emm" else "x\n")
    answer = smcmc("run", "t.csv", f"model={model}", "data.header=false", "iterations=40", "progress=none").stderr
    noun = "token" if model == "emm" else "row"
    assert f"one {noun} cannot show clusters; " in " ".join(answer.split()) and "next:" not in answer
