"""Published sets of documents, as tokens with labels, or as points whose words are chosen and their counts weighed: the
sets of Rana et al. 2013, whole papers of NIPS, OHSUMED and PubMed. Options are in ``conf/data/NAME.yaml``. A
`DataError`: an option out of range; no document is left; a file is absent, not the published one, or holds something
else.

The terms of `ohsumed23` (TREC-9, for the National Library of Medicine): the references are "available for
experimentation, restricted to the following conditions: 1. The data will not be used in any non-experimental clinical,
library, or other setting. 2. Any human users of the data will explicitly be told that the data is incomplete and
out-of-date." So told: these data are incomplete and out of date.

`pubmed` is the large data set of Luo & Shrivastava 2018 (section 4.2.2): 8,200,000 documents over 141,043 words, of the
UCI collection "Bag of Words". It has no labels: those by which they count NMI and accuracy are not public.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data import downloads
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables import separators, text
from splitmerge_cli.data.tables.columns import codes, index
from splitmerge_cli.data.values import BLOCK, LARGEST, notes_entry, require, require_size
from splitmerge_cli.extras import sparse
from splitmerge_cli.kinds.documents.corpus import Corpus, dataset, tokens_of
from splitmerge_cli.kinds.documents.readers import bag_of_words
from splitmerge_cli.kinds.documents.readers import words as choice
from splitmerge_cli.received import DataError

WEIGHTS = ("tfidf", "log", "counts", "binary")


@dataclass(frozen=True)
class Documents:
    """Counts of words in documents, the words, and where known the true categories and the names of the documents.

    The counts are a csr_array, int32 ``[documents, words]``, of 1 or more, indices of a row ascending, perhaps mapped
    from files; the categories int32 ``[documents]``, numbered by first appearance.
    """

    counts: "sparse.csr_array"
    vocabulary: list[str]
    truth: NDArray[np.int32] | None = None
    categories: list[str] | None = None
    names: list[str] | None = None


def keep_common(documents: Documents, min_documents: int = 1) -> Documents:
    """Keep the words that occur in at least `min_documents` documents; a `DataError` for no whole number of at least
    1, or where no word is left.
    """
    require_size("data.min_documents", min_documents)
    counts = documents.counts
    n_documents = np.zeros(counts.shape[1], dtype=np.int64)
    for start in range(0, counts.nnz, BLOCK):
        n_documents += np.bincount(counts.indices[start : start + BLOCK], minlength=len(n_documents))
    columns = np.flatnonzero(n_documents >= min_documents)
    if not len(columns):
        most = int(n_documents.max())
        expected = f"at most {most}, the documents of the most common word" if most else "a word in some document"
        raise DataError(f"data.min_documents={min_documents}: no word is left; expected {expected}")
    return replace(documents, counts=counts[:, columns], vocabulary=[documents.vocabulary[j] for j in columns])


def weigh(counts: "sparse.csr_array", weights: str = "tfidf") -> "sparse.csr_array":
    """Weights of the words in every document, in place of their counts (int32 ``[documents, words]``): float64,
    entries where the counts have them.

    ``tfidf``: count (1 + log((1 + documents) / (1 + documents with the word))), every document then scaled to length 1
    (one without a word stays 0). ``log``: log(1 + count). ``counts``: as they are. ``binary``: 1. Raises a `DataError`
    for another name.
    """
    require(weights in WEIGHTS, "data.weights", weights, f"one of {', '.join(WEIGHTS)}")
    x = sparse.csr_array((counts.data.astype(np.float64), counts.indices, counts.indptr), shape=counts.shape)
    if weights == "log":
        np.log1p(x.data, out=x.data)
    elif weights == "binary":
        x.data[:] = 1.0
    elif weights == "tfidf":
        from sklearn.feature_extraction.text import TfidfTransformer

        x = sparse.csr_array(TfidfTransformer().fit(x).transform(x, copy=False))
        x.sort_indices()
    return x


def points(
    name: str, documents: Documents, weights: str = "tfidf", min_documents: int = 1, terms: str | None = None
) -> Dataset:
    """Documents as sparse points, a column for each word that is kept (`keep_common`), weighed (`weigh`); their `terms`
    of use are kept with them.

    ``meta["documents"]`` holds the number of documents, of those without a word (empty), of words that are kept and of
    the whole vocabulary, of entries and tokens that are kept, and the options.
    """
    words = keep_common(documents, min_documents)
    x = weigh(words.counts, weights)
    sizes: dict[str, Any] = {
        "documents": x.shape[0],
        "empty": int((np.diff(x.indptr) == 0).sum()),
        "words": x.shape[1],
        "vocabulary": len(documents.vocabulary),
        "entries": int(x.nnz),
        "tokens": int(words.counts.data.sum(dtype=np.int64)),
        "weights": weights,
        "min_documents": min_documents,
    }
    meta: dict[str, Any] = {"documents": sizes | ({"terms": terms} if terms else {})}
    meta |= {"truth": "no labels are published"} if words.truth is None else {"categories": words.categories}
    return Dataset(name, "points", x, words.truth, columns=words.vocabulary, names=words.names, meta=meta)


def news20_w100(
    N: int | None = None, heldout: float = 0.0, heldout_by: str = "document", split_seed: int = 0
) -> Dataset:
    """16,242 postings of 20 newsgroups in four groups, as presence of 100 chosen words (Rana et al. 2013).

    A word is a token of a document or it is not: the data are 0 and 1. The documents are in the order of their groups,
    which are the labels.
    """
    return _read("20news_w100", N, (heldout, heldout_by, split_seed))


def nips_abstracts(
    N: int | None = None,
    stop_words: str | Path | None = None,
    min_documents: int = 0,
    max_share: float = 1.0,
    longest: int | None = None,
    heldout: float = 0.0,
    heldout_by: str = "document",
    split_seed: int = 0,
) -> Dataset:
    """1,740 abstracts of NIPS 0 to 12 (1987 to 1999), 269,965 tokens of 12,728 words (Rana et al. 2013).

    Stop words, single letters and the noise of scanning are in. The paper tells of "1392 abstracts consisting of 263K
    words": 1,392 is 80% of 1,740, so it is likely the training part (``data.heldout=.2``), but those 1,392 have some
    216,000 tokens; it says neither how it counts words nor which it leaves out. 60 abstracts run on into the paper. The
    abstracts are in the order of years; their labels are the subjects under which the conference had the papers.
    """
    good = longest is None or (isinstance(longest, int) and not isinstance(longest, bool) and 1 <= longest <= LARGEST)
    require(good, "data.longest", longest, f"a whole number from 1 to {LARGEST}, or null")
    words = stop_words, min_documents, max_share
    return _read("nips_abstracts", N, (heldout, heldout_by, split_seed), words, {"longest": longest})


def nips0_12(
    N: int | None = None,
    stop_words: str | Path | None = None,
    min_documents: int = 0,
    max_share: float = 1.0,
    heldout: float = 0.0,
    heldout_by: str = "document",
    split_seed: int = 0,
) -> Dataset:
    """1,740 whole papers of NIPS 0 to 12 (1987 to 1999), 2,301,375 tokens of 13,649 words, stop words left out.

    The papers are in the order of years; their labels are the subjects under which the conference had them.
    """
    return _read("nips0_12", N, (heldout, heldout_by, split_seed), (stop_words, min_documents, max_share))


def ohsumed23_documents(
    N: int | None = None,
    min_documents: int = 1,
    max_share: float = 1.0,
    heldout: float = 0.0,
    heldout_by: str = "document",
    split_seed: int = 0,
) -> Dataset:
    """7,400 abstracts of MEDLINE from 1991 in 23 categories of diseases, 705,346 tokens of the words of PubMed.

    For experimentation only: these data are incomplete and out of date. The labels are the categories. A
    `min_documents` of 1 leaves out words of PubMed that none of the documents has.
    """
    held, meta = (heldout, heldout_by, split_seed), {"terms": OUT_OF_DATE}
    return _read("ohsumed23_documents", N, held, (None, min_documents, max_share), meta=meta)


def _read(
    name: str,
    N: int | None,
    held: tuple[float, str, int],
    words: tuple[str | Path | None, int, float] | None = None,
    options: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
) -> Dataset:
    """Read a set as tokens; `words` and what is `held` out as `keep_words` and `split` take them."""
    if words is not None:
        choice.require_words(*words)
    choice.require_split(*held)
    documents = read_published(name, N)
    if options and (longest := options["longest"]) is not None:
        lengths = np.asarray(documents.counts.sum(axis=1)).ravel()
        short, least = np.flatnonzero(lengths <= longest), int(lengths.min())
        require(len(short) > 0, "data.longest", longest, f"at least {least}, the tokens of the shortest document")
        assert documents.truth is not None and documents.names is not None
        names, truth = [documents.names[j] for j in short], documents.truth[short]
        documents = replace(documents, counts=documents.counts[short], truth=truth, names=names)
    vocabulary, labels = documents.vocabulary, (documents.names, documents.truth, documents.categories)
    corpus = Corpus(tokens_of(documents.counts), len(vocabulary), *labels)
    whole = dataset(name, corpus, vocabulary, meta=meta, options=options)
    return choice.split(whole if words is None else choice.keep_words(whole, *words), *held)


OUT_OF_DATE = "for experimentation only; these data are incomplete and out of date"
COLUMNS = {
    "20news_w100": ("group", None),
    "nips_abstracts": ("label", "name"),
    "nips0_12": ("label", "name"),
    "ohsumed23": ("category", "ohsumed_file"),
    "ohsumed23_documents": ("category", "ohsumed_file"),
}
"""Columns of each set's docs.csv.gz with the categories and the names of the documents."""


