"""Samplers of topics, compiled, against the enumerated posterior of tiny corpora.

Weights are drawn from a continuum, so the choices of a move cannot be listed: chains are compared with p(z), summed
over tables; a move alone, which keeps beta_u, with p(z given beta_u). Every ratio is compared with a plain double that
is proved entry by entry (tests/replay). What a missing term does is seen here.
"""

import itertools
from collections import Counter

import numpy as np
import pytest
from compiled import pieces
from compiled.finite import FiniteTopics
from scipy.special import gammaln
from scipy.stats import chi2_contingency, gamma, ks_2samp, kstest

from splitmerge_cli.core.history import by_appearance
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents.drawn_topics import DrawnTopics
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.documents.partially_collapsed import PartiallyCollapsed
from splitmerge_cli.kinds.documents.smag import SMAG
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.wang_russell import RM, SDDS, SS
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import mixture_states, normalise

FIXED = {"gamma": 1.6, "alpha0": 0.9}
UNEVEN = {"gamma": 0.3, "alpha0": 6.0}
RANDOM = {"gamma": "gamma(2,1)", "alpha0": "gamma(2,1)"}

MOVES = {
    "pair": (SMAG, {"choice": "pair"}),
    "coin": (SMAG, {"choice": "coin"}),
    "pair, after": (SMAG, {"choice": "pair", "weights": "after"}),
    "coin, after": (SMAG, {"choice": "coin", "weights": "after"}),
    "coin, few splits": (SMAG, {"choice": "coin", "split": 0.2}),
    "coin, p = 5": (SMAG, {"choice": "coin", "p": 5.0}),
    "sams": (Dyadic, {}),
    "rgsm": (RGSM, {"t": 1}),
    "sdds": (SDDS, {}),
    "ss": (SS, {}),
}


def posterior_distance(params, build, company=("refresh",), size=5, iterations=40_000, seed=0, omit=()):
    """Total variation between a chain's frequencies and the posterior, and what chance would make of it."""
    case = cases.small_case(HDP, size, seed, params)
    rng = Rng(seed)
    move = build(case.model, rng)
    move.omit(*omit)
    others = {"refresh": Refresh, "gibbs": Gibbs}
    samplers = [move, *(others[name](case.model, rng) for name in company)]
    found, noise = kernel.sampled_frequencies(case, samplers, rng, iterations)
    pi = case.pi if company else case.held(case.model.log_weights[-1])
    return transitions.total_variation(found, pi), noise


def builder_of(name, **more):
    sampler, options = MOVES[name]
    return lambda model, rng: sampler(model, rng, **options, **more)


@pytest.mark.parametrize("params", [FIXED, UNEVEN, RANDOM], ids=["fixed", "uneven", "random"])
def test_gibbs(params):
    distance, noise = posterior_distance(params, Gibbs)
    assert distance < 3 * noise < 0.1


def test_one_token_at_a_time():
    distance, noise = posterior_distance(FIXED, lambda model, rng: Gibbs(model, rng, scan="site"), iterations=200_000)
    assert distance < 3 * noise < 0.1


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize(
    ("params", "company"),
    [(FIXED, ()), (UNEVEN, ()), (FIXED, ("refresh",)), (RANDOM, ("refresh",)), (RANDOM, ("gibbs", "refresh"))],
    ids=["alone", "alone, uneven", "refreshed", "random", "random, with scans"],
)
def test_moves(params, company, move):
    distance, noise = posterior_distance(params, builder_of(move), company)
    assert distance < 3 * noise < 0.2


@pytest.mark.parametrize("form", ["text", "box"])
@pytest.mark.parametrize("params", [FIXED, UNEVEN], ids=["fixed", "uneven"])
def test_printed_form_is_biased(params, form):
    """As the derivation says: too few topics where alpha0 is small against gamma, alone far off, hidden by scans."""
    as_printed = lambda model, rng: SMAG(model, rng, form=form, mode="as_printed")  # noqa: E731
    distance, noise = posterior_distance(params, as_printed)
    assert distance > 0.1 > 3 * noise
    beside, _ = posterior_distance(params, as_printed, ("gibbs", "refresh"))
    assert beside < 0.5 * distance


