"""Samplers, models, priors, kinds of data and papers of other distributions, found by their entry points.

A distribution that has in its ``pyproject.toml``

    [project.entry-points."smcmc.samplers"]
    swap = "my_moves:Swap"

adds ``sampler=swap`` to every command, as soon as it is installed. A class says itself what its options are
(``OPTIONS``), so that it needs no file of configuration. Modules are imported when their group is used. What cannot be
used is no choice, and whoever names it learns why; commands that do not name it go on without it.
"""

import inspect
import os
import pkgutil
import sysconfig
import traceback
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, TypeVar

from splitmerge_cli.core import interrupt
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
BASES = {
    "sampler": ("splitmerge_cli.core.sampler", "Sampler"),
    "model": ("splitmerge_cli.core.model", "Model"),
    "prior": ("splitmerge_cli.core.prior", "Prior"),
    "kind": ("splitmerge_cli.data.dataset", "Kind"),
}
"""Module and name of the class that the classes of a group build on."""
NAMES = {"prior": "NAME", "kind": "name"}
"""The attribute that names a class, in the groups whose own classes are found in a package."""

_T = TypeVar("_T")


class PluginError(DataError):
    """An installed distribution adds something that cannot be used; the message names the distribution."""


class ForeignError(Exception):
    """Code that is not part of the program failed; the message is one line."""


def run_foreign(call: Callable[[], _T]) -> _T:
    """Call code that is not part of the program, such as the import of a module. A `ForeignError`: whatever it raised,
    and where it asked Python to exit; an interruption and a lack of memory are not its fault, and stay what they are.
    """
    try:
        return call()
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        # a library may turn an interruption into an error of its own
        if interrupt.has_signal():
            raise
        message = " ".join(str(error).split()) or type(error).__name__
        raise ForeignError(f"it exits ({message})" if isinstance(error, SystemExit) else message) from error


def find_foreign(error: BaseException) -> str:
    """Describe an error in a file that neither the program nor an installed distribution has, such as a sampler of the
    user's own, with file and line; any other error is an empty text."""
    installed = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")]
    ours = tuple(f"{Path(place).resolve()}{os.sep}" for place in (str(Path(__file__).parent), *installed))
    frames = traceback.extract_tb(error.__traceback__)
    own = [at for at in frames if os.path.isabs(at.filename) and not str(Path(at.filename).resolve()).startswith(ours)]
    said = f"{type(error).__name__}: {error}"
    return f"{own[-1].filename}, line {own[-1].lineno}, in {own[-1].name}: {said}" if own else ""


@cache
def entry_points(group: str) -> Mapping[str, Any]:
    """Entry points of a group (a key of `GROUPS`), by name; where two distributions add one name, either of them."""
    point_by_name = {point.name: point for point in metadata.entry_points(group=GROUPS[group])}
    return {name: point_by_name[name] for name in sorted(point_by_name)}


def distribution(point: Any) -> str:
    """The name of the distribution that an entry point belongs to."""
    return str(point.dist.name)


def check_name(group: str, name: str, own_names: Container[str]) -> None:
    """Raise a `PluginError` where a distribution adds a name that the package has (`own_names`, its names of the
    group)."""
    if name in own_names and (point := entry_points(group).get(name)) is not None:
        raise PluginError(
            f"{group}={name}: smcmc has one of this name, and {distribution(point)} adds another; expected another "
            f"name: pip uninstall {distribution(point)}"
        )


def load(group: str, name: str) -> Any:
    """Import what an entry point names. Raises `PluginError` (it cannot be imported, or is not what its group holds; or
    two distributions add the name)."""
    loaded = _attempt(group, name)
    if isinstance(loaded, PluginError):
        raise loaded
    return loaded


@cache
def _attempt(group: str, name: str) -> Any:
    """The object that an entry point names; or the error, so that a module that fails is imported once."""
    point = entry_points(group)[name]
    same = [one for one in metadata.entry_points(group=GROUPS[group]) if one.name == name]
    if len({one.value for one in same}) > 1:
        names = " and ".join(sorted(map(distribution, same)))
        return PluginError(f"{group}={name}: {names} both have one; expected one of them: pip uninstall NAME")
    called = f"{group}={name}: {point.value} of {distribution(point)}"
    try:
        loaded = run_foreign(point.load)
    except ForeignError as error:
        return PluginError(f"{called} cannot be imported: {error}")
    try:
        expected = run_foreign(lambda: _find_expected(group, name, loaded))
    except ForeignError as error:
        return PluginError(f"{called} cannot be used: {error}")
    return PluginError(f"{called}: expected {expected}") if expected else loaded


def _find_expected(group: str, name: str, loaded: Any) -> str:
    """Description of what an entry point should name in place of `loaded`; empty if that will do."""
    if group == "paper":
        return "" if getattr(loaded, "__path__", None) else "a package with a module paper.py"
    module, base = BASES[group]
    if not isinstance(loaded, type) or not issubclass(loaded, getattr(import_module(module), base)):
        return f"a subclass of {base}"
    options: Any = getattr(loaded, "OPTIONS", ())
    if not isinstance(options, tuple) or not all(isinstance(option, Option) for option in options):
        return "its OPTIONS to be a tuple of options (splitmerge_cli.core.options)"
    if group == "kind":
        loaded()
    if group == "model":
        import_module("splitmerge_cli.data.dataset").get_kind(getattr(loaded, "kind", None))
    key = NAMES.get(group)
    return f"its {key} to be '{name}', as its entry point" if key and getattr(loaded, key) != name else ""


def load_classes(group: str) -> dict[str, type]:
    """Import the classes of a group, by name, but those that cannot be used: `load` says why to whoever names one."""
    class_by_name: dict[str, type] = {}
    for name in entry_points(group):
        with suppress(PluginError):
            class_by_name[name] = load(group, name)
    return class_by_name


@cache
def find_own(group: str, package: str, folders: tuple[str, ...]) -> dict[str, type]:
    """Import the classes of a group in the modules of a package, by name; those without a name are bases of others, or
    a model's own."""
    base = getattr(import_module(BASES[group][0]), BASES[group][1])
    class_by_name: dict[str, type] = {}
    for entry in pkgutil.iter_modules(folders):
        module = import_module(f"{package}.{entry.name}")
        classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)]
        for cls in (cls for cls in classes if cls.__module__ == module.__name__):
            name = getattr(cls, NAMES[group])
            if name and (other := class_by_name.setdefault(name, cls)) is not cls:
                raise ValueError(f"{group}s {other.__module__} and {cls.__module__} are both called {name}")
    return class_by_name


def configuration(group: str, name: str) -> dict[str, Any]:
    """Name and target of a sampler or model, as a file of ``conf`` has them. Raises `PluginError` (as for `load`)."""
    cls = load(group, name)
    return {"name": name, "_target_": f"{cls.__module__}.{cls.__qualname__}"}


def describe(group: str, name: str, own_names: Container[str] = ()) -> str:
    """The first line of what a class says of itself, and where it comes from; or why it cannot be used."""
    point = entry_points(group)[name]
    try:
        check_name(group, name, own_names)
        doc_lines = (inspect.getdoc(load(group, name)) or "").splitlines()
    except PluginError as error:
        return str(error)
    first = doc_lines[0].rstrip(".") if doc_lines else "no description"
    return f"{first} (of {distribution(point)} {point.dist.version})"
