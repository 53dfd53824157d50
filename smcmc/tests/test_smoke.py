"""Whether an installation works: chains on every model, a proof, the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import smcmc
from smcmc.testing import assert_exact
from splitmerge_cli import instruction_sets


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, env=os.environ | environment, check=False
    )


@pytest.mark.slow  # of a build from source it has little to compare
def test_chains_are_the_same_on_every_level() -> None:
    """A build from source has one level: its chains are the same a second time."""
    able = [
        level
        for level in instruction_sets.built_variants()
        if instruction_sets.NEEDS[level] <= instruction_sets.processor_flags()
    ]
    digest_by_level: dict[tuple[str, int], str] = {}
    for level in [*able, instruction_sets.BASELINE, instruction_sets.BASELINE][: max(2, 1 + len(able))]:
        ended = run("-m", "smcmc.tests.chains", **{instruction_sets.VARIABLE: level})
        assert ended.returncode == 0, ended.stderr
        digest_by_level[level, len(digest_by_level)] = ended.stdout
    assert len(set(digest_by_level.values())) == 1 and len(ended.stdout.splitlines()) > 10


def test_a_level_that_is_not_there_is_said() -> None:
    if not instruction_sets.built_variants():
        with pytest.raises(ImportError, match="SMCMC_LEVEL=x86-64-v9: expected one of baseline"):
            os.environ[instruction_sets.VARIABLE] = "x86-64-v9"
            try:
                instruction_sets.choose([])
            finally:
                del os.environ[instruction_sets.VARIABLE]
        return
    ended = run("-c", "import smcmc", **{instruction_sets.VARIABLE: "x86-64-v9"})
    assert ended.returncode == 1 and "SMCMC_LEVEL=x86-64-v9: expected one of" in ended.stderr


@pytest.mark.parametrize("sampler", ["gibbs", "sams", "sdds"])
def test_samplers_are_exact(sampler: str) -> None:
    assert max(proof.defect for proof in assert_exact(sampler, models=["bernoulli", "gaussian"])) < 1e-12


def test_the_command_line(tmp_path: Path) -> None:
    ended = run("-m", "smcmc", "run", "data=emm", "N=50", "iterations=200", "chains=2", f"out={tmp_path}")
    assert ended.returncode == 0, ended.stderr
    folder = Path(ended.stdout.splitlines()[-1])
    assert (folder / "clusters.csv").is_file()
    assert smcmc.Posterior.load(folder).partitions.shape[1] == 50
