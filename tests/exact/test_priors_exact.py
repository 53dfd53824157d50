"""Every sampler under priors whose new-cluster weight depends on the number of clusters: the whole transition matrix of
the compiled code leaves the enumerated posterior as it is. Priors: those of the package and of `small_priors`, one of
them with a largest K."""

import numpy as np
import pytest
from compiled import pieces
from every_sampler import KEPT, LEARNERS, chooses, is_adaptive
from every_sampler import SAMPLERS as EVERY
from scipy import stats
from small_cases import SAMPLERS
from small_priors import NAMES as TOYS
from small_priors import PACKAGE, register_priors

from splitmerge_cli.core.hyperpriors import Beta, draw_by_slice, draw_hyperparameter, from_line, log_density_on_line
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models import gaussian, mixed
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.priors import OPTIONS, specification
from splitmerge_cli.samplers.chaperones import Chaperones
from splitmerge_cli.samplers.gibbs import Gibbs, Neal8
from splitmerge_cli.samplers.nonreversible import Nonreversible
from splitmerge_cli.samplers.pgsm import PGSM
from splitmerge_cli.samplers.reconfiguration import SRM
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import normalise

OTHERS = {
    "lines": (Lines, {}),
    "lines-nig": (Lines, {"noise": "nig", "a0": 1.2}),
    "gaussian-diag": (gaussian.Gaussian, {}),
    "gaussian-iso": (gaussian.Gaussian, {"covariance": "iso"}),
    "gaussian-full": (gaussian.Gaussian, {"covariance": "full"}),
    "gaussian-sparse": (gaussian.Gaussian, {"sparse": True}),
    "mixed": (mixed.Mixed, {}),
    "irm": (IRM, {"beta1": 0.6, "beta0": 1.7}),
}
NAMES = (*PACKAGE, *TOYS)
EXACT = [name for name in SAMPLERS if "as_printed" not in name]


@pytest.fixture(autouse=True, scope="module")
def toys():
    with register_priors():
        yield


def build(model_class, prior, size=4, **params):
    if prior.startswith("toy_finite"):
        # so that the bound is met
        prior = "toy_finite_mixtures(most=2)"
    if prior == "dynamic_mfm":
        # likewise: chains start with the most components that there may be
        prior = "dynamic_mfm(components=uniform(3))"
    case = cases.small_case(model_class, size, 0, {"prior": prior, "concentration": 0.8} | params)
    assert len(np.unique(np.round(case.pi, 12))) > 3
    return case


def matrix(case, sampler):
    """Transition matrix among the states that the prior allows, from which none of the others is reached."""
    P = transitions.transition_matrix(case.model, sampler.rng, sampler, case.states)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    return P


@pytest.mark.parametrize("prior", NAMES)
@pytest.mark.parametrize("name", EXACT)
def test_bernoulli(name, prior):
    case = build(Bernoulli, prior)
    sampler_class, given = SAMPLERS[name]
    sampler = sampler_class(case.model, Rng(0), **given)
    P = matrix(case, sampler)
    assert transitions.stationarity_defect(P, case.pi) < 1e-12
    if name != "gibbs":
        assert transitions.balance_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize("prior", NAMES)
def test_the_prior_is_told_from_others(prior):
    """The posterior under another prior is not kept: what the tests above compare differs."""
    case, other = build(Bernoulli, prior), build(Bernoulli, "crp")
    sampler_class, given = SAMPLERS["gibbs"]
    P = matrix(case, sampler_class(case.model, Rng(0), **given))
    under_crp = dict(zip(other.states, other.pi, strict=True))
    pi = np.array([under_crp[state] for state in case.states])
    assert transitions.stationarity_defect(P, pi / pi.sum()) > 1e-3


# -- a largest number of clusters
CAPPED = ("mfm(components=uniform(2))", "dynamic_mfm(components=uniform(2))")


@pytest.mark.parametrize("prior", CAPPED)
@pytest.mark.parametrize("name", [name for name in EVERY if not is_adaptive(name) and name != "refresh"])
def test_every_sampler_at_the_largest_K(name, prior):
    """No form of any sampler leaves for a state that the prior rules out, and each keeps the posterior of the others:
    of four items, and of these in as many clusters as there may be."""
    form = EVERY[name]
    for model_class in (Bernoulli, IRM):
        case = build(model_class, prior)
        assert max(K for _, K in case.states) == 2 == case.model.largest_K
        if form.sampler.DRAWS_FROM_CONTINUUM or not form.sampler.supports(case.model)[0]:
            continue
        if not chooses(form, case.model):
            continue
        sampler = form.sampler(case.model, Rng(0), **form.options)
        assert transitions.stationarity_defect(matrix(case, sampler), case.pi) < 1e-12


