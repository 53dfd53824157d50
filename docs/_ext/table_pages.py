"""The tables of papers as tables of their pages, from the kept numbers, in Markdown."""

from collections.abc import Callable, Sequence

import pandas as pd
import parts
from parts import MINUS

from splitmerge_cli.analysis.plots.style import title_of
from splitmerge_cli.papers.arm.mixtures import METRICS as TIMES
from splitmerge_cli.papers.arm.runs import STARTS, level_title
from splitmerge_cli.papers.lshsm.runs import METHODS as FORMS
from splitmerge_cli.papers.lshsm.table import SETTINGS
from splitmerge_cli.papers.triadic.runs import METHODS, WORDS

Table = tuple[str, Sequence[str], list[list[str]]]
"""A table: words for its cells, the head, and the rows."""
SPREADS = "; the picture and the file of numbers have the spreads."


def section(id: str, numbers: pd.DataFrame) -> str:
    """The section with a table's numbers; empty for what is no table."""
    if id not in TABLES:
        return ""
    words, head, rows = TABLES[id](numbers)
    return f'\n## Numbers\n\n{words}\n\n<div class="numbers">\n{parts.table(head, rows, range(1, len(head)))}\n</div>\n'


def _number(value: float, digits: int, sign: str = "") -> str:
    return "–" if pd.isna(value) else f"{value:{sign},.{digits}f}".replace("-", MINUS)


def _grid(cells: pd.Series, names: Sequence[Callable[[str], str]], columns: Sequence[object]) -> list[list[str]]:
    """Rows of a table: `cells` has an index of the rows' keys and, last, the column; `names` are those of the keys."""
    wide = cells.unstack(fill_value="", sort=False)
    rows = []
    for key, row in wide.iterrows():
        keys = key if isinstance(key, tuple) else (key,)
        rows.append([*(name(str(k)) for name, k in zip(names, keys, strict=True)), *(row.get(c, "") for c in columns)])
    return rows


def _arm_table2(numbers: pd.DataFrame) -> Table:
    groups = numbers.groupby(["example", "sampler"], sort=False)
    cells = {
        (example, sampler, metric): _number(here[metric].mean(), int("time" in metric))
        for (example, sampler), here in groups
        for metric in TIMES
    }
    head = ["data", "sampler", *(title.replace("\n", " ") for title in TIMES.values())]
    rows = _grid(pd.Series(cells), [str.capitalize, title_of], list(TIMES))
    return f"Means over data sets{SPREADS}", head, rows


def _rhat_table(numbers: pd.DataFrame) -> Table:
    rhat_by_key = {
        (r.level, r.start, (r.sampler, r.arm_iterations)): _number(r.rhat, 2) for r in numbers.itertuples(index=False)
    }
    index = pd.Index(list(rhat_by_key), tupleize_cols=False)
    columns = sorted({(sampler, length) for _, _, (sampler, length) in index}, key=lambda pair: pair[1])
    rows = []
    for level, start in dict.fromkeys(key[:2] for key in index):
        row = (rhat_by_key.get((level, start, column), "") for column in columns)
        rows.append([level_title(level), STARTS[start], *row])
    several = len({length for _, length in columns}) > 1
    head = ["network", "start", *(f"{title_of(name)}{f', {length:,}' if several else ''}" for name, length in columns)]
    costs = " or ".join(f"{length:,}" for length in sorted({length for _, length in columns}))
    what = "R-hat of the log joint between restarts, mean over the chains of a restart, at the cost of "
    what += f"{costs} iterations of ARM{SPREADS}"
    return what, head, rows


def _arm_table5(numbers: pd.DataFrame) -> Table:
    groups = numbers.groupby(["level", "start", "sampler"], sort=False)["acceptance_percent"]
    cells = groups.agg(lambda x: _number(x.mean(), 2))
    samplers = list(dict.fromkeys(numbers["sampler"]))
    head = ["network", "start", *map(title_of, samplers)]
    words = f"Proposals accepted, in percent, means over restarts{SPREADS}"
    return words, head, _grid(cells, [level_title, STARTS.__getitem__], samplers)


def _lshsm_table1(numbers: pd.DataFrame) -> Table:
    wide = numbers.pivot_table(
        index=["schedule", "start", "method", "data"], columns="score", values="mean", sort=False
    )
    setting = [
        f"{schedule}/{start}" for schedule, start in zip(*(wide.index.get_level_values(k) for k in (0, 1)), strict=True)
    ]
    cells = pd.Series([f"{_number(r.nmi, 2)},&nbsp;{_number(r.accuracy, 2)}" for r in wide.itertuples()])
    cells.index = pd.MultiIndex.from_arrays([setting, *(wide.index.get_level_values(k) for k in ("method", "data"))])
    data = list(dict.fromkeys(numbers["data"]))
    words = {f"{schedule}/{start}": text for (schedule, start), text in SETTINGS.items()}
    rows = _grid(cells, [words.__getitem__, FORMS.__getitem__], data)
    return (
        "NMI and accuracy of the state of highest log joint, means over data sets.",
        ["setting", "sampler", *data],
        rows,
    )


def _triadic_table1(numbers: pd.DataFrame) -> Table:
    columns = {
        "purity_last": "purity",
        "rand_last": "Rand index",
        "ari_last": "ARI",
        "ari_best_lik": "ARI of the likeliest",
    }
    keys = ["setting", "method", "score"]
    means = numbers[numbers["panel"] == "mean"].set_index(keys)["value"].map(lambda x: _number(x, 3))
    gaps = numbers[(numbers["panel"] == "triadic minus row") & (numbers["score"] == "ari_last")].assign(score="gap")
    differences = [
        f"{_number(r.value, 3, '+')} [{_number(r.low, 3, '+')}, {_number(r.high, 3, '+')}]" for r in gaps.itertuples()
    ]
    cells = pd.concat([means, pd.Series(differences, index=pd.MultiIndex.from_frame(gaps[keys]))])
    rows = _grid(cells, [WORDS.__getitem__, METHODS.__getitem__], [*columns, "gap"])
    head = ["setting", "sampler", *columns.values(), "ARI of triadic minus this"]
    return "Means over data sets of the scores of last states; differences with 95 % intervals.", head, rows


def _sdds_table1(numbers: pd.DataFrame) -> Table:
    rows = [[str(r.step), r.token, str(r.side), f"{r.probability:.3f}", f"{r.paper:.3f}"] for r in numbers.itertuples()]
    return "Probability of the side that each token goes to.", ["step", "token", "side", "ours", "the paper"], rows


TABLES: dict[str, Callable[[pd.DataFrame], Table]] = {
    "arm-table2": _arm_table2,
    "arm-table3": _rhat_table,
    "arm-table4": _rhat_table,
    "arm-table5": _arm_table5,
    "lshsm-table1": _lshsm_table1,
    "sdds-table1": _sdds_table1,
    "triadic-table1": _triadic_table1,
}
"""Tables of papers, by id: their numbers as they are printed."""
