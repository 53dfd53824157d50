"""`smcmc.sample`: sample from a posterior over partitions in Python. Unknown arguments get the same answer as unknown
keys of the command line.

>>> import smcmc
>>> posterior = smcmc.sample("gaussian", table, iterations=2000)
>>> posterior.point_estimate()
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from splitmerge_cli.api import posterior, recognition, selection, updating
from splitmerge_cli.config import schema, specify_keys
from splitmerge_cli.config.errors import ConfigError, nearest
from splitmerge_cli.data import objects, values
from splitmerge_cli.data.dataset import OF_NETWORKS, Dataset
from splitmerge_cli.data.tables.scaled import reduce_keys
from splitmerge_cli.fits.candidates import model_of
from splitmerge_cli.fits.objects import choice_keys, held_keys
from splitmerge_cli.fits.short_fits import short_fits

_F = TypeVar("_F", bound=Callable[..., Any])


def answer_misspelt(function: _F) -> _F:
    """Let a function answer an unknown argument with a `TypeError`: the nearest, or where a key of the command line
    belongs."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        for name in given:
            if name not in known:
                near = nearest(name, known)
                advice = f"Did you mean {near}?" if near else f"Expected one of {', '.join(known)}"
                if "options" in known and name in {key for key, _ in schema.all_keys()}:
                    advice = f"Expected options={{'{name}': VALUE}}, because it is a key of the command line"
                raise TypeError(f"{name}: no such argument. {advice}")
        return function(*args, **given)

    return cast(_F, wrapper)


def read_seed(seed: int, rng: Any) -> int:
    """The seed of a run, or one that is derived from `rng` (SPEC 7 of Scientific Python): a whole number is the seed
    itself; whatever else `numpy.random.default_rng` takes draws one."""
    if rng is None:
        return seed
    if seed:
        raise ConfigError(f"seed={seed}, rng: expected one of them")
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return int(rng)
    try:
        return int(np.random.default_rng(rng).integers(2**31))
    except TypeError as error:
        raise ConfigError(f"rng: {type(rng).__name__}; expected a whole number or a numpy.random.Generator") from error


