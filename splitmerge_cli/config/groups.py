"""Choices that the groups offer, the code that they name, and their files laid over each other: the one place where
choices become a configuration.

A file of a model or sampler names its class, and the values that differ from the defaults of that class (its
``OPTIONS``), over which it is laid. A user's own file that does more with its defaults list than name files of its own
group and override groups is laid by Hydra.
"""

import importlib
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from omegaconf import DictConfig, OmegaConf

from splitmerge_cli import plugins, received
from splitmerge_cli.config import errors, hydra_adapter, schema

REQUIRED = {"data": (), "model": ("kind", "accepts", "from_data"), "sampler": ("MOVES", "supports")}
"""Attributes that the ``_target_`` of a group must have, besides being callable."""


def places(config_dir: str | Path | None) -> list[str]:
    """Hydra's search path in addition to ``conf``, as `choices` and `choice` take it; a `ConfigError` of a folder that
    there is not.

    It has the papers of the package that bring their own experiments, then a user's own configuration folder.
    """
    if config_dir is None:
        return _papers()
    folder = Path(config_dir).resolve()
    if not folder.is_dir():
        raise errors.ConfigError(f"--config-dir {config_dir}: no such folder")
    return [*_papers(), f"file://{folder}"]


def _papers() -> list[str]:
    """Papers that hold a folder ``experiment``: sub-packages of ``splitmerge_cli.papers``, and what distributions
    add."""
    package = importlib.import_module("splitmerge_cli.papers")
    folders = sorted(Path(place) for place in package.__path__)
    papers = sorted(folder.parent.name for place in folders for folder in place.glob("*/experiment"))
    added: list[Any] = []
    for name in plugins.entry_points("paper"):
        with suppress(plugins.PluginError):
            added.append(plugins.load("paper", name))
    return [
        *(f"pkg://{package.__name__}.{name}" for name in papers),
        *(f"pkg://{paper.__name__}" for paper in added if (Path(paper.__path__[0]) / "experiment").is_dir()),
    ]


def _folders(search_path: Iterable[str]) -> list[str]:
    """The user's own folders of a search path."""
    return [place.removeprefix("file://") for place in search_path if place.startswith("file://")]


def import_beside(search_path: Iterable[str]) -> None:
    """Let a user's modules be imported from the folder of the configurations that name them."""
    for folder in _folders(search_path):
        if folder not in sys.path:
            sys.path.append(folder)


named_targets: set[str] = set()
"""Targets that the chosen files of the package and of ``--config-dir`` name; filled by `splitmerge_cli.config.groups`,
which reads these files."""


def locate(path: Any) -> Any:
    """The class or function that ``_target_`` names, the one place where a name of a configuration becomes code; a
    `ConfigError` if no chosen file names it, or it cannot be imported.

    Only what a chosen file names is imported, of the package or of the folder that ``--config-dir`` gave: whatever a
    stored or received configuration says, nothing else is.
    """
    _check_dotted(path)
    if path not in named_targets:
        raise errors.ConfigError(
            f"_target_={path}: not imported; expected one that a file of the package's configuration names, or of the "
            "folder that --config-dir gives"
        )
    return load(path)


def load(path: Any) -> Any:
    """Import ``MODULE.NAME``, which this invocation itself asks for; a `ConfigError` if that is not possible."""
    _check_dotted(path)
    module, _, name = path.rpartition(".")
    try:
        return plugins.run_foreign(lambda: getattr(importlib.import_module(module), name))
    except plugins.ForeignError as error:
        raise errors.ConfigError(f"_target_={path}: cannot be imported: {error}") from error


def _check_dotted(path: Any) -> None:
    if not isinstance(path, str) or not all(part.isidentifier() for part in path.split(".")) or "." not in path:
        raise errors.ConfigError(f"_target_={errors.show(path)}: expected MODULE.NAME of a class or function")


def target_of(group: str, name: str, path: Any) -> Any:
    """Return the class or function that the ``_target_`` of a choice names, checked to be of use to its group."""
    try:
        target = locate(path)
    except errors.ConfigError as error:
        raise errors.ConfigError(f"{group}={name}: {error}") from error
    if not callable(target) or not all(hasattr(target, attribute) for attribute in REQUIRED[group]):
        expected = "a function that returns a Dataset" if group == "data" else f"a subclass of {group.title()}"
        raise errors.ConfigError(f"{group}={name}: _target_={path}: expected {expected}")
    return target


def plain(node: Any, resolve: bool = True, throw_on_missing: bool = False) -> dict[str, Any]:
    """A configuration as plain values."""
    values = OmegaConf.to_container(node, resolve=resolve, throw_on_missing=throw_on_missing)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def _conf() -> Any:
    return resources.files(hydra_adapter.CONF)


