"""Options of a choice, described: default, what is expected, help."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import NoneType
from typing import Any, get_args

from splitmerge_cli.config.components import WORDS, declared_types, options_of
from splitmerge_cli.config.errors import show
from splitmerge_cli.config.groups import describe
from splitmerge_cli.config.hydra_adapter import CONF
from splitmerge_cli.config.layers import choice
from splitmerge_cli.config.targets import locate


@dataclass(frozen=True)
class OptionRow:
    """An option of a choice, in words: `key` as it is typed, GROUP.OPTION, and the `default` of the choice's file."""

    key: str
    default: str
    expected: str
    help: str


def title(group: str, name: str) -> str:
    """Return the line that describes a choice."""
    return dict(describe(group))[name]


def option_rows(group: str, name: str) -> list[OptionRow]:
    """The options of a choice, in the order of its file; a `ConfigError` of a choice that the group does not have."""
    values = choice(group, name)
    target = locate(values.pop("_target_"))
    values.pop("name", None)
    listed, comments = options_of(target), file_comments(group, name)
    types = {} if listed else declared_types(target)
    rows = []
    for key, default in values.items():
        if option := listed.get(key):
            expected, help_text = option.expected_or_null, option.help
        else:
            expected, help_text = _expected(default, types.get(key)), comments.get(key, "")
        rows.append(OptionRow(f"{group}.{key}", show(default), expected, help_text))
    return rows


def file_comments(group: str, name: str) -> Mapping[str, str]:
    """The comment of every option in the file of a choice, followed by the comments of the choices that it builds
    on."""
    file = resources.files(CONF) / group / f"{name}.yaml"
    if not file.is_file():  # of another distribution, whose class says what there is to say
        return {}
    text = file.read_text(encoding="utf-8")
    comment_by_key: dict[str, str] = {}
    if defaults := re.search(r"^defaults:\n((?: +- .*\n)+)", text, re.MULTILINE):
        for below in re.findall(r"- (\w+)", defaults[1]):
            if below not in ("_self_", "override"):
                comment_by_key |= file_comments(group, below)
    return comment_by_key | dict(re.findall(r"^ *(\w+):[^#\n]*\S +# (.*)$", text, re.MULTILINE))


def _expected(default: Any, declared: Any) -> str:
    """Return the values that an option takes, where only its default, and perhaps a type, is known."""
    types = [t for t in get_args(declared) or (declared,) if t in WORDS]
    if default is not None and type(default) in WORDS and not str(default).startswith("${"):
        types = [type(default), *[t for t in types if t is NoneType]]
    return " or ".join(dict.fromkeys(WORDS[t] for t in types)) or "a value"
