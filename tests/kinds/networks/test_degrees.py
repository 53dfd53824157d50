"""Which form of degrees a network takes: likelihoods of both are of the same data, and the choice follows from them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from numpy.typing import NDArray

from smcmc import Posterior, sample
from splitmerge_cli.config import compose
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.candidates import model_of
from splitmerge_cli.kinds.networks import start
from splitmerge_cli.kinds.networks.data import Relation, Relations, adjacency, network_of, simple_graph
from splitmerge_cli.kinds.networks.irm import IRM
from splitmerge_cli.kinds.networks.layout import CORRECTED, LEARNED, PLAIN
from splitmerge_cli.kinds.networks.quantities import CLOSED, SPREAD, NetworkAnswers
from splitmerge_cli.kinds.networks.start import (
    Degrees,
    compare_degrees,
    compare_densities,
    degrees_scatter,
    log_exclusion,
)
from splitmerge_cli.runs.checks import check_fit
from splitmerge_cli.runs.draws import State
from splitmerge_cli.runs.starts import start_of

LABELS = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
SIDES = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int8)
PRIORS: dict[str, dict[str, float]] = {
    "wide": {"shape": 3.0, "rate": 2.0, "propensity": 4.0},
    "narrow": {"shape": 3e4, "rate": 4e4, "propensity": 3e4},
}


def draw_means(
    relations: Relations, prior: dict[str, float], draws: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every pair that may have an edge, and its expected number of edges in draws of the prior, ``[draws, pairs]``."""
    layer, sides, N = relations.layers[0], relations.sides, relations.N
    theta = np.ones((2, draws, N))
    for way in range(2):
        for k in range(2):
            here = np.flatnonzero(k == LABELS)
            theta[way][:, here] = len(here) * rng.dirichlet(np.full(len(here), prior["propensity"]), draws)
    rate = rng.gamma(prior["shape"], 1.0 / prior["rate"], (draws, 2, 2))
    if not layer.directed:
        theta[1], rate[:, 1, 0] = theta[0], rate[:, 0, 1]
    pairs = [(i, j) for i in range(N) for j in range(N) if layer.loops or i != j]
    if sides is not None:
        pairs = [(i, j) for i, j in pairs if sides[i] < sides[j]]
    elif not layer.directed:
        pairs = [(i, j) for i, j in pairs if i <= j]
    i, j = np.array(pairs).T
    half = np.where((i == j) & (not layer.directed), 0.5, 1.0)
    return np.stack([i, j], axis=1), half * theta[0][:, i] * theta[1][:, j] * rate[:, LABELS[i], LABELS[j]]


@pytest.mark.parametrize("form", ["simple", "loops", "directed", "two kinds"])
@pytest.mark.parametrize("name", PRIORS)
def test_corrected_degrees_have_the_likelihood_of_a_network_without_multiple_edges(form: str, name: str) -> None:
    """Against draws of the prior: each pair has an edge with 1 - exp(-mean), and no node one to itself. A bound, and
    the likelihood itself where the posterior is narrow."""
    rng, prior = np.random.default_rng(5), PRIORS[name]
    layer = Relation("", np.zeros((0, 2), np.int32), directed=form == "directed", loops=form == "loops")
    sides = SIDES if form == "two kinds" else None
    pairs, mean = draw_means(Relations(7, (layer,), sides), prior, 50_000, rng)
    edge = rng.random(len(pairs)) < 0.4
    relations = Relations(7, (replace(layer, ends=pairs[edge].astype(np.int32)),), sides)
    log_p = np.where(edge, np.log(-np.expm1(-mean)), -mean).sum(axis=1)
    expected = np.logaddexp.reduce(log_p) - np.log(len(log_p))
    model = IRM(relations, simple_graph(relations), degrees=CORRECTED, **prior)
    model.set_labels(LABELS)
    multiple = model.log_lik_total()
    gained = log_exclusion(relations, LABELS, {"degrees": CORRECTED, "beta1": 1.0, "beta0": 1.0, **prior})
    assert gained > 0.5
    if name == "narrow":
        assert multiple + gained == pytest.approx(expected, abs=0.005)
    else:
        assert multiple + 0.5 * gained < multiple + gained < expected + 0.05


