"""From what is named of a run to its configuration: choices and values laid over the files of the choices, then values
that follow from others: interpolations, the sampler of ``sampler=auto``, weighted lists, start and length.

``sampler=auto`` is the default: by model, as the races of samplers say. ``scripts/write_auto.py`` writes ``auto.csv``
from the kept figure ``matrix``, which chose, and the chains of ``docs/choice.csv.gz``, which say what it loses.
"""

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from splitmerge_cli.config import hydra_adapter, schema
from splitmerge_cli.config.components import Component, read_component
from splitmerge_cli.config.errors import ConfigError, show, unknown_choice, unknown_key
from splitmerge_cli.config.groups import MISSING, choice, choices, compose_choices, merge, plain
from splitmerge_cli.core.options import Gamma
from splitmerge_cli.data.dataset import Kind, kinds

AUTO = "auto"
ANY = "any"
"""Row of the models that were in no race."""
FILE = "auto.csv"
NOT_NAMED = "no sampler is named, and sampler=auto has no options; expected sampler=NAME as well"
IN_LIST = "expected no sampler, because schedule=[...] names its own"
"""Reasons why an option of the sampler is wrong."""
SCAN = "full_scan"
"""The schedule that stands for none of the user's own."""


@dataclass(frozen=True)
class Choice:
    """Sampler that ``sampler=auto`` takes for a model (`ANY` of one that was in no race), and its `moves` before each
    scan; `single`: the sampler where the schedule is the user's own; `sets`: data sets of the races that chose."""

    model: str
    sampler: str
    moves: int
    single: str
    sets: int


@cache
def _table() -> dict[str, Choice]:
    text = (resources.files("splitmerge_cli.config") / FILE).read_text(encoding="utf-8")
    return {
        row["model"]: Choice(row["model"], row["sampler"], int(row["moves"]), row["single"], int(row["sets"]))
        for row in csv.DictReader(text.splitlines())
    }


def choice_for(model: str) -> tuple[Choice, Kind | None]:
    """Return what ``sampler=auto`` takes for a model of this name; and its kind of data where that names the sampler in
    place of the one that races chose."""
    entry = _table().get(model, _table()[ANY])
    kind = next((kind for kind in kinds().values() if kind.sampler and kind.model == model), None)
    if kind is None:
        return entry, None
    moves = entry.moves if kind.sampler_crosses else 1
    return replace(entry, sampler=kind.sampler, single=kind.sampler, moves=moves), kind


def choose(model: Mapping[str, Any], schedule: Mapping[str, Any]) -> tuple[str, int]:
    """Choose the sampler for a model and a schedule as they are configured, and its moves before each scan.

    The schedule stays as it is where the user names one, or a number of moves.
    """
    (best, _), moves = choice_for(str(model.get("name"))), schedule.get("moves", 1)
    is_own_schedule = schedule.get("name") != SCAN or moves != 1
    return (best.single, moves) if is_own_schedule else (best.sampler, best.moves)


def explain(model: Mapping[str, Any], schedule: Mapping[str, Any]) -> str:
    """Say in a line what is taken, and why."""
    entry, kind = choice_for(str(model.get("name")))
    sampler, moves = choose(model, schedule)
    chosen = f"sampler=auto: {sampler}" + (f" schedule.moves={moves}" if moves != 1 else "")
    if kind is not None:
        return chosen + kind.why_sampler
    if entry.model == ANY:
        return f"{chosen}; model={model.get('name')} was in no race"
    usual, alone = _table()[ANY], (sampler, moves) != (entry.sampler, entry.moves)
    same = sampler == usual.single if alone else (sampler, moves) == (usual.sampler, usual.moves)
    best = "best with one move a scan" if alone else "best of 7"
    return f"{chosen}, {best} over {usual.sets if same else entry.sets} data sets"


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


LABELLED = (".csv", ".tsv", ".txt")
"""Suffixes of files: `data.labels` names a column, or such a file of labelled pairs."""


