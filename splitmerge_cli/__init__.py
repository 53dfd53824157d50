"""The package behind `smcmc`, which is the name to import it by; ``splitmerge_cli`` has the same public names."""

import os

if os.path.isdir(os.path.join(os.path.dirname(__file__), "_levels")):  # of a wheel
    from splitmerge_cli import instruction_sets

    instruction_sets.install()

TYPE_CHECKING = (
    False  # typing's own takes as long to import as all else that is needed before an interruption is heeded
)
if TYPE_CHECKING:
    from splitmerge_cli.api.certifying import certify as certify
    from splitmerge_cli.api.estimators import SplitMergeBlocks as SplitMergeBlocks
    from splitmerge_cli.api.estimators import SplitMergeClustering as SplitMergeClustering
    from splitmerge_cli.api.estimators import SplitMergeTopics as SplitMergeTopics
    from splitmerge_cli.api.posterior import Posterior as Posterior
    from splitmerge_cli.api.sampling import sample as sample
    from splitmerge_cli.fits.objects import DataNote as DataNote
    from splitmerge_cli.fits.objects import NotConverged as NotConverged
    from splitmerge_cli.fits.objects import UnseenWords as UnseenWords

    __version__: str

_PLACES = {
    "DataNote": "fits.objects",
    "NotConverged": "fits.objects",
    "Posterior": "api.posterior",
    "SplitMergeBlocks": "api.estimators",
    "SplitMergeClustering": "api.estimators",
    "SplitMergeTopics": "api.estimators",
    "UnseenWords": "fits.objects",
    "certify": "api.certifying",
    "sample": "api.sampling",
}
"""Modules of the public names, imported when they are asked for."""


def __getattr__(name: str) -> object:
    if name in _PLACES:
        from importlib import import_module

        globals()[name] = public = getattr(import_module(f"splitmerge_cli.{_PLACES[name]}"), name)
        return public
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from splitmerge_cli.version import __version__

    return __version__


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, "__version__"})
