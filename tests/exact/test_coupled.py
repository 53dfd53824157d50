"""The gate of coupled chains: the joint kernel of every sampler that couples, enumerated over all pairs of states.

Both margins are the transition matrix of the compiled sampler; equal states stay equal; from the joint kernel follow
the exact distribution of the meeting time, which simulated ones are compared with, and the bound, which lies above the
exact distance after any number of iterations. What breaks one of these is found.
"""

from functools import cache, partial

import numpy as np
import pytest
from every_sampler import CASES, MODEL_CLASSES, SAMPLERS, case_of, is_adaptive, is_supported
from joint_kernels import JointKernel, joint_kernel, total_variation_bound
from scipy.stats import chi2_contingency, chisquare, ks_2samp
from test_subcluster import MODELS as TABLES
from test_subcluster import finite

from splitmerge_cli.core.coupled import CoupledChains
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler, Sampler
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.samplers.gibbs import Gibbs, Neal8
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.samplers.subcluster import Subcluster
from splitmerge_cli.verify import cases, transitions
from splitmerge_cli.verify.enumerate import mixture_states

TOLERANCE = 1e-12
MODELS = ("bernoulli", "gaussian-diag", "irm", "emm", "mixed", "lines")
KEEP = ("lines-conjugate-candidates", "lines-conjugate-candidates-metropolis")
"""Models that keep parameters: their states have them."""
DRAW_CLUSTERS = ("gibbs", "gibbs-scan=site", "rgsm", "sdds", "ss", "lshsm", "neal8")
"""Samplers whose draws of a cluster may be coupled in several ways."""
TOO_LONG = {("neal8-scan=full", name) for name in KEEP}
"""Minutes each, and scan=site is the same draws once."""
MANY = {"triadic", "rm", "srm", "pgsm", "locally_informed", "nonreversible"}
"""Samplers with so many execution paths that of them three items are enumerated."""
FOUR_ITEMS = {"bernoulli", "irm"}
"""Cases of which four items are enumerated; of the others the slow tests do."""


@cache
def of_size(name: str, size: int) -> cases.Case:
    """The case of this name, of another number of items."""
    model, _, seed, params = CASES[name]
    return cases.small_case(MODEL_CLASSES[model], size, seed, params)


def make_sampler(name: str, model: Model, rng: Rng) -> Sampler:
    form = SAMPLERS[name]
    return form.sampler(model, rng, **form.options)


def coupling(case_name: str, name: str) -> bool:
    """Whether a sampler couples on a case."""
    if not is_supported(case_name, name) or is_adaptive(name):
        return False
    return make_sampler(name, case_of(case_name).model, Rng(0)).couples()[0]


def check(kernel: JointKernel, lag: int = 1) -> None:
    """The margins, that equal states stay equal, and the bound, from one state for all chains and from all states."""
    assert kernel.margin_defect < TOLERANCE
    assert kernel.parting < TOLERANCE
    n = len(kernel.P)
    for start in (np.eye(n)[0], np.full(n, 1 / n)):
        distribution = kernel.meeting_distribution(start, lag, 400)
        if distribution.sum() < 1 - 1e-9:
            # a kernel that is not irreducible, or slow: nothing is known of the bound
            continue
        # where the chains are in the end
        limit = start @ np.linalg.matrix_power(kernel.P, 5000)
        now = start
        for t in range(60):
            assert transitions.total_variation(now, limit) <= total_variation_bound(distribution, lag, t) + 1e-9, t
            now = now @ kernel.P


def gate_pairs() -> list[tuple[str, str]]:
    # other balancing functions weigh the same draws
    alike = ("balancing=sqrt", "balancing=min")
    found = [(c, s) for c in (*MODELS, *KEEP) for s in SAMPLERS if not s.endswith(alike) and coupling(c, s)]
    return [(c, s) for c, s in found if (s, c) not in TOO_LONG]


def small(case_name: str, name: str) -> cases.Case:
    many = case_name in FOUR_ITEMS and name.split("-")[0] not in MANY
    return of_size(case_name, 4 if many else 3)


@pytest.mark.parametrize(("case_name", "name"), gate_pairs())
def test_joint_kernel(case_name: str, name: str) -> None:
    case = small(case_name, name)
    check(joint_kernel(case.build, partial(make_sampler, name), case.states))


