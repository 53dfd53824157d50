"""Options of ``smcmc verify``, read once: names become code here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from splitmerge_cli.config import Component, ConfigError, choice, choices, quote_priors, read_component, unreadable
from splitmerge_cli.config.hydra_adapter import parse_override

KEYS = {"sampler": "all", "model": "all", "mode": "both", "size": 4, "seed": 0, "iterations": 200_000, "schedule": None}
"""Keys of the command and their defaults; ``sampler.X`` and ``model.X`` set an option of the sampler or model. Without
a schedule samplers are checked, each alone."""


@dataclass(frozen=True)
class Request:
    """The samplers to check and the small cases to check them on."""

    samplers: list[Component]
    models: list[Component]
    sampler_options: dict[str, Any]
    model_options: dict[str, Any]
    """Options that the user names, as given: they hold for every chosen sampler or model that has them."""
    modes: list[str]
    """``exact``, ``as_printed`` or both."""
    size: int
    seed: int
    iterations: int
    schedule: str | None
    """As in `smcmc run`; checked instead of the samplers alone."""
    everything: bool
    """Explain samplers that are biased as printed, too."""


def read_request(args: Mapping[str, str], own_places: Sequence[str], everything: bool = False) -> Request:
    """Read and check the command's options, `KEYS` and options of samplers and models; `own_places` is Hydra's
    additional search path. A `ConfigError` names an unknown key or choice, or a value out of range."""
    values: dict[str, Any] = dict(KEYS)
    nested: dict[str, dict[str, Any]] = {"sampler": {}, "model": {}}
    for key, text in args.items():
        value = _read_value(key, text)
        group, _, option = key.partition(".")
        if option and group in nested:
            if (group, option) == ("sampler", "mode"):
                raise ConfigError(f"sampler.mode={text}: here the key is mode: exact, as_printed or both")
            nested[group][option] = value
        elif key in KEYS:
            values[key] = value
        else:
            near = difflib.get_close_matches(key, [*KEYS, "sampler.", "model."], 1)
            raise ConfigError(
                f"{key}: no such key of verify; expected one of {', '.join(KEYS)}, sampler.OPTION, model.OPTION"
                + (f". Did you mean {near[0]}?" if near else "")
            )
    for key, least, largest in (("size", 1, 7), ("seed", 0, 2**63), ("iterations", 0, 10**9)):
        if isinstance(values[key], bool) or not isinstance(values[key], int) or not least <= values[key] <= largest:
            raise ConfigError(f"{key}={values[key]}: expected a whole number from {least} to {largest}")
    if values["iterations"] and values["iterations"] < 1000:
        raise ConfigError(f"iterations={values['iterations']}: expected 0 or at least 1000")
    if values["mode"] not in ("exact", "as_printed", "both"):
        raise ConfigError(f"mode={values['mode']}: expected exact, as_printed or both")
    if schedule := values["schedule"]:
        if mode := args.get("mode"):
            raise ConfigError(f"mode={mode}: expected no mode with schedule={schedule}, which is checked as it is")
        if not schedule.startswith("[") and ("sampler" not in args or "," in args["sampler"]):
            raise ConfigError(f"schedule={schedule}: expected one sampler as well, such as sampler=sdds")
    chosen = {group: _read_group(group, values[group], nested[group], own_places) for group in nested}
    return Request(
        samplers=chosen["sampler"],
        models=chosen["model"],
        sampler_options=nested["sampler"],
        model_options=nested["model"],
        modes=["exact", "as_printed"] if values["mode"] == "both" else [values["mode"]],
        everything=everything,
        **{key: values[key] for key in ("size", "seed", "iterations", "schedule")},
    )


def _read_group(group: str, text: str, options: Mapping[str, Any], own_places: Sequence[str]) -> list[Component]:
    """Read the samplers or models of these names, each with the options that it has."""
    names = choices(group, own_places)
    chosen = names if text == "all" else text.split(",")
    for name in chosen:
        if name not in names:
            raise ConfigError(f"{group}={name}: expected all or one of {', '.join(names)}")
    files = {name: choice(group, name, own_places) for name in chosen}
    known = {key for file in files.values() for key in file if not key.startswith("_") and key != "name"}
    for option in options:
        if option not in known:
            expected = ", ".join(sorted(known))
            raise ConfigError(f"{group}.{option}: no such option of {text}; expected one of {expected}")
    return [
        read_component(group, name, file | {key: value for key, value in options.items() if key in file}, own_places)
        for name, file in files.items()
    ]


def _read_value(key: str, text: str) -> Any:
    """Return a value as `smcmc run` reads it; names of groups, which may be lists, and schedules as they stand."""
    if key in ("sampler", "model", "schedule"):
        return text
    try:
        override = parse_override(quote_priors(f"{key}={text}"))
    except ConfigError as error:
        raise ConfigError(unreadable(f"{key}={text}")) from error
    if override.sweep:
        raise ConfigError(f"{key}={text}: several values; expected one")
    return override.value
