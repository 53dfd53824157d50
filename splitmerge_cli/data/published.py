"""Published data sets: what they are, where they come from, whether they are here.

A set is a folder of its name in the folder that the environment variable SMCMC_DATA names (default: the user's cache).
A file whose SHA-256 is known is read only if it has it: the name of the set then stands for its content,
in the identity of a run too.
"""

import hashlib
import os
import shutil
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import platformdirs

from splitmerge_cli.data.base import DataError

VARIABLE = "SMCMC_DATA"


@dataclass(frozen=True)
class File:
    """One file of a set: its name, size in bytes and SHA-256, and an address to fetch it from, where known."""

    name: str
    size: int | None = None
    sha256: str | None = None
    address: str | None = None


@dataclass(frozen=True)
class Published:
    """A published data set.

    Attributes
    ----------
    name : str
        Its folder; also that of ``conf/data/NAME.yaml``.
    kind : str
        As in `Dataset`.
    N : str
        Number of items, in words.
    what, paper, source, terms : str
        What it holds, the paper that uses it, where it comes from and how it was converted, terms of use.
    files : tuple of File
        What the folder holds.
    """

    name: str
    kind: str
    N: str
    what: str
    paper: str
    source: str
    terms: str
    files: tuple[File, ...]


_NOPARAMA = "https://github.com/mrquincle/noparama-datasets, commit 533d3ff0d27d00212716d702ef7bb97cf6260029"

SETS = {
    published.name: published
    for published in (
        Published(
            name="noparama_lines",
            kind="points",
            N="200",
            what="100 sets of 200 points on 2 to 13 lines, with the true line of every point (columns dataset, x, y, "
            "cluster)",
            paper="004; likely, but not stated to be, the data of its Table 1",
            source=f"folder lines of {_NOPARAMA}; 100 pairs of text files, here joined into one table",
            terms="none stated",
            files=(
                File(
                    "points.csv.gz",
                    265_246,
                    "8da534071b2c8cb814310ac99b16e4dce9a0a1d21948a9fc8b51170509e92d51",
                ),
            ),
        ),
        Published(
            name="noparama_twogaussians",
            kind="points",
            N="200",
            what="100 points each from N((0,0), I) and N((5,5), I), with the true one (columns x, y, cluster)",
            paper="none; the example of the program that paper 004 names",
            source=f"twogaussians/twogaussians.data of {_NOPARAMA}; here with the columns named",
            terms="none stated",
            files=(
                File(
                    "points.csv.gz",
                    2_415,
                    "f32291deb91d24bb973d6327e8fe4c0ac4f513002646ec33a50af5348f696ab0",
                ),
            ),
        ),
    )
}


def folder() -> Path:
    """Where the published sets are: SMCMC_DATA, or the user's cache folder."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("smcmc")


def present(name: str) -> bool:
    """Whether all files of a set are in their folder; they are not read."""
    return all((folder() / name / file.name).is_file() for file in SETS[name].files)


def locate(name: str, file: str) -> Path:
    """Path of a file of a published set, checked against its SHA-256 where that is known.

    Raises
    ------
    DataError
        It is absent, cannot be read, or is not the published one.
    """
    path = folder() / name / file
    if not path.is_file():
        raise DataError(
            f"data={name}: {path}: no such file; expected it in the folder that the environment variable {VARIABLE} "
            f"names (smcmc data info {name} says where it comes from)"
        )
    expected = next(f.sha256 for f in SETS[name].files if f.name == file)
    if expected is not None:
        _check(path, expected)
    return path


def _check(path: Path, expected: str) -> None:
    try:
        with path.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    if found != expected:
        raise DataError(f"{path}: SHA-256 {found}; expected {expected}, that of the published file")


def describe(name: str) -> str:
    """Provenance, terms, sizes of a set, and whether it is here: lines of text."""
    of = SETS[name]
    where = "present" if present(name) else "absent"
    lines = [f"What:    {of.what}", f"Paper:   {of.paper}", f"Source:  {of.source}", f"Terms:   {of.terms}"]
    lines.append(f"Folder:  {folder() / name} ({where}; {VARIABLE} names the folder above it)")
    for file in of.files:
        size = "" if file.size is None else f", {file.size:,} bytes"
        lines.append(f"File:    {file.name}{size}, SHA-256 {file.sha256 or 'not known'}")
    return "\n".join(lines)


def fetch(name: str) -> Path:
    """Download what is missing of a set; a file appears whole, and with the right SHA-256 where that is known.

    Returns
    -------
    Path
        The folder of the set.

    Raises
    ------
    DataError
        A missing file has no address, cannot be had, or is not the published one.
    """
    of, target = SETS[name], folder() / name
    for file in of.files:
        path = target / file.name
        if path.is_file():
            locate(name, file.name)
        elif file.address is None:
            raise DataError(
                f"{name}: no address is known from which {file.name} can be fetched as it is. It was made from "
                f"{of.source}. Put the file into {target} (SHA-256 {file.sha256 or 'not known'})"
            )
        else:
            _download(file, path)
    return target


def _download(file: File, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as opened:
            try:
                with urllib.request.urlopen(str(file.address), timeout=60) as response:
                    shutil.copyfileobj(response, opened)
            except (OSError, ValueError, HTTPException) as error:
                raise DataError(f"{file.address}: cannot be fetched: {error}") from error
        if file.sha256 is not None:
            _check(part, file.sha256)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
