"""Replay of the samplers of Herlau et al. 2014: srm, arm, sarm and bsm on the Infinite Relational Model and on
mixtures, and every earlier sampler on networks, where a predictive depends on all items in place.

Compared after every move: labels, K, log ratio; of srm and arm the pair and the plates of figure 1 too.
"""

from __future__ import annotations

import numpy as np
import pytest
import reference_arm
from enumerated import remembering
from plain import Bernoulli
from plain_continuous import Gaussian
from plain_network import IRM
from reference_arm import by_first_appearance, labels_of
from replaying import Pair, check_counts, check_ratio, replay
from tables import mixed_models
from test_replay_triadic import DYADIC, EARLIER, NEAL8, REFRESH, TRIADIC

from splitmerge_cli.core.chain import Chain, advance_together
from splitmerge_cli.models import bernoulli as compiled_bernoulli
from splitmerge_cli.models import gaussian as compiled_gaussian
from splitmerge_cli.models import irm as compiled_irm
from splitmerge_cli.samplers import arm, bsm, srm

DATA = np.random.default_rng(20140407)

N = 11
BLOCKS = np.arange(N) % 3
UPPER = np.triu(DATA.random((N, N)) < np.where(BLOCKS[:, None] == BLOCKS, 0.8, 0.2), 1)
NETWORK = (UPPER | UPPER.T).astype(np.uint8)
BITS = (DATA.random((N, 4)) < np.array([[0.8], [0.2], [0.5]])[BLOCKS]).astype(np.uint8)
VECTORS = DATA.normal(size=(N, 2)) + 3 * BLOCKS[:, None]


def irm(concentration=0.9, adjacency=NETWORK, **params):
    params = {"beta1": 0.6, "beta0": 1.3, **params}
    written = "gamma({}, {})".format(*concentration) if isinstance(concentration, tuple) else concentration
    return compiled_irm.IRM(adjacency, concentration=written, **params), IRM(adjacency, concentration, **params)


def bernoulli(**params):
    params = {"concentration": 1.4, "beta1": 0.3, "beta0": 0.5, **params}
    return compiled_bernoulli.Bernoulli(BITS, **params), remembering(Bernoulli(BITS, **params))


def gaussian(**params):
    params = {"concentration": 1.1, "covariance": "full", "m0": 0.4, "kappa0": 0.2, "a0": 1.7, "b0": 0.6, **params}
    return compiled_gaussian.Gaussian(VECTORS, **params), remembering(Gaussian(VECTORS, **params))


MODELS = {
    "irm": irm,
    "irm-uniform": lambda: irm(prior="uniform"),
    "irm-wide": lambda: irm(30.0, beta1=0.01, beta0=2.0),
    "bernoulli": bernoulli,
    "bernoulli-uniform": lambda: bernoulli(prior="uniform"),
    "gaussian": gaussian,
    "mixed": lambda: mixed_models(N=N),
}
SAMPLERS = {
    "srm": (srm.SRM, reference_arm.SRM, {}),
    "srm-in-order": (srm.SRM, reference_arm.SRM, {"relabel": False}),
    "arm": (arm.ARM, reference_arm.ARM, {}),
    "arm-in-order": (arm.ARM, reference_arm.ARM, {"relabel": False}),
    "sarm": (arm.ARM, reference_arm.ARM, {"variant": "sarm"}),
    "bsm": (bsm.BSM, reference_arm.BSM, {"t": 2}),
    "bsm-0": (bsm.BSM, reference_arm.BSM, {"t": 0}),
}
LEARNERS = [name for name in SAMPLERS if not name.startswith("srm")]
NETWORKS = [name for name in MODELS if name.startswith("irm")]


def histories(n, seed):
    """Pairs of partitions without end: few clusters or many, alike or not."""
    rng = np.random.default_rng(seed)
    while True:
        base = rng.integers(rng.integers(1, n + 1), size=n)
        other = np.where(rng.random(n) < rng.random(), rng.integers(4, size=n), base)
        yield base.astype(np.int32), other.astype(np.int32)


