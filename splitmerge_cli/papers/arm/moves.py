"""Exact figures of Herlau et al. 2014: Figure 1, a reconfiguration move plate by plate, Figure 2, why its path must be
unique, both from the compiled walk, and Figure 3, how often each partition of the 4-node network is visited.

`smcmc reproduce` stores the tables of Figures 1 and 2; `smcmc plot` draws from them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Patch
from matplotlib.patheffects import withStroke
from matplotlib.typing import FillStyleType
from numpy.typing import NDArray

from splitmerge_cli.analysis.plots import races, style
from splitmerge_cli.config import Component, DataSource, component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.verdicts import Verdict, by_noise, exactly, holds
from splitmerge_cli.runs.initial import build_model, dataset_of
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.verify import transitions
from splitmerge_cli.verify.enumerate import State, irm_log_weight, mixture_states, normalise, state_of

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
    figure, axes = plt.subplots(2, 5, figsize=(style.FULL, 3.35))
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
    style.footnote(
        figure,
        "Colours, fillings: the cluster in (A); letters: blocks of c, small from another cluster; rings: i and j.",
    )
    ratio = float(table.loc[table["way"] == "forth", "log_ratio"].iloc[0])
    before, after = (len(set(ways[way]["state"].tolist())) for way in ways)
    reached = transitions.is_same_partition(ways["back"]["singles"], start)
    claims = {c.metric: c for c in published_claims("arm-fig1")}
    counted = f"the move that is drawn: {before} clusters before, {after} after; log ratio {ratio:+.2f}"
    undone = "the compiled sampler, from the final state with the same i, j, za, zb, made the move back"
    verdicts = [
        holds(claims["number_of_blocks_stays"], after - before, after == before, counted),
        holds(claims["reverse_move_exists"], float(reached), reached, undone),
    ]
    notes = (
        "Zachary's karate club, infinite relational model; a state of three Gibbs chains, whose history holds zᵃ and "
        "zᵇ. Blocks: those of the coarsest common refinement c within the clusters of i and j; in the middle: taken "
        "out. (D) every block is placed as a whole, (E) then single items move into the clusters of i and j, or out. "
        f"Log acceptance ratio forth {ratio:+.2f}, back {-ratio:+.2f}. Clusters: {before} before, {after} after."
    )
    return Drawing(figure, table, verdicts, notes.replace("-", "−"))


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
            colour = CLUSTERS[ranks[item] % len(CLUSTERS)]
            look: dict[str, Any] = {"color": colour, "alpha": alpha, "zorder": 3, "linestyle": ""}
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


# Figure 2

GREY = "#8a8a84"


def fig2(table: pd.DataFrame) -> Drawing:
    """Two paths to one partition, and the rule that removes one."""
    p = {key: rows.sort_values("step") for key, rows in table.groupby(["panel", "path"])}
    figure, axes = plt.subplots(1, 2, figsize=(style.FULL, 2.3))
    _draw_paths(axes[0], p["a", "upper"], p["a", "lower"], ("1", "2", "3"), allowed=True)
    _draw_paths(axes[1], p["b", "upper"], p["b", "lower"], ("i", "j", "h", "k"), allowed=False)
    axes[0].set_title("(a) Gibbs updates of 2 and 3: two paths", fontsize=8.5)
    axes[1].set_title("(b) a split of i and j: the rule forbids one", fontsize=8.5)
    upper, lower, path, other, compiled = (
        float(p[key]["probability"].prod()) for key in [*product("ab", ("upper", "lower")), ("b", "compiled")]
    )
    claims = {c.metric: c for c in published_claims("arm-fig2")}
    by_way = f"{upper:.4f} by way of {{1}} {{2}} {{3}}, {lower:.4f} directly: together {upper + lower:.4f}"
    proposed = (
        f"the compiled walk proposes the end with {compiled:.6f}: the upper path ({path:.6f}); the lower would add "
        f"{other:.6f}"
    )
    verdicts = [
        exactly(claims["two_paths"], (upper > 0) + (lower > 0)),
        holds(claims["product_is_not_the_transition"], upper + lower, lower > 0, by_way),
        holds(claims["rule_removes_a_path"], compiled, abs(compiled - path) < 1e-9, proposed),
    ]
    notes = (
        "Exact probabilities, infinite relational model. (a) Network 1-2, 1-3: the transition has probability "
        f"{upper:.4f} + {lower:.4f} = {upper + lower:.4f}. (b) Network of Figure 3, "
        "i, j, h, k = 1, 2, 3, 4: h is inside (in the cluster of i), k outside. Below, h has come into the block of k, "
        "whose last own item k is: it stays (eq. 17). Without the rule the grey step would have the probability in "
        f"brackets. The compiled walk proposes the end with {compiled:.4f}, the product of the upper path."
    )
    return Drawing(figure, table, verdicts, notes)


def _draw_paths(ax: Axes, upper: pd.DataFrame, lower: pd.DataFrame, names: Sequence[str], allowed: bool) -> None:
    """Start at the left, two states between, the end at the right."""
    ax.set(xlim=(-1, 25), ylim=(0.6, 14.6), aspect="equal")
    ax.axis("off")
    left, middle, right, centre, high, low = 3.3, 12.0, 20.7, 7.6, 12.0, 3.2
    _state(ax, left, centre, upper["start"].iloc[0], names)
    _state(ax, right, centre, upper["end"].iloc[-1], names)
    for path, y, may in [(upper, high, True), (lower, low, allowed)]:
        first, second = path.to_dict("records")
        _state(ax, middle, y, first["end"], names)
        above = y > centre
        edge = centre + (2.1 if above else -2.1)
        moved = [names[step["item"] - 1] for step in (first, second)]
        p_first, p_second = (races.probability_text(step["probability"]) for step in (first, second))
        _arrow(ax, (left + 1.2, edge), (middle - 3.5, y), f"{moved[0]}: {p_first}", races.SPLIT, above)
        text, colour = f"{moved[1]}: {p_second if may else f'0 ({p_second})'}", races.MERGE if may else GREY
        _arrow(ax, (middle + 3.5, y), (right - 1.2, edge), text, colour, above, may)


def _state(ax: Axes, x: float, y: float, labels: str, names: Sequence[str]) -> None:
    """Blocks of a state, two in a row."""
    blocks = _blocks(labels.split(), names)
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
    line = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=line | ({} if allowed else {"linestyle": (0, (2.5, 2))}))
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    side = -1 if x < 12 else 1
    look: dict[str, Any] = {"ha": "right" if side < 0 else "left", "va": "bottom" if above else "top", "color": colour}
    # next to the cross
    ax.text(x + (0.25 if allowed else 1.0) * side, y + (0.45 if above else -0.45), text, fontsize=7.5, **look)
    if not allowed:
        ax.plot(x, y, "x", color=races.SPLIT, markersize=9, markeredgewidth=2, zorder=5)


def plates(data: DataSource, model: Component, samplers: Sequence[Component], seed: int) -> pd.DataFrame:
    """Figure 1: a move, and the move that undoes it, by the data, model, sampler and seed of the experiment.

    Columns way (forth, back), plate, item, label (-1: not placed; in the refinement the block of c, -1 outside), i, j,
    log_ratio.
    """
    built = build_model(model, data.function(**data.options))
    frames = []
    for way, move in zip(("forth", "back"), transitions.find_example(built, samplers[0], seed), strict=True):
        (i, j), ratio = move.pair, move.log_ratio
        for name, labels in move.plates:
            cells = {"way": way, "plate": name, "item": np.arange(len(labels)), "label": labels}
            frames.append(pd.DataFrame({**cells, "i": i, "j": j, "log_ratio": ratio}))
    return pd.concat(frames, ignore_index=True)


THREE: tuple[State, tuple[int, ...]] = (((0, 0, 1), 2), (0, 1, 1))
"""(a): {1,2},{3}, and where both paths lead: {1},{2,3}."""
FOUR: tuple[State, tuple[int, ...]] = (((0, 0, 0, 1), 2), (0, 1, 2, 0))
"""(b): {1,2,3},{4}; a split of i = 1 and j = 2, with h = 3 and k = 4; and {1,4},{2},{3}."""

Step = tuple[int, tuple[int, ...], Sequence[tuple[int, ...]]]
"""The item that is updated, where it goes, and all its options; states as labels."""


def _a(first: tuple[int, ...]) -> list[Step]:
    """Updates of items 2 and 3: 2 goes to `first`, 3 joins it."""
    second = [(0, 1, 0), (0, 1, 1), (0, 1, 2)]
    return [(1, first, [(0, 0, 1), (0, 1, 1), (0, 1, 2)]), (2, (0, 1, 1), second)]


def _b(first: tuple[int, ...], stays: tuple[int, ...]) -> list[Step]:
    """Updates of h = 3 and k = 4: 3 goes to `first`, where 4 may stay, or go to i = 1 or j = 2."""
    options = [(0, 1, 0, 2), (0, 1, 1, 2), (0, 1, 2, 2), (0, 1, 2, 3)]
    return [(2, first, options), (3, FOUR[1], [stays, (0, 1, 2, 0), (0, 1, 2, 1)])]


PATHS = {
    ("a", "upper"): (THREE[0], _a((0, 1, 2))),
    ("a", "lower"): (THREE[0], _a((0, 1, 1))),
    ("b", "upper"): (FOUR[0], _b((0, 1, 2, 3), (0, 1, 2, 3))),
    ("b", "lower"): (FOUR[0], _b((0, 1, 2, 2), (0, 1, 2, 2))),
}
"""The paths of Figure 2, by panel."""


def paths(data: DataSource, model: Component) -> pd.DataFrame:
    """Figure 2: two paths to one partition, twice, on the experiment's network of four nodes; of panel (a) its first
    three.

    Columns panel, path (upper, lower; of (b) also `compiled`: the probability with which the compiled walk of a split
    of items 1 and 2 proposes the end), step, item (from 1), start, end (labels as text), probability.
    """
    dataset, rows = data.function(**data.options), []
    for (panel, path), (start, steps) in PATHS.items():
        n = len(start[0])
        part = Dataset("part", "graph", dataset.values[:n][:, :n])
        built, state = build_model(model, part), start[0]
        for number, (item, end, options) in enumerate(steps, start=1):
            p = transitions.option_probabilities(built, options)[list(options).index(end)]
            rows.append((panel, path, number, item + 1, _text(state), _text(end), float(p)))
            state = end
    whole = build_model(model, dataset)
    p = transitions.proposal_probability(whole, component("sampler", "sarm"), *FOUR, (0, 1))
    rows.append(("b", "compiled", 1, 0, _text(FOUR[0][0]), _text(FOUR[1]), p))
    return pd.DataFrame(rows, columns=["panel", "path", "step", "item", "start", "end", "probability"])


def _text(labels: Sequence[int]) -> str:
    return " ".join(map(str, labels))


@dataclass(frozen=True)
class Frequencies:
    """How often a sampler visited every partition: frequencies ``[restarts, partitions]`` of each restart, over all its
    chains; and the chains and iterations of a restart."""

    restarts: NDArray[np.float64]
    chains: int
    iterations: int

    @property
    def mean(self) -> NDArray[np.float64]:
        """Over restarts."""
        return self.restarts.mean(axis=0)

    @property
    def error(self) -> NDArray[np.float64]:
        """Standard error of the mean, from the spread over restarts."""
        return self.restarts.std(axis=0, ddof=1) / np.sqrt(len(self.restarts))

    @property
    def noise(self) -> float:
        """Total variation from the exact distribution to expect of an exact sampler."""
        return float(0.5 * np.sqrt(2 / np.pi) * self.error.sum())


def frequencies(runs: Sequence[Run], states: Sequence[tuple[int, ...]]) -> Frequencies:
    """Count the partitions of runs that differ in their seed; the start is no iteration."""
    number = {state: k for k, state in enumerate(states)}
    rows = []
    for run in runs:
        kept = run.partitions(["iteration", "labels"])
        labels = np.stack(kept.loc[kept["iteration"] > 0, "labels"].tolist())
        partitions, times = np.unique(labels, axis=0, return_counts=True)
        counts = np.zeros(len(states))
        for row, n in zip(partitions, times, strict=True):
            counts[number[state_of(row, 0)[0]]] += n
        rows.append(counts / counts.sum())
    return Frequencies(np.stack(rows), runs[0].config["chains"], runs[0].config["iterations"])


METHODS = {
    "gibbs": {"sampler": "gibbs"},
    "sm": {"sampler": "sm"},
    "arm": {"sampler": "arm", "sampler__adaptation": "paper"},
    "population": {"sampler": "arm", "sampler__adaptation": "population"},
}
"""Compared samplers, and the options of their runs."""


def fig3(runs: Sequence[Run]) -> Drawing:
    """Draw how often each partition of the 4-node network occurs: exact and empirical frequency."""
    adjacency = dataset_of(runs[0]).values.toarray()
    model = runs[0].config["model"]
    weight = irm_log_weight(adjacency, model["concentration"], model["beta1"], model["beta0"], model["prior"])
    states = mixture_states(len(adjacency))
    exact = normalise([weight(state) for state in states])
    order = np.argsort(-exact, kind="stable")
    names = [state[0] for state in states]
    runs_by_method = {m: races.pick(runs, **options) for m, options in METHODS.items()}
    frequency_by_method = {m: frequencies(chosen, names) for m, chosen in runs_by_method.items() if chosen}
    blocks = ["|".join(_blocks(names[k], "1234")) for k in order]
    first = next(iter(frequency_by_method.values()))
    distances = "; ".join(
        f"{_name(m)} {transitions.total_variation(f.mean, exact):.4f} (noise {f.noise:.4f})"
        for m, f in frequency_by_method.items()
    )
    notes = (
        f"Partitions of the nodes 1 to 4 (edges 1-2, 1-3, 1-4, 3-4) by exact probability. Samplers alone, "
        f"{len(first.restarts)} restarts of {first.chains} chains of {first.iterations:,} iterations. Below: "
        f"frequency minus exact probability, ± two standard errors over restarts. "
        f"Total variation from the exact distribution: {distances}."
    )
    series = [
        {"series": _name(m), "probability": f.mean[order], "error": f.error[order]}
        for m, f in frequency_by_method.items()
    ]
    series.append({"series": "exact", "probability": exact[order]})
    plotted = pd.concat([pd.DataFrame({"partition": blocks, **one}) for one in series], ignore_index=True)
    return Drawing(picture_fig3(plotted), plotted, _fig3_verdicts(frequency_by_method, exact), notes)


def picture_fig3(numbers: pd.DataFrame) -> Figure:
    """Bars of the exact probabilities with a mark for each sampler, and below the differences."""
    series = dict(list(numbers.groupby("series", sort=False)))
    exact = series.pop("exact")["probability"].to_numpy()
    population = {"color": "#E69F00"} | style.mark("v")
    looks = {_name(m): style.look_of(of["sampler"]) for m, of in METHODS.items()}
    looks[_name("population")] |= population
    figure, (above, below) = plt.subplots(2, 1, figsize=(style.FULL, 4.4), sharex=True, height_ratios=[1, 1.5])
    places = np.arange(len(exact))
    above.bar(places, exact, width=0.86, color="#dddddd", zorder=1)
    below.axhline(0, color=style.REFERENCE, linewidth=0.7)
    below.vlines(places[1:] - 0.5, 0, 1, color="#e6e6e6", linewidth=0.6, transform=below.get_xaxis_transform())
    shift = np.linspace(-0.3, 0.3, len(series))
    for x, (name, rows) in zip(shift, series.items(), strict=True):
        look, frequency = style.mark_alone(looks[name]), rows["probability"].to_numpy()
        above.plot(places + x, frequency, **look)
        below.errorbar(places + x, frequency - exact, 2 * rows["error"].to_numpy(), elinewidth=0.9, **look)
    below.set_xticks(places, numbers["partition"][: len(places)], rotation=45, ha="right", fontsize=6.5)
    above.set(ylabel="probability", xlim=(-0.6, len(places) - 0.4))
    below.set_ylabel("frequency − exact,\n± two standard errors")
    handles = [style.entry(label=name, **style.mark_alone(looks[name])) for name in series]
    style.legend(figure, [Patch(color="#dddddd", label="exact probability"), *handles])
    return figure


def _name(method: str) -> str:
    return "ARM, population" if method == "population" else style.title_of(method)


def _blocks(labels: Sequence[object], names: Sequence[str]) -> list[str]:
    """The names of the items in each block of a partition, blocks in the order of their first items."""
    return ["".join(n for n, k in zip(names, labels, strict=True) if k == block) for block in dict.fromkeys(labels)]


def _fig3_verdicts(frequency_by_method: dict[str, Frequencies], exact: NDArray[np.float64]) -> list[Verdict]:
    verdicts = []
    for claim in published_claims("arm-fig3"):
        if claim.metric == "partitions":
            verdicts.append(exactly(claim, len(exact)))
            continue
        for method, frequency in frequency_by_method.items():
            if METHODS[method]["sampler"] != claim.sampler:
                continue
            words = "adaptation: population" if method == "population" else ""
            away = transitions.total_variation(frequency.mean, exact)
            verdicts.append(by_noise(claim, frequency.restarts, exact, away, frequency.noise, words))
    return verdicts
