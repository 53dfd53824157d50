"""Models that had another name: stored runs have it still, and are identified by it."""

from collections.abc import Mapping
from typing import Any

RENAMED = {
    "dirichlet_multinomial": "multinomial",
    "splitmerge_cli.models.dirichlet_multinomial.DirichletMultinomial": "splitmerge_cli.models.multinomial.Multinomial",
}
"""Former names and classes of models, and today's."""
FORMER = {today: former for former, today in RENAMED.items()}
WHY = {
    "dirichlet_multinomial": "this model is now model=multinomial (all rows of a cluster have the same shares). Where "
    "rows have shares of their own, the Dirichlet-multinomial of other programs is model=overdispersed_multinomial."
}
"""Messages about a former name that is typed."""


def rename(model: Mapping[str, Any], names: Mapping[str, str] = RENAMED) -> dict[str, Any]:
    """Return the options of a model, name and class exchanged by `names` if these have both: a model of the user's own
    may have a former name."""
    both = {key: names.get(str(model.get(key))) for key in ("name", "_target_")}
    return {**model, **both} if all(both.values()) else dict(model)
