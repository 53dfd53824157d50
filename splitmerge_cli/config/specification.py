"""The specification of a run: all that its configuration says, read once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from splitmerge_cli.config.components import Component, DataSource
from splitmerge_cli.config.groups import unshared_options
from splitmerge_cli.config.schema import (
    DEFAULT_ITERATIONS,
    DEFAULT_SCANS,
    ENOUGH,
    LATER,
    RUNTIME_KEYS,
    SHARED,
    Schema,
    Until,
)


@dataclass(frozen=True)
class Schedule:
    """Moves that one iteration makes.

    Attributes
    ----------
    name : str
        ``move_only``, ``single_site``, ``full_scan``; ``mix`` of a weighted list.
    moves : int
        Of the sampler before each scan.
    weights : tuple of float or None
        Of the samplers, one of which is drawn; None: there is one.
    """

    name: str
    moves: int = 1
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class RunSpecification(Schema):
    """A run: its keys, as `Schema` has them, its data set, model, samplers and schedule.

    Attributes
    ----------
    data : DataSource
    model : Component
    samplers : tuple of Component
        One, or those of a weighted list.
    schedule : Schedule
    values : mapping
        The resolved configuration as plain values: of these the identity is made, and ``config.yaml``.
    given : tuple of str
        The overrides as they were typed.
    undecided : bool
        Whether a table of the user's own is to be read and neither its kind nor a model is chosen.
    automatic : str or None
        What to say of the sampler where ``sampler=auto`` chose it.
    """

    data: DataSource
    model: Component
    samplers: tuple[Component, ...]
    schedule: Schedule
    values: Mapping[str, Any]
    given: tuple[str, ...] = ()
    undecided: bool = False
    automatic: str | None = None

    # that of `Schema` is None where nothing is named; here it is resolved
    init: str
    warmup: int

    @property
    def sampler_name(self) -> str:
        """The names of the samplers, for folders and titles."""
        return "+".join(sampler.name for sampler in self.samplers)

    @property
    def is_adaptive(self) -> bool:
        """Whether a sampler of the run is adaptive: it learns from the history of all chains."""
        return any(hasattr(sampler.target, "adapt_to") for sampler in self.samplers)

    @property
    def is_open(self) -> bool:
        """Whether nobody names a length: chains end when they have run long enough, or at a number of iterations that
        the size of the data sets (`splitmerge_cli.runs.limits.most_iterations`)."""
        return self.iterations is None and self.budget is None

    @property
    def default_iterations(self) -> int:
        """Iterations of a chain where a fixed length is needed and none is named."""
        return DEFAULT_SCANS if self.model.kind.has_topics else DEFAULT_ITERATIONS

    def with_fixed_length(self) -> "RunSpecification":
        """Give the chains of this run a fixed length where nobody names one."""
        if not self.is_open:
            return self
        length = {"iterations": self.default_iterations, "until": dict.fromkeys(("rhat", "ess"))}
        values = {**self.values, **length}
        return replace(self, iterations=self.default_iterations, until=Until(None, None), values=values)

    def with_open_length(self) -> "RunSpecification":
        """Let R-hat and ESS end the chains of this run."""
        values = {**self.values, "iterations": None, "budget": None, "until": dict(ENOUGH)}
        return replace(self, iterations=None, budget=None, until=Until(**ENOUGH), values=values)

    @property
    def folder(self) -> Path:
        """The folder of the runs: that of the experiment, or one for the sampler on the data set."""
        return Path(self.out) / (self.experiment or f"{self.sampler_name}-{self.data.name}")

    @property
    def identity(self) -> dict[str, Any]:
        """The part of the configuration that determines what is computed.

        How held-out documents are evaluated is no part of it where that is never done, nor how chains are tempered
        where they are not, nor is an option of the data, the model or a sampler that runs were stored without (`LATER`,
        `Option.later`), at its default.
        """
        left_out = [*RUNTIME_KEYS]
        left_out += ["perplexity"] * (not self.perplexity.every) + ["tempering"] * (not self.tempering.levels)
        found = {
            key: unshared_options(key, value) if key in SHARED else value
            for key, value in self.values.items()
            if key not in left_out
        }
        found["data"] = {key: value for key, value in found["data"].items() if key not in LATER or value != LATER[key]}
        found["model"] = _leave_out_later(found["model"], self.model)
        if (mix := found["schedule"].get("mix")) is None:
            found["sampler"] = _leave_out_later(found["sampler"], self.samplers[0])
        else:
            mix = [_leave_out_later(entry, one) for entry, one in zip(mix, self.samplers, strict=True)]
            found["schedule"] = {**found["schedule"], "mix": mix}
        return found


def _leave_out_later(values: Mapping[str, Any], of: Component) -> dict[str, Any]:
    """Leave out the options that came later than runs (`Option.later`), at their defaults."""
    later = {option.name: option.default for option in getattr(of.target, "OPTIONS", ()) if option.later}
    return {key: value for key, value in values.items() if key not in later or value != later[key]}
