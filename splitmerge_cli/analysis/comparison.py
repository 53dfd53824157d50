"""Finished runs compared: what each found and what it cost, how far apart their partitions are; how the answer of a run
moves with prior, model and start, by other runs at hand and by commands that would tell.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError, component, resolution, schema, specification, specify, usable_choices
from splitmerge_cli.data.tables.repeats import KEEP
from splitmerge_cli.diagnostics import agreement, partition_losses
from splitmerge_cli.received import DataError
from splitmerge_cli.runs import grouping, identity, initial, judgement
from splitmerge_cli.runs.answers import answers_of, interval_of_run, kind_of
from splitmerge_cli.runs.store.files import CLUSTERS, LISTED_RUNS, DamagedRun
from splitmerge_cli.runs.store.read import GROUPS, Run, find_runs
from splitmerge_cli.runs.store.schema import SealedFolder

MOST_RUNS = 20
"""Runs up to which every two are compared."""
OF_ITEMS = ("max_bytes", *(key.removeprefix("data.") for key in identity.DATA_FILES.values()))
"""Options of a data set that do not decide its items: a limit, and names of files, whose digests count instead."""


def row_of(run: Run) -> dict[str, Any]:
    """The findings of a finished run, and their cost: sampler, model, data, N, seed, chains, iterations (of the
    shortest chain); n_clusters (of documents: of their tokens) and n_clusters_of, the partition that has them: the
    ``estimate``, or the ``best state`` of chains that have not converged; low and high (see
    `runs.answers.interval_of_run`; None if chains have not converged: what pools them is the interval of none);
    converged (None: unknown), rhat (inf: chains keep apart; nan: undefined) and rhat_of, its quantity; ess and
    ess_of, the smallest; seconds of sampling, summed over chains, and ess_per_second (nan with ``timing=false``);
    ari, of the point estimate to the true clusters (nan: these are unknown)."""
    summary = run.summary
    judged = judgement.judgement_of(run)
    rhat = judged.rhat
    if rhat is None:
        rhat = math.inf if judged.converged is False and not judged.not_sampled else math.nan
    ess = math.nan if judged.ess is None else float(judged.ess)
    seconds = float(sum(summary["seconds"]))
    low, high = (None, None) if judged.converged is False else interval_of_run(run)
    ari = summary["diagnostics"].get("ari/point")
    return {
        **{key: summary[key] for key in ("sampler", "model", "data", "N", "seed", "chains")},
        "iterations": min(summary["iterations"]),
        "n_clusters": grouping.listed_clusters(summary),
        "n_clusters_of": "estimate" if "expected_vi" in summary["point_estimate"] else "best state",
        "low": low,
        "high": high,
        "converged": judged.converged,
        "rhat": float(rhat),
        "rhat_of": judged.quantity,
        "ess": ess,
        "ess_of": judged.ess_of,
        "seconds": seconds,
        "ess_per_second": ess / seconds if seconds > 0 else math.nan,
        "ari": math.nan if ari is None else float(ari),
    }


def compare(runs: Sequence[Run], labels: Sequence[str] | None = None) -> pd.DataFrame:
    """A row for each run: `job`, its label (by default `differences`), `run`, its folder, then `row_of`."""
    for run in runs:
        if not run.is_done:
            raise ConfigError(f"{run.path}: expected a finished run, got one that is {run.missing}")
    named = differences([run.config for run in runs]) if labels is None else labels
    rows = [{"job": label, "run": str(run.path)} | row_of(run) for label, run in zip(named, runs, strict=True)]
    # intervals that are missing do not make numbers of clusters real
    return pd.DataFrame(rows).astype(dict.fromkeys(("low", "high"), "Int64"))


def differences(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings in which runs differ, as overrides for each run; empty if there is only one run. Options of a group
    count among the runs that chose the same of it.

    >>> groups = {group: {"name": "a"} for group in ("data", "model", "schedule")}
    >>> one = groups | {"sampler": {"name": "sams"}, "seed": 0, "N": 5}
    >>> differences([one, one | {"seed": 1}])
    ['seed=0', 'seed=1']
    """
    plain = [{key: value for key, value in config.items() if key not in schema.RUNTIME_KEYS} for config in configs]
    overrides: list[list[str]] = [[] for _ in plain]

    def note(key: str, values: Mapping[int, Any]) -> None:
        """Note the values of a key by the number of their run, where they differ."""
        texts = {i: _text(value) for i, value in values.items()}
        if len(set(texts.values())) > 1:
            for i, text in texts.items():
                overrides[i].append(f"{key}={text}")

    for group in GROUPS:
        chosen = {i: str(config[group]["name"]) for i, config in enumerate(plain)}
        note(group, chosen)
        for name in dict.fromkeys(chosen.values()):
            alike = [i for i in chosen if chosen[i] == name]
            for key in dict.fromkeys(key for i in alike for key in plain[i][group]):
                if key not in ("name", "N") and not key.startswith("_"):
                    note(f"{group}.{key}", {i: plain[i][group].get(key) for i in alike})
    for key in dict.fromkeys(key for config in plain for key in config if key not in GROUPS):
        note(str(key), {i: config.get(key) for i, config in enumerate(plain)})
    return [" ".join(each) for each in overrides]


