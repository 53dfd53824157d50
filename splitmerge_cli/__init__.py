"""smcmc: the reference laboratory for split-merge MCMC."""

TYPE_CHECKING = (
    False  # typing's own takes as long to import as all else that is needed before an interruption is heeded
)
if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("smcmc")
    except PackageNotFoundError:  # a source tree that was never installed
        found = "0+unknown"
    globals()["__version__"] = found
    return found
