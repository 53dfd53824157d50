"""Adaptive samplers: the history that chains share, what they draw from it, and rounds on several threads."""

import numpy as np
import pytest
from compiled import pieces
from small_cases import MODELS

from splitmerge_cli.core.chain import Chain, advance_together
from splitmerge_cli.core.history import AdaptiveProposal, History, by_appearance
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.sampler import PythonSampler
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.reconfiguration import ARM
from splitmerge_cli.samplers.split_merge import BSM


def random_partitions(count: int, N: int, clusters: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([by_appearance(rng.integers(clusters, size=N), N) for _ in range(count)])


@pytest.mark.parametrize(("N", "clusters"), [(20, 5), (400, 300), (70_000, 69_000)])
def test_states_are_kept_as_they_were(N: int, clusters: int) -> None:
    """In one, two or four bytes a label; and no more of them than a window reaches."""
    history, states = History(2, N), random_partitions(11, N, clusters)
    for labels in states:
        history.add(1, labels)
    made, first, kept = history.kept_states(1)
    assert (made, first) == (11, 4)
    np.testing.assert_array_equal(kept, states[4:])
    assert history.kept_states(0)[0] == 0


@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize(("freeze", "present_only"), [(None, False), (6, False), (None, True)])
def test_a_restored_past_goes_on_alike(freeze: int | None, present_only: bool, weighs: bool) -> None:
    history, states = History(1, 9, freeze, present_only, weighs), random_partitions(30, 9, 4)
    for number, labels in enumerate(states[:17]):
        history.add(0, labels, -number / 3)
    other = History(1, 9, freeze, present_only, weighs)
    other.restore(0, *history.kept_states(0))
    for labels in states[17:]:
        history.add(0, labels, -0.5)
        other.add(0, labels, -0.5)
    assert history.kept_states(0)[:2] == other.kept_states(0)[:2] and len(history.kept_states(0)) == 3 + weighs
    for kept, again in zip(history.kept_states(0)[2:], other.kept_states(0)[2:], strict=True):
        np.testing.assert_array_equal(kept, again)
    if freeze is not None:
        assert len(history.kept_states(0)[2]) >= freeze - freeze // 2 + 1


@pytest.mark.parametrize("adaptation", ["paper", "population"])
@pytest.mark.parametrize("past", ["uniform", "likelihood"])
def test_a_past_is_drawn_uniformly_or_by_likelihood(adaptation: str, past: str) -> None:
    """z_a of the chain's own later half and another z_b of the later halves of all; or of two other chains, the second
    among those that are left."""
    model, S, steps, own = MODELS["bernoulli"](), 4, 20_000, 1
    sampler = ARM(model, Rng(3), adaptation=adaptation, past=past)
    history, states = sampler.adaptive.new_history(S), random_partitions(5 * S, model.N, 4).reshape(5, S, model.N)
    log_lik = np.random.default_rng(2).normal(-400, 1, (5, S))
    for t, chain in np.ndindex(5, S):
        history.add(chain, states[t, chain], log_lik[t, chain])
    sampler.adapt_to(history, own)
    w = np.exp(log_lik - log_lik.max()) if past == "likelihood" else np.ones((5, S))
    w[: 4 if adaptation == "population" else 2] = 0
    first = np.where((np.arange(S) == own) == (adaptation == "paper"), w, 0).ravel()
    second = first if adaptation == "population" else w.ravel()
    p = np.outer(first, second) * ~np.eye(len(first), dtype=bool)
    if adaptation == "population":  # each draw is scaled on its own
        p = np.divide(p, p.sum(axis=1, keepdims=True), where=p > 0, out=p) * first[:, None]
    p /= p.sum()
    number = {tuple(z): k for k, z in enumerate(states.reshape(-1, model.N).tolist())}
    counts = np.zeros_like(p)
    for _ in range(steps):
        sampler.step()
        counts[tuple(number[tuple(z.tolist())] for z in sampler.adaptive.partitions())] += 1
    assert counts[p == 0].sum() == 0
    chi2, cells = ((counts[p > 0] - steps * p[p > 0]) ** 2 / (steps * p[p > 0])).sum(), (p > 0).sum()
    assert abs(chi2 - cells) < 5 * np.sqrt(2 * cells)


@pytest.mark.parametrize("sampler", [ARM, BSM])
def test_without_anything_to_learn_a_move_is_void(sampler: type) -> None:
    model = MODELS["irm"]()
    before = model.labels
    mover = sampler(model, Rng(0))
    history = History(2, model.N)
    mover.step()
    mover.adapt_to(history, 0)
    mover.step()
    history.add(0, before)
    history.add(1, before)
    mover.step()  # two partitions that are one
    assert [row["null"] for row in mover.counts()] == [3, 0]
    np.testing.assert_array_equal(model.labels, before)


def test_bad_histories_are_rejected() -> None:
    with pytest.raises(ValueError, match="chains=3 or more, got 2"):
        AdaptiveProposal(5, "population").new_history(2)
    with pytest.raises(ValueError, match="expected one of paper, frozen, population"):
        AdaptiveProposal(5, "papre")
    with pytest.raises(ValueError, match=r"sampler\.freeze"):
        AdaptiveProposal(5, "frozen", freeze=0)
    adaptive = AdaptiveProposal(5)
    with pytest.raises(ValueError, match="4 items"):
        adaptive.adapt_to(History(2, 4), 0)
    with pytest.raises(ValueError, match="joins, the other not"):
        adaptive.fix([0, 0, 1, 1, 1], [0, 0, 1, 1, 2], 0, 1)


def chains(model: str, S: int, adaptation: str = "paper", past: str = "uniform") -> list[Chain]:
    built = []
    for number in range(S):
        m, rng = MODELS[model](), Rng(5, number)
        m.set_labels(np.arange(m.N) % 7)
        mover = ARM(m, rng, adaptation=adaptation, freeze=30, past=past)
        gibbs = Gibbs(m, rng)
        built.append(Chain(m, rng, [mover, gibbs], partitions=1, timing=False, warmup=(gibbs, 10)))
    history = built[0].samplers[0].adaptive.new_history(S)
    for number, chain in enumerate(built):
        chain.adapt_to(history, number)
    return built


def join(parts: list[list[dict]]) -> list[np.ndarray]:
    return [np.concatenate([part[s]["partition_labels"] for part in parts]) for s in range(len(parts[0]))]


@pytest.mark.parametrize("adaptation", ["paper", "frozen", "population"])
@pytest.mark.parametrize("model", ["irm", "bernoulli"])
def test_rounds_do_not_depend_on_threads_or_batches(model: str, adaptation: str) -> None:
    """Each chain of a population sees the chains before it, however many threads are asked for."""
    whole = join([advance_together(chains(model, 5, adaptation), 120)])
    threaded = chains(model, 5, adaptation)
    parts = [advance_together(threaded, n, workers=w) for n, w in ((7, 3), (50, 2), (0, 5), (63, 5))]
    for a, b in zip(whole, join(parts), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("past", ["uniform", "likelihood"])
@pytest.mark.parametrize("adaptation", ["paper", "frozen", "population"])
def test_chains_go_on_from_their_states(adaptation: str, past: str) -> None:
    whole = join([advance_together(chains("gaussian", 4, adaptation, past), 90)])
    first = chains("gaussian", 4, adaptation, past)
    before = advance_together(first, 47)
    second = chains("gaussian", 4, adaptation, past)
    for old, new in zip(first, second, strict=True):
        new.state = old.state
    for a, b in zip(whole, join([before, advance_together(second, 43)]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert second[0].moves()[-1]["proposed"] == 90 * 60


def test_chains_out_of_step_are_refused() -> None:
    built = chains("irm", 3)
    built[1].advance(1)
    with pytest.raises(ValueError, match="same iteration"):
        advance_together(built, 5)


def test_a_failure_in_one_thread_ends_the_others() -> None:
    built = chains("irm", 4)
    advance_together(built, 20)
    built[2].samplers[0].adapt_to(None, 0)
    built[2].samplers[0].fix()

    class Broken(PythonSampler):
        MOVES = ("broken",)
        TERMS = ()

        def python_step(self) -> None:
            raise RuntimeError("out of order")

    model, rng = built[2].model, built[2].rng
    broken = Chain(model, rng, [Broken(model, rng)])
    with pytest.raises(RuntimeError, match="out of order"):
        advance_together([built[3], broken][1:], 5, workers=2)


@pytest.mark.parametrize("model", ["irm", "bernoulli", "gaussian", "lines"])
@pytest.mark.parametrize("variant", ["arm", "sarm"])
def test_statistics_stay_in_step(model: str, variant: str) -> None:
    m = MODELS[model]()
    m.set_labels(np.arange(m.N) % 9)
    sampler = ARM(m, Rng(2), variant=variant)
    gibbs = Gibbs(m, sampler.rng)
    partitions = []
    for _ in range(40):
        gibbs.step()
        partitions.append(m.labels)
    accepted = 0
    for za, zb in zip(partitions, partitions[7:] + partitions[:7], strict=True):
        sampler.fix(za, zb)
        for _ in range(20):
            sampler.step()
        other = MODELS[model]()
        other.set_labels(m.labels)
        assert m.log_joint() == pytest.approx(other.log_joint(), rel=1e-12)
        np.testing.assert_allclose(pieces.scan(m, 3), pieces.scan(other, 3), rtol=1e-9)
        accepted = sum(row["accepted"] for row in sampler.counts())
    assert accepted > 0
