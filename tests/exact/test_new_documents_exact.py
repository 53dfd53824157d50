"""New documents against sums over all partitions of a tiny corpus's tokens, weights integrated out."""

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import gammaln

import splitmerge_cli as sm
from splitmerge_cli.config import choice, read_component
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.kinds.documents import heldout, stored
from splitmerge_cli.kinds.documents import stored as documents
from splitmerge_cli.runs.draws import State
from splitmerge_cli.verify.enumerate import partitions

TRAINING = [["a", "a", "b"], ["b", "c"]]
WORDS, DOCUMENT = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1])
V, ETA, ALPHA0, GAMMA = 3, 0.4, 1.3, 0.8
MODEL = {"name": "hdp", "eta": ETA, "alpha0": ALPHA0, "gamma": GAMMA}
HDP = read_component("model", "hdp", choice("model", "hdp") | MODEL)
NEW = [["a", "c"], ["b", "b", "b"], ["a", "b", "c"]]
STIRLING = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 2, 3, 1, 0], [0, 6, 11, 6, 1]], dtype=float)
"""Unsigned, of the first kind: n tokens at m tables."""


def prior(labels: np.ndarray, document: np.ndarray) -> float:
    """Probability of a partition of tokens: a sum over the numbers of tables of every topic in every document."""
    K = labels.max() + 1
    n = np.array([[np.sum((document == j) & (labels == k)) for k in range(K)] for j in range(document.max() + 1)])
    rising = np.exp(sum(gammaln(ALPHA0 + row.sum()) - gammaln(ALPHA0) for row in n))
    cells = [(j, k) for j, k in np.argwhere(n > 0)]
    total = 0.0
    for tables in itertools.product(*(range(1, n[cell] + 1) for cell in cells)):
        m = np.zeros(K, dtype=int)
        weight = 1.0
        for (j, k), t in zip(cells, tables, strict=True):
            weight *= STIRLING[n[j, k], t] * ALPHA0**t
            m[k] += t
        topics = GAMMA**K * np.exp(gammaln(m).sum() + gammaln(GAMMA) - gammaln(GAMMA + m.sum()))
        total += weight * topics
    return total / rising


def likelihood(labels: np.ndarray, words: np.ndarray) -> float:
    """Likelihood of the words given the topics; -1 is a token whose word is left out."""
    total = 0.0
    for k in range(labels.max() + 1):
        n = np.bincount(words[(labels == k) & (words >= 0)], minlength=V)
        total += gammaln(V * ETA) - gammaln(V * ETA + n.sum()) + np.sum(gammaln(ETA + n) - gammaln(ETA))
    return float(np.exp(total))


def joint(new: list[str], more: int = 0) -> list[tuple[np.ndarray, float]]:
    """Every partition of the training tokens, those of a new document and `more` whose words are unknown."""
    words = np.concatenate([WORDS, ["abc".index(word) for word in new], np.full(more, -1)]).astype(int)
    document = np.concatenate([DOCUMENT, np.full(len(new) + more, 2)]).astype(int)
    every = [np.array(labels) for labels in partitions(len(words))]
    return [(labels, prior(labels, document) * likelihood(labels, words)) for labels in every]


def evidence(new: list[str]) -> float:
    return sum(p for _, p in joint(new))


def test_the_prior_is_one() -> None:
    every = [np.array(labels) for labels in partitions(5)]
    assert sum(prior(labels, DOCUMENT) for labels in every) == pytest.approx(1, abs=1e-12)


@pytest.fixture(scope="module")
def posterior() -> sm.Posterior:
    options: dict[str, Any] = {"trace.partitions": 5}
    return sm.sample(MODEL, TRAINING, "gibbs", chains=2, iterations=20_000, seed=3, progress="none", options=options)


