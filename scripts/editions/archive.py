"""An archive of figures: their runs, pictures, numbers and claims, the environment, and the digests of all, in a zip.

What is received is read and compared, never executed; no path, size or digest in it is believed (docs/run-files.md).
"""

import hashlib
import json
import re
import stat
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editions.crate import METADATA, crate, environment
from editions.kept import figure_entry
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.opening import readable, require_file
from splitmerge_cli.papers.declaration import figures, paper_names, select
from splitmerge_cli.papers.drawing import manifest_of
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.report import FOLDER
from splitmerge_cli.papers.reproduce import Finished, command
from splitmerge_cli.papers.verdict_tables import read_claims
from splitmerge_cli.received import member, open_zip, parse_json, reject_machine_error
from splitmerge_cli.runs.store.files import MANIFEST, replace_file
from splitmerge_cli.runs.store.manifest import Manifest, sha256_of
from splitmerge_cli.runs.store.read import Run

SUMS = "SHA256SUMS"
ENVIRONMENT = "environment.json"
CONTENT = "figures.json"
RUNS = "runs"
_TIME = (1980, 1, 1, 0, 0, 0)
CHUNK = 1 << 20
MOST_FILES = 200_000
MOST_BYTES = 1 << 36
"""Unpacked, of all files of an archive."""
RATIO, ROOM = 250, 1 << 20
"""A file unpacks to at most so many times its packed size, and so many bytes more."""
SMALL = 1 << 27
"""Bytes of a file that is read as a whole."""


def write(
    ids: Sequence[str], scale: str, results: Path, file: Path, config_dir: str | Path | None = None
) -> tuple[list[str], str]:
    """Write the archive `file` of figures that were drawn from stored runs of the folder `results`.

    Other parameters as for `splitmerge_cli.papers.reproduce.plot`.

    Returns
    -------
    tuple
        The figures that it holds, and the SHA-256 of the zip. Of ``all`` or a paper those that are stored.

    Raises
    ------
    ConfigError
        A figure that is named, or every figure, is not stored at this scale.
    DamagedRun
        A file is not what was written.
    """
    names, known, finished = select(ids, config_dir), figures(config_dir), Finished(config_dir)
    titles, papers = dict(list_figures(config_dir)), paper_names(config_dir)
    runs_by_name = {
        name: runs for name in names if (runs := _find_stored(name, scale, results, known, finished)) is not None
    }
    absent = [name for name in names if name not in runs_by_name]
    if absent and (not runs_by_name or any(name in ids for name in absent)):
        makes = command(absent, scale, results, config_dir)
        raise ConfigError(f"{', '.join(absent)}: not stored at {scale} scale; this makes them: {makes}")
    packed: dict[str, Path] = {}
    told: dict[str, dict[str, Any]] = {}
    folders: dict[str, str] = {}
    for name, runs in runs_by_name.items():
        drawn = Manifest(manifest_of(results / FOLDER, name), f"smcmc plot {name} draws it again")
        drawn.check_all()
        files = {f"{FOLDER}/{one}": drawn.path.parent / one for one in [*drawn.names, drawn.path.name]}
        if known[name].compute:
            table = Manifest(results / name / MANIFEST)
            table.check_all()
            files |= {f"{name}/{one}": table.path.parent / one for one in [*table.names, MANIFEST]}
        packed |= files
        for run in runs:
            folder = f"{RUNS}/{run.path.parent.name}/{run.path.name}/"
            folders[folder] = f"run {run.path.name}: {run.summary['sampler']} on {run.summary['data']}"
            packed |= {folder + one: run.path / one for one in [*run.manifest.names, MANIFEST]}
        told[name] = figure_entry(name, scale, runs, titles, papers) | {
            "runs": [f"{RUNS}/{run.path.parent.name}/{run.path.name}/" for run in runs],
            "files": sorted(files),
        }
    others = {
        CONTENT: "the figures of this archive: commands, runs, files",
        ENVIRONMENT: "distributions, Python, machine and commit with which it was packed",
        SUMS: "SHA-256 of every other file",
    }
    written = {CONTENT: told, ENVIRONMENT: environment(), METADATA: crate(told, folders, others)}
    texts = {name: (json.dumps(value, indent=1, allow_nan=False) + "\n").encode() for name, value in written.items()}
    _pack(file, packed, texts)
    return list(runs_by_name), sha256_of(file)


