"""The commands in the order of the help: the module of each, imported when it is called, and its line of help."""

from typing import NamedTuple


class Command(NamedTuple):
    """The module of a command, and its line in the list of commands."""

    module: str
    help: str
    hidden: bool = False


COMMANDS = {
    "run": Command("running", "Cluster a file, or run one sampler on one data set: smcmc run FILE"),
    "columns": Command("columns", "Show how a file is read, column by column: smcmc columns FILE"),
    "sweep": Command("running", "Run a grid: smcmc sweep sampler=sdds,rgsm N=100,200 'seed=range(3)'"),
    "certify": Command(
        "certifying",
        "Bound the distance of a chain from its posterior: smcmc certify sampler=sams data=csv data.path=FILE",
    ),
    "race": Command(
        "races", "Compare samplers on one posterior: smcmc race sampler=sams,sdds,rgsm data=csv data.path=FILE"
    ),
    "shards": Command(
        "shards",
        "Cluster a table too large for one machine: smcmc shards data.path=FILE model=gaussian iterations=100",
    ),
    "reproduce": Command(
        "figures", "Make the runs of figures (finished ones are kept), draw the figures, check their claims."
    ),
    "plot": Command("figures", "Draw figures, or the pictures of a run, from stored results. Nothing is sampled."),
    "report": Command(
        "reports", "Write one page of HTML about runs or, without runs, about the reproduction of the papers."
    ),
    "diagnose": Command(
        "results",
        "Show whether chains have converged and what to do next: R-hat, effective sample size, acceptance, scores.",
    ),
    "summary": Command("results", "Show the clusters of runs: sizes, certainty, and what each differs most in."),
    "verify": Command(
        "verifying", "Check samplers against the enumerated posterior of small data, alone and with Gibbs."
    ),
    "bench": Command(
        "verifying",
        "Measure kernels and whole iterations against a plain C baseline (needs a checkout of the repository).",
    ),
    "compare": Command(
        "comparing", "Compare finished runs: clusters, convergence, cost, and distances between partitions."
    ),
    "keep": Command(
        "kept",
        "Keep pictures, numbers, claims and origin of figures, small enough for a repository.",
    ),
    "archive": Command(
        "kept", "Pack figures with their runs, claims and environment (RO-Crate), or verify such an archive."
    ),
    "list": Command("lists", "List samplers, models, priors, data sets, schedules or figures (default: all)."),
    "sys-info": Command("lists", "Show versions, commit and machine, for a report of a problem."),
    "data": Command("datasets", "Data sets: list, info NAME, fetch NAME."),
    "model": Command("components", "Models: list, info NAME."),
    "models": Command("components", "Models: list, info NAME.", hidden=True),
    "sampler": Command("components", "Samplers: list, info NAME."),
    "samplers": Command("components", "Samplers: list, info NAME.", hidden=True),
    "posteriors": Command(
        "posteriors", "Posteriors over partitions, to test any program against: list, export, check."
    ),
}
