"""Judge the claims of a kept reproduction once more, from its numbers by unit and the rules of the papers alone.

    python scripts/recompute_verdicts.py [FOLDER] [--papers FOLDER] [--show N]

FOLDER is an edition that `smcmc keep` wrote, docs/reproduction by default. Of every figure this reads ID-units.csv, the
numbers that each verdict follows from, and of its paper claims.csv, readings.csv and added.csv (claims that were added
later), and compares the verdict that follows with the one in ID-claims.csv. Nothing of smcmc is imported: the rules are
written down here a second time, as docs/figures.md has them. Exit status 1 where a verdict differs. Figures that were
kept without units are named.
"""

import argparse
import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "splitmerge_cli" / "papers"
CLAIM = ["id", "data", "sampler", "metric"]
KEY = [*CLAIM, "reading", "on"]
MIXED = 1.2
LEAST = 6
T = 0.975
SCALES = {
    "mean": (float, float),
    "geometric": (np.log, np.exp),
    "log(x - 1)": (lambda x: np.log(x - 1), lambda y: 1 + np.exp(y)),
}
"""Scales of an interval by leaving out one unit at a time, and the ways back."""


def read_rules(folder: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    """Published value, reading, rule and tolerance of every claim, by figure, data, sampler and metric."""
    rules = {}
    for file in sorted(folder.glob("*/claims.csv")):
        claims = pd.read_csv(file, dtype=str, keep_default_na=False)
        readings = pd.read_csv(file.with_name("readings.csv"), dtype=str, keep_default_na=False).to_dict("records")
        for claim in claims.to_dict("records"):
            fits = (r for r in readings if all(fnmatchcase(claim[name], r[name] or "*") for name in CLAIM))
            rule = next(fits, {"reading": "", "rule": "", "tolerance": ""})
            rules[tuple(claim[name] for name in CLAIM)] = {
                "value": float(claim["value"] or "nan"),
                "reading": rule["reading"],
                "rule": rule["rule"],
                "tolerance": float(rule["tolerance"] or "nan"),
            }
    for file in sorted(folder.glob("*/added.csv")):
        for claim in pd.read_csv(file, dtype=str, keep_default_na=False).to_dict("records"):
            numbers = {name: float(claim[name] or "nan") for name in ("value", "tolerance")}
            words = {name: claim[name] for name in ("reading", "rule")}
            rules[tuple(claim[name] for name in CLAIM)] = words | numbers
    return rules


def find_interval(kind: str, units: list[str], x: np.ndarray) -> tuple[float, float, float]:
    """Centre, low and high end of the numbers of units."""
    nan = float("nan")
    if kind.startswith("jackknife, "):
        whole, without = x[units.index("all")], np.array([v for u, v in zip(units, x, strict=True) if u != "all"])
        n, scale = len(without), kind.removeprefix("jackknife, ")
        if n < 3 or not np.isfinite(x).all():
            return whole, nan, nan
        to, back = SCALES[scale]
        pseudo = [n * to(whole) - (n - 1) * to(value) for value in without]
        half = stats.t.ppf(T, n - 1) * np.std(pseudo, ddof=1) / np.sqrt(n)
        return whole, back(to(whole) - half), back(to(whole) + half)
    x = x[np.isfinite(x)]
    n = len(x)
    if kind == "median":
        x, rank = np.sort(x), int(stats.binom.ppf(1 - T, n, 0.5)) - 1
        return (float(np.median(x)), x[rank], x[-1 - rank]) if rank >= 0 else (float(np.median(x)), nan, nan)
    y = np.log(x) if kind == "geometric" else x
    floor = float(kind.split()[1]) if kind.startswith("overlapping") else 0.0
    half = stats.t.ppf(T, n - 1) * y.std(ddof=1) * np.sqrt(1 / n + floor / (1 - floor)) if n > 1 else nan
    ends = y.mean(), y.mean() - half, y.mean() + half
    return tuple(map(float, np.exp(ends) if kind == "geometric" else ends))


def share_interval(yes: float, n: int) -> tuple[float, float]:
    """Jeffreys interval of a share."""
    low = stats.beta.ppf(1 - T, yes + 0.5, n - yes + 0.5) if yes else 0.0
    return low, stats.beta.ppf(T, yes + 0.5, n - yes + 0.5) if yes < n else 1.0


def place(low: float, high: float, least: float, largest: float) -> str:
    """The verdict on an interval and a range."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return "undecided"
    if least <= low and high <= largest:
        return "reproduced"
    return "not reproduced" if high < least or low > largest else "undecided"


def judge(rule: str, value: float, tolerance: float, units: pd.DataFrame) -> str:
    """The verdict on a claim from the rows of its units."""
    if rule in ("none", "clock"):
        return "not testable"
    judge_by_rule = {
        name: (rows["interval"].iloc[0], rows["unit"].tolist(), rows["value"].to_numpy(float))
        for name, rows in units.groupby("quantity", sort=False)
    }
    if rule == "exact":
        if not judge_by_rule:
            return "undecided"
        return "reproduced" if abs(judge_by_rule["exact"][2][0] - value) <= tolerance else "not reproduced"
    if rule == "holds":
        return "reproduced" if judge_by_rule["holds"][2][0] else "not reproduced"
    if not judge_by_rule:
        return "undecided"
    if rule == "noise":
        frequencies = np.array([x[1:] for _, _, x in judge_by_rule.values()])
        exact = np.array([x[0] for _, _, x in judge_by_rule.values()])
        away = 0.5 * np.abs(frequencies.mean(axis=1) - exact).sum()
        error = frequencies.std(axis=1, ddof=1) / np.sqrt(frequencies.shape[1])
        return "reproduced" if away <= tolerance * 0.5 * np.sqrt(2 / np.pi) * error.sum() else "not reproduced"
    if rule == "most":
        shows = judge_by_rule["shows it"][2]
        low, high = share_interval(float(shows.sum()), len(shows))
        verdict = "reproduced" if low > 0.5 else "not reproduced" if high < 0.5 else "undecided"
        verdict = verdict if len(shows) >= LEAST else "undecided"
        return "undecided" if f"cannot be {verdict}" in judge_by_rule else verdict
    if rule == "positive":
        each = [place(*find_interval(*one)[1:], 0.0, np.inf) for one in judge_by_rule.values()]
        return next((v for v in ("not reproduced", "undecided") if v in each), "reproduced")
    ((kind, names, x),) = judge_by_rule.values()
    if kind == "share":
        low, high = share_interval(int(x.sum()), len(x))
    else:
        _, low, high = find_interval(kind, names, x)
    if rule == "mixing":
        if value <= MIXED:
            return place(low, high, -np.inf, MIXED)
        return place(low, high, max(MIXED, value / tolerance), value * tolerance)
    ranges = {
        "factor": (value / tolerance, value * tolerance),
        "distance": (value - tolerance, value + tolerance),
        "at_most": (-np.inf, tolerance),
        "at_least": (tolerance, np.inf),
    }
    return place(low, high, *ranges[rule])


def chance_wrong(rule: str, value: float, tolerance: float, units: pd.DataFrame) -> float:
    """How probable it is that a decided verdict is wrong, if the truth spreads as its interval: beyond the edge."""
    wrong = 0.0
    for name, rows in units.groupby("quantity", sort=False):
        x = rows["value"].to_numpy(float)
        if rule == "most":
            k, n = x.sum(), len(x)
            wrong += stats.beta.cdf(0.5, k + 0.5, n - k + 0.5) if name == "shows it" and 2 * k > n else 0.0
            wrong += stats.beta.sf(0.5, k + 0.5, n - k + 0.5) if name == "shows it" and 2 * k < n else 0.0
        elif rule in ("factor", "distance", "at_most", "at_least", "mixing", "positive"):
            kind = rows["interval"].iloc[0]
            centre, low, high = find_interval(kind, rows["unit"].tolist(), x) if kind != "share" else [np.nan] * 3
            error = (high - low) / (2 * stats.norm.ppf(T))
            ends = {
                "factor": (value / tolerance, value * tolerance),
                "distance": (value - tolerance, value + tolerance),
                "mixing": (MIXED,) if value <= MIXED else (max(MIXED, value / tolerance), value * tolerance),
                "positive": (0.0,),
            }.get(rule, (tolerance,))
            if error > 0:
                wrong += stats.norm.sf(min(abs(centre - end) for end in ends) / error)
    return wrong


def recompute(folder: Path, papers: Path) -> tuple[pd.DataFrame, list[str]]:
    """The verdicts of a folder: recomputed from its units, and as kept.

    Parameters
    ----------
    folder : Path
        An edition that `smcmc keep` wrote.
    papers : Path
        Holds claims.csv and readings.csv in a folder of each paper.

    Returns
    -------
    tuple
        A row for each kept verdict, with `counted`, `rule`, `kept`, `again` and `wrong` (see `chance_wrong`);
        and the figures without units.
    """
    rules, rows, without = read_rules(papers), [], []
    for file in sorted(folder.glob("*-claims.csv")):
        name = file.name.removesuffix("-claims.csv")
        path = next((p for p in (folder / f"{name}-units.csv", folder / f"{name}-units.csv.gz") if p.is_file()), None)
        claims = pd.read_csv(file, dtype=str, keep_default_na=False)
        if path is None:
            without += [name] if len(claims) else []
            continue
        # units may be called "nan" or "None": these are names
        units = pd.read_csv(path, dtype=str, keep_default_na=False)
        units["value"] = units["value"].replace("", "nan").astype(float)
        units_by_key = dict(list(units.groupby(KEY, sort=False)))
        for claim in claims.to_dict("records"):
            known = rules[tuple(claim[key] for key in CLAIM)]
            counted = claim["counted"] == "True"
            # a reading that is not counted may be judged by a rule of its own
            rule = known["rule"] if counted or known["rule"] in ("none", "clock") else claim["rule"]
            part = units_by_key.get(tuple(claim[key] for key in KEY), units.iloc[:0])
            if rule == "holds" and "holds" not in set(part["quantity"]):
                rule = claim["rule"]  # it was measured then, and is computed now
            again = judge(rule, known["value"], known["tolerance"], part)
            row = {key: claim[key] for key in KEY}
            decided = again in ("reproduced", "not reproduced")
            wrong = chance_wrong(rule, known["value"], known["tolerance"], part) if counted and decided else 0.0
            rows.append(
                row | {"counted": counted, "rule": rule, "kept": claim["verdict"], "again": again, "wrong": wrong}
            )
    columns = [*KEY, "counted", "rule", "kept", "again", "wrong"]
    return pd.DataFrame(rows, columns=columns), without


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "reproduction")
    parser.add_argument("--papers", type=Path, default=PAPERS)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N of the verdicts, evenly chosen")
    args = parser.parse_args()
    verdicts, without = recompute(args.folder, args.papers)
    differs = verdicts[verdicts["kept"] != verdicts["again"]]
    shown = verdicts.iloc[np.linspace(0, len(verdicts) - 1, min(args.show, len(verdicts))).round().astype(int)]
    for row in [*shown.itertuples(), *differs.itertuples()]:
        described = ", ".join(filter(None, (row.data, row.sampler, row.metric, row.reading, row.on)))
        print(f"{row.id}: {described}: kept {row.kept}, recomputed {row.again} ({row.rule})")
    rules = ", ".join(f"{rule} {n}" for rule, n in sorted(Counter(verdicts["rule"]).items()))
    print(f"{len(verdicts)} verdicts ({verdicts['counted'].sum()} counted), {len(differs)} differ")
    print(f"by rule: {rules or 'none'}")
    print(f"expected to be wrong by chance: {verdicts['wrong'].sum():.1f} of the decided verdicts that count")
    if without:
        print(f"kept without units: {', '.join(without)}")
    return int(len(differs) > 0)


if __name__ == "__main__":
    sys.exit(main())
