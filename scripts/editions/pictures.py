"""Kept pictures: what a figure's numbers draw, with the numbers that count."""

from pathlib import Path

import numpy as np
import pandas as pd

from editions.counted import settle, strip
from editions.kept import (
    DPI,
    SUPPLEMENTS,
    check_file,
    claims_of,
    kept_editions,
    kept_folder,
    picture_of,
    read_index,
    save_small,
)
from editions.overview import latest_figures
from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.papers.declaration import figures

CLAIM = ["data", "sampler", "metric"]
"""Columns that name a claim of a figure."""
OTHER_RUNS = r"(?:seeds|restarts|from runs) of edition \d"
"""Words in the reason of a verdict that rests on other runs than the whole figure."""


def find_elsewhere(root: Path, name: str) -> set[tuple[str, ...]]:
    """The claims of a figure whose verdicts rest on other runs than those that are plotted: the reasons of a supplement
    name the edition whose runs they are."""
    elsewhere: set[tuple[str, ...]] = set()
    for number in kept_editions(root):
        index = read_index(kept_folder(root, number))
        if SUPPLEMENTS in index and name in index["figures"]:
            claims = claims_of(kept_folder(root, number), name)[0]
            rows = claims[claims["counted"].astype(bool) & claims["reason"].str.contains(OTHER_RUNS)]
            elsewhere |= set(rows[CLAIM].itertuples(index=False, name=None))
    return elsewhere


def counted_claims(folder: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The counted verdicts of a figure, with `other`, see `editions.counted.strip`, and the units that they rest on: of
    the last edition that judged it, where the edition in `folder` is what is drawn."""
    root = folder if not folder.name.startswith("edition-") else folder.parent
    latest = latest_figures(root).get(name) if (root / "index.json").is_file() else None
    drawn = latest is not None and latest.folder == folder
    place = latest.claims_folder if latest is not None and drawn else folder
    claims = claims_of(place, name)[0]
    claims = claims[claims["counted"].astype(bool)]
    elsewhere = find_elsewhere(root, name) if place != folder else set()
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
        parts = [picture(settle(name, numbers, claims[claims["other"]], units)), strip(name, claims, figure.difference)]
        return save_small(parts, target / f"{name}.png", DPI)
