"""A file of the user's own is recognised: a table, a network, or documents.

A folder holds documents, and so does a file whose lines are texts, or a table with a column of texts and names of these
at most, or with few words in no text. A graph file, a table whose columns are named as the ends of edges or are two of
the same names, a list of pairs below comments, of such names and a word between them, or of neighbours, or a matrix of
numbers whose rows and columns have the same names is a network, and so is a symmetric matrix that holds nothing on its
diagonal; the matrix if a pair has no tie, as distances and correlations all differ from 0. A table whose rows agree but
for typing errors holds records. All else is a table.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from splitmerge_cli import config
from splitmerge_cli.data.dataset import COLUMN_TYPES, OF_NETWORKS, kinds
from splitmerge_cli.data.opening import readable, require_file, unpack
from splitmerge_cli.data.tables import separators, text
from splitmerge_cli.data.tables.table import Table
from splitmerge_cli.kinds.documents.readers import files, formats
from splitmerge_cli.kinds.networks.readers import conversions, graph_files
from splitmerge_cli.kinds.networks.readers.edge_rows import WHOLE, WORDS_OF_PAIRS, find_pairs, names_ends
from splitmerge_cli.kinds.networks.readers.edge_values import are_times
from splitmerge_cli.received import DataError

TABLE, NETWORK, DOCUMENTS = "csv", "edges", "corpus"
"""Choices of ``data``."""
OWN_OF_NETWORKS = [f"data.{name}" for name in (*OF_NETWORKS, "matrix", "source", "target")]
"""Keys that networks alone have."""
OF_ANY = tuple(f"data.{n}" for n in ("path", "encoding", "separator", "truth", "labels", "columns", "drop", "missing"))
OF_TABLES = {*COLUMN_TYPES, "["} - {"categorical"}
"""Types of columns, as data.types begins them, that records do not have."""
CHOICES = ("data", "model", "sampler", "experiment", "init", "gap")
"""Keys of data with which a table is recognised as another kind; with others, and with further choices, it is none."""
EDGE_LISTS = (".edges", ".edgelist", ".ncol", ".mtx")
COUNTED = (".ldac", ".lda-c")
ARRAYS = (".npy", ".npz")
LOOKED_AT = 100
"""Lines that are looked at."""
MOST_PAIRS = 2_000
"""Rows that are looked at for pairs of names."""


class Recognised(NamedTuple):
    """The choice of ``data`` that reads a file, and why, in words; empty of a table. The `model` of a table, if it is
    not chosen by its columns; the `keys` that say where a network has its ends, if they are not the first columns."""

    data: str
    why: str = ""
    model: str = ""
    keys: Mapping[str, int] = MappingProxyType({})


def recognise(path: str | Path, encoding: str = "utf-8", separator: str = "auto") -> Recognised:
    """Recognise a file or folder; ``-``, standard input, is a table. `encoding` and `separator` as of its reader.
    Raises a `DataError` if it does not exist.

    >>> from pathlib import Path
    >>> _ = Path("friends.csv").write_text("source,target\\nann,bob\\nbob,cid\\n")
    >>> recognise("friends.csv").data
    'edges'
    """
    if path == "-":
        return Recognised(TABLE)
    file = Path(path)
    if file.is_dir():
        return Recognised(DOCUMENTS, "a folder of texts")
    require_file(file, "a table, a list of edges, documents or a folder of texts")
    suffix = graph_files.graph_suffix(file, separators.suffix_of(file))
    if suffix == graph_files.NODE_LINK:
        return Recognised(NETWORK, "its lists of nodes and links")
    if suffix == graph_files.NEIGHBOURS != separators.suffix_of(file):
        return Recognised(NETWORK, "a node and its neighbours in each line")
    if suffix in graph_files.GRAPHS or suffix in EDGE_LISTS:
        return Recognised(NETWORK, f"the ending {suffix}")
    if suffix in COUNTED or suffix in separators.TEXT_CONVERTERS:
        return Recognised(DOCUMENTS, f"the ending {suffix}")
    if suffix in ARRAYS or suffix in separators.CONVERTERS:
        return Recognised(TABLE)
    try:
        may_be_lines = suffix not in files.TABLES or suffix == ".txt"
        found = _of_lines(file, encoding) if may_be_lines else None
        # of a file that shows none: texts have commas, which only an ending of tables makes usual
        usual = None if (end := separators.suffix_of(file)) and end in separators.BY_SUFFIX else "tab"
        return found or _of_cells(formats.open_table(file, encoding, separator, usual))
    except (DataError, OSError, UnicodeError, LookupError):
        # the reader of tables says what is wrong
        return Recognised(TABLE)


def recognise_named(path: str | Path, named: Mapping[str, Any]) -> Recognised:
    """As `recognise`, of a run that names these keys: a key that networks alone have makes a table a network; a model
    of tables, or a key or type of columns that only tables have, makes anything else a table."""
    found = recognise(path, str(named.get("data.encoding", "utf-8")), str(named.get("data.separator", "auto")))
    asked = {key for key in named if key.partition(".")[0] in CHOICES} - {*OF_ANY, "data"}
    types = set(re.findall(r":\s*['\"]?(\[|\w+)", str(named.get("data.types"))))
    if types and types.isdisjoint(OF_TABLES):
        asked -= {"data.types"}
    if found.model and asked:
        return Recognised(TABLE)
    if found.data == TABLE:
        key = next((key for key in named if key in OWN_OF_NETWORKS), None)
        return found if key is None or "data" in named else Recognised(NETWORK, f"the key {key}")
    model = named.get("model")
    of_tables = config.choice("data", TABLE).keys() - config.choice("data", found.data).keys()
    is_of_tables = model in config.choices("model") and config.component("model", model).kind.reader == TABLE
    return Recognised(TABLE) if is_of_tables or any(f"data.{key}" in named for key in of_tables) else found


def _of_lines(file: Path, encoding: str) -> Recognised | None:
    """By the first lines of a text; None if they may be rows of a table."""
    with readable(file) as stream:
        top = unpack(file, stream).read(files.HEAD)
    if separators.SVMLIGHT.match(top) and files.format_of_lines(file, encoding) != "ldac":
        return Recognised(TABLE)
    lines = top.decode(encoding, "replace").splitlines()[: MOST_PAIRS + 1]
    # the last line may be cut
    lines = lines[:-1] if len(lines) > 1 and (len(top) == files.HEAD or len(lines) > MOST_PAIRS) else lines
    many = [line.replace(",", " ").split() for line in lines if line.strip() and line[0] not in "#%"]
    rows = many[:LOOKED_AT]
    # numpy.savetxt writes a table below a comment
    if rows and lines[0][:1] in ("#", "%") and all(map(_is_edge, rows)):
        return Recognised(NETWORK, "comments above pairs, as in lists of edges")
    if rows and all(len(row) == len(rows[0]) for row in many) and (pairs := find_pairs(many[1:])):
        return Recognised(NETWORK, **pairs)
    form = files.format_of_lines(file, encoding)
    if form in ("uci", "ldac"):
        return Recognised(DOCUMENTS, f"the format {form}")
    if rows and all(map(_is_edge, rows)) and all(len(row) == 3 for row in rows) and are_times([r[2] for r in rows]):
        return Recognised(NETWORK, "two columns of nodes and one of times")
    # rows of numbers are no texts
    if rows and all(all(map(separators.is_numeric, row)) for row in rows):
        square = len(rows) >= conversions.SQUARE and len(rows[0]) >= conversions.SQUARE
        return (_of_symmetric_matrix(formats.open_table(file, encoding)) if square else None) or Recognised(TABLE)
    return None


def _of_symmetric_matrix(table: Table) -> Recognised | None:
    """A network; None of a table that is no symmetric matrix, or one of distances or correlations."""
    if not isinstance(table, text.Text) or (values := conversions.symmetric_values(table)) is None:
        return None
    if not conversions.are_ties(values):
        return None
    # rows that have other names than the columns are no nodes
    has_other_names = not table.top[0][0].strip() and not table.heads_index()
    return (
        None if has_other_names else Recognised(NETWORK, "a symmetric matrix with zeros on its diagonal and elsewhere")
    )


def _is_edge(cells: Sequence[str]) -> bool:
    """Whether a row holds two names or whole numbers, and perhaps a weight."""
    return len(cells) in (2, 3) and all(WHOLE.fullmatch(cell) or not separators.is_numeric(cell) for cell in cells[:2])


def _of_cells(table: Table) -> Recognised:
    """By the names and the cells of a table."""
    head = list(table.names or [])
    if isinstance(table, text.Text):
        head = [cell.strip() for cell in next(iter(table.lines()), (0, []))[1]]
    if isinstance(table, text.Text) and conversions.is_named_matrix(table):
        return Recognised(NETWORK, "its first row and column hold the same names")
    if symmetric := _of_symmetric_matrix(table):
        return symmetric
    # the numbers or names of the rows, which R and pandas write first, have no name
    unnamed = int(bool(head) and not head[0])
    head = [name for name in head if name] if unnamed else head
    most = MOST_PAIRS if table.width - unnamed in WORDS_OF_PAIRS else 0
    if isinstance(table, text.Text):
        # the first may name the columns
        rows = [[cell.strip() for cell in row] for _, row in islice(table.lines(), 1, most + 1)]
    else:
        columns = (column.slice(0, most).to_pylist() for column in table.columns)
        rows = list(map(list, zip(*columns, strict=True)))
    if pairs := find_pairs(rows, unnamed):
        return Recognised(NETWORK, **pairs)
    if names_ends(head):
        return Recognised(NETWORK, f"the columns {' and '.join(map(repr, head[:2]))}")
    for kind in kinds().values():
        if why := kind.why_table(table):
            return Recognised(TABLE, why, kind.model)
    if formats.names_tokens(head):
        return Recognised(DOCUMENTS, f"the columns {', '.join(map(repr, head))}")
    if formats.is_of_texts(table):
        return Recognised(DOCUMENTS, f"a text in each {'row' if table.width > 1 else 'line'}")
    return Recognised(TABLE)
