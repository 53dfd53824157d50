"""Where chains start if nobody names it, as the kind of data asks for (`Start`): from a simpler model, by search, and
rows (`RowStart`) in stages.

**Stages.** A chain of a large table that starts from a few random clusters stays there: a split of thousands of rows at
random is refined too little to be accepted. A start row by row (``init=sequential``) opens clusters on the first rows
that it sees, and they grow with the table. A chain on a sample finds the clusters at the price of the sample, and the
others follow where they belong. Samples, orders and draws are each chain's own, so starts differ as samples do.

**A simpler model.** A mixture whose clusters have many parameters (a covariance of eleven columns: 66) hardly ever
splits one that holds two groups: the parts of a split at random are no better than the whole. So a chain starts from
the clusters of a short chain of a model with fewer parameters, which are too many; what is one cluster merges easily.
First the scales of the prior are drawn given these clusters, many times: scales that were not yet drawn make any
clusters merge. The best of several such trials is the start: all make some iterations, the better half twice as many,
and so on, until what is left agrees.

**Search**, a population of short chains that are crossed. Chains of tables with clusters of unlike shapes end in one of
many modes, of which all but a few have next to no probability, and stay. A chain that starts so has looked before:
several short chains run for a round; the better half goes on as it is, and the others start again from what two of the
better have in common: the meet of their partitions, items together that both have together (the coarsest partition that
refines the two). Moves then merge what is apart in the meet alone, so a chain has what each of the two had found. After
`ROUNDS` one of the chains is the start, drawn by their densities, so that chains begin in each of several modes that
are alike. Each chain has a population of its own, so that R-hat compares chains that began apart. The idea comes from
genetic algorithms, with a crossover of partitions. It is only an initial state: the chain that follows is what it is
from any start.
"""

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError, RunSpecification, component
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.tempering import set_state, state_of
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import initial, interrupts
from splitmerge_cli.runs.identity import finished_run

STAGES = "stages"
ROWS = 4_000
"""Rows of the sample."""
STAGE_ITERATIONS, FEWEST = 50, 10
"""Iterations of the chain on the sample, and the fewest of rows that cost much."""
STAGE_MOVES, FEWEST_MOVES = 500, 20
"""Moves of its sampler before each scan: two clusters in one are drawn as a pair of rows once in so many tries, and a
move costs as much as its clusters have rows. Fewer of rows that cost much."""
PER_SCAN = 25
"""Moves that visit as many values as an iteration with few moves."""
LARGE = 5_000
"""Rows from which a table starts in stages, unless the user names an initial state."""
CATEGORIES = "categories"
SIMPLER = "simpler"
SIMPLER_SCANS = 20
"""Iterations of the simpler model's chain."""
REFRESHES = 30
"""Times that all but the partition is drawn given the clusters of the simpler model."""
SETTLING = 50
"""Iterations with a single move that follow, fewer of a table with many cells: with more moves clusters merge before
others have found their shape."""
BEST = "best"
SEARCH = "search"
SEARCHES = ("sequential", STAGES, CATEGORIES, SIMPLER, BEST, SEARCH)
"""Initial states that each chain builds on its own, from the data."""
ROUNDS = 12
"""Largest number of rounds. Before each round except the first, the worse half is crossed again."""
SHARE = 4
"""A search, or the choice of the best trial, takes one in so many of the iterations that a chain makes at most if the
user names no length."""
HEAVY = 5.0
"""Times that rows count on average from which chains start so, unless the user names an initial state."""
LEAST = 20
"""Fewest iterations of a round."""
CLOSE = 5.0
"""The search ends if the mean log joint densities of all chains in a round are so close, and trials if the better
half is: they have found one mode, or modes between which the chain that follows has to move."""
MOVES = 5
"""Moves of the sampler before each scan."""
STARTS = ("random", "one_cluster", "sequential")
"""Where the chains of a population begin, in turn."""
_NAMED = {"init", "K0", "experiment"}
"""Keys that name a start."""
ROW_BYTES = 2
"""Least bytes that a row takes in a file: a cell and the end of the line."""
PLAIN = (".csv", ".tsv", ".tab", ".txt", ".dat")
"""Suffixes that say a file is not compressed."""


