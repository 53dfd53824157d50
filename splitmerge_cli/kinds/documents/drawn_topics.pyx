"""Gibbs scan of the topics of all tokens given drawn distributions over words (Rana et al. 2013, section 3.2).

A step draws the distribution phi_k over words of each topic given its tokens, then the topic of each token, one after
the other; phi is forgotten afterwards, so that the posterior of topics and weights stays. Equation 8:

    P(z_i = k) proportional to (alpha0 beta_k + n_jk) phi_k(w(i)),      n_jk without token i
    P(z_i new) proportional to  alpha0 beta_u         phi_u(w(i)),      phi_u from its prior, another for each token

A new topic has phi_u and the share b ~ Beta(1, gamma) of beta_u. The paper does not say what becomes of a topic whose
only token is i. Here its phi is phi_u (Neal 2000, Algorithm 8 with one auxiliary component):

    P(z_i = k) proportional to  alpha0 (beta_k + beta_u) phi_k(w(i))    in place of both

An emptied topic and a drawn phi_u, both on offer, would not leave the posterior as it is: the way back has one of them.
Given the token in its own topic alone, beta_k / (beta_k + beta_u) is Beta(1, gamma), whatever else there is.

phi_u(w) alone decides, so it is drawn first, Beta(eta, (V - 1) eta), and the rest of phi_u when the topic opens.
Derivation: docs/derivations-topics.md, "Topics with drawn words".

Cost: V K gamma draws, then K products a token. Memory: 8 V K bytes.
"""
from libc.math cimport INFINITY, exp, log, log1p
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from splitmerge_cli.core.log_scale cimport log_add
from splitmerge_cli.core.sampler cimport Sampler
from splitmerge_cli.kinds.documents.hdp_state cimport HDPState

cdef enum:
    LABELS                              # MOVES

cdef double LOG_NOTHING = log(2.0 ** -53)


