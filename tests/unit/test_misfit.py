"""Quick checks of the model at the end of a run: the rule, the lines, and the record in the summary."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from splitmerge_cli.config import component, specify
from splitmerge_cli.data.objects import from_object
from splitmerge_cli.diagnostics.convergence import Convergence
from splitmerge_cli.kinds.networks.quantities import SPREAD
from splitmerge_cli.kinds.tables.quantities import TIE, ZEROS, Table
from splitmerge_cli.runs import advice, checks
from splitmerge_cli.runs.grouping import describe_groups

pytestmark = pytest.mark.usefixtures("all_replications")

FAR = {"mean": 0.0, "deviation": 0.1, "is_beyond_all": True}
CHECK = checks.Check("x", checks.SKEWNESS, 0.6, 0.0, -0.2, 0.2, 0.02, **FAR, effects=Table.effects)
FOUND = {"subject": "x", "quantity": checks.SKEWNESS, "observed": 2.1, "low": -0.2, "high": 0.2}


def test_only_what_is_far_and_matters_is_named() -> None:
    assert CHECK.is_far and CHECK.distance == pytest.approx(6.0)
    assert not replace(CHECK, is_beyond_all=False).is_far
    assert not replace(CHECK, deviation=0.2).is_far
    assert not replace(CHECK, observed=0.29, deviation=0.01).is_far
    assert replace(CHECK, observed=-0.6).is_far
    # averages over columns are few
    average = replace(CHECK, quantity=f"mean {checks.KURTOSIS}", observed=0.9, deviation=0.2)
    assert average.is_far and not replace(average, quantity=checks.KURTOSIS).is_far
    assert not replace(CHECK, quantity=TIE, observed=-0.6).is_far
    few = replace(CHECK, quantity=checks.DISPERSION, mean=0.05, observed=0.06, deviation=0.001)
    assert not few.is_far and replace(few, observed=0.1).is_far
    assert not replace(CHECK, quantity=ZEROS, observed=0.02, deviation=0.001).is_far
    assert replace(CHECK, deviation=0.0).distance == np.inf


COPIES = {"repeated_rows": {"rows": 400, "different": 80, "read": None}}


@pytest.mark.parametrize("summary", [COPIES, {"fit": {"unlike": [FOUND]}}, COPIES | {"fit": {"unlike": [FOUND]}}])
@pytest.mark.parametrize("converged", [True, None, False])
def test_the_verdict_names_a_misfit_before_chains_that_agree(summary, converged) -> None:
    line = checks.put_first(summary, Convergence(converged), "VERDICT")
    parts = [checks.name_misfit(summary), "VERDICT"]
    assert line == "; ".join(reversed(parts) if converged is False else parts)
    assert ("320 of 400 rows repeat another row" in line) == ("repeated_rows" in summary)
    assert checks.put_first({}, Convergence(converged), "VERDICT") == "VERDICT"


def test_part_of_a_large_table_is_drawn() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 2))
    quantities = checks.find_quantities(component("model", "gaussian"))(from_object(x, "points"), 500)
    assert quantities.rows is not None and len(quantities.rows) == 250


def describe(K: int, **fit) -> list[str]:
    known = {"draws": 100, "checks": 3, "unlike": [], "unchecked": None, "certainty": 0.9}
    return list(checks.describe_misfit({"point_estimate": {"n_clusters": K}, "fit": known | fit}))


def test_lines() -> None:
    assert not describe(3) and not list(checks.describe_misfit({"point_estimate": {"n_clusters": 3}}))
    named = "the model does not describe these data (x: skewness within clusters 2.1, the model makes -0.2 to 0.2)"
    parts = "one group may be several clusters: as many as the model needs for its shape"
    assert not describe(1, unlike=[FOUND]) and describe(3, unlike=[FOUND]) == [parts]
    assert checks.name_misfit({"fit": {"unlike": [FOUND]}}) == named
    overlap = "the clusters overlap: two items of a cluster are together in 45% of the draws, on average"
    assert describe(3, certainty=0.45) == [overlap, parts]
    assert describe(3, certainty=0.45, unlike=[FOUND]) == [overlap, parts]
    assert not describe(1, certainty=0.45) and not describe(3, certainty=0.45, unchecked="of networks")
    assert checks.name_misfit({"fit": {"unlike": [FOUND] * 5}}).endswith("; and 2 more)")
    # one cluster and outliers
    one = {
        "model": "gaussian",
        "point_estimate": {"n_clusters": 3, "labels": [0] * 98 + [1, 2]},
        "fit": FIT | {"certainty": 0.4},
    }
    (line,) = checks.describe_misfit(one)
    assert line.startswith("the rows do not separate into groups: ") and line.endswith("in 40% of the draws)")


@pytest.mark.parametrize(
    ("observed", "low", "high", "shown"),
    [
        (1.36, 1.27, 1.34, "1.36, the model makes 1.27 to 1.34"),
        (0.954, 0.1, 0.2, "0.95, the model makes 0.1 to 0.2"),
        (120.4, 119.2, 119.9, "120.4, the model makes 119.2 to 119.9"),
        (5000.0, 0.0, 0.0, "5,000, the model makes 0 to 0"),
    ],
)
def test_digits_tell_the_observed_value(observed: float, low: float, high: float, shown: str) -> None:
    found = FOUND | {"observed": observed, "low": low, "high": high}
    assert f"within clusters {shown})" in str(checks.name_misfit({"fit": {"unlike": [found]}}))


FIT = {"draws": 100, "checks": 3, "unlike": [], "unchecked": None, "certainty": 0.45}
OVERLAP = {"point_estimate": {"n_clusters": 2, "labels": [0] * 50 + [1] * 50}, "fit": FIT}


def make_groups(n_groups: int, low: int, high: int, n_clusters: int = 4) -> dict:
    return {"gap": 0.25, "n_clusters": n_clusters, "n_groups": n_groups, "interval": [low, high], "labels": []}


def test_lines_on_groups() -> None:
    overlap, none = "the clusters overlap: ", "parts of one group: their number"
    assert [line for line in checks.describe_misfit(OVERLAP) if line.startswith(overlap) or none in line]
    # groups that were found say more, and clusters that are joined overlap no more
    (line,) = checks.describe_misfit(OVERLAP | {"density_groups": make_groups(1, 1, 2)})
    assert line.startswith(overlap)
    (line,) = checks.describe_misfit(OVERLAP | {"density_groups": make_groups(4, 4, 4)})
    assert (
        line.startswith("the draws cut the clusters into parts (") and "but the density falls by at least 22%" in line
    )
    assert not list(checks.describe_misfit(OVERLAP | {"joined": {"gap": 0.25}}))

    fall = "the density falls by less than 22% between "
    none = "the rows do not separate into groups"
    ends = {
        (1, 1, 1): f"{none} (95 %: 1 group): {fall}the 4 clusters, which are parts of one",
        (1, 1, 2): f"the rows may be one group (95 %: 1 to 2 groups): {fall}the 4 clusters, which are parts of one",
        (2, 2, 3): f"the 4 clusters form 2 groups (95 %: 2 to 3 groups): {fall}clusters of one group, which are parts",
    }
    for numbers, begin in ends.items():
        assert describe_groups(OVERLAP | {"density_groups": make_groups(*numbers)}).startswith(begin)
    assert describe_groups({"density_groups": make_groups(4, 4, 4)}) is None and describe_groups({}) is None


def test_levels_are_advised_for_tables_whose_clusters_overlap(monkeypatch) -> None:
    monkeypatch.setattr(advice, "_choose_step", lambda *_: None)

    def say(summary: dict, *words: str) -> list[str]:
        run = SimpleNamespace(summary=summary, path="results/one two")
        return list(advice.say_next(run, SimpleNamespace(converged=True), specify(list(words))))

    why, step = say(OVERLAP, "model=mixed", "data=csv", "data.path=x.csv")
    assert step == "next: smcmc summary 'results/one two' --levels" and "predicts held-out rows best" in why
    for summary in (OVERLAP | {"density_groups": make_groups(1, 1, 2)}, OVERLAP | {"fit": FIT | {"certainty": 0.9}}):
        assert not say(summary, "model=mixed", "data=csv", "data.path=x.csv")
    assert not say(OVERLAP, "data=edges", "model=irm", "data.path=x.csv")


def test_a_covariance_is_advised_where_columns_go_together() -> None:
    tie = {"point_estimate": {"n_clusters": 3}, "fit": {"unlike": [FOUND | {"quantity": TIE, "of_reals": True}]}}
    for covariance in ("diag", "iso"):
        found = advice.choose_model(tie, specify(["model=gaussian", f"model.covariance={covariance}"]))
        assert found is not None and found[1] == {"model.covariance": "full"}
    assert advice.choose_model(tie, specify(["model=gaussian", "model.covariance=full"])) is None
    assert advice.choose_model(tie, specify(["model=bernoulli"])) is None
    # a tie with an outcome is an effect
    pair = FOUND | {"subject": "y and dose", "quantity": TIE, "of_reals": True}
    _, keys = advice.choose_model(tie | {"fit": {"unlike": [pair]}}, specify(["model=mixed", "model.outcome=y"]))
    assert keys == {"model.effects": ["dose"]}
    # columns that are no real numbers have no covariance, and one that was compared was left for a reason
    diag, counts = specify(["model=gaussian"]), FOUND | {"quantity": TIE, "of_reals": False}
    assert advice.choose_model(tie | {"fit": {"unlike": [counts]}}, diag) is None
    assert advice.choose_model(tie | {"chosen": {"model.covariance": []}}, diag) is None
    skewed = {"point_estimate": {"n_clusters": 3}, "fit": {"unlike": [FOUND]}}
    assert advice.choose_model(skewed, specify(["model=gaussian"])) is None


@pytest.mark.parametrize(("N", "D", "draws"), [(1000, 10, 100), (50_000, 10, 19), (1000, 50, 50)])
def test_larger_tables_have_fewer_replications(N, D, draws) -> None:
    table = SimpleNamespace(values=np.empty((N, D)))
    assert min(checks.DRAWS, checks.WORK // Table.count_work(table, checks.CELLS)) == draws


def test_degrees_that_differ_within_clusters_have_an_answer() -> None:
    spread = {"subject": "a: degrees out", "quantity": SPREAD, "observed": 3.4, "low": 2.4, "high": 2.8}
    summary = {"fit": {"unlike": [spread]}}
    assert advice.choose_model(summary, specify(["model=irm"]))[1] == {"model.degrees": "auto"}
    assert advice.choose_model(summary, specify(["model=irm", "model.degrees=corrected"])) is None
    assert advice.choose_model(summary, specify(["model=irm", "model.degrees=plain"])) is None
    assert advice.choose_model(summary, specify(["model=irm"]).with_({"model.degrees": "plain"})) is None
    less = spread | {"observed": 2.0}
    assert advice.choose_model({"fit": {"unlike": [less]}}, specify(["model=irm"])) is None
