"""One run: build the chains, drive them, write what they did.

Chains run in threads (``Chain.advance`` works without the interpreter's lock), each in batches of about a second;
chains that learn from each other advance together, in rounds of one iteration.
After each batch the rows go to the chain's stream and a checkpoint is stored, so a run that is killed loses no more
than the batch it was in. Nothing but the columns of seconds depends on the number of threads, on the batches, or on
interruptions.
"""

import hashlib
import json
import math
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf

from splitmerge_cli import interrupts
from splitmerge_cli._chain import Chain, Halted, advance_together
from splitmerge_cli._kernels import Model, Rng, Sampler
from splitmerge_cli.config import (
    ConfigError,
    check_stored,
    choice,
    choices,
    identity,
    learns,
    locate,
    plain,
    show,
    unshared,
)
from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.corpora import files as corpus_files
from splitmerge_cli.data.corpora.corpus import TOKEN_BYTES
from splitmerge_cli.data.opening import MAPPABLE, limited, memory, sha256
from splitmerge_cli.initial import KEYWORDS, initial_labels, read_labels
from splitmerge_cli.progress import ChainProgress, Reporter, is_live, reporter
from splitmerge_cli.results import provenance, schema
from splitmerge_cli.results.files import DamagedRun, Locked, is_locked
from splitmerge_cli.results.read import Run
from splitmerge_cli.results.store import CONFIG, LOCK, STATUS, STREAMED, WORK, ChainStore, RunStore

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.point_estimate import PointEstimate
    from splitmerge_cli.diagnostics.summary import Clustering, Row
    from splitmerge_cli.diagnostics.topic_tables import ChainTopics
    from splitmerge_cli.diagnostics.topics import Topics

FIRST_BATCH = 0.1
"""Seconds of the first batch of a chain: something to show soon."""
BATCH = 1.0
"""Seconds of the other batches: what a kill may cost."""
LIVE_BATCH = 0.3
"""The same while bars are shown."""

_DATA_FILES = {"data": "data.path", "nodes": "data.nodes", "vocabulary": "data.vocabulary"}
"""Keys of the files that a data set is read from."""

LISTED = 100_000
"""Tokens of documents beyond which their topics are no longer listed as text."""
ESTIMATED = 5_000
"""Tokens of documents beyond which no partition of them is estimated: hardly two are together in every state, so
that it takes minutes."""

DISK_SHARE = 0.5
"""Share of the free disk beyond which a run is not begun."""
TOPICS = 100
"""Topics that a row of their sizes is taken to have where the disk is looked at: their number is known at the end."""

UNLIMITED = 2**62
"""Iterations of a chain that only a budget ends."""

POLLED = 0.1
"""Seconds between two looks at how the chains get on."""
GENTLE = 0.5
"""Seconds that a chain has to end its iteration when the run is to stop; then the iteration is broken off."""

# the Gibbs update that a schedule makes after each of the sampler's moves
_FOLLOWED_BY = {"alone": None, "site": "site", "sweep": "full"}


class RunError(RuntimeError):
    """A run that could not be completed; the message says why and what is left."""


