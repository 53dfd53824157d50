"""The abstracts of PubMed as bags of words: the large data set of Luo & Shrivastava 2018 (section 4.2.2).

8,200,000 documents over 141,043 words, of the UCI collection "Bag of Words". It has no labels: those by which Luo &
Shrivastava 2018 count NMI and accuracy are not public.
"""

from dataclasses import replace

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.published import sets
from splitmerge_cli.data.values import notes_entry, require_size
from splitmerge_cli.kinds.documents.readers import bag_of_words
from splitmerge_cli.kinds.documents.readers.counts import Documents, points, read_vocabulary

COUNTS = "docword.pubmed.txt.gz"
VOCABULARY = "vocab.pubmed.txt"


def read_pubmed(documents: int | None = None) -> Documents:
    """The counts of the first so many documents of `pubmed` with their vocabulary, mapped from arrays next to the text.

    The first reading converts the text into these arrays (some 4 GB); from then on the first documents cost what they
    hold. Raises a `DataError` where `documents` is out of range, a file is absent, not the one that was fetched, or
    holds something else, or the arrays cannot be written.
    """
    if documents is not None:
        require_size("data.documents", documents)
    path = sets.locate("pubmed", COUNTS, bag_of_words.digest)
    words = sets.locate("pubmed", VOCABULARY)
    counts = bag_of_words.read(path, documents)
    return Documents(counts, read_vocabulary(words, counts.shape[1]))


def pubmed(documents: int | None = 100_000, weights: str = "tfidf", min_documents: int = 1) -> Dataset:
    """Abstracts of PubMed as weighted words; smcmc data fetch pubmed downloads them (1.9 GB).

    The first reading converts the text into arrays next to it (about 4 GB), which takes minutes; from then on the first
    documents cost what they hold. There is no truth: no labels are public.

    Parameters
    ----------
    documents : int, optional
        Take the first so many documents; None: all 8.2 million.
    weights : {"tfidf", "log", "counts", "binary"}
        Weight of a word in a document. ``tfidf``: count times smooth inverse document frequency, every document scaled
        to length 1. ``log``: log(1 + count). ``counts``: the count. ``binary``: 1.
    min_documents : int
        A word is a column if at least so many of the documents have it: 1 leaves out words that none of them has.

    Returns
    -------
    Dataset
        Kind ``points``, sparse, without a truth. ``meta["documents"]`` says what was kept. Its notes say that the files
        are unverified.

    Raises
    ------
    DataError
        An option out of range; a file is absent, not the one that was fetched, or holds something else; the arrays
        cannot be written.
    """
    dataset = points("pubmed", read_pubmed(documents), weights, min_documents)
    notes = sets.verification_notes("pubmed", bag_of_words.digest)
    return replace(dataset, meta=dataset.meta | notes_entry(notes))
