"""Input that lies about its size: rejected before it is opened, or while it expands, with one message."""

import gzip
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import command_line as calls
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from splitmerge_cli import config, runs
from splitmerge_cli.data import opening
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.store.read import Run

TABLE = ["data=csv", "model=gaussian"]
NETWORK = ["data=edges"]
DOCUMENTS = ["data=corpus"]


@contextmanager
def soon() -> Iterator[None]:
    """Fail instead of waiting for a pipe for ever."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def read_rejection(smcmc) -> Callable[..., str]:
    """Return the message of a run that is rejected, at once, and writes nothing."""

    def read(*args: str) -> str:
        with soon():
            return calls.read_rejection(smcmc, "run", "sampler=gibbs", "iterations=5", *args)

    return read


# what is no regular file


@pytest.mark.parametrize(
    "args",
    [
        [*TABLE, "data.path={}"],
        [*NETWORK, "data.path={}"],
        [*NETWORK, "data.path=edges.txt", "data.nodes={}"],
        [*DOCUMENTS, "data.path={}"],
        [*DOCUMENTS, "data.path=words.csv", "data.vocabulary={}"],
        ["init={}"],
    ],
    ids=lambda args: args[-1].partition("=")[0] + "-" + args[0].partition("=")[2],
)
def test_a_pipe_or_device_is_refused_before_it_is_opened(read_rejection, args: list[str]) -> None:
    os.mkfifo("pipe")
    os.mkfifo("pipe.csv.gz")
    Path("link").symlink_to("pipe")
    Path("edges.txt").write_text("a b\n")
    Path("words.csv").write_text("doc,word\na,x\n")
    key = args[-1].partition("=")[0]
    for name, kind in [
        ("pipe", "a named pipe"),
        ("pipe.csv.gz", "a named pipe"),
        ("link", "a named pipe"),
        ("/dev/zero", "a character device"),
    ]:
        told = read_rejection(*[arg.format(name) for arg in args])
        assert told == f"smcmc: {key}={name}: {kind}; expected a regular file\n"


def test_a_socket_and_a_dangling_link_are_named(read_rejection) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket")
        assert "data.path=socket: a socket; expected a regular file" in read_rejection(*TABLE, "data.path=socket")
    Path("link").symlink_to("nowhere")
    assert "link: a link to nowhere, which is not there; expected a table" in read_rejection(*TABLE, "data.path=link")


def test_a_folder_of_texts_holds_regular_files_alone(read_rejection) -> None:
    Path("texts/a").mkdir(parents=True)
    Path("texts/a/one.txt").write_text("some words")
    for make, kind in [
        (lambda path: os.mkfifo(path), "a named pipe; expected a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "a character device; expected a regular file"),
        (lambda path: path.symlink_to("nowhere"), "No such file"),
    ]:
        odd = Path("texts/a/two.txt")
        make(odd)
        assert f"texts/a/two.txt: {kind}" in read_rejection(*DOCUMENTS, "data.path=texts").replace(
            "cannot be read: ", ""
        )
        odd.unlink()


def test_a_pipe_in_place_of_a_published_file_is_refused(
    read_rejection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SMCMC_DATA", str(tmp_path))
    for name, file in [
        ("usair97", "edges.csv.gz"),
        ("ohsumed23", "counts.npz"),
        ("kddcup04bio", "KDDCUP04Bio.txt"),
        ("pubmed", "docword.pubmed.txt.gz"),
    ]:
        Path(name).mkdir()
        Path(name, "vocab.pubmed.txt").write_text("word\n")
        os.mkfifo(f"{name}/{file}")
        assert f"{file}: a named pipe; expected a regular file" in read_rejection(f"data={name}")


# files that unpack to more than the limit


def bomb(name: str, content: bytes) -> None:
    """A packed file that is cut short: who unpacks all of it finds that."""
    Path(name).write_bytes(gzip.compress(content)[:-20])


GZIPPED = [
    ("x.csv.gz", b"1,2\n", TABLE),
    ("x.txt.gz", b"a b\n", NETWORK),
    ("x.graphml.gz", b"<a/>\n", NETWORK),
    ("x.gml.gz", b"graph\n", NETWORK),
    ("x.csv.gz", b"a,b\n", DOCUMENTS),
    ("x.ldac.gz", b"1 0:1\n", DOCUMENTS),
    ("x.txt.gz", b"some words\n", DOCUMENTS),
]


@pytest.mark.parametrize(("name", "line", "args"), GZIPPED, ids=[f"{a[0]}-{n}" for n, _, a in GZIPPED])
def test_a_packed_text_stops_while_it_expands(read_rejection, name: str, line: bytes, args: list[str]) -> None:
    bomb(name, line * 1_000_000)
    told = read_rejection(*args, f"data.path={name}", "data.max_bytes=400000")
    assert f"smcmc: {name}: more than" in told and "bytes unpacked; expected at most" in told
    assert "(data.max_bytes" in told


def test_the_first_bytes_foretell_how_much_a_file_unpacks_to() -> None:
    numbers = np.random.default_rng(0).integers(10, size=(20_000, 2))
    varied = "\n".join(f"{a},{b}" for a, b in numbers.tolist()).encode() + b"\n"
    path = Path("x.csv.gz")
    path.write_bytes(gzip.compress(varied * 50, 1))
    with opening.limit_bytes(1_600_000), pytest.raises(DataError, match=r"about (3.9|4|4.1)e\+06 bytes unpacked"):
        opening.content(path)
    # what begins with little variety is not taken for larger than it is
    for content in (varied * 20, b"0,0\n" * 40_000 + varied * 10):
        path.write_bytes(gzip.compress(content, 1))
        with opening.limit_bytes(1_600_000):
            assert opening.content(path) == content


def test_packed_entries_stop_while_they_expand(read_rejection) -> None:
    rows = b"".join(b"1 %d 1\n" % word for word in range(1, 400_001))
    bomb("x.txt.gz", b"1\n400000\n400000\n" + rows)
    told = read_rejection(*DOCUMENTS, "data.path=x.txt.gz", "data.format=uci", "data.max_bytes=1000000")
    assert "x.txt.gz: more than 1000000 bytes unpacked; expected at most 1000000 bytes (data.max_bytes)" in told
    # the default limit is that of the machine: the fault is found
    assert "x.txt.gz: cannot be read" in read_rejection(*DOCUMENTS, "data.path=x.txt.gz", "data.format=uci")


def test_other_files_of_the_user_have_the_limit_too(read_rejection) -> None:
    Path("edges.txt").write_text("a b\n")
    Path("words.csv").write_text("doc,word\na,x\n")
    bomb("long.txt.gz", b"word\n" * 1_000_000)
    assert "long.txt.gz: more than" in read_rejection(
        *DOCUMENTS, "data.path=words.csv", "data.vocabulary=long.txt.gz", "data.max_bytes=100000"
    )
    assert "long.txt.gz: more than" in read_rejection(
        *NETWORK, "data.path=edges.txt", "data.nodes=long.txt.gz", "data.max_bytes=100000"
    )
    Path("labels.txt").write_text("x\n" * 100)
    told = "init=labels.txt: 200 bytes; expected at most 100 bytes (data.max_bytes)"
    assert told in read_rejection("N=100", "init=labels.txt", "data.max_bytes=100")


def test_texts_of_a_folder_have_one_limit_together(read_rejection) -> None:
    Path("texts").mkdir()
    for number in range(20):
        Path(f"texts/{number}.txt.gz").write_bytes(gzip.compress(b"some words " * 1000))
    told = read_rejection(*DOCUMENTS, "data.path=texts", "data.max_bytes=50000")
    assert "texts: 55000 bytes unpacked; expected at most 50000 bytes (data.max_bytes)" in told


def test_a_plain_text_is_refused_by_its_size(read_rejection) -> None:
    with Path("x.csv").open("wb") as file:
        # a hole: it takes no room and would take hours to read
        file.truncate(1 << 42)
    told = read_rejection(*TABLE, "data.path=x.csv")
    assert f"data.path=x.csv: {1 << 42} bytes; expected at most" in told
    assert "a quarter of the memory; data.max_bytes=BYTES sets another limit" in told


def test_short_cells_are_counted_as_what_they_become(read_rejection) -> None:
    Path("x.csv").write_text("1,2\n" * 1000)
    told = "x.csv: 16000 bytes as cells; expected at most 9000 bytes (data.max_bytes)"
    assert told in read_rejection(*TABLE, "data.path=x.csv", "data.max_bytes=9000")


def test_the_limit_is_no_part_of_a_run(smcmc) -> None:
    Path("x.csv").write_text("1\n2\n4\n")
    args = ["run", "sampler=gibbs", "iterations=3", "chains=1", *TABLE, "data.path=x.csv"]
    first = smcmc(*args)
    again = smcmc(*args, "data.max_bytes=1000")
    assert first.exit_code == again.exit_code == 0
    assert first.stdout.splitlines()[-1] == again.stdout.splitlines()[-1]
    # the data are loaded again under the limit of the run
    run = Run(first.stdout.splitlines()[-1])
    assert runs.dataset_of(run).N == 3
    assert "max_bytes" not in run.provenance["config"]["data"]
    assert runs.run_id(config.compose(["data=csv", "model=gaussian", "data.path=x.csv", "data.max_bytes=1000"])) == (
        runs.run_id(config.compose(["data=csv", "model=gaussian", "data.path=x.csv"]))
    )


# arrays and columns that promise, or expand to, more than there is


def test_an_archive_stops_while_it_expands(read_rejection) -> None:
    scipy.sparse.save_npz("x.npz", scipy.sparse.csr_array(np.ones((100, 1000))))
    told = read_rejection(*TABLE, "data.path=x.npz", "data.max_bytes=100000")
    assert "x.npz: " in told and "bytes unpacked; expected at most 100000 bytes (data.max_bytes)" in told


def test_a_table_of_runs_stops_while_it_expands(read_rejection) -> None:
    rows = 2_000_000
    # a value that repeats takes no room in the file
    columns = {"x": pa.array(np.zeros(rows))}
    pa.parquet.write_table(pa.table(columns), "x.parquet")
    assert Path("x.parquet").stat().st_size < 50_000
    told = read_rejection(*TABLE, "data.path=x.parquet", "data.max_bytes=1000000")
    assert "x.parquet: " in told and "bytes unpacked; expected at most 1000000 bytes (data.max_bytes)" in told
    assert "16000000" not in told  # not all of it was unpacked


@pytest.mark.parametrize("categories", [True, False])
def test_words_of_a_dictionary_count_as_often_as_they_stand(read_rejection, categories: bool) -> None:
    words = pa.array(["x" * 100_000, "y"]).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50_000, dtype=np.int32)), words.dictionary)
    # as text it takes 5 GB
    table = pa.table({"x": column})
    if not categories:
        # the same file, whose reader is not told of the categories
        table = table.replace_schema_metadata(None)
    pa.parquet.write_table(table, "x.parquet", store_schema=categories)
    assert Path("x.parquet").stat().st_size < 1_000_000
    told = read_rejection("data=csv", "model=emm", "data.path=x.parquet", "data.max_bytes=100000000")
    assert "x.parquet: 5000400000 bytes unpacked; expected at most 100000000 bytes" in told


PROMISES = """
import resource, sys
import numpy as np, scipy.sparse
from io import BytesIO
from splitmerge_cli import runs
from splitmerge_cli.config import compose
import splitmerge_cli.kinds.documents.readers.files, splitmerge_cli.kinds.networks.readers.edges
import splitmerge_cli.data.tables.files, splitmerge_cli.kinds.tables.models.gaussian
import networkx, splitmerge_cli.kinds.documents.hdp, splitmerge_cli.kinds.networks.irm