def _text(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value):
        return f"{value[:12]}..."  # a digest
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def labels_of(run: Run) -> NDArray[np.int64]:
    """The clusters of a finished run, int64 ``[N]``."""
    return answers_of(kind_of(run)).labels(run)


class Items:
    """The items of a finished run, to tell whether another clusters the same, their place in words, and clusters, int64
    ``[N]``."""

    def __init__(self, run: Run) -> None:
        self.labels = labels_of(run)
        data = run.config["data"]
        digests = [run.provenance.get(f"{name}_sha256") for name in identity.DATA_FILES]
        # rows of one file are the same items, whatever columns are looked at; which rows differ depends on the columns
        is_whole = data.get("repeated", KEEP) == KEEP and (data["name"] != "csv" or data.get("weights") is None)
        options = {key: value for key, value in data.items() if key not in OF_ITEMS}
        if digests[0] is not None and is_whole:
            options = initial.specification_of(run).model.kind.options_of_items(options)
        self._key = json.dumps([digests, options, len(self.labels)], sort_keys=True, default=str)
        place = data.get("path") or ""
        self.source = f"data={data['name']}{f' {place}' if place else ''}, {len(self.labels):,} items"
        self.names: list[str] | None = None
        if CLUSTERS in run.manifest.names:
            clusters = run.clusters()
            if "name" in clusters and clusters["name"].is_unique:
                self.names = clusters["name"].tolist()

    def align(self, other: "Items") -> NDArray[np.int64] | None:
        """The clusters of another run in the order of these items; None if its items are not the same rows of one file,
        or of one data set, and have other names."""
        if self._key == other._key:
            return other.labels
        if self.names is None or other.names is None or set(self.names) != set(other.names):
            return None
        place = {name: i for i, name in enumerate(other.names)}
        return other.labels[[place[name] for name in self.names]]


def measure_distances(runs: Sequence[Run]) -> tuple[pd.DataFrame, list[str]]:
    """Distances between the partitions of runs: a row for each two, with a, b (places in `runs`), vi (variation of
    information, in nats) and ari (adjusted Rand index), both nan where they cluster other items; and, in words, which
    runs have other items than the first of their kind."""
    items = [Items(run) for run in runs]
    rows, apart = [], []
    for a, b in combinations(range(len(runs)), 2):
        theirs = items[a].align(items[b])
        vi = ari = math.nan
        if theirs is None:
            apart.append((a, b))
        else:
            vi = float(partition_losses.distances(items[a].labels, theirs[None, :])[0])
            ari = float(agreement.SCORES["ari"](items[a].labels, theirs))
        rows.append({"a": a, "b": b, "vi": vi, "ari": ari})
    # runs fall into groups of the same items
    groups: list[list[int]] = []
    for k in range(len(runs)):
        home = next((group for group in groups if (group[0], k) not in apart), None)
        if home is None:
            groups.append([k])
        else:
            home.append(k)
    numbers = (f"run{'s' * (len(group) > 1)} {', '.join(str(k + 1) for k in group)}" for group in groups)
    sources = [f"{named}: {items[group[0]].source}" for named, group in zip(numbers, groups, strict=True)]
    return pd.DataFrame(rows, columns=["a", "b", "vi", "ari"]), sources if len(groups) > 1 else []


def distance_rows(distances: pd.DataFrame, runs: int) -> list[list[str]]:
    """Format the distances between runs, one row each: vi below the diagonal, ari above it."""
    table = [[""] * runs for _ in range(runs)]
    for row in distances.itertuples(index=False):
        table[row.a][row.b], table[row.b][row.a] = number(row.ari, ".3f"), number(row.vi, ".3f")
    return table


def drop_shared(jobs: Sequence[Sequence[str]]) -> list[str]:
    """Drop the overrides that all jobs share; if nothing is left, keep them."""
    common = set(jobs[0]).intersection(*jobs) if len(jobs) > 1 else set()
    return [" ".join(key for key in job if key not in common) or " ".join(job) for job in jobs]


def settings(job: Sequence[str]) -> list[str]:
    """The overrides of a job that may change what is computed, or name its experiment."""
    left_out = set(schema.RUNTIME_KEYS) - {"experiment"}
    return [override for override in job if override.lstrip("+~").partition("=")[0] not in left_out]


