"""Forms of a sampler that ``smcmc verify`` checks, and their options on small data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.runs.datasets import build_sampler
from splitmerge_cli.verify.cases import Case


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
        component = sampler.with_options(**{**small, **form, "mode": mode})
        yield Form(name, " ".join([name, *further]), component, _find_rejection(case, component) if form else "")


def _find_rejection(case: Case, sampler: Component) -> str:
    """Return why a sampler that supports the model cannot be built on this case; empty: it can."""
    try:
        build_sampler(sampler, case.model, Rng(0))
    except ConfigError as error:
        return str(error.__cause__)
    return ""
