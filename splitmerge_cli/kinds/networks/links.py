"""Links of a run: which pairs of nodes are probably joined, and how well removed edges are predicted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.diagnostics.cluster_table import FIRST
from splitmerge_cli.fits.candidates import Sample
from splitmerge_cli.fits.short_fits import sample_by
from splitmerge_cli.fits.stored_draws import StoredDraws, Table
from splitmerge_cli.kinds.networks import Graph, layout, link_scores
from splitmerge_cli.kinds.networks.data import COUNT, REAL, Relations, network_of, simple_graph
from splitmerge_cli.kinds.networks.link_scores import HeldOut, Links, LinkScores
from splitmerge_cli.runs import checks, initial
from splitmerge_cli.runs.draws import State, states_of
from splitmerge_cli.runs.store.files import write_text
from splitmerge_cli.runs.store.read import Run

Draw = tuple[NDArray[np.int64], Mapping[str, Any]]
"""Labels from 0, and the options of the model."""

MOST_DRAWS = 200
"""Draws that are averaged at most."""
LINKS = "links.csv"
MOST_CELLS = 4_000_000
"""Pairs of nodes of which the most probable ones are looked for, about."""


def with_relations(dataset: Dataset, relations: Relations) -> Dataset:
    """A network with other edges between the same nodes."""
    simple = dataset.relations is None
    return replace(dataset, values=simple_graph(relations), relations=None if simple else relations)


def require_network(model: Component) -> None:
    """Raise a `ConfigError` for a model of other data than networks."""
    if not isinstance(model.kind, Graph):
        raise ConfigError(f"model={model.name} has no links; expected a network, of model=irm")


def draws_with_options(model: Component, dataset: Dataset, states: Sequence[State]) -> list[Draw]:
    """The partition of each state, and the options of the model, those that are resampled as the state has them."""
    options, layers = checks.options_of(model, dataset), network_of(dataset).layers
    return [
        (
            np.unique(state.labels, return_inverse=True)[1],
            {
                **{**options, **state.hyperparameters},
                "precision": layout.precisions_of(layers, options, state.parameters),
                "shares": layout.shares_of(layers, options, state.parameters),
            },
        )
        for state in states
    ]


def predict_links(dataset: Dataset, draws: Sequence[Draw], pairs: NDArray[np.int64]) -> pd.DataFrame:
    """Average the probabilities of edges over draws, for each layer and pair. `pairs`: int ``[n, 2]``: numbers of nodes
    from 0; undirected: in either order. Returns a row for each layer and pair: source, target (numbers), layer
    (number), probability (of an edge in a replication of the network), and expected: the expected count; the expected
    value of an edge that is real; nan.
    """
    relations = network_of(dataset)
    tables = [
        _average(relations, n, draws, order_pairs(relations, layer.directed, layer.loops, pairs))
        for n, layer in enumerate(relations.layers)
    ]
    return pd.concat(tables, ignore_index=True)


def _average(relations: Relations, n: int, draws: Sequence[Draw], ends: NDArray[np.int32]) -> pd.DataFrame:
    """Rows of `predict_links` for layer n."""
    form = relations.layers[n].form
    probability, expected = np.zeros(len(ends)), np.zeros(len(ends))
    for labels, options in draws:
        links = link_scores.links_of(relations, labels, options)[n]
        p = links.probability(ends)
        probability += p
        if form == COUNT:
            expected += links.mean(ends)
        elif form == REAL:
            middle, scale, _, mean, _, _ = links.normal_posterior()
            expected += p * (middle + scale * mean[links.place(ends)])
    expected = {COUNT: expected / len(draws), REAL: expected / probability}.get(form, np.full(len(ends), np.nan))
    columns = {"probability": probability / len(draws), "expected": expected}
    return pd.DataFrame({"source": ends[:, 0], "target": ends[:, 1], "layer": n} | columns)


def order_pairs(relations: Relations, directed: bool, loops: bool, pairs: NDArray[np.int64]) -> NDArray[np.int32]:
    """Pairs as a relation has them: undirected the smaller number first, two kinds of nodes the first kind first.
    Raises `ConfigError` (a pair that is none of the relation).
    """
    ends = np.asarray(pairs)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ConfigError(f"pairs: {ends.dtype} of shape {ends.shape}; expected whole numbers, [n, 2]")
    if len(ends) and not (ends.min() >= 0 and ends.max() < relations.N):
        raise ConfigError(f"pairs: a node beyond the {relations.N:,} there are; expected numbers from 0")
    if not loops and (ends[:, 0] == ends[:, 1]).any():
        raise ConfigError("pairs: a node twice; expected two nodes, since no edge joins a node to itself")
    if relations.sides is not None:
        if (relations.sides[ends].sum(axis=1) != 1).any():
            raise ConfigError(f"pairs: two nodes of one kind; expected {' and '.join(relations.side_names)}")
        ends = np.where((relations.sides[ends[:, 0]] == 1)[:, None], ends[:, ::-1], ends)
    elif not directed:
        ends = np.sort(ends, axis=1)
    return ends.astype(np.int32)


def probable_pairs(dataset: Dataset, draws: Sequence[Draw], most: int) -> pd.DataFrame:
    """The pairs without an edge to which the model gives most probability, the most probable first: `predict_links`.

    In a network with more than `MOST_CELLS` pairs, candidates are pairs of the blocks with the most probable edges in
    the last draw, and the nodes of most edges in them.
    """
    relations, tables = network_of(dataset), []
    for n, layer in enumerate(relations.layers):
        candidates = _candidates(relations, link_scores.links_of(relations, *draws[-1])[n])
        known = {*map(tuple, layer.ends.tolist())}
        probability: NDArray[np.float64] = np.zeros(len(candidates))
        for labels, options in draws:
            probability += link_scores.links_of(relations, labels, options)[n].probability(candidates)
        # as many more as there are edges among them
        order = np.argsort(-probability, kind="stable")
        chosen: list[int] = []
        for place in order.tolist():
            if len(chosen) == most:
                break
            if tuple(candidates[place].tolist()) not in known:
                chosen.append(place)
        tables.append(_average(relations, n, draws, candidates[chosen]))
    table = pd.concat(tables, ignore_index=True)
    order = np.argsort(-table["probability"].to_numpy(), kind="stable")[:most]
    return table.iloc[order].reset_index(drop=True)


def _candidates(relations: Relations, links: Links) -> NDArray[np.int32]:
    """Pairs of a relation, all or about `MOST_CELLS`, blocks with the highest share of edges first."""
    sides, layer, table, labels = relations.sides, links.relation, links.table, links.labels
    both = not layer.directed and sides is None
    degree = table.sources + table.targets
    order = np.argsort(-degree, kind="stable")
    members = [order[labels[order] == k] for k in range(len(table.rows))]
    # where all pairs are unknown there are none to count
    density = np.where(np.outer(table.rows, table.columns) > 0, (table.edges + 1.0) / (table.pairs + 2.0), -1.0)
    chosen, left = [], MOST_CELLS
    for k, m in zip(*np.unravel_index(np.argsort(-density, axis=None, kind="stable"), density.shape), strict=True):
        if density[k, m] < 0 or left <= 0:
            break
        if both and k > m:
            continue
        first, second = (
            members[block] if sides is None else members[block][sides[members[block]] == side]
            for block, side in ((k, 0), (m, 1))
        )
        # of blocks that are too large, the nodes of most edges
        side = max(int(np.sqrt(left)), left // max(len(first), len(second), 1))
        i, j = np.meshgrid(first[:side], second[:side], indexing="ij")
        left -= i.size
        keep: NDArray[np.bool_] = np.ones(i.shape, dtype=bool)
        if k == m and sides is None:
            keep = (i != j) | layer.loops if layer.directed else (i < j) | (i == j) & layer.loops
        chosen.append(np.stack([i[keep], j[keep]], axis=1))
    ends = np.concatenate(chosen) if chosen else np.zeros((0, 2), dtype=np.int64)
    return (np.sort(ends, axis=1) if both else ends).astype(np.int32)


def list_links(run: Run, most: int) -> Iterator[str]:
    """List the pairs without an edge to which the model gives most probability, and write them to ``links.csv`` in
    its folder."""
    if most < 1:
        raise ConfigError(f"links={most}: expected a whole number from 1 on, such as links=20")
    model, dataset = initial.specification_of(run).model, initial.dataset_of(run)
    require_network(model)
    draws = draws_with_options(model, dataset, states_of(run, MOST_DRAWS))
    probable = probable_pairs(dataset, draws, most)
    table = name_links(dataset, probable, FIRST)
    write_text(run.path / LINKS, table.to_csv(index=False, lineterminator="\n", float_format="%.6g"))
    layers = network_of(dataset).layers
    unknown = " or unknown" * any(len(layer.unknown) for layer in layers)
    where = run.path / LINKS
    yield f"pairs of nodes without an edge{unknown} to which the model gives most probability ({where}):"
    arrows = [" -> " if layers[n].directed else " - " for n in probable["layer"]]
    pairs = [f"{a}{arrow}{b}" for a, arrow, b in zip(table["source"], arrows, table["target"], strict=True)]
    wide = max(map(len, pairs), default=0)
    of_layer = [f"  {name}" for name in table["layer"]] if "layer" in table else [""] * len(table)
    for pair, probability, layer in zip(pairs, table["probability"], of_layer, strict=True):
        yield f"  {pair:{wide}}  {probability:.3f}{layer}"


def name_links(dataset: Dataset, table: pd.DataFrame, first: int) -> pd.DataFrame:
    """Name the nodes (without names they are counted from `first`) and layers of a table of links; columns that say
    nothing are left out."""
    names, layers = dataset.names, network_of(dataset).layers
    named: dict[str, Any] = {
        end: [i + first if names is None else names[i] for i in table[end]] for end in ("source", "target")
    }
    if len(layers) > 1:
        named["layer"] = [layers[n].name for n in table["layer"]]
    named["probability"] = table["probability"].to_numpy()
    if table["expected"].notna().any():
        named["expected"] = table["expected"].to_numpy()
    return pd.DataFrame(named)


SHARE = 0.1
"""Share of the edges that is held out."""


class LinkAnswers(StoredDraws):
    """The part of a `Posterior` with the links of a network."""

    def predict_links(self, pairs: ArrayLike | None = None, *, most: int = 20, states: int = MOST_DRAWS) -> Table:
        """Probability that two nodes are joined, averaged over the draws.

        Parameters
        ----------
        pairs : array_like, optional
            ``[n, 2]``: numbers of nodes from 0, or names. None: the `most` pairs without an edge that most probably
            have one, unknown pairs among them, the most probable first.
        most : int
            Pairs that are listed if none are given.
        states : int
            Draws that are averaged, at most.

        Returns
        -------
        pandas.DataFrame
            Columns source, target (names, or numbers from 0), layer (of several), probability (of an edge in a
            network that the model makes), and of counts and real values expected: the expected count, or the expected
            value of an edge.

        Raises
        ------
        ConfigError
            The model is of other data; `pairs` are no pairs of its nodes.

        Examples
        --------
        >>> import networkx
        >>> found = sample("irm", networkx.karate_club_graph(), iterations=200, chains=2, progress="none")
        >>> table = found.predict_links([[0, 33], [4, 5]])
        >>> list(table)
        ['source', 'target', 'probability']
        """
        require_network(self._model)
        self._warn()
        dataset = self.dataset
        draws = draws_with_options(self._model, dataset, states_of(self.run, states, self._recorded_partitions))
        if pairs is None:
            table = probable_pairs(dataset, draws, most)
        else:
            given = np.asarray(pairs)
            if given.dtype.kind not in "iu" and dataset.names is not None:
                number = {name: i for i, name in enumerate(dataset.names)}
                if missing := [str(name) for name in given.ravel() if str(name) not in number]:
                    raise ConfigError(f"pairs: {missing[0]!r}; expected names of nodes, or numbers from 0")
                given = np.array([number[str(name)] for name in given.ravel()], dtype=np.int64).reshape(given.shape)
            table = predict_links(dataset, draws, given)
        return Table(name_links(dataset, table, 0))

    def link_scores(self, held_out: float = SHARE, *, seed: int = 0) -> LinkScores:
        """How well the model predicts edges that it has not seen: a short fit to a network without a share of them.
        `held_out`: share of the edges that is removed at random; of counts of their units. `seed`: seed of the removal
        and of the fit. Returns see `splitmerge_cli.kinds.networks.link_scores.LinkScores`. Raises `ConfigError` (the
        model is of other data; `held_out` leaves no edges on one side).
        """
        require_network(self._model)
        held = hold_out_links(self.dataset, held_out, seed)
        options = {"name": self._model.name} | dict(self._model.as_typed)
        return fit_links(options, self.dataset, held, sample_by(None, seed))[0]


def score_lines(run: Run, share: float) -> Iterator[str]:
    """Describe how well a share of a run's edges is predicted by the others."""
    yield from str(LinkAnswers(run).link_scores(share, seed=run.config["seed"])).splitlines()


def hold_out_links(dataset: Dataset, share: float, seed: int, part: int = 0) -> HeldOut:
    """Remove some edges from a network; a `ConfigError` if no edge is removed, or none is left."""
    if not 0.0 < share < 1.0:
        raise ConfigError(f"held_out={share:g}: expected a share of the edges, between 0 and 1")
    held = link_scores.remove_edges(network_of(dataset), share, seed, part)
    is_empty = not any(len(layer.ends) for layer in held.rest.layers)
    if is_empty or not any((one.removed > 0).any() for one in held.scored):
        raise ConfigError(f"held_out={share:g}: expected a share that leaves edges on both sides")
    return held


def fit_links(
    options: Mapping[str, Any], dataset: Dataset, held: HeldOut, sample: Sample, iterations: int | None = None
) -> tuple[LinkScores, float]:
    """Fit a model, its name among its options, to a network without the held-out edges, and score these; and the mean
    number of blocks."""
    rest = with_relations(dataset, held.rest)
    fit = sample(options, iterations)(rest)
    scores = link_scores.score_links(held, draws_with_options(fit.model, rest, fit.thin(MOST_DRAWS)))
    return scores, float(np.mean([state.K for state in fit.states]))
