"""Whether the chains of a run have converged, as far as R-hat shows it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from splitmerge_cli.diagnostics.mixing import CONSTANT, INFINITE
from splitmerge_cli.diagnostics.summary import FOUND, Row

NOT_CONVERGED = 1.1
"""R-hat from which on chains have not converged."""
OF_PARTITIONS = ("log_joint", "log_lik", "n_clusters", "K", "largest")
"""Quantities of every trace. The others are hyper-parameters, which a trace has where they are unknown."""
WHOLE = ("components",)
"""Hyper-parameters that are whole numbers: one may have one value in all draws, though it is sampled."""
MOVED = 2
"""Chains that reached one state each by itself, at least, where no draw differs."""
ONE_CHAIN = "one chain cannot show whether it has converged: R-hat compares chains"


@dataclass(frozen=True)
class Convergence:
    """Convergence of a run's chains, as R-hat shows it.

    Attributes
    ----------
    converged : bool or None
        False where the R-hat of a recorded quantity is `NOT_CONVERGED` or more, or infinite, or a hyper-parameter was
        not sampled; None where there is no R-hat.
    quantity : str or None
        The one of the largest R-hat.
    rhat : float or None
        Its R-hat; None where there is none, or it is infinite.
    note : str or None
        Why it cannot be judged, or why R-hat is infinite.
    ess : float or None
        The smallest bulk effective sample size of all chains together; None where none is defined.
    ess_of : str or None
        The quantity that has it.
    not_sampled : tuple of str
        Hyper-parameters that are unknown, but have one value in the second half of every chain; whole numbers may.
    """

    converged: bool | None
    quantity: str | None = None
    rhat: float | None = None
    note: str | None = None
    ess: float | None = None
    ess_of: str | None = None
    not_sampled: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The quantity and its R-hat, for messages."""
        if self.not_sampled:
            return f"not sampled: {', '.join(self.not_sampled)}"
        if self.quantity is None and self.note is not None:
            return self.note
        return f"R-hat of {self.quantity}: " + ("infinite" if self.rhat is None else f"{self.rhat:.3g}")


def convergence(diagnosis: Sequence[Row]) -> Convergence:
    """Judge the chains of a run by the largest R-hat of all quantities that were recorded.

    Where no draw of the second halves differs there is no R-hat. Chains that reached one state each by itself
    (`summary.count_found`) then agree as far as anything shows; of chains that never left a start that they share
    nothing is known.

    Parameters
    ----------
    diagnosis : sequence of Row
        As of `summary.diagnose`.

    Returns
    -------
    Convergence
        Of one chain, and of chains too short for R-hat, nothing is known.
    """
    draws, rows = _overall(diagnosis, "ess"), _overall(diagnosis, "rhat")
    if not_sampled := tuple(name for name, _, note in draws if note == CONSTANT and name not in OF_PARTITIONS + WHOLE):
        return Convergence(False, note="one value in the second half of every chain", not_sampled=not_sampled)
    for name, _, note in rows:
        if note in INFINITE:
            return Convergence(False, name, None, note)
    least, ess_of = min(_finite_values(draws), default=(None, None))
    if known := _finite_values(rows):
        worst, name = max(known, key=lambda item: item[0])
        return Convergence(worst < NOT_CONVERGED, name, worst, ess=least, ess_of=ess_of)
    if len({chain for _, chain, _, _ in diagnosis} - {None}) < 2:
        return Convergence(None, note=ONE_CHAIN)
    found = {name: value for name, value, _ in _overall(diagnosis, FOUND)}
    if found.get("chains", 0) >= MOVED:
        n = found["draws"]
        note = (
            f"nothing recorded differs among the {n:,.0f} draws of the second halves, which {found['chains']:.0f} "
            f"chains reached each by itself; independent draws would leave at most {1 - 0.05 ** (1 / n):.1%} of the "
            "posterior elsewhere (level 0.95)"
        )
        return Convergence(True, note=note)
    # every quantity is one number in all chains, or there are too few draws
    return Convergence(None, note=next((note for _, _, note in rows if note), None))


def _overall(diagnosis: Sequence[Row], kind: str) -> list[tuple[str, float, str | None]]:
    """Quantity, value and note in the rows of one kind over all chains."""
    each = [(*quantity.partition("/"), value, note) for quantity, chain, value, note in diagnosis if chain is None]
    return [(name, value, note) for found, _, name, value, note in each if found == kind]


def _finite_values(rows: list[tuple[str, float, str | None]]) -> list[tuple[float, str]]:
    """The finite values, and their quantities."""
    return [(value, name) for name, value, _ in rows if math.isfinite(value)]
