"""Data sets, models and samplers of a configuration: names become code, and options are read, here and nowhere else.

A class that lists its ``OPTIONS`` declares what each takes. For any other, such as a user's own sampler or a function
that makes data, the types come from its file and its signature, and ranges are checked by what is constructed.
"""

import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

from splitmerge_cli.config import groups, hydra_adapter, schema
from splitmerge_cli.config.errors import ConfigError, show, unknown_key
from splitmerge_cli.core.options import Option, Text
from splitmerge_cli.data.dataset import Kind, get_kind
from splitmerge_cli.overrides import Accepts


@dataclass(frozen=True)
class Component:
    """A model or sampler of a run: `group`, its class `target`, `options` as that uses them, `values` as they are
    configured (``name`` and ``_target_`` among them), and `prefix`, what messages call the options: the group, or
    ``schedule.mix.NAME``."""

    group: str
    target: Any
    options: Mapping[str, Any]
    values: dict[str, Any]
    prefix: str

    def __hash__(self) -> int:
        return _hash(self.values)

    @property
    def name(self) -> str:
        """Its name in the group."""
        return str(self.values["name"])

    @property
    def as_typed(self) -> dict[str, Any]:
        """Its name and options, as they are configured."""
        return {key: value for key, value in self.values.items() if key != "_target_"}

    @property
    def title(self) -> str:
        """Name in messages."""
        return f"{self.group}={self.name}" if self.prefix == self.group else self.prefix

    @property
    def kind(self) -> Kind:
        """The kind of data that a model reads."""
        return get_kind(self.target.kind)

    @property
    def later(self) -> dict[str, Any]:
        """Defaults of the options that came later than runs (`Option.later`)."""
        return {option.name: option.default for option in getattr(self.target, "OPTIONS", ()) if option.later}

    def with_options(self, **options: Any) -> "Component":
        """Return the model or sampler with other options, read as its class lists them."""
        listed = options_of(self.target)
        read = {key: _read(listed[key], self.prefix, value) for key, value in options.items() if key in listed}
        return replace(self, options={**self.options, **options, **read}, values=self.values | options)


@dataclass(frozen=True)
class DataSource:
    """The data set of a run: its options as they are configured, ``name`` and ``_target_`` among them. Its code is
    imported when it is to be read: a run that was finished before needs none."""

    values: Mapping[str, Any]
    search_path: Sequence[str] = ()
    group: ClassVar[str] = "data"
    prefix: ClassVar[str] = "data"
    """Prefix of the options in messages."""

    def __hash__(self) -> int:
        return _hash(self.values)

    @property
    def name(self) -> str:
        """Its name in the group."""
        return str(self.values["name"])

    @property
    def title(self) -> str:
        """Name in messages."""
        return f"data={self.name}"

    @property
    def max_bytes(self) -> int | None:
        """Bytes of a file, unpacked, that are held in memory; None: a quarter of the memory."""
        return self.values.get("max_bytes")

    @property
    def options(self) -> dict[str, Any]:
        """Options that the function takes."""
        left_out = ("name", "_target_", *schema.SHARED["data"])
        return {key: value for key, value in self.values.items() if key not in left_out}

    @cached_property
    def function(self) -> Any:
        """The function that returns the `Dataset`."""
        return groups.target_of("data", self.name, self.values["_target_"])

    def with_options(self, **options: Any) -> "DataSource":
        """Return the data set with other options."""
        return replace(self, values={**self.values, **options})

    def check(self) -> None:
        """Check the types of the options by the file, and by the function where the file has null or an interpolation;
        a `ConfigError` of another type."""
        known = groups.choice("data", self.name, self.search_path)
        declared = declared_types(self.function)
        for key, value in self.options.items():
            _check_type(f"data.{key}", value, known[key], declared.get(key))


def read_data(name: str, options: Mapping[str, Any], search_path: Sequence[str] = ()) -> DataSource:
    """Read the options of the data set ``conf/data/NAME.yaml``, whose types `DataSource.check` checks; a `ConfigError`
    of an unknown option, and of a name or target that differs from the file's."""
    known = _file_options("data", name, search_path)
    values = _checked_names("data", name, options, known, "data")
    for key, declared in schema.SHARED["data"].items():
        if key in values:
            _check_type(f"data.{key}", values[key], known[key], declared)
    return DataSource({key: _like_default(value, known[key]) for key, value in values.items()}, search_path)


