"""Make the runs of edition 5 and keep its verdicts: docs/reproduction/edition-5.

docs/reproduction-edition-5.yaml has the rules, the seeds and the numbers of units. It was committed before any of its
runs; what was known then stands at its head.

    python scripts/judge_edition_5.py --out results [--workers N] [--runs-only | --stored]

Runs are made in the order of the file; those that are stored are not made again. `--runs-only` judges nothing;
`--stored` makes no run, and judges the entries whose runs are all stored.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml
from correct_verdicts import correct, strip_need
from editions.added import added_claims, added_rows
from editions.judging import DOCS, KEPT, fits, kept_verdicts, list_jobs, make_runs, sources, stored_runs
from editions.kept import kept_folder
from editions.sentences import SENTENCES
from editions.supplement import keep_supplement
from judge_edition_3 import ADDED, JUDGES, LATER_ROWS
from measure_sensitivity import JUDGES as SMALLER_DESIGNS
from measure_sensitivity import replace_names

from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.diagnostics.intervals import MOST_UNITS
from splitmerge_cli.diagnostics.mixing import rhat_classic
from splitmerge_cli.diagnostics.restarts import late, mean_and_spread
from splitmerge_cli.papers.arm.runs import INDEPENDENT, Cells
from splitmerge_cli.papers.claims import PATTERNS, Claim, shared_numbers
from splitmerge_cli.papers.declaration import paper_of
from splitmerge_cli.papers.smag import counts
from splitmerge_cli.papers.verdicts import (
    AT_EDGE,
    CLOCK,
    MIXED,
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    UNDECIDED,
    Samples,
    Verdict,
    no_run,
)
from splitmerge_cli.runs.store.read import Run

RULES = DOCS / "reproduction-edition-5.yaml"
BY_DESIGN = "not testable by this design"
EDITION = 5
COUNTED = {
    "papers.smag.counts.FORMS": {"coin": "exact"},
    "papers.smag.counts.STARTS": {"one_cluster": "from one topic"},
}
"""The form and the start of Rana et al. that count; no other is run."""
JUDGED: Mapping[str, Callable[[Sequence[Run]], Sequence[Verdict]]] = {
    **JUDGES,
    "smag-fig3": lambda runs: counts.judge(runs, ["groups4"]),
    "smag-fig4": lambda runs: counts._verdicts(counts.States(runs), ["groups4"]),
    "triadic-table1": SMALLER_DESIGNS["triadic-table1"],
}


def judge(
    entry: Mapping[str, Any],
    listed: Mapping[str, Any],
    before: Sequence[Verdict],
    runs: Sequence[Run],
    edition: int = EDITION,
    sentences: Mapping[str, Callable[[Claim, Sequence[Run]], Verdict]] = ADDED,
) -> list[Verdict]:
    """Return verdicts on the claims of an entry that are undecided in `before`, by intervals at the file's level.

    `sentences`: judges of single claims, by metric; other claims are judged with their figure.
    """
    wanted = [v for v in before if v.is_counted and v.verdict == UNDECIDED and fits(_row(v), entry["claims"])]
    patch = {"diagnostics.intervals.TAIL": (1 - listed["level"]) / 2, "papers.verdicts.LEAST_UNITS": listed["least"]}
    with replace_names(patch | COUNTED), use_style():
        added = [sentences[v.claim.metric](v.claim, runs) for v in wanted if v.claim.metric in sentences]
        figures = JUDGED[entry["figure"]](runs) if len(added) < len(wanted) else []
        plt.close("all")
    found = {_key(v): v for v in [*figures, *added] if v.is_counted and v.n}
    of_level = f"{listed['level']:.0%} interval".replace("%", " %")
    return [
        replace(now, reason=f"{now.reason}; {of_level}; seeds of edition {edition}", samples=_name_level(now, listed))
        for now in (found[_key(v)] for v in wanted if _key(v) in found)
    ]


def _row(verdict: Verdict) -> dict[str, str]:
    """The columns that the patterns of an entry are compared with."""
    return {"data": verdict.claim.data, "sampler": verdict.claim.sampler, "metric": verdict.claim.metric}


def _key(verdict: Verdict) -> tuple[str, ...]:
    """Data, sampler and metric of a verdict's claim."""
    return tuple(_row(verdict).values())


