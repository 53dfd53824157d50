"""Held-out likelihoods against sums over all topics of all tokens in tiny documents: K = 2 topics and the unseen one.

What draws are made for is proved by walking every choice of the compiled code. Where a chain has to converge it is
long, its seed fixed, and alpha0 not small: with little of it a chain rarely leaves a mode.
"""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import csr_array

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents.corpus import Heldout, Tokens
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.documents.heldout import log_likelihoods

V, ETA = 4, 0.3
COUNTS = np.array([[3, 0], [1, 2], [0, 4], [0, 0]], dtype=np.int32)
BETA = np.array([0.5, 0.3, 0.2])
PHI = np.column_stack([(ETA + COUNTS) / (V * ETA + COUNTS.sum(axis=0)), np.full(V, 1 / V)])
TRAINING = Tokens(np.repeat(np.arange(V, dtype=np.int32), COUNTS.sum(axis=1)), np.array([0, 0, 4, 10], dtype=np.int64))
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1], dtype=np.int32)
OWN = [np.zeros(3), np.array([4, 0, 0]), np.array([0, 6, 0])]
DOCUMENTS = [(3,), (0, 2), (0, 1, 2), (3, 3, 3), (0, 2, 0, 2), (1, 3, 0, 0, 2)]
ALPHA0 = [0.05, 1.7, 40.0]
MIXING = [0.8, 1.7, 40.0]


def tokens(words, starts=None):
    return Tokens(np.array(words, dtype=np.int32), np.array(starts or [0, len(words)], dtype=np.int64))


def whole(words, observed=None):
    """One held-out document."""
    return Heldout("document", tokens(words), np.array(observed or [False] * len(words), dtype=bool))


def words_of(document, words):
    """Words held out of one of the three training documents."""
    starts = np.where(np.arange(4) > document, len(words), 0)
    return Heldout("word", tokens(words, list(starts)), np.zeros(len(words), dtype=bool))


def score(heldout, method, particles, seed, alpha0=1.7):
    found = log_likelihoods(csr_array(COUNTS), BETA, alpha0, ETA, TRAINING, heldout, LABELS, method, particles, seed)
    assert found.shape == (1, 2)
    return found[0, 0]


def paths(a, words):
    """Every assignment of topics: its joint probability with the words, and the numbers of tokens of the topics."""
    for topics in itertools.product(range(3), repeat=len(words)):
        p, n = 1.0, np.zeros(3)
        for t, (w, k) in enumerate(zip(words, topics, strict=True)):
            p *= (a[k] + n[k]) / (a.sum() + t) * PHI[w, k]
            n[k] += 1
        yield p, n


def probability(a, words):
    return sum(p for p, _ in paths(a, words))


def mixture(a, words):
    """E[theta | words]."""
    total = sum(p * (a + n) for p, n in paths(a, words))
    return total / probability(a, words) / (a.sum() + len(words))


def enumerated_mean(heldout, method, particles):
    """E[exp(log likelihood)] over all choices of the compiled code, and the sum of their probabilities."""
    rng = Rng(0)
    rng.script_start()
    total = mean = 0.0
    while True:
        rng.script_begin()
        log_lik = score(heldout, method, particles, rng)
        total += rng.script_probability()
        mean += rng.script_probability() * np.exp(log_lik)
        if not rng.script_next():
            return mean, total


@pytest.mark.parametrize(
    ("method", "particles", "words"),
    [
        *(("sequential", 1, words) for words in DOCUMENTS),
        *(("sequential", 2, words) for words in DOCUMENTS[:4]),
        ("sequential", 3, (0, 2)),
        *(("left_to_right", 1, words) for words in DOCUMENTS[:4]),
        ("left_to_right", 2, (0, 2)),
        pytest.param("sequential", 3, (0, 2, 3), marks=pytest.mark.slow),
        pytest.param("left_to_right", 2, (0, 2, 3), marks=pytest.mark.slow),
    ],
)
def test_left_to_right_is_unbiased(method, particles, words):
    mean, total = enumerated_mean(whole(words), method, particles)
    assert total == pytest.approx(1, rel=1e-12)
    assert mean == pytest.approx(probability(1.7 * BETA, words), rel=1e-12)


@pytest.mark.parametrize("method", ["sequential", "left_to_right"])
@pytest.mark.parametrize("document", [0, 1, 2])
def test_left_to_right_goes_on_from_the_topics_of_a_training_document(method, document):
    mean, _ = enumerated_mean(words_of(document, (0, 2, 3)), method, 1)
    assert mean == pytest.approx(probability(1.7 * BETA + OWN[document], (0, 2, 3)), rel=1e-12)


@pytest.mark.parametrize("method", ["sequential", "left_to_right"])
@pytest.mark.parametrize("alpha0", ALPHA0)
@pytest.mark.parametrize("words", DOCUMENTS[4:])
def test_left_to_right_drawn_from_the_stream(method, alpha0, words):
    p = np.exp([score(whole(words), method, 5, seed, alpha0) for seed in range(800)])
    error = np.std(p) / np.sqrt(len(p))
    assert abs(p.mean() - probability(alpha0 * BETA, words)) < 4 * error


