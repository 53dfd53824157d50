"""The user's own data: text tables (.csv, .tsv, .txt), .json, .jsonl, .parquet, .feather, .xlsx, .npy, .npz.

Whether the first row of a text names the columns: docs/files.md, "The first line".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from splitmerge_cli.data import opening
from splitmerge_cli.data.dataset import Dataset, Kind, get_kind, kinds
from splitmerge_cli.data.tables import cells as missing_cells
from splitmerge_cli.data.tables import formats, mixed, repeats, scaled, separators
from splitmerge_cli.data.tables.bundled import BundleOptions, bundle_rows, columns_in
from splitmerge_cli.data.tables.cells import in_text
from splitmerge_cli.data.tables.columns import POSITIVE, Wanted, as_list, header_key, is_number, position, rename
from splitmerge_cli.data.tables.notes import check_names, set_aside, written_column
from splitmerge_cli.data.tables.table import MISSING, NUMBER, WRITTEN, Table, is_missing, quote
from splitmerge_cli.data.tables.text import NAME, Text
from splitmerge_cli.data.values import require
from splitmerge_cli.overrides import path_word, write
from splitmerge_cli.received import DataError

FORMATS = (
    ".csv, .tsv, .tab, .txt, .data, .dat, .json, .jsonl, .parquet, .feather, .xlsx (also .gz, .bz2, .xz, .zst, .zip), "
    ".npy, .npz"
)
_ARROW = {".parquet": formats.read_parquet, ".feather": formats.read_feather, ".npy": formats.read_npy}
_ARROW |= dict.fromkeys(formats.JSON, formats.read_json)


def csv(
    path: str | Path,
    kind: str,
    truth: str | int | None = None,
    header: str | bool | int = "auto",
    columns: Sequence[str | int] | str | int | None = None,
    drop: Sequence[str | int] | str | int | None = None,
    N: int | None = None,
    types: Mapping[str | int, str | Sequence[str]] | None = None,
    missing: Sequence[str | int | float] | str | int | float | None = None,
    separator: str = "auto",
    decimal: str = "auto",
    encoding: str = "utf-8",
    sheet: str | int | None = None,
    skip: int | Sequence[int] | None = None,
    repeated: str = "keep",
    scale: scaled.ScaleOption = None,
    reduce: scaled.ReduceOption = None,
    exposure: str | int | None = None,
    weights: str | int | None = None,
    weights_scale: str | None = None,
    group: str | int | None = None,
    labels: str | int | None = None,
    apart: bool = True,
    must_link: str | Path | None = None,
    cannot_link: str | Path | None = None,
    prior_counts: str | None = None,
    other: str | Path | None = None,
    files: str | int | None = None,
    duplicates: bool = False,
    names: Mapping[str | int, str | int] | None = None,
) -> Dataset:
    """Read a table, one item per row.

    Options: ``conf/data/csv.yaml``. Types and values of a table of each `kind`: ``tokens`` has one column of any
    strings or integers, ``binary`` columns of 0 and 1, or of true and false, or yes and no, ``points`` columns of
    numbers, or a sparse matrix in .npz, ``mixed`` columns of several types (`splitmerge_cli.data.tables.inference`),
    ``records`` fields.

    Without `columns` some are left out besides `truth` and `drop`: pandas' index or the numbers of the rows (first
    columns that have no name and count 0, 1, ... or 1, 2, ...), and columns that have neither a name nor a value. Cells
    of tokens are separated by a comma in .csv and by a tab in .tsv and .txt, unless a column is named or numbered. A
    large .npy file of floating-point numbers is mapped, not read, unless columns are left out: it must then stay as it
    is. Standard input is read once and held in memory; its first bytes tell text, .parquet, .feather and .xlsx apart,
    and whether it is packed. Tokens and true labels are coded in the order of their first appearance. ``points`` are
    float64; float32 if that is the type of an .npy file; sparse if they are in .npz, entries of the same place added
    up. The notes say what was left out, which first line was taken for names without being asked for, which separator
    the rows showed, and what the columns of ``mixed`` are read as.

    A `DataError`: the file is missing, empty or not readable as such; a row is ragged; a cell is (``tokens``) empty or
    NaN, (``binary``) not 0 or 1, or (``points``) no number of magnitude 1e30 at most; a column of ``mixed`` cannot be
    read; a quote is not closed; a column that is asked for is unknown, or two have its name; no column is left; N is
    larger than the number of rows.
    """
    tables = [name for name, known in kinds().items() if known.text_types]
    if kind in kinds() and kind not in tables:
        reader = kinds()[kind].reader
        instead = f"data={reader} {path_word(path)}"
        raise DataError(f"data.kind={kind}: data=csv reads tables; expected {instead}, which reads {kind}")
    require(kind in tables, "data.kind", kind, f"one of {', '.join(tables)}")
    of_kind = get_kind(kind)
    header = header_key("data.header", header, rows=True)
    rows_out = [skip or 0, 0] if isinstance(skip, int | None) else list(skip)
    good = len(rows_out) == 2 and all(type(n) is int and n >= 0 for n in rows_out)
    require(good, "data.skip", skip, "a number of rows at the top, or [TOP,BOTTOM]")
    require(N is None or N >= 1, "N", N, "at least 1")
    require(types is None or of_kind.any_columns, "data.types", types, f"null: only model=mixed takes it, not {kind}")
    require(missing is None or of_kind.allows_missing, "data.missing", missing, f"null: {kind} have no missing cells")
    require(exposure is None or of_kind.takes_exposure, "data.exposure", exposure, f"null: {kind} have none")
    require(exposure is None or repeated == "keep", "data.repeated", repeated, "keep with data.exposure")
    sourced = {"other": other, "files": files, "duplicates": duplicates or None, "names": names}
    takers = " or ".join(f"model={one.model}" for one in kinds().values() if one.takes_sources)
    for key, value in sourced.items():
        of_files = value is None or of_kind.takes_sources
        require(of_files, f"data.{key}", value, f"{takers}, which alone takes it, not {kind}")
    several = not duplicates or bool(other or files)
    require(several, "data.duplicates", "true", "false without data.other and data.files")
    require(other is None or files is None, "data.files", files, "null with data.other")
    require(names is None or isinstance(names, Mapping), "data.names", names, "such as {last_name: surname}")
    require(other is None or N is None, "N", N, "null with data.other")
    bundled = BundleOptions(must_link, cannot_link, weights_scale, apart, prior_counts)
    layouts = {"separator": (separator, separators.SEPARATORS), "decimal": (decimal, separators.DECIMALS)}
    for key, (word, known) in layouts.items():
        require(word in ("auto", *known), f"data.{key}", word, f"one of auto, {', '.join(known)}")
    separators.require_encoding(encoding)
    listed = as_list("data.columns", columns)
    left_out, words = as_list("data.drop", drop) or [], missing_cells.read_option(missing)
    roles = (exposure, weights, group, labels, files)
    wanted = Wanted(of_kind, truth, listed, left_out, types, words, *roles, bool(duplicates))
    require(wanted.columns != [], "data.columns", columns, "at least one column")
    require(not (columns and drop), "data.drop", drop, "null with data.columns, which names every column to read")

    form = Form(separator, decimal, encoding, (rows_out[0], rows_out[1]))
    if other is not None:
        opening.require_file(other, f"a table ({FORMATS})")
    table = _read(path, wanted, header, form, sheet)
    if other is not None:
        table = of_kind.join(table, _read(other, wanted, header, form, sheet), names)
    else:
        rename(table, names or {})
    if not table.rows or not table.width:
        raise DataError(f"{table.path}: no rows or no columns; expected at least one of each")
    require(N is None or table.rows >= N, "N", N, f"at most {table.rows}, the number of rows of {table.path}")
    check_names(table)
    wanted.note(table)
    dataset = of_kind.from_table(table, wanted, N, header)
    dataset = repeats.read_repeated(bundle_rows(dataset, columns_in(table, wanted), bundled), repeated)
    return scaled.reduce_columns(scaled.read_scales(dataset, scale), reduce)


class Form(NamedTuple):
    """How a text is written, as the options of `csv` say, and the rows to skip at its top and its bottom."""

    separator: str
    decimal: str
    encoding: str
    skip: tuple[int, int]


def _read(path: str | Path, wanted: Wanted, header: str | bool, form: Form, sheet: str | int | None) -> Table:
    """The cells of a file that are asked for, as `csv` reads them."""
    of_kind = wanted.kind
    path = opening.require_file(path, f"a table ({FORMATS})")
    suffix = separators.suffix_of(path)
    if isinstance(path, opening.StandardInput) and suffix == ".npy":
        expected = "text, .parquet, .feather or .xlsx (data.path=FILE reads others)"
        raise DataError(f"{path}: an .npy file; expected {expected}")
    as_text = suffix in separators.BY_SUFFIX
    for key, value_given, default in zip(form._fields[:3], form[:3], ("auto", "auto", "utf-8"), strict=True):
        require(as_text or value_given == default, f"data.{key}", value_given, f"{default}: {path} is no text")
    skips = as_text or suffix == ".xlsx" or form.skip == (0, 0)
    require(skips, "data.skip", write(list(form.skip)), f"null: {path} is no text")
    require(sheet is None or suffix == ".xlsx", "data.sheet", sheet, f"null: {path} is no .xlsx file")
    table: Table
    if suffix == ".npz" and of_kind.has_columns and not of_kind.any_columns:
        table = scaled.Matrix(path, scaled.read_sparse(path))
    elif of_kind.reads_matrices and suffix == ".npy" and (matrix := scaled.read_numbers(path)) is not None:
        table = matrix
    elif as_text:
        table = read_written(path, wanted, header, suffix, form)
    elif suffix == ".xlsx":
        table = parse_table(formats.read_sheet(path, sheet, skip=form.skip), wanted, header)
    elif suffix in _ARROW:
        table = _ARROW[suffix](path)
    elif suffix == ".npz":
        problem = "a sparse matrix is read as points (model=gaussian)"
        raise mixed.NoMixedTable(f"{path}: {problem}; expected a table for kind {of_kind}")
    else:
        raise separators.unknown_format(path, suffix, f"one of {FORMATS}")
    return table


HEADER_WORDS = {"token", "tokens", "mention", "mentions", "word", "words"}


def read_written(path: Path, wanted: Wanted, header: str | bool, suffix: str, form: Form) -> Text:
    """A parsed text file whose name ends in `suffix`, as `csv` reads it."""
    separator, decimal, encoding, skip = form
    data = separators.read_text(path, encoding)
    if other := opening.suffix_of(data):
        raise DataError(f"{path}: by its first bytes a {other} file; expected text, or a file name with that ending")
    if not wanted.kind.one_column and separators.SVMLIGHT.match(data):
        raise separators.unknown_format(path, ".svmlight", f"one of {FORMATS}")
    notes: list[str] = []
    before = skip[0]
    if any(skip):
        rows = data.split(b"\n")
        fewer = f"fewer than {len(rows)} rows, as {path} has"
        require(len(rows) > sum(skip), "data.skip", write(list(skip)), fewer)
        data = b"\n".join(rows[skip[0] : len(rows) - skip[1]])
    if not wanted.kind.one_column:
        data, lines, named = separators.without_separator_line(data)
        before += lines
        if separator == "auto" and named is not None:
            separator = named
        blank = re.match(rb"([ \t]*\r?\n)+", data)
        if blank and data[blank.end() :].strip():
            lines = data.count(b"\n", 0, blank.end())
            notes.append(f"{path}: rows without any cell at the top: {lines}; they are left out")
            data, before = data[blank.end() :], before + lines
        if comments := _comments(data):
            lines = data.count(b"\n", 0, comments)
            notes.append(f"{path}: rows that begin with # or % at the top: {lines}; they are left out as comments")
            data, before = data[comments:], before + lines
    default = separators.BY_SUFFIX.get(suffix, "comma")
    asked = {"separator": separator, "decimal": decimal}
    if not wanted.kind.one_column or wanted.mentioned_columns:
        layout_found = separators.layout(data, default, separator, decimal)
    else:
        usual = {"separator": default, "decimal": "point"}
        layout_found = separators.Layout(*(usual[key] if word == "auto" else word for key, word in asked.items()))
    unusual = []
    if separator == "auto" and layout_found.separator != default:
        unusual.append(f"{separators.WORDS[layout_found.separator]} ends a cell (data.separator)")
    if decimal == "auto" and layout_found.decimal == "comma":
        unusual.append("numbers have a decimal comma (data.decimal)")
    notes += [f"{path}: {' and '.join(unusual)}"] if unusual else []
    if layout_found.separator == "space":
        data = separators.tabs(path, data, before)
    elif layout_found.separator == "tab":
        data, rows_filled = _with_ends(path, data, before)
        notes += rows_filled
    end, ends, empty = len(data), 0, (layout_found.delimiter + " \r").encode()
    while empty[:1] in (line := data[(start := data.rfind(b"\n", 0, end) + 1) : end]) and start > 0:
        if line.strip(empty):
            break
        end, ends = start - 1, ends + 1
    if ends:
        data = data[:end]
        notes.append(f"{path}: rows without any cell at the end: {ends}; they are left out")
    if header in ("auto", True) and not wanted.kind.one_column:
        data, above = separators.with_row_names(path, data, layout_found.delimiter)
        notes += above
    table = Text(path, data, layout_found.delimiter, before, decimal=separators.DECIMALS[layout_found.decimal])
    table.notes += notes
    return parse_table(table, wanted, header)


def _comments(data: bytes) -> int:
    """Bytes of the comments at the top: rows that begin with # or %, unless the last has the cells of the next row."""
    start = 0
    while data[start : start + 1] in (b"#", b"%") and (end := data.find(b"\n", start)) >= 0:
        start = end + 1
    top, first = data[:start].splitlines()[-1:], data[start : (data.find(b"\n", start) + 1) or len(data)]
    # a last one may hold the names of the columns
    ends = (b",", b";", b"\t", b"|")
    named = top and any(top[0].count(end) and top[0].count(end) == first.count(end) for end in ends)
    return 0 if named else start


