"""A run that is planned: everything is checked, its first chain is built, and nothing is written."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError, DataSource, RunSpecification, classes, gibbs_update
from splitmerge_cli.config.schema import INITIAL, Until
from splitmerge_cli.core.chain import Chain, Rows
from splitmerge_cli.core.coupled import CoupledChains
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.core.tempering import Tempering, spread_powers
from splitmerge_cli.data import opening, values
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs import grouping, identity, initial, interrupts, recorders, starts
from splitmerge_cli.runs.store import files, read, schema


@dataclass(frozen=True)
class Builder:
    """Builds chains of a `spec` on a data set. `labels` come from the file that `init` names, or replace a
    search, ``[N]`` or ``[chains, N]``; the chains record the `sizes` of all clusters, and a partition after every
    `partitions` iterations (0: none)."""

    spec: RunSpecification
    dataset: Dataset
    labels: NDArray[np.int32] | None
    sizes: bool
    partitions: int

    @np.errstate(all="ignore")  # what overflows leaves no finite density, which is reported below
    def chain(self, number: int, starts: bool = True) -> Chain:
        """Build chain `number`, at its start if it `starts`; else with no state, for one that was stored. Raises
        `ConfigError` (a parameter out of range, a schedule as of `build_schedule`, a start state that the model cannot
        hold or that has no density)."""
        spec = self.spec
        model = initial.build_model(spec.model, self.dataset)
        rng = Rng(spec.seed, number)
        schedule = initial.build_schedule(spec, model, rng)
        if starts:
            self._start(model, rng, np.random.Generator(rng.bit_generator), number)
        samplers = schedule.samplers
        if spec.tempering.levels:
            tempering = self._temper(model, rng)
            if starts:
                tempering.adapt(samplers)
            samplers = [*samplers, tempering]
        warmup = None
        if spec.warmup:  # full Gibbs scans, by the schedule's own sampler if it has one
            scan = gibbs_update(model.conjugate)
            full = (one for one in schedule.samplers if type(one) is scan.target and getattr(one, "full", False))
            warmup = next(full, None) or initial.build_sampler(scan, model, rng), spec.warmup
        return Chain(
            model,
            rng,
            samplers,
            weights=schedule.weights,
            thin=spec.thin,
            partitions=self.partitions,
            truth=self.dataset.truth_of_items,
            timing=spec.timing,
            warmup=warmup,
            sizes=self.sizes,
        )

    @np.errstate(all="ignore")
    def coupled_chains(self, number: int, lag: int, coupling: str, powers: Sequence[float] = ()) -> CoupledChains:
        """Build two coupled chains at their initial states, drawn independently from the same distribution by generator
        `number`; the first is ahead by `lag` iterations. `coupling` of the draws of a cluster is as in `CoupledChains`;
        `powers` belong to the replicas of either chain, which start in its state: as many as ``tempering.levels``.
        Raises as `chain`."""
        spec = self.spec
        rng = Rng(spec.seed, number)
        generator = np.random.Generator(rng.bit_generator)
        x, y = (initial.build_model(spec.model, self.dataset) for _ in range(2))
        of_x, of_y = (initial.build_schedule(spec, model, rng) for model in (x, y))
        for model in (x, y):
            self._start(model, rng, generator, 0)
        steps_x, steps_y = list(of_x.samplers), list(of_y.samplers)
        beside_x, beside_y = list[Model](), list[Model]()
        if len(powers) != spec.tempering.levels:
            raise ValueError(f"powers: expected {spec.tempering.levels}, got {len(powers)}")
        if powers:
            for model, steps, beside in ((x, steps_x, beside_x), (y, steps_y, beside_y)):
                tempering = self._temper(model, rng, powers)
                steps += tempering.single_steps()
                beside += [replica for replica, _ in tempering.replicas]
        return CoupledChains(x, y, rng, steps_x, steps_y, lag, of_x.weights, coupling, beside_x, beside_y)

    def _start(self, model: Model, rng: Rng, generator: np.random.Generator, number: int) -> None:
        """Put the model of chain `number` in its start state."""
        spec, own_labels = self.spec, self.labels
        if own_labels is not None and own_labels.ndim == 2:
            own_labels = own_labels[number]
        if not starts.start_of(spec).put(model, self.dataset, rng, own_labels):
            labels, K = initial.initial_labels(model, self.dataset, spec.init, spec.K0, generator, own_labels, number)
            initial.set_labels(model, labels, K)
        model.start_parameters(rng)
        log_joint = model.log_joint()
        if not math.isfinite(log_joint):
            raise ConfigError(
                f"model={spec.model.name}: the log joint density of the start is {log_joint}; expected a finite "
                "number: a parameter of the model is too large or too small"
            )

    def _temper(self, model: Model, rng: Rng, powers: Sequence[float] = ()) -> Tempering:
        """Replicas of a chain under powers of the likelihood, spread evenly if they are not given."""
        spec = self.spec
        options, key = spec.model.options, f"tempering.levels={spec.tempering.levels}"
        if not spec.model.target.has_powers():
            able = [name for name, cls in classes("model").items() if cls.has_powers()]
            raise ConfigError(f"{key}: model={spec.model.name} has no powers of the likelihood; {', '.join(able)} have")
        if spec.is_adaptive:
            learns = "learns from several chains; expected another sampler"
            raise ConfigError(f"{key}: sampler={spec.sampler_name} {learns}")

        def make(power: float) -> tuple[Model, list[Sampler]]:
            replica_options = {**options, "power": options["power"] * power} if "power" in options else options
            replica = initial.build_model(replace(spec.model, options=replica_options), self.dataset)
            if replica_options is options:
                replica.temper(power)
            return replica, initial.build_schedule(spec, replica, rng).samplers

        spread = spread_powers(spec.tempering.levels, spec.tempering.least).tolist()
        return Tempering(model, rng, make, powers or spread)

    def first_chains(self, number: int) -> list[Chain]:
        """Build chains 0 to `number` - 1 at their starts, as many at a time as may run; raises as `chain`."""
        if number == 1:
            return [self.chain(0)]
        # a start that takes time looks for the signal itself
        with interrupts.AnsweredBy(lambda: None), ThreadPoolExecutor(workers(self.spec)) as pool:
            return list(pool.map(self.chain, range(number)))

    def adaptive_chains(self) -> list[Chain]:
        """Build all chains of samplers that learn from each other. Raises `ConfigError` (as `chain`, or fewer chains
        than the samplers learn from)."""
        chains = self.first_chains(self.spec.chains)
        adaptive = next(sampler.adaptive for sampler in chains[0].samplers if hasattr(sampler, "adaptive"))
        try:
            history = adaptive.new_history(len(chains))
        except ValueError as error:
            raise ConfigError(str(error)) from error
        for number, chain in enumerate(chains):
            chain.adapt_to(history, number)
        return chains


UNLIMITED = 2**62
"""Iterations of a chain that only a budget ends."""


@dataclass(frozen=True)
class Plan:
    """A run with its data set: everything is known to be buildable, nothing is written yet.

    `digests`: SHA-256 of the files that were read, by the key that names them; `recorder`: what is recorded of this
    kind of data; `builder` makes the chains; `optional_columns` of the trace, and of the partitions, are those that not
    every run has; `largest_K`: most clusters that model and prior allow; `chosen`: how what ``auto`` stands for was
    chosen, for the summary, which changes nothing that is computed.
    """

    spec: RunSpecification
    dataset: Dataset
    digests: Mapping[str, str]
    recorder: recorders.Recorder
    builder: Builder
    optional_columns: list[str]
    largest_K: int
    chosen: Mapping[str, Any] | None = None
    _built: dict[int, Chain] = field(default_factory=dict, repr=False)
    """Chains at their start that the check has built, by their numbers: each is handed out once."""
    _held: list[Any] = field(default_factory=list, repr=False)
    """Tables of the models, which are prepared again if all chains have stopped and nobody holds them."""

    @property
    def model(self) -> Component:
        """The model of the chains."""
        return self.spec.model

    @property
    def data(self) -> DataSource:
        """Where the data set is from."""
        return self.spec.data

    @property
    def seed(self) -> int:
        """Seed of the chains."""
        return self.spec.seed

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.spec.chains

    @property
    def stopping_rule(self) -> Until:
        """When the chains have run long enough."""
        return self.spec.until

    @property
    def is_open(self) -> bool:
        """Whether nobody names a length, as of `RunSpecification`."""
        return self.spec.is_open

    @property
    def is_adaptive(self) -> bool:
        """Whether the chains learn from each other."""
        return self.spec.is_adaptive

    @property
    def is_experiment(self) -> bool:
        """Whether the run belongs to a figure of a paper."""
        return self.spec.experiment is not None

    @property
    def cautions(self) -> list[str]:
        """Say before the run that clusters of the prior grow with the data, where the clusters of such data stay small
        (Miller et al. 2015, Microclustering), and that the sampler makes no move in so few iterations."""
        spec, said = self.spec, []
        if spec.model.values.get("prior") == "crp" and self.dataset.kind.growing:
            said.append(self.dataset.kind.growing)
        if spec.warmup and spec.warmup >= self.iterations:
            said.append(
                f"warmup={spec.warmup}: all {self.iterations:,} iterations are Gibbs scans alone, and "
                f"sampler={spec.sampler_name} makes no move (warmup=0, or more iterations)"
            )
        return said

    @cached_property
    def id(self) -> str:
        """Identity of the run; see `run_id`."""
        return identity.run_id(self.spec, self.digests)

    @property
    def path(self) -> Path:
        """The folder of the run; see `run_dir`."""
        return self.spec.folder / self.id

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to run: the run was finished before, and ``resume=false`` does not ask for more."""
        return self.spec.resume and identity.is_done(self.path)

    def require_same_reading(self) -> None:
        """Raise a `ConfigError` if what is stored of this run was made of other data, which other rules of reading
        found in the same file."""
        if not self.spec.resume or not (self.path / files.STATUS).is_file():
            return
        status = read.Run(self.path).status
        # earlier versions took what others determine for data, and did not store what they had read
        others = [] if "read_sha256" in status else self.dataset.meta.get("determined", [])
        if others or status.get("read_sha256", self.data_digest) != self.data_digest:
            which = f" (with {', '.join(others)})" if others else ""
            expected = "resume=false makes it again, out=FOLDER keeps both"
            raise ConfigError(f"{self.path}: this run read its file in another way{which}; {expected}")

    @cached_property
    def data_digest(self) -> str:
        """SHA-256 of the data as they are read."""
        return values.digest_of(self.dataset)

    def require_writable(self) -> None:
        """Raise a `ConfigError` if the folder of the run cannot be made, or nothing written to it."""
        try:
            files.require_writable(self.path)
        except OSError as error:
            raise ConfigError(f"out={self.spec.out}: cannot write to {error.filename}: {error.strerror}") from error

    @property
    def iterations(self) -> int:
        """Iterations after which a chain ends."""
        if self.spec.is_open:
            return initial.most_iterations(self.spec, self.dataset)
        return UNLIMITED if self.spec.iterations is None else self.spec.iterations

    @property
    def budget(self) -> float:
        """Seconds of sampling after which a chain ends."""
        return math.inf if self.spec.budget is None else self.spec.budget

    @property
    def workers(self) -> int:
        """Chains that run at the same time."""
        return workers(self.spec)

    def chain(self, number: int, starts: bool = True) -> Chain:
        """Chain `number`, at its start if it `starts`; parameters and errors as of `Builder.chain`."""
        chain = self._built.pop(number, None)
        if chain is None:
            chain = self.builder.chain(number, starts)
        self._held[:] = chain.model.shared or ()
        chain.set_threads(threads(self.spec) // self.workers)
        return chain

    @cached_property
    def powers(self) -> tuple[float, ...]:
        """Powers of the replicas that chain 0 chooses before it begins; none without tempering."""
        if not self.spec.tempering.levels:
            return ()
        chain = self._built.get(0) or self.builder.chain(0)
        return tuple(power for one in chain.samplers if isinstance(one, Tempering) for power in one.powers)

    def chains(self) -> list[Chain]:
        """All chains of samplers that learn from each other; raises as `Builder.adaptive_chains`."""
        built = [self._built.pop(number, None) for number in range(self.spec.chains)]
        chains = [chain for chain in built if chain is not None]
        # they share the history that they learn from: all of one making, or none
        return chains if len(chains) == len(built) else self.builder.adaptive_chains()


def workers(spec: RunSpecification) -> int:
    """Chains that run at the same time."""
    return min(spec.chains, threads(spec))


def threads(spec: RunSpecification) -> int:
    """Threads that a run may have."""
    return spec.workers or os.cpu_count() or 1


def prepare(
    spec: RunSpecification,
    records: bool = True,
    labels: NDArray[np.int32] | None = None,
    runs: bool = True,
    on_data: Callable[[Dataset], None] = lambda _: None,
) -> Plan:
    """Check all that can be checked without running: load the data, build a first chain. `records`: whether the disk is
    to hold what a run records; `labels` ``[chains, N]``: clusters that chains take in the place of a search; `runs`:
    whether the chains are to run, so that as many as may run start together where a start takes time; `on_data` is
    called with the data: once nothing is wrong, or before a start that takes minutes. Raises `ConfigError` or
    `DataError` (the message names the key, or the file, row and column, and what was expected)."""
    spec.data.check()
    with opening.limit_bytes(spec.data.max_bytes):
        digests = identity.file_digests(spec.data, spec.init)
        dataset = initial.load_dataset(spec.data, spec.model.kind, identity.of_data(digests))
        accepted, reason = spec.model.target.accepts(dataset)
        if not accepted:
            fitting = [f"model={name}, or " for name, cls in classes("model").items() if cls.accepts(dataset)[0]]
            expected = f"expected {''.join(fitting)}other data (smcmc list data)"
            raise ConfigError(f"model={spec.model.name} with data={spec.data.name}: {reason}; {expected}")
        recorder = recorders.recorder_of(spec, dataset)
        recorder.check(workers(spec))
        if spec.gap and (why := grouping.why_not_joined(dataset)):
            raise ConfigError(f"gap={spec.gap:g}: expected 0, because {why}")
        if spec.init not in INITIAL:
            labels, digests["init"] = initial.read_labels(spec.init)
            if labels.ndim == 2 and len(labels) != spec.chains:
                expected = f"expected one for each of {spec.chains} chains"
                raise ConfigError(f"init={spec.init}: {len(labels)} rows; {expected}")
        takes_time = spec.init in starts.SEARCHES
        if takes_time:
            on_data(dataset)
        builder = Builder(spec, dataset, labels, sizes=recorder.sizes, partitions=recorder.spacing.every)
        try:
            # a start by trials takes as long as many iterations: others do not wait for the first
            first = workers(spec) if runs and takes_time else 1
            chains = builder.adaptive_chains() if spec.is_adaptive else builder.first_chains(first)
        except MemoryError as error:
            raise ConfigError(f"N={dataset.N}, model={spec.model.name}: not enough memory: {error}") from error
        if not takes_time:
            on_data(dataset)
        # what a chain records, the chain itself shows
        recorded = Rows(chains[0], 1).collect()
        columns = [*chains[0].model.hyperparameters, *(name for name in schema.OPTIONAL if name in recorded)]
        columns += [schema.PARAMETERS] * (f"partition_{schema.PARAMETERS}" in recorded)
        built, largest_K = dict(enumerate(chains)), chains[0].model.largest_K
        plan = Plan(spec, dataset, digests, recorder, builder, columns, largest_K, _built=built)
        if records:
            try:
                recorders.check_disk(spec, recorder, columns, plan.path)
            except ConfigError:
                if not plan.is_done:  # of which nothing is to be recorded
                    raise
        return plan
