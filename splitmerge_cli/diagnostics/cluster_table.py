"""Clusters in the data's own terms: sizes, certainties, what their kind of data says of them; and as lines of text."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

WIDTH = 80
"""Letters in a line."""
MEAN_COUNT = "mean count"
"""Words before edges that are counted; other edges are shares of pairs."""
PROTOTYPE = 18
"""Letters in the name of a prototype, at most."""
INDENT = 9
"""Spaces before the columns in which a cluster differs most, where they stand below the numbers."""
MOST_DECIMALS = 6
"""Decimals of a number, at most; smaller numbers have an exponent."""
NETWORK = {
    "kind": "kind",
    "density": "ties",
    "density_outside": "outward",
    "density_from_outside": "in",
    "value": "value",
}
"""Columns of networks and their titles: shares of pairs within clusters, to other nodes and from them; values within.
"""
NARROWEST = 21
"""Letters in the name of a column, at least."""
FIRST = 1
"""Number of the first cluster wherever a person reads it. Labels in arrays count from 0."""

Row = Mapping[str, Any]


def number_clusters(labels: Any, first: int = FIRST) -> Any:
    """Return the numbers that people read for labels from 0, the first cluster having the number `first`."""
    return labels + first


def cluster_lines(
    rows: Sequence[Row], heading: str, most_clusters: int | None = None, width: int = WIDTH
) -> Iterator[str]:
    r"""The rows of ``cluster_summary.csv``, text by the name of the column, as a table under a heading.

    With `most_clusters` so many rows are shown, and one line of the columns in which each differs most; by default all.

    Examples
    --------
    >>> row = {"cluster": "1", "size": "50", "share": "0.5", "certainty": "0.98", "prototype": "7", "telling": "x = 1"}
    >>> print(*cluster_lines([row], "1 cluster of 100 items"), sep="\n")
    1 cluster of 100 items
    cluster  size  share  certainty  prototype  differs most in
          1    50    50%       0.98  7          x = 1
    """
    yield heading
    shown = rows[:most_clusters]
    columns = [("cluster", [str(row["cluster"]) for row in shown], True)]
    columns += [("size", [f"{int(row['size']):,}" for row in shown], True)]
    columns += [("share", [share_text(float(row["share"])) for row in shown], True)]
    if any(row.get("certainty") for row in shown):
        columns += [("certainty", [f"{float(row['certainty']):.2f}" for row in shown], True)]
        columns += [("prototype", [shorten(str(row["prototype"]), PROTOTYPE) for row in shown], False)]
    is_network = bool(shown) and "density" in shown[0]
    columns += [(title, cells, title != "kind") for title, cells in network_columns(shown)]
    widths = [max(len(name), *map(len, cells)) for name, cells, _ in columns]
    texts_of = [f"{row.get('columns') or ''}; {row.get('telling') or ''}" for row in shown]
    entries = [[e for e in text.split("; ") if e] for text in texts_of]
    table_width = sum(widths) + 2 * len(widths)
    # next to the numbers if the entries fit there whole (the first of each row, where one line is shown), else below
    most_entries = None if most_clusters is None else 1
    fits = all(len(entry) <= width - table_width for texts in entries for entry in texts[:most_entries])
    indent = table_width if fits else INDENT
    titles = [name.rjust(w) if right else name.ljust(w) for (name, _, right), w in zip(columns, widths, strict=True)]
    of_nodes = "nodes of most ties" if table_width + 18 <= width else "most ties"
    of_nodes = f"columns; {of_nodes}" if any(row.get("columns") for row in shown) else of_nodes
    named = of_nodes if is_network else "differs most in"
    yield "  ".join([*titles, named] if any(entries) else titles).rstrip()
    for k, texts in enumerate(entries):
        cells = [c[k].rjust(w) if right else c[k].ljust(w) for (_, c, right), w in zip(columns, widths, strict=True)]
        lines = _wrap(texts, width - indent, most_entries)
        if fits and lines:
            cells.append(lines.pop(0))
        yield "  ".join(cells).rstrip()
        for line in lines:
            yield " " * indent + line


def column_lines(rows: Sequence[Row], width: int = WIDTH) -> Iterator[str]:
    """The rows of one cluster of ``column_summary.csv``, the largest divergence first."""
    ranked = sorted(rows, key=lambda row: -float(row["divergence"] or "-inf"))
    room = max(NARROWEST, width - 59)
    yield f"  {'column':{room}}  {'mean or share':>13}  {'95 % interval':>17}  {'deviation':>9}  divergence"
    for row in ranked:
        name = f"{row['column']}={row['level']}" if row["level"] else str(row["column"])
        name += f" ({row['scale']} scale)" if row.get("scale") else ""
        length = float(row["high"]) - float(row["low"]) if row["high"] not in ("", None) else 0.0
        values = [_value(row[key], bool(row["level"]), length) for key in ("mean", "low", "high")]
        interval = f"{values[1]} to {values[2]}" if values[1] else ""
        spread = number(float(row["deviation"])) if row.get("deviation") else ""
        divergence = f"{float(row['divergence']):.3g}" if row["divergence"] else ""
        yield f"  {shorten(name, room):{room}}  {values[0]:>13}  {interval:>17}  {spread:>9}  {divergence:>10}".rstrip()


def number(value: float, spread: float = 0.0) -> str:
    """Four significant digits, large numbers without an exponent; with a spread those down to a third of it."""
    if 0.0 < spread < math.inf and abs(value) < 1e7:
        decimals = max(0, math.ceil(math.log10(3.0 / spread)))
        value = round(value, decimals) + 0.0  # no -0
        if decimals <= MOST_DECIMALS:
            return f"{value:.{decimals}f}"
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"


def span(low: int, high: int, noun: str = "") -> str:
    """An interval of whole numbers in words, or of so many things.

    Examples
    --------
    >>> span(3, 5), span(2, 2), span(0, 1, "group"), span(1, 2, "group")
    ('3 to 5', '2', '0 to 1 group', '1 to 2 groups')
    """
    last = count_of(high, noun) if noun else f"{high:,}"
    return last if low == high else f"{low:,} to {last}"


def count_of(number: int, noun: str) -> str:
    """A number of things in words: 1 row, 0 rows, 2,000 entries."""
    return f"{number:,} {noun if number == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    """The plural of a noun for items or clusters."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def shorten(text: str, length: int) -> str:
    """Text of at most so many letters; what is cut out of its middle is an ellipsis."""
    if len(text) <= length:
        return text
    end = (length - 1) // 3
    return f"{text[: length - 1 - end]}…{text[len(text) - end :]}"


