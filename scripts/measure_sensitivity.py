"""Measure how verdicts depend on settings that the papers leave open: docs/reproduction-sensitivity.csv.

docs/reproduction-sensitivity.yaml lists the settings: other values, which runs take (``smcmc reproduce --with``),
other ways to compute a number from the same runs, or the seeds of several editions in place of one, and the figures
whose claims are judged with the chosen setting and with each other one, at the same scale. A row of the result is a
claim under one other value. Runs that are there are not made again. Seconds are not compared, so that several may be
made at the same time.

    python scripts/measure_sensitivity.py [PAPER...] --out results --workers 2
"""

import argparse
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml

from splitmerge_cli.analysis.plots.races import data_sets, pick
from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.diagnostics import mixing, restarts
from splitmerge_cli.papers.arm import runs as arm_runs
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.declaration import figures
from splitmerge_cli.papers.experiments import check_overrides, jobs, needs_stand_in, override_jobs
from splitmerge_cli.papers.lshsm import runs as lshsm_runs
from splitmerge_cli.papers.lshsm import table as lshsm_table
from splitmerge_cli.papers.lshsm.runs import Climbs
from splitmerge_cli.papers.reproduce import draw_figure
from splitmerge_cli.papers.sdds import running_means, speed
from splitmerge_cli.papers.sdds.running_means import share_accepted
from splitmerge_cli.papers.smag import counts
from splitmerge_cli.papers.smag import runs as smag_runs
from splitmerge_cli.papers.triadic import table as triadic_table
from splitmerge_cli.papers.triadic.runs import Scores
from splitmerge_cli.papers.verdict_tables import frame
from splitmerge_cli.papers.verdicts import NOT_TESTABLE, Verdict, by_bound, by_factor
from splitmerge_cli.runs.initial import open_run
from splitmerge_cli.runs.store.files import write_text
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.sweeps.sweep import read_jobs, run_jobs

DOCS = Path(__file__).resolve().parents[1] / "docs"
LISTED = DOCS / "reproduction-sensitivity.yaml"
MEASURED = DOCS / "reproduction-sensitivity.csv"
CLAIM = ["data", "sampler", "metric"]
NUMBERS = ["ours", "low", "high"]
KEY = ["paper", "setting", "value", "figure", "scale", "design"]
COLUMNS = [
    *(*KEY, *CLAIM, "published"),
    *(f"chosen_{name}" for name in (*NUMBERS, "verdict")),
    *(*NUMBERS, "verdict"),
]


# other ways to compute a number from the same runs

mean_indicator_times = partial(restarts.indicator_times, over=np.nanmean)
"""Indicator times of a chain as their mean over pairs, not their maximum."""
_classic, _pairs, _best_states = mixing.rhat_classic, restarts.planted_pairs, lshsm_table.scores
_level = arm_runs.level_of


def split_rhat(draws: Any) -> float:
    """R-hat of the halves of chains, without ranks."""
    x = np.asarray(draws, dtype=float)
    half = x.shape[1] // 2
    return _classic(np.concatenate([x[:, :half], x[:, -half:]]))


def ranked_rhat(draws: Any) -> float:
    """The larger one of rank-normalised split R-hat of the draws and of their distances from the median."""
    return mixing.rhat(np.asarray(draws, dtype=float))


def window_times(series: Any, factor: float = 5.0) -> Any:
    """Autocorrelation times whose sum ends at the first lag that is `factor` times the time so far (Sokal)."""
    return _sum_until(series, lambda r, total: np.arange(len(r)) >= factor * total)


def threshold_times(series: Any, edge: float = 0.05) -> Any:
    """Autocorrelation times whose sum ends where a correlation is first below `edge`."""
    return _sum_until(series, lambda r, total: r < edge)


def _sum_until(series: Any, ends: Callable[[Any, Any], Any]) -> Any:
    x = np.asarray(series, dtype=float)
    sums = [_time(row, ends) for row in np.atleast_2d(x)]
    return np.array(sums) if x.ndim > 1 else sums[0]


