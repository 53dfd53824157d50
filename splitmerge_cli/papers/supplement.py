"""Supplements: verdicts that stand in place of those of an edition, or beside them.

A folder ``edition-N`` whose index has ``supplements: M`` holds verdicts on single claims of edition M: judged again
from more units, or added later and judged from what edition M kept. It has no pictures and no plotted numbers. Where
both have a verdict on a claim, that of the supplement counts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from splitmerge_cli.papers import kept
from splitmerge_cli.papers.discovery import paper_names
from splitmerge_cli.papers.editions import kept_folder
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.rules import rules
from splitmerge_cli.papers.verdict_tables import counts, frame, units_frame
from splitmerge_cli.papers.verdicts import Verdict
from splitmerge_cli.runs.store.files import write_text
from splitmerge_cli.runs.store.manifest import sha256_of, write_sealed
from splitmerge_cli.runs.store.read import Run

SUPPLEMENTS = "supplements"
"""Key of an index: the edition whose verdicts are supplemented."""
CLAIM = ["id", "data", "sampler", "metric"]


def keep_supplement(
    root: Path,
    edition: int,
    of: int,
    name: str,
    verdicts: Sequence[Verdict],
    runs: Sequence[Run],
    files: Sequence[Path],
) -> None:
    """Write the verdicts on some claims of a figure to the folder of an edition within `root`, with their units.

    Parameters
    ----------
    root : Path
    edition, of : int
        The supplement's number, and that of the edition that it supplements.
    name : str
        The figure.
    verdicts : sequence of Verdict
        A counted verdict for each claim.
    runs : sequence of Run
        What the verdicts come from; none where they come from what the other edition kept.
    files : sequence of Path
        Files that fix which claims are judged, and from what.
    """
    folder, now = kept_folder(root, edition), rules()
    folder.mkdir(parents=True, exist_ok=True)
    index: dict[str, Any] = {"figures": {}}
    if (folder / kept.INDEX).is_file():
        index = kept.read_index(folder)
    index |= {"format": kept.FORMAT, "edition": edition, SUPPLEMENTS: of}
    index["fixed by"] = {file.name: sha256_of(file) for file in files}
    claims = folder / f"{name}-claims.csv"
    table = frame(verdicts, [v.claim for v in verdicts], "paper")
    write_text(claims, table.to_csv(index=False, lineterminator="\n"))
    units = units_frame(verdicts).to_csv(index=False, lineterminator="\n").encode()
    written = [claims, kept.write_table(units, folder, f"{name}-units")]
    index["figures"][name] = {
        "title": dict(list_figures())[name],
        "paper": paper_names()[name],
        "scale": "paper",
        "verdicts": {verdict: int(number) for verdict, number in counts([table], once=False).items()},
        "seconds": round(sum(sum(run.summary["seconds"]) for run in runs), 3),
        "runs": kept.list_runs(runs),
        "made": kept.environments(runs) if runs else [],
        "began": min((run.status["started"] for run in runs), default=None),
        "rules": now["digest"],
        "files": {file.name: kept.describe_file(file) for file in written},
    }
    index["figures"] = dict(sorted(index["figures"].items()))
    index["rules"] = index.get("rules", {}) | {now["digest"]: {key: now[key] for key in now if key != "digest"}}
    used = {figure["rules"] for figure in index["figures"].values()}
    index["rules"] = {digest: index["rules"][digest] for digest in sorted(used)}
    write_sealed(folder / kept.INDEX, index)


def supplement_claims(claims: pd.DataFrame, others: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the claims of a figure with the verdicts of supplements, by the words that tell where these come from.

    A verdict on a claim that the figure has stands in its place, any other at the end.
    """
    for table in others.values():
        new = dict(zip(table[CLAIM].itertuples(index=False, name=None), table.to_dict("records"), strict=True))
        rows = []
        for row in claims.to_dict("records"):
            key = tuple(row[name] for name in CLAIM)
            rows.append(new.pop(key) if row["counted"] and key in new else row)
        claims = pd.DataFrame([*rows, *new.values()], columns=claims.columns)
    return claims