def _with_ends(path: Path, data: bytes, before: int) -> tuple[bytes, list[str]]:
    """Rows between tabs with those at their ends, which many editors strip with the empty cells before them, and a
    note: at most a tenth of the rows, each with half of its cells and without quotes, and within none."""
    lines = data.split(b"\n")
    width = lines[0].count(b"\t")
    short = [i for i, line in enumerate(lines) if width <= 2 * line.count(b"\t") + 1 < 2 * width]
    if not 0 < len(short) <= (1 - separators.ALIKE) * len(lines):
        return data, []
    quotes = list(accumulate(line.count(b'"') for line in lines))
    if any(quotes[i] % 2 or b'"' in lines[i] for i in short):
        return data, []
    for i in short:
        end = b"\r" * lines[i].endswith(b"\r")
        lines[i] = lines[i].removesuffix(b"\r") + b"\t" * (width - lines[i].count(b"\t")) + end
    shown = ", ".join(str(1 + before + i) for i in short[:3]) + ", ..." * (len(short) > 3)
    return b"\n".join(lines), [f"{path}: rows whose last cells lack their tabs: {len(short)} ({shown}): empty cells"]


def parse_table(table: Text, wanted: Wanted, header: str | bool) -> Text:
    """Parse the names and cells of a table; errors as of `splitmerge_cli.data.tables.files.csv`."""
    while header == "auto" and not wanted.kind.one_column and table.has_title():
        table.leave_out_title()
    if _has_header(table, wanted) if header == "auto" else header:
        with_roles = table.has_roles_below()
        two = header == "2" or (header == "auto" and not with_roles and table.has_two_headers())
        table.take_header(2 if two else 1)
        if with_roles:
            rows = f"rows {table.first} and {1 + table.first}"
            table.note(f"{rows} hold types and roles of the columns: they are left out")
            table.classes = {j for j, role in enumerate(table.rows_below()[1]) if role in ("class", "c")}
            table.first += 2
        table.tell_names_apart()
        if len(table.top) == 1:
            raise DataError(f"{table.path}: the file has a header but no row of data; expected at least one row")
    elif header == "auto" and not wanted.kind.one_column and table.is_shorter():
        shown = quote(", ".join(cell.strip() for cell in table.top[0][:4]))
        row = f"row {1 + table.before}: {shown} is read as data"
        table.note(f"{row} (data.header=true reads it as names of columns)")
    _, columns = wanted.resolve(table)
    # numbers are read as bytes; a file that writes them as 0.0 and 1.0 fails and is read once more as floats, and one
    # with words, or spaces around missing cells, as text
    kinds = [dict.fromkeys(columns, number) for number in map(pa.type_for_alias, wanted.kind.text_types)]
    if wanted.kind.one_column:
        wanted.set_hint(table, columns)
    # those without a name are looked at before they are left out
    roles = wanted.find_roles(table)
    exposure = roles.get("exposure")
    columns_asked = {*columns, *table.unnamed_columns(), *table.blank(), *roles.values()}
    text = not wanted.kind.is_numeric

    def expected(cell: str) -> str | None:
        return misfit(wanted.kind, cell, table, wanted.missing)

    absent = None if text else [*WRITTEN, *map(str, wanted.missing)]
    table.parse(kinds, None if text else expected, sorted(columns_asked), absent)
    if exposure is not None and table.columns[exposure].type == pa.string():
        numbers = _as_numbers(table, exposure, wanted)
        if numbers is None:
            cells = [table.number(cell.strip(" \t")) for cell in table.cells(exposure).to_pylist()]
            raise table.error(next(i for i, cell in enumerate(cells) if not NUMBER.fullmatch(cell)), exposure, POSITIVE)
        table.columns[exposure] = numbers
    if wanted.kind.of_numbers and table.block(columns) is None:
        for j in columns:
            if table.columns[j].type == pa.string():
                numbers = _as_numbers(table, j, wanted)
                if numbers is None and wanted.columns is None and set_aside(table, j):
                    continue
                if numbers is None and (numbers := written_column(table, j, wanted.missing)) is None:
                    raise table.diagnosis(columns, expected)
                table.columns[j] = numbers
    return table


