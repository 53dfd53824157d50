"""Generated tables: points, 0 and 1, counts and columns of several types, of a few clusters in random order.

Their options are described in ``conf/data``, in a file each. Seeds are of the data, independent of the seed of the
chains; what is out of range raises a `DataError`.

The protein data of KDD Cup 2004 as Luo & Shrivastava 2018 use them (section 4.2.2), and points like them.

Each of the 145,751 rows of the published set compares a protein with one whose structure is known, in 74 numbers:
scores, lengths and counts whose scales differ a thousandfold (Caruana, Joachims & Backstrom 2004, "KDD-Cup 2004:
results and analysis"). Luo & Shrivastava 2018 speak of 2,000 true clusters. No such labels are public: the original
file tells only which of 153 proteins a row belongs to and whether the two are homologous, and the collection of
clustering data sets that the paper names gives 2,000 as a number of clusters to look for. `kdd_like` generates points
that are like these and have what they lack, a truth.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.data import downloads, opening, values
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.tables import separators, text
from splitmerge_cli.data.tables.columns import numbers
from splitmerge_cli.data.tables.table import NUMBER
from splitmerge_cli.received import DataError

SIZES = ("equal", "crp")
DTYPES = ("float64", "float32")
LARGEST_SPREAD = 1e15
BLOCK = 1 << 16
"""Rows that are drawn, or moved to their means, at the same time: what is taken besides the data."""
TABLE = np.array(
    [
        [0.95, 0.95, 0.95, 0.95, 0.95, 0.95],
        [0.05, 0.05, 0.05, 0.05, 0.95, 0.95],
        [0.95, 0.05, 0.05, 0.95, 0.95, 0.95],
        [0.05, 0.05, 0.05, 0.05, 0.05, 0.05],
        [0.95, 0.95, 0.95, 0.95, 0.05, 0.05],
    ]
)
"""Probabilities of `jain_neal`, a row for each of five components."""
EXAMPLES = {1: 6, 2: 8, 3: 10}
"""Attributes of the Examples of Herlau et al. 2014."""
MOST_LEVELS = 1000
MEAN_COUNT = 5.0
LARGEST_RATE = 1e6


def gaussian(
    N: int,
    components: int = 5,
    D: int = 2,
    separation: float = 5.0,
    spread: float = 1.0,
    spreads: Sequence[float] | None = None,
    sizes: str = "equal",
    concentration: float = 1.0,
    dtype: str = "float64",
    seed: int = 0,
) -> Dataset:
    """Points of a few normal distributions that differ in their means, and in their spreads if asked, in random order.

    Kind ``points``, ``[N, D]`` of `dtype`; the truth is the component. ``meta["means"]``: float64 ``[components, D]``;
    ``meta["deviations"]``: float64 ``[components]``, the standard deviations. Source: Luo & Shrivastava 2018, section
    4.2.1 (S1 to S3: 10 components that differ in mean and variance, D = 25, 100 to 10,000 points); it gives neither the
    distances nor the spreads.
    """
    values.require_size("N", N)
    values.require_size("data.D", D, values.LARGEST // N)
    values.require_seed(seed)
    values.require_number("data.separation", separation, 0, 1e12)
    values.require_number("data.spread", spread, 0, LARGEST_SPREAD)
    if spreads is not None:
        values.require_range("data.spreads", spreads, 0, LARGEST_SPREAD)
    values.require(sizes in SIZES, "data.sizes", sizes, f"one of {', '.join(SIZES)}")
    require_dtype(dtype)
    rng = np.random.default_rng(seed)
    if sizes == "equal":
        values.require_size("data.components", components, N)
        truth = values.equal_sizes(rng, N, components)
    else:
        values.require_number("data.concentration", concentration, 1e-100, 1e100)
        truth = values.crp(rng, N, concentration)
    means = separation * spread * rng.standard_normal((int(truth.max()) + 1, D))
    x = standard_normal(rng, N, D, dtype)
    least, largest = (spread, spread) if spreads is None else spreads
    deviations = rng.uniform(least, largest, size=len(means))
    move(x, truth, means, deviations)
    meta = {"means": means, "deviations": deviations, "components": len(means), "D": D, "separation": separation}
    meta |= {"spread": spread, "spreads": spreads, "sizes": sizes, "concentration": concentration}
    meta |= {"dtype": dtype, "seed": seed}
    return Dataset("gaussian", "points", x, truth, meta=meta)


def require_dtype(dtype: str) -> None:
    """Raise a `DataError` unless points can have the type."""
    values.require(dtype in DTYPES, "data.dtype", dtype, f"one of {', '.join(DTYPES)}")


def standard_normal(rng: np.random.Generator, N: int, D: int, dtype: str) -> NDArray[np.floating]:
    """``[N, D]`` of `dtype`: standard normal numbers, the same but for their rounding whatever the type."""
    x = np.empty((N, D), dtype=dtype)
    for start in range(0, N, BLOCK):
        block = x[start : start + BLOCK]
        block[:] = rng.standard_normal(block.shape)
    return x


def move(
    x: NDArray[np.floating], truth: NDArray[np.int32], means: NDArray[np.float64], deviations: NDArray[np.float64]
) -> None:
    """Turn standard normal points `x` into points of their components, in place: x deviations + means of each
    component.
    """
    for start in range(0, len(x), BLOCK):
        block, component = x[start : start + BLOCK], truth[start : start + BLOCK]
        block *= deviations[component, None]
        block += means[component]


def jain_neal(N: int, components: int = 5, attributes: int = 15, example: int | None = None, seed: int = 0) -> Dataset:
    """Bernoulli mixtures in the manner of Jain & Neal (2004), as Wang & Russell 2015 and Herlau et al. 2014 use them.

    Kind ``binary``, uint8 ``[N, attributes]``; the truth is the component. Each component holds an attribute with
    probability 0.95 or 0.05; with more than six attributes the last column of the table is repeated, so that components
    differ in the first columns only and are hard to tell apart. Source: Herlau et al., section 3.1 and Table 1
    (Examples 1 to 3); Wang & Russell 2015, section 5.2 (5 components, 15 attributes; the paper refers to Jain & Neal
    for the probabilities).
    """
    values.require_size("N", N)
    values.require_seed(seed)
    rng = np.random.default_rng(seed)
    if example is not None:
        values.require(example in EXAMPLES, "data.example", example, "1, 2, 3 or null")
        values.require(N % 5 == 0, "N", N, "a multiple of 5 (five components of equal size)")
        components, attributes = 5, EXAMPLES[example]
        truth = values.equal_sizes(rng, N, components)
    else:
        values.require_size("data.attributes", attributes, values.LARGEST // N)
        values.require_size("data.components", components, values.LARGEST // attributes)
        truth = rng.integers(components, size=N, dtype=np.int32)
    if components == len(TABLE):
        p = TABLE[:, np.minimum(np.arange(attributes), TABLE.shape[1] - 1)]
    else:
        p = rng.choice([0.05, 0.95], size=(components, attributes))
    x = (rng.random((N, attributes)) < p[truth]).astype(np.uint8)
    meta = {"components": components, "attributes": attributes, "example": example, "seed": seed}
    return Dataset("jain_neal", "binary", x, truth, meta=meta)


def counts(
    N: int, clusters: int = 5, columns: int = 20, total: float = 50.0, concentration: float = 0.5, seed: int = 0
) -> Dataset:
    """Multinomial counts of a few clusters, in random order: kind ``counts``, int32 ``[N, columns]``; the truth is the
    cluster.

    Examples
    --------
    >>> counts(100, clusters=3, columns=8).values.shape
    (100, 8)
    """
    values.require_size("N", N)
    values.require_seed(seed)
    values.require_size("data.clusters", clusters, N)
    values.require_size("data.columns", columns, values.LARGEST // N)
    values.require_number("data.total", total, 1e-3, 1e6)
    values.require_number("data.concentration", concentration, 1e-3, 1e6)
    rng = np.random.default_rng(seed)
    truth = values.equal_sizes(rng, N, clusters)
    shares = rng.dirichlet(np.full(columns, concentration), size=clusters)
    totals = np.maximum(1, rng.poisson(total, size=N))
    x = rng.multinomial(totals, shares[truth]).astype(np.int32)
    names = [f"column{j + 1}" for j in range(columns)]
    meta = {"clusters": clusters, "total": total, "concentration": concentration, "seed": seed}
    return Dataset("counts", "counts", x, truth=truth, columns=names, meta=meta)


def mixed(
    N: int,
    components: int = 5,
    binary: int = 3,
    categorical: int = 3,
    count: int = 3,
    real: int = 3,
    levels: int = 4,
    separation: float = 2.0,
    missing: float = 0.05,
    seed: int = 0,
) -> Dataset:
    """Rows of a few components that differ in all columns, which are independent within a component, in random order.

    Kind ``mixed``, float64 ``[N, D]``, NaN where a cell is missing; the truth is the component. Names of columns: the
    type and a number from 1.
    """
    values.require_size("N", N)
    values.require_seed(seed)
    values.require_size("data.components", components, N)
    numbers = {"binary": binary, "categorical": categorical, "count": count, "real": real}
    for key, value in numbers.items():
        good = isinstance(value, int) and 0 <= value <= values.LARGEST // N
        values.require(good, f"data.{key}", value, f"a whole number from 0 to {values.LARGEST // N}")
    D = sum(numbers.values())
    values.require(1 <= D <= values.LARGEST // N, "data.real", real, f"1 to {values.LARGEST // N} columns in all")
    good = isinstance(levels, int) and 2 <= levels <= MOST_LEVELS
    values.require(good, "data.levels", levels, f"a whole number from 2 to {MOST_LEVELS}")
    values.require_number("data.separation", separation, 0, 100)
    values.require_number("data.missing", missing, 0, 1)
    rng = np.random.default_rng(seed)
    truth = values.equal_sizes(rng, N, components)
    x = np.empty((N, D))
    types: list[ColumnType] = []
    columns: list[str] = []
    for type, number in numbers.items():
        names = {"binary": ("no", "yes"), "categorical": tuple(f"level{v + 1}" for v in range(levels))}
        for j in range(number):
            x[:, len(types)] = _column(rng, type, truth, components, levels, separation)
            types.append(ColumnType(type, names.get(type, ())))
            columns.append(f"{type}{j + 1}")
    for j in range(D):
        x[rng.random(N) < missing, j] = np.nan
    meta: dict[str, Any] = {"components": components, **numbers, "levels": levels, "separation": separation}
    meta |= {"missing": missing, "seed": seed}
    return Dataset("mixed", "mixed", x, truth, columns=columns, types=tuple(types), meta=meta)


def _column(rng: np.random.Generator, type: str, truth: Any, components: int, levels: int, separation: float) -> Any:
    """Cells of one column: ndarray of shape (N,)."""
    if type == "categorical":
        logits = separation * rng.standard_normal((components, levels))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        bounds = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        return (rng.random(len(truth))[:, None] >= bounds[truth]).sum(axis=1)
    centres = separation * rng.standard_normal(components)
    if type == "binary":
        return rng.random(len(truth)) < (1 / (1 + np.exp(-centres)))[truth]
    if type == "count":
        return rng.poisson(np.minimum(MEAN_COUNT * np.exp(centres / 4), LARGEST_RATE)[truth])
    return centres[truth] + rng.standard_normal(len(truth))


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
    path = downloads.locate("kddcup04bio", FILE)
    table = text.Text(path, separators.tabs(path, separators.read_text(path)), "\t")
    if table.width not in (FEATURES, BEFORE + FEATURES):
        expected = f"{FEATURES}, or {BEFORE + FEATURES} in the original file"
        raise DataError(f"{path}: row 1: cells: {table.width}; expected {expected}")
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
    notes = downloads.verification_notes("kddcup04bio", opening.sha256_of)
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