@pytest.mark.parametrize("how", ["common", "transport"])
@pytest.mark.parametrize(("case_name", "name"), [(c, s) for c, s in gate_pairs() if s in DRAW_CLUSTERS])
def test_other_couplings(case_name: str, name: str, how: str) -> None:
    case = small(case_name, name)
    check(joint_kernel(case.build, partial(make_sampler, name), case.states, coupling=how))


@pytest.mark.parametrize("how", ["common", "transport"])
def test_rare_draws_keep_their_distribution(how: str) -> None:
    """These couplings leave out the rounding of large probabilities, but no small probability."""
    x = np.repeat(np.array([[0], [0], [1]], dtype=np.uint8), 9, axis=1)
    build = partial(Bernoulli, x, concentration=1.0, beta0=0.5, beta1=0.5)
    kernel = joint_kernel(build, partial(make_sampler, "gibbs"), of_size("bernoulli", 3).states, coupling=how)
    assert ((kernel.P > 1e-8) & (kernel.P < 1e-4)).any()
    check(kernel)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case_name", "name"),
    [(c, s) for c in CASES for s in SAMPLERS if "moves=" not in s and coupling(c, s) and (s, c) not in TOO_LONG],
)
def test_every_joint_kernel(case_name: str, name: str) -> None:
    case = case_of(case_name)
    kernel = joint_kernel(case.build, partial(make_sampler, name), case.states, limit=20_000_000)
    for lag in (1, 3):
        check(kernel, lag)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gibbs-scan=site", "dyadic", "dyadic-allocation=sams", "rgsm", "rgsm-launch=anchors", "sdds", "ss"]
)
@pytest.mark.parametrize("case_name", ["bernoulli", "gaussian-diag"])
def test_five_items(case_name: str, name: str) -> None:
    case = of_size(case_name, 5)
    check(joint_kernel(case.build, partial(make_sampler, name), case.states, limit=20_000_000))


@pytest.mark.parametrize("name", ["gibbs", "dyadic-allocation=sams", "sdds"])
def test_simulated_meeting_times_have_the_exact_distribution(name: str) -> None:
    case, lag = of_size("bernoulli", 4), 2
    distribution = joint_kernel(case.build, partial(make_sampler, name), case.states).meeting_distribution(
        np.eye(15)[0], lag, 600
    )
    assert distribution.sum() > 1 - 1e-9
    x, y, rng = case.build(), case.build(), Rng(7)
    samplers = [make_sampler(name, x, rng)], [make_sampler(name, y, rng)]
    labels = np.array(case.states[0][0])
    met = np.zeros(len(distribution), dtype=int)
    for _ in range(10_000):
        x.set_labels(labels)
        y.set_labels(labels)
        chains = CoupledChains(x, y, rng, *samplers, lag)
        chains.advance(len(distribution) - 1)
        met[chains.meeting] += 1
    # times of a hundred expected meetings each
    cuts = np.searchsorted(np.cumsum(distribution), np.arange(0.01, 1.0, 0.01))
    groups = np.searchsorted(np.unique(cuts), np.arange(len(distribution)))
    expected = np.bincount(groups, distribution)
    assert chisquare(np.bincount(groups, met), expected / expected.sum() * 10_000).pvalue > 1e-4


class Wrong(PythonSampler):
    """Puts one item where another is, or by itself, each with a probability; the other way round where `turned`."""

    MOVES = ("move",)
    turned = False

    def python_step(self) -> None:
        self.begin("move")
        i = self.rng.index(self.model.N)
        joins = not self.rng.coin(0.7) if self.turned else self.rng.coin(0.3)
        labels = self.model.labels
        labels[i] = labels[(i + 1) % self.model.N] if joins else labels.max() + 1
        self.model.set_labels(np.unique(labels, return_inverse=True)[1])
        self.accepts(0.0)


class Turned(Wrong):
    turned = True


def test_a_wrong_margin_is_found() -> None:
    """One chain's concentration is wrong by a hundredth."""
    case = of_size("bernoulli", 4)
    models = iter([case.build(), cases.small_case(Bernoulli, 4, 1, {"concentration": 1.3 * 1.01}).model])
    kernel = joint_kernel(lambda: next(models), lambda model, rng: Gibbs(model, rng, scan="site"), case.states)
    assert kernel.margin_defect > 1e-4


