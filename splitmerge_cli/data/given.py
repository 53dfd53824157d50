"""Data that a Python program passes: held by their digest, under which a configuration names them."""

import hashlib
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from scipy.sparse import csr_array

from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.received import DataError

_held: WeakValueDictionary[tuple[str, int], Dataset] = WeakValueDictionary()
"""By digest and identity: of equal data sets one may go."""


def hold(dataset: Dataset) -> str:
    """Let `find_dataset` find a data set for as long as a program holds it, and return its digest."""
    digest = digest_of(dataset)
    _held[digest, id(dataset)] = dataset
    return digest


def find_dataset(sha256: str) -> Dataset:
    """Return the data set that `hold` was given under this digest; a `DataError` if no program in this process holds
    it.
    """
    held = next((dataset for (digest, _), dataset in _held.items() if digest == sha256), None)
    if held is None:
        raise DataError(
            f"data.sha256={sha256}: data that a Python program passed to splitmerge_cli.sample, and that are not here; "
            "expected Posterior.load(RUN, data=...) in Python, or data=csv data.path=FILE on the command line"
        )
    return held


def digest_of(dataset: Dataset) -> str:
    """SHA-256 of all that a run may depend on: values, their kind and types, true labels, names."""
    digest = hashlib.sha256()
    for part in _parts(dataset):
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(f"{part!r};".encode())
    return digest.hexdigest()


def _parts(dataset: Dataset) -> Iterator[Any]:
    if dataset.reduction is not None:
        # scores that another library of linear algebra makes may differ in their last digits
        yield from (*_parts(dataset.original), dataset.meta["reduced"])
        return
    yield from (dataset.kind.name, dataset.vocabulary, dataset.columns, dataset.types, dataset.names, dataset.truth)
    if dataset.positions is not None:
        yield dataset.positions
    if dataset.copies is not None:
        yield from (dataset.copies.items, dataset.copies.names)
    if dataset.scales is not None:
        yield dataset.scales
    if dataset.exposure is not None:
        yield dataset.exposure
    if dataset.sources is not None:
        yield dataset.sources
    if (bundles := dataset.bundles) is not None:
        yield from (bundles.items, bundles.weights, bundles.unit, bundles.prior_counts, bundles.apart, bundles.classes)
        yield bundles.names
    if (relations := dataset.relations) is not None:
        for layer in relations.layers:
            yield from (layer.name, layer.ends, layer.form, layer.value, layer.levels, layer.directed, layer.loops)
            yield layer.unknown
        yield from (relations.sides, relations.side_names)
        if relations.columns is not None:
            yield from _parts(relations.columns)
    x = dataset.values
    if isinstance(x, csr_array):
        yield from (x.shape, x.indptr, x.indices, x.data)
    elif isinstance(x, np.ndarray):
        yield x
    else:  # documents
        yield from (x.tokens.words, x.tokens.starts, x.V, x.documents, x.heldout is None)
        if x.heldout is not None:
            held = x.heldout
            yield from (held.by, held.tokens.words, held.tokens.starts, held.observed, held.documents)
