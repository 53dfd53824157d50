"""Records that are made: registers of people, draws from the model, small cases with a known posterior.

**People** in a register with typing errors, several records of some of them. The true value of a field is drawn for
each entity, independently of other fields: names and towns by a distribution as Zipf's is, the date of birth and the
number of the house uniformly. Each record repeats it, lacks it (missing), has a value that is drawn again (wrong), or a
slip: in names and towns a letter is inserted, left out or replaced, or two neighbours are swapped, in one of five cases
twice; in dates day and month are swapped, a digit is replaced, or the day is up to 3 off; of numbers a digit is
replaced, or the number is 1 off.

**Draws from the model**: how often values are true, true values of new entities, then their cells. The shares of errors
come from a state, or are their prior's means. How often a value is true comes from its prior and, given records, the
commonest value of each entity (docs/models/records.md).

**Posteriors of a few records** by brute force: every true value, and shares of distorted cells by quadrature.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache, partial
from itertools import product
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, roots_jacobi, xlog1py, xlogy

from splitmerge_cli.core import hyperpriors, model
from splitmerge_cli.core.options import read_options
from splitmerge_cli.core.shared import Prepared, share
from splitmerge_cli.core.simulation import Given, Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.data.values import require, require_number, require_seed, require_size
from splitmerge_cli.kinds.records import near_pairs, similar_values
from splitmerge_cli.verify.cases import Case, OwnCase, mixture_case
from splitmerge_cli.verify.enumerate import Concentration, State, mixture_log_weight, mixture_states

FIELDS = {"first_name": "string", "last_name": "string", "birth_date": "date", "town": "string", "house": "number"}
SHARE = 0.7
"""Entities for each record, by default."""
SIZES = {"first_name": (60, 12.0), "last_name": (120, 40.0), "town": (40, 4.0)}
"""How many names there are: so many, and so many times the root of the number of entities."""
FIRST_DAY, DAYS = date(1930, 1, 1), 80 * 365
HOUSES = 200
ONSETS = ("b", "br", "d", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w", "z")
VOWELS, ENDS = "aeiou", ("", "", "n", "r", "l", "s")


def generate(
    N: int,
    entities: int | None = None,
    distortion: float = 0.1,
    slips: float = 0.8,
    missing: float = 0.02,
    sources: int = 1,
    seed: int = 0,
) -> Dataset:
    """Records of people, in random order.

    Options: ``conf/data/records.yaml``. Each of the people has a record, the others go to people at random; the truth
    is the person. With two files or more the data have `sources`. A `DataError`: an option out of range.

    Examples
    --------
    >>> dataset = generate(5, entities=3, seed=1)
    >>> dataset.columns, dataset.truth.max() + 1
    (['first_name', 'last_name', 'birth_date', 'town', 'house'], np.int32(3))
    """
    require_size("N", N)
    require_seed(seed)
    require_size("data.sources", sources)
    least = 1 if sources == 1 else -(-N // sources)
    entities = max(least, round(SHARE * N)) if entities is None else entities
    require_size("data.entities", entities, N)
    require(entities >= least, "data.entities", entities, f"at least {least}: a person has one record of each file")
    for key, part in {"distortion": distortion, "slips": slips, "missing": missing}.items():
        require_number(f"data.{key}", part, 0, 1)
    rng = np.random.default_rng(seed)
    truth, files = _people(rng, N, entities, sources)
    columns: list[list[str | None]] = []
    for j, (field, type) in enumerate(FIELDS.items()):
        # the true values of a field depend on no error
        rng = np.random.default_rng([seed, j])
        draw = _draw_from(rng, field, entities)
        true_values = draw(entities)
        wrong = draw(N)
        error, slip, absent = rng.random((3, N))
        cells: list[str | None] = [true_values[k] for k in truth]
        for i in np.flatnonzero(error < distortion):
            cells[i] = SLIPS[type](rng, true_values[truth[i]]) if slip[i] < slips else wrong[i]
        # one cell at least is there
        for i in np.flatnonzero(absent < missing)[: N - 1]:
            cells[i] = None
        columns.append(cells)
    values, types = similar_values.code_fields(columns, list(FIELDS.values()))
    meta: dict[str, Any] = {"entities": entities, "distortion": distortion, "slips": slips, "missing": missing}
    meta |= {"sources": sources, "seed": seed}
    of_files = files if sources > 1 else None
    return Dataset("records", "records", values, truth, columns=list(FIELDS), types=types, meta=meta, sources=of_files)


def _people(rng: Rng, N: int, entities: int, sources: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The person and the file of each record."""
    if sources == 1:
        person = np.concatenate([np.arange(entities), rng.integers(entities, size=N - entities)])
        return rng.permutation(person).astype(np.int32), np.zeros(N, dtype=np.int32)
    # a file for each person, then other pairs of a person and a file
    first = rng.integers(sources, size=entities)
    others = np.delete(np.arange(entities * sources), np.arange(entities) * sources + first)
    pairs = np.concatenate([np.arange(entities) * sources + first, rng.permutation(others)[: N - entities]])
    person, files = np.divmod(rng.permutation(pairs), sources)
    return person.astype(np.int32), files.astype(np.int32)


