"""smcmc: the reference laboratory for split-merge MCMC.

`sample` runs chains on data and returns a `Posterior`; `certify` bounds how far chains are from it; estimators in the
manner of scikit-learn are `SplitMergeClustering`, `SplitMergeBlocks` and `SplitMergeTopics`. `smcmc.testing` proves
samplers of your own. ``smcmc --help`` is the command line.
"""

import splitmerge_cli as _package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from splitmerge_cli import *  # noqa: F403
    from splitmerge_cli import __version__ as __version__

__all__ = sorted(_package._PLACES)


def __getattr__(name: str) -> object:
    if name in __all__ or name == "__version__":
        return getattr(_package, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def build_options() -> dict[str, list[object]]:
    """Return what `setuptools.Extension` takes to compile a sampler or model of your own in Cython.

    Returns
    -------
    dict
        Folders of headers and libraries, libraries, macros and compiler options: those that this package is compiled
        with.

    Examples
    --------
    >>> from setuptools import Extension
    >>> import smcmc
    >>> extension = Extension("my_moves.swap", ["my_moves/swap.pyx"], **smcmc.build_options())
    """
    from pathlib import Path

    import numpy

    package, of_numpy = Path(_package.__path__[0]), Path(numpy.__path__[0])
    return {
        "include_dirs": [numpy.get_include(), str(package / "core" / "include"), str(package.parent)],
        "library_dirs": [str(of_numpy / "random" / "lib")],
        "libraries": ["npyrandom", "m"],
        "define_macros": [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        "extra_compile_args": ["-O3", "-ffp-contract=off", "-fno-math-errno"],
    }


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