def _name_level(verdict: Verdict, listed: Mapping[str, Any]) -> tuple[Samples, ...]:
    """The samples of a verdict, whose interval is named with its level."""
    level = f", {listed['level']:.0%}".replace("%", " %")
    return tuple(replace(s, interval=s.interval + level if s.interval else "") for s in verdict.samples)


# R-hat over sets of four restarts


def judge_fours(entry: Mapping[str, Any], rule: Mapping[str, Any], runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts on R-hat, of samplers whose chains share their history, by sets of as many restarts as the
    paper has.

    Judged is what edition 3 judged from more. Chains of ARM are cut at the paper's number of iterations, and R-hat over
    all restarts must be that of edition 3. Those of sARM and bSM end where they have cost as much as ARM; edition 3
    measured that cost anew, and here they are cut where edition 2 cut them, so that no clock decides.
    """
    figure, cells, verdicts = entry["figure"], Cells(runs), []
    table = pd.read_csv(KEPT / "edition-2" / f"{figure}.csv").query("start == 'random'")
    cut_by_cell = table.set_index(["level", "sampler", "arm_iterations"])["iterations"].to_dict()
    for kept in kept_verdicts(figure, KEPT / "edition-3"):
        claim = kept.claim
        if not kept.is_counted or kept.n <= rule["restarts"] or not fits(_row(kept), entry["claims"]):
            continue
        cell = cells.find(claim.data, "random", claim.sampler)
        if cell is None:
            continue
        assert claim.sampler not in INDEPENDENT
        length = int(claim.metric.removeprefix("rhat_T"))
        draws = late(cell.traces(cut_by_cell[claim.data, claim.sampler, length])[: kept.n])
        if claim.sampler == "arm":
            assert np.isclose(_mean_rhat(draws), kept.ours, rtol=1e-9), claim
        sets = list(combinations(range(kept.n), rule["restarts"]))
        values = [_mean_rhat(draws[list(chosen)]) for chosen in sets]
        verdicts.append(place_share(kept, [" ".join(str(k + 1) for k in chosen) for chosen in sets], values, rule))
    return verdicts


def _mean_rhat(draws: np.ndarray) -> float:
    """R-hat between restarts, mean over the chain numbers; ``[restarts, S, draws]``."""
    return mean_and_spread([rhat_classic(draws[:, s]) for s in range(draws.shape[1])])[0]


def place_share(kept: Verdict, names: Sequence[str], values: Sequence[float], rule: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a printed R-hat from those of all sets of restarts: whether enough of them are in the range
    that rule `mixing` gives for what was printed."""
    claim, x = kept.claim, np.asarray(values)
    least, most = -np.inf, MIXED
    if claim.value > MIXED:
        least, most = max(MIXED, claim.value / claim.tolerance), claim.value * claim.tolerance
    share = float(((least <= x) & (x <= most)).mean())
    verdict = REPRODUCED if share >= rule["share"] else NOT_REPRODUCED
    low, centre, high = np.quantile(x, [0.025, 0.5, 0.975])
    within = f"at most {most:g}" if np.isinf(least) else f"from {least:g} to {most:g}"
    reason = (
        f"R-hat of four restarts is {within} in {share:.1%} of the {len(x)} sets of four of {kept.n}, as the paper "
        f"prints one such R-hat; rule: in at least {rule['share']:.0%}; ours: median of the sets, and where 95 % of "
        "them lie; restarts of edition 3"
    )
    samples = (Samples.build("R-hat of four restarts", "sets of four", names, x),)
    numbers = {"ours": float(centre), "low": float(low), "high": float(high)}
    return replace(kept, verdict=verdict, reason=reason, rule="mixing", needed=None, samples=samples, **numbers)


def repeat(figure: str, known: Mapping[tuple[str, ...], Verdict], edition: int = EDITION) -> list[Verdict]:
    """Return the verdicts of a figure that repeat one which was judged, as shared.csv names them, metric included."""
    first_of = shared_numbers([figure])
    before = kept_verdicts(figure, sources(KEPT, edition - 1)[figure])
    return [
        replace(known[first], claim=v.claim)
        for v in before
        if v.is_counted and (first := first_of.get((figure, *_key(v)), ())) in known and first[-1] == v.claim.metric
    ]


def judge_sentences(figure: str, acceptance: Sequence[Run]) -> list[Verdict]:
    """Return verdicts on the claims of a figure that were added for edition 5; `acceptance`: runs of one of them."""
    paper = paper_of(figure)
    rows = added_rows(paper).to_dict("records") if paper is not None else []
    source_by_claim = {
        tuple(row[name] for name in PATTERNS): row["source"] for row in rows if row["added"] == LATER_ROWS
    }
    verdicts = []
    for claim in added_claims(figure):
        source = source_by_claim.get((claim.id, claim.data, claim.sampler, claim.metric))
        if source is None:
            continue
        runs = acceptance if claim.metric == "accepts_more_with_chains" else []
        if source.startswith("needs runs") and not runs:
            verdicts.append(no_run(claim, f"{source}; added for edition 5"))
        else:
            verdict = SENTENCES[claim.metric](claim, runs)
            origin = "runs of edition 5" if runs else source
            verdicts.append(replace(verdict, reason=f"{verdict.reason}; added for edition 5, from {origin}"))
    return verdicts


# classes of what remains undecided


def classify(verdict: Verdict) -> Verdict:
    """Return an undecided verdict with its class: no number of units decides it, or there are no more units; and what
    the clock decides as not testable, where its rule was changed since edition 4."""
    if verdict.claim.rule == CLOCK and verdict.verdict != NOT_TESTABLE:
        return correct(verdict, {})
    if not verdict.is_counted or verdict.verdict != UNDECIDED or verdict.needed is None:
        return verdict
    if np.isinf(verdict.needed):
        return replace(verdict, verdict=NOT_TESTABLE, reason=f"{BY_DESIGN}: {strip_need(verdict.reason)}")
    return replace(verdict, verdict=AT_EDGE) if verdict.needed > MOST_UNITS else verdict


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of the results")
    parser.add_argument("--workers", type=int, default=1, help="runs that are made at the same time; one by default")
    parser.add_argument("--runs-only", action="store_true", help="make the runs and judge nothing")
    parser.add_argument("--stored", action="store_true", help="make no run; judge entries whose runs are all stored")
    options = parser.parse_args()
    listed = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    folders, known = sources(KEPT, EDITION - 1), dict[tuple[str, ...], Verdict]()
    done = set[str]()

    def keep(figure: str, verdicts: Sequence[Verdict], runs: Sequence[Run]) -> None:
        numbers, source = (EDITION, listed["supplements"]), folders[figure]
        command = "python scripts/judge_edition_5.py"
        keep_supplement(KEPT, numbers, figure, verdicts, runs, RULES, figure in done, source, command)
        done.add(figure)
        for v in verdicts:
            known[(figure, *_key(v))] = v
            print(f"  {figure}: {v.claim.data}, {v.claim.sampler}, {v.claim.metric}: {v.verdict}: {v.explanation}")

    for number, entry in enumerate(listed["judged"], start=1):
        figure = entry["figure"]
        runs = stored_runs(entry["runs"], options.out) if options.stored else []
        if not options.stored:
            runs = make_runs(entry["runs"], options.out, options.workers)
        whole = len(runs) == len(list_jobs(entry["runs"], options.out))
        print(f"{number}: {figure}: {len(runs)} runs{'' if whole else ', not all: not judged'}", flush=True)
        if options.runs_only or not whole:
            continue
        fours = entry.get("fours", False)
        before = kept_verdicts(figure, folders[figure])
        verdicts = judge_fours(entry, listed["fours"], runs) if fours else judge(entry, listed, before, runs)
        keep(figure, verdicts, runs)
    if options.runs_only:
        return
    acceptance = listed["judged"][-1]["runs"]
    for figure in folders:
        if added := judge_sentences(figure, stored_runs(acceptance, options.out)):
            keep(figure, added, [])
    for figure in folders:
        if repeated := repeat(figure, known):
            keep(figure, repeated, [])
    for figure, folder in folders.items():
        pairs = [
            (v, classify(v)) for v in kept_verdicts(figure, kept_folder(KEPT, EDITION) if figure in done else folder)
        ]
        if changed := [now for before, now in pairs if now is not before]:
            keep(figure, changed, [])


if __name__ == "__main__":
    main()
