"""Manifest of a finished run: its files, with size and SHA-256, and whether they are still what was written.

A manifest, like ``status.json``, is sealed: it holds the SHA-256 of its own content, so that damage to it is seen too.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from splitmerge_cli import received
from splitmerge_cli.received import sha256_of as sha256_of
from splitmerge_cli.runs.store.files import report_damage, write_text
from splitmerge_cli.runs.store.names import MANIFEST as MANIFEST

SEAL = "sha256"
"""Key in a sealed file whose value is the digest of all else."""


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def write_sealed(path: Path, value: dict[str, Any]) -> bytes:
    """Write a JSON object with the digest of its own content, whole or not at all; returns the content."""
    text = _text(value | {SEAL: hashlib.sha256(_text(value).encode()).hexdigest()})
    write_text(path, text)
    return text.encode()


def read_sealed(path: Path, remedy: str | None = None, content: bytes | None = None) -> dict[str, Any]:
    """The object that `write_sealed` wrote, without the digest; from the `content` of the file where that is at hand.
    Raises `DamagedRun` (the file is gone, or not byte for byte what was written; the message says the `remedy`).
    """
    with report_damage(path, remedy):
        content = received.read(path) if content is None else content
        value = received.parse_json(content)
        seal = value.pop(SEAL)
        if _text(value | {SEAL: seal}).encode() != content or hashlib.sha256(_text(value).encode()).hexdigest() != seal:
            raise ValueError("not what was written")
        return dict(value)


def write_manifest(path: Path, names: Iterable[str], contents: Mapping[str, bytes] | None = None) -> bytes:
    """Write the manifest `path` of the files next to it; return its content. `names`: may lead into folders next to it.
    `contents`: contents of files that were just written; the others are read.
    """
    listed = {}
    for name in sorted(names):
        if (content := (contents or {}).get(name)) is None:
            file = path.parent / name
            listed[name] = {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        else:
            listed[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return write_sealed(path, {"files": listed})


class Manifest:
    """A manifest that was read, and the files next to it. `path`: the manifest. `remedy`: what to do about damage, for
    messages; by default what is to be done about a run. `contents`: contents of the manifest and of files next to it
    that this process has written. Raises `DamagedRun` (it is gone, or not what was written).

    Attributes
    ----------
    names : list of str
        The files that it lists.
    digest : str
        SHA-256 of the manifest itself, which stands for all of them.
    """

    def __init__(self, path: Path, remedy: str | None = None, contents: Mapping[str, bytes] | None = None) -> None:
        self.path, self.remedy, contents = path, remedy, contents or {}
        content = contents.get(path.name)
        listed = read_sealed(path, remedy, content)
        with report_damage(path, remedy):
            self._files = {
                str(name): (int(file["bytes"]), re.fullmatch(r"[0-9a-f]{64}", file["sha256"])[0])  # type: ignore[index]
                for name, file in listed["files"].items()
            }
            if any(PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in self._files):
                raise ValueError("a file elsewhere")
        self.names = list(self._files)
        self.digest = sha256_of(path) if content is None else hashlib.sha256(content).hexdigest()
        self._checked = {*contents}

    def check(self, name: str) -> Path:
        """The path of a file that is what was written; it is read once. Raises `DamagedRun` (it is not, is gone, or is
        not listed).
        """
        path = self.path.parent / name
        if name in self._checked:
            return path
        with report_damage(path, self.remedy):
            size, digest = self._files[name]
            with received.member(path) as file:
                good = os.fstat(file.fileno()).st_size == size
                if not good or hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    raise ValueError("not what was written")
        self._checked.add(name)
        return path

    def check_all(self) -> None:
        """Check every file that is listed; raises as `check`."""
        for name in self.names:
            self.check(name)
