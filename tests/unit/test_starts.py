"""Where chains start under a prior that allows few clusters: never in a state of probability 0."""

from functools import partial

import numpy as np
import pytest

from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.models.bernoulli import Bernoulli
from splitmerge_cli.models.emm import EMM
from splitmerge_cli.runs import search, stages
from splitmerge_cli.runs.initial import initial_labels

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
    assert search.meet(*given).max() == 3
    for prior in ("mfm(components=uniform(3))", "dynamic_mfm(components=uniform(3))", "dynamic_mfm"):
        models = [Bernoulli(ROWS, prior=prior) for _ in range(4)]
        for model, labels in zip(models, (*given, given[0], given[0]), strict=True):
            model.set_labels(labels)
            model.set_prior_values(dict.fromkeys(model.prior_values, 3.0))
        chains = [type("Held", (), {"model": model})() for model in models]
        search._cross(chains, np.array([0, 1, 2, 3]), np.random.default_rng(1))
        for model in models[2:]:
            assert np.isfinite(model.log_joint())
            assert any(np.array_equal(model.labels, labels) for labels in given)


def test_blocks_of_a_large_network_are_no_more_than_the_prior_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "NODES", 30)
    said: list[str] = []
    keys = ["data=networkx", "data.graph=karate", "model=irm", 'model.prior="mfm(components=uniform(4))"']
    spec = stages.choose_start(specify(keys), said.append)
    assert spec.K0 == 4 and said[0].startswith("K0=4, ")
