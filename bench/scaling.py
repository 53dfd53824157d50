"""Cost of an iteration and memory of every sampler on every model, against N, D and K.

D is the number of attributes (Bernoulli), of tokens (EMM), of dimensions (Gaussian), of words (HDP), or the mean degree
(IRM). N of the HDP: tokens, in documents of 100. Every chain starts in the true state. Gaussian clusters lie apart, so
that no point moves in a sweep. ARM learns from the start state and one in which a tenth of the items stand elsewhere.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.history import History
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds import lines as lines
from splitmerge_cli.kinds import tokens as emm
from splitmerge_cli.kinds.documents import generated as corpus_generated
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.documents.smag import SMAG
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks import generated as network
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.tables.generated import gaussian, jain_neal
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.lshsm import LSHSM
from splitmerge_cli.samplers.reconfiguration import ARM
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.samplers.wang_russell import RM, SDDS, SS, BirthDeath


def arm(model: Any, rng: Rng) -> ARM:
    """ARM that learns from the model's present state and one in which a tenth of the items stand elsewhere."""
    sampler, state = ARM(model, rng), model.labels
    other = np.random.default_rng(1).permutation(state)
    moved = np.arange(model.N) % 10 == 0
    sampler.fix(state, np.where(moved, other, state))
    return sampler


