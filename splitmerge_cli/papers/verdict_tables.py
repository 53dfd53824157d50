"""Verdicts for a terminal, and the numbers of claims in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, UNDECIDED

ROOMY = 100
"""Columns of a terminal from which on a table of verdicts shows intervals."""
COLOURS = {REPRODUCED: "green", NOT_REPRODUCED: "red", UNDECIDED: "yellow", NOT_TESTABLE: "yellow"}


def number(value: float) -> str:
    """A value for a table: four significant digits, a dash for none."""
    return f"{value:.4g}" if np.isfinite(value) else "–"


def interval(low: float, high: float) -> str:
    """An interval for a table; empty for none."""
    return f"[{low:.4g}, {high:.4g}]" if np.isfinite(low) and np.isfinite(high) else ""


def with_unit(value: float, unit: str) -> str:
    """A value for a table, with its unit."""
    return number(value) + (f" {unit}" if unit and np.isfinite(value) else "")


def headline(row: Any) -> str:
    """Return the heading for a row of `splitmerge_cli.papers.verdicts.frame`: data, sampler, metric and reading."""
    said = ", ".join(part for part in (row.reading, row.on) if part)
    return f"{row.data}, {row.sampler}: {row.metric.replace('_', ' ')}" + (f" ({said})" if said else "")


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
