"""The samplers of one iteration: those that a configuration names and those that they need beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from splitmerge_cli.config import ConfigError, choice, choices, locate
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PARTITION, Sampler
from splitmerge_cli.runs.datasets import construct

if TYPE_CHECKING:
    from omegaconf import DictConfig

# the Gibbs update that a schedule makes after each of the sampler's moves
_FOLLOWED_BY = {"move_only": None, "single_site": "site", "full_scan": "full"}


@dataclass(frozen=True)
class Schedule:
    """What one iteration of a chain makes.

    Attributes
    ----------
    samplers : list of Sampler
    weights : list of float or None
        Of the first samplers: one of them, drawn by weight, makes a step, then each of the others. None: each does.
    """

    samplers: list[Sampler]
    weights: list[float] | None = None

    @property
    def invariants(self) -> frozenset[str]:
        """What no step of any of the samplers changes, as `Sampler.invariants`."""
        return reduce(frozenset.intersection, [s.invariants(s.model, **s.options) for s in self.samplers])


def gibbs_update(model: Model) -> dict[str, Any]:
    """Options of the Gibbs update of a model: auxiliary components where clusters keep parameters."""
    return choice("sampler", "gibbs" if model.conjugate else "neal8")


def build_schedule(cfg: "DictConfig", model: Model, rng: Rng) -> Schedule:
    """Build the samplers of one iteration.

    Where the state holds more than the partition (hyper-parameters, parameters, weights of topics) and no sampler that
    is named is `refresh`, every iteration ends with it.

    Parameters
    ----------
    cfg : DictConfig
        Its `sampler`, `schedule` and `model`, checked and resolved.
    model : Model
    rng : Rng

    Raises
    ------
    ConfigError
        An option out of range, a sampler that does not support the model, or samplers that leave a part of the state
        as it is, so that together they do not reach every state.
    """

    def sampler(options: "Mapping[str, Any] | DictConfig", called: str | None = None) -> Sampler:
        supported, reason = locate(options["_target_"]).supports(model)
        if not supported:
            named = called or f"sampler={options['name']}"
            raise ConfigError(f"{named}: does not support model={cfg.model.name}: {reason}")
        return construct("sampler", options, lambda cls, given: cls(model, rng, **given), called)

    if (mix := cfg.schedule.mix) is not None:
        named = Schedule([sampler(e, f"schedule.mix.{e.name}") for e in mix], [e.weight for e in mix])
    else:
        named = Schedule(_cycle(cfg, model, sampler))
    samplers = list(named.samplers)
    refresh = choice("sampler", "refresh")
    if model.refreshes and not any(isinstance(s, locate(refresh["_target_"])) for s in samplers):
        samplers.append(sampler(refresh))
    schedule = Schedule(samplers, named.weights)
    if schedule.invariants:
        raise ConfigError(_explain(cfg, model, schedule))
    return schedule


def _cycle(cfg: "DictConfig", model: Model, build: Any) -> list[Sampler]:
    """The sampler's moves and the Gibbs updates that follow them."""
    mover = build(cfg.sampler)
    cycle = [mover] * cfg.schedule.get("moves", 1)
    scan = _FOLLOWED_BY[cfg.schedule.name]
    if scan is not None and mover.scans:
        cycle += [build(gibbs_update(model) | {"scan": scan})] * (mover.scans if scan == "full" else 1)
    return cycle


def _explain(cfg: "DictConfig", model: Model, schedule: Schedule) -> str:
    """Say what a schedule leaves as it is, and give one that does not."""
    mix = cfg.schedule.mix
    named = [cfg.sampler.name] if mix is None else [entry.name for entry in mix]
    classes = {name: locate(choice("sampler", name)["_target_"]) for name in choices("sampler")}
    able = [name for name, cls in classes.items() if cls.supports(model)[0]]
    others = [name for name in able if not schedule.invariants & classes[name].invariants(model)]
    others.sort(key=lambda name: name != gibbs_update(model)["name"])
    left = schedule.invariants & {PARTITION} or schedule.invariants
    made = f"sampler={named[0]} schedule={cfg.schedule.name}" if mix is None else "schedule=[...]"
    text = (
        f"{made}, model={cfg.model.name}: no move of {' or '.join(named)} changes the "
        f"{' or the '.join(sorted(left))}, so the chain does not reach every state"
    )
    if not others:
        return f"{text}; no sampler does"
    example = ", ".join(f"{{{name}: 1}}" for name in [*named, others[0]])
    instead = f" in place of sampler={named[0]}" if mix is None else ""
    return f"{text}; expected one of {', '.join(others)} as well, such as 'schedule=[{example}]'{instead}"
