"""The portfolio: its kernel is the mixture of its samplers' kernels, whatever the weights; what is learned stays."""

import json

import numpy as np
import pytest
from every_sampler import case_of

from splitmerge_cli import config, runs
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.runs.advice import _describe_portfolio
from splitmerge_cli.samplers.portfolio import MEMBERS, Portfolio
from splitmerge_cli.verify.transitions import stationarity_defect, transition_matrix

WEIGHTS = {"sams": 0.5, "ssdm": 0.1, "smds": 0.25, "rgsm": 0.05, "srm": 0.1}


def portfolio_of(case, weights: dict[str, float], moves: int = 1) -> Portfolio:
    sampler = Portfolio(case.model, Rng(0), learning=0, t=1, moves=moves)
    value = sampler.own_state()
    sampler.set_own_state(value | {"weight": [weights[name] for name in sampler.moves]})
    return sampler


def kernels(case) -> dict[str, np.ndarray]:
    """The transition matrix of each sampler alone."""
    found = {}
    for name, (cls, given, *_) in MEMBERS.items():
        sampler = cls(case.model, Rng(0), **given, **({"t": 1} if name == "rgsm" else {}))
        found[name] = transition_matrix(case.model, sampler.rng, sampler, case.states)
    return found


@pytest.mark.parametrize("case_name", ["bernoulli", "irm-uneven"])
def test_the_kernel_is_the_mixture_by_the_weights(case_name):
    case = case_of(case_name)
    alone = kernels(case)
    mixture = sum(WEIGHTS[name] * P for name, P in alone.items())
    one = portfolio_of(case, WEIGHTS)
    P = transition_matrix(case.model, one.rng, one, case.states)
    np.testing.assert_allclose(P, mixture, atol=1e-13)
    assert stationarity_defect(P, case.pi) < 1e-13
    # weights that depend on the state, as they would if the chain went on learning
    other = sum(P for P in alone.values()) / len(alone)
    few = np.array([K == 1 for _, K in case.states])
    assert stationarity_defect(np.where(few[:, None], other, mixture), case.pi) > 1e-4


def resolvent(P: np.ndarray, pi: np.ndarray, h: np.ndarray) -> float:
    """<h, (I - P)^-1 h> of a centred h: half the sum of its asymptotic variance and its variance."""
    centred = h - pi @ h
    solved = np.linalg.solve(np.eye(len(pi)) - P + pi, centred)
    return float(pi @ (centred * solved))


@pytest.mark.parametrize("case_name", ["bernoulli", "irm-uneven"])
def test_a_mixture_loses_at_most_the_weight_of_each_sampler(case_name):
    case = case_of(case_name)
    alone = kernels(case)
    mixture = sum(WEIGHTS[name] * P for name, P in alone.items())
    for h in (np.array([K for _, K in case.states], dtype=float), np.log(case.pi)):
        found = resolvent(mixture, case.pi, h)
        bounds = {name: resolvent(P, case.pi, h) / WEIGHTS[name] for name, P in alone.items()}
        assert found <= min(bounds.values()) * (1 + 1e-9)
        # the bound is one that a kernel may break: that of the best sampler without its weight does
        assert found > min(resolvent(P, case.pi, h) for P in alone.values())


def test_a_step_makes_its_moves_one_after_the_other():
    case = case_of("bernoulli")
    one, two = (
        portfolio_of(case, {**WEIGHTS, "rgsm": 0.0, "srm": 0.0}),
        portfolio_of(case, {**WEIGHTS, "rgsm": 0.0, "srm": 0.0}, moves=2),
    )
    P = transition_matrix(case.model, one.rng, one, case.states)
    np.testing.assert_allclose(transition_matrix(case.model, two.rng, two, case.states), P @ P, atol=1e-13)


def chain_of(*overrides: str):
    given = ("data=gaussian", "N=200", "data.components=6", "sampler=portfolio", "init=one_cluster", "chains=1")
    return runs.prepare(config.compose([*given, "iterations=1000", *overrides])).builder.chain(0)


def test_weights_are_learned_then_stay():
    chain = chain_of("sampler.learning=60", "sampler.floor=0.2")
    sampler = chain.samplers[0]
    first = sampler.weights
    chain.advance(60)
    learned, state = sampler.weights, sampler.own_state()
    assert max(abs(learned[name] - first[name]) for name in first) > 0.01
    cost = np.array([(w + 1) / (t + 1) for w, t in zip(state["work"], state["tries"], strict=True)])
    # what is kept of the sums is 0.8 of what the weights were made of
    share = np.array(list(learned.values())) * cost
    assert (share / share.sum()).min() > 0.2 * 0.95
    chain.advance(100)
    assert sampler.weights == learned
    assert sampler.own_state()["moves"] == state["moves"]


def portfolio_of_one(model, name: str, **options) -> Portfolio:
    """A portfolio that learns, and makes moves of one sampler."""
    sampler = Portfolio(model, Rng(1), learning=1_000, moves=1, **options)
    sampler.set_own_state(sampler.own_state() | {"weight": [float(one == name) for one in sampler.moves]})
    return sampler


def work_of_a_step(sampler: Portfolio) -> float:
    # no change of the weights
    sampler.set_own_state(sampler.own_state() | {"steps": 0})
    before = sum(sampler.own_state()["work"])
    sampler.step()
    return round(sum(sampler.own_state()["work"]) - before, 6)


