"""Messages about a wrong configuration: one line that names the key and what was expected."""

import difflib
import re
from collections.abc import Sequence
from typing import Any

from splitmerge_cli.config.foreign import find_meaning
from splitmerge_cli.config.renamed import WHY
from splitmerge_cli.overrides import path_word

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


_FILES = re.compile(
    r".*\.(csv|tsv|txt|dat|data|parquet|feather|xlsx|npy|npz|graphml|gml|mtx|edgelist|edges|json|xls|h5ad|sav|dta"
    r"|rds|jsonl|ndjson|zip|pdf|docx)(\.(gz|bz2|xz|zst|zip))?",
    re.IGNORECASE,
)


def is_file_name(path: str) -> bool:
    """Whether a word looks like the name of a data file."""
    return _FILES.fullmatch(path) is not None


def own_file(path: str) -> str | None:
    """The words that read a file of the user's own, if `path` looks like one."""
    if not is_file_name(path):
        return None
    return f"expected data=csv {path_word(path)} (a list of edges: data=edges, documents: data=corpus)"


def unknown_choice(group: str, name: str, known: Sequence[str]) -> str:
    """Message about a choice that a group does not have: what it has, and the nearest."""
    if group == "data" and (is_file := own_file(name)):
        return f"data={name}: {is_file}"
    if group == "model" and name in WHY:
        return f"model={name}: {WHY[name]}"
    near = nearest(name, known)
    hint = f" Did you mean {group}={near}?" if near else ""
    return f"{group}={name}: expected {'one of ' if known else ''}{', '.join(sorted(known)) or 'nothing'}.{hint}"


def unknown_key(key: str, known: Sequence[str], value: str = "") -> str:
    """Message about a key that does not exist, and its value, where that is known: the key that other programs call so,
    or the nearest."""
    if key == "data.path":
        return "data.path: a file is read by data=csv (a table), data=edges or data=corpus; expected one with data.path"
    within = [candidate for candidate in known if candidate.endswith(f".{key}")]
    if not within and (meanings := find_meaning(key, known, ALWAYS, value)):
        added = f" ({meanings[1]})" if meanings[1] else ""
        return f"{key}: no such key. Did you mean {meanings[0]}?{added} `smcmc run --cfg job` shows them all."
    group, dot, option = key.partition(".")
    siblings = {one.partition(".")[2]: one for one in known if one.startswith(f"{group}.")} if dot else {}
    if siblings:
        like = nearest(option, list(siblings))
        if like is None:
            return f"{key}: no such key; expected one of {', '.join(sorted(siblings.values()))}"
        near: str | None = siblings[like]
    else:
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
