"""Inputs of ``bench.released``: for each program two or more data sets, their model, and the exact distribution."""

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

import splitmerge_cli
from bench import released_distributions as distributions
from splitmerge_cli.verify import enumerate as exact
from splitmerge_cli.verify.continuous import gaussian_log_weight
from splitmerge_cli.verify.large_posteriors import Posterior, cases

CASES = {case.id: case for case in cases()}
TRIANGLES = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
"""Two triangles and a bridge."""
STAR = [(0, leaf) for leaf in range(1, 6)]
Options = dict[str, Any]


def rows() -> Iterator[Options]:
    """Arguments of `bench.released.Row`, program after program."""
    yield from _ours()
    yield from _graph_tool()
    yield from _tomotopy()
    yield from _lda()
    yield from _dpmmlearn()
    yield from _bayesm()
    yield from _jags()
    yield from _dphmix()
    yield from _pyrichlet()
    yield from _crp()
    yield from _pymc()
    yield from _numpyro()


# smcmc


def _ours() -> Iterator[Options]:
    for id in ("gaussian-diag-n6-1d", "gaussian-full-n6", "bernoulli-n6", "irm-n6", "hdp-n5"):
        for sampler in ("gibbs", "sams"):
            job = {"case": id, "sampler": sampler}
            yield {
                "program": "smcmc",
                "sampler": f"`sampler={sampler}`",
                "input": id,
                "job": job,
                "distribution": partial(_case, id),
                "chains": 20,
            }


def smcmc(job: Options, length: dict[str, int]) -> Options:
    """Draws of this program, by the function that makes the runs of ``smcmc run``; burn-in is the first half."""
    case = CASES[job["case"]]
    model = {"name": case.model, **{key: value for key, value in case.hyperparameters.items() if key != "prior"}}
    posterior = splitmerge_cli.sample(
        model,
        _data(case),
        job["sampler"],
        chains=length["chains"],
        iterations=2 * length["draws"] * length["thin"],
        seed=1,
        workers=1,
        options={"trace.partitions": length["thin"]},
        progress="none",
    )
    partitions = posterior.partitions.reshape(length["chains"], -1, case.n_items)
    if case.model == "hdp":
        # tokens of a document stand by word
        order = np.lexsort((case.data["words"], case.data["documents"]))
        partitions[:, :, order] = partitions.copy()
    return {"version": version("smcmc"), "chains": partitions.tolist()}


def _data(case: Posterior) -> Any:
    """The data of a case as a Python user has them."""
    if case.model == "hdp":
        return _texts(case.data["documents"], case.data["words"])
    return np.array(case.data["adjacency" if case.model == "irm" else "x"])


def _texts(docs: list[int], words: list[int]) -> list[list[str]]:
    """Words of each document."""
    return [[f"w{w}" for j, w in zip(docs, words, strict=True) if j == doc] for doc in range(max(docs) + 1)]


def _case(id: str, options: Options) -> distributions.Distribution:
    return distributions.of_case(id)


def _partitions(N: int, weight: distributions.LogWeight, options: Options) -> distributions.Distribution:
    return distributions.of_partitions(N, weight)


# graph-tool


def _graph_tool() -> Iterator[Options]:
    partitions = list(exact.partitions(6))
    adjacency = np.array(CASES["irm-n6"].data["adjacency"])
    graphs = {"graph of irm-n6": np.argwhere(np.triu(adjacency)).tolist(), "two triangles": TRIANGLES, "star": STAR}
    for name, edges in graphs.items():
        job = {"N": 6, "edges": edges, "deg_corr": False, "partitions": partitions}
        for sweep in ("multiflip_mcmc_sweep", "mcmc_sweep", "gibbs_sweep"):
            yield {
                "program": "graph-tool",
                "sampler": f"`{sweep}`",
                "input": name,
                "job": {**job, "sweep": sweep},
                "distribution": partial(_entropy, partitions),
                "draws": 400,
                "thin": 4,
            }


def _entropy(partitions: list[tuple[int, ...]], options: Options) -> distributions.Distribution:
    return distributions.of_entropy(partitions, options["entropy"])


# topics


