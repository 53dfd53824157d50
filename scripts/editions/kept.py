"""The kept reproduction: of every figure a small picture, its numbers, its claims, and where they come from.

A folder, ``docs/reproduction`` of the repository, holds ``ID.png``, ``ID.csv`` (or ``ID.csv.gz``) and
``ID-claims.csv`` for each figure, ``ID-units.csv`` (or ``ID-units.csv.gz``) with the numbers that its verdicts follow
from, and ``index.json`` with the runs, versions, machine, data and digests of all. Only the last edition of a figure
has its picture; `editions.pictures` makes the others from the numbers.
docs/run-files.md has its format.
"""

import gzip
import hashlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from editions.counted import strip
from editions.rules import changes, rules
from splitmerge_cli import version
from splitmerge_cli.analysis.plots.style import use_style
from splitmerge_cli.config import ConfigError
from splitmerge_cli.data import downloads
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.declaration import PaperFigure, figures, function_of, paper_names, select
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.reproduce import Finished, command, draw_figure
from splitmerge_cli.papers.verdict_tables import counts, frame, read_claims, units_frame
from splitmerge_cli.received import Refused, member
from splitmerge_cli.runs.store.files import DamagedRun, replace_file, report_damage, write_text
from splitmerge_cli.runs.store.manifest import read_sealed, sha256_of, write_sealed
from splitmerge_cli.runs.store.read import Run

COMMAND = "python scripts/keep_figures.py"
"""The command line of this package."""
INDEX = "index.json"
FORMAT = 3
FORMATS = (2, FORMAT)
"""Formats that can be read; 2 has neither units nor rules."""
SUPPLEMENTS = "supplements"
"""Key of an index: the edition that it supplements, see `editions.supplement`."""
BESIDE = "README.md"
"""A file that may lie in the folder, too."""
DPI = 150
"""Dots per inch of a picture 183 or 89 mm wide."""
PLAIN = 50_000
"""Bytes above which a table is compressed."""
LARGEST = 400_000
"""Bytes of a compressed table of numbers, which is thinned until it fits."""


def kept_folder(folder: Path, edition: int) -> Path:
    """The folder of a kept edition: `folder` of the first, one within it of every other."""
    return folder if edition == 1 else folder / f"edition-{edition}"


def kept_editions(folder: Path) -> list[int]:
    """Numbers of the later editions that have a folder within the first's, in order."""
    matches = (re.fullmatch(r"edition-([1-9]\d*)", one.name) for one in folder.iterdir() if one.is_dir())
    return sorted(number for match in matches if match and (number := int(match[1])) > 1)


def keep(
    ids: Sequence[str],
    scale: str,
    out: Path,
    folder: Path,
    config_dir: str | Path | None = None,
    edition: int = 1,
) -> tuple[list[str], list[str]]:
    """Write the kept reproduction of figures from what is stored of them to `folder`, whose other figures stay.

    Parameters and errors as for `splitmerge_cli.papers.reproduce.plot`; a `ConfigError` also where the folder has an
    index that is none.

    Returns
    -------
    tuple of list of str
        Ids of the figures that were kept, and of those whose results are missing.
    """
    names = select(ids, config_dir)
    known, finished = figures(config_dir), Finished(config_dir, edition)
    titles, papers = dict(list_figures(config_dir)), paper_names(config_dir)
    index: dict[str, Any] = {"figures": {}}
    if (folder / INDEX).is_file():
        index = read_index(folder)
    index |= {"format": FORMAT, "edition": edition}
    now = rules(config_dir)
    kept, missing = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        runs = finished.find(known[name], scale, out)
        if runs is None:
            missing.append(name)
            continue
        kept_figure = figure_entry(name, scale, runs, titles, papers, edition)
        kept_figure |= _keep_figure(known[name], runs, scale, out, folder, config_dir)
        index["figures"][name] = kept_figure | {"rules": now["digest"]}
        index["figures"] = dict(sorted(index["figures"].items()))
        used = {figure.get("rules") for figure in index["figures"].values()}
        index["rules"] = {key: files for key, files in index.get("rules", {}).items() if key in used}
        index["rules"][now["digest"]] = {key: value for key, value in now.items() if key != "digest"}
        # after each: what is interrupted leaves what the index says
        write_sealed(folder / INDEX, index)
        kept.append(name)
    return kept, missing


