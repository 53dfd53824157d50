"""Topics and documents as tables: the top words of a run, how far the topics of several runs agree, and the documents
of a run by their topics, as ``documents.csv`` has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from scipy.sparse import csr_array

from splitmerge_cli import overrides, terminal
from splitmerge_cli.analysis.pages import html
from splitmerge_cli.analysis.pages.html import short_number
from splitmerge_cli.diagnostics import agreement, cluster_table
from splitmerge_cli.kinds import documents as kind
from splitmerge_cli.kinds.documents import corpus, topics
from splitmerge_cli.kinds.documents.stored import DOCUMENTS, PROTOTYPES, documents_of
from splitmerge_cli.runs.answers import Answers
from splitmerge_cli.runs.judgement import judgement_of
from splitmerge_cli.runs.store.read import Run

SHOWN = 12
"""Topics that are listed at most, the largest."""
LETTERS = 40
"""Letters of a word that are shown."""


def overview(summary: Mapping[str, Any]) -> Table:
    """The largest topics of a run's best chain, given its ``summary.json``."""
    facts = summary["topics"]
    several = _chains(summary) > 1
    out = Table()
    for name in ("topic", "share", "coherence", *(["chains"] if several else [])):
        out.add_column(name, justify="right")
    out.add_column("most relevant words", overflow="fold")
    for topic in facts[:SHOWN]:
        coherence = "–" if topic["coherence"] is None else f"{topic['coherence']:.2f}"
        chains = [str(topic["chains"])] if several else []
        # brackets of words are no markup
        words = escape(" ".join(topics.shorten_word(word, LETTERS) for word in topic["top_words"]))
        out.add_row(str(topic["topic"]), f"{topic['share']:.1%}", coherence, *chains, words)
    if more := facts[SHOWN:]:
        share = sum(topic["share"] for topic in more)
        out.add_row("", f"{share:.1%}", "", *([""] if several else []), f"in {len(more)} more")
    return out


def _chains(summary: Mapping[str, Any]) -> int:
    """Chains whose topics are compared; 0 where none were."""
    return summary.get("chains", 0) if all(topic.get("chains") for topic in summary["topics"]) else 0


def agreement_line(summary: Mapping[str, Any]) -> str | None:
    """How many large topics all chains have, in a line; None with one chain."""
    if (chains := _chains(summary)) < 2:
        return None
    large = [topic for topic in summary["topics"] if topic["share"] >= topics.LARGE]
    shared = sum(topic["chains"] == chains for topic in large)
    tokens = sum(topic["share"] for topic in summary["topics"] if topic["chains"] == chains)
    return (
        f"{shared} of {len(large)} topics with {topics.LARGE:.0%} of the tokens or more are in all {chains} chains "
        f"(similarity of their words at least {topics.MATCHED}); topics in all chains have {tokens:.0%} of the tokens"
    )


def headline(summary: Mapping[str, Any]) -> str:
    """How many topics a run has, and where."""
    chain = summary["topics_of"]["chain"]
    K = len(summary["topics"])
    return f"{K} topic{'s' * (K > 1)} in the last state of chain {chain}, the one of highest log joint"


def perplexity_line(summary: Mapping[str, Any]) -> str | None:
    """How well held-out documents are predicted, in a line; None if it was not evaluated."""
    if "perplexity" not in summary:
        return None
    facts = summary["perplexity"]
    if facts is None:
        return (
            "held-out perplexity: no chain reached the iteration perplexity.every; expected a larger budget or a "
            "smaller perplexity.every"
        )
    last = ", ".join(f"{value:.4g}" for value in facts["averaged"])
    return (
        f"held-out perplexity ({facts['method']}, {facts['tokens']:,} tokens): {facts['all_chains']:.4g}, averaged "
        f"over the states of the second half of all chains (each: {last})"
    )


@dataclass(frozen=True)
class RunTopics:
    """The topics of the best chain of a run, as its files hold them."""

    name: str
    words: pd.DataFrame
    """Columns topic, word, count of ``topic_words.parquet``."""
    tokens: pd.DataFrame
    """``tokens.parquet``."""
    eta: float
    V: int
    """Words of the vocabulary."""


