"""The plain side of the replay for continuous data: Gaussians, lines, and lines that keep their parameters.

Marginal likelihoods are the dense formulas of verify/enumerate.py; predictives are written from the posterior.
"""

from __future__ import annotations

import math

import numpy as np
from plain import Cluster, Mixture, Stream
from scipy import stats
from scipy.special import gammaln

from splitmerge_cli.verify.continuous import gaussian_log_weight, lines_log_weight


def log_normal(y: float, mean: float, variance: float) -> float:
    return -0.5 * (math.log(2 * math.pi * variance) + (y - mean) ** 2 / variance)


def log_student(y, mean, scale, df: float) -> float:
    """Log density of a multivariate t."""
    y, scale = np.atleast_1d(y - mean), np.atleast_2d(scale)
    D, quadratic = len(y), y @ np.linalg.solve(scale, y)
    return float(
        gammaln((df + D) / 2)
        - gammaln(df / 2)
        - 0.5 * math.log(np.linalg.det(df * math.pi * scale))
        - (df + D) / 2 * math.log1p(quadratic / df)
    )


def whole(items: list[int]) -> tuple[tuple[int, ...], int]:
    """The state in which all items are one cluster."""
    return (0,) * len(items), 1


class Gaussian(Mixture):
    """Mixture of Gaussians, means and covariances integrated out. `covariance`: diag, iso or full.

    `b0`, `kappa0`: numbers, or the pair (shape, rate) of a gamma prior, that of b0 over the variance of the column
    (iso: the mean of these); then they stand at shape/rate until set.
    """

    def __init__(self, x, concentration, covariance, m0, kappa0, a0, b0, prior="crp") -> None:
        super().__init__(len(x), concentration, prior)
        self.x, self.D, self.covariance = np.asarray(x, dtype=float), len(x[0]), covariance
        self.m0, self.a0 = np.broadcast_to(m0, self.D), a0
        spread = self.x.var(axis=0)
        self.unit = np.full(self.D, spread.mean()) if covariance == "iso" else spread
        self.scale_gamma, self.weight_gamma = (v if isinstance(v, tuple) else None for v in (b0, kappa0))
        if self.scale_gamma:
            b0 = self.scale_gamma[0] / self.scale_gamma[1] * self.unit
        self.b0 = np.array(np.broadcast_to(b0, self.D), dtype=float)
        self.kappa0 = self.weight_gamma[0] / self.weight_gamma[1] if self.weight_gamma else kappa0

    @property
    def n_scales(self) -> int:
        return 1 if self.covariance == "iso" else self.D

    @property
    def resampled_values(self) -> list[float]:
        """Values of b0 and kappa0 that have a prior."""
        scales = self.b0[: self.n_scales].tolist() if self.scale_gamma else []
        return [*scales, *([self.kappa0] if self.weight_gamma else [])]

    def log_prior(self, clusters) -> float:
        log_p = super().log_prior(clusters)
        if self.scale_gamma:
            shape, rate = self.scale_gamma
            n = self.n_scales
            log_p += float(stats.gamma.logpdf(self.b0[:n], shape, scale=self.unit[:n] / rate).sum())
        if self.weight_gamma:
            log_p += float(stats.gamma.logpdf(self.kappa0, self.weight_gamma[0], scale=1 / self.weight_gamma[1]))
        return log_p

    def log_g(self, items: list[int]) -> float:
        prior = self.m0, self.kappa0, self.a0, self.b0
        return gaussian_log_weight(self.x[items], 1.0, "uniform", self.covariance, *prior)(whole(items))

    def posterior(self, items: list[int]):
        """Mean m_n and its precision kappa_n in points; scatter of the points and of their mean; a_n; b_n by dimension
        (full: none).
        """
        y, n = self.x[items].reshape(-1, self.D), len(items)
        kappa = self.kappa0 + n
        mean = (self.kappa0 * self.m0 + y.sum(axis=0)) / kappa
        deviations = np.vstack([y - mean, math.sqrt(self.kappa0) * (self.m0 - mean)])
        scatter = deviations.T @ deviations
        if self.covariance == "full":
            return mean, kappa, scatter, self.a0 + n / 2, None
        if self.covariance == "iso":
            return mean, kappa, scatter, self.a0 + n * self.D / 2, self.b0 + np.trace(scatter) / 2
        return mean, kappa, scatter, self.a0 + n / 2, self.b0 + np.diag(scatter) / 2

    def log_predictive(self, i: int, items: list[int]) -> float:
        """Student's t of the posterior."""
        mean, kappa, scatter, a, b = self.posterior(items)
        if self.covariance == "full":
            return log_student(self.x[i], mean, (2 * np.diag(self.b0) + scatter) * (kappa + 1) / (kappa * 2 * a), 2 * a)
        if self.covariance == "iso":
            return log_student(self.x[i], mean, np.diag(b) / a * (kappa + 1) / kappa, 2 * a)
        return sum(log_student(self.x[i, d], mean[d], b[d] / a * (kappa + 1) / kappa, 2 * a) for d in range(self.D))

    def plug_in(self, items: list[int]):
        """Mean m_n and variances b_n / a_n, the inverse of the posterior mean of the precisions."""
        mean, _, _, a, b = self.posterior(items)
        return mean, b / a

    def log_plug_in(self, i: int, items: list[int]) -> float:
        """Log density of item i under the normal distribution that a cluster's items give (equation 10)."""
        return sum(log_normal(*at) for at in zip(self.x[i], *self.plug_in(items), strict=True))


