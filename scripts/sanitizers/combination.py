"""One combination: its chains, their moves, and what else is computed of them."""

import contextlib
import itertools
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sanitizers.cases import Case
from sanitizers.datasets import data, dataset
from sanitizers.variants import build_variant

THREADS = 2
"""Threads of a step, and chains at the same time."""
LAG, LAST = 2, 9
"""Lag of coupled chains, and the last iteration that their estimates take."""
MOST_PAIRS = 300
"""Items up to which co-clustering is gathered: of more its sums take too much memory."""
FEW = 100
"""Iterations that need threads, or messages, at the most: they wait for the processor, where others want it too."""


class Rejected(Exception):
    """The model or the sampler does not take these data or options."""


def _build_model(case: Case) -> Any:
    try:
        return build_variant(case.model, lambda cls, options: cls.from_data(dataset(case.kind, case.data), **options))
    except ValueError as error:
        raise Rejected(str(error)) from error


def _steps(case: Case, model: Any, rng: Any) -> list[Any]:
    """The sampler, an update of one item and, where there is anything to refresh, a refresh."""
    from splitmerge_cli.config import choice, locate

    if not build_variant(case.sampler, lambda cls, options: cls.supports(model)[0]):
        raise Rejected("the sampler does not support the model")

    def other(name: str, **options: Any) -> Any:
        return locate(choice("sampler", name)["_target_"])(model, rng, **options)

    try:
        mover = build_variant(case.sampler, lambda cls, options: cls(model, rng, **options))
    except ValueError as error:
        raise Rejected(str(error)) from error
    site = other("gibbs" if model.conjugate else "neal8", scan="site")
    return [mover, site, *([other("refresh")] if model.refreshes else [])]


def _start(case: Case, model: Any, rng: Any) -> None:
    """Put a model in its start state."""
    from splitmerge_cli.runs.initial import initial_labels

    if case.start == "sequential":
        try:
            model.start_sequentially(rng)
        except ValueError as error:
            raise Rejected(str(error)) from error
    else:
        generator = np.random.Generator(rng.bit_generator)
        labels, K = initial_labels(model, dataset(case.kind, case.data), case.start, None, generator)
        model.set_labels(labels, K if model.allows_empty else None)
    model.start_parameters(rng)


def _chain(case: Case, number: int, seed: int = 3) -> Any:
    """A chain at its start."""
    from splitmerge_cli.core.chain import Chain
    from splitmerge_cli.core.rng import Rng

    model, rng = _build_model(case), Rng(seed, number)
    steps = _steps(case, model, rng)
    _start(case, model, rng)
    truth = np.arange(model.N) % 3
    return Chain(model, rng, steps, thin=7, partitions=11, truth=truth, timing=False, warmup=(steps[1], 3), sizes=True)


def _chains(case: Case) -> list[Any]:
    """One chain, or three that share a history where the sampler learns from it."""
    first = _chain(case, 0)
    mover = first.samplers[0]
    if not hasattr(mover, "adapt_to"):
        return [first]
    chains = [first, *(_chain(case, number) for number in (1, 2))]
    history = mover.adaptive.new_history(len(chains))
    for number, chain in enumerate(chains):
        chain.adapt_to(history, number)
    return chains


