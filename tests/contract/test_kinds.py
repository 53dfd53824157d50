"""Kinds of data: each answers what the package asks, and nothing else compares their names."""

import ast
import pickle
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sources import parse

import splitmerge_cli
from splitmerge_cli import config, received
from splitmerge_cli.analysis.plots.run import all_pictures
from splitmerge_cli.data.dataset import COLUMN_TYPES
from splitmerge_cli.kinds import Kind, get_kind, kinds
from splitmerge_cli.kinds.tables.rows import example

ROOT = Path(splitmerge_cli.__file__).parent
NAMES = sorted(kinds())
CALLED_KIND = re.compile(r"kinds?\w*(\(.*\))?(\.name)?$")
"""Ends of the expressions whose values are kinds, or their names."""
FILES = [file for file in ROOT.rglob("*.py*") if file.suffix in (".py", ".pyx") and file.parent.name != "kinds"]


def literals(node: ast.AST) -> set[str]:
    """The names of kinds that a literal is, or holds."""
    parts = getattr(node, "elts", [node]) if not isinstance(node, ast.Dict) else [key for key in node.keys if key]
    return {part.value for part in parts if isinstance(part, ast.Constant) and part.value in NAMES}


def comparisons(tree: ast.AST) -> Iterator[int]:
    """Lines that compare something called kind with the name of one, or hold a table of kinds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(CALLED_KIND.search(ast.unparse(side)) for side in sides) and set().union(*map(literals, sides)):
                yield node.lineno
        elif isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set) and len(literals(node) - {*COLUMN_TYPES}) > 2:
            yield node.lineno


@pytest.mark.xdist_group("sources")
def test_nothing_but_kinds_compares_their_names() -> None:
    found = []
    for file in FILES:
        if file.suffix == ".py":
            lines = list(comparisons(parse(file)))
        else:
            text = file.read_text(encoding="utf-8")
            names = "|".join(NAMES)
            of_text = re.compile(rf"\.kind\b.*(==|!=|\bin\b).*[\"']({names})[\"']")
            lines = [number for number, line in enumerate(text.splitlines(), 1) if of_text.search(line)]
        found += [f"{file.relative_to(ROOT)}:{line}" for line in lines]
    assert not found, "kinds of data are asked (splitmerge_cli.kinds), not compared"


def test_the_rule_sees_comparisons() -> None:
    text = (
        'a = data.kind == "graph"\nb = kind_of(m) in ("points", "binary")\nT = {"graph": 1, "points": 2, "tokens": 3}'
    )
    assert sorted(comparisons(ast.parse(text))) == [1, 2, 3]
    text = 'a = type == "binary"\nb = Dataset("x", "points", x)\nc = ["binary", "count"]'
    assert not list(comparisons(ast.parse(text)))


@pytest.mark.parametrize("name", NAMES)
def test_a_kind_answers(name: str) -> None:
    kind = get_kind(name)
    data = kind.example(12, seed=3)
    assert data.kind is kind and data.kind == kind.name == name and data.N >= 12
    assert pickle.loads(pickle.dumps(data)).kind == kind
    assert kind.example(12, seed=3).values is not data.values
    assert set(kind.pictures) <= set(all_pictures())
    assert kind.model in config.choices("model") and kind.reader in config.choices("data")
    if kind.has_columns:
        assert len(kind.types_of(data)) == data.values.shape[1]
    with suppress(config.ConfigError):
        kind.require_rows(name)
        new = kind.new_items(data, kind.as_given(data))
        whole = kind.stack(data, new)
        assert whole.N == 24 and whole.truth is None
        assert np.array_equal(whole.values[12:], data.values, equal_nan=data.values.dtype.kind == "f")


@pytest.mark.parametrize("name", NAMES)
def test_a_kind_has_examples_of_every_size_that_is_verified(name: str) -> None:
    kind = get_kind(name)
    for N in range(1, 8):
        assert kind.example(N).N >= N


@pytest.mark.parametrize("model", config.choices("model"))
def test_a_model_accepts_the_example_of_its_kind_alone(model: str) -> None:
    cls = config.locate(config.choice("model", model)["_target_"])
    assert example(model).N >= 8
    for name in NAMES:
        accepted, reason = cls.accepts(get_kind(name).example(12))
        assert accepted == (name == cls.kind)
        assert accepted or reason == f"reads {cls.kind}, not {name}"


def test_a_kind_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in a folder that was added to the package is a kind; two of one name are none."""
    (tmp_path / "toy_angles.py").write_text(
        "from splitmerge_cli.kinds.tables import Rows\n\n\nclass Angles(Rows):\n    name = 'toy_angles'\n"
    )
    monkeypatch.setattr(splitmerge_cli.kinds, "__path__", [*splitmerge_cli.kinds.__path__, str(tmp_path)])
    assert isinstance(get_kind("toy_angles"), Kind)
    (tmp_path / "toy_again.py").write_text((tmp_path / "toy_angles.py").read_text())
    monkeypatch.setattr(splitmerge_cli.kinds, "__path__", [*splitmerge_cli.kinds.__path__[:1], f"{tmp_path}/."])
    with pytest.raises(ValueError, match="both called toy_angles"):
        kinds()


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(received.DataError, match=r"^kind=flags: expected one of binary, counts, documents, graph"):
        get_kind("flags")
