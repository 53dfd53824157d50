"""Where a name of a configuration becomes code."""

import importlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from splitmerge_cli import plugins
from splitmerge_cli.config.errors import ConfigError, show

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
