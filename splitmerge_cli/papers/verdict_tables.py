"""Verdicts as tables: the files ``ID-claims.csv`` and ``ID-units.csv``, and tables for a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from splitmerge_cli.diagnostics.intervals import TAIL
from splitmerge_cli.papers import verdicts as vd
from splitmerge_cli.papers.claims import Claim, shared_numbers
from splitmerge_cli.runs.store.files import report_damage


def frame(verdicts: Sequence[vd.Verdict], claims: Sequence[Claim], scale: str) -> pd.DataFrame:
    """The table of ``ID-claims.csv``: the counted verdict on each claim of a figure, and below it the verdicts of other
    readings. A claim without a counted verdict is undecided: there is no run of it."""
    rows: list[vd.Verdict] = []
    for claim in claims:
        judged = [v for v in verdicts if v.claim == claim]
        counted = [v for v in judged if v.is_counted]
        if len(counted) > 1:
            raise ValueError(f"{claim.id}: {claim.metric}: two verdicts under {claim.reading!r}")
        rows += counted or [vd.no_run(claim)]
        rows += [v for v in judged if not v.is_counted]
    return list_rows(rows, scale)


def list_rows(verdicts: Sequence[vd.Verdict], scale: str) -> pd.DataFrame:
    """Return a row of ``ID-claims.csv`` for each verdict."""
    return pd.DataFrame(
        {name: [attrgetter(what)(v) if what else scale for v in verdicts] for name, what in COLUMNS.items()}
    )


LEAST_TIMES = 50
"""Published autocorrelation times that a series of quick scale must have for a verdict on such a time."""


def limit_to_quick(claims: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """Return the claims of a figure at quick scale, without verdicts that this scale cannot give.

    Neither generated data in place of published ones nor series of fewer than `LEAST_TIMES` published autocorrelation
    times decide a claim; `iterations` is the length of the shortest chain.
    """
    whys = {
        "no run of this size": (claims["n"] == 0) & (claims["verdict"] == vd.UNDECIDED),
        f"series of fewer than {LEAST_TIMES} published autocorrelation times": (
            claims["metric"].astype(str).str.contains("autocorrelation_time")
            & (iterations < LEAST_TIMES * claims["published"])
        ),
        "other data than the paper's": claims["on"] != "",
    }
    limited = claims.copy()
    for why, rows in whys.items():
        limited.loc[rows, ["verdict", "needed"]] = vd.NOT_TESTABLE, np.nan
        limited.loc[rows, "reason"] = f"not testable at quick scale: {why}"
    return limited


KEY = ("id", "data", "sampler", "metric", "reading", "on")
"""Columns that tell the rows of ``ID-claims.csv`` apart."""
UNITS = (*KEY, "quantity", "interval", "of", "unit", "value")
"""Columns of ``ID-units.csv``."""


def units_frame(verdicts: Sequence[vd.Verdict]) -> pd.DataFrame:
    """Return the table of ``ID-units.csv``: the numbers that every verdict follows from, one row each."""
    rows = []
    for v in verdicts:
        claim = v.claim.id, v.claim.data, v.claim.sampler, v.claim.metric, v.reading, v.on
        for s in v.samples:
            summary = s.quantity, s.interval, v.unit
            rows += [(*claim, *summary, unit, value) for unit, value in zip(s.units, s.values, strict=True)]
    return pd.DataFrame(rows, columns=list(UNITS))


COLUMNS: dict[str, str] = {
    "id": "claim.id",
    "scale": "",
    "data": "claim.data",
    "sampler": "claim.sampler",
    "metric": "claim.metric",
    "counted": "is_counted",
    "reading": "reading",
    "on": "on",
    "published": "claim.value",
    "ours": "ours",
    "low": "low",
    "high": "high",
    "unit": "claim.unit",
    "n": "n",
    "of": "unit",
    "rule": "rule",
    "tolerance": "claim.tolerance",
    "verdict": "verdict",
    "needed": "needed",
    "reason": "explanation",
    "statement": "claim.statement",
}
"""Columns of ``ID-claims.csv``, and the part of a `Verdict` that each holds; the scale belongs to the figure."""
NUMBERS = ("published", "ours", "low", "high", "tolerance", "needed")
WORDS = ("data", "sampler", "reading", "on", "unit", "of", "rule", "reason", "statement")
"""Columns that may be empty."""


def read_claims(path: Path, remedy: str) -> pd.DataFrame:
    """Read ``ID-claims.csv`` as `frame` made it, digit for digit; a `DamagedRun` with the `remedy` where it is no such
    table."""
    with report_damage(path, remedy):
        return parsed_claims(path)


def parsed_claims(source: Path | BinaryIO) -> pd.DataFrame:
    """Return the verdicts of a file or a stream; raises `ValueError` where it is no table of claims."""
    table = pd.read_csv(source, dtype=str)
    if list(table) != list(COLUMNS):
        raise ValueError(f"columns {', '.join(map(str, table))}; expected {', '.join(COLUMNS)}")
    table["counted"] = table["counted"] == "True"
    table["n"] = table["n"].map(int)
    for name in NUMBERS:
        # to the last digit, which not every version of pandas reads
        table[name] = table[name].map(float)
    return table.fillna(dict.fromkeys(WORDS, ""))


def expected_errors(claims: pd.DataFrame) -> float:
    """How many of the counted verdicts that rest on an interval are wrong by chance, at most, on average.

    Where the truth lies on the edge of what is tolerated, an interval of level 0.95 is on the wrong side of it with
    probability 0.025; anywhere else more rarely.
    """
    decided = claims["counted"] & claims["verdict"].isin([vd.REPRODUCED, vd.NOT_REPRODUCED]) & (claims["n"] > 0)
    return float(TAIL * decided.sum())


def counts(claims: Iterable[pd.DataFrame], once: bool = True) -> pd.Series:
    """Number of claims by verdict; `once`: claims that share a number as one, see `count_once`."""
    frames = list(claims)
    if not frames:
        return pd.Series(0, index=list(vd.VERDICTS))
    whole = count_once(pd.concat(frames)) if once else pd.concat(frames)
    numbers: pd.Series = whole.loc[whole["counted"], "verdict"].value_counts().reindex(list(vd.VERDICTS), fill_value=0)
    return numbers


def count_once(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts of several figures, as `frame` makes them, without those that rest on the number of another
    one among them; where the two numbers of a pair in ``shared.csv`` differ, or one is absent, both count."""
    number_by_claim = {
        row[:4]: row[4:] for row in claims.loc[claims["counted"], _NUMBER].itertuples(index=False, name=None)
    }
    pairs = shared_numbers(dict.fromkeys(claims["id"]))
    again = {
        key
        for key, first in pairs.items()
        if key in number_by_claim and number_by_claim[key] == number_by_claim.get(first)
    }
    keys = zip(*(claims[name] for name in _NUMBER[:4]), strict=True)
    repeats = [counted and key in again for key, counted in zip(keys, claims["counted"], strict=True)]
    return claims[~np.array(repeats, dtype=bool)]


