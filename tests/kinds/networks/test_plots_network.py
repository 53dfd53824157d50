"""Pictures of networks with directions, values, layers and two kinds of nodes."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from link_cases import FORMS, LABELS, draw_relation
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle, FancyArrowPatch

from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.kinds.networks import pictures as network
from splitmerge_cli.kinds.networks import relation_matrix
from splitmerge_cli.kinds.networks.data import COUNT, LEVELS, REAL, Relation, Relations
from splitmerge_cli.kinds.networks.relation_matrix import NEGATIVE, POSITIVE, draw_matrix, number_blocks, sort_nodes

PURE = np.array([0, 0, 2, 1, 1, 2])
"""Blocks that hold one kind of nodes each."""


def cells_of(relations: Relations, labels: Any) -> Any:
    """The matrix that is drawn: values, nan where no edge is."""
    with use_style():
        _, ax = plt.subplots()
        draw_matrix(ax, relations, 0, labels)
        shown = np.ma.filled(ax.images[0].get_array().astype(float), np.nan)
        names = ax.get_ylabel(), ax.get_xlabel()
        plt.close()
    return shown, names


@pytest.mark.parametrize(
    ("name", "form"), [*((name, COUNT) for name in FORMS), *(("directed", form) for form in ("binary", REAL, LEVELS))]
)
def test_a_cell_is_the_value_of_its_edge(name: str, form: str) -> None:
    sides = FORMS[name].get("sides")
    labels = LABELS if sides is None else PURE
    relation = draw_relation(1, form, **FORMS[name])
    shown, names = cells_of(Relations(6, (relation,), sides, ("users", "books")), labels)
    degree = np.bincount(relation.ends.ravel(), np.repeat(relation.weights, 2), 6)
    if sides is None:
        rows = columns = sort_nodes(labels, degree).order
    else:
        rows, columns = (sort_nodes(labels, degree, sides == side).order for side in (0, 1))
    value = dict(
        zip(map(tuple, relation.ends.tolist()), relation.weights if form == "binary" else relation.value, strict=True)
    )
    both = not relation.directed and sides is None
    for a, i in enumerate(rows.tolist()):
        for b, j in enumerate(columns.tolist()):
            there = value.get((i, j), value.get((j, i)) if both else None)
            seen = shown[a, b] - (form == LEVELS)
            assert np.isnan(seen) if there is None else seen == pytest.approx(there)
    assert names == {"directed": ("source", "target"), "two kinds": ("users", "books")}.get(
        name.removesuffix(", loops"), ("", "")
    )


def test_signs_and_unknown_pairs_have_a_legend() -> None:
    relation = Relation(
        "",
        np.array([[0, 1], [1, 2]], dtype=np.int32),
        LEVELS,
        np.array([0.0, 1.0]),
        ("-", "+"),
        unknown=np.array([[3, 4]], dtype=np.int32),
    )
    with use_style():
        _, ax = plt.subplots()
        entries = draw_matrix(ax, Relations(6, (relation,)), 0, LABELS)
        assert [entry.get_label() for entry in entries] == ["-", "+", "unknown"]
        assert len(ax.collections[0].get_offsets()) == 2  # in both directions
        number_blocks(ax, Relations(6, (relation,)), LABELS, ["1", "2", "3"])
        assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "2", "3"]
        plt.close()
    # in grey one is twice as light as the other
    light = [np.dot(to_rgb(colour), [0.299, 0.587, 0.114]) for colour in (NEGATIVE, POSITIVE)]
    assert light[1] > 2 * light[0]


def test_cells_of_a_large_network_are_densities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation_matrix, "MOST_NODES", 3)
    shown, _ = cells_of(Relations(6, (Relation("", np.array([[0, 1]], dtype=np.int32), directed=True),)), LABELS)
    assert shown.sum() > 0 and shown.shape == (relation_matrix.CELLS,) * 2


def arrows_of(relations: Relations, labels: Any, names: list[str] | None = None) -> tuple[list[Any], list[str], float]:
    with use_style():
        _, ax = plt.subplots()
        chance, _ = network.draw_blocks(ax, relations, 0, labels, ["1", "2", "3"], names)
        arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
        rings = [patch for patch in ax.patches if isinstance(patch, Circle) and not patch.get_fill()]
        texts = [text.get_text() for text in ax.texts]
        plt.close()
    return [len(arrows), len(rings)], texts, chance


def test_arrows_are_edges_above_chance() -> None:
    """Block 0 sends to block 1 and has edges within; two of 30 pairs are an edge from 1 to 2."""
    ends = [(0, 1), (1, 2), *((i, j) for i in (0, 1, 2) for j in (3, 4)), (3, 5)]
    relation = Relation("", np.array(ends, dtype=np.int32), directed=True)
    (arrows, rings), texts, chance = arrows_of(Relations(6, (relation,)), LABELS, list("uvwxyz"))
    assert chance == pytest.approx(9 / 30)
    # 0 to 1 (1), 1 to 2 (1/2), 0 within (2/6)
    assert (arrows, rings) == (2, 1)
    assert {"1", "0.5", "0.33"} <= set(texts)
    assert any(text.startswith("u, ") or text.startswith("v, ") for text in texts) and "z (1)" in texts

    sided = Relation("", np.array([[0, 3], [1, 3], [5, 4]], dtype=np.int32))
    sides = np.array([0, 0, 0, 1, 1, 0], dtype=np.int8)
    (arrows, rings), _, chance = arrows_of(Relations(6, (sided,), sides), np.array([0, 0, 0, 1, 2, 0]))
    assert chance == pytest.approx(3 / 8) and (arrows, rings) == (1, 0)


def test_numbers_of_crossing_lines_are_apart() -> None:
    """Ten nodes in five blocks; between any two blocks all pairs are edges."""
    labels = np.repeat(np.arange(5), 2)
    ends = [(i, j) for i in range(10) for j in range(i + 1, 10) if labels[i] != labels[j]]
    relations = Relations(10, (Relation("", np.array(ends, dtype=np.int32)),))
    with use_style():
        _, ax = plt.subplots()
        network.draw_blocks(ax, relations, 0, labels, list("12345"), None)
        places = np.array(
            [text.get_position() for text in ax.texts if text.get_text() == "1" and text.get_bbox_patch()]
        )
        plt.close()
    assert len(places) == 10
    apart = np.abs(places[:, None] - places) >= network.NUMBER
    assert (apart.any(axis=2) | np.eye(10, dtype=bool)).all()


def test_two_kinds_of_nodes_face_each_other() -> None:
    sides = FORMS["two kinds"]["sides"]
    relations = Relations(6, (draw_relation(2, sides=sides),), sides, ("users", "books"))
    with use_style():
        _, ax = plt.subplots()
        network.draw_facing(ax, relations, 0, PURE, list("uvwxyz"))
        assert {text.get_text() for text in ax.texts} == {*"uvwxyz", "users", "books"}
        segments = ax.collections[-1].get_segments()
        plt.close()
    assert len(segments) == len(relations.layers[0].ends)
    assert all(one[0][0] == 0 and one[1][0] == 1 for one in segments)


def test_nodes_of_one_kind_alone_are_drawn() -> None:
    """The nodes of highest degree may be of one kind."""
    none = np.zeros((0, 2), dtype=np.int32)
    relations = Relations(3, (Relation("", none),), np.ones(3, dtype=np.int8))
    with use_style():
        _, (ax, other) = plt.subplots(1, 2)
        assert not draw_matrix(ax, relations, 0, np.zeros(3, dtype=int))
        number_blocks(ax, relations, np.zeros(3, dtype=int), ["1"])
        network.draw_facing(other, relations, 0, np.zeros(3, dtype=np.int64), None)
        plt.close()
