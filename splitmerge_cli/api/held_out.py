"""Covariances, and readings of whole numbers, compared by rows that were held out: which predicts them best?"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.analysis.draws import FIRST_STATES
from splitmerge_cli.api.objects import MIXED
from splitmerge_cli.config import Component, ConfigError, choice, class_of, read_component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.repeats import folds
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.datasets import build_model

FOLDS = 5
MOST_ROWS = 1_000
COVARIANCES = ("diag", "iso", "full")
SCALES = {"b0": "hierarchical", "kappa0": "hierarchical"}
"""Options that ``model=auto`` takes for dense points."""
COUNTS, REALS = "as counts", "as real numbers"
"""Readings of whole numbers."""

Sample = Callable[[Mapping[str, Any]], Callable[[Dataset], Any]]
"""Makes a `Posterior` of a model, its name among its options, then of a data set."""


def covariances(
    model: Component, dataset: Dataset, sample: Sample, seed: int = 0, later: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Held-out log predictive density of rows, two at least, under each covariance that the model has.

    `sample` makes a `Posterior` of a model and a data set, the `seed`
    is that of the folds; `later` are options that the data are to allow, too, with the covariance.

    Returns
    -------
    pandas.DataFrame
        A row for each covariance, the best first: covariance, log_density (mean over rows, natural logarithm), behind
        (mean difference from the best), error (standard error of that difference, rows taken as independent), seconds,
        problem (why the points do not allow it; else empty). Where one alone is allowed it has no numbers.

    Raises
    ------
    ConfigError
        One row; no covariance is allowed.
    """
    if dataset.N < 2:
        raise ConfigError("model.covariance=auto: 1 row; expected two at least, to hold one out")
    # of one column all are one model
    candidates = covariances_of(model.name) if count_reals(dataset) > 1 else COVARIANCES[:1]
    problems = {
        covariance: find_problem(model, dataset, covariance=covariance, **(later or {})) for covariance in candidates
    }
    allowed = [covariance for covariance, problem in problems.items() if not problem]
    found: dict[str, NDArray[np.float64]] = {}
    seconds: dict[str, float] = {}
    for covariance in allowed if len(allowed) > 1 else ():
        began = time.perf_counter()
        try:
            found[covariance] = _hold_out({**model.as_typed, "covariance": covariance}, dataset, sample, seed)
        except (ConfigError, DataError) as error:
            problems[covariance] = str(error)
            continue
        seconds[covariance] = time.perf_counter() - began
    if all(problems.values()):
        said = "; ".join(f"{covariance}: {problem}" for covariance, problem in problems.items())
        raise ConfigError(f"model.covariance=auto: no covariance fits these points; {said}")
    mean = {covariance: float(density.mean()) for covariance, density in found.items()}
    order = sorted(candidates, key=lambda covariance: (bool(problems[covariance]), -mean.get(covariance, -np.inf)))
    behind = {covariance: found[order[0]] - density for covariance, density in found.items()}
    return pd.DataFrame(
        {
            "covariance": order,
            "log_density": [mean.get(covariance, np.nan) for covariance in order],
            "behind": [float(behind[c].mean()) if c in behind else np.nan for c in order],
            "error": [float(behind[c].std() / np.sqrt(len(behind[c]))) if c in behind else np.nan for c in order],
            "seconds": [seconds.get(covariance, np.nan) for covariance in order],
            "problem": [problems[covariance] for covariance in order],
        }
    )


def _hold_out(options: Mapping[str, Any], dataset: Dataset, sample: Sample, seed: int) -> NDArray[np.float64]:
    """Log predictive density of rows that short runs did not see, fold after fold."""
    rows = np.random.default_rng(seed).permutation(dataset.N)[:MOST_ROWS]
    density, sample_rows = [], sample(options)
    for held in folds(dataset, rows, FOLDS):
        posterior = sample_rows(dataset.take(np.setdiff1d(rows, held)))
        if not posterior.complete:
            raise KeyboardInterrupt
        density.append(posterior.log_predictive(dataset.take(np.sort(held)), states=FIRST_STATES))
    return np.concatenate(density)


