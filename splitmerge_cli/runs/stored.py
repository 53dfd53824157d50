"""Runs that were stored: a folder is checked as a whole, the data of a run are loaded again."""

import json
from functools import lru_cache
from pathlib import Path

from splitmerge_cli.config import ConfigError, check_stored
from splitmerge_cli.data.base import DataError, Dataset
from splitmerge_cli.data.opening import limited
from splitmerge_cli.data.standard_input import SIGN
from splitmerge_cli.results.names import CONFIG
from splitmerge_cli.results.read import Run
from splitmerge_cli.runs.datasets import construct, kind_of, loaded
from splitmerge_cli.runs.identity import DATA_FILES, file_digest


def open_run(path: str | Path | Run, config_dir: str | Path | None = None) -> Run:
    """A run's folder, which may come from anywhere: checked as a whole before anything of it is believed.

    Parameters
    ----------
    path : str, Path or Run
        The folder; or a run that was read, whose files are not read again where they were checked.
    config_dir : str or Path, optional
        The folder of the user's own groups that this invocation names.

    Raises
    ------
    FileNotFoundError
        It holds no run.
    DamagedRun
        A file is not what was written.
    ConfigError
        Its configuration is none that could be run: see `splitmerge_cli.config.check_stored`.
    """
    run = path if isinstance(path, Run) else Run(path, config_dir)
    run.check()
    # in the present words, whatever those were in which it was stored
    run.config = check_stored(run.config, run.path / CONFIG, run.config_dir)
    return run


def dataset_of(run: Run) -> Dataset:
    """The data set of a stored run, loaded again.

    Raises
    ------
    ConfigError, DataError
        A file that the run read is gone or was changed, a function that made the data is gone, or the configuration of
        the run is none that could be run.
    """
    config = check_stored(run.config, run.path / CONFIG, run.config_dir)
    options = config["data"]
    digests: dict[str, str] = {}
    file = run.path / CONFIG
    with limited(options.get("max_bytes")):
        for name, key in DATA_FILES.items():
            if stored := run.provenance.get(f"{name}_sha256"):
                path = options[key.removeprefix("data.")]
                digest = file_digest(key, path, options["_target_"])
                if digest != stored:
                    what = "no such file" if digest is None else "it was changed since the run"
                    expected = "the table on standard input" if path == SIGN else "the file"
                    raise DataError(f"{key}={path}: {what}; expected {expected} that {run.path} read")
                digests[name] = stored
        try:
            texts = (json.dumps(config[group], sort_keys=True) for group in ("data", "model"))
            dataset = _fitting(*texts, tuple(sorted(digests.items())))
        except (ConfigError, DataError) as error:
            raise type(error)(f"{file}: {error}") from error
    if run.done and run.summary["N"] != dataset.N:
        raise DataError(f"{file}: data of {dataset.N} items; expected the {run.summary['N']} of the run")
    return dataset


@lru_cache(maxsize=2)
def _fitting(data: str, model: str, digests: tuple[tuple[str, str], ...]) -> Dataset:
    """The data set of the options of group data, which the options of group model fit; both as JSON."""
    options = json.loads(model)
    dataset = loaded(json.loads(data), kind_of(options), dict(digests))
    # ranges of its options are checked by the model itself
    construct("model", options, lambda cls, given: cls.from_data(dataset, **given))
    return dataset
