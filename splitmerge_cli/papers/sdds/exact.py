"""Exact numbers of Wang & Russell 2015: what moves propose (Table 1, Figures 1 and 2, without sampling), and the
posterior mean of the number of entities, in the limit of concentration 0 and above it.

`smcmc reproduce` stores the tables; `smcmc plot` draws from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import exp, inf, lgamma, log, perm
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import gammaln, logsumexp

from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.config import Component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.papers import verdicts as vd
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.verify.pieces import allocation_steps
from splitmerge_cli.verify.transitions import proposal_table

ALLOCATED = "AABBCC"
"""Table 1: the entity that is split, and each mention's side."""
SIDES = "001111"

MENTIONS = "AABBCCCC"
STATES = ["00001122", "00112233", "00001111"]
"""Figures 1 and 2: the state x of section 4.1, and what a smart split and a smart merge make of it."""


def _build(model: Component, mentions: str) -> Any:
    tokens = sorted(set(mentions))
    data = Dataset("example", "tokens", np.array([tokens.index(t) for t in mentions], np.int32), vocabulary=tokens)
    return model.target.from_data(data, **model.options)


def allocation(model: Component) -> pd.DataFrame:
    """Table 1: the probability of each step in the sequential allocation, under the code's own proposal; columns step
    (1 ..), token, side (1 or 2), probability."""
    sides = [int(s) for s in SIDES]
    steps = allocation_steps(_build(model, ALLOCATED), list(range(len(ALLOCATED))), sides)
    columns = {"token": list(ALLOCATED), "side": [s + 1 for s in sides], "probability": steps}
    return pd.DataFrame({"step": range(1, len(steps) + 1), **columns})


def words(labels: Sequence[int]) -> str:
    """Return the clusters of `MENTIONS` in alphabetical order, joined by ``|``; empty entities are left out."""
    clusters: dict[int, str] = {}
    for token, label in zip(MENTIONS, labels, strict=True):
        clusters[label] = clusters.get(label, "") + token
    return "|".join(sorted(clusters.values()))


EQUATION_3 = "_by_equation_3"


def equation_3(labels: Sequence[int], alpha: float) -> pd.DataFrame:
    """Smart merge and smart split by equation 3 from `labels`, 0 to K - 1: every merge, and every split, in proportion
    to the state it leads to; columns move, target (as by `words`), probability.

    All merges lead to one number of entities, and so do all splits, so that the states differ in their marginals alone.
    """
    K = max(labels) + 1
    ends = {"smart_merge": [[a if k == b else k for k in labels] for a, b in combinations(range(K), 2)]}
    ends["smart_split"] = []
    for entity in range(K):
        members = [n for n, k in enumerate(labels) if k == entity]
        for sides in product((entity, K), repeat=len(members)):
            placed = dict(zip(members, sides, strict=True))
            ends["smart_split"].append([placed.get(n, k) for n, k in enumerate(labels)])
    tables = []
    for move, states in ends.items():
        log_weights = np.array([_log_marginal(state, alpha) for state in states])
        weights = np.exp(log_weights - log_weights.max())
        table = pd.DataFrame({"target": [words(state) for state in states], "probability": weights / weights.sum()})
        tables.append(table.groupby("target", as_index=False).sum().assign(move=move + EQUATION_3))
    return pd.concat(tables, ignore_index=True)[["move", "target", "probability"]]


def _log_marginal(labels: Sequence[int], alpha: float) -> float:
    """Log of the product over entities of B(alpha + n) / B(alpha), for the tokens of `MENTIONS`."""
    tokens = sorted(set(MENTIONS))
    total = 0.0
    for entity in set(labels):
        tokens_here = [t for t, k in zip(MENTIONS, labels, strict=True) if k == entity]
        total += sum(lgamma(alpha + tokens_here.count(t)) - lgamma(alpha) for t in tokens)
        total -= lgamma(len(tokens) * alpha + len(tokens_here)) - lgamma(len(tokens) * alpha)
    return total


