"""Cost of a proposal and of an accepted move of LSHSM's forms and of the samplers that it is compared with, against N,
D and K: chains that leave one cluster, the sampler's move alone, on points of K normal distributions (covariance=diag)
and on sparse points of K topics (covariance=iso; D: words, 50 draws of them a point).

A chain ends after `MOST` accepted moves or its time. From one cluster nearly all that is accepted is a split, so that
clusters get smaller as it goes on: the cost of a proposal is a mean over that way, not that at the end of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.kinds.tables.generated import gaussian
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.sparse_gaussian import SparseGaussian
from splitmerge_cli.samplers.lshsm import LSHSM
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.wang_russell import SDDS

SAMPLERS: dict[str, Callable[[Any, Rng], Sampler]] = {
    "lshsm paired_sequential": LSHSM,
    "lshsm paired": lambda m, r: LSHSM(m, r, proposal="paired"),
    "lshsm sums, table": lambda m, r: LSHSM(m, r, proposal="sums"),
    "lshsm sums, union": lambda m, r: LSHSM(m, r, proposal="sums", reading="union"),
    "lshsm as_printed": lambda m, r: LSHSM(m, r, proposal="sums", mode="as_printed"),
    "sams": lambda m, r: Dyadic(m, r, allocation="sams"),
    "sdds": SDDS,
    "rgsm": RGSM,
}
LARGEST = {"lshsm sums, union": 10_000, "lshsm as_printed": 1_000}
"""Forms whose proposals take O(n^2) on large clusters: timed to this N."""
BASE = {"N": 10_000, "D": 25, "K": 20}
GRID = {"N": [1_000, 10_000, 100_000, 1_000_000], "D": [5, 25, 100, 400], "K": [5, 20, 100, 400]}
SPARSE = {"N": [1_000, 10_000, 100_000], "D": [1_000, 10_000, 100_000], "K": [5, 20, 100]}
SPARSE_BASE = {"N": 10_000, "D": 10_000, "K": 20}
MOST = 200
WORDS = 50


def documents(N: int, D: int, K: int, seed: int = 0) -> scipy.sparse.csr_array:
    """Rows of word counts, length 1: K topics, each of which has drawn a fiftieth of the words for its own."""
    rng = np.random.default_rng(seed)
    own_words = rng.integers(D, size=(K, max(1, D // 50)))
    topic = rng.integers(K, size=N)
    common = rng.random((N, WORDS)) < 0.5
    mine = own_words[topic[:, None], rng.integers(own_words.shape[1], size=(N, WORDS))]
    column = np.where(common, (D * rng.random((N, WORDS)) ** 3).astype(np.int64), mine)
    row = np.repeat(np.arange(N), WORDS)
    counts = scipy.sparse.csr_array((np.ones(N * WORDS), (row, column.ravel())), shape=(N, D))
    counts.sum_duplicates()
    counts.data /= np.repeat(np.sqrt(counts.multiply(counts).sum(axis=1)), np.diff(counts.indptr))
    return counts


def model_of(kind: str, N: int, D: int, K: int) -> Any:
    """The model of generated points, all in one cluster."""
    if kind == "sparse":
        return SparseGaussian(documents(N, D, K), covariance="iso")
    return Gaussian(gaussian(N, components=K, D=D).values)


def measure_chain(model: Any, name: str, seconds: float) -> dict[str, Any]:
    """A chain from one cluster."""
    model.set_labels(np.zeros(model.N, dtype=np.int32))
    rng = Rng(1)
    sampler = SAMPLERS[name](model, rng)
    chain = Chain(model, rng, [sampler], thin=2**62)
    accepted, batch = 0, 1
    while accepted < MOST and chain.seconds < seconds:
        chain.advance(batch, budget=seconds)
        accepted = sum(row["accepted"] for row in sampler.counts())
        batch = min(2 * batch, 1_000)
    void = sum(row["null"] for row in sampler.counts())
    return {"seconds": chain.seconds, "proposed": chain.iteration, "null": void, "accepted": accepted, "to_K": model.K}


def seconds_of(N: int, quick: bool) -> float:
    """Time of a chain."""
    return (0.3 if quick else 2.0) * max(1.0, N / 100_000)


def main(quick: bool) -> list[dict[str, Any]]:
    """Measure and print, one row a sampler and size."""
    rows = []
    print(f"{'points':8}{'N':>10}{'D':>8}{'K':>5}  {'sampler':25}{'proposals':>10}{'accepted':>9}{'K then':>7}", end="")
    print(f"{'us a proposal':>15}{'us an accepted':>16}")
    for kind, base, grid in (("dense", BASE, GRID), ("sparse", SPARSE_BASE, SPARSE)):
        sizes = [base] + [base | {axis: v} for axis, values in grid.items() for v in values if v != base[axis]]
        for size in sizes:
            if quick and size["N"] > 10_000:
                continue
            model = model_of(kind, **size)
            for name in SAMPLERS:
                if size["N"] > LARGEST.get(name, size["N"]):
                    continue
                r = {"points": kind, **size, "sampler": name} | measure_chain(model, name, seconds_of(size["N"], quick))
                rows.append(r)
                each = f"{1e6 * r['seconds'] / r['accepted']:16,.0f}" if r["accepted"] else f"{'none accepted':>16}"
                print(
                    f"{kind:8}{size['N']:10,}{size['D']:8,}{size['K']:5}  {name:25}{r['proposed']:10,}"
                    f"{r['accepted']:9,}{r['to_K']:7}{1e6 * r['seconds'] / r['proposed']:15,.1f}{each}",
                    flush=True,
                )
    return rows