def read_component(
    group: str,
    name: str,
    options: Mapping[str, Any],
    search_path: Sequence[str] = (),
    prefix: str | None = None,
    like: Component | None = None,
) -> Component:
    """Read the options of the model or sampler ``conf/GROUP/NAME.yaml``; messages call them `prefix`, the group by
    default.

    What is the same in `like`, the same choice with other options, is not read again. A `ConfigError` of an unknown
    option, of one that the class does not take, and of another name or target than the file's; a class without
    ``OPTIONS`` takes the type of its file, or, where that is null or an interpolation, the type that it declares.
    """
    prefix = prefix or group
    known = _file_options(group, name, search_path)
    target = groups.target_of(group, name, known.get("_target_"))
    listed = options_of(target)
    declared = {} if listed else declared_types(target)
    values, typed = _checked_names(group, name, options, known, prefix), {}
    for key, value in values.items():
        if key in ("name", "_target_"):
            continue
        # True is no 1, and 1 is no 1.0
        if like is not None and key in like.options and repr(like.values[key]) == repr(value):
            typed[key] = like.options[key]
        elif key in listed:
            values[key] = _like_default(value, known[key])
            typed[key] = _read(listed[key], prefix, values[key])
        else:
            values[key] = typed[key] = _check_type(f"{prefix}.{key}", value, known[key], declared.get(key))
    return Component(group, target, typed, values, prefix)


@cache
def component(group: str, name: str, **options: Any) -> Component:
    """Return a packaged model or sampler with the options of its file, but those that are given."""
    return read_component(group, name, groups.choice(group, name) | options)


@cache
def classes(group: str) -> dict[str, Any]:
    """Return the classes of all models or samplers that can be used, by name."""
    return {name: class_of(group, name) for name in groups.usable_choices(group)}


def class_of(group: str, name: str) -> Any:
    """Return the class of a packaged model or sampler."""
    return groups.target_of(group, name, groups.choice(group, name)["_target_"])


def gibbs_update(conjugate: bool, scan: str = "full") -> Component:
    """Return the Gibbs update of a collapsed (`conjugate`) or uncollapsed model: of all items, or of one (``site``)."""
    return component("sampler", "gibbs" if conjugate else "neal8", scan=scan)


def _file_options(group: str, name: str, search_path: Sequence[str]) -> dict[str, Any]:
    """The options of a choice as its file gives them, name and shared ones among them."""
    return {"name": name} | groups.choice(group, name, search_path) | groups.shared_options(group)


def _checked_names(
    group: str, name: str, options: Mapping[str, Any], known: Mapping[str, Any], prefix: str
) -> dict[str, Any]:
    """The options, each known, with name and target as in the file."""
    for key, value in options.items():
        if key in ("name", "_target_"):
            if value != known[key]:
                raise ConfigError(f"{prefix}.{key}={show(value)}: expected {known[key]}, which {group}={name} sets")
            if not isinstance(value, str) or not re.fullmatch(r"\w[\w.+-]*", value):
                raise ConfigError(f"{group}={name}: {key}={show(value)}: expected letters, digits and ._+- alone")
        elif key not in known:
            named = [k for k in known if k not in ("name", "_target_")] + ["weight"] * prefix.startswith("schedule.mix")
            raise ConfigError(unknown_key(f"{prefix}.{key}", [f"{prefix}.{k}" for k in named]))
    return {"name": name} | dict(options)


def _hash(values: Mapping[str, Any]) -> int:
    return hash(json.dumps(values, sort_keys=True, default=str))


def options_of(target: Any) -> dict[str, Option]:
    """The options that a class lists, by name; empty if it lists none."""
    return {option.name: option for option in getattr(target, "OPTIONS", ())}


def _like_default(value: Any, default: Any) -> Any:
    """A whole number as a float where the default is one, or a prior."""
    of_floats = isinstance(default, float) or (isinstance(default, str) and default.startswith("gamma("))
    try:
        return float(value) if of_floats and type(value) is int else value
    except OverflowError:  # its range is checked where it is read
        return value


def _read(option: Option, prefix: str, value: Any) -> Any:
    """The value as the class uses it."""
    try:
        return option.read(value, prefix)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def declared_types(target: Any) -> dict[str, Any]:
    """Types that the parameters of a function or class are declared to have, where they are."""
    try:
        return get_type_hints(target if inspect.isfunction(target) else target.__init__)
    except Exception:  # annotations may name what cannot be imported
        return {}


