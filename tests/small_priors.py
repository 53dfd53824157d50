"""Priors whose new-cluster weight depends on the number of clusters, added as a user would: a folder, a file each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import splitmerge_cli.priors

PLAIN = ("crp", "uniform")
PACKAGE = tuple(name for name in splitmerge_cli.priors.priors() if name not in PLAIN)
"""Priors of the package beside these two: what is asked of a new one is asked of each."""
FOLDER = Path(__file__).parent / "toy_priors"
NAMES = ("toy_finite_mixtures(most=3)",)


@contextmanager
def register_priors(folder: Path = FOLDER) -> Iterator[None]:
    """The priors of a folder beside those of the package."""
    splitmerge_cli.priors.__path__.append(str(folder))
    try:
        yield
    finally:
        splitmerge_cli.priors.__path__.remove(str(folder))
