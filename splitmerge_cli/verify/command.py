"""``smcmc verify``: samplers against the enumerated posterior of small data."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.utils import get_class
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from splitmerge_cli._kernels import ContinuousDraw, Model, Rng, Sampler
from splitmerge_cli.config import (
    ConfigError,
    check_options,
    choice,
    choices,
    import_beside,
    places,
    quote_priors,
    unreadable,
)
from splitmerge_cli.verify.cases import VARIANTS, Case, sampled_frequencies, small_case
from splitmerge_cli.verify.transitions import (
    TooManyPaths,
    build_sampler,
    irreducible,
    stationarity_defect,
    stationary,
    total_variation,
    transition_matrix,
)

KEYS = {"sampler": "all", "model": "all", "mode": "both", "size": 4, "seed": 0, "iterations": 200_000}
"""Keys of the command and their defaults; ``sampler.X`` and ``model.X`` set an option of the sampler or model."""

SMALL: dict[str, dict[str, Any]] = {"rgsm": {"t": 1}, "neal8": {"m": 2, "scan": "site"}}
"""Options for the tree of choices to stay small; the user's own come on top."""

LEGEND = (
    "max|πP-π|: of the exact transition matrix of the compiled code, all random choices enumerated. "
    "TV: total variation between the stationary law and the enumerated posterior. "
    "continuous: draws parameters from a continuum, so its choices cannot be listed. "
    "sampled: TV of a chain's frequencies, and what an exact sampler would show by chance; "
    "+: each step followed by refresh; "
    "*: together with a Gibbs scan and birth_death in the same mode (neal8, where parameters are kept), since alone it "
    "cannot reach every state."
)

EXACT = 1e-10
"""Largest max |pi P - pi| of an exact kernel."""


def verify(args: Mapping[str, str], config_dir: str | Path | None = None) -> int:
    """Check samplers on small data and print a table.

    Parameters
    ----------
    args : mapping of str to str
        See `KEYS`. ``sampler`` and ``model`` take a name, several separated by commas, or all; ``mode`` exact,
        literal or both; ``size`` the number of items; ``iterations`` the length of the sampled check (0: none).
    config_dir : str or Path, optional
        A folder with the user's own groups.

    Returns
    -------
    int
        0 when every exact sampler is exact, 1 otherwise.

    Raises
    ------
    ConfigError
        For an unknown key or choice, or a value out of range.
    """
    own = places(config_dir)
    import_beside(own)
    options = _options(args, own)
    console = Console()
    wide = console.width if console.is_terminal else 140
    console = Console(width=max(wide, 110))
    failures = 0
    for model_name in options["models"]:
        model_class = get_class(choice("model", model_name, own)["_target_"])
        variants = VARIANTS.get(model_class.__name__, [{}])
        for variant in [{}] if options["model_options"] else variants:
            case = _case(model_class, model_name, variant, options)
            table, wrong = _compared(case, model_name, options)
            failures += wrong
            console.print(table)
    console.print(LEGEND, style="dim")
    if failures:
        console.print(f"{failures} exact sampler(s) are NOT exact", style="bold red")
    return 1 if failures else 0


def _compared(case: Case, model_name: str, options: Mapping[str, Any]) -> tuple[Table, int]:
    """The table of one case, and how many exact samplers failed."""
    failures, refused = 0, []
    gibbs, _ = _matrix(case, choice("sampler", "gibbs"), {}) if case.model.conjugate else (None, "")
    table = _table(f"model={model_name}: {len(case.states)} states; {case.title}")
    for sampler_name in options["samplers"]:
        given = choice("sampler", sampler_name, options["own"])
        sampler_class: type[Sampler] = get_class(given["_target_"])
        able, reason = sampler_class.supports(case.model)
        if not able:
            refused.append((sampler_name, reason))
            continue
        for mode in options["modes"]:
            if mode == "literal" and getattr(sampler_class, "LITERAL_TERM", None) is None:
                continue
            row, exact = _row(case, sampler_name, given, mode, gibbs, options)
            failures += mode == "exact" and not exact
            table.add_row(*row)
    reasons = dict.fromkeys(reason for _, reason in refused)
    table.caption = "\n".join(f"skipped {', '.join(n for n, why in refused if why == r)}: {r}" for r in reasons)
    return table, failures


def _matrix(case: Case, sampler: Mapping[str, Any], extra: Mapping[str, Any]) -> tuple[NDArray[np.float64] | None, str]:
    """The transition matrix of a configured sampler on a case, or None and why there is none."""
    rng = Rng(0)
    try:
        return transition_matrix(case.model, rng, build_sampler(case.model, rng, sampler, extra), case.states), ""
    except TooManyPaths:
        return None, "too many paths"
    except ContinuousDraw:
        return None, "continuous"


