"""Documents under a posterior over topics: documents of the data, and new ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.analysis.predictive import Prediction
from splitmerge_cli.config import Component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import has_counts, texts_of
from splitmerge_cli.fits.cautions import UnseenWords, warn
from splitmerge_cli.kinds.documents import new_documents
from splitmerge_cli.kinds.documents.corpus import Tokens
from splitmerge_cli.kinds.documents.readers.objects import known_words
from splitmerge_cli.kinds.documents.topic_summary import mixtures
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.store.read import Run

FIRST_STATES, MOST_STATES = 50, 800
"""Draws that predictions of documents average over at least, and at most unless a program asks for more; each has
particles and scans of its own."""


def encode_documents(dataset: Dataset, new: Any) -> Tokens:
    """Return new documents as tokens over the words of the data.

    Warns
    -----
    UnseenWords
        Some words are not among them.
    """
    if isinstance(new, Tokens):
        return new
    words_known = known_words(dataset, new)
    if words_known.unseen:
        total = words_known.unseen + len(words_known.tokens.words)
        warn(
            f"{words_known.unseen:,} of {total:,} tokens of the new documents are left out: the data do not have "
            f"their words, such as '{words_known.examples[0]}'",
            UnseenWords,
        )
    return words_known.tokens


def predict(
    run: Run,
    model: Component,
    dataset: Dataset,
    new: Any,
    states: Sequence[State],
    labels: NDArray[np.int32],
    wanted: str,
) -> Prediction:
    """Predict new documents, each alone; `wanted` is ``density`` or ``probability``, the other is NaN."""
    particles, scans = (new_documents.PARTICLES, 0) if wanted == "density" else (0, new_documents.SCANS)
    tokens = encode_documents(dataset, new)
    seed = int(run.config["seed"])
    return new_documents.predict_documents(model, dataset, tokens, states, labels, seed, particles, scans)


def eta_of(config: Mapping[str, Any]) -> float:
    """The parameter of the topics' Dirichlet prior."""
    return float(config["model"]["eta"])


def largest(dataset: Dataset, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The topic that most tokens of each document have, int32 ``[J]``; -1 for an empty document."""
    share = mixtures(dataset, labels)
    empty = np.isnan(share[:, 0])
    return np.where(empty, -1, np.where(empty[:, None], 0, share).argmax(axis=1)).astype(np.int32)


def is_counted(data: Any) -> bool:
    """Whether documents are given as a matrix of counts."""
    return has_counts(texts_of(data)[0])
