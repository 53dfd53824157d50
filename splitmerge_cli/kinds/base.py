"""The interface of a kind of data, and defaults for a kind whose items are rows of their own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from splitmerge_cli.data.base import ColumnType, Dataset
    from splitmerge_cli.data.tables.table import Table
    from splitmerge_cli.data.tables.wanted import Wanted

Labels = NDArray[np.int32] | None


class Kind:
    """A kind of data.

    A subclass with a `name` has an `example`, and reads what programs pass (`from_object`); all else has a default.
    """

    name: ClassVar[str] = ""
    """Value of `Dataset.kind`, and of the ``kind`` of models."""
    item: ClassVar[str] = "row"
    """Word for an item, in the singular."""
    model: ClassVar[str] = ""
    """The model of ``model=auto``."""
    reader: ClassVar[str] = "csv"
    """The choice of group data that reads a file."""
    generator: ClassVar[str] = ""
    """The function that makes an `example`, as module:name; a subclass has this, or an `example` of its own."""

    # -- tables: what a text table of data=csv holds
    text_types: ClassVar[tuple[str, ...]] = ()
    """Types of Arrow that columns of a text are tried as; empty: no tables are read."""
    one_column: ClassVar[bool] = False
    """Whether an item is one word, so that one column is read."""
    any_columns: ClassVar[bool] = False
    """Whether columns are of several types, which their cells tell."""
    of_numbers: ClassVar[bool] = False
    """Whether cells are numbers, of which a column may count the rows."""
    leaves_out_constants: ClassVar[bool] = True
    """Whether a column of one value is no data."""
    truth_values: ClassVar[Mapping[str, int]] = {}
    """Words for 0 and 1, in small letters; empty: cells are not 0 and 1 alone."""
    expected: ClassVar[str] = ""
    """Description of a cell, for messages."""
    advice: ClassVar[str] = ""
    """Advice on what else may read the cells of a text."""
    reads_matrices: ClassVar[bool] = False
    """Whether an array in .npy, or a sparse matrix in .npz, is read as it is."""
    allows_missing: ClassVar[bool] = True
    """Whether cells may be missing."""
    column_types: ClassVar[tuple[str, ...]] = ()
    """Types of columns in a mixed table that can be read as this kind; the first: the type of every column."""

    # -- runs, descriptions, pictures
    has_rows: ClassVar[bool] = True
    """Whether items are rows of their own: a file may hold new ones."""
    has_columns: ClassVar[bool] = False
    """Whether clusters are described by the columns of a table; `from_object` then takes `whole`, whether all of these
    are data."""
    has_topics: ClassVar[bool] = False
    """Whether clusters are topics."""
    recorder: ClassVar[str] = "splitmerge_cli.runs.recorders.clusters:ClusterRecorder"
    """The class that says what a run records."""
    quantities: ClassVar[str] = "splitmerge_cli.studies.quantities:Table"
    """The class that says what posterior predictive checks measure."""
    pictures: ClassVar[tuple[str, ...]] = (
        "traces",
        "n_clusters",
        "co_clustering",
        "credible_ball",
        "dendrogram",
        "calibration",
    )
    """Names of pictures (`splitmerge_cli.plots.run.PICTURES`) that a run may have."""

    @property
    def is_numeric(self) -> bool:
        """Whether cells of a table are numbers alone."""
        return self.of_numbers or bool(self.truth_values)

    # -- data sets
    def check(self, dataset: Dataset) -> None:
        """Raise a `DataError` unless the values are as `Dataset` says."""

    def example(self, N: int, seed: int = 0) -> Dataset:
        """A small generated data set of N items, or of N documents."""
        module, _, name = self.generator.partition(":")
        made: Dataset = getattr(importlib.import_module(module), name)(N, seed=seed)
        return made

    def outline(self, N: int, D: int) -> Dataset:
        """A data set of N items, with D columns or words, whose cells are to be drawn: what models take as given."""
        raise NotImplementedError

    # -- readers
    def recognises(self, data: Any) -> bool:
        """Whether an object of a program is of this kind, whatever else could be made of it."""
        return False

    def from_object(self, data: Any, truth: Labels, name: str) -> Dataset:
        """Convert an object of a program, with true labels, to a data set; raises a `DataError`."""
        raise NotImplementedError

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        """Convert the first N rows of a table to a data set; raises a `DataError`."""
        raise NotImplementedError

    def fits(self, x: Any) -> Any:
        """Which numbers are cells."""
        return np.ones(np.shape(x), dtype=bool)

    # -- new items
    def new_items(self, dataset: Dataset, new: Any) -> Dataset:
        """New items, as the data of a run are.

        Parameters
        ----------
        dataset : Dataset
            The data of the run.
        new : object
            As `from_object` takes it. A table with named columns has those of the data, in any order.

        Raises
        ------
        DataError
            Other columns, or items that cannot be among the data.
        """
        import pandas as pd

        from splitmerge_cli.data.objects import as_pandas
        from splitmerge_cli.data.tables.table import names_apart

        new = as_pandas(new)
        if isinstance(new, pd.DataFrame) and dataset.columns:
            new = new.set_axis(names_apart(list(map(str, new.columns)))[0], axis=1)
            absent = [column for column in dataset.columns if column not in new.columns]
            if absent:
                raise DataError(f"new items: no column '{absent[0]}'; expected {', '.join(dataset.columns)}")
            new = new[dataset.columns]
        return self._align_items(dataset, new)

    def _align_items(self, dataset: Dataset, new: Any) -> Dataset:
        """Convert new items, and check that their columns are those of the data."""
        from splitmerge_cli.data.objects import from_object

        found = from_object(new, self.name)
        if found.values.shape[1:] != dataset.values.shape[1:]:
            raise DataError(f"new items: {found.values.shape[1]} columns; expected {dataset.values.shape[1]}")
        return found

    def stack(self, dataset: Dataset, new: Dataset) -> Dataset:
        """The items of the data, then the new ones; without labels and names."""
        from scipy.sparse import csr_array, vstack

        if isinstance(dataset.values, csr_array) or isinstance(new.values, csr_array):
            values: Any = csr_array(vstack([csr_array(dataset.values), csr_array(new.values)]))
        else:
            # whole numbers stay what they are, unless a cell is missing
            kept = dataset.values.dtype.kind == "f" or not new.missing
            values = np.concatenate([dataset.values, new.values.astype(dataset.values.dtype) if kept else new.values])
        return replace(dataset, values=values, truth=None, names=None, copies=None)

    def as_given(self, dataset: Dataset) -> Any:
        """The items as an object, in the words of their file: codes of another file may be others."""
        import pandas as pd

        if not dataset.columns:
            return dataset.values
        return pd.DataFrame(np.asarray(dataset.values), columns=dataset.columns)

    def reader_options(self, dataset: Dataset) -> dict[str, Any]:
        """Options with which a file of new items is read as the data were."""
        return {}

    # -- descriptions
    def facts(self, dataset: Dataset) -> dict[str, Any]:
        """Entries of a run's summary about its data."""
        return {key: value for key, value in dataset.meta.items() if key in ("documents", "notes", "repeated_rows")}

    def types_of(self, dataset: Dataset) -> tuple[ColumnType, ...]:
        """Type of each column, where clusters are described by columns."""
        raise NotImplementedError

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """Columns of ``cluster_summary.csv`` that tell a cluster from the others, where that has no columns.

        Parameters
        ----------
        here : numpy.ndarray
            bool ``[N]``: the items of the cluster.
        first : int
            Number of the first item, for items without names.
        """
        return {}

    def conversion(self, dataset: Dataset) -> str:
        """The kind that ``model=auto`` takes for these data; for a mixed table it may be one of its columns' own."""
        return self.name
