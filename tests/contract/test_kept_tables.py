"""The tables of the README and of the site, and the index, follow from the committed claims of docs/reproduction; the
verdicts follow from intervals and tolerances by a rule that is written down here once more.
"""

import csv
import hashlib
import json
import re
from pathlib import Path

import pandas as pd
import pytest
import recompute_verdicts
import reproduction
import write_readme
from editions import judging
from editions.kept import kept_editions, read_index

from splitmerge_cli.papers.declaration import papers
from splitmerge_cli.papers.verdict_tables import KEY, read_claims

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "reproduction"
VERDICTS = ("reproduced", "not reproduced", "undecided", "at the edge", "not testable")
INDEX = json.loads((KEPT / "index.json").read_text(encoding="utf-8"))["figures"]
LATER = [KEPT / f"edition-{number}" for number in kept_editions(KEPT)]


def rows_of(name: str, latest: bool = True) -> list[dict[str, str]]:
    """The claims of a figure, in its last edition or in the first."""
    places = [folder for folder in LATER if latest and (folder / f"{name}-claims.csv").is_file()]
    with ([KEPT, *places][-1] / f"{name}-claims.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def count_verdicts(names: list[str], latest: bool = True) -> list[int]:
    """Number of counted claims by verdict, of the figures that are kept, from their files alone."""
    verdicts = [
        row["verdict"] for name in names if name in INDEX for row in rows_of(name, latest) if row["counted"] == "True"
    ]
    assert set(verdicts) <= set(VERDICTS)
    return [verdicts.count(verdict) for verdict in VERDICTS]


def tables(text: str) -> dict[str, list[str]]:
    """The cells of the rows of Markdown tables, by the first, without links."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {re.sub(r"\[(.*?)\]\(.*?\)", r"\1", row[0]): row[1:] for row in rows}


def share_a_number(names: list[str], latest: bool = True) -> list[dict[str, str]]:
    """The counted rows of kept figures that rest on the same number as another one."""
    rows = {
        tuple(row[key] for key in ("id", "data", "sampler", "metric")): row
        for name in names
        if name in INDEX
        for row in rows_of(name, latest)
        if row["counted"] == "True"
    }
    found = []
    for paper in papers():
        if (paper.folder / "shared.csv").is_file():
            with (paper.folder / "shared.csv").open(newline="", encoding="utf-8") as stream:
                pairs = [tuple(row.values()) for row in csv.DictReader(stream)]
            for pair in pairs:
                again, first = rows.get(pair[:4]), rows.get(pair[4:])
                if again and first and (again["ours"], again["n"]) == (first["ours"], first["n"]):
                    found.append(again)
    return found


def expected() -> dict[str, list[str]]:
    """The rows of the table of papers."""
    found: dict[str, list[int]] = {}
    for paper in papers():
        claims = 0
        for file in (paper.folder / "claims.csv", paper.folder / "added.csv"):
            with file.open(newline="", encoding="utf-8") as stream:
                claims += len(list(csv.DictReader(stream)))
        names = [figure.id for figure in paper.figures]
        numbers = count_verdicts(names)
        for row in share_a_number(names):
            claims -= 1
            numbers[VERDICTS.index(row["verdict"])] -= 1
        found[paper.name] = [claims, *numbers, claims - sum(numbers)]
    found["all"] = [sum(column) for column in zip(*found.values(), strict=True)]
    if not found["all"][-1]:
        found = {name: row[:-1] for name, row in found.items()}
    return {name: [str(number) for number in row] for name, row in found.items()}


def test_the_index_lists_every_file_with_its_digest_and_the_claims_with_their_verdicts() -> None:
    listed = {"index.json", "README.md", *(folder.name for folder in LATER)}
    for name, figure in INDEX.items():
        found = dict(zip(VERDICTS, count_verdicts([name], latest=False), strict=True))
        assert found == {"at the edge": 0} | figure["verdicts"], name
        for file, said in figure["files"].items():
            content = (KEPT / file).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (said["bytes"], said["sha256"]), file
            listed.add(file)
    assert {file.name for file in KEPT.iterdir()} == listed


def test_table_of_the_readme() -> None:
    text = write_readme.README.read_text(encoding="utf-8")
    part = text.partition(write_readme.CLAIMS_BEGIN)[2].partition(write_readme.CLAIMS_END)[0]
    found = tables(part)
    head = found.pop("paper")
    assert head == ["claims", *VERDICTS, "not kept yet"][: len(found["all"])]
    assert found == expected(), "run python scripts/write_readme.py"
    figures = {figure.id for paper in papers() for figure in paper.figures}
    assert figures <= set(INDEX) and f"All {len(figures)} figures and tables are stored" in " ".join(part.split())


@pytest.mark.slow
def test_tables_of_the_site(tmp_path: Path) -> None:
    (tmp_path / "reproduction").symlink_to(KEPT)
    reproduction.write(tmp_path)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "_generated").glob("*.md")}
    overview = tables(pages["reproduction"])
    assert {name: overview[name] for name in expected()} == expected()
    for paper in papers():
        rows = [line.strip("| ").split(" | ") for line in pages[paper.key].splitlines() if ".md) | " in line]
        shown = {row[0].rpartition("(")[2].removesuffix(".md)"): row[1:] for row in rows if "</" not in row[0]}
        assert set(shown) == {figure.id for figure in paper.figures}
        for name, row in shown.items():
            numbers = [str(number) for number in count_verdicts([name])]
            assert row[2:] == (numbers if name in INDEX else ["-"] * len(VERDICTS)), name
        for figure in paper.figures:
            marks = re.findall(r'<span class="verdict (\w+)">', pages[figure.id])
            numbers = [marks.count(mark) for mark in ("yes", "no", "open", "edge", "untestable")]
            assert numbers == count_verdicts([figure.id]), figure.id


def test_verdicts_follow_from_their_units_but_edition_1_has_none() -> None:
    """Edition 1 was kept before units were: its verdicts can be recomputed from their intervals alone."""
    found, without = recompute_verdicts.recompute(KEPT, recompute_verdicts.PAPERS)
    assert found.empty
    assert without == sorted(name for name in INDEX if rows_of(name))
    sources = judging.sources()
    for number, folder in enumerate(LATER):
        found, without = recompute_verdicts.recompute(folder, recompute_verdicts.PAPERS)
        differs = found[found["kept"] != found["again"]]
        assert len(found) and not without, folder
        # what the present rules change is corrected in a later edition
        corrected: dict[tuple[str, ...], set[str]] = {}
        for later in LATER[number + 1 :]:
            kept = [read_claims(later / f"{name}-claims.csv", "") for name in read_index(later)["figures"]]
            for row in pd.concat(kept).to_dict("records"):
                corrected.setdefault(tuple(row[key] for key in KEY), set()).add(row["verdict"])
        for row in differs.to_dict("records"):
            now = corrected.get(tuple(row[key] for key in KEY), set())
            assert row["again"] in now or sources[row["id"]] != folder, row


def test_the_page_says_how_many_verdicts_are_expected_to_be_wrong() -> None:
    parts = [
        recompute_verdicts.recompute(folder, recompute_verdicts.PAPERS, names)[0]
        for folder, names in recompute_verdicts.latest(KEPT).items()
    ]
    rows = pd.concat(parts)
    decided = (rows["counted"] & rows["kept"].isin(VERDICTS[:2])).sum()
    text = " ".join((ROOT / "docs" / "figures.md").read_text(encoding="utf-8").split())
    assert f"{rows['wrong'].sum():.1f} of the {decided} decided verdicts that count" in text
    assert (rows["kept"] == rows["again"]).all()
