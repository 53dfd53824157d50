"""Networks and documents that memory does not hold end with exit status 2; odd ones that have an answer run.

What else is refused is in ``tests/unit/test_refused*.py``.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array, save_npz

from cli.calls import run_path
from splitmerge_cli.kinds.documents import corpus
from splitmerge_cli.kinds.documents import recorder as topics

RUN = ["run", "sampler=gibbs", "iterations=5"]
EDGES = ["data=edges", "data.path=e.csv"]
WORDS = ["data=corpus", "data.path=d.csv"]


@pytest.mark.parametrize(("name", "text"), [("d.csv", "doc,word,n\na,x,9\na,y,2\n"), ("d.ldac", "2 0:9 1:2\n")])
def test_more_tokens_than_memory_holds(check_rejection, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    Path(name).write_text(text)
    monkeypatch.setattr(corpus, "memory", lambda: 10 * corpus.TOKEN_BYTES)
    check_rejection(
        [*RUN, "data=corpus", f"data.path={name}"], f"{name}: 11 tokens; expected at most 10, which this machine's"
    )
    for generated in ("docs200", "synthetic_documents"):
        check_rejection([*RUN, f"data={generated}", "N=7"], "N=7, data.length=100: 700 tokens; expected at most 10")


def test_more_chains_than_memory_holds(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "memory", lambda: 30 * corpus.TOKEN_BYTES)
    Path("d.csv").write_text("doc,word,n\na,x,9\na,y,2\n")
    result = smcmc(*RUN, *WORDS, "chains=3", "workers=3")
    assert result.exit_code == 2
    assert "workers=3: 3 chains at the same time, of 11 tokens each, need more memory" in result.stderr
    assert not Path("results").exists()
    assert smcmc(*RUN, *WORDS, "chains=3", "workers=2").exit_code == 0


def test_a_long_word_after_short_ones(smcmc) -> None:
    Path("d.csv").write_text(f"doc,word\na,x\na,{'y' * 3_000_000}\na,z\n")
    result = smcmc(*RUN, *WORDS, "chains=1")
    assert result.exit_code == 0, result.output
    assert "yyy…" in result.stderr and len(result.stderr) < 10_000


def test_counts_without_words(check_rejection) -> None:
    save_npz("c.npz", csr_array(np.array([[1, 2]])))
    check_rejection(
        [*RUN, "data=corpus", "data.path=c.npz"], "data.vocabulary=null: c.npz: expected a text file with its 2 words"
    )


NETWORKS = [
    ("edges", "e.csv", "a,a\n", ["data.nodes=1"], 1),
    ("edges", "e.csv", "source,target\n", ["data.nodes=4"], 4),
    ("edges", "e.csv", "New York,Boston\nBoston,New York\nBoston,Boston\nNew York,Boston\n", ["data.nodes=3"], 3),
    ("edges", "e.csv", "1,2\n", [], 2),
]
DOCUMENTS = [
    ("corpus", "d.csv", "a,x\n", [], 1),
    ("corpus", "d.csv", "a,x\na,x\nb,x\n", [], 3),
    ("corpus", "d.csv", "a,x\na,y\n", [], 2),
    ("corpus", "d.ldac", "0\n2 0:1 1:1\n0\n", [], 2),
    ("corpus", "d.txt", "one two three\n\nfour two five\n", ["data.heldout=.3", "data.heldout_by=word"], 4),
]
SAMPLERS = ["gibbs", "sdds", "ss", "rm", "rgsm", "sams", "triadic", "birth_death"]


@pytest.mark.parametrize(
    ("sampler", "data", "name", "text", "args", "N"),
    [(sampler, *row) for sampler in SAMPLERS for row in NETWORKS] + [("gibbs", *row) for row in DOCUMENTS],
)
def test_small_and_empty_data_run(
    smcmc, sampler: str, data: str, name: str, text: str, args: list[str], N: int
) -> None:
    Path(name).write_text(text)
    args = [f"sampler={sampler}", "iterations=20", "chains=2", "trace.partitions=1", f"data={data}", *args]
    run = run_path(smcmc("run", *args, f"data.path={name}"))
    labels = np.stack(pq.read_table(run / "partitions.parquet")["labels"].to_pylist())
    assert labels.shape[1] == N and (labels[:, 0] == 0).all()
    assert np.isfinite(pq.read_table(run / "trace.parquet")["log_joint"].to_numpy()).all()


def test_truth_from_a_list_of_nodes(smcmc) -> None:
    Path("e.csv").write_text("a,b\nb,c\na,c\nx,y\ny,z\nx,z\n")
    Path("n.csv").write_text("id,side\nx,1\ny,1\nz,1\na,2\nb,2\nc,2\n")
    args = [*EDGES, "data.nodes=n.csv", "data.truth=side", "init=truth", "sampler=gibbs", "iterations=50"]
    run = run_path(smcmc("run", *args))
    assert len(json.loads((run / "summary.json").read_text())["point_estimate"]["labels"]) == 6
    trace = pq.read_table(run / "trace.parquet").to_pandas()
    assert (trace.loc[trace["iteration"] == 0, "ari"] == 1).all()


def test_a_folder_of_texts_runs(smcmc) -> None:
    Path("texts").mkdir()
    for j, text in enumerate(["one two two", "", "two three"]):
        Path(f"texts/{j}.txt").write_text(text)
    run_path(smcmc(*RUN, "data=corpus", "data.path=texts", "chains=1"))


@pytest.mark.slow
def test_data_list_knows_the_networks(smcmc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SMCMC_DATA", str(tmp_path))
    lines = {line.split()[0]: line for line in smcmc("data", "list").stdout.splitlines()}
    for name, items in (("usair97", "332"), ("caltech36", "769"), ("nips234", "234"), ("hagmann998", "998")):
        assert f" graph        {items} " in lines[name] and " absent " in lines[name]
        told = smcmc("data", "info", name).stdout
        assert "SHA-256" in told and f"data={name}" in told and "data.scale=1.0" in told
        result = smcmc("data", "fetch", name)
        assert result.exit_code == 2 and "cannot be downloaded" in result.stderr
    assert "graph" in lines["network"] and "34" in lines["networkx"] and "nodes of the file" in lines["edges"]
    assert "nothing to fetch" in smcmc("data", "fetch", "networkx").stdout
