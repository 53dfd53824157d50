"""The end of a process that was asked to stop, whatever its threads are doing; `splitmerge_cli.interrupts` uses it."""

cdef extern from "interrupt.h":
    int interrupt_install(int number)
    int interrupt_limit(double seconds)
    void interrupt_say(const char *words, size_t length)
    int interrupt_seen


def install(numbers, double seconds):
    """Take over these signals below Python's own handlers.

    The first one sets off the Python handler of the signal and, `seconds` later, the end of the process with status
    130; a second one ends it at once.

    `seconds`: at most a day.
    """
    cdef int number
    if interrupt_limit(seconds) != 0:
        raise OSError("SIGALRM cannot be handled")
    for number in numbers:
        if interrupt_install(number) != 0:
            raise OSError(f"signal {number} cannot be handled")


def say(bytes words not None):
    """Set what is written to stderr when the process is ended; nothing by default."""
    interrupt_say(words, len(words))


def has_signal():
    """bool: whether one of the signals came."""
    return interrupt_seen != 0
