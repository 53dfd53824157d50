"""The plain side of the replay: the random stream and the models, each formula written out, nothing cached.

A state is a list of clusters in list order; a cluster is an ascending list of items, with parameters `theta` where the
model keeps them (else None). Models here hold data and hyper-parameters only, so every function of a state takes its
clusters.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats
from scipy.special import gammaln


class Cluster(list):
    """Items of a cluster, and the parameters that it keeps."""

    def __init__(self, items=(), theta=None) -> None:
        super().__init__(items)
        self.theta = theta


Clusters = list[list[int]]


def theta_of(cluster: list[int]) -> tuple[float, ...] | None:
    """The parameters of a cluster, where the model keeps them; then clusters are `Cluster`s."""
    return getattr(cluster, "theta", None)


class Stream:
    """The random primitives of docs/design.md, from the doubles of one PCG64DXSM stream."""

    def __init__(self, seed: int, chain: int = 0) -> None:
        self.generator = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(seed, spawn_key=(chain,))))

    def random(self) -> float:
        return float(self.generator.random())

    def index(self, n: int) -> int:
        return int(self.random() * n)

    def categorical(self, weights: list[float]) -> int:
        threshold = self.random() * sum(weights)
        cumulative = 0.0
        for k, weight in enumerate(weights):
            cumulative += weight
            if weight > 0 and threshold < cumulative:
                return k
        return max(k for k, weight in enumerate(weights) if weight > 0)

    def coin(self, p: float) -> bool:
        return self.random() < p

    def accept(self, log_r: float) -> bool:
        return log_r >= -1e-12 or self.random() < math.exp(log_r)

    def normal(self) -> float:
        return float(self.generator.standard_normal())

    def gamma(self, shape: float) -> float:
        return float(self.generator.standard_gamma(shape))

    def beta(self, a: float, b: float) -> float:
        return float(self.generator.beta(a, b))


class Conjugate:
    """A model whose parameters are integrated out: none to draw, none in the state.

    `coupled`: the likelihood of a cluster depends on the others; then `log_predictive` gets them.
    """

    conjugate = True
    coupled = False

    def draw_theta(self, stream: Stream) -> tuple[float, ...] | None:
        """Parameters of a new cluster, from their prior H."""
        return None

    def log_H(self, theta: tuple[float, ...] | None) -> float:
        return 0.0


class EMM(Conjugate):
    """Entity/mention model (Wang & Russell 2015, section 3.1): pi(K, S) = P(K) K^-N prod_k g(C_k), empty entities kept.

    `label_prior` multiplies pi: 1 (labelled), 1/K! (partition), 2^K/K! (as_printed).
    """

    allows_empty = True

    def __init__(self, tokens, n_tokens, alpha, mu, sigma, kmax, label_prior="labelled") -> None:
        self.tokens, self.L, self.alpha = np.asarray(tokens), n_tokens, alpha
        self.mu, self.sigma, self.kmax, self.label_prior = mu, sigma, kmax, label_prior
        self.N = len(tokens)

    def log_g(self, items: list[int]) -> float:
        """log B(alpha + n) / B(alpha), the marginal likelihood of one entity's mentions."""
        n = np.bincount(self.tokens[items], minlength=self.L) if items else np.zeros(self.L)
        return float(
            np.sum(gammaln(self.alpha + n) - gammaln(self.alpha))
            - gammaln(self.L * self.alpha + n.sum())
            + gammaln(self.L * self.alpha)
        )

    def log_predictive(self, i: int, items: list[int]) -> float:
        """log (alpha + n_l) / (L alpha + n) for mention i of token l, given an entity's other mentions (equation 5)."""
        same = sum(self.tokens[j] == self.tokens[i] for j in items)
        return math.log((self.alpha + same) / (self.L * self.alpha + len(items)))

    def log_size_weight(self, n: int) -> float:
        """An entity is drawn uniformly: its size carries no weight."""
        return 0.0

    def log_prior(self, clusters: Clusters) -> float:
        K = len(clusters)
        log_p = -math.log(K) - (math.log(K) - self.mu) ** 2 / (2 * self.sigma**2) - self.N * math.log(K)
        if self.label_prior in ("partition", "as_printed"):
            log_p -= math.lgamma(K + 1)
        if self.label_prior == "as_printed":
            log_p += K * math.log(2)
        return log_p

    def log_joint(self, clusters: Clusters) -> float:
        return self.log_prior(clusters) + sum(self.log_g(items) for items in clusters)

    def log_numberings(self, K: int) -> float:
        """log of how many times more often K + 1 entities can be numbered than K."""
        return math.log(K + 1)


