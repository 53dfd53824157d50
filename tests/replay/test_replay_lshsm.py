"""Replay for the samplers of Luo & Shrivastava 2018: lshsm and its reference on one random stream, with plain
tables made from the compiled ones' directions. Compared after every move: labels, K, log ratio, which of the four moves
it was; at the end the counts of each move.
"""

from __future__ import annotations

import itertools

import enumerated
import numpy as np
import pytest
import test_replay_arm
import test_replay_triadic
from enumerated import remembering
from plain import Bernoulli
from plain_continuous import CandidateLines
from plain_continuous import Gaussian as plain_gaussian
from reference_lshsm import LSHSM, SampledLikelihood, Tables
from replaying import Pair, check_ratio
from scipy.sparse import csr_array
from test_replay_triadic import EARLIER

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.data.base import Dataset
from splitmerge_cli.models import bernoulli as compiled_bernoulli
from splitmerge_cli.models import gaussian as compiled_gaussian
from splitmerge_cli.samplers import lshsm
from splitmerge_cli.samplers.hash_tables import HashTables
from splitmerge_cli.verify.enumerate import mixture_states
from splitmerge_cli.verify.transitions import transition_matrix

NETWORK, VECTORS = test_replay_arm.NETWORK, test_replay_triadic.VECTORS
POINTS, BITS = test_replay_triadic.POINTS, test_replay_triadic.BITS
MODELS = {
    "gaussian": (lambda: test_replay_triadic.gaussian("diag"), VECTORS),
    "gaussian-uniform": (lambda: test_replay_triadic.gaussian("full", prior="uniform"), VECTORS),
    "bernoulli": (test_replay_triadic.bernoulli, BITS),
    "lines": (test_replay_triadic.lines, POINTS),
    "irm": (test_replay_arm.irm, NETWORK),
}
PROPOSALS = ("paired", "paired_sequential", "sums")
READINGS = ("table", "union")
# (bits, tables, tables_seed)
SHAPES = [(1, 1, 0), (1, 4, 1), (2, 2, 2), (3, 3, 3)]


def plain_tables(compiled, vectors, centre=True):
    """Tables of the reference, from the directions alone."""
    return Tables(vectors, compiled.directions, compiled.bits, centre)


def doubles(pair, vectors, proposal, reading, shape=(1, 4, 1), mode="exact", centre=True, **more):
    """The compiled sampler and the reference of the same directions; `more` are options of the compiled one."""
    bits, tables, seed = shape
    options = {"proposal": proposal, "reading": reading}
    shaped = {"bits": bits, "tables": tables, "centre": centre, "tables_seed": seed, **more}
    compiled = lshsm.LSHSM(pair.model, pair.rng, mode=mode, **options, **shaped)
    plain = plain_tables(compiled.tables, vectors, centre)
    likelihood = SampledLikelihood(pair.state.model, plain) if more.get("likelihood") == "lss" else None
    return compiled, LSHSM(pair.state, pair.stream, mode=mode, tables=plain, likelihood=likelihood, **options)


def printed_movers(pair, vectors, reading, shape=(1, 4, 1), **more):
    """Build the sampler and its reference in the printed version."""
    return doubles(pair, vectors, "sums", reading, shape, mode="as_printed", **more)


def replay(pair, compiled, ref, steps):
    for step in range(steps):
        compiled.step()
        ref.step()
        assert compiled.last_move == ref.move, f"kind of move {step}"
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    check_tally(compiled, ref)
    pair.check_end()


def check_tally(compiled, ref):
    for row in compiled.counts():
        for what in ("accepted", "null"):
            assert row[what] == ref.tally.get((row["move"], what), 0), (row["move"], what)


# ---- The tables


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("vectors", [VECTORS, POINTS, BITS, NETWORK], ids=["gaussian", "lines", "bernoulli", "irm"])
def test_tables(vectors, shape, centre):
    bits, tables, seed = shape
    compiled = HashTables(vectors, bits=bits, tables=tables, centre=centre, seed=seed)
    plain = plain_tables(compiled, vectors, centre)
    assert [compiled.N, compiled.bits, compiled.tables] == [plain.N, plain.bits, plain.tables]
    for u in range(plain.N):
        coded = [sum(bit << b for b, bit in enumerate(code)) for code in plain.codes[u] or []] or [-1] * tables
        assert compiled.codes[u].tolist() == coded
        for v, opposite, reading in itertools.product(range(plain.N), (False, True), READINGS):
            q = compiled.probability(u, v, opposite=opposite, reading=reading)
            assert q == pytest.approx(float(plain.probability(u, v, opposite, reading)), abs=1e-15)


