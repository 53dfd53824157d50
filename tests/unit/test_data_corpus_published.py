"""Published sets as documents, and which of their words are kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.published import sets
from splitmerge_cli.data.published.sets import SETS
from splitmerge_cli.kinds.documents import published as corpus_published
from splitmerge_cli.kinds.documents.corpus import Corpus, dataset, tokens_of
from splitmerge_cli.kinds.documents.readers.words import keep_words
from splitmerge_cli.received import DataError

COUNTS = np.array([[2, 0, 1, 0], [0, 0, 3, 1], [0, 0, 0, 0], [1, 0, 1, 0]], dtype=np.int32)
WORDS = ["heart", "lung", "The", "flow"]


def whole() -> Dataset:
    corpus = Corpus(tokens_of(csr_array(COUNTS)), 4, documents=list("wxyz"))
    return dataset("d", corpus, WORDS, meta={"a": 1}, options={"b": 2})


def table(of: Dataset) -> list[list[str]]:
    words = np.array(of.vocabulary)[of.values.tokens.words]
    return [part.tolist() for part in np.split(words, of.values.tokens.starts[1:-1])]


# words


@pytest.mark.parametrize(
    ("options", "kept", "left_out"),
    [
        ({}, WORDS, (0, 0)),
        ({"min_documents": 1}, ["heart", "The", "flow"], (1, 0)),
        ({"min_documents": 2}, ["heart", "The"], (2, 1)),
        ({"max_share": 0.5}, ["heart", "lung", "flow"], (1, 5)),
        ({"max_share": 0.25, "min_documents": 1}, ["flow"], (3, 8)),
        ({"stop_words": "english"}, ["heart", "lung", "flow"], (1, 5)),
    ],
)
def test_words_that_are_kept(options: dict[str, Any], kept: list[str], left_out: tuple[int, int]) -> None:
    made = keep_words(whole(), **options)
    assert (made.vocabulary, made.values.V) == (kept, len(kept))
    assert table(made) == [[word for word in document if word in kept] for document in table(whole())]
    assert tuple(made.meta["left_out"].values()) == left_out and made.meta["a"] == 1
    everything = {"b": 2, "stop_words": None, "min_documents": 0, "max_share": 1.0}
    assert made.meta["documents"]["options"] == everything | options
    assert made.meta["documents"]["empty"] == sum(not document for document in table(made))
    assert made.values.documents == list("wxyz")


def test_documents_with_a_word_in_any_order() -> None:
    rng = np.random.default_rng(0)
    given = tokens_of(csr_array(rng.poisson(0.3, size=(40, 15)).astype(np.int32)))
    order = np.lexsort((rng.random(len(given.words)), given.documents()))
    shuffled = Corpus(type(given)(given.words[order], given.starts), 15)
    words = [str(w) for w in range(15)]
    for least in range(20):
        one, other = (
            keep_words(dataset("d", corpus, words), min_documents=least) for corpus in (Corpus(given, 15), shuffled)
        )
        assert one.vocabulary == other.vocabulary
        assert np.array_equal(np.bincount(one.values.tokens.words), np.bincount(other.values.tokens.words))
        if one.values.V < 5:
            break


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_documents": -1}, "data.min_documents=-1: expected a whole number, at least 0"),
        ({"min_documents": 1.5}, "data.min_documents=1.5: expected a whole number"),
        ({"max_share": 0}, "data.max_share=0: expected a share, greater than 0 and at most 1"),
        ({"max_share": 1.5}, "data.max_share=1.5: expected a share"),
        ({"max_share": float("nan")}, "data.max_share=nan: expected a share"),
        ({"max_share": "all"}, "data.max_share=all: expected a share"),
        ({"stop_words": "german"}, "data.stop_words=german: no such file; expected none, english, auto or a file"),
        (
            {"min_documents": 4},
            "data.stop_words=null, data.min_documents=4, data.max_share=1.0: no word of d is left; expected one at "
            "least of the 3 words that the 4 documents have",
        ),
        ({"max_share": 0.1}, "data.stop_words=null, data.min_documents=0, data.max_share=0.1: no word of d is left"),
    ],
)
def test_no_words(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        keep_words(whole(), **options)


# published sets


@pytest.fixture
def put(publish: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Put four small documents in the place of a published set."""

    def put(name: str, counts: np.ndarray = COUNTS, rows: int = 4) -> Path:
        save_npz(tmp_path / "counts.npz", csr_array(counts))
        lines = ["doc,name,ohsumed_file,label,group,category", "0,f0,f0,B,B,B", "1,f1,f1,A,A,A"]
        lines += ["2,f2,f2,B,B,B", "3,f3,f3,C,C,C"]
        contents = {"counts.npz": (tmp_path / "counts.npz").read_bytes(), "docs.csv.gz": "\n".join(lines[: rows + 1])}
        return publish(name, {file.name: contents.get(file.name, "\n".join(WORDS)) for file in SETS[name].files})

    return put


