"""Parallel tempering: replicas of a chain under powers of the likelihood below 1, which swap states with it.

Replica r has the posterior under the power p_r, 1 = p_0 > p_1 > ... > p_R: the smaller p_r, the flatter it is and the
more easily crossed. One step moves every replica but the chain itself by the samplers of the schedule, then proposes to
swap the states of neighbours, from the last pair to the first, with

    log ratio = f_a(z_b) + f_b(z_a) - f_a(z_a) - f_b(z_b)

f_a the log joint density under power p_a. Both leave the product of all posteriors as it is, so the chain itself has
the posterior of its model. Source: Geyer (1991); powers that make swaps about equally probable, by a feedback on
their spacing in the manner of Miasojedow, Moulines and Vihola (2013). Derivation: docs/derivations.md.
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler, Sampler

MOST_LEVELS = 8
"""Most replicas in addition to the chain itself."""
ROUNDS, ITERATIONS = 30, 40
"""The powers are changed so many times before the chain begins, each time after so many iterations."""
GAIN = 2.0
"""How much the logarithm of a spacing grows by a swap rate above the mean; in round t over sqrt(t)."""

Replica = tuple[Model, Sequence[Sampler]]


def state_of(model: Model) -> dict[str, Any]:
    """All that the state of a model holds."""
    return {
        "labels": model.labels,
        "K": model.K,
        "parameters": model.parameters,
        "hyperparameters": model.prior_values,
    }


def set_state(model: Model, state: dict[str, Any]) -> None:
    """Put a model into a state."""
    model.set_labels(state["labels"], state["K"] if model.allows_empty else None)
    if state["parameters"] is not None:
        model.set_parameters(state["parameters"])
    model.set_prior_values(state["hyperparameters"])


def spread_powers(levels: int, least: float) -> NDArray[np.float64]:
    """Powers of the replicas, evenly spaced on the log scale: ``[levels]``, the last is `least`."""
    powers: NDArray[np.float64] = np.exp(np.log(least) * np.arange(1, levels + 1) / levels)
    powers[-1] = least
    return powers


class Tempering(PythonSampler):
    """The replicas of a chain: moves them, and swaps states. `model`: of the chain itself; `make`: makes a replica of a
    power, its model and the samplers of an iteration; `powers`: of the replicas, falling."""

    MOVES = tuple(f"swap {t}" for t in range(1, MOST_LEVELS + 1))
    TERMS = ("target",)

    def __new__(cls, model: Model, rng: Rng, make: Callable[[float], Replica], powers: Sequence[float]) -> "Tempering":
        # with as many moves as there are replicas
        chosen = type(cls.__name__, (cls,), {"MOVES": cls.MOVES[: len(powers)]})
        return super().__new__(chosen, model, rng)  # type: ignore[call-arg]

    def __init__(self, model: Model, rng: Rng, make: Callable[[float], Replica], powers: Sequence[float]) -> None:
        super().__init__(model, rng)
        self.make = make
        self.powers: list[float] = []
        self.replicas: list[Replica] = []
        self._set_powers(powers, [state_of(model)] * len(powers))

    def _set_powers(self, powers: Sequence[float], states: Sequence[dict[str, Any]]) -> None:
        self.powers = [float(power) for power in powers]
        self.replicas = [self.make(power) for power in self.powers]
        for (model, _), state in zip(self.replicas, states, strict=True):
            set_state(model, state)

    def python_step(self) -> None:
        """Move each replica, then swap."""
        for _, samplers in self.replicas:
            for sampler in samplers:
                sampler.step()
        self.swap_all()

    def swap_all(self) -> None:
        """Propose to swap the states of all neighbours, from the last pair to the first."""
        for t in reversed(range(len(self.replicas))):
            self.swap(t)

    def single_steps(self) -> list[Sampler]:
        """The samplers that make a step one after the other: the samplers of each replica, then `Swaps`."""
        return [*(sampler for _, samplers in self.replicas for sampler in samplers), Swaps(self)]

    def swap(self, t: int) -> None:
        """Propose to swap the states of replica t and the one before it; 0 is the chain itself."""
        a, b = self.model if t == 0 else self.replicas[t - 1][0], self.replicas[t][0]
        of_a, of_b = state_of(a), state_of(b)
        before = a.log_joint() + b.log_joint()
        set_state(a, of_b)
        set_state(b, of_a)
        self.begin(self.MOVES[t])
        if not self.accepts(self.add("target", a.log_joint() + b.log_joint() - before)):
            set_state(a, of_a)
            set_state(b, of_b)

    def adapt(self, samplers: Sequence[Sampler], rounds: int = ROUNDS, iterations: int = ITERATIONS) -> None:
        """Choose the powers between 1 and the least one such that swaps are about equally probable; then they stay.
        `samplers`: of the chain itself, which also moves."""
        for t in range(1, rounds + 1):
            before = self._count_accepted()
            for _ in range(iterations):
                for sampler in (*samplers, self):
                    sampler.step()
            rates = (self._count_accepted() - before) / iterations
            spacing = -np.diff(np.log([1.0, *self.powers])) * np.exp(GAIN / math.sqrt(t) * (rates - rates.mean()))
            powers = np.exp(math.log(self.powers[-1]) * np.cumsum(spacing) / spacing.sum())
            powers[-1] = self.powers[-1]
            self._set_powers(powers, [state_of(model) for model, _ in self.replicas])
        for sampler in dict.fromkeys((self, *samplers)):
            sampler.set_counts(
                [row | {"proposed": 0, "accepted": 0, "null": 0, "last_accepted": 0} for row in sampler.counts()]
            )

    def _count_accepted(self) -> NDArray[np.int64]:
        return np.array([row["accepted"] for row in self.counts()[: len(self.replicas)]])

    def report(self) -> dict[str, Any]:
        """dict: entries for the summary of a run."""
        return {"tempering": {"powers": self.powers}}

    def own_state(self) -> dict[str, Any]:
        """Powers and states of the replicas, and what their samplers keep: what a chain needs to go on."""
        own = [[sampler.own_state() for sampler in dict.fromkeys(samplers)] for _, samplers in self.replicas]
        kept = {} if all(state is None for state in chain.from_iterable(own)) else {"own": own}
        return kept | {"powers": self.powers, "states": [state_of(model) for model, _ in self.replicas]}

    def set_own_state(self, value: dict[str, Any]) -> None:
        """Take up a state that `own_state` gave; a ValueError for anything else."""
        powers, states = value["powers"], value["states"]
        falling = all(0.0 < b < a <= 1.0 for a, b in zip([1.0, *powers], powers, strict=False))
        if len(powers) != len(self.powers) or not falling:
            raise ValueError(f"powers of replicas: expected {len(self.powers)}, falling from 1, got {powers}")
        self._set_powers(powers, states)
        samplers = [sampler for _, samplers in self.replicas for sampler in dict.fromkeys(samplers)]
        sampler_states = chain.from_iterable(value["own"]) if "own" in value else [None] * len(samplers)
        for sampler, sampler_state in zip(samplers, sampler_states, strict=True):
            sampler.set_own_state(sampler_state)


class Swaps(PythonSampler):
    """The swaps of a step alone, for chains that are coupled, in which each replica makes its steps with its like."""

    MOVES = ("swap",)

    def __init__(self, tempering: Tempering) -> None:
        super().__init__(tempering.model, tempering.rng)
        self.tempering = tempering

    def python_step(self) -> None:
        """Propose all swaps."""
        self.tempering.swap_all()
