"""Write the tables of docs/which-sampler.md (samplers and models) and of README.md (claims by verdict), and the numbers
of kept verdicts by figure, splitmerge_cli/papers/kept.csv, which the report has.

    python scripts/write_readme.py            write the tables between their markers
    python scripts/write_readme.py --check    write nothing; exit status 1 where a table differs

A cell of the first says whether `supports` of the sampler takes a small instance of the model. The second counts the
claims in docs/reproduction, as the overview of the site does.
"""

import argparse
import sys
import textwrap
from pathlib import Path

import pandas as pd
from editions import overview

from splitmerge_cli.config import choice, choices
from splitmerge_cli.core.model import Model
from splitmerge_cli.kinds.tables.rows import example, support
from splitmerge_cli.papers.declaration import paper_of
from splitmerge_cli.papers.verdict_tables import counts

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SAMPLERS = ROOT / "docs" / "which-sampler.md"
BEGIN = "<!-- samplers x models: written by scripts/write_readme.py -->"
END = "<!-- end of samplers x models -->"
COUNTS = ROOT / "splitmerge_cli" / "papers" / "kept.csv"
CLAIMS_BEGIN = "<!-- claims by verdict: written by scripts/write_readme.py -->"
CLAIMS_END = "<!-- end of claims by verdict -->"


def columns() -> dict[str, Model]:
    """An instance of each model, by the head of its column."""
    model_by_name: dict[str, Model] = {}
    for name in choices("model"):
        model_by_name[f"`{name}`"] = example(name)
        if "conjugate" in choice("model", name):
            model_by_name[f"`{name}`, uncollapsed"] = example(name, conjugate=False)
    return model_by_name


def table() -> str:
    """The table, in Markdown."""
    models = columns()
    lines = [f"| sampler | {' | '.join(models)} |", "|---" * (len(models) + 1) + "|"]
    for name in choices("sampler"):
        cells = ["yes" if support(name, model)[0] else "-" for model in models.values()]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def claims(folder: Path = ROOT / "docs" / "reproduction") -> str:
    """The table of claims by verdict, in Markdown, and how much of them is kept."""
    latest = overview.latest_claims(overview.latest_figures(folder))
    head, *rows = overview.table(latest)
    lines = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    whole = overview.total(latest)
    absent = whole.figures - whole.kept
    stored = "All" if not absent else f"{whole.kept} of the"
    counted = sum(int(frame["counted"].sum()) for name, frame in latest.items() if paper_of(name))
    first, *others = overview.editions(folder)
    pairs = overview.pair_verdicts(first, others[-1]) if others else None
    seeds = "" if pairs is None else f": {len(pairs)} judged with the first seeds, {counted - len(pairs)} added later"
    text = (
        f"The papers give {counted} values and sentences{seeds}. {counted - whole.claims} repeat a number, which "
        f"leaves {whole.claims} claims. {stored} {whole.figures} figures and tables are stored "
        "([numbers](docs/reproduction))"
    )
    text += "; `make reproduction` makes the others (hours)." if absent else describe_moved(pairs)
    return "\n".join([*lines, "", *textwrap.wrap(text, 100, break_on_hyphens=False), ""])


def describe_moved(pairs: pd.DataFrame | None) -> str:
    """How many verdicts other seeds moved, as the end of a sentence and another; a full stop for one edition."""
    if pairs is None:
        return "."
    moved = overview.list_moved(pairs)
    changed = moved["reread"]
    is_reversed = ~moved[["before", "after"]].isin(["undecided", "not testable"]).any(axis=1)
    by_rule = moved[is_reversed & changed]
    for_paper = int((by_rule["after"] == "reproduced").sum())
    return (
        f", each from [two sets of seeds](docs/figures.md#editions). {len(moved)} of the {len(pairs)} verdicts "
        f"differ between the two sets. {(~changed).sum()} of these were judged by the same rule "
        f"({(is_reversed & ~changed).sum() or 'none'} was reversed). For the other {changed.sum()} the rule was "
        f"changed ({len(by_rule)} were reversed, {'all' if for_paper == len(by_rule) else for_paper} in the paper's "
        "favour)."
    )


def kept_counts(folder: Path = ROOT / "docs" / "reproduction") -> str:
    """The number of counted verdicts by figure, as CSV."""
    latest = overview.latest_claims(overview.latest_figures(folder))
    table = pd.DataFrame({name: counts([frame], once=False) for name, frame in latest.items() if paper_of(name)}).T
    return table.astype(int).rename_axis("id").sort_index().to_csv(lineterminator="\n")


def updated_text(page: Path) -> str:
    """The text of a page with its present table."""
    if page == COUNTS:
        return kept_counts()
    begin, end, content = (CLAIMS_BEGIN, CLAIMS_END, claims()) if page == README else (BEGIN, END, table())
    before, rest = page.read_text(encoding="utf-8").split(begin)
    return f"{before}{begin}\n\n{content}\n{end}{rest.split(end)[1]}"


def _read(page: Path) -> str:
    """The text of a page; empty if the page does not exist."""
    return page.read_text("utf-8") if page.is_file() else ""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    changed = {page: text for page in (README, SAMPLERS, COUNTS) if (text := updated_text(page)) != _read(page)}
    for page, text in changed.items():
        print(page.relative_to(ROOT))
        if not check:
            page.write_text(text, encoding="utf-8")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
