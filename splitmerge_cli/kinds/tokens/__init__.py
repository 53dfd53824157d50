"""Tokens: each item is one word of a vocabulary, a mention of an entity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data import values
from splitmerge_cli.data.dataset import Dataset, Kind

TELLING = 3
"""Tokens that are named of a cluster."""
DICTIONARIES = ("distinct", "dirichlet")
MAX_TOKENS = 1_000_000


class Tokens(Kind):
    """Any strings or numbers: int32 ``[N]``, codes of the `vocabulary` from 0."""

    name = "tokens"
    item = "token"
    model = "emm"
    sampler, why_sampler = "independence", " (its proposals cross between modes of model=emm)"
    sampler_crosses = True
    generator = "splitmerge_cli.kinds.tokens:generate"
    reading = "splitmerge_cli.kinds.tokens.reader:TokensReading"
    text_types = ("string",)
    one_column = True
    allows_missing = False
    column_types = ("categorical", "binary")
    quantities = "splitmerge_cli.kinds.tokens.quantities:TokenQuantities"
    start = "splitmerge_cli.runs.starts:RowStart"

    def columns_to_try(self, mixed: Dataset | None) -> list[list[str] | None]:
        # numbers are words, too, but hardly meant so
        suited = self._find_columns(mixed)
        return ([None] if suited or mixed is None else []) + ([suited] if len(suited) == 1 else [])

    def outline(self, N: int, D: int) -> Dataset:
        return Dataset("simulated", self, np.zeros(N, dtype=np.int32), vocabulary=[str(word) for word in range(D)])

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """The commonest tokens."""
        weights, words = None if dataset.counts is None else dataset.counts[here], dataset.vocabulary
        counts = np.bincount(dataset.values[here], weights, minlength=1)
        commonest = [token for token in np.argsort(-counts, kind="stable")[:TELLING] if counts[token]]
        named = [f"{words[token] if words else token} ({counts[token]:.0f})" for token in commonest]
        return {"telling": "; ".join(named)}


def generate(
    N: int,
    entities: int = 10,
    n_tokens: int = 10,
    dictionaries: str = "distinct",
    concentration: float = 0.001,
    seed: int = 0,
) -> Dataset:
    """Mentions of `entities` entities, in random order: kind ``tokens``; the truth is the entity of each mention.
    Options: ``conf/data/emm.yaml``.

    Source: Wang & Russell 2015, sections 3.1 and 5.1 (10 tokens, 10 entities, alpha = 0.001).
    """
    values.require_size("N", N)
    values.require_size("data.entities", entities)
    values.require_size("data.n_tokens", n_tokens, MAX_TOKENS)
    values.require_seed(seed)
    values.require(dictionaries in DICTIONARIES, "data.dictionaries", dictionaries, f"one of {', '.join(DICTIONARIES)}")
    rng = np.random.default_rng(seed)
    if dictionaries == "distinct":
        enough = f"at least data.entities={entities} (a token each)"
        values.require(n_tokens >= entities, "data.n_tokens", n_tokens, enough)
        truth = values.equal_sizes(rng, N, entities)
        tokens = truth.copy()
    else:
        values.require_number("data.concentration", concentration, 1e-100, 1e100)
        values.require_size("data.entities", entities, values.LARGEST // n_tokens)
        truth = rng.integers(entities, size=N, dtype=np.int32)
        theta = rng.dirichlet(np.full(n_tokens, concentration), size=entities)
        tokens = values.draw_codes(rng, theta, truth)
    meta = {"entities": entities, "dictionaries": dictionaries, "concentration": concentration, "seed": seed}
    return Dataset("emm", "tokens", tokens, truth, vocabulary=values.token_names(n_tokens), meta=meta)
