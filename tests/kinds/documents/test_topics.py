"""Topics as arrays: counts, coherence, agreement of topics, averages over states, tables."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from splitmerge_cli import config, runs
from splitmerge_cli.kinds.documents import stored as heldout
from splitmerge_cli.kinds.documents import topics
from splitmerge_cli.kinds.documents.corpus import Corpus, Tokens

# four documents and an empty one: a b b | c a | | b c c c | d
WORDS = np.array([0, 1, 1, 2, 0, 1, 2, 2, 2, 3], dtype=np.int32)
STARTS = np.array([0, 3, 5, 5, 9, 10], dtype=np.int64)
LABELS = np.array([0, 0, 1, 1, 0, 1, 1, 1, 2, 0], dtype=np.int32)
NAMES = ["one", "two", "none", "three", "four"]


@pytest.fixture
def state() -> topics.ChainTopics:
    corpus = Corpus(Tokens(WORDS, STARTS), 5, NAMES)
    return topics.ChainTopics(
        corpus, ["a", "b", "c", "d", "e"], LABELS, np.array([0.3, 0.4, 0.1, 0.2]), alpha0=2.0, eta=0.5
    )


def test_topics_are_numbered_by_size(state: topics.ChainTopics) -> None:
    assert state.labels.tolist() == [1, 1, 0, 0, 1, 0, 0, 0, 2, 1]
    assert state.sizes.tolist() == [5, 4, 1]
    assert state.weights.tolist() == [0.4, 0.3, 0.1]
    assert state.words.toarray().tolist() == [[0, 2, 3, 0, 0], [2, 1, 0, 1, 0], [0, 0, 1, 0, 0]]
    # log(1/2 + n) - 0.4 log(all of the word): 0.70 and 0.48; 0.64, 0.41 and -0.03
    assert [top.tolist() for top in state.top] == [[2, 1], [0, 3, 1], [2]]


def test_topics_by_size_and_their_top_words() -> None:
    """Sizes 1, 3, 2, so that the order is no exchange of two: its inverse is another one."""
    labels, order = topics.by_size(np.array([0, 1, 1, 1, 2, 2], dtype=np.int32))
    assert labels.tolist() == [2, 0, 0, 0, 1, 1] and order.tolist() == [1, 2, 0]
    words = topics.counts(labels, np.array([4, 1, 1, 0, 3, 2], dtype=np.int32), (3, 5))
    shown = [words.indices[at].tolist() for at in topics.relevant_entries(words, 0.5, 2)]
    assert shown == [[1, 0], [2, 3], [4]]
    assert [len(at) for at in topics.relevant_entries(words, 0.5, 1)] == [1, 1, 1]


def test_coherence_by_hand(state: topics.ChainTopics) -> None:
    # of four documents with tokens two hold a, two b, two c, one d; each pair of a, b, c meets in one
    pair = np.log(0.25 / 0.25) / -np.log(0.25)
    never = -1.0
    expected = [pair, (pair + never + never) / 3]
    assert np.allclose(state.coherence[:2], expected, rtol=0, atol=1e-15)
    assert np.isnan(state.coherence[2])
    assert state.overview()[2]["coherence"] is None


def test_coherence_of_words_that_never_part() -> None:
    words, starts = np.array([0, 1, 0, 1, 2], dtype=np.int32), np.array([0, 2, 4, 5], dtype=np.int64)
    assert topics.coherence([np.array([0, 1])], Tokens(words, starts)).tolist() == pytest.approx([1.0])
    # in every document
    assert topics.coherence([np.array([0, 1])], Tokens(words[:4], starts[:3])).tolist() == [0.0]
    assert topics.coherence([], Tokens(words, starts)).shape == (0,)


def test_coherence_against_plain_counts() -> None:
    rng = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 12, size=40))])
    words = rng.integers(15, size=starts[-1]).astype(np.int32)
    documents = [set(words[a:b].tolist()) for a, b in pairwise(starts) if a < b]
    top = [rng.permutation(15)[:10] for _ in range(4)]
    for of_topic, found in zip(top, topics.coherence(top, Tokens(words, starts)), strict=True):
        values = []
        for i, a in enumerate(of_topic):
            for b in of_topic[:i]:
                p_a, p_b = (np.mean([w in d for d in documents]) for w in (a, b))
                both = np.mean([a in d and b in d for d in documents])
                values.append(np.log(both / (p_a * p_b)) / -np.log(both) if both else -1.0)
        assert found == pytest.approx(np.mean(values), abs=1e-12)


def test_similarity_is_that_of_the_posterior_means(state: topics.ChainTopics) -> None:
    eta = 0.5
    phi = (eta + state.words.toarray()) / (5 * eta + state.sizes[:, None])
    other = np.random.default_rng(1).dirichlet(np.ones(5), size=4)
    given = topics.Topics.of_probabilities(other, np.full(4, 0.25))
    expected = 1 - np.sqrt(0.5 * ((np.sqrt(phi)[:, None] - np.sqrt(other)) ** 2).sum(axis=2))
    assert np.allclose(topics.similarity(state.distributions, given), expected, rtol=0, atol=1e-12)
    assert np.allclose(topics.similarity(given, state.distributions), expected.T, rtol=0, atol=1e-12)
    assert np.diag(topics.similarity(state.distributions, state.distributions)).tolist() == [1, 1, 1]


def test_match_is_free_of_labels_and_counts_what_is_left_over(state: topics.ChainTopics) -> None:
    own = state.distributions
    turned = topics.Topics(own.floor[[2, 0, 1]], own.extra[[2, 0, 1]], own.shares[[2, 0, 1]])
    found = topics.match(own, turned)
    assert found.pairs.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert (found.similarity, found.matched) == (1.0, 3)
    # the two largest alone: each of the states has what the third lacks
    without = topics.Topics(own.floor[:2], own.extra[:2], own.shares[:2] / own.shares[:2].sum())
    found = topics.match(own, without)
    assert found.pairs.tolist() == [[0, 0], [1, 1]]
    assert found.similarity == pytest.approx((0.9 + 1.0) / 2)


def test_topics_without_a_common_word_are_not_alike() -> None:
    a, b = (topics.Topics.of_probabilities([row], [1.0]) for row in ([0.5, 0.5, 0, 0], [0, 0, 0.2, 0.8]))
    found = topics.match(a, b)
    assert (found.similarity, found.matched) == (0.0, 0)


def test_of_many_topics_the_largest_are_matched(state: topics.ChainTopics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "MOST", 2)
    own = state.distributions
    found = topics.match(own, own.part(np.array([2, 1, 0])))
    assert found.pairs.tolist() == [[0, 2], [1, 1]]
    assert found.similarity == pytest.approx(0.9)


def test_small_topics_are_not_counted() -> None:
    a = topics.Topics.of_probabilities([[0.9, 0.1], [0.5, 0.5]], [0.995, 0.005])
    found = topics.match(a, a)
    assert (found.similarity, found.matched, found.large) == (1.0, 1, (1, 1))


def test_topics_are_the_same_from_the_bounds_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both hold the share, and the similarity is at least that."""
    a = topics.Topics.of_probabilities([[1.0, 0.0], [0.0, 1.0]], [0.99, 0.01])
    b = topics.Topics.of_probabilities([[1.0, 0.0], [0.0, 1.0]], [0.995, 0.005])
    assert (topics.match(a, a).matched, topics.match(a, b).matched, topics.match(b, a).matched) == (2, 1, 1)
    monkeypatch.setattr(topics, "MATCHED", 1.0)
    assert topics.match(a, a).matched == 2


