"""How many probabilities of collision LSHSM's cache served (Luo & Shrivastava 2018, section 4.3.1)."""

from collections.abc import Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, entry, legend, powers
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.drawing import Drawing
from splitmerge_cli.papers.lshsm.runs import data_of, is_stand_in
from splitmerge_cli.papers.verdicts import no_run, untestable
from splitmerge_cli.runs.store.read import Run

LOOKS = {"random": {"color": "#117733", "marker": "o"}, "singletons": {"color": "#E69F00", "marker": "s"}}
"""Colours and marks of the start states."""
TITLES = {"KDDCUP04Bio": "kdd_like for KDDCUP04Bio", "PubMed": "ohsumed23 for PubMed"}


def shares(runs: Sequence[Run]) -> pd.DataFrame:
    """The cache's counts in every run: columns data (what claims call it), N, start, K0, iterations, looked_up, served,
    pairs, share; by iterations."""
    rows = []
    for run in runs:
        size = run.summary["N"]
        start = run.config["init"]
        # of the only chain
        counts = {key: run.summary["cache"][key][0] for key in ("looked_up", "served", "pairs")}
        rows.append(
            {
                "data": data_of(run),
                "N": size,
                "start": start,
                "K0": size if start == "singletons" else run.config["K0"],
                "iterations": run.summary["iterations"][0],
                **counts,
                "share": counts["served"] / counts["looked_up"] if counts["looked_up"] else np.nan,
            }
        )
    return pd.DataFrame(rows).sort_values(["data", "start", "K0", "N", "iterations"], ignore_index=True)


def cache(runs: Sequence[Run]) -> Drawing:
    """Draw the share of collision probabilities that the cache served, against iterations."""
    table = shares(runs)
    claims = {c.data: c for c in published_claims("lshsm-cache")}
    generated = any(is_stand_in(run) for run in runs)
    room = max(run.config["sampler"]["cache"] for run in runs)
    notes = (
        "Share of the 1 − (1 − p^K)^L of equations 3 and 5 that were looked up and found, from the first iteration on; "
        f"one chain of LSHSM as printed, room for {room:,} pairs. The share depends on the start, the size of the "
        "clusters and the length of the run, none of which the paper gives."
    )
    # a verdict on each start's share; no run of a stated length can be compared
    verdicts = []
    for data, claim in claims.items():
        here = table[table["data"] == data]
        if here.empty:
            verdicts.append(no_run(claim))
        for (start, size), line in here.groupby(["start", "N"], sort=False):
            passed = line[line["share"] >= claim.value]
            when = (
                f"passes the published share by iteration {passed['iterations'].iloc[0]:,}"
                if len(passed)
                else f"is below the published share up to iteration {line['iterations'].iloc[-1]:,}"
            )
            words = "from singletons" if start == "singletons" else "from random clusters"
            reason = f"the paper gives neither the start nor the length of the run, and the data are others; it {when} "
            verdict = untestable(claim, [line["share"].iloc[-1]], reason, words, unit="chains")
            verdicts.append(replace(verdict, on=f"N = {size:,}"))
    return Drawing(picture_cache(table, generated), table, verdicts, notes)


def picture_cache(numbers: pd.DataFrame, generated: bool = False) -> Figure:
    """A panel for each data set; `generated`: data stand in for ohsumed23."""
    on = [data for data in TITLES if (numbers["data"] == data).any()]
    claims = {c.data: c for c in published_claims("lshsm-cache")}
    figure, axes = plt.subplots(1, len(on), figsize=(FULL, 2.7), sharey=True, squeeze=False)
    for ax, data in zip(axes[0], on, strict=True):
        here = numbers[numbers["data"] == data]
        fewest = here.groupby("start")["K0"].min()
        for (start, K0, _), line in here.groupby(["start", "K0", "N"], sort=False):
            dashes = "--" if fewest[start] < K0 else "-"
            ax.plot(line["iterations"], line["share"], markersize=3.5, linestyle=dashes, **LOOKS[start])
        ax.axhline(claims[data].value, color=REFERENCE, linewidth=0.9, linestyle=(0, (2, 2)))
        sizes = [
            f"{K0:,} {'singletons' if start == 'singletons' else f'random clusters of {size:,}'}"
            for start, K0, size in here[["start", "K0", "N"]].drop_duplicates().itertuples(index=False)
        ]
        ax.set_title("generated, for PubMed" if generated and data == "PubMed" else TITLES[data], pad=16)
        ax.text(0, 1.03, "; ".join(sizes), transform=ax.transAxes, fontsize=7, color="#444444")
        ax.set(xscale="log", ylim=(0, 1), xlabel="iterations")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g} %"))
        powers(ax.xaxis)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.margins(x=0.08)
    axes[0][0].set_ylabel("served from the cache")
    key = [
        entry(markersize=3.5, label=f"from {words}", **LOOKS[start])
        for start, words in (("random", "random clusters"), ("singletons", "singletons"))
    ]
    printed = entry(color=REFERENCE, linewidth=0.9, linestyle=(0, (2, 2)), label="printed in the paper")
    legend(figure, [*key, printed])
    return figure
