"""Where chains of a network start: from blocks that were merged, from random blocks, or by search.

A sample of a network has hardly any of its edges, so none starts in stages. With few blocks, nodes that belong apart
stand together from the first scan on, and split no more; what is one block too many merges.

**Agglomeration** (Peixoto 2014). At first each node is a block. Blocks that fit each other best become one, a few at a
time; after each round nodes move to the block that fits them best. Both go by the profile likelihood, whose cost is the
entries of a node or block (``agglomeration.pyx``). The log joint density of the model itself then decides how many
blocks the chain starts with. Each chain makes several such trials with its own random numbers, short chains go on from
them, and the best is its start (`Start.start_best`).

**Degrees.** Merged blocks cost no chain, so both forms of degrees are tried by them (`compare_degrees`), and the run
takes the one that describes the network better (docs/decisions/0050-degrees.md).

**Density.** Ties of two blocks of a simple network have any share with equal probability, unless a prior that is
learned, within blocks and between two, describes the network better (`compare_densities`;
docs/decisions/0053-density.md).

**Parts.** A group of tied nodes that fits several blocks stays in one of them while single nodes move, so chains that
start from merged blocks also move such groups as a whole where ties close triangles (``model.parts``;
docs/decisions/0054-connected-parts.md).

**Counts that scatter.** Blocks of negative binomial counts are merged by the terms of which each count is a sum, a
Poisson number that is nearly the logarithm of a large count (docs/derivations.md, "Counts that scatter"). Whether
counts are Poisson or negative binomial is decided as the form of degrees is (`compare_counts`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaln, digamma

from splitmerge_cli.config import Component, RunSpecification
from splitmerge_cli.core.hyperpriors import Beta, from_line, log_density, log_density_on_line, to_line
from splitmerge_cli.core.model import Model
from splitmerge_cli.core.options import Gamma, read_options
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.core.shared import share
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.networks.agglomeration import Blocks, best_merges
from splitmerge_cli.kinds.networks.data import COUNT as OF_COUNTS
from splitmerge_cli.kinds.networks.data import KEYS, Relations, network_of
from splitmerge_cli.kinds.networks.layout import (
    CORRECTED,
    COUNT,
    LEARNED,
    LEAST_PRECISION,
    LEVELS,
    MOST_PRECISION,
    PLAIN,
    SCATTERED,
    SHARES,
    prepare,
)
from splitmerge_cli.kinds.networks.link_scores import links_of
from splitmerge_cli.kinds.networks.readers.listed import HAS_DIRECTIONS, SHOWN
from splitmerge_cli.overrides import write
from splitmerge_cli.runs.identity import file_digests, finished_run
from splitmerge_cli.runs.initial import build_model
from splitmerge_cli.runs.starts import BEST, SEARCH, Start

NODES_PER_BLOCK = (6, 3, 2)
"""Nodes per random block where the chains of a search begin, in turn."""
FEW, MANY = 100, 200_000
"""Nodes from which, and ties up to which, a network starts from merged blocks, unless the user names an initial
state."""
SHRINKING = 1.15
"""Blocks before a round of merges, over those after it."""
SWEEPS, STILL = 4, 0.002
"""Times that all nodes may move after a round, and the share of nodes that moves at last if they stop sooner."""
MOST_CELLS = 4_000_000
"""Counts of two blocks and a type that are kept while nodes move; with more blocks they stay."""
MOST_BLOCKS = 600
"""Blocks up to which the model is asked how well they describe the network."""
APART_AFTER, FAR, APART_FAR = 2_000, 3.0, 1_000
"""Iterations after which chains from merged blocks that lie in different modes end, as in
`splitmerge_cli.runs.starts`; the classical R-hat from which they are far apart, and after how many these end."""
PARTS, CLOSED, MOST_PATHS = 8, 0.5, 30_000_000
"""Blocks that are tried for a connected part, which chains from merged blocks move as a whole; the transitivity from
which on they do; paths of two ties up to which that is measured."""
SEARCHED = 1_000
"""Nodes below which chains that started at random and stay apart are to search."""
LARGE = 500
"""Nodes from which a chain has fewer and shorter trials, which took half of a run's time."""
ENTRIES = 100_000
"""Entries of nodes that all trials of a chain read together in each round, about: fewer of them begin anew."""
FORMS = (PLAIN, CORRECTED)
EXPLAINED = {
    CORRECTED: f"nodes of a block may differ in degree (model.degrees={PLAIN}: they are alike)",
    PLAIN: f"nodes of a block are alike in degree (model.degrees={CORRECTED}: they may differ)",
}
MERGINGS = 4
"""Agglomerations by which a form of degrees is judged, at most."""
ALIKE = 0.05
"""Nats an edge below which two forms describe a network equally well, so that their blocks decide."""
LOG_LEAST, LOG_MOST, LOGIT_MOST = np.log(LEAST_PRECISION), np.log(MOST_PRECISION), -np.log(SHARES.least)
STEP, ROUNDS = 0.01, 2
"""Difference between logarithms, or logits, of what is resampled by which the curvature of its density is measured; how
often each number of several is looked for, given the others."""
SCATTER = 2.0
"""Variance of the degrees over their mean below which a network has plain degrees: edges at random alone make 1."""
ASKED = {"model.degrees", "model.beta1", "model.beta0", "model.density"}
"""Keys that name a form of degrees: the other one has no such prior."""


