"""Paired timing: a sampler of the package and the plain C that walks through the same states, by turns."""

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from statistics import median
from time import thread_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from bench import generated, graph_tool
from bench.baseline import (
    COLUMNS,
    OUTCOME,
    Baseline,
    Counts,
    OfBundles,
    OfCountVectors,
    OfGaussian,
    OfIRM,
    OfLines,
    OfMixed,
    OfRecords,
    OfRelations,
)
from splitmerge_cli.core.bundles import build
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds import lines as lines
from splitmerge_cli.kinds import tokens as emm
from splitmerge_cli.kinds.lines.model import Lines
from splitmerge_cli.kinds.networks import generated as network
from splitmerge_cli.kinds.networks import generated as published_graphs
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.records import generated as records
from splitmerge_cli.kinds.records.model import Records
from splitmerge_cli.kinds.tables.generated import counts, gaussian, jain_neal, mixed
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gamma_poisson import GammaPoisson
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.kinds.tables.models.multinomial import Multinomial
from splitmerge_cli.kinds.tables.models.overdispersed_multinomial import OverdispersedMultinomial
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.received import DataError
from splitmerge_cli.samplers.gibbs import Gibbs, Neal8
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import RGSM, Dyadic
from splitmerge_cli.samplers.triadic import Triadic
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import pieces

Samplers = Callable[[Any, Rng], list[Sampler]]
VECTOR_MODELS: dict[str, Any] = {
    "multinomial": Multinomial,
    "gamma_poisson": GammaPoisson,
    "overdispersed": OverdispersedMultinomial,
}


