"""Documents drawn from topics (`splitmerge_cli.core.simulation`)."""

from dataclasses import replace
from typing import Any

import numpy as np

from splitmerge_cli.core.simulation import Given, Rng, draw_words


def simulate_words(rng: Rng, given: Given) -> Any:
    """Documents as long as these, their words drawn from topics: a `Corpus`, whose other tokens stay."""
    corpus = given.data.values
    words = np.array(corpus.tokens.words)
    words[slice(None) if given.rows is None else given.rows] = draw_words(
        rng, given, corpus.tokens.words, corpus.V, given.options["eta"]
    )
    return replace(corpus, tokens=replace(corpus.tokens, words=words))
