"""A file is enough: ``smcmc run FILE``, ``smcmc columns FILE``, ``sample(frame)``."""

import re
import shlex
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

import splitmerge_cli as sm
from splitmerge_cli import overrides, terminal
from splitmerge_cli.api.recognition import recognise, recognise_named
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.fits import candidates
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.store.read import Run

FEW = ("iterations=20", "chains=2", "progress=none")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "ROUNDS", (10, 20))


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=20), rng.normal(8.0, 1.0, 20)]
    return pd.DataFrame({"id": np.arange(1, 41), "x": x.round(3), "y": (2 * x + rng.normal(size=40)).round(3)})


TEXTS = ["the cat sat on the mat", "a dog ate the big bone", "the cat and a dog play", "you are the best of cats"]


def write(kind: str, folder: Path, frame: pd.DataFrame) -> str:
    """A file of one kind; returns its name."""
    graph = networkx.karate_club_graph()
    pairs = pd.DataFrame(list(graph.edges), columns=["source", "target"])
    files: dict[str, Any] = {
        "t.csv": lambda: frame.to_csv("t.csv", index=False),
        "a,b=c.csv": lambda: frame.to_csv("a,b=c.csv", index=False),
        "t.tsv": lambda: frame.to_csv("t.tsv", index=False, sep="\t"),
        "t.txt": lambda: frame.to_csv("t.txt", index=False, sep=" "),
        "t.csv.gz": lambda: frame.to_csv("t.csv.gz", index=False),
        "t.parquet": lambda: frame.to_parquet("t.parquet"),
        "t.feather": lambda: frame.to_feather("t.feather"),
        "t.xlsx": lambda: frame.to_excel("t.xlsx", index=False),
        "t.npy": lambda: np.save("t.npy", frame[["x", "y"]].to_numpy()),
        "e.csv": lambda: pairs.to_csv("e.csv", index=False),
        "e.parquet": lambda: pairs.to_parquet("e.parquet"),
        "e.graphml": lambda: networkx.write_graphml(graph, "e.graphml"),
        "e.edges": lambda: pairs.to_csv("e.edges", index=False, header=False, sep=" "),
        "snap.txt": lambda: Path("snap.txt").write_text(
            "# from to\n" + pairs.to_csv(index=False, header=False, sep="\t")
        ),
        "d.txt": lambda: Path("d.txt").write_text("\n".join(TEXTS)),
        "d.csv": lambda: pd.DataFrame({"text": TEXTS}).to_csv("d.csv", index=False),
        "tokens.csv": lambda: Path("tokens.csv").write_text("doc,word\n1,cat\n1,dog\n2,cat\n"),
        "d.ldac": lambda: Path("d.ldac").write_text("2 0:1 1:2\n1 1:3\n"),
        "folder": lambda: (
            Path("folder").mkdir(),
            [Path(f"folder/{i}.txt").write_text(t) for i, t in enumerate(TEXTS)],
        ),
    }
    files[kind]()
    return kind


@pytest.mark.parametrize(
    "name", ["t.csv", "a,b=c.csv", "t.tsv", "t.txt", "t.csv.gz", "t.parquet", "t.feather", "t.npy"]
)
def test_a_table_is_recognised(smcmc, tmp_path: Path, frame: pd.DataFrame, name: str) -> None:
    assert recognise(write(name, tmp_path, frame)).data == "csv"


@pytest.mark.parametrize(
    ("name", "data", "words", "model"),
    [
        *((name, "edges", "a network", "irm") for name in ("e.csv", "e.parquet", "e.graphml", "e.edges", "snap.txt")),
        *((name, "corpus", "documents", "hdp") for name in ("d.txt", "d.csv", "tokens.csv", "d.ldac", "folder")),
    ],
)
def test_networks_and_documents_are_recognised(
    smcmc, tmp_path: Path, frame: pd.DataFrame, name: str, data: str, words: str, model: str
) -> None:
    assert recognise(write(name, tmp_path, frame)).data == data
    ended = smcmc("run", name, *FEW)
    assert ended.exit_code == 0 and f"read as {words}" in ended.stderr
    assert Run(ended.stdout.split()[-1]).config["model"]["name"] == model


