"""Samplers and small cases of the exact tests: every sampler of conf/sampler in all its forms, and which go together.

A new sampler's file and configuration, or a new model's case, are found by themselves.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from enumerations import Enumeration, enumeration, round_trip_defect

from splitmerge_cli.config import classes, component
from splitmerge_cli.core import capabilities, rng
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Choice, Flag
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.samplers.reconfiguration import ARM
from splitmerge_cli.samplers.split_merge import BSM
from splitmerge_cli.verify.cases import Case, has_small_case, small_case, variants_of
from splitmerge_cli.verify.transitions import adaptive_matrices, balance_defect, example_histories, stationarity_defect

KEPT = {"conjugate": False, "candidates": [[0.0, 1.0], [1.0, -0.5]]}
"""Options of lines whose parameters are kept, of a finite set."""
LEARNERS = {
    "arm": (ARM, {"relabel": False}),
    "sarm": (ARM, {"variant": "sarm", "relabel": False}),
    "bsm-0": (BSM, {"t": 0}),
    "bsm-1": (BSM, {"t": 1}),
    "bsm-sams": (BSM, {"allocation": "sams"}),
    "bsm-similarity": (BSM, {"allocation": "similarity"}),
}
"""Samplers that learn from other chains, each with a matrix for each pair of partitions that it learned from."""
MODEL_CLASSES = {model.__name__: model for model in classes("model").values()}
# the place of a model is the seed of its data
_FIRST = ("EMM", "Bernoulli", "Lines", "Gaussian", "Mixed", "IRM", "HDP", "Records", "OverdispersedMultinomial")
MODELS = [*_FIRST, *(name for name, cls in MODEL_CLASSES.items() if name not in _FIRST and has_small_case(cls))]
# edges beside the variants of every model: few items, extreme parameters, other priors
EDGES: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "emm-partition": ("EMM", 4, 1, {"label_prior": "partition"}),
    "emm-as_printed": ("EMM", 4, 2, {"label_prior": "as_printed", "alpha": 0.1}),
    "emm-small-alpha": ("EMM", 4, 3, {"alpha": 0.001}),
    "emm-room": ("EMM", 3, 4, {"kmax": 5, "n_tokens": 4, "mu": 2.0}),
    "emm-tight": ("EMM", 4, 5, {"kmax": 2}),
    "emm-one": ("EMM", 1, 6, {"kmax": 3}),
    "bernoulli-five": ("Bernoulli", 5, 1, {"concentration": 0.4}),
    "bernoulli-uniform": ("Bernoulli", 4, 2, {"prior": "uniform"}),
    "bernoulli-sharp": ("Bernoulli", 4, 3, {"beta1": 0.01, "beta0": 0.02}),
    "bernoulli-one": ("Bernoulli", 1, 4, {}),
    "bernoulli-two": ("Bernoulli", 2, 5, {"concentration": 3.0}),
    "lines-sharp": ("Lines", 4, 1, {"sigma1": 0.3, "sigma0": 10.0}),
    "lines-uniform": ("Lines", 3, 3, {"prior": "uniform"}),
    "gaussian-uniform": ("Gaussian", 3, 3, {"covariance": "full", "prior": "uniform", "b0": [0.01, 4.0]}),
    "irm-uneven": ("IRM", 4, 0, {"beta1": 0.3, "beta0": 1.7, "concentration": 0.6}),
    "irm-five": ("IRM", 5, 1, {"concentration": 0.4}),
    "irm-uniform": ("IRM", 4, 0, {"prior": "uniform"}),
    "irm-sharp": ("IRM", 4, 0, {"beta1": 0.01, "beta0": 0.02, "concentration": 2.0}),
    "irm-one": ("IRM", 1, 0, {}),
    "irm-two": ("IRM", 2, 1, {"beta1": 0.3}),
    "mixed-one": ("Mixed", 1, 0, {"outcome": 1, "effects": [4]}),
    "records-one": ("Records", 1, 0, {}),
}


def _cases() -> dict[str, tuple[str, int, int, dict[str, Any]]]:
    """Every variant that ``smcmc verify`` goes through, and the edges."""
    found = {}
    for number, name in enumerate(MODELS):
        for variant in variants_of(MODEL_CLASSES[name]):
            size = 3 if "candidates" in variant else 4
            found["-".join([name.lower(), *(_word(k, v) for k, v in variant.items())])] = name, size, number, variant
    return found | EDGES


def _word(key: str, value: Any) -> str:
    return str(value) if isinstance(value, str) else key


CASES = _cases()


@cache
def case_of(name: str) -> Case:
    """The one case of this name that all tests of a process share."""
    model, size, seed, params = CASES[name]
    return small_case(MODEL_CLASSES[model], size, seed, params)


@cache
def smaller_case_of(name: str) -> Case:
    """The case of this name with three items."""
    model, size, seed, params = CASES[name]
    return small_case(MODEL_CLASSES[model], min(size, 3), seed, params)


class Form(NamedTuple):
    """A sampler class with the options of one form."""

    sampler: type[Sampler]
    options: dict[str, Any]


def _forms() -> dict[str, Form]:
    """Every sampler as configured, and with each word or flag of its options off its default in turn; one of the same
    class and options twice counts once."""
    found: dict[str, Form] = {}
    seen: set[tuple[type[Sampler], str]] = set()
    kept = small_case(MODEL_CLASSES["Lines"], 3, 0, KEPT).model
    for name, sampler in classes("sampler").items():
        known = {option.name for option in sampler.OPTIONS}
        base = component("sampler", name).options | sampler.small_options(kept)
        base = {k: v for k, v in base.items() if k in known and k != "mode"}
        if "t" in base:
            # more scans of the launch state only multiply the paths
            base["t"] = 1
        for changed in (*_changes(sampler, base), *sampler.FORMS.get("exact", [])):
            options = base | changed
            key = sampler, repr(sorted(options.items()))
            if key not in seen:
                seen.add(key)
                found["-".join([name, *(f"{k}={v}" for k, v in changed.items())])] = Form(sampler, options)
    return found


def _changes(sampler: type[Sampler], base: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {}
    for option in sampler.OPTIONS:
        # how chains learn is nothing to a kernel whose partitions are held
        # with near pairs there are two ways to choose clusters: test_near_pairs.py
        if option.name in ("mode", "adaptation", "clusters") or option.help.startswith("mode=as_printed"):
            continue
        values = option.choices if isinstance(option, Choice) else (True, False) if isinstance(option, Flag) else ()
        yield from ({option.name: value} for value in values if value != base.get(option.name, option.default))


SAMPLERS = _forms()


def chooses(form: Form, model: Model) -> bool:
    """Whether a model has what a form chooses pairs by; without near pairs `auto` is `uniform`."""
    word = form.options.get("pairs")
    if word == "hashed":
        return model.vectors is not None
    return model.near_pairs is not None or word not in ("near", "uniform")


def is_adaptive(name: str) -> bool:
    """Whether a sampler learns from other chains, so that it has a kernel for each pair of partitions and of items."""
    return hasattr(SAMPLERS[name].sampler, "fix")


@cache
def has_listed_states(case_name: str) -> bool:
    """Whether the states of a case can be listed: all but the partition is from a finite set, or held."""
    model = case_of(case_name).model
    return not isinstance(model, capabilities.Weighted) and (model.conjugate or len(case_of(case_name).states[0]) == 3)


def is_supported(case_name: str, name: str) -> bool:
    """Whether a sampler has a transition matrix on a case."""
    case, form = case_of(case_name), SAMPLERS[name]
    if not has_listed_states(case_name) or not form.sampler.supports(case.model)[0]:
        return False
    if form.sampler.DRAWS_FROM_CONTINUUM:
        # on a finite base measure it has one: test_subcluster.py, test_smag.py
        return False
    if form.options.get("relabel") and case.model.N > 4:
        # the relabellings of five items are too many
        return False
    if form.options.get("proposal") == "sums" and not case.model.conjugate:
        return False
    if not chooses(form, case.model):
        return False
    # hyper-parameters, missing cells and numbers of tables are drawn from a continuum
    more = case.model.hyperparameters or getattr(case.model, "n_imputed", 0) or case.model.why_not_coupled
    return name != "refresh" or not more


def pairs(learning: bool = False) -> list[tuple[str, str]]:
    """Every case with every form of every sampler that has a matrix there."""
    return [(c, s) for c in CASES for s in SAMPLERS if is_adaptive(s) == learning and is_supported(c, s)]


QUICK_MODELS = {"EMM", "Bernoulli", "IRM", "Lines", "Multinomial"}
"""Models whose ratios take little time: on these four items are relabelled."""


def case_for(case_name: str, name: str) -> Case:
    """The case on which a sampler is enumerated: with three items where it relabels four in their 24 orders at the
    price of half a second, since its kernel with ``relabel=False`` is enumerated on all four."""
    model, _, _, params = CASES[case_name]
    # exposures are one for each item
    small = SAMPLERS[name].options.get("relabel") and model not in QUICK_MODELS and "exposure" not in params
    return smaller_case_of(case_name) if small else case_of(case_name)


LIKE_OTHERS = (
    "gaussian-iso-t",
    "mixed-ordinal-complete-power",
    "gammapoisson-exposure-power",
    "mixed-outcome-effects-complete-power-resolution",
    "mixed-outcome-effects-complete-t",
)
"""Cases that differ from others in what cheaper cases prove."""
HALVED = (
    "gaussian-diag-missing-gamma(2,3)-gamma(2,4)",
    "gaussian-diag-select-missing",
    "gaussian-diag-t",
    "gaussian-full-gamma(2,3)-gamma(2,4)",
    "gaussian-full-t",
    "gaussian-iso-gamma(1.5,3)",
    "mixed-ordinal-select",
    "mixed-outcome-effects-slope_weight",
    "mixed-t-full-complete",
    "mixed-t-resolution",
    "overdispersedmultinomial-gamma(2,1)",
)
"""Costly variants of models of which others meet every sampler: each meets every other sampler, two in a row all."""
REPEATED = {("irm-five", "triadic")}
REPEATED |= {(f"emm-{c}", f"independence{s}") for c in ("as_printed", "small-alpha") for s in ("", "-share=1.0")}
REPEATED |= {("emm", "independence-share=1.0"), ("emm-partition", "independence")}
REPEATED |= {("emm-partition", "independence-share=1.0")}
"""Pairs that take seconds and prove what cheaper ones do."""


def with_slow(found: list[tuple[str, str]]) -> list[Any]:
    """Parameters of a test, those that repeat others marked slow."""
    order = {name: number for number, name in enumerate(SAMPLERS)}

    def is_slow(c: str, s: str) -> bool:
        is_left_out = c in HALVED and (HALVED.index(c) + order[s]) % 2 == 1
        return is_left_out or c in LIKE_OTHERS or (c, s) in REPEATED

    return [pytest.param(c, s, marks=[pytest.mark.slow] * is_slow(c, s)) for c, s in found]


def check_terms(found: Enumeration, least: float = 1e-9) -> None:
    """Check the proposals, terms and mutants of a sampler.

    The matrix from the proposals is that of the decisions as they are made; the terms are, negated, those of the
    inverse; every mutant, a term left out or turned round, is off balance by `least`.
    """
    made = found.proposals
    assert made.has_named_terms()
    np.testing.assert_allclose(made.matrix(), found.matrix, atol=1e-12)
    assert round_trip_defect(made) < 1e-8
    for mutant, P in made.mutants().items():
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12, err_msg=str(mutant))
        assert balance_defect(P, found.case.pi) > least, mutant


def check_kernels(case: Case, samplers: list[str], with_terms: bool) -> None:
    """Each is stationary; the terms of every proposal are, negated, those of its inverse; every mutant is found."""
    for sampler in samplers:
        form = SAMPLERS[sampler]
        found = enumeration(case, form.sampler, **form.options)
        np.testing.assert_allclose(found.matrix.sum(axis=1), 1.0, rtol=1e-12, err_msg=sampler)
        assert stationarity_defect(found.matrix, case.pi) < 1e-12, sampler
        if found.sampler.TERMS:
            assert balance_defect(found.matrix, case.pi) < 1e-12, sampler
            if with_terms and form.options.get("moves", 1) == 1:
                check_terms(found)


def check_learners(case: Case, samplers: list[str]) -> None:
    """Samplers that learn are exact with what they have learned held fixed, and for every pair of items alone."""
    for sampler in samplers:
        form = SAMPLERS[sampler]
        one = form.sampler(case.model, rng.Rng(0), **form.options)
        for P, for_pairs in adaptive_matrices(case.model, one.rng, one, case.states, example_histories(case.states, 2)):
            for matrix in (P, *for_pairs):
                assert stationarity_defect(matrix, case.pi) < 1e-12, sampler
