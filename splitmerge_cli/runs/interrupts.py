"""Ctrl-C, SIGTERM and SIGHUP: all three ask the program to stop, and it stops within `PATIENCE` seconds; and the errors
of runs that were not completed.

The command line imports this before anything else, so that an interruption of the other imports is answered too; what
takes time to import is therefore imported late.
"""

import signal
import sys

from splitmerge_cli.core import interrupt as _interrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask the program to stop."""
PATIENCE = 1.7
"""Seconds that the command line has to stop in an orderly way; then its process is ended. What is on the disk is whole
at any time."""
ANSWER = 5.0
"""Seconds for the clusters of an interrupted run; a second signal ends the process at once."""
STATUS = 130
"""Exit status of a program that was asked to stop."""

SAID = "smcmc: interrupted"
"""Line that a process that has to be ended writes to stderr, unless there is more to say."""

_taken: list[int] = []
"""Signals that `take_over` took."""


def take_over(tells: bool = True) -> None:
    """Let all three signals raise `KeyboardInterrupt`, and end the process where that does not end it in time.

    For a process that is the program's own, never for one that only uses its library. A signal that the process was
    started to ignore (``nohup``, ``&`` in a script) stays ignored. `tells`: whether a process that has to be ended
    reports that on stderr.
    """
    global _tells
    _tells = tells
    _taken[:] = [number for number in NUMBERS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in _taken:
        signal.signal(number, signal.default_int_handler)
    say(SAID)
    _interrupt.install(_taken, PATIENCE)


_words = ""
_tells = False
_kept = False
"""Whether `Saying` set the line."""


def say(words: str) -> None:
    """Set the line that is written should the process have to be ended; empty: none."""
    global _words
    if _kept:
        return
    words = words if _tells else ""
    _words = words
    _interrupt.say(f"{words}\n".encode(errors="backslashreplace") if words else b"")


class Saying:
    """Context in which that line is `words`, whatever the runs that are made in it set."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __enter__(self) -> None:
        global _kept
        say(self._words)
        _kept = True

    def __exit__(self, *error: object) -> None:
        global _kept
        _kept = False
        say(SAID)


def tell() -> None:
    """Write that line now, unless it was written."""
    words = _words
    say("")
    if words:
        print(words, file=sys.stderr)


def allow(seconds: float) -> None:
    """Give a program that was asked to stop, and stops, so many seconds more to print what it has."""
    if _taken and is_interrupted():
        signal.setitimer(signal.ITIMER_REAL, seconds)


def is_interrupted() -> bool:
    """Whether the program was asked to stop, where `take_over` was called."""
    return _interrupt.has_signal()


def interrupt() -> None:
    """Answer as Python answers Ctrl-C."""
    raise KeyboardInterrupt


class AnsweredBy:
    """Context in which `answer` is called in the main thread when the program is asked to stop; `KeyboardInterrupt` is
    raised at its end, whatever was finished by then.

    A second signal ends the process at once where `take_over` was called, and raises `KeyboardInterrupt` elsewhere. In
    a thread that is not the main one this does nothing: only the main one receives signals.
    """

    def __init__(self, answer: "Callable[[], None]") -> None:
        self._answer = answer
        self._asked = False
        self._previous: dict[int, object] = {}

    def _handle(self, number: int, frame: "FrameType | None") -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._answer()

    def __enter__(self) -> None:
        import threading

        if threading.current_thread() is not threading.main_thread():
            return
        for number in NUMBERS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._handle)
        _restore_handlers()

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        _restore_handlers()
        if self._asked and error[0] is None:
            raise KeyboardInterrupt


def _restore_handlers() -> None:
    """Put the handlers of `take_over` below Python's again, which ``signal.signal`` has put in their place."""
    if _taken:
        _interrupt.install(_taken, PATIENCE)


class RunError(RuntimeError):
    """A run that could not be completed; the message says why and what is left."""


class Interrupted(RunError):
    """A run stopped by Ctrl-C, SIGTERM or SIGHUP; it can be continued."""

    def __init__(self, path: "Path") -> None:
        super().__init__(f"interrupted; the same command continues it: {path}")
        self.path = path


class WrittenElsewhere(RunError):
    """A run that another process writes."""
