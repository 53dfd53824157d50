"""Measure the calibration of every model by simulation: docs/calibration.csv, the figure and the table of its page.

    python scripts/measure_calibration.py [SETTING ...] [--sets 1000] [--cache results/calibration]
    python scripts/measure_calibration.py SETTING ... --first 1000
    python scripts/measure_calibration.py --study items --sets 300
    python scripts/measure_calibration.py --draw

Data sets that the cache holds are not made again; settings that are not named keep their rows. Two minutes of a core
for 1,000 data sets of a setting.

    --study  data: what draws of a chain show of what made the data; items: what they predict of an item that is held
             out; both, unless one is named. Rows of the other are kept.
    --first  other data sets, from that number on, whose rows are printed and not kept
    --draw   the figure and the table from the file that is there
"""

import argparse
import json
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from calibration import (
    BINS,
    DRAWS,
    SETS,
    SETTINGS,
    band,
    bin_ranks,
    calibrate,
    uniformity,
)
from predictive_calibration import DRAWS as ITEMS
from predictive_calibration import calibrate_predictions

from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.diagnostics.intervals import mean_interval

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLE, FIGURE, PAGE = DOCS / "calibration.csv", DOCS / "images" / "calibration.png", DOCS / "calibration.md"
BEGIN, END = "<!-- table: scripts/measure_calibration.py -->", "<!-- end of the table -->"
PARTS = [f"part {j + 1}" for j in range(BINS)]
STUDIES = {"data": (calibrate, DRAWS), "items": (calibrate_predictions, ITEMS)}
"""By name the function of a data set, and the draws that ranks are among."""


def measure(name: str, study: str, sets: int, cache: Path) -> pd.DataFrame:
    """Rows of one setting, a row for each quantity, of at least as many data sets as the cache holds."""
    setting, (look, draws) = SETTINGS[name], STUDIES[study]
    file = cache / f"{name.replace(' ', '-').replace(',', '')}-{study}.jsonl"
    about = json.dumps([repr(setting), draws])
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    if not lines or lines[0] != about:
        lines = [about]
        file.write_text(about + "\n", encoding="utf-8")
    spec = setting.specify()
    with file.open("a", encoding="utf-8") as stream:
        for number in range(len(lines) - 1, sets):
            lines.append(json.dumps(vars(look(setting, number, spec))))
            stream.write(lines[-1] + "\n")
    return rows_of(name, study, [json.loads(line) for line in lines[1 : sets + 1]])