def compare_counts(
    options: Mapping[str, Any], as_counts: Dataset, as_reals: Dataset, sample: Sample, seed: int = 0
) -> pd.DataFrame:
    """Held-out log probability of rows whose whole numbers are read as counts, and as real numbers.

    Parameters
    ----------
    options : mapping
        Options of `mixed` beside the covariance: full where there are two real columns.

    Returns
    -------
    pandas.DataFrame
        A row for each reading, the better first: counts (`COUNTS` or `REALS`), log_density (mean over rows, natural
        logarithm), behind and error as of `covariances`, seconds.
    """
    found, seconds = {}, {}
    for name, dataset in ((COUNTS, as_counts), (REALS, as_reals)):
        began = time.perf_counter()
        given = {"name": MIXED} | (SCALES if count_reals(dataset) else {}) | dict(options)
        jointly = {"covariance": "full"} | given
        model = jointly if count_reals(dataset) > 1 and not find_problem(model_of(jointly), dataset) else given
        found[name] = _hold_out(model, dataset, sample, seed)
        seconds[name] = time.perf_counter() - began
    order = sorted(found, key=lambda name: -found[name].mean())
    behind = {name: found[order[0]] - found[name] for name in order}
    return pd.DataFrame(
        {
            "counts": order,
            "log_density": [float(found[name].mean()) for name in order],
            "behind": [float(behind[name].mean()) for name in order],
            "error": [float(behind[name].std() / np.sqrt(len(behind[name]))) for name in order],
            "seconds": [seconds[name] for name in order],
        }
    )


def covariances_of(model: str) -> list[str]:
    """The covariances that a model has."""
    options = {option.name: option for option in class_of("model", model).OPTIONS}
    return [covariance for covariance in COVARIANCES if covariance in getattr(options.get("covariance"), "choices", ())]


def count_reals(dataset: Dataset) -> int:
    """Real columns of a table."""
    if dataset.types is not None:
        return sum(column.type == "real" for column in dataset.types)
    return int(dataset.values.shape[1])


def model_of(options: Mapping[str, Any]) -> Component:
    """The model of a name and options."""
    name = str(options["name"])
    return read_component("model", name, choice("model", name) | dict(options))


def find_problem(model: Component, dataset: Dataset, **options: Any) -> str:
    """Why a data set does not allow a model with these options; empty where it does."""
    try:
        build_model(model.with_options(**options), dataset)
    except ConfigError as error:
        return str(error)
    return ""


def as_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table for JSON, which has no NaN."""
    records: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return records


def format_counts(table: pd.DataFrame) -> str:
    """Return the table of `compare_counts`, and what was chosen, as text."""
    text = table.to_string(index=False, float_format=lambda value: f"{value:.3f}")
    how = "data.types={NAME:count} reads a column as counts, NAME:real as real numbers"
    return f"{text}\ncounts {table['counts'][0]}, by the log predictive probability of held-out rows ({how})"


def format_covariances(table: pd.DataFrame) -> str:
    """Return the table of `covariances`, and what was chosen, as text."""
    problems = dict(zip(table["covariance"], table["problem"], strict=True))
    lines = [f"model.covariance={name} is left out: {problem}" for name, problem in problems.items() if problem]
    compared, best = table[table["log_density"].notna()], table["covariance"][0]
    if len(compared):
        text = compared.drop(columns="problem").to_string(index=False, float_format=lambda value: f"{value:.3f}")
        why = "by the log predictive density of held-out rows"
        return "\n".join([text, *lines, f"model.covariance=auto: {best}, {why}"])
    why = "the only one that is left" if lines else "since one column has one variance"
    return "\n".join([*lines, f"model.covariance=auto: {best}, {why}"])
