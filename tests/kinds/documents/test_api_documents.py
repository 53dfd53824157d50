"""Documents in the Python library: the estimator, predictions, summaries, ``documents.csv``."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from command_line import run_path
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import splitmerge_cli as sm
from splitmerge_cli import config, received
from splitmerge_cli.kinds.documents import recorder as topics
from splitmerge_cli.kinds.documents.stored import documents_of
from splitmerge_cli.runs.store.read import Run

pytestmark = [pytest.mark.usefixtures("commands"), pytest.mark.filterwarnings("ignore::splitmerge_cli.NotConverged")]

TEXTS = ["cats chase mice", "mice fear cats", "stocks fell today", "today stocks rose"] * 6
FEW: dict[str, Any] = {"iterations": 300, "chains": 2, "random_state": 1}


@pytest.fixture(scope="module")
def topic_model() -> sm.SplitMergeTopics:
    return sm.SplitMergeTopics(**FEW).fit(TEXTS)


def test_topics_of_texts(topic_model: sm.SplitMergeTopics) -> None:
    assert topic_model.n_topics_ == topic_model.n_clusters_ == 2
    assert topic_model.labels_.tolist() == [0, 0, 1, 1] * 6
    assert topic_model.vocabulary_.tolist() == ["cats", "chase", "fear", "fell", "mice", "rose", "stocks", "today"]
    np.testing.assert_allclose(topic_model.topic_word_.sum(axis=1), 1)
    assert set(topic_model.vocabulary_[np.argsort(-topic_model.topic_word_[0])[:2]]) == {"cats", "mice"}
    # (eta + n_kw) / (V eta + n_k)
    n = np.sum([text.count("cats") for text in TEXTS])
    size = np.sum(topic_model.posterior_.labels == 0)
    assert topic_model.topic_word_[0, 0] == pytest.approx((0.1 + n) / (0.8 + size))
    found = topic_model.posterior_.point_estimate("binder")
    assert found.shape == (len(TEXTS) * 3,)


def test_new_documents(topic_model: sm.SplitMergeTopics) -> None:
    proportions = topic_model.transform(["cats mice mice", "stocks today", "cats stocks"])
    np.testing.assert_allclose(proportions.sum(axis=1), 1)
    assert proportions[0, 0] > 0.9 and proportions[1, 1] > 0.9 and 0.2 < proportions[2, 0] < 0.8
    assert topic_model.predict(["cats mice mice", "stocks today"]).tolist() == [0, 1]
    more = topic_model.predict_proba(["cats mice mice"])
    assert more.shape == (1, 3) and more.sum() == pytest.approx(1)
    # each document by itself, whatever stands beside it
    np.testing.assert_array_equal(topic_model.transform(["cats stocks"]), proportions[2:])
    assert topic_model.get_feature_names_out().tolist() == ["splitmergetopics0", "splitmergetopics1"]


def test_scores_are_of_tokens(topic_model: sm.SplitMergeTopics) -> None:
    new = ["cats mice", "stocks today rose"]
    assert topic_model.score(new) == pytest.approx(topic_model.score_samples(new).sum() / 5)
    assert topic_model.perplexity(new) == pytest.approx(np.exp(-topic_model.score(new)))
    # below a word of all eight drawn at random, and words of different topics are less probable
    assert topic_model.perplexity(new) < 8 < topic_model.perplexity(["cats stocks mice today"] * 3)
    assert topic_model.score_samples([""]).tolist() == [0.0]
    with pytest.raises(ValueError, match="no document has a token"):
        topic_model.score([""])


def test_unseen_words_are_left_out_with_a_warning(topic_model: sm.SplitMergeTopics) -> None:
    with pytest.warns(sm.UnseenWords, match="2 of 4 tokens .* such as 'zebras'"):
        found = topic_model.transform(["zebras chase zebras mice"])
    np.testing.assert_array_equal(found, topic_model.transform(["chase mice"]))
    with pytest.raises(received.DataError, match="none of their words, such as 'zebras', is among the 8 of the data"):
        topic_model.transform(["zebras"])


def _frame() -> pd.DataFrame:
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(TEXTS).toarray()
    return pd.DataFrame(counts, columns=vectorizer.get_feature_names_out())


@pytest.mark.parametrize(
    "given",
    [
        [text.split() for text in TEXTS],
        pd.Series(TEXTS),
        pd.DataFrame({"text": TEXTS}),
        np.array(TEXTS),
        _frame(),
        _frame().to_numpy(),
        _frame().to_numpy().tolist(),
        scipy.sparse.csr_matrix(_frame().to_numpy()),
    ],
    ids=["words", "series", "frame", "array", "counts named", "counts", "lists", "sparse"],
)
def test_every_form_of_documents_says_the_same(topic_model: sm.SplitMergeTopics, given: Any) -> None:
    found = sm.SplitMergeTopics(**FEW).fit(given)
    assert (found.labels_ == topic_model.labels_).all()
    np.testing.assert_array_equal(found.transform(given[:4]), topic_model.transform(TEXTS[:4]))


def test_a_frame_of_counts_is_read_by_name() -> None:
    frame = _frame()
    estimator = sm.SplitMergeTopics(**FEW).set_output(transform="pandas").fit(frame)
    found = estimator.transform(frame)
    assert list(found) == ["splitmergetopics0", "splitmergetopics1"] and list(estimator.feature_names_in_) == list(
        frame
    )
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(frame[frame.columns[::-1]])
    # the posterior finds columns by their names
    turned = estimator.posterior_.predict_proba(frame[frame.columns[::-1]])
    np.testing.assert_array_equal(turned, estimator.posterior_.predict_proba(frame))


def test_in_a_pipeline() -> None:
    pipe = make_pipeline(CountVectorizer(), clone(sm.SplitMergeTopics(**FEW)))
    assert pipe.fit_transform(TEXTS).shape == (24, 2) and pipe.score(TEXTS[:2]) < 0
    assert pipe[-1].n_features_in_ == 8 and pipe.get_feature_names_out().tolist()[0] == "splitmergetopics0"
    with pytest.raises(ValueError, match="8 features"):
        pipe[-1].transform(np.ones((1, 7), dtype=int))


class Rounded(sm.SplitMergeTopics):
    """Takes scikit-learn's test data, which are no whole numbers, for counts."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = True, False
        return tags

    def _check_input(self, X: Any, reset: bool) -> Any:
        if scipy.sparse.issparse(X):
            # the test's own sparse data: rounded where they are, with the dtype that they have
            X = X.tocsr(copy=True)
            X.data = np.round(X.data)
        elif not hasattr(X, "columns"):
            numbers = np.asarray(X)
            if numbers.dtype.kind in "fO":
                try:
                    X = np.round(numbers.astype(float))
                except (TypeError, ValueError):
                    X = numbers
        elif hasattr(X, "columns"):
            X = X.round()
        return super()._check_input(X, reset)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_of_tables() -> None:
    """All that `check_estimator` asks of an estimator of tables, of which counts are a kind."""
    of_classifiers = "it reads the classifier tags of whatever has predict_proba"
    check_estimator(
        Rounded(iterations=20, chains=2, options={"trace.partitions": 1}),
        expected_failed_checks={
            "check_clustering": "standardised data, whose numbers below 0 are no counts",
            "check_estimator_sparse_array": of_classifiers,
            "check_estimator_sparse_matrix": of_classifiers,
            "check_sample_weight_equivalence_on_dense_data": "chains draw",
            "check_sample_weight_equivalence_on_sparse_data": "chains draw",
        },
    )


