"""Make the runs of edition 6 and keep its verdicts: docs/reproduction/edition-6.

docs/reproduction-edition-6.yaml has the rules, the seeds and the numbers of units. It was committed before any of its
runs; what was known then stands at its head.

    python scripts/judge_edition_6.py --out results [--workers N] [--runs-only | --stored]

Runs are made in the order of the file; those that are stored are not made again. `--runs-only` judges nothing;
`--stored` makes no run, and judges the entries whose runs are all stored.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import judge_edition_5
import numpy as np
import pandas as pd
import yaml
from editions.judging import DOCS, KEPT, kept_verdicts, list_jobs, make_runs, sources, stored_runs
from editions.kept import kept_folder
from editions.supplement import keep_supplement
from judge_edition_3 import ADDED
from judge_edition_5 import judge, repeat
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots.races import pick
from splitmerge_cli.diagnostics.intervals import excess_interval, leave_one_out, mean_interval
from splitmerge_cli.diagnostics.mixing import rhat_classic
from splitmerge_cli.diagnostics.restarts import between_restarts, late
from splitmerge_cli.papers.arm import runs as arm
from splitmerge_cli.papers.arm import tables
from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.sdds.running_means import share_accepted
from splitmerge_cli.papers.verdicts import (
    NOT_TESTABLE,
    UNDECIDED,
    Verdict,
    by_edge,
    by_rhat,
    by_sign,
    estimate,
    jackknife,
)
from splitmerge_cli.runs.store.read import Run

RULES = DOCS / "reproduction-edition-6.yaml"
EDITION = 6
MERGES = (("rm", "merge"), ("ss", "smart_merge"))
"""Samplers whose merges are compared, and what their merges are called."""


def read_cuts(figure: str) -> dict[tuple[str, str, int], float]:
    """Iterations at which edition 2 cut a sampler, since it then had cost as much as ARM; by level, sampler and ARM's
    iterations."""
    table = pd.read_csv(KEPT / "edition-2" / f"{figure}.csv").query("start == 'random'")
    return table.set_index(["level", "sampler", "arm_iterations"])["iterations"].to_dict()


def draws_of(cell: arm.Cell, cuts: Mapping[tuple[str, str, int], float], length: int) -> NDArray[np.float64]:
    """Second halves of the log joint in a cell, ``[restarts, S, draws]``, chains cut where edition 2 cut them."""
    cut = cuts[cell.level, cell.sampler, length]
    assert cut <= cell.length, (cell.level, cell.sampler, cut)
    return late(cell.traces(cut))


def judge_rhat(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """R-hat of Table 3 or 4, of a sampler whose chains share nothing, over four restarts."""
    cell = arm.Cells(runs).find(claim.data, "random", claim.sampler)
    assert cell is not None and claim.sampler in arm.INDEPENDENT and len(cell.runs) == tables.RESTARTS
    draws = draws_of(cell, read_cuts(claim.id), int(claim.metric.removeprefix("rhat_T")))
    return by_rhat(claim, arm.estimate_rhat(draws, shared=False), claim.reading)


def judge_convergence(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """R-hat of Figure 5: between restarts, or, of Gibbs, between the chains of one run, which share nothing."""
    traces = [arm.trace_of(run) for run in pick(runs, sampler=claim.sampler) if arm.network_of(run) == claim.data]
    if len(traces) > 1:
        return arm._judge_rhat(claim, traces)
    rows = traces[0].log_joint
    draws = rows[:, rows.shape[1] // 2 :]
    whole, without = leave_one_out(lambda kept: rhat_classic(draws[kept]), len(draws))
    estimated = jackknife(whole, without, excess_interval, "chains")
    return by_edge(claim, estimated, f"R-hat between {len(draws)} chains", claim.reading)


def judge_sarm(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Log R-hat of sARM minus that of ARM, mean over the networks, by restart."""
    cells, cuts = arm.Cells(runs), read_cuts(claim.id)
    pairs = []
    for level in arm.levels(runs):
        found = [cells.find(level, "random", sampler) for sampler in ("sarm", "arm")]
        pairs.append([draws_of(cell, cuts, arm.LENGTH) for cell in found if cell is not None])
    restarts = min(len(draws) for pair in pairs for draws in pair)

    def gain(kept: NDArray[np.int64]) -> float:
        logs = [[np.log(between_restarts(draws[kept]).mean) for draws in pair] for pair in pairs]
        return float(np.mean([other - own for other, own in logs]))

    estimated = jackknife(*leave_one_out(gain, restarts), mean_interval, "restarts")
    reason = f"log R-hat of sARM minus that of ARM, mean over {len(pairs)} networks"
    return by_edge(claim, estimated, reason, claim.reading)