class Interrupted(RunError):
    """A run stopped by Ctrl-C, SIGTERM or SIGHUP; it can be continued."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"interrupted; the same command continues it: {path}")
        self.path = path


class WrittenElsewhere(RunError):
    """A run that another process writes."""


@dataclass(frozen=True)
class Plan:
    """A checked configuration with its data set: everything is known to be buildable, nothing is written yet."""

    cfg: DictConfig
    dataset: Dataset
    labels: NDArray[np.int32] | None
    """Labels of the file that `init` names; None if it names none."""
    digests: Mapping[str, str]
    """SHA-256 of the files that were read, by the key that names them."""

    @property
    def id(self) -> str:
        """Identity of the run; see `run_id`."""
        return run_id(self.cfg, self.digests)

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return run_dir(self.cfg, self.digests)

    @property
    def done(self) -> bool:
        """Whether there is nothing to run: the run was finished before, and ``resume=false`` does not ask for more."""
        return bool(self.cfg.resume) and is_done(self.path)

    @property
    def iterations(self) -> int:
        """Iterations after which a chain ends."""
        return UNLIMITED if self.cfg.iterations is None else self.cfg.iterations

    @property
    def budget(self) -> float:
        """Seconds of sampling after which a chain ends."""
        return math.inf if self.cfg.budget is None else self.cfg.budget

    @property
    def optional_columns(self) -> list[str]:
        """Columns of the trace that not every run has."""
        resampled = [name for name in schema.RESAMPLED if isinstance(self.cfg.model.get(name), str)]
        return resampled + ["nmi", "ari"] * (self.dataset.truth is not None)

    @property
    def of_topics(self) -> bool:
        """Whether the clusters are topics of documents."""
        return self.dataset.kind == "documents"

    @property
    def listed(self) -> bool:
        """Whether the clusters of the items are listed in ``summary.json`` and ``clusters.csv``."""
        return not self.of_topics or self.dataset.N <= LISTED

    @property
    def streamed(self) -> list[str]:
        """Tables that the chains write while they run."""
        evaluated = [schema.HELDOUT] * (self.cfg.perplexity.every > 0)
        return [*STREAMED, *[schema.TOPIC_SIZES] * self.of_topics, *evaluated]

    def to_evaluation(self, iteration: int) -> int:
        """Iterations that a chain makes at most before the next thing to do: its end, or held-out documents."""
        every, left = self.cfg.perplexity.every, self.iterations - iteration
        return min(left, every - iteration % every) if every else left

    @np.errstate(all="ignore")  # what overflows leaves no finite density, which is said below
    def chain(self, number: int) -> tuple[Chain, Model]:
        """Build chain `number` at its start.

        Raises
        ------
        ConfigError
            A parameter out of range, a sampler that cannot serve the model, a start state that the model cannot hold or
            that has no density.
        """
        cfg = self.cfg
        model = _construct("model", cfg.model, lambda cls, options: cls.from_data(self.dataset, **options))
        rng = Rng(cfg.seed, number)
        samplers, weights = _schedule(cfg, model, rng)
        generator = np.random.Generator(rng.bit_generator)
        labels, K = initial_labels(model, self.dataset, cfg.init, cfg.K0, generator, self.labels)
        model.set_labels(labels, K if model.allows_empty else None)
        model.start_parameters(rng)
        log_joint = model.log_joint()
        if not math.isfinite(log_joint):
            raise ConfigError(
                f"model={cfg.model.name}: the log joint density of the start is {log_joint}; expected a finite "
                "number: a parameter of the model is too large or too small"
            )
        chain = Chain(
            model,
            rng,
            samplers,
            weights=weights,
            thin=cfg.thin,
            partitions=cfg.trace.partitions,
            truth=self.dataset.truth,
            timing=cfg.timing,
            warmup=(_gibbs(cfg, model, rng, samplers), cfg.warmup) if cfg.warmup else None,
            sizes=self.of_topics,
        )
        return chain, model

    def chains(self) -> list[Chain]:
        """Build all chains of samplers that learn from each other.

        Raises
        ------
        ConfigError
            As `chain`, or fewer chains than the samplers learn from.
        """
        chains = [self.chain(number)[0] for number in range(self.cfg.chains)]
        learner = next(sampler.learner for sampler in chains[0].samplers if hasattr(sampler, "learner"))
        try:
            past = learner.new_past(len(chains))
        except ValueError as error:
            raise ConfigError(str(error)) from error
        for number, chain in enumerate(chains):
            chain.learn_from(past, number)
        return chains


def prepare(cfg: DictConfig) -> Plan:
    """Check all that can be checked without running: load the data, build a first chain.

    Parameters
    ----------
    cfg : DictConfig
        From `splitmerge_cli.config.compose`.

    Raises
    ------
    ConfigError, DataError
        The message names the key, or the file, row and column, and what was expected.
    """
    with limited(cfg.data.max_bytes):
        return _prepared(cfg)


def _prepared(cfg: DictConfig) -> Plan:
    """`prepare`, files being read up to the limit that is set."""
    kind = _kind(cfg.model)
    digests = _digests(cfg)
    dataset = _loaded(plain(cfg.data), kind, _of_data(digests))
    if dataset.kind != kind:
        fitting = [name for name in choices("model") if _kind(choice("model", name)) == dataset.kind]
        raise ConfigError(
            f"model={cfg.model.name}: reads {kind}, but data={cfg.data.name} holds {dataset.kind}; "
            f"expected {' or '.join(f'model={name}' for name in fitting)}, or data that hold {kind} (smcmc list data)"
        )
    _check_perplexity(cfg, dataset)
    _check_memory(cfg, dataset)
    labels = None
    if cfg.init not in KEYWORDS:
        labels, digests["init"] = read_labels(cfg.init)
    plan = Plan(cfg, dataset, labels, digests)
    _check_disk(plan)
    try:
        if learns(cfg):
            plan.chains()
        else:
            plan.chain(0)
    except MemoryError as error:
        raise ConfigError(f"N={dataset.N}, model={cfg.model.name}: not enough memory: {error}") from error
    return plan


def _check_perplexity(cfg: DictConfig, dataset: Dataset) -> None:
    """Raise a `ConfigError` where held-out documents are to be evaluated and there are none."""
    every = cfg.perplexity.every
    if not every:
        return
    if dataset.kind != "documents":
        raise ConfigError(
            f"perplexity.every={every}: expected 0, because perplexity is that of held-out documents under topics; "
            f"model={cfg.model.name} reads {dataset.kind}"
        )
    if (held := dataset.values.heldout) is None or held.observed.all():
        raise ConfigError(
            f"perplexity.every={every}: data={cfg.data.name} holds no tokens out; expected data.heldout above 0, "
            "such as data.heldout=0.2"
        )


def _check_memory(cfg: DictConfig, dataset: Dataset) -> None:
    """Raise a `ConfigError` where chains of so many tokens at the same time need more memory than the machine has."""
    together = _workers(cfg)
    if dataset.kind == "documents" and dataset.N * together * TOKEN_BYTES > memory():
        raise ConfigError(
            f"workers={show(cfg.workers)}: {together} chains at the same time, of {dataset.N} tokens each, need more "
            "memory than this machine has; expected fewer, such as workers=1, or fewer documents (N)"
        )


def recorded_bytes(plan: Plan) -> dict[str, int]:
    """Bytes of the rows that the chains of a run record, by table; none where a budget alone ends them.

    Returns
    -------
    dict of str to int
        Keys as in `Plan.streamed`. The list of a row is taken to have as many values as it can have (of the sizes of
        topics: `TOPICS`).
    """
    cfg, corpus = plan.cfg, plan.dataset.values
    if cfg.iterations is None:
        return {}
    every = {schema.PARTITIONS: cfg.trace.partitions, schema.HELDOUT: cfg.perplexity.every}
    held = getattr(corpus, "heldout", None)
    widths = {
        schema.TRACE: 5,
        schema.PARTITIONS: plan.dataset.N,
        schema.TOPIC_SIZES: TOPICS,
        schema.HELDOUT: 0 if held is None else held.tokens.J,
    }
    found = {}
    for table in plan.streamed:
        step = every.get(table, cfg.thin)
        rows = cfg.iterations // step + 1 if step else 0
        found[table] = cfg.chains * rows * schema.row_bytes(table, widths[table], plan.optional_columns)
    return found


def _check_disk(plan: Plan) -> None:
    """Raise a `ConfigError` where a run would record more than a share of the disk that is free."""
    cfg = plan.cfg
    sizes = recorded_bytes(plan)
    folder = next(place for place in [plan.path, *plan.path.absolute().parents] if place.is_dir())
    free = shutil.disk_usage(folder).free
    # at the end the rows are there twice for a while, in the streams of the chains and in the tables; what an
    # unfinished run has recorded is no longer free
    kept = sum(file.stat().st_size for file in plan.path.glob(f"{WORK}/*.arrows"))
    needed = 2 * sum(sizes.values()) - kept
    if needed <= DISK_SHARE * free or plan.done:
        return
    largest = max(sizes, key=lambda table: sizes[table])
    key = {schema.PARTITIONS: "trace.partitions", schema.HELDOUT: "perplexity.every"}.get(largest, "thin")
    step = {"trace.partitions": cfg.trace.partitions, "perplexity.every": cfg.perplexity.every}.get(key, cfg.thin)
    # the next step of one digit that fits, where this table is what does not
    other = 2 * (sum(sizes.values()) - sizes[largest])
    enough = step * 2 * sizes[largest] / max(1.0, DISK_SHARE * free - other)
    digit = 10 ** math.floor(math.log10(max(enough, 1)))
    proposed = digit * math.ceil(enough / digit)
    raise ConfigError(
        f"{key}={step}: the run would record up to {_size(needed)}, of {cfg.chains} chains of "
        f"{cfg.iterations:,} iterations; expected at most {DISK_SHARE:.0%} of the {_size(free)} that are "
        f"free for out={cfg.out}, such as {key}={proposed}"
    )


def _size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:,.3g} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"


def _workers(cfg: DictConfig) -> int:
    """Chains that run at the same time."""
    return int(min(cfg.chains, cfg.workers or os.cpu_count() or 1))


def open_run(path: str | Path, config_dir: str | Path | None = None) -> Run:
    """A run's folder, which may come from anywhere: checked as a whole before anything of it is believed.

    Parameters
    ----------
    path : str or Path
    config_dir : str or Path, optional
        The folder of the user's own groups that this invocation names.

    Raises
    ------
    FileNotFoundError
        It holds no run.
    DamagedRun
        A file is not what was written.
    ConfigError
        Its configuration is none that could be run: see `splitmerge_cli.config.check_stored`.
    """
    run = Run(path, config_dir)
    run.check()
    check_stored(run.config, run.path / CONFIG, config_dir)
    return run


def dataset_of(run: Run) -> Dataset:
    """The data set of a stored run, loaded again.

    Raises
    ------
    ConfigError, DataError
        A file that the run read is gone or was changed, a function that made the data is gone, or the configuration of
        the run is none that could be run.
    """
    config = check_stored(run.config, run.path / CONFIG, run.config_dir)
    options = config["data"]
    digests: dict[str, str] = {}
    file = run.path / CONFIG
    with limited(options.get("max_bytes")):
        for name, key in _DATA_FILES.items():
            if stored := run.provenance.get(f"{name}_sha256"):
                path = options[key.removeprefix("data.")]
                digest = _digest(key, path, options["_target_"])
                if digest != stored:
                    what = "no such file" if digest is None else "it was changed since the run"
                    raise DataError(f"{key}={path}: {what}; expected the file that {run.path} read")
                digests[name] = stored
        try:
            dataset = _loaded(options, _kind(config["model"]), digests)
            # ranges of its options are checked by the model itself
            _construct("model", config["model"], lambda cls, given: cls.from_data(dataset, **given))
        except (ConfigError, DataError) as error:
            raise type(error)(f"{file}: {error}") from error
    if run.done and run.summary["N"] != dataset.N:
        raise DataError(f"{file}: data of {dataset.N} items; expected the {run.summary['N']} of the run")
    return dataset


def _of_data(digests: Mapping[str, str]) -> dict[str, str]:
    """Those of the files that the data are read from."""
    return {name: digest for name, digest in digests.items() if name in _DATA_FILES}


def _loaded(options: dict[str, Any], kind: str, digests: Mapping[str, str]) -> Dataset:
    """The data set of the options of group data, of the model's `kind` where they leave that open."""
    if "kind" in options and options["kind"] is None:
        options = options | {"kind": kind}
    return _dataset(json.dumps(options, sort_keys=True), tuple(sorted(digests.items())))


