"""Priors of hyper-parameters and of the number of components, from 1 on, and an update of a hyper-parameter whose
density is known up to a constant.

A hyper-parameter is moved on the whole line, by its logarithm (`Gamma`) or its logit (`Beta`), with a slice sampler
(Neal 2003, "Slice sampling", sections 4.1 and 4.2): exact whatever the density, and without a scale to tune. A whole
number m (`CountPrior`) is the interval from log m to log(m + 1), along which its probability is spread evenly.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.options import Gamma, Option, OutOfRange

_FORM = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")
_DISTRIBUTIONS: dict[str, tuple[tuple[str, float, float], ...]] = {
    "poisson": (("rate", 1e-3, 1e3),),
    "geometric": (("share", 1e-3, 1.0 - 1e-3),),
    "bnb": (("alpha", 0.1, 1e3), ("a", 0.1, 1e3), ("b", 0.1, 1e3)),
    "uniform": (("most", 1, 10_000),),
}
"""The numbers that each distribution takes, with the least and the largest value."""


@dataclass(frozen=True)
class CountPrior:
    """A prior distribution on the number of components, K.

    =====================  =================================================================================
    ``poisson(rate)``      K - 1 is Poisson. Source: Nobile (2005)
    ``geometric(share)``   p(K) = share (1 - share)^(K - 1). Source: Miller and Harrison (2018), section 7
    ``bnb(alpha,a,b)``     K - 1 is beta-negative-binomial. Source: Frühwirth-Schnatter et al. (2021), section 2.2
    ``uniform(most)``      K is uniform over 1, ..., most. Source: Richardson and Green (1997), section 2.2
    =====================  =================================================================================

    `numbers`: those in the brackets.
    """

    distribution: str
    numbers: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.distribution}({','.join(f'{number:g}' for number in self.numbers)})"

    def log_probability(self, k: ArrayLike) -> NDArray[np.float64]:
        """log p(K = k), natural logarithm, for an array of k from 1 on; k may be no whole number, to integrate it."""
        from scipy.special import betaln, gammaln  # a run of another prior does without

        x = np.asarray(k, dtype=float) - 1.0
        number = self.numbers[0]  # the only one, but of the last
        if self.distribution == "poisson":
            return np.asarray(x * np.log(number) - number - gammaln(x + 1.0))
        if self.distribution == "geometric":
            return np.asarray(np.log(number) + x * np.log1p(-number))
        if self.distribution == "uniform":
            return np.where(x < number, -np.log(number), -np.inf)
        alpha, a, b = self.numbers
        # Gamma(alpha + x) / (Gamma(alpha) x!) = 1 / (x B(alpha, x)), which keeps its digits for a large x
        with np.errstate(divide="ignore"):
            ways = np.where(x > 0.0, -np.log(x) - betaln(alpha, np.maximum(x, 1e-300)), 0.0)
        return np.asarray(ways + betaln(alpha + a, x + b) - betaln(a, b))

    def log_probabilities(self, largest: int) -> NDArray[np.float64]:
        """log p(K = k) for k from 1 to `largest`: sums of the ratios of neighbours, which keep their digits."""
        x = np.arange(largest - 1.0)
        if self.distribution == "poisson":
            ratios = self.numbers[0] / (x + 1.0)
        elif self.distribution == "bnb":
            alpha, a, b = self.numbers
            ratios = (alpha + x) * (b + x) / ((x + 1.0) * (alpha + a + b + x))
        else:
            return self.log_probability(np.arange(1, largest + 1))
        return np.asarray(self.log_probability(1) + np.r_[0.0, np.cumsum(np.log(ratios))])


@dataclass(frozen=True)
class CountPriorOption(Option):
    """A prior of the number of components: read as `CountPrior`."""

    type: ClassVar[str] = "prior of a number"

    @property
    def expected(self) -> str:
        forms = (f"{each}({','.join(name for name, _, _ in numbers)})" for each, numbers in _DISTRIBUTIONS.items())
        return f"one of {', '.join(forms)}"

    def convert(self, value: Any) -> CountPrior:
        if isinstance(value, CountPrior):
            return value
        match = _FORM.fullmatch(value)
        if match is None or match[1] not in _DISTRIBUTIONS:
            raise ValueError
        limits, numbers = _DISTRIBUTIONS[match[1]], tuple(float(text) for text in match[2].split(","))
        for (name, least, largest), number in zip(limits, numbers, strict=True):
            if not least <= number <= largest or (isinstance(least, int) and not number.is_integer()):
                kind = "a whole number from" if isinstance(least, int) else "a number from"
                raise OutOfRange(f"{name} of {match[1]}: expected {kind} {least:g} to {largest:g}, got {number:g}")
        return CountPrior(match[1], numbers)


_BETA = re.compile(r"beta\(\s*([-+.0-9eE]+)\s*,\s*([-+.0-9eE]+)\s*\)")
WIDTH = 1.0
"""Width of an interval before it is stepped out: a factor e of the value, or of its odds."""


@dataclass(frozen=True)
class Beta:
    """A beta prior of a number between 0 and 1: ``beta(a,b)``."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def __str__(self) -> str:
        return f"beta({self.a:g},{self.b:g})"