def _tokens(id: str) -> tuple[list[int], list[int], int]:
    """Documents and words of a case, and the words that occur: the vocabulary that a program reads off the texts."""
    data = CASES[id].data
    occurring = sorted(set(data["words"]))
    return data["documents"], [occurring.index(w) for w in data["words"]], len(occurring)


def _tomotopy() -> Iterator[Options]:
    for id in ("hdp-n5", "hdp-n6", "hdp-n7"):
        docs, words, V = _tokens(id)
        hyper = CASES[id].hyperparameters
        gamma, alpha0, eta = hyper["gamma"], hyper["alpha0"], hyper["eta"]
        job = {"kind": "hdp", "documents": _texts(docs, words), "gamma": gamma, "alpha": alpha0, "eta": eta}
        weight = exact.hdp_log_weight(docs, words, V, gamma, alpha0, eta)
        yield {
            "program": "tomotopy",
            "sampler": "`HDPModel`",
            "input": id if V == 3 else f"{id}, V={V}",
            "job": job,
            "distribution": partial(_partitions, len(docs), weight),
        }
    for id, K in (("hdp-n5", 3), ("hdp-n7", 2)):
        docs, words, V = _tokens(id)
        weight = distributions.finite_topics(docs, words, V, K, 0.7, 0.5)
        yield {
            "program": "tomotopy",
            "sampler": "`LDAModel`",
            "input": f"texts of {id}, {K} topics",
            "job": {"kind": "lda", "documents": _texts(docs, words), "K": K, "alpha": 0.7, "eta": 0.5},
            "distribution": partial(_partitions, len(docs), weight),
        }


def _lda() -> Iterator[Options]:
    for id, K in (("hdp-n5", 3), ("hdp-n7", 2)):
        docs, words, V = _tokens(id)
        counts = np.zeros((max(docs) + 1, V), dtype=int)
        np.add.at(counts, (docs, words), 1)
        yield {
            "program": "lda",
            "sampler": "`LDA`, a fit for each draw",
            "input": f"texts of {id}, {K} topics",
            "job": {"counts": counts.tolist(), "K": K, "alpha": 0.7, "eta": 0.5},
            "distribution": partial(_counts, docs, words, V, distributions.finite_topics(docs, words, V, K, 0.7, 0.5)),
            "chains": 20,
            "draws": 15,
            "thin": 1,
            "burn_in": 10,
        }


def _counts(
    docs: list[int], words: list[int], V: int, weight: distributions.LogWeight, options: Options
) -> distributions.Distribution:
    return distributions.of_counts(docs, words, V, weight)


# normal mixtures


def _dpmmlearn() -> Iterator[Options]:
    fits = {"program": "dpmmlearn", "chains": 20, "draws": 40, "thin": 1, "burn_in": 15}
    x = np.array(CASES["gaussian-diag-n6-1d"].data["x"])
    for name, points, kappa0, b0 in (("gaussian-diag-n6-1d", x, 0.3, 0.7), ("the same, kappa0=1, b0=0.5", x, 1.0, 0.5)):
        prior = [0.0, kappa0, 2 * b0 / 3, 3.0]
        yield {
            **fits,
            "sampler": "`DPMM`, `NormInvChi2`",
            "input": name,
            "job": {"x": points.ravel().tolist(), "prior": prior, "alpha": 1.0},
            "distribution": partial(_normal, points, "diag", kappa0, b0),
        }
    x = np.array(CASES["gaussian-full-n6"].data["x"])
    for name, kappa0, b0 in (("gaussian-full-n6", 0.3, 0.7), ("the same, kappa0=1, b0=0.5", 1.0, 0.5)):
        prior_full = [[0.0, 0.0], kappa0, (2 * b0 * np.eye(2)).tolist(), 4]
        yield {
            **fits,
            "sampler": "`DPMM`, `NormInvWish`",
            "input": name,
            "job": {"x": x.tolist(), "prior": prior_full, "alpha": 1.0},
            "distribution": partial(_normal, x, "full", kappa0, b0),
        }


def _normal(x: Any, covariance: str, kappa0: float, b0: float, options: Options) -> distributions.Distribution:
    weight = gaussian_log_weight(x, 1.0, "crp", covariance, 0.0, kappa0, 1.5, b0)
    return distributions.of_partitions(len(x), weight)


