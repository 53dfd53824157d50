"""Certificates: pairs of coupled chains, their meeting times, and what these say.

A pair is made by one generator of its own number, so what it does depends neither on the other pairs nor on how many
are made at the same time. Pairs that were made are kept: the same command goes on where it was, and asking for more of
them makes those that are missing.

Pairs are begun in the order of their numbers, and every pair that was begun counts: those that are done soon meet
early, so the pairs that happen to be finished when time is up would make the bound too small. That a pair is begun is
on the disk before it is; one whose outcome was lost, however the process ended, is made again before a result
is reported.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli import version
from splitmerge_cli.analysis import certificate, predictive
from splitmerge_cli.config import ConfigError, RunSpecification
from splitmerge_cli.core import coupled, recording
from splitmerge_cli.data import values
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.intervals import TIMES, DensitySum, distance_terms, unbiased_estimate
from splitmerge_cli.runs import interrupts, recorders
from splitmerge_cli.runs.plan import Plan, prepare, threads
from splitmerge_cli.runs.store.files import LOCK, DamagedRun, Locked, lock_file
from splitmerge_cli.runs.store.manifest import write_sealed

PILOTS = 20
"""Pairs of lag 1 that choose the lag."""
PILOT_SHARE = 0.2
"""Share of a certificate's seconds after which no further pilot is begun."""
FIRST_PILOT = 1 << 30
"""Number of the first of them: their generators are no pair's."""
FIRST_PAIR = 1 << 29
"""Number of the first pair: its generator is no chain's of ``smcmc run``."""
CHUNK = 4_096
"""Number of iterations whose rows are held at a time."""
STORED = 10.0
"""Seconds between two writes of the pairs."""
PAIR_BYTES = 1_500
"""Bytes stored for a pair of chains, estimates for pairs of items aside."""
FORMAT = 2
"""Version of the stored form; another version is another certificate."""
MIXTURE = "mixture"
"""The initial state of a certificate, unless one is named."""
COUPLING = recording.COUPLINGS[0]
"""How draws of a cluster are coupled by default."""
OnPair = Callable[[int, int], None]
"""Receives how many pairs were made, and how many there will be."""


def check_coupling(spec: RunSpecification) -> Plan:
    """Check that chains of this configuration can be coupled; nothing is written."""
    spec = spec.with_fixed_length()
    plan = prepare(spec, records=False, runs=False)
    if spec.iterations is None:
        raise ConfigError("iterations: expected a largest number of iterations for a pair of chains")
    # before its chain is handed out
    assert len(plan.powers) == spec.tempering.levels
    chain = plan.chain(0)
    for sampler in chain.samplers:
        couples, reason = sampler.couples()
        if not couples:
            raise ConfigError(f"sampler={spec.sampler_name}, model={spec.model.name}: cannot be coupled: {reason}")
    if reason := chain.model.why_not_coupled:
        raise ConfigError(reason)
    if spec.model.options.get("tails") == "t":
        raise ConfigError("model.tails=t: draws of row weights cannot be coupled; expected model.tails=normal")
    if spec.budget is not None:
        raise ConfigError(f"budget={spec.budget:g}: expected --seconds, because a certificate makes pairs of chains")
    if spec.warmup:
        raise ConfigError(f"warmup={spec.warmup}: a coupled chain has no warm-up; expected warmup=0")
    return plan


