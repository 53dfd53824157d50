"""Published data sets: contents, sources, whether they are on this machine, and how they are downloaded: with a bar on
stderr in a terminal, a line every ten megabytes elsewhere.

A file is written next to its place, counted and hashed on the way, and moved there only when complete. It comes by
https alone, from servers whose certificates are verified, wherever an address redirects to.

A set is a folder of its name in the folder that the environment variable SMCMC_DATA names (default: the user's cache).
A file whose SHA-256 is known is read only if it has it: the name of the set then stands for its content, in the
identity of a run too. If no source states it, the digest of the first download is recorded next to the file, and holds
from then on; the file is unverified, as smcmc reports wherever it is fetched, listed or read. ``downloads.toml`` is the
table of all sets.
"""

import hashlib
import os
import re
import ssl
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit

import platformdirs

from splitmerge_cli import received, terminal, version
from splitmerge_cli.data.opening import content, sha256_of

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
    """Fetch a file and return its SHA-256, which must be `sha256`, where known (messages say its `origin`). `path`
    appears whole or not at all; at most `size` bytes are fetched, or 4 GiB. An address that is not https is not asked.
    """
    new_folders = [folder for folder in path.parents if not folder.exists()]
    part, digest = path.with_name(f".{path.name}.{os.getpid()}"), hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as opened:
            for chunk in _chunks(address, path, report, size):
                digest.update(chunk)
                opened.write(chunk)
        digest_found = digest.hexdigest()
        if sha256 not in (None, digest_found):
            raise received.DataError(f"{address}: SHA-256 {digest_found}; expected {sha256}, {origin}")
        part.replace(path)
    except OSError as error:
        raise received.DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        # new folders stay if they hold the file
        with suppress(OSError):
            part.unlink(missing_ok=True)
            for folder in new_folders:
                folder.rmdir()
    return digest_found


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
        raise received.DataError(f"{before}{address}: expected an https address")


def _opener() -> urllib.request.OpenerDirector:
    """An opener of addresses that verifies certificates, whatever the environment says."""
    verified = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    return urllib.request.build_opener(verified, _Redirects)


def _chunks(address: str, path: Path, report: Report | None, size: int | None) -> Iterator[bytes]:
    """The content of an address, to the end that its server announced."""
    _require_https(address)
    request = urllib.request.Request(address, headers={"User-Agent": f"smcmc/{version.__version__}"})
    here, most_bytes = 0, MOST_BYTES if size is None else size
    with _answering(address, path):
        response = _opener().open(request, timeout=TIMEOUT)
    with response:
        # a number that is none is no announcement
        announced = response.length
        # what a network answers that asks to log in first
        if response.headers.get_content_type() == "text/html":
            raise received.DataError(f"{address}: the server sent an HTML page; expected the file {path.name}")
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
            raise received.DataError(f"{address}: {problem} bytes; expected {most_bytes:,}{expected}")
    if announced not in (None, here):
        ended = f"ended after {here} of {announced} bytes"
        raise received.DataError(f"{address}: {ended}; expected all (the same command tries again)")


@contextmanager
def _answering(address: str, path: Path) -> Iterator[None]:
    """Turn the failures of a server and of the network into one message."""
    try:
        yield
    except received.DataError:
        raise
    except (OSError, ValueError, HTTPException) as error:
        reason: object = f"{error.code} {error.reason}" if isinstance(error, HTTPError) else error
        if isinstance(error, URLError) and not isinstance(error, HTTPError):
            reason = getattr(error.reason, "strerror", None) or error.reason
        way = f"a machine without a network needs {path.name} put into {path.parent}"
        raise received.DataError(f"{address}: cannot be fetched: {reason} ({way})") from error


VARIABLE = "SMCMC_DATA"
SUMS = "SHA256SUMS"
"""The file of a set's folder with the digests that were recorded, as ``sha256sum --check`` reads it."""


@dataclass(frozen=True)
class File:
    """One file of a set: its name, size in bytes and SHA-256, and an address to fetch it from, where known."""

    name: str
    size: int | None = None
    sha256: str | None = None
    address: str | None = None


@dataclass(frozen=True)
class Published:
    """A published data set: its name, as in ``conf/data/NAME.yaml`` and its folder (or `folder`), its
    kind and number of items in words; what it holds, the paper that uses it, where it comes from and how it was
    converted, terms of use; its files.
    """

    name: str
    kind: str
    N: str
    what: str
    paper: str
    source: str
    terms: str
    files: tuple[File, ...]
    folder: str = ""