TERMS = [
    ("pair", "target"),
    ("coin", "anchors"),
    ("pair", "allocation"),
    ("coin, few splits", "anchors"),
    ("coin, p = 5", "shares"),
    ("pair, after", "shares"),
]


@pytest.mark.parametrize(("move", "term"), TERMS)
def test_without_a_term_it_is_biased(move, term):
    distance, noise = posterior_distance(UNEVEN, builder_of(move), (), iterations=200_000, omit=[term])
    assert distance > 4 * noise


def test_scan_by_definition():
    """The sparse scan's buckets add up to equation 8: frequencies of a token's topic from one state."""
    generator = np.random.default_rng(0)
    words, starts = generator.integers(30, size=400), [0, 10, 10, 150, 400]
    words[3] = 39  # no other token has it: the topics of its document decide, its own counted without it
    labels, weights = generator.integers(6, size=400), np.log(generator.dirichlet(np.ones(7)))
    model = HDP(words, starts, 40, gamma=0.7, alpha0=2.0, eta=0.3)
    rng, counts, tries = Rng(1), np.zeros((3, 7)), 4000
    gibbs, start = Gibbs(model, rng, scan="site"), rng.state
    # a step draws its token first: the places of the stream where that is the one wanted
    drawn = (np.random.Generator(rng.bit_generator).random(2 * tries * model.N) * model.N).astype(int)
    tokens = [3, 80, 399]
    for row, i in enumerate(tokens):
        for place in np.flatnonzero(drawn == i)[:tries]:
            model.set_labels(labels)
            model.set_parameters([*weights, 0.7, 2.0])
            rng.state = start
            rng.bit_generator.advance(int(place))
            gibbs.step()
            counts[row, min(model.labels[i], 6)] += 1
        model.set_labels(labels)
        model.set_parameters([*weights, 0.7, 2.0])
        expected = pieces.scan(model, i)
        expected /= expected.sum()
        error = np.sqrt(expected * (1 - expected) / tries) + 1 / tries
        assert (np.abs(counts[row] / tries - expected) < 4.5 * error).all()


def test_scan_of_all_topics_by_definition():
    """The first token of a scan that weighs all topics, likewise: few words for so many tokens."""
    generator = np.random.default_rng(0)
    words, starts = generator.integers(30, size=300), [0, 10, 10, 150, 300]
    labels, weights = generator.integers(11, size=300), np.log(generator.dirichlet(np.ones(12)))
    model = HDP(words, starts, 40, gamma=0.7, alpha0=2.0, eta=0.3)
    rng, counts, tries = Rng(1), np.zeros(12), 20_000
    gibbs = Gibbs(model, rng)
    for _ in range(tries):
        model.set_labels(labels)
        model.set_parameters([*weights, 0.7, 2.0])
        gibbs.step()
        counts[min(model.labels[0], 11)] += 1
    model.set_labels(labels)
    model.set_parameters([*weights, 0.7, 2.0])
    expected = pieces.scan(model, 0)
    expected /= expected.sum()
    error = np.sqrt(expected * (1 - expected) / tries) + 1 / tries
    assert (np.abs(counts / tries - expected) < 4.5 * error).all()


def test_moves_between_more_than_two_topics_are_refused():
    case = cases.small_case(HDP, 4)
    with pytest.raises(ValueError, match="no density of the weights"):
        RM(case.model, Rng(0))


# ---- `partially_collapsed` by enumeration on a finite set of distributions over words, by the densities it draws from,
# and against the posterior of topics; the same bytes for any number of threads.

