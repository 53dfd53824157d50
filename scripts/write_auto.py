"""Write splitmerge_cli/config/auto.csv, what `sampler=auto` takes, from the kept figure `matrix`.

    python scripts/write_auto.py

A test compares the two.
"""

from pathlib import Path

import pandas as pd

from splitmerge_cli.config import auto
from splitmerge_cli.papers.comparisons.choice import rule

ROOT = Path(__file__).resolve().parents[1]
MATRIX = ROOT / "docs" / "reproduction" / "matrix.csv.gz"
TARGET = ROOT / "splitmerge_cli" / "config" / auto.FILE


def text() -> str:
    """Return the expected text of the file."""
    return rule(pd.read_csv(MATRIX, keep_default_na=False, na_values=[""])).to_csv(
        index=False, float_format="%.3g", lineterminator="\n"
    )


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
