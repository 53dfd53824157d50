"""Calibration of predictions: compare held-out items with a run's predictions of them.

As in `calibration` data are drawn from the prior and the model, one item more than are sampled.
Given the data the held-out item x* and the items that the states of a chain predict, one of each state, have the same
distribution and are exchangeable. So the rank of any quantity of x* among theirs is uniform, also of one that depends
on the data and on other states: here the log predictive density, averaged over earlier states of the chain
(docs/derivations.md, "Held-out items"). NumPy draws the items; the weights of the clusters that they join and the
densities come from `splitmerge_cli.analysis.predictive`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from calibration import BURN, LEVEL, Outcome, Setting, cover_pairs, draw_within_reach, rank_of
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import logsumexp

from splitmerge_cli.analysis.predictive import by_state
from splitmerge_cli.config import Component, RunSpecification
from splitmerge_cli.core.simulation import Given
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.documents.corpus import Tokens
from splitmerge_cli.kinds.documents.stored import TopicState, predict_documents, topic_states
from splitmerge_cli.runs.checks import options_of
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.plan import Builder

Rng = np.random.Generator
Array = NDArray[np.float64]

DRAWS = 39
"""Items that are predicted, and states that predict them: ranks are 0 .. 39, of which 0.95 are 38."""
BEFORE = 100
"""States before these, which weigh in on what the held-out item is together with."""
AVERAGED = 20
"""States of these over which the density is averaged."""
WORDS = 4
"""Words of a held-out document."""

Densities = Iterator[tuple[State, Array, Array]]


@dataclass(frozen=True, eq=False)
class _Held:
    """Data, an item that is held out, and both together: as of `calibrate_predictions`."""

    model: Component
    whole: Dataset
    dataset: Dataset
    new: Any
    by_state: Callable[..., Densities]

    def densities(self, states: Sequence[State], new: Any) -> Densities:
        return self.by_state(self.model, self.dataset, new, states)


def calibrate_predictions(
    setting: Setting,
    number: int,
    spec: RunSpecification,
    fitted: RunSpecification | None = None,
    by_state: Callable[..., Densities] = by_state,
) -> Outcome:
    """Draw data set `number` of a setting with an item more, hold that out, sample the posterior and compare.

    Parameters
    ----------
    setting, number, spec, fitted
        As of `calibration.calibrate`; the data sets are other ones.
    by_state : callable
        The predictions of states, another one in tests.

    Returns
    -------
    Outcome
        `ranks` of the held-out item: ``new item's density``, the averaged log predictive density, and ``new item``, its
        last cell or word. `randomised`: whether the item is in the set of exactly `LEVEL` of largest density
        (``new item``); for each item of the data, whether the two are together (``new pairs``), topics without.
    """
    rng = np.random.default_rng([21, number])
    topics = spec.model.kind.name == "documents"
    drawn_data, _ = draw_within_reach(setting, spec, rng, WORDS if topics else 1)
    spec = fitted or spec
    dataset, new = _split(drawn_data.dataset, setting.N)
    chain = Builder(spec, dataset, None, False, setting.thin).chain(number)
    rows = chain.advance(setting.thin * (BURN + BEFORE + DRAWS))
    states = _states(rows, chain.model.hyperparameters)[BURN + 1 :]
    if topics:
        documents, log_density = _predict_topics(rng, spec.model, dataset, new, states, number)
        return _compare(rng, documents, log_density, {})
    held = _Held(spec.model, drawn_data.dataset, dataset, new, by_state)
    predicted = list(held.densities(states, new))
    options = options_of(spec.model, dataset)
    drawn = [_draw_item(rng, held, options, state, weight) for state, _, weight in predicted[BEFORE:]]
    both = np.concatenate([new.values.toarray() if issparse(new.values) else new.values, *drawn])
    items = replace(new, values=csr_array(both) if issparse(new.values) else both.astype(new.values.dtype))
    each = [logsumexp(density + weight, axis=1) for _, density, weight in held.densities(states[:AVERAGED], items)]
    pairs = _pairs(predicted, drawn_data.labels)
    return _compare(rng, both, logsumexp(each, axis=0), {"new pairs": float(cover_pairs(*pairs).mean())})


def _split(whole: Dataset, N: int) -> tuple[Dataset, Any]:
    """The first N items, and the others as a data set of new ones; of documents their words."""
    kind, x = whole.kind, whole.values
    if kind.name == "documents":
        words, starts = x.tokens.words, x.tokens.starts
        j = int(np.searchsorted(starts, N))
        known = replace(x, tokens=Tokens(words[:N], starts[: j + 1]))
        return replace(whole, values=known), Tokens(words[N:], starts[j:] - N)
    if kind.name != "graph":
        return replace(whole, values=x[:N]), replace(whole, values=x[N:])
    dataset = replace(whole, values=x[:N][:, :N])
    return dataset, kind.new_items(dataset, x[N:][:, :N])


def _states(rows: Any, hyperparameters: Sequence[str]) -> list[State]:
    """The states of a chain, from what it recorded."""
    names = [name for name in hyperparameters if name in rows and name not in ("b0", "kappa0")]
    parameters = rows.get("partition_parameters")
    return [
        State(
            np.array(labels, dtype=np.int32),
            int(rows["K"][t]) if "K" in rows else int(labels.max()) + 1,
            {name: float(rows[name][t]) for name in names},
            None if parameters is None else parameters[t],
        )
        for t, labels in enumerate(rows["partition_labels"])
    ]


def _draw_item(rng: Rng, held: _Held, options: dict[str, Any], state: State, log_weight: Array) -> NDArray[Any]:
    """A new item in a state: the cluster that it joins, parameters given the items of that, then its cells."""
    N = len(state.labels)
    k = rng.choice(len(log_weight), p=np.exp(log_weight))
    labels = np.unique(np.append(state.labels, k), return_inverse=True)[1]
    conditions = Given(held.whole, labels, options, state.parameters, known=N, rows=np.array([N]))
    replication = held.model.target.simulate(rng, conditions)
    return np.asarray(replication[N:][:, :N].toarray() if issparse(replication) else replication)


def _pairs(predicted: Sequence[tuple[State, Array, Array]], truth: NDArray[np.int32]) -> tuple[Array, NDArray[Any]]:
    """Probability that the held-out item is together with each of the others, given the data and that item: the states
    weighed by its density in them; and whether it is."""
    joint = [(density + weight)[0] for _, density, weight in predicted]
    log_p = np.array([logsumexp(each) for each in joint])
    share = np.exp(log_p - logsumexp(log_p))
    joined = [np.exp(each - p)[state.labels] for each, p, (state, _, _) in zip(joint, log_p, predicted, strict=True)]
    return share @ np.array(joined), truth[:-1] == truth[-1]


def _predict_topics(
    rng: Rng, model: Component, dataset: Dataset, new: Tokens, states: Sequence[State], seed: int
) -> tuple[NDArray[Any], Array]:
    """Words of the held-out document and of those that the later states predict, and densities of all."""
    words = [_draw_words(rng, state, len(new.words)) for state in topic_states(model, dataset, states[BEFORE:], seed)]
    every = np.array([new.words, *words], dtype=np.int32)
    documents = Tokens(every.ravel(), np.arange(0, every.size + 1, len(new.words), dtype=np.int64))
    first = states[:AVERAGED]
    return every, predict_documents(model, dataset, documents, first, first[0].labels, seed, scans=0).log_density


def _draw_words(rng: Rng, state: TopicState, n: int) -> list[int]:
    """Words of a new document given topics and their weights: a topic of each token, then the word, by urns."""
    counts = [column.astype(float) for column in state.word_topics.toarray().T]
    weights, rest = list(state.weights[:-1]), float(state.weights[-1])
    own_weights, words = [0.0] * len(weights), []
    for _ in range(n):
        p = np.append(state.alpha0 * np.array(weights) + own_weights, state.alpha0 * rest)
        k = int(rng.choice(len(p), p=p / p.sum()))
        if k == len(weights):
            # a topic that no token has: a part of the weight of all these
            part = rng.beta(1.0, state.gamma)
            weights.append(rest * part)
            rest *= 1.0 - part
            own_weights.append(0.0)
            counts.append(np.zeros(state.word_topics.shape[0]))
        own_weights[k] += 1.0
        p = counts[k] + state.eta
        word = int(rng.choice(len(p), p=p / p.sum()))
        counts[k][word] += 1.0
        words.append(word)
    return words


def _compare(rng: Rng, items: NDArray[Any], log_density: Array, randomised: dict[str, float]) -> Outcome:
    """Ranks of the first item among the others."""
    cell = items.reshape(len(items), -1)[:, -1].astype(float)
    ranks = {
        "new item's density": rank_of(log_density[0], log_density[1:], rng),
        "new item": rank_of(cell[0], cell[1:], rng),
    }
    # the densest share of the items that are as likely as the held-out one
    inside = ranks["new item's density"] >= round((1 - LEVEL) * (DRAWS + 1))
    return Outcome(ranks, {}, {}, {"new item": float(inside)} | randomised)
