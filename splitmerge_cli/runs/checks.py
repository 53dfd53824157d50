"""Posterior predictive checks: whether data that the model makes look like the data of a run.

Given a recorded partition and its hyper-parameters the parameters of every cluster are drawn from their posterior,
which is conjugate, and data are drawn from these: a replication, in the partition's clusters and with the cells missing
that are missing in the data. A quantity of the data is compared with the same quantity of the replications, each pair
in the same partition (Gelman, Meng and Stern 1996; docs/derivations.md, "Posterior predictive checks").

A run that ends makes quick checks, on part of a large table, for its summary. Only what is far beyond all replications
is kept (`Check.is_far`), so data that the model makes leave nothing. ``smcmc report`` shows every quantity.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.simulation import Given
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.repeats import ONCE
from splitmerge_cli.diagnostics import cluster_table, convergence, point_estimate
from splitmerge_cli.runs import grouping, recorders
from splitmerge_cli.runs.answers import answers_of
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.store import schema

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Found = dict[tuple[str, str], float]
"""Values by subject (a column, two of them, or what of a network) and name."""

DRAWS = 100
"""Replications."""
EXTREME = 0.02
"""Two-sided share below which the data are unlike the replications: none of these is as far on the same side."""
FAR = 5.0
"""Standard deviations of the replications beyond which a run names a quantity in its own lines."""
FAR_ON_AVERAGE = 4.0
"""The bound of an average over columns. There are few of these."""
SKEWNESS = "skewness within clusters"
KURTOSIS = "kurtosis within clusters (normal: 3)"
DISPERSION = "variance over mean within clusters"
MOST_CELLS = 1_000_000
"""Cells up to which all items are drawn; of larger data some, evenly spaced."""
TIES = 8
"""Pairs of columns that are listed."""
MOST_REPEATED = 200_000
"""Rows, each as often as its weight says, up to which a table of frequencies is checked."""


@dataclass(frozen=True)
class Effect:
    """The least difference of a quantity from the replications that a run names."""

    least: float
    is_share: bool = False
    """Whether it is a share of what the replications have."""
    is_more: bool = False
    """Whether it is named only where the data have more: columns or words that go together less are no news."""


class Quantities:
    """Measures of data in clusters."""

    values: Any
    """The data, as `measure` takes them."""
    rows: Labels | None = None
    columns: Labels | None = None
    """The part of a table that is drawn; None: all."""
    effects: ClassVar[Mapping[str, "Effect"]] = {}
    """By quantity, the differences that matter; smaller ones are no news. The same holds of an average (`of_average`)
    over columns."""
    unchecked: list[str]
    """Aspects that are not looked at."""

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        raise NotImplementedError

    @classmethod
    def explain_unmeasured(cls, dataset: Dataset) -> str | None:
        """Why such data are not measured; None: they are."""
        return "nothing is measured of such data" if cls is Quantities else None

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Cells of a table that take about as long as a replication: some 100 ns each."""
        return 20 * dataset.N

    def take(self, replication: Any) -> Any:
        """A replication, as `values` are."""
        return replication

    def describe(self, check: "Check") -> dict[str, Any]:
        """Further entries of the summary on a quantity that the model does not describe."""
        return {}

    def measure(self, x: Any, labels: Labels) -> Found:
        """Quantities of data in these clusters; nan where one cannot be told."""
        raise NotImplementedError


def sum_by_cluster(x: NDArray[Any], labels: Labels) -> Array:
    """Sums of the cells that are there by cluster, ``[K]``."""
    return np.bincount(labels, np.nan_to_num(x), minlength=int(labels.max()) + 1).astype(np.float64)


def standardize(residual: Array, labels: Labels) -> Array:
    """Residuals over the standard deviation of their cluster; nan where that is 0."""
    known = ~np.isnan(residual)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = sum_by_cluster(residual**2, labels) / sum_by_cluster(known, labels)
        return np.where(variance[labels] > 0, residual / np.sqrt(variance[labels]), np.nan)


