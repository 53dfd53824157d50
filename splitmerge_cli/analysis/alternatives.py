"""Further views of a finished run: clusters merged further, several answers, the core."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from splitmerge_cli.analysis.predictive import by_state, each_alone
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.repeats import draw_rows, folds
from splitmerge_cli.diagnostics.around_estimate import Dendrogram, find_item_core, merge_clusters, representatives
from splitmerge_cli.diagnostics.cluster_table import WIDTH, cluster_lines, number_clusters, span
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.diagnostics.point_estimate import TooManyClusters
from splitmerge_cli.diagnostics.similarity import membership
from splitmerge_cli.overrides import shell_word
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.answers import answers_of, kind_of
from splitmerge_cli.runs.clusterings import interval_of_run, sampled_partitions
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.grouping import nouns, total_size
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.store.schema import BUNDLES, PARAMETERS, hyperparameters
from splitmerge_cli.runs.stored import dataset_of, specification_of
from splitmerge_cli.runs.summaries import as_text, count, describe_clusters, outlier_lines, set_apart
from splitmerge_cli.terminal import one_line

FOLDS = 5
MOST_ROWS = 1_000
"""Items that are held out at most, in all folds."""
MOST_CUTS = 30
"""Cuts that are listed, from one cluster on."""
NAMED = 10
"""Items outside the core that are named."""


def dendrogram_of(run: Run) -> Dendrogram:
    """Build the dendrogram of the partition that a finished run lists; a `ConfigError` if it lists none."""
    try:
        return merge_clusters(_require_partition(run), sampled_partitions(run))
    except TooManyClusters as error:
        raise ConfigError(f"{run.path}: {error}") from None


def _require_partition(run: Run) -> NDArray[np.int32]:
    """The partition ``[N]`` that a finished run lists; raises as `dendrogram_of`."""
    if why := answers_of(kind_of(run)).no_levels:
        raise ConfigError(f"{run.path}: {why}")
    return np.asarray(run.summary["point_estimate"]["labels"], dtype=np.int32)


def predictive_densities(
    run: Run, cuts: Sequence[NDArray[np.int32]], dataset: Dataset | None = None
) -> NDArray[np.float64] | None:
    """Mean log predictive density of items given each partition, int32 ``[N]``, of the others: float64 ``[cuts]``,
    natural logarithm, in the units of the data.

    In each of `FOLDS` folds the items of the fold are left out of a partition, and each is predicted alone from the
    rest, its hyper-parameters at their posterior means. The partitions themselves were found with all items, so that
    densities of fine ones are too high rather than too low. None for networks and documents, whose items are no rows,
    and for a model that predicts no new items.
    """
    dataset, model = dataset or dataset_of(run), specification_of(run).model
    if dataset.kind.no_new_rows:
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
        rest_labels = [by_appearance(labels[rest]) for labels in cuts]
        states = [State(labels, int(labels.max()) + 1, values, parameters) for labels in rest_labels]
        try:
            predictions = by_state(model, dataset.take(rest), new, states)
            for state, (_, log_density, log_weight) in enumerate(predictions):
                density[state] += logsumexp(log_density + log_weight, axis=1)[of_items].sum()
        except (ConfigError, DataError):
            return None
    return density / predicted


def _hyperparameters(run: Run) -> tuple[dict[str, float], NDArray[np.float64] | None]:
    """Posterior means of the resampled hyper-parameters; and of the model's, as partitions have them."""
    trace = run.trace()
    late = trace["iteration"] > trace["iteration"].max() / 2
    # b0 and kappa0 are recorded with the partitions
    names = [name for name in hyperparameters(trace.columns) if name not in ("b0", "kappa0")]
    values = {name: float(trace.loc[late, name].mean()) for name in names}
    partitions = run.partitions()
    if PARAMETERS not in partitions:
        return values, None
    recorded = partitions.loc[partitions["iteration"] > partitions["iteration"].max() / 2, PARAMETERS]
    return values, np.mean(np.stack(recorded.to_list()), axis=0)


def cut_lines(run: Run, clusters: int, width: int = WIDTH) -> Iterator[str]:
    """Describe the clusters of one cut, and first how it relates to the posterior; a `ConfigError` for a
    number that the estimate does not have."""
    dendrogram = dendrogram_of(run)
    try:
        labels = dendrogram.cut(clusters)
    except ValueError as error:
        raise ConfigError(f"{error} in {run.path}") from None
    counted = count(clusters, [], run.summary)
    heading = f"{counted}, {describe_cut(dendrogram, clusters, interval_of_run(run))}"
    yield from _caution(run)
    yield from _cluster_lines(run, labels, heading, width)