def check_plates(compiled, ref):
    """The plates of the last move: cluster numbers and all; the blocks of c have none."""
    assert compiled.pair == ref.pair
    names = [name for name, _ in ref.plates]
    assert [name for name, _ in compiled.plates] == names
    n = ref.model.N
    for (name, shown), (_, clusters) in zip(compiled.plates, ref.plates, strict=True):
        labels = labels_of(clusters, n)
        if name == "refinement":
            outside = [label < 0 for label in labels]
            assert (np.asarray(shown) < 0).tolist() == outside
            assert by_first_appearance(np.asarray(shown).tolist()) == by_first_appearance(labels)
        else:
            assert np.asarray(shown).tolist() == labels, name


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_move_by_move(name, model, seed):
    pair = Pair(MODELS[model](), seed)
    compiled, ref = pair.sampler(SAMPLERS[name])
    for step, (za, zb) in zip(range(60), histories(N, seed), strict=False):
        if name in LEARNERS:
            compiled.fix(za, zb)
            ref.adaptive.fixed = za.tolist(), zb.tolist(), -1, -1
        if not name.startswith("bsm"):
            compiled.record = True
        compiled.step()
        ref.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
        if not name.startswith("bsm") and not np.isnan(ref.log_ratio):
            check_plates(compiled, ref)
    check_counts(compiled, ref)
    pair.check_end()


@pytest.mark.parametrize("name", ["arm", "sarm", "bsm"])
def test_fixed_pair_and_equal_partitions(name):
    """A pair that is given is not drawn; two equal partitions name none."""
    pair = Pair(irm(), 3)
    compiled, ref = pair.sampler(SAMPLERS[name])
    compiled.step()
    ref.step()
    for step, (za, zb) in zip(range(20), histories(N, 3), strict=False):
        where = np.argwhere((za[:, None] == za) != (zb[:, None] == zb)).tolist()
        i, j = where[step % len(where)] if where and step % 3 else (-1, -1)
        other = za if step % 5 == 4 else zb
        if other is za:
            i = j = -1
        compiled.fix(za, other, i, j)
        ref.adaptive.fixed = za.tolist(), other.tolist(), i, j
        compiled.step()
        ref.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    check_counts(compiled, ref)
    pair.check_end()


@pytest.mark.parametrize("model", ["irm", "bernoulli"])
def test_as_printed_bsm(model):
    pair = Pair(MODELS[model](), 4)
    compiled, ref = pair.sampler(SAMPLERS["bsm"], "as_printed")
    for step, (za, zb) in zip(range(80), histories(N, 4), strict=False):
        compiled.fix(za, zb)
        ref.adaptive.fixed = za.tolist(), zb.tolist(), -1, -1
        compiled.step()
        ref.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    pair.check_end()


@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1], [0, 1, 1], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("name", SAMPLERS)
def test_one_two_and_three_items(name, labels):
    n = len(labels)
    pair = Pair(irm(adjacency=NETWORK[:n, :n]), 1, labels)
    compiled, ref = pair.sampler(SAMPLERS[name])
    for step, (za, zb) in zip(range(40), histories(n, 1), strict=False):
        if name in LEARNERS:
            compiled.fix(za, zb)
            ref.adaptive.fixed = za.tolist(), zb.tolist(), -1, -1
        compiled.step()
        ref.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    check_counts(compiled, ref)
    pair.check_end()


# ---- The earlier samplers on networks

ON_NETWORKS = EARLIER | DYADIC | TRIADIC | NEAL8


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", NETWORKS)
@pytest.mark.parametrize("name", ON_NETWORKS)
def test_earlier_samplers_on_networks(name, model, seed):
    replay(Pair(MODELS[model](), seed), ON_NETWORKS[name], "exact", 15 if name in ("gibbs-full", "neal8") else 100)


