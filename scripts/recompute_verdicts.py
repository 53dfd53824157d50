"""Judge the claims of a kept reproduction once more, from its numbers by unit and the rules of the papers alone.

    python scripts/recompute_verdicts.py [FOLDER] [--papers FOLDER] [--show N] [--latest]

FOLDER is an edition that `smcmc keep` wrote, docs/reproduction by default. Of every figure this reads ID-units.csv, the
numbers that each verdict follows from, and of its paper claims.csv, readings.csv and added.csv (claims that were added
later), and compares the verdict that follows with the one in ID-claims.csv. Nothing of smcmc is imported: the rules are
written down here a second time, as docs/figures.md has them. Exit status 1 where a verdict differs. Figures that were
kept without units are named. `--latest` takes each figure from its last edition in FOLDER, as the README counts them.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Container
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
LEAST = {0.975: 6, 0.995: 8}
"""Units that `most` asks for, by the upper end of the intervals."""
MANY = 1_000
"""Units that do not decide what is at the edge."""
FOURS = 0.05
"""Least share, among all sets of four restarts, with an R-hat as printed."""
FINITE = {"published data sets": 100, "published networks": 4}
OPEN = ("undecided", "at the edge", "not testable")
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


def upper_end(kind: str) -> tuple[str, float]:
    """The kind of an interval without its level, and the probability below its upper end."""
    return (kind.removesuffix(", 99 %"), 0.995) if kind.endswith(", 99 %") else (kind, 0.975)


def find_interval(kind: str, units: list[str], x: np.ndarray, m: float = 0) -> tuple[float, float, float]:
    """Centre, low and high end for numbers of units; the ends as for `m` units of this centre and spread."""
    nan = float("nan")
    kind, T = upper_end(kind)
    if kind.startswith("jackknife, "):
        whole, without = x[units.index("all")], np.array([v for u, v in zip(units, x, strict=True) if u != "all"])
        n, scale = len(without), kind.removeprefix("jackknife, ")
        if n < 3 or not np.isfinite(x).all():
            return whole, nan, nan
        to, back = SCALES[scale]
        pseudo = [n * to(whole) - (n - 1) * to(value) for value in without]
        half = stats.t.ppf(T, (m or n) - 1) * np.std(pseudo, ddof=1) / np.sqrt(m or n)
        return whole, back(to(whole) - half), back(to(whole) + half)
    x = x[np.isfinite(x)]
    n = len(x)
    if kind == "median":
        x, rank = np.sort(x), int(stats.binom.ppf(1 - T, n, 0.5)) - 1
        centre, narrow = float(np.median(x)), np.sqrt(n / m) if m else 1
        if rank < 0:
            return centre, nan, nan
        return centre, centre - narrow * (centre - x[rank]), centre + narrow * (x[-1 - rank] - centre)
    y = np.log(x) if kind == "geometric" else x
    floor = float(kind.split()[1]) if kind.startswith("overlapping") else 0.0
    m = m or n
    half = stats.t.ppf(T, m - 1) * y.std(ddof=1) * np.sqrt(1 / m + floor / (1 - floor)) if n > 1 else nan
    ends = y.mean(), y.mean() - half, y.mean() + half
    return tuple(map(float, np.exp(ends) if kind == "geometric" else ends))


def share_interval(yes: float, n: float, T: float = 0.975) -> tuple[float, float]:
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


def judge(rule: str, value: float, tolerance: float, units: pd.DataFrame, m: float = 0) -> str:
    """The verdict on a claim from the rows of its units; as with `m` units of the same spread, if that is given."""
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
        kind, _, shows = judge_by_rule["shows it"]
        T, k, n = upper_end(kind)[1], float(shows.sum()), len(shows)
        if m:
            k, n = round(m * k / n), round(m)
        low, high = share_interval(k, n, T)
        verdict = "reproduced" if low > 0.5 else "not reproduced" if high < 0.5 else "undecided"
        verdict = verdict if n >= LEAST[T] else "undecided"
        return "undecided" if f"cannot be {verdict}" in judge_by_rule else verdict
    if rule == "positive":
        each = [place(*find_interval(*one, m)[1:], 0.0, np.inf) for one in judge_by_rule.values()]
        return next((v for v in ("not reproduced", "undecided") if v in each), "reproduced")
    ((kind, names, x),) = judge_by_rule.values()
    ranges = {
        "factor": (value / tolerance, value * tolerance),
        "distance": (value - tolerance, value + tolerance),
        "at_most": (-np.inf, tolerance),
        "at_least": (tolerance, np.inf),
        "mixing": (-np.inf, MIXED) if value <= MIXED else (max(MIXED, value / tolerance), value * tolerance),
    }
    if kind == "sets of four":
        least, largest = ranges[rule]
        return "reproduced" if ((least <= x) & (x <= largest)).mean() >= FOURS else "not reproduced"
    if upper_end(kind)[0] == "share":
        low, high = share_interval(int(x.sum()), len(x), upper_end(kind)[1])
    else:
        _, low, high = find_interval(kind, names, x, m)
    return place(low, high, *ranges[rule])


def classify(rule: str, value: float, tolerance: float, units: pd.DataFrame) -> str:
    """The class of an undecided claim, an edition of which may call it so: no more units can be had, or so many would
    not decide it."""
    of, kinds = units["of"].iloc[0], units["interval"].tolist()
    n = units["unit"].nunique() - any(kind.startswith("jackknife") for kind in kinds)
    if any(kind.startswith("overlapping") for kind in kinds):
        decided = judge(rule, value, tolerance, units, 1e9) != "undecided"
    else:
        decided = n < FINITE.get(of, np.inf)
    if not decided:
        return "not testable"
    return "at the edge" if judge(rule, value, tolerance, units, MANY) == "undecided" else "undecided"


def chance_wrong(rule: str, value: float, tolerance: float, units: pd.DataFrame) -> float:
    """How probable it is that a decided verdict is wrong, if the truth spreads as its interval: beyond the edge."""
    wrong = 0.0
    for name, rows in units.groupby("quantity", sort=False):
        x = rows["value"].to_numpy(float)
        if rule == "most":
            k, n = float(x.sum()), len(x)
            wrong += stats.beta.cdf(0.5, k + 0.5, n - k + 0.5) if name == "shows it" and 2 * k > n else 0.0
            wrong += stats.beta.sf(0.5, k + 0.5, n - k + 0.5) if name == "shows it" and 2 * k < n else 0.0
        elif rule in ("factor", "distance", "at_most", "at_least", "mixing", "positive"):
            kind = rows["interval"].iloc[0]
            centre, low, high = (
                find_interval(kind, rows["unit"].tolist(), x)
                if "share" not in kind and kind != "sets of four"
                else [np.nan] * 3
            )
            error = (high - low) / (2 * stats.norm.ppf(upper_end(kind)[1]))
            ends = {
                "factor": (value / tolerance, value * tolerance),
                "distance": (value - tolerance, value + tolerance),
                "mixing": (MIXED,) if value <= MIXED else (max(MIXED, value / tolerance), value * tolerance),
                "positive": (0.0,),
            }.get(rule, (tolerance,))
            if error > 0:
                wrong += stats.norm.sf(min(abs(centre - end) for end in ends) / error)
    return wrong


def recompute(folder: Path, papers: Path, only: Container[str] | None = None) -> tuple[pd.DataFrame, list[str]]:
    """The verdicts of a folder: recomputed from its units, and as kept.

    Parameters
    ----------
    folder : Path
        An edition that `smcmc keep` wrote.
    papers : Path
        Holds claims.csv and readings.csv in a folder of each paper.
    only : container of str, optional
        The figures; by default all that the folder has.

    Returns
    -------
    tuple
        A row for each kept verdict, with `counted`, `rule`, `kept`, `again` and `wrong` (see `chance_wrong`);
        and the figures without units.
    """
    rules, rows, without = read_rules(papers), [], []
    for file in sorted(folder.glob("*-claims.csv")):
        name = file.name.removesuffix("-claims.csv")
        if only is not None and name not in only:
            continue
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
            if again == "undecided" and claim["verdict"] in OPEN[1:] and len(part):
                again = classify(rule, known["value"], known["tolerance"], part)
            row = {key: claim[key] for key in KEY}
            decided = again in ("reproduced", "not reproduced")
            wrong = chance_wrong(rule, known["value"], known["tolerance"], part) if counted and decided else 0.0
            rows.append(
                row | {"counted": counted, "rule": rule, "kept": claim["verdict"], "again": again, "wrong": wrong}
            )
    columns = [*KEY, "counted", "rule", "kept", "again", "wrong"]
    return pd.DataFrame(rows, columns=columns), without


def latest(folder: Path) -> dict[Path, list[str]]:
    """The figures whose verdicts count in each edition's folder: the last that has them."""
    last: dict[str, Path] = {}
    for place in [folder, *sorted(folder.glob("edition-*"), key=lambda path: int(path.name.removeprefix("edition-")))]:
        last |= {file.name.removesuffix("-claims.csv"): place for file in place.glob("*-claims.csv")}
    return {place: [name for name, of in last.items() if of == place] for place in dict.fromkeys(last.values())}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "reproduction")
    parser.add_argument("--papers", type=Path, default=PAPERS)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N of the verdicts, evenly chosen")
    parser.add_argument("--latest", action="store_true", help="each figure in its last edition")
    args = parser.parse_args()
    parts = latest(args.folder) if args.latest else {args.folder: None}
    found = [recompute(place, args.papers, only) for place, only in parts.items()]
    verdicts = pd.concat([rows for rows, _ in found], ignore_index=True)
    without = [name for _, names in found for name in names]
    differs = verdicts[verdicts["kept"] != verdicts["again"]]
    shown = verdicts.iloc[np.linspace(0, len(verdicts) - 1, min(args.show, len(verdicts))).round().astype(int)]
    for row in [*shown.itertuples(), *differs.itertuples()]:
        described = ", ".join(filter(None, (row.data, row.sampler, row.metric, row.reading, row.on)))
        print(f"{row.id}: {described}: kept {row.kept}, recomputed {row.again} ({row.rule})")
    rules = ", ".join(f"{rule} {n}" for rule, n in sorted(Counter(verdicts["rule"]).items()))
    print(f"{len(verdicts)} verdicts ({verdicts['counted'].sum()} counted), {len(differs)} differ")
    print(f"by rule: {rules or 'none'}")
    decided = (verdicts["counted"] & verdicts["kept"].isin(["reproduced", "not reproduced"])).sum()
    print(f"expected to be wrong by chance: {verdicts['wrong'].sum():.1f} of the {decided} decided verdicts that count")
    if without:
        print(f"kept without units: {', '.join(without)}")
    return int(len(differs) > 0)


if __name__ == "__main__":
    sys.exit(main())