@pytest.mark.parametrize("merged", ["counted", "drawn"])
@pytest.mark.parametrize("selection", ["metropolis", "forced", "gibbs"])
def test_particles_where_no_split_is_possible(selection, merged):
    """One cluster at most: with five items, and ancestors on some paths, particle Gibbs stays where it is."""
    case = cases.small_case(Bernoulli, 5, 1, {"prior": "mfm(components=uniform(1))"})
    sampler = PGSM(case.model, Rng(0), particles=2, threshold=0.99, merged=merged, selection=selection)
    assert matrix(case, sampler).ravel() == pytest.approx([1.0])


def test_an_item_that_fits_no_cluster_founds_none_beyond_the_largest_K():
    """In 400 columns the odds of an own cluster leave the range of a double, but its weight is 0: it is never taken."""
    x = np.repeat([[0.0], [0.001], [1e6]], 400, axis=1)
    model = gaussian.Gaussian(x, m0=1e6, b0=1e-6, kappa0=1e-6, prior="mfm(components=uniform(1))")
    pieces.scan(model, 2)
    assert pieces.odds(model, 2, 0, 1, 0, False)[0] == np.inf
    for sampler_class, given in ((Chaperones, {}), (Gibbs, {}), (SRM, {"relabel": False}), (Nonreversible, {})):
        sampler = sampler_class(model, Rng(0), **given)
        assert transitions.transition_matrix(model, sampler.rng, sampler, [((0, 0, 0), 1)]) == pytest.approx(1.0)


def test_auxiliary_components_beyond_the_largest_K():
    """Weights of a scan with three auxiliary components, by the definition that models override: none of them may be
    taken where there are as many clusters as the prior allows, but by an item that is alone."""
    params = {"noise": "known", "prior": "mfm(components=uniform(2))"} | KEPT
    model = cases.small_case(Lines, 4, 0, params).model
    for labels in ([0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]):
        model.set_labels(labels)
        for i in (0, 3):
            fast, slow = pieces.scan_with_auxiliaries(model, i, 3)
            np.testing.assert_allclose(fast / fast.sum(), slow / slow.sum(), rtol=1e-9)


def test_a_sampler_that_leaves_the_prior_is_found():
    """One that parts items whatever the prior says: its row is no distribution over the states."""

    class Parts(PythonSampler):
        MOVES = ("part",)

        def python_step(self):
            self.begin("part")
            self.model.set_labels(np.arange(self.model.N))

    case = build(Bernoulli, CAPPED[0])
    P = transitions.transition_matrix(case.model, (rng := Rng(0)), Parts(case.model, rng), case.states)
    assert np.isnan(P).all()
    assert not transitions.stationarity_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize("prior", [*NAMES, *CAPPED])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("model_class", [Bernoulli, IRM])
def test_learners(model_class, name, prior):
    case = build(model_class, prior)
    sampler_class, given = LEARNERS[name]
    sampler = sampler_class(case.model, Rng(0), **given)
    for history in transitions.example_histories(case.states, 6):
        for pair in transitions.disagreements(history)[:3]:
            sampler.fix(*history, *pair)
            assert transitions.balance_defect(matrix(case, sampler), case.pi) < 1e-12


@pytest.mark.parametrize("prior", NAMES)
@pytest.mark.parametrize("name", ["gibbs", "gibbs-site", "sams", "dyadic-gibbs", "triadic", "birth_death", "rm-cut"])
@pytest.mark.parametrize("model", OTHERS)
def test_other_models(model, name, prior):
    model_class, params = OTHERS[model]
    case = build(model_class, prior, **params)
    sampler_class, given = SAMPLERS[name]
    P = matrix(case, sampler_class(case.model, Rng(0), **given))
    assert transitions.stationarity_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize("prior", NAMES)
@pytest.mark.parametrize("model", ["lines", "gaussian-full", "gaussian-sparse", "irm"])
def test_relabelling_moves(model, prior):
    model_class, params = OTHERS[model]
    case = build(model_class, prior, **params)
    P = matrix(case, SRM(case.model, Rng(0), relabel=False))
    assert transitions.balance_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize("prior", NAMES)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_auxiliary_components(m, prior):
    case = build(Lines, prior, size=3, **KEPT)
    P = matrix(case, Neal8(case.model, Rng(0), m=m, scan="site"))
    assert transitions.balance_defect(P, case.pi) < 1e-12


