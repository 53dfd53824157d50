"""Judge kept claims a third time, by the words of docs/figures.md alone.

    python scripts/judge_by_words.py FOLDER [...]

FOLDER is a kept edition, such as docs/reproduction/edition-5. This reads rule, published value and tolerance of each
claim from ID-claims.csv, and the numbers of its units from ID-units.csv. The rules were written from the page, without
the code of smcmc or of recompute_verdicts.py. Exit status 1 where a verdict differs. Claims without units are judged by
their rule alone; *at the edge* and *by this design* are undecided here, since they need more units than there are.
"""

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

KEY = ["id", "data", "sampler", "metric", "reading", "on"]
YES, NO, OPEN = "reproduced", "not reproduced", "undecided"
NONE = (math.nan, math.nan)


def read_level(kind: str) -> tuple[str, float]:
    """The kind of an interval and its level."""
    return (kind.removesuffix(", 99 %"), 0.99) if kind.endswith(", 99 %") else (kind, 0.95)


def interval(units: pd.DataFrame) -> tuple[float, float]:
    """The interval of the numbers of units, by its kind."""
    kind, level = read_level(units["interval"].iloc[0])
    upper = (1 + level) / 2
    x = units["value"].to_numpy()
    if kind.startswith("jackknife"):
        return leave_one_out(kind.split(", ")[1], x[units["unit"] == "all"], x[units["unit"] != "all"], upper)
    x = x[np.isfinite(x)]
    n = len(x)
    if kind == "share":
        k = x.sum()
        low = stats.beta.ppf(1 - upper, k + 0.5, n - k + 0.5) if k else 0.0
        return low, stats.beta.ppf(upper, k + 0.5, n - k + 0.5) if k < n else 1.0
    if kind == "median":
        rank = int(stats.binom.ppf(1 - upper, n, 0.5)) - 1
        return (np.sort(x)[rank], np.sort(x)[n - 1 - rank]) if rank >= 0 else NONE
    if n < 2:
        return NONE
    y = np.log(x) if kind == "geometric" else x
    # splits of one corpus overlap by the share that they hold out
    held_out = float(kind.split()[1]) if kind.startswith("overlapping") else 0.0
    half = stats.t.ppf(upper, n - 1) * math.sqrt(y.var(ddof=1) * (1 / n + held_out / (1 - held_out)))
    low, high = y.mean() - half, y.mean() + half
    return (math.exp(low), math.exp(high)) if kind == "geometric" else (low, high)


def leave_one_out(scale: str, whole: np.ndarray, without: np.ndarray, upper: float) -> tuple[float, float]:
    """The interval of a number by leaving out one unit at a time, on the scale that is named."""
    there, back = {
        "mean": (lambda v: v, lambda v: v),
        "geometric": (np.log, np.exp),
        "log(x - 1)": (lambda v: np.log(v - 1), lambda v: 1 + np.exp(v)),
    }[scale]
    n = len(without)
    if n < 3 or not np.isfinite([*whole, *without]).all():
        return NONE
    y = there(without)
    half = stats.t.ppf(upper, n - 1) * math.sqrt((n - 1) / n * ((y - y.mean()) ** 2).sum())
    centre = float(there(whole[0]))
    return back(centre - half), back(centre + half)


def place(ends: tuple[float, float], least: float, most: float) -> str:
    """Where an interval lies: within what is tolerated, outside, or neither."""
    if not np.isfinite(ends).all():
        return OPEN
    if least <= ends[0] and ends[1] <= most:
        return YES
    return NO if ends[1] < least or ends[0] > most else OPEN


def tolerated_range(rule: str, published: float, tolerance: float) -> tuple[float, float]:
    """Return the ends of what a rule tolerates."""
    if rule == "mixing":
        return (-math.inf, 1.2) if published <= 1.2 else (max(1.2, published / tolerance), published * tolerance)
    return {
        "factor": (published / tolerance if tolerance else math.nan, published * tolerance),
        "distance": (published - tolerance, published + tolerance),
        "at_most": (-math.inf, tolerance),
        "at_least": (tolerance, math.inf),
    }[rule]


def judge(claim: Any, units: pd.DataFrame) -> str:
    """The verdict on a claim."""
    published, tolerance = float(claim.published or "nan"), float(claim.tolerance or "nan")
    if claim.rule in ("none", "clock"):
        return "not testable"
    parts = dict(list(units.groupby("quantity", sort=False)))
    if not parts:
        return OPEN
    if claim.rule == "exact":
        return YES if abs(parts["exact"]["value"].iloc[0] - published) <= tolerance else NO
    if claim.rule == "holds":
        return YES if parts["holds"]["value"].iloc[0] else NO
    if claim.rule == "noise":
        measured = np.stack([part["value"][part["unit"] != "exact"] for part in parts.values()])
        exact = np.array([part["value"][part["unit"] == "exact"].iloc[0] for part in parts.values()])
        # the mean of |z| is sqrt(2 / pi)
        error = measured.std(axis=1, ddof=1) / math.sqrt(measured.shape[1])
        distance = 0.5 * np.abs(measured.mean(axis=1) - exact).sum()
        return YES if distance <= tolerance * 0.5 * math.sqrt(2 / math.pi) * error.sum() else NO
    if claim.rule == "most":
        shares = parts["shows it"]
        least = 8 if read_level(shares["interval"].iloc[0])[1] > 0.95 else 6
        low, high = interval(shares)
        verdict = OPEN if len(shares) < least else YES if low > 0.5 else NO if high < 0.5 else OPEN
        return OPEN if f"cannot be {verdict}" in parts else verdict
    if claim.rule == "positive":
        verdicts = [place(interval(part), 0.0, math.inf) for part in parts.values()]
        return NO if NO in verdicts else OPEN if OPEN in verdicts else YES
    (part,) = parts.values()
    least, most = tolerated_range(claim.rule, published, tolerance)
    if part["interval"].iloc[0] == "sets of four":
        return YES if ((least <= part["value"]) & (part["value"] <= most)).mean() >= 0.05 else NO
    return place(interval(part), least, most)


def compare(folder: Path) -> Iterator[tuple[Any, str, bool]]:
    """Every kept claim of a folder, its verdict here, and whether that is the kept one."""
    for file in sorted(folder.glob("*-claims.csv")):
        units_file = next(folder.glob(file.name.replace("-claims.csv", "-units.csv*")), None)
        if units_file is None:
            continue
        units = pd.read_csv(units_file, dtype=str, keep_default_na=False)
        units["value"] = units["value"].replace("", "nan").astype(float)
        by_claim = dict(list(units.groupby(KEY, sort=False)))
        for claim in pd.read_csv(file, dtype=str, keep_default_na=False).itertuples():
            here = judge(claim, by_claim.get(tuple(getattr(claim, name) for name in KEY), units[:0]))
            classed = claim.verdict == "at the edge" or claim.reason.startswith("not testable by this design")
            yield claim, here, here == (OPEN if classed else claim.verdict)


def main(folders: list[str]) -> int:
    """The command."""
    status = 0
    for folder in map(Path, folders):
        found = list(compare(folder))
        differing = [(claim, here) for claim, here, same in found if not same]
        for claim, here in differing:
            print(f"{claim.id}: {claim.data}, {claim.sampler}, {claim.metric} ({claim.rule}): {claim.verdict}; {here}")
        print(f"{folder}: {len(found)} verdicts, {len(differing)} differ")
        status |= bool(differing)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
