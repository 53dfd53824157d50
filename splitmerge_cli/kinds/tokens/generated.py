"""Mentions of entities: data for the entity/mention model.

Source: Wang & Russell 2015, sections 3.1 and 5.1 (10 tokens, 10 entities, alpha = 0.001).
"""

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.labels import equal_sizes, token_names
from splitmerge_cli.data.values import LARGEST, require, require_number, require_seed, require_size

DICTIONARIES = ("distinct", "dirichlet")
MAX_TOKENS = 1_000_000


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
        the paper's 0.001 two entities often share a token, so that 10 entities use about 6.5 distinct ones.
    concentration : float
        Parameter of that Dirichlet.
    seed : int
        Seed of the data, independent of the seed of the chains.

    Returns
    -------
    Dataset
        Kind ``tokens``; the truth is the entity of each mention.

    Raises
    ------
    DataError
        A parameter out of range.
    """
    require_size("N", N)
    require_size("data.entities", entities)
    require_size("data.n_tokens", n_tokens, MAX_TOKENS)
    require_seed(seed)
    require(dictionaries in DICTIONARIES, "data.dictionaries", dictionaries, f"one of {', '.join(DICTIONARIES)}")
    rng = np.random.default_rng(seed)
    if dictionaries == "distinct":
        require(n_tokens >= entities, "data.n_tokens", n_tokens, f"at least data.entities={entities} (a token each)")
        truth = equal_sizes(rng, N, entities)
        tokens = truth.copy()
    else:
        require_number("data.concentration", concentration, 1e-100, 1e100)
        require_size("data.entities", entities, LARGEST // n_tokens)
        truth = rng.integers(entities, size=N, dtype=np.int32)
        theta = np.cumsum(rng.dirichlet(np.full(n_tokens, concentration), size=entities), axis=1)
        u = rng.random(N)
        tokens = np.empty(N, dtype=np.int32)
        order = np.argsort(truth, kind="stable")
        for mentions in np.split(order, np.flatnonzero(np.diff(truth[order])) + 1):
            tokens[mentions] = np.searchsorted(theta[truth[mentions[0]]], u[mentions])
        # the rounded cumulative sum may end below 1: the last token takes what is left
        np.minimum(tokens, n_tokens - 1, out=tokens)
    meta = {"entities": entities, "dictionaries": dictionaries, "concentration": concentration, "seed": seed}
    return Dataset("emm", "tokens", tokens, truth, vocabulary=token_names(n_tokens), meta=meta)
