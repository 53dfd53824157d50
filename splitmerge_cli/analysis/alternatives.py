"""Other views of a finished run: clusters merged further, several answers, the core, and densities with one item left
out from the draws of one fit (docs/derivations.md, "Leave-one-out densities").

In a collapsed mixture the normaliser of item i's Gibbs update is p(x_i | z_-i, x_-i). Its harmonic mean over the
posterior is p(x_i | x_-i): no second fit is needed. The weights of the draws, one over the normalisers, are smoothed by
a generalised Pareto distribution, whose shape says where too few draws matter (Vehtari, Gelman and Gabry 2017).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli import config, extras, overrides, received, terminal
from splitmerge_cli.analysis.predictive import build_predictive, by_state, each_alone, log_jacobian, take_state
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.repeats import draw_rows, folds
from splitmerge_cli.diagnostics import partition_losses, similarity
from splitmerge_cli.diagnostics.around_estimate import Dendrogram, find_item_core, merge_clusters, representatives
from splitmerge_cli.diagnostics.cluster_table import WIDTH, cluster_lines, span
from splitmerge_cli.diagnostics.point_estimate import TooManyClusters, counts_larger
from splitmerge_cli.runs import grouping, initial, judgement, summaries
from splitmerge_cli.runs.answers import answers_of, interval_of_run, kind_of, sampled_partitions
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.store import read, schema

FOLDS = 5
MOST_ROWS = 1_000
"""Items that are held out at most, in all folds."""
MOST_CUTS = 30
"""Cuts that are listed, from one cluster on."""
NAMED = 10
"""Items outside the core that are named."""


def dendrogram_of(run: read.Run) -> Dendrogram:
    """Build the dendrogram of the partition that a finished run lists; a `ConfigError` if it lists none."""
    try:
        labels = _require_partition(run)
        return merge_clusters(labels, sampled_partitions(run), apart=grouping.rows_apart(labels, run.summary))
    except TooManyClusters as error:
        raise config.ConfigError(f"{run.path}: {error}") from None


def _require_partition(run: read.Run) -> NDArray[np.int32]:
    """The partition ``[N]`` that a finished run lists; raises as `dendrogram_of`."""
    if why := answers_of(kind_of(run)).no_levels:
        raise config.ConfigError(f"{run.path}: {why}")
    return np.asarray(run.summary["point_estimate"]["labels"], dtype=np.int32)


def predictive_densities(
    run: read.Run, cuts: Sequence[NDArray[np.int32]], dataset: Dataset | None = None
) -> NDArray[np.float64] | None:
    """Mean log predictive density of items given each partition, int32 ``[N]``, of the others: float64 ``[cuts]``,
    natural logarithm, in the units of the data.

    In each of `FOLDS` folds the items of the fold are left out of a partition, and each is predicted alone from the
    rest, its hyper-parameters at their posterior means. The partitions themselves were found with all items, so that
    densities of fine ones are too high rather than too low. None for networks and documents, whose items are no rows,
    and for a model that predicts no new items.
    """
    dataset, model = dataset or initial.dataset_of(run), initial.specification_of(run).model
    try:
        dataset.kind.require_rows("levels")
    except config.ConfigError:
        return None
    values, parameters = _hyperparameters(run)
    order = draw_rows(dataset, 0, MOST_ROWS)
    density, predicted = np.zeros(len(cuts)), 0
    for held in map(np.sort, folds(dataset, np.sort(order), FOLDS)):
        rest = np.setdiff1d(np.arange(dataset.N), held)
        if not len(rest):
            return None
        # the rows of an item share its density
        new = each_alone(model, dataset, dataset.take(held))
        of_items = new.first_rows_of(np.arange(new.N))
        predicted += len(of_items)
        rest_labels = [partition_losses.by_appearance(labels[rest]) for labels in cuts]
        states = [State(labels, int(labels.max()) + 1, values, parameters) for labels in rest_labels]
        try:
            predictions = by_state(model, dataset.take(rest), new, states)
            for state, (_, log_density, log_weight) in enumerate(predictions):
                density[state] += extras.special.logsumexp(log_density + log_weight, axis=1)[of_items].sum()
        except (config.ConfigError, received.DataError):
            return None
    return density / predicted


def _hyperparameters(run: read.Run) -> tuple[dict[str, float], NDArray[np.float64] | None]:
    """Posterior means of the resampled hyper-parameters; and of the model's, as partitions have them."""
    trace = run.trace()
    late = trace["iteration"] > trace["iteration"].max() / 2
    # b0 and kappa0 are recorded with the partitions
    names = [name for name in schema.hyperparameters(trace.columns) if name not in ("b0", "kappa0")]
    values = {name: float(trace.loc[late, name].mean()) for name in names}
    partitions = run.partitions()
    if schema.PARAMETERS not in partitions:
        return values, None
    recorded = partitions.loc[partitions["iteration"] > partitions["iteration"].max() / 2, schema.PARAMETERS]
    return values, np.mean(np.stack(recorded.to_list()), axis=0)


