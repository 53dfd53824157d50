"""Checks of numbers that come from outside, each with a message that names its key."""

import numpy as np


def check_positive(key, value):
    """Reject what is no number from 1e-100 to 1e100, beyond which products of probabilities leave a double."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1e-100 <= value <= 1e100:
        raise ValueError(f"{key}: expected a positive number from 1e-100 to 1e100, got {value}")


def check_range(key, value, least, largest):
    """Reject what is no number from `least` to `largest`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= largest:
        raise ValueError(f"{key}: expected a number from {least:g} to {largest:g}, got {value}")


def as_numbers(key, values, n=None):
    """These values as a contiguous array of float64; if there have to be `n`, of shape (n,). A ValueError, which names
    `key`: they are no real numbers, or not `n`."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf":
        raise ValueError(f"{key}: expected numbers, got {numbers.dtype}")
    if n is not None and numbers.size != n:
        raise ValueError(f"{key}: expected {n} numbers, got {numbers.size}")
    return np.ascontiguousarray(numbers if n is None else numbers.reshape(-1), dtype=np.float64)


def check_count(key, value, least, largest):
    """Reject what is no whole number from `least` to `largest`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= largest:
        raise ValueError(f"{key}: expected a whole number from {least} to {largest}, got {value}")


# of what a stored state may hold
MOST_COUNT = 1 << 62
MOST_SECONDS = 1e100
