"""Records: likelihoods against every true value, shares of distorted cells and joint chains against quadrature."""

from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from splitmerge_cli.core.hyperpriors import Beta
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType
from splitmerge_cli.kinds.records import entities, generated, keep_levels
from splitmerge_cli.kinds.records.model import Records
from splitmerge_cli.samplers.chaperones import Chaperones
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM
from splitmerge_cli.verify import cases, kernel, transitions

NAMES = ("ann", "anna", "anne", "annie", "bo", "anna", "bobby", "carl", "carla", "karl", "karla", "zoe")
DATES = ("1961-02-03", "1961-03-02", "1962-02-03", "1999-12-31")
FIELDS = (
    ColumnType("string", NAMES),
    ColumnType("categorical", ("f", "m")),
    ColumnType("date", DATES),
    ColumnType("number", ("1", "2", "12", "1200")),
)


def some_records(N, seed=1):
    """Records whose cells are any value, every value at least once, a sixth of the cells missing."""
    rng = np.random.default_rng(seed)
    values = np.column_stack([np.arange(N) % len(field.levels) for field in FIELDS]).astype(np.int32)
    for f in range(len(FIELDS)):
        rng.shuffle(values[:, f])
        extra = values[:, f].copy()
        for code in range(len(FIELDS[f].levels)):
            extra[np.flatnonzero(values[:, f] == code)[0]] = -1
        values[(extra >= 0) & (rng.random(N) < 1 / 6), f] = -1
    return values


def brute_log_lik(values, labels, distortion, similar):
    weigh = generated.records_log_weight(
        values, FIELDS, None, 1.0, prior="uniform", distortion=distortion, similar=similar
    )
    return weigh((tuple(labels), max(labels) + 1))


@pytest.mark.parametrize("distortion, similar", [(0.1, 0.5), (0.9, 0.999), (1e-7, 1e-6)])
@pytest.mark.parametrize("K", [1, 3, 15, 40])
def test_likelihood_sums_over_every_true_value(distortion, similar, K):
    """Few values and many, products and sums of logarithms: the second where 40 records are one entity. Clusters of a
    few records leave out values."""
    values = some_records(40)
    labels = np.random.default_rng(2).integers(K, size=40) if K < 40 else np.arange(40)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    model = Records(values, FIELDS, distortion=distortion, similar=similar, original=0, prior="uniform")
    model.set_labels(labels)
    assert model.log_lik_total() == pytest.approx(brute_log_lik(values, labels, distortion, similar), abs=1e-8)


@pytest.mark.parametrize("original, distortion", [(0.7, 0.3), (0.999, 0.01), (1e-6, 0.8)])
def test_likelihood_sums_over_originals_and_errors_of_copies(original, distortion):
    """Records of 2 to 4, two of which lack cells, and one that says the same as another but for a cell that it lacks;
    and an entity of one record has no original."""
    kept = keep_levels(some_records(40)[:7], FIELDS)
    values, fields = kept["values"], kept["types"]
    values[1] = [values[0, 0], -1, *values[0, 2:]]
    model = Records(values, fields, distortion=distortion, similar=0.6, original=original, prior="uniform")
    weigh = generated.records_log_weight(
        *(values, fields, None, 1.0),
        prior="uniform",
        distortion=distortion,
        similar=0.6,
        original=original,
        copies=np.inf,
    )
    for labels in ([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 0, 1, 2], [0, 0, 0, 0, 1, 2, 3], list(range(7))):
        model.set_labels(np.array(labels, dtype=np.int32))
        assert model.log_lik_total() == pytest.approx(weigh((tuple(labels), max(labels) + 1)), abs=1e-9)


@pytest.mark.parametrize("n", [16, 17])
def test_large_entities_have_no_original(n):
    """Up to 16 records may be copies of one."""
    values = np.concatenate([some_records(24), np.tile([0, 0, 0, 0], (n, 1))]).astype(np.int32)
    labels = np.concatenate([np.arange(24), np.full(n, 24)]).astype(np.int32)
    with_one, without = (
        Records(values, FIELDS, distortion=0.3, original=share, prior="uniform") for share in (0.9, 0.0)
    )
    for model in (with_one, without):
        model.set_labels(labels)
    assert (with_one.log_lik_total() == without.log_lik_total()) == (n == 17)


