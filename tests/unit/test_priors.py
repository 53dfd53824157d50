"""Priors as objects: found by themselves, one formula, and right in every mixture; among them toy priors, written in
Python, whose new-cluster weight depends on the number of clusters."""

import textwrap

import numpy as np
import pytest
import scores
from compiled import pieces
from scipy.sparse import csr_array
from scipy.stats import beta, gamma
from small_cases import CLOUD, MIXED, NETWORK, POINTS, ROWS, TABLE, THINNED, TYPES, check_resumption, check_walk_weights
from small_priors import NAMES, PACKAGE, PLAIN, register_priors

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.prior import TablePrior
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models import gaussian, mixed
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.sparse_gaussian import SparseGaussian
from splitmerge_cli.priors import OPTIONS, PriorOption, esc, priors, specification
from splitmerge_cli.priors.crp import ChineseRestaurant
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.verify.cases import small_case
from splitmerge_cli.verify.enumerate import mixture_states, normalise, partitions

ALL = (*PLAIN, *PACKAGE, *NAMES)
FORMULAS = (*PACKAGE, *NAMES)
BY_COUNT = ("pitman_yor(discount=0.4)", *NAMES)
RESAMPLED = "pitman_yor(discount=beta(2,3))"
WIDE = np.random.default_rng(3).integers(2, size=(60, 300)).astype(np.uint8)
CANDIDATES = [[0.0, 1.0], [1.0, -0.5]]
MODELS = {
    "bernoulli": lambda **p: Bernoulli(ROWS, beta1=0.4, beta0=0.7, **p),
    "bernoulli-pieces": lambda **p: Bernoulli(WIDE, beta1=1e-3, beta0=2e-3, **p),
    "irm": lambda **p: IRM((NETWORK | NETWORK.T).astype(np.uint8), beta1=0.6, beta0=1.7, **p),
    "lines": lambda **p: Lines(POINTS, sigma0=3.0, sigma1=0.7, **p),
    "lines-nig": lambda **p: Lines(POINTS, sigma0=3.0, sigma1=0.7, noise="nig", a0=1.5, **p),
    "lines-kept": lambda **p: Lines(POINTS, sigma0=3.0, sigma1=0.7, conjugate=False, candidates=CANDIDATES, **p),
    "gaussian": lambda **p: gaussian.Gaussian(CLOUD, kappa0=0.3, a0=1.5, b0=[0.5, 1.0, 2.0], **p),
    "gaussian-iso": lambda **p: gaussian.Gaussian(CLOUD, covariance="iso", kappa0=0.3, a0=1.5, b0=0.5, **p),
    "gaussian-full": lambda **p: gaussian.Gaussian(CLOUD, covariance="full", kappa0=0.3, a0=1.5, b0=0.5, **p),
    "mixed": lambda **p: mixed.Mixed(TABLE, TYPES, **MIXED, **p),
    "sparse-diag": lambda **p: SparseGaussian(THINNED, kappa0=0.3, a0=1.5, b0=[0.5, 1.0, 2.0], **p),
    "sparse-iso": lambda **p: SparseGaussian(THINNED, covariance="iso", kappa0=0.3, a0=1.5, b0=0.5, **p),
}


@pytest.fixture(autouse=True, scope="module")
def toys():
    with register_priors():
        yield


def build(prior, N, concentration=1.3):
    return specification(prior).build(N, concentration)


# -- one file is all that a prior needs
def test_the_priors_of_the_package():
    assert set(priors()) == {*PLAIN, *PACKAGE, "toy_finite_mixtures"}


@pytest.mark.parametrize("prior", ALL)
def test_a_model_takes_it_by_name(prior):
    model = Bernoulli(ROWS, prior=prior)
    assert type(model.prior) is priors()[specification(prior).name]
    assert "toy_finite_mixtures" in OPTIONS[1].expected


