# ruff: noqa: F401 (names for type checkers)
"""One run: planned (checked, nothing written), driven, finished; and what is stored of it.

Names are imported when they are asked for: the command line imports `interrupts` before all else, and a run that was
finished before needs neither data nor tables.
"""

TYPE_CHECKING = False  # as in the package's own: typing takes too long before an interruption is heeded
if TYPE_CHECKING:
    from splitmerge_cli.config import ConfigError
    from splitmerge_cli.received import DataError
    from splitmerge_cli.runs.drive import make, run
    from splitmerge_cli.runs.errors import Interrupted, RunError, WrittenElsewhere
    from splitmerge_cli.runs.identity import finished_run, is_done, is_written, run_dir, run_id
    from splitmerge_cli.runs.plan import Plan, prepare
    from splitmerge_cli.runs.store.files import DamagedRun
    from splitmerge_cli.runs.stored import dataset_of, open_run

_PLACES = {
    "ConfigError": "config",
    "DamagedRun": "runs.store.files",
    "DataError": "received",
    "Interrupted": "runs.errors",
    "Plan": "runs.plan",
    "RunError": "runs.errors",
    "WrittenElsewhere": "runs.errors",
    "dataset_of": "runs.stored",
    "finished_run": "runs.identity",
    "is_done": "runs.identity",
    "is_written": "runs.identity",
    "open_run": "runs.stored",
    "make": "runs.drive",
    "prepare": "runs.plan",
    "run": "runs.drive",
    "run_dir": "runs.identity",
    "run_id": "runs.identity",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"splitmerge_cli.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
