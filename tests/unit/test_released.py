"""Enumerated distributions for released programs, the comparison, the page; without the programs."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from bench import released, released_compare, released_inputs
from bench import released_distributions as distributions
from splitmerge_cli.verify.continuous import gaussian_log_weight

X = np.array([[0.1, -0.4], [1.2, 0.3], [-0.7, 2.0], [0.4, 0.5]])
DOCS, WORDS = [0, 0, 1, 1], [0, 1, 1, 1]


def by_labels(K, log_joint):
    """Distribution of partitions from all K^4 labellings."""
    found = {}
    for z in itertools.product(range(K), repeat=4):
        key = distributions.labels_key(z)
        found[key] = found.get(key, 0.0) + np.exp(log_joint(z))
    total = sum(found.values())
    return {key: value / total for key, value in found.items()}


def as_dict(distribution):
    return {
        key: distribution.probability[at] for key, at in distribution.number.items() if distribution.probability[at] > 0
    }


@pytest.mark.parametrize("K", [2, 3, 6])
def test_finite_topics_are_the_sum_over_all_labellings(K):
    alpha, eta, V = 0.7, 0.5, 2

    def log_joint(z):
        # token after token
        of_doc, of_word, total = np.full((2, K), alpha), np.full((K, V), eta), 0.0
        for j, w, k in zip(DOCS, WORDS, z, strict=True):
            total += np.log(of_doc[j, k] / of_doc[j].sum() * of_word[k, w] / of_word[k].sum())
            of_doc[j, k] += 1
            of_word[k, w] += 1
        return total

    weight = distributions.finite_topics(DOCS, WORDS, V, K, alpha, eta)
    distribution = distributions.of_partitions(4, weight)
    assert as_dict(distribution) == pytest.approx(by_labels(K, log_joint))
    counts = distributions.of_counts(DOCS, WORDS, V, weight)
    assert counts.probability.sum() == pytest.approx(1) and len(counts.number) < len(distribution.number)
    assert np.bincount(counts.clusters, counts.probability) == pytest.approx(
        np.bincount(distribution.clusters, distribution.probability)
    )
    # tokens 2 and 3 are alike: in a topic of their own, or with one of the others
    assert counts.key([[0, 2, 0, 2], [2, 0, 1, 1], [0, 0, 0, 0]]) in counts.number


def test_finite_mixture_is_the_sum_over_all_labellings():
    K, a, x = 3, 0.6, (X > 0.3).astype(int)

    def log_joint(z):
        sizes, ones, zeros, total = np.full(K, a), np.full((K, 2), 0.4), np.full((K, 2), 0.7), 0.0
        for row, k in zip(x, z, strict=True):
            total += np.log(sizes[k] / sizes.sum())
            total += np.log(np.where(row, ones[k], zeros[k]) / (ones[k] + zeros[k])).sum()
            sizes[k] += 1
            ones[k] += row
            zeros[k] += 1 - row
        return total

    distribution = distributions.of_partitions(4, distributions.finite_bernoulli(x, K, a, 0.4, 0.7))
    assert as_dict(distribution) == pytest.approx(by_labels(K, log_joint))


def test_pitman_yor_weights_are_those_of_items_one_after_the_other():
    discount, concentration = 0.3, 0.8
    weight = distributions.pitman_yor(lambda state: 0.0, discount, concentration)
    found = as_dict(distributions.of_partitions(4, weight))
    assert sum(found.values()) == pytest.approx(1)
    for z, probability in found.items():
        p, sizes = 1.0, []
        for i, k in enumerate(z):
            if k == len(sizes):
                p *= (concentration + discount * k) / (concentration + i)
                sizes.append(0)
            else:
                p *= (sizes[k] - discount) / (concentration + i)
            sizes[k] += 1
        assert probability == pytest.approx(p)


def test_half_normal_deviations_are_integrated():
    x, tau, scale = [0.3, 1.1, -0.4], 5.0, 1.0
    log_lik = distributions.half_normal_log_lik(x, tau, scale)

    def density(sigma):
        covariance = sigma**2 * np.eye(2) + tau**2
        return stats.halfnorm.pdf(sigma, 0, scale) * stats.multivariate_normal.pdf(x[:2], np.zeros(2), covariance)

    def density_of_one(sigma):
        return stats.halfnorm.pdf(sigma, 0, scale) * stats.norm.pdf(x[2], 0, np.hypot(tau, sigma))

    exact = [integrate.quad(function, 0, 20, points=[0.1, 1.0])[0] for function in (density, density_of_one)]
    assert log_lik(((0, 0, 1), 2)) == pytest.approx(np.log(exact).sum(), abs=1e-7)


def test_model_of_bayesm_at_one_point_of_its_grids_is_the_normal_mixture():
    line = np.array(released_inputs.CASES["gaussian-diag-n6-1d"].data["x"])
    distribution = distributions.of_partitions(6, distributions.bayesm(line, released_inputs.FIXED))
    exact = distributions.of_case("gaussian-diag-n6-1d")
    assert 0.5 * np.abs(distribution.probability - exact.probability).sum() < 1e-3
    nearly_one = (2.4427, 2.4429)  # of four points: exp(digamma(2.4428)) is gamma + log 4
    grids = distributions.Grids((0.3, 0.3), (np.log(3), np.log(3)), (0.35, 0.35), nearly_one)
    distribution = distributions.of_partitions(4, distributions.bayesm(X, grids))
    exact = distributions.of_partitions(4, gaussian_log_weight(X, 1.0, "crp", "full", 0.0, 0.3, 1.5, 0.7))
    assert distribution.probability == pytest.approx(exact.probability, abs=2e-3)


def test_hyper_parameters_of_bayesm_are_averaged_over_their_grids():
    points = [
        distributions.Grids((a, a), (0.5, 0.5), (v, v), (1.0, 4.0), size=2) for a in (0.2, 1.5) for v in (0.3, 2.0)
    ]
    grids = distributions.Grids((0.2, 1.5), (0.5, 0.5), (0.3, 2.0), (1.0, 4.0), size=2)
    for z in [(0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 2, 3)]:
        state = (z, max(z) + 1)
        each = [distributions.bayesm(X, point)(state) for point in points]
        assert distributions.bayesm(X, grids)(state) == pytest.approx(np.logaddexp.reduce(each))


def sticky(distribution, stay, bend=0.0, seed=0):
    """Chains that stay where they are with a probability, and draw from the distribution otherwise."""
    rng = np.random.default_rng(seed)
    p = distribution.probability + bend * (np.arange(len(distribution.probability)) == 0)
    found = rng.choice(len(p), (40, 500), p=p / p.sum())
    for t in range(1, 500):
        found[:, t] = np.where(rng.random(40) < stay, found[:, t - 1], found[:, t])
    return found


@pytest.mark.parametrize("stay", [0.0, 0.9])
def test_exact_chains_agree_and_others_differ(stay):
    distribution = distributions.of_case("bernoulli-n4")
    result = released_compare.compare(sticky(distribution, stay), distribution)
    assert not result["differs"] and abs(result["mean_K"] - result["exact_K"]) < 5 * result["error_K"]
    if stay:
        assert result["chains_mean"] > 2 * result["independent_mean"]
    else:
        assert result["chains_mean"] == pytest.approx(result["independent_mean"], rel=0.3)
    assert result["exact_K"] == pytest.approx(distribution.probability @ distribution.clusters)
    assert released_compare.compare(sticky(distribution, stay, bend=0.3), distribution)["differs"]


def test_chains_that_never_move_differ():
    distribution = distributions.of_case("bernoulli-n4")
    assert released_compare.compare(np.zeros((40, 500), dtype=int), distribution)["differs"]


def test_this_program_runs_as_the_others_do():
    row = next(row for row in released_inputs.rows() if row["input"] == "hdp-n5" and row["sampler"] == "`sampler=sams`")
    result = released.measure_row(released.Row(**{**row, "chains": 4, "draws": 100}), None)
    assert result["draws"] == 100 and result["states"] == 52 and float(result["total_variation"]) < 0.2


def test_programs_that_are_not_there_are_named_and_left_out(monkeypatch, capsys):
    monkeypatch.setattr(released, "python_of", lambda module, chosen: None)
    monkeypatch.setattr(released.shutil, "which", lambda *args, **keys: None)
    assert released.main(["jags", "tomotopy"]) == 2
    said = capsys.readouterr().err
    assert "jags is not installed, left out: apt install r-cran-rjags" in said
    assert "tomotopy is not installed, left out: pip install tomotopy" in said


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["jag"], "jag: no such program; expected smcmc, graph-tool"),
        (["smcmc", "--draws", "1"], "--draws 1: expected 2 or more"),
        (["smcmc", "--write", "--draws", "9"], "--write: expected chains of their own length"),
    ],
)
def test_bad_input_is_answered(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        released.main(arguments)
    assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_every_program_has_two_inputs_or_more():
    inputs = {}
    for row in released_inputs.rows():
        inputs.setdefault(row["program"], set()).add(row["input"])
    assert len(inputs) == 12 and all(len(names) >= 2 for names in inputs.values())


def test_the_page_shows_the_stored_results():
    results, text = released.read(), released.PAGE.read_text()
    assert released.page(text, results) == text
    keys = [released.Row(**row).key() for row in released_inputs.rows()]
    stored = [(line["program"], line["sampler"], line["input"]) for line in results]
    assert len({program for program, _, _ in stored}) >= 5
    assert stored == [key for key in keys if key in stored]


def test_lines_of_programs_that_did_not_run_are_kept():
    keys = [("a", "s", "1"), ("b", "s", "1"), ("c", "s", "1")]
    old = [{"program": name, "sampler": "s", "input": "1", "mean_K": "old"} for name in "cba"]
    new = [{**old[1], "mean_K": "new"}]
    kept = released.merge_rows(old, new, keys)
    assert [(line["program"], line["mean_K"]) for line in kept] == [("a", "old"), ("b", "new"), ("c", "old")]
