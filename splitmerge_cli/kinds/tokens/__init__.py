"""Tokens: each item is one word of a vocabulary."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset, Kind

TELLING = 3
"""Tokens that are named of a cluster."""


class Tokens(Kind):
    """Any strings or numbers: int32 ``[N]``, codes of the `vocabulary` from 0."""

    name = "tokens"
    item = "token"
    model = "emm"
    generator = "splitmerge_cli.kinds.tokens.generated:generate"
    reading = "splitmerge_cli.kinds.tokens.reader:TokensReading"
    text_types = ("string",)
    one_column = True
    allows_missing = False
    column_types = ("categorical", "binary")
    quantities = "splitmerge_cli.runs.quantities:Tokens"

    def columns_to_try(self, mixed: Dataset | None) -> list[list[str] | None]:
        # numbers are words, too, but hardly meant so
        suited = self._suited(mixed)
        return ([None] if suited or mixed is None else []) + ([suited] if len(suited) == 1 else [])

    def outline(self, N: int, D: int) -> Dataset:
        return Dataset("simulated", self, np.zeros(N, dtype=np.int32), vocabulary=[str(word) for word in range(D)])

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """The commonest tokens."""
        counts = np.bincount(
            dataset.values[here], None if dataset.counts is None else dataset.counts[here], minlength=1
        )
        commonest = [token for token in np.argsort(-counts, kind="stable")[:TELLING] if counts[token]]
        words = dataset.vocabulary
        return {
            "telling": "; ".join([f"{words[token] if words else token} ({counts[token]:.0f})" for token in commonest])
        }