def certify(
    plan: Plan,
    pairs: int,
    lag: int | None = None,
    k: int | None = None,
    m: int | None = None,
    seconds: float = math.inf,
    on_pair: OnPair = lambda n_made, n_pairs: None,
    coupling: str = COUPLING,
    new: Dataset | None = None,
) -> certificate.Certificate:
    """Make the pairs that are missing, by the options of `splitmerge_cli.certify`, for a `plan` of `check_coupling`:
    the lag and k are by default the 0.95 quantile of the meeting times of `PILOTS` pairs of lag 1, and m is 5 k. Pairs
    that were begun, by this command or by one that was interrupted, are finished whatever the time, for to leave out
    the long ones would make the bound too small. `new`: items whose predictive densities are estimated. Whatever ends
    it, what was stored is intact."""
    spec = plan.spec
    if coupling not in recording.COUPLINGS:
        raise ConfigError(f"coupling={coupling}: expected {', '.join(recording.COUPLINGS)}")
    named = {"lag": lag, "k": k, "m": m}
    _check_schedule(named, plan.iterations)
    if new is not None:
        # a model that cannot, or other columns: before anything is written
        predictive.Following(spec.model, plan.dataset, new, plan.chain(0).model)()
    # the defaults are what certificates used before they had these options
    more = [*([] if coupling == COUPLING else [coupling]), *([] if new is None else [values.digest_of(new)])]
    key = json.dumps([FORMAT, plan.id, named, [*certificate.QUANTITIES, certificate.CO_CLUSTERING], *more])
    identity = hashlib.sha256(key.encode()).hexdigest()
    path = Path(spec.out) / "certificates" / plan.path.parent.name / identity[:12]
    check_certificate(spec, path, pairs, plan.dataset.N, 0 if new is None else new.N, plan.iterations)
    with _hold_folder(path, spec.out):
        end = time.monotonic() + seconds
        stored = path / certificate.PAIRS
        known: dict[int, certificate.Pair] = {}
        schedule, begun = None, 0
        if spec.resume and stored.is_file():
            content, schedule, known = certificate.read_pairs(stored)
            begun = content["begun"]
            if content["identity"] != identity:
                raise DamagedRun(stored, certificate.REMEDY)
        if schedule is None:
            schedule = choose_schedule(plan, named, coupling, PILOT_SHARE * seconds)
        # pairs that the file says to be begun: a few more than are, so that it is not written for each of them
        announced, last = begun, time.monotonic()

        def store(count: int) -> list[certificate.Pair]:
            nonlocal announced, last
            outcomes = [known[number] for number in sorted(known)]
            versions = {"versions": version.versions(), "commit": version.commit(), "run_id": plan.id}
            fields = {"identity": identity, "schedule": asdict(schedule), "begun": count, "config": spec.identity}
            write_sealed(stored, fields | {"pairs": [asdict(pair) for pair in outcomes]} | versions)
            announced, last = count, time.monotonic()
            return outcomes

        def missing() -> Iterator[int]:
            """Numbers of pairs to begin; those that were begun before, whatever the time."""
            nonlocal begun
            for number in range(max(pairs, begun)):
                if number in known:
                    continue
                if number >= begun:
                    if time.monotonic() > end:
                        return
                    if number >= announced:
                        store(min(pairs, number + threads(spec) + len(known) // 10))
                    begun = number + 1
                yield number

        on_pair(len(known), max(pairs, begun))
        try:
            for pair in Pairs(plan, schedule, coupling, new, path).make(missing()):
                known[pair.number] = pair
                on_pair(len(known), max(pairs, begun))
                if time.monotonic() > last + STORED:
                    store(announced)
        finally:
            made_pairs = store(begun)
        return certificate.Certificate(path, dict(spec.values), schedule, made_pairs)


@contextmanager
def _hold_folder(path: Path, out: str) -> Iterator[None]:
    """Hold the folder of a certificate, and say why work in it ended."""
    try:
        with lock_file(path / LOCK):
            try:
                yield
            except OSError as error:
                raise interrupts.RunError(
                    f"{path}: {error.strerror or error}; the stored pairs are intact, and the same command continues "
                    "the certificate"
                ) from error
    except KeyboardInterrupt as error:
        raise interrupts.Interrupted(path) from error
    except Locked as error:
        raise interrupts.WrittenElsewhere(str(error)) from error
    except OSError as error:
        raise ConfigError(f"out={out}: cannot write to {path}: {error.strerror or error}") from error


def choose_schedule(
    plan: Plan, named: Mapping[str, int | None], coupling: str = COUPLING, seconds: float = math.inf
) -> certificate.Schedule:
    """Choose the part of the schedule that `named` leaves open by pilot pairs, begun within so many seconds."""
    lag, k, m = named["lag"], named["k"], named["m"]
    longest, powers = plan.iterations, plan.powers
    if lag is None or k is None:
        # pairs that have not met by then count only as that
        alone = certificate.Schedule(1, 0, 0, max(longest // 10, min(longest, 100)), powers)
        end = time.monotonic() + seconds
        numbers = range(FIRST_PILOT, FIRST_PILOT + PILOTS)
        begun = (number for number in numbers if number == FIRST_PILOT or time.monotonic() < end)
        pilots = [pair.meeting for pair in Pairs(plan, alone, coupling).make(begun)]
        times = np.array([math.inf if t is None else t for t in pilots])
        typical = min(float(np.quantile(times, 0.95, method="higher")), alone.iterations)
        lag = max(1, min(round(typical), longest - 1)) if lag is None else lag
        k = lag if k is None else k
    m = min(5 * max(k, lag), longest) if m is None else m
    _check_schedule({"lag": lag, "k": k, "m": m}, longest)
    return certificate.Schedule(lag, k, m, longest, powers)


def _check_schedule(named: Mapping[str, int | None], longest: int) -> None:
    """Raise a `ConfigError` if no schedule has these numbers; None stands for any."""
    lag, k, m = named["lag"], named["k"], named["m"]
    if lag is not None and lag >= longest:
        raise ConfigError(f"lag={lag}: expected fewer than the iterations of a pair, {longest}")
    if k is not None and m is not None and not 0 <= k <= m:
        raise ConfigError(f"k={k}, m={m}: expected 0 <= k <= m")


class Pairs:
    """Makes pairs of coupled chains in threads; files of their estimates go to folders of `path`, if there is one."""

    def __init__(
        self,
        plan: Plan,
        schedule: certificate.Schedule,
        coupling: str = COUPLING,
        new: Dataset | None = None,
        path: Path | None = None,
    ) -> None:
        self.plan, self.schedule, self.coupling, self.new, self.path = plan, schedule, coupling, new, path
        self.halted = False
        self._running: dict[int, coupled.CoupledChains] = {}

    def halt(self) -> None:
        """Stop all pairs, from whatever thread."""
        self.halted = True
        for chains in list(self._running.values()):
            chains.halt()

    def make(self, numbers: Iterator[int]) -> Iterator[certificate.Pair]:
        """Make pairs; yields them as they are finished. The next number is taken when its pair is begun. After a
        `KeyboardInterrupt` what was yielded are the pairs that happened to be finished."""
        running: set[Future[certificate.Pair | None]] = set()
        workers = threads(self.plan.spec)
        with interrupts.AnsweredBy(self.halt), ThreadPoolExecutor(workers) as pool:
            try:
                while not self.halted:
                    while len(running) < workers and not self.halted:
                        number = next(numbers, None)
                        if number is None:
                            break
                        running.add(pool.submit(self.make_one, number))
                    if not running:
                        return
                    done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                    yield from (pair for pair in (future.result() for future in done) if pair is not None)
            finally:
                self.halt()
        raise KeyboardInterrupt

    def make_one(self, number: int) -> certificate.Pair | None:
        """Make one pair of chains; None if it was halted."""
        began = time.thread_time()
        schedule, path = self.schedule, self.path
        stream = number if number >= FIRST_PILOT else FIRST_PAIR + number
        chains = self.plan.builder.coupled_chains(stream, schedule.lag, self.coupling, schedule.powers)
        self._running[number] = chains
        if self.halted:
            chains.halt()
        starts = certificate.digest_of(chains.x.labels), certificate.digest_of(chains.y.labels)
        start_clusters = chains.x.n_clusters, chains.y.n_clusters
        gathers = path is not None and 2 <= chains.x.N <= certificate.MOST_ITEMS
        if gathers:
            chains.gather(schedule.k, schedule.m)
        densities = None if path is None or self.new is None else _Densities(self.plan, chains, schedule, self.new)
        rows, apart = _advance(chains, schedule.iterations, True, densities)
        met = chains.meeting >= 0
        distance = 0.0 if met else chains.distance
        clusters = (chains.x.n_clusters, chains.x.n_clusters if met else chains.y.n_clusters)
        estimates: dict[str, float] = {}
        if met and schedule.m > 0:
            if chains.iteration < schedule.m:
                rows = np.concatenate([rows, _advance(chains, schedule.m, False, densities)[0]])
            x, y = rows[:, 0], rows[schedule.lag :, 1]
            estimate = unbiased_estimate(x, y, chains.meeting, schedule.lag, schedule.k, schedule.m)
            estimates = dict(zip((*certificate.QUANTITIES, *chains.x.hyperparameters), estimate.tolist(), strict=True))
        del self._running[number]
        if chains.rng.is_halted:
            return None
        # the partition and hyper-parameters that never changed in either chain
        of_y, names = rows[schedule.lag :, 1], (*certificate.QUANTITIES, *chains.x.hyperparameters)
        of_both = rows[:, 0], of_y[~np.isnan(of_y[:, 0])]
        same = np.logical_and(*(np.all(of_chain == of_chain[:1], axis=0) for of_chain in of_both))
        unchanged = [name for name, is_same in zip(names, same, strict=True) if is_same]
        ends = certificate.digest_of(chains.x.labels), certificate.digest_of(chains.y.labels)
        is_partition = starts == ends and chains.x.N > 1 and {*certificate.QUANTITIES} - {"log_joint"} <= {*unchanged}
        unchanged = [name for name in chains.x.hyperparameters if name in unchanged]
        files: dict[str, NDArray[Any]] = {}
        if met:
            files[certificate.APART] = distance_terms(apart[schedule.lag : chains.meeting], schedule.lag).astype(
                np.float32
            )
            if gathers:
                files[certificate.CO_CLUSTERING] = chains.co_clustering.astype(np.float32)
            if densities is not None:
                files[certificate.LOG_PREDICTIVE] = np.array([densities.sum.log, densities.sum.value])
        return certificate.Pair(
            number=number,
            meeting=chains.meeting if met else None,
            iterations=chains.iteration,
            seconds=time.thread_time() - began if self.plan.spec.timing else 0.0,
            distance=distance,
            clusters=clusters,
            starts=starts,
            start_clusters=start_clusters,
            unchanged=[certificate.PARTITION] * is_partition + unchanged,
            estimates=estimates,
            **{
                kind: certificate.write_estimates(path, kind, number, values)
                for kind, values in files.items()
                if path is not None
            },
        )


class _Densities:
    """The estimates of the predictive densities of new items, of one pair of chains."""

    def __init__(self, plan: Plan, chains: coupled.CoupledChains, schedule: certificate.Schedule, new: Dataset) -> None:
        self.chains, self.schedule, self.sum = chains, schedule, DensitySum(new.N)
        self.x, self.y = (predictive.Following(plan.model, plan.dataset, new, chain) for chain in (chains.x, chains.y))

    def add(self) -> None:
        """Add what the present states have in the estimates."""
        of_x, of_y = self.chains.weights_of_states(self.schedule.k, self.schedule.m)
        if of_x > 0.0:
            self.sum.add(of_x, self.x())
        if of_y < 0.0:
            self.sum.add(of_y, self.y())


def _advance(
    chains: coupled.CoupledChains, end: int, until_met: bool, densities: _Densities | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Let X make iterations up to number `end`, at most until the chains have met; return `QUANTITIES` and the
    hyper-parameters of both chains, shape (rows, 2, quantities), and the distance of the chains in each."""
    parts: list[Mapping[str, NDArray[Any]]] = []
    if densities is not None and chains.iteration == 0:
        parts.append(chains.advance(0, until_met))
        densities.add()
    while not parts or (
        chains.iteration < end and not (until_met and chains.meeting >= 0) and not chains.rng.is_halted
    ):
        step = CHUNK if densities is None else 1
        parts.append(chains.advance(min(step, end - chains.iteration), until_met))
        if densities is not None:
            densities.add()
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    of_state = [rows[name][..., None] for name in ("n_clusters", "K", "log_joint")]
    return np.concatenate([*of_state, rows["largest"], rows["hyperparameters"]], axis=2), rows["distance"]


def check_certificate(spec: RunSpecification, path: Path, pairs: int, N: int, new: int, iterations: int) -> None:
    """Raise a `ConfigError` if the certificate of the folder `path`, of N items and `new` ones, would take more than
    a share of the disk's free space, with pairs as long as they may be."""
    of_items = N * (N - 1) // 2 if N <= certificate.MOST_ITEMS else 0
    # what is kept of all pairs is replaced whole, so for a while it is there twice
    each = 2 * PAIR_BYTES + 4 * of_items + 16 * new + 4 * int(np.searchsorted(TIMES, iterations))
    tables = 48 * of_items + 40 * new
    free = recorders.free_bytes(path)
    stored_bytes = sum(file.stat().st_size for file in path.glob("**/*") if file.is_file())
    room = recorders.DISK_SHARE * free + stored_bytes - tables
    if pairs * each <= room:
        return
    enough = int(room // each)
    advice = f"such as pairs={enough}" if enough >= 2 else "or another out="
    needed, there = map(recorders.format_bytes, (pairs * each + tables - stored_bytes, free))
    raise ConfigError(
        f"pairs={pairs}: the certificate would take up to {needed}; expected at most {recorders.DISK_SHARE:.0%} of the "
        f"{there} that are free for out={spec.out}, {advice}"
    )
