"""The options of ``smcmc verify``: read and checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from splitmerge_cli.config import ConfigError, choice, choices, quote_priors, unreadable
from splitmerge_cli.config.hydra_adapter import parse_override

KEYS = {"sampler": "all", "model": "all", "mode": "both", "size": 4, "seed": 0, "iterations": 200_000, "schedule": None}
"""Keys of the command and their defaults; ``sampler.X`` and ``model.X`` set an option of the sampler or model. Without
a schedule samplers are checked, each by itself."""


def checked_options(args: Mapping[str, str], own: Sequence[str]) -> dict[str, Any]:
    """The command's options, checked."""
    values: dict[str, Any] = dict(KEYS)
    nested: dict[str, dict[str, Any]] = {"sampler": {}, "model": {}}
    for key, text in args.items():
        value = _value(key, text)
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
    for key, least, most in (("size", 1, 7), ("seed", 0, 2**63), ("iterations", 0, 10**9)):
        if isinstance(values[key], bool) or not isinstance(values[key], int) or not least <= values[key] <= most:
            raise ConfigError(f"{key}={values[key]}: expected a whole number from {least} to {most}")
    if values["iterations"] and values["iterations"] < 1000:
        raise ConfigError(f"iterations={values['iterations']}: expected 0 or at least 1000")
    if values["mode"] not in ("exact", "as_printed", "both"):
        raise ConfigError(f"mode={values['mode']}: expected exact, as_printed or both")
    if schedule := values["schedule"]:
        if mode := args.get("mode"):
            raise ConfigError(f"mode={mode}: expected none beside schedule={schedule}, which is checked as it is")
        if not schedule.startswith("[") and ("sampler" not in args or "," in args["sampler"]):
            raise ConfigError(f"schedule={schedule}: expected one sampler beside it, as sampler=sdds")
    chosen = {}
    for group in ("sampler", "model"):
        names = choices(group, own)
        chosen[group] = names if values[group] == "all" else values[group].split(",")
        for name in chosen[group]:
            if name not in names:
                raise ConfigError(f"{group}={name}: expected all or one of {', '.join(names)}")
        options = {
            k for name in chosen[group] for k in choice(group, name, own) if not k.startswith("_") and k != "name"
        }
        for option in nested[group]:
            if option not in options:
                known = ", ".join(sorted(options))
                raise ConfigError(f"{group}.{option}: no such option of {values[group]}; expected one of {known}")
    return values | {
        "own": own,
        "samplers": chosen["sampler"],
        "models": chosen["model"],
        "modes": ["exact", "as_printed"] if values["mode"] == "both" else [values["mode"]],
        "sampler_options": nested["sampler"],
        "model_options": nested["model"],
    }


def _value(key: str, text: str) -> Any:
    """A value as `smcmc run` reads it; names of groups, which may be lists, and schedules as they stand."""
    if key in ("sampler", "model", "schedule"):
        return text
    try:
        override = parse_override(quote_priors(f"{key}={text}"))
    except ConfigError as error:
        raise ConfigError(unreadable(f"{key}={text}")) from error
    if override.sweep:
        raise ConfigError(f"{key}={text}: several values; expected one")
    return override.value
