"""Choices that ``auto`` made, kept in OUT/choices: a run that was interrupted, or that is made longer, does not choose
again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from splitmerge_cli.config.renamed import RENAMED
from splitmerge_cli.runs.store.files import DamagedRun, report_damage
from splitmerge_cli.runs.store.manifest import read_sealed, write_sealed
from splitmerge_cli.runs.store.names import CHOICES

FURTHER = ("data.columns", "data.drop", "data.types", "data.scale", "gap")
"""Keys that ``auto`` may change in addition to options of the model."""


def path_of(out: str | Path, choice_id: str) -> Path:
    """The file of a choice in the folder of the results."""
    return Path(out) / CHOICES / f"{choice_id}.json"


def keep(file: Path, chosen: Any, changes: Mapping[str, Any]) -> None:
    """Store how something was chosen, and the keys of the run that follow.

    A folder that cannot be written is reported by the run itself.
    """
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # YAML, since columns without names are numbers, which are no keys in JSON
        text = yaml.safe_dump(dict(changes), sort_keys=False)
        write_sealed(file, {"id": file.stem, "chosen": chosen, "changes": text})


def recall(file: Path, say: Callable[[str], None]) -> dict[str, Any] | None:
    """Read what `keep` stored; None if there is no such file, or it is not what was written, which `say` receives."""
    if not file.is_file():
        return None
    try:
        stored = read_sealed(file)
        with report_damage(file):
            changes: dict[str, Any] = yaml.safe_load(stored["changes"])
            # the folder may come from somebody else
            allowed = all(key.partition(".")[0] == "model" or key in FURTHER for key in changes)
            if not allowed or stored["id"] != file.stem:
                raise ValueError("not what was written")
            if (former := str(changes.get("model"))) in RENAMED:
                changes["model"] = RENAMED[former]
            return {"chosen": stored["chosen"], "changes": changes}
    except DamagedRun:
        say(f"{file}: damaged; the choice is made again")
        return None
