"""Hydra: the one module that imports anything of it.

Parts of what is used are internal to Hydra (launchers are given callbacks, grids are split as its own sweeper splits
them), so the versions are named: another one is rejected before anything else of it is imported.
"""

import ast
import itertools
import logging
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import hydra
from yaml import YAMLError

from splitmerge_cli import plugins, received
from splitmerge_cli.config import schema
from splitmerge_cli.config.errors import ConfigError, one_line, own_file, unknown_choice, unknown_key
from splitmerge_cli.overrides import FUNCTIONS, is_call, quote, split_values, write

SUPPORTED = (1, 3)
"""Major and minor version."""


def check_version(version: str) -> None:
    """Raise a `ConfigError` unless this is a version of Hydra that the adapter was written for."""
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) != SUPPORTED:
        raise ConfigError(
            f"hydra-core {version}: not supported; expected 1.3, which pip install 'hydra-core>=1.3.2,<1.4' installs"
        )


check_version(hydra.__version__)

# after the check: another version may lack what is imported here
from hydra.core.config_store import ConfigStore  # noqa: E402
from hydra.core.global_hydra import GlobalHydra  # noqa: E402
from hydra.core.override_parser.overrides_parser import OverridesParser  # noqa: E402
from hydra.core.override_parser.types import RangeSweep  # noqa: E402
from hydra.errors import HydraException, MissingConfigException, OverrideParseException  # noqa: E402
from omegaconf import DictConfig, OmegaConf  # noqa: E402
from omegaconf.errors import OmegaConfBaseException  # noqa: E402

_LITERAL = "smcmc"
"""Resolver of values that OmegaConf would read as something else, or Hydra's grammar cannot hold: ``${smcmc:...}``, the
hexadecimal digits of what Python writes."""
OmegaConf.register_new_resolver(
    _LITERAL, lambda digits: ast.literal_eval(bytes.fromhex(digits).decode("utf-8", "surrogatepass")), replace=True
)

CONF = "splitmerge_cli.conf"
MAIN = "config"
_BASE = "1.3"


@contextmanager
def hydra_session() -> Iterator[None]:
    """Make Hydra's compose API available on the packaged ``conf``; nests."""
    if GlobalHydra.instance().is_initialized():
        yield
    else:
        _store()
        with hydra.initialize_config_module(CONF, version_base=_BASE):
            yield


@cache
def _store() -> None:
    """Give Hydra the defaults of all keys, and samplers and models from other distributions. One that cannot be
    imported is no choice: whoever names it learns why."""
    store = ConfigStore.instance()
    store.store(name=schema.KEYS, node=schema.default_values())
    for group in ("model", "sampler"):
        for name in plugins.entry_points(group):
            with suppress(plugins.PluginError):
                store.store(group=group, name=name, node=plugins.configuration(group, name))


def search_path_of(places: Sequence[str]) -> list[str]:
    """Hydra's override for its additional search path, which it takes as it stands, without interpolation."""
    return [f"hydra.searchpath=[{','.join(map(quote, places))}]"] if places else []


def compose(overrides: Sequence[str], search_path: Sequence[str] = ()) -> DictConfig:
    """Return what Hydra composes, its own node included; raises whatever Hydra does, for `explain`."""
    with hydra_session():
        return hydra.compose(MAIN, overrides=[*overrides, *search_path_of(search_path)], return_hydra_config=True)


def has_part(package: str, overrides: Sequence[str], search_path: Sequence[str]) -> bool:
    """Whether what Hydra composes has a part of this name with keys of its own."""
    return OmegaConf.is_config(OmegaConf.select(compose(overrides, search_path), package))


def group_options(group: str, search_path: Sequence[str]) -> list[str]:
    """Names that a group offers."""
    with hydra_session():
        loader = GlobalHydra.instance().config_loader()
        return list(loader.get_group_options(group, config_name=MAIN, overrides=search_path_of(search_path)))


_KEY = re.compile(r"(?!(?:null|true|false|inf|nan)$)[a-z_]\w*", re.ASCII | re.IGNORECASE)
"""Keys of a mapping that Hydra's grammar reads as text."""


def protect(value: Any) -> Any:
    """A value as OmegaConf takes it: of a text no part is looked up elsewhere, and none is missing."""
    if isinstance(value, str):
        return _literal(value) if "${" in value or value == "???" else value
    if isinstance(value, dict):
        return {key: protect(item) for key, item in value.items()}
    return [protect(item) for item in value] if isinstance(value, list) else value


def _literal(value: Any) -> str:
    return f"${{{_LITERAL}:'{repr(value).encode('utf-8', 'surrogatepass').hex()}'}}"


