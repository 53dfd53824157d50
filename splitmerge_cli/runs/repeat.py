"""The command that makes a stored run again."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.config.commands import text_of
from splitmerge_cli.config.schema import RUNTIME_KEYS, SHARED
from splitmerge_cli.results.read import GROUPS, Run
from splitmerge_cli.runs.stored import specification_of


def command_of(run: Run, more: Sequence[str] = (), verb: str = "run") -> str | None:
    """The command that makes a run again, to be pasted into a shell; None of data that a Python program gave.

    Parameters
    ----------
    run : Run
    more : sequence of str
        Overrides that follow, in place of what the run has for these keys.
    verb : str
        ``run``, or ``sweep`` where `more` names several values of a key.
    """
    given = overrides_of(run)
    if given is None:
        return None
    new = {key.partition("=")[0] for key in more}
    kept = [key for key in given if key.partition("=")[0] not in new]
    folder = [] if run.config_dir is None else ["--config-dir", str(run.config_dir)]
    return " ".join(map(shlex.quote, ["smcmc", verb, *kept, *more, *folder]))


def overrides_of(run: Run, data: Sequence[str] | None = None) -> list[str] | None:
    """The overrides that say what a run computes: its choices, then what differs from their defaults.

    Parameters
    ----------
    run : Run
    data : sequence of str, optional
        Overrides that name other data, in place of those of the run.

    Returns
    -------
    list of str or None
        None of data that a Python program gave, unless `data` are given, and where no overrides say it.
    """
    spec = specification_of(run)
    config = dict(spec.values)
    named = [f"data={config['data']['name']}"]
    # what has no default
    named += [f"data.{key}={text_of(config['data'][key])}" for key in ("path", "graph") if config["data"].get(key)]
    if data is not None:
        config = {key: value for key, value in config.items() if key not in ("data", "N")}
    elif config["data"]["name"] == "given":
        return None
    schedule = config["schedule"]
    choices = [f"sampler={config['sampler']['name']}", f"model={config['model']['name']}", *(data or named)]
    if schedule.get("mix"):
        entries = [{one["name"]: {key: one[key] for key in one if not _is_own(key)}} for one in schedule["mix"]]
        choices[0] = f"schedule={text_of(entries)}"
    elif schedule["name"] != "full_scan":
        choices.append(f"schedule={schedule['name']}")
    try:
        plain = specify(choices, run.config_dir).values
        found = choices + [one for one in _differences(plain, config) if one not in choices]
        same = data is not None or specify(found, run.config_dir).identity == spec.identity
    except ConfigError:
        return None
    return found if same else None


def _differences(plain: Mapping[str, Any], config: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Overrides that turn one configuration into another."""
    for key, value in config.items():
        name = f"{prefix}{key}"
        group = prefix.rstrip(".")
        of_list = name == "sampler" and bool(config["schedule"].get("mix"))
        if name in RUNTIME_KEYS or _is_own(key) or of_list or name in ("schedule.mix", "data.N"):
            continue
        if group in GROUPS and key in SHARED.get(group, {}):
            continue
        before = plain.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping) and not prefix:
            yield from _differences(before, value, f"{name}.")
        elif value != before:
            yield f"{name}={text_of(value)}"


def _is_own(key: str) -> bool:
    """Whether a key of a choice says which it is, not how it is set."""
    return key == "name" or key.startswith("_")
