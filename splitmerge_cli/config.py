"""The configuration: composed by Hydra, checked against a schema, explained when it is wrong."""

import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_type_hints

import hydra
import yaml
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from splitmerge_cli import moved

GROUPS = ("data", "model", "sampler", "schedule")
"""Groups whose choices are files of ``conf/GROUP``."""

RUNTIME_KEYS = ("resume", "workers", "out", "progress", "experiment")
"""Keys that change nothing that is computed, so they are no part of a run's identity."""

SHARED = {"data": {"max_bytes": int | None}}
"""Options that all choices of a group have, and their types; they stand in ``conf/config.yaml`` and, as the keys above,
change nothing that is computed."""

DEFAULT_ITERATIONS = 10_000
DEFAULT_SCANS = 1_000
"""The same of documents, of which an iteration costs as much as they have tokens."""

DEFAULT_WARMUP = 50
"""Gibbs scans before samplers that learn from the chains' past (paper 003, section 3)."""

_REQUIRED = {"data": (), "model": ("kind", "from_data"), "sampler": ("MOVES", "supports")}
"""What the ``_target_`` of a group has, beside that it can be called."""

_WEIGHTS = (1e-100, 1e100)
"""Smallest and largest weight in a schedule: any sum and any share of such weights is a number."""


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and what was expected."""


# sizes are int32, counts of iterations exact in float64
Size = Annotated[int, Field(strict=True, ge=1, lt=2**31)]
Count = Annotated[int, Field(strict=True, ge=1, le=2**53)]
Natural = Annotated[int, Field(strict=True, ge=0, le=2**53)]
Few = Annotated[int, Field(strict=True, ge=1, le=10_000)]
Flag = Annotated[bool, Field(strict=True)]
Options = dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """What is recorded beside the trace."""

    partitions: Natural
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Perplexity:
    """How well held-out documents are predicted, and how often that is evaluated."""

    every: Natural
    method: Literal["completion", "left_to_right", "sequential", "fold_in"]
    particles: Few
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Schema:
    """Keys of the configuration, their types and ranges; ``conf/config.yaml`` says what each means."""

    N: Size | None
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)]
    chains: Few
    iterations: Count | None
    budget: Annotated[float, Field(strict=True, gt=0, le=1e9)] | None
    thin: Count
    K0: Size | None
    init: str | None
    warmup: Natural | None
    trace: Trace
    perplexity: Perplexity
    timing: Flag
    resume: Flag
    workers: Few | None
    out: str
    progress: Literal["auto", "bars", "lines", "none"]
    experiment: str | None
    data: Options
    model: Options
    sampler: Options
    schedule: Options
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


_SCHEMA = TypeAdapter(Schema)


@contextmanager
def hydra_session() -> Iterator[None]:
    """Make Hydra's compose API available on the packaged ``conf``; nests."""
    if GlobalHydra.instance().is_initialized():
        yield
    else:
        with hydra.initialize_config_module("splitmerge_cli.conf", version_base="1.3"):
            yield


def places(config_dir: str | Path | None) -> list[str]:
    """Hydra's search path beside ``conf``, which `choices` and `choice` take.

    It has the papers of the package that bring their own experiments, then a user's own configuration folder.

    Raises
    ------
    ConfigError
        The folder does not exist.
    """
    if config_dir is None:
        return _papers()
    folder = Path(config_dir).resolve()
    if not folder.is_dir():
        raise ConfigError(f"--config-dir {config_dir}: no such folder")
    return [*_papers(), f"file://{folder}"]


def _papers() -> list[str]:
    """The sub-packages of ``splitmerge_cli.papers`` that hold a folder ``experiment``."""
    package = importlib.import_module("splitmerge_cli.papers")
    folders = sorted(Path(place) for place in package.__path__)
    found = sorted(folder.parent.name for place in folders for folder in place.glob("*/experiment"))
    return [f"pkg://{package.__name__}.{name}" for name in found]


def search_path_overrides(config_dir: str | Path | None) -> list[str]:
    """Hydra overrides that add a user's own configuration folder to the search path; raises as `places`."""
    return _search_path(places(config_dir))


