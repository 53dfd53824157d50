"""Topics in parallel: tokens a second and held-out perplexity against seconds, of `partially_collapsed` with one thread
and with two, of collapsed Gibbs scans, and of tomotopy's hierarchical Dirichlet process with as many workers.

Every row is a process of its own. Corpora are generated: documents of 189 tokens on average, 100 topics of equal weight
over 13,649 words, eta = 0.1, alpha0 = 1, and 200 documents more that are held out. All programs begin with 100 random
topics, or ours with the sequential start; the hyper-parameters gamma = 1, alpha0 = 1, eta = 0.1 are fixed. An iteration
of ours is a step or scan and a refresh, one of tomotopy a sweep. Perplexity is over half of the tokens of each
held-out document given the other half (`completion`), of one state, by the same program for all: topics at their
posterior means, weights by their numbers of tokens, because tomotopy reports no others. Seconds count iterations and
of a sequential start, on the clock.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bench import tomotopy
from bench.scaling import resident
from splitmerge_cli.core.rng import Rng
from splitmerge_cli.data.dataset import Dataset
from splitmerge_cli.kinds.documents.generated import synthetic_documents
from splitmerge_cli.kinds.documents.hdp import HDP
from splitmerge_cli.kinds.documents.heldout import log_likelihoods
from splitmerge_cli.kinds.documents.partially_collapsed import PartiallyCollapsed
from splitmerge_cli.kinds.documents.stored import perplexity
from splitmerge_cli.samplers.gibbs import Gibbs
from splitmerge_cli.samplers.refresh import Refresh

LENGTH, TOPICS, WORDS, HELD_OUT = 189, 100, 13_649, 200
GAMMA, ALPHA0, ETA = 1.0, 1.0, 0.1
METHODS = (
    "partially_collapsed, 1 thread",
    "partially_collapsed, 2 threads",
    "collapsed, 1 thread",
    "partially_collapsed, 2 threads, sequential start",
    "collapsed, 1 thread, sequential start",
    "tomotopy, 1 worker",
    "tomotopy, 2 workers",
)
# tokens, seconds of iterations
CASES = ((1_000_000, 40.0), (10_000_000, 80.0))
QUICK = ((200_000, 5.0),)


def corpus(tokens: int) -> Dataset:
    """About so many tokens, and the held-out documents."""
    documents = tokens // LENGTH + HELD_OUT
    return synthetic_documents(
        documents,
        length=LENGTH,
        topics=TOPICS,
        words=WORDS,
        eta=ETA,
        alpha0=ALPHA0,
        seed=1,
        heldout=HELD_OUT / documents,
    )


class Ours:
    """A chain of ours.

    Parameters
    ----------
    data : Dataset
    sampler : {"partially_collapsed", "collapsed"}
    threads : int
    sequential : bool
        The start; else topics at random.
    """

    def __init__(self, data: Dataset, sampler: str, threads: int, sequential: bool) -> None:
        self.model, rng = HDP.from_data(data, gamma=GAMMA, alpha0=ALPHA0, eta=ETA), Rng(1)
        self.started = 0.0
        if sequential:
            began = perf_counter()
            self.model.start_sequentially(rng, TOPICS)
            self.started = perf_counter() - began
        else:
            self.model.set_labels(np.random.default_rng(1).integers(0, TOPICS, self.model.N))
        self.model.start_parameters(rng)
        kind = PartiallyCollapsed if sampler == "partially_collapsed" else Gibbs
        self.samplers = [kind(self.model, rng), Refresh(self.model, rng)]
        self.samplers[0].threads = threads
        self.N = self.model.N

    def iterate(self) -> None:
        """An iteration."""
        for sampler in self.samplers:
            sampler.step()

    def counts(self) -> csr_array:
        """Tokens by word and topic."""
        return self.model.word_topics()


class Theirs:
    """A chain of tomotopy's.

    Parameters
    ----------
    data : Dataset
    workers : int
    """

    def __init__(self, data: Dataset, workers: int) -> None:
        self.peer = tomotopy.Peer(data.values.tokens, WORDS, TOPICS, GAMMA, ALPHA0, ETA)
        self.workers, self.N = workers, len(data.values.tokens.words)
        self.peer.model.train(0)
        self.started = 0.0

    def iterate(self) -> None:
        """A sweep."""
        self.peer.model.train(1, workers=self.workers)

    def counts(self) -> csr_array:
        """Tokens by word and live topic, from the topics' distributions over words."""
        model = self.peer.model
        live = [k for k in range(model.k) if model.is_live_topic(k)]
        sizes = np.asarray(model.get_count_by_topics())[live]
        live_topics = [(k, n) for k, n in zip(live, sizes, strict=True) if n > 0]
        words = np.array([int(name) for name in model.used_vocabs])
        table = np.zeros((WORDS, len(live_topics)), dtype=np.int32)
        for column, (k, n) in enumerate(live_topics):
            share = np.asarray(model.get_topic_word_dist(k), dtype=float)
            table[words, column] = np.round(share * (n + ETA * len(words)) - ETA)
        return csr_array(table)


