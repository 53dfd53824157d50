"""Bad input: exit status 2, one message that names the key or the file, no traceback, nothing written."""

from pathlib import Path

import pytest

from cli.calls import read_rejection

FILES = {
    "tokens.csv": "a\nb\na\nc\nb\na\n",
    "binary.csv": "1,0\n0,1\n0,0\n1,1\n0,1\n1,1\n",
    "names.csv": "0,1\n1,0\n0,0\n",
    "ragged.csv": "0,1\n1\n0,0\n",
    "words.csv": "0,1\n1,x\n0,0\n",
    "nan.csv": "0,1\nnan,0\n0,0\n",
    "two.csv": "0,1\n1,2\n0,0\n",
    "empty.csv": "",
    "labels.txt": "x\ny\nx\n",
    "hole.txt": "x\n\nx\ny\ny\nx\n",
    "unclosed.csv": '"a\nb\nc\n',
    "twice.csv": "t,t,a\nx,y,1\nx,z,0\n",
}

CSV = ["data=csv", "model=bernoulli"]

CASES = [
    # misspelt keys and groups
    (["smapler=sdds"], ["smapler", "Did you mean sampler?"]),
    (["sampler=sdss"], ["sampler=sdss", "Did you mean sampler=sdds?"]),
    (["sampler=sdds", "sampler.kernal=both"], ["sampler.kernal", "Did you mean sampler.kernel?"]),
    (["sampler=sdds", "kernel=both"], ["kernel: no such key", "Did you mean sampler.kernel?"]),
    (["model.aplha=1"], ["model.aplha", "Did you mean model.alpha?"]),
    (["iteration=5"], ["iteration", "Did you mean iterations?"]),
    (["trace.partition=5"], ["trace.partition", "Did you mean trace.partitions?"]),
    (["+foo=1"], ["foo", "no such key"]),
    (["sampler=sdds", "+sampler.foo=1"], ["sampler.foo", "no such key"]),
    (["+sampler.foo=1"], ["sampler.foo=1: no sampler is named", "expected sampler=NAME"]),
    (["sampler.kernel=both"], ["sampler.kernel=both: no sampler is named", "expected sampler=NAME"]),
    (["data=emn"], ["data=emn", "Did you mean data=emm?"]),
    (["schedule=ful_scan"], ["schedule=ful_scan", "Did you mean schedule=full_scan?"]),
    (["schedule=[{sdss: 1}]"], ["sampler=sdss", "Did you mean sampler=sdds?"]),
    (["schedule=[{rgsm: {weigth: 2}}]"], ["schedule.mix.rgsm.weigth", "Did you mean schedule.mix.rgsm.weight?"]),
    (["sampler"], ["sampler", "KEY=VALUE"]),
    (["N=[1"], ["N=[1"]),
    (["N=1,2"], ["N=1,2", "smcmc sweep"]),
    # values out of range or of another type
    (["N=0"], ["N=0", "a whole number from 1"]),
    (["N=many"], ["N=many", "a whole number"]),
    (["chains=0"], ["chains=0"]),
    (["chains=1.5"], ["chains=1.5", "a whole number"]),
    (["iterations=-5"], ["iterations=-5"]),
    (["budget=0"], ["budget=0", "a positive number"]),
    (["budget=1", "timing=false"], ["timing=false", "budget"]),
    (["thin=0"], ["thin=0"]),
    (["seed=-1"], ["seed=-1"]),
    (["trace.partitions=-1"], ["trace.partitions=-1"]),
    (["progress=loud"], ["progress=loud", "bars"]),
    (["workers=0"], ["workers=0"]),
    (["model.alpha=-1"], ["model.alpha", "-1"]),
    (["model.alpha=much"], ["model.alpha=much", "a positive number"]),
    (["model.label_prior=none"], ["model.label_prior=none", "as_printed"]),
    (["sampler=rgsm", "sampler.t=-1"], ["sampler.t", "-1"]),
    (["sampler=rgsm", "sampler.t=1.5"], ["sampler.t=1.5", "whole number"]),
    (["sampler=sdds", "sampler.mode=exactly"], ["sampler.mode", "as_printed"]),
    (["schedule=[{sdds: -1}]"], ["schedule.mix.sdds.weight=-1"]),
    (["schedule=[]"], ["schedule.mix", "{sdds: 1}"]),
    (["data.entities=0"], ["data.entities=0"]),
    (["data.n_tokens=99999999999"], ["data.n_tokens=99999999999", "1000000"]),
    (["data.seed=-1"], ["data.seed=-1"]),
    (["data.N=99999999999"], ["N=99999999999"]),
    (["data=jain_neal", "data.components=99999999999"], ["data.components=99999999999"]),
    (["data=jain_neal", "data.attributes=9223372036854775808"], ["data.attributes=9223372036854775808"]),
    # a group takes a name, and a name is the file's
    (["schedule=1"], ["schedule=1", "full_scan"]),
    (["data=[1]"], ["data=[1]", "emm"]),
    (["sampler=sdds", "sampler.name=../../zz"], ["sampler.name=../../zz", "sdds"]),
    (["schedule=[sdds]", "sampler=gibbs"], ["sampler=gibbs", "schedule"]),
    (["~trace.partitions"], ["trace.partitions", "KEY=VALUE"]),
    # more clusters than items, or than the model can hold
    (["N=20", "K0=21"], ["K0=21", "20"]),
    (["N=200", "K0=101"], ["K0=101", "model.kmax=100"]),
    (["N=200", "init=sequential", "K0=101"], ["init=sequential, model=emm", "K0=101", "model.kmax=100"]),
    (
        ["data=gaussian", "model=gaussian", "N=9", "K0=4", 'model.prior="mfm(components=uniform(3))"'],
        ["K0=4", "at most 3"],
    ),
    (["init=one_cluster", "K0=3"], ["K0=3", "init=one_cluster"]),
    (["init=sequential", "model=gaussian", "data=gaussian", "K0=3"], ["init=sequential, model=gaussian", "K0=3"]),
    (["init=nowhere.txt"], ["init=nowhere.txt", "singletons"]),
    (["N=6", "init=labels.txt"], ["labels.txt", "3 rows", "expected 6"]),
    (["N=6", "init=hole.txt"], ["hole.txt", "row 2"]),
    ([*CSV, "data.path=binary.csv", "init=truth"], ["init=truth", "binary"]),
    # data that the model cannot read
    (["data=jain_neal", "model=emm"], ["model=emm", "model=bernoulli"]),
    (["model=bernoulli"], ["model=bernoulli", "model=emm"]),
    # the user's files
    (["data=csv"], ["data.path"]),
    ([*CSV, "data.path=nowhere.csv"], ["nowhere.csv"]),
    ([*CSV, "data.path=ragged.csv"], ["ragged.csv", "row 2"]),
    ([*CSV, "data.path=words.csv"], ["words.csv", "row 2", "column 2", "x"]),
    ([*CSV, "data.path=nan.csv", "sampler=lshsm"], ["sampler=lshsm", "missing cells"]),
    ([*CSV, "data.path=two.csv"], ["two.csv", "row 2", "column 2", "2"]),
    ([*CSV, "data.path=empty.csv"], ["empty.csv"]),
    ([*CSV, "data.path=binary.csv", "N=7"], ["N=7", "6"]),
    ([*CSV, "data.path=binary.csv", "K0=7"], ["K0=7", "6"]),
    (["data=csv", "model=emm", "data.path=binary.csv"], ["binary.csv", "1 column of tokens", "model=mixed"]),
    ([*CSV, "data.path=names.csv"], ["names.csv: row 1", "0, 1", "data.header=true or false"]),
    ([*CSV, "data.path=5"], ["smcmc: 5: no such file"]),
    ([*CSV, "data.path=twice.csv", "data.truth=t"], ["data.truth=t", "2 columns"]),
    (["data=csv", "data.path=unclosed.csv"], ["unclosed.csv", "row 1", "quote"]),
    # where the results cannot go
    (["out=tokens.csv"], ["out=tokens.csv"]),
]


