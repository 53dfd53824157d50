"""Chains at their start, built from a checked configuration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError, classes, gibbs_update
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.coupled import CoupledChains
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.core.tempering import Tempering, spread_powers
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs import starts
from splitmerge_cli.runs.initial import build_model, build_sampler, initial_labels, of_chain, set_labels
from splitmerge_cli.runs.schedule import build_schedule

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification


@dataclass(frozen=True)
class Builder:
    """Builds chains.

    Attributes
    ----------
    spec : RunSpecification
    dataset : Dataset
    labels : numpy.ndarray or None
        Labels of the file that `init` names, ``[N]`` or ``[chains, N]``; None if it names none.
    sizes : bool
        Whether the chains record the sizes of all clusters.
    partitions : int
        Iterations between two partitions that the chains record; 0: they record none.
    """

    spec: "RunSpecification"
    dataset: Dataset
    labels: NDArray[np.int32] | None
    sizes: bool
    partitions: int

    @np.errstate(all="ignore")  # what overflows leaves no finite density, which is reported below
    def chain(self, number: int, starts: bool = True) -> Chain:
        """Build chain `number`, at its start if it `starts`; else with no state, for one that was stored. Raises
        `ConfigError` (a parameter out of range, a schedule as of `build_schedule`, a start state that the model cannot
        hold or that has no density).
        """
        spec = self.spec
        model = build_model(spec.model, self.dataset)
        rng = Rng(spec.seed, number)
        schedule = build_schedule(spec, model, rng)
        if starts:
            self._start(model, rng, np.random.Generator(rng.bit_generator), number)
        samplers = schedule.samplers
        if spec.tempering.levels:
            tempering = self._temper(model, rng)
            if starts:
                tempering.adapt(samplers)
            samplers = [*samplers, tempering]
        return Chain(
            model,
            rng,
            samplers,
            weights=schedule.weights,
            thin=spec.thin,
            partitions=self.partitions,
            truth=self.dataset.truth_of_items,
            timing=spec.timing,
            warmup=(_full_scan(model, rng, schedule.samplers), spec.warmup) if spec.warmup else None,
            sizes=self.sizes,
        )

    @np.errstate(all="ignore")
    def coupled_chains(self, number: int, lag: int, coupling: str, powers: Sequence[float] = ()) -> CoupledChains:
        """Build two coupled chains at their initial states, drawn independently from the same distribution.

        Parameters
        ----------
        number : int
            Number of their generator.
        lag : int
            Iterations by which the first is ahead.
        coupling : str
            Coupling of the draws of a cluster, as in `CoupledChains`.
        powers : sequence of float
            Powers of the replicas of either chain, which start in its state: as many as ``tempering.levels``.

        Raises
        ------
        ConfigError
            As `chain`.
        """
        spec = self.spec
        rng = Rng(spec.seed, number)
        generator = np.random.Generator(rng.bit_generator)
        x, y = (build_model(spec.model, self.dataset) for _ in range(2))
        of_x, of_y = (build_schedule(spec, model, rng) for model in (x, y))
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
        spec = self.spec
        if not starts.start_of(spec).put(model, self.dataset, rng):
            own_labels = of_chain(self.labels, number)
            labels, K = initial_labels(model, self.dataset, spec.init, spec.K0, generator, own_labels, number)
            set_labels(model, labels, K)
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
        if not has_powers(spec):
            able = [name for name, cls in classes("model").items() if _can_be_tempered(cls)]
            raise ConfigError(f"{key}: model={spec.model.name} has no powers of the likelihood; {', '.join(able)} have")
        if spec.is_adaptive:
            raise ConfigError(
                f"{key}: sampler={spec.sampler_name} learns from several chains; expected another sampler"
            )

        def make(power: float) -> tuple[Model, list[Sampler]]:
            replica_options = {**options, "power": options["power"] * power} if "power" in options else options
            replica = build_model(replace(spec.model, options=replica_options), self.dataset)
            if replica_options is options:
                replica.temper(power)  # type: ignore[attr-defined]
            return replica, build_schedule(spec, replica, rng).samplers

        spread = spread_powers(spec.tempering.levels, spec.tempering.least).tolist()
        return Tempering(model, rng, make, powers or spread)

    def adaptive_chains(self) -> list[Chain]:
        """Build all chains of samplers that learn from each other. Raises `ConfigError` (as `chain`, or fewer chains
        than the samplers learn from).
        """
        chains = [self.chain(number) for number in range(self.spec.chains)]
        adaptive = next(sampler.adaptive for sampler in chains[0].samplers if hasattr(sampler, "adaptive"))
        try:
            history = adaptive.new_history(len(chains))
        except ValueError as error:
            raise ConfigError(str(error)) from error
        for number, chain in enumerate(chains):
            chain.adapt_to(history, number)
        return chains


def has_powers(spec: "RunSpecification") -> bool:
    """Whether the model of a run has powers of the likelihood, under which replicas of its chains move."""
    return _can_be_tempered(spec.model.target)


def _can_be_tempered(model: type[Model]) -> bool:
    return hasattr(model, "temper") or any(option.name == "power" for option in model.OPTIONS)


def _full_scan(model: Model, rng: Rng, samplers: Sequence[Sampler]) -> Sampler:
    """The full Gibbs scan of a model: the one of the schedule, where it has one."""
    scan = gibbs_update(model.conjugate)
    for sampler in samplers:
        if type(sampler) is scan.target and getattr(sampler, "full", False):
            return sampler
    return build_sampler(scan, model, rng)