def test_a_draw_shared_with_the_wrong_side_is_found() -> None:
    """Both margins are right: each chain flips a coin of its own. But equal states do not stay equal."""
    case = of_size("bernoulli", 3)
    classes = iter([Wrong, Turned])
    kernel = joint_kernel(case.build, lambda model, rng: next(classes)(model, rng), case.states)
    assert kernel.margin_defect < TOLERANCE < 0.1 < kernel.parting
    same = joint_kernel(case.build, Wrong, case.states)
    assert max(same.margin_defect, same.parting) < TOLERANCE


def test_what_does_not_couple_says_why() -> None:
    reasons = {("hdp", "gibbs"): "the weights of all clusters", ("bernoulli", "arm"): "history of several chains"}
    for (case_name, name), reason in reasons.items():
        couples, said = make_sampler(name, case_of(case_name).model, Rng(0)).couples()
        assert not couples and reason in said


def test_separate_clusters_meet_soon() -> None:
    """From one cluster and from singletons: 10 clusters, a scan and five split-merge moves an iteration."""
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(10, 20)) * 2)[rng.integers(10, size=400)] + rng.normal(size=(400, 20))
    times = []
    for seed in range(10):
        stream = Rng(seed)
        models = [Gaussian(points, kappa0=0.01, a0=2.0, b0=1.0) for _ in range(2)]
        models[0].set_labels(np.zeros(400, dtype=int))
        models[1].set_labels(np.arange(400))
        samplers = [[Gibbs(m, stream), *[Dyadic(m, stream, allocation="sams")] * 5] for m in models]
        chains = CoupledChains(*models, stream, *samplers, 1)
        chains.advance(500)
        assert chains.meeting > 0 and chains.distance == 0.0
        times.append(chains.meeting)
    assert np.median(times) < 40


def test_distance_is_the_share_of_pairs_together_in_one_chain_alone() -> None:
    rng = np.random.default_rng(5)
    rows, stream = rng.integers(2, size=(9, 3)).astype(np.uint8), Rng(0)
    x, y = (Bernoulli(rows) for _ in range(2))
    chains = CoupledChains(x, y, stream, [Gibbs(x, stream)], [Gibbs(y, stream)], 1)
    for _ in range(20):
        of_x, of_y = (np.unique(rng.integers(5, size=9), return_inverse=True)[1] for _ in range(2))
        x.set_labels(of_x)
        y.set_labels(of_y)
        apart = (of_x[:, None] == of_x) != (of_y[:, None] == of_y)
        assert chains.distance == pytest.approx(apart[np.triu_indices(9, 1)].mean(), abs=1e-12)


def test_chains_of_other_concentrations_have_not_met() -> None:
    """Nothing resamples them here: equal partitions alone are no equal states."""
    rows, stream = np.ones((3, 2), dtype=np.uint8), Rng(1)
    x, y = (Bernoulli(rows, concentration="gamma(2,1)") for _ in range(2))
    y.set_prior_values({"concentration": 2.0 * x.prior.concentration})
    chains = CoupledChains(x, y, stream, [Gibbs(x, stream)], [Gibbs(y, stream)], 1)
    chains.advance(200)
    assert chains.meeting == -1 and chains.iteration == 200


CONTINUOUS = (
    "lines-conjugate",
    "lines-conjugate-nig-metropolis",
    "gaussian-diag-gamma(2,3)-gamma(2,4)-gamma(2,1)",
    "gaussian-iso-gamma(1.5,3)",
    "gaussian-full-gamma(2,3)-gamma(2,4)",
    "mixed-gamma(2,1)",
    "gaussian-full-resolution-missing-b0-kappa0",
    "mixed-full-resolution-b0",
)
"""Cases whose parameters or scales are drawn from continuous distributions."""


def state_of_chain(model: Model) -> np.ndarray:
    held = model.parameters
    return np.append(np.zeros(0) if held is None else held.ravel(), model.prior.concentration)


