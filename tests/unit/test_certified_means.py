"""The means of large posteriors, made for small ones, against enumeration."""

import certify_posteriors
import numpy as np
import pytest

from splitmerge_cli import certify
from splitmerge_cli.verify.enumerate import normalise
from splitmerge_cli.verify.small_posteriors import PRIORS, _bases

BASES = _bases() | {f"{name}-missing": base for name, base in _bases(missing=True).items()}
PAIRS = 60


@pytest.mark.parametrize("name", BASES)
def test_means_agree_with_the_enumerated_ones(name):
    """E[K], E log p(x | z), the sizes and two pairs of items: the log likelihood with all its constants."""
    base = BASES[name]
    power = {"power": 0.6} if name in ("bernoulli", "gamma-poisson", "dirichlet-multinomial") else {}
    case = base.case(name, **PRIORS["mfm-poisson"], **power)
    items = np.array([[0, 2], [1, 4]])
    values, run, resampled = certify_posteriors.certify_means(case, items, PAIRS, moves=2, iterations=2000)
    assert run["met"] == PAIRS and not resampled
    # of the uniform prior the weight is the likelihood
    log_lik = base.case(name, **PRIORS["uniform"], **power).log_weight
    states = case.states()
    p = normalise([case.log_weight(state) for state in states])
    z = np.array([state[0] for state in states])
    sizes = np.array([np.sort(np.bincount(labels, minlength=5))[::-1] for labels in z]) / 5
    together = z[:, items[:, 0]] == z[:, items[:, 1]]
    exact = p @ np.column_stack([z.max(axis=1) + 1, [log_lik(state) for state in states], sizes, together])
    error = values.std(axis=0, ddof=1) / np.sqrt(PAIRS)
    # what no chain visits has no spread: a part in a thousand
    assert np.all(np.abs(values.mean(axis=0) - exact) < 4.5 * np.maximum(error, 2e-4))
    assert error[1] < 0.5


def test_the_pairs_are_those_of_smcmc_certify():
    case = BASES["bernoulli"].case("bernoulli", **PRIORS["crp"])
    values, run, _ = certify_posteriors.certify_means(case, np.array([[0, 2]]), 10, moves=2, iterations=2000)
    model = {"name": "bernoulli", **case.hyperparameters}
    found = certify(
        model,
        certify_posteriors.data_of(case),
        "sams",
        pairs=10,
        iterations=2000,
        seed=1,
        options={"schedule.moves": 2},
        workers=1,
        progress="none",
    )
    mean = found.estimates().set_index("quantity")["mean"]
    assert (found.schedule.lag, found.schedule.k, found.schedule.m) == (run["lag"], run["k"], run["m"])
    assert values.mean(axis=0)[[0, 2, 3]] == pytest.approx(mean[["n_clusters", "largest1", "largest2"]].to_numpy())
    together = found.co_clustering().set_index(["i", "j"])["probability"]
    assert values.mean(axis=0)[-1] == pytest.approx(together[0, 2], abs=1e-6)