READERS = {
    "20news_w100": corpus_published.news20_w100,
    "nips_abstracts": corpus_published.nips_abstracts,
    "nips0_12": corpus_published.nips0_12,
    "ohsumed23_documents": corpus_published.ohsumed23_documents,
}


@pytest.mark.parametrize("name", READERS)
def test_published_documents(put: Callable[..., Path], name: str) -> None:
    assert put(name).name == name.removesuffix("_documents")
    made = READERS[name]()
    kept = [word for word in WORDS if name != "ohsumed23_documents" or word != "lung"]
    assert (made.name, made.kind.name, made.N, made.vocabulary) == (name, "documents", 9, kept)
    assert table(made) == [["heart", "heart", "The"], ["The"] * 3 + ["flow"], [], ["heart", "The"]]
    assert made.values.labels.tolist() == [0, 1, 0, 2] and made.values.categories == ["B", "A", "C"]
    assert made.values.documents == (None if name == "20news_w100" else ["f0", "f1", "f2", "f3"])
    assert made.truth is None and made.values.topics is None
    few = READERS[name](N=2)
    assert few.values.tokens.J == 2 and few.values.categories == ["B", "A"]
    held = READERS[name](heldout=0.5, heldout_by="word").values.heldout
    assert held.tokens.J == 4 and len(held.tokens.words) in (4, 5)
    for N in (0, 5, 1.5):
        with pytest.raises(DataError, match=rf"^N={N}: expected a whole number from 1 to 4, the documents, or null"):
            READERS[name](N=N)
    with pytest.raises(DataError, match=r"^data.heldout=1: expected a share"):
        READERS[name](heldout=1)


def test_long_abstracts(put: Callable[..., Path]) -> None:
    put("nips_abstracts")
    made = corpus_published.nips_abstracts(longest=3, stop_words="english")
    assert table(made) == [["heart", "heart"], [], ["heart"]]
    assert made.values.documents == ["f0", "f2", "f3"] and made.values.labels.tolist() == [0, 0, 2]
    assert corpus_published.nips_abstracts(longest=4).N == 9
    for longest in (0, 1.5, "x", True):
        with pytest.raises(DataError, match=rf"^data.longest={longest}: expected a whole number from 1 to"):
            corpus_published.nips_abstracts(longest=longest)  # type: ignore[arg-type]


def test_no_abstract_is_short_enough(put: Callable[..., Path]) -> None:
    put("nips_abstracts", COUNTS + 1)
    with pytest.raises(DataError, match=r"^data.longest=3: expected at least 4, the tokens of the shortest document"):
        corpus_published.nips_abstracts(longest=3)


def test_the_numbers_of_documents_must_agree(put: Callable[..., Path]) -> None:
    put("nips0_12", rows=3)
    with pytest.raises(DataError, match=r"docs.csv.gz: 3 documents; expected 4, as in counts.npz"):
        corpus_published.nips0_12()


def test_an_absent_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sets.VARIABLE, str(tmp_path))
    for name, read in READERS.items():
        with pytest.raises(DataError, match=r"counts.npz: no such file; expected it in the folder .* SMCMC_DATA"):
            read()
        assert str(sets.place(name)) in sets.describe(name)
    assert "incomplete and out of date" in sets.describe("ohsumed23_documents")
    assert "incomplete and out of date" in str(corpus_published.ohsumed23_documents.__doc__)


@pytest.mark.parametrize(
    ("name", "J", "V", "N", "categories"),
    [
        ("20news_w100", 16_242, 100, 65_451, 4),
        ("nips_abstracts", 1740, 12_728, 269_965, 48),
        ("nips0_12", 1740, 13_649, 2_301_375, 48),
        ("ohsumed23_documents", 7400, 31_627, 705_346, 23),
    ],
)
def test_the_published_documents(name: str, J: int, V: int, N: int, categories: int) -> None:
    if not sets.present(name):
        pytest.skip(f"SMCMC_DATA holds no {name}")
    made = READERS[name]()
    assert (made.values.tokens.J, made.values.V, made.N, len(made.values.categories)) == (J, V, N, categories)
    assert made.meta["documents"]["empty"] == 0 and str(J) == SETS[name].N
