"""A compiled sampler and its reference on one random stream, compared after every move."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import reference_refresh
from plain import State, Stream

from splitmerge_cli.core.rng import Rng


class Pair:
    """One compiled chain and its plain double, started from the same labels, parameters and seed."""

    def __init__(self, models, seed: int, labels=None, K: int | None = None) -> None:
        """`models`: a compiled and a plain model of the same data."""
        self.model, plain_model = models
        self.rng, self.stream = Rng(seed, chain=3), Stream(seed, chain=3)
        if labels is None:
            labels, K = start_labels(plain_model, seed)
        self.model.set_labels(labels)
        thetas = None
        if not plain_model.conjugate:
            start = Stream(seed)
            thetas = [plain_model.draw_theta(start) for _ in range(K or max(labels) + 1)]
            self.model.set_parameters(np.array(thetas))
        self.state = State(plain_model, labels, K, thetas)
        self.start = self.model.log_joint(), plain_model.log_joint(self.state.clusters)

    def sampler(self, entry, mode: str = "exact"):
        """`entry`: the compiled class, its reference, and the options of both."""
        compiled, ref, options = entry
        return compiled(self.model, self.rng, mode=mode, **options), ref(self.state, self.stream, mode=mode, **options)

    def check_state(self, step: int) -> None:
        assert self.model.K == self.state.K, f"K after move {step}"
        assert self.model.labels.tolist() == self.state.labels, f"labels after move {step}"
        if not self.state.model.conjugate:
            thetas = [cluster.theta for cluster in self.state.clusters]
            np.testing.assert_allclose(
                self.model.parameters, thetas, rtol=1e-9, atol=1e-12, err_msg=f"parameters after move {step}"
            )
        if resampled := getattr(self.state.model, "resampled_values", None):
            np.testing.assert_allclose(
                self.model.parameters[:, 0], resampled, rtol=1e-9, err_msg=f"scales after {step}"
            )
        if getattr(self.state.model, "gamma", None):
            assert self.model.prior.concentration == pytest.approx(self.state.model.concentration, rel=1e-12)

    def check_end(self) -> None:
        """The log joint moved by as much on both sides, and both are at the same place of the stream."""
        change = self.model.log_joint() - self.start[0]
        assert change == pytest.approx(self.state.model.log_joint(self.state.clusters) - self.start[1], abs=1e-9)
        assert self.rng.random() == self.stream.random()


def start_labels(model, seed: int) -> tuple[list[int], int]:
    """Random labels of 4 clusters, numbered 0 to 3."""
    labels = np.random.default_rng(seed).integers(0, 4, size=model.N)
    labels[:4] = [0, 1, 2, 3]
    return labels.tolist(), 4


def check_ratio(compiled, ref, step: int) -> None:
    if compiled.rejected_early:
        assert ref.log_ratio <= compiled.last_log_ratio + 1e-9, f"bound of the log ratio of move {step}"
        return
    assert compiled.last_log_ratio == pytest.approx(ref.log_ratio, abs=1e-9, nan_ok=True), f"log ratio of move {step}"


def check_counts(compiled, ref) -> None:
    rows = compiled.counts()
    assert sum(row["accepted"] for row in rows) == ref.accepted
    assert sum(row["null"] for row in rows) == ref.null


def has_ratio(entry) -> bool:
    """Whether a step makes proposals; a Gibbs update has none, a refreshing step many."""
    return not issubclass(entry[1], reference.Neal8 | reference_refresh.Refresh)


def replay(pair: Pair, entry, mode: str, steps: int) -> None:
    """Run both samplers of a pair alone, comparing them after every move."""
    compiled, ref = pair.sampler(entry, mode)
    for step in range(steps):
        compiled.step()
        ref.step()
        if has_ratio(entry):
            check_ratio(compiled, ref, step)
        pair.check_state(step)
    if has_ratio(entry):
        check_counts(compiled, ref)
    pair.check_end()


def config_text(value):
    """A number, or the two of a gamma distribution, as a user writes it."""
    return "gamma({}, {})".format(*value) if isinstance(value, tuple) else value
