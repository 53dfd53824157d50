"""The sampled check: frequencies of chains against the enumerated posterior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from splitmerge_cli.config import choice, load
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PARTITION, Sampler
from splitmerge_cli.runs.schedule import gibbs_update
from splitmerge_cli.verify.cases import Case, learning_frequencies, sampled_frequencies
from splitmerge_cli.verify.kernel import Kernel
from splitmerge_cli.verify.transitions import build_sampler, total_variation

BURN_IN = 200
"""Gibbs scans before samplers that learn; the snapshot is taken from their second half."""


def sampled_check(
    case: Case, given: Mapping[str, Any], extra: Mapping[str, Any], kernel: Kernel, options: Mapping[str, Any]
) -> tuple[list[str], bool]:
    """The cells of the sampled check, and whether it is farther from the posterior than chance."""
    if "adaptation" in given:
        connected = extra.get("adaptation") == "frozen"
        sign = ("" if connected else "*") + ("+" if case.model.refreshes else "")

        def chain(model: Model, rng: Rng) -> tuple[list[Sampler], Sampler]:
            samplers = [build_sampler(model, rng, given, {"freeze": BURN_IN, **extra})]
            if not connected:
                samplers.append(build_sampler(model, rng, choice("sampler", "gibbs"), {"scan": "site"}))
            if model.refreshes:
                samplers.append(build_sampler(model, rng, choice("sampler", "refresh")))
            return samplers, build_sampler(model, rng, choice("sampler", "gibbs"))

        frequencies, noise = learning_frequencies(case, chain, options["iterations"], BURN_IN, seed=options["seed"])
    else:
        rng = Rng(options["seed"])
        # with continuous draws the refresh connects what the moves do not
        connected = kernel.connected or (
            kernel.why == "continuous" and PARTITION not in load(given["_target_"]).invariants(case.model, **extra)
        )
        samplers, sign = _chain_of(case, rng, given, extra, connected)
        frequencies, noise = sampled_frequencies(case, samplers, rng, options["iterations"])
    distance = total_variation(frequencies, case.partitions[1])
    return [f"{distance:.4f}{sign}", f"{noise:.4f}"], distance > 3 * noise + 1e-12


def sampled_check_of_topics(
    case: Case, given: Mapping[str, Any], extra: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[list[str], list[str], bool]:
    """The cells of a sampler of topics from `TV alone` on, those of the sampled check, and whether one chain is farther
    from the posterior than chance."""
    together: dict[str, list[str]] = {"alone": [], "gibbs": ["gibbs", "refresh"], "refresh": ["refresh"]}
    company = {
        which: [other for other in others if other != given["name"]]
        for which, others in together.items()
        if which != given["name"]
    }
    # a scan alone hardly ever changes a weight, and refresh no topic
    if case.held is None or not load(given["_target_"]).TERMS:
        del company["alone"]
    found = dict.fromkeys(("alone", "gibbs", "refresh"), "")
    largest, far = 0.0, False
    for which, others in company.items():
        # of dozens of chains one is beyond three times the noise by chance: it has to be so again, four times as long
        for t in range(2):
            rng = Rng(options["seed"] + t)
            samplers = [build_sampler(case.model, rng, given, extra)]
            samplers += [build_sampler(case.model, rng, choice("sampler", other), {}) for other in others]
            frequencies, noise = sampled_frequencies(case, samplers, rng, 4**t * options["iterations"])
            pi = case.pi
            if which == "alone":
                assert case.held is not None
                pi = case.held(case.model.log_weights[-1])  # type: ignore[attr-defined]
            distance = total_variation(frequencies, pi)
            beyond = distance > 3 * noise + 1e-12
            if not beyond:
                break
        found[which] = f"{distance:.4f}" + "+" * (which == "refresh")
        largest, far = max(largest, noise), far or beyond
    return [found["alone"], "", found["gibbs"]], [found["refresh"], f"{largest:.4f}"], far


def _chain_of(
    case: Case, rng: Rng, given: Mapping[str, Any], extra: Mapping[str, Any], connected: bool
) -> tuple[list[Sampler], str]:
    """The samplers of the sampled check, and the sign for those that were added."""
    model, sign = case.model, ""

    def built(name: str, **options: Any) -> Sampler:
        return build_sampler(model, rng, choice("sampler", name), options)

    samplers = [build_sampler(model, rng, given, extra)]
    if not connected:
        sign = "*"
        samplers.append(built(gibbs_update(model.conjugate).name))
        samplers += [built("birth_death", mode=extra["mode"])] if model.conjugate else []
    if model.refreshes and given["name"] != "refresh":
        sign += "+"
        samplers.append(built("refresh"))
    return samplers, sign
