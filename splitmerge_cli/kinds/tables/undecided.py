"""A table of the user's own without a model: what it holds, and which commands cluster it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from splitmerge_cli.config import ConfigError, DataSource, classes, component
from splitmerge_cli.data import opening
from splitmerge_cli.data.dataset import READ_AS, Dataset, get_kind
from splitmerge_cli.overrides import shell_word, write
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import identity, initial

MIXED = "mixed"
"""The model, and the kind of data, of tables of any columns."""


class UndecidedModel(ConfigError):
    """A table without a model: the table, where its columns can be listed, and the commands that cluster it."""

    def __init__(self, message: str, dataset: Dataset | None, commands: list[str]) -> None:
        super().__init__(message)
        self.dataset, self.commands = dataset, commands


def say_models(data: DataSource, words: Sequence[str]) -> NoReturn:
    """Say what a table without a model holds, and which commands would cluster it, by the `words` that were typed.
    Raises `UndecidedModel` (no model was chosen), `ConfigError` (the configuration is wrong otherwise) or `DataError`
    (no model was chosen, and the table cannot be read as anything).
    """
    data.check()
    with opening.limit_bytes(data.max_bytes):
        digests = identity.file_digests(data)
        description, works, mixed = _answer(data, digests)
    other_words = [one for one in words if one.partition("=")[0] not in {key for _, extra in works for key in extra}]

    def command(words: Sequence[str], extra: Mapping[str, str], *more: str) -> str:
        return " ".join(["smcmc run", *map(shell_word, [*words, *(f"{k}={v}" for k, v in extra.items()), *more])])

    commands = [command(other_words, extra, f"model={model}") for model, extra in works]
    if _are_edges(data, digests):
        of_edges = [one for one in other_words if not one.startswith(("data=", "data.kind", "data.types"))]
        commands.insert(0, command(["data=edges", *of_edges], {}))
    if works[0][0] == MIXED:  # the file alone: ``model=auto`` chooses
        further = [one for one in other_words if one != "data=csv" and not one.startswith("data.path=")]
        commands.insert(0, command([str(data.values["path"]), *further], works[0][1]))
    raise UndecidedModel(f"{description}; expected a model: {', or '.join(commands)}", mixed, commands)


def _are_edges(data: DataSource, digests: dict[str, str]) -> bool:
    """Whether a table has two columns of words, of which most stand in both: the ends of edges."""
    try:
        table = _read_mixed(data, digests)
    except DataError:
        return False
    if table.types is None or len(table.types) != 2 or {column.type for column in table.types} != {"categorical"}:
        return False
    first, second = (set(column.levels or ()) for column in table.types)
    return 2 * len(first & second) >= min(len(first), len(second))


def _answer(data: DataSource, digests: dict[str, str]) -> tuple[str, list[tuple[str, dict[str, str]]], Dataset | None]:
    """Describe the table, the models that read it with the further keys that each needs, and the table itself where no
    column had to be left out."""
    from splitmerge_cli.data.tables.mixed import RejectedColumns

    extra: dict[str, str] = {}
    mixed: Dataset | None = None
    failure: DataError | None = None
    problem = ""
    try:
        mixed = _read_mixed(data, digests)
    except RejectedColumns as error:
        failure, problem = error, f"; {error.problem}"
        # where nothing else is left, the error says what reads the column
        with suppress(DataError):
            mixed = _read_mixed(data.with_options(drop=error.drop), digests) if error.drop else None
        extra = {"data.drop": write(error.drop)} if mixed is not None else {}
    except DataError as error:
        failure = error
    path = data.values["path"]
    if mixed is None and not str(path).endswith(".npz"):
        assert failure is not None
        raise failure
    works = [(MIXED, extra)] if mixed is not None else []
    for model, cls in classes("model").items():
        kind = get_kind(cls.kind)
        if not kind.column_types:
            continue
        to_try = kind.columns_to_try(mixed)
        for columns in to_try:
            chosen = {} if columns is None else {"data.columns": write(columns)}
            tried = data if columns is None else data.with_options(columns=columns, drop=None)
            missing = data.values.get("missing") if kind.allows_missing else None
            try:
                read = initial.load_dataset(
                    tried.with_options(kind=kind.name, types=None, missing=missing), kind, digests
                )
                initial.build_model(component("model", model), read)
            except (ConfigError, DataError):
                continue
            # ids and the like are no data, numbers though they may be
            is_whole = columns is None and len(to_try) > 1
            if is_whole and mixed is not None and read.values[0].size > mixed.values.shape[1]:
                continue
            works.append((model, chosen))
            break
    if not works:
        assert failure is not None
        raise failure
    path = "standard input" if path == "-" else path
    if mixed is None:
        return f"{path}: {failure}" if str(path) not in str(failure) else str(failure), works, None
    types_read = next((note.partition(READ_AS)[2] for note in mixed.notes if READ_AS in note), "")
    read_as = types_read.partition(" (data.types=")[0]
    others = "".join(f"; {note.partition(': ')[2]}" for note in mixed.notes if READ_AS not in note)
    return f"{path}: {mixed.N} rows; {READ_AS}{read_as}{problem}{others}", works, None if problem else mixed


def _read_mixed(data: DataSource, digests: dict[str, str]) -> Dataset:
    return initial.load_dataset(data.with_options(kind=MIXED), get_kind(MIXED), digests)