@answer_misspelt
def sample(
    model: Any,
    data: Any = None,
    sampler: str | Mapping[str, Any] | None = None,
    *,
    chains: int = 4,
    iterations: int | None = None,
    budget: float | None = None,
    until: float | Mapping[str, float] | None = None,
    seed: int = 0,
    rng: Any = None,
    truth: ArrayLike | None = None,
    weights: ArrayLike | str | None = None,
    groups: ArrayLike | str | None = None,
    labels: ArrayLike | str | None = None,
    must_link: ArrayLike | str | Path | None = None,
    cannot_link: ArrayLike | str | Path | None = None,
    prior_counts: str | None = None,
    directed: bool | None = None,
    values: str | None = None,
    loops: bool | None = None,
    layer: str | int | None = None,
    bipartite: bool | str | None = None,
    unknown: Any = None,
    nodes: Any = None,
    store: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: str = "auto",
) -> posterior.Posterior:
    """Run chains on data and return the sample.

    It makes the same runs as ``smcmc run``: the same configuration, data and seed give the same chains.

    Parameters
    ----------
    model : str, mapping or object
        Name of a model (``smcmc list models``); or a mapping of its `name` and options, such as
        ``{"name": "gaussian", "covariance": "full"}``. "auto", and ``"covariance": "auto"``: see
        `splitmerge_cli.api.selection`; what was chosen is printed. Without `data` the data stand in its place, and the
        model is "auto": ``sample(frame)``.
    data : object
        An array, data frame (pandas, polars), sparse matrix, graph (networkx, igraph), or texts, as the model reads
        them. A string or Path: a file, as ``data.path`` of ``data=csv`` (documents
        ``data=corpus``, graphs ``data=edges``), or the name of a data set (``smcmc list data``).
    sampler : str or mapping, optional
        As `model`; ``smcmc list samplers``. By default "auto": what races say is the fastest for the model.
    chains : int
        Chains, which run at the same time as far as there are processors.
    iterations : int, optional
        Iterations of each chain. Where neither these nor `budget` nor `until` are given: until R-hat is at most 1.05,
        ESS at least 100 and Monte Carlo errors at most 0.02, at most a number of iterations by the size of the data.
    budget : float, optional
        Seconds of sampling per chain, after which it ends.
    until : float or mapping, optional
        End when the chains have run long enough: ``{"rhat": 1.01, "ess": 400, "mcse": 0.01}``, as ``until`` of the
        command line. A single number is the target for R-hat. `iterations`, by default a hundred times the usual, and
        `budget` are the most.
    seed : int
        Seed of the chains.
    rng : int or numpy.random.Generator, optional
        In place of `seed`: a generator, or what `numpy.random.default_rng` makes one of, draws the seed; a whole number
        is the seed.
    truth : array_like or str, optional
        True label of each item, or the name of a column, for scores.
    weights : array_like or str, optional
        How often each row of a table counts, or the name of a column; fractions are powers of the rows' likelihoods.
        This and the next five are ``data.weights``, ``data.group``, ``data.labels``, ``data.must_link``,
        ``data.cannot_link`` and ``data.prior_counts`` of the command line.
    groups : array_like or str, optional
        Unit of each row, or the name of a column: the rows of one unit stay together.
    labels : array_like or str, optional
        Known class of each row, None or NaN where it is not known, or the name of a column: rows of one class stay
        together, rows of different classes apart.
    must_link, cannot_link : array_like of int or str, str or Path, optional
        Pairs of rows ``[pairs, 2]``, by position from 0 or by name, that stay together, or apart; or a file of pairs.
    prior_counts : {"rows", "items"}, optional
        What the prior of the partition counts.
    directed, loops : bool, optional
        Whether the edges of a network have directions, and whether edges of a node to itself are read. This and the
        next four are ``data.directed``, ``data.values`` and so on of the command line (``data=edges``).
    values : {"binary", "count", "real", "levels"}, optional
        What the weights of edges are: counts, numbers, or a few signs, ranks or words. By default weights are left out.
    layer : str, optional
        Attribute or column of the edges that names the relation of each, where there are several between the nodes.
    bipartite : bool or str, optional
        Whether sources and targets (rows and columns) are nodes of two kinds, or the attribute that tells them apart.
    unknown : sequence of pairs, str or Path, optional
        Pairs of nodes of which it is not known whether they are edges, or a file of these.
    nodes : data frame, str or int, optional
        A row for each node, whose columns share the clusters with the edges. For a file, ``data.nodes``.
    store : str or Path, optional
        Folder that receives the run, as ``out`` of the command line: a run that is there is not made again. By default
        a temporary folder, removed with the object.
    options : mapping, optional
        Any other key of the command line: ``{"init": "prior", "schedule": "move_only"}``; of tables also
        ``data.columns``, ``data.types``, ``data.repeated``, ``data.scale`` and ``data.reduce``: ``{"data.types":
        {"year": "real"}}``; of counts ``data.exposure``: a number for each row, the name of a column, or ``total``;
        of texts ``data.stop_words``, ``data.min_documents``, ``data.max_share`` and ``data.min_length``. Stop words are
        left out as of ``data=corpus``.
    workers : int, optional
        Chains that run at the same time.
    progress : {"auto", "bars", "lines", "none"}
        What is shown; auto: bars in a terminal and in a notebook.

    Returns
    -------
    Posterior
        After Ctrl-C the draws so far: `complete` and `converged` are then False.

    Raises
    ------
    ConfigError, DataError
        Bad input; the message names the key, or row and column.
    RunError
        The run could not be made: a full disk, a density that is not finite.

    Examples
    --------
    >>> import smcmc
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> posterior = smcmc.sample(iris.data, iterations=2000)
    >>> posterior.point_estimate()
    """
    if data is None:
        model, data = selection.AUTO, model
    of_rows = {"weights": weights, "group": groups, "labels": labels, "must_link": must_link}
    of_rows |= {"cannot_link": cannot_link, "prior_counts": prior_counts, "directed": directed, "values": values}
    of_rows |= {"loops": loops, "layer": layer, "bipartite": bipartite, "unknown": unknown, "nodes": nodes}
    options = dict(options or {}) | row_options(**of_rows)
    keys: dict[str, Any] = {"chains": chains, "seed": read_seed(seed, rng), "iterations": iterations, "budget": budget}
    keys |= {"workers": workers, "progress": updating.choose_progress(progress)}
    if until is not None:
        wanted = until if isinstance(until, Mapping) else {"rhat": until}
        keys |= {f"until.{name}": value for name, value in wanted.items()}
    return posterior.Posterior(
        *updating.make(lambda out: specify_sample(model, data, sampler, keys | {"out": out}, truth, options), store)
    )


def row_options(**of_rows: Any) -> dict[str, Any]:
    """The options of data for what is known of rows, or read of a network: those that are given."""
    return {f"data.{name}": value for name, value in of_rows.items() if value is not None}


