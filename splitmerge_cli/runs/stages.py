"""Initial states of large data: a chain on a sample of the rows, then the others one by one. Chosen automatically.

A chain of a large table that starts from a few random clusters stays there: a split of thousands of rows at random is
refined too little to be accepted. A start row by row (``init=sequential``) opens clusters on the first rows that it
sees, and they grow with the table. A chain on a sample finds the clusters at the price of the sample, and the others
follow where they belong. Samples, orders and draws are each chain's own, so starts differ as samples of the data do.

Chains of a table of many answers in their order cost ten times as much as chains that read them as categories, and a
chain from random clusters stays in one of many modes. A chain of categories leaves these, so it comes first.

A sample of a network has hardly any of its edges. There many random blocks are the start: with few, nodes that belong
apart stand together from the first scan on, and split no more; what is one too many merges.
"""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from splitmerge_cli.config import ConfigError, RunSpecification
from splitmerge_cli.core.capabilities import Coupled
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import limit_bytes
from splitmerge_cli.runs.datasets import build_model, load_dataset
from splitmerge_cli.runs.identity import file_digests, finished_run, of_data
from splitmerge_cli.runs.initial import initial_labels, set_labels
from splitmerge_cli.runs.limits import START_WORK, count_ordinal, count_values
from splitmerge_cli.runs.schedule import build_starting_chain

STAGES = "stages"
ROWS = 4_000
"""Rows of the sample."""
ITERATIONS, FEWEST = 50, 10
"""Iterations of the chain on the sample, and the fewest of rows that cost much."""
MOVES, FEWEST_MOVES = 500, 20
"""Moves of its sampler before each scan: two clusters in one are drawn as a pair of rows once in so many tries, and a
move costs as much as its clusters have rows. Fewer of rows that cost much."""
PER_SCAN = 25
"""Moves that visit as many values as an iteration with few moves."""
LARGE = 5_000
"""Rows from which a table starts in stages, unless the user names an initial state."""
CATEGORIES = "categories"
ANSWERS = 5
"""Ordinal columns from which a table starts as categories, unless the user names an initial state."""
SCANS = 200
"""Iterations of the chain of categories."""
NODES = 1_000
"""Nodes from which a network starts from many blocks, unless the user names an initial state."""
ROW_BYTES = 2
"""Least bytes that a row takes in a file: a cell and the end of the line."""
PLAIN = (".csv", ".tsv", ".txt", ".dat")
"""Suffixes that say a file is not compressed."""
_START = {"init", "K0", "experiment"}
"""Keys that name a start."""


def start_in_stages(spec: RunSpecification, model: Model, dataset: Dataset, rng: Rng) -> None:
    """Put rows of a table into clusters: a random sample by a chain, the others by their weights given those before.

    Parameters
    ----------
    spec : RunSpecification
    model : Model
        The model of all rows.
    dataset : Dataset
    rng : Rng
        The chain's own.

    Raises
    ------
    ConfigError
        A model or data that cannot start so.
    """
    if reason := why_not_in_stages(spec):
        raise ConfigError(f"init={STAGES}: {reason}")
    generator = np.random.Generator(rng.bit_generator)
    items = generator.permutation(model.N)
    bundles = dataset.bundles
    if bundles is None:
        rows = items = np.sort(items[:ROWS])
    else:
        whole = np.cumsum(np.bincount(bundles.items)[items]) <= ROWS
        items = np.sort(items[: max(1, int(whole.sum()))])
        rows = np.flatnonzero(np.isin(bundles.items, items))
    known = dataset if bundles is None else dataset.with_repeats
    options = spec.model.target.with_defaults_of(known, **spec.model.options)
    part, component = dataset.take(rows), replace(spec.model, options=options)
    sample = build_model(component, part)
    iterations, moves = limit_stage(count_values(spec, part))
    chain = build_starting_chain(spec, sample, rng, moves, thin=iterations)
    sample.start_sequentially(rng)
    chain.advance(iterations)
    model.start_from(rng, items, sample.labels)


def limit_stage(values: int) -> tuple[int, int]:
    """Iterations of the chain on a sample of so many values, and moves before each scan, within `START_WORK`.

    Examples
    --------
    >>> limit_stage(40_000), limit_stage(1_440_000)
    ((50, 500), (32, 20))
    """
    scans = START_WORK / (values * ITERATIONS)
    moves = int(min(MOVES, max(FEWEST_MOVES, PER_SCAN * (scans - 1))))
    return int(min(ITERATIONS, max(FEWEST, scans * ITERATIONS / (1 + moves / PER_SCAN)))), moves


