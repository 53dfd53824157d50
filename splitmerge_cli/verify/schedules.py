"""Schedules as users write them, against the enumerated posterior: the weighted list or the cycle that a run makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from splitmerge_cli import terminal
from splitmerge_cli.config import ConfigError, compose, gibbs_update
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import ContinuousDraw, Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.runs.datasets import build_sampler
from splitmerge_cli.runs.schedule import Schedule, build_schedule
from splitmerge_cli.verify.cases import Case
from splitmerge_cli.verify.chains import BURN_IN
from splitmerge_cli.verify.frequencies import adaptive_frequencies, sampled_frequencies
from splitmerge_cli.verify.kernel import EXACT
from splitmerge_cli.verify.options import Request
from splitmerge_cli.verify.paths import TooManyPaths
from splitmerge_cli.verify.transitions import is_irreducible, stationarity_defect, total_variation, transition_matrix

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification

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
    """Check a schedule on small cases of models, by name, and print a line for each; 0 when it is exact in every case.

    `KEYS` of the command's arguments, as typed, make the schedule; `config_dir` is a folder with the user's own groups.
    A `ConfigError` says that it cannot be composed, or that no model supports it.
    """
    own_words = [f"{key}={value}" for key, value in args.items() if key in KEYS or key.startswith("sampler.")]
    rejected: dict[str, ConfigError] = {}
    wrong = checked = 0
    for name, case in cases:
        spec = compose([f"model={name}", *own_words], config_dir)
        rng = Rng(request.seed)
        try:
            schedule = build_schedule(spec, case.model, rng)
        except ConfigError as error:
            rejected.setdefault(name, error)
            continue
        P, why = iteration_matrix(case, schedule, rng)
        exact, parts = True, [f"not enumerated ({why})"]
        if P is not None:
            defect = stationarity_defect(P, case.pi)
            reached = is_irreducible(P)
            exact = defect < EXACT and reached
            parts = [f"max|πP-π| {defect:.1e}", "every state reached" if reached else "NOT EVERY STATE REACHED"]
        if request.iterations:
            distance, noise = sample_schedule(case, spec, request.iterations, request.seed)
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
    """Compose the transition matrix of one iteration from the matrices of its samplers, each enumerated; the second is
    why it is None.

    It is given the hyper-parameters, which `refresh` resamples and which stay as they are here. None if a sampler
    learns from other chains, keeps a state of its own, draws from a continuum, or has too many execution paths.
    """
    n = len(schedule.weights or ())
    matrix_by_step: dict[int, NDArray[np.float64]] = {}

    def matrix(sampler: Sampler) -> NDArray[np.float64]:
        if id(sampler) not in matrix_by_step:
            matrix_by_step[id(sampler)] = transition_matrix(case.model, rng, sampler, case.states)
        return matrix_by_step[id(sampler)]

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
    except TooManyPaths:
        return None, "too many paths"
    return reduce(np.matmul, cycle), ""


def sample_schedule(case: Case, spec: RunSpecification, iterations: int, seed: int) -> tuple[float, float]:
    """Sample a chain of this schedule, all that is unknown resampled: total variation between its frequencies and the
    posterior, and what an exact chain would show by chance."""
    if spec.is_adaptive:
        gibbs = gibbs_update(conjugate=True)

        def samplers(model: Model, rng: Rng) -> tuple[list[Sampler], Sampler]:
            return build_schedule(spec, model, rng).samplers, build_sampler(gibbs, model, rng)

        weights = spec.schedule.weights
        frequencies, noise = adaptive_frequencies(case, samplers, iterations, BURN_IN, seed=seed, weights=weights)
    else:
        rng = Rng(seed)
        schedule = build_schedule(spec, case.model, rng)
        frequencies, noise = sampled_frequencies(case, schedule.samplers, rng, iterations, weights=schedule.weights)
    return total_variation(frequencies, case.partitions[1]), noise