def specify_sample(
    model: str | Mapping[str, Any],
    data: Any,
    sampler: str | Mapping[str, Any] | None,
    keys: dict[str, Any],
    truth: ArrayLike | None,
    options: Mapping[str, Any] | None,
    say: Callable[[str], None] = print,
) -> tuple[selection.Settled, Dataset | None]:
    """The run of `sample`'s parameters, with further keys; and the data set, where it is held. `say` receives what
    ``auto`` chose."""
    keys = keys | choice_keys("model", model) | ({} if sampler is None else choice_keys("sampler", sampler))
    of_run, of_table = dict(options or {}), {}
    chosen: dict[str, Any] = {}
    is_file, is_held = isinstance(data, str | Path), isinstance(data, Dataset)
    if is_file or is_held:
        expected = "None with a Dataset" if is_held else "names of columns and files, as data are a file"
        for name in OF_ROWS:
            if not isinstance(of_run.get(f"data.{name}"), NoneType if is_held else str | int | Path | None):
                raise ConfigError(f"data.{name}: expected {expected}")
    else:
        data = objects.as_pandas(data)  # what can be read once alone, such as a stream, is read here
        if isinstance(truth, str):
            data, named = objects.take_columns(data, {"truth": truth}, ("truth",))
            truth = named["truth"]
        of_table = {name: of_run.pop(key) for name in OF_OBJECTS if (key := f"data.{name}") in of_run}
        data, of_table = objects.take_columns(data, of_table, OF_ROWS[:4])
        if keys["model"] == selection.AUTO and not set(OF_NETWORKS).isdisjoint(of_table):
            keys["model"] = MODELS[recognition.NETWORK]
    # as of a file: model=auto asks for scales unless they are named
    asks_scale = of_table.get("scale", keys["model"]) == selection.AUTO and not (is_file or is_held)
    of_table = {key: value for key, value in of_table.items() if (key, value) != ("scale", selection.AUTO)}
    if keys["model"] == selection.AUTO and is_file and Path(data).exists():
        recognised = recognition.recognise_named(data, of_run)
        keys["model"] = recognised.model or MODELS.get(recognised.data, selection.AUTO)
        of_run = {**recognised.keys, **of_run}
    # fits of candidates use it before the configuration is checked
    if not isinstance(seed := keys.get("seed", 0), int | np.integer) or not 0 <= seed < 2**63:
        raise ConfigError(f"seed={seed}: expected a whole number from 0 to {2**63 - 1}")
    fits = short_fits(sampler, int(seed), say, keys["progress"])

    def read(model: str, **further: Any) -> Dataset:
        return objects.from_object(data, selection.kind_of_model(model).name, **{**of_table, **further})

    if keys["model"] == selection.AUTO and not is_file:
        keys["model"], data = selection.model_for_object(data, of_table)
        is_read = keys["model"] in selection.OF_REALS and not (isinstance(data, Dataset) or values.is_sparse(data))
        if is_read:
            of_model, by_size = selection.options_of(keys), reduce_keys(read(keys["model"]))
            of_data = {"types": None} | selection.options_of(by_size, "data.") | of_table
            found, chosen = selection.choose_readings(read, keys["model"], of_data, of_model, fits, say)
            of_table |= selection.options_of(found, "data.")
            keys |= {key: value for key, value in found.items() if not key.startswith("data.")}
        if keys["model"] in selection.OF_REALS:
            table = read(keys["model"])
            by_data = selection.options_for(keys["model"], table, selection.options_of(keys))
            keys = {f"model.{key}": value for key, value in by_data.items()} | keys
            if is_read:
                of_table = selection.options_of(reduce_keys(table), "data.") | of_table
    if asks_scale and keys["model"] in selection.OF_REALS:
        of_model = {key: value for key, value in selection.options_of(keys).items() if value != selection.AUTO}
        of_model = model_of({"name": keys["model"]} | of_model).as_typed
        of_model = {key: value for key, value in of_model.items() if keys.get(f"model.{key}") != selection.AUTO}
        scales, of_scale = selection.choose_scales(read, of_model, fits, say)
        of_table, chosen = of_table | selection.options_of(scales, "data."), chosen | of_scale
    chosen |= {"by": selection.describe_comparison()} if chosen else {}
    dataset, of_data = held_keys(data, str(keys["model"]), truth, of_table)
    keys |= of_data | of_run
    job, how = selection.settle(specify_keys(keys), say, fits)
    if keys.get("sampler") == selection.AUTO:  # where somebody asks for it; the default stays silent in a program
        say(str(job.automatic))
    return selection.Settled(job, chosen | (how or {}) or None), dataset


MODELS = {recognition.NETWORK: "irm", recognition.DOCUMENTS: "hdp"}
"""Models of files that are no tables, as the choices of ``data`` bring them."""
OF_ROWS = ("weights", "group", "labels", "files", "must_link", "cannot_link")
OF_TABLES = ("columns", "types", "repeated", "scale", "reduce", "exposure", "weights_scale", "apart", "prior_counts")
OF_OBJECTS = (*OF_TABLES, *OF_ROWS, *OF_NETWORKS, "stop_words", "min_documents", "max_share", "min_length")
"""Options of data that also apply to an object."""
