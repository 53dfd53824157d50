"""Verdicts on published claims, by rules that ask as much of a paper as of us.

A claim is *reproduced* where the interval of what was measured lies within what the rule tolerates, *not reproduced*
where it lies outside, and *undecided* where it does neither: the number of data sets, restarts or splits that would
decide it is then said. *Not testable* is what no run of ours can decide, such as the seconds of another machine.

A claim has one verdict: that of the reading which the paper's ``readings.csv`` fixes. Other readings are judged by the
same rules and shown below it; they are not counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics.intervals import (
    MOST_UNITS,
    TAIL,
    Summary,
    by_unit,
    mean_interval,
    share_interval,
    units_for_mean,
    units_for_share,
)
from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.results.files import report_damage

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
UNDECIDED = "undecided"
NOT_TESTABLE = "not testable"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, NOT_TESTABLE)
MIXED = 1.2
"""An R-hat up to this is compatible with mixing (Herlau et al. 2014: "lower than 1.1 or 1.2")."""


@dataclass(frozen=True)
class Verdict:
    """Verdict on a claim under one reading: the measured value, and what follows.

    Attributes
    ----------
    claim : Claim
    reading : str
        How the paper was read where it leaves a choice; empty where it does not.
    ours, low, high : float
        What was measured (or the exact value) and its interval of level 0.95; NaN where there is none.
    n : int
        Number of independent units behind the interval; 0 for an exact value.
    verdict, reason : str
    rule : str
        The rule that was applied, as ``readings.csv`` names it.
    unit : str
        What the independent units are.
    needed : int or None
        Units that would decide what is undecided; None where that cannot be said.
    on : str
        Where the runs differ from the paper's: generated data in the place of published ones, fewer items.
    """

    claim: Claim
    reading: str
    ours: float
    low: float
    high: float
    n: int
    verdict: str
    reason: str
    rule: str = ""
    unit: str = "data sets"
    needed: int | None = None
    on: str = ""

    @property
    def is_counted(self) -> bool:
        """bool: whether this is the claim's own verdict, and not one under another reading."""
        return self.reading == self.claim.reading

    @property
    def explanation(self) -> str:
        """str: the reason, and what would decide it."""
        if self.verdict != UNDECIDED or self.needed is None:
            return self.reason
        enough = f"more than {MOST_UNITS:,}" if self.needed > MOST_UNITS else f"some {self.needed:,}"
        return f"{self.reason}; {enough} {self.unit} would decide it"


def no_run(claim: Claim, reason: str = "no run", rule: str = "", reading: str | None = None) -> Verdict:
    """Return the verdict on a claim that has no run; by default under the claim's own reading."""
    read = claim.reading if reading is None else reading
    return Verdict(claim, read, np.nan, np.nan, np.nan, 0, UNDECIDED, reason, rule or claim.rule)


def judge_interval(
    claim: Claim,
    interval: tuple[float, float, float],
    n: int,
    least: float,
    most: float,
    reason: str,
    rule: str,
    reading: str = "",
    unit: str = "data sets",
) -> Verdict:
    """Judge an interval: reproduced within [least, most], not reproduced outside, else undecided."""
    centre, low, high = interval
    needed = None
    if not np.isfinite([low, high]).all():
        verdict, reason = UNDECIDED, f"{reason}; no interval of {n} {unit if n != 1 else unit.removesuffix('s')}"
        needed = 2 if n == 1 else None
    elif least <= low and high <= most:
        verdict = REPRODUCED
    elif high < least or low > most:
        verdict = NOT_REPRODUCED
    else:
        verdict, needed = UNDECIDED, units_for_mean(interval, n, least, most)
    return Verdict(claim, reading, centre, low, high, n, verdict, reason, rule, unit, needed)


def _tolerance(claim: Claim) -> float:
    """The tolerance of a claim whose rule needs one."""
    if np.isnan(claim.tolerance):
        where = f"{claim.data}, {claim.sampler}, {claim.metric}"
        raise ConfigError(
            f"readings.csv: {claim.id}: {where}: expected a tolerance, which the rule of this claim needs"
        )
    return claim.tolerance


