"""Downloads from a server on this machine: whole or not at all, digests recorded at the first fetch and held to."""

import hashlib
import io
import threading
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from splitmerge_cli import cli
from splitmerge_cli.data import download, published, transfer
from splitmerge_cli.data.base import DataError
from splitmerge_cli.data.published import SETS, SUMS, File, Published

CONTENT = b"1 2 3\n" * 200_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Answers every request as its attributes say."""

    status = 200
    content = CONTENT
    announced: int | None = len(CONTENT)
    kind = "text/plain"
    requests = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        self.send_response(self.server.status)
        self.send_header("Content-Type", self.server.kind)
        if self.server.announced is not None:
            self.send_header("Content-Length", str(self.server.announced))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of published sets that is made by the first fetch."""
    monkeypatch.setenv(published.VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data"


def offer(monkeypatch: pytest.MonkeyPatch, server: Server, sha256: str | None = None) -> str:
    """Put a set `far` of one file in the table; its address."""
    address = f"http://127.0.0.1:{server.server_address[1]}/a.txt"
    file = File("a.txt", address=address, sha256=sha256)
    monkeypatch.setitem(SETS, "far", Published("far", "points", "2", "what", "000", "source", "terms", (file,)))
    return address


@pytest.mark.parametrize("announced", [len(CONTENT), None])
@pytest.mark.parametrize("sha256", [DIGEST, None])
def test_a_file_arrives_whole(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, sha256: str | None, announced: int | None
) -> None:
    offer(monkeypatch, server, sha256)
    server.announced = announced
    told: list[tuple[str, int, int | None]] = []
    assert published.fetch("far", lambda *at: told.append(at)) == folder / "far"
    assert (folder / "far" / "a.txt").read_bytes() == CONTENT
    assert [name for name, _, _ in told] == ["a.txt"] * len(told) and len(told) > 1
    assert told[-1] == ("a.txt", len(CONTENT), announced) and sorted(told, key=lambda at: at[1]) == told
    names = {path.name for path in (folder / "far").iterdir()}
    assert names == ({"a.txt"} if sha256 else {"a.txt", SUMS})
    # what is here is not fetched again
    published.fetch("far")
    assert server.requests == 1


def test_an_unknown_digest_is_recorded_and_held_to(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = offer(monkeypatch, server)
    assert "SHA-256 not known" in published.describe("far") and address in published.describe("far")
    published.fetch("far")
    sums, path = folder / "far" / SUMS, folder / "far" / "a.txt"
    assert sums.read_text() == f"{DIGEST}  a.txt\n"
    assert f"SHA-256 {DIGEST} (recorded when it was fetched)" in published.describe("far")
    assert published.locate("far", "a.txt") == path
    path.write_bytes(CONTENT[:-6])
    with pytest.raises(DataError, match=rf"a.txt: SHA-256 [0-9a-f]{{64}}; expected {DIGEST}, which .*{SUMS} says"):
        published.locate("far", "a.txt")
    path.unlink()
    server.content = CONTENT.replace(b"3", b"4")
    with pytest.raises(DataError, match=rf"^{address}: SHA-256 [0-9a-f]{{64}}; expected {DIGEST}, which .*{SUMS} says"):
        published.fetch("far")
    assert [p.name for p in (folder / "far").iterdir()] == [SUMS]
    sums.unlink()
    published.fetch("far")
    assert path.read_bytes() == server.content


def test_a_file_that_was_put_there_is_taken_as_it_is(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, server)
    (folder / "far").mkdir(parents=True)
    (folder / "far" / "a.txt").write_text("mine")
    assert published.fetch("far") == folder / "far" and server.requests == 0
    assert published.locate("far", "a.txt").read_text() == "mine"


def test_a_damaged_record_is_named(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, server)
    published.fetch("far")
    sums = folder / "far" / SUMS
    sums.write_text(f"{DIGEST}  a.txt\nabc  b.txt\n")
    with pytest.raises(DataError, match=rf"{SUMS}: row 2: expected a SHA-256, two spaces"):
        published.locate("far", "a.txt")
    sums.write_bytes(b"\xff")
    with pytest.raises(DataError, match=rf"{SUMS}: cannot be read"):
        published.locate("far", "a.txt")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"status": 404}, r"cannot be fetched: 404 Not Found \(.* needs a.txt put into .*far\)$"),
        ({"status": 500}, "cannot be fetched: 500 Internal Server Error"),
        ({"announced": len(CONTENT) + 1}, rf"ended after {len(CONTENT)} of {len(CONTENT) + 1} bytes"),
        ({"content": b"", "announced": 1}, "ended after 0 of 1 bytes"),
        ({"kind": "text/html; charset=utf-8"}, "answers with a page of HTML; expected the file a.txt"),
        ({"content": CONTENT[:-1], "announced": len(CONTENT) - 1}, rf"SHA-256 .*; expected {DIGEST}, that of the pub"),
    ],
)
def test_nothing_is_left_of_a_failure(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, answer: dict[str, object], message: str
) -> None:
    address = offer(monkeypatch, server, DIGEST)
    for key, value in answer.items():
        setattr(server, key, value)
    with pytest.raises(DataError, match=rf"^{address}: {message}"):
        published.fetch("far")
    assert not folder.exists()
    assert not published.present("far")


