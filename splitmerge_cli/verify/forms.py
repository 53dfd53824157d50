"""Which forms of a sampler ``smcmc verify`` checks, and with which options on small data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from splitmerge_cli.core.capabilities import PlugIn
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.verify.cases import Case

SMALL: dict[str, dict[str, Any]] = {name: {"t": 1} for name in ("rgsm", "sm", "bsm")}
SMALL["neal8"] = {"m": 2, "scan": "site"}
SMALL["lshsm"] = {"bits": 1, "tables": 2}
"""Options for the tree of choices to stay small; the user's own come on top."""

FORMS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "lshsm": {
        "exact": [
            {"proposal": proposal, "reading": reading}
            for proposal in ("paired", "paired_sequential", "sums")
            for reading in ("table", "union")
        ],
        "as_printed": [
            {"proposal": "sums", "reading": "table"},
            {"proposal": "sums", "reading": "union"},
            {"proposal": "sums", "reading": "table", "likelihood": "lss"},
        ],
    },
    "smag": {
        "exact": [
            {"choice": choice_of, "weights": weights}
            for choice_of in ("pair", "coin")
            for weights in ("before", "after")
        ],
        "as_printed": [{"form": "text"}, {"form": "box"}],
    },
}
"""Forms of a sampler that each have a row; an option that the user gives is the same in all."""

MOST_ORDERS = 4
"""Most items whose relabellings (srm, arm, sarm) are enumerated; of more they are visited in their own order."""


def prints_another(sampler: type[Sampler]) -> bool:
    """Whether mode=as_printed is another sampler: by a term, or by an allocation or anchors of its own."""
    return sampler.PRINTED_TERM is not None or "printed" in sampler.TERMS


def own_options(given: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The user's options of a sampler."""
    return {k: v for k, v in options["sampler_options"].items() if k in given and not k.startswith("_") and k != "name"}


def forms_of(given: Mapping[str, Any], mode: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The forms of a sampler that have rows; one without options where it has a single form."""
    forms = FORMS.get(given["name"], {}).get(mode, [{}])
    own = own_options(given, options)
    chosen = [{k: own.get(k, v) for k, v in form.items()} for form in forms]
    return [form for t, form in enumerate(chosen) if form not in chosen[:t]]


def refusal(case: Case, given: Mapping[str, Any], form: Mapping[str, Any], mode: str) -> str:
    """Why a form of a sampler that supports the model does not support this case in this mode; empty: it does."""
    if given["name"] != "lshsm":
        return ""
    if mode == "as_printed" and form["proposal"] != "sums":
        return "the paper prints sums alone"
    if form["proposal"] == "sums" and not case.model.conjugate:
        return "sums needs the parameters integrated out"
    if form.get("likelihood") == "lss" and case.model.capability(PlugIn) is None:
        return "lss needs dense points and model=gaussian, diag or iso"
    return ""


def small_options(case: Case, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for the tree of choices to stay small."""
    if given["name"] == "neal8" and case.model.conjugate:
        return {}
    many = "relabel" in given and case.model.N > MOST_ORDERS
    return {**SMALL.get(given["name"], {}), **({"relabel": False} if many else {})}
