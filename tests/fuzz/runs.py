"""Oracle of runs' folders that are damaged, or that somebody made, in the process of `child`."""

import hashlib
import json
import os
import re
import shutil
import sys
import traceback
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from broken_runs import break_off
from typer.testing import CliRunner

from splitmerge_cli import runs
from splitmerge_cli.cli import app
from splitmerge_cli.config import compose
from splitmerge_cli.runs.store import manifest
from splitmerge_cli.runs.store.files import CONFIG, STATUS, WORK
from splitmerge_cli.runs.store.manifest import MANIFEST, write_manifest, write_sealed
from splitmerge_cli.runs.store.read import find_runs
from splitmerge_cli.runs.store.store import TOGETHER

COMMON = ["chains=1", "iterations=9", "timing=false", "progress=none"]
"""Options of every run that has no others."""
UNREAD = (".partitions.arrows", ".topic_sizes.arrows", ".heldout.arrows")
"""Files of an unfinished run of which no picture is drawn."""
RUNS = {
    "points": ["data=gaussian", "N=12", "data.components=2", "chains=2", "trace.partitions=1"],
    "lines": ["data=lines", "N=9", "model.conjugate=false", "sampler=sams"],
    "topics": ["data=docs200", "N=4", "data.length=6", "data.heldout=0.5", "perplexity.every=5", "sampler=smag"],
    "network": ["data=networkx", "data.graph=florentine", "sampler=gibbs"],
    "tokens": ["N=10", "schedule=[{sdds: 1}, {gibbs: 2}]"],
}
"""Runs that are finished."""
HALF = {
    "half": ["data=gaussian", "N=12", "data.components=2", "trace.partitions=2"],
    "half-lines": ["data=lines", "N=9", "model.conjugate=false", "model.concentration=gamma(1,1)", "sampler=sams"],
    "half-arm": ["data=networkx", "data.graph=florentine", "sampler=arm", "chains=2", "warmup=3"],
    "half-topics": [*RUNS["topics"][:4], "perplexity.every=200", "sampler=smag"],
}
"""Runs that are not."""
LONG = 4000


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


def make_runs() -> dict[str, list[str]]:
    """Make the runs; the files of each, by the name of the run."""
    for name, args in (RUNS | HALF).items():
        if Path("made", name).exists():
            continue
        overrides = [*COMMON, *args, f"out=made/{name}"]
        if name in HALF:
            break_off(*overrides, f"iterations={LONG}")
        else:
            runs.run(compose(overrides))
    return {name: _files(next(Path("made", name).glob("*/*"))) for name in RUNS | HALF}


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def damage_run(name: str, damages: list[tuple[Any, ...]], sealed: bool, command: str) -> tuple[str, str]:
    """Damage a copy of a run, perhaps seal it again, and give a command.

    Returns
    -------
    status : {"accepted", "rejected", "traceback", "wrong"}
    why : str
    """
    shutil.rmtree("results", ignore_errors=True)
    for trace in ("executed", "report.html"):
        Path(trace).unlink(missing_ok=True)
    source = next(Path("made", name).glob("*/*"))
    folder = Path("results") / source.parent.name / source.name
    shutil.copytree(source, folder)
    for file, *how in damages:
        _damage(folder, folder / file, *how)
    if sealed:
        _seal(folder)
    harmless = _contents(source) == _contents(folder)
    half = [f"iterations={LONG}"] if name in HALF else []
    args = {
        "run": ["run", *COMMON, *(RUNS | HALF)[name], *half],
        "diagnose": ["diagnose", "results"],
        "plot": ["plot", str(folder)],
        "report": ["report"],
    }[command]
    result = call(*args)
    said = f"{command}\n{format_result(result)}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "traceback", said
    if Path("executed").exists():
        return "wrong", f"something was executed: {said}"
    if result.exit_code not in (0, 1, 2) or "Traceback" in result.stderr:
        return "wrong", said
    if result.exit_code:
        # notes on the data, with their further lines, may stand above
        lines = re.sub(r"^smcmc: note: .*\n(  .*\n)*", "", result.stderr, flags=re.MULTILINE).splitlines()
        if len(lines) != 1 or not lines[0].startswith("smcmc: "):
            return "wrong", f"{len(lines)} lines on stderr: {said}"
        if "results" not in lines[0]:
            return "wrong", f"no file is named: {said}"
        return ("wrong", f"rejected, though nothing was changed: {said}") if harmless else ("rejected", lines[0])
    if sealed or harmless or command == "report":
        return "accepted", ""
    if command == "diagnose" and result.stdout == _diagnosis(name, folder):
        return "accepted", ""  # of a file that is not looked at
    if command == "plot" and all(file.endswith(UNREAD) for file, *_ in damages):
        return "accepted", ""
    if command == "run":
        again, whole = find_runs("results")[0], find_runs(Path("made", name if name in RUNS else f"whole-{name}"))
        if name in HALF and not whole:
            runs.run(compose([*COMMON, *HALF[name], *half, f"out=made/whole-{name}"]))
            whole = find_runs(f"made/whole-{name}")
        same = again.trace().equals(whole[0].trace()) and again.complete
        return ("accepted", "") if same else ("wrong", f"another trace than was written: {said}")
    return "wrong", f"damage was believed: {said}"


