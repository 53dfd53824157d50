"""Verdicts on published claims, by rules that ask as much of a paper as of us.

A claim is *reproduced* where the interval of what was measured lies within what the rule tolerates, *not reproduced*
where it lies outside, and *undecided* where it does neither: the number of data sets, restarts or splits that would
decide it is then said. *Not testable* is what no run of ours can decide, such as the seconds of another machine; *at
the edge*, as an edition may call it, what no number of units up to `intervals.MOST_UNITS` decides.

A claim has one verdict, by the reading that the paper's ``readings.csv`` fixes. Other readings are judged by the
same rules and shown below it; they are not counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics import intervals
from splitmerge_cli.papers.claims import Claim

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
UNDECIDED = "undecided"
AT_EDGE = "at the edge"
NOT_TESTABLE = "not testable"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, AT_EDGE, NOT_TESTABLE)
CLOCK = "clock"
"""The rule of what the clock decides."""
BY_CLOCK = "the clock decides: a ratio of our own programs, or a score within seconds, is no measurement of the paper"
MIXED = 1.2
"""An R-hat up to this is compatible with mixing (Herlau et al. 2014: "lower than 1.1 or 1.2")."""
LEAST_UNITS = 6
"""Units without which ``most`` is not decided: of equal samplers, four agree with probability 0.06, six with 0.016."""


FINITE = {"published data sets": 100, "published networks": 4}
"""Units of which so many are published, and no more can be had."""


@dataclass(frozen=True)
class Samples:
    """Numbers of independent units that a verdict rests on: what the number is (`quantity`); how numbers become an
    `interval` (the name of a `splitmerge_cli.diagnostics.intervals.Interval`, ``share``, ``jackknife`` with such a
    name, ``noise``; empty where none decides); what each unit is called, a seed, the number of a data set, of a
    jackknife ``all`` and who is left out."""

    quantity: str
    interval: str
    units: tuple[str, ...]
    values: tuple[float, ...]

    @classmethod
    def build(cls, quantity: str, interval: str, units: Iterable[object], values: Iterable[float]) -> "Samples":
        """Samples from any sequences."""
        return cls(quantity, interval, tuple(map(str, units)), tuple(float(value) for value in values))


@dataclass(frozen=True)
class Estimate:
    """A measured number: centre, low and high end of its `interval`; `n` independent units, and what they are; `scale`,
    which tells how many units would decide, None where that cannot be said."""

    interval: tuple[float, float, float]
    n: int
    unit: str
    scale: intervals.Interval | None = intervals.mean_interval
    samples: tuple[Samples, ...] = ()


def estimate(
    samples: ArrayLike,
    summary: intervals.Interval = intervals.mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
    quantity: str = "value",
) -> Estimate:
    """Return the estimate of samples, one of each unit or more; see `splitmerge_cli.diagnostics.intervals`."""
    names, values = intervals.split_units(samples, units)
    kept = Samples.build(quantity, summary.name, names, values)
    return Estimate(summary(values), len(values), unit, summary, (kept,))


def jackknife(whole: float, without: ArrayLike, scale: intervals.TInterval, unit: str) -> Estimate:
    """Return the estimate of a statistic by leaving out one unit at a time."""
    each = np.asarray(without, dtype=float)
    names = ["all", *range(1, len(each) + 1)]
    kept = Samples.build("without the unit", f"jackknife, {scale.name}", names, [whole, *each])
    return Estimate(intervals.jackknife_interval(whole, each, scale), len(each), unit, scale, (kept,))


@dataclass(frozen=True)
class Verdict:
    """Verdict on a claim under one `reading` (empty where the paper leaves no choice), and its reason.

    `ours` is what was measured, or the exact value, from `low` to `high`, an interval of level 0.95 (NaN where there is
    none) over `n` independent units (0 of an exact value), each a `unit`. `rule` is the one that was applied, as
    ``readings.csv`` names it. `needed`: units that would decide what is undecided, infinite where no number of them
    would, None where that cannot be said. `on`: where the runs differ from the paper's: generated data in the place of
    published ones, fewer items. `samples`: what the verdict follows from.
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
    needed: float | None = None
    on: str = ""
    samples: tuple[Samples, ...] = field(default=(), compare=False, repr=False)

    @property
    def is_counted(self) -> bool:
        """bool: whether this is the claim's own verdict, and not one under another reading."""
        return self.reading == self.claim.reading

    @property
    def explanation(self) -> str:
        """str: the reason, and what would decide it."""
        if self.verdict != UNDECIDED or self.needed is None:
            return self.reason
        if np.isinf(self.needed):
            only = f"only {FINITE[self.unit]} {self.unit}" if self.unit in FINITE else f"{self.unit} that overlap"
            return f"{self.reason}; cannot be decided by this design ({only})"
        enough = (
            f"more than {intervals.MOST_UNITS:,}" if self.needed > intervals.MOST_UNITS else f"some {self.needed:,.0f}"
        )
        return f"{self.reason}; {enough} {self.unit} would decide it"