def _as_numbers(table: Text, j: int, wanted: Wanted) -> pa.ChunkedArray | None:
    """A column of text as numbers, null where a cell is missing; None if a cell is neither."""
    absent = pa.array(in_text(pc.utf8_trim_whitespace(table.cells(j)), wanted.missing))
    text = pc.utf8_trim(table.cells(j), " \t")
    plain = text if table.decimal == "." else pc.replace_substring(text, table.decimal, ".")
    numeric = pc.match_substring_regex(plain, f"(?i)^({NUMBER.pattern})$")
    if not pc.all(pc.or_(numeric, absent)).as_py():
        return None
    return pc.cast(pc.if_else(absent, pa.scalar(None, plain.type), plain), pa.float64())


STANDS_APART = 3
"""Numbers below a number of the first row, at least, that tell whether it is a name."""
LOOKED_AT = 2_000
"""Rows below the first one in which its words are looked for."""


def _has_header(table: Text, wanted: Wanted) -> bool:
    head = [cell.strip() for cell in table.top[0]]
    if any(isinstance(column, str) and column in head for column in wanted.mentioned_columns):
        return True
    # columns that are no data may be words: they do not tell
    chosen = _positions(wanted.columns or [], len(head)) or set(range(len(head)))
    positions = sorted(chosen - _positions([*wanted.roles.values(), *wanted.drop], len(head)))
    if table.heads_index():
        return True
    if wanted.kind.one_column:
        return _heads_tokens(table, head, positions)

    truths = wanted.kind.truth_values
    data = {j for j in positions if is_number(table.number(head[j])) or head[j].lower() in truths}

    # an empty cell or a NaN is a missing number, not a name
    def is_absent(j: int) -> bool:
        return head[j].lower() in MISSING or (not wanted.kind.any_columns and is_missing(head[j]))

    words = [j for j in positions if j not in data and not is_absent(j)]
    if wanted.kind.of_numbers and not head[0] and positions[:1] == [0] and any(head):
        # names of columns over an index begin so, too
        others = [head[j] for j in positions if head[j]]
        if len(set(others)) == len(others) and all(map(NAME.fullmatch, others)):
            raise table.header_error()
    numbers = bool(data)
    if wanted.kind.any_columns and numbers:
        below = [cells for cells in table.rows_below() if len(cells) == len(head)]
        if not words:
            return table.names_by_number(positions)
        numbers_above = [j for j in positions if j in data]
        # those that are not read tell, too
        all_numbers = [j for j, cell in enumerate(head) if is_number(table.number(cell))]
        years, under = [head[j] for j in all_numbers], [[cells[j] for j in all_numbers] for cells in below]
        as_names = "are read as names of columns (data.header=false reads them as data)"
        if _are_successive_years(years, under):
            table.note(f"row {1 + table.before}: its words and years, {years[0]} to {years[-1]}, {as_names}")
            return True
        if _are_years(years):
            raise table.header_error()
        # words above words are data next to numbers, as in a table without names
        words = [j for j in words if below and all(NUMBER.fullmatch(table.number(cells[j])) for cells in below)]
        if not words:
            return False
        if _stand_apart([[head[j], *(cells[j] for cells in below)] for j in numbers_above], table.number):
            outside = "which lie outside what the rows below hold"
            table.note(f"row {1 + table.before}: its words and its numbers, {outside}, {as_names}")
            return True
    if words and numbers:
        problem = f"{table.path}: row {1 + table.before}: {quote(head[words[0]])} next to numbers"
        raise DataError(f"{problem}; expected only names or only numbers (data.header=true or false decides)")
    if wanted.kind.any_columns and len(words) > 1 and words == positions and _recurs(table, head, words):
        as_data = "it is read as data (data.header=true reads it as names of columns)"
        table.note(f"row {1 + table.before}: its words stand in other rows, too: {as_data}")
        return False
    return bool(words) or table.names_by_number(positions, bool(wanted.kind.truth_values))


