"""``smcmc verify``: what it prints, when it fails, and bad input."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from splitmerge_cli.config import component
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.multinomial import Multinomial
from splitmerge_cli.runs.initial import build_sampler
from splitmerge_cli.verify import command, export, kernel, transitions
from splitmerge_cli.verify.cases import ON_ALL_CASES, deal, read_request, small_case, variants_of

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
    result = smcmc("verify", "--all", "sampler=sdds,rm", "model=emm", "size=3", "iterations=2000", status=0)
    rows = [line for line in result.stdout.splitlines() if line.startswith("│ ")]
    assert [[cell.strip() for cell in row.split("│")[1:3]] for row in rows] == [
        ["sdds", "exact"],
        ["sdds", "as_printed"],
        ["rm", "exact"],
        ["rm", "as_printed"],
    ]
    assert [row.split("│")[-2].strip() for row in rows] == ["exact", "biased, as printed"] * 2


def test_states_that_the_prior_rules_out_are_left_out(smcmc) -> None:
    """Four items in four clusters is none of the states: no sampler starts there or has to get there."""
    words = ["model=gaussian", 'model.prior="mfm(components=uniform(3))"', "model.covariance=diag", "iterations=2000"]
    result = smcmc("verify", "sampler=pgsm,srm", *words, status=0)
    assert "5 of 5 forms exact" in result.stdout and "not in reach" not in result.stdout
    assert "14 states" in smcmc("verify", "--all", "sampler=gibbs", *words).stdout


def test_a_sampler_that_leaves_for_a_state_that_the_prior_rules_out_is_found(smcmc) -> None:
    Path("mine/sampler").mkdir(parents=True)
    Path("mine/parting_moves.py").write_text(MOVES.replace("labels, self.model.K)", "list(range(self.model.N)))"))
    Path("mine/sampler/drift.yaml").write_text("name: drift\n_target_: parting_moves.Drift\nmode: exact\n")
    words = ["sampler=drift", "model=bernoulli", 'model.prior="mfm(components=uniform(2))"', "--config-dir", "mine"]
    result = smcmc("verify", *words, "iterations=1000")
    assert result.exit_code == 1 and "NOT EXACT" in result.stdout, result.stderr


def test_a_chain_of_topics_far_from_the_posterior_is_not_exact(smcmc, monkeypatch) -> None:
    found = ["", "", "0.4"], ["0.3+", "0.01"]
    for far, code in ((False, 0), (True, 1)):
        monkeypatch.setattr(kernel, "sampled_check_of_weights", lambda *args, far=far: (*found, far))
        result = smcmc("verify", "--all", "sampler=gibbs", "model=hdp")
        assert result.exit_code == code
        assert ("NOT EXACT" in result.stdout) == far


STEPS = '''
import numpy as np

from splitmerge_cli.core.sampler import PythonSampler


class Moved(PythonSampler):
    """One item to any of the clusters, or to one of its own; a part of the ratio is left out."""

    MOVES = ("away", "along")

    def python_step(self):
        model, rng = self.model, self.rng
        labels, K = model.labels, model.K
        item, to = rng.index(model.N), rng.index(K + 1)
        if labels[item] == to:
            return
        sizes = np.bincount(labels, minlength=K + 1)
        if to == K and sizes[labels[item]] == 1:
            return
        self.begin("away" if to == K else "along")
        before = model.log_joint()
        changed = labels.copy()
        changed[item] = to
        left = np.unique(changed, return_inverse=True)[1].astype(np.int32)
        model.set_labels(left, int(left.max()) + 1)
        terms = {
            "density": model.log_joint() - before,
            "forward": np.log(K + 1.0),
            "reverse": -np.log(model.K + 1.0),
        }
        if not self.accepts(RATIO):
            model.set_labels(labels, K)
'''


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        ("terms['forward'] + terms['reverse']", "the ratio of the posterior densities is left out"),
        ("terms['density']", "the probabilities of proposing the move and its inverse are left out"),
        ("terms['density'] + terms['reverse']", "the probability of proposing the move (forward) is left out"),
        ("terms['density'] + terms['forward']", "the probability of proposing the inverse move (reverse) is left out"),
        ("2 * terms['density'] + terms['forward'] + terms['reverse']", "should count once, not twice"),
        ("sum(terms.values()) + (np.log(2.0) if to == K else 0.0)", "its ratio lacks a factor 0.5 of away"),
        ("0.3 * terms['density']", "no single term explains it"),
    ],
)
def test_what_a_ratio_lacks_is_named(smcmc, ratio: str, said: str) -> None:
    Path("mine/sampler").mkdir(parents=True)
    module = f"moves_{abs(hash(ratio))}"
    Path(f"mine/{module}.py").write_text(STEPS.replace("RATIO", ratio))
    Path("mine/sampler/moved.yaml").write_text(f"name: moved\n_target_: {module}.Moved\nmode: exact\n")
    result = smcmc("verify", "sampler=moved", "model=bernoulli", "size=3", "iterations=0", "--config-dir", "mine")
    assert result.exit_code == 1
    assert "worst: {" in result.stdout and " by a" in result.stdout
    assert said in result.stdout, result.stdout


@pytest.mark.parametrize("name", ["rgsm", "sams", "triadic", "rm"])
def test_a_mutant_is_explained_by_the_term_that_it_lacks(name: str) -> None:
    """The report names the term that does not count, or counts with the wrong sign."""
    case = small_case(Bernoulli)
    sampler = component("sampler", name)
    built = build_sampler(sampler.with_options(**sampler.target.small_options(case.model)), case.model, Rng(0))
    made = transitions.proposals(case.model, built.rng, built, case.states)
    assert made.has_named_terms()
    tried = 0
    for term, counts in zip(made.terms, made.counted, strict=True):
        P = made.matrix(omit=(term,))
        if not counts or not made.is_factor(term) or transitions.balance_defect(P, case.pi) < 1e-10:
            continue
        t = made.terms.index(term)
        less = replace(
            made, counted=made.counted & (np.arange(len(made.terms)) != t), log_ratio=made.log_ratio - made.values[:, t]
        )
        said = [
            text
            for text, change in export._changes_by_term(less)
            if transitions.balance_defect(less.with_ratio(less.log_ratio + change), case.pi) < 1e-10
        ]
        assert f"its term {term!r} is left out" in said
        tried += 1
    assert tried >= 2


def test_a_line_for_each_model_and_a_summary(smcmc) -> None:
    result = smcmc("verify", "sampler=sdds,lshsm", "model=emm,bernoulli", "iterations=0", status=0)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("emm: exact: sdds (max|πP-π| ") and lines[0].endswith("; biased as printed: sdds")
    assert lines[1].startswith("bernoulli: exact: sdds, lshsm (max|πP-π| ")
    assert lines[2].startswith("lshsm does not support emm, part of bernoulli (its items are no vectors")
    assert lines[-1].startswith("5 small cases: 17 of 17 forms exact; 9 biased as printed")
    # of topics nothing can be listed, and nothing was sampled
    topics = smcmc("verify", "sampler=smag", "model=hdp", "iterations=0", status=1)
    assert "not compared, as iterations=0" in topics.stdout and ": nothing was compared" in topics.stdout
    unsupported = smcmc("verify", "sampler=pgsm", "model=hdp")
    assert unsupported.exit_code == 1 and unsupported.stdout.endswith(": nothing was compared\n")


def test_samplers_are_dealt_out_over_the_cases_of_a_model() -> None:
    """Each meets each option value of the cases that it supports; few cases are checked by all."""
    request = read_request({"model": "mixed", "size": "3"}, ())
    cases = [case for _, case in command.build_cases(request)]
    dealt = deal(cases, request.samplers)
    pairs = possible = 0
    for sampler in request.samplers:
        able = [case for case in cases if sampler.target.supports(case.model)[0]]
        met = [case for case, samplers in zip(cases, dealt, strict=True) if sampler in samplers]
        assert set(cases) - set(able) <= set(met)
        met = [case for case in met if case in able]
        assert set().union(*(case.parts for case in met)) == set().union(*(case.parts for case in able))
        assert all(case in met for case in able if not case.parts or sampler.name in ON_ALL_CASES)
        pairs, possible = pairs + len(met), possible + len(able)
    assert len(cases) == 26 and pairs < possible / 2


def test_named_samplers_and_those_of_all_cases_are_not_dealt_out(smcmc) -> None:
    assert not read_request({"sampler": "sdds,gibbs"}, ()).deals
    assert not read_request({}, (), everything=True).deals
    result = smcmc("verify", "model=gamma_poisson", "size=2", "iterations=0", status=0)
    said = re.search(r"; (\d+) of (\d+) pairs of a case and a sampler, in which each", result.stdout)
    assert said and int(said[1]) < int(said[2])
    named = smcmc("verify", "model=gamma_poisson", "sampler=sdds", "size=2", "iterations=0")
    assert "pairs of a case" not in named.stdout and named.stdout.splitlines()[-1].startswith("7 small cases")


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
    result = smcmc("verify", *argument.split(), status=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_resampled_concentration_is_held_for_the_matrices(smcmc) -> None:
    """The walk of `refresh` itself breaks off at its first continuous draw, and leaves the concentration as it was."""
    args = ["model=bernoulli", "model.concentration=gamma(2,1)", "sampler=refresh,rgsm,sams,triadic", "mode=exact"]
    result = smcmc("verify", "--all", *args, "iterations=0", status=0)
    assert "NOT EXACT" not in result.output
    assert "continuous" in result.output


def test_scales_are_held_for_the_matrices_and_resampled_in_the_chain(smcmc) -> None:
    options = ["model.b0=gamma(2,3)", "model.kappa0=hierarchical", "model.covariance=iso"]
    result = smcmc("verify", "--all", "model=gaussian", "sampler=sdds", *options, "iterations=20000", status=0)
    assert "+" in result.output


def test_samplers_that_learn_have_a_row_for_each_adaptation(smcmc) -> None:
    result = smcmc("verify", "--all", "sampler=bsm", "model=irm", "size=4", "iterations=1000", status=0)
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
    result = smcmc("verify", "--all", "sampler=lshsm", "model=gaussian", "model.covariance=diag", "iterations=0")
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
    result = smcmc("verify", "--all", *args, status=0)
    assert [row[0] for row in rows_of(result)] == ["lshsm sums table bits=2", "lshsm sums union bits=2"] * 2
    assert "skipped lshsm sums table lss: sampler.likelihood=lss: expected dense points" in result.stdout


def test_forms_that_do_not_serve_say_why(smcmc) -> None:
    """Where clusters keep parameters; where nothing but the paper's own form is printed; where there are no vectors."""
    args = ["sampler=lshsm", "mode=exact", "iterations=0"]
    kept = smcmc(
        "verify", "--all", *args, "model=lines", "model.conjugate=false", "model.candidates=[[0,1],[1,-1]]", "size=3"
    )
    assert [row[0].split()[1] for row in rows_of(kept)] == ["paired"] * 2 + ["paired_sequential"] * 2
    assert "lshsm sums union: sampler.proposal=sums: needs the parameters integrated out" in kept.stdout
    paired = smcmc(
        "verify", "--all", "sampler=lshsm", "mode=as_printed", "sampler.proposal=paired", "model=lines", "iterations=0"
    )
    assert "the paper prints no other" in paired.stdout
    assert "skipped lshsm: " in smcmc("verify", "--all", *args, "model=emm").stdout


def test_two_draws_of_the_tables_are_checked() -> None:
    """Each is a kernel of its own; a seed that is given is the only one."""
    case, sampler = small_case(Gaussian), component("sampler", "lshsm")
    small = sampler.with_options(**sampler.target.small_options(case.model))
    two = kernel.kernel_of(case, small)
    assert len(two.matrices) == 2
    assert abs(two.matrices[0] - two.matrices[1]).max() > 1e-3
    assert len(kernel.kernel_of(case, small.with_options(tables_seed=5), ("tables_seed",)).matrices) == 1


def test_a_model_of_another_distribution_may_have_a_name_that_is_taken() -> None:
    """Its own likelihood decides its case, not the class of this name here."""
    other = type("Gaussian", (Multinomial,), {"__module__": "my_models"})
    assert variants_of(other) == [{}, {"concentration": "gamma(2,1)"}]
    case = small_case(other, 3, 0)
    np.testing.assert_allclose(case.pi, small_case(Multinomial, 3, 0).pi)
