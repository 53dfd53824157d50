"""``smcmc verify``: samplers against the enumerated posterior of small data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from splitmerge_cli.config import Component, ConfigError, component, import_beside, places
from splitmerge_cli.core.capabilities import Weighted
from splitmerge_cli.verify import cases as small_cases
from splitmerge_cli.verify import export, transitions
from splitmerge_cli.verify import kernel as kernels

ADAPTATIONS = ("frozen", "population")
"""How the chains of the sampled check learn: from a snapshot that is fixed, or from other chains' present states."""

COLUMNS = {
    "form": "sampler",
    "mode": "mode",
    "defect": "max|πP-π| alone",
    "balance": "balance",
    "tv": "TV alone",
    "gibbs_defect": "with Gibbs",
    "gibbs_tv": "TV",
    "sampled_tv": "sampled TV",
    "noise": "noise",
    "mutants": "mutants",
    "verdict": "verdict",
}
"""Columns of the table, and what they are called above it."""
TV_ALONE = list(COLUMNS).index("tv")
STYLES = {"exact": "green", "NOT EXACT": "bold red"}
"""Colours of the verdicts."""
LEGEND = (
    "max|πP-π|: of the exact transition matrix of the compiled code, all random choices enumerated. balance: max|π_a "
    "P_ab - π_b P_ba|, 0 for a reversible kernel (a Gibbs scan is none). TV: total variation between the stationary "
    "distribution and the enumerated posterior. For adaptive samplers the largest over several pairs of partitions "
    "(z_a, z_b) to learn from, balance for each (i, j, z_a, z_b); they are sampled as 4 chains after 200 Gibbs scans. "
    "For lshsm, with two tables of one bit, the largest over two draws of them; it is sampled with the first. "
    "mutants: of the sampler with a term of its log ratio left out or turned round, how many leave balance. "
    "continuous: draws parameters from a continuum, so its choices cannot be listed. keeps a state: its own in "
    "addition to the model's, so its steps are no kernel on the model's alone. sampled: TV of a chain's frequencies, "
    "and what an exact sampler would show by chance; +: each step followed by refresh; *: together with a Gibbs scan "
    "and birth_death in the same mode (neal8 for uncollapsed models; one Gibbs site for adaptive samplers), since "
    "alone it cannot reach every state. For documents all three TV are of chains: alone, against their distribution "
    "given what no cluster holds, which no move changes; with a Gibbs scan and refresh; with refresh."
)


@dataclass(frozen=True)
class Checked:
    """One form of a sampler on one case."""

    sampler: str
    mode: str
    cells: list[str]
    """Its line of the table, as of `COLUMNS`."""
    defect: float
    """max |pi P - pi|; nan where the choices cannot be listed."""
    mutants: tuple[int, int]
    """Found, and all."""
    good: bool
    """Whether it is exact."""
    biased: bool
    """Whether it is not, as printed."""
    judged: bool
    """Whether anything was compared: choices that cannot be listed are, where a chain is sampled."""
    worst: export.Worst | None
    """Where it leaves balance most, if it does."""


def verify(args: Mapping[str, str], config_dir: str | Path | None = None, everything: bool = False) -> int:
    """Check samplers on small data, or a schedule, by the `KEYS` of `splitmerge_cli.verify.cases`; print a line for
    each model and a summary, or all tables (`everything`). 0 when every exact sampler is exact, else 1; 1, too, where
    nothing was compared. `config_dir`: a folder with the user's own groups."""
    own_places = places(config_dir)
    import_beside(own_places)
    request = small_cases.read_request(args, own_places, everything)
    console = Console()
    console = Console(width=max(console.width if console.is_terminal else 152, 110))
    checked_by_model: dict[str, list[Checked]] = {}
    unsupported: dict[str, dict[str, dict[str, None]]] = {}
    worst: list[tuple[str, Checked]] = []
    cases = build_cases(request)
    if request.schedule is not None:
        return kernels.verify_schedule(cases, args, request, config_dir, console)
    dealt: dict[small_cases.Case, list[Component]] = {}
    for model in request.models if request.deals else ():
        of_model = [case for name, case in cases if name == model.name]
        dealt |= zip(of_model, small_cases.deal(of_model, request.samplers), strict=True)
    pairs = 0
    for number, (model_name, case) in enumerate(cases):
        checked, rejected = check_case(case, replace(request, samplers=dealt.get(case, request.samplers)))
        pairs += len({one.sampler for one in checked})
        checked_by_model.setdefault(model_name, []).extend(checked)
        for name, reason in rejected:
            unsupported.setdefault(name, {}).setdefault(reason, {})[model_name] = None
        worst += [(case.title, one) for one in checked if one.worst is not None]
        if everything:
            console.print(_build_table(case, model_name, checked, rejected))
        elif number + 1 < len(cases) and cases[number + 1][0] == model_name:
            continue
        else:
            kernels.print_line(console, _summarise_model(model_name, checked_by_model[model_name]))
        for title, one in worst if everything else _select_worst(worst):
            kernels.print_line(console, Text(f"  {one.cells[0]} ({one.mode}) on {title}: {one.worst}"))
        worst.clear()
    if everything:
        console.print(LEGEND, style="dim")
    for name, reasons in unsupported.items():
        supported = {
            model
            for model, checked in checked_by_model.items()
            if any(one.sampler == name.split()[0] for one in checked)
        }
        text = "; ".join(
            f"{', '.join('part of ' * (model in supported) + model for model in models)} ({reason})"
            for reason, models in reasons.items()
        )
        kernels.print_line(console, Text(f"{name} does not support {text}"))
    forms = [one for checked in checked_by_model.values() for one in checked]
    wrong = sum(one.mode == "exact" and not one.good for one in forms)
    small = f"{len(cases)} small case{'s' * (len(cases) != 1)}"
    if not any(one.judged for one in forms):
        kernels.print_line(console, Text(f"{small}: nothing was compared", style="bold red"))
        return 1
    exact = sum(one.mode == "exact" and one.good and one.judged for one in forms)
    line = Text(f"{small}: {exact} of {exact + wrong} forms exact")
    line.append(f", {wrong} NOT EXACT" if wrong else "", style="bold red")
    biased = sum(one.biased for one in forms)
    line.append(f"; {biased} biased as printed" if biased else "")
    if left_out := sum(len(request.samplers) - len(samplers) for samplers in dealt.values()):
        line.append(
            f"; {pairs} of {pairs + left_out} pairs of a case and a sampler, in which each sampler meets each option "
            "value of the cases: --all has all"
        )
    kernels.print_line(console, line)
    return 1 if wrong else 0


