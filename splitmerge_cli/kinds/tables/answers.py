"""Answers about a table in addition to its clusters: an outcome in each, and a model that may fit better."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config.resolution import AUTO
from splitmerge_cli.core.capabilities import Noise
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables import inference, repeats
from splitmerge_cli.data.tables.mixed import ONE_OF_LEVELS
from splitmerge_cli.diagnostics.point_estimate import evenly_spaced
from splitmerge_cli.kinds.tables.models.mixed_cells import FORMS_OF_COUNTS
from splitmerge_cli.kinds.tables.quantities import TIE, ZEROS
from splitmerge_cli.runs import checks, grouping, summaries
from splitmerge_cli.runs.answers import Answers
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.store.schema import APART, WEIGHT

if TYPE_CHECKING:
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.recorders import Late
    from splitmerge_cli.runs.store.read import Run
    from splitmerge_cli.runs.store.store import RunStore

ZEROS_DIFFER = "zeros_differ"
"""Entry of the summary: clusters that differ in zeros alone."""
SHARED = "shared_numbers"
"""Entry of the summary: clusters whose rows share a number to the last digit."""
FOLLOWERS = "followers"
"""Entry of the summary: columns whose levels follow from another column's."""
WHY_APART = "zeros with a probability of their own in each cluster:"
MOST_DRAWS = 1_000
"""Draws over which effects are averaged."""
MOST_NAMED = 10
"""Rows of noise, and columns that tell clusters apart, that are named."""
FAR = 0.2
"""Rows of a smaller mean weight lie far from the middle of their cluster."""
SINGLE = 100
"""Number of single-item clusters from which the advice questions the covariance."""
MOST_TERMS = 3
"""Effects of a cluster that a line has."""
MOSTLY_0 = 0.9
"""Share of zeros from which a column is 0 in a cluster."""
ERRORS = 3.0
"""Standard errors within which two means are alike."""
FEWEST_ROWS = 4
"""Rows of a cluster that is compared with others, at least."""
LEAST_LIKE, LEAST_SHARE = 2, 1 / 3
"""Least number of clusters that are like a larger one, and least share, that a line reports."""
FEWEST_CLUSTERS, OFTEN = 5, 1 / 3
"""Clusters, at least, of which half share numbers; share of these from which on a column is named."""
FEWEST_CELLS, MOST_CELLS = 2, 10_000_000
"""Counts above 0 of a column in a cluster that have a mean to compare; cells of a table that is looked at."""