@pytest.mark.parametrize("prior", NAMES)
@pytest.mark.parametrize("allocation", ["sams", "random"])
def test_moves_that_draw_parameters(allocation, prior):
    case = build(Lines, prior, size=3, **KEPT)
    P = matrix(case, Triadic(case.model, Rng(0), beta=0.3, allocation=allocation))
    assert transitions.stationarity_defect(P, case.pi) < 1e-12


# -- hyper-parameters that are resampled
RESAMPLED = {
    "discount": ("pitman_yor(discount=beta(2,1.5))", 0.8),
    "concentration": ("pitman_yor(discount=0.3)", "gamma(1.5,2)"),
    "both": ("pitman_yor(discount=beta(0.7,2))", "gamma(2,1)"),
    "r, p": ("esc", 0.8),
    "sizes, all": ("learned_sizes(size_2=beta(2,1),size_more=beta(1,2))", 0.8),
    "components": ("dynamic_mfm(components=geometric(0.4))", 0.8),
    "components, concentration": ("dynamic_mfm(components=poisson(2))", "gamma(2,1)"),
}
SIZES = [5, 2, 1, 1]


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        *(
            ("discount", "discount"),
            ("concentration", "concentration"),
            ("both", "discount"),
            ("r, p", "r"),
            ("r, p", "p"),
        ),
        *(("sizes, all", name) for name in ("size_1", "size_2", "size_3", "size_more")),
    ],
)
def test_a_hyper_parameter_is_drawn_from_its_conditional(chosen, name):
    prior, concentration = RESAMPLED[chosen]
    read = read_options("model", OPTIONS, {"concentration": concentration})
    made = specification(prior).build(sum(SIZES), read["concentration"])

    def log_p(value):
        return made.log_probability(np.array(SIZES), **made.options | {name: value})

    assert_drawn_from_conditional(made, name, made.hyperpriors[name], log_p, SIZES)


@pytest.mark.parametrize(("concentration", "sizes"), [("gamma(0.5,1)", [2]), ("gamma(2,3)", [1, 1, 1])])
def test_the_concentration_of_a_restaurant_is_drawn_from_its_conditional(concentration, sizes):
    """Few items: of more, one of the two gammas that Escobar and West (1995) mix has hardly any weight."""
    axis, N = read_options("model", OPTIONS, {"concentration": concentration})["concentration"], sum(sizes)

    def log_p(alpha):
        return len(sizes) * np.log(alpha) - np.log(alpha + np.arange(N)).sum()

    assert_drawn_from_conditional(specification("crp").build(N, axis), "concentration", axis, log_p, sizes)


def assert_drawn_from_conditional(made, name, axis, log_p, sizes):
    """2,000 updates against quadrature of prior times probability of the partition, `log_p`: moments of ranks."""
    places = np.linspace(-30, 30, 2001)
    values = np.array([from_line(axis, t) for t in places])
    p = normalise([log_density_on_line(axis, t) + log_p(value) for t, value in zip(places, values, strict=True)])
    rng, draws = Rng(7), []
    for _ in range(2_000):
        pieces.resample_prior(made, rng, made.hyperparameters.index(name), sizes)
        draws.append(made.values[name])
    ranks = np.interp(draws, values, np.cumsum(p) - 0.5 * p)
    for power in (1, 2, 3):
        # in batches, since an update depends on the one before
        batches = (ranks**power).reshape(40, -1).mean(axis=1)
        assert abs(batches.mean() - 1 / (power + 1)) < 4.5 * batches.std(ddof=1) / np.sqrt(40)


@pytest.mark.parametrize("chosen", ["both", "r, p", "sizes, all"])
def test_prior_and_conditionals_belong_together(chosen):
    """Geweke (2004): partitions drawn given hyper-parameters, and these given partitions, in turn: the hyper-parameters
    keep their priors."""
    prior, concentration = RESAMPLED[chosen]
    read = read_options("model", OPTIONS, {"concentration": concentration})
    made = specification(prior).build(7, read["concentration"])
    rng, generator, draws = Rng(5), np.random.default_rng(5), []
    for _ in range(1_200):
        sizes = np.bincount(made.draw(generator)[0]).tolist()
        for t in range(len(made.hyperparameters)):
            pieces.resample_prior(made, rng, t, sizes)
        draws.append(made.values)
    for name in made.hyperparameters:
        axis, places = made.hyperpriors[name], np.linspace(-30, 30, 2001)
        p = normalise([log_density_on_line(axis, t) for t in places])
        values = [from_line(axis, t) for t in places]
        ranks = np.interp([d[name] for d in draws], values, np.cumsum(p) - 0.5 * p)
        for power in (1, 2):
            batches = (ranks**power).reshape(30, -1).mean(axis=1)
            assert abs(batches.mean() - 1 / (power + 1)) < 4.5 * batches.std(ddof=1) / np.sqrt(30)


