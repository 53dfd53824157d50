"""The commands in the order of the help: the module of each, imported when it is called, and its line of help."""

from typing import NamedTuple


class Command(NamedTuple):
    """The module of a command, and its line in the list of commands."""

    group: str
    module: str
    help: str


CLUSTER, JUDGE, COMPARE, LISTS, PAPERS, DEVELOPERS = (
    *("Cluster", "Judge a run", "Compare", "Look up", "The papers", "For developers"),
)

COMMANDS = {
    "run": Command(CLUSTER, "running", "Cluster a file, or run one sampler on one data set: smcmc run FILE"),
    "columns": Command(CLUSTER, "columns", "Show how a file is read, column by column: smcmc columns FILE"),
    "summary": Command(
        CLUSTER, "results", "Show the clusters of runs: sizes, certainty, and what each differs most in."
    ),
    "plot": Command(CLUSTER, "figures", "Draw the pictures of runs, or figures of the papers, from stored results."),
    "report": Command(CLUSTER, "figures", "Write one page of HTML about runs; without runs, about the papers."),
    "shards": Command(CLUSTER, "shards", "Cluster a table that is too large for one machine."),
    "diagnose": Command(
        JUDGE, "results", "Show whether chains have converged, with R-hat and ESS, and what to do next."
    ),
    "certify": Command(JUDGE, "racing", "Bound the distance of a chain from its posterior."),
    "sweep": Command(COMPARE, "running", "Run a grid: smcmc sweep sampler=sdds,rgsm N=100,200 'seed=range(3)'"),
    "compare": Command(
        COMPARE, "comparing", "Compare finished runs: clusters, convergence, cost, and their distances."
    ),
    "race": Command(COMPARE, "racing", "Compare samplers on one posterior: which reaches it first."),
    "list": Command(LISTS, "lists", "List samplers, models, priors, data sets, schedules or figures."),
    "data": Command(LISTS, "components", "Data sets: list, info NAME, fetch NAME."),
    "model": Command(LISTS, "components", "Models: list, info NAME."),
    "sampler": Command(LISTS, "components", "Samplers: list, info NAME."),
    "reproduce": Command(PAPERS, "figures", "Make the runs of figures, draw the figures, check their claims."),
    "verify": Command(DEVELOPERS, "verifying", "Compare samplers with the enumerated posterior of small data."),
    "posteriors": Command(DEVELOPERS, "verifying", "Posteriors over partitions, to test any program against."),
    "bench": Command(DEVELOPERS, "verifying", "Measure kernels and whole iterations against a plain C baseline."),
    "sys-info": Command(DEVELOPERS, "lists", "Show versions, commit and machine, for a report of a problem."),
}
