"""Choices and values that are named of a run, and the configuration that they make with the files of the choices."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from splitmerge_cli.config.auto import AUTO
from splitmerge_cli.config.errors import ConfigError, show, unknown_key
from splitmerge_cli.config.hydra_adapter import protect
from splitmerge_cli.config.layers import compose_choices, merge
from splitmerge_cli.config.schema import CHOOSING, GROUPS, LEFT_TO_DATA, MIX, NESTED, NOT_TYPED, TAKE_K0, known_keys
from splitmerge_cli.core.options import Gamma


@dataclass(frozen=True)
class Given:
    """Choices, by group, and values, by dotted key as OmegaConf takes them, that somebody gave of a run; the rest
    follows from them."""

    choices: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    search_path: tuple[str, ...] = ()

    @property
    def keys(self) -> set[str]:
        """Keys that were named."""
        return {*self.choices, *self.values}

    def lay_over(self, below: Mapping[str, Any], to_choose: Collection[str] = ()) -> dict[str, Any]:
        """Lay the values over the configuration that the choices make; the options of a model that is yet `to_choose`
        wait for it."""
        waits = "model" in to_choose
        return put_values(below, {k: v for k, v in self.values.items() if not (waits and k.startswith("model."))})


@dataclass(frozen=True)
class Composed:
    """A configuration that is neither resolved nor checked: `values` laid over choices, interpolations unresolved; the
    choices `chosen` in each group; what was `given`, None if nobody knows; `words` as they were typed; keys of
    `LEFT_TO_DATA` that are left to the data (`to_choose`)."""

    values: dict[str, Any]
    chosen: dict[str, Any]
    given: Given | None
    search_path: tuple[str, ...]
    words: tuple[str, ...] = ()
    to_choose: frozenset[str] = frozenset()


def name_keys(
    named: Given, changes: Mapping[str, Any], to_choose: Collection[str] = (), is_short: bool = False
) -> Composed:
    """Compose the keys that were given and further ones.

    A key of `LEFT_TO_DATA` may be ``auto``. If `is_short`, options may stand without their groups.
    """
    changed, to_choose = by_key(changes), set(to_choose)
    # options of a model that was left to the data have waited for it
    waited = "model" in to_choose
    choices_, values = dict(named.choices), dict(named.values)
    before = compose_choices(choices_, named.search_path).chosen
    for key in LEFT_TO_DATA:
        if key in changed:
            (to_choose.add if changed[key] == AUTO else to_choose.discard)(key)
    if changed.get("model") == AUTO:
        changed["model"], changes = None, {**changes, "model": None}
    for group in CHOOSING:
        if group in changed and (name := changed.pop(group)) is not None:
            choices_[group] = name
        elif group in changes and not isinstance(changes[group], Mapping):
            choices_.pop(group, None)
    # a weighted list stands in place of a sampler
    if "schedule" in changes and choices_.get("schedule") == MIX:
        choices_.pop("sampler", None)
    elif "sampler" in changes and before["schedule"] == MIX:
        choices_.pop("schedule", None)
    layers = compose_choices(choices_, named.search_path)
    gone = [group for group in GROUPS if layers.chosen[group] != before[group] and not (waited and group == "model")]
    values = {key: value for key, value in values.items() if key.partition(".")[0] not in gone}
    if changed.get("init") not in TAKE_K0:
        values.pop("K0", None)
    for key, value in changed.items():
        whole = _whole_key(key, layers.values) if is_short else key
        values.pop(whole, None)  # the last value is laid over the others
        if whole not in to_choose:
            values[whole] = protect(_plain_value(value))
    named = replace(named, choices=choices_, values=values)
    return Composed(
        named.lay_over(layers.values, to_choose),
        layers.chosen,
        named,
        named.search_path,
        to_choose=frozenset(to_choose),
    )


def by_key(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted key: mappings of groups and of nested keys are taken apart."""
    value_by_key: dict[str, Any] = {}
    for key, value in changes.items():
        if key == "schedule" and isinstance(value, list | tuple):
            value_by_key |= {key: MIX, f"{key}.mix": list(value)}
        elif isinstance(value, Mapping) and (key in CHOOSING or key in NESTED):
            if key in CHOOSING and "name" in value:
                value_by_key[key] = value["name"]
            value_by_key |= {f"{key}.{option}": one for option, one in value.items() if option not in NOT_TYPED}
        else:
            value_by_key[key] = value
    return value_by_key


def _whole_key(key: str, values: Mapping[str, Any]) -> str:
    """A key with its group, where an option of the data set, the model or the sampler stands without."""
    if "." in key or key in values:
        return key
    groups = [group for group in ("model", "sampler", "data", "schedule") if key in values[group]]
    if len(groups) > 1:
        raise ConfigError(f"{key}: expected {' or '.join(f'{group}.{key}' for group in groups)}")
    return f"{groups[0]}.{key}" if groups else key


def _plain_value(value: Any) -> Any:
    """A value as a configuration holds it."""
    if isinstance(value, Path | Gamma):
        return str(value)
    if hasattr(value, "tolist"):  # an array, an index or a scalar
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain_value(item) for key, item in value.items()}
    return [_plain_value(item) for item in value] if isinstance(value, list | tuple) else value


def put_values(below: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Lay values over a configuration; a `ConfigError` of a key that it does not have."""
    whole = dict(below)
    for key, value in values.items():
        *outer, last = key.split(".")
        node: Any = whole
        for name in outer:
            node = node.get(name) if isinstance(node, Mapping) else None
        if not isinstance(node, Mapping) or last not in node:
            raise ConfigError(unknown_key(key, known_keys(whole), show(value)))
        for name in reversed([*outer, last]):
            value = {name: value}
        whole = merge(whole, value)
    return whole