@pytest.mark.parametrize("name", ["e.csv", "d.csv"])
def test_a_named_model_of_tables_reads_a_table(smcmc, tmp_path: Path, frame: pd.DataFrame, name: str) -> None:
    """Pairs of names and texts are records, too."""
    ended = smcmc("run", write(name, tmp_path, frame), "model=records", *FEW)
    assert ended.exit_code == 0 and "read as" not in ended.stderr.replace("column  read as", "")
    assert Run(ended.stdout.split()[-1]).config["data"]["name"] == "csv"


@pytest.mark.parametrize("typed", [["t.csv"], ["data=t.csv"], ["data=csv", "data.path=t.csv", "model=auto"]])
def test_one_word_is_the_whole_command(smcmc, tmp_path: Path, frame: pd.DataFrame, typed: list[str]) -> None:
    """However it is typed it is one run."""
    write("t.csv", tmp_path, frame)
    ended = smcmc("run", *typed, *FEW)
    assert "model=auto: model=gaussian" in ended.stderr
    run = Run(ended.stdout.split()[-1])
    assert (run.config["data"]["path"], run.config["model"]["name"]) == ("t.csv", "gaussian")
    again = smcmc("run", "data=csv", "data.path=t.csv", "model=auto", *FEW)
    assert again.stdout == ended.stdout and "already finished" in again.stderr


def test_a_matrix_of_distances_or_correlations_is_a_table_with_a_note(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(12, 3))
    distances = np.round(np.linalg.norm(x[:, None] - x, axis=2), 3)
    names, numbers = [f"f{i}" for i in range(12)], [*range(12)]
    for values in (distances, np.round(np.corrcoef(x), 3)):
        for head, index in ((None, None), (names, None), (names, names), (numbers, numbers)):
            frame = pd.DataFrame(values, columns=head, index=index)
            frame.to_csv(tmp_path / "m.csv", header=head is not None, index=index is not None)
            assert recognise(tmp_path / "m.csv")[:2] == ("csv", "")
            notes = csv(tmp_path / "m.csv", "mixed").notes
            assert any("a symmetric matrix: if it holds distances or correlations" in note for note in notes)
    pd.DataFrame(np.round(x @ x.T + x[:, :1], 3)).to_csv(tmp_path / "m.csv", header=False, index=False)
    assert recognise(tmp_path / "m.csv")[:2] == ("csv", "")


PAIRS = [(f"p{a}", f"p{b}") for a in range(12) for b in range(a + 1, 12) if (a + b) % 3]


@pytest.mark.parametrize(
    ("pairs", "data"),
    [
        (PAIRS, "edges"),
        # again, of numbers, of other things, of a name for each row, of too few
        ([*PAIRS, PAIRS[0]], "csv"),
        ([(a[1:], b[1:]) for a, b in PAIRS], "csv"),
        ([(a, f"q{b}") for a, b in PAIRS], "csv"),
        ([(f"p{a}", f"p{a + 1}") for a in range(40)], "csv"),
        (PAIRS[:15], "csv"),
    ],
)
def test_pairs_of_the_same_names_are_edges(tmp_path: Path, pairs: list[tuple[str, str]], data: str) -> None:
    frame = pd.DataFrame(pairs, columns=["one", "other"])
    frame.to_csv(tmp_path / "p.csv", index=False)
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_excel(tmp_path / "p.xlsx", index=False)
    assert {recognise(tmp_path / f"p.{suffix}").data for suffix in ("csv", "parquet", "xlsx")} == {data}


def test_a_file_that_is_no_text_is_named(smcmc, tmp_path: Path) -> None:
    Path("texts").mkdir()
    Path("texts", "a.txt").write_bytes(b"%PDF-1.4\n\x9e\xff")
    ended = smcmc("run", "texts")
    said = " ".join(ended.stderr.split())
    assert ended.exit_code == 2 and "texts/a.txt: a PDF, whose text is to be extracted first" in said
    assert "latin-1" not in said


