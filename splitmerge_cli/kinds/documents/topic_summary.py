"""Topics in the corpus's own terms: their words, their most distinctive words, their best documents."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.diagnostics.cluster_table import FIRST, number_clusters
from splitmerge_cli.kinds.documents import topics

PROTOTYPES = 3
"""Documents that are named of a topic."""


def topic_word(dataset: Any, labels: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Posterior means of the topics' probabilities of words, (eta + n_kw)/(V eta + n_k): float64 ``[K, V]``.

    The data are documents, N tokens of V words; `labels` ``[N]`` are the topic of every token, from 0.
    """
    topic_labels = np.asarray(labels, dtype=np.int32)
    corpus = dataset.values
    word_counts = (
        topics.counts(topic_labels, corpus.tokens.words, (int(topic_labels.max()) + 1, corpus.V)).toarray() + eta
    )
    return np.asarray(word_counts / word_counts.sum(axis=1, keepdims=True))


def mixtures(dataset: Any, labels: ArrayLike) -> NDArray[np.float64]:
    """Topic proportions of each document, float64 ``[J, K]``; rows sum to 1, NaN for empty documents. Parameters as for
    `topic_word`."""
    topic_labels = np.asarray(labels, dtype=np.int32)
    corpus = dataset.values
    document_counts = topics.counts(
        corpus.tokens.documents(), topic_labels, (corpus.tokens.J, int(topic_labels.max()) + 1)
    ).toarray()
    with np.errstate(invalid="ignore"):
        return np.asarray(document_counts / corpus.tokens.lengths[:, None])


def summary(
    dataset: Any, labels: ArrayLike, eta: float, most_words: int = topics.TOP, first_cluster: int = FIRST
) -> pd.DataFrame:
    """A row for each topic, a cluster of tokens, the largest first; parameters as for `topic_word`, `most_words` words
    of a topic are named, and the topic of label 0 has the number `first_cluster`.

    Columns are cluster (the topic), size (tokens), share (of all tokens), documents (that have a token of it),
    top_words (the most relevant, see `splitmerge_cli.kinds.documents.topics.relevant_entries`), telling (the words with
    the largest terms phi_kw log(phi_kw/p_w) of the Kullback-Leibler divergence of the topic from the corpus, p_w being
    the share of the tokens), divergence (their sum over all words, in nats), prototypes (names, or numbers from 1, of
    the documents with most of the topic, (n_jk + 1/2)/(n_j + 1)). Words and prototypes are lists.
    """
    topic_labels = np.asarray(labels, dtype=np.int32)
    corpus, vocabulary = dataset.values, dataset.vocabulary
    sizes = np.bincount(topic_labels)
    K, lengths = len(sizes), corpus.tokens.lengths
    words = topics.counts(topic_labels, corpus.tokens.words, (K, corpus.V))
    held = topics.counts(topic_labels, corpus.tokens.documents(), (K, corpus.tokens.J))
    overall = np.bincount(corpus.tokens.words, minlength=corpus.V) / len(topic_labels)
    relevant = topics.relevant_entries(words, eta, most_words)
    rows = []
    for k in np.argsort(-sizes, kind="stable"):
        here = slice(words.indptr[k], words.indptr[k + 1])
        columns, count = words.indices[here], words.data[here]
        phi = (eta + count) / (corpus.V * eta + sizes[k])
        term = phi * np.log(phi / overall[columns])
        # words of the corpus that the topic does not hold
        other = eta / (corpus.V * eta + sizes[k])
        absent = np.ones(corpus.V, dtype=bool)
        absent[columns] = False
        absent &= overall > 0
        rest = float(np.sum(other * np.log(other / overall[absent])))
        place = slice(held.indptr[k], held.indptr[k + 1])
        document = held.indices[place]
        much = (held.data[place] + 0.5) / (lengths[document] + 1.0)
        shown = document[np.argsort(-much, kind="stable")[:PROTOTYPES]]
        rows.append(
            {
                "cluster": number_clusters(int(k), first_cluster),
                "size": int(sizes[k]),
                "share": sizes[k] / len(topic_labels),
                "documents": len(document),
                "top_words": [vocabulary[w] for w in words.indices[relevant[k]]],
                "telling": [vocabulary[w] for w in columns[np.argsort(-term, kind="stable")[:most_words]]],
                "divergence": float(term.sum()) + rest,
                "prototypes": [int(j) + 1 if corpus.documents is None else corpus.documents[j] for j in shown],
            }
        )
    return pd.DataFrame(rows)
