"""Which papers there are: the sub-packages of `splitmerge_cli.papers`, and a folder that the user names.

A folder within the package, or one that ``--config-dir`` gives, is a paper where it holds ``paper.py``. No list names
them, so that another paper touches no file of those that are there. Nothing else is imported, whatever a folder of
results says.
"""

import difflib
import hashlib
import importlib
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import splitmerge_cli.papers
from splitmerge_cli.config import ConfigError, import_beside, places
from splitmerge_cli.papers.declaration import Paper, PaperFigure

DECLARATION = "paper.py"

_outside: dict[str, Paper] = {}
"""Papers of folders outside the package that this process has read, by key."""


def papers(config_dir: str | Path | None = None) -> list[Paper]:
    """The papers, by key.

    Parameters
    ----------
    config_dir : str or Path, optional
        A folder of the user's own, which may be a paper.

    Raises
    ------
    ConfigError
        There is no such folder; or the ``paper.py`` of a folder cannot be imported, or declares no paper, or one that
        is there already.
    """
    found = {paper.key: paper for paper in _packaged(tuple(splitmerge_cli.papers.__path__))}
    beside = places(config_dir)
    if config_dir is not None and (file := Path(config_dir).resolve() / DECLARATION).is_file():
        import_beside(beside)
        own = _own(file)
        if own.key in found:
            raise ConfigError(f"{file}: key={own.key}: expected a key that no other paper has")
        found[own.key] = _outside[own.key] = own
    return [found[key] for key in sorted(found)]


@cache
def _packaged(places: tuple[str, ...]) -> list[Paper]:
    """The papers of the package, whose folders are in `places`."""
    names = [module.name for module in pkgutil.iter_modules(places) if module.ispkg]
    found = [_declared(importlib.import_module(f"{splitmerge_cli.papers.__name__}.{name}")) for name in names]
    for name, paper in zip(names, found, strict=True):
        if paper.key != name:
            raise ConfigError(f"{paper.folder / DECLARATION}: key={paper.key}: expected {name}, the name of the folder")
    return found


@cache
def _own(file: Path) -> Paper:
    """The paper that a file outside the package declares."""
    # a package by path: its modules neither hide others of their names nor are hidden
    name = f"_paper_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(file.parent)]
    package = sys.modules[name] = module_from_spec(spec)
    return _declared(package)


def _declared(package: ModuleType) -> Paper:
    """The paper that a package declares, checked."""
    folder = Path(next(iter(package.__path__)))
    file = folder / DECLARATION
    try:
        paper = importlib.import_module(f"{package.__name__}.paper").PAPER
    except Exception as error:  # a module of the user's own may raise anything
        raise ConfigError(f"{file}: cannot be imported: {' '.join(str(error).split())}") from error
    if not isinstance(paper, Paper):
        raise ConfigError(f"{file}: PAPER={paper!r}: expected a Paper of splitmerge_cli.papers.declaration")
    for figure in paper.figures:
        if not figure.id.startswith(f"{paper.key}-"):
            raise ConfigError(f"{file}: {figure.id}: expected an id that begins with {paper.key}-, the paper's key")
    return replace(paper, package=package.__name__, folder=folder)


def paper_of(figure: str) -> Paper | None:
    """The paper of a figure, from its id: one of the package, or of a folder that was read; None if there is none."""
    key = figure.partition("-")[0]
    return next((paper for paper in papers() if paper.key == key), _outside.get(key))


def figures(config_dir: str | Path | None = None) -> dict[str, PaperFigure]:
    """Every figure and table by its id, in the order of the ids; parameters and errors as for `papers`."""
    found = {figure.id: figure for paper in papers(config_dir) for figure in paper.figures}
    return {name: found[name] for name in sorted(found)}


def paper_names(config_dir: str | Path | None = None) -> dict[str, str]:
    """The name of the paper of every figure, by its id; parameters and errors as for `papers`."""
    return {figure.id: paper.name for paper in papers(config_dir) for figure in paper.figures}


def function_of(figure: PaperFigure, named: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that draws or computes a figure, imported where it is named."""
    if not isinstance(named, str):
        return named
    paper = paper_of(figure.id)
    assert paper is not None
    module, _, name = named.rpartition(".")
    try:
        function: Callable[[Any], Any] = getattr(importlib.import_module(f"{paper.package}.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{paper.folder / DECLARATION}: {figure.id}: {named}: {error}") from error
    return function


def select(names: Sequence[str], config_dir: str | Path | None = None) -> list[str]:
    """Ids that `names` ask for: ids, papers (``sdds``), or ``all``.

    Raises
    ------
    ConfigError
        A name that is none of these; or as for `papers`.
    """
    known = list(figures(config_dir))
    chosen: list[str] = []
    for name in names:
        found = [i for i in known if name in ("all", i, i.partition("-")[0])]
        if not found:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]}?" if near else ""
            keys = ", ".join(dict.fromkeys(i.partition("-")[0] for i in known))
            raise ConfigError(f"{name}: no such figure; expected all, {keys}, or one of {', '.join(known)}.{hint}")
        chosen += found
    return list(dict.fromkeys(chosen))
