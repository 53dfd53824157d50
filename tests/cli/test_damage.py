"""Files of runs that are gone or damaged, and what the system rejects: one message, and nothing wrong is written."""

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from broken_runs import break_off

from splitmerge_cli import config, runs
from splitmerge_cli.analysis import coupled_pairs
from splitmerge_cli.runs import finish, initial, progress, recorders
from splitmerge_cli.runs.store import files, manifest, read, schema
from splitmerge_cli.runs.store.summary import Summary
from splitmerge_cli.runs.sweeps import sweep

ARGS = ["N=20", "chains=1", "iterations=20000", "timing=false", "progress=none"]


@pytest.fixture(scope="module")
def stored_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run in ``done`` and the same run unfinished in ``half``."""
    folder = tmp_path_factory.mktemp("stored")
    runs.run(config.compose([*ARGS, f"out={folder / 'done'}"]))
    break_off(*ARGS, f"out={folder / 'half'}")
    assert list(folder.glob("half/*/*/work/chain-0.npz"))
    return folder


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def replace_by(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def turn_into_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = {
    "cut": cut,
    "flipped": flip,
    "empty": lambda path: path.write_bytes(b"") and None,
    "garbage": replace_by(b"\x80garbage"),
    "list": replace_by(b"[]"),
    "gone": Path.unlink,
    "folder": turn_into_folder,
}


def damage_copy(stored_runs: Path, which: str, file: str, damage: str) -> Path:
    shutil.copytree(stored_runs / which, "results")
    path = next(Path("results").glob("*/*"))
    DAMAGES[damage](path / file)
    return path


@pytest.mark.parametrize(
    ("file", "damage"),
    [(f"work/chain-0.{end}", d) for end in ("trace.arrows", "partitions.arrows") for d in DAMAGES]
    # a chain whose checkpoint is gone starts again
    + [("work/chain-0.npz", d) for d in DAMAGES if d != "gone"]
    + [("status.json", d) for d in ("empty", "garbage", "list")],
)
def test_damage_to_an_unfinished_run(smcmc, stored_runs: Path, file: str, damage: str) -> None:
    damage_copy(stored_runs, "half", file, damage)
    result = smcmc("run", *ARGS, status=1)
    assert len(result.stderr.splitlines()) == 1
    assert Path(file).name in result.stderr
    # without its status a run is continued all the same
    assert ("once it is removed" if file == "status.json" else "resume=false") in result.stderr
    if damage not in ("flipped", "empty"):
        return
    assert smcmc("diagnose", "results").exit_code in (0, 1)
    assert smcmc("sweep", "--dry-run", *ARGS).exit_code in (0, 1)
    result = smcmc("run", *ARGS, "resume=false", status=0)
    assert read.Run(result.stdout.strip()).trace().equals(read.find_runs(stored_runs / "done")[0].trace())


@pytest.mark.parametrize("resume", ["true", "false"])
def test_a_link_in_place_of_the_work_folder_is_not_followed(smcmc, stored_runs: Path, resume: str) -> None:
    shutil.copytree(stored_runs / "half", "results")
    work = next(Path("results").glob("*/*/work"))
    Path("mine").mkdir()
    Path("mine/letter").write_text("dear")
    shutil.rmtree(work)
    work.symlink_to(Path("mine").absolute())
    result = smcmc("run", *ARGS, f"resume={resume}")
    assert result.exit_code == 1 and f"{work}: a link; expected a folder; remove it" in result.stderr
    assert [file.name for file in Path("mine").iterdir()] == ["letter"]


@pytest.mark.parametrize(
    ("key", "value"), [("labels", np.zeros(7, dtype=np.int32)), ("K", 1 << 40), ("counts", []), ("counts", [[0, 0, 0]])]
)
def test_a_checkpoint_that_holds_no_state_of_the_chain(smcmc, stored_runs: Path, key: str, value: object) -> None:
    """A file that can be read, though nothing that was ever written."""
    shutil.copytree(stored_runs / "half", "results")
    path = next(Path("results").glob("*/*/work/chain-0.npz"))
    entry = manifest.load(path)
    entry["state"][key] = value
    manifest.save(path, entry)
    result = smcmc("run", *ARGS, status=1)
    assert len(result.stderr.splitlines()) == 1
    assert "chain-0.npz: damaged" in result.stderr


@pytest.mark.parametrize("file", ["trace.parquet", "diagnostics.parquet", "config.yaml", "status.json"])
@pytest.mark.parametrize("damage", ["empty", "garbage", "list", "cut"])
def test_damage_to_a_finished_run(smcmc, stored_runs: Path, file: str, damage: str) -> None:
    path = damage_copy(stored_runs, "done", file, damage)
    shutil.copytree(stored_runs / "done", "results/z")
    command = ["diagnose", "results"] if file in ("diagnostics.parquet", "status.json") else ["plot", str(path)]
    result = smcmc(*command, status=1)
    assert len(result.stderr.splitlines()) == 1
    assert f"{path / file}: damaged" in result.stderr
    if command[0] == "diagnose":
        assert "│ log_joint " in result.stdout  # of the other run


def test_a_finished_run_without_its_files_is_made_anew(smcmc, stored_runs: Path) -> None:
    path = damage_copy(stored_runs, "done", "trace.parquet", "gone")
    result = smcmc("run", *ARGS, status=0)
    assert "already finished" not in result.stderr
    assert (path / "trace.parquet").is_file()


FILES = ["config.yaml", "status.json", "summary.json", "clusters.csv", "manifest.json"]
FILES += [f"{table}.parquet" for table in ("trace", "moves", "partitions", "diagnostics", "similarity")]


def test_a_flipped_bit_of_a_finished_run_is_said(smcmc, stored_runs: Path) -> None:
    run = damage_copy(stored_runs, "done", "partitions.parquet", "flipped")
    for args in (["run", *ARGS], ["diagnose", str(run)], ["plot", str(run)]):
        result = smcmc(*args, status=1)
        assert result.stderr.splitlines() == [
            f"smcmc: {run / 'partitions.parquet'}: damaged; smcmc run with resume=false starts the run again"
        ]
    assert smcmc("run", *ARGS, "resume=false").exit_code == 0
    assert smcmc("diagnose", str(run)).exit_code == 0


@pytest.mark.parametrize("key", [key for key, field in Summary.model_fields.items() if field.is_required()])
def test_a_summary_that_misses_a_key_is_damaged(smcmc, stored_runs: Path, key: str) -> None:
    shutil.copytree(stored_runs / "done", "results")
    run = read.find_runs("results")[0].path
    summary = json.loads((run / "summary.json").read_text())
    del summary[key]
    (run / "summary.json").write_text(json.dumps(summary))
    manifest.write_manifest(run / "manifest.json", [name for name in FILES if name != "manifest.json"])
    result = smcmc("run", *ARGS, status=1)
    assert f"{run / 'summary.json'}: damaged" in result.stderr


def test_a_run_without_its_manifest_is_made_anew(smcmc, stored_runs: Path) -> None:
    path = damage_copy(stored_runs, "done", "manifest.json", "gone")
    assert "manifest.json: missing" in smcmc("diagnose", str(path)).stderr
    assert smcmc("run", *ARGS).exit_code == 0
    assert smcmc("diagnose", str(path)).exit_code == 0


@pytest.mark.parametrize(
    "file",
    [
        "sdds-fig1-claims.csv",
        *(pytest.param(f"sdds-fig1{end}", marks=pytest.mark.slow) for end in (".png", "-manifest.json")),
    ],
)
def test_a_report_of_a_damaged_figure_is_not_written(smcmc, file: str) -> None:
    assert smcmc("reproduce", "sdds-fig1", "--out", "out").exit_code == 0
    flip(Path("out/figures", file))
    result = smcmc("report", "--out", "out", status=1)
    damage = "sdds-fig1-manifest.json" if "manifest" in file else file
    assert result.stderr == f"smcmc: out/figures/{damage}: damaged; smcmc plot sdds-fig1 --out out draws it again\n"
    assert not Path("out/report.html").exists()
    assert smcmc("plot", "sdds-fig1", "--out", "out").exit_code == 0
    assert smcmc("report", "--out", "out").exit_code == 0
    flip(Path("out/sdds-fig1/table.csv"))
    result = smcmc("plot", "sdds-fig1", "--out", "out", status=1)
    assert "table.csv: damaged; smcmc reproduce sdds-fig1 --scale quick --out out computes it again" in result.stderr


def test_a_full_disk_is_said_in_the_status(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reserve of the run makes room for it."""

    def full(path: Path, value: object) -> None:
        if list(Path("results").glob("*/*/work/reserve")) and list(Path("results").glob("*/*/status.json")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, value)

    write = manifest.write_sealed
    monkeypatch.setattr(manifest, "write_sealed", full)
    monkeypatch.setattr(schema.Stream, "sync", lambda stream: full(Path(), None))
    result = smcmc("run", *ARGS, status=1)
    assert "No space left on device; the stored draws are intact" in result.stderr
    status = read.find_runs("results")[0].status
    assert status["state"] == "failed"
    assert "No space left on device" in status["error"]
    monkeypatch.undo()


