"""``python -m smcmc``: the command line."""

from splitmerge_cli.__main__ import main

if __name__ == "__main__":
    main()