cdef class DrawnTopics(Sampler):
    """Gibbs scan of all tokens given the topics' distributions over words, which are drawn. The move `labels` counts
    tokens as proposed, and as accepted if they changed their topic."""

    OPTIONS = (*Sampler.OPTIONS,)
    MOVES = ("labels",)
    DIVIDES_WEIGHTS = True
    DRAWS_FROM_CONTINUUM = True

    cdef HDPState topics
    cdef Py_ssize_t room                # topics, one of which may open
    cdef double *phi                    # [room, V]
    cdef double *drawn                  # [room] what is drawn of a word
    cdef double *w                      # [room] weights of a draw
    cdef int32_t *here                  # [room] n_jk of the document at hand

    def __init__(self, model, rng, **options):
        super().__init__(model, rng, **options)
        self.topics = model
        self.scans = 0

    @classmethod
    def supports(cls, model):
        """Whether distributions over words can be drawn: (bool, reason)."""
        able, reason = super().supports(model)
        if able and not isinstance(model, HDPState):
            return False, "it draws the distributions over words of topics (model=hdp)"
        return able, reason

    cdef int need(self, Py_ssize_t K) except -1 nogil:
        """Room for K topics and a new one."""
        cdef Py_ssize_t room = self.room, V = self.topics.V
        if K + 1 <= room:
            return 0
        with gil:
            self.room = K + 1 + K // 2
            self.phi = <double *> self.memory.larger(self.phi, 8 * room * V, 8 * self.room * V)
            self.drawn = <double *> self.memory.larger(self.drawn, 0, 8 * self.room)
            self.w = <double *> self.memory.larger(self.w, 8 * room, 8 * self.room)
            self.here = <int32_t *> self.memory.larger(self.here, 4 * room, 4 * self.room)
        memset(self.here + room, 0, (self.room - room) * sizeof(int32_t))
        return 0

    cdef void draw_words(self) noexcept nogil:
        """phi of all topics, given their tokens."""
        cdef Py_ssize_t k, v, V = self.topics.V
        cdef double total
        for v in range(V):
            self.topics.draw_word(self.rng, v, self.drawn)
            for k in range(self.topics.K):
                self.phi[k * V + v] = self.drawn[k]
        for k in range(self.topics.K):
            total = 0.0
            for v in range(V):
                total += self.phi[k * V + v]
            for v in range(V):
                self.phi[k * V + v] /= total

    cdef int make_step(self) except -1 nogil:
        cdef Py_ssize_t i, j, t, changed = 0
        self.propose(LABELS)
        self.need(self.topics.K)
        self.draw_words()
        for j in range(self.topics.J):
            if self.rng.is_halted:
                break
            memset(self.here, 0, self.topics.K * sizeof(int32_t))
            for t in range(self.topics.start[j], self.topics.start[j + 1]):
                self.here[self.topics.z[t]] += 1
            for i in range(self.topics.start[j], self.topics.start[j + 1]):
                changed += self.draw_topic(i)
        memset(self.here, 0, self.topics.K * sizeof(int32_t))
        self.topics.version += 1
        memset(self.topics.is_valid, 0, self.topics.K)
        self.proposed[LABELS] += self.topics.N - 1
        self.accepted[LABELS] += changed
        return 0

    cdef int draw_topic(self, Py_ssize_t i) except -1 nogil:
        """The topic of token i, of the document at hand; whether it changed."""
        cdef Py_ssize_t k, V = self.topics.V, K = self.topics.K, old = self.topics.z[i], v = self.topics.word[i]
        cdef bint alone = self.topics.size[old] == 1
        cdef double unseen = 0.0, both
        self.here[old] -= 1
        for k in range(K):
            self.w[k] = (self.topics.alpha0 * exp(self.topics.log_beta[k]) + self.here[k]) * self.phi[k * V + v]
        if alone:
            both = log_add(self.topics.log_beta[old], self.topics.log_unseen)
            self.w[old] = self.topics.alpha0 * exp(both) * self.phi[old * V + v]
        else:
            unseen = self.rng.draw_beta(self.topics.eta, (V - 1) * self.topics.eta) if V > 1 else 1.0
            self.w[K] = self.topics.alpha0 * exp(self.topics.log_unseen) * unseen
        k = self.rng.draw_categorical(self.w, K + (not alone))
        if k == K:
            self.open_topic(v, unseen)
        self.here[k] += 1
        if k == old:
            return 0
        self.topics.size[old] = self.topics.size[old] - 1
        self.topics.size[k] = self.topics.size[k] + 1
        self.topics.hand_over(i, old, k)
        if alone:
            self.close_topic(old)
        return 1

    cdef int open_topic(self, Py_ssize_t v, double unseen) except -1 nogil:
        """A topic whose probability of word v is known."""
        cdef Py_ssize_t k = self.topics.K, V = self.topics.V, word
        cdef double total = 0.0, top = -INFINITY, b, rest, log_unseen = self.topics.log_unseen
        cdef double *phi
        self.topics.append_empty()
        self.need(k + 1)
        phi = self.phi + k * V
        b = self.rng.draw_beta(1.0, self.topics.gamma)
        self.topics.log_beta[k] = log_unseen + log(b)
        # where 1 - b is less than a double shows, its logarithm goes on from there
        rest = log1p(-b) if b < 1.0 else LOG_NOTHING + log1p(-self.rng.next()) / self.topics.gamma
        self.topics.log_unseen = log_unseen + rest
        self.here[k] = 0
        for word in range(V):
            phi[word] = 0.0 if word == v else self.rng.draw_gamma(self.topics.eta)
            total += phi[word]
        if total == 0.0 and V > 1:
            # all are less than any double: their logarithms are drawn
            for word in range(V):
                phi[word] = log1p(-self.rng.next()) / self.topics.eta if word != v else -INFINITY
                top = max(top, phi[word])
            for word in range(V):
                phi[word] = exp(phi[word] - top)
                total += phi[word]
        for word in range(V):
            phi[word] *= (1.0 - unseen) / total if total > 0.0 else 0.0
        phi[v] = unseen
        return 0

    cdef void close_topic(self, Py_ssize_t k) noexcept nogil:
        """Topic k has no token any more: its weight goes back, the last topic takes its number."""
        cdef Py_ssize_t last = self.topics.K - 1, V = self.topics.V
        self.topics.delete(k)
        self.here[k] = self.here[last]
        self.here[last] = 0
        memcpy(self.phi + k * V, self.phi + last * V, V * sizeof(double))
