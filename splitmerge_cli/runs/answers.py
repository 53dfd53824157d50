"""Answers at the end of a run in addition to its clusters, by kind of data."""

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Kind
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import specification_of

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.summary import Row
    from splitmerge_cli.runs.clusterings import Late
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.store.store import RunStore


class Answers:
    """The answers of kinds whose clusters are described as such; a base of others (`Kind.answers`)."""

    @staticmethod
    def write(
        plan: "Plan", store: "RunStore", labels: ArrayLike, late: Mapping[int, "Late"], certainty: ArrayLike | None
    ) -> dict[str, Any]:
        """Write further tables of a run that ends; returns further entries of its summary.

        Parameters
        ----------
        plan : Plan
        store : RunStore
        labels : array_like of int
            ``[N]``, from 0: the clusters that the run lists.
        late : mapping of int to Late
            By chain the draws of its second half.
        certainty : array_like of float, optional
            ``[N]``, of each item.
        """
        return {}

    @staticmethod
    def write_so_far(plan: "Plan", labels: ArrayLike, late: Mapping[int, "Late"]) -> Iterator[str]:
        """Write tables of a run that was interrupted, and yield lines about them; parameters as of `write`."""
        return iter(())

    @staticmethod
    def judge(partitions: Mapping[int, "NDArray[Any]"]) -> "list[Row]":
        """Further rows of a diagnosis, by the partitions ``[M, N]`` of the second half of each chain."""
        return []

    @staticmethod
    def headline(run: Run) -> str | None:
        """The first line of the page about a finished run; None: the numbers of its clusters and outliers."""
        return None

    @staticmethod
    def section(run: Run) -> Any:
        """The table of the page about a finished run (`splitmerge_cli.analysis.pages.html.Markup`) in place of the one
        of clusters; None: it has that."""
        return None

    @staticmethod
    def say(run: Run) -> None:
        """Print what a finished run shows before all else, on stderr."""

    @staticmethod
    def why_no_clusters(run: Run) -> str | None:
        """Why a finished run has no lines about its clusters; None: it has."""
        return None

    @staticmethod
    def lines(run: Run, columns: bool = False) -> Iterator[str] | None:
        """Lines about a finished run in place of those about its clusters; None: it has those. A `ConfigError` if
        `columns` are asked for and there are none."""
        return None

    @staticmethod
    def next_keys(run: Run, data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Choose a further step for a run that has converged, and the keys of the next run; None: there is no step."""
        return None


def kind_of(run: Run) -> Kind:
    """The kind of the data of a stored run; one without a name where its model is not at hand."""
    try:
        return specification_of(run).model.kind
    except ConfigError:
        return Kind()


def answers_of(kind: Kind) -> type[Answers]:
    """The answers of a kind of data."""
    found: type[Answers] = resolve_name(kind.answers) if kind.answers else Answers
    return found
