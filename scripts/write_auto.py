"""Write splitmerge_cli/config/auto.csv: what `sampler=auto` takes, from the kept figure `matrix`, and what it loses,
from the chains of docs/choice.csv.gz.

    python scripts/write_auto.py

A test compares them.
"""

from pathlib import Path

import pandas as pd
from compare_samplers import losses

from splitmerge_cli.config import resolution
from splitmerge_cli.papers.comparisons.figures import rule

ROOT = Path(__file__).resolve().parents[1]
MATRIX = ROOT / "docs" / "reproduction" / "matrix.csv.gz"
LATER, DEFAULT = ROOT / "docs" / "choice.csv.gz", "5 sams"
"""Later races, and the name of what is taken there."""
TARGET = ROOT / "splitmerge_cli" / "config" / resolution.FILE


def text() -> str:
    """Return the expected text of the file."""
    table = rule(pd.read_csv(MATRIX, keep_default_na=False, na_values=[""]))
    chosen = table["moves"].astype(str) + " " + table["sampler"]
    assert (chosen == DEFAULT).all(), "the later races are of another schedule"
    times = losses(pd.read_csv(LATER), DEFAULT).groupby("model")["times"]
    later = pd.DataFrame({"raced": times.size().astype("Int64"), "median": times.median(), "worst": times.max()})
    table = table.drop(columns=["median", "worst"]).join(later, on="model")
    return table.to_csv(index=False, float_format="%.3g", lineterminator="\n")


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