def test_a_folder_that_is_removed_during_the_run_is_said_to_be_gone(smcmc) -> None:
    class Removes(progress.Reporter):
        """Removes the folder after the first batch."""

        def update(self, chain: int, at: progress.ChainProgress) -> None:
            shutil.rmtree("results")

    with pytest.raises(runs.RunError, match="the folder was removed or moved"):
        runs.run(config.compose([*ARGS, "iterations=1000000"]), Removes())
    assert not Path("results").exists()


@pytest.mark.parametrize("every", ["trace.partitions=1", "thin=1"])
def test_a_run_that_the_disk_cannot_hold_asks_for_less(smcmc, tmp_path: Path, every: str) -> None:
    many = ["iterations=100000", "N=100000"] if "partitions" in every else ["iterations=100000000000"]
    shutil_usage = shutil.disk_usage(tmp_path)._replace(free=80 * 2**30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: shutil_usage)
        result = smcmc("run", *many, every, "progress=none", status=2)
        assert not list(tmp_path.iterdir())
        key = every.partition("=")[0]
        found = re.fullmatch(
            rf"smcmc: {every}: the run would record up to [\d,.]+ \w+, .* such as ({key}=\d+)\n", result.stderr
        )
        assert found
        plan = runs.prepare(config.compose([*many, found[1]]))
    assert 2 * sum(recorders.recorded_bytes(plan.spec, plan.recorder, plan.optional_columns).values()) <= 40 * 2**30


