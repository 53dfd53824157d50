"""Replay of the samplers of Rana et al. 2013: Gibbs scans of topics, tables, weights, hyper-parameters, split-merge
exact and as printed, and the split-merges of mixtures on topics; after every move labels, weights, hyper-parameters and
log ratio are compared.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference_smag
from plain_topics import HDP, Topics, TopicStream

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents import hdp as compiled_hdp
from splitmerge_cli.kinds.documents import smag
from splitmerge_cli.samplers import gibbs, refresh, split_merge

DATA = np.random.default_rng(20121210)
LENGTHS = [7, 1, 0, 12, 5, 3]
DOCS = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
WORDS = DATA.integers(6, size=len(DOCS))
# one word that many tokens have: a long list of topics
COMMON = np.where(DATA.random(120) < 0.5, 0, DATA.integers(1, 40, size=120))
COMMON_DOCS = np.repeat(np.arange(8), 15)


def config_text(value):
    """A number, or the two of a gamma distribution, as a user writes it."""
    return "gamma({}, {})".format(*value) if isinstance(value, tuple) else value


def corpus(docs, words, V, gamma, alpha0, eta):
    """A compiled and a plain model."""
    starts = np.searchsorted(docs, np.arange(docs.max() + 2))
    compiled = compiled_hdp.HDP(words, starts, V, gamma=config_text(gamma), alpha0=config_text(alpha0), eta=eta)
    return compiled, HDP(docs.tolist(), words.tolist(), V, gamma, alpha0, eta)


MODELS = {
    "fixed": lambda: corpus(DOCS, WORDS, 7, 1.4, 0.8, 0.5),
    "random": lambda: corpus(DOCS, WORDS, 7, (1.5, 0.8), (2.0, 1.2), 0.3),
    "many topics": lambda: corpus(DOCS, WORDS, 7, 9.0, 6.0, 0.1),
    "tiny gamma": lambda: corpus(DOCS, WORDS, 7, 1e-3, 4.0, 0.2),
    "a word of many": lambda: corpus(COMMON_DOCS, COMMON, 40, (2.0, 0.3), 3.0, 0.05),
    # too many for a table of all counts: scans go through lists
    "many words": lambda: corpus(DOCS, 50 * WORDS, 300, 9.0, 6.0, 0.02),
    "one word": lambda: corpus(DOCS, np.zeros_like(WORDS), 1, 1.4, 0.8, 0.5),
}


def check_ratio(compiled, ref, step: int) -> None:
    if compiled.rejected_early:
        assert ref.log_ratio <= compiled.last_log_ratio + 1e-9, f"bound of the log ratio of move {step}"
        return
    assert compiled.last_log_ratio == pytest.approx(ref.log_ratio, abs=1e-9, nan_ok=True), f"log ratio of move {step}"


def check_counts(compiled, ref) -> None:
    rows = compiled.counts()
    assert sum(row["accepted"] for row in rows) == ref.accepted
    assert sum(row["null"] for row in rows) == ref.null


class TopicPair:
    """One compiled chain of topics and its plain double, started from the same labels, parameters and seed."""

    def __init__(self, models, seed: int) -> None:
        self.model, plain = models
        self.rng, self.stream = Rng(seed, chain=3), TopicStream(seed, chain=3)
        generator = np.random.default_rng(seed)
        labels = generator.integers(4, size=plain.N)
        labels[:4] = range(4)
        weights = generator.dirichlet(np.ones(5))
        self.model.set_labels(labels)
        self.model.set_parameters([*np.log(weights), plain.gamma, plain.alpha0])
        self.state = Topics(plain, labels.tolist(), weights)
        self.start = self.model.log_joint(), self.state.log_joint()
        assert self.start[0] == pytest.approx(self.start[1], rel=1e-11)

    def check_state(self, step: int) -> None:
        assert self.model.labels.tolist() == self.state.labels, f"labels after move {step}"
        weights = [*(topic.theta for topic in self.state.clusters), self.state.log_unseen]
        told = [*weights, self.state.model.gamma, self.state.model.alpha0]
        np.testing.assert_allclose(self.model.parameters[:, 0], told, rtol=1e-9, atol=1e-9, err_msg=f"move {step}")

    def check_end(self) -> None:
        assert self.model.log_joint() == pytest.approx(self.state.log_joint(), abs=1e-8)
        assert self.rng.random() == self.stream.random()


EXACT = {
    "pair": (smag.SMAG, reference_smag.SMAG, {"choice": "pair"}),
    "coin": (smag.SMAG, reference_smag.SMAG, {"choice": "coin"}),
    "pair, uneven": (smag.SMAG, reference_smag.SMAG, {"choice": "pair", "p": 0.4}),
    "coin, even": (smag.SMAG, reference_smag.SMAG, {"choice": "coin", "p": 3.0}),
    "pair, after": (smag.SMAG, reference_smag.SMAG, {"choice": "pair", "weights": "after"}),
    "coin, after": (smag.SMAG, reference_smag.SMAG, {"choice": "coin", "weights": "after"}),
    "rgsm": (split_merge.RGSM, reference_smag.TopicRGSM, {"t": 2}),
    "sams": (split_merge.Dyadic, reference_smag.TopicSAMS, {"allocation": "sams"}),
    "dyadic, coins": (split_merge.Dyadic, reference_smag.TopicSAMS, {"allocation": "random"}),
}
PRINTED = {
    "text": (smag.SMAG, reference_smag.SMAG, {"form": "text"}),
    "box": (smag.SMAG, reference_smag.SMAG, {"form": "box"}),
}


def make_movers(pair, entry, mode):
    compiled, ref, options = entry
    return compiled(pair.model, pair.rng, mode=mode, **options), ref(pair.state, pair.stream, mode=mode, **options)


@pytest.mark.parametrize("move", EXACT | PRINTED)
@pytest.mark.parametrize("model", MODELS)
def test_moves_between_scans(model, move):
    """Each followed by a refresh, every third by a scan."""
    pair = TopicPair(MODELS[model](), seed=11)
    mode = "as_printed" if move in PRINTED else "exact"
    compiled, ref = make_movers(pair, (EXACT | PRINTED)[move], mode)
    scans = make_movers(pair, (gibbs.Gibbs, reference_smag.Gibbs, {"scan": "full"}), "exact")
    scans[1].order = "compiled"
    steps = 30 if pair.model.N < 100 else 8
    for step in range(steps):
        compiled.step()
        ref.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
        refresh.Refresh(pair.model, pair.rng).step()
        reference_smag.Refresh(pair.state, pair.stream).step()
        pair.check_state(step)
        if step % 3 == 2:
            for scan in scans:
                scan.step()
            pair.check_state(step)
    check_counts(compiled, ref)
    pair.check_end()


@pytest.mark.parametrize("scan", ["full", "site"])
@pytest.mark.parametrize("model", MODELS)
def test_scans(model, scan):
    pair = TopicPair(MODELS[model](), seed=5)
    compiled, ref = make_movers(pair, (gibbs.Gibbs, reference_smag.Gibbs, {"scan": scan}), "exact")
    ref.order = "compiled"
    steps = {"full": 12, "site": 150}[scan] // (1 if pair.model.N < 100 else 4)
    for step in range(steps):
        compiled.step()
        ref.step()
        pair.check_state(step)
        if step % 4 == 3:
            refresh.Refresh(pair.model, pair.rng).step()
            reference_smag.Refresh(pair.state, pair.stream).step()
            pair.check_state(step)
    pair.check_end()


def test_accepted_moves_of_every_kind():
    """A replay says nothing of a move that is never accepted."""
    seen = {}
    for name, entry in (EXACT | PRINTED).items():
        pair = TopicPair(MODELS["many topics"](), seed=2)
        compiled, _ = make_movers(pair, entry, "as_printed" if name in PRINTED else "exact")
        for _ in range(150):
            compiled.step()
            refresh.Refresh(pair.model, pair.rng).step()
        seen[name] = [row["accepted"] for row in compiled.counts()]
    assert all(min(counts[:2]) > 0 for counts in seen.values()), seen


def test_weights_that_no_double_holds():
    """With gamma = 0.001 beta_u is below the least double in almost half of the draws."""
    pair = TopicPair(MODELS["tiny gamma"](), seed=1)
    lowest = 0.0
    for step in range(60):
        refresh.Refresh(pair.model, pair.rng).step()
        reference_smag.Refresh(pair.state, pair.stream).step()
        pair.check_state(step)
        lowest = min(lowest, pair.model.log_weights[-1])
        assert math.isfinite(pair.model.log_joint())
    assert lowest < -1000