def test_tables(state: topics.ChainTopics) -> None:
    table = topics.topics_table(3, state).to_pandas()
    assert table["chain"].tolist() == [3, 3, 3]
    assert table["share"].tolist() == [0.5, 0.4, 0.1]
    assert table["documents"].tolist() == [3, 3, 1]
    assert table["top_words"].map(list).tolist() == [["c", "b"], ["a", "d", "b"], ["c"]]
    assert np.allclose(table["top_probabilities"][0], [3.5 / 7.5, 2.5 / 7.5])
    words = topics.words_table(3, state).to_pandas()
    assert words["word"].tolist() == ["b", "c", "a", "b", "d", "c"]
    # the words that a topic does not hold have the rest
    assert words.groupby("topic")["probability"].sum().tolist() == pytest.approx([6 / 7.5, 5.5 / 6.5, 1.5 / 3.5])
    documents = topics.documents_table(3, state).to_pandas()
    assert documents["document"].tolist() == [0, 0, 1, 1, 3, 3, 4]
    assert documents["name"].tolist() == ["one", "one", "two", "two", "three", "three", "four"]
    assert documents["topic"].tolist() == [1, 2, 1, 2, 1, 3, 2]
    assert documents["count"].tolist() == [1, 2, 1, 1, 3, 1, 1]
    assert documents["probability"][0] == pytest.approx((1 + 2.0 * 0.4) / (3 + 2.0))
    tokens = topics.tokens_table(state).to_pandas()
    assert tokens["position"].tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 3, 0]
    assert "".join(tokens["word"]) == "abbcabcccd"
    assert tokens["topic"].tolist() == (state.labels + 1).tolist()


