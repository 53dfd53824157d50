"""Microclustering whose distribution of sizes is learned: clusters stay small however many items there are, and the
shares of clusters with one, two and three items are free.

Sizes S_1, S_2, ... are independent draws from a distribution mu, given that some of their sums is N, as in ``esc``. A
cluster that has m items ends there with probability h_m, which is free for m = 1, 2, 3 and the same for all larger m:

    mu(m) = h_m prod_{j < m} (1 - h_j)
    p(z) = K! / (N! u_N)  prod_k n_k! mu(n_k)        u_N: the probability that a sum is N

With beta priors h_m has a beta distribution given the sizes, but for 1 / u_N. With a single h for all sizes, uniform
beforehand, this would be ``uniform_count``. Source: Betancourt, Zanella and Steorts (2022), section 3, where mu has a
Dirichlet prior. Derivation: docs/derivations.md, "Exchangeable sequences of clusters".
"""

from functools import lru_cache
from math import lgamma, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.hyperpriors import ShareOrBeta
from splitmerge_cli.core.prior import TablePrior

ENDS = ("size_1", "size_2", "size_3", "size_more")
"""Names of h_1, h_2, h_3, and of the others."""
_LEAST = 1e-14
"""A draw that is nearer 0 or 1 stands for this: as good as 0, or 1."""


@lru_cache(4)
def _log_factorials(N: int) -> NDArray[np.float64]:
    log_factorial = np.zeros(N + 1)
    np.log(np.arange(1.0, N + 1)).cumsum(out=log_factorial[1:])
    log_factorial.flags.writeable = False
    return log_factorial


@lru_cache(256)
def _log_renewal(N: int, *ends: float) -> float:
    """log u_N: after N items, one by one, the last cluster ends. The chain is of its size, where 4 is 4 or more. A
    value that is accepted is asked for three times."""
    h = np.array(ends)
    steps = np.diag(1.0 - h[:-1], 1)
    steps[-1, -1] = 1.0 - h[-1]
    steps[:, 0] += h
    return log(np.linalg.matrix_power(steps, N - 1)[0] @ h)


class LearnedSizes(TablePrior):
    """Sizes of clusters are draws from a distribution that is learned. `concentration` is not used. `size_1`, `size_2`,
    `size_3`, `size_more`: h_m, of the clusters with m items or more, the share that has m; `size_more` is the share for
    each m above 3. A `Beta`: its prior, under which it is resampled.

    Examples
    --------
    Two items: one cluster of both with probability mu(2) / (mu(1)^2 + mu(2)).

    >>> prior = LearnedSizes(2, size_1=0.5, size_2=0.5, size_3=0.5, size_more=0.5)
    >>> round(float(np.exp(prior.log_probability(np.array([2]), 1.0, 0.5, 0.5, 0.5, 0.5))), 12)
    0.5
    """

    NAME = "learned_sizes"
    OPTIONS = (
        ShareOrBeta("size_1", "beta(1,1)", "share of clusters of one item; beta(a,b): resampled", may_be_zero=False),
        ShareOrBeta("size_2", "beta(1,1)", "of larger clusters, the share with two items", may_be_zero=False),
        ShareOrBeta("size_3", "beta(1,1)", "of clusters larger still, the share with three items", may_be_zero=False),
        ShareOrBeta("size_more", "beta(1,1)", "the same for each size above three", may_be_zero=False),
    )
    TAKES_CONCENTRATION = False

    def tables(self, concentration: float, **options: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log g(n) and log f(K), for 0 to N; entry 0 is not read."""
        ends, N, log_factorial = [options[name] for name in ENDS], self.N, _log_factorials(self.N)
        log_mu, passed = np.zeros(N + 1), 0.0
        for m, h in enumerate(ends[:-1], 1):
            log_mu[m : m + 1] = passed + log(h)
            passed += log1p(-h)
        m = len(ends)
        log_mu[m:] = passed + log(ends[-1]) + log1p(-ends[-1]) * np.arange(max(N + 1 - m, 0))
        log_f = log_factorial - log_factorial[-1] - self._log_renewal(options)
        return log_factorial + log_mu, log_f

    def log_density_of(self, sizes: NDArray[Any], concentration: float, **options: Any) -> float:
        """log probability of a partition with clusters of these sizes, up to what does not depend on the options."""
        total = -self._log_renewal(options)
        for t, name in enumerate(ENDS):
            end, go_on = _count_ends(sizes, t)
            total += end * log(options[name]) + go_on * log1p(-options[name])
        return total

    def _resample(self, rng: Any, name: str, sizes: NDArray[Any]) -> None:
        """Draw h_m from its distribution given the sizes as if u_N did not depend on it, and accept by 1 / u_N."""
        end, go_on = _count_ends(sizes, ENDS.index(name))
        prior = self.hyperpriors[name]
        drawn = min(max(rng.beta(prior.a + end, prior.b + go_on), _LEAST), 1.0 - _LEAST)
        if rng.accept(self._log_renewal(self.options) - self._log_renewal(self.options | {name: drawn})):
            self.set_value(name, drawn)

    def _log_renewal(self, options: Any) -> float:
        return _log_renewal(self.N, *(options[name] for name in ENDS))

    @classmethod
    def log_probability(  # type: ignore[override]
        cls,
        sizes: NDArray[Any],
        concentration: float,
        size_1: float = 0.5,
        size_2: float = 0.5,
        size_3: float = 0.5,
        size_more: float = 0.5,
    ) -> float:
        """log probability: mu written out, and u_N as a sum over the sizes of the last cluster."""
        N, ends = int(np.sum(sizes)), (size_1, size_2, size_3)
        mu = [0.0]
        for m in range(1, N + 1):
            before = np.prod([1.0 - h for h in ends[: m - 1]]) * (1.0 - size_more) ** max(m - 4, 0)
            mu.append(float(before) * (ends[m - 1] if m <= 3 else size_more))
        u = [1.0]
        for n in range(1, N + 1):
            u.append(sum(mu[m] * u[n - m] for m in range(1, n + 1)))
        log_p = lgamma(len(sizes) + 1.0) - lgamma(N + 1.0) - log(u[N])
        return float(log_p + sum(lgamma(n + 1.0) + log(mu[n]) for n in sizes))


def _count_ends(sizes: NDArray[Any], t: int) -> tuple[int, int]:
    """How many clusters end at a size whose h is the t-th, and how often one goes on there."""
    m = t + 1
    if m < len(ENDS):
        return int(np.count_nonzero(sizes == m)), int(np.count_nonzero(sizes > m))
    long = sizes[sizes >= m]
    return len(long), int((long - m).sum())
