"""Points drawn around lines (`splitmerge_cli.core.simulation`)."""

import numpy as np

from splitmerge_cli.core.simulation import Array, Given, Rng


def simulate_lines(rng: Rng, given: Given) -> Array:
    """Points at given places: noise, intercept and slope of each cluster, then y; float64 ``[n, 2]``."""
    of, K = given.options, given.K
    x, y = np.asarray(given.data.values, dtype=np.float64)[: len(given.evidence)].T
    tau = (of["sigma1"] / of["sigma0"]) ** 2
    n, mean, square = np.zeros(K), np.zeros((K, 2)), np.zeros(K)
    R = np.tile(np.sqrt(tau) * np.eye(2), (K, 1, 1))
    for k, here in enumerate(given.members if len(x) else []):
        # ridge regression by orthogonal factors of the rows and the prior's
        rows = np.concatenate([np.column_stack([np.ones(len(here)), x[here]]), np.sqrt(tau) * np.eye(2)])
        answers = np.append(y[here], np.zeros(2))
        Q, R[k] = np.linalg.qr(rows)
        mean[k] = np.linalg.solve(R[k], Q.T @ answers)
        n[k], square[k] = len(here), ((answers - rows @ mean[k]) ** 2).sum()
    sigma = np.full(K, of["sigma1"], dtype=np.float64)
    if of["noise"] == "nig":
        # inverse gamma of shape a0, mean sigma1^2
        b = of["sigma1"] ** 2 * (of["a0"] - 1.0) + 0.5 * square
        sigma = np.sqrt(b / rng.gamma(of["a0"] + 0.5 * n, 1.0, K))
    if of["candidates"] is not None:
        theta = _choose_lines(rng, given, np.array(of["candidates"], dtype=np.float64), sigma)
    else:
        off = np.linalg.solve(R / np.sqrt(tau), rng.normal(size=(K, 2))[:, :, None])[:, :, 0]
        theta = mean + off * of["sigma0"] * (sigma / of["sigma1"])[:, None]
    z, places = given.z, np.asarray(given.data.values)[:, 0]
    places = places if given.rows is None else places[given.rows]
    return np.column_stack([places, theta[z, 0] + theta[z, 1] * places + sigma[z] * rng.normal(size=len(z))])


def _choose_lines(rng: Rng, given: Given, lines: Array, sigma: Array) -> Array:
    """One of some lines for each cluster, by their likelihoods, ``[K, 2]``."""
    x, y = np.asarray(given.data.values, dtype=np.float64)[: len(given.evidence)].T
    squares = given.sums((y[:, None] - lines[:, 0] - lines[:, 1] * x[:, None]) ** 2)
    scores = -0.5 * squares / sigma[:, None] ** 2 + rng.gumbel(size=squares.shape)
    return np.asarray(lines[scores.argmax(axis=1)])
