"""Catalogue of options and their values, derived from the places where the program declares them.

Keys come from `splitmerge_cli.config.schema` and from the files of the groups; types from annotations; names from
docstrings (``{"a", "b"}``); limits from what a class or function says when a number is out of its range. Values are
those that it takes when it is called with all others as they are. So a new key, sampler, model or data set is fuzzed
without being named here. Only the user's own files are written out (`written`).
"""

import ast
import inspect
import math
import re
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

import written

from splitmerge_cli import config, runs
from splitmerge_cli.config import schema
from splitmerge_cli.config.components import declared_types
from splitmerge_cli.core.options import Choice as OneOf
from splitmerge_cli.core.options import (
    Count,
    Flag,
    Number,
    Numbers,
    NumbersOrGamma,
    Option,
    PositiveOrGamma,
    Resolution,
)
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data import downloads
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.priors import PriorOption

SMALL = 20
"""Size of generated data, and what their sizes are cut to."""
MOST = 60
"""Largest size, and count, of a configuration that is to run."""
DEAR = 10_000
"""Largest count that is used at all; one such is enough for a configuration."""

Values = list[str]


@dataclass(frozen=True)
class Choice:
    """A choice of a group, or a file for one.

    Attributes
    ----------
    overrides : tuple of str
        What chooses it, small.
    kind : str
        Of the data that it makes or reads; empty for samplers.
    options : dict of str to list of str
        Values by the name of the key.
    models : frozenset of str
        Models that read the data, or that a sampler supports.
    truth : bool
        Whether the true clusters are known.
    """

    overrides: tuple[str, ...]
    kind: str
    options: dict[str, Values]
    models: frozenset[str] = frozenset()
    truth: bool = False


@dataclass(frozen=True)
class Catalogue:
    """All of it."""

    top: dict[str, Values]
    """Values of the schema's keys."""
    data: dict[str, Choice]
    models: dict[str, Choice]
    samplers: dict[str, Choice]
    schedules: Values
    experiments: Values
    keys: Values
    """Names of all keys."""
    files: Values
    """Files of the user's own that are there."""


def show(value: Any) -> str:
    """A value in Hydra's grammar."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(show, value))}]"
    return config.show(value)


def derive() -> Catalogue:
    """The catalogue of the working folder, into which small files and copies of published sets are written."""
    files = written.all_files(Path())
    data = _data(files)
    models, built = _models(data)
    samplers = _samplers(built)
    top = {key: [show(value) for value in _of_option(option)] for key, option in schema.all_keys()}
    groups = ("data", "model", "sampler")
    keys = [*top, *config.GROUPS]
    for group in groups:
        keys += [f"{group}.{key}" for name in config.choices(group) for key in config.choice(group, name)]
    top["init"] = [*schema.INITIAL, "null", "labels.txt"]
    return Catalogue(
        top,
        data,
        models,
        samplers,
        [name for name in config.choices("schedule") if name != "mix"],
        list(config.choices("experiment")),
        sorted(set(keys)),
        sorted(str(path) for path in Path().rglob("*") if path.is_file()),
    )


def _of_option(option: Option) -> list[Any]:
    """Small and extreme values of a key in the schema."""
    values: list[Any] = [None] if option.optional else []
    if isinstance(option, OneOf):
        return values + list(option.choices)
    if isinstance(option, Flag):
        return [*values, True, False]
    if isinstance(option, Number):
        return [*values, option.most / 1e12, 0.01, 0.05, 1, option.most]
    if isinstance(option, Count):
        return [*values, option.least, option.least + 1, 3, 7, SMALL, MOST, option.most]
    return values


def _candidates(
    key: str, default: Any, types: set[Any], words: list[Any], limits: list[float], size: bool
) -> list[Any]:
    """Values that an option may take, by what is declared of it."""
    values: list[Any] = [default, *words]
    if bool in types:
        values += [True, False]
    if NoneType in types:
        values.append(None)
    if int in types or float in types:
        whole = float not in types or size
        near = [limit * factor for limit in limits for factor in (1, 0.5, 2)]
        near += [limit + d for limit in limits for d in (-1, 1)]
        numbers = [0, 1, 2, 3, 5, SMALL, 0.001, 0.5, 10.0, 1e-100, 1e100, -1.5, *near]
        if isinstance(default, int | float) and not isinstance(default, bool):
            numbers += [default / 2, default * 2]
        for number in numbers:
            if not whole:
                values.append(float(number))
            elif math.isfinite(number) and number == int(number) and abs(number) <= (MOST if size else DEAR):
                values.append(int(number))
    if list in types:
        values += [[0, 1], [0.5, 1.5], [1, 1], [2], [4, 6], [[0.0, 1.0], [2.0, -1.0]]]
    return values


OF_OPTIONS: dict[type, tuple[type, ...]] = {
    Flag: (bool,),
    OneOf: (str,),
    Count: (int,),
    Number: (float,),
    Numbers: (float, list),
    NumbersOrGamma: (float, list, str),
    PositiveOrGamma: (float, str),
    PriorOption: (str,),
    Resolution: (float, list, str),
}
"""Types that an option's values may have."""


