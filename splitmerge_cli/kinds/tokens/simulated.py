"""Tokens drawn from entities (`splitmerge_cli.core.simulation`)."""

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.simulation import Given, Rng, draw_words


def simulate_tokens(rng: Rng, given: Given) -> NDArray[np.int32]:
    """Tokens of entities, int32 ``[N]``."""
    return draw_words(rng, given, given.data.values, given.options["n_tokens"], given.options["alpha"])