LIMIT = 30_000_000
# where documents begin, words, candidates, topics
FINITE = [
    ([0, 1], 2, 2, 1),
    ([0, 2], 2, 2, 2),
    ([0, 2, 4], 3, 2, 2),
    ([0, 4], 2, 3, 2),
    ([0, 1, 1, 4], 3, 2, 3),
    ([0, 2, 4], 3, 2, 4),
    ([0, 3, 5], 3, 2, 2),
    ([0, 3, 5], 2, 2, 3),
    ([0, 2, 3, 6], 3, 1, 2),
]


def finite(starts: list[int], words: int, candidates: int, topics: int, seed: int = 0):
    """A corpus, and every state with so many topics of these weights."""
    N, generator = starts[-1], np.random.default_rng([*starts, words, candidates, seed])
    model = FiniteTopics(
        generator.integers(words, size=N),
        starts,
        generator.dirichlet(np.ones(words), candidates),
        generator.dirichlet(np.ones(candidates)),
        0.8,
    )
    weights = [(float(x),) for x in np.log(generator.dirichlet(np.ones(topics + 1))[:topics])]
    states = [(p, K, kept) for p, K in mixture_states(N) if topics == K for kept in itertools.permutations(weights)]
    return model, states


@pytest.mark.parametrize("case", range(len(FINITE)))
def test_kernel_on_finite_distributions(case):
    model, states = finite(*FINITE[case])
    rng = Rng(0)
    P = transitions.transition_matrix(model, rng, PartiallyCollapsed(model, rng, share=0.0), states, LIMIT)
    pi = normalise([model.log_posterior(s) for s in states])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-10)
    assert transitions.stationarity_defect(P, pi) < kernel.EXACT
    # topics are opened and closed by the collapsed scan alone; singletons are all founders
    K = FINITE[case][3]
    assert (P.diagonal() == 1.0).all() == (K in (1, model.N))


def test_another_law_is_found():
    """The check above sees a weight that is off by a hundredth."""
    model, states = finite([0, 2, 4], 3, 2, 2)
    rng = Rng(0)
    P = transitions.transition_matrix(model, rng, PartiallyCollapsed(model, rng, share=0.0), states, LIMIT)
    off = [(p, K, tuple((x + 0.01 * (k == 0),) for k, (x,) in enumerate(kept))) for p, K, kept in states]
    assert transitions.stationarity_defect(P, normalise([model.log_posterior(s) for s in off])) > 1e-5


def test_counts_of_finite_topics_follow():
    model, states = finite([0, 3, 5], 3, 2, 2)
    rng, words = Rng(4), model.words
    sampler = PartiallyCollapsed(model, rng, share=0.0)
    model.set_labels(np.array([0, 1, 0, 1, 1]))
    model.set_parameters(np.array(states[0][2]))
    seen = set()
    for _ in range(100):
        sampler.step()
        z = model.labels
        counts = [np.bincount(words[z == k], minlength=3).tolist() for k in range(2)]
        assert model.count_words().tolist() == counts
        assert model.sizes.tolist() == np.bincount(z).tolist()
        seen.add(tuple(z))
    assert len(seen) > 3


COMPANY = {
    "default": lambda model, rng: [PartiallyCollapsed(model, rng)],
    "smag": lambda model, rng: [PartiallyCollapsed(model, rng, share=0.0), SMAG(model, rng)],
    "all": lambda model, rng: [PartiallyCollapsed(model, rng, share=1.0)],
    "drawn": lambda model, rng: [DrawnTopics(model, rng)],
}


def collapsed_posterior_distance(params, company, size, iterations, threads=1):
    """Total variation between a chain's frequencies and the posterior, and what chance would make of it."""
    case, rng = cases.small_case(HDP, size, 0, params), Rng(0)
    samplers = [*COMPANY[company](case.model, rng), Refresh(case.model, rng)]
    samplers[0].threads = threads
    found, noise = kernel.sampled_frequencies(case, samplers, rng, iterations)
    return transitions.total_variation(found, case.pi), noise


