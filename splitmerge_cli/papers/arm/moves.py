"""Figures 1 and 2: a reconfiguration move plate by plate, and why its path must be unique."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke
from matplotlib.typing import FillStyleType
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import races
from splitmerge_cli.analysis.plots.races import MERGE, SPLIT, probability_text
from splitmerge_cli.analysis.plots.style import FULL, footnote
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import Verdict, exactly, holds

# Figure 1

PLATES = {
    "state": "(A) state",
    "refinement": "(B) refinement c",
    "launch": "(C) launch",
    "blocks": "(D) blocks of c",
    "singles": "(E) single items",
}
RING, SPREAD, RIM = 5.6, 0.66, 0.75
"""Radius of the ring of clusters; distance of items within one; width around them."""
BLOCKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Letters of a block's items; all others are discs."""
CLUSTERS = ("#004C7F", "#D55E00", "#E0A6C8", "#7A4FBF", "#1FB58A", "#332288", "#111111")
"""Colours of the first plate's clusters, the largest first."""
FILLS: tuple[FillStyleType, ...] = ("full", "bottom", "left", "top", "right", "none")
"""Fillings of their marks, in the same order."""
FADED = 0.28

Labels = NDArray[np.int64]


def follow(plates: Sequence[Labels], first: dict[int, int], places: int) -> list[dict[int, int]]:
    """The place of every cluster by its label, on every plate: a cluster stays where the one is that shares most items
    with it.

    Plates are ``[N]``, -1: not placed; `first` has the places, of `places` in all, of the clusters of the first one.
    """
    slots = [first]
    for before, labels in pairwise(plates):
        pairs = Counter(
            (int(new), slots[-1][int(old)]) for old, new in zip(before, labels, strict=True) if min(old, new) >= 0
        )
        place: dict[int, int] = {}
        for (label, slot), _ in pairs.most_common():
            if label not in place and slot not in place.values():
                place[label] = slot
        free = [slot for slot in range(places) if slot not in place.values()]
        for label in sorted(set(labels.tolist()) - {-1} - set(place)):
            place[label] = free.pop(0)
        slots.append(place)
    return slots


def _disc(n: int) -> NDArray[np.float64]:
    """Places of n items in a disc, evenly (Vogel's spiral)."""
    k = np.arange(n)
    angle = k * np.pi * (3 - np.sqrt(5))
    radius = SPREAD * np.sqrt(k + (0.5 if n > 1 else 0))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def fig1(table: pd.DataFrame) -> Drawing:
    """A move plate by plate, and the way back."""
    ways = {
        way: {
            plate: rows.sort_values("item")["label"].to_numpy() for plate, rows in plates.groupby("plate", sort=False)
        }
        for way, plates in table.groupby("way", sort=False)
    }
    i, j = (int(table[name].iloc[0]) for name in "ij")
    start = ways["forth"]["state"]
    sizes = Counter(start.tolist()).most_common()
    places = max(
        len(set(p.tolist()) - {-1}) for plates in ways.values() for name, p in plates.items() if name != "refinement"
    )
    # a large cluster between two small ones
    order = sorted(range(places), key=lambda slot: (slot % 2, slot))
    first = {label: order[k] for k, (label, _) in enumerate(sizes)}
    rank = {label: k for k, (label, _) in enumerate(sizes)}
    figure, axes = plt.subplots(2, 5, figsize=(FULL, 3.35))
    for row, (way, plates) in zip(axes, ways.items(), strict=True):
        shown = [name for name in PLATES if name != "refinement"]
        placed = dict(zip(shown, follow([plates[name] for name in shown], first, places), strict=True))
        placed["refinement"] = placed["state"]
        for ax, name in zip(row, PLATES, strict=True):
            labels = plates["state"] if name == "refinement" else plates[name]
            block = np.full(len(labels), -1) if name == "state" else plates["refinement"]
            _plate(ax, labels, placed[name], places, [rank[label] for label in start], block, (i, j))
            if way == "forth":
                ax.set_title(PLATES[name], fontsize=8)
        state, end = plates["state"], plates["singles"]
        kind = "split" if state[i] == state[j] else "merge"
        row[0].text(-0.02, 0.5, f"{way}: a {kind}", transform=row[0].transAxes, rotation=90, ha="right", va="center")
        # the way back numbers the same partition in another way
        places_of_items = [placed["singles"][label] for label in end.tolist()]
        first = dict(zip(ways["back"]["state"].tolist(), places_of_items, strict=True))
    footnote(
        figure,
        "Colours, fillings: the cluster in (A); letters: blocks of c, small from another cluster; rings: i and j.",
    )
    ratio = float(table.loc[table["way"] == "forth", "log_ratio"].iloc[0])
    K = [len(set(ways[way]["state"].tolist())) for way in ways]
    notes = (
        f"Zachary's karate club, infinite relational model; a state of three Gibbs chains, whose history holds zᵃ and "
        "zᵇ. Blocks: those of the coarsest common refinement c within the clusters of i and j; in the middle: "
        "taken out. (D) every block is placed as a whole, "
        "(E) then single items move into the clusters of i and j, or out. "
        f"Log acceptance ratio forth {ratio:+.2f}, back {-ratio:+.2f}. Clusters: {K[0]} before, {K[1]} after.".replace(
            "-", "−"
        )
    )
    return Drawing(figure, table, _fig1_verdicts(ways, ratio), notes)


