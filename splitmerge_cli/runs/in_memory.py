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


class ShortRun:
    """The chains of a plan, which go on from where they are when more iterations are asked for. `plan`: whose spacing
    of partitions is named (``trace.partitions``), with ``thin=1``; its number of iterations is not read.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        numbers = range(plan.spec.chains)
        self._groups = [_Group(plan, one) for one in ([numbers] if plan.spec.is_adaptive else [[n] for n in numbers])]

    def sample_states(self, iterations: int) -> list[State]:
        """Advance the chains to so many iterations, and return the states that a stored run of this length has.

        They are the recorded states of the second halves, chain by chain. Raises `ConfigError` (a chain that cannot be
        built), `KeyboardInterrupt` (the program was asked to stop) or `RunError` (a density that is not finite).
        """
        stop = Stop()
        with interrupts.AnsweredBy(stop.set), ThreadPoolExecutor(self._plan.workers) as pool:
            drives = [pool.submit(group.advance, iterations, stop) for group in self._groups]
            await_chains(drives, stop)
        for drive in drives:
            drive.result()
        return [state for group in self._groups for state in group.late_states(iterations)]


class _Group:
    """A chain, or all of adaptive samplers, and what they recorded."""

    def __init__(self, plan: Plan, numbers: Sequence[int]) -> None:
        self._plan, self._numbers = plan, numbers
        self._chains: list[Chain] = []
        self._states: list[list[tuple[int, State]]] = [[] for _ in numbers]

    def advance(self, iterations: int, stop: Stop) -> None:
        """Advance to so many iterations, or until `stop`."""
        if not self._chains:
            self._chains = self._plan.chains() if self._plan.spec.is_adaptive else [self._plan.chain(self._numbers[0])]
        for chain in self._chains:
            stop.drives(chain)
        with suppress(Halted):
            while (left := iterations - self._chains[0].iteration) > 0 and not stop.is_set():
                if self._plan.spec.is_adaptive:
                    made = advance_together(self._chains, left, workers=self._plan.workers)
                else:
                    made = [self._chains[0].advance(left)]
                for number, chain, rows, states in zip(self._numbers, self._chains, made, self._states, strict=True):
                    check_densities(number, rows)
                    states.extend(_states_of(chain, rows))

    def late_states(self, iterations: int) -> Iterator[State]:
        """Recorded states between half of so many iterations and their end."""
        for states in self._states:
            yield from (state for at, state in states if iterations / 2 < at <= iterations)


def _states_of(chain: Chain, rows: Mapping[str, NDArray[Any]]) -> Iterator[tuple[int, State]]:
    """Recorded states, with their iterations, among the rows that a call of `advance` returned."""
    names = [name for name in chain.model.hyperparameters if name not in WITH_PARTITIONS]
    row_of = {iteration: row for row, iteration in enumerate(rows["iteration"].tolist())}
    parameters = rows.get(f"partition_{PARAMETERS}")
    for draw, iteration in enumerate(rows["partition_iteration"].tolist()):
        values = {name: float(rows[name][row_of[iteration]]) for name in names}
        labels, K = rows["partition_labels"][draw], int(rows["partition_K"][draw])
        yield iteration, State(labels, K, values, None if parameters is None else parameters[draw])
