"""Every line that the default command prints on a table, and every line of help, fits a terminal of 80 columns."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli import terminal
from splitmerge_cli.cli import base, results
from splitmerge_cli.config.schema import all_keys
from splitmerge_cli.fits import candidates

RNG = np.random.default_rng(0)
SIDE = np.repeat([0.0, 6.0], 30)
SLOW = pytest.mark.slow


def frame_of(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"c{j}" for j in range(values.shape[1])])


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    # an id, words, a gap, a date, numbers that may be labels, a skewed column, answers, counts
    "mixed": lambda: frame_of(RNG.normal(size=(60, 2)) + SIDE[:, None]).assign(
        id=np.arange(1, 61),
        town=["here", "there", "far away"] * 20,
        gap=np.where(np.arange(60) % 7 == 0, np.nan, SIDE + RNG.normal(size=60)),
        day=pd.date_range("2020-01-01", periods=60).astype(str),
        species=["setosa", "virginica"] * 30,
        skewed=np.exp(RNG.normal(size=60)),
        answer=RNG.integers(1, 6, 60),
        visits=RNG.poisson(2.0, 60),
    ),
    "species": lambda: frame_of(RNG.negative_binomial(0.5, 0.2, (60, 12))),
    "reals": lambda: frame_of(RNG.normal(size=(60, 3)) + SIDE[:, None]),
    "one": lambda: frame_of(RNG.normal(size=(60, 1)) + SIDE[:, None]),
    "wide": lambda: frame_of(RNG.normal(size=(20, 30))),
    "answers": lambda: frame_of(RNG.integers(1, 6, (60, 8))),
    "flags": lambda: frame_of(RNG.integers(0, 2, (60, 6))),
    "copies": lambda: frame_of(np.repeat(RNG.normal(size=(20, 3)), 3, axis=0)),
    "tails": lambda: frame_of(RNG.standard_t(2, size=(60, 3))),
    "skewed": lambda: frame_of(np.exp(RNG.normal(size=(60, 4)))),
    "diagonal": lambda: frame_of(np.outer(RNG.normal(20, 6, 60), [1, 2]) + np.outer(SIDE, [0, 1])).assign(
        noise=RNG.normal(size=60)
    ),
    "long names": lambda: frame_of(RNG.normal(size=(60, 3))).rename(columns=lambda name: f"{name} {'word ' * 12}"),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "mixed" else SLOW) for name in TABLES])
def test_the_lines_of_a_run_fit(smcmc, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(candidates, "ROUNDS", (10, 20))
    monkeypatch.setattr(terminal, "WIDTH", 80)
    TABLES[name]().to_csv("table.csv", index=False)
    # that of reals ends soon when it has run long enough
    ended = smcmc("run", "table.csv", *([] if name == "reals" else ["budget=0.2"]))
    *lines, folder = ended.stdout.splitlines()
    assert ended.exit_code == 0 and not lines and folder.startswith("results/")
    # a command stays whole; which there are depends on how far the machine gets in that time
    printed = ended.stderr + smcmc("diagnose", folder).stdout
    shown = [line for line in printed.splitlines() if not line.startswith(("next: ", "or: "))]
    assert len(shown) > 8 and max(map(len, shown)) <= 80, [line for line in shown if len(line) > 80]


def test_help_fits(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key begins a line of its own, whose text goes on below the text; commands stand in groups."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = [smcmc(*words, "--help").stdout.splitlines() for words in ([], ["run"], ["sweep"])]
    assert max(len(line) for lines in shown for line in lines) == 80
    commands, run, _ = ("\n".join(line.rstrip() for line in lines) for lines in shown)
    keys = run.partition("defaults")[2].partition("The last line")[0].split("\n")[3:]
    begun = [line[1:].partition("=")[0] for line in keys if line.strip() and line[1] != " "]
    assert begun == [key for key, _ in all_keys()]
    assert all(line.startswith(" " * 31) for line in keys if line[1:2] == " ")
    assert all(word in run for word in ("model=auto", "mixed", "edges", "documents"))
    groups = dict.fromkeys(command.group for command in base.COMMANDS.values())
    assert [line[3:].partition(" ─")[0] for line in commands.split("\n") if line.startswith("╭─")][1:] == list(groups)


def test_lines_hang_on_a_terminal_and_stay_whole_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "word " * 20 + "end"
    assert terminal.hang("name  ", text) == f"name  {text}"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr(terminal, "WIDTH", 80)
    monkeypatch.setenv("COLUMNS", "90")
    assert terminal.width() == 90
    first, *others = terminal.hang("name  ", text).splitlines()
    assert first.startswith("name  word") and all(line.startswith("      word") for line in others)
    # a long lead has a line of its own
    first, *others = terminal.hang("name  " * 10, text).splitlines()
    assert first == ("name  " * 10).rstrip() and all(line.startswith("    word") for line in others)


def test_a_table_wider_than_the_terminal_has_its_labels_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"job": "data.drop=target " * 5, "run": "results/sams-csv/0123456789ab", "n_clusters": 3, "low": 3, "high": 5}
    row |= {"converged": True, "rhat": 1.0, "ess": 99.0, "ess_per_second": 9.0, "seconds": 11.0, "ari": 0.5}
    results.print_table(pd.DataFrame([row]), "differs in", numbered=True)
    assert f"{row['job']} " in capsys.readouterr().out
    narrow = terminal.console(80)
    monkeypatch.setattr(results.terminal, "console", lambda _: narrow)
    results.print_table(pd.DataFrame([row]), "differs in", numbered=True)
    head, numbers, label, path = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "K" and numbers.split()[:3] == ["1", "3", "3–5"]
    assert label.startswith(" 1  data.drop=target") and path == f"    {row['run']}"
