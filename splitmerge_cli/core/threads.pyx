"""Work on several threads: tasks, and random numbers by counter. What a task does may depend neither on the worker that
does it, nor on the order of tasks; nor may what is drawn for an item or a cluster.

Philox4x64-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"). A step that works in
several threads draws one key from its chain's generator; every item, cluster and purpose has counters of its own.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free

from splitmerge_cli.core.memory cimport doubles

cdef extern from "tasks.h":
    enum:
        MOST_THREADS
    void tasks_run(task_t task, void **workers, Py_ssize_t threads, Py_ssize_t tasks) noexcept nogil

cdef extern from "philox.h":
    uint64_t philox_next(void *state) noexcept nogil
    uint32_t philox_next32(void *state) noexcept nogil
    double philox_next_double(void *state) noexcept nogil


cdef class Stream:
    """A generator with many streams for each key, set to the beginning of one."""

    def __cinit__(self):
        self.bits.state = &self.state
        self.bits.next_uint64 = philox_next
        self.bits.next_uint32 = philox_next32
        self.bits.next_double = philox_next_double
        self.bits.next_raw = philox_next
        self.rng = Rng(0)
        # this stream in the place of its own, which is never read
        self.rng.bg = &self.bits

    cdef void begin(self, const uint64_t *key, uint64_t number, uint64_t purpose) noexcept nogil:
        """Go to the beginning of stream `number` for this purpose."""
        self.state.key[0], self.state.key[1] = key[0], key[1]
        self.state.counter[0] = 0
        self.state.counter[1] = number
        self.state.counter[2] = purpose
        self.state.counter[3] = 0
        self.state.left = 0


cdef class Threads:
    """Workspaces of threads, and the tasks that they take as they come free."""

    def __cinit__(self):
        self.workers = []
        self.contexts = <void **> doubles(MOST_THREADS)

    def __dealloc__(self):
        free(self.contexts)

    cdef bint lack(self, Py_ssize_t threads) noexcept nogil:
        """Whether so many threads need more workers than there are."""
        return self.n < min(max(threads, 1), MOST_THREADS)

    cdef int add(self, worker) except -1:
        """One more worker: scratch of a thread, an object that the task casts to its class."""
        self.workers.append(worker)
        self.contexts[self.n] = <void *> worker
        self.n += 1
        return 0

    cdef void run(self, task_t task, Py_ssize_t threads, Py_ssize_t tasks) noexcept nogil:
        """Do tasks 0, 1, ..., tasks - 1, on at most so many threads; back when all are done."""
        tasks_run(task, self.contexts, min(max(threads, 1), self.n), tasks)