_NUMBER = ["id", "data", "sampler", "metric", "ours", "n"]
"""Columns that tell whether two claims share a number."""


ROOMY = 100
"""Columns of a terminal from which on a table of verdicts shows intervals."""
COLOURS = dict.fromkeys(vd.VERDICTS, "yellow") | {vd.REPRODUCED: "green", vd.NOT_REPRODUCED: "red"}


def number(value: float) -> str:
    """A value for a table: four significant digits, a dash for none.

    Examples
    --------
    >>> number(2000.0), number(12457.3), number(0.33333)
    ('2,000', '12,460', '0.3333')
    """
    if not np.isfinite(value):
        return "–"
    text = f"{value:.4g}"
    return f"{float(text):,.0f}" if 1e3 <= abs(value) < 1e9 else text


def interval(low: float, high: float) -> str:
    """An interval for a table; empty for none."""
    return f"[{number(low)}, {number(high)}]" if np.isfinite(low) and np.isfinite(high) else ""


def with_unit(value: float, unit: str) -> str:
    """A value for a table, with its unit."""
    return number(value) + (f" {unit}" if unit and np.isfinite(value) else "")


def headline(row: Any) -> str:
    """Return the heading for a row of `frame`: data, sampler, metric and reading."""
    qualifiers = ", ".join(part for part in (row.reading, row.on) if part)
    return f"{row.data}, {row.sampler}: {row.metric.replace('_', ' ')}" + (f" ({qualifiers})" if qualifiers else "")