MOST = 2_000_000_000

def header(shape, rest=b"x" * 80):
    opened = BytesIO()
    np.lib.format.write_array_header_1_0(opened, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return opened.getvalue() + rest

def put(name, content):
    open(name, "wb").write(content)

put("words.uci", b"3\\n%d\\n1\\n1 %d 1\\n" % (MOST, MOST))
put("documents.uci", b"%d\\n3\\n1\\n1 1 1\\n" % MOST)
put("pairs.ldac", b"%d 0:1\\n" % MOST)
put("word.ldac", b"1 %d:1\\n" % MOST)
put("count.ldac", b"1 0:%d\\n" % MOST)
put("long.npy", header((MOST, 10)))
put("wide.npy", header((1, 2**62)))
put("tokens.csv", b"doc,word,count\\na,x,%d\\n" % MOST)
one = (np.ones(1), (np.array([1]), np.array([1])))
scipy.sparse.save_npz("rows.npz", scipy.sparse.coo_matrix(one, shape=(MOST, 3)))
scipy.sparse.save_npz("columns.npz", scipy.sparse.coo_matrix(one, shape=(3, MOST)))
np.savez("lies.npz", format=np.array("csr"), shape=np.array([2, 2]))
import zipfile
with zipfile.ZipFile("lies.npz", "a") as archive:
    for name in ("data", "indices", "indptr"):
        archive.writestr(name + ".npy", header((MOST,)))
put("edges.txt", b"0 %d\\n1 %d\\n" % (MOST, MOST - 1))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2**30, now + 2**30))
before = peak()
for args in sys.stdin.read().splitlines():
    try:
        plan = runs.prepare(compose(["sampler=gibbs", *args.split()]))
        print("N", plan.dataset.N)
    except ValueError as error:
        print(error)
