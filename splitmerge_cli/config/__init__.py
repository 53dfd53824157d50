# ruff: noqa: F401, F403 (names for type checkers)
"""The configuration: composed by Hydra, checked against a schema, explained when it is wrong.

Names are imported when they are asked for: Hydra takes as long as the rest of the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from splitmerge_cli.config.components import *
    from splitmerge_cli.config.composition import compose, specify, specify_stored
    from splitmerge_cli.config.errors import ConfigError, show
    from splitmerge_cli.config.groups import *
    from splitmerge_cli.config.hydra_adapter import hydra_session, quote_priors, unreadable
    from splitmerge_cli.config.schema import GROUPS, Schema
    from splitmerge_cli.config.specification import RunSpecification, specify_keys

_NAMES = {
    "components": "Component DataSource class_of classes component file_comments gibbs_update option_rows "
    "read_component title",
    "composition": "compose specify specify_stored",
    "errors": "ConfigError show",
    "groups": "choice choices complete describe figure_styles import_beside load locate places plain shared_options "
    "unshared_options usable_choices",
    "hydra_adapter": "hydra_session quote_priors unreadable",
    "schema": "GROUPS Schema",
    "specification": "RunSpecification specify_keys",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
