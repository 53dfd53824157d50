"""Run `smcmc verify` once for each sampler and keep its tables in docs/samplers/verification.csv.

    python scripts/verify_samplers.py [SAMPLER ...]

A quarter of an hour for all; samplers that are not named keep their rows. The pages of the site read the file.
"""

import csv
import re
import subprocess
import sys
from pathlib import Path

from splitmerge_cli.config import choices

TARGET = Path(__file__).resolve().parents[1] / "docs" / "samplers" / "verification.csv"
ITERATIONS = 20_000
"""Length of the sampled check beside the exact one."""
CELLS = (
    "form", "mode", "defect", "balance", "tv", "gibbs_defect", "gibbs_tv", "sampled_tv", "noise", "mutants", "verdict"
)  # fmt: skip
COLUMNS = ("sampler", "model", "states", "case", *CELLS)


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of the tables that `smcmc verify` prints, by column.

    Raises
    ------
    ValueError
        The tables have other columns than this script knows.
    """
    rows: list[dict[str, str]] = []
    head: dict[str, str] = {}
    for line in text.splitlines():
        if found := re.match(r"model=(\w+): (\d+) states; (.*)", line):
            head = dict(zip(("model", "states", "case"), (part.strip() for part in found.groups()), strict=True))
        elif line.startswith("│"):
            cells = [cell.strip() for cell in line.strip("│").split("│")]
            if len(cells) != len(CELLS):
                raise ValueError(f"expected {len(CELLS)} columns: {line}")
            if cells[1]:
                rows.append(head | dict(zip(CELLS, cells, strict=True)))
            else:  # a cell that was folded
                for name, cell in zip(CELLS, cells, strict=True):
                    rows[-1][name] = f"{rows[-1][name]} {cell}".strip()
    return rows


def verified(sampler: str) -> list[dict[str, str]]:
    """What `smcmc verify` prints of a sampler.

    Raises
    ------
    subprocess.CalledProcessError
        An exact sampler is not exact, or nothing could be checked.
    """
    asked = ["--all", f"sampler={sampler}", f"iterations={ITERATIONS}"]
    command = [sys.executable, "-m", "splitmerge_cli", "verify", *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [{"sampler": sampler, **row} for row in rows_of(done.stdout)]


def main(names: list[str]) -> None:
    """Verify samplers of these names, all without a name, and write the file after each."""
    known = {}
    if TARGET.exists():
        with TARGET.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                known.setdefault(row["sampler"], []).append(row)
    for name in names or choices("sampler"):
        known[name] = verified(name)
        print(name, len(known[name]), flush=True)
        with TARGET.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for sampler in sorted(known) for row in known[sampler])


if __name__ == "__main__":
    main(sys.argv[1:])
