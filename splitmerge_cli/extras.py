"""Packages that only parts of the program need: a missing one is named with the command that installs it.

``pip install smcmc`` brings the packages of the command line; an installation without them (``pip install --no-deps``)
still samples, reads runs and has the estimators.
"""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

EXTRAS = {
    "typer": "cli",
    "matplotlib": "plots",
    "networkx": "networks",
    "openpyxl": "excel",
    "arviz_base": "arviz",
    "distributed": "dask",
    "zarr": "zarr",
}
"""Packages, and the extras of ``pyproject.toml`` that install them."""


class Later:
    """A module that is imported when an attribute of it is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


if TYPE_CHECKING:
    import pandas as pandas
    from scipy import sparse as sparse
    from scipy import special as special
else:
    # a run of a table does without, and would import them for as long as it takes
    pandas, sparse, special = Later("pandas"), Later("scipy.sparse"), Later("scipy.special")

_F = TypeVar("_F", bound=Callable[..., Any])


def explain(error: ModuleNotFoundError) -> str | None:
    """Say what installs a package that is missing; None for what is no package of an extra."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    return f"{package} is not installed; pip install 'smcmc[{EXTRAS[package]}]' installs it"


def name_missing(function: _F) -> _F:
    """Let a function say which command installs a package that it misses."""

    @functools.wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        try:
            return function(*args, **given)
        except ModuleNotFoundError as error:
            if (explanation := explain(error)) is None:
                raise
            raise ModuleNotFoundError(explanation, name=error.name) from error

    return cast(_F, wrapper)
