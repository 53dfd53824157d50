"""Downloads: written next to their place, counted and hashed on the way, and moved there only when complete.

They come by https alone, from servers whose certificates are verified, wherever an address redirects to.
"""

import hashlib
import os
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit

from splitmerge_cli.received import DataError
from splitmerge_cli.version import __version__

Report = Callable[[str, int, int | None], None]
"""Called with the name of a file, the bytes that are here, and their total where the server announces it."""
CHUNK = 1 << 18
TIMEOUT = 60.0
"""Seconds without a byte after which a server is given up."""
MOST_BYTES = 1 << 32
"""Largest file that is fetched where its size is not known: a server may send for ever."""


def download(
    address: str, path: Path, sha256: str | None, origin: str, report: Report | None = None, size: int | None = None
) -> str:
    """Fetch a file and return its SHA-256; `path` appears whole or not at all, and on failure no file and no new
    folder is left.

    Its digest must be `sha256`, where known (messages say its `origin`), its bytes `size`; without that 4 GiB at most
    are fetched. `report` hears of the progress. Raises `DataError` (the address, or one that it redirects to, is not
    https, and is then not asked; its certificate does not hold; it does not answer, answers with a page of HTML, with
    fewer bytes than it said or more than the file has; the file has another digest, or cannot be written).
    """
    with _partial_file(path) as part:
        digest = hashlib.sha256()
        with part.open("wb") as opened:
            for chunk in _chunks(address, path, report, size):
                digest.update(chunk)
                opened.write(chunk)
        digest_found = digest.hexdigest()
        if sha256 not in (None, digest_found):
            raise DataError(f"{address}: SHA-256 {digest_found}; expected {sha256}, {origin}")
        part.replace(path)
    return digest_found


@contextmanager
def _partial_file(path: Path) -> Iterator[Path]:
    """Yield a path for a file in the making; remove it at the end, and the new folders that stay empty."""
    new_folders = [folder for folder in path.parents if not folder.exists()]
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
            for folder in new_folders:
                folder.rmdir()


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https; the target of any other is not asked."""

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message
    ) -> HTTPResponse | None:
        if (target := headers.get("Location") or headers.get("URI")) is not None:
            _require_https(urljoin(req.full_url, target), f"{req.full_url}: redirects to ")
        fp.close()  # the library would read all of an answer that nobody needs
        return super().http_error_302(req, fp, code, msg, headers)  # type: ignore[arg-type]

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _require_https(address: str, before: str = "") -> None:
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        scheme = ""
    if scheme != "https":
        raise DataError(f"{before}{address}: expected an https address")


def _opener() -> urllib.request.OpenerDirector:
    """An opener of addresses that verifies certificates, whatever the environment says."""
    verified = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    return urllib.request.build_opener(verified, _Redirects)


def _chunks(address: str, path: Path, report: Report | None, size: int | None) -> Iterator[bytes]:
    """The content of an address, to the end that its server announced."""
    _require_https(address)
    request = urllib.request.Request(address, headers={"User-Agent": f"smcmc/{__version__}"})
    here, most_bytes = 0, MOST_BYTES if size is None else size
    with _answering(address, path):
        response = _opener().open(request, timeout=TIMEOUT)
    with response:
        # a number that is none is no announcement
        announced = response.length
        # what a network answers that asks to log in first
        if response.headers.get_content_type() == "text/html":
            raise DataError(f"{address}: the server sent an HTML page; expected the file {path.name}")
        while (announced or here) <= most_bytes:
            with _answering(address, path):
                chunk = response.read(CHUNK)
            if not chunk:
                break
            here += len(chunk)
            yield chunk
            if report is not None:
                report(path.name, here, announced)
        else:
            problem = f"announces {announced:,}" if announced else "sends more"
            expected = "" if size is not None else " at most, as from any server"
            raise DataError(f"{address}: {problem} bytes; expected {most_bytes:,}{expected}")
    if announced not in (None, here):
        raise DataError(
            f"{address}: ended after {here} of {announced} bytes; expected all (the same command tries again)"
        )


@contextmanager
def _answering(address: str, path: Path) -> Iterator[None]:
    """Turn the failures of a server and of the network into one message."""
    try:
        yield
    except DataError:
        raise
    except (OSError, ValueError, HTTPException) as error:
        reason: object = f"{error.code} {error.reason}" if isinstance(error, HTTPError) else error
        if isinstance(error, URLError) and not isinstance(error, HTTPError):
            reason = getattr(error.reason, "strerror", None) or error.reason
        raise DataError(
            f"{address}: cannot be fetched: {reason} (a machine without a network needs {path.name} put into "
            f"{path.parent})"
        ) from error
