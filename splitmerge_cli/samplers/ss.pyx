"""Smart-smart split-merge (paper 000, sections 4, 5.1): smart split of Algorithm 2, smart merge of Algorithm 3.

The exact log ratio of a split K -> K+1 of cluster c into (A, B) is log Delta + log reverse - log forward; a merge is
its inverse:

    forward                     reverse, EMM        reverse, no empty clusters
    2 f_split(c) p_seq(A, B)    f(B|A) + f(A|B)     [f(B|A) + f(A|B)] / (K+1)

The paper introduces it to show how the two smart proposals defeat each other. Terms, cost, derivation as in ``sdds``.
"""
from libc.math cimport log

from splitmerge_cli._smart cimport FORWARD, LABELS, REVERSE, TARGET, SmartMoves

cdef double LOG2 = log(2.0)

cdef enum:
    SMART_SPLIT, SMART_MERGE


cdef class SS(SmartMoves):
    """Smart-smart sampler.

    Parameters
    ----------
    model : Model
    rng : Rng
    mode : {'exact', 'literal'}
    """

    MOVES = ("smart_split", "smart_merge")

    cdef int make_step(self) except -1 nogil:
        """Line 2 of Algorithms 2 and 3: split or merge."""
        return self.smart_merge() if self.rng.draw_index(2) == 1 else self.smart_split()

    cdef int smart_split(self) except -1 nogil:
        """Algorithm 2, lines 3-7."""
        cdef Py_ssize_t c, n, K = self.model.K
        cdef double log_q, r
        self.propose(SMART_SPLIT)
        if K == self.model.kmax:
            return self.null()
        c = self.draw_smart_split(&n, &log_q)
        if c < 0:
            return self.null()
        r = (self.term(TARGET, self.log_split_ratio(c, K, K + 1))
             + self.term(LABELS, self.log_label_term(K))
             - self.term(FORWARD, LOG2 + log_q)
             + self.term(REVERSE, self.log_orders(K + 1) - log(<double> (K + 1))
                         + self.log_f_merge_both(K, K + 1, self.model.lik(c), c)))
        if self.decide(r):
            self.accept_split(c, n, -1)
        return 0

    cdef int smart_merge(self) except -1 nogil:
        """Algorithm 3, lines 3-5."""
        cdef Py_ssize_t i, j, K = self.model.K
        cdef double r
        self.propose(SMART_MERGE)
        if K == 1:
            return self.null()
        i = self.rng.draw_index(K)
        j = self.choose_partner(i)
        r = (self.term(TARGET, self.log_merge_ratio(i, j))
             - self.term(LABELS, self.log_label_term(K - 1))
             + self.term(FORWARD, LOG2 + self.log_f_split_of_union(i, j) + self.log_p_seq_of_pair(i, j))
             - self.term(REVERSE, self.log_orders(K) - log(<double> K)
                         + self.log_f_merge_both(i, j, self.model.log_pair_lik(i, j), -1)))
        if self.decide(r):
            self.model.commit_merge(i, j)
        return 0