def test_topics_in_the_corpuss_own_terms(topic_model: sm.SplitMergeTopics) -> None:
    table = topic_model.posterior_.cluster_summary()
    sure, own = topic_model.posterior_.membership()["certainty"], topic_model.posterior_.labels
    assert [sure[own == k - 1].mean() for k in table["cluster"]] == pytest.approx(table["certainty"].tolist())
    assert table["size"].tolist() == [36, 36] and table["documents"].tolist() == [12, 12]
    row = table[table["cluster"] == 1].iloc[0]
    assert set(row["top_words"][:2]) == {"cats", "mice"} == set(row["telling"][:2])
    assert len(row["top_words"]) == 4 and row["prototypes"] == [1, 2, 5]
    # two topics of the same size without a word in common: log 2 but for eta
    assert 0.5 < row["divergence"] < np.log(2)
    with pytest.raises(config.ConfigError, match="expected model=hdp"):
        sm.sample("bernoulli", np.eye(4), iterations=20, chains=2, progress="none").topic_word()


def test_a_loaded_run_predicts_the_same(topic_model: sm.SplitMergeTopics, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for k, text in enumerate(TEXTS):
        (tmp_path / "texts" / f"{k:02}.txt").write_text(text)
    given: dict[str, Any] = {"iterations": 60, "chains": 2, "progress": "none", "seed": 2}
    made = sm.sample("hdp", tmp_path / "texts", "smag", store=tmp_path / "runs", **given)
    loaded = sm.Posterior.load(made.path)
    np.testing.assert_array_equal(loaded.predict_proba(["cats rose"]), made.predict_proba(["cats rose"]))
    assert loaded.cluster_summary()["prototypes"].iloc[0][0].endswith(".txt")
    assert documents_of(loaded.run)["name"].tolist() == [f"{k:02}.txt" for k in range(24)]


def test_many_tokens_have_states_to_predict_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """No partition of them is estimated, and topics are those of the last state; the chains are the same."""
    plain = sm.SplitMergeTopics(**FEW).fit(TEXTS)
    monkeypatch.setattr(topics, "ESTIMATED", 50)
    monkeypatch.setattr(topics, "LISTED", 60)
    found = sm.SplitMergeTopics(**FEW).fit(TEXTS)
    ours, theirs = (e.posterior_.run.trace().drop(columns=["seconds"]) for e in (found, plain))
    pd.testing.assert_frame_equal(ours, theirs)
    assert found.posterior_.path.name == plain.posterior_.path.name
    assert len(found.posterior_.run.partitions()) == 2 * (topics.RECORDED + 1)  # with the start
    assert (found.posterior_.labels + 1 == found.posterior_.run.table("tokens")["topic"]).all()
    assert found.transform(TEXTS[:2]).shape == (2, found.n_topics_)


def test_documents_csv(topic_model: sm.SplitMergeTopics) -> None:
    run = topic_model.posterior_.run
    table, best = documents_of(run), run.summary["topics_of"]["chain"]
    assert table["tokens"].tolist() == [3] * 24 and table["row"].tolist() == list(range(1, 25))
    partitions = run.partitions()
    late = np.stack(partitions[(partitions["chain"] == best) & (partitions["iteration"] > 150)]["labels"].to_list())
    reference = run.table("tokens")["topic"].to_numpy() - 1
    for j in (0, 7, 23):
        # each topic of a state counts as that of the last one with which it shares most tokens
        shares = []
        for labels in late:
            place = {k: np.bincount(reference[labels == k]).argmax() for k in np.unique(labels)}
            shares.append([np.mean([place[k] == topic for k in labels[3 * j : 3 * j + 3]]) for topic in (0, 1)])
        mean = np.mean(shares, axis=0)
        row = table.iloc[j]
        assert row["topic"] == mean.argmax() + 1 and row["proportion"] == pytest.approx(mean.max(), abs=1e-6)
        low, high = np.quantile(np.array(shares)[:, mean.argmax()], [0.025, 0.975])
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-6)
        if mean.min() > 0:
            assert row["second"] == mean.argmin() + 1 and row["second_proportion"] == pytest.approx(
                mean.min(), abs=1e-6
            )
        else:
            assert pd.isna(row["second"])