def figure_entry(
    name: str,
    scale: str,
    runs: Sequence[Run],
    titles: Mapping[str, str],
    papers: Mapping[str, str],
    edition: int = 1,
) -> dict[str, Any]:
    """Return the entry of a figure that the indexes of a stored reproduction and of an archive share."""
    return {
        "title": titles[name],
        "paper": papers[name],
        "scale": scale,
        "command": command([name], scale, Path("results"), edition=edition),
        "seconds": round(sum(sum(run.summary["seconds"]) for run in runs), 3),
    }


def _keep_figure(
    entry: PaperFigure, runs: Sequence[Run], scale: str, out: Path, folder: Path, config_dir: str | Path | None
) -> dict[str, Any]:
    """Write the files of a figure; what the index says of it."""
    name = entry.id
    with use_style():
        drawing = draw_figure(entry, runs, scale, out, config_dir)
        verdicts = frame(drawing.verdicts, published_claims(name), scale)
        parts = [drawing.figure, strip(name, verdicts.assign(other=False), entry.difference)]
        picture = save_small(parts, folder / f"{name}.png", DPI)
    claims = folder / f"{name}-claims.csv"
    write_text(claims, verdicts.to_csv(index=False, lineterminator="\n"))
    numbers, rows = _write_numbers(drawing.plotted, folder, name)
    units = units_frame(drawing.verdicts).to_csv(index=False, lineterminator="\n").encode()
    files = [picture, numbers, claims, write_table(units, folder, f"{name}-units")]
    return {
        "notes": drawing.notes,
        "verdicts": {verdict: int(number) for verdict, number in counts([verdicts], once=False).items()},
        "rows": {"plotted": len(drawing.plotted), "kept": rows},
        "runs": list_runs(runs),
        "made": environments(runs),
        "began": min((run.status["started"] for run in runs), default=None),
        "data": _data(runs),
        "files": {file.name: describe_file(file) for file in files},
    }


def save_small(parts: Sequence[Figure | None], path: Path, dpi: float) -> Path:
    """Write figures of one width, one below the other, as a PNG of at most 256 colours, a third of the usual size, and
    close them; equal figures give equal bytes."""
    images = []
    for figure in filter(None, parts):
        content = io.BytesIO()
        figure.savefig(content, format="png", metadata={"Software": None}, dpi=dpi)
        plt.close(figure)
        images.append(Image.open(content).convert("RGB"))
    whole = Image.new("RGB", (max(each.width for each in images), sum(each.height for each in images)), "white")
    for k, each in enumerate(images):
        whole.paste(each, (0, sum(above.height for above in images[:k])))
    # the nearest of the colours: dither would put grey dots into the white
    reduced = whole.quantize(256, dither=Image.Dither.NONE)
    with replace_file(path) as part:
        reduced.save(part, format="png", optimize=True)
    return path


def _write_numbers(plotted: pd.DataFrame, folder: Path, name: str) -> tuple[Path, int]:
    """Write what is plotted, thinned until it fits; its file, and how many rows it has."""
    every, text = 1, _text(plotted)
    while len(gzip.compress(text, mtime=0)) > LARGEST:
        every += 1
        text = _text(plotted.iloc[::every])
    return write_table(text, folder, name), len(plotted.iloc[::every])


def write_table(text: bytes, folder: Path, name: str) -> Path:
    """Write a table, compressed where it is long: ``NAME.csv`` or ``NAME.csv.gz``."""
    for ending in (".csv", ".csv.gz"):
        (folder / f"{name}{ending}").unlink(missing_ok=True)
    packed = len(text) > PLAIN
    path = folder / f"{name}.csv{'.gz' if packed else ''}"
    with replace_file(path) as part:
        # without the time of writing: equal numbers give equal bytes
        part.write_bytes(gzip.compress(text, mtime=0) if packed else text)
    return path


