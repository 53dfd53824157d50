"""Exchangeable sequences of clusters: microclustering, where clusters stay small however many items there are.

Sizes S_1, S_2, ... are independent draws from a distribution mu on 1, 2, ..., given that some of their sums is N:

    p(z) = K! / (N! u_N)  prod_k n_k! mu(n_k)        u_N = sum_m mu(m) u_(N - m),  u_0 = 1

u_N is the probability that a sum is N. mu is negative binomial without 0 (ESC-NB):

    mu(m) = Gamma(m + r) / (Gamma(r) m!) (1 - p)^r p^m / (1 - (1 - p)^r)

Source: Betancourt, Zanella and Steorts (2022), sections 3 and 4. The prior of N items differs from the prior of the
first N of more items: it says how all the items that there are fall into clusters.
"""

from functools import lru_cache
from math import lgamma, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.hyperpriors import ShareOrBeta
from splitmerge_cli.core.options import PositiveOrGamma
from splitmerge_cli.core.prior import TablePrior

_STEADY = 1e-13
"""A window of u that differs by no more, relatively, stands for the rest."""
_SHORT, _NOTHING = 1024, -92.0
"""Sizes whose probabilities are computed at least; the logarithm of a probability that is negligible."""
_MOST_PRODUCTS = 10**7
"""Products of one value after the other; beyond, all values of u come from Fourier transforms. Ten times as many at
most where these have too few digits."""


