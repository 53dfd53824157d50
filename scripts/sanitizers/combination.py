"""One combination: its chains, their moves, and what else is computed of them."""

import itertools
from typing import Any

import numpy as np

from sanitizers.cases import Case
from sanitizers.datasets import data, dataset
from sanitizers.variants import made


class Rejected(Exception):
    """The model or the sampler does not take these data or options."""


def _built(case: Case) -> Any:
    try:
        return made(case.model, lambda cls, options: cls.from_data(dataset(case.kind, case.data), **options))
    except ValueError as error:
        raise Rejected(str(error)) from error


def _chain(case: Case, number: int, seed: int = 3) -> Any:
    """A chain of the sampler, an update of one item and, where there is anything to refresh, a refresh."""
    from splitmerge_cli.config import choice, locate
    from splitmerge_cli.core.chain import Chain
    from splitmerge_cli.core.rng import Rng
    from splitmerge_cli.runs.initial import initial_labels

    model, rng = _built(case), Rng(seed, number)
    if not made(case.sampler, lambda cls, options: cls.supports(model)[0]):
        raise Rejected("the sampler does not support the model")

    def other(name: str, **options: Any) -> Any:
        return locate(choice("sampler", name)["_target_"])(model, rng, **options)

    try:
        mover = made(case.sampler, lambda cls, options: cls(model, rng, **options))
    except ValueError as error:
        raise Rejected(str(error)) from error
    generator = np.random.Generator(rng.bit_generator)
    labels, K = initial_labels(model, dataset(case.kind, case.data), case.start, None, generator)
    model.set_labels(labels, K if model.allows_empty else None)
    model.start_parameters(rng)
    site = other("gibbs" if model.conjugate else "neal8", scan="site")
    steps = [mover, site, *([other("refresh")] if model.refreshes else [])]
    truth = np.arange(model.N) % 3
    return Chain(model, rng, steps, thin=7, partitions=11, truth=truth, timing=False, warmup=(site, 3), sizes=True)


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
    # threads that meet after every round wait for the processor, where others want it too
    rounds = min(iterations // 2, 100)
    rows += advance(again, rounds, 2)
    rows += advance(again, iterations // 2 - rounds, 1)
    for chain in again:
        if not np.isfinite(chain.log_joint):
            raise ArithmeticError(f"the log joint density is {chain.log_joint}")
        _ask(chain)
    return rows


def _walk_script(chain: Any, mover: Any) -> None:
    """Some paths of the tree of all choices."""
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
    """What may be asked of a chain beside what it records."""
    model, mover = chain.model, chain.samplers[0]
    for report in ("statistics", "fitted", "word_topics"):
        getattr(model, report, lambda: None)()
    if hasattr(mover, "report"):
        mover.report()
        for opposite, reading in itertools.product((False, True), ("table", "union")):
            mover.tables.probability(0, model.N - 1, opposite, reading)
    if model.kind == "documents":
        _predict(model)


def _predict(model: Any) -> None:
    """Held-out tokens, by every method, and new documents."""
    from splitmerge_cli.data.corpora.corpus import Heldout, Tokens, starts_of
    from splitmerge_cli.models.heldout import METHODS, log_likelihoods
    from splitmerge_cli.models.new_documents import fold_in

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
    fold_in(*state, words, tokens.starts, [1], particles=5, scans=2)