def test_what_is_estimated_is_a_law_of_documents():
    a = 1.7 * BETA
    assert sum(probability(a, words) for words in itertools.product(range(V), repeat=3)) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("alpha0", ALPHA0)
@pytest.mark.parametrize("document", [0, 1, 2])
def test_held_out_words_are_predicted_exactly(alpha0, document):
    a = alpha0 * BETA + OWN[document]
    words = (3, 0, 2, 2, 1)
    expected = np.log(PHI[list(words)] @ (a / a.sum())).sum()
    found = score(words_of(document, words), "completion", 1, 0, alpha0)
    assert found == pytest.approx(expected, rel=1e-12)


def density(document, word, topic, beta):
    """pi(z, beta) of the model, with one more token at the end of a document; word None: without."""
    end = TRAINING.starts[document + 1]
    more = [] if word is None else [word]
    words, labels = TRAINING.words.tolist(), LABELS.tolist()
    starts = TRAINING.starts + np.where(np.arange(4) > document, len(more), 0)
    model = HDP(
        np.array([*words[:end], *more, *words[end:]], dtype=np.int32), starts, V, gamma=1.4, alpha0=1.7, eta=ETA
    )
    model.set_labels(np.array([*labels[:end], *[topic] * len(more), *labels[end:]], dtype=np.int32))
    model.set_parameters([*np.log(beta), 1.4, 1.7])
    return np.exp(model.log_joint())


@pytest.mark.parametrize("document", [0, 1, 2])
@pytest.mark.parametrize("word", range(V))
def test_a_held_out_word_has_the_models_own_predictive(document, word):
    """One token more in the model's density, summed over its topics; the weight of a new one is integrated out."""
    unseen = BETA[2]
    new, _ = quad(lambda x: density(document, word, 2, [*BETA[:2], x, unseen - x]), 0, unseen, epsabs=0, epsrel=1e-9)
    known = sum(density(document, word, k, BETA) for k in range(2))
    found = score(words_of(document, (word,)), "completion", 1, 0)
    assert np.exp(found) == pytest.approx((known + new) / density(document, None, None, BETA), rel=1e-7)


@pytest.mark.parametrize("alpha0", MIXING)
@pytest.mark.parametrize("observed", [(0, 1, 0, 1, 0), (1, 1, 0, 0, 1), (0, 0, 0, 0, 1), (0, 0, 0, 0, 0)])
def test_completion_converges_to_the_conditional_of_each_token(alpha0, observed):
    words, a = (1, 3, 0, 0, 2), alpha0 * BETA
    given = tuple(w for w, seen in zip(words, observed, strict=True) if seen)
    rest = [w for w, seen in zip(words, observed, strict=True) if not seen]
    # the conditional of a token is what theta's mean says
    joint = [probability(a, (*given, w)) / probability(a, given) for w in rest]
    assert PHI[rest] @ mixture(a, given) == pytest.approx(joint, rel=1e-12)

    found = score(whole(words, list(observed)), "completion", 40_000, 0, alpha0)
    assert found == pytest.approx(np.log(joint).sum(), abs=0.01)


@pytest.mark.parametrize("alpha0", MIXING)
@pytest.mark.parametrize("words", DOCUMENTS)
def test_fold_in_scores_what_it_was_fitted_to(alpha0, words):
    """It converges to its definition, and is never below the likelihood."""
    a = alpha0 * BETA
    expected = np.log(PHI[list(words)] @ mixture(a, words)).sum()
    assert score(whole(words), "fold_in", 40_000, 0, alpha0) == pytest.approx(expected, abs=0.01)
    assert expected > np.log(probability(a, words))


def short_chain(a, words, scans):
    """Exact mean of E[theta] over the kept scans of a chain that starts with the tokens drawn one after the other."""
    distribution, mean = {(): 1.0}, np.zeros(3)

    def conditional(topics, s):
        others = np.delete(topics, s).astype(int) if s < len(topics) else np.array(topics, dtype=int)
        weights = (a + np.bincount(others, minlength=3)) * PHI[words[s]]
        return weights / weights.sum()

    def redraw(s):
        new: dict[tuple[int, ...], float] = {}
        for topics, p in distribution.items():
            for k, r in enumerate(conditional(topics, s)):
                key = (*topics[:s], k, *topics[s + 1 :])
                new[key] = new.get(key, 0.0) + p * r
        return new

    for s in range(len(words)):
        distribution = redraw(s)
    for t in range(2 * scans):
        for s in range(len(words)):
            if t >= scans:
                mean += sum(p * conditional(topics, s) for topics, p in distribution.items()) / scans
            distribution = redraw(s)
    return (a + mean) / (a.sum() + len(words))


@pytest.mark.parametrize(("given", "scans"), [((2,), 1), ((3,), 2), ((0, 3), 1), ((2, 2), 1)])
def test_completion_averages_over_the_chain_it_says(given, scans):
    """All choices of a chain too short to converge."""
    heldout = whole((0, *given), [False] + [True] * len(given))
    mean, total = enumerated_mean(heldout, "completion", scans)
    assert total == pytest.approx(1, rel=1e-12)
    assert mean == pytest.approx(PHI[0] @ short_chain(1.7 * BETA, given, scans), rel=1e-12)