def read_published(name: str, N: int | None) -> Documents:
    """The counts of a set of documents, the first N, with vocabulary, categories and names of the documents. Its folder
    holds counts.npz, docs.csv.gz and the vocabulary."""
    category, names = COLUMNS[name]
    counts = choice.read_counts(downloads.locate(name, "counts.npz"))
    documents = counts.shape[0]
    good = N is None or (isinstance(N, int) and 1 <= N <= documents)
    require(good, "N", N, f"a whole number from 1 to {documents}, the documents, or null")
    words = next(file.name for file in downloads.SETS[name].files if file.name.startswith("vocab"))
    vocabulary = choice.read_vocabulary(downloads.locate(name, words), counts.shape[1])
    path = downloads.locate(name, "docs.csv.gz")
    table = text.Text(path, separators.read_text(path), ",")
    table.take_header()
    table.parse([{}])
    truth, categories = codes(table, index(table, f"data={name}", category), "a category")
    if len(truth) != documents:
        raise DataError(f"{path}: {len(truth)} documents; expected {documents}, as in counts.npz")
    truth = truth[:N]
    named = None if names is None else table.columns[index(table, f"data={name}", names)].to_pylist()[:N]
    return Documents(counts[:N], vocabulary, truth, categories[: int(truth.max()) + 1], named)


