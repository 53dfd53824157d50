"""Bad input of the models of points, their samplers and a resampled concentration; and odd input that has an answer."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from splitmerge_cli import runs
from splitmerge_cli.config import compose
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.runs import build

POINTS = "x,y,who\n0,1,a\n1,2,a\n2,3,b\n5,1,b\n4,4,b\n"
CSV = ["data=csv", "data.path=d.csv"]
LINES = [*CSV, "data.drop=who", "model=lines", "sampler=triadic"]
KEPT = [*LINES, "model.conjugate=false"]
CLOUDS = [*CSV, "data.drop=who", "model=gaussian", "sampler=sams"]
SEVERAL = "several values; `smcmc sweep` runs a grid"
PRIOR = "expected a positive number or gamma(shape,rate)"

REFUSED = [
    # options out of range or of another type
    ([*LINES, "model.sigma0=0"], "model.sigma0=0: expected a number from 1e-30"),
    ([*LINES, "model.sigma1=nan"], "model.sigma1=nan: expected a number"),
    ([*LINES, "model.noise=huge"], "model.noise=huge: expected one of known, nig"),
    ([*LINES, "model.a0=1"], "model.a0=1: expected"),
    ([*LINES, "model.prior=[crp]"], "model.prior=[crp]"),
    ([*LINES, "model.conjugate=0"], "model.conjugate=0: expected true or false"),
    ([*LINES, "model.conjugate=null"], "model.conjugate=null: expected true or false"),
    ([*KEPT, "model.refresh=gibbs"], "model.refresh=gibbs: expected one of draw, metropolis"),
    ([*KEPT, "model.steps=0"], "model.steps=0: expected a whole number from 1"),
    ([*CLOUDS, "model.covariance=round"], "model.covariance=round: expected one of diag, iso, full"),
    ([*CLOUDS, "model.kappa0=-1"], "model.kappa0=-1: expected a positive number from"),
    ([*CLOUDS, "model.m0=[1,2,3]"], "model.m0: expected a number, or one for each of 2 columns"),
    ([*CLOUDS, "model.b0=[1,a]"], "model.b0=[1,a]: expected a number"),
    ([*CLOUDS, "model.covariance=iso", "model.b0=[1,2]"], "model.b0: expected one number"),
    ([*LINES, "sampler.beta=1"], "sampler.beta=1: expected a number between 0 and 1"),
    ([*LINES, "sampler.allocation=gibbs"], "sampler.allocation=gibbs: expected one of random, sams"),
    ([*LINES, "sampler.form=other"], "sampler.form=other: expected"),
    ([*LINES, "sampler.redraw=1"], "sampler.redraw=1: expected true or false"),
    ([*CLOUDS, "sampler.t=-1"], "sampler.t=-1: expected a whole number from 0"),
    ([*CLOUDS, "sampler.q_ratio=two"], "sampler.q_ratio=two: expected"),
    ([*KEPT, "sampler=neal8", "sampler.m=0"], "sampler.m=0: expected a whole number from 1"),
    ([*KEPT, "sampler=neal8", "sampler.scan=half"], "sampler.scan=half: expected"),
    # a finite base measure
    ([*LINES, "model.candidates=[[0,1]]"], "model.candidates: expected with conjugate=false"),
    ([*KEPT, "model.noise=nig", "model.candidates=[[0,1]]"], "model.candidates: expected with conjugate=false"),
    *(
        ([*KEPT, f"model.candidates={value}"], "model.candidates: expected a list of [intercept, slope]")
        for value in ("[]", "[[]]", "[0,1]", "[[0]]", "[[0,1,2]]", "[[nan,1]]", "[[1e31,1]]", "[[a,b]]", "{a: 1}", "5")
    ),
    ([*KEPT, "model.candidates=[[0,1],[0,1.0]]"], "model.candidates: a line stands there twice"),
    # a concentration that is resampled
    ([*LINES, "model.concentration=gamma(0,1)"], "model.concentration=gamma(0,1): shape of gamma"),
    ([*LINES, "model.concentration=gamma(1,1e9)"], "model.concentration=gamma(1,1e9): rate of gamma"),
    ([*LINES, "model.concentration=gamma(1)"], f"model.concentration=gamma(1): {PRIOR}"),
    ([*LINES, "model.concentration=gamma(nan,1)"], f"model.concentration=gamma(nan,1): {PRIOR}"),
    ([*LINES, "model.concentration=beta(1,1)"], f"model.concentration=beta(1,1): {PRIOR}"),
    ([*LINES, "model.concentration=gamma(1,1"], "cannot be read as a value; expected a prior as NAME(NUMBER,...)"),
    ([*LINES, "model.concentration=1,gamma(1,1)"], SEVERAL),
    ([*LINES, "model.concentration=choice(1,2)"], SEVERAL),
    ([*LINES, "model.concentration=${nothing}"], "model.concentration: Interpolation key 'nothing'"),
    ([*LINES, "model.prior=uniform", "model.concentration=gamma(1,1)"], "model.concentration: prior=uniform"),
    # samplers that do not support the model, alone and in a list
    ([*KEPT, "sampler=gibbs"], "sampler=gibbs: does not support model=lines"),
    ([*CLOUDS, "sampler=refresh"], "sampler=refresh: does not support model=gaussian"),
    (["sampler=neal8"], "sampler=neal8: does not support model=emm"),
    ([*KEPT[:-2], KEPT[-1], "schedule=[{neal8: 1},{sdds: 1}]"], "schedule.mix.sdds: does not support model=lines"),
    ([*LINES[:-1], "schedule=[{rgsm: {t: -1}}]"], "schedule.mix.rgsm.t=-1: expected a whole number"),
    ([*LINES[:-1], "schedule=[{triadic: {weight: 2, beta: 2}}]"], "schedule.mix.triadic.beta=2: expected a number"),
    # data of another kind
    (["data=emm", "model=lines"], "model=lines with data=emm: reads points, not tokens; expected model=emm"),
    (["data=lines", "model=bernoulli"], "model=bernoulli with data=lines: reads binary, not points"),
    (["data=lines", "data.length=1e40"], "data.length=1e+40: expected a number from 1e-25 to 1e+25"),
    # columns, true labels, sizes
    ([*CSV, "model=lines"], "d.csv: row 2, column 3 ('who'): 'a'; expected a number"),
    ([*CSV, "model=lines", "data.columns=x"], "reads dense points of two columns, x and y, not 1"),
    ([*CSV, "model=lines", "data.columns=[x,x]"], "data.columns=x"),
    ([*CSV, "model=lines", "data.columns=[x,z]"], "data.columns=z"),
    ([*CSV, "model=lines", "data.columns=[x,y]", "data.drop=who"], "data.drop"),
    ([*CSV, "model=lines", "data.drop=[x,y,who]"], "no column is left"),
    ([*CSV, "model=lines", "data.truth=z"], "data.truth=z"),
    ([*LINES, "init=truth"], "init=truth: the true labels of d are not known"),
    (
        ["data=csv", "data.path=part.csv", "data.truth=who", "model=lines", "init=truth"],
        "init=truth: 1 of 3 items of part have no true label; expected one each",
    ),
    ([*LINES, "K0=6"], "K0=6: expected at most 5"),
    ([*LINES, "N=6"], "N=6: expected at most 5"),
]

CELLS = ["inf", "-inf", "none", "word", "1e31", "-1e308", "1e999", "0x1", '"1,5"']


@pytest.mark.parametrize(("args", "named"), REFUSED, ids=[" ".join(args[-2:]) for args, _ in REFUSED])
def test_run(check_rejection, args: list[str], named: str) -> None:
    Path("d.csv").write_text(POINTS)
    Path("part.csv").write_text("x,y,who\n0,1,a\n1,2,\n3,4,b\n")
    check_rejection(["run", "iterations=10", *args], named)


@pytest.mark.parametrize(
    ("text", "args", "named"),
    [
        (",x,y\n3,1,2\n5,3,4\n", [], "d.csv: row 2, column 1 (''): '3': the column has no name and does not count"),
        ("1990,1991\n.5,.5\n1.5,2.5\n", [], "d.csv: row 1: '1990, 1991' may name the columns or be the first row"),
        ("0,1\n.5,.5\n1.5,2.5\n", ["data.drop=1"], "data.drop=1: d.csv: column 2 ('1') has that name, but column 1"),
    ],
)
def test_numbers_that_may_be_names(check_rejection, text: str, args: list[str], named: str) -> None:
    Path("d.csv").write_text(text)
    check_rejection(["run", "iterations=10", *CSV, "model=gaussian", "sampler=gibbs", *args], named)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("model", ["lines", "gaussian"])
def test_a_cell_that_is_no_number_is_named(check_rejection, cell: str, model: str) -> None:
    Path("d.csv").write_text(f"x,y\n0,1\n1,{cell}\n2,3\n")
    check_rejection(
        ["run", "iterations=10", *CSV, f"model={model}", "sampler=triadic"], "d.csv: row 3, column 2 ('y'): "
    )


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["model=lines"], "model=lines with data=csv: row 2, column 2 ('y'): a missing cell, which model=gaussian"),
        (["model=gaussian", "model.covariance=iso"], "model.covariance=iso: row 2, column 2 ('y'): a missing cell"),
        (["model=gaussian", "sampler=lshsm"], "does not support model=gaussian: its items are no vectors, or have mis"),
    ],
)
def test_a_missing_cell_is_named_where_none_may_be(check_rejection, args: list[str], named: str) -> None:
    Path("d.csv").write_text("x,y\n0,1\n1,\n2,3\n")
    check_rejection(["run", "iterations=10", *CSV, *args], named)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["sweep", "--dry-run", *LINES, "model.concentration=1,gamma(0,1)"], "shape of gamma"),
        (["sweep", "--dry-run", *LINES, "model.concentration=beta(1,1),1"], PRIOR),
        (["sweep", "--dry-run", *LINES, "K0=1,choice(2,3)"], "K0=1,choice(2,3): cannot be read as a value"),
        (["verify", "model=lines", "model.concentration=beta(1,1)"], PRIOR),
        (["verify", "model=lines", "model.concentration=1,2"], "model.concentration=1,2: several values"),
        (["verify", "model=lines", "size=1,2"], "size=1,2: several values"),
        (["verify", "model=lines", "sampler=triadic", "sampler.beta=2", "size=3"], "sampler.beta"),
        (["verify", "model=gaussian", "model.sigma1=1"], "model.sigma1: no such option of gaussian"),
        (["verify", "model=gaussian", "model.b0=[1,2,3]"], "model.b0"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else "",
)
def test_other_commands(check_rejection, args: list[str], named: str) -> None:
    Path("d.csv").write_text(POINTS)
    check_rejection(args, named)


@pytest.mark.slow
def test_priors_need_no_quotes_in_any_command(smcmc) -> None:
    Path("d.csv").write_text(POINTS)
    for value in ("gamma(1,2)", "'gamma(1,2)'", "gamma( 1 , 2 )"):
        result = smcmc("run", *LINES, f"model.concentration={value}", "iterations=5", "chains=1", "progress=none")
        assert result.exit_code == 0, result.output
        result = smcmc("verify", "model=lines", "sampler=refresh", f"model.concentration={value}", "size=2")
        assert result.exit_code == 0, result.output
    grid = smcmc("sweep", "--dry-run", *LINES, "model.concentration=1.0,gamma(1,1),'gamma(2,1)'")
    assert grid.exit_code == 0 and "3 jobs" in grid.stdout, grid.output


@pytest.mark.parametrize("option", ["m0", "b0"])
@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
@pytest.mark.parametrize("size", [1, 3])
def test_verify_knows_the_prior_that_the_data_give(smcmc, option: str, covariance: str, size: int) -> None:
    given = [f"model.{option}=null", f"model.covariance={covariance}", f"size={size}", "iterations=0"]
    result = smcmc("verify", "model=gaussian", "sampler=gibbs", *given)
    assert result.exit_code == 0, result.output


ODD = {
    "one": [(1, 2)],
    "two": [(1, 2), (3, 5)],
    "identical": [(1.5, 2.5)] * 9,
    "collinear": [(i, 2 * i + 1) for i in range(12)],
    "vertical": [(3, i) for i in range(10)],
    "zeros": [("-0.0", 0), (0, "-0.0"), ("-0", 0)],
    "far": [(1e9 + i % 3, 1e9 + i % 5) for i in range(12)],
    "tiny": [(1e-12 * (i % 3), 1e-12 * i) for i in range(12)],
    "wide": [(1e12 * (i % 3), i) for i in range(12)],
    "last digits": [(1 + i * 2.2e-16, 1 + (i % 3) * 2.2e-16) for i in range(8)],
}


@pytest.mark.parametrize("rows", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize(
    "model",
    [
        ["lines"],
        ["lines", "model.noise=nig"],
        ["lines", "model.conjugate=false", "model.concentration=gamma(1,1)"],
        ["lines", "model.conjugate=false", "model.noise=nig", "model.refresh=metropolis"],
        ["gaussian"],
        ["gaussian", "model.covariance=iso", "model.concentration=gamma(1,1)"],
        ["gaussian", "model.covariance=full"],
    ],
    ids=" ".join,
)
def test_odd_points_have_an_answer(smcmc, rows: list[tuple[float, float]], model: list[str]) -> None:
    Path("d.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    args = ["data=csv", "data.path=d.csv", "sampler=triadic", f"model={model[0]}", *model[1:]]
    result = smcmc("run", *args, "iterations=20", "chains=1", "progress=none")
    assert result.exit_code == 0, result.output
    trace = pq.read_table(Path(result.stdout.strip()) / "trace.parquet", partitioning=None).to_pandas()
    assert np.isfinite(trace[["log_joint", "log_lik"]]).to_numpy().all()


def test_a_density_that_is_no_number_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Failing(Chain):
        def advance(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            rows: dict[str, Any] = super().advance(*args, **kwargs)
            rows["log_joint"][-1] = np.nan
            return rows

    monkeypatch.setattr(build, "Chain", Failing)
    cfg = compose(["data=lines", "N=10", "chains=1", "iterations=5", "progress=none", f"out={tmp_path}"])
    with pytest.raises(runs.RunError, match=r"^chain 0, iteration 5: the log joint density is nan; expected"):
        runs.run(cfg)
