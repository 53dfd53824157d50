"""The sampled check: frequencies of chains against the enumerated posterior."""

from __future__ import annotations

from splitmerge_cli.config import Component, component, gibbs_update
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PARTITION, Sampler
from splitmerge_cli.runs.datasets import build_sampler
from splitmerge_cli.verify.cases import Case
from splitmerge_cli.verify.frequencies import adaptive_frequencies, sampled_frequencies
from splitmerge_cli.verify.kernel import Kernel
from splitmerge_cli.verify.options import Request
from splitmerge_cli.verify.transitions import total_variation

BURN_IN = 200
"""Gibbs scans before samplers that learn; the snapshot is taken from their second half."""


def sampled_check(case: Case, sampler: Component, kernel: Kernel, request: Request) -> tuple[list[str], bool]:
    """Return the cells of the sampled check, and whether it is farther from the posterior than chance."""
    if is_adaptive := "adaptation" in sampler.options:
        connected = sampler.options["adaptation"] == "frozen"
        if "freeze" not in request.sampler_options:
            sampler = sampler.with_options(freeze=BURN_IN)
    else:
        # with continuous draws the refresh connects what the moves do not
        connected = kernel.is_connected or (
            kernel.why == "continuous" and PARTITION not in sampler.target.invariants(case.model, **sampler.options)
        )
    parts, sign = _chain_of(case.model, sampler, connected)

    def build(model: Model, rng: Rng) -> tuple[list[Sampler], Sampler]:
        scan = gibbs_update(model.conjugate)
        return [build_sampler(part, model, rng) for part in parts], build_sampler(scan, model, rng)

    if is_adaptive:
        frequencies, noise = adaptive_frequencies(case, build, request.iterations, BURN_IN, seed=request.seed)
    else:
        rng = Rng(request.seed)
        samplers = [build_sampler(part, case.model, rng) for part in parts]
        frequencies, noise = sampled_frequencies(case, samplers, rng, request.iterations)
    distance = total_variation(frequencies, case.partitions[1])
    return [f"{distance:.4f}{sign}", f"{noise:.4f}"], distance > 3 * noise + 1e-12


def sampled_check_of_weights(case: Case, sampler: Component, request: Request) -> tuple[list[str], list[str], bool]:
    """Return the cells of a sampler of clusters with weights, from `TV alone` on, the cells of the sampled check, and
    whether one chain is farther from the posterior than chance."""
    together: dict[str, list[str]] = {"alone": [], "gibbs": ["gibbs", "refresh"], "refresh": ["refresh"]}
    company = {
        which: [component("sampler", other) for other in others if other != sampler.name]
        for which, others in together.items()
        if which != sampler.name
    }
    # a scan alone hardly ever changes a weight, and refresh no label
    if case.held is None or not sampler.target.TERMS:
        del company["alone"]
    cell_by_check = dict.fromkeys(("alone", "gibbs", "refresh"), "")
    largest, far = 0.0, False
    for which, others in company.items():
        # of dozens of chains one is beyond three times the noise by chance: it has to be so again, four times as long
        for t in range(2):
            rng = Rng(request.seed + t)
            samplers = [build_sampler(part, case.model, rng) for part in (sampler, *others)]
            frequencies, noise = sampled_frequencies(case, samplers, rng, 4**t * request.iterations)
            pi = case.pi
            if which == "alone":
                assert case.held is not None
                pi = case.held(case.model.log_weights[-1])  # type: ignore[attr-defined]
            distance = total_variation(frequencies, pi)
            beyond = distance > 3 * noise + 1e-12
            if not beyond:
                break
        cell_by_check[which] = f"{distance:.4f}" + "+" * (which == "refresh")
        largest, far = max(largest, noise), far or beyond
    return [cell_by_check["alone"], "", cell_by_check["gibbs"]], [cell_by_check["refresh"], f"{largest:.4f}"], far


def _chain_of(model: Model, sampler: Component, connected: bool) -> tuple[list[Component], str]:
    """Return the samplers of the sampled check, and the sign for those that were added."""
    parts, sign = [sampler], ""
    if not connected:
        sign = "*"
        if "adaptation" in sampler.options:
            parts.append(gibbs_update(conjugate=True, scan="site"))
        else:
            parts.append(gibbs_update(model.conjugate))
            parts += [component("sampler", "birth_death", mode=sampler.options["mode"])] if model.conjugate else []
    if model.refreshes and sampler.name != "refresh":
        sign += "+"
        parts.append(component("sampler", "refresh"))
    return parts, sign
