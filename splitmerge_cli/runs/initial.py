"""The parts of a run, planned or stored: its data set, loaded once and checked to be what its files held; its model;
the samplers of an iteration, those that a configuration names and the ones that these need; and where a chain starts,
by the words of ``init`` (`splitmerge_cli.config.schema.INITIAL`) or a file of labels.

Model and data decide the largest number of iterations of a chain if the user names no length. A limit in seconds would
let a busy machine end the same configuration elsewhere.

A stored run may come from anywhere: its folder is checked as a whole before its data are loaded again.
"""

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli import config
from splitmerge_cli.config import Component, ConfigError, DataSource, RunSpecification, resolution, schema
from splitmerge_cli.core import bundles, chain, near_pairs
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PARTITION, Sampler
from splitmerge_cli.data.dataset import Dataset, Kind, kinds
from splitmerge_cli.data.opening import SIGN, Limit, check_rows, limit_bytes, open_file, reject_address, require_file
from splitmerge_cli.overrides import suggest
from splitmerge_cli.received import DataError, sha256_of
from splitmerge_cli.runs.identity import DATA_FILES, file_digest, file_digests
from splitmerge_cli.runs.store import files, read


def read_data(data: DataSource, kind: Kind) -> Dataset:
    """Check what names a data set, and load it from files that are no larger than allowed; as `load_dataset`."""
    data.check()
    with limit_bytes(data.max_bytes):
        return load_dataset(data, kind, file_digests(data))


def load_dataset(data: DataSource, kind: Kind, digests: Mapping[str, str]) -> Dataset:
    """Load a data set, of the model's `kind` where its options leave that open. Raises `ConfigError` or `DataError`
    (the message names the key, or file, row and column)."""
    if data.values.get("kind", kind) is None:
        data = data.with_options(kind=kind.name)
    # what a program holds is at hand: it takes no place of a file
    load = _load if data.name == "given" else _load_once
    return load(data, tuple(sorted(digests.items())))


