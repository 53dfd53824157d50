"""The topic-model benchmark: Gibbs sweeps over tokens, compared with plain C and tomotopy at as many topics.

Also growth with the number of topics, shares of an iteration, and memory.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any

import numpy as np

from bench import tomotopy
from bench.baseline import OfTopics
from bench.scaling import resident
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.documents import generated as corpus_generated
from splitmerge_cli.kinds.documents import published as corpus_published
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.documents.smag import SMAG
from splitmerge_cli.received import DataError
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.verify import pieces

DOCUMENTS, LENGTH, WORDS = (
    1392,
    189,
    13_649,
)  # of the generated corpora: the sizes that Rana et al. 2013 give of their abstracts
MILLION = 5_291  # documents of that length
GROWTH = [20, 50, 100, 200, 500, 1000]
BURN = 60


@dataclass(frozen=True)
class Case:
    """A corpus, and settings under which both programs stay near a number of topics.

    Attributes
    ----------
    corpus : str
    data : callable
    K0, peer_K0 : int
        Topics to begin with: ours, and tomotopy's. On generated corpora it is slow to lose the topics that it opens
        early, so it begins with fewer.
    gamma, alpha0, eta : float
        Fixed in both.
    rounds : int
    """

    corpus: str
    data: Callable[[], Dataset]
    K0: int
    peer_K0: int
    gamma: float
    alpha0: float
    eta: float
    rounds: int = 15


def generate(topics: int, alpha0: float, eta: float, documents: int = DOCUMENTS) -> Dataset:
    """Return a corpus whose topics have equal weight."""
    return corpus_generated.synthetic_documents(
        documents, length=LENGTH, topics=topics, words=WORDS, eta=eta, alpha0=alpha0, seed=1
    )


def cases() -> list[Case]:
    """The abstracts of 1,392 papers where their file is, and generated corpora."""
    cases_made = []
    try:
        abstracts = corpus_published.nips_abstracts(heldout=0.2)
        settings = ((20, (1.0, 1.0, 0.5)), (50, (3.0, 1.0, 0.1)), (100, (10.0, 1.0, 0.05)))
        cases_made = [Case("nips_abstracts", lambda: abstracts, K, K, *fixed) for K, fixed in settings]
    except DataError:
        pass
    for K, peer_K0, gamma, alpha0, eta in (
        (20, 2, 0.001, 0.5, 1.0),
        (50, 10, 0.1, 1.0, 1.0),
        (100, 100, 1.0, 1.0, 1.0),
    ):
        make = lambda K=K, alpha0=alpha0, eta=eta: generate(K, alpha0, eta)  # noqa: E731
        cases_made.append(Case("generated", make, K, peer_K0, gamma, alpha0, eta))
    return cases_made


def million() -> Case:
    """A generated corpus of a million tokens."""
    return Case("1,000,000 tokens", lambda: generate(100, 1.0, 1.0, MILLION), 100, 20, 1.0, 1.0, 1.0, 5)


def start(data: Dataset, K0: int | None, burn: int, **fixed: float) -> tuple[Any, Rng]:
    """A model after so many sweeps from K0 random topics, or from the true ones, and its generator."""
    model, rng = HDP.from_data(data, **fixed), Rng(1)
    model.set_labels(data.truth if K0 is None else np.random.default_rng(1).integers(0, K0, model.N))
    model.start_parameters(rng)
    chain_of(model, rng, Gibbs, Refresh).advance(burn)
    return model, rng


def chain_of(model: Any, rng: Rng, *samplers: Any, timing: bool = False) -> Chain:
    """An iteration of these samplers, of which nothing is recorded."""
    return Chain(model, rng, [sampler(model, rng) for sampler in samplers], thin=2**62, timing=timing)


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of the thread."""
    began = thread_time()
    work()
    return thread_time() - began


