"""The configuration of one run: composed, checked and resolved; and the part of it that is the run's identity."""

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

from splitmerge_cli.config import aliases, auto, hydra_adapter, later, moved
from splitmerge_cli.config.errors import ConfigError, show, unknown, unknown_key
from splitmerge_cli.config.groups import choice, choices, explain, is_choice, plain, unshared
from splitmerge_cli.config.options import check_options, coerced, takes_list
from splitmerge_cli.config.schema import (
    DEFAULT_ITERATIONS,
    DEFAULT_SCANS,
    DEFAULT_WARMUP,
    GROUPS,
    LONGER,
    RUNTIME_KEYS,
    SHARED,
    validate,
)
from splitmerge_cli.config.targets import import_beside, locate, places

_MOST_MOVES = 10_000
"""Of a sampler before each scan."""
_WEIGHTS = (1e-100, 1e100)
"""Smallest and largest weight in a schedule: any sum and any share of such weights is a number."""


def rewrite(overrides: Iterable[str]) -> list[str]:
    """Overrides in the present words; ``schedule=[{sdds: 1}, {gibbs: 1}]`` and ``gamma(1,2)`` as Hydra's grammar takes
    them."""
    rewritten: list[str] = []
    for override in map(aliases.in_override, overrides):
        key, _, value = override.partition("=")
        if key == "schedule" and value.lstrip().startswith("["):
            rewritten += ["schedule=mix", f"schedule.mix={value}"]
        else:
            rewritten.append(quote_priors(override))
    return rewritten


_QUOTED_OR_CALL = re.compile(r"""('[^']*'|"[^"]*")|(?<![\w./-])([A-Za-z_]\w*)\([^()'"]*\)(?=\s*(?:[],)}:]|$))""")


def quote_priors(override: str) -> str:
    """Put each ``gamma(1,2)`` of an override, or another prior, into quotes, which Hydra's grammar wants of text with
    brackets."""

    def quoted(found: re.Match[str]) -> str:
        return found[0] if found[1] or found[2] in hydra_adapter.FUNCTIONS else f"'{found[0]}'"

    return _QUOTED_OR_CALL.sub(quoted, override)


