"""Generator, samplers' counts, and the compiled chain."""

import json
import re
import signal
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from small_cases import SAMPLERS

from splitmerge_cli import runs
from splitmerge_cli.config import ConfigError, specify, specify_keys
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.quantities import TIE, Table
from splitmerge_cli.kinds.tokens.emm import EMM
from splitmerge_cli.runs import advice, draws, drive, initial, starts
from splitmerge_cli.runs.checks import Check
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.wang_russell import SDDS
from splitmerge_cli.verify import cases, transitions

DATA = np.random.default_rng(5)
X = DATA.integers(2, size=(80, 6)).astype(np.uint8)
TRUTH = DATA.integers(4, size=80).astype(np.int32)


def build(seed=0, chain=0, name="sdds", **options):
    model = Bernoulli(X, beta1=0.5, beta0=0.5)
    model.set_labels(np.arange(80) % 5)
    rng = Rng(seed, chain)
    sampler_class, given = SAMPLERS[name]
    return Chain(model, rng, [sampler_class(model, rng, **given), Gibbs(model, rng)], truth=TRUTH, **options)


def assert_same(a, b, but=("seconds",)):
    assert a.keys() == b.keys()
    for key in a.keys() - set(but):
        np.testing.assert_array_equal(a[key], b[key])


def test_stream_is_numpys():
    rng = Rng(3, 2)
    twin = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(3, spawn_key=(2,))))
    assert [rng.random() for _ in range(10)] == twin.random(10).tolist()
    saved = json.loads(json.dumps(rng.state))
    ahead = [rng.random() for _ in range(5)]
    rng.state = saved
    assert [rng.random() for _ in range(5)] == ahead
    assert np.random.Generator(rng.bit_generator).random() == twin.random(6)[5]


def test_primitives_have_their_distributions():
    rng, n = Rng(1), 40_000
    counts = np.bincount([rng.categorical(np.array([0.0, 1.0, 3.0, 0.0])) for _ in range(n)], minlength=4)
    assert counts[0] == counts[3] == 0
    assert counts[2] / n == pytest.approx(0.75, abs=0.01)
    assert np.bincount([rng.index(5) for _ in range(n)]) / n == pytest.approx([0.2] * 5, abs=0.01)
    assert np.mean([rng.coin(0.3) for _ in range(n)]) == pytest.approx(0.3, abs=0.01)
    assert np.mean([rng.accept(np.log(0.6)) for _ in range(n)]) == pytest.approx(0.6, abs=0.012)
    before = rng.state
    assert rng.accept(0.0)
    assert not np.isnan(rng.random())
    rng.state = before
    assert not rng.accept(float("nan"))


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_bad_seed(seed):
    with pytest.raises(ValueError, match="seed"):
        Rng(seed)


def test_trace_rows():
    out = build(thin=3, partitions=4).advance(20)
    assert out["iteration"].tolist() == [0, 3, 6, 9, 12, 15, 18]
    assert out["partition_iteration"].tolist() == [0, 4, 8, 12, 16, 20]
    assert (np.diff(out["seconds"]) > 0).all()
    for labels in out["partition_labels"]:
        first = np.unique(labels, return_index=True)[1]
        assert labels[0] == 0 and (np.diff(first) > 0).all()


def test_trace_says_what_the_state_is():
    chain = build()
    out = chain.advance(200)
    model = chain.model
    labels = model.labels
    sizes = np.sort(np.bincount(labels))[::-1] / 80
    assert out["log_joint"][-1] == model.log_joint()
    assert out["log_lik"][-1] == model.log_lik_total()
    assert out["K"][-1] == out["n_clusters"][-1] == len(np.unique(labels))
    np.testing.assert_allclose(out["largest"][-1], np.r_[sizes, np.zeros(5)][:5])
    assert out["nmi"][-1] == pytest.approx(normalized_mutual_info_score(TRUTH, labels), abs=1e-12)
    assert out["ari"][-1] == pytest.approx(adjusted_rand_score(TRUTH, labels), abs=1e-12)
    best = out["log_joint"].argmax()
    assert chain.best_log_joint == out["log_joint"][best]
    assert chain.best_iteration == out["iteration"][best]
    model.set_labels(chain.best_labels)
    assert model.log_joint() == pytest.approx(chain.best_log_joint, abs=1e-9)