def _search_path(search_path: Sequence[str]) -> list[str]:
    return [f"hydra.searchpath={list(search_path)}"] if search_path else []


def import_beside(search_path: Iterable[str]) -> None:
    """Let modules of the user's own be imported that lie beside the configurations that name them."""
    for folder in (place.removeprefix("file://") for place in search_path if place.startswith("file://")):
        if folder not in sys.path:
            sys.path.append(folder)


def rewrite(overrides: Iterable[str]) -> list[str]:
    """Turn ``schedule=[{sdds: 1}, {gibbs: 1}]`` and ``gamma(1,2)`` into what Hydra's grammar accepts."""
    rewritten: list[str] = []
    for override in overrides:
        key, _, value = override.partition("=")
        if key == "schedule" and value.lstrip().startswith("["):
            rewritten += ["schedule=mix", f"schedule.mix={value}"]
        else:
            rewritten.append(quote_priors(override))
    return rewritten


_QUOTED_OR_PRIOR = re.compile(r"""('[^']*'|"[^"]*")|\bgamma\([^()'"]*\)""")


def quote_priors(override: str) -> str:
    """Put each ``gamma(1,2)`` of an override into quotes, which Hydra's grammar wants of text with brackets."""
    return _QUOTED_OR_PRIOR.sub(lambda found: found[0] if found[1] else f"'{found[0]}'", override)


