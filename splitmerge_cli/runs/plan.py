"""A run that is planned: everything is checked, its first chain is built, and nothing is written."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError, DataSource, RunSpecification, classes
from splitmerge_cli.config.schema import INITIAL, Until
from splitmerge_cli.core.chain import Chain, Rows
from splitmerge_cli.core.tempering import Tempering
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import limit_bytes
from splitmerge_cli.data.values import digest_of
from splitmerge_cli.runs.build import Builder
from splitmerge_cli.runs.disk import check_disk
from splitmerge_cli.runs.grouping import why_not_joined
from splitmerge_cli.runs.identity import file_digests, is_done, of_data, run_id
from splitmerge_cli.runs.initial import load_dataset, read_labels
from splitmerge_cli.runs.recorders import Recorder, recorder_of
from splitmerge_cli.runs.schedule import most_iterations
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.files import STATUS, require_writable
from splitmerge_cli.runs.store.read import Run

UNLIMITED = 2**62
"""Iterations of a chain that only a budget ends."""


@dataclass(frozen=True)
class Plan:
    """A run with its data set: everything is known to be buildable, nothing is written yet.

    Attributes
    ----------
    spec : RunSpecification
    dataset : Dataset
    digests : mapping of str to str
        SHA-256 of the files that were read, by the key that names them.
    recorder : Recorder
        What is recorded of this kind of data.
    builder : Builder
        Makes the chains.
    optional_columns : list of str
        Columns of the trace, and of the partitions, that not every run has.
    largest_K : int
        Most clusters that model and prior allow.
    chosen : mapping, optional
        How what ``auto`` stands for was chosen, for the summary; it changes nothing that is computed.
    """

    spec: RunSpecification
    dataset: Dataset
    digests: Mapping[str, str]
    recorder: Recorder
    builder: Builder
    optional_columns: list[str]
    largest_K: int
    chosen: Mapping[str, Any] | None = None
    _built: dict[int, Chain] = field(default_factory=dict, repr=False)
    """Chains at their start that the check has built, by their numbers: each is handed out once."""

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
    def until(self) -> Until:
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
    def growing(self) -> str:
        """Says that clusters of the prior grow with the data, where the clusters of such data stay small; else empty.
        Source: Miller et al. 2015, Microclustering."""
        return self.dataset.kind.growing if self.spec.model.values.get("prior") == "crp" else ""

    @cached_property
    def id(self) -> str:
        """Identity of the run; see `run_id`."""
        return run_id(self.spec, self.digests)

    @property
    def path(self) -> Path:
        """The folder of the run; see `run_dir`."""
        return self.spec.folder / self.id

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to run: the run was finished before, and ``resume=false`` does not ask for more."""
        return self.spec.resume and is_done(self.path)

    def require_same_reading(self) -> None:
        """Raise a `ConfigError` if what is stored of this run was made of other data, which other rules of reading
        found in the same file."""
        if not self.spec.resume or not (self.path / STATUS).is_file():
            return
        status = Run(self.path).status
        # earlier versions took what others determine for data, and did not store what they had read
        others = [] if "read_sha256" in status else self.dataset.meta.get("determined", [])
        if others or status.get("read_sha256", self.data_digest) != self.data_digest:
            which = f" (with {', '.join(others)})" if others else ""
            raise ConfigError(
                f"{self.path}: this run read its file in another way{which}; resume=false makes it again, out=FOLDER "
                "keeps both"
            )

    @cached_property
    def data_digest(self) -> str:
        """SHA-256 of the data as they are read."""
        return digest_of(self.dataset)

    def require_writable(self) -> None:
        """Raise a `ConfigError` if the folder of the run cannot be made, or nothing written to it."""
        try:
            require_writable(self.path)
        except OSError as error:
            raise ConfigError(f"out={self.spec.out}: cannot write to {error.filename}: {error.strerror}") from error

    @property
    def iterations(self) -> int:
        """Iterations after which a chain ends."""
        if self.spec.is_open:
            return most_iterations(self.spec, self.dataset)
        return UNLIMITED if self.spec.iterations is None else self.spec.iterations

    @property
    def budget(self) -> float:
        """Seconds of sampling after which a chain ends."""
        return math.inf if self.spec.budget is None else self.spec.budget

    @property
    def workers(self) -> int:
        """Chains that run at the same time."""
        return workers(self.spec)

    def until_next(self, iteration: int, end: int) -> int:
        """Iterations that a chain makes at most before the next thing to do: its `end`, or an evaluation."""
        return min(end - iteration, self.recorder.until_evaluation(iteration))

    def chain(self, number: int, starts: bool = True) -> Chain:
        """Chain `number`, at its start if it `starts`; parameters and errors as of `Builder.chain`."""
        chain = self._built.pop(number, None)
        if chain is None:
            chain = self.builder.chain(number, starts)
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


def prepare(spec: RunSpecification, records: bool = True) -> Plan:
    """Check all that can be checked without running: load the data, build a first chain. `records`: whether the disk is
    to hold what a run records. Raises `ConfigError` or `DataError` (the message names the key, or the file, row and
    column, and what was expected).
    """
    spec.data.check()
    with limit_bytes(spec.data.max_bytes):
        return _prepare(spec, records)


def _prepare(spec: RunSpecification, records: bool) -> Plan:
    """`prepare`, files being read up to the limit that is set."""
    digests = file_digests(spec.data, spec.init)
    dataset = load_dataset(spec.data, spec.model.kind, of_data(digests))
    accepted, reason = spec.model.target.accepts(dataset)
    if not accepted:
        fitting = [name for name, cls in classes("model").items() if cls.accepts(dataset)[0]]
        models = "".join(f"model={name}, or " for name in fitting)
        raise ConfigError(
            f"model={spec.model.name} with data={spec.data.name}: {reason}; expected {models}other data "
            "(smcmc list data)"
        )
    recorder = recorder_of(spec, dataset)
    recorder.check(workers(spec))
    if spec.gap and (why := why_not_joined(dataset)):
        raise ConfigError(f"gap={spec.gap:g}: expected 0, because {why}")
    labels: NDArray[np.int32] | None = None
    if spec.init not in INITIAL:
        labels, digests["init"] = read_labels(spec.init)
        if labels.ndim == 2 and len(labels) != spec.chains:
            raise ConfigError(f"init={spec.init}: {len(labels)} rows; expected one for each of {spec.chains} chains")
    builder = Builder(spec, dataset, labels, sizes=recorder.sizes, partitions=recorder.spacing.every)
    try:
        chains = builder.adaptive_chains() if spec.is_adaptive else [builder.chain(0)]
    except MemoryError as error:
        raise ConfigError(f"N={dataset.N}, model={spec.model.name}: not enough memory: {error}") from error
    # what a chain records, the chain itself shows
    recorded = Rows(chains[0], 1).collect()
    columns = [*chains[0].model.hyperparameters, *(name for name in schema.OPTIONAL if name in recorded)]
    columns += [schema.PARAMETERS] * (f"partition_{schema.PARAMETERS}" in recorded)
    plan = Plan(
        spec, dataset, digests, recorder, builder, columns, chains[0].model.largest_K, _built=dict(enumerate(chains))
    )
    if records:
        try:
            check_disk(spec, recorder, columns, plan.path)
        except ConfigError:
            if not plan.is_done:  # of which nothing is to be recorded
                raise
    return plan
