"""An outcome and the effects on which it is regressed within clusters: columns of a table as a `Regression` reads
them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.core.checks import resolution
from splitmerge_cli.core.options import Column, Columns, Positive
from splitmerge_cli.kinds.tables.models.real_columns import Numbers, moments_of, per_column, prior_of, resolutions_of

OPTIONS = (
    Column(
        "outcome",
        None,
        "column that is regressed on model.effects within each cluster, by name or number from 1",
        optional=True,
        later=True,
    ),
    Columns(
        "effects",
        (),
        "columns whose effects on model.outcome differ between clusters; they have no distribution of their own",
        later=True,
    ),
    Positive(
        "slope_weight",
        None,
        "prior's weight on effects of 0, in rows, effects standardised; null: kappa0, 1 of a binary outcome",
        optional=True,
        later=True,
    ),
)
OUTCOME, EFFECT = "outcome", "effect"
"""Types of columns that are no columns of the clusters."""
REGRESSED = ("real", "binary")
"""Types of outcomes that may have effects."""
STANDARDISED = ("real", "count")
"""Types of effects that are numbers; others have a 0 or 1 for each level but the first."""
FARTHEST = 64.0
"""How far from 0 a latent outcome may be."""


def place_columns(data: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model with numbers, from 1 among the columns that were read, in place of names of columns. A
    ValueError for a name that no column has, a missing effect, or an outcome of which no cell is known."""
    names = data.column_names

    def number_of(key: str, column: str | int) -> int:
        if isinstance(column, str) and column in names:
            return names.index(column) + 1
        if not isinstance(column, int) or not 1 <= column <= len(names):
            about = [note for note in data.meta.get("notes", ()) if f"('{column}')" in note]
            known = "; ".join([f"expected one of {', '.join(names)}", *about])
            raise ValueError(f"model.{key}: no column {column}; {known}")
        return column

    placed = dict(options)
    placed |= {option.name: option.read(placed[option.name], "model") for option in OPTIONS if option.name in placed}
    if placed.get("outcome") is not None:
        outcome = placed["outcome"]
        placed["outcome"] = number_of("outcome", outcome)
        if np.isnan(data.values[:, placed["outcome"] - 1]).all():
            raise ValueError(f"model.outcome={outcome}: all cells are missing; expected a column that holds values")
    placed["effects"] = [number_of("effects", column) for column in placed.get("effects") or ()]
    require_effects(data, placed)
    return placed


def require_effects(data: Any, placed: Mapping[str, Any], where: str = "") -> None:
    """Raise a ValueError if an effect is missing; `placed` are options as of `place_columns`."""
    for column in placed.get("effects") or ():
        if (absent := np.isnan(data.values[:, column - 1])).any():
            cell = data.place(int(absent.argmax()), column - 1)
            raise ValueError(f"model.effects: {where}{cell}: a missing cell; expected none")


def outcome_kinds(kinds: Sequence[str], options: Mapping[str, Any]) -> tuple[str, ...]:
    """Types of columns in which the outcome and effects of a regression, which no cluster describes, have words of
    their own. An outcome of levels or counts without effects is a column like any other. A ValueError, which names the
    keys, for columns that cannot be the outcome or effects, or options that do not go together."""
    outcome, effects = options.get("outcome"), options.get("effects") or ()
    if outcome is None:
        if effects:
            raise ValueError("model.effects: expected model.outcome, the column that they have an effect on")
        return tuple(kinds)
    for key, column in (("outcome", outcome), *(("effects", column) for column in effects)):
        if not isinstance(column, int) or not 1 <= column <= len(kinds):
            raise ValueError(f"model.{key}={column}: expected the number of a column, from 1 to {len(kinds)}")
    if outcome in effects or len(set(effects)) < len(effects):
        raise ValueError("model.effects: expected different columns, none of them model.outcome")
    form = kinds[outcome - 1]
    if form == "count" and options.get("zeros") == "apart":
        raise ValueError("model.zeros=apart: expected poisson with a column of counts as model.outcome")
    if form not in REGRESSED and effects:
        expected = "no effects, or an outcome of type real or binary (data.types)"
        raise ValueError(f"model.effects: an outcome of type {form} has no effects; expected {expected}")
    if form == "binary" and effects and options["power"] != 1.0:
        raise ValueError(f"model.power={options['power']:g}: expected 1 of a binary model.outcome with model.effects")
    marked = list(kinds)
    for column in effects:
        marked[column - 1] = EFFECT
    if is_regressed(form, options):
        marked[outcome - 1] = OUTCOME
    return tuple(marked)


