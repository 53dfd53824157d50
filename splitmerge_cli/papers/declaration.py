"""How figures are declared: the figures of a paper, with its citation, and comparisons across papers; which there are.

A paper is a folder with ``paper.py``, which says ``PAPER = Paper(...)``, ``claims.csv`` and ``errata.csv``, modules
that draw its figures, and ``experiment/NAME.yaml`` for the runs of each (the first five papers have theirs in
``conf/experiment``). A folder within the package, or one that ``--config-dir`` gives, is a paper where it holds
``paper.py``, and a comparison across papers where it holds ``comparison.py``. No list names them, so that another one
touches no file of those that are there. Nothing else is imported, whatever a folder of results says."""

import hashlib
import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import splitmerge_cli.papers
from splitmerge_cli import plugins
from splitmerge_cli.config import ConfigError, import_beside, places
from splitmerge_cli.overrides import suggest


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table that can be reproduced. Its title is the first comment of the experiment's file."""

    id: str
    """The key of the paper, a hyphen and the name: ``sdds-fig3``; of a comparison the name alone."""
    caption: str
    """Names the quantities that are drawn, and how the paper was read."""
    draw: str | Callable[[Any], Any]
    """The function that takes the runs of the experiment (or, for an exact figure, its computed table) and returns a
    `splitmerge_cli.papers.drawing.Drawing`; or its name, ``MODULE.FUNCTION`` in the paper's folder, which is then
    imported when the figure is drawn. Beside it the module may have ``picture_FUNCTION``, which takes what the figure
    plots, ``ID.csv``, and returns the `matplotlib.figure.Figure`: kept figures are drawn with it."""
    compute: str | Callable[..., Any] | None = None
    """Exact figures: the function that returns the table, or its name. It takes what it names of the experiment's run,
    such as `model` and `samplers`; any other argument is the whole specification. None: drawn from runs."""
    shows: str = ""
    """The kind of chart and its axes, for readers who do not see the picture."""
    differs: Mapping[str, str] = field(default_factory=dict)
    """In which axes and series the picture differs from the paper's figure, each with the reason."""

    @property
    def difference(self) -> str:
        """str: in what it differs from the paper's figure and why, as a sentence; empty where it does not."""
        listed = "; ".join(f"{what} ({why})" for what, why in self.differs.items())
        return f"Unlike the paper: {listed}." if listed else ""

    @property
    def whole_caption(self) -> str:
        """str: the caption, and in what the picture differs from the paper's figure."""
        return f"{self.caption} {self.difference}".strip()


@dataclass(frozen=True, kw_only=True)
class FigureSet:
    """A folder of figures.

    `key` is the name of its folder within the package; `package`, the name under which the modules of its folder are
    imported, and `folder`, where its files are, are set when it is found.
    """

    key: str
    title: str
    figures: tuple[PaperFigure, ...]
    package: str = ""
    folder: Path = Path()

    @property
    def name(self) -> str:
        """Name in lists: the title."""
        return self.title

    @property
    def citation(self) -> str:
        """Heading above the figures: the title."""
        return self.title


@dataclass(frozen=True, kw_only=True)
class Comparison(FigureSet):
    """Figures of our own across papers: no claims, no errata.

    The module that declares it is ``comparison.py``, with ``COMPARISON = Comparison(...)``.
    """

    @property
    def name(self) -> str:
        """Name in lists."""
        return "across papers"


@dataclass(frozen=True, kw_only=True)
class Paper(FigureSet):
    """A paper, and what is reproduced of it; the ids of its figures begin with its `key`. `authors`: ``Family, Given``
    of each; `venue`: or an identifier."""

    authors: tuple[str, ...]
    year: int
    venue: str

    @property
    def name(self) -> str:
        """First author and year: ``Wang & Russell 2015``, ``Herlau et al. 2014``."""
        families = [author.partition(",")[0] for author in self.authors]
        who = " & ".join(families) if len(families) < 3 else f"{families[0]} et al."
        return f"{who} {self.year}"

    @property
    def citation(self) -> str:
        """All authors, year, title and venue."""
        families = [author.partition(",")[0] for author in self.authors]
        who = " & ".join([", ".join(families[:-1]), families[-1]] if len(families) > 1 else families)
        return f"{who} {self.year}: {self.title} ({self.venue})"


DECLARATIONS: dict[str, type[FigureSet]] = {"paper": Paper, "comparison": Comparison}
"""The modules that declare figures, and what each says under its name in capitals."""

_outside: dict[str, FigureSet] = {}
"""Papers and comparisons of folders outside the package that this process has read, by key."""


def papers() -> list[Paper]:
    """The papers of the package, by key."""
    return [each for each in figure_sets() if isinstance(each, Paper)]


def comparisons() -> list[Comparison]:
    """The comparisons across papers of the package, by key."""
    return [each for each in figure_sets() if isinstance(each, Comparison)]


def figure_sets(config_dir: str | Path | None = None) -> list[FigureSet]:
    """The papers and the comparisons, by key, with the one that a user's folder holds; a `ConfigError` if there is no
    such folder, or a declaration cannot be imported, or declares nothing, or what is there already."""
    set_by_key = {each.key: each for each in _find_packaged(tuple(splitmerge_cli.papers.__path__))[0]}
    folders = places(config_dir)
    if config_dir is not None and (file := _declaration(Path(config_dir).resolve())) is not None:
        import_beside(folders)
        declared = _own(file)
        if declared.key in set_by_key:
            raise ConfigError(f"{file}: key={declared.key}: expected a key that no other paper has")
        set_by_key[declared.key] = _outside[declared.key] = declared
    return [set_by_key[key] for key in sorted(set_by_key)]


