"""The R code of docs/r.md runs as it stands there, and prints what is printed there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "r.md"
BLOCK = re.compile(r"^```r\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def run_in_r(blocks: list[str], folder: Path) -> list[str]:
    """Return what each block prints, by a process of R whose Python is this one.

    Raises
    ------
    pytest.skip.Exception
        R, or a package of R that the page uses, is not installed.
    """
    if (command := shutil.which("Rscript")) is None:
        pytest.skip("needs R: Rscript is not on the path")
    environment = os.environ | {"RETICULATE_PYTHON": sys.executable, "PYTHONUNBUFFERED": "1"}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, "--vanilla", *arguments], capture_output=True, text=True, check=False, env=environment
        )

    for package in ("reticulate", "MASS"):
        if call("-e", f"library({package})").returncode:
            pytest.skip(f"needs the package {package} of R")
    script = folder / "page.R"
    script.write_text("".join(f'cat("<<block>>\\n")\n{block}' for block in blocks), encoding="utf-8")
    done = call(str(script))
    assert done.returncode == 0, done.stderr
    return re.sub(" +$", "", done.stdout, flags=re.M).split("<<block>>\n")[1:]


@pytest.mark.slow
def test_page_prints_what_it_shows(tmp_path: Path) -> None:
    """Two processes of R and two runs with their compiled code: 30 seconds."""
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    printed = run_in_r([code for code, _ in blocks], tmp_path)
    assert [out.rstrip() for out in printed] == [shown.rstrip() for _, shown in blocks]
    assert sum(bool(shown) for _, shown in blocks) >= 4