@pytest.mark.parametrize("company", COMPANY)
@pytest.mark.parametrize("params", [FIXED, UNEVEN, RANDOM], ids=["fixed", "uneven", "random"])
def test_posterior(params, company):
    distance, noise = collapsed_posterior_distance(params, company, 5, 40_000)
    assert distance < 3 * noise < 0.2


@pytest.mark.slow  # 40,000 corpora, half a minute
@pytest.mark.parametrize("build_sampler", [lambda model, rng: PartiallyCollapsed(model, rng, share=0.2), DrawnTopics])
def test_steps_and_new_words_leave_topics_their_prior(build_sampler):
    """Geweke (2004): words are drawn given topics, then comes a step of the sampler, and one of the weights."""
    generator, V, fixed = np.random.default_rng(8), 3, {"gamma": 1.2, "alpha0": 0.9, "eta": 0.5}

    def build(words):
        return HDP(words, [0, 3, 6], V, **fixed)

    def summarise(z):
        sizes = np.bincount(z)
        return (sizes > 0).sum(), (sizes**2).sum(), z[0] == z[1], z[0] == z[5]

    model = build(np.zeros(6, dtype=int))
    prior = np.array([summarise(model.prior_labels(generator)[0]) for _ in range(40_000)], dtype=float)
    model.set_labels(model.prior_labels(generator)[0])
    model.start_parameters(Rng(0))
    kept = []
    for step in range(40_000):
        labels, weights = model.labels, model.parameters
        phi = generator.dirichlet(np.full(V, 0.5), labels.max() + 1)
        model, rng = build(np.array([generator.choice(V, p=phi[k]) for k in labels])), Rng(step)
        model.set_labels(labels)
        model.set_parameters(weights)
        build_sampler(model, rng).step()
        Refresh(model, rng).step()
        kept.append(summarise(model.labels))
    batches = np.array(kept, dtype=float)[1000:].reshape(100, -1, 4).mean(axis=1)
    error = np.hypot(batches.std(axis=0, ddof=1) / np.sqrt(100), prior.std(axis=0) / np.sqrt(40_000))
    assert (np.abs(batches.mean(axis=0) - prior.mean(axis=0)) < 4.0 * error).all()


def corpus(N: int, V: int, J: int, topics: int, seed: int = 3):
    """Words of documents that have a few topics each."""
    generator = np.random.default_rng(seed)
    starts = np.sort(generator.integers(0, N + 1, J - 1))
    starts = np.concatenate([[0], starts, [N]])
    phi = generator.dirichlet(np.full(V, 0.05), topics)
    words = np.empty(N, dtype=np.int32)
    for begin, end in itertools.pairwise(starts):
        z = generator.choice(topics, end - begin, p=generator.dirichlet(np.full(topics, 0.2)))
        words[begin:end] = [generator.choice(V, p=phi[k]) for k in z]
    return words, starts


