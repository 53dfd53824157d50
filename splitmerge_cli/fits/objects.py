"""Objects of a program as the data of a run: arrays and frames, what is warned of.

Warnings of the library, shown at the line of the program that called it.

Read objects of a program as the data of a run.
"""

import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from splitmerge_cli.config import ConfigError, choices, class_of
from splitmerge_cli.data.dataset import Dataset, get_kind
from splitmerge_cli.data.objects import as_pandas, from_object
from splitmerge_cli.data.reading import hold
from splitmerge_cli.data.tables.notes import ROUTINE
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.schema import BUNDLES
from splitmerge_cli.runs.stored import specification_of


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


MIXED = "mixed"
"""The kind of data, and the model, of tables of any columns."""


def columns_read(data: Any, table: Dataset | None = None) -> Any:
    """A data frame with the columns alone that are read as a mixed table: no ids, none without two values; anything
    else as it is."""
    data = as_pandas(data)
    if not isinstance(data, pd.DataFrame):
        return data
    read = set((table or from_object(data, MIXED)).columns or ())
    return data[[column for column in data.columns if str(column) in read]]


def dataset_again(run: Run, data: Any, truth: ArrayLike | None) -> Dataset:
    """Read the data set of a run again from its object. Raises `ConfigError` (the object is another one)."""
    kind, wanted = specification_of(run).model.kind, run.config["data"].get("sha256")
    # columns on a scale of their own, and reduced ones
    summary = run.summary if run.is_done else {}
    scales = {"scale": summary["scales"]} if "scales" in summary else {}
    scales |= {"reduce": summary["reduced"]["components"]} if "reduced" in summary else {}
    words = kind.options_of_object(summary)

    def read(obj: Any, **options: Any) -> Dataset | None:
        dataset = from_object(obj, kind.name, truth, **options, **scales)
        return dataset if wanted is None or hold(dataset) == wanted else None

    try:
        dataset = read(data, **words)
    except DataError:
        dataset = None
    # model=auto leaves out what is no data of a frame
    dataset = dataset or read(columns_read(data))
    if dataset is None:
        with suppress(DataError):
            dataset = read(data, repeated="once")
    if dataset is None:
        bundled = ", with its weights, units, classes and links as a Dataset of from_object" * (BUNDLES in summary)
        raise ConfigError(
            f"data: expected the data of {run.path}, including true labels{bundled} (digest {wanted[:12]})"
        )
    return dataset


def choice_keys(group: str, value: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a choice and its options."""
    if isinstance(value, str):
        return {group: value}
    if "name" not in value:
        raise ConfigError(
            f"{group}: a mapping without a name; expected one such as {{'name': 'NAME', 'OPTION': VALUE}}"
        )
    return {group: value["name"]} | {f"{group}.{key}": option for key, option in value.items() if key != "name"}


def held_keys(data: Any, model: str, truth: Any, of_table: Mapping[str, Any]) -> tuple[Dataset | None, dict[str, Any]]:
    """The data set of an object, where it is held, and the keys that name it."""
    kind = get_kind("mixed" if model == "auto" else class_of("model", model).kind)
    if isinstance(data, str | Path):
        if truth is not None:
            raise ConfigError("truth: expected None if data is a name; for a file use options={'data.truth': COLUMN}")
        if isinstance(data, str) and data in choices("data"):
            return None, {"data": data}
        return None, {"data": kind.reader, "data.path": str(data)}
    dataset = from_object(data, kind.name, truth, **kind.options_of_object({}) | dict(of_table))
    start = {"init": kind.object_init} if kind.object_init else {}
    return dataset, {"data": "given", "data.sha256": hold(dataset)} | start
