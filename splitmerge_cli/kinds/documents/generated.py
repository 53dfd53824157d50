"""Documents that are made: the nested topics of Rana et al. 2013, and draws from the prior of the model.

Source: Rana et al. 2013, section 4.1 (10 topics over 10 words, the first uniform on all, the last on one word alone;
four groups, "random simplex" mixtures). It gives no number of words; 1,000 a group is ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.simulation import Given, Rng, draw_words
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import (
    LARGEST,
    draw_codes,
    require,
    require_number,
    require_seed,
    require_size,
    token_names,
)
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens, check_size, dataset
from splitmerge_cli.kinds.documents.readers.words import require_split, split

LENGTHS = ("poisson", "fixed")
LARGEST_TABLE = 1 << 30
"""Most entries of the true topics, and of the true mixtures, which the data set holds."""


def nested_topics(
    N: int,
    length: int = 1000,
    words: int = 10,
    concentration: float = 1.0,
    seed: int = 0,
    heldout: float = 0.0,
    heldout_by: str = "document",
    split_seed: int = 0,
) -> Dataset:
    """Documents of nested topics, which are hard to tell apart: topic t is uniform on words t, t + 1, ... of them all.

    Options: ``conf/data/docs200.yaml``. With the true topic of every token, the topics and the mixtures; a
    `concentration` of 1 draws uniform points of the simplex. A `DataError`: an option out of range.
    """
    require_size("N", N)
    require_size("data.length", length, LARGEST // N)
    check_size(N * length, f"N={N}, data.length={length}")
    require_size("data.words", words, min(10_000, LARGEST_TABLE // N))
    require_number("data.concentration", concentration, 1e-100, 1e100)
    require_seed(seed)
    require_split(heldout, heldout_by, split_seed)
    topics = np.triu(np.ones((words, words)))
    topics /= topics.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(words, concentration), size=N)
    options = {"length": length, "concentration": concentration, "seed": seed}
    whole = _draw_corpus("nested_topics", topics, mixtures, np.full(N, length), rng, options)
    return split(whole, heldout, heldout_by, split_seed)


def synthetic_documents(
    N: int,
    length: float = 100,
    lengths: str = "poisson",
    topics: int = 10,
    words: int = 1000,
    eta: float = 0.1,
    alpha0: float = 1.0,
    gamma: float | None = None,
    seed: int = 0,
    heldout: float = 0.0,
    heldout_by: str = "document",
    split_seed: int = 0,
) -> Dataset:
    """Documents drawn from the prior of a topic model.

    Options: ``conf/data/synthetic_documents.yaml``. With the true topic of every token, the topics and the mixtures;
    ``meta["weights"]``: float64 ``[topics]``. With `gamma` these are the first sticks of a Dirichlet process, the last
    topic taking the rest: the hierarchical Dirichlet process, cut off. Without, all weights are equal: latent Dirichlet
    allocation. A document of ``lengths=poisson`` may be empty. A `DataError`: an option out of range, or no document
    has a token.
    """
    require_size("N", N)
    require(lengths in LENGTHS, "data.lengths", lengths, f"one of {', '.join(LENGTHS)}")
    require_number("data.length", length, 1e-9, LARGEST / (2 * N))
    good = lengths != "fixed" or length == int(length)
    require(good, "data.length", length, "a whole number with data.lengths=fixed")
    check_size(int(N * length), f"N={N}, data.length={length}")
    require_size("data.topics", topics, LARGEST_TABLE // N)
    require_size("data.words", words, LARGEST_TABLE // topics)
    parameters = {"eta": eta, "alpha0": alpha0} | ({} if gamma is None else {"gamma": gamma})
    for key, value in parameters.items():
        require_number(f"data.{key}", value, 1e-100, 1e100)
    require_seed(seed)
    require_split(heldout, heldout_by, split_seed)
    rng = np.random.default_rng(seed)
    weights = np.full(topics, 1 / topics)
    if gamma is not None:
        # the first sticks, and the rest
        b = rng.beta(1, gamma, size=topics)
        b[-1] = 1
        weights = b * np.concatenate([[1], np.cumprod(1 - b[:-1])])
    phi = rng.dirichlet(np.full(words, eta), size=topics)
    # a weight may be too small to be a parameter
    mixtures = rng.dirichlet(np.maximum(alpha0 * weights, 1e-300), size=N)
    n = rng.poisson(length, size=N) if lengths == "poisson" else np.full(N, int(length))
    options = {"length": length, "lengths": lengths, "topics": topics, "eta": eta, "alpha0": alpha0, "gamma": gamma}
    whole = _draw_corpus("synthetic_documents", phi, mixtures, n, rng, options | {"seed": seed})
    whole.meta["weights"] = weights
    return split(whole, heldout, heldout_by, split_seed)


def _draw_corpus(
    name: str,
    topics: NDArray[np.float64],
    mixtures: NDArray[np.float64],
    lengths: NDArray[np.int64],
    rng: np.random.Generator,
    options: Mapping[str, object],
) -> Dataset:
    """Draw a corpus with topics ``[T, V]``, mixtures ``[J, T]`` and token counts ``[J]``, nothing held out."""
    J, T = mixtures.shape
    starts = np.concatenate([[0], np.cumsum(lengths)])
    many = rng.multinomial(lengths, mixtures)
    truth = np.repeat(np.tile(np.arange(T, dtype=np.int32), J), many.ravel())
    document = np.repeat(np.arange(J, dtype=np.int32), lengths)
    # topics of a document in random order
    truth = truth[np.lexsort((rng.random(len(truth)), document))]
    corpus = Corpus(Tokens(draw_codes(rng, topics, truth), starts), topics.shape[1], topics=topics, mixtures=mixtures)
    return dataset(name, corpus, token_names(topics.shape[1]), truth, options=dict(options))


def simulate_words(rng: Rng, given: Given) -> Any:
    """Documents as long as these, their words drawn from topics: a `Corpus`, whose other tokens stay."""
    corpus = given.data.values
    words = np.array(corpus.tokens.words)
    words[slice(None) if given.rows is None else given.rows] = draw_words(
        rng, given, corpus.tokens.words, corpus.V, given.options["eta"]
    )
    return replace(corpus, tokens=replace(corpus.tokens, words=words))
