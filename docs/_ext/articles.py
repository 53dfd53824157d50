"""The articles of docs/articles: Markdown whose numbers, tables and references are filled in from what is kept.

``KEY.md`` is about the paper KEY; its front matter has `keywords` and `abstract`. In the text:

* ``{{name}}`` is a number of docs/reproduction that ``values.yaml`` names, ``{{name.both}}`` with its interval;
  `FIELDS` has the others. ``{{claims}}`` and ``{{reproduced}}``, ``{{not_reproduced}}``, ``{{undecided}}``,
  ``{{not_testable}}`` count the claims of the paper, ``{{contradicted}}``, ``{{not_under_our_setting}}``,
  ``{{input_differs}}``, ``{{no_other_setting_tried}}`` those that are not reproduced;
* ``[@key]`` and ``@key`` cite an entry of ``references.bib``, as in pandoc's Markdown; the layout resolves them;
* an equation ends with ``$$ (eq:name)``; ``[eq:name]``, ``[fig:ID]`` and ``[table:name]`` are references to it, to a
  figure and to a table;
* blocks are filled by `BLOCKS`; that of a figure has its id and, where it should be narrower in print, a width::

    ```{claims} acceptance
    caption: Acceptance rates.
    rows:
    - {figure: sdds-fig5, data: emm N=500, as: "{sampler}, {metric}"}
    ```

``words.yaml`` says in words what data, samplers and metrics are, and on which scale a metric is shown.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import classes
import numpy as np
import pandas as pd
import sensitivity
import yaml
from editions import overview
from editions.counted import AT_99
from editions.kept import claims_of as claims_of_figure
from findings import ClaimReference
from pydantic import ValidationError

from splitmerge_cli.config import ConfigError
from splitmerge_cli.config.errors import one_line
from splitmerge_cli.papers.claims import errata, settings
from splitmerge_cli.papers.declaration import Paper, papers
from splitmerge_cli.papers.experiments import list_figures
from splitmerge_cli.papers.verdict_tables import counts
from splitmerge_cli.papers.verdicts import VERDICTS

FRONT = re.compile(r"\A---\n(.*?)^---\n", re.M | re.S)
KEYS = ("keywords", "abstract")
"""Fields in the front matter of an article."""
BLOCK = re.compile(r"^```\{(?P<kind>\w+)\} *(?P<argument>[^\n]*)\n(?P<body>.*?)^```\n", re.M | re.S)
EQUATION = re.compile(r"^\$\$\n(?P<latex>.*?)\n\$\$ \(eq:(?P<name>\w+)\)$", re.M | re.S)
NUMBER = re.compile(r"\{\{(\w+)(?:\.(\w+))?\}\}")
LINK = re.compile(r"\[(eq|fig|table):([\w-]+)\]")
SCALES: Mapping[str, Callable[[float], float]] = {
    "": float,
    "percent": lambda x: 100 * x,
    "ratio": lambda x: float(np.exp(x)),
    "ratio10": lambda x: 10**x,
}
"""Scales on which a number is shown: `ratio` of a kept logarithm, `ratio10` of one to the base 10."""
SIGN = "−"
_kept_editions = cache(overview.editions)
_kept = cache(overview.latest_figures)


@dataclass(frozen=True)
class Layout:
    """How an article is set: functions of a number and what it numbers.

    Attributes
    ----------
    figure : callable
        Markdown of a picture, from number, id, width and caption.
    table : callable
        Of a table, from number, caption and the Markdown of its rows.
    equation : callable
        Of an equation, from number and LaTeX.
    references : str
        What makes the list of the cited works.
    """

    figure: Callable[[int, str, str, str], str]
    table: Callable[[int, str, str], str]
    equation: Callable[[int, str], str]
    references: str


class Number(ClaimReference):
    """A number of a kept table, by patterns of its claim.

    Attributes
    ----------
    reading : str, optional
        Pattern of the reading; the counted one if left out.
    show : str, optional
        One of `SCALES`; that of the metric if left out.
    """

    reading: str | None = None
    show: str | None = None


class Row(ClaimReference):
    """Rows of a table of claims.

    Attributes
    ----------
    words : str, optional
        What the claim says, with {data}, {sampler} and {metric} in words; in the file `as`.
    """

    words: str | None = None


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


@dataclass(frozen=True)
class Article:
    """An article, and what it is filled with.

    Attributes
    ----------
    file : Path
    paper : Paper
    stored : Path
        The kept reproduction.
    layout : Layout
    """

    file: Path
    paper: Paper
    stored: Path
    layout: Layout
    _frames: dict[str, pd.DataFrame] = field(default_factory=dict, init=False, repr=False)

    @property
    def latest(self) -> dict[str, overview.LatestFigure]:
        """The kept figures: numbers and pictures are those of the last edition."""
        return _kept(self.stored)

    @cached_property
    def front_matter(self) -> dict[str, Any]:
        """Front matter with its abstract filled in."""
        return self._read[0] | {"abstract": self._fill_line(" ".join(self._read[0]["abstract"].split()))}

    @cached_property
    def text(self) -> str:
        """The text, filled in.

        Raises
        ------
        ConfigError
            Something cannot be filled: a figure that is not kept, a claim or a number that is none, an unknown name.
        """
        source = self._read[1]
        parts, end = [], 0
        for match in sorted([*BLOCK.finditer(source), *EQUATION.finditer(source)], key=lambda one: one.start()):
            parts += [self._fill_line(source[end : match.start()]), self._fill_block(match)]
            end = match.end()
        return "".join([*parts, self._fill_line(source[end:])])

    @cached_property
    def _read(self) -> tuple[dict[str, Any], str]:
        return read(self.file)

    @cached_property
    def _words(self) -> dict[str, Any]:
        return _load(self.file.parent / "words.yaml")

    @cached_property
    def _values(self) -> dict[str, Any]:
        return dict(_load(self.file.parent / "values.yaml").get(self.paper.key, {}))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Numbers of figures, tables and equations, in their order."""
        tables = ("claims", "counts", "editions", "errata", "settings")
        kinds = {"figure": "fig", **dict.fromkeys(tables, "table")}
        names = [
            f"{kinds[one['kind']]}:{one['argument'].partition(' ')[0] or one['kind']}"
            for one in BLOCK.finditer(self._read[1])
            if one["kind"] in kinds
        ]
        names += [f"eq:{one['name']}" for one in EQUATION.finditer(self._read[1])]
        number_by_name: dict[str, int] = {}
        for name in names:
            if name in number_by_name:
                raise ConfigError(f"{self.file.name}: {name}: there are two")
            number_by_name[name] = 1 + sum(other.startswith(name.partition(":")[0] + ":") for other in number_by_name)
        return number_by_name

    def _fail(self, what: str) -> ConfigError:
        return ConfigError(f"{self.file.name}: {what}")

    # lines

    def _fill_line(self, text: str) -> str:
        text = NUMBER.sub(self._number, text)
        return LINK.sub(self._link, text)

    def _link(self, match: re.Match[str]) -> str:
        kind, name = match.groups()
        if (number := self._numbers.get(f"{kind}:{name}")) is None:
            raise self._fail(f"{match[0]}: there is none")
        return {"eq": f"({number})", "fig": f"Figure {number}", "table": f"Table {number}"}[kind]

    def _number(self, match: re.Match[str]) -> str:
        name, field = match.groups()
        if (general := self._general.get(name)) is not None:
            return general
        values = self._values
        if name not in values or (field or "value") not in FIELDS:
            raise self._fail(f"{match[0]}: expected a name of values.yaml, with one of the fields {', '.join(FIELDS)}")
        try:
            asked = Number.model_validate(values[name])
        except ValidationError as error:
            raise self._fail(f"values.{name}: {one_line(error)}") from error
        rows = self._rows(asked)
        rows = rows[rows["counted"]] if asked.reading is None else rows[_fits(rows["reading"], asked.reading)]
        if len(rows) != 1:
            raise self._fail(f"values.{name}: expected one row of {asked.figure}-claims.csv, found {len(rows)}")
        row = rows.iloc[0]
        scale = asked.show if asked.show is not None else self._metric(row)[1]
        return FIELDS[field or "value"](row, scale)

    @cached_property
    def _general(self) -> dict[str, str]:
        """Counts of verdicts."""
        frames = [self._claims_of(figure.id) for figure in self.paper.figures]
        verdict_counts = counts(frames)
        sizes = classes.classify(frames, self.file.parent.parent)["class"].value_counts()
        return {
            **{name.replace(" ", "_"): str(int(sizes.get(name, 0))) for name in classes.CLASSES},
            "claims": str(int(verdict_counts.sum())),
            **{verdict.replace(" ", "_"): str(n) for verdict, n in zip(VERDICTS, verdict_counts, strict=True)},
        }

    # blocks

    def _fill_block(self, match: re.Match[str]) -> str:
        if "latex" in match.groupdict():
            return self.layout.equation(self._numbers[f"eq:{match['name']}"], match["latex"])
        kind, argument, body = match["kind"], match["argument"].strip(), match["body"].strip()
        if kind not in BLOCKS:
            raise self._fail(f"block {kind}: expected one of {', '.join(BLOCKS)}")
        return BLOCKS[kind](self, argument, body)

    def _figure(self, argument: str, body: str) -> str:
        name, _, width = argument.partition(" ")
        self._claims_of(name)
        caption = self._fill_line(" ".join(body.split()))
        return self.layout.figure(self._numbers[f"fig:{name}"], name, width or "100%", caption)

    def _table(self, name: str, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], *widths: int) -> str:
        number = self._numbers[f"table:{name}"]
        return self.layout.table(number, self._fill_line(caption), _pipe_table(head, rows, widths))

    def _claims(self, name: str, body: str) -> str:
        """The counted verdicts on claims that are referred to, in words."""
        about = yaml.safe_load(body)
        rows = []
        for one in about["rows"]:
            fields = {("words" if key == "as" else key): value for key, value in one.items()}
            asked = Row.model_validate(fields)
            claims = self._rows(asked)
            claims = claims[claims["counted"]]
            if claims.empty:
                raise self._fail(f"claims: {one}: expected a reference to a claim")
            rows += [self._claim(row, asked.words) for _, row in claims.iterrows()]
        head = ["claim", "paper", "here, with 95 % interval", "of", "verdict"]
        return self._table(name or "claims", about["caption"], head, rows, 52, 11, 27, 13, 15)

    def _claim(self, row: Any, words: str | None) -> list[str]:
        metric, scale = self._metric(row)
        known = {
            "data": self._words.get("data", {}).get(row["data"], row["data"]),
            "sampler": self._words.get("samplers", {}).get(row["sampler"], row["sampler"]),
            "metric": metric,
        }
        units = _units(row, "") if row["n"] else "exact" if row["rule"] in ("exact", "holds") else "–"
        return [
            (words or "{sampler}, {data}: {metric}").format(**known),
            FIELDS["published"](row, scale),
            FIELDS["both"](row, scale),
            units,
            str(row["verdict"]),
        ]

    def _counts(self, name: str, body: str) -> str:
        """Claims by figure and verdict."""
        titles = dict(list_figures())
        frames = {figure.id: self._claims_of(figure.id) for figure in self.paper.figures}
        rows = [
            [_plain(titles[figure]), str(len(frame[frame["counted"]])), *map(str, counts([frame]))]
            for figure, frame in frames.items()
        ]
        every = counts(frames.values())
        rows.append(["all", str(int(every.sum())), *map(str, every)])
        head = ["figure or table of the paper", "claims", *VERDICTS]
        return self._table(name or "counts", " ".join(body.split()), head, rows, 40, 8, 11, 13, 11, 10, 12)

    def _editions(self, _name: str, _body: str) -> str:
        """Commits of the runs, and the number of verdicts that differ between the first edition and the last."""
        names = [figure.id for figure in self.paper.figures]
        made = [one for name in names for one in self.latest[name].entry["made"]]
        commits = dict.fromkeys(one["commit"][:7] for one in made if one["runs"])
        first, *_, last = _kept_editions(self.stored)
        pairs = overview.pair_verdicts(first, last)
        pairs = pairs[pairs["id"].isin(names)]
        titles, rows = dict(list_figures()), []
        for figure, verdicts in [*pairs.groupby("id", sort=False), ("", pairs)]:
            moved = overview.list_moved(verdicts)
            reread = int(moved["reread"].sum())
            rows.append([_plain(titles[figure]) if figure else "all", len(verdicts), len(moved) - reread, reread])
        _, compared, alike, reread = rows[-1]
        text = (
            "Numbers from runs are those of the last edition of each figure in `docs/reproduction`, made with commits "
            f"{', '.join(commits)}. Edition {last.number} takes other seeds. Its rules were committed before its runs, "
            "its readings chosen in knowledge of the first. "
            f"Of {compared} verdicts that both editions have, {alike + reread} differ, {alike} of these under the same "
            "reading and rule ([table:editions]).\n\n"
        )
        head = ["figure or table of the paper", "claims", "differ, read alike", "differ, read otherwise"]
        caption = "Verdicts that both editions have, and how many of them differ."
        cells = [[str(cell) for cell in row] for row in rows]
        return self._fill_line(text) + self._table("editions", caption, head, cells, 62, 12, 16, 16)

    def _errata(self, name: str, body: str) -> str:
        rows = [
            [_plain(row[key]) for key in ("where", "printed", "correct", "effect")]
            for _, row in errata(self.paper).iterrows()
        ]
        return self._table(name or "errata", body, ["where", "printed", "correct", "effect"], rows, 14, 30, 30, 30)

    def _settings(self, name: str, body: str) -> str:
        measured = sensitivity.read(self.file.parent.parent)
        rows = []
        for _, row in settings(self.paper).iterrows():
            dependence = sensitivity.summarise(row["sensitivity"], measured.get((self.paper.key, row["setting"])))
            rows.append([_plain(text) for text in (row["setting"], row["paper"], row["chosen"], dependence)])
        head = ["setting", "the paper", "here", "how much it matters"]
        return self._table(name or "settings", body, head, rows, 15, 24, 36, 32)

    def _list_references(self, _name: str, _body: str) -> str:
        return self.layout.references

    # kept rows

    def _claims_of(self, name: str) -> pd.DataFrame:
        """The kept claims of a figure."""
        if name not in self._frames:
            place = self.latest[name].claims_folder if name in self.latest else self.stored
            self._frames[name] = claims_of_figure(place, name)[0]
        return self._frames[name]

    def _rows(self, asked: ClaimReference) -> pd.DataFrame:
        frame = self._claims_of(asked.figure)
        fits = np.ones(len(frame), dtype=bool)
        for key in ("data", "sampler", "metric"):
            if (pattern := getattr(asked, key)) is not None:
                fits &= _fits(frame[key], pattern)
        return frame[fits]

    def _metric(self, row: Any) -> tuple[str, str]:
        """A metric in words, and its scale."""
        known = self._words.get("metrics", {}).get(row["metric"], {})
        known = {"words": known} if isinstance(known, str) else known
        return known.get("words", row["metric"].replace("_", " ")), known.get("show", "")


