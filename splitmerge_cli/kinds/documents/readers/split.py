"""Split of a corpus: whole documents are held out, or words of every document."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import require
from splitmerge_cli.kinds.documents.corpus import BY, Corpus, Heldout, Tokens, dataset
from splitmerge_cli.received import DataError


def require_split(heldout: float, heldout_by: str, split_seed: int) -> None:
    """Raise a `DataError` that names the configuration key unless `split` takes the options."""
    number = isinstance(heldout, int | float) and not isinstance(heldout, bool)
    require(number and 0 <= heldout < 1, "data.heldout", heldout, "a share, at least 0 and less than 1")
    require(heldout_by in BY, "data.heldout_by", heldout_by, f"one of {', '.join(BY)}")
    good = isinstance(split_seed, int) and split_seed >= 0
    require(good, "data.split_seed", split_seed, "a whole number, at least 0")


def split(whole: Dataset, heldout: float = 0.0, heldout_by: str = "document", split_seed: int = 0) -> Dataset:
    """Hold out a share of a corpus.

    Parameters
    ----------
    whole : Dataset
        Kind ``documents``, nothing held out.
    heldout : float
        Share that is held out, at least 0 and less than 1; 0: nothing.
    heldout_by : {"document", "word"}
        ``document``: round(heldout J) documents, drawn uniformly; of the tokens of each a random half, rounded up, is
        `observed`, so that a document of one token is observed whole and leaves nothing to predict. ``word``: tokens
        of every document, drawn uniformly, heldout n of n, rounded up or down such that all documents together come to
        heldout N (systematic sampling: a token is held out with probability heldout); but one token at least stays.
    split_seed : int
        Seed of the split, independent of the seeds of the data and of the chains.

    Returns
    -------
    Dataset
        Truth, labels, names and mixtures belong to the training part; tokens keep their order.

    Raises
    ------
    DataError
        An option out of range; nothing is held out, nothing is left to predict, or no token to train with.
    """
    require_split(heldout, heldout_by, split_seed)
    options = {"heldout": heldout, "heldout_by": heldout_by, "split_seed": split_seed}
    corpus, truth = whole.values, whole.truth
    if heldout > 0:
        # a stream of its own: the data may have been made with the same number for a seed
        rng = np.random.default_rng(np.random.SeedSequence(split_seed, spawn_key=(1,)))
        by_document = heldout_by == "document"
        corpus, documents = (_by_document if by_document else _by_word)(whole.name, corpus, heldout, rng)
        truth = None if truth is None else truth[documents]
    meta = dict(whole.meta)
    options = meta.pop("documents")["options"] | options
    assert whole.vocabulary is not None
    return dataset(whole.name, corpus, whole.vocabulary, truth, meta, options)


def _by_document(
    name: str, corpus: Corpus, heldout: float, rng: np.random.Generator
) -> tuple[Corpus, NDArray[np.bool_]]:
    """The corpus with documents held out, and which tokens of the whole it trains with."""
    tokens, J = corpus.tokens, corpus.tokens.J
    many = int(np.floor(heldout * J + 0.5))
    if not 1 <= many < J:
        raise DataError(
            f"data.heldout={heldout}: {many} of the {J} documents of {name}; expected at least one to hold out and "
            "one to train with"
        )
    held = np.zeros(J, dtype=bool)
    held[rng.choice(J, size=many, replace=False)] = True
    theirs = tokens.pick(held)
    observed = _sample(theirs, (theirs.lengths + 1) // 2, rng)
    if observed.all():
        raise DataError(
            f"data.heldout={heldout}: no held-out document of {name} has two tokens; expected one to estimate its "
            "mixture and one to predict"
        )
    training = tokens.pick(~held)
    if not len(training.words):
        raise DataError(f"data.heldout={heldout}: no token of {name} is left to train with; expected at least one")
    names = corpus.documents
    training_corpus = replace(
        corpus,
        tokens=training,
        documents=None if names is None else [names[j] for j in np.flatnonzero(~held)],
        labels=None if corpus.labels is None else corpus.labels[~held],
        mixtures=None if corpus.mixtures is None else corpus.mixtures[~held],
        heldout=Heldout(
            "document", theirs, observed, None if names is None else [names[j] for j in np.flatnonzero(held)]
        ),
    )
    return training_corpus, np.repeat(~held, tokens.lengths)


def _by_word(name: str, corpus: Corpus, heldout: float, rng: np.random.Generator) -> tuple[Corpus, NDArray[np.bool_]]:
    """The corpus with words held out, and which tokens of the whole it trains with."""
    tokens = corpus.tokens
    upto = np.floor(heldout * tokens.starts + rng.random()).astype(np.int64)
    many = np.minimum(np.diff(upto), np.maximum(tokens.lengths - 1, 0))
    if not many.any():
        raise DataError(
            f"data.heldout={heldout}: none of the {len(tokens.words)} tokens of {name}, of which each document keeps "
            "one; expected at least one to hold out"
        )
    held = _sample(tokens, many, rng)
    theirs = tokens.take(held)
    observed = np.zeros(len(theirs.words), dtype=bool)
    return replace(corpus, tokens=tokens.take(~held), heldout=Heldout("word", theirs, observed)), ~held


def _sample(tokens: Tokens, many: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample `many` (int64 ``[J]``) tokens of each document uniformly: bool ``[n]``."""
    order = np.lexsort((rng.random(len(tokens.words)), tokens.documents()))
    place = np.arange(len(order)) - np.repeat(tokens.starts[:-1], tokens.lengths)
    sampled = np.empty(len(order), dtype=bool)
    sampled[order] = place < np.repeat(many, tokens.lengths)
    return sampled
