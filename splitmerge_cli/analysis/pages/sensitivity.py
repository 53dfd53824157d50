"""How the answer of a run moves with prior, model and start: other runs at hand, and commands that would tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from splitmerge_cli.analysis.comparison import Items, differences, row_of
from splitmerge_cli.config import ConfigError, component, specify, usable_choices
from splitmerge_cli.config.resolution import AUTO
from splitmerge_cli.config.specification import command_of
from splitmerge_cli.diagnostics.agreement import SCORES
from splitmerge_cli.diagnostics.partition_losses import distances
from splitmerge_cli.received import DataError
from splitmerge_cli.runs.initial import dataset_of, open_run, specification_of
from splitmerge_cli.runs.store.files import DamagedRun
from splitmerge_cli.runs.store.read import Run, find_runs

MOST_RUNS = 60
"""Runs of the same folder that are looked at, the newest."""
FORM = ("model", "model.covariance", "model.power", "model.conjugate", "model.likelihood")
"""Settings that change the likelihood, not the prior."""
LENGTH = ("iterations", "budget", "until", "chains", "sampler", "schedule", "thin", "trace", "timing")
OF_KEY = dict.fromkeys(FORM, "model") | dict.fromkeys(("seed", "init", "K0", "warmup"), "start")
"""Aspects of single settings; other settings have the aspect of their group."""
OF_GROUP = dict.fromkeys(LENGTH, "sampler and length") | {"model": "prior", "data": "columns"}


@dataclass(frozen=True)
class Answer:
    """Another run of the same items: the `aspect` in which it differs (prior, model, start, columns, sampler
    and length; several), the `difference` in its settings, `row`, see `splitmerge_cli.analysis.comparison.row_of`, and
    adjusted Rand index and variation of information (nats) between the estimates."""

    aspect: str
    difference: str
    row: dict[str, Any]
    ari: float
    vi: float


def answers(run: Run, at_hand: Sequence[Run]) -> list[Answer]:
    """The finished runs of the same items, among those `at_hand` and those in the same folder of results."""
    own_items, answers_found = Items(run), []
    for other in _candidates(run, at_hand):
        try:
            if not other.is_done or other.config["data"]["name"] != run.config["data"]["name"]:
                continue
            other = open_run(other)
            labels = own_items.align(Items(other))
        except (ConfigError, DamagedRun, FileNotFoundError):  # what cannot be read tells nothing here
            continue
        if labels is None:
            continue
        difference = differences([run.config, other.config])[1]
        ari = float(SCORES["ari"](own_items.labels, labels))
        vi = float(distances(own_items.labels, labels[None, :])[0])
        answers_found.append(Answer(aspect_of(difference), difference or "nothing", row_of(other), ari, vi))
    return sorted(answers_found, key=lambda each: (each.aspect, each.difference))


def _candidates(run: Run, at_hand: Sequence[Run]) -> Iterator[Run]:
    seen = {run.path.resolve()}
    below = sorted(find_runs(run.path.parents[1]), key=lambda each: -each.path.stat().st_mtime)[:MOST_RUNS]
    for other in (*at_hand, *below):
        if other.path.resolve() not in seen:
            seen.add(other.path.resolve())
            yield other


def aspect_of(difference: str) -> str:
    """In what two runs differ: one of prior, model, start, columns, sampler and length; or several.

    Examples
    --------
    >>> aspect_of("seed=1 init=singletons"), aspect_of("model.concentration=2.0 seed=1")
    ('start', 'several')
    """
    keys = [setting.partition("=")[0] for setting in difference.split(" ") if setting]
    aspects = {OF_KEY.get(key) or OF_GROUP.get(key.partition(".")[0], "other settings") for key in keys}
    # another model has other options
    aspects -= {"prior"} if "model" in aspects else set()
    return aspects.pop() if len(aspects) == 1 else "several" if aspects else "nothing"


def commands(run: Run) -> Iterator[tuple[str, str]]:
    """Commands that tell how the answer moves, each with the aspect: prior, model, start."""
    spec = specification_of(run)
    tried: dict[str, dict[str, Any]] = {
        "prior": _choose_other_prior(run.config["model"]),
        "model": _choose_other_model(run, run.config["model"]),
        "start": {"init": ("one_cluster", "singletons"), "seed": run.config["seed"] + 1},
    }
    for aspect, changed in tried.items():
        line = command_of(spec, changed, run.config_dir) if changed else None
        if line is not None:
            yield aspect, line


def _choose_other_prior(model: Mapping[str, Any]) -> dict[str, Any]:
    for name, few, many in (("concentration", 0.2, 5.0), ("eta", 0.02, 0.5)):
        if name in model:
            now = model[name]
            if isinstance(now, int | float):
                few, many = now / 5, now * 5
            return {f"model.{name}": (float(f"{few:g}"), float(f"{many:g}"))}
    return {}


def _choose_other_model(run: Run, model: Mapping[str, Any]) -> dict[str, Any]:
    """Another model that reads the data, or other forms of this one."""
    covariance = model.get("covariance")
    if covariance is not None:
        others = tuple(each for each in ("diag", "full") if each != covariance)
        return {"model.covariance": others if len(others) > 1 else others[0]} if _is_valid(run, others[0]) else {}
    try:
        dataset = dataset_of(run)
    except (ConfigError, DataError):
        return {}
    for name in usable_choices("model"):
        if name != model["name"] and component("model", name).target.accepts(dataset)[0]:
            return {"model": name, "sampler": AUTO}
    return {}


def _is_valid(run: Run, covariance: str) -> bool:
    try:
        specify([f"model={run.config['model']['name']}", f"model.covariance={covariance}"], run.config_dir)
    except ConfigError:
        return False
    return True
