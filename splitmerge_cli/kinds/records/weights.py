"""Evidence for a pair of records being one entity: the terms of the model, field by field, in bits.

The weight of a pair is log2 of its odds. It begins at the prior: a pair of records against two single ones, among as
many entities as the estimate has. The likelihood ratio of each field is added, and what changes if one of the two may
be a copy of the other. The model gives these terms for the two records alone, at the posterior means of its shares. The
rest up to the posterior odds, which the draws show, is due to the other records of the entities, to labels, and to
shares that are not certain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.table import Table
from rich.text import Text

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.cluster_table import FIRST
from splitmerge_cli.diagnostics.small_clusters import LinkedPairs, find_linked_pairs, pairs_of
from splitmerge_cli.diagnostics.summary import second_half
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import answers, initial
from splitmerge_cli.runs.store.read import Run

PRIOR, COPIES, OTHERS, POSTERIOR = "prior", "copies", "the rest", "posterior"
"""Names of the terms that are of no field."""
NONE_RECORDED = "no late partitions were recorded; trace.partitions=10 records more"


def frame_of(columns: Sequence[tuple[str, Any]]) -> "pd.DataFrame":
    """A table of columns, whose names may be equal: a field may be called as any other column."""
    frame = pd.DataFrame({place: values for place, (_, values) in enumerate(columns)})
    return frame.set_axis([name for name, _ in columns], axis=1)


class State(NamedTuple):
    """A state of the model: labels int32 ``[N]`` from 0; posterior means of its parameters, if it has some, and of the
    hyper-parameters of its prior."""

    labels: NDArray[np.int32]
    parameters: NDArray[np.float64] | None
    prior: Mapping[str, float]


def means_of(trace: "pd.DataFrame") -> dict[str, float]:
    """The means of a run's quantities in the second halves of its chains, by its trace."""
    series = second_half({name: trace[name].to_numpy() for name in trace})
    return {name: float(x.mean()) for name, x in series.items() if x.dtype.kind == "f"}


def weigh_pairs(
    model: Component, dataset: Dataset, state: State, linked: LinkedPairs, ends: NDArray[np.int64], first: int = FIRST
) -> "pd.DataFrame":
    """A row for each pair of records, `ends` int64 ``[P, 2]`` from 0: row, other (numbered from `first` on),
    probability, then weights: `PRIOR`, the fields, `COPIES` if the model has originals, `OTHERS`, and `POSTERIOR`, the
    sum of these. For its odds half a draw is added to those in which the two are together, and to those in which they
    are apart."""
    built = initial.build_model(model, replace(dataset, bundles=None))
    built.set_labels(state.labels)
    if state.parameters is not None:
        built.set_parameters(state.parameters[:, None])
    built.set_prior_values({name: state.prior[name] for name in built.prior_values if name in state.prior})
    terms = built.match_weights(ends) / np.log(2.0)  # type: ignore[attr-defined]
    # in how many draws the two records of each pair are of one entity
    counts = pd.Series(linked.counts.sum(axis=0), index=linked.ends[:, 0] * linked.N + linked.ends[:, 1])
    together = counts.reindex(np.sort(ends, axis=1) @ np.array([linked.N, 1]), fill_value=0).to_numpy()
    draws = float(linked.draws.sum())
    posterior = np.log2((together + 0.5) / (draws - together + 0.5))
    F = terms.shape[1] - 2
    names = [str(name) for name in dataset.column_names]
    columns: list[tuple[str, Any]] = [("row", ends[:, 0] + first), ("other", ends[:, 1] + first)]
    columns += [("probability", together / draws)]
    columns += [(PRIOR, terms[:, F + 1]), *((names[f], terms[:, f]) for f in range(F))]
    columns += [(COPIES, terms[:, F])] * bool(built.original)  # type: ignore[attr-defined]
    return frame_of([*columns, (OTHERS, posterior - terms.sum(axis=1)), (POSTERIOR, posterior)])


def weights_of_run(run: Run, ends: NDArray[np.int64]) -> "pd.DataFrame":
    """`weigh_pairs` of a finished run, whose data are loaded again. A `ConfigError` if it recorded no late
    partitions."""
    late = answers.late_partitions(run.path, run.summary["N"], run.summary["iterations"])
    if not late:
        raise ConfigError(f"{run.path}: {NONE_RECORDED}")
    linked = find_linked_pairs({c: rows.labels for c, rows in late.items()})
    parameters = [rows.parameters for rows in late.values() if rows.parameters is not None]
    mean = np.concatenate(parameters).mean(axis=0) if parameters else None
    labels = np.asarray(run.summary["point_estimate"]["labels"], dtype=np.int32)
    state = State(labels, mean, means_of(run.trace()))
    return weigh_pairs(initial.specification_of(run).model, initial.dataset_of(run), state, linked, ends)


THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Least probabilities of the pairs that are taken for matches."""


def list_thresholds(linked: LinkedPairs, truth: NDArray[np.int32] | None = None) -> "pd.DataFrame":
    """A row for each of `THRESHOLDS`: how many pairs are at least so probable, and the precision, recall and F1 that
    the posterior expects if these are taken for matches; with the true entities ``[N]``, -1 where unknown, also how
    precise and complete they are. A share of no pairs is missing."""
    p, least = linked.probability, np.array(THRESHOLDS)
    taken = p[:, None] >= least
    pairs, right = taken.sum(axis=0), p @ taken
    columns: list[tuple[str, Any]] = [("probability", least), ("pairs", pairs)]
    columns += [("precision", _share(right, pairs)), ("recall", _share(right, p.sum()))]
    columns += [("f1", _share(2.0 * right, pairs + p.sum()))]
    if truth is not None:
        both = truth[linked.ends]
        known = (both >= 0).all(axis=1)
        right = (both[:, 0] == both[:, 1])[known].astype(float) @ taken[known]
        sizes = np.bincount(truth[truth >= 0])
        columns += [("true_precision", _share(right, taken[known].sum(axis=0)))]
        columns += [("true_recall", _share(right, (sizes * (sizes - 1)).sum() / 2))]
    return frame_of(columns)


def _share(part: NDArray[Any], whole: ArrayLike) -> NDArray[np.float64]:
    whole = np.broadcast_to(np.asarray(whole, dtype=float), part.shape)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0).round(6)


def reduce_variance(linked: LinkedPairs, draws: Mapping[int, NDArray[np.int32]], chosen: NDArray[np.int64]) -> Any:
    """By how much a label of each `chosen` pair is expected to reduce the variance of all chosen ones, float64 ``[P]``.

    A pair is a variable that is 1 in draws where both records are of one entity. If a label tells it, the variance of
    another is lower by cov^2 / var in expectation, and its own is gone: p (1 - p). Pairs of two components of the
    linked records do not depend on each other. `draws`: partitions ``[M, N]`` by chain.
    """
    ends = linked.ends[chosen]
    rows = np.concatenate(list(draws.values()))
    component = linked.components[ends[:, 0]]
    order = np.argsort(component, kind="stable")
    gain = np.zeros(len(chosen))
    for here in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        x = (rows[:, ends[here, 0]] == rows[:, ends[here, 1]]).astype(np.float64)
        x -= x.mean(axis=0)
        covariance = x.T @ x / len(x)
        variance = np.diag(covariance)
        gain[here] = np.divide((covariance**2).sum(axis=1), variance, out=np.zeros(len(here)), where=variance > 0)
    return gain


class Compared(NamedTuple):
    """A pair that one of two runs joins and the other does not."""

    ends: tuple[int, int]
    gained: bool
    probability: tuple[float, float]
    reasons: list[tuple[str, float, float]]
    """The terms that changed most in favour of the change: name, and weight in both runs; missing where a run has no
    such term."""


MOST_COMPARED = 20
"""Pairs of two runs that are listed."""
REASONS = 2
"""Terms of a pair that are listed."""


def compare_pairs(one: Run, other: Run) -> tuple[int, int, list[Compared]]:
    """How many pairs of records the other run's estimate joins and the one's does not, and the reverse; and
    those whose probability changed most, at most `MOST_COMPARED`."""
    labels = (np.asarray(run.summary["point_estimate"]["labels"], dtype=np.int32) for run in (one, other))
    by_run = [pairs_of(of_run) for of_run in labels]
    N = one.summary["N"]
    gained, lost = np.setdiff1d(by_run[1], by_run[0]), np.setdiff1d(by_run[0], by_run[1])
    keys = np.concatenate([gained, lost])
    ends = np.column_stack([keys // N, keys % N])
    if not len(keys):
        return 0, 0, []
    tables = [weights_of_run(run, ends) for run in (one, other)]
    p = np.column_stack([table.iloc[:, 2] for table in tables])
    found = []
    for k in np.argsort(-np.abs(p[:, 1] - p[:, 0]), kind="stable")[:MOST_COMPARED].tolist():
        terms = [dict(zip(list(table)[3:-1], table.iloc[k, 3:-1], strict=True)) for table in tables]
        names = list(dict.fromkeys([*terms[0], *terms[1]]))
        sign = 1.0 if k < len(gained) else -1.0
        change = {name: sign * (terms[1].get(name, 0.0) - terms[0].get(name, 0.0)) for name in names}
        most = [name for name in sorted(names, key=lambda name: -change[name])[:REASONS] if change[name] > 0.05]
        reasons = [(name, *(each.get(name, np.nan) for each in terms)) for name in most]
        found.append(Compared((int(ends[k, 0]), int(ends[k, 1])), k < len(gained), (p[k, 0], p[k, 1]), reasons))
    return len(gained), len(lost), found


def compare_runs(runs: Sequence[Run]) -> Table | str:
    """The pairs that each run gains and loses against the first, as `compare_pairs` finds them; or why there are
    none."""
    first = runs[0]
    out = Table(title=f"pairs of records, compared with {first.path}", title_justify="left")
    for name in ("run", "pairs", "row", "other"):
        out.add_column(name, overflow="fold")
    for name in ("probability", "terms in bits that changed most"):
        out.add_column(name, justify="right" if name == "probability" else "left")
    for run in runs[1:]:
        if run.summary["N"] != first.summary["N"]:
            return f"{run.path}: {run.summary['N']:,} records; no pairs are compared with {first.summary['N']:,} others"
        try:
            gained, lost, found = compare_pairs(first, run)
        except (ConfigError, DataError) as error:
            return f"pairs are not compared: {error}"
        out.add_row(Text(str(run.path)), f"{gained:,} gained, {lost:,} lost", "", "", "", "")
        for one in found:
            before, after = one.probability
            terms = [f"{name} {_show(old)} → {_show(new)}" for name, old, new in one.reasons]
            ends = [str(end + FIRST) for end in one.ends]
            kind = "gained" if one.gained else "lost"
            out.add_row("", kind, *ends, f"{before:.2f} → {after:.2f}", Text(", ".join(terms)))
    return out


def _show(weight: float) -> str:
    return "none" if np.isnan(weight) else f"{weight:+.1f}"
