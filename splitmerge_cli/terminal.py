"""Printed output: letters of received data that would steer a terminal are shown as escapes."""

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""Letters in a line of a terminal."""
_COMMAND = re.compile(
    r"""smcmc [a-z]+( (--\w\S*|\S*[/=.\[]\S*|FILE))+|(?P<quote>["'])(data|model)\.((?!(?P=quote)).)+(?P=quote)"""
)
_JOINED = "\0"
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters but tab and line feed; those that turn the direction of a text; halves of a letter."""


def printable(text: str) -> str:
    r"""A text whose control characters are shown: ``\x1b`` for an escape, ``\u202e`` for a change of direction.

    Examples
    --------
    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _STEERING.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def one_line(text: str) -> str:
    r"""Return a text for one line: as `printable`, and a line break in it as ``\n``."""
    return printable(text).replace("\n", "\\n")


def fold(text: str, width: int | None = None) -> str:
    r"""Return a text in lines of `width` letters (`WIDTH`) at most, further ones indented.

    A word, a command, a key in quotes and the path of a run that are longer stay whole.

    Examples
    --------
    >>> print(fold("  " + "word " * 17))
      word word word word word word word word word word word word word word word
        word word
    """
    width = width or WIDTH
    folded: list[str] = []
    options: Any = {"break_long_words": False, "break_on_hyphens": False}
    for line in text.splitlines():
        if len(line) <= width or line.startswith(("next: ", "or: ")):
            folded.append(line)
            continue
        # a command, or a key in quotes, is copied whole
        line = _COMMAND.sub(lambda match: match[0].replace(" ", _JOINED), line)
        lead = line[: len(line) - len(line.lstrip())]
        folded += textwrap.wrap(line, width, subsequent_indent=f"{lead}  ", **options)
    return "\n".join(folded).replace(_JOINED, " ")


def width() -> int:
    """Return the width of stdout: a terminal's, at least `WIDTH`; `WIDTH` for a pipe."""
    return max(WIDTH, get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def hang(lead: str, text: str) -> str:
    r"""Return `lead` and a text; on a terminal folded, with its further lines below the beginning of the text.

    After a lead of more than half the width the text begins on a line of its own.
    """
    if not sys.stdout.isatty() or len(lead) + len(text) <= width():
        return lead + text
    indent = " " * (len(lead) if len(lead) <= width() // 2 else 4)
    first = lead if len(lead) <= width() // 2 else f"{lead.rstrip()}\n{indent}"
    lines = textwrap.wrap(text, width() - len(indent), break_long_words=False, break_on_hyphens=False)
    return first + f"\n{indent}".join(lines)


class _Stream:
    """A stream that shows what would steer a terminal; a `console` writes to the one below."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(printable(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def escape_output() -> Iterator[None]:
    """Escape on stdout and stderr what would steer a terminal, while this context lasts."""
    before = sys.stdout, sys.stderr
    if not any(isinstance(stream, _Stream) for stream in before):
        sys.stdout, sys.stderr = _Stream(before[0]), _Stream(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def console(width: int | None = None, stderr: bool = False, **options: Any) -> "Console":
    """A console that shows what would steer a terminal: of the terminal's width, elsewhere of `width`."""
    from rich.console import Console
    from rich.segment import Segment

    class Printable(Console):
        def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
            for text, style, control in super().render(*args, **options):
                yield Segment(text if control else printable(text), style, control)

    stream = sys.stderr if stderr else sys.stdout
    while stream is not (below := getattr(stream, "rich_proxied_file", stream)):
        stream = below
    return Printable(file=stream, width=None if stream.isatty() else width, **options)