@pytest.mark.parametrize("unknown", [[0], [1, 3], [0, 1, 2, 4]])
def test_items_without_a_true_label_are_left_out_of_the_scores(unknown):
    """They change nothing of the chain."""
    truth = np.array([0, 1, 1, 0, 2])
    partly = truth.copy()
    partly[unknown] = -1
    known = partly >= 0

    def run_chain(of):
        model, rng = Bernoulli(np.eye(5, dtype=np.uint8)), Rng(0)
        chain = Chain(model, rng, [Gibbs(model, rng)], truth=of)
        return model, chain.advance(30)

    (model, out), (_, whole) = run_chain(partly), run_chain(truth)
    labels = model.labels[known]
    assert out["nmi"][-1] == pytest.approx(normalized_mutual_info_score(truth[known], labels), abs=1e-12)
    assert out["ari"][-1] == pytest.approx(adjusted_rand_score(truth[known], labels), abs=1e-12)
    np.testing.assert_array_equal(out["log_joint"], whole["log_joint"])


@pytest.mark.parametrize(
    ("labels", "truth"), [([0] * 5, [0] * 5), ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]), ([0] * 5, [0, 0, 1, 1, 1])]
)
def test_agreement_at_the_edges(labels, truth):
    model = Bernoulli(np.zeros((5, 1), dtype=np.uint8))
    model.set_labels(labels)
    rng = Rng(0)
    out = Chain(model, rng, [Gibbs(model, rng)], truth=truth).advance(0)
    assert out["nmi"][0] == pytest.approx(normalized_mutual_info_score(truth, labels), abs=1e-12)
    assert out["ari"][0] == pytest.approx(adjusted_rand_score(truth, labels), abs=1e-12)


@pytest.mark.parametrize("name", SAMPLERS)
def test_stopping_and_going_on_changes_nothing(name):
    whole = build(name=name, partitions=7).advance(300)
    first = build(name=name, partitions=7)
    parts = [first.advance(101)]
    second = build(name=name, partitions=7)
    second.model.set_labels(np.zeros(80, dtype=np.int32))
    second.state = first.state
    parts += [second.advance(1), second.advance(198)]
    joined = {key: np.concatenate([p[key] for p in parts]) for key in whole}
    assert_same(whole, joined)
    counts = build(name=name, partitions=7)
    counts.advance(300)
    without_time = [[{k: v for k, v in row.items() if k != "seconds"} for row in c.moves()] for c in (counts, second)]
    assert without_time[0] == without_time[1]
    np.testing.assert_array_equal(counts.best_labels, second.best_labels)


def test_what_a_sampler_counted_goes_on():
    """The printed LSHSM counts what its cache served; the cache itself begins anew."""
    first, second = (build(name="lshsm-as_printed", timing=False) for _ in range(2))
    first.advance(20)
    before = first.samplers[0].tally()["cache"]
    second.state = first.state
    assert {key: second.samplers[0].tally()["cache"][key] for key in ("looked_up", "served")} == {
        key: before[key] for key in ("looked_up", "served")
    }
    for chain in (first, second):
        chain.advance(20)
    after, resumed = (chain.samplers[0].tally()["cache"] for chain in (first, second))
    assert after["looked_up"] == resumed["looked_up"] > before["looked_up"] > before["served"] > 0
    assert after["pairs"] >= resumed["pairs"] > 0


def test_chains_do_not_depend_on_threads():
    alone = [build(chain=c).advance(400) for c in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda c: c.advance(400), [build(chain=c) for c in range(4)]))
    for a, b in zip(alone, together, strict=True):
        assert_same(a, b)
    assert not np.array_equal(alone[0]["log_joint"], alone[1]["log_joint"])


def test_without_timing_all_bytes_are_the_same():
    a, b = (build(timing=False).advance(50) for _ in range(2))
    assert_same(a, b, but=())
    assert not a["seconds"].any()


