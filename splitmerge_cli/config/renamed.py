"""Models that had another name: stored runs have it still, and are identified by it."""

from collections.abc import Mapping
from typing import Any

RENAMED = {
    "dirichlet_multinomial": "multinomial",
    "splitmerge_cli.models.dirichlet_multinomial.DirichletMultinomial": "splitmerge_cli.models.multinomial.Multinomial",
}
"""Names and classes of models, and those of today."""
_FORMER = {today: former for former, today in RENAMED.items()}
_WHY = {
    "dirichlet_multinomial": "(all rows of a cluster have the same shares). Where rows have shares of their own, the "
    "Dirichlet-multinomial of other programs is model=overdispersed_multinomial."
}


def explain_renamed(name: str) -> str | None:
    """Return the message about a model that is typed by a former name, or None."""
    return f"model={name}: this model is now model={RENAMED[name]} {_WHY[name]}" if name in _WHY else None


def rename_stored(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model that a run was stored with, name and class those of today."""
    return _rename(model, RENAMED)


def rename_as_before(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model, name and class those by which runs are identified."""
    return _rename(model, _FORMER)


def _rename(model: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    # a model of the user's own may have a former name: both fit, or neither is changed
    both = {key: names.get(str(model.get(key))) for key in ("name", "_target_")}
    return {**model, **both} if all(both.values()) else dict(model)