def between_runs(runs: Sequence[RunTopics]) -> Table:
    """How far the topics of every two runs agree, whatever their numbers.

    Topics are matched one to one by the Hellinger distance of their words' posterior means (see
    `splitmerge_cli.kinds.documents.topics.match`), topics of different corpora over the words of both. If the corpora
    are the same, there is also the normalised mutual information of the topics of their tokens.
    """
    out = Table(title="topics of runs, matched by Hellinger distance", title_justify="left")
    for name in ("run", "and run"):
        out.add_column(name, overflow="fold")
    for name in ("similarity", "matched", "of large topics", "NMI of tokens"):
        out.add_column(name, justify="right")
    for a, b in combinations(runs, 2):
        vocabulary = pd.Index(pd.unique(pd.concat([run.words["word"].astype(str) for run in (a, b)])))
        V = max(a.V, b.V, len(vocabulary))
        own_topics, other = (topics.from_words(run.words, run.eta, vocabulary, V) for run in (a, b))
        matched = topics.match(own_topics, other)
        sizes = f"{matched.large[0]} and {matched.large[1]}"
        # the tokens of both runs have to be the same
        same = np.array_equal(a.tokens["document"], b.tokens["document"])
        same = same and np.array_equal(a.tokens["word"].astype(str), b.tokens["word"].astype(str))
        nmi = f"{agreement.nmi(a.tokens['topic'], b.tokens['topic']):.3f}" if same else "–"
        names = Text(a.name), Text(b.name)
        out.add_row(*names, f"{matched.similarity:.3f}", str(matched.matched), sizes, nmi)
    return out


