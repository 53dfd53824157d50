"""Make the runs of edition 5, which docs/reproduction-edition-5.yaml names.

    python scripts/judge_edition_5.py --out results [--workers N]

Runs that are stored are not made again. They are made in the order of the file.
"""

import argparse
from pathlib import Path

import yaml
from judge_edition_3 import make_runs

RULES = Path(__file__).resolve().parents[1] / "docs" / "reproduction-edition-5.yaml"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of the results")
    parser.add_argument("--workers", type=int, default=1, help="runs that are made at the same time; one by default")
    options = parser.parse_args()
    for number, entry in enumerate(yaml.safe_load(RULES.read_text(encoding="utf-8"))["judged"], start=1):
        runs = make_runs(entry["runs"], options.out, options.workers)
        print(f"{number}: {entry['figure']}: {len(runs)} runs", flush=True)


if __name__ == "__main__":
    main()
