"""Claims of papers, their readings, errata and what the papers leave out, read from files.

``claims.csv`` of a paper's folder has one row for each published value and each sentence that claims something.
``readings.csv`` says for rows of it, by patterns, under which reading (start, form, setting) the one verdict is given,
what is measured, by which rule of `splitmerge_cli.papers.verdicts` and with which tolerance, and why so.
``errata.csv`` has the errors of the paper, ``settings.csv`` what it leaves open and what was chosen. ``shared.csv``
names claims that are judged by the same measured number as another one: they are counted once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers.declaration import Paper, paper_of

PUBLISHED = ["id", "data", "sampler", "metric", "value", "unit", "statement"]
READINGS = ["id", "data", "sampler", "metric", "reading", "statistic", "rule", "tolerance", "because"]
PATTERNS = READINGS[:4]
SHARED = [*PATTERNS, "first_id", "first_data", "first_sampler", "first_metric"]
ERRATA = ["where", "printed", "correct", "why", "command", "effect", "shows"]
SETTINGS = ["setting", "paper", "chosen", "why", "sensitivity"]
RULES = {
    "exact": "the exact value agrees with the published one within the tolerance, the rounding of what was printed",
    "holds": "exact numbers, given in the reason, show it",
    "factor": "the interval lies within the tolerance, a factor, of the published value",
    "distance": "the interval lies within the tolerance of the published value",
    "at_most": "the interval lies at or below the tolerance",
    "at_least": "the interval lies at or above the tolerance",
    "mixing": "R-hat: both at most 1.2, or both above it and the interval within the tolerance, a factor",
    "most": "the interval of the share of at least 6 data sets, restarts or chains that show it lies above one half",
    "positive": "the interval of the paired difference lies above 0",
    "noise": "the total variation distance is at most the tolerance times that expected of an exact sampler",
    "clock": "never: a ratio of our own programs, or a score within seconds, is no measurement of the paper",
    "none": "no run of ours can decide it",
}
"""Rules, and when a claim is reproduced under them."""


@dataclass(frozen=True)
class Claim:
    """A published claim, and how it is read: `id`, of the figure or table; `data`, `sampler` and `metric` that it is
    about; its `value` in a `unit` (NaN where it is in words: `statement`); the `reading` under which its one verdict is
    given, empty where the paper leaves no choice; the `statistic` that is measured; the `rule`, one of `RULES`, and its
    `tolerance`, NaN where it has none; `because`: why this reading, and this tolerance."""

    id: str
    data: str
    sampler: str
    metric: str
    value: float
    unit: str
    statement: str
    reading: str = ""
    statistic: str = ""
    rule: str = ""
    tolerance: float = np.nan
    because: str = ""


def published_claims(figure: str) -> list[Claim]:
    """The claims of one figure or table, from the folder of its paper; a `ConfigError` if a file is not as it should
    be."""
    if (paper := paper_of(figure)) is None:
        return []
    files = paper.folder / "claims.csv", paper.folder / "readings.csv"
    return list(_claims(*files, tuple(_state(file) for file in files)).get(figure, ()))


def _state(file: Path) -> tuple[int, int]:
    """Return a stamp that changes when a file does."""
    if not file.is_file():
        return 0, 0
    status = file.stat()
    return status.st_mtime_ns, status.st_size


@cache
def _claims(published: Path, readings: Path, _states: tuple[tuple[int, int], ...]) -> dict[str, list[Claim]]:
    """The claims of a paper by figure: of every figure and many times they are asked for."""
    rows = _read(published, PUBLISHED, keep_default_na=False)
    # in the order in which their patterns are tried
    read = _read(readings, READINGS, keep_default_na=False, dtype=str)
    if unknown := sorted(set(read["rule"]) - set(RULES)):
        raise ConfigError(f"{readings}: rule={unknown[0]}: expected one of {', '.join(RULES)}")
    patterns = list(read.itertuples(index=False))
    claims_by_id: dict[str, list[Claim]] = {}
    for row in rows.itertuples(index=False):
        claims_by_id.setdefault(str(row.id), []).append(_claim(row, patterns))
    return claims_by_id


def _claim(row: Any, readings: Sequence[Any]) -> Claim:
    """A claim with the first reading whose patterns fit; an empty pattern fits all."""
    claim = Claim(row.id, row.data, row.sampler, row.metric, _number(row.value), row.unit, row.statement)
    for r in readings:
        if all(fnmatchcase(getattr(claim, name), getattr(r, name) or "*") for name in PATTERNS):
            read = {name: getattr(r, name) for name in READINGS[4:]}
            return replace(claim, **read | {"tolerance": _number(r.tolerance)})
    return claim


def shared_numbers(figures: Iterable[str]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Map figure, data, sampler and metric of claims that share a measured number with another one, of the papers of
    these figures, to the same four of the claim that is counted; a `ConfigError` of a ``shared.csv`` with other columns
    or an empty cell."""
    papers = {paper.key: paper for paper in map(paper_of, figures) if paper is not None}
    rows = [_complete(paper.folder / "shared.csv", SHARED) for paper in papers.values()]
    return {row[:4]: row[4:] for table in rows for row in table.itertuples(index=False, name=None)}


def _number(text: Any) -> float:
    return float(text) if text != "" else np.nan


def errata(paper: Paper) -> pd.DataFrame:
    """The rows of a paper's ``errata.csv`` (`ERRATA`, of str), in its order; a `ConfigError` of other columns or an
    empty cell."""
    return _complete(paper.folder / "errata.csv", ERRATA)


def settings(paper: Paper) -> pd.DataFrame:
    """The rows of a paper's ``settings.csv`` (`SETTINGS`, of str): what it leaves out; errors as of `errata`."""
    return _complete(paper.folder / "settings.csv", SETTINGS)


def _complete(file: Path, columns: list[str]) -> pd.DataFrame:
    """A table of texts without an empty cell."""
    rows = _read(file, columns, keep_default_na=False, dtype=str)
    for name in columns:
        if empty := np.flatnonzero(rows[name].str.strip() == "").tolist():
            raise ConfigError(f"{file}: row {empty[0] + 1}, {name}: empty; expected a text, or none")
    return rows


def _read(file: Path, columns: list[str], **options: Any) -> pd.DataFrame:
    """A table of a paper's folder; without rows where the paper has no such file."""
    if not file.is_file():
        return pd.DataFrame(columns=columns)
    try:
        rows = pd.read_csv(file, encoding="utf-8", **options)
    except ValueError as error:  # the parser's own are among them
        raise ConfigError(f"{file}: cannot be read: {' '.join(str(error).split())}") from error
    if list(rows.columns) != columns:
        raise ConfigError(f"{file}: columns {', '.join(map(str, rows.columns))}; expected {', '.join(columns)}")
    return rows
