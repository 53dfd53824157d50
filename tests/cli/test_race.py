"""``smcmc race``: what it runs, writes, says and refuses."""

from pathlib import Path

import pandas as pd
import pytest

SMALL = ["model=bernoulli", "data=jain_neal", "N=30", "hydra/launcher=basic"]


def test_samplers_race_from_both_starts(smcmc) -> None:
    args = ["race", "sampler=sams,gibbs", *SMALL, "iterations=300", "--seeds", "2"]
    result = smcmc(*args, status=0)
    folder = Path(result.stdout.splitlines()[-1])
    chains = pd.read_csv(folder / "chains.csv")
    assert len(chains) == 8 and set(chains["start"]) == {"one_cluster", "singletons"}
    assert len(pd.read_csv(folder / "race.csv")) == 4
    assert (folder / "race.png").is_file() and (folder / "race.pdf").is_file()
    assert "target: log joint -" in result.stdout and "from singletons: " in result.stdout
    assert any(word in result.stdout for word in ("is first", "not decided"))
    # of the same runs, found: the same
    again = smcmc("race", *(f"results/{run}" for run in (folder / "runs.txt").read_text().split()))
    assert again.stdout.splitlines()[-1] == str(folder)
    assert again.stdout == result.stdout


@pytest.mark.slow
def test_certificates_beside_it(smcmc) -> None:
    args = ["sampler=sams,arm", *SMALL, "N=12", "init=singletons", "iterations=200", "chains=2"]
    result = smcmc("race", *args, "--seeds", "1", "--certify", "3", status=0)
    assert "sams: variance x seconds of an unbiased estimate" in result.stdout
    assert "history of several chains" in result.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["sampler=sams,nosuch", *SMALL], "nosuch"),
        (["sampler=sams", "results"], "not both"),
        (["nowhere"], "nowhere: no run here"),
        (["sampler=sams", *SMALL, "timing=false", "iterations=20", "--seeds", "1"], "timing=false records no times"),
        (["sampler=sams", *SMALL, "trace.partitions=0", "iterations=20", "--seeds", "1"], "records no partitions"),
        (["sampler=sams", *SMALL, "N=20,30", "iterations=20", "--seeds", "1"], "N differs from"),
    ],
)
def test_what_cannot_race_is_said(smcmc, args: list[str], said: str) -> None:
    result = smcmc("race", *args)
    assert result.exit_code == 2 and said in result.stderr, result.output
    # no run was made in vain
    assert not Path("results").exists()
