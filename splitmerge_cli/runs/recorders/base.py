"""Interface of a recorder, and what all kinds of data have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config.errors import ConfigError
from splitmerge_cli.runs.recorders.spacing import Spacing, spacing_of
from splitmerge_cli.runs.store import schema

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification
    from splitmerge_cli.core.chain import Chain
    from splitmerge_cli.data.dataset import Dataset
    from splitmerge_cli.diagnostics.summary import Row
    from splitmerge_cli.runs.store.store import ChainStore, RunStore

NEVER = 2**62
"""Number of iterations that stands for "no further evaluation"."""


@dataclass(frozen=True)
class Streamed:
    """A table that the chains write while they run.

    Attributes
    ----------
    table : str
        A name such as `schema.TRACE`.
    width : int
        Values in the list of a row, at most, for estimates of its size.
    every : int
        Iterations between two rows; 0: there are none.
    key : str
        The key of the configuration that sets it.
    is_kept : bool
        Whether a finished run has it.
    """

    table: str
    width: int
    every: int
    key: str
    is_kept: bool = True


@dataclass(frozen=True)
class Late:
    """Recorded partitions of the second half of a chain."""

    iterations: NDArray[np.int64]
    """``[M]``, ascending."""
    labels: NDArray[np.int32]
    """``[M, N]``."""
    parameters: NDArray[np.float64] | None = None
    """``[M, P]``: `schema.PARAMETERS`, where they are recorded."""


class Recorder:
    """Records that a run keeps of one kind of data; this class records clusters of items."""

    sizes: ClassVar[bool] = False
    """Whether the chains record the sizes of all clusters."""
    describes: ClassVar[bool] = True
    """Whether clusters can be described in the data's own terms (`splitmerge_cli.runs.summaries`)."""

    def __init__(self, spec: "RunSpecification", dataset: "Dataset") -> None:
        self.spec, self.dataset = spec, dataset

    @property
    def streamed_tables(self) -> list[Streamed]:
        """The tables that the chains write while they run."""
        spec = self.spec
        return [
            Streamed(schema.TRACE, 5, spec.thin, "thin"),
            Streamed(schema.PARTITIONS, self.dataset.N, self.spacing.on_average(spec.iterations), "trace.partitions"),
        ]

    @property
    def spacing(self) -> Spacing:
        """Which partitions are recorded. Without a request, only if an estimate is made of them."""
        if self.spec.trace.partitions is None and self.not_estimated:
            return Spacing(0)
        return spacing_of(self.spec, self.dataset.N)

    @property
    def is_listed(self) -> bool:
        """Whether the clusters of the items are listed in ``summary.json`` and ``clusters.csv``."""
        return True

    @property
    def not_estimated(self) -> str | None:
        """Reason why no partition is estimated from the recorded ones; None if one is."""
        return None

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the data, for the summary."""
        return self.dataset.kind.facts(self.dataset)

    def check(self, together: int) -> None:
        """Raise a `ConfigError` where `together` chains at the same time cannot record what is asked for."""
        if every := self.spec.perplexity.every:
            raise ConfigError(
                f"perplexity.every={every}: expected 0, because perplexity needs held-out documents; "
                f"model={self.spec.model.name} reads {self.dataset.kind}"
            )

    @property
    def evaluates(self) -> bool:
        """Whether there is something to evaluate while the chains run."""
        return False

    def until_evaluation(self, iteration: int) -> int:
        """Iterations from `iteration` to the next evaluation."""
        return NEVER

    def evaluate(self, chain: "Chain", store: "ChainStore") -> None:
        """Evaluate the present state of a chain and record it, where it is one to evaluate."""

    def evaluations(self, chain: "ChainStore") -> dict[str, Any] | None:
        """What was evaluated while a chain ran, to go on from; None if nothing was."""
        return None

    def take_up(self, chain: "ChainStore", evaluated: Mapping[str, Any]) -> None:
        """Record what an earlier run evaluated (`evaluations`)."""

    def outcome(self, chain: "Chain") -> dict[str, Any]:
        """Fields of a chain that `assemble` needs in addition to the fields of every chain."""
        return {}

    def assemble(
        self, store: "RunStore", chains: Sequence["ChainStore"], outcomes: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[str, Any], list["Row"]]:
        """Write the tables that this kind of data has at the end of a run. Returns the entries of the summary that not
        all runs have; rows of the diagnosis.
        """
        return {}, []


def best(outcomes: Sequence[Mapping[str, Any]], key: str) -> int:
    """The first chain that has the highest value."""
    return max(range(len(outcomes)), key=lambda c: outcomes[c][key])
