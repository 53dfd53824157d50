"""Words that were renamed: the old ones are understood for one release, with a note that names the new one.

One table, applied wherever a word of the user's enters: overrides, files of experiments, stored configurations.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Alias:
    """A word that was renamed.

    Attributes
    ----------
    key : str
        The key as it is typed: ``init``, ``schedule``, or GROUP.OPTION. Of a renamed key the old one.
    old, new : str
        The old and the new value; or, of a renamed key, the names of the option.
    of : str
        ``value`` or ``key``.
    """

    key: str
    old: str
    new: str
    of: str = "value"

    @property
    def note(self) -> str:
        """What the user is told."""
        if self.of == "key":
            return f"{self.key} is now {self._renamed}"
        return f"{self.key}={self.old} is now {self.key}={self.new}"

    @property
    def _renamed(self) -> str:
        group, dot, _ = self.key.rpartition(".")
        return f"{group}{dot}{self.new}"


ALIASES: tuple[Alias, ...] = (
    Alias("schedule", "alone", "move_only"),
    Alias("schedule", "site", "single_site"),
    Alias("schedule", "sweep", "full_scan"),
    Alias("init", "one", "one_cluster"),
    Alias("sampler.mode", "literal", "as_printed"),
    Alias("model.labels", "labels", "label_prior", of="key"),
    Alias("model.label_prior", "literal", "as_printed"),
)
"""In the order in which they are applied: a renamed key comes before its values.

A row stays when its old word is no longer understood: ids of runs are made of the first words (`in_first_words`).
"""

_said: set[str] = set()


def say(alias: Alias) -> None:
    """Write the note of an alias to stderr, once in a process."""
    if alias.note not in _said:
        _said.add(alias.note)
        print(f"smcmc: note: {alias.note}", file=sys.stderr, flush=True)


def forget() -> None:
    """Let every note be said again."""
    _said.clear()


def renamed_choice(group: str, name: str) -> str | None:
    """The new name of a choice of a group; None where it was not renamed."""
    for alias in ALIASES:
        if (alias.key, alias.old, alias.of) == (group, name, "value"):
            say(alias)
            return alias.new
    return None


def in_override(override: str) -> str:
    """An override with the new words; several values of a grid are renamed one by one."""
    prefix, key, value = re.fullmatch(r"([+~]*)([^=]*)(?:=(.*))?", override, re.DOTALL).groups()  # type: ignore[union-attr]
    for alias in ALIASES:
        if alias.key != key:
            continue
        if alias.of == "key":
            say(alias)
            key = alias._renamed
        elif value and not (key == "schedule" and value.lstrip().startswith("[")):
            renamed = re.sub(rf"(?<![\w./-]){re.escape(alias.old)}(?![\w./-])", alias.new, value)
            if renamed != value:
                say(alias)
                value = renamed
    return f"{prefix}{key}" if value is None else f"{prefix}{key}={value}"


def in_options(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a choice with the new words."""
    renamed = dict(options)
    for alias in ALIASES:
        of, _, option = alias.key.partition(".")
        if of != group or option not in renamed:
            continue
        if alias.of == "key":
            say(alias)
            renamed[alias.new] = renamed.pop(option)
        elif isinstance(renamed[option], str) and renamed[option] == alias.old:
            say(alias)
            renamed[option] = alias.new
    return renamed


def in_values(values: Mapping[str, Any], groups: Iterable[str] = ("data", "model", "sampler")) -> dict[str, Any]:
    """A configuration as plain values, with the new words; samplers of a weighted list among them."""
    renamed = dict(values)
    for alias in ALIASES:
        if alias.of == "value" and isinstance(renamed.get(alias.key), str) and renamed[alias.key] == alias.old:
            say(alias)
            renamed[alias.key] = alias.new
    for group in groups:
        if isinstance(renamed.get(group), Mapping):
            renamed[group] = in_options(group, renamed[group])
    schedule = renamed.get("schedule")
    if isinstance(schedule, Mapping):
        renamed["schedule"] = schedule = dict(schedule)
        name = schedule.get("name")
        if isinstance(name, str) and (new := renamed_choice("schedule", name)):
            schedule["name"] = new
        if isinstance(schedule.get("mix"), list):
            schedule["mix"] = [_in_entry(entry) for entry in schedule["mix"]]
    return renamed


def _in_entry(entry: Any) -> Any:
    """A sampler of a weighted list: as it is typed, ``{NAME: {OPTION: VALUE}}``, or as it is stored."""
    if not isinstance(entry, Mapping):
        return entry
    if "_target_" in entry:
        return in_options("sampler", entry)
    return {
        name: in_options("sampler", given) if isinstance(given, Mapping) else given for name, given in entry.items()
    }


def in_first_words(values: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved configuration with the words that it had before any was renamed: the id of a run is made of these, so
    that what was stored before is found."""
    first = dict(values)
    for group in ("data", "model", "sampler"):
        if isinstance(first.get(group), Mapping):
            first[group] = _in_first_options(group, first[group])
    first["schedule"] = schedule = dict(first["schedule"])
    if schedule.get("mix") is not None:
        schedule["mix"] = [_in_first_options("sampler", entry) for entry in schedule["mix"]]
    for alias in ALIASES:
        if alias.key == "schedule" and schedule["name"] == alias.new:
            schedule["name"] = alias.old
        elif alias.of == "value" and first.get(alias.key) == alias.new:
            first[alias.key] = alias.old
    return first


def _in_first_options(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    first = dict(options)
    for alias in reversed(ALIASES):
        of, _, option = alias.key.partition(".")
        if of != group:
            continue
        if alias.of == "key" and alias.new in first:
            first[option] = first.pop(alias.new)
        elif alias.of == "value" and first.get(option) == alias.new:
            first[option] = alias.old
    return first
