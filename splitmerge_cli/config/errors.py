"""Messages about a wrong configuration, one line that names the key and what was expected; and former names of models,
and of modules that configurations name: stored runs have these still, and are identified by them."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from splitmerge_cli.overrides import path_word

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
    "data.generated.kdd_like.kdd_like": "kinds.tables.generated.kdd_like",
    "data.generated.lines.generate": "kinds.lines.generate",
    "data.generated.mixed.generate": "kinds.tables.generated.mixed",
    "data.generated.network": "kinds.networks.generated",
    "data.generated.records": "kinds.records.generated",
    "data.given.find_dataset": "data.reading.find_dataset",
    "data.graphs.bundled.network": "kinds.networks.readers.objects.network",
    "data.graphs.edges": "kinds.networks.readers.edges",
    "data.published.counts.ohsumed23": "kinds.documents.published.ohsumed23",
    "data.published.documents": "kinds.documents.published",
    "data.published.graphs.caltech36": "kinds.networks.generated.caltech36",
    "data.published.graphs.hagmann998": "kinds.networks.generated.hagmann998",
    "data.published.graphs.nips234": "kinds.networks.generated.nips234",
    "data.published.graphs.usair97": "kinds.networks.generated.usair97",
    "data.published.kdd.kddcup04bio": "kinds.tables.generated.kddcup04bio",
    "data.published.noparama.lines": "kinds.lines.lines",
    "data.published.noparama.two_gaussians": "kinds.lines.two_gaussians",
    "data.published.pubmed.pubmed": "kinds.documents.published.pubmed",
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
    "samplers.arm.ARM": "samplers.reconfiguration.ARM",
    "samplers.birth_death.BirthDeath": "samplers.wang_russell.BirthDeath",
    "samplers.bsm.BSM": "samplers.split_merge.BSM",
    "samplers.dyadic.Dyadic": "samplers.split_merge.Dyadic",
    "samplers.exchange.Exchange": "samplers.chaperones.Exchange",
    "samplers.locally_informed.LocallyInformed": "samplers.gibbs.LocallyInformed",
    "samplers.neal8.Neal8": "samplers.gibbs.Neal8",
    "samplers.partially_collapsed": "kinds.documents.partially_collapsed",
    "samplers.rgsm.RGSM": "samplers.split_merge.RGSM",
    "samplers.rm.RM": "samplers.wang_russell.RM",
    "samplers.sdds.SDDS": "samplers.wang_russell.SDDS",
    "samplers.smag": "kinds.documents.smag",
    "samplers.srm.SRM": "samplers.reconfiguration.SRM",
    "samplers.ss.SS": "samplers.wang_russell.SS",
}
"""Modules of models, data and samplers, or a class or function of one, that moved: what ``_target_`` said before, and
says now."""
_BETWEEN = {
    "kinds.documents.published_counts": "kinds.documents.published",
    "kinds.documents.pubmed": "kinds.documents.published",
    "kinds.lines.data": "kinds.lines",
    "kinds.networks.published": "kinds.networks.generated",
    "kinds.networks.readers.bundled": "kinds.networks.readers.objects",
    "kinds.tables.kdd": "kinds.tables.generated",
}
"""Modules that such a function was in before it came where it is now: stored runs may name these, identities do not."""
_TODAY = {
    f"splitmerge_cli.{former}": f"splitmerge_cli.{today}" for former, today in (*_MODULES.items(), *_BETWEEN.items())
}
_FORMER = {f"splitmerge_cli.{today}": f"splitmerge_cli.{former}" for former, today in _MODULES.items()}


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


_INFERRED = (
    "the number of clusters is inferred; `smcmc summary RUN clusters={}` merges the clusters of a finished RUN to so "
    "many, K0 is the initial number"
)
_NO_BURN_IN = "diagnostics leave out the first half of every chain; warmup is iterations of full Gibbs scans alone"


MEANINGS = (
    ("K0", "nclusters k kinit ncomponents components clusters numclusters", _INFERRED),
    ("K0", "ntopics numtopics topics", "the number of topics is inferred; K0 is the initial number"),
    ("iterations", "niter iter iters maxiter iterations samples nsamples numsamples draws ndraws", ""),
    ("iterations", "sweeps steps nsteps epochs its mcmciterations", ""),
    ("seed", "randomstate randomseed rngseed rng", ""),
    ("workers", "njobs cores ncores threads nthreads parallelchains numworkers cpus", ""),
    ("warmup", "burnin burn nburn nburnin tune ntune discard numwarmup iterwarmup nwarmup", _NO_BURN_IN),
    ("chains", "nchains numchains restarts ninit", "each chain has a start of its own"),
    ("thin", "thinning nthin thinninginterval", ""),
    ("init", "initparams initialization initialize initial start initialstate", ""),
    ("budget", "time timelimit maxtime timeout seconds", "in seconds of sampling a chain"),
    ("out", "output outputdir outdir outfolder results savedir", ""),
    ("progress", "verbose verbosity quiet progressbar", ""),
    ("N", "n nitems npoints size nrows numitems", ""),
    (
        "model.concentration model.gamma model.alpha",
        "alpha concentration dpalpha alpha0 weightconcentrationprior alphaprior gamma",
        "",
    ),
    ("model.covariance", "covariancetype covtype covariance cov", "full, diag, or iso (spherical elsewhere)"),
    ("model.m0", "meanprior priormean mu0", ""),
    ("model.kappa0", "meanprecisionprior kappa lambda0", ""),
    ("sampler=NAME", "algorithm algo method solver", "smcmc list samplers"),
    ("model=NAME", "likelihood distribution family affinity", "smcmc list models"),
    ("data.path", "file filename filepath input datapath csv datafile", ""),
    ("data.truth", "labels target y truelabels groundtruth labelcolumn class", ""),
    ("data.separator", "sep delimiter delim", ""),
    ("data.missing", "navalues nastrings missingvalues na nan", ""),
    ("data.types", "dtype dtypes columntypes coltypes colclasses", ""),
    ("data.columns", "usecols features variables selectedcolumns", ""),
    ("data.sheet", "sheetname worksheet", ""),
    ("data.drop", "idcol idcolumn indexcol exclude ignore", ""),
)
"""Keys, of which the first that the configuration has counts; words of other programs that mean it, in small letters,
without underscores; and a reason to print with it."""


def find_meaning(key: str, known: Sequence[str], everywhere: Iterable[str], value: str = "5") -> tuple[str, str] | None:
    """Find the key, `known` or had `everywhere`, that does what another program calls `key`, and what to add about it,
    with the typed `value`; or None."""
    word = key.lstrip("+~").rpartition(".")[2].lower().replace("_", "").replace("-", "")
    offered = {*known, *everywhere}
    for keys, words, why in MEANINGS:
        if word in words.split():
            key_found = next((one for one in keys.split() if one in offered or one.endswith("=NAME")), None)
            if key_found is not None and key_found != key:
                return key_found, why.format(value if value.isdecimal() else "5")
    return None


ALWAYS = (
    *("N", "seed", "chains", "iterations", "budget", "thin", "K0", "init", "warmup", "timing", "resume", "workers"),
    *("out", "progress", "data.path"),
)
"""Keys that every configuration has, or that stand for the user's own data."""


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and what was expected."""


def show(value: Any) -> str:
    """A value as the user would type it."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return " ".join(text.splitlines())


