"""Execute the notebooks of docs/notebooks again, in their own folder, and write what they print and draw.

python scripts/execute_notebooks.py [NAME.ipynb ...]
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
FILE_OF_CELL = re.compile(r"^\S*ipykernel_\d+/\d+\.py:\d+: ", re.MULTILINE)
"""Where a warning says that it comes from: another file in every run."""
SECONDS = 600
"""That a cell may take."""


def execute(path: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs of its cells; what changes from run to run (times, counts) is left out.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    # commands of cells come from this environment
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute(env={**os.environ, "COLUMNS": "100"})
    notebook.metadata = {key: notebook.metadata[key] for key in ("kernelspec",)}
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = FILE_OF_CELL.sub("", output.text)
    return notebook


def main(names: list[str]) -> None:
    """Execute and write the notebooks of these names; all without a name."""
    for path in [NOTEBOOKS / name for name in names] or sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(execute(path), path)
        print(path, f"{path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
