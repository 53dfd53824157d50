"""Numbers of clusters, a column each, and what a change of a cluster does to them.

Who keeps such numbers names each array once, with what its numbers are (``keep``), and how an item counts (``tell``);
room for more columns, and columns that are emptied, copied, joined and sent elsewhere, follow. Sums are of whole
numbers, so that adding and taking out leave no trace (docs/decisions/0006).
"""
from libc.string cimport memset


cdef extern from "fixed_point.h":
    ctypedef struct whole:
        pass

cdef extern from *:
    """
    #include <string.h>
    static const int form_bytes[] = {4, 8, 8, 16, 8, 8, 4, 1, 1};

    /* Numbers that are `step` apart. */
    #define EACH(type, term) for (ptrdiff_t t = 0; t < n; t++) ((type *)to)[t * step] = term

    static inline void zero_numbers(int bytes, void *to, ptrdiff_t step, ptrdiff_t n)
    {
        if (step == 1)
            memset(to, 0, bytes * n);
        else if (bytes == 16)
            EACH(whole, 0);
        else if (bytes == 8)
            EACH(int64_t, 0);
        else
            EACH(int32_t, 0);
    }

    static inline void copy_numbers(int bytes, const void *from, void *to, ptrdiff_t step, ptrdiff_t n)
    {
        if (step == 1)
            memcpy(to, from, bytes * n);
        else if (bytes == 16)
            EACH(whole, ((const whole *)from)[t * step]);
        else if (bytes == 8)
            EACH(int64_t, ((const int64_t *)from)[t * step]);
        else
            EACH(int32_t, ((const int32_t *)from)[t * step]);
    }

    #define EACH_SUM(type) \\
        for (ptrdiff_t t = 0; t < n; t++) ((type *)to)[t * step] += sign * ((const type *)from)[t * from_step]

    static inline void add_numbers(int form, const void *from, ptrdiff_t from_step, void *to, ptrdiff_t step,
                                   ptrdiff_t n, int sign)
    {
        switch (form) {
        case 0: EACH_SUM(int32_t); break;
        case 1: EACH_SUM(int64_t); break;
        case 2: EACH_SUM(double); break;
        default: EACH_SUM(whole);
        }
    }
    """
    const int *form_bytes
    void zero_numbers(int bytes, void *to, Py_ssize_t step, Py_ssize_t n) noexcept nogil
    void copy_numbers(int bytes, const void *source, void *to, Py_ssize_t step, Py_ssize_t n) noexcept nogil
    void add_numbers(int form, const void *source, Py_ssize_t source_step, void *to, Py_ssize_t step, Py_ssize_t n,
                     int sign) noexcept nogil


cdef inline Py_ssize_t step_of(block_t *b, Py_ssize_t cap) noexcept nogil:
    """How far apart the numbers of a column are."""
    return cap if b.layout == BY_ROW else 1 if b.layout == BY_COLUMN else 8


cdef inline char *column_of(block_t *b, Py_ssize_t k) noexcept nogil:
    """The first number of column k."""
    cdef Py_ssize_t first = k
    if b.layout == BY_COLUMN:
        first = k * b.numbers
    elif b.layout == BY_LANE:
        first = (k >> 3) * 8 * b.numbers + (k & 7)
    return <char *> b.at[0] + first * form_bytes[b.form]