def records(args: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Check the samplers as `verify` does and yield the cells of its tables: sampler, model, states, case, and
    `COLUMNS`."""
    request = small_cases.read_request(args, places(None), everything=True)
    for model_name, case in build_cases(request):
        for one in check_case(case, request)[0]:
            of_case = {"model": model_name, "states": str(len(case.states)), "case": case.title}
            yield {"sampler": one.sampler, **of_case, **dict(zip(COLUMNS, one.cells, strict=True))}


def _select_worst(worst: list[tuple[str, Checked]]) -> Iterator[tuple[str, Checked]]:
    """Find for each form the case on which it is furthest from balance."""
    forms: dict[str, list[tuple[str, Checked]]] = {}
    for title, one in worst:
        forms.setdefault(one.cells[0], []).append((title, one))
    for checked in forms.values():
        yield max(checked, key=lambda item: item[1].worst.imbalance if item[1].worst else 0.0)


def _summarise_model(model_name: str, checked: list[Checked]) -> Text:
    parts = []
    judged = [one for one in checked if one.judged]
    if exact := [one for one in judged if one.mode == "exact" and one.good]:
        # largest defect, mutants, and how many forms were sampled alone
        defects = [one.defect for one in exact if not np.isnan(one.defect)]
        figures = [f"max|πP-π| {max(defects):.1e}"] if defects else []
        if among := sum(one.mutants[1] for one in exact):
            figures.append(f"{sum(one.mutants[0] for one in exact)} of {among} mutants found")
        if alone := len(exact) - len(defects):
            figures.append(f"{alone} of {len(exact)} forms sampled alone" if defects else "sampled alone")
        parts.append(f"exact: {_names(exact)} ({', '.join(figures)})")
    if parted := [one for one in judged if one.mode == "exact" and one.cells[TV_ALONE] == "reducible"]:
        parts.append(f"alone not in reach of every state: {_names(parted)}")
    if biased := [one for one in checked if one.biased]:
        parts.append(f"biased as printed: {_names(biased)}")
    if same := [one for one in judged if one.mode == "as_printed" and not one.biased]:
        parts.append(f"as printed like the exact one: {_names(same)}")
    if unjudged := [one for one in checked if not one.judged]:
        parts.append(f"not compared, as iterations=0 and draws from a continuum cannot be listed: {_names(unjudged)}")
    line = Text(f"{model_name}: ")
    if wrong := [one for one in checked if one.mode == "exact" and not one.good]:
        line.append(f"NOT EXACT: {_names(wrong)}", style="bold red")
        line.append("; " if parts else "")
    return line.append("; ".join(parts) if checked else "no sampler of these supports it")


def _names(checked: list[Checked]) -> str:
    return ", ".join(dict.fromkeys(one.sampler for one in checked))


def build_cases(request: small_cases.Request) -> list[tuple[str, small_cases.Case]]:
    """Build the small cases of the models, all before the first is checked."""
    cases = []
    for model in request.models:
        options = {key: model.options[key] for key in request.model_options if key in model.options}
        for variant in [{}] if request.model_options else small_cases.variants_of(model.target):
            try:
                case = small_cases.small_case(model.target, request.size, request.seed, {**variant, **options})
                case = replace(case, parts=frozenset(f"{key}={value}" for key, value in variant.items()))
            except (TypeError, ValueError) as error:
                raise ConfigError(f"{model.title}: {error}") from error
            cases.append((model.name, case))
    return cases


def check_case(case: small_cases.Case, request: small_cases.Request) -> tuple[list[Checked], list[tuple[str, str]]]:
    """Check every form on one case; return also the rejected ones, each with the reason."""
    checked: list[Checked] = []
    rejected: list[tuple[str, str]] = []
    gibbs = kernels.kernel_of(case, component("sampler", "gibbs")).matrices if case.model.conjugate else []
    for sampler in request.samplers:
        able, reason = sampler.target.supports(case.model)
        if not able:
            rejected.append((sampler.name, reason))
            continue
        for mode in request.modes:
            for form in small_cases.list_forms(case, sampler, request.sampler_options, mode):
                if form.rejection:
                    rejected.append((form.name, form.rejection))
                else:
                    checked.extend(_check_form(case, form, gibbs, request))
    return checked, rejected


def _build_table(
    case: small_cases.Case, model_name: str, checked: list[Checked], rejected: list[tuple[str, str]]
) -> Table:
    title = f"model={model_name}: {len(case.states)} states; {case.title}"
    table = Table(title=title, title_justify="left", caption_justify="left", header_style="bold")
    for column in COLUMNS.values():
        table.add_column(column, overflow="fold")
    for one in checked:
        table.add_row(*one.cells[:-1], Text(one.cells[-1], style=STYLES.get(one.cells[-1], "")))
    skipped: dict[str, dict[str, None]] = {}
    for name, reason in rejected:
        skipped.setdefault(reason, {})[name] = None
    table.caption = "\n".join(f"skipped {', '.join(names)}: {reason}" for reason, names in skipped.items())
    return table


def _check_form(
    case: small_cases.Case, form: small_cases.Form, gibbs: list[NDArray[np.float64]], request: small_cases.Request
) -> Iterator[Checked]:
    """Check a form once, or an adaptive one once for each way in which chains adapt."""
    sampler, sampler_options = form.sampler, request.sampler_options
    mode, is_adaptive = sampler.options["mode"], "adaptation" in sampler.options
    kernel = kernels.kernel_of(case, sampler, sampler_options)
    defect = max((transitions.stationarity_defect(P, case.pi) for P in kernel.matrices), default=np.nan)
    # whether the matrices belong to an exact sampler, and their cells: alone, and with a Gibbs scan
    exact, cells = True, [kernel.why, "", "", "", ""]
    if kernel.matrices:
        exact = defect < kernels.EXACT and (not is_adaptive or kernel.balance < kernels.EXACT)
        cells = [f"{defect:.1e}", f"{kernel.balance:.1e}", _largest_distance(kernel.matrices, case), "", ""]
    if kernel.matrices and gibbs:
        with_gibbs = [P @ gibbs[0] for P in kernel.matrices]
        defect_with_gibbs = max(transitions.stationarity_defect(P, case.pi) for P in with_gibbs)
        cells[3:] = [f"{defect_with_gibbs:.1e}", _largest_distance(with_gibbs, case)]
    worst = export.worst_transition(case, sampler) if not exact and (mode == "exact" or request.everything) else None
    ways: tuple[str, ...] = ("",)
    if is_adaptive and "adaptation" not in sampler_options:
        ways = ADAPTATIONS if mode == "exact" else ADAPTATIONS[:1]
    for way in ways:
        far, sampled = False, ["", ""]
        if isinstance(case.model, Weighted) and request.iterations:
            cells[2:], sampled, far = kernels.sampled_check_of_weights(case, sampler, request)
        elif request.iterations:
            adapted = sampler.with_options(adaptation=way) if way else sampler
            sampled, far = kernels.sampled_check(case, adapted, kernel, request)
        good = exact and (mode == "as_printed" or not far)
        # where the choices cannot be listed the chain decides
        biased = mode == "as_printed" and (far if not kernel.matrices else not exact)
        verdict = "exact" if good else "NOT EXACT"
        if mode == "as_printed":
            verdict = "biased, as printed" if biased else "as the exact one"
        mutants = "{}/{}".format(*kernel.mutants) if kernel.mutants[1] else ""
        judged = bool(kernel.matrices) or bool(request.iterations)
        row = [" ".join(filter(None, [form.title, way])), mode, *cells, *sampled, mutants, verdict]
        yield Checked(sampler.name, mode, row, defect, kernel.mutants, good, biased, judged, worst)


def _largest_distance(matrices: list[NDArray[np.float64]], case: small_cases.Case) -> str:
    """Largest total variation among those that reach every state."""
    stationary = [transitions.stationary_distribution(P) for P in matrices if transitions.is_irreducible(P)]
    distances = [transitions.total_variation(distribution, case.pi) for distribution in stationary]
    return f"{max(distances):.4f}" if distances else "reducible"