@pytest.mark.parametrize("topics", [6, 150])
def test_threads_change_nothing(topics):
    words, starts = corpus(30_000, 500, 120, 10)
    ends = []
    for threads in (1, 2, 3):
        model, rng = HDP(words, starts, 500), Rng(3)
        model.set_labels(np.random.default_rng(0).integers(0, topics, model.N))
        model.start_parameters(rng)
        sampler, refresh = PartiallyCollapsed(model, rng), Refresh(model, rng)
        sampler.threads = threads
        for _ in range(12):
            sampler.step()
            refresh.step()
            z = model.labels
            assert (np.bincount(z) == model.sizes).all()
            table = np.zeros((500, model.n_clusters), dtype=int)
            np.add.at(table, (words, z), 1)
            assert (model.word_topics().toarray() == table).all()
        ends.append((z.tolist(), model.log_joint(), rng.state, sampler.counts()))
    assert ends[0] == ends[1] == ends[2]
    before = model.log_joint()
    weights = model.parameters
    model.set_labels(z)
    model.set_parameters(weights)
    assert model.log_joint() == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize(
    ("topics", "tries", "alpha0", "few"),
    [
        (5, 3000, 2.0, 20),
        # the weights of topics count for more than the tokens of the first document, which are of some topics alone
        (5, 2000, 60.0, 3),
        (70, 800, 2.0, 20),
        pytest.param(140, 6000, 2.0, 20, marks=pytest.mark.slow),
    ],
)
def test_token_by_definition(topics, tries, alpha0, few):
    """Topics of one token over many steps from one state, against their expected probabilities over draws of phi.

    Given phi the weights are (alpha0 beta_k + n_jk) phi_kw where the token is the first of its document, so n_jk is
    that of the state; founders are left out.
    """
    generator, V = np.random.default_rng(0), 12
    words, starts = generator.integers(V, size=3000), np.array([0, few, 21, 700, 3000])
    labels = generator.integers(topics, size=3000)
    model = HDP(words, starts, V, gamma=0.7, alpha0=alpha0, eta=0.3)
    rng = Rng(1)
    sampler = PartiallyCollapsed(model, rng, share=0.0)
    model.set_labels(labels)
    model.start_parameters(rng)
    held = model.parameters
    beta = np.exp(held[:topics, 0])
    tokens = [0, few, 21, 700]
    counts = np.zeros((len(tokens), topics))
    for _ in range(tries):
        model.set_labels(labels)
        model.set_parameters(held)
        sampler.step()
        counts[np.arange(len(tokens)), model.labels[tokens]] += 1
    n_kw = np.array([np.bincount(words[labels == k], minlength=V) for k in range(topics)])
    phi = np.array([generator.dirichlet(0.3 + row, tries) for row in n_kw])
    for row, i in enumerate(tokens):
        j = np.searchsorted(starts, i, side="right") - 1
        n_jk = np.bincount(labels[starts[j] : starts[j + 1]], minlength=topics) - (np.arange(topics) == labels[i])
        w = (alpha0 * beta + n_jk)[:, None] * phi[:, :, words[i]]
        # a founder stays, and a few topics are denied: with 3,000 tokens once in some 3,000 / topics steps
        wanted = (w / w.sum(axis=0)).mean(axis=1)
        error = np.sqrt(2 * wanted * (1 - wanted) / tries) + 1 / tries
        slack = 3 * topics / 3000
        assert (np.abs(counts[row] / tries - wanted) < 4.5 * error + slack).all()


def test_tokens_of_one_word_choose_by_weight_among_founded_topics():
    """One token a document, one word: each takes a topic by its weight, among those founded before it. Draws made once
    more, since its own topic weighed too much or the topic is not founded yet, are independent."""
    labels, tries = np.array([0, 1, 0, 2]), 20_000
    model = HDP(np.zeros(4, dtype=int), [0, 1, 2, 3, 4], 1, alpha0=0.9)
    rng = Rng(2)
    sampler = PartiallyCollapsed(model, rng, share=0.0)
    model.set_labels(labels)
    held = model.parameters
    held[:4, 0] = np.log([0.3, 0.25, 0.35, 0.1])
    beta, counts = np.exp(held[:3, 0]), np.zeros((4, 3))
    for _ in range(tries):
        model.set_labels(labels)
        model.set_parameters(held)
        sampler.step()
        counts[np.arange(4), model.labels] += 1
    wanted = np.zeros((4, 3))
    for r in range(4):
        founded = []
        for i in (r, (r + 1) % 4, (r + 2) % 4, (r + 3) % 4):
            if labels[i] in founded:
                wanted[i, founded] += beta[founded] / beta[founded].sum() / 4
            else:
                wanted[i, labels[i]] += 1 / 4
                founded.append(labels[i])
    assert (np.abs(counts / tries - wanted) <= 4.5 * np.sqrt(wanted * (1 - wanted) / tries)).all()


def test_what_it_does_not_support():
    with pytest.raises(ValueError, match="distributions over words"):
        PartiallyCollapsed(Bernoulli(np.eye(3, dtype=np.uint8)), Rng(0))
    model = HDP([0, 1, 1], [0, 3], 2)
    with pytest.raises(ValueError, match="share"):
        PartiallyCollapsed(model, Rng(0), share=1.5)
    couples, reason = PartiallyCollapsed(model, Rng(0)).couples()
    assert not couples and "weights of all clusters" in reason