BLOCKS: Mapping[str, Callable[[Article, str, str], str]] = {
    "claims": Article._claims,
    "counts": Article._counts,
    "editions": Article._editions,
    "figure": Article._figure,
    "errata": Article._errata,
    "settings": Article._settings,
    "references": Article._list_references,
}
"""Functions that fill a block, by its kind."""


def _load(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _fits(column: pd.Series, pattern: str) -> Any:
    """Which values fit a pattern: * stands for anything, ? for one sign."""
    expression = "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in pattern)
    return column.astype(str).str.fullmatch(expression).to_numpy(dtype=bool)


def _plain(text: object) -> str:
    """Text of a CSV file as Markdown: code stays code, other signs lose their meaning, decimals get their zero."""
    parts = re.split(r"(`[^`]*`)", " ".join(str(text).split()))
    return "".join(part if part.startswith("`") else _escape(part) for part in parts)


def _escape(text: str) -> str:
    text = re.sub(r"(?<![\w.)\]])\.(?=\d)", "0.", text)
    return re.sub(r"([\\*_<>|$\[\]{}~^@#])", r"\\\1", text)


def _digits(value: float) -> str:
    """Three significant digits, thousands apart."""
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "never"
    if value and (abs(value) < 1e-3 or abs(value) >= 1e6):
        mantissa, _, power = f"{value:.2g}".partition("e")
        shown = f"${mantissa} \\times 10^{{{int(power)}}}$" if power else mantissa
    elif abs(value) >= 100:
        shown = f"{value:,.0f}"
    else:
        shown = f"{value:.3g}"
    return shown.replace("-", SIGN) if "$" not in shown else shown


def _print_number(row: Any, scale: str) -> str:
    """The published number, as it is printed."""
    value = SCALES[scale](row["published"])
    return "–" if np.isnan(value) else f"{value:,.6g}".replace("-", SIGN) + _unit(row, scale)


def _unit(row: Any, scale: str) -> str:
    unit = "%" if scale == "percent" else row["unit"] if row["unit"] in ("%", "s", "ms") else ""
    return f"\N{NO-BREAK SPACE}{unit}" if unit else ""


def _value(row: Any, scale: str) -> str:
    return _digits(SCALES[scale](row["ours"])) + ("" if np.isnan(row["ours"]) else _unit(row, scale))


def _interval(row: Any, scale: str) -> str:
    if not np.isfinite([row["low"], row["high"]]).all():
        return ""
    level = "; 99 %" if AT_99 in row["reason"] else ""
    return f"[{_digits(SCALES[scale](row['low']))}, {_digits(SCALES[scale](row['high']))}{level}]"


def _share(row: Any, _scale: str) -> str:
    """How many units show what the paper says: ``3 of 10``."""
    match = re.search(rf"in (\d+ of \d+) {re.escape(row['of'])}", row["reason"])
    return match[1] if match else "–"


def _reason_part(pattern: str) -> Callable[[Any, str], str]:
    """A function for the first group of a pattern in the reason of a verdict."""

    def find(row: Any, _scale: str) -> str:
        match = re.search(pattern, row["reason"])
        return match[1] if match else "–"

    return find


def _units(row: Any, _scale: str) -> str:
    return f"{row['n']} {row['of'] if row['n'] != 1 else row['of'].removesuffix('s')}"


FIELDS: Mapping[str, Callable[[Any, str], str]] = {
    "value": _value,
    "interval": _interval,
    "both": lambda row, scale: " ".join(part for part in (_value(row, scale), _interval(row, scale)) if part),
    "published": _print_number,
    "share": _share,
    "units": _units,
    "medians": _reason_part(r"median ([\d,]+ against [\d,]+)"),
    "ratio": _reason_part(r"ratio ([\d.]+ \[[^\]]+\])"),
    "verdict": lambda row, _scale: str(row["verdict"]),
}
"""Fields of a number: its value, interval, both, what the paper printed, the share of the units that shows what the
paper says, how many units there are, the verdict; and medians and ratios that its reason gives."""


def _pipe_table(head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """A pipe table; the dashes are the widths of its columns."""
    lines = [list(head), ["-" * width for width in widths], *map(list, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
