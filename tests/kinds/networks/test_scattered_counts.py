"""Whether counts of edges are Poisson or negative binomial: the choice before a run, the terms of counts by which
blocks are merged, and the advice after a run. `tests/exact/test_scattered.py` has the model itself.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from smcmc import Posterior, sample
from splitmerge_cli.config import compose
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.networks.data import COUNT, Relation, Relations, simple_graph
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.networks.layout import CORRECTED, PLAIN, SCATTERED
from splitmerge_cli.kinds.networks.quantities import NetworkAnswers
from splitmerge_cli.kinds.networks.start import Entries, merge
from splitmerge_cli.runs.checks import DISPERSION
from splitmerge_cli.runs.starts import SEARCH, start_of

ASKED = ("data=edges", "data.values=count", "model=irm")


def draw_counts(seed: int, N: int, precision: float | None) -> tuple[Relations, NDArray[np.int64]]:
    """A network of three blocks whose counts scatter, or are Poisson."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % 3
    mean = np.where(np.eye(3), 3.0, 0.4)[np.ix_(labels, labels)]
    if precision is not None:
        mean = mean * rng.gamma(precision, 1 / precision, (N, N))
    count = np.triu(rng.poisson(mean), 1)
    ends = np.argwhere(count).astype(np.int32)
    return Relations(N, (Relation("", ends, COUNT, count[tuple(ends.T)].astype(float)),)), labels


def write(path: Path, relations: Relations) -> Path:
    (layer,) = relations.layers
    rows = [f"n{i},n{j},{x:.0f}" for (i, j), x in zip(layer.ends.tolist(), layer.weights, strict=True)]
    path.write_text("\n".join(["source,target,count", *rows]) + "\n", encoding="utf-8")
    return path


def choose(path: Path, *words: str) -> tuple[Any, list[str]]:
    said: list[str] = []
    spec = compose([*ASKED, f"data.path={path}", *words])
    return start_of(spec).choose(said.append), said


@pytest.mark.parametrize(("N", "seed"), [(60, 0), (60, 1), (110, 2)])
def test_counts_that_scatter_are_negative_binomial(tmp_path: Path, N: int, seed: int) -> None:
    relations, _ = draw_counts(seed, N, 0.4)
    chosen, said = choose(write(tmp_path / "edges.csv", relations))
    assert chosen.model.options["precision"] is not None and chosen.model.options["degrees"] == PLAIN
    assert said[0].startswith(
        f"model.precision={SCATTERED}, because counts between two blocks scatter more than Poisson"
    )
    assert "(3 blocks, not " in said[0]
    assert chosen.init == (SEARCH if N < 100 else "best")
    for word in ("model.precision=null", "model.degrees=plain", "init=random"):
        assert choose(tmp_path / "edges.csv", word)[0].model.options["precision"] is None


def test_auto_chooses_degrees_and_counts_by_command_and_from_python(smcmc: Any, tmp_path: Path) -> None:
    relations, _ = draw_counts(0, 40, 0.4)
    path = write(tmp_path / "edges.csv", relations)
    frame = pd.read_csv(path)
    for named, precision in (({}, SCATTERED), ({"model.precision": None}, None), ({"model.precision": 2}, 2)):
        words = [f"{key}={'null' if value is None else value}" for key, value in named.items()]
        asked = [*ASKED, f"data.path={path}", "model.degrees=auto", "iterations=4", "chains=1", "seed=1", *words]
        by_command = Posterior.load(smcmc("run", *asked, f"out={tmp_path}").stdout.strip())
        keys = {"model.degrees": "auto", **named}
        from_python = sample("irm", frame, values="count", iterations=4, chains=1, options=keys, seed=1)
        chosen = [found.run.config["model"] for found in (by_command, from_python)]
        assert chosen[0] == chosen[1]
        assert chosen[0]["precision"] == precision and (precision is None or chosen[0]["degrees"] == PLAIN)


@pytest.mark.parametrize("N", [60, 110])
def test_poisson_counts_stay(tmp_path: Path, N: int) -> None:
    relations, _ = draw_counts(3, N, None)
    chosen, said = choose(write(tmp_path / "edges.csv", relations))
    assert chosen.model.options["precision"] is None
    assert not any(line.startswith("model.precision") for line in said)


def test_merged_blocks_are_those_that_made_the_counts() -> None:
    relations, labels = draw_counts(5, 90, 0.3)
    model = IRM.from_data(Dataset("made", "graph", simple_graph(relations), relations=relations), precision=SCATTERED)
    _, found = merge(Entries.from_relations(relations), model, None, False, Rng(1, 0))
    pairs = {*zip(labels.tolist(), found.tolist(), strict=True)}
    assert len(pairs) == 3 == found.max() + 1
    # the model has the precision of the best partition
    assert 0.2 < model.parameters.item() < 0.45


def test_counts_are_merged_by_their_expected_terms() -> None:
    """A guest opens a table by chance, each given those before; a count of 1 has one term."""
    r, counts = 0.7, np.array([1.0, 4.0, 4000.0])
    binary = Relation("b", np.array([[0, 1], [2, 3]], dtype=np.int32))
    layer = Relation("c", np.array([[0, 1], [0, 2], [2, 3]], dtype=np.int32), COUNT, counts, directed=True)
    entries = Entries.from_relations(Relations(4, (binary, layer)))
    assert entries.damp(None) is entries
    damped = entries.damp(np.array([[r]]))
    expected = {x: max(round(sum(r / (r + k) for k in range(int(x)))), 1) for x in counts}
    is_count = entries.counted[entries.type] == 0
    assert is_count.sum() == 6
    for weight, x in zip(damped.weight[is_count], entries.weight[is_count], strict=True):
        assert weight == expected[float(x)]
    assert (damped.weight[~is_count] == 1).all()


def test_a_run_of_poisson_counts_that_scatter_names_the_other_form() -> None:
    unlike = [{"subject": "counts", "quantity": DISPERSION, "observed": 9.0, "high": 1.2}]
    model: dict[str, Any] = {"degrees": CORRECTED, "precision": None}
    found = NetworkAnswers.another_model(unlike, {}, model, {}, ())
    assert found is not None and found[1] == {"model.precision": SCATTERED, "model.degrees": PLAIN}
    assert NetworkAnswers.another_model(unlike, {}, model, {}, ("model.precision",)) is None
    assert NetworkAnswers.another_model(unlike, {}, model | {"precision": SCATTERED}, {}, ()) is None
    even = [unlike[0] | {"observed": 0.8}]
    assert NetworkAnswers.another_model(even, {}, model, {}, ()) is None
