"""The cells of a mixed table by type, reals in units from the middle of their columns, and the prior with them: what a
`Mixed` reads."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.checks import Columns, resolution
from splitmerge_cli.core.options import Choice, read_options
from splitmerge_cli.data.values import variances_of
from splitmerge_cli.kinds.tables.models.count_vectors import log_factorials
from splitmerge_cli.kinds.tables.models.outcome_cells import EFFECT, OUTCOME, outcome_kinds, place_columns
from splitmerge_cli.kinds.tables.models.real_columns import (
    Numbers,
    box_of,
    per_column,
    prior_options,
    resolutions_of,
    settle_resolution,
)

TYPES = ("binary", "categorical", "ordinal", "count", "real")
MOST_COUNT = 2**31 - 1
APART = "apart"
ZEROS = Choice(
    "zeros",
    "poisson",
    "apart: a cluster has a probability of 0 in a count column, whose counts above 0, less 1, are Poisson, and of "
    "the one number that many cells of a real column hold (docs/models/mixed.md), whose other cells are normal",
    choices=("poisson", APART),
    later=True,
)
FORMS_OF_COUNTS: dict[str, dict[str, str]] = {
    f"{reading}, model.zeros=apart": {"zeros": APART} for reading in ("as counts", "as real numbers")
}
"""Further models of a table with counts: by the name of the reading and what is added, options of the model."""


def types_of(
    values: Numbers, types: Sequence[Any], columns: Columns | None = None
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Type and number of levels of every column; `columns`: a `Columns` of all rows, of which these are a part."""
    kinds, levels = [], []
    if len(types) != values.shape[1]:
        raise ValueError(f"types: expected one for each of {values.shape[1]} columns, got {len(types)}")
    for j, column in enumerate(types):
        of_type = column if isinstance(column, str) else column.type
        if of_type not in TYPES:
            raise ValueError(f"types: {of_type}: expected one of {', '.join(TYPES)}")
        n = 2 if of_type == "binary" else 0
        if of_type in ("categorical", "ordinal"):
            # at least one, so that a column without cells has a proper prior
            largest = np.nanmax(values[:, j], initial=-1.0) if columns is None else max(columns.high[j], -1.0)
            n = max(1, 1 + int(largest) if isinstance(column, str) else len(column.levels))
        kinds.append(of_type)
        levels.append(n)
    return tuple(kinds), tuple(levels)


def by_kind(kinds: Sequence[str]) -> tuple[list[int], list[int]]:
    """Numbers of the discrete columns, ordinal ones last, and of counts."""
    nominal, ordinal, counts = (
        [j for j, kind in enumerate(kinds) if kind in of]
        for of in (("binary", "categorical"), ("ordinal",), ("count",))
    )
    return nominal + ordinal, counts


def spikes_of(kinds: Sequence[str], types: Sequence[Any]) -> tuple[float | None, ...]:
    """The number of each column that has a probability of its own with ``zeros=apart``: 0 of counts, of a real column
    its spike (`ColumnType.spike`); None of all others."""
    found: list[float | None] = []
    for kind, column in zip(kinds, types, strict=True):
        spike = getattr(column, "spike", None)
        found.append(0.0 if kind == "count" else float(spike[0]) if kind == "real" and spike is not None else None)
    return tuple(found)


def part_zeros(
    values: Numbers, kinds: tuple[str, ...], levels: tuple[int, ...], spikes: tuple[float | None, ...]
) -> dict[str, Any]:
    """A table in which each column with one of the `spikes` is two, so that this number has a probability of its own
    (``zeros=apart``): in its place the other cells, counts less 1, missing where a cell is the spike; behind all
    columns, in their order, whether it is, a binary column. With it the types and levels of its columns, as of
    ``types_of``."""
    _check_cells(values, ~np.isnan(values), kinds, levels)
    parts = [j for j, spike in enumerate(spikes) if spike is not None]
    cells = values[:, parts]
    are_spikes = np.where(np.isnan(cells), np.nan, cells == [spikes[j] for j in parts])
    parted = np.column_stack([values, are_spikes])
    parted[:, parts] = np.where(are_spikes == 0.0, cells - [kinds[j] == "count" for j in parts], np.nan)
    n = len(parts)
    return {"values": parted, "kinds": (*kinds, *["binary"] * n), "levels": (*levels, *[2] * n)}