def test_tokens_of_the_share_are_counted():
    """As many tokens as the share says, from a uniform place on, beyond the last the first."""
    words, starts = corpus(400, 30, 8, 4)
    model, rng = HDP(words, starts, 30), Rng(2)
    model.set_labels(np.arange(400) % 7)
    model.start_parameters(rng)
    for share, n in ((1.0, 400), (0.1, 40), (0.001, 1), (0.0, 0)):
        sampler = PartiallyCollapsed(model, rng, share=share)
        for _ in range(5):
            sampler.step()
        assert [row["proposed"] for row in sampler.counts()] == [2000, 5 * n]


def test_the_share_goes_on_with_the_first_tokens():
    """Tokens that are alone join others when they are updated; after all were, from whatever place on, 5 topics of 6
    are hardly ever left. Were the first ones left out, it would be so once in 6 steps."""
    model, rng = HDP(np.zeros(6, dtype=int), [0, 6], 1, alpha0=1e-6), Rng(3)
    sampler, many = PartiallyCollapsed(model, rng, share=1.0), 0
    for _ in range(600):
        model.set_labels(np.arange(6))
        model.start_parameters(rng)
        sampler.step()
        many += model.K >= 5
    assert many < 30


def test_the_share_opens_and_closes_topics():
    """From one topic others are opened, and of many that hold nothing in common most are closed."""
    words, starts = corpus(3000, 60, 30, 5)
    ends = []
    for topics in (1, 60):
        model, rng = HDP(words, starts, 60, gamma=1.0, alpha0=1.0), Rng(2)
        model.set_labels(np.arange(3000) % topics)
        model.start_parameters(rng)
        chain = [PartiallyCollapsed(model, rng), Refresh(model, rng)]
        for _ in range(200):
            for sampler in chain:
                sampler.step()
        ends.append(model.n_clusters)
    assert min(ends) >= 3 and max(ends) <= 15


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.7, 1.0, 2.5])
def test_words_drawn_are_gammas(eta):
    """Shape eta of topics that do not hold the word, eta + n of those that do."""
    words = np.repeat([0, 1, 0, 0], [50, 50, 1, 3])
    model, rng = HDP(words, [0, 104], 3, eta=eta), Rng(5)
    labels = np.concatenate([np.arange(50) % 20, np.arange(50), [50, 51, 51, 51]])
    model.set_labels(labels)
    drawn = np.array([[pieces.draw_word(model, rng, w) for w in range(3)] for _ in range(3000)])
    for w in range(3):
        n = np.bincount(labels[words == w], minlength=52)
        for count in np.unique(n):
            x = drawn[:, w, n == count].ravel()

            u = gamma(eta + count).cdf(x)
            assert kstest(u, "uniform").pvalue > 1e-5
            assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * len(u))
            assert abs((u < 0.1).mean() - 0.1) < 5 * np.sqrt(0.09 / len(u))
            assert abs((u > 0.99).mean() - 0.01) < 5 * np.sqrt(0.0099 / len(u))


# ---- `drawn_topics` against a step in plain Python


