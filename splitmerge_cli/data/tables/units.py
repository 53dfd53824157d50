"""Units behind the numbers of a column: factors such as k and M, one unit in all cells, or units of one quantity."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "Mio": 1e6, "G": 1e9, "B": 1e9, "bn": 1e9, "T": 1e12}
"""Letters that stand for thousands, millions and so on."""
NEXT_TO_FACTORS = {"m": 1e6, "b": 1e9}
"""Letters that do so next to one of the `FACTORS`."""
DAY, YEAR = 86_400.0, 86_400.0 * 365.25
QUANTITIES: tuple[dict[str, float], ...] = (
    {"nm": 1e-9, "µm": 1e-6, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3}
    | {"in": 0.0254, "inch": 0.0254, "ft": 0.3048, "feet": 0.3048, "yd": 0.9144, "mi": 1609.344, "mile": 1609.344},
    {"µg": 1e-6, "ug": 1e-6, "mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6, "oz": 28.349523125, "lb": 453.59237},
    {"ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0}
    | {"hour": 3600.0, "d": DAY, "day": DAY, "wk": 7 * DAY, "week": 7 * DAY}
    | {"mo": YEAR / 12, "month": YEAR / 12, "y": YEAR, "yr": YEAR, "year": YEAR},
    {"µl": 1e-6, "ul": 1e-6, "ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0, "hl": 100.0},
    {"m/s": 1.0, "km/h": 1 / 3.6, "kmh": 1 / 3.6, "mph": 0.44704, "kn": 1852 / 3600},
    {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    {"k": 1.0, "°k": 1.0, "°c": 1.0, "c": 1.0, "°f": 5 / 9, "f": 5 / 9},
)
"""The units of each quantity, with the number of a common unit that each of them is."""
ZERO = {"°c": 273.15, "c": 273.15, "°f": 459.67 * 5 / 9, "f": 459.67 * 5 / 9}
"""Kelvin at zero of a scale of temperatures."""
_FEET = r"^(\d+) ?(?:['′’]|ft\.?|feet|foot) ?"
FEET_AND_INCHES = _FEET + r"""((?:1[01]|\d)(?:[.,]\d+)?) ?(?:["″”]|''|′′|in\.?|inch(?:es)?)?$"""
"""Feet and fewer than 12 inches: 5'7", 5 ft 7 in; of more they would be minutes and seconds."""
FEET = r"^(\d+) ?['′’]()$"
"""Feet alone, in a column of these."""
DIGITS = 12
"""Digits of a converted number, so that 1.58 m are 158 cm."""


def are_read(units: Collection[str], bare: bool) -> bool:
    """Whether a column with these units, and perhaps `bare` numbers, is one of numbers: the units are factors, one unit
    in all cells, or known ones. Single letters of several quantities may be codes.

    Examples
    --------
    >>> are_read({"cm", "m"}, False), are_read({"k", "M"}, True), are_read({"A", "B"}, False), are_read({"a"}, True)
    (True, True, False, False)
    """
    names = set(map(_name, units))
    quantities = [quantity for quantity in QUANTITIES if not quantity.keys().isdisjoint(names)]
    if are_factors(units) or (len(names) == 1 and not bare):
        return True
    is_known = names <= {name for quantity in quantities for name in quantity}
    has_words = max(map(len, names)) > 1
    return is_known and (has_words or (len(quantities) == 1 and not bare))


def are_factors(units: Collection[str]) -> bool:
    """Whether letters behind numbers are factors: 586k and 1.5M, but not 300 K alone."""
    letters = {unit.strip(" .") for unit in units if unit}
    is_kelvin = set(units) == {" K"}
    return not is_kelvin and not letters.isdisjoint(FACTORS) and letters <= FACTORS.keys() | NEXT_TO_FACTORS.keys()


def commonest(units: Sequence[str], rows: Sequence[int]) -> str:
    """The unit in most rows, the first of several; `rows` hold each of the units. Empty without units."""
    counts = Counter[str]()
    for unit, n in zip(units, rows, strict=True):
        counts[_name(unit)] += n if unit else 0
    name = max(counts, key=counts.__getitem__, default="")
    return next((unit.strip() for unit in units if unit and _name(unit) == name), "")


def is_convertible(unit: str, base: str) -> bool:
    """Whether both are one unit, or of one quantity."""
    names = {_name(unit), _name(base)}
    return len(names) == 1 or any(names <= quantity.keys() for quantity in QUANTITIES)


def convert(value: float, unit: str, base: str) -> float:
    """Convert a number of a unit to another.

    Examples
    --------
    >>> convert(1.58, "m", "cm"), convert(68, "°F", "°C")
    (158.0, 20.0)
    """
    name, to = _name(unit), _name(base)
    if name == to:
        return value
    sizes = next(quantity for quantity in QUANTITIES if {name, to} <= quantity.keys())
    return float(f"{(value * sizes[name] + ZERO.get(name, 0.0) - ZERO.get(to, 0.0)) / sizes[to]:.{DIGITS}g}")


def join_feet(words: list[str]) -> list[str]:
    """Write feet and inches as inches, if a word holds both.

    Examples
    --------
    >>> join_feet(["5'7\"", "6′", "170 cm"])
    ['67 in', '72 in', '170 cm']
    """
    if not any(re.fullmatch(FEET_AND_INCHES, word) for word in words):
        return words
    found = [re.fullmatch(FEET_AND_INCHES, word) or re.fullmatch(FEET, word) for word in words]
    return [
        f"{12 * int(parts[1]) + float(parts[2].replace(',', '.') or 0):.{DIGITS}g} in" if parts else word
        for parts, word in zip(found, words, strict=True)
    ]


def multiply(value: float, unit: str) -> float:
    """Multiply a number by the factor behind it, if there is one."""
    letter = unit.strip(" .")
    return float(f"{value * (FACTORS | NEXT_TO_FACTORS)[letter]:.{DIGITS}g}") if letter else value


def _name(unit: str) -> str:
    """A unit as `QUANTITIES` names it, in the singular."""
    name = unit.replace(" ", "").removesuffix(".").casefold().replace("μ", "µ")
    single = name.removesuffix("es") if name == "inches" else name.removesuffix("s")
    return single if len(name) > 2 and any(single in quantity for quantity in QUANTITIES) else name
