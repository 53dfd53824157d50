"""Bad input: exit status 2, one message that names the key or the file, no traceback, nothing written.

Here a few of each kind go through the command line; all messages are in ``tests/unit/test_refused*.py``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import run_path

from splitmerge_cli import config, runs
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.kinds.documents import corpus
from splitmerge_cli.kinds.documents import recorder as topics
from splitmerge_cli.runs import plan

FILES = {
    "tokens.csv": "a\nb\na\nc\nb\na\n",
    "odd.csv": "a,b\nb,\n",
    "d.csv": "x,y,who\n0,1,a\n1,2,a\n2,3,b\n5,1,b\n4,4,b\n",
}
LINES = ["data=csv", "data.path=d.csv", "data.drop=who", "model=lines", "sampler=triadic"]
PRIOR = "expected a positive number or gamma(shape,rate)"


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["run", "smapler=sdds"], "smcmc: smapler: no such key. Did you mean sampler?"),
        (["run", "data=edges", "data.path=odd.csv"], "odd.csv: row 2, column 2: an empty cell; expected the name of"),
        # where the results cannot go
        (["run", "out=tokens.csv"], "out=tokens.csv"),
        (["run", "--config-dir", "nowhere"], "nowhere"),
        (["run", "--cfg", "job", "smapler=sdds"], "Did you mean sampler?"),
        (["sweep", "smapler=sdds,rgsm"], "Did you mean sampler?"),
        (["sweep", "--dry-run", "N=0,-1"], "N=-1"),
        (["sweep", "--dry-run", "sampler=1,2"], "sampler=1"),
        (["sweep", "--dry-run", *LINES, "model.concentration=1,gamma(0,1)"], "shape of gamma"),
        (["sweep", "--dry-run", *LINES, "model.concentration=beta(1,1),1"], PRIOR),
        (["sweep", "--dry-run", *LINES, "K0=1,choice(2,3)"], "K0=1,choice(2,3): cannot be read as a value"),
        (["diagnose", "nowhere"], "nowhere"),
        (["compare", "."], "no run here; expected a folder that smcmc run, sweep, race or certify printed"),
        (["report", "nowhere"], "nowhere: no run here"),
        (["summary", "."], "no run here"),
        (["data", "info", "emn"], "Did you mean data=emm?"),
        (["data", "info", "1"], "data=1"),
        (["list", "smaplers"], "samplers"),
        (["verify", "sampler"], "KEY=VALUE"),
        (["verify", "sampler=1"], "sampler=1"),
        (["verify", "model=lines", "model.concentration=beta(1,1)"], PRIOR),
        (["verify", "model=lines", "model.concentration=1,2"], "model.concentration=1,2: several values"),
        (["verify", "model=lines", "size=1,2"], "size=1,2: several values"),
        (["verify", "model=lines", "sampler=triadic", "sampler.beta=2", "size=3"], "sampler.beta"),
        (["verify", "model=gaussian", "model.sigma1=1"], "model.sigma1: no such option of gaussian"),
        (["verify", "model=gaussian", "model.b0=[1,2,3]"], "model.b0"),
        (["verify", "model=bernouli"], "Did you mean model=bernoulli?"),
        (["verify", "model=bernoulli", "sampler=samz"], "Did you mean sampler=sams?"),
        (["reproduce", "sdds-fig3", "--scale", "huge"], "huge"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_commands(smcmc, args: list[str], named: str) -> None:
    for name, content in FILES.items():
        Path(name).write_text(content)
    before = sorted(Path().rglob("*"))
    result = smcmc(*args)
    assert result.exit_code == 2 and named in result.stderr, result.output
    assert sorted(Path().rglob("*")) == before
    assert args[0] == "sweep" or (result.stdout == "" and len(result.stderr.strip().splitlines()) == 1)


@pytest.mark.parametrize("args", [["run", "smapler=sdds"], ["run", "data=csv", "data.path=nowhere.csv"], ["plot", "x"]])
def test_a_process_ends_with_status_2(spawn, tmp_path: Path, args: list[str]) -> None:
    process = spawn(*args)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 2 and stdout == "" and stderr.startswith("smcmc: ") and stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


# ---- Cells that are no points end with exit status 2; odd points that have an answer run.
# Options of their models and samplers are in ``tests/unit/test_refused_options.py``.


@pytest.mark.parametrize("option", ["m0", "b0"])
@pytest.mark.parametrize("covariance", ["diag", "iso", "full"])
@pytest.mark.parametrize("size", [1, 3])
def test_verify_knows_the_prior_that_the_data_give(smcmc, option: str, covariance: str, size: int) -> None:
    given = [f"model.{option}=null", f"model.covariance={covariance}", f"size={size}", "iterations=0"]
    smcmc("verify", "model=gaussian", "sampler=gibbs", *given, status=0)


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
    result = smcmc("run", *args, "iterations=20", "chains=1", "progress=none", status=0)
    trace = pq.read_table(Path(result.stdout.strip()) / "trace.parquet", partitioning=None).to_pandas()
    assert np.isfinite(trace[["log_joint", "log_lik"]]).to_numpy().all()


def test_a_density_that_is_no_number_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Failing(Chain):
        def advance(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            rows: dict[str, Any] = super().advance(*args, **kwargs)
            rows["log_joint"][-1] = np.nan
            return rows

    monkeypatch.setattr(plan, "Chain", Failing)
    cfg = config.compose(["data=lines", "N=10", "chains=1", "iterations=5", "progress=none", f"out={tmp_path}"])
    with pytest.raises(runs.RunError, match=r"^chain 0, iteration 5: the log joint density is nan; expected"):
        runs.run(cfg)


# ---- Networks and documents that memory does not hold end with exit status 2; odd ones that have an answer run.
# What else is refused is in ``tests/unit/test_refused*.py``.

RUN = ["run", "sampler=gibbs", "iterations=5"]
EDGES = ["data=edges", "data.path=e.csv"]
WORDS = ["data=corpus", "data.path=d.csv"]


@pytest.mark.parametrize(("name", "text"), [("d.csv", "doc,word,n\na,x,9\na,y,2\n"), ("d.ldac", "2 0:9 1:2\n")])
def test_more_tokens_than_memory_holds(check_rejection, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    Path(name).write_text(text)
    monkeypatch.setattr(corpus, "memory", lambda: 10 * corpus.TOKEN_BYTES)
    check_rejection(
        [*RUN, "data=corpus", f"data.path={name}"], f"{name}: 11 tokens; expected at most 10, which this machine's"
    )
    for generated in ("docs200", "synthetic_documents"):
        check_rejection([*RUN, f"data={generated}", "N=7"], "N=7, data.length=100: 700 tokens; expected at most 10")


def test_more_chains_than_memory_holds(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "memory", lambda: 30 * corpus.TOKEN_BYTES)
    Path("d.csv").write_text("doc,word,n\na,x,9\na,y,2\n")
    result = smcmc(*RUN, *WORDS, "chains=3", "workers=3", status=2)
    assert "workers=3: 3 chains at the same time, of 11 tokens each, need more memory" in result.stderr
    assert not Path("results").exists()
    assert smcmc(*RUN, *WORDS, "chains=3", "workers=2").exit_code == 0


def test_a_long_word_after_short_ones(smcmc) -> None:
    Path("d.csv").write_text(f"doc,word\na,x\na,{'y' * 3_000_000}\na,z\n")
    result = smcmc(*RUN, *WORDS, "chains=1", status=0)
    assert "yyy…" in result.stderr and len(result.stderr) < 10_000


NETWORKS = [
    ("edges", "e.csv", "a,a\n", ["data.nodes=1"], 1),
    ("edges", "e.csv", "source,target\n", ["data.nodes=4"], 4),
    ("edges", "e.csv", "New York,Boston\nBoston,New York\nBoston,Boston\nNew York,Boston\n", ["data.nodes=3"], 3),
    ("edges", "e.csv", "1,2\n", [], 2),
]
DOCUMENTS = [
    ("corpus", "d.csv", "a,x\n", [], 1),
    ("corpus", "d.csv", "a,x\na,x\nb,x\n", [], 3),
    ("corpus", "d.csv", "a,x\na,y\n", [], 2),
    ("corpus", "d.ldac", "0\n2 0:1 1:1\n0\n", [], 2),
    ("corpus", "d.txt", "one two three\n\nfour two five\n", ["data.heldout=.3", "data.heldout_by=word"], 4),
]
SAMPLERS = ["gibbs", "sdds", "ss", "rm", "rgsm", "sams", "triadic", "birth_death"]


@pytest.mark.parametrize(
    ("sampler", "data", "name", "text", "args", "N"),
    [(sampler, *row) for sampler in SAMPLERS for row in NETWORKS] + [("gibbs", *row) for row in DOCUMENTS],
)
def test_small_and_empty_data_run(
    smcmc, sampler: str, data: str, name: str, text: str, args: list[str], N: int
) -> None:
    Path(name).write_text(text)
    args = [f"sampler={sampler}", "iterations=20", "chains=2", "trace.partitions=1", f"data={data}", *args]
    run = run_path(smcmc("run", *args, f"data.path={name}"))
    labels = np.stack(pq.read_table(run / "partitions.parquet")["labels"].to_pylist())
    assert labels.shape[1] == N and (labels[:, 0] == 0).all()
    assert np.isfinite(pq.read_table(run / "trace.parquet")["log_joint"].to_numpy()).all()


def test_truth_from_a_list_of_nodes(smcmc) -> None:
    Path("e.csv").write_text("a,b\nb,c\na,c\nx,y\ny,z\nx,z\n")
    Path("n.csv").write_text("id,side\nx,1\ny,1\nz,1\na,2\nb,2\nc,2\n")
    args = [*EDGES, "data.nodes=n.csv", "data.truth=side", "init=truth", "sampler=gibbs", "iterations=50"]
    run = run_path(smcmc("run", *args))
    assert len(json.loads((run / "summary.json").read_text())["point_estimate"]["labels"]) == 6
    trace = pq.read_table(run / "trace.parquet").to_pandas()
    assert (trace.loc[trace["iteration"] == 0, "ari"] == 1).all()


@pytest.mark.slow
def test_data_list_knows_the_networks(smcmc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SMCMC_DATA", str(tmp_path))
    lines = {line.split()[0]: line for line in smcmc("data", "list").stdout.splitlines()}
    for name, items in (("usair97", "332"), ("caltech36", "769"), ("nips234", "234"), ("hagmann998", "998")):
        assert f" graph        {items} " in lines[name] and " absent " in lines[name]
        told = smcmc("data", "info", name).stdout
        assert "SHA-256" in told and f"data={name}" in told and "data.scale=1.0" in told
        result = smcmc("data", "fetch", name)
        assert result.exit_code == 2 and "cannot be downloaded" in result.stderr
    assert "graph" in lines["network"] and "34" in lines["networkx"] and "nodes of the file" in lines["edges"]
    assert "nothing to fetch" in smcmc("data", "fetch", "networkx").stdout