LONG = [
    "the cat sat on the mat and saw a bird",
    "a dog ate the big bone behind the house",
    "the cat and a dog play all day",
]
BESIDE_TEXTS: dict[str, tuple[dict[str, list[Any]], str]] = {
    "labels": ({"label": ["pets", "dogs", "pets"], "text": LONG}, "corpus"),
    "short texts": ({"pet": ["a cat of ours", "a dog", "both of them"], "text": [t[:24] for t in LONG]}, "corpus"),
    "a label and names": (
        {"label": ["pets", "dogs", "pets"], "id": ["a", "b", "c"], "text": [3 * t for t in LONG]},
        "corpus",
    ),
    "numbers and a title": (
        {"stars": [1, 5, 3], "title": LONG, "body": [5 * f"{t} " for t in LONG], "day": [7, 8, 9]},
        "corpus",
    ),
    "two alike": ({"first": LONG, "second": LONG[::-1], "stars": [1, 5, 3]}, "corpus"),
    "times": ({"at": [f"Sat, {day} Apr 2017 15:11:58 -0500" for day in (1, 8, 15)]}, "csv"),
    "a remark": ({**{f"q{j}": [1, 2, 3] for j in range(6)}, "remark": LONG}, "csv"),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".tsv"])
@pytest.mark.parametrize("name", BESIDE_TEXTS)
def test_a_table_is_read_for_its_texts_where_these_have_nearly_all_words(
    tmp_path: Path, name: str, suffix: str
) -> None:
    columns, data = BESIDE_TEXTS[name]
    table, path = pd.DataFrame({key: 20 * cells for key, cells in columns.items()}), tmp_path / f"t{suffix}"
    table.to_parquet(path) if suffix == ".parquet" else table.to_csv(
        path, index=False, sep="\t" if suffix == ".tsv" else ","
    )
    assert recognise(path).data == data


def test_texts_beside_other_columns_are_documents_unless_a_key_of_tables_is_named(smcmc, tmp_path: Path) -> None:
    columns, _ = BESIDE_TEXTS["numbers and a title"]
    pd.DataFrame({key: 20 * cells for key, cells in columns.items()}).to_csv("t.csv", index=False)
    told = " ".join(smcmc("run", "t.csv", *FEW).stderr.split())
    assert "column body is read as texts" in told and "the other columns take no part" in told
    ended = smcmc("run", "t.csv", "data.truth=stars", *FEW)
    assert "read as documents" not in ended.stderr
    assert Run(ended.stdout.split()[-1]).config["data"]["name"] == "csv"


def test_a_file_is_recognised_by_the_encoding_and_separator_that_are_named(smcmc, tmp_path: Path) -> None:
    lines = ["Überschrift|Text", *(f"{k}|{text} für {k}, {text}" for k, text in enumerate(20 * LONG))]
    Path("t.csv").write_bytes("\n".join(lines).encode("latin-1"))
    assert recognise("t.csv").data == recognise("t.csv", "nosuch").data == "csv"
    ended = smcmc("run", "t.csv", "data.encoding=latin-1", "data.separator=pipe", *FEW)
    assert Run(ended.stdout.split()[-1]).config["data"]["name"] == "corpus"
    read = sm.sample("t.csv", iterations=5, progress="none", options={"data.encoding": "latin-1"})
    assert read.run.config["model"]["name"] == "hdp"


@pytest.mark.parametrize("name", BESIDE_TEXTS)
def test_a_frame_is_read_for_its_texts_as_a_file_is(name: str) -> None:
    columns, data = BESIDE_TEXTS[name]
    frame = pd.DataFrame({key: 20 * cells for key, cells in columns.items()})

    def model_of(data: Any, **options: Any) -> str:
        return str(sm.sample(data, iterations=5, progress="none", options=options).run.config["model"]["name"])

    assert (model_of(frame) == "hdp") == (data == "corpus")
    if data == "corpus":
        assert model_of(frame[next(name for name in ("body", "text", "first") if name in frame)]) == "hdp"
        assert model_of(frame, **{"data.types": {str(frame.columns[0]): "categorical"}}) == "mixed"


def test_counts_of_words_are_documents(tmp_path: Path) -> None:
    """UCI's bag of words, which holds numbers alone."""
    (tmp_path / "docword.txt").write_text("2\n3\n3\n1 1 2\n1 2 1\n2 3 4\n")
    assert recognise(tmp_path / "docword.txt").data == "corpus"
    # commas of sentences, and a quote within one
    texts = [
        "A fire, near Hill Top, closed the road.",
        'It was, he said, "the worst" day of, say, ten.',
        "Rain, at last, fell on the hills.",
    ]
    for name in ("t.txt", "t.cor", "t"):
        (tmp_path / name).write_text("\n".join(texts))
        assert recognise(tmp_path / name).data == "corpus"


