"""The specification of a run: all that its configuration says, read once; other runs are made of it.

A specification remembers what of it was named (`Given`). `RunSpecification.with_` names other values in addition, lays
the files of the choices over each other again (`splitmerge_cli.config.groups`), and checks the result: no text is
composed or parsed. `command_of` is the command line that makes a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from splitmerge_cli.config import components, errors, groups, hydra_adapter, resolution, schema
from splitmerge_cli.overrides import Accepts, shell_word, write

_OF_THE_MOMENT = ("resume", "workers", "progress", "experiment")
"""Keys that say nothing of the run."""


@dataclass(frozen=True)
class Schedule:
    """Moves that one iteration makes: ``move_only``, ``single_site`` or ``full_scan``, with so many `moves` of the
    sampler before each scan; or ``mix``, with the `weights` of the samplers, one of which is drawn."""

    name: str
    moves: int = 1
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class RunSpecification(schema.Schema):
    """A run: its keys, as `Schema` has them, its data set, model, samplers and schedule."""

    data: components.DataSource
    model: components.Component
    samplers: tuple[components.Component, ...]
    """One, or the samplers of a weighted list."""
    schedule: Schedule
    values: Mapping[str, Any]
    """The resolved configuration as plain values: of these the identity is made, and ``config.yaml``."""
    given: resolution.Given | None = field(default=None, compare=False)
    """The part of it that was named; None if nobody knows: `given_keys` finds out."""
    search_path: tuple[str, ...] = field(default=(), compare=False)
    """Hydra's additional search path."""
    words: tuple[str, ...] = field(default=(), compare=False)
    """The overrides as they were typed."""
    to_choose: frozenset[str] = frozenset()
    """Keys of `LEFT_TO_DATA` that are left to the data. Nothing is run before they are chosen."""
    undecided: bool = False
    """Whether a table of the user's own is to be read and neither its kind nor a model is chosen."""
    automatic: str | None = None
    """Words about the sampler if ``sampler=auto`` chose it."""

    # in `Schema` it is None if nothing is named; here it is resolved
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
        the size of the data sets (`splitmerge_cli.runs.initial.most_iterations`)."""
        return self.iterations is None and self.budget is None

    @property
    def default_iterations(self) -> int:
        """Iterations of a chain where a fixed length is needed and none is named."""
        return self.model.kind.iterations

    def with_(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> "RunSpecification":
        """Return the specification of another run.

        `changes` and `more` are values by key: ``{"model.covariance": "full", "K0": 3}``, or ``covariance="full",
        K0=3``: an option of the data set, the model or the sampler may stand without its group. A choice takes a name,
        or a mapping of its name and options: ``model={"name": "gaussian", "covariance": "full"}``; ``schedule`` also
        takes a weighted list of samplers. None takes back a choice that was named.

        What was named before stays where it still applies: the options of a choice go with it, a number of clusters
        with the start that takes one. Whatever was not named is the default of the choices that are made now. A
        `ConfigError`: an unknown key or choice, a value of the wrong type or out of range, or keys that do not go
        together.

        Examples
        --------
        >>> spec = specify(["data=jain_neal", "sampler=rgsm", "sampler.t=3"])
        >>> spec.with_(sampler="gibbs", scan="site").sampler_name
        'gibbs'
        """
        return finish(
            resolution.name_keys(self.given_keys, {**(changes or {}), **more}, self.to_choose, is_short=True), self
        )

    @property
    def given_keys(self) -> resolution.Given:
        """Choices and values that were given; of a stored run those that differ from the defaults."""
        if self.given is not None:
            return self.given
        named = resolution.by_key(differences(self))
        choices = {key: value for key, value in named.items() if key in schema.CHOOSING}
        values = {key: hydra_adapter.protect(value) for key, value in named.items() if key not in schema.CHOOSING}
        return resolution.Given(choices, values, self.search_path)

    def find_changes(self, before: "RunSpecification") -> dict[str, Any]:
        """Return the keys that this run names, and another does not name so, with their values."""
        keys_named, other = self.given_keys, before.given_keys
        named = {key: value for key, value in keys_named.choices.items() if other.choices.get(key) != value}
        for key, value in keys_named.values.items():
            if key not in other.values or other.values[key] != value:
                group, _, option = key.partition(".")
                named[key] = self.values[group][option] if option else self.values[group]
        return named

    @property
    def config_dir(self) -> str | None:
        """The folder of the user's own groups."""
        own_folders = [place.removeprefix("file://") for place in self.search_path if place.startswith("file://")]
        return own_folders[0] if own_folders else None

    def with_fixed_length(self) -> "RunSpecification":
        """Give the chains of this run a fixed length if nobody names one."""
        return self.with_(iterations=self.default_iterations) if self.is_open else self

    def pack(self) -> dict[str, Any]:
        """The specification as it is sent to another process, where `unpack` reads it."""
        return {"config": dict(self.values), "search_path": list(self.search_path)}

    @property
    def folder(self) -> Path:
        """The folder of the runs: the experiment's, or one for the sampler on the data set."""
        return Path(self.out) / (self.experiment or f"{self.sampler_name}-{self.data.name}")

    @property
    def identity(self) -> dict[str, Any]:
        """The part of the configuration that determines what is computed.

        How held-out documents are evaluated is no part of it where that is never done, nor how chains are tempered
        where they are not, nor is an option of the data, the model or a sampler that runs were stored without
        (`later_options`, `Option.later`), at its default, nor `gap` where it joins nothing.
        """
        left_out = [*schema.RUNTIME_KEYS]
        left_out += ["perplexity"] * (not self.perplexity.every) + ["tempering"] * (not self.tempering.levels)
        left_out += ["gap"] * (self.gap == schema.NO_GAP)
        values = {
            key: groups.unshared_options(key, value) if key in schema.SHARED else value
            for key, value in self.values.items()
            if key not in left_out
        }
        if self.until.mcse is None:
            values["until"] = {key: value for key, value in values["until"].items() if key != "mcse"}
        values["data"] = _leave_out(values["data"], schema.later_options(self.data.values))
        values["model"] = _leave_out(values["model"], self.model.later)
        if (mix := values["schedule"].get("mix")) is None:
            values["sampler"] = _leave_out(values["sampler"], self.samplers[0].later)
        else:
            mix = [_leave_out(entry, one.later) for entry, one in zip(mix, self.samplers, strict=True)]
            values["schedule"] = {**values["schedule"], "mix": mix}
        return values