def _text(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, lineterminator="\n", float_format="%.6g").encode()


def describe_file(file: Path) -> dict[str, Any]:
    return {"bytes": file.stat().st_size, "sha256": sha256_of(file)}


def list_runs(runs: Sequence[Run]) -> dict[str, dict[str, list[str]]]:
    """Ids of runs, by the name of their folder and by seed."""
    ids_by_name: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        of_seed = ids_by_name.setdefault(run.path.parent.name, {})
        of_seed.setdefault(str(run.summary["seed"]), []).append(run.path.name)
    return ids_by_name


def environments(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """With what runs were made, and how many with each: commit, versions, machine (without its name). An exact figure:
    with what it is computed now."""
    environment_by_text: dict[str, dict[str, Any]] = {}
    recorded = [run.provenance for run in runs] or [
        {"commit": version.commit(), "versions": version.versions(), "machine": version.machine()}
    ]
    for one in recorded:
        machine = {key: one["machine"][key] for key in ("processor", "processors", "system")}
        value = {"commit": one["commit"], "versions": one["versions"], "machine": machine}
        known = environment_by_text.setdefault(json.dumps(value, sort_keys=True), value | {"runs": 0})
        known["runs"] += bool(runs)
    return list(environment_by_text.values())


def _data(runs: Sequence[Run]) -> dict[str, dict[str, str]]:
    """Return the runs' data by name: SHA-256 of each published file; empty where they are generated."""
    digests_by_name: dict[str, dict[str, str]] = {}
    for name in sorted({str(run.config["data"]["name"]) for run in runs}):
        files = downloads.SETS[name].files if name in downloads.SETS else ()
        paths = {file.name: downloads.place(name) / file.name for file in files}
        digests_by_name[name] = {file: sha256_of(path) for file, path in paths.items() if path.is_file()}
    return digests_by_name


def read_index(folder: Path) -> dict[str, Any]:
    """Read the index of a kept reproduction; a `ConfigError` where the folder has no index of this format, a
    `DamagedRun` where it is not what was written."""
    file, remedy = folder / INDEX, "expected what keep_figures.py wrote"
    if not os.path.lexists(file):
        raise ConfigError(f"{file}: no such file; expected a folder that keep_figures.py wrote")
    index = read_sealed(file, remedy)
    if index.get("format") not in FORMATS:
        raise ConfigError(f"{file}: format={index.get('format')}: expected {' or '.join(map(str, FORMATS))}")
    with report_damage(file, remedy):
        for name, figure in index["figures"].items():
            {"quick": "quick", "paper": "paper"}[figure["scale"]]
            figure["files"][f"{name}-claims.csv"]
            if "rules" in figure:
                files = index["rules"][figure["rules"]]
                dict(files["files"]), dict(files.get("judgements", {}))
            for one, recorded in figure["files"].items():
                if (
                    one != Path(one).name
                    or not isinstance(recorded["bytes"], int)
                    or not isinstance(recorded["sha256"], str)
                ):
                    raise ValueError("expected files of this folder, each with its size and digest")
    return index


def keep_edition(
    ids: Sequence[str], scale: str, out: Path, root: Path, config_dir: str | Path | None, edition: int
) -> tuple[Path, list[str], list[str]]:
    """Keep figures in the folder of their edition within `root`, and drop their pictures of earlier editions.

    Returns that folder, and what `keep` returns.
    """
    folder = kept_folder(root, edition)
    kept, missing = keep(ids, scale, out, folder, config_dir, edition)
    for earlier in [1, *kept_editions(root)]:
        if earlier < edition and (kept_folder(root, earlier) / INDEX).is_file():
            drop_pictures(kept_folder(root, earlier), kept, scale)
    return folder, kept, missing


def picture_of(figure: PaperFigure) -> Callable[[Any], Any] | None:
    """The function that draws a figure from what it plots alone; None where its paper has none."""
    draw = function_of(figure, figure.draw)
    # by the name of the function that draws it from its runs
    picture: Callable[[Any], Any] | None = getattr(sys.modules[draw.__module__], f"picture_{draw.__name__}", None)
    if picture is None and figure.compute is not None:
        return lambda numbers: draw(numbers).figure
    return picture


def drop_pictures(folder: Path, names: Sequence[str], scale: str) -> None:
    """Remove the pictures of figures of which a later edition is kept at this scale; their numbers stay."""
    index = read_index(folder)
    for name in [name for name in names if index["figures"].get(name, {}).get("scale") == scale]:
        for file in (f"{name}.png", f"{name}.pdf"):
            if index["figures"][name]["files"].pop(file, None):
                (folder / file).unlink(missing_ok=True)
    write_sealed(folder / INDEX, index)


@lru_cache(maxsize=4)
def _read_unchanged(folder: Path, written: int, size: int) -> Mapping[str, Any]:
    """The index of a folder, which a page of all figures would read for each of them; `written`, `size`: of the file,
    another of which is read again."""
    return read_index(folder)


def find_damage(folder: Path, index: Mapping[str, Any], whole: bool = False) -> Iterator[str]:
    """List the faults of the files that an index names; of the `whole` folder also what else lies in it.

    Later editions, each a folder with an index of its own, may lie there.
    """
    listed = {INDEX, BESIDE}
    for name, figure in index["figures"].items():
        for file, recorded in figure["files"].items():
            listed.add(file)
            try:
                with member(folder / file) as opened:
                    good = os.fstat(opened.fileno()).st_size == recorded["bytes"]
                    if not good or hashlib.file_digest(opened, "sha256").hexdigest() != recorded["sha256"]:
                        yield f"{name}: {file}: not what was written"
            except FileNotFoundError:
                yield f"{name}: {file}: missing"
            except Refused as error:
                yield f"{name}: {file}: {error.why}"
    if whole:
        listed |= {kept_folder(folder, edition).name for edition in kept_editions(folder)}
        yield from (f"{file}: not in {INDEX}" for file in sorted({one.name for one in folder.iterdir()} - listed))


def rule_changes(index: Mapping[str, Any], names: Sequence[str], config_dir: str | Path | None = None) -> list[str]:
    """Name the rules that have changed since figures were kept, see `editions.rules.changes`.

    Figures without kept rules (an index of format 2) are passed over.
    """
    digests = {index["figures"][name].get("rules") for name in names} - {None}
    now = rules(config_dir) if digests else {}
    return sorted({line for digest in digests for line in changes(index["rules"][digest], now)})


def claims_of(folder: Path, name: str) -> tuple[pd.DataFrame, str]:
    """The kept claims of a figure, and their scale; a `ConfigError` where it was not kept, a `DamagedRun` where its
    claims are not what was written."""
    entry, claims = _entry(folder, name), f"{name}-claims.csv"
    remedy = check_file(folder, name, entry, claims)
    return read_claims(folder / claims, remedy), str(entry["scale"])


def _entry(folder: Path, name: str) -> Mapping[str, Any]:
    """Return the entry of a figure in the index."""
    file = folder / INDEX
    stamp = (file.stat().st_mtime_ns, file.stat().st_size) if file.exists() else (0, 0)
    entry: Mapping[str, Any] | None = _read_unchanged(folder, *stamp)["figures"].get(name)
    if entry is None:
        raise ConfigError(
            f"{name}: {folder} does not hold it; {COMMAND} keep {name} --to {folder} adds it from stored runs"
        )
    return entry


def check_file(folder: Path, name: str, entry: Mapping[str, Any], file: str) -> str:
    """Compare a file with its digest; the error names the command that writes it again."""
    remedy = f"{COMMAND} keep {name} --to {folder} writes it again"
    if any(find_damage(folder, {"figures": {name: {"files": {file: entry["files"][file]}}}})):
        raise DamagedRun(folder / file, remedy)
    return remedy