def _points(x: Any, covariance: str) -> distributions.LogWeight:
    """Log likelihood of partitioned points under the hyper-parameters of the cases."""
    return gaussian_log_weight(x, 1.0, "uniform", covariance, 0.0, 0.3, 1.5, 0.7)


FIXED = distributions.Grids((0.3, 0.3), (np.log(3), np.log(3)), (1.4 / 3, 1.4 / 3), (2.8512, 2.8522))
"""Prior of gaussian-diag-n6-1d: the concentration within a thousandth of 1."""
FREE = (1.0, 4.0)
"""Least and most clusters that the prior of the concentration expects."""


def _bayesm() -> Iterator[Options]:
    line, plane = "gaussian-diag-n6-1d", "gaussian-full-n6"
    nu = distributions.Grids(FIXED.a, (0.01, 3.0), (0.5, 0.5), FIXED.clusters)
    settings = (
        (line, line, FIXED),
        (plane, plane, distributions.Grids(FIXED.a, FIXED.log_nu, (0.35, 0.35), FIXED.clusters)),
        ("points of the first, random concentration", line, distributions.Grids(FIXED.a, FIXED.log_nu, FIXED.v, FREE)),
        ("the same, random a and v", line, distributions.Grids((0.01, 2.0), FIXED.log_nu, (0.1, 4.0), FREE)),
        ("points of the first, random nu", line, nu),
        ("points of the second, random nu", plane, nu),
        ("points of the first, default limits", line, distributions.Grids((0.01, 10.0), (0.01, 3.0), (0.1, 4.0), FREE)),
    )
    for name, id, grids in settings:
        x = CASES[id].data["x"]
        yield {
            "program": "bayesm",
            "sampler": "`rDPGibbs`",
            "input": name,
            "job": {"x": x},
            "distribution": partial(_partitions, 6, distributions.bayesm(x, grids)),
            "numbers": grids.numbers(),
            "draws": 400,
            "thin": 3,
        }
    for id, K, a in ((plane, 3, 5.0), ("gaussian-full-n7-3d", 2, 1.0)):
        y = np.array(CASES[id].data["x"])
        nu = 2 * 1.5 + y.shape[1] - 1
        yield {
            "program": "bayesm",
            "sampler": "`rnmixGibbs`",
            "input": f"points of {id}, {K} components",
            "job": {"x": y.tolist()},
            "distribution": partial(_partitions, len(y), distributions.finite(_points(y, "full"), K, a)),
            "numbers": [K, a, 0.3, nu, 1.4],
            "draws": 400,
            "thin": 3,
        }


# JAGS


def _jags() -> Iterator[Options]:
    for id, K, a in (("bernoulli-n6", 3, 0.5), ("bernoulli-n6", 5, 1.0)):
        data, hyper = CASES[id].data, CASES[id].hyperparameters
        beta1, beta0 = hyper["beta1"], hyper["beta0"]
        yield {
            "program": "jags",
            "sampler": "`dcat`, `ddirch`",
            "input": f"rows of {id}, {K} components",
            "job": {"x": data["x"]},
            "distribution": partial(
                _partitions, data["N"], distributions.finite_bernoulli(data["x"], K, a, beta1, beta0)
            ),
            "numbers": [K, a, beta1, beta0],
        }


# programs of PyPI that sample labels of mixtures


def _dphmix() -> Iterator[Options]:
    fits = {"program": "dphmix", "sampler": "`GibbsDPHM`", "chains": 20, "draws": 40, "thin": 1, "burn_in": 15}
    none: dict[str, list[float]] = {key: [] for key in ("nu", "rho", "a", "b", "gamma", "delta", "eps", "zeta")}
    normal = {**none, "nu": [0.0], "rho": [0.3], "a": [1.5], "b": [0.7]}
    binary = {**none, "gamma": [0.4] * 4, "delta": [0.7] * 4}
    for id, alpha, prior in (("gaussian-diag-n6-1d", 1.0, normal), ("bernoulli-n6", 1.7, binary)):
        job = {"x": CASES[id].data["x"], "alpha": alpha, "prior": prior}
        yield {**fits, "input": id, "job": job, "distribution": partial(_case, id)}


