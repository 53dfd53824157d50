"""`smcmc.certify`: bound the distance of a chain from its posterior; races of samplers, on request with certificates.

>>> import smcmc
>>> print(smcmc.certify("gaussian", table))
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from splitmerge_cli.analysis import coupled_pairs
from splitmerge_cli.analysis.certificate import Certificate
from splitmerge_cli.analysis.plots import races as plots
from splitmerge_cli.analysis.plots.style import save, use_style
from splitmerge_cli.analysis.race import Race
from splitmerge_cli.api import sampling, updating
from splitmerge_cli.config import ConfigError, RunSpecification, groups
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.extras import name_missing
from splitmerge_cli.runs.plan import Plan
from splitmerge_cli.runs.progress import SweepProgress, SweepState


@sampling.answer_misspelt
@name_missing
def certify(
    model: str | Mapping[str, Any],
    data: Any,
    sampler: str | Mapping[str, Any] | None = None,
    *,
    pairs: int = 100,
    iterations: int | None = None,
    lag: int | None = None,
    k: int | None = None,
    m: int | None = None,
    seconds: float | None = None,
    coupling: str = coupled_pairs.COUPLING,
    new: Any = None,
    seed: int = 0,
    rng: Any = None,
    store: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: str = "auto",
) -> Certificate:
    """Bound the distance of a chain from its posterior.

    Pairs of chains are coupled so that they meet. How soon they meet gives an estimated bound of how far the
    distribution of a chain after t iterations is from the posterior, in total variation; and posterior means follow
    that need no burn-in.

    Parameters
    ----------
    model, data, sampler, seed, rng, options, workers, progress
        As of `splitmerge_cli.sample`. Chains start from a mixture of one cluster, singletons and draws from the prior,
        unless `options` name another `init`.
    pairs : int
        Pairs of chains, at least 2. The limit of the bound cannot fall below some 3 / `pairs`.
    iterations : int, optional
        Most iterations of a pair; by default as on the command line.
    lag, k, m : int, optional
        Iterations by which one chain of a pair is ahead of the other, and those over which the estimates are taken; by
        default a pilot chooses.
    seconds : float, optional
        After so many no further pair is begun, and of the pilot none after a fifth of them; those that were begun are
        finished.
    coupling : str
        How draws of a cluster by the two chains of a pair are coupled: ``maximal``, ``common`` (uniform numbers) or
        ``transport`` (for the distance between the partitions; slow).
    new : object, optional
        New items, as `Posterior.log_predictive` takes them, whose predictive densities are estimated.
    store : str or Path, optional
        Folder that receives the certificate: pairs that are there are not made again. By default a temporary folder,
        which is left to the system.

    Returns
    -------
    Certificate
        `lines()` describes it in words, `bound` is the bound or None, `wasserstein` bounds the share of pairs of items
        that differ, `lacks` why there is none, `starts` how many partitions the chains started from, `not_sampled` what
        never changed; `estimates()` has the posterior means, `co_clustering()` and `log_predictive()` the means for
        pairs of items and of new items, `meetings()` what every pair did.

    Raises
    ------
    ConfigError, DataError
        Bad input, or a sampler or model that cannot be coupled: the message says why.
    Interrupted
        Ctrl-C; what was finished is stored, and the same call goes on with it where `store` names a folder.

    Notes
    -----
    Sources: Biswas, Jacob and Vanetti 2019 (bounds), Jacob, O'Leary and Atchade 2020 (estimates). The bound is itself
    estimated, and it is for chains from the start that was given: a mode that no pair visits stays unseen.

    Examples
    --------
    >>> import smcmc
    >>> from sklearn.datasets import load_iris
    >>> certificate = smcmc.certify("gaussian", load_iris(as_frame=True).data, "sams", pairs=20)
    >>> print(*certificate.lines(), sep="\\n")
    """
    keys: dict[str, Any] = {"seed": sampling.read_seed(seed, rng), "iterations": iterations, "workers": workers}
    keys["progress"] = updating.choose_progress(progress)
    keys = {key: value for key, value in keys.items() if value is not None}
    further_keys = {"init": coupled_pairs.MIXTURE} | dict(options or {})
    keys["out"] = str(tempfile.mkdtemp(prefix="smcmc-") if store is None else store)
    settled, _ = sampling.specify_sample(model, data, sampler, keys, None, further_keys)
    plan = coupled_pairs.check_coupling(settled.spec)
    new_items = None if new is None else plan.dataset.kind.new_items(plan.dataset, new)
    return make_certificate(plan, pairs, lag, k, m, seconds, coupling, new_items, keys["progress"])


def make_certificate(
    plan: Plan,
    pairs: int,
    lag: int | None = None,
    k: int | None = None,
    m: int | None = None,
    seconds: float | None = None,
    coupling: str = coupled_pairs.COUPLING,
    new: Dataset | None = None,
    progress: str = "auto",
) -> Certificate:
    """Make a certificate, and write its tables and picture; parameters as in `coupled_pairs.certify`."""
    for name, value, least in [("pairs", pairs, 2), ("lag", lag, 1), ("k", k, 0), ("m", m, 1)]:
        if value is not None and value < least:
            raise ConfigError(f"{name}={value}: expected at least {least}")
    if seconds is not None and not seconds > 0:
        raise ConfigError(f"seconds={seconds:g}: expected a positive number")
    state, began = SweepState(0, 0.0), time.monotonic()

    def on_pair(done: int, n_pairs: int) -> None:
        state.complete, state.share = done, done
        state.left = (time.monotonic() - began) / done * (n_pairs - done) if done else math.inf

    with SweepProgress(progress, pairs, lambda: state, "pairs"):
        time_limit = math.inf if seconds is None else seconds
        result = coupled_pairs.certify(plan, pairs, lag, k, m, time_limit, on_pair, coupling, new)
    result.write()
    with use_style():
        save(plots.meetings(result), result.path / "certificate")
    return result


def efficiencies(jobs: Sequence[RunSpecification], pairs: int, workers: int | None = None) -> Iterator[str]:
    """Certify every sampler of a race, in `jobs`, by so many `pairs` of coupled chains, and say what its estimates
    cost: the variance of one pair's estimate times the processor seconds of a pair."""
    changed = {key: groups.main_values()[key] for key in ("seed", "chains", "budget")} | {"init": coupled_pairs.MIXTURE}
    changed |= {} if workers is None else {"workers": workers}
    certified = [job.with_(changed) for job in jobs]
    for number, job in enumerate(certified):
        if job in certified[:number]:
            continue
        try:
            certificate = make_certificate(coupled_pairs.check_coupling(job), pairs, progress=job.progress)
        except ConfigError as error:
            yield f"{job.sampler_name}: {error}"
            continue
        estimates, sampler = certificate.estimates(), certificate.config["sampler"]["name"]
        if not len(estimates):
            yield f"{sampler}: {'; '.join(certificate.lacks)}"
            continue
        by_quantity = estimates.set_index("quantity")
        seconds = float(np.mean([pair.seconds for pair in certificate.pairs]))
        cost = by_quantity["standard_error"] ** 2 * by_quantity["pairs"] * seconds
        yield (
            f"{sampler}: variance x seconds of an unbiased estimate {cost['n_clusters']:.3g} (n_clusters), "
            f"{cost['log_joint']:.3g} (log joint)"
        )


def write_race(race: Race, out: Path) -> Path:
    """Write the tables and the figure of a race to a folder of `out`, and return it."""
    folder = race.write(out)
    with use_style():
        save(plots.times(race), folder / "race")
    return folder