def proposals(model: Component, samplers: Sequence[Component]) -> pd.DataFrame:
    """Figures 1 and 2: what each move of the experiment's sampler proposes from the states of section 4.1; columns
    state, move, target (clusters as by `words`), probability (given the move).

    Proposals that differ in which mentions of a token they place, or in empty entities, only are summed. Moves that end
    in `EQUATION_3` are the ones of section 4: all merges or splits, in proportion to the posterior of the states that
    they lead to.
    """
    built = _build(model, MENTIONS)
    tables = []
    for state in STATES:
        labels = tuple(int(label) for label in state)
        table = proposal_table(built, samplers[0], (labels, max(labels) + 1))
        table["target"] = [words(target) for target, _ in table["target_state"]]
        sums = table.groupby(["move", "target"], as_index=False)["probability"].sum()
        sums["probability"] /= sums.groupby("move")["probability"].transform("sum")
        sums = pd.concat([sums, equation_3(labels, model.options["alpha"])], ignore_index=True)
        sums.insert(0, "state", words(labels))
        tables.append(sums.sort_values(["move", "probability"], ascending=[True, False]))
    return pd.concat(tables, ignore_index=True)


CAPS = (60, 100, 300, 1000, 2000, 10_000)
"""Largest K under which the mean is tabled. The paper names none; from 10,000 on the mean no longer changes."""


