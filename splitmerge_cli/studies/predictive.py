"""Predictions of a run for items that it did not see: densities, and the clusters that they would join."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from splitmerge_cli.config import Component, ConfigError, RunSpecification
from splitmerge_cli.core.model import Model
from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.kinds import get_kind
from splitmerge_cli.results.read import Run
from splitmerge_cli.results.schema import PARAMETERS, hyperparameters
from splitmerge_cli.runs.datasets import construct, load_dataset
from splitmerge_cli.runs.identity import file_digests, of_data


@dataclass(frozen=True)
class State:
    """A state of a chain.

    Attributes
    ----------
    labels : numpy.ndarray
        int32 ``[N]``, from 0.
    K : int
        Clusters, empty ones that the state keeps among them.
    hyperparameters : mapping of str to float
        Those that are resampled, but b0 and kappa0.
    parameters : numpy.ndarray or None
        float64 ``[P]``: b0 and kappa0, those that are resampled, as the partitions have them (`schema.PARAMETERS`).
    """

    labels: NDArray[np.int32]
    K: int
    hyperparameters: Mapping[str, float]
    parameters: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Prediction:
    """Predictions of states for new items.

    Attributes
    ----------
    log_density : numpy.ndarray
        float64 ``[n]``: log of the mean over the states of p(new item | data, state); natural logarithm, in the units
        of the data.
    probability : numpy.ndarray
        float64 ``[n, C + 1]``: that the item joins each of the C clusters of a given partition; the last column: that
        it founds a cluster of its own. Rows sum to 1. An item that joins a cluster of a state is where a random member
        of it is in the given partition.
    """

    log_density: NDArray[np.float64]
    probability: NDArray[np.float64]


def recorded_partitions(run: Run) -> pd.DataFrame:
    """Recorded partitions of the second halves of a run's chains, of each chain at one spacing: chain, iteration, K,
    labels, and `schema.PARAMETERS` where they are recorded. No rows where there are none."""
    from splitmerge_cli.runs.clusterings import of_one_spacing

    try:
        frame = run.partitions()
    except FileNotFoundError:
        return pd.DataFrame(columns=["chain", "iteration", "K", "labels"])
    trace = run.trace(["chain", "iteration"])
    last = trace.groupby("chain")["iteration"].max()
    late = (frame["iteration"] > frame["chain"].map(last) / 2).to_numpy(dtype=bool)
    chain, iteration = frame["chain"].to_numpy(), frame["iteration"].to_numpy()
    chosen = [of_one_spacing(np.flatnonzero(late & (chain == c)), iteration) for c in last.index]
    return frame.iloc[np.concatenate(chosen)].reset_index(drop=True)


def states_of(run: Run, most: int, recorded: pd.DataFrame | None = None) -> list[State]:
    """Draws of a run with their hyper-parameters, at most so many, evenly spread.

    Parameters
    ----------
    run : Run
    most : int
    recorded : pandas.DataFrame, optional
        `recorded_partitions`, where they were read.

    Raises
    ------
    ConfigError
        No recorded partition has its hyper-parameters in the trace.
    """
    from splitmerge_cli.diagnostics.point_estimate import evenly_spaced

    rows, names = _with_hyperparameters(run, recorded_partitions(run) if recorded is None else recorded)
    return [_state(rows.iloc[row], names) for row in evenly_spaced(len(rows), most)]


def last_states(run: Run) -> list[State]:
    """The last recorded state of each chain; errors as of `states_of`."""
    rows, names = _with_hyperparameters(run, recorded_partitions(run))
    return [_state(of.iloc[-1], names) for _, of in rows.groupby("chain", sort=True)]


def _with_hyperparameters(run: Run, recorded: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Recorded partitions whose hyper-parameters stand in the trace, with these, and their names."""
    if recorded.empty:
        raise ConfigError("trace.partitions: the run recorded no partition; expected trace.partitions=10")
    trace = run.trace()
    # b0 and kappa0 are recorded with the partitions
    names = [name for name in hyperparameters(trace.columns) if name not in ("b0", "kappa0")]
    rows = recorded.merge(trace[["chain", "iteration", *names]], on=["chain", "iteration"], how="left")
    # with `thin` the trace has not every iteration whose partition was recorded
    known = np.flatnonzero(rows[names].notna().all(axis=1))
    if not len(known):
        raise ConfigError(f"thin: no recorded partition has its {', '.join(names)} in the trace; expected thin=1")
    return rows.iloc[known], names


