"""Ordinal columns: every way in which an item is scored, against the marginal likelihood; that likelihood by an
independent sum (`mixed_log_weight`); what the order is worth. Every sampler alone: the transition matrices of the cases
with ``levels=ordinal``."""

import numpy as np
import pytest
import scores
from compiled import pieces
from small_cases import check_walk_weights

from splitmerge_cli.core import chain, simulation
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.samplers.subcluster import Subcluster
from splitmerge_cli.verify.continuous import mixed_log_weight

TYPES = ("ordinal", "real", "ordinal", "binary", "categorical")
LEVELS = (5, 0, 3, 2, 4)
OPTIONS = {"alpha": 0.7, "beta1": 0.4, "beta0": 0.6, "kappa0": 0.3, "a0": 1.5, "m0": 0.2, "b0": 0.5}
COLUMNS = [ColumnType(kind, tuple("abcde")[:n]) for kind, n in zip(TYPES, LEVELS, strict=True)]


def answers(N=40, missing=0.15):
    rng = np.random.default_rng(3)
    half = np.arange(N) % 2
    made = [
        np.clip(np.rint(rng.normal(1 + 2 * half, 1.0)), 0, 4),
        rng.normal(half),
        (rng.integers(3, size=N) + half) % 3,
    ]
    x = np.column_stack([*made, rng.integers(2, size=N), rng.integers(4, size=N)]).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return x


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("options", [{}, {"power": 0.4}, {"covariance": "full"}])
def test_items_are_scored_as_the_likelihood_says(missing, options):
    x = answers(missing=missing)
    model = Mixed(x, COLUMNS, **OPTIONS, **options)
    model.set_labels(np.arange(40) % 3)
    for i in range(0, 40, 3):
        scores.check_scan(model, i)
        scores.check_odds(model, i)
    both = pieces.log_union(model, 0, 2)
    model.set_labels(np.arange(40) % 3 % 2)
    assert pieces.log_lik(model, 0) == pytest.approx(both, abs=1e-9)
    check_walk_weights(model)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_likelihood_is_the_sum_over_points_of_mean_and_deviation(power):
    x = answers(12)
    model = Mixed(x, COLUMNS, power=power, concentration=1.0, **OPTIONS)
    fixed = OPTIONS | {"shape": 1.0, "rate": 1.0, "power": power}
    log_weight = mixed_log_weight(x, TYPES, LEVELS, 1.0, prior="uniform", **fixed)
    for labels in ([0] * 12, list(np.arange(12) % 3)):
        model.set_labels(labels)
        assert model.log_lik_total() == pytest.approx(log_weight((tuple(map(int, labels)), max(labels) + 1)), abs=1e-9)


def test_the_whole_column_as_one_cluster_has_the_shares_of_its_levels():
    """Mean 0 and deviation 1 are a point: no other point explains many answers better."""
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [900, 50, 10, 1040])[:, None]
    model = Mixed(x, [ColumnType("ordinal", tuple("abcd"))])
    model.set_labels([0] * 2000)
    shares = np.array([900, 50, 10, 1040]) / 2000
    found = np.exp([pieces.log_pred(model, i, 0) for i in (0, 900, 950, 960)])
    np.testing.assert_allclose(found, shares, rtol=0.05)


def test_classes_that_lie_around_a_level_are_likelier_with_their_order():
    """Sixty people of two classes, whose answers lie around two levels."""
    rng = np.random.default_rng(5)
    half = np.arange(60) % 2
    x = np.clip(np.rint(rng.normal(2 + 2 * half[:, None], 1.2, (60, 8))), 0, 6)
    log_lik = {}
    for kind in ("ordinal", "categorical"):
        model = Mixed(x, [ColumnType(kind, tuple("abcdefg"))] * 8)
        model.set_labels(half)
        log_lik[kind] = model.log_lik_total()
    assert log_lik["ordinal"] > log_lik["categorical"] + 40


def test_drawn_probabilities_have_the_predictive_as_their_mean():
    x = answers(missing=0.0)[:, [0, 2]]
    model = Mixed(x, [COLUMNS[0], COLUMNS[2]])
    model.set_labels([2, *(np.arange(39) % 2)])
    rng, item = Rng(2), np.zeros(1, dtype=np.int32)
    drawn = [np.exp([pieces.draw_scores(model, rng, item, k)[0] for _ in range(4000)]).mean() for k in (0, 1)]
    expected = [np.exp(pieces.log_pred(model, 0, k)) for k in (0, 1)]
    np.testing.assert_allclose(drawn, expected, rtol=0.05)


def test_subcluster_recovers_two_classes():
    rng = np.random.default_rng(6)
    half = np.arange(200) % 2
    x = np.clip(np.rint(rng.normal(1 + 3 * half[:, None], 0.8, (200, 6))), 0, 5)
    model = Mixed(x, [ColumnType("ordinal", tuple("abcdef"))] * 6)
    rng = Rng(1)
    chain.Chain(model, rng, [Subcluster(model, rng)], partitions=1).advance(200)
    labels = np.asarray(model.labels)
    assert model.K == 2
    assert len(np.unique(labels * 2 + half)) == 2


@pytest.mark.parametrize(("cuts", "problem"), [([0.0, 0.0], "ascend"), ([1.0], "expected a number, or one for each")])
def test_cuts_out_of_order_are_refused(cuts, problem):
    with pytest.raises(ValueError, match=f"model.cuts: .*{problem}"):
        Mixed(np.array([[0.0], [1.0], [2.0]]), [ColumnType("ordinal", tuple("abc"))], cuts=cuts)


def test_simulated_answers_have_the_predictive_as_their_shares():
    """Two clusters have known answers; other types stand before and behind the ordinal columns."""
    x = answers(missing=0.1)
    data = Dataset("answers", "mixed", x, types=tuple(COLUMNS))
    labels = np.arange(40) % 2
    given = simulation.Given(data, labels, Mixed.with_defaults_of(data, **OPTIONS, resolution="none"))
    rng = np.random.default_rng(0)
    made = np.stack([Mixed.simulate(rng, given) for _ in range(400)])
    for column, levels in ((0, 5), (2, 3)):
        shares = [np.mean(made[:, labels == 0, column] == level) for level in range(levels)]
        asked = Mixed(np.vstack([x, _answer_alone(column, levels)]), COLUMNS, **OPTIONS, cuts=given.options["cuts"])
        asked.set_labels([*labels, *([2] * levels)])
        expected = [np.exp(pieces.log_pred(asked, 40 + level, 0)) for level in range(levels)]
        np.testing.assert_allclose(shares, expected, atol=0.02)


def _answer_alone(column, levels):
    """A row for each level of a column, all other cells missing."""
    rows = np.full((levels, 5), np.nan)
    rows[:, column] = np.arange(levels)
    return rows