def rows_of(name: str, study: str, records: list[dict]) -> pd.DataFrame:
    """Rows of a setting from what its data sets showed."""
    setting, rows = SETTINGS[name], []
    options = " ".join(f"{key}={value}" for key, value in setting.options.items())
    ranked = dict.fromkeys(key for one in records for key in one["ranks"])
    for quantity in dict.fromkeys([*ranked, *(key for key in records[0]["randomised"] if key not in ("K", "ball"))]):
        row: dict = {"setting": name, "options": options, "items": setting.N, "data sets": len(records)}
        row["quantity"] = quantity
        if quantity in ranked:
            ranks = [one["ranks"][quantity] for one in records if quantity in one["ranks"]]
            counts = bin_ranks(ranks, STUDIES[study][1])
            row |= {"p": uniformity(counts), **dict(zip(PARTS, counts, strict=True))}
        name_of_quantity = {"distance": "ball"}.get(quantity, quantity)
        if name_of_quantity in records[0]["randomised"]:
            _, row["low"], row["high"] = mean_interval([one["randomised"][name_of_quantity] for one in records])
            row["randomised"] = np.mean([one["randomised"][name_of_quantity] for one in records])
        if name_of_quantity in SETS:
            for column in ("covered", "stated"):
                row[column] = np.mean([one[column][name_of_quantity] for one in records])
            excess = [one["covered"][name_of_quantity] - one["stated"][name_of_quantity] for one in records]
            row["excess"], row["excess low"], row["excess high"] = mean_interval(excess)
        rows.append(row)
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame) -> None:
    """Draw for each quantity how the ranks of every setting deviate from uniform ones."""
    quantities = list(dict.fromkeys(table.dropna(subset=["p"])["quantity"]))
    with use_style():
        figure, axes = plt.subplots(
            -(-len(quantities) // 4), 4, figsize=(11, 8), sharex=True, sharey=True, squeeze=False
        )
        z = np.arange(BINS + 1) / BINS
        for ax, quantity in zip(axes.flat, quantities, strict=False):
            of_quantity = table[table["quantity"] == quantity]
            # fewer data sets have the wider band
            for number in sorted(of_quantity["data sets"].unique()):
                low, high = (np.concatenate([[0], edge, [0]]) for edge in band(int(number)))
                ax.fill_between(z, low, high, color="0.8" if number == table["data sets"].max() else "0.9", lw=0)
            for _, row in of_quantity.iterrows():
                counts = row[PARTS].to_numpy(dtype=float)
                ax.plot(z, np.append(0, counts.cumsum()) / counts.sum() - z, lw=0.8)
            ax.set_title(quantity)
        for ax in axes.flat[len(quantities) :]:
            ax.set_axis_off()
        figure.supxlabel("rank, as a share of the draws")
        figure.supylabel("distribution function − uniform")
        figure.savefig(FIGURE, dpi=90)
        plt.close(figure)


def page_table(table: pd.DataFrame) -> str:
    """The table of the page: a row for each setting."""
    sets = [f"{name}: {column}" for name in ("K", "ball") for column in ("0.95", "covers", "states")]
    heads = ("model", "least p of its ranks", *sets, "pairs: 0.95", "item: 0.95", "its pairs: 0.95")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, of_setting in table.groupby("setting", sort=False):
        by_quantity = of_setting.set_index("quantity")
        worst = by_quantity["p"].idxmin()
        cells = [name, f"{by_quantity['p'].min():.2g} ({worst})"]
        for quantity in ("K", "distance"):
            covered, stated, randomised = by_quantity.loc[quantity, ["covered", "stated", "randomised"]]
            cells += [f"{share:.3f}" for share in (randomised, covered, stated)]
        cells.append(f"{by_quantity.loc['pairs', 'randomised']:.3f}")
        if "new item" in by_quantity.index:
            cells.append(f"{by_quantity.loc['new item', 'randomised']:.3f}")
            cells.append(
                f"{by_quantity.loc['new pairs', 'randomised']:.3f}" if "new pairs" in by_quantity.index else "-"
            )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show(rows: pd.DataFrame) -> None:
    """Print rows of a setting."""
    print(rows.drop(columns=[*PARTS, "options"]).to_string(index=False), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--cache", type=Path, default=Path("results") / "calibration")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--study", choices=STUDIES)
    parser.add_argument("--draw", action="store_true")
    options = parser.parse_args()
    studies = [options.study] if options.study else list(STUDIES)
    if options.first:
        for name, study in product(options.settings or SETTINGS, studies):
            spec, numbers = SETTINGS[name].specify(), range(options.first, options.first + options.sets)
            records = [vars(STUDIES[study][0](SETTINGS[name], number, spec)) for number in numbers]
            show(rows_of(name, study, records))
        return
    table = pd.read_csv(TABLE) if TABLE.is_file() else pd.DataFrame()
    if not options.draw:
        options.cache.mkdir(parents=True, exist_ok=True)
        known = {} if table.empty else dict(tuple(table.groupby("setting")))
        for name, study in product(options.settings or SETTINGS, studies):
            rows = measure(name, study, options.sets, options.cache)
            show(rows)
            stored = known.get(name, rows)
            of_items = stored["quantity"].str.startswith("new")
            stored = stored[~of_items if study == "items" else of_items]
            known[name] = pd.concat([stored, rows] if study == "items" else [rows, stored], ignore_index=True)
        table = pd.concat([known[name] for name in SETTINGS if name in known], ignore_index=True)
        table[PARTS] = table[PARTS].astype("Int64")
        table.to_csv(TABLE, index=False, lineterminator="\n", float_format="%.4g")
        table = pd.read_csv(TABLE)
    draw(table)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{page_table(table)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
