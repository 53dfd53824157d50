"""The loss by not knowing the best sampler: the tables of the page follow from the chains that are kept."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("compare_samplers", ROOT / "scripts" / "compare_samplers.py")
assert _spec is not None and _spec.loader is not None
script = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(script)

KEPT = ROOT / "docs" / "choice.csv.gz"
PAGE = ROOT / "docs" / "races.md"


def test_tables_follow_from_the_chains_that_are_kept() -> None:
    chains, page = pd.read_csv(KEPT), PAGE.read_text(encoding="utf-8")
    assert script.schedule_table(chains) in page
    assert script.model_table(chains, ["5 sams", "portfolio"]) in page


def test_the_best_is_chosen_by_other_seeds() -> None:
    """Schedules that are alike lose nothing, where the luckiest of them would seem to be ahead."""
    rng = np.random.default_rng(0)
    rows = [
        ["generated", "gaussian", f"set {of_set}", name, "one", seed, rng.lognormal(0, 1), np.inf]
        for of_set in range(100)
        for seed in range(3)
        for name in "abcdefghij"
    ]
    columns = ["kind", "model", "data", "schedule", "start", "seed", "seconds", "end"]
    chains = pd.DataFrame(rows, columns=columns)
    lost = script.losses(chains, "a")
    assert len(lost) == 100
    assert abs(np.log(lost["times"]).mean()) < 0.3
    first = chains[chains["seed"] == 0].groupby("data")["seconds"].min()
    lucky = chains[(chains["seed"] == 0) & (chains["schedule"] == "a")].set_index("data")["seconds"] / first
    assert np.log(lucky).mean() > 1.0
    slow = chains.assign(seconds=np.where(chains["schedule"] == "a", 5, 1) * chains["seconds"])
    assert abs(np.log(script.losses(slow, "a")["times"] / 5).mean()) < 0.35


def test_the_table_of_every_sampler_follows_from_its_chains() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert script.beside_table(pd.read_csv(KEPT.with_name("choice-all.csv.gz")), "5 sams") in page


def test_times_beside_those_of_one_schedule() -> None:
    rows = [
        ["real", "irm", f"set {of_set}", name, "one", seed, factor * (1 + of_set), 99.0, 60 / factor, 1.0]
        for of_set in range(5)
        for name, factor in (("a", 1.0), ("b", 2.0))
        for seed in range(3)
    ]
    rows += [["real", "irm", "set 0", "c", "one", 0, np.inf, 99.0, 0.0, 1.0]]
    lines = script.beside_table(pd.DataFrame(rows, columns=script.FIELDS), "a").splitlines()
    assert lines[2:] == [
        "| `a` | 5 | 1.00 [1.00, 1.00] | 1.00 [1.00, 1.00] | 0% |",
        "| `b` | 5 | 2.00 [2.00, 2.00] | 0.50 [0.50, 0.50] | 0% |",
        "| `c` | 1 | - | - | 100% |",
    ]
