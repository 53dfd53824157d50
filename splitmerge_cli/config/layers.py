"""The files of ``conf`` laid over each other: the one place where choices become a configuration.

A file of a model or sampler names its class, and the values that differ from the defaults of that class (its
``OPTIONS``), over which it is laid. A user's own file that does more with its defaults list than name files of its own
group and override groups is laid by Hydra.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from splitmerge_cli import plugins
from splitmerge_cli.config import groups, hydra_adapter
from splitmerge_cli.config.errors import ConfigError, show, unknown_choice
from splitmerge_cli.config.schema import known_keys
from splitmerge_cli.received import reject_machine_error

ORDER = ("model", "sampler", "data", "schedule", "experiment")
"""Groups in the order in which their files are laid over the main configuration."""
LEFT_OUT = ("defaults", "hydra", "reproduce")
"""Parts of a file that are no key of a run: the list of choices, what Hydra reads, and ``smcmc reproduce``."""

_PACKAGE = re.compile(r"(?:\s*#[^\n]*\n)*?\s*#\s*@package\s+(\S+)")
_OVERRIDE = re.compile(r"override /(\w+)(?:@_global_\.\1)?")
_NAME = re.compile(r"([\w.+-]+)(?:@(\w+))?")


class Layers(NamedTuple):
    """A configuration of choices alone: keys of the main configuration and the groups, interpolations unresolved, the
    choice in each group, and the ``hydra.sweeper.params`` of an experiment, which `smcmc sweep` adds to a grid."""

    values: dict[str, Any]
    chosen: dict[str, Any]
    params: Mapping[str, Any]


class _ForHydra(Exception):
    """A file that only Hydra can read."""


class _File(NamedTuple):
    """A file of a group: whether its keys belong to the whole configuration, its defaults list, and its keys."""

    is_global: bool
    defaults: list[Any]
    values: dict[str, Any]


def compose_choices(named: Mapping[str, Any], search_path: Sequence[str] = ()) -> Layers:
    """Lay the files of the choices that are named by group, and of those that follow from them, over the main
    configuration; a `ConfigError` of a choice that there is not, and of a file that is no configuration.

    What is not named follows from the others, or is the default.
    """
    for group, name in named.items():
        if group != "experiment" or name is not None:
            if not groups.is_choice(group, name, search_path):
                raise ConfigError(unknown_choice(group, show(name), groups.choices(group, search_path)))
            groups.check_importable(group, name)
    try:
        return _lay(dict(named), search_path)
    except _ForHydra:
        return _compose_by_hydra(named, search_path)


def choice(group: str, name: str, search_path: Sequence[str] = ()) -> dict[str, Any]:
    """The options of one choice as its file gives them, interpolations unresolved, without those that its group shares
    (`shared_options`); a `ConfigError` of a choice that the group does not have."""
    return groups.unshared_options(group, _options(group, name, tuple(search_path)))


@cache
def _options(group: str, name: str, search_path: tuple[str, ...]) -> dict[str, Any]:
    options: dict[str, Any] = compose_choices({group: name}, search_path).values[group]
    if isinstance(target := options.get("_target_"), str):
        groups.named_targets.add(target)
    return options


def _lay(overridden: dict[str, Any], search_path: Sequence[str]) -> Layers:
    main = groups.main_values()
    defaults = {group: name for entry in main["defaults"] if entry != "_self_" for group, name in entry.items()}
    layers: list[dict[str, Any]] = []
    chosen: dict[str, Any] = {}
    # as in Hydra, the last file overrides the choices of those before it
    for group in reversed(ORDER):
        chosen[group] = overridden.get(group, defaults[group])
        if chosen[group] is not None:
            layers = _expand(group, chosen[group], None, overridden, chosen, search_path) + layers
    values = main
    for layer in layers:
        values = merge(values, layer)
    return _over_classes(values, chosen, search_path)


def _over_classes(values: dict[str, Any], chosen: dict[str, Any], search_path: Sequence[str]) -> Layers:
    """The layers of all files, those of the model and the sampler laid over the defaults of their classes."""
    params = ((values.get("hydra") or {}).get("sweeper") or {}).get("params") or {}
    values = {key: value for key, value in values.items() if key not in LEFT_OUT}
    for group in ("model", "sampler"):
        named = values[group]
        if isinstance(named, Mapping) and isinstance(target := named.get("_target_"), str):
            head = {key: named[key] for key in ("name", "_target_") if key in named}
            values[group] = {**head, **_defaults_of(target, tuple(search_path)), **named}
    return Layers(values, chosen, params)


@cache
def _defaults_of(target: str, search_path: tuple[str, ...]) -> dict[str, Any]:
    """Defaults of the options that a class lists; none of one that cannot be imported: whoever reads the configuration
    says why."""
    groups.import_beside(search_path)
    groups.named_targets.add(target)
    try:
        options = getattr(groups.locate(target), "OPTIONS", ())
    except ConfigError:
        return {}
    return {one.name: list(one.default) if isinstance(one.default, tuple) else one.default for one in options}


def _expand(
    group: str,
    name: str,
    package: str | None,
    overridden: dict[str, Any],
    chosen: Mapping[str, Any],
    search_path: Sequence[str],
) -> list[dict[str, Any]]:
    """The layers of a file and of the files that it builds on; choices that it overrides are added to `overridden`,
    unless they are there."""
    file = _read(group, name, tuple(search_path))
    for entry in file.defaults:
        if isinstance(entry, dict):
            key, value = next(iter(entry.items()))
            match = _OVERRIDE.fullmatch(str(key))
            if match is None or (match[1] in chosen and match[1] not in overridden) or len(entry) > 1:
                raise _ForHydra
            overridden.setdefault(match[1], value)
    is_global = file.is_global and package is None
    own_values = file.values if is_global else {group: file.values}
    parts: list[list[dict[str, Any]]] = []
    names = [entry for entry in file.defaults if not isinstance(entry, dict)]
    for entry in reversed(names if "_self_" in names else [*names, "_self_"]):
        if entry == "_self_":
            parts.append([own_values])
            continue
        builds = _NAME.fullmatch(str(entry))
        # a file of the whole configuration says into which part it takes one that is not
        if builds is None or builds[2] not in (None, group):
            raise _ForHydra
        below_is_global = _read(group, builds[1], tuple(search_path)).is_global
        if (is_global != below_is_global) if builds[2] is None else (below_is_global or not is_global):
            raise _ForHydra
        parts.append(_expand(group, builds[1], builds[2], overridden, chosen, search_path))
    return [layer for part in reversed(parts) for layer in part]


def _read(group: str, name: str, search_path: tuple[str, ...]) -> _File:
    """Read the file of a choice; the package's own come first, as on Hydra's search path."""
    if name in groups.plugin_names(group):
        return _File(False, [], plugins.configuration(group, name))
    if (packaged := _read_packaged(group, name, search_path)) is not None:
        return packaged
    for place in search_path:
        if place.startswith("file://"):
            file = Path(place.removeprefix("file://")) / group / f"{name}.yaml"
            if file.is_file():
                return _parse(file.read_bytes())
    raise _ForHydra


@cache
def _read_packaged(group: str, name: str, search_path: tuple[str, ...]) -> _File | None:
    packages = [hydra_adapter.CONF, *(p.removeprefix("pkg://") for p in search_path if p.startswith("pkg://"))]
    for package in packages:
        file = resources.files(package) / group / f"{name}.yaml"
        if file.is_file():
            return _parse(file.read_bytes())
    return None


def _parse(content: bytes) -> _File:
    try:
        text = content.decode()
        node = OmegaConf.create(text)
    except Exception as error:  # whoever composes the whole says what is wrong
        reject_machine_error(error, "the configuration")
        raise _ForHydra from error
    if not isinstance(node, DictConfig):
        raise _ForHydra
    values = groups.plain(node, resolve=False)
    package = _PACKAGE.match(text)
    if package is not None and package[1] != "_global_":
        raise _ForHydra
    if not isinstance(defaults := values.pop("defaults", []), list):
        raise _ForHydra
    return _File(package is not None, defaults, values)


def _compose_by_hydra(named: Mapping[str, Any], search_path: Sequence[str]) -> Layers:
    words = [f"{group}={'null' if name is None else name}" for group, name in named.items()]
    try:
        raw = hydra_adapter.compose(words, search_path)
        values, chosen = groups.plain(raw, resolve=False), dict(raw.hydra.runtime.choices)
    except Exception as error:  # Hydra raises all kinds on a file that is no configuration
        reject_machine_error(error, " ".join(words))
        raise ConfigError(hydra_adapter.explain(error, words)) from error
    return _over_classes(values, chosen, search_path)


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one mapping over another: mappings are merged, anything else takes the place of what is below."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def complete(incomplete: str) -> list[str]:
    """Overrides that begin with `incomplete`: keys as ``KEY=``, and the choices of a group as ``GROUP=CHOICE``."""
    key, equals, _ = incomplete.partition("=")
    if equals:
        group = key in ORDER
        offered = [f"{key}={name}" for name in groups.choices(key)] if group else []
    else:
        offered = [f"{name}=" for name in known_keys(compose_choices({}).values)]
    return [candidate for candidate in offered if candidate.startswith(incomplete)]
