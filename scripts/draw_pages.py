"""Run the commands of pages again, write what they print, and keep their pictures: README.md, docs/data, docs/models.

    python scripts/draw_pages.py [PAGE.md ...]

Blocks of `python` and `console` are run in the order of the page, in a folder of their own. Of a `console` block the
lines after `$` are commands, and what they print takes the place of the other lines. RUN is the folder of the last
run. A picture `images/pages/PAGE-NAME.png` is NAME.png of that folder, reduced to 256 colours; `PAGE-NAME-2.png` comes
from the second run on the page.

A page takes up to two minutes. `pip install palmerpenguins`; SMCMC_DATA names the folder of the published sets.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parents[1] / "docs"
PICTURES = DOCS / "images" / "pages"
WIDTH = 1200
"""Pixels of a picture, at most."""
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
UNDER_WAY = re.compile(r"chain \d+: .* left$| *\d+%  [\d,]+ iterations  |sampling has finished; writing")
"""Lines of progress, which depend on the load of the machine."""
RUN = re.compile(r"^results/[\w-]+/[0-9a-f]{12}$", re.MULTILINE)


class Page:
    """A page while its blocks are run.

    Parameters
    ----------
    path : Path
    folder : Path
        Where the commands are run.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder, self.run = path, folder, ""
        self.runs: list[str] = []
        # commands of the page come from this environment
        places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": places, "COLUMNS": "96", "LC_ALL": "C.UTF-8"}

    def updated_text(self) -> str:
        """The text of the page with what its commands print now."""
        return BLOCK.sub(self._block, self.path.read_text(encoding="utf-8"))

    def _block(self, block: re.Match[str]) -> str:
        if block[1] == "python":
            self._run_command([sys.executable, "-c", block[2]])
            return block[0]
        lines: list[str] = []
        for command in re.findall(r"^\$ (.*(?:(?<=\\)\n.*)*)$", block[2], re.MULTILINE):
            printed = self._run_command(["bash", "-c", command.replace("RUN", self.run)])
            if runs := RUN.findall(printed):
                self.run = runs[-1]
                self.runs += [self.run] if self.run not in self.runs else []
            self._keep_pictures()
            shown = [line.rstrip() for line in printed.splitlines()]
            lines += [f"$ {command}", *(line for line in shown if not UNDER_WAY.match(line))]
        return "\n".join(["```console", *lines, "```"])

    def _run_command(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        # status 2 is the answer to bad input, which a page may show; 1 comes from a diagnosis
        if done.returncode not in (0, 1, 2) or "Traceback" in done.stdout:
            raise SystemExit(f"{self.path.name}: {command[-1]}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def _keep_pictures(self) -> None:
        """Copy the pictures of the run that the page shows."""
        shown = rf"images/pages/{self.path.stem}-(\w+)(-\d+)?\.png"
        pictures = re.findall(shown, self.path.read_text(encoding="utf-8"))
        for name, number in pictures:
            drawn = self.folder / self.run / f"{name}.png"
            of_run = f"-{len(self.runs)}"
            if self.run and drawn.exists() and number == (of_run if (name, of_run) in pictures else ""):
                with Image.open(drawn) as picture:
                    picture = picture.convert("RGB")
                    picture.thumbnail((WIDTH, WIDTH))
                    target = PICTURES / f"{self.path.stem}-{name}{number}.png"
                    picture.quantize(256).save(target, optimize=True)


def path_of(name: str) -> Path:
    """A page by its path, or by its name in docs/data."""
    return Path(name) if Path(name).is_file() else DOCS / "data" / Path(name).name


def main(names: list[str]) -> None:
    """Run the pages of these names; without a name, the pages of data and models."""
    pages = [*sorted((DOCS / "data").glob("*.md")), *sorted((DOCS / "models").glob("*.md"))]
    for path in [path_of(name) for name in names] or pages:
        with tempfile.TemporaryDirectory() as folder:
            text = Page(path, Path(folder)).updated_text()
        path.write_text(text, encoding="utf-8")
        print(path.name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
