"""Mentions of entities: data for the entity/mention model.

Source: Wang & Russell 2015, sections 3.1 and 5.1 (10 tokens, 10 entities, alpha = .001).
"""

from itertools import count, islice, product
from string import ascii_uppercase

import numpy as np

from splitmerge_cli.data.base import Dataset, require

DICTIONARIES = ("distinct", "dirichlet")


def token_names(n: int) -> list[str]:
    """Names of `n` tokens: A, B, ..., Z, AA, AB, ..."""
    names = ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))
    return list(islice(names, n))


def generate(
    N: int,
    entities: int = 10,
    n_tokens: int = 10,
    dictionaries: str = "distinct",
    concentration: float = 0.001,
    seed: int = 0,
) -> Dataset:
    """Mentions of `entities` entities, in random order.

    Parameters
    ----------
    N : int
        Number of mentions.
    entities : int
        Number of entities.
    n_tokens : int
        Size of the vocabulary.
    dictionaries : {"distinct", "dirichlet"}
        ``distinct``: entity e always says token e, and each has N / entities mentions (the first N mod entities one
        more). ``dirichlet``: each dictionary is a draw from a symmetric Dirichlet, entities are drawn uniformly; with
        the paper's .001 two entities often share a token, so that 10 entities use about 6.5 distinct ones.
    concentration : float
        Parameter of that Dirichlet.
    seed : int
        Seed of the data, apart from that of the chains.

    Returns
    -------
    Dataset
        Kind ``tokens``; the truth is the entity of each mention.

    Raises
    ------
    DataError
        A parameter out of range.
    """
    require(N >= 1, "N", N, "at least 1 mention")
    require(entities >= 1, "data.entities", entities, "at least 1")
    require(n_tokens >= 1, "data.n_tokens", n_tokens, "at least 1")
    require(dictionaries in DICTIONARIES, "data.dictionaries", dictionaries, f"one of {', '.join(DICTIONARIES)}")
    rng = np.random.default_rng(seed)
    if dictionaries == "distinct":
        require(n_tokens >= entities, "data.n_tokens", n_tokens, f"at least data.entities={entities} (a token each)")
        truth = rng.permutation(np.arange(N, dtype=np.int32) % np.int32(entities))
        tokens = truth.copy()
    else:
        require(concentration > 0, "data.concentration", concentration, "a number above 0")
        truth = rng.integers(entities, size=N, dtype=np.int32)
        theta = np.cumsum(rng.dirichlet(np.full(n_tokens, concentration), size=entities), axis=1)
        # the rounded cumulative sum may end below 1: the last token takes what is left
        tokens = np.minimum((rng.random(N)[:, None] > theta[truth]).sum(axis=1), n_tokens - 1).astype(np.int32)
    meta = {"entities": entities, "dictionaries": dictionaries, "concentration": concentration, "seed": seed}
    return Dataset("emm", "tokens", tokens, truth, vocabulary=token_names(n_tokens), meta=meta)
