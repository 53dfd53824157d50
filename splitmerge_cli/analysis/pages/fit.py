"""The section "Does the model fit?" of a run's page."""

import math
from collections.abc import Iterator
from typing import Any

from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.pages.html import Markup, element, paragraph, short_number, table
from splitmerge_cli.config import ConfigError
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import checks
from splitmerge_cli.runs.draws import recorded_partitions, states_of
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run
from splitmerge_cli.runs.stored import dataset_of, specification_of

MOST_CHECKS = 16
"""Quantities that are listed, those first in which the data are least like the model's."""


def sections_of_fit(run: Run) -> Iterator[Markup]:
    """Compare the data of a run with data that its model makes."""
    model = specification_of(run).model
    try:
        dataset = dataset_of(run)
        if why := checks.explain_unchecked(model, dataset):
            fit = checks.Fit([], [why])
        else:
            recorded = recorded_partitions(run)
            fit = checks.check_fit(model, dataset, states_of(run, checks.DRAWS, recorded) if len(recorded) else [])
    except (ConfigError, DataError) as error:
        yield paragraph(f"Not checked, because the data could not be loaded again: {error}")
        return
    if fit.checks:
        yield from _checks(fit, judgement_of(run).converged is False)
    if fit.unchecked:
        yield paragraph("Not checked here:")
        yield html.items(fit.unchecked)


def _checks(fit: checks.Fit, apart: bool) -> Iterator[Markup]:
    # what the data do not show is not alike
    measured = [each for each in fit.checks if not math.isnan(each.observed)]
    ties = [each for each in measured if each.quantity.startswith("residual dependence")]
    alone = [each for each in measured if not each.quantity.startswith("residual dependence")]
    unlike = [each for each in alone if each.is_unlike]
    tied = [each for each in ties if each.is_unlike and each.observed > each.high]
    yield paragraph(
        f"{fit.draws} data sets were drawn from the model, each with the parameters and in the clusters of a draw from "
        "the posterior. If the data differ from nearly all of these in a quantity, the model does not describe that "
        "quantity." + " The draws come from all chains, which have not converged." * apart
    )
    parts = []
    if unlike:
        parts.append(f"{len(unlike)} of {len(alone):,} quantities")
    if tied:
        parts.append(f"the ties of {len(tied):,} of {len(ties):,} pairs of columns")
    # a dependence is tested on one side
    chance = checks.EXTREME * (len(alone) + len(ties) / 2)
    if not parts:
        yield paragraph("The data do not differ from the model in any checked quantity.", "strong yes")
    elif len(unlike) + len(tied) <= chance:
        sentence = f"The data differ from what the model makes in {' and in '.join(parts)}, no more than by chance"
        yield paragraph(
            f"{sentence}: about {chance:.0f} of the quantities would differ in the model's own data.", "strong yes"
        )
    else:
        yield paragraph(f"The data differ from what the model makes in {' and in '.join(parts)}.", "strong no")
    heads = ["data", "model: median", "model: 95 %", "alike"]
    if alone:
        # those farthest off first
        alone.sort(key=lambda each: (each.share, -abs(each.observed - each.median) / max(each.high - each.low, 1e-300)))
        shown = alone[:MOST_CHECKS]
        rows = [_check_row(each) for each in shown]
        yield table(["quantity", *heads], rows, "Single quantities", [1, 2, 3], "wide first")
        if len(alone) > len(shown):
            more = sum(each.is_unlike for each in alone[len(shown) :])
            differ = f"{more or 'none'} of them differ{'s' * (more == 1)}"
            yield paragraph(f"{len(alone) - len(shown):,} more quantities; {differ}.")
    if ties:
        ties.sort(key=lambda each: each.high - each.observed)
        caption = (
            "Pairs of columns, the largest excess of the dependence over the model's first: square root of "
            "the sum of squared correlations of their residuals."
        )
        rows = [_check_row(each) for each in ties[: checks.TIES]]
        yield table(["residual dependence of", *heads], rows, caption, [1, 2, 3], "wide first")


def _check_row(each: Any) -> list[object]:
    alike = element("span", "no" if each.is_unlike else "yes", "v no" if each.is_unlike else "v yes")
    observed, median, low, high = map(short_number, (each.observed, each.median, each.low, each.high))
    tie = each.quantity.startswith("residual dependence")
    return [each.subject if tie else f"{each.subject}: {each.quantity}", observed, median, f"{low} to {high}", alike]
