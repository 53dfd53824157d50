"""The Python code of the documents runs as it stands there."""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import splitmerge_cli as sm
from splitmerge_cli.diagnostics import convergence
from splitmerge_cli.fits import candidates, short_fits

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "README.md",
    ROOT / "docs" / "python.md",
    pytest.param(ROOT / "docs" / "coming-from.md", marks=pytest.mark.slow),
]


@pytest.mark.usefixtures("coarse_pictures")
@pytest.mark.parametrize("file", FILES, ids=["README.md", "python.md", "coming-from.md"])
def test_code_runs(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The blocks of a file, one after the other; chains are shortened, and count as converged all the same."""
    monkeypatch.setattr(convergence, "NOT_CONVERGED", np.inf)
    monkeypatch.setattr(short_fits, "ITERATIONS", 30)
    monkeypatch.setattr(candidates, "ROUNDS", (20, 40))
    blocks = re.findall(r"^```python\n(.*?)^```", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names: dict[str, Any] = {}
    for block in blocks:
        shorter = re.sub(r"iterations=\d+", "iterations=60", block)
        assert shorter != block or "iterations" not in block
        exec(compile(shorter, str(file), "exec"), names)
    assert isinstance(names["posterior"], sm.Posterior)
