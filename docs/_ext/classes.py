"""Classes of the verdicts *not reproduced* and *undecided*, by the other settings that were tried."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import parts
import sensitivity
import yaml
from parts import cell

from splitmerge_cli.papers.verdict_tables import count_once
from splitmerge_cli.papers.verdicts import AT_EDGE, MIXED, NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, UNDECIDED

CONTRADICTED = "contradicted"
NOT_OURS = "not under our setting"
INPUT = "input differs"
ALONE = "no other setting tried"
CLASSES = {
    CONTRADICTED: "no other setting or reading that was tried reproduces the claim or leaves it open",
    NOT_OURS: "another setting or reading reproduces it, or leaves it undecided",
    INPUT: "what the samplers were given is not what the paper's were",
    ALONE: "exact, or measured under one setting",
}
"""Classes of *not reproduced*, and when a claim is of one."""
SOLID = "solid"
UNKNOWN = "setting or data unknown"
OUR_RULE = "our rule"
GROUNDS = {
    SOLID: "exact, or neither another setting nor twice the tolerance changes the verdict",
    UNKNOWN: "another setting or reading would, or the paper's samplers were given something else",
    OUR_RULE: "with twice the tolerance, which is ours, the claim would not be *not reproduced*",
}
"""Grounds of a verdict *not reproduced*, and when each holds."""
MORE_UNITS = "more units"
NEEDS_RUNS = "needs runs"
NEVER = "not testable by this design"
OPEN = {
    MORE_UNITS: "more data sets, restarts or chains would decide it",
    NEEDS_RUNS: "the claim was added later, and no run tells",
    AT_EDGE: "no number of units up to 1,000 decides it",
    NEVER: "there are no more units, or splits of one corpus overlap",
}
"""Classes of what is neither reproduced nor not, and when a claim is of one."""
CLAIM = ["id", "data", "sampler", "metric"]
FILE = "not-reproduced.csv"
"""File of the claims that are not reproduced, in the page's folder."""
MORE = "number of restarts or data sets"
"""A setting of docs/reproduction-sensitivity.csv that is none: more units of the same."""


def classify(kept: Iterable[pd.DataFrame], source: Path) -> pd.DataFrame:
    """Return the counted claims that are not reproduced, with their class and the settings that decide.

    Parameters
    ----------
    kept : iterable of pandas.DataFrame
        Claims of figures, with their other readings.
    source : Path
        The folder docs.

    Returns
    -------
    pandas.DataFrame
        The rows, with columns `class` and `decides`: the settings that reproduce the claim or, if none does, those
        that leave it undecided.
    """
    every = pd.concat(list(kept))
    tables = [rows for rows in sensitivity.read(source).values() if isinstance(rows, pd.DataFrame)]
    measured = pd.concat([pd.DataFrame(columns=["setting", "figure", *CLAIM[1:]]), *tables])
    measured = measured[measured["setting"] != MORE].rename(columns={"figure": "id"})
    file = source / f"{sensitivity.NAME}.yaml"
    inputs = yaml.safe_load(file.read_text(encoding="utf-8")).get("inputs", []) if file.is_file() else []
    rows = count_once(every[every["counted"]])
    rows = rows[rows["verdict"] == NOT_REPRODUCED].reset_index(drop=True)
    others = dict(list(every[~every["counted"]].groupby(CLAIM)))
    settings = dict(list(measured.groupby(CLAIM)))
    classified = [_class(tuple(row), others, settings, inputs) for row in rows[CLAIM].itertuples(index=False)]
    named = rows.assign(**{"class": [name for name, _ in classified], "decides": [words for _, words in classified]})
    return named.assign(ground=[_ground(row) for row in named.to_dict("records")])


def _ground(row: Mapping[str, Any]) -> str:
    """Return the ground of a verdict *not reproduced*: one of `GROUNDS`."""
    if row["class"] in (NOT_OURS, INPUT):
        return UNKNOWN
    value, tolerance, rule = row["published"], row["tolerance"], row["rule"]
    least, most = np.inf, -np.inf
    if rule == "mixing" and value <= MIXED:
        # twice what 1.2 has above 1
        least, most = -np.inf, 2 * MIXED - 1
    elif rule in ("factor", "mixing"):
        least, most = value / tolerance**2, value * tolerance**2
    elif rule == "distance":
        least, most = value - 2 * tolerance, value + 2 * tolerance
    elif rule == "at_most":
        least, most = -np.inf, 2 * tolerance
    elif rule == "at_least":
        least, most = tolerance / 2, np.inf
    return OUR_RULE if row["low"] <= most and row["high"] >= least else SOLID


