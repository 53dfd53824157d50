"""Where chains start under a prior that allows few clusters: never in a state of probability 0."""

from functools import partial

import numpy as np
import pytest

from splitmerge_cli.config import ConfigError, specify, specify_keys
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.runs import limits, starts
from splitmerge_cli.runs.datasets import build_model
from splitmerge_cli.runs.initial import initial_labels
from splitmerge_cli.runs.misfit import choose_model
from splitmerge_cli.runs.quantities import TIE, Table

ROWS = np.random.default_rng(0).integers(2, size=(7, 3)).astype(np.uint8)
DATASET = Dataset("rows", "binary", ROWS, truth=np.array([0, 1, 2, 3, 0, 1, 2], dtype=np.int32))
PRIORS = {
    "mfm(components=uniform(3))": 3,
    "mfm(components=uniform(1))": 1,
    "mfm(components=uniform(9))": 7,
    "dynamic_mfm(components=uniform(3))": 3,
    "dynamic_mfm(components=poisson(1))": 7,
    "mfm": 7,
    "crp": 7,
    "uniform": 7,
    "pitman_yor": 7,
    "esc": 7,
    "learned_sizes": 7,
}


@pytest.mark.parametrize("prior", PRIORS)
def test_every_start_is_possible(prior: str) -> None:
    most = PRIORS[prior]
    model = Bernoulli(ROWS, prior=prior)
    assert model.largest_K == most
    start = partial(initial_labels, model, DATASET)
    counts = {init: start(init, None, np.random.default_rng(1))[1] for init in ("one_cluster", "random", "singletons")}
    assert counts == {"one_cluster": 1, "random": min(5, most), "singletons": most}
    seen = set()
    for seed in range(30):
        for init in ("mixture", "prior"):
            labels, K = start(init, None, np.random.default_rng(seed))
            model.set_labels(labels)
            assert most >= K and np.isfinite(model.log_joint())
            seen.add(K)
    model.start_sequentially(Rng(0))
    assert {1, most} <= seen and np.isfinite(model.log_joint())


@pytest.mark.parametrize(("init", "K0", "told"), [("random", 4, "K0=4: 4"), ("truth", None, "init=truth: 4")])
def test_a_start_with_more_clusters_than_the_prior_allows_is_rejected(init: str, K0: int | None, told: str) -> None:
    for name in ("mfm", "dynamic_mfm"):
        model = Bernoulli(ROWS, prior=f"{name}(components=uniform(3))")
        with pytest.raises(ConfigError, match=f"{told} clusters; expected at most 3, since model.prior allows no more"):
            initial_labels(model, DATASET, init, K0, np.random.default_rng(0))


def test_entities_start_with_as_many_as_there_may_be() -> None:
    tokens = np.arange(7, dtype=np.int32)
    model, dataset = EMM(tokens, n_tokens=7, kmax=4), Dataset("tokens", "tokens", tokens)
    assert model.largest_K == 4
    for init in ("singletons", "random"):
        labels, K = initial_labels(model, dataset, init, None, np.random.default_rng(0))
        assert K == 4 and set(labels) == set(range(4))


def test_a_meet_that_the_prior_rules_out_is_no_start() -> None:
    """Two partitions of two clusters meet in four: the chain that starts again takes the first of the two."""
    given = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1, 0]], dtype=np.int32)
    assert starts.meet(*given).max() == 3
    for prior in ("mfm(components=uniform(3))", "dynamic_mfm(components=uniform(3))", "dynamic_mfm"):
        models = [Bernoulli(ROWS, prior=prior) for _ in range(4)]
        for model, labels in zip(models, (*given, given[0], given[0]), strict=True):
            model.set_labels(labels)
            model.set_prior_values(dict.fromkeys(model.prior_values, 3.0))
        chains = [type("Held", (), {"model": model})() for model in models]
        starts._cross(chains, np.array([0, 1, 2, 3]), np.random.default_rng(1))
        for model in models[2:]:
            assert np.isfinite(model.log_joint())
            assert any(np.array_equal(model.labels, labels) for labels in given)


def test_blocks_of_a_large_network_are_no_more_than_the_prior_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splitmerge_cli.kinds.networks.start.NODES", 30)
    said: list[str] = []
    keys = ["data=networkx", "data.graph=karate", "model=irm", 'model.prior="mfm(components=uniform(4))"']
    spec = starts.start_of(specify(keys)).choose(said.append)
    assert spec.K0 == 4 and said[0].startswith("K0=4, ")


ANSWERS = {f"q{j}": "ordinal" for j in range(starts.ANSWERS)}


def answers(N: int = 60) -> Dataset:
    """Two groups that answer apart."""
    rng, half = np.random.default_rng(2), np.arange(N) % 2
    x = np.clip(np.rint(rng.normal(1.0 + 3.0 * half[:, None], 0.7, (N, len(ANSWERS)))), 0, 5)
    return Dataset("answers", "mixed", x, types=tuple(ColumnType("ordinal", tuple("123456")) for _ in ANSWERS))


def test_many_ordinal_columns_start_as_categories() -> None:
    """Where no start is named; the start is a partition of the model with the order."""
    said: list[str] = []
    keys = {"model": "mixed", "data": "csv", "data.path": "survey.csv"}
    spec = starts.start_of(specify_keys(keys | {"data.types": ANSWERS})).choose(said.append)
    assert spec.init == starts.CATEGORIES and said[0].startswith(
        "init=categories, because no initial state is named and 5 columns"
    )
    few = dict(list(ANSWERS.items())[1:])
    for changed in ({"data.types": few}, {"data.types": ANSWERS, "K0": 3}, {"data.types": ANSWERS, "init": "random"}):
        kept = specify_keys(keys | changed)
        assert starts.start_of(kept).choose(said.append) is kept
    model = build_model(spec.model, answers())
    starts.start_as_categories(spec, model, answers(), Rng(1))
    assert 2 <= model.K <= 4 and len(set(zip(model.labels.tolist(), [0, 1] * 30, strict=True))) <= model.K + 1
    assert np.isfinite(model.log_joint())
    with pytest.raises(ConfigError, match="init=categories: expected a table with ordinal columns"):
        starts.start_as_categories(spec, model, DATASET, Rng(1))


def test_an_ordinal_cell_counts_as_ten() -> None:
    spec = specify_keys({"model": "mixed", "data": "csv", "data.path": "survey.csv", "data.types": ANSWERS})
    wide = answers(5_000)
    assert limits.most_iterations(spec, wide) == limits.WORK // (10 * wide.values.size)


def test_questions_that_go_together_are_read_as_real_numbers_next() -> None:
    keys = {"model": "mixed", "data": "csv", "data.path": "survey.csv", "data.types": {**ANSWERS, "sex": "binary"}}
    tie = {"subject": "q0 and q1", "quantity": TIE, "observed": 0.7, "low": 0.1, "high": 0.2}
    step = choose_model({"fit": {"unlike": [tie]}}, specify_keys(keys))
    assert step is not None and step[0].startswith("questions that go together within clusters, read as real numbers")
    assert step[1]["data.types"] == dict.fromkeys(ANSWERS, "real") | {"sex": "binary"}
    assert step[1]["model.covariance"] == "full" and step[1]["init"] is None
    of_sex = tie | {"subject": "q0 and sex"}
    assert choose_model({"fit": {"unlike": [of_sex]}}, specify_keys(keys)) is None


def test_the_page_says_what_is_not_checked_of_ordinal_columns() -> None:
    said = Table(answers()).unchecked
    assert len(said) == 1 and said[0].startswith("an ordinal column alone: a cluster fits the shares of its levels")
