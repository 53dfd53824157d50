"""Servers of https on this machine, with a certificate of their own; small files in the place of published sets."""

import gzip
import hashlib
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from splitmerge_cli.data import downloads


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 and its key."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("there is no openssl to make a certificate with")
    made = tmp_path_factory.mktemp("certificate")
    files = made / "certificate.pem", made / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=smcmc", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


@pytest.fixture
def start(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """``start(server, secure=True)`` runs a server until the test ends; its address."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with ExitStack() as stack:

        def begin(server: HTTPServer, secure: bool = True) -> str:
            stack.enter_context(server)
            if secure:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*certificate)
                server.socket = context.wrap_socket(server.socket, server_side=True)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return f"{'https' if secure else 'http'}://127.0.0.1:{server.server_address[1]}"

        yield begin


@pytest.fixture
def support(start: Callable[..., str]) -> Callable[[Path], str]:
    """``support(folder)`` offers the files of a folder; the address of the folder."""
    return lambda folder: start(ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))))


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the published data."""
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path / "nothing"))


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, str | bytes]], Path]:
    """``publish(name, files)`` puts small files in the place of a published set, with their digests; its folder."""

    def put(name: str, files: dict[str, str | bytes]) -> Path:
        monkeypatch.setenv(downloads.VARIABLE, str(tmp_path))
        (place := downloads.place(name)).mkdir()
        listed = []
        for file, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            data = gzip.compress(data) if file.endswith(".gz") else data
            (place / file).write_bytes(data)
            listed.append(downloads.File(file, len(data), hashlib.sha256(data).hexdigest()))
        monkeypatch.setitem(downloads.SETS, name, replace(downloads.SETS[name], files=tuple(listed)))
        return place

    return put
