"""Resolve ``auto``: the model that reads a table as it is, and the covariance that predicts it best.

``model=auto``
    By the kind of data. A table: `bernoulli` where every column is binary, `gaussian` where every one is real, both if
    no cell is missing and their reader finds the same cells; else `mixed`. Unless named, scales come from the data,
    the covariance is chosen, more real columns than rows are read as principal components, and clusters of `gaussian`
    without a gap of density between them are joined where the draws agree (``gap=null``).
``model.covariance=auto``
    diag, iso or full (`mixed`: diag or full): of those whose log predictive density of a row given the others is within
    a standard error of the best (1.5 where densities rest on few draws), the one with the fewest clusters. Rows that
    repeat each other, as chance does not make them, are read once; 1,000 rows are drawn if there are more. A covariance
    that the points do not allow is named with the reason; of one column, and where one alone is left, nothing is
    compared.
``model.degrees=auto``
    Plain or corrected degrees of a network, and Poisson or negative binomial counts, by which merged blocks describe
    it better: `splitmerge_cli.kinds.networks.start`.
Ratings among the columns
    ``model=auto`` reads whole numbers without a gap, four levels at least, in their order, as categories or as real
    numbers, all alike, by that density.
Counts among the columns
    ``model=auto`` reads them as counts or as real numbers (with two values as categories), by the same density: a
    whole number has its probability as a count, and as a real number the mean log density over its unit interval, at
    most the log of its probability. Rows of three or more are compared as vectors of counts, too
    (`splitmerge_cli.fits.candidates.of_given_totals`).
Numbers that many cells of a real column hold
    ``model=auto`` compares `mixed` with a probability of its own for them (``zeros=apart``) and without, by the same
    density; in a table with counts each reading of these is compared with it, too.
``data.scale=auto``
    Real columns as they are, or those that are clearly skewed on scales of their own
    (`splitmerge_cli.kinds.tables.choice`): these are taken if they raise the log predictive density of a row, in
    the units of the data, by more than four standard errors. Nothing is compared where m0, b0 or resolution is a
    number: it is in the units of the columns.
``model.power=auto``
    By a calibration curve: `splitmerge_cli.kinds.tables.choice`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli import config, received
from splitmerge_cli.api.updating import Settled
from splitmerge_cli.config import ConfigError, RunSpecification, class_of, classes, specification
from splitmerge_cli.data import objects, opening, values
from splitmerge_cli.data.dataset import Dataset, Kind, get_kind, kinds
from splitmerge_cli.data.tables import mixed, scaled
from splitmerge_cli.fits import candidates
from splitmerge_cli.fits import objects as program
from splitmerge_cli.fits.candidates import MIXED, Fits
from splitmerge_cli.fits.short_fits import CHAINS, keeping, short_fits
from splitmerge_cli.kinds.tables import choice
from splitmerge_cli.runs import identity, initial
from splitmerge_cli.runs.store import manifest

AUTO = "auto"
OF_REALS = ("gaussian", MIXED)
"""Models with normal distributions of real columns."""
OF_COVARIANCE, OF_POWER, OF_TAILS, OF_SCALE = "model.covariance", "model.power", "model.tails", "data.scale"
OF_DEGREES, OF_NOISE = "model.degrees", "model.noise"
IN_UNITS = ("m0", "b0", "resolution")
"""Options of models whose numbers are in the units of the columns."""
NOT_SKEWED = f"{OF_SCALE}=auto: columns {candidates.AS_THEY_ARE}: none is clearly skewed, or priors have units"
Tell = Callable[[Dataset], None] | None  # receives a table as it is read
POWER = "power"
A_POWER = {POWER: 0.5}
"""Options with which a model is asked whether it has a power for a data set."""


def _list_candidates() -> dict[str, Any]:
    """Candidates that are compared, and which of equal ones is taken. A choice by another version that compared others,
    or took another, is made again."""
    return {
        "powers": choice.POWERS,
        "covariances": candidates.COVARIANCES,
        "tails": list(choice.TAILS),
        "noise": choice.NOISE,
        "readings": {what: list(names) for what, names in program.READINGS.items()},
        "counts_of_two_values": "categories among real numbers",
        "forms_of_counts": list(choice.FORMS_OF_COUNTS),
        "forms_of_zeros": list(candidates.FORMS_OF_ZEROS),
        # which of them are of given totals only their classes know
        "models": config.choices("model"),
        "of_equal": "fewest clusters",
    }


def options_for(model: str, dataset: Dataset, named: Mapping[str, Any]) -> dict[str, str]:
    """Options of a model that ``model=auto`` takes, of a table as it is read, where a user has named others."""
    if model not in OF_REALS or not candidates.count_reals(dataset):
        return {}
    scales = candidates.scales_for(dataset, named)
    if model == MIXED and candidates.count_reals(dataset) < 2:
        return scales
    takes_tails = not values.is_sparse(dataset.values) and (model == MIXED or not choice.has_steps(dataset))
    takes_noise = model != MIXED and not values.is_sparse(dataset.values)
    tails = ({"tails": AUTO} if takes_tails else {}) | ({"noise": AUTO} if takes_noise else {})
    return {"covariance": AUTO} | tails | scales


def model_for(dataset: Dataset) -> str:
    """The model that reads a data set as it is; a table is given as kind ``mixed``."""
    return get_kind(dataset.kind.conversion(dataset)).model


def kind_of_model(name: str) -> Kind:
    """The kind of data that a model reads."""
    return get_kind(class_of("model", name).kind)


def model_for_object(data: Any, is_table: bool = False) -> tuple[str, Any]:
    """The model that reads an object as `splitmerge_cli.data.objects.from_object` takes it: a graph, texts, or a table;
    and the data themselves, of a data frame for another model than `mixed` the columns that are data, or the texts,
    unless it `is_table` by the options that are given."""
    if isinstance(data, Dataset):
        return model_for(data), data
    for kind in kinds().values():
        if (part := kind.part_of(data)) is not None and not (is_table and part is not data):
            if part is not data:
                program.warn(f"data: column {part.name!r} alone is read, as {kind.name}", program.DataNote)
            return kind.model, part
    table = objects.from_object(data, MIXED)
    model = model_for(table)
    # of a frame the model may leave out less than is left out of a mixed table
    for kept in (data, program.columns_read(data, table)):
        with suppress(received.DataError):
            read = objects.from_object(kept, kind_of_model(model).name)
            if _are_same(read, table):
                if kept is not data:
                    program.warn_of_data(table)
                return model, kept
    return MIXED, data


def _are_same(read: Dataset, table: Dataset) -> bool:
    """Whether two readings of a table give the same cells."""
    return not values.is_sparse(read.values) and np.array_equal(read.values, table.values)


def settle(spec: RunSpecification, say: Callable[[str], None], fits: Fits | None = None, tell: Tell = None) -> Settled:
    """Choose what a run leaves to the data: the model, its covariance and power. A stored choice for the same data,
    options, sampler and seed is read from the results. `say` receives the choice by lines and tables, `tell` before
    that the table for which a model is chosen; `fits` were made of these data before."""
    if not spec.to_choose:
        return Settled(spec, None)
    compared = _describe_comparison() | _list_candidates()
    if OF_DEGREES in spec.to_choose:
        compared |= {"forms_of_edges": ["degrees", "density", "counts"]}
    file = manifest.path_of(spec.out, identity.choice_id(spec, compared))
    if spec.resume and (stored := manifest.recall(file, say)):
        changes = stored["changes"]
        say(f"{' '.join(specification.words_of(spec, changes))}, as {file} says")
        return Settled(spec.with_(changes), stored["chosen"] if spec.timing else _without_times(stored["chosen"]))
    settled = _choose(spec, say, fits, tell, file.with_suffix(".fits"))
    if not spec.timing:
        settled = settled._replace(chosen=_without_times(settled.chosen))
    if settled.chosen is not None:
        manifest.keep(file, settled.chosen, settled.spec.find_changes(spec))
    return settled


def _without_times(chosen: Any) -> Any:
    """How a run was chosen, with 0 in place of all seconds."""
    if isinstance(chosen, dict):
        return {key: 0.0 if key == "seconds" else _without_times(value) for key, value in chosen.items()}
    return [_without_times(one) for one in chosen] if isinstance(chosen, list) else chosen


@opening.read_once()
def _choose(spec: RunSpecification, say: Callable[[str], None], made: Fits | None, tell: Tell, so_far: Path) -> Settled:
    """`settle` for a run without a stored choice; `so_far` has the fits of one that was interrupted."""
    asked = spec.to_choose
    asks = OF_SCALE in asked or ("model" in asked and OF_SCALE not in spec.given_keys.keys)
    as_asked = spec
    if "model" in asked:
        spec = spec.with_(named := _choose_model(spec, tell))
        said = [specification.override(key, value) for key, value in named.items() if value != AUTO and key != "gap"]
        say(f"model={AUTO}: {' '.join(said)}")
    sampler = {key: value for key, value in spec.values["sampler"].items() if key != "_target_"}
    fits = made or short_fits(sampler, spec.seed, say, spec.progress)
    of_ratings: dict[str, Any] = {}
    with keeping(fits, so_far, again=not spec.resume) if made is None else nullcontext():
        if "model" in asked and spec.model.name == MIXED:
            spec, of_ratings = _settle_ratings(spec, say, fits)
        if "model" in asked:
            spec, of_zeros = _settle_zeros(as_asked, spec, say, fits)
            of_ratings |= of_zeros
        # choose what is left to the data when the model and the reading of ratings are known
        calibrates = OF_POWER in spec.to_choose
        if calibrates:
            model = spec.model.name
            having = [name for name, target in classes("model").items() if POWER in {o.name for o in target.OPTIONS}]
            if model not in having:
                raise ConfigError(f"{OF_POWER}={AUTO}: model={model} has no power; expected one of {', '.join(having)}")
        readings = [spec]
        if "model" in asked and spec.model.name == MIXED and (types := _types_of(spec, "counts")):
            reals = spec.with_({"data.types": types[program.REALS]})
            readings.append(reals.with_(_unnamed_options(spec, MIXED, _read(reals))))
        decided, chosen = _settle_readings(readings, asks, say, fits, "model" not in asked)
        by = (_describe_comparison() if chosen else {}) | ({"powers": list(choice.POWERS)} if calibrates else {})
        if calibrates:
            dataset = _read_accepted(decided, OF_POWER)
            problem = candidates.find_problem(decided.model, dataset, **A_POWER)
            if problem:
                raise ConfigError(problem.replace(f"{OF_POWER}={A_POWER[POWER]:g}", f"{OF_POWER}={AUTO}"))
            found = choice.calibrate(decided.model.as_typed, dataset, fits.sample)
            say(choice.format_calibration(found))
            decided = decided.with_({OF_POWER: found.power})
            chosen |= {OF_POWER: found.table.astype(object).to_dict("records"), "rows": found.rows}
        settled = Settled(decided, chosen | {"by": by} if chosen else None)
    return settled._replace(chosen=of_ratings | (settled.chosen or {}) or None)


def _settle_ratings(
    spec: RunSpecification, say: Callable[[str], None], fits: Fits
) -> tuple[RunSpecification, dict[str, Any]]:
    """A run that reads the ratings of a table, unless their types are given, as predicts rows best; and how that was
    chosen."""
    runs_by_name = {name: spec.with_({"data.types": types}) for name, types in _types_of(spec, "ratings").items()}
    if not runs_by_name:
        return spec, {}
    datasets = {name: _read(run) for name, run in runs_by_name.items()}
    table = candidates.compare_readings("ratings", _options_given(spec), datasets, fits, say)
    if (name := table["ratings"][0]) != program.AS_READ["ratings"]:
        spec = runs_by_name[name].with_(_unnamed_options(spec, MIXED, datasets[name]))
    return spec, {"ratings": candidates.as_records(table), "by": _describe_comparison()}


def _types_of(spec: RunSpecification, what: str) -> dict[str, dict[Any, str]]:
    """The option ``data.types`` by the name of a reading; empty without ratings or counts whose type is not given, and
    for numbers that are recorded in an unknown way."""
    if spec.model.values.get("resolution") != AUTO or "types" not in spec.data.values:
        return {}
    typed = dict(spec.data.values["types"] or {})
    return program.add_types(typed, what, _read(spec))


def _options_given(spec: RunSpecification) -> dict[str, Any]:
    """The options of the model that the run names."""
    return {key: value for key, value in spec.model.values.items() if f"model.{key}" in spec.given_keys.keys}


def _settle_readings(
    readings: Sequence[RunSpecification], asks_scales: bool, say: Callable[[str], None], fits: Fits, names_tails: bool
) -> tuple[RunSpecification, dict[str, Any]]:
    """A run with what predicts rows best: of the `readings`, the second of which reads counts as real numbers, then of
    columns as they are and, where this is asked, on scales of their own, and of the covariances where these are
    ``auto``, if a power is to be chosen of those that have one; and how that was chosen. With
    `names_tails` a line says why, if none but normal ones are possible."""
    names_scale = OF_SCALE in readings[0].to_choose
    readings = [reading.with_({OF_SCALE: None}) for reading in readings] if names_scale else readings
    found, spec = dict[str, Any](), readings[0]
    if len(readings) > 1:
        of_reals, options, table = readings[1], _options_given(spec), _read(spec)
        vectors = (
            None if set(options) - {*candidates.SCALES} or OF_POWER in spec.to_choose else program.as_vectors(table)
        )
        columns = _find_columns(spec, candidates.of_given_totals()[0], table) if vectors else None
        by_name = {program.COUNTS: table, program.REALS: _read(of_reals)}
        vectors = None if columns is None else vectors
        forms = choice.forms_of_counts(by_name, options)
        ranking = candidates.compare_readings("counts", options, by_name, fits, say, vectors, forms)
        found["counts"], taken = candidates.as_records(ranking), ranking["counts"][0]
        if taken.partition(",")[0] == program.REALS:
            spec = of_reals
        if taken in forms:
            spec = spec.with_({f"model.{key}": value for key, value in forms[taken].items()})
        elif taken in candidates.of_given_totals():
            named = {"model": taken} | {f"data.{key}": value for key, value in (columns or {}).items()}
            return replace(spec.with_(named), to_choose=frozenset()), found
    on_scales = _with_scales(spec) if asks_scales else None
    if names_scale and on_scales is None:
        say(NOT_SKEWED)
    if on_scales is not None:
        options = {k: v for k, v in spec.model.as_typed.items() if f"model.{k}" not in spec.to_choose}
        ranking = candidates.compare_scales(options, _read(spec), _read(on_scales), fits)
        say(candidates.format_rescaled(ranking, choice.format_scales(on_scales.data.values["scale"])))
        found[OF_SCALE] = candidates.as_records(ranking)
        spec = on_scales if ranking["columns"][0] == candidates.RESCALED else spec
    later = A_POWER if OF_POWER in spec.to_choose else None
    for key in sorted({OF_COVARIANCE, OF_TAILS, OF_NOISE, OF_DEGREES} & spec.to_choose):
        if (name := key.removeprefix("model.")) not in spec.model.options or (
            key == OF_NOISE and not choice.has_background(spec.model)
        ):
            raise ConfigError(f"{key}={AUTO}: model={spec.model.name} has no {name} to choose")
    if OF_COVARIANCE in spec.to_choose:
        dataset = _read_accepted(spec, OF_COVARIANCE)
        ranking = candidates.covariances(spec.model, dataset, fits, later)
        say(candidates.format_covariances(ranking))
        found[OF_COVARIANCE] = candidates.as_records(ranking)
        spec = spec.with_({OF_COVARIANCE: ranking["covariance"][0]})
    if OF_TAILS in spec.to_choose:
        ranking = choice.compare_tails(spec.model, _read_accepted(spec, OF_TAILS), fits, later)
        if not ranking.attrs["problem"] or names_tails:
            say(choice.format_tails(ranking))
        found[OF_TAILS] = candidates.as_records(ranking)
        spec = spec.with_({OF_TAILS: ranking["tails"][0]})
    if OF_NOISE in spec.to_choose:
        tails = "normal" if OF_TAILS in found else spec.model.as_typed["tails"]
        ranking = choice.compare_noise(spec.model, _read_accepted(spec, OF_NOISE), fits, tails, later)
        if not np.isnan(ranking["difference"]).any():
            say(choice.format_noise(ranking))
            found[OF_NOISE] = candidates.as_records(ranking)
        share = float(ranking["noise"][0])
        spec = spec.with_({OF_NOISE: share} | ({OF_TAILS: tails} if share else {}))
    if OF_DEGREES in spec.to_choose:
        # a table needs nothing of networks
        from splitmerge_cli.kinds.networks.start import choose_forms

        dataset = _read_accepted(spec, OF_DEGREES)
        of_network, found[OF_DEGREES] = choose_forms(
            spec.model, dataset, spec.given_keys.keys, lambda line: say(f"{OF_DEGREES}={AUTO}: {line}")
        )
        spec = spec.with_(of_network)
    return spec, found


def _read_accepted(spec: RunSpecification, key: str) -> Dataset:
    """The data of a run whose model takes them; else a `ConfigError` that names the `key` that is ``auto``."""
    dataset = _read(spec)
    accepted, reason = spec.model.target.accepts(dataset)
    if not accepted:
        raise ConfigError(f"{key}={AUTO}: data={spec.data.name}: {reason}")
    return dataset


def _describe_comparison() -> dict[str, int]:
    """How candidates are compared."""
    iterations = sum(candidates.ROUNDS)
    return {"rows": candidates.MOST_ROWS, "iterations": iterations, "chains": CHAINS, "draws": candidates.DRAWS}


def read_whole_numbers(
    data: Any,
    of_table: Mapping[str, Any],
    keys: Mapping[str, Any],
    fits: Fits,
    say: Callable[[str], None],
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """How an object is read as a mixed table: `from_object`'s arguments `of_table`, with the types that ``model=auto``
    finds of its ratings and counts; and how these were found. `keys` are the keys of the run."""
    of_table, options, chosen = dict(of_table), options_of(keys), dict[str, Any]()
    if options.get("resolution", AUTO) != AUTO:
        return of_table, None
    for what in program.READINGS:
        as_read = objects.from_object(data, MIXED, **of_table)
        types = program.add_types(of_table.get("types") or {}, what, as_read)
        by_name = {name: of_table | {"types": of_columns} for name, of_columns in types.items()}
        if not by_name:
            continue
        datasets = {name: objects.from_object(data, MIXED, **given) for name, given in by_name.items()}
        whole = what == "counts" and not (options or of_table) and np.shape(data) == as_read.values.shape
        vectors = program.as_vectors(as_read) if whole else None
        forms = choice.forms_of_counts(datasets, options) if what == "counts" else {}
        ranking = candidates.compare_readings(what, options, datasets, fits, say, vectors, forms)
        chosen[what] = candidates.as_records(ranking)
        if (name := ranking[what][0].partition(",")[0]) in by_name and name != program.AS_READ[what]:
            of_table = by_name[name]
    return of_table, chosen | {"by": _describe_comparison()} if chosen else None


def choose_zeros(
    table: Dataset, options: Mapping[str, Any], fits: Fits, say: Callable[[str], None]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Keys with which a mixed table's spikes have a probability of their own, if that predicts rows better, and how
    that was found; both empty of a table without spikes, or with counts, whose readings are compared with theirs."""
    if table.count_columns("count") or not choice.can_part_zeros(table, options):
        return {}, {}
    ranking = candidates.compare_zeros(options, table, fits)
    say(candidates.format_zeros(ranking, choice.describe_spikes(table)))
    keys = {f"model.{key}": value for key, value in candidates.FORMS_OF_ZEROS[ranking["zeros"][0]].items()}
    return {"model": MIXED} | keys if keys else {}, {
        "zeros": candidates.as_records(ranking),
        "by": _describe_comparison(),
    }


