"""Clusters of items: tokens, vectors, points, nodes of a graph."""

from typing import Any

from splitmerge_cli.config import ConfigError
from splitmerge_cli.runs.recorders.base import Recorder


class ClusterRecorder(Recorder):
    """What a run records of clusters of items."""

    describes = True

    @property
    def facts(self) -> dict[str, Any]:
        meta = self.dataset.meta
        of_graph = self.dataset.kind == "graph"
        graph = {"graph": {key: value for key, value in meta.items() if key != "notes"}} if of_graph else {}
        return graph | super().facts

    def check(self, together: int) -> None:
        """Held-out documents cannot be evaluated where there are none."""
        if every := self.spec.perplexity.every:
            raise ConfigError(
                f"perplexity.every={every}: expected 0, because perplexity is that of held-out documents under topics; "
                f"model={self.spec.model.name} reads {self.dataset.kind}"
            )
