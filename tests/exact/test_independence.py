"""Independence proposals of all clusters: chains cross between modes of the entity/mention model, coupled chains meet;
starts apart in the number of clusters. The ratio: `test_transition_matrix`, the cases of `emm`.
"""

import threading

import numpy as np
import pytest

from splitmerge_cli.analysis.coupled_pairs import certify, check_coupling
from splitmerge_cli.config import ConfigError, specify
from splitmerge_cli.runs import plan
from splitmerge_cli.runs.plan import prepare


def chain_of(*overrides):
    return prepare(specify(["data=emm", *overrides])).builder.chain(0)


@pytest.mark.parametrize("start", ["K0=5", pytest.param("init=singletons", marks=pytest.mark.slow)])
def test_a_chain_finds_the_mode_of_ten(start):
    """Ten entities with a token each: the log joint is 23 above that of five with two; no split of one crosses."""
    found = chain_of("N=1000", start).advance(3_000)
    assert found["K"][-1] == 10 and found["log_joint"].max() > -2340.0
    stuck = chain_of("N=1000", start, "sampler=sams", "schedule.moves=5").advance(3_000)
    assert 10 not in stuck["K"]


def test_a_state_that_is_never_proposed_stays():
    """More clusters than are proposed, which the prior allows: a proposal would have no way back."""
    alone = ("N=4", "sampler=independence", "sampler.share=1", "model.kmax=1001")
    chain = chain_of(*alone)
    chain.model.set_labels(np.arange(4), 1001)
    chain.samplers[0].step()
    assert chain.model.K == 1001 and chain.samplers[0].counts()[2]["null"] == 1
    with pytest.raises(ConfigError, match="changes the number of empty clusters"):
        chain_of(*alone, "schedule=move_only")
    assert chain_of(*alone[:3], "schedule=move_only").model.K == 4


def test_many_empty_clusters_are_weighed_behind_few_that_are_proposed():
    """Columns for as many clusters as there are, and for as many as are proposed: a chain's first step makes them."""
    for seed in range(6):
        chain = chain_of("N=4", "sampler=independence", "sampler.share=1", "model.kmax=1000", f"seed={seed}")
        chain.model.set_labels(np.arange(4), 1000)
        chain.samplers[0].step()
        labels, K, found = chain.model.labels, chain.model.K, chain.model.log_joint()
        chain.model.set_labels(labels, K)
        assert found == pytest.approx(chain.model.log_joint(), abs=1e-9)


def test_coupled_chains_meet():
    found = certify(check_coupling(specify(["data=emm", "N=60", "iterations=2000"])), 12, lag=50)
    assert not found.lacks


def test_starts_are_apart_in_the_number_of_clusters():
    assert chain_of("N=300", "init=singletons").model.K == 100
    assert chain_of("N=300", "init=sequential", "K0=17").model.K == 17
    numbers = {prepare(specify(["data=emm", "N=300", "init=sequential"])).builder.chain(c).model.K for c in range(6)}
    assert len(numbers) > 3
    with pytest.raises(ConfigError, match=r"K0=101: expected at most model\.kmax=100"):
        chain_of("N=300", "init=sequential", "K0=101")


@pytest.mark.parametrize(("init", "n"), [("sequential", 3), ("random", 1)])
def test_chains_start_at_the_same_time(init, n, monkeypatch):
    """Where a start takes time, as many as may run: none before all have begun. Each is what it is alone."""
    begun = threading.Barrier(n, timeout=60)
    start = plan.Builder._start
    monkeypatch.setattr(plan.Builder, "_start", lambda *args: (begun.wait(), start(*args)))
    prepared = plan.prepare(specify(["data=emm", "N=60", f"init={init}", "chains=4", "workers=3"]))
    assert sorted(prepared._built) == list(range(n))
    begun = threading.Barrier(1)
    # who only checks a configuration starts one
    assert list(plan.prepare(prepared.spec, runs=False)._built) == [0]
    for number in range(n):
        assert (prepared.chain(number).model.labels == prepared.builder.chain(number).model.labels).all()
