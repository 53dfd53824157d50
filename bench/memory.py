"""Memory of one and of four chains on the same data: what they share is there once.

Each case is a process of its own, which builds the data, then the chains, and makes a step of every chain. Numbers are
MB of the process, without what the interpreter and its modules take: `resident` at the end, `peak` at any time. `own`
is what a chain needs for itself: six 32-bit numbers an item (its label, neighbours in the list of members, its labels
in the last row and in the two best states).
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.tables.generated import mixed
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.gibbs import Gibbs

CLUSTERS = 10
LIMIT = 1.3
"""Most that four chains may take of the memory of one, their labels apart."""


def points(N: int, D: int) -> Dataset:
    x = np.random.default_rng(1).standard_normal((N, D))
    x[:, 0] += 5.0 * (np.arange(N) % CLUSTERS)
    return Dataset("points", "points", x)


def sparse(N: int, D: int) -> Dataset:
    """Return N rows of 40 D columns, with `D` entries each."""
    rng = np.random.default_rng(1)
    column = np.sort(rng.integers(40, size=(N, D)) + 40 * np.arange(D), axis=1).astype(np.int32)
    entries = rng.standard_normal(N * D)
    return Dataset("sparse", "points", csr_array((entries, column.ravel(), np.arange(0, N * D + 1, D)), (N, 40 * D)))


def binary(N: int, D: int) -> Dataset:
    return Dataset("binary", "binary", np.random.default_rng(1).integers(2, size=(N, D), dtype=np.uint8))


def table(N: int, D: int) -> Dataset:
    """As many columns of each type, D in all or up to three more."""
    return mixed(N, CLUSTERS, *[-(-D // 4)] * 4)


def tokens(N: int, D: int) -> Dataset:
    words = [str(w) for w in range(D)]
    return Dataset("tokens", "tokens", np.random.default_rng(1).integers(D, size=N, dtype=np.int32), vocabulary=words)


CASES: dict[str, tuple[Callable[[int, int], Dataset], Callable[[Dataset], Any]]] = {
    "gaussian diag": (points, lambda data: Gaussian.from_data(data)),
    "gaussian full": (points, lambda data: Gaussian.from_data(data, covariance="full")),
    "gaussian sparse": (sparse, lambda data: Gaussian.from_data(data)),
    "bernoulli": (binary, lambda data: Bernoulli.from_data(data)),
    "bernoulli uniform": (binary, lambda data: Bernoulli.from_data(data, prior="uniform")),
    "mixed": (table, lambda data: Mixed.from_data(data)),
    "emm": (tokens, lambda data: EMM.from_data(data)),
    "lines": (lambda N, D: points(N, 2), lambda data: Lines.from_data(data)),
}


def megabytes(field: str) -> float:
    """A field of this process's status, VmRSS or VmHWM."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1e3
    raise RuntimeError(f"/proc/self/status has no {field}")


def measure(case: str, N: int, D: int, chains: int) -> dict[str, float]:
    """Resident and peak MB of this process with so many chains, and the seconds it took to build them."""
    empty = megabytes("VmRSS")
    make, build = CASES[case]
    data = make(N, D)
    loaded, start = megabytes("VmRSS") - empty, perf_counter()
    held = []
    for number in range(chains):
        model, rng = build(data), Rng(1, number)
        model.set_labels(np.arange(N, dtype=np.int32) % CLUSTERS)
        held.append(Chain(model, rng, [Gibbs(model, rng, scan="site")]))
    seconds = perf_counter() - start
    for chain in held:
        chain.advance(1)
    return {"data": loaded, "resident": megabytes("VmRSS") - empty, "peak": megabytes("VmHWM") - empty, "s": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("-N", type=int, default=1_000_000, help="items")
    parser.add_argument("-D", type=int, default=25, help="columns; tokens of the vocabulary")
    parser.add_argument("--chains", type=int, help="one measurement, in this process")
    arguments = parser.parse_args()
    if arguments.chains is not None:
        print(json.dumps(measure(arguments.cases[0], arguments.N, arguments.D, arguments.chains)))
        return 0
    expected, worst = 24 * arguments.N / 1e6, 0.0
    print(f"{'':18}{'chains':>7}{'data':>8}{'resident':>10}{'peak':>8}{'build, s':>10}{'of one chain':>14}")
    for case in arguments.cases:
        one = None
        for chains in (1, 4):
            sizes = ["-N", str(arguments.N), "-D", str(arguments.D), "--chains", str(chains)]
            command = [sys.executable, "-m", "bench.memory", case, *sizes]
            measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            one = measured if one is None else one
            # what of a chain is its own counts for every chain
            ratio = (measured["resident"] - (chains - 1) * expected) / one["resident"]
            worst = max(worst, ratio)
            print(
                f"{case:18}{chains:7}{measured['data']:8.0f}{measured['resident']:10.0f}{measured['peak']:8.0f}"
                f"{measured['s']:10.1f}{ratio:14.2f}",
                flush=True,
            )
    print(f"own: {expected:.0f} MB a chain; at most {worst:.2f} times the memory of one other chain (limit {LIMIT})")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
