"""The user's own data: text tables (.csv, .tsv, .txt), .jsonl, .parquet, .feather, .xlsx, .npy, .npz."""

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
    ".csv, .tsv, .txt, .data, .dat, .jsonl, .parquet, .feather, .xlsx (also .gz, .bz2, .xz, .zst, .zip), .npy, .npz"
)
_ARROW = {".parquet": formats.read_parquet, ".feather": formats.read_feather, ".npy": formats.read_npy}
_ARROW |= dict.fromkeys(formats.JSON_LINES, formats.read_json_lines)


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

    Parameters
    ----------
    path : str or Path
        A text file (.csv, .tsv, .txt, .data, .dat or without an ending), .jsonl, .parquet, .feather or .xlsx, also
        packed as .gz, .bz2, .xz, .zst or as the one file of a .zip; or .npy; ``points`` also a sparse matrix in .npz,
        as ``scipy.sparse.save_npz`` writes it. ``-``: standard input, which is read once and held in memory; its first
        bytes tell text, .parquet, .feather and .xlsx apart, and whether it is packed.
    kind : {"tokens", "binary", "points", "mixed", "records"}
        ``tokens``: one column of tokens, any strings or integers. ``binary``: columns of 0 and 1, or of true and false,
        or yes and no. ``points``: columns of numbers. ``mixed``: columns of several types;
        `splitmerge_cli.data.tables.inference` says what each column is read as. Of the last three cells may be missing.
        ``records``: columns are fields, by their cells.
    truth : str or int, optional
        Column of the true labels, by name or by number: 1 is the first, -1 the last.
    header : {"auto", True, False, 2}
        Whether the first line of a text file names the columns, or the first two do together; see
        `splitmerge_cli.data.tables.text_tables`.
    columns : sequence of str or int, optional
        Columns of the data, in this order, each as in `truth`; by default all except `truth` and `drop`, and except
        pandas' index or the numbers of the rows: the first columns that have no name and count 0, 1, ... or 1, 2, ...;
        and but columns that have neither a name nor a value.
    drop : sequence of str or int, optional
        Columns to leave out.
    N : int, optional
        Take the first N rows; all by default.
    types : mapping, optional
        ``mixed``: types of columns (binary, categorical, ordinal, count, real; skip), or words in their order.
    missing : sequence or str or number, optional
        But of ``tokens``: what stands in cells that are missing, besides `splitmerge_cli.data.tables.table.WRITTEN`.
    separator : {"auto", "comma", "semicolon", "tab", "pipe", "space"}
        What ends the cells of a text; ``auto``: see `splitmerge_cli.data.tables.separators.layout`. Of tokens, unless a
        column is named or numbered, a comma in .csv and a tab in .tsv and .txt.
    decimal : {"auto", "point", "comma"}
        What stands before the decimals of the numbers of a text.
    encoding : str
        Encoding of a text.
    sheet : str or int, optional
        Sheet of an .xlsx file, by name or number; by default the only one that holds cells.
    skip : int or sequence of int, optional
        Rows at the top of a text or sheet to leave out, such as a title; ``[1, 2]``: 1 at the top, 2 at the bottom.
    repeated : {"keep", "once"}
        Whether rows that repeat others are items of their own, or each different row is one item; see
        `splitmerge_cli.data.tables.repeats`.
    scale : mapping, optional
        ``points``, ``mixed``: real columns that are read on a scale of their own; see
        `splitmerge_cli.data.tables.scaled.read_scales`.
    reduce : {"none", "pca", "auto"} or int, optional
        ``points``, ``mixed``: real columns that are read as their principal components; see
        `splitmerge_cli.data.tables.scaled.reduce_columns`.
    exposure : str or int, optional
        ``counts``: column of what the counts of a row are per unit of, positive numbers; ``total``: the sum of its
        counts.
    weights : str or int, optional
        Column of how often each row counts: whole numbers from 0. Fractions are powers of the rows' likelihoods.
    weights_scale : {"rows", "none"}, optional
        Whether weights are scaled to sum to the number of rows, as powers; by default fractions are.
    group : str or int, optional
        Column of units: the rows of one unit are one item.
    labels : str or int, optional
        Column of known classes, with gaps: the rows of one class are one item, and rows of different classes stay
        apart, unless `apart` is False.
    apart : bool
    must_link, cannot_link : str or Path, optional
        Text files of two columns: pairs of rows, by number (1 is the first row of data) or by name, that stay together,
        or apart.
    prior_counts : {"rows", "items"}, optional
        What the prior of the partition counts: rows, as often as their weights say, or items. By default rows, but
        items with `group` and with fractions.
    other : str or Path, optional
        ``records``: another file of records with the same columns.
    files : str or int, optional
        ``records``: column of the file that a record comes from.
    duplicates : bool
        With `other` or `files`: whether a cluster may have several rows of a file.
    names : mapping, optional
        With `other`: columns of that file, and the names that they have in the first, where these are others.

    Returns
    -------
    Dataset
        Tokens and true labels are coded in the order of their first appearance. ``points`` are float64; float32 if that
        is the type of an .npy file; sparse if they are in .npz, entries of the same place added up. A large .npy file
        of floating-point numbers is mapped, not read, unless columns are left out: it must then stay as it is. The
        notes say what was left out, which first line was taken for names without being asked for, which separator the
        rows showed, and what the columns of ``mixed`` are read as.

    Raises
    ------
    DataError
        The file is missing, empty or not readable as such; a row is ragged; a cell is (``tokens``) empty or NaN,
        (``binary``) not 0 or 1, or (``points``) no number of magnitude 1e30 at most; a column of ``mixed`` cannot be
        read; a quote is not closed; a column that is asked for is unknown, or two have its name; no column is left; N
        is larger than the number of rows.
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
