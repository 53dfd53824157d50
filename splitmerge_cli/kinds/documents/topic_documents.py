"""The documents of a run by their topics: what ``documents.csv`` says."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.diagnostics.cluster_table import number_clusters
from splitmerge_cli.kinds.documents import topics

LEVEL = 0.95
"""Level of the intervals."""
LEAST_STATES = 10
"""States that an interval needs at least."""


def match_labels(labels: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.int32]:
    """Label a state by the topics of a reference, int32 ``[N]`` both: each topic becomes the one that holds most of its
    tokens."""
    shape = int(labels.max()) + 1, int(reference.max()) + 1
    shared = topics.counts(labels, reference, shape)
    best = np.array([shared.indices[a + np.argmax(shared.data[a:b])] for a, b in _rows(shared.indptr)], dtype=np.int32)
    return best[labels]


def _rows(indptr: NDArray[np.integer]) -> list[tuple[int, int]]:
    return list(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True))


def documents(
    reference: NDArray[np.int32],
    states: Sequence[NDArray[np.int32]],
    starts: NDArray[np.int64],
    names: Sequence[str] | None,
) -> pd.DataFrame:
    """A row for each document: row (from 1), name (where there are names), tokens, topic, proportion, low, high,
    second, second_proportion.

    A proportion is a share of the tokens of the document: the mean over the recorded states, int32 ``[N]`` each,
    numbered in any way; of the reference alone, the state whose topics are used, where there are none. topic and second
    describe the largest. low and high: quantiles of the states, of level 0.95; NaN with fewer than 10.
    Empty documents have no topic. `starts` ``[J + 1]`` says where each document begins.
    """
    J, K = len(starts) - 1, int(reference.max()) + 1
    lengths, document = np.diff(starts), topics.document_of(starts)
    seen = [match_labels(labels, reference) for labels in states]
    total = sum(topics.counts(document, state_topics, (J, K)) for state_topics in seen or [reference])
    held = csr_array(total)
    first, second = np.full(J, -1), np.full(J, -1)
    proportion, second_proportion = np.full(J, np.nan), np.full(J, np.nan)
    for j, (a, b) in enumerate(_rows(held.indptr)):
        # the largest first, among equals the smaller number
        order = a + np.lexsort((held.indices[a:b], -held.data[a:b]))
        scale = lengths[j] * max(len(seen), 1)
        if len(order):
            first[j], proportion[j] = held.indices[order[0]], held.data[order[0]] / scale
        if len(order) > 1:
            second[j], second_proportion[j] = held.indices[order[1]], held.data[order[1]] / scale
    low, high = np.full(J, np.nan), np.full(J, np.nan)
    if len(seen) >= LEAST_STATES:
        counts = np.stack(
            [np.bincount(document[state_topics == first[document]], minlength=J) for state_topics in seen]
        )
        some = lengths > 0
        ends = np.quantile(counts[:, some] / lengths[some], [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
        low[some], high[some] = ends
    frame = pd.DataFrame({"row": np.arange(1, J + 1)})
    if names is not None:
        frame["name"] = list(names)
    frame["tokens"] = lengths
    for column, values in (("topic", first), ("proportion", proportion), ("low", low), ("high", high)):
        frame[column] = values
    frame["second"], frame["second_proportion"] = second, second_proportion
    for column in ("topic", "second"):
        frame[column] = number_clusters(frame[column].astype("Int64").mask(frame[column] < 0))
    return frame
