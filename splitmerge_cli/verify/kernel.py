"""The kernel of a sampler on a small case: its transition matrices, its balance, its mutants; how often chains are in
each state, against the enumerated posterior and the noise of frequencies; schedules as users write them: the weighted
list or the cycle that a run makes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from splitmerge_cli import terminal
from splitmerge_cli.config import Component, ConfigError, component, compose, gibbs_update
from splitmerge_cli.core.chain import Chain, advance_together
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import ContinuousDraw, Rng
from splitmerge_cli.core.sampler import PARTITION, Sampler
from splitmerge_cli.runs.initial import Schedule, build_sampler, build_schedule
from splitmerge_cli.verify import paths, transitions
from splitmerge_cli.verify.cases import Case, Request
from splitmerge_cli.verify.enumerate import state_of
from splitmerge_cli.verify.transitions import SeveralProposals, proposals

BURN_IN = 200
"""Gibbs scans before samplers that learn; the snapshot is taken from their second half."""


def sampled_check(case: Case, sampler: Component, kernel: Kernel, request: Request) -> tuple[list[str], bool]:
    """Return the cells of the sampled check, and whether it is farther from the posterior than chance."""
    if is_adaptive := "adaptation" in sampler.options:
        connected = sampler.options["adaptation"] == "frozen"
        if "freeze" not in request.sampler_options:
            sampler = sampler.with_options(freeze=BURN_IN)
    else:
        # with continuous draws the refresh connects what the moves do not
        connected = all(transitions.is_irreducible(P) for P in kernel.matrices)
        if not kernel.matrices:
            invariants = sampler.target.invariants(case.model, **sampler.options)
            connected = kernel.why == "continuous" and PARTITION not in invariants
    # the samplers of the sampled check, and the sign for those that were added
    parts, sign = [sampler], ""
    if not connected:
        sign = "*"
        if is_adaptive:
            parts.append(gibbs_update(conjugate=True, scan="site"))
        else:
            parts.append(gibbs_update(case.model.conjugate))
            parts += [component("sampler", "birth_death", mode=sampler.options["mode"])] if case.model.conjugate else []
    if case.model.refreshes and sampler.name != "refresh":
        sign += "+"
        parts.append(component("sampler", "refresh"))

    def build(model: Model, rng: Rng) -> Schedule:
        return Schedule([build_sampler(part, model, rng) for part in parts])

    distance, noise = sample_schedule(case, build, request.iterations, request.seed)
    return [f"{distance:.4f}{sign}", f"{noise:.4f}"], distance > 3 * noise + 1e-12


def sampled_check_of_weights(case: Case, sampler: Component, request: Request) -> tuple[list[str], list[str], bool]:
    """Return a sampler's cells, for clusters with weights, from `TV alone` on, the cells of the sampled check, and
    whether one chain is farther from the posterior than chance."""
    together: dict[str, list[str]] = {"alone": [], "gibbs": ["gibbs", "refresh"], "refresh": ["refresh"]}
    company = {
        which: [component("sampler", other) for other in others if other != sampler.name]
        for which, others in together.items()
        if which != sampler.name
    }
    # a scan alone hardly ever changes a weight, and refresh no label
    if case.held is None or not sampler.target.TERMS:
        del company["alone"]
    cell_by_check = dict.fromkeys(("alone", "gibbs", "refresh"), "")
    largest, far = 0.0, False
    for which, others in company.items():
        # of dozens of chains one is beyond three times the noise by chance: it has to be so again, four times as long
        for t in range(2):
            rng = Rng(request.seed + t)
            samplers = [build_sampler(part, case.model, rng) for part in (sampler, *others)]
            frequencies, noise = sampled_frequencies(case, samplers, rng, 4**t * request.iterations)
            pi = case.pi
            if which == "alone":
                assert case.held is not None
                pi = case.held(case.model.log_weights[-1])  # type: ignore[attr-defined]
            distance = transitions.total_variation(frequencies, pi)
            beyond = distance > 3 * noise + 1e-12
            if not beyond:
                break
        cell_by_check[which] = f"{distance:.4f}" + "+" * (which == "refresh")
        largest, far = max(largest, noise), far or beyond
    return [cell_by_check["alone"], "", cell_by_check["gibbs"]], [cell_by_check["refresh"], f"{largest:.4f}"], far


CHAINS = 4
"""Chains of adaptive samplers that are sampled together."""
BATCHES = 40
"""Batches of the noise estimate."""


def sample_schedule(
    case: Case, build: Callable[[Model, Rng], Schedule], iterations: int, seed: int
) -> tuple[float, float]:
    """Sample a chain of the schedule that is built, all that is unknown resampled: total variation between its
    frequencies and the posterior, and what an exact chain would show by chance. `CHAINS` chains are sampled together if
    they learn from each other; iterations count all of them."""
    rng = Rng(seed)
    schedule = build(case.model, rng)
    if any(hasattr(sampler, "adapt_to") for sampler in schedule.samplers):
        frequencies, noise = _adaptive_frequencies(case, build, iterations, seed)
    else:
        frequencies, noise = sampled_frequencies(case, schedule.samplers, rng, iterations, schedule.weights)
    return transitions.total_variation(frequencies, case.partitions[1]), noise


def sampled_frequencies(
    case: Case,
    samplers: list[Sampler],
    rng: Rng,
    iterations: int,
    weights: Sequence[float] | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Run a chain of these samplers and count its states: the frequencies of ``case.partitions``, and their noise, the
    total variation to expect of an exact sampler. That is half the summed mean absolute error of every frequency, from
    batch means. `refresh` is among the samplers where the model has anything to refresh."""
    held = case.model.prior_values
    # the state of a collapsed model other than the partition: b0, kappa0, tables of counts
    scales = case.model.parameters if case.model.conjugate and case.model.prior is not None else None
    _set_to_mode(case, case.model, rng)
    chain = Chain(case.model, rng, samplers, weights, thin=iterations, partitions=1)
    counted = _frequencies(case, [chain], iterations)
    case.model.set_prior_values(held)
    if scales is not None:
        case.model.set_parameters(scales)
    return counted


