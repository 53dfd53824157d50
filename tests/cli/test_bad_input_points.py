"""Cells that are no points end with exit status 2; odd points that have an answer run.

Options of their models and samplers are in ``tests/unit/test_refused_options.py``.
"""

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
CELLS = ["inf", "-inf", "none", "word", "1e31", "-1e308", "1e999", "0x1", '"1,5"']


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
