"""Hierarchical Dirichlet process of words in documents, by direct assignment (Rana et al. 2013, sections 3.1 and 3.2).

Items are the tokens i = 1..N, each a word w(i) in a document j(i); clusters are topics. Topics' distributions over
words, Dirichlet(eta), and documents' mixtures of topics are integrated out; the weights beta_1, ..., beta_K of the
topics, and beta_u, that of all topics without tokens, are part of the state:

    pi(z, beta) = gamma^K beta_u^(gamma - 1) prod_k 1/beta_k . prod_j [prod_k <alpha0 beta_k>_{n_jk} / <alpha0>_{n_j}]
                  . prod_k DM(k)                                                      (docs/derivations-topics.md)
    DM(k) = prod_w <eta>_{n_kw} / <V eta>_{n_k},   <a>_n = a (a + 1) ... (a + n - 1)

Equation 11 is not this: it counts the token that opens a topic twice and leaves out the density of beta.

``hdp_state.pyx`` holds the state and its probability, and draws tables (equation 9), alpha0, gamma and weights (10);
``hdp_scan.pyx`` draws the topics of tokens (8); here are the model's options and its starts.

Cost of a token: topics that hold the word (at most its tokens), those of the document now and then, O(K) once for every
K tokens; or all K topics, where that takes less.
Memory: 4 bytes a token (label), some 11 for each pair of a word and a topic that holds it (or 4 V K, at most 24 a
token), some 4 for each pair of a document and a topic in it, whatever K; 27 (V + J) for proposals; shared by the
models of the same corpus, 4 bytes a token (word). Samplers that ask for the members of a topic: 8 bytes a token more
(lists), 4 shared (document), and the tokens of the largest topic that was merged.
"""
from libc.stdint cimport int32_t

import numpy as np

from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.models.hdp_scan cimport HDPScan
from splitmerge_cli.models.hdp_state cimport LEAST, MOST

from splitmerge_cli.core.model import draw_permutation
from splitmerge_cli.core.options import Gamma, Number, PositiveOrGamma, read_options
from splitmerge_cli.core.shared import freeze
from splitmerge_cli.models.simulation import simulate_words

cdef enum:                              # of a sequential start (measured: docs/speed.md)
    SETTLED = 1_000_000                 # tokens that begin at random, at most
    FIRST_TOPICS = 100
    FIRST_SCANS = 150


def hyper_prior(value):
    """Present value, shape and rate of a hyper-parameter, a float or a `Gamma`: shape 0 of a number."""
    if isinstance(value, Gamma):
        return min(max(value.mean, LEAST), MOST), value.shape, value.rate
    return value, 0.0, 0.0


