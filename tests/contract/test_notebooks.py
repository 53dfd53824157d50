"""The notebooks of the documentation: executed, small, and without traces of the machine; all of them run."""

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LARGEST = 300_000


def outputs(notebook) -> list:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_is_executed_and_small(path: Path) -> None:
    assert path.stat().st_size < LARGEST
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert any("image/png" in output.get("data", {}) for output in outputs(notebook))
    assert not [output for output in outputs(notebook) if output.output_type == "error"]
    printed = "".join(output.get("text", "") for output in outputs(notebook))
    assert not re.search(r"/(home|root|tmp|Users)/", printed) and "Warning" not in printed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_its_links_lead_somewhere(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\(([^)\s#]+)", text)
    assert targets and all((path.parent / target).exists() for target in targets if "://" not in target)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_runs(path: Path) -> None:
    """A cell that fails raises; what the chains give is what stands there, but for the pictures. A notebook whose
    texts come with a package prints its version first: with another one it has other outputs."""
    import execute_notebooks

    stored, again = nbformat.read(path, as_version=4), execute_notebooks.execute(path)

    def texts(notebook) -> list[str]:
        found = (cell.outputs for cell in notebook.cells if cell.cell_type == "code")
        return ["".join(o.get("text", o.get("data", {}).get("text/plain", "")) for o in out) for out in found]

    if not texts(stored)[0].startswith("SciPy ") or texts(again)[0] == texts(stored)[0]:
        assert texts(again) == texts(stored)


def test_the_index_has_each_as_a_page_and_as_a_file() -> None:
    index = (NOTEBOOKS[0].parent / "index.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        assert f"]({path.name})" in index and f"{{download}}`{path.name}`" in index and f"\n{path.stem}\n" in index
    assert len(NOTEBOOKS) == 5
