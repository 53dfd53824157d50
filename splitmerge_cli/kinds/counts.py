"""Vectors of counts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from splitmerge_cli.kinds.rows import Rows

if TYPE_CHECKING:
    from splitmerge_cli.data.base import Dataset

LARGEST = 2**31 - 1


class Counts(Rows):
    """Rows of whole numbers from 0: words of documents, species at sites, reads of genes. int32 ``[N, D]``."""

    name = "counts"
    model = "dirichlet_multinomial"
    dtype = np.int32
    cells = "counts"
    expected = f"a whole number from 0 to {LARGEST}"
    column_types = ("count",)
    allows_missing = False
    leaves_out_constants = False

    def fits(self, x: Any) -> Any:
        return (x >= 0) & (x <= LARGEST) & (x == np.floor(x))

    def example(self, N: int, seed: int = 0) -> "Dataset":
        from splitmerge_cli.data.generated.counts import generate

        return generate(N, clusters=min(N, 2), columns=3, total=4.0, concentration=2.0, seed=seed)

    def outline(self, N: int, D: int) -> "Dataset":
        """Totals from 3 to 6, in the first column."""
        made = super().outline(N, D)
        made.values[:, 0] = 3 + np.arange(N) % 4
        return made
