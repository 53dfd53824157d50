"""Work of moves in predictives: as the portfolio counts it, and by processor time."""

import time
from collections.abc import Iterator
from typing import Any

from splitmerge_cli.config import compose
from splitmerge_cli.runs import prepare
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.portfolio import MEMBERS, Portfolio

DATA = {
    "gaussian, 3 components": ["data=gaussian", "N=300", "data.components=3", "data.separation=3"],
    "gaussian, 20": ["data=gaussian", "N=1000", "data.components=20", "data.separation=3"],
    "bernoulli, 5 components": ["data=jain_neal", "N=1000", "data.components=5"],
    "bernoulli, 30": ["data=jain_neal", "N=1000", "data.components=30", "data.attributes=40"],
    "network, 5 blocks": ["data=network", "N=1000", "data.blocks=5", "data.p_in=0.1", "data.p_out=0.02"],
    "network, 20": ["data=network", "N=300", "data.blocks=20", "data.p_in=0.6", "data.p_out=0.0033"],
    "emm": ["data=emm", "N=1000"],
    "lines": ["data=lines", "N=1000"],
    "mixed": ["data=mixed", "N=1000"],
    "topics": ["data=synthetic_documents", "N=50"],
}
SETTLE = 0.4
"""Seconds of the chain whose last state is measured."""
MOVES = 100
"""Moves of a step."""


def repeat(step: Any, seconds: float) -> tuple[float, int]:
    """Seconds of a call, over as many as take that long, and their number."""
    began, iterations = time.process_time(), 0
    while time.process_time() - began < seconds:
        step()
        iterations += 1
    return (time.process_time() - began) / iterations, iterations


def measure(name: str, seconds: float) -> Iterator[dict[str, Any]]:
    """A row for each sampler that supports the model."""
    chosen = [*DATA[name], "sampler=sams", "schedule.moves=5", "init=one_cluster", "chains=1", "iterations=1"]
    chain = prepare(compose([*chosen, "progress=none"])).builder.chain(0)
    chain.advance(10**9, budget=SETTLE)
    model, rng = chain.model, chain.rng
    unit = repeat(Gibbs(model, rng).step, seconds)[0] / (model.N * model.K)
    for sampler in MEMBERS:
        one = Portfolio(model, rng, learning=1_000_000, moves=MOVES)
        if sampler not in one.moves:
            continue
        move = one.moves.index(sampler)
        one.set_own_state(one.own_state() | {"weight": [float(other == sampler) for other in one.moves]})
        clock, counted, moves = 0.0, 0.0, 0
        # fewer steps than after which weights are learned
        while clock < seconds and moves < 19 * MOVES:
            began = time.process_time()
            one.step()
            clock += time.process_time() - began
            moves += MOVES
        counted = one.own_state()["work"][move]
        yield {
            "data": name,
            "sampler": sampler,
            "microseconds": clock / moves * 1e6,
            "by_time": clock / moves / unit,
            "counted": counted / moves,
        }


def main(quick: bool) -> list[dict[str, Any]]:
    """Measure and print all rows."""
    rows = [row for name in DATA for row in measure(name, 0.02 if quick else 0.2)]
    print("| data | sampler | microseconds | predictives, by time | as counted |\n|---|---|--:|--:|--:|")
    for row in rows:
        print(
            f"| {row['data']} | `{row['sampler']}` | {row['microseconds']:.1f} | {row['by_time']:,.0f} | "
            f"{row['counted']:,.0f} |"
        )
    ratios = sorted(row["by_time"] / row["counted"] for row in rows)
    print(f"\nby time over as counted: {ratios[0]:.2g} to {ratios[-1]:.2g}, median {ratios[len(ratios) // 2]:.2g}")
    return rows
