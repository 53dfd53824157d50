"""Resolve ``auto``: the model that reads a table as it is, and the covariance that predicts it best.

``model=auto``
    By the kind of data. A table: `bernoulli` where every column is read as binary, `gaussian` where every one is real,
    `mixed` otherwise. The first two only where no cell is missing and their reader finds the same cells: two words such
    as female and male, binary though they are, are left to `mixed`. Where nobody says otherwise the scales b0 and
    kappa0 of real columns come from the data (``hierarchical``), and the covariance of several is chosen.
``model.covariance=auto``
    diag, iso or full (`mixed`: diag or full), whichever gives rows that were held out the highest log predictive
    density, over `FOLDS` folds. Sets of more than `MOST_ROWS` rows are judged by so many of them, drawn at random. A
    covariance that the points do not allow is named with the reason; of one column, and where one alone is left,
    nothing is compared.
``model.power=auto``
    By a calibration curve: `splitmerge_cli.api.calibration`.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from splitmerge_cli.api.calibration import calibrate, format_calibration
from splitmerge_cli.api.cautions import DataNote, NotConverged
from splitmerge_cli.config import (
    ConfigError,
    RunSpecification,
    choice,
    component,
    compose,
    read_component,
    shared_choices,
    specify,
)
from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.data.opening import limit_bytes
from splitmerge_cli.data.tables.mixed import NoMixedTable
from splitmerge_cli.data.tables.wanted import format_columns
from splitmerge_cli.kinds import Kind, get_kind, kinds
from splitmerge_cli.runs.datasets import build_model, load_dataset
from splitmerge_cli.runs.identity import file_digests, finished_run, of_data

AUTO = "auto"
MIXED = "mixed"
OF_REALS = ("gaussian", MIXED)
"""Models with normal distributions of real columns."""
FOLDS = 5
MOST_ROWS = 1_000
ITERATIONS = 500
"""Iterations of each chain in a fold, which has `CHAINS`."""
CHAINS = 2
COVARIANCES = ("diag", "iso", "full")
SCALES = {"b0": "hierarchical", "kappa0": "hierarchical"}
"""Options that ``model=auto`` takes for dense points."""

Sample = Callable[[Mapping[str, Any], Dataset], Any]


class Settled(NamedTuple):
    """A command line without ``auto``, and how covariance and power were chosen, for the summary of the run; None where
    nobody asked for that."""

    overrides: list[str]
    chosen: dict[str, Any] | None


def covariances(options: Mapping[str, Any], dataset: Dataset, sample: Sample, seed: int = 0) -> pd.DataFrame:
    """Held-out log predictive density of rows, two at least, under each covariance that the model has.

    `options` are the name and options of the model, `sample` makes a `Posterior` of a model and a data set, the `seed`
    is that of the folds.

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
    candidates = _covariances_of(str(options["name"])) if _reals(dataset) > 1 else COVARIANCES[:1]
    problems = {covariance: _problem({**options, "covariance": covariance}, dataset) for covariance in candidates}
    allowed = [covariance for covariance, problem in problems.items() if not problem]
    rng = np.random.default_rng(seed)
    rows = rng.permutation(dataset.N)[:MOST_ROWS]
    folds = np.array_split(rows, min(FOLDS, len(rows)))
    found: dict[str, NDArray[np.float64]] = {}
    seconds: dict[str, float] = {}
    for covariance in allowed if len(allowed) > 1 else ():
        began = time.perf_counter()
        density = []
        try:
            for held in folds:
                posterior = sample({**options, "covariance": covariance}, _rows(dataset, np.setdiff1d(rows, held)))
                if not posterior.complete:
                    raise KeyboardInterrupt
                density.append(posterior.log_predictive(_rows(dataset, held)))
        except (ConfigError, DataError) as error:
            problems[covariance] = str(error)
            continue
        found[covariance], seconds[covariance] = np.concatenate(density), time.perf_counter() - began
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
            "error": [float(behind[c].std() / np.sqrt(len(rows))) if c in behind else np.nan for c in order],
            "seconds": [seconds.get(covariance, np.nan) for covariance in order],
            "problem": [problems[covariance] for covariance in order],
        }
    )


def _covariances_of(model: str) -> list[str]:
    """The covariances that a model has."""
    option = next(option for option in component("model", model).target.OPTIONS if option.name == "covariance")
    return [covariance for covariance in COVARIANCES if covariance in option.choices]


def _reals(dataset: Dataset) -> int:
    """Real columns of a table."""
    if dataset.types is not None:
        return sum(column.type == "real" for column in dataset.types)
    return int(dataset.values.shape[1])


def options_for(model: str, dataset: Dataset) -> dict[str, str]:
    """Options of a model that ``model=auto`` takes, of a table as it is read."""
    if model not in OF_REALS or not _reals(dataset):
        return {}
    scales = {} if issparse(dataset.values) else SCALES
    return scales if model == MIXED and _reals(dataset) < 2 else {"covariance": AUTO} | scales


