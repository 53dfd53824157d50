"""Starts from the clusters of a simpler model, and the best of several trials."""

import shlex
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import smcmc
from splitmerge_cli.config import ConfigError, compose
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.partition_losses import by_appearance
from splitmerge_cli.fits import candidates
from splitmerge_cli.fits.short_fits import CHAINS, short_fits
from splitmerge_cli.kinds.tables.start import TableStart
from splitmerge_cli.runs import advice, initial, prepare, starts
from splitmerge_cli.runs.initial import build_model
from splitmerge_cli.runs.starts import BEST, SIMPLER, start_of
from splitmerge_cli.runs.store.read import Run

pytestmark = pytest.mark.usefixtures("commands")

D = 9
OPEN = ["model=gaussian", "model.covariance=full", "model.b0=hierarchical", "model.kappa0=hierarchical"]
WORDS = ["data=csv", "data.path=wide.csv", *OPEN]


def write_groups(seed: int, columns: int = D, rows: int = 180) -> np.ndarray:
    """Three overlapping groups with covariances of their own in `wide.csv`; returns which row is in which."""
    rng = np.random.default_rng(seed)
    z = np.arange(rows) % 3
    x = np.empty((rows, columns))
    for k in range(3):
        turn, _ = np.linalg.qr(rng.normal(size=(columns, columns)))
        middle = rng.normal(size=columns)
        own = rng.normal(size=((z == k).sum(), columns)) * np.exp(rng.normal(0.0, 0.7, columns))
        x[z == k] = own @ turn.T + 2.5 * middle / np.linalg.norm(middle)
    pd.DataFrame(x, columns=[f"x{d}" for d in range(columns)]).to_csv("wide.csv", index=False)
    return z


