"""Tables with columns of several types, as a compiled and a plain model."""

import numpy as np
from enumerated import remembering
from plain_mixed import Mixed
from small_cases import table

from splitmerge_cli.models import mixed as compiled_mixed

TYPES = ("count", "real", "categorical", "binary", "real")
LEVELS = (0, 0, 4, 2, 0)
PRIOR = {"beta1": 0.6, "beta0": 0.9, "alpha": 0.7, "shape": 1.4, "rate": 0.5, "m0": [0.3, 1.0], "kappa0": 0.4}
PRIOR |= {"a0": 1.6, "b0": [0.7, 1.2]}


def cells(N, missing=0.2, seed=20130414):
    """Rows whose fourth cell is of the highest level, so that all levels are known; of a few, no cell is there."""
    x = table(np.random.default_rng(seed), N, TYPES, missing)
    x[0, 2] = 3.0
    if missing:
        x[:, 4] = np.random.default_rng(seed).normal(size=N)
        if N > 3:
            x[3] = np.nan
    return x


def mixed_models(concentration=1.3, N=12, missing=0.2, **params):
    """A compiled and a plain model of the same table; `concentration` a number, or the pair (shape, rate)."""
    x, params = cells(N, missing), PRIOR | params
    written = "gamma({}, {})".format(*concentration) if isinstance(concentration, tuple) else concentration
    compiled = compiled_mixed.Mixed(x, TYPES, concentration=written, **params)
    return compiled, remembering(Mixed(x, TYPES, LEVELS, concentration, **params))
