"""srm, arm, sarm and bsm, compiled and alone, with what they learn from held fixed: each kernel (i, j, z_a, z_b) is
reversible, not only their mixture; adaptive samplers, against the enumerated posterior.
"""

import numpy as np
import pytest
from enumerations import Enumeration
from every_sampler import LEARNERS, SAMPLERS, case_of, check_terms, pairs, with_slow

from splitmerge_cli.core.chain import Chain, advance_together
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.runs.initial import Schedule
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.reconfiguration import ARM
from splitmerge_cli.samplers.split_merge import BSM, Dyadic
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import state_of

build = case_of


def adaptive(case, name, **options):
    sampler_class, given = LEARNERS[name]
    return sampler_class(case.model, Rng(0), **given | options)


def fixed_matrix(case, sampler, history, pair):
    sampler.fix(*history, *pair)
    return transitions.transition_matrix(case.model, sampler.rng, sampler, case.states)


def every_past(case):
    """Each refinement of two partitions once: a partition and that of one cluster."""
    partitions = [np.array(state[0], dtype=np.int32) for state in case.states]
    return [(z, np.zeros_like(z)) for z in partitions if z.max() > 0]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("case_name", ["irm", "irm-uneven"])
def test_every_phi_of_four_nodes(case_name, name):
    case = build(case_name)
    sampler = adaptive(case, name)
    checked = 0
    for history in every_past(case):
        for i, j in transitions.disagreements(history):
            for pair in ((i, j), (j, i)):
                P = fixed_matrix(case, sampler, history, pair)
                assert transitions.balance_defect(P, case.pi) < 1e-15
                checked += 1
    assert checked == 120


@pytest.mark.parametrize(("case_name", "name"), with_slow(pairs(learning=True)))
def test_some_phis(case_name, name):
    """Every learning sampler of conf/sampler on every small case: reversible, its terms, its mutants."""
    case, form = case_of(case_name), SAMPLERS[name]
    rng = np.random.default_rng(4)
    for history in transitions.example_histories(case.states, 2):
        differ = transitions.disagreements(history)
        i, j = differ[rng.integers(len(differ))]
        for pair in ((i, j), (j, i)):
            sampler = form.sampler(case.model, Rng(0), **form.options)
            sampler.fix(*history, *pair)
            found = Enumeration(case, sampler)
            np.testing.assert_allclose(found.matrix.sum(axis=1), 1.0, rtol=1e-12)
            assert transitions.balance_defect(found.matrix, case.pi) < 1e-12
            check_terms(found)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_pair_is_uniform_over_disagreements(name):
    """The matrix with the pair drawn is the mean of those for each pair, either way round."""
    case = build("irm-uneven")
    sampler = adaptive(case, name)
    for history in transitions.example_histories(case.states, 5, seed=1):
        pairs = [pair for i, j in transitions.disagreements(history) for pair in ((i, j), (j, i))]
        mean = np.mean([fixed_matrix(case, sampler, history, pair) for pair in pairs], axis=0)
        np.testing.assert_allclose(fixed_matrix(case, sampler, history, ()), mean, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "bsm-similarity"])
def test_only_the_refinement_of_the_past_counts(name):
    """Two histories with the same blocks on which both agree move alike, given the pair."""
    case = build("irm-uneven")
    sampler = adaptive(case, name)
    first = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    second = np.array([0, 0, 1, 2]), np.array([0, 0, 0, 0])
    P, Q = (fixed_matrix(case, sampler, history, (0, 2)) for history in (first, second))
    np.testing.assert_allclose(P, Q, atol=1e-15)


def test_sams_with_a_pair_from_the_history():
    """Given the pair it is SAMS, whatever the history; the mean over all pairs is `sams` itself."""
    case = build("irm-uneven")
    sampler = adaptive(case, "bsm-sams")
    # these two disagree on every pair
    sampler.fix(np.array([0, 1, 2, 3]), np.array([0, 0, 0, 0]))
    sams = Dyadic(case.model, sampler.rng, allocation="sams")
    P, Q = (transitions.transition_matrix(case.model, sampler.rng, s, case.states) for s in (sampler, sams))
    np.testing.assert_allclose(P, Q, atol=1e-14)


