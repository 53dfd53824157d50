"""Schedules: what a list of samplers reaches, and that an iteration changes all that is unknown.

A sampler declares what it leaves as it is (``Sampler.invariants``). The enumerated kernels say whether that is so:
samplers reach every state together just where they have no invariant in common.
"""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import yaml
from every_sampler import SAMPLERS, case_of, pairs
from test_transition_matrix import enumerate_kernel

from splitmerge_cli import sample
from splitmerge_cli.config import ConfigError, choice, compose, locate
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import CLUSTERS, EMPTY, PARTITION
from splitmerge_cli.runs.initial import build_schedule
from splitmerge_cli.verify import cases, kernel, transitions
from splitmerge_cli.verify.enumerate import state_of

# with and without empty clusters, and with parameters from a finite set
REACHED = ("emm", "emm-partition", "emm-room", "bernoulli", "irm", "lines-conjugate-candidates")
LISTS = (
    "[{sams: 1}, {gibbs: 1}]",
    # one restricted scan: five have a hundred times as many paths
    "[{rgsm: {weight: 2, t: 1}}, {dyadic: 1}]",
    "[{triadic: {weight: 1, beta: 0.5}}, {gibbs: {weight: 3, scan: site}}]",
    "[{sams: 3}, {neal8: {weight: 1, m: 2}}]",
)
UNKNOWN = {
    "concentration of a mixture": ("bernoulli", {"concentration": "gamma(2,1)"}),
    "concentration of a network": ("irm", {"concentration": "gamma(2,1)"}),
    "b0": ("gaussian", {"covariance": "iso", "b0": "gamma(1.5,3)"}),
    "b0, kappa0, concentration": (
        "gaussian",
        {"covariance": "diag", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)", "concentration": "gamma(2,1)"},
    ),
    "b0, kappa0, full": ("gaussian", {"covariance": "full", "b0": "gamma(2,3)", "kappa0": "gamma(2,4)"}),
    "concentration of mixed columns": ("mixed", {"concentration": "gamma(2,1)"}),
}
OTHERS = {
    "[{smag: 2}, {gibbs: 1}]": ("hdp", {"gamma": "gamma(2,1)", "alpha0": "gamma(2,1)"}),
    "[{partially_collapsed: 1}, {sams: 1}, {refresh: 2}]": ("hdp", {"gamma": "gamma(2,1)", "alpha0": 1.5}),
    "[{triadic: 1}, {neal8: 1}]": ("lines", {"conjugate": False, "concentration": "gamma(2,1)"}),
}


def case_and_configuration(model: str, options: dict, schedule: str):
    case = cases.small_case(locate(choice("model", model)["_target_"]), params=options)
    return case, compose([f"model={model}", f"schedule={schedule}"])


@pytest.mark.parametrize("case_name", REACHED)
def test_samplers_reach_every_state_where_they_have_no_invariant_in_common(case_name):
    case = case_of(case_name)
    named = [name for c, name in pairs() if c == case_name]
    reach = {name: enumerate_kernel(case_name, name).matrix > 0 for name in named}
    left = {name: SAMPLERS[name].sampler.invariants(case.model, **SAMPLERS[name].options) for name in named}
    for together in [*((name,) for name in named), *combinations(named, 2)]:
        union = np.any([reach[name] for name in together], axis=0)
        common = frozenset.intersection(*(left[name] for name in together))
        assert transitions.is_irreducible(union) == (not common), together


@pytest.mark.parametrize("case_name", REACHED)
def test_an_invariant_stays(case_name):
    case = case_of(case_name)
    values = {
        PARTITION: [state[0] for state in case.states],
        CLUSTERS: [state[1] for state in case.states],
        EMPTY: [state[1] - max(state[0]) - 1 for state in case.states],
    }
    for name in (name for c, name in pairs() if c == case_name):
        for invariant in SAMPLERS[name].sampler.invariants(case.model, **SAMPLERS[name].options):
            start, end = np.nonzero(enumerate_kernel(case_name, name).matrix)
            assert all(values[invariant][a] == values[invariant][b] for a, b in zip(start, end, strict=True)), name


@pytest.mark.parametrize("schedule", LISTS)
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_a_list_samples_what_is_unknown(unknown, schedule):
    """The kernel of an iteration keeps the posterior given hyper-parameters; the chain that a run makes samples the
    posterior with these unknown, where it had kept their first values."""
    model, options = UNKNOWN[unknown]
    case, cfg = case_and_configuration(model, options, schedule)
    rng = Rng(0)
    built = build_schedule(cfg, case.model, rng)
    P, why = kernel.iteration_matrix(case, built, rng)
    if P is None:
        assert why == "continuous"  # auxiliary components of normal clusters
    else:
        assert transitions.stationarity_defect(P, case.pi) < 1e-10
        assert transitions.is_irreducible(P)
    distance, noise = kernel.sample_schedule(case, partial(build_schedule, cfg), 20_000, seed=1)
    assert distance < 3 * noise


@pytest.mark.parametrize("schedule", OTHERS)
def test_a_list_samples_weights_and_parameters(schedule):
    case, cfg = case_and_configuration(*OTHERS[schedule], schedule)
    distance, noise = kernel.sample_schedule(case, partial(build_schedule, cfg), 40_000, seed=1)
    assert distance < 3 * noise


@pytest.mark.parametrize("schedule", LISTS[:2])
def test_a_run_samples_the_enumerated_posterior(schedule):
    """From the configuration to the recorded partitions."""
    case, _ = case_and_configuration(*UNKNOWN["concentration of a mixture"], schedule)
    model = {"name": "bernoulli", "concentration": "gamma(2,1)", "beta1": 0.6, "beta0": 0.9}
    rows = [[int(cell) for cell in row] for row in case.title.split(",")[0].removeprefix("rows ").split()]
    options = {"trace.partitions": 1, "schedule": yaml.safe_load(schedule), "init": "prior"}
    posterior = sample(model, np.array(rows, dtype=np.uint8), chains=2, iterations=20_000, seed=2, options=options)
    states, pi = case.partitions
    drawn = [state_of(labels, max(labels) + 1) for labels in posterior.partitions.reshape(-1, 4).tolist()]
    frequencies = np.array([drawn.count(state) for state in states]) / len(drawn)
    assert transitions.total_variation(frequencies, pi) < 0.02
    assert posterior.traces.posterior["concentration"].std() > 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model=emm", "sampler=gibbs"], "no move of gibbs changes the number of clusters"),
        (["model=emm", "schedule=[{rm: 1}, {triadic: 2}]"], "no move of rm or triadic changes the number of empty"),
        (["model=emm", "sampler=birth_death", "schedule=move_only"], "no move of birth_death changes the partition"),
        (["model=lines", "model.conjugate=false", "sampler=refresh"], "no move of refresh changes the partition"),
        (["model=hdp", "sampler=partially_collapsed", "sampler.share=0"], "changes the number of clusters"),
    ],
)
def test_a_schedule_that_does_not_reach_every_state_is_rejected(words, message):
    """And the one that the message advises is taken."""
    case, _ = case_and_configuration(
        words[0].removeprefix("model="), {"conjugate": False} if "lines" in words[0] else {}, LISTS[0]
    )
    with pytest.raises(ConfigError, match=message) as error:
        build_schedule(compose(words), case.model, Rng(0))
    advised = str(error.value).split("'")[1]
    build_schedule(compose([words[0], advised]), case.model, Rng(0))