def _declarations(target: Any) -> tuple[dict[str, set[Any]], dict[str, list[Any]]]:
    """Types and names of a class's or function's parameters: from its annotations and its docstring."""
    types: dict[str, set[Any]] = {}
    words: dict[str, list[Any]] = {}
    by_name = {"int": int, "float": float, "bool": bool, "str": str, "list": list, "sequence": list}
    by_name |= {"optional": NoneType, "None": NoneType}
    for names, said in re.findall(r"^(\w+(?:, \w+)*) : (.+)$", inspect.getdoc(target) or "", re.MULTILINE):
        for name in names.split(", "):
            found = set(re.findall(r"\w+", re.sub(r"\{.*?\}", "", said)))
            types[name] = {by_name[word] for word in found if word in by_name}
            if enumerated := re.search(r"\{.*?\}", said):
                words[name] = sorted(ast.literal_eval(enumerated[0]), key=str)
    for option in getattr(target, "OPTIONS", ()):
        found = {kind for cls, kinds in OF_OPTIONS.items() if isinstance(option, cls) for kind in kinds}
        types[option.name] = found | ({NoneType} if option.optional else set())
        if isinstance(option, OneOf):
            words[option.name] = sorted(option.choices)
        elif isinstance(option, Resolution):
            words[option.name] = ["auto", "none"]
        elif isinstance(option, PositiveOrGamma | NumbersOrGamma):
            words[option.name] = ["gamma(1,1)", "gamma(0.5,2)", "gamma(1e-3,1e-3)", "gamma(100, 1)"]
            words[option.name] += ["hierarchical"] * (option.hierarchical is not None)
    for name, hint in declared_types(target).items():
        parts = [hint, *get_args(hint)]
        known = {part for part in parts if part in (int, float, bool, str, NoneType)}
        known |= {list for part in parts if "Sequence" in str(get_origin(part))}
        types[name] = types.get(name, set()) | known
    return types, words


def _options(group: str, name: str, base: dict[str, Any], build: Any) -> dict[str, Values]:
    """Values that `build` takes for each option of a choice, every other option as in `base`."""
    types, words = _declarations(config.locate(config.choice(group, name)["_target_"]))
    found: dict[str, Values] = {}
    for key, default in base.items():
        size = group == "data" and isinstance(default, int) and not isinstance(default, bool)
        of = types.get(key, set()) | ({type(default)} if default is not None else set())
        limits = _limits(key, base, of, build)
        good: dict[str, None] = {}
        names = [*words.get(key, []), *_accepted_names(key, base, of, build)]
        for value in _candidates(f"{group}.{key}", default, of, names, limits, size):
            if show(value) not in good and _takes(base | {key: value}, build):
                good[show(value)] = None
        found[key] = list(good)
    return found


def _takes(options: dict[str, Any], build: Any) -> bool:
    try:
        build(options)
    except Exception:
        return False
    return True