def test_documents_have_their_names_everywhere(smcmc: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"doc {k};{word}\n" for k, text in enumerate(TEXTS) for word in text.split())
    Path("words.csv").write_text("doc;word\n" + rows)
    path = run_path(smcmc("run", "data=corpus", "data.path=words.csv", "iterations=40", "seed=0"))
    run = Run(path)
    frame = documents_of(run)
    assert frame["name"].tolist() == [f"doc {k}" for k in range(len(TEXTS))]
    assert (path / "documents.csv").read_text().startswith("row,name,tokens,topic")
    smcmc("report", str(path))
    page = (path / "report.html").read_text()
    best = frame.sort_values("proportion", ascending=False)
    assert any(f"{name}" in page for name in best["name"][:3]) and "with the largest share of the topic" in page
    is_apart = run.summary["convergence"]["converged"] is False
    assert ("of highest log joint: the chains have not converged (R-hat" in page) == is_apart
    shown = sm.Posterior.load(path).cluster_summary()
    assert all(name.startswith("doc ") for names in shown["prototypes"] for name in names)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("cats", "a single text"),
        (["cats", ["mice"]], "one or the other"),
        ([[b"cats"]], "a word is not a string"),
        (np.array([[0.5, 1.0]]), "not a whole number"),
        (np.array([[-1, 1]]), "Negative values"),
        (["", ""], "no word; expected at least one"),
    ],
)
def test_bad_documents_are_said(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sm.SplitMergeTopics(**FEW).fit(given)
