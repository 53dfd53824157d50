"""Read objects of a program as the data of a run."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from splitmerge_cli.config import ConfigError, choices, class_of
from splitmerge_cli.data.dataset import Dataset, get_kind
from splitmerge_cli.data.given import hold
from splitmerge_cli.data.objects import as_pandas, from_object
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.schema import BUNDLES
from splitmerge_cli.runs.stored import specification_of

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
