"""Documents as counts of words: ohsumed23, PubMed's text and the arrays that it becomes, and what they weigh."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, random_array, save_npz

from splitmerge_cli import config, runs
from splitmerge_cli.data import dataset, downloads
from splitmerge_cli.data.downloads import SETS, SUMS, File, Published
from splitmerge_cli.kinds.documents import published
from splitmerge_cli.kinds.documents.readers import bag_of_words, words
from splitmerge_cli.received import DataError

COUNTS = np.array([[2, 0, 1, 0], [0, 0, 3, 1], [0, 0, 0, 0], [1, 0, 1, 0]], dtype=np.int32)
WORDS = ["heart", "lung", "acute", "flow"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(downloads.VARIABLE, str(tmp_path))
    return tmp_path


def sample() -> published.Documents:
    return published.Documents(csr_array(COUNTS), WORDS)


# words and weights


@pytest.mark.parametrize(
    ("given", "least", "message"),
    [
        (COUNTS, 4, "data.min_documents=4: no word is left; expected at most 3, the documents of the most common word"),
        (COUNTS, 0, "data.min_documents=0: expected a whole number from 1"),
        (COUNTS, 1.5, "data.min_documents=1.5: expected a whole number from 1"),
        (0 * COUNTS, 1, "data.min_documents=1: no word is left; expected a word in some document"),
    ],
)
def test_no_word_is_left(given: np.ndarray, least: int, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        published.keep_common(published.Documents(csr_array(given), WORDS), least)


def test_weights() -> None:
    counts = csr_array(COUNTS)
    assert np.array_equal(published.weigh(counts, "counts").toarray(), COUNTS)
    assert np.array_equal(published.weigh(counts, "binary").toarray(), COUNTS > 0)
    np.testing.assert_allclose(published.weigh(counts, "log").toarray(), np.log(1 + COUNTS))
    x = published.weigh(counts).toarray()
    expected = COUNTS * (1 + np.log(5 / (1 + np.array([2, 0, 3, 1]))))
    expected[[0, 1, 3]] /= np.linalg.norm(expected[[0, 1, 3]], axis=1)[:, None]
    np.testing.assert_allclose(x, expected, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), [1, 1, 0, 1])
    # the counts stay what they were
    assert np.array_equal(counts.toarray(), COUNTS) and counts.dtype == np.int32
    with pytest.raises(DataError, match=r"^data.weights=idf: expected one of tfidf, log, counts, binary"):
        published.weigh(counts, "idf")


def test_points_say_what_was_kept() -> None:
    data = published.points("made", sample(), "log", 2, "of use")
    assert data.kind.name == "points" and data.columns == ["heart", "acute"] and data.truth is None
    sizes = {"documents": 4, "empty": 1, "words": 2, "vocabulary": 4, "entries": 5, "tokens": 8}
    sizes |= {"weights": "log", "min_documents": 2, "terms": "of use"}
    assert data.meta == {"documents": sizes, "truth": "no labels are published"}


# files of counts


@pytest.mark.parametrize("bad", ["-1", "0.5", "nan", "inf", "3e9"])
def test_what_is_no_count(tmp_path: Path, bad: str) -> None:
    x = COUNTS.astype(np.float64)
    x[1, 3] = float(bad)
    save_npz(tmp_path / "c.npz", csr_array(x))
    with pytest.raises(DataError, match=r"c.npz: row 2, column 4: .*; expected a count, a whole number from 0"):
        words.read_counts(tmp_path / "c.npz")


# ohsumed23


@pytest.fixture
def ohsumed(publish: Callable[..., Path], tmp_path: Path) -> Path:
    """A set of four documents in its place."""
    save_npz(tmp_path / "counts.npz", csr_matrix(COUNTS))
    rows = "0,007,training,C04,3\n1,008,training,C01,4\n2,009,test,C04,0\n3,010,test,C02,2\n"
    files = {"counts.npz": (tmp_path / "counts.npz").read_bytes(), "vocab.txt.gz": "\n".join(WORDS)}
    return publish("ohsumed23", files | {"docs.csv.gz": f"doc,ohsumed_file,split,category,n_tokens\n{rows}"})


def test_ohsumed23(ohsumed: Path) -> None:
    data = published.ohsumed23()
    assert data.name == "ohsumed23" and data.values.shape == (4, 3) and data.columns == ["heart", "acute", "flow"]
    assert data.truth is not None and data.truth.tolist() == [0, 1, 0, 2] and data.truth.dtype == np.int32
    assert data.names == ["007", "008", "009", "010"] and data.meta["categories"] == ["C04", "C01", "C02"]
    sizes = data.meta["documents"]
    assert (sizes["words"], sizes["vocabulary"], sizes["empty"]) == (3, 4, 1) and "out of date" in sizes["terms"]
    few = published.ohsumed23(2, "counts")
    assert np.array_equal(few.values.toarray(), COUNTS[:2][:, [0, 2, 3]])
    assert few.truth.tolist() == [0, 1] and few.meta["categories"] == ["C04", "C01"] and few.names == ["007", "008"]


def test_what_the_reader_is_told() -> None:
    for name, N in (("ohsumed23", 7400), ("pubmed", 8_200_000)):
        assert str(N) == SETS[name].N
    assert "incomplete and out of date" in downloads.describe("ohsumed23")
    assert "incomplete and out of date" in str(published.ohsumed23.__doc__)


# PubMed

TEXT = "4\n4\n6\n1 1 2\n1 3 1\n2 3 3\n2 4 1\n4 1 1\n4 3 1\n"
"""`COUNTS` in UCI's format; the third document has no word."""


