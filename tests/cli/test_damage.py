"""Files of runs that are gone or damaged, and what the system refuses: one message, and nothing wrong is written."""

import json
import os
import shutil
import signal
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cli.calls import wait_for
from splitmerge_cli import initial, runner
from splitmerge_cli.config import compose
from splitmerge_cli.progress import ChainProgress, Reporter
from splitmerge_cli.results import state
from splitmerge_cli.results.read import Run, find_runs

ARGS = ["N=20", "chains=1", "iterations=50000", "timing=false", "progress=none"]


class Breaks(Reporter):
    """Fails the run after the first batch."""

    def update(self, chain: int, at: ChainProgress) -> None:
        """Fail."""
        raise OSError("enough")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run in ``done`` and the same run unfinished in ``half``."""
    folder = tmp_path_factory.mktemp("stored")
    runner.run(compose([*ARGS, f"out={folder / 'done'}"]))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(runner.RunError):
        patch.setattr(runner, "FIRST_BATCH", 0.005)
        runner.run(compose([*ARGS, f"out={folder / 'half'}"]), Breaks())
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


def damaged(stored: Path, which: str, file: str, damage: str) -> Path:
    shutil.copytree(stored / which, "results")
    path = next(Path("results").glob("*/*"))
    DAMAGES[damage](path / file)
    return path


@pytest.mark.parametrize(
    ("file", "damage"),
    [(f"work/chain-0.{end}", d) for end in ("trace.arrows", "partitions.arrows") for d in DAMAGES]
    # a chain whose checkpoint is gone begins anew
    + [("work/chain-0.npz", d) for d in DAMAGES if d != "gone"]
    + [("status.json", d) for d in ("empty", "garbage", "list")],
)
def test_damage_to_an_unfinished_run(smcmc, stored: Path, file: str, damage: str) -> None:
    damaged(stored, "half", file, damage)
    result = smcmc("run", *ARGS)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert Path(file).name in result.stderr
    assert "resume=false" in result.stderr
    assert smcmc("diagnose", "results").exit_code in (0, 1)
    assert smcmc("sweep", "--dry-run", *ARGS).exit_code in (0, 1)
    result = smcmc("run", *ARGS, "resume=false")
    assert result.exit_code == 0
    assert Run(result.stdout.strip()).trace().equals(find_runs(stored / "done")[0].trace())


@pytest.mark.parametrize(("key", "value"), [("labels", np.zeros(7, dtype=np.int32)), ("K", 1 << 40), ("counts", [])])
def test_a_checkpoint_that_holds_no_state_of_the_chain(smcmc, stored: Path, key: str, value: object) -> None:
    """A file that can be read, though nothing that was ever written."""
    shutil.copytree(stored / "half", "results")
    path = next(Path("results").glob("*/*/work/chain-0.npz"))
    entry = state.load(path)
    entry["state"][key] = value
    state.save(path, entry)
    result = smcmc("run", *ARGS)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert "chain-0.npz: damaged" in result.stderr


@pytest.mark.parametrize("file", ["trace.parquet", "diagnostics.parquet", "config.yaml", "status.json"])
@pytest.mark.parametrize("damage", ["empty", "garbage", "list", "cut"])
def test_damage_to_a_finished_run(smcmc, stored: Path, file: str, damage: str) -> None:
    path = damaged(stored, "done", file, damage)
    shutil.copytree(stored / "done", "results/z")
    command = ["diagnose", "results"] if file in ("diagnostics.parquet", "status.json") else ["plot", str(path)]
    result = smcmc(*command)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert f"{path / file}: damaged" in result.stderr
    if command[0] == "diagnose":
        assert "rhat/log_joint" in result.stdout  # of the other run


def test_a_finished_run_without_its_files_is_made_anew(smcmc, stored: Path) -> None:
    path = damaged(stored, "done", "trace.parquet", "gone")
    result = smcmc("run", *ARGS)
    assert result.exit_code == 0
    assert "done before" not in result.stderr
    assert (path / "trace.parquet").is_file()


def test_a_file_that_changes_during_the_run(smcmc) -> None:
    Path("tokens.csv").write_text("a\nb\nc\n" * 5)
    Path("labels.txt").write_text("u\nv\nw\n" * 5)
    plan = runner.prepare(
        compose(["data=csv", "data.path=tokens.csv", "init=labels.txt", "iterations=9", "progress=none"])
    )
    Path("tokens.csv").write_text("a\nb\nb\n" * 7)
    Path("labels.txt").write_text("u\n" * 15)
    run = Run(runner.run(plan))
    assert run.path.name == run.summary["run_id"] == run.provenance["run_id"]
    assert run.trace()["n_clusters"].iloc[0] == 3
    assert run.provenance["data_sha256"] == plan.digests["data"]


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
    result = smcmc(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert named in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_the_default_start_fits_the_model(smcmc) -> None:
    result = smcmc("run", "N=20", "model.kmax=4", "chains=1", "iterations=5", "progress=none")
    assert result.exit_code == 0, result.output
    assert Run(result.stdout.strip()).trace()["n_clusters"].iloc[0] == 4


def test_a_trace_of_one_row(smcmc) -> None:
    path = smcmc("run", "N=20", "chains=1", "iterations=5", "thin=100", "progress=none").stdout.strip()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert smcmc("plot", path).exit_code == 0


def test_not_enough_memory(smcmc, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise np._core._exceptions._ArrayMemoryError((10**12,), np.dtype(float))

    monkeypatch.setattr(runner, "initial_labels", refuse)
    result = smcmc("run", "N=21")
    assert result.exit_code == 2
    assert "N=21, model=emm: not enough memory" in result.stderr


def test_numbers_that_json_lacks_are_not_written(tmp_path: Path) -> None:
    from splitmerge_cli.results.files import write_json

    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"x": -np.inf})
    assert not list(tmp_path.iterdir())
    write_json(tmp_path / "x.json", {"x": 1.0})
    assert json.loads((tmp_path / "x.json").read_text()) == {"x": 1.0}


def test_full_stdout(spawn) -> None:
    with open("/dev/full", "w") as full:
        process = spawn("run", *ARGS, stdout=full)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert stderr.splitlines()[-1] == "smcmc: No space left on device"


def test_a_second_interruption_ends_a_long_iteration(spawn) -> None:
    long = ["sampler=rgsm", "sampler.t=10000", "sampler.r=1000", "N=3000", "K0=2", "chains=1"]
    process = spawn("run", *long, "progress=none")
    wait_for(lambda: list(Path("results").glob("*/*/work/*.arrows")), process)
    time.sleep(1)  # the streams are there a moment before the first iteration, which then takes minutes
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