def encode(value: Any) -> str:
    """A value that OmegaConf takes as Hydra's grammar does: every text in quotes, but references to others."""
    if isinstance(value, str):
        return value if "${" in value or _KEY.fullmatch(value) else quote(value)
    if isinstance(value, dict):
        if not all(isinstance(key, int) or _KEY.fullmatch(key) for key in value):
            return _literal(value)
        return "{" + ", ".join(f"{key}: {encode(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(encode, value)) + "]" if isinstance(value, list) else write(value)


def is_readable(override: str) -> bool:
    """Whether Hydra's grammar can read an override."""
    try:
        OverridesParser.create().parse_override(override)
    except HydraException:
        return False
    return True


_QUOTED_OR_CALL = re.compile(
    r"""('[^']*'|"[^"]*")|(?<![\w./-])([A-Za-z_]\w*)\((?:[^()'"]|\([^()'"]*\))*\)(?=\s*(?:[],)}:]|$))"""
)


def quote_priors(override: str) -> str:
    """Put each ``gamma(1,2)`` of an override, or another prior, into quotes, which Hydra's grammar wants of text with
    brackets."""

    def quote(match: re.Match[str]) -> str:
        return match[0] if match[1] or match[2] in FUNCTIONS else f"'{match[0]}'"

    return _QUOTED_OR_CALL.sub(quote, override)


def parse_override(text: str, loader: Any = None) -> Any:
    """Hydra's own object of an override: whether it is ``~KEY`` or has several values, its key, package and value; a
    `ConfigError` if it cannot be read. With a `loader` of configurations it may name choices by a pattern."""
    try:
        return OverridesParser.create(config_loader=loader).parse_overrides([text])[0]
    except OverrideParseException as error:
        raise ConfigError(unreadable(str(error.override))) from error
    except HydraException as error:
        raise ConfigError(explain(error)) from error


def check_own_keys(overrides: Sequence[str], search_path: Sequence[str]) -> None:
    """Raise a `ConfigError` unless Hydra takes these overrides of its own keys."""
    try:
        compose(overrides, search_path)
    except Exception as error:  # Hydra raises all kinds
        received.reject_machine_error(error, " ".join(overrides))
        raise ConfigError(explain(error)) from error


MOST_JOBS = 100_000
"""Most jobs of a sweep."""


def _values_in(override: Any) -> int:
    """How many values an override of a grid has, ranges not listed; more than `MOST_JOBS` of others as one more."""
    if not override.is_sweep_override() or not override.is_discrete_sweep():
        return 1
    value: Any = override.value()
    if isinstance(value, RangeSweep):
        try:
            start, stop, step = (getattr(value, name) for name in ("start", "stop", "step"))
            return max(0, math.ceil((stop - start) / step))
        except (ArithmeticError, ValueError) as error:  # a step of 0, inf, nan
            expected = "expected range(START,STOP,STEP), three numbers, the step not 0"
            raise ConfigError(f"{override.input_line}: {expected}") from error
    return sum(1 for _ in islice(override.sweep_iterator(), MOST_JOBS + 1))


def grid(args: Sequence[str]) -> list[list[str]]:
    """Combine the values of all keys in every way, in a session; a `ConfigError` of what cannot be read, of a key
    without a value and of more than `MOST_JOBS` jobs.

    Values stand between commas, each as a run reads it, or in a function of Hydra's: ``range(3)``.
    """
    several = [_values_of(arg) for arg in args]
    counts = [values if isinstance(values, int) else len(values) for values in several]
    if (jobs_in_all := math.prod(counts)) > MOST_JOBS:
        largest = args[counts.index(max(counts))]
        raise ConfigError(f"{largest}: {jobs_in_all:,} jobs; expected at most {MOST_JOBS:,} in a sweep")
    for arg, count in zip(args, counts, strict=True):
        if not count:
            raise ConfigError(f"{arg}: no value, so there is no job; expected at least one")
    listed = [_call(arg) if isinstance(values, int) else values for arg, values in zip(args, several, strict=True)]
    return [list(job) for job in itertools.product(*listed)]


_CHOICE = re.compile(r"\s*choice\((.*)\)\s*", re.DOTALL)


def _values_of(arg: str) -> list[str] | int:
    """The overrides that an argument of a grid stands for; of a function of Hydra's their number."""
    key, equals, text = arg.partition("=")
    if match := _CHOICE.fullmatch(text):
        text = match[1]
    elif not equals or is_call(text):
        return _values_in(_parse_for_grid(arg))
    parts = split_values(text)
    if len(parts) == 1 and not match:
        return [arg]
    if any(is_call(part) or not part.strip() for part in parts):
        raise ConfigError(f"{unreadable(arg)}; a value with a comma stands in quotes, such as {key}='a,b'")
    return [f"{key}={part.strip()}" for part in parts]


