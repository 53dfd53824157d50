/* The end of a process that was asked to stop. The first signal asks Python's handler, which runs when the main thread
   next executes bytecode; should nothing have ended by then, a timer ends the process, whatever its threads do. A second
   signal ends it at once. Everything here is safe in a signal handler and needs no interpreter lock. */
#pragma once
#include <Python.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define LAST_WORDS 4096

static volatile sig_atomic_t interrupt_seen;
static volatile sig_atomic_t interrupt_length;
static char interrupt_words[LAST_WORDS];
static struct itimerval interrupt_patience;

static void interrupt_end(int number)
{
    (void)number;
    /* bars of progress hide the cursor */
    if (isatty(2) && write(2, "\x1b[?25h", 6) < 0)
        _exit(130);
    if (interrupt_length > 0 && write(2, interrupt_words, (size_t)interrupt_length) < 0)
        _exit(130);
    _exit(130);
}

static void interrupt_ask(int number)
{
    if (interrupt_seen)
        interrupt_end(number);
    interrupt_seen = 1;
    setitimer(ITIMER_REAL, &interrupt_patience, NULL);
    PyErr_SetInterruptEx(number);
}

static int interrupt_handle(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL);
}

static int interrupt_install(int number)
{
    return interrupt_handle(number, interrupt_ask);
}

static int interrupt_limit(double seconds)
{
    interrupt_patience.it_value.tv_sec = (time_t)seconds;
    interrupt_patience.it_value.tv_usec = (suseconds_t)(1e6 * (seconds - (double)(time_t)seconds));
    return interrupt_handle(SIGALRM, interrupt_end);
}

/* What is written when the process is ended; at most LAST_WORDS bytes of it. */
static void interrupt_say(const char *words, size_t length)
{
    interrupt_length = 0;
    if (length > LAST_WORDS)
        length = LAST_WORDS;
    memcpy(interrupt_words, words, length);
    interrupt_length = (sig_atomic_t)length;
}