def heights(init: str, seeds: int) -> list[float]:
    """Log joint densities where chains of so many seeds start."""
    plan = prepare(compose([*WORDS, f"init={init}", "workers=1"]))
    found = []
    for seed in range(seeds):
        model = build_model(plan.spec.model, plan.dataset)
        start = start_of(plan.spec)
        (start.start_best if init == BEST else start.start_simpler)(model, plan.dataset, Rng(seed, 0))
        found.append(model.log_joint())
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_every_chain_starts_near_the_groups(smcmc: Any, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With overlapping groups in nine columns no start lies below the partition that generated the rows."""
    monkeypatch.setattr(TableStart, "trials", (8, 40))
    z = write_groups(seed)
    plan = prepare(compose(WORDS))
    truth = build_model(plan.spec.model, plan.dataset)
    start_of(plan.spec).start_simpler(truth, plan.dataset, Rng(9, 0))
    truth.set_labels(z.astype(np.int32))
    assert min(heights(BEST, 3)) > truth.log_joint() - 25.0


def test_trials_end_where_the_better_half_agrees(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One round for groups that every trial finds; all rounds if nothing is close enough."""
    write_groups(1)
    rounds: list[int] = []
    monkeypatch.setattr(starts.interrupts, "is_interrupted", lambda: bool(rounds.append(1)))
    assert len(heights(BEST, 1)) == 1 and len(rounds) == 2  # of the chain of the plan, and of this one
    rounds.clear()
    monkeypatch.setattr(starts, "CLOSE", 0.0)
    assert len(heights(BEST, 1)) == 1 and len(rounds) == 2 * 4


def test_a_wide_table_starts_so_and_a_narrow_one_does_not(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write_groups(1)
    lines: list[str] = []
    chosen = start_of(compose(WORDS)).choose(lines.append)
    assert chosen.init == BEST and "a covariance of 9 columns" in lines[0] and "init=random" in lines[0]
    assert start_of(compose(WORDS)).choose_for_fit().init == BEST
    with monkeypatch.context() as few:
        few.setattr(initial, "MOST", 1_000)  # as of a table with many cells
        assert start_of(compose(WORDS)).choose_for_fit().init == SIMPLER
    for named in ("init=random", "K0=3", "init=sequential", "model.covariance=diag"):
        spec = compose([*WORDS, named])
        assert start_of(spec).choose(lines.append) is spec
    write_groups(1, columns=4)
    assert start_of(compose(WORDS)).choose(lines.append).init == "random" and len(lines) == 1


def test_a_run_that_started_at_random_is_found_and_goes_on(smcmc: Any) -> None:
    """A run of an earlier version has its id, and the command that continues it names its start."""
    write_groups(1, rows=60)
    made = smcmc("run", *WORDS, "init=random", "iterations=30", "chains=2", "progress=none")
    assert made.exit_code == 0, made.stderr
    path = made.stdout.split()[-1]
    again = smcmc("run", *WORDS, "iterations=30", "chains=2", "progress=none")
    assert again.stdout.split()[-1] == path
    line = next(line for line in made.stderr.splitlines() if line.startswith("next: "))
    assert "init=random" in shlex.split(line)
    assert start_of(compose(WORDS)).keep(60) == {"init": "random"} and start_of(compose(WORDS)).keep(10_000) == {}


def test_chains_do_not_depend_on_workers_and_end_where_they_should(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableStart, "trials", (8, 20))
    write_groups(2, rows=90)
    traces = []
    for workers in ("1", "2"):
        ended = smcmc("run", *WORDS, "iterations=20", "chains=2", f"workers={workers}", f"out=o{workers}")
        assert ended.exit_code == 0, ended.stderr
        run = Run(ended.stdout.split()[-1])
        assert run.config["init"] == BEST
        traces.append(run.trace()["log_joint"])
    assert traces[0].equals(traces[1])


def test_models_without_a_simpler_form_say_so(smcmc: Any) -> None:
    write_groups(1, rows=30)
    for words, message in (
        (["model.covariance=diag", "init=simpler"], "init=simpler: model=gaussian has no simpler form"),
    ):
        with pytest.raises(ConfigError, match=message):
            prepare(compose([*WORDS, *words]))
    # the best of several trials is a start of any model
    prepare(compose(["data=jain_neal", "N=12", "init=best"]))


def test_the_step_after_a_random_start_is_the_best_of_trials(smcmc: Any) -> None:
    """Chains in several modes: never back to starts that end lower."""
    write_groups(1, rows=30)
    for init, changed in (("random", {"init": "best"}), ("best", {"tempering.levels": 4, "tempering.least": 0.3})):
        spec = compose([*WORDS, f"init={init}"])
        summary = {"iterations": [30_000] * 2, "N": 30}
        run = SimpleNamespace(summary=summary, config=spec.values, path="run", config_dir=None)
        step = advice._choose_other_moves(run, spec)  # type: ignore[arg-type]
        assert step is not None and step[1] == changed


def test_fits_of_candidates_start_from_the_simpler_model(smcmc: Any) -> None:
    write_groups(1, rows=60)
    plan = prepare(compose(WORDS))
    fits = short_fits(None, 0, lambda line: None, "none")
    model = {"name": "gaussian", "covariance": "full", "b0": "hierarchical", "kappa0": "hierarchical"}
    made = fits.sample(model, 20)(plan.dataset)
    assert made.partitions.shape[1] == 60


def test_fits_of_covariances_share_one_search(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chains of the second candidate begin in the clusters where those of the first are; a model whose defaults are
    named is the same one, whose chains go on."""
    write_groups(1, rows=60)
    dataset, searches, settled = prepare(compose(WORDS)).dataset, list[int](), list[np.ndarray]()
    start_best, settle = TableStart.start_best, TableStart._settle

    def count(self: TableStart, *given: Any) -> None:
        searches.append(1)
        start_best(self, *given)

    def keep(self: TableStart, model: Any, data: Any, rng: Rng, labels: np.ndarray) -> None:
        settled.append(labels.copy())
        settle(self, model, data, rng, labels)

    monkeypatch.setattr(TableStart, "start_best", count)
    monkeypatch.setattr(TableStart, "_settle", keep)
    fits = short_fits(None, 0, lambda line: None, "none")
    model = {"name": "gaussian", "covariance": "full", "b0": "hierarchical", "kappa0": "hierarchical"}
    first = fits.sample(model, 20)(dataset)
    assert len(searches) == CHAINS
    settled.clear()
    again = fits.sample({**model, "tails": "normal"}, 30)(dataset)
    assert len(searches) == CHAINS and not settled and len(again.states) > len(first.states)
    fits.sample({**model, "tails": "t"}, 20)(dataset)
    assert len(searches) == CHAINS and len(settled) == CHAINS
    last = again.partitions.reshape(CHAINS, -1, 60)[:, -1]
    # chains settle at the same time, so in any order
    of_settled, of_last = (sorted(by_appearance(one).tolist() for one in several) for several in (settled, last))
    assert of_settled == of_last
    # rows of another number have no such clusters
    fits.sample(model, 20)(dataset.take(np.arange(50)))
    assert len(searches) == 2 * CHAINS


def test_a_budget_and_short_chains_have_fewer_trials(smcmc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write_groups(1, rows=60)
    trials = list[int]()
    start_simpler = TableStart.start_simpler

    def count(self: TableStart, *given: Any) -> None:
        trials.append(1)
        start_simpler(self, *given)

    monkeypatch.setattr(TableStart, "start_simpler", count)
    prepare(compose([*WORDS, "init=best", "workers=1"]))
    assert len(trials) == TableStart.trials[0]
    trials.clear()
    prepare(compose([*WORDS, "init=best", "workers=1", "budget=1e-9"]))
    assert len(trials) == 1
    # a start makes at most twice the iterations of its chain
    for most, count_of in ((250, 8), (10, 2)):
        trials.clear()
        monkeypatch.setattr(starts.initial, "most_iterations", lambda *_, most=most: most)
        prepare(compose([*WORDS, "init=best", "workers=1"]))
        assert len(trials) == count_of


@pytest.mark.parametrize(
    ("rows", "columns", "said"), [(1_000, 90, ""), (1_000, 110, "takes long for 1,000"), (19, 10, "20 rows")]
)
def test_wide_covariances_are_left_out_with_the_reason(rows: int, columns: int, said: str) -> None:
    """Where the rows cannot carry them, and where no fit would end soon; other candidates are compared."""
    reason = candidates._find_width(Dataset("t", "points", np.zeros((rows, columns))), {})
    assert said in reason and bool(reason) == bool(said)


@pytest.mark.parametrize("model", ["bernoulli", "gamma_poisson"])
def test_a_model_without_a_simpler_form_starts_as_ever(model: str) -> None:
    """Whatever its table has, one that a program passes included: such data may start by search."""
    values = np.random.default_rng(1).integers(0, 2, (60, D))
    posterior = smcmc.sample(model, values, iterations=20, chains=1, progress="none", options={"timing": False})
    assert posterior.run.config["init"] == "random"