def _draw_from(rng: Rng, field: str, entities: int) -> Callable[[int], list[str]]:
    """Return a function that draws true values of a field."""
    if field == "birth_date":
        return lambda n: [str(FIRST_DAY + timedelta(days=int(day))) for day in rng.integers(DAYS, size=n)]
    if field == "house":
        return lambda n: [str(number) for number in rng.integers(1, HOUSES + 1, size=n)]
    least, times = SIZES[field]
    names = _names(rng, least + int(times * np.sqrt(entities)))
    share = 1.0 / (np.arange(len(names)) + 10.0)
    return lambda n: [names[k] for k in rng.choice(len(names), size=n, p=share / share.sum())]


def _names(rng: Rng, n: int) -> list[str]:
    """Different names of two or three syllables."""
    names: dict[str, None] = {}
    while len(names) < n:
        syllables = [_pick(rng, ONSETS) + _pick(rng, VOWELS) + _pick(rng, ENDS) for _ in range(rng.integers(2, 4))]
        names["".join(syllables)] = None
    return list(names)


def _pick(rng: Rng, choices: Sequence[str]) -> str:
    return choices[int(rng.integers(len(choices)))]


def _slip_of_letters(rng: Rng, word: str) -> str:
    for _ in range(1 + (rng.random() < 0.2)):
        j, kind = int(rng.integers(len(word))), int(rng.integers(4))
        if kind == 0 or len(word) < 3:
            word = word[:j] + _pick(rng, ascii_lowercase) + word[j:]
        elif kind == 1:
            word = word[:j] + word[j + 1 :]
        elif kind == 2:
            word = word[:j] + _pick(rng, ascii_lowercase) + word[j + 1 :]
        else:
            j = min(j, len(word) - 2)
            word = word[:j] + word[j + 1] + word[j] + word[j + 2 :]
    return word


def _slip_of_a_date(rng: Rng, written: str) -> str:
    day = date.fromisoformat(written)
    kind = int(rng.integers(3))
    if kind == 0 and day.day <= 12:
        return str(day.replace(month=day.day, day=day.month))
    if kind == 1:
        return str(day + timedelta(days=int(rng.choice([-3, -2, -1, 1, 2, 3]))))
    while True:
        # the century stays
        j = int(rng.choice([2, 3, 5, 6, 8, 9]))
        changed = written[:j] + str(rng.integers(10)) + written[j + 1 :]
        try:
            return str(date.fromisoformat(changed))
        except ValueError:
            continue


def _slip_of_a_number(rng: Rng, written: str) -> str:
    if rng.random() < 0.5:
        return str(max(int(written) + int(rng.choice([-1, 1])), 1))
    j = int(rng.integers(len(written)))
    return str(max(int(written[:j] + str(rng.integers(10)) + written[j + 1 :]), 1))


SLIPS: dict[str, Callable[[Rng, str], str]] = {
    "string": _slip_of_letters,
    "date": _slip_of_a_date,
    "number": _slip_of_a_number,
}
"""Functions that make a slip of a value, by the type of the field."""


Codes = NDArray[np.int32]
_latest: list[Prepared] = []
"""The tables of the last data: a check makes a hundred replications of them."""


