"""The base of all readers of data; data that a Python program passes, held by their digest, under which a configuration
names them.
"""

from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa

from splitmerge_cli.data.bundles import ITEMS, Bundles
from splitmerge_cli.data.dataset import Dataset, Kind
from splitmerge_cli.data.objects import in_seconds, with_exposure
from splitmerge_cli.data.tables import bundled, formats, inference
from splitmerge_cli.data.tables.cells import cells_of
from splitmerge_cli.data.tables.columns import TOTAL
from splitmerge_cli.data.tables.scaled import put_on_scales
from splitmerge_cli.data.tables.table import names_apart
from splitmerge_cli.data.values import digest_of, is_sparse
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.extras import sparse
from splitmerge_cli.received import DataError, reject_machine_error


class KindReading:
    """Reads data of a `kind`, with the methods of `Kind`; subclasses add `from_object` and, for files, `from_table`."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def new_items(self, dataset: Dataset, new: Any) -> Dataset:
        """Convert new items; a table with named columns has the columns of the data, in any order."""
        if dataset.reduction is not None:
            reduced: Dataset = dataset.reduction.project(self.new_items(dataset.original, new))
            return reduced
        new = in_seconds(new)[0]
        exposure = dataset.meta.get("exposure")
        if isinstance(new, Dataset):
            exposure = new.exposure
        elif isinstance(new, pd.DataFrame) and exposure in new.columns:
            exposure = new[exposure]
        elif dataset.exposure is not None and exposure != TOTAL:
            raise DataError("new items: no exposures; expected a Dataset made by from_object with exposures")
        group = dataset.meta.get("group")
        units = new[group] if isinstance(new, pd.DataFrame) and group in new.columns else None
        if isinstance(new, pd.DataFrame) and dataset.columns:
            new = new.set_axis(names_apart(list(map(str, new.columns)))[0], axis=1)
            renamed: dict[str, str] = dataset.meta.get("names", {})
            new = new.rename(columns={theirs: ours for theirs, ours in renamed.items() if ours not in new.columns})
            absent = [column for column in dataset.columns if column not in new.columns]
            if absent:
                raise DataError(f"new items: no column '{absent[0]}'; expected {', '.join(dataset.columns)}")
            new = new[dataset.columns]
        new = _convert_units(dataset, new)
        scaled = put_on_scales(self.align(dataset, new), dataset.scales)
        if units is not None:
            column = bundled.columns_of(len(units), "new items", {"group": units})["group"]
            scaled = replace(scaled, bundles=Bundles(column.cells.astype(np.int32), prior_counts=ITEMS))
        return scaled if dataset.exposure is None else with_exposure(scaled, exposure)

    def align(self, dataset: Dataset, new: Any) -> Dataset:
        """Convert new items whose columns are in the order of the data."""
        raise NotImplementedError

    def stack(self, dataset: Dataset, new: Dataset) -> Dataset:
        """The items of the data, then the new ones; without labels and names."""
        if is_sparse(dataset.values) or is_sparse(new.values):
            values: Any = sparse.csr_array(sparse.vstack([*map(sparse.csr_array, (dataset.values, new.values))]))
        else:
            # whole numbers stay what they are, unless a cell is missing
            keeps_type = dataset.values.dtype.kind == "f" or not new.missing
            further_values = new.values.astype(dataset.values.dtype) if keeps_type else new.values
            values = np.concatenate([dataset.values, further_values])
        exposure = None if dataset.exposure is None else np.concatenate([dataset.exposure, new.exposure])
        bundles = dataset.bundles
        if bundles is None and new.items is not None:
            bundles = Bundles(np.arange(dataset.N, dtype=np.int32))
        bundles = None if bundles is None else bundles.with_new(new.N, new.bundles)
        further: dict[str, Any] = {"reduction": None, "exposure": exposure, "bundles": bundles}
        return replace(dataset, values=values, truth=None, names=None, copies=None, **further)

    def as_given(self, dataset: Dataset) -> Any:
        """The items as an object, in the words and units of their file."""
        units_by_column = dataset.meta.get("units", {})
        if not dataset.columns and not units_by_column:
            return dataset.values_in_units
        frame = pd.DataFrame(np.asarray(dataset.values_in_units), columns=dataset.columns)
        columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
        for j, unit in units_by_column.items():
            if not dataset.kind.types_of(dataset)[j].levels:
                columns[j] = columns[j].map(lambda x, unit=unit: f"{x!r} {unit}", na_action="ignore")
        return pd.concat(columns, axis=1)


def read_new(cells: "pd.Series", type: str, unit: str = "") -> Any:
    """Convert new cells, numbers or dates, like the cells of the data, to their unit; raises a `DataError`."""
    try:
        column = pa.table({str(cells.name): pa.array(cells, from_pandas=True)})
    except (pa.ArrowException, TypeError, ValueError) as error:
        reject_machine_error(error, "new items")
        column = pa.table({str(cells.name): pa.array([None if cell != cell else str(cell) for cell in cells])})
    table = formats.from_arrow("new items", column)
    table.units = {0: unit} if unit else {}
    reading = inference.read_as_type(cells_of(table, 0), type)
    if reading.problem:
        raise DataError(reading.problem)
    return reading.values


def _convert_units(dataset: Dataset, new: Any) -> Any:
    """New rows whose numbers with units are numbers of the units of the data."""
    units_by_column = dataset.meta.get("units")
    if not units_by_column or isinstance(new, Dataset):
        return new
    if not isinstance(new, pd.DataFrame):
        new = pd.DataFrame(dataset.read_columns(np.asarray(new, dtype=object)))
    columns = [new.iloc[:, j] for j in range(new.shape[1])]
    for j, unit in units_by_column.items():
        if j < len(columns) and not pd.api.types.is_numeric_dtype(columns[j].dtype):
            columns[j] = pd.Series(read_new(columns[j], "real", unit), new.index, name=new.columns[j])
    return pd.concat(columns, axis=1)


_held: WeakValueDictionary[tuple[str, int], Dataset] = WeakValueDictionary()
"""By digest and identity: of equal data sets one may go."""


def hold(dataset: Dataset) -> str:
    """Let `find_dataset` find a data set for as long as a program holds it, and return its digest."""
    digest = digest_of(dataset)
    _held[digest, id(dataset)] = dataset
    return digest


def find_dataset(sha256: str) -> Dataset:
    """Return the data set that `hold` was given under this digest by a program in this process."""
    held = next((dataset for (digest, _), dataset in _held.items() if digest == sha256), None)
    if held is None:
        raise DataError(
            f"data.sha256={sha256}: data that a Python program passed to splitmerge_cli.sample, and that are not here; "
            "expected Posterior.load(RUN, data=...) in Python, or data=csv data.path=FILE on the command line"
        )
    return held
