"""Large data by the default command: time, memory, clusters found, verdict; compared with the variational mixture of
scikit-learn where the columns are real numbers.

``python -m bench.large [SET ...]`` generates each set, runs ``smcmc run`` on its file in a process of its own, and
prints a row of the table in docs/scaling.md. Seconds are on the clock, processor seconds count the process, memory
is the largest that it held. The peer has as many components as there are clusters, and twice as many.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HEAD = ("set", "command", "s", "CPU s", "MB", "iterations", "K", "true K", "ARI", "R-hat", "converged", "peer CPU s")


class Set(NamedTuple):
    """A data set: who writes its file, and the words of the command after that file."""

    write: Callable[[Path, np.random.Generator], int]
    words: Sequence[str]
    peer: bool = False


def write_table(path: Path, names: Sequence[str], columns: Sequence[Sequence[str]], truth: Any) -> None:
    """Write the columns of a table, each as texts, and the true clusters."""
    rows = zip(*columns, map(str, truth), strict=True)
    path.write_text("\n".join(map(",".join, [(*names, "truth"), *rows])) + "\n", encoding="utf-8")


def normal(N: int, D: int, K: int) -> Callable[[Path, np.random.Generator], int]:
    """Normal clusters of variance 1 whose means have standard deviation 6."""

    def write(path: Path, rng: np.random.Generator) -> int:
        z = rng.integers(K, size=N)
        x = rng.normal(0, 6, (K, D))[z] + rng.normal(size=(N, D))
        write_table(path, [f"x{d}" for d in range(D)], [[f"{v:.5f}" for v in column] for column in x.T], z)
        return K

    return write


def binary(N: int, D: int, K: int) -> Callable[[Path, np.random.Generator], int]:
    """Binary columns whose probabilities are Beta(1/2, 1/2)."""

    def write(path: Path, rng: np.random.Generator) -> int:
        z = rng.integers(K, size=N)
        x = rng.random((N, D)) < rng.beta(0.5, 0.5, (K, D))[z]
        write_table(path, [f"b{d}" for d in range(D)], [list(map(str, map(int, column))) for column in x.T], z)
        return K

    return write


def mixed_columns(N: int, K: int) -> Callable[[Path, np.random.Generator], int]:
    """Four real columns, four of words, two of counts, two of yes and no."""

    def write(path: Path, rng: np.random.Generator) -> int:
        z = rng.integers(K, size=N)
        reals = rng.normal(0, 4, (K, 4))[z] + rng.normal(size=(N, 4))
        columns = [[f"{v:.4f}" for v in column] for column in reals.T]
        for _ in range(4):
            below = rng.random(N)[:, None] > np.cumsum(rng.dirichlet(np.full(5, 0.4), K), axis=1)[z]
            columns.append(["abcde"[k] for k in np.minimum(below.sum(axis=1), 4)])
        columns += [[str(v) for v in rng.poisson(rng.gamma(1, 8, K)[z])] for _ in range(2)]
        columns += [["yes" if v else "no" for v in rng.random(N) < rng.beta(0.3, 0.3, K)[z]] for _ in range(2)]
        write_table(
            path, [f"{kind}{d}" for kind, n in zip("rknb", (4, 4, 2, 2), strict=True) for d in range(n)], columns, z
        )
        return K

    return write


def network(N: int, edges: int, K: int) -> Callable[[Path, np.random.Generator], int]:
    """Edges that end in the block where they begin, except 15 % that end anywhere; the nodes are in a second file."""

    def write(path: Path, rng: np.random.Generator) -> int:
        z = rng.integers(K, size=N)
        members = [np.flatnonzero(z == k) for k in range(K)]
        pairs: set[tuple[int, int]] = set()
        while len(pairs) < edges:
            a = int(rng.integers(N))
            b = int(rng.choice(members[z[a]])) if rng.random() > 0.15 else int(rng.integers(N))
            if a != b:
                pairs.add((min(a, b), max(a, b)))
        path.write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in sorted(pairs)), encoding="utf-8")
        nodes = "node,truth\n" + "".join(f"n{i},{k}\n" for i, k in enumerate(z))
        path.with_suffix(".nodes.csv").write_text(nodes, encoding="utf-8")
        return K

    return write


def documents(J: int, length: int, V: int, K: int) -> Callable[[Path, np.random.Generator], int]:
    """Documents, a line each, of topics that have few words in common."""

    def write(path: Path, rng: np.random.Generator) -> int:
        words = rng.dirichlet(np.full(V, 0.02), K)
        with path.open("w", encoding="utf-8") as file:
            for _ in range(J):
                counts = rng.multinomial(length, rng.dirichlet(np.full(K, 0.1)))
                text = np.concatenate([rng.choice(V, size=n, p=words[k]) for k, n in enumerate(counts)])
                file.write(" ".join(f"w{v}" for v in rng.permutation(text)) + "\n")
        return K

    return write


TABLE = ["data=csv", "data.path={}", "data.truth=truth"]
EDGES = ["data=edges", "data.path={}", "data.nodes={nodes}", "data.truth=truth"]
SETS = {
    "2,000 x 16": Set(normal(2_000, 16, 30), [*TABLE, "model=gaussian"], peer=True),
    "2,000 x 16, init=stages": Set(normal(2_000, 16, 30), [*TABLE, "model=gaussian", "init=stages"]),
    "10,000 x 16": Set(normal(10_000, 16, 30), [*TABLE, "model=gaussian"], peer=True),
    "20,000 x 8, 100 clusters": Set(normal(20_000, 8, 100), [*TABLE, "model=gaussian"], peer=True),
    "100,000 x 16": Set(normal(100_000, 16, 30), [*TABLE, "model=gaussian"], peer=True),
    "100,000 x 16, model=auto": Set(normal(100_000, 16, 30), [*TABLE, "model=auto"]),
    "binary 100,000 x 50": Set(binary(100_000, 50, 30), [*TABLE, "model=bernoulli"]),
    "mixed 100,000 x 12": Set(mixed_columns(100_000, 20), [*TABLE, "model=mixed"]),
    "100,000 edges of 10,000 nodes": Set(network(10_000, 100_000, 20), EDGES),
    "1,000,000 tokens": Set(documents(5_000, 200, 2_000, 20), ["data=corpus", "data.path={}"]),
}


def measure_peer(path: Path, K: int) -> float:
    """Processor seconds of scikit-learn's variational mixture with K components at most."""
    from sklearn.mixture import BayesianGaussianMixture

    x = np.loadtxt(path, delimiter=",", skiprows=1)[:, :-1]
    began = time.process_time()
    BayesianGaussianMixture(n_components=K, covariance_type="diag", max_iter=500, random_state=0).fit(x)
    return time.process_time() - began