@pytest.mark.parametrize("original", [0.0, 0.7])
def test_match_weights_are_the_terms_of_the_model(original):
    """Fields against every true value; all terms together against two states of the model, which lacks cells."""
    values = some_records(30, 3)
    model = Records(values, FIELDS, distortion=0.2, similar=0.6, frequencies=0, original=original)
    model.set_prior_values({"size_1": 0.6, "size_2": 0.8})
    apart = np.arange(30, dtype=np.int32)
    pairs = np.array(list(combinations(range(30), 2)))
    terms = model.match_weights(pairs)
    held = [generated.slips_of(field) for field in FIELDS]
    for (i, j), found in zip(pairs, terms, strict=True):
        for f, slips in enumerate(held):
            known = values[values[:, f] >= 0, f]
            shares = np.bincount(known) / len(known)
            P, cells = generated.probabilities(shares, slips, 0.2, 0.6), values[[i, j], f]
            ratio = 1.0 if (cells < 0).any() else shares @ P[:, cells].prod(axis=1) / (shares @ P[:, cells]).prod()
            assert found[f] == pytest.approx(np.log(ratio), abs=1e-10)
        assert (found[-2] != 0.0) == (original > 0.0)
    for i, j in pairs[::29]:
        joined = apart.copy()
        joined[j] = i
        totals = []
        for labels in (apart, np.unique(joined, return_inverse=True)[1].astype(np.int32)):
            model.set_labels(labels)
            totals.append((model.log_lik_total(), model.log_prior_total()))
        model.set_labels(apart)
        found = model.match_weights([[i, j]])[0]
        lik, prior = np.subtract(*totals[::-1])
        assert found[:-1].sum() == pytest.approx(lik, abs=1e-9) and found[-1] == pytest.approx(prior, abs=1e-9)


def test_records_of_many_fields_that_all_differ_have_a_finite_likelihood():
    F = 60
    fields = (ColumnType("categorical", ("a", "b")),) * F
    values = np.repeat([[0], [1]], F, axis=1).astype(np.int32)
    model = Records(values, fields, distortion=1e-6, similar=0.5, original=0.9, prior="uniform")
    model.set_labels(np.zeros(2, dtype=np.int32))
    assert np.isfinite(model.log_lik_total())


def test_likelihood_of_many_equal_records():
    """The logarithm of what other true values give."""
    values = some_records(40)
    values = np.concatenate([values, np.tile([NAMES.index("anna"), 0, 0, 0], (100, 1))]).astype(np.int32)
    labels = np.concatenate([np.arange(1, 41), np.zeros(100)]).astype(np.int32)
    model = Records(values, FIELDS, distortion=0.9, similar=0.999, original=0, prior="uniform")
    model.set_labels(labels)
    assert model.log_lik_total() == pytest.approx(brute_log_lik(values, labels, 0.9, 0.999), abs=1e-8)


def test_what_is_kept_of_clusters_follows_the_shares():
    """After a refresh the likelihood is that of a model with the new shares, and the log joint has their priors."""
    values, prior = (
        some_records(40),
        {"distortion": "beta(2,5)", "similar": "beta(3,4)", "original": "beta(2,3)", "prior": "uniform"},
    )
    labels = np.sort(np.random.default_rng(7).integers(12, size=40)).astype(np.int32)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    model, anew = Records(values, FIELDS, **prior), Records(values, FIELDS, **prior)
    model.set_labels(labels)
    before = model.log_lik_total()
    Refresh(model, Rng(3)).step()
    anew.set_parameters(model.parameters)
    anew.set_labels(labels)
    assert model.log_lik_total() == pytest.approx(anew.log_lik_total(), abs=1e-10) != before
    F, shares = len(FIELDS), model.recorded_parameters[:, 0]
    of_shares = stats.beta(2, 5).logpdf(shares[:F]).sum() + stats.beta(3, 4).logpdf(shares[F : 2 * F]).sum()
    # of originals, and of fields with the one error
    of_shares += stats.beta(2, 3).logpdf(shares[-1]) + np.log(6.0)
    assert model.log_joint() - model.log_lik_total() == pytest.approx(of_shares, abs=1e-10)


def test_rows_of_probabilities_sum_to_one_with_unseen_slips():
    for field in FIELDS:
        shares = np.random.default_rng(3).dirichlet(np.ones(len(field.levels)))
        slips = generated.slips_of(field)
        unseen = 0.3 * 0.4 * (1.0 - slips.sum(axis=1)) if slips.any() else 0.0
        assert np.all(np.array(unseen) >= 0.0)
        np.testing.assert_allclose(generated.probabilities(shares, slips, 0.3, 0.4).sum(axis=1) + unseen, 1.0)


