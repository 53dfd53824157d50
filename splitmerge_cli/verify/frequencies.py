"""How often chains are in each state of a small case, and the noise of these frequencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.chain import Chain, advance_together
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.verify.cases import Case
from splitmerge_cli.verify.enumerate import state_of

CHAINS = 4
"""Chains of adaptive samplers that are sampled together."""
BATCHES = 40
"""Batches of the noise estimate."""


def sampled_frequencies(
    case: Case,
    samplers: list[Sampler],
    rng: Rng,
    iterations: int,
    weights: Sequence[float] | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Run a chain of these samplers and count its states: the frequencies of ``case.partitions``, and their noise, the
    total variation to expect of an exact sampler. That is half the summed mean absolute error of every frequency, from
    batch means. `refresh` is among the samplers where the model has anything to refresh."""
    held = case.model.prior_values
    # the state of a collapsed model other than the partition: b0, kappa0, tables of counts
    scales = case.model.parameters if case.model.conjugate and case.model.prior is not None else None
    _set_to_mode(case, case.model, rng)
    chain = Chain(case.model, rng, samplers, weights, thin=iterations, partitions=1)
    counted = _frequencies(case, [chain], iterations)
    case.model.set_prior_values(held)
    if scales is not None:
        case.model.set_parameters(scales)
    return counted


def adaptive_frequencies(
    case: Case,
    build: Callable[[Model, Rng], tuple[list[Sampler], Sampler]],
    iterations: int,
    discard: int,
    seed: int = 0,
    weights: Sequence[float] | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Run `CHAINS` chains of adaptive samplers, which share their history, and count the states of all, as
    `sampled_frequencies` does.

    `build` makes the samplers of one chain, in the order in which they step, and the Gibbs scan that warms it up.
    Iterations count all chains together; before them each chain makes `discard` scans, which do not count.
    """
    chains = []
    for number in range(CHAINS):
        model, rng = case.build(), Rng(seed, number)
        _set_to_mode(case, model, rng)
        samplers, scan = build(model, rng)
        warmup = (scan, discard)
        chains.append(Chain(model, rng, samplers, weights, thin=iterations + discard, partitions=1, warmup=warmup))
    adaptive = next(sampler.adaptive for sampler in chains[0].samplers if hasattr(sampler, "adaptive"))
    history = adaptive.new_history(CHAINS)
    for number, chain in enumerate(chains):
        chain.adapt_to(history, number)
    advance_together(chains, discard)
    return _frequencies(case, chains, iterations // CHAINS)


def _set_to_mode(case: Case, model: Model, rng: Rng) -> None:
    """Start from the most probable partition."""
    partitions, pi = case.partitions
    labels, K = partitions[int(np.argmax(pi))][:2]
    model.set_labels(np.array(labels, dtype=np.int32), K if model.allows_empty else None)
    model.start_parameters(rng)


def _frequencies(case: Case, chains: list[Chain], iterations: int) -> tuple[NDArray[np.float64], float]:
    """Relative frequencies of ``case.partitions`` over so many iterations of every chain, and their noise."""
    partitions = case.partitions[0]
    index = {s: t for t, s in enumerate(partitions)}
    counts = np.zeros((BATCHES, len(partitions) + 1))
    for b in range(BATCHES):
        wanted = iterations // BATCHES
        while wanted:
            before = chains[0].iteration
            rows = advance_together(chains, wanted) if len(chains) > 1 else [chains[0].advance(wanted)]
            wanted -= chains[0].iteration - before
            seen = np.vstack([np.column_stack([out["partition_labels"], out["partition_K"]]) for out in rows])
            for row, n in zip(*np.unique(seen, axis=0, return_counts=True), strict=True):
                # a state that the prior rules out counts among all, and nowhere else
                counts[b, index.get(state_of(row[:-1], int(row[-1])), -1)] += n
    per_batch = (counts / counts.sum(axis=1, keepdims=True))[:, :-1]
    error = per_batch.std(axis=0, ddof=1) / np.sqrt(BATCHES)
    return per_batch.mean(axis=0), float(0.5 * np.sqrt(2 / np.pi) * error.sum())