SAMPLERS: dict[str, Callable[[Any, Rng], Sampler]] = {
    "gibbs": Gibbs,
    "gibbs site": lambda m, r: Gibbs(m, r, scan="site"),
    "sdds": SDDS,
    "sdds ssdm": lambda m, r: SDDS(m, r, kernel="ssdm"),
    "sdds smds": lambda m, r: SDDS(m, r, kernel="smds"),
    "ss": SS,
    "rm": RM,
    "rgsm": RGSM,
    "birth_death": BirthDeath,
    "sams": lambda m, r: Dyadic(m, r, allocation="sams"),
    "triadic": Triadic,
    "arm": arm,
    "smag": SMAG,
    "lshsm": LSHSM,
    "lshsm paired": lambda m, r: LSHSM(m, r, proposal="paired"),
    "lshsm sums": lambda m, r: LSHSM(m, r, proposal="sums"),
}
# Cost of an iteration by the docstrings, and its highest powers of N, D and K when the others stay. n: items of the
# affected clusters, about N / K or twice that; finding large ones is a pass over the N labels.
PROMISED: dict[str, dict[str, tuple[str, int, int, int]]] = {
    "bernoulli": {
        "gibbs": ("N K D", 1, 1, 1),
        "gibbs site": ("K D", 0, 1, 1),
        "sdds": ("(n + K) D + N", 1, 1, 1),
        "sdds ssdm": ("n D + K + N", 1, 1, 1),
        "sdds smds": ("(n + K) D + N", 1, 1, 1),
        "ss": ("(n + K) D + N", 1, 1, 1),
        "rm": ("n D + N", 1, 1, 0),
        "rgsm": ("(t + 1) n D + N", 1, 1, 0),
        "birth_death": ("K + D", 0, 1, 1),
    },
    "emm": {
        "gibbs": ("N K", 1, 0, 1),
        "gibbs site": ("K", 0, 0, 1),
        "sdds": ("n + K D + N", 1, 1, 1),
        "sdds ssdm": ("n + K + D + N", 1, 1, 1),
        "sdds smds": ("n + K D + N", 1, 1, 1),
        "ss": ("n + K D + N", 1, 1, 1),
        "rm": ("n + D + N", 1, 1, 0),
        "rgsm": ("(t + 1) n + D + N", 1, 1, 0),
        "birth_death": ("K", 0, 0, 1),
    },
    "lines": {
        "gibbs": ("N K", 1, 0, 1),
        "gibbs site": ("K", 0, 0, 1),
        "sams": ("n + N", 1, 0, 0),
        "triadic": ("n + N", 1, 0, 0),
    },
    "gaussian diag": {
        "gibbs": ("N K D", 1, 1, 1),
        "gibbs site": ("K D", 0, 1, 1),
        "sams": ("n D + N", 1, 1, 0),
        "triadic": ("n D + N", 1, 1, 0),
        "lshsm": ("n D + N", 1, 1, 0),
        "lshsm paired": ("n D + N", 1, 1, 0),
        "lshsm sums": ("n (D + L) + K + N", 1, 1, 1),
    },
    "gaussian full": {
        "gibbs": ("N K D^2", 1, 2, 1),
        "gibbs site": ("K D^2", 0, 2, 1),
        "sams": ("n D^3 + N", 1, 3, 0),
        "triadic": ("n D^3 + N", 1, 3, 0),
    },
    "irm": {
        "gibbs": ("N K min(D, K)", 1, 1, 1),
        "arm": ("n K min(D, K) + N (D + K)", 1, 1, 1),
    },
    "hdp": {
        "gibbs": ("N min(K, tokens of a word)", 1, 0, 1),
        "gibbs site": ("K + tokens of a document", 0, 0, 1),
        "smag": ("n + D + documents", 1, 1, 0),
        "sdds": ("(n + D) K", 1, 1, 1),
        "sams": ("n + D + documents", 1, 1, 0),
        "rgsm": ("(t + 1) n + D + documents", 1, 1, 0),
    },
}
BASE = {
    "bernoulli": {"N": 10_000, "D": 15, "K": 5},
    "emm": {"N": 10_000, "D": 10, "K": 10},
    "lines": {"N": 10_000, "D": 2, "K": 5},
    "gaussian diag": {"N": 10_000, "D": 25, "K": 10},
    "gaussian full": {"N": 10_000, "D": 25, "K": 10},
    "irm": {"N": 5_000, "D": 12, "K": 10},
    "hdp": {"N": 100_000, "D": 2_000, "K": 20},
}
GRID = {
    "bernoulli": {
        "N": [100, 1_000, 10_000, 100_000, 1_000_000],
        "D": [5, 15, 50, 150, 500],
        "K": [5, 10, 20, 50, 100, 200, 500],
    },
    "emm": {
        "N": [100, 1_000, 10_000, 100_000, 1_000_000],
        "D": [10, 30, 100, 300, 1_000],
        "K": [5, 10, 20, 50, 100, 200, 500],
    },
    "lines": {"N": [100, 1_000, 10_000, 100_000, 1_000_000], "K": [5, 10, 20, 50, 100, 200]},
    "gaussian diag": {
        "N": [100, 1_000, 10_000, 100_000, 1_000_000],
        "D": [2, 5, 25, 100, 250],
        "K": [5, 10, 20, 50, 100, 200, 500],
    },
    "gaussian full": {
        "N": [100, 1_000, 10_000, 100_000],
        "D": [2, 5, 10, 25, 50],
        "K": [5, 10, 20, 50, 100],
    },
    "irm": {
        "N": [200, 1_000, 5_000, 20_000],
        "D": [4, 12, 40, 120, 400],
        "K": [5, 10, 20, 50, 100, 200],
    },
    "hdp": {
        "N": [1_000, 10_000, 100_000, 1_000_000],
        "D": [20, 200, 2_000, 20_000, 200_000],
        "K": [5, 10, 20, 50, 100, 200, 500],
    },
}
UPPER = 3  # points of an axis that the growth is fitted to: the largest ones
TOLERANCE = 0.4  # of a fitted power: statistics or data that outgrow a cache cost more an item


