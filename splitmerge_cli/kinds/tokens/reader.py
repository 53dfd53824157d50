"""Tokens: each item is one word of a vocabulary, in an object or in a column of a table."""

from dataclasses import replace
from typing import Any

import numpy as np

from splitmerge_cli.data.dataset import Dataset, Labels
from splitmerge_cli.data.objects import frame_of, from_object, object_table
from splitmerge_cli.data.reading import KindReading
from splitmerge_cli.data.tables.columns import Wanted, codes, true_labels
from splitmerge_cli.data.tables.notes import ask_kinds, note_distinct, note_name
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.data.values import notes_entry
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.received import DataError


class TokensReading(KindReading):
    """Codes words by their first appearance."""

    def from_object(self, data: Any, truth: Labels, name: str) -> Dataset:
        """Convert a sequence of words."""
        values, columns, names = frame_of(data)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise DataError(f"data: {values.ndim} dimensions; expected a sequence of tokens")
        codes, seen = pd.factorize(values)
        if (codes < 0).any():
            raise DataError(f"data: item {int(np.argmax(codes < 0)) + 1}: no token; expected a string or a number")
        words = [str(word) for word in seen]
        note, _ = ask_kinds("say_words", object_table(columns, 1), 0, words, len(codes))
        meta = notes_entry([f"data: {note}"] if note else [])
        return Dataset(name, self.kind, codes.astype(np.int32), truth, vocabulary=words, names=names, meta=meta)

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        """Convert one column."""
        rows = table.rows
        table.take(N)
        t, (j,) = wanted.resolve(table)
        wanted.set_hint(table, [j])
        labels = None if t is None else true_labels(table, t, wanted.missing)
        tokens, vocabulary = codes(table, j, "a token")
        note_distinct(table, j, tokens, len(vocabulary))
        note, _ = ask_kinds("say_words", table, j, vocabulary, len(tokens))
        if note:
            table.notes.append(f"{table.path}: {table.column(j)}: {note}")
        if header == "auto":
            note_name(table, j, tokens, len(vocabulary))
        meta = {"path": str(table.path), "rows": rows} | notes_entry(table.notes)
        names = table.names_of_items()
        return Dataset(table.title, self.kind, tokens, labels, vocabulary=vocabulary, names=names, meta=meta)

    def align(self, dataset: Dataset, new: Any) -> Dataset:
        """Code new tokens as in the data."""
        aligned = from_object(new, self.kind)
        code = {token: k for k, token in enumerate(dataset.vocabulary or ())}
        of_new = aligned.vocabulary or []
        for token in of_new:
            if token not in code:
                raise DataError(f"new items: token '{token}' is none of the data's {len(code)}")
        codes = np.array([code[token] for token in of_new], dtype=np.int32)
        return replace(aligned, values=codes[aligned.values], vocabulary=dataset.vocabulary)

    def as_given(self, dataset: Dataset) -> Any:
        """The tokens."""
        words = dataset.vocabulary
        return [words[code] for code in dataset.values] if words else dataset.values