def _call(arg: str) -> list[str]:
    """The overrides that a function of Hydra's makes, as a run reads them."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    try:
        split = BasicSweeper.split_arguments([_parse_for_grid(arg)], None)[0]
    except (HydraException, OmegaConfBaseException) as error:  # one sweep within another
        raise ConfigError(unreadable(arg)) from error
    key, equals, _ = arg.partition("=")
    return [f"{key}={write(parse_override(one[0]).value())}" if equals else one[0] for one in split]


def _parse_for_grid(arg: str) -> Any:
    return parse_override(quote_priors(arg), GlobalHydra.instance().config_loader())


def unreadable(override: str) -> str:
    """Return what is wrong with an override that Hydra's grammar does not know."""
    key, equals, _ = (override := one_line(override)).partition("=")
    if not equals:
        return f"{override}: {own_file(override) or 'expected KEY=VALUE'}"
    if not all(key.lstrip("+~").split(".")):
        return f"{override}: '{key}' is no key; expected KEY=VALUE, such as seed=1"
    expected = ""
    if "(" in override:
        prior = "" if key.startswith("data.") else "a prior as NAME(NUMBER,...), other "
        expected = f"; expected {prior}text with brackets in quotes"
        if key in ("data.columns", "data.drop"):
            expected += f", such as '{key}=[\"width (cm)\",2]'"
    return f"{override}: cannot be read as a value{expected}"


def explain(error: Exception, choices: Sequence[str] = ()) -> str:
    """One line for what Hydra could not compose of these choices."""
    if isinstance(error, YAMLError | UnicodeDecodeError):
        return f"{' '.join(choices) or 'config.yaml'}: its file is not YAML: {one_line(error)}"
    if match := re.search(r"Could not override '([^']+)'", str(error)):
        return unknown_key(match[1], ())
    text = str(error).split("Config search path")[0]
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return unknown_choice(group, name, list(error.options))
    if several := re.search(r"(?:Ambiguous value for argument|Sweep parameters) '(.*)'", text):
        return f"{several[1]}: several values; `smcmc sweep` runs a grid"
    if isinstance(error, OverrideParseException):
        return unreadable(str(error.override))
    return one_line(" ".join(line for line in text.splitlines() if "hydra.cc" not in line)) or repr(error)


def show_config(argv: Sequence[str]) -> None:
    """Let Hydra show what it composes, or where it comes from: its own ``--cfg`` and ``--info``."""
    _store()
    before, sys.argv = sys.argv, list(argv)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        hydra.main(version_base=_BASE, config_path=f"pkg://{CONF}", config_name=MAIN)(lambda _: None)()
    finally:
        sys.argv = before
        # --info lets Hydra log to the stdout of the moment, at every level, from then on
        root.handlers[:] = handlers
        root.setLevel(level)


@dataclass(frozen=True)
class Launching:
    """A launcher that was chosen: its class `target`, whether it is Hydra's own, which makes one job after another
    (`basic`), its `options`, and `make`, which turns the function of a job into Hydra's launcher, in the session in
    which it was chosen."""

    target: str
    basic: bool
    make: Callable[[Callable[[Any], Any]], Any]
    options: dict[str, Any]


def launching(overrides: Sequence[str], search_path: Sequence[str]) -> Launching:
    """The launcher that Hydra's own overrides choose, in a session; raises a `ConfigError` if it is unknown, or has no
    such options."""
    from hydra._internal.callbacks import Callbacks
    from hydra._internal.core_plugins.basic_launcher import BasicLauncher
    from hydra.core.plugins import Plugins
    from hydra.types import HydraContext, RunMode

    instance = GlobalHydra.instance().hydra
    assert instance is not None
    words, silent = [*overrides, *search_path_of(search_path)], {"from_shell": False, "with_log_configuration": False}
    config = instance.compose_config(MAIN, words, run_mode=RunMode.MULTIRUN, **silent)

    def make(function: Callable[[Any], Any]) -> Any:
        context = HydraContext(config_loader=instance.config_loader, callbacks=Callbacks(config))
        return Plugins.instance().instantiate_launcher(hydra_context=context, task_function=function, config=config)

    target = config.hydra.launcher._target_
    # Hydra imports its plugins again in every session: classes of one name are not the same
    basic = target == f"{BasicLauncher.__module__}.{BasicLauncher.__qualname__}"
    options: Any = OmegaConf.to_container(config.hydra.launcher, resolve=True)
    return Launching(target, basic, make, {str(key): value for key, value in options.items() if key != "_target_"})


def explain_launcher(error: Exception, launcher_words: Sequence[str]) -> str:
    """Return what is wrong with Hydra's own overrides."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return f"{group}={name}: expected one of {', '.join(sorted(error.options))}"
    if isinstance(error, OverrideParseException):
        return unreadable(str(error.override))
    # Hydra names the override alone where OmegaConf knows what is wrong with its value
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    reason = str(cause).split("\nConfig search path")[0].split("\n    full_key")[0]
    return f"{' '.join(launcher_words)}: {one_line(reason)}"
