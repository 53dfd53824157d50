"""Verdicts on sentences that had no row until edition 5 (``added.csv``, added on 2026-11-29), from what is kept or
exact. Those that need runs of edition 5 take them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from editions.judging import KEPT, kept_verdicts, sources
from splitmerge_cli.config import specify
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.diagnostics.intervals import excess_interval, leave_one_out
from splitmerge_cli.diagnostics.mixing import rhat_classic
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.papers.arm.runs import Cells
from splitmerge_cli.papers.claims import Claim
from splitmerge_cli.papers.sdds.exact import allocation
from splitmerge_cli.papers.verdicts import Estimate, Verdict, by_edge, by_majority, by_sign, holds, jackknife
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify.enumerate import emm_log_weight, emm_states, normalise
from splitmerge_cli.verify.transitions import balance_defect, transition_matrix

EDITION_2 = KEPT / "edition-2"
TITLES = {"nips": "NIPS", "hagmann": "Hagmann", "usair": "USAir", "caltech": "Caltech"}
Judge = Callable[[Claim, Sequence[Run]], Verdict]


def kept_numbers(figure: str, folder: Path, sampler: str, metric: str) -> dict[str, np.ndarray]:
    """The numbers of the units of kept counted verdicts, by data; of a mean that was left-one-out the values
    themselves."""
    found = {}
    for verdict in kept_verdicts(figure, folder):
        claim = verdict.claim
        if verdict.is_counted and verdict.samples and (claim.sampler, claim.metric) == (sampler, metric):
            sample = next((s for s in verdict.samples if s.quantity == "value"), verdict.samples[0])
            x = np.array(sample.values)
            if sample.interval.startswith("jackknife"):
                n = len(x) - 1
                x = n * x[0] - (n - 1) * x[1:]
            found[claim.data] = x
    return found


def judge_sm_below_gibbs(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """R-hat of SM below that of Gibbs on each network of Table 4."""
    folder = sources(KEPT, 4)[claim.id]
    gibbs, sm = (kept_numbers(claim.id, folder, sampler, "rhat_T1000") for sampler in ("gibbs", "sm"))
    gains = {}
    for data, x in gibbs.items():
        n = min(len(x), len(sm[data]))
        network, _, scale = data.partition(" scale=")
        gains[f"{TITLES[network]} {scale}"] = np.log(x[:n]) - np.log(sm[data][:n])
    return by_sign(claim, gains, claim.reading, unit="chain numbers")


def judge_time(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """R-hat of ARM below that of SM after twice as many iterations, by network."""
    table = pd.read_csv(EDITION_2 / "arm-table3.csv").query("start == 'random'")
    rhat = np.log(table.set_index(["level", "sampler", "arm_iterations"])["rhat"])
    levels = list(dict.fromkeys(table["level"]))
    gains = [float(rhat[level, "sm", 2000] - rhat[level, "arm", 1000]) for level in levels]
    networks = [level.partition(" ")[0] for level in levels]
    rule = "mean log R-hat of SM at T = 2,000 minus that of ARM at T = 1,000 above 0"
    unit = "published networks"
    return by_majority(claim, gains, gains, rule, claim.reading, unit=unit, units=networks, above=0.0)


def judge_sm_times(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """Autocorrelation time of SM below that of Gibbs on each example, paired by data set."""
    metric = f"autocorrelation_time_{claim.metric.removeprefix('lower_').partition('_')[0]}"
    gibbs, sm = (kept_numbers(claim.id, EDITION_2, sampler, metric) for sampler in ("gibbs", "sm"))
    return by_sign(claim, {data: np.log(x) - np.log(sm[data]) for data, x in gibbs.items()}, claim.reading)


def judge_gibbs_rhat(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """R-hat of Gibbs between the eight chains of the restart whose traces are kept: chains of Gibbs share nothing."""
    traces = pd.read_csv(EDITION_2 / "arm-fig5.csv.gz").query("network == @claim.data and sampler == @claim.sampler")
    draws = traces.filter(like="chain_").to_numpy().T[:, len(traces) // 2 :]
    whole, without = leave_one_out(lambda kept: rhat_classic(draws[kept]), len(draws))
    estimated = jackknife(whole, without, excess_interval, "chains")
    return by_edge(claim, estimated, "R-hat between the chains of the traces that Figure 5 shows", claim.reading)


def judge_acceptance(claim: Claim, runs: Sequence[Run]) -> Verdict:
    """Slope of the log acceptance of ARM against the log of the number of chains, by restart."""
    cells = Cells(runs)
    chains = sorted(S for level, start, sampler, S in cells.cells if (level, sampler) == (claim.data, "arm"))
    rates = [cell.acceptance() for S in chains if (cell := cells.find(claim.data, "random", "arm", S))]
    slopes = np.polyfit(np.log2(chains), np.log(np.stack(rates)), 1)[0]
    named = ", ".join(f"{S}: {100 * rate.mean():.2f} %" for S, rate in zip(chains, rates, strict=True))
    verdict = by_sign(claim, {"log acceptance as S doubles": slopes}, claim.reading, unit="restarts")
    return replace(verdict, reason=f"{verdict.reason}; accepted by S: {named}")


def judge_alpha(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """Probability that Table 1 puts the second A with the first, by alpha."""
    alphas, chances = (1.0, 0.1, 0.01, 0.001), []
    for alpha in alphas:
        spec = specify(["experiment=sdds-table1", f"model.alpha={alpha:g}"])
        chances.append(float(allocation(spec.model)["probability"].iloc[1]))
    listed = ", ".join(f"{chance:.3f} at {alpha:g}" for alpha, chance in zip(alphas, chances, strict=True))
    reason = f"probability of the second A joining the first, by alpha: {listed}"
    return holds(claim, chances[-1], bool((np.diff(chances) > 0).all()), reason, claim.reading)


def judge_order(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """Balance of SDDS under the posterior in two orders of the mentions, and how far its matrices differ."""
    hyper = {"alpha": 0.3, "mu": 1.0, "sigma": 0.8, "label_prior": "labelled"}
    tokens, order, states = np.array([0, 0, 1, 1, 0], np.int32), np.array([2, 0, 3, 1, 4]), emm_states(5, 6)
    defects, matrices = [], []
    for each in (tokens, tokens[order]):
        model, rng = EMM(each, n_tokens=2, kmax=6, **hyper), Rng(0)
        weight = emm_log_weight(each, 2, **hyper)
        matrices.append(transition_matrix(model, rng, SDDS(model, rng), states))
        defects.append(balance_defect(matrices[-1], normalise([weight(state) for state in states])))
    index = {state: number for number, state in enumerate(states)}
    same = [index[_relabel(np.array(z)[order]), K] for z, K in states]
    gap = float(np.abs(matrices[0] - matrices[1][np.ix_(same, same)]).max())
    reason = (
        f"five mentions in two orders, posterior enumerated: detailed balance to {max(defects):.0e} in both, so that "
        f"the posterior is the same, while probabilities of single steps differ by up to {gap:.2f}"
    )
    return holds(claim, max(defects), max(defects) < 1e-12, reason, claim.reading)


def _relabel(labels: np.ndarray) -> tuple[int, ...]:
    """Labels numbered by first appearance."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(int(k), len(seen)) for k in labels)


