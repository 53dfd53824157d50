"""Large tables of numbers: seconds until the clusters are found, by `subcluster` with one thread, with two, and with
two workers of Dask, by the best collapsed schedule, and by scikit-learn's variational mixture.

Every row is a process of its own. Clusters are normal, of equal weights; `full` ones have covariance matrices with
standard deviations from 0.3 to 3.3 along random axes. All begin from one cluster, the variational mixture from k-means
with as many components as there are clusters, a fifth more and its other defaults. Seconds leave out the data and the
comparison with the true labels; `found` is when the adjusted Rand index reaches 0.95.
"""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from splitmerge_cli.config import compose
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.runs.shards.run import DaskShards, ShardedRun, bounds_of
from splitmerge_cli.runs.shards.source import open_source
from splitmerge_cli.runs.sweeps.job import DaskWorkers
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.samplers.subcluster import Subcluster

CASES = {"full": (100_000, 128, 80, "full"), "diag": (1_000_000, 25, 100, "diag")}
QUICK = {"full": (20_000, 32, 20, "full"), "diag": (100_000, 25, 30, "diag")}
SHARDED = "subcluster, 2 Dask workers"
METHODS = ("subcluster, 1 thread", "subcluster, 2 threads", SHARDED, "collapsed, 5 sams and a scan", "variational")
FOUND = 0.95


def points(N: int, D: int, K: int, covariance: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points of K clusters, and their labels."""
    rng = np.random.default_rng(1)
    z = rng.integers(K, size=N)
    mean = 1.5 * rng.normal(size=(K, D))
    x = rng.normal(size=(N, D))
    for k in range(K):
        inside = np.flatnonzero(z == k)
        if covariance == "full":
            axes = np.linalg.qr(rng.normal(size=(D, D)))[0] * np.exp(rng.uniform(-1.2, 1.2, D))
            x[inside] = x[inside] @ axes.T
        x[inside] += mean[k]
    return x, z


def measure(method: str, case: tuple[int, int, int, str], limit: float) -> dict[str, float]:
    """Seconds until the clusters are found, in this process; not beyond `limit`, but for the step under way."""
    N, D, K, covariance = case
    x, z = points(N, D, K, covariance)
    if method == SHARDED:
        with start_shards(x, covariance) as (step, labels):
            return time_steps(step, labels, z, limit, 0.0)
    began = perf_counter()
    if method == "variational":
        warnings.simplefilter("ignore")
        mixture = BayesianGaussianMixture(
            n_components=K * 6 // 5, covariance_type=covariance, max_iter=1, warm_start=True, random_state=0
        )

        def step() -> None:
            mixture.fit(x)

        def labels() -> NDArray[Any]:
            return mixture.predict(x)
    else:
        model = Gaussian(x, covariance=covariance)
        rng = Rng(5)
        if method.startswith("subcluster"):
            samplers = [Subcluster(model, rng)]
            samplers[0].threads = int(method.split()[1])
        else:
            samplers = [*[Dyadic(model, rng, allocation="sams")] * 5, Gibbs(model, rng)]

        def step() -> None:
            for sampler in samplers:
                sampler.step()

        def labels() -> NDArray[Any]:
            return model.labels

    return time_steps(step, labels, z, limit, perf_counter() - began)


def time_steps(
    step: Callable[[], None], labels: Callable[[], NDArray[Any]], z: NDArray[np.int64], limit: float, spent: float
) -> dict[str, float]:
    """Steps until the clusters are found, or the limit; `spent`: seconds before the first."""
    steps, ari, time_found = 0, 0.0, float("nan")
    while spent < limit:
        began = perf_counter()
        step()
        spent += perf_counter() - began
        steps += 1
        ari = adjusted_rand_score(z, labels())
        if ari >= FOUND:
            time_found = spent
            break
    return {"found": time_found, "spent": spent, "steps": steps, "ari": ari}


@contextmanager
def start_shards(
    x: NDArray[np.float64], covariance: str
) -> Iterator[tuple[Callable[[], None], Callable[[], NDArray[Any]]]]:
    """A step of a chain whose points are with two workers of Dask, and the labels."""
    with TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        source = open_source(f"{folder}/x.npy")
        model = ["model=gaussian", f"model.covariance={covariance}", "sampler=subcluster", "seed=5"]
        spec = compose(["data=csv", f"data.path={folder}/x.npy", *model])
        bounds = bounds_of(len(x), 2)
        with DaskWorkers(n_workers=2).client(2) as client:
            client.wait_for_workers(2)
            shards = DaskShards(client, source, bounds)
            run = ShardedRun(spec, source, shards, bounds)
            run.items.settle([np.zeros(end - first, dtype=np.int32) for first, end in bounds], 1)
            yield run.sampler.step, lambda: np.concatenate(shards.all("labels"))


def main(quick: bool, limit: float = 600.0) -> list[dict[str, Any]]:
    print("covariance      N    D    K  method                          found, s   steps   ARI at the end")
    rows = []
    for name, case in (QUICK if quick else CASES).items():
        for method in METHODS:
            command = [sys.executable, "-m", "bench.points", method, json.dumps(case), str(60.0 if quick else limit)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            each = json.loads(out)
            rows.append({"case": name, "method": method, **each})
            time_text = f"{each['found']:.1f}" if each["found"] == each["found"] else f"> {each['spent']:.0f}"
            print(
                f"{name:6}{case[0]:11,}{case[1]:5}{case[2]:5}  {method:30}{time_text:>10}{each['steps']:8}"
                f"{each['ari']:11.3f}",
                flush=True,
            )
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], tuple(json.loads(sys.argv[2])), float(sys.argv[3]))))
