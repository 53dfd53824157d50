"""Samplers that support a model, as the classes report; data that Student's t describes."""

from typing import Any

import numpy as np

from splitmerge_cli.config import ConfigError, component
from splitmerge_cli.core.model import Model
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.tables.models.real_columns import (
    SAME,
    find_resolution,
    resolutions_of,
    settle_resolution,
)
from splitmerge_cli.runs.datasets import build_model


def example(model: str, N: int = 8, **given: Any) -> Model:
    """A small instance of a model on the example of its kind of data, of N items or documents; `given`: its options.

    Raises
    ------
    ConfigError
        There is no such model, or it reads another form of its kind.
    """
    chosen = component("model", model, **given)
    dataset = chosen.kind.example(N)
    accepted, reason = chosen.target.accepts(dataset)
    if not accepted:
        raise ConfigError(f"model={model}: {reason}")
    return build_model(chosen, dataset)


def support(sampler: str, model: Model) -> tuple[bool, str]:
    """Whether a sampler supports a model, and why not.

    Raises
    ------
    ConfigError
        There is no such sampler.
    """
    supported, reason = component("sampler", sampler).target.supports(model)
    return bool(supported), reason


FINE = 0.05
"""Steps of a column, as a share of its standard deviation, up to which its density needs none: in a cluster a fifth as
wide as the column the mean log density over a step is at most 0.003 nats from that at its middle."""


def has_steps(dataset: Dataset) -> bool:
    """Whether real columns are recorded in steps that are not `FINE`: tails of Student's t take no step."""
    resolution = settle_resolution(dataset, {})["resolution"]
    is_real = slice(None) if dataset.types is None else [column.type == "real" for column in dataset.types]
    x = np.asarray(dataset.values[:, is_real], dtype=np.float64)
    if resolution == "auto":
        # only where values occur twice is there a step to look for
        tied = np.diff(np.sort(x, axis=0), axis=0) <= SAME * (np.nanmax(x, axis=0) - np.nanmin(x, axis=0))
        x = x[:, tied.any(axis=0)]
        return any(find_resolution(cells) > FINE * np.nanstd(cells) for cells in x.T)
    return bool((resolutions_of(resolution, x.shape[1], x.T) > FINE * np.nanstd(x, axis=0)).any())
