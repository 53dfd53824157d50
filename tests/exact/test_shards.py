"""Items in shards: the chain of one process, draw by draw."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from splitmerge_cli.core import capabilities
from splitmerge_cli.core.checks import Columns
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.kinds.tables.models.bernoulli import Bernoulli
from splitmerge_cli.kinds.tables.models.gaussian import Gaussian
from splitmerge_cli.kinds.tables.models.mixed import Mixed
from splitmerge_cli.runs.shards.items import ShardItems, sharded_subcluster
from splitmerge_cli.samplers.refresh import Refresh
from splitmerge_cli.samplers.subcluster import Subcluster

N = 600
CUTS = [[0, N], [0, 250, N], [0, 3, 3, 211, 400, N]]


TYPES = ("binary", "real", "categorical", "count", "real", "count")


def table(seed: int = 3):
    """Columns of all types; a level that is rare, missing cells in a column of each type but one."""
    generator = np.random.default_rng(seed)
    side = generator.integers(3, size=N)
    x = np.column_stack(
        [
            generator.random(N) < np.where(side == 1, 0.9, 0.2),
            generator.normal(size=N) + 3.0 * side,
            np.where(generator.random(N) < 0.01, 4, generator.integers(2, size=N) + side % 2),
            generator.poisson(2.0 + 4.0 * side),
            100.0 + 0.01 * generator.normal(size=N),
            generator.poisson(1.0, size=N),
        ]
    ).astype(float)
    for column in (0, 2, 3, 4):
        x[generator.random(N) < 0.1, column] = np.nan
    return x


def points(seed: int = 3):
    generator = np.random.default_rng(seed)
    side = generator.integers(4, size=N)
    return generator.normal(size=(N, 3)) + 2.0 * side[:, None], (
        generator.random((N, 6)) < np.where(side % 2, 0.8, 0.3)[:, None]
    ).astype(np.uint8)


# numbers for what would follow from the data: means and variances are summed in another order in shards
CASES = {
    "diag": (Gaussian, 0, {"m0": 0.3, "b0": 0.5}, {"rounds": 2}),
    "iso": (Gaussian, 0, {"covariance": "iso", "m0": 0.3, "b0": 0.5, "prior": "uniform"}, {"near": 1}),
    "full": (Gaussian, 0, {"covariance": "full", "m0": 0.3, "b0": 0.02, "prior": "uniform"}, {"rounds": 2}),
    "concentration": (Gaussian, 0, {"m0": 0.3, "b0": 0.5, "concentration": "gamma(1,1)"}, {}),
    "bernoulli": (Bernoulli, 1, {"beta1": 0.02, "concentration": 50.0}, {"t": 2}),
}


class Shards:
    """`ShardItems` in this process."""

    def __init__(self, shards: Sequence[ShardItems]) -> None:
        self.shards = shards
        self.parts = 0

    def all(self, method, *args):
        return self.each(method, [args] * len(self.shards))

    def each(self, method, args, shards=None):
        self.parts += len(args[0][2]) if method == "change_clusters" else 0
        asked = self.shards if shards is None else [self.shards[number] for number in shards]
        return [getattr(shard, method)(*given) for shard, given in zip(asked, args, strict=True)]


def divide(cls: type[Model], x, cuts: list[int], params, options, types: Sequence[str] = ()):
    """Sampler, model and shards of rows in shards that end at `cuts`."""
    columns = Columns.join([Columns.from_rows(x[a:b].astype(float)) for a, b in pairwise(cuts)]).with_types(types)
    near, by = options.get("near", 256), cls.find_capability(capabilities.Shards)
    shards = [
        ShardItems(by.build_shard(x[a:b].astype(float), columns, **params), a, len(x), near) for a, b in pairwise(cuts)
    ]
    group = Shards(shards)
    zeros = [np.zeros(b - a, dtype=np.int32) for a, b in pairwise(cuts)]
    packed = np.concatenate([shard.set_labels(z, 1)[1] for shard, z in zip(shards, zeros, strict=True)])
    model = by.build_whole(columns, shards[0].add_statistics(packed).tobytes(), **params)
    rng = Rng(4)
    sampler, items = sharded_subcluster(model, rng, group, np.diff(cuts), **options)
    items.settle(zeros, 1)
    return sampler, model, rng, group


def labels_of(group):
    return lambda: np.concatenate([shard.labels() for shard in group.shards])


def run_steps(sampler, model, rng, labels, steps: int):
    refresh = Refresh(model, rng) if model.refreshes else None
    found = []
    for _ in range(steps):
        sampler.step()
        if refresh is not None:
            refresh.step()
        found.append((model.K, model.log_joint(), hashlib.sha256(labels().tobytes()).hexdigest()))
    return found, sampler.counts(), rng.state


@pytest.mark.parametrize("name", CASES)
def test_shards_change_nothing(name):
    cls, which, params, options = CASES[name]
    x = points()[which]
    model, rng = cls(x, **params), Rng(4)
    sampler = Subcluster(model, rng, **options)
    sampler.threads = 2
    wanted = run_steps(sampler, model, rng, lambda: model.labels, 25)
    assert len({labels for _, _, labels in wanted[0]}) > 3
    accepted = {count["move"]: count["accepted"] for count in wanted[1]}
    assert accepted["split"] > 0
    if name == "full":
        assert accepted["merge"] > 0
    for cuts in CUTS:
        sampler, model, rng, group = divide(cls, x, cuts, params, options)
        assert run_steps(sampler, model, rng, labels_of(group), 25) == wanted


@pytest.mark.parametrize("concentration", [1.0, "gamma(1,1)"], ids=["fixed", "concentration"])
def test_shards_of_columns_of_several_types_change_nothing(concentration):
    """Terms that all rows share are rounded otherwise: log joints agree but for that, choices are equal."""
    x, params = table(), {"m0": [1.0, 100.0], "b0": [0.5, 0.001], "rate": 0.4, "concentration": concentration}
    model, rng = Mixed(x, TYPES, **params), Rng(4)
    sampler = Subcluster(model, rng)
    wanted = run_steps(sampler, model, rng, lambda: model.labels, 25)
    accepted = {count["move"]: count["accepted"] for count in wanted[1]}
    assert accepted["split"] > 0
    found = []
    for cuts in CUTS:
        sampler, model, rng, group = divide(Mixed, x, cuts, params, {}, TYPES)
        found.append(run_steps(sampler, model, rng, labels_of(group), 25))
        assert found[-1] == found[0]
    assert [(K, labels) for K, _, labels in found[0][0]] == [(K, labels) for K, _, labels in wanted[0]]
    assert found[0][1:] == wanted[1:]
    np.testing.assert_allclose([row[1] for row in found[0][0]], [row[1] for row in wanted[0]], rtol=1e-12)


def test_default_prior_of_columns_of_several_types_is_that_of_all_rows():
    x = table()
    one, two = (divide(Mixed, x, cuts, {}, {}, TYPES)[1].log_joint() for cuts in CUTS[1:])
    assert one == two
    assert one == pytest.approx(Mixed(x, TYPES).log_joint(), rel=1e-9)
    resampled = {"b0": "gamma(2,2)", "kappa0": "gamma(1,1)"}
    found = []
    for cuts in CUTS[1:]:
        sampler, model, rng, group = divide(Mixed, x, cuts, resampled, {}, TYPES)
        found.append(run_steps(sampler, model, rng, labels_of(group), 10))
        assert set(model.hyperparameter_values) == {"b0", "kappa0"}
    assert found[0] == found[1]


def test_a_column_without_cells_in_a_shard():
    x = table()
    x[:300, 1] = np.nan
    one, two = (divide(Mixed, x, cuts, {}, {}, TYPES)[1].log_joint() for cuts in ([0, N], [0, 250, N]))
    assert one == two
    assert one == pytest.approx(Mixed(x, TYPES).log_joint(), rel=1e-9)


@pytest.mark.slow
def test_clusters_parted_by_coins():
    """Few items, whose clusters a coin's split often is accepted for."""
    x = points()[0][:9]
    params = {"m0": 0.3, "b0": 50.0, "kappa0": 100.0, "prior": "uniform"}
    model, rng = Gaussian(x, **params), Rng(4)
    sampler = Subcluster(model, rng, near=2)
    wanted = run_steps(sampler, model, rng, lambda: model.labels, 600)
    for cuts in [[0, 4, 9], [0, 0, 3, 7, 9]]:
        sampler, model, rng, group = divide(Gaussian, x, cuts, params, {"near": 2})
        assert run_steps(sampler, model, rng, labels_of(group), 600) == wanted
        assert group.parts > 3