@cache
def _diagnosis(name: str, folder: Path) -> str:
    """Diagnosis of the run as it was written."""
    shutil.rmtree("results")
    shutil.copytree(next(Path("made", name).glob("*/*")), folder)
    return str(call("diagnose", "results").stdout)


def _contents(folder: Path) -> dict[str, bytes]:
    """Files of a run: those that the manifest of a finished one lists, and itself."""
    known = [*os.listdir(folder)] if (folder / WORK).exists() else []
    if not known and (folder / MANIFEST).is_file():
        try:
            known = [MANIFEST, *json.loads((folder / MANIFEST).read_bytes())["files"]]
        except Exception:
            known = [MANIFEST]
    if (folder / WORK).is_dir():
        known = [name for name in _files(folder) if not name.endswith(("lock", "reserve")) and "extra" not in name]
    # a damaged manifest may list anything
    files = {str(name): folder / str(name) for name in known}
    return {name: file.read_bytes() if file.is_file() else b"gone" for name, file in files.items()}


# damages


def _damage(folder: Path, path: Path, how: str, *args: Any) -> None:
    if how == "extra":
        path.with_name("extra").write_bytes(args[0])
        return
    if not path.is_file():
        return
    content = bytearray(path.read_bytes())
    at = int(args[0] * len(content)) if args and isinstance(args[0], float) else 0
    if how == "flip" and content:
        content[at] ^= 1 << args[1]
    elif how == "cut":
        del content[at:]
    elif how == "insert":
        content[at:at] = args[1]
    elif how == "garbage":
        content = bytearray(args[0])
    elif how in ("gone", "folder", "link"):
        path.unlink()
        if how == "folder":
            path.mkdir()
        elif how == "link":
            path.symlink_to(args[0])
        return
    elif how == "swap":
        other = next(Path("made", args[0]).glob("*/*")) / path.relative_to(folder)
        if other.is_file():
            content = bytearray(other.read_bytes())
    elif how in ("value", "table"):
        # what was damaged before may be none of its kind any more, or what the format does not hold is asked for
        with suppress(Exception):
            (_set_value if how == "value" else _set_table)(path, *args)
        return
    path.write_bytes(content)


