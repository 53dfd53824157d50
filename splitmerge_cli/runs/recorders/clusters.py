"""Clusters of items: tokens, vectors, points, nodes of a graph."""

from splitmerge_cli.config import ConfigError
from splitmerge_cli.runs.recorders.base import Recorder


class ClusterRecorder(Recorder):
    """What a run records of clusters of items."""

    describes = True

    def check(self, together: int) -> None:
        """Held-out documents cannot be evaluated where there are none."""
        if every := self.spec.perplexity.every:
            raise ConfigError(
                f"perplexity.every={every}: expected 0, because perplexity is that of held-out documents under topics; "
                f"model={self.spec.model.name} reads {self.dataset.kind}"
            )
