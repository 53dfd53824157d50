"""How verdicts depend on settings that the papers leave open, from docs/reproduction-sensitivity.csv and .yaml."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
import parts
import yaml
from parts import cell

from splitmerge_cli.papers.verdict_tables import number
from splitmerge_cli.papers.verdicts import NOT_REPRODUCED, REPRODUCED

NAME = "reproduction-sensitivity"
NOT_MEASURED = "not measured"
SHOWN = 3
"""Most verdicts of a value that the page lists; the file has all."""
Settings = Mapping[tuple[str, str], pd.DataFrame | str]
"""By paper and setting: the rows that were measured, or why none were."""


def read(source: Path) -> Settings:
    """Read what was measured of every setting, or why it was not; empty where the files are not there."""
    found: dict[tuple[str, str], pd.DataFrame | str] = {}
    listed, measured = (source / f"{NAME}{end}" for end in (".yaml", ".csv"))
    if listed.is_file():
        rows = yaml.safe_load(listed.read_text(encoding="utf-8"))["settings"]
        found = {(row["paper"], row["setting"]): row.get("reason", "listed, and not run yet") for row in rows}
    if measured.is_file():
        text = ["paper", "setting", "value", "figure", "scale", "design", "data", "sampler", "metric"]
        table = pd.read_csv(measured, dtype=dict.fromkeys(text, str), keep_default_na=True)
        table[text] = table[text].fillna("")
        found |= {(str(key[0]), str(key[1])): rows for key, rows in table.groupby(["paper", "setting"], sort=False)}
    return found


def select_moved(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose verdict is another one than with the chosen setting."""
    return rows[rows["verdict"] != rows["chosen_verdict"]]


def count_reversed(rows: pd.DataFrame) -> int:
    """Count the rows that are reproduced with one setting and not reproduced with the other."""
    pairs = zip(rows["chosen_verdict"], rows["verdict"], strict=True)
    return sum({*pair} == {REPRODUCED, NOT_REPRODUCED} for pair in pairs)


def summarise(text: str, of: pd.DataFrame | str | None) -> str:
    """Return the sensitivity that the table of settings shows: `text` of ``settings.csv``, and what is known since."""
    if of is None:
        return text
    if isinstance(of, str):
        return f"{text}{':' if text == NOT_MEASURED else ';'} {of}"
    each = [len(select_moved(rows)) for _, rows in of.groupby("value")]
    claims = len(of[["figure", "scale", "design", "data", "sampler", "metric"]].drop_duplicates())
    most = f"{min(each)} to {max(each)}" if min(each) < max(each) else f"{max(each)}"
    said = f"{most} of {claims} verdicts move under {len(each)} other value{'s' * (len(each) > 1)}"
    said += f"; {turned} reversed" if (turned := count_reversed(of)) else ""
    return said if text == NOT_MEASURED else f"{text}; measured since: {said}"


def table(paper: str, settings: Settings) -> str:
    """The values of a paper's settings, with the verdicts that moved; empty where nothing was measured."""
    found = {key[1]: rows for key, rows in settings.items() if key[0] == paper and isinstance(rows, pd.DataFrame)}
    lines = [
        [cell(setting), *(parts.label_cell(f"{name}:", text) for name, text in _value(value, rows).items())]
        for setting, of in found.items()
        for value, rows in of.groupby("value", sort=False)
    ]
    if not lines:
        return ""
    head = ["setting", *_value("", next(iter(found.values())))]
    return f'\n<div class="cards words">\n{parts.table(head, lines, range(len(head)))}\n</div>\n'


def _value(value: object, rows: pd.DataFrame) -> dict[str, str]:
    """The cells of one value."""
    runs = rows.groupby(["scale", "design"], sort=False)["figure"].unique()
    changed, turned = select_moved(rows), count_reversed(rows)
    which = [
        f"{cell(r.figure)}, {cell(r.data)}, {cell(r.sampler)}, {cell(str(r.metric).replace('_', ' '))}: "
        f"{parts.verdict(str(r.chosen_verdict))} ({_number(r.chosen_ours)}), then "
        f"{parts.verdict(str(r.verdict))} ({_number(r.ours)})"
        for r in changed.head(SHOWN).itertuples(index=False)
    ]
    which += [f"and {len(changed) - SHOWN} more"] if len(changed) > SHOWN else []
    return {
        "other value, runs": "<br>".join(
            [f"<code>{cell(value)}</code>", *(_describe(*how, figures) for how, figures in runs.items())]
        ),
        "verdicts moved": f"{len(changed)} of {len(rows)}" + (f", {turned} reversed" if turned else ""),
        "which": "<br>".join(which),
    }


def _describe(scale: str, design: str, figures: Iterable[str]) -> str:
    return cell(f"{', '.join(figures)}: {scale} scale" + (f", {design}" if design else ""))


def _number(value: float) -> str:
    return number(value).replace("-", parts.MINUS)
