"""Tasks on several threads. What a task does may not depend on the worker that does it, nor on the order of tasks."""
from libc.stdlib cimport free

from splitmerge_cli.core.memory cimport doubles

cdef extern from "tasks.h":
    enum:
        MOST_THREADS
    void tasks_run(task_t task, void **workers, Py_ssize_t threads, Py_ssize_t tasks) noexcept nogil


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
