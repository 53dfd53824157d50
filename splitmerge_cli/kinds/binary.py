"""Rows of 0 and 1."""

from typing import Any, ClassVar

import numpy as np

from splitmerge_cli.kinds.rows import Rows


class Binary(Rows):
    """Rows of 0 and 1, or of words for them: uint8 ``[N, D]``; float64 where cells are missing, these NaN."""

    name = "binary"
    model = "bernoulli"
    generator = "splitmerge_cli.data.generated.jain_neal:generate"
    dtype = np.uint8
    levels = ("0", "1")
    cells = "0 and 1"
    text_types = ("uint8", "float64", "string")
    of_numbers = False
    truth_values: ClassVar = {"true": 1, "yes": 1, "false": 0, "no": 0}
    expected = "0 or 1"
    advice = " (other numbers: model=gaussian, other values: model=mixed)"
    column_types = ("binary",)

    def fits(self, x: Any) -> Any:
        return (x == 0) | (x == 1)
