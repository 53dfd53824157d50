"""Tables drawn from the models of rows (`splitmerge_cli.core.simulation`)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any

import numpy as np

from splitmerge_cli.core.options import Gamma
from splitmerge_cli.core.simulation import Array, Given, Rng, is_sparse
from splitmerge_cli.kinds.tables.models import mixed_cells, normal, outcome_cells
from splitmerge_cli.kinds.tables.models.ordered_levels import tables_of_levels
from splitmerge_cli.kinds.tables.models.real_columns import box_of, resolutions_of

BUILD = "splitmerge_cli.kinds.tables.models.mixed:Mixed.build"
"""Builder of a table's model, which imports this module."""


def simulate_bits(rng: Rng, given: Given) -> Any:
    """Binary columns: probabilities Beta(beta1 + n1, beta0 + n0), then cells; uint8 ``[n, m]``."""
    x, of = given.table, given.options
    ones = given.sums(x)
    # zeros of a model of counts alone have the default prior of a `Mixed`
    beta1, beta0 = (of.get(key, 0.5) for key in ("beta1", "beta0"))
    p = rng.beta(beta1 + given.power * ones, beta0 + given.power * (given.counts(x) - ones))
    return (rng.random((len(given.z), x.shape[1])) < p[given.z]).astype(np.uint8)


def simulate_rates(rng: Rng, given: Given) -> Any:
    """Counts: rates Gamma(shape + s, rate + exposures of the cells that are there), then cells; int32 ``[n, m]``.
    With ``zeros=apart`` which cells are 0, then the others."""
    x, of = given.table, given.options
    if of.get("zeros") == mixed_cells.APART:
        values = np.asarray(given.data.values, dtype=np.float64)
        are_0, above_0 = np.where(np.isnan(values), np.nan, values == 0), np.where(values > 0, values - 1, np.nan)
        bits = simulate_bits(rng, replace(given, data=_Values(are_0)))
        counts = simulate_rates(rng, replace(given, data=_Values(above_0), options={**of, "zeros": "poisson"}))
        return np.where(bits == 1, 0, 1 + counts).astype(np.int32)
    rate = given.of_columns(of["rate"], given.data.values.shape[1])
    e = np.ones(len(given.labels)) if given.data.exposure is None else given.data.exposure
    exposures = given.sums(np.where(np.isnan(x), 0.0, e[:, None]))
    drawn = rng.gamma(of["shape"] + given.power * given.sums(x), 1.0 / (rate + given.power * exposures))
    e = e if given.rows is None else e[given.rows]
    return rng.poisson(drawn[given.z] * e[:, None]).astype(np.int32)


def simulate_shares(rng: Rng, given: Given) -> Any:
    """Rows of given totals: shares Dirichlet(alpha + s), then rows; int32 ``[n, m]``.

    Columns that are not drawn are one: sums of Dirichlet shares are Dirichlet, of multinomial counts multinomial.
    """
    x, alpha = given.data.values, given.options["alpha"]
    D, totals = x.shape[1], np.asarray(x.sum(axis=1), dtype=np.int64).ravel()
    pseudo = alpha + given.power * given.sums(given.table)
    m = pseudo.shape[1]
    if m < D:
        rest = given.power * given.sums(totals[:, None].astype(np.float64)) + alpha * D
        pseudo = np.concatenate([pseudo, rest - pseudo.sum(axis=1, keepdims=True)], axis=1)
    p = np.array([rng.dirichlet(row) for row in pseudo])
    totals = totals if given.rows is None else totals[given.rows]
    return rng.multinomial(totals, p[given.z])[:, :m].astype(np.int32)


def draw_pseudo_counts(rng: Rng, tables: Array, exposure: Array, options: Mapping[str, Any]) -> Array:
    """Parameters a_kd of Dirichlet-multinomial clusters given sums of tables ``[K, D]`` and exposures ``[K]``."""
    precision = rng.gamma(options["shape"] + tables.sum(axis=1)) / (options["rate"] + exposure)
    share = rng.gamma(options["alpha"] + tables)
    return np.maximum(precision[:, None] * share / share.sum(axis=1, keepdims=True), 1e-300)