@pytest.mark.parametrize(("args", "named"), CASES, ids=[" ".join(args) for args, _ in CASES])
def test_run(smcmc, args: list[str], named: list[str]) -> None:
    for name, content in FILES.items():
        Path(name).write_text(content)
    told = read_rejection(smcmc, "run", "iterations=10", *args)
    for part in named:
        assert part in told


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["run", "--config-dir", "nowhere"], "nowhere"),
        (["run", "--cfg", "job", "smapler=sdds"], "Did you mean sampler?"),
        (["sweep", "smapler=sdds,rgsm"], "Did you mean sampler?"),
        (["sweep", "--dry-run", "N=0,-1"], "N=-1"),
        (["diagnose", "nowhere"], "nowhere"),
        (["data", "info", "emn"], "Did you mean data=emm?"),
        (["data", "info", "1"], "data=1"),
        (["verify", "sampler=1"], "sampler=1"),
        (["sweep", "--dry-run", "sampler=1,2"], "sampler=1"),
        (["list", "smaplers"], "samplers"),
        (["verify", "sampler"], "KEY=VALUE"),
        (["reproduce", "sdds-fig3", "--scale", "huge"], "huge"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_other_commands(smcmc, tmp_path: Path, args: list[str], named: str) -> None:
    result = smcmc(*args)
    assert result.exit_code == 2, result.output
    assert named in result.stderr
    assert not list(tmp_path.iterdir())