def judge_hashing(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """Chance to find an item by 1 - (1 - p^K)^L, of a similar one and of one at a right angle, for many K and L."""
    p, most = np.cos(np.pi / 4), 50
    similar, other = (1 - np.arccos(cosine) / np.pi for cosine in (p, 0.0))

    def log_missed(chance: float, K: int, L: int) -> float:
        return L * float(np.log1p(-(chance**K)))

    gaps = [log_missed(other, K, L) - log_missed(similar, K, L) for K, L in product(range(1, most + 1), repeat=2)]
    reason = (
        f"an item at 45 degrees is more often found than one at 90 for all K and L up to {most}: 1 - (1 - p^K)^L rises "
        f"with p; log of the chances to be missed differs by {min(gaps):.1e} at least"
    )
    return holds(claim, min(gaps), min(gaps) > 0, reason, claim.reading)


def judge_cost(claim: Claim, _runs: Sequence[Run]) -> Verdict:
    """Seconds of an iteration of Algorithm 1 at 10,000 items over those at 100, medians of the kept curves."""
    pace = {}
    for axis, name in (("iteration", "lshsm-fig1"), ("seconds", "lshsm-fig2")):
        rows = pd.read_csv(EDITION_2 / f"{name}.csv.gz").query("start == 'singletons' and method == 'sums'")
        pace[axis] = rows.groupby("data")["x"].last()
    seconds = pace["seconds"] / pace["iteration"]
    ratio = float(seconds["S3"] / seconds["S1"])
    estimated = Estimate((ratio, np.nan, np.nan), 0, "data sets", None)
    return by_edge(claim, estimated, f"time of an iteration at N = 10,000 over that at N = 100: {ratio:.3g}", "")


SENTENCES: Mapping[str, Judge] = {
    "lower_than_gibbs": judge_sm_below_gibbs,
    "lead_kept_at_twice_the_time": judge_time,
    "lower_trace_time_than_gibbs": judge_sm_times,
    "lower_indicator_time_than_gibbs": judge_sm_times,
    "does_not_converge": judge_gibbs_rhat,
    "accepts_more_with_chains": judge_acceptance,
    "smaller_alpha_discriminates_more": judge_alpha,
    "order_has_no_influence": judge_order,
    "better_than_random": judge_hashing,
    "cost_growth": judge_cost,
}
"""Judges by metric."""
