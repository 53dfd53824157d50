"""Quantities of documents, which posterior predictive checks compare with replications."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.quantities import BURSTS, REPEATS, Found, Labels, Quantities

MOST_TOKENS = 100_000
"""Tokens of documents that are drawn; in a larger corpus some documents are drawn, evenly spaced."""


class Documents(Quantities):
    """Words of the tokens of documents, int64 ``[N]``, from 0 to V - 1."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        corpus = dataset.values
        self.documents, self.V = np.asarray(corpus.tokens.documents(), dtype=np.int64), int(corpus.V)
        self.unchecked = ["the order of the words in a document: the model does not read it"]
        if (step := -(-dataset.N // (cells or MOST_TOKENS))) > 1:
            self.rows = np.flatnonzero(self.documents % step == 0)
            self.documents = self.documents[self.rows]
            self.unchecked.append(f"all documents but one of {step}, evenly spaced")
        self.values = self.take(corpus)

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Tokens that are drawn, and all, which are sorted by topic."""
        return 6 * min(dataset.N, cells) + dataset.N

    def take(self, replication: Any) -> NDArray[np.int64]:
        """The words."""
        words = np.asarray(replication.tokens.words, dtype=np.int64)
        return words if self.rows is None else words[self.rows]

    def measure(self, words: NDArray[np.int64], labels: Labels) -> Found:
        """Words that come again in a document."""
        _, pairs = np.unique(self.documents * self.V + words, return_counts=True)
        return {
            ("documents", REPEATS): float(pairs.sum() / len(pairs)),
            ("documents and words", BURSTS): self._information(words, labels),
        }

    def _information(self, words: NDArray[np.int64], labels: Labels) -> float:
        """Mean over tokens of the mutual information of word and document within the token's topic (Mimno and Blei
        2011): words of a topic that come in bursts."""

        def entropy(*of: NDArray[np.int64]) -> float:
            """Sum of n log n over what tokens have in common."""
            key = labels.copy()
            for each in of:
                key = key * (int(each.max()) + 1) + each
            _, n = np.unique(key, return_counts=True)
            return float((n * np.log(n)).sum())

        total = entropy(words, self.documents) + entropy() - entropy(words) - entropy(self.documents)
        return total / len(words)