SETS = {
    name: Published(**entry | {"name": name, "files": tuple(File(**file) for file in entry["files"])})
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
SETS["ohsumed23_documents"] = replace(
    SETS["ohsumed23"], name="ohsumed23_documents", kind="documents", folder="ohsumed23", paper="none"
)


def folder() -> Path:
    """Where the published sets are: SMCMC_DATA, or the user's cache folder."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("smcmc")


def place(name: str) -> Path:
    """The folder of a set."""
    return folder() / (SETS[name].folder or name)


def present(name: str) -> bool:
    """Whether all files of a set are in their folder; they are not read."""
    return all((place(name) / file.name).is_file() for file in SETS[name].files)


def describe_place(name: str) -> str:
    """The folder of a set, for a list, marked where a file in it is unverified; or "absent"."""
    if not present(name):
        return "absent"
    known = all(file.sha256 is not None for file in SETS[name].files)
    return f"{place(name)}{'' if known else ' (unverified)'}"


def verification_notes(name: str, digest: Callable[[Path], str] | None = None) -> list[str]:
    """Notes on the present files of a set whose SHA-256 no source states, one each. `digest` finds it where none was
    recorded; without it the note names none."""
    notes = []
    for file in SETS[name].files:
        path = place(name) / file.name
        if file.sha256 is None and path.is_file():
            recorded = _read_digests(place(name) / SUMS).get(file.name)
            if recorded is not None:
                seen = f"{recorded} was recorded when it was fetched"
            else:
                seen = f"none was recorded{f', it has {digest(path)}' if digest else ''}"
            notes.append(f"{path}: unverified: no source states its SHA-256; {seen}")
    return notes


def locate(name: str, file: str, digest: Callable[[Path], str] = sha256_of) -> Path:
    """Path of a published file, checked against its SHA-256 (found by `digest`) where that is known."""
    path = place(name) / file
    file_entry = next(f for f in SETS[name].files if f.name == file)
    if not path.exists():
        how = f"smcmc data info {name} shows where it comes from"
        raise received.DataError(
            f"data={name}: {path}: no such file; expected it in the folder that the environment variable {VARIABLE} "
            f"names ({f'smcmc data fetch {name} downloads it, ' if file_entry.address else ''}{how})"
        )
    expected, origin = _expected(name, file_entry)
    if expected is not None and (digest_found := digest(path)) != expected:
        raise received.DataError(f"{path}: SHA-256 {digest_found}; expected {expected}, {origin}")
    return path


def _expected(name: str, file: File) -> tuple[str | None, str]:
    """The SHA-256 that a file must have, None if it is not known, and what that digest is."""
    if file.sha256 is not None:
        return file.sha256, "as in the published file"
    sums = place(name) / SUMS
    origin = f"as first fetched according to {sums} (without that line any is accepted)"
    return _read_digests(sums).get(file.name), origin


def _read_digests(sums: Path) -> dict[str, str]:
    """Read the recorded digests by name of file; empty if nothing was recorded."""
    try:
        text = content(sums).decode("utf-8") if sums.exists() else ""
    except UnicodeDecodeError as error:
        raise received.DataError(f"{sums}: cannot be read: {error}") from error
    digests = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not (match := re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line)):
            raise received.DataError(f"{sums}: row {number}: expected a SHA-256, two spaces and the name of a file")
        digests[match[2]] = match[1]
    return digests


def _record(sums: Path, path: Path, digest: str) -> None:
    """Add the digest of a file that was fetched; without it the file does not stay."""
    part = sums.with_name(f".{SUMS}.{os.getpid()}")
    try:
        digests = _read_digests(sums) | {path.name: digest}
        part.write_text("".join(f"{known}  {name}\n" for name, known in digests.items()), encoding="utf-8")
        part.replace(sums)
    except OSError as error:
        for path_left in (part, path):
            with suppress(OSError):
                path_left.unlink(missing_ok=True)
        raise received.DataError(f"{sums}: cannot be written: {error.strerror or error}") from error


def describe(name: str) -> str:
    """Provenance, terms, sizes of a set, and whether it is here: lines of text."""
    published = SETS[name]
    where = "present" if present(name) else "absent"
    entries = {"What": published.what, "Paper": published.paper, "Source": published.source, "Terms": published.terms}
    lines = [f"{f'{title}:':8} {entry}" for title, entry in entries.items()]
    lines.append(f"Folder:  {place(name)} ({where}; {VARIABLE} names the folder above it)")
    for file in published.files:
        size = "" if file.size is None else f", {file.size:,} bytes"
        recorded = "" if file.sha256 else " (recorded when it was fetched)"
        expected = _expected(name, file)[0]
        here = file.sha256 is None and (place(name) / file.name).is_file()
        status = "; unverified: no source states it" if here else ""
        digest = f"{expected}{recorded}" if expected else "not known"
        lines.append(f"File:    {file.name}{size}, SHA-256 {digest}{status}")
        if file.address is not None:
            lines.append(f"Address: {file.address}")
    return "\n".join(lines)


def fetch(name: str, report: Report | None = None) -> Path:
    """Download what is missing of a set, check what is here, and return its folder. A file appears whole, with the
    right SHA-256 where that is known or was recorded; else its digest is recorded next to it, and `verification_notes`
    reports it."""
    published, target = SETS[name], place(name)
    for file in published.files:
        path = target / file.name
        if path.is_file():
            locate(name, file.name)
        elif file.address is None:
            way = f"Put the file into {target} (SHA-256 {file.sha256 or 'not known'})"
            made = f"it was made from {published.source}"
            raise received.DataError(f"{name}: {file.name} cannot be downloaded; {made}. {way}")
        else:
            expected, origin = _expected(name, file)
            digest = download(file.address, path, expected, origin, report, file.size)
            if expected is None:
                _record(target / SUMS, path, digest)
    return target


LINE_EVERY = 10_000_000
"""Bytes between two lines of progress."""


@contextmanager
def show_progress() -> Iterator[Report]:
    """Yield a report for `fetch`, which shows its progress."""
    if not sys.stderr.isatty():
        printed: dict[str, int] = {}

        def print_size(name: str, here: int, size: int | None) -> None:
            if here // LINE_EVERY > printed.get(name, 0) or here == size:
                printed[name] = here // LINE_EVERY
                whole = "" if size is None else f" of {size:,}"
                print(f"{name}: {here:,}{whole} bytes", file=sys.stderr)

        yield print_size
        return
    # a run of a file downloads nothing
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=terminal.console(stderr=True), transient=True) as progress:
        tasks: dict[str, Any] = {}

        def redraw(name: str, here: int, size: int | None) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=size)
            progress.update(tasks[name], completed=here)

        yield redraw
