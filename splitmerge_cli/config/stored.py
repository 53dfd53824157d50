"""Configurations that the folders of runs hold: read as those that are given; a folder may come from anywhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from splitmerge_cli.config.components import Component, DataSource, read_component, read_data
from splitmerge_cli.config.errors import ConfigError, show
from splitmerge_cli.config.groups import import_beside, places
from splitmerge_cli.config.layers import choice
from splitmerge_cli.config.resolution import check_schedule, check_weight
from splitmerge_cli.config.schema import later_options, read_settings
from splitmerge_cli.config.specification import RunSpecification, specification_of


def specify_stored(config: Mapping[str, Any], file: Path, config_dir: str | Path | None = None) -> RunSpecification:
    """Read the configuration that ``config.yaml`` of a run's folder, `file`, holds, checked as one that is given is
    checked.

    A `ConfigError` of a data set, model or sampler that is neither the package's nor of `config_dir`, with another
    target than its file has, or with options that it does not have; and of any other key that is not as `Schema` says.
    """
    search_path = tuple(places(config_dir))
    import_beside(search_path)
    try:
        return _specify(config, search_path)
    except ConfigError as error:
        hint = "" if config_dir is not None else " (one of your own: --config-dir, or what adds it installed)"
        raise ConfigError(f"{file}: {error}{hint}") from error


def pack(spec: RunSpecification) -> dict[str, Any]:
    """A specification as it is sent to another process, where `unpack` reads it."""
    return {"config": dict(spec.values), "search_path": list(spec.search_path)}


def unpack(packed: Mapping[str, Any]) -> RunSpecification:
    """Read a specification that another process sent."""
    search_path = tuple(packed["search_path"])
    import_beside(search_path)
    return _specify(packed["config"], search_path)


def _specify(config: Mapping[str, Any], whole_path: tuple[str, ...]) -> RunSpecification:
    search_path = tuple(place for place in whole_path if place.startswith("file://"))
    values = {str(key): value for key, value in config.items()}
    settings = read_settings(values)
    options = dict(values["data"])
    known = choice("data", _name(options), search_path)
    options |= {key: value for key, value in later_options(options).items() if key in known and key not in options}
    data = read_data(_name(options), options, search_path)
    _check_whole("data", data, search_path)
    data.check()
    model = _component("model", values["model"], search_path)
    for key in ("name", "mix"):
        if key not in values["schedule"]:
            raise ConfigError(f"schedule.{key}: a value is needed")
    mix = values["schedule"]["mix"]
    if mix is None:
        samplers: tuple[Component, ...] = (_component("sampler", values["sampler"], search_path),)
        values["sampler"] = samplers[0].values
        check_schedule(values["schedule"])
    else:
        if not isinstance(mix, list) or not mix:
            raise ConfigError(f"schedule.mix={show(mix)}: expected samplers with their options")
        weighted = [_entry(entry, search_path) for entry in mix]
        samplers = tuple(sampler for _, sampler in weighted)
        mix = [{"weight": weight, **sampler.values} for weight, sampler in weighted]
        values["schedule"] = {"name": "mix", "mix": mix}
    values["data"], values["model"] = data.values, model.values
    return specification_of(settings, data, model, samplers, values, search_path=whole_path)


def _component(
    group: str, options: Mapping[str, Any], search_path: Sequence[str], prefix: str | None = None
) -> Component:
    """A stored model or sampler; parameters and errors as of `read_component`.

    Options that came later than the run (`Option.later`) have their default.
    """
    component = read_component(group, _name(options), options, search_path, prefix)
    later = [option for option in getattr(component.target, "OPTIONS", ()) if option.later]
    if lacking := {option.name: option.default for option in later if option.name not in component.values}:
        component = read_component(group, component.name, {**options, **lacking}, search_path, prefix)
    _check_whole(group, component, search_path)
    return component


def _name(options: Mapping[str, Any]) -> str:
    """The name of a choice as stored options say it."""
    name = options.get("name")
    if not isinstance(name, str):
        raise ConfigError(f"name={show(name)}: expected a name")
    return name


def _check_whole(group: str, part: Component | DataSource, search_path: Sequence[str]) -> None:
    """Raise a `ConfigError` unless stored options are all that their choice has."""
    if missing := [key for key in choice(group, part.name, search_path) if key not in part.values]:
        raise ConfigError(f"{part.prefix}.{missing[0]}: a value is needed")


def _entry(entry: Any, search_path: Sequence[str]) -> tuple[float, Component]:
    """Return the weight and the sampler that an entry of a stored list names."""
    if not isinstance(entry, dict):
        raise ConfigError(f"schedule.mix: {show(entry)}: expected samplers with their options")
    options = {key: value for key, value in entry.items() if key != "weight"}
    prefix = f"schedule.mix.{options.get('name')}"
    sampler = _component("sampler", options, search_path, prefix)
    return check_weight(f"{prefix}.weight", entry.get("weight")), sampler