def test_a_file_dropped_into_a_folder(tmp_path):
    (tmp_path / "squares.py").write_text(
        textwrap.dedent(
            """\
            import numpy as np

            from splitmerge_cli.core.prior import TablePrior


            class Squares(TablePrior):
                NAME = "squares"

                def tables(self, concentration):
                    n = np.arange(self.N + 1.0)
                    n[0] = 1.0
                    return 2.0 * np.log(n), n * np.log(concentration)
            """
        )
    )
    with pytest.raises(ValueError, match="expected one of crp"):
        Bernoulli(ROWS, prior="squares")
    with register_priors(tmp_path):
        model = Bernoulli(ROWS, prior="squares", concentration=2.0)
        model.set_labels(np.arange(60) % 3)
        assert pieces.log_prob(model.prior, [2, 3]) == pytest.approx(np.log(4 * 9) + 2 * np.log(2.0))
    assert "squares" not in priors()


def test_two_priors_of_one_name(tmp_path):
    (tmp_path / "twice.py").write_text(
        "from splitmerge_cli.core.prior import TablePrior\n\n\nclass Twice(TablePrior):\n    NAME = 'crp'\n"
    )
    with register_priors(tmp_path), pytest.raises(ValueError, match="both called crp"):
        priors()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nobody", "expected one of .*crp, .*pitman_yor, toy_finite_mixtures, uniform"),
        ("pitman_yor(discount=2)", "discount"),
        ("pitman_yor(discount=beta(0,1))", "discount"),
        ("pitman_yor(other=0.2)", "model.prior"),
        ("pitman_yor(discount", "model.prior"),
        ("uniform(a=1)", "model.prior"),
        (3, "model.prior"),
        # of the number of components
        ("mfm(components=poisson(0))", "rate of poisson: expected a number from 0.001 to 1000, got 0"),
        ("mfm(components=uniform(2.5))", "most of uniform: expected a whole number"),
        ("mfm(components=bnb(1,2))", r"one of poisson\(rate\), geometric\(share\), bnb\(alpha,a,b\), uniform\(most\)"),
        ("mfm(components=normal(1))", "mfm.components=normal"),
        ("mfm(components=3)", "mfm.components=3: expected one of poisson"),
    ],
)
def test_what_is_no_prior(text, message):
    with pytest.raises(ValueError, match=message):
        read_options("model", OPTIONS, {"prior": text})


@pytest.mark.parametrize(
    "text", ["pitman_yor", "pitman_yor(discount=0.25)", "toy_finite_mixtures( most = 5 )", RESAMPLED, "crp"]
)
def test_a_specification_is_read_again_as_it_is_written(text):
    option = PriorOption("prior", "crp", "")
    read = option.read(text, "model")
    assert option.read(str(read), "model") == read


def test_a_table_prior_that_does_not_sum_to_one_is_not_resampled():
    with pytest.raises(ValueError, match=r"concentration: expected a number, since .* do not sum to 1"):
        Bernoulli(ROWS, prior="toy_finite_mixtures", concentration="gamma(2,1)")


def test_hyper_parameters_of_a_table_prior():
    model = Bernoulli(ROWS, prior=RESAMPLED, concentration="gamma(2,1)")
    assert model.hyperparameters == ("concentration", "discount") and model.refreshes
    assert model.prior_values == {"concentration": 2.0, "discount": 0.4}
    before, fixed = model.log_joint(), Bernoulli(ROWS, prior="pitman_yor(discount=0.25)", concentration=3.0)
    model.set_prior_values({"discount": 0.25, "concentration": 3.0})
    assert model.log_lik_total() == fixed.log_lik_total()
    expected = fixed.log_joint() + gamma(2).logpdf(3.0) + beta(2, 3).logpdf(0.25)
    assert model.log_joint() == pytest.approx(expected, abs=1e-12)
    for i in range(model.N):
        np.testing.assert_array_equal(pieces.scan(model, i), pieces.scan(fixed, i))
    model.set_prior_values({"discount": 0.4, "concentration": 2.0})
    assert model.log_joint() == before
    for values in ({"discount": 1.0}, {"discount": float("nan")}, {"concentration": -1.0}, {"other": 1.0}):
        with pytest.raises(ValueError, match=r"expected a value within|resamples no other"):
            model.set_prior_values(values)


