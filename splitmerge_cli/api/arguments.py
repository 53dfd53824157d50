"""Unknown arguments of a function get the same answer as unknown keys of the command line."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from splitmerge_cli.config.errors import ConfigError, nearest
from splitmerge_cli.config.schema import all_keys

_F = TypeVar("_F", bound=Callable[..., Any])


def answer_misspelt(function: _F) -> _F:
    """Let a function answer an unknown argument with a `TypeError` that names the nearest, or says where
    a key of the command line belongs."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        for name in given:
            if name not in known:
                raise TypeError(f"{name}: no such argument. {_advice(name, known)}")
        return function(*args, **given)

    return cast(_F, wrapper)


def _advice(name: str, known: list[str]) -> str:
    if "options" in known and name in {key for key, _ in all_keys()}:
        return f"Expected options={{'{name}': VALUE}}, because it is a key of the command line"
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else f"Expected one of {', '.join(known)}"


_SEEDS = 2**31
"""Seeds that a generator draws from."""


def read_seed(seed: int, rng: Any) -> int:
    """Return the seed of a run, or derive it from `rng` (SPEC 7 of Scientific Python): a whole number is
    the seed itself; whatever else `numpy.random.default_rng` takes draws one.

    Raises
    ------
    ConfigError
        Both are given, or `rng` is nothing that a generator can be made of.
    """
    if rng is None:
        return seed
    if seed:
        raise ConfigError(f"seed={seed}, rng: expected one of them")
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return int(rng)
    try:
        return int(np.random.default_rng(rng).integers(_SEEDS))
    except TypeError as error:
        raise ConfigError(f"rng: {type(rng).__name__}; expected a whole number or a numpy.random.Generator") from error