def test_similarity_of_the_history_decides():
    """Both partitions join items 2 and 3 with item 0, one alone with item 1."""
    case = cases.small_case(IRM, 4, 2)
    sampler = adaptive(case, "bsm-similarity")
    sampler.fix(np.array([0, 1, 0, 0]), np.array([0, 0, 0, 0]), 0, 1)
    one = next(t for t, state in enumerate(case.states) if state[1] == 1)
    made = Enumeration(case, sampler).proposals
    from_one = made.origin == one
    chance = {case.states[t][0]: made.probability[from_one & (made.target == t)].sum() for t in set(made.target)}
    # side of 0: 1 + 1 by the first partition + 1 by the second; of 1: 1 + 1 by the second. The next item is joined by
    # both with the one that has gone there.
    assert chance[0, 1, 0, 0] == pytest.approx(3 / 5 * 5 / 7)
    assert chance[0, 1, 1, 1] == pytest.approx(2 / 5 * 4 / 7)


@pytest.mark.parametrize("name", ["arm", "sarm"])
def test_one_walk_alone_leads_from_one_partition_to_another(name):
    case = build("irm-uneven")
    sampler = adaptive(case, name)
    sampler.fix(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 0]), 0, 2)
    made = Enumeration(case, sampler).proposals
    ends = made.origin * made.states + made.target
    assert len(np.unique(ends)) >= 20
    for end in np.unique(ends):
        np.testing.assert_allclose(np.ptp(made.log_ratio[ends == end]), 0.0, atol=1e-9)


def test_blocks_and_items_are_drawn_by_the_joint_density():
    """Proposals from one cluster of six items: the block {2, 3}, then items 3, 4 and 5 one by one, each with the
    probability of what is then in place."""
    case = cases.small_case(Bernoulli, 6, 1)
    sampler = adaptive(case, "arm")
    sampler.fix(np.array([0, 1, 2, 2, 0, 0]), np.zeros(6, dtype=np.int32), 0, 1)
    pi = {state[0]: p for state, p in zip(case.states, case.pi, strict=True)}
    expected: dict[tuple[int, ...], float] = {}

    def go_on(labels, units, probability):
        if not units:
            expected[labels] = expected.get(labels, 0.0) + probability
            return
        others = {label for i, label in enumerate(labels) if i not in units[0]}
        moved = [[to if i in units[0] else label for i, label in enumerate(labels)] for to in (*others, 6)]
        options = {state_of(one, 0)[0] for one in moved}
        for option in options:
            go_on(option, units[1:], probability * pi[option] / sum(pi[one] for one in options))

    go_on((0, 1, 6, 6, 0, 0), [(2, 3), (3,), (4,), (5,)], 1.0)
    found = dict.fromkeys(expected, 0.0)
    for (labels, *_), p, *_ in transitions.list_paths(
        case.model, sampler.rng, sampler, ((0,) * 6, 1), always_accept=True
    ):
        found[labels] += p
    assert found == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(("t", "defect", "distance"), [(0, 0.0385, 0.0995), (1, 0.0112, 0.0216), (2, 0.0032, 0.0057)])
def test_as_printed_bsm_is_biased(t, defect, distance):
    """As printed the launch state reads the present partition: the largest defect of all (i, j, z_a, z_b) of the
    paper's network, and the distance of the stationary distribution with the pair drawn (docs/derivations.md)."""
    case = build("irm")
    sampler = BSM(case.model, Rng(0), t=t, mode="as_printed")
    history = np.zeros(4, dtype=np.int32), np.array([0, 1, 0, 0] if t == 0 else [0, 1, 1, 1], dtype=np.int32)
    found = [
        transitions.balance_defect(fixed_matrix(case, sampler, (z, one), pair), case.pi)
        for z, one in every_past(case)
        for pair in transitions.disagreements((z, one))
    ]
    assert max(found) == pytest.approx(defect, abs=1e-4)
    P = fixed_matrix(case, sampler, history, ())
    assert transitions.total_variation(transitions.stationary_distribution(P), case.pi) == pytest.approx(
        distance, abs=1e-4
    )


def test_as_printed_bsm_that_agrees_on_nothing_is_exact():
    case = build("irm")
    as_printed, exact = (BSM(case.model, Rng(0), t=1, mode=mode) for mode in ("as_printed", "exact"))
    history = np.zeros(4, dtype=np.int32), np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(fixed_matrix(case, as_printed, history, ()), fixed_matrix(case, exact, history, ()))


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_to_learn_from_is_null(name):
    case = build("irm")
    sampler = adaptive(case, name)
    P = transitions.transition_matrix(case.model, sampler.rng, sampler, case.states)
    np.testing.assert_array_equal(P, np.eye(15))
    same = np.array([0, 1, 1, 0], dtype=np.int32)
    np.testing.assert_array_equal(fixed_matrix(case, sampler, (same, same), ()), np.eye(15))


