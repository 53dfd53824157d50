"""Downloads from a server on this machine: by https alone, whole or not at all; digests recorded and held to."""

import hashlib
import io
import os
import re
import ssl
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from splitmerge_cli import cli
from splitmerge_cli.data import downloads
from splitmerge_cli.data.downloads import SETS, SUMS, File, Published
from splitmerge_cli.kinds.tables import generated
from splitmerge_cli.received import DataError

Offer = Callable[..., str]
CONTENT = b"1 2 3\n" * 200_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
ENDLESS: dict[str, object] = {"announced": None, "endless": True}


class Server(ThreadingHTTPServer):
    """Answers every request as its attributes say."""

    status = 200
    content = CONTENT
    announced: int | None = len(CONTENT)
    kind = "text/plain"
    requests = 0
    location: str | None = None
    endless = False

    def __init__(self, start: Callable[..., str], secure: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"{start(self, secure)}/a.txt"

    def handle_error(self, *args: object) -> None:
        """A client that closes the connection is none."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        if self.server.location is not None and self.path == "/a.txt":
            self.send_response(self.server.status)
            self.send_header("Location", self.server.location)
            self.end_headers()
            while self.server.endless:
                self.wfile.write(CONTENT)
            return
        self.send_response(200 if self.server.location else self.server.status)
        self.send_header("Content-Type", self.server.kind)
        if self.server.announced is not None:
            self.send_header("Content-Length", str(self.server.announced))
        self.end_headers()
        self.wfile.write(self.server.content)
        while self.server.endless:
            self.wfile.write(CONTENT)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(start: Callable[..., str]) -> Server:
    return Server(start)


@pytest.fixture
def plain(start: Callable[..., str]) -> Server:
    """A server of http."""
    return Server(start, secure=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of published sets that is made by the first fetch."""
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def offer(server: Server, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Puts a set `far` of one file in the table, and returns its address: that of the server, if none is given."""

    def put(sha256: str | None = None, size: int | None = None, address: str = server.address) -> str:
        file = File("a.txt", address=address, sha256=sha256, size=size)
        monkeypatch.setitem(SETS, "far", Published("far", "points", "2", "what", "000", "source", "terms", (file,)))
        return address

    return put


def refuse(message: str, read: Callable[..., object] = downloads.fetch, *files: str) -> None:
    with pytest.raises(DataError, match=message):
        read("far", *files)


@pytest.mark.parametrize("announced", [len(CONTENT), None])
@pytest.mark.parametrize("sha256", [DIGEST, None])
def test_a_file_arrives_whole(
    folder: Path, offer: Offer, server: Server, sha256: str | None, announced: int | None
) -> None:
    offer(sha256, announced)
    server.announced = announced
    told: list[tuple[str, int, int | None]] = []
    assert downloads.fetch("far", lambda *at: told.append(at)) == folder / "far"
    assert (folder / "far" / "a.txt").read_bytes() == CONTENT
    assert [name for name, _, _ in told] == ["a.txt"] * len(told) and len(told) > 1
    assert told[-1] == ("a.txt", len(CONTENT), announced) and sorted(told, key=lambda at: at[1]) == told
    names = {path.name for path in (folder / "far").iterdir()}
    assert names == ({"a.txt"} if sha256 else {"a.txt", SUMS})
    # what is here is not fetched again
    downloads.fetch("far")
    assert server.requests == 1


def test_an_unknown_digest_is_recorded_and_held_to(folder: Path, offer: Offer, server: Server) -> None:
    address = offer()
    assert "SHA-256 not known" in downloads.describe("far") and address in downloads.describe("far")
    downloads.fetch("far")
    sums, path = folder / "far" / SUMS, folder / "far" / "a.txt"
    assert sums.read_text() == f"{DIGEST}  a.txt\n"
    assert f"SHA-256 {DIGEST} (recorded when it was fetched)" in downloads.describe("far")
    assert downloads.locate("far", "a.txt") == path
    path.write_bytes(CONTENT[:-6])
    with pytest.raises(
        DataError, match=rf"a.txt: SHA-256 [0-9a-f]{{64}}; expected {DIGEST}, as first fetched according to .*{SUMS}"
    ):
        downloads.locate("far", "a.txt")
    path.unlink()
    server.content = CONTENT.replace(b"3", b"4")
    refuse(rf"^{address}: SHA-256 [0-9a-f]{{64}}; expected {DIGEST}, as first fetched according to .*{SUMS}")
    assert [p.name for p in (folder / "far").iterdir()] == [SUMS]
    sums.unlink()
    downloads.fetch("far")
    assert path.read_bytes() == server.content


def test_a_file_that_was_put_there_is_taken_as_it_is(folder: Path, offer: Offer, server: Server) -> None:
    offer()
    (folder / "far").mkdir(parents=True)
    (folder / "far" / "a.txt").write_text("mine")
    assert downloads.fetch("far") == folder / "far" and server.requests == 0
    assert downloads.locate("far", "a.txt").read_text() == "mine"


def test_a_damaged_record_is_named(folder: Path, offer: Offer) -> None:
    offer()
    downloads.fetch("far")
    sums = folder / "far" / SUMS
    sums.write_text(f"{DIGEST}  a.txt\nabc  b.txt\n")
    refuse(rf"{SUMS}: row 2: expected a SHA-256, two spaces", downloads.locate, "a.txt")
    sums.write_bytes(b"\xff")
    refuse(rf"{SUMS}: cannot be read", downloads.locate, "a.txt")


@pytest.mark.parametrize(
    ("answer", "size", "message"),
    [
        ({"status": 404}, None, r"cannot be fetched: 404 Not Found \(.* needs a.txt put into .*far\)$"),
        ({"status": 500}, None, "cannot be fetched: 500 Internal Server Error"),
        ({"announced": len(CONTENT) + 1}, None, rf"ended after {len(CONTENT)} of {len(CONTENT) + 1} bytes"),
        ({"content": b"", "announced": 1}, None, "ended after 0 of 1 bytes"),
        ({"kind": "text/html; charset=utf-8"}, None, "the server sent an HTML page; expected the file a.txt"),
        ({"content": CONTENT[:-1], "announced": None}, None, rf"SHA-256 .*; expected {DIGEST}, as in the pub"),
        # no more than is expected
        ({}, len(CONTENT) - 1, "announces 1,200,000 bytes; expected 1,199,999$"),
        ({"announced": None}, len(CONTENT) - 1, "sends more bytes; expected 1,199,999$"),
        (ENDLESS, None, "sends more bytes; expected 3,000,000 at most"),
        # in the answer that redirects too
        (ENDLESS | {"status": 302, "location": "/b.txt"}, None, "sends more bytes; expected 3,000,000 at most"),
    ],
)
def test_nothing_is_left_of_a_failure(
    folder: Path,
    offer: Offer,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, object],
    size: int | None,
    message: str,
) -> None:
    monkeypatch.setattr(downloads, "MOST_BYTES", 3_000_000)
    address = offer(DIGEST, size)
    for key, value in answer.items():
        setattr(server, key, value)
    refuse(rf"^{address}: {message}")
    assert not folder.exists()
    assert not downloads.present("far")


def test_nothing_is_left_of_an_interruption(folder: Path, offer: Offer) -> None:
    offer()

    def interrupt(name: str, here: int, size: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        downloads.fetch("far", interrupt)
    assert not folder.exists()


class Silent(io.BytesIO):
    """An answer that never comes to its end."""

    headers = Message()
    length = None

    def read(self, size: int | None = -1) -> bytes:
        chunk = super().read(2)
        if not chunk:
            raise TimeoutError("timed out")
        return chunk


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (downloads.URLError(OSError(-2, "Name or service not known")), r"Name or service not known \(a machine"),
        (Silent(b"1 2 3"), "timed out"),
    ],
)
def test_a_server_that_is_not_reached_or_falls_silent(
    folder: Path, offer: Offer, monkeypatch: pytest.MonkeyPatch, answer: object, message: str
) -> None:
    address = offer()
    monkeypatch.setattr(downloads, "_opener", lambda: Mock(open=Mock(side_effect=[answer])))
    refuse(rf"^{address}: cannot be fetched: {message}")
    assert not folder.exists()


def test_a_place_that_cannot_be_written(folder: Path, offer: Offer, server: Server) -> None:
    offer()
    folder.write_text("a file, no folder")
    refuse(r"far/a.txt: cannot be written: (Not a directory|File exists)")
    assert folder.read_text() == "a file, no folder" and server.requests == 0


def test_the_command(folder: Path, offer: Offer, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status, progress on stderr, the folder on stdout."""
    address = offer()
    monkeypatch.setattr("splitmerge_cli.config.choice", lambda group, name: {})
    monkeypatch.setattr(downloads, "LINE_EVERY", 500_000)
    server.status = 404
    rejected = CliRunner().invoke(cli.app, ["data", "fetch", "far"])
    assert rejected.exit_code == 2 and rejected.stdout == ""
    assert rejected.stderr.startswith(f"smcmc: {address}: cannot be fetched: 404") and rejected.stderr.count("\n") == 1
    server.status = 200
    fetched = CliRunner().invoke(cli.app, ["data", "fetch", "far"])
    assert fetched.exit_code == 0 and fetched.stdout == f"{folder / 'far'}\n"
    lines = fetched.stderr.splitlines()
    assert len(lines) == 4 and lines[-2] == "a.txt: 1,200,000 of 1,200,000 bytes"
    path = folder / "far" / "a.txt"
    note = f"{path}: unverified: no source states its SHA-256; {DIGEST} was recorded when it was fetched"
    assert lines[-1] == f"smcmc: note: {note}"
    # what is verified is not said to be anything else
    path.unlink()
    offer(DIGEST)
    assert "unverified" not in CliRunner().invoke(cli.app, ["data", "fetch", "far"]).stderr


def test_unverified_files_are_listed_as_such(folder: Path, offer: Offer) -> None:
    offer()
    assert downloads.describe_place("far") == "absent" and downloads.verification_notes("far") == []
    assert "; unverified" not in downloads.describe("far")
    path = folder / "far" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    note = f"{path}: unverified: no source states its SHA-256; none was recorded"
    assert downloads.verification_notes("far") == [note]
    assert downloads.verification_notes("far", downloads.sha256_of) == [f"{note}, it has {downloads.sha256_of(path)}"]
    assert downloads.describe_place("far") == f"{path.parent} (unverified)"
    assert "SHA-256 not known; unverified: no source states it" in downloads.describe("far")
    path.unlink()
    downloads.fetch("far")
    assert downloads.describe_place("far") == f"{path.parent} (unverified)"
    assert f"{DIGEST} (recorded when it was fetched); unverified: no source states it" in downloads.describe("far")
    offer(DIGEST)
    assert downloads.describe_place("far") == str(path.parent) and downloads.verification_notes("far") == []
    assert "; unverified" not in downloads.describe("far")


def test_the_commands_say_what_is_unverified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path))
    (tmp_path / "kddcup04bio").mkdir()
    (tmp_path / "kddcup04bio" / generated.FILE).write_text("1\t2\n")
    # of the list one line alone, which costs less
    monkeypatch.setattr("splitmerge_cli.config.describe", lambda group, beside: [("kddcup04bio", "title")])
    assert f" {tmp_path / 'kddcup04bio'} (unverified) " in CliRunner().invoke(cli.app, ["data", "list"]).stdout
    assert "unverified: no source" in CliRunner().invoke(cli.app, ["data", "info", "kddcup04bio"]).stdout
    fetched = CliRunner().invoke(cli.app, ["data", "fetch", "kddcup04bio"])
    assert fetched.exit_code == 0 and "unverified: no source states its SHA-256; none was recorded" in fetched.stderr


