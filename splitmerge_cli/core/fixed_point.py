"""The resolution at which data become whole numbers, so that sums of them are exact in any order."""

import math

import numpy as np


def resolution(widest, N, terms=1):
    """The least power of two of which `widest`, the largest magnitude of N values (or such magnitudes of columns), is
    at most 2^48 multiples, and few enough that n times a sum of n terms stays below 2^126 (``fixed_point.h``); 1 for
    values that are all 0. A ValueError for more than 2^30 values."""
    if N > 1 << 30:
        raise ValueError(f"{N} items; expected at most 2^30")
    digits = min(48, 62 - math.ceil(math.log2(N) + 0.5 * math.log2(terms)))
    # squares of the resolution stay numbers, too
    power = np.maximum(np.frexp(widest)[1] - digits, -250)
    return np.where(np.asarray(widest) > 0.0, np.ldexp(1.0, power), 1.0)[()]
