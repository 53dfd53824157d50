"""Objects of a program as the data of a run, what is warned of, and whole numbers that can be read in several ways:
ratings and counts.
"""

import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError, choices, class_of
from splitmerge_cli.data.dataset import ColumnType, Dataset, get_kind, kind_of_any_table
from splitmerge_cli.data.objects import as_pandas, from_object
from splitmerge_cli.data.reading import hold
from splitmerge_cli.data.tables.inference import in_scale
from splitmerge_cli.data.tables.notes import ROUTINE
from splitmerge_cli.data.values import LARGEST
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.initial import specification_of
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.schema import BUNDLES

COUNTS, REALS = "as counts", "as real numbers"
ORDERED, CATEGORIES = "in their order", "as categories"
READINGS: Mapping[str, Mapping[str, str]] = {
    "ratings": {ORDERED: "ordinal", CATEGORIES: "categorical", REALS: "real"},
    "counts": {COUNTS: "count", REALS: "real"},
}
"""The readings of ratings and counts, the simplest first, and the type that stands for each in ``data.types``."""
AS_READ = {"ratings": CATEGORIES, "counts": COUNTS}
"""How a table is read by default."""
FEWEST_LEVELS = 4
"""Fewest levels of a rating. With three levels an ordinal column has as many parameters as a categorical one."""
LARGEST_RATING = 10


def columns_of(reading: str, dataset: Dataset) -> dict[str | int, int]:
    """The columns of a mixed table that are ratings or counts, and their positions: their names, else their numbers,
    which are no text, since a cell of the first row that is the same would make that a row of names.

    Ratings are categories that are whole numbers up to `LARGEST_RATING` without a gap, unless another rating has all of
    them, or words in a known order.
    """
    if dataset.reduction is not None:  # densities of scores do not compare
        return {}
    named: Sequence[str | int] = dataset.columns or []
    if len(set(named)) < dataset.values.shape[1]:
        named = [j + 1 for j in dataset.positions or range(dataset.values.shape[1])]

    columns = list(zip(named, dataset.types or (), strict=True))
    if reading == "counts":
        return {key: j for j, (key, one) in enumerate(columns) if one.type == "count"}

    def numbers_in(column: ColumnType) -> list[int]:
        """The levels, if they ascend as whole numbers up to `LARGEST_RATING`; else none."""
        levels = [int(level) for level in column.levels if level.isdecimal() and level == str(int(level))]
        is_scale = len(levels) == len(column.levels) >= FEWEST_LEVELS and levels == sorted(levels)
        return levels if column.type == "categorical" and is_scale and levels[-1] <= LARGEST_RATING else []

    without_gap = [set(found) for _, one in columns if (found := numbers_in(one)) and found[-1] - found[0] < len(found)]

    def is_one(column: ColumnType) -> bool:
        if column.type != "categorical" or len(column.levels) < FEWEST_LEVELS:
            return False
        if not column.levels[0].isdecimal():
            return bool(in_scale(column.levels))
        found = numbers_in(column)
        return bool(found) and any(scale.issuperset(found) for scale in without_gap)

    return {key: j for j, (key, one) in enumerate(columns) if is_one(one)}


def add_types(typed: Mapping[Any, str], reading: str, dataset: Dataset) -> dict[str, dict[Any, str]]:
    """Types of the ratings or counts that have none yet, by the name of a reading; empty without any. Counts of two
    values are no real numbers, whose density would be of a spike, but two categories; words are none either."""
    named = {key: j for key, j in columns_of(reading, dataset).items() if str(key) not in map(str, typed)}
    types = (
        {name: dict(typed) | dict.fromkeys(named, type) for name, type in READINGS[reading].items()} if named else {}
    )
    levels = {key: (dataset.types or ())[j].levels for key, j in named.items()}
    words = [key for key, own in levels.items() if own and not own[0].isdecimal()]
    if words:
        types[REALS] |= dict.fromkeys(words, READINGS[reading][CATEGORIES])
        types = {name: one for name, one in types.items() if name != REALS or len(words) < len(named)}
    if types and reading == "counts":
        present = {key: dataset.values[~np.isnan(dataset.values[:, j]), j] for key, j in named.items()}
        types[REALS] |= {key: "categorical" for key, cells in present.items() if len(np.unique(cells)) == 2}
    return types


def log_totals(totals: ArrayLike) -> NDArray[np.float64]:
    """Leave-one-out log probability of totals under a negative binomial distribution with mean and variance of the
    others."""
    n = np.asarray(totals, dtype=np.float64)
    mean = np.maximum((n.sum() - n) / (len(n) - 1), 1e-9)
    variance = ((n**2).sum() - n**2) / (len(n) - 1) - mean**2
    size = mean**2 / np.maximum(variance - mean, 1e-6 * mean)
    from scipy.special import gammaln  # real columns do without

    log_ways = gammaln(n + size) - gammaln(size) - gammaln(n + 1)
    return np.asarray(log_ways - size * np.log1p(mean / size) - n * np.log1p(size / mean))


def as_vectors(table: Dataset) -> Dataset | None:
    """A mixed table, three columns at least, as vectors of counts; None if a cell is no whole number from 0."""
    x, are_numbers = table.values, all(not one.levels or one.levels == ("0", "1") for one in table.types or ())
    if table.N < 3 or x.shape[1] < 3 or not are_numbers or not ((x >= 0) & (x <= LARGEST) & (x == np.floor(x))).all():
        return None
    return Dataset(table.name, "counts", x.astype(np.int32), columns=table.columns)


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
        expected = "one such as {'name': 'NAME', 'OPTION': VALUE}"
        raise ConfigError(f"{group}: a mapping without a name; expected {expected}")
    return {group: value["name"]} | {f"{group}.{key}": option for key, option in value.items() if key != "name"}


def held_keys(data: Any, model: str, truth: Any, of_table: Mapping[str, Any]) -> tuple[Dataset | None, dict[str, Any]]:
    """The data set of an object, where it is held, and the keys that name it."""
    kind = kind_of_any_table() if model == "auto" else get_kind(class_of("model", model).kind)
    if isinstance(data, str | Path):
        if truth is not None:
            raise ConfigError("truth: expected None if data is a name; for a file use options={'data.truth': COLUMN}")
        if isinstance(data, str) and data in choices("data"):
            return None, {"data": data}
        return None, {"data": kind.reader, "data.path": str(data)}
    dataset = from_object(data, kind.name, truth, **kind.options_of_object({}) | dict(of_table))
    start = {"init": kind.object_init} if kind.object_init else {}
    return dataset, {"data": "given", "data.sha256": hold(dataset)} | start
