"""Exported posteriors: what is written, and what a program reads that has neither smcmc nor anything but NumPy."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from splitmerge_cli.config import ConfigError
from splitmerge_cli.priors import priors
from splitmerge_cli.runs.store.manifest import Manifest
from splitmerge_cli.verify import export, large_posteriors, small_posteriors

CASES = {case.id: case for case in small_posteriors.cases()}
RECOMPUTED = (
    "bernoulli-n5-missing-power-0.5",
    "bernoulli-n5-pitman-yor",
    "bernoulli-n5-esc",
    "gaussian-full-n6",
    "dirichlet-multinomial-n5-dynamic-mfm",
)
SOME = (*RECOMPUTED, "emm-n5-partition", "hdp-n5", "irm-n4", "mixed-n5-missing-crp-gamma")
LARGE = {case.id: case for case in large_posteriors.large_posteriors()}
RECOMPUTE = Path(__file__).parents[1] / "unit" / "recompute_posteriors.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_posteriors, "cases", lambda: [CASES[id] for id in SOME])
        patch.setattr(large_posteriors, "large_posteriors", lambda: [LARGE["gaussian-diag-n200-kappa0"]])
        made = tmp_path_factory.mktemp("export")
        export.export(made)
    return made


@pytest.fixture(scope="module")
def reader(folder):
    spec = importlib.util.spec_from_file_location("exported_reader", folder / "reader.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_command_says_what_it_wrote_and_writes_the_same_bytes_again(smcmc, monkeypatch):
    monkeypatch.setattr(small_posteriors, "cases", lambda: [CASES["irm-n4"], CASES["hdp-n5"]])
    monkeypatch.setattr(large_posteriors, "large_posteriors", lambda: [LARGE["bernoulli-n100"]])
    result = smcmc("posteriors", "export", "one", status=0)
    assert result.stdout == "2 enumerated posteriors, 1 certified ones, of 3 models: one\n"
    assert smcmc("posteriors", "export", "two").exit_code == 0
    one, two = (
        {file.relative_to(name): file.read_bytes() for file in Path(name).rglob("*.*")} for name in ("one", "two")
    )
    assert one == two and len(one) == 3 * 3 + 5
    Manifest(Path("one/manifest.json")).check_all()


def test_a_folder_that_cannot_be_made_is_named(smcmc):
    Path("file").write_text("")
    result = smcmc("posteriors", "export", "file/below")
    assert result.exit_code == 2 and "file/below" in result.stderr.replace("file'", "file/below")


def test_the_reader_has_what_was_enumerated(folder, reader):
    assert [line["id"] for line in reader.read_index()] == [*SOME, "gaussian-diag-n200-kappa0"]
    for id in SOME:
        found, table = reader.read_posterior(id), CASES[id].table()
        assert np.array_equal(found["reference"]["labels"], np.stack(table["labels"].to_list()))
        assert np.array_equal(found["reference"]["K"], table["K"])
        assert found["reference"]["probability"] == pytest.approx(table["probability"], rel=1e-11)
        assert found["summary"]["mean_K"] == pytest.approx(table["probability"] @ table["K"])
        labels, p = found["reference"]["labels"], found["reference"]["probability"]
        assert found["summary"]["co_clustering"][0][1] == pytest.approx(p[labels[:, 0] == labels[:, 1]].sum())
        sizes = np.array([np.bincount(z).max() for z in labels]) / found["N"]
        assert found["summary"]["largest"][0] == pytest.approx(p @ sizes)
    x = reader.read_posterior("mixed-n5-missing-crp-gamma")
    assert np.isnan(x["data"]["x"]).sum() == np.isnan(np.array(CASES[x["id"]].data["x"], dtype=float)).sum() > 0
    assert x["hyperparameters"]["concentration"] == {"distribution": "gamma", "shape": 2.0, "rate": 1.5}


def test_the_reader_has_what_was_certified(reader):
    found = reader.read_posterior("gaussian-diag-n200-kappa0")
    means, runs = large_posteriors.read_means()
    of_case = means[means["id"] == found["id"]].set_index("quantity")
    assert found["reference"]["n_clusters"] == tuple(of_case.loc["n_clusters", ["mean", "standard_error"]])
    assert found["data"]["x"].shape == (200, 3) and found["provenance"]["pairs"] == runs.loc[found["id"], "pairs"]
    assert found["hyperparameters"]["kappa0"]["distribution"] == "gamma" and "kappa0" in found["reference"]


def test_the_reader_is_short_and_needs_numpy_alone(folder, reader):
    text = (folder / "reader.py").read_text()
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    # a fifth of them compare digests
    assert imported - set(sys.stdlib_module_names) == {"numpy"} and len(text.splitlines()) <= 60


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("posteriors/irm-n4.json", '"beta1": 1.0', '"beta1": 3.0'),
        ("posteriors/irm-n4.json", '"model": "irm"', '"model": "emm"'),
        ("data/irm-n4.json", "1", "0"),
        ("reference/irm-n4.csv", "0", "1"),
        ("index.json", "irm-n4", "irm-n8"),
        ("manifest.json", "irm-n4", "irm-n8"),
    ],
)
def test_the_reader_names_a_file_with_another_number_and_returns_nothing(folder, reader, name, before, after):
    file = folder / name
    whole = file.read_text()
    assert before in whole
    file.write_text(whole.replace(before, after, 1))
    try:
        with pytest.raises(ValueError, match=rf"^{name}: not what was exported; expected a new export$"):
            reader.read_index() if name == "index.json" else reader.read_posterior("irm-n4")
        done = subprocess.run([sys.executable, folder / "reader.py"], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stderr == f"{name}: not what was exported; expected a new export\n"
    finally:
        file.write_text(whole)
    with pytest.raises(ValueError, match=r"^posteriors/none\.json: not in this folder; read_index\(\) lists"):
        reader.read_posterior("none")


def test_another_program_recomputes_them_from_the_files_alone(folder):
    done = subprocess.run([sys.executable, RECOMPUTE, folder, *RECOMPUTED], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == list(RECOMPUTED) and all(float(line[2]) < 1e-11 for line in lines)
    assert len(RECOMPUTE.read_text().splitlines()) <= 68


def test_every_model_prior_and_number_is_described(folder, monkeypatch):
    text = (folder / "MODELS.md").read_text()
    models = {case.model for case in [*CASES.values(), *LARGE.values()]}
    assert {line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")} == {
        *models,
        *(f"Prior {name}" for name in priors()),
    }
    for case in [*CASES.values(), *LARGE.values()]:
        for name in case.hyperparameters:
            assert name in text, name
    # one that the page does not have brings the text of its module
    monkeypatch.setattr(export, "priors", lambda: priors() | {"mine": priors()["dynamic_mfm"]})
    assert "## Prior mine\n\nDynamic mixture of finite mixtures" in export._models()


def test_the_stored_means_are_of_the_generated_data():
    means, runs = large_posteriors.read_means()
    assert list(runs.index) == list(LARGE) and len(LARGE) >= 20
    assert (runs["met"] == runs["pairs"]).all() and (runs["apart"] < 4).all() and (runs["bound"] < 0.2).all()
    N = [case.n_items for case in LARGE.values()]
    assert min(N) == 100 and max(N) == 10_000
    for id, case in LARGE.items():
        assert case.digest == runs.loc[id, "data_sha256"]
        found = means[means["id"] == id]
        assert list(found["quantity"])[:19] == case.quantities(()) and found["mean"].notna().all()


def test_other_data_than_those_of_the_means_are_an_error(smcmc, monkeypatch):
    case = LARGE["bernoulli-n100"]
    monkeypatch.setattr(small_posteriors, "cases", lambda: [])
    monkeypatch.setattr(large_posteriors, "large_posteriors", lambda: [case])
    monkeypatch.setattr(type(case), "digest", "another")
    with pytest.raises(ConfigError, match=r"bernoulli-n100: NumPy .* generates other data"):
        export.export(Path("one"))
    assert not Path("one/manifest.json").exists()


def test_version_and_command_are_in_every_file_of_a_posterior(folder):
    for file in (folder / "posteriors").iterdir():
        made = json.loads(file.read_text())["provenance"]
        assert made["command"] == "smcmc posteriors export" and made["version"] == export.__version__


def test_no_flip_and_no_cut_of_any_file_is_believed_or_ends_in_another_error(folder, reader):
    """Whatever the reader reads of a damaged folder, it is what was exported, or the file is named."""
    id, rng = "mixed-n5-missing-crp-gamma", np.random.default_rng(0)
    expected = repr((reader.read_index(), reader.read_posterior(id)))
    for name in ("index.json", "manifest.json", f"posteriors/{id}.json", f"data/{id}.json", f"reference/{id}.csv"):
        file = folder / name
        whole = file.read_bytes()
        damaged = [whole[:cut] for cut in (0, 1, len(whole) // 2, len(whole) - 1)] + [whole + b"\n", b"\xff" * 9, None]
        for bit in rng.integers(8 * len(whole), size=40).tolist():
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            damaged.append(bytes(flipped))
        try:
            for content in damaged:
                file.unlink(missing_ok=True)
                if content is not None:
                    file.write_bytes(content)
                with pytest.raises(ValueError, match=rf"^{name}: not what was exported"):
                    reader.read_index(), reader.read_posterior(id)
        finally:
            file.write_bytes(whole)
    assert repr((reader.read_index(), reader.read_posterior(id))) == expected
