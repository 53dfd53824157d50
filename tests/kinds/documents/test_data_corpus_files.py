"""Documents of the user: every format, its faults, and damage done to good files."""

import gzip
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from readings import texts_of
from scipy.sparse import csc_array, csr_array, save_npz

from splitmerge_cli.api.recognition import recognise
from splitmerge_cli.api.selection import model_for_object
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.fits.objects import DataNote
from splitmerge_cli.kinds.documents.readers import bag_of_words
from splitmerge_cli.kinds.documents.readers import files as corpus_files
from splitmerge_cli.kinds.documents.readers.files import corpus, digest
from splitmerge_cli.kinds.documents.readers.words import Words
from splitmerge_cli.kinds.documents.stored import encode_documents
from splitmerge_cli.received import DataError

COUNTS = np.array([[2, 0, 1, 0], [0, 0, 3, 1], [0, 0, 0, 0], [1, 0, 1, 0]], dtype=np.int32)
WORDS = ["heart", "lung", "acute", "flow"]
TABLE = "b,heart\nb,acute\na,acute\nb,heart\na,flow\na,acute\n"
LDAC = "2 0:2 2:1\n2 2:3 3:1\n0\n2 2:1 0:1\n"
UCI = "4\n4\n6\n1 1 2\n1 3 1\n2 3 3\n2 4 1\n4 1 1\n4 3 1\n"
TEXT = "Heart heart, acute!\nacute acute: ACUTE flow\n\nthe heart is a\n"


@pytest.fixture(autouse=True)
def _change_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.txt").write_text("\n".join(WORDS) + "\n")


def put(name: str, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    Path(name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return Path(name)


# tables


def test_a_part_of_a_table_is_held_out() -> None:
    held = corpus(put("t.csv", TABLE), heldout=0.5, split_seed=3).values
    assert sorted(held.documents + held.heldout.documents) == ["a", "b"] and held.heldout.observed.sum() == 2


@pytest.mark.parametrize(("name", "usual"), [("t.csv", ","), ("t.tsv", "\t"), ("t.words", ",")])
@pytest.mark.parametrize(("end", "key"), [(";", "semicolon"), ("|", "pipe"), ("\t", "tab"), (",", "comma")])
@pytest.mark.parametrize("first", ["doc;word;count\n", "sep=;\ndoc;word;count\n", ""])
def test_separators_of_tokens(name: str, usual: str, end: str, key: str, first: str) -> None:
    rows = "doc 1;heart;2\ndoc 1;acute;1\ndoc 2;acute;2\ndoc 2;flow;1\n"
    if "sep" in first and end == "|":
        return  # no spreadsheet program writes it
    made = corpus(put(name, (first + rows).replace(";", end)), format="tokens")
    assert made.values.documents == ["doc 1", "doc 2"] and made.vocabulary == ["heart", "acute", "flow"]
    assert made.values.tokens.words.tolist() == [0, 0, 1, 1, 1, 2]
    assert any("ends a cell (data.separator)" in note for note in made.notes) == (end != usual)
    assert corpus(name, format="tokens", separator=key).notes == []


def test_tokens_in_other_tables() -> None:
    frame = pd.read_csv(io.BytesIO(b"doc,word,count\na,heart,2\nb,flow,3\nb,acute,1"))
    frame.to_excel("t.xlsx", index=False)
    frame.to_feather("t.feather")
    frame.to_parquet("t.parquet")
    for name in ("t.xlsx", "t.feather", "t.parquet"):
        made = corpus(name)
        assert made.values.documents == ["a", "b"] and made.values.tokens.words.tolist() == [0, 0, 1, 1, 1, 2]
    with pytest.raises(DataError, match=r"^data.separator=semicolon: expected auto: t.xlsx is no table in a text file"):
        corpus("t.xlsx", separator="semicolon")


# counts


def put_counts(name: str, content: Any) -> Path:
    if name.endswith(".npz"):
        save_npz(name, content)
        return Path(name)
    return put(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.npz", csr_array(COUNTS)),
        ("c.npz", csc_array(COUNTS.astype(float))),
        ("c.ldac", LDAC),
        ("c.ldac.gz", LDAC),
        ("c.dat", LDAC.replace("\n", "\r\n")),
        ("c.txt", LDAC.replace(" ", "  ").replace("\n", " \n")),
        ("docword.c.txt", UCI),
        ("docword.c.txt.gz", UCI),
    ],
)
def test_counts(name: str, content: Any) -> None:
    path = put_counts(name, content)
    before = sorted(Path().iterdir())
    made = corpus(path, vocabulary="v.txt")
    assert made.vocabulary == WORDS and made.values.documents is None and made.truth is None
    assert sorted(map(sorted, texts_of(made))) == [
        [],
        ["acute", "acute", "acute", "flow"],
        ["acute", "heart"],
        ["acute", "heart", "heart"],
    ]
    assert made.meta["documents"]["empty"] == 1 and made.values.tokens.lengths.tolist() == [3, 4, 0, 2]
    assert corpus(path, vocabulary="v.txt", N=2).values.tokens.lengths.tolist() == [3, 4]
    with pytest.raises(DataError, match=rf"^N=5: expected a whole number from 1 to 4, the documents of {path}"):
        corpus(path, vocabulary="v.txt", N=5)
    assert sorted(Path().iterdir()) == before


def test_a_bag_of_words_is_parsed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_of_words, "CHUNK", 12)
    assert np.array_equal(bag_of_words.parse(put("c.txt", UCI)).toarray(), COUNTS)


