"""How verdicts depend on settings that the papers leave open, from docs/reproduction-sensitivity.csv and .yaml."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import yaml

from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, REPRODUCED

NAME = "reproduction-sensitivity"
NOT_MEASURED = "not measured"
Settings = Mapping[tuple[str, str], pd.DataFrame | str]
"""By paper and setting: the rows that were measured, or why none were."""


def read(source: Path) -> Settings:
    """Read what was measured of every setting, or why it was not; empty where the files are not there."""
    settings: dict[tuple[str, str], pd.DataFrame | str] = {}
    listed, measured = (source / f"{NAME}{end}" for end in (".yaml", ".csv"))
    if listed.is_file():
        rows = yaml.safe_load(listed.read_text(encoding="utf-8"))["settings"]
        settings = {(row["paper"], row["setting"]): row.get("reason", "listed, and not run yet") for row in rows}
    if measured.is_file():
        text = ["paper", "setting", "value", "figure", "scale", "design", "data", "sampler", "metric"]
        table = pd.read_csv(measured, dtype=dict.fromkeys(text, str), keep_default_na=True)
        table[text] = table[text].fillna("")
        settings |= {(str(key[0]), str(key[1])): rows for key, rows in table.groupby(["paper", "setting"], sort=False)}
    return settings


def select_moved(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose verdict is another one than with the chosen setting."""
    return rows[rows["verdict"] != rows["chosen_verdict"]]


def count_reversed(rows: pd.DataFrame) -> int:
    """Count the rows that are reproduced with one setting and not reproduced with the other."""
    pairs = zip(rows["chosen_verdict"], rows["verdict"], strict=True)
    return sum({*pair} == {REPRODUCED, NOT_REPRODUCED} for pair in pairs)


def summarise(text: str, measured: pd.DataFrame | str | None) -> str:
    """Return the sensitivity that the table of settings shows: `text` of ``settings.csv``, and what is known since."""
    if measured is None:
        return text
    if isinstance(measured, str):
        return f"{text}{':' if text == NOT_MEASURED else ';'} {measured}"
    each = [len(select_moved(rows)) for _, rows in measured.groupby("value")]
    claims = len(measured[["figure", "scale", "design", "data", "sampler", "metric"]].drop_duplicates())
    most = f"{min(each)} to {max(each)}" if min(each) < max(each) else f"{max(each)}"
    summary = f"{most} of {claims} verdicts move under {len(each)} other value{'s' * (len(each) > 1)}"
    summary += f"; {turned} reversed" if (turned := count_reversed(measured)) else ""
    return summary if text == NOT_MEASURED else f"{text}; measured since: {summary}"