@pytest.mark.filterwarnings("ignore")
def test_log_predictive_is_the_ratio_of_the_evidences(posterior: sm.Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    """p(new | data) = p(data, new) / p(data), over topics, tables and weights."""
    monkeypatch.setattr(documents, "FIRST_STATES", 2_000)
    monkeypatch.setattr(documents, "MOST_STATES", 2_000)
    found = posterior.log_predictive(NEW)
    exact = np.log([evidence(new) / evidence([]) for new in NEW])
    # 2,000 states of a standard deviation of about 0.3 each: 0.007
    np.testing.assert_allclose(found, exact, atol=0.025)
    monkeypatch.setattr(documents, "FIRST_STATES", 100)
    monkeypatch.setattr(documents, "MOST_STATES", 100)
    assert (posterior.log_predictive(NEW) == posterior.log_predictive(NEW)).all()


def by_bayes(labels: np.ndarray, new: list[str]) -> np.ndarray:
    """Expected proportions: where a further token of the new document goes, averaged over the posterior of the data."""
    C, N = labels.max() + 1, len(WORDS)
    given = joint([])
    total = sum(p for _, p in given)
    answer = np.zeros(C + 1)
    each: dict[tuple[int, ...], list[tuple[np.ndarray, float]]] = {}
    for whole, p in joint(new, 1):
        _, first = np.unique(whole[:N], return_index=True)
        order = {whole[i]: k for k, i in enumerate(sorted(first))}
        each.setdefault(tuple(order[k] for k in whole[:N]), []).append((whole, p))
    for state, p_state in given:
        rows = each[tuple(state)]
        for whole, p in rows:
            members = labels[whole[:N] == whole[-1]]
            share = np.bincount(members, minlength=C + 1) / len(members) if len(members) else np.eye(C + 1)[C]
            answer += p_state / total * p / sum(q for _, q in rows) * share
    return answer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_proportions_are_those_of_a_further_token(posterior: sm.Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions average over states: the mean over the posterior of the data's topics. The weights are not
    known there, and a document tells of them, so that the mean over them is not exactly this: hence 0.03."""
    monkeypatch.setattr(documents, "FIRST_STATES", 1_000)
    monkeypatch.setattr(documents, "MOST_STATES", 1_000)
    found = posterior.predict_proba(NEW)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for row, new in zip(found, NEW, strict=True):
        np.testing.assert_allclose(row, by_bayes(posterior.labels, new), atol=0.03)


COUNTS = csr_array(np.array([[3, 0], [1, 2], [0, 4], [0, 0]], dtype=np.int32))
BETA = np.array([0.5, 0.3, 0.2])


def given_state(words: list[int], more: int = 0) -> tuple[float, np.ndarray]:
    """Probability of words given one state, and expected proportions: sums over all topics of all tokens. Opened topics
    are numbered as they come, their weights integrated out by tables."""
    counts, n = COUNTS.toarray().astype(float), len(words)
    total, proportions = 0.0, np.zeros(3)
    for labels in itertools.product(range(2 + n), repeat=n):
        opened = [k for k in dict.fromkeys(labels) if k >= 2]
        if opened != list(range(2, 2 + len(opened))):
            continue
        here = np.zeros((2 + len(opened), 4))
        p = 1.0
        for w, k in zip(words, labels, strict=True):
            old = counts[:, k] if k < 2 else np.zeros(4)
            p *= (ETA + old[w] + here[k, w]) / (4 * ETA + old.sum() + here[k].sum())
            here[k, w] += 1
        tokens = here.sum(axis=1)
        p *= np.exp(gammaln(ALPHA0) - gammaln(ALPHA0 + n))
        for k in (0, 1):
            p *= np.exp(gammaln(ALPHA0 * BETA[k] + tokens[k]) - gammaln(ALPHA0 * BETA[k]))
        # tables of the opened topics: the sum over them of the density of the sticks below beta_u
        unseen = tokens[2:].astype(int)
        density = 0.0
        for tables in itertools.product(*(range(1, t + 1) for t in unseen)):
            m = sum(tables)
            sticks = GAMMA ** len(tables) * np.exp(sum(map(gammaln, tables)) + gammaln(GAMMA) - gammaln(GAMMA + m))
            density += (
                (ALPHA0 * BETA[2]) ** m
                * sticks
                * np.prod([STIRLING[t, s] for t, s in zip(unseen, tables, strict=True)])
            )
        p *= density
        total += p
        proportions += p * np.array([*(ALPHA0 * BETA[:2] + tokens[:2]), ALPHA0 * BETA[2] + unseen.sum()])
    return total, proportions / total / (ALPHA0 + n)


@pytest.mark.parametrize("words", [[3], [0, 2], [3, 3, 3], [0, 1, 3, 0]])
def test_given_one_state(words: list[int]) -> None:
    """The filter has the mean that it should; the scans have the proportions that they should."""
    exact, proportions = given_state(words)
    state = COUNTS, BETA, ALPHA0, GAMMA, ETA, np.array(words, dtype=np.int32), np.array([0, len(words)])
    for particles, runs in ((1, 6_000), (7, 1_500)):
        each = np.exp([heldout.read_new_documents(*state, [seed], particles=particles)[0][0] for seed in range(runs)])
        assert np.mean(each) == pytest.approx(exact, abs=5 * np.std(each) / np.sqrt(runs) + 1e-12)
    found = heldout.read_new_documents(*state, [1], scans=40_000)[1][0]
    np.testing.assert_allclose(found, proportions, atol=0.01)


def test_the_filter_opens_topics_and_selects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where most weight is left to new topics, of which each takes a small share, and few words fit."""
    monkeypatch.setattr(sys.modules[__name__], "GAMMA", 6.0)
    monkeypatch.setattr(sys.modules[__name__], "ALPHA0", 6.0)
    monkeypatch.setattr(sys.modules[__name__], "ETA", 0.1)
    monkeypatch.setattr(sys.modules[__name__], "BETA", np.array([0.1, 0.1, 0.8]))
    words = [3, 0, 3, 0]
    exact, _ = given_state(words)
    state = COUNTS, BETA, ALPHA0, GAMMA, ETA, np.array(words, dtype=np.int32), np.array([0, 4])
    each = np.exp([heldout.read_new_documents(*state, [seed], particles=7)[0][0] for seed in range(1_500)])
    assert np.mean(each) == pytest.approx(exact, abs=4 * np.std(each) / np.sqrt(1_500))


def test_selected_particles_count_the_same() -> None:
    """One particle is never selected, and each number of them has the same mean; the weights of these are uneven."""
    counts = csr_array(np.array([[9, 0, 0], [0, 9, 0], [0, 0, 9], [1, 1, 1]], dtype=np.int32))
    words = np.array([3, 0, 3, 1, 3, 2, 0, 0, 0, 0], dtype=np.int32)
    state = counts, np.array([0.3, 0.3, 0.3, 0.1]), 0.3, 1.5, 0.05, words, np.array([0, 10])
    alone, selected = (
        np.exp([heldout.read_new_documents(*state, [seed], particles=particles)[0][0] for seed in range(runs)])
        for particles, runs in ((1, 3_000), (20, 1_000))
    )
    error = np.hypot(*(np.std(each) / np.sqrt(len(each)) for each in (alone, selected)))
    assert np.mean(selected) == pytest.approx(np.mean(alone), abs=4 * error)


def made_state(labels: list[int], **hyperparameters: float) -> State:
    return State(np.array(labels, dtype=np.int32), max(labels) + 1, hyperparameters)


def test_states_have_their_own_concentrations_and_draws() -> None:
    data = from_object(TRAINING, "documents")
    states = [made_state([0, 0, 1, 1, 1], alpha0=3.0, gamma=5.0), made_state([0, 0, 1, 1, 1])]
    first, second = stored.topic_states(HDP, data, states, 1)
    assert (first.alpha0, first.gamma, first.eta) == (3.0, 5.0, ETA)
    assert (second.alpha0, second.gamma, second.eta) == (ALPHA0, GAMMA, ETA)
    assert first.word_topics.toarray().tolist() == [[2, 0], [0, 2], [0, 1]]
    one, other = stored.topic_states(HDP, data, [states[1]] * 2, 1)
    assert not np.allclose(one.weights, other.weights)


def test_weights_are_drawn_until_their_start_is_forgotten() -> None:
    """Their mean given the topics is the mean over numbers of tables: 14 tokens in one topic and 1 in another."""
    data = from_object([["a"] * 14 + ["b"]], "documents")
    alpha0, n = 20.0, 14
    state = made_state([0] * n + [1], alpha0=alpha0)
    drawn = [s.weights[0] for s in stored.topic_states(HDP, data, [state] * 1500, 1)]
    stirling = np.zeros((n + 1, n + 1))
    stirling[0, 0] = 1.0
    for t in range(n):
        stirling[t + 1, 1:] = stirling[t, :-1] + t * stirling[t, 1:]
    m = np.arange(1, n + 1)
    p = stirling[n, 1:] * alpha0**m * np.exp(gammaln(m) - gammaln(GAMMA + m + 1))
    assert np.mean(drawn) == pytest.approx(p @ (m / (GAMMA + m + 1)) / p.sum(), abs=4 * np.std(drawn) / np.sqrt(1500))


def test_proportions_are_where_tokens_of_a_topic_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proportional to their numbers, averaged over states; the last column has the share of no topic in the data."""
    seeds, mixtures = [], [[[0.5, 0.3, 0.2]], [[0.1, 0.2, 0.7]]]

    def record_fold(*given: Any) -> tuple[np.ndarray, np.ndarray]:
        seeds.append(tuple(given[-3]))
        return np.log([0.5 * len(seeds)]), np.array(mixtures[len(seeds) - 1])

    monkeypatch.setattr("splitmerge_cli.kinds.documents.stored.read_new_documents", record_fold)
    data, new = from_object(TRAINING, "documents"), from_object([["a"]], "documents").values.tokens
    states = [made_state([0, 0, 0, 1, 1]), made_state([0, 1, 1, 1, 1])]
    labels = np.array([0, 0, 1, 1, 2], dtype=np.int32)
    found = stored.predict_documents(HDP, data, new, states, labels, 6)
    each = [
        np.array(mixtures[0]) @ [[2 / 3, 1 / 3, 0, 0], [0, 1 / 2, 1 / 2, 0], [0, 0, 0, 1]],
        np.array(mixtures[1]) @ [[1, 0, 0, 0], [1 / 4, 1 / 2, 1 / 4, 0], [0, 0, 0, 1]],
    ]
    np.testing.assert_allclose(found.probability, np.mean(each, axis=0), rtol=1e-12)
    assert found.log_density[0] == pytest.approx(np.log(0.75)) and len(set(seeds)) == 2