@pytest.mark.parametrize("free", [2**30, 2**26, 2**20])
def test_what_is_advised_for_a_small_disk_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Where no step of one table alone is: of two, or no partitions at all."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=free))
    many = ["data=jain_neal", "N=10000", "iterations=2000000", "trace.partitions=1"]
    with pytest.raises(config.ConfigError, match="such as ") as refused:
        runs.prepare(config.compose(many))
    advice = dict(each.split("=") for each in str(refused.value).partition("such as ")[2].split())
    assert all(int(step) <= 2_000_000 for step in advice.values())
    runs.prepare(config.compose([*many, *(f"{key}={step}" for key, step in advice.items())]))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=100))
    with pytest.raises(config.ConfigError, match="or another out="):
        runs.prepare(config.compose(many))


def test_recorded_bytes_are_what_a_run_writes(smcmc) -> None:
    args = ["N=50", "iterations=3000", "chains=2", "trace.partitions=3", "thin=2", "progress=none"]
    plan = runs.prepare(config.compose(args))
    said = sum(recorders.recorded_bytes(plan.spec, plan.recorder, plan.optional_columns).values())
    sizes = []

    def record_sizes(plan, run_store, chains, outcomes, found):
        sizes.extend(file.stat().st_size for file in run_store.work.glob("*.arrows"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finish, "assemble", record_sizes)
        runs.run(config.compose(args))
    assert sum(sizes) == pytest.approx(said, rel=0.1)


def test_a_file_that_changes_during_the_run(smcmc) -> None:
    Path("tokens.csv").write_text("a\nb\nc\n" * 5)
    Path("labels.txt").write_text("u\nv\nw\n" * 5)
    plan = runs.prepare(
        config.compose(["data=csv", "data.path=tokens.csv", "init=labels.txt", "iterations=9", "progress=none"])
    )
    Path("tokens.csv").write_text("a\nb\nb\n" * 7)
    Path("labels.txt").write_text("u\n" * 15)
    run = read.Run(runs.run(plan))
    assert run.path.name == run.summary["run_id"] == run.provenance["run_id"]
    assert run.trace()["n_clusters"].iloc[0] == 3
    assert run.provenance["data_sha256"] == plan.digests["data"]
    head = subprocess.run(["git", "-C", Path(__file__).parent, "rev-parse", "HEAD"], capture_output=True, text=True)
    assert (run.provenance["commit"] or "").removesuffix("+changes") == head.stdout.strip()


def test_labels_are_words_of_lines() -> None:
    Path("labels.txt").write_bytes("\ufeffa\u2028b\r\nc\r\na\u2028b".encode())
    assert initial.read_labels("labels.txt")[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["run", "model.mu=1e100", "model.sigma=1e-100"], "log joint density"),
        (["run", "init=" + "x" * 300], "too long"),
        (["run", "data=csv", "data.path=" + "x" * 300], "too long"),
        (["run", "out=" + "x" * 300], "too long"),
        (["run", "out=file/below"], "file"),
        (["run", "--cfg", "foo"], "--cfg foo: expected one of job"),
        (["run", "--info", "foo"], "--info foo"),
        (["run", "--package", "model"], "--package"),
        (["run", "--resolve"], "--resolve"),
        (["run", "--cfg", "job", "--package", "nope"], "--package nope"),
        (["run", "init='a\nb'"], "a\\nb"),
        (["plot", "x" * 300], "too long"),
        (["report", "--out", "file"], "file"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_one_message(smcmc, tmp_path: Path, args: list[str], named: str) -> None:
    Path("file").touch()
    result = smcmc(*args, status=2)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert named in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_the_default_start_fits_the_model(smcmc) -> None:
    result = smcmc("run", "N=20", "model.kmax=4", "chains=1", "iterations=5", "progress=none", status=0)
    assert read.Run(result.stdout.strip()).trace()["n_clusters"].iloc[0] == 4


@pytest.mark.slow
def test_a_trace_of_one_row(smcmc) -> None:
    path = smcmc("run", "N=20", "chains=1", "iterations=5", "thin=100", "progress=none").stdout.strip()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert smcmc("plot", path).exit_code == 0


def test_not_enough_memory(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*args: object, **kwargs: object) -> None:
        raise np._core._exceptions._ArrayMemoryError((10**12,), np.dtype(float))

    monkeypatch.setattr(initial, "initial_labels", reject)
    result = smcmc("run", "N=21", status=2)
    assert "N=21, model=emm: not enough memory" in result.stderr


def test_numbers_that_json_lacks_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        files.write_text(tmp_path / "x.json", files.json_text({"x": -np.inf}))
    assert not list(tmp_path.iterdir())
    files.write_text(tmp_path / "x.json", files.json_text({"x": 1.0}))
    assert json.loads((tmp_path / "x.json").read_text()) == {"x": 1.0}


@pytest.mark.parametrize("kilobytes", [1, 100])
def test_the_file_that_grows_too_large_is_named(spawn, kilobytes: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, kilobytes << 10))

    process = spawn("run", *ARGS, "iterations=50000", preexec_fn=limit)
    _, stderr = process.communicate(timeout=120)
    assert re.search(r"results/independence-emm/\w+/work/(reserve|chain-0.*\.arrows): File too large", stderr), stderr
    assert stderr.count("smcmc: ") == 1


@pytest.mark.parametrize("command", ["sweep", "race", "certify", "shards"])
def test_a_folder_that_cannot_be_written_is_refused_before_any_job(
    smcmc, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def reject(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "results")

    def fail_at_begin(*args: object, **kwargs: object) -> None:
        raise AssertionError("begun")

    # where the tests run as root no folder is read-only
    monkeypatch.setattr(tempfile, "TemporaryFile", reject)
    monkeypatch.setattr(coupled_pairs, "lock_file", reject)
    monkeypatch.setattr(sweep, "_make", fail_at_begin)
    monkeypatch.setattr(coupled_pairs.Pairs, "make", fail_at_begin)
    np.save("x.npy", np.zeros((9, 2)))
    asked = {
        "sweep": [*ARGS, "seed=0,1"],
        "race": ["sampler=sams,sdds", "N=20", "--seconds", "0.1"],
        "certify": ["sampler=gibbs", "data=jain_neal", "model=bernoulli", "N=6", "iterations=9"],
        "shards": ["data.path=x.npy", "model=gaussian", "iterations=9"],
    }
    result = smcmc(command, *asked[command])
    assert result.exit_code == 2 and result.stderr.count("\n") == 1, result.output
    assert "Read-only file system" in result.stderr
    assert not Path("results").exists()


def test_a_link_that_lies_where_a_run_writes_is_not_followed(smcmc, stored_runs: Path) -> None:
    """The folder comes from somebody else: nor does a run wait for a lock that is a pipe."""
    run = read.find_runs(shutil.copytree(stored_runs / "half", "results"))[0].path
    other = Path("other").absolute()
    other.write_text("mine")
    for name in ("work/reserve", ".status.json.partial", ".trace.parquet.partial", ".summary.json.partial"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(other)
    assert smcmc("run", *ARGS).exit_code == 0
    assert other.read_text() == "mine"
    (run / "work").mkdir()
    os.mkfifo(run / "work" / "lock")
    result = smcmc("run", *ARGS, "resume=false")
    assert result.exit_code == 2 and "work/lock" in result.stderr and result.stderr.count("\n") == 1


def test_full_stdout(spawn) -> None:
    with open("/dev/full", "w") as full:
        process = spawn("run", *ARGS, stdout=full)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert stderr.splitlines()[-1] == "smcmc: No space left on device"
