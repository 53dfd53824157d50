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
import pandas as pd
import yaml
from editions.kept import kept_folder, read_index
from editions.supplement import keep_supplement
from judge_edition_3 import judge_angles

from splitmerge_cli.diagnostics.intervals import units_for_share
from splitmerge_cli.papers.claims import Claim, added_claims, published_claims
from splitmerge_cli.papers.triadic.examples import judge_asymmetry
from splitmerge_cli.papers.verdict_tables import KEY, read_claims
from splitmerge_cli.papers.verdicts import (
    BY_CLOCK,
    CLOCK,
    FINITE,
    LEAST_UNITS,
    NOT_TESTABLE,
    UNDECIDED,
    Samples,
    Verdict,
    judge_share,
)

DOCS = Path(__file__).resolve().parents[1] / "docs"
FILE = DOCS / "reproduction-corrections.yaml"
KEPT = DOCS / "reproduction"
EDITION = 4
SHARE = re.compile(r" in [\d.]+ of (\d+) ([a-z ]+) \(share in \[[^]]*\]\)")


def sources(root: Path = KEPT) -> dict[str, Path]:
    """The folder with the verdicts of each figure before they were corrected, by id."""
    folders = [kept_folder(root, number) for number in (2, 3)]
    return {name: folder for folder in folders for name in read_index(folder)["figures"]}


def list_units(folder: Path, name: str) -> dict[tuple[str, ...], pd.DataFrame]:
    """The kept units of a figure's verdicts, by the columns `KEY`."""
    units = pd.read_csv(next(folder.glob(f"{name}-units.csv*")), dtype=str, keep_default_na=False)
    units["value"] = units["value"].replace("", "nan").astype(float)
    return {tuple(key): rows for key, rows in units.groupby(list(KEY), sort=False)}


def find_samples(units: pd.DataFrame) -> tuple[Samples, ...]:
    """The samples that rows of units are."""
    return tuple(
        Samples.build(str(quantity), rows["interval"].iloc[0], rows["unit"], rows["value"])
        for quantity, rows in units.groupby("quantity", sort=False)
    )


def kept_verdict(row: Mapping[str, Any], claim: Claim, units: pd.DataFrame | None) -> Verdict:
    """The verdict that a row of ID-claims.csv tells of."""
    numbers = [float(row[name]) for name in ("ours", "low", "high")]
    samples = () if units is None else find_samples(units)
    words = [str(row[name]) for name in ("verdict", "reason", "rule", "of")]
    needed = None if np.isnan(row["needed"]) else float(row["needed"])
    return Verdict(claim, row["reading"], *numbers, int(row["n"]), *words, needed, row["on"], samples)


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
    return _told(replace(kept, verdict=verdict, needed=needed, samples=tuple(samples)), told, why)


def _told(verdict: Verdict, reason: str, why: list[str]) -> Verdict:
    """A verdict with its reason, and why it was corrected."""
    return replace(verdict, reason=f"{reason}; corrected: {'; '.join(why)}")


def corrected(name: str, folder: Path, corrections: Mapping[str, Any]) -> Iterator[tuple[Verdict, Verdict]]:
    """Yield every verdict of a figure that changes, as it was kept and as it is now."""
    units = list_units(folder, name)
    claims = {(c.data, c.sampler, c.metric): c for c in [*added_claims(name), *published_claims(name)]}
    for row in read_claims(folder / f"{name}-claims.csv", "").to_dict("records"):
        claim = claims[row["data"], row["sampler"], row["metric"]]
        before = kept_verdict(row, claim, units.get(tuple(row[key] for key in KEY)))
        if (now := correct(before, corrections)) is not before:
            yield before, now


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    listed = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for name, folder in sources().items():
        pairs = list(corrected(name, folder, listed["corrections"]))
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
