"""``smcmc verify``: samplers against the enumerated posterior of small data."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from splitmerge_cli.config import (
    ConfigError,
    check_options,
    choice,
    choices,
    import_beside,
    load,
    places,
    quote_priors,
    unreadable,
)
from splitmerge_cli.config.hydra_adapter import parsed_override
from splitmerge_cli.core.capabilities import PlugIn, Weighted
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import ContinuousDraw, Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.verify.cases import VARIANTS, Case, learning_frequencies, sampled_frequencies, small_case
from splitmerge_cli.verify.paths import TooManyPaths
from splitmerge_cli.verify.proposals import SeveralProposals, proposals
from splitmerge_cli.verify.transitions import (
    balance_defect,
    build_sampler,
    disagreements,
    example_pasts,
    irreducible,
    learnt_matrices,
    stationarity_defect,
    stationary,
    total_variation,
    transition_matrix,
)

KEYS = {"sampler": "all", "model": "all", "mode": "both", "size": 4, "seed": 0, "iterations": 200_000}
"""Keys of the command and their defaults; ``sampler.X`` and ``model.X`` set an option of the sampler or model."""

SMALL: dict[str, dict[str, Any]] = {name: {"t": 1} for name in ("rgsm", "sm", "bsm")}
SMALL["neal8"] = {"m": 2, "scan": "site"}
SMALL["lshsm"] = {"bits": 1, "tables": 2}
"""Options for the tree of choices to stay small; the user's own come on top."""

FORMS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "lshsm": {
        "exact": [
            {"proposal": proposal, "reading": reading}
            for proposal in ("paired", "paired_sequential", "sums")
            for reading in ("table", "union")
        ],
        "as_printed": [
            {"proposal": "sums", "reading": "table"},
            {"proposal": "sums", "reading": "union"},
            {"proposal": "sums", "reading": "table", "likelihood": "lss"},
        ],
    },
    "smag": {
        "exact": [
            {"choice": choice_of, "weights": weights}
            for choice_of in ("pair", "coin")
            for weights in ("before", "after")
        ],
        "as_printed": [{"form": "text"}, {"form": "box"}],
    },
}
"""Forms of a sampler that each have a row; an option that the user gives is the same in all."""

TABLES_SEEDS = (0, 1)
"""Draws of the hash tables (lshsm), each of which makes a kernel of its own."""

MOST_ORDERS = 4
"""Most items whose relabellings (srm, arm, sarm) are enumerated; of more they are visited in their own order."""

ADAPTATIONS = ("frozen", "population")
"""How the chains of the sampled check learn: from a snapshot that is fixed, or from other chains' present states."""

BURN_IN = 200
"""Gibbs scans before samplers that learn; the snapshot is taken from their second half."""

LEGEND = (
    "max|πP-π|: of the exact transition matrix of the compiled code, all random choices enumerated. "
    "balance: max|π_a P_ab - π_b P_ba|, 0 for a reversible kernel (a Gibbs scan is none). "
    "TV: total variation between the stationary law and the enumerated posterior. "
    "Of samplers that learn the largest over several pairs of partitions (z_a, z_b) to learn from, balance for each "
    "(i, j, z_a, z_b); they are sampled as 4 chains after 200 Gibbs scans. "
    "Of lshsm, with two tables of one bit, the largest over two draws of them; it is sampled with the first. "
    "mutants: of the sampler with a term of its log ratio left out or turned round, how many leave balance. "
    "continuous: draws parameters from a continuum, so its choices cannot be listed. "
    "sampled: TV of a chain's frequencies, and what an exact sampler would show by chance; "
    "+: each step followed by refresh; "
    "*: together with a Gibbs scan and birth_death in the same mode (neal8, where parameters are kept; one Gibbs site, "
    "where chains learn), since alone it cannot reach every state. "
    "Of topics all three TV are of chains: alone, against their law given what no topic holds, which no move changes; "
    "with a Gibbs scan and refresh; with refresh."
)

EXACT = 1e-10
"""Largest max |pi P - pi| of an exact kernel."""


