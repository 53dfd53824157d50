"""The protein data of KDD Cup 2004 as Luo & Shrivastava 2018 use them (section 4.2.2).

Each of the 145,751 rows of the published set compares a protein with one whose structure is known, in 74 numbers:
scores, lengths and counts whose scales differ a thousandfold (Caruana, Joachims & Backstrom 2004, "KDD-Cup 2004:
results and analysis"). Luo & Shrivastava 2018 speak of 2,000 true clusters. No such labels are public: the original
file tells only which of 153 proteins a row belongs to and whether the two are homologous, and the collection of
clustering data sets that the paper names gives 2,000 as a number of clusters to look for.
`splitmerge_cli.kinds.tables.generated.kdd_like` has what the real set lacks, a truth.
"""

import numpy as np
import pyarrow as pa

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import sha256_of
from splitmerge_cli.data.published import sets
from splitmerge_cli.data.tables.columns import numbers
from splitmerge_cli.data.tables.encoded import read_text
from splitmerge_cli.data.tables.free_text import tabs
from splitmerge_cli.data.tables.table import NUMBER
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import FINITE, MAGNITUDE, notes_entry, require
from splitmerge_cli.kinds.tables.generated.kdd_like import FEATURES, ROWS
from splitmerge_cli.received import DataError

FILE = "KDDCUP04Bio.txt"
BEFORE = 3
"""Columns of the original file before the features: block, example, homologous or not."""


def kddcup04bio(N: int | None = None) -> Dataset:
    """The published protein data of KDD Cup 2004: 145,751 rows of 74 numbers.

    The file is from the collection of clustering data sets that Luo & Shrivastava 2018 name, numbers separated by
    spaces or tabs. The original ``bio_train.dat`` under its name is read too: its first three columns (block, example,
    homologous or not) are left out. The truth is not known: labels of the 2,000 clusters that Luo & Shrivastava 2018
    speak of are not public.

    Parameters
    ----------
    N : int, optional
        Take the first N rows; all by default.

    Returns
    -------
    Dataset
        Kind ``points``, float64 ``[N, 74]``, without a truth. Its notes say that the file is unverified.

    Raises
    ------
    DataError
        N out of range; the file is absent, not the one that was fetched, or holds something else: another number of
        rows or columns, a ragged row, a cell that is no number of magnitude 1e30 at most.
    """
    require(N is None or 1 <= N <= ROWS, "N", N, f"a whole number from 1 to {ROWS}, the number of rows, or null")
    path = sets.locate("kddcup04bio", FILE)
    table = Text(path, tabs(path, read_text(path)), "\t")
    if table.width not in (FEATURES, BEFORE + FEATURES):
        raise DataError(
            f"{path}: row 1: cells: {table.width}; expected {FEATURES}, or {BEFORE + FEATURES} in the original file"
        )
    features = range(table.width - FEATURES, table.width)

    def misfit(cell: str) -> str | None:
        return None if NUMBER.fullmatch(cell) and abs(float(cell)) <= MAGNITUDE else FINITE

    table.parse([dict.fromkeys(features, pa.float64())], misfit)
    if (rows := len(table.columns[0])) != ROWS:
        raise DataError(f"{path}: {rows} rows; expected {ROWS}, as in the published set")
    x = np.empty((N or ROWS, FEATURES))
    for d, j in enumerate(features):
        x[:, d] = numbers(table, j, "the features")[:N]
    meta = {"rows": ROWS, "truth": "no labels are published"}
    notes = sets.verification_notes("kddcup04bio", sha256_of)
    return Dataset("kddcup04bio", "points", x, meta=meta | notes_entry(notes))