def _plate(
    ax: Axes,
    labels: Labels,
    place: dict[int, int],
    places: int,
    ranks: Sequence[int],
    block: Labels,
    pair: tuple[int, int],
) -> None:
    """One plate: clusters on a ring, what is not placed in the middle."""
    ax.set(xlim=(-10.2, 8.8), ylim=(-7.4, 9.4), aspect="equal")
    ax.axis("off")
    inside = (block >= 0).any()
    for label in sorted(set(labels.tolist())):
        items = np.flatnonzero(labels == label)
        # the items of a block side by side
        items = items[np.argsort(block[items], kind="stable")]
        angle = 2 * np.pi * place[label] / places + np.pi / 2 if label >= 0 else 0.0
        centre = RING * np.array([np.cos(angle), np.sin(angle)]) if label >= 0 else np.zeros(2)
        dashes = "-" if label >= 0 else (0, (2, 2))
        face = "#f4f4f2" if label >= 0 else "white"
        radius = SPREAD * np.sqrt(len(items)) + 0.55 * RIM
        ax.add_patch(Circle(tuple(centre), radius, facecolor=face, edgecolor="#9a9a94", linestyle=dashes, lw=0.7))
        for item, (x, y) in zip(items.tolist(), centre + _disc(len(items)), strict=True):
            # outside items stand back while blocks are shown
            alpha = FADED if inside and block[item] < 0 else 1.0
            look: dict[str, Any] = {
                "color": CLUSTERS[ranks[item] % len(CLUSTERS)],
                "alpha": alpha,
                "zorder": 3,
                "linestyle": "",
            }
            if block[item] < 0:
                filling = FILLS[ranks[item] % len(FILLS)]
                ax.plot(x, y, "o", fillstyle=filling, markersize=4.4, markeredgewidth=0.5, **look)
            else:
                letter = BLOCKS[block[item] % len(BLOCKS)]
                if ranks[item] != ranks[pair[0]]:
                    letter = letter.lower()
                ax.plot(x, y, marker=rf"$\mathbf{{{letter}}}$", markersize=5.0, markeredgewidth=0.1, **look)
            if item in pair:
                # the name stands outside of the cluster, on the side of the item
                towards = np.array([x, y]) - centre
                towards = towards / np.hypot(*towards) if len(items) > 1 else np.array([0.0, 1.0])
                ends = zip((x, y) + 0.75 * towards, centre + (radius + 0.5) * towards, strict=True)
                ax.plot(x, y, "o", markersize=7.6, fillstyle="none", color="#111111", markeredgewidth=0.9, zorder=4)
                ax.plot(*ends, color="#111111", linewidth=0.6, zorder=4)
                name = "ij"[pair.index(item)]
                halo = [withStroke(linewidth=1.6, foreground="white")]
                at_x, at_y = centre + (radius + 1.3) * towards
                ax.text(at_x, at_y, f"${name}$", fontsize=8, ha="center", va="center", zorder=6, path_effects=halo)


def _fig1_verdicts(ways: dict[str, dict[str, Labels]], ratio: float) -> list[Verdict]:
    claims = {c.metric: c for c in published_claims("arm-fig1")}
    before, after = (len(set(ways["forth"][plate].tolist())) for plate in ("state", "singles"))
    reached = _partition(ways["back"]["singles"]) == _partition(ways["forth"]["state"])
    return [
        holds(
            claims["number_of_blocks_stays"],
            after - before,
            after == before,
            f"the move that is drawn: {before} clusters before, {after} after; log ratio {ratio:+.2f}",
        ),
        holds(
            claims["reverse_move_exists"],
            float(reached),
            reached,
            "the compiled sampler, from the final state with the same i, j, za, zb, made the move back",
        ),
    ]


def _partition(labels: Labels) -> frozenset[frozenset[int]]:
    return frozenset(frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels))


# Figure 2

GREY = "#8a8a84"


