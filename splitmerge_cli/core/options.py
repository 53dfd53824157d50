"""Options of models and samplers: name, default, type, range and help of each, written once.

A class lists its options in ``OPTIONS``. Its constructor reads what it is given with `read_options`; the files of
``conf/``, ``smcmc model info``, ``smcmc sampler info``, the tables of the documentation and every message follow from
the same list.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from splitmerge_cli.overrides import suggest

_GAMMA = re.compile(r"gamma\(\s*([-+.0-9eE]+)\s*,\s*([-+.0-9eE]+)\s*\)")

LEAST, MOST = 1e-100, 1e100
"""Range of a positive number: beyond it products of probabilities leave a double."""


@dataclass(frozen=True)
class Gamma:
    """A gamma prior of a positive number: ``gamma(shape,rate)``."""

    shape: float
    rate: float
    unit: tuple[float, ...] | None = None
    """Units of scales, one for each; None: the variance of its column."""

    @property
    def mean(self) -> float:
        return self.shape / self.rate

    def __str__(self) -> str:
        return f"gamma({self.shape:g},{self.rate:g})"


@dataclass(frozen=True)
class Option:
    """An option that takes any value; the subclasses say what they expect. `help`: one line, what it means."""

    name: str
    default: Any
    help: str
    optional: bool = False
    """Whether ``null`` (None) is a value, too."""
    later: bool = field(default=False, kw_only=True)
    """Whether runs were stored before there was the option: at its default it is no part of a run's identity."""

    type: ClassVar[str] = "value"
    """The type, in a word."""

    @property
    def expected(self) -> str:
        """The expected value, for messages and tables."""
        return "a value"

    @property
    def expected_or_null(self) -> str:
        """The expected value, null included where the option is optional."""
        return self.expected + (" or null" if self.optional else "")

    def convert(self, value: Any) -> Any:
        """The value as the class uses it; a TypeError or ValueError, whose text is not shown, for any other."""
        return value

    def read(self, value: Any, group: str) -> Any:
        """The value of a configuration as the class uses it; a ValueError names the key, in its `group` (``model`` or
        ``sampler``), and what was expected."""
        if value is None and self.optional:
            return None
        try:
            return self.convert(value)
        except OutOfRange as error:
            expected: object = error
        except (TypeError, ValueError, OverflowError):
            expected = f"expected {self.expected_or_null}{suggest(value, getattr(self, 'choices', ()))}"
        # a message is one line, whatever was typed
        shown = " ".join(format_value(value).splitlines())
        raise ValueError(f"{group}.{self.name}={shown}: {expected}")


class OutOfRange(ValueError):
    """A value of the right form with a part out of range; the text says which."""


