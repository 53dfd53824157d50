"""What some models have beside a partition, each a small interface that a model takes on by being of its class.

*coupled* (a flag of every model): the likelihood of a cluster depends on the others; ``stage`` and ``log_pair_lik``.
*vectors* (an attribute of every model): the items as vectors, which can be hashed.
`Uncollapsed`: parameters of clusters that are not integrated out. `Weighted`: weights of clusters, part of the state.
`Topics`: tokens of words in documents, whose topics' distributions over words can be drawn.
`PlugIn`: the density of an item given a cluster's estimated parameters.
"""
from libc.math cimport NAN
from libc.stdlib cimport free


cdef class Uncollapsed(Model):
    """A model that may keep the parameters of its clusters (``conjugate`` is then false).

    Parameters of a cluster are copied with its statistics by ``copy``, and are left alone by ``clear``, ``add``,
    ``remove`` and ``absorb``.
    """

    cdef void draw_parameters(self, Rng rng, Py_ssize_t k) noexcept nogil:
        """Parameters of column k, from their prior."""
        pass

    cdef void copy_parameters(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        pass

    cdef void commit_merge(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Clusters i and j become one, numbered min(i, j), with the parameters of j."""
        if not self.conjugate:
            self.copy_parameters(j, i if i < j else j)
        Model.commit_merge(self, i, j)


cdef class Weighted(Model):
    """A model whose clusters have weights, which groups of items share: part of the state, in the place of a prior of
    the partition (HDP)."""

    def __dealloc__(self):
        free(self.log_beta)

    cdef bint divide(self, Rng rng, Py_ssize_t c, Py_ssize_t a, double p, double q) noexcept nogil:
        """Give scratch columns a and a + 1 the shares u and 1 - u of the weight of cluster c, u ~ Beta(p, q); False if
        one of them got nothing."""
        return True

    cdef void set_weight(self, Py_ssize_t k, double log_beta) noexcept nogil:
        """Set the weight of scratch column k."""
        pass

    cdef double expected_tables(self, Py_ssize_t k, double log_beta) noexcept nogil:
        """Tables to expect of scratch column k, if its weight were this."""
        return NAN

    cdef void refresh_weights(self, Rng rng) noexcept nogil:
        """Draw the weights of all clusters given the partition and the present weights."""
        pass

    cdef double log_configuration(self) noexcept nogil:
        """Log prior of the partition given the weights, as Rana et al. 2013 prints it (equation 11)."""
        return NAN

    @property
    def refreshes(self):
        """bool: whether the state holds more than the partition: the weights, always."""
        return True


cdef class Topics(Weighted):
    """Topics of the tokens of documents: token i is word w(i), a document has tokens in a row. Given the weights and
    the distributions phi of topics over words, documents are independent, and of the tokens of one

        P(z_i = k | the others) is proportional to (alpha0 beta_k + n_jk) phi_k(w(i))
    """

    cdef void draw_word(self, Rng rng, Py_ssize_t w, double *row) noexcept nogil:
        """row[k], k below K: phi_k(w) given the tokens of topic k, up to a factor of the topic: its sum over all words.
        Called once for every word; safe in several threads, on different words."""
        pass

    cdef void count_topics(self, Py_ssize_t w, const int32_t *counts) noexcept nogil:
        """Word w will have counts[k] tokens in topic k: its present ones may be forgotten; safe in several threads,
        on different words. Called for every word, then ``make_room``, then ``set_counts`` for every word."""
        pass

    cdef int make_room(self) except -1 nogil:
        return 0

    cdef void set_counts(self, Py_ssize_t w, const int32_t *counts) noexcept nogil:
        """Set the same counts; safe in several threads, on different words."""
        pass

    cdef void labels_drawn(self) noexcept nogil:
        """`z`, `size` and the counts of all words are those of new labels; K is as before and no topic is empty: bring
        what else follows them up to date."""
        pass


cdef class PlugIn(Model):
    """A model whose clusters may have a place among the vectors."""

    cdef void locate(self, Py_ssize_t k, double *mean) noexcept nogil:
        """mean[:D]: posterior mean of the mean of cluster k, in the units of ``vectors``."""
        pass

    cdef double log_plug_in(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Log density of item i with the parameters of cluster k put at their estimates."""
        return NAN