def _limits(key: str, base: dict[str, Any], types: set[Any], build: Any) -> list[float]:
    """Numbers in the message about a value that is far out of its range."""
    found: list[float] = []
    for value in [-1e300, 1e300] if float in types else [-(10**30), 10**30] if int in types else []:
        try:
            build(base | {key: value})
        except Exception as error:
            expected = str(error).partition("expected")[2]
            found += [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", expected)]
    return found


def _accepted_names(key: str, base: dict[str, Any], types: set[Any], build: Any) -> list[Any]:
    """Words in the message about an unknown name, and lists of two of them."""
    if str not in types and list not in types:
        return []
    try:
        build(base | {key: "no such name"})
    except Exception as error:
        words = re.findall(r"[\w-]+", str(error).partition("expected")[2])[:12]
        return [*words, *([words[:1], words[:2], words[1::-1]] if list in types else [])]
    return []


def _data(files: dict[str, tuple[str, ...]]) -> dict[str, Choice]:
    """Data sets that are generated, are here, or have a small copy; and those of the user's own files."""
    found: dict[str, Choice] = {}
    for name in config.choices("data"):
        options = config.choice("data", name)
        target = config.locate(options.pop("_target_"))
        del options["name"]
        if "path" in options:
            continue
        small = {key: _cut(value) for key, value in options.items()}
        if name in downloads.SETS and not downloads.present(name):
            continue
        if name in downloads.SETS:
            small = {key: None if value == "${N}" else value for key, value in options.items()}

        def build(given: dict[str, Any], target: Any = target) -> Dataset:
            return target(**given)

        changed = [f"data.{key}={show(value)}" for key, value in small.items() if value != options[key]]
        changed = [override for override in changed if "${N}" not in str(options[override[5:].partition("=")[0]])]
        values = _options("data", name, small, build)
        for key, value in options.items():
            if value == "${N}":
                values.pop(key, None)
        found[name] = _make_choice((f"data={name}", *changed), build(small), values)
    for name, overrides in files.items():
        data = next(o.partition("=")[2] for o in overrides if o.startswith("data="))
        options = {key: value for key, value in config.choice("data", data).items() if key not in ("name", "_target_")}
        given = {o.partition("=")[0]: o.partition("=")[2] for o in overrides}
        base = {key: _read(given.get(f"data.{key}", show(value))) for key, value in options.items()} | {"N": None}
        model = given.get("model")
        if "kind" in base:
            base["kind"] = str(config.locate(config.choice("model", str(model))["_target_"]).kind)
        target = config.locate(config.choice("data", data)["_target_"])
        made = target(**base)
        values = _options("data", data, base, lambda options, target=target: target(**options))
        for key in ("N", "path", "kind", *(o.partition("=")[0][5:] for o in overrides)):
            values.pop(key, None)
        found[f"{data}:{name}"] = _make_choice(tuple(overrides), made, values)
    return found


def _make_choice(overrides: tuple[str, ...], made: Dataset, options: dict[str, Values]) -> Choice:
    """A choice of data, with the models that read them."""
    models = set()
    for name in config.choices("model"):
        given = {key: value for key, value in config.choice("model", name).items() if key != "name"}
        cls = config.locate(given.pop("_target_"))
        if cls.accepts(made)[0] and _takes(given, lambda given, cls=cls: cls.from_data(made, **given)):
            models.add(name)
    if chosen := [o.partition("=")[2] for o in overrides if o.startswith("model=")]:
        models &= {*chosen}
    return Choice(overrides, made.kind.name, options, frozenset(models), made.truth is not None)


def _read(text: str) -> Any:
    """The value that an override stands for."""
    if text in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[text]
    if text.startswith("["):
        return [part.strip() for part in text[1:-1].split(",")]
    return ast.literal_eval(text) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else text


def _cut(value: Any) -> Any:
    """An option of generated data, its sizes made small."""
    if value == "${N}":
        return SMALL
    return SMALL if type(value) is int and value > SMALL else value


def _models(data: dict[str, Choice]) -> tuple[dict[str, Choice], dict[str, Any]]:
    found: dict[str, Choice] = {}
    built: dict[str, Any] = {}
    for name in config.choices("model"):
        options = config.choice("model", name)
        cls = config.locate(options.pop("_target_"))
        del options["name"]
        source = next(choice for choice in data.values() if name in choice.models)
        composed = config.compose([*source.overrides, f"model={name}", f"N={SMALL}"])
        dataset = runs.prepare(composed).dataset

        def build(given: dict[str, Any], cls: Any = cls, dataset: Dataset = dataset) -> Any:
            return cls.from_data(dataset, **given)

        found[name] = Choice((f"model={name}",), cls.kind, _options("model", name, options, build))
        built[name] = build(options)
    return found, built


def _samplers(models: dict[str, Any]) -> dict[str, Choice]:
    found: dict[str, Choice] = {}
    for name in config.choices("sampler"):
        options = config.choice("sampler", name)
        cls = config.locate(options.pop("_target_"))
        del options["name"]
        supports = [model for model, built in models.items() if cls.supports(built)[0]]
        values: dict[str, Values] = {key: [show(value)] for key, value in options.items()}
        for model in supports[:1]:

            def build(given: dict[str, Any], cls: Any = cls, model: Any = models[model]) -> Any:
                return cls(model, Rng(0, 0), **given)

            values = _options("sampler", name, options, build)
        found[name] = Choice((f"sampler={name}",), "", values, frozenset(supports))
    return found
