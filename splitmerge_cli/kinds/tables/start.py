"""Where chains of a table start: from clusters of independent columns if a covariance has many, and as categories.

Chains of a table of many answers in their order cost ten times as much as chains that read them as categories, and a
chain from random clusters stays in one of many modes. A chain of categories leaves these, so it comes first.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from splitmerge_cli.config import Component, RunSpecification
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.candidates import count_reals
from splitmerge_cli.kinds.tables import ANSWER
from splitmerge_cli.runs import identity, starts
from splitmerge_cli.runs.initial import build_model, build_starting_chain, initial_labels, load_dataset, set_labels
from splitmerge_cli.runs.starts import LARGE, RowStart

WIDE = 5
"""Real columns from which a table starts from clusters of independent columns, unless the user names an initial state:
the tables with fewer at hand converge from random clusters (docs/decisions/0047-simpler-starts.md)."""
ANSWERS = 5
"""Ordinal columns from which a table starts as categories, unless the user names an initial state."""
SCANS = 200
"""Iterations of the chain of categories."""
FAR, FAR_AFTER = 5.0, 1_500
"""Classical R-hat from which chains are so far apart that they end after so many iterations: no stored run of a table
that had it then converged later (docs/decisions/0038-enough.md)."""

APART_SHARE = 4
"""Chains that lie apart end after one in so many of the iterations that they make at most
(docs/decisions/0038-enough.md)."""


class TableStart(RowStart):
    """The initial state of a run on a table: from clusters of independent columns, where each has a covariance; as
    categories, where many columns are answers in their order."""

    trials = 16, 25
    """Twice as many trials as of other data, and shorter: they find as much, and cost less of rows that cost much."""

    @staticmethod
    def simplify(model: Component) -> Component | None:
        return model.with_options(covariance="diag") if model.options.get("covariance") == "full" else None

    def why_simpler(self, dataset: Dataset) -> str | None:
        if (columns := count_reals(dataset)) < WIDE or dataset.N >= LARGE:
            return None
        usual = "init=random: as tables with fewer columns do"
        return f"a covariance of {columns} columns hardly lets clusters split ({usual})"

    def choose_by_size(self, say: Callable[[str], None]) -> RunSpecification:
        chosen, spec = super().choose_by_size(say), self.spec
        if chosen is not spec or self.is_named or not self._has_answers() or identity.finished_run(spec) is not None:
            return chosen
        say(
            f"init={starts.CATEGORIES}, because no initial state is named and {ANSWERS} columns or more are ordinal: "
            "each chain starts from the clusters of a short one that reads them as categories (init=random: as other "
            "tables do)"
        )
        return self.with_(init=starts.CATEGORIES)

    def _has_answers(self) -> bool:
        """Whether a table has many ordinal columns, by its configuration or by the table itself if it is loaded."""
        data = self.data
        if sum(one == "ordinal" for one in dict(data.values.get("types") or {}).values()) >= ANSWERS:
            return True
        return data.name == "given" and load_dataset(data, self.model.kind, {}).count_columns("ordinal") >= ANSWERS

    def apart_after(self, dataset: Dataset, iterations: int, distance: float) -> int | None:
        """Fewer where most columns are ordinal, as each iteration takes longer, where the modes are far apart, and
        where chains make few iterations."""
        after = super().apart_after(dataset, iterations, distance)
        is_of_answers = 0 < len(dataset.types or ()) <= 2 * dataset.count_columns("ordinal")
        if after is None:
            return None
        if is_of_answers:
            after = starts.APART_AFTER // ANSWER
        return min(after, iterations // APART_SHARE, FAR_AFTER if distance >= FAR else after)

    def start_as_categories(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        """Put rows into the clusters of a short chain, from random ones, that reads ordinal columns as categories."""
        if not dataset.count_columns("ordinal"):
            super().start_as_categories(model, dataset, rng)
        types = tuple(replace(one, type="categorical") if one.type == "ordinal" else one for one in dataset.types or ())
        short = build_model(self.model.with_options(cuts=None), replace(dataset, types=types))
        generator = np.random.Generator(rng.bit_generator)
        set_labels(short, *initial_labels(short, dataset, "random", self.K0, generator))
        short.start_parameters(rng)
        build_starting_chain(self.spec, short, rng, thin=SCANS).advance(SCANS)
        model.set_labels(short.labels)
