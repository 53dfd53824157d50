"""Replay of the history: z_a, z_b and the pair (i, j) of every step of arm, sarm and bsm. The rest of a step is
enumerated (tests/exact/test_arm.py).
"""

from __future__ import annotations

import numpy as np
import pytest
from plain import Stream
from reference_history import AdaptiveProposal, History, by_first_appearance

from splitmerge_cli.core.chain import Chain, advance_together
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.reconfiguration import ARM
from splitmerge_cli.samplers.split_merge import BSM

N = 11
BLOCKS = np.arange(N) % 3
DATA = np.random.default_rng(20140407)
UPPER = np.triu(DATA.random((N, N)) < np.where(BLOCKS[:, None] == BLOCKS, 0.8, 0.2), 1)
BITS = (DATA.random((N, 4)) < np.array([[0.8], [0.2], [0.5]])[BLOCKS]).astype(np.uint8)
MODELS = {
    "irm": lambda: IRM((UPPER | UPPER.T).astype(np.uint8), concentration=0.9, beta1=0.6, beta0=1.3),
    "bernoulli": lambda: Bernoulli(BITS, concentration=1.4, beta1=0.3, beta0=0.5),
}
SAMPLERS = {"arm": (ARM, {}), "sarm": (ARM, {"variant": "sarm"}), "bsm": (BSM, {"t": 2})}
FREEZE = 6


def start(S: int, name: str, adaptation: str, model: str) -> list[Chain]:
    """Chains of a learner and a Gibbs scan, from different partitions, which share a history."""
    sampler, options = SAMPLERS[name]
    chains = []
    for number in range(S):
        built, rng = MODELS[model](), Rng(number, chain=3)
        built.set_labels(np.r_[0, 1, 2, np.random.default_rng(number).integers(3, size=N - 3)].astype(np.int32))
        learner = sampler(built, rng, adaptation=adaptation, freeze=FREEZE, **options)
        chains.append(Chain(built, rng, [learner, Gibbs(built, rng)]))
    shared = chains[0].samplers[0].adaptive.new_history(S)
    for number, chain in enumerate(chains):
        chain.adapt_to(shared, number)
    return chains


def stream_at(rng: Rng) -> Stream:
    """A plain stream that goes on from where a compiled one is."""
    stream = Stream(0)
    stream.generator.bit_generator.state = rng.bit_generator.state
    return stream


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("adaptation", "workers"), [("paper", 1), ("paper", 3), ("frozen", 1), ("frozen", 3), ("population", 1)]
)
@pytest.mark.parametrize("name", SAMPLERS)
def test_partitions_and_pairs_of_rounds(name, adaptation, workers, model):
    """Whatever the number of workers; chains of a population move one after the other."""
    chains = start(4, name, adaptation, model)
    history, drawn = History([chain.model.labels for chain in chains]), 0
    for step in range(25):
        streams = [stream_at(chain.rng) for chain in chains]
        advance_together(chains, 1, workers=workers)
        for number, chain in enumerate(chains):
            learner = chain.samplers[0]
            expected = AdaptiveProposal(streams[number], history, number, adaptation, FREEZE).phi()
            null = learner.counts()[0]["null"] + learner.counts()[1]["null"]
            if expected is not None:
                drawn += 1
                za, zb, *pair = expected
                assert [z.tolist() for z in learner.adaptive.partitions()] == [za, zb], f"step {step}, chain {number}"
                assert name == "bsm" or list(learner.pair) == pair
            else:
                assert null > 0
            history.present[number] = by_first_appearance(chain.model.labels)
        history.record()
    assert drawn > 50