cdef class HDP(HDPScan):
    """Topics of the tokens of documents.

    Parameters
    ----------
    words : array_like of int, shape (N,)
        Word of each token, 0 .. V-1, documents one after the other.
    starts : array_like of int, shape (J + 1,)
        Tokens of document j are those from starts[j] to before starts[j + 1]; a document may have none.
    V : int
        Words of the vocabulary.
    **options
        See ``OPTIONS``.

    Raises
    ------
    ValueError
        For a parameter out of range (the message names it), or words or starts that are not as said.
    """

    kind = "documents"
    simulate = staticmethod(simulate_words)
    CALIBRATION = {"": {"options": {"eta": 0.3}, "sampler": "smag", "N": 20, "D": 5, "thin": 20}}
    OPTIONS = (
        PositiveOrGamma("gamma", "gamma(1,1)", "concentration of the topics' weights: a number, or gamma(shape,rate): "
                        "resampled", least=LEAST, most=MOST),
        PositiveOrGamma("alpha0", "gamma(1,1)", "concentration of the documents' mixtures: likewise; small: few topics "
                        "a document", least=LEAST, most=MOST),
        Number("eta", 0.1, "pseudo-count of every word in a topic; small: topics of few words", least=LEAST, most=MOST),
    )

    def __init__(self, words, starts, V, **options):
        given = read_options("model", self.OPTIONS, options)
        self.gamma, self.gamma_shape, self.gamma_rate = hyper_prior(given["gamma"])
        self.alpha0, self.alpha0_shape, self.alpha0_rate = hyper_prior(given["alpha0"])
        N = self.take_corpus(words, starts, V, given["eta"])
        self.scans_itself = True
        self._allocate(N, N)
        self.set_alpha0(self.alpha0)
        self.set_labels(np.zeros(N, dtype=np.int32))

    @classmethod
    def from_data(cls, data, **params):
        """Return the model for a Dataset with documents; raises as ``Model.from_data``."""
        cls._require(data)
        tokens = data.values.tokens
        freeze(tokens.words)
        freeze(tokens.starts)
        return cls(tokens.words, tokens.starts, data.values.V, **params)

    def start_sequentially(self, Rng rng not None, K0=None, settled=SETTLED):
        """Put the documents into topics, one after the other: a start for large corpora.

        Up to `settled` tokens: `K0` topics at random, then 150 collapsed scans, a refresh after each. Of a larger
        corpus a uniform sample of a quarter of the documents starts so, by itself; the tokens of the others follow, in
        a uniform order of the documents, each by equation 8 given the weights and all tokens placed before it; then
        scans, a third of those that the sample ended with.

        Parameters
        ----------
        rng : Rng
        K0 : int, optional
            Topics at random; default 100, or the tokens if they are less.
        settled : int

        Raises
        ------
        ValueError
            For more topics than tokens.

        Examples
        --------
        >>> from splitmerge_cli.core.rng import Rng
        >>> model = HDP([0, 0, 1, 1, 0, 0, 1, 1], [0, 2, 4, 6, 8], 2, eta=0.1)
        >>> model.start_sequentially(Rng(1), K0=2)
        >>> int(model.sizes.sum())
        8
        """
        if K0 is not None and not 1 <= K0 <= self.N:
            raise ValueError(f"K0={K0}: expected 1 to {self.N}, the number of tokens")
        self._settle(rng, K0, max(settled, 1))

    def _settle(self, Rng rng, K0, settled):
        """The start; returns the number of scans at its end."""
        cdef Py_ssize_t scans = FIRST_SCANS, _scan
        if self.N <= settled or np.count_nonzero(np.diff(self.shared[0].start)) == 1:
            first = min(self.N, FIRST_TOPICS if K0 is None else K0)
            self.set_labels(np.random.Generator(rng.bit_generator).integers(first, size=self.N, dtype=np.int32))
            self.start_parameters(rng)
        else:
            scans = self._start_from_sample(rng, K0, settled) // 3
        for _scan in range(scans):
            with nogil:
                self.own_scan(rng, 0, self.N)
                self.refresh_parameters(rng)
        return scans

    def _start_from_sample(self, Rng rng, K0, settled):
        """Start a quarter of the documents by itself, and place the others; returns the scans that the quarter ended
        with."""
        word, start = self.shared[0].word, self.shared[0].start
        order, lengths = draw_permutation(rng, self.J), np.diff(start)
        # one with tokens at least, and one is left
        n = min(int(np.searchsorted(np.cumsum(lengths[order]), max(1, self.N // 4))) + 1, self.J - 1)
        chosen = np.sort(order[:n])
        inside = np.append(0, np.cumsum(lengths[chosen]))
        tokens = np.arange(inside[-1]) + np.repeat(start[chosen] - inside[:-1], lengths[chosen])
        cdef HDP sample = HDP(word[tokens], inside, self.V, eta=self.eta,
                              gamma=Gamma(self.gamma_shape, self.gamma_rate) if self.gamma_shape else self.gamma,
                              alpha0=Gamma(self.alpha0_shape, self.alpha0_rate) if self.alpha0_shape else self.alpha0)
        scans = sample._settle(rng, K0, settled)
        labels = np.full(self.N, -1, dtype=np.int32)
        labels[tokens] = sample.labels
        self._place(rng, labels, sample.parameters, order[n:])
        return scans

    def _place(self, Rng rng not None, int32_t[::1] labels, parameters, int32_t[::1] documents):
        """Set parameters and these labels, -1 for tokens in the documents to place; then place those documents."""
        self.reset(&labels[0], len(parameters) - 3)
        self.set_parameters(parameters)
        with nogil:
            self.place_documents(rng, &documents[0], documents.shape[0])

    def prior_labels(self, generator):
        """A draw from the prior: (labels, K), ndarray of int32 of shape (N,) and int.

        The weights are broken from the stick as topics are met; a token takes the topic of an earlier one of its
        document, or one by weight.
        """
        cdef Py_ssize_t i, j, at, K = 0
        cdef double u, rest = 1.0
        labels = np.empty(self.N, dtype=np.int32)
        uniform = generator.random(self.N)
        cdef int32_t[::1] z = labels
        cdef double[::1] draw = uniform
        beta: list = []
        for j in range(self.J):
            for i in range(self.start[j], self.start[j + 1]):
                u = draw[i] * (self.alpha0 + (i - self.start[j]))
                if u >= self.alpha0:
                    at = self.start[j] + <Py_ssize_t> (u - self.alpha0)
                    z[i] = z[min(at, i - 1)]
                    continue
                u /= self.alpha0
                at = 0
                while at < K and u >= beta[at]:
                    u -= beta[at]
                    at += 1
                if at == K:
                    beta.append(rest * generator.beta(1.0, self.gamma))
                    rest -= beta[K]
                    K += 1
                z[i] = <int32_t> at
        numbered = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        return numbered, int(numbered.max()) + 1
