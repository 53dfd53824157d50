"""What ``auto`` stands for: the model that reads a table as it is, and the covariance that predicts it best.

``model=auto``
    By the kind of data. A table: `bernoulli` where every column is read as binary, `gaussian` where every one is real,
    `mixed` otherwise; no cell may be missing for the first two. The scales b0 and kappa0 of `gaussian` come from the
    data (``hierarchical``) where nobody says otherwise.
``model.covariance=auto``
    diag, iso or full, whichever gives rows that were held out the highest log predictive density, over `FOLDS` folds.
    Sets of more than `MOST_ROWS` rows are judged by so many of them, drawn at random.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from splitmerge_cli.api.cautions import NotConverged
from splitmerge_cli.config import ConfigError, choice, choices, compose, locate
from splitmerge_cli.data.base import Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.tables.wanted import typed_list

AUTO = "auto"
FOLDS = 5
MOST_ROWS = 1_000
ITERATIONS = 500
"""Of each of the `CHAINS` chains of a fold."""
CHAINS = 2
COVARIANCES = ("diag", "iso", "full")
SCALES = {"b0": "hierarchical", "kappa0": "hierarchical"}
"""What ``model=auto`` takes for dense points."""

Sample = Callable[[Mapping[str, Any], Dataset], Any]


def covariances(options: Mapping[str, Any], dataset: Dataset, sample: Sample, seed: int = 0) -> pd.DataFrame:
    """Held-out log predictive density of rows under each covariance of the Gaussian mixture.

    Parameters
    ----------
    options : mapping
        Name and options of the model.
    dataset : Dataset
        Kind ``points``, 2 rows at least.
    sample : callable
        Makes a `Posterior` of a model and a data set.
    seed : int
        Of the folds.

    Returns
    -------
    pandas.DataFrame
        A row for each covariance that the points allow, the best first: covariance, log_density (mean over rows,
        natural logarithm), behind (mean difference from the best), error (standard error of that difference, rows taken
        as independent), seconds.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(dataset.N)[:MOST_ROWS]
    if len(rows) < 2:
        raise ConfigError(f"model.covariance=auto: {len(rows)} row; expected two at least, to hold one out")
    folds = np.array_split(rows, min(FOLDS, len(rows)))
    found: dict[str, NDArray[np.float64]] = {}
    seconds: dict[str, float] = {}
    for covariance in COVARIANCES:
        began = time.perf_counter()
        density = []
        try:
            for held in folds:
                posterior = sample({**options, "covariance": covariance}, _rows(dataset, np.setdiff1d(rows, held)))
                density.append(posterior.log_predictive(_rows(dataset, held)))
        except ConfigError:
            # one that these points do not allow, such as full on sparse ones
            continue
        found[covariance], seconds[covariance] = np.concatenate(density), time.perf_counter() - began
    if not found:
        raise ConfigError("model.covariance=auto: no covariance fits these points; expected diag, iso or full")
    table = pd.DataFrame(
        {
            "covariance": list(found),
            "log_density": [float(density.mean()) for density in found.values()],
            "seconds": list(seconds.values()),
        }
    )
    best = found[str(table.loc[table["log_density"].idxmax(), "covariance"])]
    behind = [best - density for density in found.values()]
    table.insert(2, "behind", [float(difference.mean()) for difference in behind])
    table.insert(3, "error", [float(difference.std() / np.sqrt(len(best))) for difference in behind])
    return table.sort_values("log_density", ascending=False, ignore_index=True)


def _rows(dataset: Dataset, rows: NDArray[np.int64]) -> Dataset:
    return replace(dataset, values=dataset.values[np.sort(rows)], truth=None, names=None)


def model_for(dataset: Dataset) -> str:
    """The model that reads a data set as it is; a table is given as kind ``mixed``."""
    if dataset.kind != "mixed":
        return next(name for name in choices("model") if locate(choice("model", name)["_target_"]).kind == dataset.kind)
    types = {column.type for column in dataset.types or ()}
    if not np.isnan(dataset.values).any():
        if types == {"real"}:
            return "gaussian"
        if types == {"binary"}:
            return "bernoulli"
    return "mixed"