def test_example_histories():
    states = build("irm").states
    histories = transitions.example_histories(states, 8)
    assert len(histories) == 8
    assert [z.tolist() for z in histories[0]] == [[0, 0, 0, 0], [0, 1, 2, 3]]
    assert len(transitions.disagreements(histories[0])) == 6
    assert [z.tolist() for z in histories[1]] == [[0, 0, 0, 0], [0, 1, 1, 1]]
    assert transitions.disagreements(histories[1]) == [(0, 1), (0, 2), (0, 3)]
    assert all(transitions.disagreements(history) for history in histories)
    two = cases.small_case(IRM, 2, 0, {}).states
    assert len(transitions.example_histories(two, 8)) == 1
    assert transitions.example_histories(cases.small_case(IRM, 1, 0, {}).states, 8) == []


# ---- Chains with a shared history

SAMPLED = {
    "arm": (ARM, {}),
    "sarm": (ARM, {"variant": "sarm"}),
    "bsm": (BSM, {"t": 5}),
    "arm by likelihood": (ARM, {"past": "likelihood"}),
    "sarm by likelihood": (ARM, {"variant": "sarm", "past": "likelihood"}),
    "bsm by likelihood": (BSM, {"t": 5, "past": "likelihood"}),
}


@pytest.mark.parametrize("adaptation", ["frozen", "population"])
@pytest.mark.parametrize("case_name", ["irm", "bernoulli-five"])
@pytest.mark.parametrize("name", SAMPLED)
def test_learning_chains_sample_the_posterior(name, case_name, adaptation):
    """A snapshot that is fixed; or other chains' present states, with one Gibbs site, since chains that agree have
    nothing to learn."""
    case = build(case_name)
    sampler_class, options = SAMPLED[name]

    def chain(model, rng):
        samplers = [sampler_class(model, rng, adaptation=adaptation, freeze=200, **options)]
        if adaptation == "population":
            samplers.append(Gibbs(model, rng, scan="site"))
        return Schedule(samplers)

    distance, noise = kernel.sample_schedule(case, chain, 100_000, seed=0)
    assert noise < 0.03
    assert distance < 3 * noise


def test_frequencies_see_a_biased_learner():
    case = build("irm")

    def chain(model, rng):
        sampler = ARM(model, rng, adaptation="frozen", freeze=200)
        sampler.omit("reverse")
        return Schedule([sampler])

    distance, noise = kernel.sample_schedule(case, chain, 100_000, seed=0)
    assert distance > 10 * noise


def test_chains_that_agree_have_nothing_to_learn():
    """Population, alone: once all chains are in one state every move is null, for ever."""
    case = build("irm")
    chains = []
    for number in range(3):
        model, rng = case.build(), Rng(1, number)
        model.set_labels(np.array([0, 0, 1, 1]))
        chains.append(Chain(model, rng, [ARM(model, rng, adaptation="population")]))
    history = chains[0].samplers[0].adaptive.new_history(3)
    for number, chain in enumerate(chains):
        chain.adapt_to(history, number)
    advance_together(chains, 50)
    for chain in chains:
        assert sum(row["null"] for row in chain.samplers[0].counts()) == 50
        assert chain.last_labels.tolist() == [0, 0, 1, 1]


def test_the_chains_of_a_frozen_run_are_markov():
    """After the snapshot each chain's kernel is fixed: two runs that share their first `freeze` iterations and differ
    after them in another chain move alike."""
    runs = []
    for other_seed in (5, 6):
        case = build("irm-five")
        chains = []
        for number in range(2):
            model, rng = case.build(), Rng(3, number)
            model.set_labels(np.zeros(5, dtype=np.int32))
            sampler = ARM(model, rng, adaptation="frozen", freeze=30)
            chains.append(Chain(model, rng, [sampler, Gibbs(model, rng)], partitions=1))
        history = chains[0].samplers[0].adaptive.new_history(2)
        for number, chain in enumerate(chains):
            chain.adapt_to(history, number)
        advance_together(chains, 30)
        chains[1].rng.state = Rng(other_seed).state
        runs.append([rows["partition_labels"] for rows in advance_together(chains, 100)])
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert any((a != b).any() for a, b in zip(runs[0][1], runs[1][1], strict=True))
