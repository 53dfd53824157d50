"""Clusters of items: tokens, vectors, points, nodes of a graph."""

from splitmerge_cli.config import ConfigError
from splitmerge_cli.runs.recorders.base import Recorder


class ClusterRecorder(Recorder):
    """Records of clusters of items."""

    describes = True

    def check(self, together: int) -> None:
        """Reject the evaluation of held-out documents, which these data do not have."""
        if every := self.spec.perplexity.every:
            raise ConfigError(
                f"perplexity.every={every}: expected 0, because perplexity is that of held-out documents under topics; "
                f"model={self.spec.model.name} reads {self.dataset.kind}"
            )