def real_columns(values: Numbers, kinds: Sequence[str]) -> dict[str, Numbers]:
    return {"values": np.ascontiguousarray(values[:, [j for j, kind in enumerate(kinds) if kind == "real"]])}


def prepare(
    values: Numbers,
    kinds: Sequence[str],
    levels: Sequence[int],
    shape: float,
    rate: Any,
    zeta: float,
    cuts: Any = None,
    columns: Columns | None = None,
) -> dict[str, Any]:
    """The cells by type, but for reals, and the prior, over zeta, with them; a ValueError for a cell that its column
    cannot hold, or a prior out of range. `columns`: a `Columns` of all rows, of which these are a part."""
    total = len(values) if columns is None else columns.rows
    there = ~np.isnan(values)
    _check_cells(values, there, kinds, levels)
    with_missing = np.asarray(~there.all(axis=0) if columns is None else columns.observed < total)
    slot = np.where(with_missing, np.cumsum(with_missing) - 1, -1)
    discrete, counts = by_kind(kinds)
    tally, means, largest, constant = _count(values, there, counts, columns)
    rates = per_column("model.rate", rate, len(counts), "count columns")
    if rates is None:
        rates = shape / np.where(means > 0.0, means, 1.0)

    if columns is None:
        largest_constant = np.abs(constant).max()
    else:
        # no less than any row's
        highest = [int(columns.high[j]) for j in counts if columns.observed[j]]
        largest_constant = sum(log_factorials(np.array(highest, dtype=np.int64)).tolist())
    constant_unit = float(resolution(largest_constant, total))
    return {
        **_levels(values, there, kinds, levels, discrete),
        "cuts": cuts_of(values, kinds, levels, cuts),
        "tally": _flat(tally, np.int32),
        "there": _flat(there[:, with_missing], np.uint8),
        "constant": _flat(np.rint(constant / constant_unit), np.int64),
        "constant_unit": constant_unit,
        "C": len(discrete),
        "P": len(counts),
        "S": int(with_missing.sum()),
        "slot": _flat(slot, np.int32),
        "slot_discrete": _flat(slot[discrete], np.int32),
        "slot_count": _flat(slot[counts], np.int32),
        "rate": _flat(rates / zeta, np.float64),
        "largest": largest,
    }


def cuts_of(values: Numbers, kinds: Sequence[str], levels: Sequence[int], given: Any) -> tuple[tuple[float, ...], ...]:
    """Cuts between the levels of each ordinal column: those `given`, column after column, or where the whole column is
    standard normal."""
    ordinal = [j for j, kind in enumerate(kinds) if kind == "ordinal"]
    if not ordinal:
        return ()
    from scipy.special import ndtri

    found = []
    for j in ordinal:
        counts = np.bincount(values[~np.isnan(values[:, j]), j].astype(np.int64), minlength=levels[j]) + 0.5
        found.append(ndtri(np.cumsum(counts)[:-1] / counts.sum()))
    ends = np.cumsum([len(cuts) for cuts in found])
    if given is not None:
        found = np.split(per_column("model.cuts", given, int(ends[-1]), "cuts of ordinal columns"), ends[:-1])
    if any((np.diff(cuts) <= 0.0).any() for cuts in found):
        raise ValueError("model.cuts: expected numbers that ascend within each ordinal column")
    return tuple(tuple(cuts.tolist()) for cuts in found)