def fig2(table: pd.DataFrame) -> Drawing:
    """Two paths to one partition, and the rule that removes one."""
    p = {key: rows.sort_values("step") for key, rows in table.groupby(["panel", "path"])}
    figure, axes = plt.subplots(1, 2, figsize=(FULL, 2.3))
    _draw_paths(axes[0], p["a", "upper"], p["a", "lower"], ("1", "2", "3"), allowed=True)
    _draw_paths(axes[1], p["b", "upper"], p["b", "lower"], ("i", "j", "h", "k"), allowed=False)
    axes[0].set_title("(a) Gibbs updates of 2 and 3: two paths", fontsize=8.5)
    axes[1].set_title("(b) a split of i and j: the rule forbids one", fontsize=8.5)
    both = _product(p["a", "upper"]) + _product(p["a", "lower"])
    compiled = float(p["b", "compiled"]["probability"].iloc[0])
    notes = (
        "Exact probabilities, infinite relational model. (a) Network 1-2, 1-3: the transition has probability "
        f"{_product(p['a', 'upper']):.4f} + {_product(p['a', 'lower']):.4f} = {both:.4f}. (b) Network of Figure 3, "
        "i, j, h, k = 1, 2, 3, 4: h is inside (in the cluster of i), k outside. Below, h has come into the block of k, "
        "whose last own item k is: it stays (eq. 17). Without the rule the grey step would have the probability in "
        f"brackets. The compiled walk proposes the end with {compiled:.4f}, the product of the upper path."
    )
    return Drawing(figure, table, _fig2_verdicts(p), notes)


def _product(path: pd.DataFrame) -> float:
    return float(path["probability"].prod())


def _labels(text: str) -> Labels:
    return np.array(text.split(), dtype=np.int64)


def _draw_paths(ax: Axes, upper: pd.DataFrame, lower: pd.DataFrame, names: Sequence[str], allowed: bool) -> None:
    """Start at the left, two states between, the end at the right."""
    ax.set(xlim=(-1, 25), ylim=(0.6, 14.6), aspect="equal")
    ax.axis("off")
    left, middle, right, centre, high, low = 3.3, 12.0, 20.7, 7.6, 12.0, 3.2
    _state(ax, left, centre, _labels(upper["start"].iloc[0]), names)
    _state(ax, right, centre, _labels(upper["end"].iloc[-1]), names)
    for path, y, may in [(upper, high, True), (lower, low, allowed)]:
        first, second = path.to_dict("records")
        _state(ax, middle, y, _labels(first["end"]), names)
        above = y > centre
        moved = [names[step["item"] - 1] for step in (first, second)]
        forth = f"{moved[0]}: {probability_text(first['probability'])}"
        _arrow(ax, (left + 1.2, centre + (2.1 if above else -2.1)), (middle - 3.5, y), forth, SPLIT, above)
        text = f"{moved[1]}: {probability_text(second['probability'])}"
        colour = MERGE if may else GREY
        end = (right - 1.2, centre + (2.1 if above else -2.1))
        _arrow(
            ax, (middle + 3.5, y), end, text if may else f"{moved[1]}: 0 ({text.split(': ')[1]})", colour, above, may
        )


def _state(ax: Axes, x: float, y: float, labels: Labels, names: Sequence[str]) -> None:
    """Blocks of a state, two in a row."""
    blocks = ["".join(names[n] for n in np.flatnonzero(labels == k).tolist()) for k in dict.fromkeys(labels.tolist())]
    rows = [blocks[k : k + 2] for k in range(0, len(blocks), 2)] if len(blocks) > 2 else [blocks]
    for r, row in enumerate(rows):
        races.state(ax, x, y + (0.98 if len(rows) > 1 else 0) - 1.96 * r, row)


def _arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str,
    colour: str,
    above: bool,
    allowed: bool = True,
) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=style | ({} if allowed else {"linestyle": (0, (2.5, 2))}))
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    side = -1 if x < 12 else 1
    ax.text(
        # next to the cross
        x + (0.25 if allowed else 1.0) * side,
        y + (0.45 if above else -0.45),
        text,
        ha="right" if side < 0 else "left",
        va="bottom" if above else "top",
        fontsize=7.5,
        color=colour,
    )
    if not allowed:
        ax.plot(x, y, "x", color=SPLIT, markersize=9, markeredgewidth=2, zorder=5)


def _fig2_verdicts(p: dict[tuple[str, str], pd.DataFrame]) -> list[Verdict]:
    claims = {c.metric: c for c in published_claims("arm-fig2")}
    upper, lower = _product(p["a", "upper"]), _product(p["a", "lower"])
    path, other = _product(p["b", "upper"]), _product(p["b", "lower"])
    compiled = float(p["b", "compiled"]["probability"].iloc[0])
    return [
        exactly(claims["two_paths"], (upper > 0) + (lower > 0)),
        holds(
            claims["product_is_not_the_transition"],
            upper + lower,
            lower > 0,
            f"{upper:.4f} by way of {{1}} {{2}} {{3}}, {lower:.4f} directly: together {upper + lower:.4f}",
        ),
        holds(
            claims["rule_removes_a_path"],
            compiled,
            abs(compiled - path) < 1e-9,
            f"the compiled walk proposes the end with {compiled:.6f}: the upper path ({path:.6f}); the lower would add "
            f"{other:.6f}",
        ),
    ]
