"""Run what `smcmc verify` runs once for each sampler and keep its tables in docs/samplers/verification.csv.

    python scripts/verify_samplers.py [SAMPLER ...]

A quarter of an hour for all; samplers that are not named keep their rows. The pages of the site read the file.
"""

import csv
import sys
from pathlib import Path

from splitmerge_cli.config import choices
from splitmerge_cli.verify.command import COLUMNS, records

TARGET = Path(__file__).resolve().parents[1] / "docs" / "samplers" / "verification.csv"
ITERATIONS = 20_000
"""Length of the sampled check in addition to the exact one."""
HEAD = ("sampler", "model", "states", "case", *COLUMNS)


def main(names: list[str]) -> None:
    """Verify samplers of these names, all without a name, and write the file after each."""
    known = {}
    if TARGET.exists():
        with TARGET.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                known.setdefault(row["sampler"], []).append(row)
    for name in names or choices("sampler"):
        known[name] = list(records({"sampler": name, "iterations": str(ITERATIONS)}))
        print(name, len(known[name]), flush=True)
        with TARGET.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, HEAD, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for sampler in sorted(known) for row in known[sampler])


if __name__ == "__main__":
    main(sys.argv[1:])