def test_nothing_is_left_of_an_interruption(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, server)

    def interrupt(name: str, here: int, size: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        published.fetch("far", interrupt)
    assert not folder.exists()


def test_a_machine_without_a_network(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address = offer(monkeypatch, server)

    def refuse(*args: object, **kwargs: object) -> None:
        raise download.URLError(OSError(-2, "Name or service not known"))

    monkeypatch.setattr(download.urllib.request, "urlopen", refuse)
    with pytest.raises(DataError, match=rf"^{address}: cannot be fetched: Name or service not known \(a machine"):
        published.fetch("far")
    assert not folder.exists()


class Silent(io.BytesIO):
    """An answer that never comes to its end."""

    headers = Message()

    def read(self, size: int | None = -1) -> bytes:
        chunk = super().read(2)
        if not chunk:
            raise TimeoutError("timed out")
        return chunk


def test_a_server_that_falls_silent(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address = offer(monkeypatch, server)
    monkeypatch.setattr(download.urllib.request, "urlopen", lambda *args, **kwargs: Silent(b"1 2 3"))
    with pytest.raises(DataError, match=rf"^{address}: cannot be fetched: timed out"):
        published.fetch("far")
    assert not folder.exists()


def test_a_place_that_cannot_be_written(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, server)
    folder.write_text("a file, no folder")
    with pytest.raises(DataError, match=r"far/a.txt: cannot be written: (Not a directory|File exists)"):
        published.fetch("far")
    assert folder.read_text() == "a file, no folder" and server.requests == 0


def test_the_command(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status, progress on stderr, the folder on stdout."""
    address = offer(monkeypatch, server)
    monkeypatch.setattr("splitmerge_cli.config.choice", lambda group, name: {})
    monkeypatch.setattr(transfer, "LINE_EVERY", 500_000)
    server.status = 404
    refused = CliRunner().invoke(cli.app, ["data", "fetch", "far"])
    assert refused.exit_code == 2 and refused.stdout == ""
    assert refused.stderr.startswith(f"smcmc: {address}: cannot be fetched: 404") and refused.stderr.count("\n") == 1
    server.status = 200
    fetched = CliRunner().invoke(cli.app, ["data", "fetch", "far"])
    assert fetched.exit_code == 0 and fetched.stdout == f"{folder / 'far'}\n"
    lines = fetched.stderr.splitlines()
    assert len(lines) == 3 and lines[-1] == "a.txt: 1,200,000 of 1,200,000 bytes"


def test_a_terminal_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with transfer.shown() as report:
        report("a.txt", 500_000, 1_000_000)
        report("a.txt", 1_000_000, 1_000_000)
        report("b.txt", 10, None)
    assert "a.txt" in terminal.getvalue() and "1.0/1.0 MB" in terminal.getvalue() and "b.txt" in terminal.getvalue()