def by_majority(
    claim: Claim,
    samples: ArrayLike,
    agrees: ArrayLike,
    rule: str,
    reading: str = "",
    short: tuple[str, str] = ("", ""),
    summary: Summary = mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Judge what the paper shows by one run, or says of most: reproduced when most units show it.

    Parameters
    ----------
    samples : array_like
        Measured values, ``[n]``; their centre and interval by `summary` are shown.
    agrees : array_like of bool
        Which samples show what the paper shows, as `rule` says. A unit shows it if more than half of its samples do.
        Most units do if the Jeffreys interval of their share lies above one half, most do not if it lies below.
    short : tuple of str
        A verdict that a run of this length cannot give (the claim is then undecided), and why.
    unit : str
        What the units are.
    units : array_like, optional
        What each sample belongs to; by default each is a unit.
    """
    yes = by_unit(agrees, units) > 0.5
    n, k = len(yes), int(yes.sum())
    if n == 0:
        return no_run(claim, rule="most", reading=reading)
    low, high = share_interval(k, n)
    verdict = REPRODUCED if low > 0.5 else NOT_REPRODUCED if high < 0.5 else UNDECIDED
    reason = f"{rule} in {k} of {n} {unit} (share in [{low:.2f}, {high:.2f}])"
    needed = units_for_share(k, n) if verdict == UNDECIDED else None
    if verdict == short[0]:
        verdict, reason = UNDECIDED, f"{reason}; {short[1]}"
    shown = summary(samples if units is None else by_unit(samples, units))
    return Verdict(claim, reading, *shown, n, verdict, reason, "most", unit, needed)


def by_factor(
    claim: Claim,
    samples: ArrayLike,
    reading: str = "",
    note: str = "",
    summary: Summary = mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Judge a rate or ratio: reproduced within the claim's tolerance, a factor, of the published value.

    `samples`: measured values, none negative. `note` goes with the reason. Others as for `by_majority`.
    """
    interval, n = _positive(by_unit(samples, units), summary)
    if not n:
        return no_run(claim, "never proposed in any chain", "factor", reading)
    least, most = claim.value / _tolerance(claim), claim.value * _tolerance(claim)
    reason = f"ours / published = {interval[0] / claim.value:.3g}; rule: within a factor {_tolerance(claim):g}{note}"
    return judge_interval(claim, interval, n, least, most, reason, "factor", reading, unit)


def by_bound(
    claim: Claim,
    samples: ArrayLike,
    reading: str = "",
    note: str = "",
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Judge "almost never": reproduced at or below the claim's tolerance. Parameters as of `by_factor`."""
    interval, n = _positive(by_unit(samples, units), mean_interval)
    if not n:
        return no_run(claim, "never proposed in any chain", "at_most", reading)
    reason = f"rule: at most {_tolerance(claim):g}{note}"
    return judge_interval(claim, interval, n, -np.inf, _tolerance(claim), reason, "at_most", reading, unit)


def by_distance(claim: Claim, samples: ArrayLike, reading: str = "", units: ArrayLike | None = None) -> Verdict:
    """Judge a mean score, of each data set over its seeds: reproduced within the claim's tolerance of the published
    value. Others as for `by_majority`."""
    each = by_unit(samples, units)
    interval = mean_interval(each)
    if not np.isfinite(interval[0]):
        return no_run(claim, rule="distance", reading=reading)
    reason = f"ours - published = {interval[0] - claim.value:+.3f}; rule: within {_tolerance(claim):g}"
    least, most = claim.value - _tolerance(claim), claim.value + _tolerance(claim)
    return judge_interval(claim, interval, len(each), least, most, reason, "distance", reading)


def by_rhat(
    claim: Claim, interval: tuple[float, float, float], restarts: int, reading: str = "", note: str = ""
) -> Verdict:
    """Judge an R-hat between restarts.

    Reproduced where it and the published one are both compatible with mixing (`MIXED`), or neither is and they are
    within the claim's tolerance, a factor, of each other. `interval`: mean over the chains of a restart, and its
    interval over `restarts`; `note` goes with the reason.
    """
    if not np.isfinite(interval[0]):
        return no_run(claim, "undefined in all chains", "mixing", reading)
    if claim.value <= MIXED:
        least, most, rule = -np.inf, MIXED, f"published at most {MIXED:g}, so must ours be"
    else:
        least, most = max(MIXED, claim.value / _tolerance(claim)), claim.value * _tolerance(claim)
        rule = f"above {MIXED:g} and within a factor {_tolerance(claim):g}"
    return judge_interval(claim, interval, restarts, least, most, f"rule: {rule}{note}", "mixing", reading, "restarts")


def by_sign(
    claim: Claim,
    differences: Mapping[str, ArrayLike],
    reading: str = "",
    summary: Summary = mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Judge "more than": reproduced when every paired difference is positive.

    `differences`: one per sample, by what they are. Each is positive if its interval lies above 0; the claim is not
    reproduced if one of the intervals lies below. Others as for `by_majority`.
    """
    of_units = {what: by_unit(x, units) for what, x in differences.items()}
    intervals = {what: summary(x) for what, x in of_units.items()}
    sets = min(len(x) for x in of_units.values())
    worst = min(intervals.values())
    judged = [
        judge_interval(claim, each, sets, 0.0, np.inf, "", "positive", reading, unit) for each in intervals.values()
    ]
    verdict = next((v for v in judged if v.verdict == NOT_REPRODUCED), None) or next(
        (v for v in judged if v.verdict == UNDECIDED), judged[0]
    )
    said = [f"{what} {mean:+.3f} [{least:+.3f}, {most:+.3f}]" for what, (mean, least, most) in intervals.items()]
    reason = f"{'; '.join(said)}: paired over {sets} {unit}"
    return replace(verdict, ours=worst[0], low=worst[1], high=worst[2], reason=reason)


def _positive(x: ArrayLike, summary: Summary) -> tuple[tuple[float, float, float], int]:
    """Centre and interval (cut at 0) of samples, and their number."""
    centre, low, high = summary(x)
    return (centre, float(np.fmax(low, 0)) if np.isfinite(low) else low, high), len(np.ravel(x))


def exactly(claim: Claim, value: float, reason: str = "", reading: str = "") -> Verdict:
    """Judge an exact value: reproduced where it agrees within the tolerance, the rounding of what was printed."""
    same = abs(value - claim.value) <= _tolerance(claim)
    text = reason or (f"exact; agrees to {_tolerance(claim):g}" if same else "exact")
    if not same and claim.statement:
        text = f"{text}; {claim.statement}" if reason else claim.statement
    verdict = REPRODUCED if same else NOT_REPRODUCED
    return Verdict(claim, reading, value, np.nan, np.nan, 0, verdict, text, "exact", "")


def holds(claim: Claim, value: float, true: bool, reason: str, reading: str = "") -> Verdict:
    """Judge a claim in words from exact numbers, given in the reason."""
    verdict = REPRODUCED if true else NOT_REPRODUCED
    return Verdict(claim, reading, value, np.nan, np.nan, 0, verdict, reason, "holds", "")


def untestable(
    claim: Claim,
    samples: ArrayLike,
    reason: str,
    reading: str = "",
    summary: Summary = mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Give the measured values of a claim that cannot be judged here, and say why."""
    x = by_unit(samples, units)
    return Verdict(claim, reading, *summary(x), len(x), NOT_TESTABLE, reason, "none", unit)


def frame(verdicts: Sequence[Verdict], claims: Sequence[Claim], scale: str) -> pd.DataFrame:
    """The table of ``ID-claims.csv``: of all that a paper claims with a figure the counted verdict, and below it those
    of other readings. A claim without a counted verdict is undecided: there is no run of it."""
    rows: list[Verdict] = []
    for claim in claims:
        own = [v for v in verdicts if v.claim == claim]
        counted = [v for v in own if v.is_counted]
        if len(counted) > 1:
            raise ValueError(f"{claim.id}: {claim.metric}: two verdicts under {claim.reading!r}")
        rows += counted or [no_run(claim)]
        rows += [v for v in own if not v.is_counted]
    cells = {name: [attrgetter(what)(v) if what else scale for v in rows] for name, what in COLUMNS.items()}
    return pd.DataFrame(cells)


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
"""Columns of ``ID-claims.csv``, and what they have of a `Verdict`; the scale is that of the figure."""
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
    decided = claims["counted"] & claims["verdict"].isin([REPRODUCED, NOT_REPRODUCED]) & (claims["n"] > 0)
    return float(TAIL * decided.sum())


def counts(claims: Iterable[pd.DataFrame]) -> pd.Series:
    """Number of claims by verdict."""
    frames = list(claims)
    if not frames:
        return pd.Series(0, index=list(VERDICTS))
    whole = pd.concat(frames)
    found: pd.Series = whole.loc[whole["counted"], "verdict"].value_counts().reindex(list(VERDICTS), fill_value=0)
    return found
