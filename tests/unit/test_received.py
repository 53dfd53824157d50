"""Received files: files that are none, links, JSON and zips that cost more than they hold, control characters."""

import gc
import io
import os
import re
import socket
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from rich.live import Live
from rich.table import Table
from rich.text import Text

import splitmerge_cli
from splitmerge_cli import received, terminal
from splitmerge_cli.runs.store import manifest, schema
from splitmerge_cli.runs.store.files import DamagedRun
from splitmerge_cli.runs.store.read import Run


@pytest.fixture(autouse=True)
def _change_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("outside").write_text("secret")
    Path("folder").mkdir()


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def widen(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def link_in_the_folder(path: Path) -> None:
    path.with_name("other").write_text("same")
    path.symlink_to("other")


OTHERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (os.mkfifo, "a named pipe; expected a regular file"),
    "socket": (listen, "a socket; expected a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "a link to /dev/zero; expected a regular file in that"),
    "folder": (Path.mkdir, "a folder; expected a regular file"),
    "elsewhere": (lambda path: path.symlink_to("../outside"), "a link to ../outside; expected a regular file in that"),
    "large": (widen, "more than 1000 bytes; expected at most these"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_file_of_the_folder_is_not_read(what: str) -> None:
    make, said = OTHERS[what]
    path = Path("folder/file")
    make(path)
    with pytest.raises(received.Refused, match=f"^folder/file: {said}"):
        received.read(path, 1000)
    if what == "large":
        return
    for name in ("manifest.json", "config.yaml", "summary.json", "work/chain-0.npz"):
        place = Path("run", name)
        place.parent.mkdir(parents=True, exist_ok=True)
        make(place)
    manifest.write_sealed(Path("run/status.json"), {"state": "done", "config_sha256": "0" * 64})
    run = Run("run")
    with pytest.raises(DamagedRun, match=r"^run/manifest.json: a .*; expected a regular file.*; smcmc run with resume"):
        _ = run.manifest
    with pytest.raises(DamagedRun, match=r"^run/work/chain-0.npz: a .*; expected a regular file"):
        manifest.load(Path("run/work/chain-0.npz"))


def test_a_link_within_the_folder_and_to_it_is_followed() -> None:
    link_in_the_folder(Path("folder/file"))
    Path("link").symlink_to("folder")
    assert received.read(Path("link/file")) == b"same"


def test_what_becomes_another_file_between_two_looks_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    regular = os.stat("outside")
    os.mkfifo("pipe")
    monkeypatch.setattr(os, "stat", lambda path: regular)
    with pytest.raises(received.Refused, match="a named pipe"), received.open_file("pipe"):
        pass


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 100_000, "[" * 65 + "]" * 65, '{"a": 1, "a": 2}', "NaN", "[-Infinity]"),
        *("1e999", "9" * 400, "9" * 5000, "", b"\xff\xfe[\x00]\x00"),
    ],
    ids=range(10),
)
def test_json_that_we_never_write_is_rejected(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        received.parse_json(text)


def test_json_that_we_write_is_read() -> None:
    assert received.parse_json('{"a": [1, 2.5, {"b": null}], "c": "' + "x" * 9 + '"}')["a"][1] == 2.5
    assert received.parse_json("[" * 64 + "]" * 64)


def test_a_text_that_refers_to_itself_is_rejected() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    text = "\n".join(lines)
    for value in (yaml.safe_load(text), yaml.safe_load("a: &a [*a]")):
        with pytest.raises(ValueError, match="expected at most"):
            received.check_nested(value, len(text))


def zip_of(names: int) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for i in range(names):
            archive.writestr(str(i), "")
    return file


def test_the_list_of_a_zip_is_measured_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with received.open_zip("a.zip", zip_of(9), 9) as archive:
        assert len(archive.namelist()) == 9
    lying = bytearray(zip_of(1000).getvalue())
    # the number of files, twice: this disk and in all
    lying[-14:-10] = b"\1\0\1\0"
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: pytest.fail("its list was read"))
    for file in (zip_of(1000), io.BytesIO(lying)):
        with pytest.raises(received.Refused, match="a zip of more than 9 files"), received.open_zip("a.zip", file, 9):
            pass


def write_each() -> dict[str, Callable[[], Any]]:
    """A small file of each form that the store writes, and who reads it."""
    manifest.save(Path("checkpoint.npz"), {"a": np.arange(3), "b": 0.5})
    manifest.write_sealed(Path("status.json"), {"state": "done", "share": 1.0})
    Path("clusters.csv").write_text("row,cluster\n1,0\n")
    manifest.write_manifest(Path("manifest.json"), ["clusters.csv"])
    columns = schema.recorded_columns(schema.TRACE)
    stream = schema.Stream(Path("trace.arrows"), columns)
    values = {field.name: [[0.5]] if field.name == "largest" else [1] for field in columns}
    stream.append(pa.record_batch(values, schema=columns))
    mark = stream.sync()
    stream.close()
    return {
        "checkpoint.npz": lambda: manifest.load(Path("checkpoint.npz")),
        "status.json": lambda: manifest.read_sealed(Path("status.json")),
        "clusters.csv": lambda: manifest.Manifest(Path("manifest.json")).check("clusters.csv"),
        "manifest.json": lambda: manifest.Manifest(Path("manifest.json")),
        "trace.arrows": lambda: list(schema.read_marked(Path("trace.arrows"), mark)),
    }


