"""The runs of a figure: from its experiment's file to the overrides of every job.

An experiment's file ``NAME.yaml`` holds the settings of a figure's runs. Its ``hydra.sweeper.params`` are
the grid that every scale shares; ``reproduce.quick`` and ``reproduce.paper`` are lists of further overrides, each of
which is expanded together with that grid. ``reproduce.each`` names settings that every one of them runs in turn, or
those that an entry names itself (``each``); what a setting says stands in place of the grid's. A figure that is drawn
from the runs of others names them (``reproduce.of``), and which settings it needs (``reproduce.only``); it may add runs
of its own. ``reproduce.timed`` says that seconds count, of all its runs or of the settings that it names.
``reproduce.stand_in`` says what is generated at quick scale where a published data set is absent. An exact figure has
no ``reproduce``: its table is computed and stored.

The claims of runs with other settings in place of the chosen ones (``smcmc reproduce ID --with KEY=VALUE``) are judged
by the same rules. A run's identity follows from its settings, so such runs are next to the others; their pictures have
folders of their own.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from splitmerge_cli.config import ConfigError, plain, specify
from splitmerge_cli.config.schema import RUNTIME_KEYS
from splitmerge_cli.data import downloads
from splitmerge_cli.papers import declaration
from splitmerge_cli.runs.sweeps.sweep import expand

FOLDER = "experiment"
"""Where a paper's folder holds the files of its experiments."""
SHIFT = 1_000_000
"""Added to every seed from one edition to the next; the seeds of the files are all smaller, so none repeats."""
SEEDS = ("seed", "data.seed")
"""Keys of a job that hold seeds."""


def _file(name: str, config_dir: str | Path | None) -> Traversable:
    """The file of an experiment: in the folder of a paper, in the user's folder, or in ``conf``."""
    folders = [each.folder for each in declaration.figure_sets(config_dir)]
    folders += [] if config_dir is None else [Path(config_dir)]
    places = [*(folder / FOLDER for folder in folders), resources.files("splitmerge_cli.conf.experiment")]
    for file in (place / f"{name}.yaml" for place in places):
        if file.is_file():
            return file
    raise ConfigError(f"experiment={name}: no such file; expected {FOLDER}/{name}.yaml in the folder of the paper")


def list_figures(config_dir: str | Path | None = None) -> list[tuple[str, str]]:
    """Id and title, the first comment of its experiment, of every figure and table."""
    titles = []
    for name in declaration.figures(config_dir):
        lines = _file(name, config_dir).read_text(encoding="utf-8").splitlines()
        comments = (line.lstrip("# ") for line in lines if line.startswith("#") and "@package" not in line)
        titles.append((name, next(comments, "")))
    return titles


def jobs(
    name: str,
    scale: str,
    out: Path,
    stand_in: bool = False,
    config_dir: str | Path | None = None,
    edition: int = 1,
) -> list[list[str]]:
    """Overrides of every run that a figure needs; none for an exact figure.

    `stand_in`: with generated data in place of the published ones, for an experiment that has such. `config_dir`: a
    folder of the user's own. `edition`: whose seeds, see `shift_seeds`.
    """
    plan = _plan(name, config_dir)
    sources = [*((source, plan.get("only")) for source in plan["of"]), (name, None)]
    words = [
        job for experiment, only in sources for job in _jobs_of(experiment, scale, stand_in, config_dir, edition, only)
    ]
    # of a network that stands in for a published one there is one size
    return [[*job, out_override(out)] for job in dict.fromkeys(map(tuple, words))]


def timed_jobs(
    name: str,
    scale: str,
    out: Path,
    stand_in: bool = False,
    config_dir: str | Path | None = None,
    edition: int = 1,
) -> set[tuple[str, ...]]:
    """Return the `jobs` of a figure whose seconds count, see ``reproduce.timed``; parameters as there.

    Quick scale is a look at the figure: none of its jobs is timed.
    """
    timed: set[tuple[str, ...]] = set()
    for source in [*_plan(name, config_dir)["of"], name] if scale == "paper" else []:
        if settings := _plan(source, config_dir).get("timed", False):
            only = None if settings is True else settings
            source_jobs = _jobs_of(source, scale, stand_in, config_dir, edition, only)
            timed |= {(*job, out_override(out)) for job in source_jobs}
    return timed


def _jobs_of(
    source: str,
    scale: str,
    stand_in: bool,
    config_dir: str | Path | None,
    edition: int,
    only: Sequence[str] | None = None,
) -> list[list[str]]:
    """The jobs of an experiment's own entries at a scale; `only`: of these settings."""
    plan = _plan(source, config_dir)
    grid_jobs = []
    for entry in plan.get(scale, []):
        for chosen in entry.get("each", plan["each"]):
            if only is None or chosen in only:
                setting = plan["each"][chosen]
                set_keys = {"each", *setting}
                grid = {key: value for key, value in (entry | plan["shared"]).items() if key not in set_keys} | setting
                grid_jobs += [[f"experiment={source}", *job] for job in expand(_overrides(grid))]
    # before data are replaced: the seeds of what stands in are fixed
    grid_jobs = [shift_seeds(job, edition, plan["seed"]) for job in grid_jobs]
    return [_replace_data(job, plan["stand_in"]) for job in grid_jobs] if stand_in else grid_jobs


def shift_seeds(job: Sequence[str], edition: int, default: int) -> list[str]:
    """The overrides of a job with the seeds of an edition: each is larger by (edition - 1) `SHIFT`, the `default` seed
    of a job that names none, too.

    Edition 1 has the seeds that the experiments' files name. Published data, generated data that stand in for them, a
    data set whose seed no job names, and the projections of LSHSM stay; an interpolation follows the seed of the
    chains.
    """
    if edition == 1:
        return list(job)
    shift = (edition - 1) * SHIFT
    named = [override.partition("=") for override in job]
    shifted = [
        f"{key}={int(value) + shift}" if key in SEEDS and value.isdecimal() else f"{key}{equals}{value}"
        for key, equals, value in named
    ]
    has_seed = any(key == "seed" for key, _, _ in named)
    return shifted if has_seed else [*shifted, f"seed={default + shift}"]


