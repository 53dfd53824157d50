"""Published claims, and how a verdict on each is reached from the values measured over independent chains.

Three verdicts: ``reproduced``, ``not reproduced``, and ``not testable`` where the claim is about a machine that we do
not have, or where too few chains or too short a run cannot tell. The rule that was applied is part of the reason,
which begins with `UNDECIDED` where a longer run may decide.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text
from scipy import stats

from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers.declaration import Paper
from splitmerge_cli.papers.discovery import paper_of

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_TESTABLE = "not testable"
UNDECIDED = "undecided at this scale"
MIXED = 1.2
"""An R-hat up to this is compatible with mixing (Herlau et al. 2014: "lower than 1.1 or 1.2")."""
ROOMY = 100
"""Columns of a terminal from which on a table of verdicts shows intervals."""

Summary = Callable[[ArrayLike], tuple[float, float, float]]
FACTOR = 2.0
"""A rate or a ratio is reproduced within this factor of the published one."""
DISTANCE = 0.05
"""A score is reproduced within this distance of the published one: about twice the standard error of a published mean
over 100 data sets, whose scores spread by .2 to .25."""


@dataclass(frozen=True)
class Claim:
    """A published claim: a row of a paper's ``claims.csv``; `value` is NaN where the claim is in words."""

    id: str
    data: str
    sampler: str
    metric: str
    value: float
    unit: str
    statement: str


@dataclass(frozen=True)
class Verdict:
    """What was measured for a claim, and what follows.

    Attributes
    ----------
    claim : Claim
    reading : str
        How the paper was read where it leaves a choice; empty where it does not.
    ours, low, high : float
        Mean over chains (or the exact value) and its 95 % interval; NaN where there is none.
    chains : int
        Number of independent chains; 0 for an exact value.
    verdict, reason : str
    undecided : bool
        Not testable with these runs: too few chains, or too short.
    """

    claim: Claim
    reading: str
    ours: float
    low: float
    high: float
    chains: int
    verdict: str
    reason: str
    undecided: bool = False

    def why(self, scale: str) -> str:
        """The reason, and whether more runs may decide."""
        more = f"{UNDECIDED}: run --scale paper; " if self.undecided and scale != "paper" else ""
        return more + self.reason


def published(figure: str) -> list[Claim]:
    """The claims of one figure or table, from the folder of its paper."""
    if (paper := paper_of(figure)) is None:
        return []
    rows = _read(paper.folder / "claims.csv", [field.name for field in fields(Claim)], keep_default_na=False)
    rows = rows[rows["id"] == figure]
    return [
        Claim(r.id, r.data, r.sampler, r.metric, float(r.value) if r.value != "" else np.nan, r.unit, r.statement)
        for r in rows.itertuples(index=False)
    ]


def errata(paper: Paper) -> pd.DataFrame:
    """Errata of a paper: where, printed, correct."""
    return _read(paper.folder / "errata.csv", ["where", "printed", "correct"], dtype=str)


def _read(file: Path, columns: list[str], **options: Any) -> pd.DataFrame:
    """A table of a paper's folder; without rows where the paper has no such file."""
    if not file.is_file():
        return pd.DataFrame(columns=columns)
    try:
        rows = pd.read_csv(file, encoding="utf-8", **options)
    except ValueError as error:  # the parser's own are among them
        raise ConfigError(f"{file}: cannot be read: {' '.join(str(error).split())}") from error
    if list(rows.columns) != columns:
        raise ConfigError(f"{file}: columns {', '.join(map(str, rows.columns))}; expected {', '.join(columns)}")
    return rows


def mean_interval(samples: ArrayLike) -> tuple[float, float, float]:
    """Mean and 95 % t interval of independent samples.

    One sample, or a sample with no finite value, has no interval (NaN).
    """
    x = np.asarray(samples, dtype=float)
    x = x[np.isfinite(x)]
    if not len(x):
        return np.nan, np.nan, np.nan
    half = stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else np.nan
    return float(x.mean()), float(x.mean() - half), float(x.mean() + half)


def median_interval(samples: ArrayLike) -> tuple[float, float, float]:
    """Median and its distribution-free 95 % interval, between two order statistics (NaN for fewer than 6 samples)."""
    x = np.asarray(samples, dtype=float)
    x = np.sort(x[np.isfinite(x)])
    if not len(x):
        return np.nan, np.nan, np.nan
    rank = int(stats.binom.ppf(0.025, len(x), 0.5)) - 1
    low, high = (x[rank], x[-1 - rank]) if rank >= 0 else (np.nan, np.nan)
    return float(np.median(x)), float(low), float(high)