def _settle_zeros(
    asked: RunSpecification, spec: RunSpecification, say: Callable[[str], None], fits: Fits
) -> tuple[RunSpecification, dict[str, Any]]:
    """A run whose model was chosen (`asked` before that), of a table with spikes as `choose_zeros` says; and how that
    was found."""
    if spec.model.name not in OF_REALS or spec.data.values.get("reduce"):
        return spec, {}
    options = options_of(asked.given_keys.values)
    table = _read(spec if spec.model.name == MIXED else asked, MIXED)
    keys, found = choose_zeros(table, options, fits, say)
    if keys and spec.model.name != MIXED:
        keys |= _unnamed_options(asked, MIXED, table)
        spec = asked
    return spec.with_(keys) if keys else spec, found


def read_scales(
    data: Any, of_table: Mapping[str, Any], keys: Mapping[str, Any], fits: Fits, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """How an object is read by a model of real columns: `from_object`'s arguments `of_table`, with the scales of
    ``data.scale=auto``; and how these were found. `keys` are the keys of the run."""
    of_table, kind = dict(of_table), kind_of_model(keys["model"]).name
    as_they_are = objects.from_object(data, kind, **of_table)
    options = options_of(keys)
    if _names_units(options) or not (scales := choice.find_scales(as_they_are)):
        return of_table, None
    on_scales = of_table | {"scale": scales}
    options = candidates.model_of({"name": keys["model"]} | {k: v for k, v in options.items() if v != AUTO}).as_typed
    if keys.get(OF_COVARIANCE) == AUTO:
        del options["covariance"]
    rescaled = objects.from_object(data, kind, **on_scales)
    ranking = candidates.compare_scales(options, as_they_are, rescaled, fits)
    say(candidates.format_rescaled(ranking, choice.format_scales(scales)))
    taken = on_scales if ranking["columns"][0] == candidates.RESCALED else of_table
    return taken, {OF_SCALE: candidates.as_records(ranking), "by": _describe_comparison()}


def options_of(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the model among the keys of a run."""
    return {key.removeprefix("model."): value for key, value in keys.items() if key.startswith("model.")}


def _with_scales(spec: RunSpecification) -> RunSpecification | None:
    """The run with scales for its skewed columns; None where no column needs one, or a prior is given in units."""
    if "scale" not in spec.data.values or spec.model.name not in OF_REALS or _names_units(spec.model.values):
        return None
    scales = choice.find_scales(_read(spec, scale=None))
    return spec.with_({OF_SCALE: scales}) if scales else None


def _names_units(options: Mapping[str, Any]) -> bool:
    """Whether options of a model hold numbers in the units of the columns, which are others on another scale."""
    return any(not isinstance(options.get(key), str | None) for key in IN_UNITS)


def _unnamed_options(spec: RunSpecification, model: str, dataset: Dataset) -> dict[str, Any]:
    """The options that ``model=auto`` takes (`options_for`), but those that the run names."""
    named = spec.given_keys.keys | spec.to_choose
    typed = {key.removeprefix("model."): value for key, value in spec.given_keys.values.items()}
    options = {f"model.{key}": value for key, value in options_for(model, dataset, typed).items()}
    return {key: value for key, value in options.items() if key not in named}


def settle_jobs(jobs: Sequence[RunSpecification], say: Callable[[str], None]) -> list[RunSpecification]:
    """Jobs with what ``auto`` stands for, chosen once for all jobs of one model and data set: samplers that race are of
    one posterior, and the sampler of the first job chooses for all."""
    settled: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def decide(job: RunSpecification) -> RunSpecification:
        # return the data of a job, what it leaves to them, and what it names of the model
        given = job.given_keys
        of_model = {key: value for key, value in given.values.items() if key.startswith("model.")}
        asked = job.to_choose, job.data, job.N, job.experiment, given.choices.get("model"), of_model
        changes = next((changes for other, changes in settled if other == asked), None)
        if changes is None:
            changes = settle(job, say).spec.find_changes(job)
            settled.append((asked, changes))
        return specification.name_beside(job.with_(changes), job)

    return [decide(job) if job.to_choose else job for job in jobs]


def _choose_model(spec: RunSpecification, tell: Tell) -> dict[str, Any]:
    """Keys of the model that reads the data; for a table also the columns that are data if ids and the like accompany
    them; its options, and whether its covariance is to be chosen."""
    # a table is read as it is, whatever options the model will have; of other data the kind decides
    columns: dict[str, Any] | None = {}
    try:
        dataset = _read(spec, MIXED)
    except mixed.NoMixedTable:
        dataset = _read(spec, "gaussian")
    reduced = {} if "data.reduce" in spec.given_keys.keys else scaled.reduce_keys(dataset)
    if tell is not None:
        tell(scaled.without_spikes(dataset) if reduced else dataset)
    named_own = any(key in spec.given_keys.keys for key in dataset.kind.own_keys)
    model = dataset.kind.model if named_own else model_for(dataset)
    if dataset.kind.any_columns and model != MIXED:
        columns = _find_columns(spec, model, dataset)
        if columns is None:
            model, columns = MIXED, {}
    named = {f"data.{key}": value for key, value in (columns or {}).items()}
    joins = {} if "gap" in spec.given_keys.keys or model != OF_REALS[0] else {"gap": None}
    return {"model": model, **named, **reduced, **_unnamed_options(spec, model, dataset), **joins}


def _find_columns(spec: RunSpecification, model: str, table: Dataset) -> dict[str, Any] | None:
    """Options with which the reader of a model finds the cells of a mixed table; None where it does not."""
    names: dict[str, Any] = {"columns": table.meta["typed"]} if "typed" in table.meta else {}
    names |= {"drop": None} if "data.drop" in spec.given_keys.keys else {}
    for options in ({}, names):
        with suppress(received.DataError):
            if _are_same(_read(spec, model, **options), table):
                return options
    return None


def _read(spec: RunSpecification, model: str | None = None, **options: Any) -> Dataset:
    """The data of a run, read for another model or with other options if any are named; no model is built."""
    kind = spec.model.kind if model is None else kind_of_model(model)
    return initial.read_data(spec.data.with_options(**options), kind)
