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


def start(name: str, model: str, **more) -> Chain:
    """The sampler, and one Gibbs update of an item, which changes clusters behind its back."""
    built, rng = MODELS[model](), Rng(5)
    built.set_labels(np.arange(60, dtype=np.int32) % 6)
    sampler, options = LIVES[name]
    return Chain(built, rng, [sampler(built, rng, **options, **more), Gibbs(built, rng, scan="site")], partitions=1)


@pytest.mark.parametrize(("name", "model"), CASES)
def test_new_samplers_go_on_alike(name, model):
    whole, taken_up, parts = start(name, model).advance(60), start(name, model), []
    for _ in range(20):
        parts.append(taken_up.advance(3))
        state, taken_up = taken_up.state, start(name, model)
        taken_up.state = state
    for key in ("partition_labels", "log_joint"):
        np.testing.assert_array_equal(np.concatenate([part[key] for part in parts])[-60:], whole[key][-60:])


@pytest.mark.parametrize("model", ["bernoulli", "gaussian"])
def test_the_size_of_a_cache_changes_nothing(model):
    chains = (start(name, model).advance(200)["log_joint"] for name in ("lshsm-as_printed", "lshsm-small-cache"))
    np.testing.assert_array_equal(*chains)
