"""Anchors and clusters that are drawn through near pairs: every sampler alone, each term, each mutant, coupled chains.

The near pairs are set on models of other data, so that the whole of a small posterior is known.
"""

from functools import cache

import numpy as np
import pytest
from enumerations import enumeration
from every_sampler import MODEL_CLASSES, SAMPLERS, check_terms, chooses
from joint_kernels import joint_kernel

from splitmerge_cli.core.bundles import Bundles
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.near_pairs import LIKELY, NearPairs, alias_table
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.bundles import Bundles as BundlesOfData
from splitmerge_cli.samplers.chaperones import Chaperones, Exchange
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import cases, transitions

PAIRS = [[0, 1], [3, 1], [2, 3]]
"""Item 4 of five has none."""
ODDS = [-4.0, 0.5, 7.0]
CASES = {
    "bernoulli": ("Bernoulli", 5, {"beta1": 0.1, "beta0": 0.2}, PAIRS, None),
    "bernoulli-none": ("Bernoulli", 4, {}, [], None),
    "bernoulli-odds": ("Bernoulli", 4, {}, PAIRS, ODDS),
    "gaussian": ("Gaussian", 4, {"covariance": "diag"}, PAIRS, ODDS),
    "irm": ("IRM", 4, {"beta1": 0.3}, PAIRS, None),
    "emm": ("EMM", 4, {}, PAIRS, ODDS),
}
"""The last, where empty clusters are kept, has near pairs but no clusters through them."""


def _with_pairs(model: Model, pairs: list[list[int]], odds: list[float] | None) -> Model:
    model.set_near_pairs(NearPairs(pairs, model.N, 0.7, odds))
    return model


@cache
def case_of(name: str) -> cases.Case:
    model, size, options, pairs, odds = CASES[name]
    case = cases.small_case(MODEL_CLASSES[model], size, 1, options)
    _with_pairs(case.model, pairs, odds)
    return cases.Case(case.model, lambda: _with_pairs(case.build(), pairs, odds), case.states, case.pi, name)


USERS = sorted(
    {s.split("-")[0] for s in SAMPLERS}
    & {"chaperones", "dyadic", "exchange", "rgsm", "independence", "pgsm", "sdds", "ss"}
)
KERNELS = [
    (c, s)
    for c in CASES
    for s, form in SAMPLERS.items()
    if s.split("-")[0] in USERS
    and form.sampler.supports(case_of(c).model)[0]
    and chooses(form, case_of(c).model)
    and not (CASES[c][1] > 4 and s.split("-")[0] in ("pgsm", "rgsm"))
]


@pytest.mark.parametrize(("case_name", "name"), KERNELS)
def test_exact(case_name, name):
    """Stationary, reversible; every term is needed."""
    case, form = case_of(case_name), SAMPLERS[name]
    found = enumeration(case, form.sampler, **form.options)
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1.0, rtol=1e-12)
    assert transitions.stationarity_defect(found.matrix, case.pi) < 1e-12
    if found.sampler.TERMS:
        assert transitions.balance_defect(found.matrix, case.pi) < 1e-12
        check_terms(found)


def test_every_user_is_found():
    assert {s.split("-")[0] for _, s in KERNELS} == set(USERS) and len(USERS) == 8


@pytest.mark.parametrize(
    ("sampler", "options"),
    [(Dyadic, {"allocation": "sams"}), (SDDS, {"kernel": "ssdm"}), (SDDS, {"kernel": "smds"}), (Chaperones, {})],
)
def test_near_pairs_count(sampler, options):
    """They change the kernel, and forbid nothing: it is irreducible, whichever pairs there are."""
    case = case_of("bernoulli")
    P = enumeration(case, sampler, **options).matrix
    assert transitions.is_irreducible(P)
    assert np.abs(P - enumeration(cases.small_case(*_args("bernoulli")), sampler, **options).matrix).max() > 1e-3


def _args(name):
    model, size, options, *_ = CASES[name]
    return MODEL_CLASSES[model], size, 1, options


@pytest.mark.parametrize("name", ["bernoulli", "irm"])
def test_items_that_are_alone_are_exchanged(name):
    """A pair and single items: the pair's partner changes places with any of these."""
    case = case_of(name)
    at = {labels: t for t, (labels, *_) in enumerate(case.states)}
    N = case.model.N
    before, after = at[0, 0, *range(1, N - 1)], at[0, 1, 0, *range(2, N - 1)]
    assert min(enumeration(case, Exchange).matrix[[before, after], [after, before]]) > 0.0


@pytest.mark.parametrize("name", ["dyadic-allocation=sams", "sdds", "ss", "chaperones"])
def test_coupled_chains_keep_both_margins(name):
    """The joint kernel of two chains has the matrix of one on either side, and equal chains stay equal."""
    case, form = case_of("gaussian"), SAMPLERS[name]
    kernel = joint_kernel(case.build, lambda model, rng: form.sampler(model, rng, **form.options), case.states)
    assert max(kernel.margin_defect, kernel.parting) < 1e-12
    # distinct chains meet
    assert kernel.meeting_distribution(np.full(15, 1 / 15), 1, 300).sum() > 0.99


