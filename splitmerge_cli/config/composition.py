"""From overrides, or from a stored run, to a specification: the edge, where text is read, laid over the files of
choices, or rejected. The folder of a stored run may come from anywhere: its configuration is read as one that is given.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from splitmerge_cli.config import components, errors, groups, hydra_adapter, resolution
from splitmerge_cli.config.resolution import Composed, Given, check_schedule, check_weight
from splitmerge_cli.config.schema import CHOOSING, LEFT_TO_DATA, NOT_TYPED, later_options, read_settings
from splitmerge_cli.config.specification import RunSpecification, finish, specification_of
from splitmerge_cli.overrides import SeveralValues, Unreadable, read, shell_word

_ASSIGNED = re.compile(r"([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
"""Key and value of an override that Hydra need not read."""
_OF_HYDRA = re.compile(r"hydra[./]")
"""How a key of Hydra itself begins."""
_PLAIN = re.compile(r"(?!(?:null|true|false|inf|nan)$)(?:[a-z_]|/|\.{1,2}/)[\w./-]*", re.ASCII | re.IGNORECASE)
"""Texts that are read as they stand, whatever their key takes."""


def _key_of(text: str) -> str:
    return text.partition("=")[0]


def _read_text(text: str, chosen: Mapping[str, Any], search_path: Sequence[str]) -> tuple[str, Any] | None:
    """The key and the value of an override whose key takes text, by the choices in each group, None of any other; a
    `ConfigError` of a value that the key does not take."""
    match = _ASSIGNED.fullmatch(text)
    if match is None or match[1] in CHOOSING:
        return None
    key, value = match.groups()
    if _PLAIN.fullmatch(value):
        return key, value
    groups.import_beside(search_path)
    if (types := components.types_of_key(key, chosen, search_path)) is None:
        return None
    try:
        return key, read(value, types)
    except SeveralValues:
        raise errors.ConfigError(_expect_list(text, key, value)) from None
    except Unreadable:
        expected = f"; expected {key}={{NAME: VALUE, ...}}; a name with a comma or a colon stands in quotes"
        raise errors.ConfigError(f"{text}: cannot be read as a value{expected if types.entries else ''}") from None


def specify(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None, leave_to_data: bool = False
) -> RunSpecification:
    """Read the configuration of one run, but what only the code of its data set knows (`DataSource.check`).

    This is the edge: values are read as their keys take them, and from here on there is no text. Other runs are made of
    the specification (`RunSpecification.with_`), which is resolved: no interpolations, defaults of `iterations`, `init`
    and `warmup` filled in.

    `overrides` are ``KEY=VALUE`` in Hydra's grammar; ``schedule`` also takes a weighted list. `config_dir` is a folder
    with the user's own groups, searched after the packaged ones. If they are to `leave_to_data`, the keys of
    `LEFT_TO_DATA` may be ``auto``: they are then in `RunSpecification.to_choose`. A `ConfigError`: an unknown key or
    choice (the message suggests the nearest), a value of the wrong type or out of range.
    """
    left_open = {f"{key}={resolution.AUTO}": key for key in LEFT_TO_DATA if leave_to_data}
    to_choose = {left_open[word] for word in overrides if word in left_open}
    words = [word for word in overrides if word not in left_open]
    composed = compose_words(words, tuple(groups.places(config_dir)), to_choose)
    return finish(replace(composed, to_choose=frozenset(to_choose)))


def compose(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None, leave_to_data: bool = False
) -> RunSpecification:
    """Read the configuration of one run and check all of it; parameters and errors as of `specify`."""
    spec = specify(overrides, config_dir, leave_to_data)
    spec.data.check()
    return spec


def compose_words(words: Sequence[str], search_path: tuple[str, ...], to_choose: Collection[str] = ()) -> Composed:
    """Lay the values that overrides name over the files of their choices; a `ConfigError` of an unknown key or choice,
    and of a word that cannot be read."""
    texts: list[str] = []  # without Hydra's signs, a weighted list of samplers by its parts
    for text in (word.lstrip("+") for word in words):
        key, _, value = text.partition("=")
        is_list = key == "schedule" and value.lstrip().startswith("[")
        texts += ["schedule=mix", f"schedule.mix={value}"] if is_list else [text]
    if of_hydra := [text for text in texts if _OF_HYDRA.match(text)]:
        hydra_adapter.check_own_keys(of_hydra, search_path)
        texts = [text for text in texts if text not in of_hydra]
    named = dict(_read_choice(text) for text in texts if _key_of(text) in CHOOSING)
    below, chosen, _ = groups.compose_choices(named, search_path)
    values: dict[str, Any] = {}
    for text in (text for text in texts if _key_of(text) not in CHOOSING):
        key, value = _read(text, chosen, search_path)
        if key.startswith("sampler.") and "sampler" not in named and chosen["sampler"] == resolution.AUTO:
            in_list = any(_key_of(text) == "schedule.mix" for text in texts)
            raise errors.ConfigError(f"{text}: {resolution.IN_LIST if in_list else resolution.NOT_NAMED}")
        before = values.pop(key, None)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        values[key] = groups.merge(before, value) if both else value
    named_keys = Given(named, values, search_path)
    return Composed(named_keys.lay_over(below, to_choose), chosen, named_keys, tuple(words))


def _read_choice(text: str) -> tuple[str, Any]:
    """The group and the name of its choice: a text that is no value of Hydra's grammar stands for itself."""
    group, equals, name = text.partition("=")
    if _PLAIN.fullmatch(name) or (equals and not hydra_adapter.is_readable(hydra_adapter.quote_priors(text))):
        return group, name
    return _read(text)