def cut_lines(run: read.Run, clusters: int, width: int = WIDTH) -> Iterator[str]:
    """Describe the clusters of one cut, and first how it relates to the posterior."""
    dendrogram = dendrogram_of(run)
    try:
        labels = dendrogram.cut(clusters)
    except ValueError as error:
        raise config.ConfigError(f"{error} in {run.path}") from None
    K, (low, high) = dendrogram.n_clusters, interval_of_run(run)
    place = f"expected distance {dendrogram.expected_loss[K - clusters]:.3f}"
    about = "the clusters of the run"
    if clusters < K:
        place += f", {dendrogram.expected_loss[0]:.3f} of the {K:,} clusters of the run"
        about = f"merged from the clusters of the run; the posterior has {span(low, high)} (95 %)"
        if clusters < low:
            about = f"coarser than the posterior, which has {span(low, high)} (95 %)"
    yield from _caution(run)
    yield from _cluster_lines(run, labels, f"{summaries.count(labels, run.summary)}, {about}: {place}", width)


def dendrogram_lines(run: read.Run) -> Iterator[str]:
    """All cuts as lines of text: clusters, expected variation of information, held-out density, what is merged."""
    dendrogram = dendrogram_of(run)
    K = dendrogram.n_clusters
    numbers = list(range(K, 0, -1))[-MOST_CUTS:]
    density = predictive_densities(run, [dendrogram.cut(clusters) for clusters in numbers])
    low, high = interval_of_run(run)
    yield from _caution(run)
    yield f"levels of {K:,} clusters; the posterior has {span(low, high, 'cluster')} (95 %)"
    yield f"clusters  expected distance  {'held-out density  ' * (density is not None)}merged"
    members = [[k] for k in range(K)]
    for pair in dendrogram.merges:
        members.append([*members[pair[0]], *members[pair[1]]])
    for level, clusters in enumerate(numbers):
        merge = K - clusters - 1
        joined = (
            "" if merge < 0 else " and ".join(_join_numbers(run, members[node]) for node in dendrogram.merges[merge])
        )
        density_text = "" if density is None else f"{density[level]:>16.4f}  "
        yield f"{clusters:>8,}  {dendrogram.expected_loss[K - clusters]:>17.3f}  {density_text}{joined}".rstrip()
    if density is not None:
        best = numbers[int(np.argmax(density))]
        yield f"held-out density is highest at {best:,} cluster{'s' * (best != 1)}"
    yield f"smcmc summary {overrides.shell_word(str(run.path))} clusters=NUMBER shows the clusters of a level"


def _join_numbers(run: read.Run, clusters: Sequence[int]) -> str:
    names = grouping.name_clusters(run.summary["point_estimate"]["labels"], run.summary, run.first_cluster)
    return "+".join(names[k] for k in sorted(clusters))


