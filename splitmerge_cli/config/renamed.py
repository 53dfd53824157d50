"""Former names of models, and of modules that configurations name: stored runs have these still, and are identified by
them.
"""

from collections.abc import Callable, Mapping
from typing import Any

RENAMED = {"dirichlet_multinomial": "multinomial"}
"""Former names of models, and today's."""
WHY = {
    "dirichlet_multinomial": "this model is now model=multinomial (all rows of a cluster have the same shares). Where "
    "rows have shares of their own, the Dirichlet-multinomial of other programs is model=overdispersed_multinomial."
}
"""Messages about a former name that is typed."""
_FORMER_CLASS = "splitmerge_cli.models.dirichlet_multinomial.DirichletMultinomial"
_MODULES = {
    "data.corpora.files": "kinds.documents.readers.files",
    "data.generated.counts.generate": "kinds.tables.generated.counts",
    "data.generated.documents": "kinds.documents.generated",
    "data.generated.emm": "kinds.tokens",
    "data.generated.gaussian.generate": "kinds.tables.generated.gaussian",
    "data.generated.jain_neal.generate": "kinds.tables.generated.jain_neal",
    "data.generated.kdd_like.kdd_like": "kinds.tables.kdd.kdd_like",
    "data.generated.lines.generate": "kinds.lines.data.generate",
    "data.generated.mixed.generate": "kinds.tables.generated.mixed",
    "data.generated.network": "kinds.networks.generated",
    "data.generated.records": "kinds.records.generated",
    "data.graphs.bundled": "kinds.networks.readers.bundled",
    "data.graphs.edges": "kinds.networks.readers.edges",
    "data.published.counts": "kinds.documents.published_counts",
    "data.published.documents": "kinds.documents.published",
    "data.published.graphs": "kinds.networks.published",
    "data.published.kdd.kddcup04bio": "kinds.tables.kdd.kddcup04bio",
    "data.published.noparama.lines": "kinds.lines.data.lines",
    "data.published.noparama.two_gaussians": "kinds.lines.data.two_gaussians",
    "data.published.pubmed": "kinds.documents.pubmed",
    "models.bernoulli": "kinds.tables.models.bernoulli",
    "models.emm": "kinds.tokens.emm",
    "models.gamma_poisson": "kinds.tables.models.gamma_poisson",
    "models.gaussian": "kinds.tables.models.gaussian",
    "models.hdp": "kinds.documents.hdp",
    "models.irm": "kinds.networks.irm",
    "models.lines": "kinds.lines.model",
    "models.mixed": "kinds.tables.models.mixed",
    "models.multinomial": "kinds.tables.models.multinomial",
    "models.overdispersed_multinomial": "kinds.tables.models.overdispersed_multinomial",
    "models.records": "kinds.records.model",
    "samplers.partially_collapsed": "kinds.documents.partially_collapsed",
    "samplers.smag": "kinds.documents.smag",
}
"""Modules of models, data and samplers, or a function of one, that moved into the folder of their kind: what
``_target_`` said before, and says now."""
_TODAY = {f"splitmerge_cli.{former}": f"splitmerge_cli.{today}" for former, today in _MODULES.items()}
_FORMER = {today: former for former, today in _TODAY.items()}


def _replace_module(options: Mapping[str, Any], modules: Mapping[str, str]) -> dict[str, Any]:
    target = str(options.get("_target_"))
    module, _, name = target.rpartition(".")
    moved = modules.get(target) or (f"{modules[module]}.{name}" if module in modules else None)
    return {**options, "_target_": moved} if moved else dict(options)


def rename(config: Mapping[str, Any], names: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return the data, the model and the samplers of a configuration with other names: `today` or `former`."""
    renamed: dict[str, Any] = {group: names(config[group]) for group in ("data", "model", "sampler") if group in config}
    schedule = config.get("schedule", {})
    if isinstance(mix := schedule.get("mix"), list):
        entries = [names(entry) if isinstance(entry, Mapping) else entry for entry in mix]
        renamed["schedule"] = {**schedule, "mix": entries}
    return renamed


def today(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a stored model, data set or sampler with today's names.

    A model of the user's own may have a former name: it keeps it.
    """
    if options.get("_target_") == _FORMER_CLASS and options.get("name") in RENAMED:
        target = f"{_TODAY['splitmerge_cli.models.multinomial']}.Multinomial"
        return {**options, "name": RENAMED[options["name"]], "_target_": target}
    return _replace_module(options, _TODAY)


def former(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model, data set or sampler with the names by which runs are identified."""
    found = _replace_module(options, _FORMER)
    if found.get("_target_") == "splitmerge_cli.models.multinomial.Multinomial" and found["name"] == "multinomial":
        return {**found, "name": "dirichlet_multinomial", "_target_": _FORMER_CLASS}
    return found
