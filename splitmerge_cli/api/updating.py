"""Runs that the library makes, in a named or temporary folder, and posteriors that are continued with new items: their
chains start where the old ones ended."""

import hashlib
import io
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli import config, runs, terminal
from splitmerge_cli.analysis.predictive import by_state
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.reading import hold
from splitmerge_cli.fits.objects import DataNote, warn, warn_of_data
from splitmerge_cli.runs import draws, initial, interrupts
from splitmerge_cli.runs.starts import start_of
from splitmerge_cli.runs.store import files, read

Made = tuple[read.Run, Dataset | None, str | None, config.Component]


class Settled(NamedTuple):
    """A run without ``auto``, and how covariance and power were chosen, for its summary; None if nobody asked."""

    spec: config.RunSpecification
    chosen: dict[str, Any] | None


def make(settle_in: Callable[[str], tuple[Settled, Dataset | None]], store: str | Path | None) -> Made:
    """Make a run in `store`, by default a temporary folder that is removed with the sample. `settle_in` says what the
    run computes, and its data set where that is held, given the folder. Returns the run, these data, the folder where
    it is a temporary one, and the model."""
    temporary = tempfile.mkdtemp(prefix="smcmc-") if store is None else None
    try:
        (job, chosen), dataset = settle_in(str(store or temporary))
        # as of a sampler that nobody names: a program finds it in the configuration of the run
        job = start_of(job).choose(lambda line: None)
        plan = runs.prepare(job)
        warn_of_data(plan.dataset)
        for caution in plan.cautions:
            warn(caution, DataNote)
        run = runs.make(replace(plan, chosen=chosen))
    except interrupts.Interrupted as interruption:
        run = read.Run(interruption.path)
    except BaseException:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    return run, dataset, temporary, job.model


def choose_progress(progress: str) -> str:
    """Choose bars in a notebook, too, where stderr is no terminal."""
    return "bars" if progress == "auto" and terminal.console().is_jupyter else progress


def stack_items(dataset: Dataset, new: Any) -> tuple[Dataset, Dataset]:
    """Append new items to the data; return both, with names if both have them. Items that are tokens, and rows that are
    bundled, cannot be appended."""
    kind = dataset.kind
    if kind.no_update:
        raise config.ConfigError(f"update: {kind.no_update}")
    new_items = kind.new_items(dataset, new)
    if dataset.bundles is not None or new_items.bundles is not None:
        raise config.ConfigError("update: rows have weights, units, classes or links; expected sample() of all rows")
    whole = kind.stack(dataset, new_items)
    names = [*dataset.names, *new_items.names] if dataset.names and new_items.names else None
    return replace(whole, names=names, meta={k: v for k, v in dataset.meta.items() if k != "notes"}), new_items


def start_states(
    run: read.Run, model: config.Component, dataset: Dataset, new: Dataset, generator: np.random.Generator
) -> NDArray[np.int32]:
    """The last recorded partition of every chain, with the new items in it: int32 ``[chains, N + n]``. Each new item
    joins a cluster drawn from its posterior predictive probabilities given that state alone, or founds one of its own,
    as long as model and prior allow one. Resampled hyper-parameters begin as in any chain."""
    starts, largest_K = [], initial.build_model(model, dataset.kind.stack(dataset, new)).largest_K
    for state, log_density, log_weight in by_state(model, dataset, new, draws.last_states(run)):
        log_joint = log_density + log_weight
        # with Gumbel noise the largest is a draw
        noisy = log_joint + generator.gumbel(size=log_joint.shape)
        joined, K = noisy.argmax(axis=1), log_joint.shape[1] - 1
        without_room = np.flatnonzero(joined == K)[max(0, largest_K - K) :]
        joined[without_room] = noisy[without_room, :K].argmax(axis=1)
        alone = joined == K
        joined[alone] += np.arange(alone.sum())
        labels = np.concatenate([state.labels, joined])
        starts.append(np.unique(labels, return_inverse=True)[1])
    return np.stack(starts).astype(np.int32)


def update(
    run: read.Run,
    dataset: Dataset,
    new: Any,
    iterations: int | None,
    seed: int | None,
    store: str | Path | None,
    progress: str,
) -> Made:
    """See `Posterior.update`."""
    if (missing := run.missing) is not None:
        raise config.ConfigError(f"update: the run is not finished: {missing}")
    whole, new_items = stack_items(dataset, new)
    seed = run.config["seed"] + 1 if seed is None else seed
    starts = start_states(run, initial.specification_of(run).model, dataset, new_items, np.random.default_rng(seed))
    changed = {"seed": seed, "progress": choose_progress(progress)}
    changed |= {} if iterations is None else {"iterations": iterations}

    def settle_in(out: str) -> tuple[Settled, Dataset]:
        data = {"data": "given", "data.sha256": hold(whole)}
        settings = config.specification.differences(initial.specification_of(run), data=data)
        # the states that chains start from, in a file that its digest names
        content = io.BytesIO()
        np.save(content, starts, allow_pickle=False)
        held = Path(out) / "starts" / f"{hashlib.sha256(content.getvalue()).hexdigest()[:12]}.npy"
        held.parent.mkdir(parents=True, exist_ok=True)
        with files.replace_file(held) as temporary:
            temporary.write_bytes(content.getvalue())
        named = {key: value for key, value in settings.items() if key not in ("K0", "warmup")}
        named |= {"init": str(held), "chains": len(starts), "out": out} | changed
        return Settled(config.specify_keys(named, run.config_dir), None), whole

    return make(settle_in, store)
