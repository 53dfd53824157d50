"""Items that are bundles of rows, and items that are apart: the posterior of all rows, restricted to partitions that
keep the rows of an item together; every sampler alone; priors that count rows, and items; hyper-parameters.
"""

from functools import cache

import numpy as np
import pytest
import scores
from every_sampler import MODEL_CLASSES, SAMPLERS, check_kernels, check_learners, chooses, is_adaptive
from small_cases import usual_chain

from splitmerge_cli.core.bundles import Bundles, build
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.bundles import Bundles as BundlesOfData
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.records.model import Records
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import cases, pieces
from splitmerge_cli.verify.enumerate import log_prior, mixture_states, normalise

ITEMS = np.array([0, 1, 0, 2, 3, 1], dtype=np.int32)
"""Items of six rows: two of two rows, two of one."""
APART = np.array([[0, 2], [1, 3]], dtype=np.int32)
CASES = {
    "gaussian-diag": ("Gaussian", {"covariance": "diag"}, "rows", False),
    "gaussian-full-apart": ("Gaussian", {"covariance": "full"}, "rows", True),
    "gaussian-scales": ("Gaussian", {"covariance": "diag", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"}, "rows", False),
    "bernoulli-mfm-apart": ("Bernoulli", {"prior": "mfm(components=uniform(3))"}, "rows", True),
    "bernoulli-items": ("Bernoulli", {"prior": "pitman_yor(discount=0.3)"}, "items", True),
    "mixed": ("Mixed", {}, "rows", False),
    "mixed-outcome": ("Mixed", {"outcome": 5, "effects": [4]}, "rows", False),
    "mixed-full-items": ("Mixed", {"covariance": "full", "complete": True}, "items", False),
    "mixed-ordinal-power": ("Mixed", {"levels": "ordinal", "power": 0.4}, "rows", False),
    "multinomial-apart": ("Multinomial", {"prior": "esc(r=1.5,p=0.4)"}, "rows", True),
    "gammapoisson": ("GammaPoisson", {"power": 0.4}, "rows", False),
    "lines": ("Lines", {"noise": "nig"}, "rows", True),
}


@cache
def case_of(name: str) -> cases.Case:
    """The posterior of all rows, restricted."""
    model, options, prior_counts, apart = CASES[name]
    whole = cases.small_case(MODEL_CLASSES[model], len(ITEMS), 1, options)
    bundles = BundlesOfData(ITEMS, prior_counts=prior_counts)
    if apart:
        bundles = BundlesOfData(ITEMS, prior_counts=prior_counts, apart=APART)
    first = bundles.first_rows

    def build() -> Bundles:
        rows = whole.build()
        prior = None
        if prior_counts == "items":
            prior = type(rows.prior)(bundles.n_items, **rows.prior.present)
        return Bundles(rows, bundles, prior)

    states, log_p = [], []
    for (labels, K), p in zip(whole.states, whole.pi, strict=True):
        z = np.array(labels)
        of_items = z[first]
        if (of_items[ITEMS] != z).any() or (apart and (of_items[APART[:, 0]] == of_items[APART[:, 1]]).any()):
            continue
        states.append((tuple(of_items.tolist()), K))
        log_p.append(np.log(p))
        if prior_counts == "items":
            prior = options.get("prior", "crp")
            log_p[-1] += log_prior(1.3, prior, of_items) - log_prior(1.3, prior, z)
    return cases.Case(build(), build, states, normalise(log_p), name)


def pairs(learning: bool = False) -> list[tuple[str, str]]:
    """Every case with every form of every sampler that has a matrix there."""
    return [
        (c, s)
        for c in CASES
        for s, form in SAMPLERS.items()
        if is_adaptive(s) == learning
        and form.sampler.supports(case_of(c).model)[0]
        and not form.sampler.DRAWS_FROM_CONTINUUM
        and s != "refresh"
        # relabellings multiply the paths, and have nothing to do with what an item is
        and not (form.options.get("relabel") and (learning or c != "bernoulli-mfm-apart"))
        and chooses(form, case_of(c).model)
    ]


def test_samplers():
    """Samplers that draw parameters of clusters do not take bundles, all others do; two are for topics and mentions."""
    without = {s.split("-")[0] for s in SAMPLERS} - {s.split("-")[0] for learning in (0, 1) for _, s in pairs(learning)}
    assert without == {"drawn_topics", "independence", "partially_collapsed", "refresh", "slice", "smag", "subcluster"}


@pytest.mark.parametrize("name", CASES)
def test_log_joint_is_the_restricted_posterior(name):
    case, log_joint = case_of(name), []
    for labels, _ in case.states:
        case.model.set_labels(np.array(labels))
        log_joint.append(case.model.log_joint())
    np.testing.assert_allclose(normalise(log_joint), case.pi, rtol=1e-11 if case.model.rows.kind != "points" else 1e-8)


@pytest.mark.parametrize("name", CASES)
def test_every_kernel_is_exact(name):
    check_kernels(case_of(name), [s for c, s in pairs() if c == name], not CASES[name][3])


@pytest.mark.parametrize("name", ["gaussian-diag", "bernoulli-items"])
def test_kernels_of_samplers_that_learn_are_exact(name):
    check_learners(case_of(name), [s for c, s in pairs(learning=True) if c == name])


WEIGHTS = np.array([3, 1, 2, 1, 4, 1])
POINTS = np.array([[0.1, 0.3], [2.5, 2.0], [-0.4, 0.2], [2.2, 1.7], [0.0, -1.0], [5.0, 5.5]])


def model_with_weights(cls, options, kind="points", values=POINTS, **fields):
    """A model of six rows with weights, and the model of the table in which each row is repeated."""
    data = Dataset("small", kind, values, bundles=BundlesOfData(ITEMS, WEIGHTS, **fields))
    return build(cls, data, options), cls.from_data(data.with_repeats, **options)


@pytest.mark.parametrize("prior", ["crp", "mfm", "uniform", "pitman_yor(discount=0.3)", "esc"])
@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_a_weight_is_a_repeated_row(covariance, prior):
    model, whole = model_with_weights(Gaussian, {"covariance": covariance, "prior": prior})
    for labels, _ in mixture_states(4):
        model.set_labels(np.array(labels))
        whole.set_labels(np.repeat(np.array(labels)[ITEMS], WEIGHTS))
        for total in ("log_lik_total", "log_prior_total", "log_joint"):
            assert getattr(model, total)() == pytest.approx(getattr(whole, total)(), abs=1e-12)


def test_what_is_resampled_is_as_with_repeated_rows():
    """Draw by draw, given the same random numbers: prior, scales, and the state that they are a part of."""
    options = {"prior": "dynamic_mfm", "concentration": "gamma(2,1)", "b0": "gamma(3,3)", "kappa0": "gamma(2,4)"}
    model, whole = model_with_weights(Gaussian, options)
    labels = np.array([0, 1, 0, 1])
    model.set_labels(labels)
    whole.set_labels(np.repeat(labels[ITEMS], WEIGHTS))
    steps = [Refresh(one, Rng(4)) for one in (model, whole)]
    assert model.hyperparameters == whole.hyperparameters
    for _ in range(5):
        for step in steps:
            step.step()
        assert model.hyperparameter_values == whole.hyperparameter_values
        assert model.log_joint() == pytest.approx(whole.log_joint(), abs=1e-10)


def test_a_left_out_item_is_all_its_rows():
    options = {"covariance": "diag", "m0": 0.0, "b0": 1.0}
    model, whole = model_with_weights(Gaussian, options)
    labels = np.array([0, 1, 0, 1])
    model.set_labels(labels)
    density, weight = model.left_out_predictive()
    for i in range(4):
        rows = np.repeat(POINTS, WEIGHTS * (i == ITEMS), axis=0)
        assert density[i, 2] == pytest.approx(Gaussian(rows, **options).log_lik_total(), abs=1e-9)
        for k, other in enumerate([*range(2), 9]):
            joint = []
            for moved in (9, other):
                z = labels.copy()
                z[i] = moved if (labels == labels[i]).sum() > 1 or moved != 9 else labels[i]
                whole.set_labels(np.repeat(np.unique(z, return_inverse=True)[1][ITEMS], WEIGHTS))
                joint.append((whole.log_lik_total(), whole.log_joint()))
            gain = np.subtract(joint[1], joint[0])
            assert density[i, k] - density[i, 2] == pytest.approx(gain[0], abs=1e-9)
            assert (density + weight)[i, k] - (density + weight)[i, 2] == pytest.approx(gain[1], abs=1e-9)


def test_fractions_are_a_power():
    """Half a count each: the rows once, with half the power."""
    model, _ = model_with_weights(Gaussian, {"covariance": "diag"}, unit=0.5, prior_counts="items")
    halves = Gaussian.from_data(
        Dataset("small", "points", np.repeat(POINTS, WEIGHTS, axis=0)), covariance="diag", power=0.5
    )
    labels = np.array([0, 1, 0, 2])
    model.set_labels(labels)
    halves.set_labels(np.repeat(labels[ITEMS], WEIGHTS))
    assert model.log_lik_total() == pytest.approx(halves.log_lik_total(), abs=1e-12)


def test_a_chain_records_rows_and_keeps_items_apart():
    model, _ = model_with_weights(Gaussian, {"covariance": "diag"}, apart=APART)
    chain = usual_chain(model, 1, partitions=1)
    labels = chain.advance(300)["partition_labels"]
    assert labels.shape == (301, 6)
    assert (labels[:, 0] == labels[:, 2]).all() and (labels[:, 1] == labels[:, 5]).all()
    first = model.items.searchsorted(range(4), sorter=np.argsort(model.items, kind="stable"))
    of_items = labels[:, np.argsort(model.items, kind="stable")[first]]
    assert (of_items[:, APART[:, 0]] != of_items[:, APART[:, 1]]).all()


def test_labels_of_rows_must_agree_within_an_item():
    model, _ = model_with_weights(Gaussian, {"covariance": "diag"})
    model.set_labels(np.array([0, 1, 0, 1, 2, 1]))
    assert model.labels.tolist() == [0, 1, 1, 2]
    with pytest.raises(ValueError, match="rows 2 and 6 are one item, but have different labels"):
        model.set_labels(np.array([0, 1, 0, 1, 2, 0]))


def test_a_model_without_a_prior_of_its_own_is_refused_also_where_items_count():
    data = Dataset(
        "t", "tokens", np.zeros(6, dtype=np.int32), vocabulary=["a"], bundles=BundlesOfData(ITEMS, prior_counts="items")
    )
    with pytest.raises(ValueError, match="what it knows of a cluster is no sum over rows"):
        build(EMM, data, {})


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (Gaussian, {"tails": "t"}, r"model\.tails=t: each row has a weight of its own"),
        (Gaussian, {"select": True}, r"model\.select=true: expected false for items of several rows"),
        (IRM, {}, "no sum over rows; expected neither data.weights nor data.group"),
    ],
)
def test_models_whose_rows_cannot_be_added(cls, options, message):
    rows = cls(POINTS, **options) if cls is Gaussian else IRM.from_data(get_kind("graph").example(6))
    with pytest.raises(ValueError, match=message):
        Bundles(rows, BundlesOfData(ITEMS))