def ohsumed23(N: int | None = None, weights: str = "tfidf", min_documents: int = 1) -> Dataset:
    """Abstracts of MEDLINE from 1991 in 23 categories of diseases, as weighted words: a stand-in for PubMed.

    For experimentation only: these data are incomplete and out of date.

    ``tfidf``: count times smooth inverse document frequency, every document scaled to length 1. A `min_documents` of 1
    leaves out words that none of the documents has. Sparse; the truth is the category. ``meta["documents"]`` says what
    was kept.
    """
    return points("ohsumed23", read_published("ohsumed23", N), weights, min_documents, OUT_OF_DATE)


COUNTS = "docword.pubmed.txt.gz"
VOCABULARY = "vocab.pubmed.txt"


def read_pubmed(documents: int | None = None) -> Documents:
    """The counts of the first so many documents of `pubmed` with their vocabulary, mapped from arrays next to the text.

    The first reading converts the text into these arrays (some 4 GB); from then on the first documents cost what they
    hold. A `DataError`, too, where the arrays cannot be written.
    """
    if documents is not None:
        require_size("data.documents", documents)
    path = downloads.locate("pubmed", COUNTS, bag_of_words.digest)
    words = downloads.locate("pubmed", VOCABULARY)
    counts = bag_of_words.read(path, documents)
    return Documents(counts, choice.read_vocabulary(words, counts.shape[1]))


def pubmed(documents: int | None = 100_000, weights: str = "tfidf", min_documents: int = 1) -> Dataset:
    """Abstracts of PubMed as weighted words; smcmc data fetch pubmed downloads them (1.9 GB).

    The first reading converts the text into arrays next to it (about 4 GB), which takes minutes; from then on the first
    documents cost what they hold. There is no truth: no labels are public.

    `weights` and `min_documents` as of `ohsumed23`. Sparse. ``meta["documents"]`` says what was kept. The notes say
    that the files are unverified. A `DataError`, too, where the arrays cannot be written.
    """
    dataset = points("pubmed", read_pubmed(documents), weights, min_documents)
    notes = downloads.verification_notes("pubmed", bag_of_words.digest)
    return replace(dataset, meta=dataset.meta | notes_entry(notes))