def no_run(claim: Claim, reason: str = "no run", rule: str = "", reading: str | None = None) -> Verdict:
    """Return the verdict on a claim that has no run; by default under the claim's own reading."""
    read = claim.reading if reading is None else reading
    return Verdict(claim, read, np.nan, np.nan, np.nan, 0, UNDECIDED, reason, rule or claim.rule)


def judge_interval(
    claim: Claim, of: Estimate, least: float, most: float, reason: str, rule: str, reading: str = ""
) -> Verdict:
    """Judge an interval: reproduced within [least, most], not reproduced outside, else undecided.

    It is not testable if the clock decides (rule ``clock``).
    """
    centre, low, high = of.interval
    n, unit = of.n, of.unit
    needed: float | None = None
    if claim.rule == CLOCK:
        verdict, rule, reason = NOT_TESTABLE, CLOCK, f"{reason}; {BY_CLOCK}"
    elif not np.isfinite([low, high]).all():
        verdict, reason = UNDECIDED, f"{reason}; no interval of {n} {unit if n != 1 else unit.removesuffix('s')}"
        needed = 2 if n == 1 else None
    elif least <= low and high <= most:
        verdict = REPRODUCED
    elif high < least or low > most:
        verdict = NOT_REPRODUCED
    else:
        verdict = UNDECIDED
        needed = _at_most_all(None if of.scale is None else of.scale.units_needed(of.interval, n, least, most), n, unit)
    return Verdict(claim, reading, centre, low, high, n, verdict, reason, rule, unit, needed, samples=of.samples)


def _at_most_all(needed: float | None, n: int, unit: str) -> float | None:
    """The number of units needed; infinite where so many cannot be had."""
    there_are = FINITE.get(unit, np.inf)
    return np.inf if n >= there_are or (needed is not None and needed > there_are) else needed


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
    scores: ArrayLike,
    rule: str,
    reading: str = "",
    short: tuple[str, str] = ("", ""),
    summary: intervals.Summary = intervals.mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
    above: float = 0.5,
) -> Verdict:
    """Judge what the paper shows by one run, or says of most: reproduced when most units show it.

    The centre and interval by `summary` of the measured `samples`, ``[n]``, are shown. Samples belong to `units`, what
    these are is `unit`; by default each is one. A unit shows what the paper shows, as `rule` says, if the mean of its
    `scores`, ``[n]``, is larger than `above`; where it is equal the unit counts as a half. Scores may be differences
    (`above` is 0), or say which samples show it. Most units do if there are `LEAST_UNITS` or more, and the Jeffreys
    interval of their share lies above one half; most do not if it lies below. `short`: a verdict that a run of this
    length cannot give (the claim is then undecided), and why.
    """
    names, means = intervals.split_units(scores, units)
    yes = np.heaviside(means - above, 0.5)
    n, k = len(yes), float(yes.sum())
    if n == 0:
        return no_run(claim, rule="most", reading=reading)
    verdict, low, high = judge_share(k, n)
    reason = f"{rule} in {k:g} of {n} {unit} (share in [{low:.2f}, {high:.2f}])"
    if n < LEAST_UNITS:
        reason += f"; fewer than {LEAST_UNITS} {unit} give no verdict"
    needed = _at_most_all(intervals.units_for_share(k, n, LEAST_UNITS), n, unit) if verdict == UNDECIDED else None
    kept = [Samples.build("shows it", "share", names, yes)]
    if short[0]:
        kept.append(Samples.build(f"cannot be {short[0]}", "", [short[1]], [1]))
    if verdict == short[0]:
        verdict, reason = UNDECIDED, f"{reason}; {short[1]}"
    shown = np.ravel(samples) if units is None else intervals.by_unit(samples, units)
    called = range(1, len(shown) + 1) if units is None else intervals.split_units(samples, units)[0]
    kept.append(Samples.build("value", getattr(summary, "name", ""), called, shown))
    return Verdict(claim, reading, *summary(shown), n, verdict, reason, "most", unit, needed, samples=tuple(kept))


