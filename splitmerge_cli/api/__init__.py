"""The Python library: `sample` runs chains on data and returns a `Posterior`."""

from splitmerge_cli.api.documents import UnseenWords
from splitmerge_cli.api.posterior import NotConverged, Posterior
from splitmerge_cli.api.sampling import sample

__all__ = ["NotConverged", "Posterior", "UnseenWords", "sample"]
