"""Answers about links: probabilities of edges, and how well removed edges are predicted."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from splitmerge_cli.config import ConfigError
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.fits.candidates import Sample
from splitmerge_cli.fits.frames import Table
from splitmerge_cli.fits.short_fits import sample_by
from splitmerge_cli.fits.stored_draws import StoredDraws
from splitmerge_cli.kinds.networks.data import network_of
from splitmerge_cli.kinds.networks.predicted_links import (
    MOST_DRAWS,
    draws_with_options,
    name_links,
    predict_links,
    probable_pairs,
    require_network,
    with_relations,
)
from splitmerge_cli.kinds.networks.removed_edges import HeldOut, LinkScores, remove_edges, score_links
from splitmerge_cli.runs.draws import states_of
from splitmerge_cli.runs.store.read import Run

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
            table = predict_links(dataset, draws, _read_pairs(dataset, pairs))
        return Table(name_links(dataset, table, 0))

    def link_scores(self, held_out: float = SHARE, *, seed: int = 0) -> LinkScores:
        """How well the model predicts edges that it has not seen: a short fit to a network without a share of them.

        Parameters
        ----------
        held_out : float
            Share of the edges that is removed at random; of counts of their units.
        seed : int
            Seed of the removal and of the fit.

        Returns
        -------
        LinkScores
            See `splitmerge_cli.kinds.networks.removed_edges.LinkScores`.

        Raises
        ------
        ConfigError
            The model is of other data; `held_out` leaves no edges on one side.
        """
        require_network(self._model)
        held = hold_out_links(self.dataset, held_out, seed)
        options = {"name": self._model.name} | dict(self._model.as_typed)
        return fit_links(options, self.dataset, held, sample_by(None, seed))[0]


def score_lines(run: Run, share: float) -> Iterator[str]:
    """Lines on how well a share of the edges of a run is predicted by the others."""
    yield from str(LinkAnswers(run).link_scores(share, seed=run.config["seed"])).splitlines()


def hold_out_links(dataset: Dataset, share: float, seed: int, part: int = 0) -> HeldOut:
    """Remove some edges from a network; a `ConfigError` if no edge is removed, or none is left."""
    if not 0.0 < share < 1.0:
        raise ConfigError(f"held_out={share:g}: expected a share of the edges, between 0 and 1")
    held = remove_edges(network_of(dataset), share, seed, part)
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
    scores = score_links(held, draws_with_options(fit.model, rest, fit.thin(MOST_DRAWS)))
    return scores, float(np.mean([state.K for state in fit.states]))


def _read_pairs(dataset: Dataset, pairs: ArrayLike) -> NDArray[np.int64]:
    """Number the nodes in pairs, which may be given by name."""
    given = np.asarray(pairs)
    if given.dtype.kind in "iu" or dataset.names is None:
        return given
    number = {name: i for i, name in enumerate(dataset.names)}
    missing = next((str(name) for name in given.ravel() if str(name) not in number), None)
    if missing is not None:
        raise ConfigError(f"pairs: {missing!r}; expected names of nodes, or numbers from 0")
    return np.array([number[str(name)] for name in given.ravel()], dtype=np.int64).reshape(given.shape)
