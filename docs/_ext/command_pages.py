"""Reference of the command line, from the application: every command with its arguments and options."""

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import parts
from key_pages import cards
from typer.main import get_command
from word_pages import words

from splitmerge_cli.cli import app, import_all

VALUES = {int: "N", float: "X", Path: "PATH", str: "TEXT"}
"""Letters for the value of an option, by its type."""
COMMAND = re.compile(r"(.*?)(?:: )?(smcmc [a-z-]+ \S*=.*)", re.DOTALL)
"""A paragraph of a help text that is, or ends with, a command."""
TYPED = re.compile(
    r"`[^`]+`|'[^']*=[^']*'|(?<!\w)--[a-z-]+|(?<!\w)[\w./]+=(?:[\w./<>-]|,(?=\w))+"
    r"|\bsmcmc [a-z-]+(?: (?:info NAME|list|figures|RUN|--cfg job)\b)*"
)
"""Words of a help text that are typed: options, keys with values, commands."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that the help shows, as it is typed; groups that are no command themselves are left out."""
    import_all()
    yield from _commands_below("smcmc", get_command(app))


def _commands_below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if not inner or getattr(command, "invoke_without_command", False) or path == "smcmc":
        yield path, command
    for name, below in inner.items():
        if not below.hidden:
            yield from _commands_below(f"{path} {name}", below)


MANY = 3
"""Commands that have an option or argument, from which on one table explains it."""
Identity = tuple[tuple[str, ...], str, str]
"""Ways to write an option, its help and its default."""


def shared_options(listed: Iterable[tuple[str, Any]]) -> set[Identity]:
    """Options and arguments that several commands have alike: one table explains them."""
    counts = Counter(_identity(p) for _, command in listed for p in command.params)
    return {one for one, number in counts.items() if number >= MANY}


def _identity(option: Any) -> Identity:
    if option.param_type_name == "argument":
        return (_name(option),), option.help or "", ""
    return tuple(option.opts), option.help or "", _default(option)


def part() -> str:
    """The list of all commands, the options that several have, then a section for each."""
    listed = list(commands())
    shared = shared_options(listed)
    rows = [[f"[`{path}`](#{path.replace(' ', '-')})", _short_help(command)] for path, command in listed[1:]]
    text = "\n## All commands\n" + parts.table(["command", "what it does"], rows, raw=(0,))
    text += "\n## Arguments and options of several commands\n" + cards(_shared_rows(listed, shared))
    return text + "".join(_section(path, command, shared) for path, command in listed[1:] + listed[:1])


def _shared_rows(listed: Iterable[tuple[str, Any]], shared: set[Identity]) -> list[dict[str, str]]:
    rows: dict[Identity, dict[str, str]] = {}
    for _, command in listed:
        hints = _hints(command)
        for p in command.params:
            if not p.hidden and _identity(p) in shared:
                is_argument = p.param_type_name == "argument"
                option = _code(_name(p)) if is_argument else _option(p, hints.get(p.name))
                default = "" if is_argument else _default(p)
                rows[_identity(p)] = {"argument or option": option, "default": default, "meaning": _prose(p.help or "")}
    return list(rows.values())


def _short_help(command: Any) -> str:
    """The first sentence of the help, without the command that it ends with."""
    first = _paragraphs(command)[0]
    match = COMMAND.fullmatch(first)
    return (match[1] if match else re.split(r"(?<=\.) ", first)[0]).rstrip(".:")


def _paragraphs(command: Any) -> list[str]:
    return [
        " ".join(text.split()) if "\b" not in text else "\b" for text in inspect.cleandoc(command.help).split("\n\n")
    ]


def _section(path: str, command: Any, shared: set[Identity]) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = [path, *(["[OPTIONS]"] if options else []), *(_name(p) for p in arguments)]
    text = f"\n## `{path}`\n" + parts.code(" ".join(usage))
    first, *others = _paragraphs(command)
    # the list of all commands has the first sentence
    is_said = path != "smcmc" and others[:1] != ["\b"]
    rest = first.removeprefix(_short_help(command)).lstrip(".: ") if is_said else first
    for paragraph in [rest, *others] if rest else others:
        match = COMMAND.fullmatch(paragraph)
        if paragraph == "\b":  # a list of keys, whose page has more
            text = f"{text.rstrip()} [Keys](keys.md).\n"
        elif match:
            text += (f"\n{_prose(match[1])}:\n" if match[1] else "") + parts.code(match[2].rstrip("."))
        else:
            text += f"\n{_prose(paragraph)}\n"
    hints = _hints(command)
    special = [p for p in options if _identity(p) not in shared]
    named = [(_code(_name(p)), p) for p in arguments if _identity(p) not in shared]
    named += [(_option(p, hints.get(p.name)), p) for p in special]
    lines = [{"argument or option": name, "default": _default(p), "meaning": _prose(p.help or "")} for name, p in named]
    text += cards(lines) if lines else ""
    also = ", ".join(_option(p, hints.get(p.name)) for p in options if _identity(p) in shared)
    return text + (f"\nAlso {also}.\n" if also else "")


def _hints(command: Any) -> dict[str, Any]:
    return get_type_hints(inspect.unwrap(command.callback)) if command.callback else {}


def _prose(text: str) -> str:
    """Text in which what is typed is code."""
    return words(TYPED.sub(lambda match: match[0] if match[0][0] == "`" else f"`{match[0]}`", text))


def _name(argument: Any) -> str:
    return argument.metavar or argument.name.upper()


def _code(text: str) -> str:
    """Code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|")


def _option(option: Any, hint: Any) -> str:
    """The ways to write an option, with what stands for its value."""
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    value = "" if option.is_flag else " " + (option.metavar or VALUES.get(kinds[0], "TEXT"))
    return ", ".join(_code(way + value) for way in option.opts)


def _default(option: Any) -> str:
    if option.required:
        return "needed"
    return "" if getattr(option, "is_flag", False) or option.default is None else f"`{option.default}`"