@dataclass(frozen=True)
class Entries:
    """Entries of nodes, or of blocks: with whom, of which type, how often. An edge has an entry at each of its ends.

    A type is a slot of a cell (``layout.prepare``): a direction of a layer, or a level of its values.
    """

    start: NDArray[np.int64]
    """int64 ``[N + 1]``: where the entries of each node begin."""
    neighbour: NDArray[np.int32]
    type: NDArray[np.int32]
    weight: NDArray[np.int64]
    """Each ``[entries]``."""
    mirror: NDArray[np.int32]
    """int32 ``[types]``: the type at the other end."""
    counted: NDArray[np.int32]
    """int32 ``[types]``: which layer of counts it is part of; -1 none."""

    @classmethod
    def from_relations(cls, relations: Relations) -> "Entries":
        """The entries of the nodes; edges of a node to itself, unknown pairs and real values are not read."""
        data = share(prepare, relations)
        slot, value = data.slot[:-1], data.value[:-1]
        edges = np.isin(slot, [part["slot"] for part in data.parts])
        start = np.append(0, np.cumsum(edges))[data.start]
        form = data.forms[slot]
        kind = np.where(form == LEVELS, slot + 1 + value, slot)[edges]
        weight = np.where(form == COUNT, value, 1)[edges]
        counted = np.full(len(data.mirror), -1, dtype=np.int32)
        for part in data.parts:
            layers = relations.layers[: part["relation"] + 1]
            if layers[-1].form == OF_COUNTS:
                counted[part["slot"]] = sum(layer.form == OF_COUNTS for layer in layers) - 1
        return cls(
            start.astype(np.int64), data.neighbour[:-1][edges], kind.astype(np.int32), weight.astype(np.int64),
            np.array(data.mirror), counted,
        )  # fmt: skip

    def damp(self, precisions: NDArray[np.float64] | None) -> "Entries":
        """The entries with the expected terms of counts in the place of these. `precisions`: as ``IRM.parameters``;
        None: counts are Poisson, and stay.

        A negative binomial count is a Poisson number of terms. Given the count x, and the precision r, they are as many
        as tables of x guests in a Chinese restaurant of concentration r.
        """
        if precisions is None:
            return self
        scattered = self.counted[self.type] >= 0
        r, x = np.ravel(precisions)[self.counted[self.type[scattered]]], self.weight[scattered]
        weight = self.weight.copy()
        weight[scattered] = np.maximum(np.rint(r * (digamma(x + r) - digamma(r))), 1.0)
        return replace(self, weight=weight)

    def join_blocks(self, labels: NDArray[np.int32], K: int) -> "Entries":
        """Join the entries of nodes to entries between K blocks."""
        V = len(self.mirror)
        node = np.repeat(labels, np.diff(self.start)).astype(np.int64)
        code, place = np.unique((node * K + labels[self.neighbour]) * V + self.type, return_inverse=True)
        weight = np.bincount(place, self.weight, len(code)).astype(np.int64)
        start = np.append(0, np.cumsum(np.bincount(code // (K * V), minlength=K)))
        other = (code // V % K).astype(np.int32)
        return Entries(start.astype(np.int64), other, (code % V).astype(np.int32), weight, self.mirror, self.counted)


def join_best(partner: NDArray[np.int32], growth: NDArray[np.float64], most: int) -> tuple[NDArray[np.int32], int]:
    """Join at most so many blocks to their partners, those first that grow most; a block that another one joined joins
    none. Returns the number of the block that each of the K becomes, int32 ``[K]``, and how many were joined.

    >>> join_best(np.array([1, 2, 1], dtype=np.int32), np.array([-1.0, -3.0, -2.0]), 2)
    (array([0, 0, 0], dtype=int32), 2)
    """
    root = np.arange(len(partner), dtype=np.int32)
    is_kept = np.zeros(len(partner), dtype=bool)
    joined = 0
    for a in np.argsort(-growth, kind="stable").tolist():
        if joined == most or growth[a] == -np.inf:
            break
        # a partner that was joined stands for the block that it is part of now
        b = int(root[partner[a]])
        if root[a] == a and not is_kept[a] and b != a:
            root[a], is_kept[b] = b, True
            joined += 1
    return np.unique(root, return_inverse=True)[1].astype(np.int32), joined


def sides_of_blocks(labels: NDArray[np.int32], sides: NDArray[np.int32]) -> NDArray[np.int32]:
    """The kind of the nodes of each block, int32 ``[K]``, which they share."""
    found = np.zeros(int(labels.max()) + 1, dtype=np.int32)
    found[labels] = sides
    return found


def agglomerate(entries: Entries, sides: NDArray[np.int32], corrected: bool, rng: Rng) -> Iterator[NDArray[np.int32]]:
    """Yield partitions of the nodes, int32 ``[N]``, of ever fewer blocks; `sides`: the kind of each node."""
    N = K = len(sides)
    labels = np.arange(N, dtype=np.int32)
    movable = int(np.sqrt(MOST_CELLS / len(entries.mirror)))
    kind = sides
    while K > 1:
        sizes = np.bincount(labels, minlength=K).astype(np.int32)
        partner, growth = best_merges(entries.join_blocks(labels, K), sizes, kind, corrected, rng)
        number, joined = join_best(partner, growth, max(1, int(K * (1.0 - 1.0 / SHRINKING))))
        if not joined:
            break
        labels = number[labels]
        K -= joined
        kind = sides_of_blocks(labels, sides)
        if movable >= K:
            blocks = Blocks(entries, labels, kind, corrected)
            for _ in range(SWEEPS):
                if blocks.sweep(rng) <= STILL * N:
                    break
            labels = blocks.labels
        yield labels


def find_transitivity(relations: Relations) -> float:
    """Transitivity, whatever the layers and directions: how often the ends of two ties in a row are tied, too; 0 where
    there are more such pairs than `MOST_PATHS`."""
    entries = Entries.from_relations(relations)
    N = len(entries.start) - 1
    ties = scipy.sparse.csr_array((np.ones(len(entries.neighbour)), entries.neighbour, entries.start), shape=(N, N))
    ties.setdiag(0)
    ties.eliminate_zeros()
    ties = (ties + ties.T > 0).astype(np.float64)
    degree = ties.sum(axis=1)
    paths = float((degree * (degree - 1)).sum())
    return float((ties @ ties).multiply(ties).sum()) / paths if 0 < paths <= MOST_PATHS else 0.0


def merge(
    entries: Entries, model: Model, sides: NDArray[np.int8] | None, corrected: bool, rng: Rng
) -> tuple[float, NDArray[np.int32]]:
    """The highest log joint density among the partitions of one agglomeration, and that partition, int32 ``[N]``. The
    precisions of counts are drawn for each partition; a second agglomeration goes by the best one's, which the
    model has in the end."""
    kind = np.zeros(model.N, dtype=np.int32) if sides is None else sides.astype(np.int32)
    model.set_labels(np.zeros(model.N, dtype=np.int32))
    model.separate()
    best = model.log_joint(), model.labels, model.parameters
    for _ in range(2 if (entries.counted >= 0).any() and model.parameters is not None else 1):
        for labels in agglomerate(entries.damp(best[2]), kind, corrected, rng):
            if int(labels.max()) < min(MOST_BLOCKS, model.largest_K):
                model.set_labels(labels)
                model.start_parameters(rng)
                best = max(best, (model.log_joint(), labels, model.parameters), key=lambda one: one[0])
    if best[2] is not None:
        model.set_parameters(best[2])
    return best[:2]


def describe_by(
    model: Component, dataset: Dataset, entries: Entries, changed: Mapping[str, Any]
) -> tuple[float, NDArray[np.int32]]:
    """How well the model with these options describes the network, by the best of a few agglomerations: a log joint
    density, precisions integrated out, and the partition. Random numbers are the same in every run."""
    options = {**model.options, **changed}
    own, network = build_model(replace(model, options=options), dataset), network_of(dataset)
    corrected = options["degrees"] == CORRECTED
    number = min(MERGINGS, 1 + ENTRIES // len(entries.weight))
    tries = []
    for seed in range(number):
        height, labels = merge(entries, own, network.sides, corrected, Rng(seed, 0))
        tries.append((height, labels, own.parameters))
    height, labels, parameters = max(tries, key=lambda one: one[0])
    if corrected:
        given = read_options("model", own.OPTIONS, own.with_defaults_of(dataset, **options))
        height += log_exclusion(network, labels, given)
    if parameters is not None:
        own.set_labels(labels)
        own.set_parameters(parameters)
        height = integrate_parameters(own)
    return height, labels


def integrate_parameters(model: Model) -> float:
    """The log joint density of the partition, what is resampled of the edges integrated out: number after number by the
    approximation of Laplace on the line, the logit of a mean and the logarithm of the others. The model has the values
    of highest density in the end."""
    assert model.parameters is not None
    names = [name.rstrip("0123456789") for name in model.hyperparameters[-len(model.parameters) :]]
    priors: list[Gamma | Beta] = [SHARES.mean if name in SHARES.means else SHARES.weight for name in names]
    place = np.array([to_line(*pair) for pair in zip(priors, model.parameters.ravel().tolist(), strict=True)])
    spreads = np.zeros(len(place))

    def log_at(n: int, t: float) -> float:
        place[n] = t
        values = [from_line(*pair) for pair in zip(priors, place, strict=True)]
        model.set_parameters(np.array(values)[:, None])
        # the log joint density counts the prior of the value
        return float(model.log_joint()) + log_density_on_line(priors[n], t) - log_density(priors[n], values[n])

    for _ in range(1 if len(place) == 1 else ROUNDS):
        for n, prior in enumerate(priors):
            lowest, highest = (LOG_LEAST, LOG_MOST) if isinstance(prior, Gamma) else (-LOGIT_MOST, LOGIT_MOST)
            bounds = max(place[n] - 3.0, lowest), min(place[n] + 3.0, highest)
            top = float(minimize_scalar(lambda t, n=n: -log_at(n, t), bounds=bounds, method="bounded").x)
            around = [log_at(n, t) for t in (top - STEP, top + STEP, top)]
            curvature = max(2.0 * around[2] - around[0] - around[1], 1e-12) / STEP**2
            spreads[n] = around[2] - model.log_joint() + 0.5 * np.log(2.0 * np.pi / curvature)
    return float(model.log_joint()) + float(spreads.sum())


@dataclass(frozen=True)
class Degrees:
    """Which form of degrees is taken for a network, and why."""

    taken: str
    """One of `FORMS`."""
    ahead: float = 0.0
    """By how much it describes the network better than the other form, nats an edge; below 0: not as well."""
    blocks: tuple[int, int] = (0, 0)
    """Blocks with the form that is taken, and with the other."""
    problem: str = ""
    """Why nothing was compared."""

    def __str__(self) -> str:
        if self.problem:
            return f"{self.taken}, since {self.problem}"
        other = FORMS[self.taken == PLAIN]
        own, others = (f"{K} block{'s' * (K != 1)}" for K in self.blocks)
        if self.ahead <= ALIKE and self.blocks[0] < self.blocks[1]:
            return f"{self.taken}, which describes the network as well with {own} as {other} with {others}"
        blocks = f"both with {own}" if own == others else f"{own}, not {others}"
        ahead = f"by {self.ahead:.3f} nats an edge"
        return f"{self.taken}, which describes the network better than {other}, {ahead} ({blocks})"


def compare_degrees(model: Component, dataset: Dataset, may_learn: bool = True) -> Degrees:
    """Which form of degrees describes a network better, by the best of a few agglomerations with each; plain degrees of
    a simple network also with shares of ties that are learned, if they `may_learn` these.

    Log joint densities of both forms are of the same data once edges that cannot be have no probability under either
    (`log_exclusion`). The blocks decide between forms that are `ALIKE`: fewer are better.
    """
    network = network_of(dataset)
    edges = sum(int(layer.weights.sum()) for layer in network.layers)
    if model.options.get("precision") is not None:
        return Degrees(PLAIN, problem="corrected degrees do not go with negative binomial counts (model.precision)")
    if any(len(layer.unknown) for layer in network.layers):
        return Degrees(PLAIN, problem="corrected degrees are not possible where pairs are unknown (data.unknown)")
    if not edges:
        return Degrees(PLAIN, problem="the network has no edge")
    entries = Entries.from_relations(network)
    plain, corrected = (describe_by(model, dataset, entries, {"degrees": form}) for form in FORMS)
    if may_learn and dataset.relations is None:
        learned = describe_by(model, dataset, entries, {"degrees": PLAIN, "density": LEARNED})
        plain = max(plain, learned, key=lambda one: one[0])
    ahead, blocks, is_other = weigh(plain, corrected, edges)
    return Degrees(FORMS[is_other], ahead, blocks)


def weigh(
    one: tuple[float, NDArray[np.int32]], other: tuple[float, NDArray[np.int32]], edges: int
) -> tuple[float, tuple[int, int], bool]:
    """By how much the form that is taken is ahead, nats an edge; blocks with it and with the one that is not; and
    whether that is the other of the two."""
    (height, labels), (other_height, other_labels) = one, other
    K, other_K = int(labels.max()) + 1, int(other_labels.max()) + 1
    ahead = (other_height - height) / edges
    is_other = ahead > 0 if other_K == K or abs(ahead) > ALIKE else other_K < K
    return (ahead, (other_K, K), True) if is_other else (-ahead, (K, other_K), False)


def compare_counts(model: Component, dataset: Dataset) -> str | None:
    """Why counts are negative binomial, in words, with plain degrees; None where they are Poisson, with the form of
    degrees that the model has. As `compare_degrees`; an edge is a pair of nodes with a count."""
    network = network_of(dataset)
    edges = sum(len(layer.ends) for layer in network.layers)
    entries = Entries.from_relations(network)
    scattered = {"degrees": PLAIN, "precision": SCATTERED}
    found = [describe_by(model, dataset, entries, changed) for changed in ({}, scattered)]
    ahead, (own, others), is_scattered = weigh(found[0], found[1], edges)
    if not is_scattered:
        return None
    blocks = f"both with {own} blocks" if own == others else f"{own} blocks, not {others}"
    better = f"better than with Poisson counts, by {ahead:.3f} nats an edge" if ahead > ALIKE else "as well"
    return f"counts between two blocks scatter more than Poisson ones: the network is described {better} ({blocks})"


@dataclass(frozen=True)
class Density:
    """How well a network is described where the prior of ties is learned."""

    ahead: float
    """By how much better than with the prior of the model, nats an edge."""
    blocks: tuple[int, int]
    """Blocks with it, and with the other."""

    @property
    def option(self) -> str | None:
        """``density`` of the model: the model's own prior stays if both describe the network equally well."""
        return LEARNED if self.ahead > ALIKE else None

    def __str__(self) -> str:
        blocks = (
            f"{self.blocks[0]} blocks, not {self.blocks[1]}" if self.blocks[0] != self.blocks[1] else "as many blocks"
        )
        return (
            f"{LEARNED}: which share of the pairs is tied within blocks, which between two, and how much that differs "
            f"is learned, which describes the network better than equally probable shares, by {self.ahead:.3f} nats an "
            f"edge ({blocks})"
        )


def compare_densities(model: Component, dataset: Dataset) -> Density:
    """Compare two priors for the shares of ties, with plain degrees: the model's own, and one that is learned, within
    blocks and between two. Both have the best partition of one agglomeration, which reads no prior."""
    network = network_of(dataset)
    edges = len(network.layers[0].ends)
    models = [
        build_model(replace(model, options={**model.options, "degrees": PLAIN, **changed}), dataset)
        for changed in ({}, {"density": LEARNED})
    ]
    one_block, rng = np.zeros(dataset.N, dtype=np.int32), Rng(0, 0)
    best: list[Any] = [(-np.inf, one_block, own.parameters) for own in models]
    for labels in (one_block, *agglomerate(Entries.from_relations(network), one_block, False, Rng(0, 0))):
        if int(labels.max()) >= min(MOST_BLOCKS, *(own.largest_K for own in models)):
            continue
        for n, own in enumerate(models):
            own.set_labels(labels)
            own.start_parameters(rng)
            best[n] = max(best[n], (own.log_joint(), labels, own.parameters), key=lambda one: one[0])
    (height, labels, _), (_, other_labels, parameters) = best
    models[1].set_labels(other_labels)
    models[1].set_parameters(parameters)
    ahead = (integrate_parameters(models[1]) - height) / edges
    return Density(ahead, (int(other_labels.max()) + 1, int(labels.max()) + 1))


def compare_directions(model: Component, simple: Dataset, directed: Dataset) -> tuple[float, tuple[int, int]]:
    """By how much directions describe a network better, nats an edge, and the blocks with and without them. Without
    them each tie of one direction has either with probability 1/2; how many have both is integrated out."""
    found = [
        describe_by(model, dataset, Entries.from_relations(network_of(dataset)), {"degrees": PLAIN})
        for dataset in (directed, simple)
    ]
    ties = len(network_of(simple).layers[0].ends)
    both = len(network_of(directed).layers[0].ends) - ties
    coins = float(betaln(ties - both + 1, both + 1)) - (ties - both) * np.log(2.0)
    (height, labels), (other_height, other_labels) = found
    return (height - other_height - coins) / ties, (int(labels.max()) + 1, int(other_labels.max()) + 1)


def choose_forms(
    model: Component, dataset: Dataset, named: Collection[str], say: Callable[[str], None]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Choose the form of degrees (``model.degrees=auto``), the prior for the share of ties and the form of counts, the
    last two unless one of the `named` keys says it; and how they were chosen."""
    may_learn = not ASKED & {*named} - {"model.degrees"}
    degrees = compare_degrees(model, dataset, may_learn)
    say(str(degrees))
    chosen: dict[str, Any] = {"model.degrees": degrees.taken}
    found = [vars(degrees)]
    if degrees.taken == PLAIN and dataset.relations is None and may_learn:
        density = compare_densities(model, dataset)
        if density.option is not None:
            chosen["model.density"] = density.option
            found.append(vars(density))
            say(f"{PLAIN} and model.density={density}")
    if "model.precision" not in named and has_counts(network_of(dataset)):
        form = replace(model, options={**model.options, "degrees": degrees.taken})
        if why := compare_counts(form, dataset):
            chosen = {"model.degrees": PLAIN, "model.precision": SCATTERED}
            found.append({"taken": SCATTERED, "why": why})
            say(f"{PLAIN} and model.precision={SCATTERED}, since {why}")
    return chosen, found


def has_counts(network: Relations) -> bool:
    """Whether edges of a layer are counted."""
    return any(layer.form == OF_COUNTS for layer in network.layers)


def log_exclusion(network: Relations, labels: NDArray[np.int32], options: Mapping[str, Any]) -> float:
    """Gain of the log likelihood with corrected degrees if a pair cannot have two edges, nor a node one to itself.

    Edges are Poisson, so a pair of mean l has one edge with probability l exp(-l), but at least one with 1 - exp(-l); a
    node of mean l has none to itself with exp(-l), where it must have none. Means are over the posterior. Counts are
    left as they are.
    """
    total = 0.0
    nodes = np.repeat(np.arange(network.N, dtype=np.int32)[:, None], 2, axis=1)
    for links in links_of(network, labels.astype(np.int64), options):
        layer = links.relation
        if layer.form != OF_COUNTS and len(layer.ends):
            mean = np.divide(*links.rates(layer.ends))
            total += float((np.log(-np.expm1(-mean)) + mean - np.log(mean)).sum())
        if not layer.loops and network.sides is None:
            total += float(np.divide(*links.rates(nodes)).sum())
    return total


def degrees_scatter(network: Relations) -> bool:
    """Whether degrees of a layer, in a direction, scatter more than edges at random make them."""
    degree = share(prepare, network).degree
    return bool((degree.var(axis=0) > SCATTER * degree.mean(axis=0)).any())


class NetworkStart(Start):
    """The initial state of a run on a network: from merged blocks. A small network starts from random ones, or by
    search if it has relations, whose modes are far apart."""

    population = 24, 50
    entries: Entries | None = None
    """Where chains begin with merged blocks: what they are merged by."""
    merged: list[NDArray[np.int32]]
    """The merged blocks of each trial, int32 ``[N]``."""
    _known: ClassVar[dict[tuple[str, str], Any]] = {}
    """Results of comparisons, by name and key of the network; jobs of a sweep ask again."""

    def begin(self, number: int, model: Model) -> tuple[str, int | None]:
        """From many random blocks: these merge easily, while chains that start from few stay there where only a split
        on both sides at once is better, as between the two kinds of nodes of a bipartite network."""
        return "random", min(-(-model.N // NODES_PER_BLOCK[number % len(NODES_PER_BLOCK)]), model.largest_K)

    def choose(self, say: Callable[[str], None]) -> RunSpecification:
        """As `Start.choose`; levels and layers that the file shows are read unless a key of the network is named."""
        named = {f"data.{key}" for key in KEYS} & self.named_keys
        if self.data.name != "edges" or named or finished_run(self.spec) is not None:
            return super().choose(say)
        simple = self.load()
        if shown := simple.meta.get(SHOWN, {}):
            keys = {f"data.{key}": value for key, value in shown.items()}
            words = " ".join(f"{key}={write(value)}" for key, value in keys.items())
            say(f"{words}: the file shows them (data.values=null: the simple network)")
            return type(self)(self.with_(**keys)).choose(say)
        is_asked = bool(ASKED & self.named_keys) or self.is_named
        if HAS_DIRECTIONS not in simple.meta or simple.meta["edges"] > MANY or is_asked:
            return super().choose(say)
        with_directions = type(self)(self.with_(**{"data.directed": True}))
        ahead, (own, others) = self._compare(
            "directions", simple, lambda: compare_directions(self.model, simple, with_directions.load())
        )
        if ahead <= ALIKE:
            return super().choose(say)
        blocks = f"{own} blocks, not {others}" if own != others else "as many blocks"
        say(
            f"data.directed=true: directions follow from blocks; with them the network is described better, by "
            f"{ahead:.3f} nats an edge ({blocks}); data.directed=false: the simple network"
        )
        return with_directions.choose(say)

    def start_best(self, model: Model, dataset: Dataset, rng: Rng) -> None:
        if dataset.N >= LARGE:
            self.trials = 4, 50
        self.entries, self.merged = Entries.from_relations(network_of(dataset)), []
        super().start_best(model, dataset, rng)

    def _begin(self, number: int, model: Model, dataset: Dataset, rng: Rng, generator: np.random.Generator) -> None:
        if self.entries is None:
            super()._begin(number, model, dataset, rng, generator)
            return
        if number * len(self.entries.weight) <= ENTRIES:
            self.merged.append(merge(self.entries, model, network_of(dataset).sides, self._is_corrected, rng)[1])
        model.set_labels(self.merged[number % len(self.merged)])
        model.start_parameters(rng)

    def choose_by_size(self, say: Callable[[str], None]) -> RunSpecification:
        if self.is_named or self.why_no_search or finished_run(self.spec) is not None:
            return self.spec
        dataset = self.load()
        if not 0 < sum(len(layer.ends) for layer in network_of(dataset).layers) <= MANY:
            return self.spec
        degrees, notes = self._choose_degrees(dataset)
        if why := self._why_scattered(dataset, degrees):
            degrees = {"model.degrees": PLAIN, "model.precision": SCATTERED}
            notes = [f"model.precision={SCATTERED}, because {why}; model.precision=null: they are Poisson"]
        for note in notes:
            say(note)
        if dataset.N < FEW and not why:
            return self.with_(**degrees) if degrees else self.spec
        if dataset.N < FEW:
            say(f"init={SEARCH}, because no initial state is named and {self.why_search(dataset)}")
            return self.with_(init=SEARCH, **degrees)
        say(
            f"init={BEST}, because no initial state is named and {dataset.N:,} nodes are {FEW} or more: blocks rarely "
            "split, so each chain starts from single nodes, which are merged into blocks that fit (init=random: from "
            "five random blocks)"
        )
        closed = 0.0 if {"model.parts", "sampler"} & self.named_keys else find_transitivity(network_of(dataset))
        if closed >= CLOSED:
            degrees["model.parts"] = PARTS
            say(
                f"model.parts={PARTS}: Gibbs scans also move groups of tied nodes as a whole, because the ends of "
                f"{closed:.0%} of the paths of two ties are tied, too (model.parts=0: single nodes alone)"
            )
        return self.with_(init=BEST, **degrees)

    def _compare(self, name: str, dataset: Dataset, compare: Callable[..., Any], *given: Any) -> Any:
        key = name, repr((self.data.values, dataset.N, file_digests(self.data), self.model.values))
        if key not in self._known:
            self._known[key] = compare(*given)
        return self._known[key]

    def _choose_degrees(self, dataset: Dataset) -> tuple[dict[str, Any], list[str]]:
        """Choose the form of degrees, of many nodes, and with plain ones the prior of the share of ties, that describe
        the network better, and write notes; nothing if the user named one."""
        if ASKED & self.named_keys or self._is_corrected or self.model.options.get("precision") is not None:
            return {}, []
        degrees, notes = Degrees(PLAIN), list[str]()
        if dataset.N >= FEW and degrees_scatter(network_of(dataset)):
            degrees = self._compare("degrees", dataset, compare_degrees, self.model, dataset)
            notes += [] if degrees.problem else [f"model.degrees={degrees}; {EXPLAINED[degrees.taken]}"]
        chosen: dict[str, Any] = {"model.degrees": degrees.taken} if dataset.N >= FEW else {}
        if degrees.taken == PLAIN and dataset.relations is None:
            density = self._compare("density", dataset, compare_densities, self.model, dataset)
            if density.option is not None:
                notes.append(f"model.density={density}; model.density=null: they are equally probable")
                chosen["model.density"] = density.option
        return chosen, notes

    def _why_scattered(self, dataset: Dataset, degrees: Mapping[str, Any]) -> str | None:
        """Why counts are negative binomial; None if they are Poisson or absent, or the user named a form."""
        if {"model.precision", "model.degrees"} & self.named_keys or self.model.options.get("precision") is not None:
            return None
        if not has_counts(network_of(dataset)):
            return None
        form = {"degrees": degrees.get("model.degrees", self.model.options["degrees"])}
        model = replace(self.model, options={**self.model.options, **form})
        why: str | None = self._compare("counts", dataset, compare_counts, model, dataset)
        return why

    def apart_after(self, dataset: Dataset, iterations: int, distance: float) -> int | None:
        if self.init != BEST:
            return super().apart_after(dataset, iterations, distance)
        return APART_FAR if distance >= FAR else APART_AFTER

    def comparisons(self, dataset: Dataset, clusters: float) -> float:
        return dataset.N * clusters

    def may_search(self) -> bool:
        asks = any(self.data.values.get(key) not in (None, False) for key in self.model.kind.asked_for)
        return self.data.name == "given" or self._is_corrected or asks

    def why_search(self, dataset: Dataset) -> str | None:
        if dataset.N >= FEW or (dataset.relations is None and not self._is_corrected):
            return None
        return (
            "the network is more than simple: chains of such networks stay apart unless each looks for its start first "
            "(init=random: as simple networks do)"
        )

    def keep(self, N: int) -> dict[str, str]:
        if self.init != "random" or self.K0 is not None or self.data.name == "given":
            return {}
        is_named = N >= FEW or (not self.why_no_search and self.may_search())
        return {"init": self.init} if is_named else {}

    def may_go_on_by_search(self, N: int) -> bool:
        return self.init == "random" and N < SEARCHED and not self.why_no_search

    @property
    def _is_corrected(self) -> bool:
        return self.model.options.get("degrees") == CORRECTED
