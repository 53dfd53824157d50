# Log marginal likelihoods of what joins two blocks, or is within one. See cells.h.
from libc.stdint cimport int32_t, int64_t

cdef extern from "cells.h":
    enum:
        FAR_BITS
        MOST_SLOTS
        EXACT_EDGES
        RATES
        SCATTERED
        NO_VALUES
        REAL_VALUES
        LEVEL_VALUES "LEVELS"
    ctypedef struct far_t:
        int64_t m
    ctypedef struct rise_t:
        far_t *far
        const int64_t *at
        int64_t length
        long double base
        long double b
        long double per
    ctypedef struct beta_t:
        rise_t edge
        rise_t gap
        rise_t pair
        double mean
        double weight
        int near
    ctypedef struct part_t:
        int edges
        int values
        int slot
        int unknown
        int n_levels
        int first
        int directed
        int loops
        int corrected
        int log_row
        beta_t between
        beta_t within
        rise_t rise
        double shape
        double rate
        double offset
        double exposure
        double precision
        double per
        const double *half
        double kappa0
        double a0
        double b0
        double step
        double square
        rise_t level
        rise_t all_levels
    ctypedef struct form_t:
        part_t *part
        int n
        int V
        int sided
        int plain
    ctypedef struct row_t:
        const int64_t *row
        const int64_t *add
        int every
        const int32_t *n0
        const int32_t *n1
        Py_ssize_t K
        Py_ssize_t a
        Py_ssize_t b
        int64_t d0
        int64_t d1
        int64_t b0
        int64_t b1
    int64_t cell_lik(const form_t *f, const int64_t *cell, int64_t m) noexcept nogil
    int64_t within_lik(const form_t *f, const int64_t *cell, int64_t n0, int64_t n1) noexcept nogil
    void fill_logs(const form_t *f, const row_t *r, double *logs, Py_ssize_t cap) noexcept nogil
    void fill_row(const form_t *f, const row_t *r, const double *logs, Py_ssize_t cap, int64_t *out) noexcept nogil
    int64_t sum_row(const form_t *f, const row_t *r, int64_t *room) noexcept nogil
    void add_gains(const form_t *f, const row_t *r, const int64_t *zero, const double *logs, Py_ssize_t cap,
                   int64_t *out) noexcept nogil
    int64_t add_own(const form_t *f, const int64_t *row, const int64_t *edges, const int32_t *n0, Py_ssize_t K,
                    Py_ssize_t a, int64_t m, int64_t c, const int64_t *now, const int64_t *zero,
                    int64_t *score) noexcept nogil
    Py_ssize_t count_neighbours(const int32_t *neighbour, Py_ssize_t n, const int32_t *z, int64_t *count,
                                int32_t *touched) noexcept nogil
    void add_numbers(const int64_t *row, Py_ssize_t K, int64_t *score) noexcept nogil
    double log_gamma(double x) noexcept nogil
    double log_rising(double x, double n) noexcept nogil
    int64_t part_lik(const part_t *p, const int64_t *cell, int64_t m, int own) noexcept nogil
    void fill_rise(rise_t *t, double b) noexcept nogil
    int64_t pairs_between(int64_t a0, int64_t a1, int64_t b0, int64_t b1, int sided) noexcept nogil
