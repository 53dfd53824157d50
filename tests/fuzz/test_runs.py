"""A run whose files were damaged, or that somebody made, is drawn, diagnosed or continued, or named; nothing else."""

from typing import Any

from child import Child, Ended
from damages import cases as drawn


def test_runs(child: Child, fuzz, cases: int) -> None:
    files = child("runs.make_runs")

    def check(case: tuple[Any, ...]) -> tuple[str, str]:
        try:
            return child("runs.damage_run", *case)
        except Ended as error:
            return "traceback", str(error)

    tally = fuzz(drawn(files), check)
    assert tally["rejected"] >= cases / 4