class ColumnAnswers(Answers):
    """The answers of tables, whose clusters are described by columns."""

    apart = "noise"
    cannot_show: ClassVar = {ONE_OF_LEVELS: "one column of categories cannot show clusters"}

    @staticmethod
    def leave_apart(plan: "Plan", late: Mapping[int, "Late"]) -> Mapping[int, "Late"]:
        """Rows of clusters that are probably noise (``model.noise``), given the rows and the scales of a draw."""
        of_noise = plan.model.target.find_capability(Noise)
        if of_noise is None or not plan.model.values.get("noise"):
            return late
        model = plan.model.target.from_data(plan.dataset, **plan.model.options)
        noise = of_noise(model)
        marked = {}
        for chain, rows in late.items():
            apart = np.zeros(rows.labels.shape, dtype=bool)
            for m, labels in enumerate(rows.labels):
                if rows.parameters is not None:
                    model.set_parameters(rows.parameters[m])
                model.set_labels(labels)
                apart[m] = (noise.probabilities > 0.5)[labels]
            marked[chain] = replace(rows, labels=grouping.join_apart(rows.labels, apart), apart=apart)
        return marked

    @staticmethod
    def columns(plan: "Plan", late: Mapping[int, "Late"]) -> Mapping[str, NDArray[Any]]:
        """Weights of rows (``model.tails=t``)."""
        weights = _mean_weights(plan, late)
        return {} if weights is None else {WEIGHT: weights}

    @staticmethod
    def write(
        plan: "Plan", store: "RunStore", labels: ArrayLike, late: Mapping[int, "Late"], certainty: ArrayLike | None
    ) -> dict[str, Any]:
        """Effects of the clusters on the outcome, over late draws of all chains; how many clusters differ from a
        larger one in which columns are 0 alone; rows of little weight; and columns that tell clusters apart."""
        of_model, further = plan.model.as_typed, dict[str, Any]()
        if (weights := _mean_weights(plan, late)) is not None and plan.recorder.is_listed:
            further["far"] = (np.flatnonzero(weights < FAR) + 1).tolist()
        if of_model.get("select"):
            inside = [rows.parameters for rows in late.values() if rows.parameters is not None]
            shares = np.concatenate(inside).mean(axis=0).round(4).tolist() if inside else None
            further["informative"] = shares and dict(zip(plan.dataset.column_names, shares, strict=True))
        if (shared := find_shared(plan.dataset, np.asarray(labels))) is not None:
            further[SHARED] = shared
        if followers := plan.dataset.meta.get(FOLLOWERS):
            further[FOLLOWERS] = _as_dropped(followers)
        if of_model.get("outcome") is None:
            takes_zeros = of_model.get("zeros") == "poisson" and plan.dataset.exposure is None
            found = count_like(plan.dataset, np.asarray(labels)) if takes_zeros else None
            return further if found is None else further | {ZEROS_DIFFER: found}
        from splitmerge_cli.kinds.tables.outcomes import find_effects

        states = [
            State(rows.labels[m], 0, {}, None if rows.parameters is None else rows.parameters[m])
            for rows in late.values()
            for m in evenly_spaced(len(rows.labels), MOST_DRAWS // len(late))
        ]
        effects = find_effects(plan.model, plan.dataset, states, np.asarray(labels), plan.seed)
        return further | {"outcome": effects}

    @staticmethod
    def further_lines(summary: Mapping[str, Any], first: int, most_clusters: int | None = None) -> Iterator[str]:
        """Describe clusters that differ in zeros alone, and the outcome in each cluster of a run, a line for each."""
        if (like := find_like(summary)) is not None:
            yield (
                f"{like['like']} of {like['clusters']} clusters are like a larger one in the means of their cells "
                f"other than 0 (within {ERRORS:g} standard errors), and differ from it in which columns are 0: "
                "model.zeros=apart gives zeros a probability of their own"
            )
        if (shared := summary.get(SHARED)) is not None:
            *others, last = map(str, shared["columns"])
            yield (
                f"in {shared['alike']} of {shared['clusters']} clusters all rows share one number of "
                f"{', '.join(others)}{' or ' * bool(others)}{last}: a density is highest where many rows repeat a "
                "number, so that they become a cluster"
            )
        if probability := summary.get("informative"):
            # the most certain first
            names = sorted((name for name, p in probability.items() if p > 0.5), key=lambda name: -probability[name])
            more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            listed = f": {', '.join(names[:MOST_NAMED])}{more}" if names else ""
            verb = "tells" if len(names) == 1 else "tell"
            yield f"{len(names) or 'none'} of {len(probability)} columns {verb} the clusters apart{listed}"
        if (found := summary.get("outcome")) is None:
            return
        by_cluster: dict[int, list[list[Any]]] = {}
        for row in found["rows"]:
            by_cluster.setdefault(row[0], []).append(row)
        kind = "coefficients of a probit regression, " if found["latent"] else ""
        scale = f" ({found['scale']})" if found.get("scale") else ""
        yield f"{found['outcome']}{scale} within clusters ({kind}mean and 95 % interval):"
        for k in list(by_cluster)[:most_clusters]:
            rows = by_cluster[k]
            shown = [
                f"{term} {_digits(mean)} ({_digits(low)} to {_digits(high)})"
                for _, term, mean, low, high in rows[: MOST_TERMS + 1]
            ]
            more = f"; and {len(rows) - MOST_TERMS - 1} more" if len(rows) > MOST_TERMS + 1 else ""
            yield f"  {k + first}: {'; '.join(shown)}{more}"

    @staticmethod
    def far_lines(run: "Run") -> Iterator[str]:
        """A line that names the rows of noise, and one for the rows of little weight."""
        is_noise = grouping.rows_apart(run.summary.get("point_estimate", {}).get("labels", []), run.summary)
        if is_noise is not None and is_noise.any():
            mean, low, high = (f"{100 * value:.0f}" for value in run.summary[APART]["share"])
            share = f"{mean} % of the rows (95 %: {low} to {high} %)"
            named = summaries.name_items(run, np.flatnonzero(is_noise).tolist())
            yield f"noise, {share}, spread evenly over the box of the data: {named}"
        if items := run.summary.get("far"):
            rows = "1 row lies" if len(items) == 1 else f"{len(items):,} rows lie"
            named = summaries.name_items(run, [row - 1 for row in items])
            yield f"{rows} far from the middle of a cluster (weight below {FAR:g}): {named}"

    @staticmethod
    def another_model(
        unlike: Sequence[Mapping[str, Any]],
        summary: Mapping[str, Any],
        model: Mapping[str, Any],
        data: Mapping[str, Any],
        named: Collection[str],
    ) -> tuple[str, dict[str, Any]] | None:
        """Other ways to read rows that repeat others; a probability of their own for zeros, where the model makes too
        few; an effect, or a covariance, where the farthest quantity is a tie between columns within clusters."""
        chosen = summary.get("chosen") or {}
        if checks.has_many_copies(summary):
            why, changed = "read each different row once:", dict[str, Any]({"data.repeated": repeats.ONCE})
            if summary["repeated_rows"]["read"] == repeats.WEIGHTS:
                why, changed = "read weights as powers of the likelihood:", {"data.weights_scale": "rows"}
            # held-out rows chose the covariance for clusters of copies
            return why, changed | ({"model.covariance": AUTO} if "model.covariance" in chosen else {})
        if (shared := summary.get(SHARED)) and data["name"] == "csv" and data["columns"] is None:
            return "without these columns:", _leave_out([*shared["columns"], *shared["following"]], data, chosen)
        ties = [one["subject"].split(" and ") for one in unlike if str(one.get("quantity")).endswith(TIE)]
        followers = summary.get(FOLLOWERS) or []
        if any(str(name) in tied for name in followers for tied in ties) and data["columns"] is None:
            return "without levels that follow from others:", _leave_out(followers, data, chosen)
        are_many = any(one["quantity"].endswith(ZEROS) and one["observed"] > one["high"] for one in unlike)
        # with exposures no model takes zeros apart
        is_open = model.get("zeros") == "poisson" and not _are_compared(chosen) and data.get("exposure") is None
        if are_many and is_open:
            return WHY_APART, {"model.zeros": "apart"}
        farthest = next(iter(unlike), {})
        tied = str(farthest.get("subject")).split(" and ") if str(farthest.get("quantity")).endswith(TIE) else []
        if farthest.get("of_reals") and (outcome := model.get("outcome")) in tied:
            effects = [*(model.get("effects") or ()), *(name for name in tied if name != outcome)]
            why = "an effect on the outcome describes a column that goes with it within clusters:"
            return why, {"model.effects": effects}
        # a covariance that was compared was left for a reason
        is_independent = model.get("covariance") in ("diag", "iso")
        if farthest.get("of_reals") and is_independent and "model.covariance" not in chosen:
            return "a covariance for each cluster describes columns that go together:", {"model.covariance": "full"}
        types = dict(data.get("types") or {})
        # ratings as real numbers that were compared were left for a reason
        are_numbers = all(types.get(name) == "ordinal" for name in tied) and not farthest.get("of_words")
        if tied and "ratings" not in chosen and are_numbers:
            reals = {name: "real" if one == "ordinal" else one for name, one in types.items()}
            scales = {key: "hierarchical" for key in ("model.b0", "model.kappa0") if key not in named}
            why = "questions that go together within clusters, read as real numbers with a covariance for each cluster:"
            return why, {"data.types": reals, "model.covariance": "full", "init": None, **scales}
        return None

    @staticmethod
    def next_keys(run: "Run", data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        if find_like(run.summary) is not None:
            return WHY_APART, {"model.zeros": "apart"}
        sizes = np.bincount(run.summary.get("point_estimate", {}).get("labels") or [0])
        single = np.count_nonzero(sizes == 1)
        is_most = single >= max(SINGLE, len(sizes) / 2)
        covariance = run.config["model"].get("covariance") if is_most and data["name"] == "csv" else None
        if covariance in (None, "full"):
            return None
        why = f"{single:,} clusters have one item each; choose the covariance that predicts best:"
        return why, {"model.covariance": AUTO}


def _mean_weights(plan: "Plan", late: Mapping[int, "Late"]) -> NDArray[np.float64] | None:
    """Posterior means of the weights of rows, over late draws of all chains; None if rows have no weights."""
    draws = [rows.parameters for rows in late.values() if rows.parameters is not None]
    if plan.model.options.get("tails") != "t" or not draws:
        return None
    # behind all else that a state holds
    return np.asarray(np.concatenate(draws)[:, -plan.dataset.N :].mean(axis=0))


def _as_dropped(keys: Iterable[str]) -> list[str | int]:
    """Columns as ``data.drop`` names them, by their names or numbers."""
    return [int(key) if key.isdecimal() else key for key in keys]


def _leave_out(columns: Sequence[str | int], data: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a run without these columns, whose model is chosen again if it was."""
    left: dict[str, Any] = {
        f"data.{key}": {name: one for name, one in data[key].items() if name not in columns} or None
        for key in ("types", "scale")
        if isinstance(data[key], dict)
    }
    left |= {"model": AUTO, "sampler": AUTO, "init": None, "data.scale": AUTO} if chosen else {}
    return left | {"data.drop": [*(data["drop"] or []), *columns]}


def _are_compared(chosen: Mapping[str, Any]) -> bool:
    """Whether zeros apart were among what was compared."""
    return "zeros" in chosen or any(one.get("counts") in FORMS_OF_COUNTS for one in chosen.get("counts") or ())


def find_like(summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the clusters of a run that differ from a larger one in zeros alone, as of `count_like`; None if there are
    too few, or zeros apart were compared, and left."""
    found = summary.get(ZEROS_DIFFER)
    if found is None or _are_compared(summary.get("chosen") or {}):
        return None
    few = found["like"] < LEAST_LIKE or found["like"] < LEAST_SHARE * found["clusters"]
    return None if few else found


def count_like(dataset: Dataset, labels: NDArray[Any]) -> dict[str, int] | None:
    """Count clusters that are like a larger one but for columns, of counts or real with a spike, that are 0, or the
    spike, in one of the two.

    Two are alike if both have other cells in half of these columns at least, and in each column in which both have
    them their means differ by at most `ERRORS` standard errors, likewise in all real columns. Returns `clusters` that
    are compared, and those that are `like` a larger one; None if fewer than two are compared, or the data are sparse or
    very large.
    """
    types = dataset.kind.types_of(dataset)
    spikes = [0.0 if one.type == "count" else one.spike[0] if one.spike is not None else None for one in types]
    if not any(spike is not None for spike in spikes):
        return None
    if not isinstance(dataset.values, np.ndarray) or dataset.values.size > MOST_CELLS:
        return None
    compared = [j for j, one in enumerate(types) if spikes[j] is not None or one.type == "real"]
    spike = np.array([spikes[j] for j in compared], dtype=np.float64)
    are_counts = np.array([types[j].type == "count" for j in compared])
    x = np.asarray(dataset.values[:, compared], dtype=np.float64)
    large = [k for k in np.argsort(-np.bincount(labels), kind="stable") if (labels == k).sum() >= FEWEST_ROWS]
    if len(large) < 2:
        return None
    moments = np.array([_off_spike(x[labels == k], spike, are_counts) for k in large])
    is_off, mean, error = moments[:, 0] >= MOSTLY_0, moments[:, 1], moments[:, 2]
    like = 0
    for a in range(1, len(large)):
        both = ~np.isnan(mean[a]) & ~np.isnan(mean[:a])
        are_near = np.abs(mean[a] - mean[:a]) <= ERRORS * np.hypot(error[a], error[:a])
        has_half = 2 * both[:, ~np.isnan(spike)].sum(axis=1) >= (~np.isnan(spike)).sum()
        like += bool(((are_near | ~both).all(axis=1) & has_half & (is_off[a] != is_off[:a]).any(axis=1)).any())
    return {"clusters": len(large), "like": like}


def find_shared(dataset: Dataset, labels: NDArray[Any]) -> dict[str, Any] | None:
    """Count the clusters in which all rows hold one number of a real column, other than its spike.

    Columns of few numbers do not count, nor do small clusters. Returns `clusters` that are compared, those that are
    `alike`, the `columns` that are so in `OFTEN` of these, and those left out as `following` from others, which would
    be data without these; None if fewer than half are alike, no other column is left, or the data are sparse or very
    large.
    """
    x = dataset.values
    if not isinstance(x, np.ndarray) or x.size > MOST_CELLS:
        return None
    large = [k for k, size in enumerate(np.bincount(labels)) if size >= FEWEST_ROWS]
    reals = [j for j, one in enumerate(dataset.kind.types_of(dataset)) if one.type == "real"]
    reals = [j for j in reals if len(np.unique(x[:, j])) > inference.SOME]
    if len(large) < FEWEST_CLUSTERS or not reals:
        return None
    cells = x[:, reals].astype(np.float64)
    spikes = [spike[0] if (spike := inference.find_spike(column)) is not None else np.nan for column in cells.T]
    first, is_alike = np.array([cells[labels == k][0] for k in large]), np.ones((len(large), len(reals)), dtype=bool)
    for row, k in enumerate(large):
        is_alike[row] = (cells[labels == k] == first[row]).all(axis=0)
    is_alike &= first != spikes
    alike = int(is_alike.any(axis=1).sum())
    if 2 * alike < len(large):
        return None
    typed = dataset.meta.get("typed", dataset.column_names)
    often = [typed[j] for j, n in zip(reals, is_alike.sum(axis=0), strict=True) if n >= OFTEN * alike]
    if len(often) == x.shape[1]:
        return None
    columns, following = map(_as_dropped, (often, dataset.meta.get("determined", ())))
    return {"clusters": len(large), "alike": alike, "columns": columns, "following": following}


def _off_spike(
    cells: NDArray[np.float64], spike: NDArray[np.float64], are_counts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Share of spikes in each column, mean of all other cells, and its standard error, for counts no less than a
    Poisson distribution has: ``[3, D]``; means of `FEWEST_CELLS` and more that are not `MOSTLY_0`, else NaN."""
    seen = ~np.isnan(cells)
    is_other = seen & (cells != spike)
    n = is_other.sum(axis=0)
    share = 1.0 - n / np.maximum(seen.sum(axis=0), 1)
    has_mean = (n >= FEWEST_CELLS) & (share < MOSTLY_0)
    total = np.where(is_other, cells, 0.0).sum(axis=0)
    mean = np.where(has_mean, total / np.maximum(n, 1), np.nan)
    square = np.where(is_other, (cells - mean) ** 2, 0.0).sum(axis=0) / np.maximum(n - 1, 1)
    return np.array([share, mean, np.sqrt(np.where(are_counts, np.maximum(square, mean), square) / np.maximum(n, 1))])


def _digits(value: float) -> str:
    """Three digits of a number, all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