class Mixture(Conjugate):
    """Base class of mixtures: N items under a CRP or a uniform prior on partitions; no empty clusters.

    `concentration` is a number, or the pair (shape, rate) of a gamma prior: then it stands at shape/rate until set.
    """

    allows_empty = False

    def __init__(self, N: int, concentration, prior="crp") -> None:
        self.N = self.kmax = N
        self.prior = prior
        self.gamma = concentration if isinstance(concentration, tuple) else None
        self.concentration = self.gamma[0] / self.gamma[1] if self.gamma else concentration

    def log_g(self, cluster: list[int]) -> float:
        """Log likelihood of a cluster's items: marginal if the model is conjugate, else given its parameters."""
        raise NotImplementedError

    def log_predictive(self, i: int, cluster: list[int]) -> float:
        """Log likelihood of item i given the items, or the parameters, of a cluster."""
        raise NotImplementedError

    def log_size_weight(self, n: int) -> float:
        """Weight of a cluster that holds n other items in the prior's conditional of one item."""
        return math.log(n) if self.prior == "crp" else 0.0

    def log_new_weight(self) -> float:
        """Weight of a new cluster in the prior's conditional of one item."""
        return math.log(self.concentration) if self.prior == "crp" else 0.0

    def log_prior(self, clusters: Clusters) -> float:
        """Return the log prior of the partition, jointly with the concentration where that is random."""
        if self.prior == "uniform":
            return 0.0
        log_p = sum(math.log(self.concentration) + math.lgamma(len(items)) for items in clusters)
        log_p -= sum(math.log(self.concentration + n) for n in range(self.N))
        if self.gamma:
            log_p += float(stats.gamma.logpdf(self.concentration, self.gamma[0], scale=1 / self.gamma[1]))
        return log_p

    def log_joint(self, clusters: Clusters) -> float:
        return self.log_prior(clusters) + sum(self.log_H(theta_of(c)) + self.log_g(c) for c in clusters)

    def log_numberings(self, K: int) -> float:
        """A partition is counted once, whatever its clusters are called."""
        return 0.0


class Bernoulli(Mixture):
    """Mixture of products of Bernoullis."""

    def __init__(self, x, concentration, beta1, beta0, prior="crp") -> None:
        super().__init__(len(x), concentration, prior)
        self.x, self.beta1, self.beta0 = np.asarray(x), beta1, beta0

    def log_g(self, items: list[int]) -> float:
        """log prod_d B(beta1 + ones_d, beta0 + zeros_d) / B(beta1, beta0)."""
        ones = self.x[items].sum(axis=0) if items else np.zeros(self.x.shape[1])
        zeros = len(items) - ones
        total = self.beta1 + self.beta0
        return float(
            np.sum(
                gammaln(self.beta1 + ones)
                + gammaln(self.beta0 + zeros)
                - gammaln(total + len(items))
                + gammaln(total)
                - gammaln(self.beta1)
                - gammaln(self.beta0)
            )
        )

    def log_predictive(self, i: int, items: list[int]) -> float:
        ones = self.x[items].sum(axis=0) if items else np.zeros(self.x.shape[1])
        p_one = (self.beta1 + ones) / (self.beta1 + self.beta0 + len(items))
        p_zero = (self.beta0 + len(items) - ones) / (self.beta1 + self.beta0 + len(items))
        return float(np.sum(np.log(np.where(self.x[i] == 1, p_one, p_zero))))


class State:
    """State of a chain: a model and its clusters; all samplers of the chain read and replace the same `clusters`."""

    def __init__(self, model: EMM | Mixture, labels, K: int | None = None, thetas=None) -> None:
        self.model = model
        K = K or max(labels) + 1
        self.clusters: Clusters = [Cluster(theta=theta) for theta in thetas or [None] * K]
        for i, k in enumerate(labels):
            self.clusters[k].append(i)

    @property
    def K(self) -> int:
        return len(self.clusters)

    @property
    def labels(self) -> list[int]:
        return [self.cluster_of(i) for i in range(self.model.N)]

    def cluster_of(self, i: int) -> int:
        return next(k for k, items in enumerate(self.clusters) if i in items)


def swap_delete(clusters: Clusters, k: int) -> Clusters:
    """`clusters` without cluster k, whose number the last one takes."""
    kept = list(clusters)
    kept[k] = kept[-1]
    return kept[:-1]


def split(clusters: Clusters, c: int, A: list[int], B: list[int]) -> Clusters:
    """Cluster c becomes A, and B is appended."""
    return [*clusters[:c], A, *clusters[c + 1 :], B]


def merge(clusters: Clusters, i: int, j: int) -> Clusters:
    """The union of clusters i and j takes the lower number, and the parameters of j; the higher one is swap-deleted."""
    low, high = min(i, j), max(i, j)
    merged = list(clusters)
    merged[low] = Cluster(sorted(clusters[i] + clusters[j]), theta_of(clusters[j]))
    return swap_delete(merged, high)
