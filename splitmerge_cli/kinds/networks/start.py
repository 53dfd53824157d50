"""Where chains of a network start: from many random blocks, or by search.

A sample of a network has hardly any of its edges, so none starts in stages. With few blocks, nodes that belong apart
stand together from the first scan on, and split no more; what is one block too many merges.
"""

import math
from collections.abc import Callable

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.core.model import Model
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.datasets import build_model
from splitmerge_cli.runs.identity import finished_run
from splitmerge_cli.runs.starts import Start

NODES = 1_000
"""Nodes from which a network starts from many blocks, unless the user names an initial state."""
NODES_PER_BLOCK = (6, 3, 2)
"""Nodes per random block where the chains of a search begin, in turn."""


class NetworkStart(Start):
    """The initial state of a run on a network: from as many random blocks as the root of the number of its nodes. The
    modes of networks with relations are far apart, so their chains start by search."""

    population = 24, 50

    def begin(self, number: int, model: Model) -> tuple[str, int | None]:
        """From many random blocks: these merge easily, while chains that start from few stay there where only a split
        on both sides at once is better, as between the two kinds of nodes of a bipartite network."""
        return "random", min(-(-model.N // NODES_PER_BLOCK[number % len(NODES_PER_BLOCK)]), model.largest_K)

    def choose_by_size(self, say: Callable[[str], None]) -> RunSpecification:
        spec = self.spec
        if self.is_named or not self.may_have(NODES) or finished_run(spec) is not None:
            return spec
        dataset = self.load()
        if dataset.N < NODES:
            return spec
        blocks = min(round(math.sqrt(dataset.N)), build_model(spec.model, dataset).largest_K)
        say(
            f"K0={blocks}, because no initial state is named and {dataset.N:,} nodes are {NODES:,} or more: blocks "
            "rarely split and merge easily, so chains start from many (K0=5: as smaller networks do)"
        )
        return spec.with_(K0=blocks)

    def may_search(self) -> bool:
        data = self.spec.data
        asks = any(data.values.get(key) not in (None, False) for key in self.spec.model.kind.asked_for)
        return data.name == "given" or self._is_corrected or asks

    def why_search(self, dataset: Dataset) -> str | None:
        if dataset.N >= NODES or (dataset.relations is None and not self._is_corrected):
            return None
        return (
            "the network is more than simple: chains of such networks stay apart unless each looks for its start first "
            "(init=random: as simple networks do)"
        )

    def keep(self, N: int) -> dict[str, str]:
        spec = self.spec
        if spec.init != "random" or spec.K0 is not None or spec.data.name == "given":
            return {}
        is_named = N >= NODES or (not self.why_no_search and self.may_search())
        return {"init": spec.init} if is_named else {}

    def may_go_on_by_search(self, N: int) -> bool:
        return self.spec.init == "random" and N < NODES and not self.why_no_search

    @property
    def _is_corrected(self) -> bool:
        return self.spec.model.options.get("degrees") == "corrected"