def _find_stored(
    name: str, scale: str, results: Path, known: Mapping[str, Any], finished: Finished
) -> list[Run] | None:
    """The runs of a figure that was drawn at a scale; None where it was not."""
    claims = results / FOLDER / f"{name}-claims.csv"
    if not claims.is_file() or not manifest_of(results / FOLDER, name).is_file():
        return None
    drawn_at = set(read_claims(claims, f"smcmc plot {name} draws it again")["scale"])
    return finished.find(known[name], scale, results) if drawn_at == {scale} else None


def _pack(file: Path, packed: Mapping[str, Path], texts: Mapping[str, bytes]) -> None:
    """Write the zip, whole or not at all; equal content gives equal bytes."""
    sums = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(file) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as zipped:
        for name, text in sorted(texts.items()):
            zipped.writestr(_entry(name), text)
        for name, path in sorted(packed.items()):
            digest = hashlib.sha256()
            with member(path) as source, zipped.open(_entry(name), "w", force_zip64=True) as target:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
            sums[name] = digest.hexdigest()
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
        zipped.writestr(_entry(SUMS), lines.encode())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


@dataclass(frozen=True)
class Checked:
    """Contents of an archive, after every digest was compared: the number of files whose digest is right; what is
    wrong, each with the name of its file; ``figures.json``, empty where it is damaged; and the claims of each figure
    that is whole, by id."""

    files: int
    damage: list[str]
    figures: dict[str, dict[str, Any]]
    claims: dict[str, bytes]


def check(path: Path) -> Checked:
    """Read an archive that comes from anywhere, and compare every file with its digest; nothing is unpacked to disk.

    Raises
    ------
    ConfigError, DataError
        It is no archive that `write` wrote: another file, a name that leaves the folder, a link, more than
        the limits allow.
    """
    with readable(require_file(path, "an archive that keep_figures.py wrote")) as file:
        begin = file.read(4)
        file.seek(0)
        if begin != b"PK\x03\x04":
            raise ConfigError(f"{path}: no zip; expected an archive that keep_figures.py wrote")
        try:
            with open_zip(path, file, MOST_FILES) as zipped:
                _refuse(path, zipped.infolist())
                return _compare_digests(path, zipped)
        except (zipfile.BadZipFile, EOFError) as error:
            return Checked(0, [f"{path}: cut short, or its list of files is damaged ({error})"], {}, {})


