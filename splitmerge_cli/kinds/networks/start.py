"""Where chains of a network start: from blocks that were merged, from random blocks, or by search.

A sample of a network has hardly any of its edges, so none starts in stages. With few blocks, nodes that belong apart
stand together from the first scan on, and split no more; what is one block too many merges.

**Agglomeration** (Peixoto 2014). At first each node is a block. Blocks that fit each other best become one, a few at a
time; after each round nodes move to the block that fits them best. Both go by the profile likelihood, whose cost is the
entries of a node or block (``agglomeration.pyx``). The log joint density of the model itself then decides how many
blocks the chain starts with. Each chain makes several such trials with its own random numbers, short chains go on from
them, and the best is its start (`Start.start_best`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.shared import share
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.networks.agglomeration import Blocks, best_merges
from splitmerge_cli.kinds.networks.data import Relations, network_of
from splitmerge_cli.kinds.networks.layout import CORRECTED, COUNT, LEVELS, prepare
from splitmerge_cli.runs.identity import finished_run
from splitmerge_cli.runs.starts import BEST, Start

NODES_PER_BLOCK = (6, 3, 2)
"""Nodes per random block where the chains of a search begin, in turn."""
FEW, MANY = 100, 200_000
"""Nodes from which, and ties up to which, a network starts from merged blocks, unless the user names an initial
state."""
SHRINKING = 1.15
"""Blocks before a round of merges, over those after it."""
SWEEPS, STILL = 4, 0.002
"""Times that all nodes may move after a round, and the share of nodes that moves at last if they stop sooner."""
MOST_CELLS = 4_000_000
"""Counts of two blocks and a type that are kept while nodes move; with more blocks they stay."""
MOST_BLOCKS = 600
"""Blocks up to which the model is asked how well they describe the network."""
SEARCHED = 1_000
"""Nodes below which chains that started at random and stay apart are to search."""
ENTRIES = 100_000
"""Entries of nodes that all trials of a chain read together in each round, about: fewer of them begin anew."""


@dataclass(frozen=True)
class Entries:
    """Entries of nodes, or of blocks: with whom, of which type, how often. An edge has an entry at each of its ends.

    A type is a slot of a cell (``layout.prepare``): a direction of a layer, or a level of its values.
    """

    start: NDArray[np.int64]
    """int64 ``[N + 1]``: where the entries of each node begin."""
    neighbour: NDArray[np.int32]
    type: NDArray[np.int32]
    weight: NDArray[np.int64]
    """Each ``[entries]``."""
    mirror: NDArray[np.int32]
    """int32 ``[types]``: the type at the other end."""

    @classmethod
    def of(cls, relations: Relations) -> "Entries":
        """The entries of the nodes; edges of a node to itself, unknown pairs and real values are not read."""
        data = share(prepare, relations)
        slot, value = data.slot[:-1], data.value[:-1]
        edges = np.isin(slot, [part["slot"] for part in data.parts])
        start = np.append(0, np.cumsum(edges))[data.start]
        form = data.forms[slot]
        kind = np.where(form == LEVELS, slot + 1 + value, slot)[edges]
        weight = np.where(form == COUNT, value, 1)[edges]
        return cls(
            start.astype(np.int64), data.neighbour[:-1][edges], kind.astype(np.int32), weight.astype(np.int64),
            np.array(data.mirror),
        )  # fmt: skip

    def between(self, labels: NDArray[np.int32], K: int) -> "Entries":
        """The entries between K blocks."""
        V = len(self.mirror)
        node = np.repeat(labels, np.diff(self.start)).astype(np.int64)
        code, place = np.unique((node * K + labels[self.neighbour]) * V + self.type, return_inverse=True)
        weight = np.bincount(place, self.weight, len(code)).astype(np.int64)
        start = np.append(0, np.cumsum(np.bincount(code // (K * V), minlength=K)))
        other = (code // V % K).astype(np.int32)
        return Entries(start.astype(np.int64), other, (code % V).astype(np.int32), weight, self.mirror)


def join_best(partner: NDArray[np.int32], growth: NDArray[np.float64], most: int) -> tuple[NDArray[np.int32], int]:
    """Join at most so many blocks to their partners, those first that grow most; a block that another one joined joins
    none. Returns the number of the block that each of the K becomes, int32 ``[K]``, and how many were joined.

    Examples
    --------
    >>> join_best(np.array([1, 2, 1], dtype=np.int32), np.array([-1.0, -3.0, -2.0]), 2)
    (array([0, 0, 0], dtype=int32), 2)
    """
    root = np.arange(len(partner), dtype=np.int32)
    is_kept = np.zeros(len(partner), dtype=bool)
    joined = 0
    for a in np.argsort(-growth, kind="stable").tolist():
        if joined == most or growth[a] == -np.inf:
            break
        # a partner that was joined stands for the block that it is part of now
        b = int(root[partner[a]])
        if root[a] == a and not is_kept[a] and b != a:
            root[a], is_kept[b] = b, True
            joined += 1
    return np.unique(root, return_inverse=True)[1].astype(np.int32), joined


def agglomerate(entries: Entries, sides: NDArray[np.int32], corrected: bool, rng: Rng) -> Iterator[NDArray[np.int32]]:
    """Yield partitions of the nodes, int32 ``[N]``, of ever fewer blocks; `sides`: the kind of each node."""
    N = K = len(sides)
    labels = np.arange(N, dtype=np.int32)
    movable = int(np.sqrt(MOST_CELLS / len(entries.mirror)))
    kind = sides
    while K > 1:
        sizes = np.bincount(labels, minlength=K).astype(np.int32)
        partner, growth = best_merges(entries.between(labels, K), sizes, kind, corrected, rng)
        number, joined = join_best(partner, growth, max(1, int(K * (1.0 - 1.0 / SHRINKING))))
        if not joined:
            break
        labels = number[labels]
        K -= joined
        kind = np.zeros(K, dtype=np.int32)
        kind[labels] = sides
        if movable >= K:
            blocks = Blocks(entries, labels, kind, corrected)
            for _ in range(SWEEPS):
                if blocks.sweep(rng) <= STILL * N:
                    break
            labels = blocks.labels
        yield labels


class NetworkStart(Start):
    """The initial state of a run on a network: from merged blocks. A small network starts from random ones, or by
    search if it has relations, whose modes are far apart."""

    population = 24, 50
    entries: Entries | None = None
    """Where chains begin with merged blocks: what they are merged by."""
    merged: list[NDArray[np.int32]]
    """The merged blocks of each trial, int32 ``[N]``."""

    def begin(self, number: int, model: Model) -> tuple[str, int | None]:
        """From many random blocks: these merge easily, while chains that start from few stay there where only a split
        on both sides at once is better, as between the two kinds of nodes of a bipartite network."""
        return "random", min(-(-model.N // NODES_PER_BLOCK[number % len(NODES_PER_BLOCK)]), model.largest_K)

    def start_best(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        self.entries, self.merged = Entries.of(network_of(dataset)), []
        super().start_best(model, dataset, rng)

    def _begin(self, number: int, model: Model, dataset: Dataset, rng: Rng, generator: np.random.Generator) -> None:
        if self.entries is None:
            super()._begin(number, model, dataset, rng, generator)
            return
        if number * len(self.entries.weight) <= ENTRIES:
            self.merged.append(self.merge(self.entries, model, dataset, rng))
        model.set_labels(self.merged[number % len(self.merged)])
        model.start_parameters(rng)

    def merge(self, entries: Entries, model: Model, dataset: Dataset, rng: Rng) -> NDArray[np.int32]:
        """The partition of highest log joint density among those of one agglomeration, int32 ``[N]``."""
        sides = network_of(dataset).sides
        kind = np.zeros(model.N, dtype=np.int32) if sides is None else sides.astype(np.int32)
        model.set_labels(np.zeros(model.N, dtype=np.int32))
        model.separate()
        best, chosen = model.log_joint(), model.labels
        for labels in agglomerate(entries, kind, self._is_corrected, rng):
            if int(labels.max()) < min(MOST_BLOCKS, model.largest_K):
                model.set_labels(labels)
                if (height := model.log_joint()) > best:
                    best, chosen = height, labels
        return chosen

    def choose_by_size(self, say: Callable[[str], None]) -> RunSpecification:
        if self.is_named or self.why_no_search or not self.may_have(FEW) or finished_run(self.spec) is not None:
            return self.spec
        dataset = self.load()
        if dataset.N < FEW or sum(len(layer.ends) for layer in network_of(dataset).layers) > MANY:
            return self.spec
        say(
            f"init={BEST}, because no initial state is named and {dataset.N:,} nodes are {FEW} or more: blocks rarely "
            "split, so each chain starts from single nodes, which are merged into blocks that fit (init=random: from "
            "five random blocks)"
        )
        return self.with_(init=BEST)

    def may_search(self) -> bool:
        asks = any(self.data.values.get(key) not in (None, False) for key in self.model.kind.asked_for)
        return self.data.name == "given" or self._is_corrected or asks

    def why_search(self, dataset: Dataset) -> str | None:
        if dataset.N >= FEW or (dataset.relations is None and not self._is_corrected):
            return None
        return (
            "the network is more than simple: chains of such networks stay apart unless each looks for its start first "
            "(init=random: as simple networks do)"
        )

    def keep(self, N: int) -> dict[str, str]:
        if self.init != "random" or self.K0 is not None or self.data.name == "given":
            return {}
        is_named = N >= FEW or (not self.why_no_search and self.may_search())
        return {"init": self.init} if is_named else {}

    def may_go_on_by_search(self, N: int) -> bool:
        return self.init == "random" and N < SEARCHED and not self.why_no_search

    @property
    def _is_corrected(self) -> bool:
        return self.model.options.get("degrees") == CORRECTED
