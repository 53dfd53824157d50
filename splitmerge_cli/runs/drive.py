"""How chains are driven, to the store or in memory.

Chains run in threads (``Chain.advance`` works without the interpreter's lock), each in batches of about a second.
Chains of adaptive samplers learn from each other, so they advance together, with a barrier after each iteration.
After each batch the rows go to the chain's stream and a checkpoint is stored, so a run that is killed loses no more
than the batch it was in. Nothing but the columns of seconds depends on the number of threads, on the batches, or on
interruptions.

The draws of a `ShortRun` stay in memory: nothing is written, judged or described, since only densities are taken from
them.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli import config, version
from splitmerge_cli.core.chain import Chain, Halted, advance_together
from splitmerge_cli.data.arrow import numbers_of
from splitmerge_cli.data.values import READING
from splitmerge_cli.runs import continuation, draws, finish, identity, interrupts, judgement
from splitmerge_cli.runs.plan import Plan, prepare
from splitmerge_cli.runs.progress import LINE_EVERY, ChainProgress, Reporter, is_live, reporter
from splitmerge_cli.runs.store import files, read, schema
from splitmerge_cli.runs.store.store import ChainStore, RunStore, save_checkpoints

FIRST_BATCH = 0.1
"""Seconds of the first batch of a chain: something to show soon."""
BATCH = 1.0
"""Seconds of the other batches: what a kill may cost."""
LIVE_BATCH = 0.3
"""Seconds of a batch while bars are shown."""

POLLED = 0.1
"""Seconds between two looks at how the chains get on."""
GENTLE = 0.5
"""Seconds that a chain has to end its iteration when the run is to stop; then the iteration is broken off."""

SILENT = 2.0
"""Seconds after the last iteration until a line says what takes time."""

OnProgress = Callable[[int, ChainProgress], None]
"""Called with the number of a chain and where it is, from several threads."""


def run(job: config.RunSpecification | Plan, progress: Reporter | None = None) -> Path:
    """Make one run, or the missing part of it, and return its folder; see `make`."""
    return make(job, progress).path


def make(
    job: config.RunSpecification | Plan, progress: Reporter | None = None, on_begin: Callable[[bool], str] | None = None
) -> read.Run:
    """Make one run, or the missing part of it; what was just written of it is not read again. A run that was finished
    before is left as it is, unless ``resume=false``.

    `progress` receives how the chains get on; by default what the key `progress` says. `on_begin` is called if nothing
    of the run is stored, as soon as it can be written: its argument is whether a line will say how long the chains run;
    it returns what stands before that. Raises `ConfigError` or `DataError` (bad input; nothing was written),
    `Interrupted` (Ctrl-C or SIGTERM, after the batches at hand were stored), `WrittenElsewhere` (by another process),
    `RunError` (the disk is full; what was stored is intact) or `DamagedRun` (a file of the unfinished run is not what
    was written).
    """
    plan = job if isinstance(job, Plan) else prepare(job)
    spec, path = plan.spec, plan.path
    plan.require_same_reading()
    if plan.is_done:
        return read.Run(path)
    provenance = {
        "config": spec.identity,
        **{f"{name}_sha256": plan.digests.get(name) for name in identity.DATA_FILES},
        "read_sha256": plan.data_digest,
        "reading": READING,
        "run_id": plan.id,
        "seed": spec.seed,
        "versions": version.versions(),
        "commit": version.commit(),
        "machine": version.machine(),
    }
    names = plan.optional_columns, [streamed.table for streamed in plan.recorder.streamed_tables]
    store = RunStore(path, provenance, plan.id, spec.sampler_name, spec.seed, *names)
    session = store.session()
    try:
        session.__enter__()
    except files.Locked as error:
        raise interrupts.WrittenElsewhere(str(error)) from error
    except OSError as error:
        raise config.ConfigError(f"out={spec.out}: cannot write to {error.filename}: {error.strerror}") from error
    try:
        if plan.is_done:  # by the process that held the lock until now
            store.clear_work()
            return read.Run(path)
        if not spec.resume:
            store.clear()
        chains = [store.chain(c) for c in range(spec.chains)]
        continuation.check_columns(plan, chains)
        before = ""
        if on_begin is not None and not any(chain.checkpoint_path.exists() for chain in chains):
            before = on_begin(spec.is_open and spec.progress != "none")
        _run(plan, store, progress or reporter(spec.progress), before)
    except KeyboardInterrupt as error:
        raise interrupts.Interrupted(path) from error
    except OSError as error:
        gone = "the folder was removed or moved while the run wrote to it; the same command starts the run again"
        kept = "the stored draws are intact, and the same command continues the run"
        what = f"{path}: {gone}" if store.is_gone else f"{error.filename or path}: {error.strerror or error}; {kept}"
        raise interrupts.RunError(what) from error
    finally:
        session.__exit__(None, None, None)
    return read.Run(path, spec.config_dir, store.contents)


def _run(plan: Plan, store: RunStore, progress: Reporter, before: str) -> None:
    """Make the chains; `before` stands before the line that says how long they run."""
    from omegaconf import OmegaConf

    spec = plan.spec
    store.write_config(OmegaConf.to_yaml(dict(spec.values)))
    # what the tables will say of code and data, until there are tables
    others = ("config", "run_id", "seed")
    versions = {key: value for key, value in store.provenance.items() if key not in others and value}
    store.write_status("running", pid=os.getpid(), share=0.0, error=None, **versions)
    share, stop = [0.0] * spec.chains, Stop()
    shown: dict[int, int] = {}

    def on_progress(chain: int, state: ChainProgress) -> None:
        share[chain] = state.fraction
        if shown.get(chain) != state.iteration:  # one that has ended is met again at every look
            shown[chain] = state.iteration
            progress.update(chain, state)

    batch = LIVE_BATCH if is_live(spec.progress) else BATCH
    chains = [store.chain(c) for c in range(spec.chains)]
    progress.start(spec.chains)
    interrupts.say(f"smcmc: {interrupts.Interrupted(store.path)}")
    try:
        if spec.is_open:
            progress.say(before + judgement.describe_aim(plan))
        if spec.resume:
            continuation.take_up(plan, store, chains, progress.say)
        last_said = time.monotonic()
        for end in judgement.looks(plan):
            with interrupts.AnsweredBy(stop.set), ThreadPoolExecutor(plan.workers) as pool:
                groups = [chains] if spec.is_adaptive else [[chain] for chain in chains]
                drives = [pool.submit(_drive, plan, group, stop, batch, on_progress, end) for group in groups]
                try:
                    await_chains(drives, stop, lambda: store.write_status("running", share=sum(share) / spec.chains))
                except BaseException:
                    stop.set()
                    raise
            for drive in drives:
                drive.result()
            stop.forget()
            saved = [chain.read_checkpoint() for chain in chains]
            outcomes = [s["outcome"] for s in saved if s]
            each = [outcomes] if spec.is_adaptive else [[outcome] for outcome in outcomes]
            if len(outcomes) < spec.chains or not all(_have_ended(plan, group, end) for group in each):
                raise KeyboardInterrupt
            if spec.until.is_given:
                last_look = judgement.look(plan, chains, min(end, max(outcome["iterations"] for outcome in outcomes)))
                if last_look.reached or judgement.are_apart(plan, last_look):
                    break
                tables = [chain.table(schema.TRACE, plan.n_chains) for chain in chains]
                clusters = np.concatenate([numbers_of(table["n_clusters"]) for table in tables])
                if len(clusters) and judgement.are_dear(plan, float(clusters.mean()), end):
                    break
                if all(outcome["iterations"] < end for outcome in outcomes):  # a budget has ended them
                    break
                # if nobody asks for looks, one now and then is printed
                if end < plan.iterations and (not spec.is_open or time.monotonic() > last_said + LINE_EVERY):
                    last_said = time.monotonic()
                    progress.say(judgement.describe_look(asdict(last_look), asdict(spec.until)))
        progress.stop()
        saying = threading.Timer(SILENT, progress.say, ["sampling has finished; writing the tables and the estimate"])
        saying.start()
        try:
            finish.assemble(plan, store, chains, outcomes, progress.say)
            continuation.keep_states(plan, store, chains)
        finally:
            saying.cancel()
        store.finish()
    except KeyboardInterrupt:
        store.write_status("interrupted", share=sum(share) / spec.chains)
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
        self._chains: list[Chain] = []
        self._since = math.inf

    def set(self) -> None:
        """Let all chains stop."""
        self._since = min(self._since, time.monotonic())
        for chain in self._chains:
            chain.stop()

    def is_set(self) -> bool:
        """Whether the chains are to stop."""
        return self._since < math.inf

    def drives(self, chain: Chain) -> None:
        """Stop this chain, too: it is about to be driven."""
        self._chains.append(chain)
        if self.is_set():
            chain.stop()

    def forget(self) -> None:
        """Forget chains that have ended: each look at a run would leave as many in memory."""
        self._chains.clear()

    def halt_late(self) -> None:
        """Break off the iterations that are still being made `GENTLE` seconds after `set`."""
        if time.monotonic() > self._since + GENTLE:
            for chain in self._chains:
                chain.halt()


def await_chains(drives: Sequence[Future[Any]], stop: Stop, write: Callable[[], None] = lambda: None) -> None:
    """Wait for all chains; if one fails, the others stop. `write` is called every `BATCH` seconds."""
    last = time.monotonic()
    while True:
        done, pending = wait(drives, timeout=POLLED, return_when=FIRST_EXCEPTION)
        if any(drive.exception() for drive in done):
            stop.set()
        stop.halt_late()
        if not pending:
            return
        if time.monotonic() >= last + BATCH:
            last = time.monotonic()
            write()


def _drive(
    plan: Plan, stores: Sequence[ChainStore], stop: Stop, batch: float, on_progress: OnProgress, end: int
) -> None:
    """Run a chain, or all of adaptive samplers together, to so many iterations, or their budget, or until `stop`."""
    saved = [store.read_checkpoint() for store in stores]
    if stop.is_set() or (all(saved) and _have_ended(plan, [entry["outcome"] for entry in saved if entry], end)):
        for store, entry in zip(stores, saved, strict=True):
            if entry:
                on_progress(store.chain, _progress(plan, entry["outcome"]))
        return
    together = plan.is_adaptive
    chains = plan.chains() if together else [plan.chain(stores[0].chain, starts=saved[0] is None)]
    for chain in chains:
        stop.drives(chain)
    # an iteration that is broken off is made again when the run is continued
    with suppress(Halted), ExitStack() as stack:
        for store, chain in zip(stores, chains, strict=True):
            stack.callback(store.close)
            store.open_into(chain)
        wall, finished = FIRST_BATCH, False
        while not finished and not stop.is_set():
            before, began = chains[0].iteration, time.perf_counter()
            _advance(plan, chains, stores, began + wall, stop, end)
            rate = (chains[0].iteration - before) / max(time.perf_counter() - began, 1e-9)
            finished = _have_ended(plan, [{"iterations": c.iteration, "seconds": c.seconds} for c in chains], end)
            outcomes = [_outcome(plan, chain, rate) for chain in chains]
            save_checkpoints(stores, [chain.state for chain in chains], outcomes, finished, together)
            for store, outcome in zip(stores, outcomes, strict=True):
                on_progress(store.chain, _progress(plan, outcome))
            wall = batch


def _have_ended(plan: Plan, outcomes: Sequence[Mapping[str, Any]], end: int) -> bool:
    """Whether chains that advance together have made their iterations, or, in the mean, used their budget."""
    seconds = sum(outcome["seconds"] for outcome in outcomes) / len(outcomes)
    return bool(min(outcome["iterations"] for outcome in outcomes) >= end or seconds >= plan.budget)


def _advance(
    plan: Plan, chains: Sequence[Chain], stores: Sequence[ChainStore], until: float, stop: Stop, end: int
) -> None:
    """Make the iterations of one batch, which ends at the time `until`, with the evaluations that fall among them."""
    while True:
        before = chains[0].iteration
        # to the end, or the next evaluation
        most = min(end - before, plan.recorder.until_evaluation(before))
        limits = most, plan.budget, max(0.0, until - time.perf_counter())
        recorded = advance_together(chains, *limits, plan.workers) if plan.is_adaptive else [chains[0].advance(*limits)]
        for chain, store, rows in zip(chains, stores, recorded, strict=True):
            check_densities(store.chain, rows)
            store.append(plan.recorder.spacing.thin(rows))
            if chain.iteration > before:
                plan.recorder.evaluate(chain, store)
        at_end = _have_ended(plan, [{"iterations": c.iteration, "seconds": c.seconds} for c in chains], end)
        if not plan.recorder.evaluates or at_end or time.perf_counter() >= until or stop.is_set():
            return


def _outcome(plan: Plan, chain: Chain, rate: float) -> dict[str, Any]:
    """Results of a chain so far, for the summary and for whoever watches."""
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
        "reports": [sampler.report() for sampler in dict.fromkeys(chain.samplers) if hasattr(sampler, "report")],
        "tallies": [sampler.tally() for sampler in chain.samplers],
        **plan.recorder.outcome(chain),
    }


def check_densities(chain: int, rows: Mapping[str, NDArray[Any]]) -> None:
    """Raise a `RunError` if the trace of a chain has a density that is no number."""
    finite = np.isfinite(rows["log_joint"])
    if not finite.all():
        at = int(np.argmin(finite))
        raise interrupts.RunError(
            f"chain {chain}, iteration {rows['iteration'][at]}: the log joint density is {rows['log_joint'][at]}; "
            "expected a finite number: a parameter of the model is too large or too small for these data"
        )


def _progress(plan: Plan, outcome: dict[str, Any]) -> ChainProgress:
    share = max(outcome["iterations"] / plan.iterations, outcome["seconds"] / plan.budget)
    # chains that end when they have run long enough end before the most that they may take, nobody knows when
    to_end = (plan.iterations - outcome["iterations"]) / max(outcome["rate"], 1e-9)
    seconds_left = min(math.inf if plan.stopping_rule.is_given else to_end, plan.budget - outcome["seconds"])
    where = outcome["rate"], outcome["K"], outcome["log_joint"]
    return ChainProgress(outcome["iterations"], min(1.0, share), *where, max(0.0, seconds_left))


class ShortRun:
    """The chains of a plan, which go on from where they are when more iterations are asked for. `plan`: whose spacing
    of partitions is named (``trace.partitions``), with ``thin=1``; its number of iterations is not read."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self.model = plan, plan.model
        numbers = range(plan.n_chains)
        self._groups = [_Group(plan, one) for one in ([numbers] if plan.is_adaptive else [[n] for n in numbers])]

    @property
    def labels(self) -> NDArray[np.int32]:
        """Clusters in which the chains are, ``[chains, N]``."""
        return np.stack([chain.model.labels for group in self._groups for chain in group.chains])

    def sample_states(self, iterations: int) -> list[draws.State]:
        """Advance the chains to so many iterations, and return the states that a stored run of this length has.

        They are the recorded states of the second halves, chain by chain. Raises `ConfigError` (a chain that cannot be
        built), `KeyboardInterrupt` (the program was asked to stop) or `RunError` (a density that is not finite).
        """
        stop = Stop()
        with interrupts.AnsweredBy(stop.set), ThreadPoolExecutor(self._plan.workers) as pool:
            drives = [pool.submit(group.advance, iterations, stop) for group in self._groups]
            await_chains(drives, stop)
        for drive in drives:
            drive.result()
        of_chains = [states for group in self._groups for states in group.states]
        return [state for states in of_chains for at, state in states if iterations / 2 < at <= iterations]