def judge_launch(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Log R-hat of SM minus that of SM whose launch state begins with two items, mean over the networks, by chain
    number."""
    cuts = read_cuts(claim.id)
    by_launch = [arm.Cells(pick(runs, sampler__launch=name)) for name in ("coins", "anchors")]
    gains = []
    for level in arm.levels(runs):
        cells = [each.find(level, "random", "sm") for each in by_launch]
        first, second = (np.log(between_restarts(draws_of(cell, cuts, arm.LENGTH)).classic) for cell in cells if cell)
        gains.append(first - second)
    estimated = estimate(np.mean(gains, axis=0), mean_interval, "chain numbers")
    reason = f"log R-hat of SM minus that with launch=anchors, mean over {len(gains)} networks"
    return by_edge(claim, estimated, reason, claim.reading)


def judge_usair(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """The acceptance of ARM on a network over that on USAir."""
    cells = arm.Cells(runs)
    found = [cells.find(level, "random", "arm") for level in (claim.data, "usair scale=0.8")]
    own, usair = (cell.acceptance() for cell in found if cell is not None)
    return tables._judge_times(claim, own, usair, claim.reading)


def judge_splits(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Share of merges that RM accepts minus that of SS, by data set."""
    rm, ss = (share_accepted(pick(runs, sampler=name), move) for name, move in MERGES)
    return by_sign(claim, {"merges accepted, RM - SS": rm - ss}, claim.reading)


SENTENCES: Mapping[str, Callable[[Claim, Sequence[Run]], Verdict]] = ADDED | {
    "rhat_T1000": judge_rhat,
    "rhat_T2000": judge_rhat,
    "does_not_converge": judge_convergence,
    "at_most_sarm": judge_sarm,
    "empty_launch_no_better": judge_launch,
    "times_usair": judge_usair,
    "random_splits_encourage_merges": judge_splits,
}
"""Judges of single claims, by metric."""


def classify(verdict: Verdict) -> Verdict:
    """Return an undecided verdict with its class; a claim that no run can decide is not testable, as its row says."""
    if verdict.verdict == UNDECIDED and verdict.claim.rule == "none":
        return replace(verdict, verdict=NOT_TESTABLE, rule="none", reason=verdict.claim.because)
    return judge_edition_5.classify(verdict)


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
        numbers, command = (EDITION, listed["supplements"]), "python scripts/judge_edition_6.py"
        keep_supplement(KEPT, numbers, figure, verdicts, runs, RULES, figure in done, folders[figure], command)
        done.add(figure)
        for v in verdicts:
            known[figure, v.claim.data, v.claim.sampler, v.claim.metric] = v
            print(f"  {figure}: {v.claim.data}, {v.claim.sampler}, {v.claim.metric}: {v.verdict}: {v.explanation}")

    def load_kept(figure: str) -> list[Verdict]:
        return kept_verdicts(figure, kept_folder(KEPT, EDITION) if figure in done else folders[figure])

    for number, entry in enumerate(listed["judged"], start=1):
        figure = entry["figure"]
        runs = stored_runs(entry["runs"], options.out) if options.stored else []
        if not options.stored:
            runs = make_runs(entry["runs"], options.out, options.workers)
        whole = len(runs) == len(list_jobs(entry["runs"], options.out))
        print(f"{number}: {figure}: {len(runs)} runs{'' if whole else ', not all: not judged'}", flush=True)
        if whole and not options.runs_only:
            keep(figure, judge(entry, listed, load_kept(figure), runs, EDITION, SENTENCES), runs)
    if options.runs_only:
        return
    for figure in folders:
        if repeated := repeat(figure, known, EDITION):
            keep(figure, repeated, [])
        if changed := [now for before in load_kept(figure) if (now := classify(before)) is not before]:
            keep(figure, changed, [])


if __name__ == "__main__":
    main()
