"""The Python library: `sample` runs chains and returns a `Posterior`; `certify` bounds how far chains are from it."""

import random
from importlib import import_module

# rich draws from Python's own generator when it is imported: the draws of a program stay what they are
_state = random.getstate()
import_module("rich.style")
random.setstate(_state)

from splitmerge_cli.api.cautions import DataNote, NotConverged, UnseenWords  # noqa: E402
from splitmerge_cli.api.certificates import certify  # noqa: E402
from splitmerge_cli.api.posterior import Posterior  # noqa: E402
from splitmerge_cli.api.sampling import sample  # noqa: E402

__all__ = ["DataNote", "NotConverged", "Posterior", "UnseenWords", "certify", "sample"]