def draw_network(seed: int, *, is_heavy: bool) -> tuple[Dataset, NDArray[np.int64]]:
    """Five groups of 240 nodes, with alike or very different degrees within them; and the groups."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(5, size=240)
    theta = np.minimum((1.0 - rng.random(240)) ** (-1.0 / 1.5), 15.0) if is_heavy else np.ones(240)
    mean = np.outer(theta, theta) * np.where(labels[:, None] == labels, 12.0, 1.0)
    mean *= 2.0 * 2_000 / mean.sum()
    i, j = np.nonzero(np.triu(rng.random((240, 240)) < -np.expm1(-mean), 1))
    return Dataset("made", "graph", adjacency(240, i, j)), labels


@pytest.mark.parametrize("seed", range(3))
def test_networks_take_the_form_that_made_them(seed: int) -> None:
    model = compose(["data=network", "N=60"]).model
    heavy = compare_degrees(model, draw_network(seed, is_heavy=True)[0])
    assert heavy.taken == CORRECTED and heavy.blocks[0] == 5 < heavy.blocks[1]
    even = compare_degrees(model, draw_network(seed, is_heavy=False)[0])
    assert even.taken == PLAIN and even.blocks[0] == 5 and even.ahead > start.ALIKE
    assert not degrees_scatter(network_of(draw_network(seed, is_heavy=False)[0]))


@pytest.mark.parametrize(
    "option",
    ["directed=true", "values=count", "values=levels", "values=real", "layers=3", "bipartite=true", "columns=true"],
)
def test_networks_as_they_are_take_the_form_that_made_them(option: str) -> None:
    for degrees, taken in ((0, PLAIN), (1.0, CORRECTED)):
        words = ["data=network", "N=240", "data.blocks=4", "data.p_in=0.2", "data.p_out=0.03", f"data.{option}"]
        begun = start_of(compose([*words, f"data.degrees={degrees}"]))
        found = compare_degrees(begun.model, dataset := begun.load())
        assert found.taken == taken
        assert degrees_scatter(network_of(dataset)) == (taken == CORRECTED)
        assert found.blocks[0] <= 8 and (taken == PLAIN or found.blocks[0] < found.blocks[1])


def test_blocks_explain_degrees_of_core_and_periphery() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    p = np.array([[0.3, 0.1], [0.1, 0.02]])[labels[:, None], labels]
    i, j = np.nonzero(np.triu(rng.random(p.shape) < p, 1))
    dataset = Dataset("made", "graph", adjacency(200, i, j))
    assert degrees_scatter(network_of(dataset))
    found = compare_degrees(compose(["data=network", "N=60"]).model, dataset)
    assert (found.taken, found.blocks[0]) == (PLAIN, 2)


def test_forms_that_are_alike_are_told_apart_by_their_blocks() -> None:
    assert str(Degrees(CORRECTED, 0.01, (5, 11))) == (
        "corrected, which describes the network as well with 5 blocks as plain with 11 blocks"
    )
    assert str(Degrees(CORRECTED, -0.04, (5, 11))) == str(Degrees(CORRECTED, 0.01, (5, 11)))
    assert str(Degrees(PLAIN, 0.1, (4, 4))).endswith("by 0.100 nats an edge (both with 4 blocks)")
    assert str(Degrees(PLAIN, 0.07, (2, 1))) == (
        "plain, which describes the network better than corrected, by 0.070 nats an edge (2 blocks, not 1 block)"
    )


@pytest.mark.parametrize(("ahead", "plain", "corrected", "taken"), [
    (0.04, 5, 3, CORRECTED), (-0.04, 5, 3, CORRECTED), (-0.06, 5, 3, PLAIN),
    (0.04, 3, 5, PLAIN), (0.06, 3, 5, CORRECTED), (0.01, 4, 4, CORRECTED), (-0.01, 4, 4, PLAIN),
])  # fmt: skip
def test_the_rule_of_the_choice(
    monkeypatch: pytest.MonkeyPatch, ahead: float, plain: int, corrected: int, taken: str
) -> None:
    """The densities of both forms as they are given, and the edges of the network."""
    dataset = draw_network(0, is_heavy=False)[0]
    edges = len(network_of(dataset).layers[0].ends)

    def merge(entries: Any, model: Any, sides: Any, is_corrected: bool, rng: Any) -> tuple[float, Any]:
        K = corrected if is_corrected else plain
        return ahead * edges * is_corrected, (np.arange(240) % K).astype(np.int32)

    monkeypatch.setattr(start, "merge", merge)
    monkeypatch.setattr(start, "log_exclusion", lambda *given: 0.0)
    found = compare_degrees(compose(["data=network", "N=60"]).model, dataset)
    assert found.taken == taken
    assert found.blocks == ((corrected, plain) if taken == CORRECTED else (plain, corrected))
    assert found.ahead == pytest.approx(ahead if taken == CORRECTED else -ahead)


def test_degrees_are_chosen_unless_somebody_named_them() -> None:
    said: list[str] = []

    def degrees(*words: str) -> str:
        chosen = start_of(compose(["data=network", "N=200", "data.blocks=4", "data.degrees=1.2", *words])).choose(
            said.append
        )
        return str(chosen.model.options["degrees"])

    assert degrees() == CORRECTED
    assert said[0].startswith("model.degrees=corrected, which describes the network ")
    assert said[0].endswith("; nodes of a block may differ in degree (model.degrees=plain: they are alike)")
    assert said[1].startswith("init=best")
    said.clear()
    # who names the form, its prior or a start has chosen
    named = ("model.degrees=plain", "model.beta1=2", "model.density=0.1", "init=random", "K0=5")
    assert {degrees(word) for word in named} == {PLAIN}
    assert degrees("N=60") == PLAIN
    assert not any(line.startswith("model.degrees") for line in said)
    unknown = start_of(compose(["data=network", "N=200", "data.degrees=1.2", "data.unknown=0.1"])).choose(said.append)
    assert unknown.model.options["degrees"] == PLAIN and not any(line.startswith("model.degrees") for line in said)


def draw_groups(seed: int, groups: int, size: int) -> tuple[Dataset, NDArray[np.int64]]:
    """A sparse network of many small groups, or of a few large ones."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), size)
    share = np.where(labels[:, None] == labels, 4.0 / size, 0.5 / len(labels))
    ends = np.argwhere(np.triu(rng.random(share.shape) < share, 1)).astype(np.int32)
    return Dataset("made", "graph", simple_graph(Relations(len(labels), (Relation("", ends),)))), labels


