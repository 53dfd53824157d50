"""Exact numbers of Wang & Russell 2015: the compiled proposals, and the posterior mean of the number of entities, in
the limit of concentration 0 and above it.

`smcmc reproduce` stores these tables; `smcmc plot` draws from them.
"""

from collections.abc import Sequence
from itertools import combinations, product
from math import exp, inf, lgamma, log, perm
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, logsumexp

from splitmerge_cli.config import RunSpecification
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.verify.pieces import allocation_steps
from splitmerge_cli.verify.transitions import proposal_table

ALLOCATED = "AABBCC"
"""Table 1: the entity that is split, and each mention's side."""
SIDES = "001111"

MENTIONS = "AABBCCCC"
STATES = ["00001122", "00112233", "00001111"]
"""Figures 1 and 2: the state x of section 4.1, and what a smart split and a smart merge make of it."""


def _model(spec: RunSpecification, mentions: str) -> Any:
    tokens = sorted(set(mentions))
    data = Dataset("example", "tokens", np.array([tokens.index(t) for t in mentions], np.int32), vocabulary=tokens)
    return spec.model.target.from_data(data, **spec.model.options)


def allocation(spec: RunSpecification) -> pd.DataFrame:
    """Table 1: the probability of each step in the sequential allocation, under the code's own proposal; columns step
    (1 ..), token, side (1 or 2), probability."""
    sides = [int(s) for s in SIDES]
    steps = allocation_steps(_model(spec, ALLOCATED), list(range(len(ALLOCATED))), sides)
    columns = {"token": list(ALLOCATED), "side": [s + 1 for s in sides], "probability": steps}
    return pd.DataFrame({"step": range(1, len(steps) + 1), **columns})


def words(labels: Sequence[int]) -> str:
    """Return the clusters of `MENTIONS` in alphabetical order, joined by ``|``; empty entities are left out."""
    clusters: dict[int, str] = {}
    for token, label in zip(MENTIONS, labels, strict=True):
        clusters[label] = clusters.get(label, "") + token
    return "|".join(sorted(clusters.values()))


EQUATION_3 = "_by_equation_3"


def equation_3(labels: Sequence[int], alpha: float) -> pd.DataFrame:
    """Smart merge and smart split by equation 3 from `labels`, 0 to K - 1: every merge, and every split, in proportion
    to the state it leads to; columns move, target (as by `words`), probability.

    All merges lead to one number of entities, and so do all splits, so that the states differ in their marginals alone.
    """
    K = max(labels) + 1
    ends = {"smart_merge": [[a if k == b else k for k in labels] for a, b in combinations(range(K), 2)]}
    ends["smart_split"] = []
    for entity in range(K):
        members = [n for n, k in enumerate(labels) if k == entity]
        for sides in product((entity, K), repeat=len(members)):
            placed = dict(zip(members, sides, strict=True))
            ends["smart_split"].append([placed.get(n, k) for n, k in enumerate(labels)])
    tables = []
    for move, states in ends.items():
        log_weights = np.array([_log_marginal(state, alpha) for state in states])
        weights = np.exp(log_weights - log_weights.max())
        table = pd.DataFrame({"target": [words(state) for state in states], "probability": weights / weights.sum()})
        tables.append(table.groupby("target", as_index=False).sum().assign(move=move + EQUATION_3))
    return pd.concat(tables, ignore_index=True)[["move", "target", "probability"]]


def _log_marginal(labels: Sequence[int], alpha: float) -> float:
    """Log of the product over entities of B(alpha + n) / B(alpha), for the tokens of `MENTIONS`."""
    tokens = sorted(set(MENTIONS))
    total = 0.0
    for entity in set(labels):
        tokens_here = [t for t, k in zip(MENTIONS, labels, strict=True) if k == entity]
        total += sum(lgamma(alpha + tokens_here.count(t)) - lgamma(alpha) for t in tokens)
        total -= lgamma(len(tokens) * alpha + len(tokens_here)) - lgamma(len(tokens) * alpha)
    return total


def proposals(spec: RunSpecification) -> pd.DataFrame:
    """Figures 1 and 2: what each move of the experiment's sampler proposes from the states of section 4.1; columns
    state, move, target (clusters as by `words`), probability (given the move).

    Proposals that differ in which mentions of a token they place, or in empty entities, only are summed. Moves that end
    in `EQUATION_3` are the ones of section 4: all merges or splits, in proportion to the posterior of the states that
    they lead to.
    """
    model = _model(spec, MENTIONS)
    tables = []
    for state in STATES:
        labels = tuple(int(label) for label in state)
        table = proposal_table(model, spec.samplers[0], (labels, max(labels) + 1))
        table["target"] = [words(target) for target, _ in table["target_state"]]
        sums = table.groupby(["move", "target"], as_index=False)["probability"].sum()
        sums["probability"] /= sums.groupby("move")["probability"].transform("sum")
        sums = pd.concat([sums, equation_3(labels, spec.model.options["alpha"])], ignore_index=True)
        sums.insert(0, "state", words(labels))
        tables.append(sums.sort_values(["move", "probability"], ascending=[True, False]))
    return pd.concat(tables, ignore_index=True)


