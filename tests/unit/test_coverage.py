"""Coverage of credible balls: over data simulated from prior and model the truth is one more draw from the posterior.

A ball that holds at least 95 % of the sampled partitions holds the truth in at least 95 % of the data sets on average:
partitions at the distance of its radius are all in it, and distances between partitions are discrete. Where a truth at
the distance of sampled partitions counts by chance, for the share of them that the level asks for, it is 95 %.
"""

import numpy as np
import pytest

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.diagnostics.around_estimate import SAME, credible_ball
from splitmerge_cli.diagnostics.partition_losses import distances
from splitmerge_cli.diagnostics.point_estimate import minimise_expected_loss
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.split_merge import Dyadic

LEVEL, N, D, SETS = 0.95, 20, 12, 500


def simulate(rng):
    """A partition from the Chinese restaurant process of concentration 1, and binary data given it."""
    truth = [0]
    for n in range(1, N):
        sizes = np.append(np.bincount(truth), 1.0)
        truth.append(int(rng.choice(len(sizes), p=sizes / (n + 1))))
    probability = rng.beta(1, 1, size=(max(truth) + 1, D))
    return np.array(truth), (rng.random((N, D)) < probability[truth]).astype(np.uint8)


def posterior(x, seed):
    """Every fifth partition of 2,000 iterations of a split-merge move and a Gibbs scan each, after 200."""
    model, rng = Bernoulli(x, concentration=1.0, beta0=1.0, beta1=1.0), Rng(seed, 0)
    model.set_labels(np.zeros(N, dtype=np.int32))
    chain = Chain(model, rng, [Dyadic(model, rng), Gibbs(model, rng)], thin=1000, partitions=5, timing=False)
    rows = chain.advance(2200)
    return rows["partition_labels"][rows["partition_iteration"] > 200]


@pytest.mark.slow
def test_credible_balls_hold_the_truth():
    rng, held, by_chance = np.random.default_rng(2026), [], []
    for seed in range(SETS):
        truth, x = simulate(rng)
        rows = posterior(x, seed)
        labels = minimise_expected_loss(rows).labels
        ball, d = credible_ball(labels, rows, LEVEL), distances(labels, rows)
        own = distances(labels, [truth]).item()
        held.append(own <= ball.radius + SAME)
        closer, as_close = (d < own - SAME).sum(), (np.abs(d - own) <= SAME).sum() + 1
        by_chance.append((closer + rng.random() * as_close) / (len(d) + 1) <= LEVEL)
    print(f"held {np.mean(held):.3f}, ties by chance {np.mean(by_chance):.3f}, {SETS} data sets")
    assert 0.93 <= np.mean(by_chance) <= 0.97
    assert 0.93 <= np.mean(held) <= 0.98
