"""The refreshing steps: parameters of clusters, scales of their prior, and the concentration (van Rossum et al. 2018;
Escobar and West 1995)."""

from __future__ import annotations

import math

import numpy as np
from plain import Cluster, Clusters
from reference import Reference, exp, normalise


class Refresh(Reference):
    """Gibbs or Metropolis steps for the clusters' parameters, or for the scales of their prior, then the auxiliary step
    of Escobar and West (1995)."""

    def step(self) -> None:
        if not self.model.conjugate:
            self.parameters()
        if getattr(self.model, "resampled_values", None):
            self.scales()
        if self.model.gamma:
            self.concentration()

    def parameters(self) -> None:
        model = self.model
        for c in range(self.state.K):
            if model.refresh == "draw":
                cluster = self.state.clusters[c]
                self.put(c, self.draw_candidate(cluster) if self.candidates else self.draw_line(cluster))
                continue
            for _ in range(model.steps):
                if self.candidates:
                    self.move(c, self.candidates[self.stream.index(len(self.candidates))])
                    continue
                self.move_line(c)
                if model.noise == "nig":
                    self.move_variance(c)

    def scales(self) -> None:
        """b0 and kappa0 given means and covariances of the clusters, which are drawn first and forgotten."""
        model, stream, K, D = self.model, self.stream, self.state.K, self.model.D
        precisions, distance = np.zeros(model.n_scales), 0.0
        for cluster in self.state.clusters:
            if model.covariance == "full":
                inverse, offsets = self.draw_inverse_covariance(cluster)
                precisions += np.diag(inverse)
            else:
                drawn, offsets = self.draw_variances(cluster)
                precisions += drawn
            distance += float(offsets @ offsets)
        if model.scale_gamma:
            shape, rate = model.scale_gamma
            shape += K * (model.a0 + (0.5 * (D - 1) if model.covariance == "full" else 0.0))
            for d in range(model.n_scales):
                model.b0[d] = stream.gamma(shape) / (rate / model.unit[d] + precisions[d])
            if model.covariance == "iso":
                model.b0[:] = model.b0[0]
        if model.weight_gamma:
            shape, rate = model.weight_gamma
            model.kappa0 = stream.gamma(shape + 0.5 * K * D) / (rate + 0.5 * distance)

    def draw_variances(self, cluster: Cluster):
        """Precisions (iso: one), and how far the means are from m0 in standard deviations of a point."""
        model, stream = self.model, self.stream
        mean, kappa, _, a, b = model.posterior(cluster)
        precisions, offsets = [], []
        for d in range(model.D):
            if d < model.n_scales:
                precisions.append(stream.gamma(a) / b[d])
            if model.weight_gamma:
                v = 1 / precisions[-1]
                drawn = mean[d] + math.sqrt(v / kappa) * stream.normal()
                offsets.append((drawn - model.m0[d]) / math.sqrt(v))
        return np.array(precisions), np.array(offsets)

    def draw_inverse_covariance(self, cluster: Cluster):
        """Draw an inverse covariance matrix (Wishart, by Bartlett's decomposition), and the mean's offset."""
        model, stream, D = self.model, self.stream, self.model.D
        mean, kappa, scatter, a, _ = model.posterior(cluster)
        root = np.linalg.inv(np.linalg.cholesky(2 * np.diag(model.b0) + scatter)).T
        A, noise, dof = np.zeros((D, D)), [], 2 * a + D - 1
        for c in range(D):
            A[c, c] = math.sqrt(2 * stream.gamma((dof - c) / 2))
            A[c + 1 :, c] = [stream.normal() for _ in range(c + 1, D)]
            if model.weight_gamma:
                noise.append(stream.normal())
        half = root @ A
        offsets = half.T @ (mean - model.m0) + np.array(noise) / math.sqrt(kappa) if noise else np.zeros(0)
        return half @ half.T, offsets

    @property
    def candidates(self):
        return getattr(self.model, "candidates", None)

    def put(self, c: int, theta: tuple[float, ...]) -> None:
        self.state.clusters = self.with_theta(c, theta)

    def with_theta(self, c: int, theta: tuple[float, ...]) -> Clusters:
        clusters = list(self.state.clusters)
        clusters[c] = Cluster(clusters[c], theta)
        return clusters

    # ---- From their conditional

    def draw_candidate(self, cluster: Cluster) -> tuple[float, ...]:
        log_weights = [self.model.log_g(Cluster(cluster, line)) for line in self.candidates]
        return self.candidates[self.stream.categorical(exp(normalise(log_weights)))]

    def draw_line(self, cluster: Cluster) -> tuple[float, ...]:
        """The variance, then the slope given it, then the intercept given both."""
        mean, covariance, a, b = self.model.posterior(cluster)
        variance = (b / self.stream.gamma(a),) if self.model.noise == "nig" else ()
        s = math.sqrt(variance[0]) if variance else self.model.sigma1
        slope = mean[1] + s * math.sqrt(covariance[1, 1]) * self.stream.normal()
        intercept = mean[0] + covariance[0, 1] / covariance[1, 1] * (slope - mean[1])
        intercept += s * math.sqrt(1 / np.linalg.inv(covariance)[0, 0]) * self.stream.normal()
        return intercept, slope, *variance

    # ---- By Metropolis

    def move(self, c: int, theta: tuple[float, ...], log_jacobian: float = 0.0) -> None:
        """Accept or reject a proposal whose probability is that of its reverse."""
        proposal = self.with_theta(c, theta)
        log_r = self.model.log_joint(proposal) - self.model.log_joint(self.state.clusters)
        self.decide(proposal, log_r + log_jacobian)

    def move_line(self, c: int) -> None:
        """A step of slope and intercept, distributed as 1.7 times their deviation from the mean of the conditional."""
        cluster = self.state.clusters[c]
        _, covariance, _, _ = self.model.posterior(cluster)
        s = 1.7 * math.sqrt(self.model.variance(cluster.theta))
        d_slope = s * math.sqrt(covariance[1, 1]) * self.stream.normal()
        d_intercept = covariance[0, 1] / covariance[1, 1] * d_slope
        d_intercept += s * math.sqrt(1 / np.linalg.inv(covariance)[0, 0]) * self.stream.normal()
        intercept, slope, *variance = cluster.theta
        self.move(c, (intercept + d_intercept, slope + d_slope, *variance))

    def move_variance(self, c: int) -> None:
        """A symmetric step of log v; the density of log v is that of v times v."""
        cluster = self.state.clusters[c]
        intercept, slope, variance = cluster.theta
        step = 2.4 * self.stream.normal() / math.sqrt(self.model.a0 + len(cluster) / 2)
        self.move(c, (intercept, slope, variance * math.exp(step)), log_jacobian=step)

    def concentration(self) -> None:
        """eta ~ Beta(c + 1, N); then c is a mixture of two gammas, whose shapes are a + K and a + K - 1."""
        model, stream, K = self.model, self.stream, self.state.K
        a, b = model.gamma
        eta = stream.beta(model.concentration + 1, model.N)
        rate = b - math.log(eta)
        odds = (a + K - 1) / (model.N * rate)
        shape = a + K if stream.coin(odds / (1 + odds)) else a + K - 1
        model.concentration = stream.gamma(shape) / rate
