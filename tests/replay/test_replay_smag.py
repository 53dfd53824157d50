"""Replay of the split-merge of Rana et al. 2013 as printed: labels, weights and log ratio of every move equal those of
the reference. The exact one and all other samplers of topics have the posterior of tiny corpora
(tests/exact/test_smag.py).
"""

from __future__ import annotations

import numpy as np
import pytest
import reference_smag
from plain_topics import HDP, Topics, TopicStream

from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.documents import hdp, smag

DATA = np.random.default_rng(20121210)
LENGTHS = [7, 1, 0, 12, 5, 3]
DOCS = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
WORDS = DATA.integers(6, size=len(DOCS))
PARAMETERS = {"fixed": (1.4, 0.8, 0.5), "many topics": (9.0, 6.0, 0.1), "tiny gamma": (1e-3, 4.0, 0.2)}


@pytest.mark.parametrize("form", ["text", "box"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_moves_as_printed(name, form):
    gamma, alpha0, eta = PARAMETERS[name]
    starts = np.searchsorted(DOCS, np.arange(DOCS.max() + 2))
    model = hdp.HDP(WORDS, starts, 7, gamma=gamma, alpha0=alpha0, eta=eta)
    plain = HDP(DOCS.tolist(), WORDS.tolist(), 7, gamma, alpha0, eta)
    seen = [0, 0]
    for seed in range(4):
        rng, stream, generator = Rng(seed, chain=3), TopicStream(seed, chain=3), np.random.default_rng(seed)
        labels, weights = generator.integers(4, size=plain.N), generator.dirichlet(np.ones(5))
        labels[:4] = range(4)
        model.set_labels(labels)
        model.set_parameters([*np.log(weights), gamma, alpha0])
        state = Topics(plain, labels.tolist(), weights)
        assert model.log_joint() == pytest.approx(state.log_joint(), rel=1e-11)
        compiled = smag.SMAG(model, rng, mode="as_printed", form=form)
        reference = reference_smag.SMAG(state, stream, mode="as_printed", form=form)
        for step in range(30):
            compiled.step()
            reference.step()
            assert model.labels.tolist() == state.labels, f"labels after move {step}"
            told = [*(topic.theta for topic in state.clusters), state.log_unseen, gamma, alpha0]
            np.testing.assert_allclose(model.parameters[:, 0], told, rtol=1e-9, atol=1e-9, err_msg=f"move {step}")
            if compiled.rejected_early:
                assert reference.log_ratio <= compiled.last_log_ratio + 1e-9
            else:
                assert compiled.last_log_ratio == pytest.approx(reference.log_ratio, abs=1e-9, nan_ok=True)
        assert model.log_joint() == pytest.approx(state.log_joint(), abs=1e-8) and rng.random() == stream.random()
        seen = [n + row["accepted"] for n, row in zip(seen, compiled.counts(), strict=False)]
    assert min(seen) > 0 or name == "tiny gamma", seen