@pytest.mark.parametrize(
    ("cls", "options", "kind"),
    [
        (Gaussian, {"covariance": "diag"}, "points"),
        (Gaussian, {"covariance": "diag", "b0": 1e-9}, "points"),
        (Gaussian, {"covariance": "diag", "resolution": 0.5, "power": 0.4}, "points"),
        (Gaussian, {"covariance": "iso", "prior": "mfm"}, "points"),
        (Gaussian, {"covariance": "full"}, "points"),
        (Bernoulli, {}, "binary"),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"prior_counts": "items"}, {"apart": np.array([[0, 7], [3, 12]])}])
def test_a_scan_weighs_as_the_joint_density(cls, options, kind, fields):
    """Items of one to three rows, some of which count 5,000 times, against more than eight clusters."""
    rng = np.random.default_rng(3)
    items = np.sort(rng.integers(0, 20, 40)).astype(np.int32)
    items = np.unique(items, return_inverse=True)[1].astype(np.int32)
    values = rng.normal(3.0, 1.0, (40, 30)) + 4.0 * rng.normal(size=(20, 30))[items]
    if kind == "binary":
        values = (values > 3.0).astype(np.uint8)
    weights = np.where(items % 4 == 1, 5_000, 1)
    model = build(cls, Dataset("s", kind, values, bundles=BundlesOfData(items, weights, **fields)), options)
    labels = model.keep_apart(rng.integers(0, 10, model.N).astype(np.int32))
    for i in range(0, model.N, 3):
        expected = scores.conditional(model, labels, i)
        w = pieces.scan(model, i)
        np.testing.assert_allclose(w / w.sum(), expected, atol=1e-9)


