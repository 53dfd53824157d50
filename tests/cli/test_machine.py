"""A lack of memory, threads, open files, room or permission is no damage."""

import errno
import resource
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from refusals import make_numpy_error
from scipy.sparse import csr_array, save_npz

from splitmerge_cli import received, runs
from splitmerge_cli.config import compose
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.runs.store.files import DamagedRun, report_damage
from splitmerge_cli.runs.store.read import Run


def make_refusal(number: int) -> received.Refused:
    error = received.Refused("file", "cannot be read")
    error.__cause__ = OSError(number, "text")
    return error


MACHINE: dict[str, tuple[Exception, type[Exception]]] = {
    "memory": (MemoryError(), MemoryError),
    "memory of numpy": (make_numpy_error(1 << 20), MemoryError),
    "memory of arrow": (pa.ArrowMemoryError("malloc of size 64 failed"), MemoryError),
    "memory of zlib": (zlib.error("Error -4 while decompressing data"), MemoryError),
    "threads": (RuntimeError("can't start new thread"), MemoryError),
    "open files": (OSError(errno.EMFILE, "Too many open files"), OSError),
    "open files, refused": (make_refusal(errno.EMFILE), OSError),
    "room": (OSError(errno.ENOSPC, "No space left on device"), OSError),
    "mapped memory": (OSError(errno.ENOMEM, "Cannot allocate memory"), OSError),
    "permission": (PermissionError(errno.EACCES, "Permission denied"), OSError),
    "permission, refused": (make_refusal(errno.EACCES), OSError),
}


@pytest.mark.parametrize("what", MACHINE)
def test_a_run_is_not_called_damaged(tmp_path: Path, what: str) -> None:
    error, expected = MACHINE[what]
    path = tmp_path / "summary.json"
    path.write_text("{}")
    with pytest.raises(expected) as raised, report_damage(path):
        raise error
    assert not isinstance(raised.value, DamagedRun) and str(path) in str(raised.value)

    def translate() -> None:
        try:
            raise error
        except Exception as cause:
            raise ValueError("some library's own") from cause

    with pytest.raises(expected), report_damage(path):
        translate()


@pytest.mark.parametrize("error", [ValueError("x"), OSError("no number"), zlib.error("Error -3 bad"), RecursionError()])
def test_content_is_damage_still(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "summary.json"
    path.write_text("{}")
    with pytest.raises(DamagedRun, match="damaged"), report_damage(path):
        raise error


def write_sparse(path: Path) -> None:
    save_npz(path, csr_array(FRAME.to_numpy()))


def write_graph(path: Path) -> None:
    networkx.write_graphml(networkx.path_graph(4), path)


def write_sheet(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in ((1.5, 2.5), (2.5, 3.5)):
        book.active.append(row)
    book.save(path)


FRAME = pd.DataFrame({"a": [1.5, 2.5], "b": [2.5, 3.5]})


def read_table(path: str) -> Any:
    return csv(path, kind="points")


READERS: dict[str, tuple[Callable[[Path], Any], Callable[..., Any], str]] = {
    "a.npy": (lambda path: np.save(path, FRAME.to_numpy()), read_table, "numpy.lib.format.read_array"),
    "a.npz": (write_sparse, read_table, "scipy.sparse.csr_array.sum_duplicates"),
    "a.xlsx": (write_sheet, read_table, "openpyxl.load_workbook"),
    "a.parquet": (FRAME.to_parquet, read_table, "pyarrow.parquet.ParquetFile"),
    "a.feather": (FRAME.to_feather, read_table, "pyarrow.ipc.open_stream"),
    "a.graphml": (write_graph, edges, "networkx.read_graphml"),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("error", [pa.ArrowMemoryError("malloc failed"), OSError(errno.EMFILE, "Too many open files")])
def test_data_are_not_called_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: Exception
) -> None:
    write, read, function = READERS[name]
    path = tmp_path / name
    write(path)

    def fail(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(function, fail)
    with pytest.raises((MemoryError, OSError, received.DataError)) as raised:
        read(str(path))
    assert "not a readable" not in str(raised.value) and isinstance(raised.value, received.DataError) <= isinstance(
        error, OSError
    )


@pytest.fixture
def run() -> Run:
    return Run(runs.run(compose(["data=emm", "N=20", "sampler=sdds", "iterations=50", "chains=2", "progress=none"])))


def test_commands_tell_what_is_missing_and_leave_the_run(smcmc, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(received, "parse_json", fail)
        ended = smcmc("summary", str(run.path))
    assert ended.exit_code == 1
    assert ended.stderr.startswith("smcmc: not enough memory: ") and "is left as it is" in ended.stderr
    assert "damaged" not in ended.stderr and "resume=false" not in ended.stderr
    assert smcmc("summary", str(run.path)).exit_code == 0


SCRIPT = """
import resource, sys
from splitmerge_cli.runs.store.files import DamagedRun
from splitmerge_cli.runs.store.read import Run
run = Run(sys.argv[1])
if sys.argv[2] == "files":
    run.rows()  # what is imported late
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # a file that a thread closes makes no room
for read in (lambda: run.rows(), lambda: run.states(), lambda: Run(sys.argv[1]).summary):
    try:
        read()
        print("read")
    except (OSError, MemoryError) as error:
        print(type(error).__name__, getattr(error, "errno", ""))
"""


def test_a_process_without_a_file_to_open(run: Run) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, run.path, "files"], capture_output=True, text=True, check=False
    )
    assert ended.stdout.splitlines() == [f"OSError {errno.EMFILE}"] * 3, ended.stdout + ended.stderr


def test_small_files_take_little_memory(run: Run) -> None:
    """A GB was set aside for every summary."""
    tracemalloc.start()
    received.read(run.path / "summary.json", received.LARGE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    limit = 900 << 20
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, run.path, "memory"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={"OPENBLAS_NUM_THREADS": "1"},
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines() == ["read"] * 3, ended.stdout + ended.stderr
