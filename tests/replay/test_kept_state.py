"""A chain whose samplers are replaced by new ones again and again is that of samplers which live long: nothing that a
sampler keeps between its steps is of another state."""

import numpy as np
import pytest
from small_cases import MODELS, SAMPLERS

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.samplers.chaperones import Chaperones
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.lshsm import LSHSM
from splitmerge_cli.samplers.nonreversible import Nonreversible

LIVES = SAMPLERS | {
    "nonreversible": (Nonreversible, {"directions": 9}),
    "chaperones": (Chaperones, {"pairs": "hashed", "bits": 2, "tables": 3}),
    "lshsm-lss": (LSHSM, SAMPLERS["lshsm-as_printed"][1] | {"likelihood": "lss"}),
    "lshsm-small-cache": (LSHSM, SAMPLERS["lshsm-as_printed"][1] | {"cache": 1}),
}
CASES = [
    (name, model)
    for name, (sampler, options) in LIVES.items()
    for model in ("emm", "bernoulli", "gaussian", "irm")
    if sampler.supports(MODELS[model]())[0]
    and not ("pairs" in options and model == "emm")
    and not ("likelihood" in options and model != "gaussian")
]


def start(name: str, model: str) -> Chain:
    """The sampler from many clusters; one iteration in six is a Gibbs update, which changes them behind its back."""
    built, rng = MODELS[model](), Rng(5)
    built.set_labels(np.arange(60, dtype=np.int32) % (12 if built.allows_empty else 30))
    sampler, options = LIVES[name]
    samplers = [sampler(built, rng, **options), Gibbs(built, rng, scan="site")]
    return Chain(built, rng, samplers, [5.0, 1.0], partitions=1)


@pytest.mark.parametrize(("name", "model"), CASES)
def test_new_samplers_go_on_alike(name, model):
    """Each step: labels and the log ratio of its last proposal, to the last digit."""
    chain = start(name, model)
    for _ in range(40):
        new = start(name, model)
        new.state = chain.state
        rows = [each.advance(1)["partition_labels"][-1] for each in (chain, new)]
        np.testing.assert_array_equal(*rows)
        kept, fresh = (each.samplers[0].last_log_ratio for each in (chain, new))
        # nan: the other sampler was drawn, or the proposal was null
        assert np.isnan(fresh) or fresh == kept
    assert new.iteration == 40
