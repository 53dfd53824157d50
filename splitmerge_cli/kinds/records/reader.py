"""Records: the columns of a table as fields of entities, by their cells; two files as sources.

The rules are in docs/data/records.md, in their order, but for columns that mislead, which are found last; cells
that are missing do not count. Capital letters and blanks tell no words apart.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from splitmerge_cli.data.dataset import READ_AS, ColumnType, Dataset
from splitmerge_cli.data.tables import inference, mixed
from splitmerge_cli.data.tables.cells import DATE, PADDED, Cells, cells_of, note_missing
from splitmerge_cli.data.tables.columns import Wanted, codes, index, true_labels
from splitmerge_cli.data.tables.notes import note_left_out
from splitmerge_cli.data.tables.table import Table, column_key, list_names, quote
from splitmerge_cli.data.tables.written import DATE_TYPES, EPOCH, days_of_column, days_written
from splitmerge_cli.data.values import notes_entry, positions_in, require, width_entry
from splitmerge_cli.diagnostics.cluster_table import count_of
from splitmerge_cli.kinds.records import forms
from splitmerge_cli.kinds.records.columns import find_differing, find_followers
from splitmerge_cli.kinds.records.similar_values import code_fields, words_of
from splitmerge_cli.overrides import shell_word, write
from splitmerge_cli.received import DataError

TYPES = ("categorical", "string", "number", *DATE_TYPES, mixed.SKIP)
"""Types that data.types takes."""
FEW = 10
"""Most different words of a categorical field."""
FREQUENT = 5
"""Fewest rows that hold each of them: a typing error is rare."""
CODE = 5
"""Digits from which on whole numbers of one length are codes."""
MANY = 10
"""Fewest rows whose whole numbers ascend by more than chance."""
MOST_DATES = 10
"""A column is of dates if fewer than one in so many cells are none."""
DIGITS_OF_DAY = r"^(18|19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
NAMED_AS_ID = re.compile(
    r"(?i:(.*[_ .-])?(id|ids|uid|uuid|guid|idx|index|key|row|rowid|rownum|record|sku))|\w*[a-z](Id|ID)"
)
"""Names of columns that tell records apart; names and numbers of people are fields."""
_BY = r"([_ .-]?(at|on|by|from|date|time))?"
ABOUT_RECORDS = re.compile(
    r"(?i)((record|data|source|import)[_ .-]?)?"
    r"(source|src|batch([_ .-]?(id|no|nr))?|file[_ ]?(name)?|(note|comment|remark)s?)"
    rf"|((date|time|last)[_ .-]?)?(created|modified|updated|inserted|imported|changed){_BY}"
    r"|(entry|creation|import|update|modification)[_ .-]?(date|time)|last[_ .-]?(update|change|modified)|timestamp"
)
"""Names of columns that describe a record, not the entity: where it comes from, when it was made, notes on it."""
_ABOUT = "it describes the record, not the entity"
ABOUT = "its name says that it describes the record, not the entity"
ABOUT_PEOPLE = re.compile(
    r"(?i)birth|born|dob\b|\bbday|naiss|nacim|nascita|geburt|geboren|\b(sex|sexe|sexo|gender|geschlecht)\b"
)
"""Names of days and categories that distinguish the members of a family, who agree in all else."""
CODE_NAMES = re.compile(
    r"(?i)(.*[_ .-])?(post(al)?[_ .-]?codes?|postcd|zip([_ .-]?(codes?|\d))?|plz|(tele)?phone|tel|mobile|fax|ssn|iban"
    r"|isbn|ean|(phone|telephone|mobile|fax|account|passport|licen[cs]e|tax|insurance)[_ .-]?(numbers?|nr|no|code))"
)
"""Names of columns whose digits are codes, also where they differ in length or none begins with 0."""
PADDED_SHARE = 10
"""Digits are codes if one of so many cells begins with 0 at least; fewer may be typing errors."""
SYNONYMS = (
    ("givenname", "firstname", "forename", "fname"),
    ("surname", "lastname", "familyname", "lname"),
    ("dateofbirth", "birthdate", "birthday", "dob"),
    ("postcode", "postalcode", "zipcode", "zip"),
    ("telephone", "phone", "phonenumber", "telephonenumber"),
    ("email", "emailaddress", "mail"),
)
"""Names of columns that mean the same, without what is between words."""
SOURCE = "the name of a file (data.files)"
PHONES = "phones"
"""Entry of the meta data: fields of telephone numbers by number, and how many digits are compared."""
SHOWN = 5
"""Rows that a note lists."""


class Field(NamedTuple):
    """A column as it is read: its type and cells, None where one is missing; or why it is left out (`why`)."""

    type: str = ""
    words: list[str | None] = []  # noqa: RUF012 - never changed
    why: str = ""
    note: str = ""


class Joined(Table):
    """The rows of a table, then the rows of another, in the columns that both have; `names` (data.names) are columns of
    the other by the names that they have in the first."""

    def __init__(self, first: Table, other: Table, names: Mapping[str | int, str | int] | None) -> None:
        self.places = _match_columns(first, other, names)
        rows = f"rows 1 to {first.rows:,} are of {first.path}, the next {other.rows:,} of {other.path}"
        lacking = _describe_lacking(first, other, self.places)
        notes = [f"{first.path}: {rows}", *first.notes, *other.notes]
        if not self.places:
            raise DataError(f"data.other: {other.path}: no column is one of {first.path}: {lacking}")
        shared = None if first.names is None else [first.names[j] for j, _ in self.places]
        columns = []
        for ours, theirs in ((first.cells(j), other.cells(k)) for j, k in self.places):
            if ours.type != theirs.type:
                ours, theirs = pc.cast(ours, pa.string()), pc.cast(theirs, pa.string())
            columns.append(pa.chunked_array([*ours.chunks, *theirs.chunks], ours.type))
        super().__init__(first.path, columns, shared)
        self.parts, self.first = (first, other), first.first
        self.categories = {d for d, (j, _) in enumerate(self.places) if j in first.categories}
        self.left_out = {d for d, (j, _) in enumerate(self.places) if j in first.left_out}
        if first.names and other.names:
            pairs = [(other.names[k], first.names[j]) for j, k in self.places]
            self.renamed = {theirs: ours for theirs, ours in pairs if theirs != ours}
        if self.renamed:
            read = list_names([f"{theirs} as {ours}" for theirs, ours in self.renamed.items()])
            notes.append(f"{other.path}: columns are read by the names of {first.path}: {read}")
        self.notes += [*notes, *([f"{first.path}: left out: {lacking}"] if lacking else [])]

    def place(self, i: int, j: int, cell: str | None = None) -> str:
        k = int(i >= self.parts[0].rows)
        return self.parts[k].place(i - k * self.parts[0].rows, self.places[j][k], cell or self.show_cell(i, j))


def _match_columns(first: Table, other: Table, names: Mapping[str | int, str | int] | None) -> list[tuple[int, int]]:
    """Positions in both tables of the columns that both have, in the order of the first."""
    if first.names is None or other.names is None:
        nameless = first.path if first.names is None else other.path
        require(not names, "data.names", write(names), f"null: {nameless} has no names of columns")
        if first.width != other.width:
            raise DataError(f"data.other: {other.path}: {other.width} columns; expected {first.width}, as {first.path}")
        return [(j, j) for j in range(first.width)]
    asked = [(index(first, "data.names", ours), index(other, "data.names", k)) for k, ours in (names or {}).items()]
    places = dict(asked)
    once = len(places) == len(asked) == len(set(places.values()))
    require(once, "data.names", write(names), "each column once")
    meanings = {name: same[0] for same in SYNONYMS for name in same}
    for word in (str, _bare, lambda name: meanings.get(_bare(name), _bare(name))):
        theirs = _columns_by(word, other, places.values())
        places |= {j: theirs[name] for name, j in _columns_by(word, first, places).items() if name in theirs}
    return sorted(places.items())


def _columns_by(word: Callable[[str], str], table: Table, used: Collection[int]) -> dict[str, int]:
    """Positions of the columns that are not `used`, by a word for the name that no other of them has."""
    words = [(word(name), j) for j, name in enumerate(table.names or []) if j not in used]
    count = Counter(name for name, _ in words)
    return {name: j for name, j in words if count[name] == 1 and (name or word is str)}


def _bare(name: str) -> str:
    """The name of a column without capital letters and what is between words."""
    return re.sub(r"[\W_]+", "", name).casefold()


def _describe_lacking(first: Table, other: Table, places: Sequence[tuple[int, int]]) -> str:
    """Which file lacks which columns of the other, and what reads them; empty if none does."""
    ours = [name for j, name in enumerate(first.names or []) if name and j not in [j for j, _ in places]]
    theirs = [name for k, name in enumerate(other.names or []) if name and k not in [k for _, k in places]]
    lacks = [f"{table.path} has no {list_names(names)}" for table, names in ((first, theirs), (other, ours)) if names]
    # the pairs are certain to nobody: columns that stand in the same order may be the same; ids of two files are none
    fields, ours = ([name for name in names if not NAMED_AS_ID.fullmatch(name)] for names in (theirs, ours))
    pairs = dict(zip(fields, ours, strict=True)) if len(fields) == len(ours) > 0 else {"THEIRS": "OURS"}
    reads = f" ({shell_word(f'data.names={write(pairs)}')} reads columns of {other.path} as columns of {first.path})"
    return "; ".join(lacks) + reads * (len(lacks) > 1)


def read_records(table: Table, wanted: Wanted, N: int | None, name: str) -> Dataset:
    """A table as kind ``records``; raises a `DataError` for a cell that its type (data.types) does not fit, or if no
    column is left."""
    asked = wanted.types
    require(asked is None or isinstance(asked, Mapping), "data.types", asked, "such as {postcode: string}")
    type_by_column = dict[int, Any]()
    for column, type in (asked or {}).items():
        require(type in TYPES, f"data.types.{column}", type, f"one of {', '.join(TYPES)}")
        type_by_column[index(table, "data.types", column)] = type
    rows = table.rows
    table.take(N)
    labels, positions = wanted.resolve(table)
    positions = [j for j in positions if type_by_column.get(j) != mixed.SKIP]
    fields, spelt, names = dict[int, Field](), list[int](), table.names_of_items()
    for j in positions:
        cells = cells_of(table, j, wanted.missing)
        if cells.other not in (None, "date"):
            raise DataError(f"{table.path}: {table.column(j)} holds {cells.other}; expected words, numbers or dates")
        fields[j] = _read_field(cells, type_by_column.get(j), wanted.columns is not None)
        names_items = fields[j].why.startswith(("every value differs", "whole numbers"))
        if names_items and names is None and not cells.missing.any():
            names = [str(cell) for cell in table.cells(j).to_pylist()]
        if cells.text is not None and fields[j].type in ("string", "categorical"):
            written = len(pc.unique(cells.text.filter(pa.array(~cells.missing))))
            if written > len({*fields[j].words} - {None}):
                spelt.append(j)
    phones = _read_one_form(table, fields, type_by_column)
    left_out = {j: field.why for j, field in fields.items() if field.why}
    note_left_out(table, left_out, None, "data.types={{{}:string}} would read it")
    read = [j for j in fields if j not in left_out]
    if not read:
        reasons = "; ".join(f"{table.column(j)}: {why}" for j, why in left_out.items())
        raise DataError(f"{table.path}: no column is left for the data ({reasons}); expected one at least")
    values, types = code_fields([fields[j].words for j in read], [fields[j].type for j in read])
    kept = set(read) if wanted.columns is not None else {*type_by_column}
    stays = _leave_out_misleading(table, values, types, read, kept)
    read, values, types = [read[d] for d in stays], values[:, stays], tuple(types[d] for d in stays)
    table.notes += [f"{table.path}: {table.column(j)}: {fields[j].note}" for j in read if fields[j].note]
    if len(read) == 1:
        only = f"{table.column(read[0])}: it alone is compared"
        table.note(f"{only}: chance makes equal and near values of one column; more would tell")
    if spelt := [j for j in spelt if j in read]:
        names_spelt = list_names([column_key(table, j) for j in spelt])
        table.note(f"capital letters and blanks tell no words apart: {names_spelt}")
    shown = []
    for type in ("string", "categorical", "date", "number"):
        of_type = [(j, len(field.levels)) for j, field in zip(read, types, strict=True) if field.type == type]
        held = [f"{table.names[j] if table.names else f'column {j + 1}'} ({n})" for j, n in of_type]
        shown += [f"{type}: {list_names(held)}"] if held else []
    table.note(f"{READ_AS}{'; '.join(shown)} different values (data.types={{NAME:TYPE}} changes a type)")
    note_missing(table, read, np.where(values < 0, np.nan, 0.0))
    sources = read_sources(table, wanted)
    if sources is not None:
        of_one = [column_key(table, j) for d, j in enumerate(read) if len(np.unique(sources[values[:, d] >= 0])) < 2]
        if of_one:
            alone = f"{list_names(of_one)}: values in one file alone, so that no two are compared by them"
            table.note(f"{alone}: give columns that mean the same one name")
    typed = [column_key(table, j) for j in read]
    meta = {"path": str(table.path), "names": table.renamed, "rows": rows, "typed": typed}
    meta[PHONES] = [(read.index(j), length) for j, length in phones.items() if j in read]
    return Dataset(
        name,
        wanted.kind,
        values,
        None if labels is None else true_labels(table, labels, wanted.missing),
        columns=[table.names[j] for j in read] if table.names else None,
        types=types,
        names=names,
        meta=meta | notes_entry(table.notes) | width_entry(read, table.width),
        positions=positions_in(read, table.width),
        sources=sources,
    )


def _read_one_form(table: Table, fields: dict[int, Field], named: Collection[int]) -> dict[int, int]:
    """Put telephone numbers in one form, and exchanged first and last names in their columns, with notes; columns whose
    type the user has named (data.types) stay as they are written. Returns how many digits are compared in columns of
    telephone numbers."""
    strings = [j for j, field in fields.items() if field.type == "string" and j not in named and not field.why]
    names = {j: (table.names or [""] * (j + 1))[j].strip() for j in strings}
    phones = dict[int, int]()
    for j in strings:
        if forms.PHONES.fullmatch(names[j]) and (read := forms.read_phones(fields[j].words)) is not None:
            fields[j], phones[j] = fields[j]._replace(words=read[0]), read[1]
            keeps = f"data.types={{{column_key(table, j)}:string}} reads them as they are written"
            table.note(f"{table.column(j)}: telephone numbers are compared by their last {read[1]} digits ({keeps})")
    if (both := forms.find_name_columns(list(names.values()))) is None:
        return phones
    first, last = (strings[d] for d in both)
    others = [field.words for j, field in fields.items() if j not in (first, last) and not field.why]
    rows = forms.find_exchanged(fields[first].words, fields[last].words, others)
    if not rows:
        return phones
    one, other = list(fields[first].words), list(fields[last].words)
    for i in rows:
        one[i], other[i] = other[i], one[i]
    fields[first], fields[last] = fields[first]._replace(words=one), fields[last]._replace(words=other)
    shown = list_names([str(i + 1) for i in rows[:SHOWN]]) + f" and {len(rows) - SHOWN:,} more" * (len(rows) > SHOWN)
    keeps = f"data.types={{{column_key(table, first)}:string}} leaves them as they are"
    columns = f"{table.column(first)} and {table.column(last)}"
    table.note(f"{columns}: first and last names are exchanged in {count_of(len(rows), 'row')}: {shown} ({keeps})")
    return phones


def _leave_out_misleading(
    table: Table, values: NDArray[np.int32], types: Sequence[ColumnType], read: Sequence[int], kept: Collection[int]
) -> list[int]:
    """Note the columns that describe records, and those that follow from others; `values` ``[N, F]`` and `types` are
    of the columns `read`. Returns the numbers of those that stay among these: the others and those that the user has
    `kept`."""
    names = [(table.names or [""] * (j + 1))[j].strip() for j in read]
    exempt = [d for d, name in enumerate(names) if ABOUT_PEOPLE.search(name.replace("_", " "))]
    why_by_number, harm_by_number = dict[int, str](), dict[int, str]()
    for d, share in find_differing(values, types, exempt).items():
        often = f"agree here in {share:.0%}, about as often as any two"
        why_by_number[d] = f"records that agree in the other columns {often}: {_ABOUT}"
    rest = [d for d in range(len(read)) if d not in why_by_number]
    for d, follows in find_followers(values[:, rest], tuple(types[d] for d in rest)).items():
        others = list_names([table.column(read[rest[f]]) for f in follows.of])
        why_by_number[rest[d]] = f"it follows from {others} (share {follows.share:.2f})"
        harm_by_number[rest[d]] = "count twice" if follows.share > 0.99 else "partly count twice"
    why_left_out = dict[int, str]()
    for d, why in why_by_number.items():
        if (j := read[d]) in kept:
            skips = shell_word(f"data.types={{{column_key(table, j)}:{mixed.SKIP}}}")
            twice = f": they {harm_by_number[d]}" if d in harm_by_number else ""
            table.note(f"{table.column(j)}: {why}{twice} ({skips} leaves it out)")
        else:
            why_left_out[j] = why + (f" and would {harm_by_number[d]}" if d in harm_by_number else "")
    keeps = {j: f"data.types={{{column_key(table, j)}:{types[read.index(j)].type}}} keeps it" for j in why_left_out}
    note_left_out(table, why_left_out, keeps)
    return [d for d, j in enumerate(read) if j not in why_left_out]


def read_sources(table: Table, wanted: Wanted) -> NDArray[np.int32] | None:
    """The file of each record, where an entity has one record of a file at most."""
    if (j := wanted.find_roles(table).get("files")) is not None:
        sources, files = codes(table, j, SOURCE)
        if len(files) < 2:
            one = f"{quote(files[0])} in every row; expected two files"
            raise DataError(f"data.files={wanted.files}: {table.path}: {one}")
    elif isinstance(table, Joined) and not wanted.duplicates:
        sources = (np.arange(table.rows) >= table.parts[0].rows).astype(np.int32)
    else:
        return None
    return None if wanted.duplicates else sources


def _read_field(cells: Cells, type: str | None, chosen: bool) -> Field:
    """Read a column as a type, or by the rules; a column that the user has `chosen` is no id."""
    present = cells.present
    if not present:
        return Field(why="it holds no value")
    if type in DATE_TYPES:
        days = _days(cells, type)
        if isinstance(days, DataError):
            raise days
        return Field("date", days)
    if type == "number":
        if cells.numbers is None:
            good = cells.missing if cells.is_number is None else cells.missing | cells.is_number
            raise cells.table.error(cells.first(~good), cells.j, "a number (data.types)")
        return Field("number", _numbers(cells))
    if type is not None:
        return Field(type, _words(cells))
    name = (cells.table.names or [""] * (cells.j + 1))[cells.j]
    different = len(pc.unique(cells.table.cells(cells.j).filter(pa.array(~cells.missing))))
    if different == 1:
        return Field(why=f"every value is {cells.table.show_cell(cells.first(~cells.missing), cells.j)}")
    padded = int(cells.matches(PADDED).sum()) if cells.is_padded else 0
    coded = cells.is_long or PADDED_SHARE * padded >= present or CODE_NAMES.fullmatch(name.strip()) is not None
    numbers = None if cells.numbers is None or (padded and coded) or cells.is_long else cells.numbers[~cells.missing]
    if not chosen:
        if ABOUT_RECORDS.fullmatch(name.strip()):
            return Field(why=ABOUT)
        is_id = NAMED_AS_ID.fullmatch(name.strip()) is not None
        why = None if numbers is None else _counts(cells, numbers, name * is_id)
        if why is None and different == present and is_id:
            why = "every value differs, and it is named as an id"
        if why is not None:
            return Field(why=why)
    note = ""
    dates = present if cells.other else int(cells.matches(rf"{DATE}|{DIGITS_OF_DAY}").sum())
    if MOST_DATES * dates >= (MOST_DATES - 1) * present:
        days = _days(cells, "date")
        if not isinstance(days, DataError):
            return Field("date", days)
        # the note names the column already
        why = str(days).partition(": ")[2].removesuffix(" (data.types)")
        note = f"its dates are read as words: {why.replace(f', {cells.table.column(cells.j)}', '')}"
    if numbers is not None and not (cells.boolean or cells.category or coded):
        shortest, longest = (len(str(int(number))) for number in (numbers.min(), numbers.max()))
        # whole numbers that are long, and of one length, are codes
        if numbers.min() < 10 ** (CODE - 1) or (numbers % 1 != 0).any() or shortest != longest:
            if padded:
                reads = f"data.types={{{column_key(cells.table, cells.j)}:string}} reads codes"
                note = f"numbers, {padded} of them with a 0 in front ({reads})"
            return Field("number", _numbers(cells), note=note)
    words = _words(cells)
    counts = np.unique([word for word in words if word is not None], return_counts=True)[1]
    few = cells.category or (len(counts) <= FEW and counts.min() >= FREQUENT)
    return Field("categorical" if few else "string", words, note=note)


def _counts(cells: Cells, numbers: NDArray[np.float64], name: str) -> str | None:
    """Describe a column of numbers that tells rows apart, as `tells_apart` does; it may count the rows of each of two
    files, or be numbers of customers, which ascend."""
    complete = len(numbers) == len(cells.missing)
    why = inference.tells_apart(numbers, name, complete)
    if why is not None or not complete:
        return why
    if isinstance(cells.table, Joined):
        parts = [part for part in np.split(numbers, [cells.table.parts[0].rows]) if len(part)]
        return "it counts the rows of each file" if all(inference.tells_apart(part, "") for part in parts) else None
    ascends = len(numbers) >= MANY and (numbers % 1 == 0).all() and (np.diff(numbers) > 0).all()
    return "whole numbers that ascend from row to row" if ascends else None


def _words(cells: Cells) -> list[str | None]:
    """The cells as words."""
    if cells.text is None:
        coded, words = cells.values()
        return [None if code < 0 else words[code] for code in coded]
    text = cells.text.to_pylist()
    return [None if gone else fold(word) for word, gone in zip(text, cells.missing.tolist(), strict=True)]


def fold(word: str) -> str:
    """A word in small letters, without blanks around it, and with single ones in it; an accent is part of its letter.

    >>> fold(" St.  James")
    'st. james'
    >>> fold("Jose\u0301") == fold("Jos\u00e9")
    True
    """
    return " ".join(unicodedata.normalize("NFC", word).casefold().split())


def _numbers(cells: Cells) -> list[str | None]:
    assert cells.numbers is not None
    numbers = cells.numbers.tolist()
    return [None if n != n else str(int(n)) if n.is_integer() and abs(n) < 1e15 else repr(n) for n in numbers]


def _days(cells: Cells, type: str) -> list[str | None] | DataError:
    """The cells as days, YYYY-MM-DD; or the error for the first that is none."""
    days = days_of_column(cells.table.cells(cells.j)) if cells.other == "date" else None
    if days is None:
        text = cells.text
        if text is None:  # whole numbers
            text = pa.chunked_array([pa.array(_numbers(cells) if cells.numbers is not None else [], pa.string())])
        written = pc.replace_substring_regex(text, r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3")
        dates = days_written(written, cells.missing, type)
        if dates.values is None:
            return cells.table.error(dates.row, cells.j, f"{dates.expected} (data.types)")
        days = dates.values
    return [
        None if gone else str(date.fromordinal(int(day // 1) + EPOCH))
        for day, gone in zip(np.nan_to_num(days), cells.missing, strict=True)
    ]


class RecordsReading(mixed.MixedReading):
    """Reads tables of records."""

    read = staticmethod(read_records)

    def align(self, dataset: Dataset, new: Any) -> Dataset:
        """Read new records as the data; values that the data do not have are levels of theirs."""
        if isinstance(new, Dataset):
            return new
        types: dict[str | int, str] = {j + 1: field.type for j, field in enumerate(dataset.types or ())}
        return replace(self.from_object(new, None, "new items", True, types), columns=dataset.columns)

    def stack(self, dataset: Dataset, new: Dataset) -> Dataset:
        """The records of the data, then the new ones."""
        types = [field.type for field in dataset.types or ()]
        words = [[*old, *added] for old, added in zip(words_of(dataset), words_of(new), strict=True)]
        for f, length in dataset.meta.get(PHONES, ()):
            words[f] = [None if word is None else forms.shorten_phone(word, length) for word in words[f]]
        values, fields = code_fields(words, types)
        bundles = None if dataset.bundles is None else dataset.bundles.with_new(new.N, new.bundles)
        return replace(dataset, values=values, types=fields, truth=None, names=None, bundles=bundles, sources=None)

    def as_given(self, dataset: Dataset) -> Any:
        """The records as a data frame of words."""
        return pd.DataFrame(dict(enumerate(words_of(dataset)))).set_axis(dataset.column_names, axis=1)
