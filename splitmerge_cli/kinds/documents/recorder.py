"""Topics of documents: the sizes of all topics, held-out documents, tables of words and documents.

Quantities of documents, which posterior predictive checks compare with replications.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from splitmerge_cli.config import ConfigError, show
from splitmerge_cli.core.chain import Chain
from splitmerge_cli.data.arrow import numbers_of
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.data.opening import memory
from splitmerge_cli.diagnostics.summary import Row
from splitmerge_cli.extras import pandas as pd
from splitmerge_cli.kinds import documents as kind
from splitmerge_cli.kinds.documents import heldout, stored, topic_report, topics
from splitmerge_cli.kinds.documents.corpus import TOKEN_BYTES
from splitmerge_cli.runs.answers import second_half_partitions
from splitmerge_cli.runs.checks import Effect, Found, Labels, Quantities
from splitmerge_cli.runs.recorders import MOST_LABELS, NEVER, Recorder, Spacing, Streamed, best, spacing_of
from splitmerge_cli.runs.store import schema
from splitmerge_cli.runs.store.store import ChainStore, RunStore

LISTED = 100_000
"""Tokens of documents beyond which their topics are no longer listed as text; so are documents."""
ESTIMATED = 5_000
"""Tokens of documents beyond which no partition of them is estimated: hardly two are together in every state, so
that it takes minutes."""
RECORDED = 50
"""Partitions that a chain on so many tokens records by default: predictions of new documents average over them."""
MOST_TOPICS = 100
"""Topics that a row of their sizes is taken to have where the disk is looked at: their number is known at the end."""


class TopicRecorder(Recorder):
    """Records of topics of documents."""

    sizes, describes = True, False

    @property
    def streamed_tables(self) -> list[Streamed]:
        every, held = self.spec.perplexity.every, self.dataset.values.heldout
        tables = [*super().streamed_tables, Streamed(kind.TOPIC_SIZES, MOST_TOPICS, self.spec.thin, "thin")]
        if self.evaluates:
            documents = 0 if held is None else held.tokens.J
            tables.append(Streamed(kind.HELDOUT, documents, every, "perplexity.every", is_kept=False))
        return tables

    @property
    def spacing(self) -> Spacing:
        """Which partitions are recorded: fewer where none is estimated of them, none if one from each chain would be
        more than may be recorded."""
        if self.spec.trace.partitions is None and self.not_estimated:
            rows = min(RECORDED, MOST_LABELS // (self.dataset.N * self.spec.chains))
            return spacing_of(self.spec, self.dataset.N, rows) if rows > 1 else Spacing(0)
        return super().spacing

    @property
    def is_listed(self) -> bool:
        return self.dataset.N <= LISTED

    @property
    def not_estimated(self) -> str | None:
        return f"not estimated: more than {ESTIMATED:,} tokens" if self.dataset.N > ESTIMATED else None

    def check(self, together: int) -> None:
        """Check that held-out documents exist if they are to be evaluated, and that so many chains fit into memory."""
        every, held, N = self.spec.perplexity.every, self.dataset.values.heldout, self.dataset.N
        if every and (held is None or held.observed.all()):
            raise ConfigError(
                f"perplexity.every={every}: data={self.spec.data.name} has no held-out tokens; expected data.heldout "
                "above 0, such as data.heldout=0.2"
            )
        if N * together * TOKEN_BYTES > memory():
            raise ConfigError(
                f"workers={show(self.spec.workers)}: {together} chains at the same time, of {N} tokens each, need more "
                "memory than this machine has; expected fewer, such as workers=1, or fewer documents (N)"
            )

    @property
    def evaluates(self) -> bool:
        return bool(self.spec.perplexity.every > 0)

    def until_evaluation(self, iteration: int) -> int:
        every = self.spec.perplexity.every
        return every - iteration % every if every else NEVER

    def evaluate(self, chain: Chain, store: ChainStore) -> None:
        """Record how likely the held-out documents are under the present state, where it is one to evaluate."""
        settings, corpus = self.spec.perplexity, self.dataset.values
        model: Any = chain.model
        if not settings.every or chain.iteration % settings.every:
            return
        seed = [self.spec.seed, store.chain, chain.iteration]
        weighted = model.word_topics(), model.weights, model.alpha0, model.eta
        state = corpus.tokens, corpus.heldout, model.labels
        values = heldout.log_likelihoods(*weighted, *state, settings.method, settings.particles, seed)
        _append(store, chain.iteration, chain.seconds, int(values[:, 1].sum()), values[:, 0])

    def evaluations(self, chain: ChainStore) -> dict[str, Any] | None:
        if not self.evaluates:
            return None
        rows = chain.table(kind.HELDOUT, self.spec.chains)
        return {name: numbers_of(rows[name]) for name in ("iteration", "seconds", "tokens", "log_lik")}

    def take_up(self, chain: ChainStore, evaluated: Mapping[str, Any]) -> None:
        each = (evaluated[name].tolist() for name in ("iteration", "seconds", "tokens"))
        log_lik = np.asarray(evaluated["log_lik"]).reshape(len(evaluated["iteration"]), -1)
        for row in zip(*each, log_lik, strict=True):
            _append(chain, *row)

    def outcome(self, chain: Chain) -> dict[str, Any]:
        """The part of the present topics that is not in the labels; weights in the order of `last_labels`."""
        model: Any = chain.model
        number = np.empty(model.K, dtype=np.int64)
        number[chain.last_labels] = model.labels
        weights = np.append(model.weights[number], model.weights[-1])
        return {"topics": {"weights": weights, "alpha0": model.alpha0, "gamma": model.gamma, "eta": model.eta}}

    def assemble(
        self, store: RunStore, chains: Sequence[ChainStore], outcomes: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[str, Any], list[Row]]:
        """Write the tables of the topics; what the summary and the diagnosis say of them."""
        corpus, words = self.dataset.values, self.dataset.vocabulary or []
        last = [(outcome["last_labels"], outcome["topics"]) for outcome in outcomes]
        states = [
            topics.ChainTopics(corpus, words, labels, own["weights"], own["alpha0"], own["eta"]) for labels, own in last
        ]
        chain = best(outcomes, "best_log_joint")
        matches = topics.match_chains(states, chain)
        store.write_streamed(kind.TOPIC_SIZES, chains, width=64)
        for table, of_chain in [
            (kind.TOPICS, topics.topics_table),
            (kind.TOPIC_WORDS, topics.words_table),
            (kind.TOPIC_DOCUMENTS, topics.documents_table),
        ]:
            store.write_parts(table, (of_chain(c, state) for c, state in enumerate(states)))
        store.write_parts(kind.TOKENS, [topics.tokens_table(states[chain])])
        if corpus.tokens.J <= LISTED:
            late = second_half_partitions(store.path, self.dataset.N, [outcome["iterations"] for outcome in outcomes])
            # topics differ between chains, so an interval describes one chain
            recorded = list(late.get(chain, ()))
            frame = topic_report.documents(states[chain].labels, recorded, corpus.tokens, corpus.documents)
            store.keep_text(stored.DOCUMENTS, frame.round(6).to_csv(index=False, lineterminator="\n"))
        fields: dict[str, Any] = {
            "topics_of": {"criterion": "last state of the chain of highest log joint density", "chain": chain},
            "topics": states[chain].overview(list(matches.values())),
            "hyperparameters": {name: outcomes[chain]["topics"][name] for name in ("gamma", "alpha0", "eta")},
        }
        truth = topics.true_topics(self.dataset)
        fields["true_topics"] = None if truth is None else int((truth.shares > 0).sum())
        if self.evaluates:
            fields["perplexity"] = self._assemble_perplexity(store, chains)
        return fields, topics.agreement_rows(states, chain, matches, truth)

    def _assemble_perplexity(self, store: RunStore, chains: Sequence[ChainStore]) -> dict[str, Any] | None:
        """Write how well held-out documents were predicted; what the summary says of it, None if nothing was
        evaluated (a budget may end before)."""
        settings, frames, means = self.spec.perplexity, [], []
        for chain in chains:
            rows = pa.Table.from_batches(chain.read(kind.HELDOUT), schema.recorded_columns(kind.HELDOUT))
            if rows.num_rows:
                iterations, tokens = rows["iteration"].to_numpy(), rows["tokens"].to_numpy()
                log_lik = rows["log_lik"].combine_chunks().flatten().to_numpy().reshape(len(iterations), -1)
                frame, mean = stored.evaluations(iterations, tokens, log_lik)
                frames.append(
                    frame.assign(chain=chain.chain, seconds=rows["seconds"].to_numpy(), method=settings.method)
                )
                means.append(mean)
        columns = schema.recorded_columns(kind.PERPLEXITY)
        whole = pd.concat(frames) if frames else pd.DataFrame(columns=columns.names)
        store.write_parts(kind.PERPLEXITY, [pa.Table.from_pandas(whole, schema=columns, preserve_index=False)])
        if not frames:
            return None
        last = pd.concat([frame.iloc[[-1]] for frame in frames])
        return {
            "method": settings.method,
            "particles": settings.particles,
            "tokens": int(last["tokens"].iloc[0]),
            **{name: last[name].tolist() for name in ("chain", "iteration", "perplexity", "averaged")},
            "all_chains": stored.pooled_perplexity(means, int(last["tokens"].iloc[0])),
        }


def _append(store: ChainStore, iteration: int, seconds: float, tokens: int, log_lik: NDArray[np.float64]) -> None:
    """Record the log likelihoods ``[D]`` of the held-out documents under a state."""
    row = {"iteration": [iteration], "seconds": [seconds], "tokens": [tokens], "log_lik": log_lik[None, :]}
    store.append_to(kind.HELDOUT, row)


MOST_TOKENS = 100_000
"""Tokens of documents that are drawn; in a larger corpus some documents are drawn, evenly spaced."""
REPEATS = "tokens per different word"
BURSTS = "mutual information within topics (nats)"


class DocumentQuantities(Quantities):
    """Words of the tokens of documents, int64 ``[N]``, from 0 to V - 1."""

    effects: ClassVar = {REPEATS: Effect(0.05, is_share=True, is_more=True), BURSTS: Effect(0.05, is_more=True)}

    def __init__(self, dataset: Dataset, cells: int | None = None) -> None:
        corpus = dataset.values
        self.documents, self.V = np.asarray(corpus.tokens.documents(), dtype=np.int64), int(corpus.V)
        self.unchecked = ["the order of the words in a document: the model does not read it"]
        if (step := -(-dataset.N // (cells or MOST_TOKENS))) > 1:
            self.rows = np.flatnonzero(self.documents % step == 0)
            self.documents = self.documents[self.rows]
            self.unchecked.append(f"all documents but one of {step}, evenly spaced")
        self.values = self.take(corpus)

    @staticmethod
    def count_work(dataset: Dataset, cells: int) -> int:
        """Tokens that are drawn, and all, which are sorted by topic."""
        return 6 * min(dataset.N, cells) + dataset.N

    def take(self, replication: Any) -> NDArray[np.int64]:
        """The words."""
        words = np.asarray(replication.tokens.words, dtype=np.int64)
        return words if self.rows is None else words[self.rows]

    def measure(self, words: NDArray[np.int64], labels: Labels) -> Found:
        """Words that come again in a document; words of a topic that come in bursts."""
        _, pairs = np.unique(self.documents * self.V + words, return_counts=True)

        def entropy(*of: NDArray[np.int64]) -> float:
            """Sum of n log n over what tokens have in common."""
            key = labels.copy()
            for each in of:
                key = key * (int(each.max()) + 1) + each
            _, n = np.unique(key, return_counts=True)
            return float((n * np.log(n)).sum())

        # mean over tokens of the mutual information of word and document within the token's topic (Mimno and Blei 2011)
        total = entropy(words, self.documents) + entropy() - entropy(words) - entropy(self.documents)
        return {
            ("documents", REPEATS): float(pairs.sum() / len(pairs)),
            ("documents and words", BURSTS): total / len(words),
        }
