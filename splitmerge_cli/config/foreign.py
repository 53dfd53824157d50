"""Words of other programs for what a key here does: scikit-learn, R, Stan and others. One table, for messages alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_INFERRED = (
    "the number of clusters is inferred; `smcmc summary RUN clusters={}` merges the clusters of a finished RUN to so "
    "many, K0 is the initial number"
)
_NO_BURN_IN = "diagnostics leave out the first half of every chain; warmup is iterations of full Gibbs scans alone"


@dataclass(frozen=True)
class Meaning:
    """Meaning of `words` of other programs, in small letters, without underscores: `keys` that do it, of which the
    first that the configuration has counts, and `why`, what there is to add."""

    words: tuple[str, ...]
    keys: tuple[str, ...]
    why: str = ""


MEANINGS = (
    Meaning(("nclusters", "k", "kinit", "ncomponents", "components", "clusters", "numclusters"), ("K0",), _INFERRED),
    Meaning(("ntopics", "numtopics", "topics"), ("K0",), "the number of topics is inferred; K0 is the initial number"),
    Meaning(
        ("niter", "iter", "iters", "maxiter", "iterations", "samples", "nsamples", "numsamples", "draws", "ndraws"),
        ("iterations",),
    ),
    Meaning(("sweeps", "steps", "nsteps", "epochs", "its", "mcmciterations"), ("iterations",)),
    Meaning(("randomstate", "randomseed", "rngseed", "rng"), ("seed",)),
    Meaning(("njobs", "cores", "ncores", "threads", "nthreads", "parallelchains", "numworkers", "cpus"), ("workers",)),
    Meaning(
        ("burnin", "burn", "nburn", "nburnin", "tune", "ntune", "discard", "numwarmup", "iterwarmup", "nwarmup"),
        ("warmup",),
        _NO_BURN_IN,
    ),
    Meaning(("nchains", "numchains", "restarts", "ninit"), ("chains",), "each chain has a start of its own"),
    Meaning(("thinning", "nthin", "thinninginterval"), ("thin",)),
    Meaning(("initparams", "initialization", "initialize", "initial", "start", "initialstate"), ("init",)),
    Meaning(("time", "timelimit", "maxtime", "timeout", "seconds"), ("budget",), "in seconds of sampling a chain"),
    Meaning(("output", "outputdir", "outdir", "outfolder", "results", "savedir"), ("out",)),
    Meaning(("verbose", "verbosity", "quiet", "progressbar"), ("progress",)),
    Meaning(("n", "nitems", "npoints", "size", "nrows", "numitems"), ("N",)),
    Meaning(
        ("alpha", "concentration", "dpalpha", "alpha0", "weightconcentrationprior", "alphaprior", "gamma"),
        ("model.concentration", "model.gamma", "model.alpha"),
    ),
    Meaning(
        ("covariancetype", "covtype", "covariance", "cov"),
        ("model.covariance",),
        "full, diag, or iso (spherical elsewhere)",
    ),
    Meaning(("meanprior", "priormean", "mu0"), ("model.m0",)),
    Meaning(("meanprecisionprior", "kappa", "lambda0"), ("model.kappa0",)),
    Meaning(("algorithm", "algo", "method", "solver"), ("sampler=NAME",), "smcmc list samplers"),
    Meaning(("likelihood", "distribution", "family", "affinity"), ("model=NAME",), "smcmc list models"),
    Meaning(("file", "filename", "filepath", "input", "datapath", "csv", "datafile"), ("data.path",)),
    Meaning(("labels", "target", "y", "truelabels", "groundtruth", "labelcolumn", "class"), ("data.truth",)),
    Meaning(("sep", "delimiter", "delim"), ("data.separator",)),
    Meaning(("navalues", "nastrings", "missingvalues", "na", "nan"), ("data.missing",)),
    Meaning(("dtype", "dtypes", "columntypes", "coltypes", "colclasses"), ("data.types",)),
    Meaning(("usecols", "features", "variables", "selectedcolumns"), ("data.columns",)),
    Meaning(("sheetname", "worksheet"), ("data.sheet",)),
    Meaning(("idcol", "idcolumn", "indexcol", "exclude", "ignore"), ("data.drop",)),
)


def find_meaning(key: str, known: Sequence[str], everywhere: Iterable[str], value: str = "5") -> tuple[str, str] | None:
    """Find the key, `known` or had `everywhere`, that does what another program calls `key`, and what to add about it,
    with the typed `value`; or None."""
    word = key.lstrip("+~").rpartition(".")[2].lower().replace("_", "").replace("-", "")
    offered = {*known, *everywhere}
    for meaning in MEANINGS:
        if word in meaning.words:
            key_found = next((one for one in meaning.keys if one in offered or one.endswith("=NAME")), None)
            if key_found is not None and key_found != key:
                return key_found, meaning.why.format(value if value.isdecimal() else "5")
    return None