cdef class Sums:
    """Arrays with a column for each cluster, live or scratch; an abstract class.

    It supplies ``tell``, or ``add`` and ``remove``; whatever else is not as the forms say, it overrides.
    """

    def __cinit__(self, *args, **kwargs):
        self.memory = Memory()

    cdef int keep(self, void *at, Form form, Py_ssize_t numbers=1, Layout layout=BY_ROW) except -1:
        """Keep so many numbers of each column in an array, whose address is kept here; before there are columns."""
        if self.n_blocks == MOST_BLOCKS or self.n_marks == MOST_MARKS and form >= MARK:
            raise RuntimeError(f"{type(self).__name__}: too many arrays")
        self.block[self.n_blocks] = block_t(<void **> at, numbers, form, layout)
        self.n_blocks += 1
        if form >= MARK:
            self.mark[self.n_marks] = <int8_t **> at
            self.n_marks += 1
        return 0

    cdef int widen(self, Py_ssize_t cap) except -1:
        """Have `cap` columns."""
        self.grow(cap)
        self.cap = cap
        return 0

    cdef int grow(self, Py_ssize_t cap) except -1:
        """Make room for `cap` columns, keeping the present ``self.cap`` columns."""
        cdef Py_ssize_t t, row, rows
        cdef block_t *b
        for t in range(self.n_blocks):
            b = &self.block[t]
            row, rows = form_bytes[b.form] * b.numbers, 1
            if b.layout == BY_ROW:
                row, rows = form_bytes[b.form], b.numbers
            b.at[0] = self.memory.larger_rows(b.at[0], row * self.cap, row * cap, rows, rows)
            if b.form >= MARK:
                memset(<char *> b.at[0] + self.cap, True, cap - self.cap)
        return 0

    cdef void clear(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t t
        cdef block_t *b
        for t in range(self.n_blocks):
            b = &self.block[t]
            if b.form <= WHOLES:
                zero_numbers(form_bytes[b.form], column_of(b, k), step_of(b, self.cap), b.numbers)
        self.mark_changed(k)

    cdef void tell(self, Py_ssize_t i, Py_ssize_t k, int sign) noexcept nogil:
        """Count item i in column k, or with a `sign` of -1 no longer; ``size`` has changed, marks are set later."""
        if sign > 0:
            self.add(i, k)
        else:
            self.remove(i, k)

    cdef void add(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.tell(i, k, 1)
        self.mark_changed(k)

    cdef void remove(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        self.tell(i, k, -1)
        self.mark_changed(k)

    cdef void copy(self, Py_ssize_t src, Py_ssize_t dst) noexcept nogil:
        cdef Py_ssize_t t
        cdef block_t *b
        for t in range(self.n_blocks):
            b = &self.block[t]
            if b.form <= COPIED:
                copy_numbers(form_bytes[b.form], column_of(b, src), column_of(b, dst), step_of(b, self.cap), b.numbers)
            elif b.form >= MARK:
                column_of(b, dst)[0] = b.form == STALE or column_of(b, src)[0]

    cdef void absorb(self, Py_ssize_t dst, Py_ssize_t src, int sign) noexcept nogil:
        """Add what column `src` counts to column `dst`, or with a `sign` of -1 take it out."""
        cdef Py_ssize_t t, step
        cdef block_t *b
        for t in range(self.n_blocks):
            b = &self.block[t]
            if b.form <= WHOLES:
                step = step_of(b, self.cap)
                add_numbers(b.form, column_of(b, src), step, column_of(b, dst), step, b.numbers, sign)
        self.mark_changed(dst)

    # -- columns that are sent elsewhere: sums in the order in which they are kept, of 16 bytes first
    cdef Py_ssize_t packed_bytes(self) noexcept nogil:
        """Bytes of a packed column."""
        cdef Py_ssize_t t, total = 0
        for t in range(self.n_blocks):
            if self.block[t].form <= WHOLES:
                total += form_bytes[self.block[t].form] * self.block[t].numbers
        return (total + 15) // 16 * 16

    cdef void pack(self, Py_ssize_t k, char *to) noexcept nogil:
        """Write the sums of column k, one behind the other."""
        cdef Py_ssize_t t
        memset(to, 0, self.packed_bytes())
        for t in range(self.n_blocks):
            if self.block[t].form <= WHOLES:
                add_numbers(self.block[t].form, column_of(&self.block[t], k), step_of(&self.block[t], self.cap), to, 1,
                            self.block[t].numbers, 1)
                to += form_bytes[self.block[t].form] * self.block[t].numbers

    cdef void add_packed(self, Py_ssize_t k, const char *packed) noexcept nogil:
        """Add to column k what ``pack`` wrote."""
        cdef Py_ssize_t t
        for t in range(self.n_blocks):
            if self.block[t].form <= WHOLES:
                add_numbers(self.block[t].form, packed, 1, column_of(&self.block[t], k),
                            step_of(&self.block[t], self.cap), self.block[t].numbers, 1)
                packed += form_bytes[self.block[t].form] * self.block[t].numbers
        self.mark_changed(k)