@pytest.mark.parametrize("fields", [{}, {"prior_counts": "items"}])
def test_a_scan_weighs_where_the_likeliest_cluster_is_forbidden(fields):
    """Each of two rows that stay apart is likelier by 10,000 nats next to the other than anywhere else."""
    counts = np.array([[90, 0, 0], [90, 0, 0], [0, 0, 90], [0, 90, 0], [0, 30, 60]], dtype=np.int32) * 100
    bundles = BundlesOfData(np.array([0, 1, 2, 3, 3], dtype=np.int32), apart=np.array([[0, 1]]), **fields)
    model = build(MODEL_CLASSES["GammaPoisson"], Dataset("s", "counts", counts, bundles=bundles), {"rate": 20.0})
    for labels in ([0, 1, 2, 2], [0, 1, 0, 2], [0, 1, 2, 1]):
        for i in (0, 1):
            expected = scores.conditional(model, np.array(labels, dtype=np.int32), i)
            w = pieces.scan(model, i)
            np.testing.assert_allclose(w / w.sum(), expected, atol=1e-9)


def test_a_scan_weighs_where_the_likeliest_cluster_is_none_of_the_components():
    """The prior of items has two components; of as many components as rows a new cluster would be likelier by far."""
    counts = np.array([[90, 0, 0], [0, 90, 0], [0, 0, 90], [0, 0, 90]], dtype=np.int32) * 100
    bundles = BundlesOfData(np.array([0, 1, 2, 2], dtype=np.int32), prior_counts="items")
    options = {"rate": 20.0, "prior": "dynamic_mfm(components=uniform(5))"}
    model = build(MODEL_CLASSES["GammaPoisson"], Dataset("s", "counts", counts, bundles=bundles), options)
    model.set_prior_values({"components": 2.0})
    labels = np.array([0, 0, 1], dtype=np.int32)
    expected = scores.conditional(model, labels, 0)
    w = pieces.scan(model, 0)
    assert expected[2] == 0.0
    np.testing.assert_allclose(w / w.sum(), expected, atol=1e-9)


