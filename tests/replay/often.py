"""Which values of a parameter every run goes through: a reference implementation is proved by its own matrix on one
model of each kind, and slowly on all; the compiled code is, on all of them, each time (tests/exact).
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest


def often(values: Iterable[Any], always: Collection[Any]) -> list[Any]:
    """The values, those not in `always` marked as slow; of a mapping its values, under the names of its keys."""
    named = values.items() if isinstance(values, Mapping) else ((None, value) for value in values)
    return [
        pytest.param(value, id=name, marks=[] if (value if name is None else name) in always else [pytest.mark.slow])
        for name, value in named
    ]