def is_regressed(form: str, options: Mapping[str, Any]) -> bool:
    """Whether an outcome of this type has a regression of its own, and is not a column like any other."""
    return form == "real" or bool(options["effects"])


def split_reals(kinds: Sequence[str], marked: Sequence[str], options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The options m0, b0 and resolution of the real columns of the clusters, and of a real outcome, which stands among
    these where it is in the table."""
    reals = [j for j, kind in enumerate(kinds) if kind == "real" and marked[j] != EFFECT]
    own = [at for at, j in enumerate(reals) if marked[j] == OUTCOME]
    rest, of_outcome = {}, {}
    for key in ("m0", "b0", "resolution"):
        value = options[key]
        rest[key] = of_outcome[key] = value
        if own and not isinstance(value, str) and np.ndim(value if value is not None else 0.0):
            numbers = per_column(f"model.{key}", value, len(reals), "real columns")
            of_outcome[key] = float(numbers[own[0]])
            rest[key] = np.delete(numbers, own[0]).tolist() or (0.0 if key == "resolution" else None)
    return rest, of_outcome


def prepare(
    values: Numbers,
    kinds: tuple[str, ...],
    levels: tuple[int, ...],
    outcome: int,
    effects: tuple[int, ...],
    known: int,
    total: int,
    slope_weight: float,
    m0: float | None,
    b0: float | None,
    step: Any,
) -> dict[str, Any]:
    """Effects and outcome of each row, in units, and the prior with them. The first `known` rows of `values`, float of
    shape (N, D), are data, which say what is standardised by what; `outcome` and `effects` are numbers of columns, from
    0; `m0`, `b0` and `step`: prior mean and scale, and resolution, of a real outcome."""
    cells, deviations = design_of(values, kinds, levels, effects, known)
    y = values[:, outcome]
    is_latent = kinds[outcome] == "binary"
    answer = np.full(len(y), -1, dtype=np.int8)
    centre, location, scale, grain = 0.0, 0.0, 0.5, 0.0
    if is_latent:
        answer = np.where(np.isnan(y), -1, np.nan_to_num(y)).astype(np.int8)
        unit = float(resolution(FARTHEST, total))
        # at the start, the side that the answer is on
        y = np.where(np.isnan(y), np.nan, np.where(y == 1, 1.0, -1.0))
        y = np.where(np.arange(len(y)) < known, y, np.nan)
    else:
        seen = y[:known][~np.isnan(y[:known])]
        centre, mean, variance, span, _ = moments_of(seen)
        of_column = [np.array([number]) for number in (mean, variance, span, centre)]
        locations, scales = prior_of("diag", m0, b0, *of_column)
        location, scale = float(locations[0]), float(scales[0])
        unit = float(resolution(np.abs(np.nan_to_num(y - centre)).max(initial=0.0), total))
        grain = float(resolutions_of(step, 1, [seen], "outcomes")[0]) ** 2 / 12.0
        y = y - centre
    widest = np.abs(cells).max(axis=0, initial=0.0)
    units = np.append(resolution(widest, total), unit) if cells.shape[1] else np.array([unit])
    x = np.rint(np.column_stack([cells, y]) / units)
    p = cells.shape[1]
    return {
        "D": p + 1,
        "x": np.ascontiguousarray(x).reshape(-1),
        "answer": answer.view(np.uint8),
        "is_latent": is_latent,
        "unit": unit,
        "reach": int(FARTHEST / unit) if is_latent else 0,
        "centre": float(centre),
        "m0": np.append(np.zeros(p), location / unit),
        "b0": scale / unit**2,
        "grain": grain / unit**2,
        "ridge": np.append(slope_weight / units[:p] ** 2, 2.0 * scale / unit**2),
        "log_ridge": float(np.log(slope_weight / units[:p] ** 2).sum()),
        "effect_units": np.append(units[:p] * deviations, 1.0),
    }


def design_of(
    values: Numbers, kinds: Sequence[str], levels: Sequence[int], effects: Sequence[int], known: int
) -> tuple[Numbers, NDArray[np.float64]]:
    """Columns of a regression, float64 ``[N, p]``: numbers less their mean over the known rows, over their standard
    deviation; of levels a 0 or 1 for each but the first. And the standard deviations, 1 of levels."""
    columns, deviations = [np.empty((len(values), 0))], []
    for j in effects:
        cells = values[:, [j]]
        if kinds[j] in STANDARDISED:
            mean, deviation = cells[:known].mean(), float(cells[:known].std()) or 1.0
            if np.ptp(cells[:known]) == 0.0:
                # the mean of equal numbers may be off by a rounding
                mean, deviation = cells[0], 1.0
            columns.append((cells - mean) / deviation)
            deviations.append(deviation)
        else:
            # a column of one level has no effect
            columns.append((cells == np.arange(1, levels[j])).astype(np.float64))
            deviations += [1.0] * (levels[j] - 1)
    return np.hstack(columns), np.array(deviations)


def term_names(data: Any, effects: Sequence[int]) -> list[str]:
    """Names of the columns of ``design_of``, for people."""
    names, terms = data.column_names, []
    for j in effects:
        column = data.types[j]
        if column.type in STANDARDISED:
            terms.append(names[j])
        else:
            terms += [f"{names[j]}={level}" for level in column.levels[1:]]
    return terms


def draw_outcome(
    rng: np.random.Generator, given: Any, drawn: NDArray[np.int64]
) -> tuple[NDArray[Any], dict[str, Any], Numbers, Any]:
    """The part of `splitmerge_cli.kinds.tables.simulated.simulate_table` that has an outcome. Returns types of columns
    as of ``outcome_kinds``; options of the other columns; the table that is drawn, float of shape (n, m): effects as
    they are, the outcome given these; and what other columns are drawn given: a state without latent outcomes."""
    of_table = [column.type for column in given.data.types]
    marked = outcome_kinds(of_table, given.options)
    others, of_outcome = split_reals(of_table, marked, given.options)
    kinds = np.array(marked)
    made = given.data.values[slice(None) if given.rows is None else given.rows][:, drawn].astype(np.float64)
    if OUTCOME in kinds:
        outcome, given = _simulate_outcome(rng, given, of_outcome)
        made[:, kinds[drawn] == OUTCOME] = outcome[:, None]
    return kinds, {**given.options, **others}, made, given


def _simulate_outcome(rng: np.random.Generator, given: Any, of_outcome: Mapping[str, Any]) -> tuple[Numbers, Any]:
    """Outcomes given the effects of rows, float64 ``[n]``: variance and coefficients of each cluster, then outcomes;
    and a state without latent outcomes."""
    options, values, known = given.options, given.data.values, len(given.evidence)
    kinds, levels = [column.type for column in given.data.types], [len(column.levels) for column in given.data.types]
    j, zeta = options["outcome"] - 1, given.power
    y, is_latent = values[:known, j], kinds[j] == "binary"
    # where nothing is known all rows are the data
    cells, _ = design_of(values, kinds, levels, [column - 1 for column in options["effects"]], known or len(values))
    X, there = np.column_stack([np.ones(len(values)), cells]), ~np.isnan(y)
    if is_latent and there.any() and given.parameters is not None:
        held = np.ravel(given.parameters)
        y = np.array(y)
        y[there], rest = np.split(held, [int(there.sum())])
        given = replace(given, parameters=rest if len(rest) else None)
    kappa0, m0, a0, b0, step = 1.0, 0.0, 0.0, 0.0, 0.0
    if not is_latent:
        kappa0, a0, step = options["kappa0"], options["a0"], of_outcome["resolution"]
        m0, b0 = (float(np.ravel(of_outcome[key])[0]) for key in ("m0", "b0"))
        step = 0.0 if isinstance(step, str) else float(np.ravel(step)[0])
    slope_weight = options["slope_weight"] or kappa0
    beta, deviation = np.empty((given.K, X.shape[1])), np.ones(given.K)
    for k, members in enumerate(given.members):
        here = members[there[members]]
        precision = np.diag([kappa0] + [slope_weight] * cells.shape[1]) + zeta * X[here].T @ X[here]
        centre = np.linalg.solve(precision, zeta * X[here].T @ (y[here] - m0))
        if not is_latent:
            squares = zeta * ((y[here] - m0) ** 2).sum() - centre @ precision @ centre
            b = b0 + 0.5 * max(squares, 0.0) + zeta * len(here) * step**2 / 24.0
            deviation[k] = np.sqrt(b / rng.gamma(a0 + 0.5 * zeta * len(here)))
        root = np.linalg.cholesky(np.linalg.inv(precision))
        beta[k] = centre + deviation[k] * root @ rng.normal(size=len(centre))
    X = X if given.rows is None else X[given.rows]
    made = m0 + np.einsum("nd,nd->n", X, beta[given.z]) + deviation[given.z] * rng.normal(size=len(X))
    if is_latent:
        return (made > 0.0).astype(np.float64), given
    if step:
        start = y[there][0] if there.any() else 0.0
        made = start + step * np.rint((made - start) / step)
    return made, given