def gibbs(model: Any, rng: Rng) -> list[Sampler]:
    """Gibbs scans alone."""
    return [Gibbs(model, rng)]


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes
    ----------
    name : str
        Row of the table of docs/speed.md.
    what : str
        The work.
    unit : str
        What a time is given for.
    model : {'bernoulli', 'emm', 'gaussian diag', 'gaussian full', 'lines', 'lines with parameters', 'irm', 'mixed',
            'mixed full', 'mixed outcome', 'multinomial', 'gamma_poisson', 'overdispersed', 'gaussian diag t',
            'gaussian full t', 'gaussian diag select', 'bundles', 'records'}
    samplers : callable
        (model, rng) -> the samplers that step once an iteration.
    c : str
        The function of the C file, called with (state, iterations, *c_args) and, when `traced`, a buffer for the trace.
    c_args : tuple of int
    iterations : int
        Iterations a round.
    items : int
        Divides a time of an iteration: N where the unit is an item, else 1.
    batch : int
        Iterations of one unit.
    bar : float
        The highest ratio that meets the bar of docs/speed.md.
    microseconds : float or None
        A bar on our own time in place of the ratio.
    traced : bool
        Every iteration is recorded, with NMI and ARI.
    separation : float
        Gaussian: standard deviation of the true means, the points' own being 1.
    peers : dict or callable
        Microseconds that others need for one unit, by their names: from the literature of this project, or measured:
        (data, model).
    data : callable or None
        The data, where the model does not say which.
    same : bool
        Both chains are to end in the same state. Not where missing cells are drawn: the package rounds them to the grid
        of its fixed-point sums, the C does not, so that later draws differ.
    """

    name: str
    what: str
    unit: str
    model: str
    samplers: Samplers
    c: str
    c_args: tuple[int, ...] = ()
    iterations: int = 10
    items: int = 1
    batch: int = 1
    bar: float = 1.5
    microseconds: float | None = None
    traced: bool = False
    separation: float = 0.0
    peers: dict[str, float] | Callable[[Dataset, Any], dict[str, float]] = field(default_factory=dict)
    data: Callable[[], Dataset] | None = None
    same: bool = True


@dataclass(frozen=True)
class Result:
    """Measured values of a row.

    Attributes
    ----------
    row, what, unit, bar
        As in :class:`Row`.
    ours_ns, c_ns : float
        CPU time of one unit in nanoseconds, median over the rounds.
    ratio, ratio_min, ratio_max : float
        Ours / C round by round: median and range.
    met : bool
        The bar is met.
    probability_gap : float
        Largest difference of a Gibbs probability between ours and C, in the start state.
    same_labels : bool
        Both chains ended in the same state.
    K : int
        Clusters at the end.
    peers_us : dict
        Microseconds that others need for one unit, by their names.
    """

    row: str
    what: str
    unit: str
    ours_ns: float
    c_ns: float
    ratio: float
    ratio_min: float
    ratio_max: float
    bar: str
    met: bool
    probability_gap: float
    same_labels: bool
    K: int
    peers_us: dict[str, float]


def rows() -> list[Row]:
    """All rows, in the order of docs/speed.md."""
    return [
        *(*count_rows(), *gaussian_rows(), *network_rows(), *line_rows(), *mixed_rows(), *vector_rows()),
        *(*jointly_normal_rows(), *refreshed_rows(), *bundle_rows(), *record_rows()),
    ]


def count_rows() -> list[Row]:
    """The rows a, a2 and a3."""
    ssdm: Samplers = lambda m, r: [SDDS(m, r, kernel="ssdm")]  # noqa: E731
    both: Samplers = lambda m, r: [SDDS(m, r)]  # noqa: E731
    with_site: Samplers = lambda m, r: [SDDS(m, r), Gibbs(m, r, scan="site")]  # noqa: E731
    N = 10_000
    return [
        Row("a", "Gibbs sweep, C one cluster at a time", "item", "bernoulli", gibbs, "gibbs", (), 10, N),
        Row("a+", "Gibbs sweep, C with clusters as lanes", "item", "bernoulli", gibbs, "gibbs_lanes", (), 10, N),
        Row("a2", "sequential split or its reverse (SDDS)", "move", "bernoulli", ssdm, "sdds", (), 200),
        Row("a2", "restricted Gibbs, t=5 (RGSM)", "move", "bernoulli", lambda m, r: [RGSM(m, r)], "rgsm", (5,), 40),
        Row("a3", "SDDS and its trace", "iteration", "emm", both, "emm_run", (0,), 20_000, microseconds=5, traced=True),
        Row(
            *("a3", "SDDS, one Gibbs site and the trace", "iteration", "emm", with_site, "emm_run"),
            *((1,), 20_000),
            microseconds=5,
            traced=True,
        ),
    ]


def gaussian_rows() -> list[Row]:
    """The rows b: 10,000 points of 25 dimensions, 10 true clusters, apart (no point moves) or overlapping (a third of
    the points moves in a sweep). The peer: one variational iteration of scikit-learn's BayesianGaussianMixture."""
    return [
        Row(
            *("b", f"Gaussian {covariance}, Gibbs, clusters {how}", "sweep", f"gaussian {covariance}", gibbs),
            *(f"gibbs_{covariance}", (), 4 if covariance == "diag" else 1),
            separation=separation,
            peers=variational_us if how == "apart" else {},
        )
        for covariance in ("diag", "full")
        for how, separation in (("apart", 5.0), ("overlap", 0.5))
    ]


def variational_us(data: Dataset, model: Any) -> dict[str, float]:
    """CPU microseconds of a variational iteration in scikit-learn with as many components, in one thread."""
    times = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for iterations in (1, 21):
            mixture = BayesianGaussianMixture(
                n_components=len(np.unique(data.truth)),
                covariance_type=model.covariance,
                weight_concentration_prior_type="dirichlet_process",
                init_params="random",
                max_iter=iterations,
                tol=0.0,
                random_state=1,
            )
            began = thread_time()
            mixture.fit(data.values)
            times.append((thread_time() - began, mixture.n_iter_))
    (first, n), (second, m) = times
    return {"scikit-learn": 1e6 * (second - first) / (m - n)}