def start_as_categories(spec: RunSpecification, model: Model, dataset: Dataset, rng: Rng) -> None:
    """Put rows of a table into the clusters of a short chain, from random ones, that reads ordinal columns as
    categories.

    Parameters
    ----------
    spec : RunSpecification
    model : Model
        With the ordinal columns in their order.
    dataset : Dataset
    rng : Rng
        The chain's own.

    Raises
    ------
    ConfigError
        Data without ordinal columns, or more clusters than the prior allows.
    """
    if not count_ordinal(dataset):
        raise ConfigError(f"init={CATEGORIES}: expected a table with ordinal columns (data.types)")
    types = tuple(replace(one, type="categorical") if one.type == "ordinal" else one for one in dataset.types or ())
    unordered = spec.model.with_options(cuts=None)
    short = build_model(unordered, replace(dataset, types=types))
    generator = np.random.Generator(rng.bit_generator)
    set_labels(short, *initial_labels(short, dataset, "random", spec.K0, generator))
    short.start_parameters(rng)
    build_starting_chain(spec, short, rng, thin=SCANS).advance(SCANS)
    model.set_labels(short.labels)


def _has_answers(spec: RunSpecification) -> bool:
    """Whether a table has many ordinal columns, by its configuration or by the table itself if it is loaded."""
    named = spec.data.values.get("types") or {}
    if sum(one == "ordinal" for one in dict(named).values()) >= ANSWERS:
        return True
    return spec.data.name == "given" and count_ordinal(load_dataset(spec.data, spec.model.kind, {})) >= ANSWERS


def why_not_in_stages(spec: RunSpecification) -> str | None:
    """Reason why the data or the model allow no start in stages; None if they do."""
    model, kind = spec.values["model"], spec.model.kind
    if not (kind.column_types or kind.any_columns):
        return f"expected a table, which model={spec.model.name} does not read"
    if "kmax" in model:
        return f"model={spec.model.name} keeps empty clusters, so rows do not come one by one"
    if model.get("conjugate") is False:
        return "expected model.conjugate=true: rows come one by one where parameters of clusters are integrated out"
    return None


def choose_start(spec: RunSpecification, say: Callable[[str], None]) -> RunSpecification:
    """Return the specification with an initial state for large data, unless the user named one or the data are small.

    A table starts in stages, a smaller one of many answers in their order as categories; a network from as many random
    blocks as the root of the number of its nodes. A run that was finished before, with the one start or the other, is
    taken as it is.

    Parameters
    ----------
    spec : RunSpecification
    say : callable
        Receives the line that says what was chosen, and how to choose otherwise.

    Raises
    ------
    ConfigError, DataError
        The data cannot be read.
    """
    if has_start(spec):
        return spec
    chosen = _choose_large_start(spec, say)
    if chosen is not spec or not _has_answers(spec) or finished_run(spec) is not None:
        return chosen
    say(
        f"init={CATEGORIES}, because no initial state is named and {ANSWERS} columns or more are ordinal: each chain "
        "starts from the clusters of a short one that reads them as categories (init=random: as other tables do)"
    )
    return spec.with_(init=CATEGORIES)


def has_start(spec: RunSpecification) -> bool:
    """Whether the initial state of a run is named, or is an experiment's."""
    return spec.init != "random" or bool(_START & spec.given_keys.keys)


def _choose_large_start(spec: RunSpecification, say: Callable[[str], None]) -> RunSpecification:
    """`choose_start` of many rows or nodes."""
    is_network = issubclass(spec.model.target, Coupled)
    least = NODES if is_network else LARGE
    if not (is_network or not why_not_in_stages(spec)):
        return spec
    if not _may_have(least, spec) or finished_run(spec) is not None:
        return spec
    in_stages = None if is_network else spec.with_(init=STAGES)
    if in_stages is not None and finished_run(in_stages) is not None:
        return in_stages
    spec.data.check()
    with limit_bytes(spec.data.max_bytes):
        dataset = load_dataset(spec.data, spec.model.kind, of_data(file_digests(spec)))
    N = dataset.N
    if least > N:
        return spec
    if in_stages is not None:
        say(
            f"init={STAGES}, because no initial state is named and {N:,} rows are {LARGE:,} or more: each chain starts "
            f"from {min(N, ROWS):,} rows of its own, drawn at random, and the others follow one by one (init=random: "
            "as smaller tables do)"
        )
        return in_stages
    blocks = min(round(math.sqrt(N)), build_model(spec.model, dataset).largest_K)
    say(
        f"K0={blocks}, because no initial state is named and {N:,} nodes are {NODES:,} or more: blocks rarely split "
        "and merge easily, so chains start from many (K0=5: as smaller networks do)"
    )
    return spec.with_(K0=blocks)


def _may_have(least: int, spec: RunSpecification) -> bool:
    """Whether the data set may have so many rows or nodes, by its configuration and the size of its file."""
    path = spec.data.values.get("path")
    if isinstance(path, str):
        try:
            return os.path.getsize(path) >= ROW_BYTES * least or Path(path).suffix.lower() not in PLAIN
        except OSError:
            return False
    return spec.values["N"] is None or spec.values["N"] >= least
