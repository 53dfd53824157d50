"""Points along line segments, as van Rossum et al. 2018 have them: published, generated, or drawn from the model.

Source: van Rossum et al. 2018, section 3, and the authors' 100 published sets (see `splitmerge_cli.data.downloads`
for their provenance). The paper: points uniform along a line of length 20, normal noise across it, a Dirichlet process
mixture, slope and intercept from N(0, sigma0^2). The published sets follow another recipe, which their files confirm
(Kolmogorov-Smirnov p of 0.2 to 0.4 for each part): a line is a point and a direction; the direction is uniform; point
and noise come from a normal-inverse-Wishart distribution, under which each coordinate of the point is Student t with 3
degrees of freedom and scale 1.83, and the variance across the line inverse gamma (1.5, 0.0005); the points lie within
10 of that point.
"""

from typing import Any

import numpy as np

from splitmerge_cli.core.simulation import Array, Given, Rng
from splitmerge_cli.data import values
from splitmerge_cli.data.dataset import Dataset

SETS = 100
FILE = "points.csv.gz"
DEGREES = 3
"""Degrees of freedom of Student's t, from which the middles of the segments are drawn."""


def generate(
    N: int = 200,
    lines: int | None = None,
    concentration: float = 1.0,
    length: float = 20.0,
    noise: float = 0.02,
    outliers: float = 0.0,
    spread: float = 1.8,
    sigma0: float | None = None,
    seed: int = 0,
) -> Dataset:
    """Noisy points on a few line segments, in random order: kind ``points``, float64 ``[N, 2]``, columns x and y; the
    truth is the line. ``meta["parameters"]``: float64 ``[lines, 2]``, their intercepts and slopes. Options:
    ``conf/data/lines.yaml``.

    With the defaults the sets look like the published ones (numbers of lines, slopes, distances from the origin, spans,
    extent). Two things differ: the noise is the same for all lines (theirs varies, 5% to 95%: 0.010 to 0.051, median
    0.021), and a line's distance from the origin does not depend on it (theirs is the larger, the noisier the line).
    """
    values.require_size("N", N)
    values.require_seed(seed)
    values.require_number("data.length", length, 1e-25, 1e25)
    values.require_number("data.noise", noise, 0, 1e25)
    values.require_number("data.outliers", outliers, 0, 0.999)
    rng = np.random.default_rng(seed)
    strays = min(round(outliers * N), N - 1)
    on_line = N - strays
    if lines is None:
        values.require_number("data.concentration", concentration, 1e-100, 1e100)
        line = values.crp(rng, on_line, concentration)
    else:
        values.require_size("data.lines", lines, on_line)
        line = values.equal_sizes(rng, on_line, lines)
    K = int(line.max()) + 1
    if sigma0 is None:
        # as in the published sets
        values.require_number("data.spread", spread, 0, 1e25)
        middle = spread * rng.standard_normal((K, 2)) / np.sqrt(rng.chisquare(DEGREES, (K, 1)) / DEGREES)
        angle = rng.uniform(-np.pi / 2, np.pi / 2, K)
        along = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        # from the prior of the model
        values.require_number("data.sigma0", sigma0, 0, 1e25)
        intercept, slope = sigma0 * rng.standard_normal((2, K))
        middle, along = np.column_stack([np.zeros(K), intercept]), np.column_stack([np.ones(K), slope])
        along /= np.hypot(1, slope)[:, None]
    across = np.column_stack([-along[:, 1], along[:, 0]])
    x = middle[line]
    x += along[line] * rng.uniform(-length / 2, length / 2, (on_line, 1))
    x += across[line] * rng.normal(0, noise, (on_line, 1))
    if strays:
        low, high = x.min(axis=0), x.max(axis=0)
        half = (high - low).max() / 2
        x = np.concatenate([x, (low + high) / 2 + rng.uniform(-half, half, (strays, 2))])
        line = np.concatenate([line, np.arange(K, K + strays, dtype=np.int32)])
        order = rng.permutation(N)
        x, line = x[order], line[order]
    slope = along[:, 1] / along[:, 0]
    parameters = np.column_stack([middle[:, 1] - slope * middle[:, 0], slope])
    meta = {"parameters": parameters, "lines": lines, "concentration": concentration, "length": length, "noise": noise}
    meta |= {"outliers": outliers, "spread": spread, "sigma0": sigma0, "seed": seed}
    return Dataset("lines", "points", x, line, columns=["x", "y"], meta=meta)


def lines(dataset: int = 0, N: int | None = None) -> Dataset:
    """One of the 100 published sets of 200 points on lines; the truth is the line, numbered by first appearance."""
    known = isinstance(dataset, int) and 0 <= dataset < SETS
    values.require(known, "data.dataset", dataset, f"a whole number from 0 to {SETS - 1}")
    return _read_published("noparama_lines", ["x", "y", "dataset"], N, {"dataset": dataset})


def two_gaussians(N: int | None = None) -> Dataset:
    """The published set of 100 points from N((0,0), I), then 100 from N((5,5), I); the truth is the distribution."""
    return _read_published("noparama_twogaussians", ["x", "y"], N, {})


def _read_published(name: str, columns: list[str], N: int | None, meta: dict[str, Any]) -> Dataset:
    """Read the points of a published file that `meta` chooses."""
    from splitmerge_cli.data import downloads
    from splitmerge_cli.data.tables.files import csv

    table = csv(downloads.locate(name, FILE), "points", truth="cluster", columns=columns)
    assert table.truth is not None
    rows = np.flatnonzero((table.values[:, 2:] == list(meta.values())).all(axis=1))
    x, truth = table.values[rows, :2], table.truth[rows]
    values.require(
        N is None or 1 <= N <= len(x), "N", N, f"a whole number from 1 to {len(x)}, the number of points, or null"
    )
    return Dataset(name, "points", x[:N], values.numbered_labels(truth[:N]), columns=["x", "y"], meta=meta)


def simulate_lines(rng: Rng, given: Given) -> Array:
    """Points drawn around lines (`splitmerge_cli.core.simulation`) at given places: noise, intercept and slope of each
    cluster, then y; float64 ``[n, 2]``."""
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
        # one of the lines for each cluster, by their likelihoods
        lines = np.array(of["candidates"], dtype=np.float64)
        squares = given.sums((y[:, None] - lines[:, 0] - lines[:, 1] * x[:, None]) ** 2)
        theta = lines[(-0.5 * squares / sigma[:, None] ** 2 + rng.gumbel(size=squares.shape)).argmax(axis=1)]
    else:
        off = np.linalg.solve(R / np.sqrt(tau), rng.normal(size=(K, 2))[:, :, None])[:, :, 0]
        theta = mean + off * of["sigma0"] * (sigma / of["sigma1"])[:, None]
    z, places = given.z, np.asarray(given.data.values)[:, 0]
    places = places if given.rows is None else places[given.rows]
    return np.column_stack([places, theta[z, 0] + theta[z, 1] * places + sigma[z] * rng.normal(size=len(z))])
