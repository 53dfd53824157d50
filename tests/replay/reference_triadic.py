"""The reference samplers of van Rossum et al. 2018: dyadic and triadic split-merge, with the auxiliary variables and
the refreshing steps that models need whose clusters keep parameters.

As in reference.py every ratio is state ratio times proposal ratio, from the proposal probabilities themselves
(docs/derivations.md); the density of a new cluster's parameters is one of them.
"""

from __future__ import annotations

import math

import numpy as np
from plain import Cluster, Clusters, merge, split, swap_delete, theta_of
from reference import RGSM, Gibbs, Reference, exp, normalise

LOG_2, LOG_3 = math.log(2), math.log(3)


def drop_items(items: list[int], *left_out: int) -> list[int]:
    return [m for m in items if m not in left_out]


class Dyadic(RGSM):
    """Section 2.1; `allocation` random (equation 8), sams (section 2.2) or gibbs (Jain and Neal, `t` launch sweeps).

    `mode` as_printed: the printed proposal ratio, equation 9 (`q_ratio` formula) or 1 (one), in place of the true one.
    """

    def __init__(self, state, stream, mode="exact", allocation="sams", t=5, q_ratio="formula") -> None:
        super().__init__(state, stream, mode, t=t)
        self.allocation, self.q_ratio = allocation, q_ratio

    def step(self) -> None:
        if self.model.N < 2:
            return self.void()
        i, j = self.pair()  # (1): a pair has the same probability in both states
        return self.split_or_merge(i, j)

    def split_or_merge(self, i: int, j: int, log_call_split: float = 0.0, log_call_merge: float = 0.0) -> None:
        """(2) to (6) with anchors i and j; `log_call`: log probability of coming here from the one and the other."""
        clusters, model = self.state.clusters, self.model
        c_i, c_j = self.state.cluster_of(i), self.state.cluster_of(j)
        if c_i == c_j:
            if len(clusters) == model.kmax:
                return self.void()
            theta = model.draw_theta(self.stream)
            A, B = Cluster([i], theta), Cluster([j], theta_of(clusters[c_i]))
            log_q = self.allocate_two(A, B, drop_items(clusters[c_i], i, j))
            proposal = split(clusters, c_i, sorted_side(A), sorted_side(B))
            log_r = self.log_ratio_1_2(clusters, proposal, theta, log_q, len(A + B), log_call_split, log_call_merge)
            return self.decide(proposal, log_r)
        theta = theta_of(clusters[c_i])
        A, B = Cluster([i], theta), Cluster([j], theta_of(clusters[c_j]))
        union = sorted(clusters[c_i] + clusters[c_j])
        log_q = self.allocate_two(A, B, drop_items(union, i, j), forced=[clusters[c_i], clusters[c_j]])
        proposal = merge(clusters, c_i, c_j)
        log_r = self.log_ratio_1_2(proposal, clusters, theta, log_q, len(union), log_call_split, log_call_merge)
        return self.decide(proposal, -log_r)

    def log_ratio_1_2(
        self, small, big, theta, log_q: float, n: int, log_call_split: float, log_call_merge: float
    ) -> float:
        """Log ratio of a split, n items, that draws theta for side A and allocates with probability q (equation 3)."""
        if self.mode == "as_printed":
            log_q = -(n - 2) * LOG_2 if self.q_ratio == "formula" else 0.0
        log_q_split = log_call_split + self.model.log_H(theta) + log_q
        log_q_merge = log_call_merge
        return self.log_target_ratio(small, big) + log_q_merge - log_q_split

    def allocate_two(self, A: Cluster, B: Cluster, members: list[int], forced: Clusters | None = None) -> float:
        """Add the members to A and B, at random or as in `forced`; returns the log probability."""
        if self.allocation == "gibbs":
            return self.restricted_gibbs(A, B, members, forced)
        return self.allocate([A, B], self.order(members), forced)

    def restricted_gibbs(self, A: Cluster, B: Cluster, members: list[int], forced: Clusters | None) -> float:
        """Launch by fair coins, `t` sweeps, then the scored sweep."""
        in_A, thetas = self.launch(A[0], B[0], members), (A.theta, B.theta)
        for _ in range(self.t):
            self.sweep(members, in_A, thetas=thetas)
        sides = None if forced is None else {m: m in forced[0] for m in members}
        log_q = self.sweep(members, in_A, forced=sides, thetas=thetas)
        A.extend(m for m in members if in_A[m])
        B.extend(m for m in members if not in_A[m])
        return log_q

    def launch(self, i: int, j: int, members: list[int]) -> dict[int, bool]:
        """Whether each item is on i's side in the launch state."""
        return {i: True, j: False} | {m: self.stream.coin(0.5) for m in members}

    def order(self, members: list[int]) -> list[int]:
        """SAMS, line 2: a random shuffle, one for both directions; item order where the order plays no part."""
        return self.shuffle(members) if self.allocation == "sams" else list(members)

    def allocate(self, sides: Clusters, order: list[int], forced: Clusters | None = None) -> float:
        """SAMS, lines 3 to 7, with two sides or three; `random` gives them equal probabilities."""
        log_q, outside = 0.0, self.outside(sum(sides, order))
        for m in order:
            log_p = [-math.log(len(sides))] * len(sides)
            if self.allocation == "sams":
                log_p = normalise(self.log_size_and_predictive(m, sides, outside))
            side = self.draw_side(log_p) if forced is None else [m in s for s in forced].index(True)
            sides[side].append(m)
            log_q += log_p[side]
        return log_q

    def draw_side(self, log_p: list[float]) -> int:
        if len(log_p) == 2:
            return 0 if self.stream.coin(math.exp(log_p[0])) else 1
        if self.allocation == "random":
            return self.stream.index(len(log_p))
        return self.stream.categorical(exp(log_p))