def _state(row: Any, names: Sequence[str]) -> State:
    labels = np.array(row["labels"], dtype=np.int32)  # a copy: what is read cannot be written
    return State(labels, int(row["K"]), {name: float(row[name]) for name in names}, row.get(PARAMETERS))


def predict(
    model: Component, dataset: Dataset, new: Dataset, states: Sequence[State], labels: NDArray[np.int32]
) -> Prediction:
    """Predict new items, each by itself, from states of chains.

    Parameters
    ----------
    model, dataset
        Of the run.
    new : Dataset
        n items of the same kind. ``graph``: an ``[n, N]`` matrix of the ties to the nodes of the run, as its `values`.
    states : sequence of State
        At least one.
    labels : numpy.ndarray
        int32 ``[N]``, the partition whose clusters are predicted, from 0.

    Raises
    ------
    ConfigError
        A model whose clusters keep parameters or weights; b0 or kappa0 is resampled, and the states have none.
    DataError
        The new items are not like the data.
    """
    clusters = int(labels.max()) + 1
    density: list[NDArray[np.float64]] = []
    # of each item, as multiples of exp(top): a state counts by the density that it gives the item
    top = np.full(new.N, -np.inf)
    total, all_weights = np.zeros((new.N, clusters + 1)), np.zeros(new.N)
    for state, log_density, log_weight in by_state(model, dataset, new, states):
        log_joint = log_density + log_weight
        log_p = logsumexp(log_joint, axis=1)
        density.append(log_p)
        joined = np.exp(log_joint - log_p[:, None])
        # members of each cluster of the state by cluster of the given partition
        shared = np.zeros((joined.shape[1], clusters + 1))
        np.add.at(shared, (state.labels, labels), 1.0)
        shared[-1, -1] = 1.0
        size = shared.sum(axis=1)
        empty = size == 0
        shared[empty, -1] = size[empty] = 1.0
        before, top = top, np.maximum(top, log_p)
        kept, weight = np.exp(before - top), np.exp(log_p - top)
        total = total * kept[:, None] + weight[:, None] * (joined @ (shared / size[:, None]))
        all_weights = all_weights * kept + weight
    return Prediction(logsumexp(density, axis=0) - np.log(len(density)), total / all_weights[:, None])


class Following:
    """Log predictive densities of new items in the present state of a chain, each by itself; parameters as of
    `predict`, and the model of the chain."""

    def __init__(self, model: Component, dataset: Dataset, new: Dataset, chain: Model) -> None:
        self._states = by_state(model, dataset, new, iter(lambda: _present(chain), None))

    def __call__(self) -> NDArray[np.float64]:
        """Log densities in the present state, float64 ``[n]``."""
        _, log_density, log_weight = next(self._states)
        return np.asarray(logsumexp(log_density + log_weight, axis=1))


def _present(chain: Model) -> State:
    parameters = None if chain.parameters is None else chain.parameters.ravel()
    return State(chain.labels, chain.K, chain.prior_values, parameters)


