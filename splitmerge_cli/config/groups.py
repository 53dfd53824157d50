"""Choices that the groups offer: their names, what describes them, the code that they name, and what is wrong with
those that there are not.
"""

import importlib
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from splitmerge_cli import plugins
from splitmerge_cli.config import hydra_adapter
from splitmerge_cli.config.errors import ConfigError, show
from splitmerge_cli.config.schema import SHARED

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
        raise ConfigError(f"--config-dir {config_dir}: no such folder")
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


def import_beside(search_path: Iterable[str]) -> None:
    """Let a user's modules be imported from the folder of the configurations that name them."""
    for folder in (place.removeprefix("file://") for place in search_path if place.startswith("file://")):
        if folder not in sys.path:
            sys.path.append(folder)


named_targets: set[str] = set()
"""Targets that the chosen files of the package and of ``--config-dir`` name; filled by `splitmerge_cli.config.layers`,
which reads these files."""


def locate(path: Any) -> Any:
    """The class or function that ``_target_`` names, the one place where a name of a configuration becomes code; a
    `ConfigError` if no chosen file names it, or it cannot be imported.

    Only what a chosen file names is imported, of the package or of the folder that ``--config-dir`` gave: whatever a
    stored or received configuration says, nothing else is.
    """
    _check_dotted(path)
    if path not in named_targets:
        raise ConfigError(
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
        raise ConfigError(f"_target_={path}: cannot be imported: {error}") from error


def _check_dotted(path: Any) -> None:
    if not isinstance(path, str) or not all(part.isidentifier() for part in path.split(".")) or "." not in path:
        raise ConfigError(f"_target_={show(path)}: expected MODULE.NAME of a class or function")


def target_of(group: str, name: str, path: Any) -> Any:
    """Return the class or function that the ``_target_`` of a choice names, checked to be of use to its group."""
    try:
        target = locate(path)
    except ConfigError as error:
        raise ConfigError(f"{group}={name}: {error}") from error
    if not callable(target) or not all(hasattr(target, attribute) for attribute in REQUIRED[group]):
        expected = "a function that returns a Dataset" if group == "data" else f"a subclass of {group.title()}"
        raise ConfigError(f"{group}={name}: _target_={path}: expected {expected}")
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
    """The packaged ``config.yaml``."""
    loaded = OmegaConf.create((_conf() / "config.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, DictConfig)
    return plain(loaded, resolve=False)


def unshared_options(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a choice without those that all choices of its group have."""
    return {key: value for key, value in options.items() if key not in SHARED.get(group, {})}


def shared_options(group: str) -> dict[str, Any]:
    """Return the options that all choices of a group have, with their defaults."""
    return {key: main_values()[group][key] for key in SHARED.get(group, {})}


MISSING = "???"
"""Value of an option that has no default."""
NOT_OFFERED = {"data": ("given",), "sampler": ("auto",)}
"""Choices that are none of their own: what the program makes itself, and what stands for another choice."""


def choices(group: str, search_path: Sequence[str] = ()) -> list[str]:
    """Names that a group offers: ``choices("sampler")``."""
    return [name for name in _choices(group, tuple(search_path)) if name not in NOT_OFFERED.get(group, ())]


def is_choice(group: str, name: Any, search_path: Sequence[str] = ()) -> bool:
    """Whether a group has a choice of this name, offered or not."""
    # Hydra, which takes long to list them, lists only the choices of the search path
    return name in _choices(group, ()) or name in _choices(group, tuple(search_path))


def check_importable(group: str, name: str) -> None:
    """Raise a `ConfigError` if a choice is one of another distribution that cannot be used."""
    if name in plugin_names(group):
        try:
            plugins.check_name(group, name, _own_choices(group))
            plugins.load(group, name)
        except plugins.PluginError as error:
            raise ConfigError(str(error)) from error


def usable_choices(group: str) -> list[str]:
    """Names that a group offers, without unusable ones of other distributions."""
    usable = []
    for name in choices(group):
        with suppress(ConfigError):
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
    folders = [_conf(), *(Path(place.removeprefix("file://")) for place in search_path if place.startswith("file://"))]
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