class Lines(Mixture):
    """Mixture of lines, intercept, slope and (noise nig) variance integrated out.

    y ~ N(intercept + slope x, v), v = sigma1^2 (known) or v ~ InvGamma(a0, b0); intercept and slope ~ N(0, v / tau).
    """

    def __init__(self, x, concentration, sigma0, sigma1, noise="known", a0=2.0, prior="crp") -> None:
        super().__init__(len(x), concentration, prior)
        self.x, self.sigma0, self.sigma1, self.noise, self.a0 = np.asarray(x, dtype=float), sigma0, sigma1, noise, a0
        self.b0, self.tau = sigma1**2 * (a0 - 1), (sigma1 / sigma0) ** 2

    def log_g(self, items: list[int]) -> float:
        prior = self.sigma0, self.sigma1, self.noise, self.a0
        return lines_log_weight(self.x[items], 1.0, *prior, "uniform")(whole(items))

    def posterior(self, items: list[int]):
        """Return a line's mean (intercept, slope), covariance in units of the variance, and (a, b) of that variance."""
        points = self.x[items].reshape(-1, 2)
        X, y = np.column_stack([np.ones(len(points)), points[:, 0]]), points[:, 1]
        covariance = np.linalg.inv(X.T @ X + self.tau * np.eye(2))
        mean = covariance @ X.T @ y
        b = self.b0 + 0.5 * (np.sum((y - X @ mean) ** 2) + self.tau * mean @ mean)
        return mean, covariance, self.a0 + len(y) / 2, b

    def log_predictive(self, i: int, items: list[int]) -> float:
        mean, covariance, a, b = self.posterior(items)
        row, y = np.array([1.0, self.x[i, 0]]), self.x[i, 1]
        scale = 1 + row @ covariance @ row
        if self.noise == "nig":
            return log_student(y, row @ mean, b / a * scale, 2 * a)
        return log_normal(y, row @ mean, self.sigma1**2 * scale)


class KeptLines(Lines):
    """Lines that keep theta = (intercept, slope[, variance]); `refresh`: draw or metropolis, of so many `steps`."""

    conjugate = False

    def __init__(self, *args, refresh="draw", steps=5, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.refresh, self.steps = refresh, steps

    def variance(self, theta) -> float:
        return theta[2] if self.noise == "nig" else self.sigma1**2

    def log_predictive(self, i: int, cluster: Cluster) -> float:
        (intercept, slope), (x, y) = cluster.theta[:2], self.x[i]
        return log_normal(y, intercept + slope * x, self.variance(cluster.theta))

    def log_g(self, cluster: Cluster) -> float:
        return sum(self.log_predictive(i, cluster) for i in cluster)

    def log_H(self, theta) -> float:
        v = self.variance(theta)
        log_p = sum(log_normal(value, 0.0, v / self.tau) for value in theta[:2])
        if self.noise == "nig":
            log_p += self.a0 * math.log(self.b0) - math.lgamma(self.a0) - (self.a0 + 1) * math.log(v) - self.b0 / v
        return log_p

    def draw_theta(self, stream: Stream):
        theta = (self.b0 / stream.gamma(self.a0),) if self.noise == "nig" else ()
        s = math.sqrt((theta[0] if theta else self.sigma1**2) / self.tau)
        return s * stream.normal(), s * stream.normal(), *theta


class CandidateLines(KeptLines):
    """Lines that keep one of finitely many candidates (intercept, slope), each as likely."""

    def __init__(self, *args, candidates, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.candidates = [tuple(map(float, line)) for line in candidates]

    def log_H(self, theta) -> float:
        return -math.log(len(self.candidates))

    def draw_theta(self, stream: Stream):
        return self.candidates[stream.index(len(self.candidates))]
