"""The diagnosis of a run as tables and lines for a terminal."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from splitmerge_cli.diagnostics import mixing
from splitmerge_cli.diagnostics.agreement import SCORES
from splitmerge_cli.diagnostics.summary import COLUMNS, OF_ALL_RUNS, TRUE_LABELS, Row


def as_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """The rows of a diagnosis as a frame with `COLUMNS`, as of ``diagnostics.parquet``."""
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    frame["chain"] = frame["chain"].astype("Int32")
    frame["value"] = frame["value"].astype(float)
    return frame


def table(diagnosis: pd.DataFrame, title: str | None = None) -> Table:
    """The diagnosis for a terminal: a row per quantity, a column for all chains and one for each."""
    chains = sorted(diagnosis["chain"].dropna().unique())
    # what comes from a file, or is the name of a folder, is no markup
    out = Table(title=None if title is None else Text(title), title_justify="left")
    out.add_column("quantity", overflow="fold")
    out.add_column("all", justify="right", overflow="fold")
    for chain in chains:
        out.add_column(f"chain {chain}", justify="right", overflow="fold")
    out.add_column("note", overflow="fold")
    subject, shown_note = None, ""
    for quantity in dict.fromkeys(diagnosis["quantity"]):
        rows = diagnosis[diagnosis["quantity"] == quantity]
        over_all = rows[rows["chain"].isna()]
        cells = [_number(over_all["value"])]
        cells += [_number(rows.loc[rows["chain"] == chain, "value"]) for chain in chains]
        note = next(iter(over_all["note"].dropna()), "") if "note" in rows else ""
        if quantity.partition("/")[2] != subject:
            subject, shown_note = quantity.partition("/")[2], ""
            out.add_section()
        # a note that holds for all of a subject is shown once
        out.add_row(Text(quantity), *cells, Text("" if note == shown_note else note))
        shown_note = note
    return out


def short_table(diagnosis: pd.DataFrame, title: str | None = None) -> Table:
    """The diagnosis for a first look, for a terminal: mean, R-hat, bulk effective sample size and autocorrelation time
    of each column of the trace, over all chains."""
    over_all = _over_all(diagnosis)
    kinds = {"mean": "mean", "R-hat": "rhat", "ESS": "ess", "autocorrelation": "tau"}
    out = Table(title=None if title is None else Text(title), title_justify="left")
    out.add_column("", overflow="fold")
    for heading in kinds:
        out.add_column(heading, justify="right", overflow="fold")
    infinite = set(diagnosis.loc[diagnosis["note"].isin(mixing.INFINITE), "quantity"])

    def cell(quantity: str) -> str:
        return "infinite" if quantity in infinite else _format_value(over_all.get(quantity, np.nan))

    for name in _of_kind(over_all, "mean"):
        out.add_row(Text(name), *(cell(f"{kind}/{name}") for kind in kinds.values()))
    return out


def short_lines(diagnosis: pd.DataFrame) -> Iterator[str]:
    """Yield the lines below `short_table`: accepted shares by move, quantities that a kind of data adds."""
    over_all = _over_all(diagnosis)
    if moves := [(name, over_all[f"acceptance/{name}"]) for name in _of_kind(over_all, "acceptance")]:
        yield "accepted: " + ", ".join(
            f"{name} {f'{x:.2%}' if np.isfinite(x) else 'never proposed'}" for name, x in moves
        )
    added = [name for name in over_all if name.partition("/")[0] not in (*OF_ALL_RUNS, *SCORES, TRUE_LABELS)]
    if known := [f"{name} {over_all[name]:.4g}" for name in added if np.isfinite(over_all[name])]:
        yield ", ".join(known)


def _over_all(diagnosis: pd.DataFrame) -> dict[str, float]:
    """Values over all chains by quantity."""
    rows = diagnosis[diagnosis["chain"].isna()]
    return dict(zip(rows["quantity"], rows["value"], strict=True))


def _of_kind(over_all: Mapping[str, float], kind: str) -> list[str]:
    return [name.removeprefix(f"{kind}/") for name in over_all if name.startswith(f"{kind}/")]


def _number(values: "pd.Series[float]") -> str:
    return _format_value(float(values.iloc[0])) if len(values) else ""


def _format_value(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "–"
