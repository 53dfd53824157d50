"""Vectors of counts."""

from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.values import LARGEST
from splitmerge_cli.kinds.rows import Rows


class Counts(Rows):
    """Rows of whole numbers from 0: words of documents, species at sites, reads of genes. int32 ``[N, D]``."""

    name = "counts"
    model = "multinomial"
    generator = "splitmerge_cli.data.generated.counts:generate"
    dtype = np.int32
    cells = "counts"
    expected = f"a whole number from 0 to {LARGEST}"
    column_types = ("count",)
    allows_missing = False
    takes_exposure = True
    leaves_out_constants = False

    def fits(self, x: Any) -> Any:
        return (x >= 0) & (x <= LARGEST) & (x == np.floor(x))

    def example_options(self, N: int) -> dict[str, Any]:
        return {"clusters": min(N, 2), "columns": 3, "total": 4.0, "concentration": 2.0}

    def outline(self, N: int, D: int) -> Dataset:
        """Totals from 3 to 6, in the first column."""
        dataset = super().outline(N, D)
        dataset.values[:, 0] = 3 + np.arange(N) % 4
        return dataset