def simulate_records(rng: Rng, given: Given) -> Codes:
    """Codes of the fields, int32 ``[N, F]``, none missing; a slip that no record shows has a code of its own."""
    data, options, z = given.data, given.options, given.labels
    fields = tuple((field.type, tuple(field.levels)) for field in data.types)
    tables = share(near_pairs.prepare, data.values, fields, options["similarity"], options["strength"])
    F, _latest[:] = data.values.shape[1], [tables]
    held = [getattr(options[key], "mean", options[key]) for key in ("distortion", "similar", "original")]
    shares = np.concatenate((np.repeat(held[:2], F), np.full(F, 1.0 / F), [0.5], held[2:]))
    if given.parameters is not None:
        of_model = np.reshape(given.parameters, -1)[: len(shares) if held[2] else 2 * F]
        shares[: len(of_model)] = of_model
    theta, slip, fault = shares[: 3 * F].reshape(3, F)
    errors = _draw_errors(rng, z, given.K, theta, fault, *shares[3 * F :])
    out = np.empty((len(z), F), dtype=np.int32)
    for f in range(F):
        first, end = tables.begin[f : f + 2]
        phi = tables.share[first:end]
        if options["frequencies"] > 0.0:
            common = _commonest(data.values[: given.known, f], given.evidence)
            phi = rng.dirichlet(options["frequencies"] + np.bincount(common, minlength=end - first))
        true = rng.choice(end - first, size=given.K, p=phi)[z]
        distorted = errors[:, f]
        slips = distorted & (rng.random(len(z)) < slip[f]) & (tables.norm[first] > 0.0)
        wrong = distorted & ~slips
        out[:, f] = true
        out[wrong, f] = rng.choice(end - first, size=wrong.sum(), p=phi)
        near = _draw_near(rng, tables, true[slips] + first) - first
        # one that no record shows is like no other
        out[slips, f] = np.where(near >= 0, near, end - first + np.arange(len(near)))
    return out


def _draw_errors(
    rng: Rng,
    z: NDArray[np.int64],
    K: int,
    theta: NDArray[np.float64],
    fault: NDArray[np.float64],
    wrong: float,
    original: float,
) -> NDArray[np.bool_]:
    """Which cells ``[N, F]`` are distorted: independently, or one in each `wrong` copy of an original."""
    distorted = rng.random((len(z), len(theta))) < theta
    sizes = np.bincount(z, minlength=K)
    has_original = (rng.random(K) < original) & (sizes > 1) & (sizes <= MOST_COPIES)
    is_wrong = has_original[z] & (rng.random(len(z)) < wrong)
    # the first record of an entity, in a random order, is its original
    order = rng.permutation(len(z))
    is_wrong[order[np.unique(z[order], return_index=True)[1]]] = False
    distorted[has_original[z]] = False
    one = np.flatnonzero(is_wrong)
    distorted[one, rng.choice(len(theta), size=len(one), p=fault / fault.sum())] = True
    return distorted


