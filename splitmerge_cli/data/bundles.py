"""Items that are bundles of rows: rows that count more than once, rows of one unit, rows known to belong together or
apart.

An item of the model is a bundle: the rows of one unit, each counted as often as its weight says. What a model knows of
a cluster are sums over rows, so a bundle is a sum, too (`splitmerge_cli.core.bundles`). Draws, tables and pictures
show rows: a row is in the cluster of its item.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

BUNDLES = "bundles"
"""Entry of a summary: `Bundles.entry`, where rows are bundled."""
SAME = "same"
"""A column in a file of pairs: 1, the rows stay together, or 0, apart."""
ROWS, ITEMS = "rows", "items"
COUNTS = (ROWS, ITEMS)
"""Values of `Bundles.prior_counts`: the prior counts rows, each as often as its weight says, or items."""


@dataclass(frozen=True)
class Bundles:
    """Which rows are one item, how often each counts, and which items may not share a cluster."""

    items: NDArray[np.int32]
    """int32 ``[rows]``: the item of each row, numbered 0, 1, ... in the order of their first rows."""
    weights: NDArray[np.int64] | None = None
    """int64 ``[rows]``, positive: how often each row counts; None: once."""
    unit: float = 1.0
    """Power of a row's likelihood that one count stands for: 1 for whole weights; fractional weights are whole
    multiples of it."""
    prior_counts: str = ROWS
    """One of `COUNTS`."""
    apart: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    """int32 ``[pairs, 2]``: pairs of items that may not share a cluster, the smaller number first."""
    classes: NDArray[np.int32] | None = None
    """int32 ``[items]``: known class of each item, -1 for none; items of different classes may not share a cluster.
    None: no classes."""
    names: list[str] | None = None
    """Name of each item, where a column names them."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.items.max()) + 1

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """int64 ``[items]``: the first row of each item."""
        return np.unique(self.items, return_index=True)[1]

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64 ``[rows]``: how often each row counts."""
        return np.ones(len(self.items), dtype=np.int64) if self.weights is None else self.weights

    @property
    def mass(self) -> NDArray[np.int64]:
        """int64 ``[items]``: how many rows each item counts as."""
        return np.bincount(self.items, self.counts).astype(np.int64)

    @property
    def pairs_apart(self) -> NDArray[np.int32]:
        """int32 ``[pairs, 2]``: pairs of items that may not share a cluster, also because of their classes."""
        if self.classes is None:
            return self.apart
        known = np.flatnonzero(self.classes >= 0).astype(np.int32)
        one, other = np.triu_indices(len(known), 1)
        pairs = np.column_stack([known[one], known[other]])
        pairs = pairs[self.classes[pairs[:, 0]] != self.classes[pairs[:, 1]]]
        return np.unique(np.concatenate([self.apart, pairs]), axis=0)

    @property
    def smallest_K(self) -> int:
        """Fewest clusters that there can be: rows of different classes, and pairs that are kept apart, need several."""
        classes = 0 if self.classes is None else len(np.unique(self.classes[self.classes >= 0]))
        return max(1 + bool(len(self.apart)), classes)

    @property
    def row_sizes(self) -> NDArray[np.float64]:
        """float64 ``[rows]``: what each row adds to the size of its cluster. A unit that has a name counts once, with
        its first row; any other row counts as its weight says."""
        if self.names is None:
            return np.asarray(self.unit * self.counts, dtype=np.float64)
        sizes = np.zeros(len(self.items))
        sizes[self.first_rows] = 1.0
        return sizes

    @property
    def entry(self) -> dict[str, Any]:
        """The entry of a summary: number of `items`, `size` and `sizes` of the rows, whether these are of `units`."""
        sizes = self.row_sizes
        facts = {"items": self.n_items, "size": float(sizes.sum()), "units": self.names is not None}
        return facts | {"prior_counts": self.prior_counts, "sizes": sizes.tolist()}

    @property
    def is_trivial(self) -> bool:
        """Whether every row is an item that counts once, and no items are kept apart."""
        plain = self.n_items == len(self.items) and (self.weights is None or bool((self.weights == 1).all()))
        return plain and self.unit == 1.0 and not len(self.apart) and self.classes is None

    def with_new(self, n: int, new: Self | None) -> Self:
        """These bundles and n new rows behind them, which count once, as items of their own or as the bundles `new`
        say."""
        items = np.arange(n, dtype=np.int32) if new is None else new.items
        ones = np.ones(n, dtype=np.int64)
        more = items.max(initial=-1) + 1
        return replace(
            self,
            items=np.concatenate([self.items, self.n_items + items]),
            weights=None if self.weights is None else np.concatenate([self.weights, ones]),
            classes=None if self.classes is None else np.concatenate([self.classes, np.full(more, -1, dtype=np.int32)]),
            names=None,
        )

    def take(self, rows: NDArray[np.int64] | slice) -> Self:
        """The bundles of these rows alone, their items numbered from 0 again."""
        kept = self.items[rows]
        order, number = np.unique(kept, return_index=True)
        order = order[np.argsort(number, kind="stable")]
        place = np.full(self.n_items, -1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        apart = place[self.apart]
        apart = np.sort(apart[(apart >= 0).all(axis=1)], axis=1) if len(apart) else apart
        return replace(
            self,
            items=place[kept],
            weights=None if self.weights is None else self.weights[rows],
            apart=apart,
            classes=None if self.classes is None else self.classes[order],
            names=None if self.names is None else [self.names[i] for i in order],
        )