def invert_series(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of 1 / (a[0] + a[1] x + ...), a[0] = 1, as many as `a` has, by Newton's method, with errors of some
    1e-16 of the largest, not each of its own."""
    inverse = np.ones(1)
    while len(inverse) < len(a):
        n = 2 * len(inverse)
        b = np.fft.rfft(inverse, 2 * n)
        product = np.fft.irfft(b * np.fft.rfft(a[:n], 2 * n))[:n]
        product[0] -= 2.0
        inverse = -np.fft.irfft(b * np.fft.rfft(product, 2 * n))[:n]
    return inverse[: len(a)]


def log_renewal(log_mu: NDArray[np.float64], N: int | None = None) -> float:
    """log u_N, from log mu(m) for m from 0 to N, or up to where mu is nothing; -inf where it underflows or is below
    1e-6 and would take too long.

    With mu(m) x^m in place of mu(m), u_N has a factor x^N. Where most of mu lies beyond N, x is such that the rest has
    a sum of 1, so that nothing underflows. Each value of u is a mean, by mu, of those before it: once as many in a row
    as mu is long have one value, all that follow have it.
    """
    N, m = len(log_mu) - 1 if N is None else N, np.arange(1, len(log_mu))
    log_rest, log_x = log_mu[1:], 0.0
    if np.exp(log_rest).sum() < 0.5:
        # the log of the sum is convex in log x, and not negative here: Newton's steps stay on this side
        log_x = float((-log_rest / m).min())
        for _ in range(100):
            terms = np.exp(log_rest + log_x * m)
            step = log(terms.sum()) * terms.sum() / (terms @ m)
            log_x -= step
            if step < 1e-15 * log_x:
                break
    mu = np.exp(log_rest + log_x * m)
    long = int(np.flatnonzero(mu > 1e-18)[-1]) + 1
    if long * N > _MOST_PRODUCTS:
        last = invert_series(np.concatenate([[1.0], -mu, np.zeros(N - len(mu))]))[N]
        # else its digits are few: sizes that hardly vary may hardly ever have the sum N
        if last > 1e-6:
            return log(last) - N * log_x
        if long * N > 10 * _MOST_PRODUCTS:
            return -np.inf
    # u[long + n] is u_n; before u_0 there are zeros
    backwards, u = mu[:long][::-1].copy(), np.zeros(N + long + 1)
    u[long] = 1.0
    for n in range(1, N + 1):
        window = u[n : n + long]
        if n % long == 0 and n > long and window.min() > (1.0 - _STEADY) * window.max():
            return log(window[-1]) - N * log_x
        u[long + n] = backwards @ window
    return log(u[long + N]) - N * log_x if u[long + N] > 0.0 else -np.inf


@lru_cache(4096)
def _write_out(N: int, r: float, p: float) -> tuple[NDArray[np.float64], float]:
    """log mu(m), m from 0 to N, by products, and log u_N as a sum over the numbers of clusters of N items."""
    log_mu = np.full(N + 1, -np.inf)
    for m in range(1, N + 1):
        ways = sum(log(r + t) - log(t + 1.0) for t in range(m))
        log_mu[m] = ways + r * log1p(-p) + m * log(p) - log(-np.expm1(r * log1p(-p)))
    log_sums, log_u = np.r_[0.0, np.full(N, -np.inf)], -np.inf
    for _ in range(N):
        log_sums = np.array([np.logaddexp.reduce(log_sums[n::-1] + log_mu[: n + 1]) for n in range(N + 1)])
        log_u = np.logaddexp(log_u, log_sums[N])
    return log_mu, float(log_u)


class ExchangeableSequencesOfClusters(TablePrior):
    """Exchangeable sequences of clusters with negative binomial sizes (ESC-NB). `concentration` is not used. `r`: shape
    of the sizes' distribution, positive, or a `Gamma`, under which it is resampled; `p`: between 0 and 1, or a `Beta`,
    under which it is resampled; without the truncation the mean size is r p / (1 - p).

    Examples
    --------
    Two items: one cluster of both with probability mu(2) / (mu(1)^2 + mu(2)).

    >>> prior = ExchangeableSequencesOfClusters(2, r=1.0, p=0.5)
    >>> round(float(np.exp(prior.log_probability(np.array([2]), 1.0, 1.0, 0.5))), 12)
    0.5
    """

    NAME = "esc"
    OPTIONS = (
        PositiveOrGamma("r", "gamma(1,1)", "shape of the negative binomial sizes; gamma(shape,rate): resampled"),
        ShareOrBeta("p", "beta(2,2)", "a number between 0 and 1, or beta(a,b): resampled", may_be_zero=False),
    )
    TAKES_CONCENTRATION = False

    def log_sizes(self, most: int | None = None, **options: Any) -> NDArray[np.float64]:
        """log mu(m), m from 0 to `most`, N by default."""
        r, p, N = options["r"], options["p"], self.N if most is None else most
        m = np.arange(1.0, N)
        log_none = r * log1p(-p)
        log_mu = np.full(N + 1, -np.inf)
        log_mu[1] = log_none + log(r) + log(p) - log(-np.expm1(log_none))
        log_mu[2:] = log_mu[1] + np.log((m + r) / (m + 1.0) * p).cumsum()
        return log_mu

    def tables(self, concentration: float, **options: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log g(n) and log f(K), for 0 to N; entry 0 is not read."""
        log_factorial = np.zeros(self.N + 1)
        np.log(np.arange(1.0, self.N + 1)).cumsum(out=log_factorial[1:])
        log_mu = self.log_sizes(**options)
        log_g = log_factorial + log_mu
        log_g[0] = 0.0
        return log_g, log_factorial - log_factorial[-1] - log_renewal(log_mu)

    def log_density_of(self, sizes: NDArray[Any], concentration: float, **options: Any) -> float:
        """log probability of a partition with clusters of these sizes, up to what does not depend on the options.

        Sizes that hardly vary may hardly ever have the sum N. Options for which its probability is below 1e-300 are
        ruled out; of more than 10,000 items those for which it is below 1e-6 may be.
        """
        r, p, most = options["r"], options["p"], max(_SHORT, int(sizes.max()))
        log_mu = self.log_sizes(min(most, self.N), **options)
        # beyond a size from which on mu falls faster than 0.9^m, and is below 1e-40, nothing counts
        while most < self.N and not (log_mu[-1] < _NOTHING and (most + r) / (most + 1.0) * p < 0.9):
            most *= 2
            log_mu = self.log_sizes(min(most, self.N), **options)
        log_u = log_renewal(log_mu, self.N)
        return float(log_mu[sizes].sum()) - log_u if log_u > -np.inf else -np.inf

    @classmethod
    def log_probability(  # type: ignore[override]
        cls, sizes: NDArray[Any], concentration: float, r: float = 1.0, p: float = 0.5
    ) -> float:
        """log probability: mu written out, and u_N as a sum over the numbers of clusters."""
        log_mu, log_u = _write_out(int(np.sum(sizes)), r, p)
        log_p = lgamma(len(sizes) + 1.0) - lgamma(np.sum(sizes) + 1.0) - log_u
        return float(log_p + sum(lgamma(n + 1.0) + log_mu[n] for n in sizes))