def _read(text: str, chosen: Mapping[str, Any] | None = None, search_path: Sequence[str] = ()) -> tuple[str, Any]:
    """The key and the value of an override, as OmegaConf takes them."""
    if (value := _read_text(text, chosen or {}, search_path)) is not None:
        return value[0], hydra_adapter.protect(value[1])
    parsed = hydra_adapter.parse_override(hydra_adapter.quote_priors(text))
    key = parsed.key_or_group
    if parsed.is_delete():
        raise errors.ConfigError(f"~{key}: expected KEY=VALUE; no key may be left out")
    if parsed.is_sweep_override():
        several = f"{text}: several values; `smcmc sweep` runs a grid"
        takes_list = components.takes_list(key)
        raise errors.ConfigError(_expect_list(text, key, text.partition("=")[2]) if takes_list else several)
    if not key or key == "hydra":
        raise errors.ConfigError(f"{text}: expected KEY=VALUE")
    return key if parsed.package is None else f"{key}@{parsed.package}", parsed.value()


def grid_of(words: Sequence[str], config_dir: str | Path | None = None) -> Mapping[str, Any]:
    """The ``hydra.sweeper.params`` of the experiment that these words name; raises as `compose_words`."""
    search_path = tuple(groups.places(config_dir))
    compose_words(words, search_path)
    return groups.compose_choices(dict(map(_read_choice, words)), search_path).params


def for_hydra(words: Sequence[str], config_dir: str | Path | None = None) -> list[str]:
    """The overrides by which Hydra composes the configuration of these words: its choices, the options of the model and
    the sampler, which are in no file, and values; raises as `compose_words`."""
    composed = compose_words(words, tuple(groups.places(config_dir)))
    options = {f"{g}.{key}": one for g in ("model", "sampler") for key, one in composed.values[g].items()}
    values = {key: one for key, one in options.items() if key.partition(".")[2] not in NOT_TYPED}
    values |= composed.given.values
    return [
        *(f"{group}={hydra_adapter.encode(name)}" for group, name in composed.given.choices.items()),
        *(f"++{key}={hydra_adapter.encode(value)}" for key, value in values.items()),
        *(text for text in words if _OF_HYDRA.match(text)),
    ]


def _expect_list(text: str, key: str, values: str) -> str:
    """The message about several values of a key that takes a list."""
    listed = shell_word(f"{key}=[{values}]") if re.search(r"[^\w.,-]", values, re.ASCII) else f"{key}=[{values}]"
    return f"{text}: expected {listed}; of several values `smcmc sweep` makes a grid"


