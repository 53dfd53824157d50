"""Priors of partitions, one file each, found automatically; ``model.prior=NAME`` chooses one for any mixture.

A prior is a subclass of `Prior` or `TablePrior` with a ``NAME``, in a module of this package, compiled or not: a file
in this folder, or in one that was added to this package's ``__path__``; or a class that an installed distribution names
(`splitmerge_cli.plugins`).
"""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from splitmerge_cli import plugins
from splitmerge_cli.core.options import Option, OutOfRange, PositiveOrGamma, read_options
from splitmerge_cli.core.prior import Prior

_SPECIFICATION = re.compile(r"\s*(\w+)\s*(?:\(\s*(.*?)\s*\))?\s*")


def priors() -> dict[str, type[Prior]]:
    """Every prior of mixtures, by its name."""
    prior_by_name = plugins.load_classes("prior") | plugins.find_own("prior", __name__, tuple(__path__))
    return dict(sorted(prior_by_name.items()))


def _check_usable(name: str) -> None:
    """Raise a `PluginError` where a prior is one of another distribution that cannot be used."""
    if name in plugins.entry_points("prior"):
        plugins.check_name("prior", name, plugins.find_own("prior", __name__, tuple(__path__)))
        plugins.load("prior", name)


def unusable() -> dict[str, str]:
    """Priors of other distributions that cannot be used, and why."""
    reasons = {}
    for name in plugins.entry_points("prior"):
        try:
            _check_usable(name)
        except plugins.PluginError as error:
            reasons[name] = str(error)
    return reasons


def specification(prior: str) -> "Specification":
    """Read a value of the option ``model.prior``; a ValueError for what is none."""
    read = OPTIONS[1].read(prior, "model")
    assert isinstance(read, Specification)
    return read


@dataclass(frozen=True)
class Specification:
    """A prior and its own options, as ``NAME`` or ``NAME(option=value, ...)`` gives them."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        inside = ",".join(f"{key}={value}" for key, value in self.options)
        return f"{self.name}({inside})" if inside else self.name

    def build(self, N: int, concentration: Any) -> Prior:
        """The prior of N items."""
        return priors()[self.name](N, concentration, **dict(self.options))


@dataclass(frozen=True)
class PriorOption(Option):
    """The name of a prior, with options of its own in brackets: read as `Specification`."""

    type: ClassVar[str] = "prior"

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.choices)}"

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(priors())

    def convert(self, value: Any) -> Specification:
        if isinstance(value, Specification):
            return value
        if (match := _SPECIFICATION.fullmatch(value)) is None:
            raise ValueError
        options = {}
        # commas within brackets of an option's own value divide nothing
        for part in filter(None, re.split(r"\s*,\s*(?![^()]*\))", match[2] or "")):
            key, _, text = part.partition("=")
            options[key.strip()] = _number(text.strip())
        try:
            _check_usable(match[1])
            if (cls := priors().get(match[1])) is not None:
                return Specification(match[1], tuple(read_options(match[1], cls.OPTIONS, options).items()))
        except (TypeError, ValueError, plugins.PluginError) as error:
            raise OutOfRange(str(error)) from error
        raise ValueError


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


OPTIONS = (
    PositiveOrGamma("concentration", 1.0, "of the Chinese restaurant process; gamma(shape,rate): resampled"),
    PriorOption("prior", "crp", "prior of the partition; smcmc list priors lists them"),
)
"""Options of every mixture."""