RESAMPLED = {"distortion": "beta(0.4,0.8)", "similar": "beta(0.5,0.5)", "original": 0}
COPIED = RESAMPLED | {"original": "beta(0.8,0.5)", "frequencies": 0}


@pytest.mark.parametrize(
    "options, samplers",
    [
        (RESAMPLED | {"frequencies": 0}, ()),
        (RESAMPLED | {"frequencies": 0}, (Gibbs,)),
        (RESAMPLED | {"frequencies": 0}, (Chaperones, RGSM)),
        (RESAMPLED | {"frequencies": 0.3}, (Gibbs,)),
        ({"distortion": 0.4, "similar": 0.6, "frequencies": 0.2, "original": 0}, (Gibbs,)),
        ({"distortion": 0.4, "similar": 0.6, "frequencies": 0.2, "original": 0, "sources": True}, (Chaperones, RGSM)),
        (COPIED, (Gibbs,)),
        (COPIED, (Chaperones, RGSM)),
        (COPIED | {"frequencies": 0.3}, (Gibbs,)),
        (COPIED | {"original": 0.7, "sources": True}, (Chaperones, RGSM)),
    ],
    ids=[
        *("refresh", "gibbs", "pairs", "frequencies", "frequencies_alone", "frequencies_sources"),
        *("copies", "copies_pairs", "copies_frequencies", "copies_sources"),
    ],
)
def test_joint_chain_has_the_posterior_by_quadrature(options, samplers):
    case = cases.small_case(Records, 4, 3, options)
    rng = Rng(5)
    moves = [*(make(case.model, rng) for make in samplers or (Gibbs,)), Refresh(case.model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, moves, rng, 40_000)
    assert transitions.total_variation(frequencies, case.partitions[1]) < 3.0 * noise
    # with shares held at their means it is another one
    assert transitions.total_variation(frequencies, case.pi) > 5.0 * noise


def test_shares_given_the_partition():
    """Mean and variance of theta and lambda of each field, by ``refresh`` alone, and by integrals on a grid."""
    values, priors = (
        some_records(14, 4),
        {"distortion": Beta(2, 5), "similar": Beta(1.5, 2), "frequencies": 0, "original": 0},
    )
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 5, 5, 5], dtype=np.int32)
    model = Records(values, FIELDS, prior="uniform", **priors)
    model.set_labels(labels)
    refresh, draws = Refresh(model, Rng(6)), []
    for _ in range(6000):
        refresh.step()
        draws.append(model.parameters[:, 0])
    for f, field in enumerate(FIELDS):
        shares = np.bincount(values[values[:, f] >= 0, f]) / (values[:, f] >= 0).sum()
        slips, nodes = generated.slips_of(field), []
        for (theta, a), (similar, b) in product(
            generated.share_nodes(priors["distortion"]), generated.share_nodes(priors["similar"])
        ):
            P, weight = generated.probabilities(shares, slips, theta, similar), a * b
            for k in range(6):
                own = values[labels == k, f]
                weight *= shares @ P[:, own[own >= 0]].prod(axis=1)
            nodes.append((theta, similar, weight))
        *by_share, weight = np.array(nodes).T
        for t, share in enumerate(by_share):
            mean = share @ weight / weight.sum()
            own = np.array(draws)[:, t * len(FIELDS) + f]
            # some 10 of the 6,000 draws count as one
            assert own.mean() == pytest.approx(mean, abs=5 * own.std() / np.sqrt(600)), (f, t)
            assert own.std() == pytest.approx(np.sqrt((share - mean) ** 2 @ weight / weight.sum()), rel=0.15)


