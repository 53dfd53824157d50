"""Resolve ``sampler=auto``, the default where no sampler is named: by model, as the races of samplers say.

``scripts/write_auto.py`` writes ``auto.csv`` from the kept figure ``matrix``, which chose, and the chains of
``docs/choice.csv.gz``, which say what the choice loses.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

AUTO = "auto"
ANY = "any"
"""Row of the models that were in no race."""
FILE = "auto.csv"
NOT_NAMED = "no sampler is named, and sampler=auto has no options; expected sampler=NAME as well"
IN_LIST = "expected no sampler, because schedule=[...] names its own"
"""Reasons why an option of the sampler is wrong."""
SCAN = "full_scan"
"""The schedule that stands for none of the user's own."""
PASSES = {"records": "sams"}
"""By model with near pairs, whose iterations are passes over these, the sampler."""
CROSSES = {"emm": "independence"}
"""By model, the sampler in place of the one that races chose, whose chains stay in the mode where they begin: a race
to a target that all chains reach does not show it."""


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


def choice_for(model: str) -> Choice:
    """Return what ``sampler=auto`` takes for a model of this name."""
    if model in PASSES:
        return Choice(model, PASSES[model], 1, PASSES[model], 0)
    entry = _table().get(model, _table()[ANY])
    return replace(entry, sampler=CROSSES[model], single=CROSSES[model]) if model in CROSSES else entry


def choose(model: Mapping[str, Any], schedule: Mapping[str, Any]) -> tuple[str, int]:
    """Choose the sampler for a model and a schedule as they are configured, and its moves before each scan.

    The schedule stays as it is where the user names one, or a number of moves.
    """
    best, moves = choice_for(str(model.get("name"))), schedule.get("moves", 1)
    is_own_schedule = schedule.get("name") != SCAN or moves != 1
    return (best.single, moves) if is_own_schedule else (best.sampler, best.moves)


def explain(model: Mapping[str, Any], schedule: Mapping[str, Any]) -> str:
    """Say in a line what is taken, and why."""
    entry = choice_for(str(model.get("name")))
    sampler, moves = choose(model, schedule)
    chosen = f"sampler=auto: {sampler}" + (f" schedule.moves={moves}" if moves != 1 else "")
    if entry.model in PASSES:
        return f"{chosen}: splits, merges and exchanges of near pairs"
    if entry.model in CROSSES:
        return f"{chosen} (its proposals cross between modes of model={entry.model})"
    if entry.model == ANY:
        return f"{chosen}; model={model.get('name')} was in no race"
    usual, alone = _table()[ANY], (sampler, moves) != (entry.sampler, entry.moves)
    same = sampler == usual.single if alone else (sampler, moves) == (usual.sampler, usual.moves)
    best = "best with one move a scan" if alone else "best of 7"
    return f"{chosen}, {best} over {usual.sets if same else entry.sets} data sets"
