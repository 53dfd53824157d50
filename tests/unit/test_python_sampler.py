"""A sampler in Python, as docs/extending/sampler-in-python.md shows it: verified, run and counted like any other."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
import yaml

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.verify.cases import small_case
from splitmerge_cli.verify.transitions import balance_defect, stationarity_defect, transition_matrix

PAGE = (Path(__file__).parents[2] / "docs" / "extending" / "sampler-in-python.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[1])


@pytest.fixture(scope="module")
def swap():
    names: dict = {}
    exec(block("python"), names)  # the page's own example
    return names["Swap"]


@pytest.mark.parametrize("model_class", [EMM, Bernoulli])
def test_the_example_is_exact(swap, model_class):
    case = small_case(model_class, 4)
    rng = Rng(0)
    P = transition_matrix(case.model, rng, swap(case.model, rng), case.states)
    assert stationarity_defect(P, case.pi) < 1e-12
    assert balance_defect(P, case.pi) < 1e-12


def test_it_runs_in_a_chain(swap):
    model = Bernoulli(np.random.default_rng(0).integers(2, size=(30, 4)).astype(np.uint8))
    rng = Rng(1)
    chain = Chain(model, rng, [swap(model, rng), Gibbs(model, rng)])
    out = chain.advance(50)
    assert out["log_joint"][-1] == model.log_joint()
    counts = {row["move"]: row for row in chain.moves()}
    assert counts["swap"]["proposed"] == 50
    assert counts["swap"]["accepted"] + counts["swap"]["null"] > 0


def test_the_yaml_names_the_class():
    assert yaml.safe_load(block("yaml"))["_target_"] == "mymoves.Swap"


def test_a_subclass_without_a_step_says_so():
    class Idle(PythonSampler):
        MOVES = ("idle",)

    model = Bernoulli(np.zeros((3, 1), dtype=np.uint8))
    with pytest.raises(TypeError, match="Idle defines no python_step"):
        Idle(model, Rng(0)).step()
