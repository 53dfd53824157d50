"""Bad input: exit status 2, one message that names the key or the file, no traceback, nothing written.

Here a few of each kind go through the command line; all messages are in ``tests/unit/test_refused*.py``.
"""

from pathlib import Path

import pytest

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
