"""Small cases for ``smcmc verify``, with a known posterior (a model on a few items, all its states, and their
exact probabilities), forms of a sampler, and its options, read once: names become code here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from splitmerge_cli.config import Component, ConfigError, choice, choices, quote_priors, read_component, unreadable
from splitmerge_cli.config.errors import unknown_choice
from splitmerge_cli.config.hydra_adapter import parse_override
from splitmerge_cli.core.checks import check_count
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Gamma, PositiveOrGamma
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import get_kind
from splitmerge_cli.overrides import suggest
from splitmerge_cli.runs.initial import build_sampler
from splitmerge_cli.verify import enumerate as exact
from splitmerge_cli.verify.continuous import candidates_log_weight, lines_log_weight


class Form(NamedTuple):
    """A form of a sampler."""

    name: str
    """The sampler's name and the options that make the form."""
    title: str
    """The name, and further options that the user named or that are small."""
    sampler: Component
    rejection: str
    """Why it cannot be built on this case; empty if it can, or where the sampler has no other form."""


def list_forms(case: Case, sampler: Component, options: Mapping[str, Any], mode: str) -> Iterator[Form]:
    """List the forms of a sampler, which supports the model, in a mode; none where mode=as_printed is no other sampler.
    Options that the user has given are the same in all forms."""
    target = sampler.target
    # by a term, or by an allocation or anchors of its own
    if mode == "as_printed" and target.PRINTED_TERM is None and "printed" not in target.TERMS:
        return
    own_options = {key: value for key, value in options.items() if key in sampler.options}
    small = {
        key: value for key, value in target.small_options(case.model).items() if key in sampler.options
    } | own_options
    chosen = [
        {key: own_options.get(key, value) for key, value in form.items()} for form in target.FORMS.get(mode, [{}])
    ]
    for number, form in enumerate(chosen):
        if form in chosen[:number]:
            continue
        name = " ".join([sampler.name, *map(str, form.values())])
        further = [f"{key}={value}" for key, value in (own_options if form else small).items() if key not in form]
        component, rejection = sampler.with_options(**{**small, **form, "mode": mode}), ""
        try:
            if form:
                build_sampler(component, case.model, Rng(0))
        except ConfigError as error:
            rejection = str(error.__cause__)
        yield Form(name, " ".join([name, *further]), component, rejection)


@dataclass(frozen=True, eq=False)
class Case:
    """A small posterior."""

    model: Model
    """The one that the samplers of the exact checks share."""
    build: Callable[[], Model]
    """Makes another like it."""
    states: list[exact.State]
    """Every state that the prior allows; of a model with parameters from a continuum every such partition."""
    pi: NDArray[np.float64]
    """Shape (n_states,): their exact probabilities: of the distribution that a move of the partition keeps, which holds
    hyper-parameters that are resampled."""
    title: str
    """The data and parameters, for people."""
    resample: Callable[[], NDArray[np.float64]] | None = None
    """Computes their exact probabilities where hyper-parameters are resampled too: integrals, which most checks do not
    need."""
    held: Callable[[float], NDArray[np.float64]] | None = None
    """Where clusters have weights: the exact probabilities given the weight of what no cluster holds (its logarithm),
    which moves of the clusters alone never change."""
    cell: Callable[[tuple[int, ...], float], float] | None = None
    """Where missing cells are a part of the state: the log density, up to a constant, of number `CELL` given the
    partition at a value as ``parameters`` of the model has it, all else integrated out."""
    parts: frozenset[str] = frozenset()
    """Options and their values by which it differs from the model's first case."""

    @cached_property
    def partitions(self) -> tuple[list[exact.State], NDArray[np.float64]]:
        """Every (labels, K) and its probability in a chain that makes all updates: parameters summed out."""
        pi = self.pi if self.resample is None else self.resample()
        total: dict[exact.State, float] = {}
        for state, p in zip(self.states, pi, strict=True):
            total[state[:2]] = total.get(state[:2], 0.0) + p
        return list(total), np.array(list(total.values()))