def test_sentences_without_spaces_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    for text, data in (("今日は野球の試合で投手{}が勝利し優勝を決めました。", "corpus"), ("山田{}太郎", "csv")):
        path.write_text("".join(text.format("一二三四五六七八九"[k]) + "\n" for k in range(9)))
        assert recognise(path).data == data


@pytest.mark.parametrize("head", ["names", "none"])
@pytest.mark.parametrize(("name", "end"), [("m.csv", ","), ("m.tsv", "\t"), ("m.txt", " ")])
def test_a_symmetric_matrix_with_nothing_on_its_diagonal_is_a_network(
    tmp_path: Path, name: str, end: str, head: str
) -> None:
    """As R writes an adjacency matrix without the names of its rows; all of its rows are nodes."""
    ties = nx_ties()
    path = tmp_path / name

    def write_and_recognise(values: np.ndarray) -> str:
        names = [f"V{j + 1}" for j in range(values.shape[1])]
        pd.DataFrame(values, columns=names).to_csv(path, index=False, sep=end, header=head == "names")
        return recognise(path).data

    assert (
        write_and_recognise(ties) == "edges" and len(ties) == edges(path).N and edges(path).values.sum() == ties.sum()
    )
    loop, one_way, distances = ties.copy(), ties.copy(), 1 + ties - np.eye(len(ties), dtype=int)
    loop[2, 2], one_way[0, 1] = 1, 1 - ties[0, 1]
    others = (loop, one_way, distances, ties[:, :9], ties[:4, :4])
    assert [write_and_recognise(values) for values in others] == ["csv"] * 5


def test_crosses_below_and_beside_the_same_names_are_ties(tmp_path: Path) -> None:
    ties = nx_ties()
    names = [f"n{j}" for j in range(len(ties))]
    marks = np.where(np.eye(len(ties)), "–", np.where(ties, "x", ""))
    pd.DataFrame(marks, names, names).to_excel(tmp_path / "m.xlsx")
    assert recognise(tmp_path / "m.xlsx").data == "edges" and edges(tmp_path / "m.xlsx").values.sum() == ties.sum()


def test_a_square_table_without_a_diagonal_has_the_command_of_networks(tmp_path: Path) -> None:
    one_way = np.triu(nx_ties()) * 3
    for filled, expected in ((0, 1), (1, 0)):
        values = one_way + filled * np.eye(len(one_way), dtype=int)
        pd.DataFrame(values).to_csv(tmp_path / "m.csv", header=False, index=False, sep=" ")
        notes = [note for note in csv(tmp_path / "m.csv", "mixed").notes if "data=edges" in note]
        assert len(notes) == expected
    assert edges(tmp_path / "m.csv", matrix=True, directed=True).meta["edges"] == np.count_nonzero(one_way)