def test_tables_of_items_without_a_direction():
    """The mean itself; without centring the origin."""
    points = np.array([[1.0, 2.0], [-1.0, -2.0], [0.0, 0.0], [3.0, 1.0], [-3.0, -1.0], [0.0, 0.0]])
    for centre in (True, False):
        compiled = HashTables(points, bits=1, tables=3, centre=centre, seed=4)
        plain = plain_tables(compiled, points, centre)
        assert [u for u in range(6) if plain.codes[u] is None] == [2, 5]
        assert [u for u in range(6) if (compiled.codes[u] < 0).all()] == [2, 5]
        for u, v, opposite in itertools.product(range(6), range(6), (False, True)):
            q = compiled.probability(u, v, opposite=opposite)
            assert q == pytest.approx(float(plain.probability(u, v, opposite, "table")), abs=1e-15)


# ---- The moves


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_move_by_move(proposal, reading, model, shape):
    build, vectors = MODELS[model]
    pair = Pair(build(), 1)
    replay(pair, *doubles(pair, vectors, proposal, reading, shape), 150)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("model", [name for name in MODELS if name != "irm"])
@pytest.mark.parametrize("reading", READINGS)
def test_as_printed(reading, model, shape):
    """Equations 3 to 6 as printed; also with a far too small cache of collision probabilities."""
    build, vectors = MODELS[model]
    for seed, cache in ((1, {}), (2, {"cache": 3}), (3, {"cache": 1})):
        pair = Pair(build(), seed)
        compiled, ref = doubles(pair, vectors, "sums", reading, shape, mode="as_printed", **cache)
        replay(pair, compiled, ref, 80)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_the_tables_need_no_centre(proposal, reading):
    for model, seed in (("bernoulli", 2), ("gaussian", 3)):
        build, vectors = MODELS[model]
        pair = Pair(build(), seed)
        replay(pair, *doubles(pair, vectors, proposal, reading, centre=False), 100)


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_from_singletons_and_from_one_cluster(proposal):
    """The states from which merges, and splits, come thick and fast."""
    for labels in (list(range(11)), [0] * 11):
        for model in ("gaussian", "irm"):
            build, vectors = MODELS[model]
            pair = Pair(build(), 4, labels)
            replay(pair, *doubles(pair, vectors, proposal, "table"), 60)


@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1], [0, 1, 1]], ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_one_two_and_three_items(proposal, reading, labels):
    n = len(labels)
    pair = Pair(test_replay_triadic.gaussian("diag", x=VECTORS[:n]), 1, labels)
    replay(pair, *doubles(pair, VECTORS[:n], proposal, reading, (1, 2, 0)), 40)


@pytest.mark.parametrize(("proposal", "mode"), [*((p, "exact") for p in PROPOSALS), ("sums", "as_printed")])
def test_items_without_a_direction_and_twins(proposal, mode):
    """Items at the centre are in no bucket; equal items are always in the same one."""
    rows = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 1], [0, 0], [0, 0]], dtype=np.uint8)
    params = {"concentration": 1.4, "beta1": 0.3, "beta0": 0.5}
    for centre in (True, False):
        pair = Pair((compiled_bernoulli.Bernoulli(rows, **params), Bernoulli(rows, **params)), 2)
        replay(pair, *doubles(pair, rows, proposal, "table", (2, 2, 1), mode, centre), 100)


@pytest.mark.parametrize("proposal", ["paired", "paired_sequential"])
def test_models_whose_clusters_keep_parameters(proposal):
    build = test_replay_triadic.KEPT["candidates"]
    assert isinstance(build()[1], CandidateLines)
    pair = Pair(build(), 5)
    replay(pair, *doubles(pair, POINTS, proposal, "table"), 150)


# ---- Beside other samplers: what a move keeps of the clusters must not be that of another time


