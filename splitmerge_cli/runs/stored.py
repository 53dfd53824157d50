"""Runs that were stored: a folder is checked as a whole, the data of a run are loaded again."""

from functools import lru_cache
from pathlib import Path

from splitmerge_cli.config import Component, ConfigError, DataSource, RunSpecification, specify_stored
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import SIGN, limit_bytes
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.identity import DATA_FILES, file_digest
from splitmerge_cli.runs.initial import build_model, load_dataset
from splitmerge_cli.runs.store.files import CONFIG
from splitmerge_cli.runs.store.read import Run


def open_run(path: str | Path | Run, config_dir: str | Path | None = None) -> Run:
    """A run's folder, which may come from anywhere: checked as a whole before anything of it is believed. `path`: the
    folder; or a run that was read, whose files are not read again where they were checked. `config_dir`: the folder of
    the user's own groups that this invocation names. Raises `FileNotFoundError` (it holds no run), `DamagedRun` (a file
    is not what was written) or `ConfigError` (its configuration is none that could be run: see
    `splitmerge_cli.config.specify_stored`).
    """
    run = path if isinstance(path, Run) else Run(path, config_dir)
    run.check()
    run.config = dict(specification_of(run).values)
    return run


def specification_of(run: Run) -> RunSpecification:
    """The specification of a stored run; raises as `splitmerge_cli.config.specify_stored`."""
    return specify_stored(run.config, run.path / CONFIG, run.config_dir)


def dataset_of(run: Run) -> Dataset:
    """The data set of a stored run, loaded again. Raises `ConfigError` or `DataError` (a file that the run read is gone
    or was changed, a function that made the data is gone, or the configuration of the run is none that could be run).
    """
    spec = specification_of(run)
    data = spec.data
    digests: dict[str, str] = {}
    file = run.path / CONFIG
    with limit_bytes(data.max_bytes):
        for name, key in DATA_FILES.items():
            if stored := run.provenance.get(f"{name}_sha256"):
                path = data.values[key.removeprefix("data.")]
                digest = file_digest(key, path, data)
                if digest != stored:
                    problem = "no such file" if digest is None else "it was changed since the run"
                    expected = "the table on standard input" if path == SIGN else "the file"
                    raise DataError(f"{key}={path}: {problem}; expected {expected} that {run.path} read")
                digests[name] = stored
        try:
            dataset = _fitting(data, spec.model, tuple(sorted(digests.items())))
        except (ConfigError, DataError) as error:
            raise type(error)(f"{file}: {error}") from error
    if run.is_done and run.summary["N"] != dataset.N:
        raise DataError(f"{file}: data of {dataset.N} items; expected the {run.summary['N']} of the run")
    return dataset


@lru_cache(maxsize=2)
def _fitting(data: DataSource, model: Component, digests: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set, which the model takes: that checks what only the data tell."""
    dataset = load_dataset(data, model.kind, dict(digests))
    build_model(model, dataset)
    return dataset