def test_budget_and_wall_stop_early():
    chain = build()
    chain.advance(10**9, budget=0.05)
    assert chain.seconds >= 0.05
    assert chain.iteration < 10**9
    before = chain.iteration
    chain.advance(10**9, wall=0.05)
    assert before < chain.iteration < 10**9


def test_a_chain_may_be_asked_for_any_number_of_iterations():
    chain = build()
    out = chain.advance(2**63 - 1, wall=0.01)
    assert len(out["iteration"]) == chain.iteration + 1


def test_weights_choose_one_sampler():
    model = EMM(np.arange(40).astype(np.int32) % 4, kmax=20)
    rng = Rng(2)
    sdds, gibbs = SDDS(model, rng), Gibbs(model, rng, scan="site")
    chain = Chain(model, rng, [sdds, gibbs], weights=[3.0, 1.0])
    chain.advance(8000)
    counts = {row["move"]: row["proposed"] for row in chain.moves()}
    assert sum(counts.values()) == 8000
    assert counts["gibbs"] / 8000 == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m, r: Chain(m, r, []), "at least one"),
        (lambda m, r: Chain(m, Rng(0), [Gibbs(m, r)]), "own model and generator"),
        (lambda m, r: Chain(m, r, [Gibbs(m, r)], weights=[0.0]), "weights"),
        (lambda m, r: Chain(m, r, [Gibbs(m, r)], thin=0), "thin"),
        (lambda m, r: Chain(m, r, [Gibbs(m, r)], truth=[0, 1]), "truth"),
        (lambda m, r: SDDS(m, r, mode="printed"), "sampler.mode"),
        (lambda m, r: SAMPLERS["rgsm-1"][0](m, r, t=2**70), "sampler.t"),
    ],
)
def test_bad_arguments_are_named(make, message, bernoulli):
    with pytest.raises(ValueError, match=message):
        make(bernoulli, Rng(0))


# ---- Short runs in memory have the states that stored runs have.

WORDS = ["data=gaussian", "N=30", "model=gaussian", "chains=3", "progress=none"]


@pytest.mark.parametrize("words", [["model.b0=hierarchical"], ["sampler=arm", "model.concentration=gamma(1,2)"]])
def test_states_in_memory_are_those_of_a_stored_run(tmp_path: Path, words: list[str]) -> None:
    spec = specify([*WORDS, "iterations=21", "trace.partitions=2", *words, f"out={tmp_path}"])
    short = drive.ShortRun(runs.prepare(spec, records=False))
    assert len(short.sample_states(8)) == 6
    here = short.sample_states(21)  # the chains go on
    assert not list(tmp_path.iterdir())
    stored = draws.states_of(runs.make(spec), 1000)
    assert len(here) == len(stored) == 15
    for one, other in zip(here, stored, strict=True):
        assert (one.labels.tolist(), one.K) == (other.labels.tolist(), other.K)
        assert one.hyperparameters == other.hyperparameters
        assert np.array_equal(np.atleast_1d(one.parameters), np.atleast_1d(other.parameters))


def test_a_signal_ends_a_run_in_memory() -> None:
    plan = runs.prepare(specify([*WORDS, "iterations=1_000_000_000", "trace.partitions=0"]), records=False)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        drive.ShortRun(plan).sample_states(10**9)


# ---- A sampler in Python, as docs/extending/sampler-in-python.md shows it: verified, run and counted like any other.

