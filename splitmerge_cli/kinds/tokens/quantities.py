"""Quantities of tokens for checks of the model; the reader needs a library of tables, a run does not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.checks import Found, Quantities


class TokenQuantities(Quantities):
    """Codes of tokens, int ``[N]``."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        self.values = np.asarray(dataset.values, dtype=np.int64)
        self.unchecked = ["the order of the tokens, and their letters: the model does not read them"]

    def take(self, replication: NDArray[Any]) -> NDArray[np.int64]:
        """The codes."""
        return replication.astype(np.int64)

    def measure(self, tokens: NDArray[np.int64], labels: NDArray[np.int64]) -> Found:
        """How many tokens there are, in all and in a cluster, and how often."""
        V = int(tokens.max()) + 1
        pairs, counts = np.unique(labels * V + tokens, return_counts=True)
        home, token = np.divmod(pairs, V)
        K = int(labels.max()) + 1
        commonest = np.zeros(K, dtype=np.int64)
        np.maximum.at(commonest, home, counts)
        _, where = np.unique(token, return_inverse=True)
        shared = np.bincount(where)[where] > 1
        return {
            ("tokens", "different ones"): float(where.max() + 1),
            ("tokens", "different ones in a cluster, mean"): len(pairs) / K,
            ("tokens", "share that are the commonest of their cluster"): commonest.sum() / len(tokens),
            ("tokens", "share that stand in other clusters, too"): counts[shared].sum() / len(tokens),
        }