@pytest.mark.parametrize("seed", range(3))
def test_shares_of_ties_are_learned_where_that_describes_a_network_better(seed: int) -> None:
    """Many small groups do, and are found; a few large ones are described as well by either prior."""
    model = compose(["data=network", "N=60"]).model
    small, truth = draw_groups(seed, 30, 8)
    found = compare_densities(model, small)
    assert found.option == LEARNED and found.ahead > 0.2 and found.blocks[0] > 2 * found.blocks[1]
    assert f"({found.blocks[0]} blocks, not {found.blocks[1]})" in str(found)
    assert compare_densities(model, draw_groups(seed, 2, 60)[0]).option is None
    # the form of degrees is compared by the better of both, unless a prior is named
    fixed, learned = (compare_degrees(model, small, may_learn) for may_learn in (False, True))
    assert fixed.taken == learned.taken == PLAIN and learned.ahead > fixed.ahead + 0.2
    assert learned.blocks[0] > 2 * fixed.blocks[0]
    # the log joint densities of one partition under both priors
    both = [IRM.from_data(small, density=density) for density in (None, LEARNED)]
    for one in both:
        one.set_labels(truth.astype(np.int32))
    edges = small.values.nnz / 2
    assert start.integrate_parameters(both[1]) > both[0].log_joint() + 0.2 * edges
    # and of half of the pairs within a block, and hardly any of two
    within, _, between, _ = both[1].parameters.ravel()
    assert within == pytest.approx(0.5, abs=0.1) and between < 0.02


def test_shares_are_learned_unless_somebody_named_a_prior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, _ = draw_groups(0, 30, 8)
    ends = np.argwhere(np.triu(dataset.values.toarray()))
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{j}\n" for i, j in ends))
    monkeypatch.setattr(start.NetworkStart, "_known", {})
    made: list[int] = []
    compare = start.compare_densities
    monkeypatch.setattr(start, "compare_densities", lambda *given: made.append(1) or compare(*given))

    def choose(*words: str) -> tuple[Any, list[str]]:
        said: list[str] = []
        spec = compose(["data=edges", f"data.path={tmp_path / 'edges.csv'}", "model=irm", *words])
        return start_of(spec).choose(said.append).model.options["density"], said

    density, said = choose()
    line = next(line for line in said if line.startswith("model.density="))
    assert density == LEARNED and line.startswith("model.density=learned: which share of the pairs is tied within")
    assert line.endswith("; model.density=null: they are equally probable")
    assert choose("seed=2")[0] == density and len(made) == 1
    # in another form, and by those who named a prior or a start
    for word in ("model.density=null", "model.beta1=2", "model.degrees=plain", "init=random", "data.directed=true"):
        assert choose(word)[0] is None
    assert len(made) == 1