@pytest.fixture
def place(folder: Path) -> Path:
    """Where PubMed's files belong, with four documents in them."""
    (folder / "pubmed").mkdir()
    write(folder / "pubmed", TEXT)
    (folder / "pubmed" / published.VOCABULARY).write_text("\n".join(WORDS) + "\n")
    return folder / "pubmed"


def write(place: Path, text: str) -> Path:
    (place / published.COUNTS).write_bytes(gzip.compress(text.encode()))
    return place / published.COUNTS


def test_pubmed(place: Path) -> None:
    read = published.read_pubmed()
    assert np.array_equal(read.counts.toarray(), COUNTS) and read.counts.dtype == np.int32
    assert read.counts.indices.dtype == np.int32 and read.vocabulary == WORDS
    data = published.pubmed(None, "counts")
    assert data.columns == ["heart", "acute", "flow"] and data.truth is None and data.names is None
    assert np.array_equal(data.values.toarray(), COUNTS[:, [0, 2, 3]])
    assert data.meta["truth"] == "no labels are published" and data.meta["documents"]["empty"] == 1
    assert np.array_equal(published.pubmed(2, "counts", 2).values.toarray(), [[1], [3]])
    files = [place / published.COUNTS, place / published.VOCABULARY]
    assert data.notes == [
        f"{file}: unverified: no source states its SHA-256; none was recorded, it has {downloads.sha256_of(file)}"
        for file in files
    ]
    for n in (1, 2, 3, 4):
        assert np.array_equal(published.read_pubmed(n).counts.toarray(), COUNTS[:n])


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7, 11, 64])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_texts_are_read_in_blocks(place: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, end: str) -> None:
    monkeypatch.setattr(bag_of_words, "CHUNK", max(chunk, 12))
    monkeypatch.setattr(bag_of_words._Text, "_read", lambda text, size: text._stream.read(chunk))
    write(place, TEXT.removesuffix("\n") + "\n" if end == "\n" else TEXT.replace("\n", end or "\n").rstrip("\n\r"))
    assert np.array_equal(published.read_pubmed().counts.toarray(), COUNTS)


def test_a_text_that_is_not_packed(place: Path) -> None:
    (place / "docword.txt").write_text(TEXT)
    assert np.array_equal(bag_of_words.read(place / "docword.txt").toarray(), COUNTS)


