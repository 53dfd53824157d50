"""Replay for the samplers that move single items, on every kind of model, compared after every step."""

import pytest
import reference_single
from replaying import Pair, replay
from test_replay_triadic import CONTINUOUS, DISCRETE, TABLES

from splitmerge_cli.samplers import chaperones, locally_informed, nonreversible

MODELS = {name: make for name, make in (CONTINUOUS | DISCRETE | TABLES).items() if name != "gaussian-full"}
INFORMED = locally_informed.LocallyInformed, reference_single.LocallyInformed
SAMPLERS = {
    "chaperones": (chaperones.Chaperones, reference_single.Chaperones, {}),
    "chaperones-one-scan": (chaperones.Chaperones, reference_single.Chaperones, {"scans": 1}),
    "locally_informed": (*INFORMED, {"moves": 2}),
    **{f"locally_informed-{g}": (*INFORMED, {"items": 3, "balancing": g}) for g in reference_single.BALANCING},
    "nonreversible": (nonreversible.Nonreversible, reference_single.Nonreversible, {}),
    "nonreversible-two-moves": (nonreversible.Nonreversible, reference_single.Nonreversible, {"moves": 2}),
    "nonreversible-directions": (nonreversible.Nonreversible, reference_single.Nonreversible, {"directions": 9}),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("model", MODELS)
def test_steps_are_those_of_the_reference(model: str, name: str) -> None:
    replay(Pair(MODELS[model](), seed=11), SAMPLERS[name], "exact", 40)