def test_columns_stay_the_sums_of_their_items():
    cls, which, params, options = CASES["iso"]
    x = points()[which]
    sampler, model, _, group = divide(cls, x, CUTS[2], params, options)
    for _ in range(10):
        sampler.step()
    kept = model.log_joint()
    labels = np.concatenate([shard.labels() for shard in group.shards])
    whole = cls(x, **params)
    whole.set_labels(labels)
    # another order of the clusters, another rounding of the sum
    assert whole.log_joint() == pytest.approx(kept, rel=1e-12)
    for shard in group.shards:
        sizes, packed = shard.set_labels(shard.labels(), model.K)
        assert sizes.sum() == len(shard.labels())
        assert packed.shape == (model.K, model.capability(capabilities.Shards).column_bytes)


def test_default_prior_is_that_of_all_rows():
    x = points()[0]
    _, model, _, _ = divide(Gaussian, x, CUTS[1], {}, {})
    assert model.log_joint() == pytest.approx(Gaussian(x).log_joint(), rel=1e-9)
    _, model, _, _ = divide(Gaussian, x, CUTS[1], {"covariance": "iso"}, {})
    assert model.log_joint() == pytest.approx(Gaussian(x, covariance="iso").log_joint(), rel=1e-9)
    one, two = (divide(Gaussian, x, cuts, {"covariance": "full"}, {})[1].log_joint() for cuts in CUTS[1:])
    assert one == two
    assert one == pytest.approx(Gaussian(x, covariance="full").log_joint(), rel=1e-9)
    x[::3, 1] = x[:200, 2] = np.nan
    one, two = (divide(Gaussian, x, cuts, {}, {})[1].log_joint() for cuts in CUTS[1:])
    assert one == two == pytest.approx(Gaussian(x).log_joint(), rel=1e-9)


def test_refusals():
    x = points()[0]
    assert Model.find_capability(capabilities.Shards) is None
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        Bernoulli.find_capability(capabilities.Shards).build_shard(np.full((2, 2), 0.5), Columns.from_rows(np.eye(2)))
    with pytest.raises(ValueError, match="select=true: expected false for rows in shards"):
        divide(Gaussian, x, CUTS[1], {"select": True}, {})
    with pytest.raises(ValueError, match="not a finite number"):
        Gaussian.find_capability(capabilities.Shards).build_shard(x, Columns.from_rows(np.full((2, 3), np.inf)))