def test_a_second_file_is_refused(smcmc, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        Path(name).write_text("x,y\n1,2\n3,4\n5,7\n")
    ended = smcmc("run", "a.csv", "b.csv", status=2)
    assert "b.csv: a second file" in ended.stderr and "data.other=b.csv" in ended.stderr


def nx_ties() -> np.ndarray:
    """The ties of a small network, int ``[34, 34]``."""
    return networkx.to_numpy_array(networkx.karate_club_graph(), weight=None).astype(int)


@pytest.mark.parametrize(("end", "name"), [(",", "p.csv"), (" ", "p.txt"), ("\t", "p.tsv")])
def test_a_third_column_describes_pairs_of_the_same_names(tmp_path: Path, end: str, name: str) -> None:
    path = tmp_path / name
    path.write_text("".join(f"{a}{end}{b}{end}{'+' if len(a) == len(b) else '-'}\n" for a, b in PAIRS))
    assert recognise(path).data == "edges"
    assert edges(path).meta["shown"] == {"values": "levels"}
    # a first row, which may name columns, and as many others as are needed
    path.write_text("".join(f"{a}{end}{b}\n" for a, b in PAIRS[10:31]))
    assert recognise(path).data == "edges"


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "index.csv", "t.parquet", "t.xlsx"])
def test_relations_between_the_same_names_are_layers(smcmc, tmp_path: Path, name: str) -> None:
    """Also below numbers of rows; a layer that the user names stays, and words that hardly recur are no relations."""
    rows = [(a, relation, b) for a, b in PAIRS for relation in ("likes", "knows")]
    frame = pd.DataFrame(rows, columns=["head", "relation", "tail"])
    ends = {"t.csv": ",", "t.txt": " ", "index.csv": ","}
    if name in ends:
        frame.to_csv(name, sep=ends[name], index=name == "index.csv", header=name == "index.csv")
    else:
        frame.to_parquet(name) if name == "t.parquet" else frame.to_excel(name, index=False)
    ended = smcmc("run", name, *FEW)
    assert f"12 nodes and {len(rows)} edges, undirected, layers: likes" in " ".join(ended.stderr.split())
    assert Run(ended.stdout.split()[-1]).config["model"]["name"] == "irm"
    first = 2 if name == "index.csv" else 1
    assert recognise(name).keys["data.source"] == first
    assert "layers:" not in smcmc("run", name, "data.layer=null", *FEW).stderr
    assert sm.sample(name, iterations=4, chains=1, progress="none").labels.shape[-1] == 12
    single = pd.DataFrame([(a, f"{a}-{b}", b) for a, b in PAIRS])
    single.to_csv("single.csv", index=False, header=False)
    assert recognise("single.csv").data == "csv"
    assert any("no two rows hold the same three words" in note for note in csv("single.csv", "mixed").notes)


def test_edges_among_numbers_and_times_have_the_command_of_networks(tmp_path: Path) -> None:
    rows = [(a, b, k % 5 + 1, f"2024-03-{k % 28 + 1:02d}", k * 0.5) for k, (a, b) in enumerate(PAIRS)]
    path = tmp_path / "calls.csv"
    frame = pd.DataFrame(rows, columns=["who", "whom", "count", "day", "minutes"])
    frame.to_csv(path, index=False)
    (note,) = [note for note in csv(path, "mixed").notes if "data=edges" in note]
    assert "data.weights=count data.values=count" in note
    # two columns of words that share none may describe rows
    frame["whom"] = frame["whom"].str.replace("p", "q")
    frame.to_csv(path, index=False)
    assert not any("data=edges" in note for note in csv(path, "mixed").notes)


def test_edges_below_names_without_one_for_their_numbers(tmp_path: Path) -> None:
    """As ``write.table`` of R and ``to_csv`` of pandas write a list of edges."""
    rows = ['"1" "ann" "bob" .5', '"2" "bob" "cid" 1.5', '"3" "cid" "ann" 2']
    for name, head, end in (("e.txt", '"from" "to" "weight"', " "), ("e.csv", ",from,to,weight", ",")):
        path = tmp_path / name
        path.write_text("\n".join([head, *(row.replace(" ", end) for row in rows)]) + "\n")
        assert recognise(path).data == "edges"
        assert edges(path).N == 3 and edges(path).names == ["ann", "bob", "cid"]


@pytest.mark.parametrize("columns", [2, 5])
def test_numbers_below_a_comment_are_a_table(tmp_path: Path, columns: int) -> None:
    """As numpy.savetxt writes them; two columns of numbers that are not whole are no edges."""
    rng = np.random.default_rng(2)
    np.savetxt(tmp_path / "t.txt", rng.normal(size=(9, columns)), header="x y")
    assert recognise(tmp_path / "t.txt").data == "csv"


def test_a_name_with_signs_is_a_file(smcmc, tmp_path: Path, frame: pd.DataFrame) -> None:
    write("a,b=c.csv", tmp_path, frame)
    ended = smcmc("run", "a,b=c.csv", "model=gaussian", *FEW)
    assert Run(ended.stdout.split()[-1]).config["data"]["path"] == "a,b=c.csv"


def test_a_file_that_is_not_there(smcmc) -> None:
    for typed in ("nosuch.csv", "data=nosuch.csv"):
        ended = smcmc("run", typed)
        assert ended.exit_code == 2 and "nosuch.csv: no such file" in ended.stderr
    # what is no file at all is a faulty key
    assert "expected KEY=VALUE" in smcmc("run", "nosuch").stderr


