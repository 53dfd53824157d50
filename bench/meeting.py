"""How soon pairs of coupled chains meet, and the cost of a coupled iteration compared with two uncoupled ones.

Each chain of a pair starts from one cluster, singletons, or a draw from the prior, each with probability 1/3; the lag
is 1. The points are normal around centres that are themselves normal with standard deviation `spread`: 0.4 leaves one
heap, 4 clusters apart.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.coupled import CoupledChains
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.samplers.subcluster import Subcluster

Points = NDArray[np.float64]
ROWS: list[tuple[int, int, int, float, float, int, bool, str, int, int]] = [
    # N, D, clusters, spread, kappa0, SAMS moves before each scan, whether chains share parameters, coupling, most
    # iterations, pairs
    (1_000, 50, 10, 2.0, 0.01, 5, False, "maximal", 300, 60),
    (1_000, 50, 10, 2.0, 0.01, 5, False, "common", 300, 60),
    (1_000, 50, 10, 2.0, 0.01, 5, False, "transport", 300, 60),
    (100, 5, 5, 3.0, 1e-6, 0, False, "maximal", 2_000, 50),
    (100, 5, 5, 3.0, 1e-6, 1, False, "maximal", 2_000, 50),
    (100, 5, 5, 3.0, 1e-6, 5, False, "maximal", 2_000, 50),
    (500, 5, 5, 2.0, 0.01, 1, False, "maximal", 10_000, 50),
    (500, 5, 5, 2.0, 0.01, 5, False, "maximal", 10_000, 50),
    (500, 5, 5, 1.5, 0.01, 1, False, "maximal", 10_000, 50),
    (500, 5, 5, 1.5, 0.01, 5, False, "maximal", 10_000, 50),
    (500, 5, 5, 1.5, 0.01, 5, False, "common", 10_000, 50),
    (500, 5, 5, 1.5, 0.01, 5, False, "transport", 10_000, 20),
    (500, 5, 5, 0.8, 0.01, 5, False, "maximal", 10_000, 50),
    (10_000, 5, 5, 4.0, 0.01, 5, False, "maximal", 2_000, 20),
    (10_000, 5, 5, 1.5, 0.01, 5, False, "maximal", 2_000, 20),
    (10_000, 5, 5, 0.8, 0.01, 5, False, "maximal", 2_000, 8),
    (10_000, 5, 5, 0.8, 0.01, 5, True, "maximal", 2_500, 8),
    (10_000, 25, 10, 0.5, 0.01, 5, False, "maximal", 1_500, 8),
    (10_000, 25, 10, 0.5, 0.01, 5, True, "maximal", 1_500, 8),
    (10_000, 50, 10, 2.0, 0.01, 5, False, "maximal", 500, 20),
]


def points(N: int, D: int, clusters: int, spread: float) -> Points:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(clusters, D)) * spread)[rng.integers(clusters, size=N)] + rng.normal(size=(N, D))


def pair(x: Points, kappa0: float, moves: int, shared: bool, coupling: str, seed: int) -> CoupledChains:
    """A pair of chains at its start; `shared`: each iteration begins with a draw of all labels given parameters that
    the chains share."""
    rng = Rng(seed)
    generator = np.random.Generator(rng.bit_generator)
    models = [Gaussian(x, kappa0=kappa0, a0=2.0, b0=1.0) for _ in range(2)]
    for model in models:
        start = generator.integers(3)
        drawn = model.prior.draw(generator)[0] if start == 2 else np.arange(len(x)) * (start == 1)
        model.set_labels(drawn)
    samplers = [
        [*[Subcluster(m, rng, rounds=0, pairs=0)] * shared, *[Dyadic(m, rng, allocation="sams")] * moves, Gibbs(m, rng)]
        for m in models
    ]
    return CoupledChains(*models, rng, *samplers, 1, coupling=coupling)


def meeting_times(row: Sequence[Any]) -> dict[str, Any]:
    """Return the meeting times of a row's pairs."""
    N, D, clusters, spread, kappa0, moves, shared, coupling, iterations, pairs = row
    x = points(N, D, clusters, spread)

    def meet(seed: int) -> tuple[float, float, float]:
        chains = pair(x, kappa0, moves, shared, coupling, seed)
        began = thread_time()
        chains.advance(iterations)
        times = chains.meeting if chains.meeting >= 0 else np.inf
        return times, thread_time() - began, 0.0 if chains.meeting >= 0 else chains.distance

    with ThreadPoolExecutor() as pool:
        times, seconds, apart = np.array(list(pool.map(meet, range(pairs)))).T
    median, most_of = np.quantile(times, [0.5, 0.95], method="higher")
    columns = ("N", "D", "clusters", "spread", "kappa0", "moves", "shared", "coupling", "most", "pairs")
    return {
        **dict(zip(columns, row, strict=True)),
        "met": int(np.isfinite(times).sum()),
        "median": median,
        "95 %": most_of,
        "seconds": float(seconds.mean()),
        "apart": float(apart[np.isinf(times)].mean()) if np.isinf(times).any() else 0.0,
    }


