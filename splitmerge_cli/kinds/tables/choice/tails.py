"""Whether clusters have normal tails or heavier ones, by the leave-one-out density of rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from splitmerge_cli.config import Component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.cluster_table import count_of
from splitmerge_cli.fits.candidates import MIXED, Candidates, Fits, compare, find_problem, rank
from splitmerge_cli.kinds.tables.support import has_steps

TAILS = ("normal", "t")
"""The simpler first."""


def compare_tails(
    model: Component, dataset: Dataset, fits: Fits, later: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Leave-one-out log predictive density of rows with normal tails and with Student's t; `later` as in
    `covariances`.

    A row for each, first the one that is taken (`candidates.rank`): tails, log_density, difference, standard_error,
    clusters, few_draws and seconds. Where the data allow normal tails alone there are no numbers. Heavier tails than
    the data have cost time, since the degrees of freedom follow the data; tails that are too light add clusters.
    """
    compared: Candidates = {}
    by_cell = model.name == MIXED and model.values.get("covariance") == "diag"
    problem = find_problem(model, dataset, tails="t", **(later or {})) if dataset.N > 1 else "one row"
    if model.values.get("resolution") == "auto" and not by_cell and not problem and has_steps(dataset):
        problem = "columns are recorded in coarse steps"
    if not problem:
        compared = {tails: ({**model.as_typed, "tails": tails}, dataset) for tails in TAILS}
    table = rank("tails", *compare("tails", compared, fits, {}, TAILS), TAILS)
    table.attrs["problem"] = problem.removeprefix("model.tails=t: ").split("; expected")[0]
    return table


def format_tails(table: pd.DataFrame) -> str:
    """Describe the chosen tails, and how far the others are ahead or behind."""
    chosen = table["tails"][0]
    difference, error = (float(table[name][1]) for name in ("difference", "standard_error"))
    if np.isnan(difference):
        return f"model.tails=auto: {chosen}, since t is not possible: {table.attrs['problem']}"
    side = f"{table['tails'][1]} is {abs(difference):.3f} nats a row {'behind' if difference > 0 else 'ahead'}"
    fewer, more = table["clusters"]
    why = f", with {count_of(round(fewer), 'cluster')} instead of {more:.0f}" if difference < 0 else ""
    return f"model.tails=auto: {chosen}{why}; {side} (s.e. {error:.3f})"
