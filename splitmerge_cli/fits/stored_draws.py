"""The draws of a run with its data, and whether to trust them."""

import io
import shutil
import sys
import tempfile
import weakref
import zipfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.analysis.alternatives import LeaveOneOut, leave_one_out
from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.reading import hold
from splitmerge_cli.diagnostics.convergence import Convergence
from splitmerge_cli.extras import name_missing
from splitmerge_cli.fits.objects import NotConverged, dataset_again, warn
from splitmerge_cli.runs import answers, dataset_of, grouping, initial, judgement, open_run
from splitmerge_cli.runs.draws import recorded_partitions, states_of
from splitmerge_cli.runs.store import read, schema

if TYPE_CHECKING:
    import xarray


NUMBERED = 8
"""Letters for the number of a row, next to a column as wide as the terminal."""


class Table(pd.DataFrame):
    """A data frame that hides no column in a narrow terminal: columns that do not fit follow below."""

    @property
    def _constructor(self) -> type["Table"]:
        return Table

    def __repr__(self) -> str:
        # a notebook or a file is as wide as pandas says, wherever it is written
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else pd.get_option("display.width") or 80
        widest = max(width - NUMBERED, NUMBERED)
        with pd.option_context(
            *("display.max_columns", None), *("display.width", width), *("display.max_colwidth", widest)
        ):
            return super().__repr__()


