"""Data sets of the benchmark that no generator of the package makes: 10,000 rows, 10 clusters."""

from dataclasses import replace

import numpy as np

from splitmerge_cli.data.bundles import Bundles
from splitmerge_cli.data.dataset import ColumnType, Dataset
from splitmerge_cli.kinds.networks.data import COUNT, Relation, Relations, simple_graph
from splitmerge_cli.kinds.tables.generated import gaussian

N, K = 10_000, 10


def scattered_counts(concentration: float) -> Dataset:
    """20 counts, about 50 a row; shares of a row scatter around its cluster's, which scatter by 1 /
    `concentration`."""
    rng, z = np.random.default_rng(1), np.arange(N) % K
    shares = 30.0 * rng.dirichlet(np.full(20, concentration), size=K)
    p = np.array([rng.dirichlet(np.maximum(shares[k], 1e-3)) for k in z])
    return Dataset("scattered counts", "counts", rng.multinomial(rng.poisson(50.0, N) + 1, p).astype(np.int32), z)


def answers(separation: float) -> Dataset:
    """12 ordinal columns of five levels: cut normal numbers with means that are normal with this deviation."""
    rng, z = np.random.default_rng(1), np.arange(N) % K
    latent = rng.normal(separation * rng.normal(size=(K, 12))[z])
    types = (ColumnType("ordinal", tuple("12345")),) * 12
    return Dataset("answers", "mixed", np.digitize(latent, (-1.5, -0.5, 0.5, 1.5)).astype(float), z, types=types)


def points(separation: float, informative: int = 25) -> Dataset:
    """25 columns, the first ones of which tell the clusters apart."""
    whole, rng = gaussian(N, components=K, D=25, separation=separation), np.random.default_rng(1)
    values = np.array(whole.values)
    values[:, informative:] = rng.permuted(values[:, informative:], axis=0)
    return replace(whole, values=values)


def bundles(rows: int, weight: int) -> Dataset:
    """2,000 items of so many rows, each of which counts `weight` times: ten columns, ten true clusters, far apart."""
    whole = gaussian(2_000 * rows, components=10, D=10, separation=5.0)
    assert whole.truth is not None
    order = np.argsort(whole.truth, kind="stable")
    items = np.repeat(np.arange(2_000, dtype=np.int32), rows)
    in_bundles = Bundles(items, None if weight == 1 else np.full(len(items), weight))
    # an item has the true cluster of its first row
    truth = whole.truth[order][items * rows]
    return replace(whole, values=whole.values[order], truth=truth, bundles=in_bundles)


def directed_counts(nodes: int, blocks: int) -> Dataset:
    """A directed network of counts, some 4,300 edges: Poisson, the more within a block, a rate for each other pair."""
    rng = np.random.default_rng(1)
    z = (np.arange(nodes) % blocks).astype(np.int32)
    rate = rng.gamma(1.0, 0.03, (blocks, blocks)) + np.diag(rng.gamma(2.0, 0.1, blocks))
    count = rng.poisson(rate[np.ix_(z, z)])
    np.fill_diagonal(count, 0)
    ends = np.argwhere(count).astype(np.int32)
    relations = Relations(nodes, (Relation("", ends, COUNT, count[tuple(ends.T)].astype(float), directed=True),))
    return Dataset("directed counts", "graph", simple_graph(relations), z, relations=relations)