def _flat(array: Any, dtype: Any) -> NDArray[Any]:
    """Return the numbers of an array in a row; one 0 for an empty array, since no pointer leads into one."""
    array = np.ascontiguousarray(array, dtype=dtype).reshape(-1)
    return array if array.size else np.zeros(1, dtype=dtype)


def defaults_of(model: Any, data: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a mixture of tables, with numbers in place of defaults that depend on the data."""
    params = place_columns(data, settle_resolution(data, params, by_cell=True))
    options = read_options("model", model.OPTIONS, params)
    kinds, levels = types_of(data.values, data.types)
    marked = outcome_kinds(kinds, options)
    spikes = spikes_of(marked, data.types) if options["zeros"] == APART else (None,) * len(kinds)
    columns = [
        column[~np.isnan(column) & ((column != spike) | (kind != "real"))]
        for column, spike, kind in zip(data.values.T, spikes, kinds, strict=True)
    ]
    found = dict(params)
    if cuts := cuts_of(data.values, marked, levels, options["cuts"]):
        found["cuts"] = [cut for of_column in cuts for cut in of_column] or None
    if options["noise"]:
        numbers = [j for j, kind in enumerate(kinds) if kind in ("real", "count")]
        ends = box_of_table(data.values, kinds, levels, options["box"], options["resolution"])
        found["box"] = ends[:, numbers].T.ravel().tolist() or None
    if options["rate"] is None:
        found["rate"] = default_rates([columns[j] for j, kind in enumerate(marked) if kind == "count"], options) or None
    # a real outcome is among them
    numbers = [j for j, kind in enumerate(kinds) if kind == "real" and marked[j] != EFFECT]
    if reals := [columns[j] if columns[j].size else np.zeros(1) for j in numbers]:
        mean, variance = np.array([[cells.mean(), variances_of(cells)] for cells in reals]).T
        found |= prior_options("diag", options["m0"], options["b0"], mean, variance, "real columns")
        found["resolution"] = resolutions_of(options["resolution"], len(reals), reals, "real columns").tolist()
    return found


def box_of_table(values: Numbers, kinds: Sequence[str], levels: Sequence[int], box: Any, resolution: Any) -> Numbers:
    """As of `box_of`, for a table of several types: counts and codes are recorded in steps of 1, the codes of a column
    are its levels. The option `box` has the ends of the columns of numbers, counts and reals."""
    reals, numbers = ([j for j, kind in enumerate(kinds) if kind in of] for of in (("real",), ("real", "count")))
    steps, coded = np.ones(len(kinds)), np.array(levels) > 0
    steps[reals] = resolutions_of(resolution, len(reals), values[:, reals].T, "real columns")
    ends = box_of(values, None, steps)
    ends[:, coded] = np.array([np.zeros(coded.sum()), np.array(levels)[coded]]) - 0.5
    if box is not None:
        ends[:, numbers] = box_of(values[:, numbers], box, None)
    return ends


def default_rates(counts: Iterable[Numbers], options: Mapping[str, Any]) -> list[float]:
    """Prior rates, one for each column of counts: those given, or shape over the mean of the observed cells, with
    ``zeros=apart`` of the cells above 0, less 1."""
    if options["zeros"] == APART:
        counts = [cells[cells > 0] - 1.0 for cells in counts]
    means = [cells.mean() if cells.size else 0.0 for cells in counts]
    default = [float(options["shape"] / (mean if mean > 0.0 else 1.0)) for mean in means]
    given = per_column("model.rate", options["rate"], len(means), "columns of counts")
    return default if given is None else given.tolist()


def _check_cells(values: Numbers, there: NDArray[np.bool_], kinds: Sequence[str], levels: Sequence[int]) -> None:
    for j in range(values.shape[1]):
        # a copy of one column, at a time
        cells = values[there[:, j], j]
        if kinds[j] in ("real", OUTCOME, EFFECT):
            good = np.abs(cells) <= 1e30
        else:
            good = (cells >= 0) & (cells <= (MOST_COUNT if kinds[j] == "count" else levels[j] - 1))
            good &= cells == np.floor(cells)
        if not good.all():
            raise ValueError(f"x: column {j + 1}: {cells[~good][0]:g} cannot be in a {kinds[j]} column")


def _levels(
    values: Numbers, there: NDArray[np.bool_], kinds: Sequence[str], levels: Sequence[int], discrete: list[int]
) -> dict[str, Any]:
    """Discrete cells as rows of a block, and the tables that hold their pseudo-counts and what these add up to."""
    first = np.cumsum([1, *(levels[j] for j in discrete)])
    totals = sorted({levels[j] for j in discrete if kinds[j] == "categorical"})
    table_of, total_of = [0], []
    code = np.zeros((len(values), len(discrete)), dtype=np.int32)
    for c, j in enumerate(discrete):
        table_of += [0, 1] if kinds[j] == "binary" else levels[j] * [2]
        total_of.append(0 if kinds[j] != "categorical" else 1 + totals.index(levels[j]))
        code[:, c] = np.where(there[:, j], np.nan_to_num(values[:, j]) + first[c], 0)
    return {
        "code": _flat(code, np.int32),
        "levels": int(first[len(discrete)]),
        "first": _flat(first, np.int32),
        "table_of": _flat(table_of, np.int32),
        "total_of": _flat(total_of, np.int32),
        "totals": tuple(totals),
    }


def _count(
    values: Numbers, there: NDArray[np.bool_], counts: list[int], columns: Columns | None
) -> tuple[NDArray[np.int32], Numbers, int, Numbers]:
    """Counts, -1 where one is missing; the mean of each column; the largest sum and count; minus the sum of log x! of
    each row."""
    tally = np.empty((len(values), len(counts)), dtype=np.int32)
    means, largest, constant = np.zeros(len(counts)), 0, np.zeros(len(values))
    for p, j in enumerate(counts):
        tally[:, p] = np.where(there[:, j], np.nan_to_num(values[:, j]), -1)
        seen = tally[there[:, j], p].astype(np.int64)
        constant[there[:, j]] -= log_factorials(seen)
        if columns is not None and columns.observed[j]:
            means[p] = columns.sums[j] / columns.observed[j]
            largest = max(largest, int(columns.sums[j]) + int(columns.high[j]))
        elif seen.size:
            means[p] = seen.mean()
            largest = max(largest, int(seen.sum()) + int(seen.max()))
    return tally, means, largest, constant


def with_moments(columns: Columns, packed: bytes) -> Columns:
    """The columns with means and variances of reals, from the sums of all rows as shards of a ``DiagonalGaussian`` send
    them."""
    reals = [j for j, kind in enumerate(columns.types) if kind == "real"]
    complete, gapped = ([j for j in reals if (columns.observed[j] < columns.rows) == is_gapped] for is_gapped in (0, 1))
    # 128 bits of squares; square, sum and number of the cells of a column that lacks some; then 64 bits of sums
    wholes = len(complete) + 3 * len(gapped)
    words = np.frombuffer(packed[: 16 * wholes + 8 * len(complete)], dtype=np.int64).tolist()
    at = [(c, 2 * wholes + c) for c in range(len(complete))]
    at += [(w, 2 * w + 2) for w in range(len(complete), wholes, 3)]
    mean, variance = np.zeros(len(columns.types)), np.zeros(len(columns.types))
    for j, (of_square, of_sum) in zip(complete + gapped, at, strict=True):
        # whole numbers until the division, so that it does not depend on what the shards are
        n = max(1, int(columns.observed[j]))
        square = (words[2 * of_square + 1] << 64) + (words[2 * of_square] & 0xFFFFFFFFFFFFFFFF)
        v = words[of_sum]
        unit = float(resolution(columns.widest(j), columns.rows))
        mean[j], variance[j] = v / n * unit, (n * square - v * v) / n**2 * unit**2
    return columns.with_moments(mean, variance)
