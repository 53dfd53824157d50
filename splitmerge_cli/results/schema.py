"""The columns of every file of a run, in one place."""

from collections.abc import Collection
from types import NoneType

import pyarrow as pa

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
SUMMARY: dict[str, type | tuple[type, ...]] = {
    "run_id": str,
    "sampler": str,
    "model": str,
    "data": str,
    "schedule": str,
    "N": int,
    "seed": int,
    "chains": int,
    "iterations": list,
    "seconds": list,
    "diagnostics": dict,
    "point_estimate": dict,
    "highest_log_joint": dict,
    "highest_log_lik": dict,
    "least_expected_vi": (dict, NoneType),
}
"""Keys of every ``summary.json``, and what stands under them."""
SUMMARY_OF_TOPICS: dict[str, type | tuple[type, ...]] = {
    "documents": dict,
    "topics_of": dict,
    "topics": list,
    "hyperparameters": dict,
    "true_topics": (int, NoneType),
}
"""Keys that it has beside them for a run of topics."""
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