@cache
def main_values() -> dict[str, Any]:
    """The main configuration: defaults of all keys, and the packaged ``config.yaml``."""
    loaded = OmegaConf.create((_conf() / "config.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, DictConfig)
    return schema.default_values() | plain(loaded, resolve=False)


def unshared_options(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a choice without those that all choices of its group have."""
    return {key: value for key, value in options.items() if key not in schema.SHARED.get(group, {})}


def shared_options(group: str) -> dict[str, Any]:
    """Return the options that all choices of a group have, with their defaults."""
    return dict.fromkeys(schema.SHARED.get(group, {}))


MISSING = "???"
"""Value of an option that has no default."""
NOT_OFFERED = {"data": ("given",), "sampler": ("auto",)}
"""Choices that are none of their own: what the program makes itself, and what stands for another choice."""


def choices(group: str, search_path: Sequence[str] = ()) -> list[str]:
    """Names that a group offers: ``choices("sampler")``."""
    return [name for name in _choices(group, tuple(search_path)) if name not in NOT_OFFERED.get(group, ())]


def check_importable(group: str, name: str) -> None:
    """Raise a `ConfigError` if a choice is one of another distribution that cannot be used."""
    if name in plugin_names(group):
        try:
            plugins.check_name(group, name, _own_choices(group))
            plugins.load(group, name)
        except plugins.PluginError as error:
            raise errors.ConfigError(str(error)) from error


def usable_choices(group: str) -> list[str]:
    """Names that a group offers, without unusable ones of other distributions."""
    usable = []
    for name in choices(group):
        with suppress(errors.ConfigError):
            check_importable(group, name)
            usable.append(name)
    return usable


@cache
def _own_choices(group: str) -> frozenset[str]:
    """Choices of the package."""
    files = (_conf() / group).iterdir()
    return frozenset(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


@cache
def _choices(group: str, search_path: tuple[str, ...]) -> tuple[str, ...]:
    if search_path:
        return tuple(sorted({*hydra_adapter.group_options(group, search_path), *plugin_names(group)}))
    return tuple(sorted({*_own_choices(group), *plugin_names(group)}))


def plugin_names(group: str) -> Collection[str]:
    """Names that other distributions add to a group."""
    return plugins.entry_points(group) if group in plugins.GROUPS else ()


def describe(group: str, search_path: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the name of each choice in a group, and the first line of its comment."""
    folders = [_conf(), *map(Path, _folders(search_path))]
    described = []
    for name in choices(group, search_path):
        if name in plugin_names(group):
            described.append((name, plugins.describe(group, name, _own_choices(group))))
            continue
        # the choices of the package come first, as on Hydra's search path
        file = next(path for folder in folders if (path := folder / group / f"{name}.yaml").is_file())
        lines = file.read_text(encoding="utf-8").splitlines()
        comments = [line.lstrip("# ") for line in lines if line.startswith("#") and "@package" not in line]
        described.append((name, comments[0] if comments else ""))
    return described


@cache
def figure_styles() -> dict[str, dict[str, Any]]:
    """Title, colour, marker and dashes of samplers in figures: the line ``# figures: {...}`` of their files."""
    style_by_name = {}
    for name in choices("sampler"):
        if name in plugin_names("sampler"):
            continue
        text = (_conf() / "sampler" / f"{name}.yaml").read_text(encoding="utf-8")
        if line := re.search(r"^# figures: (.*)", text, re.MULTILINE):
            style_by_name[name] = yaml.safe_load(line[1])
    return style_by_name


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
            # Hydra, which takes long to list them, lists only the choices of the search path
            if name not in _choices(group, ()) and name not in _choices(group, tuple(search_path)):
                raise errors.ConfigError(errors.unknown_choice(group, errors.show(name), choices(group, search_path)))
            check_importable(group, name)
    with suppress(_ForHydra):
        return _lay(dict(named), search_path)
    words = [f"{group}={'null' if name is None else name}" for group, name in named.items()]
    try:
        raw = hydra_adapter.compose(words, search_path)
        values, chosen = plain(raw, resolve=False), dict(raw.hydra.runtime.choices)
    except Exception as error:  # Hydra raises all kinds on a file that is no configuration
        received.reject_machine_error(error, " ".join(words))
        raise errors.ConfigError(hydra_adapter.explain(error, words)) from error
    return _over_classes(values, chosen, search_path)


def choice(group: str, name: str, search_path: Sequence[str] = ()) -> dict[str, Any]:
    """The options of one choice as its file gives them, interpolations unresolved, without those that its group shares
    (`shared_options`); a `ConfigError` of a choice that the group does not have."""
    return unshared_options(group, _options(group, name, tuple(search_path)))


@cache
def _options(group: str, name: str, search_path: tuple[str, ...]) -> dict[str, Any]:
    options: dict[str, Any] = compose_choices({group: name}, search_path).values[group]
    if isinstance(target := options.get("_target_"), str):
        named_targets.add(target)
    return options


def _lay(overridden: dict[str, Any], search_path: Sequence[str]) -> Layers:
    main = main_values()
    chosen_by_default = (entry for entry in main["defaults"] if not isinstance(entry, str))
    defaults = {group: name for entry in chosen_by_default for group, name in entry.items()}
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
    """Return the layers of all files, with model and sampler laid over the defaults of their classes."""
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
    import_beside(search_path)
    named_targets.add(target)
    try:
        options = getattr(locate(target), "OPTIONS", ())
    except errors.ConfigError:
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
    if name in plugin_names(group):
        return _File(False, [], plugins.configuration(group, name))
    if (packaged := _read_packaged(group, name, search_path)) is not None:
        return packaged
    files = (Path(folder) / group / f"{name}.yaml" for folder in _folders(search_path))
    if (file := next(filter(Path.is_file, files), None)) is not None:
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
        received.reject_machine_error(error, "the configuration")
        raise _ForHydra from error
    if not isinstance(node, DictConfig):
        raise _ForHydra
    values = plain(node, resolve=False)
    package = _PACKAGE.match(text)
    if package is not None and package[1] != "_global_":
        raise _ForHydra
    if not isinstance(defaults := values.pop("defaults", []), list):
        raise _ForHydra
    return _File(package is not None, defaults, values)


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
        offered = [f"{key}={name}" for name in choices(key)] if key in ORDER else []
    else:
        offered = [f"{name}=" for name in schema.known_keys(compose_choices({}).values)]
    return [candidate for candidate in offered if candidate.startswith(incomplete)]
