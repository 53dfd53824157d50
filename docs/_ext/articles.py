"""The articles of docs/articles: Markdown whose blocks of claims and figures are filled from docs/reproduction.

``KEY.md`` is about the paper KEY; its front matter has `keywords` and `abstract`. A block of claims is a list of
references, as in ``findings.yaml``::

    ```{claims}
    - {figure: sdds-fig3, data: emm N=500}
    ```

`counts` (no content) is the table of verdicts by figure, and `figure` a kept picture: its id after the braces, its
caption within.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from findings import ClaimReference, claims_of

from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers.declaration import Paper
from splitmerge_cli.papers.discovery import papers
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.kept import claims_of as claims_of_figure
from splitmerge_cli.papers.verdict_tables import interval, with_unit
from splitmerge_cli.papers.verdicts import VERDICTS, counts

FRONT = re.compile(r"\A---\n(.*?)^---\n", re.M | re.S)
KEYS = ("keywords", "abstract")
"""Fields in the front matter of an article."""
BLOCK = re.compile(r"^```\{(?P<kind>\w+)\} *(?P<argument>[^\n]*)\n(?P<body>.*?)^```\n", re.M | re.S)
Show = Callable[[str, str], str]


def articles(folder: Path) -> dict[str, Paper]:
    """The papers that have an article in a folder, by their key."""
    return {paper.key: paper for paper in papers() if (folder / f"{paper.key}.md").is_file()}


def read(file: Path) -> tuple[dict[str, Any], str]:
    """Front matter and text of an article.

    Raises
    ------
    ConfigError
        It has no front matter, or other keys.
    """
    text = file.read_text(encoding="utf-8")
    front = FRONT.match(text)
    about = yaml.safe_load(front[1]) if front else None
    if front is None or not isinstance(about, dict) or set(about) != set(KEYS):
        raise ConfigError(f"{file}: expected a front matter with {' and '.join(KEYS)}")
    return about, text[front.end() :]


def expand_blocks(text: str, paper: Paper, stored: Path, picture: Show) -> str:
    """An article with its blocks filled in.

    Parameters
    ----------
    text : str
        Markdown.
    paper : Paper
        What it is about.
    stored : Path
        The kept reproduction.
    picture : callable
        Markdown of a picture, from the id of its figure and a caption.

    Raises
    ------
    ConfigError
        A block that cannot be filled: its figure is not kept, its claims are none of the paper's.
    """

    def fill(found: re.Match[str]) -> str:
        kind, argument, body = found["kind"], found["argument"].strip(), found["body"].strip()
        if kind == "claims":
            return _claims(body, stored)
        if kind == "counts":
            return _counts(paper, stored)
        if kind == "figure":
            claims_of_figure(stored, argument)
            return picture(argument, " ".join(body.split())) + "\n"
        raise ConfigError(f"{paper.key}: block {kind}: expected claims, counts or figure")

    return BLOCK.sub(fill, text)


def _claims(body: str, stored: Path) -> str:
    """The counted verdicts on claims that are referred to."""
    references = [ClaimReference.model_validate(one) for one in yaml.safe_load(body)]
    rows = []
    for claim in claims_of(references):
        frame, _ = claims_of_figure(stored, claim.id)
        own = (frame["data"] == claim.data) & (frame["sampler"] == claim.sampler) & (frame["metric"] == claim.metric)
        for r in frame[own & frame["counted"]].itertuples(index=False):
            what = ", ".join(part for part in (r.data, r.sampler, r.metric.replace("_", " ")) if part)
            units = f"{r.n} {r.of}" if r.n else "exact" if r.rule in ("exact", "holds") else ""
            ours, around = with_unit(r.ours, r.unit), interval(r.low, r.high)
            rows.append([f"{r.id}: {what}", with_unit(r.published, r.unit), ours, around, units, r.verdict])
    if not rows:
        raise ConfigError(f"claims: {body}: expected a reference to a claim")
    return _table(["claim", "published", "ours", "95 % interval", "units", "verdict"], rows)


def _counts(paper: Paper, stored: Path) -> str:
    """Claims by figure and verdict."""
    titles = dict(list_figures())
    frames = {figure.id: claims_of_figure(stored, figure.id)[0] for figure in paper.figures}
    rows: list[Sequence[object]] = [
        [titles[name], len(frame[frame["counted"]]), *counts([frame])] for name, frame in frames.items()
    ]
    every = counts(frames.values())
    return _table(["figure or table", "claims", *VERDICTS], [*rows, ["all", int(every.sum()), *every]])


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A pipe table: the first column is the widest."""
    widths = [max(3, *(len(str(row[i])) for row in [head, *rows])) for i in range(len(head))]
    lines = [head, ["-" * min(width, 40) for width in widths], *rows]
    cells = [[str(cell).replace("|", "\\|").replace("_", "\\_") for cell in line] for line in lines]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in cells) + "\n"