def _time(x: Any, ends: Callable[[Any, Any], Any]) -> float:
    if (x == x[0]).all():
        return np.nan
    centred = x - x.mean()
    power = np.abs(np.fft.rfft(centred, 2 * len(x))) ** 2
    r = np.fft.irfft(power)[: len(x)]
    r = r / r[0]
    total = 2 * np.cumsum(r) - 1
    places = np.flatnonzero(ends(r, total))
    return float(total[places[0] if len(places) else -1])


def other_pairs(truth: Any, rng: Any) -> Any:
    """Pairs of 15 other items."""
    return _pairs(truth, rng.spawn(1)[0])


def round_level(run: Run) -> str:
    """Network and scale, of two digits: a share that keeps one node less has more."""
    network, _, scale = _level(run).partition("=")
    return f"{network}={float(scale):.2g}"


def last_states(runs: Sequence[Run]) -> pd.DataFrame:
    """Scores of each chain's last state, not of the likeliest state."""
    best = _best_states(runs)
    last = [run.diagnostics().set_index(["quantity", "chain"])["value"] for run in runs]
    return best.assign(**{score: [float(one[f"{score}/last", 0]) for one in last] for score in ("nmi", "accuracy")})


@contextmanager
def replace_names(names: Mapping[str, Any]) -> Iterator[None]:
    """Put values in place of names in the package; text that begins with = is a function of this script."""
    if not names:
        yield
        return
    (name, value), *rest = names.items()
    module, _, attribute = name.rpartition(".")
    new = globals()[value[1:]] if isinstance(value, str) and value.startswith("=") else value
    with patch.object(importlib.import_module(f"splitmerge_cli.{module}"), attribute, new), replace_names(dict(rest)):
        yield


# runs and verdicts


