"""The configuration of one run: composed, checked and resolved into its specification."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from splitmerge_cli.config import auto, hydra_adapter
from splitmerge_cli.config.components import Component, DataSource, read_component, read_data, takes_list, types_of_key
from splitmerge_cli.config.errors import ConfigError, show, unknown_choice, unknown_key
from splitmerge_cli.config.groups import check_importable, choice, choices, explain, is_choice, plain
from splitmerge_cli.config.schema import (
    DEFAULT_ITERATIONS,
    DEFAULT_SCANS,
    DEFAULT_WARMUP,
    ENOUGH,
    GROUPS,
    LONGER,
    Until,
    read_settings,
)
from splitmerge_cli.config.specification import RunSpecification, Schedule
from splitmerge_cli.config.targets import import_beside, places
from splitmerge_cli.overrides import Accepts, SeveralValues, Unreadable, read, shell_word
from splitmerge_cli.received import reject_machine_error

_MOST_MOVES = 10_000
"""Most moves of a sampler before each scan."""
_WEIGHTS = (1e-100, 1e100)
"""Smallest and largest weight in a schedule: any sum and any share of such weights is a number."""


_CHOOSING = (*GROUPS, "experiment")
"""Keys of the choices, which Hydra composes."""
_ASSIGNED = re.compile(r"([+]{0,2})([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
"""Signs, key and value of an override that Hydra need not read."""
_PLAIN = re.compile(r"(?!(?:null|true|false|inf|nan)$)(?:[a-z_]|/|\.{1,2}/)[\w./-]*", re.ASCII | re.IGNORECASE)
"""Texts that are read as they stand, whatever their key takes."""


def rewrite(given: Iterable[str], config_dir: str | Path | None = None) -> list[str]:
    """Rewrite overrides as Hydra's grammar takes them: a text, whatever letters it has, and priors in quotes, and
    ``schedule=[{sdds: 1}, {gibbs: 1}]`` by its parts."""
    texts, search_path = _with_schedule(given), places(config_dir)
    chosen = _Choices(texts, search_path)
    return [_for_hydra(text, chosen) for text in texts]


def _with_schedule(given: Iterable[str]) -> list[str]:
    """Overrides, a weighted list of samplers by its parts."""
    texts: list[str] = []
    for override in given:
        key, _, value = override.partition("=")
        if key == "schedule" and value.lstrip().startswith("["):
            texts += ["schedule=mix", f"schedule.mix={value}"]
        else:
            texts.append(override)
    return texts


class _Choices:
    """The choices of a configuration, composed when a value is to be read whose key may take text."""

    def __init__(self, texts: Sequence[str], search_path: Sequence[str], names: Mapping[str, str] | None = None):
        self._texts, self.search_path, self._names = texts, search_path, names

    @property
    def names(self) -> Mapping[str, str]:
        """The name of the choice in each group."""
        if self._names is None:
            try:
                chosen = [_for_hydra(text, self) for text in self._texts if _key_of(text) in _CHOOSING]
                self._names = dict(hydra_adapter.compose(chosen, self.search_path).hydra.runtime.choices)
            except Exception:  # whoever composes the whole says what is wrong
                self._names = {}
        return self._names

    def types_of(self, key: str) -> Accepts | None:
        """The types that a key takes, where text is one of them."""
        import_beside(self.search_path)
        return types_of_key(key, self.names, self.search_path)


def _key_of(text: str) -> str:
    return text.lstrip("+").partition("=")[0]


def _read_text(text: str, chosen: _Choices) -> tuple[str, Any] | None:
    """The key and the value of an override whose key takes text; None of any other.

    Raises
    ------
    ConfigError
        It is no value that the key takes.
    """
    found = _ASSIGNED.fullmatch(text)
    if found is None or found[2] in _CHOOSING:
        return None
    _, key, value = found.groups()
    if _PLAIN.fullmatch(value):
        return key, value
    types = chosen.types_of(key)
    if types is None:
        return None
    try:
        return key, read(value, types)
    except SeveralValues:
        listed = shell_word(f"{key}=[{value}]")
        raise ConfigError(f"{text}: expected {listed}; of several values `smcmc sweep` makes a grid") from None
    except Unreadable:
        expected = f"; expected {key}={{NAME: TYPE, ...}}; a name with a comma or a colon stands in quotes"
        raise ConfigError(f"{text}: cannot be read as a value{expected if types.entries else ''}") from None


def _for_hydra(text: str, chosen: _Choices) -> str:
    """An override as Hydra's grammar takes it."""
    if (found := _read_text(text, chosen)) is not None:
        key, _, value = text.partition("=")
        return text if _PLAIN.fullmatch(value) else f"{key}={hydra_adapter.encode(found[1])}"
    quoted = hydra_adapter.quote_priors(text)
    key, equals, value = text.partition("=")
    if equals and key in _CHOOSING and not hydra_adapter.is_readable(quoted):
        return f"{key}={hydra_adapter.encode(value)}"
    return quoted