def _replace_data(job: Sequence[str], stand_ins: Sequence[Mapping[str, Any]]) -> list[str]:
    """A job with generated data in place of the published ones, where those are absent.

    A job names its published set; one that names no data has the experiment's only one.
    """
    of_experiment = len(stand_ins) == 1 and not any(override.startswith("data=") for override in job)
    for instead in stand_ins:
        of_job = f"data={instead['published']}"
        if of_job in job or of_experiment:
            kept = dict(override.split("=", 1) for override in job[1:] if override != of_job)
            # a key may have another name, or none
            names = {key: key for key in kept} | dict(instead.get("keys", {}))
            kept = {names[key]: value for key, value in kept.items() if names[key]}
            return [job[0], f"data={instead['data']}", *_overrides(kept), *_overrides(instead.get("set", {}))]
    return list(job)


@cache
def _read(text: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return an experiment's file and its grid."""
    settings = OmegaConf.create(text)
    assert isinstance(settings, DictConfig)
    return plain(settings, resolve=False), OmegaConf.select(settings, "hydra.sweeper.params") or {}


def _plan(name: str, config_dir: str | Path | None = None) -> dict[str, Any]:
    """Return an experiment's part ``reproduce``; its grid as `shared`, its `seed`, `each` with one nameless setting."""
    values, shared = _read(_file(name, config_dir).read_text(encoding="utf-8"))
    plan = {"each": {"": {}}, "shared": dict(shared), "seed": values.get("seed", 0)} | values.get("reproduce", {})
    sources = plan.get("of", [])
    plan["of"] = [sources] if isinstance(sources, str) else list(sources)
    if "stand_in" not in plan:
        plan["stand_in"] = [instead for source in plan["of"] for instead in _plan(source, config_dir)["stand_in"]]
    if isinstance(plan["stand_in"], Mapping):
        plan["stand_in"] = [plan["stand_in"]]
    return plan


def needs_stand_in(name: str, scale: str, config_dir: str | Path | None = None) -> bool:
    """Whether generated data stand in for the published ones of a figure: at quick scale, where these are absent; a
    `ConfigError` where they are absent at another scale."""
    sources = dict.fromkeys([*_plan(name, config_dir)["of"], name])
    replaced = [instead["published"] for source in sources for instead in _plan(source, config_dir)["stand_in"]]
    absent = [str(name) for name in replaced if not downloads.present(name)]
    if not absent:
        return False
    if scale != "quick":
        where = downloads.folder() / absent[0]
        raise ConfigError(
            f"{name} --scale {scale}: {where}: the published data are not there; expected them in the folder that the "
            f"environment variable {downloads.VARIABLE} names (smcmc data info {absent[0]} says where they "
            "come from; --scale quick generates others)"
        )
    return True


def _overrides(grid: Mapping[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in grid.items()]


def out_override(out: Path) -> str:
    """The override that names the folder of the results."""
    # quoted: a path may hold what Hydra's grammar reads otherwise
    return "out='{}'".format(str(out).replace("'", "\\'"))


def figures_folder(edition: int) -> str:
    """The folder of the results that holds an edition's drawn figures."""
    return "figures" if edition == 1 else f"figures-edition-{edition}"


OPTION = "--with"
_LONGEST = 80
"""Most letters of overrides in the name of a folder."""


def check_overrides(overrides: Sequence[str]) -> list[str]:
    """Return ``KEY=VALUE`` of each, the last of each key, by key; a `ConfigError` where one is none of a run."""
    override_by_key = {}
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not value or not re.fullmatch(r"[A-Za-z_][\w.]*", key):
            raise ConfigError(f"{OPTION} {override}: expected KEY=VALUE")
        if key in RUNTIME_KEYS:
            raise ConfigError(f"{OPTION} {override}: {key} changes no result; expected a key that does")
        override_by_key[key] = override
    return [override_by_key[key] for key in sorted(override_by_key)]


def override_jobs(
    jobs: Sequence[Sequence[str]], overrides: Sequence[str], config_dir: str | Path | None = None
) -> list[list[str]]:
    """Put overrides, as `check_overrides` returns them, in the place of what jobs have, where their keys apply; a
    `ConfigError` of a key that none of the jobs has, or a value that it cannot have."""
    changed = [list(job) for job in jobs]
    for override in overrides if jobs else ():
        key = override.partition("=")[0]
        applies = [_has(specify(job, config_dir).values, key) for job in changed]
        if not any(applies):
            specify([*changed[0], override], config_dir)  # says what is wrong
            raise ConfigError(f"{OPTION} {override}: none of the runs has {key}")
        changed = [
            [*(word for word in job if word.partition("=")[0] != key), override] if has else job
            for job, has in zip(changed, applies, strict=True)
        ]
    return changed


def _has(values: Mapping[str, Any], key: str) -> bool:
    """Whether a configuration has a dotted key."""
    node: Any = values
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return False
        node = node[part]
    return True


def folder_suffix(overrides: Sequence[str]) -> str:
    """Return the end of a folder's name that tells the overrides; empty without any."""
    if not overrides:
        return ""
    text = ",".join(overrides)
    name = re.sub(r"[^\w.,=+-]", "_", text)[:_LONGEST]
    return f"-with-{name}" + ("" if name == text else f"-{hashlib.sha256(text.encode()).hexdigest()[:8]}")
