"""Where chains of a table start: from clusters of independent columns if a covariance has many."""

from splitmerge_cli.config import Component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.candidates import count_reals
from splitmerge_cli.runs.starts import LARGE, Start

WIDE = 5
"""Real columns from which a table starts from clusters of independent columns, unless the user names an initial state:
the tables with fewer at hand converge from random clusters (docs/decisions/0047-simpler-starts.md)."""


class TableStart(Start):
    """The initial state of a run on a table: from clusters of independent columns, where each has a covariance."""

    @staticmethod
    def simplify(model: Component) -> Component | None:
        return model.with_options(covariance="diag") if model.options.get("covariance") == "full" else None

    def why_simpler(self, dataset: Dataset) -> str | None:
        if (columns := count_reals(dataset)) < WIDE or dataset.N >= LARGE:
            return None
        usual = "init=random: as tables with fewer columns do"
        return f"a covariance of {columns} columns hardly lets clusters split ({usual})"
