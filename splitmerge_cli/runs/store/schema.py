"""Columns of all tables that a run writes."""

from collections.abc import Collection, Iterable

import pyarrow as pa

from splitmerge_cli.received import Refused
from splitmerge_cli.runs.store.names import (
    DIAGNOSTICS,
    HELDOUT,
    MOVES,
    PARTITIONS,
    PERPLEXITY,
    SIMILARITY,
    TOKENS,
    TOPIC_DOCUMENTS,
    TOPIC_SIZES,
    TOPIC_WORDS,
    TOPICS,
    TRACE,
)

METADATA_KEY = b"smcmc"
"""Key of the provenance, as JSON, in the metadata of every parquet file."""

_PROVENANCE = [pa.field("run_id", pa.string()), pa.field("sampler", pa.string()), pa.field("seed", pa.int64())]

# words come up again and again
_WORD = pa.dictionary(pa.int32(), pa.string())

_COLUMNS = {
    TRACE: [
        pa.field("chain", pa.int32()),
        pa.field("iteration", pa.int64()),
        pa.field("seconds", pa.float64()),
        pa.field("log_joint", pa.float64()),
        pa.field("log_lik", pa.float64()),
        pa.field("n_clusters", pa.int32()),
        pa.field("K", pa.int32()),
        pa.field("largest", pa.list_(pa.float64())),
    ],
    MOVES: [
        pa.field("chain", pa.int32()),
        pa.field("move", pa.string()),
        pa.field("proposed", pa.int64()),
        pa.field("accepted", pa.int64()),
        pa.field("null", pa.int64()),
        pa.field("seconds", pa.float64()),
    ],
    PARTITIONS: [
        pa.field("chain", pa.int32()),
        pa.field("iteration", pa.int64()),
        pa.field("K", pa.int32()),
        pa.field("labels", pa.list_(pa.int32())),
    ],
    DIAGNOSTICS: [
        pa.field("quantity", pa.string()),
        pa.field("chain", pa.int32()),
        pa.field("value", pa.float64()),
        pa.field("note", pa.string()),
    ],
    SIMILARITY: [
        pa.field("row", pa.int32()),
        pa.field("other", pa.int32()),
        pa.field("probability", pa.float64()),
    ],
    TOPICS: [
        pa.field("chain", pa.int32()),
        pa.field("topic", pa.int32()),
        pa.field("tokens", pa.int64()),
        pa.field("share", pa.float64()),
        pa.field("weight", pa.float64()),
        pa.field("documents", pa.int64()),
        pa.field("coherence", pa.float64()),
        pa.field("top_words", pa.list_(pa.string())),
        pa.field("top_probabilities", pa.list_(pa.float64())),
    ],
    TOPIC_WORDS: [
        pa.field("chain", pa.int32()),
        pa.field("topic", pa.int32()),
        pa.field("word", _WORD),
        pa.field("count", pa.int64()),
        pa.field("probability", pa.float64()),
    ],
    TOPIC_DOCUMENTS: [
        pa.field("chain", pa.int32()),
        pa.field("document", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("topic", pa.int32()),
        pa.field("count", pa.int64()),
        pa.field("probability", pa.float64()),
    ],
    TOPIC_SIZES: [
        pa.field("chain", pa.int32()),
        pa.field("iteration", pa.int64()),
        pa.field("sizes", pa.list_(pa.int32())),
    ],
    TOKENS: [
        pa.field("document", pa.int32()),
        pa.field("position", pa.int32()),
        pa.field("word", _WORD),
        pa.field("topic", pa.int32()),
    ],
    PERPLEXITY: [
        pa.field("chain", pa.int32()),
        pa.field("iteration", pa.int64()),
        pa.field("seconds", pa.float64()),
        pa.field("method", pa.string()),
        pa.field("log_lik", pa.float64()),
        pa.field("tokens", pa.int64()),
        pa.field("perplexity", pa.float64()),
        pa.field("averaged", pa.float64()),
    ],
    HELDOUT: [
        pa.field("chain", pa.int32()),
        pa.field("iteration", pa.int64()),
        pa.field("seconds", pa.float64()),
        pa.field("tokens", pa.int64()),
        # log likelihood of each document
        pa.field("log_lik", pa.list_(pa.float64())),
    ],
}

SCORES = ("nmi", "ari")
"""Columns of the trace where the truth is known."""
OPTIONAL = SCORES
"""Columns of the trace that only some runs have. A new one is named here, and nowhere else but where it is recorded.
Before them stand hyper-parameters that are resampled, which models and priors name (`hyperparameters`)."""
PARAMETERS = "parameters"
"""Column of the partitions where b0 or kappa0 is resampled: b0 in the order of the columns (one with covariance=iso),
kappa0, those that are resampled."""

CLUSTERS = ("row", "cluster", "name", "certainty", "second", "second_probability")
"""Columns of ``clusters.csv``: `name` where the items have names; of runs made earlier the last three are missing."""
MEMBERSHIP = CLUSTERS[3:]
INTERVAL = "n_clusters_95"
"""Key of ``summary.json``: the 95 % interval of the number of clusters. Runs made before there was this key lack it."""
COPY_OF = "copy_of"
"""Last column of ``clusters.csv`` where rows that repeat others are read once: the row that a row repeats."""
CLUSTER_SUMMARY = ("cluster", "size", "share", "certainty", "prototype", "telling", "density", "density_outside")
"""Columns of ``cluster_summary.csv``: the last two of networks."""
COLUMN_SUMMARY = ("cluster", "column", "level", "mean", "low", "high", "divergence")
"""Columns of ``column_summary.csv``."""

DOCUMENTS = ("row", "name", "tokens", "topic", "proportion", "low", "high", "second", "second_proportion")
"""Columns of ``documents.csv``: `row` counts from 1, `name` where the documents have names; in runs made earlier the
first is `document`, from 0."""


def recorded_columns(table: str, optional: Collection[str] = ()) -> pa.Schema:
    """Columns of `table` without provenance: what a chain writes while it runs.

    Parameters
    ----------
    table : str
        A name such as `TRACE`.
    optional : collection of str
        Which of `OPTIONAL`, and which hyper-parameters the trace has, and `PARAMETERS` where the partitions have them.
    """
    extra = []
    if table == TRACE:
        names = (*hyperparameters(optional), *(name for name in OPTIONAL if name in optional))
        extra = [pa.field(name, pa.float64()) for name in names]
    elif table == PARTITIONS and PARAMETERS in optional:
        extra = [pa.field(PARAMETERS, pa.list_(pa.float64()))]
    return pa.schema(_COLUMNS[table] + extra)


def hyperparameters(columns: Iterable[str]) -> list[str]:
    """Columns of a trace that are resampled hyper-parameters."""
    others = {field.name for field in (*_COLUMNS[TRACE], *_PROVENANCE)} | {*OPTIONAL, PARAMETERS}
    return [name for name in columns if name not in others]


def row_bytes(table: str, width: int, optional: Collection[str] = (), parameters: int = 0) -> int:
    """Bytes of a `table` row in memory and in a stream, its list (if it has one) being of length `width`, that of
    `PARAMETERS` of length `parameters`."""
    size = 0
    for field in recorded_columns(table, optional):
        many = pa.types.is_list(field.type)
        value = field.type.value_type if many else field.type
        length = parameters if field.name == PARAMETERS else width
        size += (length if many else 1) * value.bit_width // 8 + (4 if many else 0)
    return size


def full(table: str, optional: Collection[str] = (), metadata: bytes | None = None) -> pa.Schema:
    """Columns of `table` in its parquet file, with `metadata` under the key ``smcmc``."""
    schema = pa.schema([*recorded_columns(table, optional), *_PROVENANCE])
    return schema if metadata is None else schema.with_metadata({METADATA_KEY: metadata})


_MAY_BE_NULL = {(DIAGNOSTICS, "chain"), (DIAGNOSTICS, "value"), (DIAGNOSTICS, "note"), (TOPICS, "coherence")} | {
    (TOPIC_DOCUMENTS, "name")
}
_MAY_BE_INFINITE = {(DIAGNOSTICS, "value"), (PERPLEXITY, "perplexity"), (PERPLEXITY, "averaged")}
_OF_EVERY_CHAIN = (TRACE, TOPICS, TOPIC_WORDS, TOPIC_DOCUMENTS, TOPIC_SIZES)
"""Tables that have rows for every chain, once the run is finished."""


def find_difference(found: pa.Schema, expected: pa.Schema) -> str:
    """Describe the first column that is not as expected, for messages; empty where all are."""
    for field in expected:
        if field.name not in found.names:
            return f"no column '{field.name}'"
        if (other := found.field(field.name).type) != field.type:
            return f"column '{field.name}' holds {other}; expected {field.type}"
    for name in found.names:
        if name not in expected.names:
            return f"a column '{name}'; expected none of this name"
    return ""


def check_columns(table: str, found: pa.Schema, whole: bool) -> None:
    """Raise `Refused` unless a file has the columns of `table`, in any order.

    Parameters
    ----------
    table : str
        A name such as `TRACE`.
    found : pyarrow.Schema
        Columns of the file.
    whole : bool
        Whether it is the parquet file of a finished run, with provenance, or a stream.
    """
    optional = [name for name in (*OPTIONAL, PARAMETERS) if name in found.names]
    if table == TRACE:
        optional += hyperparameters(found.names)
    expected = full(table, optional) if whole else recorded_columns(table, optional)
    if difference := find_difference(found, expected):
        raise Refused(table, f"{difference}, as another version of the program may have recorded it")


def check_rows(table: str, found: pa.Table, chains: int, done: bool) -> None:
    """Raise a `ValueError` unless the rows of `table`, in the columns that were read, can be those of a run.

    Parameters
    ----------
    table : str
        A name such as `TRACE`.
    found : pyarrow.Table
        Some of its columns.
    chains : int
        Chains of the run.
    done : bool
        Whether it is finished.
    """
    import pyarrow.compute as pc

    found.validate(full=True)
    for name, column in zip(found.column_names, found.columns, strict=True):
        place = (table, name)
        # a list has no gaps either
        values = pc.list_flatten(column) if pa.types.is_list(column.type) else column
        if place not in _MAY_BE_NULL and (column.null_count or values.null_count):
            raise ValueError(f"{name}: a value is missing")
        if len(column) and pa.types.is_list(column.type) and pc.min(pc.list_value_length(column)).as_py() == 0:
            raise ValueError(f"{name}: an empty list")
        if pa.types.is_integer(values.type) and (pc.min(values).as_py() or 0) < 0:
            raise ValueError(f"{name}: a number below 0")
        finite = not pa.types.is_floating(values.type) or place in _MAY_BE_INFINITE or values.null_count == len(values)
        if not finite and not pc.all(pc.is_finite(values)).as_py():
            raise ValueError(f"{name}: a number that is not finite")
    if "chain" in found.column_names and len(found):
        numbers = set(pc.unique(found["chain"]).to_pylist()) - {None}
        if not numbers <= set(range(chains)):
            raise ValueError("rows of a chain that the run does not have")
        if done and table in _OF_EVERY_CHAIN and len(numbers) < chains:
            raise ValueError("a chain without rows")
    if done and table in _OF_EVERY_CHAIN and not len(found):
        raise ValueError("no rows")
