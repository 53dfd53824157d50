"""Processor seconds of the search for the point estimate, by its number of items and partitions.

The sampled partitions are noisy copies of one of K clusters: every item is put elsewhere at random with a probability
of its own, up to `NOISE`, so that no two items are together in all of them and each is a block of its own.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics.partition_losses import LOSSES, by_appearance, distances
from splitmerge_cli.diagnostics.point_estimate import minimise_expected_loss

NOISE = 0.4
SIZES = [(100, 1_000, 5), (1_000, 1_000, 10), (1_000, 1_000, 50), (10_000, 500, 10), (10_000, 500, 50)]
"""Items, partitions, clusters."""


def noisy_copies(N: int, M: int, K: int, seed: int = 0) -> NDArray[np.int32]:
    """Return M noisy copies of a partition, N items in K clusters: int32 ``[M, N]``."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=N)
    stray = rng.random((M, N)) < NOISE * rng.random(N)
    rows = np.where(stray, rng.integers(K, size=(M, N)), truth)
    return np.stack([by_appearance(row) for row in rows])


def main(quick: bool) -> list[dict[str, Any]]:
    """Time the search of every loss and size, and print the rows."""
    measured = []
    print(f"{'loss':<8}{'items':>8}{'partitions':>12}{'clusters':>10}{'seconds':>9}{'expected':>10}{'sampled':>10}")
    for N, M, K in SIZES[:2] if quick else SIZES:
        rows = noisy_copies(N, M, K)
        for loss in LOSSES:
            began = time.process_time()
            estimate = minimise_expected_loss(rows, loss)
            seconds = time.process_time() - began
            best = min(distances(row, rows, loss).mean() for row in rows[:: max(1, M // 20)])
            measured.append(
                {"loss": loss, "N": N, "partitions": estimate.partitions, "clusters": K, "seconds": seconds}
            )
            print(
                f"{loss:<8}{N:>8,}{estimate.partitions:>12,}{K:>10}{seconds:>9.2f}{estimate.expected_loss:>10.4f}{best:>10.4f}"
            )
    print("\nsampled: the least expected loss of 20 of the sampled partitions.")
    return measured