def cost(near: bool, coupling: str = "maximal", iterations: int = 40, rounds: int = 7) -> float:
    """Seconds of a coupled iteration over the seconds of two uncoupled ones, paired; median over rounds."""
    x = points(1_000, 10, 10, 2.0)
    ratios = []
    for round_ in range(rounds):
        together, alone = (pair(x, 0.01, 5, False, coupling, round_) for _ in range(2))
        rng = np.random.default_rng(round_)
        for chains in (together, alone):
            settled = np.argmin(np.abs(x[:, :1] - x[:10, 0]), axis=1)
            chains.x.set_labels(np.unique(settled, return_inverse=True)[1])
            chains.y.set_labels(chains.x.labels if near else np.unique(rng.permuted(settled), return_inverse=True)[1])
        steps = len(together.samplers_x)
        seconds = []
        for chains, coupled in ((together, True), (alone, False)):
            began = thread_time()
            for _ in range(iterations if near else 1):
                for t in range(steps):
                    if coupled:
                        chains.step(t)
                    else:
                        chains.samplers_x[t].step()
                        chains.samplers_y[t].step()
            seconds.append(thread_time() - began)
        ratios.append(seconds[0] / seconds[1])
    return float(np.median(ratios))


def main(quick: bool) -> dict[str, Any]:
    print("iterations until pairs of coupled chains meet\n")
    print("     N   D   K spread  kappa0 moves shared  coupling   met     median   95 %  s/pair")
    rows = []
    for row in ROWS:
        if quick and row[0] > 1_000:
            continue
        each = meeting_times((*row[:-1], min(row[-1], 10)) if quick else row)
        rows.append(each)
        apart = "" if each["apart"] == 0 else f"   {each['apart']:.1%} of the pairs of items differ at the end"
        share = "yes" if each["shared"] else "no"
        print(
            f"{each['N']:>6} {each['D']:>3} {each['clusters']:>3} {each['spread']:>6} {each['kappa0']:>7g} "
            f"{each['moves']:>5} {share:>6} {each['coupling']:>9}   {each['met']}/{each['pairs']:<5} "
            f"{each['median']:>6g} {each['95 %']:>6g} {each['seconds']:>7.2f}{apart}",
            flush=True,
        )
    costs = {
        f"{coupling}, {'equal' if near else 'apart'}": cost(near, coupling)
        for coupling in ("maximal", "common", "transport")
        for near in (True, False)
    }
    print("\na coupled iteration over two that are not coupled (N=1,000, D=10, five SAMS moves and a scan)")
    for name, ratio in costs.items():
        print(f"  {name:<18} {ratio:.2f}")
    return {"meeting": rows, "cost": costs}
