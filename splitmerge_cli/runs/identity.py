"""Identity of a run: its id, its folder, and whether the folder holds the run.

What a finished run needs is imported late: its id follows from the configuration and the digests of files alone.
"""

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from splitmerge_cli.config import DataSource, RunSpecification, errors, schema
from splitmerge_cli.data.opening import MAPPABLE, limit_bytes, sha256
from splitmerge_cli.data.values import READING
from splitmerge_cli.runs.store.files import LOCK, STATUS, WORK, is_locked
from splitmerge_cli.runs.store.read import Run

DATA_FILES = {
    "data": "data.path",
    "nodes": "data.nodes",
    "unknown": "data.unknown",
    "vocabulary": "data.vocabulary",
    "stop_words": "data.stop_words",
    "must_link": "data.must_link",
    "cannot_link": "data.cannot_link",
    "other": "data.other",
}
"""Keys of the files that a data set is read from."""
NO_FILES = {"data.stop_words": ("none", "english", "auto")}
"""Values of such a key that name something else."""
LENGTH = ("iterations", "budget", "until", "gap")
"""Keys that decide where chains end or how their draws are used, and change no draw."""
DECIDING = ("data", "model", "sampler", "seed", "N")
"""Keys that decide what ``auto`` stands for."""


SETTLED = 100_000_000
"""Nanoseconds since a file was written after which its time tells a change."""
_digests: dict[tuple[Any, ...], str] = {}
"""Digests by the state of a file. All jobs of a grid name one file, and whoever reads it asks whether it changed
meanwhile: without these each would read the whole file again. A specification can hold no digest: it may outlive the
content of the file that it names."""


def of_data(digests: Mapping[str, str]) -> dict[str, str]:
    """The digests of the files that the data are read from."""
    return {name: digest for name, digest in digests.items() if name in DATA_FILES}


def file_digest(key: str, path: str, data: DataSource) -> str | None:
    """SHA-256 of the file that `key` names; None if it is missing, which its reader reports.

    If `data` reads folders of texts, also the digest of such a folder.
    """
    try:
        # a file is read once for its digest: another content has another time, unless it was written just now
        status = os.stat(path)
        state = (path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        is_settled = stat.S_ISREG(status.st_mode) and time.time_ns() - max(state[3:]) > SETTLED
        if is_settled and (known := _digests.get(state)):
            return known
    except (OSError, ValueError):  # whoever reads it says what is wrong
        state = None
    try:
        digest = sha256(path, f"{key}={path}", held=not path.lower().endswith(MAPPABLE))
        if state is not None:
            _digests[state] = digest
        return digest
    except IsADirectoryError:
        digest_folder: Callable[[str], str] | None = getattr(data.function, "digest_folder", None)
        return digest_folder(path) if digest_folder and key == "data.path" and path else None
    except (FileNotFoundError, NotADirectoryError):
        return None


def file_digests(data: DataSource, init: str | None = None) -> dict[str, str]:
    """SHA-256 of the files that the data of a run are read from, and of its initial state, by the key that names
    them."""
    files = {name: (key, data.values.get(key.removeprefix("data."))) for name, key in DATA_FILES.items()}
    files["init"] = ("init", init)
    # the nodes of a network may be a number
    named = {
        name: (key, path)
        for name, (key, path) in files.items()
        if isinstance(path, str) and path not in schema.INITIAL and path not in NO_FILES.get(key, ())
    }
    with limit_bytes(data.max_bytes):
        return {name: digest for name, file in named.items() if (digest := file_digest(*file, data))}


def run_id(spec: RunSpecification, digests: Mapping[str, str] | None = None) -> str:
    """Identity of a run: a hash of its resolved configuration and the files that it reads.

    Keys that change nothing that is computed (resume, workers, out, progress, experiment) do not enter. `digests`:
    SHA-256 of the files under the keys data, nodes, vocabulary and init, where known; otherwise the files are read.
    """
    return _hash(spec, file_digests(spec.data, spec.init) if digests is None else digests)


def chains_id(spec: RunSpecification, digests: Mapping[str, str]) -> str:
    """Identify the chains of a run, wherever they end: its identity without the keys `LENGTH`.

    Two runs of equal chains differ in how far these go, and in which of their partitions are recorded.
    """
    return _hash(spec, digests, LENGTH)


def choice_id(spec: RunSpecification, by: Mapping[str, Any]) -> str:
    """Identify what ``auto`` stands for in a run: its data, model, sampler and seed, what of these is named, and how
    candidates are compared (`by`)."""
    named = [key for key in spec.given_keys.keys if key.partition(".")[0] in ("data", "model")]
    question = {"named": sorted(named), "to_choose": sorted(spec.to_choose), "by": by, "reading": READING}
    return _hash(spec, file_digests(spec.data), [key for key in spec.identity if key not in DECIDING], **question)


def _hash(spec: RunSpecification, digests: Mapping[str, str], left_out: Collection[str] = (), **more: Any) -> str:
    values = {key: value for key, value in spec.identity.items() if key not in left_out} | more
    values |= errors.rename(values, errors.former)
    values["data"] |= {DATA_FILES[name].removeprefix("data."): digest for name, digest in of_data(digests).items()}
    if "init" in digests:
        values["init"] = digests["init"]
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_dir(spec: RunSpecification) -> Path:
    """The folder of a run: ``OUT/<experiment or sampler-data>/<run id>``."""
    return spec.folder / run_id(spec)


def complete(path: Path) -> Run | None:
    """Return the finished run at `path`, each file checked to be what was written; or None.

    The run remembers that its files were checked, so that they are read once. Raises `DamagedRun` (a file is not what
    was written).
    """
    return run if (path / STATUS).is_file() and (run := Run(path)).complete else None


def is_done(path: Path) -> bool:
    """Whether a finished run is at `path`, with all its files; raises `DamagedRun` if one is damaged."""
    return complete(path) is not None


def is_written(path: Path) -> bool:
    """Whether a process writes the run at `path`."""
    return is_locked(path / WORK / LOCK)


def finished_run(spec: RunSpecification) -> Run | None:
    """Return the run that was finished before and need not be made again; or None.

    Neither data nor model is built for it, and nothing that reads tables imported: a run with this identity was
    finished, so its data set and its files are good. Raises `DamagedRun` (a file of the run is not what was written).
    """
    # where nothing of the kind was run no file is read for its digest
    if not spec.resume or not spec.folder.is_dir():
        return None
    try:
        folder = run_dir(spec)
    except (OSError, TypeError, ValueError):  # who reads the data says what is wrong
        return None
    run = complete(folder)
    # what other rules of reading make of its files is to be seen
    return run if run is not None and run.status.get("reading") == READING else None
