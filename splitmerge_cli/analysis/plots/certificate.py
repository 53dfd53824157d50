"""The picture of a certificate: the bounds of the distance from the posterior, and the meeting times behind them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from splitmerge_cli.analysis.certificate import DISTANCES, SHARES, Certificate
from splitmerge_cli.analysis.plots.style import FULL, REFERENCE, colour_of, footnote

LIMIT = (0, (4, 3))
"""Dashes of a confidence limit."""


def meetings(certificate: Certificate) -> Figure:
    """Draw the share of pairs that have met against iterations, and the bounds where there are any."""
    pairs, lag = certificate.pairs, certificate.schedule.lag
    colour = colour_of(str(certificate.config["sampler"]["name"]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(FULL, 2.5), width_ratios=(3, 2))
    met = np.sort([pair.meeting - lag for pair in certificate.met_pairs if pair.meeting is not None])
    share = np.arange(1, len(met) + 1) / max(1, len(pairs))
    end = certificate.schedule.iterations - lag if len(met) < len(pairs) else (met[-1] if len(met) else 1)
    right.step(np.r_[0, met, end], np.r_[0, share, share[-1:] if len(share) else 0], where="post", color=colour)
    right.set(ylim=(0, 1.02), xlabel=f"iterations after the lag of {lag}", ylabel="pairs that have met")
    if len(met) < len(pairs):
        right.axhline(1, color=REFERENCE, linewidth=0.8, linestyle=LIMIT)
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
            left.plot(other.t, other.estimate, color=REFERENCE, label="Wasserstein")
            left.plot(other.t, other.upper, color=REFERENCE, linewidth=0.9, linestyle=LIMIT)
        left.set(yscale="log", ylim=(lowest, 1.3), xlabel="iterations", ylabel="bound of the distance")
        left.set_yticks(ticks := sorted({1, *DISTANCES, *SHARES}), [f"{d:g}" for d in ticks])
        left.minorticks_off()
        left.legend(loc="upper right")
    of_bound = "" if bound is None else f"Estimated upper bounds, for chains from {certificate.starts_text}. "
    footnote(figure, f"{of_bound}Modes that no chain visits stay unseen.")
    return figure