def probability_gap(model: Any, baseline: OfTopics) -> float:
    """Largest difference of a Gibbs probability among the topics there are, over a hundred tokens."""
    gap = 0.0
    for i in range(0, model.N, max(1, model.N // 100)):
        w = pieces.scan(model, i)[: model.K]
        gap = max(gap, float(np.abs(w / w.sum() - baseline.conditional(i)).max()))
    return gap


def plain(data: Dataset, model: Any, rng: Rng) -> OfTopics:
    """The plain C in the model's state.

    Raises
    ------
    RuntimeError
        Its Gibbs probabilities are not the model's: its times would mean nothing.
    """
    baseline = OfTopics(data, model, rng)
    gap = probability_gap(model, baseline)
    if not gap < 1e-9:
        raise RuntimeError(f"topics: the baseline's Gibbs probabilities differ from the model's by {gap:.2g}")
    return baseline


def ratio(top: list[float], bottom: list[float]) -> tuple[float, float, float]:
    """Median, least and largest ratio, round by round."""
    ratios = [a / b for a, b in zip(top, bottom, strict=True)]
    return median(ratios), min(ratios), max(ratios)


def milliseconds(seconds: list[float]) -> float:
    """The median."""
    return 1e3 * median(seconds)


def shares(model: Any, rng: Rng, iterations: int) -> dict[str, float]:
    """Milliseconds of a split and of a merge, and the parts that ``smag``, sweep and refresh have of an iteration."""
    chain = chain_of(model, rng, SMAG, Gibbs, Refresh, timing=True)
    chain.advance(iterations)
    moves = {row["move"]: row for row in chain.moves()}
    total = sum(row["seconds"] for row in moves.values())
    share_by_part = {}
    for move in ("split", "merge"):
        share_by_part[move] = 1e3 * moves[move]["seconds"] / max(1, moves[move]["proposed"])
    parts = {"smag": ("split", "merge"), "gibbs": ("gibbs",), "refresh": ("parameters", "concentration")}
    return share_by_part | {
        f"share_{part}": sum(moves[m]["seconds"] for m in part_moves) / total for part, part_moves in parts.items()
    }


def by_turns(work: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every work, round by round; a first round warms the caches up and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for t in range(-1, rounds):
        for name, seconds in work.items():
            times_taken = seconds()
            if t >= 0:
                times[name].append(times_taken)
    return times


def measure(case: Case, quick: bool) -> dict[str, Any]:
    """Our sweep, its refresh, both sweeps of plain C and tomotopy's by turns, from states of about as many topics."""
    data, fixed = case.data(), {"gamma": case.gamma, "alpha0": case.alpha0, "eta": case.eta}
    model, rng = start(data, case.K0, BURN, **fixed)
    c = plain(data, model, rng)
    gibbs, refresh = chain_of(model, rng, Gibbs), chain_of(model, rng, Refresh)
    work: dict[str, Callable[[], float]] = {
        "ours": lambda: cpu(lambda: gibbs.advance(1)),
        "refresh": lambda: cpu(lambda: refresh.advance(1)),
        "lanes": lambda: cpu(lambda: c.call("gibbs_lanes", 1)),
        "scalar": lambda: cpu(lambda: c.call("gibbs", 1)),
    }
    peer = None
    if tomotopy.module() is not None:
        peer = tomotopy.Peer(data.values.tokens, model.V, case.peer_K0, **fixed)
        peer.seconds(BURN)
        work["peer"] = peer.seconds
    times = by_turns(work, min(5, case.rounds) if quick else case.rounds)
    c.release()
    row: dict[str, Any] = asdict(case) | {"data": data.name, "N": model.N, "J": model.J, "V": model.V, "K": model.K}
    row |= {"tokens_a_second": model.N / median(times["ours"])}
    row |= {f"{name}_ms": milliseconds(seconds) for name, seconds in times.items()}
    row |= {f"of_{name}": ratio(times["ours"], times[name]) for name in ("lanes", "scalar")}
    if peer is not None:
        whole = [a + b for a, b in zip(times["ours"], times["refresh"], strict=True)]
        row |= {"peer_K": peer.K, "ahead": ratio(times["peer"], whole)}
        row["met"] = row["ahead"][0] > 1.0
    return row | shares(model, rng, 5 if quick else 20)


def measure_growth(K: int, rounds: int) -> dict[str, Any]:
    """Sweeps from K true topics, gamma = K/10: ours and plain C by turns."""
    data = generate(K, 1.0, 0.1)
    model, rng = start(data, None, 5, gamma=K / 10, alpha0=1.0, eta=0.1)
    c, gibbs = plain(data, model, rng), chain_of(model, rng, Gibbs)
    work: dict[str, Callable[[], float]] = {
        "ours": lambda: cpu(lambda: gibbs.advance(1)),
        "lanes": lambda: cpu(lambda: c.call("gibbs_lanes", 1)),
    }
    times = by_turns(work, rounds)
    c.release()
    row: dict[str, Any] = {"topics": K, "K": model.K, "N": model.N}
    return row | {f"{name}_ms": milliseconds(seconds) for name, seconds in times.items()}


def power(rows: list[dict[str, Any]], name: str) -> float:
    """Return the power of K that fits these times."""
    x, y = (np.log([row[column] for row in rows]) for column in ("K", name))
    return float(np.polyfit(x, y, 1)[0])


def grow(owner: str) -> dict[str, float]:
    """Bytes that a model of 1,000,000 tokens in 100 topics takes up after a sweep; to be called in a process of its
    own."""
    fixed = {"gamma": 1.0, "alpha0": 1.0, "eta": 1.0}
    small, data = generate(2, 1.0, 1.0, 10), generate(100, 1.0, 1.0, MILLION)
    rows = []
    before = 0
    for corpus in (small, data):  # the small one loads what is loaded once
        before = resident()
        if owner == "ours":
            rows.append(start(corpus, 100, 1, **fixed)[0])
        else:
            rows.append(tomotopy.Peer(corpus.values.tokens, WORDS, 100, **fixed))
            rows[-1].seconds(1)
    return {"bytes": resident() - before, "N": data.N}


def memory() -> dict[str, float]:
    """Bytes a token, ours and tomotopy's."""
    row = {}
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    for owner in ("ours", "tomotopy") if tomotopy.module() is not None else ("ours",):
        code = f"import json; from bench.topics import grow; print(json.dumps(grow({owner!r})))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        held = json.loads(done.stdout)
        row[owner] = held["bytes"] / held["N"]
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """The comparison as text."""
    head = (
        f"{'row':4}{'corpus':18}{'tokens':>10}{'K':>5}{'ours':>10}{'C lanes':>10}{'ratio':>7}  {'min-max':11}"
        f"{'C one by one':>13}{'ratio':>7}  {'Mtok/s':>6}  {'refresh':>8}"
        f"{'tomotopy':>10}{'K':>5}{'ahead':>7}  {'min-max':11}met"
    )
    lines = [head, "-" * len(head)]
    for r in rows:
        lanes, scalar = r["of_lanes"], r["of_scalar"]
        line = (
            f"{'c':4}{r['corpus']:18}{r['N']:10,}{r['K']:5}{r['ours_ms']:7.1f} ms{r['lanes_ms']:7.1f} ms"
            f"{lanes[0]:7.2f}  {span(lanes):11}{r['scalar_ms']:10.1f} ms{scalar[0]:7.2f}"
            f"  {1e-6 * r['tokens_a_second']:6.1f}  {r['refresh_ms']:5.1f} ms"
        )
        if "ahead" in r:
            line += f"{r['peer_ms']:7.1f} ms{r['peer_K']:5}{r['ahead'][0]:7.2f}  {span(r['ahead']):11}"
            line += "yes" if r["met"] else "NO"
        lines.append(line)
    return "\n".join(lines)


def span(ratios: tuple[float, float, float]) -> str:
    """Range of a ratio."""
    return f"{ratios[1]:.2f}-{ratios[2]:.2f}"


def main(quick: bool, full: bool) -> dict[str, Any]:
    """Measure and print the topic-model benchmark; `full`: a million tokens, too."""
    rows = [measure(case, quick) for case in [*cases(), *([million()] if full else [])]]
    print(table(rows))
    print(
        "\nours: a sweep; ahead: tomotopy's sweep over our sweep and refresh (equations 9, 10)."
        f" Each after {BURN} sweeps; K: topics at the end."
    )
    if tomotopy.module() is None:
        print("tomotopy is not installed: pip install tomotopy")
    print("\nparts of an iteration of smag, a sweep and a refresh; a proposal of smag")
    for r in rows:
        parts = "  ".join(f"{part} {100 * r[f'share_{part}']:.0f}%" for part in ("smag", "gibbs", "refresh"))
        print(f"{r['corpus']:18}K={r['K']:<5}{parts}   split {r['split']:.2f} ms, merge {r['merge']:.2f} ms")
    growth = [measure_growth(K, 3 if quick else 5) for K in (GROWTH[::2] if quick else GROWTH)]
    print("\na sweep from K true topics, ours and C lanes")
    for r in growth:
        print(f"K={r['K']:<6}{r['ours_ms']:8.1f} ms{r['lanes_ms']:8.1f} ms{1e-3 * r['N'] / r['ours_ms']:8.1f} Mtok/s")
    powers = {name: power(growth, f"{name}_ms") for name in ("ours", "lanes")}
    print(f"power of K: ours {powers['ours']:.2f}, C lanes {powers['lanes']:.2f}")
    held = memory() if Path("/proc/self/statm").exists() else {}
    for owner, size in held.items():
        print(f"memory of {owner} at 1,000,000 tokens in 100 topics: {size:.1f} bytes a token")
    return {"rows": rows, "growth": growth, "powers": powers, "memory": held}