APART_AFTER = 4_000
"""Iterations after which a run whose length nobody names ends at the first look at which its chains lie in different
modes, if they began by search or are to: most stay there (decisions 31 and 38)."""
EARLY_MOST = 4_000
"""Most iterations that a chain of large data makes."""
APART_LARGE = 200
"""Iterations after which chains of so many rows that going on is for the person to decide end where they lie apart:
4,000 would take many minutes."""


class Start:
    """The initial state of a run, and a base of others (`splitmerge_cli.data.dataset.Kind.start`).

    A run whose model has a simpler form starts by that, where its data ask for it (`why_simpler`), or by search
    (`why_search`).
    """

    population = 12, 200
    """Chains of a population, and the iterations of each in a round, fewer of a table with many cells."""
    trials = 8, 100
    """Chains of which the best is the start, a power of 2, and the iterations of each before half of them are left,
    fewer of a table with many cells."""

    def __init__(self, spec: RunSpecification) -> None:
        self.spec, self.data, self.model, self.init, self.K0 = spec, spec.data, spec.model, spec.init, spec.K0

    def with_(self, **keys: Any) -> RunSpecification:
        """The run with other values of these keys."""
        return self.spec.with_(**keys)

    def choose(self, say: Callable[[str], None]) -> RunSpecification:
        """The specification with the initial state that its data ask for, unless the user named one. A run that was
        finished before, with the one start or the other, is taken as it is.

        `say` receives the line that says what was chosen, and how to choose otherwise. Raises a `ConfigError` or
        `DataError` if the data cannot be read.
        """
        spec = self.spec
        chosen = self.choose_by_size(say)
        if chosen is not spec or self.is_named or self.why_no_search or not (self.may_search() or self.simpler):
            return chosen
        if finished_run(spec) is not None:
            return spec
        dataset, init = self.load(), SEARCH
        if (why := self.why_search(dataset) if self.may_search() else None) is None:
            why, init = self.why_simpler(dataset) if self.simpler else None, BEST
        if why is None:
            return spec
        say(f"init={init}, because no initial state is named and {why}")
        return spec.with_(init=init)

    def choose_for_fit(self) -> RunSpecification:
        """As `choose`, of a short chain: of a table with many cells a single trial, not the best of several."""
        spec = self.spec
        if (chosen := self.choose_by_size(lambda line: None)) is not spec or self.is_named or self.why_no_search:
            return chosen
        if self.simpler is None or self.why_simpler(dataset := self.load()) is None:
            return spec
        longest = self.trials[1]
        return spec.with_(init=SIMPLER if self._shorten(longest, dataset) < longest else BEST)

    def choose_by_size(self, say: Callable[[str], None]) -> RunSpecification:
        """As `choose`, without searches."""
        return self.spec

    def may_search(self) -> bool:
        """Whether the data may be such that chains start by search, from the words of the command."""
        return False

    def why_search(self, dataset: Dataset) -> str | None:
        """Why chains start by search, in words; None if they do not."""
        return None

    @property
    def simpler(self) -> Component | None:
        """The form of the run's model with fewer parameters in a cluster; None: it has none."""
        return self.simplify(self.model)

    @staticmethod
    def simplify(model: Component) -> Component | None:
        """A form of a model with fewer parameters in a cluster, from whose clusters chains may start; None: it has
        none."""
        return None

    def why_simpler(self, dataset: Dataset) -> str | None:
        """Why chains start from clusters of the simpler model, in words; None if they do not."""
        return None

    def keep(self, N: int) -> dict[str, str]:
        """``init=random`` where N items start so only if that is named; else nothing."""
        if self.init != "random" or self.simpler is None or self.why_no_search or N >= LARGE:
            return {}
        with suppress(ConfigError, DataError):  # without the data, who continues the run says what is wrong
            if self.why_simpler(self.load()) is not None:
                return {"init": self.init}
        return {}

    def may_go_on_by_search(self, N: int) -> bool:
        """Whether chains on N items that end in several modes are to start by search, or from the best of several
        trials."""
        return False

    def apart_after(self, dataset: Dataset, iterations: int, distance: float) -> int | None:
        """Iterations after which chains that lie in different modes, and make `iterations` at most, end; None: they go
        on. `distance`: between the modes, the largest classical R-hat."""
        is_search = self.init in (BEST, SEARCH)
        return APART_AFTER if is_search or self.may_go_on_by_search(dataset.N) else None

    def comparisons(self, dataset: Dataset, clusters: float) -> float:
        """Comparisons of an item with a cluster in an iteration, where they cost as much as the values visited."""
        return 0.0

    def put(self, model: Model, dataset: Dataset, rng: Rng, labels: NDArray[np.int32] | None = None) -> bool:
        """Put the model of a chain, whose own generator is `rng`, in an initial state that the chain builds itself
        (`SEARCHES`), or of which the clusters are known, `labels`; False if the run has another. A `ConfigError` of one
        that model or data do not have."""
        if labels is not None and self.init in (SIMPLER, BEST):
            self._settle(model, dataset, rng, labels)
            return True
        ways = {
            "sequential": self.start_sequentially,
            STAGES: self.start_in_stages,
            CATEGORIES: self.start_as_categories,
            SIMPLER: self.start_simpler,
            BEST: self.start_best,
            SEARCH: self.search,
        }
        if (way := ways.get(self.init)) is None:
            return False
        way(model, dataset, rng)
        return True

    def start_sequentially(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put item after item into clusters, by their weights given those before."""
        try:
            model.start_sequentially(rng, self.K0)
        except ValueError as error:
            raise ConfigError(f"init=sequential, model={self.model.name}: {error}") from error

    def start_in_stages(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put a sample of the items into clusters by a chain, and then the others."""
        raise ConfigError(f"init={STAGES}: {self.why_not_in_stages}")

    def start_as_categories(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put items into the clusters of a short chain that reads answers in their order as categories."""
        raise ConfigError(f"init={CATEGORIES}: expected a table with ordinal columns (data.types)")

    def begin(self, number: int, model: Model) -> tuple[str, int | None]:
        """Where chain `number` of a population begins: an initial state, and its number of clusters if it has one."""
        return STARTS[number % len(STARTS)], None

    def search(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put the model in a state of high density that a population of short chains finds; `rng` is the chain's own.

        Raises a `ConfigError` for a model that cannot start so.
        """
        if reason := self.why_no_search:
            raise ConfigError(f"init={SEARCH}: {reason}")
        generator, (population, longest) = np.random.Generator(rng.bit_generator), self.population
        iterations = max(
            LEAST, min(longest, initial.most_iterations(self.spec, dataset) // (SHARE * population * ROUNDS))
        )
        chains = []
        for number in range(population):
            own = initial.build_model(self.model, dataset)
            self._begin(number, own, dataset, rng, generator)
            chains.append(initial.build_starting_chain(self.spec, own, rng, MOVES))
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

    def start_simpler(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put the model in clusters of a short chain of its simpler form, and draw all else given these; `rng` is the
        chain's own. Raises a `ConfigError` for a model without such a form."""
        if (simpler := self.simpler) is None:
            raise ConfigError(f"init={SIMPLER}: model={self.model.name} has no simpler form with these options")
        short = initial.build_model(simpler, dataset)
        initial.set_labels(
            short, *initial.initial_labels(short, dataset, "random", None, np.random.Generator(rng.bit_generator))
        )
        short.start_parameters(rng)
        initial.build_starting_chain(self.spec, short, rng, MOVES, thin=SIMPLER_SCANS).advance(SIMPLER_SCANS)
        self._settle(model, dataset, rng, short.labels)

    def _settle(self, model: Model, dataset: Dataset, rng: Rng, labels: NDArray[np.int32]) -> None:
        """Put the model in clusters of another model: draw all else given these, then let clusters find their shape."""
        model.set_labels(labels)
        model.start_parameters(rng)
        if model.refreshes:
            refresh = initial.build_sampler(component("sampler", "refresh"), model, rng)
            for _ in range(REFRESHES):
                refresh.step()
        initial.build_starting_chain(self.spec, model, rng, 1).advance(self._shorten(SETTLING, dataset))

    def start_best(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put the model in the state of the best short chain: several begin, the better half goes on after each round,
        twice as long; they end after as many seconds as the budget of a run has. `rng` is the chain's own. They begin
        at clusters of the simpler model, or, of a model without, as chains of a search do. Raises a `ConfigError` for a
        model that cannot start so."""
        if reason := self.why_no_search:
            raise ConfigError(f"init={BEST}: {reason}")
        generator = np.random.Generator(rng.bit_generator)
        trials = self._count_trials(dataset)
        iterations, chains = self._shorten(self.trials[1], dataset), list[Chain]()
        end = math.inf if self.spec.budget is None else time.monotonic() + self.spec.budget
        for number in range(trials):
            own = initial.build_model(self.model, dataset)
            if self.simpler is None:
                self._begin(number, own, dataset, rng, generator)
            else:
                self.start_simpler(own, dataset, rng)
            chains.append(initial.build_starting_chain(self.spec, own, rng, MOVES))
            if time.monotonic() > end:
                chains = [max(chains, key=lambda chain: chain.model.log_joint())]
                break
        while len(chains) > 1 and time.monotonic() < end:
            if interrupts.is_interrupted():
                raise KeyboardInterrupt
            height = [np.mean(chain.advance(iterations)["log_joint"][iterations // 2 :]) for chain in chains]
            chains = [chains[number] for number in np.argsort(height)[::-1][: len(chains) // 2]]
            # the half that is left is in one mode
            if np.ptp(np.sort(height)[-len(chains) :]) < CLOSE:
                break
            iterations *= 2
        set_state(model, state_of(chains[0].model))

    def _count_trials(self, dataset: Dataset) -> int:
        """How many trials a chain has: fewer, but two, where the shortest would make twice its iterations."""
        trials, most = self.trials[0], initial.most_iterations(self.spec, dataset)
        while self.simpler is not None and trials > 2 and FEWEST * trials * (trials.bit_length() + 1) > 2 * most:
            trials //= 2
        return trials

    def _shorten(self, iterations: int, dataset: Dataset) -> int:
        """So many iterations of a trial, fewer where all trials take too much of a chain's."""
        trials, shared = self._count_trials(dataset), initial.most_iterations(self.spec, dataset) // SHARE
        if self.simpler is None:
            return max(LEAST, min(iterations, shared // (trials * (trials.bit_length() - 1))))
        # before the rounds the simpler form moves and each trial settles
        return max(FEWEST, min(iterations, shared // (trials * (trials.bit_length() + 1))))

    def _begin(self, number: int, model: Model, dataset: Dataset, rng: Rng, generator: np.random.Generator) -> None:
        """Put the model of a population's chain `number` where it begins."""
        start, blocks = self.begin(number, model)
        if start == "sequential":
            model.start_sequentially(rng)
        else:
            initial.set_labels(model, *initial.initial_labels(model, dataset, start, blocks, generator))
        model.start_parameters(rng)

    @property
    def named_keys(self) -> set[str]:
        """Keys that somebody named."""
        return self.spec.given_keys.keys

    @property
    def is_named(self) -> bool:
        """Whether the initial state is named, or is an experiment's."""
        return self.init != "random" or bool(_NAMED & self.named_keys)

    def load(self) -> Dataset:
        """Read the data."""
        return initial.read_data(self.data, self.model.kind)

    def may_have(self, least: int) -> bool:
        """Whether the data may have so many items, by their configuration and the size of their file."""
        path = self.data.values.get("path")
        if isinstance(path, str):
            try:
                return os.path.getsize(path) >= ROW_BYTES * least or Path(path).suffix.lower() not in PLAIN
            except OSError:
                return False
        return self.spec.values["N"] is None or self.spec.values["N"] >= least

    @property
    def why_no_search(self) -> str | None:
        """Reason why the model allows no start by search; None if it does."""
        model, name = self.model.values, self.model.name
        if why_not := self.model.kind.no_search:
            return f"model={name} {why_not}"
        if "kmax" in model:
            return f"model={name} keeps empty clusters; expected a model without"
        if model.get("conjugate") is False:
            return "expected model.conjugate=true: clusters of two chains have no parameters in common"
        return None

    @property
    def why_not_in_stages(self) -> str | None:
        """Reason why the data or the model allow no start in stages; None if they do."""
        return f"expected a table, which model={self.model.name} does not read"


class RowStart(Start):
    """The initial state of a run on rows, which come one by one.

    Many rows start in stages. Rows that count many times each start by search: a row that is moved takes all that it
    counts as with it, so chains of other starts stay apart.
    """

    def choose_by_size(self, say: Callable[[str], None]) -> RunSpecification:
        spec = self.spec
        if self.is_named or self.why_not_in_stages or not self.may_have(LARGE) or finished_run(spec) is not None:
            return spec
        in_stages = spec.with_(init=STAGES)
        if finished_run(in_stages) is not None:
            return in_stages
        N = self.load().N
        if N < LARGE:
            return spec
        say(
            f"init={STAGES}, because no initial state is named and {N:,} rows are {LARGE:,} or more: each chain starts "
            f"from {min(N, ROWS):,} rows of its own, drawn at random, and the others follow one by one "
            "(init=random: as smaller tables do)"
        )
        return in_stages

    def may_search(self) -> bool:
        return self.data.name == "given" or self.data.values.get("weights") is not None

    def why_search(self, dataset: Dataset) -> str | None:
        if (times := dataset.times) < HEAVY or dataset.N >= LARGE:
            return None
        is_joined = dataset.items is not None
        return (
            f"{'an item' if is_joined else 'a row'} counts {times:,.0f} times on average: chains of such "
            f"{'items' if is_joined else 'rows'} stay apart unless each looks for its start first (init=random: as "
            "tables without weights do)"
        )

    def may_go_on_by_search(self, N: int) -> bool:
        return self.init in ("random", CATEGORIES) and N < LARGE and not self.why_no_search

    def apart_after(self, dataset: Dataset, iterations: int, distance: float) -> int | None:
        is_large = iterations <= EARLY_MOST and dataset.N >= LARGE
        return APART_LARGE if is_large else super().apart_after(dataset, iterations, distance)

    def start_in_stages(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put rows into clusters: a random sample by a chain, the others by their weights given those before."""
        if reason := self.why_not_in_stages:
            raise ConfigError(f"init={STAGES}: {reason}")
        component = self.model
        items = np.random.Generator(rng.bit_generator).permutation(model.N)
        item_of_row = dataset.item_of_row
        whole = np.cumsum(np.bincount(item_of_row)[items]) <= ROWS
        items = np.sort(items[: max(1, int(whole.sum()))])
        part = dataset.take(np.flatnonzero(np.isin(item_of_row, items)))
        options = component.target.with_defaults_of(dataset.with_repeats, **component.options)
        sample = initial.build_model(replace(component, options=options), part)
        iterations, moves = limit_stage(part.kind.count_values(part, component.options))
        chain = initial.build_starting_chain(self.spec, sample, rng, moves, thin=iterations)
        sample.start_sequentially(rng)
        chain.advance(iterations)
        model.start_from(rng, items, sample.labels)

    @property
    def why_not_in_stages(self) -> str | None:
        if "kmax" in self.model.values:
            return f"model={self.model.name} keeps empty clusters, so rows do not come one by one"
        if self.model.values.get("conjugate") is False:
            return "expected model.conjugate=true: rows come one by one where parameters of clusters are integrated out"
        return None


def start_of(spec: RunSpecification) -> Start:
    """The rules by which a run of this specification starts."""
    found: Start = resolve_name(spec.model.kind.start)(spec)
    return found


def limit_stage(values: int) -> tuple[int, int]:
    """Iterations of the chain on a sample of so many values, and moves before each scan, within `START_WORK`.

    Examples
    --------
    >>> limit_stage(40_000), limit_stage(1_440_000)
    ((50, 500), (32, 20))
    """
    scans = initial.START_WORK / (values * STAGE_ITERATIONS)
    moves = int(min(STAGE_MOVES, max(FEWEST_MOVES, PER_SCAN * (scans - 1))))
    return int(min(STAGE_ITERATIONS, max(FEWEST, scans * STAGE_ITERATIONS / (1 + moves / PER_SCAN)))), moves


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
    """The coarsest partition that refines two: int32 ``[N]``, numbers from 0 without gaps, as `first` and `second` are.

    Examples
    --------
    >>> meet(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, 2]
    """
    pairs = first.astype(np.int64) * (int(second.max()) + 1) + second
    return np.unique(pairs, return_inverse=True)[1].astype(np.int32)