def network_rows() -> list[Row]:
    """The rows d: 332 nodes and 2,146 edges, planted in 8 blocks or in 16, and USAir97 itself where its file is; and
    directed counts. The peer: graph-tool's sweeps over the same edges from the same blocks."""
    cases: list[tuple[str, Callable[[], Dataset]]] = [
        ("8 blocks", lambda: network.generate(332, blocks=8, p_in=0.2, p_out=0.0168, seed=13)),
        ("16 blocks", lambda: network.generate(332, blocks=16, p_in=0.34, p_out=0.0197, seed=131)),
    ]
    try:
        published_graphs.usair97()
        cases.append(("usair97", published_graphs.usair97))
    except DataError:
        pass
    directed = [
        Row("d", f"IRM, Gibbs, directed counts, {K} blocks", "sweep", "irm", gibbs, "gibbs", (), 50, data=data)
        for K, data in ((K, partial(generated.directed_counts, 332, K)) for K in (8, 16))
    ]
    return directed + [
        Row(*(name, f"IRM, Gibbs, {title}, {how}", "sweep", "irm", gibbs, c, (), 50), data=data, peers=peers)
        for title, data in cases
        for name, how, c, peers in (
            ("d", "C all pairs", "gibbs", {}),
            ("d+", "C with sums kept", "gibbs_kept", graph_tool.sweeps_us),
        )
    ]


def authors(us: float) -> dict[str, float]:
    """Microseconds of the C++ program by the paper's authors."""
    return {"authors' C++": us}


def line_rows() -> list[Row]:
    """The rows e: 200 points, 200 updates. The peer: van Rossum et al.'s C++ program."""
    theirs = authors(820)
    auxiliary: Samplers = lambda m, r: [Neal8(m, r)]  # noqa: E731
    samplers: Samplers = lambda m, r: [Neal8(m, r, m=3), Refresh(m, r)]  # noqa: E731
    dyadic: Samplers = lambda m, r: [Dyadic(m, r, allocation="sams")]  # noqa: E731
    triadic: Samplers = lambda m, r: [Triadic(m, r)]  # noqa: E731
    sweep, moves = "sweep", "200 moves"
    return [
        Row("e", "lines, Gibbs sweep of 200 points", sweep, "lines", gibbs, "gibbs", (), 200),
        Row("e", "lines, algorithm 8, lines integrated out", sweep, "lines", auxiliary, "gibbs", (), 200, peers=theirs),
        Row(
            *("e", "lines, algorithm 8, m=3, and refresh", sweep, "lines with parameters", samplers, "neal8", (3,)),
            iterations=200,
            peers=theirs,
        ),
        Row("e", "lines, dyadic (SAMS)", moves, "lines", dyadic, "dyadic", (), 2_000, batch=200, peers=authors(6500)),
        Row(
            "e", "lines, triadic (SAMS)", moves, "lines", triadic, "triadic", (), 1_000, batch=200, peers=authors(5300)
        ),
    ]


def mixed_rows() -> list[Row]:
    """The rows f: 10,000 rows of 12 columns, three of each type, 10 true clusters: with and without missing cells, and
    so close that many items move."""
    cases: list[tuple[str, Callable[[], Dataset]]] = [
        ("complete, apart", lambda: mixed(10_000, components=10, separation=4.0, missing=0.0)),
        ("5% missing, apart", lambda: mixed(10_000, components=10, separation=4.0)),
        ("5% missing, overlap", lambda: mixed(10_000, components=10, separation=1.0)),
    ]
    rows = [
        Row("f", f"mixed table, Gibbs, {how}", "sweep", "mixed", gibbs, "gibbs", (), 4, data=data)
        for how, data in cases
    ]
    what = "mixed table, Gibbs, complete, apart, an outcome with 3 effects"
    return [*rows, Row("f", what, "sweep", "mixed outcome", gibbs, "gibbs", (), 4, data=cases[0][1])]