def test_faults_of_sparse_counts() -> None:
    path = put_counts("c.npz", csr_array(COUNTS))
    with pytest.raises(DataError, match=r"^data.vocabulary=null: c.npz: expected a text file with its 4 words, one a"):
        corpus(path)
    put("w.txt", "a\nb\na\nc\n")
    with pytest.raises(DataError, match=r"^w.txt: row 3: 'a', which is row 1 too; expected each word once"):
        corpus(path, vocabulary="w.txt")
    put("w.txt", "a\nb\n")
    with pytest.raises(DataError, match=r"^w.txt: 2 lines; expected 4, one for each word"):
        corpus(path, vocabulary="w.txt")
    put_counts("z.npz", csr_array(0 * COUNTS))
    with pytest.raises(DataError, match=r"^z.npz: documents: 4, tokens: none; expected at least one token"):
        corpus("z.npz", vocabulary="v.txt")
    np.savez("d.npz", COUNTS)
    with pytest.raises(DataError, match=r"^d.npz: not a readable sparse matrix"):
        corpus("d.npz", vocabulary="v.txt")


# texts


REVIEWS = 'id,title,text\n1,one,"The heart, as it is, beats"\n2,two,"A flow of words of the heart"\n'


def test_the_column_of_texts_of_other_tables() -> None:
    pd.read_csv(put("t.csv", REVIEWS)).to_parquet("t.parquet")
    assert texts_of(corpus("t.parquet", stop_words="none")) == texts_of(corpus("t.csv", stop_words="none"))


def test_columns_of_texts_of_like_length_are_joined() -> None:
    """A file or frame of them was refused."""
    rows = (f"{i},heart {i} of one thing,flow {i} is two things\n" for i in range(9))
    path = put("t.csv", "id,title,body\n" + "".join(rows))
    made = corpus(path, stop_words="none")
    assert sorted(texts_of(made)[0]) == ["flow", "heart", "is", "of", "one", "thing", "things", "two"]
    said = "columns title, body are texts, joined to a document a row (data.columns=[title] reads one)"
    assert any(said in note for note in made.notes) and made.values.documents == [*map(str, range(9))]
    assert texts_of(corpus(path, columns=["title", "body"], stop_words="none")) == texts_of(made)
    assert sorted(texts_of(corpus(path, columns=["body"], stop_words="none"))[0]) == ["flow", "is", "things", "two"]
    assert recognise(path).data == "corpus"
    frame = pd.read_csv(path)
    with pytest.warns(DataNote, match="data: columns 'title', 'body' are read, as documents"):
        model, part = model_for_object(frame.assign(body=[None, *frame["body"][1:]])[["title", "body"]])
    assert model == "hdp" and list(part[:2]) == ["heart 0 of one thing ", "heart 1 of one thing flow 1 is two things"]