class Draft:
    """What Hydra composed of overrides: neither checked nor resolved.

    Parameters
    ----------
    body : DictConfig
        The configuration without its ``hydra`` node.
    hydra_config : DictConfig or HydraConf
        That node: the choices made in each group, the overrides, and the search path.
    """

    def __init__(self, body: DictConfig, hydra_config: Any) -> None:
        self._body = body
        self._chosen = dict(hydra_config.runtime.choices)
        self._search_path = tuple(hydra_config.searchpath)
        self._hydra_config = hydra_config

    @property
    def parts(self) -> tuple[DictConfig, Any]:
        """What it was made of, as `finish` takes it up in another process."""
        return self._body, self._hydra_config

    @property
    def given(self) -> list[str]:
        """The overrides as they were typed."""
        return list(self._hydra_config.overrides.task)

    @property
    def undecided(self) -> bool:
        """Whether a table of the user's own is to be read and neither its kind nor a model is chosen."""
        decides = re.compile(r"[+]*(model([@.]\S*)?|data\.kind)=")
        return (
            self._chosen.get("data") == "csv"
            and not self._chosen.get("experiment")
            and self._chosen.get("model") == "emm"
            and not any(map(decides.match, self.given))
        )

    @property
    def automatic(self) -> str | None:
        """What is to be said of the sampler where ``sampler=auto`` chose it; None where somebody named one."""
        if self._chosen.get("sampler") != auto.AUTO or self._body.schedule.get("mix") is not None:
            return None
        return auto.said(plain(self._body.model, resolve=False), plain(self._body.schedule, resolve=False))

    def checked(self) -> DictConfig:
        """The configuration, checked and resolved; see `compose`."""
        return self._resolved(check=True)

    def unchecked(self) -> DictConfig:
        """The same where it is a good one, of its data set, model and samplers nothing being imported that can be done
        without; of any other configuration whatever comes out, or a `ConfigError`."""
        return self._resolved(check=False)

    def _resolved(self, check: bool) -> DictConfig:
        import_beside(self._search_path)
        values = self._values()
        validate(values)
        read = check_options if check else coerced
        chosen = dict(self._chosen)
        named = values["schedule"].get("mix") is not None
        if chosen["sampler"] == auto.AUTO:
            for key, value in values["sampler"].items():
                if (key, value) != ("name", auto.AUTO):
                    raise ConfigError(
                        f"sampler.{key}={show(value)}: no sampler is named, and sampler=auto has no options; expected "
                        "sampler=NAME beside it"
                    )
            chosen["sampler"], moves = auto.taken(values["model"], values["schedule"])
            values["sampler"] = choice("sampler", chosen["sampler"])
            if not named:
                values["schedule"] = values["schedule"] | {"moves": moves}
        for group in ("data", "model", "sampler"):
            values[group] = read(group, chosen[group], values[group], self._search_path)
        if named:
            for override in self._hydra_config.overrides.task:
                if re.match(r"[+]*sampler[.=]", override):
                    raise ConfigError(
                        f"{override}: expected no sampler beside those of schedule=[...], which stand in its place"
                    )
        _resolve_schedule(values, self._search_path, check)
        _resolve_start(values)
        if values["iterations"] is None and values["budget"] is None:
            from splitmerge_cli.core.capabilities import Topics

            scans = issubclass(locate(values["model"]["_target_"]), Topics)
            values["iterations"] = (DEFAULT_SCANS if scans else DEFAULT_ITERATIONS) * (LONGER if stops(values) else 1)
        if values["budget"] is not None and not values["timing"]:
            raise ConfigError("timing=false: expected true, because budget is counted in seconds of sampling")
        if values["until"]["rhat"] is not None and values["chains"] < 2:
            raise ConfigError("until.rhat: expected chains of at least 2, which R-hat compares")
        every = values["perplexity"]["every"]
        if values["iterations"] is not None and every > values["iterations"]:
            raise ConfigError(f"perplexity.every={every}: expected at most {values['iterations']}, the iterations")
        resolved = OmegaConf.create(values)
        OmegaConf.set_readonly(resolved, True)
        return resolved

    def _values(self) -> dict[str, Any]:
        """Plain values in the present words, interpolations resolved."""
        try:
            values = plain(self._body, throw_on_missing=True)
        except MissingMandatoryValue as error:
            raise ConfigError(f"{error.full_key}: a value is needed: {error.full_key}=VALUE") from error
        except OmegaConfBaseException as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"{error.full_key}: {reason}" if error.full_key else reason) from error
        values["experiment"] = self._chosen.get("experiment")
        if values["experiment"]:
            values.pop("reproduce", None)  # what `smcmc reproduce` runs of it, no key of a run
        return aliases.in_values(values)