@dataclass(frozen=True)
class Choice(Option):
    """One of several words."""

    choices: tuple[str, ...] = ()

    type: ClassVar[str] = "choice"

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def convert(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise ValueError
        return value


@dataclass(frozen=True)
class Text(Option):
    """A name or text."""

    is_path: bool = field(default=False, kw_only=True)
    """Whether it may name a file or a folder: on the command line ``~/`` begins in the home of the user."""

    type: ClassVar[str] = "text"
    expected = "a name or text"

    def convert(self, value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError
        return value


@dataclass(frozen=True)
class Column(Option):
    """A column of a table: its name, or its number from 1."""

    type: ClassVar[str] = "column"
    expected = "the name of a column, or its number from 1"

    def convert(self, value: Any) -> str | int:
        if isinstance(value, str):
            return value
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise ValueError
        return int(value)


@dataclass(frozen=True)
class Columns(Column):
    """Several columns, a list: read as a list."""

    type: ClassVar[str] = "list of columns"
    expected = "a list of columns, each by name or number from 1"

    def convert(self, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise TypeError
        return [Column.convert(self, column) for column in value]


@dataclass(frozen=True)
class Flag(Option):
    """True or false."""

    type: ClassVar[str] = "flag"
    expected = "true or false"

    def convert(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError
        return value


@dataclass(frozen=True)
class Count(Option):
    """A whole number from `least` to `most`."""

    least: int = 0
    most: int = 10_000

    type: ClassVar[str] = "whole number"

    @property
    def expected(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def convert(self, value: Any) -> int:
        # NumPy's integers among them
        if isinstance(value, bool) or not hasattr(value, "__index__") or not self.least <= value <= self.most:
            raise ValueError
        return int(value)


@dataclass(frozen=True)
class Number(Option):
    """A number from `least` to `most`; with `inside`, neither of these itself."""

    least: float = -MOST
    most: float = MOST
    inside: bool = False

    type: ClassVar[str] = "number"
    noun: ClassVar[str] = "a number"

    @property
    def expected(self) -> str:
        span = "between {:g} and {:g}" if self.inside else "from {:g} to {:g}"
        return f"{self.noun} {span.format(self.least, self.most)}"

    def convert(self, value: Any) -> float:
        return _number(value, self.least, self.most, self.inside)


@dataclass(frozen=True)
class Positive(Number):
    """A positive number."""

    least: float = LEAST
    most: float = MOST

    noun: ClassVar[str] = "a positive number"


@dataclass(frozen=True)
class PositiveOrGamma(Positive):
    """A positive number, or a gamma prior under which it is resampled: read as float or `Gamma`."""

    hierarchical: Gamma | None = None
    """Prior that the word ``hierarchical`` stands for; None: the word is no value."""

    type: ClassVar[str] = "number or gamma(shape,rate)"

    @property
    def expected(self) -> str:
        span = "" if (self.least, self.most) == (LEAST, MOST) else f" from {self.least:g} to {self.most:g},"
        return f"a positive number{span} or {_gamma_or(self.hierarchical)}"

    def convert(self, value: Any) -> Any:
        return _gamma(value, self.hierarchical) if isinstance(value, str | Gamma) else super().convert(value)


@dataclass(frozen=True)
class Numbers(Option):
    """A number from `least` to `most`, or a list of such, one for each column or `each`: read as float or list of
    float."""

    least: float = -MOST
    most: float = MOST
    each: str = "column"

    type: ClassVar[str] = "number or list of numbers"

    @property
    def expected(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}, or a list of one for each {self.each}"

    def convert(self, value: Any) -> float | list[float]:
        if isinstance(value, int | float):
            return _number(value, self.least, self.most)
        return [_number(entry, self.least, self.most) for entry in value]


@dataclass(frozen=True)
class NumbersOrGamma(Numbers):
    """Numbers, or a gamma prior under which they are resampled: read as float, list of float or `Gamma`."""

    hierarchical: Gamma | None = None

    type: ClassVar[str] = "number, list of numbers or gamma(shape,rate)"

    @property
    def expected(self) -> str:
        return f"{super().expected}, or {_gamma_or(self.hierarchical)}"

    def convert(self, value: Any) -> Any:
        return _gamma(value, self.hierarchical) if isinstance(value, str | Gamma) else super().convert(value)


@dataclass(frozen=True)
class Resolution(Numbers):
    """Steps to which columns are recorded, 0 of a column that is not; or ``auto``, found in the data, or ``none``."""

    least: float = 0.0
    most: float = 1e30

    type: ClassVar[str] = "auto, none, number or list of numbers"

    @property
    def expected(self) -> str:
        return f"auto, none, or {super().expected}"

    def convert(self, value: Any) -> Any:
        if isinstance(value, str) and value not in ("auto", "none"):
            raise ValueError
        return value if isinstance(value, str) else super().convert(value)


def _gamma(value: str | Gamma, hierarchical: Gamma | None) -> Gamma:
    """The gamma prior that a text says, its numbers in range."""
    if isinstance(value, str) and value.strip() == "hierarchical" and hierarchical is not None:
        return hierarchical
    if isinstance(value, str):
        if (match := _GAMMA.fullmatch(value.strip())) is None:
            raise ValueError
        value = Gamma(float(match[1]), float(match[2]))
    for part in ("shape", "rate"):
        if not 1e-3 <= getattr(value, part) <= 1e6:
            raise OutOfRange(f"{part} of gamma: expected 0.001 to 1e6, got {getattr(value, part):g}")
    return value


def _gamma_or(hierarchical: Gamma | None) -> str:
    return "gamma(shape,rate)" + ("" if hierarchical is None else f" or hierarchical, {hierarchical}")


def _number(value: Any, least: float, largest: float, inside: bool = False) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        raise TypeError
    number = float(value)
    if not least <= number <= largest or (inside and number in (least, largest)):  # nan is in no range
        raise ValueError
    return number


def format_value(value: Any) -> str:
    """A value as a configuration has it."""
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(format_value, value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_options(group: str, options: Iterable[Option], named: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every option as the class uses it (a ``gamma(shape,rate)`` is a `Gamma`): what is given by name, or
    the default. A ValueError names the key, in its `group` (``model`` or ``sampler``), whose value is not as expected;
    a TypeError a name that is none of the options."""
    known = {option.name: option for option in options}
    for name in named:
        if name not in known:
            raise TypeError(f"{group}.{name}: no such option; expected one of {', '.join(known) or 'none'}")
    return {name: option.read(named.get(name, option.default), group) for name, option in known.items()}
