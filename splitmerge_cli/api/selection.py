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

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli import config, received
from splitmerge_cli.api.updating import Settled
from splitmerge_cli.config import Component, ConfigError, RunSpecification, class_of, classes, specification
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
OF_MODEL = (OF_COVARIANCE, OF_TAILS, OF_NOISE, OF_DEGREES)
Tell = Callable[[Dataset], None] | None  # receives a table as it is read
Read = Callable[..., Dataset]
"""Reads the data of a run for a model, with the options of the data that the run names but those that are given."""
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
        "words_in_order": "as ratings",
        "sparse": "0 and 1, or counts, where they are",
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


def model_for_object(data: Any, of_table: Mapping[str, Any] | None = None) -> tuple[str, Any]:
    """The model that reads an object as `splitmerge_cli.data.objects.from_object` takes it: a graph, texts, a table, or
    a sparse matrix of 0 and 1, of counts or of real numbers; and the data themselves, of a data frame for another model
    than `mixed` the columns that are data, or the texts, unless it is a table by the options that are given,
    `of_table`."""
    if isinstance(data, Dataset):
        return model_for(data), data
    of_table = of_table or {}
    if values.is_sparse(data):
        return model_for(objects.from_object(data, "points")), data
    for kind in kinds().values():
        # options of tables ask for one, unless a kind has objects of its own
        if of_table and kind.any_columns:
            continue
        if (part := kind.part_of(data)) is not None and not (of_table and part is not data):
            if part is not data:
                which = f"column {part.name!r} alone is"
                if isinstance(part.name, tuple):
                    which = f"columns {', '.join(map(repr, part.name))} are"
                program.warn(f"data: {which} read, as {kind.name}", program.DataNote)
            return kind.model, part
    table = objects.from_object(data, MIXED, **of_table)
    model = model_for(table)
    # of a frame the model may leave out less than is left out of a mixed table; columns that are chosen are a frame of
    # these, as which a stored run takes them again
    frames = (data, program.columns_read(data, table))
    for kept in reversed(frames) if "columns" in of_table else frames:
        with suppress(received.DataError):
            read = objects.from_object(kept, kind_of_model(model).name, **of_table)
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
    compared = describe_comparison() | _list_candidates()
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
    as_asked, found, of_model = spec, dict[str, Any](), "model" in spec.to_choose
    asks_scales = OF_SCALE in spec.to_choose or (of_model and OF_SCALE not in spec.given_keys.keys)
    if of_model:
        spec = spec.with_(named := _choose_model(spec, tell))
        said = [specification.override(key, value) for key, value in named.items() if value != AUTO and key != "gap"]
        say(f"model={AUTO}: {' '.join(said)}")
    sampler = {key: value for key, value in spec.values["sampler"].items() if key != "_target_"}
    fits = made or short_fits(sampler, spec.seed, say, spec.progress)
    with keeping(fits, so_far, again=not spec.resume) if made is None else nullcontext():
        if of_model:
            read = partial(_read, as_asked)
            options = options_of({**as_asked.given_keys.values, **dict.fromkeys(as_asked.to_choose, AUTO)})
            keys, found = choose_readings(read, spec.model.name, spec.data.values, options, fits, say)
            if keys:
                keys = {"model": spec.model.name} | keys
                table = read(MIXED, **options_of(keys, "data."))
                spec = as_asked.with_(keys | _unnamed_options(as_asked, keys["model"], table))
            if spec.model.target.HAS_GIVEN_TOTALS:
                return Settled(replace(spec, to_choose=frozenset()), found | {"by": describe_comparison()})
        if OF_POWER in spec.to_choose:
            having = [name for name, target in classes("model").items() if POWER in {o.name for o in target.OPTIONS}]
            if spec.model.name not in having:
                problem = f"model={spec.model.name} has no power; expected one of {', '.join(having)}"
                raise ConfigError(f"{OF_POWER}={AUTO}: {problem}")
        if names_scale := OF_SCALE in spec.to_choose:
            spec = spec.with_({OF_SCALE: None})
        if asks_scales and "scale" in spec.data.values:
            options = {k: v for k, v in spec.model.as_typed.items() if f"model.{k}" not in spec.to_choose}
            keys, of_scale = choose_scales(partial(_read, spec), options, fits, say)
            spec, found = spec.with_(keys) if keys else spec, found | of_scale
        if names_scale and OF_SCALE not in found:
            say(NOT_SKEWED)
        if of_data := [key for key in OF_MODEL if key in spec.to_choose]:
            for key in sorted(of_data):
                if (name := key.removeprefix("model.")) not in spec.model.options or (
                    key == OF_NOISE and not choice.has_background(spec.model)
                ):
                    raise ConfigError(f"{key}={AUTO}: model={spec.model.name} has no {name} to choose")
            dataset = _read_accepted(spec, of_data[0])
            of_each = choose_options(spec.model, dataset, spec.to_choose, spec.given_keys.keys, fits, say, not of_model)
            spec, found = spec.with_(of_each[0]), found | of_each[1]
        by: dict[str, Any] = describe_comparison() if found else {}
        if OF_POWER in spec.to_choose:
            dataset = _read_accepted(spec, OF_POWER)
            if problem := candidates.find_problem(spec.model, dataset, **A_POWER):
                raise ConfigError(problem.replace(f"{OF_POWER}={A_POWER[POWER]:g}", f"{OF_POWER}={AUTO}"))
            curve = choice.calibrate(spec.model.as_typed, dataset, fits.sample)
            say(choice.format_calibration(curve))
            spec, by = spec.with_({OF_POWER: curve.power}), by | {"powers": list(choice.POWERS)}
            found |= {OF_POWER: curve.table.astype(object).to_dict("records"), "rows": curve.rows}
    return Settled(spec, found | {"by": by} if found else None)


