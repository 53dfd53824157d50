"""The other commands, and what people see before they run anything."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_group

from cli.calls import read_rejection
from splitmerge_cli import __version__
from splitmerge_cli.cli import app, import_all
from splitmerge_cli.cli.commands import COMMANDS
from splitmerge_cli.config import complete
from splitmerge_cli.runs.sweeps import sweep


def test_run_help_names_groups_and_keys(smcmc) -> None:
    text = smcmc("run", "--help").stdout
    for word in ("sampler", "model", "data", "schedule", "iterations", "budget", "trace.partitions", "resume", "--cfg"):
        assert word in text


def test_cfg_shows_without_running(smcmc, tmp_path: Path) -> None:
    result = smcmc("run", "--cfg", "job", "--resolve", "-p", "data", "N=77")
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout)["N"] == 77
    assert "kernel: both" in smcmc("sweep", "--cfg", "job", "sampler=sdds,rm").stdout
    assert "sampler/auto" in smcmc("run", "--info", "defaults").stdout
    assert not list(tmp_path.iterdir())


def test_config_dir_adds_choices(smcmc) -> None:
    Path("mine/sampler").mkdir(parents=True)
    Path("mine/sampler/long_rgsm.yaml").write_text(
        "_target_: splitmerge_cli.samplers.rgsm.RGSM\nt: 20\nr: 1\ng: 1\nmode: exact\n"
    )
    args = ["N=20", "chains=1", "iterations=5", "progress=none", "--config-dir", "mine"]
    result = smcmc("run", "sampler=long_rgsm", *args)
    assert result.exit_code == 0, result.output
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
    result = smcmc("run", "data=pairs", *args)
    assert result.exit_code == 0, result.output
    assert "results/independence-pairs/" in result.stdout
    result = smcmc("run", "data=lost", *args)
    assert result.exit_code == 2
    assert "my_data.lost" in result.stderr


def test_diagnose(smcmc) -> None:
    smcmc("run", "sampler=sdds", "N=20", "chains=2", "iterations=100", "progress=none")
    result = smcmc("diagnose", "--all", "results")
    assert result.exit_code == 0
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
    assert "nothing to fetch" in smcmc("data", "fetch", "emm").stdout


def test_sys_info(smcmc) -> None:
    info = json.loads(smcmc("sys-info").stdout)
    assert info["versions"]["python"] == sys.version.split()[0]
    assert info["machine"]["processors"] >= 1


def test_completion() -> None:
    assert "sampler=" in complete("samp")
    assert {"sampler=rm", "sampler=rgsm", "sampler=refresh"} == set(complete("sampler=r"))
    assert complete("model.al") == ["model.alpha="]
    assert complete("nothing=") == []
    assert not [key for key in complete("") if key.startswith("_") or key.endswith(".name=")]


def test_version(smcmc) -> None:
    assert smcmc("--version").stdout == f"smcmc {__version__}\n"


def test_the_table_of_commands_is_what_they_are() -> None:
    """The list of commands shows the first paragraph of each help, in the order of the table."""
    import_all()
    built = get_group(app).commands
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
        *((flag, "--config-dir FOLDER adds a folder") for flag in ("-cn", "-cd", "-cp", "--config-name=x")),
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
