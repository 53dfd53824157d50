"""``smcmc verify``: what it prints, when it fails, and bad input."""

from pathlib import Path

import pytest

from splitmerge_cli.config import choice
from splitmerge_cli.models.gaussian import Gaussian
from splitmerge_cli.verify.cases import small_case
from splitmerge_cli.verify.forms import SMALL
from splitmerge_cli.verify.kernel import kernel_of

MOVES = '''
from splitmerge_cli.core.sampler import PythonSampler


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


def test_exact_and_as_printed(smcmc) -> None:
    result = smcmc("verify", "sampler=sdds,rm", "model=emm", "size=3", "iterations=2000")
    assert result.exit_code == 0
    rows = [line for line in result.stdout.splitlines() if line.startswith("│ ")]
    assert [[cell.strip() for cell in row.split("│")[1:3]] for row in rows] == [
        ["sdds", "exact"],
        ["sdds", "as_printed"],
        ["rm", "exact"],
        ["rm", "as_printed"],
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
        ("sampler=rgsm sampler.t=-1", "sampler.t"),
        ("sampler.tt=1", "sampler.tt"),
        ("sampler=sdds sampler.kernel=3", "sampler.kernel=3"),
        ("model.alpha=-1", "model.alpha"),
        ("model.alpha=x", "model.alpha=x"),
        ("model.alpha", "KEY=VALUE"),
        ("model.kmax=1000000", "model.kmax"),
        ("model.alpha=1e-300", "model.alpha"),
        ("size=[1", "cannot be read"),
        ("seed=!!x", "seed=!!x"),
        ("sampler.mode=exact", "the key is mode"),
        ("sampler=lshsm sampler.proposal=pairs", "sampler.proposal"),
        ("sampler=lshsm sampler.reading=3", "sampler.reading=3"),
        ("sampler=lshsm sampler.bits=0", "sampler.bits"),
        ("sampler=1", "sampler=1"),
    ],
)
def test_bad_input(smcmc, argument: str, message: str) -> None:
    result = smcmc("verify", *argument.split())
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


def test_scales_are_held_for_the_matrices_and_resampled_in_the_chain(smcmc) -> None:
    options = ["model.b0=gamma(2,3)", "model.kappa0=hierarchical", "model.covariance=iso"]
    result = smcmc("verify", "model=gaussian", "sampler=sdds", *options, "iterations=20000")
    assert result.exit_code == 0, result.output
    assert "+" in result.output


def test_samplers_that_learn_have_a_row_for_each_adaptation(smcmc) -> None:
    result = smcmc("verify", "sampler=bsm", "model=irm", "size=4", "iterations=1000")
    assert result.exit_code == 0, result.output
    rows = [line.split("│") for line in result.stdout.splitlines() if line.startswith("│ ")]
    found = [(row[1].strip(), row[2].strip(), row[-2].strip()) for row in rows]
    assert found[:3] == [
        ("bsm t=1 frozen", "exact", "exact"),
        ("bsm t=1 population", "exact", "exact"),
        ("bsm t=1 frozen", "as_printed", "biased, as printed"),
    ]
    # detailed balance for each pair of partitions to learn from, to rounding; the printed ratio breaks it
    balance = [float(row[4]) for row in rows[:3]]
    assert max(balance[:2]) < 1e-14 < 1e-3 < balance[2]


def rows_of(result) -> list[list[str]]:
    """The cells of every row; long names go on in a line of their own."""
    cells = [[c.strip() for c in line.split("│")[1:-1]] for line in result.stdout.splitlines() if line.startswith("│ ")]
    rows: list[list[str]] = []
    for row in cells:
        if row[1]:
            rows.append(row)
        else:
            rows[-1][0] += " " + row[0]
    return rows


def test_each_form_of_lshsm_has_a_row(smcmc) -> None:
    result = smcmc("verify", "sampler=lshsm", "model=gaussian", "model.covariance=diag", "iterations=0")
    assert result.exit_code == 0, result.output
    rows = rows_of(result)
    forms = [
        f"lshsm {proposal} {r}" for proposal in ("paired", "paired_sequential", "sums") for r in ("table", "union")
    ]
    assert [(row[0], row[1]) for row in rows] == [*((form, "exact") for form in forms)] + [
        (form, "as_printed") for form in [*forms[4:], "lshsm sums table lss"]
    ]
    assert [row[-1] for row in rows] == ["exact"] * 6 + ["biased, as printed"] * 3
    assert max(float(row[3]) for row in rows[:6]) < 1e-13 < 1e-3 < min(float(row[3]) for row in rows[6:])


def test_a_given_option_is_that_of_all_forms(smcmc) -> None:
    args = [
        "sampler=lshsm",
        "model=irm",
        "model.beta1=0.6",
        "sampler.proposal=sums",
        "sampler.bits=2",
        "iterations=1000",
    ]
    result = smcmc("verify", *args)
    assert result.exit_code == 0, result.output
    assert [row[0] for row in rows_of(result)] == ["lshsm sums table bits=2", "lshsm sums union bits=2"] * 2
    assert "skipped lshsm sums table lss: lss needs dense points" in result.stdout


def test_forms_that_do_not_serve_say_why(smcmc) -> None:
    """Where clusters keep parameters; where nothing but the paper's own form is printed; where there are no vectors."""
    args = ["sampler=lshsm", "mode=exact", "iterations=0"]
    kept = smcmc("verify", *args, "model=lines", "model.conjugate=false", "model.candidates=[[0,1],[1,-1]]", "size=3")
    assert [row[0].split()[1] for row in rows_of(kept)] == ["paired"] * 2 + ["paired_sequential"] * 2
    assert "lshsm sums union: sums needs the parameters integrated out" in kept.stdout
    paired = smcmc(
        "verify", "sampler=lshsm", "mode=as_printed", "sampler.proposal=paired", "model=lines", "iterations=0"
    )
    assert "the paper prints sums alone" in paired.stdout
    assert "skipped lshsm: " in smcmc("verify", *args, "model=emm").stdout


def test_two_draws_of_the_tables_are_checked() -> None:
    """Each is a kernel of its own; a seed that is given is the only one."""
    case, given = small_case(Gaussian), choice("sampler", "lshsm")
    two = kernel_of(case, given, SMALL["lshsm"])
    assert len(two.matrices) == 2
    assert abs(two.matrices[0] - two.matrices[1]).max() > 1e-3
    assert len(kernel_of(case, given, SMALL["lshsm"] | {"tables_seed": 5}).matrices) == 1