def types_of_key(key: str, chosen: Mapping[str, str], search_path: Sequence[str] = ()) -> Accepts | None:
    """Find the types that a key (``out``, ``data.path``) takes with the choices of each group; None if it takes no
    text, or nothing says what it takes."""
    group, dot, option = key.partition(".")
    listed: Mapping[str, Option] = {}
    if not dot or group not in ("data", "model", "sampler"):
        listed, option = dict(schema.all_keys()), key
    else:
        try:
            known = groups.choice(group, chosen.get(group, ""), search_path)
            if option not in known or isinstance(known[option], bool | int | float):
                return None
            target = groups.target_of(group, chosen[group], known.get("_target_"))
        except ConfigError:  # whoever reads the configuration says what is wrong
            return None
        listed = options_of(target)
    if listed:
        one = listed.get(option)
        return Accepts(text=True, null=one.optional, path=one.is_path) if isinstance(one, Text) else None
    accepted = _types_of_declaration(declared_types(target).get(option))
    if accepted is None or not _takes_text(accepted):
        return None
    return replace(accepted, null=accepted.null or known[option] is None)


def _types_of_declaration(declared: Any) -> Accepts | None:
    """The types of a declaration; None if it has others."""
    fields: dict[str, Any] = {}
    for part in (declared,) if get_origin(declared) in _CONTAINERS else get_args(declared) or (declared,):
        origin = get_origin(part)
        inner = tuple(_types_of_declaration(one) for one in get_args(part)) if origin in _CONTAINERS else (None,)
        if part in _FIELDS:
            fields |= _FIELDS[part]
        elif None in inner:
            return None
        else:
            fields |= {"entries": inner} if origin is Mapping else {"items": inner[0]}
    return Accepts(**fields)


def _takes_text(types: Accepts) -> bool:
    inside = [types.items, *(types.entries or ())]
    return types.text or any(one is not None and _takes_text(one) for one in inside)


_FIELDS: dict[Any, dict[str, Any]] = {
    str: {"text": True},
    Path: {"text": True, "path": True},
    int: {"whole": True},
    float: {"number": True},
    bool: {"flag": True},
    NoneType: {"null": True},
}
_CONTAINERS = (Sequence, Mapping)


def takes_list(key: str) -> bool:
    """Whether an option of some choice, such as ``data.drop``, takes a list."""
    group, _, option = key.partition(".")
    for name in groups.choices(group) if group in ("data", "model", "sampler") else ():
        values = groups.choice(group, name)
        if option not in values:
            continue
        target = groups.target_of(group, name, values["_target_"])
        if option in (listed := options_of(target)):
            return "list" in listed[option].type
        declared = declared_types(target).get(option)
        if any(get_origin(part) is Sequence for part in (declared, *get_args(declared))):
            return True
    return False


WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a name or text",
    bool: "true or false",
    NoneType: "null",
}


def _check_type(key: str, value: Any, default: Any, declared: Any = None) -> Any:
    """`value`, checked to be of the type of `default`, where that is text or a list also of one that is `declared`; or
    as `declared` if the default is null or an interpolation."""
    if default is None or (isinstance(default, str) and ("${" in default or default == "???")):
        types = [t for t in get_args(declared) or (declared,) if t is not Path]
        types += [NoneType] * (default is None)
        fits = type(value) in types or (type(value) is int and float in types)
        if not fits and all(t in WORDS for t in types) and types != [NoneType]:
            raise ConfigError(f"{key}={show(value)}: expected {' or '.join(dict.fromkeys(WORDS[t] for t in types))}")
        return value
    if isinstance(default, bool):
        good, expected = isinstance(value, bool) or type(value) in get_args(declared), "true or false"
    elif isinstance(default, float):
        number = type(value) in (int, float) and abs(value) <= sys.float_info.max
        good, expected = number or type(value) in get_args(declared), "a number"
        value = float(value) if number else value
    elif isinstance(default, int):
        good, expected = type(value) is int, "a whole number"
    else:
        # auto may also be what else is declared: true or false, the number of a column, null
        good = isinstance(value, type(default)) or type(value) in get_args(declared)
        expected = f"a value such as {default}"
    if not good:
        raise ConfigError(f"{key}={show(value)}: expected {expected}")
    return value


class OptionRow(NamedTuple):
    """An option of a choice, in words: `key` as it is typed, GROUP.OPTION, and the `default` of the choice's file."""

    key: str
    default: str
    expected: str
    help: str


def title(group: str, name: str) -> str:
    """Return the line that describes a choice."""
    return dict(groups.describe(group))[name]


def option_rows(group: str, name: str) -> list[OptionRow]:
    """The options of a choice, in the order of its file; a `ConfigError` of a choice that the group does not have."""
    values = groups.choice(group, name)
    target = groups.locate(values.pop("_target_"))
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
    file = resources.files(hydra_adapter.CONF) / group / f"{name}.yaml"
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