def _pyrichlet() -> Iterator[Options]:
    line, plane = (np.array(CASES[id].data["x"]) for id in ("gaussian-diag-n6-1d", "gaussian-full-n6"))
    for name, kind, x, of_weights, weight in (
        ("gaussian-diag-n6-1d", "DirichletProcessMixture", line, {"alpha": 1.0}, None),
        ("gaussian-full-n6", "DirichletProcessMixture", plane, {"alpha": 1.0}, None),
        (
            "points of the second, discount 0.3",
            "PitmanYorMixture",
            plane,
            {"alpha": 1.0, "pyd": 0.3},
            distributions.pitman_yor(_points(plane, "full"), 0.3, 1.0),
        ),
        (
            "points of the second, 3 components",
            "DirichletDistributionMixture",
            plane,
            {"alpha": 0.5, "n": 3},
            distributions.finite(_points(plane, "full"), 3, 0.5),
        ),
    ):
        D = x.shape[1]
        prior = {"mu_prior": [0.0] * D, "lambda_prior": 0.3, "psi_prior": (1.4 * np.eye(D)).tolist(), "nu_prior": D + 2}
        yield {
            "program": "pyrichlet",
            "sampler": f"`{kind}`",
            "input": name,
            "job": {"x": x.tolist(), "kind": kind, "options": {**prior, **of_weights}},
            "distribution": partial(_case, name) if weight is None else partial(_partitions, 6, weight),
            "chains": 20,
            "draws": 400,
            "thin": 3,
        }


def _crp() -> Iterator[Options]:
    x = CASES["bernoulli-n6"].data["x"]
    for expected in (2, 4):
        weight = exact.bernoulli_log_weight(x, expected / np.log(len(x)), 1.0, 1.0, "crp")
        yield {
            "program": "chinese-restauraunt-process",
            "sampler": "`BernoulliTable`",
            "input": f"rows of bernoulli-n6, {expected} expected",
            "job": {"x": x, "expected": expected},
            "distribution": partial(_partitions, len(x), weight),
            "chains": 20,
            "draws": 40,
            "thin": 1,
            "burn_in": 15,
        }


def _finite_rows(id: str, K: int, a: float) -> Options:
    """Rows of 0 and 1 under a finite mixture: input, job and distribution, as `_jags` has them."""
    data, hyper = CASES[id].data, CASES[id].hyperparameters
    beta1, beta0 = hyper["beta1"], hyper["beta0"]
    weight = distributions.finite_bernoulli(data["x"], K, a, beta1, beta0)
    return {
        "input": f"rows of {id}, {K} components",
        "job": {"x": data["x"], "K": K, "a": a, "beta1": beta1, "beta0": beta0},
        "distribution": partial(_partitions, data["N"], weight),
    }


def _pymc() -> Iterator[Options]:
    length = {"program": "pymc", "chains": 20, "draws": 300, "thin": 2, "burn_in": 200}
    row = _finite_rows("bernoulli-n6", 3, 0.5)
    job = {**row["job"], "kind": "categorical"}
    yield {**length, **row, "sampler": "`Categorical`, its steps", "job": job}
    x = CASES["gaussian-diag-n6-1d"].data["x"]
    weight = distributions.finite(distributions.half_normal_log_lik(x, 5.0, 1.0), 3, 1.0)
    yield {
        **length,
        "sampler": "`NormalMixture`, NUTS",
        "input": "points of gaussian-diag-n6-1d, 3 components",
        "job": {"x": x, "K": 3, "a": 1.0, "tau": 5.0, "scale": 1.0, "kind": "normal"},
        "distribution": partial(_partitions, len(x), weight),
    }


def _numpyro() -> Iterator[Options]:
    length = {"program": "numpyro", "chains": 20, "draws": 400, "thin": 2, "burn_in": 300}
    of_rows, of_few = _finite_rows("bernoulli-n6", 3, 0.5), _finite_rows("bernoulli-n4", 2, 1.0)
    for name, kind, row in (
        ("`DiscreteHMCGibbs`", "DiscreteHMCGibbs", of_rows),
        ("`DiscreteHMCGibbs`", "DiscreteHMCGibbs", of_few),
        ("the same, `modified`", "modified", of_rows),
        ("`MixedHMC`", "MixedHMC", of_rows),
    ):
        yield {**length, **row, "sampler": name, "job": {**row["job"], "kind": kind}}
