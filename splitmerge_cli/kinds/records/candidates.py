"""Read-only tables of the model of records: how often each value of a field occurs, and which values are near it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.kinds.records.similar_values import near_values, slip_norms


def prepare(
    values: NDArray[np.int32], fields: Sequence[tuple[str, Sequence[str]]], similarity: str, strength: float
) -> dict[str, Any]:
    """Tables of the values in all fields, numbered through: values of field f begin at ``begin[f]``.

    `values`: int32 of shape (N, F), codes of a field's values, from 0; -1 where missing. `fields`: for each its type
    and its levels, the words that the codes stand for. A ValueError for a field without a known cell. The tables:
    ``value`` int32 ``[N F]``, numbers of values, -1 where missing; ``begin`` int32 ``[F + 1]``; ``share`` float64
    ``[U]``, of the records whose cell is known; ``near_begin`` int64 ``[U + 1]``, ``near`` int32 and ``alike`` float64
    ``[M]``: the values near each and the weights of these, symmetric; ``norm`` float64 ``[U]``: 1 over the sum of a
    value's weights and the unseen slips' weight, 0 in a field without near values; ``known`` int64 ``[F]``: known
    cells.
    """
    begin, share, starts, near, alike, norm = [0], [], [np.zeros(1, dtype=np.int64)], [], [], []
    known = (values >= 0).sum(axis=0)
    for f, (kind, levels) in enumerate(fields):
        if not known[f]:
            raise ValueError(f"field {f + 1}: no known cell; expected one at least")
        n = len(levels)
        share.append(np.bincount(values[values[:, f] >= 0, f], minlength=n) / known[f])
        first, other, weight = near_values(levels, kind, similarity, strength)
        starts.append(first[1:] + starts[-1][-1])
        near.append(other + begin[-1])
        alike.append(weight)
        norm.append(slip_norms(kind, first, weight, strength))
        begin.append(begin[-1] + n)
    near_begin = np.concatenate(starts)
    first_of = np.array(begin[:-1], dtype=np.int32)
    return {
        "value": np.where(values >= 0, values + first_of, -1).astype(np.int32).ravel(),
        "begin": np.array(begin, dtype=np.int32),
        "share": np.concatenate(share),
        "near_begin": near_begin,
        # one more entry: there may be none
        "near": np.concatenate([*near, np.zeros(1)]).astype(np.int32),
        "alike": np.concatenate([*alike, np.zeros(1)]),
        "norm": np.concatenate(norm),
        "known": known.astype(np.int64),
    }


def vectors_of(values: NDArray[np.int32], data: Any) -> dict[str, Any]:
    """Records as ``vectors`` whose cosines say how much they agree: for each value the root of - log share."""
    known = values >= 0
    numbers = (values + data.begin[:-1])[known]
    starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    weights = np.sqrt(np.maximum(-np.log(data.share[numbers]), 0.0))
    return {"vectors": csr_array((weights, numbers, starts), shape=(len(values), int(data.begin[-1])))}
