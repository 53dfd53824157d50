"""Judge the kept verdicts again from their units, by the rules as they are now: docs/reproduction/edition-4.

    python scripts/correct_verdicts.py [--check]

docs/reproduction-corrections.yaml says what was wrong with the rules of editions 2 and 3. Every verdict that the
corrected rules change is kept, with the reason, whichever way it goes; no run is made. `--check` writes nothing and
prints what differs.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from editions.judging import DOCS, KEPT, kept_verdicts, sources
from editions.supplement import keep_supplement
from judge_edition_3 import judge_angles

from splitmerge_cli.diagnostics.intervals import units_for_share
from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.triadic.runs import judge_asymmetry
from splitmerge_cli.papers.verdicts import (
    BY_CLOCK,
    CLOCK,
    FINITE,
    LEAST_UNITS,
    NOT_TESTABLE,
    UNDECIDED,
    Verdict,
    judge_share,
)

FILE = DOCS / "reproduction-corrections.yaml"
EDITION = 4
SHARE = re.compile(r" in [\d.]+ of (\d+) ([a-z ]+) \(share in \[[^]]*\]\)")


def correct(kept: Verdict, corrections: Mapping[str, Any]) -> Verdict:
    """The verdict as the present rules have it; the same where nothing changes."""
    if kept.claim.rule == "none":
        return kept
    if kept.claim.rule == CLOCK:
        reason = f"{strip_need(kept.reason)}; corrected from {kept.verdict}: {BY_CLOCK}"
        return replace(kept, verdict=NOT_TESTABLE, rule=CLOCK, needed=None, reason=reason)
    for metric, judge in REREAD.items():
        if kept.claim.metric == metric:
            reason = f"{(now := judge(kept.claim)).reason}; corrected: {corrections['readings']['because']}"
            return replace(now, reason=reason)
    return correct_share(kept, corrections) if kept.rule == "most" else kept


REREAD: Mapping[str, Callable[[Claim], Verdict]] = {
    "less_asymmetry_than_dyadic": judge_asymmetry,
    "line_not_through_points": lambda claim: judge_angles(claim, ()),
}
"""Judges of claims that are read otherwise now, from what is exact or was kept, by metric."""


def strip_need(reason: str) -> str:
    """A reason without what would decide the claim."""
    return re.sub(
        r"; (some|more than) [\d,]+ [\w ]+ would decide it$|; cannot be decided by this design .*$", "", reason
    )


def correct_share(kept: Verdict, corrections: Mapping[str, Any]) -> Verdict:
    """Judge the share of units that show it: by the means of units of several chains, and from enough units."""
    by_quantity = {samples.quantity: samples for samples in kept.samples}
    if "shows it" not in by_quantity:
        return kept
    shows = by_quantity["shows it"]
    scores, why = np.array(shows.values), []
    for one in corrections["ties"]["means"]:
        if fnmatchcase(kept.claim.id, one["id"]) and fnmatchcase(kept.claim.metric, one["metric"]):
            values = by_quantity["value"]
            mean = dict(zip(values.units, values.values, strict=True))
            scores = np.heaviside(one.get("sign", 1) * (np.array([mean[u] for u in shows.units]) - one["above"]), 0.5)
    n, k = len(scores), float(scores.sum())
    verdict, low, high = judge_share(k, n)
    withheld = next((q for q in by_quantity if q == f"cannot be {verdict}"), None)
    verdict = UNDECIDED if withheld else verdict
    why += [corrections["ties"]["because"]] if k != sum(shows.values) else []
    why += [corrections["few"]["because"]] if n < LEAST_UNITS and kept.verdict != verdict else []
    if not why:
        return kept
    told = SHARE.sub(
        lambda match: f" in {k:g} of {n} {match[2]} (share in [{low:.2f}, {high:.2f}])", strip_need(kept.reason)
    )
    needed = units_for_share(k, n, LEAST_UNITS) if verdict == UNDECIDED else None
    if needed is not None and needed > FINITE.get(kept.unit, np.inf):
        needed = np.inf
    samples = [replace(s, values=tuple(scores)) if s is shows else s for s in kept.samples]
    return _add_reason(replace(kept, verdict=verdict, needed=needed, samples=tuple(samples)), told, why)


def _add_reason(verdict: Verdict, reason: str, why: list[str]) -> Verdict:
    """Return a verdict with its reason, and why it was corrected."""
    return replace(verdict, reason=f"{reason}; corrected: {'; '.join(why)}")


def find_changes(name: str, folder: Path, corrections: Mapping[str, Any]) -> Iterator[tuple[Verdict, Verdict]]:
    """Yield every verdict of a figure that changes, as it was kept and as it is now."""
    for before in kept_verdicts(name, folder):
        if (now := correct(before, corrections)) is not before:
            yield before, now


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    listed = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for name, folder in sources().items():
        pairs = list(find_changes(name, folder, listed["corrections"]))
        for before, now in pairs:
            if now.is_counted:
                claim = now.claim
                print(f"{name}: {claim.data}, {claim.sampler}, {claim.metric}: {before.verdict} -> {now.verdict}")
                print(f"    {now.explanation}")
        if pairs and not check:
            numbers = (EDITION, listed["supplements"])
            found = [now for _, now in pairs]
            keep_supplement(
                KEPT, numbers, name, found, [], FILE, source=folder, command="python scripts/correct_verdicts.py"
            )
    return 0


if __name__ == "__main__":
    main()