def judge_share(k: float, n: int) -> tuple[str, float, float]:
    """Judge whether most of `n` units show it, if `k` do: the verdict, and the interval of their share."""
    low, high = intervals.share_interval(k, n)
    if n < LEAST_UNITS:
        return UNDECIDED, low, high
    return REPRODUCED if low > 0.5 else NOT_REPRODUCED if high < 0.5 else UNDECIDED, low, high


def by_factor(
    claim: Claim,
    samples: ArrayLike,
    reading: str = "",
    note: str = "",
    summary: intervals.Interval = intervals.mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Judge a rate or ratio: reproduced within the claim's tolerance, a factor, of the published value.

    `samples`: measured values, none negative. `note` goes with the reason. Others as for `by_majority`.
    """
    ours = estimate(samples, summary, unit, units)
    if not ours.n:
        return no_run(claim, "never proposed in any chain", "factor", reading)
    least, most = claim.value / _tolerance(claim), claim.value * _tolerance(claim)
    reason = (
        f"ours / published = {ours.interval[0] / claim.value:.3g}; rule: within a factor {_tolerance(claim):g}{note}"
    )
    verdict = judge_interval(claim, ours, least, most, reason, "factor", reading)
    # what is measured is never negative
    return replace(verdict, low=max(verdict.low, 0.0))


def by_bound(
    claim: Claim,
    samples: ArrayLike,
    reading: str = "",
    note: str = "",
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Judge "almost never": reproduced at or below the claim's tolerance. Parameters as of `by_factor`."""
    estimated = estimate(samples, unit=unit, units=units)
    if not estimated.n:
        return no_run(claim, "never proposed in any chain", "at_most", reading)
    reason = f"rule: at most {_tolerance(claim):g}{note}"
    verdict = judge_interval(claim, estimated, -np.inf, _tolerance(claim), reason, "at_most", reading)
    return replace(verdict, low=max(verdict.low, 0.0))


def by_distance(claim: Claim, samples: ArrayLike, reading: str = "", unit: str = "data sets") -> Verdict:
    """Judge a mean score, of each data set over its seeds: reproduced within the claim's tolerance of the published
    value. Others as for `by_majority`."""
    estimated = estimate(samples, unit=unit)
    if not estimated.n:
        return no_run(claim, rule="distance", reading=reading)
    reason = f"ours - published = {estimated.interval[0] - claim.value:+.3f}; rule: within {_tolerance(claim):g}"
    least, most = claim.value - _tolerance(claim), claim.value + _tolerance(claim)
    return judge_interval(claim, estimated, least, most, reason, "distance", reading)


def by_edge(claim: Claim, of: Estimate, reason: str, reading: str = "") -> Verdict:
    """Judge an estimate: at or below the claim's tolerance where its rule is ``at_most``, otherwise at or above it."""
    if claim.rule == CLOCK:
        return judge_interval(claim, of, -np.inf, np.inf, reason, CLOCK, reading)
    edge, below = claim.tolerance, claim.rule == "at_most"
    least, most, rule = (-np.inf, edge, "at_most") if below else (edge, np.inf, "at_least")
    reason = f"{reason}; rule: at {rule.removeprefix('at_')} {edge:g}"
    return judge_interval(claim, of, least, most, reason, rule, reading)


def by_rhat(claim: Claim, of: Estimate, reading: str = "", note: str = "") -> Verdict:
    """Judge an R-hat between restarts.

    Reproduced where it and the published one are both compatible with mixing (`MIXED`), or neither is and they are
    within the claim's tolerance, a factor, of each other. `of`: mean over the chains of a restart; `note` goes with the
    reason.
    """
    if not np.isfinite(of.interval[0]):
        return no_run(claim, "undefined in all chains", "mixing", reading)
    if claim.value <= MIXED:
        least, most, rule = -np.inf, MIXED, f"published at most {MIXED:g}, so must ours be"
    else:
        least, most = max(MIXED, claim.value / _tolerance(claim)), claim.value * _tolerance(claim)
        rule = f"above {MIXED:g} and within a factor {_tolerance(claim):g}"
    return judge_interval(claim, of, least, most, f"rule: {rule}{note}", "mixing", reading)


def by_sign(
    claim: Claim,
    differences: Mapping[str, ArrayLike],
    reading: str = "",
    summary: intervals.Interval = intervals.mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Judge "more than": reproduced when every paired difference is positive.

    `differences`: one per sample, by what they are. Each is positive if its interval lies above 0; the claim is not
    reproduced if one of the intervals lies below. Others as for `by_majority`.
    """
    estimates = {what: estimate(x, summary, unit, units, what) for what, x in differences.items()}
    judged = [judge_interval(claim, each, 0.0, np.inf, "", "positive", reading) for each in estimates.values()]
    open_ones = [v for v in judged if v.verdict == UNDECIDED]
    verdict = next((v for v in judged if v.verdict == NOT_REPRODUCED), open_ones[0] if open_ones else judged[0])
    needed = None
    if verdict.verdict == UNDECIDED and all(v.needed is not None for v in open_ones):
        needed = max(v.needed for v in open_ones if v.needed is not None)
    parts = ["{} {:+.3f} [{:+.3f}, {:+.3f}]".format(what, *each.interval) for what, each in estimates.items()]
    n, (ours, low, high) = min(each.n for each in estimates.values()), min(each.interval for each in estimates.values())
    clock = f"; {BY_CLOCK}" if claim.rule == CLOCK else ""
    reason = f"{'; '.join(parts)}: paired over {n} {unit}{clock}"
    kept = tuple(one for each in estimates.values() for one in each.samples)
    return replace(verdict, ours=ours, low=low, high=high, n=n, reason=reason, needed=needed, samples=kept)


def by_noise(
    claim: Claim,
    restarts: NDArray[np.float64],
    exact: NDArray[np.float64],
    away: float,
    noise: float,
    reading: str = "",
) -> Verdict:
    """Judge "visits every state as often as it should".

    Reproduced where frequencies are `away`, in total variation, at most the claim's tolerance times the `noise` that
    an exact sampler has. `restarts`: frequencies ``[restarts, states]``, `exact`: probabilities.
    """
    verdict, n = REPRODUCED if away <= claim.tolerance * noise else NOT_REPRODUCED, len(restarts)
    visible = "visually the same" if away < 0.02 else "visibly different"
    reason = (
        f"total variation {away:.4f}, {away / noise:.1f} times the {noise:.4f} expected of an exact sampler of "
        f"this length (rule: at most {claim.tolerance:g} times); {visible} in a plot"
    )
    names = ["exact", *range(1, n + 1)]
    kept = tuple(
        Samples.build(f"frequency of partition {k + 1}", "noise", names, [exact[k], *each])
        for k, each in enumerate(restarts.T)
    )
    return Verdict(claim, reading, away, np.nan, np.nan, n, verdict, reason, "noise", "restarts", samples=kept)


def exactly(claim: Claim, value: float, reason: str = "", reading: str = "") -> Verdict:
    """Judge an exact value: reproduced where it agrees within the tolerance, the rounding of what was printed."""
    same = abs(value - claim.value) <= _tolerance(claim)
    text = reason or (f"exact; agrees to {_tolerance(claim):g}" if same else "exact")
    if not same and claim.statement:
        text = f"{text}; {claim.statement}" if reason else claim.statement
    verdict = REPRODUCED if same else NOT_REPRODUCED
    kept = (Samples.build("exact", "", [""], [value]),)
    return Verdict(claim, reading, value, np.nan, np.nan, 0, verdict, text, "exact", "", samples=kept)


def holds(claim: Claim, value: float, true: bool, reason: str, reading: str = "") -> Verdict:
    """Judge a claim in words from exact numbers, given in the reason."""
    verdict = REPRODUCED if true else NOT_REPRODUCED
    kept = (Samples.build("holds", "", [""], [true]), Samples.build("exact", "", [""], [value]))
    return Verdict(claim, reading, value, np.nan, np.nan, 0, verdict, reason, "holds", "", samples=kept)


def untestable(
    claim: Claim,
    samples: ArrayLike,
    reason: str,
    reading: str = "",
    summary: intervals.Interval = intervals.mean_interval,
    unit: str = "data sets",
    units: ArrayLike | None = None,
) -> Verdict:
    """Give the measured values of a claim that cannot be judged here, and say why."""
    estimated = estimate(samples, summary, unit, units)
    return Verdict(
        claim, reading, *estimated.interval, estimated.n, NOT_TESTABLE, reason, "none", unit, samples=estimated.samples
    )