def score(data: Dataset, counts: csr_array) -> float:
    """Perplexity of the held-out documents."""
    sizes = np.asarray(counts.sum(axis=0)).ravel()
    weights = np.append(sizes, 1.0) / (sizes.sum() + 1.0)
    log_lik = log_likelihoods(
        counts, weights, ALPHA0, ETA, data.values.tokens, data.values.heldout, None, "completion", 20, 1
    )
    return perplexity(log_lik[:, 0], log_lik[:, 1])


def measure(method: str, tokens: int, limit: float) -> dict[str, Any]:
    """Perplexity after 1, 2, 4, ... iterations and at the end, in this process."""
    name, number = method.replace(",", "").split()[:2]
    data = corpus(tokens)
    before = resident()
    make: Callable[[], Any] = lambda: Theirs(data, int(number))  # noqa: E731
    if name != "tomotopy":
        make = lambda: Ours(data, name, int(number), "sequential" in method)  # noqa: E731
    chain = make()
    spent, done, last = chain.started, 0, 0.0
    curve = [(spent, score(data, chain.counts()))] if spent else []
    while spent < limit:
        began = perf_counter()
        chain.iterate()
        last = perf_counter() - began
        spent += last
        done += 1
        if done & (done - 1) == 0 or spent >= limit:
            curve.append((spent, score(data, chain.counts())))
    return {
        "N": chain.N,
        "iterations": done,
        "tokens_a_second": chain.N * done / (spent - chain.started),
        "curve": curve,
        "topics": chain.counts().shape[1],
        "bytes_a_token": (resident() - before) / chain.N,
    }


def main(quick: bool) -> list[dict[str, Any]]:
    """Measure and print all rows."""
    rows = []
    methods = [m for m in METHODS if tomotopy.module() is not None or not m.startswith("tomotopy")]
    if len(methods) < len(METHODS):
        print("tomotopy is not installed (pip install tomotopy): its rows are left out\n")
    print(f"{'tokens':>11}  {'method':49}{'Mtok/s':>7}{'steps':>7}{'topics':>7}{'B/token':>8}  seconds: perplexity")
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    for tokens, limit in QUICK if quick else CASES:
        for method in methods:
            command = [sys.executable, "-m", "bench.corpora", method, str(tokens), str(limit)]
            out = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
            each = json.loads(out.splitlines()[-1])
            rows.append({"method": method, **each})
            curve = "  ".join(f"{seconds:.1f}: {value:.0f}" for seconds, value in each["curve"])
            print(
                f"{each['N']:11,}  {method:49}{1e-6 * each['tokens_a_second']:7.2f}{each['iterations']:7}"
                f"{each['topics']:7}{each['bytes_a_token']:8.1f}  {curve}",
                flush=True,
            )
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