@pytest.mark.parametrize("name", [n for n in EARLIER if "gibbs" not in n] + ["dyadic-sams"])
def test_as_printed_samplers_on_networks(name):
    replay(Pair(irm(), 3), ON_NETWORKS[name], "as_printed", 60)


@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1], [0, 1, 1]], ids=str)
@pytest.mark.parametrize("name", ON_NETWORKS)
def test_earlier_samplers_on_the_smallest_networks(name, labels):
    n = len(labels)
    replay(Pair(irm(adjacency=NETWORK[:n, :n]), 1, labels), ON_NETWORKS[name], "exact", 30)


def test_many_blocks():
    """From singletons, with more clusters than the compiled code takes at once."""
    upper = np.triu(np.random.default_rng(5).random((26, 26)) < 0.2, 1)
    network = (upper | upper.T).astype(np.uint8)
    for name, steps in (("gibbs-full", 3), ("sdds", 30), ("dyadic-sams", 30), ("triadic-symmetrised-sams", 30)):
        pair = Pair(irm(8.0, network), 1, list(range(26)))
        replay(pair, ON_NETWORKS[name], "exact", steps)


def test_random_concentration_on_a_network():
    replay(Pair(irm((2.0, 1.5)), 5), REFRESH, "exact", 15)


# ---- Adaptive samplers, whose chains share a history


def advance_plainly(reference, scans, history, iterations):
    for _ in range(iterations):
        for ref, scan in zip(reference, scans, strict=True):
            ref.step()
            scan.step()
        history.record()


class Chains:
    """Compiled chains and their doubles, which share a history."""

    def __init__(self, S, name, adaptation, freeze=6, model=irm):
        compiled_class, ref_class, options = SAMPLERS[name]
        options = options | {"adaptation": adaptation, "freeze": freeze}
        self.pairs = [Pair(model(), seed) for seed in range(S)]
        made = [pair.sampler((compiled_class, ref_class, options)) for pair in self.pairs]
        scans = [pair.sampler(EARLIER["gibbs-full"]) for pair in self.pairs]
        self.samplers, self.reference = [c for c, _ in made], [b for _, b in made]
        self.scans = [b for _, b in scans]
        shared = self.samplers[0].adaptive.new_history(S)
        self.history = reference_arm.History([pair.state for pair in self.pairs])
        self.history.record()
        self.chains = [
            Chain(pair.model, pair.rng, [sampler, scan])
            for pair, sampler, (scan, _) in zip(self.pairs, self.samplers, scans, strict=True)
        ]
        for number, (chain, ref) in enumerate(zip(self.chains, self.reference, strict=True)):
            chain.adapt_to(shared, number)
            ref.adaptive.history, ref.adaptive.own = self.history, number

    def check(self, step):
        for pair, sampler, ref in zip(self.pairs, self.samplers, self.reference, strict=True):
            check_ratio(sampler, ref, step)
            pair.check_state(step)


@pytest.mark.parametrize(
    ("adaptation", "workers"), [("paper", 1), ("paper", 3), ("frozen", 1), ("frozen", 3), ("population", 1)]
)
@pytest.mark.parametrize("name", ["arm", "sarm", "bsm"])
def test_chains_in_rounds(name, adaptation, workers):
    """Whatever the number of workers; a population moves one chain after the other, on one."""
    chains = Chains(4, name, adaptation)
    for step in range(20):
        advance_together(chains.chains, 1, workers=workers)
        advance_plainly(chains.reference, chains.scans, chains.history, 1)
        chains.check(step)
    for sampler, ref, pair in zip(chains.samplers, chains.reference, chains.pairs, strict=True):
        check_counts(sampler, ref)
        pair.check_end()


@pytest.mark.parametrize("adaptation", ["paper", "frozen", "population"])
def test_rounds_made_at_once(adaptation):
    chains = Chains(3, "arm", adaptation, model=bernoulli)
    advance_together(chains.chains, 15, workers=1 if adaptation == "population" else 2)
    advance_plainly(chains.reference, chains.scans, chains.history, 15)
    chains.check(15)