def _row(
    case: Case,
    name: str,
    given: Mapping[str, Any],
    mode: str,
    gibbs: NDArray[np.float64] | None,
    options: Mapping[str, Any],
) -> tuple[list[str], bool]:
    """One line of the table, and whether the sampler is exact."""
    known = {k for k in given if not k.startswith("_") and k != "name"}
    own = {k: v for k, v in options["sampler_options"].items() if k in known}
    small = {} if name == "neal8" and case.model.conjugate else SMALL.get(name, {})
    extra = small | own | {"mode": mode}
    check_options("sampler", name, {**given, **extra}, options["own"])
    P, why = _matrix(case, given, extra)
    exact, seen = True, False
    alone = [why, ""]
    both = ["", ""]
    # with continuous draws the refresh connects what the moves do not
    connected = P is None and why == "continuous" and name != "refresh"
    if P is not None:
        defect = stationarity_defect(P, case.pi)
        exact = defect < EXACT
        connected = irreducible(P)
        alone = [f"{defect:.1e}", _tv(P, case) if connected else "reducible"]
        if gibbs is not None:
            beside = P @ gibbs
            tv = _tv(beside, case) if irreducible(beside) else "reducible"
            both = [f"{stationarity_defect(beside, case.pi):.1e}", tv]
    sampled = ["", ""]
    if options["iterations"]:
        rng = Rng(options["seed"])
        samplers, sign = _chain_of(case, rng, given, extra, connected)
        frequencies, noise = sampled_frequencies(case, samplers, rng, options["iterations"])
        distance = total_variation(frequencies, case.partitions[1])
        sampled = [f"{distance:.4f}{sign}", f"{noise:.4f}"]
        exact = exact and (mode == "literal" or distance <= 3 * noise + 1e-12)
        seen = distance > 3 * noise
    verdict = "[green]exact[/]" if exact else "[bold red]NOT EXACT[/]"
    if mode == "literal":
        # where the choices cannot be listed the chain decides
        biased = seen if P is None else not exact
        verdict = "biased, as printed" if biased else "as the exact one"
    shown = name + "".join(f" {k}={v}" for k, v in extra.items() if k != "mode")
    return [shown, mode, *alone, *both, *sampled, verdict], exact


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
        samplers += [built("gibbs"), built("birth_death", mode=extra["mode"])] if model.conjugate else [built("neal8")]
    if model.refreshes and given["name"] != "refresh":
        sign += "+"
        samplers.append(built("refresh"))
    return samplers, sign


def _tv(P: NDArray[np.float64], case: Case) -> str:
    return f"{total_variation(stationary(P), case.pi):.4f}"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", header_style="bold")
    alone, beside, sampled = ("max|πP-π| alone", "TV alone"), ("with Gibbs", "TV"), ("sampled TV", "noise")
    for column in ("sampler", "mode", *alone, *beside, *sampled, "verdict"):
        table.add_column(column)
    return table


def _case(model: type[Model], name: str, variant: Mapping[str, Any], options: Mapping[str, Any]) -> Case:
    known = choice("model", name, options["own"])
    own = {k: v for k, v in options["model_options"].items() if k in known}
    check_options("model", name, known | own, options["own"])
    try:
        return small_case(model, options["size"], options["seed"], {**variant, **own})
    except (TypeError, ValueError) as error:
        raise ConfigError(f"model={name}: {error}") from error


def _value(key: str, text: str) -> Any:
    """A value as `smcmc run` reads it; names of groups, which may be lists, as they stand."""
    if key in ("sampler", "model"):
        return text
    try:
        override = OverridesParser.create().parse_override(quote_priors(f"{key}={text}"))
    except HydraException as error:
        raise ConfigError(unreadable(f"{key}={text}")) from error
    if override.is_sweep_override():
        raise ConfigError(f"{key}={text}: several values; expected one")
    return override.value()


def _options(args: Mapping[str, str], own: Sequence[str]) -> dict[str, Any]:
    """The command's options, checked."""
    values: dict[str, Any] = dict(KEYS)
    nested: dict[str, dict[str, Any]] = {"sampler": {}, "model": {}}
    for key, text in args.items():
        value = _value(key, text)
        group, _, option = key.partition(".")
        if option and group in nested:
            if (group, option) == ("sampler", "mode"):
                raise ConfigError(f"sampler.mode={text}: here the key is mode: exact, literal or both")
            nested[group][option] = value
        elif key in KEYS:
            values[key] = value
        else:
            near = difflib.get_close_matches(key, [*KEYS, "sampler.", "model."], 1)
            raise ConfigError(
                f"{key}: no such key of verify; expected one of {', '.join(KEYS)}, sampler.OPTION, model.OPTION"
                + (f". Did you mean {near[0]}?" if near else "")
            )
    for key, least, most in (("size", 1, 7), ("seed", 0, 2**63), ("iterations", 0, 10**9)):
        if isinstance(values[key], bool) or not isinstance(values[key], int) or not least <= values[key] <= most:
            raise ConfigError(f"{key}={values[key]}: expected a whole number from {least} to {most}")
    if values["iterations"] and values["iterations"] < 1000:
        raise ConfigError(f"iterations={values['iterations']}: expected 0 or at least 1000")
    if values["mode"] not in ("exact", "literal", "both"):
        raise ConfigError(f"mode={values['mode']}: expected exact, literal or both")
    chosen = {}
    for group in ("sampler", "model"):
        names = choices(group, own)
        chosen[group] = names if values[group] == "all" else values[group].split(",")
        for name in chosen[group]:
            if name not in names:
                raise ConfigError(f"{group}={name}: expected all or one of {', '.join(names)}")
        options = {
            k for name in chosen[group] for k in choice(group, name, own) if not k.startswith("_") and k != "name"
        }
        for option in nested[group]:
            if option not in options:
                known = ", ".join(sorted(options))
                raise ConfigError(f"{group}.{option}: no such option of {values[group]}; expected one of {known}")
    return values | {
        "own": own,
        "samplers": chosen["sampler"],
        "models": chosen["model"],
        "modes": ["exact", "literal"] if values["mode"] == "both" else [values["mode"]],
        "sampler_options": nested["sampler"],
        "model_options": nested["model"],
    }
