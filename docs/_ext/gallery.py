"""The gallery: thumbnails of pictures and figures, in Markdown."""

from collections.abc import Collection, Mapping
from pathlib import Path

from editions.overview import LatestFigure
from parts import cell
from PIL import Image

from splitmerge_cli.analysis.plots.run import all_pictures
from splitmerge_cli.papers.declaration import Paper, figure_sets

THUMBNAILS = "thumbnails"
"""Folder of the thumbnails, beside the generated pages."""
WIDTH = 480
"""Pixels of a thumbnail, which is shown at half of that."""
EXAMPLES = "images/pages"
"""Pictures of runs, ``PAGE-NAME.png`` of a page of docs or docs/data (README.md, in capitals, has no page there)."""
OTHERS = {
    "race": (
        "races",
        "Which sampler is first?",
        "Panels over sampling time, by start: the log joint of every chain, and the share of each sampler's chains "
        "that have reached the target.",
        "smcmc race sampler=A,B KEY=VALUE ...",
    ),
    "certificate": (
        "certificates",
        "How far is a chain from its posterior?",
        "Two panels over iterations: the bound of the total variation distance on a log axis, with its 95 % limit, and "
        "the share of pairs of chains that have met.",
        "smcmc certify KEY=VALUE ...",
    ),
}
"""Pictures of other commands, ``images/NAME.png``: page, what they answer and show, command."""


def page(source: Path, titles: Mapping[str, str], kept: Mapping[str, LatestFigure]) -> str:
    """The page; its thumbnails are written.

    Parameters
    ----------
    source : Path
        The folder docs.
    titles : mapping of str to str
        Of every figure, by id.
    kept : mapping of str to LatestFigure
        The kept figures, by id.
    """
    text = (
        "# Gallery\n\nWhat can be drawn of a run, and what became of the papers' figures?\n\n## Pictures of a run\n\n"
        "`smcmc plot RUN` draws all that a run has, `smcmc plot --only NAME RUN` one, and `posterior.plot(NAME)`\n"
        f"draws one [from Python](../python.md); NAME is given below each.\n{_pictures(source)}"
    )
    sets = sorted(figure_sets(), key=lambda each: not isinstance(each, Paper))
    for each in sets:
        cards = []
        for figure in each.figures:
            link = f"[{cell(titles[figure.id])}]({figure.id}.md)"
            picture = kept[figure.id].folder / f"{figure.id}.png" if figure.id in kept else None
            cards.append(_card(source, picture, figure.shows, f"{figure.id}.md", link))
        text += f"\n## {cell(each.name)}\n\n`smcmc reproduce {each.key}`\n{_grid(cards)}"
    return text


def _pictures(source: Path) -> str:
    """Cards with question, command and example for the pictures of runs and other commands."""
    cards = []
    for name, picture in all_pictures().items():
        example = next(iter(sorted((source / EXAMPLES).glob(f"[a-z]*-{name}.png"))), None)
        shown = "README" if example is None else example.stem.removesuffix(f"-{name}")
        there = f"../{shown}.md" if (source / f"{shown}.md").is_file() else f"../data/{shown}.md"
        text = f"[{picture.answers}]({there}) `{name}`"
        cards.append(_card(source, example, picture.shows, there, text))
    for name, (where, answers, shows, command) in OTHERS.items():
        there = f"../{where}.md"
        cards.append(
            _card(source, source / "images" / f"{name}.png", shows, there, f"[{answers}]({there}) `{command}`")
        )
    return _grid(cards)


def _card(source: Path, picture: Path | None, alternative: str, link: str, text: str) -> str:
    """An entry of a grid; without a picture its text alone."""
    if picture is None or not picture.is_file():
        return f"- {text}\n"
    return f"- [![{cell(alternative)}]({_thumbnail(source, picture)})]({link})\n  {text}\n"


def _grid(cards: Collection[str]) -> str:
    return f'\n<div class="gallery">\n\n{"".join(cards)}\n</div>\n'


def _thumbnail(source: Path, picture: Path) -> str:
    """Write a small copy of a picture, unless there is one; its path from the generated pages."""
    small = source / "_generated" / THUMBNAILS / picture.name
    if not small.is_file() or small.stat().st_mtime < picture.stat().st_mtime:
        small.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(picture) as opened:
            reduced = opened.convert("RGB")
        reduced.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
        reduced.quantize(64).save(small, optimize=True)
    return f"{THUMBNAILS}/{picture.name}"