@pytest.mark.parametrize("case_name", CONTINUOUS)
def test_continuous_draws_keep_their_distributions(case_name: str) -> None:
    """A refresh of two chains in different states: each coordinate has its distribution in a chain alone."""
    case = case_of(case_name)
    starts = []
    for seed, labels in ((1, [0, 0, 1, 1]), (2, [1, 0, 0, 0])):
        model = case.build()
        model.set_labels(np.array(labels))
        model.start_parameters(Rng(seed))
        for _ in range(3):
            Refresh(model, Rng(seed)).step()
        starts.append((np.array(labels), model.parameters, model.prior_values))

    def put(model: Model, start: tuple[np.ndarray, np.ndarray | None, float]) -> None:
        model.set_labels(start[0])
        if start[1] is not None:
            model.set_parameters(start[1])
        model.set_prior_values(start[2])

    x, y, rng = case.build(), case.build(), Rng(5)
    samplers = Refresh(x, rng), Refresh(y, rng)
    chains = CoupledChains(x, y, rng, [samplers[0]], [samplers[1]], 1)
    coupled: list[list[np.ndarray]] = [[], []]
    for _ in range(3000):
        put(x, starts[0])
        put(y, starts[1])
        chains.step()
        coupled[0].append(state_of_chain(x))
        coupled[1].append(state_of_chain(y))
    for which, start in enumerate(starts):
        alone, stream, found = case.build(), Rng(6 + which), []
        refresh = Refresh(alone, stream)
        for _ in range(3000):
            put(alone, start)
            refresh.step()
            found.append(state_of_chain(alone))
        for theirs, own in zip(np.transpose(coupled[which]), np.transpose(found), strict=True):
            assert ks_2samp(theirs, own).pvalue > 1e-4
    # equal states stay equal
    for _ in range(50):
        put(x, starts[0])
        put(y, starts[0])
        chains.step()
        np.testing.assert_array_equal(state_of_chain(x), state_of_chain(y))


@pytest.mark.parametrize("case_name", CONTINUOUS)
def test_parameters_and_scales_meet(case_name: str) -> None:
    """Chains that draw from continuous distributions come to be in one and the same state."""
    case = case_of(case_name)
    for seed in range(10):
        x, y, rng = case.build(), case.build(), Rng(seed)
        scan = Neal8 if not x.conjugate else Gibbs
        x.set_labels(np.zeros(4, dtype=int))
        y.set_labels(np.arange(4))
        for model in (x, y):
            model.start_parameters(rng)
        samplers = [[scan(model, rng), Refresh(model, rng)] for model in (x, y)]
        chains = CoupledChains(x, y, rng, *samplers, 1)
        chains.advance(5000)
        assert chains.meeting > 0
        np.testing.assert_array_equal(np.sort(state_of_chain(x)), np.sort(state_of_chain(y)))


@pytest.mark.parametrize("case_name", CONTINUOUS)
def test_rows_have_the_hyperparameters_of_both_chains(case_name: str) -> None:
    case = case_of(case_name)
    x, y, rng = case.build(), case.build(), Rng(2)
    for model in (x, y):
        model.start_parameters(rng)
    chains = CoupledChains(x, y, rng, [Refresh(x, rng)], [Refresh(y, rng)], 2)
    first = [list(model.hyperparameter_values.values()) for model in (x, y)]
    rows = chains.advance(2, until_met=False)["hyperparameters"]
    assert rows.shape == (3, 2, len(x.hyperparameters))
    np.testing.assert_array_equal(rows[0, 0], first[0])
    np.testing.assert_array_equal(rows[2, 0], list(x.hyperparameter_values.values()))
    if chains.meeting < 0:
        np.testing.assert_array_equal(rows[2, 1], first[1])


def test_transport_brings_partitions_together() -> None:
    """One item is put anew in both chains: on the average over pairs of states fewer pairs of items are together in one
    of the chains alone than with the maximal coupling, or as many."""
    case = of_size("gaussian-diag", 4)
    together = [np.equal.outer(labels, labels) for labels in (np.array(state[0]) for state in case.states)]
    apart = np.array([[np.sum(a != b) for b in together] for a in together])
    mean = {
        how: (
            joint_kernel(case.build, partial(make_sampler, "gibbs-scan=site"), case.states, coupling=how).J * apart
        ).sum()
        for how in ("maximal", "common", "transport")
    }
    assert mean["transport"] <= min(mean.values()) + 1e-9, mean


SUBCLUSTER = [
    # items, candidates of a parameter, whether weights have values too, options: each part of a step, and all
    (2, 2, True, {"rounds": 1, "t": 1, "pairs": 1}),
    (3, 2, True, {"rounds": 0}),
    (4, 1, False, {"rounds": 0}),
    (3, 2, False, {"scan": False, "t": 1, "rounds": 1}),
    (4, 1, True, {"scan": False, "t": 0, "rounds": 1, "splits": 0.4}),
    (4, 2, True, {"scan": False, "rounds": 0, "pairs": 1}),
    (3, 2, True, {"scan": False, "rounds": 0, "pairs": 2, "near": 2}),
]


