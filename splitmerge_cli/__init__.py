"""smcmc: the reference laboratory for split-merge MCMC.

`sample` runs chains on data and returns a `Posterior`; `smcmc --help` is the command line.
"""

TYPE_CHECKING = (
    False  # typing's own takes as long to import as all else that is needed before an interruption is heeded
)
if TYPE_CHECKING:
    from splitmerge_cli.api import DataNote as DataNote
    from splitmerge_cli.api import NotConverged as NotConverged
    from splitmerge_cli.api import Posterior as Posterior
    from splitmerge_cli.api import UnseenWords as UnseenWords
    from splitmerge_cli.api import certify as certify
    from splitmerge_cli.api import sample as sample
    from splitmerge_cli.estimators import SplitMergeBlocks as SplitMergeBlocks
    from splitmerge_cli.estimators import SplitMergeClustering as SplitMergeClustering
    from splitmerge_cli.estimators import SplitMergeTopics as SplitMergeTopics

    __version__: str

_PLACES = {
    "NotConverged": "api",
    "Posterior": "api",
    "certify": "api",
    "sample": "api",
    "SplitMergeBlocks": "estimators",
    "SplitMergeClustering": "estimators",
    "SplitMergeTopics": "estimators",
    "DataNote": "api",
    "UnseenWords": "api",
}


def __getattr__(name: str) -> object:
    if name in _PLACES:
        from importlib import import_module

        globals()[name] = public = getattr(import_module(f"splitmerge_cli.{_PLACES[name]}"), name)
        return public
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("smcmc")
    except PackageNotFoundError:  # a source tree that was never installed
        found = "0+unknown"
    globals()["__version__"] = found
    return found