def test_columns_are_shown_and_nothing_is_made(smcmc, tmp_path: Path, frame: pd.DataFrame) -> None:
    frame["sex"] = ["f", "m", None, "m"] * 10
    frame.to_csv("t.csv", index=False)
    before = sorted(tmp_path.rglob("*"))
    ended = smcmc("columns", "t.csv")
    assert ended.exit_code == 0 and sorted(tmp_path.rglob("*")) == before
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert lines[0] == ["t.csv:", "40", "rows"] and lines[1] == ["column", "read", "as", "values", "missing"]
    assert ["sex", "binary", "f", "10,", "m", "20", "10"] in lines
    assert lines[-1] == ["next:", "smcmc", "run", "t.csv"]
    assert "column 1 ('id') is left out" in ended.stderr
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_the_command_that_columns_print_runs(smcmc, frame: pd.DataFrame) -> None:
    """Where a column is rejected the command leaves it out."""
    rng = np.random.default_rng(1)
    frame["address"] = [f"{rng.integers(99)} {'abc'[i % 3]} street {i}" for i in range(40)]
    frame.loc[39, "address"] = frame.loc[38, "address"]
    frame.to_csv("t.csv", index=False)
    ended = smcmc("columns", "t.csv")
    assert ended.exit_code == 0 and "address" in ended.stderr
    command = ended.stdout.splitlines()[-1].removeprefix("next: smcmc ").replace("'", "").split()
    assert smcmc(*command, *FEW).exit_code == 0


@pytest.mark.parametrize("names", [["net weight"], ["weight", "load"]])
def test_a_refused_table_is_answered_in_short_lines_with_commands_that_run(
    smcmc, frame, monkeypatch, names: list[str]
) -> None:
    monkeypatch.setattr(terminal, "WIDTH", 80)
    frame["label"] = ["a", "b"] * 20
    for name in names:
        frame[name] = [f"{i} kg" if i else "0" for i in (*range(39), 38)]
    frame.to_csv("t.csv", index=False)
    ended = smcmc("run", "t.csv", "data.truth=label")
    lines = ended.stderr.splitlines()
    assert ended.exit_code == 2 and max(map(len, lines)) <= 80 and lines[0].startswith("smcmc: t.csv: row 2, column 5")
    commands = [line.partition(": smcmc ")[2] for line in lines if line.startswith(("next: ", "or: "))]
    assert len(commands) == 3 - len(names)
    for command in commands:
        assert smcmc("columns", *shlex.split(command)[1:]).exit_code == 0
    assert smcmc(*shlex.split(commands[-1]), "model.covariance=diag", *FEW).exit_code == 0


def test_a_table_of_names_alone_is_answered_in_short_lines(smcmc, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "WIDTH", 80)
    streets = [f"{i} {'abc'[i % 3]} Street" for i in (*range(39), 38)]
    pd.DataFrame({"name": [f"Ann Hill {i}" for i in range(40)], "address": streets}).to_csv("t.csv", index=False)
    ended = smcmc("run", "t.csv")
    *lines, command = ended.stderr.splitlines()
    assert ended.exit_code == 2 and lines[0] == "smcmc: t.csv: no column is left for the data"
    assert max(map(len, lines)) <= 80 and "column 2 ('address'): 39 different words in 40 rows, more than 20" in lines
    assert command == "next: smcmc run t.csv model=records"
    assert smcmc("columns", *shlex.split(command.removeprefix("next: smcmc run "))).exit_code == 0


def test_a_table_of_pairs_alone_is_answered_with_a_command_that_reads_them_as_edges(smcmc) -> None:
    pd.DataFrame([(f"n{i}", f"n{i + 1}") for i in range(60)], columns=["a", "b"]).to_csv("t.csv", index=False)
    ended = smcmc("run", "t.csv")
    command = ended.stderr.splitlines()[-1]
    assert ended.exit_code == 2 and command == "next: smcmc run t.csv data=edges"
    assert smcmc(*shlex.split(command)[2:], *FEW).exit_code == 0