class TopicAnswers(Answers):
    """The answers of documents, whose clusters are topics."""

    describes_clusters = False
    cannot_show: ClassVar = {
        kind.ONE_DOCUMENT: "one document cannot show topics",
        kind.NO_TWO_WORDS: "documents of one word cannot show topics",
        kind.EQUAL_DOCUMENTS: "equal documents cannot show topics",
    }
    longer = "topics that all chains have can be used; longer chains may share more:"
    no_levels = "this run has topics of documents; expected clusters of items"

    @staticmethod
    def labels(run: Run) -> NDArray[np.int64]:
        # of long documents they are in a table alone
        if (labels := run.summary["point_estimate"].get("labels")) is None:
            labels = run.table(kind.TOKENS, ["topic"])["topic"] - run.first_cluster
        return np.asarray(labels, dtype=np.int64)

    @staticmethod
    def more_moves(moves: int) -> None:
        """Scans move tokens better."""

    @staticmethod
    def merging_lines(run: Run) -> Iterator[str]:
        return iter(())

    @staticmethod
    def read_otherwise(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        if data.get("stop_words") != "none":
            return None
        return "leave out the words that most documents have", {"data.stop_words": "auto"}

    @staticmethod
    def comparable(run: Run) -> "RunTopics":
        """The topics of the best chain."""
        words, summary = run.table(kind.TOPIC_WORDS, ["chain", "topic", "word", "count"]), run.summary
        words = words[words["chain"] == summary["topics_of"]["chain"]]
        eta, V = summary["hyperparameters"]["eta"], summary["documents"]["words"]
        return RunTopics(str(run.path), words, run.table(kind.TOKENS, ["document", "word", "topic"]), eta, V)

    @staticmethod
    def compare(found: Sequence["RunTopics"]) -> Table:
        return between_runs(found)

    @staticmethod
    def say(run: Run) -> None:
        """Print the top words of the topics, and how well held-out documents were predicted."""
        shown = terminal.console(160, stderr=True)
        shown.print(headline(run.summary), highlight=False)
        shown.print(overview(run.summary))
        for line in (agreement_line(run.summary), perplexity_line(run.summary)):
            if line is not None:
                shown.print(line, highlight=False)

    @staticmethod
    def why_no_clusters(run: Run) -> str:
        path = overrides.shell_word(str(run.path))
        return (
            f"{run.path}: topics of documents; expected clusters (smcmc diagnose {path} lists the words of topics, "
            f"smcmc plot {path} draws them)"
        )

    @staticmethod
    def headline(run: Run) -> str:
        judged = judgement_of(run)
        doubt = f": the chains have not converged ({judged.description})" if judged.converged is False else ""
        return headline(run.summary) + doubt

    @staticmethod
    def section(run: Run) -> html.Markup:
        shown: dict[int, list[str]] = {}
        if (run.path / DOCUMENTS).is_file():
            # the documents whose largest topic it is with the largest shares: names, or numbers of the rows
            frame = documents_of(run).dropna(subset="topic")
            frame = frame.sort_values(["proportion", "tokens"], ascending=False, kind="stable")
            label = frame["name"] if "name" in frame else frame["row"].astype(str)
            shown = {int(topic): names.head(PROTOTYPES).to_list() for topic, names in label.groupby(frame["topic"])}
        rows = [
            [topic["topic"], f"{topic['share']:.1%}", ", ".join(topic["top_words"]), short_number(topic["coherence"])]
            + ([", ".join(shown.get(topic["topic"], ["–"]))] if shown else [])
            for topic in run.summary["topics"]
        ]
        chain = run.summary["topics_of"]["chain"]
        caption = f"Topics of the last state of chain {chain}, the one of highest log joint density; "
        caption += "coherence: from -1 to 1."
        caption += " Documents: the ones with the largest share of the topic." if shown else ""
        names = ["topic", "share", "words", "coherence", *["documents"] * bool(shown)]
        return html.table(names, rows, caption, [0, 1, 3])


LEVEL = 0.95
"""Level of the intervals."""
LEAST_STATES = 10
"""States that an interval needs at least."""


def match_labels(labels: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.int32]:
    """Label a state by the topics of a reference, int32 ``[N]`` both: each topic becomes the one that holds most of its
    tokens."""
    shared = topics.counts(labels, reference, (int(labels.max()) + 1, int(reference.max()) + 1))
    return np.asarray(shared.argmax(axis=1), dtype=np.int32).ravel()[labels]


def documents(
    reference: NDArray[np.int32],
    states: Sequence[NDArray[np.int32]],
    tokens: corpus.Tokens,
    names: Sequence[str] | None,
) -> pd.DataFrame:
    """A row for each document: row (from 1), name (where there are names), tokens, topic, proportion, low, high,
    second, second_proportion.

    A proportion is a share of the tokens of the document: the mean over the recorded states, int32 ``[N]`` each,
    numbered in any way; of the reference alone, the state whose topics are used, where there are none. topic and second
    describe the largest. low and high: quantiles of the states, of level 0.95; NaN with fewer than 10.
    Empty documents have no topic.
    """
    J, K = tokens.J, int(reference.max()) + 1
    lengths, document = tokens.lengths, tokens.documents()
    seen = [match_labels(labels, reference) for labels in states]
    total = sum(topics.counts(document, state_topics, (J, K)) for state_topics in seen or [reference])
    held = csr_array(total)
    # document by document the largest first, among equals the smaller number
    order = np.lexsort((held.indices, -held.data, topics.rows_of(held)))
    largest, proportion = np.full((2, J), -1), np.full((2, J), np.nan)
    for rank in range(2):
        has = np.diff(held.indptr) > rank
        entry = order[held.indptr[:-1][has] + rank]
        largest[rank, has] = held.indices[entry]
        proportion[rank, has] = held.data[entry] / (lengths[has] * max(len(seen), 1))
    low, high = np.full(J, np.nan), np.full(J, np.nan)
    if len(seen) >= LEAST_STATES:
        first = largest[0][document]
        counts = np.stack([np.bincount(document[state_topics == first], minlength=J) for state_topics in seen])
        some = lengths > 0
        ends = np.quantile(counts[:, some] / lengths[some], [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
        low[some], high[some] = ends
    topic, second = (cluster_table.number_clusters(pd.Series(row, dtype="Int64").mask(row < 0)) for row in largest)
    columns = {"row": np.arange(1, J + 1)} | ({} if names is None else {"name": list(names)}) | {"tokens": lengths}
    columns |= {"topic": topic, "proportion": proportion[0], "low": low, "high": high}
    return pd.DataFrame(columns | {"second": second, "second_proportion": proportion[1]})
