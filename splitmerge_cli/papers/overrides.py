"""Other settings in place of the chosen ones: ``smcmc reproduce ID --with KEY=VALUE``.

Every run of a figure that has the key takes the value, and the claims are judged by the same rules. A run's identity
follows from its settings, so such runs are next to the others; their pictures have their own folder, which no
edition, report or archive reads.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.config.schema import RUNTIME_KEYS

OPTION = "--with"
_LONGEST = 80
"""Most letters of overrides in the name of a folder."""


def check_overrides(overrides: Sequence[str]) -> list[str]:
    """Return ``KEY=VALUE`` of each, the last of each key, by key; a `ConfigError` where one is none of a run."""
    override_by_key = {}
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not value or not re.fullmatch(r"[A-Za-z_][\w.]*", key):
            raise ConfigError(f"{OPTION} {override}: expected KEY=VALUE")
        if key in RUNTIME_KEYS:
            raise ConfigError(f"{OPTION} {override}: {key} changes no result; expected a key that does")
        override_by_key[key] = override
    return [override_by_key[key] for key in sorted(override_by_key)]


def override_jobs(
    jobs: Sequence[Sequence[str]], overrides: Sequence[str], config_dir: str | Path | None = None
) -> list[list[str]]:
    """Put overrides, as `check_overrides` returns them, in the place of what jobs have, where their keys apply; a
    `ConfigError` of a key that none of the jobs has, or a value that it cannot have."""
    changed = [list(job) for job in jobs]
    for override in overrides if jobs else ():
        key = override.partition("=")[0]
        applies = [_has(specify(job, config_dir).values, key) for job in changed]
        if not any(applies):
            specify([*changed[0], override], config_dir)  # says what is wrong
            raise ConfigError(f"{OPTION} {override}: none of the runs has {key}")
        changed = [_put(job, override) if has else job for job, has in zip(changed, applies, strict=True)]
    return changed


def _has(values: Mapping[str, Any], key: str) -> bool:
    """Whether a configuration has a dotted key."""
    node: Any = values
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return False
        node = node[part]
    return True


def _put(job: Sequence[str], override: str) -> list[str]:
    key = override.partition("=")[0]
    return [*(word for word in job if word.partition("=")[0] != key), override]


def folder_suffix(overrides: Sequence[str]) -> str:
    """Return the end of a folder's name that tells the overrides; empty without any."""
    if not overrides:
        return ""
    text = ",".join(overrides)
    name = re.sub(r"[^\w.,=+-]", "_", text)[:_LONGEST]
    return f"-with-{name}" + ("" if name == text else f"-{hashlib.sha256(text.encode()).hexdigest()[:8]}")