@pytest.mark.parametrize("scan", ["gibbs-full", "gibbs-site"])
@pytest.mark.parametrize(("model", "mode"), [("gaussian", "exact"), ("irm", "exact"), ("lines", "as_printed")])
@pytest.mark.parametrize("reading", READINGS)
def test_schedule_of_move_and_scan(reading, model, mode, scan):
    build, vectors = MODELS[model]
    pair = Pair(build(), 7)
    compiled, ref = doubles(pair, vectors, "sums", reading, mode=mode)
    compiled_scan, ref_scan = pair.sampler(EARLIER[scan])
    chain = Chain(pair.model, pair.rng, [compiled, compiled_scan])
    for step in range(40):
        chain.advance(1)
        ref.step()
        ref_scan.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    check_tally(compiled, ref)
    pair.check_end()


def test_several_of_them_in_a_weighted_schedule():
    """Each changes the clusters behind the other's back."""
    build, vectors = MODELS["gaussian"]
    pair = Pair(build(), 8)
    kinds = [("sums", "table"), ("sums", "union"), ("paired", "table")]
    made = [doubles(pair, vectors, *kind) for kind in kinds] + [pair.sampler(EARLIER["gibbs-site"])]
    weights = [2.0, 2.0, 1.0, 1.0]
    chain = Chain(pair.model, pair.rng, [compiled for compiled, _ in made], weights=weights)
    for step in range(150):
        chain.advance(1)
        made[pair.stream.categorical(weights)][1].step()
        pair.check_state(step)
    for compiled, ref in made[:3]:
        check_tally(compiled, ref)
    pair.check_end()


@pytest.mark.parametrize("reading", READINGS)
def test_a_long_run_of_many_items(reading):
    """Sums that are kept and updated do not drift: 400 moves of 30 items, most of them accepted early on."""
    x = test_replay_triadic.MANY_VECTORS
    pair = Pair(test_replay_triadic.gaussian("diag", x=x), 3, list(range(30)))
    replay(pair, *doubles(pair, x, "sums", reading, (2, 5, 1)), 400)


# ---- Equation 11


SAMPLED = {
    "diag": lambda x: test_replay_triadic.gaussian("diag", x=x),
    "diag-uniform": lambda x: test_replay_triadic.gaussian("diag", x=x, prior="uniform"),
    "iso": lambda x: test_replay_triadic.gaussian("iso", x=x),
}


@pytest.mark.parametrize("shape", [*SHAPES, (10, 10, 4)], ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("model", SAMPLED)
def test_sampled_likelihood(model, reading, shape):
    """Log ratios, labels and draws, move by move: no further draw is made."""
    for seed in (1, 2):
        pair = Pair(SAMPLED[model](VECTORS), seed)
        replay(pair, *printed_movers(pair, VECTORS, reading, shape, likelihood="lss"), 100)


def test_sampled_likelihood_without_a_centre():
    pair = Pair(SAMPLED["diag"](VECTORS), 3)
    replay(pair, *printed_movers(pair, VECTORS, "table", centre=False, likelihood="lss"), 100)


@pytest.mark.parametrize("labels", [list(range(11)), [0] * 11], ids=["singletons", "one cluster"])
@pytest.mark.parametrize("model", SAMPLED)
def test_sampled_likelihood_from_singletons_and_from_one_cluster(model, labels):
    pair = Pair(SAMPLED[model](VECTORS), 4, labels)
    replay(pair, *printed_movers(pair, VECTORS, "union", (2, 3, 1), likelihood="lss"), 80)


@pytest.mark.parametrize("scan", ["gibbs-full", "gibbs-site"])
def test_sampled_likelihood_beside_scans(scan):
    """Sums that are kept for a cluster must not be those of another time."""
    pair = Pair(SAMPLED["diag"](VECTORS), 7)
    compiled, ref = printed_movers(pair, VECTORS, "table", likelihood="lss")
    compiled_scan, ref_scan = pair.sampler(EARLIER[scan])
    chain = Chain(pair.model, pair.rng, [compiled, compiled_scan])
    for step in range(60):
        chain.advance(1)
        ref.step()
        ref_scan.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    pair.check_end()


@pytest.mark.parametrize("seed", [1, 2])
def test_sampled_likelihood_of_many_items(seed):
    x = test_replay_triadic.MANY_VECTORS
    pair = Pair(SAMPLED["diag"](x), seed)
    replay(pair, *printed_movers(pair, x, "table", (2, 5, 1), likelihood="lss"), 300)


def default_gaussian(x):
    """With the prior that the model takes from the data: m0 is their mean, the origin of the tables."""
    b0 = 0.1 * x.var(axis=0)
    return compiled_gaussian.Gaussian(x), plain_gaussian(x, 1.0, "diag", m0=x.mean(axis=0), kappa0=0.1, a0=2.0, b0=b0)


def replay_of_parallels(pair, compiled, ref, steps):
    """As replay, of vectors of one direction: an arc cosine at 1 has half of its digits."""
    for step in range(steps):
        compiled.step()
        ref.step()
        if compiled.rejected_early:
            assert ref.log_ratio <= compiled.last_log_ratio + 1e-6, step
        else:
            assert compiled.last_log_ratio == pytest.approx(ref.log_ratio, rel=1e-6, abs=1e-6, nan_ok=True), step
        pair.check_state(step)
    check_tally(compiled, ref)
    assert pair.rng.random() == pair.stream.random()


@pytest.mark.parametrize("labels", [[0] * 11, [0] * 6 + [1] * 5], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1000.7])
def test_a_mean_at_the_centre_finds_nothing(offset, labels):
    """All items are in one cluster, whose prior mean is their own. Its estimate is 0: rounding tells no direction."""
    x = VECTORS + offset
    pair = Pair(default_gaussian(x), 1, labels)
    replay_of_parallels(pair, *printed_movers(pair, x, "table", (1, 4, 1), likelihood="lss"), 100)


