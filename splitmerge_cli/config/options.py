"""Options of a choice, checked by name, type and range.

A class that lists its ``OPTIONS`` says itself what each takes. Of any other, as a user's own sampler or a function that
makes data, the types come from its file and its signature, and ranges are checked by what is constructed.
"""

import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from splitmerge_cli.config import moved
from splitmerge_cli.config.errors import ConfigError, show, unknown_key
from splitmerge_cli.config.groups import choice, choices, shared
from splitmerge_cli.config.schema import SHARED
from splitmerge_cli.config.targets import target_of
from splitmerge_cli.core.options import Option


def options_of(target: Any) -> dict[str, Option]:
    """The options that a class lists, by name; empty where it lists none."""
    return {option.name: option for option in getattr(target, "OPTIONS", ())}


def coerced(group: str, name: str, options: Mapping[str, Any], search_path: Sequence[str] = ()) -> dict[str, Any]:
    """The options of a choice as `check_options` returns them, without the code that they configure: what is part of a
    run's identity is unchecked."""
    known, common = choice(group, name, search_path), shared(group)
    given = {"name": name} | dict(options)
    for key, default in common.items():
        _like(f"{group}.{key}", given.get(key, default), default, SHARED[group][key])
    return {key: _like_default(value, known.get(key)) for key, value in given.items()}


def _like_default(value: Any, default: Any) -> Any:
    """A whole number as a float where the default is one, or a prior."""
    of_floats = isinstance(default, float) or (isinstance(default, str) and default.startswith("gamma("))
    try:
        return float(value) if of_floats and type(value) is int else value
    except OverflowError:  # its range is checked where it is read
        return value


def check_options(
    group: str, name: str, options: Mapping[str, Any], search_path: Sequence[str] = (), prefix: str | None = None
) -> dict[str, Any]:
    """Check the options of a choice by name and type against its class or its file.

    Parameters
    ----------
    group, name : str
        The file ``conf/GROUP/NAME.yaml``.
    options : mapping
        Options as configured.
    search_path : sequence of str
        Hydra's additional search path.
    prefix : str, optional
        What to call the options in messages; `group` by default.

    Returns
    -------
    dict
        The options; whole numbers become floats where the file has a float.

    Raises
    ------
    ConfigError
        An unknown option, or one that its class does not take; of a class without ``OPTIONS`` one of another type than
        in the file (where that is null or an interpolation: than the function or class declares); another name or
        target than the file's.
    """
    prefix = prefix or group
    known = {"name": name} | choice(group, name, search_path) | shared(group)
    target = target_of(group, name, known.get("_target_"))
    listed = options_of(target)
    declared = {} if listed else declared_types(target) | SHARED.get(group, {})
    checked = {"name": name} | dict(options)
    if "_target_" in checked:
        checked["_target_"] = moved.current(checked["_target_"])
    for key, value in checked.items():
        if key in ("name", "_target_"):
            if value != known[key]:
                raise ConfigError(f"{prefix}.{key}={show(value)}: expected {known[key]}, which {group}={name} sets")
            if not isinstance(value, str) or not re.fullmatch(r"\w[\w.+-]*", value):
                raise ConfigError(f"{group}={name}: {key}={show(value)}: expected letters, digits and ._+- alone")
        elif key not in known:
            named = [k for k in known if k not in ("name", "_target_")] + ["weight"] * prefix.startswith("schedule.mix")
            raise ConfigError(unknown_key(f"{prefix}.{key}", [f"{prefix}.{k}" for k in named]))
        elif key in listed:
            checked[key] = _read(listed[key], prefix, _like_default(value, known[key]))
        else:
            checked[key] = _like(f"{prefix}.{key}", value, known[key], declared.get(key))
    return checked


def _read(option: Option, prefix: str, value: Any) -> Any:
    """The value, which an option takes; as it is configured, not as the class uses it."""
    try:
        option.read(value, prefix)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return value


def declared_types(target: Any) -> dict[str, Any]:
    """Types that the parameters of a function or class are declared to have, where they are."""
    try:
        return get_type_hints(target if inspect.isfunction(target) else target.__init__)
    except Exception:  # annotations may name what cannot be imported
        return {}


def takes_list(key: str) -> bool:
    """Whether an option of some choice, such as ``data.drop``, takes a list."""
    group, _, option = key.partition(".")
    for name in choices(group) if group in ("data", "model", "sampler") else ():
        own = choice(group, name)
        if option not in own:
            continue
        target = target_of(group, name, own["_target_"])
        if option in (listed := options_of(target)):
            return "list" in listed[option].type
        declared = declared_types(target).get(option)
        if any(get_origin(part) is Sequence for part in (declared, *get_args(declared))):
            return True
    return False


WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a name or text",
    bool: "true or false",
    NoneType: "null",
}


def _like(key: str, value: Any, default: Any, declared: Any = None) -> Any:
    """`value`, checked to be of the type of `default`, where that is text or a list also of one that is `declared`; or
    as `declared` if the default is null or an interpolation."""
    if default is None or (isinstance(default, str) and ("${" in default or default == "???")):
        types = [t for t in get_args(declared) or (declared,) if t is not Path]
        types += [NoneType] * (default is None)
        fits = type(value) in types or (type(value) is int and float in types)
        if not fits and all(t in WORDS for t in types) and types != [NoneType]:
            raise ConfigError(f"{key}={show(value)}: expected {' or '.join(dict.fromkeys(WORDS[t] for t in types))}")
        return value
    if isinstance(default, bool):
        good, expected = isinstance(value, bool), "true or false"
    elif isinstance(default, float):
        number = type(value) in (int, float) and abs(value) <= sys.float_info.max
        good, expected = number or type(value) in get_args(declared), "a number"
        value = float(value) if number else value
    elif isinstance(default, int):
        good, expected = type(value) is int, "a whole number"
    else:
        # auto may also be what else is declared: true or false, the number of a column, null
        good = isinstance(value, type(default)) or type(value) in get_args(declared)
        expected = f"a value such as {default}"
    if not good:
        raise ConfigError(f"{key}={show(value)}: expected {expected}")
    return value
