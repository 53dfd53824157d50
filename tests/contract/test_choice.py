"""The loss by not knowing the best sampler: the tables of the page follow from the chains that are kept."""

import importlib.util
from pathlib import Path

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


def test_the_table_of_every_sampler_follows_from_its_chains() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert script.beside_table(pd.read_csv(KEPT.with_name("choice-all.csv.gz")), "5 sams") in page
