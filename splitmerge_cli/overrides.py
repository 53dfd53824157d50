"""Values of ``KEY=VALUE``: how they are written, how they are read, and how a shell takes the word.

A key that takes text takes it as it stands, whatever letters it has: ``data.path=dä (1), x=y.csv``. Where the text
would be read as something else (``null``, a number of a column, the end of a list) it stands in quotes:
``data.truth='1'``.
"""

import difflib
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FUNCTIONS = frozenset({"bool", "choice", "float", "glob", "int", "interval", "range", "shuffle", "sort", "str", "tag"})
"""Names that are functions of a grid: ``choice(1,2)``."""

_WHOLE = re.compile(r"[+-]?(0|[1-9](_?\d)*)", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?((0|[1-9](_?\d)*)?\.\d(_?\d)*|(0|[1-9](_?\d)*)\.?)([eE][+-]?\d(_?\d)*)?|[+-]?(inf|nan)",
    re.ASCII | re.IGNORECASE,
)
_FLAGS = {"true": True, "false": False}
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_IN_QUOTES = re.compile(_QUOTED, re.DOTALL)
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}

_BARE = re.compile(r"(?:[^\W\d]|/|\.{1,2}/)[\w./+-]*")
_PRIOR = re.compile(r"([A-Za-z_]\w*)\([\d., ]*\)", re.ASCII)
_WORDS = ("null", "true", "false", "on", "off", "yes", "no", "nan", "inf")
"""Texts that would be read as something else."""
_NO_TEXT = re.compile("[\x00\ud800-\udc7f\udd00-\udfff]")
"""Characters that no name of a file and no cell of a table has; a byte that is no UTF-8 is one of the others."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that a terminal does not show as they are."""


class Unreadable(ValueError):
    """A text that is no value of the types that a key takes."""


class SeveralValues(Unreadable):
    """Values with commas between them where one is expected, or a list in brackets."""


@dataclass(frozen=True)
class Accepts:
    """Types of the values that a key takes."""

    text: bool = False
    whole: bool = False
    number: bool = False
    flag: bool = False
    null: bool = False
    """Whether it takes text, a whole number, any number, true and false, null."""
    path: bool = False
    """Whether its text may name a file: ``~/`` begins in the home of the user."""
    items: "Accepts | None" = None
    """Types of a list's items; None: it takes no list."""
    entries: "tuple[Accepts, Accepts] | None" = None
    """Types of a mapping's keys and values; None: it takes no mapping."""


PATH = Accepts(text=True, path=True)
"""Types of a key that takes the name of a file and nothing else."""


def read(text: str, accepts: Accepts) -> Any:
    """Read a value as one of the types that its key takes. Raises `Unreadable` (it is none of these types) or
    `SeveralValues` (it has commas where the key takes a list, which stands in brackets)."""
    bare = text.strip()
    if accepts.items is not None and bare.startswith("[") and bare.endswith("]"):
        return [_read_scalar(part, accepts.items) for part in _parts(bare[1:-1])]
    if accepts.entries is not None and bare.startswith("{") and bare.endswith("}"):
        return dict(_read_entry(part, *accepts.entries) for part in _parts(bare[1:-1]))
    if accepts.items is not None and len(split_values(text)) > 1:
        raise SeveralValues(text)
    return _read_scalar(text, accepts)


def _read_scalar(text: str, accepts: Accepts) -> Any:
    bare = text.strip()
    if _NO_TEXT.search(text):
        raise Unreadable(text)
    if accepts.text and _IN_QUOTES.fullmatch(bare):
        # without the backslashes before quotes, and of those at the end every other one
        return re.sub(rf"(\\+)({bare[0]}|\Z)", lambda match: match[1][1::2] + match[2], bare[1:-1])
    if accepts.null and bare.lower() == "null":
        return None
    if accepts.flag and bare.lower() in _FLAGS:
        return _FLAGS[bare.lower()]
    if (accepts.whole or accepts.number) and _WHOLE.fullmatch(bare):
        return int(bare)
    if accepts.number and _NUMBER.fullmatch(bare):
        return float(bare)
    if not accepts.text:
        raise Unreadable(text)
    begins_at_home = accepts.path and (text == "~" or text.startswith("~/"))
    return os.path.expanduser(text) if begins_at_home else text


def _parts(text: str) -> list[str]:
    """The items of a list or the entries of a mapping, without the blanks around them."""
    return [part.strip() for part in split_values(text)] if text.strip() else []


