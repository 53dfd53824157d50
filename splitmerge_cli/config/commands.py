"""The command line that makes a configuration: overrides, quoted for a shell."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from splitmerge_cli.config.auto import AUTO
from splitmerge_cli.config.auto import SCAN as FULL_SCAN
from splitmerge_cli.config.components import types_of_key
from splitmerge_cli.config.composition import shared_choices, specify
from splitmerge_cli.config.groups import choice
from splitmerge_cli.config.hydra_adapter import hydra_session
from splitmerge_cli.config.schema import GROUPS
from splitmerge_cli.config.specification import RunSpecification
from splitmerge_cli.config.targets import places
from splitmerge_cli.overrides import Accepts, shell_word, write

MISSING = "???"
"""Value of an option that has no default."""
_NOT_TYPED = ("name", "_target_")
"""Keys of a choice that nobody types."""
_OF_THE_MOMENT = ("resume", "workers", "progress", "experiment")
"""Keys that say nothing of the run."""


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

    Parameters
    ----------
    spec : RunSpecification
    changed : mapping, optional
        Keys with other values; a choice, such as ``sampler``, takes the place of that of `spec` and of its options. A
        number of `iterations`, or a `budget`, limits a run whose length nobody names; without one (``iterations``:
        None) R-hat and ESS end it. A tuple has several values, for ``smcmc sweep``.
    config_dir : str or Path, optional
        The folder of the user's own groups.

    Raises
    ------
    ConfigError
        Nothing can be typed that makes this run: a choice is no longer at hand.

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
    changed = changed or {}
    verb = "sweep" if any(isinstance(value, tuple) for value in changed.values()) else "run"
    more = [] if config_dir is None else ["--config-dir", str(config_dir)]
    return " ".join(["smcmc", verb, *map(shell_word, [*overrides_of(spec, changed, config_dir), *more])])


def overrides_of(
    spec: RunSpecification,
    changed: Mapping[str, Any],
    config_dir: str | Path | None = None,
    data: Sequence[str] | None = None,
) -> list[str]:
    """The overrides that make a run: its choices, then what differs from their defaults.

    Parameters
    ----------
    spec, changed, config_dir
        As in `command_of`.
    data : sequence of str, optional
        Overrides that name other data, in place of those of `spec`.

    Raises
    ------
    ConfigError
        They do not make this run: a choice is no longer at hand.
    """
    changed = dict(changed)
    if changed.get("iterations", 0) is None:
        spec = spec.with_open_length()
        del changed["iterations"]
    with hydra_session(), shared_choices():
        kept, changed = _find_overrides(spec, changed, config_dir, data)
        return [*kept, *(_override_of(spec, key, value, config_dir) for key, value in changed.items())]


def _override_of(spec: RunSpecification, key: str, value: Any, config_dir: str | Path | None) -> str:
    """The override that gives a key its value, text in quotes only where the key needs them."""
    chosen = {"data": spec.data.name, "model": spec.model.name, "sampler": spec.sampler_name}
    return override(key, value, types_of_key(key, chosen, places(config_dir)))


def _find_overrides(
    spec: RunSpecification, changed: dict[str, Any], config_dir: str | Path | None, data: Sequence[str] | None
) -> tuple[list[str], dict[str, Any]]:
    """Overrides that make a run, and what is changed that no choice among them says."""

    def compose(words: Sequence[str]) -> RunSpecification:
        found = specify(words, config_dir)
        return found if spec.is_open else found.with_fixed_length()

    values = dict(spec.values)
    if spec.is_open and changed.keys() & {"iterations", "budget"}:
        changed |= {f"until.{name}": _shorten(bound) for name, bound in values["until"].items() if bound is not None}
    chosen = [override("experiment", spec.experiment)] if spec.experiment else []
    if data is None:
        chosen.append(override("data", spec.data.name))
        known = choice("data", spec.data.name, places(config_dir))
        needed = {f"data.{key}": values["data"][key] for key, value in known.items() if value == MISSING}
        chosen += [_override_of(spec, key, value, config_dir) for key, value in needed.items()]
    else:
        chosen += data
        del values["data"], values["N"]
    base = compose(chosen)
    other_model = changed.pop("model", None)
    if spec.experiment or base.undecided or base.model.name != (other_model or spec.model.name):
        chosen.append(override("model", other_model or spec.model.name))
        base = compose(chosen)
    other_sampler = changed.keys() & {"sampler", "schedule"}
    if other_sampler or (base.samplers, base.schedule) != (spec.samplers, spec.schedule):
        chosen += _choose_moves(values, changed)
        base = compose(chosen)
    # of the sampler that another takes the place of, and of its schedule, nothing is left; nor of the model
    left_out = {"sampler", "schedule"} if other_sampler or values["schedule"].get("mix") else set()
    left_out |= set() if other_model is None else {"model"}
    plain = {
        key: value for key, value in values.items() if not isinstance(value, Mapping) and key not in _OF_THE_MOMENT
    }
    found = {key: value for key, value in plain.items() if base.values[key] != value}
    if found.get("iterations", 0) is None:  # as the budget says, too
        del found["iterations"]
    if found:  # what is interpolated follows from these
        base = compose([*chosen, *(override(key, value) for key, value in found.items())])
    for key in (*GROUPS, *(key for key in values if key not in GROUPS)):
        if isinstance(values.get(key), Mapping) and key not in left_out:
            options = {name: value for name, value in values[key].items() if name not in _NOT_TYPED}
            found |= {f"{key}.{name}": value for name, value in options.items() if base.values[key].get(name) != value}
    return chosen, found | changed


def _shorten(number: float) -> float:
    return int(number) if number == int(number) else number


def _choose_moves(values: Mapping[str, Any], changed: dict[str, Any]) -> list[str]:
    """The overrides that choose sampler and schedule, taken out of what is `changed`."""
    mix = values["schedule"].get("mix")
    if mix and not changed.keys() & {"schedule", "sampler"}:
        return [override("schedule", [{one["name"]: {k: one[k] for k in one if k not in _NOT_TYPED}} for one in mix])]
    schedule = changed.pop("schedule", FULL_SCAN if mix or "sampler" in changed else values["schedule"]["name"])
    sampler = changed.pop("sampler", AUTO if mix else values["sampler"]["name"])
    chosen = [override("sampler", sampler)] if sampler != AUTO else []
    return chosen + ([override("schedule", schedule)] if schedule != FULL_SCAN else [])
