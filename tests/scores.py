"""How a model scores items, against joint densities of states and likelihoods of clusters."""

import numpy as np
import pytest
from compiled import pieces
from scipy.special import logsumexp

from splitmerge_cli.verify.enumerate import normalise


def agree(found, expected, rtol=1e-9, atol=1e-300):
    """Check that weights are in proportion."""
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=rtol, atol=atol)


def check_scan(model, i, rtol=1e-9, atol=1e-300):
    """Check the weights of an item against their definition, predictive times prior."""
    agree(pieces.scan(model, i), pieces.scan_by_definition(model, i), rtol, atol)


def check_odds(model, i):
    """Check the odds of an item between its own cluster and the next against their logarithms."""
    own = int(model.labels[i])
    for sized in (True, False):
        odds, log_odds = pieces.odds(model, i, own, (own + 1) % model.K, own, sized)
        assert np.log(odds) == pytest.approx(log_odds, abs=1e-9)


def check_joining(model, i, k, **tolerance):
    """Check that an item's predictive density in a cluster is what the cluster's likelihood gains by it."""
    before, expected = pieces.log_lik(model, k), pieces.log_pred(model, i, k)
    pieces.join(model, i, k)
    assert pieces.log_lik(model, k) - before == pytest.approx(expected, **(tolerance or {"abs": 1e-9}))
    pieces.leave(model, i, k)


def conditional(model, labels, i):
    """An item's probabilities of each cluster, the last a new one, by the joint densities to which they lead. The own
    cluster of an item that is alone stands for the new one."""
    log_joint = []
    for k in range(int(labels.max()) + 2):
        moved = labels.copy()
        moved[i] = k
        model.set_labels(moved)
        log_joint.append(model.log_joint())
    if (labels == labels[i]).sum() == 1:
        log_joint[-1] = -np.inf
    model.set_labels(labels)
    return normalise(log_joint)


def place_labels(model, labels):
    model.set_labels(np.array(labels, dtype=np.int32))


def log_joints(model, states, place=place_labels):
    """Log joint density of each state; `place` puts the model into one."""
    found = []
    for state in states:
        place(model, state)
        found.append(model.log_joint())
    return np.array(found)


def harmonic_means(model, states, place=place_labels):
    """Log harmonic means of the densities of items given all others, over all states, and the log evidence: each mean
    is log p(x_i | x_-i)."""
    states, inverse = list(states), []
    joint = log_joints(model, states, place)
    for state in states:
        place(model, state)
        log_density, log_weight = model.left_out_predictive()
        np.testing.assert_allclose(logsumexp(log_weight, axis=1), 0.0, atol=1e-12)
        inverse.append(-logsumexp(log_density + log_weight, axis=1))
    evidence = logsumexp(joint)
    return -logsumexp(np.stack(inverse) + (joint - evidence)[:, None], axis=0), evidence