@dataclass(frozen=True)
class ShareOrBeta(Option):
    """A number from 0 to less than 1, or a beta prior of it: ``beta(a,b)``; 0 only where `may_be_zero`."""

    may_be_zero: bool = True
    type: ClassVar[str] = "number or prior"

    @property
    def expected(self) -> str:
        number = "from 0 to less than 1" if self.may_be_zero else "between 0 and 1"
        return f"a number {number}, or beta(a,b) with two numbers from 0.001 to 1e6"

    def convert(self, value: Any) -> float | Beta:
        if isinstance(value, Beta):
            return value
        if isinstance(value, str) and (match := _BETA.fullmatch(value.strip())):
            a, b = float(match[1]), float(match[2])
            if not (1e-3 <= a <= 1e6 and 1e-3 <= b <= 1e6):
                raise ValueError
            return Beta(a, b)
        if isinstance(value, bool) or not 0.0 <= float(value) < 1.0 or not (self.may_be_zero or float(value)):
            raise ValueError
        return float(value)


Hyperprior = Gamma | Beta | CountPrior
HYPERPRIORS = (Gamma, Beta, CountPrior)
"""Values of options that make a hyper-parameter be resampled."""
MOST = 10**9
"""Largest whole number: farther out its interval has too few digits."""
_LIMITS = {Gamma: (-230.0, 230.0), Beta: (-34.0, 34.0), CountPrior: (0.0, math.log(MOST + 1.0))}
"""Places of the least and of the largest value. The line goes on beyond: there the density of a small shape is not
nothing, and all places have the value at the end, which is as good as 0, or 1."""


def start_of(hyperprior: Hyperprior, N: int) -> float:
    """The value at which chains on N items start: the mean; of a number of components as many as there may be clusters,
    so that chains may start at every partition that has a probability."""
    if not isinstance(hyperprior, CountPrior):
        return hyperprior.mean
    return float(min(N, hyperprior.numbers[0])) if hyperprior.distribution == "uniform" else float(N)


def to_line(hyperprior: Hyperprior, value: float) -> float:
    """The logarithm of a value, or its logit, or the middle of a whole number's interval; a ValueError outside the
    range of the prior."""
    fits = value > 0.0 and (value < 1.0 if isinstance(hyperprior, Beta) else math.isfinite(value))
    if fits and isinstance(hyperprior, CountPrior):
        fits = float(value).is_integer() and float(hyperprior.log_probability(value)) > -math.inf
    if fits:
        t = math.log(value) - (math.log1p(-value) if isinstance(hyperprior, Beta) else 0.0)
        t += _width(hyperprior, value) / 2.0
        low, high = _LIMITS[type(hyperprior)]
        # the value at an end is rounded
        slack = 0.0 if isinstance(hyperprior, CountPrior) else 0.1
        fits = low - slack <= t <= high + slack
    if not fits:
        raise ValueError(f"{value}: expected a value within the range of {hyperprior}")
    return t


def _width(hyperprior: Hyperprior, value: float) -> float:
    """Length of a value's interval on the line."""
    return math.log1p(1.0 / value) if isinstance(hyperprior, CountPrior) else 0.0