def one_line(error: object) -> str:
    """A message without its line breaks."""
    return " ".join(str(error).split())


_FILES = re.compile(
    r".*\.(csv|tsv|tab|txt|dat|data|parquet|feather|xlsx|npy|npz|graphml|gml|mtx|edgelist|edges|xls|h5ad|sav|dta"
    r"|rds|json|jsonl|ndjson|zip|pdf|docx)(\.(gz|bz2|xz|zst|zip))?",
    re.IGNORECASE,
)


def is_file_name(path: str) -> bool:
    """Whether a word looks like the name of a data file."""
    return _FILES.fullmatch(path) is not None


def own_file(path: str) -> str | None:
    """The words that read a file of the user's own, if `path` looks like one."""
    if not is_file_name(path):
        return None
    return f"expected data=csv {path_word(path)} (a list of edges: data=edges, documents: data=corpus)"


def unknown_choice(group: str, name: str, known: Sequence[str]) -> str:
    """Message about a choice that a group does not have: what it has, and the nearest."""
    if group == "data" and (is_file := own_file(name)):
        return f"data={name}: {is_file}"
    if group == "model" and name in WHY:
        return f"model={name}: {WHY[name]}"
    near = nearest(name, known)
    hint = f" Did you mean {group}={near}?" if near else ""
    return f"{group}={name}: expected {'one of ' if known else ''}{', '.join(sorted(known)) or 'nothing'}.{hint}"


def unknown_key(key: str, known: Sequence[str], value: str = "") -> str:
    """Message about a key that does not exist, and its value, where that is known: the key that other programs call so,
    or the nearest."""
    if key == "data.path":
        return "data.path: a file is read by data=csv (a table), data=edges or data=corpus; expected one with data.path"
    within = [candidate for candidate in known if candidate.endswith(f".{key}")]
    if not within and (meanings := find_meaning(key, known, ALWAYS, value)):
        added = f" ({meanings[1]})" if meanings[1] else ""
        return f"{key}: no such key. Did you mean {meanings[0]}?{added} `smcmc run --cfg job` shows them all."
    group, dot, option = key.partition(".")
    siblings = {one.partition(".")[2]: one for one in known if one.startswith(f"{group}.")} if dot else {}
    if siblings:
        like = nearest(option, list(siblings))
        if like is None:
            return f"{key}: no such key; expected one of {', '.join(sorted(siblings.values()))}"
        near: str | None = siblings[like]
    else:
        near = nearest(key, known)
    hint = f" Did you mean {near}?" if near else ""
    return f"{key}: no such key.{hint} `smcmc run --cfg job` shows them all."


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The word of `known` that is `word` within a group, or most like it, if any is; among equals the one with more
    letters in place."""
    within = [candidate for candidate in known if candidate.endswith(f".{word}")]
    if len(within) == 1:
        return within[0]

    def likeness(candidate: str) -> tuple[float, int]:
        in_place = sum(a == b for a, b in zip(word, candidate, strict=False))
        return difflib.SequenceMatcher(None, word, candidate).ratio(), in_place

    best = max(known, key=likeness, default=None)
    return best if best is not None and likeness(best)[0] >= 0.6 else None