def _read_entry(text: str, key: Accepts, value: Accepts) -> tuple[Any, Any]:
    parts = split_values(text, ":")
    if len(parts) != 2:
        raise Unreadable(text)
    return _read_scalar(parts[0].strip(), key), read(parts[1].strip(), value)


def split_values(text: str, separator: str = ",") -> list[str]:
    """Split a text at its separators, except those in quotes and in brackets.

    A quote opens at the beginning of a value alone, and brackets count only if all are closed.

    Examples
    --------
    >>> split_values("gamma(1,2),'a,b',it's")
    ['gamma(1,2)', "'a,b'", "it's"]
    """
    return _split(text, separator, brackets=True) or _split(text, separator, brackets=False) or [text]


def _split(text: str, separator: str, brackets: bool) -> list[str] | None:
    parts, start, i, depth, opens = [], 0, 0, 0, True
    while i < len(text):
        letter = text[i]
        if opens and letter in "'\"" and (quoted := _IN_QUOTES.match(text, i)):
            i, opens = quoted.end(), False
            continue
        depth += _BRACKETS.get(letter, 0) if brackets else 0
        if depth < 0:
            return None
        if letter == separator and not depth:
            parts.append(text[start:i])
            start = i + 1
        opens = letter in f"{separator},:([{{" or (opens and letter.isspace())
        i += 1
    return None if depth else [*parts, text[start:]]


def is_call(text: str) -> bool:
    """Whether a text calls one of the `FUNCTIONS`: ``range(3)``."""
    name, bracket, rest = text.strip().partition("(")
    return bool(bracket) and name in FUNCTIONS and rest.endswith(")")


def quote(text: str) -> str:
    """A text in quotes, as `read` and Hydra's grammar take them."""
    return "'" + re.sub(r"(\\*)('|\Z)", lambda match: 2 * match[1] + ("\\'" if match[2] else ""), text) + "'"


def write(value: Any, accepts: Accepts | None = None) -> str:
    """Write a value as `read` reads it, text in quotes only where it needs them. `accepts`: types that its key takes;
    by default any, so that more texts need quotes.

    Examples
    --------
    >>> write(["größe", "width (cm)", 2])
    "[größe,'width (cm)',2]"
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str | Path):
        text = str(value)
        if accepts is not None and _stands_alone(text, accepts):
            return text
        prior = _PRIOR.fullmatch(text)
        bare = prior[1] not in FUNCTIONS if prior else _BARE.fullmatch(text) and text.lower() not in _WORDS
        return text if bare else quote(text)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{write(key)}: {write(item)}" for key, item in value.items()) + "}"
    if hasattr(value, "tolist"):  # an array, an index or a scalar
        return write(value.tolist())
    if isinstance(value, Sequence):
        return "[" + ",".join(map(write, value)) + "]"
    return repr(value)


def _stands_alone(text: str, accepts: Accepts) -> bool:
    """Whether a text without quotes is read as it stands, in a sweep, too."""
    if not text or text != text.strip() or _CONTROL.search(text) or is_call(text) or split_values(text) != [text]:
        return False
    try:
        return bool(read(text, accepts) == text)
    except Unreadable:
        return False


def shell_word(word: str) -> str:
    """Quote a word for a shell, so that a printed command can be pasted.

    One with single quotes stands in double quotes if nothing in it would mean something there; one with characters that
    a terminal does not show is written with their escapes, as bash and zsh read them.
    """
    if _CONTROL.search(word):
        escaped = word.replace("\\", "\\\\").replace("'", "\\'")
        hexadecimal = r"\x{:02x}".format
        written = _CONTROL.sub(lambda m: "".join(map(hexadecimal, m[0].encode("utf-8", "surrogateescape"))), escaped)
        return f"$'{written}'"
    if "'" in word and not re.search(r'["$`\\!]', word):
        return f'"{word}"'
    return shlex.quote(word)


def path_word(path: str | Path) -> str:
    """``data.path=FILE`` for a shell; of standard input the sign that is typed for it."""
    return shell_word(f"data.path={write(getattr(path, 'typed', path), PATH)}")


def suggest(value: Any, known: Iterable[str], cutoff: float = 0.6) -> str:
    """End a message about a word with the one of those `known` that is most like it, if any is."""
    near = difflib.get_close_matches(str(value), list(known), 1, cutoff)
    return f". Did you mean {near[0]}?" if near else ""