def _leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of everything within nested dicts and lists."""
    yield place
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*place, key))
    elif isinstance(value, list):
        for key, item in enumerate(value[:3]):
            yield from _leaves(item, (*place, key))


def change_value(value: Any, where: float, what: Any) -> Any:
    """`value` with something else at one of its places; `what` is "gone" (left out), or (something,)."""
    places = list(_leaves(value))
    *path, last = places[int(where * len(places))] or (None,)
    if last is None:
        return {} if what == "gone" else what[0]
    node = value
    for key in path:
        node = node[key]
    if what == "gone":
        del node[last]
    else:
        node[last] = what[0]
    return value


def _set_value(path: Path, where: float, what: Any) -> None:
    """Change a value in a file of nested values."""
    if path.name == CONFIG:
        path.write_text(yaml.safe_dump(change_value(yaml.safe_load(path.read_text()), where, what)))
    elif path.suffix == ".json":
        path.write_text(json.dumps(change_value(json.loads(path.read_text()), where, what)))
    elif path.suffix == ".npz":
        _reseal(path)
        value = change_value(manifest.load(path), where, what)
        manifest.save(path, value if isinstance(value, dict) else {"value": value})


def _set_table(path: Path, how: str, where: float, value: Any) -> None:
    """Change a table: its columns, their types, its rows."""
    if path.suffix == ".csv":
        lines = path.read_text().splitlines()
        lines[int(where * len(lines))] = str(value)
        path.write_text("\n".join(lines))
        return
    if path.suffix != ".parquet":
        return
    table = pq.read_table(path, partitioning=None)
    metadata = table.schema.metadata
    j = int(where * table.num_columns)
    field = table.schema.field(j)
    if how == "drop":
        table = table.remove_column(j)
    elif how == "rename":
        table = table.rename_columns(["other" if k == j else name for k, name in enumerate(table.column_names)])
    elif how == "rows":
        table = table.slice(0, int(value)) if isinstance(value, int) and value >= 0 else table.slice(0, 0)
    elif how == "double":
        table = pa.concat_tables([table, table])
    elif how == "metadata":
        metadata = {b"smcmc": json.dumps(value).encode()} if where < 0.5 else None
    elif how == "null":
        table = table.set_column(j, field, pa.nulls(table.num_rows, field.type))
    else:
        column = _column(value, table.num_rows, field.type if how == "values" else None)
        table = table.set_column(j, field.name, column)
    pq.write_table(table.replace_schema_metadata(metadata), path)


def _column(value: Any, rows: int, kind: Any) -> pa.Array:
    """A column of one value, of a type or of that of the value."""
    if kind is not None and pa.types.is_list(kind) and not isinstance(value, list):
        value = [value]
    return pa.array([value] * rows, type=kind)


def _seal(folder: Path) -> None:
    """Make all digests of a folder fit what is in it."""
    config, status, files = (folder / name for name in (CONFIG, STATUS, MANIFEST))
    try:
        values = json.loads(status.read_bytes())
        values.pop("sha256", None)
        if config.is_file() and "config_sha256" in values:
            values["config_sha256"] = hashlib.sha256(config.read_bytes()).hexdigest()
        write_sealed(status, values)
    except Exception:
        pass  # it is none any more
    if not (folder / WORK).is_dir():
        try:
            listed = json.loads(files.read_bytes())["files"]
            if {name: listed[name].keys() for name in listed} == {name: {"bytes", "sha256"} for name in listed}:
                write_manifest(files, [name for name in listed if (folder / name).is_file()])
            else:
                write_sealed(files, {"files": listed})
        except Exception:
            pass
        return
    # streams: their marks are in the checkpoints
    for checkpoint in (folder / WORK).glob("*.npz"):
        try:
            saved = manifest.load(checkpoint)
            entries = saved["chains"] if checkpoint.name == TOGETHER else [saved]
            for number, entry in enumerate(entries):
                chain = number if checkpoint.name == TOGETHER else int(checkpoint.stem.partition("-")[2])
                for table in entry["marks"]:
                    stream = folder / WORK / f"chain-{chain}.{table}.arrows"
                    if stream.is_file() and entry["marks"][table][0] > 0:
                        content = stream.read_bytes()[: max(entry["marks"][table][0], 0)]
                        entry["marks"][table] = [len(content), zlib.crc32(content)]
            manifest.save(checkpoint, saved)
        except Exception:
            # not one of the class any more, or damaged in its bytes: the CRC alone is made to fit
            _reseal(checkpoint)


def _reseal(checkpoint: Path) -> None:
    """Make the CRC-32 of a checkpoint fit its bytes."""
    content = checkpoint.read_bytes()[: -manifest._TRAILER.size]
    checkpoint.write_bytes(content + manifest._TRAILER.pack(manifest._MAGIC, zlib.crc32(content)))
