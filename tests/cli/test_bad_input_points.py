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
