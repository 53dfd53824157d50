"""Kept pictures: what a figure's numbers draw, with the numbers that count."""

from pathlib import Path

import numpy as np
import pandas as pd

from editions.counted import settle, strip
from editions.kept import DPI, check_file, claims_of, kept_editions, kept_folder, picture_of, read_index, save_small
from editions.overview import latest_figures
from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.papers.discovery import figures

CLAIM = ["data", "sampler", "metric"]
"""Columns that name a claim of a figure."""


def find_elsewhere(root: Path, name: str, folder: Path) -> set[tuple[str, ...]]:
    """The claims of a figure whose verdicts rest on other runs than those that the edition in `folder` plots.

    These are the claims that a supplement judged from runs of its own, so that their units changed.
    """
    elsewhere: set[tuple[str, ...]] = set()
    before = read_units(folder, name)
    for number in kept_editions(root):
        place = kept_folder(root, number)
        entry = read_index(place)["figures"].get(name)
        if entry is None or "judged" not in entry:
            continue
        now = read_units(place, name)
        if entry["runs"]:
            elsewhere |= {claim for claim, values in now.items() if values != before.get(claim)}
        before = now
    return elsewhere


def read_units(folder: Path, name: str) -> dict[tuple[str, ...], list[str]]:
    """The units of every claim of a figure, and their values, in all readings."""
    units = pd.read_csv(next(folder.glob(f"{name}-units.csv*")), dtype=str, keep_default_na=False)
    return {claim: (rows["unit"] + " " + rows["value"]).tolist() for claim, rows in units.groupby(CLAIM, sort=False)}


def counted_claims(folder: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The counted verdicts of a figure, with `other`, see `editions.counted.strip`, and the units that they rest on: of
    the last edition that judged it, where the edition in `folder` is what is drawn."""
    root = folder if not folder.name.startswith("edition-") else folder.parent
    latest = latest_figures(root).get(name) if (root / "index.json").is_file() else None
    drawn = latest is not None and latest.folder == folder
    place = latest.claims_folder if latest is not None and drawn else folder
    claims = claims_of(place, name)[0]
    claims = claims[claims["counted"].astype(bool)]
    elsewhere = find_elsewhere(root, name, folder) if place != folder else set()
    other = [key in elsewhere for key in claims[CLAIM].itertuples(index=False, name=None)]
    # edition 1 has kept no units
    file = next(place.glob(f"{name}-units.csv*"), None)
    units = pd.DataFrame() if file is None else pd.read_csv(file, dtype=str, keep_default_na=False)
    return claims.assign(other=np.array(other, dtype=bool)), units


def draw_kept(folder: Path, name: str, target: Path, config_dir: str | Path | None = None) -> Path | None:
    """Draw a kept figure from its numbers into the folder `target`; None where its paper cannot.

    What the numbers do not hold, single chains and words on the runs, is left out.

    Raises
    ------
    ConfigError
        The folder does not keep the figure.
    DamagedRun
        The numbers are not what was written.
    """
    claims, units = counted_claims(folder, name)
    entry, figure = read_index(folder)["figures"][name], figures(config_dir)[name]
    picture = picture_of(figure)
    if picture is None:
        return None
    (file,) = (file for file in entry["files"] if file in (f"{name}.csv", f"{name}.csv.gz"))
    check_file(folder, name, entry, file)
    # of a computed figure an empty cell is a text
    numbers = pd.read_csv(folder / file, keep_default_na=figure.compute is None)
    target.mkdir(parents=True, exist_ok=True)
    with use_style():
        parts = [picture(settle(name, numbers, claims[claims["other"]], units)), strip(name, claims)]
        return save_small(parts, target / f"{name}.png", DPI)
