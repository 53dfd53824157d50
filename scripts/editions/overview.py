"""A stored reproduction in numbers, by paper and by edition: the source of the README's table and of the site."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from editions.kept import INDEX, SUPPLEMENTS, claims_of, kept_editions, kept_folder, read_index
from splitmerge_cli.papers.claims import published_claims
from splitmerge_cli.papers.declaration import Paper, papers
from splitmerge_cli.papers.verdict_tables import count_once, counts, expected_errors
from splitmerge_cli.papers.verdicts import VERDICTS


@dataclass(frozen=True)
class Counts:
    """Claims of a figure, of a paper or of all, and how many of them have each verdict.

    Attributes
    ----------
    claims : int
        Published claims; of several figures those that share one number as one.
    rows : int
        Rows of claims: those that share a number one by one.
    figures : int
        Figures and tables.
    kept : int
        How many of these are kept.
    verdicts : mapping of str to int
        Number of counted verdicts of what is kept, by verdict.
    wrong : float
        How many of these verdicts are expected to be wrong by chance, at most.
    """

    claims: int
    rows: int
    figures: int
    kept: int
    verdicts: Mapping[str, int]
    wrong: float

    @property
    def rows_text(self) -> str:
        """str: how many rows there are, and how many of them share a number with another."""
        shared = self.rows - self.claims
        return f"{self.rows} rows" + (f"; {shared} share a number" if shared else "")

    @property
    def n_absent(self) -> int:
        """int: claims of figures that are not kept."""
        return self.claims - sum(self.verdicts.values())


def kept_claims(folder: Path) -> dict[str, pd.DataFrame]:
    """The claims of every figure that a folder keeps, by id; none where the folder has no index.

    Raises
    ------
    ConfigError
        The index is none.
    DamagedRun
        A file of claims cannot be read.
    """
    if not (folder / INDEX).is_file():
        return {}
    return {name: claims_of(folder, name)[0] for name in read_index(folder)["figures"]}


def count(ids: Sequence[str], kept: Mapping[str, pd.DataFrame]) -> Counts:
    """Count the claims of figures.

    Parameters
    ----------
    ids : sequence of str
    kept : mapping of str to pandas.DataFrame
        See `kept_claims`.
    """
    frames = [kept[name] for name in ids if name in kept]
    whole = pd.concat(frames) if frames else pd.DataFrame()
    once = count_once(whole) if len(ids) > 1 and frames else whole
    verdict_counts = counts([once] if frames else [], once=False)
    rows = sum(_n_claims(name, kept.get(name)) for name in ids)
    return Counts(
        claims=rows - (len(whole) - len(once)),
        rows=rows,
        figures=len(ids),
        kept=len(frames),
        verdicts={verdict: int(verdict_counts[verdict]) for verdict in VERDICTS},
        wrong=expected_errors(once) if frames else 0.0,
    )


def _n_claims(name: str, kept: pd.DataFrame | None) -> int:
    """Count a figure's claims; claims that were added later count once they are judged."""
    return max(len(published_claims(name)), 0 if kept is None else int(kept["counted"].sum()))


def by_paper(kept: Mapping[str, pd.DataFrame]) -> list[tuple[Paper, Counts]]:
    """The papers, each with the counts of its claims."""
    return [(paper, count([figure.id for figure in paper.figures], kept)) for paper in papers()]


def total(kept: Mapping[str, pd.DataFrame]) -> Counts:
    """The counts of all papers together."""
    return count([figure.id for paper in papers() for figure in paper.figures], kept)


def table(kept: Mapping[str, pd.DataFrame]) -> list[list[str]]:
    """The table ``paper | claims | reproduced | ...``: its head, a row for each paper, and the sums.

    Claims of figures that are not kept have a column of their own, while there are any.

    Parameters
    ----------
    kept : mapping of str to pandas.DataFrame
        See `kept_claims`.
    """
    whole = total(kept)
    rows = [["paper", "claims", *VERDICTS, "not kept yet"]]
    for name, paper_counts in [*((paper.name, paper_counts) for paper, paper_counts in by_paper(kept)), ("all", whole)]:
        rows.append([name, *map(str, (paper_counts.claims, *paper_counts.verdicts.values(), paper_counts.n_absent))])
    return rows if whole.n_absent else [row[:-1] for row in rows]


@dataclass(frozen=True)
class Edition:
    """A kept edition.

    Attributes
    ----------
    number : int
    kept : mapping of str to pandas.DataFrame
        See `kept_claims`.
    rules : list of dict
        Of every set of rules that its figures were kept under: `digest`, `commit` and `committed`, the commit that
        changed them last and its time. Empty where none were kept.
    began : str or None
        When the first of its runs began, where that was kept.
    """

    number: int
    kept: Mapping[str, pd.DataFrame]
    rules: Sequence[Mapping[str, str | None]] = ()
    began: str | None = None


def editions(folder: Path) -> list[Edition]:
    """The editions that a folder keeps, by number, without supplements; parameters and errors as for `kept_claims`."""
    all_editions = []
    for number, place, index in _indexes(folder):
        if SUPPLEMENTS in index:
            continue
        known = index.get("rules", {}).items()
        rules = [
            {"digest": digest, "commit": entry["commit"], "committed": entry["committed"]} for digest, entry in known
        ]
        began = [figure["began"] for figure in index["figures"].values() if figure.get("began")]
        all_editions.append(Edition(number, kept_claims(place), rules, min(began, default=None)))
    return all_editions