def _refuse(path: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    """Raise where an entry is one that no archive of ours has."""
    if (size := sum(entry.file_size for entry in entries)) > MOST_BYTES:
        raise ConfigError(f"{path}: {size} bytes unpacked; expected at most {MOST_BYTES}")
    seen: set[str] = set()
    for entry in entries:
        name, kind = entry.orig_filename, stat.S_IFMT(entry.external_attr >> 16)
        wrong = None
        if not re.fullmatch(r"[\w.+=,-]+(/[\w.+=,-]+)*", name, re.ASCII) or {".", ".."} & {*name.split("/")}:
            wrong = "expected a path within the archive, of letters, digits and . _ - + = ,"
        elif kind not in (0, stat.S_IFREG):
            wrong = "a link or another special file; expected a regular one"
        elif name in seen:
            wrong = "listed twice"
        elif entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            wrong = "encrypted, or packed by a method that keep_figures.py does not use"
        elif entry.file_size > RATIO * entry.compress_size + ROOM:
            wrong = f"unpacks to more than {RATIO} times its size"
        if wrong:
            raise ConfigError(f"{path}: {name!r}: {wrong}")
        seen.add(name)


def _compare_digests(path: Path, zipped: zipfile.ZipFile) -> Checked:
    names = {entry.filename for entry in zipped.infolist()}
    if SUMS not in names:
        raise ConfigError(f"{path}: no {SUMS}; expected an archive that keep_figures.py wrote")
    damage: list[str] = []
    whole: dict[str, bytes] = {}
    good = 0
    sums = dict(_sums(zipped, damage))
    held = {CONTENT, *(name for name in sums if re.fullmatch(rf"{FOLDER}/[\w-]+-claims\.csv", name, re.ASCII))}
    for name in sorted(sums):
        if name not in names:
            damage.append(f"{name}: missing")
            continue
        content = _read(zipped, name, keep=name in held)
        if content is None or content[0] != sums[name]:
            damage.append(f"{name}: not what was written")
            continue
        good += 1
        if name in held:
            whole[name] = content[1]
    damage += [f"{name}: not in {SUMS}" for name in sorted(names - sums.keys() - {SUMS})]
    damage += [f"{name}: missing" for name in (METADATA, CONTENT, ENVIRONMENT) if name not in sums]
    told = _figures(path, whole[CONTENT], sums) if CONTENT in whole else {}
    claims = {name: whole[file] for name in told if (file := f"{FOLDER}/{name}-claims.csv") in whole}
    return Checked(good, damage, told, claims)


def _sums(zipped: zipfile.ZipFile, damage: list[str]) -> list[tuple[str, str]]:
    """Names and digests of ``SHA256SUMS``; what cannot be read is added to the damage."""
    content = _read(zipped, SUMS, keep=True)
    if content is None:
        damage.append(f"{SUMS}: not what was written")
        return []
    entries = []
    for line in content[1].decode("utf-8", "replace").splitlines():
        match = re.fullmatch(r"([0-9a-f]{64})  (\S+)", line)
        if match is None:
            damage.append(f"{SUMS}: not what was written")
            return []
        entries.append((match[2], match[1]))
    return entries


def _read(zipped: zipfile.ZipFile, name: str, keep: bool) -> tuple[str, bytes] | None:
    """Digest of a file, and its content if it is to be kept; None where it cannot be unpacked to the size it says."""
    digest, parts, size = hashlib.sha256(), [], 0
    expected = zipped.getinfo(name).file_size
    try:
        with zipped.open(name) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if size > expected or (keep and size > SMALL):
                    return None
                digest.update(chunk)
                if keep:
                    parts.append(chunk)
    except Exception as error:  # a damaged stream may raise whatever its reader does
        reject_machine_error(error, name)
        return None
    return digest.hexdigest(), b"".join(parts)


def _figures(path: Path, content: bytes, sums: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """``figures.json``, checked to be of figures that this program knows and of files that the archive lists."""
    try:
        told = parse_json(content)
        figure_entries: dict[str, dict[str, Any]] = {
            str(name): {
                "scale": {"quick": "quick", "paper": "paper"}[figure["scale"]],
                "seconds": float(figure["seconds"]),
                "runs": [str(run) for run in figure["runs"]],
                "files": [str(file) for file in figure["files"]],
            }
            for name, figure in told.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: {CONTENT}: expected what keep_figures.py writes") from error
    for name, figure in figure_entries.items():
        for file in [*figure["files"], *(f"{run}{MANIFEST}" for run in figure["runs"])]:
            if file not in sums:
                raise ConfigError(f"{path}: {CONTENT}: {name}: {file}: not in the archive")
    return figure_entries


def cheapest(told: Mapping[str, Mapping[str, Any]]) -> str:
    """The figure whose runs took the least time."""
    return min(told, key=lambda name: (told[name]["seconds"], len(told[name]["runs"]), name))