def test_the_slice_sampler_leaves_a_density_as_it_is():
    """A density of steps with two modes, whose slices may be two intervals."""
    edges, height = np.array([-3.5, -2.0, -0.5, 1.0, 2.5, 3.5]), np.array([0.3, 1.0, 0.1, 0.6, 0.2])

    def log_density(t):
        return np.log(height[np.searchsorted(edges, t) - 1]) if edges[0] < t < edges[-1] else -np.inf

    rng, t, visited = np.random.default_rng(3), 0.3, []
    for _ in range(10_000):
        t = draw_by_slice(log_density, t, rng.random)
        visited.append(t)
    mass = height * np.diff(edges)
    np.testing.assert_allclose(np.histogram(visited, edges)[0] / len(visited), mass / mass.sum(), atol=0.02)


@pytest.mark.parametrize(
    ("prior", "distribution"), [(Gamma(0.01, 1.0), stats.gamma(0.01)), (Beta(0.05, 0.1), stats.beta(0.05, 0.1))]
)
def test_what_lies_beyond_the_ends_of_the_line_is_at_the_ends(prior, distribution):
    """The least value has the probability of all that are smaller, the largest of all that are larger."""
    least, largest = from_line(prior, -230.0), from_line(prior, 230.0)
    rng, value, visited = np.random.default_rng(2), 0.5, []
    for _ in range(2_000):
        value = draw_hyperparameter(prior, value, lambda _: 0.0, rng.random)
        visited.append((value == least, value == largest))
    batches = np.reshape(visited, (40, -1, 2)).mean(axis=1)
    error = np.abs(batches.mean(axis=0) - [distribution.cdf(least), distribution.sf(largest)])
    assert (error < 4.5 * batches.std(axis=0, ddof=1) / np.sqrt(40) + 1e-9).all()


def test_a_share_of_sizes_may_be_as_good_as_nothing():
    """Given clusters of two, a share of single items that is 1e-14 or less."""
    made = specification("learned_sizes(size_1=beta(0.03,1),size_2=0.5,size_3=0.5,size_more=0.5)").build(4, 0.8)
    axis, values, p = made.hyperpriors["size_1"], [], []
    for t in np.arange(-1500, 34, 0.25):
        values.append(from_line(axis, t))
        p.append(log_density_on_line(axis, t) + made.log_probability([2, 2], 0.8, values[-1]))
    rng, visited = Rng(3), []
    for _ in range(2_000):
        pieces.resample_prior(made, rng, 0, [2, 2])
        visited.append(made.values["size_1"] <= 1e-14)
    expected = normalise(p)[np.array(values) <= 1e-14].sum()
    assert abs(np.mean(visited) - expected) < 4.5 * np.sqrt(0.25 / 2_000) + 1e-9


@pytest.mark.parametrize("chosen", RESAMPLED)
@pytest.mark.parametrize("name", ["gibbs", "sams", "sdds"])
def test_kernels_at_present_values_of_hyper_parameters(name, chosen):
    prior, concentration = RESAMPLED[chosen]
    case = build(Bernoulli, prior, concentration=concentration)
    sampler_class, given = SAMPLERS[name]
    sampler = sampler_class(case.model, Rng(0), **given)
    assert transitions.stationarity_defect(matrix(case, sampler), case.pi) < 1e-12
    # with another value the posterior is another one
    last = case.model.hyperparameters[-1]
    case.model.set_prior_values({last: (2.0 if last == "components" else 0.5) * case.model.prior_values[last]})
    assert transitions.stationarity_defect(matrix(case, sampler), case.pi) > 1e-4


@pytest.mark.parametrize("chosen", [pytest.param(c, marks=[pytest.mark.slow] * ("," in c)) for c in RESAMPLED])
@pytest.mark.parametrize(("model_class", "params"), [(Bernoulli, {}), (Lines, {"noise": "nig", "a0": 1.2})])
def test_chains_with_resampled_hyper_parameters(model_class, params, chosen):
    """Frequencies of partitions against their probabilities with the hyper-parameters integrated out."""
    prior, concentration = RESAMPLED[chosen]
    case = build(model_class, prior, concentration=concentration, **params)
    rng = Rng(2)
    samplers = [SAMPLERS["gibbs"][0](case.model, rng), Refresh(case.model, rng)]
    frequencies, noise = kernel.sampled_frequencies(case, samplers, rng, 4_000)
    assert 0.5 * np.abs(frequencies - case.partitions[1]).sum() < 3 * noise
