"""Sources of the package, each parsed once for all tests of a process: those that parse run in one (``sources``)."""

import ast
from functools import cache
from pathlib import Path


@cache
def parse(path: Path) -> ast.Module:
    """Parse a file; its tree is shared, so nothing may be changed in it."""
    return ast.parse(path.read_text(encoding="utf-8"))