def vector_rows() -> list[Row]:
    """The rows g: 10,000 vectors of 20 counts, 10 true clusters, apart or so close that many items move."""
    cases: list[tuple[str, Callable[[], Dataset]]] = [
        ("apart", lambda: counts(10_000, clusters=10)),
        ("overlap", lambda: counts(10_000, clusters=10, concentration=5.0)),
    ]
    return [
        Row("g", f"{title}, Gibbs, {how}", "sweep", model, gibbs, "gibbs", (), 4, data=data)
        for model, title in (("multinomial", "multinomial"), ("gamma_poisson", "gamma-Poisson"))
        for how, data in cases
    ]


def jointly_normal_rows() -> list[Row]:
    """The rows h: full covariances with missing cells, a Gibbs sweep and the step on these: 10,000 points of 25
    dimensions, and tables of 12 columns, six of them real, with 10 true clusters."""
    with_gaps: Samplers = lambda m, r: [Gibbs(m, r), Refresh(m, r)]  # noqa: E731

    def points(separation: float) -> Dataset:
        """With 5% of the cells missing, independently."""
        whole = gaussian(10_000, components=10, D=25, separation=separation)
        absent = np.random.default_rng(1).random(whole.values.shape) < 0.05
        return replace(whole, values=np.where(absent, np.nan, whole.values))

    cases: list[tuple[str, str, Samplers, str, Callable[[], Dataset]]] = [
        ("Gaussian full, 5% missing, apart", "gaussian full", with_gaps, "gibbs_gaps", lambda: points(5.0)),
        ("Gaussian full, 5% missing, overlap", "gaussian full", with_gaps, "gibbs_gaps", lambda: points(0.5)),
        ("mixed full, complete, apart", "mixed full", gibbs, "gibbs", lambda: mixed_table(4.0, 0.0)),
        ("mixed full, 5% missing, apart", "mixed full", with_gaps, "gibbs_gaps", lambda: mixed_table(4.0, 0.05)),
        ("mixed full, 5% missing, overlap", "mixed full", with_gaps, "gibbs_gaps", lambda: mixed_table(1.0, 0.05)),
    ]
    return [
        Row("h", title, "sweep", model, how, c, (), 2, data=data, same=how is gibbs)
        for title, model, how, c, data in cases
    ]


def mixed_table(separation: float, missing: float) -> Dataset:
    """A table of twelve columns, six of them real."""
    types = {"binary": 2, "categorical": 2, "count": 2, "real": 6}
    return mixed(10_000, components=10, separation=separation, missing=missing, **types)


def refreshed_rows() -> list[Row]:
    """The rows i: a Gibbs sweep given what ``refresh`` has drawn, 10,000 rows, 10 true clusters: 20 counts whose rows
    have shares of their own, 12 ordinal columns (nothing is drawn), 25 columns with the tails of Student's t, tables of
    12 columns, six of them real with these tails and 5% of all cells missing, and 25 columns of which ten tell the
    clusters apart."""
    cases: list[tuple[str, str, str, Callable[[float], Dataset], float, float]] = [
        ("overdispersed counts", "overdispersed", "gibbs", generated.scattered_counts, 0.5, 5.0),
        ("ordinal columns", "mixed", "gibbs", generated.answers, 2.0, 0.5),
        ("Gaussian diag, tails=t", "gaussian diag t", "gibbs_diag", generated.points, 5.0, 0.5),
        ("Gaussian full, tails=t", "gaussian full t", "gibbs_full", generated.points, 5.0, 0.5),
        ("mixed diag, tails=t, 5% missing", "mixed diag t", "gibbs", lambda far: mixed_table(far, 0.05), 4.0, 1.0),
        ("Gaussian, select", "gaussian diag select", "gibbs_diag", lambda far: generated.points(far, 10), 5.0, 0.8),
    ]
    return [
        Row(*("i", f"{title}, Gibbs, {how}", "sweep", model, gibbs, c, (), 2), data=partial(data, far))
        for title, model, c, data, *both in cases
        for how, far in zip(("apart", "overlap"), both, strict=True)
    ]