def test_bundles_have_the_pairs_of_their_rows():
    rows = _with_pairs(
        cases.small_case(MODEL_CLASSES["Bernoulli"], 5, 1, {}).model, [[0, 1], [3, 1], [2, 3], [0, 3]], [1.0, *ODDS]
    )
    model = Bundles(rows, BundlesOfData(np.array([0, 0, 1, 2, 1], dtype=np.int32)))
    # rows 0 and 1 are one item: a pair of the same; rows 0 and 3, 1 and 3 are one pair
    assert model.near_pairs.pairs.tolist() == [[0, 2], [1, 2]]
    assert model.near_pairs.odds.tolist() == [7.0, 0.5]
    assert model.near_pairs.share == 0.7


def test_items_that_are_apart_begin_alone():
    """The next cluster would hold a stranger, and no near pair would part the two again."""
    labels = np.array([0, 0, 1, 2, 1], dtype=np.int32)
    bundles = BundlesOfData(np.arange(5, dtype=np.int32), apart=np.array([[0, 1]]))
    rows = cases.small_case(MODEL_CLASSES["Bernoulli"], 5, 1, {}).model
    assert Bundles(rows, bundles).keep_apart(labels).tolist() == [0, 1, 1, 2, 1]
    assert Bundles(_with_pairs(rows, [[0, 1], [2, 4]], [1.0, 2.0]), bundles).keep_apart(labels).tolist() == [
        0,
        3,
        1,
        2,
        1,
    ]


@pytest.mark.parametrize(
    ("sampler", "options", "message"),
    [
        (SDDS, {"clusters": "near"}, r"sampler\.clusters=near: expected a model with near pairs"),
        (Chaperones, {"pairs": "near"}, r"sampler\.pairs=near: expected a model with near pairs"),
    ],
)
def test_models_without_near_pairs_say_so(sampler, options, message):
    model = cases.small_case(MODEL_CLASSES["Bernoulli"], 4, 1, {}).model
    with pytest.raises(ValueError, match=message):
        sampler(model, Rng(0), **options)


def test_all_clusters_may_be_asked_for():
    """The smart moves of the paper, whatever near pairs there are."""
    without = enumeration(cases.small_case(*_args("bernoulli")), SDDS).matrix
    np.testing.assert_array_equal(enumeration(case_of("bernoulli"), SDDS, clusters="all").matrix, without)


def test_as_printed_chooses_among_all():
    """Printed ratios are of clusters chosen among all K."""
    model = case_of("bernoulli").model
    with pytest.raises(ValueError, match=r"sampler\.mode=exact"):
        SDDS(model, Rng(0), clusters="near", mode="as_printed")
    without = cases.small_case(*_args("bernoulli"))
    P = enumeration(case_of("bernoulli"), SDDS, mode="as_printed").matrix
    np.testing.assert_array_equal(P, enumeration(without, SDDS, mode="as_printed").matrix)


@pytest.mark.parametrize(
    ("pairs", "share", "odds", "message"),
    [
        ([[0, 4]], 0.5, None, "from 0 to 3"),
        ([[1, 1]], 0.5, None, "two different"),
        ([[0, 1]], 1.0, None, r"share=1\.0"),
        ([[0, 1]], 0.5, [1.0, 2.0], "expected 1 finite numbers"),
        ([[0, 1]], 0.5, [np.inf], "expected 1 finite numbers"),
    ],
)
def test_near_pairs_are_checked(pairs, share, odds, message):
    with pytest.raises(ValueError, match=message):
        NearPairs(pairs, 4, share, odds)


def test_uncertain_pairs_are_drawn_most_often():
    """By 1 / cosh(odds / 2), likely ones at least by `LIKELY`; of a pair that occurs twice the larger odds count."""
    near = NearPairs([[0, 1], [1, 0], [1, 2], [2, 3]], 4, odds=[-9.0, 0.0, -4.0, 30.0])
    assert near.pairs.tolist() == [[0, 1], [1, 2], [2, 3]] and near.odds.tolist() == [0.0, -4.0, 30.0]
    weights = np.array([1.0, 1.0 / np.cosh(2.0), LIKELY])
    np.testing.assert_allclose(near.chances, (weights / weights.sum())[[0, 0, 1, 1, 2, 2]], rtol=1e-14)
    assert near.moves == 2 and near.likely.tolist() == [[2, 3]]


@pytest.mark.parametrize("P", [0, 1, 2, 7, 1000])
def test_alias_table_has_the_probabilities(P):
    chance = np.random.default_rng(P).gamma(0.2, size=P) + 1e-12
    chance /= chance.sum() if P else 1.0
    keep, alias = alias_table(chance)
    found = keep.copy()
    np.add.at(found, alias, 1.0 - keep)
    np.testing.assert_allclose(found / max(P, 1), chance, atol=1e-15)
    assert ((keep >= 0.0) & (keep <= 1.0)).all()


def test_pairs_of_other_items_are_rejected():
    with pytest.raises(ValueError, match="pairs of 4 items, but the model has 5"):
        case_of("bernoulli").model.set_near_pairs(NearPairs([[0, 1]], 4))