@pytest.mark.parametrize("chunk", [1 << 10, 1 << 24])
def test_many_documents_with_words_in_any_order(
    place: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, folder: Path
) -> None:
    rng = np.random.default_rng(3)
    x = random_array((300, 200), density=0.05, rng=rng, format="csr")
    x.data = np.ceil(9 * x.data)
    rows = []
    for i in range(300):
        inside = rng.permutation(np.arange(x.indptr[i], x.indptr[i + 1]))
        rows += [f"{i + 1} {x.indices[e] + 1} {x.data[e]:.0f}\n" for e in inside]
    path = write(place, f"300\n200\n{x.nnz}\n" + "".join(rows))
    monkeypatch.setattr(bag_of_words, "CHUNK", chunk)
    read = bag_of_words.read(path)
    assert read.has_sorted_indices and np.array_equal(read.toarray(), x.toarray())


def test_the_text_is_converted_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place / published.COUNTS
    assert published.read_pubmed(1).counts.shape == (1, 4)
    names = {"indptr.npy", "indices.npy", "counts.npy", bag_of_words.RECORD}
    assert {file.name for file in bag_of_words.folder_of(path).iterdir()} == names
    assert {file.name for file in place.iterdir()} == {path.name, f"{path.name}.arrays", published.VOCABULARY}

    def reject(*args: object) -> None:
        raise AssertionError("read again")

    with monkeypatch.context() as patch:
        # neither converted nor hashed again
        patch.setattr(bag_of_words, "_convert", reject)
        patch.setattr(bag_of_words, "sha256_of", reject)
        assert np.array_equal(published.read_pubmed().counts.toarray(), COUNTS)
    with monkeypatch.context() as patch:
        patch.setattr(bag_of_words, "_convert", reject)
        # another time, the same content: hashed once more
        for _ in range(2):
            os.utime(path, (1, 1))
            assert np.array_equal(published.read_pubmed().counts.toarray(), COUNTS)
            patch.setattr(bag_of_words, "sha256_of", reject)
    write(place, TEXT.replace("2 3 3", "2 3 5"))
    assert published.read_pubmed().counts[1, 2] == 5


def test_arrays_that_are_damaged(place: Path) -> None:
    path = place / published.COUNTS
    published.read_pubmed()
    folder = bag_of_words.folder_of(path)
    for name in bag_of_words.ARRAYS:
        file = folder / f"{name}.npy"
        whole = file.read_bytes()
        for content in (b"", whole[:-1], None):
            file.unlink() if content is None else file.write_bytes(content)
            with pytest.raises(DataError, match=r"arrays: damaged: .*; expected the arrays of docword.pubmed.txt"):
                published.read_pubmed()
        file.write_bytes(whole)
    # without a record they are made again
    for record in ("{", "[]", json.dumps({"sha256": "0"})):
        (folder / bag_of_words.RECORD).write_text(record)
        assert np.array_equal(published.read_pubmed().counts.toarray(), COUNTS)