def bundle_rows() -> list[Row]:
    """The rows j: 2,000 items of ten columns, 10 true clusters; five rows each, or one that counts three times."""
    return [
        Row("j", f"Gaussian diag, Gibbs, {title}", "sweep", "bundles", gibbs, "gibbs", (), 4, data=data)
        for title, data in (
            ("units of 5 rows", partial(generated.bundles, 5, 1)),
            ("rows that count 3 times", partial(generated.bundles, 1, 3)),
        )
    ]


def record_rows() -> list[Row]:
    """The rows k: 300 records of 210 people, so that an item is weighed in 210 entities of five fields."""
    data = {share: partial(records.generate, 300, distortion=share) for share in (0.05, 0.2)}
    work = {share: f"records, Gibbs, {share:.0%} of cells distorted" for share in data}
    return [Row("k", work[c], "sweep", "records", gibbs, "gibbs", (), 2, data=data[c]) for c in data]


def start(row: Row) -> tuple[Dataset, Any, Rng, Baseline]:
    """Data, model in its true state, generator, and the plain C in the same state.

    Bernoulli: N=10,000, D=15, K=5, so 2,000 items a cluster. EMM: N=500, K=10.
    Gaussian: N=10,000, D=25, K=10. Mixed: N=10,000, D=12, K=10. Lines: N=200, sigma0=10, sigma1=1. IRM: after 200
    sweeps from the planted blocks, or from 16 random ones.
    """
    rng = Rng(1)
    kind: type[Baseline] = Counts
    if row.model == "emm":
        data = emm.generate(500)
        model: Any = EMM.from_data(data, label_prior="as_printed")
    elif row.model == "bernoulli":
        data = jain_neal(10_000)
        model = Bernoulli.from_data(data)
    elif row.model.startswith("gaussian"):
        data = row.data() if row.data else gaussian(10_000, components=10, D=25, separation=row.separation)
        _, covariance, *tails = row.model.split()
        further = {"select": True} if tails == ["select"] else {"tails": "t"} if tails else {}
        model = Gaussian.from_data(data, covariance=covariance, **further)
        kind = OfGaussian
    elif row.model == "bundles" and row.data is not None:
        data = row.data()
        model = build(Gaussian, data, {"resolution": "none"})
        kind = OfBundles
    elif row.model == "records" and row.data is not None:
        data = row.data()
        model = Records.from_data(data, prior="crp", concentration=100.0)
        kind = OfRecords
    elif row.model.startswith("mixed") and row.data is not None:
        data = row.data()
        tails = {"tails": "t"} if row.model.endswith(" t") else {}
        further = {"outcome": OUTCOME[0], "effects": list(OUTCOME[1:])} if row.model == "mixed outcome" else tails
        model = Mixed.from_data(data, covariance="full" if row.model == "mixed full" else "diag", **further)
        kind = OfMixed
    elif row.model in VECTOR_MODELS and row.data is not None:
        data = row.data()
        model = VECTOR_MODELS[row.model].from_data(data)
        kind = OfCountVectors
    elif row.data is not None:
        data = row.data()
        model = IRM.from_data(data)
        kind = OfIRM if data.relations is None else OfRelations
        settle(model, data.truth)
        return data, model, rng, kind(data, model, rng)
    else:
        data = lines.generate(200)
        model = Lines.from_data(data, conjugate=row.model == "lines")
        kind = OfLines
    model.set_labels(data.truth)
    model.start_parameters(rng)
    if row.name == "i" and model.refreshes:
        refresh = Refresh(model, rng)
        for _ in range(5):
            refresh.step()
    return data, model, rng, kind(data, model, rng)


def settle(model: Any, labels: Any) -> None:
    """200 Gibbs sweeps from these labels, or from 16 random clusters."""
    rng = Rng(2)
    model.set_labels(np.random.default_rng(2).integers(0, 16, model.N) if labels is None else labels)
    Chain(model, rng, [Gibbs(model, rng)], thin=2**62, timing=False).advance(200)


