"""Replay: each compiled sampler and its reference, fed the same random stream, agree move by move.

Compared after every move: the labels as they are numbered, K, the log ratio of the step's last proposal. At the end:
the numbers of accepted and of null proposals, the change of the log joint, the position in the stream.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference
from often import often
from plain import EMM, Bernoulli
from replaying import Pair, check_counts, check_ratio, replay
from tables import mixed_models

from splitmerge_cli.core.chain import Chain
from splitmerge_cli.models import bernoulli as compiled_bernoulli
from splitmerge_cli.models import emm as compiled_emm
from splitmerge_cli.samplers import birth_death, gibbs, rgsm, rm, sdds, ss

DATA = np.random.default_rng(20150712)

TOKENS = DATA.integers(0, 4, size=14)
MANY_TOKENS = np.repeat(np.arange(5), 6)
ITEMS = DATA.integers(0, 2, size=(12, 4))
MANY_ITEMS = (DATA.random((24, 15)) < np.repeat([[0.1] * 15, [0.9] * 15, [0.5] * 15], 8, axis=0)).astype(int)


def emm(tokens=TOKENS, **params):
    params = {"n_tokens": 5, "alpha": 0.6, "mu": 1.2, "sigma": 0.9, "kmax": 6, **params}
    return compiled_emm.EMM(tokens.astype(np.int32), **params), EMM(tokens, **params)


def bernoulli(x=ITEMS, **params):
    params = {"concentration": 1.4, "beta1": 0.3, "beta0": 0.5, **params}
    return compiled_bernoulli.Bernoulli(x.astype(np.uint8), **params), Bernoulli(x, **params)


MODELS = {
    "emm": emm,
    "emm-partition": lambda: emm(label_prior="partition"),
    "emm-as_printed": lambda: emm(label_prior="as_printed"),
    "emm-paper": lambda: emm(MANY_TOKENS, alpha=0.001, mu=math.log(10), sigma=1.0, kmax=100),
    "crp": bernoulli,
    "crp-wide": lambda: bernoulli(MANY_ITEMS, concentration=1.0, beta1=0.1, beta0=0.1),
    "uniform": lambda: bernoulli(prior="uniform"),
    "mixed": mixed_models,
    "mixed-complete": lambda: mixed_models(missing=0.0),
}
SAMPLERS = {
    "gibbs-full": (gibbs.Gibbs, reference.Gibbs, {"scan": "full"}),
    "gibbs-site": (gibbs.Gibbs, reference.Gibbs, {"scan": "site"}),
    "sdds": (sdds.SDDS, reference.SDDS, {"kernel": "both"}),
    "ssdm": (sdds.SDDS, reference.SDDS, {"kernel": "ssdm"}),
    "smds": (sdds.SDDS, reference.SDDS, {"kernel": "smds"}),
    "ss": (ss.SS, reference.SS, {}),
    "rm-cut": (rm.RM, reference.RM, {"redistribution": "cut"}),
    "rm-coin": (rm.RM, reference.RM, {"redistribution": "coin"}),
    "rgsm-5-1": (rgsm.RGSM, reference.RGSM, {"t": 5, "r": 1}),
    "rgsm-1-3": (rgsm.RGSM, reference.RGSM, {"t": 1, "r": 3}),
    "rgsm-0-1": (rgsm.RGSM, reference.RGSM, {"t": 0, "r": 1}),
    "birth_death": (birth_death.BirthDeath, reference.BirthDeath, {}),
}
SPLIT_MERGE = [name for name in SAMPLERS if not name.startswith("gibbs")]


@pytest.mark.parametrize("seed", often([1, 2], [1]))
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("mode", ["exact", "as_printed"])
@pytest.mark.parametrize("name", SPLIT_MERGE)
def test_sampler_alone(name, mode, model, seed):
    replay(Pair(MODELS[model](), seed), SAMPLERS[name], mode, 150)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["gibbs-full", "gibbs-site"])
def test_gibbs(name, model):
    replay(Pair(MODELS[model](), 5), SAMPLERS[name], "exact", 60 if name == "gibbs-full" else 400)


@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1], [0, 1, 1]], ids=str)
@pytest.mark.parametrize("name", SAMPLERS)
def test_one_two_and_three_items(name, labels):
    """The smallest states, where most proposals are void and K stands at 1, at kmax or at N."""
    N, K = len(labels), max(labels) + 1
    for kmax in (K, K + 1):
        replay(Pair(emm(TOKENS[:N], kmax=kmax), 1, labels, K), SAMPLERS[name], "exact", 40)
    replay(Pair(bernoulli(ITEMS[:N]), 1, labels, K), SAMPLERS[name], "exact", 40)


@pytest.mark.parametrize("model", ["emm", "emm-paper", "crp", "crp-wide", "uniform"])
@pytest.mark.parametrize("scan", ["gibbs-full", "gibbs-site"])
@pytest.mark.parametrize("name", SPLIT_MERGE)
def test_schedule_of_move_and_scan(name, scan, model):
    """The schedules `sweep` and `site`, driven by the compiled loop one iteration at a time, then many at once."""
    pair = Pair(MODELS[model](), 7)
    (compiled, ref), (compiled_scan, ref_scan) = pair.sampler(SAMPLERS[name]), pair.sampler(SAMPLERS[scan])
    chain = Chain(pair.model, pair.rng, [compiled, compiled_scan])
    for step in range(30):
        chain.advance(1)
        ref.step()
        ref_scan.step()
        check_ratio(compiled, ref, step)
        pair.check_state(step)
    check_counts(compiled, ref)
    pair.check_end()


@pytest.mark.parametrize("model", ["emm", "crp"])
def test_weighted_schedule(model):
    """A weighted list draws which sampler moves, then makes that move alone."""
    pair = Pair(MODELS[model](), 11)
    weights = [2.0, 1.0, 0.5]
    compiled, plain = zip(*(pair.sampler(SAMPLERS[name]) for name in ("sdds", "rgsm-5-1", "gibbs-full")), strict=True)
    chain = Chain(pair.model, pair.rng, list(compiled), weights=weights)
    for _ in range(100):
        plain[pair.stream.categorical(weights)].step()
    recorded = chain.advance(100)
    pair.check_state(100)
    assert recorded["K"][-1] == pair.state.K
    for one, ref in zip(compiled[:2], plain[:2], strict=True):
        check_counts(one, ref)
    pair.check_end()
