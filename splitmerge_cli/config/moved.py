"""Targets of configurations that have moved: stored runs know them by their first names, and keep their identity.

The ``_target_`` of a data set, model or sampler is a part of a run's identity. So a function or class that moves keeps
its first name there: run ids stay, and so do the runs that were made before. Configurations that say a first name, in
a stored run or in a file of the user's own, find what it names today.
"""

from collections.abc import Mapping
from typing import Any

_DATA = {
    "emm.generate": "generated.emm.generate",
    "jain_neal.generate": "generated.jain_neal.generate",
    "gaussian.generate": "generated.gaussian.generate",
    "lines.generate": "generated.lines.generate",
    "network.generate": "generated.network.generate",
    "corpus_generated.nested_topics": "generated.documents.nested_topics",
    "corpus_generated.synthetic_documents": "generated.documents.synthetic_documents",
    "kdd.kdd_like": "generated.kdd_like.kdd_like",
    "kdd.kddcup04bio": "published.kdd.kddcup04bio",
    "corpus_published.nips_abstracts": "published.documents.nips_abstracts",
    "corpus_published.nips0_12": "published.documents.nips0_12",
    "corpus_published.ohsumed23_documents": "published.documents.ohsumed23_documents",
    "corpus_published.news20_w100": "published.documents.news20_w100",
    "documents.ohsumed23": "published.counts.ohsumed23",
    "pubmed.pubmed": "published.pubmed.pubmed",
    "noparama.lines": "published.noparama.lines",
    "noparama.two_gaussians": "published.noparama.two_gaussians",
    "published_graphs.caltech36": "published.graphs.caltech36",
    "published_graphs.hagmann998": "published.graphs.hagmann998",
    "published_graphs.usair97": "published.graphs.usair97",
    "published_graphs.nips234": "published.graphs.nips234",
    "files.csv": "tables.files.csv",
    "edges.edges": "graphs.edges.edges",
    "bundled.network": "graphs.bundled.network",
    "corpus_files.corpus": "corpora.files.corpus",
}

MOVED = {f"splitmerge_cli.data.{first}": f"splitmerge_cli.data.{now}" for first, now in _DATA.items()}
"""Where each target is today, by its first name."""
_FIRST = {now: first for first, now in MOVED.items()}


def current(target: Any) -> Any:
    """Where a target is today; what has not moved is returned as it is."""
    return MOVED.get(target, target) if isinstance(target, str) else target


def under_first_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a choice, its target under its first name."""
    return {key: _FIRST.get(value, value) if key == "_target_" else value for key, value in options.items()}
