"""The command of a configuration makes that configuration."""

import shlex

import pytest

from splitmerge_cli.config import compose, specify
from splitmerge_cli.config.specification import command_of


@pytest.mark.parametrize(
    "args",
    [
        ["data=emm"],
        ["data=emm", "N=500", "sampler=sdds", "iterations=700", "workers=2", "progress=none"],
        ["data=gaussian", "model=gaussian", "model.kappa0=gamma(2,1)", "sampler=sdds", "sampler.mode=as_printed"],
        ["schedule=[{sdds: 2}, {rgsm: {weight: 1, t: 3}}, {gibbs: 1}]", "data=jain_neal"],
        ["data=csv", "data.path='a b,c.csv'", "model=mixed", "data.drop=[id,2]", "budget=30", "out='else where'"],
        ["data=csv", "data.path=x.csv", "model=emm", "data.truth='1'", 'data.missing=[-99,unknown,"it\'s"]'],
        ["data=docs200", "data.heldout=.2", "perplexity.every=10", "schedule=move_only", "sampler=smag"],
        ["experiment=sdds-fig1"],
    ],
    ids=lambda args: args[0],
)
def test_a_command_makes_the_configuration_again(args: list[str]) -> None:
    spec = specify(args)
    program, verb, *words = shlex.split(str(command_of(spec)))
    again = specify(words)
    assert (program, verb) == ("smcmc", "run")
    assert again.identity == spec.identity and again.folder == spec.folder
    assert not any(word.startswith(("workers", "progress")) for word in words)


def test_what_is_changed_takes_the_place_of_what_was() -> None:
    spec = compose(["data=jain_neal", "sampler=rgsm", "sampler.t=3", "schedule.moves=4", "iterations=50"])
    assert command_of(spec, {"sampler": "auto"}) == "smcmc run data=jain_neal iterations=50"
    assert command_of(spec, {"iterations": 100}) == (
        "smcmc run data=jain_neal sampler=rgsm iterations=100 sampler.t=3 schedule.moves=4"
    )
    mixed = compose(["data=jain_neal", "schedule=[{sdds: 1}, {gibbs: 1}]"])
    assert command_of(mixed, {"schedule": "full_scan"}) == "smcmc run data=jain_neal"
    # of a length that nobody named: it still ends when it is long enough
    assert str(command_of(mixed, {"iterations": 9000, "sampler": "sams"})).endswith(
        " sampler=sams iterations=9000 until.rhat=1.05 until.ess=100 until.mcse=0.02"
    )
    assert command_of(spec, {"iterations": None, "sampler": "auto"}) == "smcmc run data=jain_neal"
    # of another model, options of this one are left out
    mixed = compose(["data=mixed", "model=mixed", "model.kappa0=2", "sampler=sams", "seed=3"])
    assert command_of(mixed, {"model": "gaussian", "sampler": "auto"}) == ("smcmc run data=mixed model=gaussian seed=3")
    assert command_of(mixed, {"seed": (1, 2), "model.kappa0": (0.5, "gamma(1,1)")}).endswith(
        "seed=1,2 'model.kappa0=0.5,gamma(1,1)'"
    )
    held = compose(["data=given", f"data.sha256={'0' * 64}", "model=gaussian"])
    assert command_of(held) is None
