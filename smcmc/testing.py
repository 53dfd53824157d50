"""Proofs of samplers and priors of your own, for your tests.

>>> from smcmc.testing import assert_exact
>>> assert_exact("gibbs", models=["bernoulli"])
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from splitmerge_cli.config import Component, choices, component
from splitmerge_cli.config.components import options_of
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.verify.cases import Request
from splitmerge_cli.verify.command import build_cases, check_case

__all__ = ["Proof", "assert_exact"]

CHAIN = 200_000
"""Iterations of a chain in place of a matrix, where the choices of a sampler cannot be listed."""


class Proof(NamedTuple):
    """The proof that one form of a sampler gave on a small data set.

    Attributes
    ----------
    model, case : str
        The model, and its data and parameters in words.
    form : str
        The sampler with the options that make the form.
    defect : float
        Largest entry of abs(pi P - pi) of the enumerated transition matrix P, pi being the enumerated posterior; nan
        where the choices of the sampler cannot be listed, so that a chain was compared.
    mutants : tuple of int
        How many of so many variants leave balance, each of which misses a term of the log ratio or has it turned round.
    """

    model: str
    case: str
    form: str
    defect: float
    mutants: tuple[int, int]


def assert_exact(
    sampler: str | type[Sampler],
    models: Sequence[str] | None = None,
    *,
    size: int = 4,
    seed: int = 0,
    iterations: int = CHAIN,
    sampler_options: Mapping[str, Any] | None = None,
    model_options: Mapping[str, Any] | None = None,
) -> list[Proof]:
    """Assert that a sampler leaves the posterior of small data as it is, all its random choices enumerated.

    It is what ``smcmc verify sampler=NAME mode=exact`` prints, as a test.

    Parameters
    ----------
    sampler : str or subclass of Sampler
        A name of ``smcmc list samplers``; or a class that no configuration names yet.
    models : sequence of str, optional
        Names of ``smcmc list models``; by default all whose posterior can be enumerated and that the sampler supports.
    size : int
        Items of a data set, 1 to 7.
    seed : int
        Of the data sets.
    iterations : int
        Of a chain whose frequencies are compared with the posterior, where the choices of a sampler cannot be listed,
        since it draws from a continuum; 0: such a form is no failure and no proof.
    sampler_options, model_options : mapping, optional
        Options that hold for the sampler, and for every model that has them: ``{"prior": "mfm"}``.

    Returns
    -------
    list of Proof
        One for each form on each data set.

    Raises
    ------
    AssertionError
        A form is not exact: the message names the transition that is furthest from balance. Or nothing was proved,
        since the sampler supports none of the models.
    ConfigError
        No such sampler, model or option.

    Examples
    --------
    >>> from smcmc.testing import assert_exact
    >>> max(proof.defect for proof in assert_exact("sdds", models=["bernoulli", "emm"])) < 1e-12
    True
    """
    sampler_values, of_model = dict(sampler_options or {}), dict(model_options or {})
    chosen = _component_of(sampler) if isinstance(sampler, type) else component("sampler", sampler)
    known = [component("model", name) for name in (choices("model") if models is None else models)]
    request = Request(
        samplers=[chosen.with_options(**sampler_values)],
        models=[one.with_options(**{k: v for k, v in of_model.items() if k in one.options}) for one in known],
        sampler_options=sampler_values,
        model_options=of_model,
        modes=["exact"],
        size=size,
        seed=seed,
        iterations=0,
        schedule=None,
        everything=False,
    )
    proofs: list[Proof] = []
    wrong: list[str] = []
    reasons: dict[str, str] = {}
    for model, case in build_cases(request):
        checked, rejected = check_case(case, request)
        if iterations and any(not one.judged for one in checked):
            checked, _ = check_case(case, replace(request, iterations=iterations))
        for one in checked:
            proofs.append(Proof(model, case.title, one.cells[0], one.defect, one.mutants))
            if not one.good:
                why = one.worst or f"the frequencies of a chain of {iterations:,} iterations are not the posterior's"
                wrong.append(f"{one.cells[0]} on model={model}, {case.title}: {why}")
        reasons.update((model, reason) for _, reason in rejected)
    if wrong:
        raise AssertionError("\n".join(["not exact:", *wrong]))
    if not proofs:
        refusals = "; ".join(f"{model} ({reason})" for model, reason in reasons.items())
        raise AssertionError(f"nothing was proved: {chosen.name} supports none of these models: {refusals}")
    return proofs


def _component_of(sampler: type[Sampler]) -> Component:
    """A class that no configuration names, with the defaults of its options."""
    defaults = {option.name: option.default for option in options_of(sampler).values()}
    values = {"name": sampler.__name__, "_target_": f"{sampler.__module__}.{sampler.__qualname__}", **defaults}
    return Component("sampler", sampler, {}, values, "sampler").with_options(**defaults)
