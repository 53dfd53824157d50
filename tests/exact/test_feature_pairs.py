"""Features of models that are enumerated together: all pairs, and all threes in a likelihood. A feature is an option
that changes the form of a posterior, or something that data may have (missing cells, sparse points).

A covering design: each level of a feature meets each level of every other in some case, and each case is enumerated,
each kernel alone and the default schedule. Errors that two features make together are in no case of one of them. A new
option, word of an option, or prior is in the design without being named here, or `test_every_option_is_a_feature` says
that it is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from relation_cases import relations_case
from scipy import stats
from scipy.sparse import csr_array

from splitmerge_cli.config import classes, compose
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Choice, Flag, Option, Positive, PositiveOrGamma
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.kinds.tables.cases import CELL
from splitmerge_cli.kinds.tables.models.sparse_gaussian import SparseGaussian
from splitmerge_cli.priors import PriorOption, priors
from splitmerge_cli.runs.initial import build_schedule
from splitmerge_cli.samplers.gibbs import Gibbs, Neal8
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.split_merge import Dyadic
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import kernel, transitions
from splitmerge_cli.verify.cases import Case, small_case

Level = tuple[str, int]
"""A feature and the number of its level."""

MODELS = {name: cls for name, cls in classes("model").items() if cls.__module__.startswith("splitmerge_cli.")}
CANDIDATES = [[0.0, 1.0], [1.0, -0.5]]
MAGNITUDES = {
    "beta1",
    "beta0",
    "alpha",
    "a0",
    "shape",
    "mu",
    "sigma",
    "sigma0",
    "sigma1",
    "eta",
    "n_tokens",
    "steps",
    "cuts",
    "box",
    "slope_weight",
    "propensity",
    "strength",
}
"""Numbers that change no form: neither what is in the state of a chain nor what is integrated out."""
LEVELS: dict[str, list[Any]] = {
    "concentration": [1.3, "gamma(2,1)"],
    "kappa0": [0.4, "gamma(2,4)"],
    "b0": [0.3, None, "gamma(2,3)"],
    "m0": [0.5, None],
    "rate": [0.5, None],
    "density": [None, 0.3],
    "precision": [None, 0.8],
    "parts": [0, 3],
    "resolution": ["none", 1.5],
    "power": [1.0, 0.4],
    "gamma": [1.6, "gamma(2,1)"],
    "alpha0": [0.9, "gamma(2,1)"],
    "kmax": [4, 2, 6],
    "candidates": [None, CANDIDATES],
    "outcome": [None, 5, 1],
    "effects": [[], [4]],
    "distortion": [0.2, "beta(2,6)"],
    "similar": [0.6, "beta(2,3)"],
    "original": [0, 0.7, "beta(2,1.5)"],
    "frequencies": [0, 0.3],
    "noise": [0.0, 0.3],
}
PRIORS = {
    "esc": ["esc(r=1.5,p=0.4)", "esc(r=1.5,p=beta(2,1.5))"],
    "learned_sizes": [
        "learned_sizes(size_1=0.4,size_2=0.7,size_3=0.5,size_more=0.6)",
        "learned_sizes(size_1=beta(2,1.5),size_2=0.7,size_3=0.5,size_more=0.6)",
    ],
    "mfm": ["mfm(components=uniform(3))"],
    "dynamic_mfm": ["dynamic_mfm(components=geometric(0.4))"],
    "pitman_yor": ["pitman_yor(discount=0.3)", "pitman_yor(discount=beta(2,1.5))"],
}
"""Forms of a prior; of the others the default."""
OF_PRIOR = {"prior", "concentration"}
SAME_POSTERIOR = {"refresh", "conjugate", "candidates", "sparse", "outcome", "effects", "density", "parts"}
"""Features that say how parameters and points are held, or which moves are made. Candidates are another model. An
outcome without effects is a column like any other, and effects go with an outcome: ``test_outcome.py``. Counts have no
density of edges, which ``test_relations.py`` changes; ``test_scattered.py`` resamples their precision."""
OF_DATA = {
    "Bernoulli": {"missing": [False, True]},
    "Gaussian": {"missing": [False, True], "sparse": [False, True]},
    "Mixed": {"complete": [True, False]},
    "Records": {"complete": [True, False], "sources": [False, True]},
    "IRM": {
        "form": ["count", "binary", "real", "levels"],
        **{name: [False, True] for name in ("directed", "loops", "sides", "columns")},
        "unknown": [0, 2],
        "layers": [1, 2],
    },
}
"""Features of the data, as options of the small cases."""
_SPARSE = "of sparse points"
REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "Gaussian": [
        ({"missing": True, "covariance": "iso"}, "expected a table without missing cells"),
        ({"missing": True, "covariance": "full", "power": 0.4}, "model.power=0.4: a real cell is missing; expected 1"),
        ({"sparse": True, "missing": True}, "is not a finite number"),
        ({"sparse": True, "covariance": "full"}, f"expected diag or iso {_SPARSE}"),
        ({"sparse": True, "resolution": 1.5}, f"expected auto or none {_SPARSE}"),
        ({"sparse": True, "b0": "gamma(2,3)"}, f"model.b0: expected numbers {_SPARSE}"),
        ({"sparse": True, "kappa0": "gamma(2,4)"}, f"model.kappa0: expected numbers {_SPARSE}"),
        ({"sparse": True, "power": 0.4}, "model.power"),
        ({"sparse": True, "select": True}, "the points are sparse; expected false"),
        ({"select": True, "covariance": "iso"}, "expected model.covariance=diag, got iso"),
        ({"select": True, "covariance": "full"}, "expected model.covariance=diag, got full"),
        ({"select": True, "b0": "gamma(2,3)"}, "expected numbers for model.b0 and model.kappa0"),
        ({"select": True, "kappa0": "gamma(2,4)"}, "expected numbers for model.b0 and model.kappa0"),
        ({"tails": "t", "select": True}, "expected model.tails=normal, got t"),
        ({"tails": "t", "sparse": True}, "model.tails=t: the points are sparse; expected normal"),
        ({"tails": "t", "missing": True, "covariance": "full"}, "model.tails=t, model.covariance=full: .*missing"),
        *(
            (
                {"tails": "t", "resolution": 1.5, "covariance": shape},
                f"={shape} and a column has a resolution; expected model.resolution=none",
            )
            for shape in ("iso", "full")
        ),
        ({"tails": "t", "power": 0.4}, "model.tails=t: model.power=0.4; expected model.power=1"),
        ({"noise": 0.3, "sparse": True}, "model.noise=0.3: the points are sparse; expected dense points"),
        ({"noise": 0.3, "select": True}, "model.noise=0.3: model.select=true; expected model.select=false"),
        ({"noise": 0.3, "tails": "t"}, "model.noise=0.3: model.tails=t.*expected model.tails=normal"),
        ({"noise": 0.3, "missing": True, "covariance": "full"}, "model.noise=0.3, model.covariance=full: .*missing"),
    ],
    "Mixed": [
        ({"complete": False, "covariance": "full", "power": 0.4}, "a real cell is missing; expected 1"),
        ({"select": True, "covariance": "full"}, "model.select=true: expected model.covariance=diag, got full"),
        ({"select": True, "b0": "gamma(2,3)"}, "model.select=true: expected numbers for model.b0 and model.kappa0"),
        ({"select": True, "kappa0": "gamma(2,4)"}, "expected numbers for model.b0 and model.kappa0"),
        ({"tails": "t", "select": True}, "expected model.tails=normal, got t"),
        ({"tails": "t", "complete": False, "covariance": "full"}, "model.tails=t: model.covariance=full and a real"),
        ({"tails": "t", "resolution": 1.5, "covariance": "full"}, "model.tails=t: model.covariance=full and a column"),
        ({"tails": "t", "power": 0.4}, "model.tails=t"),
        ({"outcome": None, "effects": [4]}, "model.effects: expected model.outcome"),
        ({"outcome": 1, "effects": [4], "power": 0.4}, "model.power=0.4: expected 1 of a binary model.outcome"),
        ({"outcome": 5, "effects": [4], "tails": "t"}, "the table has no real column"),
        *(
            ({"outcome": j, "effects": [4], key: value}, "expected a number")
            for j in (1, 5)
            for key, value in (("b0", "gamma(2,3)"), ("kappa0", "gamma(2,4)"))
        ),
        *(({"outcome": j, "select": True}, "model.select=true: expected no model.outcome") for j in (1, 5)),
        ({"noise": 0.3, "select": True}, "model.noise=0.3: model.select=true; expected model.select=false"),
        ({"noise": 0.3, "tails": "t"}, "model.noise=0.3: model.tails=t.*expected model.tails=normal"),
        ({"noise": 0.3, "complete": False, "covariance": "full"}, "model.noise=0.3: model.covariance=full, and cells"),
        *(({"noise": 0.3, "outcome": j}, "model.noise=0.3: model.outcome.*expected no model.outcome") for j in (1, 5)),
        *(
            (
                {"outcome": 5, "effects": [], key: f"gamma({at})"},
                rf"model.{key}=gamma\({at}\): expected a number with model.outcome",
            )
            for key, at in (("b0", "2,3"), ("kappa0", "2,4"))
        ),
    ],
    "IRM": [
        ({"degrees": "corrected", "unknown": 2}, "expected no unknown pairs"),
        ({"degrees": "corrected", "precision": 0.8}, "expected null with model.degrees=corrected"),
        *(({"form": form, "precision": 0.8}, "expected counts of edges") for form in ("binary", "real", "levels")),
        ({"sides": True, "directed": True}, "directed edges, or edges of a node to itself, between two kinds"),
        ({"sides": True, "loops": True}, "directed edges, or edges of a node to itself, between two kinds"),
        ({"sides": True, "concentration": "gamma(2,1)"}, "expected numbers with two kinds of nodes"),
        *(
            ({"sides": True, "prior": prior}, "expected numbers with two kinds of nodes")
            for prior in (
                *("esc(r=1.5,p=beta(2,1.5))", "pitman_yor(discount=beta(2,1.5))"),
                "learned_sizes(size_1=beta(2,1.5),size_2=0.7,size_3=0.5,size_more=0.6)",
                "dynamic_mfm(components=geometric(0.4))",
            )
        ),
    ],
    "Lines": [
        ({"conjugate": True, "candidates": CANDIDATES}, "expected with conjugate=false and noise=known"),
        ({"noise": "nig", "candidates": CANDIDATES}, "expected with conjugate=false and noise=known"),
    ],
}
"""Features that do not go together, and the message; priors without a concentration to resample follow by
themselves."""
LONG = {"covariance": "full", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"}
"""With missing cells as well an integral of minutes: a four that no pair or three needs."""


@cache
def features_of(model: type[Model]) -> dict[str, list[Any]]:
    """The features of a model and their levels, that of the plainest posterior first."""
    found: dict[str, list[Any]] = {}
    for option in model.OPTIONS:
        levels = levels_of(option)
        # one that has no other form in this model is a magnitude
        if option.name not in MAGNITUDES and (len(levels) > 1 or option.name not in LEVELS):
            found[option.name] = levels
    return found | OF_DATA.get(model.__name__, {})


def levels_of(option: Option) -> list[Any]:
    if isinstance(option, PriorOption):
        own = (name for name, cls in priors().items() if cls.__module__.startswith("splitmerge_cli."))
        return ["crp", *(form for name in own if name != "crp" for form in PRIORS.get(name, [name]))]
    if isinstance(option, Choice):
        return list(option.choices)
    if isinstance(option, Flag):
        return [option.default, not option.default]
    return [level for level in LEVELS.get(option.name, []) if reads(option, level)]


def reads(option: Option, value: Any) -> bool:
    """Whether an option of this name takes such a value in this model: a rate may be a number alone."""
    try:
        option.read(value, "model")
    except (TypeError, ValueError):
        return False
    return True


@cache
def list_refusals(model: type[Model]) -> list[tuple[dict[str, Any], str]]:
    found = list(REFUSED.get(model.__name__, []))
    if any(option.name == "prior" for option in model.OPTIONS):
        without = [
            prior for prior in features_of(model)["prior"] if not priors()[prior.split("(")[0]].TAKES_CONCENTRATION
        ]
        found += [({"prior": prior, "concentration": "gamma(2,1)"}, "none to resample") for prior in without]
    return found


@cache
def refusals_with(model: type[Model], name: str) -> list[dict[str, Any]]:
    """Refused options of which one has this name."""
    return [refused for refused, _ in list_refusals(model) if name in refused]


def is_refused(model: type[Model], options: Mapping[str, Any]) -> bool:
    return any(refused.items() <= options.items() for refused, _ in list_refusals(model))


def is_long(options: Mapping[str, Any]) -> bool:
    """Whether options make an integral that takes minutes: weights of rows with scales, which ``test_tails.py`` has in
    two rows, and `LONG` with gaps."""
    if options.get("tails") == "t" and {options.get("b0"), options.get("kappa0")} & {"gamma(2,3)", "gamma(2,4)"}:
        return True
    has_gaps = options.get("missing") is True or options.get("complete") is False
    return has_gaps and all(options.get(key) == value for key, value in LONG.items())


def goes_together(model: type[Model], options: Mapping[str, Any]) -> bool:
    """Whether a case may have these options: every other feature has a level that goes with them."""
    if is_refused(model, options) or is_long(options):
        return False
    return all(
        any(
            not any(refused.items() <= {**options, name: value}.items() for refused in refusals_with(model, name))
            for value in values
        )
        for name, values in features_of(model).items()
        if name not in options
    )


def interactions_of(model: type[Model]) -> list[frozenset[Level]]:
    """All pairs of levels that go together, and all threes in the likelihood."""
    features = features_of(model)
    levels = [(name, t) for name, values in features.items() for t in range(len(values))]
    of_likelihood = [level for level in levels if level[0] not in OF_PRIOR]
    return [
        frozenset(held)
        for held in (*itertools.combinations(levels, 2), *itertools.combinations(of_likelihood, 3))
        if len(dict(held)) == len(held)
        for options in [{name: features[name][t] for name, t in held}]
        if goes_together(model, options)
    ]


@cache
def design_of(model: type[Model]) -> list[dict[str, Any]]:
    """Options of cases that hold all interactions: each case begins with one that no other has, and gets of every other
    feature the level that is in most of those which no case has."""
    features, found = features_of(model), []
    wanted = dict.fromkeys(sorted(interactions_of(model), key=lambda held: (-len(held), sorted(held))))
    while wanted:
        chosen = dict(sorted(next(iter(wanted))))
        for name, values in features.items():
            if name in chosen:
                continue
            given = {key: features[key][t] for key, t in chosen.items()}
            legal = [t for t, value in enumerate(values) if goes_together(model, given | {name: value})]
            gain = {
                t: sum(
                    frozenset([(name, t), *others]) in wanted
                    for size in (1, 2)
                    for others in itertools.combinations(chosen.items(), size)
                )
                for t in legal
            }
            chosen[name] = max(legal, key=lambda t, gain=gain: (gain[t], -t))
        for size in (2, 3):
            for held in itertools.combinations(chosen.items(), size):
                wanted.pop(frozenset(held), None)
        found.append({name: features[name][chosen[name]] for name in features})
    return found


def text_of(options: Mapping[str, Any], features: Mapping[str, list[Any]]) -> str:
    """Return the levels that are not those of the plainest posterior, for the name of a test."""
    return " ".join(f"{k}={v}" for k, v in options.items() if v != features[k][0]).replace(str(CANDIDATES), "two")


@cache
def case_of(name: str, number: int) -> Case:
    model, options = MODELS[name], design_of(MODELS[name])[number]
    return make_case(model, 3 if options.get("candidates") else 4, number % 3, _as_options(options))


def make_case(model: type[Model], size: int, seed: int, options: dict[str, Any]) -> Case:
    """A small case of a model; of ``irm`` with features of networks that the cases of ``smcmc verify`` have not."""
    if model.__name__ != "IRM":
        return small_case(model, size, seed, options)
    plain = {name: levels[0] for name, levels in OF_DATA["IRM"].items()}
    return relations_case(size, seed, plain | options)


def _as_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a user gives them: sparse points know no power."""
    return {key: value for key, value in options.items() if (key, value) != ("power", 1.0)}


