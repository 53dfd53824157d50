"""How much is fuzzed, with which seed, and what came of it."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from child import Child

FEW = 8
MANY = 2000


@pytest.fixture(params=["few", pytest.param("many", marks=pytest.mark.slow)])
def cases(request: pytest.FixtureRequest) -> int:
    """Number of cases in a test; a module whose cases are cheap says how few its few are."""
    return MANY if request.param == "many" else getattr(request.module, "FEW", FEW)


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """The process in which what is fuzzed runs."""
    folder = tmp_path_factory.mktemp("fuzz") / "work"
    folder.mkdir()
    started = Child(folder)
    yield started
    started.end()


@pytest.fixture
def fuzz(request: pytest.FixtureRequest, cases: int, capsys: pytest.CaptureFixture[str]) -> Callable[..., Counter[str]]:
    """``fuzz(strategy, check)`` calls ``check(case)``, which returns a status and a reason, for every drawn case.

    A case whose status is none of "accepted" and "rejected" fails the test. Returned are the numbers of cases by
    status. The few cases of every run are always the same ones; the many are others each time, by a seed that is
    printed and that ``--hypothesis-seed`` sets.
    """

    def run(strategy: Any, check: Callable[[Any], tuple[str, str]], examples: tuple[Any, ...] = ()) -> Counter[str]:
        given = request.config.getoption("--hypothesis-seed")
        seed = int(given) if given is not None else 0 if cases < MANY else int.from_bytes(os.urandom(4))
        tally: Counter[str] = Counter()
        found = False

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=cases, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(strategy)
        def one(case: Any) -> None:
            nonlocal found
            status, why = check(case)
            if not found:  # what shrinking tries is not counted
                tally[status] += 1
            if status not in ("accepted", "rejected"):
                found = True
                raise AssertionError(f"{status}: {case!r}\n{why}")

        for example in examples:
            one = hypothesis.example(example)(one)
        try:
            one()
        finally:
            total = sum(tally.values())
            bad = total - tally["accepted"] - tally["rejected"]
            with capsys.disabled():
                print(
                    f"\nfuzz {request.node.name}, seed {seed}: {total} cases, accepted {tally['accepted']}, rejected "
                    f"{tally['rejected']}, tracebacks {bad}"
                )
        return tally

    return run