def answer_lines(run: read.Run, answers: int, width: int = WIDTH) -> Iterator[str]:
    """Several partitions that stand for the posterior as lines of text, each with its weight."""
    _require_partition(run)
    sampled = sampled_partitions(run)
    try:
        answers_found = representatives(sampled, answers)
        alone = representatives(sampled, 1)[0].expected_loss
    except ValueError as error:
        raise config.ConfigError(f"{error} in {run.path}") from None
    distance = sum(one.weight * one.expected_loss for one in answers_found)
    yield from _caution(run)
    yield (
        f"{len(answers_found)} answer{'s' * (len(answers_found) != 1)} that represent{'s' * (len(answers_found) == 1)} "
        f"the posterior: mean variation of information to the nearest {distance:.3f}, {alone:.3f} to one alone"
    )
    for number, one in enumerate(answers_found, 1):
        heading = f"answer {number}: weight {one.weight:.2f}, {grouping.count_listed(one.labels, run.summary)}, "
        yield ""
        yield from _cluster_lines(run, one.labels, heading + f"mean distance {one.expected_loss:.3f}", width)


def core_lines(run: read.Run, level: float) -> Iterator[str]:
    """The core of a level as lines of text: its clusters, and who is outside."""
    estimate = _require_partition(run)
    try:
        core = find_item_core(sampled_partitions(run), level)
    except ValueError as error:
        raise config.ConfigError(f"{error} in {run.path}") from None
    sizes = np.bincount(core.labels[core.labels >= 0])
    noun = "row" if schema.BUNDLES in run.summary else grouping.nouns(run.summary)[0]
    yield from _caution(run)
    yield (
        f"core: {core.n_items:,} of {len(estimate):,} {noun}s are together as listed, all at once, with probability "
        f"{core.probability:.3f} (at least {level:g} was requested)"
    )
    for k in np.argsort(-sizes, kind="stable"):
        in_estimate = np.bincount(estimate[core.labels == k])
        clusters = np.flatnonzero(in_estimate).tolist()
        counted = f"{sizes[k]:,} {noun}{'s' * int(sizes[k] > 1)}"
        named = _join_numbers(run, clusters)
        of_what = f"cluster{'s' * (len(clusters) > 1)} {named}" if named[0].isdigit() else named
        yield f"  {counted} of {of_what}"
    outside = np.flatnonzero(core.labels < 0)
    if len(outside):
        names = run.clusters().get("name")
        listed = [str(i + 1 if names is None else names[i]) for i in outside[:NAMED]]
        more = f" and {len(outside) - NAMED:,} more" * (len(outside) > NAMED)
        yield f"outside the core: {', '.join(listed)}{more}"


def _cluster_lines(run: read.Run, labels: NDArray[np.int32], heading: str, width: int) -> Iterator[str]:
    """Any partition of the items, its clusters in the data's words."""
    dataset = initial.dataset_of(run)
    memberships = similarity.membership(sampled_partitions(run), labels, dataset.items)
    frame, _ = summaries.describe_clusters(dataset, labels, memberships.certainty, run.summary, run.first_cluster)
    rows, outliers = summaries.set_apart(summaries.as_text(frame), grouping.total_size(run.summary))
    yield from map(terminal.one_line, cluster_lines(rows, heading, len(rows), width))
    yield from map(terminal.one_line, summaries.outlier_lines(run, labels.tolist(), outliers))


def _caution(run: read.Run) -> Iterator[str]:
    if judgement.judgement_of(run).converged is False:
        yield "the chains have not converged: the lines below pool chains that differ"