@lru_cache(4096)
def _log_density_within(hyperprior: CountPrior, value: float) -> float:
    """Log density within the interval of a whole number."""
    return float(hyperprior.log_probability(value)) - math.log(_width(hyperprior, value))


def from_line(hyperprior: Hyperprior, t: float) -> float:
    """The value at a place on the line."""
    if isinstance(hyperprior, CountPrior):
        return float(math.floor(math.exp(t)))
    low, high = _LIMITS[type(hyperprior)]
    t = min(max(t, low), high)
    return math.exp(t) if isinstance(hyperprior, Gamma) else 1.0 / (1.0 + math.exp(-t))


def log_density_on_line(hyperprior: Hyperprior, t: float) -> float:
    """Log density of the place on the line; -inf beyond the largest whole number."""
    low, high = _LIMITS[type(hyperprior)]
    if isinstance(hyperprior, CountPrior):
        return _log_density_within(hyperprior, from_line(hyperprior, t)) if low <= t <= high else -math.inf
    if isinstance(hyperprior, Gamma):
        shape, rate = hyperprior.shape, hyperprior.rate
        return shape * math.log(rate) - math.lgamma(shape) + shape * t - rate * math.exp(min(t, high))
    a, b = hyperprior.a, hyperprior.b
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    beyond = a * min(t - low, 0.0) - b * max(t - high, 0.0)
    t = min(max(t, low), high)
    return beyond - a * math.log1p(math.exp(-t)) - b * math.log1p(math.exp(t)) - log_beta


def log_density(hyperprior: Hyperprior, value: float) -> float:
    """Log density of a value; of a whole number its log probability."""
    t = to_line(hyperprior, value)
    if isinstance(hyperprior, CountPrior):
        return float(hyperprior.log_probability(value))
    jacobian = t if isinstance(hyperprior, Gamma) else -math.log1p(math.exp(-t)) - math.log1p(math.exp(t))
    return log_density_on_line(hyperprior, t) - jacobian


def draw_hyperparameter(
    hyperprior: Hyperprior, present: float, log_likelihood: Callable[[float], float], uniform: Callable[[], float]
) -> float:
    """Draw a hyper-parameter by slice sampling, so that prior times likelihood stays as it is. `present`: its present
    value; `log_likelihood`: of a value, the log probability of all that depends on it, up to a constant; `uniform`:
    draws a number between 0 and 1."""

    # many places beyond an end have the same value
    log_likelihood, (low, high) = cache(log_likelihood), _LIMITS[type(hyperprior)]

    def log_conditional(t: float) -> float:
        log_p = log_density_on_line(hyperprior, t)
        return log_p if log_p == -math.inf else log_p + log_likelihood(from_line(hyperprior, t))

    t = to_line(hyperprior, present)
    if width := _width(hyperprior, present):
        t += width * (uniform() - 0.5)
    elif not isinstance(hyperprior, CountPrior) and present == from_line(hyperprior, low):
        t = low + math.log1p(-uniform()) / (hyperprior.a if isinstance(hyperprior, Beta) else hyperprior.shape)
    elif isinstance(hyperprior, Beta) and present == from_line(hyperprior, high):
        t = high - math.log1p(-uniform()) / hyperprior.b
    return from_line(hyperprior, draw_by_slice(log_conditional, t, uniform))


def draw_by_slice(log_density: Callable[[float], float], present: float, uniform: Callable[[], float]) -> float:
    """Draw a place on the line so that its density stays as it is. `log_density`: up to a constant, -inf far out, on
    both sides; `present`: the present place; `uniform`: draws a number between 0 and 1."""
    level = log_density(present) + math.log1p(-uniform())
    # An interval of this width at random about the present place: by a lattice at random, since coupled chains, which
    # share the draw, then have the same one.
    offset = WIDTH * uniform()
    low = offset + WIDTH * math.floor((present - offset) / WIDTH)
    high = low + WIDTH
    while log_density(low) > level:
        low -= WIDTH
    while log_density(high) > level:
        high += WIDTH
    while True:
        new = low + (high - low) * uniform()
        if log_density(new) >= level:
            return new
        if new < present:
            low = new
        else:
            high = new