MOST_LISTED = 5
"""Claims that `summarise` lists."""


def summarise(claims: pd.DataFrame, title: str) -> list[str]:
    """Return a few lines on the claims of a figure, as `frame` makes them: its title, the number of claims by verdict,
    and up to `MOST_LISTED` claims that are not reproduced or undecided. Verdicts under other readings are left out."""
    counted = claims[claims["counted"]]
    by_verdict = counted["verdict"].value_counts()
    totals = ", ".join(f"{by_verdict[verdict]} {verdict}" for verdict in vd.VERDICTS if verdict in by_verdict)
    is_open = ((counted["scale"] == "quick") & (counted["verdict"] == vd.UNDECIDED)).any()
    limited = counted["reason"].str.startswith("not testable at quick scale").sum()
    more = " (paper scale decides more)" if is_open else ""
    more += f"; {limited} not testable at quick scale" if limited else ""
    lines = [title, f"{len(counted)} claim{'s' * (len(counted) != 1)}: {totals}{more}"]
    open_ones = (counted[counted["verdict"] == verdict] for verdict in (vd.NOT_REPRODUCED, vd.UNDECIDED))
    doubtful = [row for of_verdict in open_ones for row in of_verdict.itertuples()]
    width = len(vd.NOT_REPRODUCED) + 2
    for row in doubtful[:MOST_LISTED]:
        here = f"here {with_unit(row.ours, row.unit)} {interval(row.low, row.high)}".rstrip()
        if np.isfinite(row.ours):
            here += f", {row.n} {row.of}" if row.n else ", exact"
        paper = f"paper {with_unit(row.published, row.unit)}   " if np.isfinite(row.published) else ""
        lines += [
            f"{row.verdict:{width}}{row.data}, {row.sampler}: {row.metric.replace('_', ' ')}",
            f"{'':{width}}{paper}{here}",
        ]
        if row.statement:
            lines.append(f"{'':{width}}{row.statement}")
    if left := len(doubtful) - MOST_LISTED:
        lines += [f"{'':{width}}... {left} more (--all lists them)"] * (left > 0)
    return lines


@dataclass(frozen=True)
class VerdictTable:
    """The verdicts of a figure for a terminal of any width.

    Numbers and verdicts are never cut: what is long (the claim, and below it the reason) is wrapped, and a terminal of
    less than `ROOMY` columns shows no intervals. Verdicts under other readings stand in brackets.
    """

    claims: pd.DataFrame

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table that fits."""
        title = f"{self.claims['id'].iloc[0]}: published claims ({self.claims['scale'].iloc[0]} scale)"
        out = Table(title=title, title_justify="left", show_lines=True)
        out.add_column("claim, and why", overflow="fold")
        names = ["published", "ours", *(["95 %"] if options.max_width >= ROOMY else [])]
        for name in names:
            out.add_column(name, justify="right", no_wrap=True)
        out.add_column("verdict", no_wrap=True)
        for row in self.claims.itertuples(index=False):
            cells = [with_unit(row.published, row.unit), with_unit(row.ours, row.unit), interval(row.low, row.high)]
            verdict = row.verdict if row.counted else f"({row.verdict})"
            out.add_row(
                Text.assemble(f"{headline(row)}\n", (row.reason, "dim")),
                *cells[: len(names)],
                Text(verdict, COLOURS[row.verdict] if row.counted else "dim"),
            )
        yield out
