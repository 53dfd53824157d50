"""Topics of real documents compared with other programs: how well each predicts the second half of a document that it
did not see from the first.

Every program gives topics, phi, and what a document's mixture of them is expected to be, Dirichlet(a). One estimator
scores them all: the tokens of a held-out document are shuffled, the topics of the first half are inferred by CVB0 with
phi and a as they are (Asuncion et al. 2009), and the log of the predictive probability of each token of the second half
is averaged over tokens. Of several states the probabilities are averaged.
"""

import importlib
import inspect
import pkgutil
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

import smcmc
from bench import tomotopy
from splitmerge_cli.kinds.documents.corpus import Tokens, tokens_of
from splitmerge_cli.kinds.documents.stored import topic_states
from splitmerge_cli.runs.draws import states_of
from splitmerge_cli.runs.initial import specification_of

SEED = 0
HELD = 0.2
ETA = 0.1
STATES = 20
"""Draws of one program that are averaged."""
INITIAL_TOPICS = (2, 50)
"""From which tomotopy starts; 2 is its default."""
TOPICS = (10, 20, 50, 100)
"""Hyper-parameters that the latent Dirichlet allocation is given."""
LEAST_DOCUMENTS = 4
"""Documents that a word of the vocabulary has at least."""
CVB_SCANS = 50

State = tuple[NDArray[np.float64], NDArray[np.float64]]
"""phi ``[K, V]``, a ``[K]``."""


def docstrings() -> list[str]:
    """Return the documentation of the standard library's modules, public functions and classes."""
    by_text: dict[str, None] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules() if info.name in sys.stdlib_module_names):
        if module.startswith("_") or module in ("this", "antigravity", "idlelib"):
            continue
        try:
            loaded = importlib.import_module(module)
        except Exception:
            continue
        texts = [inspect.getdoc(loaded)]
        for name, member in sorted(vars(loaded).items()):
            if not name.startswith("_") and (inspect.isclass(member) or inspect.isroutine(member)):
                texts.append(inspect.getdoc(member))
        by_text |= dict.fromkeys(text for text in texts if text and len(re.findall(r"[a-z]{3,}", text)) >= 30)
    return list(by_text)


def corpora() -> Iterator[tuple[str, csr_array, list[str]]]:
    """Name, counts ``[documents, words]``, words."""
    vectorizer = CountVectorizer(
        stop_words="english", min_df=LEAST_DOCUMENTS, max_df=0.5, token_pattern=r"(?u)\b[a-z]{3,}\b", dtype=np.int32
    )
    yield "docstrings", csr_array(vectorizer.fit_transform(docstrings())), list(vectorizer.get_feature_names_out())
    from splitmerge_cli.kinds.documents.published import nips_abstracts

    try:
        abstracts = nips_abstracts(stop_words="english", min_documents=10, longest=400)
    except ValueError as error:
        print(f"nips_abstracts is left out: {error}", file=sys.stderr)
        return
    tokens = abstracts.values.tokens
    ones = np.ones(len(tokens.words), dtype=np.int32)
    counts = csr_array((ones, (tokens.documents(), tokens.words)), shape=(tokens.J, abstracts.values.V))
    counts.sum_duplicates()
    yield "nips_abstracts", counts, list(abstracts.vocabulary or ())