def step_in_python(generator, words, document, V, labels, weights, gamma, alpha0, eta):
    """Labels by first appearance and log of the weight that no topic has, after one step; `weights`: of the topics and
    of what no topic has."""
    z, beta, unseen = list(labels), dict(enumerate(weights[:-1])), weights[-1]
    phi = {k: generator.dirichlet(eta + np.bincount(words[np.array(z) == k], minlength=V)) for k in beta}
    for i, w in enumerate(words):
        old, z[i] = z[i], None
        others = [z[t] for t in range(len(z)) if t != i and document[t] == document[i]]
        new = max(beta) + 1
        fresh, b = generator.dirichlet(np.full(V, eta)), generator.beta(1.0, gamma)
        if old not in z:
            # alone: its words are those on offer, and it divides the weight as before where it stays
            b = beta[old] / (beta[old] + unseen)
            unseen, fresh = unseen + beta.pop(old), phi.pop(old)
        names = list(beta)
        p = np.array([(alpha0 * beta[k] + others.count(k)) * phi[k][w] for k in names] + [alpha0 * unseen * fresh[w]])
        chosen = generator.choice(len(p), p=p / p.sum())
        if chosen < len(names):
            z[i] = names[chosen]
            continue
        z[i], phi[new], beta[new], unseen = new, fresh, b * unseen, (1 - b) * unseen
    return tuple(by_appearance(np.array(z), len(z)).tolist()), round(np.log(unseen), 9)


@pytest.mark.parametrize("labels", [[0, 1, 2, 2, 1, 0, 2], [0, 0, 0, 0, 0, 0, 0], [0, 1, 2, 3, 3, 3, 2]])
def test_steps_with_drawn_topics_are_those_of_plain_python(labels):
    words, document, V = np.array([0, 1, 1, 2, 0, 2, 2]), np.array([0, 0, 0, 0, 1, 1, 1]), 3
    fixed, steps = {"gamma": 1.4, "alpha0": 2.5, "eta": 0.3}, 6_000
    generator, rng, K = np.random.default_rng(5), Rng(3), max(labels) + 1
    weights = np.arange(1, K + 2) / np.arange(1, K + 2).sum()
    model = HDP(words, [0, 4, 7], V, **fixed)
    sampler, found = DrawnTopics(model, rng), []
    for _ in range(steps):
        model.set_labels(np.array(labels))
        model.set_parameters(np.array([*np.log(weights), fixed["gamma"], fixed["alpha0"]]))
        sampler.step()
        found.append((tuple(by_appearance(model.labels, 7).tolist()), round(model.log_weights[-1], 9)))
    expected = [step_in_python(generator, words, document, V, labels, weights, **fixed) for _ in range(steps)]
    counts = [Counter(state for state, _ in each) for each in (found, expected)]
    both = np.array([[count[state] for count in counts] for state in set(counts[0]) | set(counts[1])])
    rare = both.sum(axis=1) < 20
    both = np.vstack([both[~rare], both[rare].sum(axis=0)])
    assert chi2_contingency(both[both.sum(axis=1) > 0]).pvalue > 1e-4
    assert ks_2samp(*[[unseen for _, unseen in each] for each in (found, expected)]).pvalue > 1e-4


def test_a_drawn_topic_of_few_words_keeps_what_is_left():
    """Where eta is small, a new topic's weights of other words are beyond a double, and so is the rest of beta_u where
    gamma is: the token of the other word joins the new topic as often as its share of that word says."""
    eta, tries, found = 1e-3, 20_000, 0
    model, rng = HDP([0, 0, 1], [0, 1, 2, 3], 2, gamma=1e-3, alpha0=1e6, eta=eta), Rng(9)
    sampler = DrawnTopics(model, rng)
    for _ in range(tries):
        model.set_labels(np.array([0, 0, 1]))
        model.set_parameters([*np.log([1e-6, 1e-6, 1 - 2e-6]), 1e-3, 1e6])
        sampler.step()
        assert np.isfinite(model.log_weights).all()
        found += model.labels[0] == model.labels[2]
    logit = np.linspace(-30, 30, 6001)
    share, rest = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(logit))
    # Beta(eta, eta) on the line; the topic is opened against a weight of 1, and joined against one of 2, since the
    # first topic is closed by then
    density = (share * rest) ** eta * np.exp(2 * gammaln(eta + 1) - gammaln(2 * eta + 1)) ** -1 * eta / 2
    expected = (density * share / (share + 1e-6) * rest / (rest + 2e-6)).sum() * (logit[1] - logit[0])
    assert abs(found / tries - expected) < 4.5 * np.sqrt(expected / tries)