def judge_sdds(figure: str, runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on rates of acceptance, and on where K settles, under their own readings."""
    verdicts = []
    for claim in published_claims(figure):
        where = {key: int(number) for key, number in (part.split("=") for part in claim.data.split(" ")[1:])}
        if claim.metric.endswith("_drop"):
            del where["N"]
        schedule = "single_site" if "one Gibbs site" in claim.reading else "full_scan"
        here = pick(runs, sampler=claim.sampler, schedule=schedule, model__label_prior="as_printed", **where)
        if here and claim.metric.endswith("_acceptance"):
            rates = share_accepted(here, claim.metric.removesuffix("_acceptance"))
            rule = by_factor if claim.value > 0 else by_bound
            verdicts.append(rule(claim, rates, reading=claim.reading, units=data_sets(here)))
        elif here and claim.metric.endswith("_drop"):
            verdicts.append(speed.judge_drop(claim, here, claim.reading))
        elif here and "K" in claim.metric:
            paths = running_means._paths(here)
            verdicts.append(running_means._judge_K(claim, paths, where["N"], claim.reading))
    return verdicts


JUDGES: dict[str, Callable[[Sequence[Run]], Sequence[Verdict]]] = {
    "lshsm-fig1": lambda runs: lshsm_runs._verdicts("lshsm-fig1", Climbs(runs), "iteration"),
    "lshsm-table1": lambda runs: lshsm_table.judge(lshsm_table.scores(runs)),
    **{figure: partial(judge_sdds, figure) for figure in ("sdds-fig3", "sdds-fig4", "sdds-fig5")},
    "smag-fig3": lambda runs: counts.judge(runs, ["groups4"]),
    "smag-fig5a": lambda runs: smag_runs._verdicts("smag-fig5a", smag_runs.Curves(runs)),
    "smag-fig5b": lambda runs: smag_runs._verdicts("smag-fig5b", smag_runs.Curves(runs)),
    "triadic-table1": lambda runs: triadic_table._verdicts(Scores(runs), runs),
}
"""Verdicts of figures that cannot be drawn from the runs of a smaller design."""


def choose_jobs(jobs: Sequence[Sequence[str]], design: Mapping[str, Any]) -> list[Sequence[str]]:
    """The jobs of a design: without those that have some overrides, and with numbers below a bound."""

    def fits(job: Sequence[str]) -> bool:
        values = dict(override.partition("=")[::2] for override in job)
        left_out = any(
            all(any(override.startswith(begin) for override in job) for begin in words.split(" "))
            for words in design.get("without", ())
        )
        few = all(int(values.get(key, 0)) < limit for key, limit in design.get("below", {}).items())
        return few and not left_out

    return [job for job in jobs if fits(job)]


@dataclass(frozen=True)
class Figure:
    """A figure at a scale, of the runs of a design.

    Attributes
    ----------
    out : Path
        The folder of the results.
    workers : int
        Runs that are made at the same time.
    """

    name: str
    scale: str
    design: Mapping[str, Any]
    out: Path
    workers: int

    @property
    def edition(self) -> int:
        """The edition of the chosen seeds."""
        return int(self.design.get("edition", 1))


def judge(measured_figure: Figure, overrides: Sequence[str], names: Any, editions: Sequence[int] = ()) -> Any:
    """Return the counted verdicts of a figure whose runs have these overrides, the missing ones made first.

    `names`: see `replace_names`. `editions`: whose seeds, in place of the design's own edition.
    """
    figure, scale, out, design = (
        measured_figure.name,
        measured_figure.scale,
        measured_figure.out,
        measured_figure.design,
    )
    stand_in = needs_stand_in(figure, scale)
    every = [
        job for n in editions or [measured_figure.edition] for job in jobs(figure, scale, out, stand_in, edition=n)
    ]
    chosen = choose_jobs(every, design)
    overridden = list(dict.fromkeys(map(tuple, override_jobs(chosen, check_overrides(overrides)))))
    read, rejected = read_jobs(overridden)
    outcomes = rejected or run_jobs(read, measured_figure.workers, "none")
    if bad := [o for o in outcomes if not o.complete]:
        raise SystemExit(f"{figure}: {' '.join(bad[0].overrides)}: {bad[0].status}: {bad[0].error}")
    runs = [open_run(o.path) for o in outcomes if o.path]
    with replace_names({**design.get("patch", {}), **names}), use_style():
        if design and figure in JUDGES:
            verdicts = JUDGES[figure](runs)
        else:
            verdicts = draw_figure(figures()[figure], runs, scale, out).verdicts
            plt.close("all")
    return frame(verdicts, published_claims(figure), scale)


def measure(row: Mapping[str, Any], clock: Mapping[str, Sequence[str]], out: Path, workers: int = 1) -> pd.DataFrame:
    """Return the rows of one setting: every claim of its figures under each other value."""
    frames = []
    for figure in row["figures"]:
        design, scale = row.get("design", {}), row.get("scale", "quick")
        fixed, measured_figure = design.get("with", []), Figure(figure, scale, design, out, workers)
        chosen = judge(measured_figure, fixed, {})
        others: dict[str, pd.DataFrame] = {}
        for value in row.get("values", []):
            others[value] = judge(measured_figure, [*fixed, *value.split(" ")], {})
        for words, names in row.get("variants", {}).items():
            others[words] = judge(measured_figure, fixed, names)
        for words, editions in row.get("editions", {}).items():
            others[words] = judge(measured_figure, fixed, {}, editions)
        for reading, (before, after) in row.get("readings", {}).items():
            others[reading] = reread(chosen, before, after)
        for value, frame_ in others.items():
            where = {"paper": row["paper"], "setting": row["setting"], "value": value, "figure": figure}
            where |= {"scale": scale, "design": describe(design)}
            left_out = [*clock.get(figure, ()), *row.get("leave", ())]
            frames.append(join_verdicts(chosen, frame_, row.get("sampler"), left_out).assign(**where))
    return pd.concat(frames, ignore_index=True)[COLUMNS]


def reread(chosen: pd.DataFrame, before: str, after: str) -> pd.DataFrame:
    """The verdicts under the reading that has other words, as the counted ones."""
    counted = chosen[chosen["counted"]].copy()
    wanted = {
        (*row[:-1], row[-1].replace(before, after)) for row in counted[[*CLAIM, "reading"]].itertuples(index=False)
    }
    rows = chosen[[key in wanted for key in chosen[[*CLAIM, "reading"]].itertuples(index=False, name=None)]]
    return rows.assign(counted=True)


def join_verdicts(
    chosen: pd.DataFrame, other: pd.DataFrame, sampler: str | None, left_out: Sequence[str]
) -> pd.DataFrame:
    """The counted verdicts of both, of claims that runs of either decide or leave undecided."""
    parts = []
    for table in (chosen, other):
        counted = table[table["counted"] & (table["verdict"] != NOT_TESTABLE)].set_index(CLAIM)
        parts.append(counted[["published", *NUMBERS, "verdict", "n"]])
    both = parts[0].add_prefix("chosen_").join(parts[1], how="inner").reset_index()
    has_units = (both["n"] > 0) | (both["chosen_n"] > 0)
    named = both["metric"].map(lambda metric: not any(fnmatchcase(metric, pattern) for pattern in left_out))
    about = both["sampler"].map(lambda name: sampler is None or any(fnmatchcase(name, p) for p in sampler.split(" ")))
    return both[has_units & named & about]


def describe(design: Mapping[str, Any]) -> str:
    """Describe how a design differs from the scale's own."""
    parts = [*design.get("with", []), *(f"{key} below {limit}" for key, limit in design.get("below", {}).items())]
    parts += [f"seeds of edition {design['edition']}"] if "edition" in design else []
    return ", ".join(parts)


def text_of(table: pd.DataFrame) -> str:
    """The table as a file has it, numbers with four digits."""
    return table.to_csv(index=False, lineterminator="\n", float_format="%.4g")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", help="which papers; all by default")
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of the results")
    parser.add_argument("--workers", type=int, default=1, help="runs that are made at the same time; one by default")
    parser.add_argument("--setting", help="settings with this text alone")
    parser.add_argument("--figure", help="settings that this figure judges alone")
    args = parser.parse_args()
    listed = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
    known = pd.DataFrame(columns=COLUMNS)
    if MEASURED.is_file():
        known = pd.read_csv(MEASURED, keep_default_na=False, dtype=str)
        # what is no longer listed goes
        listed_now = {key for row in listed["settings"] for key in keys(row)}
        known = known[[key in listed_now for key in known[KEY].itertuples(index=False, name=None)]]
    for row in listed["settings"]:
        if "reason" in row or (args.papers and row["paper"] not in args.papers):
            continue
        if (args.setting or "") not in row["setting"] or args.figure not in (None, *row["figures"]):
            continue
        text = text_of(measure(row, listed["clock"], args.out, args.workers))
        new = pd.read_csv(StringIO(text), keep_default_na=False, dtype=str)
        again = set(keys(row))
        old = known[[key not in again for key in known[KEY].itertuples(index=False, name=None)]]
        known = pd.concat([old, new]).sort_values(KEY, kind="stable", ignore_index=True)
        write_text(MEASURED, known.to_csv(index=False, lineterminator="\n"))
        moved = (new["verdict"] != new["chosen_verdict"]).sum()
        print(f"{row['paper']}, {row['setting']}: {moved} of {len(new)} verdicts moved", flush=True)


def keys(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Keys, as `KEY` names them, of the rows that a setting of the list has."""
    where = row["paper"], row["setting"]
    how = row.get("scale", "quick"), describe(row.get("design", {}))
    values = [str(value) for ways in ("values", "variants", "readings", "editions") for value in row.get(ways, ())]
    return [(*where, value, figure, *how) for value in values for figure in row.get("figures", ())]


if __name__ == "__main__":
    main()
