"""Recompute exported posteriors from their files, with NumPy alone: python recompute_posteriors.py FOLDER ID ..."""

import sys
from math import lgamma, log, pi

import numpy as np

sys.path.insert(0, sys.argv[1])
from reader import read_posterior

log_gamma = np.vectorize(lgamma, otypes=[float])


def log_prior(n, prior, h):
    c, K, N = h["concentration"], len(n), n.sum()
    if prior == "crp":
        return K * log(c) + lgamma(c) - lgamma(c + N) + log_gamma(n).sum()
    if prior == "pitman_yor":
        d = h["discount"]
        founded = np.log(c + d * np.arange(K)).sum() + lgamma(c) - lgamma(c + N)
        return founded + (log_gamma(n - d) - lgamma(1 - d)).sum()
    if prior == "esc":
        r, p = h["r"], h["p"]
        log_mu = log_gamma(n + r) - lgamma(r) - log_gamma(n + 1) + n * log(p) + r * log(1 - p) - log(1 - (1 - p) ** r)
        return lgamma(K + 1) + (log_gamma(n + 1) + log_mu).sum()
    if prior == "learned_sizes":
        ends = [h["size_1"], h["size_2"], h["size_3"]] + [h["size_more"]] * int(n.max())
        return lgamma(K + 1) + sum(
            lgamma(m + 1) + log(ends[m - 1]) + np.log1p(-np.array(ends[: m - 1])).sum() for m in n
        )
    rate, m = float(h["components"][len("poisson(") : -1]), np.arange(K, 80)
    terms = (m - 1) * log(rate) - rate - log_gamma(m) + log_gamma(m + 1) - log_gamma(m - K + 1)
    terms += lgamma(c) - lgamma(c + N) + sum(log_gamma(size + c / m) - log_gamma(c / m) for size in n)
    return np.logaddexp.reduce(terms)


def bernoulli(x, h):
    power = h.get("power", 1.0)
    ones, zeros = power * (x == 1).sum(axis=0), power * (x == 0).sum(axis=0)
    beta = (
        log_gamma(ones + h["beta1"]) + log_gamma(zeros + h["beta0"]) - log_gamma(ones + zeros + h["beta1"] + h["beta0"])
    )
    return (beta - lgamma(h["beta1"]) - lgamma(h["beta0"]) + lgamma(h["beta1"] + h["beta0"])).sum()


def gaussian(x, h):
    (n, D), nu = x.shape, 2 * h["a0"] + x.shape[1] - 1
    mean, psi = x.mean(axis=0), 2 * h["b0"] * np.eye(D)
    S = (x - mean).T @ (x - mean) + h["kappa0"] * n / (h["kappa0"] + n) * np.outer(mean - h["m0"], mean - h["m0"])
    d = np.arange(D)
    total = (log_gamma((nu + n - d) / 2) - log_gamma((nu - d) / 2)).sum() + D / 2 * log(h["kappa0"] / (h["kappa0"] + n))
    logs = nu * np.linalg.slogdet(psi)[1] - (nu + n) * np.linalg.slogdet(psi + S)[1]
    return total + logs / 2 - n * D / 2 * log(pi)


def multinomial(x, h):
    a, s = h["alpha"], x.sum(axis=0)
    return lgamma(len(s) * a) - lgamma(len(s) * a + s.sum()) + (log_gamma(a + s) - lgamma(a)).sum()


for id in sys.argv[2:]:
    one = read_posterior(id)
    x, h, of = one["data"]["x"], one["hyperparameters"], one["reference"]
    weight = [log_prior(np.bincount(z), one["prior"], h) for z in of["labels"]]
    weight += np.array([sum(globals()[one["model"]](x[z == k], h) for k in range(max(z) + 1)) for z in of["labels"]])
    p = np.exp(weight - np.logaddexp.reduce(weight))
    print(id, len(p), np.abs(p - of["probability"]).max())
assert not any(name.split(".")[0] in ("smcmc", "splitmerge_cli", "scipy", "pandas") for name in sys.modules)
