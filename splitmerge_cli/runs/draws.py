"""Draws of a run as states: recorded partitions with their hyper-parameters, in the order in which predictions take
them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.diagnostics.point_estimate import evenly_spaced
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.runs.answers import of_one_spacing
from splitmerge_cli.runs.store import read, schema

FIRST_STATES = 200
"""Draws that predictions average over at least, where there are so many."""
MOST_STATES = 4_000
"""Draws that they average over at most unless a program asks for more."""
BATCHES = 20
"""Batches of successive draws whose spread gives the standard error."""
WITH_PARTITIONS = ("b0", "kappa0", "informative")
"""Hyper-parameters that are recorded with the partitions, not in the trace."""


@dataclass(frozen=True)
class State:
    """A state of a chain."""

    labels: NDArray[np.int32]
    """int32 ``[N]``, from 0."""
    K: int
    """Clusters, empty ones that the state keeps among them."""
    hyperparameters: Mapping[str, float]
    """Resampled ones, but b0 and kappa0."""
    parameters: NDArray[np.float64] | None = None
    """float64 ``[P]``: b0 and kappa0, those that are resampled, as the partitions have them (`schema.PARAMETERS`)."""


class Draws(Sequence[State]):
    """States of a run in the order in which predictions take them. `make`: makes the state of a row; `rows`, `batch`:
    rows in this order, and the batch of each, from 0 to `BATCHES` - 1 at most; `looks`: numbers of draws after which
    predictions may end, where their errors are small."""

    def __init__(
        self, make: Callable[[int], State], rows: ArrayLike, batch: ArrayLike, looks: Sequence[int] = ()
    ) -> None:
        self._make, self._rows = make, np.asarray(rows, dtype=np.int64)
        self.batch, self.looks = np.asarray(batch, dtype=np.int64), tuple(looks)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._make(int(self._rows[index]))

    @classmethod
    def from_states(cls, states: Sequence[State]) -> "Draws":
        """Put the states of a list into batches of neighbours; draws stay as they are."""
        if isinstance(states, Draws):
            return states
        n = len(states)
        return cls(states.__getitem__, np.arange(n), np.arange(n) * min(n, BATCHES) // max(n, 1))


def recorded_partitions(run: read.Run) -> "pd.DataFrame":
    """Recorded partitions of the second halves of a run's chains, of each chain at one spacing: chain, iteration, K,
    labels, and `schema.PARAMETERS` where they are recorded. No rows where there are none."""
    try:
        frame = run.partitions()
    except FileNotFoundError:
        return pd.DataFrame(columns=["chain", "iteration", "K", "labels"])
    trace = run.trace(["chain", "iteration"])
    last = trace.groupby("chain")["iteration"].max()
    late = (frame["iteration"] > frame["chain"].map(last) / 2).to_numpy(dtype=bool)
    chain, iteration = frame["chain"].to_numpy(), frame["iteration"].to_numpy()
    chosen = [of_one_spacing(np.flatnonzero(late & (chain == c)), iteration) for c in last.index]
    return frame.iloc[np.concatenate(chosen)].reset_index(drop=True)


def states_of(run: read.Run, most_states: int, recorded: "pd.DataFrame | None" = None) -> list[State]:
    """Draws of a run with their hyper-parameters, at most so many, evenly spread; `recorded` are its
    `recorded_partitions`, where they were read. A `ConfigError` if none has its hyper-parameters in the trace."""
    rows, names = _with_hyperparameters(run, recorded_partitions(run) if recorded is None else recorded)
    return [_state(rows.iloc[row], names) for row in evenly_spaced(len(rows), most_states)]


def draws_of(
    run: read.Run,
    states: int | None,
    recorded: "pd.DataFrame | None" = None,
    first: int = FIRST_STATES,
    most_states: int = MOST_STATES,
) -> Draws:
    """Draws of a run with their hyper-parameters, evenly spread, at most `states` of them.

    By default `first` are drawn, then twice as many as long as errors are not small, up to `most_states`: each time
    those in the middle between two that were taken. `recorded` as for `states_of`. A `ConfigError` if no recorded
    partition has its hyper-parameters in the trace, or `states` is no whole number from 1 on.
    """
    if states is not None and (isinstance(states, bool) or not isinstance(states, int | np.integer) or states < 1):
        raise ConfigError(f"states: {states!r}; expected a whole number from 1 on, or None")
    rows, names = _with_hyperparameters(run, recorded_partitions(run) if recorded is None else recorded)
    chosen = evenly_spaced(len(rows), most_states if states is None else int(states))
    order, looks = _halve(len(chosen), len(chosen) if states is not None else first)
    # successive draws of a chain
    chain = rows["chain"].to_numpy()[chosen]
    begin = np.flatnonzero(np.r_[True, chain[1:] != chain[:-1]])
    length = np.diff(np.r_[begin, len(chain)])
    blocks = max(1, BATCHES // len(begin))
    number = np.repeat(np.arange(len(begin)), length)
    place = np.arange(len(chain)) - begin[number]
    batch = (number * blocks + place * blocks // length[number]) % BATCHES
    return Draws(lambda row: _state(rows.iloc[row], names), chosen[order], batch[order], looks)


def _halve(n: int, first: int) -> tuple[NDArray[np.int64], list[int]]:
    """The numbers from 0 to n - 1 so that what comes first is evenly spread, `first` of them at least; and after how
    many the space between those taken has halved.

    Examples
    --------
    >>> order, looks = _halve(8, 2)
    >>> order.tolist(), looks
    ([2, 6, 0, 4, 1, 3, 5, 7], [2, 4])
    """
    space = 1
    while n // (2 * space) >= first:
        space *= 2
    rounds = [np.arange(space // 2, n, space), *([np.arange(0, n, space)] if space > 1 else [])]
    while space > 2:
        space //= 2
        rounds.append(np.arange(space // 2, n, space))
    return np.concatenate(rounds), np.cumsum([len(round) for round in rounds])[:-1].tolist()


def last_states(run: read.Run) -> list[State]:
    """The last recorded state of each chain; errors as of `states_of`."""
    rows, names = _with_hyperparameters(run, recorded_partitions(run))
    return [_state(chain_rows.iloc[-1], names) for _, chain_rows in rows.groupby("chain", sort=True)]


def _with_hyperparameters(run: read.Run, recorded: "pd.DataFrame") -> "tuple[pd.DataFrame, list[str]]":
    """Recorded partitions whose hyper-parameters stand in the trace, with these, and their names."""
    if recorded.empty:
        raise ConfigError("trace.partitions: the run recorded no partition; expected trace.partitions=10")
    trace = run.trace()
    names = [name for name in schema.hyperparameters(trace.columns) if name not in WITH_PARTITIONS]
    rows = recorded.merge(trace[["chain", "iteration", *names]], on=["chain", "iteration"], how="left")
    # with `thin` the trace has not every iteration whose partition was recorded
    known = np.flatnonzero(rows[names].notna().all(axis=1))
    if not len(known):
        raise ConfigError(f"thin: no recorded partition has its {', '.join(names)} in the trace; expected thin=1")
    return rows.iloc[known], names


def _state(row: Any, names: Sequence[str]) -> State:
    labels = np.array(row["labels"], dtype=np.int32)  # a copy: what is read cannot be written
    return State(labels, int(row["K"]), {name: float(row[name]) for name in names}, row.get(schema.PARAMETERS))
