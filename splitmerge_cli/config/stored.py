"""Configurations that the folders of runs hold: checked as those that are given; a folder may come from anywhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from splitmerge_cli.config import aliases, later
from splitmerge_cli.config.composition import check_moves, check_weight
from splitmerge_cli.config.errors import ConfigError, show, unknown
from splitmerge_cli.config.groups import choice, choices
from splitmerge_cli.config.options import check_options
from splitmerge_cli.config.schema import validate
from splitmerge_cli.config.targets import REQUIRED, import_beside, places


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
        The configuration in the present words, every option of the type that it must have.

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
        checked = aliases.in_values(checked)
        # it came after runs were stored
        checked.setdefault("until", {"rhat": None, "ess": None})
        validate(checked)
        mix = checked["schedule"].get("mix")
        for group in ("data", "model") if mix is not None else REQUIRED:
            checked[group] = _check_whole(group, checked[group], search_path)
        for key in ("name", "mix"):
            if key not in checked["schedule"]:
                raise ConfigError(f"schedule.{key}: a value is needed")
        if mix is not None:
            if not isinstance(mix, list) or not mix:
                raise ConfigError(f"schedule.mix={show(mix)}: expected samplers with their options")
            checked["schedule"] = {"name": "mix", "mix": [_check_entry(entry, search_path) for entry in mix]}
        elif checked["schedule"].get("name") not in choices("schedule"):
            raise ConfigError(unknown("schedule", show(checked["schedule"].get("name")), choices("schedule")))
        else:
            check_moves(checked["schedule"])
    except ConfigError as error:
        own = "" if config_dir is not None else " (choices of your own: --config-dir)"
        raise ConfigError(f"{file}: {error}{own}") from error
    return checked


def _check_whole(
    group: str, options: Mapping[str, Any], search_path: Sequence[str], prefix: str | None = None
) -> dict[str, Any]:
    """The stored options of a choice, checked to be all that it has; parameters and errors as `check_options`."""
    name = _chosen(options)
    options = later.filled(group, options)
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
    return {"weight": check_weight(f"{prefix}.weight", entry.get("weight"))} | checked
