"""Short runs whose draws stay in memory: nothing is written, judged or described, since only densities are taken from
them."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from splitmerge_cli.core.chain import Chain, Halted, advance_together
from splitmerge_cli.runs import interrupts
from splitmerge_cli.runs.draws import WITH_PARTITIONS, State
from splitmerge_cli.runs.drive import Stop, await_chains, check_densities
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.store.schema import PARAMETERS


def sample_states(plan: Plan) -> list[State]:
    """Run the chains of a plan whose spacing of partitions is named (``trace.partitions``, ``thin=1``), and return the
    recorded states of their second halves, chain by chain: those that a stored run of the plan has.

    Raises
    ------
    ConfigError
        A chain that cannot be built.
    KeyboardInterrupt
        The program was asked to stop.
    RunError
        A density that is not finite.
    """
    stop, numbers = Stop(), range(plan.spec.chains)
    groups = [numbers] if plan.spec.is_adaptive else [[number] for number in numbers]
    with interrupts.AnsweredBy(stop.set), ThreadPoolExecutor(plan.workers) as pool:
        drives = [pool.submit(_drive, plan, group, stop) for group in groups]
        await_chains(drives, stop)
    if stop.is_set():
        # an error of a chain stops the others
        for drive in drives:
            drive.result()
        raise KeyboardInterrupt
    return [state for drive in drives for state in drive.result()]


def _drive(plan: Plan, numbers: Sequence[int], stop: Stop) -> list[State]:
    """Run a chain, or all of adaptive samplers together, to the end or until `stop`."""
    chains = plan.chains() if plan.spec.is_adaptive else [plan.chain(numbers[0])]
    for chain in chains:
        stop.drives(chain)
    states: list[list[State]] = [[] for _ in chains]
    with suppress(Halted):
        while (remaining := plan.iterations - chains[0].iteration) > 0 and not stop.is_set():
            if plan.spec.is_adaptive:
                advanced = advance_together(chains, remaining, workers=plan.workers)
            else:
                advanced = [chains[0].advance(remaining)]
            for number, chain, rows, states_kept in zip(numbers, chains, advanced, states, strict=True):
                check_densities(number, rows)
                states_kept.extend(_late_states(plan, chain, rows))
    return [state for states_kept in states for state in states_kept]


def _late_states(plan: Plan, chain: Chain, rows: Mapping[str, NDArray[Any]]) -> Iterator[State]:
    """States of the second half of a chain among the rows that a call of `advance` returned."""
    names = [name for name in chain.model.hyperparameters if name not in WITH_PARTITIONS]
    row_of = {iteration: row for row, iteration in enumerate(rows["iteration"].tolist())}
    parameters = rows.get(f"partition_{PARAMETERS}")
    for draw, iteration in enumerate(rows["partition_iteration"].tolist()):
        if iteration > plan.iterations / 2:
            values = {name: float(rows[name][row_of[iteration]]) for name in names}
            labels, K = rows["partition_labels"][draw], int(rows["partition_K"][draw])
            yield State(labels, K, values, None if parameters is None else parameters[draw])