def compose(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> DictConfig:
    """Compose, check and resolve the configuration of one run.

    Parameters
    ----------
    overrides : sequence of str
        ``KEY=VALUE`` in Hydra's grammar; ``schedule`` also takes a weighted list.
    config_dir : str or Path, optional
        A folder with the user's own groups, searched after the packaged ones.

    Returns
    -------
    DictConfig
        Resolved: no interpolations, defaults of `iterations`, `init` and `warmup` filled in, names of samplers in a
        weighted list replaced by their configurations. Read-only.

    Raises
    ------
    ConfigError
        An unknown key or choice (the message suggests the nearest), a value of the wrong type or out of range.
    """
    with hydra_session():
        composed = compose_raw(overrides, config_dir)
        body = OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"])
        return finish(body, composed.hydra)


def compose_raw(overrides: Sequence[str], config_dir: str | Path | None = None) -> DictConfig:
    """What Hydra composes, its own node included, neither checked nor resolved.

    Raises
    ------
    ConfigError
        An unknown key or choice, or an override that cannot be read.
    """
    with hydra_session():
        search_path = search_path_overrides(config_dir)
        overrides = rewrite(overrides)
        try:
            _check_overrides(overrides, places(config_dir))
            return hydra.compose("config", overrides=[*overrides, *search_path], return_hydra_config=True)
        except ConfigError:
            raise
        except Exception as error:  # Hydra raises all kinds on a file that is no configuration
            raise ConfigError(_explain(error, overrides, search_path)) from error


def _check_overrides(overrides: Sequence[str], search_path: Sequence[str]) -> None:
    """Check what Hydra's grammar allows and no configuration can be: groups without a name, keys left out."""
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        key, value = override.key_or_group, override.value()
        if override.is_delete():
            raise ConfigError(f"~{key}: expected KEY=VALUE; no key may be left out")
        if override.is_sweep_override():
            continue  # Hydra says so
        if key in (*GROUPS, "experiment") and override.package is None:
            offered = choices(key, search_path)
            if value not in offered:
                raise ConfigError(_unknown(key, show(value), offered))
        elif not key or key == "hydra":
            raise ConfigError(f"{override.input_line}: expected KEY=VALUE")


def finish(body: DictConfig, hydra_config: Any) -> DictConfig:
    """Check and resolve what Hydra composed.

    Parameters
    ----------
    body : DictConfig
        The configuration without its ``hydra`` node.
    hydra_config : DictConfig or HydraConf
        That node: the choices made in each group, and the search path.

    Raises
    ------
    ConfigError
        See `compose`.
    """
    chosen = dict(hydra_config.runtime.choices)
    search_path = tuple(hydra_config.searchpath)
    import_beside(search_path)
    try:
        values = plain(body, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise ConfigError(f"{error.full_key}: a value is needed: {error.full_key}=VALUE") from error
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{error.full_key}: {reason}" if error.full_key else reason) from error
    values["experiment"] = chosen.get("experiment")
    if values["experiment"]:
        values.pop("reproduce", None)  # what `smcmc reproduce` runs of it, no key of a run
    _validate(values)
    for group in ("data", "model", "sampler"):
        values[group] = check_options(group, chosen[group], values[group], search_path)
    if values["schedule"].get("mix") is not None:
        for override in hydra_config.overrides.task:
            if re.match(r"[+]*sampler[.=]", override):
                raise ConfigError(
                    f"{override}: expected no sampler beside those of schedule=[...], which stand in its place"
                )
    _resolve_schedule(values, search_path)
    _resolve_start(values)
    if values["iterations"] is None and values["budget"] is None:
        of_documents = locate(values["model"]["_target_"]).kind == "documents"
        values["iterations"] = DEFAULT_SCANS if of_documents else DEFAULT_ITERATIONS
    if values["budget"] is not None and not values["timing"]:
        raise ConfigError("timing=false: expected true, because budget is counted in seconds of sampling")
    every = values["perplexity"]["every"]
    if values["iterations"] is not None and every > values["iterations"]:
        raise ConfigError(f"perplexity.every={every}: expected at most {values['iterations']}, the iterations")
    resolved = OmegaConf.create(values)
    OmegaConf.set_readonly(resolved, True)
    return resolved


@cache
def _packaged_targets() -> frozenset[str]:
    """The ``_target_`` of every file of the packaged groups."""
    named: set[str] = set()
    for group in _REQUIRED:
        for file in (resources.files("splitmerge_cli.conf") / group).iterdir():
            if file.name.endswith(".yaml"):
                named |= set(re.findall(r"^ *_target_: *(\S+)", file.read_text(encoding="utf-8"), re.MULTILINE))
    return frozenset(named)


_own_targets: set[str] = set()
"""The same of the files of ``--config-dir`` that were chosen; filled by `choice`."""


def locate(path: Any) -> Any:
    """The class or function that ``_target_`` names: the one place where a name of a configuration becomes code.

    Only what a packaged file of configuration names is imported, or one of the folder that ``--config-dir`` gave:
    whatever a stored or received configuration says, nothing else is.

    Raises
    ------
    ConfigError
        No such file names it, or there is no such thing to import.
    """
    _check_dotted(path)
    if path not in _packaged_targets() | _own_targets:
        raise ConfigError(
            f"_target_={path}: not imported; expected one that a file of the package's configuration names, or of the "
            "folder that --config-dir gives"
        )
    return load(path)


def _check_dotted(path: Any) -> None:
    if not isinstance(path, str) or not all(part.isidentifier() for part in path.split(".")) or "." not in path:
        raise ConfigError(f"_target_={show(path)}: expected MODULE.NAME of a class or function")


def load(path: Any) -> Any:
    """Import ``MODULE.NAME``, which this invocation itself asks for; a `ConfigError` where that is not possible."""
    _check_dotted(path)
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # a module of the user's own may raise anything
        raise ConfigError(f"_target_={path}: cannot be imported: {_one_line(error)}") from error


def check_stored(config: Mapping[str, Any], file: Path, config_dir: str | Path | None = None) -> dict[str, Any]:
    """Check the configuration that a run's folder holds, as one that is given is checked: a folder may come from
    anywhere.

    Parameters
    ----------
    config : mapping
        What ``config.yaml`` of the run holds.
    file : Path
        That file, for messages.
    config_dir : str or Path, optional
        The folder of the user's own groups that this invocation names.

    Returns
    -------
    dict
        The configuration, every option of the type that it must have.

    Raises
    ------
    ConfigError
        A data set, model or sampler that is neither the package's nor of `config_dir`, with another target than its
        file has, or with options that it does not have; any other key that is not as `Schema` says.
    """
    search_path = places(config_dir)
    import_beside(search_path)
    checked = {str(key): value for key, value in config.items()}
    try:
        _validate(checked)
        mix = checked["schedule"].get("mix")
        for group in ("data", "model") if mix is not None else _REQUIRED:
            checked[group] = _check_whole(group, checked[group], search_path)
        for key in ("name", "mix"):
            if key not in checked["schedule"]:
                raise ConfigError(f"schedule.{key}: a value is needed")
        if mix is not None:
            if not isinstance(mix, list) or not mix:
                raise ConfigError(f"schedule.mix={show(mix)}: expected samplers with their options")
            checked["schedule"] = {"name": "mix", "mix": [_check_entry(entry, search_path) for entry in mix]}
        elif checked["schedule"].get("name") not in choices("schedule"):
            raise ConfigError(_unknown("schedule", show(checked["schedule"].get("name")), choices("schedule")))
    except ConfigError as error:
        own = "" if config_dir is not None else " (choices of your own: --config-dir)"
        raise ConfigError(f"{file}: {error}{own}") from error
    return checked


def _check_whole(
    group: str, options: Mapping[str, Any], search_path: Sequence[str], prefix: str | None = None
) -> dict[str, Any]:
    """The stored options of a choice, checked to be all that it has; parameters and errors as `check_options`."""
    name = _chosen(options)
    checked = check_options(group, name, options, search_path, prefix)
    if missing := [key for key in choice(group, name, search_path) if key not in options]:
        raise ConfigError(f"{prefix or group}.{missing[0]}: a value is needed")
    return checked


def _chosen(options: Mapping[str, Any]) -> str:
    """The name of a choice as stored options say it."""
    name = options.get("name")
    if not isinstance(name, str):
        raise ConfigError(f"name={show(name)}: expected a name")
    return name


def _check_entry(entry: Any, search_path: Sequence[str]) -> dict[str, Any]:
    """A sampler of a stored weighted list, checked."""
    if not isinstance(entry, dict):
        raise ConfigError(f"schedule.mix: {show(entry)}: expected samplers with their options")
    name = _chosen(entry)
    options = {key: value for key, value in entry.items() if key != "weight"}
    prefix = f"schedule.mix.{name}"
    checked = _check_whole("sampler", options, search_path, prefix)
    return {"weight": _weight(f"{prefix}.weight", entry.get("weight"))} | checked


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


def plain(node: DictConfig, resolve: bool = True, throw_on_missing: bool = False) -> dict[str, Any]:
    """A configuration as plain values."""
    values = OmegaConf.to_container(node, resolve=resolve, throw_on_missing=throw_on_missing)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def identity(cfg: DictConfig) -> dict[str, Any]:
    """The part of a resolved configuration that determines what is computed, as plain values.

    How held-out documents are evaluated is no part of it where that is never done.
    """
    left_out = RUNTIME_KEYS if cfg.perplexity.every else (*RUNTIME_KEYS, "perplexity")
    values = {key: value for key, value in plain(cfg).items() if key not in left_out}
    values["data"] = moved.under_first_names(values["data"])
    return {key: unshared(key, value) if key in SHARED else value for key, value in values.items()}


def unshared(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a choice without those that all choices of its group have."""
    return {key: value for key, value in options.items() if key not in SHARED.get(group, {})}


def shared(group: str) -> dict[str, Any]:
    """The options that all choices of a group have, with their defaults."""
    if group not in SHARED:
        return {}
    composed = _composed(group, choices(group)[0], ())
    return {key: composed[key] for key in SHARED[group]}


def choices(group: str, search_path: Sequence[str] = ()) -> list[str]:
    """Names that a group offers: ``choices("sampler")``."""
    return list(_choices(group, tuple(search_path)))


@cache
def _choices(group: str, search_path: tuple[str, ...]) -> tuple[str, ...]:
    with hydra_session():
        loader = GlobalHydra.instance().config_loader()
        options = loader.get_group_options(group, config_name="config", overrides=_search_path(search_path))
        return tuple(sorted(options))


def choice(group: str, name: str, search_path: Sequence[str] = ()) -> dict[str, Any]:
    """The options of one choice as its file gives them, interpolations unresolved; see `shared` for what it shares.

    Raises
    ------
    ConfigError
        The group has no such choice.
    """
    return unshared(group, _composed(group, name, tuple(search_path)))


@cache
def _composed(group: str, name: str, search_path: tuple[str, ...]) -> dict[str, Any]:
    with hydra_session():
        if name not in (offered := choices(group, search_path)):
            raise ConfigError(_unknown(group, name, offered))
        try:
            composed = hydra.compose("config", overrides=[f"{group}={name}", *_search_path(search_path)])
            options = plain(composed[group], resolve=False)
        except Exception as error:  # as in `compose_raw`
            raise ConfigError(_explain(error, [f"{group}={name}"], _search_path(search_path))) from error
    if "_target_" in options:
        options["_target_"] = moved.current(options["_target_"])
    if search_path and isinstance(target := options.get("_target_"), str):
        _own_targets.add(target)
    return options


def describe(group: str) -> list[tuple[str, str]]:
    """Name and first line of comment of each choice of a group."""
    folder = resources.files("splitmerge_cli.conf") / group
    described = []
    for name in choices(group):
        lines = (folder / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
        comments = [line.lstrip("# ") for line in lines if line.startswith("#") and "@package" not in line]
        described.append((name, comments[0] if comments else ""))
    return described


def complete(incomplete: str) -> list[str]:
    """Overrides that begin with `incomplete`: keys as ``KEY=``, and the choices of a group as ``GROUP=CHOICE``."""
    key, equals, _ = incomplete.partition("=")
    if equals:
        group = key in (*GROUPS, "experiment")
        offered = [f"{key}={name}" for name in choices(key)] if group else []
    else:
        with hydra_session():
            offered = [f"{name}=" for name in _known_keys(plain(hydra.compose("config"), resolve=False))]
    return [candidate for candidate in offered if candidate.startswith(incomplete)]


_NUMBER_OR_PRIOR = ("model.concentration", "model.gamma", "model.alpha0")
"""Options that are a number or the text of a prior; their class reads the text."""


def check_options(
    group: str, name: str, options: Mapping[str, Any], search_path: Sequence[str] = (), prefix: str | None = None
) -> dict[str, Any]:
    """Check the options of a choice by name and type against its file; ranges are checked by what they construct.

    Parameters
    ----------
    group, name : str
        The file ``conf/GROUP/NAME.yaml``.
    options : mapping
        Options as configured.
    search_path : sequence of str
        Hydra's additional search path.
    prefix : str, optional
        What to call the options in messages; `group` by default.

    Returns
    -------
    dict
        The options; whole numbers become floats where the file has a float.

    Raises
    ------
    ConfigError
        An unknown option, or one of another type than in the file (where that is null or an interpolation: than the
        function or class declares); another name or target than the file's.
    """
    prefix = prefix or group
    known = {"name": name} | choice(group, name, search_path) | shared(group)
    target = _target(group, name, known.get("_target_"))
    declared = _declared(target) | SHARED.get(group, {})
    checked = {"name": name} | dict(options)
    if "_target_" in checked:
        checked["_target_"] = moved.current(checked["_target_"])
    for key, value in checked.items():
        if key in ("name", "_target_"):
            if value != known[key]:
                raise ConfigError(f"{prefix}.{key}={show(value)}: expected {known[key]}, which {group}={name} sets")
            if not isinstance(value, str) or not re.fullmatch(r"\w[\w.+-]*", value):
                raise ConfigError(f"{group}={name}: {key}={show(value)}: expected letters, digits and ._+- alone")
        elif key not in known:
            named = [k for k in known if k not in ("name", "_target_")] + ["weight"] * prefix.startswith("schedule.mix")
            raise ConfigError(_unknown_key(f"{prefix}.{key}", [f"{prefix}.{k}" for k in named]))
        elif f"{group}.{key}" not in _NUMBER_OR_PRIOR:
            checked[key] = _like(f"{prefix}.{key}", value, known[key], declared.get(key))
        elif not isinstance(value, str):
            # the file may have either
            default = 1.0 if isinstance(known[key], str) else known[key]
            checked[key] = _like(f"{prefix}.{key}", value, default, declared.get(key))
    return checked


def _target(group: str, name: str, path: Any) -> Any:
    """What the ``_target_`` of a choice names, checked to be of use to its group."""
    try:
        target = locate(path)
    except ConfigError as error:
        raise ConfigError(f"{group}={name}: {error}") from error
    if not callable(target) or not all(hasattr(target, attribute) for attribute in _REQUIRED[group]):
        expected = "a function that returns a Dataset" if group == "data" else f"a subclass of {group.title()}"
        raise ConfigError(f"{group}={name}: _target_={path}: expected {expected}")
    return target


def _declared(target: Any) -> dict[str, Any]:
    """Types that the parameters of a function or class are declared to have, where they are."""
    try:
        return get_type_hints(target if inspect.isfunction(target) else target.__init__)
    except Exception:  # annotations may name what cannot be imported
        return {}


_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a name or text",
    bool: "true or false",
    NoneType: "null",
}


def _like(key: str, value: Any, default: Any, declared: Any = None) -> Any:
    """`value`, checked to be of the type of `default`, where that is text or a list also of one that is `declared`; or
    as `declared` if the default is null or an interpolation."""
    if default is None or (isinstance(default, str) and ("${" in default or default == "???")):
        types = [t for t in get_args(declared) or (declared,) if t is not Path]
        types += [NoneType] * (default is None)
        fits = type(value) in types or (type(value) is int and float in types)
        if not fits and all(t in _WORDS for t in types) and types != [NoneType]:
            raise ConfigError(f"{key}={show(value)}: expected {' or '.join(dict.fromkeys(_WORDS[t] for t in types))}")
        return value
    if isinstance(default, bool):
        good, expected = isinstance(value, bool), "true or false"
    elif isinstance(default, float):
        good, expected = type(value) in (int, float) and abs(value) <= sys.float_info.max, "a number"
        value = float(value) if good else value
    elif isinstance(default, int):
        good, expected = type(value) is int, "a whole number"
    else:
        # auto may also be what else is declared: true or false, the number of a column, null
        good = isinstance(value, type(default)) or type(value) in get_args(declared)
        expected = f"a value such as {default}"
    if not good:
        raise ConfigError(f"{key}={show(value)}: expected {expected}")
    return value


def show(value: Any) -> str:
    """A value as the user would type it."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return " ".join(text.splitlines())


def _validate(values: dict[str, Any]) -> None:
    try:
        _SCHEMA.validate_python(values)
    except ValidationError as invalid:
        problem = invalid.errors()[0]
        # the location of a union's branch ends in names of types, which are no keys
        key = ".".join(str(part) for part in problem["loc"] if _is_key(values, problem["loc"], part))
        if problem["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            raise ConfigError(_unknown_key(key, _known_keys(values))) from invalid
        if problem["type"] == "missing":
            raise ConfigError(f"{problem['loc'][-1]}: a value is needed") from invalid
        expected = problem["msg"].removeprefix("Input should be ")
        expected = f"a number {expected}" if expected.startswith(("greater", "less")) else expected
        if problem["type"] == "dataclass_type":
            expected = " or ".join(f"{key}.{field.name}=VALUE" for field in fields(get_type_hints(Schema)[key]))
        raise ConfigError(f"{key}={show(problem['input'])}: expected {expected}") from invalid


def _is_key(values: dict[str, Any], loc: tuple[int | str, ...], part: int | str) -> bool:
    node: Any = values
    for step in loc:
        if not isinstance(node, dict) or step not in node:
            return False
        if step == part:
            return True
        node = node[step]
    return False


def _known_keys(values: Mapping[str, Any]) -> list[str]:
    keys = [field.name for field in fields(Schema)]
    for name, value in values.items():
        if isinstance(value, Mapping) and name in keys:
            keys += [f"{name}.{inner}" for inner in value if inner not in ("name", "_target_")]
    return keys


def _resolve_start(values: dict[str, Any]) -> None:
    if values["K0"] is not None and values["init"] not in (None, "random"):
        raise ConfigError(f"K0={values['K0']}: only init=random takes a number of clusters, not init={values['init']}")
    if values["init"] is None:
        values["init"] = "random"
    if values["warmup"] is None:
        values["warmup"] = DEFAULT_WARMUP if learns(values) else 0


def learns(cfg: Mapping[str, Any] | DictConfig) -> bool:
    """Whether a sampler of the configuration learns from the past of all chains of the run."""
    mix = cfg["schedule"]["mix"]
    return any(hasattr(locate(sampler["_target_"]), "learn_from") for sampler in mix or [cfg["sampler"]])


def _resolve_schedule(values: dict[str, Any], search_path: Sequence[str]) -> None:
    """Replace the names in a weighted list by the samplers' configurations."""
    schedule = values["schedule"]
    names = choices("schedule")  # what the runner knows: a file of the user's own cannot add to it
    if schedule.get("mix") is None:
        unknown = [key for key in schedule if key not in ("name", "mix")]
        if unknown:
            raise ConfigError(_unknown_key(f"schedule.{unknown[0]}", ["schedule.mix"]))
        if schedule.get("name") not in names or schedule["name"] == "mix":
            raise ConfigError(_unknown("schedule", show(schedule.get("name")), names))
        return
    form = "expected a list such as [{sdds: 1}, {rgsm: {weight: 2, t: 3}}]"
    if not isinstance(schedule["mix"], list) or not schedule["mix"]:
        raise ConfigError(f"schedule.mix={show(schedule['mix'])}: {form}")
    mix = []
    for entry in schedule["mix"]:
        if isinstance(entry, str):
            entry = {entry: 1}
        if not isinstance(entry, dict) or len(entry) != 1:
            raise ConfigError(f"schedule.mix: {show(entry)}: {form}")
        name, value = next(iter(entry.items()))
        given = dict(value) if isinstance(value, dict) else {"weight": value}
        weight = _weight(f"schedule.mix.{name}.weight", given.pop("weight", 1))
        options = choice("sampler", str(name), search_path) | given
        options = check_options("sampler", str(name), options, search_path, prefix=f"schedule.mix.{name}")
        mix.append({"weight": weight} | options)
    values["schedule"] = {"name": "mix", "mix": mix}
    # the list stands in place of `sampler`; only its name is kept, for folders and titles
    values["sampler"] = {"name": "+".join(entry["name"] for entry in mix)}


def _weight(key: str, weight: Any) -> float:
    """The weight of a sampler in a schedule, checked."""
    least, most = _WEIGHTS
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not least <= weight <= most:
        raise ConfigError(f"{key}={show(weight)}: expected a number from {least:g} to {most:g}")
    return float(weight)


def _explain(error: Exception, overrides: Sequence[str], search_path: Sequence[str]) -> str:
    """One message for what Hydra could not compose."""
    text = str(error).split("Config search path")[0]
    groups = [o for o in overrides if o.partition("=")[0] in (*GROUPS, "experiment")]
    if isinstance(error, yaml.YAMLError | UnicodeDecodeError):
        return f"{' '.join(groups) or 'config.yaml'}: its file is not YAML: {_one_line(error)}"
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return _unknown(group, name, list(error.options))
    if found := re.search(r"Could not override '([^']+)'", text):
        known = plain(hydra.compose("config", overrides=[*groups, *search_path]), resolve=False)
        return _unknown_key(found[1], _known_keys(known))
    if several := re.search(r"(?:Ambiguous value for argument|Sweep parameters) '(.*)'", text):
        return f"{several[1]}: several values; `smcmc sweep` runs a grid"
    if isinstance(error, OverrideParseException):
        return unreadable(str(error.override))
    return _one_line(" ".join(line for line in text.splitlines() if "hydra.cc" not in line)) or repr(error)


def unreadable(override: str) -> str:
    """What is wrong with an override that Hydra's grammar does not know."""
    key, equals, _ = override.partition("=")
    if not equals:
        return f"{override}: expected KEY=VALUE"
    expected = "; expected a positive number or gamma(shape,rate)" if key in _NUMBER_OR_PRIOR else ""
    return f"{override}: cannot be read as a value{expected}"


def _unknown(group: str, name: str, known: Sequence[str]) -> str:
    near = _nearest(name, known)
    hint = f" Did you mean {group}={near}?" if near else ""
    return f"{group}={name}: expected {'one of ' if known else ''}{', '.join(sorted(known)) or 'nothing'}.{hint}"


def _unknown_key(key: str, known: Sequence[str]) -> str:
    near = _nearest(key, known)
    hint = f" Did you mean {near}?" if near else ""
    return f"{key}: no such key.{hint} `smcmc run --cfg job` shows them all."


def _nearest(word: str, known: Sequence[str]) -> str | None:
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
