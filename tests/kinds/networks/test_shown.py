"""Signs, levels and layers that a file shows are read by a command that names no key of the network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

from smcmc import DataNote, sample
from splitmerge_cli.config import compose
from splitmerge_cli.runs import initial
from splitmerge_cli.runs.starts import start_of

PAIRS = [(i, j) for i in range(24) for j in range(i)]


def write(path: Path, head: str, of_pair: Callable[[int, int, Any], str]) -> Path:
    rng = np.random.default_rng(0)
    lines = [f"a{i},a{j},{of_pair(i, j, rng)}" for i, j in PAIRS if rng.random() < 0.5]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def sign(i: int, j: int, rng: Any) -> str:
    return str(1 if (i < 12) == (j < 12) else -1)


def layer(i: int, j: int, rng: Any) -> str:
    return ("trade", "war")[int(rng.integers(2))]


def choose(path: Path, *words: str) -> tuple[dict[str, Any], list[str]]:
    said: list[str] = []
    spec = start_of(compose(["data=edges", f"data.path={path}", "model=irm", *words])).choose(said.append)
    return {key: spec.data.values[key] for key in ("values", "layer", "directed")}, said


SIMPLE = {"values": None, "layer": None, "directed": False}


@pytest.mark.parametrize("head", ["a,b,sign", "a,b,weight", "from,to,strength"])
def test_signs_are_levels(tmp_path: Path, head: str) -> None:
    path = write(tmp_path / "signs.csv", head, sign)
    keys, said = choose(path)
    # no pair stands in both directions
    assert keys == SIMPLE | {"values": "levels"}
    assert said[0] == "data.values=levels: the file shows them (data.values=null: the simple network)"
    # a key that is named, even as it is by default
    for word in ("data.values=null", "data.values=real", "data.directed=false"):
        keys, said = choose(path, word)
        assert keys["values"] == (None if "real" not in word else "real") and "shows" not in "".join(said)


def test_layers_are_read(tmp_path: Path) -> None:
    assert choose(write(tmp_path / "layers.csv", "a,b,kind", layer))[0] == SIMPLE | {"layer": "kind"}
    directed = write(tmp_path / "directed.csv", "from,to,kind", layer)
    directed.write_text(directed.read_text() + "a0,a1,war\na1,a0,trade\n")
    keys, said = choose(directed)
    assert keys == {"values": None, "layer": "kind", "directed": True}
    assert said[0].startswith("data.directed=true data.layer=kind: the file shows them")
    spec = compose(["data=edges", f"data.path={directed}", "model=irm"])
    dataset = initial.read_data(spec.data, spec.model.kind)
    facts = dataset.kind.facts(dataset)["graph"]
    assert "shown" in dataset.meta and "shown" not in facts and facts["nodes"] == dataset.N


@pytest.mark.parametrize(
    "of_pair",
    [
        lambda i, j, rng: str(rng.integers(1, 6)),
        lambda i, j, rng: str(rng.integers(-30, 30)),
        lambda i, j, rng: f"{rng.normal():.2f}",
    ],
    ids=["counts", "many levels", "numbers"],
)
def test_other_weights_are_not(tmp_path: Path, of_pair: Callable[[int, int, Any], str]) -> None:
    keys, said = choose(write(tmp_path / "weights.csv", "a,b,value", of_pair))
    assert keys == SIMPLE and "shows" not in "".join(said)


@pytest.mark.parametrize("order", [["one", "two", "tie"], ["one", "tie", "two"], ["tie", "one", "two"]])
def test_of_three_columns_of_words_those_of_the_same_names_are_ends(order: list[str]) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"a{i}", f"a{j}", ("trade", "war", "aid")[int(rng.integers(3))]) for i, j in PAIRS if rng.random() < 0.6]
    frame = pd.DataFrame(rows, columns=["one", "two", "tie"])[order]
    with pytest.warns(DataNote, match="if they are edges of a network") as notes:
        sample("mixed", frame, iterations=2, chains=2, seed=1, progress="none")
    (note,) = (str(one.message) for one in notes if "if they are edges" in str(one.message))
    assert "'one': 'source', 'two': 'target', 'tie': 'layer'" in note and "layer='layer'" in note


def test_a_call_renames_no_column_that_has_the_name(recwarn: pytest.WarningsRecorder) -> None:
    frame = pd.DataFrame([(f"a{i}", f"a{j}", 1 + (i + j) % 4) for i, j in PAIRS], columns=["one", "two", "weight"])
    sample("mixed", frame, iterations=2, chains=2, seed=1, progress="none")
    notes = [str(one.message) for one in recwarn if "if they are edges" in str(one.message)]
    assert "columns={'one': 'source', 'two': 'target'}" in notes[0]


def draw_levels(name: str) -> str:
    """Rows of ties from each of three groups to the next; those of `name`: with the directions drawn by tossing coins;
    with all but a few from the node of the lower number to the other, in files that tell nodes apart otherwise."""
    rng, group = np.random.default_rng(4), np.repeat([0, 1, 2], 25)
    number = rng.permutation(75) if name == "levels" else np.arange(75)
    rows = []
    for i, j in np.argwhere(rng.random((75, 75)) < np.where(group == group[:, None] + 1, 0.3, 0.02)):
        turns = rng.random()
        is_turned = turns < 0.5 if name == "tossed" else (i > j) == (turns > 0.02) and name != "levels"
        ends = (j, i) if is_turned else (i, j)
        if i != j:
            rows.append(",".join(f"{'n' * (name == 'named')}{number[end]:02}" for end in ends))
    return "source,target\n" + "\n".join(map(str, rng.permutation(rows))) + "\n"


@pytest.mark.parametrize("name", ["levels", "tossed", "numbered", "named"])
def test_directions_are_read_where_they_follow_from_blocks(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.csv"
    path.write_text(draw_levels(name))
    keys, said = choose(path)
    assert keys == SIMPLE | {"directed": name == "levels"}
    note = "data.directed=true: directions follow from blocks; with them the network is described better, by "
    assert any(line.startswith(note) for line in said) == (name == "levels")
    # nobody's word is overruled
    assert choose(path, "data.directed=false")[0] == choose(path, "model.degrees=plain")[0] == SIMPLE


@pytest.mark.parametrize("directed", [True, False])
def test_directions_that_a_file_names_may_follow_an_order(tmp_path: Path, directed: bool) -> None:
    rows = [line.split(",") for line in draw_levels("numbered").splitlines()[1:]]
    forward = [(i, j) for i, j in rows if i < j]
    graph = networkx.DiGraph(forward) if directed else networkx.Graph(forward)
    networkx.write_gml(graph, tmp_path / "levels.gml")
    assert choose(tmp_path / "levels.gml")[0] == SIMPLE | {"directed": directed}
