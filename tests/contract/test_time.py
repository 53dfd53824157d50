"""Uses of the time are listed, with what they change: results depend on it only where seconds were asked for."""

import ast
import re
from pathlib import Path

import pytest
from sources import parse

import splitmerge_cli

ROOT = Path(splitmerge_cli.__file__).parent
CLOCKS = {"monotonic", "time", "perf_counter", "thread_time", "process_time", "sleep", "time_ns", "now", "today"}
# Path -> what the time changes there
ALLOWED = {
    "api/certifying.py": "progress",
    "fits/candidates.py": "the column `seconds` of the table of covariances, which decides nothing",
    "fits/short_fits.py": "progress",
    "data/downloads.py": "a download is given up, with a message",
    "papers/report.py": "the date of a page",
    "runs/store/files.py": "a lock that another process holds for so long is an error: nothing is written",
    "runs/store/store.py": "when a run began and was written to, which status.json says",
    "analysis/coupled_pairs.py": "pairs that are begun (--seconds), the column `seconds`, when pairs are stored",
    "runs/sweeps/job.py": "patience: workers that do not come are an error",
    "runs/drive.py": "budget: when sampling ends; otherwise progress, when checkpoints are written, how a stop goes on",
    "runs/starts.py": "budget: when the search for a start ends",
    "runs/identity.py": "whether the digest of a file is taken again, which finds the same",
    "runs/progress.py": "progress",
    "runs/sweeps/queued_jobs.py": "when the queue is asked; a job that left it without a result is continued",
    "runs/sweeps/sweep.py": "when a run that another process writes is looked at again",
    "runs/shards/run.py": "when checkpoints are written, and when a worker that does not answer is looked for",
}


def asks_the_time(tree: ast.AST) -> bool:
    """Whether a module asks a clock, sleeps, or waits for so long and no longer."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS:
            if ast.unparse(node.value) in ("time", "datetime", "date"):
                return True
        elif isinstance(node, ast.Call):
            if any(word.arg == "timeout" for word in node.keywords):
                return True
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            return True
    return False


@pytest.mark.xdist_group("sources")
def test_every_module_that_depends_on_the_time_is_listed() -> None:
    paths = sorted(ROOT.rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix() for path in paths if asks_the_time(parse(path))}
    assert found == ALLOWED.keys()


def test_of_compiled_modules_two_ask_the_time() -> None:
    """For the budget and the column `seconds`; and what ends a process that does not stop."""
    clock = re.compile(r"\w*(time|sleep|alarm|timer)\(")
    sources = [path for kind in ("*.pyx", "*.pxd", "*.h") for path in ROOT.rglob(kind)]
    found = {path.stem for path in sources if clock.search(path.read_text())}
    assert found == {"chain", "interrupt"}
