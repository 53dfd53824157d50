"""The one place where chains are judged: whether anything recorded shows that they have not converged, and whether
they are as long as ``until`` asks. The stopping rule, the verdict, advice, tables, pages and `Posterior` read it.

Monte Carlo standard errors of what a run reports: the error of a mean is the standard deviation of the draws over the
square root of their effective sample size. The error of a quantile is half the distance between the quantiles of two
probabilities, one standard error above and below its own (Vehtari et al. 2021, section 4).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from splitmerge_cli.diagnostics import mixing, partition_losses, point_estimate
from splitmerge_cli.diagnostics.mixing import CONSTANT, INFINITE, ONE, THE_SAME, TOO_FEW
from splitmerge_cli.diagnostics.summary import ACCEPTING, ARRIVALS, FOUND, MCSE, Row

ITEMS, MEMBERS = 100, 100
"""Most items whose certainties are looked at, and most members of its cluster with which each is compared."""
CANDIDATES = 40
"""Draws of which the most central one is the partition whose certainties and expected loss are looked at."""
FEWEST = 10
"""Partitions that each chain must have."""
ENOUGH = 400
"""Partitions of all chains. If many items leave fewer, errors are reported as for so many."""
SMALL_K = 5
"""Number of clusters below which errors of the number are shares of this instead."""
FEW_PARTITIONS = f"fewer than {FEWEST} partitions per chain"


def mean_error(draws: NDArray[np.float64]) -> float:
    """Return the Monte Carlo standard error for the mean of draws ``[chains, draws]``."""
    return float(draws.std() / np.sqrt(mixing.ess_of_mean(draws)))


def quantile_error(draws: NDArray[np.float64], probability: float) -> float:
    """Return the Monte Carlo standard error for a quantile, a value that occurs, of draws ``[chains, draws]``."""

    def quantiles(levels: list[float]) -> NDArray[np.float64]:
        return np.quantile(draws, np.clip(levels, 0, 1), method="inverted_cdf")

    below = (draws <= quantiles([probability])[0]).astype(float)
    share_error = np.sqrt(probability * (1 - probability) / mixing.ess_of_mean(below))
    low, high = quantiles([probability - share_error, probability + share_error])
    return float(high - low) / 2


def report_errors(counts: NDArray[np.float64], partitions: Mapping[int, NDArray[np.int32]]) -> list[Row]:
    """Rows of a diagnosis with the Monte Carlo standard errors of what a run reports, by the numbers of clusters in the
    second half of each chain, `counts` ``[chains, draws]``, and the `partitions` ``[M, N]`` by chain that an estimate
    averages; none if none are recorded.

    ``mcse/n_clusters``, ``mcse/interval_low`` and ``mcse/interval_high`` are shares of the mean number of clusters, or
    of `SMALL_K`, whichever is larger. Where partitions are recorded there are ``mcse/expected_loss``, in nats, and
    ``mcse/certainty``, the root mean square over `ITEMS` items, evenly spaced: both of one draw from the middle of the
    draws in place of the estimate, the search for which takes longer.
    """
    if counts.shape[1] < mixing.MIN_DRAWS:
        return []
    size = max(SMALL_K, float(counts.mean()))
    of_counts = {
        "n_clusters": mean_error(counts),
        "interval_low": quantile_error(counts, (1 - point_estimate.LEVEL) / 2),
        "interval_high": quantile_error(counts, (1 + point_estimate.LEVEL) / 2),
    }
    note = f"a share of the number of clusters, of {SMALL_K} where there are fewer"
    rows: list[Row] = [(f"{MCSE}/{name}", None, error / size, note) for name, error in of_counts.items()]
    if len(partitions) < len(counts):
        return rows
    draws = min(map(len, partitions.values()))
    if draws < FEWEST:
        return [*rows, *((f"{MCSE}/{name}", None, np.nan, FEW_PARTITIONS) for name in ("expected_loss", "certainty"))]
    # a budget ends chains at different iterations
    each = np.stack([partitions[chain][len(partitions[chain]) - draws :] for chain in sorted(partitions)])
    whole = each.reshape(-1, each.shape[-1])
    candidates = whole[point_estimate.evenly_spaced(len(whole), CANDIDATES)]
    centre = candidates[partition_losses.all_distances(candidates, candidates).mean(axis=1).argmin()]
    losses = partition_losses.distances(centre, whole).reshape(each.shape[:2])
    errors = [mean_error(series) for series in _certainties(centre, each)]
    n_kept = point_estimate.most_partitions(each.shape[-1]) * len(each)
    scale = min(1.0, math.sqrt(n_kept / ENOUGH))
    few = f"as for {ENOUGH} partitions: {n_kept} are kept with so many items" if n_kept < ENOUGH else None
    values = {"expected_loss": mean_error(losses), "certainty": math.sqrt(np.mean(np.square(errors)))}
    return [*rows, *((f"{MCSE}/{name}", None, scale * value, few) for name, value in values.items())]


def _certainties(labels: NDArray[np.int32], partitions: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the share of its cluster with which an item is in each partition ``[chains, M, N]``: float64 ``[items,
    chains, M]``. For an item that is alone: whether it is alone among items, evenly spaced."""
    certainties, by_item = [], np.moveaxis(partitions, -1, 0)
    for item in point_estimate.evenly_spaced(len(labels), ITEMS):
        is_own = labels == labels[item]
        is_alone = is_own.sum() == 1
        others = np.flatnonzero(~is_own if is_alone else is_own)
        others = others[others != item]
        others = others[point_estimate.evenly_spaced(len(others), MEMBERS)]
        together = by_item[others] == by_item[item]
        certainties.append(~together.any(axis=0) if is_alone else together.mean(axis=0))
    return np.array(certainties, dtype=float)


