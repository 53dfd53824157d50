"""Published sets of documents as counts of words, and the points that `ohsumed23` makes.

The terms of `ohsumed23` (TREC-9, for the National Library of Medicine): the references are "available for
experimentation, restricted to the following conditions: 1. The data will not be used in any non-experimental clinical,
library, or other setting. 2. Any human users of the data will explicitly be told that the data is incomplete and
out-of-date." So told: these data are incomplete and out of date.
"""

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.published import sets
from splitmerge_cli.data.tables.columns import codes, index
from splitmerge_cli.data.tables.encoded import read_text
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import require
from splitmerge_cli.kinds.documents.readers.counts import Documents, points, read_counts, read_vocabulary
from splitmerge_cli.received import DataError

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
    """The counts of a set of documents, the first N, with vocabulary, categories and names of the documents.

    Its folder holds counts.npz, docs.csv.gz and the vocabulary. Raises a `DataError` where N is out of range, or a
    file is absent or not the published one.
    """
    category, names = COLUMNS[name]
    counts = read_counts(sets.locate(name, "counts.npz"))
    documents = counts.shape[0]
    good = N is None or (isinstance(N, int) and 1 <= N <= documents)
    require(good, "N", N, f"a whole number from 1 to {documents}, the documents, or null")
    words = next(file.name for file in sets.SETS[name].files if file.name.startswith("vocab"))
    vocabulary = read_vocabulary(sets.locate(name, words), counts.shape[1])
    path = sets.locate(name, "docs.csv.gz")
    table = Text(path, read_text(path), ",")
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

    Parameters
    ----------
    N : int, optional
        Take the first N documents; all 7,400 by default.
    weights : {"tfidf", "log", "counts", "binary"}
        Weight of a word in a document. ``tfidf``: count times smooth inverse document frequency, every document scaled
        to length 1. ``log``: log(1 + count). ``counts``: the count. ``binary``: 1.
    min_documents : int
        A word is a column if at least so many of the documents have it: 1 leaves out words that none of them has.

    Returns
    -------
    Dataset
        Kind ``points``, sparse; the truth is the category. ``meta["documents"]`` says what was kept.

    Raises
    ------
    DataError
        An option out of range; a file is absent or not the published one.
    """
    return points("ohsumed23", read_published("ohsumed23", N), weights, min_documents, OUT_OF_DATE)
