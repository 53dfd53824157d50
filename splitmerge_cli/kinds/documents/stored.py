"""What a stored run of documents has beside what every run has: ``documents.csv``, and entries of the summary."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, FiniteFloat

from splitmerge_cli.runs.store.files import report_damage
from splitmerge_cli.runs.store.read import Run, read_csv, with_shares
from splitmerge_cli.runs.store.summary import Said, Size, Summary, Whole

if TYPE_CHECKING:
    import pandas as pd

DOCUMENTS = "documents.csv"
COLUMNS = ("row", "name", "tokens", "topic", "proportion", "low", "high", "second", "second_proportion")
"""Columns of ``documents.csv``: `row` counts from 1, `name` where the documents have names; in runs made earlier the
first is `document`, from 0."""


def documents_of(run: Run) -> "pd.DataFrame":
    """``documents.csv`` of a finished run: one row per document, with its largest topics; see docs/run-files.md."""
    file = run.file(DOCUMENTS)
    with report_damage(file):
        frame = read_csv(file, ["name"])
        if "document" in frame:  # of a run made earlier
            frame = frame.assign(document=frame["document"] + 1).rename(columns={"document": "row"})
        if list(frame) != [column for column in COLUMNS if column != "name" or column in frame]:
            raise ValueError(f"columns {list(frame)}; expected {list(COLUMNS)}")
        frame = with_shares(frame, "proportion", "low", "high", "second_proportion")
        if frame["row"].tolist() != list(range(1, len(frame) + 1)):
            raise ValueError("expected a row for every document")
        return frame.astype({"topic": "Int64", "second": "Int64"})


class Topic(Said):
    """A topic of the best chain."""

    topic: Whole
    share: FiniteFloat
    coherence: FiniteFloat | None
    chains: Whole | None = None
    """Chains that have it, this one among them."""
    top_words: list[str]


class TopicsOf(Said):
    """Where the topics come from."""

    chain: Whole


class Documents(Said):
    """Sizes of a corpus."""

    documents: Size
    words: Size
    tokens: Size


class Hyperparameters(Said):
    """Hyper-parameters of topics."""

    gamma: FiniteFloat
    alpha0: FiniteFloat
    eta: Annotated[FiniteFloat, Field(gt=0)]


class Predicted(Said):
    """How well held-out documents were predicted."""

    method: str
    tokens: Whole
    averaged: list[FiniteFloat]
    all_chains: FiniteFloat


class SummaryOfTopics(Summary):
    """Fields of the summary of topics."""

    documents: Documents
    topics_of: TopicsOf
    topics: Annotated[list[Topic], Field(min_length=1)]
    hyperparameters: Hyperparameters
    true_topics: Whole | None
    perplexity: Predicted | None = None
