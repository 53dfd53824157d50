"""Groups of chains, and in what their partitions differ."""

import numpy as np
import pytest

from splitmerge_cli.diagnostics.modes import chain_groups, describe_difference, draw_groups

RNG = np.random.default_rng(0)


def near(labels: np.ndarray, share: float, draws: int = 30) -> np.ndarray:
    """Partitions with a share of the items put at random."""
    rows = np.tile(labels, (draws, 1))
    moved = RNG.random(rows.shape) < share
    rows[moved] = RNG.integers(labels.max() + 1, size=moved.sum())
    return rows


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1])
def test_chains_near_one_partition_are_a_group(share: float) -> None:
    ten, five = np.repeat(np.arange(10), 20), np.repeat(np.arange(5), 40)
    chains = {0: near(ten, share), 1: near(five, share), 2: near(ten, share), 3: near(five, share)}
    assert chain_groups(chains) == [[0, 2], [1, 3]]
    assert chain_groups({c: near(ten, share) for c in range(3)}) == [[0, 1, 2]]


def test_a_chain_that_visits_both_joins_them() -> None:
    ten, five = np.repeat(np.arange(10), 20), np.repeat(np.arange(5), 40)
    both = np.concatenate([near(ten, 0.01), near(five, 0.01)])
    assert chain_groups({0: near(ten, 0.01), 1: near(five, 0.01), 2: both}) == [[0, 1, 2]]


def test_differences_are_named_by_clusters_that_are_one() -> None:
    ten, five = np.repeat(np.arange(10), 20), np.repeat(np.arange(5), 40)
    said = describe_difference(ten, five)
    assert said.startswith("clusters of 20 and 20 items of the first are one in the second; ")
    assert said.endswith("; 3 more such unions")
    assert "of the second are one in the first" in describe_difference(five, ten)
    crossed = np.tile(np.repeat([0, 1], 10), 2)
    assert describe_difference(np.repeat([0, 1], 20), crossed) == "20 items are in another cluster"
    assert describe_difference(ten, ten) == "0 items are in another cluster"


def test_kinds_of_draws_between_which_chains_move_seldom() -> None:
    ten, five = np.repeat(np.arange(10), 20), np.repeat(np.arange(5), 40)
    both = np.concatenate([near(ten, 0.05, 20), near(five, 0.05, 40)])
    found = draw_groups({0: near(ten, 0.05, 60), 1: both, 2: near(ten, 0.05, 60)})
    assert found is not None
    assert not found[0].any() and not found[2].any()
    assert 18 <= int((found[1] == 0).sum()) <= 22 and set(found[1][25:]) == {1}
    assert draw_groups({c: near(ten, 0.3, 60) for c in range(3)}) is None
    assert draw_groups({c: near(ten, 0.0, 60) for c in range(3)}) is None


@pytest.mark.filterwarnings("error")
def test_draws_that_are_all_as_far_apart_are_of_no_kind() -> None:
    apart = np.eye(40, dtype=np.int32)
    assert draw_groups({0: apart, 1: apart}) is None
