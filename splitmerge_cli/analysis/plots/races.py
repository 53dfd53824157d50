"""Pictures of several chains against a posterior, and the runs of a figure as arrays.

Pictures of several chains against a posterior: the times of a race, and the bounds and meetings of a certificate.

The runs of a figure: chosen by their options, their traces as arrays.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from splitmerge_cli.analysis.certificate import DISTANCES, SHARES, Certificate
from splitmerge_cli.analysis.plots import style
from splitmerge_cli.analysis.plots.style import plain_text, title_of
from splitmerge_cli.analysis.race import Race
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.runs.grouping import describe_rows, has_units, total_size
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run


def times(race: Race) -> Figure:
    """Draw the traces of all chains, and how many have reached the target, a column for each start."""
    colours = _colours(race.samplers)
    starts = race.starts
    figure, axes = plt.subplots(2, len(starts), figsize=(style.FULL, 4.2), sharex=True, sharey="row", squeeze=False)
    least = min(float(track.seconds[track.seconds > 0][0]) for track in race.tracks if (track.seconds > 0).any())
    longest = max(track.end for track in race.tracks)
    for (above, below), start in zip(axes.T, starts, strict=True):
        above.set_title(f"from {start.replace('_', ' ')}", loc="left")
        for track in race.tracks:
            if track.trial.start == start:
                places = thinned_rows(len(track.seconds), log=True)
                places = places[track.seconds[places] > 0]
                above.plot(
                    track.seconds[places],
                    track.log_joint[places],
                    color=colours[track.sampler],
                    linewidth=0.5,
                    alpha=0.6,
                )
        above.axhline(race.target.log_joint, color=style.REFERENCE, linewidth=0.8, linestyle=(0, (4, 3)))
        for sampler in race.samplers:
            rows = race.chains[(race.chains["sampler"] == sampler) & (race.chains["start"] == start)]
            if len(rows):
                reached = np.sort(rows["seconds"][np.isfinite(rows["seconds"])].to_numpy(float))
                share = np.arange(1, len(reached) + 1) / len(rows)
                x, y = np.r_[least, reached, longest], np.r_[0, share, share[-1:] if len(share) else 0]
                number = race.samplers.index(sampler)
                # in grey, too, the lines of samplers differ
                look = style.look_of(sampler) | {
                    "color": colours[sampler],
                    "linestyle": style.CHAINS[number % len(style.CHAINS)],
                }
                place = style.marks_along(y, number, len(race.samplers))
                below.step(x, y, where="post", label=style.title_of(sampler), **look, **place)
        below.set(xscale="log", xlabel="sampling time (s)", ylim=(-0.02, 1.04))
        style.powers(below.xaxis)
    low = np.quantile(np.concatenate([t.log_joint[t.late] for t in race.tracks]), 0.02)
    high = max(float(t.log_joint.max()) for t in race.tracks)
    room = high - min(low, race.target.log_joint)
    axes[0, 0].set_ylim(high - 2.5 * room if room > 0 else None, high + 0.15 * room if room > 0 else None)
    axes[0, 0].set_ylabel("log joint density")
    axes[1, 0].set_ylabel("chains that have\nreached the target")
    axes[0, 0].set_xlim(least, longest)
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=min(6, len(labels)))
    style.footnote(figure, "Dashed: log joint density of the target. Lower values of the log joint are cut off.")
    return figure


def _colours(samplers: list[str]) -> dict[str, str]:
    """A colour for each, none twice."""
    colour_by_name: dict[str, str] = {}
    for sampler in samplers:
        free = (colour for colour in (style.colour_of(sampler), *style.CYCLE) if colour not in colour_by_name.values())
        colour_by_name[sampler] = next(free, "#444444")
    return colour_by_name


LIMIT = (0, (4, 3))
"""Dashes of a confidence limit."""


def meetings(certificate: Certificate) -> Figure:
    """Draw the share of pairs that have met against iterations, and the bounds where there are any."""
    pairs, lag = certificate.pairs, certificate.schedule.lag
    colour = style.colour_of(str(certificate.config["sampler"]["name"]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(style.FULL, 2.5), width_ratios=(3, 2))
    met = np.sort([pair.meeting - lag for pair in certificate.met_pairs if pair.meeting is not None])
    share = np.arange(1, len(met) + 1) / max(1, len(pairs))
    end = certificate.schedule.iterations - lag if len(met) < len(pairs) else (met[-1] if len(met) else 1)
    right.step(np.r_[0, met, end], np.r_[0, share, share[-1:] if len(share) else 0], where="post", color=colour)
    right.set(ylim=(0, 1.02), xlabel=f"iterations after the lag of {lag}", ylabel="pairs that have met")
    if len(met) < len(pairs):
        right.axhline(1, color=style.REFERENCE, linewidth=0.8, linestyle=LIMIT)
    bound = certificate.bound
    if bound is None:
        why = "\n".join(["no bound:", *certificate.lacks])
        left.text(0.5, 0.5, why, ha="center", va="center", transform=left.transAxes)
        left.set(xticks=[], yticks=[])
    else:
        lowest = min(0.02, bound.upper.min() / 1.5)
        left.plot(bound.t, bound.estimate, color=colour, label="total variation")
        left.plot(bound.t, bound.upper, color=colour, linewidth=0.9, linestyle=LIMIT, label="95 % limits")
        if (other := certificate.wasserstein) is not None:
            lowest = min(lowest, SHARES[-1] / 2)
            left.plot(other.t, other.estimate, color=style.REFERENCE, label="Wasserstein")
            left.plot(other.t, other.upper, color=style.REFERENCE, linewidth=0.9, linestyle=LIMIT)
        left.set(yscale="log", ylim=(lowest, 1.3), xlabel="iterations", ylabel="bound of the distance")
        left.set_yticks(ticks := sorted({1, *DISTANCES, *SHARES}), [f"{d:g}" for d in ticks])
        left.minorticks_off()
        left.legend(loc="upper right")
    of_bound = "" if bound is None else f"Estimated upper bounds, for chains from {certificate.starts_text}. "
    style.footnote(figure, f"{of_bound}Modes that no chain visits stay unseen.")
    return figure


LONGEST = 40
"""Most letters of a data set's name in a title."""