def simulate_scattered_shares(rng: Rng, given: Given) -> Any:
    """Rows of given totals: parameters a_kd of the clusters, shares of every row Dirichlet(a_k), then rows; int32
    ``[n, m]``. Columns that are not drawn are one, as of `simulate_shares`."""
    x, known = given.data.values, len(given.evidence)
    totals = np.asarray(x.sum(axis=1), dtype=np.int64).ravel()
    tables: Array = np.zeros((given.K, x.shape[1]))
    exposure: Array = np.zeros(given.K)
    if given.parameters is not None:
        # of all rows, or of the known ones alone
        row, column = np.nonzero(x.toarray() if is_sparse(x) else x)
        held = int((row < known).sum())
        N = known if len(given.parameters) == 2 * known + held else given.data.N
        of_known = given.parameters[2 * N : 2 * N + held]
        np.add.at(tables, (given.labels[row[:held]], column[:held]), of_known)
        exposure = np.bincount(given.evidence, given.parameters[:known], given.K).astype(np.float64)
    a = draw_pseudo_counts(rng, tables, exposure, given.options)
    drawn = given.take(a)
    if (m := drawn.shape[1]) < x.shape[1]:
        drawn = np.concatenate([drawn, np.maximum(a.sum(axis=1) - drawn.sum(axis=1), 1e-300)[:, None]], axis=1)
    p = np.array([rng.dirichlet(drawn[k]) for k in given.z])
    totals = totals if given.rows is None else totals[given.rows]
    return rng.multinomial(totals, p)[:, :m].astype(np.int32)


def _draw_levels(rng: Rng, given: Given, x: Array, alpha: float, L: int) -> Array:
    """A column of L levels: shares Dirichlet(alpha + n), then cells, ``[n]``."""
    counts = given.sums(np.stack([x == level for level in range(L)], axis=1))
    p = np.array([rng.dirichlet(row) for row in alpha + given.power * counts])
    return np.asarray(rng.multinomial(1, p[given.z]).argmax(axis=1), dtype=np.float64)


def _draw_answers(rng: Rng, given: Given, x: Array, cuts: Array) -> Array:
    """An ordinal column: a point of mean and deviation for each cluster, then cells, ``[n]``."""
    L, tables = len(cuts) + 1, tables_of_levels([cuts], given.power)
    counts = given.sums(np.stack([x == level for level in range(L)], axis=1))
    log_weight = tables["log_prior"] + counts @ tables["log_q"].reshape(L, -1)
    point = (log_weight + rng.gumbel(size=log_weight.shape)).argmax(axis=1)
    p = tables["density"].reshape(L, -1).T[point]
    return np.asarray(rng.multinomial(1, p[given.z]).argmax(axis=1), dtype=np.float64)


def simulate_spiked(rng: Rng, given: Given, spikes: Array) -> Array:
    """Real columns, each with its spike or NaN: first which cells hold it, then the others (``zeros=apart``)."""
    x = np.asarray(given.data.values, dtype=np.float64)
    are_spikes = np.where(np.isnan(x), np.nan, x == spikes)
    bits = simulate_bits(rng, replace(given, data=_Values(are_spikes)))
    made = simulate_points(rng, replace(given, data=_Values(np.where(are_spikes == 1.0, np.nan, x))))
    drawn = given.take(spikes[None])
    return np.where((bits == 1) & ~np.isnan(drawn), drawn, made)