def run(case: Case) -> list[dict[str, np.ndarray]]:
    """Make all that is to be made of a combination; what the chains recorded."""
    rows = _run_together(case) if case.threaded else _run_alone(case)
    for sampler in _shard_moves(case):
        for _ in range(min(case.iterations // 8, FEW // 4)):
            sampler.step()
    return rows


def _run_alone(case: Case) -> list[dict[str, np.ndarray]]:
    """Chains, half of their iterations restored and with steps in threads; pairs of every coupling."""
    from splitmerge_cli.core.chain import advance_together

    def advance(chains: list[Any], iterations: int, workers: int) -> list[dict[str, np.ndarray]]:
        if len(chains) == 1:
            return [chains[0].advance(iterations)]
        return list(advance_together(chains, iterations, workers=workers))

    chains = _chains(case)
    iterations = case.iterations // len(chains)
    mover, model = chains[0].samplers[0], chains[0].model
    if len(chains) == 1:
        for _ in range(iterations // 4):
            mover.step()
        if model.N <= 3:
            _walk_script(chains[0], mover)
    rows = advance(chains, iterations // 4, 1)
    again = _chains(case)
    for old, new in zip(chains, again, strict=True):
        new.state = old.state
        new.set_threads(THREADS)
    rounds = min(iterations // 2, FEW)
    rows += advance(again, rounds, THREADS)
    for chain in again:
        chain.set_threads(1)
    rows += advance(again, iterations // 2 - rounds, 1)
    for chain in again:
        if not np.isfinite(chain.log_joint):
            raise ArithmeticError(f"the log joint density is {chain.log_joint}")
        _ask(chain)
    for pair in _pairs(case, 1):
        _advance_pair(pair, min(iterations // 8, 40))
    return rows


def _run_together(case: Case) -> list[dict[str, np.ndarray]]:
    """Chains of one data set in threads, as a run has them, one of them broken off; pairs of every coupling."""
    from splitmerge_cli.core.chain import Halted, advance_together

    def run_at_once(tasks: list[Callable[[], Any]]) -> list[Any]:
        met = threading.Barrier(len(tasks))

        def task(do: Callable[[], Any]) -> Any:
            met.wait()
            return do()

        with ThreadPoolExecutor(len(tasks)) as pool:
            return list(pool.map(task, tasks))

    def advance_until_halted(chain: Any) -> None:
        # between two iterations it ends without one
        with contextlib.suppress(Halted):
            while not chain.rng.is_halted:
                chain.advance(1000)

    chains = _chains(case)
    for chain in chains:
        chain.set_threads(THREADS)
    if len(chains) > 1:
        return list(advance_together(chains, case.iterations, workers=THREADS))
    chains.append(_chain(case, 1))
    chains[1].set_threads(THREADS)
    rows = run_at_once([lambda chain=chain: chain.advance(case.iterations) for chain in chains])
    with ThreadPoolExecutor(1) as pool:
        broken = pool.submit(advance_until_halted, chains[1])
        run_at_once([lambda: chains[0].advance(case.iterations // 8)])
        chains[1].halt()
        broken.result()
    pairs = _pairs(case, THREADS)
    if pairs:
        run_at_once([lambda pair=pair: _advance_pair(pair, case.iterations // 8) for pair in pairs])
    return rows


def _pairs(case: Case, each: int) -> list[Any]:
    """Pairs of coupled chains, so many of each coupling; none of samplers that do not couple."""
    from splitmerge_cli.core.coupled import CoupledChains
    from splitmerge_cli.core.recording import COUPLINGS
    from splitmerge_cli.core.rng import Rng

    found = []
    for number, coupling in enumerate(COUPLINGS * each):
        rng = Rng(5, number)
        models = _build_model(case), _build_model(case)
        steps = [_steps(case, model, rng) for model in models]
        if models[0].prior is None or not all(step.couples()[0] for step in steps[0]):
            return []
        for model in models:
            _start(case, model, rng)
        found.append(CoupledChains(*models, rng, *steps, LAG, None, coupling))
    return found


def _advance_pair(pair: Any, iterations: int) -> None:
    """Make iterations of a pair, and the estimates that follow from them."""
    small = pair.x.N <= MOST_PAIRS
    if small:
        pair.gather(1, LAST)
    pair.advance(iterations)
    pair.advance(max(LAST - pair.iteration, 0), until_met=False)
    pair.weights_of_states(1, LAST)
    if (small and not np.isfinite(pair.co_clustering).all()) or not 0.0 <= pair.distance <= 1.0:
        raise ArithmeticError("estimates of a pair of chains are no numbers")


class _Shards:
    """Shards in this process."""

    def __init__(self, shards: list[Any]) -> None:
        self.shards = shards

    def all(self, method: str, *args: Any) -> list[Any]:
        return self.each(method, [args] * len(self.shards))

    def each(self, method: str, args: list[Any], asked: list[int] | None = None) -> list[Any]:
        numbers = range(len(self.shards)) if asked is None else asked
        return [getattr(self.shards[number], method)(*given) for number, given in zip(numbers, args, strict=True)]


def _shard_moves(case: Case) -> list[Any]:
    """The sampler on items in one shard, and in three, one of them empty; none if there are no shards of these."""
    from splitmerge_cli.config import choice, locate
    from splitmerge_cli.core.capabilities import Shards
    from splitmerge_cli.core.checks import Columns
    from splitmerge_cli.core.rng import Rng
    from splitmerge_cli.runs.shards.items import ShardItems, sharded_subcluster

    model, of = json.loads(case.model.target), json.loads(case.sampler.target)
    cls, given = locate(model["_target_"]), dataset(case.kind, case.data)
    values = given.values
    if (
        of["_target_"] != choice("sampler", "subcluster")["_target_"]
        or (sharded_by := cls.find_capability(Shards)) is None
        or not isinstance(values, np.ndarray)
    ):
        return []
    params, options = ({k: v for k, v in one.items() if k not in ("name", "_target_")} for one in (model, of))
    found = []
    for ends in ([len(values)], [len(values) // 2, len(values) // 2, len(values)]):
        parts = [values[a:b].astype(float) for a, b in itertools.pairwise([0, *ends])]
        columns = Columns.join([Columns.from_rows(part) for part in parts])
        columns = columns.with_types(tuple(column.type for column in given.types or ()))
        shards = [
            ShardItems(sharded_by.build_shard(part.copy(), columns, **params), end - len(part), len(values), 8, THREADS)
            for part, end in zip(parts, ends, strict=True)
        ]
        packed = np.concatenate([shard.count_all() for shard in shards])
        together = sharded_by.build_whole(columns, shards[0].add_statistics(packed).tobytes(), **params)
        sampler, items = sharded_subcluster(together, Rng(4), _Shards(shards), [len(part) for part in parts], **options)
        sampler.threads = THREADS
        items.settle([np.zeros(len(part), dtype=np.int32) for part in parts], 1)
        found.append(sampler)
    return found


def _walk_script(chain: Any, mover: Any) -> None:
    """Enumerate some of the execution paths."""
    from splitmerge_cli.core.rng import ContinuousDraw

    model, rng = chain.model, chain.rng
    labels, K, parameters = model.labels, model.K if model.allows_empty else None, model.parameters
    rng.script_start()
    try:
        for _ in range(100):
            model.set_labels(labels, K)
            if parameters is not None:
                model.set_parameters(parameters)
            rng.script_begin()
            mover.step()
            if not rng.script_next():
                break
    except ContinuousDraw:
        pass
    finally:
        rng.script_stop()


def _ask(chain: Any) -> None:
    """Ask a chain for all that it does not record."""
    model, mover = chain.model, chain.samplers[0]
    for report in ("statistics", "fitted", "word_topics"):
        getattr(model, report, lambda: None)()
    if hasattr(mover, "report"):
        mover.report()
    if getattr(mover, "tables", None) is not None:
        for opposite, reading in itertools.product((False, True), ("table", "union")):
            mover.tables.probability(0, model.N - 1, opposite, reading)
    if hasattr(model, "word_topics"):
        _predict(model)


def _predict(model: Any) -> None:
    """Held-out tokens, by every method, and new documents."""
    from splitmerge_cli.kinds.documents.corpus import Heldout, Tokens, starts_of
    from splitmerge_cli.kinds.documents.heldout import METHODS, log_likelihoods, read_new_documents

    lengths = np.full(model.J, 3)
    words = np.arange(3 * model.J, dtype=np.int32) % model.V
    tokens = Tokens(words, starts_of(lengths))
    corpora = data()["documents"].values()
    own = next(x.tokens for x in corpora if (x.shape[0], x.V, x.tokens.J) == (model.N, model.V, model.J))
    for by, method in itertools.product(("word", "document"), METHODS):
        observed = np.arange(len(words)) % 2 == 0 if by == "document" else np.zeros(len(words), dtype=bool)
        held = Heldout(by, tokens, observed)
        told = model.word_topics(), model.weights, model.alpha0, model.eta
        log_likelihoods(*told, own, held, model.labels, method, 5, 1)
    state = model.word_topics(), model.weights, model.alpha0, model.gamma, model.eta
    read_new_documents(*state, words, tokens.starts, [1], particles=5, scans=2)
