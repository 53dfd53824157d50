"""Data drawn from the models: parameters of each cluster given items, then items given these.

Given no items, the parameters come from their prior, which is what calibration by simulated data asks for; given the
items of a run from their posterior, which is what posterior predictive checks ask for (docs/derivations.md, "Posterior
predictive checks"). NumPy and SciPy alone draw: nothing is shared with the compiled likelihoods, which are tested
against these data. A model names its function as ``simulate``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.extras import sparse

Rng = np.random.Generator
Array = NDArray[np.float64]
Labels = NDArray[np.int64]


def is_sparse(x: Any) -> bool:
    return hasattr(x, "toarray")


@dataclass(frozen=True)
class Given:
    """The items, clusters and options that data are drawn given."""

    data: Any
    """The Dataset: its items, and what a model takes as given of them: totals of rows, places, lengths of documents."""
    labels: Labels
    """``[N]``, clusters, each number from 0 to K - 1 at least once."""
    options: Mapping[str, Any]
    """Options of the model, none left to the data."""
    parameters: Array | None = None
    """Values of a state in addition to the partition, as a model's ``parameters``: resampled scales, missing cells."""
    known: int | None = None
    """So many items, the first, are known, from whose posterior parameters are drawn; 0: their prior; None: all."""
    rows: Labels | None = None
    columns: Labels | None = None
    """The items, and of a table the columns, that are drawn; None: all."""

    @cached_property
    def K(self) -> int:
        """Clusters."""
        return int(self.labels.max()) + 1

    @property
    def z(self) -> Labels:
        """Clusters of the items that are drawn."""
        return self.labels if self.rows is None else self.labels[self.rows]

    @property
    def power(self) -> float:
        """Power of the likelihood, by which its statistics are multiplied."""
        return float(self.options.get("power", 1.0))

    @property
    def evidence(self) -> Labels:
        """Clusters of the items that parameters are drawn given."""
        return self.labels[: self.known]

    @cached_property
    def indicator(self) -> "sparse.csr_array":
        z = self.evidence
        return sparse.csr_array((np.ones(len(z)), (z, np.arange(len(z)))), shape=(self.K, len(z)))

    @cached_property
    def members(self) -> list[Labels]:
        """The known items of each cluster."""
        order = np.argsort(self.evidence, kind="stable")
        return np.split(order, np.bincount(self.evidence, minlength=self.K).cumsum()[:-1])

    @cached_property
    def table(self) -> Any:
        """Values of the columns that are drawn, of all items: float64 ``[N, m]``, NaN where a cell is missing."""
        x = self.take(self.data.values)
        return np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64)

    def take(self, x: Any) -> Any:
        """The columns that are drawn."""
        return x if self.columns is None else x[:, self.columns]

    def of_columns(self, value: ArrayLike, D: int) -> Array:
        """An option of the D columns, a number or one for each: one for each that is drawn."""
        found = np.broadcast_to(np.asarray(value, dtype=np.float64), (D,))
        return found if self.columns is None else found[self.columns]

    def sums(self, x: Any) -> Array:
        """Sums over the known items of each cluster, missing cells 0: ``[K, m]``."""
        x = x[: len(self.evidence)]
        if is_sparse(x):
            return np.asarray((self.indicator @ x).toarray(), dtype=np.float64)
        sums = [np.bincount(self.evidence, column, self.K) for column in np.nan_to_num(x).T]
        return np.array(sums, dtype=np.float64).reshape(-1, self.K).T

    def counts(self, x: Array) -> Array:
        """Known cells of each cluster that are not missing, ``[K, m]``."""
        return self.sums(~np.isnan(x))


def draw_words(rng: Rng, given: Given, words: NDArray[Any], V: int, alpha: float) -> NDArray[np.int32]:
    """One of V words for each item, the shares of a cluster, Dirichlet(alpha + n), integrated out.

    Polya's urn (Blackwell and MacQueen 1973): the t-th item that is drawn of a cluster with n known ones, t = 0, 1,
    ..., has the word of one of the known ones with probability n / (n + V alpha + t), of one of those drawn before it
    with t / (n + V alpha + t), each alike; else any word. No vector of V shares is drawn.
    """
    z, kept = given.z, np.argsort(given.evidence, kind="stable")
    order = np.argsort(z, kind="stable")
    size, known = np.bincount(z, minlength=given.K), np.bincount(given.evidence, minlength=given.K)
    # items one cluster after the other
    k, first = z[order], size.cumsum() - size
    place = np.arange(len(z))
    t, n = place - first[k], known[k]
    u = rng.random(len(z)) * (n + V * alpha + t)
    found = rng.integers(V, size=len(z))
    again, copied = u < n, (u >= n) & (u < n + t)
    found[again] = np.asarray(words)[kept[(known.cumsum() - known)[k[again]] + u[again].astype(np.int64)]]
    source = np.where(copied, first[k] + np.minimum(u - n, np.maximum(t - 1, 0)).astype(np.int64), place)
    # copies of copies, twice as far in each pass
    while not np.array_equal(source, further := source[source]):
        source = further
    made = np.empty(len(z), dtype=np.int32)
    made[order] = found[source]
    return made