def test_a_refresh_forgets_the_likelihoods_of_clusters():
    """A move has the ratio that it has from the same state set afresh."""
    options = {"covariance": "diag", "b0": "gamma(3,3)"}
    model, _ = model_with_weights(Gaussian, options)
    again, _ = model_with_weights(Gaussian, options)
    moves = [SDDS(one, Rng(7)) for one in (model, again)]
    refresh = Refresh(model, Rng(4))
    for _ in range(20):
        refresh.step()
        again.set_parameters(model.parameters)
        again.set_prior_values(model.prior_values)
        again.set_labels(model.labels)
        for move in moves:
            move.step()
        assert moves[0].last_log_ratio == pytest.approx(moves[1].last_log_ratio, abs=1e-10, nan_ok=True)
        assert (model.labels == again.labels).all()


@pytest.mark.parametrize(
    ("cls", "options", "values"),
    [
        (Gaussian, {"covariance": "diag", "concentration": "gamma(2,1)"}, {"concentration": 7.5}),
        (Bernoulli, {"concentration": "gamma(2,1)"}, {"concentration": 7.5}),
        (Bernoulli, {"prior": "pitman_yor(discount=beta(2,1.5))"}, {"discount": 0.8}),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"prior_counts": "items"}])
def test_a_scan_heeds_resampled_hyperparameters(cls, options, values, fields):
    """Set, and drawn: items of one row are scored by the model of rows, whose weights follow."""
    points = cls is Gaussian
    table = POINTS if points else (POINTS > 1.0).astype(np.uint8)
    bundles = BundlesOfData(ITEMS, **fields)
    model = build(cls, Dataset("small", "points" if points else "binary", table, bundles=bundles), options)
    labels = np.array([0, 1, 0, 1], dtype=np.int32)
    model.set_labels(labels)
    for drawn in (False, True):
        if drawn:
            Refresh(model, Rng(3)).step()
        else:
            model.set_prior_values(values)
        w = pieces.scan(model, 2)
        np.testing.assert_allclose(w / w.sum(), scores.conditional(model, labels, 2), atol=1e-12)


def test_a_resampled_prior_of_items():
    """It is the prior of as many rows that are items each."""
    options = {"covariance": "diag", "concentration": "gamma(2,1)"}
    model, _ = model_with_weights(Gaussian, options, prior_counts="items")
    plain = Gaussian(POINTS[:4], **options)
    for one in (model, plain):
        one.set_labels(np.array([0, 1, 0, 1]))
    steps = [Refresh(one, Rng(4)) for one in (model, plain)]
    for _ in range(3):
        for step in steps:
            step.step()
        assert model.prior_values == plain.prior_values
        assert model.hyperparameter_values == plain.hyperparameter_values
        assert model.log_prior_total() == pytest.approx(plain.log_prior_total(), abs=1e-12)


def test_what_no_hyperparameter_names_is_refreshed():
    """How often values are true: linked records resample it as others do. Models whose state has missing cells or
    exposures take no bundles."""
    fields = [ColumnType("string", ("anna", "anne", "zoe"))]
    values = np.array([[0], [1], [2], [0], [1], [2]], dtype=np.int32)
    rows = Records(values, fields, prior="crp", distortion=0.3, similar=0.5)
    model = Bundles(rows, BundlesOfData(np.array([0, 0, 1, 2, 3, 4])))
    assert rows.refreshes and model.refreshes and Refresh.supports(model)[0]
    np.testing.assert_array_equal(model.recorded_parameters, rows.recorded_parameters)
    before = model.parameters.copy()
    Refresh(model, Rng(1)).step()
    assert not np.array_equal(model.parameters, before)
