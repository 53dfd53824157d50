"""What is wrong with a configuration, said in one line that names the key and what was expected."""

import difflib
from collections.abc import Sequence
from typing import Any

from splitmerge_cli.config.foreign import meant

ALWAYS = (
    *("N", "seed", "chains", "iterations", "budget", "thin", "K0", "init", "warmup", "timing", "resume", "workers"),
    *("out", "progress", "data.path"),
)
"""Keys that every configuration has, or that stand for the user's own data."""


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and what was expected."""


def show(value: Any) -> str:
    """A value as the user would type it."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return " ".join(text.splitlines())


def one_line(error: object) -> str:
    """A message without its line breaks."""
    return " ".join(str(error).split())


def unknown(group: str, name: str, known: Sequence[str]) -> str:
    """A choice that a group does not have; what it has, and the nearest."""
    near = nearest(name, known)
    hint = f" Did you mean {group}={near}?" if near else ""
    return f"{group}={name}: expected {'one of ' if known else ''}{', '.join(sorted(known)) or 'nothing'}.{hint}"


def unknown_key(key: str, known: Sequence[str]) -> str:
    """A key that there is not; the one that does what other programs call so, or the nearest that there is."""
    within = [candidate for candidate in known if candidate.endswith(f".{key}")]
    if not within and (found := meant(key, known, ALWAYS)):
        added = f" ({found[1]})" if found[1] else ""
        return f"{key}: no such key. Did you mean {found[0]}?{added} `smcmc run --cfg job` shows them all."
    near = nearest(key, known)
    hint = f" Did you mean {near}?" if near else ""
    return f"{key}: no such key.{hint} `smcmc run --cfg job` shows them all."


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The word of `known` that is `word` within a group, or most like it, if any is; among equals the one with more
    letters in place."""
    within = [candidate for candidate in known if candidate.endswith(f".{word}")]
    if len(within) == 1:
        return within[0]

    def likeness(candidate: str) -> tuple[float, int]:
        in_place = sum(a == b for a, b in zip(word, candidate, strict=False))
        return difflib.SequenceMatcher(None, word, candidate).ratio(), in_place

    best = max(known, key=likeness, default=None)
    return best if best is not None and likeness(best)[0] >= 0.6 else None