def cases() -> Iterator[Any]:
    for name, model in MODELS.items():
        features = features_of(model)
        for number, options in enumerate(design_of(model)):
            yield pytest.param(name, number, id=f"{name} {text_of(options, features)}")


@pytest.mark.parametrize("name", MODELS)
def test_every_option_is_a_feature(name: str) -> None:
    """A new option, or a new prior without its forms, has at least two levels here, or is a magnitude."""
    features = features_of(MODELS[name])
    assert [key for key, levels in features.items() if len(levels) < 2] == []
    known = MAGNITUDES | LEVELS.keys() | {"prior"} | OF_DATA.get(MODELS[name].__name__, {}).keys()
    unknown = [o.name for o in MODELS[name].OPTIONS if o.name not in known and not isinstance(o, Choice | Flag)]
    assert unknown == []
    assert bool({"missing", "complete"} & features.keys()) == MODELS[name].READS_MISSING


def test_what_is_new_has_the_features_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose rate is a number, and a prior without a concentration: neither is named in this file."""
    toy = SimpleNamespace(NAME="toy", TAKES_CONCENTRATION=False, __module__="splitmerge_cli.priors.toy")
    known = {**priors(), "toy": toy}
    monkeypatch.setitem(globals(), "priors", lambda: known)
    prior = next(option for option in MODELS["bernoulli"].OPTIONS if option.name == "prior")
    concentration = PositiveOrGamma("concentration", 1.0, "")
    New = type("New", (), {"OPTIONS": (prior, concentration, Positive("rate", 1.0, "of a prior"))})
    assert features_of(New).keys() == {"prior", "concentration"}
    refused = {one["prior"].split("(")[0] for one, _ in list_refusals(New)}
    assert refused == {"toy", "uniform", "uniform_count", "esc", "learned_sizes"}
    Other = type("Other", (), {"OPTIONS": (PositiveOrGamma("kappa0", 1.0, ""),)})
    assert features_of(Other) == {"kappa0": LEVELS["kappa0"]}


@pytest.mark.parametrize("name", MODELS)
def test_every_interaction_is_in_a_case(name: str) -> None:
    features, held = features_of(MODELS[name]), set()
    for options in design_of(MODELS[name]):
        levels = [(key, features[key].index(value)) for key, value in options.items()]
        held |= {frozenset(some) for size in (2, 3) for some in itertools.combinations(levels, size)}
    assert held >= set(interactions_of(MODELS[name]))


@pytest.mark.parametrize(
    ("name", "feature", "t"),
    [
        (n, key, t)
        for n, cls in MODELS.items()
        for key, levels in features_of(cls).items()
        if key not in SAME_POSTERIOR
        for t in range(1, len(levels))
    ],
)
def test_every_level_moves_the_posterior(name: str, feature: str, t: int) -> None:
    """A level that the code does not heed would be seen by the tests below."""
    model, features = MODELS[name], features_of(MODELS[name])
    plain = {key: values[0] for key, values in features.items()}
    changed = make_case(model, 4, 0, _as_options(plain | {feature: features[feature][t]})).partitions[1]
    expected = make_case(model, 4, 0, _as_options(plain)).partitions[1]
    if len(changed) == len(expected):
        assert transitions.total_variation(changed, expected) > 2e-3


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [pytest.param(n, *one, id=f"{n} {one[0]}") for n, cls in MODELS.items() for one in list_refusals(cls)],
)
def test_what_does_not_go_together_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    if options.keys() == {"sparse", "missing"}:
        with pytest.raises(ValueError, match=message):
            SparseGaussian(csr_array(np.array([[np.nan, 1.0], [0.0, 2.0]])))
        return
    with pytest.raises((ValueError, TypeError), match=message):
        make_case(MODELS[name], 4, 0, options)


def samplers_of(case: Case, rng: Rng) -> list[Sampler]:
    """Kernels that have a matrix: two of pairs of clusters, and a Gibbs update."""
    found: list[Sampler] = []
    if case.model.conjugate:
        found.append(Gibbs(case.model, rng, scan="site"))
    else:
        found.append(Neal8(case.model, rng, m=2, scan="site"))
    for sampler, options in ((Dyadic, {"allocation": "sams"}), (SDDS, {})):
        if sampler.supports(case.model)[0]:
            found.append(sampler(case.model, rng, **options))
    return found


def matrix_of(case: Case, sampler: Sampler) -> Any:
    """Transition matrix among the states of positive probability, from which none of the others is reached."""
    inside = np.flatnonzero(case.pi > 0.0)
    P = np.eye(len(case.states))
    P[np.ix_(inside, inside)] = transitions.transition_matrix(
        case.model, sampler.rng, sampler, [case.states[t] for t in inside.tolist()]
    )
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    return P


def is_listed(case: Case) -> bool:
    """Whether a state beside what is held is a partition, or one with parameters from a finite set."""
    return case.model.conjugate or len(case.states[0]) == 3


@pytest.mark.parametrize(("name", "number"), [p for p in cases() if p.values[0] != "hdp"])
def test_kernels_alone_are_exact(name: str, number: int) -> None:
    """Hyper-parameters and cells held; of clusters that keep parameters from a continuum the chains below."""
    case, rng = case_of(name, number), Rng(0)
    if not is_listed(case):
        return
    for sampler in samplers_of(case, rng):
        assert transitions.stationarity_defect(matrix_of(case, sampler), case.pi) < 1e-12, type(sampler).__name__


ITERATIONS = 12_000


def cases_with_cells() -> Iterator[Any]:
    """Cases whose state holds missing cells; those with scales that are resampled, which take seconds, are slow."""
    for case in cases():
        name, number = case.values
        options = design_of(MODELS[name])[number]
        has_gaps = options.get("missing") is True or options.get("complete") is False
        # jointly normal columns are at least two
        joint = options.get("covariance") == "full" and options.get("outcome") != 5 and not options.get("effects")
        if has_gaps and joint:
            long = options["b0"] == "gamma(2,3)" or options["kappa0"] == "gamma(2,4)"
            yield pytest.param(name, number, id=case.id, marks=[pytest.mark.slow] * long)


@pytest.mark.parametrize(("name", "number"), list(cases_with_cells()))
@pytest.mark.parametrize("labels", [(0, 0, 0, 1), (0, 1, 1, 0)])
def test_cells_alone_have_their_conditional(labels: tuple[int, ...], name: str, number: int) -> None:
    """`refresh` alone, in a partition where a cluster lacks most or all of a column, by Kolmogorov and Smirnov."""
    case = case_of(name, number)
    assert case.cell is not None
    prior, parameters = case.model.prior_values, case.model.parameters
    case.model.set_labels(np.array(labels, dtype=np.int32))
    refresh, found = Refresh(case.model, Rng(3)), []
    for _ in range(2500):
        for _ in range(4):
            refresh.step()
        found.append(case.model.parameters[CELL - 3, 0])
    case.model.set_prior_values(prior)
    case.model.set_parameters(parameters)
    t = np.linspace(-5.0, 5.0, 81)
    log_p = np.array([case.cell(labels, value) for value in np.sinh(t)]) + np.log(np.cosh(t))
    density = np.exp(log_p - log_p.max())
    total = np.cumsum(density) - 0.5 * density
    total /= density.sum()
    assert stats.kstest(found, lambda value: np.interp(np.arcsinh(value), t, total)).pvalue > 1e-3


def quick_cases() -> Iterator[Any]:
    """All cases; slow are those that cost ten times as much and repeat what cheaper ones prove: a prior that draws
    hyper-parameters by slices (but for the cheapest model, complete), heavy tails and moves of parts under any prior
    but the default, and chains of `emm` with a largest K."""
    for case in cases():
        name, number = case.values
        options = design_of(MODELS[name])[number]
        prior = str(options.get("prior", "crp"))
        slices = "beta" in prior or prior.startswith("dynamic_mfm")
        slices |= prior != "crp" and options.get("concentration") == "gamma(2,1)"
        costly = slices and (name != "bernoulli" or "missing" in options or prior.startswith("esc"))
        costly |= bool({"tails", "parts"} & set(options)) and prior != "crp"
        costly |= "kmax" in options
        yield pytest.param(name, number, id=case.id, marks=[pytest.mark.slow] * bool(costly))


@pytest.mark.parametrize(("name", "number"), list(quick_cases()))
def test_default_schedule_has_the_posterior(name: str, number: int) -> None:
    """All that is unknown resampled: frequencies of partitions against the posterior in which it is integrated out, at
    the noise of a chain. Where nothing is, the composed matrix."""
    check_schedule(name, number, ITERATIONS, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), list(cases()))
def test_default_schedule_has_the_posterior_in_long_chains(name: str, number: int) -> None:
    check_schedule(name, number, 40 * ITERATIONS, 0.007)


def check_schedule(name: str, number: int, iterations: int, most: float) -> None:
    case, rng = case_of(name, number), Rng(3)
    schedule = build_schedule(compose([f"model={name}"]), case.model, rng)
    if is_listed(case) and not case.model.refreshes and name != "hdp":
        P, _ = kernel.iteration_matrix(case, schedule, rng)
        if P is not None:
            assert transitions.stationarity_defect(P, case.pi) < 1e-12
        return
    frequencies, noise = kernel.sampled_frequencies(case, schedule.samplers, rng, iterations, schedule.weights)
    assert noise < most
    assert transitions.total_variation(frequencies, case.partitions[1]) < 3 * noise