@dataclass(frozen=True)
class Kernel:
    """What the compiled code does on a case.

    Attributes
    ----------
    matrices : list of ndarray of float
        The transition matrix; of a sampler that learns one for each pair of partitions to learn from, of one with hash
        tables one for each draw of them; none where the choices cannot be listed.
    balance : float
        max |pi_a P_ab - pi_b P_ba|; of a sampler that learns the largest over fixed (i, j, z_a, z_b).
    why : str
        Why there is no matrix.
    mutants : tuple of int
        Mutants that leave balance, and all of them: each term of the log ratio left out, and of opposite sign. None
        where the ratio is not the sum of named terms.
    """

    matrices: list[NDArray[np.float64]]
    balance: float = np.nan
    why: str = ""
    mutants: tuple[int, int] = (0, 0)

    @property
    def connected(self) -> bool:
        return bool(self.matrices) and all(irreducible(P) for P in self.matrices)


def verify(args: Mapping[str, str], config_dir: str | Path | None = None) -> int:
    """Check samplers on small data and print a table.

    Parameters
    ----------
    args : mapping of str to str
        See `KEYS`. ``sampler`` and ``model`` take a name, several separated by commas, or all; ``mode`` exact,
        as_printed or both; ``size`` the number of items; ``iterations`` the length of the sampled check (0: none).
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
    wide = console.width if console.is_terminal else 152
    console = Console(width=max(wide, 110))
    failures = 0
    for model_name, case in _cases(options):
        table, wrong = _compared(case, model_name, options)
        failures += wrong
        console.print(table)
    console.print(LEGEND, style="dim")
    if failures:
        console.print(f"{failures} exact sampler(s) are NOT exact", style="bold red")
    return 1 if failures else 0


def _cases(options: Mapping[str, Any]) -> list[tuple[str, Case]]:
    """The small cases of the models, all built before the first is checked."""
    cases = []
    for name in options["models"]:
        model_class = load(choice("model", name, options["own"])["_target_"])
        variants = [{}] if options["model_options"] else VARIANTS.get(model_class.__name__, [{}])
        cases += [(name, _case(model_class, name, variant, options)) for variant in variants]
    return cases


def _compared(case: Case, model_name: str, options: Mapping[str, Any]) -> tuple[Table, int]:
    """The table of one case, and how many exact samplers failed."""
    failures, rejected = 0, []
    gibbs = _kernel(case, choice("sampler", "gibbs"), {}).matrices if case.model.conjugate else []
    table = _table(f"model={model_name}: {len(case.states)} states; {case.title}")
    for sampler_name in options["samplers"]:
        given = choice("sampler", sampler_name, options["own"])
        sampler_class: type[Sampler] = load(given["_target_"])
        able, reason = sampler_class.supports(case.model)
        if not able:
            rejected.append((sampler_name, reason))
            continue
        for mode in options["modes"]:
            if mode == "as_printed" and not _prints_another(sampler_class):
                continue
            for form in _forms(given, mode, options):
                if reason := _refusal(case, given, form, mode):
                    rejected.append((" ".join([sampler_name, *map(str, form.values())]), reason))
                    continue
                for row, exact in _rows(case, given, form, mode, gibbs, options):
                    failures += mode == "exact" and not exact
                    table.add_row(*row)
    skipped: dict[str, dict[str, None]] = {}
    for name, reason in rejected:
        skipped.setdefault(reason, {})[name] = None
    table.caption = "\n".join(f"skipped {', '.join(names)}: {reason}" for reason, names in skipped.items())
    return table, failures


def _prints_another(sampler: type[Sampler]) -> bool:
    """Whether mode=as_printed is another sampler: by a term, or by an allocation or anchors of its own."""
    return sampler.PRINTED_TERM is not None or "printed" in sampler.TERMS


def _kernel(case: Case, sampler: Mapping[str, Any], extra: Mapping[str, Any]) -> Kernel:
    """The transition matrices of a configured sampler on a case, or why there are none."""
    if "tables_seed" in sampler and "tables_seed" not in extra:
        drawn = [_kernel(case, sampler, {**extra, "tables_seed": seed}) for seed in TABLES_SEEDS]
        matrices = [P for kernel in drawn for P in kernel.matrices]
        return Kernel(matrices, max(kernel.balance for kernel in drawn), drawn[0].why, drawn[0].mutants)
    rng = Rng(0)
    built = build_sampler(case.model, rng, sampler, extra)
    pasts = example_pasts(case.states, 4 if case.model.N < 6 else 2) if hasattr(built, "fix") else []
    try:
        if not pasts:
            P = transition_matrix(case.model, rng, built, case.states)
            return Kernel([P], balance_defect(P, case.pi), "", _mutants(case, built))
        found = list(learnt_matrices(case.model, rng, built, case.states, pasts))
        built.fix(*pasts[0], *disagreements(pasts[0])[0])  # type: ignore[attr-defined]
        mutants = _mutants(case, built)
    except TooManyPaths:
        return Kernel([], why="too many paths")
    except ContinuousDraw:
        return Kernel([], why="continuous")
    for_pairs = [balance_defect(Q, case.pi) for _, of_past in found for Q in of_past]
    return Kernel([P for P, _ in found], max(for_pairs), "", mutants)


def _mutants(case: Case, built: Sampler) -> tuple[int, int]:
    """How many mutants of a kernel are found, and how many there are; of one with several proposals in a step none is
    tried, nor of one whose ratio is not made of named terms."""
    if not built.TERMS or built.mode != "exact":
        return 0, 0
    try:
        made = proposals(case.model, built.rng, built, case.states)
    except SeveralProposals:
        return 0, 0
    mutants = made.mutants() if made.named() else {}
    return sum(balance_defect(P, case.pi) > EXACT for P in mutants.values()), len(mutants)


def _own(given: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The user's options of a sampler."""
    return {k: v for k, v in options["sampler_options"].items() if k in given and not k.startswith("_") and k != "name"}