def _kind(model: Mapping[str, Any] | DictConfig) -> str:
    """The kind of data that a configured model reads."""
    return str(locate(model["_target_"]).kind)


@lru_cache(maxsize=2)
def _dataset(options: str, digests: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set; the digests of its files make a changed file another data set."""
    values = json.loads(options)
    dataset = _construct("data", unshared("data", values), lambda generate, given: generate(**given))
    if not isinstance(dataset, Dataset):
        raise ConfigError(f"data={values['name']}: _target_ {values['_target_']} makes no Dataset")
    for name, digest in digests:
        key = _DATA_FILES[name]
        path = values[key.removeprefix("data.")]
        if _digest(key, path, values["_target_"]) != digest:
            raise DataError(f"{key}={path}: the file was changed while it was read")
    return dataset


def _construct(group: str, options: Mapping[str, Any] | DictConfig, build: Any, called: str | None = None) -> Any:
    """Call `build` with the class or function and the options that a configuration names; complaints name the key,
    of `called` where the options do not stand under `group`."""
    given = {str(key): value for key, value in options.items() if key not in ("name", "_target_", "weight")}
    target = locate(options["_target_"])
    try:
        return build(target, given)
    except DataError:
        raise
    except (ValueError, TypeError, OverflowError, IndexError, MemoryError) as error:
        text = str(error) or "not enough memory"
        if text.startswith(f"{group}."):
            raise ConfigError((called or group) + text.removeprefix(group)) from error
        named = called or f"{group}={options['name']}"
        raise ConfigError(f"{named}: {text}") from error


def _schedule(cfg: DictConfig, model: Model, rng: Rng) -> tuple[list[Sampler], list[float] | None]:
    """The samplers of one iteration, and their weights if one of them is drawn."""

    def sampler(options: DictConfig, called: str | None = None) -> Sampler:
        supported, reason = locate(options["_target_"]).supports(model)
        if not supported:
            named = called or f"sampler={options.name}"
            raise ConfigError(f"{named}: cannot serve model={cfg.model.name}: {reason}")
        return _construct("sampler", options, lambda cls, given: cls(model, rng, **given), called)

    if (mix := cfg.schedule.mix) is not None:
        return [sampler(entry, f"schedule.mix.{entry.name}") for entry in mix], [entry.weight for entry in mix]
    mover = sampler(cfg.sampler)
    iteration = [mover]
    scan = _FOLLOWED_BY[cfg.schedule.name]
    if scan is not None and mover.scans:
        one_item = choice("sampler", "gibbs" if model.conjugate else "neal8")
        iteration += [sampler(OmegaConf.create(one_item | {"scan": scan}))] * (mover.scans if scan == "full" else 1)
    if model.refreshes and cfg.sampler.name != "refresh":
        iteration.append(sampler(OmegaConf.create(choice("sampler", "refresh"))))
    return iteration, None


def _gibbs(cfg: DictConfig, model: Model, rng: Rng, samplers: list[Sampler]) -> Sampler:
    """The full Gibbs scan of a model: the one of the schedule, where it has one."""
    options = choice("sampler", "gibbs" if model.conjugate else "neal8") | {"scan": "full"}
    for sampler in samplers:
        if type(sampler) is locate(options["_target_"]) and getattr(sampler, "full", False):
            return sampler
    return _construct("sampler", options, lambda cls, given: cls(model, rng, **given))


def _digest(key: str, path: str, reader: str) -> str | None:
    """SHA-256 of the content of the file that `key` names; None if there is none (its reader says so).

    Where `reader`, the target of the data, reads folders of texts, also that of such a folder.
    """
    try:
        return sha256(path, f"{key}={path}", held=not path.lower().endswith(MAPPABLE))
    except IsADirectoryError:
        of_texts = key == "data.path" and locate(reader) is corpus_files.corpus
        return corpus_files.digest(path) if of_texts and path else None
    except (FileNotFoundError, NotADirectoryError):
        return None


def _digests(cfg: DictConfig) -> dict[str, str]:
    """SHA-256 of the files that a configuration reads, by the key that names them."""
    files = {name: (key, cfg.data.get(key.removeprefix("data."))) for name, key in _DATA_FILES.items()}
    files["init"] = ("init", cfg.init)
    # the nodes of a network may be a number
    named = {name: file for name, file in files.items() if isinstance(file[1], str) and file[1] not in KEYWORDS}
    with limited(cfg.data.max_bytes):
        return {name: digest for name, file in named.items() if (digest := _digest(*file, cfg.data["_target_"]))}


def run_id(cfg: DictConfig, digests: Mapping[str, str] | None = None) -> str:
    """Identity of a run: a hash of the resolved configuration and of the content of the files it reads.

    Keys that change nothing that is computed (resume, workers, out, progress, experiment) do not enter.

    Parameters
    ----------
    cfg : DictConfig
        From `splitmerge_cli.config.compose`.
    digests : mapping of str to str, optional
        SHA-256 of the files under the keys data, nodes and init, where known; otherwise the files are read.
    """
    digests = _digests(cfg) if digests is None else digests
    values = identity(cfg)
    values["data"] |= {_DATA_FILES[name].removeprefix("data."): digest for name, digest in _of_data(digests).items()}
    if "init" in digests:
        values["init"] = digests["init"]
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_dir(cfg: DictConfig, digests: Mapping[str, str] | None = None) -> Path:
    """The folder of a run: ``OUT/<experiment or sampler-data>/<run id>``; parameters as for `run_id`."""
    return Path(cfg.out) / (cfg.experiment or f"{cfg.sampler.name}-{cfg.data.name}") / run_id(cfg, digests)


def is_done(path: Path) -> bool:
    """Whether a finished run is at `path`, with all its files; raises `DamagedRun` where one is damaged."""
    return (path / STATUS).is_file() and Run(path).complete


def is_written(path: Path) -> bool:
    """Whether a process writes the run at `path`."""
    return is_locked(path / WORK / LOCK)


def run(job: DictConfig | Plan, progress: Reporter | None = None) -> Path:
    """Make one run, or what is missing of it.

    Parameters
    ----------
    job : DictConfig or Plan
        From `splitmerge_cli.config.compose`, or what `prepare` made of that.
    progress : Reporter, optional
        Who is told how the chains get on; by default what the key `progress` says.

    Returns
    -------
    Path
        The folder of the run. A finished run is left as it is, unless ``resume=false``.

    Raises
    ------
    ConfigError, DataError
        Bad input; nothing was written.
    Interrupted
        Ctrl-C or SIGTERM, after the batches at hand were stored.
    WrittenElsewhere
        Another process writes this run.
    RunError
        The disk is full; what was stored is intact.
    DamagedRun
        A file of the unfinished run is not what was written.
    """
    plan = job if isinstance(job, Plan) else prepare(job)
    cfg, path = plan.cfg, plan.path
    if plan.done:
        return path
    names = plan.optional_columns, plan.streamed
    store = RunStore(path, _provenance(plan), plan.id, cfg.sampler.name, cfg.seed, *names)
    session = store.session()
    try:
        session.__enter__()
    except Locked as error:
        raise WrittenElsewhere(str(error)) from error
    except OSError as error:
        raise ConfigError(f"out={cfg.out}: cannot write to {error.filename}: {error.strerror}") from error
    try:
        if plan.done:  # by the process that held the lock until now
            store.clear_work()
            return path
        if not cfg.resume:
            store.clear()
        _run(plan, store, progress or reporter(cfg.progress))
    except KeyboardInterrupt as error:
        raise Interrupted(path) from error
    except OSError as error:
        if store.gone:
            raise RunError(
                f"{path}: the folder is gone, removed or moved while the run wrote to it; the same command begins anew"
            ) from error
        raise RunError(
            f"{path}: {error.strerror or error}; what was stored is intact, and the same command continues it"
        ) from error
    finally:
        session.__exit__(None, None, None)
    return path


def _provenance(plan: Plan) -> dict[str, Any]:
    return {
        "config": identity(plan.cfg),
        **{f"{name}_sha256": plan.digests.get(name) for name in _DATA_FILES},
        "run_id": plan.id,
        "seed": plan.cfg.seed,
        "versions": provenance.versions(),
        "commit": provenance.commit(),
        "machine": provenance.machine(),
    }


def _run(plan: Plan, store: RunStore, progress: Reporter) -> None:
    cfg = plan.cfg
    store.write_config(OmegaConf.to_yaml(cfg))
    versions = {"versions": provenance.versions(), "commit": provenance.commit(), "machine": provenance.machine()}
    store.write_status("running", pid=os.getpid(), share=0.0, error=None, **versions)
    share = [0.0] * cfg.chains
    stop = Stop()

    def heard(chain: int, at: ChainProgress) -> None:
        share[chain] = at.fraction
        progress.update(chain, at)

    workers = _workers(cfg)
    batch = LIVE_BATCH if is_live(cfg.progress) else BATCH
    chains = [store.chain(c) for c in range(cfg.chains)]
    progress.start(cfg.chains)
    interrupts.say(f"smcmc: {Interrupted(store.path)}")
    try:
        with interrupts.AnsweredBy(stop.set), ThreadPoolExecutor(workers) as pool:
            if learns(cfg):
                drives = [pool.submit(_drive_together, plan, store, chains, stop, batch, heard)]
            else:
                drives = [pool.submit(_drive, plan, chain, stop, batch, heard) for chain in chains]
            try:
                _await(drives, stop, lambda: store.write_status("running", share=sum(share) / cfg.chains))
            except BaseException:
                stop.set()
                raise
        for drive in drives:
            drive.result()
        progress.stop()
        saved = [chain.saved() for chain in chains]
        outcomes = [s["outcome"] for s in saved if s and s["finished"]]
        if len(outcomes) < cfg.chains:
            raise KeyboardInterrupt
        _assemble(plan, store, chains, outcomes)
        store.finish()
    except KeyboardInterrupt:
        store.write_status("interrupted", share=sum(share) / cfg.chains)
        raise
    except Exception as error:
        # the disk that failed the run may fail its status too; the run then reads as interrupted
        with suppress(OSError):
            store.write_failure(f"{type(error).__name__}: {error}")
        raise
    finally:
        progress.stop()
        interrupts.say(interrupts.SAID)


class Stop:
    """That the chains of a run are to stop: after the iteration at hand, which is broken off when it takes long."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._chains: list[Chain] = []
        self._since = math.inf

    def set(self) -> None:
        """Let all chains stop."""
        self._since = min(self._since, time.monotonic())
        self._event.set()
        for chain in self._chains:
            chain.stop()

    def is_set(self) -> bool:
        """Whether the chains are to stop."""
        return self._event.is_set()

    def drives(self, chain: Chain) -> None:
        """A chain is about to be driven."""
        self._chains.append(chain)
        if self.is_set():
            chain.stop()

    def press(self) -> None:
        """Break off the iterations that are still being made `GENTLE` seconds after `set`."""
        if time.monotonic() > self._since + GENTLE:
            for chain in self._chains:
                chain.halt()


def _await(drives: list[Future[None]], stop: Stop, tell: Any) -> None:
    """Wait for all chains; when one fails, the others stop. `tell` is called every `BATCH` seconds."""
    told = time.monotonic()
    while True:
        done, pending = wait(drives, timeout=POLLED, return_when=FIRST_EXCEPTION)
        if any(drive.exception() for drive in done):
            stop.set()
        stop.press()
        if not pending:
            return
        if time.monotonic() >= told + BATCH:
            told = time.monotonic()
            tell()


def _drive(plan: Plan, store: ChainStore, stop: Stop, batch: float, heard: Any) -> None:
    """Run one chain to its end, or until `stop`."""
    number = store.chain
    saved = store.saved()
    if (saved and saved["finished"]) or stop.is_set():
        if saved:
            heard(number, _progress(plan, saved["outcome"]))
        return
    chain, _ = plan.chain(number)
    stop.drives(chain)
    # an iteration that is broken off is made again when the run is continued
    with suppress(Halted), _closed(store):
        store.open_into(chain)
        wall, finished = FIRST_BATCH, False
        while not finished and not stop.is_set():
            before, began = chain.iteration, time.perf_counter()
            _advance(plan, chain, store, began + wall, stop)
            finished = _at_end(plan, chain)
            outcome = _outcome(chain, (chain.iteration - before) / max(time.perf_counter() - began, 1e-9))
            store.checkpoint(chain.state, outcome, finished)
            heard(number, _progress(plan, outcome))
            wall = batch


def _at_end(plan: Plan, chain: Chain) -> bool:
    return chain.iteration >= plan.iterations or chain.seconds >= plan.budget


def _advance(plan: Plan, chain: Chain, store: ChainStore, until: float, stop: Stop) -> None:
    """Make the iterations of one batch, which ends at the time `until`, and evaluate held-out documents among them."""
    while True:
        before = chain.iteration
        wall = max(0.0, until - time.perf_counter())
        rows = chain.advance(plan.to_evaluation(before), budget=plan.budget, wall=wall)
        _check_densities(store.chain, rows)
        store.append(rows)
        if chain.iteration > before:
            _evaluate(plan, chain, store)
        if not plan.cfg.perplexity.every or _at_end(plan, chain) or time.perf_counter() >= until or stop.is_set():
            return


def _evaluate(plan: Plan, chain: Chain, store: ChainStore) -> None:
    """Record how likely the held-out documents are under the present state, where it is one of those to evaluate."""
    asked, corpus = plan.cfg.perplexity, plan.dataset.values
    model: Any = chain.model
    if not asked.every or chain.iteration % asked.every:
        return
    # a run without held-out documents does without
    from splitmerge_cli._heldout import log_likelihoods

    seed = [plan.cfg.seed, store.chain, chain.iteration]
    topics = model.word_topics(), model.weights, model.alpha0, model.eta
    told = corpus.tokens, corpus.heldout, model.labels
    values = log_likelihoods(*topics, *told, asked.method, asked.particles, seed)
    store.append_heldout(chain.iteration, chain.seconds, int(values[:, 1].sum()), values[:, 0])


def _drive_together(
    plan: Plan, run_store: RunStore, stores: list[ChainStore], stop: Stop, batch: float, heard: Any
) -> None:
    """Run chains that learn from each other to their end, or until `stop`; they are stored together."""
    saved = [store.saved() for store in stores]
    if all(entry and entry["finished"] for entry in saved) or stop.is_set():
        for store, entry in zip(stores, saved, strict=True):
            if entry:
                heard(store.chain, _progress(plan, entry["outcome"]))
        return
    chains = plan.chains()
    for chain in chains:
        stop.drives(chain)
    workers = _workers(plan.cfg)
    with suppress(Halted), _closed(*stores):
        for store, chain in zip(stores, chains, strict=True):
            store.open_into(chain)
        wall, finished = FIRST_BATCH, False
        while not finished and not stop.is_set():
            before, began = chains[0].iteration, time.perf_counter()
            rows = advance_together(chains, plan.to_evaluation(before), plan.budget, wall, workers)
            rate = (chains[0].iteration - before) / max(time.perf_counter() - began, 1e-9)
            mean_seconds = sum(chain.seconds for chain in chains) / len(chains)
            finished = chains[0].iteration >= plan.iterations or mean_seconds >= plan.budget
            entries = []
            for store, chain, its_rows in zip(stores, chains, rows, strict=True):
                _check_densities(store.chain, its_rows)
                store.append(its_rows)
                if chain.iteration > before:
                    _evaluate(plan, chain, store)
                entries.append(store.entry(chain.state, _outcome(chain, rate), finished))
            run_store.checkpoint_together(entries)
            for store, entry in zip(stores, entries, strict=True):
                heard(store.chain, _progress(plan, entry["outcome"]))
            # the past of all chains is in there
            del entries, entry
            wall = batch


@contextmanager
def _closed(*stores: ChainStore) -> Iterator[None]:
    """Close the streams of chains at the end."""
    try:
        yield
    finally:
        for store in stores:
            store.close()


def _outcome(chain: Chain, rate: float) -> dict[str, Any]:
    """What the summary, and whoever watches, needs of a chain so far."""
    return {
        "iterations": chain.iteration,
        "rate": rate,
        "seconds": chain.seconds,
        "moves": chain.moves(),
        "K": chain.model.K,
        "log_joint": chain.log_joint,
        "best_log_joint": chain.best_log_joint,
        "best_iteration": chain.best_iteration,
        "best_labels": chain.best_labels,
        "best_log_lik": chain.best_log_lik,
        "best_lik_iteration": chain.best_lik_iteration,
        "best_lik_labels": chain.best_lik_labels,
        "last_labels": chain.last_labels,
        "reports": [sampler.report() for sampler in chain.samplers if hasattr(sampler, "report")],
        "tallies": [sampler.tally() for sampler in chain.samplers],
        **({"topics": _weights_of_topics(chain)} if hasattr(chain.model, "word_topics") else {}),
    }


def _weights_of_topics(chain: Chain) -> dict[str, Any]:
    """What of the topics of the present state its labels do not tell; weights in the order of `last_labels`."""
    model: Any = chain.model
    number = np.empty(model.K, dtype=np.int64)
    number[chain.last_labels] = model.labels
    weights = np.append(model.weights[number], model.weights[-1])
    return {"weights": weights, "alpha0": model.alpha0, "gamma": model.gamma, "eta": model.eta}


def _check_densities(chain: int, rows: Mapping[str, NDArray[Any]]) -> None:
    """Raise a `RunError` where the trace of a chain has a density that is no number."""
    finite = np.isfinite(rows["log_joint"])
    if not finite.all():
        at = int(np.argmin(finite))
        raise RunError(
            f"chain {chain}, iteration {rows['iteration'][at]}: the log joint density is {rows['log_joint'][at]}; "
            "expected a finite number: a parameter of the model is too large or too small for these data"
        )


def _progress(plan: Plan, outcome: dict[str, Any]) -> ChainProgress:
    share = max(outcome["iterations"] / plan.iterations, outcome["seconds"] / plan.budget)
    left = min((plan.iterations - outcome["iterations"]) / max(outcome["rate"], 1e-9), plan.budget - outcome["seconds"])
    return ChainProgress(
        outcome["iterations"], min(1.0, share), outcome["rate"], outcome["K"], outcome["log_joint"], max(0.0, left)
    )


def _assemble(plan: Plan, store: RunStore, chains: list[ChainStore], outcomes: list[dict[str, Any]]) -> None:
    """Write the parquet files, the diagnosis and the summary of complete chains."""
    # imported late: arviz and scikit-learn take a second
    from splitmerge_cli.diagnostics.summary import diagnose

    store.write_streamed(schema.TRACE, chains, width=12)
    store.write_streamed(schema.PARTITIONS, chains, width=plan.dataset.N)
    moves = pd.DataFrame([{"chain": c} | move for c, outcome in enumerate(outcomes) for move in outcome["moves"]])
    store.write_frame(schema.MOVES, moves)
    clusterings, estimate = _clusterings(plan, store.path, outcomes)
    told, further = _assemble_topics(plan, store, chains, outcomes) if plan.of_topics else ({}, [])
    diagnostics = diagnose(_diagnosed_trace(store.path), moves, clusterings, plan.dataset.truth, further)
    store.write_frame(schema.DIAGNOSTICS, diagnostics)
    summary = _summary(plan, outcomes, diagnostics, estimate, clusterings["point"].note) | told
    if plan.listed:
        store.write_clusters(summary["point_estimate"]["labels"], plan.dataset.names)
    store.write_summary(summary)


def _assemble_topics(
    plan: Plan, store: RunStore, chains: list[ChainStore], outcomes: list[dict[str, Any]]
) -> tuple[dict[str, Any], list["Row"]]:
    """Write the tables of the topics; what the summary says of them, and the diagnosis."""
    from splitmerge_cli.diagnostics import topic_tables as tables

    states = _last_topics(plan, outcomes)
    best = _best(outcomes, "best_log_joint")
    store.write_streamed(schema.TOPIC_SIZES, chains, width=64)
    for table, of_chain in [
        (schema.TOPICS, tables.topics_table),
        (schema.TOPIC_WORDS, tables.words_table),
        (schema.TOPIC_DOCUMENTS, tables.documents_table),
    ]:
        store.write_parts(table, (of_chain(c, state) for c, state in enumerate(states)))
    store.write_parts(schema.TOKENS, [tables.tokens_table(states[best])])
    told: dict[str, Any] = {
        "topics_of": {"criterion": "last state of the chain of highest log joint density", "chain": best},
        "topics": states[best].overview(),
        "hyperparameters": {name: outcomes[best]["topics"][name] for name in ("gamma", "alpha0", "eta")},
    }
    truth = _true_topics(plan)
    told["true_topics"] = None if truth is None else int((truth.shares > 0).sum())
    if plan.cfg.perplexity.every:
        told["perplexity"] = _assemble_perplexity(plan, store, chains)
    return told, tables.agreement_rows(states, best, truth)


def _last_topics(plan: Plan, outcomes: list[dict[str, Any]]) -> list["ChainTopics"]:
    """The topics of every chain at its end."""
    from splitmerge_cli.diagnostics.topic_tables import ChainTopics, Documents

    corpus = plan.dataset.values
    data = Documents(corpus.tokens.words, corpus.tokens.starts, plan.dataset.vocabulary or [], corpus.documents)
    of = ("weights", "alpha0", "eta")
    return [ChainTopics(data, outcome["last_labels"], *(outcome["topics"][key] for key in of)) for outcome in outcomes]


def _true_topics(plan: Plan) -> "Topics | None":
    """The topics that the documents were generated with, where they were."""
    from splitmerge_cli.diagnostics.topics import Topics

    corpus, truth = plan.dataset.values, plan.dataset.truth
    if corpus.topics is None or truth is None:
        return None
    return Topics.of_probabilities(corpus.topics, np.bincount(truth, minlength=len(corpus.topics)) / len(truth))


def _assemble_perplexity(plan: Plan, store: RunStore, chains: list[ChainStore]) -> dict[str, Any] | None:
    """Write how well held-out documents were predicted; what the summary says of it, None where nothing was evaluated
    (a budget may end before)."""
    from splitmerge_cli.diagnostics import heldout

    asked, frames, means = plan.cfg.perplexity, [], []
    for chain in chains:
        rows = pa.Table.from_batches(chain.read(schema.HELDOUT), schema.core(schema.HELDOUT))
        if rows.num_rows:
            iterations, tokens = rows["iteration"].to_numpy(), rows["tokens"].to_numpy()
            log_lik = rows["log_lik"].combine_chunks().flatten().to_numpy().reshape(len(iterations), -1)
            frame, mean = heldout.evaluations(iterations, tokens, log_lik)
            frames.append(frame.assign(chain=chain.chain, seconds=rows["seconds"].to_numpy(), method=asked.method))
            means.append(mean)
    columns = schema.core(schema.PERPLEXITY).names
    store.write_frame(schema.PERPLEXITY, pd.concat(frames) if frames else pd.DataFrame(columns=columns))
    if not frames:
        return None
    last = pd.concat([frame.iloc[[-1]] for frame in frames])
    return {
        "method": asked.method,
        "particles": asked.particles,
        "tokens": int(last["tokens"].iloc[0]),
        **{name: last[name].tolist() for name in ("chain", "iteration", "perplexity", "averaged")},
        "all_chains": heldout.pooled(means, int(last["tokens"].iloc[0])),
    }


def _clusterings(
    plan: Plan, path: Path, outcomes: list[dict[str, Any]]
) -> tuple[dict[str, "Clustering"], "PointEstimate | None"]:
    """The clusterings that are scored, and the one of least expected variation of information over all chains."""
    from splitmerge_cli.diagnostics.summary import Clustering

    def of_outcomes(key: str, criterion: str, meaning: str) -> Clustering:
        best = _best(outcomes, criterion)
        labels = {c: outcome[key] for c, outcome in enumerate(outcomes)}
        return Clustering(labels, labels[best], f"chain {best}: highest log {meaning}")

    point, estimate = _point_estimates(plan, path, outcomes)
    return {
        "last": of_outcomes("last_labels", "best_log_joint", "joint"),
        "best": of_outcomes("best_labels", "best_log_joint", "joint"),
        "best_lik": of_outcomes("best_lik_labels", "best_log_lik", "likelihood"),
        "point": point,
    }, estimate


def _best(outcomes: list[dict[str, Any]], key: str) -> int:
    """The first chain that has the highest value."""
    return max(range(len(outcomes)), key=lambda c: outcomes[c][key])


def _point_estimates(
    plan: Plan, path: Path, outcomes: list[dict[str, Any]]
) -> tuple["Clustering", "PointEstimate | None"]:
    """Partitions of least expected variation of information: of all chains, and where they are scored of each."""
    from splitmerge_cli.diagnostics.point_estimate import TooManyClusters, minimise_expected_vi
    from splitmerge_cli.diagnostics.summary import Clustering

    if plan.of_topics and plan.dataset.N > ESTIMATED:
        return Clustering({}, None, f"not estimated: more than {ESTIMATED:,} tokens"), None
    sampled = _second_half_partitions(path, plan.dataset.N, [outcome["iterations"] for outcome in outcomes])
    if not sampled:
        why = "no late partitions; trace.partitions=10 records some"
        return Clustering({}, None, why), None
    try:
        estimate = minimise_expected_vi(np.concatenate(list(sampled.values())))
        each = {}
        if plan.dataset.truth is not None:
            each = {
                c: (minimise_expected_vi(rows) if len(sampled) > 1 else estimate).labels for c, rows in sampled.items()
            }
    except TooManyClusters as error:
        return Clustering({}, None, str(error)), None
    return Clustering(each, estimate.labels, f"{estimate.partitions} partitions of all chains"), estimate


def _second_half_partitions(path: Path, N: int, iterations: list[int]) -> dict[int, NDArray[np.int32]]:
    """Recorded partitions ``[M, N]`` of the second half of every chain, thinned; chains that have none are left out."""
    from splitmerge_cli.diagnostics.point_estimate import evenly, most_partitions

    with pq.ParquetFile(path / f"{schema.PARTITIONS}.parquet") as file:
        rows = file.read(columns=["chain", "iteration"]).to_pandas()
        late = rows["iteration"] > rows["chain"].map(dict(enumerate(iterations))) / 2
        chosen = [np.flatnonzero(late & (rows["chain"] == c)) for c in range(len(iterations))]
        chosen = [numbers[evenly(len(numbers), most_partitions(N))] for numbers in chosen]
        wanted, parts, begin = np.concatenate(chosen), [np.empty((0, N), dtype=np.int32)], 0
        for group in range(file.num_row_groups):
            end = begin + file.metadata.row_group(group).num_rows
            here = wanted[(wanted >= begin) & (wanted < end)] - begin
            if len(here):
                labels = file.read_row_group(group, columns=["labels"])["labels"].combine_chunks().take(here)
                parts.append(labels.flatten().to_numpy().reshape(-1, N))
            begin = end
    ends = np.cumsum([len(numbers) for numbers in chosen])
    each = np.split(np.concatenate(parts), ends[:-1])
    return {c: labels for c, labels in enumerate(each) if len(labels)}


def _diagnosed_trace(path: Path) -> pd.DataFrame:
    """The trace with the largest fraction alone in place of the list of five."""
    file = path / f"{schema.TRACE}.parquet"
    present = pq.read_schema(file).names
    names = [name for name in schema.core(schema.TRACE, schema.RESAMPLED).names if name in present]
    table = pq.read_table(file, columns=names, partitioning=None)
    position = table.column_names.index("largest")
    return table.set_column(position, "largest", pc.list_element(table["largest"], 0)).to_pandas()


def _summary(
    plan: Plan,
    outcomes: list[dict[str, Any]],
    diagnostics: pd.DataFrame,
    estimate: "PointEstimate | None",
    note: str,
) -> dict[str, Any]:
    overall = diagnostics[diagnostics["chain"].isna()]
    joint, lik = (_best(outcomes, key) for key in ("best_log_joint", "best_log_lik"))
    best = {
        "criterion": "highest log joint density over all iterations of all chains",
        "chain": joint,
        "iteration": outcomes[joint]["best_iteration"],
        "log_joint": outcomes[joint]["best_log_joint"],
        **_described(outcomes[joint]["best_labels"], plan.listed),
    }
    likeliest = {
        "criterion": "highest log likelihood over all iterations of all chains",
        "chain": lik,
        "iteration": outcomes[lik]["best_lik_iteration"],
        "log_lik": outcomes[lik]["best_log_lik"],
        **_described(outcomes[lik]["best_lik_labels"], plan.listed),
    }
    central = estimate and {
        "criterion": "least expected variation of information over partitions of the second halves of all chains",
        "expected_vi": estimate.expected_vi,
        "partitions": estimate.partitions,
        **_described(estimate.labels, plan.listed),
    }
    return {
        "run_id": plan.id,
        **(
            {"graph": {k: v for k, v in plan.dataset.meta.items() if k != "notes"}}
            if plan.dataset.kind == "graph"
            else {}
        ),
        **{key: told for key, told in plan.dataset.meta.items() if key in ("documents", "notes")},
        **{name: value for report in outcomes[0]["reports"] for name, value in report.items()},
        **_tallied(outcomes),
        "sampler": plan.cfg.sampler.name,
        "model": plan.cfg.model.name,
        "data": plan.cfg.data.name,
        "schedule": plan.cfg.schedule.name,
        "N": plan.dataset.N,
        "seed": plan.cfg.seed,
        "chains": plan.cfg.chains,
        "iterations": [o["iterations"] for o in outcomes],
        "seconds": [o["seconds"] for o in outcomes],
        "diagnostics": {
            quantity: value if math.isfinite(value) else None
            for quantity, value in zip(overall["quantity"], overall["value"], strict=True)
        },
        "point_estimate": central or best | {"note": note},
        "highest_log_joint": best,
        "highest_log_lik": likeliest,
        "least_expected_vi": central,
    }


def _tallied(outcomes: list[dict[str, Any]]) -> dict[str, dict[str, list[int]]]:
    """What samplers counted beside their moves, every count a list by chain."""
    named = [{name: counts for tally in o["tallies"] for name, counts in tally.items()} for o in outcomes]
    return {name: {key: [of_chain[name][key] for of_chain in named] for key in named[0][name]} for name in named[0]}


def _described(labels: NDArray[np.int32], listed: bool) -> dict[str, Any]:
    return {"n_clusters": int(labels.max()) + 1, **({"labels": labels.tolist()} if listed else {})}


__all__ = [
    "ConfigError",
    "DamagedRun",
    "DataError",
    "Interrupted",
    "Plan",
    "RunError",
    "WrittenElsewhere",
    "dataset_of",
    "is_done",
    "is_written",
    "open_run",
    "prepare",
    "run",
    "run_dir",
    "run_id",
]