@dataclass(frozen=True)
class Picture:
    """A picture that a run may have.

    `can_draw` and `draw` raise `ConfigError` or `DataError` if they need the data again, which cannot be loaded.
    """

    answers: str
    """The question that it answers."""
    shows: str
    """The kind of chart and its axes, in a line."""
    can_draw: Callable[[Run], bool]
    """Whether a run has it."""
    draw: Callable[[Run], Figure]
    in_column: bool = False
    """Whether it can be read at the width of a column."""
    section: str = "clusters"
    """Section of a page that shows it: ``clusters``, their ``number`` or ``certainty``, or ``chains``."""


def option(run: Run, key: str) -> Any:
    """The value of a dotted configuration key; of a group its name."""
    node: Any = run.config
    for part in key.split("."):
        node = node[part]
    return node["name"] if isinstance(node, dict) else node


def data_name(run: Run) -> str:
    """Name of a run's data in titles: the file without its ending, the network, or the data set."""
    data = run.config["data"]
    if path := data.get("path"):
        name = PurePath(path).name
        stem = name.removesuffix(".gz").rpartition(".")[0] or name
        return plain_text("standard input" if path == "-" else shorten(stem, LONGEST))
    if data["name"] == "networkx":
        return plain_text(str(data["graph"]).replace("_", " "))
    return plain_text("data from Python" if data["name"] == "given" else str(data["name"]))


def subject(run: Run) -> str:
    """Sampler, data and number of items, as titles begin."""
    sampler = option(run, "sampler")
    counted = f"{run.summary['N']:,}"
    if has_units(run.summary):
        counted = describe_rows(run.summary)
    elif (size := total_size(run.summary)) != run.summary["N"]:
        counted = f"{size:,.10g} in {counted} rows"
    return f"{title_of(sampler)} on {data_name(run)}, N = {counted}"


def state_of(run: Run) -> str:
    """A sentence, after a space, if a run shows the clusters of its best state; otherwise nothing."""
    if "expected_vi" in run.summary["point_estimate"]:
        return ""
    apart = judgement_of(run).converged is False
    return " The clusters are the best state" + (": the chains have not converged." if apart else ".")


def pick(runs: Iterable[Run], **where: Any) -> list[Run]:
    """The runs with these options, by seed; a dot in a key is written as two underscores."""
    chosen = [r for r in runs if all(option(r, key.replace("__", ".")) == value for key, value in where.items())]
    return sorted(chosen, key=lambda r: option(r, "seed"))


def values(runs: Iterable[Run], key: str) -> list[Any]:
    """The different values of an option among runs, ascending."""
    return sorted({option(run, key) for run in runs})


def series(runs: Sequence[Run], column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One column from the traces of several runs, all equally long: iteration, int64 ``[rows]``, and values, float64
    ``[chains of all runs, rows]``."""
    rows = []
    iteration = np.empty(0, np.int64)
    for run in runs:
        for _, chain in run.trace(["chain", "iteration", column]).groupby("chain", sort=True):
            iteration = chain["iteration"].to_numpy()
            rows.append(chain[column].to_numpy(float))
    return iteration, np.stack(rows)


def data_sets(runs: Sequence[Run]) -> NDArray[np.int64]:
    """The data set of every chain, by number, int64 ``[chains of all runs]``.

    Chains that share their data are not independent of each other.
    """
    keys = [json.dumps([run.config["N"], run.config["data"]], sort_keys=True) for run in runs]
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.repeat([number[key] for key in keys], [run.config["chains"] for run in runs]).astype(np.int64)


def thinned_rows(n: int, points: int = 400, log: bool = False) -> NDArray[np.int64]:
    """Positions of at most `points` of `n` rows, the first and the last among them, evenly (`log`: geometrically)."""
    places = np.geomspace(1, n, points) - 1 if log else np.linspace(0, n - 1, points)
    return np.unique(places.round().astype(np.int64))
