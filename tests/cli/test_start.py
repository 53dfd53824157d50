"""Imports and models that a command makes before it shows anything."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris

from splitmerge_cli.config import compose, groups
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.runs import initial, plan, prepare, run
from splitmerge_cli.runs.store.read import Run

HEAVY = ("matplotlib", "numpy", "pandas", "pyarrow", "pyarrow.compute", "pyarrow.dataset", "rich", "scipy", "sklearn")
HEAVY += ("splitmerge_cli._kernels", "splitmerge_cli.analysis.race", "typing")
LIBRARIES = ("matplotlib", "pandas", "platformdirs", "scipy", "sklearn", "urllib.request")
"""Libraries that a run of real numbers does not import: it makes arrays, quantiles and tables without them."""
SMALL = ["N=20", "iterations=20", "chains=2", "progress=none"]

IMPORTED = """
import atexit, sys
atexit.register(lambda: print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr))
sys.argv = ["smcmc", *{args}]
from splitmerge_cli.__main__ import main
main()
"""


def imports_of(*args: str, among: tuple[str, ...] = HEAVY) -> set[str]:
    """Which of these modules a command has imported at its end."""
    code = IMPORTED.format(heavy=among, args=list(args))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ended.stderr.splitlines()[-1].split()) - {"typing"}


def test_help_needs_none_of_it() -> None:
    assert imports_of("--help") <= {"rich"}


@pytest.mark.parametrize("args", [["list", "samplers"], ["sys-info"]], ids=" ".join)
def test_what_there_is_needs_no_data(args: list[str]) -> None:
    assert imports_of(*args) <= {"rich"}


def test_to_compare_runs_needs_no_race() -> None:
    assert "splitmerge_cli.analysis.race" in imports_of("race", "--help")
    assert "splitmerge_cli.analysis.race" not in imports_of("compare", "--help")


def test_a_finished_run_needs_neither_data_nor_tables(smcmc) -> None:
    """The classes of model and sampler are imported: defaults depend on what they are. Advice needs to know what a
    longer run would record."""
    assert smcmc("run", *SMALL).exit_code == 0
    assert imports_of("run", *SMALL) <= {"numpy", "pyarrow", "splitmerge_cli._kernels"}


@pytest.mark.parametrize("wrong", ["data.max_bytes=abc", "workers=0", "progress=loud", "perplexity.particles=0"])
def test_what_is_no_part_of_its_identity_is_checked_all_the_same(smcmc, wrong: str) -> None:
    assert smcmc("run", *SMALL).exit_code == 0
    result = smcmc("run", *[arg for arg in SMALL if "progress" not in arg], wrong)
    assert result.exit_code == 2 and result.stderr.startswith(f"smcmc: {wrong}: expected")


def test_a_run_needs_no_library_of_tables() -> None:
    """pandas and what else pyarrow imports take longer than such a run. SciPy matches many clusters with the truth."""
    needed = {"numpy", "pyarrow", "pyarrow.compute", "scipy", "splitmerge_cli._kernels"}
    assert imports_of("run", "N=60", "iterations=20", "chains=2", "progress=none") <= needed


OTHER_KINDS = (
    *("rapidfuzz", "rich.progress", "splitmerge_cli.verify.cases", "splitmerge_cli.runs.store.summary"),
    *("splitmerge_cli.kinds.networks.links", "splitmerge_cli.kinds.networks.irm", "splitmerge_cli.kinds.documents.hdp"),
    *("splitmerge_cli.kinds.records.model", "splitmerge_cli.kinds.records.similar_values"),
    *("splitmerge_cli.kinds.lines.model", "splitmerge_cli.kinds.tables.models.bernoulli"),
)
"""Modules that no table of real numbers needs: other kinds and models, and the check of somebody else's summary."""


