"""Corpora: what they hold and are checked for, what is held out, generated ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from readings import texts_of
from scipy.sparse import csr_array, save_npz

from splitmerge_cli.data import downloads
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.downloads import SETS
from splitmerge_cli.kinds.documents import published as corpus_published
from splitmerge_cli.kinds.documents.corpus import Corpus, Heldout, Tokens, dataset, tokens_of
from splitmerge_cli.kinds.documents.generated import nested_topics, synthetic_documents
from splitmerge_cli.kinds.documents.readers.words import keep_words, split
from splitmerge_cli.received import DataError

WORDS = ["a", "b", "c"]


def tokens(*documents: list[int]) -> Tokens:
    starts = np.cumsum([0, *map(len, documents)])
    return Tokens(np.array([w for document in documents for w in document], dtype=np.int32), starts)


def word_lists(of: Tokens) -> list[list[int]]:
    return [part.tolist() for part in np.split(of.words, of.starts[1:-1])] if of.J else []


def f64(*shape: int) -> np.ndarray:
    return np.zeros(shape)


# what they hold


@pytest.mark.parametrize(
    ("words", "starts", "message"),
    [
        ([0, 1], [0, 1], "starts of documents; expected them ascending from 0 to 2"),
        ([0, 1], [1, 2], "starts of documents"),
        ([0, 1], [0, 2, 1, 2], "starts of documents"),
        ([0, 1], [], "starts of documents"),
        ([0, -1], [0, 2], "token 1: word -1; expected at least 0"),
        ([[0, 1]], [0, 1], r"words: int32 of shape \(1, 2\); expected int32 \[any\]"),
    ],
)
def test_tokens_that_are_none(words: Any, starts: list[int], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Tokens(np.array(words, dtype=np.int32), np.array(starts, dtype=np.int64))


def test_types_are_exact() -> None:
    with pytest.raises(DataError, match=r"^words: int64 of shape \(1,\); expected int32"):
        Tokens(np.zeros(1, dtype=np.int64), np.array([0, 1]))  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^words: list; expected int32"):
        Tokens([0], np.array([0, 1]))  # type: ignore[arg-type]


TWO = tokens([0, 1], [2])
NONE, SOME = np.zeros(3, dtype=bool), np.array([True, False, True])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"V": 2}, "token 2: word 2; expected 0 to 1"),
        ({"V": 0}, "0 words; expected a vocabulary of 1 to"),
        ({"documents": ["x"]}, "1 names of documents; expected 2"),
        ({"labels": np.array([0], dtype=np.int32)}, r"labels: int32 of shape \(1,\); expected int32 \[2\]"),
        ({"labels": np.array([0, 1])}, "labels: int64"),
        ({"labels": np.array([0, 2], dtype=np.int32), "categories": WORDS[:2]}, "categories 0 to 2; expected 0 to 1"),
        ({"categories": WORDS}, "names of categories without"),
        ({"topics": f64(4, 3)}, "only true topics or only mixtures"),
        ({"topics": f64(4, 2), "mixtures": f64(2, 4)}, r"topics: .*; expected float64 \[any, 3\]"),
        ({"topics": f64(4, 3), "mixtures": f64(2, 3)}, r"mixtures: .*; expected float64 \[2, 4\]"),
        ({"heldout": Heldout("word", tokens([0, 1, 2]), NONE)}, "held-out words of 1 documents; expected 2"),
        ({"heldout": Heldout("document", tokens([0, 1, 3]), SOME)}, "token 2: word 3; expected 0 to 2"),
    ],
)
def test_corpora_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Corpus(**{"tokens": TWO, "V": 3} | options)


@pytest.mark.parametrize(
    ("by", "observed", "names", "message"),
    [
        ("line", NONE, None, "held out by line; expected one of document, word"),
        ("word", SOME, None, "held out by word; expected no token observed, and no names"),
        ("word", NONE, ["x", "y"], "held out by word; expected no token observed, and no names"),
        ("document", SOME[:2], None, r"observed: bool of shape \(2,\); expected bool \[3\]"),
        ("document", SOME, ["x"], "1 names of held-out documents; expected 2"),
    ],
)
def test_held_out_parts_that_are_none(by: str, observed: np.ndarray, names: list[str] | None, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Heldout(by, TWO, observed, names)


def test_a_data_set_of_documents() -> None:
    made = dataset("d", Corpus(tokens([0, 1], [], [2]), 3), WORDS, np.array([0, 1, 1], dtype=np.int32))
    assert (made.kind.name, made.N, made.values.shape) == ("documents", 3, (3,))
    sizes = made.meta["documents"]
    assert (sizes["documents"], sizes["empty"], sizes["words"], sizes["tokens"]) == (3, 1, 3, 3)
    alone = dataset("one", Corpus(tokens([0]), 1), ["a"])
    assert alone.N == 1 and alone.truth is None


@pytest.mark.parametrize(
    ("values", "vocabulary", "truth", "message"),
    [
        (Corpus(tokens([], []), 3), WORDS, None, "d: documents: 2, tokens: none; expected at least one token"),
        (Corpus(tokens(), 3), WORDS, None, "d: documents: 0, tokens: none; expected at least one token"),
        (Corpus(TWO, 3), WORDS[:2], None, "d: words of the vocabulary: 2; expected 3"),
        (Corpus(TWO, 3), None, None, "d: words of the vocabulary: none; expected 3"),
        (Corpus(TWO, 3), WORDS, np.zeros(2, dtype=np.int32), "d: 2 true labels for 3 items"),
        (np.zeros(3), WORDS, None, "d: ndarray; expected a Corpus"),
    ],
)
def test_data_sets_that_are_none(values: Any, vocabulary: Any, truth: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Dataset("d", "documents", values, truth, vocabulary=vocabulary)


# what is held out


def whole(*documents: list[int]) -> Dataset:
    of = tokens(*documents)
    n, J = len(of.words), of.J
    corpus = Corpus(
        of,
        10,
        documents=[f"d{j}" for j in range(J)],
        labels=np.arange(J, dtype=np.int32) % 3,
        topics=f64(2, 10),
        mixtures=np.tile(np.arange(J, dtype=float)[:, None], 2),
    )
    truth = np.arange(n, dtype=np.int32)
    return dataset("whole", corpus, [str(w) for w in range(10)], truth, {"path": "x"}, {"made": 1})


def random_documents(J: int = 50, seed: int = 3) -> Dataset:
    rng = np.random.default_rng(seed)
    return whole(*(rng.integers(10, size=rng.integers(0, 12)).tolist() for _ in range(J)))


def test_documents_are_held_out() -> None:
    given = random_documents()
    made = split(given, 0.3, split_seed=4)
    corpus, held = made.values, made.values.heldout
    assert (corpus.tokens.J, held.tokens.J, held.by) == (35, 15, "document")
    documents = dict(
        zip(corpus.documents + held.documents, word_lists(corpus.tokens) + word_lists(held.tokens), strict=True)
    )
    assert documents == dict(zip(given.values.documents, word_lists(given.values.tokens), strict=True))
    # the order of the documents stays, and what belongs to them
    numbers = [int(name[1:]) for name in corpus.documents]
    assert numbers == sorted(numbers)
    assert corpus.labels.tolist() == [j % 3 for j in numbers] and corpus.mixtures[:, 0].tolist() == numbers
    assert np.array_equal(given.values.tokens.words[made.truth], corpus.tokens.words)
    seen = [int(part.sum()) for part in np.split(held.observed, held.tokens.starts[1:-1])]
    assert seen == [(n + 1) // 2 for n in held.tokens.lengths]
    sizes = made.meta["documents"]
    assert sizes["heldout_documents"] == 15 and sizes["heldout_tokens"] == len(held.tokens.words)
    assert sizes["predicted_tokens"] == len(held.tokens.words) - sum(seen)
    assert sizes["tokens"] + sizes["heldout_tokens"] == given.N


def test_words_are_held_out() -> None:
    given = random_documents()
    made = split(given, 0.25, "word", 4)
    corpus, held = made.values, made.values.heldout
    assert (corpus.tokens.J, held.tokens.J, held.by, held.documents) == (50, 50, "word", None)
    assert not held.observed.any() and corpus.documents == given.values.documents
    parts = zip(word_lists(given.values.tokens), word_lists(corpus.tokens), word_lists(held.tokens), strict=True)
    for document, kept, out in parts:
        assert sorted(kept + out) == sorted(document)
        assert kept or not document
        assert abs(len(out) - len(document) / 4) < 1
    # all documents together come to the share, but for documents that would have kept none
    assert abs(len(held.tokens.words) - given.N / 4) < 3
    assert np.array_equal(given.values.tokens.words[made.truth], corpus.tokens.words)


@pytest.mark.slow
def test_every_token_is_as_likely_to_be_held_out() -> None:
    given = whole([0, 1, 2, 3], [4, 5, 6], [7, 8])
    out = np.zeros(10)
    for seed in range(3000):
        out[split(given, 0.3, "word", seed).values.heldout.tokens.words] += 1
    # no document could have lost its last token: the shares are exact
    np.testing.assert_allclose(out[:9] / 3000, 0.3, atol=5 * np.sqrt(0.3 * 0.7 / 3000))
    out[:] = 0
    for seed in range(3000):
        out[split(given, 0.3, "document", seed).values.heldout.tokens.words] += 1
    np.testing.assert_allclose(out[:9] / 3000, 1 / 3, atol=5 * np.sqrt(2 / 9 / 3000))


def test_a_word_alone_stays() -> None:
    made = split(whole([0], [1], [2, 3], []), 0.9, "word")
    assert made.values.tokens.lengths.tolist() == [1, 1, 1, 0]
    assert made.values.heldout.tokens.lengths.tolist() == [0, 0, 1, 0]


def test_a_document_of_one_token_leaves_nothing_to_predict() -> None:
    for seed in range(20):
        made = split(whole([0], [1, 2], [3, 4]), 0.7, split_seed=seed)
        held = made.values.heldout
        assert made.meta["documents"]["predicted_tokens"] == (held.tokens.lengths == 2).sum() >= 1


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        ([[0, 1]] * 4, (1.0,), "data.heldout=1.0: expected a share, at least 0 and less than 1"),
        ([[0, 1]] * 4, (-0.1,), "data.heldout=-0.1: expected a share"),
        ([[0, 1]] * 4, (float("nan"),), "data.heldout=nan: expected a share"),
        ([[0, 1]] * 4, (".2",), "data.heldout=.2: expected a share"),
        ([[0, 1]] * 4, (0.2, "line"), "data.heldout_by=line: expected one of document, word"),
        ([[0, 1]] * 4, (0.2, "word", -1), "data.split_seed=-1: expected a whole number, at least 0"),
        ([[0, 1]] * 4, (0.2, "word", 1.5), "data.split_seed=1.5: expected a whole number"),
        ([[0, 1]] * 4, (0.9,), "data.heldout=0.9: 4 of the 4 documents of whole; expected at least one to hold out"),
        ([[0, 1]] * 4, (0.1,), "data.heldout=0.1: 0 of the 4 documents of whole; expected at least one to hold out"),
        ([[0, 1]], (0.5,), "data.heldout=0.5: 1 of the 1 documents of whole; expected at least one to hold out and"),
        ([[0], [1]], (0.5,), "data.heldout=0.5: no held-out document of whole has two tokens"),
        ([[0], [1]], (0.5, "word"), "data.heldout=0.5: none of the 2 tokens of whole"),
        ([[0, 1, 2]], (1e-9, "word", 1), "data.heldout=1e-09: none of the 3 tokens of whole"),
    ],
)
def test_splits_that_cannot_be(documents: list[list[int]], options: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        split(whole(*documents), *options)


def test_no_token_is_left_to_train_with() -> None:
    failures = set()
    for seed in range(20):
        try:
            split(whole([0, 1], []), 0.5, split_seed=seed)
        except DataError as error:
            failures.add(str(error).split(" of ")[0])
    assert failures == {"data.heldout=0.5: no token", "data.heldout=0.5: no held-out document"}


# generated corpora


def test_nested_topics() -> None:
    made = nested_topics(4)
    corpus = made.values
    assert corpus.tokens.lengths.tolist() == [1000] * 4 and corpus.V == 10 == len(made.vocabulary or [])
    assert corpus.topics.shape == (10, 10)
    for t, topic in enumerate(corpus.topics):
        assert topic.tolist() == [0.0] * t + [1 / (10 - t)] * (10 - t)
    assert made.truth is not None and made.truth.dtype == np.int32
    assert (corpus.tokens.words >= made.truth).all()
    # tokens of a topic are uniform on its words
    first = np.bincount(corpus.tokens.words[made.truth == 0], minlength=10)
    assert (np.abs(first - first.mean()) < 5 * np.sqrt(first.mean())).all()
    shares = np.stack([np.bincount(made.truth[1000 * j :][:1000], minlength=10) / 1000 for j in range(4)])
    np.testing.assert_allclose(shares, corpus.mixtures, atol=5 * np.sqrt(0.25 / 1000))
    # topics of a document are not in order
    assert np.abs(np.corrcoef(made.truth[:1000], np.arange(1000))[0, 1]) < 0.15


def test_the_seeds_of_data_and_split() -> None:
    one, same, other = (nested_topics(5, 20, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.values.tokens.words, same.values.tokens.words)
    assert not np.array_equal(one.values.tokens.words, other.values.tokens.words)
    held = [nested_topics(40, 20, heldout=0.5, split_seed=s).values.tokens.words for s in (0, 0, 1)]
    assert np.array_equal(held[0], held[1]) and not np.array_equal(held[0], held[2])


def test_synthetic_documents() -> None:
    made = synthetic_documents(300, length=40, topics=5, words=30, heldout=0.1)
    corpus = made.values
    assert corpus.tokens.J == 270 and corpus.heldout.tokens.J == 30 and corpus.mixtures.shape == (270, 5)
    assert corpus.tokens.lengths.std() > 3
    assert abs(corpus.tokens.lengths.mean() - 40) < 5 * np.sqrt(40 / 270)
    np.testing.assert_allclose(corpus.topics.sum(axis=1), 1)
    assert made.truth is not None and made.truth.max() == 4
    for t in range(5):
        of = corpus.tokens.words[made.truth == t]
        found = np.bincount(of, minlength=30) / len(of)
        np.testing.assert_allclose(found, corpus.topics[t], atol=5 * np.sqrt(0.25 / len(of)))
    fixed = synthetic_documents(7, length=40, lengths="fixed")
    assert fixed.values.tokens.lengths.tolist() == [40] * 7
    sparse = synthetic_documents(100, length=0.5)
    assert sparse.meta["documents"]["empty"] == (sparse.values.tokens.lengths == 0).sum() > 0


def test_weights_of_a_dirichlet_process() -> None:
    equal = synthetic_documents(10, topics=4).meta["weights"]
    assert equal.tolist() == [0.25] * 4
    drawn = np.stack([synthetic_documents(2, topics=30, gamma=2.0, seed=s).meta["weights"] for s in range(300)])
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    # E[first] = 1/(1 + gamma)
    assert abs(drawn[:, 0].mean() - 1 / 3) < 5 * drawn[:, 0].std() / np.sqrt(300)


# ---- Published sets as documents, and which of their words are kept.

COUNTS = np.array([[2, 0, 1, 0], [0, 0, 3, 1], [0, 0, 0, 0], [1, 0, 1, 0]], dtype=np.int32)
PUBLISHED_WORDS = ["heart", "lung", "The", "flow"]


def published_whole() -> Dataset:
    corpus = Corpus(tokens_of(csr_array(COUNTS)), 4, documents=list("wxyz"))
    return dataset("d", corpus, PUBLISHED_WORDS, meta={"a": 1}, options={"b": 2})


# words


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
        ({"stop_words": "german.txt"}, "data.stop_words=german.txt: no such file; expected none, english or another"),
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
        keep_words(published_whole(), **options)


# published sets


@pytest.fixture
def put(publish: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Put four small documents in the place of a published set."""

    def put(name: str, counts: np.ndarray = COUNTS, rows: int = 4) -> Path:
        save_npz(tmp_path / "counts.npz", csr_array(counts))
        lines = ["doc,name,ohsumed_file,label,group,category", "0,f0,f0,B,B,B", "1,f1,f1,A,A,A"]
        lines += ["2,f2,f2,B,B,B", "3,f3,f3,C,C,C"]
        contents = {"counts.npz": (tmp_path / "counts.npz").read_bytes(), "docs.csv.gz": "\n".join(lines[: rows + 1])}
        return publish(
            name, {file.name: contents.get(file.name, "\n".join(PUBLISHED_WORDS)) for file in SETS[name].files}
        )

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
    kept = [word for word in PUBLISHED_WORDS if name != "ohsumed23_documents" or word != "lung"]
    assert (made.name, made.kind.name, made.N, made.vocabulary) == (name, "documents", 9, kept)
    assert texts_of(made) == [["heart", "heart", "The"], ["The"] * 3 + ["flow"], [], ["heart", "The"]]
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
    assert texts_of(made) == [["heart", "heart"], [], ["heart"]]
    assert made.values.documents == ["f0", "f2", "f3"] and made.values.labels.tolist() == [0, 0, 2]
    assert corpus_published.nips_abstracts(longest=4).N == 9
    for longest in (0, 1.5, "x", True):
        with pytest.raises(DataError, match=rf"^data.longest={longest}: expected a whole number from 1 to"):
            corpus_published.nips_abstracts(longest=longest)  # type: ignore[arg-type]


def test_an_absent_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path))
    for name, read in READERS.items():
        with pytest.raises(DataError, match=r"counts.npz: no such file; expected it in the folder .* SMCMC_DATA"):
            read()
        assert str(downloads.place(name)) in downloads.describe(name)
    assert "incomplete and out of date" in downloads.describe("ohsumed23_documents")
    assert "incomplete and out of date" in str(corpus_published.ohsumed23_documents.__doc__)