def _recurs(table: Text, head: Sequence[str], positions: Sequence[int]) -> bool:
    """Whether each cell of the first row stands in rows below, too, but not all in one, as repeated names do."""
    lacking = set(positions)
    for _, cells in islice(table.lines(), 1, LOOKED_AT):
        if len(cells) == len(head):
            same = {j for j in positions if cells[j].strip() == head[j]}
            if len(same) == len(positions):
                return False
            lacking -= same
        if not lacking:
            return True
    return False


def _are_years(cells: Sequence[str]) -> bool:
    """Whether there are two cells or more, each another year: names of columns as likely as data."""
    years = all(cell.isdecimal() and 1800 <= int(cell) <= 2100 for cell in cells)
    return len(cells) > 1 and years and len(set(cells)) == len(cells)


def _are_successive_years(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the cells are three years or more, each as long after the one before, above cells that are no years."""
    if len(cells) < 3 or not _are_years(cells) or not below:
        return False
    steps = {int(later) - int(earlier) for earlier, later in pairwise(cells)}
    return len(steps) == 1 and min(steps) > 0 and not any(_are_years(row) for row in below)


def _stand_apart(columns: Sequence[Sequence[str]], number: Callable[[str], str]) -> bool:
    """Whether the first cell of each column is a whole number outside the range of the numbers below it."""
    for cells in columns:
        first, *others = [float(number(cell)) for cell in cells if NUMBER.fullmatch(number(cell))] or [0.0]
        if not cells[0].isdecimal() or len(others) < STANDS_APART or min(others) <= first <= max(others):
            return False
    return True


def _heads_tokens(table: Text, head: Sequence[str], positions: Sequence[int]) -> bool:
    if HEADER_WORDS & {head[j].lower() for j in positions}:
        return True
    if len(positions) != 1 or len(table.top) == 1:
        return False
    if is_number(head[positions[0]]):
        # pandas calls the column of a list 0
        below = [cells[positions[0]] for cells in table.rows_below() if len(cells) == len(head)]
        if head[positions[0]] == "0" and not any(map(is_number, below)):
            raise table.header_error()
        return False
    rows = islice(table.lines(), 1, None)
    return all(is_number(cells[positions[0]]) for _, cells in rows if len(cells) == len(head))


def _positions(columns: Sequence[str | int | None], width: int) -> set[int]:
    """Positions of the columns that are given as numbers of columns."""
    return {j for column in columns if (j := position(column, width)) is not None}


def misfit(kind: Kind, cell: str, table: Text, also: Sequence[str | int | float] = ()) -> str | None:
    """Expected content in place of a cell of text; None if the cell is well, or missing (`also`: further words for
    that)."""
    number = table.number(cell.strip(" \t"))
    is_finite = NUMBER.fullmatch(number)
    if is_missing(cell) or cell.strip() in map(str, also):
        return None
    if (is_finite and kind.fits(float(number))) or cell.strip().lower() in kind.truth_values:
        return None
    if is_finite or kind.truth_values:
        return f"{kind.expected}{kind.advice}"
    parts = [part for part in re.split(r"[;\s]", cell) if part]
    if parts and all(NUMBER.fullmatch(part.replace(",", "")) for part in parts):
        if len(parts) > 1:
            return "a number (cells end with a comma in .csv, with a tab in .tsv and .txt; data.separator changes that)"
        decimal = "; data.decimal=comma reads a comma as a point" if cell.count(",") == 1 else ""
        return f"a number with a decimal point and without commas{decimal}"
    if table.is_decorated(cell):
        return "a number alone, without percent signs, currencies or signs between thousands"
    if cell.strip() in (table.names or []):
        return "a number; the cell is the name of a column: does the file repeat its header?"
    return "a number (data.columns and data.drop choose the columns; model=mixed reads words, too)"
