"""Labels of items: numbered, or drawn at random; names of generated tokens."""

from itertools import count, islice, product
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbered_labels(labels: Any) -> NDArray[np.int32]:
    """Labels of any type, numbered by first appearance; -1 for None and NaN."""
    import pandas as pd

    if not isinstance(labels, pd.Series) and (listed := getattr(labels, "to_pylist", getattr(labels, "to_list", None))):
        labels = listed()  # of Arrow and polars
    # whole numbers of a list, or of pandas, would become floats if one is missing
    if isinstance(labels, list | tuple):
        series = pd.Series(labels, dtype=object)
    else:
        exact = isinstance(labels, pd.Series | pd.api.extensions.ExtensionArray)
        series = pd.Series(labels if exact else np.asarray(labels))
    return pd.factorize(series)[0].astype(np.int32)


def crp(rng: np.random.Generator, N: int, concentration: float) -> NDArray[np.int32]:
    """Clusters of `N` items from a Chinese restaurant process: int32 ``[N]``, numbered by first appearance.

    Item i opens a cluster with probability concentration / (i + concentration), i = 0, 1, ..., or else joins the
    cluster of one of the i items before it, drawn uniformly (Blackwell & MacQueen's urn). All items draw at once, a
    double each; the chains of joined items are then followed to the item that opened their cluster, twice as far in
    each pass.
    """
    item = np.arange(N)
    drawn = rng.random(N) * (item + concentration)
    opens = drawn >= item
    joined = np.where(opens, item, np.minimum(drawn, item)).astype(np.int32)
    while not np.array_equal(joined, further := joined[joined]):
        joined = further
    number = np.cumsum(opens, dtype=np.int32) - 1
    return number[joined].astype(np.int32)


def equal_sizes(rng: np.random.Generator, N: int, K: int) -> NDArray[np.int32]:
    """int32 ``[N]``: clusters 0 .. K - 1 of N / K items each (the first N mod K one more), in random order."""
    return rng.permutation(np.arange(N, dtype=np.int32) % np.int32(K))


def token_names(n: int) -> list[str]:
    """Names of `n` tokens: A, B, ..., Z, AA, AB, ..."""
    names = ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))
    return list(islice(names, n))