def test_one_column_of_categories_shows_no_clusters(smcmc) -> None:
    pd.DataFrame({"kind": 15 * [*"abca"], "none": 60 * [None], "nothing": 60 * [None]}).to_csv("t.csv", index=False)
    ended = smcmc("run", "t.csv", *FEW)
    lines = " ".join(ended.stderr.split())
    assert "column 2 ('none'), column 3 ('nothing') are left out: they hold no value" in lines
    assert "one column of categories cannot show clusters; " in lines
    assert lines.count("one column of categories is all that is read") == 2 and "next:" not in lines
    # columns with many words beside it may be the ends of edges
    draw = np.random.default_rng(0).integers
    flights = [(f"a{i}", "xyz"[draw(3)], f"a{(i + j) % 120 + 80}") for i in range(120) for j in (1, 2, 5)]
    pd.DataFrame(flights, columns=["home", "line", "away"]).to_csv("flights.csv", index=False)
    reason, command = smcmc("run", "flights.csv", "iterations=400", "progress=none").stderr.splitlines()[-2:]
    assert reason == "to read the file in another way:" and "data.target=away data.layer=line" in command
    assert smcmc(*shlex.split(command)[2:], *FEW).exit_code == 0
    # a column of numbers may
    pd.DataFrame({"u": np.random.default_rng(0).normal(size=60).round(2)}).to_csv("u.csv", index=False)
    assert "categories" not in smcmc("run", "u.csv", *FEW).stderr


def test_a_frame_is_enough(frame: pd.DataFrame, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"iterations": 20, "chains": 2, "progress": "none"}
    found = sm.sample(frame, **keys)
    assert found.run.config["model"]["name"] == "gaussian"
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert sm.sample(tmp_path / "t.csv", **keys).run.config["model"]["name"] == "gaussian"
    (tmp_path / "d.txt").write_text("\n".join(TEXTS))
    assert sm.sample(tmp_path / "d.txt", **keys).run.config["model"]["name"] == "hdp"


@pytest.mark.parametrize("words", [["-"], ["data.path=-"], ["data=csv", "data.path=-"]])
def test_commands_for_standard_input_run(smcmc, frame: pd.DataFrame, words: list[str]) -> None:
    text = frame.to_csv(index=False)
    ended = smcmc("run", *words, "model=gaussian", *FEW, input=text, status=0)
    ended = smcmc("run", *words, *FEW, input=text)
    if words[0] == "data=csv":  # without a model: the commands that cluster it
        assert ended.exit_code == 2
        commands = re.findall(r"^(?:next|or): smcmc (.+)$", ended.stderr, re.MULTILINE)
        assert commands[0].startswith("run - ")
        for command in commands:
            ended = smcmc(*shlex.split(command), input=text, status=0)
    assert ended.exit_code == 0, ended.stderr


@pytest.mark.parametrize("name", ["p.csv", "a,b=c.csv", "it's one.csv", "-"])
def test_commands_for_records_run(smcmc, name: str) -> None:
    """The notes that columns look like names print a command, with the file or with standard input."""
    text = "name,address,n\n" + "".join(
        f"{'Jon' if i % 3 else 'John'} Smith{chr(97 + i % 20)},{i % 7} Oak{chr(97 + i % 9)} St,{i}\n" for i in range(60)
    )
    if name != "-":
        Path(name).write_text(text)
    command = f"smcmc run {overrides.path_word(name)} model=records"
    ended = smcmc("run", "data=csv", f"data.path={overrides.write(name, overrides.PATH)}", input=text)
    assert command in " ".join(ended.stderr.split()), ended.stderr
    ended = smcmc(*shlex.split(command)[1:], *FEW, input=text, status=0)


