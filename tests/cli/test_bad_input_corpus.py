"""Bad documents end with exit status 2 and one message; odd ones that have an answer run."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array, save_npz

from splitmerge_cli.data.corpora import corpus
from splitmerge_cli.runs.recorders import topics

RUN = ["run", "sampler=gibbs", "iterations=5"]
TABLE = "d.csv", "a,x\na,y\nb,x\nb,x\n"
REFUSED_FILES = [
    (("d.csv", ""), [], "d.csv: the file is empty; expected at least one row"),
    (("d.csv", "a,x\nb\n"), [], "d.csv: row 2: cells: 1; expected 2, as in row 1"),
    (("d.csv", "a,x,1\na,y,-1\n"), [], "d.csv: row 2, column 3: '-1'; expected a count"),
    (("d.csv", "a,x,1\na,y,nan\n"), [], "d.csv: row 2, column 3: 'nan'; expected a"),
    (("d.csv", "a,x,0\n"), [], "d.csv: documents: 1, tokens: none; expected at least one token"),
    (TABLE, ["data.vocabulary=v.txt"], "v.txt: no such file; expected the words, one a line"),
    (TABLE, ["data.columns=[doc,word]"], "data.columns=doc: d.csv has no such column"),
    (TABLE, ["data.format=lda"], "data.format=lda: expected one of auto, tokens, npz, ldac, uci, text"),
    (TABLE, ["data.encoding=utf-9"], "data.encoding=utf-9: expected the name of an encoding"),
    (TABLE, ["data.encoding=idna"], "data.encoding=idna: expected the name of an encoding"),
    (TABLE, ["data.vocabulary=."], ".: a folder; expected the words, one a line"),
    (
        ("d.csv", "doc,word,n\na,x,1000000000000\n"),
        [],
        "d.csv: row 2, column 3 ('n'): '1000000000000'; expected a count",
    ),
    (TABLE, ["data.min_documents=-1"], "data.min_documents=-1: expected a whole number, at least 0"),
    (TABLE, ["data.max_share=.1"], "data.max_share=0.1: no word of d is left"),
    (TABLE, ["data.heldout=1"], "data.heldout=1.0: expected a share, at least 0 and less than 1"),
    (TABLE, ["data.heldout=.9"], "data.heldout=0.9: 2 of the 2 documents of d"),
    (TABLE, ["data.heldout_by=line"], "data.heldout_by=line: expected one of document, word"),
    (TABLE, ["data.stop_word=english"], "data.stop_word: no such key"),
    (TABLE, ["N=3"], "N=3: expected a whole number from 1 to 2, the documents of d.csv, or null"),
    (
        TABLE,
        ["data=csv", "model=hdp"],
        "data.kind=documents: data=csv reads tables; expected data=corpus data.path=",
    ),
    (("d.ldac", "1 0:1\n2 1:1 2:x\n"), [], "d.ldac: row 2, field 3: '2:x'; expected WORD:COUNT"),
    (("d.txt", "\0\0\0"), [], "d.txt: row 1: byte 0x00; expected text in utf-8 (data.encoding)"),
    (("d.txt", "a\tb\n"), [], "d.txt: the first rows may be cells of a table or texts with tabs"),
]
REFUSED = [
    (["data=corpus"], "data.path: a value is needed"),
    (["data=corpus", "data.path="], "data.path=: expected a table of document and word"),
    (["data=docs200", "perplexity=5"], "perplexity=5: expected perplexity.every=VALUE or perplexity.method=VALUE or"),
    (["data=corpus", "data.path=none"], "none: no such file; expected a table of document and word"),
    (["data=groups4", "data.length=0"], "data.length=0: expected a whole number from 1"),
    (["data=synthetic_documents", "data.lengths=all"], "data.lengths=all: expected one of poisson, fixed"),
    (["data=nips_abstracts", "data.longest=0"], "data.longest=0: expected a whole number from 1"),
    (["data=20news_w100"], "data=20news_w100: "),
    (["data=ohsumed23_documents", "model=hdp"], "data=ohsumed23_documents: "),
    (["data=docs200", "model=emm"], "model=emm with data=docs200: reads tokens, not documents; expected model=hdp"),
]


@pytest.mark.parametrize(("file", "args", "named"), REFUSED_FILES, ids=[named for _, _, named in REFUSED_FILES])
def test_a_file_of_documents(check_rejection, file: tuple[str, str], args: list[str], named: str) -> None:
    Path(file[0]).write_text(file[1])
    check_rejection([*RUN, "data=corpus", f"data.path={file[0]}", *args], named)


@pytest.mark.parametrize(("args", "named"), REFUSED, ids=[" ".join(args) for args, _ in REFUSED])
def test_other_documents(check_rejection, args: list[str], named: str) -> None:
    check_rejection([*RUN, *args], named)


@pytest.mark.parametrize(("name", "text"), [("d.csv", "doc,word,n\na,x,9\na,y,2\n"), ("d.ldac", "2 0:9 1:2\n")])
def test_more_tokens_than_memory_holds(check_rejection, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    Path(name).write_text(text)
    monkeypatch.setattr(corpus, "memory", lambda: 10 * corpus.TOKEN_BYTES)
    check_rejection(
        [*RUN, "data=corpus", f"data.path={name}"], f"{name}: 11 tokens; expected at most 10, which this machine's"
    )
    check_rejection([*RUN, "data=docs200", "N=7"], "N=7, data.length=100: 700 tokens; expected at most 10")
    check_rejection([*RUN, "data=synthetic_documents", "N=7"], "N=7, data.length=100: 700 tokens; expected at most 10")


def test_more_chains_than_memory_holds(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "memory", lambda: 30 * corpus.TOKEN_BYTES)
    Path("d.csv").write_text("doc,word,n\na,x,9\na,y,2\n")
    args = ["run", "data=corpus", "data.path=d.csv", "sampler=gibbs", "iterations=5", "chains=3"]
    result = smcmc(*args, "workers=3")
    assert result.exit_code == 2
    assert "workers=3: 3 chains at the same time, of 11 tokens each, need more memory" in result.stderr
    assert not Path("results").exists()
    assert smcmc(*args, "workers=2").exit_code == 0


def test_a_long_word_after_short_ones(smcmc) -> None:
    Path("d.csv").write_text(f"doc,word\na,x\na,{'y' * 3_000_000}\na,z\n")
    result = smcmc("run", "data=corpus", "data.path=d.csv", "sampler=gibbs", "iterations=5", "chains=1")
    assert result.exit_code == 0, result.output
    assert "yyy…" in result.stderr and len(result.stderr) < 10_000


def test_counts_without_words(check_rejection) -> None:
    save_npz("c.npz", csr_array(np.array([[1, 2]])))
    check_rejection(
        [*RUN, "data=corpus", "data.path=c.npz"], "data.vocabulary=null: c.npz: expected a text file with its 2 words"
    )


@pytest.mark.parametrize(
    ("name", "text", "args", "N"),
    [
        ("d.csv", "a,x\n", [], 1),
        ("d.csv", "a,x\na,x\nb,x\n", [], 3),
        ("d.csv", "a,x\na,y\n", [], 2),
        ("d.ldac", "0\n2 0:1 1:1\n0\n", [], 2),
        ("d.txt", "one two three\n\nfour two five\n", ["data.heldout=.3", "data.heldout_by=word"], 4),
    ],
)
def test_small_and_empty_documents_run(smcmc, name: str, text: str, args: list[str], N: int) -> None:
    Path(name).write_text(text)
    args = ["data=corpus", f"data.path={name}", *args, "sampler=gibbs", "iterations=20", "chains=2"]
    result = smcmc("run", *args, "trace.partitions=1")
    assert result.exit_code == 0, result.output
    run = Path(result.stdout.strip().splitlines()[-1])
    labels = np.stack(pq.read_table(run / "partitions.parquet")["labels"].to_pylist())
    assert labels.shape[1] == N and (labels[:, 0] == 0).all()
    assert np.isfinite(pq.read_table(run / "trace.parquet")["log_joint"].to_numpy()).all()


def test_a_folder_of_texts_runs(smcmc) -> None:
    Path("texts").mkdir()
    for j, text in enumerate(["one two two", "", "two three"]):
        Path(f"texts/{j}.txt").write_text(text)
    result = smcmc("run", "data=corpus", "data.path=texts", "sampler=gibbs", "iterations=5", "chains=1")
    assert result.exit_code == 0, result.output
