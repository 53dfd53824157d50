"""The protein data of KDD Cup 2004 as Luo & Shrivastava 2018 use them (section 4.2.2), and points like them.

Each of the 145,751 rows of the published set compares a protein with one whose structure is known, in 74 numbers:
scores, lengths and counts whose scales differ a thousandfold (Caruana, Joachims & Backstrom 2004, "KDD-Cup 2004:
results and analysis"). Luo & Shrivastava 2018 speak of 2,000 true clusters. No such labels are public: the original
file tells only which of 153 proteins a row belongs to and whether the two are homologous, and the collection of
clustering data sets that the paper names gives 2,000 as a number of clusters to look for. `kdd_like` generates points
that are like these and have what they lack, a truth.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.data import values
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import sha256_of
from splitmerge_cli.data.published import sets
from splitmerge_cli.data.tables.columns import numbers
from splitmerge_cli.data.tables.encoded import read_text
from splitmerge_cli.data.tables.free_text import tabs
from splitmerge_cli.data.tables.table import NUMBER
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.kinds.tables.generated import move, require_dtype, standard_normal
from splitmerge_cli.received import DataError

ROWS = 145_751
FEATURES = 74
FILE = "KDDCUP04Bio.txt"
BEFORE = 3
"""Columns of the original file before the features: block, example, homologous or not."""


def kddcup04bio(N: int | None = None) -> Dataset:
    """The published protein data of KDD Cup 2004: 145,751 rows of 74 numbers.

    The file is from the collection of clustering data sets that Luo & Shrivastava 2018 name, numbers separated by
    spaces or tabs. The original ``bio_train.dat`` under its name is read too: its first three columns (block, example,
    homologous or not) are left out. Kind ``points``, float64 ``[N, 74]``; its notes say that the file is unverified.
    The truth is not known: labels of the 2,000 clusters that Luo & Shrivastava 2018 speak of are not public. A
    `DataError` where the file is absent, not the one that was fetched, or holds something else: another number of rows
    or columns, a ragged row, a cell that is no number of magnitude 1e30 at most.
    """
    values.require(N is None or 1 <= N <= ROWS, "N", N, f"a whole number from 1 to {ROWS}, the number of rows, or null")
    path = sets.locate("kddcup04bio", FILE)
    table = Text(path, tabs(path, read_text(path)), "\t")
    if table.width not in (FEATURES, BEFORE + FEATURES):
        raise DataError(
            f"{path}: row 1: cells: {table.width}; expected {FEATURES}, or {BEFORE + FEATURES} in the original file"
        )
    features = range(table.width - FEATURES, table.width)

    def misfit(cell: str) -> str | None:
        return None if NUMBER.fullmatch(cell) and abs(float(cell)) <= values.MAGNITUDE else values.FINITE

    table.parse([dict.fromkeys(features, pa.float64())], misfit)
    if (rows := len(table.columns[0])) != ROWS:
        raise DataError(f"{path}: {rows} rows; expected {ROWS}, as in the published set")
    x = np.empty((N or ROWS, FEATURES))
    for d, j in enumerate(features):
        x[:, d] = numbers(table, j, "the features")[:N]
    meta = {"rows": ROWS, "truth": "no labels are published"}
    notes = sets.verification_notes("kddcup04bio", sha256_of)
    return Dataset("kddcup04bio", "points", x, meta=meta | values.notes_entry(notes))


def kdd_like(
    N: int = ROWS,
    components: int = 2000,
    D: int = FEATURES,
    separation: float = 1.0,
    spreads: Sequence[float] = (0.5, 1.5),
    exponent: float = 1.0,
    scales: Sequence[float] = (1.0, 1000.0),
    dtype: str = "float64",
    seed: int = 0,
) -> Dataset:
    """Points of many normal distributions of very uneven size, a scale of its own for each column.

    The set has max(N, 145,751) points in random order, of which the first N are made: a smaller N gives the first rows
    of the same data, with fewer of the components. Kind ``points``, ``[N, D]`` of `dtype`; the truth is the component,
    numbered by first appearance. ``meta["means"]``: float64 ``[K, D]``, ``meta["deviations"]``: float64 ``[K]``, of the
    components that appear; ``meta["column_scales"]``: float64 ``[D]``. A point is column_scales (mean + deviation
    standard normal).
    """
    values.require_size("N", N)
    whole = max(N, ROWS)
    values.require_size("data.components", components, whole)
    values.require_size("data.D", D, values.LARGEST // max(N, components))
    values.require_number("data.separation", separation, 0, 1e12)
    values.require_range("data.spreads", spreads, 0, 1e12)
    values.require_number("data.exponent", exponent, 0, 10)
    values.require_range("data.scales", scales, 1e-12, 1e12)
    require_dtype(dtype)
    values.require_seed(seed)
    rng = np.random.default_rng(seed)
    column_scales = np.exp(rng.uniform(np.log(scales[0]), np.log(scales[1]), size=D))
    means = separation * rng.standard_normal((components, D))
    deviations = rng.uniform(spreads[0], spreads[1], size=components)
    sizes = uneven_sizes(whole, components, exponent)
    order = rng.permutation(np.repeat(np.arange(components, dtype=np.int32), sizes))
    codes, appear = pd.factorize(order[:N])
    truth, means, deviations = codes.astype(np.int32), means[appear], deviations[appear]
    x = standard_normal(rng, N, D, dtype)
    move(x, truth, means, deviations)
    x *= column_scales
    meta = {"means": means, "deviations": deviations, "column_scales": column_scales, "components": components, "D": D}
    meta |= {"separation": separation, "spreads": spreads, "exponent": exponent, "scales": scales}
    meta |= {"dtype": dtype, "seed": seed}
    return Dataset("kdd_like", "points", x, truth, meta=meta)


def uneven_sizes(N: int, K: int, exponent: float) -> NDArray[np.int64]:
    """int64 ``[K]``: sizes that add up to N, one each and the rest in proportion to k^-exponent, k = 1 .. K."""
    share = np.arange(1, K + 1, dtype=np.float64) ** -exponent
    upto = np.round((N - K) * np.cumsum(share) / share.sum()).astype(np.int64)
    upto[-1] = N - K
    return 1 + np.diff(upto, prepend=0)