def _adaptive_frequencies(
    case: Case, build: Callable[[Model, Rng], Schedule], iterations: int, seed: int
) -> tuple[NDArray[np.float64], float]:
    """Run `CHAINS` chains of adaptive samplers, which share their history, and count the states of all, as
    `sampled_frequencies` does. `BURN_IN` Gibbs scans, which do not count, warm each up."""
    chains = []
    for number in range(CHAINS):
        model, rng = case.build(), Rng(seed, number)
        _set_to_mode(case, model, rng)
        schedule, scan = build(model, rng), build_sampler(gibbs_update(model.conjugate), model, rng)
        kept: dict[str, Any] = {"thin": iterations + BURN_IN, "partitions": 1, "warmup": (scan, BURN_IN)}
        chains.append(Chain(model, rng, schedule.samplers, schedule.weights, **kept))
    adaptive = next(sampler.adaptive for sampler in chains[0].samplers if hasattr(sampler, "adaptive"))
    history = adaptive.new_history(CHAINS)
    for number, chain in enumerate(chains):
        chain.adapt_to(history, number)
    advance_together(chains, BURN_IN)
    return _frequencies(case, chains, iterations // CHAINS)


def _set_to_mode(case: Case, model: Model, rng: Rng) -> None:
    """Start from the most probable partition."""
    partitions, pi = case.partitions
    labels, K = partitions[int(np.argmax(pi))][:2]
    model.set_labels(np.array(labels, dtype=np.int32), K if model.allows_empty else None)
    model.start_parameters(rng)


def _frequencies(case: Case, chains: list[Chain], iterations: int) -> tuple[NDArray[np.float64], float]:
    """Relative frequencies of ``case.partitions`` over so many iterations of every chain, and their noise."""
    partitions = case.partitions[0]
    index = {s: t for t, s in enumerate(partitions)}
    counts = np.zeros((BATCHES, len(partitions) + 1))
    for b in range(BATCHES):
        wanted = iterations // BATCHES
        while wanted:
            before = chains[0].iteration
            rows = advance_together(chains, wanted) if len(chains) > 1 else [chains[0].advance(wanted)]
            wanted -= chains[0].iteration - before
            seen = np.vstack([np.column_stack([out["partition_labels"], out["partition_K"]]) for out in rows])
            for row, n in zip(*np.unique(seen, axis=0, return_counts=True), strict=True):
                # a state that the prior rules out counts among all, and nowhere else
                counts[b, index.get(state_of(row[:-1], int(row[-1])), -1)] += n
    per_batch = (counts / counts.sum(axis=1, keepdims=True))[:, :-1]
    error = per_batch.std(axis=0, ddof=1) / np.sqrt(BATCHES)
    return per_batch.mean(axis=0), float(0.5 * np.sqrt(2 / np.pi) * error.sum())


EXACT = 1e-10
"""Largest max |pi P - pi| of an exact kernel."""

TABLES_SEEDS = (0, 1)
"""Draws of the hash tables (lshsm), each of which makes a kernel of its own."""


@dataclass(frozen=True)
class Kernel:
    """Transition matrices, balance and mutants of a sampler on a case."""

    matrices: list[NDArray[np.float64]]
    """The transition matrix; of an adaptive sampler one for each pair of partitions to learn from, of one with hash
    tables one for each draw of them; none if the choices cannot be listed."""
    balance: float = np.nan
    """max |pi_a P_ab - pi_b P_ba|; of an adaptive sampler the largest over fixed (i, j, z_a, z_b)."""
    why: str = ""
    """Why there is no matrix."""
    mutants: tuple[int, int] = (0, 0)
    """Mutants that leave balance, and all of them: each term of the log ratio left out, and of opposite sign. None
    if the ratio is not the sum of named terms."""


def kernel_of(case: Case, sampler: Component, options_given: Container[str] = ()) -> Kernel:
    """Enumerate the transition matrices of a sampler on a case, or find why it has none. Hash tables are drawn by each
    of `TABLES_SEEDS` unless the user has given ``tables_seed``."""
    if "tables_seed" in sampler.options and "tables_seed" not in options_given:
        seeded = [sampler.with_options(tables_seed=seed) for seed in TABLES_SEEDS]
        drawn = [kernel_of(case, one, ("tables_seed",)) for one in seeded]
        matrices = [P for kernel in drawn for P in kernel.matrices]
        return Kernel(matrices, max(kernel.balance for kernel in drawn), drawn[0].why, drawn[0].mutants)
    rng = Rng(0)
    built = build_sampler(sampler, case.model, rng)
    if not built.enumerates():
        return Kernel([], why="keeps a state")
    histories = (
        transitions.example_histories(case.states, 4 if case.model.N < 6 else 2) if hasattr(built, "fix") else []
    )
    try:
        if not histories:
            P = transitions.transition_matrix(case.model, rng, built, case.states)
            return Kernel([P], transitions.balance_defect(P, case.pi), "", _count_mutants(case, built))
        found = list(transitions.adaptive_matrices(case.model, rng, built, case.states, histories))
        built.fix(*histories[0], *transitions.disagreements(histories[0])[0])  # type: ignore[attr-defined]
        mutants = _count_mutants(case, built)
    except paths.TooManyPaths:
        return Kernel([], why="too many paths")
    except ContinuousDraw:
        return Kernel([], why="continuous")
    for_pairs = [transitions.balance_defect(Q, case.pi) for _, for_pair in found for Q in for_pair]
    return Kernel([P for P, _ in found], max(for_pairs), "", mutants)


def _count_mutants(case: Case, built: Sampler) -> tuple[int, int]:
    """Count the mutants of a kernel that are found, and all: none where a step has several proposals, or a ratio that
    is not made of named terms."""
    if not built.TERMS or built.mode != "exact":
        return 0, 0
    try:
        proposals_made = proposals(case.model, built.rng, built, case.states)
    except SeveralProposals:
        return 0, 0
    mutants = proposals_made.mutants() if proposals_made.has_named_terms() else {}
    return sum(transitions.balance_defect(P, case.pi) > EXACT for P in mutants.values()), len(mutants)


KEYS = ("schedule", "sampler")
"""Keys that make a schedule; options of the sampler, ``sampler.X``, too."""


def print_line(console: Console, text: str | Text) -> None:
    """Print a line, on a terminal folded between words."""
    options: dict[str, Any] = {"width": terminal.width()} if console.is_terminal else {"soft_wrap": True}
    console.print(text, highlight=False, **options)


def verify_schedule(
    cases: Sequence[tuple[str, Case]],
    args: Mapping[str, str],
    request: Request,
    config_dir: str | Path | None,
    console: Console,
) -> int:
    """Check a schedule, as the `KEYS` of the command's arguments make it, on small cases of models, by name, and print
    a line for each; 0 when it is exact in every case. `config_dir`: a folder with the user's own groups."""
    own_words = [f"{key}={value}" for key, value in args.items() if key in KEYS or key.startswith("sampler.")]
    rejected: dict[str, ConfigError] = {}
    wrong = checked = 0
    for name, case in cases:
        build, rng = partial(build_schedule, compose([f"model={name}", *own_words], config_dir)), Rng(request.seed)
        try:
            schedule = build(case.model, rng)
        except ConfigError as error:
            rejected.setdefault(name, error)
            continue
        P, why = iteration_matrix(case, schedule, rng)
        exact, parts = True, [f"not enumerated ({why})"]
        if P is not None:
            defect = transitions.stationarity_defect(P, case.pi)
            reached = transitions.is_irreducible(P)
            exact = defect < EXACT and reached
            parts = [f"max|πP-π| {defect:.1e}", "every state reached" if reached else "NOT EVERY STATE REACHED"]
        if request.iterations:
            distance, noise = sample_schedule(case, build, request.iterations, request.seed)
            exact = exact and distance <= 3 * noise + 1e-12
            parts.append(f"sampled TV {distance:.4f}, {noise:.4f} by chance")
        verdict = "exact" if exact else "NOT EXACT"
        if P is None and not request.iterations:
            verdict = "not compared"
        line = Text(f"{name}, {case.title}: {', '.join(parts)}: ")
        print_line(console, line.append(verdict, style="green" if exact else "bold red"))
        checked, wrong = checked + 1, wrong + (not exact)
    if not checked:
        raise next(iter(rejected.values()))
    for reason in rejected.values():
        print_line(console, Text(str(reason)))
    return 1 if wrong else 0


def iteration_matrix(case: Case, schedule: Schedule, rng: Rng) -> tuple[NDArray[np.float64] | None, str]:
    """Compose the transition matrix of one iteration, given the hyper-parameters, from the matrices of its samplers,
    each enumerated. None, and why, if a sampler learns from other chains, keeps a state of its own, draws from a
    continuum, or has too many execution paths."""
    n = len(schedule.weights or ())

    @cache
    def matrix(sampler: Sampler) -> NDArray[np.float64]:
        return transitions.transition_matrix(case.model, rng, sampler, case.states)

    names = set(case.model.hyperparameters)
    # but those that change a hyper-parameter
    others = [s for s in schedule.samplers[n:] if s.invariants(case.model, **s.options) >= names or not names]
    if any(hasattr(s, "fix") for s in schedule.samplers):
        return None, "learns"
    if not all(s.enumerates() for s in schedule.samplers):
        return None, "keeps a state"
    try:
        cycle = [matrix(sampler) for sampler in others]
        if schedule.weights:
            drawn = [matrix(sampler) for sampler in schedule.samplers[:n]]
            share = np.array(schedule.weights) / sum(schedule.weights)
            cycle.insert(0, np.tensordot(share, drawn, axes=1))
    except ContinuousDraw:
        return None, "continuous"
    except paths.TooManyPaths:
        return None, "too many paths"
    return reduce(np.matmul, cycle), ""