def make_subcluster(options: dict[str, object], model: Model, rng: Rng) -> Sampler:
    return Subcluster(model, rng, **{"near": 1, "pairs": 0} | options)


@pytest.mark.parametrize(
    "which", [pytest.param(t, marks=[pytest.mark.slow] * (t == 4)) for t in range(len(SUBCLUSTER))]
)
def test_joint_kernel_of_subcluster(which: int) -> None:
    """On a finite base measure: parameters, weights, founders, labels, blocks, sides and pairs of both chains."""
    n, candidates, weights, options = SUBCLUSTER[which]
    kernel = joint_kernel(
        lambda: finite(n, candidates, weights), partial(make_subcluster, options), mixture_states(n), limit=20_000_000
    )
    check(kernel)


def put_permuted(model: Model, labels: np.ndarray, rng: np.random.Generator) -> None:
    """Put a model in the state of these labels, its clusters numbered anew."""
    model.set_labels(rng.permutation(labels.max() + 1)[labels])


@pytest.mark.parametrize("name", TABLES)
def test_subcluster_keeps_equal_chains_equal(name: str) -> None:
    """Drawn from continua, and whatever numbers the clusters have in either chain."""
    generator = np.random.default_rng(2)
    x, y, rng = TABLES[name](300), TABLES[name](300), Rng(4)
    samplers = [Subcluster(model, rng, rounds=2) for model in (x, y)]
    chains = CoupledChains(x, y, rng, [samplers[0]], [samplers[1]], 1)
    x.set_labels(generator.integers(9, size=300))
    before = set()
    for _ in range(25):
        put_permuted(y, x.labels, generator)
        chains.step()
        assert chains.distance == 0.0
        before.add(tuple(x.labels))
    assert len(before) == 25


@pytest.mark.parametrize(
    ("name", "tries", "options"),
    [
        *[(name, 3_000, {"rounds": 0, "pairs": 0}) for name in ("diag", "iso", "bernoulli")],
        pytest.param("diag", 10_000, {"rounds": 1}, marks=pytest.mark.slow),
        *[
            pytest.param(name, 150_000, {"rounds": 0, "pairs": 0}, marks=pytest.mark.slow)
            for name in ("diag", "bernoulli")
        ],
    ],
)
def test_subcluster_keeps_both_margins(name: str, tries: int, options: dict[str, int]) -> None:
    """Partitions after a step from two states beside those of a chain alone, with parameters from continua."""
    starts = [np.array([0, 0, 0, 1, 1]), np.array([0, 1, 0, 1, 1])]
    x, y, rng = TABLES[name](5), TABLES[name](5), Rng(5)
    samplers = [Subcluster(model, rng, **options) for model in (x, y)]
    chains = CoupledChains(x, y, rng, [samplers[0]], [samplers[1]], 1)
    coupled: list[list[int]] = [[], []]

    def code(model: Model) -> int:
        return int("".join(map(str, np.equal.outer(model.labels, model.labels)[np.triu_indices(5, 1)].astype(int))), 2)

    for _ in range(tries):
        for model, start in zip((x, y), starts, strict=True):
            model.set_labels(start)
        chains.step()
        for found, model in zip(coupled, (x, y), strict=True):
            found.append(code(model))
    for found, start in zip(coupled, starts, strict=True):
        model, stream, alone = TABLES[name](5), Rng(6), []
        sampler = Subcluster(model, stream, **options)
        for _ in range(tries):
            model.set_labels(start)
            sampler.step()
            alone.append(code(model))
        table = np.array([np.bincount(codes, minlength=1024) for codes in (found, alone)])
        often = table.sum(axis=0) >= 20
        table = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
        assert table.shape[1] > 4
        assert chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 1e-4


def test_subcluster_meets_where_many_items_are_ambiguous() -> None:
    """Two heaps that overlap: labels that are drawn at once, given parameters by one stream, come to agree at once."""
    points = np.random.default_rng(0).normal(size=(1_000, 2))
    points[:500, 0] += 3.0
    for seed in range(6):
        stream = Rng(seed)
        models = [Gaussian(points, kappa0=0.01, a0=2.0, b0=1.0) for _ in range(2)]
        for model, cut in zip(models, (1.0, 2.0), strict=True):
            model.set_labels((points[:, 0] > cut).astype(int))
        samplers = [[Subcluster(model, stream, rounds=0, pairs=0)] for model in models]
        chains = CoupledChains(*models, stream, *samplers, 1)
        chains.advance(300)
        assert chains.meeting > 0