def specify_stored(config: Mapping[str, Any], file: Path, config_dir: str | Path | None = None) -> RunSpecification:
    """Read the configuration that ``config.yaml`` of a run's folder, `file`, holds, checked as one that is given is
    checked.

    A `ConfigError` of a data set, model or sampler that is neither the package's nor of `config_dir`, with another
    target than its file has, or with options that it does not have; and of any other key that is not as `Schema` says.
    """
    search_path = tuple(groups.places(config_dir))
    groups.import_beside(search_path)
    try:
        return _specify(config, search_path)
    except errors.ConfigError as error:
        hint = "" if config_dir is not None else " (one of your own: --config-dir, or what adds it installed)"
        raise errors.ConfigError(f"{file}: {error}{hint}") from error


def unpack(packed: Mapping[str, Any]) -> RunSpecification:
    """Read a specification that another process sent (`RunSpecification.pack`)."""
    search_path = tuple(packed["search_path"])
    groups.import_beside(search_path)
    return _specify(packed["config"], search_path)


def _specify(config: Mapping[str, Any], whole_path: tuple[str, ...]) -> RunSpecification:
    search_path = tuple(place for place in whole_path if place.startswith("file://"))
    values = {str(key): value for key, value in config.items()}
    settings = read_settings(values)
    options = dict(values["data"])
    known = groups.choice("data", _name(options), search_path)
    options |= {key: value for key, value in later_options(options).items() if key in known and key not in options}
    data = components.read_data(_name(options), options, search_path)
    _check_whole("data", data, search_path)
    data.check()
    model = _component("model", values["model"], search_path)
    for key in ("name", "mix"):
        if key not in values["schedule"]:
            raise errors.ConfigError(f"schedule.{key}: a value is needed")
    mix, samplers = values["schedule"]["mix"], list[components.Component]()
    if mix is None:
        samplers.append(_component("sampler", values["sampler"], search_path))
        values["sampler"] = samplers[0].values
        check_schedule(values["schedule"])
    else:
        if not isinstance(mix, list) or not mix:
            raise errors.ConfigError(f"schedule.mix={errors.show(mix)}: expected samplers with their options")
        values["schedule"] = {"name": "mix", "mix": []}
        for entry in mix:
            if not isinstance(entry, dict):
                raise errors.ConfigError(f"schedule.mix: {errors.show(entry)}: expected samplers with their options")
            options = {key: value for key, value in entry.items() if key != "weight"}
            prefix = f"schedule.mix.{options.get('name')}"
            samplers.append(_component("sampler", options, search_path, prefix))
            weight = check_weight(f"{prefix}.weight", entry.get("weight"))
            values["schedule"]["mix"].append({"weight": weight, **samplers[-1].values})
    values["data"], values["model"] = data.values, model.values
    return specification_of(settings, data, model, tuple(samplers), values, search_path=whole_path)


def _component(
    group: str, options: Mapping[str, Any], search_path: Sequence[str], prefix: str | None = None
) -> components.Component:
    """A stored model or sampler; parameters and errors as of `read_component`.

    Options that came later than the run (`Option.later`) have their default.
    """
    component = components.read_component(group, _name(options), options, search_path, prefix)
    if lacking := {key: value for key, value in component.later.items() if key not in component.values}:
        component = components.read_component(group, component.name, {**options, **lacking}, search_path, prefix)
    _check_whole(group, component, search_path)
    return component


def _name(options: Mapping[str, Any]) -> str:
    """The name of a choice as stored options say it."""
    name = options.get("name")
    if not isinstance(name, str):
        raise errors.ConfigError(f"name={errors.show(name)}: expected a name")
    return name


def _check_whole(group: str, part: components.Component | components.DataSource, search_path: Sequence[str]) -> None:
    """Raise a `ConfigError` unless stored options are all that their choice has."""
    if missing := [key for key in groups.choice(group, part.name, search_path) if key not in part.values]:
        raise errors.ConfigError(f"{part.prefix}.{missing[0]}: a value is needed")
