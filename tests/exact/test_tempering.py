"""Parallel tempering: the whole transition matrix among the states of a chain and its replicas leaves the product of
their posteriors as it is; chains that go on; a posterior with two modes that no sampler crosses alone."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from compiled.coupled_paths import coupled_paths
from small_cases import SAMPLERS

from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.core.coupled import CoupledChains
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler
from splitmerge_cli.core.tempering import Swaps, Tempering, spread_powers
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models import gaussian, mixed
from splitmerge_cli.runs.advice import _describe_swaps
from splitmerge_cli.runs.plan import prepare
from splitmerge_cli.verify.cases import small_case
from splitmerge_cli.verify.paths import execution_paths
from splitmerge_cli.verify.transitions import state_of


class Joint(PythonSampler):
    """A step of tempering from given states of the replicas; notes the states that they end in."""

    MOVES = Tempering.MOVES

    def __init__(self, tempering, starts):
        super().__init__(tempering.model, tempering.rng)
        self.tempering, self.starts, self.ends = tempering, starts, []

    def python_step(self):
        for (model, _), (labels, K) in zip(self.tempering.replicas, self.starts, strict=True):
            model.set_labels(np.array(labels), K if model.allows_empty else None)
        self.tempering.step()
        self.ends.append([state_of(model.labels, model.K) for model, _ in self.tempering.replicas])


def joint_matrix(cases, names, omit=()):
    """States of chain and replicas, their probabilities, and the transition matrix of a step of tempering."""
    rng, model = Rng(0), cases[1.0].model

    def make(power):
        replica = cases[power].model
        return replica, [SAMPLERS[name][0](replica, rng, **SAMPLERS[name][1]) for name in names]

    tempering = Tempering(model, rng, make, [power for power in cases if power < 1.0])
    tempering.omit(*omit)
    states = list(product(*(case.states for case in cases.values())))
    number = {state: t for t, state in enumerate(states)}
    pi = np.array([np.prod(p) for p in product(*(case.pi for case in cases.values()))])
    P = np.zeros((len(states), len(states)))
    for t, (chain, *replicas) in enumerate(states):
        joint = Joint(tempering, replicas)
        found = execution_paths(model, rng, joint, *chain)
        for labels, K, p, ends in zip(found["labels"], found["K"], found["probability"], joint.ends, strict=True):
            P[t, number[state_of(labels, int(K)), *ends]] += p
    return pi, P


def cases_of(model_class, powers, **params):
    return {power: small_case(model_class, 3, 0, params | {"power": power}) for power in (1.0, *powers)}


@pytest.mark.parametrize("names", [(), ("gibbs-site",), ("sams",)])
@pytest.mark.parametrize("model_class", [gaussian.Gaussian, mixed.Mixed])
def test_a_step_leaves_the_product_of_the_posteriors(model_class, names):
    pi, P = joint_matrix(cases_of(model_class, (0.3,)), names)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert np.abs(pi @ P - pi).max() < 1e-13
    assert np.abs(P - np.eye(len(P))).max() > 0.1


def test_two_replicas():
    pi, P = joint_matrix(cases_of(gaussian.Gaussian, (0.5, 0.2)), ())
    assert np.abs(pi @ P - pi).max() < 1e-13


@pytest.mark.parametrize("power", [0.3, 0.8])
def test_a_network_is_tempered_by_its_likelihood(power):
    """A power raises the likelihood that a partition has when parameters are integrated out."""
    cases = {p: small_case(IRM, 4, 0, {"beta1": 0.3, "beta0": 1.7}) for p in (1.0, power)}
    model, density = cases[power].model, []
    for labels, _ in cases[power].states:
        model.set_labels(np.array(labels, dtype=np.int32))
        density.append([model.log_joint(), model.log_lik_total()])
    joint, likelihood = np.array(density).T
    weight = np.exp(joint + (power - 1.0) * likelihood - joint.max())
    model.temper(power)
    cases[power] = replace(cases[power], pi=weight / weight.sum())
    for names in ((), ("gibbs-site",), ("sams",)):
        pi, P = joint_matrix(cases, names)
        assert np.abs(pi @ P - pi).max() < 1e-12
    assert np.abs(cases[1.0].pi - cases[power].pi).max() > 0.01


def test_a_mutant_is_found():
    pi, P = joint_matrix(cases_of(gaussian.Gaussian, (0.3,)), (), omit=("target",))
    assert np.abs(pi @ P - pi).max() > 1e-3


# -- chains
ROWS, COLUMNS = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
TEMPERED = ["data=jain_neal", "N=20", "sampler=sams", "seed=3", "tempering.levels=2"]


def chain_of(overrides, starts=True):
    return prepare(specify(overrides)).builder.chain(0, starts)


def test_a_chain_goes_on_with_its_replicas():
    whole, first, second = chain_of(TEMPERED), chain_of(TEMPERED), chain_of(TEMPERED, starts=False)
    expected = whole.advance(12)["log_joint"]
    begun = first.advance(5)["log_joint"]
    second.state = first.state
    assert second.samplers[-1].powers == first.samplers[-1].powers != list(spread_powers(2, 0.1))
    np.testing.assert_array_equal(np.r_[begun, second.advance(7)["log_joint"]], expected)
    for damaged in ({"own": None}, {"own": [None] * 3}, {"own": [None, None, {"powers": [0.5, 0.7], "states": []}]}):
        with pytest.raises(ValueError, match=r"state of a chain|powers of replicas"):
            second.state = first.state | damaged


def test_without_replicas_a_run_is_what_it_was():
    assert "tempering" not in specify(TEMPERED[:-1]).identity
    assert specify(TEMPERED).identity["tempering"] == {"levels": 2, "least": 0.1}


@pytest.mark.parametrize(
    ("accepted", "advice"),
    [
        ([70, 10], None),
        ([70, 9], "tempering.levels=3, or a larger tempering.least"),
        ([9] * 8, "with a larger tempering.least"),
    ],
)
def test_seldom_swaps_are_said(accepted, advice):
    moves = {f"swap {t}": {"proposed": 100, "accepted": n} for t, n in enumerate(accepted, start=1)}
    text = _describe_swaps([0.5] * len(accepted), moves)
    assert f"{accepted[0]}%, {accepted[1]}%" in text
    assert ("more often" not in text) if advice is None else text.endswith(advice)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model=lines", "data=lines"], "model=lines has no powers of the likelihood; .*gaussian.*irm"),
        (["data=jain_neal", "sampler=bsm"], "sampler=bsm learns from several chains"),
        (["data=jain_neal", "tempering.least=1"], "tempering.least=1"),
    ],
)
def test_what_is_not_tempered(overrides, message):
    with pytest.raises(ConfigError, match=message):
        chain_of([*overrides, "N=20", "tempering.levels=2"])


# -- coupled chains
class From(PythonSampler):
    """`Swaps` from given states of the replicas; notes the states that they end in."""

    MOVES = Swaps.MOVES

    def __init__(self, swaps):
        super().__init__(swaps.model, swaps.rng)
        self.swaps, self.starts, self.ends = swaps, (), []

    def python_step(self):
        replicas = [model for model, _ in self.swaps.tempering.replicas]
        for model, (labels, K) in zip(replicas, self.starts, strict=True):
            model.set_labels(np.array(labels), K if model.allows_empty else None)
        self.swaps.step()
        self.ends.append(tuple(state_of(model.labels, model.K) for model in replicas))


def test_joint_kernel_of_swaps():
    """Both margins are the swaps of one chain; equal states stay equal."""
    powers, rng = (0.3,), Rng(0)
    _, P = joint_matrix(cases_of(gaussian.Gaussian, powers), ())
    both = [cases_of(gaussian.Gaussian, powers) for _ in range(2)]
    temperings = [Tempering(cases[1.0].model, rng, lambda p, c=cases: (c[p].model, []), powers) for cases in both]
    steps = [From(Swaps(tempering)) for tempering in temperings]
    replicas = [[model for model, _ in tempering.replicas] for tempering in temperings]
    x, y = (cases[1.0].model for cases in both)
    chains = CoupledChains(x, y, rng, steps[:1], steps[1:], 1, None, "maximal", *replicas)
    states = list(product(*(case.states for case in both[0].values())))
    number = {state: t for t, state in enumerate(states)}
    for a, of_x in enumerate(states):
        for b, of_y in enumerate(states):
            for step, (_, *starts) in zip(steps, (of_x, of_y), strict=True):
                step.starts, step.ends = starts, []
            found = coupled_paths(chains, 0, of_x[0], of_y[0])
            J = np.zeros((len(states), len(states)))
            for t, p in enumerate(found["probability"]):
                ends = [
                    number[state_of(found["labels"][t, s], int(found["K"][t, s])), *steps[s].ends[t]] for s in (0, 1)
                ]
                J[*ends] += p
            np.testing.assert_allclose(J.sum(axis=1), P[a], atol=1e-12)
            np.testing.assert_allclose(J.sum(axis=0), P[b], atol=1e-12)
            assert a != b or abs(np.trace(J) - 1.0) < 1e-12


def test_coupled_chains_meet_with_all_their_replicas():
    """The chain that is ahead makes the draws of one that is not coupled; all replicas meet, and stay together."""
    builder = prepare(specify([*TEMPERED, "schedule.moves=2"])).builder
    chains, other = (builder.coupled_chains(1, 7, "maximal", (0.6, 0.3)) for _ in range(2))
    chains.advance(5)
    replicas = sum(len(samplers) for _, samplers in other.samplers_x[-1].tempering.replicas)
    for _ in range(5):
        for sampler in other.samplers_x[: -1 - replicas]:
            sampler.step()
        other.samplers_x[-1].tempering.step()
    for one, same in zip(chains.models_x, other.models_x, strict=True):
        np.testing.assert_array_equal(one.labels, same.labels)
    chains.advance(20_000)
    assert chains.meeting > 7

    def are_together():
        both = zip(chains.models_x, chains.models_y, strict=True)
        return all((by_appearance(x.labels) == by_appearance(y.labels)).all() for x, y in both)

    assert are_together()
    for _ in range(20):
        for t in range(len(chains.samplers_x)):
            chains.step(t)
    assert are_together()
    with pytest.raises(ValueError, match="powers: expected 2, got 0"):
        builder.coupled_chains(1, 7, "maximal")


def grid(copies):
    """Nine items in three rows and three columns, with as many binary cells for each: the posterior has two modes."""
    cells = [np.repeat(np.eye(3, dtype=int)[of], copies, axis=1) for of in (ROWS, COLUMNS)]
    return np.hstack(cells).astype(np.uint8)


def is_by_rows(labels):
    """Whether a partition is that of the rows, or of the columns; None for another."""
    same = [len(np.unique(labels)) == 3 == len({*zip(labels, of, strict=True)}) for of in (ROWS, COLUMNS)]
    return None if not any(same) else same[0]


@pytest.mark.slow
def test_tempering_crosses_between_two_modes(tmp_path):
    """Neither mode is left by a chain alone; with replicas both are visited as often as the enumeration says."""
    np.savetxt(tmp_path / "grid.csv", grid(16), fmt="%d", delimiter=",", header=",".join(f"x{j}" for j in range(96)))
    overrides = ["data=csv", f"data.path={tmp_path / 'grid.csv'}", "model=bernoulli", "sampler=sams"]
    overrides += ["model.beta1=0.5", "model.beta0=0.5"]
    alone = chain_of(overrides)
    alone.model.set_labels(ROWS.astype(np.int32))
    tempered = chain_of([*overrides, "tempering.levels=5", "tempering.least=0.05"])
    visited = {"alone": [], "tempered": []}
    for name, chain in (("alone", alone), ("tempered", tempered)):
        for _ in range(1_000):
            for sampler in chain.samplers:
                sampler.step()
            visited[name].append(is_by_rows(chain.model.labels))
    assert visited["alone"].count(False) == 0
    by_rows = np.array([by for by in visited["tempered"] if by is not None])
    batches = by_rows[: len(by_rows) // 20 * 20].reshape(20, -1).mean(axis=1)
    assert (np.diff(by_rows) != 0).sum() > 50
    assert abs(batches.mean() - 0.5) < 4 * batches.std(ddof=1) / np.sqrt(20)
