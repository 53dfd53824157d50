"""Entry point of ``smcmc``, also ``python -m splitmerge_cli``."""

import sys

from splitmerge_cli import interrupts


def main() -> None:
    """Run the command line; what asks it to stop is answered from the first import on."""
    interrupts.take_over()
    try:
        from splitmerge_cli.cli import app

        app()
    except BaseException as error:
        # a library may turn the interruption of its import into another error
        if not interrupts.seen() or (isinstance(error, SystemExit) and error.code != interrupts.STATUS):
            raise
        interrupts.tell()
        sys.exit(interrupts.STATUS)


if __name__ == "__main__":
    main()
