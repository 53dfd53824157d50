"""An installation without the packages of the extras: the library works, and what is missing is named."""

import subprocess
import sys

import pytest

BLOCK = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
BLOCKED = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Missing())
"""
LIBRARY = """
import numpy as np, smcmc, warnings
warnings.simplefilter("ignore")
smcmc.sample
assert not {"typer", "matplotlib", "networkx", "arviz_base", "scipy.stats", "sklearn"} & set(sys.modules)
x = np.random.default_rng(0).normal(size=(20, 2))
posterior = smcmc.sample("gaussian", x, iterations=60, chains=2, progress="none")
assert posterior.point_estimate().shape == (20,) and len(posterior.cluster_summary())
assert posterior.log_predictive(x[:2]).shape == (2,)
assert smcmc.SplitMergeClustering("gaussian", iterations=20).fit(x).labels_.shape == (20,)
for ask in (lambda: posterior.traces, posterior.plot):
    try:
        ask()
    except ModuleNotFoundError as error:
        print(error)
"""
COMMAND = """
sys.argv = ["smcmc", *sys.argv[2:]]
from splitmerge_cli.__main__ import main
main()
"""


def run(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that has none of some packages."""
    return subprocess.run([sys.executable, "-c", BLOCK + code, *args], capture_output=True, text=True, check=False)


def test_the_library_needs_no_extra() -> None:
    ended = run(LIBRARY, "typer,click,matplotlib,networkx,openpyxl,arviz_base,xarray")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "arviz_base is not installed; pip install 'smcmc[arviz]' installs it",
        "matplotlib is not installed; pip install 'smcmc[plots]' installs it",
    ]


@pytest.mark.parametrize(
    ("package", "extra", "args"),
    [("typer", "cli", ["list"]), ("networkx", "networks", ["run", "data=networkx", "iterations=10", "progress=none"])],
)
def test_a_command_names_what_installs_what_it_misses(package: str, extra: str, args: list[str]) -> None:
    ended = run(COMMAND, package, *args)
    assert ended.returncode == 2
    assert (
        ended.stderr.splitlines()[-1] == f"smcmc: {package} is not installed; pip install 'smcmc[{extra}]' installs it"
    )
