"""The configuration: composed by Hydra, checked against a schema, explained when it is wrong.

Names are imported when they are asked for: Hydra takes as long as the rest of the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from splitmerge_cli.config.composition import (
        compose,
        compose_raw,
        draft,
        finish,
        identity,
        learns,
        quote_priors,
        rewrite,
        shared_choices,
        stops,
    )
    from splitmerge_cli.config.errors import ConfigError, show
    from splitmerge_cli.config.groups import choice, choices, complete, describe, figure_styles, plain, shared, unshared
    from splitmerge_cli.config.hydra_adapter import hydra_session, unreadable
    from splitmerge_cli.config.options import check_options
    from splitmerge_cli.config.schema import GROUPS, Schema
    from splitmerge_cli.config.stored import check_stored
    from splitmerge_cli.config.targets import import_beside, load, locate, places

_MODULES = {
    "groups": ("choice", "choices", "complete", "describe", "figure_styles", "plain", "shared", "unshared"),
    "composition": (
        "compose",
        "compose_raw",
        "draft",
        "finish",
        "identity",
        "learns",
        "quote_priors",
        "rewrite",
        "shared_choices",
        "stops",
    ),
    "errors": ("ConfigError", "show"),
    "hydra_adapter": ("hydra_session", "unreadable"),
    "options": ("check_options",),
    "schema": ("GROUPS", "Schema"),
    "stored": ("check_stored",),
    "targets": ("import_beside", "load", "locate", "places"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "GROUPS",
    "ConfigError",
    "Schema",
    "check_options",
    "check_stored",
    "choice",
    "choices",
    "complete",
    "compose",
    "compose_raw",
    "describe",
    "draft",
    "figure_styles",
    "finish",
    "hydra_session",
    "identity",
    "import_beside",
    "learns",
    "load",
    "locate",
    "places",
    "plain",
    "quote_priors",
    "rewrite",
    "shared",
    "shared_choices",
    "show",
    "stops",
    "unreadable",
    "unshared",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
