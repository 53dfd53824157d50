"""``smcmc verify``: what it prints, when it fails, and bad input."""

from pathlib import Path

import pytest

MOVES = '''
from splitmerge_cli._kernels import PythonSampler


class Drift(PythonSampler):
    """Not reversible: moves one item anywhere and always accepts."""

    MOVES = ("drift",)

    def python_step(self):
        self.begin("drift")
        labels = self.model.labels
        labels[self.rng.index(self.model.N)] = self.rng.index(self.model.K)
        self.accepts(0.0)
        self.model.set_labels(labels, self.model.K)
'''


def test_exact_and_literal(smcmc) -> None:
    result = smcmc("verify", "sampler=sdds,rm", "model=emm", "size=3", "iterations=2000")
    assert result.exit_code == 0
    rows = [line for line in result.stdout.splitlines() if line.startswith("│ ")]
    assert [row.split("│")[1:3] for row in rows] == [
        [" sdds    ", " exact   "],
        [" sdds    ", " literal "],
        [" rm      ", " exact   "],
        [" rm      ", " literal "],
    ]
    assert [row.split("│")[-2].strip() for row in rows] == ["exact", "biased, as printed"] * 2


def test_one_item(smcmc) -> None:
    assert (
        smcmc("verify", "sampler=gibbs,sdds", "size=1", "iterations=2000", "model.alpha=1e-3", "model=emm").exit_code
        == 0
    )


def test_a_wrong_sampler_of_the_users_own_is_found(smcmc) -> None:
    Path("mine/sampler").mkdir(parents=True)
    Path("mine/drifting_moves.py").write_text(MOVES)
    Path("mine/sampler/drift.yaml").write_text("name: drift\n_target_: drifting_moves.Drift\nmode: exact\n")
    result = smcmc("verify", "sampler=drift", "model=emm", "iterations=0", "--config-dir", "mine")
    assert result.exit_code == 1
    assert "NOT EXACT" in result.stdout


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("sampler=sddss", "sampler=sddss"),
        ("model=emmm", "model=emmm"),
        ("sise=3", "Did you mean size?"),
        ("size=0", "size=0: expected a whole number from 1 to 7"),
        ("size=many", "size=many"),
        ("iterations=5", "iterations=5"),
        ("mode=printed", "mode=printed"),
        ("sampler.t=-1", "sampler.t"),
        ("sampler.tt=1", "sampler.tt"),
        ("sampler.kernel=3", "sampler.kernel=3"),
        ("model.alpha=-1", "model.alpha"),
        ("model.alpha=x", "model.alpha=x"),
        ("model.alpha", "KEY=VALUE"),
        ("model.kmax=1000000", "model.kmax"),
        ("model.alpha=1e-300", "model.alpha"),
        ("size=[1", "cannot be read"),
        ("seed=!!x", "seed=!!x"),
        ("sampler.mode=exact", "the key is mode"),
        ("sampler=1", "sampler=1"),
    ],
)
def test_bad_input(smcmc, argument: str, message: str) -> None:
    result = smcmc("verify", argument)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_resampled_concentration_is_held_for_the_matrices(smcmc) -> None:
    """The walk of `refresh` itself breaks off at its first continuous draw, and leaves the concentration as it was."""
    args = ["model=bernoulli", "model.concentration=gamma(2,1)", "sampler=refresh,rgsm,sams,triadic", "mode=exact"]
    result = smcmc("verify", *args, "iterations=0")
    assert result.exit_code == 0, result.output
    assert "NOT EXACT" not in result.output
    assert "continuous" in result.output


def test_samplers_that_learn_have_a_row_for_each_adaptation(smcmc) -> None:
    result = smcmc("verify", "sampler=bsm", "model=irm", "size=4", "iterations=1000")
    assert result.exit_code == 0, result.output
    rows = [line.split("│") for line in result.stdout.splitlines() if line.startswith("│ ")]
    found = [(row[1].strip(), row[2].strip(), row[-2].strip()) for row in rows]
    assert found[:3] == [
        ("bsm t=1 frozen", "exact", "exact"),
        ("bsm t=1 population", "exact", "exact"),
        ("bsm t=1 frozen", "literal", "biased, as printed"),
    ]
    # detailed balance for each pair of partitions to learn from, to rounding; the printed ratio breaks it
    balance = [float(row[4]) for row in rows[:3]]
    assert max(balance[:2]) < 1e-14 < 1e-3 < balance[2]