@pytest.mark.parametrize(
    ("log_g", "log_f", "message"),
    [
        (np.zeros(5), np.zeros(6), "log g: expected 6 numbers"),
        (np.zeros(6), np.zeros(7), "log f: expected 6 numbers"),
        ([0, 0, -np.inf, 0, 0, 0], np.zeros(6), "finite"),
        (np.zeros(6), [0, 0, np.nan, 0, 0, 0], "beyond"),
        (np.zeros(6), [0, 0, -np.inf, 0, 0, 0], "beyond"),
        (np.zeros(6), [0, -np.inf, 0, 0, 0, 0], "beyond"),
        (np.zeros(6), np.full(6, -np.inf), "beyond"),
        (np.zeros(6), [0, np.inf, 0, 0, 0, 0], "beyond"),
    ],
)
def test_tables_that_are_none(log_g, log_f, message):
    class Odd(TablePrior):
        NAME = "odd"

        def tables(self, concentration):
            return log_g, log_f

    with pytest.raises(ValueError, match=message):
        Odd(5)


def test_a_prior_without_tables():
    with pytest.raises(TypeError, match="defines no tables"):
        TablePrior(5)


# -- one formula
@pytest.mark.parametrize("prior", FORMULAS)
@pytest.mark.parametrize("concentration", [0.2, 1.3, 6.0])
def test_tables_give_the_formula(prior, concentration):
    chosen = specification(prior)
    made = build(prior, 7, concentration)
    found, expected = [], []
    for labels in partitions(7):
        sizes = np.bincount(labels)
        found.append(pieces.log_prob(made, sizes))
        expected.append(made.log_probability(sizes, concentration, **dict(chosen.options) | made.values))
    np.testing.assert_allclose(normalise(found), normalise(expected), rtol=1e-12)


def test_pitman_yor_without_a_discount_is_the_chinese_restaurant():
    a, b = build("pitman_yor(discount=0)", 6), ChineseRestaurant(6, 1.3)
    differ = [pieces.log_prob(a, np.bincount(z)) - pieces.log_prob(b, np.bincount(z)) for z in partitions(6)]
    np.testing.assert_allclose(differ, differ[0], atol=1e-12)
    np.testing.assert_allclose(pieces.prior_weights(a, [1, 2, 2])[0], pieces.prior_weights(b, [1, 2, 2])[0], rtol=1e-12)
    assert pieces.prior_weights(a, [1, 2, 2])[1] == pytest.approx(pieces.prior_weights(b, [1, 2, 2])[1], rel=1e-12)


@pytest.mark.parametrize("prior", ALL)
def test_draws_are_of_the_prior(prior):
    made, generator = build(prior, 4), np.random.default_rng(2)
    states = mixture_states(4)
    index = {state: t for t, state in enumerate(states)}
    pi = normalise([pieces.log_prob(made, np.bincount(z)) for z, _ in states])
    counts, draws = np.zeros(len(states)), 6_000
    for _ in range(draws):
        labels, K = made.draw(generator)
        assert labels.dtype == np.int32 and sorted(set(labels.tolist())) == list(range(K))
        number: dict = {}
        counts[index[tuple(number.setdefault(int(k), len(number)) for k in labels), K]] += 1
    assert 0.5 * np.abs(counts / draws - pi).sum() < 0.03


@pytest.mark.parametrize("prior", NAMES)
def test_draws_of_many_items_are_labels(prior):
    made, generator = build(prior, 700), np.random.default_rng(2)
    labels, K = made.draw(generator)
    assert labels.min() == 0 and len(np.unique(labels)) == K == labels.max() + 1


# -- in every mixture
def sets_of_labels(prior, N):
    """Labels with lone items among them, of as many clusters as the prior allows."""
    most = 3 if prior.startswith("toy_finite") else 17
    yield np.r_[np.zeros(N - most + 1, int), np.arange(1, most)]
    for clusters in {2, 3, min(most, 8), most - 1}:
        yield np.random.default_rng(clusters).permutation(np.arange(N) % clusters)


@pytest.mark.parametrize("prior", ALL)
@pytest.mark.parametrize("name", MODELS)
def test_scans_are_the_definition(name, prior):
    model = MODELS[name](prior=prior, concentration=1.3)
    for labels in sets_of_labels(prior, model.N):
        model.set_labels(labels)
        for i in range(0, model.N, 3):
            scores.check_scan(model, i)
        for i in np.flatnonzero(np.bincount(labels)[labels] == 1):
            assert pieces.scan(model, i)[-1] == 0.0
            scores.check_scan(model, i)
        if len(np.unique(labels)) >= 3:
            check_walk_weights(model)


