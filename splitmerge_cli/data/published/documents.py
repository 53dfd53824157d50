"""Published sets of documents, as tokens: those of Rana et al. 2013, whole papers of the conference, and OHSUMED."""

from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli.data.corpora.corpus import Corpus, dataset, tokens_of
from splitmerge_cli.data.corpora.counts import Documents
from splitmerge_cli.data.corpora.split import require_split, split
from splitmerge_cli.data.corpora.words import keep_words, require_words
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.published.counts import OUT_OF_DATE, read_ohsumed23, read_published
from splitmerge_cli.data.values import LARGEST, require

NEWS = 16_242
NIPS = 1740
"""Number of papers, and of abstracts."""


def news20_w100(
    N: int | None = None, heldout: float = 0.0, heldout_by: str = "document", split_seed: int = 0
) -> Dataset:
    """16,242 postings of 20 newsgroups in four groups, as presence of 100 chosen words (Rana et al. 2013).

    A word is a token of a document or it is not: the data are 0 and 1.

    Parameters
    ----------
    N : int, optional
        Take the first N documents, which are in the order of their groups; all by default.
    heldout, heldout_by, split_seed
        What is held out, as `splitmerge_cli.data.corpora.split.split` takes it.

    Returns
    -------
    Dataset
        Kind ``documents``; the labels are the groups.

    Raises
    ------
    DataError
        An option out of range; a file is absent or not the published one.
    """
    require_split(heldout, heldout_by, split_seed)
    whole = _whole("20news_w100", read_published("20news_w100", NEWS, "group", None, N))
    return split(whole, heldout, heldout_by, split_seed)


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
    216,000 tokens; it says neither how it counts words nor which it leaves out. 60 abstracts run on into the paper.

    Parameters
    ----------
    N : int, optional
        Take the first N abstracts, by year; all by default.
    stop_words : str or Path, optional
        Words that are left out, as `splitmerge_cli.data.corpora.words.keep_words` takes it.
    min_documents : int
        Words that fewer abstracts have are left out.
    max_share : float
        Words that more than this share of the abstracts have are left out.
    longest : int, optional
        Abstracts of more tokens, stop words counted, are left out, those that run on; all are taken by default.
    heldout, heldout_by, split_seed
        What is held out, as `splitmerge_cli.data.corpora.split.split` takes it.

    Returns
    -------
    Dataset
        Kind ``documents``; the labels are the subjects under which the conference had the papers.

    Raises
    ------
    DataError
        An option out of range; no abstract is left; a file is absent or not the published one.
    """
    good = longest is None or (isinstance(longest, int) and not isinstance(longest, bool) and 1 <= longest <= LARGEST)
    require(good, "data.longest", longest, f"a whole number from 1 to {LARGEST}, or null")
    require_words(stop_words, min_documents, max_share)
    require_split(heldout, heldout_by, split_seed)
    documents = read_published("nips_abstracts", NIPS, "label", "name", N)
    if longest is not None:
        documents = _drop_long(documents, longest)
    whole = _whole("nips_abstracts", documents, {"longest": longest})
    return split(keep_words(whole, stop_words, min_documents, max_share), heldout, heldout_by, split_seed)


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

    Parameters
    ----------
    N : int, optional
        Take the first N papers, by year; all by default.
    stop_words : str or Path, optional
        Words that are left out, as `splitmerge_cli.data.corpora.words.keep_words` takes it.
    min_documents : int
        Words that fewer papers have are left out.
    max_share : float
        Words that more than this share of the papers have are left out.
    heldout, heldout_by, split_seed
        What is held out, as `splitmerge_cli.data.corpora.split.split` takes it.

    Returns
    -------
    Dataset
        Kind ``documents``; the labels are the subjects under which the conference had the papers.

    Raises
    ------
    DataError
        An option out of range; a file is absent or not the published one.
    """
    require_words(stop_words, min_documents, max_share)
    require_split(heldout, heldout_by, split_seed)
    whole = _whole("nips0_12", read_published("nips0_12", NIPS, "label", "name", N))
    return split(keep_words(whole, stop_words, min_documents, max_share), heldout, heldout_by, split_seed)


def ohsumed23_documents(
    N: int | None = None,
    min_documents: int = 1,
    max_share: float = 1.0,
    heldout: float = 0.0,
    heldout_by: str = "document",
    split_seed: int = 0,
) -> Dataset:
    """7,400 abstracts of MEDLINE from 1991 in 23 categories of diseases, 705,346 tokens of the words of PubMed.

    For experimentation only: these data are incomplete and out of date.

    Parameters
    ----------
    N : int, optional
        Take the first N documents; all by default.
    min_documents : int
        Words that fewer documents have are left out: 1 leaves out words of PubMed that none of them has.
    max_share : float
        Words that more than this share of the documents have are left out.
    heldout, heldout_by, split_seed
        What is held out, as `splitmerge_cli.data.corpora.split.split` takes it.

    Returns
    -------
    Dataset
        Kind ``documents``; the labels are the categories.

    Raises
    ------
    DataError
        An option out of range; a file is absent or not the published one.
    """
    require_words(None, min_documents, max_share)
    require_split(heldout, heldout_by, split_seed)
    name = "ohsumed23_documents"
    whole = _whole(name, read_ohsumed23(N, name), {}, {"terms": OUT_OF_DATE})
    return split(keep_words(whole, None, min_documents, max_share), heldout, heldout_by, split_seed)


def _drop_long(documents: Documents, longest: int) -> Documents:
    """Drop the documents of more than `longest` tokens."""
    lengths = np.asarray(documents.counts.sum(axis=1)).ravel()
    kept = np.flatnonzero(lengths <= longest)
    least = int(lengths.min())
    require(len(kept) > 0, "data.longest", longest, f"at least {least}, the tokens of the shortest document")
    assert documents.truth is not None and documents.names is not None
    names = [documents.names[j] for j in kept]
    return Documents(documents.counts[kept], documents.vocabulary, documents.truth[kept], documents.categories, names)


def _whole(
    name: str, documents: Documents, options: dict[str, Any] | None = None, meta: dict[str, Any] | None = None
) -> Dataset:
    """Documents as tokens, nothing held out."""
    corpus = Corpus(
        tokens_of(documents.counts),
        len(documents.vocabulary),
        documents.names,
        documents.truth,
        documents.categories,
    )
    return dataset(name, corpus, documents.vocabulary, meta=meta, options=options)
