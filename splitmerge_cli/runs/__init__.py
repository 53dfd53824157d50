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
    from splitmerge_cli.runs.identity import finished_run, is_done, is_written, run_dir, run_id
    from splitmerge_cli.runs.initial import dataset_of, open_run
    from splitmerge_cli.runs.interrupts import Interrupted, RunError, WrittenElsewhere
    from splitmerge_cli.runs.plan import Plan, prepare
    from splitmerge_cli.runs.starts import BEST, SEARCH, start_of
    from splitmerge_cli.runs.store.files import DamagedRun

_NAMES = {
    "config": "ConfigError",
    "received": "DataError",
    "runs.drive": "make run",
    "runs.interrupts": "Interrupted RunError WrittenElsewhere",
    "runs.identity": "finished_run is_done is_written run_dir run_id",
    "runs.plan": "Plan prepare",
    "runs.starts": "BEST SEARCH start_of",
    "runs.store.files": "DamagedRun",
    "runs.initial": "dataset_of open_run",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"splitmerge_cli.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