def describe_cut(dendrogram: Dendrogram, clusters: int, interval: tuple[int, int]) -> str:
    """Compare a cut with the 95 % interval of K, and report its distance from the draws."""
    K, (low, high) = dendrogram.n_clusters, interval
    distance = f"expected distance {dendrogram.expected_loss[K - clusters]:.3f}"
    if clusters == K:
        return f"the clusters of the run: {distance}"
    place = f"{distance}, {dendrogram.expected_loss[0]:.3f} of the {K:,} clusters of the run"
    if clusters < low:
        return f"coarser than the posterior, which has {span(low, high)} (95 %): {place}"
    return f"merged from the clusters of the run; the posterior has {span(low, high)} (95 %): {place}"


def dendrogram_lines(run: Run) -> Iterator[str]:
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
    yield f"smcmc summary {shell_word(str(run.path))} clusters=NUMBER shows the clusters of a level"


def _join_numbers(run: Run, clusters: Sequence[int]) -> str:
    return "+".join(str(number_clusters(k, run.first_cluster)) for k in sorted(clusters))


def answer_lines(run: Run, answers: int, width: int = WIDTH) -> Iterator[str]:
    """Several partitions that stand for the posterior as lines of text, each with its weight."""
    _require_partition(run)
    sampled = sampled_partitions(run)
    try:
        answers_found = representatives(sampled, answers)
        alone = representatives(sampled, 1)[0].expected_loss
    except ValueError as error:
        raise ConfigError(f"{error} in {run.path}") from None
    distance = sum(one.weight * one.expected_loss for one in answers_found)
    yield from _caution(run)
    yield (
        f"{len(answers_found)} answer{'s' * (len(answers_found) != 1)} that "
        f"represent{'s' * (len(answers_found) == 1)} the posterior: mean variation of information to the nearest "
        f"{distance:.3f}, {alone:.3f} to one alone"
    )
    for number, one in enumerate(answers_found, 1):
        heading = f"answer {number}: weight {one.weight:.2f}, {one.n_clusters:,} cluster{'s' * (one.n_clusters != 1)}, "
        yield ""
        yield from _cluster_lines(run, one.labels, heading + f"mean distance {one.expected_loss:.3f}", width)


def core_lines(run: Run, level: float) -> Iterator[str]:
    """The core of a level as lines of text: its clusters, and who is outside."""
    estimate = _require_partition(run)
    try:
        core = find_item_core(sampled_partitions(run), level)
    except ValueError as error:
        raise ConfigError(f"{error} in {run.path}") from None
    sizes = np.bincount(core.labels[core.labels >= 0])
    noun = "row" if BUNDLES in run.summary else nouns(run.summary)[0]
    yield from _caution(run)
    yield (
        f"core: {core.n_items:,} of {len(estimate):,} {noun}s are together as listed, all at once, with probability "
        f"{core.probability:.3f} (at least {level:g} was requested)"
    )
    for k in np.argsort(-sizes, kind="stable"):
        in_estimate = np.bincount(estimate[core.labels == k])
        clusters = np.flatnonzero(in_estimate).tolist()
        counted = f"{sizes[k]:,} {noun}{'s' * int(sizes[k] > 1)}"
        yield f"  {counted} of cluster{'s' * (len(clusters) > 1)} {_join_numbers(run, clusters)}"
    outside = np.flatnonzero(core.labels < 0)
    if len(outside):
        names = run.clusters().get("name")
        listed = [str(i + 1 if names is None else names[i]) for i in outside[:NAMED]]
        more = f" and {len(outside) - NAMED:,} more" * (len(outside) > NAMED)
        yield f"outside the core: {', '.join(listed)}{more}"


def _cluster_lines(run: Run, labels: NDArray[np.int32], heading: str, width: int) -> Iterator[str]:
    """Any partition of the items, its clusters in the data's words."""
    dataset = dataset_of(run)
    memberships = membership(sampled_partitions(run), labels, dataset.items)
    frame, _ = describe_clusters(dataset, labels, memberships.certainty, run.first_cluster)
    rows, outliers = set_apart(as_text(frame), total_size(run.summary))
    yield from map(one_line, cluster_lines(rows, heading, len(rows), width))
    yield from map(one_line, outlier_lines(run, labels.tolist(), outliers))


def _caution(run: Run) -> Iterator[str]:
    if judgement_of(run).converged is False:
        yield "the chains have not converged: the lines below pool chains that differ"