def _class(
    claim: tuple[str, ...],
    others: Mapping[tuple[str, ...], pd.DataFrame],
    settings: Mapping[tuple[str, ...], pd.DataFrame],
    inputs: Iterable[Mapping[str, str]],
) -> tuple[str, str]:
    """The class of a claim that is not reproduced, and what decides."""
    for one in inputs:
        if all(fnmatchcase(value, one.get(key, "*")) for key, value in zip(CLAIM, claim, strict=True)):
            return INPUT, one["because"]
    tried = [(row.reading, row.verdict) for row in others[claim].itertuples()] if claim in others else []
    if claim in settings:
        tried += [(f"{row.setting}: {row.value}", row.verdict) for row in settings[claim].itertuples()]
    for verdict in (REPRODUCED, UNDECIDED):
        if ways := [words for words, other in tried if other == verdict]:
            more = f"; and {len(ways) - 2} more" if len(ways) > 2 else ""
            return NOT_OURS, f"{verdict}: {'; '.join(ways[:2])}{more}"
    return (CONTRADICTED, f"{len(tried)} tried") if tried else (ALONE, "")


def page(kept: Mapping[str, pd.DataFrame], source: Path) -> str:
    """Write the page of claims that are not reproduced, and that are undecided, by class."""
    rows = classify(kept.values(), source)
    sizes = rows["class"].value_counts()
    text = (
        "# Claims that are not reproduced\n\nDoes another setting reproduce a claim that is not reproduced? The "
        "classes show verdicts under\nother readings, and under other values of the settings that a paper leaves open. "
        "Other values were run\non smaller designs than the kept figures. "
        f"{{download}}`Each claim with the settings that decide <{FILE}>`.\n\n"
    )
    text += parts.table(
        ["class", "claims", "when"], [[name, int(sizes.get(name, 0)), words] for name, words in CLASSES.items()]
    )
    grounds = rows["ground"].value_counts()
    text += "\nWhat does such a verdict rest on? Each claim below has one of these.\n" + parts.table(
        ["rests on", "claims", "when"], [[name, int(grounds.get(name, 0)), words] for name, words in GROUNDS.items()]
    )
    for name in CLASSES:
        of_class = rows[rows["class"] == name]
        if of_class.empty:
            continue
        lines = []
        # the file has the settings; the page whether one of them reproduces the claim
        of_class = of_class.assign(shown="" if name == CONTRADICTED else of_class["decides"])
        if name == NOT_OURS:
            of_class["shown"] = of_class["decides"].str.partition(": ")[0]
        for (figure, ground, shown), claims in of_class.groupby(["id", "ground", "shown"], sort=False):
            listed = (cell(f"{row.data}, {row.sampler}: {row.metric.replace('_', ' ')}") for row in claims.itertuples())
            lines.append([f"[{cell(figure)}]({figure}.md)", "; ".join(listed), ground, cell(shown)])
        text += f"\n## {name.capitalize()}\n\n"
        head = ["figure", "claims", "rests on", "why" if name == INPUT else "with another setting"]
        width = 3 + any(line[3] for line in lines)
        text += parts.table(head[:width], [line[:width] for line in lines], raw=range(width))
    every = count_once(pd.concat(kept.values()))
    counted = every[every["counted"]]
    why = pd.Series([why_open(row) for _, row in counted.iterrows()], counted.index, dtype=object)
    text += "\n## Undecided\n\nWhat would decide a claim that is undecided?\n\n" + parts.table(
        ["class", "claims", "when"], [[name, int((why == name).sum()), words] for name, words in OPEN.items()]
    )
    for name in (NEEDS_RUNS, AT_EDGE, NEVER):
        lines = [
            [row.id, f"{row.data}, {row.sampler}: {row.metric.replace('_', ' ')}", _why_no_run(row.reason)]
            for row in counted[why == name].itertuples()
        ]
        text += f"\n### {name.capitalize()}\n\n"
        width = 3 if name == NEEDS_RUNS else 2
        text += parts.table(["figure", "claim", "why"][:width], [line[:width] for line in lines])
    return text


def _why_no_run(reason: str) -> str:
    """Return the run that a claim needs, as its reason names it."""
    return reason.partition("needs runs: ")[2].partition("; added")[0]


def why_open(row: pd.Series) -> str:
    """Return the class of a counted claim, a row of the kept claims: one of `OPEN`; empty if it is of none."""
    if row["verdict"] == NOT_TESTABLE:
        return NEVER if row["reason"].startswith(NEVER) else ""
    if row["verdict"] != UNDECIDED:
        return AT_EDGE if row["verdict"] == AT_EDGE else ""
    if row["reason"].startswith("needs runs"):
        return NEEDS_RUNS
    return NEVER if np.isinf(float(row["needed"])) else MORE_UNITS
