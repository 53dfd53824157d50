"""Every choice of every group composes, builds and runs; every sampler on every model that it supports."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from splitmerge_cli import runs
from splitmerge_cli.config import choice, choices, compose, describe, locate
from splitmerge_cli.core.capabilities import Weighted
from splitmerge_cli.core.chain import advance_together
from splitmerge_cli.data import downloads
from splitmerge_cli.papers import declaration, experiments
from splitmerge_cli.runs.sweeps.sweep import check_jobs, expand, read_jobs

MODELS = choices("model")
SAMPLERS = choices("sampler")
EXPERIMENTS = choices("experiment")
# choices that a run needs more for
NEEDS = {
    "csv": ["data.path=tokens.csv"],
    "edges": ["data.path=edges.txt"],
    "corpus": ["data.path=corpus.csv"],
    "mix": ["schedule.mix=[{sdds: 1}, {gibbs: 2}]"],
    "neal8": ["data=lines", "model=lines"],
    "smag": ["data=docs200"],
    "partially_collapsed": ["data=docs200"],
    "drawn_topics": ["data=docs200"],
    **{name: ["data=jain_neal"] for name in ("slice", "subcluster")},
    "ohsumed23": ["N=300"],
    **{name: ["data=jain_neal"] for name in ("arm", "sarm", "bsm", "srm", "lshsm", "gibbs")},
    **{name: ["data=jain_neal"] for name in ("chaperones", "exchange", "locally_informed", "nonreversible")},
}
GENERATED = [name for name in choices("data") if "path" not in choice("data", name) and name not in downloads.SETS]


@pytest.fixture(autouse=True)
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tokens.csv").write_text("a\nb\nc\n" * 5)
    Path("edges.txt").write_text("a b\nb c\n")
    Path("corpus.csv").write_text("doc,word\na,x\na,y\nb,x\n")


def data_for(model: str) -> str:
    """A generated data set that a model reads, found by asking for it."""
    cls = locate(choice("model", model)["_target_"])
    for name in GENERATED:
        options = choice("data", name)
        generate = locate(options.pop("_target_"))
        options.pop("name")
        if cls.accepts(generate(**options | {"N": 20}))[0]:
            return name
    pytest.fail(f"no generated data set that model={model} reads")


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group in ("data", "model", "sampler", "schedule") for name in choices(group)]
)
def test_composes_and_builds(group: str, name: str) -> None:
    if group == "data" and name in downloads.SETS and not downloads.present(name):
        pytest.skip(f"the folder SMCMC_DATA holds no {name}")
    if name == "refresh":
        pytest.skip("it moves no item: a schedule names it beside others")
    data = [f"data={data_for(name)}"] if group == "model" else []
    cfg = compose([f"{group}={name}", *data, *NEEDS.get(name, [])])
    names = {"data": cfg.data.name, "model": cfg.model.name, "sampler": cfg.sampler_name, "schedule": cfg.schedule.name}
    assert names[group] == name or (group, name) == ("sampler", "auto")
    chain = runs.prepare(cfg).chain(0)
    rows = chain.advance(3)
    assert rows["iteration"].tolist() == [0, 1, 2, 3]
    assert np.isfinite(rows["log_joint"]).all()


SCHEDULES = ("move_only", "single_site", "full_scan")


def covering_pairs() -> Iterator[tuple[str, str]]:
    """Every sampler with a third of the models, and with those whose clusters have weights, which some samplers alone
    support; tests/exact has all pairs."""
    for i, sampler in enumerate(SAMPLERS):
        for j, model in enumerate(MODELS):
            if (i + j // 3) % 3 == j % 3 or issubclass(locate(choice("model", model)["_target_"]), Weighted):
                yield sampler, model


@pytest.mark.parametrize(("sampler", "model"), covering_pairs())
def test_pairs(sampler: str, model: str) -> None:
    """A sampler on a model, or a rejection that says why; schedules take turns."""
    schedule = SCHEDULES[(SAMPLERS.index(sampler) + MODELS.index(model)) % 3]
    args = [f"sampler={sampler}", f"model={model}", f"data={data_for(model)}", f"schedule={schedule}", "N=20", "K0=3"]
    for mode in ("exact", "as_printed"):
        if sampler == "lshsm" and mode == "as_printed":
            # the proposal that the paper prints; it needs dense items
            args.append("sampler.proposal=sums")
            if model == "irm":
                continue
        try:
            plan = runs.prepare(compose([*args, f"sampler.mode={mode}", "warmup=5"]))
        except runs.ConfigError as error:
            if "does not support" not in str(error) and "does not reach every state" not in str(error):
                raise
            return
        if plan.spec.is_adaptive:
            chains = plan.chains()
            advance_together(chains, 55, workers=2)
        else:
            chains = [plan.chain(0)]
            chains[0].advance(55)
        chain, state = chains[0], chains[0].model
        # the running sums of the moves agree with the state that they led to
        assert chain.log_joint == pytest.approx(state.log_lik_total() + state.log_prior_total(), rel=1e-9)
        proposed = sum(move["proposed"] for move in chain.moves() if move["move"] != "gibbs")
        assert proposed >= 50 or sampler == "gibbs"


@pytest.mark.parametrize("schedule", ["move_only", "single_site", "full_scan"])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_pairs_with_parameters(sampler: str, schedule: str) -> None:
    """A model that keeps its parameters: supported, or rejected with the reason."""
    args = ["model=lines", "data=lines", "model.conjugate=false", "model.noise=nig", "N=20", f"schedule={schedule}"]
    if sampler not in ("dyadic", "sams", "triadic", "lshsm", "neal8", "refresh", "portfolio"):
        with pytest.raises(
            runs.ConfigError, match="does not support model=lines: it needs the parameters integrated out"
        ):
            runs.prepare(compose([*args, f"sampler={sampler}"]))
        return
    if sampler == "refresh":
        with pytest.raises(runs.ConfigError, match="no move of refresh changes the partition"):
            runs.prepare(compose([*args, "sampler=refresh"]))
        return
    chain = runs.prepare(compose([*args, f"sampler={sampler}"])).chain(0)
    state = chain.model
    chain.advance(50)
    moves = {move["move"]: move["proposed"] for move in chain.moves()}
    # every iteration ends with an update of all parameters
    assert moves["parameters"] >= 50
    scanned = {"move_only": 0, "single_site": 50, "full_scan": 1000}[schedule]
    assert moves.get("neal8", 0) == scanned or sampler == "neal8"
    assert state.parameters.shape == (state.K, 3)
    assert np.isfinite(chain.log_joint)


def test_schedules_follow_the_sampler_as_they_say() -> None:
    def gibbs_moves(*args: str) -> int:
        chain = runs.prepare(compose(["data=jain_neal", "model=bernoulli", "N=20", "K0=3", *args])).chain(0)
        chain.advance(10)
        return sum(move["proposed"] for move in chain.moves() if move["move"] == "gibbs")

    assert gibbs_moves("schedule=move_only") == 0
    assert gibbs_moves("schedule=single_site") == 10
    assert gibbs_moves("schedule=full_scan") == 10 * 20
    assert gibbs_moves("schedule=full_scan", "sampler=rgsm", "sampler.g=3") == 10 * 3 * 20
    assert gibbs_moves("schedule=single_site", "sampler=rgsm", "sampler.g=3") == 10
    assert gibbs_moves("schedule=full_scan", "sampler=gibbs") == 10 * 20
    assert gibbs_moves("schedule=full_scan", "sampler=gibbs", "sampler.scan=site") == 10


@pytest.mark.parametrize("group", ["data", "model", "sampler", "schedule"])
def test_every_choice_is_described(group: str) -> None:
    for name, line in describe(group):
        assert line, f"conf/{group}/{name}.yaml does not begin with a comment that says what it is"


@pytest.mark.parametrize("name", choices("data"))
def test_data_options_are_those_of_the_function(name: str) -> None:
    options = choice("data", name)
    parameters = inspect.signature(locate(options.pop("_target_"))).parameters
    assert set(options) - {"name"} == set(parameters)


def every_experiment() -> Iterator[Any]:
    """Every experiment with the number of its jobs that are checked. Those of a figure are composed by the figures' own
    tests too: here they are slow."""
    figures = {name for name, entry in declaration.figures().items() if entry.compute is None}
    for name in choices("experiment"):
        yield pytest.param(name, 3, marks=[pytest.mark.slow] if name in figures else [])


@pytest.mark.parametrize(("name", "most"), list(every_experiment()))
def test_every_experiment_composes(name: str, most: int, tmp_path: Path) -> None:
    # with generated data in the place of published ones, which a machine may lack
    jobs = experiments.jobs(name, "quick", tmp_path, stand_in=True) or expand([f"experiment={name}"])
    specs, wrong = read_jobs(jobs[:most])
    for outcome in [*wrong, *check_jobs(specs)]:
        assert outcome.error is None
        assert outcome.path is None or outcome.path.parent.name in EXPERIMENTS
