"""Whether nodes of a block differ in degree beyond chance, by edges that are held out."""

import numpy as np
import pandas as pd

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.candidates import FEWEST, WORK, Fits, find_problem
from splitmerge_cli.kinds.networks.links import SHARE, fit_links, hold_out_links
from splitmerge_cli.kinds.networks.removed_edges import LinkScores, compare_scores

DEGREES = ("plain", "corrected")
"""The simpler first."""
ITERATIONS = 2_000
"""Iterations of each chain, at most; of large networks fewer (`candidates.WORK`)."""
ENOUGH, PARTS = 200, 5
"""Held-out edges that are asked for, and fits of each candidate, each without other edges, that are made for them at
most."""
EDGE = 20
"""Operations of a scan for each edge, about."""


def compare_degrees(model: Component, dataset: Dataset, fits: Fits) -> pd.DataFrame:
    """Log score of held-out edges with plain and with corrected degrees.

    Both are fitted to the network without a share of its edges (`splitmerge_cli.kinds.networks.removed_edges`). Returns
    a row for each, first the chosen one: corrected if it is ahead by more than a standard error. Columns degrees,
    log_score (nats a held-out edge, its value included), difference (by which the first is ahead), standard_error (of
    that difference, pairs taken as independent), auc and blocks (mean number). Where a network allows plain degrees
    alone there are no numbers, and ``attrs["problem"]`` says why.
    """
    problem = find_problem(model, dataset, degrees="corrected")
    if problem:
        table = pd.DataFrame({"degrees": DEGREES}).reindex(columns=["degrees", *_NUMBERS])
        table.attrs["problem"] = problem.removeprefix("model.degrees=corrected: ").split("; expected")[0]
        return table
    try:
        held = [hold_out_links(dataset, SHARE, fits.seed)]
    except ConfigError:
        table = pd.DataFrame({"degrees": DEGREES}).reindex(columns=["degrees", *_NUMBERS])
        table.attrs["problem"] = "too few edges to hold some out"
        return table
    removed = sum(int((one.removed > 0).sum()) for one in held[0].scored)
    held += [hold_out_links(dataset, SHARE, fits.seed, part) for part in range(1, min(PARTS, -(-ENOUGH // removed)))]
    edges = sum(len(layer.ends) for layer in held[0].rest.layers) + dataset.N
    iterations = int(np.clip(WORK // (EDGE * edges), FEWEST, ITERATIONS))
    scores: dict[str, list[LinkScores]] = {}
    facts: dict[str, dict[str, float]] = {}
    for name in DEGREES:
        options = {"name": model.name} | dict(model.as_typed) | {"degrees": name}
        made = [fit_links(options, dataset, one, fits.sample, iterations) for one in held]
        scores[name] = [one for one, _ in made]
        total = sum(float(one.weight @ one.contributions) for one in scores[name])
        facts[name] = {
            "log_score": total / sum(one.removed for one in scores[name]),
            "auc": float(np.mean([one.auc for one in scores[name]])),
            "blocks": float(np.mean([blocks for _, blocks in made])),
        }
        fits.say(f"degrees {name}: {facts[name]['log_score']:.3f} nats an edge held out")
    ahead, errors = np.array([compare_scores(*pair) for pair in zip(*scores.values(), strict=True)]).T
    # of plain; different edges are taken as independent
    difference, error = float(ahead.mean()), float(np.sqrt((errors**2).mean() / len(errors)))
    order = DEGREES[::-1] if -difference > error else DEGREES
    behind = difference if order[0] == DEGREES[0] else -difference
    rows = [
        {
            "degrees": name,
            "difference": behind if rank else 0.0,
            "standard_error": error if rank else 0.0,
            **facts[name],
        }
        for rank, name in enumerate(order)
    ]
    table = pd.DataFrame(rows, columns=["degrees", *_NUMBERS])
    table.attrs |= {"problem": "", "edges": sum(one.removed for one in scores[DEGREES[0]])}
    return table


_NUMBERS = ("log_score", "difference", "standard_error", "auc", "blocks")


def format_degrees(table: pd.DataFrame) -> str:
    """Describe the chosen degrees, and how far the others are ahead or behind."""
    chosen = table["degrees"][0]
    difference, error = (float(table[name][1]) for name in ("difference", "standard_error"))
    if np.isnan(difference):
        return f"model.degrees=auto: {chosen}, since corrected is not possible: {table.attrs['problem']}"
    first, second = (f"{row.degrees} ({row.blocks:.1f} blocks)" for row in table.itertuples())
    side = "behind" if difference > 0 else "ahead"
    by = f"by {table.attrs['edges']:,} edges held out"
    return (
        f"model.degrees=auto: {first}, {by}; {second} is {abs(difference):.3f} nats an edge {side} (s.e. {error:.3f})"
    )
