"""What an iteration does, and how many iterations there are at most.

The samplers of one iteration: the samplers that a configuration names and the ones that these need.

Largest number of iterations of a chain if the user names no length. Model and data decide it.

A limit in seconds would let a busy machine end the same configuration elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from splitmerge_cli.config import Component, ConfigError, RunSpecification, classes, component, gibbs_update, resolution
from splitmerge_cli.core import bundles, chain
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PARTITION, Sampler
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.initial import build_sampler

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
        return min(limit, spec.default_iterations) if spec.is_adaptive else limit
    # replicas move as often as the chain
    limit = max(
        LEAST, min(MOST, WORK // dataset.kind.count_values(dataset, spec.model.options)) // (1 + spec.tempering.levels)
    )
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
    refresh = component("sampler", "refresh")
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
            parting = component("sampler", "sdds", kernel="ssdm")
            if parting.target.supports(model)[0]:
                samplers += [build(parting)] * max(model.N // PARTING, 1)
            # a record whose place another one has, as in two files: splits and merges hardly ever get there
            exchanging = component("sampler", "exchange")
            if exchanging.target.supports(model)[0]:
                samplers += [build(exchanging)] * -(-model.near_pairs.moves // EXCHANGING)
        elif scan is not None and mover.scans:
            update = gibbs_update(model.conjugate, scan)
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
    moved_by = replace(spec, samplers=(component("sampler", sampler),), schedule=schedule)
    return chain.Chain(model, rng, build_schedule(moved_by, model, rng).samplers, timing=False, thin=thin)


def _explain(spec: RunSpecification, model: Model, schedule: Schedule) -> str:
    """Describe what a schedule never changes, and suggest one that does."""
    named, in_list = [sampler.name for sampler in spec.samplers], spec.schedule.weights is not None
    able = {name: cls for name, cls in classes("sampler").items() if cls.supports(model)[0]}
    others = [name for name, cls in able.items() if not schedule.invariants & cls.invariants(model)]
    others.sort(key=lambda name: name != gibbs_update(model.conjugate).name)
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
