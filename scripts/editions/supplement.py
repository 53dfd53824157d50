"""Supplements: editions that judge single claims, again or for the first time.

A folder ``edition-N`` whose index has ``supplements: M`` judges single claims: claims of edition M again, from more
units, and claims that were added later (``added.csv`` of a paper's folder). It has whole tables of claims and units:
what was not judged again is as edition M kept it. Pictures and plotted numbers stay in the folder of edition M.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from editions import kept
from editions.kept import kept_folder
from editions.rules import rules
from splitmerge_cli.papers.verdict_tables import KEY, UNITS, counts, list_rows, units_frame
from splitmerge_cli.papers.verdicts import Verdict
from splitmerge_cli.runs.store.files import write_text
from splitmerge_cli.runs.store.manifest import sha256_of, write_sealed
from splitmerge_cli.runs.store.read import Run


def keep_supplement(
    root: Path,
    numbers: tuple[int, int],
    name: str,
    verdicts: Sequence[Verdict],
    runs: Sequence[Run],
    fixed_by: Path,
    later: bool = False,
    source: Path | None = None,
    command: str = "python scripts/judge_edition_3.py",
) -> None:
    """Keep verdicts on some claims of a figure, together with the other claims as they were kept.

    Parameters
    ----------
    root : Path
        The folder of edition 1.
    numbers : tuple of int
        The number of the supplement, and of the edition supplemented.
    name : str
        The figure.
    verdicts : sequence of Verdict
        One for each claim, or for each of its readings that is judged again.
    runs : sequence of Run
        What the verdicts come from.
    fixed_by : Path
        The file that fixes which claims are judged, and from what.
    later : bool
        Where the supplement keeps the figure already, its other verdicts stay.
    source : Path, optional
        The folder whose other verdicts stay: by default that of the edition supplemented.
    command : str
        What makes the verdicts again.
    """
    edition, base = numbers
    folder, before = kept_folder(root, edition), source or kept_folder(root, base)
    folder.mkdir(parents=True, exist_ok=True)
    index: dict[str, Any] = {"figures": {}, "rules": {}}
    if (folder / kept.INDEX).is_file():
        index = kept.read_index(folder)
    known_entry = index["figures"].get(name) if later else None
    claims, units = join_verdicts(folder if known_entry else before, name, verdicts)
    now = rules()
    file = folder / f"{name}-claims.csv"
    write_text(file, claims.to_csv(index=False, lineterminator="\n"))
    text = units.to_csv(index=False, lineterminator="\n").encode()
    earlier = kept.read_index(before)["figures"][name]
    index["figures"][name] = {key: earlier[key] for key in ("title", "paper", "scale")} | {
        "verdicts": {verdict: int(number) for verdict, number in counts([claims], once=False).items()},
        "judged": [f"{v.claim.data}, {v.claim.sampler}: {v.claim.metric}" for v in verdicts if v.is_counted],
        "command": command,
        "seconds": round(sum(sum(run.summary["seconds"]) for run in runs), 3),
        "runs": kept.list_runs(runs),
        "made": kept.environments(runs) if runs else [],
        "began": min((run.status["started"] for run in runs), default=None),
        "rules": now["digest"],
        "files": {one.name: kept.describe_file(one) for one in (file, kept.write_table(text, folder, f"{name}-units"))},
    }
    if known_entry:
        add_entry(index["figures"][name], known_entry)
    index |= {"format": kept.FORMAT, "edition": edition, kept.SUPPLEMENTS: base}
    index |= {"fixed by": {fixed_by.name: sha256_of(fixed_by)}, "figures": dict(sorted(index["figures"].items()))}
    # the same rules keep the commit that they were first kept with
    known = {now["digest"]: {key: now[key] for key in now if key != "digest"}} | index["rules"]
    index["rules"] = {digest: known[digest] for digest in sorted({each["rules"] for each in index["figures"].values()})}
    write_sealed(folder / kept.INDEX, index)


def add_entry(entry: dict[str, Any], earlier: dict[str, Any]) -> None:
    """Add the claims and runs of an earlier entry of the same figure to its entry in the index."""
    for key in ("judged", "made"):
        entry[key] = earlier[key] + entry[key]
    entry["seconds"] = round(earlier["seconds"] + entry["seconds"], 3)
    entry["began"] = min(filter(None, (earlier["began"], entry["began"])), default=None)
    before, after = earlier["runs"], entry["runs"]
    entry["runs"] = {folder: before.get(folder, {}) | after.get(folder, {}) for folder in before | after}


def join_verdicts(before: Path, name: str, verdicts: Sequence[Verdict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the claims and units of a figure in the folder `before`, with these verdicts in place of those on the same
    claims under the same readings, others at the end."""
    claims, scale = kept.claims_of(before, name)
    again = {tuple(row[key] for key in KEY): row for row in list_rows(verdicts, scale).to_dict("records")}
    replaced = set(again)
    rows = [again.pop(tuple(row[key] for key in KEY), row) for row in claims.to_dict("records")]
    joined = pd.DataFrame([*rows, *again.values()], columns=claims.columns)
    units = pd.read_csv(next(before.glob(f"{name}-units.csv*")), dtype=str, keep_default_na=False)
    stay = [row not in replaced for row in units[list(KEY)].itertuples(index=False, name=None)]
    return joined, pd.concat([units[stay], units_frame(verdicts).astype(str)])[list(UNITS)]
