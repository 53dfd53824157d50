"""Stored runs of documents: ``documents.csv``, topics in the corpus's own terms, entries of the
summary.

Documents under a posterior over topics: documents of the data, and new ones. Topics have their words, their most
distinctive words and their best documents. Held-out documents: perplexity, of a state and of probabilities averaged
over states. Documents that a run did not see: mixtures of topics, the probability of the words.

The run records topics of tokens, not their weights. Given the topics and the concentrations the weights are drawn
again, by Gibbs sampling of tables and weights: the average over states and draws is that over the posterior.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, FiniteFloat

from splitmerge_cli.analysis.predictive import Averages, Prediction, are_small, shares_in, spread_of
from splitmerge_cli.config import Component
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.objects import counts_of, has_counts, texts_of
from splitmerge_cli.diagnostics.cluster_table import FIRST, number_clusters
from splitmerge_cli.extras import sparse
from splitmerge_cli.fits.objects import UnseenWords, warn
from splitmerge_cli.kinds.documents import topics
from splitmerge_cli.kinds.documents.corpus import Tokens, tokens_of, vectorize
from splitmerge_cli.kinds.documents.heldout import read_new_documents
from splitmerge_cli.kinds.documents.readers.files import check_words
from splitmerge_cli.kinds.documents.readers.words import AUTO, Words
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.draws import BATCHES, Draws, State
from splitmerge_cli.runs.initial import build_model
from splitmerge_cli.runs.store import files, read
from splitmerge_cli.runs.store.summary import Said, Size, Summary, Whole

FIRST_STATES, MOST_STATES = 50, 800
"""Draws that predictions of documents average over at least, and at most unless a program asks for more; each has
particles and scans of its own."""


def perplexity(log_lik: ArrayLike, tokens: ArrayLike) -> float:
    """exp(-log likelihood / tokens) of documents, given the log likelihood of each and how many tokens of it, or of
    all, were predicted."""
    with np.errstate(over="ignore"):
        return float(np.exp(-np.sum(log_lik) / np.sum(tokens)))


def second_half(iterations: ArrayLike, log_lik: ArrayLike) -> Iterator[NDArray[np.float64]]:
    """For every state the log of the mean probability of each document, float64 ``[D]``, over the states of iterations
    beyond t/2, up to its own t.

    `iterations` ``[E]`` ascend; `log_lik` ``[E, D]`` is the log likelihood of each document under each state.
    """
    iterations, log_lik = np.asarray(iterations), np.asarray(log_lik, dtype=np.float64)
    # a queue of two stacks: in `front` the sums of what leaves, from each state to the turn; `back` the sum of the rest
    first, turn = 0, 0
    front: list[NDArray[np.float64]] = []
    back = np.full(log_lik.shape[1:], -np.inf)
    for e, t in enumerate(iterations):
        back = np.logaddexp(back, log_lik[e])
        while 2 * iterations[first] <= t:
            if first == turn:
                # the last row; the last two; ...; all
                front, turn = list(np.logaddexp.accumulate(log_lik[first : e + 1][::-1], axis=0)), e + 1
                back = np.full_like(back, -np.inf)
            front.pop()
            first += 1
        yield (np.logaddexp(front[-1], back) if front else back) - np.log(e + 1 - first)


def evaluations(
    iterations: NDArray[np.int64], tokens: NDArray[np.int64], log_lik: NDArray[np.float64]
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Summarise the evaluations of one chain.

    Parameters as in `second_half`, and the tokens ``[E]`` that were predicted. Returns a frame with columns
    iteration, log_lik, tokens, perplexity (of the state), averaged (of the second half of the states so far,
    probabilities averaged by document), and float64 ``[D]``, the log of the mean probability of each document over the
    second half of all states.
    """
    means = np.stack(list(second_half(iterations, log_lik)))
    rows = {
        "iteration": iterations,
        "log_lik": log_lik.sum(axis=1),
        "tokens": tokens,
        "perplexity": [perplexity(row, n) for row, n in zip(log_lik, tokens, strict=True)],
        "averaged": [perplexity(row, n) for row, n in zip(means, tokens, strict=True)],
    }
    return pd.DataFrame(rows), means[-1]


def pooled_perplexity(each: Sequence[NDArray[np.float64]], tokens: int) -> float:
    """Perplexity by the mean over chains of each document's probability, given their logarithms ``[D]``."""
    return perplexity(np.logaddexp.reduce(each, axis=0) - np.log(len(each)), tokens)


PARTICLES = 20
"""Particles of the filter, for each document and state."""
SCANS = 10
"""Gibbs scans of a document for each state, after as many of burn-in."""
WEIGHT_SCANS = 20
"""Gibbs scans of tables and weights for each state, from equal weights on."""


