"""Predictions of a run for items that it did not see: densities, and the clusters that they would join."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli import config, extras, received
from splitmerge_cli.core.capabilities import Coupled
from splitmerge_cli.core.model import Model
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.runs import identity, initial
from splitmerge_cli.runs.draws import BATCHES, Draws, State

ENOUGH = 0.01
"""Standard error of a log density (nats) or of a probability below which no more draws are taken."""
FEW_OUTLIERS = 0.99
"""Share of the new items whose errors are looked at: the largest ones of others do not ask for more draws."""
_MOST_SUMS = 2**26
"""Sums that are held at most for the standard errors of probabilities, where 4 batches do not need more."""
BLOCK = 8_192
"""New items that are predicted at once at least; an eighth of the data's where that is more, which costs no more than
the model of the data."""
ALONE: dict[str, Any] = dict.fromkeys(
    ("weights", "weights_scale", "labels", "must_link", "cannot_link", "prior_counts", "other", "files")
)
ALONE |= {"apart": True, "duplicates": False}
"""Options of data with which new rows are read alone, but for the rows of one unit."""
BLOCK_COUPLED = 16
"""New items that are predicted at once where each has a model of its own."""


@dataclass(frozen=True)
class Prediction:
    """Predictions of states for new items."""

    log_density: NDArray[np.float64]
    """float64 ``[n]``: log of the mean over the states of p(new item | data, state); natural logarithm, in the units of
    the data."""
    probability: NDArray[np.float64]
    """float64 ``[n, C + 1]``: that the item joins each of the C clusters of a given partition; the last column: that it
    founds a cluster of its own. Rows sum to 1. An item that joins a cluster of a state is where a random member of it
    is in the given partition."""
    log_density_error: NDArray[np.float64]
    probability_error: NDArray[np.float64]
    """float64 ``[n]`` and ``[n, C + 1]``: Monte Carlo standard errors of these, by the spread of `BATCHES` batches of
    successive draws, which counts the dependence of draws. NaN for a single draw."""
    states: int
    """Draws that were averaged, in the block of items that took most."""


class Averages:
    """Mean densities over draws for n new items, and standard errors from sums by batch."""

    def __init__(self, batches: int, n: int) -> None:
        self._log_sums, self._counts = np.full((batches, n), -np.inf), np.zeros(batches)

    def add(self, batch: int, log_density: NDArray[np.float64]) -> None:
        """Add the log densities ``[n]`` of a draw."""
        with np.errstate(invalid="ignore"):  # a density that is not computed is NaN
            np.logaddexp(self._log_sums[batch], log_density, out=self._log_sums[batch])
        self._counts[batch] += 1

    def log_mean(self) -> NDArray[np.float64]:
        """Log of the mean density, ``[n]``."""
        return np.asarray(extras.special.logsumexp(self._log_sums, axis=0) - np.log(self._counts.sum()))

    def error(self) -> NDArray[np.float64]:
        """Standard error of `log_mean`, ``[n]``: the relative error of the mean density."""
        total = extras.special.logsumexp(self._log_sums, axis=0)
        with np.errstate(invalid="ignore"):
            shares = np.exp(self._log_sums - total)
        return spread_of(shares - (self._counts / self._counts.sum())[:, None], self._counts)


def spread_of(off: NDArray[np.float64], counts: NDArray[Any]) -> NDArray[np.float64]:
    """Standard error of a sum, from the deviations of the batches (first axis) from their expected parts."""
    n_known = int((counts > 0).sum())
    factor = n_known / (n_known - 1) if n_known > 1 else np.nan
    return np.asarray(np.sqrt(factor * (off**2).sum(axis=0)))


def are_small(errors: NDArray[np.float64]) -> bool:
    """Whether standard errors ``[n]`` or ``[n, columns]`` are small for `FEW_OUTLIERS` of the items."""
    largest = errors.reshape(len(errors), -1).max(axis=1) if errors.size else np.zeros(0)
    known = largest[~np.isnan(largest)]
    return len(known) == len(largest) and (
        not len(known) or float(np.quantile(known, FEW_OUTLIERS, method="higher")) <= ENOUGH
    )


def predict(
    model: config.Component,
    dataset: Dataset,
    new: Dataset,
    states: Sequence[State],
    labels: NDArray[np.int32],
    wanted: Literal["density", "probability"] | None = None,
) -> Prediction:
    """Predict n items of the same kind as the data, each alone, from states of chains; ``graph``: an ``[n, N]`` matrix
    of the ties to the nodes of the run, as its `values`. The items are taken in blocks, so that memory does not grow
    with their number, but for the result; each ends when the errors of its own items are small. `labels`, int32 ``[N]``
    from 0: the partition whose clusters are predicted. `wanted`: what is needed, the other being NaN; by default both.
    The clusters may keep no parameters or weights."""
    check_missing(model, dataset, new)
    draws = Draws.from_states(states)
    size = BLOCK_COUPLED if issubclass(model.target, Coupled) else max(BLOCK, dataset.N // 8)
    size = size if new.items is None else new.N  # rows of one item stay together
    blocks = (new if size >= new.N else new.take(slice(begin, begin + size)) for begin in range(0, new.N, size))
    parts = [_predict_block(model, dataset, block, draws, labels, wanted) for block in blocks]
    arrays = ("log_density", "probability", "log_density_error", "probability_error")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays}
    return Prediction(**joined, states=max(part.states for part in parts))


def _predict_block(
    model: config.Component,
    dataset: Dataset,
    new: Dataset,
    draws: Draws,
    labels: NDArray[np.int32],
    wanted: Literal["density", "probability"] | None,
) -> Prediction:
    """Predict the items of a block; every array of the result has a row for each."""
    clusters = int(labels.max()) + 1
    shares = wanted != "density"
    held = min(BATCHES, max(4, _MOST_SUMS // (new.N * (clusters + 1) + 1))) if shares else BATCHES
    density = Averages(BATCHES, new.N)
    # of each item, as multiples of exp(top): a state counts by the density that it gives the item
    top = np.full(new.N, -np.inf)
    total, weights = np.zeros((held if shares else 0, new.N, clusters + 1)), np.zeros((held, new.N))

    def probabilities() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means over the draws so far, and their standard errors."""
        all_weights = weights.sum(axis=0)
        mean = total.sum(axis=0) / all_weights[:, None]
        counts = np.bincount(draws.batch[:done] * held // BATCHES, minlength=held).astype(float)
        return mean, spread_of((total - mean * weights[:, :, None]) / all_weights[:, None], counts)

    done = 0
    for state, log_density, log_weight in by_state(model, dataset, new, draws):
        log_joint = log_density + log_weight
        log_p = extras.special.logsumexp(log_joint, axis=1)
        batch = int(draws.batch[done])
        density.add(batch, log_p)
        done += 1
        if not shares:
            if done in draws.looks and are_small(density.error()):
                break
            continue
        batch = batch * held // BATCHES
        joined = np.exp(log_joint - log_p[:, None])
        if len(higher := np.flatnonzero(log_p > top)):
            scale = np.exp(top[higher] - log_p[higher])
            total[:, higher] *= scale[:, None]
            weights[:, higher] *= scale
            top[higher] = log_p[higher]
        weight = np.exp(log_p - top)
        total[batch] += weight[:, None] * (joined @ shares_in(labels, state.labels, joined.shape[1], dataset.row_sizes))
        weights[batch] += weight
        if done in draws.looks and are_small(probabilities()[1]):
            break
    unknown = np.full((new.N, clusters + 1), np.nan)
    mean, error = probabilities() if shares else (unknown, unknown)
    return Prediction(density.log_mean(), mean, density.error(), error, done)


def shares_in(
    labels: NDArray[np.int32], own_labels: NDArray[np.int32], columns: int, sizes: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Cross a state's clusters, labels `own_labels`, with the C clusters of a partition: float64 ``[columns, C + 1]``,
    the share of the members of each that are in each; a cluster without members is in the last column. Members count
    by their `sizes`."""
    shared = np.zeros((columns, int(labels.max()) + 2))
    np.add.at(shared, (own_labels, labels), 1.0 if sizes is None else sizes)
    shared[shared.sum(axis=1) == 0, -1] = 1.0
    return np.asarray(shared / shared.sum(axis=1, keepdims=True))


class Following:
    """Log predictive densities of new items, each alone, in the present state of a chain, as of `predict`."""

    def __init__(self, model: config.Component, dataset: Dataset, new: Dataset, chain: Model) -> None:
        def present() -> State:
            parameters = None if chain.parameters is None else chain.parameters.ravel()
            labels = chain.labels if chain.items is None else chain.labels[chain.items]
            return State(labels, chain.K, chain.prior_values, parameters)

        self._states = by_state(model, dataset, new, iter(present, None))

    def __call__(self) -> NDArray[np.float64]:
        """Log densities in the present state, float64 ``[n]``."""
        _, log_density, log_weight = next(self._states)
        return np.asarray(extras.special.logsumexp(log_density + log_weight, axis=1))


def by_state(
    model: config.Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield each state with its predictions for new items: log densities ``[n, K + 1]``, in the units of the data, of
    each item in each cluster of the state, the last column being a new one, and log weights ``[K + 1]``, the prior's
    probability of these; ``[n, K + 1]`` if new items count as different numbers of rows. A row of an item of several
    rows has the density of the item."""
    predictions = (_predict_coupled if issubclass(model.target, Coupled) else _exchangeable)(
        model, dataset, new, states
    )
    items = new.items
    jacobian = log_jacobian(model, new)
    if items is None and not jacobian.any():
        return predictions
    if items is not None:  # a new row counts once
        jacobian = np.bincount(items, jacobian).astype(np.float64)
    # the rows of an item share what is predicted of it
    rows = slice(None) if items is None else items
    return (
        (state, (log_density + jacobian[:, None])[rows], log_weight if log_weight.ndim == 1 else log_weight[rows])
        for state, log_density, log_weight in predictions
    )


def log_jacobian(model: config.Component, dataset: Dataset) -> NDArray[np.float64]:
    """Add up, for each row, what makes its log density one in the units of the data, float64 ``[N]``: nothing for
    columns that the model takes as given."""
    given, steps = dataset.kind.given_columns(dataset, model.as_typed), dataset.kind.log_steps(dataset, model.as_typed)
    if dataset.scales is None or not given:
        return np.asarray(steps + dataset.log_jacobian)
    scales = tuple(None if j in given else scale for j, scale in enumerate(dataset.scales))
    return np.asarray(steps + replace(dataset, scales=scales).log_jacobian)


def build_predictive(component: config.Component, dataset: Dataset, whole: Dataset) -> Model:
    """The model of the data and the new items, with the defaults for the data."""
    model = initial.build_model(component, dataset, whole)
    if not model.conjugate:
        raise config.ConfigError(
            "model.conjugate=false: the parameters of clusters are not recorded, so new items cannot be predicted; "
            "expected model.conjugate=true, which integrates them out"
        )
    if model.prior is None:
        raise config.ConfigError(
            f"model={component.name}: the weights of its clusters are not recorded, so new items cannot be predicted; "
            "expected another model"
        )
    return model


def check_missing(component: config.Component, dataset: Dataset, new: Dataset) -> None:
    """Reject missing cells that the model does not take; it counts the rows of the new items alone."""
    if new.missing:
        build_predictive(component, dataset, replace(new, bundles=None))


def each_alone(model: config.Component, dataset: Dataset, new: Dataset) -> Dataset:
    """New rows, each an item of its own if the likelihood has a power: rows of one item have no joint density then."""
    return new if float(model.options.get("power", 1.0)) * dataset.unit == 1.0 else replace(new, bundles=None)


def take_state(model: Model, state: State, labels: NDArray[np.int32], K: int) -> None:
    model.set_labels(labels, K if model.allows_empty else None)
    model.set_prior_values({k: v for k, v in state.hyperparameters.items() if k in model.prior_values})
    if model.parameters is None:
        return
    if state.parameters is None:
        raise config.ConfigError(
            "trace.partitions: the partitions were recorded without b0 and kappa0, by an earlier version; expected "
            "resume=false, which makes the run again"
        )
    try:
        model.set_parameters(state.parameters)
    except ValueError as error:
        raise config.ConfigError(f"new items: {error}") from error


def _exchangeable(
    component: config.Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield every state with log densities ``[n, K + 1]`` and log weights ``[K + 1]``."""
    check_missing(component, dataset, new)
    whole = dataset.kind.stack(dataset, new)
    model = build_predictive(component, dataset, whole)
    first = dataset.N if whole.items is None else int(whole.items[dataset.N])
    for state in states:
        labels = np.concatenate([state.labels, np.full(new.N, state.K, dtype=np.int32)])
        take_state(model, state, labels, state.K + 1)
        yield state, *model.log_predictive(first)


def _predict_coupled(
    component: config.Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield them where likelihoods of clusters depend on each other: from the likelihood of all, with and without."""
    alone = build_predictive(component, dataset, dataset)
    each = [replace(new, values=new.values[[i]], truth=None, names=None) for i in range(new.N)]
    whole = [build_predictive(component, dataset, dataset.kind.stack(dataset, one)) for one in each]
    for state in states:
        take_state(alone, state, state.labels, state.K)
        before = alone.log_lik_total()
        density = np.empty((new.N, state.K + 1))
        weight = np.empty(state.K + 1)
        for i, model in enumerate(whole):
            for k in range(state.K + 1):
                take_state(model, state, np.append(state.labels, np.int32(k)), state.K)
                density[i, k] = model.log_lik_total() - before
                weight[k] = model.log_prior_total()
        yield state, density, weight - extras.special.logsumexp(weight)


def items_of(data: config.DataSource, dataset: Dataset, file: str) -> Dataset:
    """New items of a file that has the form of the data's, which the group data of the run reads, too."""
    kind = dataset.kind
    kind.require_rows(f"--new {file}: data of kind {kind} have no file of new items")
    if data.values.get("path") is None:
        raise config.ConfigError(f"--new {file}: expected data that are read from a file; data={data.name} are not")
    # new rows are items of their own, equal though they may be
    every_row: dict[str, Any] = {} if dataset.copies is None else {"repeated": "keep"}
    # on the scales of the data, whose powers may come from these
    table = dataset.original
    every_row |= {} if table.scales is None else {"scale": None}
    every_row |= {} if dataset.reduction is None else {"reduce": None}
    every_row |= ALONE if dataset.facts_of_bundles else {}
    every_row |= kind.reader_options(table)
    source = data.with_options(path=file, **every_row)
    digests = identity.file_digests(source)
    try:
        new_items = initial.load_dataset(source, kind, digests)
    except received.DataError as error:
        if not dataset.facts_of_bundles or not str(error).startswith("data.group="):
            raise
        # without the column of units each row is alone
        new_items = initial.load_dataset(source.with_options(group=None), kind, digests)
    try:
        # exposures are no column of the data
        new = kind.new_items(replace(dataset, exposure=None), kind.as_given(new_items))
        return replace(new, exposure=new_items.exposure, bundles=new_items.bundles)
    except received.DataError as error:
        raise received.DataError(f"--new {file}: {error}") from None