def _commonest(values: Codes, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The commonest known value of each cluster that has one, the first of several."""
    known = values >= 0
    # one number for cluster and value: rows of two take `numpy.unique` ten times as long
    width = int(values.max(initial=0)) + 1
    both, counts = np.unique(labels[known] * width + values[known], return_counts=True)
    order = np.lexsort((both, -counts, both // width))
    _, first = np.unique(both[order] // width, return_index=True)
    return np.asarray(both[order][first] % width)


def _draw_near(rng: Rng, tables: Prepared, y: NDArray[np.int64]) -> NDArray[np.int64]:
    """A value near each of these, by number; -1 where the slip gives one that no record has."""
    sums = np.concatenate(([0.0], np.cumsum(tables.alike)))
    wanted = sums[tables.near_begin[y]] + rng.random(len(y)) / tables.norm[y]
    place = np.searchsorted(sums, wanted, side="right") - 1
    inside = place < tables.near_begin[y + 1]
    return np.where(inside, tables.near[np.minimum(place, len(tables.near) - 1)], -1)


Values = float | NDArray[np.float64]
"""One value, or many."""
MOST_COPIES = 16
"""Records of an entity that may have an original."""
NODES = 12
"""Values at which a beta prior is summed: exact for polynomials of degree 23."""


def slips_of(field: Any, similarity: str = "edit", strength: float = 2.0) -> NDArray[np.float64]:
    """w(x | y) of a field, float64 ``[V, V]``: row y, column x; zeros if no value is near another."""
    begin, other, weight = similar_values.near_values(field.levels, field.type, similarity, strength)
    number, edits = similar_values.UNSEEN.get(field.type, (0, 0))
    unseen = number * np.exp(-strength * edits)
    slips = np.zeros((len(field.levels), len(field.levels)))
    for y in range(len(field.levels)):
        near = slice(begin[y], begin[y + 1])
        slips[y, other[near]] = weight[near] / (weight[near].sum() + unseen)
    return slips


def probabilities(
    shares: NDArray[np.float64], slips: NDArray[np.float64], distortion: Values, similar: Values
) -> NDArray[np.float64]:
    """P(x | y) of a field, float64 ``[V, V]``: row y, column x. At many nodes, ``[n, V, V]``: `shares` is
    ``[n, 1, V]``, the others are ``[n, 1, 1]``."""
    psi = similar * slips + (1.0 - similar) * shares if slips.any() else shares
    return distortion * psi + (1.0 - distortion) * np.eye(shares.shape[-1])


class _Records(NamedTuple):
    """Possible histories of an entity's records: how many of them may be the original; the numbers of entities
    that may have one and that have one, of copies by their errors, of single errors by field; and the key of each
    field's probability."""

    origins: int
    counts: tuple[tuple[int, ...], ...]
    keys: tuple[Any, ...]


def _histories(own: tuple[int, ...], F: int, may_have_original: bool) -> Iterator[_Records]:
    """All that may have happened to the records `own` of an entity: they have no original, or one of them is it and
    each other one is a copy with no error, or with one in a field."""
    several = int(may_have_original and 1 < len(own) <= MOST_COPIES)
    yield _Records(1, ((several, 0), (0, 0), (0,) * F), ((own, None, ()),) * F)
    for origin in own if several else ():
        others = tuple(i for i in own if i != origin)
        for kinds in product([None, *range(F)], repeat=len(others)):
            copied = (len(kinds) - kinds.count(None), kinds.count(None))
            of_field = [tuple(k == f for k in kinds) for f in range(F)]
            yield _Records(
                len(own),
                ((1, 1), copied, tuple(kinds.count(f) for f in range(F))),
                tuple((others, origin, each) for each in of_field),
            )


def _log_shares(counts: ArrayLike, prior: Sequence[float]) -> float:
    """Log probability of draws with these counts, in one order, by a Dirichlet prior of their shares."""
    a, n = np.array(prior), np.array(counts)
    return float(gammaln(a.sum()) - gammaln(a.sum() + n.sum()) + (gammaln(a + n) - gammaln(a)).sum())


def records_log_weight(
    values: NDArray[np.int32],
    fields: Sequence[Any],
    sources: NDArray[np.int32] | None,
    concentration: Concentration,
    *,
    prior: str,
    distortion: float | hyperpriors.Beta,
    similar: float | hyperpriors.Beta,
    frequencies: float = 0.0,
    original: float | hyperpriors.Beta = 0.0,
    copies: float = 1.0,
    **compared: Any,
) -> Callable[[State], float]:
    """Log weight of a state: shares of distorted cells that have a beta prior are integrated out, and so is how often
    each value is true, where it has a Dirichlet prior. All that may have happened to the records is summed, where
    entities may have originals; the shares of copies and of fields have the Dirichlet prior `copies`, or are equal
    (infinite). `compared`: how values are, for `slips_of`."""
    tables = []
    for f, field in enumerate(fields):
        known = values[values[:, f] >= 0, f]
        shares = np.bincount(known, minlength=len(field.levels)) / len(known)
        grid = list(product(share_nodes(distortion), share_nodes(similar), simplex_nodes(shares, frequencies)))
        slips = slips_of(field, **compared)
        phi, a, b = (np.array([node[t][0] for node in grid]) for t in (2, 0, 1))
        by_node = probabilities(phi[:, None, :], slips, a[:, None, None], b[:, None, None])
        weight = np.array([u * v * w for (_, u), (_, v), (_, w) in grid])
        psi = probabilities(phi[:, None, :], slips, 1.0, b[:, None, None])
        tables.append((phi, by_node, psi, weight))
    F = len(fields)

    @cache
    def at_nodes(f: int, own: tuple[int, ...], origin: int | None, errors: tuple[bool, ...]) -> NDArray[np.float64]:
        """Probability of a field's cells at each node."""
        phi, P, psi, _weight = tables[f]
        cells = values[list(own), f]
        if origin is None:
            return np.asarray((P[:, :, cells[cells >= 0]].prod(axis=2) * phi).sum(axis=1))
        y = values[origin, f]
        found = phi[:, y].copy() if y >= 0 else np.ones(len(phi))
        for x, error in zip(cells, errors, strict=True):
            if x >= 0:
                found = found * (phi[:, x] if y < 0 else psi[:, y, x] if error else float(x == y))
        return found

    def log_of_shares(counts: NDArray[np.int64]) -> float:
        entities, others = (counts[0], counts[1]), (counts[2:4], counts[4:])
        with_one = [entities[1], entities[0] - entities[1]]
        if isinstance(original, hyperpriors.Beta):
            total = _log_shares(with_one, (original.a, original.b))
        else:
            total = float(xlogy(with_one[0], original) + xlog1py(with_one[1], -original))
        for each in others:
            equal = -float(sum(each)) * np.log(len(each))
            total += equal if np.isinf(copies) else _log_shares(each, [copies] * len(each))
        return total

    def log_lik(z: NDArray[np.int64]) -> float:
        if sources is not None and len(set(zip(z.tolist(), sources.tolist(), strict=True))) < len(z):
            return -np.inf
        clusters = [tuple(np.flatnonzero(z == k).tolist()) for k in sorted(set(z.tolist()))]
        # without originals the fields are independent, and this is one term
        terms = []
        for histories in product(*(tuple(_histories(own, F, original != 0.0)) for own in clusters)):
            counts = np.sum([np.concatenate(each.counts) for each in histories], axis=0)
            term = log_of_shares(counts) - float(np.log([each.origins for each in histories]).sum())
            for f in range(F):
                by_node = tables[f][3]
                for each in histories:
                    by_node = by_node * at_nodes(f, *each.keys[f])
                term += float(np.log(max(by_node.sum(), np.finfo(float).tiny)))
            terms.append(term)
        return float(logsumexp(terms))

    return mixture_log_weight(log_lik, concentration, prior)


def share_nodes(share: float | hyperpriors.Beta) -> list[tuple[float, float]]:
    """Values of a share and their weights, which sum to 1; a share that is fixed has one."""
    if not isinstance(share, hyperpriors.Beta):
        return [(float(share), 1.0)]
    x, weight = roots_jacobi(NODES, share.b - 1.0, share.a - 1.0)
    return list(zip((1.0 + x) / 2.0, weight / weight.sum(), strict=True))


def simplex_nodes(shares: NDArray[np.float64], frequencies: float) -> list[tuple[NDArray[np.float64], float]]:
    """Vectors phi and their weights, which sum to 1, for a symmetric Dirichlet prior: a stick is broken at nodes of
    beta distributions. Without a prior there is one, `shares`."""
    if frequencies == 0.0:
        return [(shares, 1.0)]
    nodes = [(np.empty(0), 1.0, 1.0)]
    for v in range(len(shares) - 1, 0, -1):
        pieces = share_nodes(hyperpriors.Beta(frequencies, frequencies * v))
        nodes = [(np.append(phi, x * rest), rest * (1.0 - x), w * u) for phi, rest, w in nodes for x, u in pieces]
    return [(np.append(phi, rest), w) for phi, rest, w in nodes]


def records_case(build: Callable[..., model.Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` records of a name, some near each other, a word and a number, with missing cells unless ``complete``; with
    ``sources`` of two files. Neither is an option of the model."""
    options: dict[str, Any] = {"concentration": 1.3, "prior": "crp", "distortion": "beta(2,6)", "similar": "beta(2,3)"}
    options |= {"similarity": "edit", "strength": 2.0} | dict(params)
    complete = options.pop("complete", False)
    sources = np.arange(size, dtype=np.int32) % 2 if options.pop("sources", False) else None
    words = (("kathrine", "katrin", "katrine"), ("x", "y", "z"), ("1961", "1962", "2024"))
    rng = np.random.default_rng(seed)
    values = rng.integers(3, size=(size, 3)).astype(np.int32)
    values[0], values[1:2, :2], values[-1] = 0, 1, (2, 0 if complete or size == 1 else -1, 1)
    types = ("string", "categorical", "number")
    names = [tuple(levels[code] for code in np.unique(values[:, f]) if code >= 0) for f, levels in enumerate(words)]
    fields = tuple(ColumnType(kind, levels) for kind, levels in zip(types, names, strict=True))
    for f in range(3):
        known = values[:, f] >= 0
        values[known, f] = np.unique(values[known, f], return_inverse=True)[1]
    another = partial(build, values, fields, sources, **options)
    read: dict[str, Any] = read_options("model", build.OPTIONS, options)  # type: ignore[attr-defined]
    shares = {key: read[key] for key in ("distortion", "similar", "original", "frequencies")}
    held = {key: getattr(share, "mean", share) for key, share in shares.items()} | {"frequencies": 0.0}
    # shares of copies are resampled with any share of originals
    if shares["original"]:
        held["copies"] = np.inf
    compared = {key: options[key] for key in ("similarity", "strength")}
    weigh = partial(records_log_weight, values, fields, sources, prior=options["prior"], **compared)
    integrated = partial(weigh, **shares) if held != shares else None
    return mixture_case(another, mixture_states(size), partial(weigh, **held), options, "records", integrated)


CASES: dict[str, OwnCase] = {
    "Records": (
        records_case,
        [
            {},
            {"distortion": 0.2, "similar": 0.7, "frequencies": 0, "concentration": "gamma(2,1)"},
            {"sources": True},
            {"original": 0},
        ],
    ),
}
