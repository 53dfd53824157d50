"""Make the runs of edition 3 and keep its verdicts: docs/reproduction/edition-3.

docs/reproduction-edition-3.yaml names claims that edition 2 left undecided and the runs, from other seeds, that judge
them again. Runs that are stored are not made again; none of them counts seconds.

    python scripts/judge_edition_3.py --out results [--figure ID] [--runs-only]
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import yaml
from measure_sensitivity import judge_sdds, replace_names

from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.papers.arm import acceptance, networks, tables
from splitmerge_cli.papers.arm.runs import LENGTH, Cells
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.experiments import out_override
from splitmerge_cli.papers.smag import counts
from splitmerge_cli.papers.supplement import keep_supplement
from splitmerge_cli.papers.verdict_tables import read_claims
from splitmerge_cli.papers.verdicts import UNDECIDED, Verdict
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import open_run
from splitmerge_cli.runs.sweeps.sweep import expand, read_jobs, run_jobs

DOCS = Path(__file__).resolve().parents[1] / "docs"
RULES = DOCS / "reproduction-edition-3.yaml"
KEPT = DOCS / "reproduction"


def judge_table3(runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on R-hat of ARM in Table 3."""
    return tables.Table(runs, ("arm",), (1.0, 0.5)).judge(published_claims("arm-table3"), tables.FULL3)


def judge_table4(runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on Table 4, of the samplers that were run."""
    table, claims = tables.Table(runs, tables.TABLE4, (1.0,)), published_claims("arm-table4")
    verdicts = table.judge(claims, LENGTH)
    for claim in (claim for claim in claims if claim.data == "networks"):
        verdicts += table.compare_over_restarts(claim, claim.metric.removeprefix("at_most_"))
    return verdicts


def judge_table5(runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on the shares accepted, except the largest over the networks, of which not all were run."""
    rates = {(cell.level, cell.start, cell.sampler): 100 * cell.acceptance() for cell in Cells(runs).cells.values()}
    claims = [claim for claim in published_claims("arm-table5") if claim.data != "networks"]
    return acceptance._table5_verdicts(runs, rates, claims)


JUDGES: Mapping[str, Callable[[Sequence[Run]], Sequence[Verdict]]] = {
    "arm-table3": judge_table3,
    "arm-table4": judge_table4,
    "arm-table5": judge_table5,
    "arm-fig6a": lambda runs: networks.fig6a(runs).verdicts,
    "sdds-fig3": lambda runs: judge_sdds("sdds-fig3", runs),
    "sdds-fig4": lambda runs: judge_sdds("sdds-fig4", runs),
    "smag-fig3": lambda runs: counts._verdicts(runs, ["groups4"]),
}


def list_jobs(grids: Sequence[Mapping[str, Any]], out: Path) -> list[tuple[str, ...]]:
    """Return the overrides of every run of the grids, each once."""
    jobs = []
    for grid in grids:
        named = [f"{key}={value}" for key, value in grid.items() if key != "of"]
        jobs += [(f"experiment={grid['of']}", *job, out_override(out)) for job in expand(named)]
    return list(dict.fromkeys(jobs))


def make_runs(grids: Sequence[Mapping[str, Any]], out: Path, workers: int) -> list[Run]:
    """Return the runs of the grids; those that are missing are made."""
    specifications, rejected = read_jobs(list_jobs(grids, out))
    outcomes = rejected or run_jobs(specifications, workers, "none")
    if bad := [outcome for outcome in outcomes if not outcome.complete]:
        raise SystemExit(f"{' '.join(bad[0].overrides)}: {bad[0].status}: {bad[0].error}")
    return [open_run(outcome.path) for outcome in outcomes if outcome.path]


def undecided(figure: str, patterns: Sequence[Mapping[str, str]], edition: int) -> pd.DataFrame:
    """Return the counted verdicts of an edition that are undecided and match one of the patterns."""
    rows = read_claims(KEPT / f"edition-{edition}" / f"{figure}-claims.csv", "")
    rows = rows[rows["counted"] & (rows["verdict"] == UNDECIDED)]
    fits = [
        any(all(fnmatchcase(row[key], pattern) for key, pattern in one.items()) for one in patterns)
        for row in rows.to_dict("records")
    ]
    return rows[fits]


def judge_again(entry: Mapping[str, Any], edition: int, runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts that replace those of an edition."""
    figure = entry["figure"]
    wanted = {
        tuple(row) for row in undecided(figure, entry["claims"], edition)[["data", "sampler", "metric"]].to_numpy()
    }
    with replace_names(entry.get("patch", {})), use_style():
        verdicts = JUDGES[figure](runs)
        plt.close("all")
    chosen = [v for v in verdicts if v.is_counted and (v.claim.data, v.claim.sampler, v.claim.metric) in wanted]
    # without a run the verdict of the edition stays
    return [v for v in chosen if v.n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of the results")
    parser.add_argument("--workers", type=int, default=1, help="runs that are made at the same time; one by default")
    parser.add_argument("--figure", action="append", help="these figures alone")
    parser.add_argument("--runs-only", action="store_true", help="make the runs and judge nothing")
    options = parser.parse_args()
    listed = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for entry in listed["judged"]:
        if options.figure and entry["figure"] not in options.figure:
            continue
        runs = make_runs(entry["runs"], options.out, options.workers)
        print(f"{entry['figure']}: {len(runs)} runs", flush=True)
        if not options.runs_only:
            verdicts = judge_again(entry, listed["supplements"], runs)
            keep_supplement(KEPT, 3, listed["supplements"], entry["figure"], verdicts, runs, [RULES])


if __name__ == "__main__":
    main()