# by https alone


@pytest.mark.parametrize(
    "address",
    ["{plain}", "file:///etc/hostname", "ftp://127.0.0.1:9/a.txt", "data:,x", "//127.0.0.1/a.txt", "https:[", "x"],
)
def test_another_scheme_is_refused(folder: Path, offer: Offer, plain: Server, address: str) -> None:
    address = offer(address=address.format(plain=plain.address))
    refuse(rf"^{re.escape(address)}: (expected an https address|cannot be fetched)")
    assert plain.requests == 0 and not folder.exists()


@pytest.mark.parametrize(
    ("status", "target", "message"),
    [
        *(
            (status, "{plain}", "redirects to {plain}: expected an https address")
            for status in (301, 302, 303, 307, 308)
        ),
        *(
            (302, target, "redirects to {target}: expected an https address")
            for target in ("ftp://127.0.0.1:9/b.txt", "file:///etc/hostname", "data:,x", "gopher://x/")
        ),
        (302, "{server}", "cannot be fetched: 302 .*infinite loop"),
        # to a server that redirects to another scheme
        (302, "{second}", "redirects to {plain}: expected an https address"),
    ],
)
def test_a_redirect_to_another_scheme_is_refused(
    folder: Path,
    offer: Offer,
    server: Server,
    plain: Server,
    start: Callable[..., str],
    status: int,
    target: str,
    message: str,
) -> None:
    second = Server(start)
    second.status, second.location = 302, plain.address
    named = {"plain": plain.address, "server": server.address, "second": second.address}
    address = offer()
    server.status, server.location = status, target.format(**named)
    asked = second.address if target == "{second}" else address
    refuse(f"^{asked}: {message.format(target=target, **named)}")
    assert plain.requests == 0 and second.requests == (target == "{second}") and not folder.exists()


