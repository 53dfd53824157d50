"""Compare covariances, and readings of whole numbers, by leave-one-out densities: which predicts a row best from the
others?

Each candidate is fitted once to all rows (`splitmerge_cli.analysis.alternatives`), by short chains first; what is far
behind after these is dropped, and the others are fitted by longer ones. Under a power of the likelihood, where one fit
does not give these densities, rows of five folds are held out.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.analysis.alternatives import UNRELIABLE, LeaveOneOut
from splitmerge_cli.config import Component, ConfigError, choice, class_of, classes, read_component
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.tables.repeats import draw_rows, folds, keep_together
from splitmerge_cli.data.tables.table import list_names
from splitmerge_cli.data.values import digest_of
from splitmerge_cli.diagnostics.cluster_table import count_of
from splitmerge_cli.fits.objects import MIXED, ORDERED, READINGS, log_totals
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import draws, initial

ROUNDS = (100, 400)
"""Iterations of each chain in the first fit of a candidate, and in the second."""
WORK = 500_000_000
"""Approximate operations in the scans of a fit. If more are needed, its chains are shorter, down to `FEWEST`
iterations."""
FEWEST = 20
COSTLY = 100_000_000
"""Operations of a first fit from which on candidates are compared after `SOON` iterations, too."""
SOON, FAR = 25, 20.0
"""Iterations of the first look, and the standard errors behind the best at which it drops a candidate. In the
comparisons of 74 tables no difference above 10 errors had another sign after 100 iterations."""
ANSWER = 200
"""Operations that take as long as a scan of an ordinal cell, or of an overdispersed count."""
DRAWS = 80
"""Draws of a fit that are averaged, at most; of a first fit half as many."""
BEHIND = 4.0
"""A candidate so many standard errors behind the best is dropped after the first fit."""
CHANGE = 3.0
"""Standard errors by which a longer fit changes a difference at most: what needs more is not fitted again."""
ALIKE = 0.003
"""A harder candidate behind by less, in nats a row, is not fitted again: it does not matter which one is taken."""
FEW_DRAWS = 0.1
"""Share of the rows whose densities rest on few draws (`UNRELIABLE`) beyond which one standard error is not enough."""
DOUBTED = 1.5
"""Standard errors that are then required (docs/decisions/0037-leave-one-out.md)."""
FOLDS = 5
MOST_ROWS = 1_000
MOST_JOINT = 20_000_000_000
"""Operations in `FEWEST` iterations beyond which no full covariance is tried: as many as 1,000 rows with 99
columns take. With 256 columns they are sixteen times as many, and a fit had not ended after 280 s."""
COVARIANCES = ("iso", "diag", "full")
"""The simplest first."""
SCALES = {"b0": "hierarchical", "kappa0": "hierarchical"}
"""Options that ``model=auto`` takes for dense points."""
TOGETHER, ALONE = "among the others", "apart"
FORMS_OF_ZEROS: Mapping[str, Mapping[str, str]] = {TOGETHER: {}, ALONE: {"zeros": "apart"}}
"""Options of a model, by what they do with numbers that many cells of a real column hold."""
AS_THEY_ARE, RESCALED = "as they are", "on a scale of their own"
"""Readings of skewed columns."""
LASTING = 0.5
"""Processor seconds from which on a fit is stored, in case the choice is interrupted."""
AHEAD = 4.0
"""Standard errors by which scales must be ahead to be chosen: a reading that is harder to explain needs more."""


Sample = Callable[..., Callable[[Dataset], Any]]
"""Makes a `Posterior` of a model, its name among its options, by so many iterations of a chain; then of a data set."""
Candidates = Mapping[str, tuple[Mapping[str, Any], Dataset]]
"""By name, the options of a model, and the data as it reads them."""


@dataclass
class Fits:
    """Densities of rows under candidates, each of which is fitted once, whichever comparison asks for it. `seed` draws
    the rows that are compared; `say` receives a line for each fit, and for each candidate that is dropped; `made` are
    densities by options, digest of the rows, and iterations; `store` is called after each fit that is `LASTING`."""

    sample: Sample
    seed: int = 0
    say: Callable[[str], None] = field(default=lambda line: None)
    made: dict[tuple[str, str, int], LeaveOneOut] = field(default_factory=dict, repr=False)
    store: Callable[[], None] = field(default=lambda: None, repr=False)

    def choose_rows(self, readings: Iterable[Dataset]) -> NDArray[np.int64]:
        """Draw rows to compare, of whole items. Rows that are copies in one of the `readings` count once."""
        drawn = [(dataset, draw_rows(dataset, self.seed, MOST_ROWS)) for dataset in readings]
        groups = min((keep_together(*each) for each in drawn), key=len, default=())
        has_items = bool(drawn) and drawn[0][0].items is not None
        return np.sort(np.concatenate(groups) if has_items else [group[0] for group in groups])

    def leave_out(
        self, options: Mapping[str, Any], dataset: Dataset, rows: NDArray[np.int64], iterations: int
    ) -> LeaveOneOut:
        """Log density of each row given the others; with a power, of rows in folds, which keep copies together."""
        if _has_power(options, dataset):
            chosen, density = draw_rows(dataset, self.seed, MOST_ROWS), np.full(dataset.N, np.nan)
            sample_rows = self.sample(options)
            for held in map(np.sort, folds(dataset, chosen, FOLDS)):
                posterior = sample_rows(dataset.take(np.setdiff1d(chosen, held)))
                # under a power the rows of an item have no joint density
                alone = replace(dataset.take(held), bundles=None)
                density[held] = posterior.log_predictive(alone, states=draws.FIRST_STATES)
            if dataset.counts is not None:
                density *= dataset.counts
            return LeaveOneOut(density[np.sort(chosen)], np.full(len(chosen), -np.inf))
        part = dataset.take(rows)
        known = repr(sorted(model_of(options).values.items())), digest_of(part), iterations
        if known not in self.made:
            states, began = min(DRAWS, max(FEWEST, 2 * iterations // 5)), time.process_time()
            left_out = self.sample(options, iterations)(part).leave_one_out(states=states)
            if model_of(options).target.HAS_GIVEN_TOTALS:
                totals = part.sum_by_item(log_totals(part.values.sum(axis=1)))
                left_out = replace(left_out, log_density=left_out.log_density + totals)
            self.made[known] = left_out
            if time.process_time() - began > LASTING:
                self.store()
        return self.made[known]


def covariances(model: Component, dataset: Dataset, fits: Fits, later: Mapping[str, Any] | None = None) -> "Ranking":
    """Leave-one-out log predictive density of rows, two at least, under each covariance that the model has; `later`
    are options that the data are to allow, too, with the covariance.

    A row for each covariance, first the one that is taken, as `rank` has them, and the problem why the points do not
    allow it. Where one alone is allowed it has no numbers. Raises a `ConfigError` if none is.
    """
    if dataset.N < 2:
        raise ConfigError("model.covariance=auto: 1 row; expected at least two, to hold one out")
    # with one column all covariances are one model
    own = next((one.choices for one in model.target.OPTIONS if one.name == "covariance"), ())
    candidates = [one for one in COVARIANCES if one in own] if count_reals(dataset) > 1 else ["diag"]
    problems = {
        covariance: find_problem(model, dataset, covariance=covariance, **(later or {})) for covariance in candidates
    }
    if "full" in problems and len(problems) > 1:
        problems["full"] = problems["full"] or _find_width(dataset, model.as_typed)
    allowed = [covariance for covariance, problem in problems.items() if not problem]
    compared = {name: ({**model.as_typed, "covariance": name}, dataset) for name in allowed} if len(allowed) > 1 else {}
    density_by_covariance, facts = compare("covariance", compared, fits, problems, candidates)
    if all(problems.values()):
        reasons = "; ".join(f"{covariance}: {problem}" for covariance, problem in problems.items())
        raise ConfigError(f"model.covariance=auto: no covariance fits these points; {reasons}")
    table = rank("covariance", density_by_covariance, facts, candidates)
    table["problem"] = [problems[covariance] for covariance in table["covariance"]]
    return table


def compare(
    option: str,
    candidates: Candidates,
    fits: Fits,
    problems: dict[str, str],
    simplest: Sequence[str],
    errors: float = 1.0,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, dict[str, float]]]:
    """Leave-one-out log densities of the rows under each candidate; share of rows that rest on few draws, and seconds.

    `problems` receives the reason why a candidate has no densities. A candidate is fitted again only if that can change
    which one `rank` takes with the same `simplest` and `errors`: not if it is far behind, nor if `rank` would take it
    after the one that would be taken and it is not nearly so many errors ahead.
    """
    density_by_name: dict[str, NDArray[np.float64]] = {}
    facts = {name: {"clusters": math.nan, "few_draws": 0.0, "seconds": 0.0} for name in candidates}
    remaining = list(candidates)
    rows = fits.choose_rows({id(dataset): dataset for _, dataset in candidates.values()}.values())
    is_costly = any(_count_operations(*candidate) * ROUNDS[0] > COSTLY for candidate in candidates.values())
    for iterations_at_most in (SOON, *ROUNDS) if is_costly else ROUNDS:
        ahead, far = "", FAR if iterations_at_most == SOON else BEHIND
        for name in list(remaining):
            options, dataset = candidates[name]
            began, most = time.process_time(), iterations_at_most
            # fewer where a scan of the rows takes long
            iterations = int(np.clip(WORK // _count_operations(options, dataset), min(FEWEST, most), most))
            try:
                left_out = fits.leave_out(options, dataset, rows, iterations)
            except (ConfigError, DataError) as error:
                problems[name] = str(error)
                remaining.remove(name)
            else:
                again = ", fitted longer" if name in density_by_name else ""
                density_by_name[name] = left_out.log_density
                facts[name]["few_draws"] = float((left_out.shape > UNRELIABLE).mean())
                facts[name]["clusters"] = left_out.n_clusters
                described = f"{left_out.log_density.mean():.3f} nats a row"
                if ahead:
                    difference, spread = _difference(left_out.log_density - density_by_name[ahead])
                    side = "ahead" if difference > 0 else "behind"
                    described += f", {abs(difference):.3f} {side} (s.e. {spread:.3f})"
                fits.say(f"{option} {name}{again}: {described}")
                ahead = max(ahead or name, name, key=lambda one: density_by_name[one].mean())
            facts[name]["seconds"] += time.process_time() - began
        near = [name for name in remaining if not _is_behind(density_by_name[ahead] - density_by_name[name], errors)]
        order = sorted(remaining, key=_first_taken(density_by_name, facts, simplest, errors))
        taken = next((name for name in order if name in near), ahead)
        harder = order[order.index(taken) + 1 :] if taken and iterations_at_most != SOON else ()
        for name in list(remaining):
            if _is_behind(density_by_name[ahead] - density_by_name[name], far):
                fits.say(f"{option} {name}: dropped, more than {far:g} standard errors behind")
            elif name in harder and (
                # a longer fit can hardly put it so many standard errors ahead, or by little only
                _is_behind(behind := density_by_name[taken] - density_by_name[name], CHANGE - errors)
                or 0.0 <= behind.mean() < ALIKE
            ):
                fits.say(f"{option} {name}: dropped, not clearly ahead of {taken}")
            else:
                continue
            remaining.remove(name)
        if len(remaining) < 2 or _has_power(*candidates[ahead]):
            break
    return {name: density for name, density in density_by_name.items() if not problems.get(name)}, facts


def _difference(by_row: NDArray[np.float64]) -> tuple[float, float]:
    """Mean difference of log densities, and its standard error, rows taken as independent."""
    return float(by_row.mean()), float(by_row.std() / np.sqrt(len(by_row)))


def _is_behind(by_row: NDArray[np.float64], errors: float) -> bool:
    """Whether the mean difference from the best exceeds so many standard errors."""
    mean, error = _difference(by_row)
    return mean > errors * error


def rank(
    option: str,
    density_by_name: Mapping[str, NDArray[np.float64]],
    facts: Mapping[str, Mapping[str, float]],
    simplest: Sequence[str],
    errors: float = 1.0,
) -> "Ranking":
    """A row for each candidate, first the one that is taken: of those that are behind the best by no more than so many
    standard errors of the difference (`DOUBTED` where densities rest on few draws) the one with the fewest clusters,
    of as many the one with the best density. Where these numbers are not known, or a reading that is harder to explain
    has to be `AHEAD`, it is the simplest.
    """
    names = sorted(density_by_name, key=lambda name: -density_by_name[name].mean())
    close = [name for name in names if not _is_behind(density_by_name[names[0]] - density_by_name[name], BEHIND)]
    few_draws = max((facts[name]["few_draws"] for name in close), default=0.0) if len(close) > 1 else 0.0
    errors = max(errors, DOUBTED) if few_draws > FEW_DRAWS else errors
    near = [name for name in names if not _is_behind(density_by_name[names[0]] - density_by_name[name], errors)]
    chosen = [min(near, key=_first_taken(density_by_name, facts, simplest, errors))] if near else []
    order = [
        *chosen,
        *(name for name in names if name not in chosen),
        *(name for name in simplest if name not in density_by_name),
    ]
    off = {name: _difference(density_by_name[order[0]] - density_by_name[name]) for name in names}
    table = Ranking({option: order}, {"errors": errors, "few_draws": few_draws})
    table["log_density"] = [float(density_by_name[name].mean()) if name in off else math.nan for name in order]
    for j, column in enumerate(("difference", "standard_error")):
        table[column] = [off[name][j] if name in off else math.nan for name in order]
    for column in ("clusters", "few_draws", "seconds"):
        table[column] = [float(facts[name][column]) if name in off else math.nan for name in order]
    return table


class Ranking(dict[str, list[Any]]):
    """Candidates, first the one that is taken: columns by name; `attrs`: how they were judged, and a problem."""

    def __init__(self, columns: Mapping[str, list[Any]], attrs: dict[str, Any]) -> None:
        super().__init__(columns)
        self.attrs = attrs


def _first_taken(
    density_by_name: Mapping[str, NDArray[np.float64]],
    facts: Mapping[str, Mapping[str, float]],
    simplest: Sequence[str],
    errors: float,
) -> Callable[[str], tuple[float, float]]:
    """The key by which candidates that predict rows equally well are taken, as `rank` says."""
    if errors > DOUBTED or any(math.isnan(facts[name]["clusters"]) for name in density_by_name):
        return lambda name: (simplest.index(name), 0.0)
    return lambda name: (facts[name]["clusters"], -float(density_by_name[name].mean()))


def scales_for(dataset: Dataset, options: Mapping[str, Any]) -> dict[str, str]:
    """Priors of scales that ``model=auto`` resamples; none where the kind of the data has its reasons."""
    return SCALES if dataset.kind.resamples_scales(dataset, options) else {}


def _has_power(options: Mapping[str, Any], dataset: Dataset) -> bool:
    return dataset.unit != 1.0 or float(options.get("power", 1.0)) != 1.0


def compare_readings(
    option: str,
    options: Mapping[str, Any],
    readings: Mapping[str, Dataset],
    fits: Fits,
    say: Callable[[str], None],
    vectors: Dataset | None = None,
    forms: Mapping[str, Mapping[str, Any]] | None = None,
) -> "Ranking":
    """Leave-one-out log probability of rows whose whole numbers are read in several ways, ``ratings`` or ``counts``:
    a row for each reading, the chosen one first, as of `covariances`. `say` receives the choice and its reason.

    `options` of `mixed` are in addition to the covariance, which is full if there are two real columns. `vectors` are
    the rows for the models of `of_given_totals`, with which totals have one negative binomial distribution
    (`log_totals`). `forms` are further options, by the name of a reading, a comma, and what they add.
    """
    candidates = {}
    rows = max(dataset.N for dataset in readings.values())
    for name, dataset in readings.items():
        if rows > dataset.N:
            fits.say(f"{option} {name}: left out, because {rows - dataset.N:,} repeated rows would be read once")
            continue
        options_given = {"name": MIXED} | (scales_for(dataset, options) if count_reals(dataset) else {}) | dict(options)
        candidates[name] = (_jointly(options_given, dataset), dataset)
        for form, more in (forms or {}).items():
            if form.partition(",")[0] == name:
                candidates[form] = (_jointly({**options_given, **more}, dataset), dataset)
    if vectors is not None:
        candidates |= {name: ({"name": name}, vectors) for name in of_given_totals()}
    problems: dict[str, str] = {}
    simplest = sorted(candidates, key=lambda name: _count_parameters(*candidates[name]))
    density_by_reading, facts = compare(option, candidates, fits, problems, simplest)
    if problems:
        raise ConfigError("; ".join(f"{name}: {problem}" for name, problem in problems.items()))
    table = rank(option, density_by_reading, facts, simplest)
    chosen, types = table[option][0], "|".join(READINGS[option][name] for name in readings)
    how = f"data.types={{NAME:{types}}} changes how a column is read"
    named, why = f"{option} ", _describe_choice(table, option, "probability")
    first, *others = (
        {name: one.type for name, one in zip(d.column_names, d.types or (), strict=False)} for d in readings.values()
    )
    differing = [name for name, type in first.items() if any(types.get(name, type) != type for types in others)]
    if chosen in of_given_totals():
        named, how = "model=", "the totals of rows have one negative binomial distribution"
    elif differing:
        named = f"{option} ({list_names(differing)}) "
    say(f"{named}{chosen}, {why}\n{how}")
    return table


def compare_zeros(options: Mapping[str, Any], table: Dataset, fits: Fits) -> "Ranking":
    """Compare forms of a number that many cells of a real column hold, among the others or with a probability of its
    own, in a table without counts, by leave-one-out log predictive densities of rows: as of `covariances`."""
    options_given = {"name": MIXED} | scales_for(table, options) | dict(options)
    candidates = {name: (_jointly({**options_given, **more}, table), table) for name, more in FORMS_OF_ZEROS.items()}
    return rank("zeros", *compare("zeros", candidates, fits, {}, [*candidates]), [*candidates])


def format_zeros(table: "Ranking", spikes: str) -> str:
    """Describe whether these spikes have a probability of their own, and why."""
    way = "model=mixed model.zeros=apart" if table["zeros"][0] == ALONE else "as other numbers"
    return f"{spikes}: {way}, {_describe_choice(table, 'zeros', 'density')}"


def compare_scales(options: Mapping[str, Any], as_they_are: Dataset, rescaled: Dataset, fits: Fits) -> "Ranking":
    """Leave-one-out log predictive density of rows, in the units of the data, with columns as they are and on scales of
    their own: a row for each, as of `covariances`, first the one that is taken (`RESCALED` if it is ahead by more than
    `AHEAD` standard errors). Without a covariance among the `options` it is full where the points allow it.
    """
    options_given = _jointly(options, as_they_are)
    candidates = {AS_THEY_ARE: (options_given, as_they_are), RESCALED: (options_given, rescaled)}
    order = (AS_THEY_ARE, RESCALED), AHEAD
    return rank("columns", *compare("columns", candidates, fits, {}, *order), *order)


def _jointly(options: Mapping[str, Any], dataset: Dataset) -> Mapping[str, Any]:
    """Options with a full covariance where none is named and the real columns allow it."""
    jointly = {"covariance": "full"} | dict(options)
    is_narrow = count_reals(dataset) > 1 and not _find_width(dataset, options)
    return jointly if is_narrow and not find_problem(model_of(jointly), dataset) else options


def format_rescaled(table: "Ranking", scales: str) -> str:
    """Describe the chosen reading of skewed columns, and how far it is ahead."""
    if len(table["columns"]) < 2 or np.isnan(table["log_density"]).any():
        return f"data.scale=auto: columns {table['columns'][0]}, the only reading that the model accepts"
    difference, error = float(table["difference"][1]), float(table["standard_error"][1])
    difference_text = f"{abs(difference):.3f} nats a row {{}} (s.e. {error:.3f})"
    if table["columns"][0] == RESCALED:
        return f"data.scale=auto: {scales}, {difference_text.format('ahead')}"
    side = "behind" if difference > 0 else f"ahead, fewer than {AHEAD:g} errors"
    return f"data.scale=auto: columns {AS_THEY_ARE}; rescaled {difference_text.format(side)}"


def _count_parameters(options: Mapping[str, Any], dataset: Dataset) -> int:
    """Parameters of a cluster: what makes a reading simpler than another."""
    types, D = dataset.kind.types_of(dataset), count_reals(dataset) if dataset.types is not None else 0
    of_levels = sum(
        2 if column.type == READINGS["ratings"][ORDERED] else max(len(column.levels) - 1, 1) for column in types
    )
    return of_levels + (D * (D + 1) // 2 if options.get("covariance") == "full" else D)


def _count_operations(options: Mapping[str, Any], dataset: Dataset) -> int:
    """Estimate the operations of one scan."""
    D, columns = count_reals(dataset), dataset.values.shape[1]
    each = 5 * D**2 + D**3 if options.get("covariance") == "full" else 5 * columns
    # the other models are imported where there are such vectors alone
    is_of_totals = class_of("model", str(options["name"])).HAS_GIVEN_TOTALS
    is_overdispersed = is_of_totals and options["name"] in of_given_totals()[1:]
    each += ANSWER * (columns if is_overdispersed else dataset.count_columns("ordinal"))
    return min(dataset.N, MOST_ROWS) * max(each, 1)


def of_given_totals() -> list[str]:
    """Models for vectors of counts that take the totals of rows as given; the one of the fewest options first."""
    target_by_name = {name: target for name, target in classes("model").items() if target.HAS_GIVEN_TOTALS}
    return sorted(target_by_name, key=lambda name: len(target_by_name[name].OPTIONS))


def count_reals(dataset: Dataset) -> int:
    """Real columns of a table."""
    return int(dataset.values.shape[1]) if dataset.types is None else dataset.count_columns("real")


def model_of(options: Mapping[str, Any]) -> Component:
    """The model of a name and options."""
    name = str(options["name"])
    return read_component("model", name, choice("model", name) | dict(options))


def _find_width(dataset: Dataset, options: Mapping[str, Any]) -> str:
    """Reason why a full covariance is not tried on a data set; empty if it is."""
    D, rows, which = count_reals(dataset), dataset.N, ""
    if options.get("zeros") == FORMS_OF_ZEROS[ALONE]["zeros"] and dataset.types is not None:
        # fgl: R-hat 1.9 after 2,025 iterations with full, 1.03 with diag
        spikes = [one.spike[0] if one.spike is not None else math.nan for one in dataset.types]
        rows, which = int((dataset.values != spikes).all(axis=1).sum()), " without a spike"
    if rows < 2 * D:
        return f"a covariance matrix of {D:,} columns needs at least {2 * D:,} rows{which}; these data have {rows:,}"
    if FEWEST * _count_operations({"name": MIXED, "covariance": "full"}, dataset) > MOST_JOINT:
        way = "model.covariance=full takes it"
        return f"a covariance matrix of {D:,} columns takes long for {dataset.N:,} rows ({way})"
    return ""


def find_problem(model: Component, dataset: Dataset, **options: Any) -> str:
    """Reason why a data set does not allow a model with these options; empty if it does."""
    try:
        initial.build_model(model.with_options(**options), dataset)
    except ConfigError as error:
        return str(error)
    return ""


def as_records(table: Any) -> list[dict[str, Any]]:
    """The rows of a table, columns by name, for JSON, which has no NaN."""
    rows = zip(*(table[name] for name in table), strict=True)
    return [{name: value if value == value else None for name, value in zip(table, row, strict=True)} for row in rows]


def _describe_choice(table: "Ranking", option: str, measure: str) -> str:
    """Describe why the first row is chosen, and how far the others are from it."""
    why = f"by the leave-one-out log predictive {measure}"
    if min(table["difference"]) < 0:
        best = int(np.argmin(table["difference"]))
        fewer, more = table["clusters"][0], table["clusters"][best]
        rival = table[option][best].removeprefix("as ")
        why = f"as good as {rival} within {table.attrs['errors']:g} s.e. of the {measure}, "
        why += "and simpler" if np.isnan(fewer) else f"with {count_of(round(fewer), 'cluster')} instead of {more:.0f}"
    _, *rows = zip(table[option], table["difference"], table["standard_error"], strict=True)
    others = [
        f"{name} {abs(difference):.3f} {'ahead' if difference < 0 else 'behind'} (s.e. {error:.3f})"
        for name, difference, error in rows
    ]
    why = f"{why}: {', '.join(others)}" if others else why
    # the largest share of rows whose density is not reliable asks for more than one error
    if table.attrs["errors"] == 1.0:
        return why
    return f"{why}; up to {table.attrs['few_draws']:.0%} of the densities rest on few draws"


def format_covariances(table: "Ranking") -> str:
    """Describe the choice of `covariances`, its reason, and the ones left out."""
    problems = dict(zip(table["covariance"], table["problem"], strict=True))
    lines = [f"model.covariance={name} is left out: {problem}" for name, problem in problems.items() if problem]
    is_compared, best = ~np.isnan(table["log_density"]), table["covariance"][0]
    why = "the only one left" if lines else "because one column has one variance"
    if is_compared.any():
        compared = Ranking({name: list(compress(column, is_compared)) for name, column in table.items()}, table.attrs)
        why = _describe_choice(compared, "covariance", "density")
    return "\n".join([*lines, f"model.covariance=auto: {best}, {why}"])
