"""What a run of a table finds in addition to its clusters: an outcome in each, and a model that may fit better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from splitmerge_cli.diagnostics.point_estimate import evenly_spaced
from splitmerge_cli.runs.answers import Answers
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.grouping import join_apart
from splitmerge_cli.runs.quantities import TIE
from splitmerge_cli.runs.store.schema import APART

if TYPE_CHECKING:
    from splitmerge_cli.config import RunSpecification
    from splitmerge_cli.runs.plan import Plan
    from splitmerge_cli.runs.recorders import Late
    from splitmerge_cli.runs.store.store import RunStore

MOST_DRAWS = 1_000
"""Draws over which effects are averaged."""
MOST_NAMED = 10
"""Rows of noise that are named."""
MOST_TERMS = 3
"""Effects of a cluster that a line has."""


class ColumnAnswers(Answers):
    """The answers of tables, whose clusters are described by columns."""

    apart = "noise"

    @staticmethod
    def leave_apart(plan: "Plan", late: Mapping[int, "Late"]) -> Mapping[int, "Late"]:
        """Rows of clusters that are probably noise (``model.noise``), given the rows and the scales of a draw."""
        if not plan.spec.model.as_typed.get("noise"):
            return late
        model = plan.spec.model.target.from_data(plan.dataset, **plan.spec.model.options)
        marked = {}
        for chain, rows in late.items():
            apart = np.zeros(rows.labels.shape, dtype=bool)
            for m, labels in enumerate(rows.labels):
                if rows.parameters is not None:
                    model.set_parameters(rows.parameters[m])
                model.set_labels(labels)
                apart[m] = (model.noise_probabilities > 0.5)[labels]
            marked[chain] = replace(rows, labels=join_apart(rows.labels, apart), apart=apart)
        return marked

    @staticmethod
    def write(
        plan: "Plan", store: "RunStore", labels: ArrayLike, late: Mapping[int, "Late"], certainty: ArrayLike | None
    ) -> dict[str, Any]:
        """Effects of the clusters on the outcome, over late draws of all chains."""
        if plan.spec.model.as_typed.get("outcome") is None:
            return {}
        from splitmerge_cli.kinds.tables.outcomes import find_effects

        states = [
            State(rows.labels[m], 0, {}, None if rows.parameters is None else rows.parameters[m])
            for rows in late.values()
            for m in evenly_spaced(len(rows.labels), MOST_DRAWS // len(late))
        ]
        return {"outcome": find_effects(plan.spec.model, plan.dataset, states, np.asarray(labels), plan.spec.seed)}

    @staticmethod
    def further_lines(summary: Mapping[str, Any], first: int, most_clusters: int | None = None) -> Iterator[str]:
        """Describe the noise, and the outcome in each cluster of a run, a line for each."""
        if (noise := summary.get(APART)) and noise["clusters"]:
            mean, low, high = (f"{100 * value:.0f}" for value in noise["share"])
            rows = 1 + np.flatnonzero(np.isin(summary["point_estimate"]["labels"], noise["clusters"]))
            more = f" and {len(rows) - MOST_NAMED:,} more" * (len(rows) > MOST_NAMED)
            yield (
                f"noise, {mean} % of the rows (95 %: {low} to {high} %), spread evenly over the box of the data: rows "
                f"{', '.join(map(str, rows[:MOST_NAMED]))}{more}"
            )
        if (found := summary.get("outcome")) is None:
            return
        by_cluster: dict[int, list[list[Any]]] = {}
        for row in found["rows"]:
            by_cluster.setdefault(row[0], []).append(row)
        kind = "coefficients of a probit regression, " if found["latent"] else ""
        scale = f" ({found['scale']})" if found.get("scale") else ""
        yield f"{found['outcome']}{scale} within clusters ({kind}mean and 95 % interval):"
        for k in list(by_cluster)[:most_clusters]:
            rows = by_cluster[k]
            shown = [
                f"{term} {_digits(mean)} ({_digits(low)} to {_digits(high)})"
                for _, term, mean, low, high in rows[: MOST_TERMS + 1]
            ]
            more = f"; and {len(rows) - MOST_TERMS - 1} more" if len(rows) > MOST_TERMS + 1 else ""
            yield f"  {k + first}: {'; '.join(shown)}{more}"

    @staticmethod
    def another_model(
        unlike: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any], spec: "RunSpecification"
    ) -> tuple[str, dict[str, Any]] | None:
        """An effect, or a covariance, where the farthest quantity is a tie between columns within clusters."""
        farthest = next(iter(unlike), {})
        tied = str(farthest.get("subject")).split(" and ") if str(farthest.get("quantity")).endswith(TIE) else []
        of_model = spec.values["model"]
        if farthest.get("of_reals") and (outcome := of_model.get("outcome")) in tied:
            effects = [*(of_model.get("effects") or ()), *(name for name in tied if name != outcome)]
            why = "an effect on the outcome describes a column that goes with it within clusters:"
            return why, {"model.effects": effects}
        # a covariance that was compared was left for a reason
        is_independent = of_model.get("covariance") in ("diag", "iso")
        if farthest.get("of_reals") and is_independent and "model.covariance" not in chosen:
            return "a covariance for each cluster describes columns that go together:", {"model.covariance": "full"}
        types = dict(spec.data.values.get("types") or {})
        if tied and all(types.get(name) == "ordinal" for name in tied):
            reals = {name: "real" if one == "ordinal" else one for name, one in types.items()}
            scales = {key: "hierarchical" for key in ("model.b0", "model.kappa0") if key not in spec.given_keys.keys}
            why = "questions that go together within clusters, read as real numbers with a covariance for each cluster:"
            return why, {"data.types": reals, "model.covariance": "full", "init": None, **scales}
        return None


def _digits(value: float) -> str:
    """Three digits of a number, all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
