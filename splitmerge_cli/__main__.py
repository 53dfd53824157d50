"""Entry point of ``smcmc``, also ``python -m splitmerge_cli``."""

import atexit
import os
import sys
import threading

from splitmerge_cli.runs import interrupts

# chains run at the same time: threads of linear algebra would wait for the same processors, and the last bits of
# a product of matrices would depend on their number
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Run the command line; what asks it to stop is answered from the first import on."""
    interrupts.take_over()
    try:
        from splitmerge_cli.cli import app

        app()
    except ModuleNotFoundError as error:
        from splitmerge_cli import extras

        if (explanation := extras.explain(error)) is None:
            raise
        print(f"smcmc: {explanation}", file=sys.stderr)
        sys.exit(2)
    except BaseException as error:
        if isinstance(error, SystemExit) and not interrupts.is_interrupted():
            _end_process(error.code)
        # a library may turn the interruption of its import into another error
        if not interrupts.is_interrupted() or (isinstance(error, SystemExit) and error.code != interrupts.STATUS):
            raise
        from contextlib import suppress

        interrupts.tell()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        # at once: what an interruption has left half done may fail where Python tidies up
        os._exit(interrupts.STATUS)


def _end_process(status: object) -> None:
    """End the process once its own threads, its exit handlers and its output are done; return if that fails, or the
    status is no number.

    Python itself would go on to take down the interpreter below threads of pyarrow, which may still read: one that
    asks for the interpreter then aborts the process (status 134), or waits for ever.
    """
    if status is not None and not isinstance(status, int):
        return
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(int(status or 0))


if __name__ == "__main__":
    main()
