"""Records drawn from the model of records: how often values are true, true values of new entities, then their cells.

The shares of errors come from a state, or are their prior's means. How often a value is true comes from its prior and,
given records, the commonest value of each entity (docs/models/records.md).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.shared import Prepared, share
from splitmerge_cli.core.simulation import Given
from splitmerge_cli.kinds.records.candidates import prepare

Rng = np.random.Generator
Codes = NDArray[np.int32]


_latest: list[Prepared] = []
"""The tables of the last data: a check makes a hundred replications of them."""


def _tables_of(data: Any, options: Any) -> Prepared:
    fields = tuple((field.type, tuple(field.levels)) for field in data.types)
    _latest[:] = [share(prepare, data.values, fields, options["similarity"], options["strength"])]
    return _latest[0]


def simulate_records(rng: Rng, given: Given) -> Codes:
    """Codes of the fields, int32 ``[N, F]``, none missing; a slip that no record shows has a code of its own."""
    data, options, z = given.data, given.options, given.labels
    F, tables = data.values.shape[1], _tables_of(data, options)
    if given.parameters is not None:
        theta, slip = np.reshape(given.parameters, -1)[: 2 * F].reshape(2, F)
    else:
        held = [getattr(options[key], "mean", options[key]) for key in ("distortion", "similar")]
        theta, slip = np.repeat(np.array(held, dtype=np.float64), F).reshape(2, F)
    out = np.empty((len(z), F), dtype=np.int32)
    for f in range(F):
        first, end = tables.begin[f : f + 2]
        phi = tables.share[first:end]
        if options["frequencies"] > 0.0:
            common = _commonest(data.values[: given.known, f], given.evidence)
            phi = rng.dirichlet(options["frequencies"] + np.bincount(common, minlength=end - first))
        true = rng.choice(end - first, size=given.K, p=phi)[z]
        distorted = rng.random(len(z)) < theta[f]
        slips = distorted & (rng.random(len(z)) < slip[f]) & (tables.norm[first] > 0.0)
        wrong = distorted & ~slips
        out[:, f] = true
        out[wrong, f] = rng.choice(end - first, size=wrong.sum(), p=phi)
        near = _draw_near(rng, tables, true[slips] + first) - first
        # one that no record shows is like no other
        out[slips, f] = np.where(near >= 0, near, end - first + np.arange(len(near)))
    return out


def _commonest(values: Codes, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The commonest known value of each cluster that has one, the first of several."""
    z, x = labels[values >= 0], values[values >= 0].astype(np.int64)
    both, counts = np.unique(np.column_stack([z, x]), axis=0, return_counts=True)
    order = np.lexsort((both[:, 1], -counts, both[:, 0]))
    _, first = np.unique(both[order, 0], return_index=True)
    return np.asarray(both[order][first, 1])


def _draw_near(rng: Rng, tables: Prepared, y: NDArray[np.int64]) -> NDArray[np.int64]:
    """A value near each of these, by number; -1 where the slip gives one that no record has."""
    sums = np.concatenate(([0.0], np.cumsum(tables.alike)))
    wanted = sums[tables.near_begin[y]] + rng.random(len(y)) / tables.norm[y]
    place = np.searchsorted(sums, wanted, side="right") - 1
    inside = place < tables.near_begin[y + 1]
    return np.where(inside, tables.near[np.minimum(place, len(tables.near) - 1)], -1)