def test_another_process_was_faster(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place / published.COUNTS
    published.read_pubmed()
    theirs = bag_of_words.folder_of(path)
    saved = place / "saved"
    theirs.rename(saved)
    write_arrays = bag_of_words._write_arrays

    def meanwhile(*args: object) -> None:
        write_arrays(*args)
        monkeypatch.setattr(bag_of_words.shutil, "rmtree", lambda folder, **_: None)
        saved.rename(theirs)

    monkeypatch.setattr(bag_of_words, "_write_arrays", meanwhile)
    assert np.array_equal(published.read_pubmed().counts.toarray(), COUNTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: an empty cell; expected the number of documents, from 1"),
        ("4\n", "row 2: an empty cell; expected the number of words"),
        ("x\n4\n6\n", "row 1: 'x'; expected the number of documents, from 1"),
        ("4\n-4\n6\n", "row 2: '-4'; expected the number of words"),
        ("4\n4\n6.5\n", "row 3: '6.5'; expected the number of entries"),
        ("4 4 6\n1 1 2\n", "row 1: '4 4 6'; expected the number of documents"),
        ("9999999999\n4\n6\n", "row 1: '9999999999'; expected the number of documents, from 1 to 2147483647"),
        ("4\n4\n0\n", "row 3: '0'; expected the number of entries"),
        ("4\n4\n17\n", "row 3: 17 entries; expected at most 16"),
        (TEXT.replace("2 3 3", "5 3 3"), "row 6: document 5; expected a whole number from 1 to 4"),
        (TEXT.replace("1 1 2", "0 1 2"), "row 4: document 0; expected a whole number from 1 to 4"),
        (TEXT.replace("2 3 3", "2 5 3"), "row 6: word 5; expected a whole number from 1 to 4"),
        (TEXT.replace("2 3 3", "2 0 3"), "row 6: word 0; expected a whole number from 1 to 4"),
        (TEXT.replace("2 3 3", "2 3 0"), "row 6: count 0; expected a whole number from 1 to 2147483647"),
        (TEXT.replace("2 3 3", "2 3 -3"), "row 6: count -3; expected a whole number from 1 to 2147483647"),
        (TEXT.replace("2 3 3", "2 3 1.5"), "row 6: '2 3 1.5'; expected document, word and count: three whole numbers"),
        (TEXT.replace("2 3 3", "2 3"), "row 6: '2 3'; expected document"),
        (TEXT.replace("2 3 3", "2  3 3"), "row 6: '2  3 3'; expected document"),
        (TEXT.replace("2 3 3", ""), "row 6: an empty cell; expected document"),
        (TEXT.replace("2 3 3", "2 3 99999999999999999999"), "row 6: '2 3 9{20}'; expected document"),
        (TEXT.replace("2 3 3", "2 3 2147483648"), "row 6: count 2147483648; expected"),
        (TEXT.replace("2 3 3", "2 3 \xe9"), "row 6: '2 3 \xe9'; expected document"),
        (TEXT.replace("4 1 1", "1 4 1"), "row 8: document 1 after 2; expected documents in ascending order"),
        (TEXT.replace("4 3 1", "4 1 7"), "row 9: word 1 of document 4 again; expected every word of a document once"),
        (TEXT.replace("1 3 1", "1 1 1"), "row 5: word 1 of document 1 again"),
        (TEXT[:-6], "ends after row 8: 5 entries; expected 6"),
        (TEXT + "4 4 1\n", "row 10: an entry more; expected 6 entries, as row 3 says"),
        (TEXT + "\n", "row 10: an empty cell; expected document"),
    ],
)
@pytest.mark.parametrize("chunk", [32, 1 << 24])
def test_texts_that_are_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str, chunk: int
) -> None:
    monkeypatch.setattr(bag_of_words, "CHUNK", chunk)
    write(place, text)
    with pytest.raises(DataError, match=rf"{published.COUNTS}: {message}") as info:
        published.read_pubmed()
    assert "\n" not in str(info.value)
    assert {file.name for file in place.iterdir()} == {published.COUNTS, published.VOCABULARY}


def test_a_line_without_an_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_of_words, "CHUNK", 16)
    write(place, TEXT + "1" * 100)
    with pytest.raises(DataError, match=r"row \d+: a line without an end; expected document, word and count"):
        published.read_pubmed()