def write_sweep(out: Path, jobs: Sequence[str], runs: Sequence[Run]) -> Path:
    """Write ``sweep.csv``, the runs' folders and a manifest to a folder of the results, named by the ids of the
    finished runs; `jobs` are the overrides of each, in the order of the sweep. It depends on the runs alone, not on how
    many were made at the same time. Returns its path."""
    table = compare(runs, jobs)
    table["run"] = [f"{run.path.parent.name}/{run.path.name}" for run in runs]
    name = hashlib.sha256(json.dumps([run.path.name for run in runs]).encode()).hexdigest()[:12]
    with SealedFolder(out / "sweeps" / name) as files:
        files.add_csv("sweep", table)
        files.add_text(LISTED_RUNS, "".join(f"{run}\n" for run in table["run"]))
    return out / "sweeps" / name / "sweep.csv"


HEAD = ("K", "95 %", "converged", "R-hat", "ESS", "ESS/s", "seconds", "ARI")


def cells(row: Any, truth: bool) -> Iterator[str]:
    """The cells of a `compare` row under `HEAD`, as text; without a `truth` the last is left out."""
    yield from clusters_of(row._asdict())
    yield {True: "yes", False: "no"}.get(row.converged, "unknown")
    yield number(row.rhat, ".3f")
    yield number(row.ess, ",.0f")
    yield number(row.ess_per_second)
    yield number(row.seconds)
    if truth:
        yield number(row.ari, ".3f")


def clusters_of(row: Mapping[str, Any]) -> Iterator[str]:
    """The cells `K` and `95 %` of a `compare` row, as text; an estimate outside of its interval is marked."""
    K, low, high = (row[key] for key in ("n_clusters", "low", "high"))
    # a frame has missing values and truth values of its own
    if pd.isna(low):
        yield from (f"{K:,} (best state)", "–")
    else:
        yield from (f"{K:,}{'' if low <= K <= high else ' (outside)'}", f"{low:,}–{high:,}")


def number(value: float, form: str | None = None) -> str:
    """A number as text; without a form, three digits."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite"
    return format(value, form or (",.0f" if value >= 100 else ".3g"))


NEWEST_RUNS = 60
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
    below = sorted(find_runs(run.path.parents[1]), key=lambda each: -each.path.stat().st_mtime)[:NEWEST_RUNS]
    others = {other.path.resolve(): other for other in (*at_hand, *below)}
    others.pop(run.path.resolve(), None)
    for other in others.values():
        try:
            if not other.is_done or other.config["data"]["name"] != run.config["data"]["name"]:
                continue
            other = initial.open_run(other)
            labels = own_items.align(Items(other))
        except (ConfigError, DamagedRun, FileNotFoundError):  # what cannot be read tells nothing here
            continue
        if labels is None:
            continue
        difference = differences([run.config, other.config])[1]
        ari = float(agreement.SCORES["ari"](own_items.labels, labels))
        vi = float(partition_losses.distances(own_items.labels, labels[None, :])[0])
        answers_found.append(Answer(aspect_of(difference), difference or "nothing", row_of(other), ari, vi))
    return sorted(answers_found, key=lambda each: (each.aspect, each.difference))


def aspect_of(difference: str) -> str:
    """In what two runs differ: one of prior, model, start, columns, sampler and length; or several.

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
    spec, model = initial.specification_of(run), run.config["model"]
    prior: dict[str, Any] = {}
    for name, few, many in (("eta", 0.02, 0.5), ("concentration", 0.2, 5.0)):
        if name in model:
            ends = (model[name] / 5, model[name] * 5) if isinstance(model[name], int | float) else (few, many)
            prior = {f"model.{name}": tuple(float(f"{end:g}") for end in ends)}
    start = {"init": ("one_cluster", "singletons"), "seed": run.config["seed"] + 1}
    tried = {"prior": prior, "model": _choose_other_model(run, model), "start": start}
    for aspect, changed in tried.items():
        line = specification.command_of(spec, changed, run.config_dir) if changed else None
        if line is not None:
            yield aspect, line


def _choose_other_model(run: Run, model: Mapping[str, Any]) -> dict[str, Any]:
    """Another model that reads the data, or other forms of this one."""
    covariance, dataset = model.get("covariance"), None
    with suppress(ConfigError, DataError):
        dataset = initial.dataset_of(run)
    if dataset is not None and dataset.types and not any(column.type == "real" for column in dataset.types):
        covariance = None  # no column has one
    if covariance is not None:
        others = tuple(each for each in ("diag", "full") if each != covariance)
        with suppress(ConfigError):
            specify([f"model={model['name']}", f"model.covariance={others[0]}"], run.config_dir)
            return {"model.covariance": others if len(others) > 1 else others[0]}
        return {}
    for name in usable_choices("model") if dataset is not None else ():
        if name != model["name"] and component("model", name).target.accepts(dataset)[0]:
            return {"model": name, "sampler": resolution.AUTO}
    return {}
