"""FILE on the command line: the keys that it stands for, and ``smcmc columns``, which shows how it is read."""

import os
from collections.abc import Iterator, Sequence

import numpy as np
import typer

from splitmerge_cli.cli.base import ConfigDir, Overrides, app, explain_errors, note
from splitmerge_cli.config import ConfigError, RunSpecification, choices, component, errors, schema, specify
from splitmerge_cli.data.dataset import READ_AS, Dataset, get_kind
from splitmerge_cli.data.opening import SIGN, limit_bytes
from splitmerge_cli.data.tables.mixed import RejectedColumns, describe_cells
from splitmerge_cli.diagnostics.cluster_table import shorten
from splitmerge_cli.overrides import PATH, path_word, read, shell_word, write
from splitmerge_cli.runs import identity, initial
from splitmerge_cli.runs.undecided import MIXED
from splitmerge_cli.terminal import WIDTH, one_line

_OF_NETWORKS = [
    *("data.directed", "data.values", "data.loops", "data.layer", "data.bipartite", "data.unknown", "data.nodes"),
    *("data.matrix", "data.source", "data.target"),
]
"""Keys that networks alone have."""
_READ_AS = {"csv": "a table", "edges": "a network", "corpus": "documents"}


def with_file(words: Sequence[str]) -> list[str]:
    """Replace a file among the overrides by the keys that it stands for; print how it is read unless it is a table. A
    `DataError` if there is no such file."""
    overrides: list[str] = []
    for word in words:
        if (path := _find_file(word, words)) is None:
            overrides.append(word)
            continue
        from splitmerge_cli.api.recognition import NETWORK, TABLE, Recognised, recognise

        recognised = recognise(path)
        of_networks = next((key for key in map(_key, words) if key in _OF_NETWORKS), None)
        if recognised.data == TABLE and of_networks and "data" not in map(_key, words):
            recognised = Recognised(NETWORK, f"the key {of_networks}")
        elif recognised.data != TABLE and (model := _named_model(words)):
            kind = component("model", model).kind
            recognised = recognised if kind.reader != TABLE else Recognised(TABLE)
        overrides += [f"data={recognised.data}", f"data.path={write(path, PATH)}"]
        if recognised.data == TABLE and not any(override.startswith(("model=", "experiment=")) for override in words):
            overrides.append("model=auto")
        if recognised.why:
            others = ", ".join(
                f"data={data} {path_word(path)} as {read}" for data, read in _READ_AS.items() if data != recognised.data
            )
            note(f"{path}: read as {_READ_AS[recognised.data]} ({recognised.why}); {others}")
    return overrides


def _named_model(words: Sequence[str]) -> str:
    """The model that is named, if there is such a one; else an empty text."""
    names = [word.partition("=")[2] for word in words if _key(word) == "model"]
    return names[-1] if names and names[-1] in choices("model") else ""


def _key(word: str) -> str:
    return word.partition("=")[0]


def _find_file(word: str, words: Sequence[str]) -> str | None:
    """The file, or standard input, that a word among `words` names; None if the word is a key."""
    key, equals, value = word.partition("=")
    if not equals:
        return word if word == SIGN or errors.is_file_name(word) or os.path.exists(word) else None
    if key == "data.path" and not {"data", "experiment"} & set(map(_key, words)):
        # messages name a file so, and its reader only where that is known
        path = str(read(value, PATH))
        return path if path == SIGN or os.path.exists(path) else None
    if key == "data":
        named = value in choices("data") or ("," in value and not os.path.exists(value))
        return value if not named and (errors.is_file_name(value) or os.path.exists(value)) else None
    known = {name for name, _ in schema.all_keys()}
    return word if "." not in key and key not in known and os.path.exists(word) else None


LISTED = 12
"""Columns of a table that a run lists at most; of more, how many have each type."""
NAME = 24
"""Letters in the name of a column, at most."""


def table_lines(dataset: Dataset) -> Iterator[str]:
    """Describe each column of a table in a line: its type, range or levels, and gaps."""
    types, scales = dataset.types or (), dataset.scales or [None] * len(dataset.column_names)
    rows = [("column", "read as", "values", "missing")]
    for name, type, scale, cells in zip(dataset.column_names, types, scales, dataset.values_in_units.T, strict=True):
        cells = cells if cells.dtype.kind == "f" else np.where(cells < 0, np.nan, cells)  # codes have -1 in gaps
        missing = int(np.isnan(cells).sum())
        read_as = type.type if scale is None else f"{type.type}, {scale}"
        held = one_line(describe_cells(cells, type))
        rows.append((shorten(one_line(str(name)), NAME), read_as, held, f"{missing:,}" if missing else ""))
    for name, read_as, held, gaps in dataset.meta.get("roles", ()):
        rows.append((shorten(one_line(name), NAME), read_as, held, f"{gaps:,}" if gaps else ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[2] = min(widths[2], WIDTH - widths[0] - widths[1] - widths[3] - 8)
    for name, read_as, held, gaps in rows:
        if len(held) > widths[2]:  # the last levels that find no room are left out
            whole = held[: widths[2] - 5].rpartition(", ")[0]
            held = f"{whole}, ..." if whole else shorten(held, widths[2])
        cells = name.ljust(widths[0]), read_as.ljust(widths[1]), held.ljust(widths[2])
        yield f"  {'  '.join(cells)}  {gaps.rjust(widths[3])}".rstrip()


@app.command()
@explain_errors
def columns(overrides: Overrides = None, config_dir: ConfigDir = None) -> None:
    """Show how a file is read, column by column: smcmc columns FILE

    Nothing is run or changed. Keys are as in smcmc run: data.types={NAME:TYPE} changes how a column is read,
    data.drop=[NAME] leaves a column out, data.truth=NAME keeps true labels apart.
    """
    typed = overrides or []
    spec = specify(with_file(typed), config_dir, leave_to_data=True)
    if spec.data.values.get("path") is None:
        raise ConfigError(f"data={spec.data.name}: these data are not read from a file; expected smcmc columns FILE")
    dropped: list[str | int] = []
    try:
        dataset = _load(spec)
    except RejectedColumns as error:
        if not error.drop:
            raise
        note(str(error))
        dropped = error.drop
        dataset = _load(spec.with_({"data.drop": dropped}))
    place = spec.data.values["path"]
    typer.echo(f"{place}: {dataset.N:,} {dataset.kind.item}s")
    for line in table_lines(dataset.original) if dataset.types is not None else ():
        typer.echo(line)
    for line in dataset.notes:
        if READ_AS not in line:
            note(line)
    words = [*typed, *([f"data.drop=[{','.join(map(str, dropped))}]"] if dropped else [])]
    typer.echo(" ".join(["next: smcmc run", *map(shell_word, words)]))


def _load(spec: RunSpecification) -> Dataset:
    """Load the data as a table of any columns, or as the named model reads them."""
    kind = get_kind(MIXED) if spec.undecided or "model" in spec.to_choose else spec.model.kind
    data = spec.data.with_options(kind=kind.name) if kind.name == MIXED else spec.data
    data.check()
    with limit_bytes(data.max_bytes):
        return initial.load_dataset(data, kind, identity.file_digests(data))
