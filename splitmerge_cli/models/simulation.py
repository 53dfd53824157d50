"""Data drawn from the models: parameters of each cluster given items, then items given these.

Given no items, the parameters come from their prior, which is what calibration by simulated data asks for; given the
items of a run from their posterior, which is what posterior predictive checks ask for (docs/derivations.md, "Posterior
predictive checks"). NumPy and SciPy alone draw: nothing is shared with the compiled likelihoods, which are tested
against these data. A model names its function as ``simulate``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.core.options import Gamma
from splitmerge_cli.models.outcome_cells import draw_outcome
from splitmerge_cli.models.row_weights import DEGREES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Rng = np.random.Generator
Array = NDArray[np.float64]
Labels = NDArray[np.int64]


MOST_PAIRS = 2_000
"""Nodes of a network of which every pair is drawn; of a larger one the ties."""


def _sparse(*given: Any, **more: Any) -> "csr_array":
    from scipy.sparse import csr_array

    return csr_array(*given, **more)


def _is_sparse(x: Any) -> bool:
    return hasattr(x, "toarray")


@dataclass(frozen=True)
class Given:
    """The items, clusters and options that data are drawn given.

    Attributes
    ----------
    data : Dataset
        Its items, and what a model takes as given of them: totals of rows, places, lengths of documents.
    labels : ndarray of int64, shape (N,)
        Clusters, each number from 0 to K - 1 at least once.
    options : mapping
        Options of the model, none left to the data.
    parameters : ndarray of float64 or None
        The parameters that a state holds in addition to the partition, as a model's ``parameters``: resampled scales,
        missing cells.
    known : int or None
        The items whose cells are known, the first ones, whose posterior parameters are drawn from; 0: from their prior;
        None: all.
    rows, columns : ndarray of int64 or None
        The items, and of a table the columns, that are drawn; None: all.
    """

    data: Any
    labels: Labels
    options: Mapping[str, Any]
    parameters: Array | None = None
    known: int | None = None
    rows: Labels | None = None
    columns: Labels | None = None

    @cached_property
    def K(self) -> int:
        """Clusters."""
        return int(self.labels.max()) + 1

    @property
    def z(self) -> Labels:
        """Clusters of the items that are drawn."""
        return self.labels if self.rows is None else self.labels[self.rows]

    @property
    def power(self) -> float:
        """Power of the likelihood, by which its statistics are multiplied."""
        return float(self.options.get("power", 1.0))

    @property
    def evidence(self) -> Labels:
        """Clusters of the items that parameters are drawn given."""
        return self.labels[: self.known]

    @cached_property
    def _indicator(self) -> "csr_array":
        z = self.evidence
        return _sparse((np.ones(len(z)), (z, np.arange(len(z)))), shape=(self.K, len(z)))

    @cached_property
    def members(self) -> list[Labels]:
        """The known items of each cluster."""
        order = np.argsort(self.evidence, kind="stable")
        return np.split(order, np.bincount(self.evidence, minlength=self.K).cumsum()[:-1])

    @cached_property
    def table(self) -> Any:
        """Values of the columns that are drawn, of all items: float64 ``[N, m]``, NaN where a cell is missing."""
        x = self.take(self.data.values)
        return np.asarray(x.toarray() if _is_sparse(x) else x, dtype=np.float64)

    def take(self, x: Any) -> Any:
        """The columns that are drawn."""
        return x if self.columns is None else x[:, self.columns]

    def of_columns(self, value: ArrayLike, D: int) -> Array:
        """An option of the D columns, a number or one for each: one for each that is drawn."""
        found = np.broadcast_to(np.asarray(value, dtype=np.float64), (D,))
        return found if self.columns is None else found[self.columns]

    def sums(self, x: Any) -> Array:
        """Sums over the known items of each cluster, missing cells 0: ``[K, m]``."""
        x = x[: len(self.evidence)]
        if _is_sparse(x):
            return np.asarray((self._indicator @ x).toarray(), dtype=np.float64)
        return np.asarray(self._indicator @ np.nan_to_num(x), dtype=np.float64)

    def counts(self, x: Array) -> Array:
        """Known cells of each cluster that are not missing, ``[K, m]``."""
        return self.sums(~np.isnan(x))


# -- tables
def simulate_bits(rng: Rng, given: Given) -> Any:
    """Binary columns: probabilities Beta(beta1 + n1, beta0 + n0), then cells; uint8 ``[n, m]``."""
    x, of = given.table, given.options
    ones = given.sums(x)
    p = rng.beta(of["beta1"] + given.power * ones, of["beta0"] + given.power * (given.counts(x) - ones))
    return (rng.random((len(given.z), x.shape[1])) < p[given.z]).astype(np.uint8)


def simulate_rates(rng: Rng, given: Given) -> Any:
    """Counts: rates Gamma(shape + s, rate + sum of exposures), then cells; int32 ``[n, m]``."""
    x, of = given.table, given.options
    rate = given.of_columns(of["rate"], given.data.values.shape[1])
    e = np.ones(len(given.labels)) if given.data.exposure is None else given.data.exposure
    exposures = np.bincount(given.evidence, e[: len(given.evidence)], given.K)[:, None]
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
        row, column = np.nonzero(x.toarray() if _is_sparse(x) else x)
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
    from splitmerge_cli.models.ordered_levels import tables_of_levels

    L, tables = len(cuts) + 1, tables_of_levels([cuts], given.power)
    counts = given.sums(np.stack([x == level for level in range(L)], axis=1))
    log_weight = tables["log_prior"] + counts @ tables["log_q"].reshape(L, -1)
    point = (log_weight + rng.gumbel(size=log_weight.shape)).argmax(axis=1)
    p = tables["density"].reshape(L, -1).T[point]
    return np.asarray(rng.multinomial(1, p[given.z]).argmax(axis=1), dtype=np.float64)


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
    drawn = np.asarray(drawn.toarray() if _is_sparse(drawn) else drawn, dtype=np.float64)
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


def _draw_roots(rng: Rng, freedom: Array, scale: Array) -> Array:
    """Cholesky factors of inverse Wishart covariances, ``[K, m, m]``.

    C B^-T of scales C C^T, where B is upper triangular and B B^T has a Wishart distribution (Bartlett's decomposition).
    """
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
    nu = float(rng.choice(DEGREES))
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
    if _is_sparse(x) or not (absent := np.isnan(x[:known])).any():
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
    if not _is_sparse(x):
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
    kinds, of, made, given = draw_outcome(rng, given, drawn)
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
        else:
            draw = {"binary": simulate_bits, "count": simulate_rates, "real": simulate_points}[kind]
            made[:, own] = draw(rng, part)
    return made


@dataclass(frozen=True)
class _Values:
    """Some columns of a table."""

    values: Array
    exposure: None = None


# -- networks, words, lines
def simulate_ties(rng: Rng, given: Given) -> "csr_array":
    """Ties of a network: probabilities between blocks Beta(beta1 + ties, beta0 + gaps), then ties; as the data are."""
    n, of, z = len(given.evidence), given.options, given.labels
    size = np.bincount(given.evidence, minlength=given.K).astype(np.float64)
    home = given._indicator
    ties = np.asarray((home @ (given.data.values[:n, :n] @ home.T)).toarray(), dtype=np.float64)
    pairs = np.outer(size, size)
    # pairs within a block are counted twice
    ties[np.diag_indices(given.K)] /= 2.0
    pairs[np.diag_indices(given.K)] = size * (size - 1) / 2.0
    p = np.triu(rng.beta(of["beta1"] + ties, of["beta0"] + (pairs - ties)))
    p = np.maximum(p, p.T)
    if len(z) > MOST_PAIRS:
        return _draw_ties(rng, p, z)
    upper = np.triu(rng.random((len(z),) * 2) < p[np.ix_(z, z)], 1).astype(np.uint8)
    return _sparse(upper + upper.T)


def _draw_ties(rng: Rng, p: Array, z: Labels) -> "csr_array":
    """Ties, their number between two blocks binomial, and of that number any set of pairs alike: pairs are drawn with
    replacement, those that are there left out, until there are as many."""
    K, N, size = len(p), len(z), np.bincount(z)
    order, first = np.argsort(z, kind="stable"), size.cumsum() - size
    a, b = np.triu_indices(K)
    number = rng.binomial(np.where(a == b, size[a] * (size[a] - 1) // 2, size[a] * size[b]), p[a, b])
    keys, lacking = np.empty(0, dtype=np.int64), number
    while lacking.any():
        own, other = np.repeat(a, lacking), np.repeat(b, lacking)
        i = rng.integers(size[own])
        # within a block any other node
        j = rng.integers(np.where(own == other, size[other] - 1, size[other]))
        j += (own == other) & (j >= i)
        ends = np.sort(np.stack([order[first[own] + i], order[first[other] + j]]), axis=0)
        keys = np.unique(np.append(keys, ends[0] * N + ends[1]))
        low, high = np.sort(z[np.stack(np.divmod(keys, N))], axis=0)
        lacking = number - np.bincount(low * K + high, minlength=K * K)[a * K + b]
    row, column = np.divmod(keys, N)
    places = np.append(row, column), np.append(column, row)
    return _sparse((np.ones(2 * len(keys), dtype=np.uint8), places), shape=(N, N))


def simulate_tokens(rng: Rng, given: Given) -> NDArray[np.int32]:
    """Tokens of entities, int32 ``[N]``."""
    return draw_words(rng, given, given.data.values, given.options["n_tokens"], given.options["alpha"])


def simulate_words(rng: Rng, given: Given) -> Any:
    """Documents as long as these, their words drawn from topics: a `Corpus`, whose other tokens stay."""
    corpus = given.data.values
    words = np.array(corpus.tokens.words)
    words[slice(None) if given.rows is None else given.rows] = draw_words(
        rng, given, corpus.tokens.words, corpus.V, given.options["eta"]
    )
    return replace(corpus, tokens=replace(corpus.tokens, words=words))


def draw_words(rng: Rng, given: Given, words: NDArray[Any], V: int, alpha: float) -> NDArray[np.int32]:
    """One of V words for each item, the shares of a cluster, Dirichlet(alpha + n), integrated out.

    Polya's urn (Blackwell and MacQueen 1973): the t-th item that is drawn of a cluster with n known ones, t = 0, 1,
    ..., has the word of one of the known ones with probability n / (n + V alpha + t), of one of those drawn before it
    with t / (n + V alpha + t), each alike; else any word. No vector of V shares is drawn.
    """
    z, kept = given.z, np.argsort(given.evidence, kind="stable")
    order = np.argsort(z, kind="stable")
    size, known = np.bincount(z, minlength=given.K), np.bincount(given.evidence, minlength=given.K)
    # items one cluster after the other
    k, first = z[order], size.cumsum() - size
    place = np.arange(len(z))
    t, n = place - first[k], known[k]
    u = rng.random(len(z)) * (n + V * alpha + t)
    found = rng.integers(V, size=len(z))
    again, copied = u < n, (u >= n) & (u < n + t)
    found[again] = np.asarray(words)[kept[(known.cumsum() - known)[k[again]] + u[again].astype(np.int64)]]
    source = np.where(copied, first[k] + np.minimum(u - n, np.maximum(t - 1, 0)).astype(np.int64), place)
    # copies of copies, twice as far in each pass
    while not np.array_equal(source, further := source[source]):
        source = further
    made = np.empty(len(z), dtype=np.int32)
    made[order] = found[source]
    return made


def simulate_lines(rng: Rng, given: Given) -> Array:
    """Points at given places: noise, intercept and slope of each cluster, then y; float64 ``[n, 2]``."""
    of, K = given.options, given.K
    x, y = np.asarray(given.data.values, dtype=np.float64)[: len(given.evidence)].T
    tau = (of["sigma1"] / of["sigma0"]) ** 2
    n, mean, square = np.zeros(K), np.zeros((K, 2)), np.zeros(K)
    R = np.tile(np.sqrt(tau) * np.eye(2), (K, 1, 1))
    for k, here in enumerate(given.members if len(x) else []):
        # ridge regression by orthogonal factors of the rows and the prior's
        rows = np.concatenate([np.column_stack([np.ones(len(here)), x[here]]), np.sqrt(tau) * np.eye(2)])
        answers = np.append(y[here], np.zeros(2))
        Q, R[k] = np.linalg.qr(rows)
        mean[k] = np.linalg.solve(R[k], Q.T @ answers)
        n[k], square[k] = len(here), ((answers - rows @ mean[k]) ** 2).sum()
    sigma = np.full(K, of["sigma1"], dtype=np.float64)
    if of["noise"] == "nig":
        # inverse gamma of shape a0, mean sigma1^2
        b = of["sigma1"] ** 2 * (of["a0"] - 1.0) + 0.5 * square
        sigma = np.sqrt(b / rng.gamma(of["a0"] + 0.5 * n, 1.0, K))
    if of["candidates"] is not None:
        theta = _choose_lines(rng, given, np.array(of["candidates"], dtype=np.float64), sigma)
    else:
        off = np.linalg.solve(R / np.sqrt(tau), rng.normal(size=(K, 2))[:, :, None])[:, :, 0]
        theta = mean + off * of["sigma0"] * (sigma / of["sigma1"])[:, None]
    z, places = given.z, np.asarray(given.data.values)[:, 0]
    places = places if given.rows is None else places[given.rows]
    return np.column_stack([places, theta[z, 0] + theta[z, 1] * places + sigma[z] * rng.normal(size=len(z))])


def _choose_lines(rng: Rng, given: Given, lines: Array, sigma: Array) -> Array:
    """One of some lines for each cluster, by their likelihoods, ``[K, 2]``."""
    x, y = np.asarray(given.data.values, dtype=np.float64)[: len(given.evidence)].T
    squares = given.sums((y[:, None] - lines[:, 0] - lines[:, 1] * x[:, None]) ** 2)
    scores = -0.5 * squares / sigma[:, None] ** 2 + rng.gumbel(size=squares.shape)
    return np.asarray(lines[scores.argmax(axis=1)])
