"""Overrides become a specification: the edge, where text is composed by Hydra, read, and said to be wrong."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from splitmerge_cli.config import auto, hydra_adapter
from splitmerge_cli.config.components import takes_list, types_of_key
from splitmerge_cli.config.errors import ConfigError, show, unknown_choice
from splitmerge_cli.config.groups import check_importable, choices, explain, is_choice, plain
from splitmerge_cli.config.layers import LEFT_OUT, compose_choices, merge
from splitmerge_cli.config.naming import Composed, Given
from splitmerge_cli.config.schema import CHOOSING, LEFT_TO_DATA
from splitmerge_cli.config.specification import RunSpecification, finish
from splitmerge_cli.config.targets import import_beside, places
from splitmerge_cli.overrides import Accepts, SeveralValues, Unreadable, read, shell_word
from splitmerge_cli.received import reject_machine_error

_ASSIGNED = re.compile(r"([+]{0,2})([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
"""Signs, key and value of an override that Hydra need not read."""
_PLAIN = re.compile(r"(?!(?:null|true|false|inf|nan)$)(?:[a-z_]|/|\.{1,2}/)[\w./-]*", re.ASCII | re.IGNORECASE)
"""Texts that are read as they stand, whatever their key takes."""


def rewrite(words: Iterable[str], config_dir: str | Path | None = None) -> list[str]:
    """Rewrite overrides as Hydra's grammar takes them: a text, whatever letters it has, and priors in quotes, and
    ``schedule=[{sdds: 1}, {gibbs: 1}]`` by its parts."""
    texts, search_path = _with_schedule(words), places(config_dir)
    chosen: Mapping[str, Any] = {}
    with suppress(ConfigError):
        named = (text for text in texts if _key_of(text) in CHOOSING)
        chosen = compose_choices(dict(map(_read_choice, named)), search_path).chosen
    return [_for_hydra(text, _Reading(chosen, search_path)) for text in texts]


def _with_schedule(words: Iterable[str]) -> list[str]:
    """Overrides, a weighted list of samplers by its parts."""
    texts: list[str] = []
    for override in words:
        key, _, value = override.partition("=")
        if key == "schedule" and value.lstrip().startswith("["):
            texts += ["schedule=mix", f"schedule.mix={value}"]
        else:
            texts.append(override)
    return texts


class _Reading(NamedTuple):
    """The choices by which values are read: their keys say what they take.

    Attributes
    ----------
    chosen : mapping of str to str
        The choice in each group; none if the choices are wrong, which whoever composes the whole says.
    search_path : sequence of str
        Hydra's additional search path.
    """

    chosen: Mapping[str, Any]
    search_path: Sequence[str]

    def types_of(self, key: str) -> Accepts | None:
        """The types that a key takes, where text is one of them."""
        import_beside(self.search_path)
        return types_of_key(key, self.chosen, self.search_path)


def _key_of(text: str) -> str:
    return text.lstrip("+").partition("=")[0]


def _read_text(text: str, chosen: _Reading) -> tuple[str, Any] | None:
    """The key and the value of an override whose key takes text; None of any other.

    Raises
    ------
    ConfigError
        It is no value that the key takes.
    """
    match = _ASSIGNED.fullmatch(text)
    if match is None or match[2] in CHOOSING:
        return None
    _, key, value = match.groups()
    if _PLAIN.fullmatch(value):
        return key, value
    types = chosen.types_of(key)
    if types is None:
        return None
    try:
        return key, read(value, types)
    except SeveralValues:
        raise ConfigError(_expect_list(text, key, value)) from None
    except Unreadable:
        expected = f"; expected {key}={{NAME: TYPE, ...}}; a name with a comma or a colon stands in quotes"
        raise ConfigError(f"{text}: cannot be read as a value{expected if types.entries else ''}") from None


def _for_hydra(text: str, chosen: _Reading) -> str:
    """An override as Hydra's grammar takes it."""
    if (parsed := _read_text(text, chosen)) is not None:
        key, _, value = text.partition("=")
        return text if _PLAIN.fullmatch(value) else f"{key}={hydra_adapter.encode(parsed[1])}"
    quoted = hydra_adapter.quote_priors(text)
    key, equals, value = text.partition("=")
    if equals and key in CHOOSING and not hydra_adapter.is_readable(quoted):
        return f"{key}={hydra_adapter.encode(value)}"
    return quoted


_GIVEN = re.compile(r"(?!hydra\b)[A-Za-z_][\w.]*=")
"""How a choice or a value begins that adds and removes no key."""


def specify(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None, leave_to_data: bool = False
) -> RunSpecification:
    """Read the configuration of one run, but what only the code of its data set knows (`DataSource.check`).

    This is the edge: values are read as their keys take them, and from here on there is no text. Other runs are made
    of the specification (`RunSpecification.with_`). Overrides that are more than ``KEY=VALUE``, and those that are
    wrong, are composed by Hydra as a whole.

    Parameters
    ----------
    overrides : sequence of str
        ``KEY=VALUE`` in Hydra's grammar; ``schedule`` also takes a weighted list.
    config_dir : str or Path, optional
        A folder with the user's own groups, searched after the packaged ones.
    leave_to_data : bool
        Whether the keys of `LEFT_TO_DATA` may be ``auto``: they are then in `RunSpecification.to_choose`.

    Returns
    -------
    RunSpecification
        Resolved: no interpolations, defaults of `iterations`, `init` and `warmup` filled in.

    Raises
    ------
    ConfigError
        An unknown key or choice (the message suggests the nearest), a value of the wrong type or out of range.
    """
    left_open = {f"{key}={auto.AUTO}": key for key in LEFT_TO_DATA if leave_to_data}
    to_choose = {left_open[word] for word in overrides if word in left_open}
    words = [word for word in overrides if word not in left_open]
    search_path = tuple(places(config_dir))
    composed = _read_given(words, search_path, to_choose)
    if composed is None:
        waiting = [word for word in words if "model" in to_choose and word.startswith("model.")]
        words = [word for word in words if word not in waiting]
        # Hydra composes the whole, or says what is wrong
        raw = compose_raw(words, config_dir)
        if waiting:  # options that wait for the model
            raise _refuse_waiting(waiting, search_path)
        composed = read_hydra(raw, raw.hydra, words, search_path)
    return finish(replace(composed, to_choose=frozenset(to_choose)))


