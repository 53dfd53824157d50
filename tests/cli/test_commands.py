"""The other commands, and what people see before they run anything."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from command_line import read_rejection
from typer.main import get_group

from splitmerge_cli import __version__, cli, config, runs
from splitmerge_cli.cli.base import COMMANDS
from splitmerge_cli.papers import experiments, reproduce
from splitmerge_cli.runs.sweeps import sweep


def test_run_help_names_groups_and_keys(smcmc) -> None:
    text = smcmc("run", "--help").stdout
    for word in ("sampler", "model", "data", "schedule", "iterations", "budget", "trace.partitions", "resume", "--cfg"):
        assert word in text


def test_cfg_shows_without_running(smcmc, tmp_path: Path) -> None:
    result = smcmc("run", "--cfg", "job", "--resolve", "-p", "data", "N=77", status=0)
    assert yaml.safe_load(result.stdout)["N"] == 77
    assert "kernel: both" in smcmc("sweep", "--cfg", "job", "sampler=sdds,rm").stdout
    assert "sampler/auto" in smcmc("run", "--info", "defaults").stdout
    assert not list(tmp_path.iterdir())


def test_config_dir_adds_choices(smcmc) -> None:
    Path("mine/sampler").mkdir(parents=True)
    Path("mine/sampler/long_rgsm.yaml").write_text(
        "_target_: splitmerge_cli.samplers.split_merge.RGSM\nt: 20\nr: 1\ng: 1\nmode: exact\n"
    )
    args = ["N=20", "chains=1", "iterations=5", "progress=none", "--config-dir", "mine"]
    result = smcmc("run", "sampler=long_rgsm", *args, status=0)
    assert "results/long_rgsm-emm/" in result.stdout
    result = smcmc("sweep", "sampler=long_rgsm,sdds", *args, "hydra/launcher=joblib")
    assert "2 jobs: 1 done, 1 skipped" in result.stdout
    assert smcmc("run", "sampler=long_rgsm", "sampler.s=1", *args).exit_code == 2
    result = smcmc("run", "schedule=[{long_rgsm: 1}, {gibbs: 1}]", *args)
    assert "results/long_rgsm+gibbs-emm/" in result.stdout


def test_config_dir_may_hold_modules(smcmc) -> None:
    Path("mine/data").mkdir(parents=True)
    Path("mine/my_data.py").write_text(
        "import numpy as np\n"
        "from splitmerge_cli.data.dataset import Dataset\n\n"
        "def pairs(N):\n"
        "    values = np.arange(N, dtype=np.int32) // 2\n"
        "    return Dataset('pairs', 'tokens', values, vocabulary=[str(i) for i in range(N)])\n"
    )
    Path("mine/data/pairs.yaml").write_text("_target_: my_data.pairs\nN: ${N}\n")
    Path("mine/data/lost.yaml").write_text("_target_: my_data.lost\nN: ${N}\n")
    args = ["N=12", "chains=1", "iterations=5", "progress=none", "--config-dir", "mine"]
    result = smcmc("run", "data=pairs", *args, status=0)
    assert "results/independence-pairs/" in result.stdout
    result = smcmc("run", "data=lost", *args, status=2)
    assert "my_data.lost" in result.stderr


def test_diagnose(smcmc) -> None:
    smcmc("run", "sampler=sdds", "N=20", "chains=2", "iterations=100", "progress=none")
    result = smcmc("diagnose", "--all", "results", status=0)
    for quantity in ("rhat/log_joint", "ess/n_clusters", "acceptance/smart_split", "ari/best"):
        assert quantity in result.stdout
    assert "learn from each other" not in result.stdout
    smcmc("run", "sampler=bsm", "data=networkx", "chains=2", "iterations=60", "warmup=5", "progress=none", "out=learnt")
    assert "learn from each other" in smcmc("diagnose", "learnt").stdout


def test_lists(smcmc) -> None:
    assert {"sdds", "rgsm", "gibbs"} <= {line.split()[0] for line in smcmc("list", "samplers").stdout.splitlines()}
    assert {"emm", "bernoulli"} <= {line.split()[0] for line in smcmc("list", "models").stdout.splitlines()}
    assert "sdds-fig3" in smcmc("list", "figures").stdout
    assert "jain_neal_example2" in smcmc("data", "list").stdout
    info = smcmc("data", "info", "csv").stdout
    assert "data.path=FILE" in info
    assert "data.truth=null" in info
    assert "data.separation=5.0  # standard deviation of the means" in smcmc("data", "info", "gaussian").stdout
    assert "nothing to fetch" in smcmc("data", "fetch", "emm").stdout


def test_sys_info(smcmc) -> None:
    info = json.loads(smcmc("sys-info").stdout)
    assert info["versions"]["python"] == sys.version.split()[0]
    assert info["machine"]["processors"] >= 1


def test_completion() -> None:
    assert "sampler=" in config.complete("samp")
    assert {"sampler=rm", "sampler=rgsm", "sampler=refresh"} == set(config.complete("sampler=r"))
    assert config.complete("model.al") == ["model.alpha="]
    assert config.complete("nothing=") == []
    assert not [key for key in config.complete("") if key.startswith("_") or key.endswith(".name=")]


def test_version(smcmc) -> None:
    assert smcmc("--version").stdout == f"smcmc {__version__}\n"


def test_the_table_of_commands_is_what_they_are() -> None:
    """The list of commands shows the first paragraph of each help, in the order of the table."""
    cli.import_all()
    built = get_group(cli.app).commands
    assert list(built) == list(COMMANDS)
    for name, command in built.items():
        assert " ".join(str(command.help).partition("\n\n")[0].split()) == COMMANDS[name].help


def test_priors_are_listed_as_they_are_written(smcmc):
    names = [line.split()[0] for line in smcmc("list", "priors").stdout.splitlines()]
    assert names == [
        "crp",
        "dynamic_mfm(components=bnb(1,4,3))",
        "esc(r=gamma(1,1),p=beta(2,2))",
        "learned_sizes(size_1=beta(1,1),size_2=beta(1,1),size_3=beta(1,1),size_more=beta(1,1))",
        "mfm(components=bnb(1,4,3))",
        "pitman_yor(discount=beta(1,9))",
        "uniform",
        "uniform_count",
    ]
    assert "Chinese restaurant process" in smcmc("list").stdout


@pytest.mark.slow
def test_data_of_a_folder_of_the_users_own_are_listed(smcmc):
    Path("own/data").mkdir(parents=True)
    Path("own/data/mine.yaml").write_text("# Mine: far apart\ndefaults: [gaussian]\nseparation: 9\n")
    (line,) = (x for x in smcmc("data", "list", "--config-dir", "own").stdout.splitlines() if x.startswith("mine"))
    assert line.split() == ["mine", "points", "any", "generated", "Mine:", "far", "apart"]
    assert "data.separation=9" in smcmc("data", "info", "mine", "--config-dir", "own").stdout
    assert smcmc("data", "info", "mine").exit_code == 2 and "mine" not in smcmc("data", "list").stdout


def test_a_dry_run_shows_overrides_as_they_are_given(smcmc):
    grid = ("data=gaussian", "N=20", "model.concentration=gamma(1,1),gamma(2,2)")
    shown = smcmc("sweep", "sampler=sams", *grid, "--dry-run").stdout
    assert "model.concentration=gamma(1,1)" in shown and "\\" not in shown


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["certify", "pairs=20"], "pairs=20: an option of smcmc certify, not a key; expected --pairs 20"),
        (["certify", "k=20"], "k=20: an option of smcmc certify, not a key; expected -k 20"),
        (["race", "sampler=sams,sdds", "seeds=2"], "seeds=2: .* smcmc race, not a key; expected --seeds 2"),
        (["sweep", "seed=0,1", "dry_run=true"], "dry_run=true: .* smcmc sweep, not a key; expected --dry-run"),
        (["reproduce", "scale=quick"], "scale=quick: .* smcmc reproduce, not a key; expected --scale quick"),
        (["summary", "columns=1"], "columns=1: .* smcmc summary, not a key; expected --columns"),
    ],
)
def test_an_option_that_is_typed_as_a_key_is_named(smcmc, typed: list[str], expected: str) -> None:
    assert re.match(f"smcmc: {expected}", read_rejection(smcmc, *typed))


def test_workers_mean_the_same_in_all_commands(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["data=gaussian", "N=20", "iterations=20"]
    smcmc("run", *given, "--workers", "2")
    assert smcmc("run", *given, "workers=2", "--workers", "2").stderr.startswith("already finished")
    asked = []
    monkeypatch.setattr(sweep, "run_jobs", lambda jobs, workers=None, *_, **__: asked.append(workers) or [])
    smcmc("sweep", *given, "seed=0,1", "--workers", "2")
    smcmc("sweep", *given, "seed=0,1", "--workers", "2", "hydra.launcher.n_jobs=2")
    assert asked == [2, 2]
    for command in ("run", "certify"):
        said = read_rejection(smcmc, command, *given, "workers=3", "--workers", "2")
        assert said == "smcmc: --workers 2 and workers=3: expected one of the two\n"
    for command in ("sweep", "race"):
        said = read_rejection(smcmc, command, *given, "--workers", "2", "hydra.launcher.n_jobs=3")
        assert said == "smcmc: --workers 2 and hydra.launcher.n_jobs=3: expected one of the two\n"
        said = read_rejection(smcmc, command, *given, "--workers", "2", "hydra/launcher=dask")
        assert said.startswith("smcmc: --workers 2: hydra/launcher=dask has other options")


@pytest.mark.parametrize(
    "command", [[], ["run"], ["race"], ["columns", "t.csv"], ["data", "info"], ["list"], ["sweep"]]
)
@pytest.mark.parametrize(
    ("flag", "instead"),
    [
        *((flag, "smcmc sweep makes a grid of runs") for flag in ("-m", "--multirun")),
        *((flag, "smcmc run --config-dir FOLDER adds a folder") for flag in ("-cn", "-cd", "-cp", "--config-name=x")),
        ("-sc", "smcmc --install-completion"),
        ("--hydra-help", "-h shows the help"),
        ("--experimental-rerun", "the command that made a run continues it"),
    ],
)
def test_flags_of_hydra_name_what_takes_their_place(smcmc, command: list[str], flag: str, instead: str) -> None:
    said = read_rejection(smcmc, *command, flag, "seed=1,2")
    assert said.startswith(f"smcmc: {flag.partition('=')[0]}: a flag of Hydra, not of ") and f"; {instead}" in said


def test_flags_that_a_command_shares_with_hydra_are_its_own(smcmc) -> None:
    assert "seed: 3" in smcmc("run", "-c", "job", "data=emm", "sampler=sdds", "seed=3").stdout
    for flag in ("-c", "--resolve", "--info", "-p"):
        assert "smcmc run and smcmc sweep show the configuration" in read_rejection(smcmc, "race", flag, "job")


@pytest.mark.parametrize("words", [["t.csv", "model=records"], ["sampler=sdds", "N=20"]])
def test_words_without_a_command_name_the_one_that_takes_them(smcmc, words: list[str]) -> None:
    Path("t.csv").write_text("a,b\n1,2\n")
    assert read_rejection(smcmc, *words).endswith(f"expected a command in front, such as smcmc run {' '.join(words)}\n")


@pytest.mark.parametrize("command", ["columns", "certify", "verify", "compare", "sweep", "race"])
def test_keys_of_hydra_that_choose_a_folder_are_refused_everywhere(smcmc, command: str) -> None:
    assert "out=FOLDER" in read_rejection(smcmc, command, "data=emm", "N=20", "hydra.run.dir=x")
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["N=50", "hydra.run.dir=elsewhere"], "smcmc: hydra.run.dir=elsewhere: smcmc run reads no keys of Hydra; out="),
        (["N=50", "hydra/launcher=basic"], "smcmc: hydra/launcher=basic: smcmc run reads no keys of Hydra"),
    ],
)
def test_a_run_says_what_takes_the_words_of_hydra(smcmc, words: list[str], said: str) -> None:
    result = smcmc("run", "data=emm", *words)
    assert result.exit_code == 2 and " ".join(result.stderr.split()).startswith(said) and not Path("results").exists()


# ---- Other settings in place of the chosen ones: where they apply, what is rejected, where the results go.


@pytest.mark.slow
def test_an_override_replaces_or_adds_where_its_key_applies(tmp_path: Path) -> None:
    jobs = experiments.jobs("sdds-fig3", "quick", tmp_path)[::5]
    assert any("sampler=rm" in job for job in jobs) and not all("sampler=rm" in job for job in jobs)
    for override in ("sampler.redistribution=coin", "K0=7", "N=50", "init=singletons"):
        key = override.partition("=")[0]
        changed = experiments.override_jobs(jobs, [override])
        assert len(changed) == len(jobs)
        for before, after in zip(jobs, changed, strict=True):
            applies = key != "sampler.redistribution" or "sampler=rm" in before
            kept = [one for one in before if not one.startswith(f"{key}=")]
            assert after == ([*kept, override] if applies else before), override
    assert experiments.override_jobs([], ["K0=7"]) == [] and experiments.override_jobs(jobs, []) == jobs


@pytest.mark.slow
def test_runs_whose_seconds_count_do_so_with_an_override_and_equal_runs_are_one(tmp_path: Path) -> None:
    for override, number in (("init=random", 180), ("N=50", 3 * 60), ("budget=1", 180)):
        wanted, timed = reproduce._plan(["sdds-fig6"], "paper", tmp_path, None, 1, [override])
        assert len(wanted["sdds-fig6"]) == number and timed == set(wanted["sdds-fig6"])
        assert all(override in job for job in timed)
    wanted, timed = reproduce._plan(["sdds-fig6"], "paper", tmp_path, None, 1, ["N=50", "budget=1"])
    assert len(wanted["sdds-fig6"]) == 60 and timed == set(wanted["sdds-fig6"])


def test_the_last_of_a_key_counts_and_the_folder_says_them() -> None:
    chosen = experiments.check_overrides(["b.c=1", "a=2", "b.c=[1,2]"])
    assert chosen == ["a=2", "b.c=[1,2]"]
    assert experiments.folder_suffix([]) == "" and experiments.folder_suffix(["a=2"]) == "-with-a=2"
    named = {experiments.folder_suffix(one) for one in (["b.c=[1,2]"], ["b.c=(1,2)"], ["a=" + "2" * 99])}
    assert len(named) == 3 and all("/" not in name and len(name) < 100 for name in named)
    for override in ("a", "a=", "=1", "+a=1", "~a=1", "out=x", "experiment=sdds-fig1"):
        with pytest.raises(config.ConfigError, match="--with"):
            experiments.check_overrides([override])


@pytest.mark.parametrize(
    ("name", "override", "said"),
    [
        ("sdds-traces", "data.attribute=6", "data.attribute: no such key. Did you mean data.attributes?"),
        ("sdds-traces", "data.attributes=no", "data.attributes=no: expected"),
        ("sdds-traces", "sampler.redistribution=coin", "sampler.redistribution: no such key"),
        ("sdds-table1", "model.alpa=0.1", "model.alpa: no such key. Did you mean model.alpha?"),
        ("sdds-table1", "out=x", "--with out=x: out changes no result"),
    ],
)
def test_what_is_wrong_is_one_message_that_names_the_key(
    smcmc: Callable[..., Any], name: str, override: str, said: str
) -> None:
    result = smcmc("reproduce", name, "--with", override)
    assert result.exit_code == 2 and said in result.stderr and len(result.stderr.splitlines()) == 1
    assert not list(Path().rglob("*.csv")) and result.stdout == ""


def test_results_lie_apart_and_do_not_touch_the_others(smcmc: Callable[..., Any]) -> None:
    """The table of an exact figure, too: it has the name of the figure, not an identity."""
    assert smcmc("reproduce", "sdds-table1").exit_code == 0
    ordinary = {path: path.read_bytes() for path in Path("results").rglob("*") if path.is_file()}
    smcmc("reproduce", "sdds-table1", "--with", "model.alpha=0.1", status=0)
    folder = Path("results") / "figures-with-model.alpha=0.1"
    assert folder.name == experiments.figures_folder(1) + experiments.folder_suffix(["model.alpha=0.1"])
    assert "With model.alpha=0.1 in place" in (folder / "sdds-table1-caption.txt").read_text()
    assert all(path.read_bytes() == content for path, content in ordinary.items())
    new = {path for path in Path("results").rglob("*") if path.is_file()} - set(ordinary)
    assert new and all(folder in path.parents for path in new)
    tables = [pd.read_csv(place / "sdds-table1-claims.csv") for place in (folder, Path("results/figures"))]
    assert list(tables[0]["rule"]) == list(tables[1]["rule"]) and list(tables[0]["ours"]) != list(tables[1]["ours"])


# ---- Notes on how a run read its data: a line on stderr, and the same in its files.

RUN = ["sampler=gibbs", "iterations=5", "chains=1", "progress=none"]
ALONE = "next: smcmc run data="
NOTE = "t.csv: column 1 ('') has no name and counts the rows from 0: it is left out (data.columns would read it)"


def summary_of(stdout: str) -> dict[str, Any]:
    return dict(json.loads((Path(stdout.strip().splitlines()[-1]) / "summary.json").read_text()))


def test_a_run_says_what_is_left_out(smcmc) -> None:
    Path("t.csv").write_text(",x,y\n0,1.5,2\n1,3.5,4\n")
    args = ["run", "data=csv", "data.path=t.csv", "model=gaussian", *RUN]
    result = smcmc(*args)
    lines = result.stderr.splitlines()
    assert result.exit_code == 0 and lines[0] == f"smcmc: note: {NOTE}" and lines[-1].startswith(ALONE)
    assert summary_of(result.stdout)["notes"] == [NOTE]
    # a run that was finished before prints it too
    assert smcmc(*args).stderr.splitlines()[0] == f"smcmc: note: {NOTE}"
    asked = smcmc(*args, "data.drop=1")
    assert "note:" not in asked.stderr and "notes" not in summary_of(asked.stdout)


def test_a_sweep_says_it_once(smcmc) -> None:
    Path("t.csv").write_text(",x,y\n0,1.5,2\n1,3.5,4\n")
    result = smcmc("sweep", "--dry-run", "data=csv", "data.path=t.csv", "model=gaussian", *RUN, "seed=1,2")
    assert result.exit_code == 0 and result.stderr.count(NOTE) == 1 and "2 jobs" in result.stdout


def test_full_covariances_of_many_columns_are_said_to_take_long(smcmc) -> None:
    values = np.random.default_rng(0).normal(size=(70, 30))
    pd.DataFrame(values).to_csv("t.csv", index=False)
    args = ["run", "data=csv", "data.path=t.csv", "model=gaussian", "model.covariance=full", *RUN]
    said = "smcmc: note: full covariances of 30 columns take long; data.reduce=pca is faster"
    assert said in smcmc(*args).stderr.splitlines()
    for other in ("data.reduce=pca", "model.covariance=diag"):
        assert said not in smcmc(*args, other).stderr


def test_a_sampler_that_makes_no_move_in_its_iterations_is_noted(smcmc) -> None:
    args = ["run", "sampler=arm", "data=gaussian", "N=30", "chains=2", "progress=none"]
    said = "warmup=50: all 40 iterations are Gibbs scans alone, and sampler=arm makes no move"
    for words, expected in (
        (["iterations=40"], True),
        (["iterations=40", "warmup=20"], False),
        (["iterations=51"], False),
    ):
        assert (said in " ".join(smcmc(*args, *words).stderr.split())) == expected
    several = ["sampler=arm", "data=gaussian", "N=31", "iterations=40"]
    for command in (["sweep", "chains=2"], ["race", "--seeds", "1", "init=one_cluster"]):
        assert said in " ".join(smcmc(*command, *several).stderr.split())


def test_a_prior_whose_clusters_grow_is_noted_for_records(smcmc) -> None:
    args = ["run", "data=records", "N=30", "iterations=5", "chains=1", "progress=none"]
    said = "smcmc: note: with model.prior=crp clusters grow"
    assert said in smcmc(*args, "model.prior=crp").stderr
    assert said not in smcmc(*args).stderr


def test_the_name_of_a_column_that_is_a_number_is_given_in_quotes() -> None:
    Path("t.csv").write_text("0,1,2\n7.5,.5,1.5\n8.5,2.5,3.5\n")
    for args, first in ("data.columns=['1']", 0.5), ("data.columns=[-3]", 7.5), ("data.drop='0'", 0.5):
        plan = runs.prepare(config.compose(["data=csv", "data.path=t.csv", "model=gaussian", "sampler=gibbs", args]))
        assert plan.dataset.values[0, 0] == first