def sorted_side(side: Cluster) -> Cluster:
    return Cluster(sorted(side), side.theta)


class Triadic(Dyadic):
    """Section 2.3. `form`: symmetrised (one of the triple is dropped at random) or ordered (its third item is k).

    `mode` as_printed: the item to drop is fixed, and the ratio counts r and q as printed (equations 12, 14, 9, 15);
    `redraw`: the dyadic call draws a pair of its own (lines 11 and 13).
    """

    def __init__(
        self,
        state,
        stream,
        mode="exact",
        beta=0.1,
        allocation="sams",
        form="symmetrised",
        q_ratio="formula",
        redraw=True,
    ) -> None:
        super().__init__(state, stream, mode, allocation=allocation, q_ratio=q_ratio)
        self.beta, self.form, self.redraw = beta, form, redraw

    def step(self) -> None:
        if self.model.N < 3:
            return self.void()
        triple = self.triple()  # lines 2 to 4
        of = [self.state.cluster_of(m) for m in triple]
        n_S = len(set(of))  # line 8
        dropped = self.drop(of, n_S)
        if dropped is None:
            return self.void()
        k = triple[dropped]
        i, j = drop_items(triple, k)
        if n_S == 3:
            return self.merge_3_2(i, j, k)  # line 23
        if n_S == 2 and not self.stream.coin(self.beta):
            return self.split_2_3(i, j, k)  # line 14
        if self.mode == "as_printed" and self.redraw:
            i, j = self.pair()
        return self.split_or_merge(i, j, self.log_call(1), self.log_call(2) + math.log(self.beta))  # lines 10 and 12

    def triple(self) -> list[int]:
        """Three different items, uniform and in order."""
        t0, t1 = self.pair()
        rest = drop_items(list(range(self.model.N)), t0, t1)
        return [t0, t1, rest[self.stream.index(self.model.N - 2)]]

    def duplicates(self, of: list[int]) -> list[int]:
        """Positions in the triple of the two items that share a cluster."""
        return [t for t in range(3) if of.count(of[t]) == 2]

    def drop(self, of: list[int], n_S: int) -> int | None:
        """Position in the triple of k, the item that is no anchor; None where the triple is of no use."""
        if self.mode == "as_printed":
            return self.duplicates(of)[1] if n_S == 2 else 2
        if self.form == "ordered":
            return None if n_S == 2 and of[0] == of[1] else 2
        return self.duplicates(of)[self.stream.index(2)] if n_S == 2 else self.stream.index(3)

    def log_call(self, n_S: int) -> float:
        """Log probability that k is the one dropped, of a given triple that spans n_S clusters."""
        if self.mode == "as_printed" or self.form == "ordered":
            return 0.0
        return -LOG_2 if n_S == 2 else -LOG_3

    def split_2_3(self, i: int, j: int, k: int) -> None:
        """Lines 14 to 22: k opens a new cluster, the others of both clusters are allocated to the three."""
        clusters = self.state.clusters
        if len(clusters) == self.model.kmax:
            return self.void()
        c_i, c_j = self.state.cluster_of(i), self.state.cluster_of(j)
        old = clusters[c_i], clusters[c_j]
        theta = self.model.draw_theta(self.stream)
        A, B, C = Cluster([i], theta_of(old[0])), Cluster([j], theta_of(old[1])), Cluster([k], theta)
        order = self.order(drop_items(sorted(old[0] + old[1]), i, j))
        log_q3 = self.allocate([A, B, C], drop_items(order, k))
        log_q2 = self.allocate([Cluster([i], A.theta), Cluster([j], B.theta)], order, forced=list(old))
        proposal = [*clusters, sorted_side(C)]
        proposal[c_i], proposal[c_j] = sorted_side(A), sorted_side(B)
        return self.decide(proposal, self.log_ratio_2_3(clusters, proposal, theta, log_q2, log_q3, len(A + B + C)))

    def merge_3_2(self, i: int, j: int, k: int) -> None:
        """Lines 23 to 30: the clusters of i and j share the third one's items and their own anew."""
        clusters = self.state.clusters
        c_i, c_j, c_k = (self.state.cluster_of(m) for m in (i, j, k))
        old = clusters[c_i], clusters[c_j], clusters[c_k]
        A, B = Cluster([i], theta_of(old[0])), Cluster([j], theta_of(old[1]))
        theta = theta_of(old[2])
        order = self.order(drop_items(sorted(old[0] + old[1] + old[2]), i, j))
        log_q2 = self.allocate([A, B], order)
        anchors = [Cluster([i], A.theta), Cluster([j], B.theta), Cluster([k], theta)]
        log_q3 = self.allocate(anchors, drop_items(order, k), forced=list(old))
        proposal = list(clusters)
        proposal[c_i], proposal[c_j] = sorted_side(A), sorted_side(B)
        proposal = swap_delete(proposal, c_k)
        return self.decide(proposal, -self.log_ratio_2_3(proposal, clusters, theta, log_q2, log_q3, len(A + B)))

    def log_ratio_2_3(self, small, big, theta, log_q2: float, log_q3: float, n: int) -> float:
        """Log ratio of the split (equation 13); the merge takes its inverse (equation 19)."""
        if self.mode == "as_printed":
            log_q2, log_q3 = (-(n - 2) * LOG_2, -(n - 3) * LOG_3) if self.q_ratio == "formula" else (0.0, 0.0)
        log_q_split = self.log_call(2) + math.log1p(-self.beta) + self.model.log_H(theta) + log_q3
        log_q_merge = self.log_call(3) + log_q2
        return self.log_target_ratio(small, big) + log_q_merge - log_q_split


class Neal8(Gibbs):
    """Algorithm 8 of Neal (2000): `m` auxiliary clusters with parameters from H; of a conjugate model, a Gibbs scan."""

    def __init__(self, state, stream, mode="exact", m=3, scan="full") -> None:
        super().__init__(state, stream, mode, scan=scan)
        self.m = m

    def update(self, i: int) -> None:
        if self.model.conjugate:
            return super().update(i)
        state, model = self.state, self.model
        own = state.cluster_of(i)
        rest = [Cluster(drop_items(c, i), c.theta) for c in state.clusters]
        is_alone = not rest[own]
        auxiliary = [Cluster(theta=model.draw_theta(self.stream)) for _ in range(self.m - is_alone)]
        options = rest + auxiliary
        new = model.log_new_weight() - math.log(self.m)
        target = self.stream.categorical(
            exp(
                normalise([(model.log_size_weight(len(c)) if c else new) + model.log_predictive(i, c) for c in options])
            )
        )
        if target >= len(rest):
            rest.append(options[target])
        chosen = min(target, len(rest) - 1)
        rest[chosen] = Cluster(sorted([*rest[chosen], i]), rest[chosen].theta)
        state.clusters = rest if rest[own] else swap_delete(rest, own)
        return None


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
