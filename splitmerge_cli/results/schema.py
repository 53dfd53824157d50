"""The columns of every file of a run, in one place."""

from collections.abc import Collection
from typing import Annotated, Self

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

TRACE = "trace"
MOVES = "moves"
PARTITIONS = "partitions"
DIAGNOSTICS = "diagnostics"
TABLES = (TRACE, MOVES, PARTITIONS, DIAGNOSTICS)
TOPICS = "topics"
TOPIC_WORDS = "topic_words"
TOPIC_DOCUMENTS = "topic_documents"
TOPIC_SIZES = "topic_sizes"
TOKENS = "tokens"
PERPLEXITY = "perplexity"
HELDOUT = "heldout"
"""What a chain writes while it runs of held-out documents; `PERPLEXITY` is made of it."""

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
Whole = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1)]


class _Said(BaseModel):
    """A part of ``summary.json``; it may say more."""

    model_config = ConfigDict(strict=True, extra="allow")


class Clustered(_Said):
    """A partition of the items."""

    criterion: str
    n_clusters: Size
    labels: list[Whole] | None = None


class HashTables(_Said):
    """Of a run of ``lshsm``: what its hash tables hold."""

    bits: Size
    empty: FiniteFloat
    empty_opposite: FiniteFloat
    without_direction: Whole


class Summary(_Said):
    """What every ``summary.json`` says."""

    run_id: str
    sampler: str
    model: str
    data: str
    schedule: str
    N: Size
    seed: Whole
    chains: Size
    iterations: list[Whole]
    seconds: list[FiniteFloat]
    diagnostics: dict[str, FiniteFloat | None]
    point_estimate: Clustered
    highest_log_joint: Clustered
    highest_log_lik: Clustered
    least_expected_vi: Clustered | None
    hash_tables: HashTables | None = None
    cache: dict[str, list[Whole]] | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        """Lists are as long as what they list."""
        estimates = [self.point_estimate, self.highest_log_joint, self.highest_log_lik, self.least_expected_vi]
        partitions = [estimate.labels for estimate in estimates if estimate and estimate.labels is not None]
        if any(len(labels) != self.N for labels in partitions):
            raise ValueError("labels of another number of items")
        if not len(self.iterations) == len(self.seconds) == self.chains:
            raise ValueError("another number of chains")
        return self


class Topic(_Said):
    """A topic of the best chain."""

    topic: Whole
    share: FiniteFloat
    coherence: FiniteFloat | None
    top_words: list[str]


class TopicsOf(_Said):
    """Where the topics come from."""

    chain: Whole


class Documents(_Said):
    """Sizes of a corpus."""

    documents: Size
    words: Size
    tokens: Size


class Hyperparameters(_Said):
    """Of topics."""

    gamma: FiniteFloat
    alpha0: FiniteFloat
    eta: Annotated[FiniteFloat, Field(gt=0)]


class Predicted(_Said):
    """How well held-out documents were predicted."""

    method: str
    tokens: Whole
    averaged: list[FiniteFloat]
    all_chains: FiniteFloat


class SummaryOfTopics(Summary):
    """What the summary of a run of topics says."""

    documents: Documents
    topics_of: TopicsOf
    topics: Annotated[list[Topic], Field(min_length=1)]
    hyperparameters: Hyperparameters
    true_topics: Whole | None
    perplexity: Predicted | None = None


RESAMPLED = ("concentration", "gamma", "alpha0")
"""Hyper-parameters that the trace has where they are resampled."""
OPTIONAL = (*RESAMPLED, "nmi", "ari")
"""Columns of the trace that only some runs have: the hyper-parameters; scores, where the truth is known."""


def core(table: str, optional: Collection[str] = ()) -> pa.Schema:
    """Columns of `table` without provenance: what a chain writes while it runs.

    Parameters
    ----------
    table : str
        A name such as `TRACE`.
    optional : collection of str
        Which of `OPTIONAL` the trace has.
    """
    extra = [pa.field(name, pa.float64()) for name in OPTIONAL if name in optional]
    return pa.schema(_COLUMNS[table] + (extra if table == TRACE else []))


def row_bytes(table: str, width: int, optional: Collection[str] = ()) -> int:
    """Bytes of one row of `table` in memory and in a stream, its list (if it has one) being of length `width`."""
    size = 0
    for field in core(table, optional):
        many = pa.types.is_list(field.type)
        value = field.type.value_type if many else field.type
        size += (width if many else 1) * value.bit_width // 8 + (4 if many else 0)
    return size


def full(table: str, optional: Collection[str] = (), metadata: bytes | None = None) -> pa.Schema:
    """Columns of `table` in its parquet file, with `metadata` under the key ``smcmc``."""
    schema = pa.schema([*core(table, optional), *_PROVENANCE])
    return schema if metadata is None else schema.with_metadata({METADATA_KEY: metadata})


_MAY_BE_NULL = {(DIAGNOSTICS, "chain"), (DIAGNOSTICS, "value"), (DIAGNOSTICS, "note"), (TOPICS, "coherence")} | {
    (TOPIC_DOCUMENTS, "name")
}
_MAY_BE_INFINITE = {(DIAGNOSTICS, "value"), (PERPLEXITY, "perplexity"), (PERPLEXITY, "averaged")}
_OF_EVERY_CHAIN = (TRACE, TOPICS, TOPIC_WORDS, TOPIC_DOCUMENTS, TOPIC_SIZES)
"""Tables that have rows of every chain of a finished run."""


def check_columns(table: str, found: pa.Schema, whole: bool) -> None:
    """Raise a `ValueError` unless a file has the columns of `table`.

    Parameters
    ----------
    table : str
        A name such as `TRACE`.
    found : pyarrow.Schema
        Columns of the file.
    whole : bool
        Whether it is the parquet file of a finished run, with provenance, or a stream.
    """
    optional = [name for name in OPTIONAL if name in found.names]
    expected = full(table, optional) if whole else core(table, optional)
    if not expected.equals(found, check_metadata=False):
        raise ValueError(f"columns {found.names}; expected {expected.names}")


def check_rows(table: str, found: pa.Table, chains: int, done: bool) -> None:
    """Raise a `ValueError` unless the rows of some columns of `table` can be those of a run.

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
        if pa.types.is_floating(values.type) and place not in _MAY_BE_INFINITE:
            if not pc.all(pc.is_finite(values)).as_py() and len(values) > values.null_count:
                raise ValueError(f"{name}: a number that is not finite")
    if "chain" in found.column_names and len(found):
        numbers = set(pc.unique(found["chain"]).to_pylist()) - {None}
        if not numbers <= set(range(chains)):
            raise ValueError("rows of a chain that the run does not have")
        if done and table in _OF_EVERY_CHAIN and len(numbers) < chains:
            raise ValueError("a chain without rows")
    if done and table in _OF_EVERY_CHAIN and not len(found):
        raise ValueError("no rows")