@pytest.mark.parametrize(("K", "density"), [(12, LEARNED), (1, None)])
def test_a_small_network_learns_the_shares_of_its_ties(K: int, density: str | None, tmp_path: Path) -> None:
    """Its chains start as before, and its degrees are plain."""
    ring = networkx.ring_of_cliques(K, 6) if K > 1 else networkx.gnp_random_graph(60, 0.1, seed=1)
    networkx.write_edgelist(ring, tmp_path / "ring.edgelist", data=False)
    said: list[str] = []
    spec = compose(["data=edges", f"data.path={tmp_path / 'ring.edgelist'}", "model=irm"])
    chosen = start_of(spec).choose(said.append)
    assert chosen.model.options["density"] == density and len(said) == (density is not None)
    assert chosen.init == "random" and chosen.model.options["degrees"] == PLAIN


def test_jobs_of_one_network_compare_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def compare(*given: Any) -> Degrees:
        made.append(1)
        return Degrees(CORRECTED, 0.1, (2, 3))

    monkeypatch.setattr(start, "compare_degrees", compare)
    monkeypatch.setattr(start.NetworkStart, "_known", {})
    words = ["data=network", "N=180", "data.degrees=1.2"]
    for seed in range(3):
        chosen = start_of(compose([*words, f"seed={seed}"])).choose(lambda line: None)
        assert chosen.model.options["degrees"] == CORRECTED
    assert len(made) == 1
    start_of(compose([*words, "data.seed=7"])).choose(lambda line: None)
    assert len(made) == 2


def test_a_sample_has_the_links_of_the_form_that_it_took() -> None:
    found = sample("irm", draw_network(1, is_heavy=True)[0], iterations=10, chains=2, seed=1, progress="none")
    assert found.run.config["model"]["degrees"] == CORRECTED
    pairs = [[0, 1], [0, 2]]
    again = Posterior(found.run).predict_links(pairs)
    assert found.predict_links(pairs).to_numpy().tolist() == again.to_numpy().tolist()


def test_a_network_without_multiple_edges_is_no_misfit_of_corrected_degrees() -> None:
    """Multiple edges that the model makes count: else it had too few ties, of too even degrees."""
    dataset, labels = draw_network(0, is_heavy=True)
    states = [State(labels.astype(np.int32), 5, {})]
    fit = check_fit(model_of({"name": "irm", "degrees": CORRECTED}), dataset, states, draws=60)
    by_key = {(check.subject, check.quantity): check for check in fit.checks}
    for key in (("ties", "number"), ("degrees", SPREAD), ("degrees", "largest")):
        assert by_key[key].low <= by_key[key].observed <= by_key[key].high, key
    # with alike degrees the model does not describe it
    plain = check_fit(model_of({"name": "irm"}), dataset, states, draws=60)
    assert next(check for check in plain.checks if check.quantity == SPREAD).is_far


def test_even_degrees_are_no_misfit_and_triangles_are_explained() -> None:
    """Each node has as many ties to its own half as any other: fewer differences than chance makes."""
    ring = np.arange(40)
    ends = [(i + half, (i + step) % 40 + half) for half in (0, 40) for step in (1, 2, 3, 9) for i in ring]
    matrix = adjacency(80, *np.sort(np.array(ends), axis=1).T)
    labels = np.repeat([0, 1], 40).astype(np.int32)
    fit = check_fit(model_of({"name": "irm"}), Dataset("made", "graph", matrix), [State(labels, 2, {})], draws=60)
    spread = next(check for check in fit.checks if check.quantity == SPREAD)
    assert spread.observed < spread.low and not spread.is_far
    assert any(check.is_far and check.quantity == CLOSED for check in fit.checks)
    (line,) = NetworkAnswers.explain_unlike({CLOSED})
    assert "no model here describes that" in line and not list(NetworkAnswers.explain_unlike({SPREAD}))
