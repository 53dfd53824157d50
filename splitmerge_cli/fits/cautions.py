"""Warnings of the library, shown at the line of the program that called it."""

import sys
import warnings
from functools import cache

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.notes import ROUTINE


class NotConverged(UserWarning):
    """Results may be wrong, because the chains have not converged, or cannot show that they have.

    Beside scikit-learn it is a ``sklearn.exceptions.ConvergenceWarning``, too.
    """


class UnseenWords(UserWarning):
    """New documents have words that the data do not have. These words are left out."""


class DataNote(UserWarning):
    """Columns, directions or weights were left out of the data, or are not read as they are written.

    The text is the same as in ``smcmc run``.
    """


def warn_of_data(dataset: Dataset) -> None:
    """Warn if parts of a data set were left out or converted. How columns are read is in `Dataset.notes`."""
    if notes := [note for note in dataset.notes if not any(routine in note for routine in ROUTINE)]:
        warn("\n".join(notes), DataNote)


def warn(message: str, category: type[UserWarning]) -> None:
    """Issue a warning at the line that called the package, from any depth, through scikit-learn or not.

    It is shown each time that the line is run, unless the program filters it.
    """
    frame = sys._getframe()
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in ("splitmerge_cli", "sklearn"):
        frame = frame.f_back
    # a program that filters the warning of scikit-learn has imported it
    known = sys.modules.get("sklearn.exceptions")
    if category is NotConverged and known is not None:
        category = _as_both(known.ConvergenceWarning)
    # without a registry, which would show a line's warning once
    where = frame.f_code.co_filename, frame.f_lineno, str(frame.f_globals.get("__name__"))
    warnings.warn_explicit(message, category, *where, registry={})


@cache
def _as_both(other: type[UserWarning]) -> type[UserWarning]:
    return type(NotConverged.__name__, (NotConverged, other), {"__module__": NotConverged.__module__})
