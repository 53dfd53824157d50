"""Kinds of data, a folder each, found automatically; a model names the one that it reads by its ``kind``.

A kind is a subclass of `Kind` with a ``name``, in a package of this one: a folder here, or in a folder that was added
to this package's ``__path__``; or a class that an installed distribution names (`splitmerge_cli.plugins`).
"""

import importlib
import pkgutil
from functools import cache

from splitmerge_cli import plugins
from splitmerge_cli.data.dataset import Kind as Kind
from splitmerge_cli.received import DataError


def kinds() -> dict[str, Kind]:
    """Return every kind of data, by its name."""
    return _find_kinds(tuple(__path__))


def get_kind(name: Kind | str) -> Kind:
    """The kind of data of this name, or a kind as it is; a `DataError` for an unknown name, or a kind of another
    distribution that cannot be used.
    """
    if isinstance(name, Kind):
        return name
    if name in plugins.entry_points("kind"):
        plugins.check_name("kind", name, _find_own(tuple(__path__)))
        plugins.load("kind", name)
    if (kind := kinds().get(name)) is None:
        raise DataError(f"kind={name}: expected one of {', '.join(kinds())}")
    return kind


@cache
def _find_kinds(folders: tuple[str, ...]) -> dict[str, Kind]:
    kind_by_name = {name: cls() for name, cls in plugins.load_classes("kind").items()} | _find_own(folders)
    return {name: kind_by_name[name] for name in sorted(kind_by_name)}


@cache
def _find_own(folders: tuple[str, ...]) -> dict[str, Kind]:
    kind_by_name: dict[str, Kind] = {}
    for entry in pkgutil.iter_modules(folders):
        module = importlib.import_module(f"{__name__}.{entry.name}")
        for value in vars(module).values():
            # one without a name is a base of others
            if (
                isinstance(value, type)
                and issubclass(value, Kind)
                and value.__module__ == module.__name__
                and value.name
            ):
                if value.name in kind_by_name:
                    other = type(kind_by_name[value.name]).__module__
                    raise ValueError(f"kinds {other} and {value.__module__} are both called {value.name}")
                kind_by_name[value.name] = value()
    return kind_by_name
