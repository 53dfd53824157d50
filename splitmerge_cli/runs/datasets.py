"""The parts of a run: its data set, loaded once and checked to be what its files held; its model and samplers."""

import ctypes
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from splitmerge_cli.config import Component, ConfigError, DataSource
from splitmerge_cli.core import bundles
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.data.dataset import Dataset, Kind
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.identity import DATA_FILES, file_digest


def load_dataset(data: DataSource, kind: Kind, digests: Mapping[str, str]) -> Dataset:
    """Load a data set, of the model's `kind` where its options leave that open. Raises `ConfigError` or `DataError`
    (the message names the key, or file, row and column).
    """
    if data.values.get("kind", kind) is None:
        data = data.with_options(kind=kind.name)
    # what a program holds is at hand: it takes no place of a file
    load = _load if data.name == "given" else _load_once
    return load(data, tuple(sorted(digests.items())))


def _load(data: DataSource, digests: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set; the digests of its files make a changed file another data set."""
    dataset = construct(data, lambda: data.function(**data.options))
    if not isinstance(dataset, Dataset):
        raise ConfigError(f"data={data.name}: _target_ {data.values['_target_']} makes no Dataset")
    give_back()
    for name, digest in digests:
        key = DATA_FILES[name]
        path = data.values[key.removeprefix("data.")]
        if file_digest(key, path, data) != digest:
            raise DataError(f"{key}={path}: the file was changed while it was read")
    return dataset


_load_once = lru_cache(maxsize=2)(_load)


def give_back() -> None:
    """Give the memory that reading took back to the system: of a list of a million edges two thirds of it."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    # of glibc alone
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def build_model(model: Component, dataset: Dataset, whole: Dataset | None = None) -> Model:
    """Build a model of a data set, or of a `whole`, which has new items behind the data set; raises as `construct`.
    Items may be bundles of rows."""
    of_items = (whole or dataset).bundles

    def build() -> Model:
        if of_items is not None and not of_items.is_trivial:
            return bundles.build(model.target, dataset, model.options, whole)
        if whole is not None:
            return model.target.with_new(dataset, whole, **model.options)
        return model.target.from_data(dataset, **model.options)

    built: Model = construct(model, build)
    return built


def build_sampler(sampler: Component, model: Model, rng: Rng) -> Sampler:
    """Build a sampler of a model; raises as `construct`."""
    built: Sampler = construct(sampler, lambda: sampler.target(model, rng, **sampler.options))
    return built


def construct(part: Component | DataSource, build: Callable[[], Any]) -> Any:
    """Call `build`, which makes a part of a run, and name that part where it cannot be made. Raises `ConfigError` or
    `DataError` (the message names the key).
    """
    try:
        return build()
    except DataError:
        raise
    except (ValueError, TypeError, OverflowError, IndexError, MemoryError) as error:
        text = str(error) or "not enough memory"
        if text.startswith(f"{part.group}."):
            raise ConfigError(part.prefix + text.removeprefix(part.group)) from error
        raise ConfigError(f"{part.title}: {text}") from error