PAGE = (Path(__file__).parents[2] / "docs" / "extending" / "sampler-in-python.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[1])


@pytest.fixture(scope="module")
def swap():
    names: dict = {}
    exec(block("python"), names)  # the page's own example
    return names["Swap"]


@pytest.mark.parametrize("model_class", [EMM, Bernoulli])
def test_the_example_is_exact(swap, model_class):
    case = cases.small_case(model_class, 4)
    rng = Rng(0)
    P = transitions.transition_matrix(case.model, rng, swap(case.model, rng), case.states)
    assert transitions.stationarity_defect(P, case.pi) < 1e-12
    assert transitions.balance_defect(P, case.pi) < 1e-12


def test_it_runs_in_a_chain(swap):
    model = Bernoulli(np.random.default_rng(0).integers(2, size=(30, 4)).astype(np.uint8))
    rng = Rng(1)
    chain = Chain(model, rng, [swap(model, rng), Gibbs(model, rng)])
    out = chain.advance(50)
    assert out["log_joint"][-1] == model.log_joint()
    counts = {row["move"]: row for row in chain.moves()}
    assert counts["swap"]["proposed"] == 50
    assert counts["swap"]["accepted"] + counts["swap"]["null"] > 0


def test_the_yaml_names_the_class():
    assert yaml.safe_load(block("yaml"))["_target_"] == "mymoves.Swap"


def test_a_subclass_without_a_step_says_so():
    class Idle(PythonSampler):
        MOVES = ("idle",)

    model = Bernoulli(np.zeros((3, 1), dtype=np.uint8))
    with pytest.raises(TypeError, match="Idle defines no python_step"):
        Idle(model, Rng(0)).step()


# ---- Where chains start under a prior that allows few clusters: never in a state of probability 0.

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
    start = partial(initial.initial_labels, model, DATASET)
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
            initial.initial_labels(model, DATASET, init, K0, np.random.default_rng(0))


def test_entities_start_with_as_many_as_there_may_be() -> None:
    tokens = np.arange(7, dtype=np.int32)
    model, dataset = EMM(tokens, n_tokens=7, kmax=4), Dataset("tokens", "tokens", tokens)
    assert model.largest_K == 4
    for init in ("singletons", "random"):
        labels, K = initial.initial_labels(model, dataset, init, None, np.random.default_rng(0))
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


ANSWERS = {f"q{j}": "ordinal" for j in range(5)}


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
    model = initial.build_model(spec.model, answers())
    assert starts.start_of(spec).put(model, answers(), Rng(1))
    assert 2 <= model.K <= 4 and len(set(zip(model.labels.tolist(), [0, 1] * 30, strict=True))) <= model.K + 1
    assert np.isfinite(model.log_joint())
    with pytest.raises(ConfigError, match="init=categories: expected a table with ordinal columns"):
        starts.start_of(spec).put(model, DATASET, Rng(1))


def test_an_ordinal_cell_counts_as_ten() -> None:
    spec = specify_keys({"model": "mixed", "data": "csv", "data.path": "survey.csv", "data.types": ANSWERS})
    wide = answers(5_000)
    assert initial.most_iterations(spec, wide) == initial.WORK // (10 * wide.values.size)


def test_questions_that_go_together_are_read_as_real_numbers_next() -> None:
    keys = {"model": "mixed", "data": "csv", "data.path": "survey.csv", "data.types": {**ANSWERS, "sex": "binary"}}
    tie = {"subject": "q0 and q1", "quantity": TIE, "observed": 0.7, "low": 0.1, "high": 0.2}
    step = advice.choose_model({"fit": {"unlike": [tie]}}, specify_keys(keys))
    assert step is not None and step[0].startswith("questions that go together within clusters, read as real numbers")
    assert step[1]["data.types"] == dict.fromkeys(ANSWERS, "real") | {"sex": "binary"}
    assert step[1]["model.covariance"] == "full" and step[1]["init"] is None
    # readings that were compared were left for a reason
    assert advice.choose_model({"fit": {"unlike": [tie]}, "chosen": {"ratings": []}}, specify_keys(keys)) is None
    of_sex = tie | {"subject": "q0 and sex"}
    assert advice.choose_model({"fit": {"unlike": [of_sex]}}, specify_keys(keys)) is None
    # words are no numbers
    assert advice.choose_model({"fit": {"unlike": [tie | {"of_words": True}]}}, specify_keys(keys)) is None
    numbers, check = answers(), Check("q0 and q1", TIE, 0.7, 0.1, 0.1, 0.2, 0.0)
    words = replace(numbers, types=tuple(replace(one, levels=("a", *one.levels[1:])) for one in numbers.types or ()))
    assert "of_words" not in Table(numbers).describe(check) and Table(words).describe(check)["of_words"]


def test_the_page_says_what_is_not_checked_of_ordinal_columns() -> None:
    said = Table(answers()).unchecked
    assert len(said) == 1 and said[0].startswith("an ordinal column alone: a cluster fits the shares of its levels")