@dataclass(frozen=True)
class Held:
    """Held-out documents: for each the words that its mixture is estimated from, and those that are predicted."""

    seen: list[NDArray[np.int32]]
    predicted: list[NDArray[np.int32]]

    @classmethod
    def split(cls, tokens: Tokens) -> "Held":
        rng = np.random.default_rng(SEED)
        each = [rng.permutation(words) for words in np.split(tokens.words, tokens.starts[1:-1]) if len(words) > 1]
        return cls([words[: -(-len(words) // 2)] for words in each], [words[-(-len(words) // 2) :] for words in each])


def log_completion(states: list[State], held: Held) -> NDArray[np.float64]:
    """Log predictive probability of the second half of each document, float64 ``[D]``."""
    log_lik = []
    for seen, predicted in zip(held.seen, held.predicted, strict=True):
        p = np.zeros(len(predicted))
        for phi, a in states:
            like = phi[:, seen].T
            r = like * a
            r /= r.sum(axis=1, keepdims=True)
            for _ in range(CVB_SCANS):
                r = like * (a + r.sum(axis=0) - r)
                r /= r.sum(axis=1, keepdims=True)
            theta = (a + r.sum(axis=0)) / (a.sum() + len(seen))
            p += theta @ phi[:, predicted]
        log_lik.append(np.log(p / len(states)).sum())
    return np.array(log_lik)


def unigrams(counts: csr_array) -> list[State]:
    """One topic."""
    words = np.asarray(counts.sum(axis=0)).ravel() + ETA
    return [(words[None, :] / words.sum(), np.ones(1))]


def sample_states(
    counts: csr_array, iterations: int | None, sampler: str | None = "smag", chains: int = 4
) -> tuple[list[State], str]:
    """This program: draws of the chains, evenly spread."""
    posterior = smcmc.sample(
        {"name": "hdp", "eta": ETA},
        counts,
        sampler,
        iterations=iterations,
        chains=chains,
        seed=SEED,
        progress="none",
    )
    draws = states_of(posterior.run, STATES)
    states = []
    for state in topic_states(specification_of(posterior.run).model, posterior.dataset, draws, SEED):
        phi = state.word_topics.T.toarray() + ETA
        phi = np.vstack([phi / phi.sum(axis=1, keepdims=True), np.full(phi.shape[1], 1 / phi.shape[1])])
        states.append((phi, state.alpha0 * state.weights))
    return states, "" if posterior.converged else "not converged"


def of_tomotopy(counts: csr_array, iterations: int, K0: int) -> tuple[list[State], str]:
    """tomotopy's HDP, from K0 topics on, its concentrations resampled; a topic's weight is its share of the tokens,
    which it gives, in place of its share of the tables, which it does not."""
    tp = tomotopy.module()
    V = counts.shape[1]
    model = tp.HDPModel(tw=tp.TermWeight.ONE, min_cf=0, initial_k=K0, alpha=1.0, eta=ETA, gamma=1.0, seed=SEED + 1)
    tokens = tokens_of(counts)
    for words in np.split(tokens.words, tokens.starts[1:-1]):
        if len(words):
            model.add_doc([str(w) for w in words])
    model.train(iterations // 2, workers=1)
    states: list[State] = []
    column = np.array([int(word) for word in model.used_vocabs])
    for _ in range(STATES):
        model.train(max(1, iterations // 2 // STATES), workers=1)
        live = [k for k in range(model.k) if model.is_live_topic(k)]
        phi = np.full((len(live) + 1, V), 1 / V)
        for row, k in enumerate(live):
            words = np.zeros(V)
            words[column] = model.get_topic_word_dist(k, normalize=True)
            phi[row] = words / words.sum()
        share = np.array([model.get_count_by_topics()[k] for k in live], dtype=float)
        new = model.gamma / (model.num_tables + model.gamma)
        states.append((phi, model.alpha * np.append((1 - new) * share / share.sum(), new)))
    return states, ""


def allocation(counts: csr_array, K: int) -> tuple[list[State], str]:
    """scikit-learn's variational latent Dirichlet allocation, given the number of topics."""
    model = LatentDirichletAllocation(
        K, topic_word_prior=ETA, max_iter=100, learning_method="batch", random_state=SEED
    ).fit(counts)
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return [(phi, np.full(K, model.doc_topic_prior_))], "given the number"


def main(quick: bool) -> list[dict[str, Any]]:
    """Print the table as Markdown; `quick`: fewer iterations."""
    iterations = 50 if quick else 1000
    rows = []
    print("| corpus | method | log predictive per token | behind the best | topics | CPU seconds | remark |")
    print("|---|---|---|---|---|---|---|")
    for name, counts, words in corpora():
        chosen = np.random.default_rng(SEED).permutation(counts.shape[0])
        cut = round(HELD * len(chosen))
        train, held = counts[np.sort(chosen[cut:])], Held.split(tokens_of(counts[np.sort(chosen[:cut])]))
        print(f"{name}: {counts.shape[0]} documents, {counts.sum()} tokens, {len(words)} words", file=sys.stderr)
        methods: dict[str, Any] = {
            "unigrams": lambda x: (unigrams(x), ""),
            "smcmc hdp": lambda x: sample_states(x, iterations),
        }
        if tomotopy.module() is None:
            print("tomotopy is not installed: pip install tomotopy", file=sys.stderr)
        else:
            for K0 in INITIAL_TOPICS:
                methods[f"tomotopy HDP, initial_k={K0}"] = lambda x, K0=K0: of_tomotopy(x, iterations, K0)
        for K in TOPICS:
            methods[f"LatentDirichletAllocation({K})"] = lambda x, K=K: allocation(x, K)
        tokens = np.array([len(each) for each in held.predicted])
        scores, notes = {}, {}
        for called, fit in methods.items():
            began = time.process_time()
            states, remark = fit(train)
            seconds = time.process_time() - began
            for shown, some in [(called, states)] + [(f"{called}, one state", states[-1:])] * (len(states) > 1):
                topics = np.mean([max(1, len(a) - (len(states) > 1)) for _, a in some])
                notes[shown] = round(float(topics)), seconds, remark
                scores[shown] = log_completion(some, held)
        best = max(scores.values(), key=np.sum)
        for called, score in scores.items():
            K, seconds, remark = notes[called]
            row = {"set": name, "method": called, "topics": K, "seconds": seconds, "remark": remark}
            row |= {"log_predictive": score.sum() / tokens.sum(), "behind": (best - score).sum() / tokens.sum()}
            row["error"] = error(best - score, tokens)
            rows.append(row)
            behind = "-" if score is best else f"{row['behind']:.3f} ± {row['error']:.3f}"
            cells = [name, called, f"{row['log_predictive']:.3f}", behind, str(K), f"{seconds:.0f}", remark]
            print(f"| {' | '.join(cells)} |", flush=True)
    return rows


def error(values: NDArray[np.float64], tokens: NDArray[np.int64]) -> float:
    """Standard error of a sum over documents per token, the documents taken as independent."""
    ratio = values.sum() / tokens.sum()
    return float(np.sqrt(np.sum((values - ratio * tokens) ** 2)) / tokens.sum())