@pytest.mark.parametrize("prior", BY_COUNT)
@pytest.mark.parametrize("name", MODELS)
def test_weights_keep_step_with_the_number_of_clusters(name, prior):
    model, other = (MODELS[name](prior=prior, concentration=1.3) for _ in range(2))
    rng = np.random.default_rng(3)
    model.set_labels(np.arange(model.N) % 2)
    most = 3 if prior.startswith("toy_finite") else model.N
    for step in range(400):
        i = int(rng.integers(model.N))
        pieces.move(model, i, int(rng.integers(min(model.K + 1, most))))
        if step % 40 == 0:
            other.set_labels(model.labels)
            if not model.conjugate:
                other.set_parameters(model.parameters)
            scores.agree(pieces.scan(model, i), pieces.scan(other, i))
            assert model.log_joint() == pytest.approx(other.log_joint(), rel=1e-12)


@pytest.mark.parametrize("prior", ALL)
@pytest.mark.parametrize("model_class", [Bernoulli, Lines, gaussian.Gaussian, IRM])
def test_log_joint_is_the_enumerated_posterior(model_class, prior):
    case = small_case(model_class, 5, 1, {"prior": prior})
    log_joint = []
    for labels, _ in case.states:
        case.model.set_labels(np.array(labels))
        log_joint.append(case.model.log_joint())
    np.testing.assert_allclose(normalise(log_joint), case.pi, rtol=1e-8)


@pytest.mark.parametrize("prior", FORMULAS)
@pytest.mark.parametrize("n", [1, 10])
def test_a_new_item_weighs_clusters_by_itself(n, prior):
    """Its weights come from the partitions of one more item, however many others are predicted."""
    model, sizes = Bernoulli(ROWS[: 20 + n], prior=prior), [9, 7, 4]
    model.set_labels(np.repeat(np.arange(4), [*sizes, n]).astype(np.int32))
    joined = [[size + (k == j) for j, size in enumerate(sizes)] for k in range(3)] + [[*sizes, 1]]
    present = model.prior.present
    expected = normalise([model.prior.log_probability(np.array(s), **present) for s in joined])
    np.testing.assert_allclose(np.exp(model.log_predictive(20)[1]), expected, rtol=1e-9, atol=1e-300)


def test_a_prior_without_a_formula_is_not_enumerated(tmp_path):
    (tmp_path / "bare.py").write_text(
        "import numpy as np\n\nfrom splitmerge_cli.core.prior import TablePrior\n\n\nclass Bare(TablePrior):\n"
        "    NAME = 'bare'\n\n    def tables(self, concentration):\n"
        "        return np.zeros(self.N + 1), np.zeros(self.N + 1)\n"
    )
    with register_priors(tmp_path), pytest.raises(TypeError, match="no log_probability"):
        small_case(Bernoulli, 3, 0, {"prior": "bare"})


@pytest.mark.parametrize(
    ("r", "p", "N"), [(2.0, 0.999, 300), (500.0, 0.9999, 300), (1e-3, 0.99999, 300), (3.0, 0.4, 3_000)]
)
def test_the_renewal_sequence(monkeypatch, r, p, N):
    """By one value after the other, by Fourier transforms, and written out; nothing underflows."""
    log_mu = esc.ExchangeableSequencesOfClusters(N, r=r, p=p).log_sizes(r=r, p=p)
    in_turn = esc.log_renewal(log_mu)
    monkeypatch.setattr(esc, "_MOST_PRODUCTS", 0)
    assert esc.log_renewal(log_mu) == pytest.approx(in_turn, abs=1e-9)
    log_u = np.zeros(N + 1)
    for n in range(1, N + 1):
        log_u[n] = np.logaddexp.reduce(log_mu[1 : n + 1] + log_u[n - 1 :: -1])
    assert in_turn == pytest.approx(log_u[N], rel=1e-10, abs=1e-10)