NOT_CONVERGED = 1.1
"""R-hat from which on chains have not converged."""
OF_PARTITIONS = ("log_joint", "log_lik", "n_clusters", "K", "largest", "pairs")
"""Quantities of every trace, and pairs of items in one cluster. The others are hyper-parameters, which a trace has
where they are unknown."""
OF_FEW_VALUES = ("components", "informative", "nu")
"""Hyper-parameters that are whole numbers, or one of some fixed values: one may have one value in all draws, though it
is sampled."""
MOVED = 2
"""Fewest chains that reached one state independently, if no draw differs."""
COARSE = {"expected_loss": 2.5, "interval_low": 5.0, "interval_high": 5.0}
"""Factor by which these Monte Carlo errors may exceed the errors of certainties."""
ONE_CHAIN = "one chain cannot show it, because R-hat compares chains"


@dataclass(frozen=True)
class Convergence:
    """Convergence of a run's chains, by all that was recorded of them."""

    converged: bool | None
    """False where the R-hat of a recorded quantity is `NOT_CONVERGED` or more, or infinite, or a hyper-parameter was
    not sampled; None if there is no R-hat, or all chains keep one number of clusters, to which none came from above,
    or none from below."""
    quantity: str | None = None
    """The one of the largest R-hat."""
    rhat: float | None = None
    """Its R-hat; None if it is undefined or infinite."""
    note: str | None = None
    """Why it cannot be judged, or why R-hat is infinite."""
    ess: float | None = None
    """The smallest effective sample size, bulk or tail, of all chains together; None if none is defined."""
    ess_of: str | None = None
    """The quantity that has it."""
    not_sampled: tuple[str, ...] = ()
    """Hyper-parameters that are unknown, but have one value in the second half of every chain; whole numbers may."""
    is_one_sided: bool = False
    """Whether all chains keep one number of clusters in their second halves, to which no chain came from more, or none
    from fewer: nothing then shows that those numbers are less probable. Starts that each chain searches on its own are
    taken to be apart."""
    never_accepted: tuple[str, ...] = ()
    """Moves that were proposed `summary.TRIED` times or more, and that no chain accepted in its second half."""
    is_constant: bool = False
    """Whether nothing recorded differs between any two draws."""
    mcse: float | None = None
    """The largest Monte Carlo standard error of what is reported (`report_errors`), some divided by
    `COARSE`; None if none is known."""
    mcse_of: str | None = None
    """The quantity that has it."""
    classic: float | None = None
    """The largest classical R-hat, which grows with the distance between chains, as ranks do not; None if it is
    undefined or infinite."""

    def reaches(self, rhat: float | None, ess: float | None, mcse: float | None = None) -> bool:
        """Whether chains are long enough: R-hat and Monte Carlo errors at most, and ESS at least, what is asked for
        (None: whatever it is).

        Chains of fewer draws than R-hat needs are not; those that are constant are, since more of them show nothing
        else. A value that is undefined reaches nothing.
        """
        if self.note is not None and self.note.startswith(TOO_FEW):
            return False
        if self.is_constant:
            return True
        reached = rhat is None or (self.rhat is not None and self.rhat <= rhat)
        reached &= ess is None or (self.ess is not None and self.ess >= ess)
        return reached and (mcse is None or (self.mcse is not None and self.mcse <= mcse))

    @property
    def description(self) -> str:
        """The quantity and its R-hat, for messages."""
        if self.not_sampled:
            return f"not sampled: {', '.join(self.not_sampled)}"
        if self.quantity is None and self.note is not None:
            return self.note
        return f"R-hat of {self.quantity}: {format_rhat(self.rhat)}"


def format_rhat(rhat: float | None, limit: float = NOT_CONVERGED) -> str:
    """R-hat as text, with the digits in which it differs from 1 and from a `limit`; None: it is infinite."""
    if rhat is None:
        return "infinite"
    return format_clear(rhat, limit, ".3f") if rhat < 10 else f"{rhat:,.0f}"


