"""The command line that makes a configuration: overrides, quoted for a shell."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from splitmerge_cli.config.components import types_of_key
from splitmerge_cli.config.schema import CHOOSING
from splitmerge_cli.config.specification import RunSpecification, differences
from splitmerge_cli.overrides import Accepts, shell_word, write


def override(key: str, value: Any, types: Accepts | None = None) -> str:
    """``KEY=VALUE`` as the command line reads it; a tuple has several values, for ``smcmc sweep``.

    Where the `types` that the key takes are known, fewer texts stand in quotes.
    """
    values = value if isinstance(value, tuple) else (value,)
    return f"{key}={','.join(write(one, types) for one in values)}"


def command_of(
    spec: RunSpecification, changed: Mapping[str, Any] | None = None, config_dir: str | Path | None = None
) -> str | None:
    """The command that makes a run, as short as it can be; None of data that a program held.

    Keys that are `changed` have other values; a choice, such as ``sampler``, replaces the choice of `spec` and its
    options. A number of `iterations`, or a `budget`, limits a run whose length nobody names; without one
    (``iterations``: None) it ends when it is long enough. A tuple has several values, for ``smcmc sweep``. A
    `ConfigError` if nothing can be typed that makes this run: a choice is no longer at hand.

    Examples
    --------
    >>> spec = specify(["data=jain_neal", "iterations=500", "sampler=sdds"])
    >>> command_of(spec, {"iterations": 1000})
    'smcmc run data=jain_neal sampler=sdds iterations=1000'
    >>> command_of(spec, {"seed": (1, 2)})
    'smcmc sweep data=jain_neal sampler=sdds iterations=500 seed=1,2'
    """
    if spec.data.name == "given":
        return None
    changed = dict(changed or {})
    if changed.get("iterations", 0) is None:
        spec = spec.with_open_length()
        del changed["iterations"]
    verb = "sweep" if any(isinstance(value, tuple) for value in changed.values()) else "run"
    more = [] if config_dir is None else ["--config-dir", str(config_dir)]
    return " ".join(["smcmc", verb, *map(shell_word, [*words_of(spec, differences(spec, changed)), *more])])


def words_of(spec: RunSpecification, named: Mapping[str, Any]) -> list[str]:
    """``KEY=VALUE`` of keys of a run, text in quotes only where its key needs them."""
    chosen = {"data": spec.data.name, "model": spec.model.name, "sampler": spec.sampler_name}
    return [
        override(key, value, None if key in CHOOSING else types_of_key(key, chosen, spec.search_path))
        for key, value in named.items()
    ]


def name_beside(changed: RunSpecification, job: RunSpecification) -> RunSpecification:
    """A run that was made of a job, with the words of that and of what differs."""
    changes = changed.find_changes(job)
    words = [word for word in job.words if word.partition("=")[0] not in changes]
    return replace(changed, words=(*words, *words_of(changed, changes)))
