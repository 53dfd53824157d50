"""Downloads: written beside their place, counted and hashed on the way, and moved there only when they are whole."""

import hashlib
import os
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError

from splitmerge_cli import __version__
from splitmerge_cli.data.base import DataError

Report = Callable[[str, int, int | None], None]
"""Called with the name of a file, the bytes that are here, and how many there are in all where the server says so."""

CHUNK = 1 << 18
TIMEOUT = 60.0
"""Seconds without a byte after which a server is given up."""


def download(address: str, path: Path, sha256: str | None, origin: str, report: Report | None = None) -> str:
    """Fetch a file; `path` appears whole or not at all, and on failure no file and no new folder is left.

    Parameters
    ----------
    address : str
        Where it is.
    path : Path
        Where it goes.
    sha256 : str or None
        The digest that it must have, where known.
    origin : str
        What that digest is, for messages.
    report : callable, optional
        Told of the progress.

    Returns
    -------
    str
        The SHA-256 of the file.

    Raises
    ------
    DataError
        The address does not answer, answers with a page of HTML or with fewer bytes than it said; the file has another
        digest, or cannot be written.
    """
    with _beside(path) as part:
        digest = hashlib.sha256()
        with part.open("wb") as opened:
            for chunk in _chunks(address, path, report):
                digest.update(chunk)
                opened.write(chunk)
        found = digest.hexdigest()
        if sha256 not in (None, found):
            raise DataError(f"{address}: SHA-256 {found}; expected {sha256}, {origin}")
        part.replace(path)
    return found


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A place for a file in the making; it is removed at the end, and with it the new folders that stay empty."""
    made = [folder for folder in path.parents if not folder.exists()]
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()


def _chunks(address: str, path: Path, report: Report | None) -> Iterator[bytes]:
    """The content of an address, to the end that its server announced."""
    request = urllib.request.Request(address, headers={"User-Agent": f"smcmc/{__version__}"})
    here = 0
    with _answering(address, path):
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    with response:
        announced = response.headers["Content-Length"]
        size = int(announced) if announced else None
        # what a network answers that asks to log in first
        if response.headers.get_content_type() == "text/html":
            raise DataError(f"{address}: answers with a page of HTML; expected the file {path.name}")
        while True:
            with _answering(address, path):
                chunk = response.read(CHUNK)
            if not chunk:
                break
            yield chunk
            here += len(chunk)
            if report is not None:
                report(path.name, here, size)
    if size not in (None, here):
        raise DataError(f"{address}: ended after {here} of {size} bytes; expected all (the same command tries again)")


@contextmanager
def _answering(address: str, path: Path) -> Iterator[None]:
    """Turn the failures of a server and of the network into one message."""
    try:
        yield
    except (OSError, ValueError, HTTPException) as error:
        reason: object = f"{error.code} {error.reason}" if isinstance(error, HTTPError) else error
        if isinstance(error, URLError) and not isinstance(error, HTTPError):
            reason = getattr(error.reason, "strerror", None) or error.reason
        raise DataError(
            f"{address}: cannot be fetched: {reason} (a machine without a network needs {path.name} put into "
            f"{path.parent})"
        ) from error
