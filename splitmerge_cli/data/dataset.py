"""The data set that every generator and reader returns, and the interface of its kind: the ground floor.

Nothing here imports another room. A kind says what the values are; what reads such data, draws, records or describes
them is named as ``module:name``, and imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pkgutil import resolve_name
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.data.bundles import BUNDLES, Bundles
from splitmerge_cli.data.values import COLUMN_TYPES as COLUMN_TYPES
from splitmerge_cli.data.values import ColumnType, Copies, Scales, blocks, in_units, log_jacobian, place_of, titles
from splitmerge_cli.received import DataError

FACTS = ("documents", "notes", "reduced", "repeated_rows", "scales")
"""Entries of ``Dataset.meta`` that a run's summary has."""
READ_AS = "columns are read as "
"""Beginning of the note that lists the types of the columns."""
OF_NETWORKS = ("directed", "values", "loops", "layer", "bipartite", "unknown", "nodes")
"""Options of `from_object` for networks."""
AS_NETWORK = "read as a network of "
"""Beginning of the note that says what of a network is read."""
Labels = NDArray[np.int32] | None
PICTURES = ("traces", "n_clusters", "co_clustering", "credible_ball", "dendrogram", "calibration")


class Kind:
    """A kind of data, and defaults for one whose items are rows of their own.

    A subclass with a `name` has an `example`, and reads what programs pass (`from_object`); all else has a default.
    """

    name: ClassVar[str] = ""
    """The ``kind`` of models; `Dataset` takes it in place of the kind."""
    item: ClassVar[str] = "row"
    """Word for an item, in the singular."""
    cluster: ClassVar[str] = "cluster"
    """Word for a cluster, in the singular."""
    outlier: ClassVar[str] = "outlier"
    """Word for an item that is nearly alone in its cluster, in the singular."""
    model: ClassVar[str] = ""
    """The model of ``model=auto``."""
    reader: ClassVar[str] = "csv"
    """The choice of group data that reads a file."""

    # -- named as module:name, and imported when they are asked for
    generator: ClassVar[str] = ""
    """The function that makes an `example`."""
    reading: ClassVar[str] = "splitmerge_cli.data.reading:KindReading"
    """The class that reads objects, tables and new items (a `splitmerge_cli.data.reading.KindReading`)."""
    recorder: ClassVar[str] = "splitmerge_cli.runs.recorders:Recorder"
    """The class that records a run."""
    quantities: ClassVar[str] = "splitmerge_cli.runs.checks:Quantities"
    """The class that measures quantities for posterior predictive checks; the default measures nothing."""

    # -- tables: what a text table of data=csv holds
    text_types: ClassVar[tuple[str, ...]] = ()
    """Types of Arrow that columns of a text are tried as; empty: no tables are read."""
    one_column: ClassVar[bool] = False
    """Whether an item is one word, so that one column is read."""
    any_columns: ClassVar[bool] = False
    """Whether columns are of several types, inferred from their cells."""
    of_numbers: ClassVar[bool] = False
    """Whether cells are numbers, of which a column may count the rows."""
    leaves_out_constants: ClassVar[bool] = True
    """Whether a column of one value is left out."""
    truth_values: ClassVar[Mapping[str, int]] = {}
    """Words for 0 and 1, in small letters; empty: cells are not 0 and 1 alone."""
    dtype: ClassVar[type] = np.float64
    """Type of the values where no cell is missing."""
    cells: ClassVar[str] = "numbers"
    """Plural of a cell, for messages."""
    expected: ClassVar[str] = ""
    """Description of a cell, for messages."""
    say_words: ClassVar[str] = ""
    """The function that says why this kind may suit a column of words better, as module:name: of a table, the number of
    a column, its different words, the number of its cells, and whether its name has to show it."""
    say_columns: ClassVar[str] = ""
    """Like `say_words`, for columns that are left out for their many different words: of a table, and these words by
    column."""
    advice: ClassVar[str] = ""
    """Advice on what else may read the cells of a text."""
    reads_matrices: ClassVar[bool] = False
    """Whether arrays of floats and sparse matrices are read as they are, from .npy and .npz as well."""
    allows_missing: ClassVar[bool] = True
    """Whether cells may be missing."""
    takes_exposure: ClassVar[bool] = False
    """Whether rows may have exposures (``data.exposure``)."""
    takes_sources: ClassVar[bool] = False
    """Whether rows may come from several files (``data.other``, ``data.files``)."""
    undecided: ClassVar[str] = ""
    """The function that says, of a table without a model, what it holds and which commands cluster it, as module:name,
    where tables of any columns are first read as this kind; empty: they are not."""
    column_types: ClassVar[tuple[str, ...]] = ()
    """Types of columns in a mixed table that can be read as this kind; the first: the type of every column."""

    # -- runs: how long chains are, where they start, what judges them
    iterations: ClassVar[int] = 10_000
    """Iterations of a chain where a fixed length is needed and none is named."""
    limits: ClassVar[tuple[int, int, int] | None] = None
    """Fewest and most iterations of a chain whose length nobody names, and most visits of items (iterations times
    items); None: as the values of a table ask for (`splitmerge_cli.runs.initial`)."""
    init: ClassVar[str] = "random"
    """Initial state of chains where none is named."""
    sampler: ClassVar[str] = ""
    """Sampler that ``sampler=auto`` takes in place of the one that races chose; empty: that one."""
    why_sampler: ClassVar[str] = ""
    """Why, behind its name."""
    sampler_crosses: ClassVar[bool] = False
    """Whether its proposals do not depend on where a chain is: other starts change little."""
    has_near_pairs: ClassVar[bool] = False
    """Whether its `model` has near pairs of items."""
    own_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that name a column for the model of this kind: a table is then read as this kind, and the column is no
    truth."""
    asked_for: ClassVar[tuple[str, ...]] = ()
    """Keys of data by which a command asks for more than the simplest such data; chains then search for their start."""
    no_search: ClassVar[str] = ""
    """Reason why chains start neither by a search for the best mode, nor from one cluster and from single items to be
    compared; empty: they can."""
    start: ClassVar[str] = "splitmerge_cli.runs.starts:Start"
    """The class that chooses where chains start (a `splitmerge_cli.runs.starts.Start`)."""

    # -- descriptions, pictures
    has_columns: ClassVar[bool] = False
    """Whether clusters are described by the columns of a table; `from_object` then takes `whole`, whether all of these
    are data."""
    no_update: ClassVar[str] = ""
    """Reason why no items can be added to a posterior; empty: they can."""
    tables: ClassVar[Mapping[str, str]] = {}
    """Columns of further tables that a run writes, by name of the table (`splitmerge_cli.runs.store.schema`)."""
    tables_of_chains: ClassVar[tuple[str, ...]] = ()
    """The `tables` with rows for every chain of a finished run."""
    summary: ClassVar[str] = "splitmerge_cli.runs.store.summary:Summary"
    """The class that checks ``summary.json`` of a run that has such tables."""
    object_options: ClassVar[tuple[str, ...]] = ()
    """Further options of `from_object`; `columns` and `types` if these choose no columns of a table."""
    object_init: ClassVar[str] = ""
    """Initial state of chains on an object of a program; empty: as of a file."""
    growing: ClassVar[str] = ""
    """Warning about a prior whose clusters grow with the data; empty: none."""
    summary_keys: ClassVar[Mapping[str, tuple[float, str, str]]] = {}
    """Keys of ``smcmc summary``: an example of the value, what it shows, and the function of a run and a value that
    gives the lines, as module:name."""
    cases: ClassVar[str] = ""
    """Table of the small cases that ``smcmc verify`` checks, by name of a model's class, as module:name: a
    `splitmerge_cli.verify.cases.OwnCase` each; empty: a model has the case of its ``reference_log_lik``."""
    answers: ClassVar[str] = ""
    """The class that estimates and judges, and writes and describes further tables at the end of a run (a
    `splitmerge_cli.runs.answers.Answers`); empty: clusters are described."""
    pictures: ClassVar[tuple[str, ...]] = PICTURES
    """Names of pictures that a run may have."""
    drawings: ClassVar[str] = ""
    """The table of the kind's own pictures, as module:name: `splitmerge_cli.analysis.plots.races.Picture` by name. One
    of a general name (`splitmerge_cli.analysis.plots.run.PICTURES`) takes its place."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # a kind equals its name, which data sets held up to version 0.3
    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if isinstance(other, Kind) else other)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def is_numeric(self) -> bool:
        """Whether cells of a table are numbers alone."""
        return self.of_numbers or bool(self.truth_values)

    # -- data sets
    def check(self, dataset: Dataset) -> None:
        """Raise a `DataError` unless the values are as `Dataset` says."""

    def example(self, N: int, seed: int = 0) -> Dataset:
        """A small generated data set of N items, or of N documents."""
        dataset: Dataset = resolve_name(self.generator)(N, seed=seed, **self.example_options(N))
        return dataset

    def example_for(self, model: Any, N: int, seed: int = 0) -> Dataset:
        """The example with what a class of models reads of it: no missing cells, and the columns of some types, where
        the class accepts no others."""
        dataset = self.example(N, seed)
        if not model.accepts(dataset)[0] and dataset.missing:
            dataset = resolve_name(self.generator)(N, seed=seed, **self.example_options(N), missing=0.0)
        types = dataset.types or ()
        if not types or model.accepts(dataset)[0]:
            return dataset
        names = dataset.column_names

        def take(chosen: Sequence[int]) -> Dataset:
            parts = tuple(types[j] for j in chosen), [names[j] for j in chosen]
            return replace(dataset, values=dataset.values[:, chosen], types=parts[0], columns=parts[1])

        read = [j for j in range(len(types)) if model.accepts(take([j]))[0]]
        return take(read) if read else dataset

    def example_options(self, N: int) -> dict[str, Any]:
        """Options of the `generator` for an `example`."""
        return {}

    def outline(self, N: int, D: int) -> Dataset:
        """A data set of N items, with D columns or words, whose cells are to be drawn: what models take as given."""
        raise NotImplementedError

    def take(self, dataset: Dataset, rows: NDArray[np.int64] | slice) -> dict[str, Any]:
        """Fields of a `Dataset` with the values of these rows alone."""
        return {"values": dataset.values[rows]}

    # -- readers
    def recognises(self, data: Any) -> bool:
        """Whether an object of a program is certainly of this kind."""
        return False

    def part_of(self, data: Any) -> Any | None:
        """The part, all or a column, of what a program gives that is certainly this kind; None without one."""
        return data if self.recognises(data) else None

    def from_object(self, data: Any, truth: Labels, name: str, **options: Any) -> Dataset:
        """Convert an object of a program, with true labels, to a data set; raises a `DataError`."""
        return self._reading().from_object(data, truth, name, **options)

    def from_table(self, table: Any, wanted: Any, N: int | None, header: str | bool) -> Dataset:
        """Convert the first N rows of a table to a data set; raises a `DataError`."""
        return self._reading().from_table(table, wanted, N, header)

    def fits(self, x: Any) -> Any:
        """Which numbers can be cells."""
        return np.ones(np.shape(x), dtype=bool)

    def join(self, first: Any, other: Any, names: Any) -> Any:
        """Append the rows of a second file (``data.other``) to a table, where the kind `takes_sources`; `names`:
        ``data.names``."""
        raise NotImplementedError

    def why_table(self, table: Any) -> str:
        """Why a table holds data of this kind, and not rows of a table; empty: it does not, or nothing tells."""
        return ""

    def note_table(self, table: Any, columns: Sequence[int]) -> list[str]:
        """Note that a table of any columns, of which `columns` are read, may hold data of this kind; return the
        overrides that read it so, if any."""
        return []

    # -- new items
    def options_of_object(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Options with which the object of a run was read, by the run's summary, which is empty for an unfinished
        run."""
        return {}

    def new_items(self, dataset: Dataset, new: Any) -> Dataset:
        """Convert new items, as `from_object` takes them, to what the data of a run are; a table with named columns has
        the columns of the data, in any order. A `DataError`: other columns, or items that cannot be among the data."""
        return self._reading().new_items(dataset, new)

    def stack(self, dataset: Dataset, new: Dataset) -> Dataset:
        """The items of the data, then the new ones; without labels and names."""
        return self._reading().stack(dataset, new)

    def as_given(self, dataset: Dataset) -> Any:
        """The items as an object, in the words of their file: codes of another file may be others."""
        return self._reading().as_given(dataset)

    def _reading(self) -> Any:
        return resolve_name(self.reading)(self)

    def reader_options(self, dataset: Dataset) -> dict[str, Any]:
        """Options with which a file of new items is read as the data were."""
        return {}

    # -- descriptions
    def require_rows(self, asked: str) -> None:
        """Do nothing where items are rows, each of which has a density of its own, and a file may hold more of them;
        else raise a `ConfigError` about what was `asked`."""

    def count_values(self, dataset: Dataset, options: Mapping[str, Any]) -> int:
        """Values that an iteration of a model with these options visits, at 50 ns each."""
        values = dataset.values
        return int(values.size) if isinstance(values, np.ndarray) else getattr(values, "nnz", 0) + dataset.N

    def in_shards(self, types: Mapping[Any, str] | None) -> tuple[bool, bool]:
        """How rows in shards are read: whether cells may be missing, and whether all are 0 or 1; raises a `DataError`
        for `types` of columns where all are of one."""
        raise NotImplementedError

    def facts(self, dataset: Dataset) -> dict[str, Any]:
        """Entries of a run's summary about its data."""
        return {key: value for key, value in dataset.meta.items() if key in FACTS}

    def types_of(self, dataset: Dataset) -> tuple[ColumnType, ...]:
        """Type of each column, where clusters are described by columns."""
        return ()

    def options_of_items(self, options: dict[str, Any]) -> dict[str, Any]:
        """Keep the options of a data set that decide which items its file has."""
        return options

    def columns_to_try(self, mixed: Dataset | None) -> list[list[str] | None]:
        """Which columns of a table models of this kind may read, in the order in which they are tried; None: all.
        `mixed` is the table read as a mixed one, if it can be."""
        suited = self._find_columns(mixed)
        return [None, suited] if suited else [None]

    def _find_columns(self, mixed: Dataset | None) -> list[str]:
        """Find the columns of a mixed table whose types this kind reads."""
        if mixed is None or mixed.types is None or not mixed.meta.get("typed"):
            return []
        columns = zip(mixed.meta["typed"], mixed.types, mixed.values.T, strict=True)
        suited = ((name, cells) for name, type, cells in columns if type.type in self.column_types)
        return [name for name, cells in suited if self.allows_missing or not np.isnan(cells).any()]

    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """Columns of ``cluster_summary.csv`` that tell a cluster from the others, where that has no columns. `here`,
        bool ``[N]``: the items of the cluster; `first`: number of the first item, for items without names."""
        return {}

    def statistics(self, dataset: Dataset, labels: Any) -> Any:
        """Compute statistics by column and cluster, for `labels` ``[N]``; None where clusters have none."""
        return None

    def describe_clusters(
        self,
        dataset: Dataset,
        labels: NDArray[np.int64],
        order: NDArray[np.int64],
        known: Any,
        first: int,
        first_cluster: int,
    ) -> dict[str, list[Any]]:
        """Columns of ``cluster_summary.csv``: an entry for each cluster in `order`. `known`: the `statistics`; `first`
        and `first_cluster`: numbers of the first item, and of the cluster with label 0."""
        descriptions = [self.describe(dataset, labels == k, first) for k in order]
        return {column: [one[column] for one in descriptions] for column in descriptions[0]}

    def describe_columns(self, known: Any, first_cluster: int) -> Any:
        """Columns of ``column_summary.csv`` by name; None where clusters have no `statistics`."""
        return None

    def given_columns(self, dataset: Dataset, options: Mapping[str, Any]) -> list[int]:
        """Numbers of columns that a model with these options takes as given: they have no density."""
        return []

    def log_steps(self, dataset: Dataset, options: Mapping[str, Any]) -> NDArray[np.float64]:
        """Terms that make probabilities of numbers in real columns comparable with densities, ``[N]``: minus the logs
        of the numbers' steps, on the scales of their columns, where a model with these options has such
        probabilities."""
        return np.zeros(dataset.N)

    def resamples_scales(self, dataset: Dataset, options: Mapping[str, Any]) -> bool:
        """Whether ``model=auto`` resamples the scales of real columns with these options: it does if cells are
        dense."""
        return isinstance(dataset.values, np.ndarray)

    def conversion(self, dataset: Dataset) -> str:
        """The kind that ``model=auto`` takes for these data; for a mixed table it may be one of its columns' own."""
        return self.name


KINDS = "splitmerge_cli.kinds"
"""The room that finds kinds by their names. Who passes a name in place of a kind has it imported."""


def kinds() -> Mapping[str, Kind]:
    """Return every kind of data, by its name."""
    kind_by_name: Mapping[str, Kind] = import_module(KINDS).kinds()
    return kind_by_name


def get_kind(kind: Kind | str) -> Kind:
    """Return a kind, or the one of this name; raises a `DataError`."""
    if isinstance(kind, Kind):
        return kind
    chosen: Kind = import_module(KINDS).get_kind(kind)
    return chosen


def kind_of_any_table() -> Kind:
    """Return the kind as which a table of any columns is first read."""
    return next(kind for kind in kinds().values() if kind.undecided)


def say_models(data: Any, words: Sequence[str]) -> None:
    """Raise what a table without a model holds and which commands cluster it, by the `words` that were typed."""
    resolve_name(kind_of_any_table().undecided)(data, words)


class _KindField:
    """The field of a data set that is given a kind, or the name of one, and holds the kind."""

    @overload
    def __get__(self, dataset: None, owner: type) -> _KindField: ...
    @overload
    def __get__(self, dataset: Dataset, owner: type) -> Kind: ...
    def __get__(self, dataset: Dataset | None, owner: type) -> _KindField | Kind:
        if dataset is None:  # dataclasses ask the class whether it has a default
            raise AttributeError("kind")
        kind: Kind = dataset.__dict__["kind"]
        return kind

    def __set__(self, dataset: Dataset, kind: Kind | str) -> None:
        dataset.__dict__["kind"] = get_kind(kind)


@dataclass(frozen=True)
class Dataset:
    """Observations, and their true clusters where known.

    Attributes
    ----------
    name : str
        Short name for files and titles.
    kind : Kind
        The kind of data (`splitmerge_cli.kinds`); a model reads one. Its name may be given in its place.
    values : numpy.ndarray, scipy.sparse.csr_array or Corpus
        As the class of the kind says: one item in each row (``documents``: in each training token).
    truth : numpy.ndarray or None
        int32 ``[N]``, true cluster of each item, -1 if it is not known.
    vocabulary : list of str or None
        ``tokens``: the token of each code; ``documents``: the words.
    columns : list of str or None
        ``binary``, ``points``, ``mixed``, ``records``: name of each column, where the file gives one.
    positions : tuple of int or None
        Place of each column in its table, from 0, where columns of that are left out, or in another order.
    types : tuple of ColumnType or None
        ``mixed``, ``records``: the type of each column.
    names : list of str or None
        Name of each item, where the data give one.
    meta : dict
        How the data came about: parameters of the generator, or the file. ``notes``, where there is something to tell
        the user of how the data were read: list of str, a line each (see `notes`).
    copies : Copies or None
        The rows of the table, where rows that repeat others are read once.
    is_recorded : bool
        Whether the numbers are of a table of the user's own, which records real columns to some step (the option
        `resolution` of models of such columns). Generated and published data are taken as they are.
    scales : tuple of Scale or None, or None
        ``points``, ``mixed``: the scale of each column on which the `values` are (`splitmerge_cli.data.values`); None
        if all are in the units of the data.
    reduction : Reduction or None
        ``points``, ``mixed``: how real columns became principal components (`splitmerge_cli.data.tables.scaled`).
    exposure : numpy.ndarray or None
        ``counts``: float64 ``[N]``, positive: what the counts of each row are per unit of, such as its total.
    bundles : Bundles or None
        Which rows are one item of the model, how often each counts, and which may not share a cluster; None: every row
        is an item that counts once.
    relations : Relations or None
        ``graph``: what the network has beyond the simple undirected one: directions, weights, layers, two kinds of
        nodes, columns of nodes. The model reads these in place of the `values`.
    sources : numpy.ndarray or None
        int32 ``[N]``, the file of each row, where a cluster has at most one row of a file; of a kind that
        `takes_sources`.

    Raises
    ------
    DataError
        An unknown kind; values that are not as it says; no items; another number of true labels or of names than of
        items.
    """

    name: str
    kind: _KindField = _KindField()
    values: Any  # type: ignore[misc]  # the field above has no default
    truth: NDArray[np.int32] | None = None
    vocabulary: list[str] | None = None
    columns: list[str] | None = None
    types: tuple[ColumnType, ...] | None = None
    names: list[str] | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    is_recorded: bool = False
    positions: tuple[int, ...] | None = None
    copies: Copies | None = None
    scales: Scales | None = None
    reduction: Any = None
    exposure: NDArray[np.float64] | None = None
    bundles: Bundles | None = None
    relations: Any = None
    sources: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        self.kind.check(self)
        if self.N == 0:
            raise DataError(f"{self.name}: no items; expected at least one")
        if self.truth is not None and len(self.truth) != self.N:
            raise DataError(f"{self.name}: {len(self.truth)} true labels for {self.N} items")
        if self.names is not None and len(self.names) != self.N:
            raise DataError(f"{self.name}: {len(self.names)} names for {self.N} items")
        if self.bundles is not None and len(self.bundles.items) != self.N:
            raise DataError(f"{self.name}: bundles of {len(self.bundles.items)} rows; expected {self.N}")
        if self.relations is not None and self.relations.N != self.N:
            raise DataError(f"{self.name}: relations of {self.relations.N} nodes; expected {self.N}")

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; without any, their numbers in the table, as notes have them."""
        if self.columns:
            return list(self.columns)
        return [f"column {j + 1}" for j in self.positions or range(self.values.shape[1])]

    @property
    def column_titles(self) -> list[str]:
        """Names of the columns for pictures, with their scales."""
        return titles(self.column_names, self.scales)

    @property
    def column_keys(self) -> list[str | int]:
        """The columns that are read from a file, as keys name them: a number is no name that a first row may hold."""
        return [key if self.columns else int(key) for key in self.meta["typed"]]

    def place(self, i: int, j: int) -> str:
        """A cell as messages name it."""
        return place_of(i, j, self.columns, self.positions)

    def read_columns(self, cells: NDArray[Any]) -> NDArray[Any]:
        """New rows without names of columns. From a table as wide as the file of the data, the columns that are
        read."""
        whole = self.positions is None or cells.ndim != 2 or cells.shape[1] != self.meta.get("width")
        return cells if whole else cells[:, list(self.positions or ())]

    @property
    def N(self) -> int:
        """Number of items."""
        return int(self.values.shape[0])

    @property
    def counts(self) -> NDArray[np.float64] | None:
        """float64 ``[N]``: how often each row counts; None: all once."""
        if self.bundles is None or self.bundles.weights is None:
            return None
        return np.asarray(self.bundles.unit * self.bundles.weights, dtype=np.float64)

    @property
    def times(self) -> float:
        """How often an item counts on average, a row unless rows are joined; 0 without whole numbers as weights."""
        return 0.0 if self.bundles is None or self.bundles.unit != 1.0 else float(self.bundles.mass.mean())

    @property
    def smallest_K(self) -> int:
        """Fewest clusters that the data allow."""
        return 1 if self.bundles is None else self.bundles.smallest_K

    @property
    def facts_of_bundles(self) -> dict[str, Any]:
        """Entries of a run's summary about rows that are bundled: none where every row is an item that counts once."""
        return {} if self.bundles is None else {BUNDLES: self.bundles.entry}

    @property
    def pairs_apart(self) -> NDArray[np.int32] | None:
        """int32 ``[pairs, 2]``: pairs of items that may not share a cluster; None where rows are no bundles."""
        return None if self.bundles is None else self.bundles.pairs_apart

    @property
    def item_of_row(self) -> NDArray[np.int32]:
        """int32 ``[N]``: the item of each row."""
        return np.arange(self.N, dtype=np.int32) if self.bundles is None else self.bundles.items

    @property
    def unit(self) -> float:
        """The power of a row's likelihood that one count of its weight is; 1 without fractional weights."""
        return 1.0 if self.bundles is None else self.bundles.unit

    def sum_by_item(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add the values of rows up for each item, each as often as its row counts."""
        if self.bundles is None:
            return values
        return np.asarray(np.bincount(self.bundles.items, self.bundles.counts * values), dtype=np.float64)

    def first_rows_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first of these rows for each item, ascending by item."""
        chosen = np.sort(rows)
        return chosen if self.items is None else chosen[np.unique(self.items[chosen], return_index=True)[1]]

    @property
    def row_sizes(self) -> NDArray[np.float64] | None:
        """float64 ``[N]``: what each row adds to the size of its cluster; None: 1."""
        return None if self.bundles is None else self.bundles.row_sizes

    @property
    def unit_names(self) -> list[str] | None:
        """The unit of each row, where rows of one unit stay together."""
        bundles = self.bundles
        return None if bundles is None or bundles.names is None else [bundles.names[i] for i in bundles.items]

    @property
    def items(self) -> NDArray[np.int32] | None:
        """int32 ``[N]``: the item of each row, where some rows are one item; else None."""
        bundles = self.bundles
        return None if bundles is None or bundles.n_items == self.N else bundles.items

    @cached_property
    def with_repeats(self) -> Dataset:
        """The table with every row as often as it counts, and every row an item."""
        if self.bundles is None:
            return self
        if self.bundles.weights is None:
            return replace(self, bundles=None)
        return replace(self.take(np.repeat(np.arange(self.N), self.bundles.weights)), bundles=None)

    @cached_property
    def truth_of_items(self) -> Labels:
        """int32 ``[items]``: the true label of each item, -1 where its rows have several or none."""
        if self.truth is None or self.bundles is None:
            return self.truth
        first = self.truth[self.bundles.first_rows]
        differs = np.bincount(self.bundles.items, first[self.bundles.items] != self.truth) > 0
        return np.where(differs, -1, first).astype(np.int32)

    @cached_property
    def missing(self) -> int:
        """Number of missing cells; 0 for data that are no table."""
        x = self.values
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            return 0
        return sum(int(np.isnan(block).sum()) for _, block in blocks(x) if np.isnan(block.min()))

    @property
    def first_missing(self) -> str:
        """The first missing cell and the number of them, for messages; at least one must be missing."""
        start, first = next((start, block) for start, block in blocks(self.values) if np.isnan(block.min()))
        i = start + int(np.isnan(first).any(axis=1).argmax())
        place = self.place(i, int(np.isnan(self.values[i]).argmax()))
        return f"{place}: a missing cell" + (f", one of {self.missing}" if self.missing > 1 else "")

    @property
    def values_in_units(self) -> Any:
        """The values in the units of the data."""
        return self.values if self.scales is None else in_units(self.values, self.scales)

    @property
    def original(self) -> Dataset:
        """The table whose columns describe clusters: that before its columns were reduced."""
        table: Dataset = self if self.reduction is None else self.reduction.table
        return table

    @property
    def log_jacobian(self) -> NDArray[np.float64]:
        """float64 ``[N]``: what is added to the log density of each row to make it one in the units of the data."""
        if self.reduction is not None:
            found: NDArray[np.float64] = self.reduction.log_jacobian
            return found
        return np.zeros(self.N) if self.scales is None else log_jacobian(self.values, self.scales)

    def count_columns(self, type: str) -> int:
        """Columns of a table that are of a type, by its `types`."""
        return sum(column.type == type for column in self.types or ())

    def take(self, rows: NDArray[np.int64] | slice) -> Dataset:
        """These rows of a table alone, without true labels and names."""
        reduction = None if self.reduction is None else self.reduction.take(rows)
        exposure = None if self.exposure is None else self.exposure[rows]
        bundles = None if self.bundles is None else self.bundles.take(rows)
        further: dict[str, Any] = {"reduction": reduction, "exposure": exposure, "bundles": bundles}
        further |= {"sources": None if self.sources is None else self.sources[rows], **self.kind.take(self, rows)}
        return replace(self, truth=None, names=None, copies=None, **further)

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the data were read, a line each, which a run prints and stores."""
        return list(self.meta.get("notes", ()))

    @property
    def n_tokens(self) -> int:
        """Size of the vocabulary (0 for data that are not tokens)."""
        return len(self.vocabulary) if self.vocabulary is not None else 0
