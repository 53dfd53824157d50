"""One walk for all cases of reading: a file of that content is written and read, and what was read, or the one message,
is compared.

Cases stand in ``tests/unit/reading/*.yaml``, one in a line, in groups with a name; those whose content is computed are
`read(...)` and `refuse(...)`. A case has

- a content: ``text`` (``<NAME>`` in it is a text of the file's ``texts``), with an ``encoding`` if that is not UTF-8;
  ``frame``, columns by their names; ``array``; or ``cells`` of a column, ``called`` c, beside one of numbers, x;
- ``name``, the file's, ``kind``, the reader's (several are read one after the other), ``with``, the options that it is
  given, and other ``files`` beside it;
- ``refused``, what the message begins with behind the name of the file, or what is expected of the data by the names in
  `FOUND`; ``note`` is in the notes, ``no_note`` is not. In a message or note ``…`` stands for anything.

``all`` at the head of a group holds for each of its cases.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
import refusals
import yaml

from splitmerge_cli.data import dataset, objects
from splitmerge_cli.data.tables.files import csv
from splitmerge_cli.kinds.documents.readers.files import corpus
from splitmerge_cli.kinds.networks.readers.edges import edges
from splitmerge_cli.received import DataError

OBJECT = "object"
"""The name of what is no file: content that a program passes."""
READERS = {"graph": edges, "documents": corpus}


@dataclass(frozen=True)
class Case:
    """A content, how it is read, and what is expected: values by their names, or a message."""

    content: Any
    kind: str
    name: str
    options: Mapping[str, Any]
    expected: Mapping[str, Any]
    message: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)


def read(
    content: Any,
    note: str | Sequence[str] = (),
    values: Any = None,
    *,
    kind: str = "points",
    name: str = "t.csv",
    expect: Mapping[str, Any] | None = None,
    **options: Any,
) -> Case:
    """A content that is read, with these words in its notes and these values; `expect` has more, by `FOUND`."""
    more = {} if values is None else {"values": values}
    return Case(content, kind, name, options, {"note": note} | more | dict(expect or {}))


def refuse(content: Any, message: str, *, kind: str = "points", name: str = "t.csv", **options: Any) -> Case:
    """A content that is refused with a message of one line that has these words."""
    return Case(content, kind, name, options, {}, message)


def _join_notes(data: dataset.Dataset) -> str:
    return " | ".join(data.notes)


def _pairs(data: dataset.Dataset) -> list[str]:
    row, column = data.values.nonzero()
    names = data.names or []
    return sorted({" ".join(sorted((names[i], names[j]))) for i, j in zip(row.tolist(), column.tolist(), strict=True)})


def _ties(data: dataset.Dataset) -> dict[str, Any]:
    """Edges of the first layer by the names of their ends, with their values; unknown pairs: None."""
    assert data.relations is not None and data.names is not None
    layer, names = data.relations.layers[0], data.names
    values = [1.0] * len(layer.ends) if layer.value is None else layer.value.tolist()
    values = [layer.levels[int(value)] for value in values] if layer.levels else values
    found = {names[i] + names[j]: value for (i, j), value in zip(layer.ends.tolist(), values, strict=True)}
    return found | {names[i] + names[j]: None for i, j in layer.unknown.tolist()}


def texts_of(data: dataset.Dataset) -> list[list[str]]:
    words = np.array(data.vocabulary)[data.values.tokens.words]
    return [part.tolist() for part in np.split(words, data.values.tokens.starts[1:-1])]


FOUND: dict[str, Callable[[dataset.Dataset], Any]] = {
    "values": lambda data: data.values.toarray() if hasattr(data.values, "toarray") else data.values,
    "column": lambda data: data.values[:, 0],
    "rows": lambda data: data.N,
    "width": lambda data: data.values.shape[1],
    "columns": lambda data: data.columns,
    "names": lambda data: data.names,
    "labels": lambda data: None if data.truth is None else data.truth.tolist(),
    "missing": lambda data: data.missing,
    "exposure": lambda data: data.exposure.tolist(),
    "types": lambda data: [column.type for column in data.types or ()],
    "type": lambda data: (data.types or ())[0].type,
    "levels": lambda data: list((data.types or ())[0].levels),
    "words": lambda data: data.vocabulary,
    "tokens": lambda data: [data.vocabulary[code] for code in data.values],
    "notes": lambda data: [note.partition(": ")[2] or note for note in data.notes],
    "pairs": _pairs,
    "ties": _ties,
    "meta": lambda data: data.meta,
    "texts": texts_of,
    "bags": lambda data: [sorted(text) for text in texts_of(data)],
    "documents": lambda data: data.values.documents,
    "lengths": lambda data: data.values.tokens.lengths.tolist(),
}
"""Parts of a data set to compare, by name; ``note`` are words that its notes have, ``no_note`` words that none has."""


def pattern(text: str) -> str:
    """The regular expression of a text in which ``…`` stands for anything."""
    return ".*".join(map(re.escape, text.split("…")))


def put(content: Any, name: str) -> str:
    """Write a content under a name: a frame, or the cells of a text, as the ending says; else as `refusals.write`."""
    if name.endswith(".xlsx") and isinstance(content, str):
        book = openpyxl.Workbook()
        for line in content.splitlines():
            cells = [cell or None for cell in line.split(",")]
            book.active.append([float(cell) if cell and cell[:1].isdigit() else cell for cell in cells])
        book.save(name)
    elif isinstance(content, pd.DataFrame):
        plain = isinstance(content.index, pd.RangeIndex)
        write = {"csv": content.to_csv, "tsv": partial(content.to_csv, sep="\t"), "xlsx": content.to_excel}
        write |= {"parquet": content.to_parquet, "feather": content.to_feather}
        ending = name.rpartition(".")[2]
        write[ending](name, **({} if ending in ("parquet", "feather") else {"index": not plain}))
    else:
        return refusals.write(content, name)
    return name


def _fill(text: str, texts: Mapping[str, str]) -> str:
    return re.sub(r"<(\w+)>", lambda found: texts.get(found[1], found[0]), text)


def case_of(row: Mapping[str, Any], texts: Mapping[str, str]) -> Case:
    """The case that a line of a table says."""
    row = dict(row)
    if (text := row.pop("text", None)) is not None:
        content: Any = _fill(text, texts)
        content = content.encode(row.pop("encoding")) if "encoding" in row else content
    elif "frame" in row:
        content = pd.DataFrame(row.pop("frame"))
    elif "cells" in row:
        cells = "".join(f'"{cell}",{i + 0.5}\n' for i, cell in enumerate(row.pop("cells")))
        content = f"{row.pop('called', 'c')},x\n{cells}"
    else:
        content = np.array(row.pop("array"))
    parts = [row.pop(key, default) for key, default in (("kind", "points"), ("name", "t.csv"), ("with", {}))]
    message, files = row.pop("refused", None), row.pop("files", {})
    assert row.keys() <= FOUND.keys() | {"note", "no_note"} and (message is None or not row), row
    return Case(content, *parts, row, message, files)


def load(file: Path) -> dict[str, list[Case]]:
    """The cases of a file, by the names of their groups."""
    groups = yaml.safe_load(file.read_text(encoding="utf-8"))
    texts, table = dict[str, str](), dict[str, list[Case]]()
    for name, text in groups.pop("texts", {}).items():
        texts[name] = _fill(text, texts)
    for group, rows in groups.items():
        common = rows[0].get("all", {})
        table[group] = [case_of(common | row, texts) for row in rows if "all" not in row]
    return table


def check(case: Case) -> None:
    """Read a case in the working folder, for each of its kinds, under each of its names."""
    for name, content in case.files.items():
        Path(name).write_text(content, encoding=case.options.get("encoding", "utf-8"))
    for kind in case.kind.split():
        for name in case.name.split():
            reader = READERS.get(kind, partial(csv, kind=kind))
            if name == OBJECT:
                reader, place = partial(objects.from_object, kind=kind), case.content
            else:
                place = Path(put(case.content, name))
            if case.message is not None:
                before = sorted(Path().iterdir())
                with pytest.raises(DataError) as raised:
                    reader(place, **case.options)
                said = str(raised.value)
                assert re.match(pattern(case.message), said.removeprefix(f"{name}: ")), said
                assert "\n" not in said and sorted(Path().iterdir()) == before
                continue
            data = reader(place, **case.options)
            for what, expected in case.expected.items():
                if what in ("note", "no_note"):
                    for words in [expected] if isinstance(expected, str) else expected:
                        found = re.search(pattern(words), _join_notes(data))
                        assert bool(found) is (what == "note"), f"{kind}, {name}: {words}: {_join_notes(data)}"
                elif what in ("values", "column"):
                    np.testing.assert_array_equal(FOUND[what](data), expected, err_msg=f"{kind}, {name}")
                else:
                    found = FOUND[what](data)
                    found = {key: found.get(key) for key in expected} if what == "meta" else found
                    assert found == expected, f"{kind}, {name}: {what}"