def measure(name: str) -> list[str]:
    """Generate a set, run the command, and return the row of the table."""
    from splitmerge_cli.runs.store.read import Run

    chosen = SETS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        K = chosen.write(path, np.random.default_rng(1))
        words = [word.format(path, nodes=path.with_suffix(".nodes.csv")) for word in chosen.words]
        command = [sys.executable, "-m", "splitmerge_cli", "run", *words, f"out={folder}/results", "progress=none"]
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            printed = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if process.returncode:
            return [name, *["failed"] * (len(HEAD) - 1)]
        summary = Run(Path(printed.strip().splitlines()[-1])).summary
        judged, ari = summary["convergence"], summary["diagnostics"].get("ari/point")
        peer = [f"{measure_peer(path, k):.1f}" for k in (K, 2 * K)] if chosen.peer else []
    shown = " ".join(
        word for word in chosen.words if "path" not in word and "nodes" not in word and "truth" not in word
    )
    rhat = judged["rhat"]
    return [
        name,
        f"`{shown}`",
        f"{seconds:.1f}",
        f"{used.ru_utime + used.ru_stime:.1f}",
        f"{used.ru_maxrss / 1024:.0f}",
        f"{min(summary['iterations']):,}",
        str(summary["point_estimate"]["n_clusters"]),
        str(K),
        "" if ari is None else f"{ari:.3f}",
        "no draw differs" if rhat is None and judged["converged"] else "infinite" if rhat is None else f"{rhat:.3g}",
        {True: "yes", False: "no", None: "unknown"}[judged["converged"]],
        " / ".join(peer),
    ]


def main(names: Sequence[str]) -> None:
    """Print the rows of these sets; of all without any."""
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for name in names or SETS:
        print("| " + " | ".join(measure(name)) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