def test_stop_words_are_found_in_the_corpus() -> None:
    english = "the heart of the dog and the cat is in it\nto be or not to be that is the question of a heart\n" * 3
    made = corpus(put("t.txt", english))
    assert made.vocabulary == ["cat", "dog", "heart", "question"]
    assert made.notes == [
        "t.txt: words of one character are left out: 3 of 72, a (data.min_length=1 keeps them)",
        "data.stop_words=auto: the English list: 11 words with 78% of the tokens are left out "
        "(data.stop_words=none keeps them)",
    ]
    esperanto = "".join(f"la hund{k} kaj ties kato{k % 3} vidas iun luno{k % 7}\n" for k in range(24))
    made = corpus(put("t.txt", esperanto))
    vocabulary = {*(made.vocabulary or ())}
    assert not {"la", "kaj", "ties", "vidas", "iun"} & vocabulary and "kato2" in vocabulary
    assert "words in more than 50% of the documents: 5 words" in made.notes[0]
    # the list of another language, the nearest of several
    spoken = {
        "german": "Die Wolken ziehen über den Berg, und es wird nicht mehr hell, wenn der Wind sich dreht.",
        "dutch": "De wolken trekken over de berg, en het wordt niet meer licht als de wind draait.",
        "french": "Les nuages passent sur la montagne, et il ne fait plus jour quand le vent est au nord.",
        "spanish": "Las nubes pasan por la sierra, y ya no hay luz cuando el viento es del norte.",
    }
    for language, sentence in spoken.items():
        made = corpus(put("t.txt", f"{sentence}\n" * 15))
        assert any(f"the {language.capitalize()} list: " in note for note in made.notes)
        assert made.vocabulary == corpus("t.txt", stop_words=language).vocabulary
        assert not {"der", "de", "les", "el", "nicht", "niet", "est", "es"} & {*(made.vocabulary or ())}
    # counts are words that somebody chose, and few documents tell nothing
    rows = "".join(f"{k},{word}\n" for k, line in enumerate(esperanto.splitlines()) for word in line.split())
    assert "la" in (corpus(put("t.csv", "doc,word\n" + rows)).vocabulary or ())
    assert "la" in (corpus(put("t.txt", esperanto), N=19).vocabulary or ())
    put("stop.txt", "Hund1\nla\n")
    left = corpus("t.txt", stop_words="stop.txt").vocabulary or []
    assert "hund1" not in left and "la" not in left and "kaj" in left


def test_words_of_nearly_all_texts_are_noted() -> None:
    """Tags of pages and headers of mails, unless they have few tokens or may be left out by other keys."""
    pages = [f"<p class=note>heart{k} flow{k % 5} bone{k % 7} page{k}</p>" for k in range(20)]
    note = "words in 95% of the documents or more: 2 with 33% of the tokens (class, note); such are tags of"
    assert corpus(put("t.txt", "\n".join(pages)), stop_words="none").notes[-1].startswith(note)
    assert corpus(put("t.txt", "\n".join([*pages[1:], "heart only"])), stop_words="none").notes[-1].startswith(note)
    made = corpus("t.txt", max_share=0.9, stop_words="none")
    assert not any("words in 95%" in line for line in made.notes) and "class" not in (made.vocabulary or ())
    few = ["class note heart flow bone"] * 20
    long = [f"{page} {' '.join(f'w{k}x{j}' for j in range(20))}" for k, page in enumerate(pages)]
    for texts in (pages[:19], few, long, [*pages[2:], "heart only", "bone only"]):
        assert not any(
            "words in 95%" in line for line in corpus(put("t.txt", "\n".join(texts)), stop_words="none").notes
        )


def test_columns_that_take_no_part_are_said() -> None:
    for head, row, said in [
        ("label,text", "a{},heart of the flow number {} here is long", "another); the other column takes no part"),
        ("id,text", "{},heart of the flow number {} here is long", "another)"),
        ("id,kind,text", "{},a,heart of the flow number {} here is long", "another); the other column takes no part"),
        ("a,b,text", "a,b,heart of the flow number {} here is long", "another); the other columns take no part"),
    ]:
        rows = [row.format(*((k % 2 if head == "label,text" else k), k)[-row.count("{}") :]) for k in range(8)]
        notes = corpus(put("t.csv", "\n".join([head, *rows]))).notes
        assert next(line for line in notes if "is read as texts" in line).endswith(f"(data.columns chooses {said}")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_the_words_of_a_table_are_kept_where_none_is_a_stop_word(name: str) -> None:
    rows = pd.DataFrame({"doc": ["d0", "d0"], "word": ["0", "A"], "count": [1, 1]})
    rows.to_csv(name, index=False) if name == "t.csv" else rows.to_parquet(name)
    assert corpus(name, stop_words="none").vocabulary == ["0", "A"]
    made = corpus(name)
    assert made.vocabulary == ["0"] and made.notes[0].startswith("data.stop_words=auto: the English list: 1 words with")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The C language, don't; 5 x_y", ["the", "language", "don", "x_y"]),
        ("犬 が 走る 人々 \u8336 물 나무", ["犬", "走る", "人々", "茶", "물", "나무"]),
        ("good \U0001f600\U0001f600 \u2764\ufe0f \u2764", ["good", "\U0001f600", "\U0001f600", "\u2764", "\u2764"]),
        ("\U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd", ["\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd"]),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", ["\U0001f468\u200d\U0001f469\u200d\U0001f467"]),
        ("हिन्दी में नमस्ते", ["हिन्दी", "में", "नमस्ते"]),
        ("สวัสดี ครับ", ["สวัสดี", "ครับ"]),
        ("mu\u0308ller MÜLLER Wort\u00adteil", ["müller", "müller", "wortteil"]),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0648",
            ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
        ),
    ],
)
def test_words_of_texts(text: str, words: list[str]) -> None:
    assert Words()(text) == words