class StoredDraws:
    """The draws that a run recorded, and its data; the part of a `Posterior` that estimates nothing. The data are
    loaded again where they are needed if they are not given; `temporary` is a folder that is removed when nobody holds
    the run any more; the `model` is read from the folder if it is not given."""

    def __init__(
        self,
        run: read.Run,
        dataset: Dataset | None = None,
        temporary: str | None = None,
        model: Component | None = None,
    ) -> None:
        self.run, self._dataset, self._given_model = run, dataset, model
        if temporary is not None:
            run.remedy = "with store=FOLDER the same call would continue it"
            weakref.finalize(run, shutil.rmtree, temporary, ignore_errors=True)

    @classmethod
    def load(cls, path: str | Path, data: Any = None, truth: ArrayLike | None = None) -> Self:
        """The sample of a run's folder, which is checked as a whole.

        Parameters
        ----------
        path : str or Path
            What ``smcmc run`` printed, or `path` of another sample.
        data : object, optional
            The data, where `sample` was given them as an object: predictions need them.
        truth : array_like, optional
            The true labels that `sample` was given with them.

        Raises
        ------
        FileNotFoundError
            There is no run.
        DamagedRun
            A file is not what was written.
        """
        run = open_run(path)
        return cls(run, None if data is None else dataset_again(run, data, truth))

    def __getstate__(self) -> dict[str, Any]:
        """The run's folder and the data, for a pickle.

        A pickle is for your own processes. Reading one runs whatever code it names, so a stranger's pickle can do
        anything: pass on the folder `path` (`load` checks all of it), or ``traces.to_netcdf(FILE)``.
        """
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for file in sorted(self.run.path.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(self.run.path))
        return {"run": packed.getvalue(), "name": self.run.path.name, "dataset": self._dataset}

    def __setstate__(self, state: dict[str, Any]) -> None:
        folder = tempfile.mkdtemp(prefix="smcmc-")
        path = Path(folder) / state["name"]
        with zipfile.ZipFile(io.BytesIO(state["run"])) as archive:
            archive.extractall(path)
        if state["dataset"] is not None:
            hold(state["dataset"])
        self.__init__(read.Run(path), state["dataset"], folder)  # type: ignore[misc]

    @property
    def path(self) -> Path:
        """Path: the folder of the run."""
        return self.run.path

    @property
    def complete(self) -> bool:
        """bool: whether all chains made all of their iterations; False after Ctrl-C."""
        return self.run.is_done

    @property
    def dataset(self) -> Dataset:
        """Dataset: the data of the run."""
        if self._dataset is None:
            self._dataset = dataset_of(self.run)
        return self._dataset

    # -- draws
    @cached_property
    def _recorded_partitions(self) -> pd.DataFrame:
        """Recorded partitions of the second halves, of each chain at one spacing."""
        return recorded_partitions(self.run)

    @cached_property
    def partitions(self) -> NDArray[np.int32]:
        """ndarray of int32, ``[draws, N]``: the labels of the items in every draw; of a run with `gap` in up to 100,
        whose clusters are joined.

        Raises
        ------
        ConfigError
            The run recorded none.
        FileNotFoundError
            The unfinished run has not recorded one yet.
        """
        if self._recorded_partitions.empty:
            if (missing := self.run.missing) is not None and self.run.config["trace"]["partitions"] != 0:
                raise FileNotFoundError(f"{self.path}: no recorded partition yet: {missing}")
            expected = "options={'trace.partitions': 10}"
            raise ConfigError(f"trace.partitions: the run recorded no partition; expected {expected}")
        if (joined := answers.joined_partitions(self.run)) is not None:
            return joined
        draws = np.stack(self._recorded_partitions["labels"].to_list()).astype(np.int32)
        return grouping.join_apart(draws, grouping.rows_apart(draws, self.run.summary) if self.complete else None)

    @cached_property
    @name_missing
    def traces(self) -> "xarray.DataTree":
        """xarray.DataTree: the traces in ArviZ's form.

        Groups ``posterior`` (K, hyper-parameters) and ``sample_stats`` (lp: log joint density; log_lik) hold the second
        halves of the chains, ``warmup_posterior`` and ``warmup_sample_stats`` the first ones. Chains of unequal length
        are cut to the shortest. ``to_netcdf`` and ``to_zarr`` write it.
        """
        from arviz_base import from_dict

        trace = self.run.trace()
        chains = [chain.sort_values("iteration") for _, chain in trace.groupby("chain")]
        length = min(map(len, chains)) // 2
        of_state = ["K", *schema.hyperparameters(trace.columns)]
        groups: dict[str, dict[str, Any]] = {}
        for prefix, last in (("warmup_", length), ("", 0)):
            rows = [chain.iloc[len(chain) - last - length : len(chain) - last] for chain in chains]
            groups[f"{prefix}posterior"] = {name: np.stack([row[name] for row in rows]) for name in of_state}
            stats = {"lp": "log_joint", "log_lik": "log_lik"}
            groups[f"{prefix}sample_stats"] = {
                name: np.stack([row[column] for row in rows]) for name, column in stats.items()
            }
        attributes = {"inference_library": "smcmc", "sampler": self.run.config["sampler"]["name"]}
        return from_dict(groups, save_warmup=True, attrs={"/": attributes})

    # -- convergence
    @property
    def _convergence(self) -> Convergence:
        """The judgement on the chains, of an unfinished run as they are so far."""
        return judgement.judgement_of(self.run)

    @cached_property
    def rhat(self) -> float:
        """float: the largest R-hat of all quantities that were recorded, as ``smcmc diagnose`` lists them; of an
        unfinished run the largest so far. inf if it is infinite because chains keep apart, nan if it is
        undefined: of one chain, of few draws, and where nothing changes."""
        judged = self._convergence
        if judged.rhat is None:
            return float("inf") if judged.converged is False else float("nan")
        return float(judged.rhat)

    @property
    def converged(self) -> bool:
        """bool: whether the run is finished and its chains show no sign of non-convergence, as ``smcmc diagnose`` says:
        `rhat` is below 1.1, and the chains have left the number of clusters that all began with. False where that
        cannot be told, such as of one chain."""
        return self.complete and bool(self._convergence.converged)

    @property
    def caution(self) -> str | None:
        """str or None: why not to believe the results: the run is not finished, and what it has; the
        chains have not converged, or cannot show it. None if they show no sign of non-convergence."""
        if (missing := self.run.missing) is not None:
            return f"the run is not finished: {missing}"
        judged = self._convergence
        if judged.converged:
            return None
        if judged.converged is None:
            return f"cannot tell whether the chains have converged: {judged.note}"
        return f"the chains have not converged ({judged.description}): run more iterations, or another sampler"

    def _warn(self) -> None:
        if (caution := self.caution) is not None:
            warn(caution, NotConverged)

    @cached_property
    def _model(self) -> Component:
        return self._given_model or initial.specification_of(self.run).model

    def leave_one_out(self, *, states: int = 200) -> LeaveOneOut:
        """Log predictive density of each item given all others, from the draws of this one fit.

        Parameters
        ----------
        states : int
            Draws that are averaged, at most.

        Returns
        -------
        LeaveOneOut
            `log_density`, float64 ``[N]``, natural logarithm, in the units of the data; `shape`, float64 ``[N]``: above
            0.7 a density rests on too few draws (Vehtari, Gelman and Gabry 2017).

        Raises
        ------
        ConfigError
            A model without such densities: of networks, documents, a power of the likelihood.

        Examples
        --------
        >>> points = [[0.0], [0.1], [5.0], [5.2]]
        >>> found = sample("gaussian", points, iterations=200, chains=2, progress="none").leave_one_out()
        >>> found.log_density.shape
        (4,)
        """
        self._warn()
        self.dataset.kind.require_rows(f"model={self._model.name}: no densities of single items")
        drawn = states_of(self.run, states, self._recorded_partitions)
        try:
            return leave_one_out(self._model, self.dataset, drawn)
        except ValueError as error:
            raise ConfigError(str(error)) from None