def bootstrap_interval(samples: ArrayLike, resamples: int = 10_000) -> tuple[float, float, float]:
    """Mean and its 95 % bootstrap interval (percentiles; NaN for fewer than 2 samples); the same at every call."""
    x = np.asarray(samples, dtype=float)
    x = x[np.isfinite(x)]
    if len(x) < 2:
        return (float(x.mean()) if len(x) else np.nan), np.nan, np.nan
    means = np.random.default_rng(0).choice(x, (resamples, len(x))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(x.mean()), float(low), float(high)


def share_interval(successes: int, n: int) -> tuple[float, float]:
    """Jeffreys 95 % interval of a share, closed at 0 and 1 when none or all succeed."""
    low = stats.beta.ppf(0.025, successes + 0.5, n - successes + 0.5) if successes else 0.0
    high = stats.beta.ppf(0.975, successes + 0.5, n - successes + 0.5) if successes < n else 1.0
    return float(low), float(high)


def by_majority(
    claim: Claim,
    samples: ArrayLike,
    agrees: ArrayLike,
    rule: str,
    reading: str = "",
    short: tuple[str, str] = ("", ""),
    summary: Summary = mean_interval,
    unit: str = "chains",
) -> Verdict:
    """Judge what the paper shows by one run: reproduced when most chains show it.

    Parameters
    ----------
    claim : Claim
    samples : array_like
        Measured values, ``[chains]``.
    agrees : array_like of bool
        Which chains show what the paper shows. Most do if the 95 % Jeffreys interval of their share lies above one
        half, most do not if it lies below; otherwise there are too few chains to tell.
    rule : str
        What `agrees` means.
    reading : str
    short : tuple of str
        A verdict that a run of this length cannot give (the claim is then not testable), and why.
    summary : callable
        Centre and interval of the samples that are shown.
    unit : str
        What the samples are, if not chains.
    """
    yes = np.asarray(agrees, dtype=bool)
    n, k = len(yes), int(yes.sum())
    if n == 0:
        return Verdict(claim, reading, np.nan, np.nan, np.nan, 0, NOT_TESTABLE, "no run", undecided=True)
    low, high = share_interval(k, n)
    verdict = REPRODUCED if low > 0.5 else NOT_REPRODUCED if high < 0.5 else NOT_TESTABLE
    reason = f"{rule} in {k} of {n} {unit} (share in [{low:.2f}, {high:.2f}])"
    if verdict == NOT_TESTABLE:
        reason += f": too few {unit} to tell"
    elif verdict == short[0]:
        verdict, reason = NOT_TESTABLE, f"{reason}; {short[1]}"
    return Verdict(claim, reading, *summary(samples), n, verdict, reason, undecided=verdict == NOT_TESTABLE)


def by_factor(
    claim: Claim, samples: ArrayLike, reading: str = "", note: str = "", summary: Summary = mean_interval
) -> Verdict:
    """Judge a rate or ratio: reproduced when the centre (`summary`) is within `FACTOR` of the published value.

    If it is not, but the interval reaches into that range, there are too few chains to tell. `samples`: measured
    values, ``[chains]``, none negative. `note` goes with the reason.
    """
    ours, low, high, n = _positive(samples, summary)
    if not n:
        return Verdict(claim, reading, ours, low, high, 0, NOT_TESTABLE, "never proposed in any chain", undecided=True)
    least, most = claim.value / FACTOR, claim.value * FACTOR
    if least <= ours <= most:
        verdict, why = REPRODUCED, "within"
    elif low <= most and high >= least:
        verdict, why = NOT_TESTABLE, "too few chains: the interval reaches into"
    else:
        verdict, why = NOT_REPRODUCED, "outside of"
    reason = f"ours / published = {ours / claim.value:.3g}, {why} a factor {FACTOR:g}{note}"
    return Verdict(claim, reading, ours, low, high, n, verdict, reason, undecided=verdict == NOT_TESTABLE)


def by_bound(claim: Claim, samples: ArrayLike, bound: float, reading: str = "", note: str = "") -> Verdict:
    """Judge "almost never": reproduced when the mean is at most `bound`. Parameters as of `by_factor`."""
    ours, low, high, n = _positive(samples, mean_interval)
    if not n:
        return Verdict(claim, reading, ours, low, high, 0, NOT_TESTABLE, "never proposed in any chain", undecided=True)
    verdict = REPRODUCED if ours <= bound else NOT_REPRODUCED
    return Verdict(claim, reading, ours, low, high, n, verdict, f"rule: at most {bound:g}{note}")


def by_distance(claim: Claim, samples: ArrayLike, chains: int, reading: str = "") -> Verdict:
    """Judge a mean score: reproduced when it is within `DISTANCE` of the published value.

    If it is not, but its interval reaches into that range, there are too few data sets to tell.

    Parameters
    ----------
    claim : Claim
    samples : array_like
        Mean over seeds of every data set, ``[sets]``.
    chains : int
        Chains behind them.
    reading : str
    """
    ours, low, high = mean_interval(samples)
    if not np.isfinite(ours):
        return Verdict(claim, reading, ours, low, high, 0, NOT_TESTABLE, "no run", undecided=True)
    if abs(ours - claim.value) <= DISTANCE:
        verdict, why = REPRODUCED, "within"
    elif low <= claim.value + DISTANCE and high >= claim.value - DISTANCE:
        verdict, why = NOT_TESTABLE, "too few data sets: the interval reaches into"
    else:
        verdict, why = NOT_REPRODUCED, "outside of"
    sets = len(np.ravel(samples))
    reason = f"ours - published = {ours - claim.value:+.3f}, {why} {DISTANCE:g}; mean over {sets} data sets"
    return Verdict(claim, reading, ours, low, high, chains, verdict, reason, undecided=verdict == NOT_TESTABLE)


def by_rhat(claim: Claim, samples: ArrayLike, reading: str = "", note: str = "") -> Verdict:
    """Judge an R-hat between restarts.

    Reproduced when its mean and the published one are both compatible with mixing (`MIXED`), or neither is and they
    are within `FACTOR` of each other. If not, but the interval reaches there, there are too few restarts to tell.

    Parameters
    ----------
    claim : Claim
    samples : array_like
        R-hat of every chain number, between the restarts, ``[chains]``.
    reading : str
    note : str
        Goes with the reason.
    """
    ours, low, high, n = _positive(samples, mean_interval)
    if not n:
        return Verdict(claim, reading, ours, low, high, 0, NOT_TESTABLE, "undefined in all chains", undecided=True)
    if claim.value <= MIXED:
        least, most, rule = 0.0, MIXED, f"published at most {MIXED:g}, so must ours be"
    else:
        least, most = max(MIXED, claim.value / FACTOR), claim.value * FACTOR
        rule = f"above {MIXED:g} and within a factor {FACTOR:g}"
    reaches = NOT_TESTABLE if low <= most and high >= least else NOT_REPRODUCED
    verdict = REPRODUCED if least <= ours <= most else reaches
    spread = np.nanstd(np.asarray(samples, dtype=float), ddof=1)
    reason = f"spread {spread:.2g} over {n} chains; rule: {rule}{note}"
    if verdict == NOT_TESTABLE:
        reason += "; the interval reaches there"
    return Verdict(claim, reading, ours, low, high, n, verdict, reason, undecided=verdict == NOT_TESTABLE)


def by_sign(
    claim: Claim,
    differences: Mapping[str, ArrayLike],
    chains: int,
    reading: str = "",
    summary: Summary = mean_interval,
    unit: str = "data sets",
) -> Verdict:
    """Judge "more than": reproduced when every paired difference is positive.

    Parameters
    ----------
    claim : Claim
    differences : mapping of str to array_like
        Paired differences, one per data set, by what they are. Each is positive if its 95 % interval lies above 0;
        the claim is not reproduced if one of the intervals lies below.
    chains : int
        Chains behind them.
    reading : str
    summary : callable
        Mean and interval; a t interval by default.
    unit : str
        What the differences are paired over, if not data sets.
    """
    intervals = {what: summary(x) for what, x in differences.items()}
    ours, low, high = min(intervals.values())
    if all(interval[1] > 0 for interval in intervals.values()):
        verdict = REPRODUCED
    elif any(interval[2] < 0 for interval in intervals.values()):
        verdict = NOT_REPRODUCED
    else:
        verdict = NOT_TESTABLE
    said = [f"{what} {mean:+.3f} [{least:+.3f}, {most:+.3f}]" for what, (mean, least, most) in intervals.items()]
    sets = min(len(np.ravel(x)) for x in differences.values())
    reason = f"{'; '.join(said)}: paired over {sets} {unit}"
    if verdict == NOT_TESTABLE:
        reason += ", no sign can be told"
    return Verdict(claim, reading, ours, low, high, chains, verdict, reason, undecided=verdict == NOT_TESTABLE)


def _positive(samples: ArrayLike, summary: Summary) -> tuple[float, float, float, int]:
    """Centre, interval (cut at 0) and number of the finite samples."""
    centre, low, high = summary(samples)
    return centre, float(np.fmax(low, 0)) if np.isfinite(low) else low, high, int(np.isfinite(samples).sum())


def exactly(claim: Claim, value: float, tolerance: float, reason: str = "", reading: str = "") -> Verdict:
    """Judge an exact value: reproduced when it agrees within `tolerance`, the rounding of what was printed."""
    same = abs(value - claim.value) <= tolerance
    text = reason or (f"exact; agrees to {tolerance:g}" if same else "exact")
    if not same and claim.statement:
        text = f"{text}; {claim.statement}" if reason else claim.statement
    return Verdict(claim, reading, value, np.nan, np.nan, 0, REPRODUCED if same else NOT_REPRODUCED, text)


def holds(claim: Claim, value: float, true: bool, reason: str, reading: str = "") -> Verdict:
    """Judge a claim in words from exact numbers, given in the reason."""
    return Verdict(claim, reading, value, np.nan, np.nan, 0, REPRODUCED if true else NOT_REPRODUCED, reason)


def untestable(
    claim: Claim, samples: ArrayLike, reason: str, reading: str = "", summary: Summary = mean_interval
) -> Verdict:
    """Give the measured values of a claim that cannot be judged here, and say why."""
    x = np.asarray(samples, dtype=float)
    x = x[np.isfinite(x)]
    return Verdict(claim, reading, *summary(x), len(x), NOT_TESTABLE, reason)


def frame(verdicts: Sequence[Verdict], scale: str) -> pd.DataFrame:
    """One row per verdict: what ``ID-claims.csv`` holds."""
    return pd.DataFrame(
        [
            {
                "id": v.claim.id,
                "scale": scale,
                "data": v.claim.data,
                "sampler": v.claim.sampler,
                "metric": v.claim.metric,
                "reading": v.reading,
                "published": v.claim.value,
                "ours": v.ours,
                "low": v.low,
                "high": v.high,
                "unit": v.claim.unit,
                "chains": v.chains,
                "verdict": v.verdict,
                "reason": v.why(scale),
                "statement": v.claim.statement,
            }
            for v in verdicts
        ]
    )


def number(value: float) -> str:
    """A value for a table: four significant digits, a dash for none."""
    return f"{value:.4g}" if np.isfinite(value) else "–"


def interval(low: float, high: float) -> str:
    """An interval for a table; empty for none."""
    return f"[{low:.4g}, {high:.4g}]" if np.isfinite(low) and np.isfinite(high) else ""


@dataclass(frozen=True)
class VerdictTable:
    """The verdicts for a terminal of any width.

    Numbers and verdicts are never cut: what is long (the claim, and below it the reason) is wrapped, and a terminal of
    less than `ROOMY` columns shows no intervals.
    """

    claims: pd.DataFrame

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table that fits."""
        colours = {REPRODUCED: "green", NOT_REPRODUCED: "red", NOT_TESTABLE: "yellow"}
        title = f"{self.claims['id'].iloc[0]}: published claims ({self.claims['scale'].iloc[0]} scale)"
        out = Table(title=title, title_justify="left", show_lines=True)
        out.add_column("claim, and why", overflow="fold")
        names = ["published", "ours", *(["95 %"] if options.max_width >= ROOMY else [])]
        for name in names:
            out.add_column(name, justify="right", no_wrap=True)
        out.add_column("verdict", no_wrap=True)
        for row in self.claims.itertuples(index=False):
            cells = [with_unit(row.published, row.unit), with_unit(row.ours, row.unit), interval(row.low, row.high)]
            out.add_row(
                Text.assemble(f"{headline(row)}\n", (row.reason, "dim")),
                *cells[: len(names)],
                Text(row.verdict, colours[row.verdict]),
            )
        yield out


def table(claims: pd.DataFrame) -> VerdictTable:
    """The verdicts of `frame` for a terminal."""
    return VerdictTable(claims)


def with_unit(value: float, unit: str) -> str:
    """A value for a table, with its unit."""
    return number(value) + (f" {unit}" if unit and np.isfinite(value) else "")


def headline(row: Any) -> str:
    """What a row of `frame` is about: data, sampler, metric and reading."""
    return f"{row.data}, {row.sampler}: {row.metric.replace('_', ' ')}" + (f" ({row.reading})" if row.reading else "")