def by_state(
    model: Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the predictions of each state for new items; parameters and errors as for `predict`.

    Yields
    ------
    state : State
    log_density : numpy.ndarray
        float64 ``[n, K + 1]``: log density of each item in each cluster of the state; the last column is a new one.
    log_weight : numpy.ndarray
        float64 ``[K + 1]``: log of the prior's probability of these.
    """
    return (_exchangeable if get_kind(dataset.kind).has_rows else _predict_coupled)(model, dataset, new, states)


def _model(component: Component, dataset: Dataset, whole: Dataset) -> Model:
    """The model of the data and the new items, its defaults those of the data."""
    model: Model = construct(component, lambda: component.target.with_new(dataset, whole, **component.options))
    if not model.conjugate:
        raise ConfigError(
            f"model.conjugate=false: the clusters of model={component.name} keep parameters, which are not recorded, "
            "so new items are not predicted; expected model.conjugate=true, which integrates them out"
        )
    if model.prior is None:
        raise ConfigError(
            f"model={component.name}: its clusters have weights, which are not recorded, so new items are not "
            "predicted; expected another model"
        )
    return model


def _set(model: Model, state: State, labels: NDArray[np.int32], K: int) -> None:
    model.set_labels(labels, K if model.allows_empty else None)
    model.set_prior_values({k: v for k, v in state.hyperparameters.items() if k in model.prior_values})
    if model.parameters is None:
        return
    if state.parameters is None:
        raise ConfigError(
            "trace.partitions: the partitions were recorded without b0 and kappa0, by an earlier version; expected "
            "resume=false, which makes the run anew"
        )
    try:
        model.set_parameters(state.parameters)
    except ValueError as error:
        raise ConfigError(f"new items: {error}") from error


def _exchangeable(
    component: Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield every state with log densities ``[n, K + 1]`` and log weights ``[K + 1]``."""
    if new.missing:
        # so that what a model says of missing cells counts the rows of the new items
        _model(component, dataset, new)
    model = _model(component, dataset, get_kind(dataset.kind).stack(dataset, new))
    for state in states:
        labels = np.concatenate([state.labels, np.full(new.N, state.K, dtype=np.int32)])
        _set(model, state, labels, state.K + 1)
        yield state, *model.log_predictive(dataset.N)


def _predict_coupled(
    component: Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield them where likelihoods of clusters depend on each other: from the likelihood of all, with and without."""
    alone = _model(component, dataset, dataset)
    each = [replace(new, values=new.values[[i]], truth=None, names=None) for i in range(new.N)]
    whole = [_model(component, dataset, get_kind(dataset.kind).stack(dataset, one)) for one in each]
    for state in states:
        _set(alone, state, state.labels, state.K)
        before = alone.log_lik_total()
        density = np.empty((new.N, state.K + 1))
        weight = np.empty(state.K + 1)
        for i, model in enumerate(whole):
            for k in range(state.K + 1):
                _set(model, state, np.append(state.labels, np.int32(k)), state.K)
                density[i, k] = model.log_lik_total() - before
                weight[k] = model.log_prior_total()
        yield state, density, weight - logsumexp(weight)


def items_of(spec: RunSpecification, dataset: Dataset, file: str) -> Dataset:
    """New items of a file that has the form of the data's; the group data of the run reads it, too.

    Raises
    ------
    ConfigError
        The data are not read from a file, or are a network or documents.
    DataError
        The file cannot be read, or has other columns; the message names it.
    """
    kind = get_kind(dataset.kind)
    if not kind.has_rows:
        raise ConfigError(
            f"new={file}: data of kind {dataset.kind} have no file of new items; expected rows of a table"
        )
    if spec.data.values.get("path") is None:
        raise ConfigError(
            f"new={file}: data={spec.data.name} are not read from a file, whose form new items would have"
        )
    source = spec.data.with_options(path=file)
    digests = of_data(file_digests(replace(spec, data=source)))
    # new rows are items of their own, equal though they may be
    every_row = {} if dataset.copies is None else {"repeated": "keep"}
    found = load_dataset(source.with_options(**every_row, **kind.reader_options(dataset)), kind, digests)
    try:
        return kind.new_items(dataset, kind.as_given(found))
    except DataError as error:
        raise DataError(f"new={file}: {error}") from None