def share_text(share: float) -> str:
    """Return a share in per cent; a cluster has more than none.

    Examples
    --------
    >>> share_text(0.0045), share_text(0.51)
    ('<1%', '51%')
    """
    return "<1%" if share < 0.005 else f"{share:.0%}"


def _value(text: Any, share: bool, length: float) -> str:
    if text in ("", None):
        return ""
    return f"{float(text):.0%}" if share else number(float(text), length)


def network_columns(rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns of networks that any of the rows fills, by their titles."""
    for key, title in NETWORK.items():
        if any(row.get(key) for row in rows):
            form = ".0%" if key.startswith("density") else ".3g"
            is_out = key == "density_outside" and "density_from_outside" in rows[0]
            yield "out" if is_out else title, [_edge_value(row[key], form) for row in rows]


def _edge_value(text: Any, form: str) -> str:
    """The share or mean value of edges in this form; a level as it is."""
    try:
        return format(float(text), form) if text not in ("", None) else ""
    except ValueError:
        return shorten(str(text), PROTOTYPE)


_PARTS = re.compile(r"(?<=\),) ")
"""Between the parts of a description, as of a spike and of all other numbers."""


def _wrap(entries: Sequence[str], room: int, most: int | None) -> list[str]:
    """Wrap entries into `most` lines of `room` letters, all of them for None; one that is longer is broken between its
    parts, and takes a line more for each.

    >>> _wrap(["x=0: 9% (others 1%), x other than 0 = 3", "y = 4 (others 8)"], 24, 1)
    ['x=0: 9% (others 1%),', 'x other than 0 = 3']
    """
    lines: list[str] = []
    taken = 0
    for entry in entries:
        parts = [entry] if len(entry) <= room else _PARTS.split(entry)
        if lines and len(parts) == 1 and len(lines[-1]) + 2 + len(entry) <= room:
            lines[-1] += f"; {entry}"
        elif most is None or taken < most:
            taken += 1
            lines += [shorten(part, room) for part in parts]
        else:
            break
    return lines


def describe_clusters(
    dataset: Any,
    labels: ArrayLike,
    certainty: ArrayLike | None = None,
    first: int = 0,
    known: Any = None,
    first_cluster: int = FIRST,
) -> dict[str, Any]:
    """An entry for each cluster of a partition, `labels` ``[N]`` from 0, the largest first.

    Columns cluster, size (items; units, or weights of rows, where rows have these), share; certainty (mean over the
    items) and prototype (name or number of the item of highest certainty), where `certainty` is given, the probability
    ``[N]`` that each item belongs where it is; and the columns of `Kind.describe_clusters`. Items without names are
    numbered from `first`, clusters from `first_cluster`; `known`: `Kind.statistics` of these clusters, if they are at
    hand.
    """
    cluster_labels = np.asarray(labels)
    sizes = np.bincount(cluster_labels, dataset.row_sizes)
    order = np.argsort(-sizes, kind="stable")
    described: dict[str, Any] = {
        "cluster": number_clusters(order, first_cluster),
        "size": np.rint(sizes[order]).astype(np.int64),
        "share": sizes[order] / sizes.sum(),
    }
    if certainty is not None:
        sure = np.asarray(certainty, dtype=np.float64)
        weights = 1.0 if dataset.row_sizes is None else dataset.row_sizes
        described["certainty"] = (np.bincount(cluster_labels, weights * sure) / sizes)[order]
        best = [int(np.flatnonzero(cluster_labels == k)[np.argmax(sure[cluster_labels == k])]) for k in order]
        names = dataset.names if dataset.unit_names is None else dataset.unit_names
        described["prototype"] = [i + first if names is None else names[i] for i in best]
    kind = dataset.kind
    if known is None:
        known = kind.statistics(dataset, cluster_labels)
    return described | kind.describe_clusters(dataset, cluster_labels, order, known, first, first_cluster)


def describe_columns(
    dataset: Any, labels: ArrayLike, known: Any = None, first_cluster: int = FIRST
) -> dict[str, Any] | None:
    """An entry for each cluster and column of a table (`Kind.describe_columns`); None of other data.

    Parameters as for `describe_clusters`.
    """
    kind = dataset.kind
    return kind.describe_columns(kind.statistics(dataset, labels) if known is None else known, first_cluster)
