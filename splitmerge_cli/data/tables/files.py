"""The user's own data: text tables (.csv, .tsv, .txt), .json, .jsonl, .parquet, .feather, .xlsx, .npy, .npz."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from splitmerge_cli.data.dataset import Dataset, get_kind, kinds
from splitmerge_cli.data.opening import StandardInput, require_file
from splitmerge_cli.data.tables import cells as missing_cells
from splitmerge_cli.data.tables import formats, scaled, separators
from splitmerge_cli.data.tables.bundled import BundleOptions, bundle_rows, columns_in
from splitmerge_cli.data.tables.columns import Wanted, as_list, header_key, rename
from splitmerge_cli.data.tables.mixed import NoMixedTable
from splitmerge_cli.data.tables.notes import check_names
from splitmerge_cli.data.tables.repeats import read_repeated
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.data.tables.text_tables import parse_table, read_written
from splitmerge_cli.data.values import require
from splitmerge_cli.overrides import path_word, write
from splitmerge_cli.received import DataError

FORMATS = (
    ".csv, .tsv, .txt, .data, .dat, .json, .jsonl, .parquet, .feather, .xlsx (also .gz, .bz2, .xz, .zst, .zip), "
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
    columns that have no name and count 0, 1, ... or 1, 2, ...), and columns that have neither a name nor a value. Of
    tokens, unless a column is named or numbered, a comma separates cells in .csv and a tab in .tsv and .txt. A large
    .npy file of floating-point numbers is mapped, not read, unless columns are left out: it must then stay as it is.
    Standard input is read once and held in memory; its first bytes tell text, .parquet, .feather and .xlsx apart, and
    whether it is packed. Tokens and true labels are coded in the order of their first appearance. ``points`` are
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
        require(of_files, f"data.{key}", value, f"null: only {takers} takes it, not {kind}")
    require(
        not duplicates or bool(other or files), "data.duplicates", "true", "false without data.other and data.files"
    )
    require(other is None or files is None, "data.files", files, "null with data.other")
    require(names is None or isinstance(names, Mapping), "data.names", names, "such as {last_name: surname}")
    require(other is None or N is None, "N", N, "null with data.other")
    bundled = BundleOptions(must_link, cannot_link, weights_scale, apart, prior_counts)
    for key, value_given, known in (
        ("separator", separator, separators.SEPARATORS),
        ("decimal", decimal, separators.DECIMALS),
    ):
        require(value_given in ("auto", *known), f"data.{key}", value_given, f"one of auto, {', '.join(known)}")
    separators.require_encoding(encoding)
    listed = as_list("data.columns", columns)
    left_out, words = as_list("data.drop", drop) or [], missing_cells.read_option(missing)
    roles = (exposure, weights, group, labels, files)
    wanted = Wanted(of_kind, truth, listed, left_out, types, words, *roles, bool(duplicates))
    require(wanted.columns != [], "data.columns", columns, "at least one column")
    require(not (columns and drop), "data.drop", drop, "null with data.columns, which names every column to read")

    def read(path: str | Path) -> Table:
        return _read(path, wanted, header, separator, decimal, encoding, sheet, (rows_out[0], rows_out[1]))

    if other is not None:
        require_file(other, f"a table ({FORMATS})")
    table = read(path)
    if other is not None:
        table = of_kind.join(table, read(other), names)
    else:
        rename(table, names or {})
    if not table.rows or not table.width:
        raise DataError(f"{table.path}: no rows or no columns; expected at least one of each")
    require(N is None or table.rows >= N, "N", N, f"at most {table.rows}, the number of rows of {table.path}")
    check_names(table)
    wanted.note(table)
    dataset = of_kind.from_table(table, wanted, N, header)
    dataset = read_repeated(bundle_rows(dataset, columns_in(table, wanted), bundled), repeated)
    return scaled.reduce_columns(scaled.read_scales(dataset, scale), reduce)


def _read(
    path: str | Path,
    wanted: Wanted,
    header: str | bool,
    separator: str,
    decimal: str,
    encoding: str,
    sheet: str | int | None,
    skip: tuple[int, int],
) -> Table:
    """The cells of a file that are asked for; parameters and errors as of `csv`."""
    of_kind = wanted.kind
    path = require_file(path, f"a table ({FORMATS})")
    suffix = separators.suffix_of(path)
    if isinstance(path, StandardInput) and suffix == ".npy":
        raise DataError(
            f"{path}: an .npy file; expected text, .parquet, .feather or .xlsx (data.path=FILE reads others)"
        )
    as_text = suffix in separators.BY_SUFFIX
    options = ("separator", separator, "auto"), ("decimal", decimal, "auto"), ("encoding", encoding, "utf-8")
    for key, value_given, default in options:
        require(as_text or value_given == default, f"data.{key}", value_given, f"{default}: {path} is no text")
    require(as_text or suffix == ".xlsx" or skip == (0, 0), "data.skip", write(list(skip)), f"null: {path} is no text")
    require(sheet is None or suffix == ".xlsx", "data.sheet", sheet, f"null: {path} is no .xlsx file")
    table: Table
    if of_kind.reads_matrices and suffix == ".npz":
        table = scaled.Matrix(path, scaled.read_sparse(path))
    elif of_kind.reads_matrices and suffix == ".npy" and (matrix := scaled.read_numbers(path)) is not None:
        table = matrix
    elif as_text:
        table = read_written(path, wanted, header, suffix, separator, decimal, encoding, skip)
    elif suffix == ".xlsx":
        table = parse_table(formats.read_sheet(path, sheet, skip=skip), wanted, header)
    elif suffix in _ARROW:
        table = _ARROW[suffix](path)
    elif suffix == ".npz":
        raise NoMixedTable(
            f"{path}: a sparse matrix is read as points (model=gaussian); expected a table for kind {of_kind}"
        )
    else:
        raise separators.unknown_format(path, suffix, f"one of {FORMATS}")
    return table