class _Group:
    """A chain, or all of adaptive samplers, and what they recorded."""

    def __init__(self, plan: Plan, numbers: Sequence[int]) -> None:
        self._plan, self._numbers = plan, numbers
        self.chains: list[Chain] = []
        self.states: list[list[tuple[int, draws.State]]] = [[] for _ in numbers]

    def advance(self, iterations: int, stop: Stop) -> None:
        """Advance to so many iterations, or until `stop`."""
        if not self.chains:
            self.chains = self._plan.chains() if self._plan.is_adaptive else [self._plan.chain(self._numbers[0])]
        for chain in self.chains:
            stop.drives(chain)
        with suppress(Halted):
            while (left := iterations - self.chains[0].iteration) > 0 and not stop.is_set():
                if self._plan.is_adaptive:
                    made = advance_together(self.chains, left, workers=self._plan.workers)
                else:
                    made = [self.chains[0].advance(left)]
                for number, chain, rows, states in zip(self._numbers, self.chains, made, self.states, strict=True):
                    check_densities(number, rows)
                    states.extend(_states_of(chain, rows))


def _states_of(chain: Chain, rows: Mapping[str, NDArray[Any]]) -> Iterator[tuple[int, draws.State]]:
    """Recorded states, with their iterations, among the rows that a call of `advance` returned."""
    names = [name for name in chain.model.hyperparameters if name not in draws.WITH_PARTITIONS]
    row_of = {iteration: row for row, iteration in enumerate(rows["iteration"].tolist())}
    parameters = rows.get(f"partition_{schema.PARAMETERS}")
    for draw, iteration in enumerate(rows["partition_iteration"].tolist()):
        values = {name: float(rows[name][row_of[iteration]]) for name in names}
        labels, K = rows["partition_labels"][draw], int(rows["partition_K"][draw])
        yield iteration, draws.State(labels, K, values, None if parameters is None else parameters[draw])