class TopicState(NamedTuple):
    """Parts of a state that new documents need."""

    word_topics: Any
    """int32 ``[V, K]``, tokens by word and topic."""
    weights: NDArray[np.float64]
    """float64 ``[K + 1]``, linear scale; the last is the weight of all topics without tokens."""
    alpha0: float
    gamma: float
    eta: float
    """Concentrations of documents and topics; parameter of the topics' Dirichlet prior."""


def topic_states(component: Component, dataset: Dataset, states: Sequence[State], seed: int) -> Iterator[TopicState]:
    """The states of a run, labels numbered without gaps, with their weights, which are drawn; of a state the draws
    depend on the `seed` and on its number."""
    for number, state in enumerate(states):
        known = replace(component, options={**component.options, **state.hyperparameters})
        model: Any = build_model(known, dataset)
        model.set_labels(state.labels)
        rng = Rng(seed, number)
        for _ in range(WEIGHT_SCANS):
            model.start_parameters(rng)
        yield TopicState(model.word_topics(), model.weights, model.alpha0, model.gamma, model.eta)


def predict_documents(
    component: Component,
    dataset: Dataset,
    new: Tokens,
    states: Sequence[State],
    labels: NDArray[np.int32],
    seed: int,
    particles: int = PARTICLES,
    scans: int = SCANS,
) -> Prediction:
    """Predict `new` documents under the words of the data, each alone, from at least one state of chains.

    `labels` ``[N]`` is the topic of every token of the data in a given partition, from 0; without `particles` there is
    no density, without `scans` no probability: NaN. `log_density` of each document: log of the mean over the states of
    p(words | state), the words in their order. `probability`: expected proportions of the C topics of the given
    partition, the last column being all topics that no token of the data has. What a document has of a topic of a state
    is where a random token of that is in the given partition.
    """
    C, draws = int(labels.max()) + 1, Draws.from_states(states)
    density, counts = Averages(BATCHES, new.J), np.zeros(BATCHES)
    totals = np.zeros((BATCHES, new.J, C + 1))

    def proportions() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means over the draws so far, and their standard errors."""
        mean = totals.sum(axis=0) / counts.sum()
        return mean, spread_of((totals - counts[:, None, None] * mean) / counts.sum(), counts)

    for number, (state, full) in enumerate(zip(draws, topic_states(component, dataset, draws, seed), strict=True)):
        log_lik, mixture = read_new_documents(*full, new.words, new.starts, [seed, number], particles, scans)
        batch = int(draws.batch[number])
        density.add(batch, log_lik)
        counts[batch] += 1
        totals[batch] += mixture @ shares_in(labels, state.labels, len(full.weights))
        if number + 1 in draws.looks and are_small(density.error() if particles else proportions()[1]):
            break
    mean, error = proportions()
    return Prediction(density.log_mean(), mean, density.error(), error, int(counts.sum()))


def encode_documents(dataset: Dataset, new: Any) -> Tokens:
    """New documents as tokens over the words of the data; warns of `UnseenWords` that are not among them.

    They are as `splitmerge_cli.data.objects.from_object` takes them, or a `Dataset` of them. Columns of a data frame
    of counts are found by name; another matrix has a column for each word of the vocabulary. Raises a `DataError` for
    another number of columns, or where no word of any document is known.
    """
    if isinstance(new, Tokens):
        return new
    vocabulary = list(dataset.vocabulary or ())
    code = {word: k for k, word in enumerate(vocabulary)}
    data, words = texts_of(new)[0], None
    if isinstance(data, Dataset):
        tokens, words = data.values.tokens, list(data.vocabulary or ())
        ones = np.ones(len(tokens.words), dtype=np.int32)
        counts = sparse.csr_array((ones, (tokens.documents(), tokens.words)), shape=(tokens.J, data.values.V))
        counts.sum_duplicates()
    elif has_counts(data):
        counts, words, _ = counts_of(data)
    else:
        shortest = dataset.meta.get("documents", {}).get("options", {}).get("min_length", AUTO)
        find_words = Words(shortest)
        # documents may be empty
        each = [find_words(document) if isinstance(document, str) else list(document) for document in data]
        check_words(each)
        none = sparse.csr_array((len(each), 0), dtype=np.int32)
        counts, words = vectorize(each, analyzer=list) if any(each) else (none, [])
    if words is None:
        if counts.shape[1] != len(vocabulary):
            raise DataError(f"new documents: {counts.shape[1]} words; expected the {len(vocabulary)} of the data")
        words = vocabulary
    column = np.array([code.get(word, -1) for word in words], dtype=np.int64)
    known = column >= 0
    totals: NDArray[np.int64] = np.asarray(counts.sum(axis=0), dtype=np.int64).ravel()
    unknown = np.flatnonzero(~known & (totals > 0))
    if totals.sum() and not totals[known].sum():
        raise DataError(
            f"new documents: none of their words, such as '{words[unknown[0]]}', is among the {len(vocabulary)} of the "
            "data"
        )
    placed = sparse.csr_array(counts[:, known]).tocoo()
    shape = counts.shape[0], len(vocabulary)
    known_counts = sparse.csr_array((placed.data, (placed.row, column[known][placed.col])), shape=shape)
    known_counts.sum_duplicates()
    if unseen := int(totals[unknown].sum()):
        commonest = words[unknown[np.argmax(totals[unknown])]]
        warn(
            f"{unseen:,} of {int(totals.sum()):,} tokens of the new documents are left out: the data do not have "
            f"their words, such as '{commonest}'",
            UnseenWords,
        )
    return tokens_of(known_counts)


def predict(
    run: read.Run,
    model: Component,
    dataset: Dataset,
    new: Any,
    states: Sequence[State],
    labels: NDArray[np.int32],
    wanted: str,
) -> Prediction:
    """Predict new documents, each alone; `wanted` is ``density`` or ``probability``, the other is NaN."""
    particles, scans = (PARTICLES, 0) if wanted == "density" else (0, SCANS)
    tokens = encode_documents(dataset, new)
    return predict_documents(model, dataset, tokens, states, labels, int(run.config["seed"]), particles, scans)


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


DOCUMENTS = "documents.csv"
COLUMNS = ("row", "name", "tokens", "topic", "proportion", "low", "high", "second", "second_proportion")
"""Columns of ``documents.csv``: `row` counts from 1, `name` where the documents have names; in runs made earlier the
first is `document`, from 0."""


def documents_of(run: read.Run) -> pd.DataFrame:
    """``documents.csv`` of a finished run: one row per document, with its largest topics; see docs/run-files.md."""
    file = run.file(DOCUMENTS)
    with files.report_damage(file):
        frame = read.read_csv(file, ["name"])
        if "document" in frame:  # of a run made earlier
            frame = frame.assign(document=frame["document"] + 1).rename(columns={"document": "row"})
        if list(frame) != [column for column in COLUMNS if column != "name" or column in frame]:
            raise ValueError(f"columns {list(frame)}; expected {list(COLUMNS)}")
        frame = read.with_shares(frame, "proportion", "low", "high", "second_proportion")
        if frame["row"].tolist() != list(range(1, len(frame) + 1)):
            raise ValueError("expected a row for every document")
        return frame.astype({"topic": "Int64", "second": "Int64"})


class Topic(Said):
    """A topic of the best chain."""

    topic: Whole
    share: FiniteFloat
    coherence: FiniteFloat | None
    chains: Whole | None = None
    """Chains that have it, this one among them."""
    top_words: list[str]


class TopicsOf(Said):
    """Where the topics come from."""

    chain: Whole


class Documents(Said):
    """Sizes of a corpus."""

    documents: Size
    words: Size
    tokens: Size


class Hyperparameters(Said):
    """Hyper-parameters of topics."""

    gamma: FiniteFloat
    alpha0: FiniteFloat
    eta: Annotated[FiniteFloat, Field(gt=0)]


class Predicted(Said):
    """How well held-out documents were predicted."""

    method: str
    tokens: Whole
    averaged: list[FiniteFloat]
    all_chains: FiniteFloat


class SummaryOfTopics(Summary):
    """Fields of the summary of topics."""

    documents: Documents
    topics_of: TopicsOf
    topics: Annotated[list[Topic], Field(min_length=1)]
    hyperparameters: Hyperparameters
    true_topics: Whole | None
    perplexity: Predicted | None = None


PROTOTYPES = 3
"""Documents that are named of a topic."""


def topic_word(dataset: Any, labels: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Posterior means of the topics' probabilities of words, (eta + n_kw)/(V eta + n_k): float64 ``[K, V]``.

    The data are documents, N tokens of V words; `labels` ``[N]`` are the topic of every token, from 0.
    """
    of_tokens, corpus = np.asarray(labels, dtype=np.int32), dataset.values
    many = topics.counts(of_tokens, corpus.tokens.words, (int(of_tokens.max()) + 1, corpus.V)).toarray() + eta
    return np.asarray(many / many.sum(axis=1, keepdims=True))


def mixtures(dataset: Any, labels: ArrayLike) -> NDArray[np.float64]:
    """Topic proportions of each document, float64 ``[J, K]``; rows sum to 1, NaN for empty documents. Parameters as for
    `topic_word`."""
    of_tokens, tokens = np.asarray(labels, dtype=np.int32), dataset.values.tokens
    many = topics.counts(tokens.documents(), of_tokens, (tokens.J, int(of_tokens.max()) + 1)).toarray()
    with np.errstate(invalid="ignore"):
        return np.asarray(many / tokens.lengths[:, None])


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