CAPS = (60, 100, 300, 1000, 2000, 10_000)
"""Largest K under which the mean is tabled. The paper names none; from 10,000 on the mean no longer changes."""


def mean_K(
    N: int, entities: int, n_tokens: int, kmax: int, mu: float, sigma: float, label_prior: str = "labelled"
) -> float:
    """Posterior mean of K in the limit alpha -> 0, when each of `entities` entities says one token of its own.

    In that limit a cluster of one token has g = 1/L, whatever its size, and one of several has g = 0. So a state with K
    entities, T of them occupied, weighs P(K) K^-N L^-T, and their number is K!/(K-T)! times the number of partitions of
    the mentions into T pure clusters: a coefficient of the product over tokens of sum_j S(n_t, j) x^j, with Stirling
    numbers of the second kind. Counted in exact integers.

    The N mentions are spread evenly, `n_tokens` is the size L of the vocabulary, and the target is the model's
    posterior pi (labelled), pi / K! (partition), or pi 2^K / K! (as_printed).
    """
    pure = np.array([1], dtype=object)
    for e in range(entities):
        row = [1]
        for m in range(N // entities + (e < N % entities)):
            row = [row[j - 1] * (j > 0) + j * (row[j] if j <= m else 0) for j in range(m + 2)]
        pure = np.convolve(pure, np.array(row, dtype=object))[: kmax + 1]
    log_weights = []
    for K in range(1, kmax + 1):
        top = min(K, len(pure) - 1)
        states = sum(pure[T] * perm(K, T) * n_tokens ** (top - T) for T in range(top + 1))
        extra = {"labelled": 0.0, "partition": -lgamma(K + 1), "as_printed": K * log(2) - lgamma(K + 1)}[label_prior]
        prior = -log(K) - (log(K) - mu) ** 2 / (2 * sigma**2)
        log_weights.append(log(states) - top * log(n_tokens) - N * log(K) + prior + extra if states else -inf)
    peak = max(log_weights)
    weights = [exp(w - peak) for w in log_weights]
    return sum(K * w for K, w in enumerate(weights, start=1)) / sum(weights)


def mean_K_by_cap(
    N: int,
    mu: float,
    alpha: float = 0.001,
    caps: Sequence[int] = CAPS,
    tokens: int = 10,
    label_prior: str = "labelled",
) -> list[float]:
    """Posterior mean of K under each cap on K, at a concentration `alpha` of the dictionaries above 0 and sigma = 1,
    with ``N // tokens`` mentions of each token and the location `mu` of the prior of K; `label_prior` as for `mean_K`.

    Summed over the states whose entities have one token each; an entity of two has a factor of the order of `alpha`.
    """
    m = N // tokens
    g = np.cumsum(np.log(alpha + np.arange(m)) - np.log(tokens * alpha + np.arange(m)))
    # log of the sum over partitions of n mentions of a token into j parts of the product of g
    parts = np.full((m + 1, m + 1), -np.inf)
    parts[0, 0] = 0.0
    for n in range(1, m + 1):
        first = np.arange(1, n + 1)  # size of the part of the first mention
        choose = gammaln(n) - gammaln(first) - gammaln(n - first + 1) + g[:n]
        parts[n] = logsumexp(choose[:, None] + np.roll(parts[n - first], 1, axis=1), axis=0)
    pure = np.array([0.0])
    for _ in range(tokens):
        pairs = pure[:, None] + parts[m]
        pure = np.array([logsumexp(np.diag(pairs[:, ::-1], m - t)) for t in range(len(pure) + m)])
    K, T = np.arange(1, max(caps) + 1), np.arange(len(pure))
    log_weights = np.empty(len(K))
    for part in np.array_split(np.arange(len(K)), 1 + len(K) // 2000):
        k = K[part, None]
        numbered = np.where(k >= T, gammaln(k + 1) - gammaln(np.maximum(k - T, 0) + 1), -np.inf)
        log_weights[part] = logsumexp(pure + numbered, axis=1)
    log_weights -= (N + 1) * np.log(K) + (np.log(K) - mu) ** 2 / 2
    if label_prior == "as_printed":
        log_weights += K * log(2) - gammaln(K + 1)
    weights = np.exp(log_weights - log_weights.max())
    return [float(K[:cap] @ weights[:cap] / weights[:cap].sum()) for cap in caps]
