"""Write the tables of docs/which-sampler.md (samplers and models) and of README.md (claims by verdict).

    python scripts/write_readme.py            write the tables between their markers
    python scripts/write_readme.py --check    write nothing; exit status 1 where a table differs

A cell of the first says whether `supports` of the sampler takes a small instance of the model. The second counts the
claims in docs/reproduction, as the overview of the site does.
"""

import argparse
import sys
from pathlib import Path

from splitmerge_cli.config import choice, choices
from splitmerge_cli.core.model import Model
from splitmerge_cli.papers import overview
from splitmerge_cli.runs.support import example, support

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SAMPLERS = ROOT / "docs" / "which-sampler.md"
BEGIN = "<!-- samplers x models: written by scripts/write_readme.py -->"
END = "<!-- end of samplers x models -->"
CLAIMS_BEGIN = "<!-- claims by verdict: written by scripts/write_readme.py -->"
CLAIMS_END = "<!-- end of claims by verdict -->"


def columns() -> dict[str, Model]:
    """An instance of each model, by the head of its column."""
    found: dict[str, Model] = {}
    for name in choices("model"):
        found[f"`{name}`"] = example(name)
        if "conjugate" in choice("model", name):
            found[f"`{name}`, uncollapsed"] = example(name, conjugate=False)
    return found


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
    kept = overview.latest_claims(overview.latest_figures(folder))
    head, *rows = overview.table(kept)
    lines = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    whole = overview.total(kept)
    said = f"{whole.rows_text}. {whole.kept} of {whole.figures} figures and tables are kept in `docs/reproduction`"
    rest = "" if whole.kept == whole.figures else ";\n`make reproduction` makes the others (hours)"
    return "\n".join(lines) + f"\n\n{said}{rest}{count_moved(folder, whole.kept)}.\n"


def count_moved(folder: Path, figures: int) -> str:
    """How many verdicts of the papers' `figures` other seeds moved; empty where there is one edition."""
    first, *others = overview.editions(folder)
    if not others:
        return ""
    last = others[-1]
    pairs = overview.pair_verdicts(first, last)
    moved = overview.list_moved(pairs)
    alike = len(moved) - int(moved["reread"].sum())
    return (
        f", {figures - len(overview.list_absent(first, last))} from\n"
        f"other seeds, too ([edition {last.number}](docs/figures.md#editions)): "
        f"{len(moved)} of {len(pairs)} verdicts differ, {alike} read alike"
    )


def updated_text(page: Path) -> str:
    """The text of a page with its present table."""
    begin, end, content = (CLAIMS_BEGIN, CLAIMS_END, claims()) if page == README else (BEGIN, END, table())
    before, rest = page.read_text(encoding="utf-8").split(begin)
    return f"{before}{begin}\n\n{content}\n{end}{rest.split(end)[1]}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    changed = {page: text for page in (README, SAMPLERS) if (text := updated_text(page)) != page.read_text("utf-8")}
    for page, text in changed.items():
        print(page.relative_to(ROOT))
        if not check:
            page.write_text(text, encoding="utf-8")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