def supplements(folder: Path) -> list[tuple[int, Mapping[str, Any]]]:
    """Number and index of every supplement, see `editions.supplement`; none where there is no folder."""
    return [(number, index) for number, _, index in _indexes(folder) if SUPPLEMENTS in index]


def _indexes(folder: Path) -> Iterator[tuple[int, Path, dict[str, Any]]]:
    """Number, folder and index of every kept edition, in order."""
    for number in [1, *kept_editions(folder)] if folder.is_dir() else []:
        place = kept_folder(folder, number)
        if (place / INDEX).is_file():
            yield number, place, read_index(place)


@dataclass(frozen=True)
class LatestFigure:
    """A figure in the last edition that was kept of it.

    Attributes
    ----------
    edition : int
    folder : pathlib.Path
        The folder of the edition.
    entry : mapping
        What the edition's index says of the figure.
    claims_folder : pathlib.Path
        The folder with its claims and units: of a supplement, where there is one.
    """

    edition: int
    folder: Path
    entry: Mapping[str, Any]
    claims_folder: Path


def latest_figures(folder: Path) -> dict[str, LatestFigure]:
    """Find every kept figure in its last edition, by id; its verdicts are those that count.

    An edition at a smaller scale than the first one's does not replace it. Parameters and errors as for `kept_claims`.
    """
    figures: dict[str, LatestFigure] = {}
    for number, place, index in _indexes(folder):
        for name, entry in index["figures"].items():
            if SUPPLEMENTS in index:
                if name in figures and figures[name].edition == index[SUPPLEMENTS]:
                    figures[name] = replace(figures[name], claims_folder=place)
            elif name not in figures or entry["scale"] == figures[name].entry["scale"]:
                figures[name] = LatestFigure(number, place, entry, place)
    return figures


def latest_claims(figures: Mapping[str, LatestFigure]) -> dict[str, pd.DataFrame]:
    """The claims of `latest_figures`, by id; errors as for `kept_claims`."""
    return {name: claims_of(figure.claims_folder, name)[0] for name, figure in figures.items()}


def names_in_common(several: Sequence[Edition]) -> list[str]:
    """Ids of the figures that all editions have at the same scale."""
    scales = [{name: set(frame["scale"]) for name, frame in each.kept.items()} for each in several]
    return [name for name, scale in scales[0].items() if all(each.get(name) == scale for each in scales)]


def editions_table(several: Sequence[Edition]) -> list[list[str]]:
    """The table ``paper | edition | figures | reproduced | ...``: its head, and a row for each paper and edition.

    Only figures that all editions have at the same scale are counted, so that the numbers can be compared.
    """
    common = names_in_common(several)
    rows = []
    for paper in papers():
        ids = [figure.id for figure in paper.figures]
        both = [name for name in ids if name in common]
        for each in several:
            verdicts = map(str, count(both, each.kept).verdicts.values())
            rows.append([paper.name, str(each.number), f"{len(both)} of {len(ids)}", *verdicts])
    return [["paper", "edition", "figures in all editions", *VERDICTS], *rows]


def list_absent(first: Edition, later: Edition) -> list[str]:
    """Ids of the papers' figures that an edition has and a later one has not, or at another scale."""
    common = names_in_common([first, later])
    of_papers = [figure.id for paper in papers() for figure in paper.figures]
    return [name for name in of_papers if name in first.kept and name not in common]


READ = ["reading", "rule", "tolerance"]
"""Columns that say how a claim was judged."""


def pair_verdicts(first: Edition, later: Edition) -> pd.DataFrame:
    """Pair the counted verdicts of two editions, over the figures that both have at the same scale.

    Returns
    -------
    pandas.DataFrame
        Columns id, data, sampler, metric, `before` and `after`, the verdicts, and `reread`: whether reading, rule or
        tolerance were changed in between. Where they were not, other seeds (and intervals computed otherwise) explain a
        difference. A claim that one of the editions does not have is left out.
    """
    key = ["id", "data", "sampler", "metric"]
    names = names_in_common([first, later])
    if not names:
        return pd.DataFrame(columns=[*key, "before", "after", "reread"])
    one, two = (pd.concat([each.kept[name] for name in names]) for each in (first, later))
    pairs = one[one["counted"]].merge(two[two["counted"]], on=key, suffixes=("_before", "_after"))
    before, after = (pairs[[f"{name}_{end}" for name in READ]].set_axis(READ, axis=1) for end in ("before", "after"))
    reread = ~(before.eq(after) | (before.isna() & after.isna())).all(axis=1)
    return pairs[key].assign(before=pairs["verdict_before"], after=pairs["verdict_after"], reread=reread)


def list_moved(pairs: pd.DataFrame) -> pd.DataFrame:
    """Choose the rows of `pair_verdicts` whose verdicts differ."""
    return pairs[pairs["before"] != pairs["after"]].reset_index(drop=True)