def test_topics_are_read_back_from_their_words(state: topics.ChainTopics) -> None:
    frame = topics.words_table(0, state).to_pandas()
    # in the order of another run's vocabulary
    read = topics.from_words(frame, 0.5, pd.Index(["d", "c", "b", "a"]), V=5)
    assert np.allclose(topics.similarity(read, read), topics.similarity(state.distributions, state.distributions))


def test_agreement_of_chains_and_with_the_truth(state: topics.ChainTopics) -> None:
    other = topics.ChainTopics(
        state.corpus, state.vocabulary, np.zeros(10, dtype=np.int32), np.array([0.9, 0.1]), 2.0, 0.5
    )
    phi = (0.5 + state.words.toarray()) / (2.5 + state.sizes[:, None])
    truth = topics.Topics.of_probabilities(phi, state.shares)
    states = [other, state, state]
    matches = topics.match_chains(states, 1)
    assert {c: match.is_shared(3).tolist() for c, match in matches.items()} == {
        0: [True, False, False],
        2: [True, True, True],
    }
    rows = {(name, chain): value for name, chain, value, _ in topics.agreement_rows(states, 1, matches, truth)}
    assert rows["topic_similarity/chains", 2] == 1.0
    assert rows["topics_matched/chains", 2] == 3.0
    assert rows["nmi/chains", 2] == pytest.approx(1.0)
    assert rows["nmi/chains", 0] == pytest.approx(0.0)
    assert rows["topic_similarity/chains", None] == (1.0 + rows["topic_similarity/chains", 0]) / 2
    assert ("nmi/chains", 1) not in rows
    assert rows["topic_similarity/truth", None] == rows["topic_similarity/truth", 1] == pytest.approx(1.0)
    assert rows["topics_matched/truth", 0] <= 1.0
    assert topics.agreement_rows([state], 0, {}, None) == []


def log_mean(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp.reduce(rows, axis=0) - np.log(len(rows))


@pytest.mark.parametrize("every", [1, 3, 7])
def test_average_over_the_second_half_so_far(every: int) -> None:
    rng = np.random.default_rng(every)
    iterations = np.arange(every, 60, every)
    # probabilities that differ by hundreds of orders of magnitude
    log_lik = rng.normal(-800.0, 400.0, size=(len(iterations), 4))
    for t, found in zip(iterations, heldout.second_half(iterations, log_lik), strict=True):
        rows = log_lik[(iterations > t / 2) & (iterations <= t)]
        assert np.allclose(found, log_mean(rows), rtol=1e-12, atol=0)


def test_evaluations_of_a_chain() -> None:
    iterations, tokens = np.array([10, 20, 30]), np.array([5, 5, 5])
    log_lik = np.log(np.array([[0.5, 0.1], [0.25, 0.2], [0.75, 0.4]]))
    frame, mean = heldout.evaluations(iterations, tokens, log_lik)
    assert np.allclose(np.exp(mean), [0.5, 0.3])
    assert np.allclose(frame["perplexity"], [0.05**-0.2, 0.05**-0.2, 0.3**-0.2])
    assert np.allclose(frame["averaged"], [0.05**-0.2, 0.05**-0.2, 0.15**-0.2])
    assert heldout.pooled_perplexity([np.log([0.5, 0.3]), np.log([0.1, 0.1])], 5) == pytest.approx((0.3 * 0.2) ** -0.2)


def test_how_documents_are_evaluated_identifies_only_runs_that_evaluate_them() -> None:
    assert runs.run_id(config.compose(["perplexity.method=fold_in"])) == runs.run_id(config.compose([]))
    assert runs.run_id(config.compose(["perplexity.every=10"])) != runs.run_id(config.compose(["perplexity.every=20"]))