def _forms(given: Mapping[str, Any], mode: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The forms of a sampler that have rows; one without options where it has a single form."""
    forms = FORMS.get(given["name"], {}).get(mode, [{}])
    own = _own(given, options)
    chosen = [{k: own.get(k, v) for k, v in form.items()} for form in forms]
    return [form for t, form in enumerate(chosen) if form not in chosen[:t]]


def _refusal(case: Case, given: Mapping[str, Any], form: Mapping[str, Any], mode: str) -> str:
    """Why a form of a sampler that supports the model does not support this case in this mode; empty: it does."""
    if given["name"] != "lshsm":
        return ""
    if mode == "as_printed" and form["proposal"] != "sums":
        return "the paper prints sums alone"
    if form["proposal"] == "sums" and not case.model.conjugate:
        return "sums needs the parameters integrated out"
    if form.get("likelihood") == "lss" and not (isinstance(case.model, PlugIn) and case.model.plug_in):
        return "lss needs dense points and model=gaussian, diag or iso"
    return ""


def _rows(
    case: Case,
    given: Mapping[str, Any],
    form: Mapping[str, Any],
    mode: str,
    gibbs: list[NDArray[np.float64]],
    options: Mapping[str, Any],
) -> Iterator[tuple[list[str], bool]]:
    """The lines of a form, and of each whether it is exact: one, or one for each way in which chains learn."""
    name = given["name"]
    own = _own(given, options)
    small = _small(case, given) | own
    extra = {**small, **form, "mode": mode}
    check_options("sampler", name, {**given, **extra}, options["own"])
    kernel = _kernel(case, given, extra)
    named = {k: v for k, v in (own if form else small).items() if k not in form}
    shown = " ".join([name, *map(str, form.values()), *(f"{k}={v}" for k, v in named.items())])
    exact, cells = _of_matrices(case, kernel, gibbs, "adaptation" in given)
    ways: list[dict[str, str]] = [{}]
    if "adaptation" in given and "adaptation" not in own:
        ways = [{"adaptation": way} for way in (ADAPTATIONS if mode == "exact" else ADAPTATIONS[:1])]
    for way in ways:
        close, far, sampled = True, False, ["", ""]
        if isinstance(case.model, Weighted) and options["iterations"]:
            cells[2:], sampled, far = _sampled_topics(case, given, extra, options)
        elif options["iterations"]:
            sampled, far = _sampled(case, given, extra | way, kernel, options)
            close = mode == "as_printed" or not far
        good = exact and close
        verdict = "[green]exact[/]" if good else "[bold red]NOT EXACT[/]"
        if mode == "as_printed":
            # where the choices cannot be listed the chain decides
            biased = far if not kernel.matrices else not exact
            verdict = "biased, as printed" if biased else "as the exact one"
        mutants = "{}/{}".format(*kernel.mutants) if kernel.mutants[1] else ""
        yield [" ".join([shown, *way.values()]), mode, *cells, *sampled, mutants, verdict], good


def _small(case: Case, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for the tree of choices to stay small."""
    if given["name"] == "neal8" and case.model.conjugate:
        return {}
    many = "relabel" in given and case.model.N > MOST_ORDERS
    return {**SMALL.get(given["name"], {}), **({"relabel": False} if many else {})}


def _of_matrices(case: Case, kernel: Kernel, gibbs: list[NDArray[np.float64]], learns: bool) -> tuple[bool, list[str]]:
    """Whether the matrices are those of an exact sampler, and their cells: alone, and with a Gibbs scan."""
    if not kernel.matrices:
        return True, [kernel.why, "", "", "", ""]
    defect = max(stationarity_defect(P, case.pi) for P in kernel.matrices)
    exact = defect < EXACT and (not learns or kernel.balance < EXACT)
    cells = [f"{defect:.1e}", f"{kernel.balance:.1e}", _tv(kernel.matrices, case), "", ""]
    if gibbs:
        beside = [P @ gibbs[0] for P in kernel.matrices]
        cells[3:] = [f"{max(stationarity_defect(P, case.pi) for P in beside):.1e}", _tv(beside, case)]
    return exact, cells


def _sampled(
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
        connected = kernel.connected or (kernel.why == "continuous" and given["name"] != "refresh")
        samplers, sign = _chain_of(case, rng, given, extra, connected)
        frequencies, noise = sampled_frequencies(case, samplers, rng, options["iterations"])
    distance = total_variation(frequencies, case.partitions[1])
    return [f"{distance:.4f}{sign}", f"{noise:.4f}"], distance > 3 * noise + 1e-12


def _sampled_topics(
    case: Case, given: Mapping[str, Any], extra: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[list[str], list[str], bool]:
    """Of a sampler of topics the cells from `TV alone` on, those of the sampled check, and whether one chain is farther
    from the posterior than chance."""
    name = given["name"]
    company: dict[str, list[str]] = {"alone": [], "gibbs": ["gibbs", "refresh"], "refresh": ["refresh"]}
    if case.held is None or name in ("gibbs", "refresh"):
        # a scan alone hardly ever changes a weight, and refresh no topic
        del company["alone"]
    if name == "gibbs":
        del company["gibbs"]
    elif name == "refresh":
        company = {"gibbs": ["gibbs"]}
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
        samplers += [built("gibbs"), built("birth_death", mode=extra["mode"])] if model.conjugate else [built("neal8")]
    if model.refreshes and given["name"] != "refresh":
        sign += "+"
        samplers.append(built("refresh"))
    return samplers, sign


def _tv(matrices: list[NDArray[np.float64]], case: Case) -> str:
    """The largest total variation among those that reach every state."""
    distances = [total_variation(stationary(P), case.pi) for P in matrices if irreducible(P)]
    return f"{max(distances):.4f}" if distances else "reducible"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", header_style="bold")
    alone = "max|πP-π| alone", "balance", "TV alone"
    beside, sampled = ("with Gibbs", "TV"), ("sampled TV", "noise")
    for column in ("sampler", "mode", *alone, *beside, *sampled, "mutants", "verdict"):
        table.add_column(column, overflow="fold")
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
        override = parsed_override(quote_priors(f"{key}={text}"))
    except ConfigError as error:
        raise ConfigError(unreadable(f"{key}={text}")) from error
    if override.sweep:
        raise ConfigError(f"{key}={text}: several values; expected one")
    return override.value


def _options(args: Mapping[str, str], own: Sequence[str]) -> dict[str, Any]:
    """The command's options, checked."""
    values: dict[str, Any] = dict(KEYS)
    nested: dict[str, dict[str, Any]] = {"sampler": {}, "model": {}}
    for key, text in args.items():
        value = _value(key, text)
        group, _, option = key.partition(".")
        if option and group in nested:
            if (group, option) == ("sampler", "mode"):
                raise ConfigError(f"sampler.mode={text}: here the key is mode: exact, as_printed or both")
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
    if values["mode"] not in ("exact", "as_printed", "both"):
        raise ConfigError(f"mode={values['mode']}: expected exact, as_printed or both")
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
        "modes": ["exact", "as_printed"] if values["mode"] == "both" else [values["mode"]],
        "sampler_options": nested["sampler"],
        "model_options": nested["model"],
    }