def _refuse_waiting(options: Sequence[str], search_path: Sequence[str]) -> ConfigError:
    """The error about options of a model that is left to the data, of which one, or another word, cannot be read."""
    for option in options:
        _read(option, _Reading({}, search_path))
    return ConfigError(f"{options[0]}: expected model=NAME as well, since other words are no KEY=VALUE")


def read_hydra(raw: DictConfig, node: Any, words: Sequence[str], search_path: Sequence[str]) -> Composed:
    """A configuration that Hydra composed, with Hydra's own node of it."""
    values = {key: value for key, value in plain(raw, resolve=False).items() if key not in LEFT_OUT}
    return Composed(values, dict(node.runtime.choices), None, tuple(search_path), tuple(words))


def compose(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None, leave_to_data: bool = False
) -> RunSpecification:
    """Read the configuration of one run and check all of it; parameters and errors as of `specify`."""
    spec = specify(overrides, config_dir, leave_to_data)
    spec.data.check()
    return spec


def _read_given(words: Sequence[str], search_path: tuple[str, ...], to_choose: Collection[str]) -> Composed | None:
    """Compose overrides by what they name; None if they are not ``KEY=VALUE`` of
    keys and choices that there are."""
    texts = _with_schedule(words)
    if not all(map(_GIVEN.match, texts)):
        return None
    try:
        named = dict(_read_choice(text) for text in texts if _key_of(text) in CHOOSING)
        below, chosen = compose_choices(named, search_path)
        reading = _Reading(chosen, search_path)
        values: dict[str, Any] = {}
        for text in texts:
            if (key := _key_of(text)) not in CHOOSING:
                _, value = _read(text, reading)
                before = values.pop(key, None)
                both = isinstance(before, Mapping) and isinstance(value, Mapping)
                values[key] = merge(before, value) if both else value
        named_keys = Given(named, values, search_path)
        return Composed(named_keys.lay_over(below, to_choose), chosen, named_keys, search_path, tuple(words))
    except (ConfigError, OmegaConfBaseException):
        return None


def _read_choice(text: str) -> tuple[str, Any]:
    group, _, name = text.lstrip("+").partition("=")
    return group, name if _PLAIN.fullmatch(name) else hydra_adapter.parse_override(text).value


def _read(text: str, chosen: _Reading) -> tuple[str, Any]:
    """The key and the value of an override, as OmegaConf takes them; a `ConfigError` of several values."""
    if (value := _read_text(text, chosen)) is not None:
        return value[0], hydra_adapter.protect(value[1])
    parsed = hydra_adapter.parse_override(hydra_adapter.quote_priors(text))
    if parsed.sweep:
        raise ConfigError(f"{text}: several values")
    return parsed.key, parsed.value


def compose_raw(words: Sequence[str], config_dir: str | Path | None = None) -> DictConfig:
    """Return what Hydra composes, its own node included, neither checked nor resolved.

    Raises
    ------
    ConfigError
        An unknown key or choice, or an override that cannot be read.
    """
    search_path = tuple(places(config_dir))
    with hydra_adapter.hydra_session():
        texts = rewrite(words, config_dir)
        try:
            _check_overrides(texts, search_path)
            return hydra_adapter.compose(texts, search_path)
        except ConfigError:
            raise
        except Exception as error:  # Hydra raises all kinds on a file that is no configuration
            reject_machine_error(error, "the configuration")
            raise ConfigError(explain(error, _with_schedule(words), search_path)) from error


def _expect_list(text: str, key: str, values: str) -> str:
    """The message about several values of a key that takes a list."""
    listed = shell_word(f"{key}=[{values}]") if re.search(r"[^\w.,-]", values, re.ASCII) else f"{key}=[{values}]"
    return f"{text}: expected {listed}; of several values `smcmc sweep` makes a grid"


def _check_overrides(texts: Sequence[str], search_path: Sequence[str]) -> None:
    """Check what Hydra's grammar allows and no configuration can be: groups without a name, keys left out."""
    for override in hydra_adapter.parse_overrides(texts):
        key, value = override.key, override.value
        if override.deleted:
            raise ConfigError(f"~{key}: expected KEY=VALUE; no key may be left out")
        if override.sweep:
            if takes_list(key):
                raise ConfigError(_expect_list(str(override.text), key, str(override.text).partition("=")[2]))
            continue  # Hydra reports it
        if key in CHOOSING and override.package is None:
            if not is_choice(key, value, search_path):
                raise ConfigError(unknown_choice(key, show(value), choices(key, search_path)))
            check_importable(key, value)
        elif not key or key == "hydra":
            raise ConfigError(f"{override.text}: expected KEY=VALUE")
