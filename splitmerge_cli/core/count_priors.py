"""Prior distributions on the number of components, from 1 on: what the option ``components`` reads."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.options import Option, OutOfRange

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

    Attributes
    ----------
    distribution : str
    numbers : tuple of float
        Those in the brackets.

    Examples
    --------
    >>> prior = CountPrior("geometric", (0.5,))
    >>> str(prior), np.exp(prior.log_probability([1, 2])).tolist()
    ('geometric(0.5)', [0.5, 0.25])
    """

    distribution: str
    numbers: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.distribution}({','.join(f'{number:g}' for number in self.numbers)})"

    def log_probability(self, k: ArrayLike) -> NDArray[np.float64]:
        """log p(K = k), natural logarithm, for an array of k from 1 on; k may be no whole number, to integrate it."""
        from scipy.special import betaln, gammaln  # a run of another prior does without

        x = np.asarray(k, dtype=float) - 1.0
        if self.distribution == "poisson":
            (rate,) = self.numbers
            return np.asarray(x * np.log(rate) - rate - gammaln(x + 1.0))
        if self.distribution == "geometric":
            (share,) = self.numbers
            return np.asarray(np.log(share) + x * np.log1p(-share))
        if self.distribution == "uniform":
            (largest,) = self.numbers
            return np.where(x < largest, -np.log(largest), -np.inf)
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
        forms = [
            f"{distribution}({','.join(name for name, _, _ in numbers)})"
            for distribution, numbers in _DISTRIBUTIONS.items()
        ]
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