@pytest.mark.parametrize("centre", [True, False])
def test_sampled_likelihood_of_twins_and_of_items_without_a_direction(centre):
    x = np.array([[3.0, 1.0], [-3.0, -1.0], [0.0, 0.0], [3.0, 1.0], [-3.0, -1.0], [0.0, 0.0], [1.0, 2.0], [-1.0, -2.0]])
    pair = Pair(SAMPLED["diag"](x), 2)
    replay_of_parallels(pair, *printed_movers(pair, x, "union", (1, 3, 4), centre=centre, likelihood="lss"), 150)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("model", SAMPLED)
def test_sampled_likelihood_makes_the_matrix_of_the_reference(model, reading):
    """Every choice enumerated on both sides, on tables that are the same."""
    x = VECTORS[:4]
    for shape in ((1, 2, 1), (2, 3, 3)):
        pair = Pair(SAMPLED[model](x), 1, [0] * 4)
        compiled, ref = printed_movers(pair, x, reading, shape, likelihood="lss")
        options = {"tables": ref.tables, "proposal": "sums", "reading": reading, "likelihood": ref.likelihood}
        expected = enumerated.transition_matrix(
            lambda state, stream, o=options: LSHSM(state, stream, mode="as_printed", **o),
            pair.state.model,
            list(enumerated.states(pair.state.model)),
        )
        P = transition_matrix(pair.model, pair.rng, compiled, mixture_states(4))
        np.testing.assert_allclose(P, expected, atol=1e-12)


# ---- Sparse items


SPARSE_VECTORS = np.random.default_rng(3).poisson(0.8, (11, 5)) * np.random.default_rng(4).normal(1.0, 1.0, (11, 5))


def sparse_gaussian(covariance):
    params = {"covariance": covariance, "m0": 0.4, "kappa0": 0.2, "a0": 1.7, "b0": 0.6, "concentration": 1.1}
    data = Dataset("sparse", "points", csr_array(SPARSE_VECTORS))
    compiled = compiled_gaussian.Gaussian.from_data(data, **params)
    return compiled, remembering(plain_gaussian(SPARSE_VECTORS, **params))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("covariance", ["diag", "iso"])
def test_sparse_items(covariance, reading, shape):
    """In all forms, against the reference of the array."""
    for proposal in PROPOSALS:
        pair = Pair(sparse_gaussian(covariance), 1)
        replay(pair, *doubles(pair, SPARSE_VECTORS, proposal, reading, shape), 60)
    pair = Pair(sparse_gaussian(covariance), 2)
    replay(pair, *printed_movers(pair, SPARSE_VECTORS, reading, shape, cache=3), 80)
