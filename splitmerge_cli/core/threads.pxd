# Tasks 0, 1, ... on several threads, each with a worker of its own.
cdef extern from "tasks.h":
    ctypedef void (*task_t)(void *worker, Py_ssize_t task) noexcept nogil


cdef class Threads:
    cdef list workers
    cdef void **contexts                # [MOST_THREADS] the same
    cdef readonly Py_ssize_t n          # workers that there are

    cdef bint lack(self, Py_ssize_t threads) noexcept nogil
    cdef int add(self, worker) except -1
    cdef void run(self, task_t task, Py_ssize_t threads, Py_ssize_t tasks) noexcept nogil