def mean_K(
    N: int, entities: int, n_tokens: int, kmax: int, mu: float, sigma: float, label_prior: str = "labelled"
) -> float:
    """Posterior mean of K in the limit alpha -> 0, when each of `entities` entities says one token of its own.

    In that limit a cluster of one token has g = 1/L, whatever its size, and one of several has g = 0. So a state with K
    entities, T of them occupied, weighs P(K) K^-N L^-T, and their number is K!/(K-T)! times the number of partitions of
    the mentions into T pure clusters: a coefficient of the product over tokens of sum_j S(n_t, j) x^j, with Stirling
    numbers of the second kind. Counted in exact integers.

    The N mentions are spread evenly, `n_tokens` is the size L of the vocabulary, and the target is the model's
    posterior pi (labelled), pi / K! (partition), or pi 2^K / K! (as_printed).
    """
    pure = np.array([1], dtype=object)
    for e in range(entities):
        row = [1]
        for m in range(N // entities + (e < N % entities)):
            row = [row[j - 1] * (j > 0) + j * (row[j] if j <= m else 0) for j in range(m + 2)]
        pure = np.convolve(pure, np.array(row, dtype=object))[: kmax + 1]
    log_weights = []
    for K in range(1, kmax + 1):
        top = min(K, len(pure) - 1)
        states = sum(pure[T] * perm(K, T) * n_tokens ** (top - T) for T in range(top + 1))
        extra = {"labelled": 0.0, "partition": -lgamma(K + 1), "as_printed": K * log(2) - lgamma(K + 1)}[label_prior]
        prior = -log(K) - (log(K) - mu) ** 2 / (2 * sigma**2)
        log_weights.append(log(states) - top * log(n_tokens) - N * log(K) + prior + extra if states else -inf)
    peak = max(log_weights)
    weights = [exp(w - peak) for w in log_weights]
    return sum(K * w for K, w in enumerate(weights, start=1)) / sum(weights)


def mean_K_by_cap(
    N: int,
    mu: float,
    alpha: float = 0.001,
    caps: Sequence[int] = CAPS,
    tokens: int = 10,
    label_prior: str = "labelled",
) -> list[float]:
    """Posterior mean of K under each cap on K, at a concentration `alpha` of the dictionaries above 0 and sigma = 1,
    with ``N // tokens`` mentions of each token and the location `mu` of the prior of K; `label_prior` as for `mean_K`.

    Summed over the states whose entities have one token each; an entity of two has a factor of the order of `alpha`.
    """
    m = N // tokens
    g = np.cumsum(np.log(alpha + np.arange(m)) - np.log(tokens * alpha + np.arange(m)))
    # log of the sum over partitions of n mentions of a token into j parts of the product of g
    parts = np.full((m + 1, m + 1), -np.inf)
    parts[0, 0] = 0.0
    for n in range(1, m + 1):
        first = np.arange(1, n + 1)  # size of the part of the first mention
        choose = gammaln(n) - gammaln(first) - gammaln(n - first + 1) + g[:n]
        parts[n] = logsumexp(choose[:, None] + np.roll(parts[n - first], 1, axis=1), axis=0)
    pure = np.array([0.0])
    for _ in range(tokens):
        pairs = pure[:, None] + parts[m]
        pure = np.array([logsumexp(np.diag(pairs[:, ::-1], m - t)) for t in range(len(pure) + m)])
    K, T = np.arange(1, max(caps) + 1), np.arange(len(pure))
    log_weights = np.empty(len(K))
    for part in np.array_split(np.arange(len(K)), 1 + len(K) // 2000):
        k = K[part, None]
        numbered = np.where(k >= T, gammaln(k + 1) - gammaln(np.maximum(k - T, 0) + 1), -np.inf)
        log_weights[part] = logsumexp(pure + numbered, axis=1)
    log_weights -= (N + 1) * np.log(K) + (np.log(K) - mu) ** 2 / 2
    if label_prior == "as_printed":
        log_weights += K * log(2) - gammaln(K + 1)
    weights = np.exp(log_weights - log_weights.max())
    return [float(K[:cap] @ weights[:cap] / weights[:cap].sum()) for cap in caps]


def table1(table: pd.DataFrame) -> Drawing:
    """Sequential allocation of AABBCC."""
    claims = published_claims("sdds-table1")
    verdicts = [vd.exactly(c, p) for c, p in zip(claims, table["probability"], strict=True)]
    figure, ax = plt.subplots(figsize=(style.HALF, 0.54 * style.HALF))
    ax.set(xlim=(-2.1, 12.0), ylim=(-4.9, 2.7), aspect="equal")
    ax.axis("off")
    column = 1.95
    heads = ["step", "E′₁", "E′₂", "ours", "paper"]
    for y, head in zip([1.9, 0.75, -0.55, -1.9, -3.1], heads, strict=True):
        ax.text(-0.2, y, head, ha="right", va="center", fontsize=7, color="#222222")
    for rule in (2.5, 1.4, -1.2, -3.8):
        ax.plot([-2.0, 0.2 + 6 * column], [rule, rule], color="#999999", linewidth=0.7)
    for row, verdict in zip(table.itertuples(index=False), verdicts, strict=True):
        x = 0.2 + (row.step - 0.5) * column
        ax.text(x, 1.9, str(row.step), ha="center", va="center", fontsize=7)
        for side, y in [(1, 0.75), (2, -0.55)]:
            held = table[(table["step"] <= row.step) & (table["side"] == side)]
            left = x - (len(held) - 1) * 0.23
            for k, (step, token) in enumerate(zip(held["step"], held["token"], strict=True)):
                if step == row.step:
                    ax.plot(left + k * 0.46, y - 0.42, marker="^", color="#222222", markersize=2.5)
                races.letter(ax, left + k * 0.46, y, token, side=0.42, size=style.SMALLEST)
        ax.text(x, -1.9, f"{row.probability:.3f}", ha="center", va="center", fontsize=7, fontweight="bold")
        same = verdict.verdict == vd.REPRODUCED
        colour = "#555555" if same else races.SPLIT
        ax.text(x, -3.1, f"{verdict.claim.value:.3f}", ha="center", va="center", fontsize=7, color=colour)
        if not same:
            ax.text(x, -4.3, "erratum", ha="center", va="center", fontsize=6.5, color=colour)
    plotted = table.assign(paper=[c.value for c in claims])
    return Drawing(figure, plotted, verdicts)


X = ("AABB", "CC", "CC")
SPLIT = ("AA", "BB", "CC", "CC")
MERGED = ("AABB", "CCCC")
CONFLICT = ("AA", "BB", "CCCC")


@dataclass(frozen=True)
class _Proposals:
    """Proposal probabilities given the type of move, from the table that `exact.proposals` computes."""

    table: pd.DataFrame

    def probability(self, move: str, start: Sequence[str], end: Sequence[str]) -> float:
        """Probability that `move` proposes `end` from `start`."""
        return float(self._probabilities(move, start).get("|".join(sorted(end)), 0.0))

    def favourite(self, move: str, start: Sequence[str]) -> tuple[tuple[str, ...], float]:
        """The state that `move` proposes most often from `start`, and its probability."""
        of_move = self._probabilities(move, start)
        best = str(of_move.idxmax())
        return tuple(best.split("|")), float(of_move.max())

    def _probabilities(self, move: str, start: Sequence[str]) -> pd.Series:
        rows = self.table[(self.table["move"] == move) & (self.table["state"] == "|".join(sorted(start)))]
        return rows.set_index("target")["probability"]


WAYS = [("smart_split", SPLIT, "x₁"), ("smart_merge", MERGED, "x₂")]
"""Rows of Figures 1 and 2: the smart move, and where it takes x."""
EQUAL = (
    "By Algorithm 3 the smart merge is as probable in (a) as the dumb one: it, too, draws its first entity uniformly, "
    "and {AA} or {BB} goes with any other equally well."
)
"""Why the compiled smart merge undoes the smart split as often as the dumb one does."""
SMART = {EQUATION_3: "smart moves by equation 3", "": "smart moves by Algorithms 2 and 3"}
"""How names of smart moves end, and under which reading they are."""
NOTES_OF_PROPOSALS = (
    "Numbers: exact probabilities that the move proposes this state, given its kind; smart moves as equation 3 defines "
    "them. Arrows are as wide as they are probable; dashed: not the most probable move from there."
)
INVERSE = {"smart_split": "merge", "smart_merge": "split"}


def fig1(table: pd.DataFrame) -> Drawing:
    """The conflict of smart split and smart merge."""
    q = _Proposals(table)
    verdicts = [verdict for end, reading in SMART.items() for verdict in _judge_smart(q, end, reading)]
    return Drawing(picture_fig1(table), table, verdicts, NOTES_OF_PROPOSALS)


def picture_fig1(numbers: pd.DataFrame) -> Figure:
    """Two rows of states: smart moves forth and back."""
    return _draw_ways(_Proposals(numbers), "sdds-fig1", "smart")


def fig2(table: pd.DataFrame) -> Drawing:
    """The two kernels of SDDS."""
    q = _Proposals(table)
    claims = {c.metric: c for c in published_claims("sdds-fig2")}
    verdicts = []
    for (forth, there, _), (end, reading) in product(WAYS, SMART.items()):
        inverse = INVERSE[forth]
        dumb, smart = q.probability(f"dumb_{inverse}", there, X), q.probability(f"smart_{inverse}{end}", there, X)
        more = dumb > smart * (1 + 1e-9)
        reason = f"dumb {inverse} {dumb:.3g}, {'more' if more else 'no more'} than the smart {inverse}'s {smart:.3g}"
        verdicts.append(vd.holds(claims[f"dumb_{inverse}_keeps_its_share"], dumb, more, reason, reading))
    forth, there, _ = WAYS[0]
    same = np.isclose(q.probability(f"smart_{INVERSE[forth]}", there, X), q.probability("dumb_merge", there, X))
    return Drawing(picture_fig2(table), table, verdicts, NOTES_OF_PROPOSALS + f" {EQUAL}" * bool(same))


def picture_fig2(numbers: pd.DataFrame) -> Figure:
    """Two rows of states: a smart move forth, a dumb one back."""
    return _draw_ways(_Proposals(numbers), "sdds-fig2", "dumb")


def _draw_ways(q: _Proposals, figure_id: str, kind: str) -> Figure:
    """Two rows: x, where a smart move takes it, and where a smart or dumb move goes from there."""
    # how the names of smart moves end under the reading that counts; kept numbers may be without it
    (reading,) = {claim.reading for claim in published_claims(figure_id)}
    (counted,) = (end for end, words in SMART.items() if words == reading)
    counted = counted if q.table["move"].str.endswith(EQUATION_3).any() else ""
    width, height, level = 51.5, 10.2, 4.7
    figure, axes = plt.subplots(2, 1, figsize=(style.FULL, style.FULL * 2 * height / width))
    for ax, letter, (forth, there, name) in zip(axes, "ab", WAYS, strict=True):
        ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        ax.axis("off")
        title = f"({letter}) {forth.replace('_', ' ')}, undone by a {kind} {INVERSE[forth]}"
        ax.text(0, height, title, fontsize=8.5, va="top", color="#222222")
        back = f"{kind}_{INVERSE[forth]}"
        smart_back = f"smart_{INVERSE[forth]}{counted}"
        way_back = smart_back if kind == "smart" else back
        rival, _ = q.favourite(smart_back, there)
        start = races.state(ax, 6.0, level, X, "x")
        middle = races.state(ax, 26.2, level, there, f"{name}′")
        end = races.state(ax, 45.4, level, rival, f"{name}″")
        p_forth = q.probability(forth + counted, X, there)
        p_back, p_rival = (q.probability(way_back, there, target) for target in (X, rival))
        colour, colour_back = (races.SPLIT if move.endswith("split") else races.MERGE for move in (forth, back))
        left, right = start[1] + 0.6, middle[0] - 0.6
        centre = (left + right) / 2
        races.arrow(ax, (left, level + 0.75), (right, level + 0.75), p_forth, colour)
        races.label(ax, centre, level + 1.9, forth, p_forth, colour, above=True)
        likely = kind == "dumb" or p_back >= p_rival
        races.arrow(ax, (right, level - 0.95), (left, level - 0.95), p_back, colour_back, likely)
        races.label(ax, centre, level - 1.9, back, p_back, colour_back, above=False)
        left, right = middle[1] + 0.6, end[0] - 0.6
        races.arrow(ax, (left, level), (right, level), p_rival, colour_back)
        races.label(ax, (left + right) / 2, level - 1.25, back, p_rival, colour_back, above=False)
        ratio = races.probability_text(p_back / p_forth)
        note = f"way back / way forth = {ratio}"
        if kind == "dumb":
            smart = q.probability(smart_back, there, X)
            note += f"   (with a smart {INVERSE[forth]}: {races.probability_text(smart / p_forth)})"
        ax.text(width, height, note, fontsize=7.5, ha="right", va="top", color="#444444", linespacing=1.25)
    return figure


def _judge_smart(q: _Proposals, end: str, reading: str) -> list[vd.Verdict]:
    """Verdicts of Figure 1 for one definition of the smart moves, whose names have this end."""
    claims = {c.metric: c for c in published_claims("sdds-fig1")}
    verdicts = []
    for metric, move, start, expected in [
        ("smart_split_prefers_AA_BB", "smart_split", X, SPLIT),
        ("smart_merge_then_prefers_CCCC", "smart_merge", SPLIT, CONFLICT),
        ("smart_merge_prefers_CCCC", "smart_merge", X, MERGED),
        ("smart_split_then_prefers_AA_BB", "smart_split", MERGED, CONFLICT),
    ]:
        target, p = q.favourite(move + end, start)
        same = sorted(target) == sorted(expected)
        shown = " ".join("{" + tokens + "}" for tokens in target)
        verdicts.append(vd.holds(claims[metric], p, same, f"most probable: {shown}, {p:.3g}", reading))
    for metric, move, start in [
        ("reverse_merge_unlikely", "smart_merge", SPLIT),
        ("reverse_split_unlikely", "smart_split", MERGED),
    ]:
        p, (_, preferred) = q.probability(move + end, start, X), q.favourite(move + end, start)
        # "highly unlikely", "only a tiny probability": an order of magnitude below the preferred move
        reason = f"{p:.3g} against {preferred:.3g} for the preferred move (rule: a tenth of it at most)"
        verdicts.append(vd.holds(claims[metric], p, p <= preferred / 10, reason, reading))
    return verdicts