def test_more_entries_of_a_document_than_words(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded: such a document must name a word twice."""
    monkeypatch.setattr(bag_of_words, "CHUNK", 24)
    write(place, "4\n4\n16\n" + "1 1 2\n1 2 1\n1 3 1\n1 4 1\n1 2 1\n" + "1 3 1\n" * 11)
    with pytest.raises(DataError, match="row 8: word 2 of document 1 again"):
        published.read_pubmed()


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-12], lambda b: b[:20], lambda b: b"\x1f\x8b" + b"x" * 30, lambda b: b"4\n"]
)
def test_packed_texts_that_are_cut_short(place: Path, damage: Callable[[bytes], bytes]) -> None:
    path = place / published.COUNTS
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=rf"{published.COUNTS}: cannot be read beyond row \d+: "):
        published.read_pubmed()
    assert {file.name for file in place.iterdir()} == {published.COUNTS, published.VOCABULARY}


def test_arrays_that_cannot_be_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    with pytest.raises(DataError, match=r"arrays: cannot be written: No space left on device; expected room for"):
        published.read_pubmed()
    assert {file.name for file in place.iterdir()} == {published.COUNTS, published.VOCABULARY}


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: published.pubmed(5), "data.documents=5: expected at most 4, the number of documents of .*, or null"),
        (lambda: published.pubmed(0), "data.documents=0: expected a whole number from 1"),
        (lambda: published.pubmed(weights="x", documents=2), "data.weights=x: expected one of"),
        (lambda: published.pubmed(4, min_documents=9), "data.min_documents=9: no word is left; expected at most 3"),
    ],
)
def test_options_out_of_range(place: Path, read: Callable[[], dataset.Dataset], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        read()


def test_an_absent_set_says_how_to_get_it(folder: Path) -> None:
    with pytest.raises(DataError, match=r"^data=pubmed: .*no such file; .* \(smcmc data fetch pubmed downloads it, "):
        published.pubmed()


def test_long_readings_are_reported(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published.read_pubmed()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(bag_of_words, "LARGE", 1)
    monkeypatch.setattr(downloads, "LINE_EVERY", 1)
    path = write(place, TEXT.replace("2 3 3", "2 3 4"))
    published.read_pubmed()
    assert f"{path.name} (converted once): {path.stat().st_size} of" in capsys.readouterr().err


@pytest.fixture
def server_folder(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, support: Callable[[Path], str]) -> Path:
    """The two files on a server of this machine, and none in their place."""
    there = tmp_path / "there"
    place.rename(there)
    address = support(there)
    files = tuple(File(name, address=f"{address}/{name}") for name in (published.COUNTS, published.VOCABULARY))
    monkeypatch.setitem(SETS, "pubmed", Published(**vars(SETS["pubmed"]) | {"files": files}))
    return there


def test_pubmed_is_fetched(server_folder: Path, place: Path) -> None:
    assert downloads.fetch("pubmed") == place
    assert len((place / SUMS).read_text().splitlines()) == 2
    assert np.array_equal(published.read_pubmed().counts.toarray(), COUNTS)
    # a text that was changed is not the one that was fetched, whatever was made from it before
    write(place, TEXT.replace("2 3 3", "2 3 5"))
    with pytest.raises(
        DataError, match=rf"{published.COUNTS}: SHA-256 .*; expected .*, as first fetched according to .*{SUMS}"
    ):
        published.read_pubmed()
    (place / published.COUNTS).unlink()
    downloads.fetch("pubmed")
    assert np.array_equal(published.read_pubmed().counts.toarray(), COUNTS)


# runs


def test_configurations(place: Path, ohsumed: Path) -> None:
    cfg = config.compose(["data=pubmed"])
    assert (
        cfg.model.name == "gaussian"
        and cfg.model.options["covariance"] == "iso"
        and cfg.data.options["documents"] == 100_000
    )
    assert config.compose(["data=pubmed", "data.documents=7"]).data.options["documents"] == 7
    assert config.compose(["data=pubmed", "N=null"]).data.options["documents"] is None
    of_all, of_two = (config.compose(["data=ohsumed23", *given]).data.options["N"] for given in ([], ["N=2"]))
    assert (of_all, of_two) == (None, 2)
    assert config.compose(["data=ohsumed23", "model.covariance=diag"]).model.options["covariance"] == "diag"


def test_a_run_says_what_was_kept(ohsumed: Path, tmp_path: Path) -> None:
    args = ["data=ohsumed23", "sampler=sams", "chains=1", "iterations=5", "progress=none", f"out={tmp_path / 'out'}"]
    path = runs.run(config.compose(args))
    summary = json.loads((path / "summary.json").read_text())
    assert summary["documents"] == published.ohsumed23().meta["documents"]
    assert (path / "clusters.csv").read_text().splitlines()[0] == "row,cluster,name,certainty,second,second_probability"
