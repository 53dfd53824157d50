"""What the states of a run say of items that it did not see: densities, and the clusters that they would join."""

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
from splitmerge_cli.data.stacking import ROWS, new_items, node_added, stacked
from splitmerge_cli.runs.datasets import construct, loaded
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
    """What states say of new items.

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


def predict(
    model: Component, dataset: Dataset, new: Dataset, states: Sequence[State], labels: NDArray[np.int32]
) -> Prediction:
    """Predict new items, each by itself, from states of chains.

    Parameters
    ----------
    model : Component
        That of the run.
    dataset : Dataset
        The data of the run.
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
    total = 0.0
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
        total = total + joined @ (shared / size[:, None])
    return Prediction(logsumexp(density, axis=0) - np.log(len(density)), np.asarray(total / len(density)))


class Following:
    """Log predictive densities of new items in the present state of a chain, each by itself.

    Parameters
    ----------
    model, dataset, new
        As of `predict`.
    chain : Model
        Of the chain.
    """

    def __init__(self, model: Component, dataset: Dataset, new: Dataset, chain: Model) -> None:
        self._states = by_state(model, dataset, new, iter(lambda: _present(chain), None))

    def __call__(self) -> NDArray[np.float64]:
        """Of the present state, float64 ``[n]``."""
        _, log_density, log_weight = next(self._states)
        return np.asarray(logsumexp(log_density + log_weight, axis=1))


def _present(chain: Model) -> State:
    resampled = {"concentration": chain.concentration} if chain.random_concentration else {}
    parameters = None if chain.parameters is None else chain.parameters.ravel()
    return State(chain.labels, chain.K, resampled, parameters)


def by_state(
    model: Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """What each state says of new items; parameters and errors as for `predict`.

    Yields
    ------
    state : State
    log_density : numpy.ndarray
        float64 ``[n, K + 1]``: log density of each item in each cluster of the state; the last column is a new one.
    log_weight : numpy.ndarray
        float64 ``[K + 1]``: log of the prior's probability of these.
    """
    return (_coupled if dataset.kind == "graph" else _exchangeable)(model, dataset, new, states)


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
    if "concentration" in state.hyperparameters:
        model.set_concentration(state.hyperparameters["concentration"])
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
    """Of every state: log densities ``[n, K + 1]``, log weights ``[K + 1]``."""
    if new.missing:
        # so that what a model says of missing cells counts the rows of the new items
        _model(component, dataset, new)
    model = _model(component, dataset, stacked(dataset, new))
    for state in states:
        labels = np.concatenate([state.labels, np.full(new.N, state.K, dtype=np.int32)])
        _set(model, state, labels, state.K + 1)
        yield state, *model.log_predictive(dataset.N)


def _coupled(
    component: Component, dataset: Dataset, new: Dataset, states: Iterable[State]
) -> Iterator[tuple[State, NDArray[np.float64], NDArray[np.float64]]]:
    """The same where the likelihoods of clusters depend on each other: from the likelihood of all, with and without."""
    alone = _model(component, dataset, dataset)
    whole = [_model(component, dataset, node_added(dataset, row)) for row in new.values]
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
    """New items of a file that has the form of the data's.

    Parameters
    ----------
    spec : RunSpecification
        Of the run: its group data reads the file, too.
    dataset : Dataset
        The data of the run.
    file : str

    Raises
    ------
    ConfigError
        The data are not read from a file, or are a network or documents.
    DataError
        The file cannot be read, or has other columns; the message names it.
    """
    if dataset.kind not in ROWS:
        raise ConfigError(
            f"new={file}: data of kind {dataset.kind} have no file of new items; expected rows of a table"
        )
    if spec.data.values.get("path") is None:
        raise ConfigError(
            f"new={file}: data={spec.data.name} are not read from a file, whose form new items would have"
        )
    source = spec.data.with_options(path=file)
    digests = of_data(file_digests(replace(spec, data=source)))
    if dataset.kind == "mixed" and "typed" in dataset.meta:
        # a few rows do not tell what their columns are: those of the data do, whose levels are looked up later
        typed = dict(zip(dataset.meta["typed"], dataset.types or (), strict=True))
        types = {name: "categorical" if column.levels else column.type for name, column in typed.items()}
        source = source.with_options(columns=list(typed), drop=None, truth=None, types=types)
    found = loaded(source, dataset.kind, digests)
    try:
        return new_items(dataset, _as_given(found))
    except DataError as error:
        raise DataError(f"new={file}: {error}") from None


def _as_given(found: Dataset) -> Any:
    """The items in the words of their file, as another file may have other codes for them."""
    if found.kind == "tokens":
        return [found.vocabulary[code] for code in found.values] if found.vocabulary else found.values
    if not found.columns:
        return found.values
    frame = pd.DataFrame(np.asarray(found.values), columns=found.columns)
    for column, type_ in zip(found.columns, found.types or (), strict=False):
        if type_.levels:
            cells = [None if np.isnan(code) else type_.levels[int(code)] for code in frame[column]]
            frame[column] = pd.Series(cells, dtype=object)
    return frame
