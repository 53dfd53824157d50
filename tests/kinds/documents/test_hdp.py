"""Topics of documents: counts, weights and lists in step whatever is moved, extremes, the prior."""

import math

import numpy as np
import pytest
from compiled import pieces
from small_cases import check_resumption

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.documents.partially_collapsed import PartiallyCollapsed
from splitmerge_cli.kinds.documents.smag import SMAG
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.wang_russell import SDDS, SS
from splitmerge_cli.verify.enumerate import hdp_log_weight, mixture_states, normalise

DATA = np.random.default_rng(6)
LENGTHS = [12, 0, 1, 60, 33, 7, 40, 0]
STARTS = np.concatenate([[0], np.cumsum(LENGTHS)])
# a quarter of all tokens are of one word: a list of many topics beside short ones
WORDS = np.where(DATA.random(STARTS[-1]) < 0.25, 3, DATA.integers(30, size=STARTS[-1]))
V = 32

SAMPLERS = {
    "gibbs": (Gibbs, {}),
    "gibbs-site": (Gibbs, {"scan": "site"}),
    "partially_collapsed": (PartiallyCollapsed, {"share": 0.2}),
    "smag-coin": (SMAG, {}),
    "smag-pair": (SMAG, {"choice": "pair", "tries": 3}),
    "smag-after": (SMAG, {"weights": "after"}),
    "smag-text": (SMAG, {"mode": "as_printed"}),
    "smag-box": (SMAG, {"mode": "as_printed", "form": "box"}),
    "sams": (Dyadic, {}),
    "dyadic-gibbs": (Dyadic, {"allocation": "gibbs", "t": 1}),
    "rgsm": (RGSM, {"t": 1}),
    "sdds": (SDDS, {}),
    "ss": (SS, {}),
}


def build(words=V, **options):
    return HDP(WORDS, STARTS, words, **{"gamma": 2.0, "alpha0": 1.5, "eta": 0.3, **options})


def scatter(model, K, seed=0):
    model.set_labels(np.random.default_rng(seed).permutation(np.arange(model.N) % K).astype(np.int32))