@pytest.mark.parametrize("frequencies, distortion", [(0.1, 0.3), (2.0, 0.3), (0.5, 0.95)])
def test_frequencies_given_the_partition(frequencies, distortion):
    """Mean and variance of how often each value is true, by ``refresh`` alone and by quadrature: names near each other,
    and a word whose values no other is near; every cluster leaves values out, which are true where most cells are
    distorted."""
    fields = (ColumnType("string", ("anna", "anne", "zoe")), ColumnType("categorical", ("a", "b", "c", "d")))
    values = np.array([[0, 0], [1, 0], [1, 1], [2, -1], [0, 2], [1, 3], [1, 0]], dtype=np.int32)
    labels = np.array([0, 0, 0, 1, 1, 2, 3], dtype=np.int32)
    model = Records(
        values, fields, prior="uniform", distortion=distortion, similar=0.6, frequencies=frequencies, original=0
    )
    model.set_labels(labels)
    refresh, draws = Refresh(model, Rng(6)), []
    for _ in range(20_000):
        refresh.step()
        draws.append(model.parameters[4:, 0])
    first = 0
    for f, field in enumerate(fields):
        V, nodes = len(field.levels), []
        for phi, weight in generated.simplex_nodes(np.ones(V) / V, frequencies):
            P = generated.probabilities(phi, generated.slips_of(field), distortion, 0.6)
            for k in range(4):
                own = values[labels == k, f]
                weight *= phi @ P[:, own[own >= 0]].prod(axis=1)
            nodes.append((*phi, weight))
        *by_value, weight = np.array(nodes).T
        for v, phi in enumerate(by_value):
            mean, own = phi @ weight / weight.sum(), np.array(draws)[:, first + v]
            # some 5 of the 20,000 draws count as one
            assert own.mean() == pytest.approx(mean, abs=5 * own.std() / np.sqrt(4000)), (f, v)
            assert own.std() == pytest.approx(np.sqrt((phi - mean) ** 2 @ weight / weight.sum()), rel=0.05)
        first += V


def test_parameters_are_set_with_and_without_frequencies():
    model, other = (Records(some_records(24), FIELDS, prior="uniform") for _ in range(2))
    Refresh(model, Rng(2)).step()
    other.set_parameters(model.parameters)
    np.testing.assert_array_equal(other.parameters, model.parameters)
    assert other.log_lik_total() == pytest.approx(model.log_lik_total(), abs=1e-9)
    Refresh(other, Rng(3)).step()
    P = len(model.recorded_parameters)
    kept = other.parameters[P:]
    other.set_parameters(model.recorded_parameters)
    np.testing.assert_array_equal(other.parameters, np.concatenate([model.parameters[:P], kept]))
    for wrong in (np.full((7, 1), 0.5), np.concatenate([[[1.0]], model.parameters[1:]])):
        with pytest.raises(ValueError, match="parameters"):
            other.set_parameters(wrong)


def test_two_records_of_a_source_are_never_one_entity():
    values, sources = some_records(24), np.arange(24) % 3
    model = Records(values, FIELDS, sources)
    rng = Rng(1)
    moves = [Gibbs(model, rng), RGSM(model, rng), Chaperones(model, rng), Refresh(model, rng)]
    merged = 0
    for _ in range(200):
        for move in moves:
            move.step()
        pairs = set(zip(model.labels.tolist(), sources.tolist(), strict=True))
        assert len(pairs) == 24
        merged += model.K < 24
    assert merged > 20


@pytest.mark.parametrize(
    "change, message",
    [
        ({"values": np.zeros((3, 2), dtype=np.int32)}, "expected \\(N, F\\) with 4 fields"),
        ({"sources": [0, 1]}, "sources: expected 24 numbers from 0"),
        (
            {"sources": np.arange(24) % 3, "prior": "mfm(components=uniform(8))"},
            "model.prior=.*: at most 8 entities, but 8 records of one file are apart; expected a prior of 9 entities",
        ),
        ({"distortion": "beta(0,1)"}, "model.distortion"),
        ({"similar": 1.0}, "model.similar"),
        ({"frequencies": -0.1}, "model.frequencies"),
        ({"similarity": "sound"}, "model.similarity"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"values": some_records(24), "fields": FIELDS} | change
    with pytest.raises(ValueError, match=message):
        Records(given.pop("values"), given.pop("fields"), **given)


def test_copies_are_advised_where_more_pairs_differ_in_one_field_than_errors_make():
    one = {"quantity": entities.ONE, "observed": 0.93, "low": 0.3, "high": 0.5}
    advise = partial(entities.Entities.another_model, summary={}, data={}, named=())
    why, keys = advise([one], model={"original": 0.0})
    assert keys == {"model.original": "beta(1,1)"} and why.endswith("with one error or none:")
    assert Records.OPTIONS[4].name == "original" and Records.OPTIONS[4].convert(keys["model.original"]) == Beta(1, 1)
    # it is no remedy for fewer such pairs, nor where it was taken
    assert advise([one | {"observed": 0.1}], model={"original": 0.0}) is None
    assert advise([one], model={"original": "beta(1,1)"}) is None
    assert advise([one | {"quantity": entities.SEVERAL}], model={"original": 0.0}) is None