UNRELIABLE = 0.7
"""Shape of the Pareto distribution above which a density is not to be relied on (Vehtari, Gelman and Gabry 2017)."""
FEWEST = 5
"""Largest weights from which a Pareto distribution is fitted, at least."""


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out densities of the items."""

    log_density: NDArray[np.float64]
    """float64 ``[N]``, or ``[items]`` where items are bundles of rows: log p(x_i | all other items), natural logarithm,
    in the units of the data."""
    shape: NDArray[np.float64]
    """float64 ``[N]``: shape k of the Pareto distribution of the largest weights; -inf where all weights are equal.
    Above `UNRELIABLE` the density rests on a few draws."""
    n_clusters: float = math.nan
    """Median number of clusters over the draws, outliers left out; NaN if it is not known."""


def leave_one_out(model: config.Component, dataset: Dataset, states: Sequence[State]) -> LeaveOneOut:
    """Estimate leave-one-out densities from draws of one posterior, each as probable as the others, for a model without
    parameters in its clusters; rows of the `dataset` do not depend on each other given their clusters."""
    built = build_predictive(model, dataset, dataset)
    jacobian = dataset.sum_by_item(log_jacobian(model, dataset))
    log_predictive = np.empty((len(states), len(jacobian)))
    for row, state in enumerate(states):
        take_state(built, state, state.labels, state.K)
        log_density, log_weight = built.left_out_predictive()
        log_predictive[row] = np.logaddexp.reduce(log_density + log_weight, axis=1)
    log_ratios, shape = smooth_tails(-log_predictive)
    log_density = np.logaddexp.reduce(log_ratios + log_predictive) - np.logaddexp.reduce(log_ratios)
    labels = np.stack([state.labels for state in states])
    return LeaveOneOut(log_density + jacobian, shape, float(np.median(counts_larger(labels, dataset.row_sizes))))


def smooth_tails(log_ratios: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Replace the largest importance ratios ``[draws, items]`` (natural logarithm, up to a constant for each item) by
    quantiles of a fitted Pareto distribution: smoothed, at most 0, and k ``[items]``, -inf where fewer than `FEWEST`
    ratios are large and nothing is fitted. Source: Vehtari, Simpson, Gelman, Yao and Gabry 2024, algorithm 1; the fit
    of Zhang and Stephens 2009, with the prior of k of that paper's appendix."""
    draws, items = log_ratios.shape
    log_weights = log_ratios - log_ratios.max(axis=0)
    shape = np.full(items, -np.inf)
    tail = min(draws // 5, int(np.ceil(3 * np.sqrt(draws))))
    if tail < FEWEST:
        return log_weights, shape
    order = np.argsort(log_weights, axis=0, kind="stable")
    largest = order[-tail:]
    cutoff = np.take_along_axis(log_weights, order[-tail - 1 : draws - tail], axis=0)
    excess = np.exp(np.take_along_axis(log_weights, largest, axis=0)) - np.exp(cutoff)
    fitted = np.flatnonzero(excess[0] > 0.0)
    if not len(fitted):
        return log_weights, shape
    k, sigma = _fit_pareto(excess[:, fitted])
    # a weak prior at 1/2, worth ten draws
    k = (k * tail + 5.0) / (tail + 10.0)
    p = ((np.arange(tail) + 0.5) / tail)[:, None]
    quantiles = np.where(
        np.abs(k) < 1e-12, -sigma * np.log1p(-p), sigma * np.expm1(-k * np.log1p(-p)) / np.where(k == 0, 1, k)
    )
    smoothed = np.minimum(np.log(np.exp(cutoff[:, fitted]) + quantiles), 0.0)
    log_weights[largest[:, fitted], fitted] = smoothed
    shape[fitted] = k
    return log_weights, shape


def _fit_pareto(excess: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shape and scale of generalised Pareto distributions, one for each column of sorted positive numbers. Source:
    Zhang and Stephens 2009, section 3; k there is -k here."""
    n = len(excess)
    grid = 30 + int(np.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    theta = (1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5)))[:, None] / (3.0 * quartile) + 1.0 / excess[-1]
    # [grid, items]
    k = np.log1p(-theta[:, None, :] * excess).mean(axis=1)
    log_lik = n * (np.log(-theta / k) - k - 1.0)
    weight = np.exp(log_lik - np.logaddexp.reduce(log_lik))
    theta_hat = (weight * theta).sum(axis=0)
    k_hat = np.log1p(-theta_hat * excess).mean(axis=0)
    return k_hat, -k_hat / theta_hat
