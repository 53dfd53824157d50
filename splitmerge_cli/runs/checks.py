"""Posterior predictive checks: whether data that the model makes look like the data of a run.

Given a recorded partition and its hyper-parameters the parameters of every cluster are drawn from their posterior,
which is conjugate, and data are drawn from these: a replication, in the partition's clusters and with the cells missing
that are missing in the data. A quantity of the data is compared with the same quantity of the replications, each pair
in the same partition (Gelman, Meng and Stern 1996; docs/derivations.md, "Posterior predictive checks").
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.simulation import Given
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs.quantities import (
    BOTH,
    BURSTS,
    CLOSED,
    DISPERSION,
    KURTOSIS,
    ONE,
    RECIPROCITY,
    REPEATS,
    SEVERAL,
    SKEWNESS,
    SPREAD,
    TIE,
    ZEROS,
    Quantities,
)

if TYPE_CHECKING:
    from splitmerge_cli.runs.draws import State

Array = NDArray[np.float64]

DRAWS = 100
"""Replications."""
EXTREME = 0.02
"""Two-sided share below which the data are unlike the replications: none of these is as far on the same side."""
FAR = 5.0
"""Standard deviations of the replications beyond which a run names a quantity in its own lines."""
FAR_ON_AVERAGE = 4.0
"""The bound of an average over columns. There are few of these."""
EFFECTS = {
    SKEWNESS: 0.3,
    KURTOSIS: 0.5,
    DISPERSION: 0.3,
    ZEROS: 0.03,
    TIE: 0.2,
    SPREAD: 0.2,
    CLOSED: 0.05,
    REPEATS: 0.05,
    BURSTS: 0.05,
    RECIPROCITY: 0.05,
    ONE: 0.1,
    SEVERAL: 0.1,
    BOTH: 0.5,
}
"""By quantity, the least difference from the replications that a run names: smaller ones matter to nobody."""
RELATIVE = (DISPERSION, SPREAD, REPEATS, BOTH)
"""Quantities whose least difference is a share of what the replications have."""
LARGER = (TIE, REPEATS, BURSTS, BOTH)
"""Quantities that are named where the data have more of them: columns or words that go together less are no news."""
TIES = 8
"""Pairs of columns that are listed."""
MOST_REPEATED = 200_000
"""Rows, each as often as its weight says, up to which a table of frequencies is checked."""


@dataclass(frozen=True)
class Check:
    """A quantity of the data compared with the replications."""

    subject: str
    """The column, the two columns, or what of a network."""
    quantity: str
    """In words."""
    observed: float
    """Mean over the partitions."""
    median: float
    low: float
    high: float
    """Replications: their median, 2.5 and 97.5 % quantiles."""
    share: float
    """Two-sided: twice the share of pairs in which the replication is as far on the same side, this data set counted as
    one more; at most 1."""
    mean: float = math.nan
    deviation: float = math.nan
    """Mean and standard deviation of the replications."""
    is_beyond_all: bool = False
    """Whether no replication is as far on the same side."""

    @property
    def is_unlike(self) -> bool:
        """Whether the data are unlike the replications."""
        return self.share < EXTREME

    @property
    def distance(self) -> float:
        """Distance from the mean of the replications, in their standard deviations."""
        difference = self.observed - self.mean
        return abs(difference) / self.deviation if self.deviation > 0 else math.inf

    @property
    def is_far(self) -> bool:
        """Whether a run names the quantity: the data are beyond all replications, more than `FAR` of
        their standard deviations from their mean, and by a difference that matters (`EFFECTS`)."""
        name = next((name for name in EFFECTS if self.quantity.endswith(name)), None)
        if name is None:
            return self.is_beyond_all and self.distance > FAR
        difference = self.observed - self.mean
        least = EFFECTS[name] * (self.mean if name in RELATIVE else 1.0)
        matters = (difference if name in LARGER else abs(difference)) >= least
        return self.is_beyond_all and matters and self.distance > (FAR if self.quantity == name else FAR_ON_AVERAGE)


@dataclass(frozen=True)
class Fit:
    """The checks of a run, and what is not checked, in words."""

    checks: list[Check]
    unchecked: list[str]
    draws: int = 0
    of_columns: Sequence[tuple[str, str, int]] = ()
    """Name, type and number of levels by column, where a table was checked."""


def explain_unchecked(model: Component, dataset: Dataset) -> str | None:
    """Why a model of such data is not replicated; None: it is."""
    if model.target.simulate is None:
        return f"model={model.name} draws no data"
    if dataset.counts is not None:
        # a power of a likelihood is no model that draws rows
        if dataset.unit != 1.0:
            return "weights are powers of the likelihood: data that the model makes have none"
        if dataset.counts.sum() > MOST_REPEATED:
            return f"tables whose rows count as more than {MOST_REPEATED:,}; here {dataset.counts.sum():,.0f}"
    return find_quantities(model).explain_unmeasured(dataset)


def check_fit(
    model: Component,
    dataset: Dataset,
    states: "Sequence[State]",
    seed: int = 0,
    draws: int = DRAWS,
    cells: int | None = None,
) -> Fit:
    """Check how well the model of a run describes its data, by replications from draws of its posterior in turn, at
    least `draws` of them. They have about `cells` cells of a larger table (None: `quantities.MOST_CELLS`).

    A `ConfigError` if the states lack what the model keeps in addition to the partition.
    """
    if (reason := explain_unchecked(model, dataset)) is not None:
        return Fit([], [reason])
    if not states:
        return Fit([], ["no partitions are recorded: trace.partitions=10 records some"])
    if dataset.counts is not None:
        # frequencies: each case is drawn, in the cluster of its row
        times = dataset.counts.astype(np.int64)
        states = [replace(state, labels=np.repeat(state.labels, times)) for state in states]
        dataset = dataset.with_repeats
    rng, quantities, options = (
        np.random.default_rng(seed),
        find_quantities(model)(dataset, cells),
        options_of(model, dataset),
    )
    seen: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for state in islice(cycle(states), max(draws, len(states))):
        labels = np.unique(state.labels, return_inverse=True)[1]
        conditions = Given(dataset, labels, options, state.parameters, rows=quantities.rows, columns=quantities.columns)
        try:
            replication = quantities.take(model.target.simulate(rng, conditions))
        except ValueError as error:
            raise ConfigError(str(error)) from error
        for key, value in quantities.measure(replication, conditions.z).items():
            seen.setdefault(key, ([], []))[1].append(value)
        for key, value in quantities.measure(quantities.values, conditions.z).items():
            seen[key][0].append(value)
    checks = [_check(key, np.array(data), np.array(replication)) for key, (data, replication) in seen.items()]
    unchecked = list(quantities.unchecked)
    if options.get("power", 1.0) != 1.0:
        unchecked.append(
            f"how far the data may be from the model: model.power={options['power']:g} is chosen such that some "
            "difference changes nothing, and data that the model makes have none"
        )
    return Fit(checks, unchecked, max(draws, len(states)), getattr(quantities, "of_columns", ()))


def find_quantities(model: Component) -> type[Quantities]:
    """The class that the model names, or else the kind of its data."""
    module, _, name = (model.target.QUANTITIES or model.kind.quantities).partition(":")
    quantities: type[Quantities] = getattr(importlib.import_module(module), name)
    return quantities


def options_of(model: Component, dataset: Dataset) -> dict[str, Any]:
    """Options of the model, none left to the data."""
    target = model.target
    return read_options("model", target.OPTIONS, target.with_defaults_of(dataset, **model.options))


def _check(key: tuple[str, str], data: Array, replications: Array) -> Check:
    both = np.isfinite(data) & np.isfinite(replications)
    if not both.any():
        return Check(*key, math.nan, math.nan, math.nan, math.nan, 1.0)
    data, replications = data[both], replications[both]
    fewer = min((replications >= data).sum(), (replications <= data).sum())
    low, median, high = np.quantile(replications, [0.025, 0.5, 0.975], method="inverted_cdf")
    share = min(1.0, 2.0 * (fewer + 1) / (len(replications) + 1))
    return Check(
        *key,
        float(data.mean()),
        float(median),
        float(low),
        float(high),
        float(share),
        float(replications.mean()),
        float(replications.std()),
        bool(fewer == 0),
    )