Composed = tuple[DictConfig, Any]
"""A configuration as Hydra composed it, neither checked nor resolved; and of Hydra's own node the choices in each
group, the overrides and the search path."""

_bases: ContextVar[dict[tuple[str, ...], Composed] | None] = ContextVar("bases", default=None)
"""Configurations that Hydra composed of choices alone, by these choices."""
_GIVEN = re.compile(r"(?!hydra\b)[A-Za-z_][\w.]*=")
"""How a choice or a value begins that adds and removes no key."""
_DECIDES = re.compile(r"[+]*(model([@.]\S*)?|data\.kind)=")


@contextmanager
def shared_choices() -> Iterator[None]:
    """Compose many jobs: within this context, and those within it, Hydra composes each set of choices once, files of
    ``conf`` being taken not to change meanwhile."""
    if _bases.get() is not None:
        yield
        return
    token = _bases.set({})
    try:
        yield
    finally:
        _bases.reset(token)


def specify(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> RunSpecification:
    """Read the configuration of one run, but what only the code of its data set knows (`DataSource.check`).

    Parameters
    ----------
    overrides : sequence of str
        ``KEY=VALUE`` in Hydra's grammar; ``schedule`` also takes a weighted list.
    config_dir : str or Path, optional
        A folder with the user's own groups, searched after the packaged ones.

    Returns
    -------
    RunSpecification
        Resolved: no interpolations, defaults of `iterations`, `init` and `warmup` filled in.

    Raises
    ------
    ConfigError
        An unknown key or choice (the message suggests the nearest), a value of the wrong type or out of range.
    """
    with hydra_adapter.hydra_session():
        return finish(*compose_values(overrides, config_dir))


def compose(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> RunSpecification:
    """Read the configuration of one run and check all of it; parameters and errors as of `specify`."""
    spec = specify(overrides, config_dir)
    spec.data.check()
    return spec


def compose_values(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> Composed:
    """Compose one configuration: the choices by Hydra, then values put in as Hydra puts them.

    Raises
    ------
    ConfigError
        An unknown key or choice, or an override that cannot be read.
    """
    texts = _with_schedule(overrides)
    with hydra_adapter.hydra_session():
        try:
            if all(map(_GIVEN.match, texts)):
                base, node = _composed_choices([text for text in texts if _key_of(text) in _CHOOSING], config_dir)
                chosen = _Choices(texts, node.searchpath, node.runtime.choices)
                values = [_read(text, chosen) for text in texts if _key_of(text) not in _CHOOSING]
                body = deepcopy(base)
                OmegaConf.set_struct(body, True)
                for key, value in values:
                    OmegaConf.update(body, key, value, merge=True)
                return body, _node(node.runtime.choices, node.searchpath, overrides)
        except (ConfigError, OmegaConfBaseException):
            pass  # composed as a whole, which says what is wrong
        body, node = _whole(compose_raw(overrides, config_dir))
        return body, _node(node.runtime.choices, node.searchpath, overrides)


def _read(text: str, chosen: _Choices) -> tuple[str, Any]:
    """The key and the value of an override, as OmegaConf takes them; a `ConfigError` of several values."""
    if (found := _read_text(text, chosen)) is not None:
        return found[0], hydra_adapter.protect(found[1])
    parsed = _parsed(hydra_adapter.quote_priors(text))
    if parsed.sweep:
        raise ConfigError(f"{text}: several values")
    return parsed.key, parsed.value


_parsed = cache(hydra_adapter.parse_override)


def _node(choices: Mapping[str, Any], search_path: Sequence[str], overrides: Sequence[str]) -> Any:
    """The part of Hydra's own node that is needed."""
    return SimpleNamespace(
        runtime=SimpleNamespace(choices=dict(choices)),
        searchpath=list(search_path),
        overrides=SimpleNamespace(task=list(overrides)),
    )


def _composed_choices(chosen: Sequence[str], config_dir: str | Path | None) -> Composed:
    bases, key = _bases.get(), (str(config_dir), *chosen)
    if bases is not None and key in bases:
        return bases[key]
    found = _whole(compose_raw(chosen, config_dir))
    if bases is not None:
        bases[key] = found
    return found


def _whole(raw: DictConfig) -> Composed:
    # what an experiment says to `smcmc reproduce` is long, and no key of a run
    left_out = {"hydra", "reproduce"} if raw.hydra.runtime.choices.get("experiment") else {"hydra"}
    node = _node(raw.hydra.runtime.choices, hydra_adapter.raw_texts(raw.hydra.searchpath), raw.hydra.overrides.task)
    return OmegaConf.masked_copy(raw, [str(key) for key in raw if key not in left_out]), node


def finish(body: DictConfig, hydra_config: Any) -> RunSpecification:
    """Check and resolve what Hydra composed; parameters as of `Composed`, errors as of `specify`."""
    chosen, given = dict(hydra_config.runtime.choices), tuple(hydra_config.overrides.task)
    import_beside(hydra_config.searchpath)
    # papers bring experiments alone
    search_path = tuple(place for place in hydra_config.searchpath if place.startswith("file://"))
    values = _plain_values(body, chosen.get("experiment"))
    settings = read_settings(values)
    automatic = None
    in_list = values["schedule"].get("mix") is not None
    if chosen["sampler"] == auto.AUTO:
        automatic = None if in_list else auto.explain(values["model"], values["schedule"])
        chosen["sampler"] = _choose_sampler(values)
    data = read_data(chosen["data"], values["data"], search_path)
    model = read_component("model", chosen["model"], values["model"], search_path)
    values["data"], values["model"] = data.values, model.values
    if in_list:
        for override in given:
            if re.match(r"[+]*sampler[.=]", override):
                raise ConfigError(
                    f"{override}: expected no sampler beside those of schedule=[...], which stand in its place"
                )
        samplers = _read_list(values, search_path)
    else:
        samplers = (read_component("sampler", chosen["sampler"], values["sampler"], search_path),)
        values["sampler"] = samplers[0].values
        check_schedule(values["schedule"])
    settings |= _resolve(values, model, samplers)
    return specification_of(
        settings,
        data,
        model,
        samplers,
        values,
        given=given,
        automatic=automatic,
        undecided=chosen.get("data") == "csv"
        and not chosen.get("experiment")
        and chosen.get("model") == "emm"
        and not any(map(_DECIDES.match, given)),
    )


def specification_of(
    settings: Mapping[str, Any],
    data: DataSource,
    model: Component,
    samplers: tuple[Component, ...],
    values: Mapping[str, Any],
    **told: Any,
) -> RunSpecification:
    """Put a specification together; raises a `ConfigError` where its keys do not go together."""
    mix = values["schedule"].get("mix")
    weights = None if mix is None else tuple(entry["weight"] for entry in mix)
    schedule = Schedule(values["schedule"]["name"], values["schedule"].get("moves", 1), weights)
    spec = RunSpecification(
        **settings, data=data, model=model, samplers=samplers, schedule=schedule, values=values, **told
    )
    if spec.budget is not None and not spec.timing:
        raise ConfigError("timing=false: expected true, because budget is counted in seconds of sampling")
    try:
        spec.out.encode()
    except UnicodeEncodeError as error:  # readers of tables take no such path
        raise ConfigError(f"out={spec.out}: expected a folder whose name is UTF-8") from error
    if spec.until.rhat is not None and spec.chains < 2:
        raise ConfigError("until.rhat: expected chains of at least 2, which R-hat compares")
    every = spec.perplexity.every
    if spec.iterations is not None and every > spec.iterations:
        raise ConfigError(f"perplexity.every={every}: expected at most {spec.iterations}, the iterations")
    return spec


def _plain_values(body: DictConfig, experiment: str | None) -> dict[str, Any]:
    """Plain values, interpolations resolved."""
    try:
        values = plain(body, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise ConfigError(f"{error.full_key}: a value is needed: {error.full_key}=VALUE") from error
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{error.full_key}: {reason}" if error.full_key else reason) from error
    if experiment:
        # a job of Hydra's launcher has what an experiment tells `smcmc reproduce`
        values.pop("reproduce", None)
    return values | {"experiment": experiment}


def _choose_sampler(values: dict[str, Any]) -> str:
    """Put the sampler in place for which ``sampler=auto`` stands; returns its name."""
    for key, value in values["sampler"].items():
        if (key, value) != ("name", auto.AUTO):
            raise ConfigError(
                f"sampler.{key}={show(value)}: no sampler is named, and sampler=auto has no options; expected "
                "sampler=NAME beside it"
            )
    name, moves = auto.choose(values["model"], values["schedule"])
    values["sampler"] = choice("sampler", name)
    if values["schedule"].get("mix") is None and values["schedule"].get("moves", 1) != moves:
        values["schedule"] = values["schedule"] | {"moves": moves}
    return name


def compose_raw(given: Sequence[str], config_dir: str | Path | None = None) -> DictConfig:
    """Return what Hydra composes, its own node included, neither checked nor resolved.

    Raises
    ------
    ConfigError
        An unknown key or choice, or an override that cannot be read.
    """
    search_path = places(config_dir)
    with hydra_adapter.hydra_session():
        texts = rewrite(given, config_dir)
        try:
            _check_overrides(texts, search_path)
            return hydra_adapter.compose(texts, search_path)
        except ConfigError:
            raise
        except Exception as error:  # Hydra raises all kinds on a file that is no configuration
            reject_machine_error(error, "the configuration")
            raise ConfigError(explain(error, _with_schedule(given), search_path)) from error


def _check_overrides(texts: Sequence[str], search_path: Sequence[str]) -> None:
    """Check what Hydra's grammar allows and no configuration can be: groups without a name, keys left out."""
    for override in hydra_adapter.parse_overrides(texts):
        key, value = override.key, override.value
        if override.deleted:
            raise ConfigError(f"~{key}: expected KEY=VALUE; no key may be left out")
        if override.sweep:
            if takes_list(key):
                values = str(override.text).partition("=")[2]
                listed = shlex.quote(f"{key}=[{values}]") if re.search(r"[^\w.,-]", values) else f"{key}=[{values}]"
                raise ConfigError(f"{override.text}: expected {listed}; of several values `smcmc sweep` makes a grid")
            continue  # Hydra reports it
        if key in _CHOOSING and override.package is None:
            if not is_choice(key, value, search_path):
                raise ConfigError(unknown_choice(key, show(value), choices(key, search_path)))
            check_importable(key, value)
        elif not key or key == "hydra":
            raise ConfigError(f"{override.text}: expected KEY=VALUE")


def _resolve(values: dict[str, Any], model: Component, samplers: Sequence[Component]) -> dict[str, Any]:
    """Fill in defaults that depend on other keys; returns them."""
    if values["K0"] is not None and values["init"] not in (None, "random", "sequential"):
        raise ConfigError(
            f"K0={values['K0']}: only init=random takes a number of clusters (and init=sequential, of topics), "
            f"not init={values['init']}"
        )
    resolved = {key: values[key] for key in ("init", "warmup", "iterations")}
    if resolved["init"] is None:
        resolved["init"] = "random"
    if resolved["warmup"] is None:
        resolved["warmup"] = DEFAULT_WARMUP if any(hasattr(one.target, "adapt_to") for one in samplers) else 0
    if resolved["iterations"] is None and values["budget"] is None:
        stops = any(value is not None for value in values["until"].values())
        # R-hat compares chains; how long those of an experiment are belongs to it
        if not stops and values["chains"] > 1 and not values["experiment"]:
            resolved["until"] = dict(ENOUGH)
        else:
            most = DEFAULT_SCANS if model.kind.has_topics else DEFAULT_ITERATIONS
            resolved["iterations"] = most * (LONGER if stops else 1)
    values |= resolved
    return resolved | ({"until": Until(**resolved["until"])} if "until" in resolved else {})


def _read_list(values: dict[str, Any], search_path: Sequence[str]) -> tuple[Component, ...]:
    """The samplers of a weighted list, whose names are replaced by their configurations."""
    schedule = values["schedule"]
    if schedule.get("moves", 1) != 1:
        raise ConfigError(
            f"schedule.moves={show(schedule['moves'])}: expected none beside schedule=[...], whose weights say as much"
        )
    form = "expected a list such as [{sdds: 1}, {rgsm: {weight: 2, t: 3}}]"
    if not isinstance(schedule["mix"], list) or not schedule["mix"]:
        raise ConfigError(f"schedule.mix={show(schedule['mix'])}: {form}")
    mix, samplers = [], []
    for entry in schedule["mix"]:
        if isinstance(entry, str):
            entry = {entry: 1}
        if not isinstance(entry, dict) or len(entry) != 1:
            raise ConfigError(f"schedule.mix: {show(entry)}: {form}")
        name, value = next(iter(entry.items()))
        prefix = f"schedule.mix.{name}"
        given = dict(value) if isinstance(value, dict) else {"weight": value}
        weight = check_weight(f"{prefix}.weight", given.pop("weight", 1))
        options = choice("sampler", str(name), search_path) | given
        samplers.append(read_component("sampler", str(name), options, search_path, prefix))
        mix.append({"weight": weight, **samplers[-1].values})
    values["schedule"] = {"name": "mix", "mix": mix}
    # the list stands in place of `sampler`; only its name is kept, for folders and titles
    values["sampler"] = {"name": "+".join(sampler.name for sampler in samplers)}
    return tuple(samplers)


def check_schedule(schedule: Mapping[str, Any]) -> None:
    """Check a schedule of one sampler."""
    names = choices("schedule")  # what the runner knows: a file of the user's own cannot add to it
    if strange := [key for key in schedule if key not in ("name", "mix", "moves")]:
        raise ConfigError(unknown_key(f"schedule.{strange[0]}", ["schedule.mix", "schedule.moves"]))
    if schedule.get("name") not in names or schedule["name"] == "mix":
        raise ConfigError(unknown_choice("schedule", show(schedule.get("name")), names))
    moves = schedule.get("moves", 1)
    if isinstance(moves, bool) or not isinstance(moves, int) or not 1 <= moves <= _MOST_MOVES:
        raise ConfigError(f"schedule.moves={show(moves)}: expected a whole number from 1 to {_MOST_MOVES:,}")
    if moves != 1 and schedule["name"] != auto.SCAN:
        raise ConfigError(f"schedule.moves={moves}: expected schedule={auto.SCAN}, whose scans they come before")


def check_weight(key: str, weight: Any) -> float:
    """The weight of a sampler in a schedule, checked."""
    least, most = _WEIGHTS
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not least <= weight <= most:
        raise ConfigError(f"{key}={show(weight)}: expected a number from {least:g} to {most:g}")
    return float(weight)