def model_for_object(data: Any) -> str:
    """The same for what `splitmerge_cli.data.objects.from_object` takes: a graph, texts, or a table."""
    if isinstance(data, Dataset):
        return model_for(data)
    if hasattr(data, "nodes") and hasattr(data, "edges"):
        return "irm"
    if isinstance(data, list | tuple) and all(isinstance(item, str) for item in data):
        return "hdp"
    return model_for(from_object(data, "mixed"))


def settle(overrides: Sequence[str], config_dir: str | Path | None, say: Callable[[str], None]) -> list[str]:
    """Overrides of the command line with what ``model=auto`` and ``model.covariance=auto`` stand for.

    Parameters
    ----------
    overrides : sequence of str
    config_dir : str or Path, optional
    say : callable
        Is told what was chosen, a line or a table at a time.
    """
    settled = list(overrides)
    if f"model={AUTO}" in settled:
        settled.remove(f"model={AUTO}")
        said = _by_data(settled, config_dir)
        settled += said
        say(f"model=auto: {' '.join(said)}")
        if said[0] == "model=gaussian" and not _given(settled, "covariance"):
            settled.append(f"model.covariance={AUTO}")
    if f"model.covariance={AUTO}" in settled:
        settled.remove(f"model.covariance={AUTO}")
        cfg, dataset = _loaded(settled, config_dir)
        if "covariance" not in cfg["model"] or dataset.kind != "points":
            raise ConfigError(f"model.covariance=auto: model={cfg['model']['name']} has no covariance to choose")
        options = {key: value for key, value in cfg["model"].items() if key != "_target_"}
        with warnings.catch_warnings():
            # chains too short to converge tell covariances apart
            warnings.simplefilter("ignore", NotConverged)
            table = covariances(options, dataset, _sampler(cfg))
        say(shown(table))
        settled.append(f"model.covariance={table['covariance'][0]}")
    return settled


def shown(table: pd.DataFrame) -> str:
    """The table of `covariances`, and what was chosen, as text."""
    text = table.to_string(index=False, float_format=lambda value: f"{value:.3f}")
    return f"{text}\nmodel.covariance=auto: {table['covariance'][0]}, by the log predictive density of held-out rows"


def _by_data(overrides: Sequence[str], config_dir: str | Path | None) -> list[str]:
    """The model, and of a table the columns that are data where ids and the like stand beside them."""
    # a table is read as it is, whatever options the model will have; of other data the kind decides
    try:
        of_data = [given for given in overrides if not given.startswith("model.")]
        _, dataset = _loaded([*of_data, "model=mixed"], config_dir)
    except ConfigError:
        _, dataset = _loaded(overrides, config_dir)
    model = f"model={model_for(dataset)}"
    scales = []
    if model == "model=gaussian" and not issparse(dataset.values):
        scales = [f"model.{key}={prior}" for key, prior in SCALES.items() if not _given(overrides, key)]
    typed = dataset.meta.get("typed")
    if not typed or model == "model=mixed" or any(given.startswith("data.columns=") for given in overrides):
        return [model, *scales]
    _, read = _loaded([*overrides, model], config_dir)
    columns = [] if read.values.shape[1] == len(typed) else [f"data.columns={typed_list(typed)}"]
    return [model, *columns, *scales]


def _given(overrides: Sequence[str], key: str) -> bool:
    return any(given.startswith(f"model.{key}=") for given in overrides)


def _loaded(overrides: Sequence[str], config_dir: str | Path | None) -> tuple[dict[str, Any], Dataset]:
    from splitmerge_cli.config import plain
    from splitmerge_cli.runs import prepare

    cfg = compose([*overrides, "iterations=1", "chains=2"], config_dir)
    return plain(cfg), prepare(cfg).dataset


def _sampler(cfg: Mapping[str, Any]) -> Sample:
    """Short runs with the sampler of a configuration."""
    from splitmerge_cli.api.sampling import sample

    given = {key: value for key, value in cfg["sampler"].items() if key != "_target_"}
    every = {"trace.partitions": 5}

    def short(model: Mapping[str, Any], dataset: Dataset) -> Any:
        return sample(
            model,
            dataset,
            given,
            chains=CHAINS,
            iterations=ITERATIONS,
            seed=cfg["seed"],
            options=every,
            progress="none",
        )

    return short
