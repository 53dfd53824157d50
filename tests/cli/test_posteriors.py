"""Enumerated posteriors: what is written, and samples held against them, exact ones and others."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from splitmerge_cli.config import ConfigError
from splitmerge_cli.verify import large_posteriors

CASES = {case.id: case for case in large_posteriors.cases()}
SMALL = [id for id, case in CASES.items() if case.n_items <= 6]
LARGE = [id for id, case in CASES.items() if case.n_items >= 9]


def test_models_priors_and_forms_have_some():
    assert len(CASES) >= 120 and max(case.n_items for case in CASES.values()) == 10
    of_model = {}
    for case in CASES.values():
        of_model.setdefault(case.model, set()).add(str(case.hyperparameters.get("prior")).partition("(")[0])
    of_model.pop("emm"), of_model.pop("hdp")
    assert len(of_model) == 7 and all(found >= {"crp", "uniform", "mfm", "dynamic_mfm"} for found in of_model.values())
    assert {case.model for case in CASES.values() if case.hyperparameters.get("power", 1.0) != 1.0} == {
        *("bernoulli", "multinomial", "gamma_poisson", "gaussian", "mixed")
    }
    assert {case.model for case in CASES.values() if "missing" in case.id} == {"bernoulli", "gaussian", "mixed"}


def draws(id: str, n: int, seed: int = 0, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Independent draws; `bend` raises the probability of the first state."""
    table = CASES[id].table()
    p = table["probability"].to_numpy() + bend * (np.arange(len(table)) == 0)
    at = np.random.default_rng(seed).choice(len(table), n, p=p / p.sum())
    # any numbering of the clusters will do
    return 7 - np.stack(table["labels"].to_list())[at].astype(int), table["K"].to_numpy()[at]


@pytest.mark.parametrize("id", SMALL)
def test_exact_draws_agree_and_others_do_not(id):
    labels, K = draws(id, 20_000)
    found = large_posteriors.check(CASES[id], labels, K)
    assert found.agrees and abs(found.mean_K - found.exact_mean_K) < 5 * found.error_mean_K
    labels, K = draws(id, 20_000, bend=0.1)
    assert not large_posteriors.check(CASES[id], labels, K).agrees


def test_repeated_draws_are_worth_less():
    """Each draw written fifty times: the noise is estimated from batches, and grows with the autocorrelation."""
    labels, K = draws("bernoulli-n4", 4000)
    once = large_posteriors.check(CASES["bernoulli-n4"], labels, K)
    often = large_posteriors.check(CASES["bernoulli-n4"], np.repeat(labels[:400], 50, axis=0), np.repeat(K[:400], 50))
    assert often.noise > 2 * once.noise and often.agrees


def test_a_sampler_of_ours_agrees_from_its_files(smcmc):
    """By the way that another program would take: data from the index, samples in a file."""
    case = CASES["bernoulli-n6"]
    pd.DataFrame(case.data["x"]).to_csv("x.csv", index=False, header=False)
    options = [f"model.{key}={case.hyperparameters[key]}" for key in ("concentration", "beta1", "beta0", "prior")]
    result = smcmc(
        *("run", "data=csv", "data.path=x.csv", "data.header=false", "model=bernoulli", *options, "sampler=sams"),
        *("iterations=20000", "chains=1", "trace.partitions=1", "init=one_cluster"),
    )
    assert result.exit_code == 0, result.output
    kept = pd.read_parquet(next(Path("results").rglob("partitions.parquet")))
    labels = np.stack(kept["labels"].to_list())[1000:]
    np.save("labels.npy", labels)
    pd.DataFrame(labels).to_csv("labels.csv", index=False)
    for file in ("labels.npy", "labels.csv"):
        result = smcmc("posteriors", "check", file, "--of", "bernoulli-n6", status=0)
        assert result.stdout.startswith(f"{file} agrees with bernoulli-n6: total variation ")
    # under another concentration they are of another posterior
    assert smcmc("posteriors", "check", "labels.npy", "--of", "bernoulli-n6-gamma").exit_code == 1


def test_empty_clusters_come_from_a_column(smcmc):
    labels, K = draws("emm-n5-labelled", 5000)
    pd.DataFrame(labels).assign(K=K).to_csv("emm.csv", index=False)
    assert smcmc("posteriors", "check", "emm.csv", "--of", "emm-n5-labelled").exit_code == 0
    pd.DataFrame(labels).to_csv("without.csv", index=False)
    assert smcmc("posteriors", "check", "without.csv", "--of", "emm-n5-labelled").exit_code == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1,2\n1,2\n", "samples: shape (2, 2); expected [draws, 4], the items of bernoulli-n4"),
        ("1,1,2,2\n" * 10, "samples: 10 draws; expected 200 at least"),
        ("1,1,2,x\n" * 300, "s.csv: row 1, column 4 of the labels: expected a whole number"),
        ("1,1,2,\n" * 300, "s.csv: row 1, column 4 of the labels: expected a whole number"),
        ("", "s.csv: cannot be read: "),
    ],
)
def test_what_cannot_be_compared_is_named(smcmc, content, said):
    Path("s.csv").write_text(content)
    result = smcmc("posteriors", "check", "s.csv", "--of", "bernoulli-n4")
    assert result.exit_code == 2 and said in result.stderr


@pytest.mark.parametrize("name", ["s.parquet", "s.npy", "s.csv"])
def test_samples_that_unpack_to_more_than_the_limit_are_rejected(smcmc, monkeypatch, name):
    monkeypatch.setattr("splitmerge_cli.cli.verifying.MOST_BYTES", 1 << 20)
    labels = pd.DataFrame(np.zeros((1 << 19, 4), dtype=np.int8), columns=list("abcd"))
    if name == "s.parquet":
        labels.to_parquet(name, compression="zstd")
        assert Path(name).stat().st_size < 1 << 14
    elif name == "s.npy":
        np.save(name, labels.to_numpy())
    else:
        labels.to_csv(name, index=False)
    monkeypatch.setattr(pd.DataFrame, "to_numpy", lambda *_, **__: pytest.fail("all of it was unpacked"))
    result = smcmc("posteriors", "check", name, "--of", "bernoulli-n4")
    assert result.exit_code == 2 and re.search(r"expected at most \d+ bytes \(of samples", result.stderr)


def test_labels_are_read_from_a_column_of_lists(smcmc):
    labels, _ = draws("bernoulli-n4", 4000)
    pd.DataFrame({"labels": list(labels)}).to_parquet("s.parquet")
    assert smcmc("posteriors", "check", "s.parquet", "--of", "bernoulli-n4").exit_code == 0


def test_names_that_are_none(smcmc):
    Path("s.csv").write_text("1,1,2,2\n" * 300)
    result = smcmc("posteriors", "check", "s.csv", "--of", "bernouli-n4")
    assert result.exit_code == 2 and "Did you mean bernoulli-n4?" in result.stderr
    assert smcmc("posteriors", "check", "none.csv", "--of", "bernoulli-n4").exit_code == 2
    assert "bernoulli-n10" in smcmc("posteriors", "list").stdout


def test_a_state_that_the_model_has_not():
    labels, K = draws("emm-n5-labelled", 300)
    with pytest.raises(ConfigError, match="has no such state"):
        large_posteriors.check(CASES["emm-n5-labelled"], labels, K + 50)


@pytest.mark.slow
@pytest.mark.parametrize("id", LARGE)
def test_the_large_ones_sum_to_one(id):
    table = CASES[id].table()
    assert table["probability"].sum() == pytest.approx(1) and len(table) in (21_147, 115_975)