def _leave_out(values: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out options that came later than runs, at their defaults."""
    return {key: value for key, value in values.items() if key not in later or value != later[key]}


def specify_keys(named: Mapping[str, Any], config_dir: str | Path | None = None) -> RunSpecification:
    """Return the specification of a run of which these keys are named, as of `RunSpecification.with_`."""
    return finish(resolution.name_keys(resolution.Given(search_path=tuple(groups.places(config_dir))), named))


def finish(composed: resolution.Composed, like: RunSpecification | None = None) -> RunSpecification:
    """Check and resolve a configuration; what is the same in `like`, another run, is not read again. Errors as of
    `RunSpecification.with_`."""
    chosen, named, search_path = dict(composed.chosen), composed.given.keys, composed.given.search_path
    groups.import_beside(search_path)
    # papers bring experiments alone
    own_places = tuple(place for place in search_path if place.startswith("file://"))
    values = resolution.resolve_interpolations(composed.values, chosen.get("experiment"))
    settings = schema.read_settings(values)
    automatic, in_list = None, values["schedule"].get("mix") is not None
    undecided = chosen["data"] == "csv" and not chosen.get("experiment") and chosen["model"] == "emm"
    if chosen["sampler"] == resolution.AUTO:
        automatic = None if in_list else resolution.explain(values["model"], values["schedule"])
        chosen["sampler"] = resolution.choose_sampler(values)
    data = components.read_data(chosen["data"], resolution.read_labels(values["data"]), own_places)
    model = _read_component("model", chosen["model"], values["model"], own_places, like)
    values["data"], values["model"] = data.values, model.values
    if in_list:
        if of_sampler := [key for key in named if key.partition(".")[0] == "sampler"]:
            word = next((w for w in composed.words if w.startswith(of_sampler[0])), of_sampler[0])
            raise errors.ConfigError(f"{word}: {resolution.IN_LIST}")
        samplers = resolution.read_list(values, own_places)
    else:
        samplers = (_read_component("sampler", chosen["sampler"], values["sampler"], own_places, like),)
        values["sampler"] = samplers[0].values
        resolution.check_schedule(values["schedule"])
    settings |= resolution.resolve_defaults(values, model, samplers)
    undecided &= not any(key == "data.kind" or key.partition(".")[0] == "model" for key in named)
    further = {"given": composed.given, "search_path": search_path, "words": composed.words}
    further |= {"to_choose": composed.to_choose, "automatic": automatic, "undecided": undecided}
    return specification_of(settings, data, model, samplers, values, **further)


def _read_component(
    group: str, name: str, options: Mapping[str, Any], search_path: Sequence[str], like: RunSpecification | None
) -> components.Component:
    """The model or sampler of a run; of a run `like` this one what is the same is not read again."""
    known = () if like is None else (like.model,) if group == "model" else like.samplers
    same = next((one for one in known if one.prefix == group and one.name == name), None)
    return components.read_component(group, name, options, search_path, like=same)


def specification_of(
    settings: Mapping[str, Any],
    data: components.DataSource,
    model: components.Component,
    samplers: tuple[components.Component, ...],
    values: Mapping[str, Any],
    **further: Any,
) -> RunSpecification:
    """Put a specification together; raises a `ConfigError` if its keys do not go together."""
    mix = values["schedule"].get("mix")
    weights = None if mix is None else tuple(entry["weight"] for entry in mix)
    schedule = Schedule(values["schedule"]["name"], values["schedule"].get("moves", 1), weights)
    spec = RunSpecification(
        **settings, data=data, model=model, samplers=samplers, schedule=schedule, values=values, **further
    )
    if spec.budget is not None and not spec.timing:
        raise errors.ConfigError("timing=false: expected true, because budget is counted in seconds of sampling")
    try:
        spec.out.encode()
    except UnicodeEncodeError as error:  # readers of tables take no such path
        raise errors.ConfigError(f"out={spec.out}: expected a folder whose name is UTF-8") from error
    if spec.until.rhat is not None and spec.chains < 2:
        raise errors.ConfigError("until.rhat: expected chains of at least 2, which R-hat compares")
    every = spec.perplexity.every
    if spec.iterations is not None and every > spec.iterations:
        raise errors.ConfigError(f"perplexity.every={every}: expected at most {spec.iterations}, the iterations")
    return spec


def differences(
    spec: RunSpecification, changed: Mapping[str, Any] | None = None, data: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the keys that make a run with their values: its choices, then what differs from their defaults.

    Keys that are `changed` have other values, as of `command_of`; `data` are keys that name other data. A
    `ConfigError` if nothing makes this run: a choice is no longer at hand.
    """
    changed, values = dict(changed or {}), dict(spec.values)

    def make(named: Mapping[str, Any]) -> RunSpecification:
        changed = finish(resolution.name_keys(resolution.Given(search_path=spec.search_path), named), spec)
        return changed if spec.is_open else changed.with_fixed_length()

    if spec.is_open and changed.keys() & {"iterations", "budget"}:
        bounds = {name: bound for name, bound in values["until"].items() if bound is not None}
        changed |= {f"until.{name}": int(x) if x == int(x) else x for name, x in bounds.items()}
    named: dict[str, Any] = {"experiment": spec.experiment} if spec.experiment else {}
    if data is None:
        known = groups.choice("data", spec.data.name, spec.search_path)
        named |= {"data": spec.data.name}
        named |= {f"data.{key}": values["data"][key] for key, value in known.items() if value == groups.MISSING}
    else:
        named |= data
        del values["data"], values["N"]
    base = make(named)
    other_model = changed.pop("model", None)
    if spec.experiment or base.undecided or base.model.name != (other_model or spec.model.name):
        named["model"] = other_model or spec.model.name
        base = make(named)
    other_sampler = changed.keys() & {"sampler", "schedule"}
    if other_sampler or (base.samplers, base.schedule) != (spec.samplers, spec.schedule):
        named |= _choose_moves(values, changed)
        base = make(named)
    # of the sampler that another takes the place of, and of its schedule, nothing is left; nor of the model
    left_out = {"sampler", "schedule"} if other_sampler or values["schedule"].get("mix") else set()
    left_out |= set() if other_model is None else {"model"}
    left_out |= {"until"} if spec.is_open else set()  # if nobody names a length the program does
    plain = [key for key, value in values.items() if not isinstance(value, Mapping) and key not in _OF_THE_MOMENT]
    changes = {key: values[key] for key in plain if base.values[key] != values[key]}
    if changes.get("iterations", 0) is None:  # as the budget says, too
        del changes["iterations"]
    if changes:  # what is interpolated follows from these
        base = make(named | changes)
    for key in (*schema.GROUPS, *(key for key in values if key not in schema.GROUPS)):
        if isinstance(values.get(key), Mapping) and key not in left_out:
            for name, value in values[key].items():
                if name not in schema.NOT_TYPED and base.values[key].get(name) != value:
                    changes[f"{key}.{name}"] = value
    return named | changes | changed


def _choose_moves(values: Mapping[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Choose sampler and schedule; they are taken out of what is `changed`."""
    mix = values["schedule"].get("mix")
    if mix and not changed.keys() & {"schedule", "sampler"}:
        return {"schedule": [{one["name"]: {k: one[k] for k in one if k not in schema.NOT_TYPED}} for one in mix]}
    schedule = changed.pop("schedule", resolution.SCAN if mix or "sampler" in changed else values["schedule"]["name"])
    sampler = changed.pop("sampler", resolution.AUTO if mix else values["sampler"]["name"])
    chosen = {"sampler": sampler} if sampler != resolution.AUTO else {}
    return chosen | ({"schedule": schedule} if schedule != resolution.SCAN else {})


def override(key: str, value: Any, types: Accepts | None = None) -> str:
    """``KEY=VALUE`` as the command line reads it; a tuple has several values, for ``smcmc sweep``.

    Where the `types` that the key takes are known, fewer texts stand in quotes.
    """
    values = value if isinstance(value, tuple) else (value,)
    return f"{key}={','.join(write(one, types) for one in values)}"


def command_of(
    spec: RunSpecification, changed: Mapping[str, Any] | None = None, config_dir: str | Path | None = None
) -> str | None:
    """The command that makes a run, as short as it can be; None of data that a program held.

    Keys that are `changed` have other values; a choice, such as ``sampler``, replaces the choice of `spec` and its
    options. A number of `iterations`, or a `budget`, limits a run whose length nobody names; without one
    (``iterations``: None) it ends when it is long enough. A tuple has several values, for ``smcmc sweep``. A
    `ConfigError` if nothing can be typed that makes this run: a choice is no longer at hand.

    Examples
    --------
    >>> spec = specify(["data=jain_neal", "iterations=500", "sampler=sdds"])
    >>> command_of(spec, {"iterations": 1000})
    'smcmc run data=jain_neal sampler=sdds iterations=1000'
    >>> command_of(spec, {"seed": (1, 2)})
    'smcmc sweep data=jain_neal sampler=sdds iterations=500 seed=1,2'
    """
    if spec.data.name == "given":
        return None
    changed = dict(changed or {})
    if changed.get("iterations", 0) is None:  # R-hat, ESS and Monte Carlo errors end the chains
        is_open: dict[str, Any] = {"iterations": None, "budget": None}
        values = {**spec.values, **is_open, "until": dict(schema.ENOUGH)}
        spec = replace(spec, **is_open, until=schema.Until(**schema.ENOUGH), values=values, given=None)
        del changed["iterations"]
    verb = "sweep" if any(isinstance(value, tuple) for value in changed.values()) else "run"
    more = [] if config_dir is None else ["--config-dir", str(config_dir)]
    return " ".join(["smcmc", verb, *map(shell_word, [*words_of(spec, differences(spec, changed)), *more])])


def words_of(spec: RunSpecification, named: Mapping[str, Any]) -> list[str]:
    """``KEY=VALUE`` of keys of a run, text in quotes only where its key needs them."""
    chosen = {"data": spec.data.name, "model": spec.model.name, "sampler": spec.sampler_name}
    return [
        override(key, value, None if key in schema.CHOOSING else components.types_of_key(key, chosen, spec.search_path))
        for key, value in named.items()
    ]


def name_beside(changed: RunSpecification, job: RunSpecification) -> RunSpecification:
    """A run that was made of a job, with the words of that and of what differs."""
    changes = changed.find_changes(job)
    words = [word for word in job.words if word.partition("=")[0] not in changes]
    return replace(changed, words=(*words, *words_of(changed, changes)))