def _declaration(folder: Path) -> Path | None:
    """The module that declares the figures of a folder, if there is one."""
    return next((file for name in DECLARATIONS if (file := folder / f"{name}.py").is_file()), None)


@cache
def _find_packaged(places: tuple[str, ...]) -> tuple[list[FigureSet], dict[str, str]]:
    """The papers and comparisons of the package, whose folders are in `places`, and papers that distributions add; and
    by name why some of these cannot be used."""
    names = [module.name for module in pkgutil.iter_modules(places) if module.ispkg]
    declared = [
        _read_declaration(importlib.import_module(f"{splitmerge_cli.papers.__name__}.{name}")) for name in names
    ]
    for name, each in zip(names, declared, strict=True):
        if each.key != name:
            raise ConfigError(f"{_declaration(each.folder)}: key={each.key}: expected {name}, the name of the folder")
    reason_by_name = {}
    for name in plugins.entry_points("paper"):
        try:
            plugins.check_name("paper", name, names)
            added = _read_declaration(plugins.load("paper", name))
            if added.key != name:
                raise ConfigError(f"{_declaration(added.folder)}: key={added.key}: expected {name}, its entry point")
            declared.append(added)
        except (ConfigError, plugins.PluginError) as error:
            reason_by_name[name] = str(error)
    return declared, reason_by_name


def unusable() -> dict[str, str]:
    """Papers of other distributions that cannot be used, and why."""
    return _find_packaged(tuple(splitmerge_cli.papers.__path__))[1]


@cache
def _own(file: Path) -> FigureSet:
    """Read the declaration of a file outside the package."""
    # a package by path: its modules neither hide others of their names nor are hidden
    name = f"_paper_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    found = ModuleSpec(name, None, is_package=True)
    found.submodule_search_locations = [str(file.parent)]
    package = sys.modules[name] = module_from_spec(found)
    return _read_declaration(package)


def _read_declaration(package: ModuleType) -> FigureSet:
    """Return the declaration of a package, checked."""
    folder = Path(next(iter(package.__path__)))
    file = _declaration(folder)
    if file is None:
        raise ConfigError(f"{folder}: declares no figures; expected {' or '.join(f'{n}.py' for n in DECLARATIONS)}")
    kind, name = DECLARATIONS[file.stem], file.stem.upper()
    try:
        declared = plugins.run_foreign(
            lambda: getattr(importlib.import_module(f"{package.__name__}.{file.stem}"), name)
        )
    except plugins.ForeignError as error:
        raise ConfigError(f"{file}: cannot be imported: {error}") from error
    if not isinstance(declared, kind):
        raise ConfigError(
            f"{file}: {name}={declared!r}: expected a {kind.__name__} of splitmerge_cli.papers.declaration"
        )
    for figure in declared.figures if kind is Paper else ():
        if not figure.id.startswith(f"{declared.key}-"):
            raise ConfigError(f"{file}: {figure.id}: expected an id that begins with {declared.key}-, the paper's key")
    return replace(declared, package=package.__name__, folder=folder)


def set_of(figure: str) -> FigureSet | None:
    """Return the paper or comparison that a figure belongs to, of the package or a folder that was read, or None."""
    known = {**_outside, **{each.key: each for each in figure_sets()}}
    named = known.get(figure.partition("-")[0])
    return named or next((each for each in known.values() if figure in {member.id for member in each.figures}), None)


def paper_of(figure: str) -> Paper | None:
    """The paper of a figure, from its id; None if it is none of a paper."""
    owner = set_of(figure)
    return owner if isinstance(owner, Paper) else None


def figures(config_dir: str | Path | None = None) -> dict[str, PaperFigure]:
    """Every figure and table by its id, in the order of the ids; parameters and errors as for `figure_sets`."""
    figure_by_id = {figure.id: figure for each in figure_sets(config_dir) for figure in each.figures}
    return {name: figure_by_id[name] for name in sorted(figure_by_id)}


def paper_names(config_dir: str | Path | None = None) -> dict[str, str]:
    """The name of the paper, or comparison, of every figure, by its id; parameters and errors as for `figure_sets`."""
    return {figure.id: each.name for each in figure_sets(config_dir) for figure in each.figures}


def function_of(figure: PaperFigure, named: str | Callable[..., Any]) -> Callable[..., Any]:
    """The function that draws or computes a figure, imported where it is named."""
    if not isinstance(named, str):
        return named
    owner = set_of(figure.id)
    assert owner is not None
    module, _, name = named.rpartition(".")
    try:
        function: Callable[..., Any] = plugins.run_foreign(
            lambda: getattr(importlib.import_module(f"{owner.package}.{module}"), name)
        )
    except plugins.ForeignError as error:
        raise ConfigError(f"{_declaration(owner.folder)}: {figure.id}: {named}: {error}") from error
    return function


def select(names: Sequence[str], config_dir: str | Path | None = None) -> list[str]:
    """Ids that `names` ask for: ids, papers (``sdds``) or ``comparisons``, or ``all``; a `ConfigError` of any other
    name, or as for `figure_sets`."""
    keys = {figure.id: each.key for each in figure_sets(config_dir) for figure in each.figures}
    known = list(figures(config_dir))
    chosen: list[str] = []
    for name in names:
        matching = [i for i in known if name in ("all", i, keys[i])]
        if not matching:
            if (why := unusable().get(name.partition("-")[0])) is not None:
                raise ConfigError(why)
            if "/" in name:
                raise ConfigError(f"{name}: no such folder; expected a folder of runs or a figure (smcmc list figures)")
            sets, hint = ", ".join(dict.fromkeys(keys[i] for i in known)), suggest(name, known, 0.5)
            raise ConfigError(f"{name}: no such figure; expected all, {sets}, or one of {', '.join(known)}{hint}")
        chosen += matching
    return list(dict.fromkeys(chosen))