N_ITEMS, OVERHEAD = 30, 50.0
HALVES = np.arange(N_ITEMS) % 2


@pytest.mark.parametrize("name", MEMBERS)
def test_the_work_of_a_move(name):
    """A split of all items counts all that it may cost; a merge that is rejected early the part before that, here of
    rows that differ in 200 columns; a null proposal no item."""
    _, _, before, after, unions = MEMBERS[name]
    before *= 5 if name == "rgsm" else 1
    items = N_ITEMS - 2 if name in ("sams", "rgsm") else N_ITEMS
    model = Bernoulli(np.repeat(HALVES[:, None], 200, axis=1).astype(np.uint8))
    sampler = portfolio_of_one(model, name)
    whole = {OVERHEAD + K * unions + items * (before + after) for K in (1, 2)}
    early = OVERHEAD + 2 * unions + items * before
    seen = set()
    for _ in range(12):
        model.set_labels(np.zeros(N_ITEMS, dtype=np.int32))
        seen.add(work_of_a_step(sampler))
    assert seen & whole
    for _ in range(12):
        model.set_labels(HALVES.astype(np.int32))
        seen.add(work_of_a_step(sampler))
    assert early in seen


def test_a_null_proposal_takes_no_work_for_items():
    model = Bernoulli(np.eye(4, dtype=np.uint8))
    sampler = portfolio_of_one(model, "ssdm")
    nulls = 0
    for _ in range(40):
        for labels in ([0, 0, 0, 0], [0, 1, 2, 3]):
            model.set_labels(labels)
            before = sum(row["null"] for row in sampler.counts())
            work = work_of_a_step(sampler)
            if sum(row["null"] for row in sampler.counts()) > before:
                nulls += 1
                assert work == OVERHEAD + 6.0 * len(set(labels))
    assert nulls > 5


def test_moves_are_counted_as_their_samplers_count_them():
    chain = chain_of("sampler.learning=30")
    sampler = chain.samplers[0]
    chain.advance(60)
    for row, member in zip(sampler.counts(), sampler.members, strict=True):
        for key in ("proposed", "accepted", "null"):
            assert row[key] == sum(own[key] for own in member.counts()), (row["move"], key)


def test_weights_are_what_the_counts_say():
    """The formulas of the module, from the counts after a change of the weights, of which 0.8 is kept."""
    chain = chain_of("sampler.learning=50", "sampler.floor=0.04", "sampler.share=0.6", "schedule=move_only")
    sampler = chain.samplers[0]
    for steps in (20, 20, 10):
        chain.advance(steps)
        state = sampler.own_state()
        tries, work, change = (np.array(state[key]) / 0.8 for key in ("tries", "work", "change"))
        assert (change >= 0.0).all() and change.sum() > 0.0
        rates = change / (work + OVERHEAD)
        cost = (work + OVERHEAD) / (tries + 1.0)
        weight = (0.04 + (1.0 - 5 * 0.04) * rates / rates.sum()) / cost
        np.testing.assert_allclose(list(sampler.weights.values()), weight / weight.sum(), rtol=1e-12)
    # 0.6 of the work is that of moves, whose shares sum to 1; the rest that of a scan
    wanted = 0.6 / 0.4 * 200 * (chain.last_labels.max() + 1) * weight.sum()
    assert state["moves"] == min(200, max(1, round(wanted)))


def test_a_chain_that_is_taken_up_learns_on():
    whole, part, rest = chain_of(), chain_of(), chain_of()
    whole.advance(150)
    part.advance(70)
    rest.state = part.state
    rest.advance(80)
    assert rest.samplers[0].own_state() == whole.samplers[0].own_state()
    assert rest.last_labels.tolist() == whole.last_labels.tolist()


@pytest.mark.parametrize(
    "change",
    [{"moves": 0}, {"steps": -1}, {"steps": 201}, {"weight": [1.0]}, {"weight": [0.0] * 5}, {"work": [-1.0] * 5}],
)
def test_a_state_that_is_none_is_rejected(change):
    sampler = Portfolio(case_of("bernoulli").model, Rng(0))
    with pytest.raises(ValueError, match="portfolio"):
        sampler.set_own_state(sampler.own_state() | change)


def test_chains_that_learn_are_not_coupled():
    model = case_of("bernoulli").model
    assert not Portfolio(model, Rng(0)).couples()[0]
    assert Portfolio(model, Rng(0), learning=0).couples()[0]


def test_the_end_of_a_run_says_what_the_weights_became(tmp_path):
    chosen = ("data=gaussian", "N=60", "sampler=portfolio", "chains=1", "iterations=100", "sampler.learning=40")
    path = runs.run(config.compose([*chosen, f"out={tmp_path}", "progress=none"]))
    found = json.loads((path / "summary.json").read_text())["portfolio"]
    assert found["learned"] == 40
    assert sum(found["weights"].values()) == pytest.approx(1.0)
    line = _describe_portfolio(found | {"moves": 1}, 80)
    assert line.startswith("portfolio: 1 move a step, ") and "learned in 40 steps" in line
    assert line.endswith("of chain 0)")
    assert _describe_portfolio(found, 79).endswith("in the second half of 79 iterations; 80 are enough")
    assert all(f"{name} " in line for name in MEMBERS)
