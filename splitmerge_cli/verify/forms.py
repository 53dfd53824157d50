"""Which forms of a sampler ``smcmc verify`` checks, and with which options on small data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from splitmerge_cli.config import ConfigError
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.verify.cases import Case
from splitmerge_cli.verify.transitions import build_sampler


def prints_another(sampler: type[Sampler]) -> bool:
    """Whether mode=as_printed is another sampler: by a term, or by an allocation or anchors of its own."""
    return sampler.PRINTED_TERM is not None or "printed" in sampler.TERMS


def own_options(given: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a sampler that the user names."""
    return {k: v for k, v in options["sampler_options"].items() if k in given and not k.startswith("_") and k != "name"}


def small_options(case: Case, sampler: type[Sampler], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a sampler with which few execution paths are to be enumerated."""
    return {k: v for k, v in sampler.small_options(case.model).items() if k in given}


def forms_of(sampler: type[Sampler], own: Mapping[str, Any], mode: str) -> list[dict[str, Any]]:
    """Forms of a sampler that have rows; one without options where it has a single form.

    An option that the user names is the same in all.
    """
    chosen = [{k: own.get(k, v) for k, v in form.items()} for form in sampler.FORMS.get(mode, [{}])]
    return [form for t, form in enumerate(chosen) if form not in chosen[:t]]


def refusal(case: Case, given: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
    """Why a form of a sampler that supports the model cannot be built on this case; empty: it can."""
    try:
        build_sampler(case.model, Rng(0), given, extra)
    except ConfigError as error:
        return str(error.__cause__)
    return ""
