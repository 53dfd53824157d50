"""Make the runs of edition 3 and keep its verdicts: docs/reproduction/edition-3.

docs/reproduction-edition-3.yaml names claims that edition 2 left undecided and the runs, from other seeds, that judge
them again. Runs that are stored are not made again. Seconds count for lshsm-fig1, sdds-fig5 and sdds-fig6: make their
runs one at a time (`--workers 1`, the default) on a processor that nothing else uses, such as `taskset -c 1`.

    python scripts/judge_edition_3.py --out results [--figure ID] [--kept-only | --stored | --runs-only]
        [--part later | --part last]

`--part later` judges the claims of `later` and keeps their verdicts with the others of their figure, then `--part last`
those of `last`. Without a part a figure is written as before these, so they come last and in this order.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml
from editions.added import added_claims, added_rows
from editions.judging import DOCS, KEPT, fits, list_units, make_runs, stored_runs
from editions.supplement import keep_supplement
from measure_sensitivity import judge_sdds, replace_names
from scipy import stats

from splitmerge_cli.analysis.plots.races import data_sets, pick
from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.diagnostics.intervals import geometric_interval, leave_one_out, mean_interval, median_interval
from splitmerge_cli.diagnostics.restarts import between_restarts, late
from splitmerge_cli.kinds.tables.plots.points import ridge
from splitmerge_cli.papers.arm import mixtures, tables
from splitmerge_cli.papers.arm import runs as arm_runs
from splitmerge_cli.papers.arm.runs import (
    INDEPENDENT,
    LENGTH,
    STARTS,
    Cells,
    estimate_rhat,
    levels,
    network_of,
    rhat_at,
)
from splitmerge_cli.papers.claims import Claim, published_claims, shared_numbers
from splitmerge_cli.papers.declaration import paper_of, papers
from splitmerge_cli.papers.drawing import Climb, climbs_of
from splitmerge_cli.papers.lshsm import runs as lshsm_runs
from splitmerge_cli.papers.lshsm import table as lshsm_table
from splitmerge_cli.papers.lshsm.runs import TOLERANCE, Climbs, data_of, lead
from splitmerge_cli.papers.sdds import speed
from splitmerge_cli.papers.sdds.running_means import share_accepted
from splitmerge_cli.papers.smag import counts
from splitmerge_cli.papers.triadic import runs as triadic_runs
from splitmerge_cli.papers.verdict_tables import read_claims
from splitmerge_cli.papers.verdicts import (
    UNDECIDED,
    Verdict,
    by_edge,
    by_factor,
    by_majority,
    by_rhat,
    by_sign,
    estimate,
    holds,
    jackknife,
    judge_interval,
    no_run,
)
from splitmerge_cli.runs.initial import dataset_of
from splitmerge_cli.runs.store.read import Run

RULES = DOCS / "reproduction-edition-3.yaml"
EDITION_2 = KEPT / "edition-2"
LATER = ("arm-table3", "arm-table4")
"""Figures whose later claims are about samplers whose chains share nothing."""

LATER_ROWS = "2026-11-29"
"""When the rows were added that edition 5 judges."""

Key = tuple[str, ...]


def key_of(claim: Claim) -> Key:
    """Figure, data, sampler and metric of a claim."""
    return claim.id, claim.data, claim.sampler, claim.metric


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
    return tables._table5_verdicts(runs, rates, claims)


def judge_table2(runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on Table 2, of the examples and samplers that were run, on numbers of each data set alone."""
    numbers = mixtures.times(runs)
    ran = set(numbers[["example", "sampler"]].itertuples(index=False, name=None))
    claims = [c for c in published_claims("arm-table2") if (c.data, c.sampler) in ran and c.metric in mixtures.METRICS]
    return mixtures.judge(numbers, runs, claims)