def test_every_byte_of_what_is_written_is_checked() -> None:
    for name, read in write_each().items():
        file = Path(name)
        whole = file.read_bytes()
        read()
        changed = [whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :] for at in range(len(whole))]
        # a stream may be longer than its mark: what follows was written after it
        longer = [] if name == "trace.arrows" else [whole + b" "]
        for content in [*changed, whole[:-1], b"", *longer]:
            file.write_bytes(content)
            with pytest.raises(DamagedRun, match=name):
                read()
        file.write_bytes(whole)
        read()


def test_a_checkpoint_whose_arrays_are_packed_is_damaged() -> None:
    """Whatever its checksum: megabytes of zeros are a kilobyte."""
    path = Path("folder/chain-0.npz")
    manifest.save(path, {"a": np.zeros(9)})
    assert manifest.load(path)["a"].sum() == 0
    np.savez_compressed("packed.npz", json=np.frombuffer(b'{"a": 1}', dtype=np.uint8), a0=np.zeros(1 << 20))
    content = Path("packed.npz").read_bytes()
    path.write_bytes(content + manifest._TRAILER.pack(manifest._MAGIC, manifest.zlib.crc32(content)))
    with pytest.raises(DamagedRun, match="damaged"):
        manifest.load(path)


ROOT = Path(splitmerge_cli.__file__).parent
RECEIVING = (
    *(f"runs/store/{name}.py" for name in ("manifest", "read", "schema")),
    *("analysis/certificate.py", "runs/summaries.py", "../scripts/editions/archive.py", "../scripts/editions/kept.py"),
)


@pytest.mark.parametrize("file", RECEIVING)
def test_what_reads_folders_of_results_opens_files_by_one_module(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    # the state of a chain is JSON in an array, whose integers have any size
    others = r'read_bytes\(|read_text\(|memory_map\(|json\.load(?!s\(stored)|open\("rb"\)|\.open\(\)|ZipFile\([^"]*\)'
    assert not re.findall(others, text)


# what is printed


def test_consoles_are_made_in_one_place() -> None:
    files = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in ROOT.rglob("*.py")}
    printing = {name for name, text in files.items() if re.search(r"\bConsole\(.*\)$", text, re.MULTILINE)}
    assert printing == {"verify/command.py"}  # which prints nothing that was received


STEERING = "a\x1b[31mb\x07\x9b2J\u202ec\ud800\r"
SHOWN = r"a\x1b[31mb\x07\x9b2J\u202ec\ud800\x0d"


def test_letters_that_steer_a_terminal_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal.printable(STEERING) == SHOWN
    assert terminal.printable("é\tλ\n日本") == "é\tλ\n日本"
    assert terminal.one_line("a\nb\x85") == r"a\nb\x85"
    with terminal.escape_output():
        print(STEERING)
        sys.stderr.writelines([STEERING])
    found = capsys.readouterr()
    assert (found.out, found.err) == (SHOWN + "\n", SHOWN)


def test_a_console_shows_them_and_keeps_its_own_colours(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("x")
    table.add_row(Text(STEERING, "red"))
    with terminal.escape_output():
        console = terminal.console(60, force_terminal=True, color_system="standard")
        # which puts a stream of its own in place of stdout
        with Live(table, console=console):
            console.print(STEERING, markup=False, highlight=False)
            print(STEERING)
    found = capsys.readouterr().out
    assert found.count(r"a\x1b[31mb") > 2 and "\x1b[31ma" in found and r"\x1b[0m" not in found
    assert not {"\x07", "\x9b", "\u202e", "\ud800"} & set(found)


class Noticed:
    """An object whose collection gives other threads a chance to run."""

    def __del__(self) -> None:
        for _ in range(3):
            pass


def test_chains_read_their_checkpoints_at_the_same_time() -> None:
    """Python 3.11.7 fails to parse the headers of arrays in two threads, which made a run of two chains damaged."""
    for i in range(4):
        manifest.save(Path(f"chain-{i}.npz"), {"labels": np.arange(9)})
    faults: list[BaseException] = []

    def load(i: int) -> None:
        for _ in range(300):
            noticed = Noticed()
            noticed.me = noticed  # type: ignore[attr-defined]
            try:
                manifest.load(Path(f"chain-{i}.npz"))
            except DamagedRun as fault:
                faults.append(fault)

    before, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(5, 2, 2)
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=load, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
        sys.setswitchinterval(interval)
    assert not faults
