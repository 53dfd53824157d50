"""Fits from which `auto` takes densities: short chains whose draws stay in memory."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli import config, runs
from splitmerge_cli.analysis import alternatives, predictive
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.point_estimate import evenly_spaced
from splitmerge_cli.fits import candidates, objects
from splitmerge_cli.runs import draws, drive, interrupts, starts
from splitmerge_cli.runs.store.files import DamagedRun, report_damage
from splitmerge_cli.runs.store.manifest import read_sealed, write_sealed

ITERATIONS = 500
"""Iterations of each chain in a fold, which has `CHAINS`."""
CHAINS = 2
STEP_EVERY = 5.0
"""Seconds between two lines about candidates; the choice itself has a line of its own."""


@dataclass(frozen=True)
class ShortFit:
    """Draws of a model on a data set."""

    model: config.Component
    dataset: Dataset
    states: list[draws.State]

    @cached_property
    def partitions(self) -> NDArray[np.int32]:
        """ndarray of int32, ``[draws, N]``: the labels of the rows in every draw."""
        return np.stack([state.labels for state in self.states])

    def leave_one_out(self, states: int) -> alternatives.LeaveOneOut:
        """Log predictive density of each row given all others, from `states` draws at most."""
        return alternatives.leave_one_out(self.model, self.dataset, self.thin(states))

    def log_predictive(self, new: Dataset, states: int) -> NDArray[np.float64]:
        """Log predictive density of new rows, averaged over `states` draws at most: float64 ``[n]``."""
        first = self.states[0].labels
        return predictive.predict(self.model, self.dataset, new, self.thin(states), first, "density").log_density

    def thin(self, most: int) -> list[draws.State]:
        """So many of the draws at most, evenly spaced."""
        return [self.states[row] for row in evenly_spaced(len(self.states), most)]


def short_fits(sampler: Any, seed: int, say: Callable[[str], None], progress: str) -> candidates.Fits:
    """Short fits by a sampler (None: the default). Every `STEP_EVERY` seconds at most they tell `say` how a candidate
    does, never with `progress` none."""
    last = time.monotonic()

    def tell(line: str) -> None:
        nonlocal last
        if progress != "none" and time.monotonic() >= last + STEP_EVERY:
            last = time.monotonic()
            say(line)

    return candidates.Fits(sample_by(sampler, seed), seed, tell)


@contextmanager
def keeping(fits: candidates.Fits, file: Path, again: bool) -> Iterator[None]:
    """Store fits that take long in this file until the choice is made. A choice that was interrupted goes on from what
    is stored there, unless all is made `again`."""

    def store() -> None:
        made = {
            known: np.concatenate(([one.n_clusters], one.log_density, one.shape)) for known, one in fits.made.items()
        }
        # a folder that cannot be written is reported by the run itself
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_sealed(file, {"fits": [[*known, *map(repr, numbers.tolist())] for known, numbers in made.items()]})

    if file.is_file() and not again:
        with suppress(DamagedRun), report_damage(file):
            for options, digest, iterations, n_clusters, *by_row in read_sealed(file)["fits"]:
                log_density, shape = np.split(np.array(by_row, dtype=float), 2)
                fits.made[options, digest, iterations] = alternatives.LeaveOneOut(log_density, shape, float(n_clusters))
    fits.store = store
    interrupted = False
    try:
        yield
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt) or interrupts.is_interrupted()
        raise
    finally:
        with suppress(OSError):
            if not interrupted:
                file.unlink(missing_ok=True)


def sample_by(sampler: Any, seed: int) -> candidates.Sample:
    """Short fits by a sampler. Chains of a model on data for which fewer iterations were made go on. Chains that would
    look for their start among clusters of a simpler model take the clusters of the last ones that did so on as many
    rows: candidates are then compared in the same modes, at the price of one search."""
    keys: dict[str, Any] = {"chains": CHAINS, "iterations": ITERATIONS, "seed": seed, "progress": "none"}
    keys |= {} if sampler is None else objects.choice_keys("sampler", sampler)
    base = cache(lambda: config.specify_keys(keys))
    begun: dict[tuple[str, str], drive.ShortRun] = {}
    searched: dict[int, drive.ShortRun] = {}

    def of_model(model: Mapping[str, Any], iterations: int | None = None) -> Callable[[Dataset], ShortFit]:
        named = {"trace.partitions": 5 if iterations is None else 1} | objects.choice_keys("model", model)

        def sample(dataset: Dataset) -> ShortFit:
            held, of_data = objects.held_keys(dataset, str(model["name"]), None, {})
            assert held is not None
            # options that are named and options that are the default are one model
            known = repr(sorted(candidates.model_of(model).values.items())), of_data["data.sha256"]
            shares = False
            if (run := begun.get(known)) is None:
                started = starts.start_of(base().with_(named | of_data)).choose_for_fit()
                shares = started.init in (starts.BEST, starts.SIMPLER) and held.items is None
                labels = searched[held.N].labels if shares and held.N in searched else None
                run = drive.ShortRun(runs.prepare(started, records=False, labels=labels))
            states = run.sample_states(iterations or ITERATIONS)
            if iterations is not None:
                begun[known] = run
                if shares:
                    searched[held.N] = run
            return ShortFit(run.model, held, states)

        return sample

    return of_model