def judge_sdds_times(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Time of an iteration with one Gibbs site: at the largest N over that at the smallest, or of two samplers."""
    samplers = claim.sampler.split("/")
    large, *others = (pick(runs, sampler=name, N=500) for name in samplers)
    (divisor,) = others or [pick(runs, sampler=samplers[0], N=100)]
    ratios = speed._milliseconds(large, True) / speed._milliseconds(divisor, True)
    if others:
        return by_factor(claim, ratios, claim.reading, summary=median_interval, units=data_sets(large))
    estimated = estimate(ratios, median_interval, units=data_sets(large))
    return by_edge(claim, estimated, "time at the largest N over that at the smallest", claim.reading)


def judge_times(runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on how the time of an iteration grows in Figure 5 of Wang & Russell, of the samplers that were run."""
    ran = {run.config["sampler"]["name"] for run in runs}
    claims = [c for c in published_claims("sdds-fig5") if c.metric == "time_growth" and c.sampler in ran]
    return [judge_sdds_times(claim, runs) for claim in claims]


def judge_acceptance(runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on the moves of SDDS and RGSM in Figure 6 of Wang & Russell, at N = 100."""
    claims = {(claim.data, claim.metric): claim for claim in published_claims("sdds-fig6")}
    by_sampler = {name: pick(runs, sampler=name, N=100) for name in ("rgsm", "sdds")}
    return speed._judge_moves(claims, "bernoulli N=100", by_sampler)


def judge_times_slower(runs: Sequence[Run]) -> list[Verdict]:
    """Sweeps of SM over those of ARM in Figure 5 of Herlau et al., on the network that was run."""
    sm, arm = ([arm_runs.trace_of(run) for run in pick(runs, sampler=name)] for name in ("sm", "arm"))
    claims = {(claim.data, claim.metric): claim for claim in published_claims("arm-fig5")}
    return [arm_runs._times_slower(claims[network_of(runs[0]), "times_slower_than_arm"], sm, arm)]


def judge_counts(runs: Sequence[Run]) -> list[Verdict]:
    """Verdicts on Figure 3 of Rana et al., on the four groups: against Gibbs, or, without its runs, of the choices."""
    if any(run.config["sampler"]["name"] == "gibbs" for run in runs):
        return counts.judge(runs, ["groups4"])
    (claim,) = (claim for claim in published_claims("smag-fig3") if claim.metric == "coin_faster_than_pair")
    return counts._faster(claim, runs, "groups4", "one_cluster")


JUDGES: Mapping[str, Callable[[Sequence[Run]], Sequence[Verdict]]] = {
    "arm-table2": judge_table2,
    "arm-table3": judge_table3,
    "arm-table4": judge_table4,
    "arm-table5": judge_table5,
    "arm-fig5": judge_times_slower,
    "arm-fig6a": lambda runs: arm_runs.fig6a(runs).verdicts,
    "lshsm-fig1": lambda runs: lshsm_runs._verdicts("lshsm-fig1", Climbs(runs), "iteration"),
    "lshsm-fig2": lambda runs: lshsm_runs._verdicts("lshsm-fig2", Climbs(runs), "seconds"),
    "lshsm-table1": lambda runs: lshsm_table.judge(lshsm_table.scores(runs)),
    "sdds-fig3": lambda runs: judge_sdds("sdds-fig3", runs),
    "sdds-fig4": lambda runs: judge_sdds("sdds-fig4", runs),
    "sdds-fig5": judge_times,
    "sdds-fig6": judge_acceptance,
    "smag-fig3": judge_counts,
}


# runs


def list_undecided(figure: str, patterns: Sequence[Mapping[str, str]], edition: int) -> pd.DataFrame:
    """Return the counted verdicts of an edition that are undecided and match one of the patterns."""
    rows = read_claims(KEPT / f"edition-{edition}" / f"{figure}-claims.csv", "")
    rows = rows[rows["counted"] & (rows["verdict"] == UNDECIDED)]
    return rows[[fits(row, patterns) for row in rows.to_dict("records")]]


def judge_again(entry: Mapping[str, Any], edition: int, runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts that replace those of an edition."""
    figure = entry["figure"]
    wanted = {
        tuple(row) for row in list_undecided(figure, entry["claims"], edition)[["data", "sampler", "metric"]].to_numpy()
    }
    with replace_names(entry.get("patch", {})), use_style():
        verdicts = JUDGES[figure](runs)
        plt.close("all")
    chosen = [v for v in verdicts if v.is_counted and (v.claim.data, v.claim.sampler, v.claim.metric) in wanted]
    # without a run the verdict of the edition stays
    return [v for v in chosen if v.n]


def judge_later(entry: Mapping[str, Any], edition: int, runs: Sequence[Run]) -> list[Verdict]:
    """Return the verdicts on R-hat of samplers whose chains share nothing, cut where the edition cut them."""
    figure, cells, verdicts = entry["figure"], Cells(runs), []
    cuts = pd.read_csv(KEPT / f"edition-{edition}" / f"{figure}.csv").query("start == 'random'")
    cut_by_cell = cuts.set_index(["level", "sampler", "arm_iterations"])["iterations"].to_dict()
    claims = {(claim.data, claim.sampler, claim.metric): claim for claim in published_claims(figure)}
    wanted = list_undecided(figure, entry["claims"], edition)[["data", "sampler", "metric"]]
    for level, sampler, metric in wanted.itertuples(index=False, name=None):
        cell = cells.find(level, "random", sampler)
        if cell is None:
            continue
        cut = cut_by_cell[level, sampler, int(metric.removeprefix("rhat_T"))]
        assert sampler in INDEPENDENT and len(cell.runs) == tables.RESTARTS and cut <= cell.length
        estimate = estimate_rhat(late(cell.traces(cut)), shared=False)
        verdicts.append(by_rhat(claims[level, sampler, metric], estimate, f"start: {STARTS['random']}"))
    return verdicts


def share_verdicts(figure: str, verdicts: Sequence[Verdict], known: Mapping[Key, Verdict]) -> list[Verdict]:
    """Return a figure's verdicts; a claim that repeats a judged one (shared.csv), metric included, has its verdict."""
    first_of = shared_numbers([figure])
    shared = [
        replace(known[first], claim=claim)
        for claim in published_claims(figure)
        if (first := first_of.get(key_of(claim), ())) in known and first[-1] == claim.metric
    ]
    keys = {key_of(v.claim) for v in shared}
    return [*(v for v in verdicts if key_of(v.claim) not in keys), *shared]


# claims of added.csv


def kept_units(figure: str, sampler: str, metric: str) -> dict[tuple[str, str], np.ndarray]:
    """Return the values by unit that edition 2 kept, by data and reading."""
    kept = list_units(EDITION_2, figure)
    rows = {key: units for key, units in kept.items() if key[2:4] == (sampler, metric)}
    return {
        (key[1], key[4]): units.loc[units["quantity"] == "value", "value"].to_numpy(float)
        for key, units in rows.items()
    }


def judge_times_usair(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """The acceptance of ARM on a network over that on USAir."""
    rates = kept_units("arm-table5", "arm", "acceptance_percent")
    own, usair = rates[claim.data, claim.reading], rates["usair scale=0.8", claim.reading]
    return tables._judge_times(claim, own, usair, claim.reading)


def judge_gains(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """The fall of log R-hat from two chains to eight, mean over networks."""
    cells = Cells(runs)
    pairs = []
    for level in levels(runs):
        few, many = (cells.find(level, "random", "arm", chains) for chains in (2, 8))
        if few and many:
            pairs.append([rhat_at(cell, cell, cell.length).draws for cell in (few, many)])
    restarts = min(len(draws) for pair in pairs for draws in pair)

    def fall(kept: np.ndarray) -> float:
        logs = [[np.log(between_restarts(draws[kept]).mean) for draws in pair] for pair in pairs]
        return float(np.mean([few - many for few, many in logs]))

    of = jackknife(*leave_one_out(fall, restarts), mean_interval, "restarts")
    reason = f"log R-hat with 2 chains minus that with 8, mean over {len(pairs)} networks"
    return judge_interval(claim, of, 0.0, np.inf, reason, "positive", claim.reading)


def judge_random(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """LSHSM and random mixing: which has climbed first, in iterations."""
    climbs: dict[str, dict[int, Climb]] = {"rm": {}, "lshsm": {}}
    for run in runs:
        if data_of(run) == claim.data:
            climbs[run.config["sampler"]["name"]][run.config["seed"]] = climbs_of(run)[0]
    leads = []
    for seed, ours in climbs["lshsm"].items():
        other = climbs["rm"][seed]
        start, best = ours.log_joint[0], max(ours.log_joint.max(), other.log_joint.max())
        leads.append(lead(ours, other, best - TOLERANCE * (best - start), "iteration"))
    rule = "LSHSM is first at the level, in iterations; ours: ratio of iterations"
    ratios, ahead = [one.ratio for one in leads], [one.ahead for one in leads]
    return by_majority(claim, ratios, ahead, rule, claim.reading, summary=geometric_interval)


def judge_variance(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Variance of equation 11, and of an estimate from a random sample of as many items."""
    ours = []
    for run in runs:
        if data_of(run) == claim.data and run.config["sampler"]["name"] == "lshsm":
            dataset = dataset_of(run)
            ours.append(compare_variances(dataset.values, np.asarray(dataset.truth), run.config["seed"]))
    return by_sign(claim, {"log variance, random minus LSS": ours}, claim.reading)


def compare_variances(x: np.ndarray, truth: np.ndarray, seed: int, bits: int = 10, tables: int = 10) -> float:
    """Return how much larger the log variance of an estimate is from a random sample than by equation 11.

    Each cluster's mean is a query; an item of the cluster is found if all bits of one table agree.
    """
    rng, draws = np.random.default_rng(seed), 400
    estimates, sizes = np.zeros(draws), np.zeros(draws)
    density, chance = np.empty(len(x)), np.empty(len(x))
    means = {k: x[truth == k].mean(axis=0) for k in np.unique(truth)}
    for k, mean in means.items():
        own = truth == k
        sd = x[own].std(axis=0) if own.sum() > 1 else np.ones(x.shape[1])
        density[own] = stats.norm.logpdf(x[own], mean, sd).sum(axis=1)
        norms = np.linalg.norm(x[own], axis=1) * np.linalg.norm(mean)
        same = 1 - np.arccos(np.clip(x[own] @ mean / norms, -1, 1)) / np.pi
        chance[own] = 1 - (1 - same**bits) ** tables
    for draw in range(draws):
        planes = rng.standard_normal((x.shape[1], bits * tables))
        for k, mean in means.items():
            own = np.flatnonzero(truth == k)
            agree = (x[own] @ planes > 0) == (mean @ planes > 0)
            hit = own[agree.reshape(len(own), tables, bits).all(axis=2).any(axis=1)]
            estimates[draw] += (density[hit] / chance[hit]).sum()
            sizes[draw] += len(hit)
    n = max(1, round(sizes.mean()))
    random = len(x) ** 2 * (1 - n / len(x)) * density.var(ddof=1) / n
    return float(np.log(random / estimates.var(ddof=1)))


def judge_phases(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Smart moves of SDDS accepted in the first iterations and in all."""
    own = [run for run in runs if run.config["sampler"]["name"] == "sdds"]
    lengths = sorted({run.config["iterations"] for run in own})
    move = "smart_split" if claim.metric == "splits_first" else "smart_merge"
    first, whole = (share_accepted([run for run in own if run.config["iterations"] == n], move) for n in lengths)
    change = first - whole if claim.metric == "splits_first" else whole - first
    change = change[np.isfinite(change)]
    rule = f"share of {move.replace('_', ' ')}s accepted, difference above 0"
    return by_majority(claim, change, change, rule, claim.reading, above=0.0)


def judge_merges(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Share of merges among the proposals by two random words."""
    shares, sets = [], []
    for run in runs:
        if run.config["sampler"].get("choice") == "pair":
            moves = run.moves()
            proposed = moves.groupby(["chain", "move"])["proposed"].sum().unstack()
            share = proposed["merge"] / (proposed["merge"] + proposed["split"])
            shares += share.tolist()
            sets += [run.config["seed"]] * len(share)
    x = np.array(shares)
    return by_majority(claim, x, x, "more than half of the proposals are merges", claim.reading, units=sets)


def judge_mixtures(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Overlap of true and found mixtures of the groups, of split-merge and of Gibbs alone."""
    states = counts.States(runs)
    ours, gibbs = (states.states_of("groups4", "one_cluster", method) for method in ("coin", "gibbs"))
    gain = [ours[key].overlap - gibbs[key].overlap for key in ours]
    return by_sign(claim, {"split-merge - Gibbs": gain}, claim.reading, units=[seed for seed, _ in ours])


def judge_overlap(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """Overlap of the first three topics, and of the last three."""
    table = pd.read_csv(EDITION_2 / "smag-fig2.csv")
    topics = table[table["panel"] == "topics"].pivot(index="row", columns="column", values="value").to_numpy()

    def overlaps(which: Sequence[int]) -> list[float]:
        return [float(np.minimum(topics[a], topics[b]).sum()) for a, b in combinations(which, 2)]

    least, largest = min(overlaps([0, 1, 2])), max(overlaps([7, 8, 9]))
    reason = f"overlap at least {least:.2f} of topics 1 to 3, at most {largest:.2f} of topics 8 to 10"
    return holds(claim, least, least > largest, reason, claim.reading)


def judge_angles(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """Angle between the line of a cluster and the true line of its points, in the two states of Figure 2."""
    table = pd.read_csv(EDITION_2 / "triadic-fig2.csv")
    largest = {number: max(_angles(state)) for number, state in table.groupby("set")}
    listed = ", ".join(f"{angle:.1f} in set {number}" for number, angle in largest.items())
    reason = (
        f"angle between the line of a cluster and the true line of {triadic_runs.LARGE} of its points at most: {listed}"
    )
    angle = max(largest.values())
    return holds(claim, angle, angle > triadic_runs.SIMILAR, reason, claim.reading)


def _angles(state: pd.DataFrame) -> Iterator[float]:
    """Yield the angles in degrees between a cluster's line and the true lines that have enough of its points."""
    true_lines = {k: triadic_runs.direction(rows[["x", "y"]].to_numpy()) for k, rows in state.groupby("truth")}
    for _, rows in state.groupby("cluster"):
        slope = ridge(rows[["x", "y"]].to_numpy(), **triadic_runs.MODEL)[1]
        own = np.array([1.0, slope]) / np.hypot(1.0, slope)
        for k, count in rows["truth"].value_counts().items():
            if count >= triadic_runs.LARGE:
                yield float(np.degrees(np.arccos(min(1.0, abs(float(own @ true_lines[k]))))))


ADDED: Mapping[str, Callable[[Claim, Sequence[Run]], Verdict]] = {
    "times_usair": judge_times_usair,
    "gains_up_to_eight_chains": judge_gains,
    "fewer_iterations_than_random": judge_random,
    "estimate_varies_less": judge_variance,
    "time_ratio": judge_sdds_times,
    "time_growth": judge_sdds_times,
    "splits_first": judge_phases,
    "merges_later": judge_phases,
    "more_merges_than_splits_by_pair": judge_merges,
    "groups_overlap_minus_gibbs": judge_mixtures,
    "first_topics_overlap_most": judge_overlap,
    "line_not_through_points": judge_angles,
}


def judge_added(figure: str, runs: Sequence[Run]) -> list[Verdict]:
    """Return verdicts on the claims of a figure that were added after edition 2."""
    paper = paper_of(figure)
    assert paper is not None
    rows = added_rows(paper)
    rows = rows[rows["added"] != LATER_ROWS]
    sources = {tuple(row[:4]): row[-1] for row in rows.itertuples(index=False, name=None)}
    verdicts = []
    for claim in (claim for claim in added_claims(figure) if key_of(claim) in sources):
        source = sources[key_of(claim)]
        by_runs = source.startswith(("runs", "needs runs"))
        if claim.metric not in ADDED:
            verdicts.append(no_run(claim, f"{source}; added after edition 2"))
        elif by_runs and not runs:
            verdicts.append(no_run(claim, "needs runs: edition 3 names them; added after edition 2"))
        else:
            verdict = ADDED[claim.metric](claim, runs)
            origin = "runs of edition 3" if by_runs else source
            verdicts.append(replace(verdict, reason=f"{verdict.reason}; added after edition 2, from {origin}"))
    return verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of the results")
    parser.add_argument("--workers", type=int, default=1, help="runs that are made at the same time; one by default")
    parser.add_argument("--figure", action="append", help="these figures alone")
    parser.add_argument("--kept-only", action="store_true", help="make no run; claims that need runs stay undecided")
    parser.add_argument("--stored", action="store_true", help="make no run; judge settings whose seeds are all stored")
    parser.add_argument("--runs-only", action="store_true", help="make the runs and judge nothing")
    parser.add_argument("--part", choices=["later", "last"], help="the claims of this list; other verdicts stay")
    options = parser.parse_args()
    listed = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    again = {entry["figure"]: entry for entry in listed[options.part or "judged"]}
    more = {} if options.part else {entry["figure"]: entry["runs"] for entry in listed["added"]}
    with_added = [figure.id for paper in papers() for figure in paper.figures if added_claims(figure.id)]
    if options.kept_only:
        again, more = {}, {}
    known: dict[Key, Verdict] = {}
    for figure in options.figure or dict.fromkeys([*again, *([] if options.part else with_added)]):
        get = stored_runs if options.stored else partial(make_runs, workers=options.workers)
        runs = get(again[figure]["runs"], options.out) if figure in again else []
        others = get(more[figure], options.out) if figure in more else []
        print(f"{figure}: {len(runs) + len(others)} runs", flush=True)
        if options.runs_only:
            continue
        judge = judge_later if options.part and figure in LATER else judge_again
        verdicts = judge(again[figure], listed["supplements"], runs) if runs else []
        verdicts = [replace(v, reason=f"{v.reason}; seeds of edition 3") for v in verdicts]
        if not options.part:
            verdicts = share_verdicts(figure, verdicts, known)
            known |= {key_of(v.claim): v for v in verdicts}
            verdicts += judge_added(figure, others or runs)
        keep_supplement(KEPT, (3, listed["supplements"]), figure, verdicts, [*runs, *others], RULES, bool(options.part))
        for verdict in verdicts:
            claim = verdict.claim
            print(f"  {claim.data}, {claim.sampler}, {claim.metric}: {verdict.verdict}: {verdict.explanation}")


if __name__ == "__main__":
    main()
