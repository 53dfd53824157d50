"""Sizes of errors in the papers that the reference implementations show: each test prints what `errata.csv` states.

``python -m pytest -s -q tests/replay/test_errata_sizes.py -k NAME`` shows the numbers of one.
"""

from __future__ import annotations

import pytest
from cases_lshsm import build, stationary_distance, tables_for
from enumerated_topics import corpus
from plain_network import IRM
from test_reference_arm import FIVE, ORDERS, PHIS, STATES, Stricter, goals
from test_reference_lshsm_likelihood import MODELS, by_one_bit, expectations, plug_in, second_line
from test_reference_lshsm_printed import FAULTS
from test_reference_smag_biases import FEW, MANY, as_printed, on_nodes, posterior, topics_in

SIZES = {
    "average": (0.064, 0.084, 0.050),
    "orientation": (0.100, 0.050, 0.057),
    "dumb": (0.111, 0.073, 0.062),
    "order": (0.141, 0.120, 0.091),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_equations_3_to_6_with_one_error(fault):
    """Luo & Shrivastava 2018: one error in the exact sampler, four items, two tables of one bit, union reading."""
    names = "gaussian", "bernoulli", "irm"
    found = [stationary_distance(build(tables_for(n, 1, 2, 1), "sums", "union", FAULTS[fault]), n) for n in names]
    print(f"\n{fault}: " + ", ".join(f"{name} {distance:.3f}" for name, distance in zip(names, found, strict=True)))
    assert found == pytest.approx(SIZES[fault], abs=6e-4)


def test_readings_of_equation_11():
    """Luo & Shrivastava 2018: the mean estimate over newly drawn tables; four points in two clusters."""
    clusters = [[0, 1], [2, 3]]
    readings = {
        "first line": (lambda estimate, of: estimate(of), (1, 1)),
        "second line": (second_line, (1, 1)),
        "Pr of one code, two tables": (by_one_bit, (1, 2)),
    }
    exact, found = plug_in(MODELS["gaussian"], clusters), []
    for reading, (of, shape) in readings.items():
        (mean,) = expectations("gaussian", clusters, *shape, lambda estimate, of=of: (of(estimate, clusters),))
        print(f"\n{reading}: {mean:.2f} of {exact:.2f}")
        found.append(mean)
    assert found == pytest.approx([exact, -5.852, -8.603], abs=6e-4)


def test_walks_without_a_way_back():
    """Section 2.1.1 of Herlau et al. 2014: one choice of (i, j, z_a, z_b), sRM on five nodes."""
    _, _, i, j = PHIS[5][0]
    model, states = IRM(FIVE, 1.3, 0.8, 1.1), STATES["irm-five"]
    there = [goals(Stricter(model, z, i, j, ORDERS[5][0], None, False)) for z in states]
    moves = sum(len(reached) for reached in there)
    lost = sum(x not in there[y] for x in range(len(there)) for y in there[x])
    print(f"\n{lost} of {moves} moves have no way back")
    assert 0 < lost < moves


@pytest.mark.parametrize(("form", "nodes"), [("text", 4), ("box", 3)])
def test_mean_number_of_topics_as_printed(form, nodes):
    """Algorithm 1 of Rana et al. 2013 alone: a document of two words, by quadrature over the weights."""
    for gamma, alpha0 in (FEW, MANY):
        model = corpus(2, gamma, alpha0, docs=[0, 0], words=[0, 1])
        distribution, exact = topics_in(on_nodes(as_printed(form), model, nodes)), topics_in(posterior(model))
        print(f"\n{form}, gamma {gamma}, alpha0 {alpha0}: {distribution:.2f} topics, posterior {exact:.2f}")
        assert (distribution < exact - 0.1) if gamma > alpha0 else (distribution > exact + 0.1)
