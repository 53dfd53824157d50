"""Tokens: each item is one word of a vocabulary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.kinds.base import Kind, Labels
from splitmerge_cli.received import DataError

if TYPE_CHECKING:
    from splitmerge_cli.data.base import Dataset
    from splitmerge_cli.data.tables.table import Table
    from splitmerge_cli.data.tables.wanted import Wanted

TELLING = 3
"""Tokens that are named of a cluster."""


class Tokens(Kind):
    """Any strings or numbers: int32 ``[N]``, codes of the `vocabulary` from 0."""

    name = "tokens"
    item = "token"
    model = "emm"
    generator = "splitmerge_cli.data.generated.emm:generate"
    text_types = ("string",)
    one_column = True
    allows_missing = False
    column_types = ("categorical", "binary")
    quantities = "splitmerge_cli.studies.quantities:Tokens"

    def outline(self, N: int, D: int) -> Dataset:
        from splitmerge_cli.data.base import Dataset

        return Dataset("simulated", self.name, np.zeros(N, dtype=np.int32), vocabulary=[str(word) for word in range(D)])

    # -- readers
    def from_object(self, data: Any, truth: Labels, name: str) -> Dataset:
        import pandas as pd

        from splitmerge_cli.data.base import Dataset, notes_entry
        from splitmerge_cli.data.objects import frame_of, object_table
        from splitmerge_cli.data.tables.letters import say_names

        values, columns, names = frame_of(data)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise DataError(f"data: {values.ndim} dimensions; expected a sequence of tokens")
        codes, seen = pd.factorize(values)
        if (codes < 0).any():
            raise DataError(f"data: item {int(np.argmax(codes < 0)) + 1}: no token; expected a string or a number")
        words = [str(word) for word in seen]
        said = say_names(object_table(columns, 1), 0, words, len(codes))
        meta = notes_entry([f"data: {said}"] if said else [])
        return Dataset(name, self.name, codes.astype(np.int32), truth, vocabulary=words, names=names, meta=meta)

    def from_table(self, table: Table, wanted: Wanted, N: int | None, header: str | bool) -> Dataset:
        from splitmerge_cli.data.base import Dataset, notes_entry
        from splitmerge_cli.data.tables.columns import codes, true_labels
        from splitmerge_cli.data.tables.letters import say_names
        from splitmerge_cli.data.tables.notes import note_distinct, note_name

        rows = table.rows
        table.take(N)
        t, (j,) = wanted.resolve(table)
        wanted.set_hint(table, [j])
        labels = None if t is None else true_labels(table, t, wanted.missing)
        tokens, vocabulary = codes(table, j, "a token")
        note_distinct(table, j, tokens, len(vocabulary))
        if said := say_names(table, j, vocabulary, len(tokens)):
            table.notes.append(f"{table.path}: {table.column(j)}: {said}")
        if header == "auto":
            note_name(table, j, tokens, len(vocabulary))
        meta = {"path": str(table.path), "rows": rows} | notes_entry(table.notes)
        names = table.names_of_items()
        return Dataset(table.title, self.name, tokens, labels, vocabulary=vocabulary, names=names, meta=meta)

    # -- new items
    def _align_items(self, dataset: Dataset, new: Any) -> Dataset:
        """Code new tokens as in the data."""
        from splitmerge_cli.data.objects import from_object

        found = from_object(new, self.name)
        code = {token: k for k, token in enumerate(dataset.vocabulary or ())}
        of_new = found.vocabulary or []
        for token in of_new:
            if token not in code:
                raise DataError(f"new items: token '{token}' is none of the data's {len(code)}")
        codes = np.array([code[token] for token in of_new], dtype=np.int32)
        return replace(found, values=codes[found.values], vocabulary=dataset.vocabulary)

    def as_given(self, dataset: Dataset) -> Any:
        words = dataset.vocabulary
        return [words[code] for code in dataset.values] if words else dataset.values

    # -- descriptions
    def describe(self, dataset: Dataset, here: NDArray[np.bool_], first: int) -> dict[str, Any]:
        """The commonest tokens."""
        found = np.bincount(dataset.values[here], minlength=1)
        most = [token for token in np.argsort(-found, kind="stable")[:TELLING] if found[token]]
        words = dataset.vocabulary
        return {"telling": "; ".join([f"{words[token] if words else token} ({found[token]})" for token in most])}