def mean_of_finite(x: Array) -> float:
    """Mean of the finite values; nan without any."""
    finite = x[np.isfinite(x)]
    return float(finite.mean()) if finite.size else math.nan


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
    effects: Mapping[str, Effect] = field(default_factory=dict, repr=False)
    """As `Quantities.effects`."""

    @property
    def is_unlike(self) -> bool:
        """Whether the data are unlike the replications."""
        return self.share < EXTREME

    @property
    def distance(self) -> float:
        """Distance from the mean of the replications, in their standard deviations."""
        return abs(self.observed - self.mean) / self.deviation if self.deviation > 0 else math.inf

    @property
    def is_far(self) -> bool:
        """Whether a run names the quantity: the data are beyond all replications, more than `FAR` of
        their standard deviations from their mean, and by a difference that matters (`effects`)."""
        name = next((name for name in self.effects if self.quantity.endswith(name)), self.quantity)
        difference, effect = self.observed - self.mean, self.effects.get(name, Effect(-math.inf))
        least = effect.least * (self.mean if effect.is_share else 1.0)
        matters = (difference if effect.is_more else abs(difference)) >= least
        return self.is_beyond_all and matters and self.distance > (FAR if self.quantity == name else FAR_ON_AVERAGE)


@dataclass(frozen=True)
class Fit:
    """The checks of a run, and what is not checked, in words."""

    checks: list[Check]
    unchecked: list[str]
    draws: int = 0
    quantities: Quantities | None = None
    """The measured quantities."""


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
    states: Sequence[State],
    seed: int = 0,
    draws: int = DRAWS,
    cells: int | None = None,
) -> Fit:
    """Check how well the model of a run describes its data, by replications from draws of its posterior in turn, at
    least `draws` of them. They have about `cells` cells of a larger table (None: `MOST_CELLS`).

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
    rng, quantities = np.random.default_rng(seed), find_quantities(model)(dataset, cells)
    options = options_of(model, dataset)
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
    arrays = {key: (np.array(data), np.array(replications)) for key, (data, replications) in seen.items()}
    checks = [_check(key, *both, quantities.effects) for key, both in arrays.items()]
    unchecked = list(quantities.unchecked)
    if options.get("power", 1.0) != 1.0:
        unchecked.append(
            f"how far the data may be from the model: model.power={options['power']:g} is chosen such that some "
            "difference changes nothing, and data that the model makes have none"
        )
    return Fit(checks, unchecked, max(draws, len(states)), quantities)


def find_quantities(model: Component) -> type[Quantities]:
    """The class that the model names, or else the kind of its data."""
    quantities: type[Quantities] = resolve_name(model.target.QUANTITIES or model.kind.quantities)
    return quantities


def options_of(model: Component, dataset: Dataset) -> dict[str, Any]:
    """Options of the model, none left to the data."""
    target = model.target
    return read_options("model", target.OPTIONS, target.with_defaults_of(dataset, **model.options))


def _check(key: tuple[str, str], data: Array, replications: Array, effects: Mapping[str, Effect]) -> Check:
    both = np.isfinite(data) & np.isfinite(replications)
    if not both.any():
        return Check(*key, math.nan, math.nan, math.nan, math.nan, 1.0)
    data, replications = data[both], replications[both]
    fewer = min((replications >= data).sum(), (replications <= data).sum())
    low, median, high = np.quantile(replications, [0.025, 0.5, 0.975], method="inverted_cdf")
    share = min(1.0, 2.0 * (fewer + 1) / (len(replications) + 1))
    numbers = data.mean(), median, low, high, share, replications.mean(), replications.std()
    observed, median, low, high, share, mean, deviation = map(float, numbers)
    return Check(*key, observed, median, low, high, share, mean, deviation, bool(fewer == 0), effects)


CELLS = 50_000
"""Cells that are drawn in a replication, about."""
WORK = 10_000_000
"""Cells that are read for all replications together: larger tables have fewer."""
FEWEST = 20
"""Replications, at least; data that are too large for these are left to ``smcmc report``."""
MANY_COPIES = 0.1
"""Share of repeated rows from which the advice is to read each row once."""
MOST_KEPT = 10
"""Quantities that the summary keeps."""
MOST_NAMED = 3
"""Quantities that a line names."""


def find_misfit(plan: Plan, late: Mapping[int, recorders.Late]) -> dict[str, Any]:
    """Check the model of a run that ends, by its late partitions. `late`: by chain, as
    `splitmerge_cli.runs.answers.late_partitions` gives them. Returns for the summary: `draws` (replications),
    `checks` (quantities that were compared), `unlike` (those that the model does not describe, the farthest first) and
    `unchecked` (why nothing was compared, or None). The end of a run adds `certainty`, the mean of the items."""
    model, dataset = plan.model, plan.dataset
    work = find_quantities(model).count_work(dataset, CELLS)
    draws = min(DRAWS, WORK // work)
    power = model.options.get("power", 1.0)
    reasons = [
        (not late, "no partitions are recorded: trace.partitions=10 records some"),
        (power != 1.0, f"model.power={power:g} allows for data that the model does not describe"),
        (dataset.counts is not None, "rows have weights: data that the model makes have none"),
        (draws < FEWEST, "the data are too large for quick checks: smcmc report checks them"),
    ]
    why = next((reason for is_so, reason in reasons if is_so), None) or explain_unchecked(model, dataset)
    if why is None:
        each = max(1, draws // len(late))
        states = [
            State(rows.labels[m], 0, {}, None if rows.parameters is None else rows.parameters[m])
            for rows in late.values()
            for m in point_estimate.evenly_spaced(len(rows.labels), each)
        ]
        # of very many chains, some
        chosen = [states[m] for m in point_estimate.evenly_spaced(len(states), draws)]
        try:
            # a random stream of its own: the chains draw from others
            fit = check_fit(model, dataset, chosen, plan.seed, draws, CELLS)
        except ConfigError as error:
            why = str(error)
    if why is not None:
        return {"draws": 0, "checks": 0, "unlike": [], "unchecked": why}
    far = sorted((each for each in fit.checks if each.is_far), key=lambda each: -each.distance)
    names = ("subject", "quantity", "observed", "low", "high")
    unlike = [
        {name: getattr(each, name) for name in names} | (fit.quantities.describe(each) if fit.quantities else {})
        for each in far[:MOST_KEPT]
    ]
    return {"draws": fit.draws, "checks": len(fit.checks), "unlike": unlike, "unchecked": None}


def describe_misfit(summary: Mapping[str, Any]) -> Iterator[str]:
    """Report overlapping clusters, and what quantities that the model does not describe mean for the clusters.

    Yields nothing if nothing stands out or nothing was checked. See `name_misfit`.
    """
    unlike, chosen = find_unlike(summary), summary["point_estimate"]
    has_one = grouping.has_one_and_outliers(chosen.get("labels"), grouping.row_sizes(summary))
    several, overlap = chosen["n_clusters"] > 1 and not has_one, grouping.do_overlap(summary)
    # the estimate is one cluster while most draws divide the rows
    is_one = chosen["n_clusters"] == 1 and schema.JOINED_BY not in summary
    as_estimate, certainty = summary.get(schema.AS_THE_ESTIMATE, 1.0), (summary.get(schema.FIT) or {}).get("certainty")
    if overlap or (is_one and as_estimate < 0.5 and certainty is not None):
        item, unit = grouping.nouns(summary)
        items, often = cluster_table.plural_of(item), f"{summary[schema.FIT]['certainty']:.0%}"
        share = f"two {items} of a {unit} are together in {often} of the draws"
        groups = summary.get(schema.GROUPS)
        if groups is not None and grouping.are_apart(groups):
            fall = grouping.describe_fall(groups)
            yield f"the draws cut the clusters into parts ({share}, on average), but {fall} any two"
        elif grouping.is_undivided(summary):
            nearer = "one cluster is nearer to the draws than these are"
            yield f"the {items} hardly separate into groups: {nearer} ({share})"
        elif several:
            yield f"the {cluster_table.plural_of(unit)} overlap: {share}, on average"
        elif groups is None:
            yield f"the {items} do not separate into groups: the draws put the boundaries in different places ({share})"
    if unlike:
        yield from answers_of(grouping.kind_of_summary(summary)).explain_unlike({one["quantity"] for one in unlike})
    # where groups were looked for their line says more
    is_plain = grouping.nouns(summary)[1] == "cluster" and not {schema.GROUPS, schema.JOINED_BY} & summary.keys()
    if several and (overlap or unlike) and is_plain and not grouping.is_undivided(summary):
        yield "one group may be several clusters: as many as the model needs for its shape"


def _show(one: Mapping[str, Any]) -> str:
    """A quantity and what the model makes, with as many digits as tell the observed value from these."""
    values = one["observed"], one["low"], one["high"]
    for digits in range(2, 6):
        shown = [f"{value:,.{digits - 2}f}" if abs(value) >= 100 else f"{value:.{digits}g}" for value in values]
        if shown[0] not in shown[1:] and (shown[1] != shown[2] or values[1] == values[2]):
            break
    return "{}, the model makes {} to {}".format(*shown)


def has_many_copies(summary: Mapping[str, Any]) -> bool:
    """Whether so many rows repeat another row that chance does not explain them, and each is an item."""
    repeated = summary.get("repeated_rows")
    if repeated is None or repeated["read"] == ONCE:
        return False
    return bool(repeated["rows"] - repeated["different"] >= MANY_COPIES * repeated["rows"])


def name_limit(summary: Mapping[str, Any]) -> str | None:
    """Say why the data cannot show any clusters, however many draws there are; None if they can."""
    if summary.get("N") == 1:
        return f"one {grouping.nouns(summary)[0]} cannot show clusters"
    cannot_show = answers_of(grouping.kind_of_summary(summary)).cannot_show
    return next((short for note, short in cannot_show.items() if note in summary.get("notes", ())), None)


def name_misfit(summary: Mapping[str, Any]) -> str | None:
    """Name what the data cannot show, or the model does not describe: rows that repeat others, else quantities; None
    if nothing stands out."""
    if limit := name_limit(summary):
        return limit
    if has_many_copies(summary):
        repeated = summary["repeated_rows"]
        return (
            f"the model does not describe these data: {repeated['rows'] - repeated['different']:,} of "
            f"{repeated['rows']:,} rows repeat another row, which no density does, and clusters may hold nothing but "
            "copies of one row"
        )
    if not (unlike := find_unlike(summary)):
        return None
    named = "; ".join(f"{one['subject']}: {one['quantity']} {_show(one)}" for one in unlike[:MOST_NAMED])
    more = "" if len(unlike) <= MOST_NAMED else f"; and {len(unlike) - MOST_NAMED} more"
    return f"the model does not describe these data ({named}{more})"


def put_first(summary: Mapping[str, Any], judged: convergence.Convergence, verdict: str) -> str:
    """Put what the model does not describe before a verdict on chains, except where they have not converged; and what
    the data cannot show before any."""
    parts = [verdict, named] if (named := name_misfit(summary)) else [verdict]
    return "; ".join(parts if judged.converged is False and not name_limit(summary) else reversed(parts))


def find_unlike(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the quantities that the model does not describe, the worst first; earlier runs have no such record."""
    return list((summary.get(schema.FIT) or {}).get("unlike", ()))