def read_labels(data: Mapping[str, Any]) -> dict[str, Any]:
    """The options of data, in which a file of labelled pairs stands under both links; a `ConfigError` if other links
    are given, too."""
    links, labels = ("must_link", "cannot_link"), data.get("labels")
    if not (isinstance(labels, str) and labels.lower().endswith(LABELLED)):
        return dict(data)
    if key := next((key for key in links if data[key] is not None), None):
        expected = f"expected null with data.labels={labels}, which has the pairs of both"
        raise ConfigError(f"data.{key}={data[key]}: {expected}")
    return {**data, "labels": None, **dict.fromkeys(links, labels)}


@dataclass(frozen=True)
class Composed:
    """A configuration that is neither resolved nor checked: `values` laid over choices, interpolations unresolved; the
    choices `chosen` in each group; what was `given`; `words` as they were typed; keys of `LEFT_TO_DATA` that are left
    to the data (`to_choose`)."""

    values: dict[str, Any]
    chosen: dict[str, Any]
    given: Given
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
    for key in schema.LEFT_TO_DATA:
        if key in changed:
            (to_choose.add if changed[key] == AUTO else to_choose.discard)(key)
    if changed.get("model") == AUTO:
        changed["model"], changes = None, {**changes, "model": None}
    for group in schema.CHOOSING:
        if group in changed and (name := changed.pop(group)) is not None:
            choices_[group] = name
        elif group in changes and not isinstance(changes[group], Mapping):
            choices_.pop(group, None)
    # a weighted list stands in place of a sampler
    if "schedule" in changes and choices_.get("schedule") == schema.MIX:
        choices_.pop("sampler", None)
    elif "sampler" in changes and before["schedule"] == schema.MIX:
        choices_.pop("schedule", None)
    layers = compose_choices(choices_, named.search_path)
    gone = {group for group in schema.GROUPS if layers.chosen[group] != before[group]}
    gone -= {"model"} if waited else set()
    values = {key: value for key, value in values.items() if key.partition(".")[0] not in gone}
    if changed.get("init") not in schema.TAKE_K0:
        values.pop("K0", None)
    for key, value in changed.items():
        whole = _whole_key(key, layers.values) if is_short else key
        values.pop(whole, None)  # the last value is laid over the others
        if whole not in to_choose:
            values[whole] = hydra_adapter.protect(_plain_value(value))
    named, left = replace(named, choices=choices_, values=values), frozenset(to_choose)
    return Composed(named.lay_over(layers.values, to_choose), layers.chosen, named, to_choose=left)