def simulate_points(rng: Rng, given: Given) -> Array:
    """Points of normal clusters, float64 ``[n, m]``, on the grid of a column that is recorded to a resolution; of
    clusters with the tails of Student's t, each by a weight of its own."""
    x, of = given.data.values, given.options
    D, steps = x.shape[1], of["resolution"]
    b0, kappa0, cells = _read_scales(given, D)
    weights, spread = np.ones((len(given.evidence), 1)), np.ones((len(given.z), 1))
    if of.get("tails") == "t":
        weights, spread, cells = _draw_weights(rng, given, cells)
    # of one column all are one model, whose missing cells no state holds
    covariance = of["covariance"] if D > 1 or len(cells) else "diag"
    if covariance == "full" and len(given.evidence):
        x = _fill(x, cells, len(given.evidence))
    wide = np.broadcast_to(np.asarray(0.0 if isinstance(steps, str) else steps, dtype=np.float64), (D,))
    step, m0, b0 = given.of_columns(wide, D), given.of_columns(of["m0"], D), given.of_columns(b0, D)
    grain, zeta = step**2 / 12.0, given.power
    drawn = given.take(x)
    drawn = np.asarray(drawn.toarray() if is_sparse(drawn) else drawn, dtype=np.float64)
    n, off = given.counts(drawn), drawn[: len(given.evidence)] - m0
    mass = given.sums(np.where(np.isnan(off), 0.0, weights))
    mean = given.sums(weights * off) / np.where(mass > 0.0, mass, 1.0)
    off = np.sqrt(weights) * np.nan_to_num(off - mean[given.evidence])
    # a likelihood to a power has its statistics times that
    n, mass = zeta * n, zeta * mass
    kappa = kappa0 + mass
    centre, pull = m0 + mass * mean / kappa, kappa0 * mass / kappa
    z, (K, m) = given.z, mean.shape
    if covariance == "full":
        # in units of the prior's scales, so that columns of any units are near one another
        unit = np.sqrt(b0)
        scatter = np.array([(off[here] / unit).T @ (off[here] / unit) for here in given.members])
        far = np.einsum("kd,ke->kde", mean / unit, mean / unit)
        scale = zeta * scatter + pull[:, :, None] * far + (2.0 + n * grain / b0)[:, :, None] * np.eye(m)
        root = unit[:, None] * _draw_roots(rng, 2.0 * of["a0"] + m - 1 + n[:, 0], scale)
        centre = centre + np.einsum("kde,ke->kd", root, rng.normal(size=(K, m))) / np.sqrt(kappa)
        noise, made = spread * rng.normal(size=(len(z), m)), centre[z]
        for d in range(m):
            made[:, d] += np.einsum("ne,ne->n", root[z, d, : d + 1], noise[:, : d + 1])
        return _round(made, step, drawn)
    a, b = of["a0"] + 0.5 * n, b0 + 0.5 * (zeta * given.sums(off**2) + n * grain + pull * mean**2)
    if covariance == "iso":
        # one variance, of the columns that are not drawn, too
        scatter, far = _total_scatter(given, x, weights, np.broadcast_to(np.asarray(of["m0"], dtype=np.float64), (D,)))
        b = b0[:1] + 0.5 * (zeta * scatter + n[:, :1] * (wide**2).sum() / 12.0 + pull[:, :1] * far)
        a = of["a0"] + 0.5 * D * n[:, :1]
    deviation = np.sqrt(b / rng.gamma(a, 1.0)) * np.ones(m)
    centre = centre + deviation * rng.normal(size=(K, m)) / np.sqrt(kappa)
    return _round(centre[z] + spread * deviation[z] * rng.normal(size=(len(z), m)), step, drawn)


def simulate_with_noise(rng: Rng, given: Given) -> Array:
    """`simulate_points`; with a background of noise, clusters that are noise given their rows are uniform over the
    box."""
    made, of = simulate_points(rng, given), given.options
    if not (rho := of.get("noise")):
        return made
    # noise is rare, and these are more than half of what a run would import of SciPy
    from scipy.special import expit

    from splitmerge_cli.verify.continuous import gaussian_log_weight

    x, steps = np.asarray(given.data.values, dtype=np.float64), of["resolution"]
    b0, kappa0, _ = _read_scales(given, x.shape[1])
    box = box_of(x[: given.known or None], of.get("box"), steps)
    step = np.broadcast_to(np.asarray(0.0 if isinstance(steps, str) else steps, dtype=np.float64), x.shape[1:])
    log_odds = np.full(given.K, np.log(rho / (1.0 - rho)))
    for k, rows in enumerate(given.members):
        if len(rows):
            prior = of["covariance"], of["m0"], kappa0, of["a0"], b0, step, given.power
            log_odds[k] -= gaussian_log_weight(x[rows], 1.0, "uniform", *prior)(((0,) * len(rows), 1))
            log_odds[k] -= given.power * np.where(np.isnan(x[rows]), 0.0, np.log(box[1] - box[0])).sum()
    is_noise = (rng.random(given.K) < expit(log_odds))[given.z]
    low, high = given.take(box)
    made[is_noise] = rng.uniform(low, high, (int(is_noise.sum()), len(low)))
    return _round(made, given.take(step[None])[0], given.take(x))