@pytest.mark.parametrize("relative", [True, False])
def test_a_redirect_to_https_is_followed(folder: Path, offer: Offer, server: Server, relative: bool) -> None:
    offer()
    server.status, server.location = 302, "/b.txt" if relative else server.address.replace("a.txt", "b.txt")
    downloads.fetch("far")
    assert (folder / "far" / "a.txt").read_bytes() == CONTENT and server.requests == 2


def test_a_certificate_of_another_name_is_refused(folder: Path, offer: Offer, server: Server) -> None:
    address = offer(address=server.address.replace("127.0.0.1", "localhost"))
    refuse(rf"^{address}: cannot be fetched: .*certificate verify failed")
    assert server.requests == 0 and not folder.exists()


def test_a_certificate_that_nobody_trusts_is_refused_whatever_the_environment_says(
    folder: Path, offer: Offer, plain: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none.pem").write_text("")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("PYTHONHTTPSVERIFY", "0")
    monkeypatch.setattr(ssl, "_create_default_https_context", ssl._create_unverified_context)
    offer()
    refuse("certificate verify failed")
    # a proxy does not take a request of http either
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("http_proxy", plain.address)
    offer(address="http://example.org/a.txt")
    refuse("expected an https address")
    assert plain.requests == 0 and not folder.exists()


def test_every_address_of_the_table_is_https() -> None:
    addresses = [file.address for of in SETS.values() for file in of.files if file.address is not None]
    assert addresses and all(address.startswith("https://") for address in addresses)


def test_a_file_whose_digest_cannot_be_recorded_does_not_stay(folder: Path, offer: Offer) -> None:
    offer()
    (folder / "far").mkdir(parents=True)
    (folder / "far" / f".{SUMS}.{os.getpid()}").mkdir()
    refuse(rf"{SUMS}: cannot be written: ")
    assert not downloads.present("far")


def test_a_terminal_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with downloads.show_progress() as report:
        report("a.txt", 500_000, 1_000_000)
        report("a.txt", 1_000_000, 1_000_000)
        report("b.txt", 10, None)
    assert "a.txt" in terminal.getvalue() and "1.0/1.0 MB" in terminal.getvalue() and "b.txt" in terminal.getvalue()