def draft(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> Draft:
    """Compose the configuration of one run; parameters and errors as of `compose`, as far as nothing is checked."""
    with hydra_adapter.hydra_session():
        if config_dir is None and (shared := _from_base(overrides)) is not None:
            return shared
        composed = compose_raw(overrides, config_dir)
        body = OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"])
        return Draft(body, composed.hydra)


_bases: ContextVar[dict[tuple[str, ...], tuple[DictConfig, Any]] | None] = ContextVar("bases", default=None)
"""What Hydra composed of choices alone, and its own node, by these choices."""


@contextmanager
def shared_choices() -> Iterator[None]:
    """Compose many jobs: within this context Hydra composes each set of choices once.

    Jobs that choose alike differ by values, which are put in as Hydra puts them in. Files of ``conf`` are taken not to
    change meanwhile.
    """
    token = _bases.set({})
    try:
        yield
    finally:
        _bases.reset(token)


_parsed = cache(hydra_adapter.parsed_override)


def _from_base(overrides: Sequence[str]) -> Draft | None:
    """The draft of overrides that are choices and values alone; None where Hydra is to compose, or to say what is
    wrong."""
    bases = _bases.get()
    texts = rewrite(overrides)
    if bases is None or not all(re.match(r"(?!hydra\b)[A-Za-z_][\w.]*=", text) for text in texts):
        return None
    try:
        found = [_parsed(text) for text in texts]
        if any(override.sweep for override in found):
            return None
        groups = (*GROUPS, "experiment")
        chosen = tuple(text for text, override in zip(texts, found, strict=True) if override.key in groups)
        if chosen not in bases:
            composed = compose_raw(chosen)
            # what an experiment says to `smcmc reproduce` is long, and no key of a run
            left_out = {"hydra", "reproduce"} if composed.hydra.runtime.choices.get("experiment") else {"hydra"}
            body = OmegaConf.masked_copy(composed, [str(key) for key in composed if key not in left_out])
            OmegaConf.set_struct(body, True)
            bases[chosen] = body, composed.hydra
        base, node = bases[chosen]
        body = deepcopy(base)
        for override in found:
            if override.key not in groups:
                OmegaConf.update(body, override.key, override.value, merge=True)
    except (ConfigError, OmegaConfBaseException):
        return None
    return Draft(body, SimpleNamespace(runtime=node.runtime, searchpath=[], overrides=SimpleNamespace(task=texts)))


def finish(body: DictConfig, hydra_config: Any) -> DictConfig:
    """Check and resolve what Hydra composed; parameters as of `Draft`, errors as of `compose`."""
    return Draft(body, hydra_config).checked()


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
    with hydra_adapter.hydra_session():
        return draft(overrides, config_dir).checked()


def compose_raw(overrides: Sequence[str], config_dir: str | Path | None = None) -> DictConfig:
    """What Hydra composes, its own node included, neither checked nor resolved.

    Raises
    ------
    ConfigError
        An unknown key or choice, or an override that cannot be read.
    """
    search_path = places(config_dir)
    overrides = rewrite(overrides)
    with hydra_adapter.hydra_session():
        try:
            _check_overrides(overrides, search_path)
            return hydra_adapter.composed(overrides, search_path)
        except ConfigError:
            raise
        except Exception as error:  # Hydra raises all kinds on a file that is no configuration
            # an experiment of the user's own may choose by an old name
            missing = hydra_adapter.missing_choice(error)
            new = aliases.renamed_choice(*missing) if missing else None
            if missing is None or new is None:
                raise ConfigError(explain(error, overrides, search_path)) from error
        try:
            return hydra_adapter.composed([*overrides, f"{missing[0]}={new}"], search_path)
        except Exception as error:
            raise ConfigError(explain(error, overrides, search_path)) from error


def _check_overrides(overrides: Sequence[str], search_path: Sequence[str]) -> None:
    """Check what Hydra's grammar allows and no configuration can be: groups without a name, keys left out."""
    for override in hydra_adapter.parsed(overrides):
        key, value = override.key, override.value
        if override.deleted:
            raise ConfigError(f"~{key}: expected KEY=VALUE; no key may be left out")
        if override.sweep:
            if takes_list(key):
                values = str(override.text).partition("=")[2]
                listed = shlex.quote(f"{key}=[{values}]") if re.search(r"[^\w.,-]", values) else f"{key}=[{values}]"
                raise ConfigError(f"{override.text}: expected {listed}; of several values `smcmc sweep` makes a grid")
            continue  # Hydra says so
        if key in (*GROUPS, "experiment") and override.package is None:
            if not is_choice(key, value, search_path):
                raise ConfigError(unknown(key, show(value), choices(key, search_path)))
        elif not key or key == "hydra":
            raise ConfigError(f"{override.text}: expected KEY=VALUE")


def identity(cfg: DictConfig) -> dict[str, Any]:
    """The part of a resolved configuration that determines what is computed, as plain values.

    How held-out documents are evaluated is no part of it where that is never done.
    """
    left_out = RUNTIME_KEYS if cfg.perplexity.every else (*RUNTIME_KEYS, "perplexity")
    values = {key: value for key, value in plain(cfg).items() if key not in left_out}
    values["data"] = later.without("data", moved.under_first_names(values["data"]))
    if not stops(values):
        # it came after runs were stored
        del values["until"]
    return {key: unshared(key, value) if key in SHARED else value for key, value in values.items()}


def _resolve_start(values: dict[str, Any]) -> None:
    if values["K0"] is not None and values["init"] not in (None, "random", "sequential"):
        raise ConfigError(
            f"K0={values['K0']}: only init=random takes a number of clusters (and init=sequential, of topics), "
            f"not init={values['init']}"
        )
    if values["init"] is None:
        values["init"] = "random"
    if values["warmup"] is None:
        values["warmup"] = DEFAULT_WARMUP if learns(values) else 0


def stops(cfg: Mapping[str, Any] | DictConfig) -> bool:
    """Whether chains end when they have run long enough (``until``)."""
    return any(value is not None for value in cfg["until"].values())


def learns(cfg: Mapping[str, Any] | DictConfig) -> bool:
    """Whether a sampler of the configuration learns from the history of all chains of the run."""
    mix = cfg["schedule"]["mix"]
    return any(hasattr(locate(sampler["_target_"]), "adapt_to") for sampler in mix or [cfg["sampler"]])


def _resolve_schedule(values: dict[str, Any], search_path: Sequence[str], check: bool) -> None:
    """Replace the names in a weighted list by the samplers' configurations."""
    schedule = values["schedule"]
    names = choices("schedule")  # what the runner knows: a file of the user's own cannot add to it
    if schedule.get("mix") is None:
        if strange := [key for key in schedule if key not in ("name", "mix", "moves")]:
            raise ConfigError(unknown_key(f"schedule.{strange[0]}", ["schedule.mix", "schedule.moves"]))
        if schedule.get("name") not in names or schedule["name"] == "mix":
            raise ConfigError(unknown("schedule", show(schedule.get("name")), names))
        check_moves(schedule)
        return
    if schedule.get("moves", 1) != 1:
        raise ConfigError(
            f"schedule.moves={show(schedule['moves'])}: expected none beside schedule=[...], whose weights say as much"
        )
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
        weight = check_weight(f"schedule.mix.{name}.weight", given.pop("weight", 1))
        options = choice("sampler", str(name), search_path) | given
        if check:
            options = check_options("sampler", str(name), options, search_path, prefix=f"schedule.mix.{name}")
        else:
            options = coerced("sampler", str(name), options, search_path)
        mix.append({"weight": weight} | options)
    values["schedule"] = {"name": "mix", "mix": mix}
    # the list stands in place of `sampler`; only its name is kept, for folders and titles
    values["sampler"] = {"name": "+".join(entry["name"] for entry in mix)}


def check_moves(schedule: dict[str, Any]) -> None:
    """Check the number of moves before a scan, in place: 1 is left out, since it came after runs were stored."""
    moves = schedule.pop("moves", 1)
    if isinstance(moves, bool) or not isinstance(moves, int) or not 1 <= moves <= _MOST_MOVES:
        raise ConfigError(f"schedule.moves={show(moves)}: expected a whole number from 1 to {_MOST_MOVES:,}")
    if moves != 1:
        if schedule["name"] != auto.SCAN:
            raise ConfigError(f"schedule.moves={moves}: expected schedule={auto.SCAN}, whose scans they come before")
        schedule["moves"] = moves


def check_weight(key: str, weight: Any) -> float:
    """The weight of a sampler in a schedule, checked."""
    least, most = _WEIGHTS
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not least <= weight <= most:
        raise ConfigError(f"{key}={show(weight)}: expected a number from {least:g} to {most:g}")
    return float(weight)
