# State of a hierarchical Dirichlet process. See hdp_state.pyx.
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t

from splitmerge_cli.core.capabilities cimport Weighted
from splitmerge_cli.core.rng cimport Rng
from splitmerge_cli.kinds.documents.word_counts cimport WordCounts

cdef enum:
    SLOTS = 3                           # scratch columns

# the least and the largest value of a hyper-parameter
cdef double LEAST, MOST


cdef class Topics(Weighted):
    cdef readonly Py_ssize_t V, J       # words of the vocabulary, documents
    cdef const int32_t *word            # [N]
    cdef const int64_t *start           # [J + 1] tokens of document j begin here
    cdef readonly double alpha0         # concentration of the documents' mixtures

    cdef void draw_word(self, Rng rng, Py_ssize_t w, double *row) noexcept nogil
    cdef void count_topics(self, Py_ssize_t w, const int32_t *counts) noexcept nogil
    cdef int make_room(self) except -1 nogil
    cdef void set_counts(self, Py_ssize_t w, const int32_t *counts) noexcept nogil
    cdef void take_labels(self) noexcept nogil


cdef class HDPState(Topics):
    # -- the corpus
    cdef const int32_t *doc             # [N], or NULL: then documents are searched for
    cdef Py_ssize_t longest             # tokens of the longest document
    cdef WordCounts counts              # n_kw
    cdef int32_t *pairs                 # [cap, 2] pairs of the word at hand
    # -- lists of members, of models with samplers that ask for them
    cdef bint listed                    # they are up to date
    # -- weights and hyper-parameters
    cdef readonly double gamma, eta
    cdef double gamma_shape, gamma_rate, alpha0_shape, alpha0_rate
    cdef double mass                    # V eta
    # -- tables: log <eta>_n; log <alpha0>_n, valid for the present alpha0
    cdef const double *log_eta          # [most tokens of a word + 1]
    cdef double *log_alpha0             # [longest + 1]
    cdef double log_documents           # sum over documents of log <alpha0>_{n_j}
    # -- numbers of tokens n_jk > 0, topic by topic, documents ascending; of the partition of version `paired`
    cdef int32_t *n_doc                 # [n_doc_room]
    cdef int64_t n_doc_room
    cdef int64_t *n_doc_start           # [cap + 1]
    cdef int64_t paired
    cdef int32_t *longer                # [longest + 2] zeros; documents by their number of tokens of a topic
    # -- the document at hand
    cdef int32_t *here                  # [cap] n_jk
    cdef int32_t *topics                # [cap] topics of the document
    cdef Py_ssize_t n_topics
    cdef int32_t *number                # [cap] new numbers of topics
    cdef double *total                  # [cap] sums by topic
    # -- scratch columns K, K + 1, K + 2
    cdef int32_t *side_word[SLOTS]      # [V] n_w
    cdef int8_t *word_seen[SLOTS]       # [V]
    cdef int32_t *words_seen[SLOTS]     # [V] words that were counted, in the order of their first tokens
    cdef Py_ssize_t n_words[SLOTS]
    cdef int32_t *side_doc[SLOTS]       # [J] the same of documents
    cdef int8_t *doc_seen[SLOTS]
    cdef int32_t *docs_seen[SLOTS]
    cdef Py_ssize_t n_docs[SLOTS]
    cdef double side_prior[SLOTS]       # alpha0 times the weight
    cdef int32_t *buffer                # [buffer_room] members of a topic
    cdef Py_ssize_t buffer_room
    cdef Py_ssize_t held                # the topic that the last scratch column holds, in the partition of this version
    cdef int64_t held_version
    cdef double *rise[SLOTS]            # [longest + 1] log <a>_n of three weights

    cdef int take_corpus(self, words, starts, V, double eta) except -1
    # -- counts
    cdef void count_topic(self, Py_ssize_t k, Py_ssize_t column) noexcept nogil
    cdef double log_words(self, Py_ssize_t n) noexcept nogil
    cdef void count_documents(self) noexcept nogil
    cdef void enter(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t tally(self, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t most_in_a_document(self, Py_ssize_t s) noexcept nogil
    # -- weights
    cdef void set_alpha0(self, double value) noexcept nogil
    cdef void set_weight(self, Py_ssize_t k, double log_beta) noexcept nogil
    cdef void rises(self, double log_beta, Py_ssize_t n, double *out) noexcept nogil
    cdef double log_divided_prior(self, double log_beta) noexcept nogil
    cdef double log_risings(self) noexcept nogil
    cdef int64_t draw_tables(self, Rng rng) noexcept nogil
    cdef void draw_alpha0(self, Rng rng, int64_t tables) noexcept nogil
    cdef void draw_gamma(self, Rng rng, int64_t tables) noexcept nogil
    cdef void draw_weights(self, Rng rng) noexcept nogil
    # -- changes of the state
    cdef void link_all(self) noexcept nogil
    cdef void hand_over(self, Py_ssize_t i, Py_ssize_t old, Py_ssize_t k) noexcept nogil
    cdef bint take_number(self, Py_ssize_t k) noexcept nogil
    cdef void renumber(self, Py_ssize_t K) noexcept nogil

    @cython.final
    cdef inline Py_ssize_t document(self, Py_ssize_t i) noexcept nogil:
        """The document of token i."""
        cdef Py_ssize_t low = 0, high = self.J - 1, middle
        if self.doc != NULL:
            return self.doc[i]
        while low < high:
            middle = (low + high) >> 1
            if self.start[middle + 1] <= i:
                low = middle + 1
            else:
                high = middle
        return low