FAR = np.r_[POINTS[:59], [[0.3, 400.0]]]
OUTLIERS = {
    "lines": lambda **p: Lines(FAR, sigma0=200.0, sigma1=0.7, **p),
    "lines-nig": lambda **p: Lines(FAR, sigma0=200.0, sigma1=0.7, noise="nig", a0=300.0, **p),
    "gaussian": lambda **p: gaussian.Gaussian(FAR, a0=300.0, b0=300.0, kappa0=1e-6, **p),
    "gaussian-iso": lambda **p: gaussian.Gaussian(FAR, covariance="iso", a0=300.0, b0=300.0, kappa0=1e-6, **p),
    "gaussian-full": lambda **p: gaussian.Gaussian(FAR, covariance="full", a0=900.0, b0=900.0, kappa0=1e-6, **p),
    "mixed": lambda **p: mixed.Mixed(FAR, ("real", "real"), a0=300.0, b0=300.0, kappa0=1e-6, **p),
    "sparse": lambda **p: SparseGaussian(csr_array(FAR), a0=900.0, b0=900.0, kappa0=1e-6, **p),
    "sparse-iso": lambda **p: SparseGaussian(csr_array(FAR), covariance="iso", a0=900.0, b0=900.0, kappa0=1e-6, **p),
    "bernoulli": lambda **p: Bernoulli(np.r_[np.zeros((59, 900)), np.ones((1, 900))], beta1=1e-3, beta0=2e-3, **p),
    "irm": lambda **p: IRM(WHEEL, beta1=1e-3, beta0=2e-3, **p),
}
WHEEL = np.zeros((900, 900), dtype=np.uint8)
WHEEL[0, 1:] = WHEEL[1:, 0] = 1


@pytest.mark.parametrize("name", OUTLIERS)
def test_an_item_that_only_a_new_cluster_would_suit(name):
    """Where the prior rules a new cluster out, the others keep their weights, however little they are beside its."""
    free = OUTLIERS[name]()
    i = 0 if name == "irm" else free.N - 1
    labels = np.arange(free.N) % 3
    free.set_labels(labels)
    w = pieces.scan_by_definition(free, i)
    assert w[:3].sum() < 1e-200 * w[3]
    bound = OUTLIERS[name](prior="toy_finite_mixtures(most=3)")
    bound.set_labels(labels)
    scores.check_scan(bound, i)
    assert pieces.scan(bound, i)[3] == 0.0
    for found in pieces.scan_unplaced(bound, i):
        assert np.isfinite(found).all() and found[:3].sum() > 0.0 and found[3] == 0.0
    scores.agree(*pieces.scan_unplaced(bound, i))


def test_impossible_numbers_of_clusters_weigh_nothing():
    model = Bernoulli(ROWS, prior="toy_finite_mixtures(most=3)")
    model.set_labels(np.arange(60) % 3)
    assert all(pieces.scan(model, i)[-1] == 0.0 for i in range(60))
    model.set_labels(np.arange(60) % 4)
    assert model.log_joint() == -np.inf
    assert all(np.isfinite(pieces.scan(model, i)).all() for i in range(60))


def test_a_chain_goes_on_with_its_hyper_parameters():
    def chain():
        model, rng = Bernoulli(ROWS, prior=RESAMPLED, concentration="gamma(2,1)"), Rng(3)
        return Chain(model, rng, [Gibbs(model, rng), Refresh(model, rng)])

    first, _ = check_resumption(chain, 8, 12, recorded=("concentration", "discount"))
    assert first.state["hyperparameters"].keys() == {"concentration", "discount"}


@pytest.mark.parametrize("sizes", [[3, 2, 1], [1] * 6, [6], [2, 2, 2]])
def test_one_share_for_all_sizes_is_uniform_on_their_number(sizes: list[int]) -> None:
    """`learned_sizes` with h_1 = h_2 = ... = h, integrated over a uniform h, is `uniform_count`."""
    learned, uniform = (priors()[name].log_probability for name in ("learned_sizes", "uniform_count"))
    h, weight = np.polynomial.legendre.leggauss(20)
    at = [np.exp(learned(np.array(sizes), 1.0, *[(1.0 + x) / 2.0] * 4)) for x in h]
    assert np.log(weight @ at / 2.0) == pytest.approx(uniform(np.array(sizes), 1.0), rel=1e-12)