def _problem(options: Mapping[str, Any], dataset: Dataset) -> str:
    """Why a data set does not allow a model, its options as they are; empty where it does."""
    try:
        model = read_component("model", str(options["name"]), choice("model", str(options["name"])) | dict(options))
        build_model(model, dataset)
    except ConfigError as error:
        return str(error)
    return ""


def _rows(dataset: Dataset, rows: NDArray[np.int64]) -> Dataset:
    return replace(dataset, values=dataset.values[np.sort(rows)], truth=None, names=None)


def model_for(dataset: Dataset) -> str:
    """The model that reads a data set as it is; a table is given as kind ``mixed``."""
    return get_kind(get_kind(dataset.kind).conversion(dataset)).model


def kind_of_model(name: str) -> Kind:
    """The kind of data that a model reads."""
    return component("model", name).kind


def model_for_object(data: Any) -> tuple[str, Any]:
    """The model that reads an object as `splitmerge_cli.data.objects.from_object` takes it: a graph, texts, or a table;
    and the data themselves, of a data frame for another model than `mixed` the columns that are data."""
    if isinstance(data, Dataset):
        return model_for(data), data
    for kind in kinds().values():
        if kind.recognises(data):
            return kind.model, data
    table = from_object(data, MIXED)
    model = model_for(table)
    # of a frame the model may leave out less than is left out of a mixed table
    for kept in (data, columns_read(data, table)):
        with suppress(DataError):
            read = from_object(kept, kind_of_model(model).name)
            if _are_same(read, table):
                return model, kept
    return MIXED, data


def columns_read(data: Any, table: Dataset | None = None) -> Any:
    """A data frame with the columns alone that are read as a mixed table: no ids, none without two values; anything
    else as it is."""
    if not isinstance(data, pd.DataFrame) and not issparse(data) and hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if not isinstance(data, pd.DataFrame):
        return data
    read = set((table or from_object(data, MIXED)).columns or ())
    return data[[column for column in data.columns if str(column) in read]]


def _are_same(read: Dataset, table: Dataset) -> bool:
    """Whether two readings of a table found the same cells."""
    return not issparse(read.values) and np.array_equal(read.values, table.values)


def settle(overrides: Sequence[str], config_dir: str | Path | None, say: Callable[[str], None]) -> Settled:
    """Overrides of the command line with what ``auto`` of the model, its covariance and power stand for.

    What a finished run says of its covariance is not chosen again. `say` receives what was chosen, a line or a table at
    a time.
    """
    settled = list(overrides)
    if f"model={AUTO}" in settled:
        settled.remove(f"model={AUTO}")
        said, compares = _by_data(settled, config_dir)
        settled += said
        say(f"model=auto: {' '.join(said)}")
        if compares:
            settled.append(f"model.covariance={AUTO}")
    calibrates = f"model.power={AUTO}" in settled
    if calibrates:
        settled.remove(f"model.power={AUTO}")
    found = _settle_covariance(settled, config_dir, say)
    return _settle_power(found, config_dir, say) if calibrates else found


def _settle_power(given: Settled, config_dir: str | Path | None, say: Callable[[str], None]) -> Settled:
    """A command line with the power of the calibration curve."""
    spec = compose(given.overrides, config_dir)
    if "power" not in spec.model.options:
        raise ConfigError(f"model.power={AUTO}: model={spec.model.name} has no power to choose; model=gaussian has")
    dataset = _read(given.overrides, config_dir)
    accepted, reason = spec.model.target.accepts(dataset)
    if not accepted:
        raise ConfigError(f"model.power={AUTO}: data={spec.data.name}: {reason}")
    options = {key: value for key, value in spec.model.values.items() if key != "_target_"}
    problem = _problem({**options, "power": 0.5}, dataset)
    if problem:
        raise ConfigError(problem.replace("model.power=0.5", f"model.power={AUTO}"))
    with warnings.catch_warnings():
        # as for covariances
        warnings.simplefilter("ignore", NotConverged)
        warnings.simplefilter("ignore", DataNote)
        found = calibrate(options, dataset, _sampler(spec))
    say(format_calibration(found))
    curve = found.table.astype(object).to_dict("records")
    chosen = {**(given.chosen or {}), "model.power": curve, "rows": found.rows}
    return Settled([*given.overrides, f"model.power={found.power:g}"], chosen)