ON_ALL_CASES = ("gibbs", "sdds")
"""Samplers that are checked on every case: between them they ask a model for all that most samplers ask for."""


def deal(cases: Sequence[Case], samplers: Sequence[Component]) -> list[list[Component]]:
    """Samplers for each case of a model such that each sampler meets each part of the cases that it supports: it starts
    with the cases without parts and one of its own, and goes on with the case that has most parts it has not met. A
    sampler that does not support a case is named there, to be rejected."""
    dealt: list[list[Component]] = [[] for _ in cases]
    for number, sampler in enumerate(samplers):
        able = [sampler.target.supports(case.model)[0] for case in cases]
        open_ = [c % len(cases) for c in range(number, number + len(cases)) if able[c % len(cases)]]
        left = frozenset[str]().union(*(cases[c].parts for c in open_))
        chosen = {c for c in open_ if not cases[c].parts or sampler.name in ON_ALL_CASES} | set(open_[:1])
        left -= frozenset[str]().union(*(cases[c].parts for c in chosen))
        while left:
            chosen.add(best := max(open_, key=lambda c: len(cases[c].parts & left)))
            left -= cases[best].parts
        for c in range(len(cases)):
            if c in chosen or not able[c]:
                dealt[c].append(sampler)
    return dealt


MOST_ENTITIES = 20
"""Largest kmax whose states are enumerated."""