def choose_readings(
    read: Read,
    model: str,
    of_data: Mapping[str, Any],
    options: Mapping[str, Any],
    fits: Fits,
    say: Callable[[str], None],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keys with which a table whose model nobody names is read as predicts rows best, and how that was found: its
    ratings and counts, unless their types are given, or, without counts, its spikes, with a probability of their own or
    among other numbers. `model` reads the table as it is; `of_data` and `options` of the model are those that the run
    names."""
    keys, found = dict[str, Any](), dict[str, Any]()
    if model not in OF_REALS or of_data.get("reduce"):
        return keys, found
    try:
        table = read(MIXED)
    except mixed.NoMixedTable:
        return keys, found
    # of numbers that are recorded in an unknown way
    takes_types = model == MIXED and "types" in of_data and options.get("resolution", AUTO) == AUTO
    is_of_rows = options.get(POWER) != AUTO
    options = {key: value for key, value in options.items() if value != AUTO}
    for what in program.READINGS if takes_types else ():
        types = program.add_types(keys.get("data.types", of_data["types"]) or {}, what, table)
        if not types:
            continue
        tables = {name: read(MIXED, types=of_columns) for name, of_columns in types.items()}
        forms, columns = dict[str, dict[str, Any]](), None
        vectors: Dataset | None = None
        if what == "counts":
            forms = choice.forms_of_counts(tables, options)
            # rows with weights or links have no vectors
            if is_of_rows and table.bundles is None and not {*options} - {*candidates.SCALES}:
                vectors = program.as_vectors(table)
            columns = None if vectors is None else _find_columns(read, candidates.of_given_totals()[0], table)
        vectors = None if columns is None else vectors
        ranking = candidates.compare_readings(what, options, tables, fits, say, vectors, forms)
        found[what], taken = candidates.as_records(ranking), ranking[what][0]
        if columns is not None and taken in candidates.of_given_totals():
            return {"model": taken} | {f"data.{key}": value for key, value in columns.items()}, found
        if (name := taken.partition(",")[0]) != program.AS_READ[what]:
            keys["data.types"], table = types[name], tables[name]
        keys |= {f"model.{key}": value for key, value in forms.get(taken, {}).items()}
    if "counts" not in found and not table.count_columns("count") and choice.can_part_zeros(table, options):
        ranking = candidates.compare_zeros(options, table, fits)
        say(candidates.format_zeros(ranking, choice.describe_spikes(table)))
        found["zeros"], form = candidates.as_records(ranking), candidates.FORMS_OF_ZEROS[ranking["zeros"][0]]
        keys |= {"model": MIXED} | {f"model.{key}": value for key, value in form.items()} if form else {}
    return keys, found


def choose_scales(
    read: Read, options: Mapping[str, Any], fits: Fits, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The key for scales of skewed columns, if these predict rows better, and how that was found: nothing where no
    column needs a scale, or a prior is in units of the columns. `options` of a model, its name among them."""
    in_units = any(not isinstance(options.get(key), str | None) for key in IN_UNITS)
    if options["name"] not in OF_REALS or in_units:
        return {}, {}
    as_they_are = read(options["name"])
    if not (scales := choice.find_scales(as_they_are)):
        return {}, {}
    ranking = candidates.compare_scales(options, as_they_are, read(options["name"], scale=scales), fits)
    say(candidates.format_rescaled(ranking, choice.format_scales(scales)))
    keys = {OF_SCALE: scales} if ranking["columns"][0] == candidates.RESCALED else {}
    return keys, {OF_SCALE: candidates.as_records(ranking)}


def choose_options(
    model: Component,
    dataset: Dataset,
    asked: Collection[str],
    named: Collection[str],
    fits: Fits,
    say: Callable[[str], None],
    names_tails: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of a model that predict rows best, of those `OF_MODEL` that are `asked` for, by key, and how they
    were found. If a power is to be chosen as well, they are of those that have one. With `names_tails` a line says why,
    if none but normal ones are possible; `named` are the keys that the run names."""
    later = A_POWER if OF_POWER in asked else None
    keys, found = dict[str, Any](), dict[str, Any]()
    if OF_COVARIANCE in asked:
        ranking = candidates.covariances(model, dataset, fits, later)
        say(candidates.format_covariances(ranking))
        keys[OF_COVARIANCE], found[OF_COVARIANCE] = ranking["covariance"][0], candidates.as_records(ranking)
        model = model.with_options(covariance=keys[OF_COVARIANCE])
    if OF_TAILS in asked:
        ranking = choice.compare_tails(model, dataset, fits, later)
        if not ranking.attrs["problem"] or names_tails:
            say(choice.format_tails(ranking))
        keys[OF_TAILS], found[OF_TAILS] = ranking["tails"][0], candidates.as_records(ranking)
        model = model.with_options(tails=keys[OF_TAILS])
    if OF_NOISE in asked:
        tails = "normal" if OF_TAILS in asked else model.as_typed["tails"]
        ranking = choice.compare_noise(model, dataset, fits, tails, later)
        if not np.isnan(ranking["difference"]).any():
            say(choice.format_noise(ranking))
            found[OF_NOISE] = candidates.as_records(ranking)
        keys[OF_NOISE] = float(ranking["noise"][0])
        keys |= {OF_TAILS: tails} if keys[OF_NOISE] else {}
    if OF_DEGREES in asked:
        # a table needs nothing of networks
        from splitmerge_cli.kinds.networks.start import choose_forms

        of_network, found[OF_DEGREES] = choose_forms(
            model, dataset, named, lambda line: say(f"{OF_DEGREES}={AUTO}: {line}")
        )
        keys |= of_network
    return keys, found


def _read_accepted(spec: RunSpecification, key: str) -> Dataset:
    """The data of a run whose model takes them; else a `ConfigError` that names the `key` that is ``auto``."""
    dataset = _read(spec)
    accepted, reason = spec.model.target.accepts(dataset)
    if not accepted:
        raise ConfigError(f"{key}={AUTO}: data={spec.data.name}: {reason}")
    return dataset


def describe_comparison() -> dict[str, int]:
    """How candidates are compared."""
    iterations = sum(candidates.ROUNDS)
    return {"rows": candidates.MOST_ROWS, "iterations": iterations, "chains": CHAINS, "draws": candidates.DRAWS}


def options_of(keys: Mapping[str, Any], group: str = "model.") -> dict[str, Any]:
    """The options of the model, or of another group, among the keys of a run."""
    return {key.removeprefix(group): value for key, value in keys.items() if key.startswith(group)}


def _unnamed_options(spec: RunSpecification, model: str, dataset: Dataset) -> dict[str, Any]:
    """The options that ``model=auto`` takes (`options_for`), but those that the run names."""
    named, of_model = spec.given_keys.keys | spec.to_choose, options_of(spec.given_keys.values)
    options = {f"model.{key}": value for key, value in options_for(model, dataset, of_model).items()}
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
        dataset = _read(spec, OF_REALS[0])
    reduced = {} if "data.reduce" in spec.given_keys.keys else scaled.reduce_keys(dataset)
    if tell is not None:
        tell(scaled.without_spikes(dataset) if reduced else dataset)
    named_own = any(key in spec.given_keys.keys for key in dataset.kind.own_keys)
    model = dataset.kind.model if named_own else model_for(dataset)
    if dataset.kind.any_columns and model != MIXED:
        columns = _find_columns(partial(_read, spec), model, dataset, "data.drop" in spec.given_keys.keys)
        if columns is None:
            model, columns = MIXED, {}
    named = {f"data.{key}": value for key, value in (columns or {}).items()}
    joins = {} if "gap" in spec.given_keys.keys or model != OF_REALS[0] else {"gap": None}
    return {"model": model, **named, **reduced, **_unnamed_options(spec, model, dataset), **joins}


def _find_columns(read: Read, model: str, table: Dataset, names_drop: bool = False) -> dict[str, Any] | None:
    """Options with which the reader of a model finds the cells of a mixed table; None where it does not. They take the
    place of the columns that are dropped, if the run `names_drop`."""
    names: dict[str, Any] = {"columns": table.meta["typed"]} if "typed" in table.meta else {}
    names |= {"drop": None} if names_drop else {}
    for options in ({}, names):
        with suppress(received.DataError):
            if _are_same(read(model, **options), table):
                return options
    return None


def _read(spec: RunSpecification, model: str | None = None, **options: Any) -> Dataset:
    """The data of a run, read for another model or with other options if any are named; no model is built."""
    kind = spec.model.kind if model is None else kind_of_model(model)
    return initial.read_data(spec.data.with_options(**options), kind)
