"""Samplers, models, priors, kinds of data and papers of other distributions, found by their entry points.

A distribution that has in its ``pyproject.toml``

    [project.entry-points."smcmc.samplers"]
    swap = "my_moves:Swap"

adds ``sampler=swap`` to every command, as soon as it is installed. A class says itself what its options are
(``OPTIONS``), so that it needs no file of configuration. Modules are imported when their group is used.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from splitmerge_cli.core.options import Option
from splitmerge_cli.received import DataError

GROUPS = {
    "sampler": "smcmc.samplers",
    "model": "smcmc.models",
    "prior": "smcmc.priors",
    "kind": "smcmc.kinds",
    "paper": "smcmc.papers",
}
"""Groups of entry points, by what a distribution adds."""


class PluginError(DataError):
    """An installed distribution adds something that cannot be used; the message names the distribution."""


@cache
def entry_points(group: str) -> Mapping[str, Any]:
    """Entry points of a group (a key of `GROUPS`), by name.

    Raises
    ------
    PluginError
        Two distributions add one name.
    """
    from importlib import metadata  # a hundredth of a second, of which a run that reads no name of a choice needs none

    found: dict[str, Any] = {}
    for point in metadata.entry_points(group=GROUPS[group]):
        if (other := found.get(point.name)) is not None and other.value != point.value:
            names = " and ".join(sorted(distribution(each) for each in (other, point)))
            raise PluginError(f"{group}={point.name}: {names} both have one; expected one of them: pip uninstall NAME")
        found[point.name] = point
    return {name: found[name] for name in sorted(found)}


def distribution(point: Any) -> str:
    """The name of the distribution that an entry point belongs to."""
    return str(point.dist.name)


def check_names(group: str, own: Any) -> None:
    """Raise a `PluginError` where a distribution adds a name that the package has (`own`, a container of names)."""
    for name, point in entry_points(group).items():
        if name in own:
            raise PluginError(
                f"{group}={name}: smcmc has one of this name, and {distribution(point)} adds another; expected another "
                f"name: pip uninstall {distribution(point)}"
            )


@cache
def load(group: str, name: str) -> Any:
    """Import what an entry point names.

    Raises
    ------
    PluginError
        It cannot be imported.
    """
    point = entry_points(group)[name]
    try:
        return point.load()
    except Exception as error:  # a module of somebody else's may raise anything
        said = " ".join(str(error).split()) or type(error).__name__
        raise PluginError(
            f"{group}={name}: {point.value} of {distribution(point)} cannot be imported: {said}"
        ) from error


def load_classes(group: str, base: type) -> dict[str, type]:
    """Import the classes of a group, by name, but those that cannot be imported: `load` says why to whoever names one.

    Raises
    ------
    PluginError
        One is no subclass of `base`.
    """
    found: dict[str, type] = {}
    for name, point in entry_points(group).items():
        with suppress(PluginError):
            found[name] = load(group, name)
        cls = found.get(name, base)
        if not isinstance(cls, type) or not issubclass(cls, base):
            raise PluginError(
                f"{group}={name}: {point.value} of {distribution(point)}: expected a subclass of {base.__name__}"
            )
    return found


def configuration(group: str, name: str) -> dict[str, Any]:
    """The options of a sampler or model as a file of ``conf`` would have them: name, target, and each option's default.

    Raises
    ------
    PluginError
        It cannot be imported.
    """
    cls = load(group, name)
    options: tuple[Option, ...] = getattr(cls, "OPTIONS", ())
    target = f"{cls.__module__}.{cls.__qualname__}"
    return {"name": name, "_target_": target} | {option.name: _plain(option.default) for option in options}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def describe(group: str, name: str) -> str:
    """The first line of what a class says of itself, and where it comes from; or why it cannot be imported."""
    import inspect

    point = entry_points(group)[name]
    try:
        said = (inspect.getdoc(load(group, name)) or "").splitlines()
    except PluginError as error:
        return str(error)
    first = said[0].rstrip(".") if said else "no description"
    return f"{first} (of {distribution(point)} {point.dist.version})"
