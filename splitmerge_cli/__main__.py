"""Entry point of ``smcmc``, also ``python -m splitmerge_cli``."""

import atexit
import gc
import os
import sys

from splitmerge_cli.runs import interrupts

# chains run at the same time: threads of linear algebra would wait for the same processors, and the last bits of
# a product of matrices would depend on their number
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Run the command line; what asks it to stop is answered from the first import on."""
    interrupts.take_over()
    # what the process holds at its end goes with it: to look for garbage there takes an eighth of a short run
    atexit.register(gc.freeze)
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


if __name__ == "__main__":
    main()
