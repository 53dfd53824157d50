"""Held-out likelihoods: what they return, what they reject, and parameters at the ends of a double."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from splitmerge_cli.kinds.documents.corpus import Heldout, Tokens
from splitmerge_cli.kinds.documents.heldout import METHODS, log_likelihoods

V = 30
GENERATOR = np.random.default_rng(3)
LENGTHS = [6, 0, 1, 12, 1, 5]
STARTS = np.cumsum([0, *LENGTHS])
WORDS = GENERATOR.integers(V, size=STARTS[-1]).astype(np.int32)
OBSERVED = np.concatenate([np.arange(n) < (n + 1) // 2 for n in LENGTHS])
TRAINING = Tokens(GENERATOR.integers(V, size=40).astype(np.int32), np.array([0, 7, 7, 15, 25, 30, 40]))
SAMPLED = [m for m in METHODS if m != "fold_in"]


def state(K):
    """Counts of K topics for the training tokens, their labels, and weights."""
    labels = (np.arange(40) % K).astype(np.int32)
    counts = np.zeros((V, K), dtype=np.int32)
    np.add.at(counts, (TRAINING.words, labels), 1)
    weights = np.random.default_rng(K).dirichlet(np.ones(K + 1))
    return counts, labels, weights


def heldout(by, words=WORDS, starts=STARTS, observed=OBSERVED):
    observed = observed if by == "document" else np.zeros(len(words), dtype=bool)
    return Heldout(by, Tokens(words, starts), observed)


def score(method="completion", by="document", K=4, alpha0=2.0, eta=0.1, particles=3, seed=0, **changed):
    counts, labels, weights = state(K)
    given = {"word_topics": csr_array(counts), "weights": weights, "labels": labels} | changed
    held = given.pop("heldout", heldout(by))
    given |= {"alpha0": alpha0, "eta": eta, "method": method, "particles": particles, "seed": seed}
    return log_likelihoods(corpus_tokens=TRAINING, heldout=held, **given)


def phi_of(counts, eta):
    return np.column_stack([(eta + counts) / (V * eta + counts.sum(axis=0)), np.full(V, 1 / V)])


@pytest.mark.parametrize("by", ["document", "word"])
@pytest.mark.parametrize("method", METHODS)
def test_one_row_for_each_document_with_tokens_to_predict(method, by):
    """Empty documents are left out, and in completion those of one token, which it may see."""
    found = score(method, by)
    assert found.dtype == np.float64
    some = [3, 6, 2] if (method, by) == ("completion", "document") else [6, 1, 12, 1, 5]
    np.testing.assert_array_equal(found[:, 1], some)
    assert (found[:, 0] < 0).all() and np.isfinite(found).all()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_predict(method):
    held = heldout("document", WORDS[:0], np.array([0, 0]), OBSERVED[:0])
    assert score(method, heldout=held).shape == (0, 2)


@pytest.mark.parametrize("by", ["document", "word"])
@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_bytes(method, by):
    first = score(method, by, seed=[5, 2])
    assert first.tobytes() == score(method, by, seed=[5, 2]).tobytes()
    exact = (method, by) == ("completion", "word")
    assert exact == (first.tobytes() == score(method, by, seed=[5, 3]).tobytes())


@pytest.mark.parametrize("K", [1, 6, 7, 8, 15, 16, 23])
def test_words_held_out(K):
    """Exact, whatever the number of topics is in multiples of eight."""
    counts, labels, weights = state(K)
    phi = phi_of(counts, 0.1)
    expected = []
    for j, n in enumerate(LENGTHS):
        own = labels[TRAINING.starts[j] : TRAINING.starts[j + 1]]
        theta = (np.bincount(own, minlength=K + 1) + 2.0 * weights) / (len(own) + 2.0)
        if n:
            expected.append(np.log(phi[WORDS[STARTS[j] : STARTS[j + 1]]] @ theta).sum())
    np.testing.assert_allclose(score(by="word", K=K)[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("K", [1, 7, 8, 16])
@pytest.mark.parametrize("method", SAMPLED)
def test_first_token_alone(method, K):
    """A token of which nothing else is known has the probability that the weights say."""
    counts, _, weights = state(K)
    starts = np.arange(V + 1)
    held = heldout("document", np.arange(V, dtype=np.int32), starts, np.zeros(V, dtype=bool))
    expected = phi_of(counts, 0.1) @ weights
    np.testing.assert_allclose(np.exp(score(method, K=K, heldout=held)[:, 0]), expected, rtol=1e-12)
    assert expected.sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_documents_do_not_touch_each_other(method):
    """A document's score is the same beside others, where no draws come before it."""
    alone = heldout("document", WORDS[:6], np.array([0, 6]), OBSERVED[:6])
    np.testing.assert_array_equal(score(method, heldout=alone)[0], score(method)[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("alpha0", "eta", "last"),
    list(itertools.product([1e-100, 1.0, 1e100], [1e-100, 1.0, 1e100], [0.0, 1e-300, 1 - 1e-12])),
)
def test_far_ends_of_a_double(method, alpha0, eta, last):
    weights = np.array([*np.array([0.5, 0.3, 0.2, 0.0]) * (1 - last), last])
    found = score(method, alpha0=alpha0, eta=eta, weights=weights)
    assert np.isfinite(found).all() and (found[:, 0] <= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_word_of_no_topic(method):
    """Only the unseen topic explains it where eta is small."""
    counts = np.zeros((V, 2), dtype=np.int32)
    counts[:5] = 3
    held = heldout("document", np.full(4, 9, dtype=np.int32), np.array([0, 4]), np.array([True, True, False, False]))
    weights = np.array([0.6, 0.3, 0.1])
    found = score(
        method, eta=1e-9, alpha0=1.0, particles=50, weights=weights, word_topics=csr_array(counts), heldout=held
    )
    # every token is of the unseen topic: 1/V each, and the urn
    first, later = 0.1, [1.1 / 2, 2.1 / 3, 3.1 / 4]
    expected = {
        "completion": 2 * np.log(2.1 / 3 / V),
        "left_to_right": np.log([first, *later]).sum() - 4 * np.log(V),
        "sequential": np.log([first, *later]).sum() - 4 * np.log(V),
        "fold_in": 4 * np.log(4.1 / 5 / V),
    }
    assert found[0, 0] == pytest.approx(expected[method], rel=1e-5)


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        (r"perplexity\.method: expected one of completion, .*, got 'exact'", {"method": "exact"}),
        (r"perplexity\.particles: expected a whole number from 1 to 1000000, got 0", {"particles": 0}),
        (r"held-out words: expected numbers from 0 to 29, got 0 to 30", {"heldout": 30}),
        (r"weights: expected 5 numbers of at least 0 that sum to 1", {"weights": np.full(4, 0.25)}),
        (r"weights: expected 5 numbers of at least 0 that sum to 1", {"weights": np.full(5, 0.25)}),
        (r"weights: expected 5 numbers of at least 0 that sum to 1", {"weights": np.full(5, np.nan)}),
        (r"alpha0: expected a positive number, got 0", {"alpha0": 0.0}),
        (r"eta: expected a positive number, got nan", {"eta": np.nan}),
        (r"labels: expected the topics of the 40 training tokens", {"by": "word", "labels": None}),
        (r"labels: expected numbers from 0 to 3, got 0 to 4", {"by": "word", "labels": (np.arange(40) % 5)}),
        (r"words held out of 1 documents; expected the 6 training documents", {"heldout": "few"}),
    ],
)
def test_refuses(message, changed):
    if changed.get("heldout") == 30:
        changed = {"heldout": heldout("document", np.array([0, 30], dtype=np.int32), np.array([0, 2]), OBSERVED[:2])}
    elif changed.get("heldout") == "few":
        changed = {"heldout": heldout("word", WORDS[:2], np.array([0, 2]))}
    with pytest.raises(ValueError, match=message):
        score(**changed)
