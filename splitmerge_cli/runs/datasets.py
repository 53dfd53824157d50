"""The data set of a run: loaded once, and checked to be what its files held."""

import ctypes
import json
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from splitmerge_cli.config import ConfigError, locate, unshared
from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.kinds import Kind, get_kind
from splitmerge_cli.runs.identity import DATA_FILES, file_digest

if TYPE_CHECKING:
    from omegaconf import DictConfig


def kind_of(model: "Mapping[str, Any] | DictConfig") -> Kind:
    """The kind of data that a configured model reads."""
    return get_kind(locate(model["_target_"]).kind)


def loaded(options: dict[str, Any], kind: Kind, digests: Mapping[str, str]) -> Dataset:
    """The data set of the options of group data, of the model's `kind` where they leave that open."""
    if "kind" in options and options["kind"] is None:
        options = options | {"kind": kind.name}
    return _dataset(json.dumps(options, sort_keys=True), tuple(sorted(digests.items())))


@lru_cache(maxsize=2)
def _dataset(options: str, digests: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set; the digests of its files make a changed file another data set."""
    values = json.loads(options)
    dataset = construct("data", unshared("data", values), lambda generate, given: generate(**given))
    if not isinstance(dataset, Dataset):
        raise ConfigError(f"data={values['name']}: _target_ {values['_target_']} makes no Dataset")
    give_back()
    for name, digest in digests:
        key = DATA_FILES[name]
        path = values[key.removeprefix("data.")]
        if file_digest(key, path, values["_target_"]) != digest:
            raise DataError(f"{key}={path}: the file was changed while it was read")
    return dataset


def give_back() -> None:
    """Give the memory that reading took back to the system: of a list of a million edges two thirds of it."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    # of glibc alone
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def construct(
    group: str,
    options: "Mapping[str, Any] | DictConfig",
    build: Callable[[Any, dict[str, Any]], Any],
    called: str | None = None,
) -> Any:
    """Call `build` with the class or function and the options that a configuration names.

    Parameters
    ----------
    group : str
        ``data``, ``model`` or ``sampler``.
    options : mapping
        Options of a choice, its target among them.
    build : callable
        Takes the target and its options.
    called : str, optional
        What messages call the options where they do not stand under `group`.

    Raises
    ------
    ConfigError, DataError
        The message names the key.
    """
    given = {str(key): value for key, value in options.items() if key not in ("name", "_target_", "weight")}
    target = locate(options["_target_"])
    try:
        return build(target, given)
    except DataError:
        raise
    except (ValueError, TypeError, OverflowError, IndexError, MemoryError) as error:
        text = str(error) or "not enough memory"
        if text.startswith(f"{group}."):
            raise ConfigError((called or group) + text.removeprefix(group)) from error
        named = called or f"{group}={options['name']}"
        raise ConfigError(f"{named}: {text}") from error