def format_clear(value: float, limit: float, form: str) -> str:
    """A number in a form such as ``.3f``, with more digits where it would be rounded to or past its limit.

    >>> format_clear(1.0999, 1.1, ".3f"), format_clear(1.09996, 1.1, ".3f"), format_clear(1.2, 1.1, ".3f")
    ('1.0999', '1.09996', '1.200')
    """
    grouped, _, digits = form[:-1].partition(".")
    texts = (f"{value:{grouped}.{more}{form[-1]}}" for more in range(int(digits), 17))
    side = np.sign(value - limit)
    return next((text for text in texts if np.sign(float(text.replace(",", "")) - limit) == side), f"{value}")


def convergence(diagnosis: Sequence[Row]) -> Convergence:
    """Judge the chains of a run by the largest R-hat of all quantities that were recorded, and by where they have been;
    of one chain, and of chains too short for R-hat, nothing is known.

    If no draw of the second halves differs, there is no R-hat. Chains that reached one state independently
    (`summary.count_found`) then agree as far as anything shows. Chains that all keep one number of clusters show that
    it is more probable than others only if some came from fewer and some from more (`summary.count_arrivals`): chains
    between two of which no move is accepted have an R-hat near 1 wherever they are.
    """
    rows, bulk = _overall(diagnosis, "rhat"), _overall(diagnosis, "ess")
    least, ess_of = min(_finite_values([*bulk, *_overall(diagnosis, "ess_tail")]), default=(None, None))
    worst, quantity = max(_finite_values(rows), default=(None, None))
    classic, _ = max(_finite_values(_overall(diagnosis, "rhat_classic")), default=(None, None))
    errors = [(value / COARSE.get(name, 1.0), name) for value, name in _finite_values(_overall(diagnosis, MCSE))]
    mcse, mcse_of = max(errors, default=(None, None))
    one_sided = _describe_side({name: int(value) for name, value, _ in _overall(diagnosis, ARRIVALS)})
    notes = {note for _, _, note in rows}
    is_constant = notes == {THE_SAME} or (notes == {ONE} and all(note == CONSTANT for _, _, note in bulk))
    judged = Convergence(
        converged=None,
        quantity=quantity,
        rhat=worst,
        ess=least,
        ess_of=ess_of,
        is_one_sided=one_sided is not None,
        never_accepted=tuple(move for move, chains, _ in _overall(diagnosis, ACCEPTING) if not chains),
        is_constant=is_constant,
        mcse=mcse,
        mcse_of=mcse_of,
        classic=classic,
    )
    not_sampled = (name for name, _, note in bulk if note == CONSTANT and name not in OF_PARTITIONS + OF_FEW_VALUES)
    if named := tuple(name for name in not_sampled if not name.startswith("largest")):
        return replace(judged, converged=False, note="constant in the second half of every chain", not_sampled=named)
    for name, _, note in rows:
        if note in INFINITE:
            return replace(judged, converged=False, quantity=name, rhat=None, note=note, classic=None)
    if worst is not None and worst >= NOT_CONVERGED:
        return replace(judged, converged=False)
    if ONE in notes:
        return replace(judged, note=ONE_CHAIN)
    if worst is None and TOO_FEW in notes:
        return replace(judged, note=TOO_FEW)
    if one_sided is not None:
        return replace(judged, note=one_sided)
    if worst is not None:
        return replace(judged, converged=True)
    counts = {name: value for name, value, _ in _overall(diagnosis, FOUND)}
    if counts.get("chains", 0) >= MOVED:
        n = counts["draws"]
        note = (
            f"all {n:,.0f} draws of the second halves are identical in everything recorded, and {counts['chains']:.0f} "
            f"chains reached them independently; independent draws would leave at most {1 - 0.05 ** (1 / n):.1%} of "
            "the posterior elsewhere (level 0.95)"
        )
        return replace(judged, converged=True, note=note)
    # every quantity is one number in all chains, or there are too few draws
    return replace(judged, note=next((note for _, _, note in rows if note), None))


def _describe_side(arrivals: Mapping[str, int]) -> str | None:
    """Say from which side no chain came to the number of clusters that all keep; None if chains came from both."""
    if not (missing := [side for side in ("more", "fewer") if arrivals.get(f"from_{side}") == 0]):
        return None
    clusters = f"{arrivals['clusters']:,} cluster{'s' * (arrivals['clusters'] != 1)}"
    return f"all chains have {clusters} throughout their second halves, and none ever had {' or '.join(missing)}"


def _overall(diagnosis: Sequence[Row], kind: str) -> list[tuple[str, float, str | None]]:
    """Quantity, value and note in the rows of one kind over all chains."""
    each = [(*quantity.partition("/"), value, note) for quantity, chain, value, note in diagnosis if chain is None]
    return [(name, value, note) for kind_of_row, _, name, value, note in each if kind_of_row == kind]


def _finite_values(rows: list[tuple[str, float, str | None]]) -> list[tuple[float, str]]:
    """The finite values, and their quantities."""
    return [(value, name) for name, value, _ in rows if math.isfinite(value)]