def test_a_table_needs_nothing_of_other_kinds(tmp_path: Path) -> None:
    rows = [f"{x},{x * x % 7 + 0.5}" for x in (0.1, 0.7, 1.9, 2.2, 5.3, 6.1, 6.4, 7.7, 8.2, 9.4, 9.9, 11.3)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    out = f"out={tmp_path / 'out'}"
    among = (*OTHER_KINDS, "splitmerge_cli.kinds.tables.models.gaussian")
    found = imports_of("run", str(tmp_path / "t.csv"), out, "iterations=20", "progress=none", among=among)
    assert found == {"splitmerge_cli.kinds.tables.models.gaussian"}


def test_a_table_of_ones_own_needs_neither_pandas_nor_scipy(tmp_path: Path) -> None:
    """The irises of the README: their model, its covariance and the length of the run are chosen."""
    load_iris(as_frame=True).frame.to_csv(tmp_path / "t.csv", index=False)
    run_it = ("run", str(tmp_path / "t.csv"), "data.truth=target", f"out={tmp_path / 'out'}", "progress=none")
    assert imports_of(*run_it, among=(*LIBRARIES, "numpy")) == {"numpy"}


def test_a_network_of_ones_own_needs_no_pandas(tmp_path: Path) -> None:
    """Its nodes have names, and some are nearly alone in their blocks."""
    edges = [f"hub,{i}" for i in range(40)] + [f"{i},{i + 1}" for i in range(0, 40, 2)]
    (tmp_path / "t.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    out = f"out={tmp_path / 'out'}"
    among = ("pandas", "sklearn", "matplotlib", "scipy.sparse")
    assert imports_of("run", str(tmp_path / "t.csv"), out, "iterations=200", among=among) == {"scipy.sparse"}


def test_no_file_is_read_of_a_choice_that_was_not_made() -> None:
    code = "from splitmerge_cli.config import compose, groups; compose(['sampler=gibbs']); print(*groups.named_targets)"
    named = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert {name.rpartition(".")[2] for name in named} == {"EMM", "Gibbs", "generate"}


READING = """
import io, sys, time
import pyarrow as pa, pyarrow.csv
class Slow(io.RawIOBase):
    first = True
    def readable(self):
        return True
    def read(self, size=-1):
        time.sleep(0 if self.first else 0.02)
        self.first = False
        return b"1,2\\n" * 20000
reader = pyarrow.csv.open_csv(pa.PythonFile(Slow(), mode="r"), pyarrow.csv.ReadOptions(block_size=1 << 16))
reader.read_next_batch()
sys.argv = ["smcmc", *{args}]
from splitmerge_cli.__main__ import main
main()
"""


@pytest.mark.parametrize(("args", "status"), [(["run", "nope.csv"], 2), (["--version"], 0)])
def test_threads_that_still_read_do_not_abort_the_process(args: list[str], status: int) -> None:
    """Without care such a thread aborts it (status 134), or it never ends."""
    code = READING.format(args=args)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == status and len((ended.stdout + ended.stderr).splitlines()) == 1


def test_signals_are_heeded_before_anything_else_is_imported() -> None:
    code = f"import sys, splitmerge_cli.runs.interrupts; print(*(n for n in {HEAVY} if n in sys.modules))"
    # what the environment of the tests imports at the start of every process is not counted
    before = subprocess.check_output([sys.executable, "-c", code.replace(", splitmerge_cli.runs.interrupts", "")])
    assert subprocess.check_output([sys.executable, "-c", code]) == before


def test_every_chain_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def record_data(cls: Any, data: Any, **options: Any) -> EMM:
        built.append(data)
        return real(data, **options)

    class Counted(EMM):
        from_data = classmethod(record_data)

    real, known = EMM.from_data, groups.target_of
    monkeypatch.setattr(groups, "target_of", lambda *of: Counted if of[:2] == ("model", "emm") else known(*of))

    # data that no other test has loaded in this process
    path = run(prepare(compose([*SMALL, "data.seed=4711"])))
    assert len(built) == 2
    found = Run(path)
    for _ in range(3):
        initial.dataset_of(found)
    assert len(built) == 3


def test_topics_are_a_matter_of_their_recorder() -> None:
    """The runner does not ask what kind of data it has."""
    folder = Path(plan.__file__).parent
    naming = {file.name for file in folder.glob("*.py") if '"documents"' in file.read_text(encoding="utf-8")}
    assert not naming
