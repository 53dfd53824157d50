"""Options that a choice got after runs of it were stored: a run that has them at their defaults is the run it was.

An option is a part of a run's identity, and a stored configuration has to hold every one. So a new option is listed
here: left out of the identity where it has its default, and filled in where a stored configuration lacks it.
"""

from collections.abc import Mapping
from typing import Any

LATER: dict[tuple[str, str], dict[str, Any]] = {
    ("data", "csv"): {
        "types": None,
        "missing": None,
        "separator": "auto",
        "decimal": "auto",
        "encoding": "utf-8",
        "sheet": None,
    },
}
"""Defaults of such options by group and name of the choice; they are those of its file."""


def without(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a choice without later ones that have their defaults."""
    later = LATER.get((group, options.get("name", "")), {})
    return {key: value for key, value in options.items() if key not in later or value != later[key]}


def filled(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The stored options of a choice with the defaults of later ones that they lack."""
    name = options.get("name")
    return (LATER.get((group, name), {}) if isinstance(name, str) else {}) | dict(options)