@pytest.mark.parametrize("name", ["calls.csv", "a,b=c.csv", "it's one.csv", "-"])
@pytest.mark.parametrize("head", ["caller,callee,n", "first side,other side,n", "userId,movieId,n", "from_id,to_id,n"])
def test_commands_for_networks_run(smcmc, name: str, head: str) -> None:
    """A table that may be a list of edges, by the names of its columns or by its pairs of words."""
    pairs = [(i, j) for i in range(8) for j in range(8) if i != j and i // 4 == j // 4]
    text = f"{head}\n" + "".join(f"{'abcdefgh'[i]} x,{'abcdefgh'[j]} x,{i % 3}\n" for i, j in pairs)
    if name != "-":
        Path(name).write_text(text)
    ended = smcmc("run", "data=csv", f"data.path={overrides.write(name, overrides.PATH)}", input=text)
    found = re.search(r"smcmc (run [^:]*?data=edges(?: data\.\S+)*)", " ".join(ended.stderr.split()))
    assert found and overrides.path_word(name) in found[1], ended.stderr
    assert ("data.bipartite" in found[1]) == head.startswith("user")
    ended = smcmc(*shlex.split(found[1]), *FEW, input=text, status=0)


@pytest.mark.parametrize("names", [["caller", "callee", "n"], ["a b", "c d", "much"]])
@pytest.mark.parametrize("layers", [False, True])
def test_calls_for_networks_run(names: list[str], layers: bool) -> None:
    """The note on a data frame has a call in place of a command."""
    pairs = [(i, j) for i in range(8) for j in range(8) if i != j and i // 4 == j // 4]
    third = ["xy"[i % 2] if layers else str(1.5 * (i % 3)) for i, _ in pairs]
    columns = [[f"p{i}" for i, _ in pairs], [f"p{j}" for _, j in pairs], third]
    data = pd.DataFrame(dict(zip(names, columns, strict=True)))
    if not layers:
        data = data.astype({names[2]: float})
    elif names[0] != "caller":  # without names that are known a layer stands between the ends
        data = data[[names[0], names[2], names[1]]]
    call = next(note for note in from_object(data, "mixed").notes if "edges" in note).partition("sample(")[2]
    found = eval(f"sm.sample({call[:-1]}, iterations=20, chains=2, progress='none')", {"sm": sm, "data": data})
    assert found.dataset.N == 8 and "directed" in found.dataset.notes[0]


def test_keys_say_what_a_file_is(tmp_path: Path) -> None:
    """On the command line and in Python."""
    rows = [f"{number % 2},{' '.join(f'w{(number * k) % 31}' for k in range(1, 15))}" for number in range(40)]
    (tmp_path / "news.csv").write_text("\n".join(["label,text", *rows]))
    (tmp_path / "table.csv").write_text("\n".join(["a,b,c", *(f"{n},{n * n % 7},{n % 3}" for n in range(40))]))

    def read(name: str, **named: object) -> str:
        return recognise_named(tmp_path / name, {key.replace("__", "."): value for key, value in named.items()}).data

    assert read("news.csv") == read("news.csv", data__encoding="utf-8", model="auto") == "corpus"
    assert {read("news.csv", data__truth="label"), read("news.csv", model="mixed"), read("table.csv")} == {"csv"}
    assert read("news.csv", model="hdp") == "corpus"
    assert read("table.csv", data__directed=True) == read("table.csv", data__source="a") == "edges"
    assert read("table.csv", data__directed=True, data="csv") == "csv"
    with pytest.raises(DataError, match="no column is left"):
        sm.sample("auto", tmp_path / "news.csv", progress="none", options={"data.truth": "label"})


def test_what_is_read_is_said_as_it_is(smcmc, tmp_path: Path) -> None:
    """A folder is nothing else, and a text has lines."""
    (tmp_path / "texts").mkdir()
    for number in range(4):
        (tmp_path / "texts" / f"{number}.txt").write_text(f"heart flow bone number{number} here of it all\n")
    (tmp_path / "lines.txt").write_text("".join(path.read_text() for path in sorted((tmp_path / "texts").iterdir())))
    told = smcmc("run", "texts", *FEW).stderr
    assert "note: texts: read as documents (a folder of texts)\n" in told
    told = " ".join(smcmc("run", "lines.txt", *FEW).stderr.split())
    assert "read as documents (a text in each line); data=csv data.path=lines.txt as a table" in told


@pytest.mark.parametrize(
    ("rows", "data"), [("a,b\nb,c\n", "edges"), ("some words of one text\nother words of two texts\n", "corpus")]
)
def test_columns_of_a_file_that_is_read_as_no_table(smcmc, rows: str, data: str) -> None:
    Path("t.csv").write_text(rows)
    ended = smcmc("columns", "t.csv", f"data={data}", status=0)
    assert "t.csv: " in ended.stdout and f"next: smcmc run t.csv data={data}" in ended.stdout


def test_a_key_in_quotes_stays_on_its_line() -> None:
    key = "'data.missing=[no answer,not stated,unknown]'"
    for words in range(12):
        folded = terminal.fold(f"{'word ' * words}before {key} reads what may be a code as missing in all columns", 80)
        assert any(key in line for line in folded.splitlines())
