"""Perplexity of held-out documents: of a state, and of probabilities averaged over states."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


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
