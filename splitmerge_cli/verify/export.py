"""Where a kernel that is not exact leaves balance most, and what in its ratio would explain it; posteriors written as
data of their own, which any program can be tested against: `smcmc posteriors export`.

The posteriors of `small_posteriors` have the probability of every state, the ones of `large_posteriors` have means that
were made before. ``exported/README.md`` describes the files, and is one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from splitmerge_cli.config import Component, ConfigError
from splitmerge_cli.core.rng import ContinuousDraw, Rng
from splitmerge_cli.core.sampler import Sampler
from splitmerge_cli.priors import priors, specification
from splitmerge_cli.runs.initial import build_sampler
from splitmerge_cli.runs.store import manifest, schema
from splitmerge_cli.verify import cases, kernel, large_posteriors, small_posteriors, transitions
from splitmerge_cli.verify.enumerate import State
from splitmerge_cli.verify.large_posteriors import LARGEST, LargePosterior
from splitmerge_cli.verify.paths import TooManyPaths
from splitmerge_cli.version import __version__

DENSITIES = "the ratio of the posterior densities"
PROPOSALS = "the probabilities of proposing the move and its inverse"


@dataclass(frozen=True)
class Worst:
    """The pair of states between which a kernel leaves balance most."""

    origin: State
    target: State
    """The one that more flow leaves than comes back to it, and the other."""
    move: str
    """The move that carries most of the flow."""
    there: float
    back: float
    """Flow from origin to target and back, under the posterior: pi(a) P(a, b)."""
    explanation: str
    """The change of the ratio after which the kernel is in balance; empty if none was found."""

    @property
    def imbalance(self) -> float:
        """float: there minus back."""
        return self.there - self.back

    def __str__(self) -> str:
        explanation = self.explanation or "no single term explains it"
        return (
            f"worst: {format_state(self.origin)} to {format_state(self.target)} by {self.move}, "
            f"flow {self.there:.3g} there and {self.back:.3g} back; {explanation}"
        )


def format_state(state: State) -> str:
    """Return a state as its clusters: ``{0 2}{1}``, and how many are empty."""
    labels, K = state[0], state[1]
    clusters = [" ".join(str(i) for i, k in enumerate(labels) if k == c) for c in range(max(labels) + 1)]
    empty = K - len(clusters)
    return "".join(f"{{{items}}}" for items in clusters) + (f" and {empty} empty" if empty > 0 else "")


def worst_transition(case: cases.Case, sampler: Component) -> Worst | None:
    """Where a sampler leaves balance most on a case; None if it does nowhere, or its choices cannot be listed."""
    rng = Rng(0)
    built = build_sampler(sampler, case.model, rng)
    try:
        P = _least_balanced(case, rng, built)
    except (ContinuousDraw, TooManyPaths):
        return None
    flow = case.pi[:, None] * P
    a, b = (int(t) for t in np.unravel_index(int((flow - flow.T).argmax()), P.shape))
    # nan: it leaves the states that the prior allows
    if not flow[a, b] - flow[b, a] >= kernel.EXACT:
        return None
    start, back = case.states[a], case.states[b]
    by_move: dict[str, float] = {}
    for target, probability, _, move in transitions.list_paths(case.model, rng, built, start):
        if target == back:
            by_move[move] = by_move.get(move, 0.0) + probability
    move = max(by_move, key=lambda name: by_move[name])
    return Worst(start, back, move, float(flow[a, b]), float(flow[b, a]), _explain(case, rng, built, (a, b)))


def _least_balanced(case: cases.Case, rng: Rng, built: Any) -> NDArray[np.float64]:
    """The transition matrix; of an adaptive sampler the one that is furthest from balance, whose pair of items and
    partitions the sampler is then fixed to."""
    if not hasattr(built, "fix"):
        return transitions.transition_matrix(case.model, rng, built, case.states)
    worst, least = None, -1.0
    for history in transitions.example_histories(case.states, 4 if case.model.N < 6 else 2):
        for pair in transitions.disagreements(history):
            built.fix(*history, *pair)
            P = transitions.transition_matrix(case.model, rng, built, case.states)
            if (defect := transitions.balance_defect(P, case.pi)) > least:
                worst, least, least_balanced = (history, pair), defect, P
    assert worst is not None
    built.fix(*worst[0], *worst[1])
    return least_balanced


def _explain(case: cases.Case, rng: Rng, built: Sampler, pair: tuple[int, int]) -> str:
    """Find the first change of the ratio that brings the kernel into balance, and leaves a way between the pair."""
    try:
        proposals_made = transitions.proposals(case.model, rng, built, case.states)
    except (transitions.SeveralProposals, TooManyPaths, ContinuousDraw):
        return ""
    if not np.isfinite(proposals_made.log_ratio).any():
        return ""
    target = np.log(case.pi[proposals_made.target]) - np.log(case.pi[proposals_made.origin])
    by_density = [("is left out", 1.0), ("has the wrong sign", 2.0), ("should count once, not twice", -1.0)]
    changes = [*_changes_by_term(proposals_made), *((f"{DENSITIES} {what}", c * target) for what, c in by_density)]
    for text, change in changes:
        with np.errstate(invalid="ignore"):
            P = proposals_made.with_ratio(proposals_made.log_ratio + change)
        if P[pair] > 0.0 and transitions.balance_defect(P, case.pi) < kernel.EXACT:
            return text
    return _explain_by_moves(case, proposals_made, built.moves)


def _changes_by_term(proposals_made: transitions.Proposals) -> Iterator[tuple[str, NDArray[np.float64]]]:
    if not proposals_made.terms or not proposals_made.has_named_terms():
        return
    for t, (term, counts) in enumerate(zip(proposals_made.terms, proposals_made.counted, strict=True)):
        if not proposals_made.is_factor(term):
            continue
        value = proposals_made.values[:, t]
        if not counts:
            yield f"its term {term!r} is left out", value
            continue
        yield f"its term {term!r} should not count", -value
        yield f"its term {term!r} has the wrong sign", -2.0 * value
        yield f"its term {term!r} should count twice", value


def _explain_by_moves(case: cases.Case, proposals_made: transitions.Proposals, moves: Sequence[str]) -> str:
    """Find what the ratio lacks compared with posterior densities and proposal probabilities, right up to a factor for
    each move."""
    chosen = (proposals_made.origin != proposals_made.target) & np.isfinite(proposals_made.log_ratio)
    n = proposals_made.states
    q = np.bincount(proposals_made.origin * n + proposals_made.target, proposals_made.probability, n * n)
    paths = np.bincount(proposals_made.origin * n + proposals_made.target, minlength=n * n)
    origin, target, move = proposals_made.origin[chosen], proposals_made.target[chosen], proposals_made.move[chosen]
    to, fro = origin * n + target, target * n + origin
    with np.errstate(divide="ignore", invalid="ignore"):
        proposed = np.log(q[fro]) - np.log(q[to])
        # of one path, as a ratio counts it that is written for a path
        forward, reverse = np.log(proposals_made.probability[chosen]), np.log(q[fro] / paths[fro])
    if not np.isfinite(reverse).all():
        none = int(np.flatnonzero(~np.isfinite(reverse))[0])
        start, back = (format_state(case.states[k]) for k in (origin[none], target[none]))
        return f"it proposes to go from {start} to {back}, and never back"
    density = np.log(case.pi[target]) - np.log(case.pi[origin])
    lacks = density + proposed - proposals_made.log_ratio[chosen]
    changes = {
        "": np.zeros(len(lacks)),
        "the probability of proposing the move (forward) is left out": -forward,
        "the probability of proposing the inverse move (reverse) is left out": reverse,
        f"{PROPOSALS} are left out": proposed,
        f"{PROPOSALS} have changed places": 2.0 * proposed,
        f"{PROPOSALS} should not count": -proposed,
        f"{DENSITIES} and {PROPOSALS} are left out": density + proposed,
    }
    for text, change in changes.items():
        left = {int(k): (lacks - change)[move == k] for k in np.unique(move)}
        if max(np.ptp(values) for values in left.values()) < kernel.EXACT:
            factors = [
                f"a factor {np.exp(values[0]):.4g} of {moves[k]}"
                for k, values in left.items()
                if abs(values[0]) > kernel.EXACT
            ]
            lacking = f"its ratio lacks {' and '.join(factors)}" if factors else ""
            return "; ".join(filter(None, [text, lacking]))
    return ""


COMMAND = "smcmc posteriors export"
INDEX, MODELS = "index.json", "MODELS.md"
FORMAT = 1
TEXTS = "README.md", "reader.py"
"""Files that are copied."""
IMPLIED = {"power": 1.0, "resolution": 0.0}
"""Hyper-parameters that may be absent, and what they are then."""
GAMMA = ("distribution", "shape", "rate")
"""Names for a pair (shape, rate)."""


def export(folder: Path) -> list[dict[str, Any]]:
    """Write all posteriors to a folder, and return a line for each: id, kind, model, prior, N. A `ConfigError` says
    that this version of NumPy generates other data than those that the stored means are of."""
    entries = []
    with schema.SealedFolder(folder) as files:
        for name in ("data", "posteriors", "reference"):
            (folder / name).mkdir(exist_ok=True)
        for case in small_posteriors.cases():
            reference, summary = _states(case)
            entries.append(_add(files, case, "enumerated", reference, summary, {"by": "enumeration"}))
        means, runs = large_posteriors.read_means()
        for large in large_posteriors.large_posteriors():
            run = runs.loc[large.id].to_dict()
            if run.pop("data_sha256") != large.digest:
                raise ConfigError(
                    f"{large.id}: NumPy {np.__version__} generates other data than those that the stored means are "
                    "of; expected the version of smcmc's requirements"
                )
            of_case = means.loc[means["id"] == large.id].drop(columns="id").reset_index(drop=True)
            provenance = {"by": "coupled pairs of chains", "script": "scripts/certify_posteriors.py", **run}
            entries.append(_add(files, large, "certified", of_case, {}, provenance))
        for name in TEXTS:
            files.add_text(name, _text(name))
        files.add_text(MODELS, _models())
        files.add_json(INDEX, {"format": FORMAT, "version": __version__, "command": COMMAND, "posteriors": entries})
    return entries


def _add(
    files: schema.SealedFolder,
    case: small_posteriors.Posterior | LargePosterior,
    kind: str,
    reference: pd.DataFrame,
    summary: dict[str, Any],
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """Write the files of one posterior; return its line of the index."""
    data = files.add_json(f"data/{case.id}.json", case.data)
    files.add_csv(f"reference/{case.id}", reference)
    hyper = {key: value for key, value in case.hyperparameters.items() if IMPLIED.get(key) != value}
    prior = hyper.pop("prior", None)
    line = {"id": case.id, "kind": kind, "model": case.model, "prior": prior and specification(prior).name}
    line["N"] = case.n_items
    if prior:
        hyper |= {key: value if isinstance(value, float) else str(value) for key, value in specification(prior).options}
    made = {"program": "smcmc", "version": __version__, "command": COMMAND}
    parts = {"data": data, "reference": files.path / f"reference/{case.id}.csv"}
    files.add_json(
        f"posteriors/{case.id}.json",
        {
            **line,
            "hyperparameters": {
                key: dict(zip(GAMMA, ("gamma", *value), strict=True)) if isinstance(value, tuple) else value
                for key, value in hyper.items()
            },
            **{
                name: {"file": path.relative_to(files.path).as_posix(), "sha256": manifest.sha256_of(path)}
                for name, path in parts.items()
            },
            "summary": summary,
            "provenance": made | provenance,
        },
    )
    return line


def _states(case: small_posteriors.Posterior) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Every state with its probability, and what follows from them."""
    table = case.table()
    z, p = np.stack(table["labels"].to_list()), table["probability"].to_numpy()
    sizes = np.sort((z[:, :, None] == np.arange(case.n_items)).sum(axis=1), axis=1)[:, ::-1][:, :LARGEST]
    together = np.array([[p @ (z[:, i] == z[:, j]) for j in range(case.n_items)] for i in range(case.n_items)])
    summary = {
        "states": len(table),
        "mean_K": float(p @ table["K"]),
        "mean_clusters": float(p @ (z.max(axis=1) + 1)),
        "largest": (p @ sizes / case.n_items).tolist(),
        "co_clustering": together.tolist(),
    }
    # numbers of clusters are digits, since no case has more than ten items; the last digits depend on the machine
    labels = ["".join(map(str, row)) for row in z.tolist()]
    rounded = {"labels": labels, "K": table["K"], "probability": [f"{value:.12g}" for value in p]}
    return pd.DataFrame(rounded), small_posteriors.round_all(summary)


def _text(name: str) -> str:
    return (resources.files("splitmerge_cli.verify.exported") / name).read_text(encoding="utf-8")


def _models() -> str:
    """The description of models and priors; a prior that it has not, with the text of its own module."""
    text = _text(MODELS)
    for name, prior in priors().items():
        if f"\n## Prior {name}\n" not in text:
            text += f"\n## Prior {name}\n\n{(import_module(prior.__module__).__doc__ or '').strip()}\n"
    return text
