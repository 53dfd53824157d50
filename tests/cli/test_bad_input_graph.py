"""Bad networks end with exit status 2 and one message; odd ones that have an answer run."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

RUN = ["run", "sampler=gibbs", "iterations=5"]
FILE = ["data=edges", "data.path=e.csv"]
TRIANGLE = "a,b\nb,c\nc,a\n"

REFUSED_FILES = [
    ("", [], "e.csv: the file is empty; expected at least one row"),
    ("source,target\n", [], "e.csv: no edge (rows: 0); expected at least one, or data.nodes"),
    ("a,a\n", [], "e.csv: no edge (rows: 1; self-loops: 1, pairs not above the threshold: 0)"),
    ("a,b\nb,c,d\n", [], "e.csv: row 2: cells: 3; expected 2, as in row 1"),
    ("a,b\nb,\n", [], "e.csv: row 2, column 2: an empty cell; expected the name of a node"),
    ("source,target\na,b\n,c\n", [], "e.csv: row 3, column 1 ('source'): an empty cell; expected the name of a node"),
    ("a,b,1\nb,c,-2\n", [], "e.csv: row 2, column 3: '-2'; expected a number, at least 0"),
    ("a,b,1\nb,c,nan\n", [], "e.csv: row 2, column 3: 'nan'; expected a number, at least 0"),
    ("1,2\n1.0,3\n", [], "e.csv: row 2, column 1: '1.0'; expected one way to write a node"),
    ("Rome,Oslo\nBonn,Kyiv\n", [], "e.csv: row 1: 'Rome' and 'Oslo' stand nowhere else"),
    ("\0\0\0", [], "e.csv: row 1: byte 0x00; expected UTF-8 text"),
    (TRIANGLE, ["data.nodes=2"], "data.nodes=2: expected at least 3"),
    (TRIANGLE, ["data.nodes=two"], "two: no such file; expected a file that names the nodes"),
    (TRIANGLE, ["data.nodes=1.5"], "data.nodes=1.5: expected"),
    ("1,2\n2,3\n", ["data.nodes=4"], "data.nodes=4: the nodes that e.csv names, 1 to 3, may be of 0 to 3 or of 1 to 4"),
    ("1,2\n2,3\n", ["data.nodes=2", "data.base=1"], "e.csv: row 2, column 2: '3'; expected a whole number from 1 to 2"),
    ("0,1\n1,2\n", ["data.base=1"], "e.csv: row 1, column 1: '0'; expected a whole number from 1 on (data.base=1)"),
    (TRIANGLE, ["data.base=2"], "data.base=2: expected 0 or 1"),
    (TRIANGLE, ["data.base=true"], "data.base=true: expected a whole number or null"),
    (TRIANGLE, ["data.base=1", "data.nodes=n.csv"], "data.base=1: expected null beside data.nodes=FILE"),
    ("0,1\n5,6\n6,7\n", [], "e.csv: row 1: '0, 1' may name the columns or be the first row of data"),
    (",from,to\n3,a,b\n5,b,c\n", [], "e.csv: row 2, column 1 (''): '3': the column has no name"),
    (TRIANGLE, ["data.truth=side"], "data.truth=side: expected null, or data.nodes=FILE"),
    (TRIANGLE, ["data.source=1"], "data.target=null: expected a column"),
    (TRIANGLE, ["data.weights=w"], "data.weights=w: e.csv has no such column"),
    (TRIANGLE, ["data.threshold=-1"], "data.threshold=-1.0: expected a number from 0"),
    (TRIANGLE, ["data.threshold=low"], "data.threshold=low: expected a number"),
    (TRIANGLE, ["data.separator=pipe"], "data.separator=pipe: expected one of auto"),
    (TRIANGLE, ["data.comments=1"], "data.comments=1: expected true or false"),
    (TRIANGLE, ["data.scale=0"], "data.scale=0.0: expected a number above 0"),
    (TRIANGLE, ["data.scale=0.5", "N=2"], "data.scale=0.5: expected 1 beside N=2"),
    (TRIANGLE, ["N=4"], "N=4: expected a whole number from 1 to 3"),
    (TRIANGLE, ["K0=4"], "K0=4: expected at most 3"),
    (TRIANGLE, ["init=truth"], "init=truth: the true labels of e are not known"),
    (TRIANGLE, ["data.column=1"], "data.column: no such key"),
    (TRIANGLE, ["model=bernoulli"], "model=bernoulli with data=edges: reads binary, not graph; expected model=irm"),
    (
        TRIANGLE,
        ["data=csv", "model=irm"],
        "data.kind=graph: data=csv reads tables; expected data=edges data.path=",
    ),
]

REFUSED = [
    (["data=edges"], "data.path: a value is needed"),
    (["data=edges", "data.path=none.csv"], "none.csv: no such file; expected a list of edges"),
    (["data=emm", "model=irm"], "reads graph, not tokens; expected model=emm, or other data (smcmc list data)"),
    (["data=network", "data.structure=tree"], "data.structure=tree: expected one of blocks, grid, random"),
    (["data=network", "data.p_in=2"], "data.p_in=2.0: expected a number from 0 to 1"),
    (["data=network", "data.structure=grid", "N=97"], "N=97: expected a product of 2 whole numbers"),
    (["data=network", "data.structure=grid", "data.sides=[5,5]"], "expected numbers whose product is N=100, not 25"),
    (["data=network", "data.blocks=101"], "data.blocks=101: expected a whole number from 1 to 100"),
    (["data=networkx", "data.graph=zebra"], "data.graph=zebra: expected one of karate"),
    (["data=networkx", "N=35"], "N=35: expected a whole number from 1 to 34"),
    (["data=usair97", "data.scale=1.1"], "data.scale=1.1: expected a number above 0, at most 1"),
    (["data=usair97"], "data=usair97: "),
]


@pytest.mark.parametrize(("text", "args", "named"), REFUSED_FILES, ids=[named for _, _, named in REFUSED_FILES])
def test_a_list_of_edges(check_rejection, text: str, args: list[str], named: str) -> None:
    Path("e.csv").write_text(text)
    check_rejection([*RUN, *FILE, *args], named)


@pytest.mark.parametrize(("args", "named"), REFUSED, ids=[" ".join(args) for args, _ in REFUSED])
def test_other_networks(check_rejection, args: list[str], named: str) -> None:
    check_rejection([*RUN, *args], named)


def test_a_list_of_nodes(check_rejection) -> None:
    Path("e.csv").write_text(TRIANGLE)
    Path("n.csv").write_text("id,side\na,x\nb,x\n")
    check_rejection([*RUN, *FILE, "data.nodes=n.csv"], "e.csv: row 2, column 2: 'c'; expected a node of n.csv")
    Path("n.csv").write_text("id,side\na,x\nb,x\nc,y\na,x\n")
    check_rejection([*RUN, *FILE, "data.nodes=n.csv"], "n.csv: row 5, column 1 ('id'): 'a'; expected every node once")


@pytest.mark.parametrize("sampler", ["gibbs", "sdds", "ss", "rm", "rgsm", "sams", "triadic", "birth_death"])
@pytest.mark.parametrize(
    ("text", "args", "N"),
    [
        ("a,a\n", ["data.nodes=1"], 1),
        ("source,target\n", ["data.nodes=4"], 4),
        ("New York,Boston\nBoston,New York\nBoston,Boston\nNew York,Boston\n", ["data.nodes=3"], 3),
        ("1,2\n", [], 2),
    ],
)
def test_small_and_empty_networks_run(smcmc, sampler: str, text: str, args: list[str], N: int) -> None:
    Path("e.csv").write_text(text)
    result = smcmc("run", f"sampler={sampler}", "iterations=20", "chains=2", "trace.partitions=1", *FILE, *args)
    assert result.exit_code == 0, result.output
    run = Path(result.stdout.strip().splitlines()[-1])
    labels = np.stack(pq.read_table(run / "partitions.parquet")["labels"].to_pylist())
    assert labels.shape[1] == N and (labels[:, 0] == 0).all()
    assert np.isfinite(pq.read_table(run / "trace.parquet")["log_joint"].to_numpy()).all()


def test_truth_from_a_list_of_nodes(smcmc) -> None:
    Path("e.csv").write_text("a,b\nb,c\na,c\nx,y\ny,z\nx,z\n")
    Path("n.csv").write_text("id,side\nx,1\ny,1\nz,1\na,2\nb,2\nc,2\n")
    args = [*FILE, "data.nodes=n.csv", "data.truth=side", "init=truth", "sampler=gibbs", "iterations=50"]
    result = smcmc("run", *args)
    assert result.exit_code == 0, result.output
    summary = json.loads((Path(result.stdout.strip().splitlines()[-1]) / "summary.json").read_text())
    assert len(summary["point_estimate"]["labels"]) == 6
    trace = pq.read_table(Path(result.stdout.strip().splitlines()[-1]) / "trace.parquet").to_pandas()
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
        assert result.exit_code == 2 and "no address is known" in result.stderr
    assert "graph" in lines["network"] and "34" in lines["networkx"] and "nodes of the file" in lines["edges"]
    assert "nothing to fetch" in smcmc("data", "fetch", "networkx").stdout