def probability_gap(model: Any, baseline: Baseline) -> float:
    """Largest difference of a Gibbs probability between the package and the C, over a hundred items."""
    gap = 0.0
    for i in range(0, model.N, max(1, model.N // 100)):
        w = pieces.scan(model, i)
        # of NaN `max` would take the other
        gap = float(np.fmax(gap, np.nan_to_num(np.abs(w / w.sum() - baseline.conditional(i)), nan=np.inf).max()))
    return gap


def measure(row: Row, rounds: int) -> Result:
    """Alternate our round and C's.

    Raises
    ------
    RuntimeError
        The C's Gibbs probabilities are not the model's: its times would mean nothing.
    """
    data, model, rng, baseline = start(row)
    gap = probability_gap(model, baseline) if model.conjugate else 0.0
    if not gap < 1e-9:
        raise RuntimeError(f"{row.what}: the baseline's Gibbs probabilities differ from the model's by {gap:.2g}")
    samplers = row.samplers(model, rng)
    if row.traced:
        chain = Chain(model, rng, samplers, truth=data.truth)
        buffer = [np.empty((row.iterations, COLUMNS))]
    else:
        chain = Chain(model, rng, samplers, thin=2**62, timing=False)
        buffer = []
    times = np.empty((rounds, 2))
    for t in range(-1, rounds):  # the first round warms the caches up and is not counted
        began = thread_time()
        chain.advance(row.iterations)
        between = thread_time()
        baseline.call(row.c, row.iterations, *row.c_args, *buffer)
        if t >= 0:
            times[t] = between - began, thread_time() - between
    unit = 1e9 * times * row.batch / (row.iterations * row.items)
    ratio = (unit[:, 0] / unit[:, 1]).tolist()
    ours = median(unit[:, 0].tolist())
    if row.microseconds is None:
        bar, met = f"{row.bar:g} x C", median(ratio) <= row.bar
    else:
        bar, met = f"{row.microseconds:g} us", ours <= 1e3 * row.microseconds
    return Result(
        row=row.name,
        what=row.what,
        unit=row.unit,
        ours_ns=ours,
        c_ns=median(unit[:, 1].tolist()),
        ratio=median(ratio),
        ratio_min=min(ratio),
        ratio_max=max(ratio),
        bar=bar,
        met=bool(met),
        probability_gap=gap,
        same_labels=bool((baseline.labels == model.labels).all()),
        K=model.K,
        peers_us=row.peers(data, model) if callable(row.peers) else row.peers,
    )


def table(results: list[Result]) -> str:
    """The results as text."""
    head = f"{'row':4}{'work':43}{'per':11}{'ours':>10}{'plain C':>11}{'ratio':>7}  {'min-max':11}{'bar':>8}"
    head += "  met  same chain   K  peers"
    lines = [head, "-" * len(head)]
    for r in results:
        scale, unit = (1, "ns") if r.unit == "item" else (1e3, "us")
        digits = 1 if r.ours_ns / scale >= 10 else 2
        peers = "; ".join(f"{who} {us:.0f} us, {1e3 * us / r.ours_ns:.1f} x ours" for who, us in r.peers_us.items())
        lines.append(
            f"{r.row:4}{r.what:43}{r.unit:11}{r.ours_ns / scale:7.{digits}f} {unit} {r.c_ns / scale:7.{digits}f} {unit}"
            f"{r.ratio:7.2f}  {f'{r.ratio_min:.2f}-{r.ratio_max:.2f}':11}{r.bar:>8}  {'yes' if r.met else 'NO':4} "
            f"{'yes' if r.same_labels else 'no':10}{r.K:4}  {peers}".rstrip()
        )
    return "\n".join(lines)


def as_json(results: list[Result]) -> list[dict[str, Any]]:
    """The results for ``json.dump``."""
    return [asdict(r) for r in results]
