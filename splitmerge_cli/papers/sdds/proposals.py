"""Table 1, Figures 1 and 2: what smart and dumb moves propose, computed without sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from splitmerge_cli.analysis.plots import boxes
from splitmerge_cli.analysis.plots.style import FULL, HALF, SMALLEST
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.sdds.exact import EQUATION_3
from splitmerge_cli.papers.verdicts import REPRODUCED, Verdict, exactly, holds


def table1(table: pd.DataFrame) -> Drawing:
    """Sequential allocation of AABBCC."""
    claims = published_claims("sdds-table1")
    verdicts = [exactly(c, p) for c, p in zip(claims, table["probability"], strict=True)]
    figure, ax = plt.subplots(figsize=(HALF, 0.54 * HALF))
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
                boxes.letter(ax, left + k * 0.46, y, token, side=0.42, size=SMALLEST)
        ax.text(x, -1.9, f"{row.probability:.3f}", ha="center", va="center", fontsize=7, fontweight="bold")
        same = verdict.verdict == REPRODUCED
        colour = "#555555" if same else boxes.SPLIT
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
NOTES = (
    "Numbers: exact probabilities that the move proposes this state, given its kind; smart moves as equation 3 defines "
    "them. Arrows are as wide as they are probable; dashed: not the most probable move from there."
)
INVERSE = {"smart_split": "merge", "smart_merge": "split"}


def fig1(table: pd.DataFrame) -> Drawing:
    """The conflict of smart split and smart merge."""
    q = _Proposals(table)
    verdicts = [verdict for end, reading in SMART.items() for verdict in _judge_smart(q, end, reading)]
    return Drawing(picture_fig1(table), table, verdicts, NOTES)


def picture_fig1(numbers: pd.DataFrame) -> Figure:
    """Two rows of states: smart moves forth and back."""
    titles = ["(a) smart split, undone by a smart merge", "(b) smart merge, undone by a smart split"]
    return _draw_ways(_Proposals(numbers), "sdds-fig1", "smart", titles)


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
        verdicts.append(holds(claims[f"dumb_{inverse}_keeps_its_share"], dumb, more, reason, reading))
    forth, there, _ = WAYS[0]
    same = np.isclose(q.probability(f"smart_{INVERSE[forth]}", there, X), q.probability("dumb_merge", there, X))
    return Drawing(picture_fig2(table), table, verdicts, f"{NOTES} {EQUAL}" if same else NOTES)


def picture_fig2(numbers: pd.DataFrame) -> Figure:
    """Two rows of states: a smart move forth, a dumb one back."""
    titles = ["(a) smart split, undone by a dumb merge", "(b) smart merge, undone by a dumb split"]
    return _draw_ways(_Proposals(numbers), "sdds-fig2", "dumb", titles)


def counted_end(q: _Proposals, figure: str) -> str:
    """How the names of smart moves end under the reading of a figure's claims; of kept numbers without it, by
    Algorithms 2 and 3."""
    (reading,) = {claim.reading for claim in published_claims(figure)}
    (end,) = (end for end, words in SMART.items() if words == reading)
    return end if q.table["move"].str.endswith(EQUATION_3).any() else ""


def _draw_ways(q: _Proposals, figure_id: str, kind: str, titles: Sequence[str]) -> Figure:
    """Two rows: x, where a smart move takes it, and where a smart or dumb move goes from there."""
    counted = counted_end(q, figure_id)
    width, height, level = 51.5, 10.2, 4.7
    figure, axes = plt.subplots(2, 1, figsize=(FULL, FULL * 2 * height / width))
    for ax, title, (forth, there, name) in zip(axes, titles, WAYS, strict=True):
        ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        ax.axis("off")
        ax.text(0, height, title, fontsize=8.5, va="top", color="#222222")
        back = f"{kind}_{INVERSE[forth]}"
        smart_back = f"smart_{INVERSE[forth]}{counted}"
        way_back = smart_back if kind == "smart" else back
        rival, _ = q.favourite(smart_back, there)
        start = boxes.state(ax, 6.0, level, X, "x")
        middle = boxes.state(ax, 26.2, level, there, f"{name}′")
        end = boxes.state(ax, 45.4, level, rival, f"{name}″")
        p_forth, p_back, p_rival = (
            q.probability(forth + counted, X, there),
            q.probability(way_back, there, X),
            q.probability(way_back, there, rival),
        )
        left, right = start.x + start.width / 2 + 0.6, middle.x - middle.width / 2 - 0.6
        centre = (left + right) / 2
        label = boxes.label
        boxes.arrow(ax, (left, level + 0.75), (right, level + 0.75), p_forth, _colour(forth))
        label(ax, centre, level + 1.9, forth, p_forth, _colour(forth), above=True)
        likely = kind == "dumb" or p_back >= p_rival
        boxes.arrow(ax, (right, level - 0.95), (left, level - 0.95), p_back, _colour(back), likely)
        label(ax, centre, level - 1.9, back, p_back, _colour(back), above=False)
        left, right = middle.x + middle.width / 2 + 0.6, end.x - end.width / 2 - 0.6
        boxes.arrow(ax, (left, level), (right, level), p_rival, _colour(back))
        label(ax, (left + right) / 2, level - 1.25, back, p_rival, _colour(back), above=False)
        ratio = boxes.probability_text(p_back / p_forth)
        note = f"way back / way forth = {ratio}"
        if kind == "dumb":
            smart = q.probability(smart_back, there, X)
            note += f"   (with a smart {INVERSE[forth]}: {boxes.probability_text(smart / p_forth)})"
        ax.text(width, height, note, fontsize=7.5, ha="right", va="top", color="#444444", linespacing=1.25)
    return figure


def _colour(move: str) -> str:
    return boxes.SPLIT if move.endswith("split") else boxes.MERGE


def _judge_smart(q: _Proposals, end: str, reading: str) -> list[Verdict]:
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
        verdicts.append(holds(claims[metric], p, same, f"most probable: {shown}, {p:.3g}", reading))
    for metric, move, start in [
        ("reverse_merge_unlikely", "smart_merge", SPLIT),
        ("reverse_split_unlikely", "smart_split", MERGED),
    ]:
        p, (_, preferred) = q.probability(move + end, start, X), q.favourite(move + end, start)
        # "highly unlikely", "only a tiny probability": an order of magnitude below the preferred move
        reason = f"{p:.3g} against {preferred:.3g} for the preferred move (rule: a tenth of it at most)"
        verdicts.append(holds(claims[metric], p, p <= preferred / 10, reason, reading))
    return verdicts