def check_counts(model):
    """Everything that is kept, against the labels."""
    labels, expected = model.labels, np.zeros((model.V, model.K), dtype=int)
    np.add.at(expected, (WORDS, labels), 1)
    found = model.word_topics()
    np.testing.assert_array_equal(found.toarray(), expected)
    assert (found.data > 0).all()
    assert found.has_sorted_indices
    np.testing.assert_array_equal(model.sizes, np.bincount(labels, minlength=model.K))
    assert (model.sizes > 0).all()
    assert model.weights.sum() == pytest.approx(1.0, abs=1e-9)
    for k in {0, model.K // 2, model.K - 1}:
        np.testing.assert_array_equal(pieces.list_members(model, k, k), np.flatnonzero(labels == k))
    afresh = build(model.V, gamma=model.gamma, alpha0=model.alpha0)
    afresh.set_labels(labels)
    afresh.set_parameters(model.parameters)
    # bit for bit: a chain that is resumed goes on with the same numbers
    assert afresh.log_lik_total() == model.log_lik_total()
    assert afresh.log_prior_total() - model.log_prior_total() == pytest.approx(0.0, abs=1e-9)


def equation_8(model, i):
    """(alpha0 beta_k + n_jk)(eta + n_kw)/(V eta + n_k) of every topic without token i, and alpha0 beta_u/V."""
    others = np.arange(len(WORDS)) != i
    labels, document = model.labels, np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    n_k, n_jk, n_kw = (
        np.bincount(labels[others & which], minlength=model.K)
        for which in (others, document == document[i], WORDS[i] == WORDS)
    )
    topics = (model.alpha0 * model.weights[:-1] + n_jk) * (model.eta + n_kw) / (V * model.eta + n_k)
    return [*topics, model.alpha0 * model.weights[-1] / V]


@pytest.mark.parametrize(("gamma", "words"), [(2.0, V), (40.0, V), (40.0, 2000)], ids=["few", "many", "lists alone"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_everything_is_in_step(name, gamma, words):
    """With gamma 40 topics come and go, columns are added, and counts go from rows to lists and back."""
    model, rng = build(words, gamma=gamma, alpha0=6.0), Rng(4)
    scatter(model, 5)
    model.start_parameters(rng)
    sampler, options = SAMPLERS[name]
    move, scan, refresh = sampler(model, rng, **options), Gibbs(model, rng), Refresh(model, rng)
    for step in range(60):
        for part in (move, refresh, *([scan] if step % 4 == 0 else [])):
            part.step()
            check_counts(model)


@pytest.mark.parametrize("K", [1, 2, 5, 6, 12, 13, 14, 61, 62, 130, 153])
def test_any_number_of_topics(K):
    """Any number of topics, at the edges of what columns are allocated, up to one for each token."""
    model = build()
    for topics in (K, 3, K):
        scatter(model, topics)
        check_counts(model)
        np.testing.assert_allclose(pieces.scan(model, 20), equation_8(model, 20), rtol=1e-12)
    rng = Rng(1)
    Gibbs(model, rng).step()
    check_counts(model)


@pytest.mark.parametrize("name", ["gibbs", "gibbs-site", "partially_collapsed", "smag-coin", "smag-text", "sdds"])
def test_a_chain_goes_on_from_its_state(name):
    sampler, options = SAMPLERS[name]

    def chain():
        model, rng = build(gamma="gamma(1,1)", alpha0="gamma(2,1)"), Rng(7)
        scatter(model, 4)
        model.start_parameters(rng)
        return Chain(model, rng, [sampler(model, rng, **options), Gibbs(model, rng), Refresh(model, rng)], sizes=True)

    check_resumption(chain, 15, 25, ("gamma", "alpha0", "largest", "sizes"))
    whole = chain().advance(40)
    ends = whole["sizes_end"]
    assert (np.diff(np.concatenate([[0], ends])) == whole["K"]).all()
    for a, b in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        row = whole["sizes"][a:b]
        assert row.sum() == len(WORDS)
        assert (np.diff(row) <= 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {"gamma": 1e-6},
        {"gamma": 1e6, "alpha0": 1e-6},
        {"alpha0": 1e6},
        {"eta": 1e-6},
        {"eta": 1e6},
        {"gamma": 1e-6, "alpha0": 1e-6, "eta": 1e6},
        {"gamma": "gamma(0.001,1000)", "alpha0": "gamma(0.001,1000)"},
        {"gamma": "gamma(1e6,1)", "alpha0": "gamma(1e6,0.001)"},
    ],
    ids=str,
)
def test_extremes(options):
    model, rng = build(**options), Rng(2)
    scatter(model, 4)
    model.start_parameters(rng)
    samplers = [
        Gibbs(model, rng),
        SMAG(model, rng),
        SMAG(model, rng, weights="after"),
        SDDS(model, rng),
        Dyadic(model, rng),
    ]
    for _ in range(25):
        for sampler in [*samplers, Refresh(model, rng)]:
            sampler.step()
            assert np.isfinite(model.log_joint())
    assert (model.sizes > 0).all()


def test_likelihood_of_a_large_mass_keeps_its_digits():
    """log <V eta>_n by differences of log gammas would be off by 1e-3 here."""
    model = build(eta=1e6)
    exact = sum(np.log(1e6 + t) for n in np.bincount(WORDS) for t in range(n))
    exact -= sum(np.log(V * 1e6 + t) for t in range(len(WORDS)))
    assert model.log_lik_total() == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("mass", [49.9, 50.0, 80.0])
@pytest.mark.parametrize("n", [15, 16, 40, 300])
def test_likelihood_is_a_product_on_either_side_of_its_series(mass, n):
    """Single terms where a difference of log gammas or Stirling's series stands."""
    model = HDP(np.zeros(n, dtype=int), [0, n], 1, eta=mass)
    two = HDP(np.arange(n) % 2, [0, n], 2, eta=mass / 2)
    eta = math.fsum(math.log(mass / 2 + t) for half in (n // 2, n - n // 2) for t in range(half))
    exact = eta - math.fsum(math.log(mass + t) for t in range(n))
    assert model.log_lik_total() == pytest.approx(0.0, abs=1e-9)
    assert two.log_lik_total() == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.3, 2.0])
def test_a_topic_that_a_move_opens_takes_its_expected_share(gamma):
    """The share of beta_u, which Beta(1, gamma) breaks; it goes back when the topic's last token leaves."""
    model = build(gamma=gamma)
    scatter(model, 5)
    model.start_parameters(Rng(1))
    *others, unseen = model.weights
    home = int(model.labels[7])
    pieces.move(model, 7, 5)
    expected = [*others, unseen / (1.0 + gamma), unseen * gamma / (1.0 + gamma)]
    np.testing.assert_allclose(model.weights, expected, rtol=1e-12)
    check_counts(model)
    pieces.move(model, 7, home)
    np.testing.assert_allclose(model.weights, [*others, unseen], rtol=1e-12)
    check_counts(model)


def test_draws_of_the_prior_have_its_distribution():
    """Partitions of four tokens in two documents; with one word the likelihood is 1."""
    docs, states = [0, 0, 0, 1], mixture_states(4)
    model = HDP([0] * 4, [0, 3, 4], 1, gamma=1.3, alpha0=0.8)
    weight = hdp_log_weight(docs, [0] * 4, 1, 1.3, 0.8, 0.1)
    pi = normalise([weight(s) for s in states])
    generator, counts, tries = np.random.default_rng(3), dict.fromkeys((s[0] for s in states), 0), 20_000
    for _ in range(tries):
        labels, K = model.prior_labels(generator)
        assert labels.max() + 1 == K
        number: dict[int, int] = {}
        counts[tuple(number.setdefault(int(k), len(number)) for k in labels)] += 1
    found = np.array(list(counts.values())) / tries
    np.testing.assert_allclose(found, pi, atol=4.5 * np.sqrt(0.25 / tries))


@pytest.mark.parametrize(
    ("words", "starts", "size", "options", "message"),
    [
        ([], [0, 0], 3, {}, "starts: expected 0, ..., the number of tokens, at least one"),
        ([0, 1], [0, 1], 3, {}, "starts"),
        ([0, 1], [0, 2, 1, 2], 3, {}, "ascending"),
        ([0, 3], [0, 2], 3, {}, "words: expected 0 to 2"),
        ([0, -1], [0, 2], 3, {}, "words: expected 0 to 2"),
        ([0, 1], [0, 2], 3, {"gamma": 0}, "model.gamma"),
        ([0, 1], [0, 2], 3, {"alpha0": "gamma(1)"}, "model.alpha0=.*: expected a positive number from"),
        ([0, 1], [0, 2], 3, {"alpha0": True}, "model.alpha0"),
        ([0, 1], [0, 2], 3, {"eta": float("nan")}, "model.eta"),
    ],
)
def test_bad_input(words, starts, size, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        HDP(np.array(words, dtype=np.int32), starts, size, **options)


def test_tiny_corpora():
    """One token; one document; one word."""
    for words, starts, size in (([0], [0, 1], 1), ([2, 2, 0], [0, 3], 3), ([0] * 5, [0, 2, 2, 5], 1)):
        model, rng = HDP(words, starts, size), Rng(0)
        model.start_parameters(rng)
        samplers = [cls(model, rng, **options) for cls, options in SAMPLERS.values()]
        for _ in range(50):
            for sampler in [*samplers, Refresh(model, rng)]:
                sampler.step()
        assert np.isfinite(model.log_joint())


@pytest.mark.parametrize("order", ["scans", "sites", "mixed"])
def test_lists_of_members_change_nothing(order):
    """They are kept where a sampler asks for members, and may be behind after a scan."""
    ends = []
    for kept in (False, True):
        model, rng = build(gamma=1.0, alpha0=1.0), Rng(4)
        if kept:
            Dyadic(model, rng)
        model.set_labels(np.arange(model.N) % 40)
        model.start_parameters(rng)
        full, site, refresh = Gibbs(model, rng), Gibbs(model, rng, scan="site"), Refresh(model, rng)
        for t in range(60):
            if order != "sites" or t == 0:
                full.step()
            for _ in range(40 * (order != "scans")):
                site.step()
            refresh.step()
            if t % 3 == 0:
                z = model.labels
                for k in range(model.n_clusters):
                    assert pieces.list_members(model, k, k).tolist() == np.flatnonzero(z == k).tolist()
        check_counts(model)
        ends.append((model.labels.tolist(), model.log_joint(), rng.state))
    assert ends[0] == ends[1]


def test_a_merge_and_a_split_without_lists():
    """Topics are joined, and one gets another's number, by one pass over the tokens where there are no lists."""
    ends = []
    for t in range(2):
        model, rng = build(gamma=1.0, alpha0=1.0), Rng(9)
        model.set_labels(np.arange(model.N) % 5)
        model.start_parameters(rng)
        sampler = SMAG(model, rng, choice="pair", tries=40)
        for _ in range(6):
            if t:
                # sets the labels that there are: the lists are behind
                held = model.parameters
                model.set_labels(model.labels)
                model.set_parameters(held)
            sampler.step()
        assert sum(row["accepted"] for row in sampler.counts()) > 3
        check_counts(model)
        ends.append((model.labels.tolist(), model.log_joint()))
    assert ends[0][0] == ends[1][0]
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-12)
