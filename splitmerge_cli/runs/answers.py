"""Answers at the end of a run in addition to its clusters, by kind of data."""

from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset, Kind
from splitmerge_cli.diagnostics.point_estimate import Estimate, estimate_partition, minimise_expected_loss
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import specification_of

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification
    from splitmerge_cli.diagnostics.summary import Row
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.recorders.base import Late
    from splitmerge_cli.runs.store.store import RunStore


class Answers:
    """The answers of kinds whose clusters are described as such; a base of others (`Kind.answers`)."""

    by_share: ClassVar[bool] = True
    """Whether clusters are shares of the items: the largest then judge chains, clusters of few items are outliers, and
    the number of clusters of an estimate lies in its interval. Otherwise most clusters have a few items, however many
    items there are."""

    @staticmethod
    def estimate(
        partitions: NDArray[np.int32], dataset: Dataset, loss: str = "vi", interval: tuple[int, int] | None = None
    ) -> Estimate:
        """The estimate of a run from draws ``[M, N]``, as of `estimate_partition`: items that must be apart are."""
        items, apart, sizes = dataset.items, dataset.pairs_apart, dataset.row_sizes
        return estimate_partition(partitions, loss, interval, items, apart, sizes)

    @staticmethod
    def central(partitions: NDArray[np.int32], apart: NDArray[np.int32] | None) -> Estimate:
        """The partition of least expected variation of information, of any number of clusters, from draws of items."""
        return minimise_expected_loss(partitions, apart=apart)

    describes_clusters: ClassVar[bool] = True
    """Whether a run writes what each cluster differs most in."""
    longer: ClassVar[str] = "longer chains:"
    """Why longer chains are advised where nothing else helps."""
    no_levels: ClassVar[str] = ""
    """Why clusters are not merged pair by pair; empty: they are."""

    @staticmethod
    def labels(run: Run) -> NDArray[np.int64]:
        """The clusters of a finished run, int64 ``[N]``, from 0."""
        return np.asarray(run.summary["point_estimate"]["labels"], dtype=np.int64)

    @staticmethod
    def read_otherwise(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """How data that are read with these options may be read for chains that do not converge: why, and the keys;
        None: as they are."""
        return None

    @staticmethod
    def another_model(
        unlike: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any], spec: "RunSpecification"
    ) -> tuple[str, dict[str, Any]] | None:
        """Reason and keys to change, if another model may describe the quantities that this one does not (`unlike`, the
        farthest first); `chosen`: how the run chose its model. None: no model is known to."""
        return None

    @staticmethod
    def comparable(run: Run) -> Any:
        """What of a finished run `compare` takes; None: nothing."""
        return None

    @staticmethod
    def compare(found: Sequence[Any]) -> Any:
        """What several runs have in common (`comparable`), for the terminal."""

    @staticmethod
    def so_far(plan: "Plan", labels: ArrayLike, late: Mapping[int, "Late"]) -> Iterator[str]:
        """Write tables of a run that was interrupted, whose clusters are no shares, and yield lines about it, the first
        of which says what it has found; parameters as of `write`."""
        return iter(())

    @staticmethod
    def write(
        plan: "Plan", store: "RunStore", labels: ArrayLike, late: Mapping[int, "Late"], certainty: ArrayLike | None
    ) -> dict[str, Any]:
        """Write further tables of a run that ends; returns further entries of its summary. `labels`: ``[N]``, from 0:
        the clusters that the run lists; `late`: by chain the draws of its second half; `certainty`: ``[N]``, of each
        item.
        """
        return {}

    @staticmethod
    def judge(partitions: Mapping[int, NDArray[Any]]) -> "list[Row]":
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
    def further_lines(summary: Mapping[str, Any], first: int, most_clusters: int | None = None) -> Iterator[str]:
        """Lines behind those about the clusters of a finished run, the first of them with number `first`."""
        return iter(())

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