print(peak() - before)
"""
PROMISED = {
    "data=corpus data.path=words.uci data.format=uci": "words.uci: word 2000000000; expected at most 10000000 words",
    "data=corpus data.path=documents.uci data.format=uci": "documents.uci: row 1: 2000000000 documents; expected",
    "data=corpus data.path=pairs.ldac": "pairs.ldac: row 1, field 1: '2000000000'; expected 1, the pairs of the row",
    "data=corpus data.path=word.ldac": "word.ldac: word 2000000000; expected at most 10000000 words",
    "data=corpus data.path=count.ldac": "count.ldac: 2000000000 tokens; expected at most",
    "data=corpus data.path=tokens.csv": "tokens.csv: 2000000000 tokens; expected at most",
    "data=csv model=gaussian data.path=long.npy": "its header promises 160000000000 bytes, 80 follow",
    "data=csv model=gaussian data.path=wide.npy": f"its header promises {2**65} bytes, 80 follow",
    "data=csv model=gaussian data.path=rows.npz": "rows.npz: 2000000000 rows; expected at most",
    "data=csv model=gaussian data.path=columns.npz": "columns.npz: 2000000000 columns; expected at most",
    "data=csv model=gaussian data.path=lies.npz": "data.npy promises 16000000000 bytes and holds 80",
    "data=edges data.path=edges.txt": "N 4",
    "data=edges data.path=edges.txt data.nodes=2000000000": "data.nodes=2000000000: expected a whole number from 1 to",
    "data=edges data.path=edges.txt data.nodes=10000000": "data.nodes=10000000: 10000000 nodes; expected at most",
    "data=edges data.path=edges.txt N=2000000000": "N=2000000000: expected a whole number from 1 to 4",
}


@pytest.mark.slow
def test_a_promise_costs_nothing(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        pytest.skip("no /proc here")
    done = subprocess.run(
        [sys.executable, "-c", PROMISES], input="\n".join(PROMISED), cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *told, grown = done.stdout.splitlines()
    assert len(told) == len(PROMISED)
    for (args, expected), found in zip(PROMISED.items(), told, strict=True):
        assert expected in found, args
    assert int(grown) < 100, "MiB"
