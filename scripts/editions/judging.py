"""Parts shared by the scripts that judge kept claims: runs of grids, and the kept verdicts with their units."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from editions.added import added_claims
from editions.kept import kept_folder, read_index
from splitmerge_cli.papers.claims import Claim, published_claims
from splitmerge_cli.papers.experiments import jobs as jobs_of_figure
from splitmerge_cli.papers.experiments import out_override
from splitmerge_cli.papers.verdict_tables import KEY, read_claims
from splitmerge_cli.papers.verdicts import Samples, Verdict
from splitmerge_cli.runs.initial import open_run
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.sweeps.sweep import expand, find_run, read_jobs, run_jobs

DOCS = Path(__file__).resolve().parents[2] / "docs"
KEPT = DOCS / "reproduction"

# runs


def list_jobs(grids: Sequence[Mapping[str, Any]], out: Path) -> list[tuple[str, ...]]:
    """Return the overrides for the runs of the grids, each once.

    A grid with `design` has the runs of that figure at paper scale under its own seeds, one seed after the other.
    """
    jobs: list[tuple[str, ...]] = []
    for grid in grids:
        if "design" in grid:
            design = jobs_of_figure(grid["design"], "paper", out)
            settings = [[word for word in job if not word.startswith("seed=")] for job in design]
            jobs += [(*words, *seed) for seed in expand([f"seed={grid['seed']}"]) for words in settings]
            continue
        named = [f"{key}={value}" for key, value in grid.items() if key != "of"]
        jobs += [(f"experiment={grid['of']}", *job, out_override(out)) for job in expand(named)]
    return list(dict.fromkeys(jobs))


def stored_runs(grids: Sequence[Mapping[str, Any]], out: Path) -> list[Run]:
    """Return the stored runs of the grids, without settings that lack a seed."""
    jobs = list_jobs(grids, out)
    specifications, _ = read_jobs(jobs)
    by_setting: dict[tuple[str, ...], list[Run | None]] = {}
    for job, specification in zip(jobs, specifications, strict=True):
        setting = tuple(override for override in job if not override.startswith("seed="))
        by_setting.setdefault(setting, []).append(find_run(specification))
    return [run for runs in by_setting.values() if all(runs) for run in runs if run]


def make_runs(grids: Sequence[Mapping[str, Any]], out: Path, workers: int) -> list[Run]:
    """Return the runs of the grids; those that are missing are made."""
    specifications, rejected = read_jobs(list_jobs(grids, out))
    outcomes = rejected or run_jobs(specifications, workers, "none")
    if bad := [outcome for outcome in outcomes if not outcome.complete]:
        raise SystemExit(f"{' '.join(bad[0].overrides)}: {bad[0].status}: {bad[0].error}")
    return [open_run(outcome.path) for outcome in outcomes if outcome.path]


# kept verdicts


def fits(row: Mapping[str, Any], patterns: Sequence[Mapping[str, str]]) -> bool:
    """Whether a row matches one of the patterns, each by column."""
    return any(all(fnmatchcase(row[key], pattern) for key, pattern in one.items()) for one in patterns)


def sources(root: Path = KEPT, last: int = 3) -> dict[str, Path]:
    """The folder with the last verdicts of each figure in editions 2 to `last`, by id."""
    folders = [kept_folder(root, number) for number in range(2, last + 1)]
    return {name: folder for folder in folders for name in read_index(folder)["figures"]}


def kept_verdicts(name: str, folder: Path) -> list[Verdict]:
    """The verdicts of a figure in a folder, with their units."""
    units = list_units(folder, name)
    claims = {(c.data, c.sampler, c.metric): c for c in [*added_claims(name), *published_claims(name)]}
    return [
        kept_verdict(row, claims[row["data"], row["sampler"], row["metric"]], units.get(tuple(row[key] for key in KEY)))
        for row in read_claims(folder / f"{name}-claims.csv", "").to_dict("records")
    ]


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
