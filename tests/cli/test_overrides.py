"""Other settings in place of the chosen ones: where they apply, what is rejected, where the results go."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from splitmerge_cli.config import ConfigError
from splitmerge_cli.papers import experiments, reproduce


@pytest.mark.slow
def test_an_override_replaces_or_adds_where_its_key_applies(tmp_path: Path) -> None:
    jobs = experiments.jobs("sdds-fig3", "quick", tmp_path)[::5]
    assert any("sampler=rm" in job for job in jobs) and not all("sampler=rm" in job for job in jobs)
    for override in ("sampler.redistribution=coin", "K0=7", "N=50", "init=singletons"):
        key = override.partition("=")[0]
        changed = experiments.override_jobs(jobs, [override])
        assert len(changed) == len(jobs)
        for before, after in zip(jobs, changed, strict=True):
            applies = key != "sampler.redistribution" or "sampler=rm" in before
            kept = [one for one in before if not one.startswith(f"{key}=")]
            assert after == ([*kept, override] if applies else before), override
    assert experiments.override_jobs([], ["K0=7"]) == [] and experiments.override_jobs(jobs, []) == jobs


@pytest.mark.slow
def test_runs_whose_seconds_count_do_so_with_an_override_and_equal_runs_are_one(tmp_path: Path) -> None:
    for override, runs in (("init=random", 180), ("N=50", 3 * 60), ("budget=1", 180)):
        wanted, timed = reproduce._plan(["sdds-fig6"], "paper", tmp_path, None, 1, [override])
        assert len(wanted["sdds-fig6"]) == runs and timed == set(wanted["sdds-fig6"])
        assert all(override in job for job in timed)
    wanted, timed = reproduce._plan(["sdds-fig6"], "paper", tmp_path, None, 1, ["N=50", "budget=1"])
    assert len(wanted["sdds-fig6"]) == 60 and timed == set(wanted["sdds-fig6"])


def test_the_last_of_a_key_counts_and_the_folder_says_them() -> None:
    chosen = experiments.check_overrides(["b.c=1", "a=2", "b.c=[1,2]"])
    assert chosen == ["a=2", "b.c=[1,2]"]
    assert experiments.folder_suffix([]) == "" and experiments.folder_suffix(["a=2"]) == "-with-a=2"
    named = {experiments.folder_suffix(one) for one in (["b.c=[1,2]"], ["b.c=(1,2)"], ["a=" + "2" * 99])}
    assert len(named) == 3 and all("/" not in name and len(name) < 100 for name in named)
    for override in ("a", "a=", "=1", "+a=1", "~a=1", "out=x", "experiment=sdds-fig1"):
        with pytest.raises(ConfigError, match="--with"):
            experiments.check_overrides([override])


@pytest.mark.parametrize(
    ("name", "override", "said"),
    [
        ("sdds-traces", "data.attribute=6", "data.attribute: no such key. Did you mean data.attributes?"),
        ("sdds-traces", "data.attributes=no", "data.attributes=no: expected"),
        ("sdds-traces", "sampler.redistribution=coin", "sampler.redistribution: no such key"),
        ("sdds-table1", "model.alpa=0.1", "model.alpa: no such key. Did you mean model.alpha?"),
        ("sdds-table1", "out=x", "--with out=x: out changes no result"),
    ],
)
def test_what_is_wrong_is_one_message_that_names_the_key(
    smcmc: Callable[..., Any], name: str, override: str, said: str
) -> None:
    result = smcmc("reproduce", name, "--with", override)
    assert result.exit_code == 2 and said in result.stderr and len(result.stderr.splitlines()) == 1
    assert not list(Path().rglob("*.csv")) and result.stdout == ""


def test_results_lie_apart_and_do_not_touch_the_others(smcmc: Callable[..., Any]) -> None:
    """The table of an exact figure, too: it has the name of the figure, not an identity."""
    assert smcmc("reproduce", "sdds-table1").exit_code == 0
    ordinary = {path: path.read_bytes() for path in Path("results").rglob("*") if path.is_file()}
    result = smcmc("reproduce", "sdds-table1", "--with", "model.alpha=0.1")
    assert result.exit_code == 0, result.output
    folder = Path("results") / "figures-with-model.alpha=0.1"
    assert folder.name == experiments.figures_folder(1) + experiments.folder_suffix(["model.alpha=0.1"])
    assert "With model.alpha=0.1 in place" in (folder / "sdds-table1-caption.txt").read_text()
    assert all(path.read_bytes() == content for path, content in ordinary.items())
    new = {path for path in Path("results").rglob("*") if path.is_file()} - set(ordinary)
    assert new and all(folder in path.parents for path in new)
    tables = [pd.read_csv(place / "sdds-table1-claims.csv") for place in (folder, Path("results/figures"))]
    assert list(tables[0]["rule"]) == list(tables[1]["rule"]) and list(tables[0]["ours"]) != list(tables[1]["ours"])