def _draw_roots(rng: Rng, freedom: Array, scale: Array) -> Array:
    """Cholesky factors of inverse Wishart covariances, ``[K, m, m]``: C B^-T of scales C C^T, where B is upper
    triangular and B B^T has a Wishart distribution (Bartlett's decomposition)."""
    K, m = scale.shape[:2]
    root, diagonal = np.triu(rng.normal(size=(K, m, m)), 1), np.arange(m)
    root[:, diagonal, diagonal] = np.sqrt(rng.chisquare(freedom[:, None] - diagonal[::-1]))
    return np.asarray(np.linalg.cholesky(scale) @ np.linalg.inv(root).transpose(0, 2, 1))


def _read_scales(given: Given, D: int) -> tuple[Any, Any, Array]:
    """b0, kappa0 and the missing cells of a state, those that it holds; ValueError if it was recorded without."""
    b0, kappa0 = given.options["b0"], given.options["kappa0"]
    rest = np.empty(0) if given.parameters is None else np.asarray(given.parameters, dtype=np.float64).ravel()
    for name in ("b0", "kappa0"):
        if isinstance(given.options[name], Gamma):
            n = D if name == "b0" and given.options["covariance"] != "iso" else 1
            if len(rest) < n:
                raise ValueError("trace.partitions: the partitions were recorded without b0 and kappa0")
            found, rest = (rest[:n] if name == "b0" else float(rest[0])), rest[n:]
            b0, kappa0 = (found, kappa0) if name == "b0" else (b0, found)
    return b0, kappa0, rest


def draw_tails(rng: Rng, n: int) -> Array:
    """Degrees of freedom and weights of n rows from their prior."""
    nu = float(rng.choice(normal.DEGREES))
    return np.append(nu, rng.gamma(0.5 * nu, 2.0 / nu, n))


def _draw_weights(rng: Rng, given: Given, state: Array) -> tuple[Array, Array, Array]:
    """Weights of the known rows ``[n, 1]``, standard deviations of the rows that are drawn, and what else a state
    holds. Given no rows, a state has the weights of those that are drawn, or they come from their prior."""
    n, N = len(given.evidence), len(given.labels)
    if not n:
        weights = (draw_tails(rng, N) if given.parameters is None else state)[1 : 1 + N]
        return np.ones((0, 1)), 1.0 / np.sqrt(weights[slice(None) if given.rows is None else given.rows, None]), state
    if len(state) < 1 + n:
        raise ValueError("trace.partitions: the partitions were recorded without the weights of rows")
    half = 0.5 * float(state[0])
    spread = np.sqrt(half / rng.gamma(half, 1.0, (len(given.z), 1)))
    return state[1 : 1 + n, None], spread, state[1 + n :]


def _fill(x: Any, cells: Array, known: int) -> Any:
    """Points with the cells that a state holds in place of the missing ones of the known points, given from the middle
    of their column."""
    if is_sparse(x) or not (absent := np.isnan(x[:known])).any():
        return x
    if len(cells) != absent.sum():
        raise ValueError("trace.partitions: the partitions were recorded without the missing cells")
    x = np.array(x, dtype=np.float64)
    seen, empty = x[:known], absent.all(axis=0)
    low, high = (np.where(empty, 0.0, of(np.where(empty, 0.0, seen), axis=0)) for of in (np.nanmin, np.nanmax))
    seen[absent] = (low / 2 + high / 2)[np.nonzero(absent)[1]] + cells
    return x


def _total_scatter(given: Given, x: Any, weights: Array, m0: Array) -> tuple[Array, Array]:
    """Squared distances from the mean of a cluster, summed over its points, and of that mean from m0: ``[K, 1]``."""
    n, z = given.sums(np.ones((len(given.labels), 1))), given.evidence
    if not is_sparse(x):
        kept, mass = x[: len(z)] - m0, given.sums(weights)
        mean = given.sums(weights * kept) / np.where(mass > 0.0, mass, 1.0)
        return given.sums(weights * ((kept - mean[z]) ** 2).sum(axis=1, keepdims=True)), (mean**2).sum(1, keepdims=True)
    mean = given.sums(x) / np.maximum(n, 1.0)
    squares = given.sums(np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).reshape(-1, 1))
    scatter = np.maximum(squares - n * (mean**2).sum(1, keepdims=True), 0.0)
    return scatter, np.where(n > 0, ((mean - m0) ** 2).sum(1, keepdims=True), 0.0)


