"""Help with data of the user's own: a table without a model, words of other programs, standard input, odd files."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import read_rejection
from typer.testing import CliRunner

from splitmerge_cli.cli import app
from splitmerge_cli.config import errors, schema

QUICK = ["iterations=5", "chains=1", "progress=none"]
PEOPLE = "name,age,sex,town\n" + "".join(
    f"p{i},{20.5 + i},{'mf'[i % 2]},{('Ulm', 'Bonn', 'Rom')[i % 3]}\n" for i in range(12)
)


def ask_without_model(smcmc: Callable[..., Any]) -> tuple[str, list[list[str]]]:
    """The answer to a table without a model, and its commands, as a shell takes them; nothing is written."""
    result = smcmc("run", "data=csv", "data.path=t.csv", *QUICK)
    assert result.exit_code == 2 and result.stdout == "" and not Path("results").exists(), result.output
    lines = result.stderr.splitlines()
    commands = [line.partition(": ")[2] for line in lines if line.startswith(("next: ", "or: "))]
    return result.stderr, [shlex.split(one) for one in commands]


# a table without a model


def test_a_table_without_a_model_says_what_it_holds(smcmc) -> None:
    Path("t.csv").write_text(PEOPLE)
    answer, said = ask_without_model(smcmc)
    assert answer.startswith("smcmc: t.csv: 12 rows, 3 columns, no model\n  column  read as      values")
    lines = [line.split() for line in answer.splitlines()]
    assert ["sex", "binary", "f", "6,", "m", "6"] in lines and ["age", "real", "20.5", "to", "31.5"] in lines
    # first the shortest, which chooses the model
    assert said[0] == ["smcmc", "run", "t.csv", *QUICK]
    assert said[1][:4] == ["smcmc", "run", "data=csv", "data.path=t.csv"] and said[1][-1] == "model=mixed"
    assert {args[-1] for args in said[1:]} == {"model=mixed", "model=gaussian"}
    assert "data.columns=[age]" in said[2]


COUNTS = ("multinomial", "overdispersed_multinomial", "gamma_poisson")


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("a,b\n1,0\n0,1\n0,0\n", {"mixed", "bernoulli", *COUNTS, "gaussian", "lines"}),
        ("a,b\nyes,no\nno,yes\nno,no\n", {"mixed", "bernoulli"}),
        ("x,y\n1.5,2.5\n2.5,3.5\n7,1\n", {"mixed", "gaussian", "lines"}),
        ("id,x\n17,2.5\n23,3.5\n4,1\n", {"mixed", "gaussian"}),
        ("cat\ndog\ncat\nemu\ncat\ndog\n", {"mixed", "emm"}),
        ("x,y\n1.5,NA\n2.5,1\n3.5,4.5\n", {"mixed", "gaussian"}),
        ("when,x\n2020-01-01,2.5\n2020-01-02,3.5\n2020-01-03,3\n", {"mixed", "gaussian"}),
    ],
)
def test_every_command_that_is_named_works(smcmc, text: str, models: set[str]) -> None:
    Path("t.csv").write_text(text)
    _, said = ask_without_model(smcmc)
    assert {args[-1].removeprefix("model=") for args in said[1:]} <= models
    assert "model=mixed" in said[1] and len(said) >= 3 - (models == {"mixed"})
    for args in (said[0], *said[2:]):
        smcmc(*args[1:], status=0)


def test_a_sweep_without_a_model_asks_too(smcmc) -> None:
    Path("t.csv").write_text(PEOPLE)
    result = smcmc("sweep", "data=csv", "data.path=t.csv", "seed=1,2", *QUICK)
    assert result.exit_code == 2 and result.stderr.count("expected a model: smcmc run t.csv") == 2


def test_a_table_that_nothing_reads_says_why(smcmc) -> None:
    Path("t.csv").write_text("x,y\n1,2\n3\n")
    assert "t.csv: row 3: cells: 1; expected 2" in read_rejection(smcmc, "run", "data=csv", "data.path=t.csv")
    assert "nowhere.csv: no such file" in read_rejection(smcmc, "run", "data=csv", "data.path=nowhere.csv")


def test_a_model_or_a_kind_that_is_chosen_is_taken(smcmc) -> None:
    Path("t.csv").write_text("cat\ndog\ncat\n")
    for chosen in ("model=emm", "data.kind=tokens"):
        assert smcmc("run", "data=csv", "data.path=t.csv", chosen, *QUICK).exit_code == 0


# words of other programs


def test_words_are_written_as_they_are_looked_up_and_name_keys_that_there_are() -> None:
    keys = {key for key, _ in schema.all_keys()}
    assert set(errors.ALWAYS) - {"data.path"} <= keys
    words = [word for _, words, _ in errors.MEANINGS for word in words.split()]
    assert len(set(words)) == len(words) and all(word == word.lower().replace("_", "") for word in words)
    for listed, _, _ in errors.MEANINGS:
        for key in listed.split():
            assert key in keys or key.partition(".")[0] in ("model", "data") or key.endswith("=NAME")


# standard input


def test_standard_input(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    args = ["run", "data=csv", "data.path=-", "model=gaussian", *QUICK]
    Path("t.csv").write_text("x,y\n1,2\n3,4\n")
    runs = {}
    from_file = smcmc(*[arg.replace("=-", "=t.csv") for arg in args]).stdout.strip()

    def call(name: str, *args: str, input: str) -> Any:
        runs[name] = CliRunner().invoke(app, list(args), input=input)
        return runs[name]

    first = call("first", *args, input="x,y\n1,2\n3,4\n")
    # the identity is that of the content
    assert first.exit_code == 0 and first.stdout.strip() == from_file
    assert "already finished" in first.stderr
    other = call("other", *args, input="x,y\n1,2\n3,5\n")
    assert other.exit_code == 0 and other.stdout.strip() != from_file
    assert "already finished" in call("again", *args, input="x,y\n1,2\n3,5\n").stderr
    result = call("plot", "plot", other.stdout.strip(), input="x,y\n9,9\n3,5\n")
    assert "expected the table on standard input that results/" in result.stderr
    assert "a sweep does not read standard input" in call("sweep", "sweep", *args[1:], "seed=1,2", input="").stderr
