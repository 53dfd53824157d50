"""Published sets of documents, as tokens: the sets of Rana et al. 2013, whole papers of NIPS, and OHSUMED."""

from collections.abc import Callable
from inspect import cleandoc, signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import LARGEST, require
from splitmerge_cli.kinds.documents.corpus import Corpus, dataset, tokens_of
from splitmerge_cli.kinds.documents.published_counts import OUT_OF_DATE, read_published
from splitmerge_cli.kinds.documents.readers.counts import Documents
from splitmerge_cli.kinds.documents.readers.split import require_split, split
from splitmerge_cli.kinds.documents.readers.words import keep_words, require_words

Reader = TypeVar("Reader", bound=Callable[..., Dataset])
PARAMETERS = {
    "N": "N : int, optional\n    Take the first N documents, in the order of the set; all by default.",
    "stop_words": "stop_words : str or Path, optional\n    Words that are left out, as "
    "`splitmerge_cli.kinds.documents.readers.words.keep_words` takes it.",
    "min_documents": "min_documents : int\n    Words that fewer documents have are left out.",
    "max_share": "max_share : float\n    Words that more than this share of the documents have are left out.",
    "longest": "longest : int, optional\n    Documents of more tokens, stop words counted, are left out.",
    "heldout": "heldout, heldout_by, split_seed\n    What is held out, as "
    "`splitmerge_cli.kinds.documents.readers.split.split` takes it.",
}
DOCSTRING = """{what}

Parameters
----------
{parameters}

Returns
-------
Dataset
    Kind ``documents``, with labels.

Raises
------
DataError
    An option out of range; no document is left; a file is absent or not the published one.
"""


def _document(function: Reader) -> Reader:
    parameters = "\n".join(PARAMETERS[name] for name in signature(function).parameters if name in PARAMETERS)
    function.__doc__ = DOCSTRING.format(what=cleandoc(function.__doc__ or ""), parameters=parameters)
    return function


@_document
def news20_w100(
    N: int | None = None, heldout: float = 0.0, heldout_by: str = "document", split_seed: int = 0
) -> Dataset:
    """16,242 postings of 20 newsgroups in four groups, as presence of 100 chosen words (Rana et al. 2013).

    A word is a token of a document or it is not: the data are 0 and 1. The documents are in the order of their groups,
    which are the labels.
    """
    return _read("20news_w100", N, (heldout, heldout_by, split_seed))


@_document
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


@_document
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


@_document
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
        require_words(*words)
    require_split(*held)
    documents = read_published(name, N)
    if options and options["longest"] is not None:
        documents = _drop_long(documents, options["longest"])
    vocabulary, labels = documents.vocabulary, (documents.names, documents.truth, documents.categories)
    corpus = Corpus(tokens_of(documents.counts), len(vocabulary), *labels)
    whole = dataset(name, corpus, vocabulary, meta=meta, options=options)
    return split(whole if words is None else keep_words(whole, *words), *held)


def _drop_long(documents: Documents, longest: int) -> Documents:
    """Drop the documents of more than `longest` tokens."""
    lengths = np.asarray(documents.counts.sum(axis=1)).ravel()
    short = np.flatnonzero(lengths <= longest)
    least = int(lengths.min())
    require(len(short) > 0, "data.longest", longest, f"at least {least}, the tokens of the shortest document")
    assert documents.truth is not None and documents.names is not None
    names = [documents.names[j] for j in short]
    return Documents(documents.counts[short], documents.vocabulary, documents.truth[short], documents.categories, names)