def emm_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` mentions of up to three tokens; kmax is `size` unless given."""
    options: dict[str, Any] = {"alpha": 0.5, "mu": 1.0, "sigma": 1.0, "kmax": size, "label_prior": "labelled"}
    options |= {"n_tokens": 3} | dict(params)
    check_count("model.kmax", options["kmax"], 1, MOST_ENTITIES)
    tokens = np.random.default_rng(seed).integers(3, size=size).astype(np.int32)
    another = partial(build, tokens, **options)
    model = another()
    states = exact.emm_states(size, options["kmax"])
    weight = exact.emm_log_weight(tokens, *(options[k] for k in ("n_tokens", "alpha", "mu", "sigma", "label_prior")))
    title = f"tokens {' '.join(map(str, tokens))}, {_format_options(options)}"
    return Case(model, another, states, exact.normalise([weight(s) for s in states]), title)


def lines_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` points near two lines; collapsed, uncollapsed, or uncollapsed with two candidates."""
    options: dict[str, Any] = {"concentration": 1.3, "sigma0": 2.0, "sigma1": 1.5, "noise": "known", "a0": 2.5}
    options |= {"prior": "crp", "conjugate": True, "refresh": "draw", "steps": 2, "candidates": None} | dict(params)
    rng = np.random.default_rng(seed)
    x = np.round(rng.uniform(-2, 2, size), 2)
    points = np.column_stack([x, np.round(np.where(rng.random(size) < 0.5, x, 1 - x) + rng.normal(0, 1, size), 2)])
    prior, sigma1 = options["prior"], options["sigma1"]
    states = exact.mixture_states(size)
    if options["candidates"] is not None:
        states = exact.candidates_states(size, options["candidates"])

    def weight(concentration: exact.Concentration) -> Callable[[exact.State], float]:
        if options["candidates"] is not None:
            return candidates_log_weight(points, concentration, sigma1, prior, options["candidates"])
        noise = options["noise"], options["a0"]
        return lines_log_weight(points, concentration, options["sigma0"], sigma1, *noise, prior)

    return mixture_case(partial(build, points, **options), states, weight, options, format_points(points))


def irm_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """A graph of `size` nodes: of four the paper's, else a random one with an edge for every other pair."""
    options: dict[str, Any] = {"concentration": 1.0, "beta1": 1.0, "beta0": 1.0, "prior": "crp"} | dict(params)
    upper = np.triu(np.random.default_rng(seed).integers(2, size=(size, size)), 1)
    if size == 4:
        upper = np.array([[0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    adjacency = (upper + upper.T).astype(np.uint8)
    edges = " ".join(f"{a}-{b}" for a, b in np.argwhere(upper)) or "none"

    def weight(concentration: exact.Concentration) -> Callable[[exact.State], float]:
        return exact.irm_log_weight(adjacency, concentration, options["beta1"], options["beta0"], options["prior"])

    another = partial(build, csr_array(adjacency), **options)
    return mixture_case(another, exact.mixture_states(size), weight, options, f"edges {edges}")


def hdp_case(build: Callable[..., Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """`size` tokens of three words in up to three documents."""
    options: dict[str, Any] = {"gamma": 1.6, "alpha0": 0.9, "eta": 0.4} | dict(params)
    words = np.random.default_rng(seed).integers(3, size=size).astype(np.int32)
    docs = np.minimum(np.arange(size) // 2, 2) if size < 6 else np.repeat([0, 1, 2], [size - 3, 2, 1])
    starts = np.searchsorted(docs, np.arange(docs.max() + 2))
    another = partial(build, words, starts, 3, **options)
    model, states = another(), exact.mixture_states(size)
    text = " | ".join(" ".join("abc"[w] for w in words[docs == j]) for j in range(docs.max() + 1))
    given: dict[str, Any] = {key: _concentration(options[key]) for key in ("gamma", "alpha0")}

    def probabilities(log_unseen: float | None = None) -> NDArray[np.float64]:
        weight = exact.hdp_log_weight(docs, words, 3, given["gamma"], given["alpha0"], options["eta"], log_unseen)
        return exact.normalise([weight(s) for s in states])

    # draws from a continuum are in every move: there is no matrix, whose distribution would be another
    held = None if any(isinstance(v, tuple) for v in given.values()) else probabilities
    return Case(model, another, states, probabilities(), f"documents {text}, {_format_options(options)}", held=held)


def mixture_case(
    build: Callable[[], Model],
    states: list[exact.State],
    weight: Callable[[exact.Concentration], Callable[[exact.State], float]],
    options: Mapping[str, Any],
    data: str,
    integrated: Callable[[exact.Concentration], Callable[[exact.State], float]] | None = None,
) -> Case:
    """The case of a mixture whose log weights are known for every concentration, and for a gamma prior of it.

    `integrated`: the same with all else integrated that is resampled, where there is any. Of other priors whose
    hyper-parameters are resampled, `weight` takes their present values, by name.
    """
    title = f"{data}, {_format_options(options)}"
    model = build()
    concentration = model.prior.concentration
    held = {"concentration": concentration} | model.prior_values if model.prior_values else concentration
    log_p = dict(zip(states, map(weight(held), states), strict=True))
    states = [s for s in states if log_p[s] > -np.inf]
    pi = exact.normalise([log_p[s] for s in states])
    if not model.prior_values and integrated is None:
        return Case(model, build, states, pi, title)
    resampled = (integrated or weight)(_concentration(options["concentration"]))
    return Case(model, build, states, pi, title, lambda: exact.normalise([resampled(s) for s in states]))


def reference_case(model: type[Model], size: int, seed: int, params: Mapping[str, Any]) -> Case:
    """The small case of a model with a ``reference_log_lik``: the example of its kind of data, of `size` items."""
    options = {option.name: option.default for option in model.OPTIONS} | {"concentration": 1.3} | dict(params)
    data, reference = get_kind(model.kind).example_for(model, size, seed), model.reference_log_lik
    assert reference is not None
    accepted, reason = model.accepts(data)
    if not accepted:
        raise ValueError(f"model {model.__name__} does not accept the example of its kind, nor a part of it: {reason}")
    of_rows: dict[str, Any] = {key: np.resize(options.pop(key), size) for key in ("exposure",) if key in options}
    build = partial(model.from_data, replace(data, **of_rows), **options)

    def weight(concentration: exact.Concentration) -> Callable[[exact.State], float]:
        def log_lik(z: NDArray[np.int64]) -> float:
            return float(reference(data.values, z, **options, **of_rows))

        return exact.mixture_log_weight(log_lik, concentration, options["prior"])

    return mixture_case(build, exact.mixture_states(size), weight, options, f"{data.name}, {size} items")


def _concentration(value: Any) -> exact.Concentration:
    """A concentration as the enumeration takes it."""
    read = PositiveOrGamma("concentration", 1.0, "").read(value, "model")
    return (read.shape, read.rate) if isinstance(read, Gamma) else read


def _format_options(options: Mapping[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in options.items() if v is not None)


def format_points(points: NDArray[Any]) -> str:
    return "points " + " ".join(f"({','.join(f'{cell:g}' for cell in row)})" for row in points).replace("nan", "-")


OwnCase = tuple[Callable[[Any, int, int, Mapping[str, Any]], Case], list[dict[str, Any]]]
"""Function that makes the small case of a model (of its class, the number of items, a seed and options), and the
options that ``smcmc verify`` goes through when none are given."""
CASES: dict[str, OwnCase] = {
    "EMM": (emm_case, [{}]),
    "Lines": (
        lines_case,
        [
            {},
            {"noise": "nig"},
            {"concentration": "gamma(2,1)"},
            {"conjugate": False, "candidates": [[0.0, 1.0], [1.0, -0.5]]},
            {"conjugate": False, "candidates": [[0.0, 1.0], [1.0, -0.5]], "refresh": "metropolis"},
            {"conjugate": False},
            {"conjugate": False, "noise": "nig", "refresh": "metropolis"},
        ],
    ),
    "IRM": (irm_case, [{}, {"concentration": "gamma(2,1)"}]),
    "HDP": (hdp_case, [{}, {"gamma": 0.3, "alpha0": 6.0}, {"gamma": "gamma(2,1)", "alpha0": "gamma(2,1)"}]),
}
"""Small cases by class of model; `splitmerge_cli.data.dataset.Kind.cases` names the cases of other kinds."""


def _own_case(model: type[Model]) -> OwnCase | None:
    """The case of a model in this package; None if it has the one of its ``reference_log_lik``, or none. A class that
    another distribution defines has none, whatever its name."""
    if not model.__module__.startswith("splitmerge_cli."):
        return None
    named = get_kind(model.kind).cases
    return (CASES | (resolve_name(named) if named else {})).get(model.__name__)


def has_small_case(model: type[Model]) -> bool:
    """Whether the posterior of a model can be enumerated on small data."""
    return model.reference_log_lik is not None or _own_case(model) is not None


def variants_of(model: type[Model]) -> list[dict[str, Any]]:
    """Options of a model that ``smcmc verify`` goes through when none are given."""
    own = _own_case(model)
    return [{}, {"concentration": "gamma(2,1)"}] if own is None else own[1]


def small_case(model: type[Model], size: int = 4, seed: int = 0, params: Mapping[str, Any] | None = None) -> Case:
    """The small case of a model class; a ValueError for a class without one, or parameters out of range."""
    if not has_small_case(model):
        raise ValueError(f"model {model.__name__} has no enumerable small case: no reference_log_lik")
    own = _own_case(model)
    return (reference_case if own is None else own[0])(model, size, seed, params or {})


KEYS = {"sampler": "all", "model": "all", "mode": "both", "size": 4, "seed": 0, "iterations": 200_000, "schedule": None}
"""Keys of the command and their defaults; ``sampler.X`` and ``model.X`` set an option of the sampler or model. Without
a schedule samplers are checked, each alone."""


@dataclass(frozen=True)
class Request:
    """The samplers to check and the small cases to check them on."""

    samplers: list[Component]
    models: list[Component]
    sampler_options: dict[str, Any]
    model_options: dict[str, Any]
    """Options that the user names, as given: they hold for every chosen sampler or model that has them."""
    modes: list[str]
    """``exact``, ``as_printed`` or both."""
    size: int
    seed: int
    iterations: int
    schedule: str | None
    """As in `smcmc run`; checked instead of the samplers alone."""
    everything: bool
    """Explain samplers that are biased as printed, too."""
    deals: bool = False
    """Deal the samplers out over the cases of a model (`deal`): not all of both."""


def read_request(args: Mapping[str, str], own_places: Sequence[str], everything: bool = False) -> Request:
    """Read and check the command's options, `KEYS` and options of samplers and models; `own_places`: more of Hydra's
    places."""
    values: dict[str, Any] = dict(KEYS)
    nested: dict[str, dict[str, Any]] = {"sampler": {}, "model": {}}
    for key, text in args.items():
        value = _read_value(key, text)
        group, _, option = key.partition(".")
        if option and group in nested:
            if (group, option) == ("sampler", "mode"):
                raise ConfigError(f"sampler.mode={text}: here the key is mode: exact, as_printed or both")
            nested[group][option] = value
        elif key in KEYS:
            values[key] = value
        else:
            expected = f"{', '.join(KEYS)}, sampler.OPTION, model.OPTION"
            hint = suggest(key, [*KEYS, "sampler.", "model."])
            raise ConfigError(f"{key}: no such key of verify; expected one of {expected}{hint}")
    for key, least, largest in (("size", 1, 7), ("seed", 0, 2**63), ("iterations", 0, 10**9)):
        if isinstance(values[key], bool) or not isinstance(values[key], int) or not least <= values[key] <= largest:
            raise ConfigError(f"{key}={values[key]}: expected a whole number from {least} to {largest}")
    if values["iterations"] and values["iterations"] < 1000:
        raise ConfigError(f"iterations={values['iterations']}: expected 0 or at least 1000")
    if values["mode"] not in ("exact", "as_printed", "both"):
        raise ConfigError(f"mode={values['mode']}: expected exact, as_printed or both")
    if schedule := values["schedule"]:
        if mode := args.get("mode"):
            raise ConfigError(f"mode={mode}: expected no mode with schedule={schedule}, which is checked as it is")
        if not schedule.startswith("[") and ("sampler" not in args or "," in args["sampler"]):
            raise ConfigError(f"schedule={schedule}: expected one sampler as well, such as sampler=sdds")
    chosen = {group: _read_group(group, values[group], nested[group], own_places) for group in nested}
    return Request(
        samplers=chosen["sampler"],
        models=chosen["model"],
        sampler_options=nested["sampler"],
        model_options=nested["model"],
        modes=["exact", "as_printed"] if values["mode"] == "both" else [values["mode"]],
        everything=everything,
        deals=values["sampler"] == "all" and not everything,
        **{key: values[key] for key in ("size", "seed", "iterations", "schedule")},
    )


def _read_group(group: str, text: str, options: Mapping[str, Any], own_places: Sequence[str]) -> list[Component]:
    """Read the samplers or models of these names, each with the options that it has."""
    names = choices(group, own_places)
    chosen = names if text == "all" else text.split(",")
    for name in chosen:
        if name not in names:
            raise ConfigError(unknown_choice(group, name, ["all", *names]))
    files = {name: choice(group, name, own_places) for name in chosen}
    known = {key for file in files.values() for key in file if not key.startswith("_") and key != "name"}
    for option in options:
        if option not in known:
            expected = ", ".join(sorted(known))
            raise ConfigError(f"{group}.{option}: no such option of {text}; expected one of {expected}")
    return [
        read_component(group, name, file | {key: value for key, value in options.items() if key in file}, own_places)
        for name, file in files.items()
    ]


def _read_value(key: str, text: str) -> Any:
    """Return a value as `smcmc run` reads it; names of groups, which may be lists, and schedules as they stand."""
    if key in ("sampler", "model", "schedule"):
        return text
    try:
        override = parse_override(quote_priors(f"{key}={text}"))
    except ConfigError as error:
        raise ConfigError(unreadable(f"{key}={text}")) from error
    if override.is_sweep_override():
        raise ConfigError(f"{key}={text}: several values; expected one")
    return override.value()
