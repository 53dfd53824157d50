"""Make a figure again: its runs in a new folder, and its claims compared with the kept ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from splitmerge_cli.papers.experiments import figures_folder
from splitmerge_cli.papers.reproduce import command, reproduce
from splitmerge_cli.papers.verdict_tables import headline, interval, number, read_claims

KEY = ["id", "data", "sampler", "metric", "reading"]
"""Columns that tell the rows of ``ID-claims.csv`` apart."""
COLUMNS = ["claim", "kept", "low", "high", "again", "verdict", "verdict_again", "outcome"]
EQUAL = "equal"
INSIDE = "inside the kept interval"
BEYOND = "beyond the kept interval"
NO_INTERVAL = "no interval was kept"
DIFFERS = "differs"
ABSENT = "absent"
FAILED = (BEYOND, DIFFERS, ABSENT)
"""Outcomes that make a check fail."""


@dataclass(frozen=True)
class Comparison:
    """A figure made again, compared with the kept one.

    A row for each kept verdict: what it is about (`claim`), `kept`, `low`, `high`, `again`, the `verdict` kept and that
    of now (`verdict_again`), and `outcome`.
    """

    name: str
    rows: pd.DataFrame

    @property
    def good(self) -> bool:
        """Whether nothing differs beyond its interval, and what is exact is equal."""
        return not self.rows["outcome"].isin(FAILED).any()

    def line(self) -> str:
        """How many claims came out how."""
        counts = self.rows["outcome"].value_counts()
        return f"{self.name}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A table with a row for each claim."""
        table = Table(title=f"{self.name}: made again", title_justify="left", show_lines=False)
        table.add_column("claim", overflow="fold")
        for head in ("kept", "95 %", "again"):
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("outcome")
        for row in self.rows.itertuples(index=False):
            shown_outcome = (
                row.outcome if row.verdict == row.verdict_again else f"{row.outcome}; now {row.verdict_again}"
            )
            cells = [number(row.kept), interval(row.low, row.high), number(row.again)]
            table.add_row(row.claim, *cells, Text(shown_outcome, "red" if row.outcome in FAILED else "green"))
        yield table


def compare(name: str, kept: pd.DataFrame, again: pd.DataFrame) -> Comparison:
    """Compare the claims of a figure, as `verdict_tables.frame` makes them, with those that were kept.

    An exact value must be equal to the last digit, with the same verdict; a measured one lies in the kept interval or
    is equal. What has no interval (one data set) fails nothing.
    """
    of_now = {tuple(getattr(row, key) for key in KEY): row for row in again.itertuples(index=False)}
    rows = []
    for row in kept.itertuples(index=False):
        now = of_now.get(tuple(getattr(row, key) for key in KEY))
        ours, verdict = (np.nan, ABSENT) if now is None else (now.ours, now.verdict)
        rows.append((headline(row), row.ours, row.low, row.high, ours, row.verdict, verdict, _outcome(row, now)))
    return Comparison(name, pd.DataFrame(rows, columns=COLUMNS))


def _outcome(kept: Any, now: Any) -> str:
    if now is None:
        return ABSENT
    same = kept.ours == now.ours or (np.isnan(kept.ours) and np.isnan(now.ours))
    if kept.rule in ("exact", "holds"):
        return EQUAL if same and kept.verdict == now.verdict else DIFFERS
    if same:
        return EQUAL
    if np.isnan(now.ours) or np.isnan(kept.ours):
        return DIFFERS
    if not np.isfinite([kept.low, kept.high]).all():
        return NO_INTERVAL
    return INSIDE if kept.low <= now.ours <= kept.high else BEYOND


def reproduce_again(
    names: Sequence[str],
    scale: str,
    out: Path,
    workers: int | None = None,
    config_dir: str | Path | None = None,
    edition: int = 1,
) -> tuple[int, dict[str, pd.DataFrame]]:
    """Make figures in a folder of their own: the status of `reproduce`, and the claims of those drawn."""
    status = reproduce(names, scale, out, workers, config_dir, edition)
    paths = {name: out / figures_folder(edition) / f"{name}-claims.csv" for name in names}
    remedy = f"{command(names, scale, out, config_dir, edition)} makes it again"
    return status, {name: read_claims(path, remedy) for name, path in paths.items() if path.is_file()}