def dataset(kind: str, N: int, D: int, K: int) -> Dataset:
    """Data of K true clusters. EMM: where tokens are fewer, clusters share them. IRM: three edges of five lie within
    blocks."""
    if kind == "bernoulli":
        return jain_neal(N, components=K, attributes=D)
    if kind == "lines":
        return lines.generate(N, lines=K, noise=0.1)
    if kind.startswith("gaussian"):
        return gaussian(N, components=K, D=D)
    if kind == "irm":
        return network.generate(N, blocks=K, p_in=0.6 * D * K / N, p_out=0.4 * D / (N - N / K))
    if kind == "hdp":
        return corpus_generated.synthetic_documents(N // 100, length=100, lengths="fixed", topics=K, words=D)
    data = emm.generate(N, entities=K, n_tokens=max(D, K))
    return replace(data, values=data.values % np.int32(D), vocabulary=emm.token_names(D))


def model_of(kind: str, data: Dataset, K: int) -> Any:
    """The model that supports the data; of the EMM with room for 4 K entities."""
    if kind == "bernoulli":
        return Bernoulli.from_data(data)
    if kind == "lines":
        return Lines.from_data(data, sigma1=0.1)
    if kind.startswith("gaussian"):
        return Gaussian.from_data(data, covariance=kind.split()[1])
    if kind == "irm":
        return IRM.from_data(data)
    if kind == "hdp":
        return HDP.from_data(data, gamma=1.0, alpha0=1.0, eta=0.1)
    return EMM.from_data(data, kmax=4 * K)


def microseconds(name: str, data: Dataset, model: Any, budget: float) -> tuple[float, int]:
    """CPU time of an iteration, over at least three and about `budget` seconds."""
    model.set_labels(data.truth)
    rng = Rng(1)
    chain = Chain(model, rng, [SAMPLERS[name](model, rng)], thin=2**62, timing=False)
    # the first moves of either type of `lshsm sums` look at all items
    chain.advance(8 if name == "lshsm sums" else 1)
    before, began, batch = chain.iteration, thread_time(), 3
    while thread_time() - began < budget:
        chain.advance(batch)
        batch *= 2 if thread_time() - began < budget / 4 else 1
    return 1e6 * (thread_time() - began) / (chain.iteration - before), chain.iteration - before


def times(quick: bool) -> list[dict[str, Any]]:
    """One row a sampler, model, axis and value."""
    budget = 0.02 if quick else 0.15
    rows = []
    for kind, grid in GRID.items():
        for axis, values in grid.items():
            for value in values:
                if quick and axis == "N" and value > 100_000:
                    continue
                sizes = BASE[kind] | {axis: value}
                data = dataset(kind, **sizes)
                model = model_of(kind, data, sizes["K"])
                for name in PROMISED[kind]:
                    us, n = microseconds(name, data, model, budget)
                    rows.append({"model": kind, "sampler": name, "axis": axis, **sizes, "us": us, "iterations": n})
    return rows


def powers(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fitted and promised powers of N, D and K, one row per sampler and model."""
    rows = []
    for kind, promises in PROMISED.items():
        for name, (cost, *limits) in promises.items():
            row: dict[str, Any] = {"model": kind, "sampler": name, "promised": cost}
            for axis, limit in zip("NDK", limits, strict=True):
                points = [r for r in measured if (r["model"], r["sampler"], r["axis"]) == (kind, name, axis)][-UPPER:]
                x, y = np.log([r[axis] for r in points]), np.log([r["us"] for r in points])
                row[axis] = float(np.polyfit(x, y, 1)[0]) if points else None
                row[f"most_{axis}"] = limit
            row["within"] = all(row[a] is None or row[a] <= row[f"most_{a}"] + TOLERANCE for a in "NDK")
            rows.append(row)
    return rows


def resident() -> int:
    """Bytes of this process in memory (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grow(kind: str, N: int, D: int, K: int) -> dict[str, int]:
    """Bytes that the model and then each sampler take up; to be called in a process of its own."""
    model_of(kind, dataset(kind, 100, D, K), K)  # loads what is loaded once
    data = dataset(kind, N, D, K)
    out, before = {}, resident()
    model = model_of(kind, data, K)
    out["model"] = resident() - before
    sizes, rng = [], Rng(1)
    for name in PROMISED[kind]:
        before = resident()
        sizes.append(SAMPLERS[name](model, rng))
        out[name] = resident() - before
    return out


def memory(quick: bool) -> list[dict[str, Any]]:
    """One row a model, N and owner: bytes in all and an item."""
    rows = []
    for kind, base in BASE.items():
        for N in GRID[kind]["N"][-1:] if kind == "irm" else [100_000] if quick else [100_000, 1_000_000]:
            sizes = base | {"N": N}
            code = f"import json; from bench.scaling import grow; print(json.dumps(grow({kind!r}, **{sizes})))"
            # glibc: whole pages for a large block, given back when it is freed, so that none hides in another's place
            env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
            for owner, size in json.loads(done.stdout).items():
                rows.append({"model": kind, "owner": owner, **sizes, "bytes": size, "bytes_an_item": size / N})
    return rows


def history(S: int = 16, N: int = 998, T: int = 10_000, K: int = 40) -> int:
    """Bytes that the history takes up: S chains, T iterations, partitions of N items into K clusters."""
    rng = np.random.default_rng(1)
    states = [np.unique(rng.integers(0, K, N), return_inverse=True)[1] for _ in range(100)]
    before = resident()
    history_kept = History(S, N)
    for t in range(T + 1):
        for chain in range(S):
            history_kept.add(chain, states[(t + chain) % len(states)])
    return resident() - before


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """A CSV of these rows."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def draw(path: Path, rows: list[dict[str, Any]]) -> None:
    """Time of an iteration against N, D, K: a row of panels a model, a line a sampler."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, axes = plt.subplots(len(GRID), 3, figsize=(11, 3.2 * len(GRID)), sharey="row", layout="constrained")
    handles: dict[str, Any] = {}
    for panels, kind in zip(axes, GRID, strict=True):
        for panel, axis in zip(panels, "NDK", strict=True):
            if axis not in GRID[kind]:
                panel.set_axis_off()
                continue
            for number, name in enumerate(SAMPLERS):
                points = [r for r in rows if (r["model"], r["sampler"], r["axis"]) == (kind, name, axis)]
                if points:
                    style, color = ("o-", "s--", "^:", "^:")[number // 5], f"C{number % 10}"
                    x, y = [r[axis] for r in points], [r["us"] for r in points]
                    handles[name] = panel.loglog(x, y, style, color=color, ms=3, label=name)[0]
            fixed = ", ".join(f"{a}={v:,}" for a, v in BASE[kind].items() if a != axis)
            panel.set(xlabel=axis, title=f"{kind}, {fixed}")
            panel.xaxis.set_minor_formatter(NullFormatter())
            panel.grid(alpha=0.3)
        panels[0].set_ylabel("microseconds an iteration")
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False)
    for suffix in ("png", "pdf"):
        figure.savefig(path.with_suffix(f".{suffix}"), dpi=150)


def main(out: Path, quick: bool) -> dict[str, Any]:
    """Measure, print, and write growth.csv, powers.csv, memory.csv and the figure growth.png and .pdf to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    rows = times(quick)
    fitted = powers(rows)
    held = memory(quick) if Path("/proc/self/statm").exists() else []
    print(f"Power of N, D, K in the time of an iteration, fitted to the {UPPER} largest sizes (the most promised)\n")
    print(f"{'model':15}{'sampler':18}{'cost promised':27}{'N':>12}{'D':>12}{'K':>12}  within")
    for r in fitted:
        cells = "".join(" " * 12 if r[a] is None else f"{r[a]:7.2f} ({r[f'most_{a}']:d}) " for a in "NDK")
        print(f"{r['model']:15}{r['sampler']:18}{r['promised']:27}{cells}  {'yes' if r['within'] else 'NO'}")
    print("\nMemory at the largest N, bytes an item: the model, and what a sampler adds")
    for kind in PROMISED if held else ():
        N = max(r["N"] for r in held if r["model"] == kind)
        size = {r["owner"]: r["bytes_an_item"] for r in held if (r["model"], r["N"]) == (kind, N)}
        print(f"{kind:15}N={N:<11,}" + "  ".join(f"{owner} {each:.1f}" for owner, each in size.items()))
    if held and not quick:
        print(f"\nThe history of 16 chains of 998 items after 10,000 iterations: {history() / 2**20:.0f} MiB")
    write(out / "growth.csv", rows)
    write(out / "powers.csv", fitted)
    if held:
        write(out / "memory.csv", held)
    draw(out / "growth.png", rows)
    print(f"\n{out}/growth.csv powers.csv memory.csv growth.png growth.pdf")
    return {"growth": rows, "powers": fitted, "memory": held}
