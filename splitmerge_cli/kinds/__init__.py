"""Kinds of data, a folder each, found automatically; a model names the one that it reads by its ``kind``.

A kind is a subclass of `Kind` with a ``name``, in a package of this one: a folder here, or in a folder that was added
to this package's ``__path__``; or a class that an installed distribution names (`splitmerge_cli.plugins`).
"""

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
        plugins.check_name("kind", name, plugins.find_own("kind", __name__, tuple(__path__)))
        plugins.load("kind", name)
    if (kind := kinds().get(name)) is None:
        raise DataError(f"kind={name}: expected one of {', '.join(kinds())}")
    return kind


@cache
def _find_kinds(folders: tuple[str, ...]) -> dict[str, Kind]:
    class_by_name = plugins.load_classes("kind") | plugins.find_own("kind", __name__, folders)
    return {name: cls() for name, cls in sorted(class_by_name.items())}