def test_new_documents_have_their_words_as_the_data_have_them() -> None:
    lines = ["\U0001f34e が \U0001f34c", "犬 猫 x", "b", "", "犬 動物"]
    made = corpus(put("t.txt", "\n".join(lines)), stop_words="none")
    assert from_object(lines, "documents").notes == [note.replace("t.txt", "data") for note in made.notes]
    assert encode_documents(made, ["犬 \U0001f34c が"]).words.tolist() == [1, 3]
    single = corpus("t.txt", stop_words="none", min_length=1)
    assert len(encode_documents(single, ["犬 x が"]).words) == 3


@pytest.mark.parametrize(
    ("words", "language"),
    [
        (["動物", "散歩", "餌やり", "電車", "切符"], "Chinese or Japanese"),
        (["มหาวิทยาลัย", "สวัสดี", "รถไฟ", "ครับ"], "Thai, Lao, Burmese or Khmer"),
    ],
)
def test_texts_without_spaces_are_noted(words: list[str], language: str) -> None:
    rng = np.random.default_rng(0)
    drawn = [rng.choice(words, 12) for _ in range(20)]
    assert not corpus(put("t.txt", "\n".join(map(" ".join, drawn))), stop_words="none").notes
    (note,) = [n for n in corpus(put("t.txt", "\n".join(map("".join, drawn)))).notes if "letters" in n]
    assert re.match(rf"t.txt: words of {language} have \d+ letters on average, such as '.*': topics of whole", note)
    assert any(language in note for note in from_object(["".join(each) for each in drawn], "documents").notes)


def test_the_encoding_of_a_vocabulary() -> None:
    put("w.txt", "größe\n".encode("latin-1"))
    table = corpus(put("t.csv", "1,größe\n".encode("latin-1")), vocabulary="w.txt", encoding="latin-1")
    assert table.vocabulary == ["größe"]


def test_a_folder_of_texts() -> None:
    for name, text in {"b/2.txt": "heart", "a/1.txt": "flow flow", "b/1": "", "b/.hidden": "no", ".no/x": "no"}.items():
        Path("texts", name).parent.mkdir(parents=True, exist_ok=True)
        Path("texts", name).write_text(text)
    made = corpus("texts")
    assert made.values.documents == ["a/1.txt", "b/1", "b/2.txt"] and texts_of(made) == [
        ["flow", "flow"],
        [],
        ["heart"],
    ]
    assert made.values.categories == ["a", "b"] and made.values.labels.tolist() == [0, 1, 1]
    assert corpus("texts", N=1).values.documents == ["a/1.txt"]
    put("texts/alone.txt", "heart")
    assert corpus("texts").values.labels is None
    Path("texts/b/2.txt").write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(DataError, match=r"^texts/b/2.txt: row 2: byte 0xff; expected UTF-8 text"):
        corpus("texts")
    with pytest.raises(DataError, match=r"^data.format=ldac: texts is a folder; expected a file"):
        corpus("texts", format="ldac")


def test_digests_of_folders() -> None:
    Path("texts/a").mkdir(parents=True)
    put("texts/a/1", "x")
    first = digest("texts")
    assert re.fullmatch("[0-9a-f]{64}", first) and digest(Path("texts")) == first
    put("texts/.hidden", "y")
    assert digest("texts") == first
    put("texts/a/1", "y")
    second = digest("texts")
    Path("texts/a/1").rename("texts/a/2")
    assert len({first, second, digest("texts"), digest("v.txt")}) == 4


# which format


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (TEXT, "text"),
        (LDAC, "ldac"),
        (UCI, "uci"),
        ("1\n2\n3\n", "text"),
        ("10:30 is early\n", "text"),
        ("one\ttwo three\nfour\n", "text"),
        ("a\tb\tc\td\n", "text"),
    ],
)
def test_formats_are_told(content: str, format: str) -> None:
    for name in ("x.txt", "x.gz", "x"):
        assert corpus_files._find_format(put(name, content), "utf-8") == format
    long = content * (corpus_files.HEAD // len(content)) if format != "uci" else content
    assert corpus_files._find_format(put("x", long), "utf-8") == format


def test_what_is_not_there() -> None:
    with pytest.raises(DataError, match=r"^none.csv: no such file; expected a table of document and word"):
        corpus("none.csv")
    Path("empty").mkdir()
    for read in (corpus, digest):
        with pytest.raises(DataError, match=r"^empty: the folder is empty; expected a file for each document"):
            read("empty")
