"""Samplers, compiled. They have no types of their own: what all share is `splitmerge_cli.core.sampler`."""

from typing import Any

def __getattr__(name: str) -> Any: ...
