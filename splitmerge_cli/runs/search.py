"""Starts that look for the best mode: ``init=search``, a population of short chains that are crossed.

Chains of tables with clusters of unlike shapes end in one of many modes, of which all but a few have next to no
probability, and stay. A chain that starts so has looked before: `POPULATION` short chains run for a round; the better
half goes on as it is, and the others start again from what two of the better have in common: the meet of their
partitions, items together that both have together (the coarsest partition that refines the two). Moves then merge what
is apart in the meet alone, so a chain has what each of the two had found. After `ROUNDS` one of the best is the start.
Each chain has a population of its own, so that R-hat compares chains that began apart.

The idea comes from genetic algorithms, with a crossover of partitions. It is only an initial state: the chain that
follows is what it is from any start.

Chains of a network start from many random blocks: these merge easily, while chains that start from few stay there
where only a split on both sides at once is better, as between the two kinds of nodes of a bipartite network. The start
is drawn from the last states by their densities, so that chains begin in each of several modes that are alike.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError, RunSpecification
from splitmerge_cli.core.capabilities import Coupled
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import limit_bytes
from splitmerge_cli.runs import interrupts, stages
from splitmerge_cli.runs.datasets import build_model, load_dataset
from splitmerge_cli.runs.identity import file_digests, finished_run, of_data
from splitmerge_cli.runs.initial import initial_labels, set_labels
from splitmerge_cli.runs.limits import most_iterations
from splitmerge_cli.runs.schedule import build_starting_chain
from splitmerge_cli.runs.stages import CATEGORIES, LARGE, NODES, STAGES

SEARCH = "search"
SEARCHES = ("sequential", STAGES, CATEGORIES, SEARCH)
"""Initial states that each chain builds on its own, from the data."""
POPULATION = 12
"""Chains of a population."""
ROUNDS = 12
"""Largest number of rounds. Before each round except the first, the worse half is crossed again."""
ITERATIONS = 200
"""Iterations of each chain in a round, fewer of a table with many cells."""
SHARE = 4
"""The search takes one in so many of the iterations that a chain makes at most if the user names no length."""
HEAVY = 5.0
"""Times that rows count on average from which chains start so, unless the user names an initial state."""
LEAST = 20
"""Fewest iterations of a round."""
CLOSE = 5.0
"""The search ends where the mean log joint densities of all chains in a round are so close: they have found one mode,
or modes between which the chain that follows has to move."""
MOVES = 5
"""Moves of the sampler before each scan."""
STARTS = ("random", "one_cluster", "sequential")
"""Where the chains of a population begin, in turn."""
NETWORK_POPULATION, NETWORK_ITERATIONS = 24, 50
"""Chains of a population on a network, and the iterations of each in a round."""
NODES_PER_BLOCK = (6, 3, 2)
"""Nodes per random block where they begin, in turn."""


def start_by_search(spec: RunSpecification, model: Model, dataset: Dataset, rng: Rng) -> None:
    """Put the model in a state of high density that a population of short chains finds.

    Parameters
    ----------
    spec : RunSpecification
    model : Model
    dataset : Dataset
    rng : Rng
        The chain's own.

    Raises
    ------
    ConfigError
        A model that cannot start so.
    """
    if reason := why_no_search(spec):
        raise ConfigError(f"init={SEARCH}: {reason}")
    generator = np.random.Generator(rng.bit_generator)
    is_network = issubclass(spec.model.target, Coupled)
    population, longest = (NETWORK_POPULATION, NETWORK_ITERATIONS) if is_network else (POPULATION, ITERATIONS)
    iterations = max(LEAST, min(longest, most_iterations(spec, dataset) // (SHARE * population * ROUNDS)))
    chains = []
    for number in range(population):
        own = build_model(spec.model, dataset)
        start, blocks = STARTS[number % len(STARTS)], None
        if is_network:
            blocks = min(-(-dataset.N // NODES_PER_BLOCK[number % len(NODES_PER_BLOCK)]), own.largest_K)
            start = "random"
        if start == "sequential":
            own.start_sequentially(rng)
        else:
            set_labels(own, *initial_labels(own, dataset, start, blocks, generator))
        own.start_parameters(rng)
        chains.append(build_starting_chain(spec, own, rng, MOVES))
    height = np.zeros(population)
    for round_ in range(ROUNDS):
        if interrupts.is_interrupted():
            raise KeyboardInterrupt
        if round_:
            _cross(chains, np.argsort(-height, kind="stable"), generator)
        for number, chain in enumerate(chains):
            rows = chain.advance(iterations)
            height[number] = np.mean(rows["log_joint"][iterations // 2 :])
        if np.ptp(height) < CLOSE:
            break
    weight = np.exp(height - height.max())
    chosen = chains[int(generator.choice(population, p=weight / weight.sum()))].model
    model.set_labels(chosen.labels)
    if chosen.parameters is not None:
        model.set_parameters(chosen.parameters)


def choose_start(spec: RunSpecification, say: Callable[[str], None]) -> RunSpecification:
    """Return the specification with the initial state that its data ask for, unless the user named one.

    Rows that count many times each start by search: a row that is moved takes all that it counts as with it, so chains
    of other starts stay apart. Likewise networks with relations, whose modes are far apart. Otherwise as
    `stages.choose_start`, whose parameters and errors these are.
    """
    chosen = stages.choose_start(spec, say)
    if chosen is not spec or stages.has_start(spec) or why_no_search(spec) is not None or not _may_search(spec):
        return chosen
    if finished_run(spec) is not None:
        return spec
    spec.data.check()
    with limit_bytes(spec.data.max_bytes):
        dataset = load_dataset(spec.data, spec.model.kind, of_data(file_digests(spec)))
    if issubclass(spec.model.target, Coupled):
        if dataset.N >= NODES or (dataset.relations is None and not _is_corrected(spec)):
            return spec
        why, items, others = "the network is more than simple", "networks", "simple networks"
    else:
        bundles = dataset.bundles
        times = 0.0 if bundles is None or bundles.unit != 1.0 else float(bundles.mass.mean())
        if times < HEAVY or dataset.N >= LARGE:
            return spec
        why, items, others = f"a row counts {times:,.0f} times on average", "rows", "tables without weights"
    say(
        f"init={SEARCH}, because no initial state is named and {why}: chains of such {items} stay apart unless each "
        f"looks for its start first (init=random: as {others} do)"
    )
    return spec.with_(init=SEARCH)


def keep_start(spec: RunSpecification, N: int) -> dict[str, str]:
    """``init=random`` where a network of N nodes starts so only if that is named; else nothing."""
    is_random = spec.init == "random" and spec.K0 is None and spec.data.name != "given"
    if not (is_random and issubclass(spec.model.target, Coupled)):
        return {}
    is_named = N >= NODES or (why_no_search(spec) is None and _may_search(spec))
    return {"init": spec.init} if is_named else {}


def _may_search(spec: RunSpecification) -> bool:
    """Whether the data may be such that chains start by search, from the words of the command."""
    if spec.data.name == "given":
        return is_of_table(spec) or issubclass(spec.model.target, Coupled)
    if not issubclass(spec.model.target, Coupled):
        return is_of_table(spec) and spec.data.values.get("weights") is not None
    return _is_corrected(spec) or any(
        spec.data.values.get(key) not in (None, False) for key in spec.model.kind.asked_for
    )


def _is_corrected(spec: RunSpecification) -> bool:
    return spec.model.options.get("degrees") == "corrected"


def is_next(spec: RunSpecification, N: int) -> bool:
    """Whether chains that end in several modes are to start so: those on N rows or nodes that started at random,
    or as categories."""
    is_small = N < NODES if issubclass(spec.model.target, Coupled) else is_of_table(spec) and N < LARGE
    return spec.init in ("random", CATEGORIES) and is_small and why_no_search(spec) is None


def is_of_table(spec: RunSpecification) -> bool:
    """Whether a run clusters the rows of a table."""
    return bool(spec.model.kind.column_types) or spec.model.kind.any_columns


def why_no_search(spec: RunSpecification) -> str | None:
    """Reason why the model allows no start by search; None if it does."""
    model = spec.values["model"]
    if why_not := spec.model.kind.no_search:
        return f"model={spec.model.name} {why_not}"
    if "kmax" in model:
        return f"model={spec.model.name} keeps empty clusters; expected a model without"
    if model.get("conjugate") is False:
        return "expected model.conjugate=true: clusters of two chains have no parameters in common"
    return None


def _cross(chains: list[Chain], order: NDArray[np.int64], generator: np.random.Generator) -> None:
    """Start the worse half of chains again, each from the meet of two better ones, drawn at random, or, where the prior
    rules the meet out, from the first of the two."""
    better = order[: len(order) // 2]
    partitions = {int(number): chains[number].model.labels for number in better}
    for number in order[len(better) :]:
        first, second = (int(n) for n in generator.permutation(better)[:2])
        child, parent = chains[number].model, chains[first].model
        labels = meet(partitions[first], partitions[second])
        if int(labels.max()) >= child.largest_K:
            # the meet has more clusters than the prior allows
            labels = partitions[first]
            child.set_prior_values(parent.prior_values)
        child.set_labels(labels)
        if parent.parameters is not None:
            child.set_parameters(parent.parameters)


def meet(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
    """The coarsest partition that refines two.

    Parameters
    ----------
    first, second : numpy.ndarray
        int32 ``[N]``, numbers from 0.

    Returns
    -------
    numpy.ndarray
        int32 ``[N]``, numbers from 0 without gaps.

    Examples
    --------
    >>> meet(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, 2]
    """
    pairs = first.astype(np.int64) * (int(second.max()) + 1) + second
    return np.unique(pairs, return_inverse=True)[1].astype(np.int32)
