"""Oracle of the fuzzed configurations: what may become of a command, in the process of `child`."""

import os
import re
import shutil
import sys
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import catalogue
import numpy as np
from typer.testing import CliRunner

from splitmerge_cli import runs
from splitmerge_cli.cli import app


@cache
def get_catalogue() -> "catalogue.Catalogue":
    """The catalogue of the working folder."""
    return catalogue.derive()


def call(*args: str) -> Any:
    """``smcmc ARGS``: a result with exit_code, stdout, stderr; warnings are part of stderr, as a user sees them."""
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        warnings.showwarning = lambda *format_result, **_: print("warning:", *format_result[:4], file=sys.stderr)
        return CliRunner().invoke(app, list(args))


def format_result(result: Any) -> str:
    """A result for people."""
    trace = ""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        trace = "".join(traceback.format_exception(result.exception))
    return f"status {result.exit_code}\nstdout: {result.stdout[-500:]}\nstderr: {result.stderr[-1500:]}\n{trace}"


def listing(folder: Path) -> list[tuple[str, int, int]]:
    """Everything in a folder."""
    found = []
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            stat = os.lstat(os.path.join(place, name))
            size = stat.st_size if name in files else 0
            time = stat.st_mtime_ns if name in files else 0
            found.append((os.path.relpath(os.path.join(place, name), folder), size, time))
    return sorted(found)


def rejection(result: Any) -> str | None:
    """Why a result is not one message of bad input; None if it is."""
    lines = result.stderr.splitlines()
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "a traceback"
    if len(lines) != 1 or not lines[0].startswith("smcmc: ") or "Traceback" in lines[0]:
        return f"{len(lines)} lines on stderr; expected one that begins with smcmc:"
    return None if result.stdout == "" else "output of a rejected command"


def configuration(args: list[str], follow: bool, plotted: bool) -> tuple[str, str]:
    """Run a configuration in the working folder, which holds the files of the catalogue.

    Returns
    -------
    status : {"accepted", "rejected", "traceback", "wrong"}
    why : str
        Of the last two; of a rejection the message.
    """
    known = get_catalogue()  # before the folder is looked at
    above = Path("..").resolve()
    before = listing(above)
    result = call("run", *args)
    try:
        if result.exit_code == 2 and isinstance(result.exception, SystemExit):
            wrong = rejection(result) or _nameless(result.stderr, args, known)
            if wrong is None and listing(above) != before:
                wrong = f"files were written: {sorted({*listing(above)} ^ {*before})[:6]}"
            return ("wrong", f"{wrong}\n{format_result(result)}") if wrong else ("rejected", result.stderr.strip())
        if result.exit_code != 0:
            kind = "wrong" if isinstance(result.exception, SystemExit) else "traceback"
            return kind, format_result(result)
        wrong = _whole(result, args, follow, plotted)
        return ("wrong", f"{wrong}\n{format_result(result)}") if wrong else ("accepted", "")
    finally:
        kept = {name for name, *_ in before}
        for name, *_ in reversed(listing(above)):
            if name not in kept:
                path = above / name
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def _nameless(message: str, args: list[str], known: "catalogue.Catalogue") -> str | None:
    """Why a message names neither a key nor a file; None if it does."""
    names = {key.rpartition(".")[2] for key in known.keys} | {Path(file).name for file in known.files}
    names |= {part for arg in args for part in re.split(r"[=.,]", " ".join(arg.split())) if part}
    return None if any(name in " ".join(message.split()) for name in names) else "no key and no file is named"


def _whole(result: Any, args: list[str], follow: bool, plotted: bool) -> str | None:
    """Describe an error of a run that was made; None if it has none."""
    lines = result.stdout.splitlines()
    if not lines or "Traceback" in result.stderr or "warning:" in result.stderr:
        return "no folder on stdout, or a warning"
    run = runs.open_run(lines[-1])
    if run.status["state"] != "done" or not runs.is_done(run.path):
        return f"state {run.status['state']}"
    trace, N = run.trace(), run.summary["N"]
    if not np.isfinite(trace[["log_joint", "log_lik"]].to_numpy()).all():
        return "a density that is no number"
    if sorted(trace["chain"].unique()) != list(range(run.config["chains"])):
        return "a chain without a trace"
    if (trace["n_clusters"] < 1).any() or (trace["n_clusters"] > N).any() or (trace["K"] < trace["n_clusters"]).any():
        return "an impossible number of clusters"
    for key in ("point_estimate", "highest_log_joint", "highest_log_lik"):
        labels = run.summary[key].get("labels", [])
        if labels and (len(labels) != N or sorted(set(labels)) != list(range(run.summary[key]["n_clusters"]))):
            return f"labels of {key}"
    partitions = run.partitions()
    if len(partitions) and any(labels.min() != 0 or len(labels) != N for labels in partitions["labels"]):
        return "labels of a partition"
    path = str(run.path)
    if follow:
        again = call("run", *[arg for arg in args if not arg.startswith("resume")])
        if again.exit_code != 0 or "already finished" not in again.stderr:
            return f"not already finished: {format_result(again)}"
        diagnosed = call("diagnose", path)
        if diagnosed.exit_code != 0 or diagnosed.stderr:
            return f"diagnose: {format_result(diagnosed)}"
    if plotted:
        drawn = call("plot", path)
        if drawn.exit_code != 0 or drawn.stderr or not (run.path / "traces.png").is_file():
            return f"plot: {format_result(drawn)}"
    return None
