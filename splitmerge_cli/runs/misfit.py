"""Quick checks of the model at the end of a run, which its summary keeps.

The checks are posterior predictive ones (`splitmerge_cli.runs.checks`) on part of a large table. Only what is far
beyond all replications is kept (`checks.Check.is_far`), so data that the model makes leave nothing. ``smcmc report``
shows every quantity.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.tables.repeats import ONCE
from splitmerge_cli.diagnostics.cluster_table import plural_of
from splitmerge_cli.diagnostics.point_estimate import evenly_spaced
from splitmerge_cli.runs import checks
from splitmerge_cli.runs.answers import answers_of
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.grouping import (
    are_apart,
    describe_fall,
    do_overlap,
    has_one_and_outliers,
    kind_of_summary,
    nouns,
    row_sizes,
)
from splitmerge_cli.runs.store import schema

if TYPE_CHECKING:
    from splitmerge_cli.diagnostics.convergence import Convergence
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.recorders import Late

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


def find_misfit(plan: "Plan", late: Mapping[int, "Late"]) -> dict[str, Any]:
    """Check the model of a run that ends, by its late partitions. `late`: by chain, as
    `splitmerge_cli.runs.answers.late_partitions` gives them. Returns for the summary: `draws` (replications),
    `checks` (quantities that were compared), `unlike` (those that the model does not describe, the farthest first) and
    `unchecked` (why nothing was compared, or None). The end of a run adds `certainty`, the mean of the items.
    """
    model, dataset = plan.model, plan.dataset
    work = checks.find_quantities(model).count_work(dataset, CELLS)
    draws = min(checks.DRAWS, WORK // work)
    why = _explain_unchecked(plan, late, draws)
    if why is None:
        each = max(1, draws // len(late))
        states = [
            State(rows.labels[m], 0, {}, None if rows.parameters is None else rows.parameters[m])
            for rows in late.values()
            for m in evenly_spaced(len(rows.labels), each)
        ]
        # of very many chains, some
        chosen = [states[m] for m in evenly_spaced(len(states), draws)]
        try:
            # a random stream of its own: the chains draw from others
            fit = checks.check_fit(model, dataset, chosen, plan.seed, draws, CELLS)
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


def _explain_unchecked(plan: "Plan", late: Mapping[int, "Late"], draws: int) -> str | None:
    """Reason why the model of a run is not checked at its end; None if it is checked."""
    model = plan.model
    if not late:
        return "no partitions are recorded: trace.partitions=10 records some"
    if model.options.get("power", 1.0) != 1.0:
        return f"model.power={model.options['power']:g} allows for data that the model does not describe"
    if plan.dataset.counts is not None:
        return "rows have weights: data that the model makes have none"
    if draws < FEWEST:
        return "the data are too large for quick checks: smcmc report checks them"
    return checks.explain_unchecked(model, plan.dataset)


def describe_misfit(summary: Mapping[str, Any]) -> Iterator[str]:
    """Report overlapping clusters, and what quantities that the model does not describe mean for the clusters.

    Yields nothing if nothing stands out or nothing was checked. See `name_misfit`.
    """
    unlike, chosen = find_unlike(summary), summary["point_estimate"]
    several = chosen["n_clusters"] > 1 and not has_one_and_outliers(chosen.get("labels"), row_sizes(summary))
    overlap = do_overlap(summary)
    if overlap or differs_from_one(summary):
        items, often = plural_of(nouns(summary)[0]), f"{summary[schema.FIT]['certainty']:.0%}"
        share = f"two {items} of a cluster are together in {often} of the draws"
        groups = summary.get(schema.GROUPS)
        if groups is not None and are_apart(groups):
            yield f"the draws cut the clusters into parts ({share}, on average), but {describe_fall(groups)} any two"
        elif several:
            yield f"the clusters overlap: {share}, on average"
        elif groups is None:
            yield f"the {items} do not separate into groups: the draws put the boundaries in different places ({share})"
    if unlike:
        yield from answers_of(kind_of_summary(summary)).explain_unlike({one["quantity"] for one in unlike})
    # where groups were looked for their line says more
    is_plain = nouns(summary)[1] == "cluster" and not {schema.GROUPS, schema.JOINED_BY} & summary.keys()
    if several and (overlap or unlike) and is_plain:
        yield "one group may be several clusters: as many as the model needs for its shape"


def differs_from_one(summary: Mapping[str, Any]) -> bool:
    """Whether the estimate is one cluster while most draws divide the rows."""
    is_one = summary["point_estimate"]["n_clusters"] == 1 and schema.JOINED_BY not in summary
    share, certainty = summary.get(schema.AS_THE_ESTIMATE, 1.0), (summary.get(schema.FIT) or {}).get("certainty")
    return is_one and share < 0.5 and certainty is not None


def _show(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}"


def name_unlike(unlike: Sequence[Mapping[str, Any]]) -> str:
    """Name quantities that the model does not describe."""
    named = "; ".join(
        f"{one['subject']}: {one['quantity']} {_show(one['observed'])}, the model makes {_show(one['low'])} to "
        f"{_show(one['high'])}"
        for one in unlike[:MOST_NAMED]
    )
    more = "" if len(unlike) <= MOST_NAMED else f"; and {len(unlike) - MOST_NAMED} more"
    return f"the model does not describe these data ({named}{more})"


def has_many_copies(summary: Mapping[str, Any]) -> bool:
    """Whether so many rows repeat another row that chance does not explain them, and each is an item."""
    repeated = summary.get("repeated_rows")
    if repeated is None or repeated["read"] == ONCE:
        return False
    return bool(repeated["rows"] - repeated["different"] >= MANY_COPIES * repeated["rows"])


def name_limit(summary: Mapping[str, Any]) -> str | None:
    """Say why the data cannot show any clusters, however many draws there are; None if they can."""
    if summary.get("N") == 1:
        return f"one {nouns(summary)[0]} cannot show clusters"
    cannot_show = answers_of(kind_of_summary(summary)).cannot_show
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
    unlike = find_unlike(summary)
    return name_unlike(unlike) if unlike else None


def put_first(summary: Mapping[str, Any], judged: "Convergence", verdict: str) -> str:
    """Put what the model does not describe before a verdict on chains, except where they have not converged; and what
    the data cannot show before any."""
    parts = [verdict, named] if (named := name_misfit(summary)) else [verdict]
    return "; ".join(parts if judged.converged is False and not name_limit(summary) else reversed(parts))


def find_unlike(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the quantities that the model does not describe, the worst first; earlier runs have no such record."""
    return list((summary.get(schema.FIT) or {}).get("unlike", ()))
