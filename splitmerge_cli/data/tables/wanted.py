"""The columns of a table that the user asks for."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from splitmerge_cli.data.dataset import Kind
from splitmerge_cli.data.tables.columns import index
from splitmerge_cli.data.tables.separators import WORDS
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.data.tables.text import Text
from splitmerge_cli.data.values import require
from splitmerge_cli.overrides import path_word, shell_word, write
from splitmerge_cli.received import DataError

TOTAL = "total"
"""The exposure of a row that is the sum of its counts."""
POSITIVE = "a positive number (data.exposure)"
ROLES = ("truth", "exposure", "weights", "group", "labels", "files")
"""Keys of columns that are no data."""


@dataclass(frozen=True)
class Wanted:
    """The columns of a file that are read, and how: as the keys of the same names say (`columns` None: all others)."""

    kind: Kind
    truth: str | int | None
    columns: list[str | int] | None
    drop: list[str | int]
    types: Mapping[str | int, str | Sequence[str]] | None = None
    missing: list[str | int | float] = field(default_factory=list)
    exposure: str | int | None = None
    weights: str | int | None = None
    group: str | int | None = None
    labels: str | int | None = None
    files: str | int | None = None
    duplicates: bool = False

    @property
    def roles(self) -> dict[str, str | int]:
        """The columns that are no data, by their keys (`ROLES`)."""
        named = {key: getattr(self, key) for key in ROLES}
        if self.exposure == TOTAL:
            del named["exposure"]
        return {key: column for key, column in named.items() if column is not None}

    @property
    def mentioned_columns(self) -> list[str | int]:
        """Columns that are named or numbered anywhere."""
        typed = list(self.types) if isinstance(self.types, Mapping) else []
        return [*self.roles.values(), *(self.columns or []), *self.drop, *typed]

    def find_roles(self, table: Table) -> dict[str, int]:
        """Positions of the columns that are no data, by their keys; a `DataError` if two keys name one."""
        found: dict[str, int] = {}
        for key, column in self.roles.items():
            j = index(table, f"data.{key}", column)
            if (other := next((name for name, k in found.items() if k == j), None)) is not None:
                raise DataError(f"data.{key}={column}: {table.path}: expected another column than data.{other}")
            found[key] = j
        return found

    def resolve(self, table: Table) -> tuple[int | None, list[int]]:
        """Positions of the true labels and of the data among the columns."""
        roles = self.find_roles(table)
        if self.columns is not None:
            columns = [index(table, "data.columns", column) for column in self.columns]
            count = Counter(columns)
            for column, j in zip(self.columns, columns, strict=True):
                if j in roles.values() or count[j] > 1:
                    role = next((key for key, k in roles.items() if k == j), "truth")
                    raise DataError(
                        f"data.columns={column}: {table.path}: expected each column once, and data.{role} not at all"
                    )
        else:
            dropped = [index(table, "data.drop", column) for column in self.drop]
            left_out = {*dropped, *roles.values(), *table.unnamed_columns(), *table.blank(), *table.left_out}
            columns = [j for j in range(table.width) if j not in left_out]
        if not columns:
            raise DataError(f"{table.path}: no column is left for the data; expected at least one")
        if self.kind.one_column and len(columns) != 1:
            rest = "".join(f" besides data.{key}" for key in list(roles)[:1])
            raise DataError(
                f"{table.path}: {len(columns)} columns{rest}; expected 1 column of tokens (data.columns=[NAME]); "
                f"several columns of words: {self.as_mixed(table)}"
            )
        return roles.get("truth"), columns

    def as_mixed(self, table: Table) -> str:
        """The command that reads the same as a mixed table."""
        options = ("columns", self.columns), ("drop", self.drop), *self.roles.items()
        overrides = [f"data.{key}={write(value)}" for key, value in options if value]
        return " ".join(["smcmc run data=csv", path_word(table.path), *map(shell_word, overrides), "model=mixed"])

    def set_hint(self, table: Table, columns: Sequence[int]) -> None:
        """Let messages about cells of some columns say what reads missing cells."""
        table.hint, table.hinted = f"missing cells are read by {self.as_mixed(table)}", frozenset(columns)

    def note(self, table: Table) -> None:
        """Let a table note what is left out, or kept, of its columns though nobody asked for that."""
        if self.columns is not None:
            return
        dropped = {index(table, "data.drop", column) for column in self.drop} | set(self.find_roles(table).values())
        ask = "data.drop=[{n}], which leaves it out, or data.columns, which lists what is read"
        blank = [j for j in table.blank() if j not in dropped]
        unnamed = [j for j in table.unnamed_columns() if j not in (*dropped, *blank)]
        table.leave_out(unnamed, "data.columns would read it", ask, items=True)
        table.leave_out_blank(blank, ask)
        if self.kind.one_column and isinstance(table, Text) and (delimiter := table.other_delimiter()):
            separator = next(name for name, words in WORDS.items() if words == delimiter)
            table.notes.append(
                f"{table.path}: every row holds {delimiter}, which is read as part of the token "
                f"(data.separator={separator} lets it end a cell)"
            )


def as_list(key: str, value: Sequence[str | int] | str | int | None) -> list[str | int] | None:
    """Columns as a list; one may stand without its brackets."""
    if value is None:
        return None
    listed = [value] if isinstance(value, str | int) else value
    good = isinstance(listed, Sequence) and all(isinstance(v, str | int) and not isinstance(v, bool) for v in listed)
    require(good, key, value, "names or numbers of columns, such as [x,y] or [1,2]")
    return list(listed)
