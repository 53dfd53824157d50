"""The Python library: `sample` runs chains and returns a `Posterior`; `certify` bounds how far chains are from it."""

from splitmerge_cli.api.cautions import NotConverged, UnseenWords
from splitmerge_cli.api.certificates import certify
from splitmerge_cli.api.posterior import Posterior
from splitmerge_cli.api.sampling import sample

__all__ = ["NotConverged", "Posterior", "UnseenWords", "certify", "sample"]