def _settle_covariance(settled: list[str], config_dir: str | Path | None, say: Callable[[str], None]) -> Settled:
    """A command line with the covariance that predicts held-out rows best, where it is ``auto``."""
    if f"model.covariance={AUTO}" not in settled:
        return Settled(settled, None)
    settled.remove(f"model.covariance={AUTO}")
    spec = compose(settled, config_dir)
    if "covariance" not in spec.model.options:
        raise ConfigError(f"model.covariance=auto: model={spec.model.name} has no covariance to choose")
    by = {"folds": FOLDS, "rows": MOST_ROWS, "iterations": ITERATIONS, "chains": CHAINS}
    with shared_choices():
        for covariance in _covariances_of(spec.model.name):
            decided = [*settled, f"model.covariance={covariance}"]
            run = finished_run(specify(decided, config_dir))
            chosen = None if run is None else run.summary.get("chosen")
            if run is not None and chosen is not None and chosen.get("by") == by:
                say(f"model.covariance=auto: {covariance}, as {run.path} says")
                return Settled(decided, chosen)
    dataset = _read(settled, config_dir)
    accepted, reason = spec.model.target.accepts(dataset)
    if not accepted:
        raise ConfigError(f"model.covariance=auto: data={spec.data.name}: {reason}")
    options = {key: value for key, value in spec.model.values.items() if key != "_target_"}
    with warnings.catch_warnings():
        # chains too short to converge tell covariances apart
        warnings.simplefilter("ignore", NotConverged)
        # a fold is a part of the data, whose notes are printed once
        warnings.simplefilter("ignore", DataNote)
        table = covariances(options, dataset, _sampler(spec))
    say(format_covariances(table))
    # JSON has no NaN
    compared = table.astype(object).where(table.notna(), None).to_dict("records")
    chosen = {"model.covariance": compared, "by": by}
    return Settled([*settled, f"model.covariance={table['covariance'][0]}"], chosen)


def settle_jobs(
    jobs: Sequence[Sequence[str]], config_dir: str | Path | None, say: Callable[[str], None]
) -> list[list[str]]:
    """Overrides of jobs with what ``auto`` stands for, chosen once for all jobs of one model and data set.

    Samplers that race are of one posterior: the sampler of the first job chooses for all.
    """
    settled: dict[tuple[str, ...], list[str]] = {}
    found = []
    for job in jobs:
        if any(map(_is_auto, job)):
            of_model = tuple(given for given in job if given.startswith(("model", "data", "N=", "experiment=")))
            if of_model not in settled:
                decided = settle(job, config_dir, say).overrides
                settled[of_model] = [given for given in decided if given not in job]
            job = [given for given in job if not _is_auto(given)] + settled[of_model]
        found.append(list(job))
    return found


def _is_auto(override: str) -> bool:
    return override in (f"model={AUTO}", f"model.covariance={AUTO}", f"model.power={AUTO}")


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


def _by_data(overrides: Sequence[str], config_dir: str | Path | None) -> tuple[list[str], bool]:
    """The model, of a table the columns that are data where ids and the like stand beside them, and its options; and
    whether its covariance is to be chosen."""
    # a table is read as it is, whatever options the model will have; of other data the kind decides
    of_data = [given for given in overrides if not given.startswith("model.")]
    columns: list[str] | None = []
    try:
        dataset = _read([*of_data, f"model={MIXED}"], config_dir)
    except NoMixedTable:
        dataset = _read([*of_data, "model=gaussian"], config_dir)
    model = model_for(dataset)
    if get_kind(dataset.kind).any_columns and model != MIXED:
        columns = _columns(of_data, model, dataset, config_dir)
        if columns is None:
            model, columns = MIXED, []
    options = options_for(model, dataset)
    if _is_given(overrides, "power"):
        # of fixed scales
        options = {key: value for key, value in options.items() if key not in SCALES}
    compares = options.pop("covariance", None) is not None and not _is_given(overrides, "covariance")
    scales = [f"model.{key}={prior}" for key, prior in options.items() if not _is_given(overrides, key)]
    return [f"model={model}", *(columns or []), *scales], compares


def _columns(overrides: Sequence[str], model: str, table: Dataset, config_dir: str | Path | None) -> list[str] | None:
    """Overrides with which the reader of a model finds the cells of a mixed table; None where it does not."""
    names = [f"data.columns={format_columns(table.meta['typed'])}"] if "typed" in table.meta else []
    names += ["data.drop=null"] if any(given.startswith("data.drop=") for given in overrides) else []
    for extra in ([], names):
        try:
            read = _read([*overrides, f"model={model}", *extra], config_dir)
        except DataError:
            continue
        if _are_same(read, table):
            return extra
    return None


def _is_given(overrides: Sequence[str], key: str) -> bool:
    return any(given.startswith(f"model.{key}=") for given in overrides)


def _read(overrides: Sequence[str], config_dir: str | Path | None) -> Dataset:
    """The data of a configuration; no model is built."""
    spec = compose(overrides, config_dir)
    with limit_bytes(spec.data.max_bytes):
        return load_dataset(spec.data, spec.model.kind, of_data(file_digests(spec)))


def _sampler(spec: RunSpecification) -> Sample:
    """Short runs with the sampler of a configuration."""
    from splitmerge_cli.api.sampling import sample

    given = {key: value for key, value in spec.values["sampler"].items() if key != "_target_"}

    def short(model: Mapping[str, Any], dataset: Dataset) -> Any:
        keys: Any = {"chains": CHAINS, "iterations": ITERATIONS, "seed": spec.seed, "options": {"trace.partitions": 5}}
        return sample(model, dataset, given, **keys, progress="none")

    return short
