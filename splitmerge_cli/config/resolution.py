"""Values that follow from others: interpolations, the sampler of ``sampler=auto``, weighted lists, start and length."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from splitmerge_cli.config import auto
from splitmerge_cli.config.components import Component, read_component
from splitmerge_cli.config.errors import ConfigError, show, unknown_choice, unknown_key
from splitmerge_cli.config.groups import MISSING, choices, plain
from splitmerge_cli.config.layers import choice
from splitmerge_cli.config.schema import (
    DEFAULT_WARMUP,
    ENOUGH,
    LONGER,
    MIX,
    TAKE_K0,
    Until,
)

_MOST_MOVES = 10_000
"""Most moves of a sampler before each scan."""
_WEIGHTS = (1e-100, 1e100)
"""Smallest and largest weight in a schedule: any sum and any share of such weights is a number."""
_REFERENCE = re.compile(r"\$\{(\w+)\}", re.ASCII)
_SCALARS = (bool, int, float, str, type(None))


def resolve_interpolations(unresolved: Mapping[str, Any], experiment: str | None) -> dict[str, Any]:
    """Plain values, interpolations resolved."""
    try:
        values = _copy_resolved(unresolved, unresolved)
    except LookupError:
        values = _resolve_any(unresolved)
    return values | {"experiment": experiment}


def _copy_resolved(value: Any, root: Mapping[str, Any]) -> Any:
    """Copy plain values, references to keys of `root` resolved: what `_resolve_any` does, in a tenth of its time.

    A `LookupError` where a value needs more.
    """
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _copy_resolved(one, root) for key, one in value.items()}
    if type(value) is list:
        return [_copy_resolved(one, root) for one in value]
    if type(value) is str and (reference := _REFERENCE.fullmatch(value)):
        value = root[reference[1]]
    if type(value) not in _SCALARS or (type(value) is str and ("${" in value or value == MISSING)):
        raise LookupError
    return value


def _resolve_any(unresolved: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return plain(OmegaConf.create(dict(unresolved)), throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise ConfigError(f"{error.full_key}: a value is needed: {error.full_key}=VALUE") from error
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{error.full_key}: {reason}" if error.full_key else reason) from error


def choose_sampler(values: dict[str, Any]) -> str:
    """Put the sampler in place for which ``sampler=auto`` stands; returns its name."""
    for key, value in values["sampler"].items():
        if (key, value) != ("name", auto.AUTO):
            raise ConfigError(f"sampler.{key}={show(value)}: {auto.NOT_NAMED}")
    name, moves = auto.choose(values["model"], values["schedule"])
    values["sampler"] = choice("sampler", name)
    if values["schedule"].get("mix") is None and values["schedule"].get("moves", 1) != moves:
        values["schedule"] = values["schedule"] | {"moves": moves}
    return name


def resolve_defaults(values: dict[str, Any], model: Component, samplers: Sequence[Component]) -> dict[str, Any]:
    """Fill in defaults that depend on other keys; returns them."""
    if values["K0"] is not None and values["init"] not in TAKE_K0:
        raise ConfigError(
            f"K0={values['K0']}: only init=random takes a number of clusters (and init=sequential, of topics), "
            f"not init={values['init']}"
        )
    resolved = {key: values[key] for key in ("init", "warmup", "iterations")}
    if resolved["init"] is None:
        resolved["init"] = model.kind.init
    if resolved["warmup"] is None:
        resolved["warmup"] = DEFAULT_WARMUP if any(hasattr(one.target, "adapt_to") for one in samplers) else 0
    if resolved["iterations"] is None and values["budget"] is None:
        stops = any(value is not None for value in values["until"].values())
        # R-hat compares chains; the length of an experiment's chains belongs to it
        if not stops and values["chains"] > 1 and not values["experiment"]:
            resolved["until"] = dict(ENOUGH)
        else:
            resolved["iterations"] = model.kind.iterations * (LONGER if stops else 1)
    values |= resolved
    return resolved | ({"until": Until(**resolved["until"])} if "until" in resolved else {})


def read_list(values: dict[str, Any], search_path: Sequence[str]) -> tuple[Component, ...]:
    """The samplers of a weighted list, whose names are replaced by their configurations."""
    schedule = values["schedule"]
    if schedule.get("moves", 1) != 1:
        raise ConfigError(
            f"schedule.moves={show(schedule['moves'])}: expected none with schedule=[...], which has weights"
        )
    form = "expected a list such as [{sdds: 1}, {rgsm: {weight: 2, t: 3}}]"
    if not isinstance(schedule["mix"], list) or not schedule["mix"]:
        raise ConfigError(f"schedule.mix={show(schedule['mix'])}: {form}")
    mix, samplers = [], []
    for entry in schedule["mix"]:
        if isinstance(entry, str):
            entry = {entry: 1}
        if not isinstance(entry, dict) or len(entry) != 1:
            raise ConfigError(f"schedule.mix: {show(entry)}: {form}")
        name, value = next(iter(entry.items()))
        prefix = f"schedule.mix.{name}"
        entry_options = dict(value) if isinstance(value, dict) else {"weight": value}
        weight = check_weight(f"{prefix}.weight", entry_options.pop("weight", 1))
        options = choice("sampler", str(name), search_path) | entry_options
        samplers.append(read_component("sampler", str(name), options, search_path, prefix))
        mix.append({"weight": weight, **samplers[-1].values})
    values["schedule"] = {"name": "mix", "mix": mix}
    # the list stands in place of `sampler`; only its name is kept, for folders and titles
    values["sampler"] = {"name": "+".join(sampler.name for sampler in samplers)}
    return tuple(samplers)


def check_schedule(schedule: Mapping[str, Any]) -> None:
    """Check a schedule of one sampler."""
    names = choices("schedule")  # what the runner knows: a file of the user's own cannot add to it
    if strange := [key for key in schedule if key not in ("name", "mix", "moves")]:
        raise ConfigError(unknown_key(f"schedule.{strange[0]}", ["schedule.mix", "schedule.moves"]))
    if schedule.get("name") not in names or schedule["name"] == MIX:
        raise ConfigError(unknown_choice("schedule", show(schedule.get("name")), names))
    moves = schedule.get("moves", 1)
    if isinstance(moves, bool) or not isinstance(moves, int) or not 1 <= moves <= _MOST_MOVES:
        raise ConfigError(f"schedule.moves={show(moves)}: expected a whole number from 1 to {_MOST_MOVES:,}")
    if moves != 1 and schedule["name"] != auto.SCAN:
        raise ConfigError(f"schedule.moves={moves}: expected schedule={auto.SCAN}, whose scans they come before")


def check_weight(key: str, weight: Any) -> float:
    """The weight of a sampler in a schedule, checked."""
    least, largest = _WEIGHTS
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not least <= weight <= largest:
        raise ConfigError(f"{key}={show(weight)}: expected a number from {least:g} to {largest:g}")
    return float(weight)
