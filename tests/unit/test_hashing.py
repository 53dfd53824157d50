"""Hash tables: their buckets against projections in NumPy, and what they reject."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.samplers.hash_tables import HashTables, tables_of
from splitmerge_cli.samplers.lshsm import LSHSM

SHAPES = [(1, 1), (3, 4), (10, 2), (30, 3)]


def points(N: int = 300, D: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((N, D)) + 2.0


def sampler_of(x: np.ndarray, **options: object) -> LSHSM:
    return LSHSM(Gaussian(x), Rng(0), **options)


def codes_of(tables: HashTables, x: np.ndarray) -> np.ndarray:
    mean = 0.0 if tables.mean is None else tables.mean
    bits = (x - mean) @ tables.directions.astype(float) >= 0.0
    return bits.reshape(len(x), tables.tables, tables.bits) @ (1 << np.arange(tables.bits))


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize(("bits", "tables"), SHAPES)
def test_codes_are_signs_of_projections(bits: int, tables: int, centre: bool) -> None:
    x = points()
    made = HashTables(x, bits, tables, centre, 3)
    np.testing.assert_array_equal(made.codes, codes_of(made, x))


@pytest.mark.parametrize(("bits", "tables"), SHAPES)
def test_buckets_hold_the_items_of_a_code(bits: int, tables: int) -> None:
    made = HashTables(points(), bits, tables)
    codes, mask = made.codes, (1 << bits) - 1
    for table in range(tables):
        for b in np.unique(made.bucket[:, table]):
            inside = made.members[made.starts[b] : made.starts[b + 1]]
            code = codes[inside[0], table]
            np.testing.assert_array_equal(inside, np.flatnonzero(codes[:, table] == code))
            np.testing.assert_array_equal(np.flatnonzero(made.bucket[:, table] == b), inside)
            across = np.flatnonzero(codes[:, table] == code ^ mask)
            expected = made.bucket[across[0], table] if len(across) else -1
            assert made.opposite[b] == expected
    assert len(made.members) == made.N * tables
    assert made.nbytes - made.directions.nbytes <= 16 * made.N * tables + 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_items_hash_alike(dtype: type) -> None:
    x = np.random.default_rng(1).poisson(0.3, size=(200, 12)).astype(dtype)
    dense, sparse = HashTables(x, 6, 5, True, 2), HashTables(scipy.sparse.csr_array(x), 6, 5, True, 2)
    np.testing.assert_array_equal(dense.bucket, sparse.bucket)
    np.testing.assert_allclose(dense.mean, sparse.mean, rtol=1e-12)


def test_items_without_direction_are_nowhere() -> None:
    x = np.vstack([points(20), np.zeros((3, 5))])
    for made in (HashTables(x, 2, 3, centre=False), HashTables(scipy.sparse.csr_array(x), 2, 3, centre=False)):
        assert (made.bucket[20:] == -1).all() and (made.bucket[:20] >= 0).all()
        assert made.statistics()["without_direction"] == 3
        assert not np.isin([20, 21, 22], made.members).any()
        assert [made.probability(20, v) for v in (0, 21)] == [0.0, 0.0]


def test_sparse_items_that_are_all_alike_are_nowhere() -> None:
    """Their distance from the mean is a difference of squares, which is rounding."""
    made = HashTables(scipy.sparse.csr_array(np.full((6, 2), 0.1)), 2, 3)
    assert made.statistics()["without_direction"] == 6


def test_items_that_are_all_alike_leave_no_bucket() -> None:
    model = Gaussian(np.full((6, 2), 0.1), b0=1.0)
    sampler = LSHSM(model, Rng(0))
    for _ in range(50):
        sampler.step()
    assert sampler.tables.statistics()["buckets"] == 0
    assert sum(row["null"] for row in sampler.counts()) == sum(row["proposed"] for row in sampler.counts()) == 50


@pytest.mark.parametrize("reading", ["table", "union"])
@pytest.mark.parametrize("opposite", [False, True])
def test_probabilities_sum_to_one_or_none(opposite: bool, reading: str) -> None:
    made = HashTables(points(40), 4, 3)
    for u in range(made.N):
        total = sum(made.probability(u, v, opposite, reading) for v in range(made.N))
        assert total == pytest.approx(1.0) or total == 0.0
        assert made.probability(u, u, opposite, reading) == 0.0


def test_chains_share_their_tables() -> None:
    x = points()
    assert tables_of(x, 5, 4, True, 0) is tables_of(x, 5, 4, True, 0)
    assert tables_of(x, 5, 4, True, 0) is not tables_of(x.copy(), 5, 4, True, 0)
    first, second = (LSHSM(Gaussian(x), Rng(0, chain)) for chain in (0, 1))
    assert first.tables is second.tables


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (HashTables, {"bits": 0}, "sampler.bits"),
        (HashTables, {"bits": 31}, "sampler.bits"),
        (HashTables, {"tables": 0}, "sampler.tables"),
        (HashTables, {"seed": -1}, "sampler.tables_seed"),
        (sampler_of, {"proposal": "pairs"}, "sampler.proposal"),
        (sampler_of, {"reading": "tables"}, "sampler.reading"),
        (sampler_of, {"centre": 1}, "sampler.centre"),
        (sampler_of, {"mode": "as_printed"}, "sampler.mode=as_printed: expected sampler.proposal=sums"),
        (sampler_of, {"mode": "as_printed", "proposal": "sums", "cache": 0}, "sampler.cache"),
    ],
)
def test_options_out_of_range(make: Any, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(points(20), **options)


def test_tables_that_no_machine_holds() -> None:
    wide = scipy.sparse.csr_array((1, 2_000_000_000))
    with pytest.raises(ValueError, match=r"sampler\.tables=10000, sampler\.bits=30: .* GiB"):
        HashTables(wide, 30, 10_000)
    with pytest.raises(ValueError, match=r"sampler\.tables=10000: .*2\^31 entries"):
        HashTables(scipy.sparse.csr_array((1_000_000, 1)), 1, 10_000)


def test_the_cache_keeps_what_it_has_room_for() -> None:
    """Chances do not depend on what is cached; with room for all pairs every later look-up is served."""
    runs = []
    for cache in (1, 1 << 12):
        model = Gaussian(points(30))
        sampler = LSHSM(model, Rng(1), proposal="sums", mode="as_printed", bits=2, tables=3, cache=cache)
        model.set_labels(np.arange(30) % 3)
        ratios = []
        for _ in range(300):
            sampler.step()
            ratios.append(sampler.last_log_ratio)
        runs.append((model.labels.tolist(), ratios))
        assert sampler.chances is not None
        misses = sampler.chances.looked_up - sampler.chances.served
        assert misses <= 435 if cache > 1 else misses > 435
    assert runs[0][0] == runs[1][0]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