def _load(data: DataSource, digests: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set; the digests of its files make a changed file another data set."""
    dataset = construct(data, lambda: data.function(**data.options))
    if not isinstance(dataset, Dataset):
        raise ConfigError(f"data={data.name}: _target_ {data.values['_target_']} makes no Dataset")
    give_back()
    for name, digest in digests:
        key = DATA_FILES[name]
        path = data.values[key.removeprefix("data.")]
        if file_digest(key, path, data) != digest:
            raise DataError(f"{key}={path}: the file was changed while it was read")
    return dataset


_load_once = lru_cache(maxsize=2)(_load)


def give_back() -> None:
    """Give the memory that reading took back to the system: of a list of a million edges two thirds of it."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    # of glibc alone
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def build_model(model: Component, dataset: Dataset, whole: Dataset | None = None) -> Model:
    """Build a model of a data set, or of a `whole`, which has new items behind the data set; raises as `construct`.
    Items may be bundles of rows."""
    of_items = (whole or dataset).bundles

    def build() -> Model:
        if of_items is not None and not of_items.is_trivial:
            return bundles.build(model.target, dataset, model.options, whole)
        if whole is not None:
            return model.target.with_new(dataset, whole, **model.options)
        return model.target.from_data(dataset, **model.options)

    built: Model = construct(model, build)
    return built


def build_sampler(sampler: Component, model: Model, rng: Rng) -> Sampler:
    """Build a sampler of a model; raises as `construct`."""
    built: Sampler = construct(sampler, lambda: sampler.target(model, rng, **sampler.options))
    return built


def construct(part: Component | DataSource, build: Callable[[], Any]) -> Any:
    """Call `build`, which makes a part of a run, and name that part where it cannot be made. Raises `ConfigError` or
    `DataError` (the message names the key)."""
    try:
        return build()
    except DataError:
        raise
    except (ValueError, TypeError, OverflowError, IndexError, MemoryError) as error:
        text = str(error) or "not enough memory"
        if isinstance(error, near_pairs.NoNearPairs):
            text = text.replace("near pairs", f"near pairs ({_with_near_pairs()})", 1)
        if text.startswith(f"{part.group}."):
            raise ConfigError(part.prefix + text.removeprefix(part.group)) from error
        raise ConfigError(f"{part.title}: {text}") from error


def _with_near_pairs() -> str:
    """The models that have near pairs."""
    return " or ".join(f"model={kind.model}" for kind in kinds().values() if kind.has_near_pairs)


WORK = 250_000_000
"""Most values that a chain visits if the user names no length: 12 s, at 50 ns each; four chains take 50 s."""
START_WORK = WORK // 3
"""Most values that the start of a chain visits."""
LEAST, MOST = 100, 100_000
"""Fewest and most iterations of such a chain, whatever its data."""


def most_iterations(spec: RunSpecification, dataset: Dataset) -> int:
    """Iterations that a chain makes at most where nobody names a length: `WORK` over the number of values
    (`Kind.count_values`), or as the kind of the data limits them.

    Adaptive samplers, whose chains keep every state, make no more than the default of a fixed length.
    """
    if (own := spec.model.kind.limits) is not None:
        limit = max(own[0], min(own[1], own[2] // dataset.N))
    else:
        most = min(MOST, WORK // dataset.kind.count_values(dataset, spec.model.options))
        # replicas move as often as the chain
        limit = max(LEAST, most // (1 + spec.tempering.levels))
    return min(limit, spec.default_iterations) if spec.is_adaptive else limit


# the Gibbs update that a schedule makes after each of the sampler's moves
_FOLLOWED_BY = {"move_only": None, "single_site": "site", "full_scan": "full"}


@dataclass(frozen=True)
class Schedule:
    """Samplers that one iteration of a chain runs. With `weights` one of the first samplers, drawn by weight, makes a
    step, then each of the others; without (None) each does."""

    samplers: list[Sampler]
    weights: Sequence[float] | None = None

    @property
    def invariants(self) -> frozenset[str]:
        """Names of the quantities that no step of any sampler changes, as in `Sampler.invariants`."""
        different = dict.fromkeys(self.samplers)
        return reduce(frozenset.intersection, [s.invariants(s.model, **s.options) for s in different])


PARTS = 3
"""Parts of a pass over as many near pairs as there are items; each part ends with a refresh."""
PARTING = 4
"""Items for each smart split or dumb merge of `sdds` in a pass, which splits the cluster of any item."""
EXCHANGING = 2
"""Moves of near pairs in a pass for each exchange."""


def build_schedule(spec: RunSpecification, model: Model, rng: Rng) -> Schedule:
    """Build the samplers of one iteration.

    For a model with near pairs of items ``full_scan`` makes a pass: each of its moves as often as the pairs'
    weights say (`NearPairs.moves`), in parts that `refresh` ends, then splits of the clusters of any items and
    exchanges of items, and no scan. Where the state holds more than the partition (hyper-parameters, parameters,
    their weights) and no sampler is `refresh`, every iteration ends with it. Raises `ConfigError` (an option out of
    range, a sampler that does not support the model, or samplers that leave a part of the state as it is, so that
    together they do not reach every state).
    """

    def build(sampler: Component) -> Sampler:
        supported, reason = sampler.target.supports(model)
        if not supported:
            of_bundles = " (items are bundles of rows)" if isinstance(model, bundles.Bundles) else ""
            raise ConfigError(f"{sampler.title}: does not support model={spec.model.name}{of_bundles}: {reason}")
        return build_sampler(sampler, model, rng)

    samplers = [build(sampler) for sampler in spec.samplers]
    refresh = config.component("sampler", "refresh")
    if spec.schedule.weights is None:
        mover, scan = samplers[0], _FOLLOWED_BY[spec.schedule.name]
        samplers = [mover] * spec.schedule.moves
        if scan == "full" and mover.scans and model.near_pairs is not None:
            # a pass in the place of a scan, which would weigh each item in nearly as many clusters as there are items
            parts = max(PARTS * model.near_pairs.moves // model.N, 1)
            samplers *= -(-model.near_pairs.moves // parts)
            # shares of errors and pairs depend on each other
            samplers = (samplers + ([build(refresh)] if model.refreshes else [])) * parts
            # records of one cluster that are no near pair: near pairs part them seldom
            parting = config.component("sampler", "sdds", kernel="ssdm")
            if parting.target.supports(model)[0]:
                samplers += [build(parting)] * max(model.N // PARTING, 1)
            # a record whose place another one has, as in two files: splits and merges hardly ever get there
            exchanging = config.component("sampler", "exchange")
            if exchanging.target.supports(model)[0]:
                samplers += [build(exchanging)] * -(-model.near_pairs.moves // EXCHANGING)
        elif scan is not None and mover.scans:
            update = config.gibbs_update(model.conjugate, scan)
            samplers += [build(update)] * (mover.scans if scan == "full" else 1)
    if model.refreshes and not any(isinstance(sampler, refresh.target) for sampler in samplers):
        samplers.append(build(refresh))
    schedule = Schedule(samplers, spec.schedule.weights)
    if schedule.invariants:
        raise ConfigError(_explain(spec, model, schedule))
    return schedule


def build_starting_chain(
    spec: RunSpecification, model: Model, rng: Rng, moves: int | None = None, thin: int = 1
) -> chain.Chain:
    """Build the chain that looks for a start: by the sampler that races found the fastest for the model, whichever goes
    on from there, with so many moves (None: as these races had) and a Gibbs scan in each iteration."""
    sampler, usual = resolution.choose(spec.values["model"], {"name": resolution.SCAN})
    schedule = replace(spec.schedule, name=resolution.SCAN, moves=moves or usual, weights=None)
    moved_by = replace(spec, samplers=(config.component("sampler", sampler),), schedule=schedule)
    return chain.Chain(model, rng, build_schedule(moved_by, model, rng).samplers, timing=False, thin=thin)


def _explain(spec: RunSpecification, model: Model, schedule: Schedule) -> str:
    """Describe what a schedule never changes, and suggest one that does."""
    named, in_list = [sampler.name for sampler in spec.samplers], spec.schedule.weights is not None
    able = {name: cls for name, cls in config.classes("sampler").items() if cls.supports(model)[0]}
    others = [name for name, cls in able.items() if not schedule.invariants & cls.invariants(model)]
    others.sort(key=lambda name: name != config.gibbs_update(model.conjugate).name)
    unchanged = schedule.invariants & {PARTITION} or schedule.invariants
    described = f"sampler={named[0]} schedule={spec.schedule.name}" if not in_list else "schedule=[...]"
    text = (
        f"{described}, model={spec.model.name}: no move of {' or '.join(named)} changes the "
        f"{' or the '.join(sorted(unchanged))}, so the chain does not reach every state"
    )
    if not others:
        return f"{text}; no sampler does"
    example = ", ".join(f"{{{name}: 1}}" for name in [*named, others[0]])
    instead = f" in place of sampler={named[0]}" if not in_list else ""
    return f"{text}; expected one of {', '.join(others)} as well, such as 'schedule=[{example}]'{instead}"


DEFAULT_K0 = 5
LABEL_BYTES = 40
"""Bytes of memory that a row takes at least while a file of labels is read."""


def initial_labels(
    model: Model,
    dataset: Dataset,
    init: str,
    K0: int | None,
    generator: np.random.Generator,
    own_labels: NDArray[np.int32] | None = None,
    number: int = 0,
) -> tuple[NDArray[np.int32], int]:
    """The start state of chain `number`: labels int32 ``[N]``, 0 .. K-1, and the number of clusters K (``prior``, in a
    model with empty clusters: those included). Model and prior bound the number of clusters; `generator` is the chain's
    stream.

    `init` is ``one_cluster``; ``singletons``, where model and prior allow fewer clusters as many as they allow, at
    random; ``pairs``: every second chain from singletons, the others from likely pairs, as many as fit (`_join_pairs`);
    ``random``: `K0` clusters (None: `DEFAULT_K0`, or as many as items, model and prior allow if that is less), each
    with at least one item, the other items uniformly at random; ``prior``: a draw from the prior; ``mixture``: one of
    one cluster, singletons and a draw from the prior, each with probability 1/3; ``truth``; or the path of a file,
    whose labels are `own_labels` (`read_labels`).

    Raises `ConfigError` (more clusters than items, or than model or prior allow; ``truth`` without true labels of all
    items) or `DataError` (a file of labels with another number of rows than there are items).
    """
    N = model.N
    if init == "mixture":
        init = ("one_cluster", "singletons", "prior")[generator.integers(3)]
    near = model.near_pairs
    if init == "pairs":
        if near is None:
            raise ConfigError(f"init=pairs: the model has no near pairs, which {_with_near_pairs()} has")
        init = "pairs" if number % 2 else "singletons"
    if init == "singletons" and model.largest_K < N:
        init, K0 = "random", model.largest_K
    if init == "pairs" and near is not None:
        labels = _join_pairs(near.likely, N, generator)
    elif init == "one_cluster":
        labels = np.zeros(N, dtype=np.int32)
    elif init == "singletons":
        labels = np.arange(N, dtype=np.int32)
    elif init == "random":
        K0 = min(DEFAULT_K0, N, model.largest_K) if K0 is None else K0
        if K0 > N:
            raise ConfigError(f"K0={K0}: expected at most {N}, the number of items")
        _check_bound(model, "K0", K0, K0)
        labels = generator.integers(K0, size=N, dtype=np.int32)
        labels[generator.permutation(N)[:K0]] = np.arange(K0, dtype=np.int32)
    elif init == "prior":
        return model.prior_labels(generator)
    elif init == "truth":
        if dataset.truth is None:
            raise ConfigError(f"init=truth: the true labels of {dataset.name} are not known")
        if without := int((dataset.truth < 0).sum()):
            lacking = f"{without} of {dataset.N} items of {dataset.name} have no true label"
            raise ConfigError(f"init=truth: {lacking}; expected one each")
        labels = _codes(dataset.truth)
    else:
        assert own_labels is not None
        labels = own_labels
        if dataset.copies is not None and len(labels) == len(dataset.copies.items):
            labels = _codes(labels[np.unique(dataset.copies.items, return_index=True)[1]])
        if len(labels) not in (N, dataset.N):
            raise DataError(f"{init}: {len(labels)} rows; expected {N}, one label per item")
    _require_agreement(labels, dataset, init)
    K = int(labels.max()) + 1
    _check_bound(model, "init", init, K)
    return labels, K


def _join_pairs(pairs: NDArray[np.int32], N: int, generator: np.random.Generator) -> NDArray[np.int32]:
    """Clusters of two: likely pairs in a random order, each joined unless one of its items is in a pair already."""
    labels, joined = np.arange(N, dtype=np.int32), np.zeros(N, dtype=bool)
    for i, j in generator.permutation(pairs).tolist():
        if not (joined[i] or joined[j]):
            joined[i] = joined[j] = True
            labels[j] = i
    return _codes(labels)


def set_labels(model: Model, labels: NDArray[np.int32], K: int) -> None:
    """Put a model in an initial state of `initial_labels`; items that are apart get clusters of their own."""
    model.set_labels(labels, K if model.allows_empty else None)
    model.separate()


def _check_bound(model: Model, key: str, value: object, K: int) -> None:
    if model.kmax < K:
        raise ConfigError(f"{key}={value}: {K} clusters; expected at most model.kmax={model.kmax}")
    if model.largest_K < K:
        expected = f"expected at most {model.largest_K}, since model.prior allows no more"
        raise ConfigError(f"{key}={value}: {K} clusters; {expected}")


def _require_agreement(labels: NDArray[np.int32], dataset: Dataset, init: str) -> None:
    """Raise a ConfigError if rows of one item have different labels."""
    items = dataset.items
    if items is None or len(labels) != dataset.N:
        return
    first = np.unique(items, return_index=True)[1][items]
    differs = np.flatnonzero(labels[first] != labels)
    if len(differs):
        one, other = (dataset.names[i] if dataset.names else i + 1 for i in (first[differs[0]], differs[0]))
        raise ConfigError(f"init={init}: rows {one} and {other} stay together; expected one label for both")


def _codes(labels: NDArray[np.int32] | list[str]) -> NDArray[np.int32]:
    """Number labels 0, 1, ... (in their sorted order)."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def read_labels(init: str) -> tuple[NDArray[np.int32], str]:
    """The labels of a file, and the SHA-256 of its content.

    A text has one label (any word) per row, int32 ``[N]``. An array in .npy has numbers from 0, ``[N]``, or ``[chains,
    N]``, a start for each chain. Raises `ConfigError` (there is no such file) or `DataError` (it cannot be read, or has
    an empty row, or numbers that are no labels).
    """
    expected = f"{', '.join(schema.INITIAL)}, or a file with one label per row{suggest(init, schema.INITIAL)}"
    if init.endswith(".npy"):
        from splitmerge_cli.data.tables.formats import load_npy

        labels = load_npy(path := require_file(init, expected))
        if labels.dtype.kind not in "iu" or labels.size == 0 or labels.min() < 0 or labels.max() >= labels.shape[-1]:
            raise DataError(f"{init}: expected labels, whole numbers from 0 to one less than the number of items")
        of_chains = [_codes(row.astype(np.int32)) for row in np.atleast_2d(labels)]
        return np.stack(of_chains) if labels.ndim == 2 else of_chains[0], sha256_of(path)
    called = f"init={init}"
    limit = Limit.current()
    try:
        with open_file(init, called) as file:
            size = os.fstat(file.fileno()).st_size
            limit.check(called, size)
            content = limit.read(called, file, size)
        text = content.decode("utf-8-sig")
    except DataError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        reject_address(init)
        raise ConfigError(f"{called}: expected {expected}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"{called}: not a readable text file: {reason}") from error
    import pyarrow.compute as pc

    text = text.replace("\r\n", "\n").removesuffix("\n")
    rows = text.count("\n") + 1 if text else 0
    check_rows(called, rows, LABEL_BYTES, "rows")
    # as columns, not as objects; lines alone end a row: a word may hold what Unicode takes for the end of one
    labels = pc.utf8_trim_whitespace(pc.split_pattern(pa.array([text][:rows], pa.large_string()), "\n").flatten())
    if (empty := pc.index(labels, pa.scalar("", labels.type)).as_py()) >= 0:
        raise DataError(f"{init}: row {empty + 1} is empty; expected one label per row")
    encoded = labels.dictionary_encode()
    number = _codes(encoded.dictionary.to_pylist())
    return number[encoded.indices.to_numpy()], hashlib.sha256(content).hexdigest()


def open_run(path: str | Path | read.Run, config_dir: str | Path | None = None) -> read.Run:
    """A run's folder, which may come from anywhere: checked as a whole before anything of it is believed. `path`: the
    folder; or a run that was read, whose files are not read again where they were checked. `config_dir`: the folder of
    the user's own groups that this invocation names. Raises `FileNotFoundError` (it holds no run), `DamagedRun` (a file
    is not what was written) or `ConfigError` (its configuration is none that could be run: see
    `splitmerge_cli.config.specify_stored`)."""
    run = path if isinstance(path, read.Run) else read.Run(path, config_dir)
    run.check()
    run.config = dict(specification_of(run).values)
    return run


def specification_of(run: read.Run) -> RunSpecification:
    """The specification of a stored run; raises as `splitmerge_cli.config.specify_stored`."""
    return config.specify_stored(run.config, run.path / files.CONFIG, run.config_dir)


def dataset_of(run: read.Run) -> Dataset:
    """The data set of a stored run, loaded again. Raises `ConfigError` or `DataError` (a file that the run read is gone
    or was changed, a function that made the data is gone, or the configuration of the run is none that could be run).
    """
    spec, file = specification_of(run), run.path / files.CONFIG
    data, model, digests = spec.data, spec.model, dict[str, str]()
    with limit_bytes(data.max_bytes):
        for name, key in DATA_FILES.items():
            if stored := run.provenance.get(f"{name}_sha256"):
                path = data.values[key.removeprefix("data.")]
                if (digest := file_digest(key, path, data)) != stored:
                    problem = "no such file" if digest is None else "it was changed since the run"
                    expected = "the table on standard input" if path == SIGN else "the file"
                    raise DataError(f"{key}={path}: {problem}; expected {expected} that {run.path} read")
                digests[name] = stored
        try:
            dataset = _fitting(data, model, tuple(sorted(digests.items())))
        except (ConfigError, DataError) as error:
            raise type(error)(f"{file}: {error}") from error
    if run.is_done and run.summary["N"] != dataset.N:
        raise DataError(f"{file}: data of {dataset.N} items; expected the {run.summary['N']} of the run")
    return dataset


@lru_cache(maxsize=2)
def _fitting(data: DataSource, model: Component, digests: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set, which the model takes: that checks what only the data tell."""
    dataset = load_dataset(data, model.kind, dict(digests))
    build_model(model, dataset)
    return dataset
