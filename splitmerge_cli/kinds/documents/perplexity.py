"""Documents that were held out: perplexity, of a state and of probabilities averaged over states. Documents that a run
did not see: mixtures of topics, the probability of the words.

The run records topics of tokens, not their weights. Given the topics and the concentrations the weights are drawn
again, by Gibbs sampling of tables and weights: the average over states and draws is that over the posterior.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.predictive import Averages, Prediction, are_small, shares_in, spread_of
from splitmerge_cli.config import Component
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.documents.corpus import Tokens
from splitmerge_cli.kinds.documents.heldout import read_new_documents
from splitmerge_cli.runs.draws import BATCHES, Draws, State
from splitmerge_cli.runs.initial import build_model


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