def by_key(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted key: mappings of groups and of nested keys are taken apart."""
    value_by_key: dict[str, Any] = {}
    for key, value in changes.items():
        if key == "schedule" and isinstance(value, list | tuple):
            value_by_key |= {key: schema.MIX, f"{key}.mix": list(value)}
        elif isinstance(value, Mapping) and (key in schema.CHOOSING or key in schema.NESTED):
            if key in schema.CHOOSING and "name" in value:
                value_by_key[key] = value["name"]
            value_by_key |= {f"{key}.{option}": one for option, one in value.items() if option not in schema.NOT_TYPED}
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
            raise ConfigError(unknown_key(key, schema.known_keys(whole), show(value)))
        for name in reversed([*outer, last]):
            value = {name: value}
        whole = merge(whole, value)
    return whole


_MOST_MOVES = 10_000
"""Most moves of a sampler before each scan."""
_WEIGHTS = (1e-100, 1e100)
"""Smallest and largest weight in a schedule: any sum and any share of such weights is a number."""
_REFERENCE = re.compile(r"\$\{(\w+)\}", re.ASCII)
_SCALARS = (bool, int, float, str, type(None))


def resolve_interpolations(unresolved: Mapping[str, Any], experiment: str | None) -> dict[str, Any]:
    """Plain values, interpolations resolved."""
    try:
        values = _copy_resolved(unresolved, unresolved)
    except LookupError:
        try:
            values = plain(OmegaConf.create(dict(unresolved)), throw_on_missing=True)
        except MissingMandatoryValue as error:
            raise ConfigError(f"{error.full_key}: a value is needed: {error.full_key}=VALUE") from error
        except OmegaConfBaseException as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"{error.full_key}: {reason}" if error.full_key else reason) from error
    return values | {"experiment": experiment}


def _copy_resolved(value: Any, root: Mapping[str, Any]) -> Any:
    """Copy plain values, references to keys of `root` resolved: what OmegaConf does, in a tenth of its time.

    A `LookupError` where a value needs more.
    """
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _copy_resolved(one, root) for key, one in value.items()}
    if type(value) is list:
        return [_copy_resolved(one, root) for one in value]
    if type(value) is str and (reference := _REFERENCE.fullmatch(value)):
        value = root[reference[1]]
    if type(value) not in _SCALARS or (type(value) is str and ("${" in value or value == MISSING)):
        raise LookupError
    return value


def choose_sampler(values: dict[str, Any]) -> str:
    """Put the sampler in place for which ``sampler=auto`` stands; returns its name."""
    for key, value in values["sampler"].items():
        if (key, value) != ("name", AUTO):
            raise ConfigError(f"sampler.{key}={show(value)}: {NOT_NAMED}")
    name, moves = choose(values["model"], values["schedule"])
    values["sampler"] = choice("sampler", name)
    if values["schedule"].get("mix") is None and values["schedule"].get("moves", 1) != moves:
        values["schedule"] = values["schedule"] | {"moves": moves}
    return name


def resolve_defaults(values: dict[str, Any], model: Component, samplers: Sequence[Component]) -> dict[str, Any]:
    """Fill in defaults that depend on other keys; returns them."""
    if values["K0"] is not None and values["init"] not in schema.TAKE_K0:
        raise ConfigError(
            f"K0={values['K0']}: only init=random takes a number of clusters (and init=sequential, of documents), "
            f"not init={values['init']}"
        )
    resolved = {key: values[key] for key in ("init", "warmup", "iterations")}
    if resolved["init"] is None:
        resolved["init"] = model.kind.init
    if resolved["warmup"] is None:
        resolved["warmup"] = schema.DEFAULT_WARMUP if any(hasattr(one.target, "adapt_to") for one in samplers) else 0
    if resolved["iterations"] is None and values["budget"] is None:
        stops = any(value is not None for value in values["until"].values())
        # R-hat compares chains; the length of an experiment's chains belongs to it
        if not stops and values["chains"] > 1 and not values["experiment"]:
            resolved["until"] = dict(schema.ENOUGH)
        else:
            resolved["iterations"] = model.kind.iterations * (schema.LONGER if stops else 1)
    values |= resolved
    return resolved | ({"until": schema.Until(**resolved["until"])} if "until" in resolved else {})


def read_list(values: dict[str, Any], search_path: Sequence[str]) -> tuple[Component, ...]:
    """The samplers of a weighted list, whose names are replaced by their configurations."""
    schedule = values["schedule"]
    if schedule.get("moves", 1) != 1:
        raise ConfigError(
            f"schedule.moves={show(schedule['moves'])}: expected none with schedule=[...], which has weights"
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
        entry_options = dict(value) if isinstance(value, dict) else {"weight": value}
        weight = check_weight(f"{prefix}.weight", entry_options.pop("weight", 1))
        options = choice("sampler", str(name), search_path) | entry_options
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
    if schedule.get("name") not in names or schedule["name"] == schema.MIX:
        raise ConfigError(unknown_choice("schedule", show(schedule.get("name")), names))
    moves = schedule.get("moves", 1)
    if isinstance(moves, bool) or not isinstance(moves, int) or not 1 <= moves <= _MOST_MOVES:
        raise ConfigError(f"schedule.moves={show(moves)}: expected a whole number from 1 to {_MOST_MOVES:,}")
    if moves != 1 and schedule["name"] != SCAN:
        raise ConfigError(f"schedule.moves={moves}: expected schedule={SCAN}, whose scans they come before")


def check_weight(key: str, weight: Any) -> float:
    """The weight of a sampler in a schedule, checked."""
    least, largest = _WEIGHTS
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not least <= weight <= largest:
        raise ConfigError(f"{key}={show(weight)}: expected a number from {least:g} to {largest:g}")
    return float(weight)
