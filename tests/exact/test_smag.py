"""Samplers of topics, compiled, against the enumerated posterior of tiny corpora.

Weights are drawn from a continuum, so the choices of a move cannot be listed: chains are compared with p(z), summed
over tables; a move alone, which keeps beta_u, with p(z given beta_u). Every ratio is compared with a plain double that
is proved entry by entry (tests/replay). What a missing term does is seen here.
"""

import numpy as np
import pytest
from compiled import pieces

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.samplers.dyadic import Dyadic
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.rgsm import RGSM
from splitmerge_cli.samplers.rm import RM
from splitmerge_cli.samplers.sdds import SDDS
from splitmerge_cli.samplers.smag import SMAG
from splitmerge_cli.samplers.ss import SS
from splitmerge_cli.verify.cases import small_case
from splitmerge_cli.verify.frequencies import sampled_frequencies
from splitmerge_cli.verify.transitions import total_variation

FIXED = {"gamma": 1.6, "alpha0": 0.9}
UNEVEN = {"gamma": 0.3, "alpha0": 6.0}
RANDOM = {"gamma": "gamma(2,1)", "alpha0": "gamma(2,1)"}

MOVES = {
    "pair": (SMAG, {"choice": "pair"}),
    "coin": (SMAG, {"choice": "coin"}),
    "pair, after": (SMAG, {"choice": "pair", "weights": "after"}),
    "coin, after": (SMAG, {"choice": "coin", "weights": "after"}),
    "coin, p = 5": (SMAG, {"choice": "coin", "p": 5.0}),
    "sams": (Dyadic, {}),
    "rgsm": (RGSM, {"t": 1}),
    "sdds": (SDDS, {}),
    "ss": (SS, {}),
}


def posterior_distance(params, build, company=("refresh",), size=5, iterations=40_000, seed=0, omit=()):
    """Total variation between a chain's frequencies and the posterior, and what chance would make of it."""
    case = small_case(HDP, size, seed, params)
    rng = Rng(seed)
    move = build(case.model, rng)
    move.omit(*omit)
    others = {"refresh": Refresh, "gibbs": Gibbs}
    samplers = [move, *(others[name](case.model, rng) for name in company)]
    found, noise = sampled_frequencies(case, samplers, rng, iterations)
    pi = case.pi if company else case.held(case.model.log_weights[-1])
    return total_variation(found, pi), noise


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
    case = small_case(HDP, 4)
    with pytest.raises(ValueError, match="no density of the weights"):
        RM(case.model, Rng(0))