def _round(made: Array, step: Array, x: Array) -> Array:
    """Cells on the grid of the columns that have one."""
    for j in np.flatnonzero(step):
        seen = x[~np.isnan(x[:, j]), j]
        start = seen[0] if len(seen) else 0.0
        made[:, j] = start + step[j] * np.rint((made[:, j] - start) / step[j])
    return made


def simulate_table(rng: Rng, given: Given) -> Array:
    """Columns of several types, float64 ``[n, m]``: effects stay as they are, an outcome that has effects, binary, each
    categorical, each ordinal one, counts, then reals."""
    drawn = np.arange(len(given.data.types)) if given.columns is None else given.columns
    kinds, of, made, given = outcome_cells.draw_outcome(rng, given, drawn)
    levels = np.array([len(column.levels) for column in given.data.types])
    cuts = np.split(of.get("cuts") or [], np.cumsum(np.where(kinds == "ordinal", levels - 1, 0))[:-1])
    for kind in ("binary", "categorical", "ordinal", "count", "real"):
        all_of, own = np.flatnonzero(kinds == kind), np.flatnonzero(kinds[drawn] == kind)
        if not len(own):
            continue
        values = np.asarray(given.data.values[:, all_of], dtype=np.float64)
        part = replace(
            given, data=_Values(values), columns=np.searchsorted(all_of, drawn[own]), labels=given.labels, options=of
        )
        if kind == "categorical":
            for j, k in zip(own, drawn[own], strict=True):
                made[:, j] = _draw_levels(rng, given, given.data.values[:, k], of["alpha"], levels[k])
        elif kind == "ordinal":
            for j, k in zip(own, drawn[own], strict=True):
                made[:, j] = _draw_answers(rng, given, given.data.values[:, k], cuts[k])
        elif kind == "real" and of.get("zeros") == mixed_cells.APART:
            spikes = mixed_cells.spikes_of(kinds[all_of].tolist(), [given.data.types[j] for j in all_of])
            made[:, own] = simulate_spiked(rng, part, np.array(spikes, dtype=np.float64))
        else:
            draw = {"binary": simulate_bits, "count": simulate_rates, "real": simulate_points}[kind]
            made[:, own] = draw(rng, part)
    return made


def simulate_table_with_noise(rng: Rng, given: Given) -> Array:
    """`simulate_table`; with a background of noise, clusters that are noise given their rows are uniform over the box,
    and over the levels of discrete columns."""
    made, of, data = simulate_table(rng, given), given.options, given.data
    if not (rho := of.get("noise")):
        return made
    x, n, probability = np.asarray(data.values, dtype=np.float64), len(given.evidence), np.full(given.K, rho)
    kinds, levels = mixed_cells.types_of(x, data.types)
    if n:
        model = resolve_name(BUILD)(x[:n], data.types, None, dict(of))
        present, labels = np.unique(given.evidence, return_inverse=True)
        if given.parameters is not None:
            model.set_parameters(given.parameters)
        model.set_labels(labels.astype(np.int32))
        probability[present] = model.noise_probabilities
    is_noise = (rng.random(given.K) < probability)[given.z]
    low, high = given.take(mixed_cells.box_of_table(x, kinds, levels, of["box"], of["resolution"]))
    drawn = rng.uniform(low, high, (int(is_noise.sum()), len(low)))
    is_real = given.take(np.array([kinds]) == "real")[0]
    steps = np.ones(len(kinds))
    steps[np.array(kinds) == "real"] = resolutions_of(of["resolution"], kinds.count("real"), None, "real columns")
    made[is_noise] = _round(drawn, given.take(steps[None])[0], np.where(is_real, given.take(x), 0.0))
    return made


@dataclass(frozen=True)
class _Values:
    """Some columns of a table."""

    values: Array
    exposure: None = None
